/* What simplex_refine.c and simplex_precise.c share: the scaled program with numbers of 32 digits. Scales are
 * powers of two, so that entries, bounds and costs are those of the program without an error. */
#ifndef HC_CORE_SOLVER_SIMPLEX_EXACT_H
#define HC_CORE_SOLVER_SIMPLEX_EXACT_H

#include "core/solver/lp/double_double.h"
#include "core/solver/lp/simplex.h"

/* A column of (A, I), entry by entry: entries of x[j] as they are scaled, a single 1 of a logical. */
typedef struct HcSimplexColumn {
    const HcSimplex *s;
    int64_t variable, at, end;
} HcSimplexColumn;

static inline HcSimplexColumn hc_simplex_column(const HcSimplex *s, int64_t variable) {
    const HcLinearProgram *program = s->program;
    bool dense = program->start == NULL;
    if (variable >= s->columns) {
        return (HcSimplexColumn){s, variable, 0, 1};
    }
    return (HcSimplexColumn){s, variable, dense ? variable * s->rows : program->start[variable],
                             dense ? (variable + 1) * s->rows : program->start[variable + 1]};
}

/* The next entry and its row; false: there is no more. */
static inline bool hc_simplex_next(HcSimplexColumn *column, int64_t *row, double *entry) {
    const HcSimplex *s = column->s;
    const HcLinearProgram *program = s->program;
    if (column->at == column->end) {
        return false;
    }
    int64_t e = column->at++;
    if (column->variable >= s->columns) {
        *row = column->variable - s->columns;
        *entry = 1;
        return true;
    }
    *row = program->start != NULL ? program->row[e] : e - column->variable * s->rows;
    *entry = program->value[e] * s->row_scale[*row] * s->column_scale[column->variable];
    return true;
}

/* to[rows] += value times the column of a variable; begin - price times it. */
void hc_simplex_exact_add(const HcSimplex *s, int64_t variable, HcDouble2 value, HcDouble2 *to);
HcDouble2 hc_simplex_exact_reduce(const HcSimplex *s, int64_t variable, double begin, const HcDouble2 *price);
/* residual[rows] = A x + t of z[all]. */
void hc_simplex_exact_residual(const HcSimplex *s, const HcDouble2 *z, HcDouble2 *residual);

/* Into x, or the ray, and prices of the solution with their rests, in the units of the program. sign: -1 of
 * a certificate, which costs do not take part in. */
void hc_simplex_exact_report_x(const HcSimplex *s, const HcDouble2 *z, HcLpSolution *out);
void hc_simplex_exact_report_ray(const HcSimplex *s, const HcDouble2 *z, HcLpSolution *out);
void hc_simplex_exact_report_prices(const HcSimplex *s, const HcDouble2 *y, HcLpSolution *out);
void hc_simplex_exact_report_certificate(const HcSimplex *s, const HcDouble2 *y, HcLpSolution *out);

/* The whole of simplex_precise.c: begins with the last basis. Where it comes to no end, or the program is too
 * large, `out` stays as it is. */
HcStatus hc_simplex_precise(HcSimplex *s, HcLpSolution *out, HcError *err);

#endif
