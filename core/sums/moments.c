/* Sums of products that no order of additions changes, and the covariance made of them. Sums are integers of
 * 128 bits; the few values that are far from their band's center add to integers of 704 bits (long.h). The
 * covariance is one quotient of such integers, rounded once: a difference of rounded sums would lose the
 * digits that mean and variance share. */
#include "core/sums/moments.h"
#include "core/allocate.h"
#include "core/sums/quotient.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

int32_t hc_whole_variance(double variance) {
    return variance == floor(variance) ? (int32_t)variance : 1;
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

HcStatus hc_moments_init(HcMoments *moments, int32_t bands, HcError *err) {
    HcStatus status = HC_OK;
    size_t n = (size_t)bands;
    *moments = (HcMoments){.bands = bands};
    HC_TRY(hc_new(moments->sum, n, "sums of values", err));
    HC_TRY(hc_new(moments->product, n * n, "sums of products", err));
done:
    if (status != HC_OK) {
        hc_moments_clear(moments);
    }
    return status;
}

void hc_moments_clear(HcMoments *moments) {
    free(moments->sum);
    free(moments->product);
    free(moments->center);
    free(moments->exponent);
    free(moments->far_sum);
    free(moments->far_product);
    free(moments->quotient);
    *moments = (HcMoments){0};
}

void hc_moments_changed(HcMoments *moments) {
    free(moments->quotient);
    moments->quotient = NULL;
}

/* ---- float scenes: the grid, and far values ---- */

HcStatus hc_moments_on_grid(HcMoments *moments, const HcGrid *grid, HcError *err) {
    size_t n = (size_t)moments->bands;
    HC_OR_RETURN(hc_new(moments->center, n, "the grid of sums", err));
    HC_OR_RETURN(hc_new(moments->exponent, n, "the grid of sums", err));
    memcpy(moments->center, grid->center, n * sizeof *moments->center);
    memcpy(moments->exponent, grid->exponent, n * sizeof *moments->exponent);
    return HC_OK;
}

HcStatus hc_moments_far(HcMoments *moments, HcError *err) {
    static const char what[] = "sums of values that lie far from the others of their band";
    size_t n = (size_t)moments->bands;
    hc_moments_changed(moments); /* which far values will follow */
    if (moments->far_product != NULL) {
        return HC_OK;
    }
    free(moments->far_sum);
    HC_OR_RETURN(hc_new(moments->far_sum, n * HC_LONG_DIGITS, what, err));
    HC_OR_RETURN(hc_new(moments->far_product, n * n * HC_LONG_DIGITS, what, err));
    return HC_OK;
}

HcStatus hc_moments_copy(HcMoments *to, const HcMoments *from, HcError *err) {
    HcStatus status = HC_OK;
    size_t n = (size_t)from->bands;
    HC_TRY(hc_moments_init(to, from->bands, err));
    if (from->center != NULL) {
        HC_TRY(hc_moments_on_grid(to, &(HcGrid){from->center, from->exponent}, err));
    }
    if (from->far_product != NULL) {
        HC_TRY(hc_moments_far(to, err));
    }
    hc_moments_merge(to, from);
    for (size_t b = 0; b < n; b++) {
        for (size_t c = 0; c < b; c++) {
            to->product[b * n + c] = to->product[c * n + b];
        }
    }
done:
    if (status != HC_OK) {
        hc_moments_clear(to);
    }
    return status;
}

double hc_far_rest(double value) {
    double rest = value - rint(value * 0x1p-32) * 0x1p32;
    return rest >= 0x1p31 ? rest - 0x1p32 : rest;
}

/* A whole number as part * 2^exponent. */
typedef struct Scaled {
    int64_t part; /* below 2^53 */
    int32_t exponent;
} Scaled;

static inline Scaled scaled_of(double value) {
    int exponent = 0;
    if (fabs(value) < 0x1p53) {
        return (Scaled){(int64_t)value, 0};
    }
    double part = frexp(value, &exponent);
    return (Scaled){(int64_t)ldexp(part, 53), exponent - 53};
}

/* Adds value * 2^at to digits: at most two numbers below 2^32 to each. */
static void add_wide(HcWide value, int32_t at, int64_t *digit) {
    digit += at / 32;
    for (int32_t k = 0; k < 4 && value != 0; k++) {
        int64_t piece = k < 3 ? (int64_t)(uint32_t)value : (int64_t)value;
        piece = (int64_t)((uint64_t)piece << at % 32);
        value >>= 32;
        digit[k] += piece & 0xFFFFFFFF;
        digit[k + 1] += piece >> 32;
    }
}

/* Adds a b to digits. */
static void add_product(Scaled a, Scaled b, int64_t *digit) {
    add_wide((HcWide)a.part * b.part, a.exponent + b.exponent, digit);
}

/* Carries, so that digits are small again. */
static void carry(int64_t *digit, size_t count) {
    for (size_t i = 0; i < count; i++, digit += HC_LONG_DIGITS) {
        HcLong value = hc_long_of_digits(digit);
        hc_long_to_digits(&value, digit);
    }
}

void hc_moments_carry(HcMoments *moments) {
    size_t n = (size_t)moments->bands;
    carry(moments->far_sum, n);
    carry(moments->far_product, n * n);
    moments->far_added = 0;
}

/* A pixel, or wide sums, add at most four numbers below 2^32 to a digit. */
static void count_far(HcMoments *moments) {
    enum { FAR_MAX = 1 << 28 };
    if (++moments->far_added == FAR_MAX) {
        hc_moments_carry(moments);
    }
}

void hc_moments_add_far(HcMoments *to, const double *values, const double *near, const int32_t *far,
                        int32_t far_count) {
    const Scaled one = {1, 0};
    int32_t n = to->bands;
    for (int32_t f = 0; f < far_count; f++) {
        int32_t i = far[f];
        Scaled beyond = scaled_of(values[i] - near[i]);
        Scaled rest = scaled_of(near[i]);
        int32_t next = 0; /* of the far bands, from band j on */
        add_product(beyond, one, to->far_sum + (size_t)i * HC_LONG_DIGITS);
        for (int32_t j = 0; j < n; j++) {
            bool is_far = next < far_count && far[next] == j;
            next += is_far;
            if (is_far && j < i) {
                continue; /* was done from there */
            }
            size_t at = i < j ? (size_t)i * (size_t)n + (size_t)j : (size_t)j * (size_t)n + (size_t)i;
            int64_t *digit = to->far_product + at * HC_LONG_DIGITS;
            add_product(beyond, scaled_of(values[j]), digit);
            if (is_far) {
                add_product(rest, scaled_of(values[j] - near[j]), digit);
            }
        }
    }
    count_far(to);
}

void hc_moments_add_wide(HcMoments *to, const HcWide *sum, const HcWide *product) {
    size_t n = (size_t)to->bands;
    for (size_t b = 0; b < n; b++) {
        add_wide(sum[b], 0, to->far_sum + b * HC_LONG_DIGITS);
        for (size_t c = b; c < n; c++) {
            add_wide(product[b * n + c], 0, to->far_product + (b * n + c) * HC_LONG_DIGITS);
        }
    }
    count_far(to);
}

HcLong hc_moments_sum(const HcMoments *moments, size_t b) {
    HcLong near = hc_long_of_wide(moments->sum[b]);
    if (moments->far_sum == NULL) {
        return near;
    }
    HcLong far = hc_long_of_digits(moments->far_sum + b * HC_LONG_DIGITS);
    return hc_long_add(&near, &far);
}

HcLong hc_moments_product(const HcMoments *moments, size_t b, size_t c) {
    size_t at = b * (size_t)moments->bands + c;
    HcLong near = hc_long_of_wide(moments->product[at]);
    if (moments->far_product == NULL) {
        return near;
    }
    HcLong far = hc_long_of_digits(moments->far_product + at * HC_LONG_DIGITS);
    return hc_long_add(&near, &far);
}

HcStatus hc_moments_set_sum(HcMoments *moments, size_t b, const HcLong *value, HcError *err) {
    hc_moments_changed(moments);
    if (hc_long_to_wide(value, &moments->sum[b])) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_moments_far(moments, err));
    moments->sum[b] = 0;
    hc_long_to_digits(value, moments->far_sum + b * HC_LONG_DIGITS);
    return HC_OK;
}

