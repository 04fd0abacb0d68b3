#include "pipeline/picture/image.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t white[3] = {255, 255, 255};
static const uint8_t dark[3] = {38, 42, 48};
static const uint8_t grid_colour[3] = {226, 229, 233};
static const uint8_t faint_colour[3] = {242, 244, 246};
static const uint8_t axis_colour[3] = {120, 126, 134};
static const uint8_t line_colour[3] = {31, 104, 142};
static const uint8_t noise_colour[3] = {196, 78, 60};

/* The area of a plot and what its edges mean: x counts from 1, y is a decadic logarithm. */
typedef struct Axes {
    int32_t left, top, right, bottom; /* pixels, right and bottom within */
    double last_x, low, high;
} Axes;

static double at_x(const Axes *axes, double number) {
    double margin = 12; /* so that the first and the last point stand clear of the frame */
    double part = axes->last_x > 1 ? (number - 1) / (axes->last_x - 1) : 0.5;
    return axes->left + margin + part * (axes->right - axes->left - 2 * margin);
}

static double at_y(const Axes *axes, double logarithm) {
    double part = (logarithm - axes->low) / (axes->high - axes->low);
    return axes->bottom - part * (axes->bottom - axes->top);
}

/* The range of the positive values, at most 16 decades below the highest, with some air. */
static void settle_range(Axes *axes, const double *values, int32_t count) {
    double low = INFINITY, high = -INFINITY;
    for (int32_t i = 0; i < count; i++) {
        if (values[i] > 0 && isfinite(values[i])) {
            high = fmax(high, log10(values[i]));
            low = fmin(low, log10(values[i]));
        }
    }
    if (!(low <= high)) {
        low = high = 0;
    }
    low = fmax(low, high - 16);
    double air = fmax(0.06 * (high - low), 0.15);
    axes->low = low - air;
    axes->high = high + air;
}

static void centre(HcImage *image, double x, int32_t y, int32_t scale, const uint8_t rgb[3],
                   const char *text) {
    hc_image_text(image, (int32_t)lround(x) - hc_image_text_width(scale, text) / 2, y, scale, rgb, text);
}

static void draw_y_tick(HcImage *image, const Axes *axes, double value, bool named) {
    int32_t y = (int32_t)lround(at_y(axes, log10(value)));
    if (y <= axes->top || y >= axes->bottom) {
        return;
    }
    hc_image_rectangle(image, axes->left, y, axes->right - axes->left, 1, named ? grid_colour : faint_colour);
    if (!named) {
        return;
    }
    char text[32];
    snprintf(text, sizeof text, "%g", value);
    if (value >= 1e5) {
        snprintf(text, sizeof text, "%.0fe%.0f", value / pow(10, floor(log10(value) + 1e-9)),
                 floor(log10(value) + 1e-9));
    }
    hc_image_rectangle(image, axes->left - 5, y, 5, 1, axis_colour);
    hc_image_text(image, axes->left - 10 - hc_image_text_width(2, text), y - hc_image_text_height(2) / 2, 2,
                  dark, text);
}

/* Decades, and 2 and 5 between them where they are few; more than ten are thinned out. */
static void draw_y_axis(HcImage *image, const Axes *axes) {
    double span = axes->high - axes->low;
    int every = span > 10 ? 2 : 1;
    int first = (int)floor(axes->low), last = (int)ceil(axes->high);
    for (int pass = 0; pass < 2; pass++) { /* the faint lines first: they must not cross the others */
        for (int decade = first; decade <= last; decade++) {
            for (int digit = 1; digit < 10; digit++) {
                bool named = digit == 1 ? decade % every == 0 : span < 1.6 && (digit == 2 || digit == 5);
                if (named == (pass == 1) && (named || span < 6)) {
                    draw_y_tick(image, axes, digit * pow(10, decade), named);
                }
            }
        }
    }
}

static void draw_x_axis(HcImage *image, const Axes *axes) {
    static const int steps[] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000};
    size_t k = 0;
    while (k + 1 < sizeof steps / sizeof *steps && axes->last_x / steps[k] > 12) {
        k++;
    }
    for (int number = steps[k] == 1 ? 1 : 0; number <= axes->last_x; number += steps[k]) {
        char text[16];
        int shown = number == 0 ? 1 : number;
        int32_t x = (int32_t)lround(at_x(axes, shown));
        snprintf(text, sizeof text, "%d", shown);
        hc_image_rectangle(image, x, axes->top, 1, axes->bottom - axes->top, grid_colour);
        hc_image_rectangle(image, x, axes->bottom, 1, 6, axis_colour);
        centre(image, x, axes->bottom + 10, 2, dark, text);
    }
}

/* The noise of an MNF has eigenvalue 1: worth a line where the last values come near it. */
static void draw_noise_line(HcImage *image, const Axes *axes, const double *values, int32_t count) {
    double lowest = INFINITY;
    for (int32_t i = 0; i < count; i++) {
        lowest = values[i] > 0 ? fmin(lowest, values[i]) : lowest;
    }
    if (!(lowest > 0.3 && lowest < 2 && axes->low < 0 && axes->high > 0)) {
        return;
    }
    double y = at_y(axes, 0);
    for (int32_t x = axes->left + 2; x < axes->right - 6; x += 12) {
        hc_image_stroke(image, x, y, x + 5, y, 1.5, noise_colour);
    }
    const char *text = "noise = 1";
    hc_image_text(image, axes->left + 12, (int32_t)y + 8, 2, noise_colour, text);
}

