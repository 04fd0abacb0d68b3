/* A class map as a picture: the colours of its classes, pixel by pixel, and beside it or below a legend of
 * those that occur. */
#include "core/allocate.h"
#include "figure/figure.h"
#include "pipeline/picture/image.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

HcStatus hc_image_class_colours(const HcClasses *classes, uint8_t (**rgb)[3], HcError *err) {
    HC_OR_RETURN(hc_new(*rgb, classes->count, "the colours of classes", err));
    if (hc_classes_have_own_colours(classes)) {
        memcpy(*rgb, classes->colour, (size_t)classes->count * sizeof **rgb);
    } else {
        int32_t first = hc_classes_has_unclassified(classes) ? 1 : 0;
        hc_class_colours(classes->name + first, classes->count - first, *rgb + first);
    }
    return HC_OK;
}

const uint8_t hc_image_unknown[3] = {128, 128, 128};

int32_t hc_image_class(const HcClasses *classes, float value) {
    return value > -0.5f && value < (float)classes->count - 0.5f ? (int32_t)lroundf(value) : classes->count;
}

static bool is_drawn(const HcClasses *classes, int32_t number) {
    return number != 0 || !hc_classes_has_unclassified(classes);
}

void hc_image_class_colour(const HcClasses *classes, const uint8_t (*rgb)[3], float value, bool valid,
                           uint8_t pixel[4]) {
    int32_t number = hc_image_class(classes, value);
    memset(pixel, 0, 4);
    if (valid && is_drawn(classes, number)) {
        memcpy(pixel, number < classes->count ? rgb[number] : hc_image_unknown, 3);
        pixel[3] = 255;
    }
}

/* Letters of 10 or 16 pixels. */
static double zoom_of(int32_t width, int32_t height) {
    return width >= 400 || height >= 400 ? 2 : 1.25;
}

/* The classes that occur; those of the largest areas where they are too many. */
static HcStatus draw_legend(const HcClassPlane *plane, const uint8_t (*rgb)[3], HcLegendPlace place,
                            int32_t width, int32_t height, HcFigureRaster *raster, HcError *err) {
    HcStatus status = HC_OK;
    const HcClasses *classes = plane->classes;
    int64_t *pixels = NULL, count = (int64_t)plane->width * plane->height;
    HcFigureEntry *entry = NULL;
    HcFigureLegend legend = {0};
    double zoom = zoom_of(width, height);
    HC_TRY(hc_new(pixels, classes->count, "a legend", err));
    HC_TRY(hc_new(entry, classes->count, "a legend", err));
    for (int64_t i = 0; i < count; i++) {
        int32_t number = hc_image_class(classes, plane->value[i]);
        if (plane->valid[i] != 0 && number < classes->count) {
            pixels[number]++;
        }
    }
    for (int32_t c = 0; c < classes->count && place != HC_LEGEND_NONE; c++) {
        if (is_drawn(classes, c) && pixels[c] > 0) {
            entry[legend.count] = (HcFigureEntry){.name = classes->name[c],
                                                  .percent = 100.0 * (double)pixels[c] / (double)count};
            memcpy(entry[legend.count++].rgb, rgb[c], 3);
        }
    }
    legend.entry = entry;
    HC_TRY(hc_figure_legend(&legend, place == HC_LEGEND_RIGHT ? 1e4 : width / zoom,
                            place == HC_LEGEND_RIGHT ? fmax(height / zoom, 200) : 0, zoom, raster, err));
done:
    free(pixels);
    free(entry);
    return status;
}

/* Copies the raster to (left, top). */
static void put(HcImage *image, const HcFigureRaster *raster, int32_t left, int32_t top) {
    for (int32_t y = 0; y < raster->height; y++) {
        memcpy(image->pixels + 4 * ((size_t)(top + y) * (size_t)image->width + (size_t)left),
               raster->pixels + 4 * (size_t)y * (size_t)raster->width, 4 * (size_t)raster->width);
    }
}

HcStatus hc_image_classes(HcImage *image, const HcClassPlane *plane, HcLegendPlace place, HcError *err) {
    HcStatus status = HC_OK;
    int32_t map_width = plane->width * plane->enlarge, map_height = plane->height * plane->enlarge;
    bool right = place == HC_LEGEND_RIGHT;
    HcFigureRaster legend = {0};
    uint8_t(*own)[3] = NULL;
    HC_TRY(hc_image_class_colours(plane->classes, &own, err));
    const uint8_t(*rgb)[3] = (const uint8_t(*)[3])own;
    HC_TRY(draw_legend(plane, rgb, place, map_width, map_height, &legend, err));
    int32_t left = right ? map_width : 0, top = right ? 0 : map_height;
    HC_TRY(hc_image_init(image, left + legend.width > map_width ? left + legend.width : map_width,
                         top + legend.height > map_height ? top + legend.height : map_height, err));
    for (int32_t y = 0; y < map_height; y++) {
        for (int32_t x = 0; x < map_width; x++) {
            size_t from = (size_t)(y / plane->enlarge) * (size_t)plane->width + (size_t)(x / plane->enlarge);
            hc_image_class_colour(plane->classes, rgb, plane->value[from], plane->valid[from] != 0,
                                  image->pixels + 4 * ((size_t)y * (size_t)image->width + (size_t)x));
        }
    }
    put(image, &legend, left, top);
done:
    free(own);
    free(legend.pixels);
    return status;
}
