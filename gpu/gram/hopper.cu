/* Products of limbs on Hopper's matrix units (wgmma), which take factors from shared memory: the same
 * sums as multiply_limbs() of limbs.cu. Needs code for compute capability 9.0a.
 *
 * A thread block has two groups of warps that multiply, and warps that bring limbs as long as there is room:
 * were they among those that multiply, these would wait. A warp begins the copies of a step one after
 * another, which takes as long as the products: four warps take steps by turns. Both groups sum the same
 * square of 64 bands by 64. For integers they take steps by turns. Nine sums of a square, one for each weight
 * of a grid's products, do not fit a thread: there one group sums the low weights and one the high ones, and
 * the panel is read once. No product of two bands is summed twice: a square is two blocks of 32 bands by two,
 * chosen so that every pair of blocks is in one. 224 bands take 7 squares; neighbours of 64 would be 10. */
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

/* SLOTS: of a ring, each for a step. STEPS: of a tile of pixels, that a group takes; USERS: warps that use a
 * slot. PLACES: in a slot, each for limbs of 32 bands; BRINGERS: warps that bring, no more than slots: else
 * one could overtake those that multiply by two turns, which barriers do not notice. REGISTERS: of a thread
 * that multiplies; at the start all have as many: 168. */
struct Integers {
    enum {
        LIMBS = HC_LIMBS_INTEGERS,
        SLOTS = 8,
        STEPS = HC_TILE_STEPS / GROUPS,
        USERS = WORKERS / 32 / GROUPS
    };
};

struct Grid {
    enum { LIMBS = HC_LIMBS_GRID, SLOTS = 5, STEPS = HC_TILE_STEPS, USERS = WORKERS / 32 };
};

