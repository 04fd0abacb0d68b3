/* Arithmetic of 704-bit integers: sign, shift, quotient, text. Only covariances of scenes with far values and
 * files of statistics come here, so that plain loops over 64-bit words are fast enough. */
#include "core/sums/long.h"
#include "core/sums/moments.h"

#include <math.h>
#include <string.h>

__extension__ typedef unsigned __int128 WideUnsigned;

HcLong hc_long_of_wide(HcWide value) {
    HcLong out;
    memset(&out, value < 0 ? 0xFF : 0, sizeof out);
    out.word[0] = (uint64_t)value;
    out.word[1] = (uint64_t)(value >> 64);
    return out;
}

HcLong hc_long_of_double(double value) {
    int exponent = 0;
    double part = frexp(value, &exponent);
    if (exponent <= 62) {
        return hc_long_of_wide((HcWide)value);
    }
    HcLong out = hc_long_of_wide((HcWide)ldexp(part, 62));
    return hc_long_shift(&out, exponent - 62);
}

bool hc_long_negative(const HcLong *value) {
    return value->word[HC_LONG_WORDS - 1] >> 63 != 0;
}

HcLong hc_long_add(const HcLong *a, const HcLong *b) {
    HcLong out;
    WideUnsigned carry = 0;
    for (int k = 0; k < HC_LONG_WORDS; k++) {
        carry += (WideUnsigned)a->word[k] + b->word[k];
        out.word[k] = (uint64_t)carry;
        carry >>= 64;
    }
    return out;
}

static HcLong negated(const HcLong *value) {
    HcLong out;
    uint64_t carry = 1;
    for (int k = 0; k < HC_LONG_WORDS; k++) {
        out.word[k] = ~value->word[k] + carry;
        carry = carry != 0 && out.word[k] == 0;
    }
    return out;
}

HcLong hc_long_subtract(const HcLong *a, const HcLong *b) {
    HcLong minus = negated(b);
    return hc_long_add(a, &minus);
}

HcLong hc_long_multiply(const HcLong *a, const HcLong *b) {
    HcLong out = {{0}};
    for (int i = 0; i < HC_LONG_WORDS; i++) {
        WideUnsigned carry = 0;
        for (int k = 0; i + k < HC_LONG_WORDS; k++) {
            carry += (WideUnsigned)a->word[i] * b->word[k] + out.word[i + k];
            out.word[i + k] = (uint64_t)carry;
            carry >>= 64;
        }
    }
    return out;
}

HcLong hc_long_shift(const HcLong *value, int32_t bits) {
    HcLong out = {{0}};
    int32_t words = bits / 64;
    int32_t rest = bits % 64;
    for (int32_t k = words; k < HC_LONG_WORDS; k++) {
        out.word[k] = value->word[k - words] << rest;
        if (rest > 0 && k > words) {
            out.word[k] |= value->word[k - words - 1] >> (64 - rest);
        }
    }
    return out;
}

/* Bits of a number that is not negative. */
static int32_t length_of(const HcLong *value) {
    for (int32_t k = HC_LONG_WORDS - 1; k >= 0; k--) {
        if (value->word[k] != 0) {
            return 64 * k + 64 - __builtin_clzll(value->word[k]);
        }
    }
    return 0;
}

/* The number shifted down; its last bit says too whether anything fell off. */
static HcWide shifted_down(const HcLong *value, int32_t bits) {
    HcWide out = 0;
    bool rest = false;
    int32_t words = bits / 64;
    int32_t part = bits % 64;
    for (int32_t k = 0; k < words; k++) {
        rest = rest || value->word[k] != 0;
    }
    rest = rest || (value->word[words] & (((uint64_t)1 << part) - 1)) != 0;
    for (int32_t k = 2; k >= 0; k--) {
        uint64_t word = words + k < HC_LONG_WORDS ? value->word[words + k] : 0;
        int32_t at = 64 * k - part;
        out |= at >= 128 ? 0 : at >= 0 ? (HcWide)word << at : (HcWide)(word >> -at);
    }
    return out | (rest ? 1 : 0);
}

/* A quotient of at least 60 bits and a mark for what is left decide the rounding, as in hc_wide_ratio. */
double hc_long_ratio(const HcLong *numerator, HcWide denominator, int32_t exponent) {
    bool negative = hc_long_negative(numerator);
    HcLong size = negative ? negated(numerator) : *numerator;
    int32_t over = length_of(&size) - 126;
    HcWide top = shifted_down(&size, over > 0 ? over : 0);
    double value = hc_wide_ratio(top, denominator);
    value = ldexp(value, (over > 0 ? over : 0) + exponent);
    return negative ? -value : value;
}

/* Divides a number that is not negative by 10^18; returns what is left. */
static uint64_t divide_down(HcLong *value) {
    const uint64_t by = 1000000000000000000;
    WideUnsigned rest = 0;
    for (int k = HC_LONG_WORDS - 1; k >= 0; k--) {
        rest = rest << 64 | value->word[k];
        value->word[k] = (uint64_t)(rest / by);
        rest %= by;
    }
    return (uint64_t)rest;
}

char *hc_long_print(const HcLong *value, char *to) {
    enum { GROUP = 18 };
    char digits[HC_LONG_TEXT];
    int32_t count = 0;
    bool negative = hc_long_negative(value);
    HcLong rest = negative ? negated(value) : *value;
    do {
        uint64_t group = divide_down(&rest);
        for (int k = 0; k < GROUP && (group != 0 || length_of(&rest) > 0 || count == 0); k++) {
            digits[count++] = (char)('0' + group % 10);
            group /= 10;
        }
    } while (length_of(&rest) > 0);
    if (negative) {
        *to++ = '-';
    }
    while (count > 0) {
        *to++ = digits[--count];
    }
    return to;
}

bool hc_long_parse(const char **text, int32_t digits, HcLong *out) {
    const char *at = *text + strspn(*text, " ");
    bool negative = *at == '-';
    const char *first = at += negative;
    HcLong value = {{0}};
    HcLong ten = hc_long_of_wide(10);
    for (; *at >= '0' && *at <= '9' && at - first < digits; at++) {
        HcLong digit = hc_long_of_wide(*at - '0');
        value = hc_long_multiply(&value, &ten);
        value = hc_long_add(&value, &digit);
    }
    bool whole = at > first && (*at == ' ' || *at == '\0');
    *out = negative ? negated(&value) : value;
    *text = at;
    return whole;
}

bool hc_long_to_wide(const HcLong *value, HcWide *out) {
    *out = (HcWide)((WideUnsigned)value->word[1] << 64 | value->word[0]);
    HcLong again = hc_long_of_wide(*out);
    return memcmp(&again, value, sizeof again) == 0;
}

HcLong hc_long_of_digits(const int64_t digit[HC_LONG_DIGITS]) {
    HcLong out = {{0}};
    for (int32_t k = 0; k < HC_LONG_DIGITS; k++) {
        HcLong part = hc_long_of_wide(digit[k]);
        part = hc_long_shift(&part, 32 * k);
        out = hc_long_add(&out, &part);
    }
    return out;
}

void hc_long_to_digits(const HcLong *value, int64_t digit[HC_LONG_DIGITS]) {
    for (int32_t k = 0; k < HC_LONG_DIGITS - 1; k++) {
        digit[k] = (int64_t)(value->word[k / 2] >> 32 * (k % 2) & 0xFFFFFFFF);
    }
    digit[HC_LONG_DIGITS - 1] =
        (int64_t)(value->word[(HC_LONG_DIGITS - 1) / 2] >> 32 | value->word[HC_LONG_DIGITS / 2] << 32);
}
