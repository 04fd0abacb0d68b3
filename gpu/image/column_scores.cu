/* Scores of targets with a background for each group of columns.
 *
 * A dot product waits for memory: eight lanes share a pixel, for the eight parts of its sum, and have the
 * pixels of eight lines below each other, for which they read the filter once. Whitening waits for
 * arithmetic: a block takes 32 pixels of a group into shared memory, and each of its warps some strips of 32
 * rows of the triangle. */
#include "core/operation/column_scores.h"
#include "gpu/internal.cuh"

HcColumnScoresFn hc_gpu_column_scores;

namespace {

enum { THREADS = 256, PARTS = 8, ACROSS = THREADS / PARTS, LINES = 8 };

/* Whitening: a thread has 8 rows by 4 pixels, a warp 32 by 32. */
enum {
    ROWS = HC_WHITENING_ROWS,
    QUADS = 2,  /* of rows of a thread */
    PIXELS = 4, /* of a thread: two side by side, and two further on */
    PANEL = 32, /* pixels of a block */
    PITCH = PANEL + 2,
    WARPS = 4,
    STEP = 2, /* bands whose rows are fetched together */
    ACROSS_PANEL = PANEL / PIXELS,
    STRIP = 32 / ACROSS_PANEL * QUADS * ROWS, /* rows of a warp */
    SIXTEENS = STRIP / 16,                    /* whose squares are added first */
    SHARED_BYTES = 104 << 10                  /* two blocks a multiprocessor */
};

struct Job {
    const float *x; /* of the output's first pixel */
    const uint8_t *mask;
    HcView out;
    HcColumnScoring how;
    double *square; /* [pixels], NULL but for COHERENCE */
    int64_t panels; /* of a whole group */
    int32_t strips; /* of the triangle */
    int32_t chunk;  /* bands in shared memory at once */
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

/* Pixel i of a group, in the order of its lines; -1 behind the last. */
struct Group {
    int64_t begin, width, samples, count;

