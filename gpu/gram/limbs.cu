/* Exact sums of products of integers: 8-bit limbs on the matrix units (gram.cuh says how). */
#include "gpu/gram/gram.cuh"
#include "gpu/shared.cuh"

#include <vector>

enum {
    TILE_WORDS = HC_TILE_PIXELS / 4, /* a word holds a limb of four pixels */
    SPLIT_THREADS = 256,
    SPLIT_RUN = HC_TILE_PIXELS / (SPLIT_THREADS / 32), /* pixels of a lane */
    GROUP_THREADS = 32 * HC_GROUP_TILES,
    LIMB_BYTES = HC_TILE_BANDS * HC_STEP_PIXELS,
    BLOCK_BYTES = HC_LIMBS * LIMB_BYTES, /* 32 bands and 64 pixels, as they lie in the panel */
    WEIGHTS = 2 * HC_LIMBS - 1           /* l_a l_b weighs 256^(a + b) */
};

/* ---- layout ---- */

/* Cuts the lower triangle of tiles into groups: squares of four by two blocks, so that a group looks at few
 * blocks of bands. */
static std::vector<HcGramGroup> make_groups(int32_t blocks) {
    std::vector<HcGramGroup> groups;
    HcGramGroup group = {};
    auto slot_of = [&](int32_t block) {
        for (int32_t b = 0; b < group.blocks; b++) {
            if (group.block[b] == block) {
                return b;
            }
        }
        group.block[group.blocks] = (uint16_t)block;
        return group.blocks++;
    };
    auto known = [&](int32_t block) {
        for (int32_t b = 0; b < group.blocks; b++) {
            if (group.block[b] == block) {
                return 1;
            }
        }
        return 0;
    };
    for (int32_t top = 0; top < blocks; top += 4) {
        for (int32_t left = 0; left <= top + 3; left += 2) {
            for (int32_t i = top; i < top + 4 && i < blocks; i++) {
                for (int32_t j = left; j < left + 2 && j <= i; j++) {
                    int32_t added = 2 - known(i) - (i != j ? known(j) : 1);
                    if (group.tiles == HC_GROUP_TILES || group.blocks + added > HC_GROUP_BLOCKS) {
                        groups.push_back(group);
                        group = {};
                    }
                    group.row[group.tiles] = (uint8_t)slot_of(i);
                    group.column[group.tiles] = (uint8_t)slot_of(j);
                    group.tiles++;
                }
            }
        }
    }
    groups.push_back(group);
    return groups;
}

size_t hc_exact_layout(HcSums *sums, char *memory) {
    HcExact *exact = &sums->exact;
    size_t at = 0;
    exact->padded = (int32_t)hc_div_up(sums->bands, HC_TILE_BANDS) * HC_TILE_BANDS;
    exact->groups = (int32_t)make_groups(exact->padded / HC_TILE_BANDS).size();
    exact->sides = (exact->padded / HC_TILE_BANDS + 1) / 2;
    size_t n = (size_t)exact->padded;
    int32_t groups = sums->gpu->hopper ? hc_hopper_groups(exact->padded) : exact->groups;
    exact->parts = sums->gpu->processors > groups ? sums->gpu->processors / groups : 1;
    int64_t most_tiles = (int64_t)exact->parts * HC_PART_TILES;
    exact->panel_tiles =
        (int64_t)(sums->gpu->panel_bytes / ((size_t)exact->sides * HC_SIDE_BYTES * HC_TILE_STEPS));
    exact->panel_tiles = exact->panel_tiles < 1 ? 1 : exact->panel_tiles;
    exact->panel_tiles = exact->panel_tiles > most_tiles ? most_tiles : exact->panel_tiles;
    size_t tiles = (size_t)exact->panel_tiles;
    exact->group = (HcGramGroup *)hc_take(memory, &at, (size_t)exact->groups * sizeof(HcGramGroup));
    exact->panel =
        (int8_t *)hc_take(memory, &at, tiles * HC_TILE_STEPS * (size_t)exact->sides * HC_SIDE_BYTES);
    exact->third = (uint8_t *)hc_take(memory, &at, tiles * (n / HC_TILE_BANDS));
    exact->zeros = (int8_t *)hc_take(memory, &at, LIMB_BYTES);
    exact->product = (int64_t *)hc_take(memory, &at, (size_t)exact->parts * n * n * sizeof(int64_t));
    exact->sum = (int64_t *)hc_take(memory, &at, n * sizeof(int64_t));
    exact->count = (int64_t *)hc_take(memory, &at, sizeof(int64_t));
    exact->low = (uint64_t *)hc_take(memory, &at, n * n * sizeof(uint64_t));
    exact->high = (int64_t *)hc_take(memory, &at, n * n * sizeof(int64_t));
    /* Two limbs hold -32896 to 32639: types of 8 and 16 bits are moved there. */
    exact->offset = sums->limit <= 32768 ? 128 : sums->limit <= 65535 ? 32896 : 0;
    int64_t largest = sums->limit + exact->offset;
    exact->most = ((int64_t)1 << 62) / (largest * largest);
    return at;
}

