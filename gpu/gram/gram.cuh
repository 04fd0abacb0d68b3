/* Sums of products: what the files gram*.cu share. */
#ifndef HC_GPU_GRAM_GRAM_CUH
#define HC_GPU_GRAM_GRAM_CUH

#include "core/operation/gram/gram.h"
#include "gpu/internal.cuh"

HcSumsOpenFn hc_gpu_sums_open;
HcSumsCloseFn hc_gpu_sums_close;
HcGramFn hc_gpu_gram;
HcSumsFetchFn hc_gpu_sums_fetch;

/* Pixels that are summed, as kernels take them. */
struct HcGramJob {
    HcView in;
    HcDifference kind;
    int64_t first_row, rows;          /* interior */
    int64_t top, bottom, left, right; /* of the window, in rows and samples of the view, ends excluded */
};

/* ---- exact sums (blocks.cu, raw.cu, raw_grid.cu, limbs.cu, hopper.cu) ----
 *
 * Whole numbers v are written as l0 + 256 l1 + 65536 l2 + ... with limbs of -128 to 127. The matrix units sum
 * products of limbs in 32-bit integers; these are added to 64-bit integers, and these to 128-bit ones before
 * they could overflow. Integers, v = x - offset, have up to three limbs, and those of most scenes need two.
 * Values of a grid (core/sums/grid.h) have up to five, and mostly need four. How many 32 bands need is found
 * for each tile of pixels, and products with limbs that are 0 throughout are left out. Limbs are collected in
 * a panel, and multiplied when it is full or the sums are fetched: few large products are faster than many
 * small ones. */

enum {
    HC_LIMBS_INTEGERS = 3,
    HC_LIMBS_GRID = 5,
    HC_LIMBS_MIN = 2, /* are always there */
    /* Products of limbs a and b weigh 256^(a + b). Those of a grid are summed in two parts, since nine sums
     * do not fit a thread: weights 0 to 3, and 4 to 8. */
    HC_WEIGHTS_INTEGERS = 2 * HC_LIMBS_INTEGERS - 1,
    HC_WEIGHTS_LOW = 4,
    HC_WEIGHTS_HIGH = 2 * HC_LIMBS_GRID - 1 - HC_WEIGHTS_LOW,
    HC_TILE_BANDS = 32,   /* of a tile of products */
    HC_TILE_PIXELS = 128, /* of a tile of limbs */
    HC_STEP_PIXELS = 64,  /* that are multiplied between two barriers */
    HC_TILE_STEPS = HC_TILE_PIXELS / HC_STEP_PIXELS,
    HC_SIDE_LIMB_BYTES = 2 * HC_TILE_BANDS * HC_STEP_PIXELS, /* a limb of 64 bands and 64 pixels */
    /* Of pixels, in a part: -128 * -128 * 4 * 255 * 128 < 2^31. Weight 3 has four pairs of limbs; weight 4
     * has five, but the fifth limb is at most 8. */
    HC_PART_TILES = 255,
    HC_GROUP_TILES = 8,       /* of products, one a warp */
    HC_GROUP_BLOCKS = 8,      /* blocks of 32 bands that a group looks at, at most */
    HC_GROUP_BLOCKS_GRID = 6, /* of five limbs: one slot fits 64 KB */
    HC_NEEDS_FAR = 0x80,      /* beside the number of limbs: some value is far */
    HC_SEEN_BANDS = 2         /* whose limbs a warp makes of bytes (raw_grid.cu) */
};

/* Tiles of products that one thread block sums: which of its blocks of bands each warp multiplies. */
struct HcGramGroup {
    int32_t tiles, blocks;
    uint16_t block[HC_GROUP_BLOCKS]; /* numbers of 32 bands */
    uint8_t row[HC_GROUP_TILES], column[HC_GROUP_TILES];
};

/* Up to four products of 32 bands by 32 that one thread block sums on Hopper: two blocks of rows by two of
 * columns. */
struct HcGramSquare {
    uint16_t block[4]; /* numbers of 32 bands; the columns are the first two */
    uint8_t blocks;    /* of them that are there */
    uint8_t row[2],
        owns[2]; /* places of the rows in `block`; bits: which columns' products this square adds */
};