HcStatus hc_moments_set_product(HcMoments *moments, size_t b, size_t c, const HcLong *value, HcError *err) {
    size_t n = (size_t)moments->bands;
    HcWide near = 0;
    hc_moments_changed(moments);
    if (!hc_long_to_wide(value, &near)) {
        HC_OR_RETURN(hc_moments_far(moments, err));
        hc_long_to_digits(value, moments->far_product + (b * n + c) * HC_LONG_DIGITS);
        near = 0;
    }
    moments->product[b * n + c] = moments->product[c * n + b] = near;
    return HC_OK;
}

/* How v becomes w on a finer grid: w = v 2^shift + offset. */
typedef struct Move {
    int32_t shift;
    HcLong offset;
} Move;

/* All sums into far ones, of the moved values: sum of w = sum of v 2^s + n o, and for products likewise. */
static void move_to(HcMoments *moments, const Move *move) {
    size_t n = (size_t)moments->bands;
    HcLong count = hc_long_of_wide(moments->count);
    hc_moments_changed(moments);
    for (size_t b = 0; b < n; b++) {
        for (size_t c = b; c < n; c++) {
            HcLong product = hc_moments_product(moments, b, c);
            HcLong sum_b = hc_moments_sum(moments, b);
            HcLong sum_c = hc_moments_sum(moments, c);
            HcLong b_times = hc_long_multiply(&sum_b, &move[c].offset);
            HcLong c_times = hc_long_multiply(&sum_c, &move[b].offset);
            HcLong both = hc_long_multiply(&move[b].offset, &move[c].offset);
            product = hc_long_shift(&product, move[b].shift + move[c].shift);
            b_times = hc_long_shift(&b_times, move[b].shift);
            c_times = hc_long_shift(&c_times, move[c].shift);
            both = hc_long_multiply(&both, &count);
            product = hc_long_add(&product, &b_times);
            product = hc_long_add(&product, &c_times);
            product = hc_long_add(&product, &both);
            hc_long_to_digits(&product, moments->far_product + (b * n + c) * HC_LONG_DIGITS);
            moments->product[b * n + c] = moments->product[c * n + b] = 0;
        }
    }
    for (size_t b = 0; b < n; b++) {
        HcLong sum = hc_moments_sum(moments, b);
        HcLong offsets = hc_long_multiply(&count, &move[b].offset);
        sum = hc_long_shift(&sum, move[b].shift);
        sum = hc_long_add(&sum, &offsets);
        hc_long_to_digits(&sum, moments->far_sum + b * HC_LONG_DIGITS);
        moments->sum[b] = 0;
    }
}

