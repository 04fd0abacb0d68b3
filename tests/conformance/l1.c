/* One l1 problem: objectives against plain coordinate descent, what an optimum must satisfy, and problems
 * whose solution is known. */
#include "tests/conformance/rig.h"

#include "core/operation/l1/l1.h"

#include <stdlib.h>

/* So many times the steps confirm a result. With sanitizers fewer: the same code runs, ten times slower. */
#ifdef HC_SANITIZED
enum { MORE = 2 };
#else
enum { MORE = 10 };
#endif

/* A problem, what was asked, and what came out. */
typedef struct Problem {
    int64_t rows, columns;
    float *a; /* [rows][columns] */
    float *b; /* [rows] */
    float *x; /* [columns] */
    HcL1Rule rule;
    HcL1Report report;
    double *reference; /* [columns] of coordinate descent */
    double *residual;  /* [rows] b - A reference */
} Problem;

static Problem problem_new(int64_t rows, int64_t columns) {
    Problem p = {.rows = rows, .columns = columns};
    p.rule = (HcL1Rule){.iterations = 5000, .outer = 30, .tolerance = 1e-4};
    p.a = calloc((size_t)(rows * columns), sizeof *p.a);
    p.b = calloc((size_t)rows, sizeof *p.b);
    p.x = calloc((size_t)columns, sizeof *p.x);
    p.reference = calloc((size_t)columns, sizeof *p.reference);
    p.residual = calloc((size_t)rows, sizeof *p.residual);
    assert_true(p.a != NULL && p.b != NULL && p.x != NULL && p.reference != NULL && p.residual != NULL);
    return p;
}

static void problem_free(Problem *p) {
    free(p->a);
    free(p->b);
    free(p->x);
    free(p->reference);
    free(p->residual);
}

static double entry(const Problem *p, int64_t row, int64_t column) {
    return (double)p->a[row * p->columns + column];
}

static void fill_matrix(Problem *p, uint64_t *seed) {
    for (int64_t i = 0; i < p->rows * p->columns; i++) {
        p->a[i] = (float)random_normal(seed);
    }
}

/* p->reference gets `nonzeros` normal entries, positive ones where those are asked for, and b = A of it. */
static void fill_sparse(Problem *p, int64_t nonzeros, uint64_t *seed) {
    fill_matrix(p, seed);
    for (int64_t k = 0; k < nonzeros; k++) {
        double value = (double)(float)(random_normal(seed) + (k % 2 == 0 ? 2 : -2));
        p->reference[random_between(seed, 0, p->columns - 1)] = p->rule.positive ? fabs(value) : value;
    }
    for (int64_t r = 0; r < p->rows; r++) {
        double sum = 0;
        for (int64_t j = 0; j < p->columns; j++) {
            sum += entry(p, r, j) * p->reference[j];
        }
        p->b[r] = (float)sum;
    }
}

/* A'v, and its largest entry, in magnitude unless the solution is positive. */
static double slope(const Problem *p, int64_t column, const double *v) {
    double sum = 0;
    for (int64_t r = 0; r < p->rows; r++) {
        sum += entry(p, r, column) * v[r];
    }
    return sum;
}

static double top_of_b(const Problem *p) {
    double top = 0;
    for (int64_t j = 0; j < p->columns; j++) {
        double sum = 0;
        for (int64_t r = 0; r < p->rows; r++) {
            sum += entry(p, r, j) * (double)p->b[r];
        }
        top = fmax(top, p->rule.positive ? sum : fabs(sum));
    }
    return top;
}

/* p->residual = b - A x; returns its square. */
static double form_residual(Problem *p) {
    double square = 0;
    for (int64_t r = 0; r < p->rows; r++) {
        double sum = (double)p->b[r];
        for (int64_t j = 0; j < p->columns; j++) {
            sum -= entry(p, r, j) * (double)p->x[j];
        }
        p->residual[r] = sum;
        square += sum * sum;
    }
    return square;
}

static double norm_of(const Problem *p) {
    double norm = 0;
    for (int64_t j = 0; j < p->columns; j++) {
        norm += fabs((double)p->x[j]);
    }
    return norm;
}

