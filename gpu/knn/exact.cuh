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

/* value * 2^-896, exactly: the bits of a float moved to where a double has them, also those of a subnormal or
 * of 0. Conversions are slow: 16 a clock. */
__device__ inline double lowered(float value) {
    const int32_t bits = __float_as_int(value);
    return __hiloint2double(bits >> 3 & (int32_t)0x8FFFFFFF, bits << 29);
}

enum { FETCHED = 16 }; /* bands of a spectrum, a multiple of 4 */

/* Bands of the training spectra of a warp's lanes: the 16 bytes `part` of lane's row at row_at(). */
struct Fetched {
    float4 part[32 * FETCHED / 4];
};

/* Rows are moved about so that eight of them are in all banks. */
__device__ inline int32_t row_at(int32_t row, int32_t part) {
    return row * (FETCHED / 4) + (part ^ (row / 2 % (FETCHED / 4)));
}

/* One warp: the sum of squares of differences from the training spectrum `number`, or of products with it, in
 * the order of the bands; each lane has its own x, at multiples of 16 bytes where ALIGNED. Spectra are
 * fetched in parts of 64 bytes: lanes that read 16 of a row each would take as long as for a whole line. */
template <HcMetric METRIC, bool ALIGNED>
__device__ inline double exact_sum(const HcTraining &training, const float *x, int32_t number,
                                   Fetched *fetched) {
    const int32_t lane = threadIdx.x % 32;
    const int32_t bands = training.bands;
    float4 next[FETCHED / 4];
    auto fetch = [&](int32_t band0) {
#pragma unroll
        for (int32_t j = 0; j < FETCHED / 4; j++) {
            const int64_t its = __shfl_sync(0xFFFFFFFFU, number, j * 8 + lane / 4);
            const int32_t b = band0 + lane % 4 * 4;
            next[j] = b < training.stride ? *(const float4 *)(training.spectra + its * training.stride + b)
                                          : make_float4(0, 0, 0, 0);
        }
    };
    double sum = 0;
    auto add = [&](float a, float b) {
        if (METRIC == HC_METRIC_ANGLE) {
            sum += (double)a * (lowered(b) * 0x1p896);
        } else {
            const double apart = fma(lowered(b), -0x1p896, (double)a); /* a - b, rounded once */
            sum += apart * apart;
        }
    };
    fetch(0);
    for (int32_t band0 = 0; band0 < bands; band0 += FETCHED) {
        __syncwarp();
#pragma unroll
        for (int32_t j = 0; j < FETCHED / 4; j++) {
            fetched->part[row_at(j * 8 + lane / 4, lane % 4)] = next[j];
        }
        __syncwarp();
        if (band0 + FETCHED < bands) {
            fetch(band0 + FETCHED);
        }
#pragma unroll
        for (int32_t part = 0; part < FETCHED / 4; part++) {
            const int32_t b = band0 + part * 4;
            const float4 t = fetched->part[row_at(lane, part)];
            if (b + 4 <= bands) {
                const float4 p = four<ALIGNED>(x + b);
                add(p.x, t.x);
                add(p.y, t.y);
                add(p.z, t.z);
                add(p.w, t.w);
            } else {
                const float rest[3] = {t.x, t.y, t.z};
#pragma unroll
                for (int32_t i = 0; i < 3; i++) {
                    if (b + i < bands) {
                        add(x[b + i], rest[i]);
                    }
                }
            }
        }
    }
    return sum;
}

