/* Scores of targets with a background for each group of columns.
 *
 * A dot product waits for memory: eight lanes share a pixel, for the eight parts of its sum, and have the
 * pixels of eight lines below each other, for which they read the filter once. Whitening waits for
 * arithmetic: a block takes 32 pixels of a group and all rows of the triangle, a thread four pixels by four
 * rows in registers. The squares of a pixel are added by one thread, in the order of the rows. */
#include "core/operation/image/column_scores.h"
#include "gpu/internal.cuh"

HcColumnScoresFn hc_gpu_column_scores;

namespace {

enum { THREADS = 256, PARTS = 8, ACROSS = THREADS / PARTS, LINES = 8 };

enum {
    ROWS = HC_WHITENING_ROWS,
    PIXELS = 4,                       /* of a thread */
    PANEL = 32,                       /* pixels of a block */
    QUADS = THREADS * PIXELS / PANEL, /* quads of rows that a block takes at once */
    CHUNK = 32,                       /* bands in shared memory */
    PITCH = PANEL + 2
};

struct Job {
    const float *x; /* of the output's first pixel */
    const uint8_t *mask;
    HcView out;
    HcColumnScoring how;
    double *square; /* [pixels], NULL except for COHERENCE */
    int64_t panels; /* of a whole group */
    int32_t bands;
};

/* The sum of the parts, in all lanes of a pixel. */
__device__ inline double join(double part) {
#pragma unroll
    for (int step = 1; step < PARTS; step *= 2) {
        part += __shfl_xor_sync(0xffffffff, part, step);
    }
    return part;
}

/* ---- whitening ---- */

/* Pixel i of a group, in the order of its lines; -1 after the last. */
struct Group {
    int64_t begin, width, samples, count;

    __device__ int64_t pixel(int64_t i) const {
        return i < count ? i / width * samples + begin + i % width : -1;
    }
};

/* Bands from `first` on of a panel: x - mean, and 0 where there is no pixel. */
__device__ inline void put_chunk(const Job &job, const int64_t pixel[PIXELS], const double *mean,
                                 int64_t first, double panel[CHUNK][PITCH]) {
    int64_t b = first + threadIdx.x % CHUNK;
    double middle = b < job.bands ? __ldg(mean + b) : 0;
#pragma unroll
    for (int i = 0; i < PIXELS; i++) {
        bool there = pixel[i] >= 0 && b < job.bands;
        double value = there ? (double)__ldg(job.x + pixel[i] * job.bands + b) - middle : 0;
        panel[threadIdx.x % CHUNK][threadIdx.x / CHUNK + i * (THREADS / CHUNK)] = value;
    }
}

/* y += rows x for the bands of a chunk. */
__device__ inline void multiply(const double *rows, const double (*panel)[PITCH], int count,
                                double y[ROWS][PIXELS]) {
#pragma unroll 4
    for (int k = 0; k < count; k++) {
        double2 low = __ldg((const double2 *)(rows + (int64_t)k * ROWS));
        double2 high = __ldg((const double2 *)(rows + (int64_t)k * ROWS) + 1);
        double2 left = *(const double2 *)panel[k];
        double2 right = *((const double2 *)panel[k] + 1);
        double row[ROWS] = {low.x, low.y, high.x, high.y};
        double x[PIXELS] = {left.x, left.y, right.x, right.y};
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
#pragma unroll
            for (int p = 0; p < PIXELS; p++) {
                y[r][p] += row[r] * x[p];
            }
        }
    }
}

__global__ void __launch_bounds__(THREADS) add_squares(const Job job) {
    __shared__ __align__(16) double panel[CHUNK][PITCH];
    __shared__ double white[QUADS * ROWS][PANEL + 1];
    int64_t number = blockIdx.x / job.panels;
    int64_t first = blockIdx.x % job.panels * PANEL;
    Group group;
    group.begin = number * job.how.width;
    group.width = min((int64_t)job.how.width, job.out.samples - group.begin);
    group.samples = job.out.samples;
    group.count = group.width * job.out.rows;
    if (first >= group.count || job.how.scored[number] == 0) {
        return;
    }
    const double *mean = job.how.filter + number * (1 + job.out.bands) * job.bands;
    const double *triangle = job.how.whitening + number * (int64_t)job.how.stride;
    int64_t quads = hc_whitening_quads(job.bands);
    int side = (int)threadIdx.x % (PANEL / PIXELS) * PIXELS; /* first pixel of the thread */
    int below = (int)threadIdx.x / (PANEL / PIXELS);         /* its quad, of those at once */
    int64_t pixel[PIXELS];                                   /* that it copies */
    double square = 0;                                       /* of the pixel threadIdx.x */
#pragma unroll
    for (int i = 0; i < PIXELS; i++) {
        pixel[i] = group.pixel(first + threadIdx.x / CHUNK + i * (THREADS / CHUNK));
    }
    for (int64_t top = 0; top < quads; top += QUADS) {
        int64_t quad = top + below;
        int64_t width = quad < quads ? hc_whitening_width(quad, job.bands) : 0;
        int64_t last = min(top + QUADS, quads) - 1;
        const double *rows = triangle + hc_whitening_offset(quad);
        double y[ROWS][PIXELS] = {};
        for (int64_t b = 0; b < hc_whitening_width(last, job.bands); b += CHUNK) {
            __syncthreads();
            put_chunk(job, pixel, mean, b, panel);
            __syncthreads();
            int64_t count = min(width - b, (int64_t)CHUNK);
            multiply(rows + b * ROWS, (const double(*)[PITCH]) & panel[0][side], (int)count, y);
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
#pragma unroll
            for (int p = 0; p < PIXELS; p++) {
                white[below * ROWS + r][side + p] = y[r][p];
            }
        }
        __syncthreads();
        for (int r = 0; r < (last - top + 1) * ROWS && threadIdx.x < PANEL; r++) {
            square += white[r][threadIdx.x] * white[r][threadIdx.x];
        }
    }
    int64_t own = threadIdx.x < PANEL ? group.pixel(first + threadIdx.x) : -1;
    if (own >= 0) {
        job.square[own] = square;
    }
}