/* The least objective, by cyclic coordinate descent from 0 until nothing moves. */
static double descend(Problem *p) {
    double moved = 1;
    double largest = 1;
    double *squares = calloc((size_t)p->columns, sizeof *squares); /* of the columns */
    assert_non_null(squares);
    for (int64_t i = 0; i < p->rows * p->columns; i++) {
        squares[i % p->columns] += (double)p->a[i] * (double)p->a[i];
    }
    memset(p->reference, 0, (size_t)p->columns * sizeof *p->reference);
    for (int64_t r = 0; r < p->rows; r++) {
        p->residual[r] = (double)p->b[r];
    }
    for (int sweep = 0; sweep < 20000 && moved > 1e-10 * largest; sweep++) {
        moved = largest = 0;
        for (int64_t j = 0; j < p->columns; j++) {
            double before = p->reference[j];
            double target = squares[j] * before + slope(p, j, p->residual);
            double least = fmax(fabs(target) - p->rule.lambda, 0);
            double x = p->rule.positive && target < 0 ? 0 : copysign(least, target) / squares[j];
            for (int64_t r = 0; r < p->rows && fabs(x - before) > 0; r++) {
                p->residual[r] -= entry(p, r, j) * (x - before);
            }
            p->reference[j] = x;
            moved = fmax(moved, fabs(x - before));
            largest = fmax(largest, fabs(x));
        }
    }
    free(squares);
    double objective = 0;
    for (int64_t r = 0; r < p->rows; r++) {
        objective += p->residual[r] * p->residual[r] / 2;
    }
    for (int64_t j = 0; j < p->columns; j++) {
        objective += p->rule.lambda * fabs(p->reference[j]);
    }
    return objective;
}

/* The matrix, in device memory that begins one value behind what is aligned. */
static HcMatrix put_matrix(Rig *rig, const Problem *p) {
    size_t values = (size_t)(p->rows * p->columns);
    float *image = calloc(values + 1, sizeof *image);
    assert_non_null(image);
    memcpy(image + 1, p->a, values * sizeof *image);
    float *at = rig_put(rig, image, (values + 1) * sizeof *image);
    free(image);
    return (HcMatrix){at + 1, p->rows, p->columns};
}

static HcL1 *open_problem(Rig *rig, const Problem *p) {
    HcL1 *l1 = NULL;
    HcMatrix matrix = put_matrix(rig, p);
    check_ok(hc_l1_open(rig->compute, &matrix, &l1, &rig->err), rig->err);
    return l1;
}

/* With an open matrix: fills p->x and p->report. */
static void run(Rig *rig, HcL1 *l1, Problem *p, bool alm) {
    const float *b = rig_put(rig, p->b, (size_t)p->rows * sizeof *b);
    float *x = rig_alloc(rig, (size_t)p->columns * sizeof *x);
    memset(&p->report, 0xFF, sizeof p->report);
    check_ok((alm ? hc_alm : hc_fista)(rig->queue, l1, &p->rule, b, x, &p->report, &rig->err), rig->err);
    rig_get(rig, x, p->x, (size_t)p->columns * sizeof *x);
}

static void solve(Rig *rig, Problem *p, bool alm) {
    HcL1 *l1 = open_problem(rig, p);
    run(rig, l1, p, alm);
    hc_l1_close(l1);
    rig_empty(rig);
}

/* The report is true of x, and the objective is returned: 1/2 |A x - b|^2 + lambda |x|_1, or |x|_1. */
static double check_report(Problem *p, bool alm) {
    double square = form_residual(p);
    double energy = 0;
    int64_t nonzeros = 0;
    for (int64_t r = 0; r < p->rows; r++) {
        energy += (double)p->b[r] * (double)p->b[r];
    }
    for (int64_t j = 0; j < p->columns; j++) {
        nonzeros += p->x[j] != 0;
        assert_true(!p->rule.positive || p->x[j] >= 0);
    }
    double objective = alm ? norm_of(p) : square / 2 + p->rule.lambda * norm_of(p);
    double residual = energy > 0 ? sqrt(square / energy) : 0;
    check_near(p->report.objective, objective, 1e-9 * objective);
    check_near(p->report.residual, residual, 1e-9);
    assert_int_equal(p->report.nonzeros, nonzeros);
    assert_int_equal(p->report.end, (alm ? p->report.residual : p->report.gap) <= p->rule.tolerance
                                        ? HC_L1_REACHED
                                        : HC_L1_UNFINISHED);
    if (!alm) {
        assert_true(p->report.gap >= 0 && p->report.iterations <= p->rule.iterations);
    }
    return objective;
}

