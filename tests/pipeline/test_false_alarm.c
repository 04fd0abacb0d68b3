/* False-alarm rates against closed forms, against integration by Simpson's rule, and against values of mpmath
 * 1.3 with 60 digits. */
#include "pipeline/detections/false_alarm.h"
#include "tests/support/check.h"
#include "tests/support/random.h"
#include "tests/support/reference.h"

#include <math.h>
#include <string.h>

/* The rate by a mean and covariance without error. */
static double known(HcNull null, double score, int32_t directions, double deviation) {
    HcNullLaw law = {.null = null, .directions = directions, .deviation = deviation};
    return hc_false_alarm(&law, 0, score);
}

static void check_rate(double found, double expected) {
    if (!(fabs(found - expected) <= 1e-11 * expected)) {
        fail_msg("%.17g is not %.17g", found, expected);
    }
}

static void chi_square_has_closed_forms(void **state) {
    (void)state;
    for (double x = 0.01; x < 1300; x *= 1.7) {
        check_rate(known(HC_NULL_CHI_SQUARE, x, 1, 0), erfc(sqrt(x / 2)));
        check_rate(known(HC_NULL_CHI_SQUARE, x, 2, 0), exp(-x / 2));
        check_rate(known(HC_NULL_CHI_SQUARE, x, 4, 0), exp(-x / 2) * (1 + x / 2));
        check_rate(known(HC_NULL_CHI_SQUARE, x, 3, 0), erfc(sqrt(x / 2)) + sqrt(2 * x / M_PI) * exp(-x / 2));
    }
}

/* A cosine is uniform in 3 directions, its angle in 2. */
static void coherence_has_closed_forms(void **state) {
    (void)state;
    for (double s = 1e-6; s < 1; s = s < 0.5 ? 3 * s : 1 - (1 - s) / 3) {
        double rest = (1 - s) / (1 + sqrt(s)); /* 1 - c */
        check_rate(known(HC_NULL_COHERENCE, s, 3, 0), rest / 2);
        check_rate(known(HC_NULL_COHERENCE, -s, 3, 0), 1 - rest / 2);
        check_rate(known(HC_NULL_COHERENCE, s, 2, 0), asin(sqrt(1 - s)) / M_PI);
        check_rate(known(HC_NULL_COHERENCE, s, 5, 0), rest * rest * (3 - rest) / 4);
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
            check_rate(known(HC_NULL_COHERENCE, scores[j], directions[i], 0),
                       share_of_angles(angle, directions[i]) / all);
        }
    }
}

static void far_tails_keep_their_digits(void **state) {
    (void)state;
    check_rate(known(HC_NULL_CHI_SQUARE, 237.6, 162, 0), 0.00010059048149295753);
    check_rate(known(HC_NULL_CHI_SQUARE, 420, 162, 0), 8.4576214525212377e-25);
    check_rate(known(HC_NULL_CHI_SQUARE, 600, 285, 0), 1.3961440868267639e-24);
    check_rate(known(HC_NULL_COHERENCE, 0.3, 162, 0), 1.9170920215404271e-14);
    check_rate(known(HC_NULL_COHERENCE, 0.9, 30, 0), 2.4395108949910482e-16);
    check_rate(known(HC_NULL_NORMAL, 1.25, 162, 0.25), 2.8665157187919391e-7);
    check_rate(known(HC_NULL_NORMAL, -1.25, 162, 0.25), 1 - 2.8665157187919391e-7);
    check_rate(known(HC_NULL_ROOT_NORMAL, 49, 162, 0), 1.279812543885835e-12);
    check_rate(known(HC_NULL_ROOT_NORMAL, -25, 162, 0), 1 - 2.8665157187919391e-7);
}

static void ends_have_their_rates(void **state) {
    (void)state;
    static const HcNull all[] = {HC_NULL_NORMAL, HC_NULL_ROOT_NORMAL, HC_NULL_COHERENCE, HC_NULL_CHI_SQUARE};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        assert_true(isnan(known(all[k], NAN, 9, 1)));
        assert_non_null(hc_null_name(all[k]));
    }
    assert_true(isnan(known(HC_NULL_UNKNOWN, 1, 9, 1)));
    assert_null(hc_null_name(HC_NULL_UNKNOWN));
    check_rate(known(HC_NULL_COHERENCE, 0, 9, 0), 0.5);
    assert_true(known(HC_NULL_COHERENCE, 1, 9, 0) <= 0);
    assert_true(known(HC_NULL_COHERENCE, 1.0000001, 9, 0) <= 0); /* as float32 rounds */
    check_rate(known(HC_NULL_COHERENCE, -1, 9, 0), 1);
    check_rate(known(HC_NULL_COHERENCE, 1, 1, 0), 0.5);
    check_rate(known(HC_NULL_CHI_SQUARE, 0, 9, 0), 1);
    assert_true(known(HC_NULL_CHI_SQUARE, INFINITY, 9, 0) <= 0);
}

