/* Float scenes on their grid: values become whole numbers and these limbs (gram.cuh), differences are those
 * of whole numbers. All is float64, without contraction, in the order that core/operation/gram.h says: the
 * same whole numbers as the CPU's. What is far from its band's center goes to sums of long integers; only its
 * lowest 32 bits become limbs. */
#include "gpu/gram/gram.cuh"

enum {
    THREADS = 256,
    WARPS = THREADS / 32,
    PATCH = 4, /* rows of 4 pixels, of which a thread takes a band: a warp 32 bands of 16 pixels */
    PATCH_PIXELS = PATCH * PATCH,
    WORDS = HC_TILE_PIXELS / 4, /* a word holds a limb of four pixels */
    FAR_TILES = 32              /* that a thread block looks at */
};

/* ---- values ---- */

__device__ static inline double on_grid(float x, double center, double scale) {
    return rint(__dmul_rn(__dsub_rn((double)x, center), scale));
}

__device__ static inline bool is_far(double whole) {
    return !(fabs(whole) < HC_GRID_NEAR);
}

/* As hc_far_rest() of core/sums/moments.c. */
__device__ static inline double far_rest(double value) {
    const double rest = __dsub_rn(value, __dmul_rn(rint(__dmul_rn(value, 0x1p-32)), 0x1p32));
    return rest >= 0x1p31 ? __dsub_rn(rest, 0x1p32) : rest;
}

/* Numbers added to 1.5 2^52 are rounded to whole ones, which the low bits then show; these stay below 2^51
 * while the exponent is that of 2^52. */
static const double rounder = 0x1.8p52;
static const uint32_t rounder_exponent = 0x43300000;

/* on_grid() of a few values, without the slow rounding of rint(). The product with a power of two is exact,
 * so that it may be part of the sum. */
template <int COUNT>
__device__ static inline void all_on_grid(const float x[COUNT], double center, double scale,
                                          double whole[COUNT]) {
    uint32_t other = 0;
#pragma unroll
    for (int32_t k = 0; k < COUNT; k++) {
        const double moved = __fma_rn(__dsub_rn((double)x[k], center), scale, rounder);
        other |= (uint32_t)__double2hiint(moved) ^ rounder_exponent;
        whole[k] = __dsub_rn(moved, rounder);
    }
    if (other >> 20 != 0) {
#pragma unroll
        for (int32_t k = 0; k < COUNT; k++) {
            whole[k] = on_grid(x[k], center, scale);
        }
    }
}

/* ---- where pixels are ---- */

/* Row, from the first interior one, and sample; both may lie outside. */
struct Place {
    int64_t row, sample;
};

/* The first pixel of a tile. */
__device__ static inline Place corner_of(const HcGramJob &job, const HcTiling &tiling, int64_t tile) {
    const int64_t at = tiling.columns == 0 ? tile * HC_TILE_PIXELS : tile;
    const int64_t wide = tiling.columns == 0 ? job.in.samples : tiling.columns;
    const int64_t row = at / wide;
    const int64_t column = at - row * wide;
    if (tiling.columns == 0) {
        return {row, column};
    }
    return {row * (PATCH * WARPS >> tiling.across_bits), column * (PATCH << tiling.across_bits)};
}

/* The pixel in place `at` of the tile. */
__device__ static inline Place place_of(const HcGramJob &job, const HcTiling &tiling, const Place &corner,
                                        int32_t at) {
    if (tiling.columns == 0) {
        const uint32_t sample = (uint32_t)corner.sample + (uint32_t)at;
        const uint32_t rows = sample / (uint32_t)job.in.samples;
        return {corner.row + rows, sample - rows * (uint32_t)job.in.samples};
    }
    const int32_t patch = at / PATCH_PIXELS;
    const int32_t down = patch >> tiling.across_bits;
    const int32_t across = patch - (down << tiling.across_bits);
    return {corner.row + down * PATCH + at % PATCH_PIXELS / PATCH,
            corner.sample + across * PATCH + at % PATCH};
}

