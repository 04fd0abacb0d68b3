/* Proofs of solutions: right ones are proved, and every flaw shows in the figure that it belongs to. */
#include "core/solver/lp/linear_program.h"
#include "tests/support/check.h"
#include "tests/support/random.h"

#include <float.h>
#include <stdlib.h>

#define INF ((double)INFINITY)

/* max 3 x0 + 5 x1 where x0 <= 4, 2 x1 <= 12, 3 x0 + 2 x1 <= 18 (Dantzig): x = (2, 6), 36, y = (0, 1.5, 1). */
static const double wyndor_value[] = {1, 0, 3, 0, 2, 2};
static const double wyndor_cost[] = {3, 5};
static const double wyndor_upper[] = {4, 12, 18};

static HcLinearProgram wyndor(void) {
    return (HcLinearProgram){.rows = 3,
                             .columns = 2,
                             .value = wyndor_value,
                             .cost = wyndor_cost,
                             .row_upper = wyndor_upper,
                             .maximise = true};
}

static HcLpProof prove(const HcLinearProgram *program, HcLpEnd end, double *x, double *price, double *ray) {
    HcLpSolution solution = {.x = x, .price = price, .ray = ray, .end = end};
    return hc_lp_prove(program, &solution);
}

static void check_proved(HcLpProof proof) {
    assert_true(proof.proved);
    check_near(proof.primal, 0, 1e-14);
    check_near(proof.dual, 0, 1e-14);
    check_near(proof.gap, 0, 1e-14);
}

static void an_optimum_is_proved(void **state) {
    (void)state;
    HcLinearProgram program = wyndor();
    double x[] = {2, 6};
    double price[] = {0, 1.5, 1};
    check_proved(prove(&program, HC_LP_OPTIMAL, x, price, NULL));
    /* The same as a minimum, and compressed by columns with the rows in another order. */
    const int64_t start[] = {0, 2, 4};
    const int32_t row[] = {2, 0, 1, 2};
    const double value[] = {3, 1, 2, 2};
    const double cost[] = {-3, -5};
    double opposite[] = {0, -1.5, -1};
    program.start = start;
    program.row = row;
    program.value = value;
    check_proved(prove(&program, HC_LP_OPTIMAL, x, price, NULL));
    program.cost = cost;
    program.maximise = false;
    check_proved(prove(&program, HC_LP_OPTIMAL, x, opposite, NULL));
}

/* Each flaw by itself, with the figures that the definition gives. */
static void flaws_of_an_optimum_show(void **state) {
    (void)state;
    HcLinearProgram program = wyndor();
    double above[] = {2, 7}; /* 14 of 12: 2 / (1 + 14 + 12); 20 of 18: 2 / (1 + 20 + 18) */
    double below[] = {-0.5, 6};
    double slack[] = {2, 5};
    double price[] = {0, 1.5, 1};
    double wrong_sign[] = {-0.5, 1.5, 1}; /* reduced cost 3 - 3 + 0.5 at no upper bound, and a price < 0 */
    double x[] = {2, 6};
    HcLpProof proof = prove(&program, HC_LP_OPTIMAL, above, price, NULL);
    check_near(proof.primal, 2.0 / 27, 1e-15);
    check_near(proof.dual, 0, 0);
    check_near(proof.gap, (5 + 2 * 1.5 + 2) / 42, 1e-15); /* and 2 at each of the prices 1.5 and 1 */
    assert_false(proof.proved);
    proof = prove(&program, HC_LP_UNFINISHED, below, price, NULL);
    check_near(proof.primal, 0.5 / 1.5, 1e-15);
    proof = prove(&program, HC_LP_OPTIMAL, slack, price, NULL);
    check_near(proof.primal, 0, 0);
    check_near(proof.dual, 0, 0);
    check_near(proof.gap, 5.0 / 32, 1e-15);
    proof = prove(&program, HC_LP_OPTIMAL, x, wrong_sign, NULL);
    check_near(proof.primal, 0, 0);
    check_near(proof.dual, 0.5 / 1.5, 1e-15); /* of the price: 0.5 / (1 + 0.5) */
    wrong_sign[0] = 0;
    wrong_sign[2] = 0.75; /* reduced costs 0.75 / (1 + 3 + 2.25) and 0.5 / (1 + 5 + 4.5) */
    proof = prove(&program, HC_LP_OPTIMAL, x, wrong_sign, NULL);
    check_near(proof.dual, 0.75 / 6.25, 1e-15);
    /* 0.75 and 0.5 gain that much for x' up to 1 + 2 and 1 + 6. */
    check_near(proof.gap, (36 - 31.5 + 0.75 * 3 + 0.5 * 7) / 37, 1e-15);
}

