/* Proofs of the results of linear programs. Sums have about 32 digits, and a bound of what even these lose:
 * only what remains when all errors count against it is a proof. */
#include "core/solver/lp/linear_program.h"
#include "core/solver/lp/double_double.h"

#include <math.h>
#include <stdlib.h>

/* ---- sums ---- */

/* A sum in two parts, a bound of what both have lost (after Ogita, Rump and Oishi 2005), and the magnitude of
 * its terms. */
typedef struct Sum {
    double value, error, lost, magnitude;
} Sum;

/* Products below this have rounded parts that underflow; LOSS is more than what that costs. */
static const double smallest = 0x1p-960;
static const double loss = 0x1p-1060;

static void add_error(Sum *sum, double term) {
    HcDouble2 error = hc_double2_sum(sum->error, term);
    sum->error = error.high;
    sum->lost += fabs(error.low);
}

static void add(Sum *sum, double term) {
    HcDouble2 value = hc_double2_sum(sum->value, term);
    sum->value = value.high;
    add_error(sum, value.low);
    sum->magnitude += fabs(term);
}

static void add_product(Sum *sum, double a, double b) {
    HcDouble2 product = hc_double2_product(a, b);
    add(sum, product.high);
    add_error(sum, product.low);
    sum->lost += fabs(product.high) < smallest && a != 0 && b != 0 ? loss : 0;
}

static void add_pair_product(Sum *sum, HcDouble2 a, double b) {
    add_product(sum, a.high, b);
    if (a.low != 0) {
        add_product(sum, a.low, b);
    }
}

static HcDouble2 total(const Sum *sum) {
    return hc_double2_sum(sum->value, sum->error);
}

