/* Exact sums of products of integers: 8-bit limbs on the matrix units (gram.cuh says how). */
#include "gpu/gram.cuh"

#include <stdlib.h>
#include <vector>

enum {
    TILE_WORDS = HC_TILE_PIXELS / 4, /* a word holds a limb of four pixels */
    SPLIT_THREADS = 256,
    GROUP_THREADS = 32 * HC_GROUP_TILES,
    STEP_PIXELS = 64, /* that are multiplied between two barriers */
    LIMB_BYTES = HC_TILE_BANDS * STEP_PIXELS,
    WEIGHTS = 2 * HC_LIMBS - 1 /* l_a l_b weighs 256^(a + b) */
};

/* Limbs of all bands that are kept at once [bytes]; they should stay in the cache of the device. */
static const size_t panel_bytes = (size_t)16 << 20;
/* -128 * -128 * 3 * 32768 < 2^31 */
static const int64_t panel_most = 32768;

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
    size_t n = (size_t)exact->padded;
    int64_t pixels = (int64_t)(panel_bytes / (HC_LIMBS * n)) / HC_TILE_PIXELS * HC_TILE_PIXELS;
    pixels = pixels > panel_most ? panel_most : pixels;
    exact->panel_pixels = pixels < HC_TILE_PIXELS ? (int64_t)HC_TILE_PIXELS : pixels;
    size_t tiles = (size_t)exact->panel_pixels / HC_TILE_PIXELS;
    exact->group = (HcGramGroup *)hc_take(memory, &at, (size_t)exact->groups * sizeof(HcGramGroup));
    exact->panel = (int8_t *)hc_take(memory, &at, tiles * HC_LIMBS * n * HC_TILE_PIXELS);
    exact->need = (uint32_t *)hc_take(memory, &at, tiles * sizeof(uint32_t));
    exact->product = (int64_t *)hc_take(memory, &at, n * n * sizeof(int64_t));
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
    HcStatus status = HC_OK;
    HcExact *exact = &sums->exact;
    const HcComputeOps *ops = sums->gpu->base.ops;
    std::vector<HcGramGroup> groups = make_groups(exact->padded / HC_TILE_BANDS);
    HC_TRY(ops->upload(queue, groups.data(), exact->group, groups.size() * sizeof(HcGramGroup), err));
    HC_TRY(ops->wait(queue, err)); /* `groups` ends here */
done:
    return status;
}

/* ---- values to limbs ---- */

/* The values of consecutive pixels of one band. The mean's columns of three are summed once for three
 * pixels; the sums are those of integers and exact. */
template <HcDifference KIND> struct Walk {
    const HcView &view;
    const int32_t band;
    const int64_t pixels;
    float before = 0, here = 0, middle = 0;

    __device__ Walk(const HcView &in, int32_t at_band, int64_t first)
        : view(in), band(at_band), pixels(in.rows * in.samples) {
        if (KIND == HC_DIFFERENCE_MEAN3X3) {
            before = column(first - 1, &middle);
            here = column(first, &middle);
        }
    }

    __device__ float column(int64_t pixel, float *center) const {
        const int64_t line = view.samples;
        if (pixel < line || pixel + line >= pixels) {
            *center = 0; /* no pixel with a neighbourhood there */
            return 0;
        }
        const float *x = view.data + pixel * view.bands + band;
        *center = x[0];
        return x[-line * view.bands] + x[0] + x[line * view.bands];
    }

    /* Call for each pixel in turn; the result counts where the pixel is valid. */
    __device__ float next(int64_t pixel, bool valid) {
        if (KIND == HC_DIFFERENCE_MEAN3X3) {
            float center = 0;
            float behind = column(pixel + 1, &center);
            float value = 9.0F * middle - (before + here + behind);
            before = here;
            here = behind;
            middle = center;
            return value;
        }
        return valid ? hc_difference_float(view, KIND, pixel, band) : 0.0F;
    }
};