/* min x0 + 2 x1 - x2 + x3 where x0 + x1 = 3, -2 <= x1 - x2 <= 2, x3 >= -7 as a row, 1 <= x0 <= 2, -5 <= x1,
 * x2 <= 4, x3 free. x = (2, 1, 3, -7) costs -6; with y = (1, 1, 1) all reduced costs are 0 and the rows pay 3
 * - 2
 * - 7 = -6. */
static void all_kinds_of_bounds_are_proved(void **state) {
    (void)state;
    const double value[] = {1, 0, 0, 1, 1, 0, 0, -1, 0, 0, 0, 1};
    const double cost[] = {1, 2, -1, 1};
    const double lower[] = {1, -5, -INF, -INF};
    const double upper[] = {2, INF, 4, INF};
    const double row_lower[] = {3, -2, -7};
    const double row_upper[] = {3, 2, INF};
    HcLinearProgram program = {.rows = 3,
                               .columns = 4,
                               .value = value,
                               .cost = cost,
                               .lower = lower,
                               .upper = upper,
                               .row_lower = row_lower,
                               .row_upper = row_upper};
    double x[] = {2, 1, 3, -7};
    double price[] = {1, 1, 1};
    check_proved(prove(&program, HC_LP_OPTIMAL, x, price, NULL));
    double at_other[] = {1, 2, 4, -7}; /* as good: 1 + 4 - 4 - 7 */
    check_proved(prove(&program, HC_LP_OPTIMAL, at_other, price, NULL));
    double free_price[] = {1, 1, 0.5}; /* x3 is free, and its reduced cost 0.5 */
    HcLpProof proof = prove(&program, HC_LP_OPTIMAL, x, free_price, NULL);
    check_near(proof.dual, 0.5 / 2.5, 1e-15);
    double no_price[] = {1, 1, -1}; /* row 2 has no upper bound */
    proof = prove(&program, HC_LP_OPTIMAL, x, no_price, NULL);
    check_near(proof.dual, 2.0 / 3, 1e-15); /* x3: 1 + 1 / (1 + 1 + 1) */
    double off_equation[] = {2, 0, 3, -7};
    proof = prove(&program, HC_LP_OPTIMAL, off_equation, price, NULL);
    check_near(proof.primal, 1.0 / 6, 1e-15); /* 2 of 3; and -3 of -2: 1 / (1 + 3 + 2) */
}

static void what_is_no_number_proves_nothing(void **state) {
    (void)state;
    HcLinearProgram program = wyndor();
    double bad[] = {NAN, INF, -INF};
    for (int b = 0; b < 3; b++) {
        double x[] = {2, bad[b]};
        double price[] = {0, 1.5, 1};
        HcLpProof proof = prove(&program, HC_LP_OPTIMAL, x, price, NULL);
        assert_true(proof.primal == INF && proof.gap == INF);
        double fine[] = {2, 6};
        price[1] = bad[b];
        proof = prove(&program, HC_LP_OPTIMAL, fine, price, NULL);
        assert_true(proof.dual == INF);
        assert_true(prove(&program, HC_LP_INFEASIBLE, fine, price, NULL).gap == INF);
        assert_true(prove(&program, HC_LP_UNBOUNDED, fine, price, x).gap == INF);
    }
}

