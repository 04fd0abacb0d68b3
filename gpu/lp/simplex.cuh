/* One linear program on the GPU: what its files share, each standing on those named before it.
 * simplex_memory.cu has the memory and the copies, simplex_matrix.cu holds and scales the matrix,
 * simplex_basis.cu computes what follows from a basis afresh. simplex_steps.cu runs the steps, which
 * simplex_dual.cu and simplex_primal.cu take each in one kernel whose blocks wait for one another: nothing of
 * a pivot comes back to the host. simplex.cu is the operation. Which steps come when,
 * core/solver/lp/simplex.c says.
 *
 * Every number is computed by one thread, or summed in one order by the threads of a warp or block: results
 * do not differ from run to run. Blocks that all need a decision make it each for itself, from the same
 * numbers. */
#ifndef HC_GPU_LP_SIMPLEX_CUH
#define HC_GPU_LP_SIMPLEX_CUH

#include "core/operation/lp/simplex.h"
#include "core/solver/lp/simplex.h"
#include "gpu/internal.cuh"

HcSimplexFn hc_gpu_simplex;

enum {
    HC_SIMPLEX_THREADS = 512,
    HC_SIMPLEX_WARPS = HC_SIMPLEX_THREADS / 32,
    HC_SIMPLEX_TILE = 32,         /* columns that a block prices at once */
    HC_SIMPLEX_STATIC = 16 << 10, /* shared memory that kernels have anyway, at most [bytes] */
    HC_SIMPLEX_BLOCKS = 160       /* of kernels that step, at most: five words a lane */
};

/* The scaled matrix by rows, or by columns. */
struct HcSimplexLines {
    int64_t *start; /* [lines + 1] first entry of each line; NULL: dense */
    int32_t *index; /* of entries, ascending in a line; dense: NULL */
    double *value;  /* dense: [lines][stride] */
    int64_t stride; /* dense */
    int32_t lines;
    int32_t length; /* dense: of a line */
};

/* The best of a block's rows or variables. */
struct HcSimplexPart {
    double merit;
    double first, second; /* of a variable its reduced cost and weight, of a place its rate and distance */
    int32_t index;        /* INT32_MAX = none */
};

/* Why a kernel ended before its steps did. */
enum HcSimplexPause {
    HC_SIMPLEX_ENDED,
    HC_SIMPLEX_FULL,   /* the inverse has no column left */
    HC_SIMPLEX_REFRESH /* the inverse is to be computed afresh */
};

/* What a kernel begins with and ends with. */
struct HcSimplexState {
    int32_t pause;
    int32_t end; /* an HcSimplexEnd */
    int64_t leaving, entering;
    double direction;
    int64_t kept, kept_most; /* columns of the inverse */
    int64_t since_fresh;     /* pivots since it was computed afresh */
    int64_t pivots;
    int64_t tries;   /* refreshes since the last pivot */
    int64_t stalled; /* steps of no length in a row */
    int64_t disturbances;
    int32_t bland;
    int32_t boxed; /* dual: all variables have bounds */
    int32_t begun; /* primal: the reference weights count */
};

/* What a block brings to a meeting of all blocks: 16 bytes, which are written and read at once. */
struct HcSimplexWord {
    uint64_t merit; /* the bits of a double */
    uint64_t rest;  /* number of the meeting, index */
};

/* Dual steps: what a block knows of one of its places. */
struct HcSimplexPlace {
    double value, lower, upper; /* of the basic variable */
    int32_t basic;
};

/* Dual steps: the best place of a block, and its basic variable. */
struct HcSimplexPivot {
    int32_t place, leaving;
    double value, bound; /* of the variable; the bound that it goes to */
    double beyond;       /* how far it is beyond it, with a sign */
};

/* What dual steps have in shared memory, each with those before it. */
enum HcSimplexShared {
    HC_SIMPLEX_SHARED_NONE,
    HC_SIMPLEX_SHARED_LISTS,
    HC_SIMPLEX_SHARED_ROWS,
    HC_SIMPLEX_SHARED_TILE
};

/* What kernels are given. Arrays of HcSimplex have its names and lie in device memory. */
struct HcSimplexView {
    int32_t rows, columns, all;
    double tolerance;
    int64_t limit;
    uint64_t seed;
    HcSimplexLines by_row, by_column;
    double *row_scale, *column_scale;
    double *true_lower, *true_upper, *true_cost;
    double *lower, *upper, *cost, *value, *reduced, *price, *row, *column;
    int8_t *move;
    int32_t *place, *basic;

    double *inverse;          /* [rows][stride], by places; what is beyond the columns kept means nothing */
    int64_t stride;           /* capacity in columns that are kept */
    double *offered_row;      /* [2][blocks][stride] row of the inverse of each block's best place */
    double *private_lists;    /* [blocks][...] dual: lists that do not fit into shared memory */
    double *pivot_row;        /* [stride] row of the inverse that a pivot ends with */
    int32_t *kept_row;        /* [rows] the row that each kept column belongs to */
    int32_t *kept_slot;       /* [rows] the other way round; -1 = a unit vector */
    double *weight;           /* [rows] squared lengths of the rows of the inverse */
    double *right;            /* [rows] a right-hand side */
    double *delta;            /* [all] how far bound flips go; 0 but in a pivot that has some */
    double *devex;            /* [all] reference weights of the primal steps */
    uint8_t *basic_before;    /* [all] */
    int32_t *entering;        /* [rows] structural variables of a basis */
    HcSimplexReach *reach;    /* [rows] */
    int32_t *missing;         /* whether a bound is not implied */
    int64_t *row_exponent;    /* [rows] of scales */
    int64_t *column_exponent; /* [columns] */

