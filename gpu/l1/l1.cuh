/* One l1 problem on the GPU: what its files share. l1.cu knows the matrix and moves alm's multipliers,
 * step.cu takes the steps of fista, columns.cu those from a copy by columns. All vectors and sums are
 * float64. What a step decides lies in device memory, so that the host only queues steps; those after the
 * last that is needed return at once. */
#ifndef HC_GPU_L1_L1_CUH
#define HC_GPU_L1_L1_CUH

#include "core/operation/l1/l1.h"
#include "gpu/l1/gemv.cuh"

HcL1OpenFn hc_gpu_l1_open;
HcL1CloseFn hc_gpu_l1_close;
HcL1Fn hc_gpu_fista;
HcL1Fn hc_gpu_alm;

enum {
    HC_L1_THREADS = 256,
    HC_L1_WARPS = HC_L1_THREADS / 32,
    HC_L1_BLOCKS = 1024 /* of kernels over rows or columns, at most; they go round */
};

/* What steps have come to, and what they go by. */
struct HcL1State {
    /* min 1/2 |A x - target|^2 + lambda |x|_1, and how far that is done. */
    double lambda;
    double square;    /* the largest eigenvalue of A'A as steps take it */
    double time;      /* as Beck and Teboulle count it */
    double momentum;  /* of the next step */
    double bound;     /* the objective is nowhere less */
    double norm;      /* |x|_1 */
    double tolerance; /* relative duality gap that ends it; 0 = none does */
    /* alm. */
    double penalty;
    double residual; /* |A x - b| / |b| */
    double energy;   /* |b|^2 */
    int32_t positive;
    int32_t back;     /* the last step is taken back: `before` and `product_before` count */
    int32_t stopped;  /* the problem is solved, or all are: steps do nothing */
    int32_t finished; /* all are */
    int32_t steps, outer;
};

/* What the host looks at while it queues; in its memory. */
struct HcL1Progress {
    int32_t problems; /* number of the last that ended before its limit, from 1 */
    int32_t finished;
    HcL1Report report;
    double squares[HC_L1_BLOCKS];
};

/* Sums of each block of a kernel over columns, and of one over rows: arrays of HC_L1_BLOCKS. */
enum HcL1Term {
    HC_L1_NORM,   /* |x|_1 */
    HC_L1_UPHILL, /* (y - x)'(x - x before): above 0 where the momentum leads back */
    HC_L1_APART,  /* |x - y|^2 */
    HC_L1_TOP,    /* largest slope (magnitude, unless x is positive); 0 at least */
    HC_L1_COLUMN_TERMS,
    HC_L1_RISEN = HC_L1_COLUMN_TERMS, /* |A (x - y)|^2 */
    HC_L1_MISFIT,                     /* |A x - target|^2 */
    HC_L1_ALONG,                      /* target'w */
    HC_L1_SQUARE,                     /* w'w */
    HC_L1_TERMS
};

struct HcL1 {
    HcL1Head head;
    HcGpu *gpu;
    HcMatrix matrix;
    double largest;  /* eigenvalue of A'A, rather more than less; 0 = A is 0 */
    HcBuffer memory; /* of all below but: */
    HcBuffer turned_memory, progress_memory;
    float *turned;               /* [columns][pitch] A by columns, then zeros; NULL = it does not fit */
    int32_t pitch;               /* a multiple of 4 */
    int32_t slots;               /* columns that a team of warps has under way */
    int32_t blocks;              /* that go over the columns in a step */
    int32_t parts_count;         /* of A x */
    int32_t period;              /* a power of two: one column in `period` stays in the cache of all */
    double *here, *before;       /* [columns] x, which is rounded once when it is done, and that before */
    double *slopes;              /* [columns] A'weight; not written where a step goes over `turned` */
    double *weight;              /* [rows] target - A y */
    double *ahead;               /* [rows] to find the largest singular value */
    double *product;             /* [rows] A x */
    double *product_before;      /* [rows] that of the step before */
    double *target, *multiplier; /* [rows] */
    double *parts;               /* [parts_count][rows] of A x */
    double *terms;               /* [HC_L1_TERMS][HC_L1_BLOCKS] */
    uint32_t *counters;          /* [HC_L1_BLOCKS] 0 before a kernel */
    HcL1State *state;
    HcL1Progress *progress;        /* on the host */
    HcL1Progress *progress_device; /* the same memory, as kernels see it */
};

/* Blocks that go over `count` entries, THREADS at a time. */
static inline unsigned hc_l1_blocks(int64_t count) {
    return (unsigned)hc_min64(hc_div_up(count, HC_L1_THREADS), HC_L1_BLOCKS);
}

/* Chooses pitch, slots, blocks, parts_count and period for steps that use l1->turned; slots = 0: none can. */
void hc_gpu_l1_plan(HcL1 *l1);
/* Makes it, where it is planned and fits into the device; where it does not, plans without. */
HcStatus hc_gpu_l1_turn(HcL1 *l1, HcQueue *queue, HcError *err);
/* Queues steps that use it. */
HcStatus hc_gpu_l1_queue(HcL1 *l1, HcQueue *queue, int32_t steps, HcError *err);
/* Takes at most `most` steps of problem `number`, from 1. */
HcStatus hc_gpu_l1_descend(HcL1 *l1, HcQueue *queue, int32_t number, int32_t most, HcError *err);

#ifdef __CUDACC__

/* Of a residual w with slopes A'w up to `top`: every s with s top <= lambda makes s w feasible in the dual,
 * whose value s target'w - s^2 w'w / 2 no objective is below. */
__device__ static inline double hc_l1_raise_bound(double bound, double lambda, bool positive, double top,
                                                  double along, double square) {
    double most = top > 0 ? lambda / top : (double)INFINITY;
    double least = positive ? 0 : -most;
    double best = square > 0 ? fmax(least, fmin(most, along / square)) : 0;
    double value = best * along - best * best * square / 2;
    return value > bound ? value : bound;
}

/* Rounding may take it below 0. */
__device__ static inline double hc_l1_gap(double objective, double bound) {
    double gap = objective - bound;
    return gap <= 0 ? 0 : gap / objective;
}

/* A slope as it counts for the largest. */
__device__ static inline double hc_l1_height(double slope, bool positive) {
    return positive ? slope : fabs(slope);
}

/* Adds a value of each of THREADS threads, in halves; all get the sum. scratch[THREADS] is free again. */
__device__ static inline double hc_l1_sum(double value, double *scratch) {
    scratch[threadIdx.x] = value;
    hc_add_halves(scratch, HC_L1_THREADS, 1);
    double sum = scratch[0];
    __syncthreads();
    return sum;
}

/* The largest of them, and of 0. */
__device__ static inline double hc_l1_largest(double value, double *scratch) {
    scratch[threadIdx.x] = value;
    for (int half = HC_L1_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < half) {
            scratch[threadIdx.x] = fmax(scratch[threadIdx.x], scratch[threadIdx.x + half]);
        }
    }
    __syncthreads();
    double largest = fmax(scratch[0], 0.0);
    __syncthreads();
    return largest;
}

#endif
#endif