/* Without rows, a program is its bounds. */
static void a_program_may_have_no_rows(void **state) {
    (void)state;
    const double cost[] = {1, -2};
    const double upper[] = {5, 3};
    HcLinearProgram program = {.columns = 2, .cost = cost, .upper = upper};
    double x[] = {0, 3};
    check_proved(prove(&program, HC_LP_OPTIMAL, x, NULL, NULL));
    x[1] = 2;
    check_near(prove(&program, HC_LP_OPTIMAL, x, NULL, NULL).gap, 2.0 / 5, 1e-15);
}

/* x0 + x1 >= 4 and x0 + 2 x1 <= 3, x >= 0: y = (-1, 1) times anything. */
static void certificates_are_proved(void **state) {
    (void)state;
    const double value[] = {1, 1, 1, 2};
    const double cost[] = {1, -1};
    const double row_lower[] = {4, -INF};
    const double row_upper[] = {INF, 3};
    HcLinearProgram program = {.rows = 2,
                               .columns = 2,
                               .value = value,
                               .cost = cost,
                               .row_lower = row_lower,
                               .row_upper = row_upper};
    double x[] = {0, 0};
    for (int maximise = 0; maximise < 2; maximise++) {
        program.maximise = maximise;
        for (double scale = 1e-12; scale < 1e13; scale *= 1e6) {
            double price[] = {-scale, scale};
            check_proved(prove(&program, HC_LP_INFEASIBLE, x, price, NULL));
        }
    }
    double opposite[] = {1, -1};
    assert_true(prove(&program, HC_LP_INFEASIBLE, x, opposite, NULL).gap == INF);
    double nothing[] = {0, 0};
    assert_true(prove(&program, HC_LP_INFEASIBLE, x, nothing, NULL).gap == INF);
    /* z = (-0.1, 0.8): x0 has no upper bound. The profit is 4 - 2.7 = 1.3, and z0 relative to it as well. */
    double slanted[] = {-1, 0.9};
    HcLpProof proof = prove(&program, HC_LP_INFEASIBLE, x, slanted, NULL);
    check_near(proof.gap, 0, 0);
    check_near(proof.radius, 13, 1e-4); /* where x0 >= 13 they could hold */
    check_near(proof.scale, 4, 0);      /* 4 over the largest entry, 1 */
    check_near(proof.dual, 4.0 / 13, 1e-6);
    assert_false(proof.proved);
    /* Feasible after all: the certificate of the other program proves nothing here. */
    const double generous[] = {INF, 4};
    program.row_upper = generous;
    double price[] = {-1, 1};
    assert_true(prove(&program, HC_LP_INFEASIBLE, x, price, NULL).gap == INF);
}

/* Bounds of columns take part: x0 <= 1, x1 <= 2 and x0 + x1 >= 4 (y = -1, z = (-1, -1): -4 + 3 = -1). */
static void certificates_use_bounds_of_columns(void **state) {
    (void)state;
    const double value[] = {1, 1};
    const double cost[] = {0, 0};
    const double upper[] = {1, 2};
    const double row_lower[] = {4};
    const double enough[] = {3};
    HcLinearProgram program = {
        .rows = 1, .columns = 2, .value = value, .cost = cost, .upper = upper, .row_lower = row_lower};
    double x[] = {0, 0};
    double price[] = {-1};
    check_proved(prove(&program, HC_LP_INFEASIBLE, x, price, NULL));
    program.row_lower = enough; /* 3 can be reached: the profit is 0 */
    assert_true(prove(&program, HC_LP_INFEASIBLE, x, price, NULL).gap == INF);
}

