/* Panels begin at fixed lines and blocks end anywhere: the lines of a panel that is not complete wait in
 * memory of the device. On the CPU they are copied by a team, since the block is given back to the reader. */
#include "pipeline/statistics/column_sums.h"
#include "core/allocate.h"
#include "core/operation/image/gather.h"
#include "core/solver/column_statistics.h"
#include "pipeline/memory.h"
#include "pipeline/statistics/statistics.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { THREADS_MAX = 64, HEADROOM = 32 };

/* ---- memory ---- */

static size_t padded_of(int32_t bands) {
    return hc_column_strips(bands) * HC_COLUMN_STRIP;
}

static size_t sums_of(const HcStage *stage, int32_t width) {
    return (size_t)hc_column_groups((int32_t)stage->in.samples, width) * hc_column_values(stage->in.bands);
}

static size_t pixels_waiting(const HcStage *stage) {
    return (size_t)hc_min64(HC_COLUMN_LINES, stage->in.lines) * (size_t)stage->in.samples;
}

void hc_column_sums_plan(HcStage *stage, int32_t width) {
    int32_t bands = stage->in.bands;
    int32_t samples = (int32_t)stage->in.samples;
    size_t work = hc_column_work_bytes(bands, samples, 0);
    bool floats = hc_sums_limit(&stage->in, HC_DIFFERENCE_NONE) == 0;
    stage->needs.observes = true;
    stage->needs.rank_lines = HC_COLUMN_LINES;
    stage->needs.sums.floats += floats;
    stage->needs.sums.integers += !floats;
    hc_stage_takes(stage, HC_SPACE_DEVICE,
                   sums_of(stage, width) * sizeof(int64_t) + work +
                       padded_of(bands) * (sizeof(float) + sizeof(double) + sizeof(int32_t)) +
                       pixels_waiting(stage) * ((size_t)bands * sizeof(float) + 1));
    hc_stage_takes(stage, HC_SPACE_MIRROR, sums_of(stage, width) * sizeof(int64_t));
    hc_stage_takes(stage, HC_SPACE_WORKER, hc_column_work_bytes(bands, samples, 1) - work);
}

/* Places on the device; what they hold is copied when it is known. */
static HcStatus open_adding(HcColumnSums *sums, HcStage *stage, int32_t threads, HcError *err) {
    HcStatus status = HC_OK;
    HcCompute *compute = stage->compute;
    size_t bands = (size_t)sums->bands;
    size_t pixels = pixels_waiting(stage);
    size_t work = hc_column_work_bytes(sums->bands, sums->samples, threads);
    int32_t *in_order = NULL;
    HC_TRY(hc_alloc(compute, HC_MEMORY_DEVICE, bands * sizeof(float), &sums->largest_device, err));
    HC_TRY(hc_alloc(compute, HC_MEMORY_DEVICE, padded_of(sums->bands) * sizeof(double), &sums->scale_device,
                    err));
    HC_TRY(hc_alloc(compute, HC_MEMORY_DEVICE, work, &sums->work, err));
    HC_TRY(hc_alloc(compute, HC_MEMORY_DEVICE, pixels * bands * sizeof(float), &sums->values, err));
    HC_TRY(hc_alloc(compute, HC_MEMORY_DEVICE, pixels, &sums->mask, err));
    HC_TRY(hc_memory_zeros(compute, sizeof(int64_t), &sums->far_device, err));
    if (sums->shared) {
        return HC_OK;
    }
    HC_TRY(hc_memory_zeros(compute, sums_of(stage, sums->width) * sizeof(int64_t), &sums->sums, err));
    HC_TRY(hc_new(in_order, bands, "an order of bands", err));
    for (int32_t b = 0; b < sums->bands; b++) {
        in_order[b] = b;
    }
    HC_TRY(hc_memory_upload(compute, in_order, bands * sizeof(int32_t), &sums->in_order, err));
done:
    free(in_order);
    return status;
}

HcStatus hc_column_sums_open(HcColumnSums *sums, HcStage *stage, int32_t width, HcError *err) {
    static const char what[] = "sums of columns";
    HcComputeInfo info;
    hc_compute_info(stage->compute, &info);
    *sums = (HcColumnSums){.bands = stage->in.bands,
                           .samples = (int32_t)stage->in.samples,
                           .width = width,
                           .groups = hc_column_groups((int32_t)stage->in.samples, width),
                           .limit = hc_sums_limit(&stage->in, HC_DIFFERENCE_NONE),
                           .pixels = stage->in.lines * width,
                           .compute = stage->compute,
                           .shared = info.shared_memory};
    sums->team = hc_team_open(hc_team_count(info.threads, THREADS_MAX));
    HC_OR_RETURN(hc_new(sums->exponent, padded_of(sums->bands), what, err));
    HC_OR_RETURN(hc_new(sums->scale, padded_of(sums->bands), what, err));
    HC_OR_RETURN(hc_new(sums->unit, padded_of(sums->bands), what, err));
    HC_OR_RETURN(hc_new(sums->largest, sums->bands, what, err));
    if (sums->shared) {
        HC_OR_RETURN(hc_new_large(sums->sum, sums_of(stage, width), what, err));
    }
    return open_adding(sums, stage, info.threads, err);
}

