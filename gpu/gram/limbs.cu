/* Exact sums of products of limbs (gram.cuh says how; blocks.cu and raw.cu make them): their memory,
 * products on devices without Hopper's matrix units, and what becomes of the sums. */
#include "core/allocate.h"
#include "core/sums/quotient.h"
#include "gpu/gram/gram.cuh"
#include "gpu/shared.cuh"

enum {
    GROUP_THREADS = 32 * HC_GROUP_TILES,
    LIMB_BYTES = HC_TILE_BANDS * HC_STEP_PIXELS /* of 32 bands and 64 pixels */
};

/* ---- layout ---- */

/* Blocks of 32 bands that a group looks at, at most. */
static int32_t group_blocks(const HcExact *exact) {
    return exact->limbs == HC_LIMBS_GRID ? HC_GROUP_BLOCKS_GRID : HC_GROUP_BLOCKS;
}

/* The place of a block in a group, or -1. */
static int32_t place_in(const HcGramGroup *group, int32_t block) {
    for (int32_t b = 0; b < group->blocks; b++) {
        if (group->block[b] == block) {
            return b;
        }
    }
    return -1;
}

static uint8_t add_block(HcGramGroup *group, int32_t block) {
    int32_t place = place_in(group, block);
    if (place < 0) {
        place = group->blocks++;
        group->block[place] = (uint16_t)block;
    }
    return (uint8_t)place;
}

/* Cuts the lower triangle of tiles into groups: squares of four by two blocks, so that a group looks at few
 * blocks of bands. Returns how many; groups NULL = only that. */
static int32_t make_groups(int32_t blocks, int32_t most_blocks, HcGramGroup *groups) {
    int32_t count = 0;
    HcGramGroup group = {};
    for (int32_t top = 0; top < blocks; top += 4) {
        for (int32_t left = 0; left <= top + 3; left += 2) {
            for (int32_t i = top; i < top + 4 && i < blocks; i++) {
                for (int32_t j = left; j < left + 2 && j <= i; j++) {
                    int32_t added = (place_in(&group, i) < 0) + (i != j && place_in(&group, j) < 0);
                    if (group.tiles == HC_GROUP_TILES || group.blocks + added > most_blocks) {
                        if (groups != NULL) {
                            groups[count] = group;
                        }
                        count++;
                        group = {};
                    }
                    group.row[group.tiles] = add_block(&group, i);
                    group.column[group.tiles] = add_block(&group, j);
                    group.tiles++;
                }
            }
        }
    }
    if (groups != NULL) {
        groups[count] = group;
    }
    return count + 1;
}

/* The largest sums of a pixel: four products of two limbs of weight 3, and what lighter ones add. Heavier
 * ones, in units of weight 4, stay below 2^39, since the fifth limb is at most 8. */
static const int64_t grid_product = ((int64_t)1 << 40) + ((int64_t)1 << 38);

static size_t grid_layout(HcSums *sums, char *memory, size_t at) {
    HcExact *exact = &sums->exact;
    size_t padded = (size_t)exact->padded;
    size_t digits = (size_t)sums->bands * HC_LONG_DIGITS;
    exact->center = (double *)hc_take(memory, &at, padded * sizeof(double));
    exact->scale = (double *)hc_take(memory, &at, padded * sizeof(double));
    exact->far_sum = (int64_t *)hc_take(memory, &at, digits * sizeof(int64_t));
    exact->far_product = (int64_t *)hc_take(memory, &at, digits * (size_t)sums->bands * sizeof(int64_t));
    exact->seen = (uint8_t *)hc_take(memory, &at, (size_t)exact->panel_tiles * (padded / HC_SEEN_BANDS));
    exact->unsettled = (int64_t *)hc_take(memory, &at, padded * sizeof(int64_t));
    return at;
}

