/* One matrix product for every pixel: out = offset + (x - offset) * matrix, in float64, rounded once. Every
 * value is summed over the bands in one order, wherever its pixel lies. */
#include "core/operation/image/project.h"
#include "gpu/double_product.cuh"
#include "gpu/internal.cuh"

HcProjectFn hc_gpu_project;

namespace {

enum { THREADS = 128, WARP = 32, WARPS = THREADS / WARP };
enum { ROWS = 16, PIXELS = WARPS * ROWS };                /* pixels of a warp and of a thread block */
enum { DEPTH = 32, STEP = 8 };                            /* bands in shared memory and of one product */
enum { PITCH = DEPTH + 4 };                               /* 4 doubles more: columns in different banks */
enum { TILES_MAX = 4, WIDTH = 8 };                        /* components of a thread block, in tiles of 8 */
enum { HELD = PIXELS * DEPTH / THREADS, STRIDE = WARPS }; /* of the next pixels, in registers */

struct Job {
    const float *x; /* of the output's first pixel */
    const uint8_t *mask;
    const double *matrix, *in_offset, *out_offset; /* offsets: NULL = 0 */
    HcView out;
    int64_t pixels;
    int32_t bands;
    int32_t parts; /* thread blocks that share the components of a pixel */
};

/* The products of a warp, for lane 4 g + t: c[0], c[1] are row g, columns 2t and 2t + 1 of 16 x 8, c[2], c[3]
 * those of row g + 8; a[i] is row g + 8 (i % 2), column t + 4 (i / 2) of 16 x 8; b[i] is row t + 4 i, column
 * g of 8 x 8. c += a b. */
#if __CUDA_ARCH__ >= 900
__device__ inline void multiply(double c[4], const double a[4], const double b[2]) {
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
}
#else
__device__ inline void multiply(double c[4], const double a[4], const double b[2]) {
    for (int half = 0; half < 2; half++) {
        hc_multiply_8x8x4(c[0], c[1], a[2 * half], b[half]);
        hc_multiply_8x8x4(c[2], c[3], a[2 * half + 1], b[half]);
    }
}
#endif

template <int TILES> struct Shared {
    enum { COLUMNS = TILES * WIDTH, MATRIX_PITCH = COLUMNS + 4, MATRIX_HELD = DEPTH * COLUMNS / THREADS };
    union {
        struct {
            double x[PIXELS][PITCH]; /* less the offset; 0 after the last band or pixel */
            double matrix[DEPTH][MATRIX_PITCH];
        };
        float y[PIXELS][COLUMNS + 1]; /* when all has been summed */
    };
};

/* What one thread loads of the next bands while the last ones are being multiplied. */
template <int TILES> struct Held {
    float x[HELD];
    double offset;
    double matrix[Shared<TILES>::MATRIX_HELD];
};

template <int TILES>
__device__ inline void load(Held<TILES> &held, int64_t pixel, int32_t band, int32_t column, const Job &job) {
    typedef Shared<TILES> Shared;
    int thread = (int)threadIdx.x;
    int64_t b = (int64_t)band + thread % WARP;
    bool there = b < job.bands;
    int left = there ? (int)(job.pixels - pixel < PIXELS ? job.pixels - pixel : PIXELS) : 0;
    const float *x = job.x + (pixel + thread / WARP) * job.bands + b;
    held.offset = there && job.in_offset != NULL ? __ldg(job.in_offset + b) : 0;
#pragma unroll
    for (int i = 0; i < HELD; i++) {
        held.x[i] = thread / WARP + i * STRIDE < left ? __ldg(x) : 0;
        x += (int64_t)STRIDE * job.bands;
    }
#pragma unroll
    for (int i = 0; i < Shared::MATRIX_HELD; i++) {
        int at = thread + i * THREADS;
        int64_t row = (int64_t)band + at / Shared::COLUMNS;
        int64_t k = (int64_t)column + at % Shared::COLUMNS;
        bool inside = row < job.bands && k < job.out.bands;
        held.matrix[i] = inside ? __ldg(job.matrix + row * job.out.bands + k) : 0;
    }
}

template <int TILES> __device__ inline void put(const Held<TILES> &held, Shared<TILES> &to) {
    typedef Shared<TILES> Shared;
    int thread = (int)threadIdx.x;
#pragma unroll
    for (int i = 0; i < HELD; i++) {
        to.x[thread / WARP + i * STRIDE][thread % WARP] = (double)held.x[i] - held.offset;
    }
#pragma unroll
    for (int i = 0; i < Shared::MATRIX_HELD; i++) {
        int at = thread + i * THREADS;
        to.matrix[at / Shared::COLUMNS][at % Shared::COLUMNS] = held.matrix[i];
    }
}

template <int TILES>
__device__ inline void multiply_tile(double sum[TILES][4], const Shared<TILES> &shared, int32_t depth) {
    int lane = (int)threadIdx.x % WARP;
    int row = (int)threadIdx.x / WARP * ROWS + lane / 4;
#pragma unroll
    for (int k = 0; k < DEPTH; k += STEP) {
        if (k < depth) {
            double a[4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                a[i] = shared.x[row + i % 2 * 8][k + i / 2 * 4 + lane % 4];
            }
#pragma unroll
            for (int n = 0; n < TILES; n++) {
                double b[2];
                b[0] = shared.matrix[k + lane % 4][n * WIDTH + lane / 4];
                b[1] = shared.matrix[k + 4 + lane % 4][n * WIDTH + lane / 4];
                multiply(sum[n], a, b);
            }
        }
    }
}

/* Through shared memory, so that whole rows are written. */
template <int TILES>
__device__ inline void write(const double sum[TILES][4], Shared<TILES> &shared, int64_t pixel, int32_t column,
                             const Job &job) {
    int lane = (int)threadIdx.x % WARP;
    int first = (int)threadIdx.x / WARP * ROWS;
    int32_t left = job.out.bands - column;
#pragma unroll
    for (int n = 0; n < TILES; n++) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int k = n * WIDTH + lane % 4 * 2 + i % 2;
            double offset = k < left && job.out_offset != NULL ? __ldg(job.out_offset + column + k) : 0;
            shared.y[first + lane / 4 + i / 2 * 8][k] = (float)(sum[n][i] + offset);
        }
    }
    __syncwarp();
    for (int p = 0; p < ROWS; p++) {
        int64_t at = pixel + first + p;
        if (at < job.pixels && lane < TILES * WIDTH && lane < left) {
            float value = __ldg(job.mask + at) != 0 ? shared.y[first + p][lane] : 0;
            job.out.data[at * job.out.bands + column + lane] = value;
        }
    }
}

