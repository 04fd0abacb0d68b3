/* A plot of spectra over their wavelengths, each in a colour of its own. */
#include "pipeline/picture/image.h"

#include <math.h>
#include <stdio.h>

static const uint8_t dark[3] = {38, 42, 48};
static const uint8_t grid_colour[3] = {226, 229, 233};
static const uint8_t axis_colour[3] = {120, 126, 134};

enum { WIDTH = 900, HEIGHT = 500, LEFT = 108, TOP = 56, RIGHT = 660, BOTTOM = 430, MOST_NAMES = 30 };

typedef struct Range {
    double low, high;
} Range;

static void widen(Range *range, double value) {
    if (isfinite(value)) {
        range->low = fmin(range->low, value);
        range->high = fmax(range->high, value);
    }
}

/* A range that holds something, with some air. */
static void settle(Range *range, double air) {
    if (!(range->low <= range->high)) {
        *range = (Range){0, 1};
    }
    double span = range->high - range->low;
    span = span > 0 ? span : fabs(range->high) > 0 ? fabs(range->high) : 1;
    range->low -= air * span;
    range->high += air * span;
}

static double along(const Range *range, double value) {
    return (value - range->low) / (range->high - range->low);
}

/* 1, 2 or 5 times a power of ten, so that at most ten fit. */
static double step_of(const Range *range) {
    double step = pow(10, floor(log10((range->high - range->low) / 10)));
    double count = (range->high - range->low) / step;
    return count <= 10 ? step : count <= 20 ? 2 * step : count <= 50 ? 5 * step : 10 * step;
}

static void draw_axes(HcImage *image, const Range *x, const Range *y) {
    char text[32];
    double step = step_of(x);
    for (double at = ceil(x->low / step) * step; at <= x->high; at += step) {
        int32_t place = (int32_t)lround(LEFT + along(x, at) * (RIGHT - LEFT));
        snprintf(text, sizeof text, "%g", fabs(at) < step / 2 ? 0 : at);
        hc_image_rectangle(image, place, TOP, 1, BOTTOM - TOP, grid_colour);
        hc_image_text(image, place - hc_image_text_width(2, text) / 2, BOTTOM + 10, 2, dark, text);
    }
    step = step_of(y);
    for (double at = ceil(y->low / step) * step; at <= y->high; at += step) {
        int32_t place = (int32_t)lround(BOTTOM - along(y, at) * (BOTTOM - TOP));
        snprintf(text, sizeof text, "%g", fabs(at) < step / 2 ? 0 : at);
        hc_image_rectangle(image, LEFT, place, RIGHT - LEFT, 1, grid_colour);
        hc_image_text(image, LEFT - 10 - hc_image_text_width(2, text), place - hc_image_text_height(2) / 2, 2,
                      dark, text);
    }
}

static void draw_spectrum(HcImage *image, const HcSpectrumPlot *plot, int32_t number, const Range *x,
                          const Range *y, const uint8_t rgb[3]) {
    double last_x = 0;
    double last_y = 0;
    bool joined = false;
    for (int32_t b = 0; b < plot->bands; b++) {
        double value = (double)plot->value[(size_t)number * (size_t)plot->bands + (size_t)b];
        double at = plot->wavelength != NULL ? plot->wavelength[b] : b + 1;
        double to_x = LEFT + along(x, at) * (RIGHT - LEFT);
        bool shown = isfinite(value);
        double to_y = shown ? BOTTOM - along(y, value) * (BOTTOM - TOP) : 0;
        if (shown && joined) {
            hc_image_stroke(image, last_x, last_y, to_x, to_y, 2, rgb);
        } else if (shown) {
            hc_image_stroke(image, to_x, to_y, to_x, to_y, 3, rgb);
        }
        joined = shown;
        last_x = to_x;
        last_y = to_y;
    }
}

static void draw_names(HcImage *image, const HcSpectrumPlot *plot, const char *title) {
    HcLegendEntry entry[MOST_NAMES];
    int32_t count = plot->count < MOST_NAMES ? plot->count : MOST_NAMES;
    for (int32_t i = 0; i < count; i++) {
        entry[i].name = plot->name[i];
        hc_classes_standard_colour(i + 1, entry[i].rgb);
    }
    hc_image_legend(image, RIGHT + 14, TOP, 1, entry, count);
    hc_image_text(image, (LEFT + RIGHT - hc_image_text_width(3, title)) / 2, 20, 3, dark, title);
    const char *label = plot->wavelength != NULL ? "wavelength [nm]" : "band";
    hc_image_text(image, (LEFT + RIGHT - hc_image_text_width(2, label)) / 2, HEIGHT - 30, 2, dark, label);
}

HcStatus hc_image_spectra(HcImage *image, const HcSpectrumPlot *plot, const char *title, HcError *err) {
    Range x = {INFINITY, -INFINITY};
    Range y = {INFINITY, -INFINITY};
    HC_OR_RETURN(hc_image_init(image, WIDTH, HEIGHT, err));
    for (int32_t b = 0; b < plot->bands; b++) {
        widen(&x, plot->wavelength != NULL ? plot->wavelength[b] : b + 1);
    }
    for (size_t i = 0; i < (size_t)plot->count * (size_t)plot->bands; i++) {
        widen(&y, (double)plot->value[i]);
    }
    settle(&x, 0.02);
    settle(&y, 0.05);
    draw_axes(image, &x, &y);
    for (int32_t i = 0; i < plot->count; i++) {
        uint8_t rgb[3];
        hc_classes_standard_colour(i + 1, rgb);
        draw_spectrum(image, plot, i, &x, &y, rgb);
    }
    hc_image_frame(image, LEFT, TOP, RIGHT - LEFT + 1, BOTTOM - TOP + 1, axis_colour);
    draw_names(image, plot, title);
    return HC_OK;
}