size_t hc_exact_layout(HcSums *sums, char *memory) {
    HcExact *exact = &sums->exact;
    size_t at = 0;
    exact->limbs = sums->on_grid ? HC_LIMBS_GRID : HC_LIMBS_INTEGERS;
    exact->halves = sums->on_grid || sums->gpu->hopper ? 2 : 1;
    exact->padded = (int32_t)hc_div_up(sums->bands, HC_TILE_BANDS) * HC_TILE_BANDS;
    exact->groups = make_groups(exact->padded / HC_TILE_BANDS, group_blocks(exact), NULL);
    exact->sides = (exact->padded / HC_TILE_BANDS + 1) / 2;
    if (sums->on_grid) {
        exact->most = INT64_MAX / grid_product;
    } else {
        /* Two limbs hold -32896 to 32639: types of 8 and 16 bits are moved there. */
        exact->offset = sums->limit <= 32768 ? 128 : sums->limit <= 65535 ? 32896 : 0;
        int64_t largest = sums->limit + exact->offset;
        exact->most = ((int64_t)1 << 62) / (largest * largest);
    }
    size_t n = (size_t)exact->padded;
    size_t tile_bytes = (size_t)exact->sides * (size_t)exact->limbs * HC_SIDE_LIMB_BYTES * HC_TILE_STEPS;
    exact->squares = sums->gpu->hopper ? hc_hopper_squares(exact->padded, NULL) : 0;
    int32_t groups = exact->squares > 0 ? exact->squares : exact->groups;
    exact->parts = sums->gpu->processors > groups ? sums->gpu->processors / groups : 1;
    int64_t most_tiles = (int64_t)exact->parts * HC_PART_TILES;
    most_tiles = hc_min64(most_tiles, exact->most / HC_TILE_PIXELS);
    most_tiles = hc_min64(most_tiles, UINT16_MAX); /* of a grid of thread blocks */
    /* As many tiles with five limbs as with three. */
    exact->panel_tiles =
        (int64_t)(sums->gpu->panel_bytes / HC_LIMBS_INTEGERS * (size_t)exact->limbs / tile_bytes);
    exact->panel_tiles = exact->panel_tiles < 1 ? 1 : exact->panel_tiles;
    exact->panel_tiles = exact->panel_tiles > most_tiles ? most_tiles : exact->panel_tiles;
    if (exact->panel_tiles > exact->parts) {
        exact->panel_tiles -= exact->panel_tiles % exact->parts;
    }
    size_t tiles = (size_t)exact->panel_tiles;
    size_t planes = (size_t)exact->parts * (size_t)exact->halves;
    exact->group = (HcGramGroup *)hc_take(memory, &at, (size_t)exact->groups * sizeof(HcGramGroup));
    exact->square = (HcGramSquare *)hc_take(memory, &at, (size_t)exact->squares * sizeof(HcGramSquare));
    exact->panel = (int8_t *)hc_take(memory, &at, tiles * tile_bytes);
    exact->needs = (uint8_t *)hc_take(memory, &at, tiles * (n / HC_TILE_BANDS));
    exact->zeros = (int8_t *)hc_take(memory, &at, LIMB_BYTES);
    exact->product = (int64_t *)hc_take(memory, &at, planes * n * n * sizeof(int64_t));
    exact->sum = (int64_t *)hc_take(memory, &at, n * sizeof(int64_t));
    exact->count = (int64_t *)hc_take(memory, &at, 2 * sizeof(int64_t));
    exact->low = (uint64_t *)hc_take(memory, &at, (n + 1) * n * sizeof(uint64_t));
    exact->high = (int64_t *)hc_take(memory, &at, (n + 1) * n * sizeof(int64_t));
    return sums->on_grid ? grid_layout(sums, memory, at) : at;
}

static HcStatus upload_groups(HcExact *exact, HcQueue *queue, HcError *err) {
    HcStatus status = HC_OK;
    HcGramGroup *group = NULL;
    HC_OR_RETURN(hc_new(group, exact->groups, "groups of products", err));
    (void)make_groups(exact->padded / HC_TILE_BANDS, group_blocks(exact), group);
    HC_TRY(hc_upload(queue, group, exact->group, (size_t)exact->groups * sizeof *group, err));
    HC_TRY(hc_wait(queue, err));
done:
    free(group);
    return status;
}

