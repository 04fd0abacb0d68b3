/* The simplex on the CPU: what its files share. simplex.c is the operation, simplex_scale.c scales the
 * matrix, simplex_basis.c keeps the inverse of the basis, simplex_dual.c and simplex_primal.c take the steps.
 * Which of them come when, core/solver/lp/simplex.c says. */
#ifndef HC_CPU_LP_SIMPLEX_H
#define HC_CPU_LP_SIMPLEX_H

#include "core/operation/lp/simplex.h"
#include "core/solver/lp/simplex.h"
#include "cpu/work.h"

HcSimplexFn hc_cpu_simplex;

/* Values of the matrix or the inverse that are worth waking a thread. */
enum { HC_SIMPLEX_WORTH = 1 << 16 };

/* Values of a row that are worked on at once; rows of the inverse are padded with zeros to multiples of it.
 */
enum { HC_SIMPLEX_LANES = 8 };

struct HcSimplexOwn {
    const HcCpu *cpu;
    char *memory; /* of the arrays below, but those that grow */
    /* A, scaled, by rows, where it is dense or nearly so; NULL = the program's own columns are used. */
    double *by_row; /* [rows][stride_by_row] */
    int64_t stride_by_row;

    int64_t kept;       /* columns of the inverse that are kept */
    int64_t stride;     /* capacity of a row */
    double *inverse;    /* [rows][stride], by places; 0 from `kept` on */
    int32_t *kept_row;  /* [rows] the row that each kept column belongs to */
    int32_t *kept_slot; /* [rows] the other way round; -1 = a unit vector */
    double *weight;     /* [rows] squared lengths of the rows of the inverse: dual steepest edges */

    double *right;         /* [rows] a right-hand side */
    double *shift;         /* [rows] what bound flips change the basic variables by */
    double *packed;        /* [stride] values of the kept columns */
    double *pivot_row;     /* [stride] */
    double *sparse_weight; /* [rows] */
    int32_t *sparse_row;   /* [rows] */
    int32_t *candidate;    /* [all] variables in a ratio test */
    double *devex;         /* [all] reference weights of the primal steps */

    int64_t since_fresh; /* pivots since the inverse was computed afresh */
};

/* Shares out items that pass over `values` values together. */
static inline void hc_simplex_work(const HcSimplex *s, int64_t count, int64_t values, HcCpuWork *work,
                                   void *user) {
    const HcCpu *cpu = s->own->cpu;
    hc_cpu_work(cpu, count, hc_cpu_grain_worth(cpu, count, values, HC_SIMPLEX_WORTH), work, user);
}

/* ---- simplex_scale.c ---- */

/* As HcSimplexSteps has them. */
HcStatus hc_simplex_find_scales(HcSimplex *s, HcError *err);
HcStatus hc_simplex_imply_bounds(HcSimplex *s, bool *all, HcError *err);
/* Fills by_row. */
HcStatus hc_simplex_turn(HcSimplex *s, HcError *err);

/* ---- simplex_basis.c ---- */

/* Memory for the inverse; all logicals are basic. */
HcStatus hc_simplex_basis_open(HcSimplex *s, HcError *err);
/* column[rows] = inverse right. */
void hc_simplex_multiply(const HcSimplex *s, const double *right, double *column);
/* to[rows] += scale times the column of a variable. */
void hc_simplex_add_column(const HcSimplex *s, int64_t variable, double scale, double *to);
/* row[all] = row `place` of inverse (A, I); only what is not basic is meaningful. */
void hc_simplex_take_row(HcSimplex *s, int64_t place);
/* The variable becomes basic in this place; column[rows] = inverse times its column. */
HcStatus hc_simplex_exchange(HcSimplex *s, int64_t place, int64_t variable, HcError *err);
/* The inverse, the basic variables and the reduced costs from scratch. A variable whose column depends on
 * others leaves the basis. */
HcStatus hc_simplex_refresh(HcSimplex *s, HcError *err);
/* Basic variables alone; reduced costs alone. */
void hc_simplex_find_values(HcSimplex *s);
void hc_simplex_find_reduced(HcSimplex *s);
/* Whether A x + t = 0 has been lost to rounding. */
bool hc_simplex_drifted(HcSimplex *s);

/* ---- the steps ---- */

HcStatus hc_simplex_dual(HcSimplex *s, bool boxed, HcSimplexStop *stop, HcError *err);
HcStatus hc_simplex_primal(HcSimplex *s, HcSimplexStop *stop, HcError *err);

#endif
