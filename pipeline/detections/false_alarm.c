/* Upper tails as sums of positive terms, so that nothing cancels: all parameters are multiples of 1/2
 * (Abramowitz, Stegun 1964, 26.4.4, 26.4.5, 26.5.4 and 26.5.6). */
#include "pipeline/detections/false_alarm.h"

#include <float.h>
#include <math.h>
#include <stddef.h>

const char *hc_null_name(HcNull null) {
    static const char *const name[] = {NULL, "normal", "normal, signed root", "beta", "chi-square"};
    return name[null];
}

/* B(a, 1/2) for a multiple of 1/2. */
static double beta_of(double a) {
    if (a > 64) { /* Tricomi, Erdelyi 1951 */
        double t = 1 / a;
        double root =
            1 - t * (1.0 / 8 - t * (1.0 / 128 + t * (5.0 / 1024 - t * (21.0 / 32768 + t * 399 / 262144))));
        return sqrt(M_PI * t) / root;
    }
    double value = fmod(a, 1) > 0.25 ? M_PI : 2;
    for (double at = fmod(a, 1) > 0.25 ? 0.5 : 1; at < a - 0.25; at++) {
        value *= at / (at + 0.5);
    }
    return value;
}

/* I_x(a, 1/2) without its factor, for x below its mean: a continued fraction, by the method of Lentz. */
static double beta_fraction(double x, double a) {
    double c = 1, d = 1 / (1 - x * (a + 0.5) / (a + 1));
    double value = d, step = 0;
    for (double n = 1; fabs(step - 1) > DBL_EPSILON && n < 1e6; n++) {
        double even = n * (0.5 - n) * x / ((a + 2 * n - 1) * (a + 2 * n));
        double odd = -(a + n) * (a + 0.5 + n) * x / ((a + 2 * n) * (a + 2 * n + 1));
        d = 1 / (1 + even * d);
        c = 1 + even / c;
        value *= d * c;
        d = 1 / (1 + odd * d);
        c = 1 + odd / c;
        step = d * c;
        value *= step;
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

/* P(c^2 >= share) for the cosine c of a random direction in 2 a + 1 dimensions. */
static double cosine_tail(double share, double a) {
    double rest = 1 - share;
    if (!(rest > 0) || !(share > 0)) {
        return rest > 0 ? 1 : isnan(rest) ? NAN : a > 0 ? 0 : 1;
    }
    if (!(a > 0)) {
        return 1;
    }
    double factor = sqrt(share) * exp(a * log1p(-share)) / beta_of(a);
    return rest < (a + 1) / (a + 2.5) ? factor / a * beta_fraction(rest, a)
                                      : 1 - 2 * factor * beta_series(share, 0.5, a + 0.5);
}

/* A sum of K squares, or its share of one of 2 a + K squares: below a = INFINITY x is half of the sum, and
 * else the share. */
typedef struct Squares {
    double x, a;
} Squares;

static double next_of(const Squares *of, double j) {
    return isinf(of->a) ? of->x / (j + 1) : of->x * (of->a + j) / (j + 1);
}

/* Each term is next_of() times the one before. In logarithms where the first may be below all numbers. */
static double squares_tail(const Squares *of, int32_t directions) {
    bool chi = isinf(of->a), odd = directions % 2 == 1;
    double start = chi ? -of->x : of->a * log1p(-of->x);
    double sum = !odd ? 0 : chi ? erfc(sqrt(of->x)) : cosine_tail(of->x, of->a);
    double term = !odd ? start : start + 0.5 * log(of->x) - log(chi ? sqrt(M_PI) / 2 : beta_of(of->a) / 2);
    double end = (double)directions / 2 - 0.25;
    bool by_log = start < -650;
    term = by_log ? term : exp(term);
    for (double j = odd ? 0.5 : 0; j < end; j++) {
        sum += by_log ? exp(term) : term;
        term = by_log ? term + log(next_of(of, j)) : term * next_of(of, j);
    }
    return fmin(sum, 1);
}

/* ---- filters, and cosines of them ---- */

/* The upper tail of what is as often negative: `both` is that of its square. */
static double signed_tail(double score, double both) {
    return score < 0 ? 1 - both / 2 : both / 2;
}

/* Of a pixel that is none of the n, with a = (n - K)/2: t^2/(2 a) exceeds ratio beta, or ratio (1 - beta),
 * for Student's t of 2 a degrees of freedom and beta of Beta(a + 1/2, (K - 1)/2). By the trapezoidal rule in
 * log(beta/(1 - beta)), whose error falls with exp(-pi^2 / step) or faster (Trefethen, Weideman 2014). */
static double mixed_tail(const HcNullLaw *law, double ratio, bool by_rest) {
    double a = (double)(law->pixels - law->directions) / 2, first = a + 0.5;
    double second = (law->directions - 1) / 2.0, both = first + second;
    if (!(second > 0)) {
        return by_rest ? 1 : cosine_tail(ratio / (1 + ratio), a);
    }
    double step = fmin(0.35, 0.75 * sqrt(1 / first + 1 / second)), peak = log(first / second);
    double top = first * log(first / both) + second * log(second / both);
    double sum = 0, all = 0;
    for (int side = 1; side >= -1; side -= 2) {
        double weight = 1, term = 1;
        for (int k = side > 0 ? 0 : 1; weight > all * 1e-14 || term > sum * 1e-14; k++) {
            double at = peak + side * k * step;
            double beta = 1 / (1 + exp(-at)), rest = 1 / (1 + exp(at));
            double t = ratio * (by_rest ? rest : beta);
            weight = exp(first * log(beta) + second * log(rest) - top);
            term = weight * cosine_tail(t / (1 + t), a);
            all += weight;
            sum += term;
        }
    }
    return sum / all;
}

/* z is a filter's score divided by its standard deviation as the detector knows it. The error of the mean is
 * in the target's distance from it, too, which lifts the scores of other pixels. */
static double filter_tail(const HcNullLaw *law, bool own, double z) {
    double n = (double)law->pixels, k = law->directions;
    if (law->pixels == 0) {
        return 0.5 * erfc(z * M_SQRT1_2);
    }
    if (own) {
        return signed_tail(z, cosine_tail(z * z * n / ((n - 1) * (n - 1)), n / 2 - 1));
    }
    z -= n > k + 2 ? law->nearness * k * (n - 1) / (n * (n - k - 2)) : 0;
    return signed_tail(z, mixed_tail(law, z * z * n / ((n - 1) * (n + 1)), false));
}

static double coherence_tail(const HcNullLaw *law, bool own, double score) {
    double share = fabs(score);
    return signed_tail(score, law->pixels == 0 || own || !(share < 1)
                                  ? cosine_tail(share, (law->directions - 1) / 2.0)
                                  : mixed_tail(law, share / (1 - share), true));
}

static double distance_tail(const HcNullLaw *law, bool own, double score) {
    double n = (double)law->pixels;
    double ratio = score * n / ((n + 1) * (n - 1));
    Squares of = own ? (Squares){score * n / ((n - 1) * (n - 1)), (n - 1 - law->directions) / 2}
                     : (Squares){ratio / (1 + ratio), (n - law->directions) / 2};
    if (law->pixels == 0) {
        of = (Squares){score / 2, INFINITY};
    }
    if (!(score > 0)) {
        return isnan(score) ? NAN : 1;
    }
    return isinf(score) || (own && of.x >= 1) ? 0 : squares_tail(&of, law->directions);
}

double hc_false_alarm(const HcNullLaw *law, int64_t pixel, double score) {
    bool own = law->pixels > 0 && !law->apart && (law->inside == NULL || law->inside[pixel] != 0);
    switch (law->null) {
    case HC_NULL_NORMAL:
        return filter_tail(law, own, score / law->deviation);
    case HC_NULL_ROOT_NORMAL:
        return filter_tail(law, own, copysign(sqrt(fabs(score)), score));
    case HC_NULL_COHERENCE:
        return coherence_tail(law, own, score);
    case HC_NULL_CHI_SQUARE:
        return distance_tail(law, own, score);
    case HC_NULL_UNKNOWN:
        break;
    }
    return NAN;
}