static HcStatus move_onto(HcMoments *moments, const double *center, const int32_t *exponent, HcError *err) {
    HcStatus status = HC_OK;
    size_t n = (size_t)moments->bands;
    Move *move = NULL;
    HC_OR_RETURN(hc_new(move, n, "sums of products", err));
    HC_TRY(hc_moments_far(moments, err));
    for (size_t b = 0; b < n; b++) {
        HcLong from = hc_long_of_double(ldexp(moments->center[b], -exponent[b]));
        HcLong to = hc_long_of_double(ldexp(center[b], -exponent[b]));
        move[b] = (Move){moments->exponent[b] - exponent[b], hc_long_subtract(&from, &to)};
    }
    move_to(moments, move);
    memcpy(moments->center, center, n * sizeof *center);
    memcpy(moments->exponent, exponent, n * sizeof *exponent);
done:
    free(move);
    return status;
}

/* Sums of integers are those on a grid of units of 1. */
static HcStatus integers_on_grid(HcMoments *moments, HcError *err) {
    if (moments->center != NULL) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_new(moments->center, moments->bands, "the grid of sums", err));
    return hc_new(moments->exponent, moments->bands, "the grid of sums", err);
}

/* Memory for far values in both where one has met some. */
static HcStatus far_in_both(HcMoments *a, HcMoments *b, HcError *err) {
    if (a->far_product == NULL && b->far_product == NULL) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_moments_far(a, err));
    return hc_moments_far(b, err);
}