/* A tile of 128 pixels and 32 bands: a lane a band, a warp 16 pixels. */
template <HcDifference KIND>
__global__ void __launch_bounds__(SPLIT_THREADS)
    split(HcGramJob job, int64_t first, int64_t limit, HcExact exact, HcFault *fault) {
    __shared__ uint32_t words[HC_LIMBS][HC_TILE_BANDS][TILE_WORDS + 1];
    __shared__ int32_t sums[SPLIT_THREADS / 32][32];
    __shared__ uint8_t valid[HC_TILE_PIXELS];
    const int64_t tile = blockIdx.x;
    const int64_t samples = job.in.samples;
    const int64_t pixel0 = first + tile * HC_TILE_PIXELS;
    const int32_t warp = threadIdx.x / 32;
    const int32_t lane = threadIdx.x % 32;
    const int32_t band0 = blockIdx.y * HC_TILE_BANDS;
    const int32_t band = band0 + lane;
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

    enum { RUN = HC_TILE_PIXELS / (SPLIT_THREADS / 32) };
    const int32_t run0 = warp * RUN;
    const int64_t place0 = job.first_row * samples + pixel0 + run0;
    int32_t sum = 0;
    bool third = false;
    if (band < job.in.bands) {
        Walk<KIND> walk(job.in, band, place0);
#pragma unroll
        for (int32_t word = 0; word < RUN / 4; word++) {
            uint32_t packed[HC_LIMBS] = {0, 0, 0};
#pragma unroll
            for (int32_t k = 0; k < 4; k++) {
                const int32_t p = word * 4 + k;
                const bool used = valid[run0 + p] != 0;
                const float x = walk.next(place0 + p, used);
                int32_t v = 0;
                if (used) {
                    if (!(fabsf(x) <= (float)limit) || x != rintf(x)) {
                        hc_raise(fault, HC_E_NUMERIC, HC_FAULT_PROMISE, (double)x, limit);
                    } else {
                        v = (int32_t)x - (int32_t)exact.offset;
                    }
                }
                sum += v;
                int32_t low = (int8_t)(v & 0xFF);
                v = (v - low) >> 8;
                int32_t middle = (int8_t)(v & 0xFF);
                v = (v - middle) >> 8;
                third = third || v != 0;
                packed[0] |= (uint32_t)(low & 0xFF) << (8 * k);
                packed[1] |= (uint32_t)(middle & 0xFF) << (8 * k);
                packed[2] |= (uint32_t)(v & 0xFF) << (8 * k);
            }
#pragma unroll
            for (int32_t limb = 0; limb < HC_LIMBS; limb++) {
                words[limb][lane][warp * (RUN / 4) + word] = packed[limb];
            }
        }
    } else {
        for (int32_t word = 0; word < RUN / 4; word++) {
            for (int32_t limb = 0; limb < HC_LIMBS; limb++) {
                words[limb][lane][warp * (RUN / 4) + word] = 0;
            }
        }
    }
    sums[warp][lane] = sum;
    if (__syncthreads_or(third) && threadIdx.x == 0) {
        atomicMax(&exact.need[tile], HC_LIMBS);
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
    uint32_t *to = (uint32_t *)exact.panel + tile * HC_LIMBS * exact.padded * TILE_WORDS;
    for (int32_t i = threadIdx.x; i < HC_LIMBS * HC_TILE_BANDS * TILE_WORDS; i += SPLIT_THREADS) {
        int32_t limb = i / (HC_TILE_BANDS * TILE_WORDS);
        int32_t row = i / TILE_WORDS % HC_TILE_BANDS;
        to[((int64_t)limb * exact.padded + band0 + row) * TILE_WORDS + i % TILE_WORDS] =
            words[limb][row][i % TILE_WORDS];
    }
}

/* ---- products of limbs ---- */

__device__ static inline void copy_16(void *to, const void *from) {
#if __CUDA_ARCH__ >= 800
    uint32_t shared = (uint32_t)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from));
#else
    *(uint4 *)to = *(const uint4 *)from;
#endif
}

__device__ static inline void copies_end() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::);
#endif
}

/* Until all copies but those of the newest PENDING ends are there. */
template <int PENDING> __device__ static inline void copies_wait() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
#endif
}

/* Four 8 x 16 byte matrices; lanes 8 k to 8 k + 7 name the rows of the k-th. */
__device__ static inline void load_matrices(uint32_t out[4], const int8_t *row) {
    uint32_t shared = (uint32_t)__cvta_generic_to_shared(row);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"(shared)
                 : "memory");
}

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