HcStatus hc_exact_open(HcSums *sums, HcQueue *queue, HcError *err) {
    HcExact *exact = &sums->exact;
    std::vector<HcGramGroup> groups = make_groups(exact->padded / HC_TILE_BANDS);
    HC_OR_RETURN(hc_upload(queue, groups.data(), exact->group, groups.size() * sizeof(HcGramGroup), err));
    HC_OR_RETURN(hc_wait(queue, err)); /* `groups` ends here */
    return HC_OK;
}

/* ---- values to limbs ---- */

/* 9 x - the sum of the neighbourhood, for a run of pixels. The columns of three are summed once for three
 * pixels: sums of integers, and exact. */
__device__ static inline void mean_differences(const HcView &view, int64_t pixel, int32_t band,
                                               float x[SPLIT_RUN]) {
    const int64_t pixels = view.rows * view.samples;
    const int64_t line = (int64_t)view.samples * view.bands;
    const float *from = view.data + (pixel - 1) * view.bands + band;
    float column[SPLIT_RUN + 2];
    float center[SPLIT_RUN + 2];
    if (pixel - 1 >= view.samples && pixel + SPLIT_RUN + view.samples < pixels) {
#pragma unroll
        for (int32_t p = 0; p < SPLIT_RUN + 2; p++) {
            center[p] = from[p * view.bands];
            column[p] = from[p * view.bands - line] + center[p] + from[p * view.bands + line];
        }
    } else {
#pragma unroll
        for (int32_t p = 0; p < SPLIT_RUN + 2; p++) {
            const int64_t at = pixel - 1 + p;
            const bool inside = at >= view.samples && at + view.samples < pixels;
            center[p] = inside ? from[p * view.bands] : 0.0F;
            column[p] = inside ? from[p * view.bands - line] + center[p] + from[p * view.bands + line] : 0.0F;
        }
    }
#pragma unroll
    for (int32_t p = 0; p < SPLIT_RUN; p++) {
        x[p] = 9.0F * center[p + 1] - (column[p] + column[p + 1] + column[p + 2]);
    }
}

/* The values of a run of pixels of one band; those that are not valid may be anything. */
template <HcDifference KIND>
__device__ static inline void values_of(const HcView &view, int64_t pixel, int32_t band, const uint8_t *valid,
                                        float x[SPLIT_RUN]) {
    if constexpr (KIND == HC_DIFFERENCE_MEAN3X3) {
        mean_differences(view, pixel, band, x);
    } else {
#pragma unroll
        for (int32_t p = 0; p < SPLIT_RUN; p++) {
            x[p] = valid[p] != 0 ? hc_difference_of<float>(view, KIND, pixel + p, band) : 0.0F;
        }
    }
}

