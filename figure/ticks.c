#include "figure/ticks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

double hc_ticks_round(double value) {
    double power = pow(10, floor(log10(value)));
    double digit = value / power * (1 + 1e-12);
    return (digit >= 5 ? 5 : digit >= 2 ? 2 : 1) * power;
}

/* A true minus sign in place of the hyphen of a leading sign. */
static void set_minus(char text[HC_TICK_BYTES]) {
    if (text[0] == '-') {
        memmove(text + 3, text + 1, strlen(text + 1) + 1);
        memcpy(text, "\xe2\x88\x92", 3);
    }
}

void hc_ticks_number(char text[HC_TICK_BYTES], double value, int digits) {
    snprintf(text, HC_TICK_BYTES - 3, "%.*g", digits, value + 0.0);
    set_minus(text);
}

/* With as many decimals as the step has. */
static void write_tick(char text[HC_TICK_BYTES], double value, double step) {
    double largest = fabs(value);
    if (largest >= 1e6 || step < 1e-4) {
        hc_ticks_number(text, fabs(value) < step / 2 ? 0 : value, 4);
        return;
    }
    int decimals = step >= 1 ? 0 : (int)ceil(-log10(step) - 1e-9);
    snprintf(text, HC_TICK_BYTES - 3, "%.*f", decimals, fabs(value) < step / 2 ? 0 : value);
    set_minus(text);
}

static void add(HcTicks *ticks, double at) {
    hc_ticks_number(ticks->text[ticks->count], at, 4);
    ticks->at[ticks->count++] = at;
}

void hc_ticks_make(HcTicks *ticks, double low, double high, int32_t want) {
    *ticks = (HcTicks){0};
    want = want < 1 ? 1 : want > HC_TICKS_MAX / 2 ? HC_TICKS_MAX / 2 : want;
    double span = high - low;
    if (!(span > 1e-12 * fmax(fabs(low), fabs(high))) || !isfinite(span)) {
        if (isfinite(low)) {
            add(ticks, low);
        }
        return;
    }
    /* The step above span / want: at most `want` + 1 ticks. */
    double step = hc_ticks_round(span / want);
    if (step < span / want * (1 - 1e-9)) {
        double digit = step / pow(10, floor(log10(step) + 1e-9));
        step *= digit > 1.5 && digit < 2.5 ? 2.5 : 2;
    }
    for (double n = ceil(low / step - 1e-6); n * step <= high + 1e-6 * step && ticks->count < HC_TICKS_MAX;
         n++) {
        write_tick(ticks->text[ticks->count], n * step, step);
        ticks->at[ticks->count++] = n * step;
    }
    if (ticks->count < 2) {
        ticks->count = 0;
        add(ticks, low);
        add(ticks, high);
    }
}