/* ---- fista ---- */

/* The objective is the least one but for the tolerance, and no farther from it than the gap. */
static void check_above(Problem *p, double least) {
    double objective = check_report(p, false);
    double above = (objective - least) / objective;
    if (!(above >= -1e-9 && above <= p->report.gap + 1e-9)) {
        fail_msg("%lld x %lld, lambda %g: objective %.9g, least %.9g, gap %.3g", (long long)p->rows,
                 (long long)p->columns, p->rule.lambda, objective, least, p->report.gap);
    }
}

static void check_objective(Problem *p) {
    check_above(p, descend(p));
}

CASE(test_fista) {
    (void)state;
    static const int64_t shapes[][2] = {{1, 7},   {7, 1},    {2, 2},    {20, 30},
                                        {50, 21}, {31, 200}, {65, 129}, {100, 100}};
    const double shares[] = {0.5, 0.1, 0.01};
    Rig rig;
    uint64_t seed = 21;
    rig_open(&rig, 2);
    for (int round = 0; round < 48; round++) {
        const int64_t *shape = shapes[round / 6];
        Problem p = problem_new(shape[0], shape[1]);
        p.rule.positive = round % 2 != 0;
        fill_matrix(&p, &seed);
        for (int64_t r = 0; r < p.rows; r++) {
            p.b[r] = (float)(3 * random_normal(&seed));
        }
        p.rule.lambda = shares[round / 2 % 3] * fmax(top_of_b(&p), 1);
        solve(&rig, &p, false);
        assert_int_equal(p.report.end, HC_L1_REACHED);
        check_objective(&p);
        problem_free(&p);
    }
    rig_close(&rig);
}

/* Slopes A'(b - A x) are lambda times the sign where x is not 0, and at most lambda elsewhere. */
CASE(test_fista_optimum) {
    (void)state;
    Rig rig;
    uint64_t seed = 22;
    rig_open(&rig, 2);
    for (int positive = 0; positive < 2; positive++) {
        Problem p = problem_new(60, 200);
        p.rule.positive = positive != 0;
        p.rule.tolerance = 0;
        p.rule.iterations = 3000;
        fill_sparse(&p, 25, &seed);
        p.rule.lambda = 0.05 * top_of_b(&p);
        solve(&rig, &p, false);
        assert_int_equal(p.report.iterations, 3000);
        check_report(&p, false);
        assert_true(p.report.gap <= 1e-4 && p.report.nonzeros > 5 && p.report.nonzeros < 60);
        for (int64_t j = 0; j < p.columns; j++) {
            double g = slope(&p, j, p.residual) / p.rule.lambda;
            if (p.x[j] != 0) {
                check_near(g, p.x[j] > 0 ? 1 : -1, 1e-3);
            } else {
                assert_true(g <= 1 + 1e-3 && (p.rule.positive || g >= -1 - 1e-3));
            }
        }
        problem_free(&p);
    }
    rig_close(&rig);
}

/* Stopped anywhere, the gap says how far the objective may still be off; a tolerance ends it there. */
SMALL(test_fista_gap) {
    (void)state;
    const int32_t limits[] = {1, 2, 5, 10, 20, 50, 200};
    const double tolerances[] = {0.1, 1e-2, 1e-3, 1e-4};
    Rig rig;
    uint64_t seed = 23;
    rig_open(&rig, 2);
    Problem p = problem_new(40, 300);
    fill_sparse(&p, 12, &seed);
    p.rule.lambda = 0.02 * top_of_b(&p);
    const double least = descend(&p);
    HcL1 *l1 = open_problem(&rig, &p);
    for (int i = 0; i < 7; i++) {
        p.rule.iterations = limits[i];
        p.rule.tolerance = i % 2 == 0 ? 0 : 1e-12;
        run(&rig, l1, &p, false);
        assert_int_equal(p.report.iterations, limits[i]);
        assert_int_equal(p.report.end, HC_L1_UNFINISHED);
        assert_true(p.report.gap <= 1);
        check_above(&p, least);
    }
    int32_t before = 0;
    p.rule.iterations = 5000;
    for (int i = 0; i < 4; i++) {
        p.rule.tolerance = tolerances[i];
        run(&rig, l1, &p, false);
        assert_int_equal(p.report.end, HC_L1_REACHED);
        assert_true(p.report.iterations > before && p.report.iterations < 5000);
        check_above(&p, least);
        before = p.report.iterations;
    }
    hc_l1_close(l1);
    problem_free(&p);
    rig_close(&rig);
}