/* The three limbs of a value in the bytes of a word: v + 128 (1 + 256 + 65536) has the bytes limb + 128. */
__device__ static inline uint32_t limbs_of(int32_t value) {
    return ((uint32_t)value + 0x808080U) ^ 0x808080U;
}

/* Tile (x, y) of 128 pixels and 32 bands: a lane a band, a warp 16 pixels. */
template <HcDifference KIND>
__global__ void __launch_bounds__(SPLIT_THREADS, 4)
    split(HcGramJob job, int64_t first, int64_t limit, HcExact exact, HcFault *fault) {
    __shared__ uint32_t words[HC_LIMBS][HC_TILE_BANDS][TILE_WORDS + 1];
    __shared__ int32_t sums[SPLIT_THREADS / 32][32];
    __shared__ uint8_t valid[HC_TILE_PIXELS];
    const float integer = 12582912.0F; /* 1.5 * 2^23: adding it leaves the integer in the low bits */
    const int64_t tile = blockIdx.x;
    const int64_t samples = job.in.samples;
    const int64_t pixel0 = first + tile * HC_TILE_PIXELS;
    const int32_t warp = threadIdx.x / 32;
    const int32_t lane = threadIdx.x % 32;
    const int32_t band = blockIdx.y * HC_TILE_BANDS + lane;
    bool ok = false;
    if (threadIdx.x < HC_TILE_PIXELS) {
        int64_t pixel = pixel0 + threadIdx.x;
        ok = pixel < job.rows * samples &&
             hc_difference_valid(job.in, KIND, job.first_row + pixel / samples, pixel % samples, job.top,
                                 job.bottom, job.left, job.right);
        valid[threadIdx.x] = ok;
    }
    int32_t count = __syncthreads_count(ok);
    if (blockIdx.y == 0 && threadIdx.x == 0 && count > 0) {
        atomicAdd((unsigned long long *)exact.count, (unsigned long long)count);
    }

    int32_t sum = 0;
    uint32_t seen = 0;
    if (band < job.in.bands) {
        const uint8_t *used = valid + warp * SPLIT_RUN;
        float x[SPLIT_RUN];
        uint32_t limbs[SPLIT_RUN];
        float wrong = 0;
        bool is_wrong = false;
        values_of<KIND>(job.in, job.first_row * samples + pixel0 + warp * SPLIT_RUN, band, used, x);
#pragma unroll
        for (int32_t p = 0; p < SPLIT_RUN; p++) {
            const float moved = x[p] + integer;
            int32_t v = 0;
            if (used[p] != 0) {
                v = __float_as_int(moved) - __float_as_int(integer) - (int32_t)exact.offset;
                if (!(fabsf(x[p]) <= (float)limit) || moved - integer != x[p]) {
                    is_wrong = true;
                    wrong = x[p];
                }
            }
            sum += v;
            limbs[p] = limbs_of(v);
            seen |= limbs[p];
        }
        if (is_wrong) {
            hc_raise(fault, HC_E_NUMERIC, HC_FAULT_PROMISE, (double)wrong, limit);
        }
#pragma unroll
        for (int32_t word = 0; word < SPLIT_RUN / 4; word++) {
            /* bytes of four pixels: 0 1 of both pairs, then 2 */
            const uint32_t *l = limbs + 4 * word;
            uint32_t early = __byte_perm(l[0], l[1], 0x5140);
            uint32_t late = __byte_perm(l[2], l[3], 0x5140);
            const int32_t at = warp * (SPLIT_RUN / 4) + word;
            words[0][lane][at] = __byte_perm(early, late, 0x5410);
            words[1][lane][at] = __byte_perm(early, late, 0x7632);
            words[2][lane][at] =
                __byte_perm(__byte_perm(l[0], l[1], 0x0062), __byte_perm(l[2], l[3], 0x0062), 0x5410);
        }
    } else {
        for (int32_t word = 0; word < SPLIT_RUN / 4; word++) {
            for (int32_t limb = 0; limb < HC_LIMBS; limb++) {
                words[limb][lane][warp * (SPLIT_RUN / 4) + word] = 0;
            }
        }
    }
    sums[warp][lane] = sum;
    const bool third = __syncthreads_or((seen & 0xFF0000U) != 0) != 0;
    if (threadIdx.x == 0) {
        exact.third[tile * gridDim.y + blockIdx.y] = third;
    }
    if (warp == 0) {
        int64_t total = 0;
        for (int32_t w = 0; w < SPLIT_THREADS / 32; w++) {
            total += sums[w][lane];
        }
        if (total != 0) {
            atomicAdd((unsigned long long *)&exact.sum[band], (unsigned long long)total);
        }
    }
    /* The third limb is not written where it is 0 throughout: nobody reads it there. */
    const int32_t limbs_used = third ? HC_LIMBS : HC_LIMBS - 1;
    const int32_t row = threadIdx.x / 8;
    const int32_t chunk = threadIdx.x % 8; /* of 16 bytes, over both steps */
    for (int32_t limb = 0; limb < limbs_used; limb++) {
        const uint32_t *from = &words[limb][row][chunk * 4];
        int8_t *to = exact.panel + hc_panel_at(exact, tile * HC_TILE_STEPS + chunk / 4, (int32_t)blockIdx.y) +
                     limb * HC_SIDE_LIMB_BYTES + hc_swizzled(row, chunk % 4);
        *(uint4 *)to = make_uint4(from[0], from[1], from[2], from[3]);
    }
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

/* One step of a warp's tile: 64 pixels, LIMBS limbs. */
template <int LIMBS>
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
            for (int32_t m = 0; m < 2; m++) {
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
                hc_load_matrices(b[limb],
                                 columns + limb * LIMB_BYTES +
                                     hc_swizzled(n * 16 + part / 2 * 8 + in_part, half * 2 + part % 2));
            }
#pragma unroll
            for (int32_t first = 0; first < LIMBS; first++) {
#pragma unroll
                for (int32_t second = 0; second < LIMBS; second++) {
#pragma unroll
                    for (int32_t m = 0; m < 2; m++) {
                        multiply(acc[first + second][m][n * 2], a[first][m], b[second]);
                        multiply(acc[first + second][m][n * 2 + 1], a[first][m], b[second] + 2);
                    }
                }
            }
        }
    }
}

