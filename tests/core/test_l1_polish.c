/* Solutions of l1 problems that are polished on the columns that they use, with known optima. */
#include "core/solver/l1_polish.h"
#include "tests/support/check.h"

/* What a backend tells of x: only what polishing starts from. */
static HcL1Report report_of(double objective, double gap, double residual) {
    return (HcL1Report){.end = HC_L1_UNFINISHED,
                        .iterations = 3,
                        .objective = objective,
                        .gap = gap,
                        .residual = residual,
                        .nonzeros = 2};
}

/* A = (1 1/2; 1/2 1), lambda 3/8, b = A (1, 2)' + (1/4, 1/4)': A'(b - A x) = lambda (1, 1)' at x = (1, 2),
 * where the objective is 1/16 + 3 lambda = 1.1875. */
static void values_become_the_best_of_their_columns(void **state) {
    (void)state;
    const float data[] = {1, 0.5F, 0.5F, 1};
    const float b[] = {2.25F, 2.75F};
    const HcMatrix matrix = {.data = data, .rows = 2, .columns = 2};
    const HcL1Rule rule = {.lambda = 0.375, .tolerance = 1e-9};
    float x[] = {0.5F, 2.25F};
    bool polished = false;
    HcL1Report report = report_of(1.3, 0.5, 0.3);
    assert_int_equal(hc_l1_polish(&matrix, b, &rule, false, x, &report, &polished, NULL), HC_OK);
    assert_true(polished);
    check_near(x[0], 1, 1e-6);
    check_near(x[1], 2, 1e-6);
    check_near(report.objective, 1.1875, 1e-12);
    check_near(report.gap, 0, 1e-9);
    assert_int_equal(report.end, HC_L1_REACHED);
    assert_int_equal(report.iterations, 3);
    /* Once more: nothing gets better. */
    assert_int_equal(hc_l1_polish(&matrix, b, &rule, false, x, &report, &polished, NULL), HC_OK);
    assert_false(polished);
}

/* Of the identity the optimum is b, nearer to 0 by lambda = 1/2: (2.5, 0), 1/2 (1/4 + 1/100) + 5/4. The
 * second value would become negative, and is 0. */
static void a_sign_does_not_change(void **state) {
    (void)state;
    const float data[] = {1, 0, 0, 1};
    const float b[] = {3, -0.1F};
    const HcMatrix matrix = {.data = data, .rows = 2, .columns = 2};
    const HcL1Rule rule = {.lambda = 0.5, .tolerance = 1e-6};
    float x[] = {1, 0.01F};
    bool polished = false;
    HcL1Report report = report_of(2.6, 0.5, 0.7);
    assert_int_equal(hc_l1_polish(&matrix, b, &rule, false, x, &report, &polished, NULL), HC_OK);
    assert_true(polished);
    check_near(x[0], 2.5, 1e-6);
    check_near(x[1], 0, 0);
    check_near(report.objective, 1.38, 1e-7);
    assert_int_equal(report.nonzeros, 1);
    assert_int_equal(report.end, HC_L1_REACHED);
}

/* A column that is not in use stays so: the gap says how much it could gain. */
static void a_gap_stays_where_a_column_is_missing(void **state) {
    (void)state;
    const float data[] = {1, 0, 0, 1};
    const float b[] = {3, 2};
    const HcMatrix matrix = {.data = data, .rows = 2, .columns = 2};
    const HcL1Rule rule = {.lambda = 0.5, .tolerance = 1e-6};
    float x[] = {1, 0};
    bool polished = false;
    HcL1Report report = report_of(4.5, 0.9, 0.7);
    assert_int_equal(hc_l1_polish(&matrix, b, &rule, false, x, &report, &polished, NULL), HC_OK);
    assert_true(polished);
    check_near(x[0], 2.5, 1e-6);
    check_near(report.objective, 3.375, 1e-6);
    assert_true(report.gap > 0.1 && report.gap < 1); /* the optimum is 2.25: a third less */
    assert_int_equal(report.end, HC_L1_UNFINISHED);
}

/* min |x|_1 where x0 + x2 = 1, x1 + x2 = 1: x2 = 1 alone. And columns that depend on each other are left. */
static void equations_are_met(void **state) {
    (void)state;
    const float data[] = {1, 0, 1, 0, 1, 1};
    const float b[] = {1, 1};
    const HcMatrix matrix = {.data = data, .rows = 2, .columns = 3};
    const HcL1Rule rule = {.tolerance = 1e-6};
    float x[] = {0, 0, 0.875F};
    bool polished = false;
    HcL1Report report = report_of(0.875, 0, 0.125);
    assert_int_equal(hc_l1_polish(&matrix, b, &rule, true, x, &report, &polished, NULL), HC_OK);
    assert_true(polished);
    check_near(x[2], 1, 1e-7);
    check_near(report.residual, 0, 1e-7);
    check_near(report.gap, 0.125, 1e-6); /* the multipliers proved 0.875 */
    assert_int_equal(report.end, HC_L1_REACHED);
    const float twice[] = {1, 1, 2, 2};
    const HcMatrix dependent = {.data = twice, .rows = 2, .columns = 2};
    float same[] = {0.25F, 0.5F};
    report = report_of(0.75, 0, 0.5);
    assert_int_equal(hc_l1_polish(&dependent, b, &rule, true, same, &report, &polished, NULL), HC_OK);
    assert_false(polished);
    check_near(same[1], 0.5, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_become_the_best_of_their_columns),
        cmocka_unit_test(a_sign_does_not_change),
        cmocka_unit_test(a_gap_stays_where_a_column_is_missing),
        cmocka_unit_test(equations_are_met),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
