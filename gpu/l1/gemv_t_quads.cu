/* y = A'x for many rows. Four rows that follow one another, a quad, begin at all distances from an aligned
 * address: a thread has the same aligned piece of each, and sums for each distance. The threads of a block
 * are groups of as many as a row of its strip has pieces, so that hardly any is idle whatever the number of
 * columns is. */
#include "gpu/l1/gemv.cuh"

namespace {

enum {
    PIECE = HC_GEMV_PIECE,
    THREADS = 320,    /* at most */
    BLOCKS = 2,       /* of a processor */
    STRIP_MAX = 272,  /* columns of a block */
    WARP_STRIP = 256, /* columns that a warp reads in gemv_t.cu */
    EARLY = 64        /* rows that a block fetches early */
};

template <typename X> struct Job : HcGemvJob<X> { /* shares: a step is a quad */
    Job(const HcGemvJob<X> &job) : HcGemvJob<X>(job) {
    }
    int32_t strip = 0;     /* columns of a tile */
    int32_t pieces = 0;    /* that a row has there, at most */
    int32_t groups = 0;    /* of threads, which take the quads of a block in turn */
    int32_t turn_rows = 0; /* PIECE of each */
};

/* The piece of a thread in each row of a quad. SHIFTS, distances of rows from an aligned address: where all
 * are aligned it is 1, and the sums are of the same columns. */
template <typename X> struct Quad {
    float values[PIECE][PIECE]; /* of rows */
    X factors[PIECE];
};

/* One that is inside of the matrix, `ahead` values after the pieces a of rows 0 to 3. */
template <typename X>
__device__ inline void load_quad(const float *const a[PIECE], int64_t ahead, const X *x, Quad<X> &quad) {
    asm volatile("" : "+l"(ahead)); /* else addresses of all quads under way would fill the registers */
#pragma unroll
    for (int r = 0; r < PIECE; r++) {
        hc_load_once<PIECE>(quad.values[r], a[r] + ahead);
        quad.factors[r] = __ldg(x + r);
    }
}

/* The quad of row `row` at an edge: it may begin before the matrix or end after it, and lack some rows. */
template <typename X>
__device__ inline void load_edge(const Job<X> &job, const float *const a[PIECE], int64_t row, Quad<X> &quad) {
    const float *end = job.a + job.rows * job.columns;
#pragma unroll
    for (int r = 0; r < PIECE; r++) {
        const float *at = a[r] + row * job.columns;
        bool there = row + r < job.rows;
        quad.factors[r] = there ? __ldg(job.x + row + r) : 0;
        if (there && at >= job.a && at + PIECE <= end) {
            hc_load_once<PIECE>(quad.values[r], at);
            continue;
        }
#pragma unroll
        for (int v = 0; v < PIECE; v++) {
            quad.values[r][v] = there && at + v >= job.a && at + v < end ? at[v] : 0;
        }
    }
}

template <int SHIFTS, typename X>
__device__ inline void add_quad(const Quad<X> &quad, double sums[SHIFTS][PIECE]) {
#pragma unroll
    for (int r = 0; r < PIECE; r++) {
        double factor = (double)quad.factors[r];
#pragma unroll
        for (int v = 0; v < PIECE; v++) {
            double &sum = sums[r % SHIFTS][v];
            sum = fma((double)quad.values[r][v], factor, sum);
        }
    }
}

/* Quads first to end - 1 of one tile. */
template <int SHIFTS, typename X>
__device__ inline void add_tile(const Job<X> &job, int64_t tile, int64_t first, int64_t end, double *shared) {
    int32_t thread = (int32_t)threadIdx.x;
    int32_t piece = thread % job.pieces;
    int32_t group = thread / job.pieces;
    int64_t strip = tile * job.strip;
    int32_t width = (int32_t)(job.columns - strip < job.strip ? job.columns - strip : job.strip);
    int32_t shift[PIECE];
    const float *a[PIECE];
    double sums[SHIFTS][PIECE] = {};
#pragma unroll
    for (int r = 0; r < PIECE; r++) {
        const float *row = job.a + r * job.columns + strip;
        shift[r] = SHIFTS == 1 ? 0 : hc_shift_of(row);
        int32_t place = piece * PIECE - shift[r];
        a[r] = row + (place < width ? place : place - PIECE); /* not needed then, but there */
    }
    if (group < job.groups) {
        /* Pieces leave the matrix in the first quad of the first tile and the last of the last one. */
        bool leaves = SHIFTS > 1 && strip + width == job.columns;
        int64_t inner = (job.rows - (leaves ? 1 : 0)) / PIECE; /* quads before that */
        int64_t quad = first + group;
        if (SHIFTS > 1 && quad == 0 && strip == 0) {
            Quad<X> edge;
            load_edge(job, a, 0, edge);
            add_quad<SHIFTS>(edge, sums);
            quad += job.groups;
        }
        inner = end < inner ? end : inner;
        int32_t count = ((int32_t)(inner - quad) + job.groups - 1) / job.groups;
        if (quad < inner) { /* one is read while the one before is added */
            Quad<X> one;
            Quad<X> other;
            int64_t turn_values = (int64_t)job.turn_rows * job.columns;
            int64_t ahead = quad * PIECE * job.columns;
            const X *x = job.x + quad * PIECE;
            quad += count * job.groups;
            load_quad(a, ahead, x, one);
            for (; count > 2; count -= 2) {
                load_quad(a, ahead + turn_values, x + job.turn_rows, other);
                add_quad<SHIFTS>(one, sums);
                ahead += 2 * turn_values;
                x += 2 * job.turn_rows;
                load_quad(a, ahead, x, one);
                add_quad<SHIFTS>(other, sums);
            }
            if (count == 2) {
                load_quad(a, ahead + turn_values, x + job.turn_rows, other);
                add_quad<SHIFTS>(one, sums);
                add_quad<SHIFTS>(other, sums);
            } else {
                add_quad<SHIFTS>(one, sums);
            }
        }
        for (; quad < end; quad += job.groups) {
            Quad<X> edge;
            load_edge(job, a, quad * PIECE, edge);
            add_quad<SHIFTS>(edge, sums);
        }
    }
    __syncthreads();
    int32_t places = job.pieces * PIECE;
    if (group < job.groups) {
#pragma unroll
        for (int r = 0; r < SHIFTS; r++) {
            double *to = shared + (group * SHIFTS + r) * places + piece * PIECE;
#pragma unroll
            for (int v = 0; v < PIECE; v += 2) {
                *(double2 *)(to + v) = make_double2(sums[r][v], sums[r][v + 1]);
            }
        }
    }
    __syncthreads();
    double sum = 0;
    if (thread < width) {
        for (int32_t g = 0; g < job.groups; g++) {
#pragma unroll
            for (int r = 0; r < SHIFTS; r++) {
                sum += shared[(g * SHIFTS + r) * places + thread + shift[r]];
            }
        }
    }
    if (hc_gather(job.shares, tile, sum) && thread < width) {
        hc_put(job.out, strip + thread, sum);
    }
}

template <int SHIFTS, typename X>
__global__ void __launch_bounds__(THREADS, BLOCKS) multiply_quads(Job<X> job) {
    static_assert((int)STRIP_MAX <= (int)THREADS, "a thread each");
    __shared__ __align__(16) double shared[SHIFTS * THREADS * PIECE];
    int64_t steps = job.shares.steps;
    int64_t step = hc_first_step(job.shares, blockIdx.x);
    hc_fetch_strip(job, step / steps * job.strip, job.strip, step % steps * PIECE, EARLY);
    if (!hc_begin(job.stopped)) {
        return;
    }
    hc_each_tile(job.shares, [&](int64_t tile, int64_t first, int64_t end) {
        add_tile<SHIFTS>(job, tile, first, end, shared);
    });
}

template <typename X> bool is_aligned(const HcGemvJob<X> &job) {
    return (uintptr_t)job.a % (PIECE * sizeof(float)) == 0 && job.columns % PIECE == 0;
}

/* Strips of equal width, more than need be where clearly more quads are then under way. Returns the tiles. */
template <typename X> int64_t plan_strips(Job<X> *job) {
    bool aligned = is_aligned(*job);
    int64_t least = hc_div_up(job->columns, STRIP_MAX);
    double best = 0;
    for (int64_t tiles = least; tiles < least + 3; tiles++) {
        int32_t strip = (int32_t)hc_div_up(job->columns, tiles);
        strip = aligned ? (int32_t)hc_div_up(strip, PIECE) * PIECE : strip;
        int32_t pieces = (int32_t)hc_div_up(strip + (aligned ? 0 : PIECE - 1), PIECE);
        int32_t groups = THREADS / pieces;
        double quads = (double)groups / (double)tiles;
        if (quads > best * 1.07) {
            best = quads;
            job->strip = strip;
            job->pieces = pieces;
            job->groups = groups;
        }
    }
    return hc_div_up(job->columns, job->strip);
}

} // namespace

