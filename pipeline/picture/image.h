/* Image: what preview, figure, report, compare and view share: how values become colours, and a canvas. */
#ifndef HC_PIPELINE_PICTURE_IMAGE_H
#define HC_PIPELINE_PICTURE_IMAGE_H

#include "core/scene.h"
#include "figure/ramp.h"

#include <stddef.h>
#include <stdint.h>

/* Zero-initialise; hc_image_clear() is always safe. */
typedef struct HcImage {
    int32_t width, height;
    uint8_t *pixels; /* [height][width][4]: red, green, blue, alpha */
} HcImage;

/* A white, opaque canvas. */
HcStatus hc_image_init(HcImage *image, int32_t width, int32_t height, HcError *err) HC_MUST_CHECK;
void hc_image_clear(HcImage *image);

/* The values at two percentiles [%] of plane[count], exactly (by selection, nearest rank); valid[count], 0 =
 * leave out, NULL = all; NaN and infinities are left out too. Of no value at all: 0 and 1. */
HcStatus hc_image_limits(const float *plane, const uint8_t *valid, size_t count, double low, double high,
                         float limits[2], HcError *err) HC_MUST_CHECK;

/* Where a value lies from the low limit (0) to the high one (1), cut to that. Where both are equal their
 * value is at 0.5. */
double hc_image_level(const float limits[2], float value);

/* Levels 0 to 255 of plane[count], from the low limit to the high one. Where both are equal their value
 * becomes 128; pixels that are not valid (or NaN) become 0. */
void hc_image_levels(const float *plane, const uint8_t *valid, size_t count, const float limits[2],
                     uint8_t *level);

/* Colours of a single band that has these limits: of both signs vik, whose middle is pale, else batlow. */
HcRamp hc_image_ramp(const float limits[2]);

/* Gamma of bands that nobody chose: 1.4 for three bands of a spectral scene, since scenes with a few bright
 * pixels would be dark without it; else 1. */
double hc_image_usual_gamma(const HcScene *scene, int32_t count);

/* Levels after gamma: 255 (level / 255)^(1 / gamma). */
void hc_image_gamma(double gamma, uint8_t table[256]);

/* Clears valid[count] where the value is below the threshold; NaN = there is none. */
void hc_image_threshold(const float *value, size_t count, double threshold, uint8_t *valid);

/* How levels become colours: three planes are red, green and blue; a single one has those of a ramp. */
typedef struct HcColouring {
    const uint8_t *level; /* [count][pixels] */
    const uint8_t *valid; /* [pixels] the others are transparent */
    size_t pixels;
    int32_t count;
    HcRamp ramp;
    uint8_t gamma[256];
} HcColouring;

/* Red, green, blue and alpha of a pixel. */
void hc_image_colour(const HcColouring *colouring, size_t pixel, uint8_t colour[4]);

/* Lays the upper left width x height pixels of an image over `below` [height][width][4], as far as their
 * opacity (0 to 1) lets it through. below NULL: they become transparent that far. */
void hc_image_lay(HcImage *image, int32_t width, int32_t height, double opacity, const uint8_t *below);

/* Colours of the classes: those of the data, or by their names. rgb: [classes], fresh memory. */
HcStatus hc_image_class_colours(const HcClasses *classes, uint8_t (**rgb)[3], HcError *err) HC_MUST_CHECK;

/* Of values of no class. */
extern const uint8_t hc_image_unknown[3];

/* The class of a value, from 0; classes->count = none of them. */
int32_t hc_image_class(const HcClasses *classes, float value);

/* The colour of a value, rgb[classes]: transparent where it is not valid or of class "Unclassified". */
void hc_image_class_colour(const HcClasses *classes, const uint8_t (*rgb)[3], float value, bool valid,
                           uint8_t pixel[4]);

typedef enum HcLegendPlace { HC_LEGEND_NONE, HC_LEGEND_RIGHT, HC_LEGEND_BELOW } HcLegendPlace;

/* Classes to be drawn: value and valid [height][width], each pixel a square of `enlarge`. */
typedef struct HcClassPlane {
    const float *value;
    const uint8_t *valid;
    int32_t width, height, enlarge;
    const HcClasses *classes;
} HcClassPlane;

/* A fresh canvas: the map in the colours of its classes in the upper left corner, and beside it the names
 * of the classes that occur. Pixels that are not valid or of class "Unclassified" are transparent; values
 * of no class are grey. */
HcStatus hc_image_classes(HcImage *image, const HcClassPlane *plane, HcLegendPlace place,
                          HcError *err) HC_MUST_CHECK;

#endif