__device__ static inline bool used(const HcGramJob &job, HcDifference kind, const Place &at) {
    return at.row < job.rows && hc_difference_valid(job.in, kind, job.first_row + at.row, at.sample, job.top,
                                                    job.bottom, job.left, job.right);
}

/* ---- values to limbs ---- */

/* Pixels around a patch that its differences look at. */
template <HcDifference KIND> struct Around {
    static const bool all = KIND == HC_DIFFERENCE_MEAN3X3 || KIND == HC_DIFFERENCE_MEDIAN3X3;
    static const int32_t above = all ? 1 : 0;
    static const int32_t below = all || KIND == HC_DIFFERENCE_SHIFT_DIAGONAL ? 1 : 0;
    static const int32_t left = all ? 1 : 0;
    static const int32_t right = KIND != HC_DIFFERENCE_NONE ? 1 : 0;
    static const int32_t rows = PATCH + above + below;
    static const int32_t columns = PATCH + left + right;
};

/* What a thread loads its patch by. */
template <HcDifference KIND> struct Patch {
    const float *data;                     /* of the band, in the pixel that columns count from */
    int64_t line, row0;                    /* floats in a row of the view; its row above the patch */
    int32_t column[Around<KIND>::columns]; /* floats to it */
};

/* The patch of a warp. Pixels outside the view are taken from its border: nobody uses them. */
template <HcDifference KIND>
__device__ static inline Patch<KIND> patch_of(const HcGramJob &job, const HcTiling &tiling,
                                              const Place &corner, int32_t warp, int32_t band) {
    Patch<KIND> patch;
    const HcView &view = job.in;
    patch.line = (int64_t)view.samples * view.bands;
    if constexpr (KIND == HC_DIFFERENCE_NONE) {
        const int64_t pixel = (job.first_row + corner.row) * view.samples + corner.sample;
        patch.row0 = 0;
        patch.data = view.data + (pixel + warp * PATCH_PIXELS) * view.bands + band;
    } else {
        const int64_t last = view.samples - 1;
        const Place place = place_of(job, tiling, corner, warp * PATCH_PIXELS);
        const int64_t from = min(place.sample, last);
        patch.row0 = job.first_row + place.row - Around<KIND>::above;
        patch.data = view.data + from * view.bands + band;
#pragma unroll
        for (int32_t c = 0; c < Around<KIND>::columns; c++) {
            const int64_t at = min(max(place.sample + c - Around<KIND>::left, (int64_t)0), last);
            patch.column[c] = (int32_t)(at - from) * view.bands;
        }
    }
    return patch;
}

/* valid: bytes of the four pixels of the row. */
template <HcDifference KIND>
__device__ static inline void load_row(const HcView &view, const Patch<KIND> &patch, int32_t row,
                                       uint32_t valid, float x[Around<KIND>::columns]) {
    if constexpr (KIND == HC_DIFFERENCE_NONE) { /* pixels in their order */
#pragma unroll
        for (int32_t c = 0; c < PATCH; c++) {
            x[c] = (valid >> 8 * c & 1) != 0 ? patch.data[(int64_t)(row * PATCH + c) * view.bands] : 0.0F;
        }
    } else {
        const int64_t at = min(max(patch.row0 + row, (int64_t)0), view.rows - 1);
        const float *from = patch.data + at * patch.line;
#pragma unroll
        for (int32_t c = 0; c < Around<KIND>::columns; c++) {
            x[c] = from[patch.column[c]];
        }
    }
}

/* The last three rows of the neighbourhood, in places 0 to 2 by turns: as they are for medians, else on the
 * grid. */
template <HcDifference KIND> struct Rows {
    float x[3][Around<KIND>::columns];
    double whole[3][Around<KIND>::columns];
};

/* The differences of a row of four pixels whose neighbourhood ends with row `last`; for values themselves
 * what has yet to be rounded. */