    HcSimplexWord *words; /* [2][blocks] of meetings */
    /* Of each block. */
    HcSimplexPivot *pivot; /* dual */
    HcSimplexPart *leaving_part, *entering_part;
    double *least;    /* a smallest ratio */
    double *residual; /* largest of its rows */
    double *largest;  /* value */
    /* [all] of the ratio test of the dual steps: the distance from a change of sign over the entry of the
     * row, infinite where a variable may not enter; and that with the tolerance. */
    double *ratio, *allowed;
    double *gain;            /* [all] range of the variable times its entry */
    double *offered_reduced; /* [all] the reduced costs */
    int32_t *offered_slot;   /* [all] kept_slot of logicals, -1 of others */
    int32_t shared;          /* what dual steps have in shared memory: an HcSimplexShared */

    HcSimplexState *state;
};

/* The lists of a block in dual steps [doubles]: three rows of the inverse, what is known of its places, and
 * the rows that kept columns belong to. */
HC_ANYWHERE int64_t hc_simplex_lists(int64_t stride, int64_t places) {
    return 3 * stride + places * (int64_t)(sizeof(HcSimplexPlace) / sizeof(double)) + stride / 2;
}

struct HcSimplexOwn {
    HcGpu *gpu;
    HcQueue *queue;
    HcSimplexView view;
    HcSimplexState state;                  /* of steps; kept, kept_most and since_fresh of the basis */
    int32_t blocks;                        /* of kernels that step */
    size_t shared;                         /* memory of a block of dual steps [bytes] */
    HcBuffer mirror;                       /* of HcSimplex.memory */
    HcBuffer work, inverse, rows, columns; /* of the arrays of the view; the matrix */
};

/* ---- simplex_memory.cu ---- */

/* The memory of all but the matrix and the inverse: the view's own arrays, all 0, and the place of those of
 * HcSimplex. own->view has its sizes, own->blocks is known. */
HcStatus hc_gpu_simplex_alloc(HcSimplex *s, HcError *err);
/* Makes the inverse hold `most` columns, with those that are kept. */
HcStatus hc_gpu_simplex_widen(HcSimplexOwn *own, int64_t most, HcError *err);
/* Frees all memory, that of the matrix too, when the queue is empty. */
void hc_gpu_simplex_free(HcSimplexOwn *own);
/* All arrays of HcSimplex to the device; back from it. */
HcStatus hc_gpu_simplex_push(HcSimplex *s, HcError *err);
HcStatus hc_gpu_simplex_pull(HcSimplex *s, HcError *err);
/* Starts a kernel whose blocks wait for one another, with the state before, and fetches the state after.
 * shared: memory of a block [bytes] that the kernel asks for. */
HcStatus hc_gpu_simplex_launch(HcSimplexOwn *own, const void *kernel, size_t shared, HcError *err);

/* ---- simplex_matrix.cu ---- */

/* The matrix by rows and by columns, not scaled yet. */
HcStatus hc_gpu_simplex_upload(HcSimplex *s, HcError *err);
/* As HcSimplexSteps has them. */
HcStatus hc_gpu_simplex_find_scales(HcSimplex *s, HcError *err);
HcStatus hc_gpu_simplex_imply_bounds(HcSimplex *s, bool *all, HcError *err);
HcStatus hc_gpu_simplex_scale(HcSimplexOwn *own, HcError *err);

/* ---- simplex_basis.cu, as HcSimplexSteps has them ---- */

HcStatus hc_gpu_simplex_find_values(HcSimplex *s, HcError *err);
HcStatus hc_gpu_simplex_find_reduced(HcSimplex *s, HcError *err);
HcStatus hc_gpu_simplex_refresh(HcSimplex *s, HcError *err);
HcStatus hc_gpu_simplex_take_row(HcSimplex *s, int64_t place, HcError *err);

/* ---- simplex_steps.cu ---- */

/* Dual or primal steps by a kernel that hc_gpu_simplex_launch starts, again after every pause. *shared may
 * change in a pause; NULL = 0. */
HcStatus hc_gpu_simplex_steps(HcSimplex *s, const void *kernel, const size_t *shared, bool boxed,
                              HcSimplexStop *stop, HcError *err);

/* ---- simplex_dual.cu, simplex_primal.cu, as HcSimplexSteps has them ---- */

HcStatus hc_gpu_simplex_dual(HcSimplex *s, bool boxed, HcSimplexStop *stop, HcError *err);
HcStatus hc_gpu_simplex_primal(HcSimplex *s, HcSimplexStop *stop, HcError *err);

#endif