struct HcExact {
    int32_t padded;       /* bands, to whole tiles */
    int32_t sides;        /* blocks of 64 bands; the last may be half empty, and is 0 there */
    int32_t limbs;        /* that the panel has room for: 3, or 5 with a grid */
    int32_t halves;       /* of products: with a grid low and high weights; on Hopper one a warp group */
    int32_t groups;       /* of tiles */
    HcGramGroup *group;   /* [device] [groups] */
    int32_t squares;      /* on Hopper, else 0 */
    HcGramSquare *square; /* [device] [squares] */
    int64_t panel_tiles;  /* of pixels, that the panel holds */
    int64_t filled;       /* of them */
    int8_t *panel;        /* [device] [64 pixels][64 bands][limb][band][pixel], as shared memory takes it */
    uint8_t *needs;       /* [device] [tiles of pixels][32 bands], how many limbs, and HC_NEEDS_FAR */
    int8_t *zeros;        /* [device] a limb of zeros */
    int32_t parts;        /* into which a panel is cut, each with sums of its own */
    int64_t *product;     /* [device] [parts][halves][padded][padded], lower tiles; those of squares: lower or
                           * upper */
    int64_t *sum;         /* [device] [padded] of v */
    int64_t *count;       /* [device] pixels; then whether any value was far */
    uint64_t *low;        /* [device] [padded + 1][padded], 128-bit sums, low and high halves: those of */
    int64_t *high;        /* products, then those of v */
    int64_t offset;
    int64_t pixels; /* in `product`, at most */
    int64_t most;   /* pixels that `product` and `sum` can hold */
    /* Of a grid: */
    double *center;       /* [device] [padded] */
    double *scale;        /* [device] [padded] */
    int64_t *far_sum;     /* [device] [bands][HC_LONG_DIGITS] */
    int64_t *far_product; /* [device] [bands][bands][HC_LONG_DIGITS], upper triangle */
    uint8_t *seen;        /* [device] [tiles of pixels][HC_SEEN_BANDS bands], bits that become `needs` */
    int64_t *unsettled;   /* [device] [padded] of v, that will be added to `sum` (raw_grid.cu) */
    int64_t far_pixels;   /* since carries were last made, at most */
};

struct HcSums {
    HcSumsHead head;
    HcGpu *gpu;
    int32_t bands;
    int64_t limit;     /* of integers, 0 = floats */
    bool on_grid;      /* floats whose sums are exact */
    HcDifference kind; /* of what was added last */
    HcMoments grid;    /* its centers and units, without sums */
    HcBuffer memory;
    HcExact exact;
};

/* Bytes of device memory, and its cut (memory NULL: only the bytes). */
size_t hc_exact_layout(HcSums *sums, char *memory);
/* Fills what is not zero at first. */
HcStatus hc_exact_open(HcSums *sums, HcQueue *queue, HcError *err);

/* Whether the module holds code for the device of this thread. */
cudaError_t hc_exact_kernels(void);

/* Where the device has Hopper's matrix units and the module the code for them (hopper.cu). */
bool hc_hopper_can(const HcGpu *gpu);
/* Squares that have every product of 32 bands by 32, in one order of the two, once: how many; square NULL =
 * only that. */
int32_t hc_hopper_squares(int32_t padded, HcGramSquare *square);
HcStatus hc_hopper_products(HcQueue *queue, const HcExact *exact, int64_t tiles, HcError *err);

/* How the pixels of a block become tiles (blocks.cu). */
struct HcTiling {
    int64_t tiles;
    int32_t columns;     /* tiles side by side, 0 = pixels in their order */
    int32_t across_bits; /* of the number of patches of 4 x 4 pixels side by side in a tile */
};
HcTiling hc_block_tiling(const HcGramJob *job);
/* Tiles [first, first + tiles) to limbs, as `to` says where; what is far is added. limit: of integers. */
HcStatus hc_block_split(HcQueue *queue, const HcGramJob *job, const HcTiling *tiling, int64_t first,
                        int64_t tiles, const HcExact *to, int64_t limit, HcError *err);
