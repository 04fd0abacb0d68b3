/* Rows of decompositions: batches of small singular value decompositions, which do not depend on the scene,
 * with the vendor's libraries beside them; patches of the scene and groups of them. */
#include "core/operation/svd/groups.h"
#include "core/operation/svd/patches.h"
#include "core/operation/svd/svd.h"
#include "bench/internal.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>

/* One call is as long as this [s], or takes the whole batch or scene: less is measured where it takes longer.
 */
static const double long_call = 0.2;

enum {
    FEW_MATRICES = 64, /* that the first call takes */
    FEW_LINES = 64,
    SAMPLES = 16, /* matrices of a batch that are checked */
    PATCH_SIZE = 8,
    PATCH_STEP = 4
};

/* How far a decomposition in float32 may be from one, over the root of its rows: some rounding units. */
static const double svd_tolerance = 5e-6;

/* ---- singular value decompositions ---- */

typedef struct Kind {
    const char *name;
    HcElement element;
    int32_t n;     /* rows and columns */
    int64_t count; /* of matrices, 0 = those of the settings */
} Kind;

static const Kind kinds[] = {
    {"svd-16", HC_ELEMENT_FLOAT32, 16, 0},
    {"svd-32", HC_ELEMENT_FLOAT32, 32, 0},
    {"svd-64", HC_ELEMENT_FLOAT32, 64, 0},
    {"svd-16-complex", HC_ELEMENT_COMPLEX_FLOAT32, 16, 0},
    {"svd-32-complex", HC_ELEMENT_COMPLEX_FLOAT32, 32, 0},
    {"svd-64-complex", HC_ELEMENT_COMPLEX_FLOAT32, 64, 0},
    {"svd-16-complex-128", HC_ELEMENT_COMPLEX_FLOAT32, 16, 128},
};

/* What a batch is decomposed with. */
typedef struct Svd {
    const Kind *kind;
    HcSvd *own; /* of the backend, or else: */
    HcSvdBatch batch;
    void *matrices; /* [device], in `memory` */
    int64_t filled; /* number of them that have been made */
    int64_t most;   /* that `memory` has place for */
    HcBuffer memory;
} Svd;

static HcStatus call_svd(HcRig *rig, void *user, HcError *err) {
    Svd *svd = user;
    return hc_svd_batched(rig->queue, svd->own, &svd->batch, err);
}

static HcStatus call_vendor_svd(HcRig *rig, void *user, HcError *err) {
    Svd *svd = user;
    return rig->vendor_ops->svd(rig->vendor, rig->queue, svd->kind->element, svd->kind->n, &svd->batch, err);
}

static size_t square_bytes(const Kind *kind) {
    return (size_t)kind->n * (size_t)kind->n * hc_element_bytes(kind->element);
}

static int64_t batch_count(const HcRig *rig, const Kind *kind) {
    return kind->count > 0 ? kind->count : rig->settings->matrices;
}

/* Makes a batch of `count` random matrices, a piece at a time; those that are there stay. */
static HcStatus fill(HcRig *rig, Svd *svd, int64_t count, HcError *err) {
    HcStatus status = HC_OK;
    const int64_t piece = (int64_t)1 << 20;
    int64_t values = (int64_t)(square_bytes(svd->kind) / sizeof(float));
    int64_t end = count * values;
    HcBuffer host = {0};
    HC_TRY(hc_alloc(rig->compute, HC_MEMORY_HOST, (size_t)piece * sizeof(float), &host, err));
    for (int64_t first = svd->filled * values; first < end; first += piece) {
        int64_t some = end - first < piece ? end - first : piece;
        hc_bench_normal(rig->settings, first, some, host.data);
        HC_TRY(hc_upload(rig->queue, host.data, (float *)svd->matrices + first, (size_t)some * sizeof(float),
                         err));
        HC_TRY(hc_wait(rig->queue, err));
    }
    svd->filled = count > svd->filled ? count : svd->filled;
    svd->batch.count = count;
done:
    if (status != HC_OK) {
        hc_rig_drain(rig);
    }
    hc_release(rig->compute, &host);
    return status;
}

/* Memory for matrices, left, right and values, one after the other. */
static HcStatus open_batch(HcRig *rig, const Kind *kind, Svd *svd, HcError *err) {
    size_t square = square_bytes(kind);
    int64_t fits = (int64_t)(hc_rig_part_bytes(rig) / square);
    int64_t count = batch_count(rig, kind);
    svd->kind = kind;
    svd->most = fits < count ? fits : count;
    size_t all = (size_t)svd->most * square;
    HC_OR_RETURN(hc_alloc(rig->compute, HC_MEMORY_DEVICE,
                          3 * all + (size_t)svd->most * (size_t)kind->n * sizeof(float), &svd->memory, err));
    char *at = svd->memory.data;
    svd->matrices = at;
    svd->batch =
        (HcSvdBatch){.matrices = at, .left = at + all, .right = at + 2 * all, .values = at + 3 * all};
    return HC_OK;
}