    __device__ int64_t pixel(int64_t i) const {
        return i < count ? i / width * samples + begin + i % width : -1;
    }
};

/* Bands from `first` on of a panel: x - mean, and 0 where there is no pixel. */
__device__ inline void put_chunk(const Job &job, const Group &group, int64_t pixels, const double *mean,
                                 int32_t first, double *panel) {
    int lane = (int)threadIdx.x % 32;
    int32_t end = min(first + job.chunk, job.bands);
    for (int p = (int)threadIdx.x / 32; p < PANEL; p += WARPS) {
        int64_t pixel = group.pixel(pixels + p);
        const float *x = job.x + pixel * job.bands;
        for (int32_t b = first + lane; b < end; b += 32) {
            panel[(b - first) * PITCH + p] = pixel >= 0 ? (double)__ldg(x + b) - __ldg(mean + b) : 0;
        }
    }
}

__device__ inline void get_row(const double *from, double to[ROWS]) {
    double2 low = __ldg((const double2 *)from);
    double2 high = __ldg((const double2 *)from + 1);
    to[0] = low.x, to[1] = low.y, to[2] = high.x, to[3] = high.y;
}

__device__ inline void add_products(const double row[ROWS], const double *panel, double y[ROWS][PIXELS]) {
    double2 left = *(const double2 *)panel;
    double2 right = *(const double2 *)(panel + PANEL / 2);
    double x[PIXELS] = {left.x, left.y, right.x, right.y};
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
#pragma unroll
        for (int p = 0; p < PIXELS; p++) {
            y[r][p] += row[r] * x[p];
        }
    }
}

/* Rows of both quads for STEP bands from k on. */
__device__ inline void get_rows(const double *const rows[QUADS], int k, double row[STEP][QUADS][ROWS]) {
#pragma unroll
    for (int i = 0; i < STEP; i++) {
#pragma unroll
        for (int q = 0; q < QUADS; q++) {
            get_row(rows[q] + (int64_t)(k + i) * ROWS, row[i][q]);
        }
    }
}

/* y += rows x for the bands of a chunk; the second quad has up to ROWS bands more. Rows come from the
 * second-level cache, so those of the next bands are fetched ahead. */
__device__ inline void multiply(const double *const rows[QUADS], const int count[QUADS], const double *panel,
                                double y[QUADS][ROWS][PIXELS]) {
    int whole = max(count[0], 0) / STEP * STEP;
    double next[STEP][QUADS][ROWS];
    if (whole > 0) {
        get_rows(rows, 0, next);
    }
#pragma unroll 1
    for (int k = 0; k < whole; k += STEP) {
        double row[STEP][QUADS][ROWS];
        memcpy(row, next, sizeof row);
        get_rows(rows, min(k + STEP, whole - STEP), next);
#pragma unroll
        for (int i = 0; i < STEP; i++) {
#pragma unroll
            for (int q = 0; q < QUADS; q++) {
                add_products(row[i][q], panel + (k + i) * PITCH, y[q]);
            }
        }
    }
#pragma unroll
    for (int q = 0; q < QUADS; q++) {
        for (int k = whole; k < count[q]; k++) {
            double row[ROWS];
            get_row(rows[q] + (int64_t)k * ROWS, row);
            add_products(row, panel + k * PITCH, y[q]);
        }
    }
}

/* The strips of each warp in a round: the longest first, and back, so that all have about as much to do. */
__device__ inline int32_t strip_of(int32_t strips, int32_t round) {
    int32_t warp = (int32_t)threadIdx.x / 32;
    int32_t place = round * WARPS + (round % 2 == 0 ? warp : WARPS - 1 - warp);
    return strips - 1 - place; /* below 0 = none */
}

__global__ void __launch_bounds__(32 * WARPS, 2) add_squares(const Job job) {
    extern __shared__ __align__(16) double memory[];
    double *sums = memory;                                  /* [strips][SIXTEENS][PANEL] of squares */
    double *panel = memory + job.strips * SIXTEENS * PANEL; /* [chunk][PITCH] */
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
    int lane = (int)threadIdx.x % 32;
    int side = lane % ACROSS_PANEL * (PIXELS / 2); /* first pixel of the thread */
    int below = lane / ACROSS_PANEL * QUADS;       /* its first quad in a strip */
    bool whole = job.chunk >= job.bands;
    if (whole) {
        put_chunk(job, group, first, mean, 0, panel);
        __syncthreads();
    }
    for (int32_t round = 0; round * WARPS < job.strips; round++) {
        int32_t strip = strip_of(job.strips, round);
        const double *rows[QUADS];
        int32_t width[QUADS];
        bool has[QUADS];
        double y[QUADS][ROWS][PIXELS] = {};
#pragma unroll
        for (int q = 0; q < QUADS; q++) {
            int64_t quad = (int64_t)strip * (STRIP / ROWS) + below + q;
            has[q] = strip >= 0 && quad < hc_whitening_quads(job.bands);
            quad = has[q] || q == 0 ? quad : quad - 1; /* the first one again, and for nothing */
            width[q] = has[0] ? (int32_t)hc_whitening_width(quad, job.bands) : 0;
            rows[q] = triangle + (has[0] ? hc_whitening_offset(quad) : 0);
        }
        for (int32_t b = 0; b < job.bands; b += job.chunk) {
            if (!whole) {
                __syncthreads();
                put_chunk(job, group, first, mean, b, panel);
                __syncthreads();
            }
            const double *from[QUADS] = {rows[0] + (int64_t)b * ROWS, rows[1] + (int64_t)b * ROWS};
            int count[QUADS] = {min(width[0] - b, job.chunk), min(width[1] - b, job.chunk)};
            multiply(from, count, panel + side, y);
        }
#pragma unroll
        for (int p = 0; p < PIXELS; p++) {
            double part[QUADS];
#pragma unroll
            for (int q = 0; q < QUADS; q++) {
                part[q] = (y[q][0][p] * y[q][0][p] + y[q][1][p] * y[q][1][p]) +
                          (y[q][2][p] * y[q][2][p] + y[q][3][p] * y[q][3][p]);
            }
            double square = part[0] + (has[1] ? part[1] : 0);
            square += __shfl_xor_sync(0xffffffff, square, ACROSS_PANEL);
            if (strip >= 0 && lane / ACROSS_PANEL % 2 == 0) {
                int sixteen = strip * SIXTEENS + lane / ACROSS_PANEL / 2;
                sums[sixteen * PANEL + side + p / 2 * (PANEL / 2) + p % 2] = square;
            }
        }
    }
    __syncthreads();
    int64_t own = threadIdx.x < PANEL ? group.pixel(first + threadIdx.x) : -1;
    if (own >= 0) {
        double square = 0;
        for (int32_t s = 0; s < job.strips * SIXTEENS; s++) {
            square += sums[s * PANEL + threadIdx.x];
        }
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

/* The whitened lengths of all pixels, into the scratch memory of the queue. */
static HcStatus add_all_squares(HcQueue *queue, Job *job, int64_t groups, HcError *err) {
    HC_OR_RETURN(
        hc_gpu_scratch(queue, (size_t)job->out.rows * (size_t)job->out.samples * sizeof(double), err));
    job->square = (double *)queue->scratch.data;
    job->panels = hc_div_up(hc_min64(job->how.width, job->out.samples) * job->out.rows, PANEL);
    job->strips = (int32_t)hc_div_up(job->bands, STRIP);
    int64_t sums = (int64_t)job->strips * SIXTEENS * PANEL * (int64_t)sizeof(double);
    int64_t band = PITCH * (int64_t)sizeof(double);
    int64_t room = hc_max64(SHARED_BYTES, sums + 32 * band); /* which takes more than 10,000 bands */
    job->chunk = (int32_t)hc_min64(job->bands, (room - sums) / band);
    size_t bytes = (size_t)(sums + job->chunk * band);
    if (bytes > queue->gpu->shared_memory) {
        return hc_fail(err, HC_E_UNSUPPORTED,
                       "column_scores: %d bands are too many to whiten on this device: take --device cpu",
                       job->bands);
    }
    HC_OR_RETURN(hc_gpu_check(
        cudaFuncSetAttribute(add_squares, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes),
        "preparing the whitening of columns", err));
    add_squares<<<(unsigned)(groups * job->panels), 32 * WARPS, bytes, queue->stream>>>(*job);
    return hc_gpu_launched("whitening columns", err);
}

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
        HC_OR_RETURN(add_all_squares(queue, &job, groups, err));
    }
    int64_t blocks = hc_div_up(job.out.samples, ACROSS) * hc_div_up(job.out.rows, LINES);
    kernels[how->kind]<<<(unsigned)blocks, THREADS, 0, queue->stream>>>(job);
    return hc_gpu_launched("scoring columns", err);
}
