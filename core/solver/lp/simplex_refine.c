/* Results beyond float64. The basis says what a result is; its inverse in float64 is only good enough to
 * correct one. So residuals are computed with 32 digits, the inverse is multiplied with them, and the result
 * is corrected in 32 digits, until nothing changes any more (iterative refinement: Wilkinson 1963). Backends
 * take no notice: products with the inverse are those of find_values and find_reduced, with values and costs
 * that make residuals of them. */
#include "core/solver/lp/simplex_exact.h"
#include "core/allocate.h"

#include <stdlib.h>

enum { CORRECTIONS = 6 };

/* Corrections end where one is this part of the result, or is not this part of the one before. */
static const double little = 0x1p-96;
static const double slow = 0.25;

/* ---- the scaled program ---- */

void hc_simplex_exact_add(const HcSimplex *s, int64_t variable, HcDouble2 value, HcDouble2 *to) {
    HcSimplexColumn column = hc_simplex_column(s, variable);
    int64_t row = 0;
    double entry = 0;
    while (hc_simplex_next(&column, &row, &entry)) {
        to[row] = hc_double2_add(to[row], hc_double2_times(value, entry));
    }
}

HcDouble2 hc_simplex_exact_reduce(const HcSimplex *s, int64_t variable, double begin,
                                  const HcDouble2 *price) {
    HcSimplexColumn column = hc_simplex_column(s, variable);
    HcDouble2 sum = {begin, 0};
    int64_t row = 0;
    double entry = 0;
    while (hc_simplex_next(&column, &row, &entry)) {
        sum = hc_double2_add(sum, hc_double2_times(price[row], -entry));
    }
    return sum;
}

void hc_simplex_exact_residual(const HcSimplex *s, const HcDouble2 *z, HcDouble2 *residual) {
    memset(residual, 0, (size_t)s->rows * sizeof *residual);
    for (int64_t j = 0; j < s->all; j++) {
        if (z[j].high != 0) {
            hc_simplex_exact_add(s, j, z[j], residual);
        }
    }
}

/* ---- units of the program ---- */

static void put(HcDouble2 value, double unit, double *to, double *rest) {
    *to = value.high * unit + 0;
    *rest = value.low * unit;
}

void hc_simplex_exact_report_x(const HcSimplex *s, const HcDouble2 *z, HcLpSolution *out) {
    HcDouble2 objective = {0};
    for (int64_t j = 0; j < s->columns; j++) {
        put(z[j], s->unit[j], &out->x[j], &out->rest[j]);
        objective = hc_double2_add(
            objective, hc_double2_times((HcDouble2){out->x[j], out->rest[j]}, s->program->cost[j]));
    }
    out->objective = objective.high;
}

void hc_simplex_exact_report_ray(const HcSimplex *s, const HcDouble2 *z, HcLpSolution *out) {
    for (int64_t j = 0; j < s->columns && out->ray != NULL; j++) {
        put(z[j], s->unit[j], &out->ray[j], &out->rest[s->columns + s->rows + j]);
    }
}

void hc_simplex_exact_report_prices(const HcSimplex *s, const HcDouble2 *y, HcLpSolution *out) {
    double sign = s->program->maximise ? -1 : 1;
    for (int64_t i = 0; i < s->rows; i++) {
        put(y[i], sign * s->row_scale[i] / s->cost_unit, &out->price[i], &out->rest[s->columns + i]);
    }
}

/* Where there is no bound to pay at, rounding is all that a multiplier is. */
void hc_simplex_exact_report_certificate(const HcSimplex *s, const HcDouble2 *y, HcLpSolution *out) {
    for (int64_t i = 0; i < s->rows; i++) {
        double bound = y[i].high > 0 ? s->true_upper[s->columns + i] : s->true_lower[s->columns + i];
        double unit = isfinite(bound) ? -s->row_scale[i] : 0;
        put(y[i], unit, &out->price[i], &out->rest[s->columns + i]);
    }
}

/* ---- corrections ---- */

typedef struct Refinement {
    HcSimplex *s;
    HcDouble2 *z;        /* [all] */
    HcDouble2 *y;        /* [rows] */
    HcDouble2 *residual; /* [rows] */
    double last;         /* the size of the last correction, relative to the result */
} Refinement;

/* Whether to go on after a correction. */
static bool goes_on(Refinement *refinement, double correction, double size) {
    double relative = size > 0 ? correction / size : 0;
    bool falls = relative <= slow * refinement->last;
    refinement->last = relative;
    return falls && relative > little;
}

/* Basic variables that make A x + t = 0, with those of z that are not basic. The residual of a row with a
 * basic logical goes there; the others are what nonbasic logicals would leave. */
static HcStatus refine_values(Refinement *refinement, HcError *err) {
    HcSimplex *s = refinement->s;
    refinement->last = (double)INFINITY;
    for (int round = 0; round < CORRECTIONS; round++) {
        double correction = 0;
        double size = 0;
        hc_simplex_exact_residual(s, refinement->z, refinement->residual);
        memset(s->value, 0, (size_t)s->all * sizeof *s->value);
        for (int64_t i = 0; i < s->rows; i++) {
            bool basic = s->place[s->columns + i] >= 0;
            s->value[s->columns + i] = basic ? 0 : refinement->residual[i].high;
        }
        HC_OR_RETURN(s->steps->find_values(s, err));
        for (int64_t p = 0; p < s->rows; p++) {
            int64_t j = s->basic[p];
            double change = s->value[j];
            change -= j >= s->columns ? refinement->residual[j - s->columns].high : 0;
            refinement->z[j] = hc_double2_add(refinement->z[j], (HcDouble2){change, 0});
            correction = fmax(correction, fabs(change));
            size = fmax(size, fabs(refinement->z[j].high));
        }
        if (!goes_on(refinement, correction, size)) {
            break;
        }
    }
    return HC_OK;
}

