/* Ticks: round numbers along an axis, and how they are written. */
#ifndef HC_FIGURE_TICKS_H
#define HC_FIGURE_TICKS_H

#include "core/status.h"

#include <stdint.h>

enum { HC_TICKS_MAX = 16, HC_TICK_BYTES = 32 };

typedef struct HcTicks {
    double at[HC_TICKS_MAX];
    char text[HC_TICKS_MAX][HC_TICK_BYTES]; /* UTF-8, with a true minus sign */
    int32_t count;
} HcTicks;

/* About `want` multiples of 1, 2 or 5 times a power of ten within low to high. Where no multiple lies within
 * (low = high), the ticks are the ends. */
void hc_ticks_make(HcTicks *ticks, double low, double high, int32_t want);

/* The largest 1, 2 or 5 times a power of ten up to `value` (> 0). */
double hc_ticks_round(double value);

/* A number with at most `digits` digits: "0.125", "1.2e-07". */
void hc_ticks_number(char text[HC_TICK_BYTES], double value, int digits);

#endif
