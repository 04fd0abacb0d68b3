/* Linear programs: a tableau with Bland's rule says how small ones end, and every end is proved again here,
 * in the program's own units, in long double. */
#include "tests/conformance/rig.h"

#include "core/operation/lp/simplex.h"

#include <stdlib.h>

#define INF ((double)INFINITY)

/* Violations relative to 1 + the magnitudes of what is compared. */
static const double proved = 1e-9;

/* A program with memory of its own. */
typedef struct Case {
    HcLinearProgram program;
    double *value; /* [columns][rows] */
    double *cost, *lower, *upper, *row_lower, *row_upper;
    double *x, *price, *ray;
    HcLpSolution solution;
} Case;

static double *doubles(int64_t count, double value) {
    double *list = malloc((size_t)(count + 1) * sizeof *list);
    assert_non_null(list);
    for (int64_t k = 0; k < count; k++) {
        list[k] = value;
    }
    return list;
}

/* max 0 where A x <= infinity, x >= 0, all entries 0. */
static Case case_new(int64_t rows, int64_t columns) {
    Case c = {.value = doubles(rows * columns, 0),
              .cost = doubles(columns, 0),
              .lower = doubles(columns, 0),
              .upper = doubles(columns, INF),
              .row_lower = doubles(rows, -INF),
              .row_upper = doubles(rows, INF),
              .x = doubles(columns, NAN),
              .price = doubles(rows, NAN),
              .ray = doubles(columns, NAN)};
    c.program = (HcLinearProgram){.rows = rows,
                                  .columns = columns,
                                  .value = c.value,
                                  .cost = c.cost,
                                  .lower = c.lower,
                                  .upper = c.upper,
                                  .row_lower = c.row_lower,
                                  .row_upper = c.row_upper,
                                  .maximise = true};
    return c;
}

static void case_free(Case *c) {
    double *lists[] = {c->value,     c->cost, c->lower, c->upper, c->row_lower,
                       c->row_upper, c->x,    c->price, c->ray};
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
        free(lists[k]);
    }
}

static double *at(Case *c, int64_t row, int64_t column) {
    return &c->value[column * c->program.rows + row];
}

static HcStatus solve(Rig *rig, Case *c, const HcLinearProgram *program, HcSimplexRule rule) {
    memset(&c->solution, 0xFF, sizeof c->solution);
    c->solution.x = c->x;
    c->solution.price = c->price;
    c->solution.ray = c->ray;
    c->solution.rest = NULL;
    return hc_simplex(rig->queue, program, &rule, &c->solution, &rig->err);
}

/* ---- proofs ---- */

/* How far a value is beyond its bounds, relative to 1 + `size`. */
static double beyond(long double value, long double size, double lower, double upper) {
    long double most = 0;
    if (!isfinite((double)value)) {
        return INF;
    }
    most = lower > -INF && lower - value > most ? lower - value : most;
    most = upper < INF && value - upper > most ? value - upper : most;
    return (double)(most / (1 + size));
}

/* The rows of A x, with the magnitudes of their terms. */
static long double row_of(const Case *c, const double *x, int64_t i, long double *size) {
    long double sum = 0;
    *size = 0;
    for (int64_t j = 0; j < c->program.columns; j++) {
        long double term = (long double)c->value[j * c->program.rows + i] * (long double)x[j];
        sum += term;
        *size += fabsl(term);
    }
    return sum;
}

static long double column_of(const Case *c, int64_t j, long double begin, long double *size) {
    long double sum = begin;
    *size = fabsl(begin);
    for (int64_t i = 0; i < c->program.rows; i++) {
        long double term = (long double)c->value[j * c->program.rows + i] * (long double)c->price[i];
        sum -= term;
        *size += fabsl(term);
    }
    return sum;
}

static void check_feasible(const Case *c) {
    long double size = 0;
    for (int64_t j = 0; j < c->program.columns; j++) {
        check_near(beyond(c->x[j], fabsl((long double)c->x[j]), c->lower[j], c->upper[j]), 0, proved);
    }
    for (int64_t i = 0; i < c->program.rows; i++) {
        long double sum = row_of(c, c->x, i, &size);
        check_near(beyond(sum, size, c->row_lower[i], c->row_upper[i]), 0, proved);
    }
}

/* A price times the bound that it is paid at; without one it must be 0 but for rounding. */
static long double pay(long double price, long double size, double lower, double upper) {
    double bound = price > 0 ? lower : upper;
    if (isfinite(bound)) {
        return price * bound;
    }
    check_near(fabsl(price) / (1 + size), 0, proved);
    return 0;
}

/* Feasible, prices of the right signs, and both objectives the same: nothing else is optimal. */
static void check_optimal(const Case *c) {
    long double sign = c->program.maximise ? -1 : 1;
    long double objective = 0;
    long double paid = 0;
    long double size = 0;
    check_feasible(c);
    for (int64_t i = 0; i < c->program.rows; i++) {
        long double price = sign * c->price[i];
        assert_true(isfinite(c->price[i]));
        paid += pay(price, fabsl(price), c->row_lower[i], c->row_upper[i]);
    }
    for (int64_t j = 0; j < c->program.columns; j++) {
        long double reduced = sign * column_of(c, j, c->cost[j], &size);
        paid += pay(reduced, size, c->lower[j], c->upper[j]);
        objective += (long double)c->cost[j] * c->x[j];
    }
    check_near(c->solution.objective, objective, 1e-12 * (1 + fabs((double)objective)));
    check_near(c->solution.dual_objective, objective, 1e-9 * (1 + fabs((double)objective)));
    check_near(sign * paid, objective, 1e-9 * (1 + fabs((double)objective)));
}