template <HcDifference KIND>
__device__ static inline void differences(const Rows<KIND> &rows, int32_t last, double center, double scale,
                                          double out[PATCH]) {
    const int32_t end = last % 3;
    const int32_t mid = (last + 2) % 3;
    const int32_t first = (last + 1) % 3;
    if constexpr (KIND == HC_DIFFERENCE_NONE) {
#pragma unroll
        for (int32_t c = 0; c < PATCH; c++) {
            out[c] = __dmul_rn(__dsub_rn((double)rows.x[end][c], center), scale);
        }
    } else if constexpr (KIND == HC_DIFFERENCE_MEAN3X3) {
        double sum[PATCH + 2];
#pragma unroll
        for (int32_t c = 0; c < PATCH + 2; c++) {
            sum[c] = __dadd_rn(__dadd_rn(rows.whole[first][c], rows.whole[mid][c]), rows.whole[end][c]);
        }
#pragma unroll
        for (int32_t c = 0; c < PATCH; c++) {
            out[c] = __dsub_rn(__dmul_rn(9.0, rows.whole[mid][c + 1]),
                               __dadd_rn(__dadd_rn(sum[c], sum[c + 1]), sum[c + 2]));
        }
    } else if constexpr (KIND == HC_DIFFERENCE_MEDIAN3X3) {
        /* Greater values never become smaller whole numbers: the median's number is the numbers' median. */
        float pair[2 * PATCH];
        double whole[2 * PATCH];
#pragma unroll
        for (int32_t c = 0; c < PATCH; c++) {
            pair[2 * c] = rows.x[mid][c + 1];
            pair[2 * c + 1] = hc_middle_of_nine(rows.x[first][c], rows.x[first][c + 1], rows.x[first][c + 2],
                                                rows.x[mid][c], rows.x[mid][c + 1], rows.x[mid][c + 2],
                                                rows.x[end][c], rows.x[end][c + 1], rows.x[end][c + 2]);
        }
        all_on_grid<2 * PATCH>(pair, center, scale, whole);
#pragma unroll
        for (int32_t c = 0; c < PATCH; c++) {
            out[c] = __dsub_rn(whole[2 * c], whole[2 * c + 1]);
        }
    } else {
        const int32_t here = KIND == HC_DIFFERENCE_SHIFT ? end : mid;
#pragma unroll
        for (int32_t c = 0; c < PATCH; c++) {
            out[c] = __dsub_rn(rows.whole[here][c], rows.whole[end][c + 1]);
        }
    }
}

/* What a thread finds in its values. */
struct Seen {
    int64_t sum;   /* of near values, and of near parts of far ones */
    uint32_t low;  /* bits of the first four limbs, of any value */
    uint32_t high; /* of the fifth */
    bool far;
};

/* The limbs of four values as words of the tile. v + 128 (1 + 256 + 256^2 + 256^3) has the bytes limb + 128,
 * and the fifth limb above them; added to `rounder` it shows, rounded, in the low bits. */
__device__ static inline void take_apart(const double value[PATCH], uint32_t valid, Seen *seen,
                                         uint32_t word[HC_LIMBS_GRID]) {
    const double mover = 0x1.8p52 + (double)0x80808080U;
    const int64_t mover_bits = 0x4338000080808080;
    uint32_t limbs[PATCH];
    uint32_t fifth[PATCH];
#pragma unroll
    for (int32_t c = 0; c < PATCH; c++) {
        double v = (valid >> 8 * c & 1) != 0 ? value[c] : 0.0;
        if (!(fabs(v) < HC_GRID_NEAR - 0.5)) { /* once rounded, it is not near */
            v = far_rest(rint(v));
            seen->far = true;
        }
        const int64_t bits = __double_as_longlong(__dadd_rn(v, mover));
        seen->sum += bits - mover_bits;
        limbs[c] = (uint32_t)bits ^ 0x80808080U;
        fifth[c] = (uint32_t)(bits >> 32) - 0x43380000U;
        seen->low |= limbs[c];
        seen->high |= fifth[c];
    }
    /* bytes of two pixels: first and second limb, then third and fourth */
    const uint32_t early = __byte_perm(limbs[0], limbs[1], 0x5140);
    const uint32_t late = __byte_perm(limbs[2], limbs[3], 0x5140);
    const uint32_t early_high = __byte_perm(limbs[0], limbs[1], 0x7362);
    const uint32_t late_high = __byte_perm(limbs[2], limbs[3], 0x7362);
    word[0] = __byte_perm(early, late, 0x5410);
    word[1] = __byte_perm(early, late, 0x7632);
    word[2] = __byte_perm(early_high, late_high, 0x5410);
    word[3] = __byte_perm(early_high, late_high, 0x7632);
    word[4] =
        __byte_perm(__byte_perm(fifth[0], fifth[1], 0x0040), __byte_perm(fifth[2], fifth[3], 0x0040), 0x5410);
}

