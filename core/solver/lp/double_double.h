/* Numbers of about 32 digits: the unevaluated sum of two float64 numbers. The second is at most half a
 * unit in the last place of the first (Dekker 1971). A proof that rounding must not decide is computed in
 * them. Nothing here may be contracted or reordered. */
#ifndef HC_CORE_SOLVER_DOUBLE_DOUBLE_H
#define HC_CORE_SOLVER_DOUBLE_DOUBLE_H

#include <math.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct HcDouble2 {
    double high, low;
} HcDouble2;

/* a + b without an error (Knuth). */
static inline HcDouble2 hc_double2_sum(double a, double b) {
    double sum = a + b;
    double part = sum - a;
    return (HcDouble2){sum, (a - (sum - part)) + (b - part)};
}

/* a b without an error, unless it underflows. */
static inline HcDouble2 hc_double2_product(double a, double b) {
    double product = a * b;
    return (HcDouble2){product, fma(a, b, -product)};
}

static inline HcDouble2 hc_double2_negative(HcDouble2 a) {
    return (HcDouble2){-a.high, -a.low};
}

/* These are right to some 2^-104 of the result. */
static inline HcDouble2 hc_double2_add(HcDouble2 a, HcDouble2 b) {
    HcDouble2 high = hc_double2_sum(a.high, b.high);
    HcDouble2 low = hc_double2_sum(a.low, b.low);
    HcDouble2 sum = hc_double2_sum(high.high, high.low + low.high);
    return hc_double2_sum(sum.high, sum.low + low.low);
}

static inline HcDouble2 hc_double2_multiply(HcDouble2 a, HcDouble2 b) {
    HcDouble2 product = hc_double2_product(a.high, b.high);
    return hc_double2_sum(product.high, product.low + (a.high * b.low + a.low * b.high));
}

static inline HcDouble2 hc_double2_times(HcDouble2 a, double b) {
    HcDouble2 product = hc_double2_product(a.high, b);
    return hc_double2_sum(product.high, product.low + a.low * b);
}

static inline HcDouble2 hc_double2_divide(HcDouble2 a, HcDouble2 b) {
    double first = a.high / b.high;
    HcDouble2 rest = hc_double2_add(a, hc_double2_times(b, -first));
    double second = rest.high / b.high;
    rest = hc_double2_add(rest, hc_double2_times(b, -second));
    HcDouble2 quotient = hc_double2_sum(first, second);
    return hc_double2_add(quotient, (HcDouble2){rest.high / b.high, 0});
}

#ifdef __cplusplus
}
#endif
#endif
