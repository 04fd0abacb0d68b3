/* Rows of whole chains: the scene's bytes lie in the memory of the backend, blocks are cut as the pipeline
 * cuts them. */
#include "core/allocate.h"
#include "core/operation/image/decode.h"
#include "core/operation/gram/gram_raw.h"
#include "core/operation/image/project.h"
#include "bench/internal.h"
#include "pipeline/statistics/transform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Chain {
    int64_t lines;       /* of the scene that it sees: all, or those of the witness */
    int64_t block_lines; /* of a block */
    HcBuffer block;      /* the float pixels of one, with a line of halo above and below */
    HcSums *values, *noise;
    double *mean, *covariance, *noise_covariance; /* one allocation, from `mean` on */
    HcBuffer host, matrix; /* mean[bands] and matrix[bands][components], before and after upload */
    HcBuffer out;          /* components of all pixels, then their mask */
    int32_t components;    /* of the last fit */
} Chain;

/* As many blocks as the backend's block size asks for, of nearly the same size. */
static int64_t lines_of_block(const HcRig *rig) {
    const HcBenchSettings *settings = rig->settings;
    size_t line = (size_t)settings->samples * ((size_t)settings->bands * sizeof(float) + 1);
    size_t bytes = settings->block_bytes > 0 ? settings->block_bytes : rig->device->info.block_bytes;
    int64_t wanted = (int64_t)(bytes / line);
    wanted = wanted < 1 ? 1 : wanted > settings->lines ? settings->lines : wanted;
    int64_t blocks = (settings->lines + wanted - 1) / wanted;
    return (settings->lines + blocks - 1) / blocks;
}

static HcStatus open_sums(HcRig *rig, Chain *chain, HcError *err) {
    int32_t bands = rig->settings->bands;
    hc_sums_close(chain->values);
    chain->values = NULL;
    hc_sums_close(chain->noise);
    chain->noise = NULL;
    HC_OR_RETURN(
        hc_sums_open(rig->compute, bands, hc_rig_limit(HC_DIFFERENCE_NONE), NULL, &chain->values, err));
    return hc_sums_open(rig->compute, bands, hc_rig_limit(HC_DIFFERENCE_MEAN3X3), NULL, &chain->noise, err);
}

static HcStatus open_block(HcRig *rig, Chain *chain, HcError *err) {
    size_t line = (size_t)rig->settings->samples * ((size_t)rig->settings->bands * sizeof(float) + 1);
    return hc_alloc(rig->compute, HC_MEMORY_DEVICE, (size_t)(chain->block_lines + 2) * line, &chain->block,
                    err);
}

static HcStatus open_fit(HcRig *rig, Chain *chain, HcError *err) {
    size_t n = (size_t)rig->settings->bands;
    size_t m = (size_t)rig->settings->components;
    size_t pixels = (size_t)rig->settings->lines * (size_t)rig->settings->samples;
    HC_OR_RETURN(hc_new(chain->mean, n + 2 * n * n, "covariances", err));
    chain->covariance = chain->mean + n;
    chain->noise_covariance = chain->covariance + n * n;
    HC_OR_RETURN(hc_alloc(rig->compute, HC_MEMORY_HOST, (n + n * m) * sizeof(double), &chain->host, err));
    HC_OR_RETURN(hc_alloc(rig->compute, HC_MEMORY_DEVICE, (n + n * m) * sizeof(double), &chain->matrix, err));
    return hc_alloc(rig->compute, HC_MEMORY_DEVICE, pixels * (m * sizeof(float) + 1), &chain->out, err);
}

static void close_chain(HcRig *rig, Chain *chain) {
    hc_release(rig->compute, &chain->block);
    hc_sums_close(chain->values);
    hc_sums_close(chain->noise);
    hc_release(rig->compute, &chain->host);
    hc_release(rig->compute, &chain->matrix);
    hc_release(rig->compute, &chain->out);
    free(chain->mean);
}

static int64_t blocks_of(const Chain *chain) {
    return (chain->lines + chain->block_lines - 1) / chain->block_lines;
}

