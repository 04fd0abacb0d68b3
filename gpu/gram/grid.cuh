/* Values on their grid and their limbs: what blocks.cu, far.cu and raw_grid.cu share. All is float64, without
 * contraction, in the order that core/operation/gram/gram.h says: the same whole numbers as the CPU's. */
#ifndef HC_GPU_GRAM_GRID_CUH
#define HC_GPU_GRAM_GRID_CUH

#include "gpu/gram/gram.cuh"

/* Adds what is far from its band's center in tiles that are marked so, to sums of long integers: limbs hold
 * its lowest 32 bits (far.cu). Arguments as those of hc_block_split. */
HcStatus hc_far_add(HcQueue *queue, const HcGramJob *job, const HcTiling *tiling, int64_t first,
                    int64_t tiles, const HcExact *to, HcError *err);

#ifdef __CUDACC__

enum {
    HC_PATCH = 4, /* rows of 4 pixels, of which a thread takes a band: a warp 32 bands of 16 pixels */
    HC_PATCH_PIXELS = HC_PATCH * HC_PATCH,
    HC_PATCHES = HC_TILE_PIXELS / HC_PATCH_PIXELS /* of a tile, one a warp */
};

/* ---- values ---- */

__device__ static inline double hc_on_grid(float x, double center, double scale) {
    return rint(__dmul_rn(__dsub_rn((double)x, center), scale));
}

__device__ static inline bool hc_is_far(double whole) {
    return !(fabs(whole) < HC_GRID_NEAR);
}

/* As hc_far_rest() of core/sums/moments.c. */
__device__ static inline double hc_grid_far_rest(double value) {
    const double rest = __dsub_rn(value, __dmul_rn(rint(__dmul_rn(value, 0x1p-32)), 0x1p32));
    return rest >= 0x1p31 ? __dsub_rn(rest, 0x1p32) : rest;
}

/* Numbers added to 1.5 2^52 are rounded to whole ones, which the low bits then show; these stay below 2^51
 * while the exponent is that of 2^52. */
static const double hc_rounder = 0x1.8p52;
static const uint32_t hc_rounder_exponent = 0x43300000;

/* hc_on_grid() of a few values, without the slow rounding of rint(). The product with a power of two is
 * exact, so that it may be part of the sum. Returns whether any value may be NaN or infinite. */
template <int COUNT>
__device__ static inline bool hc_all_on_grid(const float x[COUNT], double center, double scale,
                                             double whole[COUNT]) {
    uint32_t other = 0;
#pragma unroll
    for (int32_t k = 0; k < COUNT; k++) {
        const double moved = __fma_rn(__dsub_rn((double)x[k], center), scale, hc_rounder);
        other |= (uint32_t)__double2hiint(moved) ^ hc_rounder_exponent;
        whole[k] = __dsub_rn(moved, hc_rounder);
    }
    if (other >> 20 != 0) {
#pragma unroll
        for (int32_t k = 0; k < COUNT; k++) {
            whole[k] = hc_on_grid(x[k], center, scale);
        }
    }
    return other >> 20 != 0;
}

/* ---- where pixels are ---- */

/* Row, from the first interior one, and sample; both may lie outside. */
struct HcPixelPlace {
    int64_t row, sample;
};

/* The first pixel of a tile. */
__device__ static inline HcPixelPlace hc_grid_corner(const HcGramJob &job, const HcTiling &tiling,
                                                     int64_t tile) {
    if (tiling.columns == 0) {
        const int64_t pixel = tile * HC_TILE_PIXELS;
        const int64_t row = pixel / job.in.samples;
        return {row, pixel - row * job.in.samples};
    }
    const uint32_t row = (uint32_t)tile / (uint32_t)tiling.columns;
    const uint32_t column = (uint32_t)tile - row * (uint32_t)tiling.columns;
    return {(int64_t)row * (HC_PATCH * HC_PATCHES >> tiling.across_bits),
            (int64_t)column * (HC_PATCH << tiling.across_bits)};
}

/* The pixel in place `at` of the tile. */
__device__ static inline HcPixelPlace hc_grid_place(const HcGramJob &job, const HcTiling &tiling,
                                                    const HcPixelPlace &corner, int32_t at) {
    if (tiling.columns == 0) {
        const uint32_t sample = (uint32_t)corner.sample + (uint32_t)at;
        const uint32_t rows = sample / (uint32_t)job.in.samples;
        return {corner.row + rows, sample - rows * (uint32_t)job.in.samples};
    }
    const int32_t patch = at / HC_PATCH_PIXELS;
    const int32_t down = patch >> tiling.across_bits;
    const int32_t across = patch - (down << tiling.across_bits);
    return {corner.row + down * HC_PATCH + at % HC_PATCH_PIXELS / HC_PATCH,
            corner.sample + across * HC_PATCH + at % HC_PATCH};
}

__device__ static inline bool hc_grid_used(const HcGramJob &job, HcDifference kind, const HcPixelPlace &at) {
    return at.row < job.rows && hc_difference_valid(job.in, kind, job.first_row + at.row, at.sample, job.top,
                                                    job.bottom, job.left, job.right);
}

