#include "core/program.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* A sum in about twice the precision of float64 (Ogita, Rump and Oishi 2005), with that of the magnitudes of
 * its terms. */
typedef struct Sum {
    double value, error, magnitude;
} Sum;

static void add(Sum *sum, double term) {
    double value = sum->value + term;
    double part = value - sum->value;
    sum->error += (sum->value - (value - part)) + (term - part);
    sum->value = value;
    sum->magnitude += fabs(term);
}

static void add_product(Sum *sum, double a, double b) {
    double product = a * b;
    add(sum, product);
    sum->error += fma(a, b, -product);
}

static double total(const Sum *sum) {
    return sum->value + sum->error;
}

/* The larger one; what is not a number proves nothing. */
static double worse(double a, double b) {
    return isnan(b) ? INFINITY : fmax(a, b);
}

/* ---- the program, as one that minimises ---- */

typedef struct Range {
    double lower, upper;
} Range;

static Range column_range(const HcLinearProgram *program, int64_t column) {
    return (Range){program->lower != NULL ? program->lower[column] : 0,
                   program->upper != NULL ? program->upper[column] : INFINITY};
}

static Range row_range(const HcLinearProgram *program, int64_t row) {
    return (Range){program->row_lower != NULL ? program->row_lower[row] : -INFINITY,
                   program->row_upper != NULL ? program->row_upper[row] : INFINITY};
}

static double sign_of(const HcLinearProgram *program) {
    return program->maximise ? -1 : 1;
}

/* The stored entries of a column: their number, and the row of each. */
static int64_t entries(const HcLinearProgram *program, int64_t column, int64_t *first) {
    *first = program->start != NULL ? program->start[column] : column * program->rows;
    return program->start != NULL ? program->start[column + 1] - *first : program->rows;
}

static int64_t row_of(const HcLinearProgram *program, int64_t first, int64_t entry) {
    return program->start != NULL ? program->row[first + entry] : entry;
}

/* sum[rows] = A x, all 0 before. */
static void multiply(const HcLinearProgram *program, const double *x, Sum *sum) {
    for (int64_t j = 0; j < program->columns; j++) {
        int64_t first = 0;
        int64_t count = entries(program, j, &first);
        for (int64_t e = 0; e < count && x[j] != 0; e++) {
            add_product(&sum[row_of(program, first, e)], program->value[first + e], x[j]);
        }
    }
}

/* begin + scale (A'y) of one column. */
static Sum column_product(const HcLinearProgram *program, int64_t column, const double *y, double scale,
                          double begin) {
    Sum sum = {0};
    int64_t first = 0;
    int64_t count = entries(program, column, &first);
    add(&sum, begin);
    for (int64_t e = 0; e < count; e++) {
        add_product(&sum, program->value[first + e], scale * y[row_of(program, first, e)]);
    }
    return sum;
}

/* ---- the primal side ---- */

/* By how much a value leaves its range, relative to 1 + the magnitudes of what is compared. */
static double outside(double value, double magnitude, Range range) {
    double below = (range.lower - value) / (1 + magnitude + fabs(range.lower));
    double above = (value - range.upper) / (1 + magnitude + fabs(range.upper));
    below = isinf(range.lower) && range.lower < 0 ? 0 : below;
    above = isinf(range.upper) && range.upper > 0 ? 0 : above;
    return isfinite(value) ? worse(worse(0, below), above) : INFINITY;
}

static double primal_violation(const HcLinearProgram *program, const double *x, Sum *row) {
    double violation = 0;
    for (int64_t j = 0; j < program->columns; j++) {
        violation = worse(violation, outside(x[j], fabs(x[j]), column_range(program, j)));
    }
    multiply(program, x, row);
    for (int64_t i = 0; i < program->rows; i++) {
        violation = worse(violation, outside(total(&row[i]), row[i].magnitude, row_range(program, i)));
    }
    return violation;
}

static double cost_of(const HcLinearProgram *program, const double *x) {
    Sum sum = {0};
    for (int64_t j = 0; j < program->columns; j++) {
        add_product(&sum, program->cost[j], x[j]);
    }
    return total(&sum);
}

/* ---- the dual side ---- */

/* A price times the bound that it is paid at, the lower one where it is positive, goes into `paid`. Where
 * there is no such bound, the price itself is what is wrong: relative to 1 + the magnitudes that it is the
 * difference of. */