/* A thread block takes PIXELS pixels and up to TILES * WIDTH components. */
template <int TILES> __global__ void __launch_bounds__(THREADS, 4) project(const Job job) {
    __shared__ Shared<TILES> shared;
    Held<TILES> held;
    double sum[TILES][4] = {};
    uint32_t part = blockIdx.x % (uint32_t)job.parts;
    int64_t pixel = (int64_t)(blockIdx.x / (uint32_t)job.parts) * PIXELS;
    int32_t column = (int32_t)part * TILES * WIDTH;
    load(held, pixel, 0, column, job);
    for (int64_t band = 0; band < job.bands; band += DEPTH) {
        __syncthreads(); /* the bands before have been multiplied */
        put(held, shared);
        __syncthreads();
        if (band + DEPTH < job.bands) {
            load(held, pixel, (int32_t)(band + DEPTH), column, job);
        }
        multiply_tile(sum, shared, job.bands - (int32_t)band);
    }
    __syncthreads();
    write(sum, shared, pixel, column, job);
    int64_t at = pixel + threadIdx.x;
    if (part == 0 && threadIdx.x < PIXELS && at < job.pixels) {
        job.out.mask[at] = job.mask[at];
    }
}

typedef void Kernel(Job job);

} // namespace

HcStatus hc_gpu_project(HcQueue *queue, const HcBlock *in, const double *matrix, const double *in_offset,
                        const double *out_offset, const HcBlock *out, HcError *err) {
    HC_OR_RETURN(hc_gpu_use(queue->gpu, err));
    static Kernel *const kernels[TILES_MAX] = {project<1>, project<2>, project<3>, project<4>};
    /* Rows of both blocks lie without gaps, so pixels are counted through. */
    int64_t skip = (hc_block_first_line(out) - hc_block_first_line(in)) * in->samples;
    Job job = {};
    job.x = in->data + skip * in->bands;
    job.mask = in->mask + skip;
    job.matrix = matrix;
    job.in_offset = in_offset;
    job.out_offset = out_offset;
    job.out = hc_view(out);
    job.pixels = (int64_t)hc_block_pixels(out);
    job.bands = in->bands;
    int64_t all = hc_div_up(out->bands, WIDTH);
    job.parts = (int32_t)hc_div_up(all, TILES_MAX);
    int64_t tiles = hc_div_up(all, job.parts);
    int64_t blocks = hc_div_up(job.pixels, PIXELS) * job.parts;
    kernels[tiles - 1]<<<(unsigned)blocks, THREADS, 0, queue->stream>>>(job);
    return hc_gpu_launched("projecting", err);
}
