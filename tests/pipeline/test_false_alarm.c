/* False-alarm rates against closed forms, against integration by Simpson's rule, and against values of mpmath
 * 1.3 with 60 digits. */
#include "pipeline/detections/false_alarm.h"
#include "tests/support/check.h"

#include <math.h>

static void check_rate(double found, double expected) {
    if (!(fabs(found - expected) <= 1e-11 * expected)) {
        fail_msg("%.17g is not %.17g", found, expected);
    }
}

static void chi_square_has_closed_forms(void **state) {
    (void)state;
    for (double x = 0.01; x < 1300; x *= 1.7) {
        check_rate(hc_false_alarm(HC_NULL_CHI_SQUARE, x, 1, 0), erfc(sqrt(x / 2)));
        check_rate(hc_false_alarm(HC_NULL_CHI_SQUARE, x, 2, 0), exp(-x / 2));
        check_rate(hc_false_alarm(HC_NULL_CHI_SQUARE, x, 4, 0), exp(-x / 2) * (1 + x / 2));
        check_rate(hc_false_alarm(HC_NULL_CHI_SQUARE, x, 3, 0),
                   erfc(sqrt(x / 2)) + sqrt(2 * x / M_PI) * exp(-x / 2));
    }
}

/* A cosine is uniform in 3 directions, its angle in 2. */
static void coherence_has_closed_forms(void **state) {
    (void)state;
    for (double s = 1e-6; s < 1; s = s < 0.5 ? 3 * s : 1 - (1 - s) / 3) {
        double rest = (1 - s) / (1 + sqrt(s)); /* 1 - c */
        check_rate(hc_false_alarm(HC_NULL_COHERENCE, s, 3, 0), rest / 2);
        check_rate(hc_false_alarm(HC_NULL_COHERENCE, -s, 3, 0), 1 - rest / 2);
        check_rate(hc_false_alarm(HC_NULL_COHERENCE, s, 2, 0), asin(sqrt(1 - s)) / M_PI);
        check_rate(hc_false_alarm(HC_NULL_COHERENCE, s, 5, 0), rest * rest * (3 - rest) / 4);
        if (s > 1 - 1e-9) {
            break;
        }
    }
}

/* The share of angles below one in that many directions: their density is sin^(K-2). */
static double share_of_angles(double angle, int32_t directions) {
    enum { STEPS = 100000 };
    double sum = 0;
    for (int k = 0; k <= STEPS; k++) {
        double weight = k == 0 || k == STEPS ? 1 : k % 2 == 1 ? 4 : 2;
        sum += weight * pow(sin(angle * k / STEPS), directions - 2);
    }
    return sum * angle;
}

static void coherence_equals_integration(void **state) {
    (void)state;
    static const int32_t directions[] = {4, 7, 30, 162, 285};
    static const double scores[] = {-0.4, -0.02, 0.0004, 0.003, 0.01, 0.09, 0.5};
    for (size_t i = 0; i < sizeof directions / sizeof *directions; i++) {
        double all = share_of_angles(M_PI, directions[i]);
        for (size_t j = 0; j < sizeof scores / sizeof *scores; j++) {
            double angle = acos(copysign(sqrt(fabs(scores[j])), scores[j]));
            check_rate(hc_false_alarm(HC_NULL_COHERENCE, scores[j], directions[i], 0),
                       share_of_angles(angle, directions[i]) / all);
        }
    }
}

static void far_tails_keep_their_digits(void **state) {
    (void)state;
    check_rate(hc_false_alarm(HC_NULL_CHI_SQUARE, 237.6, 162, 0), 0.00010059048149295753);
    check_rate(hc_false_alarm(HC_NULL_CHI_SQUARE, 420, 162, 0), 8.4576214525212377e-25);
    check_rate(hc_false_alarm(HC_NULL_CHI_SQUARE, 600, 285, 0), 1.3961440868267639e-24);
    check_rate(hc_false_alarm(HC_NULL_COHERENCE, 0.3, 162, 0), 1.9170920215404271e-14);
    check_rate(hc_false_alarm(HC_NULL_COHERENCE, 0.9, 30, 0), 2.4395108949910482e-16);
    check_rate(hc_false_alarm(HC_NULL_NORMAL, 1.25, 162, 0.25), 2.8665157187919391e-7);
    check_rate(hc_false_alarm(HC_NULL_NORMAL, -1.25, 162, 0.25), 1 - 2.8665157187919391e-7);
    check_rate(hc_false_alarm(HC_NULL_ROOT_NORMAL, 49, 162, 0), 1.279812543885835e-12);
    check_rate(hc_false_alarm(HC_NULL_ROOT_NORMAL, -25, 162, 0), 1 - 2.8665157187919391e-7);
}

static void ends_have_their_rates(void **state) {
    (void)state;
    static const HcNull all[] = {HC_NULL_NORMAL, HC_NULL_ROOT_NORMAL, HC_NULL_COHERENCE, HC_NULL_CHI_SQUARE};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        assert_true(isnan(hc_false_alarm(all[k], NAN, 9, 1)));
        assert_non_null(hc_null_name(all[k]));
    }
    assert_true(isnan(hc_false_alarm(HC_NULL_UNKNOWN, 1, 9, 1)));
    assert_null(hc_null_name(HC_NULL_UNKNOWN));
    check_rate(hc_false_alarm(HC_NULL_COHERENCE, 0, 9, 0), 0.5);
    assert_true(hc_false_alarm(HC_NULL_COHERENCE, 1, 9, 0) <= 0);
    assert_true(hc_false_alarm(HC_NULL_COHERENCE, 1.0000001, 9, 0) <= 0); /* as float32 rounds */
    check_rate(hc_false_alarm(HC_NULL_COHERENCE, -1, 9, 0), 1);
    check_rate(hc_false_alarm(HC_NULL_COHERENCE, 1, 1, 0), 0.5);
    check_rate(hc_false_alarm(HC_NULL_CHI_SQUARE, 0, 9, 0), 1);
    assert_true(hc_false_alarm(HC_NULL_CHI_SQUARE, INFINITY, 9, 0) <= 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chi_square_has_closed_forms),  cmocka_unit_test(coherence_has_closed_forms),
        cmocka_unit_test(coherence_equals_integration), cmocka_unit_test(far_tails_keep_their_digits),
        cmocka_unit_test(ends_have_their_rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