static HcStatus upload_squares(HcExact *exact, HcQueue *queue, HcError *err) {
    HcStatus status = HC_OK;
    HcGramSquare *square = NULL;
    HC_OR_RETURN(hc_new(square, exact->squares, "squares of products", err));
    (void)hc_hopper_squares(exact->padded, square);
    HC_TRY(hc_upload(queue, square, exact->square, (size_t)exact->squares * sizeof *square, err));
    HC_TRY(hc_wait(queue, err));
done:
    free(square);
    return status;
}

static HcStatus upload_grid(HcSums *sums, HcQueue *queue, HcError *err) {
    HcStatus status = HC_OK;
    size_t n = (size_t)sums->bands;
    double *scale = NULL;
    HC_OR_RETURN(hc_new(scale, n, "the grid of sums", err));
    for (size_t b = 0; b < n; b++) {
        scale[b] = hc_grid_scale(sums->grid.exponent[b]);
    }
    HC_TRY(hc_upload(queue, sums->grid.center, sums->exact.center, n * sizeof(double), err));
    HC_TRY(hc_upload(queue, scale, sums->exact.scale, n * sizeof(double), err));
    HC_TRY(hc_wait(queue, err));
done:
    free(scale);
    return status;
}

HcStatus hc_exact_open(HcSums *sums, HcQueue *queue, HcError *err) {
    HcExact *exact = &sums->exact;
    HC_OR_RETURN(upload_groups(exact, queue, err));
    if (exact->squares > 0) {
        HC_OR_RETURN(upload_squares(exact, queue, err));
    }
    return sums->on_grid ? upload_grid(sums, queue, err) : HC_OK;
}

/* ---- products of limbs ---- */

/* sum[16][8] += a[16][32] b[8][32]' in 8-bit integers. */
__device__ static inline void multiply(int32_t sum[4], const uint32_t a[4], const uint32_t b[2]) {
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    for (int half = 0; half < 4; half++) { /* rows 0-7 and 8-15 of both halves of the pixels */
        asm("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0,%1}, {%2}, {%3}, {%0,%1};"
            : "+r"(sum[half % 2 * 2]), "+r"(sum[half % 2 * 2 + 1])
            : "r"(a[half]), "r"(b[half / 2]));
    }
#endif
}

/* One step of a warp's tile: 64 pixels, of products of LIMBS limbs those of `WEIGHTS` weights from FIRST on.
 */
template <int LIMBS, int FIRST, int WEIGHTS>
__device__ static inline void multiply_step(const int8_t *rows, const int8_t *columns, int32_t lane,
                                            int32_t acc[WEIGHTS][2][4][4]) {
    const int32_t part = lane / 8;
    const int32_t in_part = lane % 8;
#pragma unroll
    for (int32_t half = 0; half < HC_STEP_PIXELS / 32; half++) {
        uint32_t a[LIMBS][2][4];
#pragma unroll
        for (int32_t limb = 0; limb < LIMBS; limb++) {
#pragma unroll
            for (int32_t m = 0; m < 2 && limb + LIMBS > FIRST; m++) {
                hc_load_matrices(a[limb][m],
                                 rows + limb * LIMB_BYTES +
                                     hc_swizzled(m * 16 + part % 2 * 8 + in_part, half * 2 + part / 2));
            }
        }
#pragma unroll
        for (int32_t n = 0; n < 2; n++) {
            uint32_t b[LIMBS][4];
#pragma unroll
            for (int32_t limb = 0; limb < LIMBS; limb++) {
                if (limb + LIMBS > FIRST) {
                    hc_load_matrices(b[limb],
                                     columns + limb * LIMB_BYTES +
                                         hc_swizzled(n * 16 + part / 2 * 8 + in_part, half * 2 + part % 2));
                }
            }
#pragma unroll
            for (int32_t first = 0; first < LIMBS; first++) {
#pragma unroll
                for (int32_t second = 0; second < LIMBS; second++) {
#pragma unroll
                    for (int32_t m = 0; m < 2; m++) {
                        const int32_t at = first + second - FIRST;
                        if (at >= 0 && at < WEIGHTS) {
                            multiply(acc[at][m][n * 2], a[first][m], b[second]);
                            multiply(acc[at][m][n * 2 + 1], a[first][m], b[second] + 2);
                        }
                    }
                }
            }
        }
    }
}