/* Rounding of the bound itself counts, too. */
static double lost(const Sum *sum) {
    return sum->lost * (1 + 0x1p-20);
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

/* What a proof is made of. */
typedef struct Proof {
    const HcLinearProgram *program;
    const HcLpSolution *solution;
    Sum *activity;    /* [rows] A x, or A ray */
    HcDouble2 *price; /* [rows] as those of a minimum */
    double *largest;  /* [rows] the largest entry, in magnitude */
} Proof;

static HcDouble2 with_rest(const HcLpSolution *solution, const double *values, int64_t i, int64_t offset) {
    return hc_double2_sum(values[i], solution->rest != NULL ? solution->rest[offset + i] : 0);
}

static HcDouble2 x_of(const Proof *proof, int64_t j) {
    return with_rest(proof->solution, proof->solution->x, j, 0);
}

static HcDouble2 ray_of(const Proof *proof, int64_t j) {
    return with_rest(proof->solution, proof->solution->ray, j,
                     proof->program->columns + proof->program->rows);
}

/* activity = A x, or of the ray. */
static void multiply(const Proof *proof, bool ray) {
    const HcLinearProgram *program = proof->program;
    for (int64_t i = 0; i < program->rows; i++) {
        proof->activity[i] = (Sum){0};
    }
    for (int64_t j = 0; j < program->columns; j++) {
        HcDouble2 x = ray ? ray_of(proof, j) : x_of(proof, j);
        int64_t first = 0;
        int64_t count = entries(program, j, &first);
        for (int64_t e = 0; e < count && x.high != 0; e++) {
            add_pair_product(&proof->activity[row_of(program, first, e)], x, program->value[first + e]);
        }
    }
}

/* begin - A'price of one column. */
static Sum reduce(const Proof *proof, int64_t column, double begin) {
    const HcLinearProgram *program = proof->program;
    Sum sum = {.value = begin, .magnitude = fabs(begin)};
    int64_t first = 0;
    int64_t count = entries(program, column, &first);
    for (int64_t e = 0; e < count; e++) {
        HcDouble2 price = proof->price[row_of(program, first, e)];
        if (price.high != 0) {
            add_pair_product(&sum, price, -program->value[first + e]);
        }
    }
    return sum;
}

/* ---- the primal side ---- */

/* By how much a value with an error is beyond its range. */
static double outside(HcDouble2 value, double error, Range range) {
    double below = range.lower > -INFINITY ? (range.lower - value.high) - value.low : -INFINITY;
    double above = range.upper < INFINITY ? (value.high - range.upper) + value.low : -INFINITY;
    return isfinite(value.high) ? fmax(fmax(below, above) + error, 0) : INFINITY;
}

/* A violation relative to 1 + the magnitudes that it is the difference of. */
static double relative(double beyond, HcDouble2 value, double magnitude, Range range) {
    double bound = value.high > range.lower ? range.upper : range.lower;
    return beyond > 0 ? beyond / (1 + magnitude + (isfinite(bound) ? fabs(bound) : 0)) : beyond;
}

/* The largest violation; worth: what all of them can be worth at the prices of the solution. */
static double primal_violation(const Proof *proof, double *worth) {
    const HcLinearProgram *program = proof->program;
    double violation = 0;
    *worth = 0;
    for (int64_t j = 0; j < program->columns; j++) {
        HcDouble2 x = x_of(proof, j);
        Range range = column_range(program, j);
        double beyond = outside(x, 0, range);
        violation = worse(violation, relative(beyond, x, fabs(x.high), range));
        if (beyond > 0) {
            Sum reduced = reduce(proof, j, sign_of(program) * program->cost[j]);
            *worth += beyond * fabs(total(&reduced).high);
        }
    }
    multiply(proof, false);
    for (int64_t i = 0; i < program->rows; i++) {
        HcDouble2 value = total(&proof->activity[i]);
        Range range = row_range(program, i);
        double beyond = outside(value, lost(&proof->activity[i]), range);
        violation = worse(violation, relative(beyond, value, proof->activity[i].magnitude, range));
        *worth += beyond > 0 ? beyond * fabs(proof->price[i].high) : 0;
    }
    return violation;
}

static HcDouble2 cost_of(const Proof *proof) {
    Sum sum = {0};
    for (int64_t j = 0; j < proof->program->columns; j++) {
        add_pair_product(&sum, x_of(proof, j), sign_of(proof->program) * proof->program->cost[j]);
    }
    return total(&sum);
}

/* ---- the dual side ---- */

/* A price times the bound that it is paid at, the lower one where it is positive, goes into `paid`: what the
 * price times any value within the range is at least. Returns what has no bound to be paid at: the price, or
 * what an error makes of one. */
static double pay(HcDouble2 price, double error, Range range, Sum *paid) {
    double bound = price.high > 0 ? range.lower : range.upper;
    double other = price.high > 0 ? range.upper : range.lower;
    double wrong = fmax(error - fabs(price.high), 0);
    if (!isfinite(price.high) || !isfinite(error)) {
        return INFINITY;
    }
    if (price.high != 0 && !isfinite(bound)) {
        return fabs(price.high) + error;
    }
    if (price.high != 0) {
        add_pair_product(paid, price, bound);
        paid->lost += error * fabs(bound);
    }
    if (price.high == 0 && isfinite(bound)) {
        paid->lost += error * fabs(bound);
    }
    if (wrong > 0 && isfinite(other)) {
        paid->lost += error * fabs(other);
        wrong = 0;
    }
    return wrong;
}

/* The prices of an optimum: what is wrong with them relative to the magnitudes that they are differences of;
 * `bound`, what the others prove; and what the wrong ones may gain. */
static double dual_violation(const Proof *proof, HcDouble2 *bound, double *gain) {
    const HcLinearProgram *program = proof->program;
    double violation = 0;
    Sum paid = {0};
    *gain = 0;
    for (int64_t i = 0; i < program->rows; i++) {
        double size = fabs(proof->price[i].high);
        double wrong = pay(proof->price[i], 0, row_range(program, i), &paid);
        violation = wrong > 0 ? worse(violation, wrong / (1 + size)) : violation;
        *gain += wrong > 0 ? wrong * (1 + fabs(proof->activity[i].value)) : 0;
    }
    for (int64_t j = 0; j < program->columns; j++) {
        Sum reduced = reduce(proof, j, sign_of(program) * program->cost[j]);
        double wrong = pay(total(&reduced), lost(&reduced), column_range(program, j), &paid);
        violation = wrong > 0 ? worse(violation, wrong / (1 + reduced.magnitude)) : violation;
        *gain += wrong > 0 ? wrong * (1 + fabs(proof->solution->x[j])) : 0;
    }
    *bound = total(&paid);
    *gain += lost(&paid);
    return violation;
}

static void fill_prices(const Proof *proof, double sign) {
    for (int64_t i = 0; i < proof->program->rows; i++) {
        HcDouble2 price = with_rest(proof->solution, proof->solution->price, i, proof->program->columns);
        proof->price[i] = (HcDouble2){sign * price.high, sign * price.low};
    }
}

static HcLpProof prove_optimal(const Proof *proof) {
    HcLpProof out = {0};
    HcDouble2 objective = cost_of(proof);
    HcDouble2 bound = {0};
    double worth = 0;
    double gain = 0;
    fill_prices(proof, sign_of(proof->program));
    out.primal = primal_violation(proof, &worth);
    out.dual = dual_violation(proof, &bound, &gain);
    HcDouble2 apart = hc_double2_add(objective, hc_double2_negative(bound));
    out.gap = worse(0, (fabs(apart.high) + worth + gain) / (1 + fabs(objective.high)));
    out.bound = sign_of(proof->program) * bound.high;
    out.proved = out.primal <= HC_LP_ROUNDING && out.dual <= HC_LP_ROUNDING && out.gap <= HC_LP_PROVED;
    return out;
}

/* ---- certificates ---- */

/* What has no bound to be paid at: all of it, and its largest part of the terms that it is the sum of. */
typedef struct Wrong {
    double sum, share;
} Wrong;

static void add_wrong(Wrong *wrong, double value, double magnitude) {
    if (value > 0) {
        wrong->sum += value;
        wrong->share = worse(wrong->share, value / magnitude);
    }
}

/* What a strict inequality with an error says: `gain` > 0 is contradicted by what is within the radius alone.
 */
static HcLpProof prove_within(const Sum *gain, const Wrong *wrong, double scale) {
    HcLpProof out = {.dual = INFINITY, .gap = INFINITY, .scale = scale};
    double least = total(gain).high - lost(gain);
    if (!(least > 0) || !isfinite(wrong->sum)) {
        return out;
    }
    out.gap = 0;
    out.radius = wrong->sum > 0 ? least * (1 - 0x1p-20) / wrong->sum : INFINITY;
    out.dual = isinf(out.radius) ? 0 : worse(0, scale / out.radius);
    double far = wrong->share <= HC_LP_ROUNDING ? HC_LP_FAR_BY_ROUNDING : HC_LP_FAR;
    out.proved = out.radius > 0 && out.radius >= far * scale;
    return out;
}

/* The largest entry of each row, in magnitude; all are 0 before. */
static void find_largest(const Proof *proof) {
    const HcLinearProgram *program = proof->program;
    for (int64_t j = 0; j < program->columns; j++) {
        int64_t first = 0;
        int64_t count = entries(program, j, &first);
        for (int64_t e = 0; e < count; e++) {
            int64_t i = row_of(program, first, e);
            proof->largest[i] = fmax(proof->largest[i], fabs(program->value[first + e]));
        }
    }
}

/* The size of a bound that a price is paid at. */
static double paid_size(HcDouble2 price, Range range) {
    double bound = price.high > 0 ? range.lower : price.high < 0 ? range.upper : 0;
    return isfinite(bound) ? fabs(bound) : 0;
}

static double quotient(double size, double entry) {
    return entry > 0 ? size / entry : 0;
}

/* With prices p of the rows and d = - A'p of the columns, p'(A x) + d'x is 0 for every x, while within all
 * bounds it is at least what is paid: a contradiction if that is above 0. Where a bound is missing, d_j x_j
 * may be as low as - |d_j| |x_j|; so only points with sum |d_j| |x_j| < paid are excluded, over those j. A
 * price of a row without a bound to be paid at takes no part. Neither cost nor direction of the objective
 * does. */
static HcLpProof prove_infeasible(const Proof *proof) {
    const HcLinearProgram *program = proof->program;
    Wrong wrong = {0};
    double scale = 0;
    Sum paid = {0};
    fill_prices(proof, -1);
    find_largest(proof);
    for (int64_t i = 0; i < program->rows; i++) {
        Range range = row_range(program, i);
        bool open = !isfinite(proof->price[i].high > 0 ? range.lower : range.upper);
        if (open && isfinite(proof->price[i].high)) {
            proof->price[i] = (HcDouble2){0};
        }
        add_wrong(&wrong, pay(proof->price[i], 0, range, &paid), 0);
        scale = fmax(scale, quotient(paid_size(proof->price[i], range), proof->largest[i]));
    }
    for (int64_t j = 0; j < program->columns; j++) {
        Sum reduced = reduce(proof, j, 0);
        double missing = pay(total(&reduced), lost(&reduced), column_range(program, j), &paid);
        add_wrong(&wrong, missing, reduced.magnitude);
        scale = fmax(scale, paid_size(total(&reduced), column_range(program, j)));
    }
    return prove_within(&paid, &wrong, scale);
}

/* The directions in which a value may go for ever. */
static Range free_directions(Range range) {
    return (Range){isinf(range.lower) ? -INFINITY : 0, isinf(range.upper) ? INFINITY : 0};
}

/* The same for the dual program: along the ray the objective gains, which prices y and reduced costs d could
 * forbid only where the ray leaves a bound: they would have to make up for the gain by sum |y_i| |left_i|. */
static HcLpProof prove_unbounded(const Proof *proof) {
    const HcLinearProgram *program = proof->program;
    Wrong wrong = {0};
    double scale = 0;
    double worth = 0;
    double longest = 0;
    Sum gain = {0};
    if (proof->solution->ray == NULL) {
        return (HcLpProof){.dual = INFINITY, .gap = INFINITY, .primal = INFINITY};
    }
    for (int64_t j = 0; j < program->columns; j++) {
        longest = fmax(longest, fabs(proof->solution->ray[j]));
    }
    multiply(proof, true);
    for (int64_t i = 0; i < program->rows; i++) {
        const Sum *sum = &proof->activity[i];
        double left = outside(total(sum), lost(sum), free_directions(row_range(program, i)));
        add_wrong(&wrong, left, sum->magnitude);
    }
    for (int64_t j = 0; j < program->columns; j++) {
        HcDouble2 step = ray_of(proof, j);
        double largest = 0;
        int64_t first = 0;
        int64_t count = entries(program, j, &first);
        for (int64_t e = 0; e < count; e++) {
            largest = fmax(largest, fabs(program->value[first + e]));
        }
        add_pair_product(&gain, step, -sign_of(program) * program->cost[j]);
        add_wrong(&wrong, outside(step, 0, free_directions(column_range(program, j))), longest);
        if (step.high != 0) {
            scale = fmax(scale, fabs(program->cost[j]) / (largest > 0 ? largest : 1));
        }
    }
    HcLpProof out = prove_within(&gain, &wrong, scale);
    out.primal = primal_violation(proof, &worth);
    out.proved = out.proved && out.primal <= HC_LP_ROUNDING;
    return out;
}

HcLpProof hc_lp_prove(const HcLinearProgram *program, const HcLpSolution *solution) {
    HcLpProof out = {.primal = INFINITY, .dual = INFINITY, .gap = INFINITY};
    size_t rows = (size_t)program->rows;
    Sum *activity = calloc(rows + 1, sizeof *activity);
    HcDouble2 *price = calloc(rows + 1, sizeof *price);
    double *largest = calloc(rows + 1, sizeof *largest);
    const Proof proof = {
        .program = program, .solution = solution, .activity = activity, .price = price, .largest = largest};
    if (activity != NULL && price != NULL && largest != NULL) {
        out = solution->end == HC_LP_INFEASIBLE  ? prove_infeasible(&proof)
              : solution->end == HC_LP_UNBOUNDED ? prove_unbounded(&proof)
                                                 : prove_optimal(&proof);
    } else {
        out.no_memory = true;
    }
    free(activity);
    free(price);
    free(largest);
    return out;
}