/* Values of mpmath: betainc(), and for filters and coherence of other pixels the mean of its values over the
 * beta of false_alarm.c by quad(). */
static void few_pixels_have_laws_of_their_own(void **state) {
    (void)state;
    static const struct {
        HcNull null;
        int32_t directions;
        int64_t pixels;
        bool apart;
        double score, rate;
    } cases[] = {
        {HC_NULL_CHI_SQUARE, 1, 9, true, 11, 0.013671984409040921},
        {HC_NULL_NORMAL, 1, 9, false, 0.5, 0.31452121176027795},
        {HC_NULL_NORMAL, 1, 9, true, 0.5, 0.32396680058160999},
        {HC_NULL_NORMAL, 1, 9, true, 3, 0.010804964553007275},
        {HC_NULL_NORMAL, 1, 9, true, 6, 0.00022926986290298428},
        {HC_NULL_CHI_SQUARE, 2, 30, false, 12, 0.00052992277837806138},
        {HC_NULL_CHI_SQUARE, 2, 30, true, 12, 0.008959328544635434},
        {HC_NULL_NORMAL, 2, 30, false, 0.5, 0.30981502676048764},
        {HC_NULL_NORMAL, 2, 30, true, 0.5, 0.3192274090932156},
        {HC_NULL_NORMAL, 2, 30, false, 3, 0.00054855527637302824},
        {HC_NULL_NORMAL, 2, 30, true, 3, 0.0041133269837265689},
        {HC_NULL_NORMAL, 2, 30, true, 6, 2.2790243723089965e-6},
        {HC_NULL_COHERENCE, 2, 30, true, 0.25, 0.33816525557212991},
        {HC_NULL_CHI_SQUARE, 7, 64, false, 17, 0.0091445777792780516},
        {HC_NULL_CHI_SQUARE, 7, 64, true, 17, 0.05117698709528849},
        {HC_NULL_NORMAL, 7, 64, false, 0.5, 0.30909089492097505},
        {HC_NULL_NORMAL, 7, 64, true, 0.5, 0.32755334506072293},
        {HC_NULL_NORMAL, 7, 64, false, 3, 0.0009495848357854084},
        {HC_NULL_NORMAL, 7, 64, true, 3, 0.0047168950908356376},
        {HC_NULL_NORMAL, 7, 64, false, 6, 1.3213345942838608e-13},
        {HC_NULL_NORMAL, 7, 64, true, 6, 8.5206844142629619e-7},
        {HC_NULL_COHERENCE, 7, 64, true, 0.25, 0.11546231540056016},
        {HC_NULL_CHI_SQUARE, 40, 144, false, 50, 0.090344891548502465},
        {HC_NULL_CHI_SQUARE, 40, 144, true, 50, 0.63495345838751227},
        {HC_NULL_NORMAL, 40, 144, false, 0.5, 0.30877405989599584},
        {HC_NULL_NORMAL, 40, 144, true, 0.5, 0.3588246131173324},
        {HC_NULL_NORMAL, 40, 144, false, 3, 0.0011679392208145248},
        {HC_NULL_NORMAL, 40, 144, true, 3, 0.016171914920082899},
        {HC_NULL_NORMAL, 40, 144, false, 6, 6.2847521892843268e-11},
        {HC_NULL_NORMAL, 40, 144, true, 6, 1.9049535676604013e-5},
        {HC_NULL_COHERENCE, 40, 144, true, 0.25, 0.0020734768208932423},
        {HC_NULL_CHI_SQUARE, 40, 400, false, 50, 0.11975806803191089},
        {HC_NULL_CHI_SQUARE, 40, 400, true, 50, 0.2845178927922735},
        {HC_NULL_NORMAL, 40, 400, false, 0.5, 0.3086209937321472},
        {HC_NULL_NORMAL, 40, 400, true, 0.5, 0.32627839071407333},
        {HC_NULL_NORMAL, 40, 400, false, 3, 0.0012837521813353299},
        {HC_NULL_NORMAL, 40, 400, true, 3, 0.0036066642861325906},
        {HC_NULL_NORMAL, 40, 400, false, 6, 4.1544003895182541e-10},
        {HC_NULL_NORMAL, 40, 400, true, 6, 6.1640172455305157e-8},
        {HC_NULL_COHERENCE, 40, 400, true, 0.25, 0.00074458983003304281},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        HcNullLaw law = {.null = cases[k].null,
                         .directions = cases[k].directions,
                         .pixels = cases[k].pixels,
                         .apart = cases[k].apart,
                         .deviation = 1};
        check_rate(hc_false_alarm(&law, 0, cases[k].score), cases[k].rate);
    }
}