/* What a thread block knows of its part of the panel. */
struct HcPart {
    HcGramGroup group;
    uint8_t needs[HC_PART_TILES][HC_GROUP_BLOCKS]; /* of tiles and blocks: how many limbs there are */
    uint8_t limbs[HC_PART_TILES];                  /* that the tile needs */
};

__device__ static inline void look_at_part(const HcExact &exact, int64_t tile0, int64_t tiles, HcPart *part) {
    const int64_t blocks = exact.padded / HC_TILE_BANDS;
    if (threadIdx.x < sizeof(HcGramGroup) / 4) {
        ((uint32_t *)&part->group)[threadIdx.x] = ((const uint32_t *)&exact.group[blockIdx.x])[threadIdx.x];
    }
    __syncthreads();
    for (int32_t t = threadIdx.x; t < tiles; t += GROUP_THREADS) {
        uint8_t most = HC_LIMBS_MIN;
        for (int32_t b = 0; b < part->group.blocks; b++) {
            uint8_t needs = exact.needs[(tile0 + t) * blocks + part->group.block[b]] & ~HC_NEEDS_FAR;
            part->needs[t][b] = needs;
            most = needs > most ? needs : most;
        }
        part->limbs[t] = most;
    }
    __syncthreads();
}

/* Whether a tile of `limbs` limbs has products of weight `first` and above. */
__device__ static inline bool reaches(int32_t limbs, int32_t first) {
    return 2 * (limbs - 1) >= first;
}

/* Copies the limbs of one step of all blocks of a group: [block][limb][band][pixel]. */
template <int LIMBS_MAX, int FIRST>
__device__ static inline void load_step(const HcExact &exact, const HcPart &part, int64_t step, int64_t tile0,
                                        int8_t *to) {
    const int32_t tile = (int32_t)(step / HC_TILE_STEPS - tile0);
    const int32_t at = threadIdx.x * 16; /* 256 threads bring two limbs */
    const int32_t limbs = part.limbs[tile];
    if (!reaches(limbs, FIRST)) {
        return;
    }
#pragma unroll
    for (int32_t b = 0; b < HC_GROUP_BLOCKS; b++) {
        if (b < part.group.blocks) {
            const int8_t *block = exact.panel + hc_panel_at<LIMBS_MAX>(exact, step, part.group.block[b]);
            int8_t *place = to + b * LIMBS_MAX * LIMB_BYTES + at;
#pragma unroll
            for (int32_t limb0 = 0; limb0 < LIMBS_MAX; limb0 += 2) {
                const int32_t limb = limb0 + at / LIMB_BYTES;
                if (limb < limbs) {
                    hc_copy_16(place + limb0 * LIMB_BYTES,
                               limb < part.needs[tile][b]
                                   ? block + limb * HC_SIDE_LIMB_BYTES + at % LIMB_BYTES
                                   : exact.zeros + at % LIMB_BYTES);
                }
            }
        }
    }
}

/* Adds a warp's tile of 32-bit sums to those of the part. */
template <int WEIGHTS>
__device__ static inline void add_tile(const HcExact &exact, int64_t plane, int64_t row0, int64_t column0,
                                       const int32_t acc[WEIGHTS][2][4][4]) {
#pragma unroll
    for (int32_t m = 0; m < 2; m++) {
#pragma unroll
        for (int32_t n = 0; n < 4; n++) {
            int64_t *at[2];
            longlong2 added[2];
#pragma unroll
            for (int32_t half = 0; half < 2; half++) {
                at[half] = hc_product_at(exact, plane, row0 + m * 16 + half * 8, column0 + n * 8);
                added[half] = make_longlong2(0, 0);
#pragma unroll
                for (int32_t w = WEIGHTS - 1; w >= 0; w--) {
                    added[half].x = added[half].x * 256 + acc[w][m][n][half * 2];
                    added[half].y = added[half].y * 256 + acc[w][m][n][half * 2 + 1];
                }
            }
            hc_add_pairs<2>(at, added);
        }
    }
}

/* Thread block (group, part): the products of a group of tiles over a part of the pixels of the panel, those
 * of WEIGHTS weights from FIRST on. */