enum {
    PLACES = 4,
    LIMB_BYTES = PLACES * BLOCK_BYTES, /* from limb to limb of a slot */
    BRINGERS = 4,
    REGISTERS = 232,
    REGISTERS_BRINGING = 40
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
__device__ int hc_has_wgmma = 1;
#else
__device__ int hc_has_wgmma = 0;
#endif

template <class Form> struct Shared {
    HcGramSquare square;
    uint8_t limbs[HC_PART_TILES];         /* that a tile of pixels needs */
    uint8_t needs[HC_PART_TILES][PLACES]; /* limbs that 32 bands have there */
    alignas(8) uint64_t full[Form::SLOTS], empty[Form::SLOTS];
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/* A matrix of rows of 64 bytes, their 16-byte parts moved about in groups of eight rows (gram.cuh,
 * hc_swizzled()): address, distance of the groups, the kind of moving. */
__device__ static inline uint64_t matrix_at(uint32_t shared) {
    const uint64_t groups = 8 * HC_STEP_PIXELS;
    return (uint64_t)((shared & 0x3FFFF) >> 4) | (uint64_t)1 << 16 | groups >> 4 << 32 | (uint64_t)2 << 62;
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

template <int WEIGHTS> __device__ static inline void hold(int32_t acc[WEIGHTS][SUMS]) {
#pragma unroll
    for (int32_t w = 0; w < WEIGHTS; w++) {
#pragma unroll
        for (int32_t i = 0; i < SUMS; i++) {
            asm volatile("" : "+r"(acc[w][i])::"memory");
        }
    }
}

/* Until all products but those of the newest PENDING batches are there. */
template <int PENDING, int WEIGHTS> __device__ static inline void products_wait(int32_t acc[WEIGHTS][SUMS]) {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
    hold<WEIGHTS>(acc);
}

/* Rows of LIMBS limbs in 32 pixels, of those limbs that have products of weight FIRST and above. They come
 * from registers: two factors in shared memory would take its whole bandwidth. */
template <int LIMBS, int FIRST> __device__ static inline void load_rows(uint32_t rows, uint32_t a[LIMBS][4]) {
#pragma unroll
    for (int32_t limb = 0; limb < LIMBS; limb++) {
        if (limb + LIMBS > FIRST) { /* else all its products are lighter */
            hc_load_matrices(a[limb], rows + (uint32_t)(limb * LIMB_BYTES));
        }
    }
}

/* Begins products of a batch of those pixels: of LIMBS limbs those of WEIGHTS weights from FIRST on. */
template <int LIMBS, int FIRST, int WEIGHTS>
__device__ static inline void multiply_rows(const uint32_t a[LIMBS][4], uint64_t matrix,
                                            int32_t acc[WEIGHTS][SUMS]) {
#pragma unroll
    for (int32_t first = 0; first < LIMBS; first++) {
#pragma unroll
        for (int32_t second = 0; second < LIMBS; second++) {
            const int32_t at = first + second - FIRST;
            if (at >= 0 && at < WEIGHTS) {
                multiply(acc[at], a[first], matrix + (uint64_t)(second * LIMB_BYTES >> 4));
            }
        }
    }
}

/* A warp brings the limbs of a step, a lane one of 32 bands, once its slot is free. */
template <class Form>
__device__ static inline void bring(const HcExact &exact, int64_t step0, int32_t step, Shared<Form> *known,
                                    int8_t *slots) {
    const int32_t slot_bytes = Form::LIMBS * LIMB_BYTES;
    const int32_t slot = step % Form::SLOTS;
    const int32_t limbs = known->limbs[step / HC_TILE_STEPS];
    const int32_t lane = (int32_t)threadIdx.x % 32;
    const int32_t place = lane % PLACES;
    const int32_t limb = lane / PLACES;
    uint64_t *full = &known->full[slot];
    hc_barrier_wait(&known->empty[slot], step / Form::SLOTS % 2 ^ 1);
    if (lane == 0) {
        hc_barrier_expect(full, (uint32_t)(known->square.blocks * limbs * BLOCK_BYTES));
    }
    __syncwarp();
    if (place < known->square.blocks && limb < limbs) {
        const int8_t *from =
            known->needs[step / HC_TILE_STEPS][place] > limb
                ? exact.panel + hc_panel_at<Form::LIMBS>(exact, step0 + step, known->square.block[place]) +
                      limb * HC_SIDE_LIMB_BYTES
                : exact.zeros;
        hc_copy_bulk(slots + slot * slot_bytes + limb * LIMB_BYTES + place * BLOCK_BYTES, from, BLOCK_BYTES,
                     full);
    }
}

/* Adds a warp group's sums. */
template <int WEIGHTS>
__device__ static inline void add_sums(const HcExact &exact, const HcGramSquare &square, int64_t plane,
                                       int32_t acc[WEIGHTS][SUMS]) {
    const int32_t lane = threadIdx.x % 32;
    const int32_t warp = threadIdx.x / 32 % 4; /* two for each block of rows */
    const int64_t row0 =
        (int64_t)square.block[square.row[warp / 2]] * HC_TILE_BANDS + warp % 2 * 16 + lane / 4;
#pragma unroll
    for (int32_t i = 0; i < SUMS; i += 8) { /* four pairs: two rows, two places in each */
        const int64_t column0 = (int64_t)square.block[i / 16] * HC_TILE_BANDS + lane % 4 * 2;
        int64_t *at[4];
        longlong2 added[4];
#pragma unroll
        for (int32_t k = 0; k < 4; k++) {
            at[k] = hc_product_at(exact, plane, row0 + k % 2 * 8, column0 + (i % 16 / 4 + k / 2) * 8);
            added[k] = make_longlong2(0, 0);
#pragma unroll
            for (int32_t w = WEIGHTS - 1; w >= 0; w--) {
                added[k].x = added[k].x * 256 + acc[w][i + 2 * k];
                added[k].y = added[k].y * 256 + acc[w][i + 2 * k + 1];
            }
        }
        if ((square.owns[warp / 2] >> i / 16 & 1) != 0) {
            hc_add_pairs<4>(at, added);
        }
    }
}

template <class Form>
__device__ static inline void look_around(const HcExact &exact, int64_t tile0, int32_t count,
                                          Shared<Form> *known) {
    const int32_t blocks = exact.padded / HC_TILE_BANDS;
    if (threadIdx.x == 0) {
        known->square = exact.square[blockIdx.x];
        for (int32_t s = 0; s < Form::SLOTS; s++) {
            hc_barrier_open(&known->full[s], 1);
            hc_barrier_open(&known->empty[s], Form::USERS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    for (int32_t t = threadIdx.x; t < count; t += THREADS) {
        uint8_t most = HC_LIMBS_MIN;
        for (int32_t place = 0; place < known->square.blocks; place++) {
            const uint8_t needs =
                exact.needs[(tile0 + t) * blocks + known->square.block[place]] & ~HC_NEEDS_FAR;
            known->needs[t][place] = needs;
            most = needs > most ? needs : most;
        }
        known->limbs[t] = most;
    }
    __syncthreads();
}

/* A warp has no further use for a slot. */
__device__ static inline void leave_slot(uint64_t *empty) {
    __syncwarp();
    if (threadIdx.x % 32 == 0) {
        hc_barrier_arrive(empty);
    }
}

/* Where a warp group is in the ring of slots. */
struct Turn {
    uint32_t slot, phase;

    template <class Form> __device__ inline void next() {
        slot += HC_TILE_STEPS / Form::STEPS;
        if (slot >= Form::SLOTS) {
            slot -= Form::SLOTS;
            phase ^= 1;
        }
    }
};

/* Steps of the tiles from `tile` on that have as many limbs; returns the tile after them. Rows of a batch are
 * loaded while the products of the batch before run. rows: where a thread's rows are in a slot. */
template <class Form, int LIMBS, int FIRST, int WEIGHTS>
__device__ static inline int32_t multiply_tiles(Shared<Form> *known, uint32_t rows, uint32_t columns,
                                                int32_t tile, int32_t count, Turn *turn,
                                                int32_t acc[WEIGHTS][SUMS]) {
    enum { BATCHES = HC_STEP_PIXELS / 32 };            /* of a step */
    enum { BUFFERS = LIMBS == HC_LIMBS_GRID ? 1 : 2 }; /* registers do not suffice for more */
    uint32_t a[BUFFERS][LIMBS][4];
    const uint8_t limbs = known->limbs[tile];
    uint64_t *before = NULL;
    do {
#pragma unroll
        for (int32_t at = 0; at < Form::STEPS * BATCHES; at++) {
            uint32_t(*rows_now)[4] = a[at % BUFFERS];
            const uint32_t from = turn->slot * (Form::LIMBS * LIMB_BYTES);
            const uint32_t half = at % BATCHES * 32; /* bytes */
            if (at % BATCHES == 0) {
                hc_barrier_wait(&known->full[turn->slot], turn->phase);
            }
            load_rows<LIMBS, FIRST>((rows + from) ^ half, rows_now);
            hold<WEIGHTS>(acc);
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            multiply_rows<LIMBS, FIRST, WEIGHTS>(rows_now, matrix_at(columns + from + half), acc);
            asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
            products_wait<BUFFERS - 1, WEIGHTS>(acc);
            if (at % BATCHES == 0) {
                if (before != NULL) {
                    leave_slot(before);
                }
                before = &known->empty[turn->slot];
            } else {
                turn->next<Form>();
            }
        }
    } while (++tile < count && known->limbs[tile] == limbs);
    products_wait<0, WEIGHTS>(acc);
    leave_slot(before);
    return tile;
}

/* Takes part in the steps of a tile without products. */
template <class Form> __device__ static inline void pass_tile(Shared<Form> *known, Turn *turn) {
    for (int32_t s = 0; s < Form::STEPS; s++) {
        hc_barrier_wait(&known->full[turn->slot], turn->phase);
        leave_slot(&known->empty[turn->slot]);
        turn->next<Form>();
    }
}

/* A warp group's part of the work: products of WEIGHTS weights from FIRST on of the square. */
template <class Form, int FIRST, int WEIGHTS>
__device__ static inline void sum_tiles(const HcExact &exact, int32_t count, uint32_t which,
                                        Shared<Form> *known, const int8_t *slots) {
    enum { FOUR = Form::LIMBS < 4 ? Form::LIMBS : 4 };
    const int32_t lane = threadIdx.x % 32;
    const int32_t warp = threadIdx.x / 32 % 4;
    uint32_t columns = hc_shared_address(slots);
    uint32_t rows = columns + (uint32_t)(known->square.row[warp / 2] * BLOCK_BYTES +
                                         hc_swizzled(warp % 2 * 16 + lane % 16, lane / 16));
    Turn turn = {Form::STEPS < HC_TILE_STEPS ? which : 0, 0};
    int32_t acc[WEIGHTS][SUMS] = {};
    asm volatile("" : "+r"(rows), "+r"(columns)); /* else they are computed in each step */
    for (int32_t tile = 0; tile < count;) {
        const int32_t limbs = known->limbs[tile];
        if (2 * (limbs - 1) < FIRST) {
            pass_tile(known, &turn);
            tile++;
        } else if (FIRST == 0 && limbs == 2) {
            tile = multiply_tiles<Form, 2, FIRST, WEIGHTS>(known, rows, columns, tile, count, &turn, acc);
        } else if (Form::LIMBS == HC_LIMBS_INTEGERS || limbs == 3) {
            tile = multiply_tiles<Form, 3, FIRST, WEIGHTS>(known, rows, columns, tile, count, &turn, acc);
        } else if (FIRST == 0 || limbs == 4) { /* the fifth limb has no light products */
            tile = multiply_tiles<Form, FOUR, FIRST, WEIGHTS>(known, rows, columns, tile, count, &turn, acc);
        } else {
            tile = multiply_tiles<Form, Form::LIMBS, FIRST, WEIGHTS>(known, rows, columns, tile, count, &turn,
                                                                     acc);
        }
    }
    add_sums<WEIGHTS>(exact, known->square, (int64_t)blockIdx.y * exact.halves + which, acc);
}

#endif

/* Thread block (square, part): over a part of the pixels of the panel. */
template <class Form>
__global__ void __launch_bounds__(THREADS, 1)
    multiply_hopper(HcExact exact, int64_t tiles, int64_t tiles_each) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ __align__(1024) int8_t slots[];
    __shared__ Shared<Form> known;
    static_assert((int32_t)BRINGERS <= (int32_t)Form::SLOTS, "see there");
    const int64_t tile0 = blockIdx.y * tiles_each;
    const int32_t count = (int32_t)(tiles - tile0 < tiles_each ? tiles - tile0 : tiles_each);
    const int32_t steps = count * HC_TILE_STEPS;
    look_around<Form>(exact, tile0, count, &known);
    const int32_t which = threadIdx.x / 128;
    if (which == GROUPS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"((int32_t)REGISTERS_BRINGING));
        const int32_t bringer = (int32_t)threadIdx.x % 128 / 32;
        for (int32_t step = bringer; step < steps; step += BRINGERS) {
            bring(exact, tile0 * HC_TILE_STEPS, step, &known, slots);
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"((int32_t)REGISTERS));
        if constexpr (Form::LIMBS == HC_LIMBS_INTEGERS) {
            sum_tiles<Form, 0, HC_WEIGHTS_INTEGERS>(exact, count, which, &known, slots);
        } else if (which == 0) {
            sum_tiles<Form, 0, HC_WEIGHTS_LOW>(exact, count, 0, &known, slots);
        } else {
            sum_tiles<Form, HC_WEIGHTS_LOW, HC_WEIGHTS_HIGH>(exact, count, 1, &known, slots);
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
static HcStatus launch(HcQueue *queue, const HcExact *exact, int64_t tiles, HcError *err) {
    const int shared = Form::SLOTS * Form::LIMBS * LIMB_BYTES;
    int64_t each = hc_div_up(tiles, exact->parts);
    dim3 grid((unsigned)exact->squares, (unsigned)hc_div_up(tiles, each));
    HC_OR_RETURN(hc_gpu_check(
        cudaFuncSetAttribute(multiply_hopper<Form>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared),
        "asking for shared memory", err));
    multiply_hopper<Form><<<grid, THREADS, shared, queue->stream>>>(*exact, tiles, each);
    return hc_gpu_launched("multiplying", err);
}

HcStatus hc_hopper_products(HcQueue *queue, const HcExact *exact, int64_t tiles, HcError *err) {
    return exact->limbs == HC_LIMBS_GRID ? launch<Grid>(queue, exact, tiles, err)
                                         : launch<Integers>(queue, exact, tiles, err);
}
