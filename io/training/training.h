/* Training data: polygons, points or a class raster, as labelled pixels on a scene's grid. */
#ifndef HC_IO_TRAINING_TRAINING_H
#define HC_IO_TRAINING_TRAINING_H

#include "core/scene.h"
#include "core/text.h"
#include "io/shape/attributes.h"

/* Classes at most, and their largest number in a map. */
#define HC_CLASS_NUMBER_MAX 65535

/* Which pixels belong to which class, for training or validation. Owns its arrays. Zero-initialise, then
 * hc_labelled_clear() is always safe. */
typedef struct HcLabelled {
    int64_t count;    /* pixels, > 0; no pixel comes twice */
    int32_t *sample;  /* [count] from 0, in the order of the scene: by line, then by sample */
    int32_t *line;    /* [count] from 0 */
    int32_t *label;   /* [count] 1 .. classes.count - 1; 0 is never a class */
    int32_t *feature; /* [count] from 0: the polygon or point that a pixel lies in, of several the first; in a
                         raster the region of touching pixels (also at corners) of one class */
    int32_t features; /* that have a pixel; numbered in the order of the source */
    HcClasses classes; /* name and colour of every class; [0] is "Unclassified", black */
    int32_t *number; /* [classes.count] of each class in its source, ascending; where the source has none, or
                        one that no class map holds, its label */
    bool named;      /* classes have names, and not numbers alone */
    bool numbered;   /* they have the numbers of their source */
    int64_t *pixels; /* [classes.count] pixels of each class, > 0 except for class 0 */
    char *field; /* the attribute that the classes are from; NULL for a raster, and where none names them */

    HcAttributes attributes; /* of the features, where they are asked for */

    /* What was left out, or not taken as it is. */
    int64_t contested;            /* pixels that two classes claim */
    int64_t empty_features;       /* features without a geometry, or whose polygon has no area */
    int64_t unnamed_features;     /* features whose attribute is NULL or an empty text */
    int64_t outside_features;     /* features in which no pixel's centre lies: outside the scene, or tiny */
    int64_t unprojected_features; /* features that cannot be brought to the CRS of the scene */
    HcText place_note;            /* of hc_grid_check, for a raster */
    int64_t mended_features;      /* features whose polygon crosses itself: taken by the even-odd rule */
    int64_t renumbered;           /* a number that made all classes get new ones, or 0 */
    int32_t lost_classes;         /* classes of the source without a pixel in the result */
    char *lost_class;             /* the name of the first of them, or NULL */
} HcLabelled;

/* Reads labelled pixels from `path`: vector data that OGR opens, or a raster.
 *
 * Vector data: a pixel belongs to a polygon when its centre lies inside, to a point when the point lies in
 * it. They are brought to the CRS of the scene (corner by corner). Where neither has a CRS they are in the
 * coordinates of the scene's transform, or without one in pixels of the file: x = sample, y = line, the first
 * pixel from 0 to 1; y may as well run from 0 down to -lines, as QGIS shows such scenes. `field` is the
 * attribute that names the class (text or whole numbers), NULL = the only one that can be meant; `layer` is
 * the name of the layer, NULL = the only one with geometries.
 *
 * Rasters: one band of integers on the grid of `scene` or of the file that it is a window of, in which 0 and
 * nodata are no class; names and colours are those of GDAL's attribute table, of the ENVI header, or of
 * GDAL's categories and colour table. `field` and `layer` must be NULL.
 *
 * Labels are dense, from 1: ascending by number for whole numbers and rasters, by bytes for texts. 0 and
 * names such as "Unclassified" and "background" (hc_class_is_none) are no class. A class without a name is
 * called by its number: "7" from an attribute, "Class 7" from a raster; one without a colour (or a black one)
 * gets hc_classes_standard_colour. There are at least two classes. `out` must be zero or cleared; on failure
 * it is cleared.
 *
 * HC_E_INPUT: not readable as either; no overlap; fewer than two classes; wrong coordinates, CRS or values;
 * another grid. HC_E_USAGE: the field or layer is missing or must be chosen (the message lists what there
 * is). HC_E_UNSUPPORTED: lines; rasters of other types or of several bands. HC_E_IO: reading failed. */
HcStatus hc_labelled_read(const char *path, const char *field, const char *layer, const HcScene *scene,
                          HcLabelled *out, HcError *err) HC_MUST_CHECK;

/* The same; field_number: the attribute that holds the number of the class, or NULL. */
HcStatus hc_labelled_read_numbered(const char *path, const char *field, const char *field_number,
                                   const char *layer, const HcScene *scene, HcLabelled *out,
                                   HcError *err) HC_MUST_CHECK;

/* The number that a map of the classes has for a label, and the label of such a number. Without numbers in
 * the source (and for classes of other sources) they are the same. */
static inline int32_t hc_labelled_number(const HcLabelled *labelled, int32_t label) {
    return labelled->number != NULL ? labelled->number[label] : label;
}
int32_t hc_labelled_label(const HcLabelled *labelled, int32_t number);
/* The classes by these numbers; `to` must be zero or cleared. */
HcStatus hc_labelled_classes(const HcLabelled *labelled, HcClasses *to, HcError *err) HC_MUST_CHECK;

void hc_labelled_clear(HcLabelled *labelled);

/* The same, but one class is enough, and features of a layer without an attribute that can name classes are
 * classes by their numbers. attributes: those of the features that are kept, names separated by commas, or
 * "all"; NULL = none, as it must be for a raster. */
HcStatus hc_labelled_read_any(const char *path, const char *field, const char *layer, const char *attributes,
                              const HcScene *scene, HcLabelled *out, HcError *err) HC_MUST_CHECK;

/* Pixels that the user types in `texts`: SAMPLE,LINE[:SAMPLE,LINE...] from 0, or (on_map) X,Y[:X,Y...] in the
 * CRS of the scene, of pixels in sensor geometry in that of their map. Each is a class of its own: labels are
 * in the order of the texts, names are "sample 40 line 25" or "x 331515 y 5562885". HC_E_USAGE, with `option`
 * and the place: no such numbers, outside of the scene, a pixel twice. */
HcStatus hc_labelled_typed(const char *option, bool on_map, const char *const *text, int32_t texts,
                           const HcScene *scene, HcLabelled *out, HcError *err) HC_MUST_CHECK;

/* The pixels of a rectangle (first sample, first line, samples, lines; within the scene) as one class,
 * "samples 40-49 lines 25-34". */
HcStatus hc_labelled_area(const int64_t area[4], const HcScene *scene, HcLabelled *out,
                          HcError *err) HC_MUST_CHECK;

/* Adds a remark on what was left out, one line ("12 pixels that two classes claim, ..."); nothing where
 * nothing was. */
void hc_labelled_note(const HcLabelled *labelled, HcText *to);

#endif