/* All bounds together allow for no value of y'(A x) - z'x = 0 that is not below 0. */
static void check_infeasible(const Case *c) {
    long double most = 0;
    long double size = 0;
    long double least_size = 0;
    for (int64_t i = 0; i < c->program.rows; i++) {
        double y = c->price[i];
        double bound = y > 0 ? c->row_upper[i] : c->row_lower[i];
        assert_true(isfinite(y) && (y == 0 || isfinite(bound)));
        most += y == 0 ? 0 : (long double)y * bound;
        least_size += y == 0 ? 0 : fabsl((long double)y * bound);
    }
    for (int64_t j = 0; j < c->program.columns; j++) {
        long double z = -column_of(c, j, 0, &size);
        double bound = z > 0 ? c->lower[j] : c->upper[j];
        if (isfinite(bound)) {
            most -= z * bound;
            least_size += fabsl(z * bound);
        } else {
            check_near(fabsl(z) / (1e-300L + size), 0, 1e-9);
        }
    }
    assert_true(most < -1e-13L * least_size);
}

/* Feasible, and from there a direction within the bounds that improves for ever. */
static void check_unbounded(const Case *c) {
    long double gain = 0;
    long double size = 0;
    check_feasible(c);
    for (int64_t j = 0; j < c->program.columns; j++) {
        gain += (c->program.maximise ? 1 : -1) * (long double)c->cost[j] * c->ray[j];
    }
    assert_true(gain > 0);
    for (int64_t j = 0; j < c->program.columns; j++) {
        double step = (double)(c->ray[j] / gain);
        check_near(beyond(step, fabs(step), c->lower[j] > -INF ? 0 : -INF, c->upper[j] < INF ? 0 : INF), 0,
                   proved);
    }
    for (int64_t i = 0; i < c->program.rows; i++) {
        long double sum = row_of(c, c->ray, i, &size) / gain;
        check_near(
            beyond(sum, size / gain, c->row_lower[i] > -INF ? 0 : -INF, c->row_upper[i] < INF ? 0 : INF), 0,
            proved);
    }
}

static void check_proved(const Case *c) {
    const HcLpSolution *got = &c->solution;
    HcLpProof proof = hc_lp_prove(&c->program, got);
    check_near(proof.primal, 0, got->end == HC_LP_INFEASIBLE ? INF : proved);
    check_near(proof.dual, 0, proved);
    check_near(proof.gap, 0, proved);
    assert_true(got->pivots >= got->phase_one && got->phase_one >= 0 && got->refactored >= 0);
    assert_true(got->columns_kept >= 0 && got->columns_kept <= c->program.rows);
    if (got->end == HC_LP_OPTIMAL) {
        check_optimal(c);
    } else if (got->end == HC_LP_INFEASIBLE) {
        check_infeasible(c);
    } else {
        assert_int_equal(got->end, HC_LP_UNBOUNDED);
        check_unbounded(c);
    }
    for (int64_t j = 0; j < c->program.columns && got->end != HC_LP_UNBOUNDED; j++) {
        assert_true(c->ray[j] == 0);
    }
}

/* ---- both forms ---- */

/* The entries that are not 0, of each column from the last row to the first. */
typedef struct Sparse {
    int64_t *start;
    int32_t *row;
    double *value;
} Sparse;

static Sparse compress(const Case *c, HcLinearProgram *program) {
    int64_t rows = c->program.rows;
    int64_t columns = c->program.columns;
    Sparse sparse = {.start = malloc((size_t)(columns + 1) * sizeof *sparse.start),
                     .row = malloc((size_t)(rows * columns + 1) * sizeof *sparse.row),
                     .value = doubles(rows * columns, 0)};
    int64_t count = 0;
    assert_true(sparse.start != NULL && sparse.row != NULL);
    for (int64_t j = 0; j < columns; j++) {
        sparse.start[j] = count;
        for (int64_t i = rows - 1; i >= 0; i--) {
            if (c->value[j * rows + i] != 0) {
                sparse.row[count] = (int32_t)i;
                sparse.value[count++] = c->value[j * rows + i];
            }
        }
    }
    sparse.start[columns] = count;
    *program = c->program;
    program->start = sparse.start;
    program->row = sparse.row;
    program->value = sparse.value;
    return sparse;
}

static void sparse_free(Sparse *sparse) {
    free(sparse->start);
    free(sparse->row);
    free(sparse->value);
}