template <int SLOTS, int LIMBS_MAX, int FIRST, int WEIGHTS>
__global__ void __launch_bounds__(GROUP_THREADS, 1)
    multiply_limbs(HcExact exact, int64_t tiles, int64_t tiles_each) {
    extern __shared__ __align__(128) int8_t shared[];
    __shared__ HcPart part;
    const int32_t block_bytes = LIMBS_MAX * LIMB_BYTES;
    const int32_t warp = threadIdx.x / 32;
    const int32_t lane = threadIdx.x % 32;
    const int64_t tile0 = blockIdx.y * tiles_each;
    const int64_t part_tiles = tiles - tile0 < tiles_each ? tiles - tile0 : tiles_each;
    look_at_part(exact, tile0, part_tiles, &part);
    const HcGramGroup &group = part.group;
    const int32_t steps = (int32_t)part_tiles * HC_TILE_STEPS;
    const int32_t slot_bytes = group.blocks * block_bytes;
    auto load = [&](int32_t step) {
        if (step < steps) {
            load_step<LIMBS_MAX, FIRST>(exact, part, tile0 * HC_TILE_STEPS + step, tile0,
                                        shared + step % SLOTS * slot_bytes);
        }
        hc_copies_end();
    };
    int32_t acc[WEIGHTS][2][4][4] = {};
#pragma unroll
    for (int32_t s = 0; s < SLOTS - 1; s++) {
        load(s);
    }
    const bool works = warp < group.tiles;
    const int32_t row_at = works ? group.row[warp] * block_bytes : 0;
    const int32_t column_at = works ? group.column[warp] * block_bytes : 0;
    for (int32_t step = 0; step < steps; step++) {
        if (SLOTS == 1) {
            __syncthreads();
            load(step);
        }
        hc_copies_wait<SLOTS == 1 ? 0 : SLOTS - 2>();
        __syncthreads();
        if (SLOTS > 1) {
            load(step + SLOTS - 1);
        }
        const int8_t *rows = shared + step % SLOTS * slot_bytes + row_at;
        const int8_t *columns = shared + step % SLOTS * slot_bytes + column_at;
        const int32_t limbs = part.limbs[step / HC_TILE_STEPS];
        if (!works || !reaches(limbs, FIRST)) {
            continue;
        }
        /* A limb whose lightest product is too heavy takes no part. */
        constexpr int last = LIMBS_MAX < FIRST + WEIGHTS ? LIMBS_MAX : FIRST + WEIGHTS;
        if (limbs == 2) {
            multiply_step<2, FIRST, WEIGHTS>(rows, columns, lane, acc);
        } else if (last == 3 || limbs == 3) {
            multiply_step<3, FIRST, WEIGHTS>(rows, columns, lane, acc);
        } else if (last == 4 || limbs == 4) {
            multiply_step < last<4 ? last : 4, FIRST, WEIGHTS>(rows, columns, lane, acc);
        } else {
            multiply_step < last<5 ? last : 5, FIRST, WEIGHTS>(rows, columns, lane, acc);
        }
    }
    if (works) {
        add_tile<WEIGHTS>(exact, (int64_t)blockIdx.y * exact.halves + (FIRST > 0 ? 1 : 0),
                          (int64_t)group.block[group.row[warp]] * HC_TILE_BANDS + lane / 4,
                          (int64_t)group.block[group.column[warp]] * HC_TILE_BANDS + lane % 4 * 2, acc);
    }
}

/* value + 2^32 heavy, to a 128-bit sum. */
__device__ static inline void add_wide(uint64_t *low, int64_t *high, int64_t value, int64_t heavy) {
    const uint64_t first = *low + (uint64_t)value;
    const uint64_t second = first + ((uint64_t)heavy << 32);
    *high += (value >> 63) + (first < (uint64_t)value ? 1 : 0) + (heavy >> 32) + (second < first ? 1 : 0);
    *low = second;
}

