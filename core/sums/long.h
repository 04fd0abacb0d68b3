/* Integers of 704 bits: exact sums of products of values of any size that float32 can hold.
 *
 * Sums of most scenes fit 128 bits (HcWide). A value far from the others of its band does not: on the grid of
 * the band (core/sums/grid.h) float32 needs up to 285 bits, products 570, and 2^40 pixels of them, times
 * their count, 650. */
#ifndef HC_CORE_LONG_H
#define HC_CORE_LONG_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A 128-bit integer: exact sums of products of scene values. */
__extension__ typedef __int128 HcWide;

enum { HC_LONG_WORDS = 11 };

/* Two's complement, the lowest word first. Overflow is lost. */
typedef struct HcLong {
    uint64_t word[HC_LONG_WORDS];
} HcLong;

HcLong hc_long_of_wide(HcWide value);
/* A whole number. */
HcLong hc_long_of_double(double value);
HcLong hc_long_add(const HcLong *a, const HcLong *b);
HcLong hc_long_subtract(const HcLong *a, const HcLong *b);
HcLong hc_long_multiply(const HcLong *a, const HcLong *b);
/* value * 2^bits, bits >= 0. */
HcLong hc_long_shift(const HcLong *value, int32_t bits);
bool hc_long_negative(const HcLong *value);

/* numerator / denominator (> 0) * 2^exponent, rounded once to the nearest double, ties to even. */
double hc_long_ratio(const HcLong *numerator, HcWide denominator, int32_t exponent);

enum { HC_LONG_TEXT = 216 }; /* characters of the longest decimal number, its sign and the final 0 */

/* Decimal digits after `to`; returns the end, which is not marked by a 0. */
char *hc_long_print(const HcLong *value, char *to);
/* Reads a number as hc_long_print writes it, of at most `digits` digits (up to 190), and moves *text after
 * it. False where *text holds no such number. */
bool hc_long_parse(const char **text, int32_t digits, HcLong *out);

/* Converts to 128 bits; false where the value does not fit. */
bool hc_long_to_wide(const HcLong *value, HcWide *out);

/* ---- digits ----
 *
 * A sum in digits, digit k of weight 2^(32 k). Adding in any order needs no carries. */

enum { HC_LONG_DIGITS = 20 };

HcLong hc_long_of_digits(const int64_t digit[HC_LONG_DIGITS]);
/* Digits of 0 to 2^32 - 1, the last one with the sign. */
void hc_long_to_digits(const HcLong *value, int64_t digit[HC_LONG_DIGITS]);

#ifdef __cplusplus
}
#endif
#endif