/* Dense and compressed by columns, both proved; they end the same way at the same objective. */
static HcLpEnd solve_both(Rig *rig, Case *c) {
    HcLinearProgram program;
    Sparse sparse = compress(c, &program);
    check_ok(solve(rig, c, &c->program, (HcSimplexRule){0}), rig->err);
    check_proved(c);
    HcLpSolution dense = c->solution;
    check_ok(solve(rig, c, &program, (HcSimplexRule){0}), rig->err);
    check_proved(c);
    assert_int_equal(c->solution.end, dense.end);
    if (dense.end == HC_LP_OPTIMAL) {
        check_near(c->solution.objective, dense.objective, 1e-9 * (1 + fabs(dense.objective)));
    }
    sparse_free(&sparse);
    return dense.end;
}

static void check_optimum(Rig *rig, Case *c, double objective) {
    assert_int_equal(solve_both(rig, c), HC_LP_OPTIMAL);
    check_near(c->solution.objective, objective, 1e-10 * (1 + fabs(objective)));
    case_free(c);
}

/* ---- classics ---- */

/* max cost'x, A x <= most, A by rows as it is printed. */
static Case case_of(int64_t rows, int64_t columns, const double *by_row, const double *most,
                    const double *cost) {
    Case c = case_new(rows, columns);
    memcpy(c.cost, cost, (size_t)columns * sizeof *cost);
    memcpy(c.row_upper, most, (size_t)rows * sizeof *most);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) {
            *at(&c, i, j) = by_row[i * columns + j];
        }
    }
    return c;
}

/* Klee and Minty's cube: max sum of 10^(n-j) x[j], 2 sum over j < i of 10^(i-j) x[j] + x[i] <= 100^(i-1);
 * with 2 in place of 10 and 5 of 100 for larger ones. */
static void check_cube(Rig *rig, int64_t n, double step, double most) {
    Case c = case_new(n, n);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < i; j++) {
            *at(&c, i, j) = 2 * pow(step, (double)(i - j));
        }
        *at(&c, i, i) = 1;
        c.row_upper[i] = pow(most, (double)i);
        c.cost[i] = pow(step, (double)(n - 1 - i));
    }
    check_optimum(rig, &c, pow(most, (double)(n - 1)));
}

/* From each of `side` places to each of as many others, 1 each; cost (i + j) mod side: 0 is the least. Every
 * basis is degenerate. */
static void check_assignment(Rig *rig, int64_t side) {
    Case c = case_new(2 * side, side * side);
    c.program.maximise = false;
    for (int64_t i = 0; i < side; i++) {
        for (int64_t j = 0; j < side; j++) {
            *at(&c, i, i * side + j) = 1;
            *at(&c, side + j, i * side + j) = 1;
            c.cost[i * side + j] = (double)((i + j) % side);
        }
        c.row_lower[i] = c.row_upper[i] = c.row_lower[side + i] = c.row_upper[side + i] = 1;
    }
    check_optimum(rig, &c, 0);
}

CASE(test_simplex) {
    (void)state;
    Rig rig;
    rig_open(&rig, 2);
    /* Dantzig's glass works; Beale's and Kuhn's programs, on which the plain rule goes in circles. */
    Case glass = case_of(3, 2, (double[]){1, 0, 0, 2, 3, 2}, (double[]){4, 12, 18}, (double[]){3, 5});
    check_optimum(&rig, &glass, 36);
    Case beale = case_of(3, 4, (double[]){0.25, -60, -0.04, 9, 0.5, -90, -0.02, 3, 0, 0, 1, 0},
                         (double[]){0, 0, 1}, (double[]){0.75, -150, 0.02, -6});
    check_optimum(&rig, &beale, 0.05);
    Case kuhn = case_of(3, 4, (double[]){-2, -9, 1, 9, 1.0 / 3, 1, -1.0 / 3, -2, 2, 3, -1, -12},
                        (double[]){0, 0, 2}, (double[]){2, 3, -1, -12});
    check_optimum(&rig, &kuhn, 2);
    check_cube(&rig, 8, 10, 100);
    check_cube(&rig, 20, 2, 5);
    check_assignment(&rig, 1);
    check_assignment(&rig, 7);
    check_assignment(&rig, 20);
    rig_close(&rig);
}

/* ---- the tableau ---- */

enum { TABLEAU_ROWS = 64, TABLEAU_COLUMNS = 128 };

/* min cost'x, A x = right >= 0, x >= 0: rows of (A | right), the last one of reduced costs. */
typedef struct Tableau {
    int rows, columns;
    long double a[TABLEAU_ROWS + 1][TABLEAU_COLUMNS + 1];
    int basic[TABLEAU_ROWS];
} Tableau;

static void tableau_pivot(Tableau *t, int row, int column) {
    long double pivot = t->a[row][column];
    for (int j = 0; j <= t->columns; j++) {
        t->a[row][j] /= pivot;
    }
    for (int i = 0; i <= t->rows; i++) {
        long double factor = t->a[i][column];
        for (int j = 0; j <= t->columns && i != row; j++) {
            t->a[i][j] -= factor * t->a[row][j];
        }
    }
    t->basic[row] = column;
}