/* 64-bit sums into 128-bit ones. */
__global__ void widen(HcExact exact) {
    const int64_t count = (int64_t)exact.padded * exact.padded;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < count + exact.padded;
         i += (int64_t)gridDim.x * blockDim.x) {
        int64_t value = 0;
        int64_t heavy = 0;
        for (int32_t plane = 0; plane < exact.parts * exact.halves && i < count; plane++) {
            int64_t *at = exact.product + plane * count + i;
            (plane % exact.halves == 0 || exact.limbs < HC_LIMBS_GRID ? value : heavy) += *at;
            *at = 0;
        }
        if (i >= count) {
            value = exact.sum[i - count];
            exact.sum[i - count] = 0;
        }
        add_wide(&exact.low[i], &exact.high[i], value, heavy);
    }
}

/* ---- the operation ---- */

cudaError_t hc_exact_kernels(void) {
    cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, widen);
}

template <int SLOTS, int LIMBS_MAX, int FIRST, int WEIGHTS>
static HcStatus launch_weights(HcQueue *queue, const HcExact *exact, int64_t tiles, size_t slot_bytes,
                               HcError *err) {
    int64_t each = hc_div_up(tiles, exact->parts);
    dim3 grid((unsigned)exact->groups, (unsigned)hc_div_up(tiles, each));
    HC_OR_RETURN(hc_gpu_check(cudaFuncSetAttribute(multiply_limbs<SLOTS, LIMBS_MAX, FIRST, WEIGHTS>,
                                                   cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                   (int)(slot_bytes * SLOTS)),
                              "asking for shared memory", err));
    multiply_limbs<SLOTS, LIMBS_MAX, FIRST, WEIGHTS>
        <<<grid, GROUP_THREADS, slot_bytes * SLOTS, queue->stream>>>(*exact, tiles, each);
    return hc_gpu_launched("multiplying", err);
}

template <int SLOTS>
static HcStatus launch_slots(HcQueue *queue, const HcExact *exact, int64_t tiles, size_t slot_bytes,
                             HcError *err) {
    if (exact->limbs == HC_LIMBS_INTEGERS) {
        return launch_weights<SLOTS, HC_LIMBS_INTEGERS, 0, HC_WEIGHTS_INTEGERS>(queue, exact, tiles,
                                                                                slot_bytes, err);
    }
    HC_OR_RETURN(
        (launch_weights<SLOTS, HC_LIMBS_GRID, 0, HC_WEIGHTS_LOW>(queue, exact, tiles, slot_bytes, err)));
    return launch_weights<SLOTS, HC_LIMBS_GRID, HC_WEIGHTS_LOW, HC_WEIGHTS_HIGH>(queue, exact, tiles,
                                                                                 slot_bytes, err);
}

static HcStatus launch_products(HcQueue *queue, const HcExact *exact, HcError *err) {
    int64_t tiles = exact->filled;
    if (queue->gpu->hopper) {
        return hc_hopper_products(queue, exact, tiles, err);
    }
    int32_t blocks = exact->padded / HC_TILE_BANDS;
    blocks = blocks < group_blocks(exact) ? blocks : group_blocks(exact);
    size_t slot_bytes = (size_t)blocks * (size_t)exact->limbs * LIMB_BYTES;
    size_t spare = (sizeof(HcPart) + 127) / 128 * 128; /* the kernel's own */
    if (queue->gpu->major >= 8 && 3 * slot_bytes + spare <= queue->gpu->shared_memory) {
        return launch_slots<3>(queue, exact, tiles, slot_bytes, err);
    }
    if (queue->gpu->major >= 8 && 2 * slot_bytes + spare <= queue->gpu->shared_memory) {
        return launch_slots<2>(queue, exact, tiles, slot_bytes, err);
    }
    return launch_slots<1>(queue, exact, tiles, slot_bytes, err);
}

/* Multiplies what is in the panel. */
static HcStatus empty_panel(HcQueue *queue, HcExact *exact, HcError *err) {
    HcStatus status = exact->filled > 0 ? launch_products(queue, exact, err) : HC_OK;
    exact->filled = 0;
    return status;
}

static HcStatus fold(HcQueue *queue, HcExact *exact, HcError *err) {
    HC_OR_RETURN(empty_panel(queue, exact, err));
    widen<<<256, 256, 0, queue->stream>>>(*exact);
    exact->pixels = 0;
    return hc_gpu_launched("widening sums", err);
}