/* The problem of Gao and Li, made small: few entries of x are not 0, b = A x, and lambda is small. */
CASE(test_fista_recovers) {
    (void)state;
    Rig rig;
    uint64_t seed = 24;
    rig_open(&rig, 2);
    Problem p = problem_new(192, 2048);
    fill_sparse(&p, 16, &seed);
    p.rule.lambda = 1e-3 * top_of_b(&p);
    p.rule.tolerance = 0;
    p.rule.iterations = 600;
    HcL1 *l1 = open_problem(&rig, &p);
    run(&rig, l1, &p, false);
    double objective = check_report(&p, false);
    for (int64_t j = 0; j < p.columns; j++) {
        check_near(p.x[j], p.reference[j], 0.03);
        assert_int_equal(fabsf(p.x[j]) > 0.05F, fabs(p.reference[j]) > 0);
    }
    p.rule.iterations = 600 * MORE;
    run(&rig, l1, &p, false);
    check_near(objective, check_report(&p, false), 1e-4 * objective);
    hc_l1_close(l1);
    problem_free(&p);
    rig_close(&rig);
}

/* The same with as many non-zeros as rows, 64 times as many columns, as in the paper: no x is recovered, but
 * 1,200 steps reach the objective of 12,000 to seven digits. */
CASE(test_fista_paper) {
    (void)state;
    Rig rig;
    uint64_t seed = 28;
    rig_open(&rig, 2);
    Problem p = problem_new(64, 4096);
    fill_sparse(&p, 64, &seed);
    p.rule.lambda = 0.1 * top_of_b(&p);
    p.rule.tolerance = 0;
    p.rule.iterations = 1200;
    HcL1 *l1 = open_problem(&rig, &p);
    run(&rig, l1, &p, false);
    double objective = check_report(&p, false);
    p.rule.iterations = 1200 * MORE;
    run(&rig, l1, &p, false);
    double least = check_report(&p, false);
    assert_true(p.report.gap <= 1e-9 && p.report.nonzeros <= 64);
    check_near(objective, least, 1e-7 * least);
    hc_l1_close(l1);
    problem_free(&p);
    rig_close(&rig);
}

/* A diagonal matrix, for which the solution is known: but for one entry the diagonal is 1, so that a start
 * vector that is the same everywhere hardly sees the largest singular value, and steps must find it. */
static void check_diagonal(Rig *rig) {
    enum { N = 2048 };
    uint64_t seed = 25;
    Problem p = problem_new(N, N);
    for (int64_t j = 0; j < N; j++) {
        p.a[j * N + j] = j == 1000 ? 1.4142F : 1;
        p.b[j] = (float)(3 * random_normal(&seed));
    }
    p.b[1000] = 5;
    p.rule.lambda = 1;
    p.rule.tolerance = 1e-6;
    p.rule.iterations = 100;
    solve(rig, &p, false);
    check_report(&p, false);
    assert_int_equal(p.report.end, HC_L1_REACHED);
    for (int64_t j = 0; j < N; j++) {
        double d = entry(&p, j, j);
        double target = d * (double)p.b[j];
        check_near(p.x[j], copysign(fmax(fabs(target) - 1, 0), target) / (d * d), 0.02);
    }
    check_near(p.x[1000], (5 * 1.4142 - 1) / 2, 0.02);
    problem_free(&p);
}

/* The same problem in other units: x is the same, or scaled with them. */
static void check_units(Rig *rig) {
    const float units[][2] = {{1, 1}, {1e12F, 1e12F}, {1e-12F, 1e-12F}, {1, 1e-10F}, {1e6F, 1}};
    double first[50];
    for (int i = 0; i < 5; i++) {
        uint64_t seed = 26;
        Problem p = problem_new(20, 50);
        fill_sparse(&p, 5, &seed);
        for (int64_t k = 0; k < 20 * 50; k++) {
            p.a[k] *= units[i][0];
        }
        for (int64_t r = 0; r < 20; r++) {
            p.b[r] *= units[i][1];
        }
        p.rule.lambda = 0.1 * top_of_b(&p);
        solve(rig, &p, false);
        assert_int_equal(p.report.end, HC_L1_REACHED);
        for (int64_t j = 0; j < 50; j++) {
            double x = (double)p.x[j] * (double)units[i][0] / (double)units[i][1];
            first[j] = i == 0 ? x : first[j];
            check_near(x, first[j], 0.05);
        }
        problem_free(&p);
    }
}