/* As many of the matrices as make a call long enough to be measured, and not much longer. */
static HcStatus choose_count(HcRig *rig, HcRigBody *body, Svd *svd, HcError *err) {
    HcStatus status = HC_OK;
    double seconds = 0;
    HC_TRY(fill(rig, svd, svd->most < FEW_MATRICES ? svd->most : FEW_MATRICES, err));
    HC_TRY(hc_rig_time(rig, body, svd, 1, &seconds, err));
    HC_TRY(hc_rig_time(rig, body, svd, 1, &seconds, err));
    while (svd->batch.count < svd->most && seconds < long_call) {
        HC_TRY(fill(rig, svd, 2 * svd->batch.count < svd->most ? 2 * svd->batch.count : svd->most, err));
        HC_TRY(hc_rig_time(rig, body, svd, 1, &seconds, err));
    }
done:
    if (status != HC_OK) {
        hc_rig_drain(rig);
    }
    return status;
}

/* A matrix of a batch and what became of it, on the host. */
typedef struct Sample {
    int32_t n;
    size_t parts;    /* of an entry: 2 = real and imaginary */
    bool by_columns; /* the matrix is stored by columns */
    const float *matrix, *left, *right, *values;
} Sample;

static double complex entry(const Sample *sample, const float *at, int32_t row, int32_t column) {
    size_t i = ((size_t)row * (size_t)sample->n + (size_t)column) * sample->parts;
    return (double)at[i] + (sample->parts == 2 ? (double)at[i + 1] : 0) * I;
}

static double square(double complex z) {
    return creal(z) * creal(z) + cimag(z) * cimag(z);
}

/* |matrix - sum over k of values[k] left[k] right[k]^H|^2 / |matrix|^2, Frobenius */
static double residual(const Sample *sample) {
    double difference = 0;
    double norm = 0;
    for (int32_t i = 0; i < sample->n; i++) {
        for (int32_t j = 0; j < sample->n; j++) {
            double complex expected = sample->by_columns ? entry(sample, sample->matrix, j, i)
                                                         : entry(sample, sample->matrix, i, j);
            double complex sum = 0;
            for (int32_t k = 0; k < sample->n; k++) {
                sum += (double)sample->values[k] * entry(sample, sample->left, k, i) *
                       conj(entry(sample, sample->right, k, j));
            }
            difference += square(expected - sum);
            norm += square(expected);
        }
    }
    return difference / norm;
}

/* |vectors vectors^H - 1|^2 / n, Frobenius */
static double skew(const Sample *sample, const float *vectors) {
    double sum = 0;
    for (int32_t k = 0; k < sample->n; k++) {
        for (int32_t l = 0; l < sample->n; l++) {
            double complex product = 0;
            for (int32_t i = 0; i < sample->n; i++) {
                product += entry(sample, vectors, k, i) * conj(entry(sample, vectors, l, i));
            }
            sum += square(product - (k == l ? 1 : 0));
        }
    }
    return sum / sample->n;
}

/* How far a sample is from a singular value decomposition, which bounds the errors of its values (Weyl) too;
 * NaN where anything is, infinity where the values are out of order. */
static double distance(const Sample *sample) {
    for (int32_t k = 0; k < sample->n; k++) {
        if (!(sample->values[k] >= (k + 1 < sample->n ? sample->values[k + 1] : 0))) {
            return (double)INFINITY;
        }
    }
    return sqrt(residual(sample) + skew(sample, sample->left) + skew(sample, sample->right));
}

/* Fetches a matrix of the batch and what became of it. */
static HcStatus fetch(HcRig *rig, const Svd *svd, int64_t number, Sample *sample, const HcBuffer *host,
                      HcError *err) {
    size_t square_size = square_bytes(svd->kind);
    size_t values_size = (size_t)svd->kind->n * sizeof(float);
    const void *from[] = {svd->batch.matrices, svd->batch.left, svd->batch.right, svd->batch.values};
    const float **to[] = {&sample->matrix, &sample->left, &sample->right, &sample->values};
    for (size_t i = 0; i < 4; i++) {
        size_t bytes = i < 3 ? square_size : values_size;
        char *at = (char *)host->data + i * square_size;
        HC_OR_RETURN(hc_download(rig->queue, (const char *)from[i] + (size_t)number * bytes, at, bytes, err));
        *to[i] = (const float *)at;
    }
    return hc_wait(rig->queue, err);
}

