/* A class map as a picture: the colours of its classes, and a legend of those that occur. */
#include "pipeline/picture/image.h"
#include "core/allocate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRIES_MAX = 256, NAME_BYTES = 48, FEWEST_ROWS = 16, COLUMNS_MAX = 4 };

static const uint8_t unknown_colour[3] = {128, 128, 128};

/* The entries of a legend and how they are laid out: columns of `rows`, each `step` wide. */
typedef struct Legend {
    HcLegendEntry entry[ENTRIES_MAX];
    char name[ENTRIES_MAX][NAME_BYTES];
    int32_t count, rows, columns;
    int32_t scale, margin, step;
    int32_t width, height; /* with the margins round it */
} Legend;

/* The place of a pixel's value among the classes: from 0, -1 = none of them. */
static int32_t class_of(const HcClasses *classes, float value) {
    return value > -0.5f && value < (float)classes->count - 0.5f ? (int32_t)lroundf(value) : -1;
}

static bool is_drawn(const HcClasses *classes, int32_t number) {
    return number != 0 || !hc_classes_has_unclassified(classes);
}

/* Long names are cut between characters. */
static void copy_name(char to[NAME_BYTES], const char *from) {
    size_t length = strlen(from);
    if (length < NAME_BYTES) {
        memcpy(to, from, length + 1);
        return;
    }
    length = NAME_BYTES - 4;
    while (length > 0 && ((unsigned char)from[length] & 0xc0) == 0x80) {
        length--;
    }
    memcpy(to, from, length);
    memcpy(to + length, "...", 4);
}

static void add_entry(Legend *legend, const char *name, const uint8_t rgb[3]) {
    HcLegendEntry *entry = &legend->entry[legend->count];
    copy_name(legend->name[legend->count], name);
    entry->name = legend->name[legend->count++];
    memcpy(entry->rgb, rgb, 3);
}

/* Those that occur (`seen` NULL: all), the last one in place of the rest where they are too many. */
static void collect(Legend *legend, const HcClasses *classes, const uint8_t *seen) {
    char rest[NAME_BYTES];
    int32_t wanted = 0;
    legend->count = 0;
    for (int32_t c = 0; c < classes->count; c++) {
        bool shown = is_drawn(classes, c) && (seen == NULL || seen[c] != 0);
        wanted += shown;
        if (shown && wanted < ENTRIES_MAX) {
            add_entry(legend, classes->name[c], classes->colour[c]);
        }
    }
    if (wanted >= ENTRIES_MAX) {
        static const uint8_t white[3] = {255, 255, 255};
        snprintf(rest, sizeof rest, "and %d more", wanted - legend->count);
        add_entry(legend, rest, white);
    }
}

/* Beside the map as many rows as its height has space for, and more before the columns get too many; below it
 * as many columns as its width has space for. */
static void lay_out(Legend *legend, int32_t width, int32_t height, HcLegendPlace place) {
    int32_t tall = 0, longest = width > height ? width : height;
    legend->scale = longest >= 400 ? 2 : 1;
    legend->margin = 6 * legend->scale;
    legend->width = legend->height = 0;
    if (legend->count == 0 || place == HC_LEGEND_NONE) {
        legend->count = 0;
        return;
    }
    hc_image_legend_size(legend->scale, legend->entry, legend->count, &legend->step, &tall);
    legend->step += 2 * legend->margin;
    if (place == HC_LEGEND_RIGHT) {
        int32_t fitting = (height - 2 * legend->margin) / (13 * legend->scale);
        int32_t least = (legend->count + COLUMNS_MAX - 1) / COLUMNS_MAX;
        fitting = fitting < FEWEST_ROWS ? FEWEST_ROWS : fitting;
        legend->rows = fitting < least ? least : fitting;
    } else {
        int32_t columns = width / legend->step > 1 ? width / legend->step : 1;
        legend->rows = (legend->count + columns - 1) / columns;
    }
    legend->rows = legend->rows < legend->count ? legend->rows : legend->count;
    legend->columns = (legend->count + legend->rows - 1) / legend->rows;
    hc_image_legend_size(legend->scale, legend->entry, legend->rows, &tall, &legend->height);
    legend->height += 2 * legend->margin;
    legend->width = legend->columns * legend->step;
}

static void draw_legend(HcImage *image, const Legend *legend, int32_t left, int32_t top) {
    for (int32_t c = 0; c < legend->columns; c++) {
        int32_t first = c * legend->rows;
        int32_t count = legend->count - first < legend->rows ? legend->count - first : legend->rows;
        hc_image_legend(image, left + legend->margin + c * legend->step, top + legend->margin, legend->scale,
                        legend->entry + first, count);
    }
}

static void canvas_size(const Legend *legend, HcLegendPlace place, int32_t *width, int32_t *height) {
    if (place == HC_LEGEND_RIGHT && legend->count > 0) {
        *width += legend->width;
        *height = legend->height > *height ? legend->height : *height;
    } else if (legend->count > 0) {
        *width = legend->width > *width ? legend->width : *width;
        *height += legend->height;
    }
}

static void colour_pixel(const HcClasses *classes, float value, bool valid, uint8_t pixel[4]) {
    int32_t number = class_of(classes, value);
    memcpy(pixel, number >= 0 ? classes->colour[number] : unknown_colour, 3);
    pixel[3] = valid && is_drawn(classes, number) ? 255 : 0;
}

HcStatus hc_image_classes(HcImage *image, const HcClassPlane *plane, HcLegendPlace place, HcError *err) {
    HcStatus status = HC_OK;
    const HcClasses *classes = plane->classes;
    size_t pixels = (size_t)plane->width * (size_t)plane->height;
    int32_t map_width = plane->width * plane->enlarge, map_height = plane->height * plane->enlarge;
    int32_t width = map_width, height = map_height;
    Legend *legend = NULL;
    uint8_t *seen = NULL;
    HC_TRY(hc_new(legend, 1, "a legend", err));
    HC_TRY(hc_new(seen, classes->count, "a legend", err));
    for (size_t i = 0; i < pixels; i++) {
        int32_t number = class_of(classes, plane->value[i]);
        if (plane->valid[i] != 0 && number >= 0) {
            seen[number] = 1;
        }
    }
    collect(legend, classes, seen);
    lay_out(legend, map_width, map_height, place);
    canvas_size(legend, place, &width, &height);
    HC_TRY(hc_image_init(image, width, height, err));
    for (int32_t y = 0; y < map_height; y++) {
        for (int32_t x = 0; x < map_width; x++) {
            size_t from = (size_t)(y / plane->enlarge) * (size_t)plane->width + (size_t)(x / plane->enlarge);
            colour_pixel(classes, plane->value[from], plane->valid[from] != 0,
                         image->pixels + 4 * ((size_t)y * (size_t)width + (size_t)x));
        }
    }
    draw_legend(image, legend, place == HC_LEGEND_RIGHT ? map_width : 0,
                place == HC_LEGEND_RIGHT ? 0 : map_height);
done:
    free(legend);
    free(seen);
    return status;
}