/* Far values of N pixels will be added: carries in time. A pixel adds at most 2^34 to a digit. */
static HcStatus carry_in_time(HcQueue *queue, HcSums *sums, int64_t pixels, HcError *err) {
    HcExact *exact = &sums->exact;
    if (exact->far_pixels + pixels > (int64_t)1 << 28) {
        HC_OR_RETURN(hc_grid_carry(queue, exact, sums->bands, err));
        exact->far_pixels = 0;
    }
    exact->far_pixels += pixels;
    return HC_OK;
}

HcStatus hc_exact_reserve(HcQueue *queue, HcSums *sums, int64_t least, int64_t *tiles, HcError *err) {
    HcExact *exact = &sums->exact;
    if (exact->panel_tiles - exact->filled < least) {
        HC_OR_RETURN(empty_panel(queue, exact, err));
    }
    *tiles = hc_min64(*tiles, exact->panel_tiles - exact->filled);
    if (sums->on_grid) {
        HC_OR_RETURN(carry_in_time(queue, sums, *tiles * HC_TILE_PIXELS, err));
    }
    return exact->pixels + *tiles * HC_TILE_PIXELS > exact->most ? fold(queue, exact, err) : HC_OK;
}

HcExact hc_exact_behind(const HcSums *sums) {
    HcExact to = sums->exact;
    to.panel += to.filled * HC_TILE_STEPS * to.sides * to.limbs * HC_SIDE_LIMB_BYTES;
    to.needs += to.filled * (to.padded / HC_TILE_BANDS);
    if (sums->on_grid) {
        to.seen += to.filled * (to.padded / HC_SEEN_BANDS);
    }
    return to;
}

void hc_exact_filled(HcSums *sums, int64_t tiles) {
    sums->exact.pixels += tiles * HC_TILE_PIXELS;
    sums->exact.filled += tiles;
}

HcStatus hc_exact_gram(HcQueue *queue, const HcGramJob *job, HcSums *sums, HcError *err) {
    const HcTiling tiling = hc_block_tiling(job);
    for (int64_t tile = 0; tile < tiling.tiles;) {
        int64_t count = tiling.tiles - tile;
        HC_OR_RETURN(hc_exact_reserve(queue, sums, 1, &count, err));
        HcExact to = hc_exact_behind(sums);
        HC_OR_RETURN(hc_block_split(queue, job, &tiling, tile, count, &to, sums->limit, err));
        hc_exact_filled(sums, count);
        tile += count;
    }
    return HC_OK;
}

/* ---- fetching ---- */

/* Sums as HcMoments has them, in pinned memory that the kernel writes to. */
struct HcFetched {
    HcWide *sum, *product;
    double *quotient;
    int64_t *count; /* and whether any value was far, and whether any quotient cannot be had */
};

static size_t cut_fetched(HcFetched *to, size_t n, char *memory) {
    size_t at = 0;
    to->product = (HcWide *)hc_take(memory, &at, n * n * sizeof(HcWide));
    to->sum = (HcWide *)hc_take(memory, &at, n * sizeof(HcWide));
    to->quotient = (double *)hc_take(memory, &at, n * n * sizeof(double));
    to->count = (int64_t *)hc_take(memory, &at, 3 * sizeof(int64_t));
    return at;
}

__device__ static HcWide wide_at(const HcExact &exact, size_t at) {
    return ((HcWide)exact.high[at] << 64) + (HcWide)exact.low[at];
}

/* The sum of the products of two bands, i >= j. */
__device__ static HcWide product_of(const HcExact &exact, size_t i, size_t j) {
    const size_t n = (size_t)exact.padded;
    HcWide product = wide_at(exact, i * n + j);
    if (exact.squares > 0 && i / HC_TILE_BANDS != j / HC_TILE_BANDS) { /* one of the two is 0 */
        product += wide_at(exact, j * n + i);
    }
    return product;
}

__device__ static bool fits_wide(HcWide a, HcWide b) {
    return hc_leading_bit((HcWideUnsigned)(a ^ a >> 127) | 1) +
               hc_leading_bit((HcWideUnsigned)(b ^ b >> 127) | 1) <
           123;
}