/* Looks at some of the matrices from the first to the last; `off` is the largest distance, which must be
 * small.
 */
static HcStatus sample_batch(HcRig *rig, const Svd *svd, HcBenchRow *row, double *off, HcError *err) {
    HcStatus status = HC_OK;
    Sample sample = {.n = svd->kind->n,
                     .parts = hc_element_bytes(svd->kind->element) / sizeof(float),
                     .by_columns = svd->own == NULL};
    int64_t last = svd->batch.count - 1;
    int64_t samples = last + 1 < SAMPLES ? last + 1 : SAMPLES;
    HcBuffer host = {0};
    HC_TRY(hc_alloc(rig->compute, HC_MEMORY_HOST,
                    3 * square_bytes(svd->kind) + (size_t)sample.n * sizeof(float), &host, err));
    *off = 0;
    for (int64_t s = 0; s < samples; s++) {
        int64_t number = samples > 1 ? s * last / (samples - 1) : 0;
        HC_TRY(fetch(rig, svd, number, &sample, &host, err));
        double apart = distance(&sample);
        if (!(apart <= svd_tolerance * sqrt((double)sample.n))) {
            hc_bench_wrong(row, "matrix %lld is off by %.2g", (long long)number, apart);
        }
        *off = apart > *off ? apart : *off;
    }
done:
    if (status != HC_OK) {
        hc_rig_drain(rig);
    }
    hc_release(rig->compute, &host);
    return status;
}

/* The row of what has been chosen in `svd`; name: of the vendor's routine, NULL = the backend's own. */
static HcStatus svd_row(HcRig *rig, Svd *svd, const char *name, HcBenchRow *row, HcError *err) {
    HcRigBody *body = name != NULL ? call_vendor_svd : call_svd;
    double off = 0;
    HC_OR_RETURN(choose_count(rig, body, svd, err));
    /* The results of another row are not taken for those of this one. */
    HC_OR_RETURN(
        hc_zero(rig->queue, svd->batch.left, (size_t)svd->batch.count * square_bytes(svd->kind), err));
    row->matrices = svd->batch.count;
    row->batch = batch_count(rig, svd->kind);
    double each = 3 * (double)square_bytes(svd->kind) + (double)svd->kind->n * sizeof(float);
    hc_rig_floor(rig, row, (double)row->matrices * each, 0, 0);
    HC_OR_RETURN(hc_rig_measure(rig, body, svd, row, err));
    HC_OR_RETURN(sample_batch(rig, svd, row, &off, err));
    row->check = HC_BENCH_NEAR;
    snprintf(row->how, sizeof row->how, "%s%soff by %.1e", name != NULL ? name : "", name != NULL ? ", " : "",
             off);
    hc_bench_scale(rig->bench, row);
    return HC_OK;
}

static HcStatus own_svd(HcRig *rig, Svd *svd, HcError *err) {
    HcStatus status = HC_OK;
    HcBenchRow *row = hc_bench_row(rig->bench, svd->kind->name, rig->device->by, rig->settings->lines);
    HC_TRY(hc_svd_open(rig->compute, svd->kind->element, svd->kind->n, svd->kind->n, svd->most, true,
                       &svd->own, err));
    HC_TRY(svd_row(rig, svd, NULL, row, err));
done:
    if (status != HC_OK) {
        hc_rig_drain(rig);
    }
    hc_svd_close(svd->own);
    svd->own = NULL;
    return status;
}

static HcStatus vendor_svd(HcRig *rig, Svd *svd, HcError *err) {
    const Kind *kind = svd->kind;
    return svd_row(rig, svd, rig->vendor_ops->svd_name(kind->element, kind->n),
                   hc_bench_vendor_row(rig, kind->name, rig->settings->lines), err);
}

static HcStatus svds(HcRig *rig, HcError *err) {
    HcStatus status = HC_OK;
    Svd svd = {0};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        if (!hc_bench_wants(rig->bench, kinds[k].name)) {
            continue;
        }
        svd = (Svd){0};
        HC_TRY(open_batch(rig, &kinds[k], &svd, err));
        HC_TRY(own_svd(rig, &svd, err));
        if (rig->vendor != NULL) {
            HC_TRY(vendor_svd(rig, &svd, err));
        }
        hc_release(rig->compute, &svd.memory);
    }
