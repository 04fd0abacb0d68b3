#include "core/moments.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 WideUnsigned;

/* Variance of the median of nine independent standard normal values: the integral of
 * 9!/(4! 4!) x^2 F(x)^4 (1-F(x))^4 f(x), by the trapezoidal rule. */
static const double median9_variance = 0.16610128135871643;

double hc_difference_variance(HcDifference difference) {
    switch (difference) {
    case HC_DIFFERENCE_NONE:
        return 1;
    case HC_DIFFERENCE_MEAN3X3:
        return 72; /* 8^2 + 8 * 1 */
    case HC_DIFFERENCE_MEDIAN3X3:
        /* 1 + v - 2/9: the covariance of the median with each value is 1/9, that of the mean with it (the
         * median less the mean is independent of the mean, by Basu's theorem). Covariances of weakly
         * correlated bands come out up to 6 % small: medians of two bands are less correlated than their
         * values. */
        return 1 + median9_variance - 2.0 / 9.0;
    case HC_DIFFERENCE_SHIFT:
    case HC_DIFFERENCE_SHIFT_DIAGONAL:
        return 2;
    }
    return NAN;
}

int32_t hc_difference_halo(HcDifference difference) {
    return difference == HC_DIFFERENCE_NONE || difference == HC_DIFFERENCE_SHIFT ? 0 : 1;
}

int64_t hc_difference_limit(HcDifference difference, int64_t limit) {
    /* Blocks are float32: beyond 2^24 a promise of integers would not be kept. */
    if (limit <= 0 || limit > (int64_t)1 << 24) {
        return 0;
    }
    switch (difference) {
    case HC_DIFFERENCE_NONE:
        return limit;
    case HC_DIFFERENCE_MEAN3X3:
        return 16 * limit;
    case HC_DIFFERENCE_MEDIAN3X3:
    case HC_DIFFERENCE_SHIFT:
    case HC_DIFFERENCE_SHIFT_DIAGONAL:
        return 2 * limit;
    }
    return 0;
}

HcStatus hc_moments_init(HcMoments *moments, int32_t bands, bool exact, HcError *err) {
    size_t n = (size_t)bands;
    *moments = (HcMoments){.bands = bands, .exact = exact};
    if (exact) {
        moments->sum = calloc(n, sizeof *moments->sum);
        moments->product = calloc(n * n, sizeof *moments->product);
    } else {
        moments->mean = calloc(n, sizeof *moments->mean);
        moments->scatter = calloc(n * n, sizeof *moments->scatter);
    }
    if (exact ? moments->sum == NULL || moments->product == NULL
              : moments->mean == NULL || moments->scatter == NULL) {
        hc_moments_clear(moments);
        return hc_fail_memory(err, (double)(n * n) * (exact ? sizeof(HcWide) : sizeof(double)),
                              "sums of products");
    }
    return HC_OK;
}

void hc_moments_clear(HcMoments *moments) {
    free(moments->sum);
    free(moments->product);
    free(moments->mean);
    free(moments->scatter);
    *moments = (HcMoments){0};
}

void hc_moments_merge(HcMoments *to, const HcMoments *from) {
    size_t n = (size_t)to->bands;
    if (from->count == 0) {
        return;
    }
    if (to->exact) {
        for (size_t b = 0; b < n; b++) {
            to->sum[b] += from->sum[b];
        }
        for (size_t k = 0; k < n * n; k++) {
            to->product[k] += from->product[k];
        }
        to->count += from->count;
        return;
    }
    if (to->count == 0) {
        memcpy(to->mean, from->mean, n * sizeof *to->mean);
        memcpy(to->scatter, from->scatter, n * n * sizeof *to->scatter);
        to->count = from->count;
        return;
    }
    double total = (double)to->count + (double)from->count;
    double weight = (double)to->count * ((double)from->count / total);
    for (size_t b = 0; b < n; b++) {
        double difference = weight * (from->mean[b] - to->mean[b]);
        for (size_t c = 0; c < n; c++) {
            to->scatter[b * n + c] += from->scatter[b * n + c] + difference * (from->mean[c] - to->mean[c]);
        }
    }
    /* The product above is not symmetric to the last bit: keep the upper triangle. */
    for (size_t b = 0; b < n; b++) {
        for (size_t c = 0; c < b; c++) {
            to->scatter[b * n + c] = to->scatter[c * n + b];
        }
    }
    double share = (double)from->count / total;
    for (size_t b = 0; b < n; b++) {
        to->mean[b] += share * (from->mean[b] - to->mean[b]);
    }
    to->count += from->count;
}