/* Limbs that the values of a warp need, and whether one was far. */
__device__ static inline int32_t needs_of(const Seen &seen) {
    const uint32_t all = 0xFFFFFFFF;
    const bool fifth = __any_sync(all, seen.high != 0) != 0;
    const bool fourth = __any_sync(all, seen.low >> 24 != 0) != 0;
    const bool third = __any_sync(all, (seen.low & 0xFF0000U) != 0) != 0;
    const bool far = __any_sync(all, seen.far) != 0;
    return (fifth ? 5 : fourth ? 4 : third ? 3 : HC_LIMBS_LEAST) | (far ? HC_NEEDS_FAR : 0);
}

/* Tile (y, x) of 128 pixels and 32 bands: a lane a band, a warp a patch. */
template <HcDifference KIND>
__global__ void __launch_bounds__(THREADS, KIND == HC_DIFFERENCE_NONE ? 4 : 3)
    split_grid(HcGramJob job, HcTiling tiling, int64_t first, HcExact exact) {
    __shared__ uint32_t words[HC_LIMBS_GRID][HC_TILE_BANDS][WORDS + 1];
    __shared__ int64_t sums[WARPS][32];
    __shared__ int32_t needs_by[WARPS];
    __shared__ uint32_t valid[HC_TILE_PIXELS / PATCH]; /* a byte a pixel */
    const int64_t tile = blockIdx.y;
    const int32_t warp = threadIdx.x / 32;
    const int32_t lane = threadIdx.x % 32;
    const int32_t band = blockIdx.x * HC_TILE_BANDS + lane;
    const bool there = band < job.in.bands;
    const Place corner = corner_of(job, tiling, first + tile);
    bool ok = false;
    if (threadIdx.x < HC_TILE_PIXELS) {
        ok = used(job, KIND, place_of(job, tiling, corner, (int32_t)threadIdx.x));
        ((uint8_t *)valid)[threadIdx.x] = ok;
    }
    const int32_t count = __syncthreads_count(ok);
    if (blockIdx.x == 0 && threadIdx.x == 0 && count > 0) {
        atomicAdd((unsigned long long *)exact.count, (unsigned long long)count);
    }

    const int32_t band_there = there ? band : job.in.bands - 1;
    const double center = exact.center[band_there];
    const double scale = exact.scale[band_there];
    const uint32_t *valid_rows = valid + warp * PATCH;
    const Patch<KIND> patch = patch_of<KIND>(job, tiling, corner, warp, band_there);
    Rows<KIND> rows;
    Seen seen = {};
    float next[Around<KIND>::columns];
    load_row<KIND>(job.in, patch, 0, valid_rows[0], next);
#pragma unroll
    for (int32_t last = 0; last < Around<KIND>::rows; last++) {
        const int32_t r = last - Around<KIND>::above - Around<KIND>::below;
#pragma unroll
        for (int32_t c = 0; c < Around<KIND>::columns; c++) {
            rows.x[last % 3][c] = next[c];
        }
        if (last + 1 < Around<KIND>::rows) {
            load_row<KIND>(job.in, patch, last + 1, valid_rows[(last + 1) % PATCH], next);
        }
        if constexpr (KIND != HC_DIFFERENCE_NONE && KIND != HC_DIFFERENCE_MEDIAN3X3) {
            all_on_grid<Around<KIND>::columns>(rows.x[last % 3], center, scale, rows.whole[last % 3]);
        }
        if (r >= 0) {
            double value[PATCH];
            uint32_t word[HC_LIMBS_GRID];
            differences<KIND>(rows, last, center, scale, value);
            take_apart(value, there ? valid_rows[r] : 0, &seen, word);
#pragma unroll
            for (int32_t limb = 0; limb < HC_LIMBS_GRID; limb++) {
                words[limb][lane][warp * PATCH + r] = word[limb];
            }
        }
    }
    sums[warp][lane] = seen.sum;
    const int32_t warp_needs = needs_of(seen);
    if (lane == 0) {
        needs_by[warp] = warp_needs;
    }
    __syncthreads();
    int32_t needs = HC_LIMBS_LEAST;
    int32_t far = 0;
    for (int32_t w = 0; w < WARPS; w++) {
        needs = max(needs, needs_by[w] & ~HC_NEEDS_FAR);
        far |= needs_by[w] & HC_NEEDS_FAR;
    }
    if (threadIdx.x == 0) {
        exact.needs[tile * gridDim.x + blockIdx.x] = (uint8_t)(needs | far);
    }
    if (warp == 0) {
        int64_t total = 0;
        for (int32_t w = 0; w < WARPS; w++) {
            total += sums[w][lane];
        }
        if (total != 0) {
            atomicAdd((unsigned long long *)&exact.sum[band], (unsigned long long)total);
        }
    }
    /* Limbs that are 0 throughout are not written: nobody reads them there. */
    const int32_t to_row = threadIdx.x / 8;
    const int32_t chunk = threadIdx.x % 8; /* of 16 bytes, over both steps */
    int8_t *to = exact.panel +
                 hc_panel_at<HC_LIMBS_GRID>(exact, tile * HC_TILE_STEPS + chunk / 4, (int32_t)blockIdx.x) +
                 hc_swizzled(to_row, chunk % 4);
    for (int32_t limb = 0; limb < needs; limb++) {
        const uint32_t *from = &words[limb][to_row][chunk * 4];
        *(uint4 *)(to + limb * HC_SIDE_LIMB_BYTES) = make_uint4(from[0], from[1], from[2], from[3]);
    }
}