static double pay(double price, double magnitude, Range range, Sum *paid) {
    double bound = price > 0 ? range.lower : range.upper;
    if (price == 0) {
        return 0;
    }
    if (!isfinite(bound) || !isfinite(price)) {
        return worse(0, fabs(price) / (1 + magnitude));
    }
    add_product(paid, price, bound);
    return 0;
}

/* What the prices scale * y of the rows, and `share` of the cost, prove of the least cost. */
static double pay_all(const HcLinearProgram *program, const double *y, double scale, double share,
                      Sum *paid) {
    double violation = 0;
    for (int64_t i = 0; i < program->rows; i++) {
        double price = scale * y[i];
        violation = worse(violation, pay(price, fabs(price), row_range(program, i), paid));
    }
    for (int64_t j = 0; j < program->columns; j++) {
        Sum reduced = column_product(program, j, y, -scale, share * program->cost[j]);
        violation = worse(violation, pay(total(&reduced), reduced.magnitude, column_range(program, j), paid));
    }
    return violation;
}

static HcLpProof prove_optimal(const HcLinearProgram *program, const HcLpSolution *solution) {
    HcLpProof proof = {0};
    double sign = sign_of(program);
    double objective = sign * cost_of(program, solution->x);
    Sum paid = {0};
    proof.dual = pay_all(program, solution->price, sign, sign, &paid);
    proof.gap = worse(0, fabs(objective - total(&paid)) / (1 + fabs(objective)));
    return proof;
}

/* Whether a sum is above 0 beyond the rounding of its terms. */
static bool decides(const Sum *sum) {
    return total(sum) > 0x1p-45 * sum->magnitude;
}

/* Prices of the rows, at no cost, that all bounds together make a profit of: paid > 0 = y'(A x) - z'x. What
 * pay() finds wrong counts relative to that profit, which may be of any size. Signs are those of either
 * direction of the objective, since neither cost nor direction takes part. */
static HcLpProof prove_infeasible(const HcLinearProgram *program, const HcLpSolution *solution) {
    HcLpProof proof = {.gap = INFINITY};
    Sum paid = {0};
    proof.dual = pay_all(program, solution->price, -1, 0, &paid);
    if (decides(&paid)) {
        Sum again = {0};
        proof.dual = pay_all(program, solution->price, -1 / total(&paid), 0, &again);
        proof.gap = 0;
    }
    return proof;
}

/* The directions in which a value may go for ever. */
static Range free_directions(Range range) {
    return (Range){isinf(range.lower) ? -INFINITY : 0, isinf(range.upper) ? INFINITY : 0};
}

/* The ray, made so long that it improves the objective by 1. */
static double ray_violation(const HcLinearProgram *program, const double *ray, double gain, Sum *row) {
    double violation = 0;
    for (int64_t j = 0; j < program->columns; j++) {
        double step = ray[j] / gain;
        violation = worse(violation, outside(step, fabs(step), free_directions(column_range(program, j))));
    }
    multiply(program, ray, row);
    for (int64_t i = 0; i < program->rows; i++) {
        Range range = free_directions(row_range(program, i));
        violation = worse(violation, outside(total(&row[i]) / gain, row[i].magnitude / gain, range));
    }
    return violation;
}

static HcLpProof prove_unbounded(const HcLinearProgram *program, const HcLpSolution *solution, Sum *row) {
    HcLpProof proof = {.dual = INFINITY, .gap = INFINITY};
    Sum gain = {0};
    for (int64_t j = 0; j < program->columns && solution->ray != NULL; j++) {
        add_product(&gain, -sign_of(program) * program->cost[j], solution->ray[j]);
    }
    if (decides(&gain)) {
        proof.dual = ray_violation(program, solution->ray, total(&gain), row);
        proof.gap = 0;
    }
    return proof;
}

HcLpProof hc_program_prove(const HcLinearProgram *program, const HcLpSolution *solution) {
    HcLpProof proof = {INFINITY, INFINITY, INFINITY};
    size_t rows = (size_t)program->rows;
    Sum *row = calloc(2 * rows + 1, sizeof *row); /* of x, and of the ray */
    if (row == NULL) {
        return proof;
    }
    if (solution->end == HC_LP_INFEASIBLE) {
        proof = prove_infeasible(program, solution);
    } else {
        proof = solution->end == HC_LP_UNBOUNDED ? prove_unbounded(program, solution, row + rows)
                                                 : prove_optimal(program, solution);
        proof.primal = primal_violation(program, solution->x, row);
    }
    free(row);
    return proof;
}