/* x = 0, to the last bit, and a gap of 0. */
static void check_nothing(Problem *p, double objective, double residual) {
    for (int64_t j = 0; j < p->columns; j++) {
        assert_true(p->x[j] == 0);
    }
    assert_int_equal(p->report.end, HC_L1_REACHED);
    assert_int_equal(p->report.nonzeros, 0);
    check_near(p->report.gap, 0, 0);
    check_near(p->report.objective, objective, 1e-12 * objective);
    check_near(p->report.residual, residual, 1e-12);
}

CASE(test_fista_special) {
    (void)state;
    Rig rig;
    uint64_t seed = 27;
    rig_open(&rig, 2);
    Problem p = problem_new(30, 77);
    fill_sparse(&p, 9, &seed);
    double energy = form_residual(&p);
    p.rule.lambda = 1.001 * top_of_b(&p);
    solve(&rig, &p, false);
    check_nothing(&p, energy / 2, 1);
    p.rule.positive = true; /* where only rising slopes count */
    for (int64_t r = 0; r < p.rows; r++) {
        p.b[r] = -10 * p.a[r * p.columns + 3];
    }
    energy = form_residual(&p);
    p.rule.lambda = 1.001 * top_of_b(&p);
    solve(&rig, &p, false);
    check_nothing(&p, energy / 2, 1);
    assert_true(p.report.iterations < p.rule.iterations);
    p.rule.lambda = 0.5 * top_of_b(&p);
    memset(p.a, 0, sizeof *p.a * 30 * 77);
    solve(&rig, &p, false);
    check_nothing(&p, energy / 2, 1);
    fill_matrix(&p, &seed);
    memset(p.b, 0, sizeof *p.b * 30);
    solve(&rig, &p, false);
    check_nothing(&p, 0, 0);
    problem_free(&p);
    check_diagonal(&rig);
    check_units(&rig);
    rig_close(&rig);
}

/* ---- alm ---- */

/* |A x - b| is as small as was asked for, and no other x that meets b has less |x|_1 but for the gap. */
static void check_met(Problem *p) {
    double norm = check_report(p, true);
    assert_int_equal(p->report.end, HC_L1_REACHED);
    assert_true(p->report.outer >= 1 && p->report.iterations >= p->report.outer);
    check_near(p->report.gap, 0, 1e-2);
    double expected = 0;
    for (int64_t j = 0; j < p->columns; j++) {
        check_near(p->x[j], p->reference[j], 0.02);
        expected += fabs(p->reference[j]);
    }
    check_near(norm, expected, 1e-2 * expected);
}

CASE(test_alm) {
    (void)state;
    static const int64_t shapes[][3] = {{128, 1024, 10}, {40, 60, 6}, {50, 20, 20}, {1, 9, 1}, {9, 1, 1}};
    Rig rig;
    uint64_t seed = 31;
    rig_open(&rig, 2);
    for (int round = 0; round < 10; round++) {
        const int64_t *shape = shapes[round / 2];
        Problem p = problem_new(shape[0], shape[1]);
        p.rule.positive = round % 2 != 0;
        fill_sparse(&p, shape[2], &seed);
        if (shape[0] == 1) { /* the best entry is the one of the largest column */
            memset(p.reference, 0, (size_t)p.columns * sizeof *p.reference);
            p.a[5] = 8;
            p.b[0] = 24;
            p.reference[5] = 3;
        }
        solve(&rig, &p, true);
        check_met(&p);
        problem_free(&p);
    }
    Problem p = problem_new(128, 1024);
    fill_sparse(&p, 10, &seed);
    p.rule.tolerance = 0;
    p.rule.iterations = 50;
    p.rule.outer = 10;
    solve(&rig, &p, true);
    check_report(&p, true);
    assert_int_equal(p.report.outer, 10);
    assert_int_equal(p.report.iterations, 500);
    assert_true(p.report.residual < 1e-3);
    problem_free(&p);
    rig_close(&rig);
}