/* ---- limbs ---- */

/* What a thread finds in its values. */
struct HcGridSeen {
    uint64_t sum; /* of near values, and of near parts of far ones; below 0 as in two's complement */
    uint32_t third, fourth; /* bits of these limbs, of any value */
    uint32_t fifth;         /* for the caller */
    bool far;
};

/* Added to a value, this shows its limbs: v + 128 (1 + 256 + 256^2 + 256^3) has the bytes limb + 128, and the
 * fifth limb above them; the low bits have it rounded, as with `hc_rounder`. */
static const double hc_grid_mover = 0x1.8p52 + (double)0x80808080U;

/* The limbs of four values as words of the tile. moved: the values and `hc_grid_mover`, rounded once;
 * value_of(c) is asked for a value where one does not fit. valid: a byte a value, 0 or 1. Most often all
 * values count and have four limbs. */
template <typename Value>
__device__ static inline void hc_grid_limbs(double moved[HC_PATCH], uint32_t valid, Value value_of,
                                            HcGridSeen *seen, uint32_t word[HC_LIMBS_GRID]) {
    const int64_t mover_bits = 0x4338000080808080;
    int64_t bits[HC_PATCH];
    uint32_t other = valid ^ 0x01010101U;
#pragma unroll
    for (int32_t c = 0; c < HC_PATCH; c++) {
        other |= (uint32_t)__double2hiint(moved[c]) ^ (uint32_t)(mover_bits >> 32);
    }
    word[4] = 0;
    if (other != 0) {
#pragma unroll
        for (int32_t c = 0; c < HC_PATCH; c++) {
            double v = (valid >> 8 * c & 1) != 0 ? value_of(c) : 0.0;
            if (!(fabs(v) < HC_GRID_NEAR - 0.5)) { /* once rounded, it is not near */
                v = hc_grid_far_rest(rint(v));
                seen->far = true;
            }
            moved[c] = __dadd_rn(v, hc_grid_mover);
            word[4] |= ((uint32_t)__double2hiint(moved[c]) - (uint32_t)(mover_bits >> 32) & 0xFFU) << 8 * c;
        }
    }
#pragma unroll
    for (int32_t c = 0; c < HC_PATCH; c++) {
        bits[c] = __double_as_longlong(moved[c]);
    }
    /* bytes of two pixels: first and second limb, then third and fourth */
    const uint32_t early = __byte_perm((uint32_t)bits[0], (uint32_t)bits[1], 0x5140);
    const uint32_t late = __byte_perm((uint32_t)bits[2], (uint32_t)bits[3], 0x5140);
    const uint32_t early_high = __byte_perm((uint32_t)bits[0], (uint32_t)bits[1], 0x7362);
    const uint32_t late_high = __byte_perm((uint32_t)bits[2], (uint32_t)bits[3], 0x7362);
    word[0] = __byte_perm(early, late, 0x5410) ^ 0x80808080U;
    word[1] = __byte_perm(early, late, 0x7632) ^ 0x80808080U;
    word[2] = __byte_perm(early_high, late_high, 0x5410) ^ 0x80808080U;
    word[3] = __byte_perm(early_high, late_high, 0x7632) ^ 0x80808080U;
    seen->sum += (uint64_t)bits[0] + (uint64_t)bits[1] + (uint64_t)bits[2] + (uint64_t)bits[3] -
                 HC_PATCH * (uint64_t)mover_bits;
    seen->third |= word[2];
    seen->fourth |= word[3];
}

enum { HC_GRID_THIRD = 1, HC_GRID_FOURTH = 2, HC_GRID_FIFTH = 4, HC_GRID_FAR = 8 };

/* What was seen, as bits: that there are limbs, and that a value was far. */
__device__ static inline uint32_t hc_grid_seen_bits(const HcGridSeen &seen) {
    return (seen.third != 0 ? HC_GRID_THIRD : 0U) | (seen.fourth != 0 ? HC_GRID_FOURTH : 0U) |
           (seen.fifth != 0 ? HC_GRID_FIFTH : 0U) | (seen.far ? HC_GRID_FAR : 0U);
}

/* Limbs that a tile needs, and whether it has a far value (HC_NEEDS_FAR), by the bits of all its values. */
__device__ static inline int32_t hc_grid_needs(uint32_t bits) {
    const int32_t limbs = (bits & HC_GRID_FIFTH) != 0    ? 5
                          : (bits & HC_GRID_FOURTH) != 0 ? 4
                          : (bits & HC_GRID_THIRD) != 0  ? 3
                                                         : HC_LIMBS_MIN;
    return limbs | ((bits & HC_GRID_FAR) != 0 ? HC_NEEDS_FAR : 0);
}

/* Bits that any thread of a warp has. */
__device__ static inline uint32_t hc_grid_any(uint32_t bits) {
#if __CUDA_ARCH__ >= 800
    return __reduce_or_sync(0xFFFFFFFFU, bits);
#else
    for (int32_t d = 16; d > 0; d /= 2) {
        bits |= __shfl_xor_sync(0xFFFFFFFFU, bits, d);
    }
    return bits;
#endif
}

#endif
#endif