done:
    hc_release(rig->compute, &svd.memory);
    return status;
}

/* ---- patches ---- */

typedef struct Patches {
    HcPatches *patches;
    HcBlock in, out;
} Patches;

static HcStatus call_patches(HcRig *rig, void *user, HcError *err) {
    Patches *patches = user;
    return hc_patches(rig->queue, &patches->in, patches->patches, &patches->out, err);
}

/* Patches of the first lines, as if the scene ended after them, of as many bands as there are components. */
static HcStatus open_patches(HcRig *rig, int64_t lines, HcPatchKeep keep, Patches *out, HcError *err) {
    HcPatchRule rule = {.lines = lines,
                        .samples = rig->settings->samples,
                        .bands = rig->settings->components,
                        .size = PATCH_SIZE,
                        .step = PATCH_STEP,
                        .keep = keep,
                        .count = PATCH_SIZE * PATCH_SIZE};
    hc_patches_close(out->patches);
    out->patches = NULL;
    out->in = hc_rig_block(rig, &rig->block, lines, rule.bands);
    out->out = hc_rig_block(rig, &rig->out, lines, rule.bands);
    HC_OR_RETURN(hc_rig_decode_bands(rig, lines, rule.bands, err));
    return hc_patches_open(rig->compute, &rule, &out->patches, err);
}

/* Lines that make a call long enough to be measured, and not much longer. */
static HcStatus choose_lines(HcRig *rig, Patches *patches, int64_t *lines, HcError *err) {
    double seconds = 0;
    *lines = rig->part < FEW_LINES ? rig->part : FEW_LINES;
    HC_OR_RETURN(open_patches(rig, *lines, HC_PATCH_OPTIMAL, patches, err));
    HC_OR_RETURN(hc_rig_time(rig, call_patches, patches, 1, &seconds, err));
    HC_OR_RETURN(hc_rig_time(rig, call_patches, patches, 1, &seconds, err));
    while (*lines < rig->part && seconds < long_call) {
        *lines = 2 * *lines < rig->part ? 2 * *lines : rig->part;
        HC_OR_RETURN(open_patches(rig, *lines, HC_PATCH_OPTIMAL, patches, err));
        HC_OR_RETURN(hc_rig_time(rig, call_patches, patches, 1, &seconds, err));
    }
    return HC_OK;
}

/* Where all singular values are kept, the scene comes out again. */
static HcStatus check_patches(HcRig *rig, Patches *patches, HcBenchRow *row, HcError *err) {
    HcStatus status = HC_OK;
    size_t values = (size_t)row->lines * (size_t)rig->settings->samples * (size_t)rig->settings->components;
    HcBuffer host = {0};
    HC_TRY(hc_alloc(rig->compute, HC_MEMORY_HOST, values * sizeof(float), &host, err));
    HC_TRY(open_patches(rig, row->lines, HC_PATCH_COUNT, patches, err));
    HC_TRY(call_patches(rig, patches, err));
    HC_TRY(hc_download(rig->queue, patches->in.data, host.data, values * sizeof(float), err));
    HC_TRY(hc_wait(rig->queue, err));
    HC_TRY(hc_rig_compare(rig, patches->out.data, host.data, values, 1e-5, row, err));
done:
    if (status != HC_OK) {
        hc_rig_drain(rig);
    }
    hc_release(rig->compute, &host);
    return status;
}

static HcStatus patches(HcRig *rig, HcError *err) {
    HcStatus status = HC_OK;
    Patches patches = {0};
    if (!hc_bench_wants(rig->bench, "patches")) {
        return HC_OK;
    }
    HcBenchRow *row = hc_bench_row(rig->bench, "patches", rig->device->by, rig->part);
    HC_TRY(choose_lines(rig, &patches, &row->lines, err));
    hc_rig_floor(rig, row,
                 (double)row->lines * rig->settings->samples * (8.0 * rig->settings->components + 2), 0, 0);
    HC_TRY(hc_rig_measure(rig, call_patches, &patches, row, err));
    HC_TRY(check_patches(rig, &patches, row, err));
    snprintf(row->how, sizeof row->how, "size %d, step %d, %d bands", PATCH_SIZE, PATCH_STEP,
             rig->settings->components);
    hc_bench_scale(rig->bench, row);
done:
    if (status != HC_OK) {
        hc_rig_drain(rig);
    }
    hc_patches_close(patches.patches);
    return status;
}

/* ---- groups ---- */

/* What denoise takes. */
static const HcGroupRule group_rule = {.size = 4, .reach = 8, .count = 32};

