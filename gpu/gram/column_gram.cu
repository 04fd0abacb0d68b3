/* column_gram: pixels that take part are marked, and listed for each group; then a block of threads forms 96
 * x 96 sums of a group, panel after panel.
 *
 * A warp has 48 x 24 sums, a thread 6 x 6. Hopper's matrix units form the chains of the CPU
 * (gpu/double_product.cuh); other devices take their plain units, since nobody has tested the order of
 * theirs. Where a group has many panels, several blocks share them: rounded panels are integers, which
 * atomic additions add in any order. */
#include "core/operation/gram/column_gram.h"
#include "gpu/double_product.cuh"
#include "gpu/internal.cuh"
#include "gpu/shared.cuh"

HcColumnGramFn hc_gpu_column_gram;

namespace {

enum {
    PANEL = HC_COLUMN_PANEL,
    STRIP = HC_COLUMN_STRIP,
    WARP = 32,
    THREADS = 256,
    OWN = 6,    /* rows and columns of sums of a thread */
    TALL = 48,  /* rows of a warp, its columns are a strip */
    SIDE = 96,  /* rows and columns of a block of threads: 2 x 4 warps */
    CHUNK = 16, /* pixels in shared memory */
    STEP = 4,   /* of them are multiplied at once */
    APART = 8,  /* rows between those of a thread, columns between its pairs of columns */
    PITCH = SIDE + 8,
    RING = 3, /* chunks in shared memory: one is multiplied, others are on their way */
    WARPS = THREADS / WARP,
    SLICES = 2048 /* blocks of threads that are worth having */
};

struct Job {
    HcView before, in; /* interior rows; no rows = none */
    int32_t width, groups;
    int32_t tiles; /* of SIDE x SIDE sums, of a group */
    size_t values; /* of the sums of a group */
    int32_t rows;  /* of sums: bands and 1 */
    const float *largest;
    const double *scale;
    unsigned long long *sums, *far;
    uint8_t *near;  /* [rows][samples] */
    int32_t *list;  /* [groups][rows * width] pixels of the window, those of a group in front */
    int32_t *count; /* [groups] */
};

__device__ inline const float *pixel_at(const Job &job, int64_t pixel) {
    int64_t first = job.before.rows * job.in.samples;
    return pixel < first ? job.before.data + pixel * job.in.bands
                         : job.in.data + (pixel - first) * job.in.bands;
}

/* A warp a pixel. */
__global__ void __launch_bounds__(THREADS) mark(const Job job) {
    int64_t pixel = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / WARP;
    int64_t first = job.before.rows * job.in.samples;
    int lane = (int)threadIdx.x % WARP;
    if (pixel >= first + job.in.rows * job.in.samples) {
        return;
    }
    bool valid = (pixel < first ? job.before.mask[pixel] : job.in.mask[pixel - first]) != 0;
    bool far = false;
    const float *x = pixel_at(job, pixel);
    for (int b = lane; valid && b < job.in.bands; b += WARP) {
        far |= !(fabsf(x[b]) <= job.largest[b]);
    }
    far = __any_sync(0xFFFFFFFFU, far) != 0;
    if (lane == 0) {
        job.near[pixel] = valid && !far;
        if (far) {
            atomicAdd(job.far, 1ULL);
        }
    }
}

/* A block of threads a group: its pixels, in their order. */
__global__ void __launch_bounds__(THREADS) list(const Job job) {
    __shared__ int32_t of_warp[THREADS / WARP];
    int64_t group = blockIdx.x;
    int64_t begin = group * job.width;
    int64_t columns = min((int64_t)job.width, job.in.samples - begin);
    int64_t rows = job.before.rows + job.in.rows;
    int32_t *to = job.list + begin * rows;
    int warp = (int)threadIdx.x / WARP;
    int lane = (int)threadIdx.x % WARP;
    int32_t found = 0;
    for (int64_t first = 0; first < rows * columns; first += THREADS) {
        int64_t at = first + threadIdx.x;
        int64_t pixel = at / columns * job.in.samples + begin + at % columns;
        bool near = at < rows * columns && job.near[pixel] != 0;
        unsigned marks = __ballot_sync(0xFFFFFFFFU, near);
        if (lane == 0) {
            of_warp[warp] = __popc(marks);
        }
        __syncthreads();
        int32_t place = found + __popc(marks & ((1U << lane) - 1));
        for (int w = 0; w < THREADS / WARP; w++) {
            place += w < warp ? of_warp[w] : 0;
            found += of_warp[w];
        }
        if (near) {
            to[place] = (int32_t)pixel;
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        job.count[group] = found;
    }
}

/* Brings bands from `first` on of up to CHUNK pixels; a warp takes two pixels, its lanes the bands. The band
 * after the last one is 1. Pixels that are not there are 0. */
__device__ inline void fetch(const float *const *x, int32_t pixels, int32_t first, int32_t bands,
                             float (*to)[PITCH]) {
#pragma unroll
    for (int p = 0; p < CHUNK / WARPS; p++) {
        int k = (int)threadIdx.x / WARP + p * WARPS;
#pragma unroll
        for (int i = 0; i < SIDE / WARP; i++) {
            int32_t at = (int)threadIdx.x % WARP + i * WARP;
            if (k < pixels && first + at < bands) {
                hc_copy_4(&to[k][at], x[k] + first + at);
            } else {
                to[k][at] = k < pixels && first + at == bands ? 1.0F : 0.0F;
            }
        }
    }
}

/* Adds the products of STEP pixels to the sums of a warp. rows, columns: the first ones of the warp. */
__device__ inline void multiply_step(const float (*rows)[PITCH], const float (*columns)[PITCH],
                                     double (&t)[OWN][OWN]) {
    int g = (int)threadIdx.x % WARP / STEP;
    int own = (int)threadIdx.x % STEP;
#if __CUDA_ARCH__ == 900
    double a[OWN];
#pragma unroll
    for (int r = 0; r < OWN; r++) {
        a[r] = (double)rows[own][g + r * APART];
    }
#pragma unroll
    for (int c = 0; c < OWN; c += 2) {
        double b = (double)columns[own][g + c / 2 * APART];
#pragma unroll
        for (int r = 0; r < OWN; r += 2) {
            hc_multiply_16x8x4(t[r][c], t[r][c + 1], t[r + 1][c], t[r + 1][c + 1], a[r], a[r + 1], b);
        }
    }
#else
    for (int k = 0; k < STEP; k++) {
#pragma unroll
        for (int r = 0; r < OWN; r++) {
#pragma unroll
            for (int c = 0; c < OWN; c++) {
                t[r][c] = fma((double)rows[k][g + r * APART],
                              (double)columns[k][own * 2 + c / 2 * APART + c % 2], t[r][c]);
            }
        }
    }
#endif
}

/* A sum in units of its scales, rounded: the integers of both halves are the mantissas of sums with 1.5 2^52.
 */
__device__ inline unsigned long long rounded(double sum, double row, double column) {
    const double magic = 0x1.8p52;
    double units = sum * row * column;
    double upper = fma(units, 0x1p-32, magic); /* products by powers of two are exact */
    double lower = fma(magic - upper, 0x1p32, units) + magic;
    long long above = __double_as_longlong(upper) - __double_as_longlong(magic);
    long long below = __double_as_longlong(lower) - __double_as_longlong(magic);
    return ((unsigned long long)above << 32) + (unsigned long long)below;
}

/* Other blocks may add to the same sums. Where none does, atomic additions are as quick as any: nobody waits
 * for them. */
__device__ inline void add_sums(const Job &job, const double (&t)[OWN][OWN], int64_t group, int32_t row0,
                                int32_t column0) {
    unsigned long long *sums = job.sums + (size_t)group * job.values;
#pragma unroll
    for (int at = 0; at < OWN * OWN / 2; at++) {
        int r = at / (OWN / 2);
        int c = at % (OWN / 2);
        int32_t row = row0 + r * APART;
        int32_t column = column0 + c * APART;
        if (row < job.rows && column <= row) {
            unsigned long long *to = sums + hc_column_place(job.in.bands, row, column);
            double scale = job.scale[row];
            atomicAdd(to, rounded(t[r][2 * c], scale, job.scale[column]));
            atomicAdd(to + 1, rounded(t[r][2 * c + 1], scale, job.scale[column + 1]));
        }
    }
}

/* blockIdx.x: the group, and which 96 x 96 sums of its lower triangle; y: which of its panels. */
__global__ void __launch_bounds__(THREADS, 2) multiply(const Job job) {
    __shared__ float rows[RING][CHUNK][PITCH];
    __shared__ float columns[RING][CHUNK][PITCH];
    __shared__ const float *pixel[PANEL];
    int32_t tile_row = 0;
    int32_t tile = (int32_t)blockIdx.x % job.tiles;
    while (tile > tile_row) {
        tile -= ++tile_row;
    }
    bool diagonal = tile == tile_row;
    int64_t group = (int32_t)blockIdx.x / job.tiles;
    int warp = (int)threadIdx.x / WARP;
    int lane = (int)threadIdx.x % WARP;
    int warp_row = warp / (SIDE / STRIP) * TALL;
    int warp_column = warp % (SIDE / STRIP) * STRIP;
    int32_t row0 = tile_row * SIDE;
    int32_t column0 = tile * SIDE;
    /* Whether a sum of the warp is in the triangle. */
    bool works = row0 + warp_row < job.rows && column0 + warp_column < row0 + warp_row + TALL;
    const float(*second)[CHUNK][PITCH] = diagonal ? rows : columns;
    const int32_t *listed = job.list + group * job.width * (job.before.rows + job.in.rows);
    int32_t count = job.count[group];
    for (int32_t panel = (int32_t)blockIdx.y * PANEL; panel < count; panel += (int32_t)gridDim.y * PANEL) {
        double t[OWN][OWN] = {{0}};
        int32_t pixels = min(PANEL, count - panel);
        __syncthreads();
        if (threadIdx.x < PANEL) {
            pixel[threadIdx.x] = pixel_at(job, (int)threadIdx.x < pixels ? listed[panel + threadIdx.x] : 0);
        }
        __syncthreads();
        int32_t chunks = (pixels + CHUNK - 1) / CHUNK;
        auto bring = [&](int32_t chunk) {
            int32_t k0 = chunk * CHUNK;
            if (k0 < pixels) {
                fetch(pixel + k0, pixels - k0, row0, job.in.bands, rows[chunk % RING]);
                if (!diagonal) {
                    fetch(pixel + k0, pixels - k0, column0, job.in.bands, columns[chunk % RING]);
                }
            }
            hc_copies_end();
        };
        for (int32_t chunk = 0; chunk < RING - 1; chunk++) {
            bring(chunk);
        }
        for (int32_t chunk = 0; chunk < chunks; chunk++) {
            hc_copies_wait<RING - 2>();
            __syncthreads();
            bring(chunk + RING - 1); /* where the chunk before lay */
            for (int k = 0; works && k < CHUNK; k += STEP) {
                multiply_step((const float(*)[PITCH]) & rows[chunk % RING][k][warp_row],
                              (const float(*)[PITCH]) & second[chunk % RING][k][warp_column], t);
            }
        }
        if (works) {
            add_sums(job, t, group, row0 + warp_row + lane / STEP, column0 + warp_column + lane % STEP * 2);
        }
    }
}

/* The interior rows. */
HcView interior(const HcBlock *block) {
    HcBlock part = hc_block_part(block, block->line0, block->line0 + block->lines, 0);
    return hc_view(&part);
}

/* Blocks of threads that share the panels of a group. */
unsigned slices_of(const Job *job, int64_t blocks) {
    int64_t pixels = (job->before.rows + job->in.rows) * min((int64_t)job->width, (int64_t)job->in.samples);
    int64_t panels = hc_div_up(pixels, PANEL);
    return (unsigned)hc_min64(panels, hc_div_up(SLICES, blocks));
}

} // namespace

HcStatus hc_gpu_column_gram(HcQueue *queue, const HcBlock *before, const HcBlock *in,
                            const HcColumnRule *rule, int64_t *sums, int64_t *far, void *work, HcError *err) {
    HC_OR_RETURN(hc_gpu_use(queue->gpu, err));
    size_t at = 0;
    Job job = {};
    job.in = interior(in);
    if (before != NULL) {
        job.before = interior(before);
    }
    int64_t pixels = (job.before.rows + job.in.rows) * in->samples;
    job.width = rule->width;
    job.groups = (int32_t)hc_column_groups(in->samples, rule->width);
    int32_t sides = (int32_t)hc_div_up((int64_t)hc_column_strips(in->bands) * STRIP, SIDE);
    job.tiles = sides * (sides + 1) / 2;
    job.values = hc_column_values(in->bands);
    job.rows = in->bands + 1;
    job.largest = rule->largest;
    job.scale = rule->scale;
    job.sums = (unsigned long long *)sums;
    job.far = (unsigned long long *)far;
    job.near = (uint8_t *)hc_take((char *)work, &at, (size_t)pixels);
    job.list = (int32_t *)hc_take((char *)work, &at, (size_t)pixels * sizeof(int32_t));
    job.count = (int32_t *)hc_take((char *)work, &at, (size_t)job.groups * sizeof(int32_t));
    mark<<<(unsigned)hc_div_up(pixels * WARP, THREADS), THREADS, 0, queue->stream>>>(job);
    HC_OR_RETURN(hc_gpu_launched("marking the pixels of columns", err));
    list<<<(unsigned)job.groups, THREADS, 0, queue->stream>>>(job);
    HC_OR_RETURN(hc_gpu_launched("listing the pixels of columns", err));
    int64_t blocks = (int64_t)job.tiles * job.groups;
    dim3 grid((unsigned)blocks, slices_of(&job, blocks));
    multiply<<<grid, THREADS, 0, queue->stream>>>(job);
    return hc_gpu_launched("adding products of columns", err);
}
