/* Ramp: a perceptually uniform colour map. */
#ifndef HC_FIGURE_RAMP_H
#define HC_FIGURE_RAMP_H

#include "core/status.h"

#include <stdint.h>

/* vik is diverging: its middle is pale. */
typedef enum HcRamp { HC_RAMP_VIRIDIS, HC_RAMP_GREY, HC_RAMP_BATLOW, HC_RAMP_VIK } HcRamp;

/* "viridis", "grey", "batlow", "vik", NULL: as HcRamp. */
extern const char *const hc_ramp_words[];

/* The colour at `at` (0 to 1, cut to that; NaN = 0). */
void hc_ramp_colour(HcRamp ramp, double at, uint8_t rgb[3]);

#endif