/* As many non-zeros as rows, and few inner steps: A x = b is met all the same, since the penalty grows. */
SMALL(test_alm_grows) {
    (void)state;
    Rig rig;
    uint64_t seed = 34;
    rig_open(&rig, 2);
    Problem p = problem_new(64, 1024);
    fill_sparse(&p, 64, &seed);
    p.rule.iterations = 10;
    p.rule.outer = 60;
    p.rule.tolerance = 1e-6;
    solve(&rig, &p, true);
    check_report(&p, true);
    assert_int_equal(p.report.end, HC_L1_REACHED);
    problem_free(&p);
    rig_close(&rig);
}

/* b that no x meets: the residual is at least that of least squares, and the end says so. */
CASE(test_alm_infeasible) {
    (void)state;
    Rig rig;
    uint64_t seed = 32;
    rig_open(&rig, 2);
    Problem p = problem_new(30, 60);
    p.rule.iterations = 300;
    p.rule.outer = 8;
    fill_sparse(&p, 5, &seed);
    memcpy(p.a + 7 * 60, p.a + 3 * 60, 60 * sizeof *p.a);
    p.b[3] = 10;
    p.b[7] = -10; /* of two equal rows: A x - b is 10 in both at best */
    solve(&rig, &p, true);
    check_report(&p, true);
    assert_int_equal(p.report.end, HC_L1_UNFINISHED);
    assert_int_equal(p.report.outer, 8);
    assert_true(form_residual(&p) >= 200 * (1 - 1e-9));
    problem_free(&p);
    rig_close(&rig);
}

CASE(test_alm_special) {
    (void)state;
    Rig rig;
    uint64_t seed = 33;
    rig_open(&rig, 2);
    Problem p = problem_new(30, 77);
    fill_matrix(&p, &seed);
    solve(&rig, &p, true);
    check_nothing(&p, 0, 0);
    p.b[4] = 3;
    memset(p.a, 0, sizeof *p.a * 30 * 77);
    solve(&rig, &p, true);
    assert_int_equal(p.report.end, HC_L1_UNFINISHED);
    p.report.end = HC_L1_REACHED; /* all else is as above */
    check_nothing(&p, 0, 1);
    problem_free(&p);
    rig_close(&rig);
}

/* ---- both ---- */

CASE(test_l1_not_finite) {
    (void)state;
    const float values[] = {NAN, INFINITY, -INFINITY};
    Rig rig;
    uint64_t seed = 41;
    rig_open(&rig, 2);
    for (int i = 0; i < 3; i++) {
        HcL1 *l1 = NULL;
        Problem p = problem_new(33, 65);
        fill_sparse(&p, 4, &seed);
        p.rule.lambda = 1;
        p.b[32] = values[i];
        for (int alm = 0; alm < 2; alm++) {
            solve(&rig, &p, alm != 0);
            assert_int_equal(p.report.end, HC_L1_UNFINISHED);
            assert_true(isnan(p.report.objective) && isnan(p.report.gap) && isnan(p.report.residual));
            assert_true(p.report.iterations == 0 && p.report.outer == 0 && p.report.nonzeros == 0);
            for (int64_t j = 0; j < p.columns; j++) {
                assert_true(p.x[j] == 0);
            }
        }
        p.a[i == 0 ? 0 : 33 * 65 - 1] = values[i];
        HcMatrix matrix = put_matrix(&rig, &p);
        check_fails(hc_l1_open(rig.compute, &matrix, &l1, &rig.err), HC_E_NUMERIC, rig.err);
        assert_null(l1);
        problem_free(&p);
    }
    rig_close(&rig);
}

