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
    QUERIES = 128,         /* of a thread block */
    TILE = 128,            /* training spectra that are compared at once */
    STEP = 32,             /* bands between two barriers: both halves of them are 128 bytes */
    LIMB_STEP = 64,        /* of 8-bit limbs */
    LIMB_BANDS_MAX = 512,  /* whose sums of products are below 2^31 */
    LIMBS_MAX = 127 * 256, /* a value as two limbs: at most that large */
    ROW_BYTES = 2 * STEP * 2,
    UNIT = 64, /* spectra whose halves of a step lie together */
    UNIT_BYTES = UNIT * ROW_BYTES,
    QUERIES_MULTIPLE = 768, /* pixels of whole thread blocks, whatever kernel has them */
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

/* Of a training spectrum; two are 16 bytes. */
struct HcKnown {
    float half_square; /* |t'|^2 / 2, infinite after the last */
    float step;        /* of its limbs */
};

/* Of a pixel, whose similarities are in units of its step: see bound_of(). */
struct HcBound {
    float slack; /* negative: nothing is looked for; infinite: compare with all */
    float tilt;  /* of half squares */
    float ahead; /* of the steps of training spectra */
    float unit;  /* 1 / step */
};

/* A spectrum about the centre, as a warp has moved it. */
struct HcMoved {
    double plain;          /* |x|, for angles */
    double square;         /* |x'|^2, infinite where halves do not do */
    float step;            /* of limbs; 1 for halves */
    float off, whole, low; /* lengths, in steps: of what rounding leaves, of the spectrum, of its low limbs */
};

