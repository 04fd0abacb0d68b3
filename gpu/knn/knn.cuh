/* Nearest training spectra: what the files of this folder share. */
#ifndef HC_GPU_KNN_KNN_CUH
#define HC_GPU_KNN_KNN_CUH

#include "core/operation/knn/knn.h"
#include "gpu/internal.cuh"
#include "gpu/shared.cuh"

#include <cuda_fp16.h>
#include <float.h>
#include <math.h>

enum {
    QUERIES = 128, /* of a thread block */
    TILE = 128,    /* training spectra that are compared at once */
    STEP = 32,     /* bands between two barriers: both halves of them are 128 bytes */
    ROW_BYTES = 2 * STEP * 2,
    UNIT = 64, /* spectra whose halves of a step lie together */
    UNIT_BYTES = UNIT * ROW_BYTES,
    QUERIES_MULTIPLE = 384, /* pixels of whole thread blocks, whatever kernel has them */
    THREADS = 256,
    WARPS = THREADS / 32,
    CANDIDATES_MAX = 384, /* candidates of a pixel */
    KEPT = CANDIDATES_MAX - TILE,
    PER_LANE = CANDIDATES_MAX / 32,
    SLOT_BYTES = (QUERIES + TILE) * ROW_BYTES,
    FEW = 32 /* training spectra that every pixel is compared with, without candidates */
};

struct HcCandidate {
    float similarity; /* and its error, so far as that depends on the training spectrum: at most that large */
    int32_t number;
};

/* Of a pixel: see bound_of(). */
struct HcBound {
    float slack; /* negative: nothing is looked for; infinite: compare with all */
    float tilt;
};

struct HcTraining {
    HcTrainingHead head;
    HcGpu *gpu;
    int64_t count, tiles;
    int32_t bands, steps; /* of STEP bands */
    int32_t stride;       /* of `spectra`: whole 16 bytes */
    HcMetric metric;
    double scale;   /* a power of two that brings the longest t' to 16 .. 32 */
    double longest; /* of t', scaled */
    double rounded; /* what the rounding of cosines adds to the bound, scaled */
    HcBuffer memory;
    float *spectra; /* [device] [count][bands] */
    double *norm;   /* [device] [count], for angles */
    double *centre; /* [device] [bands], right after them */
    /* what follows only where there are more than FEW */
    __half *halves; /* [device] [tiles * TILE / UNIT][steps][UNIT][2][STEP]: high and low halves of t', where
                       place() says */
    int32_t groups; /* of warps that multiply, for the kernel of hopper.cu; 0: the other one */
    float *half_square; /* [device] [tiles * TILE] |t'|^2 / 2, infinite after the last */
    /* what is known of a run of pixels: at most `capacity` at once */
    int64_t capacity;
    __half *moved;           /* [device] [capacity / UNIT][steps][UNIT][2][STEP] of x' */
    HcBound *bound;          /* [device] [capacity] */
    int32_t *found;          /* [device] [capacity] candidates, -1 = compare with all */
    HcCandidate *candidates; /* [device] [capacity][CANDIDATES_MAX] */
    int32_t *left;           /* [device] [capacity] pixels that are compared with all */
    int32_t *left_count;     /* [device] */
};

/* Interior pixels of a block, from `first` on. */
struct HcKnnRun {
    const float *data;
    const uint8_t *mask;
    int64_t count;
    int32_t k;
    int32_t *index;
    double *distance;
};

/* The nearest of at most FEW spectra, for all pixels of the run. */
HcStatus hc_gpu_knn_few(HcQueue *queue, const HcTraining *training, const HcKnnRun *run, HcError *err);

/* How many groups of warps the kernel for Hopper's matrix units has for so many steps; 0: it has no room. */
int32_t hc_gpu_knn_groups(const HcGpu *gpu, int32_t steps);
HcStatus hc_gpu_knn_find_on_hopper(HcQueue *queue, const HcTraining *training, const HcKnnRun *run,
                                   HcError *err);

/* The bound of the error of a similarity, scaled, for spectra of `bands` bands (padded), |x'| and |t'|:
 *  - two halves of a float32 leave 1.25 * 2^-22 of a value, and low low is left out: 4 * 2^-22 |x'| |t'|;
 *  - 3 `bands` products, exact in float32, are summed; each addition may lose 2^-23 of the sum of magnitudes
 *    so far, which is at most |x'| |t'| (matrix units align and truncate, and keep more: Fasi, Higham,
 *    Mikaitis, Pranesh 2021);
 *  - halves below 2^-14 are spaced by 2^-24: 2^-25 a value;
 *  - |t'|^2 / 2, its factor, and differences are rounded: 2^-22 of them;
 *  - the exact distance is itself rounded in float64; `rounded` for cosines.
 * As |t'| <= |t'|^2 / (2 l) + l / 2 for any l, it is at most slack / 2 + tilt |t'|^2 / 2. Nothing is lost
 * where |t'| = l: neighbours are about as long as the pixel. */