/* Prices for which the reduced costs of the basic variables are 0, of the costs target[all]. */
static HcStatus refine_prices(Refinement *refinement, const double *target, HcError *err) {
    HcSimplex *s = refinement->s;
    memset(refinement->y, 0, (size_t)s->rows * sizeof *refinement->y);
    refinement->last = (double)INFINITY;
    for (int round = 0; round < CORRECTIONS; round++) {
        double correction = 0;
        double size = 0;
        memset(s->cost, 0, (size_t)s->all * sizeof *s->cost);
        for (int64_t p = 0; p < s->rows; p++) {
            int64_t j = s->basic[p];
            s->cost[j] = hc_simplex_exact_reduce(s, j, target[j], refinement->y).high;
        }
        HC_OR_RETURN(s->steps->find_reduced(s, err));
        for (int64_t i = 0; i < s->rows; i++) {
            refinement->y[i] = hc_double2_add(refinement->y[i], (HcDouble2){s->price[i], 0});
            correction = fmax(correction, fabs(s->price[i]));
            size = fmax(size, fabs(refinement->y[i].high));
        }
        if (!goes_on(refinement, correction, size)) {
            break;
        }
    }
    return HC_OK;
}

/* The last point, with the variables that are not basic where they are; and its prices. */
static HcStatus refine_point(Refinement *refinement, bool optimal, HcLpSolution *out, HcError *err) {
    HcSimplex *s = refinement->s;
    for (int64_t j = 0; j < s->all; j++) {
        refinement->z[j] = (HcDouble2){s->place[j] < 0 ? s->value[j] : 0, 0};
    }
    HC_OR_RETURN(refine_values(refinement, err));
    hc_simplex_exact_report_x(s, refinement->z, out);
    if (optimal) {
        HC_OR_RETURN(refine_prices(refinement, s->true_cost, err));
        hc_simplex_exact_report_prices(s, refinement->y, out);
    }
    return HC_OK;
}

/* The row of the inverse that proves that there is no solution. */
static HcStatus refine_certificate(Refinement *refinement, const HcSimplexStop *stop, HcLpSolution *out,
                                   HcError *err) {
    HcStatus status = HC_OK;
    HcSimplex *s = refinement->s;
    double *target = NULL;
    HC_OR_RETURN(hc_new(target, s->all, "a certificate", err));
    target[s->basic[stop->leaving]] = stop->direction;
    HC_TRY(refine_prices(refinement, target, err));
    hc_simplex_exact_report_certificate(s, refinement->y, out);
done:
    free(target);
    return status;
}

/* The direction that nothing blocks. */
static HcStatus refine_ray(Refinement *refinement, const HcSimplexStop *stop, HcLpSolution *out,
                           HcError *err) {
    HcSimplex *s = refinement->s;
    memset(refinement->z, 0, (size_t)s->all * sizeof *refinement->z);
    refinement->z[stop->entering].high = stop->direction;
    HC_OR_RETURN(refine_values(refinement, err));
    hc_simplex_exact_report_ray(s, refinement->z, out);
    return HC_OK;
}

static HcStatus refine(HcSimplex *s, const HcSimplexStop *stop, HcLpSolution *out, HcError *err) {
    HcStatus status = HC_OK;
    size_t count = (size_t)(s->all + 2 * s->rows) + 1;
    HcDouble2 *memory = calloc(count, sizeof *memory);
    Refinement refinement = {
        .s = s, .z = memory, .y = memory + s->all, .residual = memory + s->all + s->rows};
    if (memory == NULL) {
        return hc_fail_memory(err, (double)count * sizeof *memory, "a solution of 32 digits");
    }
    if (out->end == HC_LP_INFEASIBLE) {
        HC_TRY(refine_certificate(&refinement, stop, out, err));
    } else {
        HC_TRY(refine_point(&refinement, out->end == HC_LP_OPTIMAL, out, err));
        HC_TRY(out->end == HC_LP_UNBOUNDED ? refine_ray(&refinement, stop, out, err) : HC_OK);
    }
done:
    free(memory);
    return status;
}

static HcStatus check(const HcSimplex *s, HcLpSolution *out, bool *proved, HcError *err) {
    HcLpProof proof = hc_lp_prove(s->program, out);
    if (proof.no_memory) {
        return hc_fail_memory(err, (double)s->rows * 64, "the proof of a linear program");
    }
    out->dual_objective = out->end == HC_LP_OPTIMAL ? proof.bound : out->dual_objective;
    *proved = proof.proved;
    return HC_OK;
}

HcStatus hc_simplex_improve(HcSimplex *s, const HcSimplexStop *stop, HcLpSolution *out, HcError *err) {
    memset(out->rest, 0, (size_t)(2 * s->columns + s->rows) * sizeof *out->rest);
    bool finished = s->pivots >= s->limit;
    if (out->end != HC_LP_UNFINISHED) {
        HC_OR_RETURN(check(s, out, &finished, err));
    }
    if (finished) {
        return HC_OK;
    }
    if (out->end != HC_LP_UNFINISHED) {
        HC_OR_RETURN(refine(s, stop, out, err));
        HC_OR_RETURN(check(s, out, &finished, err));
        if (finished) {
            return HC_OK;
        }
    }
    HC_OR_RETURN(hc_simplex_precise(s, out, err));
    return check(s, out, &finished, err);
}