template <typename X> bool hc_gpu_takes_quads(const HcGemvJob<X> &job) {
    int64_t read = hc_div_up(job.columns, WARP_STRIP) * WARP_STRIP;
    return job.rows >= 2 * job.columns && (!is_aligned(job) || read - job.columns > read / 8);
}

template <typename X>
HcStatus hc_gpu_multiply_quads(HcQueue *queue, const HcGemvJob<X> &product, HcError *err) {
    Job<X> job(product);
    int64_t tiles = plan_strips(&job);
    job.turn_rows = job.groups * PIECE;
    int64_t threads = hc_max64(job.pieces * job.groups, job.strip);
    HC_OR_RETURN(hc_gpu_plan_shares(queue, tiles, hc_div_up(job.rows, PIECE),
                                    BLOCKS * (int64_t)queue->gpu->processors, job.strip, &job.shares, err));
    return hc_launch(queue, is_aligned(job) ? multiply_quads<1, X> : multiply_quads<PIECE, X>,
                     job.shares.blocks, job, err, (int32_t)hc_div_up(threads, 32) * 32);
}

template bool hc_gpu_takes_quads(const HcGemvJob<float> &job);
template bool hc_gpu_takes_quads(const HcGemvJob<double> &job);
template HcStatus hc_gpu_multiply_quads(HcQueue *queue, const HcGemvJob<float> &job, HcError *err);
template HcStatus hc_gpu_multiply_quads(HcQueue *queue, const HcGemvJob<double> &job, HcError *err);
