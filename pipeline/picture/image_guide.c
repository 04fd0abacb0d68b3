/* Legends and colour bars. */
#include "pipeline/picture/image.h"

#include <stdio.h>

static const uint8_t dark[3] = {38, 42, 48};
static const uint8_t axis_colour[3] = {120, 126, 134};

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
