/* Colours of classes by what their names mean: water blue, vegetation green, and others that people with any
 * sight of colours tell apart. */
#ifndef HC_FIGURE_CLASS_COLOURS_H
#define HC_FIGURE_CLASS_COLOURS_H

#include "core/status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* rgb[count][3] of name[count]. The same names always get the same colours. */
void hc_class_colours(char *const *name, int32_t count, uint8_t (*rgb)[3]);

/* The same for lines on paper: pale ones are darkened. */
void hc_line_colours(char *const *name, int32_t count, uint8_t (*rgb)[3]);

#ifdef __cplusplus
}
#endif
#endif
