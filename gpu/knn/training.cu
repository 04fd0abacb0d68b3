/* Training spectra on the device: about their centre, scaled, and cut into halves. */
#include "gpu/knn/knn.cuh"

#include <new>
#include <stdlib.h>
#include <string.h>

HcTrainingOpenFn hc_gpu_training_open;
HcTrainingCloseFn hc_gpu_training_close;

namespace {

__global__ void move_training(HcTraining training) {
    const int64_t j = (blockIdx.x * (int64_t)blockDim.x + threadIdx.x) / 32;
    if (j >= training.tiles * TILE) {
        return;
    }
    if (j >= training.count) {
        clear_spectrum(training, training.halves, j);
        if (threadIdx.x % 32 == 0) {
            training.known[j] = {INFINITY, 0};
        }
        return;
    }
    const float *x = training.spectra + j * training.stride;
    const HcMoved moved = move_spectrum(training, x, training.halves, j);
    if (threadIdx.x % 32 == 0) {
        /* A spectrum of zeros has the cosine 0, as if it were 2 away and not 1. */
        double beyond = moved.plain > 0 ? 0 : training.scale * training.scale;
        training.known[j] = {(float)((moved.square + beyond) / 2), moved.step};
        atomicMax(&training.rough[0], __float_as_int(moved.off));
        atomicMax(&training.rough[1], __float_as_int(moved.low));
    }
}

size_t layout(HcTraining *training, char *memory) {
    size_t at = 0;
    size_t count = (size_t)training->count;
    size_t padded = (size_t)training->tiles * TILE;
    size_t row = (size_t)training->steps * ROW_BYTES;
    size_t each = row + sizeof(HcBound) + 2 * sizeof(int32_t) + CANDIDATES_MAX * sizeof(HcCandidate);
    /* Whole waves of thread blocks: one on a multiprocessor of those with `groups`, two of the others. */
    int32_t queries = training->groups > 0 ? training->groups * UNIT : 2 * QUERIES;
    int64_t wave =
        hc_div_up((int64_t)training->gpu->processors * queries, QUERIES_MULTIPLE) * QUERIES_MULTIPLE;
    int64_t capacity =
        (int64_t)(3 * training->gpu->panel_bytes / 2 / each) / QUERIES_MULTIPLE * QUERIES_MULTIPLE;
    capacity = capacity > wave ? wave : capacity;
    training->capacity = capacity < QUERIES_MULTIPLE ? (int64_t)QUERIES_MULTIPLE : capacity;
    size_t pixels = (size_t)training->capacity;
    training->spectra = (float *)hc_take(memory, &at, count * (size_t)training->stride * sizeof(float));
    training->norm = (double *)hc_take(memory, &at, (count + (size_t)training->bands + 1) * sizeof(double));
    training->centre = memory != NULL ? training->norm + count : NULL;
    training->rough = memory != NULL ? (int32_t *)(training->centre + training->bands) : NULL;
    if (training->count <= FEW) {
        training->capacity = INT32_MAX;
        return at;
    }
    training->halves = (char *)hc_take(memory, &at, padded * row);
    training->known = (HcKnown *)hc_take(memory, &at, padded * sizeof(HcKnown));
    training->moved = (char *)hc_take(memory, &at, pixels * row);
    training->bound = (HcBound *)hc_take(memory, &at, pixels * sizeof(HcBound));
    training->found = (int32_t *)hc_take(memory, &at, pixels * sizeof(int32_t));
    training->left = (int32_t *)hc_take(memory, &at, pixels * sizeof(int32_t));
    training->left_count = (int32_t *)hc_take(memory, &at, sizeof(int32_t));
    training->candidates = (HcCandidate *)hc_take(memory, &at, pixels * CANDIDATES_MAX * sizeof(HcCandidate));
    return at;
}

/* The norm as the distance has it: summed in the order of the bands. */
double length_of(const float *x, int32_t bands) {
    double sum = 0;
    for (int32_t b = 0; b < bands; b++) {
        sum += (double)x[b] * (double)x[b];
    }
    return sqrt(sum);
}

/* Norms and the centre, and how long the spectra are about it; unit spectra for angles. */
void look_at(HcTraining *training, const float *spectra, double *norm, double *centre) {
    int32_t bands = training->bands;
    bool angle = training->metric == HC_METRIC_ANGLE;
    for (int64_t j = 0; j < training->count; j++) {
        const float *x = spectra + j * bands;
        double length = norm[j] = angle ? length_of(x, bands) : 1;
        for (int32_t b = 0; b < bands && length > 0; b++) {
            centre[b] += (double)x[b] / length / (double)training->count;
        }
    }
    double longest = 0;
    bool zeros = false;
    for (int64_t j = 0; j < training->count; j++) {
        const float *x = spectra + j * bands;
        double length = norm[j];
        double sum = 0;
        zeros = zeros || length == 0;
        for (int32_t b = 0; b < bands; b++) {
            double value = (length > 0 ? (double)x[b] / length : 0) - centre[b];
            sum += value * value;
        }
        longest = fmax(longest, sqrt(sum));
    }
    training->scale = longest > 0 && longest < 1e300 ? ldexp(1.0, 4 - ilogb(longest)) : 1;
    training->longest = (float)(longest * training->scale * (1 + 1e-6));
    /* A spectrum of zeros is set apart by half the square of the scale, in float32. */
    double square = training->scale * training->scale;
    training->rounded = angle ? (float)(square * (1e-15 * (bands + 1) + (zeros ? ldexp(1.0, -23) : 0))) : 0;
}

} // namespace

