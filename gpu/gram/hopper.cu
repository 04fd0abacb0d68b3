/* Products of limbs on Hopper's matrix units (wgmma), which take factors from shared memory: the same
 * sums as multiply_limbs() of limbs.cu. Needs code for compute capability 9.0a.
 *
 * A thread block has two groups of warps that multiply, and warps that bring limbs as long as there is room:
 * were they among those that multiply, these would wait. A warp begins the copies of a step one after
 * another, which takes as long as the products of a grid: there four warps take steps by turns. For integers
 * each sums a tile of its own, 64 bands by 64. Nine sums of a tile, one for each weight of a grid's products,
 * do not fit a thread: there both groups sum the same tile, one the low weights and one the high ones, and
 * the panel is read once. These products take longest, so that no product of two bands is summed twice: a
 * tile is two blocks of 32 bands by two, chosen so that every pair of blocks is in one tile. 224 bands take 7
 * such tiles; cut into neighbours of 64 they would take 10. */
#include "gpu/gram/gram.cuh"
#include "gpu/shared.cuh"

enum {
    SIDE = 64,  /* bands of a tile of products */
    GROUPS = 2, /* warp groups that multiply */
    WORKERS = 128 * GROUPS,
    THREADS = WORKERS + 128,             /* and a group for the warps that bring */
    SUMS = SIDE * SIDE / 128,            /* of a tile and a weight, in each thread */
    BLOCK_BYTES = HC_SIDE_LIMB_BYTES / 2 /* a limb of 32 bands */
};

/* PLACES: in a slot, each for limbs of PLACE_BANDS bands; LIMB_BYTES: from limb to limb there. BRINGERS:
 * warps that bring, no more than slots: else one could overtake those that multiply by two turns, which
 * barriers do not notice. REGISTERS: of a thread that multiplies; at the start all have as many: 168. */
struct Integers {
    enum { LIMBS = HC_LIMBS_INTEGERS, SLOTS = 6, PLACES = 3, PLACE_BANDS = SIDE };
    enum { LIMB_BYTES = HC_SIDE_LIMB_BYTES, SLOT_BYTES = PLACES * LIMBS * LIMB_BYTES };
    enum { BRINGERS = 1, REGISTERS = 240, REGISTERS_BRINGING = 24 };
};

