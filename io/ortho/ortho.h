/* Ortho: where each pixel of a map lies in a scene of sensor geometry. A lookup table (GLT) says so, or the
 * coordinates of all pixels do; either becomes one table in a scratch file, which is read by lines. */
#ifndef HC_IO_ORTHO_ORTHO_H
#define HC_IO_ORTHO_ORTHO_H

#include "core/scene.h"

typedef struct HcOrtho HcOrtho;

/* A pixel of the scene, from 0; line -1: the pixel of the map has none. */
typedef struct HcOrthoPixel {
    int32_t line, sample;
} HcOrthoPixel;

/* Reads the whole table. `scene` may be a window of its file: the table is then cut to the pixels that it
 * has. `path` names the scene in messages. `file` is one of
 *  - NULL: the lookup of the scene itself,
 *  - a raster of two bands of integers: sample and line, from 1; negative = filled from a neighbour, 0 =
 * none,
 *  - a raster of two or three bands of floats: x and y of each pixel,
 *  - a product that has a lookup.
 * memory: what reading may take beside one chunk of the file [bytes], 24 MiB at least; 0 = not limited.
 * HC_E_INPUT: there is none, it is of another shape, or it leads to a pixel that the scene does not have. */
HcStatus hc_ortho_open(HcOrtho **out, const HcScene *scene, const char *path, const char *file,
                       uint64_t memory, HcError *err) HC_MUST_CHECK;
/* Opens the lookup of the scene, and keeps the coordinates of its pixels if it has any. */
HcStatus hc_ortho_open_with_coordinates(HcOrtho **out, const HcScene *scene, const char *path,
                                        HcError *err) HC_MUST_CHECK;
void hc_ortho_close(HcOrtho *ortho);

/* The scene with the same bands on the map; `to` must be zero or cleared. */
HcStatus hc_ortho_scene(const HcOrtho *ortho, const HcScene *from, HcScene *to, HcError *err) HC_MUST_CHECK;

/* What was found. */
typedef struct HcOrthoFacts {
    const char *file;       /* that the table or the coordinates come from; borrowed */
    int64_t lines, samples; /* of the map */
    int64_t filled;         /* pixels of the map that have one of the scene */
    bool nearest;           /* by coordinates: the nearest pixel */
    double spacing;         /* of the grid that was chosen then [units of the map] */
    double reach;           /* how far the nearest pixel may be [the same; degrees of latitude] */
} HcOrthoFacts;
HcOrthoFacts hc_ortho_facts(const HcOrtho *ortho);

/* x and y [samples] of the pixels of a line of the scene, in the CRS of the map; NaN = not known. Only where
 * they were kept, and facts.nearest. */
HcStatus hc_ortho_coordinates(const HcOrtho *ortho, int64_t line, double *x, double *y,
                              HcError *err) HC_MUST_CHECK;

/* Lines of the map, to[lines][samples]. */
HcStatus hc_ortho_lines(const HcOrtho *ortho, int64_t line0, int64_t lines, HcOrthoPixel *to,
                        HcError *err) HC_MUST_CHECK;

#endif
