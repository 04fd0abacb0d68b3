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
    HC_SIMPLEX_TILE = 32 /* columns that a block prices at once */
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

/* What the ratio test of the dual steps comes to. */
struct HcSimplexChoice {
    int32_t pause, end; /* as in HcSimplexState; entering < 0 */
    int32_t entering;   /* -1 = there is no pivot */
    int32_t gone;       /* slot of the column of the inverse that becomes a unit vector; -1 = none */
    int32_t flips;      /* whether any variable goes to its other bound */
    double step, alpha; /* of the reduced costs; the pivot */
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
    double *raw_row;          /* [stride] row of the inverse that a pivot begins with */
    double *pivot_row;        /* [stride] and ends with */
    double *packed;           /* [stride] of the entering column the entries that meet kept columns */
    double *packed_shift;     /* [stride] of what bound flips add up to */
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

    /* Of each block. */
    HcSimplexPart *leaving_part, *entering_part;
    double *least;    /* a smallest ratio */
    double *residual; /* largest of its rows */
    double *largest;  /* value */
    /* [all] of the ratio test of the dual steps: the distance from a change of sign over the entry of the
     * row, infinite where a variable may not enter; and that with the tolerance. */
    double *ratio, *allowed;

    HcSimplexState *state;
    HcSimplexChoice *choice;
};

struct HcSimplexOwn {
    HcGpu *gpu;
    HcQueue *queue;
    HcSimplexView view;
    HcSimplexState state;                  /* of steps; kept, kept_most and since_fresh of the basis */
    int32_t blocks;                        /* of kernels that step */
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
/* Starts a kernel whose blocks wait for one another, with the state before, and fetches the state after. */
HcStatus hc_gpu_simplex_launch(HcSimplexOwn *own, const void *kernel, HcError *err);

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

/* Dual or primal steps by a kernel that hc_gpu_simplex_launch starts, again after every pause. */
HcStatus hc_gpu_simplex_steps(HcSimplex *s, const void *kernel, bool boxed, HcSimplexStop *stop,
                              HcError *err);

/* ---- simplex_dual.cu, simplex_primal.cu, as HcSimplexSteps has them ---- */

HcStatus hc_gpu_simplex_dual(HcSimplex *s, bool boxed, HcSimplexStop *stop, HcError *err);
HcStatus hc_gpu_simplex_primal(HcSimplex *s, HcSimplexStop *stop, HcError *err);

#endif