/* ---- far values ---- */

/* The whole number that is summed for a pixel of the view and a band, where its neighbourhood is there. */
__device__ static double whole_number(const HcExact &exact, const HcView &view, HcDifference kind,
                                      int64_t pixel, int32_t band) {
    const int64_t n = view.bands;
    const int64_t line = view.samples * n;
    const float *x = view.data + pixel * n + band;
    const double center = exact.center[band];
    const double scale = exact.scale[band];
    const double here = on_grid(*x, center, scale);
    switch (kind) {
    case HC_DIFFERENCE_MEAN3X3: {
        double sum = 0;
        for (int32_t c = -1; c <= 1; c++) {
            const float *at = x + c * n;
            const double column =
                __dadd_rn(__dadd_rn(on_grid(at[-line], center, scale), on_grid(at[0], center, scale)),
                          on_grid(at[line], center, scale));
            sum = c < 0 ? column : __dadd_rn(sum, column);
        }
        return __dsub_rn(__dmul_rn(9.0, here), sum);
    }
    case HC_DIFFERENCE_MEDIAN3X3: {
        const float middle = hc_middle_of_nine(x[-line - n], x[-line], x[-line + n], x[-n], x[0], x[n],
                                               x[line - n], x[line], x[line + n]);
        return __dsub_rn(here, on_grid(middle, center, scale));
    }
    case HC_DIFFERENCE_SHIFT:
        return __dsub_rn(here, on_grid(x[n], center, scale));
    case HC_DIFFERENCE_SHIFT_DIAGONAL:
        return __dsub_rn(here, on_grid(x[line + n], center, scale));
    default:
        return here;
    }
}

/* A whole number as part * 2^exponent. */
struct Scaled {
    int64_t part; /* below 2^53 */
    int32_t exponent;
};

__device__ static inline Scaled scaled_of(double value) {
    if (fabs(value) < 0x1p53) {
        return {__double2ll_rz(value), 0};
    }
    const int64_t bits = __double_as_longlong(value);
    const int64_t part = (bits & (((int64_t)1 << 52) - 1)) | (int64_t)1 << 52;
    return {bits < 0 ? -part : part, (int32_t)(bits >> 52 & 0x7FF) - 1075};
}