static void draw_values(HcImage *image, const Axes *axes, const double *values, int32_t count) {
    double radius = count <= 40 ? 4 : count <= 120 ? 2.5 : 1.5;
    for (int pass = 0; pass < 2; pass++) { /* the points lie over the line */
        bool joined = false;
        double last_x = 0, last_y = 0;
        for (int32_t i = 0; i < count; i++) {
            bool shown = values[i] > 0 && isfinite(values[i]) && log10(values[i]) >= axes->low;
            double x = at_x(axes, i + 1), y = shown ? at_y(axes, log10(values[i])) : 0;
            if (pass == 0 && shown && joined) {
                hc_image_stroke(image, last_x, last_y, x, y, 2, line_colour);
            } else if (pass == 1 && shown) {
                hc_image_stroke(image, x, y, x, y, 2 * radius + 2, white);
                hc_image_stroke(image, x, y, x, y, 2 * radius, line_colour);
            }
            joined = shown;
            last_x = x;
            last_y = y;
        }
    }
}

static void draw_labels(HcImage *image, const Axes *axes, const char *title, const char *number,
                        const char *value) {
    int32_t middle = (axes->top + axes->bottom + hc_image_text_width(2, value)) / 2;
    if (title != NULL) {
        int32_t scale = hc_image_text_width(3, title) <= image->width - 40 ? 3 : 2;
        centre(image, image->width / 2.0, 28 - hc_image_text_height(scale) / 2, scale, dark, title);
    }
    centre(image, (axes->left + axes->right) / 2.0, image->height - 30, 2, dark, number);
    hc_image_text_up(image, 16, middle, 2, dark, value);
}

/* labels: the title, and those of the two axes. */
static HcStatus draw_plot(HcImage *image, const double *values, int32_t count, const char *const labels[3],
                          bool noise_line, HcError *err) {
    HcStatus status = hc_image_init(image, 800, 500, err);
    if (status != HC_OK) {
        return status;
    }
    Axes axes = {.left = 108, .top = 56, .right = 775, .bottom = 430, .last_x = count > 1 ? count : 1};
    settle_range(&axes, values, count);
    draw_x_axis(image, &axes);
    draw_y_axis(image, &axes);
    if (noise_line) {
        draw_noise_line(image, &axes, values, count);
    }
    draw_values(image, &axes, values, count);
    hc_image_frame(image, axes.left, axes.top, axes.right - axes.left + 1, axes.bottom - axes.top + 1,
                   axis_colour);
    draw_labels(image, &axes, labels[0], labels[1], labels[2]);
    return HC_OK;
}

HcStatus hc_image_scree(HcImage *image, const double *eigenvalues, int32_t count, const char *title,
                        HcError *err) {
    return draw_plot(image, eigenvalues, count, (const char *const[]){title, "component", "eigenvalue"}, true,
                     err);
}

HcStatus hc_image_curve(HcImage *image, const double *values, int32_t count, const char *title,
                        const char *x_label, const char *y_label, HcError *err) {
    return draw_plot(image, values, count, (const char *const[]){title, x_label, y_label}, false, err);
}
/* ---- legends ---- */

/* A swatch is a little higher than the text. */
static int32_t swatch(int32_t scale) {
    return 9 * scale;
}

void hc_image_legend_size(int32_t scale, const HcLegendEntry *entries, int32_t count, int32_t *width,
                          int32_t *height) {
    int32_t widest = 0;
    for (int32_t i = 0; i < count; i++) {
        int32_t text = hc_image_text_width(scale, entries[i].name != NULL ? entries[i].name : "");
        widest = text > widest ? text : widest;
    }
    *width = count > 0 ? swatch(scale) * 3 / 2 + 5 * scale + widest : 0;
    *height = count > 0 ? count * 13 * scale - 4 * scale : 0;
}

void hc_image_legend(HcImage *image, int32_t x, int32_t y, int32_t scale, const HcLegendEntry *entries,
                     int32_t count) {
    int32_t side = swatch(scale);
    for (int32_t i = 0; i < count; i++, y += 13 * scale) {
        hc_image_rectangle(image, x, y, side * 3 / 2, side, entries[i].rgb);
        hc_image_frame(image, x, y, side * 3 / 2, side, axis_colour);
        hc_image_text(image, x + side * 3 / 2 + 5 * scale, y + scale, scale, dark,
                      entries[i].name != NULL ? entries[i].name : "");
    }
}

int32_t hc_image_bar_height(int32_t scale) {
    return 36 * scale;
}

void hc_image_bar(HcImage *image, int32_t x, int32_t y, int32_t width, int32_t scale, bool viridis,
                  const float limits[2], const char *label) {
    int32_t top = y + 11 * scale, high = 10 * scale;
    if (label != NULL) {
        hc_image_text(image, x, y, scale, dark, label);
    }
    for (int32_t column = 0; column < width; column++) {
        uint8_t level = (uint8_t)(width > 1 ? (int64_t)column * 255 / (width - 1) : 128);
        uint8_t rgb[3] = {level, level, level};
        if (viridis) {
            hc_image_viridis(level, rgb);
        }
        hc_image_rectangle(image, x + column, top, 1, high, rgb);
    }
    hc_image_frame(image, x, top, width, high, axis_colour);
    for (int tick = 0; tick < 3; tick++) {
        char text[32];
        int32_t at = x + (width - 1) * tick / 2;
        snprintf(text, sizeof text, "%.4g", limits[0] + ((double)limits[1] - limits[0]) * tick / 2);
        hc_image_rectangle(image, at, top + high, 1, 3 * scale, axis_colour);
        int32_t left =
            at - hc_image_text_width(scale, text) * tick / 2; /* the outer two stay within the bar */
        hc_image_text(image, left, top + high + 5 * scale, scale, dark, text);
    }
}
