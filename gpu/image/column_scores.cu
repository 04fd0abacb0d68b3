/* Scores of targets with a background for each group of columns.
 *
 * A dot product waits for memory: eight lanes share a pixel, for the eight parts of its sum, and have the
 * pixels of eight lines below each other, for which they read the filter once.
 *
 * Whitening waits for arithmetic: a block takes 32 pixels of a group and up to 256 rows of the triangle. A
 * warp takes 16 rows near the top and 16 near the bottom, so that all warps have the same work; a thread has
 * four pixels by four rows of both in registers. Rows are on their way to shared memory while those before
 * them are multiplied. The squares of a pixel are added by one thread, in the order of the rows. */
#include "core/operation/image/column_scores.h"
#include "gpu/internal.cuh"
#include "gpu/shared.cuh"

HcColumnScoresFn hc_gpu_column_scores;

namespace {

enum { THREADS = 256, PARTS = 8, ACROSS = THREADS / PARTS, LINES = 8 };

enum {
    ROWS = HC_WHITENING_ROWS,
    PIXELS = 4,         /* of a thread */
    PANEL = 32,         /* pixels of a block */
    QUADS = 4,          /* of rows, of a warp's top or bottom */
    WARPS = 8,          /* of a block, at most */
    CHUNK = 32 * WARPS, /* bands in shared memory, at most, and rows at once */
    PITCH = PANEL + 2,
    STEP = 4,                      /* bands of the triangle that are copied at once */
    RING = 2,                      /* such copies in shared memory */
    COPY = 2 * STEP * QUADS * ROWS /* numbers of one, for the top and the bottom */
};

struct Job {
    const float *x; /* of the output's first pixel */
    const uint8_t *mask;
    HcView out;
    HcColumnScoring how;
    double *square; /* [pixels], NULL except for COHERENCE */
    int64_t panels; /* of a whole group */
    int32_t bands;
    int32_t chunk; /* bands in shared memory, and rows at once, of a block that whitens */
    int32_t warps; /* of it */
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
__device__ inline void put_chunk(const Job &job, const Group &group, int64_t pixel, const double *mean,
                                 int32_t first, int32_t count, double (*panel)[PITCH]) {
    int lane = (int)threadIdx.x % 32;
    for (int p = (int)threadIdx.x / 32; p < PANEL; p += job.warps) {
        int64_t at = group.pixel(pixel + p);
        const float *x = job.x + at * job.bands + first;
#pragma unroll 4
        for (int b = lane; b < count; b += 32) {
            panel[b][p] = at >= 0 ? (double)__ldg(x + b) - __ldg(mean + first + b) : 0;
        }
    }
}

/* Four quads of rows of the triangle, of which a thread has one. */
struct Rows {
    const double *copied;      /* of the quad and band that this lane copies */
    int32_t ends;              /* bands of the quad that this lane copies */
    int32_t width;             /* bands of the quad that this lane multiplies */
    int32_t shortest, longest; /* bands of the first quad and of the last */
};

/* Quads first to first + 3 of the triangle, or no quads. */
__device__ inline Rows rows_of(const Job &job, const double *triangle, int64_t first, bool some, int own) {
    int64_t quads = some ? hc_whitening_quads(job.bands) : 0;
    int lane = (int)threadIdx.x % 32;
    int64_t copies = first + lane / 8;
    int64_t last = min(first + QUADS, quads) - 1;
    Rows rows;
    rows.copied = triangle + hc_whitening_offset(copies) + lane % 8 * 2;
    rows.ends = copies < quads ? (int32_t)hc_whitening_width(copies, job.bands) : 0;
    rows.width = first + own < quads ? (int32_t)hc_whitening_width(first + own, job.bands) : 0;
    rows.shortest = first + QUADS <= quads ? (int32_t)hc_whitening_width(first, job.bands) : 0;
    rows.longest = first < quads ? (int32_t)hc_whitening_width(last, job.bands) : 0;
    return rows;
}

/* Bands from `band` on of the rows, behind each other for a band. */
__device__ inline void copy_rows(const Rows &rows, int32_t band, double *to) {
    int lane = (int)threadIdx.x % 32;
    if (band + lane % 8 / 2 < rows.ends) {
        hc_copy_16(to + lane % 8 / 2 * QUADS * ROWS + lane / 8 * ROWS + lane % 2 * 2,
                   rows.copied + (int64_t)band * ROWS);
    }
}

__device__ inline void multiply(const double *row, const double (&x)[PIXELS], double (&y)[ROWS][PIXELS]) {
    double2 low = *(const double2 *)row;
    double2 high = *((const double2 *)row + 1);
    double r[ROWS] = {low.x, low.y, high.x, high.y};
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
#pragma unroll
        for (int p = 0; p < PIXELS; p++) {
            y[i][p] += r[i] * x[p];
        }
    }
}

/* STEP bands of both sets of rows, or of the second. ENDS: a quad has only the `left` next bands. */
template <bool BOTH, bool ENDS>
__device__ inline void multiply_step(const double (*panel)[PITCH], const double *rows, int own, int side,
                                     const int32_t (&left)[2], double (&y)[2][ROWS][PIXELS]) {
#pragma unroll
    for (int k = 0; k < STEP; k++) {
        const double *from = panel[k] + side;
        const double *row = rows + (k * QUADS + own) * ROWS;
        double2 low = *(const double2 *)from;
        double2 high = *(const double2 *)(from + PANEL / 2);
        double x[PIXELS] = {low.x, low.y, high.x, high.y};
        if (BOTH && (!ENDS || k < left[0])) {
            multiply(row, x, y[0]);
        }
        if (!ENDS || k < left[1]) {
            multiply(row + COPY / 2, x, y[1]);
        }
    }
}

/* y += rows x for `count` bands from `first` on, of two sets of rows, the second of which is not shorter. */
__device__ inline void multiply_chunk(const Rows (&rows)[2], const double (*panel)[PITCH], double *ring,
                                      int32_t first, int32_t count, int own, int side,
                                      double (&y)[2][ROWS][PIXELS]) {
    int32_t end = min(rows[1].longest, first + count);
    for (int i = 0; i < RING; i++) {
        copy_rows(rows[0], first + i * STEP, ring + i * COPY);
        copy_rows(rows[1], first + i * STEP, ring + i * COPY + COPY / 2);
        hc_copies_end();
    }
    for (int32_t at = first; at < end; at += STEP) {
        double *here = ring + (at - first) / STEP % RING * COPY;
        hc_copies_wait<RING - 1>();
        __syncwarp();
        const double(*x)[PITCH] = panel + (at - first);
        int32_t left[2] = {rows[0].width - at, rows[1].width - at};
        if (at >= rows[0].longest && at + STEP <= rows[1].shortest) {
            multiply_step<false, false>(x, here, own, side, left, y);
        } else if (at + STEP <= rows[0].shortest && at + STEP <= rows[1].shortest) {
            multiply_step<true, false>(x, here, own, side, left, y);
        } else {
            multiply_step<true, true>(x, here, own, side, left, y);
        }
        __syncwarp();
        copy_rows(rows[0], at + RING * STEP, here);
        copy_rows(rows[1], at + RING * STEP, here + COPY / 2);
        hc_copies_end();
    }
    hc_copies_wait<0>();
}

__global__ void __launch_bounds__(WARPS * 32, 2) add_squares(const Job job) {
    extern __shared__ __align__(16) double memory[];
    double(*panel)[PITCH] = (double(*)[PITCH])memory; /* bands, later rows; then the copies of each warp */
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
    int32_t chunk = job.chunk;
    int lane = (int)threadIdx.x % 32;
    int warp = (int)threadIdx.x / 32;
    double *ring = memory + chunk * PITCH + warp * RING * COPY;
    /* Which lanes load the same numbers: half a warp is served at once. */
    int own = (lane & 1) | (lane >> 2 & 1) << 1;
    int side = ((lane >> 1 & 1) | lane >> 3 << 1) * 2; /* its pixels: two, and two half a panel on */
    double square = 0;                                 /* of the pixel threadIdx.x */
    for (int32_t top = 0; top < job.bands; top += chunk) {
        int32_t rows = min(job.bands - top, chunk);
        int32_t sets = (rows + QUADS * ROWS - 1) / (QUADS * ROWS);
        int32_t low = warp;
        int32_t high = sets - 1 - warp;
        Rows both[2] = {rows_of(job, triangle, top / ROWS + low * QUADS, low < high, own),
                        rows_of(job, triangle, top / ROWS + high * QUADS, low <= high, own)};
        double y[2][ROWS][PIXELS] = {};
        for (int32_t b = 0; b < top + rows; b += chunk) {
            int32_t count = min(chunk, top + rows - b);
            __syncthreads();
            put_chunk(job, group, first, mean, b, count, panel);
            __syncthreads();
            multiply_chunk(both, panel, ring, b, count, own, side, y);
        }
        __syncthreads();
#pragma unroll
        for (int r = 0; r < 2 * ROWS; r++) {
            int32_t row = (r / ROWS == 0 ? low : high) * QUADS * ROWS + own * ROWS + r % ROWS;
            if (r / ROWS == 0 ? low < high : low <= high) {
                const double *from = y[r / ROWS][r % ROWS];
                *(double2 *)(panel[row] + side) = make_double2(from[0], from[1]);
                *(double2 *)(panel[row] + side + PANEL / 2) = make_double2(from[2], from[3]);
            }
        }
        __syncthreads();
#pragma unroll 8
        for (int32_t r = 0; r < rows && threadIdx.x < PANEL; r++) {
            square += panel[r][threadIdx.x] * panel[r][threadIdx.x];
        }
    }
    int64_t own_pixel = threadIdx.x < PANEL ? group.pixel(first + threadIdx.x) : -1;
    if (own_pixel >= 0) {
        job.square[own_pixel] = square;
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

template <HcColumnScore KIND> __global__ void __launch_bounds__(THREADS, 3) score(const Job job) {
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

/* How a block whitens; returns its shared memory. */
size_t whitening_bytes(Job *job, int32_t bands) {
    enum { SET = QUADS * ROWS };
    job->chunk = (bands + SET - 1) / SET * SET;
    job->warps = (job->chunk / SET + 1) / 2;
    return ((size_t)job->chunk * PITCH + (size_t)job->warps * RING * COPY) * sizeof(double);
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
        size_t bytes = whitening_bytes(&job, (int32_t)hc_min64(in->bands, CHUNK));
        if (bytes > queue->gpu->shared_memory) {
            bytes = whitening_bytes(&job, CHUNK / 2);
        }
        HC_OR_RETURN(hc_gpu_check(
            cudaFuncSetAttribute(add_squares, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes),
            "whitening columns", err));
        add_squares<<<(unsigned)(groups * job.panels), (unsigned)job.warps * 32, bytes, queue->stream>>>(job);
        HC_OR_RETURN(hc_gpu_launched("whitening columns", err));
    }
    int64_t blocks = hc_div_up(job.out.samples, ACROSS) * hc_div_up(job.out.rows, LINES);
    kernels[how->kind]<<<(unsigned)blocks, THREADS, 0, queue->stream>>>(job);
    return hc_gpu_launched("scoring columns", err);
}