__device__ static inline HcBound bound_of(double bands, double x, double longest, double rounded) {
    const double unit = 1.0 / (1 << 23);
    const double l = fmin(fmax(x, longest / 64), longest);
    const double linear = (3 * bands + 20) * unit * x + sqrt(bands) * unit; /* of |t'| */
    const double rest = sqrt(bands) * unit * x + 2e-15 * bands * x * x + rounded;
    const double tilt = 1.01 * (linear / l + 8 * unit + 4e-15 * bands);
    const double slack = 2 * 1.01 * (linear * l / 2 + rest);
    return slack < 1e30 && tilt < 0.5 ? HcBound{(float)slack, (float)tilt} : HcBound{INFINITY, 0};
}

/* By float32: conversions of float64 are slow. */
__device__ static inline void split_half(double value, __half *high, __half *low) {
    const float rounded = (float)value;
    *high = __float2half_rn(rounded);
    *low = __float2half_rn(rounded - __half2float(*high));
}

/* Where 16 bytes of a row of 128 lie: moved about so that eight rows are in all banks. */
__device__ static inline int32_t place(int32_t row, int32_t chunk) {
    return row * ROW_BYTES + ((chunk ^ (row & 7)) * 16);
}

/* The high (part 0) or low (part 1) halves of bands 8 chunk to 8 chunk + 7 in `halves` or `moved`. */
__device__ static inline uint4 *chunk_at(const HcTraining &training, __half *all, int64_t spectrum,
                                         int32_t chunk, int32_t part) {
    char *unit = (char *)all + (spectrum / UNIT * training.steps + chunk / 4) * UNIT_BYTES;
    return (uint4 *)(unit + place((int32_t)(spectrum % UNIT), part * 4 + chunk % 4));
}

/* One warp a spectrum: zeros. */
__device__ static inline void clear_spectrum(const HcTraining &training, __half *all, int64_t spectrum) {
    for (int32_t c = threadIdx.x % 32; c < training.steps * (STEP / 8); c += 32) {
        *chunk_at(training, all, spectrum, c, 0) = make_uint4(0, 0, 0, 0);
        *chunk_at(training, all, spectrum, c, 1) = make_uint4(0, 0, 0, 0);
    }
}

/* One warp a spectrum: x -> (x / |x|) - centre, scaled, as halves. Returns |x'|, or infinity where halves do
 * not do; *plain is |x| for angles. */
__device__ static inline double move_spectrum(const HcTraining &training, const float *x, __half *all,
                                              int64_t spectrum, double *plain) {
    const int32_t lane = threadIdx.x % 32;
    const bool angle = training.metric == HC_METRIC_ANGLE;
    double length = 1;
    if (angle) {
        double sum = 0;
        for (int32_t b = lane; b < training.bands; b += 32) {
            sum += (double)x[b] * (double)x[b];
        }
        for (int32_t d = 16; d > 0; d /= 2) {
            sum += __shfl_xor_sync(0xFFFFFFFFU, sum, d);
        }
        length = sqrt(sum);
    }
    *plain = length;
    double sum = 0;
    double largest = 0;
    for (int32_t c = lane; c < training.steps * (STEP / 8); c += 32) {
        alignas(16) __half half[2][8];
#pragma unroll
        for (int32_t i = 0; i < 8; i++) {
            const int32_t b = c * 8 + i;
            double value = 0;
            if (b < training.bands) {
                double unit = angle ? (length > 0 ? (double)x[b] / length : 0) : (double)x[b];
                value = (unit - training.centre[b]) * training.scale;
            }
            sum += value * value;
            largest = fmax(largest, fabs(value));
            split_half(value, &half[0][i], &half[1][i]);
        }
        *chunk_at(training, all, spectrum, c, 0) = *(const uint4 *)half[0];
        *chunk_at(training, all, spectrum, c, 1) = *(const uint4 *)half[1];
    }
    for (int32_t d = 16; d > 0; d /= 2) {
        sum += __shfl_xor_sync(0xFFFFFFFFU, sum, d);
        largest = fmax(largest, __shfl_xor_sync(0xFFFFFFFFU, largest, d));
    }
    return largest < 60000 ? sqrt(sum) * (1 + 1e-12) : (double)INFINITY;
}

/* The norm as the distance has it: summed in the order of the bands. */
__device__ static inline double exact_norm(const float *x, int32_t bands) {
    double sum = 0;
    for (int32_t b = 0; b < bands; b++) {
        sum += (double)x[b] * (double)x[b];
    }
    return sqrt(sum);
}

#endif