/* Bland's rule among the first `open` columns; false: unbounded. */
static bool tableau_run(Tableau *t, int open) {
    for (;;) {
        int column = 0;
        int row = -1;
        while (column < open && !(t->a[t->rows][column] < -1e-11L)) {
            column++;
        }
        if (column == open) {
            return true;
        }
        for (int i = 0; i < t->rows; i++) {
            if (t->a[i][column] > 1e-11L) {
                long double ratio = t->a[i][t->columns] * (row < 0 ? 1 : t->a[row][column]);
                long double best = row < 0 ? 0 : t->a[row][t->columns] * t->a[i][column];
                if (row < 0 || ratio < best || (ratio == best && t->basic[i] < t->basic[row])) {
                    row = i;
                }
            }
        }
        if (row < 0) {
            return false;
        }
        tableau_pivot(t, row, column);
    }
}

/* x = origin + sum over its `parts` of step * part: one part from a bound, two where there is none. */
typedef struct Parts {
    double origin, step;
    int first;
    bool two;
} Parts;

static void add_row(Tableau *t, const Case *c, const Parts *parts, int64_t row, double right, int slack,
                    double slack_sign) {
    long double *a = t->a[t->rows];
    memset(a, 0, sizeof t->a[0]);
    a[t->columns] = right;
    for (int64_t j = 0; j < c->program.columns; j++) {
        long double entry = c->value[j * c->program.rows + row];
        a[parts[j].first] = entry * parts[j].step;
        if (parts[j].two) {
            a[parts[j].first + 1] = -entry * parts[j].step;
        }
        a[t->columns] -= entry * parts[j].origin;
    }
    if (slack >= 0) {
        a[slack] = slack_sign;
    }
    t->rows++;
}

static void add_upper(Tableau *t, const Parts *part, double range, int slack) {
    memset(t->a[t->rows], 0, sizeof t->a[0]);
    t->a[t->rows][part->first] = 1;
    t->a[t->rows][slack] = 1;
    t->a[t->rows++][t->columns] = range;
}

/* Parts of all variables; returns how many. */
static int split(const Case *c, Parts *parts) {
    int count = 0;
    for (int64_t j = 0; j < c->program.columns; j++) {
        bool low = c->lower[j] > -INF;
        bool high = c->upper[j] < INF;
        parts[j] = (Parts){.origin = low    ? c->lower[j]
                                     : high ? c->upper[j]
                                            : 0,
                           .step = !low && high ? -1 : 1,
                           .first = count,
                           .two = !low && !high};
        count += parts[j].two ? 2 : 1;
    }
    return count;
}

/* Equations with slacks, in a tableau of `columns`. */
static void fill(Tableau *t, const Case *c, const Parts *parts, int slack) {
    for (int64_t i = 0; i < c->program.rows; i++) {
        bool equal = c->row_lower[i] == c->row_upper[i];
        if (c->row_upper[i] < INF) {
            add_row(t, c, parts, i, c->row_upper[i], equal ? -1 : slack++, 1);
        }
        if (c->row_lower[i] > -INF && !equal) {
            add_row(t, c, parts, i, c->row_lower[i], slack++, -1);
        }
    }
    for (int64_t j = 0; j < c->program.columns; j++) {
        if (isfinite(c->lower[j]) && isfinite(c->upper[j])) {
            add_upper(t, &parts[j], c->upper[j] - c->lower[j], slack++);
        }
    }
}

/* Artificial variables behind all others, whose sum becomes 0 unless the program is infeasible. */
static bool find_feasible(Tableau *t, int open) {
    memset(t->a[t->rows], 0, sizeof t->a[0]);
    for (int i = 0; i < t->rows; i++) {
        long double sign = t->a[i][t->columns] < 0 ? -1 : 1;
        for (int j = 0; j <= t->columns; j++) {
            t->a[i][j] *= sign;
            t->a[t->rows][j] -= t->a[i][j];
        }
        t->a[i][open + i] = 1;
        t->basic[i] = open + i;
    }
    assert_true(tableau_run(t, open));
    if (t->a[t->rows][t->columns] < -1e-9L) {
        return false;
    }
    for (int i = 0; i < t->rows; i++) { /* artificial ones of value 0 leave where they can */
        for (int j = 0; j < open && t->basic[i] >= open; j++) {
            if (fabsl(t->a[i][j]) > 1e-9L) {
                tableau_pivot(t, i, j);
            }
        }
    }
    return true;
}

/* How a program ends, and its optimum. */
static HcLpEnd reference(const Case *c, double *objective) {
    Parts parts[TABLEAU_COLUMNS];
    Tableau *t = calloc(1, sizeof *t);
    assert_non_null(t);
    double sign = c->program.maximise ? -1 : 1;
    int open = split(c, parts) + (int)(2 * c->program.rows + c->program.columns);
    t->columns = open + (int)(2 * c->program.rows + c->program.columns);
    assert_true(t->columns <= TABLEAU_COLUMNS && 2 * c->program.rows + c->program.columns <= TABLEAU_ROWS);
    fill(t, c, parts, split(c, parts));
    HcLpEnd end = find_feasible(t, open) ? HC_LP_OPTIMAL : HC_LP_INFEASIBLE;
    long double constant = 0;
    memset(t->a[t->rows], 0, sizeof t->a[0]);
    for (int64_t j = 0; j < c->program.columns; j++) {
        double cost = sign * c->cost[j];
        constant += (long double)cost * parts[j].origin;
        t->a[t->rows][parts[j].first] = cost * parts[j].step;
        t->a[t->rows][parts[j].first + 1] -= parts[j].two ? cost * parts[j].step : 0;
    }
    for (int i = 0; i < t->rows; i++) {
        long double cost = t->basic[i] < open ? t->a[t->rows][t->basic[i]] : 0;
        for (int j = 0; j <= t->columns; j++) {
            t->a[t->rows][j] -= cost * t->a[i][j];
        }
    }
    if (end == HC_LP_OPTIMAL && !tableau_run(t, open)) {
        end = HC_LP_UNBOUNDED;
    }
    *objective = (double)(sign * (constant - t->a[t->rows][t->columns]));
    free(t);
    return end;
}