static void close_adding(HcColumnSums *sums) {
    HcBuffer *all[] = {&sums->far_device, &sums->largest_device, &sums->scale_device, &sums->work,
                       &sums->in_order,   &sums->values,         &sums->mask};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hc_memory_release(sums->compute, all[i]);
    }
}

void hc_column_sums_close(HcColumnSums *sums) {
    close_adding(sums);
    hc_memory_release(sums->compute, &sums->sums);
    hc_team_close(sums->team);
    free(sums->exponent);
    free(sums->scale);
    free(sums->unit);
    free(sums->largest);
    free(sums->sum);
    *sums = (HcColumnSums){0};
}

/* ---- units ---- */

/* The exponent e for which sums of `pixels` products of values up to `most` are at most 2^62 2^(2 e). */
static int32_t exponent_of(double most, int64_t pixels) {
    int exponent;
    double root = frexp(sqrt((double)pixels) * most, &exponent); /* below 1 */
    return root > 0 ? exponent - 31 : 0;
}

/* A band that is 0 in the sample still has a unit, by the largest value of all bands. */
static void choose_units(HcColumnSums *sums, const HcSample *sample) {
    size_t n = (size_t)sums->bands;
    float all = 0;
    for (size_t b = 0; b < n; b++) {
        for (int64_t k = 0; k < sample->count; k++) {
            sums->largest[b] = fmaxf(sums->largest[b], fabsf(sample->values[(size_t)k * n + b]));
        }
        all = fmaxf(all, sums->largest[b]);
    }
    for (size_t b = 0; b < n; b++) {
        double most = fmax(HEADROOM * (double)sums->largest[b], all * 0x1p-20);
        sums->largest[b] = (float)fmin(most, FLT_MAX);
        sums->exponent[b] = exponent_of(sums->largest[b], sums->pixels);
    }
    sums->exponent[n] = exponent_of(1, sums->pixels);
}

static void choose_integer_units(HcColumnSums *sums) {
    int32_t needed = exponent_of((double)sums->limit, sums->pixels);
    for (int32_t b = 0; b < sums->bands; b++) {
        sums->largest[b] = FLT_MAX;
        sums->exponent[b] = needed > 0 ? needed : 0;
    }
}

static void make_ready(HcColumnSums *sums, const HcSample *sample) {
    if (sums->limit > 0) {
        choose_integer_units(sums);
    } else {
        choose_units(sums, sample);
    }
    for (int32_t b = 0; b <= sums->bands; b++) {
        sums->scale[b] = ldexp(1, -sums->exponent[b]);
        sums->unit[b] = ldexp(1, sums->exponent[b]);
    }
    sums->ready = true;
}

/* ---- lines ---- */

static HcStatus send_units(HcColumnSums *sums, HcQueue *queue, HcError *err) {
    HC_OR_RETURN(hc_upload(queue, sums->largest, sums->largest_device.data,
                           (size_t)sums->bands * sizeof *sums->largest, err));
    return hc_upload(queue, sums->scale, sums->scale_device.data,
                     padded_of(sums->bands) * sizeof *sums->scale, err);
}

/* The lines that wait and those of `part`, which may be NULL, are a window. */
static HcStatus add_window(HcColumnSums *sums, HcQueue *queue, const HcBlock *part, HcError *err) {
    HcColumnRule rule = {
        .width = sums->width, .largest = sums->largest_device.data, .scale = sums->scale_device.data};
    const HcBlock *waiting = sums->waiting.lines > 0 ? &sums->waiting : NULL;
    const HcBlock *before = part != NULL ? waiting : NULL;
    const HcBlock *in = part != NULL ? part : waiting;
    int64_t *to = sums->shared ? sums->sum : sums->sums.data;
    if (in != NULL) {
        HC_OR_RETURN(
            hc_column_gram(queue, before, in, &rule, to, sums->far_device.data, sums->work.data, err));
    }
    sums->waiting.lines = 0;
    return HC_OK;
}

typedef struct Copy {
    const HcBlock *from, *to;
} Copy;

static void copy_line(void *user, int64_t line, int32_t thread) {
    const Copy *copy = user;
    size_t samples = (size_t)copy->from->samples;
    size_t values = samples * (size_t)copy->from->bands;
    size_t row = (size_t)line;
    (void)thread;
    memcpy(copy->to->data + row * values, copy->from->data + row * values, values * sizeof(float));
    memcpy(copy->to->mask + row * samples, copy->from->mask + row * samples, samples);
}

/* The block goes, the lines stay. */
static HcStatus keep(HcColumnSums *sums, HcQueue *queue, const HcBlock *part, HcError *err) {
    size_t pixel = (size_t)(part->line0 % HC_COLUMN_LINES) * (size_t)part->samples;
    HcBlock to = *part;
    to.data = (float *)sums->values.data + pixel * (size_t)part->bands;
    to.mask = (uint8_t *)sums->mask.data + pixel;
    if (sums->shared) {
        Copy copy = {part, &to};
        hc_team_run(sums->team, part->lines, copy_line, &copy);
    } else {
        HC_OR_RETURN(hc_gather(queue, part, sums->in_order.data, &to, err));
    }
    if (sums->waiting.lines == 0) {
        sums->waiting = to;
    } else {
        sums->waiting.lines += to.lines;
    }
    return HC_OK;
}

