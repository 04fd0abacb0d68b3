/* What the files of the table share; nobody else includes this. */
#ifndef HC_IO_ORTHO_PARTS_H
#define HC_IO_ORTHO_PARTS_H

#include "core/block.h"
#include "io/ortho/ortho.h"
#include "io/read/reader.h"

/* A rectangle of the file that the scene is. */
typedef struct HcOrthoWindow {
    int64_t line0, sample0, lines, samples;
    int64_t file_lines, file_samples;
} HcOrthoWindow;

/* ---- table.c: the table, in a scratch file ---- */

typedef struct HcOrthoTable {
    const char *path; /* of its source, borrowed */
    HcOrthoWindow window;
    int scratch;                      /* [lines][samples] of HcOrthoPixel; negative = none yet */
    int64_t lines, samples;           /* of the whole table */
    int64_t top, bottom, left, right; /* what has pixels of the scene: first and after the last */
    int64_t filled;
} HcOrthoTable;

/* Allocates a table of that size, which holds nothing. */
HcStatus hc_ortho_table_open(HcOrthoTable *table, int64_t lines, int64_t samples, HcError *err) HC_MUST_CHECK;
void hc_ortho_table_close(HcOrthoTable *table);

/* Puts rows of pixels of the scene at (line0, sample0). */
HcStatus hc_ortho_table_put(HcOrthoTable *table, int64_t line0, int64_t sample0, int64_t lines,
                            int64_t samples, const HcOrthoPixel *pixels, HcError *err) HC_MUST_CHECK;

/* Takes numbers as a lookup table stores them; `to` [lines][samples] is scratch memory. */
HcStatus hc_ortho_table_take(HcOrthoTable *table, int64_t line0, int64_t sample0, int64_t lines,
                             int64_t samples, const double *sample, const double *line, HcOrthoPixel *to,
                             HcError *err) HC_MUST_CHECK;

HcStatus hc_ortho_table_get(const HcOrthoTable *table, int64_t line, int64_t sample, int64_t count,
                            HcOrthoPixel *to, HcError *err) HC_MUST_CHECK;

/* ---- place.c: coordinates of the pixels of a file, in a scratch file ---- */

typedef struct HcOrthoPlaces {
    const char *path; /* of their source, borrowed */
    int scratch;      /* [lines][2][samples]: x, then y; NaN = not known; negative = none yet */
    int64_t lines, samples;
} HcOrthoPlaces;

HcStatus hc_ortho_places_open(HcOrthoPlaces *places, int64_t lines, int64_t samples,
                              HcError *err) HC_MUST_CHECK;
void hc_ortho_places_close(HcOrthoPlaces *places);

/* Puts values of one of the two (0 = x, 1 = y) at (line0, sample0). */
HcStatus hc_ortho_places_put(HcOrthoPlaces *places, int which, int64_t line0, int64_t sample0, int64_t lines,
                             int64_t samples, const double *values, HcError *err) HC_MUST_CHECK;

/* x and y [count] of one line. */
HcStatus hc_ortho_places_get(const HcOrthoPlaces *places, int64_t line, int64_t sample, int64_t count,
                             double *x, double *y, HcError *err) HC_MUST_CHECK;

/* ---- where both come from ---- */

/* arrays.c: the arrays that a lookup names. */
HcStatus hc_ortho_table_arrays(HcOrthoTable *table, const HcLookup *lookup, uint64_t memory,
                               HcError *err) HC_MUST_CHECK;
HcStatus hc_ortho_places_arrays(HcOrthoPlaces *places, const HcLookup *lookup, uint64_t memory,
                                HcError *err) HC_MUST_CHECK;

/* raster.c: the first two bands of an open raster. */
HcStatus hc_ortho_table_raster(HcOrthoTable *table, HcReader *reader, HcError *err) HC_MUST_CHECK;
HcStatus hc_ortho_places_raster(HcOrthoPlaces *places, HcReader *reader, HcError *err) HC_MUST_CHECK;

/* ---- nearest.c: from coordinates to a table ---- */

/* The grid that was chosen, and how far the nearest pixel may lie from the centre of one of the map. */
typedef struct HcOrthoGrid {
    HcPlace place; /* its crs is not filled */
    bool geographic;
    double spacing, reach;
} HcOrthoGrid;

/* Fills the table with the nearest pixel of the scene. crs: the WKT of the coordinates; NULL: they are
 * degrees where all of them could be. */
HcStatus hc_ortho_nearest(HcOrthoTable *table, const HcOrthoPlaces *places, const char *crs,
                          HcOrthoGrid *grid, HcError *err) HC_MUST_CHECK;

#endif