/* ---- programs of all kinds ---- */

static double whole(uint64_t *seed, int64_t most) {
    return (double)random_between(seed, -most, most);
}

static void fill_bounds(Case *c, uint64_t *seed) {
    for (int64_t j = 0; j < c->program.columns; j++) {
        int64_t kind = random_between(seed, 0, 9);
        double low = whole(seed, 4);
        c->lower[j] = kind == 0 || kind == 1 ? -INF : kind < 4 ? low : 0;
        c->upper[j] = kind == 0 || kind > 5 ? INF : low + (double)random_between(seed, 0, 6);
        c->upper[j] = c->upper[j] < c->lower[j] ? c->lower[j] : c->upper[j];
    }
}

/* Rows that hold at some point within the bounds, mostly; small integers, so that much of it is degenerate.
 */
static void fill_rows(Case *c, uint64_t *seed) {
    bool any = random_between(seed, 0, 2) == 0;
    int64_t zeros = random_between(seed, 0, 8);
    for (int64_t i = 0; i < c->program.rows; i++) {
        int64_t kind = random_between(seed, 0, 5);
        double sum = any ? whole(seed, 6) : 0;
        for (int64_t j = 0; j < c->program.columns; j++) {
            double point = fmin(fmax((double)(j % 3), c->lower[j]), c->upper[j]);
            *at(c, i, j) = random_between(seed, 0, 9) < zeros ? 0 : whole(seed, 3);
            sum += any ? 0 : *at(c, i, j) * point;
        }
        double more = (double)random_between(seed, 0, 3);
        c->row_upper[i] = kind < 3 ? sum + more : kind == 3 ? sum : INF;
        c->row_lower[i] = kind == 2 || kind == 4 ? sum - more : kind == 3 ? sum : -INF;
        if (kind == 1 && i > 0) { /* the row before, twice */
            for (int64_t j = 0; j < c->program.columns; j++) {
                *at(c, i, j) = 2 * *at(c, i - 1, j);
            }
            c->row_upper[i] = 2 * c->row_upper[i - 1];
            c->row_lower[i] = -INF;
        }
    }
}

CASE(test_simplex_kinds) {
    (void)state;
    enum { PROGRAMS = 600 };
    uint64_t seed = 41;
    int ends[3] = {0};
    Rig rig;
    rig_open(&rig, 1);
    for (int k = 0; k < PROGRAMS; k++) {
        Case c = case_new(random_between(&seed, 0, 12), random_between(&seed, 1, 14));
        c.program.maximise = k % 2 == 0;
        fill_bounds(&c, &seed);
        fill_rows(&c, &seed);
        for (int64_t j = 0; j < c.program.columns; j++) {
            c.cost[j] = k % 11 == 0 ? 0 : whole(&seed, 3);
        }
        double objective = NAN;
        HcLpEnd end = reference(&c, &objective);
        assert_int_equal(solve_both(&rig, &c), end);
        if (end == HC_LP_OPTIMAL) {
            check_near(c.solution.objective, objective, 1e-10 * (1 + fabs(objective)));
        }
        ends[end]++;
        case_free(&c);
    }
    assert_true(ends[HC_LP_OPTIMAL] > PROGRAMS / 4 && ends[HC_LP_INFEASIBLE] > PROGRAMS / 10 &&
                ends[HC_LP_UNBOUNDED] > PROGRAMS / 10);
    rig_close(&rig);
}

/* ---- large ones ---- */

/* The random programs of Bai, Ouyang, He and Jiang: n x 2 n, uniform in [0, 1), some of the entries 0; right
 * sides are half the sums of the rows. */
static Case family(int64_t n, int zeros, uint64_t *seed) {
    Case c = case_new(n, 2 * n);
    for (int64_t i = 0; i < n; i++) {
        c.row_upper[i] = 0;
    }
    for (int64_t j = 0; j < 2 * n; j++) {
        c.cost[j] = random_uniform(seed);
        for (int64_t i = 0; i < n; i++) {
            *at(&c, i, j) = random_between(seed, 0, 99) < zeros ? 0 : random_uniform(seed);
            c.row_upper[i] += *at(&c, i, j) / 2;
        }
    }
    return c;
}

CASE(test_simplex_families) {
    (void)state;
    uint64_t seed = 5;
    Rig rig;
    rig_open(&rig, 2);
    for (int zeros = 0; zeros <= 60; zeros += 20) {
        Case small = family(30, zeros, &seed);
        assert_int_equal(solve_both(&rig, &small), HC_LP_OPTIMAL);
        case_free(&small);
        Case large = family(300, zeros, &seed);
        check_ok(solve(&rig, &large, &large.program, (HcSimplexRule){0}), rig.err);
        assert_int_equal(large.solution.end, HC_LP_OPTIMAL);
        check_proved(&large);
        case_free(&large);
    }
    rig_close(&rig);
}

