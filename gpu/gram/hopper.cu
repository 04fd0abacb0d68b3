/* Products of limbs on Hopper's matrix units (wgmma), which take factors from shared memory: the same
 * sums as multiply_limbs() of gram_limbs.cu. Needs code for compute capability 9.0a. */
#include "gpu/gram/gram.cuh"
#include "gpu/shared.cuh"

enum {
    SIDE = 64, /* bands of a tile of products */
    LIMB_BYTES = HC_SIDE_LIMB_BYTES,
    STAGES = 4,
    MOST_BLOCKS = 3, /* of 64 bands, that a thread block looks at */
    GROUPS = 2,      /* warp groups that multiply, a tile each */
    THREADS = 128 * GROUPS,
    SUMS = SIDE * SIDE / 128, /* of a tile, in each thread */
    WEIGHTS = 2 * HC_LIMBS - 1
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
__device__ int hc_has_wgmma = 1;
#else
__device__ int hc_has_wgmma = 0;
#endif

/* The two tiles of a thread block, in the lower triangle taken row by row. */
struct Tiles {
    int32_t count, blocks;
    int32_t block[MOST_BLOCKS];
    int32_t row[GROUPS], column[GROUPS]; /* places in `block` */
};

struct Shared {
    Tiles tiles;
    uint8_t limbs[HC_PART_TILES];                  /* that a tile of pixels needs */
    uint8_t third[HC_PART_TILES][2 * MOST_BLOCKS]; /* whether 32 bands have a third one there */
    alignas(8) uint64_t full[STAGES], empty[STAGES];
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

__device__ static inline int32_t place_of(Tiles *tiles, int32_t block) {
    for (int32_t b = 0; b < tiles->blocks; b++) {
        if (tiles->block[b] == block) {
            return b;
        }
    }
    tiles->block[tiles->blocks] = block;
    return tiles->blocks++;
}

__device__ static inline Tiles tiles_of(int32_t group, int32_t all) {
    Tiles tiles = {};
    for (int32_t t = group * GROUPS; t < all && t < (group + 1) * GROUPS; t++) {
        int32_t row = 0;
        while ((row + 1) * (row + 2) / 2 <= t) {
            row++;
        }
        tiles.row[tiles.count] = place_of(&tiles, row);
        tiles.column[tiles.count] = place_of(&tiles, t - row * (row + 1) / 2);
        tiles.count++;
    }
    return tiles;
}

__device__ static inline uint32_t address_of(const void *shared) {
    return (uint32_t)__cvta_generic_to_shared(shared);
}

__device__ static inline void barrier_open(uint64_t *barrier, uint32_t arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address_of(barrier)), "r"(arrivals));
}

__device__ static inline void barrier_arrive(uint64_t *barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address_of(barrier)) : "memory");
}

__device__ static inline void barrier_expect(uint64_t *barrier, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address_of(barrier)),
                 "r"(bytes)
                 : "memory");
}

__device__ static inline void barrier_wait(uint64_t *barrier, uint32_t phase) {
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n"
                 "}" ::"r"(address_of(barrier)),
                 "r"(phase)
                 : "memory");
}

__device__ static inline void copy_bulk(void *to, const void *from, uint32_t bytes, uint64_t *barrier) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
            address_of(to)),
        "l"(from), "r"(bytes), "r"(address_of(barrier))
        : "memory");
}

/* A matrix of rows of 64 bytes, their 16-byte parts moved about in groups of eight rows (gram.cuh,
 * hc_swizzled()): address, distance of the groups, the kind of moving. */
__device__ static inline uint64_t matrix_at(const int8_t *shared) {
    const uint64_t groups = 8 * HC_STEP_PIXELS;
    return (uint64_t)((address_of(shared) & 0x3FFFF) >> 4) | (uint64_t)1 << 16 | groups >> 4 << 32 |
           (uint64_t)2 << 62;
}

/* sum[64][64] += a[64][32] b[64][32]' in 8-bit integers, by four warps that hold 16 rows of a each; finished
 * after products_wait(). */
__device__ static inline void multiply(int32_t sum[SUMS], const uint32_t a[4], uint64_t b) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8 "
        "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
        "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, {%32,%33,%34,%35}, %36, 1;"
        : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3]), "+r"(sum[4]), "+r"(sum[5]), "+r"(sum[6]),
          "+r"(sum[7]), "+r"(sum[8]), "+r"(sum[9]), "+r"(sum[10]), "+r"(sum[11]), "+r"(sum[12]),
          "+r"(sum[13]), "+r"(sum[14]), "+r"(sum[15]), "+r"(sum[16]), "+r"(sum[17]), "+r"(sum[18]),
          "+r"(sum[19]), "+r"(sum[20]), "+r"(sum[21]), "+r"(sum[22]), "+r"(sum[23]), "+r"(sum[24]),
          "+r"(sum[25]), "+r"(sum[26]), "+r"(sum[27]), "+r"(sum[28]), "+r"(sum[29]), "+r"(sum[30]),
          "+r"(sum[31])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