/* What a thread block knows of its part of the panel. */
struct HcPart {
    HcGramGroup group;
    uint8_t third[HC_PART_TILES][HC_GROUP_BLOCKS]; /* of tiles and blocks: whether there is a third limb */
    uint8_t limbs[HC_PART_TILES];                  /* that the tile needs */
};

__device__ static inline void look_at_part(const HcExact &exact, int64_t tile0, int64_t tiles, HcPart *part) {
    const int64_t blocks = exact.padded / HC_TILE_BANDS;
    if (threadIdx.x < sizeof(HcGramGroup) / 4) {
        ((uint32_t *)&part->group)[threadIdx.x] = ((const uint32_t *)&exact.group[blockIdx.x])[threadIdx.x];
    }
    __syncthreads();
    for (int32_t t = threadIdx.x; t < tiles; t += GROUP_THREADS) {
        bool any = false;
        for (int32_t slot = 0; slot < part->group.blocks; slot++) {
            bool third = exact.third[(tile0 + t) * blocks + part->group.block[slot]] != 0;
            part->third[t][slot] = third;
            any = any || third;
        }
        part->limbs[t] = any ? HC_LIMBS : HC_LIMBS - 1;
    }
    __syncthreads();
}

/* Copies the limbs of one step of all blocks of a group: [block][limb][band][pixel]. */
__device__ static inline void load_step(const HcExact &exact, const HcPart &part, int64_t step, int64_t tile0,
                                        int8_t *to) {
    const int32_t tile = (int32_t)(step / HC_TILE_STEPS - tile0);
    const int32_t at = threadIdx.x * 16; /* 256 threads bring two limbs */
    const int32_t from = at / LIMB_BYTES * HC_SIDE_LIMB_BYTES + at % LIMB_BYTES;
    const bool third = part.limbs[tile] == HC_LIMBS && at < LIMB_BYTES;
#pragma unroll
    for (int32_t slot = 0; slot < HC_GROUP_BLOCKS; slot++) {
        if (slot < part.group.blocks) {
            const int8_t *block = exact.panel + hc_panel_at(exact, step, part.group.block[slot]);
            hc_copy_16(to + slot * BLOCK_BYTES + at, block + from);
            if (third) {
                hc_copy_16(to + slot * BLOCK_BYTES + 2 * LIMB_BYTES + at,
                           part.third[tile][slot] != 0 ? block + 2 * HC_SIDE_LIMB_BYTES + at
                                                       : exact.zeros + at);
            }
        }
    }
}