/* Adds a b to digits, of which others add to the same ones: no carries. */
__device__ static inline void add_product(const Scaled &a, const Scaled &b, int64_t *digit) {
    const uint64_t low = (uint64_t)a.part * (uint64_t)b.part;
    const int64_t high = __mul64hi(a.part, b.part);
    const int32_t at = a.exponent + b.exponent;
    const int64_t piece[4] = {(int64_t)(low & 0xFFFFFFFF), (int64_t)(low >> 32), high & 0xFFFFFFFF,
                              high >> 32};
    int64_t carried = 0;
    digit += at / 32;
#pragma unroll
    for (int32_t k = 0; k <= 4; k++) {
        const int64_t moved = k < 4 ? (int64_t)((uint64_t)piece[k] << at % 32) : 0;
        const int64_t added = carried + (moved & 0xFFFFFFFF);
        carried = moved >> 32;
        if (added != 0) {
            atomicAdd((unsigned long long *)&digit[k], (unsigned long long)added);
        }
    }
}

/* Far values of one pixel, of a run of bands. */
struct FarList {
    int32_t count;
    int32_t band[THREADS];
    double value[THREADS];
};

/* A thread block adds what limbs leave out of a pixel of the view, as hc_moments_add_far() of core/moments.c.
 */
__device__ static inline void add_far_pixel(const HcExact &exact, const HcView &view, HcDifference kind,
                                            int64_t pixel, FarList *list) {
    const int32_t n = view.bands;
    for (int32_t band0 = 0; band0 < n; band0 += THREADS) {
        const int32_t band = band0 + (int32_t)threadIdx.x;
        if (threadIdx.x == 0) {
            list->count = 0;
        }
        __syncthreads();
        if (band < n) {
            const double value = whole_number(exact, view, kind, pixel, band);
            if (is_far(value)) {
                const int32_t at = atomicAdd(&list->count, 1);
                list->band[at] = band;
                list->value[at] = value;
            }
        }
        __syncthreads();
        for (int32_t k = 0; k < list->count; k++) {
            const int32_t i = list->band[k];
            const double rest_i = far_rest(list->value[k]);
            const Scaled rest = scaled_of(rest_i);
            const Scaled beyond = scaled_of(__dsub_rn(list->value[k], rest_i));
            if (threadIdx.x == 0) {
                add_product(beyond, {1, 0}, exact.far_sum + (int64_t)i * HC_LONG_DIGITS);
                exact.count[1] = 1;
            }
            for (int32_t j = (int32_t)threadIdx.x; j < n; j += THREADS) {
                const double value = whole_number(exact, view, kind, pixel, j);
                const bool both = is_far(value);
                if (both && j < i) {
                    continue; /* is done from there */
                }
                const int64_t at = i < j ? (int64_t)i * n + j : (int64_t)j * n + i;
                int64_t *digit = exact.far_product + at * HC_LONG_DIGITS;
                add_product(beyond, scaled_of(value), digit);
                if (both) {
                    add_product(rest, scaled_of(__dsub_rn(value, far_rest(value))), digit);
                }
            }
        }
        __syncthreads();
    }
}

/* Thread block: FAR_TILES tiles, of which most hold no far value. */
__global__ void __launch_bounds__(THREADS)
    add_far(HcGramJob job, HcTiling tiling, int64_t first, int64_t tiles, HcExact exact) {
    __shared__ uint32_t marked;
    __shared__ FarList list;
    const int32_t blocks = exact.padded / HC_TILE_BANDS;
    const int64_t tile0 = (int64_t)blockIdx.x * FAR_TILES;
    const int32_t count = (int32_t)min(tiles - tile0, (int64_t)FAR_TILES);
    if (threadIdx.x == 0) {
        marked = 0;
    }
    __syncthreads();
    for (int32_t i = (int32_t)threadIdx.x; i < count * blocks; i += THREADS) {
        if ((exact.needs[tile0 * blocks + i] & HC_NEEDS_FAR) != 0) {
            atomicOr(&marked, 1U << i / blocks);
        }
    }
    __syncthreads();
    const uint32_t all = marked;
    for (int32_t t = 0; t < count; t++) {
        if ((all >> t & 1) == 0) {
            continue;
        }
        const Place corner = corner_of(job, tiling, first + tile0 + t);
        for (int32_t at = 0; at < HC_TILE_PIXELS; at++) {
            const Place place = place_of(job, tiling, corner, at);
            if (used(job, job.kind, place)) {
                add_far_pixel(exact, job.in, job.kind,
                              (job.first_row + place.row) * job.in.samples + place.sample, &list);
            }
        }
    }
}