/* A program whose optimum is known: x and y are chosen, costs and bounds are made so that one proves the
 * other. A third of the variables lies between its bounds, a third of the rows is tight. Rows and columns are
 * scaled by up to 10^spread either way. */
static Case constructed(int64_t rows, int64_t columns, int zeros, double spread, double *objective,
                        uint64_t *seed) {
    Case c = case_new(rows, columns);
    double *y = doubles(rows, 0);
    long double sum = 0;
    c.program.maximise = false;
    for (int64_t i = 0; i < rows; i++) {
        y[i] = i % 3 == 0 ? (i % 2 == 0 ? 1 : -1) * (0.1 + random_uniform(seed)) : 0;
    }
    for (int64_t j = 0; j < columns; j++) {
        for (int64_t i = 0; i < rows; i++) {
            *at(&c, i, j) = random_between(seed, 0, 99) < zeros ? 0 : random_normal(seed);
        }
    }
    for (int64_t j = 0; j < columns; j++) {
        double x = j % 3 == 0 && 3 * j < 2 * rows ? 1 + random_uniform(seed) : (double)(j % 2);
        bool between = j % 3 == 0 && 3 * j < 2 * rows;
        c.x[j] = x;
        c.lower[j] = between ? x - 1 : j % 3 == 1 ? x : -INF;
        c.upper[j] = between ? x + 1 : j % 3 == 1 ? INF : x;
        if (!between && j % 3 == 0) {
            c.lower[j] = x;
        }
        long double price = between      ? 0
                            : j % 3 == 2 ? -(0.1L + random_uniform(seed))
                                         : 0.1L + random_uniform(seed);
        for (int64_t i = 0; i < rows; i++) {
            price += (long double)*at(&c, i, j) * y[i];
        }
        c.cost[j] = (double)price;
    }
    for (int64_t i = 0; i < rows; i++) {
        long double size = 0;
        double value = (double)row_of(&c, c.x, i, &size);
        c.row_lower[i] = y[i] > 0 ? value : y[i] < 0 ? -INF : value - 1 - random_uniform(seed);
        c.row_upper[i] = y[i] < 0 ? value : y[i] > 0 ? value + 2 : INF;
    }
    for (int64_t j = 0; j < columns; j++) {
        sum += (long double)c.cost[j] * c.x[j];
    }
    for (int64_t i = 0; i < rows; i++) {
        double scale = exp2(round(spread * 3.3 * (2 * random_uniform(seed) - 1)));
        c.row_lower[i] *= scale;
        c.row_upper[i] *= scale;
        for (int64_t j = 0; j < columns; j++) {
            *at(&c, i, j) *= scale;
        }
    }
    *objective = (double)sum;
    free(y);
    return c;
}

CASE(test_simplex_constructed) {
    (void)state;
    uint64_t seed = 77;
    Rig rig;
    rig_open(&rig, 2);
    for (int zeros = 0; zeros <= 60; zeros += 20) {
        double objective = NAN;
        Case plain = constructed(60, 130, zeros, 0, &objective, &seed);
        check_optimum(&rig, &plain, objective);
        Case scaled = constructed(60, 130, zeros, 6, &objective, &seed);
        check_optimum(&rig, &scaled, objective);
        Case large = constructed(200, 500, zeros, 2, &objective, &seed);
        check_ok(solve(&rig, &large, &large.program, (HcSimplexRule){0}), rig.err);
        assert_int_equal(large.solution.end, HC_LP_OPTIMAL);
        check_near(large.solution.objective, objective, 1e-10 * (1 + fabs(objective)));
        check_proved(&large);
        case_free(&large);
    }
    double objective = NAN;
    Case largest = constructed(400, 1000, 80, 0, &objective, &seed);
    check_ok(solve(&rig, &largest, &largest.program, (HcSimplexRule){0}), rig.err);
    assert_int_equal(largest.solution.end, HC_LP_OPTIMAL);
    check_near(largest.solution.objective, objective, 1e-10 * (1 + fabs(objective)));
    check_proved(&largest);
    case_free(&largest);
    rig_close(&rig);
}

/* So many rows that a GPU holds less of the inverse in shared memory: min sum of x where x[i] + x[i + 1] is
 * at least 1 in one row of 97, and at least -1 in the others. */