/* So many pixels that the error of the covariance does not count. */
static void many_pixels_have_the_limits(void **state) {
    (void)state;
    static const HcNull all[] = {HC_NULL_NORMAL, HC_NULL_ROOT_NORMAL, HC_NULL_COHERENCE, HC_NULL_CHI_SQUARE};
    static const double score[] = {3, 9, 0.4, 40};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        for (int apart = 0; apart < 2; apart++) {
            HcNullLaw law = {
                .null = all[k], .directions = 12, .pixels = 4000000000, .apart = apart == 1, .deviation = 1};
            double expected = known(all[k], score[k], 12, 1);
            check_near(hc_false_alarm(&law, 0, score[k]) / expected, 1, 1e-6);
        }
    }
}

/* ---- what is announced, against what happens ---- */

enum { BANDS = 8, OWN = 24, OTHER = 40, DRAWS = 12000 };

/* Of the first OWN pixels. */
static void know(double pixel[][BANDS], double *mean, double *covariance) {
    memset(mean, 0, BANDS * sizeof *mean);
    memset(covariance, 0, BANDS * BANDS * sizeof *covariance);
    for (int p = 0; p < OWN; p++) {
        for (int b = 0; b < BANDS; b++) {
            mean[b] += pixel[p][b] / OWN;
        }
    }
    for (int p = 0; p < OWN; p++) {
        for (int i = 0; i < BANDS * BANDS; i++) {
            int row = i / BANDS, column = i % BANDS;
            covariance[i] += (pixel[p][row] - mean[row]) * (pixel[p][column] - mean[column]) / (OWN - 1);
        }
    }
}

/* Backgrounds of 24 pixels in 8 bands: pixels of them, and others, that have at most a rate of 1 %. */
static void announced_rates_are_true(void **state) {
    (void)state;
    static const HcNull nulls[] = {HC_NULL_CHI_SQUARE, HC_NULL_NORMAL, HC_NULL_COHERENCE};
    static const double target[BANDS] = {9, 0, 0, 2, 0, -4, 0, 0};
    int64_t found[3][2] = {{0}};
    uint64_t seed = 2026;
    for (int draw = 0; draw < DRAWS; draw++) {
        static double pixel[OWN + OTHER][BANDS];
        double mean[BANDS], covariance[BANDS * BANDS], away[BANDS], weight[BANDS];
        for (int i = 0; i < (OWN + OTHER) * BANDS; i++) {
            pixel[i / BANDS][i % BANDS] = random_normal(&seed);
        }
        know(pixel, mean, covariance);
        for (int b = 0; b < BANDS; b++) {
            away[b] = target[b] - mean[b];
        }
        reference_solve(BANDS, covariance, away, weight);
        double deviation = 1 / sqrt(reference_product(BANDS, weight, away));
        for (int p = 0; p < OWN + OTHER; p++) {
            double x[BANDS], y[BANDS];
            for (int b = 0; b < BANDS; b++) {
                x[b] = pixel[p][b] - mean[b];
            }
            reference_solve(BANDS, covariance, x, y);
            double distance = reference_product(BANDS, x, y),
                   along = reference_product(BANDS, weight, x) * deviation;
            double score[3] = {distance, along * deviation, along * fabs(along) / distance};
            for (int k = 0; k < 3; k++) {
                HcNullLaw law = {.null = nulls[k],
                                 .directions = BANDS,
                                 .pixels = OWN,
                                 .apart = p >= OWN,
                                 .deviation = deviation,
                                 .nearness = deviation};
                found[k][p >= OWN] += hc_false_alarm(&law, 0, score[k]) <= 0.01;
            }
        }
    }
    for (int k = 0; k < 3; k++) {
        check_near((double)found[k][0] / (0.01 * OWN * DRAWS), 1, 0.05);
        check_near((double)found[k][1] / (0.01 * OTHER * DRAWS), 1, 0.1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chi_square_has_closed_forms),  cmocka_unit_test(coherence_has_closed_forms),
        cmocka_unit_test(coherence_equals_integration), cmocka_unit_test(far_tails_keep_their_digits),
        cmocka_unit_test(ends_have_their_rates),        cmocka_unit_test(few_pixels_have_laws_of_their_own),
        cmocka_unit_test(many_pixels_have_the_limits),  cmocka_unit_test(announced_rates_are_true),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
