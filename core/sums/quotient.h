/* Quotients of 128-bit integers, rounded once: what host and devices make covariances with. */
#ifndef HC_CORE_SUMS_QUOTIENT_H
#define HC_CORE_SUMS_QUOTIENT_H

#include "core/sums/long.h"
#include "core/status.h"

#include <string.h>

__extension__ typedef unsigned __int128 HcWideUnsigned;

HC_ANYWHERE int hc_zeros_above(uint64_t value) {
#ifdef __CUDA_ARCH__
    return __clzll((long long)value);
#else
    return __builtin_clzll(value);
#endif
}

/* Of a value other than 0. */
HC_ANYWHERE int hc_leading_bit(HcWideUnsigned value) {
    uint64_t high = (uint64_t)(value >> 64);
    return high != 0 ? 127 - hc_zeros_above(high) : 63 - hc_zeros_above((uint64_t)value);
}

/* A denominator below 2^64, prepared for many divisions by it. */
typedef struct HcDivisor {
    HcWide value;
    uint64_t scaled;     /* value 2^shift: its leading bit is set. 0: too large, divide digit by digit */
    uint64_t reciprocal; /* floor((2^128 - 1) / scaled) - 2^64 */
    int shift;
} HcDivisor;

HC_ANYWHERE HcDivisor hc_divisor_of(HcWide value) {
    HcDivisor out = {value, 0, 0, 0};
    if (value >> 64 == 0) {
        out.shift = hc_zeros_above((uint64_t)value);
        out.scaled = (uint64_t)value << out.shift;
        out.reciprocal = (uint64_t)(~(HcWideUnsigned)0 / out.scaled);
    }
    return out;
}

/* value * 2^exponent for an exponent within +-1000: exact. */
HC_ANYWHERE double hc_scaled_by(double value, int exponent) {
    uint64_t bits = (uint64_t)(1023 + exponent) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return value * power;
}

/* The numerator is scaled to 127 bits, its quotient by a 64-bit divisor then has 63 or 64: more than enough
 * for one rounding, together with whether anything is left. The quotient comes from the reciprocal (Moeller
 * and Granlund 2011, algorithm 4). */
HC_ANYWHERE double hc_quotient(HcWide numerator, const HcDivisor *by) {
    if (numerator == 0) {
        return 0;
    }
    bool negative = numerator < 0;
    HcWideUnsigned size = negative ? -(HcWideUnsigned)numerator : (HcWideUnsigned)numerator;
    int shift = 126 - hc_leading_bit(size);
    size <<= shift;
    uint64_t high = (uint64_t)(size >> 64); /* below 2^63, so below the divisor: the quotient fits */
    uint64_t low = (uint64_t)size;
    HcWideUnsigned guess = (HcWideUnsigned)by->reciprocal * high + size;
    uint64_t quotient = (uint64_t)(guess >> 64) + 1;
    uint64_t rest = low - quotient * by->scaled;
    uint64_t over = -(uint64_t)(rest > (uint64_t)guess); /* as often as not: no branch */
    quotient += over;
    rest += over & by->scaled;
    if (rest >= by->scaled) {
        quotient++;
        rest -= by->scaled;
    }
    /* One bit less, for the sign; what falls off or is left lies far below the half that decides. */
    int64_t odd = (int64_t)(quotient >> 1 | (quotient & 1) | (rest != 0));
    return hc_scaled_by((double)(negative ? -odd : odd), 1 + by->shift - shift);
}

#endif