/* Thread block (group, part): the products of a group of tiles over a part of the pixels of the panel. */
template <int STAGES>
__global__ void __launch_bounds__(GROUP_THREADS, 1)
    multiply_limbs(HcExact exact, int64_t tiles, int64_t tiles_each) {
    extern __shared__ __align__(128) int8_t shared[];
    __shared__ HcPart part;
    const int32_t warp = threadIdx.x / 32;
    const int32_t lane = threadIdx.x % 32;
    const int64_t tile0 = blockIdx.y * tiles_each;
    const int64_t part_tiles = tiles - tile0 < tiles_each ? tiles - tile0 : tiles_each;
    look_at_part(exact, tile0, part_tiles, &part);
    const HcGramGroup &group = part.group;
    const int32_t steps = (int32_t)part_tiles * HC_TILE_STEPS;
    const int32_t stage_bytes = group.blocks * BLOCK_BYTES;
    auto load = [&](int32_t step) {
        if (step < steps) {
            load_step(exact, part, tile0 * HC_TILE_STEPS + step, tile0, shared + step % STAGES * stage_bytes);
        }
        hc_copies_end();
    };
    int32_t acc[WEIGHTS][2][4][4] = {};
#pragma unroll
    for (int32_t s = 0; s < STAGES - 1; s++) {
        load(s);
    }
    const bool works = warp < group.tiles;
    const int32_t row_at = works ? group.row[warp] * BLOCK_BYTES : 0;
    const int32_t column_at = works ? group.column[warp] * BLOCK_BYTES : 0;
    for (int32_t step = 0; step < steps; step++) {
        if (STAGES == 1) {
            __syncthreads();
            load(step);
        }
        hc_copies_wait<STAGES == 1 ? 0 : STAGES - 2>();
        __syncthreads();
        if (STAGES > 1) {
            load(step + STAGES - 1);
        }
        const int8_t *stage = shared + step % STAGES * stage_bytes;
        if (works && part.limbs[step / HC_TILE_STEPS] == HC_LIMBS) {
            multiply_step<HC_LIMBS>(stage + row_at, stage + column_at, lane, acc);
        } else if (works) {
            multiply_step<HC_LIMBS - 1>(stage + row_at, stage + column_at, lane, acc);
        }
    }
    if (!works) {
        return;
    }
    const int64_t row0 = (int64_t)group.block[group.row[warp]] * HC_TILE_BANDS + lane / 4;
    const int64_t column0 = (int64_t)group.block[group.column[warp]] * HC_TILE_BANDS + lane % 4 * 2;
#pragma unroll
    for (int32_t m = 0; m < 2; m++) {
#pragma unroll
        for (int32_t n = 0; n < 4; n++) {
            int64_t *at[2];
            longlong2 added[2];
#pragma unroll
            for (int32_t half = 0; half < 2; half++) {
                at[half] = hc_product_at(exact, blockIdx.y, row0 + m * 16 + half * 8, column0 + n * 8);
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

/* 64-bit sums into 128-bit ones. */
__global__ void widen(HcExact exact) {
    int64_t count = (int64_t)exact.padded * exact.padded;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < count;
         i += (int64_t)gridDim.x * blockDim.x) {
        int64_t value = 0;
        for (int32_t part = 0; part < exact.parts; part++) {
            value += exact.product[part * count + i];
            exact.product[part * count + i] = 0;
        }
        uint64_t low = exact.low[i] + (uint64_t)value;
        exact.high[i] += (value < 0 ? -1 : 0) + (low < (uint64_t)value ? 1 : 0);
        exact.low[i] = low;
    }
}

/* ---- the operation ---- */

/* Into the panel, behind what is there. */
static HcStatus launch_split(HcQueue *queue, const HcGramJob *job, int64_t first, int64_t tiles, HcSums *sums,
                             HcError *err) {
    HcExact to = sums->exact;
    int64_t blocks = to.padded / HC_TILE_BANDS;
    dim3 grid((unsigned)tiles, (unsigned)blocks);
    HcFault *fault = queue->fault_device;
    to.panel += to.filled * HC_TILE_STEPS * to.sides * HC_SIDE_BYTES;
    to.third += to.filled * blocks;
    switch (job->kind) {
    case HC_DIFFERENCE_NONE:
        split<HC_DIFFERENCE_NONE>
            <<<grid, SPLIT_THREADS, 0, queue->stream>>>(*job, first, sums->limit, to, fault);
        break;
    case HC_DIFFERENCE_MEAN3X3:
        split<HC_DIFFERENCE_MEAN3X3>
            <<<grid, SPLIT_THREADS, 0, queue->stream>>>(*job, first, sums->limit, to, fault);
        break;
    case HC_DIFFERENCE_MEDIAN3X3:
        split<HC_DIFFERENCE_MEDIAN3X3>
            <<<grid, SPLIT_THREADS, 0, queue->stream>>>(*job, first, sums->limit, to, fault);
        break;
    case HC_DIFFERENCE_SHIFT:
        split<HC_DIFFERENCE_SHIFT>
            <<<grid, SPLIT_THREADS, 0, queue->stream>>>(*job, first, sums->limit, to, fault);
        break;
    case HC_DIFFERENCE_SHIFT_DIAGONAL:
        split<HC_DIFFERENCE_SHIFT_DIAGONAL>
            <<<grid, SPLIT_THREADS, 0, queue->stream>>>(*job, first, sums->limit, to, fault);
        break;
    }
    return hc_gpu_launched("taking values apart", err);
}

cudaError_t hc_exact_kernels(void) {
    cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, widen);
}

template <int STAGES>
static HcStatus launch_stages(HcQueue *queue, const HcExact *exact, int64_t tiles, size_t stage,
                              HcError *err) {
    int64_t each = hc_div_up(tiles, exact->parts);
    dim3 grid((unsigned)exact->groups, (unsigned)hc_div_up(tiles, each));
    HC_OR_RETURN(
        hc_gpu_check(cudaFuncSetAttribute(multiply_limbs<STAGES>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                          (int)(stage * STAGES)),
                     "asking for shared memory", err));
    multiply_limbs<STAGES><<<grid, GROUP_THREADS, stage * STAGES, queue->stream>>>(*exact, tiles, each);
    return hc_gpu_launched("multiplying", err);
}

static HcStatus launch_products(HcQueue *queue, const HcExact *exact, HcError *err) {
    int64_t tiles = exact->filled;
    if (queue->gpu->hopper) {
        return hc_hopper_products(queue, exact, tiles, err);
    }
    int32_t blocks = exact->padded / HC_TILE_BANDS;
    blocks = blocks < HC_GROUP_BLOCKS ? blocks : HC_GROUP_BLOCKS;
    size_t stage = (size_t)blocks * BLOCK_BYTES;
    size_t spare = (sizeof(HcPart) + 127) / 128 * 128; /* the kernel's own */
    if (queue->gpu->major >= 8 && 3 * stage + spare <= queue->gpu->shared_memory) {
        return launch_stages<3>(queue, exact, tiles, stage, err);
    }
    if (queue->gpu->major >= 8 && 2 * stage + spare <= queue->gpu->shared_memory) {
        return launch_stages<2>(queue, exact, tiles, stage, err);
    }
    return launch_stages<1>(queue, exact, tiles, stage, err);
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

HcStatus hc_exact_gram(HcQueue *queue, const HcGramJob *job, HcSums *sums, HcError *err) {
    HcExact *exact = &sums->exact;
    int64_t tiles = hc_div_up(job->rows * job->in.samples, HC_TILE_PIXELS);
    for (int64_t tile = 0; tile < tiles;) {
        if (exact->filled == exact->panel_tiles) {
            HC_OR_RETURN(empty_panel(queue, exact, err));
        }
        int64_t room = exact->panel_tiles - exact->filled;
        int64_t count = tiles - tile < room ? tiles - tile : room;
        if (exact->pixels + count * HC_TILE_PIXELS > exact->most) {
            HC_OR_RETURN(fold(queue, exact, err));
        }
        HC_OR_RETURN(launch_split(queue, job, tile * HC_TILE_PIXELS, count, sums, err));
        exact->pixels += count * HC_TILE_PIXELS;
        exact->filled += count;
        tile += count;
    }
    return HC_OK;
}

/* Takes the offset back: sums of x = v + offset from those of v. */
static void restore(const HcSums *sums, const uint64_t *low, const int64_t *high, const int64_t *sum,
                    int64_t count, HcMoments *out) {
    size_t n = (size_t)sums->bands;
    size_t padded = (size_t)sums->exact.padded;
    HcWide offset = sums->exact.offset;
    HcWide square = offset * offset * count;
    out->count = count;
    for (size_t i = 0; i < n; i++) {
        out->sum[i] = sum[i] + offset * count;
        for (size_t j = 0; j <= i; j++) {
            HcWide product = ((HcWide)high[i * padded + j] << 64) + (HcWide)low[i * padded + j];
            product += offset * ((HcWide)sum[i] + sum[j]) + square;
            out->product[i * n + j] = out->product[j * n + i] = product;
        }
    }
}

HcStatus hc_exact_fetch(HcQueue *queue, HcSums *sums, HcMoments *out, HcError *err) {
    HcStatus status = HC_OK;
    const HcExact *exact = &sums->exact;
    HcCompute *compute = &sums->gpu->base;
    size_t n = (size_t)exact->padded;
    HcBuffer pinned = {};
    uint64_t *low = NULL;
    int64_t *high = NULL;
    int64_t *sum = NULL;
    HC_TRY(hc_gpu_alloc(compute, HC_MEMORY_HOST, (2 * n * n + n + 1) * sizeof *low, &pinned, err));
    low = (uint64_t *)pinned.data;
    high = (int64_t *)(low + n * n);
    sum = high + n * n;
    HC_TRY(fold(queue, &sums->exact, err));
    HC_TRY(hc_download(queue, exact->low, low, n * n * sizeof *low, err));
    HC_TRY(hc_download(queue, exact->high, high, n * n * sizeof *high, err));
    HC_TRY(hc_download(queue, exact->sum, sum, n * sizeof *sum, err));
    HC_TRY(hc_download(queue, exact->count, sum + n, sizeof *sum, err));
    HC_TRY(hc_wait(queue, err));
    restore(sums, low, high, sum, sum[n], out);
done:
    hc_gpu_release(compute, &pinned);
    return status;
}