/* The same bits by any number of threads, again, and whatever was solved in between. */
CASE(test_l1_bits) {
    (void)state;
    enum { COLUMNS = 9001 };
    static float first[2][COLUMNS];
    HcL1Report report[2];
    for (int32_t threads = 1; threads <= 4; threads++) {
        Rig rig;
        uint64_t seed = 42;
        rig_open(&rig, threads);
        Problem p = problem_new(70, COLUMNS);
        fill_sparse(&p, 8, &seed);
        double top = top_of_b(&p);
        p.rule.tolerance = 0;
        p.rule.iterations = 12;
        p.rule.outer = 3;
        HcL1 *l1 = open_problem(&rig, &p);
        for (int round = 0; round < 4; round++) {
            int alm = round % 2;
            p.rule.lambda = 0.001 * top;
            run(&rig, l1, &p, false);
            p.rule.lambda = 0.1 * top;
            run(&rig, l1, &p, alm != 0);
            if (threads == 1 && round < 2) {
                memcpy(first[alm], p.x, sizeof first[alm]);
                report[alm] = p.report;
            }
            assert_memory_equal(first[alm], p.x, sizeof first[alm]);
            check_same(p.report.objective, report[alm].objective);
            check_same(p.report.gap, report[alm].gap);
            check_same(p.report.residual, report[alm].residual);
        }
        hc_l1_close(l1);
        problem_free(&p);
        rig_close(&rig);
    }
}

static void refuse_rule(Rig *rig, HcL1 *l1, const HcL1Rule *rule, float *memory, bool alm) {
    HcL1Report report;
    check_fails((alm ? hc_alm : hc_fista)(rig->queue, l1, rule, memory, memory + 8, &report, &rig->err),
                HC_E_USAGE, rig->err);
}

static void refuse_matrices(Rig *rig, const float *memory) {
    const int64_t most = (int64_t)1 << 31;
    const HcMatrix wrong[] = {
        {NULL, 2, 2}, {memory, 0, 2}, {memory, 2, 0}, {memory, -3, 2}, {memory, 2, most}};
    HcL1 *l1 = NULL;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        check_fails(hc_l1_open(rig->compute, &wrong[i], &l1, &rig->err), HC_E_USAGE, rig->err);
        assert_null(l1);
    }
    check_fails(hc_l1_open(rig->compute, NULL, &l1, &rig->err), HC_E_USAGE, rig->err);
}

CASE(test_l1_refuses) {
    (void)state;
    Rig rig;
    rig_open(&rig, 1);
    float zeros[32] = {0};
    float *memory = rig_put(&rig, zeros, sizeof zeros);
    HcMatrix matrix = {memory + 16, 2, 2};
    HcL1 *l1 = NULL;
    HcL1Report report;
    refuse_matrices(&rig, memory);
    check_ok(hc_l1_open(rig.compute, &matrix, &l1, &rig.err), rig.err);
    const HcL1Rule fine = {.lambda = 1, .iterations = 1, .outer = 1};
    const double no_lambda[] = {0, -1, (double)NAN, (double)INFINITY};
    const double no_tolerance[] = {-1e-9, (double)NAN, (double)INFINITY};
    for (int i = 0; i < 4; i++) {
        HcL1Rule rule = fine;
        rule.lambda = no_lambda[i];
        refuse_rule(&rig, l1, &rule, memory, false);
    }
    for (int alm = 0; alm < 2; alm++) {
        HcStatus (*call)(HcQueue *, HcL1 *, const HcL1Rule *, const float *, float *, HcL1Report *,
                         HcError *) = alm != 0 ? hc_alm : hc_fista;
        HcL1Rule rule = fine;
        rule.iterations = 0;
        refuse_rule(&rig, l1, &rule, memory, alm != 0);
        for (int i = 0; i < 3; i++) {
            rule = fine;
            rule.tolerance = no_tolerance[i];
            refuse_rule(&rig, l1, &rule, memory, alm != 0);
        }
        check_fails(call(NULL, l1, &fine, memory, memory + 8, &report, &rig.err), HC_E_USAGE, rig.err);
        check_fails(call(rig.queue, NULL, &fine, memory, memory + 8, &report, &rig.err), HC_E_USAGE, rig.err);
        check_fails(call(rig.queue, l1, NULL, memory, memory + 8, &report, &rig.err), HC_E_USAGE, rig.err);
        check_fails(call(rig.queue, l1, &fine, NULL, memory + 8, &report, &rig.err), HC_E_USAGE, rig.err);
        check_fails(call(rig.queue, l1, &fine, memory, NULL, &report, &rig.err), HC_E_USAGE, rig.err);
        check_fails(call(rig.queue, l1, &fine, memory, memory + 8, NULL, &rig.err), HC_E_USAGE, rig.err);
    }
    HcL1Rule rule = fine;
    rule.outer = 0;
    refuse_rule(&rig, l1, &rule, memory, true);
    hc_l1_close(l1);
    hc_l1_close(NULL);
    rig_close(&rig);
}
