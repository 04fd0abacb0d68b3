/* Spectral libraries: named spectra, with wavelengths where they are known. */
#ifndef HC_IO_LIBRARY_LIBRARY_H
#define HC_IO_LIBRARY_LIBRARY_H

#include "core/status.h"

#include <stdbool.h>
#include <stdint.h>

/* What an entry of a library is, by its name. */
typedef enum HcLibraryEntry {
    HC_ENTRY_SPECTRUM,
    HC_ENTRY_ERROR_BARS,  /* "errorbars to preceding ..." */
    HC_ENTRY_WAVELENGTHS, /* "Wavelengths ..." */
    HC_ENTRY_WIDTHS,      /* "Resolution ...", "Bandpass ..." */
    HC_ENTRY_KINDS
} HcLibraryEntry;

/* Values of an entry that count as missing, since they stand far outside of the others. */
typedef struct HcLibraryOutliers {
    int32_t values;
    float lowest, highest; /* of them; infinite (reversed) where there is none */
} HcLibraryOutliers;

/* What a library may know of an entry beside its values: words for the columns of tables, the header of an
 * ENVI library and the options of `hcube library select`. */
typedef enum HcLibraryFact {
    HC_FACT_CLASS,
    HC_FACT_DESCRIPTION,
    HC_FACT_SOURCE,
    HC_FACT_QUALITY,
    HC_LIBRARY_FACTS
} HcLibraryFact;

/* [count] texts of one line for each fact that any entry has, or NULL; a text is NULL where it is not known.
 */
typedef struct HcLibraryFacts {
    char **text[HC_LIBRARY_FACTS];
} HcLibraryFacts;

/* Owns its arrays. Zero-initialise, then hc_library_clear() is always safe. */
typedef struct HcLibrary {
    int32_t count;   /* entries, > 0 */
    int32_t bands;   /* > 0 */
    int32_t entries; /* of the file: as many as `count`, until some are left out */
    int32_t
        left_out_by_name; /* of the entries that are not there, since their names are not those of spectra */
    int32_t *number;    /* [count] which entry of the file each is, from 0, ascending; NULL = all are there */
    float *value;       /* [count][bands] as stored; NaN = missing */
    char **name;        /* [count], none NULL; the same name may come several times */
    double *wavelength; /* [bands, nm], in the order of the file, or NULL */
    double *fwhm;       /* [bands, nm], or NULL */
    char note[120];     /* what was assumed of the wavelengths, or why there are none; "" = nothing */
    uint8_t *bad; /* [bands] 1 = the header marks the band as bad, and its values are missing; or NULL */
    double scale; /* the header's reflectance scale factor: the value of reflectance 1; 0 = not given */
    HcLibraryOutliers *outliers; /* [count] */
    HcLibraryFacts facts;
} HcLibrary;

/* Memory for spectra: values, outliers and names (NULL each). */
HcStatus hc_library_make(HcLibrary *library, int64_t count, int64_t bands, HcError *err) HC_MUST_CHECK;

/* "class", "description", "source", "quality". */
const char *hc_library_fact_word(HcLibraryFact fact);
/* What is known of an entry; "" where nothing is. */
const char *hc_library_fact(const HcLibrary *library, int32_t entry, HcLibraryFact fact);
/* Keeps a copy of the text as one clean line; NULL, "" and "-" are not known. */
HcStatus hc_library_set_fact(HcLibrary *library, int32_t entry, HcLibraryFact fact, const char *text,
                             HcError *err) HC_MUST_CHECK;
/* Makes names unique: the second "quartz" becomes "quartz (2)". *renamed: how many names changed. */
HcStatus hc_library_number_names(HcLibrary *library, int32_t *renamed, HcError *err) HC_MUST_CHECK;

/* What an entry of that name is. Error bars have "errorbars", "error bars", "standard deviation" or the
 * like anywhere in the name. Wavelengths and widths have their word first, after labels such as "splib07a
 * Record=1:". Case does not matter. */
HcLibraryEntry hc_library_entry(const char *name);
/* "error bars"; "spectra" for HC_ENTRY_SPECTRUM. */
const char *hc_library_entry_word(HcLibraryEntry entry);

/* Whether the file at `path` claims to be a spectral library. This is one of
 *  - an ENVI header of that file type, or its data file (no name that ends as vector data do),
 *  - a file that ends with .sli,
 *  - a CSV file without geometries (a column WKT).
 * Says nothing about the rest of its content. Fails only with HC_E_MEMORY and HC_E_IO. */
HcStatus hc_library_recognise(const char *path, bool *is, HcError *err) HC_MUST_CHECK;

/* Whether an ENVI header is that of a spectral library, and the data file that hc_library_read() takes for
 * it; fresh, NULL where there is none. Fails only with HC_E_MEMORY and HC_E_IO. */
HcStatus hc_library_data_of(const char *header_path, bool *is, char **out, HcError *err) HC_MUST_CHECK;

/* Reads an ENVI spectral library (by its header or its data file), or a CSV file (by its ending). A CSV
 * file has one line a band, with the wavelength first and a header of names. Or it has one line a
 * spectrum, with the name first and a header of wavelengths. Of numbers alone, the first column or the first
 * line is wavelengths (docs/spectral-libraries.md has what else is read). A value is missing where it is no
 * finite number, equals the header's data ignore value, or lies in a bad band. So are outliers, and
 * magnitudes of 1e30 and more (-1.23e34 marks deleted channels). The reflectance scale factor is not applied.
 * A library without names has "Spectrum 1", ... Wavelengths in a unit that is no length are left out; where
 * no unit is given, those below 100 are micrometres. `out` must be zero or cleared; on failure it stays
 * so.
 *
 * Outliers lie far outside of the other values. The height of a spectrum is the value that 90 % of its
 * positive values do not exceed. h is the median of the heights of the spectra of the library
 * (hc_library_entry). Values above 1e5 h are outliers. So are values below -3 h, or below -3 times the height
 * of their own spectrum where that is larger. Where more than one value in twenty is negative, only values
 * below -1e5 h are.
 *
 * HC_E_INPUT: not such a file, a missing data file, sizes that do not fit, ragged lines, a text that is not a
 * number, no spectra. HC_E_UNSUPPORTED: complex or compressed values. */
HcStatus hc_library_read(HcLibrary *out, const char *path, HcError *err) HC_MUST_CHECK;

/* Leaves out the entries i with keep[i] = 0; keep[count]. At least one must stay. */
HcStatus hc_library_keep(HcLibrary *library, const uint8_t *keep, HcError *err) HC_MUST_CHECK;

void hc_library_clear(HcLibrary *library);

/* Writes names, values, wavelengths, widths, scale and facts: CSV where the path ends so (a line a band, no
 * widths), else an ENVI spectral library, with its header beside it (hc_library_header_path). Facts and the
 * scale of a CSV file are comments before its table. Existing files are replaced only
 * with `overwrite`. A header that is none of a spectral library never is (HC_E_USAGE). */
HcStatus hc_library_write(const HcLibrary *library, const char *path, bool overwrite,
                          HcError *err) HC_MUST_CHECK;

/* "spectra.hdr" of "spectra.sli", to be freed; NULL when memory ran out. */
char *hc_library_header_path(const char *path);

/* Whether a file lies there that is no header of a spectral library. */
HcStatus hc_library_check_header(const char *path, bool *foreign, HcError *err) HC_MUST_CHECK;

#endif