/* A block with its halo. All blocks share the memory of one: the queue keeps them in order, as that
 * of the pipeline does. */
static HcBlock shape_of(const HcRig *rig, const Chain *chain, int64_t number, int32_t halo) {
    int64_t line0 = number * chain->block_lines;
    int64_t left = chain->lines - line0;
    int64_t lines = left < chain->block_lines ? left : chain->block_lines;
    HcBlock out = {.data = chain->block.data,
                   .line0 = line0,
                   .lines = (int32_t)lines,
                   .above = line0 < halo ? (int32_t)line0 : halo,
                   .below = left - lines < halo ? (int32_t)(left - lines) : halo,
                   .samples = rig->settings->samples,
                   .bands = rig->settings->bands};
    out.mask = (uint8_t *)chain->block.data + hc_block_values(&out) * sizeof(float);
    return out;
}

static HcStatus decode_block(HcRig *rig, const Chain *chain, int64_t number, int32_t halo, HcBlock *out,
                             HcError *err) {
    HcRaw raw = hc_rig_raw(rig, chain->lines);
    HcDecode how = {.band_index = rig->in_order};
    *out = shape_of(rig, chain, number, halo);
    return hc_decode(rig->queue, &raw, &how, out, err);
}

static HcStatus call_covariances(HcRig *rig, void *user, HcError *err) {
    Chain *chain = user;
    const HcRaw raw = hc_rig_raw(rig, chain->lines);
    const HcDecode how = {.band_index = rig->in_order};
    const HcGramPart parts[2] = {{HC_DIFFERENCE_NONE, NULL, chain->values},
                                 {HC_DIFFERENCE_MEAN3X3, NULL, chain->noise}};
    for (int64_t b = 0; b < blocks_of(chain); b++) {
        HcBlock block = shape_of(rig, chain, b, 1);
        HC_OR_RETURN(hc_gram_raw(rig->queue, &raw, &how, &block, parts, 2, err));
    }
    return HC_OK;
}

static HcStatus fetch(HcRig *rig, Chain *chain, HcMoments *values, HcMoments *noise, HcError *err) {
    HC_OR_RETURN(hc_sums_fetch(rig->queue, chain->values, values, err));
    return hc_sums_fetch(rig->queue, chain->noise, noise, err);
}

static HcStatus fetch_covariances(HcRig *rig, Chain *chain, HcError *err) {
    HcStatus status = HC_OK;
    HcMoments values = {0};
    HcMoments noise = {0};
    HC_TRY(fetch(rig, chain, &values, &noise, err));
    HC_TRY(hc_moments_covariance(&values, rig->compute, 1, "random", chain->mean, chain->covariance, err));
    HC_TRY(hc_moments_covariance(&noise, rig->compute, hc_difference_variance(HC_DIFFERENCE_MEAN3X3),
                                 "random", NULL, chain->noise_covariance, err));
done:
    hc_moments_clear(&values);
    hc_moments_clear(&noise);
    return status;
}

static HcStatus fit(HcRig *rig, const Chain *chain, HcTransform *transform, HcError *err) {
    transform->scene.bands = rig->settings->bands;
    transform->wanted = rig->settings->components;
    return hc_transform_fit_mnf(transform, rig->compute, chain->mean, chain->covariance,
                                chain->noise_covariance, err);
}

static HcStatus call_fit(HcRig *rig, void *user, HcError *err) {
    HcTransform transform = {0};
    HcStatus status = fit(rig, user, &transform, err);
    hc_transform_clear(&transform);
    return status;
}

/* Puts mean and the first components into the memory of the backend. */
static HcStatus upload_transform(HcRig *rig, Chain *chain, const HcTransform *transform, HcError *err) {
    size_t n = (size_t)rig->settings->bands;
    int32_t most = rig->settings->components;
    chain->components = transform->components < most ? transform->components : most;
    size_t m = (size_t)chain->components;
    double *host = chain->host.data;
    memcpy(host, transform->mean, n * sizeof *host);
    for (size_t b = 0; b < n; b++) {
        memcpy(host + n + b * m, transform->forward + b * (size_t)transform->components, m * sizeof *host);
    }
    return hc_upload(rig->queue, host, chain->matrix.data, (n + n * m) * sizeof *host, err);
}

