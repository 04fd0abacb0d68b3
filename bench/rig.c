/* The rig: an open backend with the scene in its memory, the stopwatch, and the comparisons. */
#include "core/operation/image/decode.h"
#include "bench/internal.h"
#include "core/allocate.h"
#include "core/system/clock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Float pixels of a part, at most [bytes]: host memory is kept small, device memory takes a usual scene. */
static const uint64_t part_on_host = (uint64_t)128 << 20;
static const uint64_t part_on_device = (uint64_t)1 << 30;

/* What all rounds of a row should take [s], and one call that is slow enough for fewer rounds. */
static const double row_seconds = 0.4;
static const double slow_call = 0.2;

/* One call of rows whose lines are chosen is as long as this [s], or takes all lines. */
static const double long_call = 0.2;

static size_t line_bytes(const HcBenchSettings *settings) {
    return (size_t)settings->samples * ((size_t)settings->bands * sizeof(float) + 1);
}

uint64_t hc_rig_part_bytes(const HcRig *rig) {
    const HcComputeInfo *info = &rig->device->info;
    uint64_t bytes = info->shared_memory ? part_on_host : part_on_device;
    if (!info->shared_memory && info->memory_free > 0 && info->memory_free / 8 < bytes) {
        bytes = info->memory_free / 8;
    }
    return bytes;
}

/* At least what the serial reference saw, so that all of that can be compared. */
static int64_t part_lines(const HcRig *rig) {
    const HcBenchWitness *witness = rig->bench->witness;
    int64_t lines = (int64_t)(hc_rig_part_bytes(rig) / line_bytes(rig->settings));
    int64_t least = witness != NULL && witness->lines > 3 ? witness->lines : 3;
    lines = lines < least ? least : lines;
    return lines < rig->settings->lines ? lines : rig->settings->lines;
}

static HcStatus fill_raw(HcRig *rig, HcError *err) {
    HcStatus status = HC_OK;
    const int64_t values = rig->settings->lines * rig->settings->samples * rig->settings->bands;
    const int64_t chunk = (int64_t)4 << 20;
    HcBuffer host = {0};
    HC_TRY(hc_alloc(rig->compute, HC_MEMORY_HOST, (size_t)chunk * sizeof(uint16_t), &host, err));
    for (int64_t first = 0; first < values; first += chunk) {
        int64_t count = values - first < chunk ? values - first : chunk;
        hc_bench_random(rig->settings, first, count, host.data);
        HC_TRY(hc_upload(rig->queue, host.data, (uint16_t *)rig->raw.data + first,
                         (size_t)count * sizeof(uint16_t), err));
        HC_TRY(hc_wait(rig->queue, err));
    }
done:
    hc_release(rig->compute, &host);
    return status;
}

/* Matrix, mean, wavelengths and the two orders of the bands. */
static HcStatus fill_small(HcRig *rig, HcError *err) {
    HcStatus status = HC_OK;
    size_t n = (size_t)rig->settings->bands;
    size_t weights = n * (size_t)rig->settings->components;
    size_t bytes = (weights + 2 * n) * sizeof(double) + (2 * n + 2) * sizeof(int32_t);
    HcBuffer host = {0};
    HC_TRY(hc_alloc(rig->compute, HC_MEMORY_DEVICE, bytes, &rig->small, err));
    HC_TRY(hc_alloc(rig->compute, HC_MEMORY_HOST, bytes, &host, err));
    double *matrix = host.data;
    int32_t *index = (int32_t *)(matrix + weights + 2 * n);
    hc_bench_matrix(rig->settings, matrix, matrix + weights);
    for (size_t b = 0; b < n; b++) {
        index[b] = (int32_t)b;
        index[n + b] = (int32_t)(n - 1 - b);
        matrix[weights + n + b] = 380 + 7.4 * (double)b;
    }
    index[2 * n] = 0;
    index[2 * n + 1] = (int32_t)n;
    rig->matrix = rig->small.data;
    rig->mean = rig->matrix + weights;
    rig->wavelength = rig->mean + n;
    rig->in_order = (int32_t *)(rig->wavelength + n);
    rig->reversed = rig->in_order + n;
    rig->piece = rig->reversed + n;
    HC_TRY(hc_upload(rig->queue, host.data, rig->small.data, bytes, err));
    HC_TRY(hc_wait(rig->queue, err));
done:
    hc_release(rig->compute, &host);
    return status;
}