HcStatus hc_moments_align(HcMoments *a, HcMoments *b, HcError *err) {
    HcStatus status = HC_OK;
    size_t n = (size_t)a->bands;
    HcMoments common = {.bands = a->bands};
    if (a->center == NULL && b->center == NULL) {
        return HC_OK;
    }
    HC_OR_RETURN(integers_on_grid(a, err));
    HC_OR_RETURN(integers_on_grid(b, err));
    if (memcmp(a->center, b->center, n * sizeof *a->center) == 0 &&
        memcmp(a->exponent, b->exponent, n * sizeof *a->exponent) == 0) {
        return far_in_both(a, b, err);
    }
    HC_TRY(hc_moments_on_grid(&common, &(HcGrid){a->center, a->exponent}, err));
    for (size_t k = 0; k < n; k++) {
        if (b->exponent[k] < common.exponent[k]) {
            common.center[k] = b->center[k];
            common.exponent[k] = b->exponent[k];
        }
    }
    HC_TRY(move_onto(a, common.center, common.exponent, err));
    HC_TRY(move_onto(b, common.center, common.exponent, err));
done:
    hc_moments_clear(&common);
    return status;
}

void hc_moments_merge(HcMoments *to, const HcMoments *from) {
    size_t n = (size_t)to->bands;
    hc_moments_changed(to);
    for (size_t b = 0; b < n; b++) {
        to->sum[b] += from->sum[b];
    }
    for (size_t k = 0; k < n * n; k++) {
        to->product[k] += from->product[k];
    }
    to->count += from->count;
    if (from->far_product == NULL) {
        return;
    }
    for (size_t k = 0; k < n * HC_LONG_DIGITS; k++) {
        to->far_sum[k] += from->far_sum[k];
    }
    for (size_t k = 0; k < n * n * HC_LONG_DIGITS; k++) {
        to->far_product[k] += from->far_product[k];
    }
    hc_moments_carry(to);
}

/* For any denominator: long division, one binary digit at a time, from the leading digit of the quotient on.
 * 54 digits decide the rounding together with whether anything is left. */