/* Makes carries, so that digits of far values are small. */
HcStatus hc_grid_carry(HcQueue *queue, const HcExact *exact, int32_t bands, HcError *err);

/* Reserves the panel for at least `least` tiles (at most panel_tiles), and for up to *tiles, which becomes
 * how many; what was in the panel is multiplied where it must. */
HcStatus hc_exact_reserve(HcQueue *queue, HcSums *sums, int64_t least, int64_t *tiles, HcError *err);
/* The place of those tiles, after what is there; and that they are filled. */
HcExact hc_exact_behind(const HcSums *sums);
void hc_exact_filled(HcSums *sums, int64_t tiles);

/* What a call of gram adds, as kernels take it. */
HcGramJob hc_gram_job(const HcBlock *in, HcDifference kind, const HcWindow *window);
HcStatus hc_exact_gram(HcQueue *queue, const HcGramJob *job, HcSums *sums, HcError *err);
HcStatus hc_exact_fetch(HcQueue *queue, HcSums *sums, HcMoments *out, HcError *err);

#ifdef __CUDACC__

/* Added to a value, this makes the bytes of the sum limb + 128. */
static const uint32_t hc_limb_mover = 0x808080;

/* The limbs of four values, which were moved, as a word for each limb, the first value in the lowest byte.
 * taken: 0xFF in the bytes of those that count; others become 0. Returns their sum. */
__device__ static inline int32_t hc_take_limbs(const uint32_t moved[4], uint32_t taken,
                                               uint32_t word[HC_LIMBS_INTEGERS]) {
    /* bytes of pairs: 0 1 of both, then 2 */
    const uint32_t early = __byte_perm(moved[0], moved[1], 0x5140);
    const uint32_t late = __byte_perm(moved[2], moved[3], 0x5140);
    int32_t sum = 0;
    word[0] = __byte_perm(early, late, 0x5410);
    word[1] = __byte_perm(early, late, 0x7632);
    word[2] =
        __byte_perm(__byte_perm(moved[0], moved[1], 0x0062), __byte_perm(moved[2], moved[3], 0x0062), 0x5410);
#pragma unroll
    for (int32_t limb = HC_LIMBS_INTEGERS - 1; limb >= 0; limb--) {
        word[limb] = (word[limb] ^ 0x80808080U) & taken;
        sum = __dp4a((int32_t)word[limb], 0x01010101, sum * 256);
    }
    return sum;
}

/* The first limb of 32 bands in a step of the panel; the next limbs are HC_SIDE_LIMB_BYTES further. */
template <int LIMBS>
__device__ static inline int64_t hc_panel_at(const HcExact &exact, int64_t step, int32_t block) {
    return (step * exact.sides + block / 2) * (LIMBS * HC_SIDE_LIMB_BYTES) +
           block % 2 * (HC_SIDE_LIMB_BYTES / 2);
}

/* Where 16 bytes of a row of limbs lie: moved about so that eight rows are in all banks. */
__device__ static inline int32_t hc_swizzled(int32_t row, int32_t chunk) {
    return row * HC_STEP_PIXELS + ((chunk ^ ((row >> 1) & 3)) * 16);
}

/* Adds to pairs of neighbours, the second of them in an odd column. Nobody else has this part: no atomics,
 * which would queue up. */
template <int PAIRS>
__device__ static inline void hc_add_pairs(int64_t *const at[PAIRS], const longlong2 added[PAIRS]) {
    longlong2 value[PAIRS];
#pragma unroll
    for (int k = 0; k < PAIRS; k++) {
        value[k] = *(const longlong2 *)at[k];
    }
#pragma unroll
    for (int k = 0; k < PAIRS; k++) {
        value[k].x += added[k].x;
        value[k].y += added[k].y;
        *(longlong2 *)at[k] = value[k];
    }
}

/* plane: part * halves + half. */
__device__ static inline int64_t *hc_product_at(const HcExact &exact, int64_t plane, int64_t row,
                                                int64_t column) {
    return exact.product + (plane * exact.padded + row) * exact.padded + column;
}

#endif
#endif