static int leading_bit(WideUnsigned value) {
    uint64_t high = (uint64_t)(value >> 64);
    return high != 0 ? 127 - __builtin_clzll(high) : 63 - __builtin_clzll((uint64_t)value);
}

/* For any denominator: long division, one binary digit at a time, from the leading digit of the quotient on.
 * 54 digits decide the rounding together with whether anything is left. */
static double long_ratio(HcWide numerator, HcWide denominator) {
    bool negative = numerator < 0;
    WideUnsigned remainder = negative ? -(WideUnsigned)numerator : (WideUnsigned)numerator;
    WideUnsigned divisor = (WideUnsigned)denominator;
    int exponent = leading_bit(remainder) - leading_bit(divisor);
    WideUnsigned high = divisor; /* divisor scaled so that remainder / high lies in [1/2, 2) */
    int shift = 0;               /* remainder is scaled by 2^shift where the divisor cannot be */
    if (exponent >= 0) {
        high = divisor << exponent;
    } else {
        shift = -exponent;
        remainder <<= shift;
    }
    if (remainder < high) {
        exponent--;
        /* remainder < high <= 2^127: one more digit fits unless high has bit 127 set, where halving is exact
         * enough only if its low bit is clear; denominators here stay far below that. */
        remainder <<= 1;
    }
    uint64_t quotient = 0;
    for (int digit = 0; digit < 54; digit++) {
        quotient <<= 1;
        if (remainder >= high) {
            remainder -= high;
            quotient |= 1;
        }
        remainder <<= 1;
    }
    bool half = (quotient & 1) != 0;
    quotient >>= 1;
    if (half && (remainder != 0 || (quotient & 1) != 0)) {
        quotient++;
    }
    double value = ldexp((double)quotient, exponent - 52);
    return negative ? -value : value;
}

/* A denominator below 2^64, prepared for many divisions by it. */
typedef struct Divisor {
    HcWide value;
    uint64_t scaled;     /* value 2^shift: its leading bit is set. 0: too large, divide digit by digit */
    uint64_t reciprocal; /* floor((2^128 - 1) / scaled) - 2^64 */
    int shift;
} Divisor;

static Divisor divisor_of(HcWide value) {
    Divisor out = {.value = value};
    if (value >> 64 == 0) {
        out.shift = __builtin_clzll((uint64_t)value);
        out.scaled = (uint64_t)value << out.shift;
        out.reciprocal = (uint64_t)(~(WideUnsigned)0 / out.scaled);
    }
    return out;
}

/* value * 2^exponent for an exponent within +-1000: exact. */
static double scaled_by(double value, int exponent) {
    uint64_t bits = (uint64_t)(1023 + exponent) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return value * power;
}

/* The numerator is scaled to 127 bits, its quotient by a 64-bit divisor then has 63 or 64: more than enough
 * for one rounding, together with whether anything is left. The quotient comes from the reciprocal (Moeller
 * and Granlund 2011, algorithm 4). */