/* max x0 + x1 where x0 - x1 <= 2, x >= 0: along (1, 1) for ever. */
static void rays_are_proved(void **state) {
    (void)state;
    const double value[] = {1, -1};
    const double cost[] = {1, 1};
    const double row_upper[] = {2};
    HcLinearProgram program = {
        .rows = 1, .columns = 2, .value = value, .cost = cost, .row_upper = row_upper, .maximise = true};
    double x[] = {2, 0};
    double price[] = {0};
    for (double scale = 1e-12; scale < 1e13; scale *= 1e6) {
        double ray[] = {scale, scale};
        check_proved(prove(&program, HC_LP_UNBOUNDED, x, price, ray));
    }
    double steep[] = {2, 1}; /* leaves the row by 1 for a gain of 3 */
    HcLpProof proof = prove(&program, HC_LP_UNBOUNDED, x, price, steep);
    check_near(proof.gap, 0, 0);
    check_near(proof.radius, 3, 1e-5); /* a price of 3 forbids it */
    assert_false(proof.proved);
    double backwards[] = {-1, 2}; /* x0 has a lower bound */
    proof = prove(&program, HC_LP_UNBOUNDED, x, price, backwards);
    check_near(proof.radius, 1, 1e-5);
    assert_false(proof.proved);
    double worse[] = {-1, -1};
    assert_true(prove(&program, HC_LP_UNBOUNDED, x, price, worse).gap == INF);
    double level[] = {1, -1};
    assert_true(prove(&program, HC_LP_UNBOUNDED, x, price, level).gap == INF);
    assert_true(prove(&program, HC_LP_UNBOUNDED, x, price, NULL).gap == INF);
    double outside[] = {5, 0};
    double ray[] = {1, 1};
    check_near(prove(&program, HC_LP_UNBOUNDED, outside, price, ray).primal, 3.0 / 8, 1e-15);
}

/* ---- random programs that are made together with their solutions ---- */

enum { ROWS = 23, COLUMNS = 31 };

typedef struct Made {
    double value[COLUMNS][ROWS], cost[COLUMNS], lower[COLUMNS], upper[COLUMNS];
    double row_lower[ROWS], row_upper[ROWS], x[COLUMNS], price[ROWS];
} Made;

/* A value at, above or between bounds, and a multiplier that fits (for a minimum). */
static void make_place(uint64_t *seed, double value, double *lower, double *upper, double *multiplier) {
    double kind = (2 * random_uniform(seed) - 1);
    double size = fabs((2 * random_uniform(seed) - 1));
    *multiplier = kind < -0.3 ? size : kind < 0.3 ? -size : 0;
    *lower = kind < -0.3 ? value : kind < 0 ? -INF : value - 1;
    *upper = kind < -0.6 ? INF : kind < -0.3 ? value : kind < 0.3 ? value : value + 1;
}

/* Bounds around x and A x, then the cost for which the multipliers are the reduced costs. In long double, so
 * that rounding is that of the last step. */
static void make(Made *made, uint64_t seed) {
    double reduced[COLUMNS];
    for (int j = 0; j < COLUMNS; j++) {
        made->x[j] = 10 * (2 * random_uniform(&seed) - 1);
        make_place(&seed, made->x[j], &made->lower[j], &made->upper[j], &reduced[j]);
        for (int i = 0; i < ROWS; i++) {
            made->value[j][i] = (2 * random_uniform(&seed) - 1) > 0 ? 5 * (2 * random_uniform(&seed) - 1) : 0;
        }
    }
    for (int i = 0; i < ROWS; i++) {
        long double sum = 0;
        for (int j = 0; j < COLUMNS; j++) {
            sum += (long double)made->value[j][i] * made->x[j];
        }
        make_place(&seed, (double)sum, &made->row_lower[i], &made->row_upper[i], &made->price[i]);
    }
    for (int j = 0; j < COLUMNS; j++) {
        long double sum = reduced[j];
        for (int i = 0; i < ROWS; i++) {
            sum += (long double)made->value[j][i] * made->price[i];
        }
        made->cost[j] = (double)sum;
    }
}