struct HcTraining {
    HcTrainingHead head;
    HcGpu *gpu;
    int64_t count, tiles;
    int32_t bands, steps; /* of STEP bands, or LIMB_STEP */
    int32_t stride;       /* of `spectra`: whole 16 bytes */
    HcMetric metric;
    double scale;  /* a power of two that brings the longest t' to 16 .. 32 */
    float longest; /* of t', scaled */
    float rounded; /* what the rounding of cosines adds to the bound, scaled */
    HcBuffer memory;
    float *spectra; /* [device] [count][bands] */
    double *norm;   /* [device] [count], for angles */
    double *centre; /* [device] [bands], right after them */
    int32_t *rough; /* [device] [2], right after it: the largest `off` and `low` of t', as floats */
    /* what follows only where there are more than FEW */
    int32_t groups; /* of warps that multiply limbs, by the kernel of hopper.cu; 0: halves, by the other */
    char *halves;   /* [device] [tiles * TILE / UNIT][steps][UNIT][ROW_BYTES]: high and low parts of t', where
                       place() says */
    HcKnown *known; /* [device] [tiles * TILE] */
    /* what is known of a run of pixels: at most `capacity` at once */
    int64_t capacity;
    char *moved;             /* [device] [capacity / UNIT][steps][UNIT][ROW_BYTES] of x' */
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

/* How many groups of warps the kernel for Hopper's matrix units has for N bands; 0: it does not take them. */
int32_t hc_gpu_knn_groups(const HcGpu *gpu, int32_t bands);
HcStatus hc_gpu_knn_find_on_hopper(HcQueue *queue, const HcTraining *training, const HcKnnRun *run,
                                   HcError *err);

/* The bound of the error of a similarity, scaled, for spectra of `bands` bands (padded), |x'| and |t'|.
 * Halves:
 *  - two halves of a float32 leave 1.25 * 2^-22 of a value, and low low is left out: 4 * 2^-22 |x'| |t'|;
 *  - 3 `bands` products, exact in float32, are summed; each addition may lose 2^-23 of the sum of magnitudes
 *    so far, which is at most |x'| |t'| (matrix units align and truncate, and keep more: Fasi, Higham,
 *    Mikaitis, Pranesh 2021);
 *  - halves below 2^-14 are spaced by 2^-24: 2^-25 a value.
 * Limbs, whose sums are exact: x' = X + off, both of its steps, and X = 256 high + low, t' likewise:
 *  - |off| |t'| + |X| |off of t'|, and low low is left out: |low| |low of t'|. The last two are at most
 *    `ahead` steps of t', by the largest of all training spectra.
 * Both:
 *  - |t'|^2 / 2, its factor, sums as floats, and differences are rounded: 2^-22 of them;
 *  - the exact distance is itself rounded in float64; `rounded` for cosines.
 * As |t'| <= |t'|^2 / (2 l) + l / 2 for any l, it is at most slack / 2 + tilt |t'|^2 / 2. Nothing is lost
 * where |t'| = l: neighbours are about as long as the pixel. */
__device__ static inline HcBound bound_of(const HcTraining &training, const HcMoved &moved) {
    const float unit = 1.0F / (1 << 23);
    const float bands = (float)(training.steps * (training.groups > 0 ? LIMB_STEP : STEP));
    const float x = sqrtf((float)moved.square) * (1 + 4 * unit);
    const float l = fminf(fmaxf(x, training.longest / 64), training.longest);
    float linear = moved.off * moved.step + 4 * unit * x; /* of |t'| */
    float rest = 2e-15F * bands * x * x + training.rounded;
    float ahead =
        moved.whole * __int_as_float(training.rough[0]) + moved.low * __int_as_float(training.rough[1]);
    if (training.groups == 0) {
        linear = (3 * bands + 20) * unit * x + sqrtf(bands) * unit;
        rest += sqrtf(bands) * unit * x;
        ahead = 0;
    }
    const float tilt = 1.01F * (linear / l + 8 * unit + 4e-15F * bands);
    const float slack = 2 * 1.01F * (linear * l / 2 + rest);
    const float scale = 1 / moved.step;
    return slack < 1e30F && tilt < 0.5F ? HcBound{slack * scale, tilt * scale, 1.01F * ahead, scale}
                                        : HcBound{INFINITY, 0, 0, 0};
}

__device__ static inline void split_half(float value, __half *high, __half *low) {
    *high = __float2half_rn(value);
    *low = __float2half_rn(value - __half2float(*high));
}

/* Where 16 bytes of a row of 128 lie: moved about so that eight rows are in all banks. */
__device__ static inline int32_t place(int32_t row, int32_t chunk) {
    return row * ROW_BYTES + ((chunk ^ (row & 7)) * 16);
}

/* The high (part 0) or low (part 1) halves of bands 8 chunk to 8 chunk + 7 in `halves` or `moved`; limbs of
 * bands 16 chunk to 16 chunk + 15. */
__device__ static inline uint4 *chunk_at(const HcTraining &training, char *all, int64_t spectrum,
                                         int32_t chunk, int32_t part) {
    char *unit = all + (spectrum / UNIT * training.steps + chunk / 4) * UNIT_BYTES;
    return (uint4 *)(unit + place((int32_t)(spectrum % UNIT), part * 4 + chunk % 4));
}

/* One warp a spectrum: zeros. */
__device__ static inline void clear_spectrum(const HcTraining &training, char *all, int64_t spectrum) {
    for (int32_t c = threadIdx.x % 32; c < training.steps * 4; c += 32) {
        *chunk_at(training, all, spectrum, c, 0) = make_uint4(0, 0, 0, 0);
        *chunk_at(training, all, spectrum, c, 1) = make_uint4(0, 0, 0, 0);
    }
}

/* In all lanes of a warp. */
template <typename T> __device__ static inline T sum_of_lanes(T value) {
    for (int32_t d = 16; d > 0; d /= 2) {
        value += __shfl_xor_sync(0xFFFFFFFFU, value, d);
    }
    return value;
}

/* One warp a spectrum: x -> (x / |x|) - centre, scaled, as halves or limbs. */
__device__ static inline HcMoved move_spectrum(const HcTraining &training, const float *x, char *all,
                                               int64_t spectrum) {
    enum { EIGHTS = LIMB_BANDS_MAX / 8 / 32 }; /* bands of a lane, for limbs */
    const int32_t lane = threadIdx.x % 32;
    HcMoved moved = {1, 0, 1, 0, 0, 0};
    if (training.metric == HC_METRIC_ANGLE) {
        double sum = 0;
        for (int32_t b = lane; b < training.bands; b += 32) {
            sum += (double)x[b] * (double)x[b];
        }
        moved.plain = sqrt(sum_of_lanes(sum));
    }
    const double factor = moved.plain > 0 ? 1 / moved.plain : 0;
    double sum = 0;
    float largest = 0;
    auto get = [&](int32_t c, float value[8]) {
#pragma unroll
        for (int32_t i = 0; i < 8; i++) {
            const int32_t b = c * 8 + i;
            const double exact =
                b < training.bands ? ((double)x[b] * factor - training.centre[b]) * training.scale : 0;
            sum += exact * exact;
            value[i] = (float)exact;
            largest = fmaxf(largest, fabsf(value[i]));
        }
    };
    if (training.groups == 0) {
        for (int32_t c = lane; c < training.steps * (STEP / 8); c += 32) {
            alignas(16) __half half[2][8];
            float value[8];
            get(c, value);
#pragma unroll
            for (int32_t i = 0; i < 8; i++) {
                split_half(value[i], &half[0][i], &half[1][i]);
            }
            *chunk_at(training, all, spectrum, c, 0) = *(const uint4 *)half[0];
            *chunk_at(training, all, spectrum, c, 1) = *(const uint4 *)half[1];
        }
    } else {
        float value[EIGHTS][8];
        float off = 0;
        float whole = 0;
        int32_t low = 0;
#pragma unroll
        for (int32_t e = 0; e < EIGHTS && e * 256 < training.bands; e++) {
            get(lane + e * 32, value[e]);
        }
        const float step =
            fmaxf(__int_as_float(hc_warp_largest(__float_as_int(largest))), 1e-20F) / LIMBS_MAX;
#pragma unroll
        for (int32_t e = 0; e < EIGHTS && e * 256 < training.bands; e++) {
            const int32_t c = lane + e * 32;
            alignas(8) int8_t limb[2][8];
#pragma unroll
            for (int32_t i = 0; i < 8; i++) {
                const float steps = value[e][i] * (1 / step);
                const int32_t nearest = __float2int_rn(steps);
                limb[1][i] = (int8_t)nearest;
                limb[0][i] = (int8_t)((nearest - limb[1][i]) / 256);
                off += (steps - (float)nearest) * (steps - (float)nearest);
                whole += (float)nearest * (float)nearest;
                low += limb[1][i] * limb[1][i];
            }
            if (c < training.steps * (LIMB_STEP / 8)) {
                ((uint2 *)chunk_at(training, all, spectrum, c / 2, 0))[c % 2] = *(const uint2 *)limb[0];
                ((uint2 *)chunk_at(training, all, spectrum, c / 2, 1))[c % 2] = *(const uint2 *)limb[1];
            }
        }
        /* steps are rounded by 3 * 2^-24 of 2^15 */
        moved = {moved.plain,
                 0,
                 step,
                 sqrtf(sum_of_lanes(off)) + 0.006F * sqrtf((float)training.bands),
                 sqrtf(sum_of_lanes(whole)),
                 sqrtf((float)sum_of_lanes(low))};
    }
    largest = __int_as_float(hc_warp_largest(__float_as_int(largest)));
    moved.square = largest < 60000 ? sum_of_lanes(sum) : (double)INFINITY;
    return moved;
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