CASE(test_simplex_long) {
    (void)state;
    enum { ROWS = 6000, APART = 97 };
    Rig rig;
    rig_open(&rig, 2);
    Case c = case_new(1, ROWS + 1); /* its lists of columns */
    double *row_lower = doubles(ROWS, -1);
    double *price = doubles(ROWS, NAN);
    double *value = doubles(2 * ROWS, 1);
    int64_t *start = malloc((ROWS + 2) * sizeof *start);
    int32_t *row = malloc(2 * ROWS * sizeof *row);
    assert_true(start != NULL && row != NULL);
    start[0] = 0;
    for (int32_t j = 0; j <= ROWS; j++) {
        start[j + 1] = start[j];
        for (int32_t i = j > 0 ? j - 1 : 0; i <= j && i < ROWS; i++) {
            row[start[j + 1]++] = i;
        }
        c.cost[j] = 1;
    }
    for (int32_t i = 0; i < ROWS; i += APART) {
        row_lower[i] = 1;
    }
    HcLinearProgram program = {.rows = ROWS,
                               .columns = ROWS + 1,
                               .start = start,
                               .row = row,
                               .value = value,
                               .cost = c.cost,
                               .row_lower = row_lower};
    HcLpSolution out = {.x = c.x, .price = price};
    check_ok(hc_simplex(rig.queue, &program, &(HcSimplexRule){0}, &out, &rig.err), rig.err);
    assert_int_equal(out.end, HC_LP_OPTIMAL);
    check_near(out.objective, (ROWS + APART - 1) / APART, 1e-9);
    HcLpProof proof = hc_lp_prove(&program, &out);
    assert_true(proof.primal <= proved && proof.dual <= proved && proof.gap <= proved);
    free(row_lower);
    free(price);
    free(value);
    free(start);
    free(row);
    case_free(&c);
    rig_close(&rig);
}

/* ---- ends ---- */

static HcLpEnd end_of(Rig *rig, Case *c) {
    HcLpEnd end = solve_both(rig, c);
    case_free(c);
    return end;
}

/* No rows: every variable goes where its cost pulls it. */
static void check_no_rows(Rig *rig) {
    Case c = case_new(0, 3);
    memcpy(c.cost, (double[]){-1, 2, 0}, 3 * sizeof *c.cost);
    c.upper[1] = 7;
    c.program.row_lower = c.program.row_upper = NULL;
    check_optimum(rig, &c, 14);
    Case endless = case_new(0, 2);
    endless.cost[1] = 1;
    assert_int_equal(end_of(rig, &endless), HC_LP_UNBOUNDED);
}

/* Rows and columns without entries; a row whose bounds do not hold 0. */
static void check_empty(Rig *rig) {
    Case c = case_new(3, 3);
    *at(&c, 1, 1) = 1;
    c.row_upper[1] = 5;
    c.row_lower[0] = -1;
    memcpy(c.cost, (double[]){-1, 1, 0}, 3 * sizeof *c.cost);
    check_optimum(rig, &c, 5);
    Case none = case_new(2, 2);
    *at(&none, 0, 0) = 1;
    none.row_lower[1] = 1;
    assert_int_equal(end_of(rig, &none), HC_LP_INFEASIBLE);
}

/* x0 + x1 >= 2 and <= 1: infeasible, also where the cost could grow for ever. */
static void check_contradiction(Rig *rig) {
    Case c = case_new(2, 3);
    for (int64_t k = 0; k < 4; k++) {
        *at(&c, k / 2, k % 2) = 1;
    }
    c.row_lower[0] = 2;
    c.row_upper[1] = 1;
    c.cost[2] = 1;
    assert_int_equal(end_of(rig, &c), HC_LP_INFEASIBLE);
}

/* Bounds that rows keep all of: x in [0, 1]^2, x0 + x1 >= 2 holds in one corner alone. */
static void check_corner(Rig *rig) {
    Case c = case_new(1, 2);
    *at(&c, 0, 0) = *at(&c, 0, 1) = 1;
    c.row_lower[0] = 2;
    c.upper[0] = c.upper[1] = 1;
    c.cost[0] = -1;
    check_optimum(rig, &c, -1);
}

SMALL(test_simplex_ends) {
    (void)state;
    Rig rig;
    rig_open(&rig, 1);
    check_no_rows(&rig);
    check_empty(&rig);
    check_contradiction(&rig);
    check_corner(&rig);
    uint64_t seed = 3;
    Case c = family(40, 0, &seed);
    HcSimplexRule rule = {.pivots = 7};
    check_ok(solve(&rig, &c, &c.program, rule), rig.err);
    assert_int_equal(c.solution.end, HC_LP_UNFINISHED);
    assert_true(c.solution.pivots == 7);
    for (int64_t j = 0; j < c.program.columns; j++) {
        assert_true(isfinite(c.x[j]));
    }
    /* NULL stands for defaults; a direction need not be wanted. */
    HcLinearProgram program = c.program;
    program.lower = program.upper = program.row_lower = NULL;
    check_ok(solve(&rig, &c, &c.program, (HcSimplexRule){0}), rig.err);
    double objective = c.solution.objective;
    check_ok(solve(&rig, &c, &program, (HcSimplexRule){0}), rig.err);
    check_same(c.solution.objective, objective);
    HcLpSolution out = {.x = c.x, .price = c.price};
    check_ok(hc_simplex(rig.queue, &program, &(HcSimplexRule){0}, &out, &rig.err), rig.err);
    check_same(out.objective, objective);
    case_free(&c);
    rig_close(&rig);
}

/* ---- bits, and what is refused ---- */