static void made_optima_are_proved_and_others_not(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        Made made;
        make(&made, seed);
        HcLinearProgram program = {.rows = ROWS,
                                   .columns = COLUMNS,
                                   .value = made.value[0],
                                   .cost = made.cost,
                                   .lower = made.lower,
                                   .upper = made.upper,
                                   .row_lower = made.row_lower,
                                   .row_upper = made.row_upper};
        check_proved(prove(&program, HC_LP_OPTIMAL, made.x, made.price, NULL));
        /* The same to maximise the opposite. */
        for (int j = 0; j < COLUMNS; j++) {
            made.cost[j] = -made.cost[j];
        }
        for (int i = 0; i < ROWS; i++) {
            made.price[i] = -made.price[i];
        }
        program.maximise = true;
        check_proved(prove(&program, HC_LP_OPTIMAL, made.x, made.price, NULL));
        int column = (int)(seed % COLUMNS);
        made.x[column] += 1.5; /* all upper bounds lie less than that above, or in rows */
        HcLpProof proof = prove(&program, HC_LP_OPTIMAL, made.x, made.price, NULL);
        assert_true(proof.primal > 1e-3 || proof.gap > 1e-6);
        made.x[column] -= 1.5;
        int row = (int)(seed % ROWS);
        made.price[row] += 3;
        proof = prove(&program, HC_LP_OPTIMAL, made.x, made.price, NULL);
        assert_true(proof.dual > 1e-3 || proof.gap > 1e-6);
    }
}

/* Sums that cancel are not lost: 1e16 + 1 - 1e16 of 1, and no violation of more than its rounding. */
static void sums_are_compensated(void **state) {
    (void)state;
    const double value[] = {1e16, 1, -1e16};
    const double cost[] = {1e16, 1, -1e16};
    const double row_lower[] = {1};
    HcLinearProgram program = {.rows = 1, .columns = 3, .value = value, .cost = cost, .row_lower = row_lower};
    double x[] = {1, 1, 1};
    double price[] = {1};
    HcLpProof proof = prove(&program, HC_LP_OPTIMAL, x, price, NULL);
    check_near(proof.primal, 0, 0);
    check_near(proof.dual, 0, 0);
    check_near(proof.gap, 0, 0);
    /* Products too: (1 + 2^-30) (1 - 2^-30) 2^80 - 2^80 = -2^20, which the row says and float64 alone does
     * not. */
    const double steep[] = {(1 + 0x1p-30) * 0x1p40, 0, -0x1p40};
    const double exact[] = {-0x1p20};
    double long_x[] = {(1 - 0x1p-30) * 0x1p40, 0, 0x1p40};
    program.value = program.cost = steep;
    program.row_lower = program.row_upper = exact;
    proof = prove(&program, HC_LP_OPTIMAL, long_x, price, NULL);
    check_near(proof.gap, 0, 0);
}

/* x - y >= 1 and -x + (1 + e) y >= 0 hold from y = 1 / e on. Their sum, e y >= 1, is no contradiction but for
 * smaller y. */
static void a_certificate_reaches_as_far_as_its_radius(void **state) {
    (void)state;
    const double cost[] = {1, 0};
    const double row_lower[] = {1, 0};
    const double size[] = {0x1p-10, 0x1p-33, 0x1p-44};
    double x[] = {0, 0};
    double price[] = {-1, -1};
    for (size_t k = 0; k < 3; k++) {
        const double value[] = {1, -1, -1, 1 + size[k]};
        HcLinearProgram program = {
            .rows = 2, .columns = 2, .value = value, .cost = cost, .row_lower = row_lower};
        HcLpProof proof = prove(&program, HC_LP_INFEASIBLE, x, price, NULL);
        check_near(proof.radius * size[k], 1, 1e-5);
        check_near(proof.scale, 1, 0);
        assert_false(proof.proved);
    }
    /* Without e they contradict each other for all points. */
    const double equal[] = {1, -1, -1, 1};
    HcLinearProgram program = {.rows = 2, .columns = 2, .value = equal, .cost = cost, .row_lower = row_lower};
    HcLpProof proof = prove(&program, HC_LP_INFEASIBLE, x, price, NULL);
    check_proved(proof);
    assert_true(proof.radius == INF);
}

/* The same of prices: min - x - y where x - y <= 0 and -x + (1 + e) y <= 1 ends at y = 1 / e. */
static void a_ray_reaches_as_far_as_its_radius(void **state) {
    (void)state;
    const double value[] = {1, -1, -1, 1 + 0x1p-33};
    const double cost[] = {-1, -1};
    const double row_upper[] = {0, 1};
    HcLinearProgram program = {.rows = 2, .columns = 2, .value = value, .cost = cost, .row_upper = row_upper};
    double x[] = {0, 0};
    double price[] = {0, 0};
    double ray[] = {1, 1};
    HcLpProof proof = prove(&program, HC_LP_UNBOUNDED, x, price, ray);
    check_near(proof.radius * 0x1p-34, 1, 1e-5);
    assert_false(proof.proved);
}

