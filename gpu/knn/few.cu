/* Few training spectra (centres of clusters): the float64 distances of a pixel from all of them at once,
 * without candidates.
 *
 * A thread has a pixel. A warp brings its 32 pixels to shared memory, FEW_BANDS bands at a time. Threads that
 * read along their own pixels would read each line of memory again and again. Every thread block turns the
 * spectra to float64 once. */
#include "gpu/knn/knn.cuh"

namespace {

enum { FEW_THREADS = 128, FEW_BANDS = 32 };

template <int COUNT> struct FewShared {
    double t[FEW_BANDS][COUNT]; /* 0 after the last spectrum */
    float x[FEW_THREADS][FEW_BANDS + 1];
};

/* Bands from band0 on, of the pixels of the thread's warp, the first of which is `first`. */
template <int COUNT>
__device__ inline void bring(const HcTraining &training, const HcKnnRun &run, int64_t first, int32_t band0,
                             FewShared<COUNT> *shared) {
    const int32_t lane = threadIdx.x % 32;
    const int32_t row0 = threadIdx.x / 32 * 32;
    const int32_t rows = (int32_t)min((int64_t)32, run.count - first);
    if (band0 + lane < training.bands) {
        const float *from = run.data + first * training.bands + band0 + lane;
        for (int32_t i = 0; i < rows; i++) {
            hc_copy_4(&shared->x[row0 + i][lane], from + (int64_t)i * training.bands);
        }
    }
    hc_copies_end();
    for (int32_t i = threadIdx.x; i < FEW_BANDS * COUNT; i += FEW_THREADS) {
        const int32_t j = i / FEW_BANDS;
        const int32_t band = band0 + i % FEW_BANDS;
        const bool inside = j < training.count && band < training.bands;
        shared->t[i % FEW_BANDS][j] = inside ? (double)training.spectra[j * training.stride + band] : 0;
    }
    hc_copies_wait<0>();
}

/* Adds a band to the distances, or for angles to the products. */
template <int COUNT, HcMetric METRIC>
__device__ inline void add_band(double x, const double t[COUNT], double sum[COUNT]) {
#pragma unroll
    for (int32_t j = 0; j < COUNT; j++) {
        const double factor = METRIC == HC_METRIC_ANGLE ? x : x - t[j];
        sum[j] += factor * (METRIC == HC_METRIC_ANGLE ? t[j] : factor);
    }
}

/* The k nearest, one after another; of equal distances the lower number. */
template <int COUNT>
__device__ inline void take_nearest(const double distance[COUNT], int32_t count, const HcKnnRun &run,
                                    int64_t q) {
    uint32_t left = 0xFFFFFFFFU >> (32 - count);
    for (int32_t n = 0; n < run.k; n++) {
        double best = 0;
        int32_t which = -1;
#pragma unroll
        for (int32_t j = 0; j < COUNT; j++) {
            if ((left >> j & 1) != 0 && (which < 0 || distance[j] < best)) {
                best = distance[j];
                which = j;
            }
        }
        left &= ~(1U << which);
        run.index[q * run.k + n] = which;
        run.distance[q * run.k + n] = best;
    }
}

template <int COUNT, HcMetric METRIC>
__global__ void __launch_bounds__(FEW_THREADS) choose_of_few(HcTraining training, HcKnnRun run) {
    __shared__ FewShared<COUNT> shared;
    const int64_t q = blockIdx.x * (int64_t)FEW_THREADS + threadIdx.x;
    const int64_t first = q - threadIdx.x % 32;
    double sum[COUNT] = {};
    double square = 0;
    for (int32_t band0 = 0; band0 < training.bands; band0 += FEW_BANDS) {
        __syncthreads();
        bring(training, run, first, band0, &shared);
        __syncthreads();
        const int32_t bands = min((int32_t)FEW_BANDS, training.bands - band0);
        for (int32_t b = 0; b < bands; b++) {
            const double x = (double)shared.x[threadIdx.x][b];
            square += METRIC == HC_METRIC_ANGLE ? x * x : 0;
            add_band<COUNT, METRIC>(x, shared.t[b], sum);
        }
    }
    if (q >= run.count) {
        return;
    }
    if (run.mask[q] == 0) {
        for (int32_t n = 0; n < run.k; n++) {
            run.index[q * run.k + n] = -1;
            run.distance[q * run.k + n] = INFINITY;
        }
        return;
    }
    if (METRIC == HC_METRIC_ANGLE) {
        const double norm = sqrt(square);
#pragma unroll
        for (int32_t j = 0; j < COUNT; j++) {
            const double lengths = j < training.count ? norm * training.norm[j] : 0;
            sum[j] = lengths > 0 ? -sum[j] / lengths : 0;
        }
    }
    take_nearest<COUNT>(sum, (int32_t)training.count, run, q);
}

template <int COUNT> void launch(HcQueue *queue, const HcTraining *training, const HcKnnRun *run) {
    auto kernel = training->metric == HC_METRIC_ANGLE ? choose_of_few<COUNT, HC_METRIC_ANGLE>
                                                      : choose_of_few<COUNT, HC_METRIC_EUCLIDEAN>;
    kernel<<<(unsigned)hc_div_up(run->count, FEW_THREADS), FEW_THREADS, 0, queue->stream>>>(*training, *run);
}

} // namespace

HcStatus hc_gpu_knn_few(HcQueue *queue, const HcTraining *training, const HcKnnRun *run, HcError *err) {
    if (training->count <= 8) {
        launch<8>(queue, training, run);
    } else if (training->count <= 16) {
        launch<16>(queue, training, run);
    } else {
        launch<FEW>(queue, training, run);
    }
    return hc_gpu_launched("choosing neighbours", err);
}