struct Grid {
    enum { LIMBS = HC_LIMBS_GRID, SLOTS = 5, PLACES = 4, PLACE_BANDS = HC_TILE_BANDS };
    enum { LIMB_BYTES = PLACES * BLOCK_BYTES, SLOT_BYTES = LIMBS * LIMB_BYTES };
    enum { BRINGERS = 4, REGISTERS = 232, REGISTERS_BRINGING = 40 };
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
__device__ int hc_has_wgmma = 1;
#else
__device__ int hc_has_wgmma = 0;
#endif

/* The two tiles of a thread block, in the lower triangle taken row by row. */
struct Tiles {
    int32_t count, blocks;
    int32_t block[Integers::PLACES];
    int32_t row[GROUPS], column[GROUPS]; /* places in `block` */
};

template <class Form> struct Shared {
    Tiles tiles;                     /* of integers */
    HcGramSquare square;             /* of a grid */
    uint8_t limbs[HC_PART_TILES];    /* that a tile of pixels needs */
    uint8_t needs[HC_PART_TILES][6]; /* limbs that 32 bands have there */
    alignas(8) uint64_t full[Form::SLOTS], empty[Form::SLOTS];
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

/* A matrix of rows of 64 bytes, their 16-byte parts moved about in groups of eight rows (gram.cuh,
 * hc_swizzled()): address, distance of the groups, the kind of moving. */
__device__ static inline uint64_t matrix_at(const int8_t *shared) {
    const uint64_t groups = 8 * HC_STEP_PIXELS;
    return (uint64_t)((hc_shared_address(shared) & 0x3FFFF) >> 4) | (uint64_t)1 << 16 | groups >> 4 << 32 |
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
template <int LIMBS, int FIRST, int WEIGHTS, int LIMB_BYTES>
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

/* A warp brings the limbs of a step, a lane those of 64 bands, once its slot is free. */
__device__ static inline void bring(const HcExact &exact, int64_t step0, int32_t step,
                                    Shared<Integers> *known, int8_t *slots) {
    const int32_t limb_bytes = Integers::LIMB_BYTES;
    const int32_t slot = step % Integers::SLOTS;
    const int32_t limbs = known->limbs[step / HC_TILE_STEPS];
    const int32_t place = (int32_t)threadIdx.x % 32;
    uint64_t *full = &known->full[slot];
    hc_barrier_wait(&known->empty[slot], step / Integers::SLOTS % 2 ^ 1);
    if (place == 0) {
        hc_barrier_expect(full, (uint32_t)(known->tiles.blocks * limbs * limb_bytes));
    }
    __syncwarp();
    if (place < known->tiles.blocks) {
        const uint8_t *needs = known->needs[step / HC_TILE_STEPS] + 2 * place;
        const int8_t *from =
            exact.panel + hc_panel_at<HC_LIMBS_INTEGERS>(exact, step0 + step, known->tiles.block[place] * 2);
        int8_t *to = slots + slot * Integers::SLOT_BYTES + place * HC_LIMBS_INTEGERS * limb_bytes;
        const int32_t fewest = min((int32_t)min(needs[0], needs[1]), limbs);
        hc_copy_bulk(to, from, (uint32_t)(fewest * limb_bytes), full);
        for (int32_t half = 0; half < 2 && fewest < limbs; half++) {
            const int32_t at = fewest * limb_bytes + half * BLOCK_BYTES;
            hc_copy_bulk(to + at, needs[half] > fewest ? from + at : exact.zeros, BLOCK_BYTES, full);
        }
    }
}

/* A warp brings the limbs of a step, a lane one of 32 bands, once its slot is free. */
__device__ static inline void bring(const HcExact &exact, int64_t step0, int32_t step, Shared<Grid> *known,
                                    int8_t *slots) {
    const int32_t slot = step % Grid::SLOTS;
    const int32_t limbs = known->limbs[step / HC_TILE_STEPS];
    const int32_t lane = (int32_t)threadIdx.x % 32;
    const int32_t place = lane % Grid::PLACES;
    const int32_t limb = lane / Grid::PLACES;
    uint64_t *full = &known->full[slot];
    hc_barrier_wait(&known->empty[slot], step / Grid::SLOTS % 2 ^ 1);
    if (lane == 0) {
        hc_barrier_expect(full, (uint32_t)(known->square.blocks * limbs * BLOCK_BYTES));
    }
    __syncwarp();
    if (place < known->square.blocks && limb < limbs) {
        const int8_t *from =
            known->needs[step / HC_TILE_STEPS][place] > limb
                ? exact.panel + hc_panel_at<HC_LIMBS_GRID>(exact, step0 + step, known->square.block[place]) +
                      limb * HC_SIDE_LIMB_BYTES
                : exact.zeros;
        hc_copy_bulk(slots + slot * Grid::SLOT_BYTES + limb * Grid::LIMB_BYTES + place * BLOCK_BYTES, from,
                     BLOCK_BYTES, full);
    }
}

/* Adds a warp group's sums, where it is to: row0 is the thread's row in the 16 of its warp, column0 its first
 * column in each 32. */
template <int WEIGHTS>
__device__ static inline void add_sums(const HcExact &exact, int64_t plane, int64_t row0,
                                       const int64_t column0[2], const bool adds[2],
                                       int32_t acc[WEIGHTS][SUMS]) {
#pragma unroll
    for (int32_t i = 0; i < SUMS; i += 8) { /* four pairs: two rows, two places in each */
        int64_t *at[4];
        longlong2 added[4];
#pragma unroll
        for (int32_t k = 0; k < 4; k++) {
            at[k] = hc_product_at(exact, plane, row0 + k % 2 * 8, column0[i / 16] + (i % 16 / 4 + k / 2) * 8);
            added[k] = make_longlong2(0, 0);
#pragma unroll
            for (int32_t w = WEIGHTS - 1; w >= 0; w--) {
                added[k].x = added[k].x * 256 + acc[w][i + 2 * k];
                added[k].y = added[k].y * 256 + acc[w][i + 2 * k + 1];
            }
        }
        if (adds[i / 16]) {
            hc_add_pairs<4>(at, added);
        }
    }
}

template <int WEIGHTS>
__device__ static inline void add_tile(const HcExact &exact, const Shared<Integers> &known, int32_t which,
                                       int64_t plane, int32_t acc[WEIGHTS][SUMS]) {
    const Tiles &tiles = known.tiles;
    const int32_t lane = threadIdx.x % 32;
    const int64_t row0 = (int64_t)tiles.block[tiles.row[which]] * SIDE + threadIdx.x / 32 % 4 * 16 + lane / 4;
    const int64_t column = (int64_t)tiles.block[tiles.column[which]] * SIDE + lane % 4 * 2;
    const int64_t column0[2] = {column, column + HC_TILE_BANDS};
    /* The last 32 bands of a tile may not be there. */
    const bool adds[2] = {row0 < exact.padded, row0 < exact.padded && column0[1] < exact.padded};
    add_sums<WEIGHTS>(exact, plane, row0, column0, adds, acc);
}

template <int WEIGHTS>
__device__ static inline void add_tile(const HcExact &exact, const Shared<Grid> &known, int32_t which,
                                       int64_t plane, int32_t acc[WEIGHTS][SUMS]) {
    (void)which;
    const HcGramSquare &square = known.square;
    const int32_t lane = threadIdx.x % 32;
    const int32_t warp = threadIdx.x / 32 % 4; /* two for each block of rows */
    const int64_t row0 =
        (int64_t)square.block[square.row[warp / 2]] * HC_TILE_BANDS + warp % 2 * 16 + lane / 4;
    const int64_t column0[2] = {(int64_t)square.block[0] * HC_TILE_BANDS + lane % 4 * 2,
                                (int64_t)square.block[1] * HC_TILE_BANDS + lane % 4 * 2};
    const uint8_t owns = square.owns[warp / 2];
    const bool adds[2] = {(owns & 1) != 0, (owns & 2) != 0};
    add_sums<WEIGHTS>(exact, plane, row0, column0, adds, acc);
}

/* Which blocks of bands lie in the places of a slot, and how many limbs they have. */
__device__ static inline void choose_bands(const HcExact &exact, Shared<Integers> *known) {
    known->tiles = tiles_of((int32_t)blockIdx.x, exact.sides * (exact.sides + 1) / 2);
}

__device__ static inline void choose_bands(const HcExact &exact, Shared<Grid> *known) {
    known->square = exact.square[blockIdx.x];
}

/* 32 bands of a slot, by their place. */
__device__ static inline int32_t block_in(const Shared<Integers> &known, int32_t place) {
    return known.tiles.block[place / 2] * 2 + place % 2;
}

__device__ static inline int32_t block_in(const Shared<Grid> &known, int32_t place) {
    return known.square.block[place];
}

__device__ static inline int32_t blocks_in(const Shared<Integers> &known) {
    return 2 * known.tiles.blocks;
}

__device__ static inline int32_t blocks_in(const Shared<Grid> &known) {
    return known.square.blocks;
}

template <class Form>
__device__ static inline void look_around(const HcExact &exact, int64_t tile0, int32_t count,
                                          Shared<Form> *known) {
    const int32_t blocks = exact.padded / HC_TILE_BANDS;
    if (threadIdx.x == 0) {
        choose_bands(exact, known);
        for (int32_t s = 0; s < Form::SLOTS; s++) {
            hc_barrier_open(&known->full[s], 1);
            hc_barrier_open(&known->empty[s], WORKERS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    for (int32_t t = threadIdx.x; t < count; t += THREADS) {
        uint8_t most = HC_LIMBS_MIN;
        for (int32_t place = 0; place < blocks_in(*known); place++) {
            const int32_t block = block_in(*known, place);
            const bool there = block < blocks; /* elsewhere the panel is 0 */
            const uint8_t needs =
                there ? exact.needs[(tile0 + t) * blocks + block] & ~HC_NEEDS_FAR : (uint8_t)Form::LIMBS;
            known->needs[t][place] = needs;
            most = there && needs > most ? needs : most;
        }
        known->limbs[t] = most;
    }
    __syncthreads();
}

/* Products of a tile, for the numbers of limbs that its pixels have. */
template <int WEIGHTS>
__device__ static inline void multiply_tile(const Shared<Integers> &known, int32_t which, int32_t limbs,
                                            const int8_t *slot, int32_t acc[WEIGHTS][SUMS]) {
    const int8_t *rows = slot + known.tiles.row[which] * HC_LIMBS_INTEGERS * Integers::LIMB_BYTES;
    const int8_t *columns = slot + known.tiles.column[which] * HC_LIMBS_INTEGERS * Integers::LIMB_BYTES;
    if (limbs == HC_LIMBS_INTEGERS) {
        multiply_step<HC_LIMBS_INTEGERS, 0, WEIGHTS, Integers::LIMB_BYTES>(rows, columns, acc);
    } else {
        multiply_step<HC_LIMBS_MIN, 0, WEIGHTS, Integers::LIMB_BYTES>(rows, columns, acc);
    }
}

template <int FIRST, int WEIGHTS>
__device__ static inline void multiply_square(const Shared<Grid> &known, int32_t limbs, const int8_t *slot,
                                              int32_t acc[WEIGHTS][SUMS]) {
    const int32_t half = threadIdx.x / 64 % 2; /* of the rows, which count from the first */
    const int8_t *rows = slot + (known.square.row[half] - half) * BLOCK_BYTES;
    if constexpr (FIRST == 0) { /* the fifth limb has none of these */
        if (limbs >= 4) {
            multiply_step<4, FIRST, WEIGHTS, Grid::LIMB_BYTES>(rows, slot, acc);
        } else if (limbs == 3) {
            multiply_step<3, FIRST, WEIGHTS, Grid::LIMB_BYTES>(rows, slot, acc);
        } else {
            multiply_step<2, FIRST, WEIGHTS, Grid::LIMB_BYTES>(rows, slot, acc);
        }
    } else { /* two limbs have none of these */
        if (limbs == 5) {
            multiply_step<5, FIRST, WEIGHTS, Grid::LIMB_BYTES>(rows, slot, acc);
        } else if (limbs == 4) {
            multiply_step<4, FIRST, WEIGHTS, Grid::LIMB_BYTES>(rows, slot, acc);
        } else if (limbs == 3) {
            multiply_step<3, FIRST, WEIGHTS, Grid::LIMB_BYTES>(rows, slot, acc);
        }
    }
}

/* A warp group's part of the work: products of WEIGHTS weights from FIRST on of one tile. */
template <class Form, int FIRST, int WEIGHTS>
__device__ static inline void sum_steps(const HcExact &exact, int32_t steps, int32_t which,
                                        Shared<Form> *known, const int8_t *slots) {
    bool works = true;
    if constexpr (Form::LIMBS == HC_LIMBS_INTEGERS) {
        works = which < known->tiles.count;
    }
    int32_t acc[WEIGHTS][SUMS] = {};
    for (int32_t step = 0; step < steps; step++) {
        const int32_t slot = step % Form::SLOTS;
        const int8_t *at = slots + slot * Form::SLOT_BYTES;
        hc_barrier_wait(&known->full[slot], step / Form::SLOTS % 2);
        const int32_t limbs = known->limbs[step / HC_TILE_STEPS];
        if constexpr (Form::LIMBS == HC_LIMBS_GRID) {
            multiply_square<FIRST, WEIGHTS>(*known, limbs, at, acc);
        } else if (works) {
            multiply_tile<WEIGHTS>(*known, which, limbs, at, acc);
        }
        hc_barrier_arrive(&known->empty[slot]);
    }
    if (works) {
        add_tile<WEIGHTS>(exact, *known, which, (int64_t)blockIdx.y * exact.halves + (FIRST > 0 ? 1 : 0),
                          acc);
    }
}

#endif

/* Thread block (tiles of products, part): over a part of the pixels of the panel. */
template <class Form>
__global__ void __launch_bounds__(THREADS, 1)
    multiply_hopper(HcExact exact, int64_t tiles, int64_t tiles_each) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ __align__(1024) int8_t slots[];
    __shared__ Shared<Form> known;
    static_assert((int32_t)Form::BRINGERS <= (int32_t)Form::SLOTS, "see there");
    const int64_t tile0 = blockIdx.y * tiles_each;
    const int32_t count = (int32_t)(tiles - tile0 < tiles_each ? tiles - tile0 : tiles_each);
    const int32_t steps = count * HC_TILE_STEPS;
    look_around<Form>(exact, tile0, count, &known);
    const int32_t which = threadIdx.x / 128;
    if (which == GROUPS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"((int32_t)Form::REGISTERS_BRINGING));
        const int32_t bringer = (int32_t)threadIdx.x % 128 / 32;
        for (int32_t step = bringer; bringer < Form::BRINGERS && step < steps; step += Form::BRINGERS) {
            bring(exact, tile0 * HC_TILE_STEPS, step, &known, slots);
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"((int32_t)Form::REGISTERS));
        if constexpr (Form::LIMBS == HC_LIMBS_INTEGERS) {
            sum_steps<Form, 0, HC_WEIGHTS_INTEGERS>(exact, steps, which, &known, slots);
        } else if (which == 0) {
            sum_steps<Form, 0, HC_WEIGHTS_LOW>(exact, steps, 0, &known, slots);
        } else {
            sum_steps<Form, HC_WEIGHTS_LOW, HC_WEIGHTS_HIGH>(exact, steps, 0, &known, slots);
        }
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

/* ---- squares ---- */

/* Most blocks for which squares are searched: the search takes the fourth power of the blocks. */
enum { SEARCHED_BLOCKS = 32 };

/* Which products of blocks are still to be summed; (i, j) and (j, i) are one. */
struct Open {
    int32_t blocks;
    uint8_t open[SEARCHED_BLOCKS][SEARCHED_BLOCKS];
    explicit Open(int32_t count) : blocks(count) {
        memset(open, 1, sizeof open);
    }
    uint8_t &at(int32_t i, int32_t j) {
        return open[i > j ? i : j][i > j ? j : i];
    }
    /* How many of the products of rows i, r and columns j, c; they are taken, and `owns` says which. */
    int32_t take(int32_t i, int32_t r, int32_t j, int32_t c, uint8_t owns[2]) {
        const int32_t row[2] = {i, r};
        const int32_t column[2] = {j, c};
        int32_t count = 0;
        for (int32_t h = 0; h < 2; h++) {
            owns[h] = 0;
            for (int32_t g = 0; g < 2; g++) {
                if (at(row[h], column[g]) != 0) {
                    at(row[h], column[g]) = 0;
                    owns[h] |= (uint8_t)(1 << g);
                    count++;
                }
            }
        }
        return count;
    }
    void give_back(int32_t i, int32_t r, int32_t j, int32_t c, const uint8_t owns[2]) {
        const int32_t row[2] = {i, r};
        const int32_t column[2] = {j, c};
        for (int32_t k = 0; k < 4; k++) {
            if ((owns[k / 2] >> k % 2 & 1) != 0) {
                at(row[k / 2], column[k % 2]) = 1;
            }
        }
    }
};

static uint8_t add_block(HcGramSquare *square, int32_t block) {
    for (uint8_t k = 0; k < square->blocks; k++) {
        if (square->block[k] == block) {
            return k;
        }
    }
    square->block[square->blocks] = (uint16_t)block;
    return square->blocks++;
}

/* The square of rows i, r and columns j, c, without its products. */
static HcGramSquare make_square(int32_t i, int32_t r, int32_t j, int32_t c) {
    HcGramSquare square = {};
    (void)add_block(&square, j);
    (void)add_block(&square, c);
    square.row[0] = add_block(&square, i);
    square.row[1] = add_block(&square, r);
    return square;
}

/* Blocks of rows and columns that have the most open products with i and j, then the fewest blocks. */
static void best_partners(Open *open, int32_t i, int32_t j, int32_t *row, int32_t *column) {
    int32_t best = -1;
    for (int32_t r = 0; r < open->blocks; r++) {
        for (int32_t c = 0; c < open->blocks; c++) {
            uint8_t owns[2];
            int32_t blocks = 1 + (j != i) + (r != i && r != j) + (c != i && c != j && c != r);
            int32_t value = 8 * open->take(i, r, j, c, owns) - blocks;
            open->give_back(i, r, j, c, owns);
            if (value > best) {
                best = value;
                *row = r;
                *column = c;
            }
        }
    }
}

/* From the diagonal on, each time the best square with the next open product. No square wastes a product for
 * odd numbers of blocks up to 31. Returns how many; squares NULL = only that. */
static int32_t greedy_squares(int32_t blocks, HcGramSquare *squares) {
    int32_t count = 0;
    Open open(blocks);
    for (int32_t distance = 0; distance < blocks; distance++) {
        for (int32_t j = 0; j + distance < blocks; j++) {
            int32_t i = j + distance;
            int32_t r = i;
            int32_t c = j;
            if (open.at(i, j) == 0) {
                continue;
            }
            best_partners(&open, i, j, &r, &c);
            HcGramSquare square = make_square(i, r, j, c);
            (void)open.take(i, r, j, c, square.owns);
            if (squares != NULL) {
                squares[count] = square;
            }
            count++;
        }
    }
    return count;
}

/* Two neighbours by two. A square on the diagonal has one product twice, and an odd last block no neighbour.
 * Returns how many; squares NULL = only that. */
static int32_t plain_squares(int32_t blocks, HcGramSquare *squares) {
    int32_t count = 0;
    for (int32_t i = 0; i < blocks; i += 2) {
        for (int32_t j = 0; j <= i; j += 2) {
            bool row = i + 1 < blocks;
            bool column = j + 1 < blocks;
            if (squares != NULL) {
                HcGramSquare square = make_square(i, i + row, j, j + column);
                square.owns[0] = column ? 3 : 1;
                square.owns[1] = !row ? 0 : i == j ? 2 : square.owns[0];
                squares[count] = square;
            }
            count++;
        }
    }
    return count;
}

int32_t hc_hopper_squares(int32_t padded, HcGramSquare *squares) {
    int32_t blocks = padded / HC_TILE_BANDS;
    int32_t plain = plain_squares(blocks, NULL);
    int32_t greedy = blocks <= SEARCHED_BLOCKS ? greedy_squares(blocks, NULL) : plain;
    if (greedy < plain) {
        return squares != NULL ? greedy_squares(blocks, squares) : greedy;
    }
    return squares != NULL ? plain_squares(blocks, squares) : plain;
}

/* ---- launching ---- */

template <class Form>
static HcStatus launch(HcQueue *queue, const HcExact *exact, int32_t groups, int64_t tiles, HcError *err) {
    const int shared = Form::SLOTS * Form::SLOT_BYTES;
    int64_t each = hc_div_up(tiles, exact->parts);
    dim3 grid((unsigned)groups, (unsigned)hc_div_up(tiles, each));
    HC_OR_RETURN(hc_gpu_check(
        cudaFuncSetAttribute(multiply_hopper<Form>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared),
        "asking for shared memory", err));
    multiply_hopper<Form><<<grid, THREADS, shared, queue->stream>>>(*exact, tiles, each);
    return hc_gpu_launched("multiplying", err);
}

HcStatus hc_hopper_products(HcQueue *queue, const HcExact *exact, int64_t tiles, HcError *err) {
    return exact->squares > 0 ? launch<Grid>(queue, exact, exact->squares, tiles, err)
                              : launch<Integers>(queue, exact, hc_hopper_groups(exact->padded), tiles, err);
}
