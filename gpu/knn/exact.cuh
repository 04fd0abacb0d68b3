/* Exact distances in float64: of the candidates of a pixel, and, where these may not do, of all training
 * spectra. */
#ifndef HC_GPU_KNN_EXACT_CUH
#define HC_GPU_KNN_EXACT_CUH

#include "gpu/knn/knn.cuh"
#include "gpu/knn/lists.cuh"

namespace {

template <bool ALIGNED> __device__ inline float4 four(const float *x) {
    return ALIGNED ? *(const float4 *)x : make_float4(x[0], x[1], x[2], x[3]);
}

/* The sum of squares of differences, or of products, in the order of the bands; x at a multiple of 16 bytes
 * where ALIGNED. Lanes have different t: each load takes as much of a line as one can. */
template <HcMetric METRIC, bool ALIGNED>
__device__ inline double exact_sum(const float *x, const float *t, int32_t bands) {
    double sum = 0;
    auto add = [&](float a, float b) {
        const double factor = METRIC == HC_METRIC_ANGLE ? (double)a : (double)a - (double)b;
        sum += factor * (METRIC == HC_METRIC_ANGLE ? (double)b : factor);
    };
    int32_t b = 0;
#pragma unroll 2
    for (; b + 4 <= bands; b += 4) {
        const float4 p = four<ALIGNED>(x + b);
        const float4 q = four<true>(t + b);
        add(p.x, q.x);
        add(p.y, q.y);
        add(p.z, q.z);
        add(p.w, q.w);
    }
    for (; b < bands; b++) {
        add(x[b], t[b]);
    }
    return sum;
}

template <bool ALIGNED>
__device__ inline double exact_distance(const HcTraining &training, const float *x, double norm, int64_t j) {
    const float *t = training.spectra + j * training.stride;
    if (training.metric == HC_METRIC_EUCLIDEAN) {
        return exact_sum<HC_METRIC_EUCLIDEAN, ALIGNED>(x, t, training.bands);
    }
    const double lengths = norm * training.norm[j];
    const double sum = exact_sum<HC_METRIC_ANGLE, ALIGNED>(x, t, training.bands);
    return lengths > 0 ? -sum / lengths : 0;
}

__device__ inline bool nearer(double a, int32_t i, double b, int32_t j) {
    return a < b || (a == b && i < j);
}

/* The nearest of a warp's; number -1 = none. */
__device__ inline void nearest_of_warp(double *distance, int32_t *number) {
    for (int32_t d = 16; d > 0; d /= 2) {
        double other = __shfl_xor_sync(0xFFFFFFFFU, *distance, d);
        int32_t its = __shfl_xor_sync(0xFFFFFFFFU, *number, d);
        if (its >= 0 && (*number < 0 || nearer(other, its, *distance, *number))) {
            *distance = other;
            *number = its;
        }
    }
}

/* One warp a pixel. */
__global__ void __launch_bounds__(THREADS, 4) choose(HcTraining training, HcKnnRun run) {
    const int64_t q = (blockIdx.x * (int64_t)blockDim.x + threadIdx.x) / 32;
    const int32_t lane = threadIdx.x % 32;
    if (q >= run.count) {
        return;
    }
    int32_t *index = run.index + q * run.k;
    double *distance = run.distance + q * run.k;
    if (run.mask[q] == 0) {
        for (int32_t n = lane; n < run.k; n += 32) {
            index[n] = -1;
            distance[n] = INFINITY;
        }
        return;
    }
    const float *x = run.data + q * training.bands;
    HcCandidate *list = training.candidates + q * CANDIDATES_MAX;
    int32_t found = training.found[q];
    if (found < 0) {
        return; /* choose_from_all() */
    }
    if (found > run.k) {
        float least = 0;
        found = prune(list, quarter(found), (found + 3) / 4, run.k, training.slack[q], &least);
    }
    double norm = training.metric == HC_METRIC_ANGLE ? exact_norm(x, training.bands) : 0;
    const bool aligned = (uintptr_t)x % sizeof(float4) == 0;
    double mine[PER_LANE];
    int32_t number[PER_LANE];
#pragma unroll
    for (int32_t i = 0; i < PER_LANE; i++) {
        number[i] = -1;
        mine[i] = 0;
        if (i * 32 + lane < found) {
            number[i] = list[i * 32 + lane].number;
            mine[i] = aligned ? exact_distance<true>(training, x, norm, number[i])
                              : exact_distance<false>(training, x, norm, number[i]);
        }
    }
    for (int32_t n = 0; n < run.k; n++) {
        double best = 0;
        int32_t which = -1;
#pragma unroll
        for (int32_t i = 0; i < PER_LANE; i++) {
            if (number[i] >= 0 && (which < 0 || nearer(mine[i], number[i], best, which))) {
                best = mine[i];
                which = number[i];
            }
        }
        nearest_of_warp(&best, &which);
#pragma unroll
        for (int32_t i = 0; i < PER_LANE; i++) {
            number[i] = number[i] == which ? -1 : number[i];
        }
        if (lane == 0) {
            index[n] = which;
            distance[n] = best;
        }
    }
}

/* Pixels that are compared with every training spectrum: some at a time, so that each spectrum is fetched
 * once for all of them. Distances are summed in the order of the bands by one thread each. */
enum { EXACT = 64, BANDS = 16, LISTED = 192 };

struct Listed {
    double distance;
    int32_t number;
};

struct ExactShared {
    float x[EXACT][BANDS + 1], t[EXACT][BANDS + 1];
    double norm[EXACT], least[EXACT];
    int64_t pixel[EXACT];
    int32_t found[EXACT];
    bool full[EXACT]; /* k are listed: only nearer ones count, since later ones lose ties */
};

/* Lists the pixels that choose() left. */
__global__ void list_left(HcTraining training, HcKnnRun run) {
    const int64_t q = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (q < run.count && run.mask[q] != 0 && training.found[q] < 0) {
        training.left[atomicAdd(training.left_count, 1)] = (int32_t)q;
    }
}

/* One warp: the k nearest of a list, nearest first, in its place. */
__device__ void sort_list(Listed *list, int32_t found, int32_t k) {
    enum { EACH = LISTED / 32 };
    const int32_t lane = threadIdx.x % 32;
    Listed mine[EACH];
#pragma unroll
    for (int32_t i = 0; i < EACH; i++) {
        mine[i] = i * 32 + lane < found ? list[i * 32 + lane] : Listed{0, -1};
    }
    __syncwarp();
    for (int32_t n = 0; n < k && n < found; n++) {
        double best = 0;
        int32_t which = -1;
#pragma unroll
        for (int32_t i = 0; i < EACH; i++) {
            if (mine[i].number >= 0 && (which < 0 || nearer(mine[i].distance, mine[i].number, best, which))) {
                best = mine[i].distance;
                which = mine[i].number;
            }
        }
        nearest_of_warp(&best, &which);
#pragma unroll
        for (int32_t i = 0; i < EACH; i++) {
            mine[i].number = mine[i].number == which ? -1 : mine[i].number;
        }
        if (lane == 0) {
            list[n] = {best, which};
        }
    }
    __syncwarp();
}

/* The distances of 64 pixels from 64 training spectra: thread (y, x) has pixels y + 16 i, spectra x + 16 j.
 */
__device__ inline void sum_exact(const HcTraining &training, const HcKnnRun &run, int64_t tile0,
                                 ExactShared *shared, double sum[4][4]) {
    const bool angle = training.metric == HC_METRIC_ANGLE;
    const int32_t x = threadIdx.x % 16;
    const int32_t y = threadIdx.x / 16;
    for (int32_t band0 = 0; band0 < training.bands; band0 += BANDS) {
        __syncthreads();
        for (int32_t i = threadIdx.x; i < EXACT * BANDS; i += THREADS) {
            const int32_t row = i / BANDS;
            const int32_t band = band0 + i % BANDS;
            const int64_t j = tile0 + row;
            const int64_t q = shared->pixel[row];
            const bool inside = band < training.bands;
            shared->x[row][i % BANDS] = inside && q >= 0 ? run.data[q * training.bands + band] : 0.0F;
            shared->t[row][i % BANDS] =
                inside && j < training.count ? training.spectra[j * training.stride + band] : 0.0F;
        }
        __syncthreads();
        const int32_t bands = training.bands - band0 < BANDS ? training.bands - band0 : BANDS;
        for (int32_t b = 0; b < bands; b++) {
            double pixel[4];
            double spectrum[4];
#pragma unroll
            for (int32_t i = 0; i < 4; i++) {
                pixel[i] = (double)shared->x[y + 16 * i][b];
                spectrum[i] = (double)shared->t[x + 16 * i][b];
            }
#pragma unroll
            for (int32_t i = 0; i < 4; i++) {
#pragma unroll
                for (int32_t j = 0; j < 4; j++) {
                    const double factor = angle ? pixel[i] : pixel[i] - spectrum[j];
                    sum[i][j] += factor * (angle ? spectrum[j] : factor);
                }
            }
        }
    }
}

__global__ void __launch_bounds__(THREADS) choose_from_all(HcTraining training, HcKnnRun run) {
    __shared__ ExactShared shared;
    const int32_t left = *training.left_count;
    const int32_t warp = threadIdx.x / 32;
    for (int32_t first = blockIdx.x * EXACT; first < left; first += gridDim.x * EXACT) {
        __syncthreads();
        if (threadIdx.x < EXACT) {
            const int32_t at = first + (int32_t)threadIdx.x;
            const int64_t q = at < left ? training.left[at] : -1;
            shared.pixel[threadIdx.x] = q;
            shared.found[threadIdx.x] = 0;
            shared.least[threadIdx.x] = -INFINITY;
            shared.full[threadIdx.x] = q < 0;
            shared.norm[threadIdx.x] = q >= 0 && training.metric == HC_METRIC_ANGLE
                                           ? exact_norm(run.data + q * training.bands, training.bands)
                                           : 0;
        }
        __syncthreads();
        for (int64_t tile0 = 0; tile0 < training.count; tile0 += EXACT) {
            double sum[4][4] = {};
            sum_exact(training, run, tile0, &shared, sum);
            for (int32_t i = 0; i < 4; i++) {
                const int32_t row = threadIdx.x / 16 + 16 * i;
                Listed *list = (Listed *)(training.candidates + shared.pixel[row] * CANDIDATES_MAX);
                for (int32_t j = 0; j < 4; j++) {
                    const int64_t number = tile0 + threadIdx.x % 16 + 16 * j;
                    double distance = sum[i][j];
                    if (training.metric == HC_METRIC_ANGLE && number < training.count) {
                        const double lengths = shared.norm[row] * training.norm[number];
                        distance = lengths > 0 ? -distance / lengths : 0;
                    }
                    if (number < training.count && (!shared.full[row] || distance < shared.least[row])) {
                        list[atomicAdd(&shared.found[row], 1)] = {distance, (int32_t)number};
                    }
                }
            }
            __syncthreads();
            for (int32_t row = warp * (EXACT / WARPS); row < (warp + 1) * (EXACT / WARPS); row++) {
                Listed *list = (Listed *)(training.candidates + shared.pixel[row] * CANDIDATES_MAX);
                if (shared.found[row] >= run.k) {
                    sort_list(list, shared.found[row], run.k);
                    if (threadIdx.x % 32 == 0) {
                        shared.found[row] = run.k;
                        shared.full[row] = true;
                        shared.least[row] = list[run.k - 1].distance;
                    }
                }
            }
        }
        __syncthreads();
        for (int32_t row = warp * (EXACT / WARPS); row < (warp + 1) * (EXACT / WARPS); row++) {
            const int64_t q = shared.pixel[row];
            const Listed *list = (const Listed *)(training.candidates + q * CANDIDATES_MAX);
            for (int32_t n = threadIdx.x % 32; n < run.k && q >= 0; n += 32) {
                run.index[q * run.k + n] = list[n].number;
                run.distance[q * run.k + n] = list[n].distance;
            }
        }
    }
}

} // namespace

#endif