static HcStatus add_lines(HcColumnSums *sums, HcQueue *queue, const HcBlock *in, HcError *err) {
    int64_t end = in->line0 + in->lines;
    for (int64_t line = in->line0, next; line < end; line = next) {
        int64_t window = (line / HC_COLUMN_LINES + 1) * HC_COLUMN_LINES;
        next = hc_min64(end, window);
        HcBlock part = hc_block_part(in, line, next, 0);
        HC_OR_RETURN(next == window ? add_window(sums, queue, &part, err) : keep(sums, queue, &part, err));
    }
    return hc_wait(queue, err); /* the next block may come on another queue */
}

HcStatus hc_column_sums_add(HcColumnSums *sums, HcGrouping *grouping, HcStage *stage, HcQueue *queue,
                            const HcBlock *in, HcError *err) {
    int64_t end = in->line0 + in->lines;
    int64_t step = grouping->inside != NULL ? hc_grouping_lines(stage) : in->lines;
    if (!sums->ready) {
        make_ready(sums, &stage->sample);
        HC_OR_RETURN(send_units(sums, queue, err));
    }
    for (int64_t line = in->line0; line < end; line += step) {
        HcBlock part;
        HC_OR_RETURN(
            hc_grouping_take(grouping, -1, false, queue, in, line, hc_min64(line + step, end), &part, err));
        part = hc_block_part(&part, part.line0, part.line0 + part.lines, 0);
        HC_OR_RETURN(add_lines(sums, queue, &part, err));
    }
    return HC_OK;
}

/* ---- statistics ---- */

static size_t count_of(const HcColumnSums *sums) {
    return (size_t)sums->groups * hc_column_values(sums->bands);
}

/* What waits, and what a rank without lines lacks. */
static HcStatus end_adding(HcColumnSums *sums, HcStage *stage, HcQueue *queue, HcError *err) {
    if (!sums->ready) {
        make_ready(sums, &stage->sample);
    }
    HC_OR_RETURN(add_window(sums, queue, NULL, err));
    HC_OR_RETURN(hc_download(queue, sums->far_device.data, sums->far, sizeof sums->far, err));
    HC_OR_RETURN(hc_wait(queue, err));
    return hc_ranks_sum(hc_stage_ranks(stage), sums->far, 1, err);
}

/* The sums of all ranks, on the host. */
static HcStatus fetch(HcColumnSums *sums, HcStage *stage, HcQueue *queue, HcError *err) {
    if (!sums->shared) {
        HC_OR_RETURN(hc_new_large(sums->sum, count_of(sums), "sums of columns", err));
        HC_OR_RETURN(hc_download(queue, sums->sums.data, sums->sum, count_of(sums) * sizeof *sums->sum, err));
        HC_OR_RETURN(hc_wait(queue, err));
    }
    return hc_ranks_sum(hc_stage_ranks(stage), sums->sum, count_of(sums), err);
}

HcStatus hc_column_sums_take(HcColumnSums *sums, HcStage *stage, HcError *err) {
    HcStatus status = HC_OK;
    HcQueue *queue = NULL;
    HC_TRY(hc_queue_open(sums->compute, &queue, err));
    HC_TRY(end_adding(sums, stage, queue, err));
    HC_TRY(fetch(sums, stage, queue, err));
    hc_memory_release(sums->compute, &sums->sums);
    close_adding(sums);
done:
    hc_queue_close(queue);
    return status;
}

HcStatus hc_column_sums_take_on_device(HcColumnSums *sums, HcStage *stage, HcQueue *queue, int64_t **at,
                                       HcError *err) {
    HC_OR_RETURN(end_adding(sums, stage, queue, err));
    if (sums->shared || hc_ranks_count(hc_stage_ranks(stage)) > 1) {
        HC_OR_RETURN(fetch(sums, stage, queue, err));
    }
    if (!sums->shared && sums->sum != NULL) {
        HC_OR_RETURN(hc_upload(queue, sums->sum, sums->sums.data, count_of(sums) * sizeof *sums->sum, err));
        HC_OR_RETURN(hc_wait(queue, err));
        free(sums->sum);
        sums->sum = NULL;
    }
    close_adding(sums);
    *at = sums->shared ? sums->sum : sums->sums.data;
    return HC_OK;
}

int64_t hc_column_sums_statistics(const HcColumnSums *sums, int64_t group, double *mean, double *covariance) {
    size_t n = (size_t)sums->bands;
    const int64_t *sum = sums->sum + (size_t)group * hc_column_values(sums->bands);
    int64_t count = hc_column_statistics(sums->bands, sum, sums->unit, mean, covariance);
    for (size_t i = 0; i < n && count > 1; i++) {
        for (size_t j = 0; j < i; j++) {
            covariance[i * n + j] = covariance[j * n + i];
        }
    }
    return count;
}