static HcStatus project_blocks(HcRig *rig, Chain *chain, HcError *err) {
    const double *mean = chain->matrix.data;
    size_t samples = (size_t)rig->settings->samples;
    size_t values = (size_t)chain->components * samples;
    uint8_t *masks = (uint8_t *)chain->out.data + (size_t)chain->lines * values * sizeof(float);
    for (int64_t b = 0; b < blocks_of(chain); b++) {
        HcBlock block;
        HC_OR_RETURN(decode_block(rig, chain, b, 0, &block, err));
        HcBlock out = block;
        out.bands = chain->components;
        out.data = (float *)chain->out.data + (size_t)block.line0 * values;
        out.mask = masks + (size_t)block.line0 * samples;
        HC_OR_RETURN(hc_project(rig->queue, &block, mean + block.bands, mean, NULL, &out, err));
    }
    return HC_OK;
}

/* The sums grow from call to call: more of the same scene, which changes no time. */
static HcStatus call_mnf(HcRig *rig, void *user, HcError *err) {
    HcStatus status = HC_OK;
    Chain *chain = user;
    HcTransform transform = {0};
    HC_TRY(call_covariances(rig, chain, err));
    HC_TRY(fetch_covariances(rig, chain, err));
    HC_TRY(fit(rig, chain, &transform, err));
    HC_TRY(upload_transform(rig, chain, &transform, err));
    HC_TRY(project_blocks(rig, chain, err));
done:
    hc_transform_clear(&transform);
    return status;
}

/* ---- the rows ---- */

/* Least work of both covariances: the bytes once, and the products. */
static double products(const HcRig *rig) {
    return hc_rig_limb_operations(rig, HC_DIFFERENCE_NONE, rig->settings->lines) +
           hc_rig_limb_operations(rig, HC_DIFFERENCE_MEAN3X3, rig->settings->lines);
}

static double scene_pixels(const HcRig *rig) {
    return (double)rig->settings->lines * rig->settings->samples;
}

/* Runs the chain on the witness's lines and compares what comes out. */
static HcStatus check_covariances(HcRig *rig, Chain *chain, HcBenchRow *row, HcError *err) {
    HcStatus status = HC_OK;
    const HcBenchWitness *witness = rig->bench->witness;
    HcMoments values = {0};
    HcMoments noise = {0};
    if (witness == NULL) {
        return HC_OK;
    }
    chain->lines = witness->lines;
    HC_TRY(open_sums(rig, chain, err));
    HC_TRY(call_covariances(rig, chain, err));
    HC_TRY(fetch(rig, chain, &values, &noise, err));
    hc_rig_compare_moments(&values, &witness->values, row);
    hc_rig_compare_moments(&noise, &witness->noise, row);
    chain->lines = rig->settings->lines;
    HC_TRY(open_sums(rig, chain, err));
done:
    hc_moments_clear(&values);
    hc_moments_clear(&noise);
    return status;
}

/* The components are sums of magnitudes that cancel: they agree to some roundings of float32. */
static HcStatus check_mnf(HcRig *rig, Chain *chain, HcBenchRow *row, HcError *err) {
    const HcBenchWitness *witness = rig->bench->witness;
    if (witness == NULL) {
        return HC_OK;
    }
    chain->lines = witness->lines;
    HC_OR_RETURN(open_sums(rig, chain, err));
    HC_OR_RETURN(call_mnf(rig, chain, err));
    HC_OR_RETURN(hc_wait(rig->queue, err));
    if (chain->components != witness->component_count) {
        hc_bench_wrong(row, "it finds %d components instead of %d", chain->components,
                       witness->component_count);
        return HC_OK;
    }
    size_t count = (size_t)witness->lines * (size_t)rig->settings->samples * (size_t)witness->component_count;
    HC_OR_RETURN(hc_rig_compare(rig, chain->out.data, witness->components, count, 1e-6, row, err));
    chain->lines = rig->settings->lines;
    return open_sums(rig, chain, err);
}

