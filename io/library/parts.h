/* What the files that read spectral libraries share; nobody else includes this. */
#ifndef HC_IO_LIBRARY_PARTS_H
#define HC_IO_LIBRARY_PARTS_H

#include "io/library/cells.h"
#include "io/library/library.h"

#include <stddef.h>

/* library.c */
/* The name of a spectrum as one clean line; NULL or empty: by its number. */
HcStatus hc_library_name(HcLibrary *library, int32_t spectrum, const char *name, HcError *err) HC_MUST_CHECK;
/* A value as it is stored, or NaN for one that is missing. */
float hc_library_value(double value);
/* Turns wavelengths (and fwhm) into nanometres, and drops those that are none. */
void hc_library_units(HcLibrary *library, const char *unit);

/* facts.c */
#define HC_LIBRARY_FACT_KEY   "hcube entry %s" /* of an ENVI header */
#define HC_LIBRARY_SCALE_WORD "reflectance scale factor"
/* The facts of entry `from` become those of `to`, whose own are freed; to = -1 drops them. */
void hc_library_move_facts(HcLibrary *library, int32_t from, int32_t to);
void hc_library_clear_facts(HcLibrary *library);

/* columns.c */
/* A table with a line a spectrum may have columns beside names and values: those of facts become
 * facts[fact][rows] (fresh arrays of cells, NULL = there is none), others are left out, with a line in
 * `note`. Any other table stays as it is. Freed by the caller, also after a failure. */
HcStatus hc_cells_take_columns(HcCells *cells, char **facts[HC_LIBRARY_FACTS], char note[120],
                               HcError *err) HC_MUST_CHECK;

/* clean.c */
/* Makes outliers missing (hc_library_read) and counts them; names are there. */
HcStatus hc_library_drop_outliers(HcLibrary *library, HcError *err) HC_MUST_CHECK;

/* csv.c */
bool hc_library_is_csv(const char *path);
HcStatus hc_library_read_csv(HcLibrary *out, const char *path, HcError *err) HC_MUST_CHECK;

#endif
