/* What the files that read spectral libraries share; nobody else includes this. */
#ifndef HC_IO_LIBRARY_PARTS_H
#define HC_IO_LIBRARY_PARTS_H

#include "io/library/library.h"

#include <stddef.h>

/* library.c */
/* Memory for spectra: values and names (NULL each). */
HcStatus hc_library_make(HcLibrary *library, int64_t count, int64_t bands, HcError *err) HC_MUST_CHECK;
/* The name of a spectrum as one clean line; NULL or empty: by its number. */
HcStatus hc_library_name(HcLibrary *library, int32_t spectrum, const char *name, HcError *err) HC_MUST_CHECK;
/* A value as it is stored, or NaN for one that is missing. */
float hc_library_value(double value);
/* Turns wavelengths (and fwhm) into nanometres, and drops those that are none. */
void hc_library_units(HcLibrary *library, const char *unit);

/* cells.c */
typedef struct HcCellRow {
    int64_t first, count; /* cells */
    int32_t line;         /* of the file, from 1 */
} HcCellRow;

/* A table of texts, rows x columns. Zero-initialise, then hc_cells_clear() is always safe. */
typedef struct HcCells {
    const char *path;
    char *data; /* of which the cells are parts */
    char **cell;
    HcCellRow *row; /* [rows] of at least `columns` cells, what follows is empty */
    int64_t rows, columns;
    bool points; /* numbers have decimal points, hence no decimal commas */
} HcCells;

/* Reads a text whose cells are separated by commas, semicolons, tabs, bars or blanks. Leaves out a byte order
 * mark, titles, comments, empty lines, and empty cells at the end of all lines. HC_E_INPUT: ragged lines,
 * fewer than 2 rows or columns, UTF-16. */
HcStatus hc_cells_read(HcCells *cells, const char *path, HcError *err) HC_MUST_CHECK;
const char *hc_cells_at(const HcCells *cells, int64_t row, int64_t column);
bool hc_cells_number(const HcCells *cells, const char *cell, double *value);
void hc_cells_clear(HcCells *cells);

/* clean.c */
/* Makes outliers missing (hc_library_read) and counts them; names are there. */
HcStatus hc_library_drop_outliers(HcLibrary *library, HcError *err) HC_MUST_CHECK;

/* csv.c */
bool hc_library_is_csv(const char *path);
HcStatus hc_library_read_csv(HcLibrary *out, const char *path, HcError *err) HC_MUST_CHECK;

#endif