static HcStatus add_device(HcRig *rig, HcError *err) {
    HcBench *bench = rig->bench;
    if (bench->device_count == HC_BENCH_DEVICES_MAX) {
        return hc_fail(err, HC_E_USAGE, "bench: more than %d backends", HC_BENCH_DEVICES_MAX);
    }
    rig->device = &bench->devices[bench->device_count++];
    *rig->device = (HcBenchDevice){.by = hc_compute_name(rig->compute->ops)};
    hc_compute_info(rig->compute, &rig->device->info);
    return HC_OK;
}

HcStatus hc_rig_open(HcRig *rig, HcBench *bench, HcCompute *compute, HcError *err) {
    const HcBenchSettings *settings = &bench->settings;
    *rig = (HcRig){.bench = bench, .settings = settings, .compute = compute};
    HC_OR_RETURN(add_device(rig, err));
    HC_OR_RETURN(hc_queue_open(compute, &rig->queue, err));
    rig->part = part_lines(rig);
    size_t pixels = (size_t)settings->lines * (size_t)settings->samples;
    size_t block = (size_t)rig->part * line_bytes(settings);
    HC_OR_RETURN(hc_alloc(compute, HC_MEMORY_DEVICE, pixels * (size_t)settings->bands * sizeof(uint16_t),
                          &rig->raw, err));
    HC_OR_RETURN(hc_alloc(compute, HC_MEMORY_DEVICE, block, &rig->block, err));
    HC_OR_RETURN(hc_alloc(compute, HC_MEMORY_DEVICE, block, &rig->out, err));
    HC_OR_RETURN(fill_raw(rig, err));
    return fill_small(rig, err);
}

void hc_rig_close(HcRig *rig) {
    if (rig->compute == NULL) {
        return;
    }
    hc_queue_close(rig->queue);
    hc_release(rig->compute, &rig->raw);
    hc_release(rig->compute, &rig->block);
    hc_release(rig->compute, &rig->out);
    hc_release(rig->compute, &rig->small);
}

void hc_rig_drain(HcRig *rig) {
    HcError ignored = {0};
    (void)!hc_wait(rig->queue, &ignored);
}

/* ---- time ---- */

HcStatus hc_rig_time(HcRig *rig, HcRigBody *body, void *user, int32_t calls, double *seconds, HcError *err) {
    double start = hc_now();
    for (int32_t c = 0; c < calls; c++) {
        HC_OR_RETURN(body(rig, user, err));
    }
    HC_OR_RETURN(hc_wait(rig->queue, err));
    *seconds = (hc_now() - start) / calls;
    return HC_OK;
}