static HcStatus covariances_row(HcRig *rig, Chain *chain, HcError *err) {
    double n = rig->settings->bands;
    if (!hc_bench_wants(rig->bench, "chain-covariances")) {
        return HC_OK;
    }
    HcBenchRow *row = hc_bench_row(rig->bench, "chain-covariances", rig->device->by, rig->settings->lines);
    snprintf(row->how, sizeof row->how, "resident, blocks: %lld", (long long)blocks_of(chain));
    row->operations = 2 * scene_pixels(rig) * n * (n + 1);
    hc_rig_floor(rig, row, scene_pixels(rig) * 2 * n, products(rig), 0);
    HC_OR_RETURN(hc_rig_measure(rig, call_covariances, chain, row, err));
    return check_covariances(rig, chain, row, err);
}

/* The eigenproblems in between, on the host, by the covariances of the whole scene, and the components of the
 * projection. */
static HcStatus fit_row(HcRig *rig, Chain *chain, HcError *err) {
    if (!hc_bench_wants(rig->bench, "fit-mnf")) {
        return HC_OK;
    }
    HcBenchRow *row = hc_bench_row(rig->bench, "fit-mnf", rig->device->by, rig->settings->lines);
    HC_OR_RETURN(call_covariances(rig, chain, err));
    HC_OR_RETURN(fetch_covariances(rig, chain, err));
    return hc_rig_measure(rig, call_fit, chain, row, err);
}

/* The floor is that of both passes one after the other; eigenproblems have none. */
static HcStatus mnf_row(HcRig *rig, Chain *chain, HcError *err) {
    double n = rig->settings->bands;
    double m = rig->settings->components;
    if (!hc_bench_wants(rig->bench, "chain-mnf")) {
        return HC_OK;
    }
    HcBenchRow *row = hc_bench_row(rig->bench, "chain-mnf", rig->device->by, rig->settings->lines);
    snprintf(row->how, sizeof row->how, "resident, blocks: %lld, with eigenproblems",
             (long long)blocks_of(chain));
    double projection = scene_pixels(rig) * 2 * n * m;
    HcBenchRow second = {0};
    hc_rig_floor(rig, &second, scene_pixels(rig) * (2 * n + 4 * m), 0, projection);
    hc_rig_floor(rig, row, scene_pixels(rig) * 2 * n, products(rig), 0);
    row->floor += second.floor;
    row->bytes += second.bytes;
    row->operations = 2 * scene_pixels(rig) * n * (n + 1) + projection;
    HC_OR_RETURN(hc_rig_measure(rig, call_mnf, chain, row, err));
    return check_mnf(rig, chain, row, err);
}

static HcStatus measure(HcRig *rig, HcError *err) {
    HcStatus status = HC_OK;
    Chain chain = {.lines = rig->settings->lines, .block_lines = lines_of_block(rig)};
    HC_TRY(open_block(rig, &chain, err));
    HC_TRY(open_fit(rig, &chain, err));
    HC_TRY(open_sums(rig, &chain, err));
    HC_TRY(covariances_row(rig, &chain, err));
    HC_TRY(fit_row(rig, &chain, err));
    HC_TRY(mnf_row(rig, &chain, err));
done:
    if (status != HC_OK) {
        hc_rig_drain(rig);
    }
    close_chain(rig, &chain);
    return status;
}

const HcBenchPart hc_bench_chains = {.measure = measure,
                                     .rows = (const HcBenchKind[]){{"fit-mnf", HC_BENCH_UNCHECKED},
                                                                   {"chain-covariances", HC_BENCH_SAME},
                                                                   {"chain-mnf", HC_BENCH_NEAR},
                                                                   {0}}};