HcStatus hc_gpu_training_open(HcCompute *compute, const float *spectra, int64_t count, int32_t bands,
                              HcMetric metric, HcTraining **out, HcError *err) {
    HcStatus status = HC_OK;
    HcTraining *training = NULL;
    HcQueue *queue = NULL;
    const size_t numbers = (size_t)count + (size_t)bands + 1;
    const size_t values = (size_t)count * (size_t)hc_div_up(bands, 4) * 4;
    float *rows = NULL;  /* [count][stride] */
    double *norm = NULL; /* [count], the centre, and 0 for `rough` */
    *out = NULL;
    training = new (std::nothrow) HcTraining();
    norm = (double *)calloc(numbers, sizeof *norm);
    rows = (float *)calloc(values, sizeof *rows);
    if (training == NULL || norm == NULL || rows == NULL) {
        HC_TRY(hc_fail_memory(err, (double)values * sizeof *rows, "training spectra"));
    }
    training->gpu = (HcGpu *)compute;
    training->count = count;
    training->tiles = hc_div_up(count, TILE);
    training->bands = bands;
    training->stride = (int32_t)hc_div_up(bands, 4) * 4;
    training->groups = hc_gpu_knn_groups(training->gpu, bands);
    training->steps = (int32_t)hc_div_up(bands, training->groups > 0 ? LIMB_STEP : STEP);
    training->metric = metric;
    look_at(training, spectra, norm, norm + count);
    HC_TRY(hc_gpu_alloc(compute, HC_MEMORY_DEVICE, layout(training, NULL), &training->memory, err));
    (void)layout(training, (char *)training->memory.data);
    training->gpu->sums_bytes += training->memory.bytes;
    HC_TRY(hc_queue_open(compute, &queue, err));
    for (int64_t j = 0; j < count; j++) {
        memcpy(rows + j * training->stride, spectra + j * bands, (size_t)bands * sizeof *rows);
    }
    HC_TRY(hc_upload(queue, rows, training->spectra, values * sizeof *rows, err));
    HC_TRY(hc_upload(queue, norm, training->norm, numbers * sizeof *norm, err));
    if (count > FEW) {
        move_training<<<(unsigned)hc_div_up(training->tiles * TILE * 32, THREADS), THREADS, 0,
                        queue->stream>>>(*training);
        HC_TRY(hc_gpu_launched("preparing training spectra", err));
    }
    HC_TRY(hc_wait(queue, err));
    *out = training;
done:
    free(norm);
    free(rows);
    if (queue != NULL) {
        hc_queue_close(queue);
    }
    if (status != HC_OK) {
        hc_gpu_training_close(training);
    }
    return status;
}

void hc_gpu_training_close(HcTraining *training) {
    if (training != NULL) {
        if (training->gpu != NULL) {
            training->gpu->sums_bytes -= training->memory.bytes;
            hc_gpu_release(&training->gpu->base, &training->memory);
        }
        delete training;
    }
}