__device__ static inline void products_begin(int32_t acc[WEIGHTS][SUMS]) {
#pragma unroll
    for (int32_t w = 0; w < WEIGHTS; w++) {
#pragma unroll
        for (int32_t i = 0; i < SUMS; i++) {
            asm volatile("" : "+r"(acc[w][i])::"memory");
        }
    }
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ static inline void products_wait(int32_t acc[WEIGHTS][SUMS]) {
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
    for (int32_t w = 0; w < WEIGHTS; w++) {
#pragma unroll
        for (int32_t i = 0; i < SUMS; i++) {
            asm volatile("" : "+r"(acc[w][i])::"memory");
        }
    }
}

/* The rows come from registers: two factors in shared memory would take its whole bandwidth. */
template <int LIMBS>
__device__ static inline void multiply_step(const int8_t *rows, const int8_t *columns,
                                            int32_t acc[WEIGHTS][SUMS]) {
    const uint64_t limb_at = LIMB_BYTES >> 4;
    const uint64_t half_at = 32 >> 4; /* 32 pixels further in the same rows */
    const uint64_t matrix = matrix_at(columns);
    const int32_t lane = threadIdx.x % 32;
    const int32_t row = threadIdx.x / 32 % 4 * 16 + lane % 16;
    uint32_t a[HC_STEP_PIXELS / 32][LIMBS][4];
#pragma unroll
    for (int32_t k = 0; k < HC_STEP_PIXELS / 32; k++) {
#pragma unroll
        for (int32_t limb = 0; limb < LIMBS; limb++) {
            hc_load_matrices(a[k][limb], rows + limb * LIMB_BYTES + hc_swizzled(row, k * 2 + lane / 16));
        }
    }
    products_begin(acc);
#pragma unroll
    for (int32_t k = 0; k < HC_STEP_PIXELS / 32; k++) {
#pragma unroll
        for (int32_t first = 0; first < LIMBS; first++) {
#pragma unroll
            for (int32_t second = 0; second < LIMBS; second++) {
                multiply(acc[first + second], a[k][first], matrix + second * limb_at + k * half_at);
            }
        }
    }
    products_wait(acc);
}

/* One thread brings the limbs of a step, once its stage is free. */
__device__ static inline void bring(const HcExact &exact, int64_t step0, int32_t step, Shared *known,
                                    int8_t *stages) {
    const int32_t stage = step % STAGES;
    const uint8_t *third = known->third[step / HC_TILE_STEPS];
    const bool all_limbs = known->limbs[step / HC_TILE_STEPS] == HC_LIMBS;
    const uint32_t bytes = all_limbs ? HC_SIDE_BYTES : 2 * LIMB_BYTES;
    uint64_t *full = &known->full[stage];
    barrier_wait(&known->empty[stage], step / STAGES % 2 ^ 1);
    barrier_expect(full, (uint32_t)known->tiles.blocks * bytes);
    for (int32_t place = 0; place < known->tiles.blocks; place++) {
        const int8_t *from = exact.panel + hc_panel_at(exact, step0 + step, known->tiles.block[place] * 2);
        int8_t *to = stages + (stage * MOST_BLOCKS + place) * HC_SIDE_BYTES;
        const bool whole = third[2 * place] != 0 && third[2 * place + 1] != 0;
        copy_bulk(to, from, whole ? bytes : 2 * LIMB_BYTES, full);
        for (int32_t half = 0; half < 2 && all_limbs && !whole; half++) {
            const int32_t at = 2 * LIMB_BYTES + half * (LIMB_BYTES / 2);
            copy_bulk(to + at, third[2 * place + half] != 0 ? from + at : exact.zeros, LIMB_BYTES / 2, full);
        }
    }
}

__device__ static inline void add_tile(const HcExact &exact, const Tiles &tiles, int32_t which,
                                       int32_t acc[WEIGHTS][SUMS]) {
    const int32_t lane = threadIdx.x % 32;
    const int64_t row0 = (int64_t)tiles.block[tiles.row[which]] * SIDE + threadIdx.x / 32 % 4 * 16 + lane / 4;
    const int64_t column0 = (int64_t)tiles.block[tiles.column[which]] * SIDE + lane % 4 * 2;
    const int32_t part = (int32_t)blockIdx.y;
#pragma unroll
    for (int32_t i = 0; i < SUMS; i += 8) { /* four pairs: two rows, two places in each */
        int64_t *at[4];
        longlong2 added[4];
#pragma unroll
        for (int32_t k = 0; k < 4; k++) {
            at[k] = hc_product_at(exact, part, row0 + k % 2 * 8, column0 + (i / 4 + k / 2) * 8);
            added[k] = make_longlong2(0, 0);
#pragma unroll
            for (int32_t w = WEIGHTS - 1; w >= 0; w--) {
                added[k].x = added[k].x * 256 + acc[w][i + 2 * k];
                added[k].y = added[k].y * 256 + acc[w][i + 2 * k + 1];
            }
        }
        /* The last 32 bands of a tile may not be there: rows and columns by 16. */
        if (row0 < exact.padded && column0 + i / 4 * 8 < exact.padded) {
            hc_add_pairs<4>(at, added);
        }
    }
}

__device__ static inline void look_around(const HcExact &exact, int64_t tile0, int32_t count, Shared *known) {
    const int32_t blocks = exact.padded / HC_TILE_BANDS;
    if (threadIdx.x == 0) {
        known->tiles = tiles_of((int32_t)blockIdx.x, exact.sides * (exact.sides + 1) / 2);
        for (int32_t s = 0; s < STAGES; s++) {
            barrier_open(&known->full[s], 1);
            barrier_open(&known->empty[s], THREADS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    for (int32_t t = threadIdx.x; t < count; t += THREADS) {
        bool any = false;
        for (int32_t half = 0; half < 2 * known->tiles.blocks; half++) {
            const int32_t block = known->tiles.block[half / 2] * 2 + half % 2;
            const bool there = block < blocks; /* elsewhere the panel is 0 */
            const bool third = there && exact.third[(tile0 + t) * blocks + block] != 0;
            known->third[t][half] = third || !there;
            any = any || third;
        }
        known->limbs[t] = any ? HC_LIMBS : HC_LIMBS - 1;
    }
    __syncthreads();
}

#endif

/* Thread block (pair of tiles, part): two tiles of products over a part of the pixels of the panel. */
__global__ void __launch_bounds__(THREADS, 1)
    multiply_hopper(HcExact exact, int64_t tiles, int64_t tiles_each) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ __align__(1024) int8_t stages[];
    __shared__ Shared known;
    const int64_t tile0 = blockIdx.y * tiles_each;
    const int32_t count = (int32_t)(tiles - tile0 < tiles_each ? tiles - tile0 : tiles_each);
    const int32_t steps = count * HC_TILE_STEPS;
    look_around(exact, tile0, count, &known);
    const int32_t which = threadIdx.x / 128;
    const bool brings = threadIdx.x == 0;
    const bool works = which < known.tiles.count;
    for (int32_t step = 0; brings && step < STAGES && step < steps; step++) {
        bring(exact, tile0 * HC_TILE_STEPS, step, &known, stages);
    }
    int32_t acc[WEIGHTS][SUMS] = {};
    for (int32_t step = 0; step < steps; step++) {
        const int32_t stage = step % STAGES;
        const int32_t next = step - 1 + STAGES; /* takes the place of the step before */
        if (brings && step > 0 && next < steps) {
            bring(exact, tile0 * HC_TILE_STEPS, next, &known, stages);
        }
        __syncwarp();
        const int8_t *at = stages + stage * MOST_BLOCKS * HC_SIDE_BYTES;
        barrier_wait(&known.full[stage], step / STAGES % 2);
        if (works) {
            const int8_t *rows = at + known.tiles.row[which] * HC_SIDE_BYTES;
            const int8_t *columns = at + known.tiles.column[which] * HC_SIDE_BYTES;
            if (known.limbs[step / HC_TILE_STEPS] == HC_LIMBS) {
                multiply_step<HC_LIMBS>(rows, columns, acc);
            } else {
                multiply_step<HC_LIMBS - 1>(rows, columns, acc);
            }
        }
        barrier_arrive(&known.empty[stage]);
    }
    if (works) {
        add_tile(exact, known.tiles, which, acc);
    }
#else
    (void)exact, (void)tiles, (void)tiles_each;
#endif
}

bool hc_hopper_can(const HcGpu *gpu) {
    int can = 0;
    if (gpu->major != 9 || cudaMemcpyFromSymbol(&can, hc_has_wgmma, sizeof can) != cudaSuccess) {
        (void)cudaGetLastError();
        return false;
    }
    return can != 0;
}

int32_t hc_hopper_groups(int32_t padded) {
    int32_t sides = (padded + SIDE - 1) / SIDE;
    return (int32_t)hc_div_up(sides * (sides + 1) / 2, GROUPS);
}

HcStatus hc_hopper_products(HcQueue *queue, const HcExact *exact, int64_t tiles, HcError *err) {
    const size_t shared = (size_t)STAGES * MOST_BLOCKS * HC_SIDE_BYTES;
    int64_t each = hc_div_up(tiles, exact->parts);
    dim3 grid((unsigned)hc_hopper_groups(exact->padded), (unsigned)hc_div_up(tiles, each));
    HC_OR_RETURN(hc_gpu_check(
        cudaFuncSetAttribute(multiply_hopper, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared),
        "asking for shared memory", err));
    multiply_hopper<<<grid, THREADS, shared, queue->stream>>>(*exact, tiles, each);
    return hc_gpu_launched("multiplying", err);
}
