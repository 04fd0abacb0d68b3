/* Upper tails as sums of positive terms, so that nothing cancels: all parameters are multiples of 1/2
 * (Abramowitz, Stegun 1964, 26.4.4, 26.4.5 and 26.5.4). */
#include "pipeline/detections/false_alarm.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

const char *hc_null_name(HcNull null) {
    static const char *const name[] = {NULL, "normal", "normal, signed root", "beta", "chi-square"};
    return name[null];
}

static double normal_tail(double z) {
    return 0.5 * erfc(z * M_SQRT1_2);
}

/* Each term is half / j of the one before. In logarithms where the first may be below all numbers. */
static double chi_square_tail(double score, int32_t directions) {
    if (!(score > 0)) {
        return isnan(score) ? NAN : 1;
    }
    if (isinf(score)) {
        return 0;
    }
    double half = score / 2;
    bool odd = directions % 2 == 1;
    double sum = odd ? erfc(sqrt(half)) : 0;
    double term = odd ? -half + 0.5 * log(half) - log(sqrt(M_PI) / 2) : -half; /* of j = 1/2 + 1/2, or 0 */
    double end = (double)directions / 2 - 0.25;
    if (half < 650) {
        term = exp(term);
        for (double j = odd ? 0.5 : 0; j < end; j++) {
            sum += term;
            term *= half / (j + 1);
        }
        return fmin(sum, 1);
    }
    for (double j = odd ? 0.5 : 0; j < end; j++) {
        sum += exp(term);
        term += log(half / (j + 1));
    }
    return fmin(sum, 1);
}

/* B(a, 1/2) for a multiple of 1/2. */
static double beta_of(double a) {
    double value = fmod(a, 1) > 0.25 ? M_PI : 2;
    for (double at = fmod(a, 1) > 0.25 ? 0.5 : 1; at < a - 0.25; at++) {
        value *= at / (at + 0.5);
    }
    return value;
}

/* The sum of x^n times the product of (both + i) / (first + 1 + i) for i < n: I_x(first, both - first)
 * without its factor. */
static double beta_series(double x, double first, double both) {
    double sum = 1;
    double term = 1;
    for (double n = 0; term > sum * DBL_EPSILON / 64; n++) {
        term *= x * (both + n) / (first + 1 + n);
        sum += term;
    }
    return sum;
}

/* P(c^2 >= share) for the cosine c of a random direction in K = directions. */
static double cosine_tail(double share, int32_t directions) {
    double a = (directions - 1) / 2.0;
    double rest = 1 - share;
    if (!(rest > 0) || !(share > 0)) {
        return rest > 0 ? 1 : isnan(rest) ? NAN : directions == 1 ? 1 : 0;
    }
    if (directions == 1) {
        return 1;
    }
    double factor = sqrt(share) * exp(a * log1p(-share)) / beta_of(a);
    return rest < (a + 1) / (a + 2.5) ? factor / a * beta_series(rest, a, a + 0.5)
                                      : 1 - 2 * factor * beta_series(share, 0.5, a + 0.5);
}

static double coherence_tail(double score, int32_t directions) {
    double both = cosine_tail(fabs(score), directions);
    return score < 0 ? 1 - both / 2 : both / 2;
}

double hc_false_alarm(HcNull null, double score, int32_t directions, double deviation) {
    switch (null) {
    case HC_NULL_NORMAL:
        return normal_tail(score / deviation);
    case HC_NULL_ROOT_NORMAL:
        return normal_tail(copysign(sqrt(fabs(score)), score));
    case HC_NULL_COHERENCE:
        return coherence_tail(score, directions);
    case HC_NULL_CHI_SQUARE:
        return chi_square_tail(score, directions);
    case HC_NULL_UNKNOWN:
        break;
    }
    return NAN;
}