/* A thread a number: digits of 0 to 2^32 - 1, the last one with the sign. */
__global__ void carry(HcExact exact, int64_t bands) {
    if (exact.count[1] == 0) {
        return;
    }
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < bands + bands * bands;
         i += (int64_t)gridDim.x * blockDim.x) {
        int64_t *digit =
            i < bands ? exact.far_sum + i * HC_LONG_DIGITS : exact.far_product + (i - bands) * HC_LONG_DIGITS;
        int64_t carried = 0;
        for (int32_t k = 0; k < HC_LONG_DIGITS - 1; k++) {
            const int64_t value = digit[k] + carried;
            digit[k] = value & 0xFFFFFFFF;
            carried = value >> 32;
        }
        digit[HC_LONG_DIGITS - 1] += carried;
    }
}

/* ---- the operation ---- */

/* Tiles of the shape that wastes least at the borders; squarer ones have fewer neighbours to load. */
HcTiling hc_grid_tiling(const HcGramJob *job) {
    HcTiling best = {hc_div_up(job->rows * job->in.samples, HC_TILE_PIXELS), 0, 0};
    if (job->kind == HC_DIFFERENCE_NONE) {
        return best;
    }
    best.tiles = INT64_MAX;
    for (int32_t bits : {2, 1, 3, 0}) {
        int64_t columns = hc_div_up(job->in.samples, PATCH << bits);
        int64_t tiles = columns * hc_div_up(job->rows, PATCH * WARPS >> bits);
        if (tiles < best.tiles) {
            best = {tiles, (int32_t)columns, bits};
        }
    }
    return best;
}

template <HcDifference KIND>
static void launch_split(HcQueue *queue, const HcGramJob *job, const HcTiling *tiling, int64_t first,
                         int64_t tiles, const HcExact *to) {
    dim3 grid((unsigned)(to->padded / HC_TILE_BANDS), (unsigned)tiles);
    split_grid<KIND><<<grid, THREADS, 0, queue->stream>>>(*job, *tiling, first, *to);
}

HcStatus hc_grid_split(HcQueue *queue, const HcGramJob *job, const HcTiling *tiling, int64_t first,
                       int64_t tiles, const HcExact *to, HcError *err) {
    switch (job->kind) {
    case HC_DIFFERENCE_NONE:
        launch_split<HC_DIFFERENCE_NONE>(queue, job, tiling, first, tiles, to);
        break;
    case HC_DIFFERENCE_MEAN3X3:
        launch_split<HC_DIFFERENCE_MEAN3X3>(queue, job, tiling, first, tiles, to);
        break;
    case HC_DIFFERENCE_MEDIAN3X3:
        launch_split<HC_DIFFERENCE_MEDIAN3X3>(queue, job, tiling, first, tiles, to);
        break;
    case HC_DIFFERENCE_SHIFT:
        launch_split<HC_DIFFERENCE_SHIFT>(queue, job, tiling, first, tiles, to);
        break;
    case HC_DIFFERENCE_SHIFT_DIAGONAL:
        launch_split<HC_DIFFERENCE_SHIFT_DIAGONAL>(queue, job, tiling, first, tiles, to);
        break;
    }
    HC_OR_RETURN(hc_gpu_launched("taking values apart", err));
    add_far<<<(unsigned)hc_div_up(tiles, FAR_TILES), THREADS, 0, queue->stream>>>(*job, *tiling, first, tiles,
                                                                                  *to);
    return hc_gpu_launched("adding far values", err);
}

HcStatus hc_grid_carry(HcQueue *queue, const HcExact *exact, int32_t bands, HcError *err) {
    carry<<<256, 256, 0, queue->stream>>>(*exact, bands);
    return hc_gpu_launched("making carries", err);
}