HcStatus hc_rig_choose_lines(HcRig *rig, HcRigBody *body, void *user, HcBlock *in, HcBlock *out,
                             int64_t *lines, HcError *err) {
    double seconds = 0;
    *lines = in->lines = out->lines = 1;
    HC_OR_RETURN(hc_rig_time(rig, body, user, 1, &seconds, err));
    HC_OR_RETURN(hc_rig_time(rig, body, user, 1, &seconds, err));
    while (*lines < rig->part && seconds < long_call) {
        *lines = 2 * *lines < rig->part ? 2 * *lines : rig->part;
        in->lines = out->lines = (int32_t)*lines;
        HC_OR_RETURN(hc_rig_time(rig, body, user, 1, &seconds, err));
    }
    return HC_OK;
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

void hc_bench_take_times(HcBenchRow *row, double *seconds) {
    qsort(seconds, (size_t)row->rounds, sizeof *seconds, compare_doubles);
    row->least = seconds[0];
    row->seconds = seconds[row->rounds / 2];
    row->most = seconds[row->rounds - 1];
}

HcStatus hc_rig_measure(HcRig *rig, HcRigBody *body, void *user, HcBenchRow *row, HcError *err) {
    HcStatus status = HC_OK;
    double once = 0;
    double seconds[HC_RIG_ROUNDS];
    HC_TRY(hc_rig_time(rig, body, user, 1, &once, err));
    HC_TRY(hc_rig_time(rig, body, user, 1, &once, err));
    row->rounds = once > slow_call ? 3 : HC_RIG_ROUNDS;
    double calls = ceil(row_seconds / row->rounds / (once > 1e-7 ? once : 1e-7));
    row->repetitions = rig->settings->repetitions;
    if (row->repetitions == 0) {
        row->repetitions = calls > 1000 ? 1000 : (int32_t)calls;
    }
    for (int32_t r = 0; r < row->rounds; r++) {
        HC_TRY(hc_rig_time(rig, body, user, row->repetitions, &seconds[r], err));
    }
    hc_bench_take_times(row, seconds);
done:
    if (status != HC_OK) {
        hc_rig_drain(rig);
    }
    return status;
}

/* ---- views ---- */

double hc_rig_pixels(const HcRig *rig) {
    return (double)rig->part * rig->settings->samples;
}

HcBlock hc_rig_block(const HcRig *rig, const HcBuffer *buffer, int64_t lines, int32_t bands) {
    HcBlock block = {
        .data = buffer->data, .lines = (int32_t)lines, .samples = rig->settings->samples, .bands = bands};
    block.mask = (uint8_t *)buffer->data + hc_block_values(&block) * sizeof(float);
    return block;
}

HcRaw hc_rig_raw(const HcRig *rig, int64_t lines) {
    int64_t samples = rig->settings->samples;
    return (HcRaw){.data = rig->raw.data,
                   .type = HC_UINT16,
                   .lines = (int32_t)lines,
                   .samples = rig->settings->samples,
                   .bands = rig->settings->bands,
                   .stride_line = 2 * samples * rig->settings->bands,
                   .stride_sample = 2,
                   .stride_band = 2 * samples};
}

HcStatus hc_rig_decode(HcRig *rig, int64_t lines, HcError *err) {
    return hc_rig_decode_bands(rig, lines, rig->settings->bands, err);
}

HcStatus hc_rig_decode_bands(HcRig *rig, int64_t lines, int32_t bands, HcError *err) {
    HcRaw raw = hc_rig_raw(rig, lines);
    HcDecode how = {.band_index = rig->in_order};
    HcBlock block = hc_rig_block(rig, &rig->block, lines, bands);
    HC_OR_RETURN(hc_decode(rig->queue, &raw, &how, &block, err));
    return hc_wait(rig->queue, err);
}

HcStatus hc_rig_repeat(HcRig *rig, const float *pixels, int64_t period, const HcBlock *to, HcError *err) {
    HcStatus status = HC_OK;
    int64_t line = (int64_t)to->samples * to->bands;
    size_t count = (size_t)to->lines * (size_t)to->samples;
    uint8_t *mask = NULL;
    HC_OR_RETURN(hc_new(mask, count, "a mask", err));
    memset(mask, 1, count);
    HC_TRY(hc_upload(rig->queue, mask, to->mask, count, err));
    for (int64_t first = 0; first < to->lines; first += period) {
        int64_t some = to->lines - first < period ? to->lines - first : period;
        HC_TRY(hc_upload(rig->queue, pixels, to->data + first * line, (size_t)(some * line) * sizeof(float),
                         err));
    }
    HC_TRY(hc_wait(rig->queue, err));
done:
    if (status != HC_OK) {
        hc_rig_drain(rig);
    }
    free(mask);
    return status;
}

/* ---- floors ---- */

static void raise_floor(HcBenchRow *row, double work, double rate, const char *name) {
    if (rate > 0 && work / rate > row->floor) {
        row->floor = work / rate;
        row->floor_of = name;
    }
}

void hc_rig_floor(const HcRig *rig, HcBenchRow *row, double bytes, double int8, double float64) {
    const HcRates *ceiling = &rig->device->ceiling;
    row->bytes = bytes;
    row->floor = 0;
    row->floor_of = NULL;
    raise_floor(row, bytes, ceiling->memory, "memory");
    raise_floor(row, int8, ceiling->int8, "int8");
    raise_floor(row, float64, ceiling->float64, "float64");
}

void hc_rig_floor_float32(const HcRig *rig, HcBenchRow *row, double float32) {
    raise_floor(row, float32, rig->device->ceiling.float32, "float32");
}

int64_t hc_rig_limit(HcDifference kind) {
    return hc_difference_limit(kind, UINT16_MAX);
}

double hc_rig_limb_operations(const HcRig *rig, HcDifference kind, int64_t lines) {
    int bits = kind == HC_DIFFERENCE_NONE ? 0 : 1; /* differences have a sign */
    for (int64_t limit = hc_rig_limit(kind); limit > 0; limit /= 2) {
        bits++;
    }
    double limbs = (bits + 7) / 8;
    double n = rig->settings->bands;
    return (double)lines * rig->settings->samples * n * (n + 1) * limbs * limbs;
}

/* ---- comparisons ---- */

static const char differs[] = "it differs from the serial reference";

/* Whether |value - expected| is within tolerance; NaN only where it is expected. */
static bool all_near(const float *values, const float *expected, size_t count, double tolerance) {
    double largest = 0;
    for (size_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs((double)expected[i]));
    }
    for (size_t i = 0; i < count; i++) {
        bool missing = isnan(values[i]) && isnan(expected[i]);
        if (!missing && !(fabs((double)values[i] - (double)expected[i]) <= tolerance * largest)) {
            return false;
        }
    }
    return true;
}