static inline double ratio(HcWide numerator, const Divisor *by) {
    if (numerator == 0) {
        return 0;
    }
    if (by->scaled == 0) {
        return long_ratio(numerator, by->value);
    }
    bool negative = numerator < 0;
    WideUnsigned size = negative ? -(WideUnsigned)numerator : (WideUnsigned)numerator;
    int shift = 126 - leading_bit(size);
    size <<= shift;
    uint64_t high = (uint64_t)(size >> 64); /* below 2^63, so below the divisor: the quotient fits */
    uint64_t low = (uint64_t)size;
    WideUnsigned guess = (WideUnsigned)by->reciprocal * high + size;
    uint64_t quotient = (uint64_t)(guess >> 64) + 1;
    uint64_t rest = low - quotient * by->scaled;
    if (rest > (uint64_t)guess) {
        quotient--;
        rest += by->scaled;
    }
    if (rest >= by->scaled) {
        quotient++;
        rest -= by->scaled;
    }
    /* One bit less, for the sign; what falls off or is left lies far below the half that decides. */
    int64_t odd = (int64_t)(quotient >> 1 | (quotient & 1) | (rest != 0));
    return scaled_by((double)(negative ? -odd : odd), 1 + by->shift - shift);
}

double hc_wide_ratio(HcWide numerator, HcWide denominator) {
    Divisor by = divisor_of(denominator);
    return ratio(numerator, &by);
}

/* a * b, where both mostly are 64-bit integers. */
static inline HcWide product_of(HcWide a, HcWide b) {
    return a == (int64_t)a && b == (int64_t)b ? (HcWide)(int64_t)a * (int64_t)b : a * b;
}

/* n*Sxy - Sx*Sy over the denominator, of the upper triangle. */
static void exact_covariance(const HcMoments *moments, const Divisor *by, double *covariance) {
    size_t n = (size_t)moments->bands;
    for (size_t b = 0; b < n; b++) {
        const HcWide *products = moments->product + b * n;
        for (size_t c = b; c < n; c++) {
            HcWide numerator =
                product_of(moments->count, products[c]) - product_of(moments->sum[b], moments->sum[c]);
            covariance[b * n + c] = ratio(numerator, by);
        }
    }
}

/* The lower triangle from the upper one, a square at a time: a column of it is a cache line a value. */
static void mirror(double *matrix, size_t n) {
    enum { SIDE = 8 };
    for (size_t top = 0; top < n; top += SIDE) {
        for (size_t b = top; b < n; b++) {
            for (size_t c = top; c < top + SIDE && c < b; c++) {
                matrix[b * n + c] = matrix[c * n + b];
            }
        }
    }
}

HcStatus hc_moments_covariance(const HcMoments *moments, double variance, const char *what, double *mean,
                               double *covariance, HcError *err) {
    size_t n = (size_t)moments->bands;
    if (moments->count < 2) {
        return hc_fail(err, HC_E_NUMERIC, "%lld valid pixel%s in %s: a covariance needs at least 2",
                       (long long)moments->count, moments->count == 1 ? "" : "s", what);
    }
    if (!moments->exact) {
        double scale = 1.0 / ((double)(moments->count - 1) * variance);
        for (size_t b = 0; b < n && mean != NULL; b++) {
            mean[b] = moments->mean[b];
        }
        for (size_t k = 0; k < n * n; k++) {
            covariance[k] = moments->scatter[k] * scale;
        }
        return HC_OK;
    }
    bool whole = variance == floor(variance);
    HcWide count = moments->count;
    Divisor pixels = divisor_of(count);
    Divisor denominator = divisor_of(count * (count - 1) * (whole ? (HcWide)variance : 1));
    for (size_t b = 0; b < n && mean != NULL; b++) {
        mean[b] = ratio(moments->sum[b], &pixels);
    }
    exact_covariance(moments, &denominator, covariance);
    for (size_t b = 0; b < n && !whole; b++) {
        for (size_t c = b; c < n; c++) {
            covariance[b * n + c] /= variance;
        }
    }
    mirror(covariance, n);
    return HC_OK;
}