/* The same bits whatever the number of threads, and every time. */
CASE(test_simplex_bits) {
    (void)state;
    uint64_t seed = 9;
    static const int32_t threads[] = {2, 3, 7, 1};
    Case c = family(400, 20, &seed);
    Rig rig;
    rig_open(&rig, 1);
    check_ok(solve(&rig, &c, &c.program, (HcSimplexRule){0}), rig.err);
    rig_close(&rig);
    int64_t pivots = c.solution.pivots;
    double *x = doubles(c.program.columns, 0);
    double *price = doubles(c.program.rows, 0);
    memcpy(x, c.x, (size_t)c.program.columns * sizeof *x);
    memcpy(price, c.price, (size_t)c.program.rows * sizeof *price);
    for (size_t k = 0; k < sizeof threads / sizeof *threads; k++) {
        rig_open(&rig, threads[k]);
        check_ok(solve(&rig, &c, &c.program, (HcSimplexRule){0}), rig.err);
        rig_close(&rig);
        assert_true(c.solution.pivots == pivots);
        assert_memory_equal(c.x, x, (size_t)c.program.columns * sizeof *x);
        assert_memory_equal(c.price, price, (size_t)c.program.rows * sizeof *price);
    }
    free(x);
    free(price);
    case_free(&c);
}

/* One wrong number at a time, in a program that is right otherwise. */
static void refuse(Rig *rig, Case *c, double *number, double wrong) {
    double right = *number;
    *number = wrong;
    check_fails(solve(rig, c, &c->program, (HcSimplexRule){0}), HC_E_USAGE, rig->err);
    *number = right;
}

static void refuse_sparse(Rig *rig, Case *c) {
    const struct {
        int64_t start[3];
        int32_t row[3];
    } wrong[] = {{{1, 2, 3}, {0, 1, 0}},
                 {{0, 2, 1}, {0, 1, 0}},
                 {{0, 2, 3}, {0, 3, 0}},
                 {{0, 2, 3}, {-1, 1, 0}},
                 {{0, 2, 3}, {1, 1, 0}}};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        HcLinearProgram program = c->program;
        program.start = wrong[k].start;
        program.row = wrong[k].row;
        check_fails(solve(rig, c, &program, (HcSimplexRule){0}), HC_E_USAGE, rig->err);
    }
    HcLinearProgram program = c->program;
    program.start = (int64_t[]){0, 2, 3};
    check_fails(solve(rig, c, &program, (HcSimplexRule){0}), HC_E_USAGE, rig->err);
}

CASE(test_simplex_refuses) {
    (void)state;
    Rig rig;
    rig_open(&rig, 1);
    Case c = case_of(3, 2, (double[]){1, 0, 0, 2, 3, 2}, (double[]){4, 12, 18}, (double[]){3, 5});
    refuse(&rig, &c, &c.value[3], NAN);
    refuse(&rig, &c, &c.value[3], INF);
    refuse(&rig, &c, &c.cost[1], NAN);
    refuse(&rig, &c, &c.cost[1], -INF);
    refuse(&rig, &c, &c.lower[0], NAN);
    refuse(&rig, &c, &c.lower[0], INF);
    refuse(&rig, &c, &c.upper[1], NAN);
    refuse(&rig, &c, &c.upper[1], -1);
    refuse(&rig, &c, &c.upper[1], -INF);
    refuse(&rig, &c, &c.row_lower[2], NAN);
    refuse(&rig, &c, &c.row_lower[2], 19);
    refuse(&rig, &c, &c.row_upper[2], NAN);
    refuse(&rig, &c, &c.row_upper[2], -INF);
    refuse_sparse(&rig, &c);
    HcLinearProgram wrong[4] = {c.program, c.program, c.program, c.program};
    wrong[0].columns = 0;
    wrong[1].rows = -1;
    wrong[2].cost = NULL;
    wrong[3].value = NULL;
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        check_fails(solve(&rig, &c, &wrong[k], (HcSimplexRule){0}), HC_E_USAGE, rig.err);
    }
    check_fails(solve(&rig, &c, NULL, (HcSimplexRule){0}), HC_E_USAGE, rig.err);
    check_fails(solve(&rig, &c, &c.program, (HcSimplexRule){.pivots = -1}), HC_E_USAGE, rig.err);
    check_fails(solve(&rig, &c, &c.program, (HcSimplexRule){.tolerance = NAN}), HC_E_USAGE, rig.err);
    check_fails(solve(&rig, &c, &c.program, (HcSimplexRule){.tolerance = -1e-9}), HC_E_USAGE, rig.err);
    HcLpSolution none = {.x = c.x};
    HcSimplexRule rule = {0};
    check_fails(hc_simplex(rig.queue, &c.program, &rule, &none, &rig.err), HC_E_USAGE, rig.err);
    none = (HcLpSolution){.price = c.price};
    check_fails(hc_simplex(rig.queue, &c.program, &rule, &none, &rig.err), HC_E_USAGE, rig.err);
    check_fails(hc_simplex(rig.queue, &c.program, &rule, NULL, &rig.err), HC_E_USAGE, rig.err);
    check_fails(hc_simplex(rig.queue, &c.program, NULL, &c.solution, &rig.err), HC_E_USAGE, rig.err);
    check_fails(hc_simplex(NULL, &c.program, &rule, &c.solution, &rig.err), HC_E_USAGE, rig.err);
    case_free(&c);
    rig_close(&rig);
}