void hc_rig_compare_host(const float *values, const float *expected, size_t count, double tolerance,
                         HcBenchRow *row) {
    bool fine = tolerance > 0 ? all_near(values, expected, count, tolerance)
                              : memcmp(values, expected, count * sizeof(float)) == 0;
    if (!fine) {
        hc_bench_wrong(row, differs);
    }
    row->check = tolerance > 0 ? HC_BENCH_NEAR : HC_BENCH_SAME;
}

HcStatus hc_rig_compare(HcRig *rig, const float *at, const float *expected, size_t count, double tolerance,
                        HcBenchRow *row, HcError *err) {
    HcStatus status = HC_OK;
    HcBuffer host = {0};
    HC_TRY(hc_alloc(rig->compute, HC_MEMORY_HOST, count * sizeof(float), &host, err));
    HC_TRY(hc_download(rig->queue, at, host.data, count * sizeof(float), err));
    HC_TRY(hc_wait(rig->queue, err));
    hc_rig_compare_host(host.data, expected, count, tolerance, row);
done:
    hc_release(rig->compute, &host);
    return status;
}

HcStatus hc_rig_compare_bytes(HcRig *rig, const void *at, const void *expected, size_t bytes, HcBenchRow *row,
                              HcError *err) {
    HcStatus status = HC_OK;
    HcBuffer host = {0};
    HC_TRY(hc_alloc(rig->compute, HC_MEMORY_HOST, bytes, &host, err));
    HC_TRY(hc_download(rig->queue, at, host.data, bytes, err));
    HC_TRY(hc_wait(rig->queue, err));
    if (memcmp(host.data, expected, bytes) != 0) {
        hc_bench_wrong(row, differs);
    }
    row->check = HC_BENCH_SAME;
done:
    hc_release(rig->compute, &host);
    return status;
}

void hc_rig_compare_moments(const HcMoments *moments, const HcMoments *expected, HcBenchRow *row) {
    size_t n = (size_t)expected->bands;
    if (moments->bands != expected->bands || moments->count != expected->count ||
        memcmp(moments->sum, expected->sum, n * sizeof(HcWide)) != 0 ||
        memcmp(moments->product, expected->product, n * n * sizeof(HcWide)) != 0) {
        hc_bench_wrong(row, differs);
    }
    row->check = HC_BENCH_SAME;
}