/* ---- scores ---- */

/* What a sum becomes; both are the pixel's. */
template <HcColumnScore KIND>
__device__ inline double score_of(double share, double deviation, double square) {
    if constexpr (KIND == HC_COLUMN_SHARE) {
        return share;
    }
    double along = share / deviation;
    double power = along * fabs(along);
    return KIND == HC_COLUMN_POWER ? power : square == 0 ? 0 : power / square;
}

template <HcColumnScore KIND> __global__ void __launch_bounds__(THREADS) score(const Job job) {
    int64_t runs = (job.out.samples + ACROSS - 1) / ACROSS;
    int64_t sample = blockIdx.x % runs * ACROSS + threadIdx.x / PARTS;
    int64_t row = blockIdx.x / runs * LINES;
    int64_t lines = sample < job.out.samples ? min((int64_t)LINES, job.out.rows - row) : 0;
    int lane = (int)threadIdx.x % PARTS;
    int64_t group = min(sample, (int64_t)job.out.samples - 1) / job.how.width;
    int64_t targets = job.out.bands;
    int64_t below = (int64_t)job.out.samples; /* pixels to the next line */
    int64_t first = row * below + sample;
    const float *x = job.x + first * job.bands;
    const double *mean = job.how.filter + group * (1 + targets) * job.bands;
    bool scored = job.how.scored[group] != 0;
    for (int64_t j = 0; j < targets; j++) {
        const double *weight = mean + (j + 1) * job.bands;
        double part[LINES] = {};
#pragma unroll 2
        for (int64_t b = lane; b < job.bands; b += PARTS) {
            double middle = __ldg(mean + b);
            double factor = __ldg(weight + b);
#pragma unroll
            for (int i = 0; i < LINES; i++) {
                double value = i < lines ? (double)__ldg(x + i * below * job.bands + b) : 0;
                part[i] += (value - middle) * factor;
            }
        }
        double deviation = KIND == HC_COLUMN_SHARE ? 1 : __ldg(job.how.deviation + group * targets + j);
#pragma unroll
        for (int i = 0; i < LINES; i++) {
            double share = join(part[i]);
            int64_t pixel = first + i * below;
            if (lane == i % PARTS && i < lines) {
                bool valid = __ldg(job.mask + pixel) != 0 && scored;
                double square = KIND == HC_COLUMN_COHERENCE && valid ? job.square[pixel] : 0;
                job.out.data[pixel * targets + j] =
                    valid ? (float)score_of<KIND>(share, deviation, square) : 0;
                job.out.mask[pixel] = valid;
            }
        }
    }
}

typedef void Kernel(Job job);

} // namespace

HcStatus hc_gpu_column_scores(HcQueue *queue, const HcBlock *in, const HcColumnScoring *how,
                              const HcBlock *out, HcError *err) {
    HC_OR_RETURN(hc_gpu_use(queue->gpu, err));
    static Kernel *const kernels[] = {score<HC_COLUMN_SHARE>, score<HC_COLUMN_POWER>,
                                      score<HC_COLUMN_COHERENCE>};
    /* Rows of both blocks lie without gaps, so pixels are counted through. */
    int64_t skip = (hc_block_first_line(out) - hc_block_first_line(in)) * in->samples;
    Job job = {};
    job.x = in->data + skip * in->bands;
    job.mask = in->mask + skip;
    job.out = hc_view(out);
    job.how = *how;
    job.bands = in->bands;
    int64_t groups = hc_div_up(in->samples, how->width);
    if (how->kind == HC_COLUMN_COHERENCE) {
        HC_OR_RETURN(hc_gpu_scratch(queue, hc_block_pixels(out) * sizeof(double), (void **)&job.square, err));
        job.panels = hc_div_up(hc_min64(how->width, in->samples) * job.out.rows, PANEL);
        add_squares<<<(unsigned)(groups * job.panels), THREADS, 0, queue->stream>>>(job);
        HC_OR_RETURN(hc_gpu_launched("whitening columns", err));
    }
    int64_t blocks = hc_div_up(job.out.samples, ACROSS) * hc_div_up(job.out.rows, LINES);
    kernels[how->kind]<<<(unsigned)blocks, THREADS, 0, queue->stream>>>(job);
    return hc_gpu_launched("scoring columns", err);
}