static double long_ratio(HcWide numerator, HcWide denominator) {
    bool negative = numerator < 0;
    HcWideUnsigned remainder = negative ? -(HcWideUnsigned)numerator : (HcWideUnsigned)numerator;
    HcWideUnsigned divisor = (HcWideUnsigned)denominator;
    int exponent = hc_leading_bit(remainder) - hc_leading_bit(divisor);
    HcWideUnsigned high = divisor; /* divisor scaled so that remainder / high lies in [1/2, 2) */
    int shift = 0;                 /* remainder is scaled by 2^shift where the divisor cannot be */
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

static double ratio(HcWide numerator, const HcDivisor *by) {
    return by->scaled == 0 && numerator != 0 ? long_ratio(numerator, by->value) : hc_quotient(numerator, by);
}

double hc_wide_ratio(HcWide numerator, HcWide denominator) {
    HcDivisor by = hc_divisor_of(denominator);
    return ratio(numerator, &by);
}

/* a * b, where both mostly are 64-bit integers. */
static inline HcWide product_of(HcWide a, HcWide b) {
    return a == (int64_t)a && b == (int64_t)b ? (HcWide)(int64_t)a * (int64_t)b : a * b;
}

/* Rows of a covariance that a thread takes at a time. */
enum { ROWS = 8 };

typedef struct Exact {
    const HcMoments *moments;
    const HcDivisor *by;
    double *covariance;
} Exact;

/* n*Sxy - Sx*Sy over the denominator, of the upper triangle of some rows. */
static void exact_rows(void *user, int64_t item, int32_t thread) {
    const Exact *exact = user;
    const HcMoments *moments = exact->moments;
    size_t n = (size_t)moments->bands;
    (void)thread;
    for (size_t b = (size_t)item * ROWS; b < ((size_t)item + 1) * ROWS && b < n; b++) {
        const HcWide *products = moments->product + b * n;
        for (size_t c = b; c < n; c++) {
            HcWide numerator =
                product_of(moments->count, products[c]) - product_of(moments->sum[b], moments->sum[c]);
            exact->covariance[b * n + c] = ratio(numerator, exact->by);
        }
    }
}

/* Whether count times a product, and a sum squared, surely fit 126 bits. */
static bool fits_wide(const HcMoments *moments) {
    size_t n = (size_t)moments->bands;
    HcWideUnsigned sums = 0; /* their bits, and those of the magnitudes of products */
    HcWideUnsigned products = 0;
    for (size_t b = 0; b < n && moments->far_product == NULL; b++) {
        sums |= (HcWideUnsigned)(moments->sum[b] ^ moments->sum[b] >> 127);
        for (size_t c = b; c < n; c++) {
            HcWide product = moments->product[b * n + c];
            products |= (HcWideUnsigned)(product ^ product >> 127);
        }
    }
    return moments->far_product == NULL && 2 * hc_leading_bit(sums | 1) < 123 &&
           hc_leading_bit(products | 1) + hc_leading_bit((HcWideUnsigned)moments->count) < 123;
}

/* As exact_covariance, where numbers are too long for it. */
static void long_covariance(const HcMoments *moments, HcWide denominator, double *covariance) {
    size_t n = (size_t)moments->bands;
    HcLong count = hc_long_of_wide(moments->count);
    for (size_t b = 0; b < n; b++) {
        HcLong sum_b = hc_moments_sum(moments, b);
        for (size_t c = b; c < n; c++) {
            HcLong product = hc_moments_product(moments, b, c);
            HcLong sum_c = hc_moments_sum(moments, c);
            HcLong means = hc_long_multiply(&sum_b, &sum_c);
            product = hc_long_multiply(&count, &product);
            product = hc_long_subtract(&product, &means);
            covariance[b * n + c] = hc_long_ratio(&product, denominator, 0);
        }
    }
}

/* Sums of v = (x - center) / u -> the means and covariances of x. */
static void off_grid(const HcMoments *moments, double *mean, double *covariance) {
    size_t n = (size_t)moments->bands;
    for (size_t b = 0; b < n; b++) {
        if (mean != NULL) {
            mean[b] = ldexp(mean[b], moments->exponent[b]) + moments->center[b];
        }
        for (size_t c = b; c < n; c++) {
            covariance[b * n + c] = ldexp(covariance[b * n + c], moments->exponent[b] + moments->exponent[c]);
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

HcStatus hc_moments_covariance(const HcMoments *moments, HcCompute *compute, double variance,
                               const char *what, double *mean, double *covariance, HcError *err) {
    size_t n = (size_t)moments->bands;
    if (moments->count < 2) {
        return hc_fail(err, HC_E_NUMERIC, "%lld valid pixel%s in %s: a covariance needs at least 2",
                       (long long)moments->count, moments->count == 1 ? "" : "s", what);
    }
    int32_t whole = hc_whole_variance(variance);
    HcWide count = moments->count;
    HcDivisor pixels = hc_divisor_of(count);
    HcDivisor denominator = hc_divisor_of(count * (count - 1) * whole);
    bool ready = moments->quotient != NULL && moments->divided == whole;
    bool fits = ready || fits_wide(moments);
    for (size_t b = 0; b < n && mean != NULL; b++) {
        HcLong sum = fits ? (HcLong){{0}} : hc_moments_sum(moments, b);
        mean[b] = fits ? ratio(moments->sum[b], &pixels) : hc_long_ratio(&sum, count, 0);
    }
    if (ready) {
        memcpy(covariance, moments->quotient, n * n * sizeof *covariance);
    } else if (fits) {
        Exact exact = {moments, &denominator, covariance};
        hc_share(compute, ((int64_t)n + ROWS - 1) / ROWS, exact_rows, &exact);
    } else {
        long_covariance(moments, denominator.value, covariance);
    }
    if (moments->center != NULL) {
        off_grid(moments, mean, covariance);
    }
    for (size_t b = 0; b < n && whole != variance; b++) {
        for (size_t c = b; c < n; c++) {
            covariance[b * n + c] /= variance;
        }
    }
    mirror(covariance, n);
    return HC_OK;
}