/* Where 16 bytes of a row of limbs lie in shared memory: moved about so that eight rows are in all banks. */
__device__ static inline int32_t swizzled(int32_t row, int32_t chunk) {
    return row * STEP_PIXELS + ((chunk ^ ((row >> 1) & 3)) * 16);
}

/* One step of a warp's tile: 64 pixels, LIMBS limbs. */
template <int LIMBS>
__device__ static inline void multiply_step(const int8_t *rows, const int8_t *columns, int32_t lane,
                                            int32_t acc[WEIGHTS][2][4][4]) {
    const int32_t part = lane / 8;
    const int32_t in_part = lane % 8;
#pragma unroll
    for (int32_t half = 0; half < STEP_PIXELS / 32; half++) {
        uint32_t a[LIMBS][2][4];
#pragma unroll
        for (int32_t limb = 0; limb < LIMBS; limb++) {
#pragma unroll
            for (int32_t m = 0; m < 2; m++) {
                load_matrices(a[limb][m], rows + limb * LIMB_BYTES +
                                              swizzled(m * 16 + part % 2 * 8 + in_part, half * 2 + part / 2));
            }
        }
#pragma unroll
        for (int32_t n = 0; n < 2; n++) {
            uint32_t b[LIMBS][4];
#pragma unroll
            for (int32_t limb = 0; limb < LIMBS; limb++) {
                load_matrices(b[limb], columns + limb * LIMB_BYTES +
                                           swizzled(n * 16 + part / 2 * 8 + in_part, half * 2 + part % 2));
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

/* Copies the limbs of one step of all blocks of a group: [block][limb][band][pixel]. */
__device__ static inline void load_step(const HcGramGroup &group, const HcExact &exact, int64_t step,
                                        int32_t limbs, int8_t *to) {
    enum { CHUNKS = STEP_PIXELS / 16 };
    const int64_t tile = step / (HC_TILE_PIXELS / STEP_PIXELS);
    const int64_t inside = step % (HC_TILE_PIXELS / STEP_PIXELS) * STEP_PIXELS;
    const int32_t all = group.blocks * limbs * HC_TILE_BANDS * CHUNKS;
    for (int32_t i = threadIdx.x; i < all; i += GROUP_THREADS) {
        int32_t chunk = i % CHUNKS;
        int32_t row = i / CHUNKS % HC_TILE_BANDS;
        int32_t rest = i / (CHUNKS * HC_TILE_BANDS);
        int32_t limb = rest % limbs;
        int32_t slot = rest / limbs;
        int64_t band = (int64_t)group.block[slot] * HC_TILE_BANDS + row;
        copy_16(to + (slot * HC_LIMBS + limb) * LIMB_BYTES + swizzled(row, chunk),
                exact.panel + ((tile * HC_LIMBS + limb) * exact.padded + band) * HC_TILE_PIXELS + inside +
                    chunk * 16);
    }
}

/* Thread block (group, part): the products of a group of tiles over a part of the pixels of the panel. */
template <int STAGES>
__global__ void __launch_bounds__(GROUP_THREADS, 1)
    multiply_limbs(HcExact exact, int64_t tiles, int64_t tiles_each) {
    extern __shared__ __align__(128) int8_t shared[];
    __shared__ HcGramGroup group;
    const int32_t warp = threadIdx.x / 32;
    const int32_t lane = threadIdx.x % 32;
    const int32_t steps_of_tile = HC_TILE_PIXELS / STEP_PIXELS;
    const int64_t step0 = blockIdx.y * tiles_each * steps_of_tile;
    const int64_t end0 = (blockIdx.y + 1) * tiles_each * steps_of_tile;
    const int64_t end = end0 < tiles * steps_of_tile ? end0 : tiles * steps_of_tile;
    if (threadIdx.x < sizeof(HcGramGroup) / 4) {
        ((uint32_t *)&group)[threadIdx.x] = ((const uint32_t *)&exact.group[blockIdx.x])[threadIdx.x];
    }
    __syncthreads();
    const int32_t stage_bytes = group.blocks * HC_LIMBS * LIMB_BYTES;
    auto limbs_of = [&](int64_t step) { return exact.need[step / steps_of_tile] > 2 ? 3 : 2; };
    auto load = [&](int64_t step) {
        if (step < end) {
            load_step(group, exact, step, limbs_of(step), shared + step % STAGES * stage_bytes);
        }
        copies_end();
    };
    int32_t acc[WEIGHTS][2][4][4] = {};
#pragma unroll
    for (int32_t s = 0; s < STAGES - 1; s++) {
        load(step0 + s);
    }
    const bool works = warp < group.tiles;
    const int32_t row_at = works ? group.row[warp] * HC_LIMBS * LIMB_BYTES : 0;
    const int32_t column_at = works ? group.column[warp] * HC_LIMBS * LIMB_BYTES : 0;
    for (int64_t step = step0; step < end; step++) {
        if (STAGES == 1) {
            __syncthreads();
            load(step);
        }
        copies_wait<STAGES == 1 ? 0 : STAGES - 2>();
        __syncthreads();
        if (STAGES > 1) {
            load(step + STAGES - 1);
        }
        const int8_t *stage = shared + step % STAGES * stage_bytes;
        if (works && limbs_of(step) == 3) {
            multiply_step<3>(stage + row_at, stage + column_at, lane, acc);
        } else if (works) {
            multiply_step<2>(stage + row_at, stage + column_at, lane, acc);
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
#pragma unroll
            for (int32_t c = 0; c < 4; c++) {
                int64_t value = 0;
#pragma unroll
                for (int32_t w = WEIGHTS - 1; w >= 0; w--) {
                    value = value * 256 + acc[w][m][n][c];
                }
                int64_t at = (row0 + m * 16 + c / 2 * 8) * exact.padded + column0 + n * 8 + c % 2;
                if (value != 0) {
                    atomicAdd((unsigned long long *)&exact.product[at], (unsigned long long)value);
                }
            }
        }
    }
}

/* 64-bit sums into 128-bit ones. */
__global__ void widen(HcExact exact) {
    int64_t count = (int64_t)exact.padded * exact.padded;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < count;
         i += (int64_t)gridDim.x * blockDim.x) {
        int64_t value = exact.product[i];
        uint64_t low = exact.low[i] + (uint64_t)value;
        exact.high[i] += (value < 0 ? -1 : 0) + (low < (uint64_t)value ? 1 : 0);
        exact.low[i] = low;
        exact.product[i] = 0;
    }
}

/* ---- the operation ---- */

static HcStatus launch_split(HcQueue *queue, const HcGramJob *job, int64_t first, int64_t tiles, HcSums *sums,
                             HcError *err) {
    dim3 grid((unsigned)tiles, (unsigned)(sums->exact.padded / HC_TILE_BANDS));
    HcFault *fault = queue->fault_device;
    switch (job->kind) {
    case HC_DIFFERENCE_NONE:
        split<HC_DIFFERENCE_NONE>
            <<<grid, SPLIT_THREADS, 0, queue->stream>>>(*job, first, sums->limit, sums->exact, fault);
        break;
    case HC_DIFFERENCE_MEAN3X3:
        split<HC_DIFFERENCE_MEAN3X3>
            <<<grid, SPLIT_THREADS, 0, queue->stream>>>(*job, first, sums->limit, sums->exact, fault);
        break;
    case HC_DIFFERENCE_MEDIAN3X3:
        split<HC_DIFFERENCE_MEDIAN3X3>
            <<<grid, SPLIT_THREADS, 0, queue->stream>>>(*job, first, sums->limit, sums->exact, fault);
        break;
    case HC_DIFFERENCE_SHIFT:
        split<HC_DIFFERENCE_SHIFT>
            <<<grid, SPLIT_THREADS, 0, queue->stream>>>(*job, first, sums->limit, sums->exact, fault);
        break;
    case HC_DIFFERENCE_SHIFT_DIAGONAL:
        split<HC_DIFFERENCE_SHIFT_DIAGONAL>
            <<<grid, SPLIT_THREADS, 0, queue->stream>>>(*job, first, sums->limit, sums->exact, fault);
        break;
    }
    return hc_gpu_launched("taking values apart", err);
}

template <int STAGES>
static HcStatus launch_stages(HcQueue *queue, const HcExact *exact, int64_t tiles, size_t stage,
                              HcError *err) {
    HcStatus status = HC_OK;
    int64_t parts = queue->gpu->processors / exact->groups;
    parts = parts < 1 ? 1 : parts > tiles ? tiles : parts;
    int64_t each = hc_div_up(tiles, parts);
    dim3 grid((unsigned)exact->groups, (unsigned)hc_div_up(tiles, each));
    HC_TRY(
        hc_gpu_check(cudaFuncSetAttribute(multiply_limbs<STAGES>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                          (int)(stage * STAGES)),
                     "asking for shared memory", err));
    multiply_limbs<STAGES><<<grid, GROUP_THREADS, stage * STAGES, queue->stream>>>(*exact, tiles, each);
    HC_TRY(hc_gpu_launched("multiplying", err));
done:
    return status;
}

static HcStatus launch_products(HcQueue *queue, const HcExact *exact, int64_t tiles, HcError *err) {
    int32_t blocks = exact->padded / HC_TILE_BANDS;
    blocks = blocks < HC_GROUP_BLOCKS ? blocks : HC_GROUP_BLOCKS;
    size_t stage = (size_t)blocks * HC_LIMBS * LIMB_BYTES;
    size_t spare = 1024; /* the kernel's own */
    if (queue->gpu->major >= 8 && 3 * stage + spare <= queue->gpu->shared_memory) {
        return launch_stages<3>(queue, exact, tiles, stage, err);
    }
    if (queue->gpu->major >= 8 && 2 * stage + spare <= queue->gpu->shared_memory) {
        return launch_stages<2>(queue, exact, tiles, stage, err);
    }
    return launch_stages<1>(queue, exact, tiles, stage, err);
}

static HcStatus fold(HcQueue *queue, HcSums *sums, HcError *err) {
    widen<<<256, 256, 0, queue->stream>>>(sums->exact);
    sums->exact.pixels = 0;
    return hc_gpu_launched("widening sums", err);
}

HcStatus hc_exact_gram(HcQueue *queue, const HcGramJob *job, HcSums *sums, HcError *err) {
    HcStatus status = HC_OK;
    HcExact *exact = &sums->exact;
    int64_t pixels = job->rows * job->in.samples;
    for (int64_t first = 0; first < pixels; first += exact->panel_pixels) {
        int64_t count = pixels - first < exact->panel_pixels ? pixels - first : exact->panel_pixels;
        int64_t tiles = hc_div_up(count, HC_TILE_PIXELS);
        if (exact->pixels + count > exact->most) {
            HC_TRY(fold(queue, sums, err));
        }
        exact->pixels += count;
        HC_TRY(sums->gpu->base.ops->zero(queue, exact->need, (size_t)tiles * sizeof *exact->need, err));
        HC_TRY(launch_split(queue, job, first, tiles, sums, err));
        HC_TRY(launch_products(queue, exact, tiles, err));
    }
done:
    return status;
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
    const HcComputeOps *ops = sums->gpu->base.ops;
    size_t n = (size_t)exact->padded;
    uint64_t *low = (uint64_t *)malloc(n * n * sizeof *low);
    int64_t *high = (int64_t *)malloc(n * n * sizeof *high);
    int64_t *sum = (int64_t *)malloc((n + 1) * sizeof *sum);
    if (low == NULL || high == NULL || sum == NULL) {
        HC_TRY(hc_fail_memory(err, (double)(2 * n * n) * sizeof *low, "sums of products"));
    }
    HC_TRY(fold(queue, sums, err));
    HC_TRY(ops->download(queue, exact->low, low, n * n * sizeof *low, err));
    HC_TRY(ops->download(queue, exact->high, high, n * n * sizeof *high, err));
    HC_TRY(ops->download(queue, exact->sum, sum, n * sizeof *sum, err));
    HC_TRY(ops->download(queue, exact->count, sum + n, sizeof *sum, err));
    HC_TRY(ops->wait(queue, err));
    restore(sums, low, high, sum, sum[n], out);
done:
    free(low);
    free(high);
    free(sum);
    return status;
}
