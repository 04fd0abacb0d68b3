/* Products of limbs on Hopper's matrix units (wgmma), which take factors from shared memory: the same
 * sums as multiply_limbs() of limbs.cu. Needs code for compute capability 9.0a.
 *
 * A thread block has two groups of warps. For integers each sums a tile of its own. Nine sums of a tile, one
 * for each weight of a grid's products, do not fit a thread: there both groups sum the same tile, one the low
 * weights and one the high ones, and the panel is read once. */
#include "gpu/gram/gram.cuh"
#include "gpu/shared.cuh"

enum {
    SIDE = 64, /* bands of a tile of products */
    LIMB_BYTES = HC_SIDE_LIMB_BYTES,
    GROUPS = 2, /* warp groups that multiply */
    THREADS = 128 * GROUPS,
    SUMS = SIDE * SIDE / 128 /* of a tile and a weight, in each thread */
};

/* tiles: that a thread block sums; blocks: of 64 bands, that it looks at, at most; halves: into which weights
 * are cut. */
struct Integers {
    enum { LIMBS = HC_LIMBS_INTEGERS, TILES = GROUPS, BLOCKS = 3, HALVES = 1, STAGES = 4 };
};

struct Grid {
    enum { LIMBS = HC_LIMBS_GRID, TILES = 1, BLOCKS = 2, HALVES = GROUPS, STAGES = 5 };
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
__device__ int hc_has_wgmma = 1;
#else
__device__ int hc_has_wgmma = 0;
#endif

/* The tiles of a thread block, in the lower triangle taken row by row. */
struct Tiles {
    int32_t count, blocks;
    int32_t block[Integers::BLOCKS];
    int32_t row[GROUPS], column[GROUPS]; /* places in `block` */
};

template <class Form> struct Shared {
    Tiles tiles;
    uint8_t limbs[HC_PART_TILES];                   /* that a tile of pixels needs */
    uint8_t needs[HC_PART_TILES][2 * Form::BLOCKS]; /* limbs that 32 bands have there */
    alignas(8) uint64_t full[Form::STAGES], empty[Form::STAGES];
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

template <class Form> __device__ static inline Tiles tiles_of(int32_t group, int32_t all) {
    Tiles tiles = {};
    for (int32_t t = group * Form::TILES; t < all && t < (group + 1) * Form::TILES; t++) {
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

template <int WEIGHTS> __device__ static inline void products_begin(int32_t acc[WEIGHTS][SUMS]) {
#pragma unroll
    for (int32_t w = 0; w < WEIGHTS; w++) {
#pragma unroll
        for (int32_t i = 0; i < SUMS; i++) {
            asm volatile("" : "+r"(acc[w][i])::"memory");
        }
    }
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

template <int WEIGHTS> __device__ static inline void products_wait(int32_t acc[WEIGHTS][SUMS]) {
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
    for (int32_t w = 0; w < WEIGHTS; w++) {
#pragma unroll
        for (int32_t i = 0; i < SUMS; i++) {
            asm volatile("" : "+r"(acc[w][i])::"memory");
        }
    }
}

/* Of products of LIMBS limbs those of WEIGHTS weights from FIRST on. The rows come from registers: two
 * factors in shared memory would take its whole bandwidth. */
template <int LIMBS, int FIRST, int WEIGHTS>
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
            if (limb + LIMBS > FIRST) { /* else all its products are lighter */
                hc_load_matrices(a[k][limb], rows + limb * LIMB_BYTES + hc_swizzled(row, k * 2 + lane / 16));
            }
        }
    }
    products_begin<WEIGHTS>(acc);
#pragma unroll
    for (int32_t k = 0; k < HC_STEP_PIXELS / 32; k++) {
#pragma unroll
        for (int32_t first = 0; first < LIMBS; first++) {
#pragma unroll
            for (int32_t second = 0; second < LIMBS; second++) {
                const int32_t at = first + second - FIRST;
                if (at >= 0 && at < WEIGHTS) {
                    multiply(acc[at], a[k][first], matrix + second * limb_at + k * half_at);
                }
            }
        }
    }
    products_wait<WEIGHTS>(acc);
}

/* One thread brings the limbs of a step, once its stage is free. */
template <class Form>
__device__ static inline void bring(const HcExact &exact, int64_t step0, int32_t step, Shared<Form> *known,
                                    int8_t *stages) {
    const int32_t stage = step % Form::STAGES;
    const uint8_t *needs = known->needs[step / HC_TILE_STEPS];
    const int32_t limbs = known->limbs[step / HC_TILE_STEPS];
    uint64_t *full = &known->full[stage];
    barrier_wait(&known->empty[stage], step / Form::STAGES % 2 ^ 1);
    barrier_expect(full, (uint32_t)(known->tiles.blocks * limbs * LIMB_BYTES));
    for (int32_t place = 0; place < known->tiles.blocks; place++) {
        const int8_t *from =
            exact.panel + hc_panel_at<Form::LIMBS>(exact, step0 + step, known->tiles.block[place] * 2);
        int8_t *to = stages + (stage * Form::BLOCKS + place) * (Form::LIMBS * LIMB_BYTES);
        const int32_t fewest = min((int32_t)min(needs[2 * place], needs[2 * place + 1]), limbs);
        copy_bulk(to, from, (uint32_t)(fewest * LIMB_BYTES), full);
        for (int32_t limb = fewest; limb < limbs; limb++) {
            for (int32_t half = 0; half < 2; half++) {
                const int32_t at = limb * LIMB_BYTES + half * (LIMB_BYTES / 2);
                copy_bulk(to + at, needs[2 * place + half] > limb ? from + at : exact.zeros, LIMB_BYTES / 2,
                          full);
            }
        }
    }
}

template <int WEIGHTS>
__device__ static inline void add_tile(const HcExact &exact, const Tiles &tiles, int32_t which, int64_t plane,
                                       int32_t acc[WEIGHTS][SUMS]) {
    const int32_t lane = threadIdx.x % 32;
    const int64_t row0 = (int64_t)tiles.block[tiles.row[which]] * SIDE + threadIdx.x / 32 % 4 * 16 + lane / 4;
    const int64_t column0 = (int64_t)tiles.block[tiles.column[which]] * SIDE + lane % 4 * 2;
#pragma unroll
    for (int32_t i = 0; i < SUMS; i += 8) { /* four pairs: two rows, two places in each */
        int64_t *at[4];
        longlong2 added[4];
#pragma unroll
        for (int32_t k = 0; k < 4; k++) {
            at[k] = hc_product_at(exact, plane, row0 + k % 2 * 8, column0 + (i / 4 + k / 2) * 8);
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

template <class Form>
__device__ static inline void look_around(const HcExact &exact, int64_t tile0, int32_t count,
                                          Shared<Form> *known) {
    const int32_t blocks = exact.padded / HC_TILE_BANDS;
    if (threadIdx.x == 0) {
        known->tiles = tiles_of<Form>((int32_t)blockIdx.x, exact.sides * (exact.sides + 1) / 2);
        for (int32_t s = 0; s < Form::STAGES; s++) {
            barrier_open(&known->full[s], 1);
            barrier_open(&known->empty[s], THREADS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    for (int32_t t = threadIdx.x; t < count; t += THREADS) {
        uint8_t most = HC_LIMBS_LEAST;
        for (int32_t half = 0; half < 2 * known->tiles.blocks; half++) {
            const int32_t block = known->tiles.block[half / 2] * 2 + half % 2;
            const bool there = block < blocks; /* elsewhere the panel is 0 */
            const uint8_t needs =
                there ? exact.needs[(tile0 + t) * blocks + block] & ~HC_NEEDS_FAR : (uint8_t)Form::LIMBS;
            known->needs[t][half] = needs;
            most = there && needs > most ? needs : most;
        }
        known->limbs[t] = most;
    }
    __syncthreads();
}

/* Limbs that take part in products of WEIGHTS weights from FIRST on, where tiles have so many. */
template <class Form, int FIRST, int WEIGHTS>
__device__ static inline void multiply_limbs(int32_t limbs, const int8_t *rows, const int8_t *columns,
                                             int32_t acc[WEIGHTS][SUMS]) {
    if constexpr (Form::HALVES == 1) {
        if (limbs == HC_LIMBS_INTEGERS) {
            multiply_step<HC_LIMBS_INTEGERS, FIRST, WEIGHTS>(rows, columns, acc);
        } else {
            multiply_step<HC_LIMBS_LEAST, FIRST, WEIGHTS>(rows, columns, acc);
        }
    } else if constexpr (FIRST == 0) { /* the fifth limb has none of these */
        if (limbs >= 4) {
            multiply_step<4, FIRST, WEIGHTS>(rows, columns, acc);
        } else if (limbs == 3) {
            multiply_step<3, FIRST, WEIGHTS>(rows, columns, acc);
        } else {
            multiply_step<2, FIRST, WEIGHTS>(rows, columns, acc);
        }
    } else { /* two limbs have none of these */
        if (limbs == 5) {
            multiply_step<5, FIRST, WEIGHTS>(rows, columns, acc);
        } else if (limbs == 4) {
            multiply_step<4, FIRST, WEIGHTS>(rows, columns, acc);
        } else if (limbs == 3) {
            multiply_step<3, FIRST, WEIGHTS>(rows, columns, acc);
        }
    }
}

/* A warp group's part of the work: products of WEIGHTS weights from FIRST on of one tile. */
template <class Form, int FIRST, int WEIGHTS>
__device__ static inline void sum_steps(const HcExact &exact, int64_t tile0, int32_t steps, int32_t which,
                                        Shared<Form> *known, int8_t *stages) {
    const bool brings = FIRST == 0 && threadIdx.x == 0;
    const bool works = which < known->tiles.count;
    for (int32_t step = 0; brings && step < Form::STAGES && step < steps; step++) {
        bring<Form>(exact, tile0 * HC_TILE_STEPS, step, known, stages);
    }
    int32_t acc[WEIGHTS][SUMS] = {};
    for (int32_t step = 0; step < steps; step++) {
        const int32_t stage = step % Form::STAGES;
        const int32_t next = step - 1 + Form::STAGES; /* takes the place of the step before */
        if (brings && step > 0 && next < steps) {
            bring<Form>(exact, tile0 * HC_TILE_STEPS, next, known, stages);
        }
        __syncwarp();
        const int8_t *at = stages + stage * Form::BLOCKS * (Form::LIMBS * LIMB_BYTES);
        barrier_wait(&known->full[stage], step / Form::STAGES % 2);
        if (works) {
            multiply_limbs<Form, FIRST, WEIGHTS>(
                known->limbs[step / HC_TILE_STEPS], at + known->tiles.row[which] * (Form::LIMBS * LIMB_BYTES),
                at + known->tiles.column[which] * (Form::LIMBS * LIMB_BYTES), acc);
        }
        barrier_arrive(&known->empty[stage]);
    }
    if (works) {
        add_tile<WEIGHTS>(exact, known->tiles, which,
                          (int64_t)blockIdx.y * Form::HALVES + (FIRST > 0 ? 1 : 0), acc);
    }
}

#endif

/* Thread block (tiles of products, part): over a part of the pixels of the panel. */
template <class Form>
__global__ void __launch_bounds__(THREADS, 1)
    multiply_hopper(HcExact exact, int64_t tiles, int64_t tiles_each) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ __align__(1024) int8_t stages[];
    __shared__ Shared<Form> known;
    const int64_t tile0 = blockIdx.y * tiles_each;
    const int32_t count = (int32_t)(tiles - tile0 < tiles_each ? tiles - tile0 : tiles_each);
    const int32_t steps = count * HC_TILE_STEPS;
    look_around<Form>(exact, tile0, count, &known);
    const int32_t which = threadIdx.x / 128;
    if constexpr (Form::HALVES == 1) {
        sum_steps<Form, 0, HC_WEIGHTS_INTEGERS>(exact, tile0, steps, which, &known, stages);
    } else if (which == 0) {
        sum_steps<Form, 0, HC_WEIGHTS_LOW>(exact, tile0, steps, 0, &known, stages);
    } else {
        sum_steps<Form, HC_WEIGHTS_LOW, HC_WEIGHTS_HIGH>(exact, tile0, steps, 0, &known, stages);
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

template <class Form> static int32_t groups_of(int32_t padded) {
    int32_t sides = (padded + SIDE - 1) / SIDE;
    return (int32_t)hc_div_up(sides * (sides + 1) / 2, Form::TILES);
}

int32_t hc_hopper_groups(int32_t padded, int32_t limbs) {
    return limbs == HC_LIMBS_GRID ? groups_of<Grid>(padded) : groups_of<Integers>(padded);
}

template <class Form>
static HcStatus launch(HcQueue *queue, const HcExact *exact, int64_t tiles, HcError *err) {
    const size_t shared = (size_t)Form::STAGES * Form::BLOCKS * (Form::LIMBS * LIMB_BYTES);
    int64_t each = hc_div_up(tiles, exact->parts);
    dim3 grid((unsigned)groups_of<Form>(exact->padded), (unsigned)hc_div_up(tiles, each));
    HC_OR_RETURN(hc_gpu_check(
        cudaFuncSetAttribute(multiply_hopper<Form>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared),
        "asking for shared memory", err));
    multiply_hopper<Form><<<grid, THREADS, shared, queue->stream>>>(*exact, tiles, each);
    return hc_gpu_launched("multiplying", err);
}

HcStatus hc_hopper_products(HcQueue *queue, const HcExact *exact, int64_t tiles, HcError *err) {
    return exact->limbs == HC_LIMBS_GRID ? launch<Grid>(queue, exact, tiles, err)
                                         : launch<Integers>(queue, exact, tiles, err);
}