typedef struct Groups {
    HcGroupRule rule;
    HcBlock in, out;
    HcBuffer work;
} Groups;

/* The scene is its own pilot. */
static HcStatus call_groups(HcRig *rig, void *user, HcError *err) {
    Groups *groups = user;
    return hc_groups(rig->queue, &groups->in, &groups->in, &groups->rule, groups->work.data, &groups->out,
                     err);
}

static HcStatus open_groups(HcRig *rig, int64_t lines, const HcGroupRule *rule, Groups *out, HcError *err) {
    int32_t bands = rig->settings->components;
    hc_release(rig->compute, &out->work);
    out->rule = *rule;
    out->rule.lines = lines;
    out->in = hc_rig_block(rig, &rig->block, lines, bands);
    out->out = hc_rig_block(rig, &rig->out, lines, bands);
    HC_OR_RETURN(hc_rig_decode_bands(rig, lines, bands, err));
    size_t bytes = hc_groups_bytes(&out->rule, hc_block_pixels(&out->out), bands);
    return hc_alloc(rig->compute, HC_MEMORY_DEVICE, bytes, &out->work, err);
}

/* Groups of one pixel: x becomes x x^2 / (x^2 + 1). */
static HcStatus check_groups(HcRig *rig, Groups *groups, HcBenchRow *row, HcError *err) {
    HcStatus status = HC_OK;
    size_t values = (size_t)row->lines * (size_t)rig->settings->samples * (size_t)rig->settings->components;
    HcGroupRule rule = {.size = 1, .reach = 0, .count = 1};
    HcBuffer host = {0};
    HC_TRY(hc_alloc(rig->compute, HC_MEMORY_HOST, values * sizeof(float), &host, err));
    HC_TRY(open_groups(rig, row->lines, &rule, groups, err));
    HC_TRY(call_groups(rig, groups, err));
    HC_TRY(hc_download(rig->queue, groups->in.data, host.data, values * sizeof(float), err));
    HC_TRY(hc_wait(rig->queue, err));
    for (size_t v = 0; v < values; v++) {
        double x = (double)((float *)host.data)[v];
        ((float *)host.data)[v] = (float)(x - x / (x * x + 1));
    }
    HC_TRY(hc_rig_compare(rig, groups->out.data, host.data, values, 1e-5, row, err));
done:
    if (status != HC_OK) {
        hc_rig_drain(rig);
    }
    hc_release(rig->compute, &host);
    return status;
}

static HcStatus groups(HcRig *rig, HcError *err) {
    HcStatus status = HC_OK;
    Groups groups = {0};
    if (!hc_bench_wants(rig->bench, "groups")) {
        return HC_OK;
    }
    HcBenchRow *row = hc_bench_row(rig->bench, "groups", rig->device->by, rig->part);
    row->lines = rig->part < 2 * FEW_LINES ? rig->part : 2 * FEW_LINES;
    HC_TRY(open_groups(rig, row->lines, &group_rule, &groups, err));
    hc_rig_floor(rig, row,
                 (double)row->lines * rig->settings->samples * (12.0 * rig->settings->components + 2), 0, 0);
    HC_TRY(hc_rig_measure(rig, call_groups, &groups, row, err));
    HC_TRY(check_groups(rig, &groups, row, err));
    snprintf(row->how, sizeof row->how, "size %d, reach %d, %d patches, %d bands", group_rule.size,
             group_rule.reach, group_rule.count, rig->settings->components);
    hc_bench_scale(rig->bench, row);
done:
    if (status != HC_OK) {
        hc_rig_drain(rig);
    }
    hc_release(rig->compute, &groups.work);
    return status;
}

static HcStatus measure(HcRig *rig, HcError *err) {
    HC_OR_RETURN(svds(rig, err));
    HC_OR_RETURN(patches(rig, err));
    return groups(rig, err);
}

const HcBenchPart hc_bench_decompositions = {.measure = measure,
                                             .rows =
                                                 (const HcBenchKind[]){{"svd-16", HC_BENCH_NEAR},
                                                                       {"svd-32", HC_BENCH_NEAR},
                                                                       {"svd-64", HC_BENCH_NEAR},
                                                                       {"svd-16-complex", HC_BENCH_NEAR},
                                                                       {"svd-32-complex", HC_BENCH_NEAR},
                                                                       {"svd-64-complex", HC_BENCH_NEAR},
                                                                       {"svd-16-complex-128", HC_BENCH_NEAR},
                                                                       {"patches", HC_BENCH_NEAR},
                                                                       {"groups", HC_BENCH_NEAR},
                                                                       {0}}};