template <bool ALIGNED>
__device__ inline double exact_distance(const HcTraining &training, const float *x, int32_t number,
                                        Fetched *fetched) {
    if (training.metric == HC_METRIC_EUCLIDEAN) {
        return exact_sum<HC_METRIC_EUCLIDEAN, ALIGNED>(training, x, number, fetched);
    }
    const double lengths = exact_norm(x, training.bands) * training.norm[number];
    const double sum = exact_sum<HC_METRIC_ANGLE, ALIGNED>(training, x, number, fetched);
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

enum {
    TOGETHER = 8, /* pixels of a warp */
    CHOSEN = WARPS * TOGETHER
};

/* Candidates of some pixels, one after another. */
struct Items {
    double distance[KEPT];
    int32_t number[KEPT];
    Fetched fetched;
};

/* One warp: the distances of items [0, total), and then their ranks among those of the same pixel. Lane p has
 * `end`, where the items of pixel q0 + p end. */
__device__ inline void rank_items(const HcTraining &training, const HcKnnRun &run, int64_t q0, int32_t end,
                                  int32_t total, Items *items) {
    for (int32_t pass = 0; pass < 2; pass++) {
        for (int32_t first = 0; first < total; first += 32) {
            const int32_t i = first + (int32_t)threadIdx.x % 32;
            int32_t p = 0;
            int32_t from = 0;
            int32_t to = 0;
#pragma unroll
            for (int32_t n = 0; n < TOGETHER; n++) {
                const int32_t its = __shfl_sync(0xFFFFFFFFU, end, n);
                p += its <= i;
                from = its <= i ? its : from;
                to = n == p ? its : to;
            }
            const bool taken = i < total; /* other lanes come along with any pixel and spectrum */
            const int64_t q = taken ? q0 + p : q0;
            if (pass == 0) {
                const float *x = run.data + q * training.bands;
                const int32_t number = taken ? training.candidates[q * CANDIDATES_MAX + i - from].number : 0;
                const double distance = __all_sync(0xFFFFFFFFU, (uintptr_t)x % sizeof(float4) == 0)
                                            ? exact_distance<true>(training, x, number, &items->fetched)
                                            : exact_distance<false>(training, x, number, &items->fetched);
                if (taken) {
                    items->distance[i] = distance;
                    items->number[i] = number;
                }
            } else if (taken) {
                const double distance = items->distance[i];
                const int32_t number = items->number[i];
                int32_t rank = 0;
                for (int32_t other = from; other < to; other++) {
                    rank += nearer(items->distance[other], items->number[other], distance, number);
                }
                if (rank < run.k) {
                    run.index[q * run.k + rank] = number;
                    run.distance[q * run.k + rank] = distance;
                }
            }
        }
        __syncwarp();
    }
}

/* One warp some pixels: few candidates of one would leave lanes idle. */
__global__ void __launch_bounds__(THREADS, 4) choose(HcTraining training, HcKnnRun run) {
    __shared__ Items items[WARPS];
    const int32_t lane = threadIdx.x % 32;
    const int64_t q0 = (blockIdx.x * (int64_t)WARPS + threadIdx.x / 32) * TOGETHER;
    const bool inside = lane < TOGETHER && q0 + lane < run.count;
    const bool there = inside && run.mask[q0 + lane] != 0;
    for (uint32_t masked = __ballot_sync(0xFFFFFFFFU, inside && !there); masked != 0; masked &= masked - 1) {
        const int64_t at = (q0 + __ffs((int)masked) - 1) * run.k;
        for (int32_t n = lane; n < run.k; n += 32) {
            run.index[at + n] = -1;
            run.distance[at + n] = INFINITY;
        }
    }
    int32_t found = there ? training.found[q0 + lane] : 0;
    if (found < 0) {
        training.left[atomicAdd(training.left_count, 1)] = (int32_t)(q0 + lane);
        found = 0;
    }
    for (int32_t begin = 0; begin < TOGETHER;) {
        int32_t end = lane < begin ? 0 : found;
#pragma unroll
        for (int32_t d = 1; d < TOGETHER; d *= 2) {
            const int32_t before = __shfl_up_sync(0xFFFFFFFFU, end, d);
            end += lane >= d ? before : 0;
        }
        /* as many pixels as there is room for */
        const uint32_t too_many = __ballot_sync(0xFFFFFFFFU, lane >= TOGETHER || end > KEPT);
        const int32_t stop = __ffs((int)too_many) - 1;
        const int32_t total = __shfl_sync(0xFFFFFFFFU, end, stop - 1);
        rank_items(training, run, q0, end, total, &items[threadIdx.x / 32]);
        begin = stop;
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