/* x / 3 >= 1 and -x >= 0, x free: the price of the second row is a third of that of the first, which float64
 * only has with its rest. Without it the certificate ends where rounding does. */
static void rests_of_prices_count(void **state) {
    (void)state;
    const double third = 1.0 / 3;
    const double value[] = {third, -1};
    const double cost[] = {0};
    const double lower[] = {-INF};
    const double row_lower[] = {1, 0};
    HcLinearProgram program = {
        .rows = 2, .columns = 1, .value = value, .cost = cost, .lower = lower, .row_lower = row_lower};
    double x[] = {0};
    double price[] = {-0.7, -0.7 * third};
    double rest[4] = {0, 0, -fma(0.7, third, -0.7 * third), 0};
    HcLpSolution solution = {.x = x, .price = price, .end = HC_LP_INFEASIBLE};
    HcLpProof proof = hc_lp_prove(&program, &solution);
    assert_true(proof.proved && proof.radius > 1e16 && proof.radius < 1e19);
    solution.rest = rest;
    proof = hc_lp_prove(&program, &solution);
    assert_true(proof.proved && proof.radius > 1e30);
    /* x >= 3 and x <= 3 - 3 2^-40: the contradiction is small, and rounding hides it from some 10^4 on. */
    const double close[] = {1, -3 + 3 * 0x1p-40};
    program.row_lower = close;
    assert_true(hc_lp_prove(&program, &solution).proved);
    solution.rest = NULL;
    proof = hc_lp_prove(&program, &solution);
    assert_true(!proof.proved && proof.radius > 1e3 && proof.radius < 1e7);
}

/* x0 + x1 = 2 and x0 + (1 + e) x1 = 2 + e have the solution (1, 1) alone, which costs x0 + 1.5 x1 = 2.5. The
 * point (2, 0) costs 2 and breaks the second row by e; the price 1 of the first row proves 2, too. A
 * tolerance of e would take it for the optimum. */
static void a_tolerance_is_no_proof(void **state) {
    (void)state;
    const double value[] = {1, 1, 1, 1 + 0x1p-30};
    const double cost[] = {1, 1.5};
    const double right[] = {2, 2 + 0x1p-30};
    HcLinearProgram program = {
        .rows = 2, .columns = 2, .value = value, .cost = cost, .row_lower = right, .row_upper = right};
    double wrong[] = {2, 0};
    double cheap[] = {1, 0};
    HcLpProof proof = prove(&program, HC_LP_OPTIMAL, wrong, cheap, NULL);
    check_near(proof.gap, 0, 0);
    check_near(proof.dual, 0, 0);
    assert_false(proof.proved);
    double x[] = {1, 1}; /* y = (1 - 2^29, 2^29): 2 costs 2.5 */
    double price[] = {1 - 0x1p29, 0x1p29};
    check_proved(prove(&program, HC_LP_OPTIMAL, x, price, NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_optimum_is_proved),
        cmocka_unit_test(flaws_of_an_optimum_show),
        cmocka_unit_test(all_kinds_of_bounds_are_proved),
        cmocka_unit_test(what_is_no_number_proves_nothing),
        cmocka_unit_test(a_program_may_have_no_rows),
        cmocka_unit_test(certificates_are_proved),
        cmocka_unit_test(certificates_use_bounds_of_columns),
        cmocka_unit_test(rays_are_proved),
        cmocka_unit_test(made_optima_are_proved_and_others_not),
        cmocka_unit_test(sums_are_compensated),
        cmocka_unit_test(a_certificate_reaches_as_far_as_its_radius),
        cmocka_unit_test(a_ray_reaches_as_far_as_its_radius),
        cmocka_unit_test(rests_of_prices_count),
        cmocka_unit_test(a_tolerance_is_no_proof),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
