/* Arithmetic of formulas: what both backends compute alike. log and exp are those of Sun's fdlibm (1993), by
 * additions, products and quotients alone, since the libraries of two processors differ in the last bit.
 * Their error is below 1 unit in the last place of float64; that of a power is about its exponent times
 * the logarithm of its base, in such units. */
#ifndef HC_CORE_SOLVER_FORMULA_H
#define HC_CORE_SOLVER_FORMULA_H

#include "core/operation/spectrum/formula.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Values that a step takes off the stack. */
HC_ANYWHERE int32_t hc_formula_takes(int32_t code) {
    switch (code) {
#define HC_AS_TAKES(name, takes, result)                                                                     \
    case HC_FORMULA_##name:                                                                                  \
        return takes;
        HC_FORMULA_LIST(HC_AS_TAKES)
#undef HC_AS_TAKES
    default:
        return code == HC_FORMULA_STORE;
    }
}

/* Values on the stack after a step; -1: it cannot be done with `depth` of them. */
HC_ANYWHERE int32_t hc_formula_depth(const HcFormulaStep *step, int32_t depth, int32_t inputs,
                                     int32_t outputs) {
    int32_t code = step->code;
    int32_t left = depth - hc_formula_takes(code);
    int32_t places = code == HC_FORMULA_INPUT ? inputs : code == HC_FORMULA_STORE ? outputs : INT32_MAX;
    bool fits = code >= 0 && code < HC_FORMULA_CODES && left >= 0 && step->at >= 0 && step->at < places;
    left += code != HC_FORMULA_STORE;
    return fits && left <= HC_FORMULA_DEPTH ? left : -1;
}

HC_ANYWHERE double hc_formula_two_to(int32_t power) {
    uint64_t bits = (uint64_t)(power + 1023) << 52; /* a normal number */
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The natural logarithm; NaN of 0 and below. */
HC_ANYWHERE double hc_formula_log(double x) {
    if (!(x > 0) || x > DBL_MAX) {
        return x > 0 ? x : NAN;
    }
    int32_t power = 0;
    if (x < DBL_MIN) {
        x *= 0x1p54;
        power = -54;
    }
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    power += (int32_t)(bits >> 52) - 1023;
    bits = (bits & 0xFFFFFFFFFFFFFULL) | 0x3FF0000000000000ULL;
    double m; /* 0.707 to 1.414 */
    memcpy(&m, &bits, sizeof m);
    if (m > 1.41421356237309504880) {
        m *= 0.5;
        power++;
    }
    double f = m - 1;
    double s = f / (2 + f);
    double z = s * s;
    double r = 1.818357216161805012e-01 + z * (1.531383769920937332e-01 + z * 1.479819860511658591e-01);
    r = 6.666666666666735130e-01 +
        z * (3.999999999940941908e-01 +
             z * (2.857142874366239149e-01 + z * (2.222219843214978396e-01 + z * r)));
    r *= z;
    double half = 0.5 * f * f;
    double k = (double)power;
    return k * 6.93147180369123816490e-01 - ((half - (s * (half + r) + k * 1.90821492927058770002e-10)) - f);
}

HC_ANYWHERE double hc_formula_exp(double x) {
    if (!(x > -746 && x < 710)) {
        return x >= 710 ? INFINITY : x <= -746 ? 0 : x;
    }
    int32_t power = (int32_t)(x * 1.44269504088896338700 + (x < 0 ? -0.5 : 0.5));
    double high = x - (double)power * 6.93147180369123816490e-01;
    double low = (double)power * 1.90821492927058770002e-10;
    double r = high - low;
    double t = r * r;
    double c = -1.65339022054652515390e-06 + t * 4.13813679705723846039e-08;
    c = r - t * (1.66666666666666019037e-01 +
                 t * (-2.77777777770155933842e-03 + t * (6.61375632143793436117e-05 + t * c)));
    double value = 1 - ((low - (r * c) / (2 - c)) - high);
    int32_t half = power / 2;
    return value * hc_formula_two_to(half) * hc_formula_two_to(power - half);
}

/* NaN of a negative base with an exponent that is no integer, and of 0 with a negative one. */
HC_ANYWHERE double hc_formula_power(double base, double exponent) {
    if (exponent == 0 || base == 0 || base != base || exponent != exponent) {
        return base != base || exponent != exponent ? NAN : exponent == 0 ? 1 : exponent > 0 ? 0 : NAN;
    }
    double half = exponent * 0.5;
    bool is_whole = floor(exponent) == exponent;
    double size = hc_formula_exp(exponent * hc_formula_log(fabs(base)));
    bool turns = base < 0 && floor(half) != half;
    return base < 0 && !is_whole ? NAN : turns ? -size : size;
}

HC_ANYWHERE double hc_formula_unless(bool missing, double value) {
    return missing ? NAN : value;
}

/* Missing where a or b is. */
HC_ANYWHERE double hc_formula_both(double a, double b, double value) {
    return hc_formula_unless(a != a, hc_formula_unless(b != b, value));
}

/* Of a step with operands. */
HC_ANYWHERE double hc_formula_result(int32_t code, double a, double b, double c) {
    switch (code) {
#define HC_AS_RESULT(name, takes, result)                                                                    \
    case HC_FORMULA_##name:                                                                                  \
        return result;
        HC_FORMULA_LIST(HC_AS_RESULT)
#undef HC_AS_RESULT
    default:
        return NAN;
    }
}

/* Rounds a result; *missing: it is not finite. */
HC_ANYWHERE float hc_formula_round(double value, bool *missing) {
    float rounded = (float)value;
    *missing = !(rounded >= -FLT_MAX && rounded <= FLT_MAX);
    return *missing ? NAN : rounded;
}

#endif