/* Takes the offset back, sums of x = v + offset from those of v, and divides as hc_moments_covariance(). */
__global__ void restore(HcExact exact, int32_t bands, int32_t variance, HcFetched to) {
    const size_t n = (size_t)bands;
    const size_t sum_at = (size_t)exact.padded * (size_t)exact.padded;
    const HcWide count = exact.count[0];
    const HcWide shift = (HcWide)exact.offset * count;
    const HcDivisor by = hc_divisor_of(count < 2 ? 1 : count * (count - 1) * variance);
    bool fits = count >= 2 && by.scaled != 0;
    for (size_t at = blockIdx.x * (size_t)blockDim.x + threadIdx.x; at < n * n;
         at += gridDim.x * blockDim.x) {
        const size_t i = at / n;
        const size_t j = at % n;
        const HcWide sum_i = wide_at(exact, sum_at + i);
        const HcWide sum_j = wide_at(exact, sum_at + j);
        const HcWide x_i = sum_i + shift;
        const HcWide x_j = sum_j + shift;
        const HcWide product =
            product_of(exact, max(i, j), min(i, j)) + exact.offset * (sum_i + sum_j + shift);
        to.product[at] = product;
        if (i == j) {
            to.sum[i] = x_i;
        }
        fits = fits && fits_wide(count, product) && fits_wide(x_i, x_j);
        if (i <= j && fits) {
            to.quotient[at] = hc_quotient(count * product - x_i * x_j, &by);
        }
    }
    if (!fits) {
        to.count[2] = 1;
    }
    if (blockIdx.x + threadIdx.x == 0) {
        to.count[0] = exact.count[0];
        to.count[1] = exact.count[1];
    }
}

static HcStatus take_fetched(const HcFetched *from, int32_t variance, HcMoments *out, HcError *err) {
    const size_t n = (size_t)out->bands;
    out->count = from->count[0];
    memcpy(out->sum, from->sum, n * sizeof *out->sum);
    memcpy(out->product, from->product, n * n * sizeof *out->product);
    if (from->count[2] == 0) {
        HC_OR_RETURN(hc_new_aligned(out->quotient, n * n, "a covariance", err));
        memcpy(out->quotient, from->quotient, n * n * sizeof *out->quotient);
        out->divided = variance;
    }
    return HC_OK;
}

static HcStatus fetch_far(HcQueue *queue, HcSums *sums, HcMoments *out, HcError *err) {
    size_t bytes = (size_t)sums->bands * HC_LONG_DIGITS * sizeof(int64_t);
    HC_OR_RETURN(hc_moments_far(out, err));
    HC_OR_RETURN(hc_grid_carry(queue, &sums->exact, sums->bands, err));
    sums->exact.far_pixels = 0;
    HC_OR_RETURN(hc_download(queue, sums->exact.far_sum, out->far_sum, bytes, err));
    HC_OR_RETURN(
        hc_download(queue, sums->exact.far_product, out->far_product, bytes * (size_t)sums->bands, err));
    return hc_wait(queue, err);
}

HcStatus hc_exact_fetch(HcQueue *queue, HcSums *sums, HcMoments *out, HcError *err) {
    HcStatus status = HC_OK;
    HcCompute *compute = &sums->gpu->base;
    const int32_t variance = hc_whole_variance(hc_difference_variance(sums->kind));
    HcBuffer pinned = {};
    HcFetched to;
    HC_TRY(hc_gpu_alloc(compute, HC_MEMORY_HOST, cut_fetched(&to, (size_t)sums->bands, NULL), &pinned, err));
    (void)cut_fetched(&to, (size_t)sums->bands, (char *)pinned.data);
    to.count[2] = 0;
    HC_TRY(fold(queue, &sums->exact, err));
    restore<<<256, 256, 0, queue->stream>>>(sums->exact, sums->bands, variance, to);
    HC_TRY(hc_gpu_launched("fetching sums", err));
    HC_TRY(hc_wait(queue, err));
    HC_TRY(take_fetched(&to, variance, out, err));
    if (to.count[1] != 0) {
        HC_TRY(fetch_far(queue, sums, out, err));
    }
done:
    hc_gpu_release(compute, &pinned);
    return status;
}
