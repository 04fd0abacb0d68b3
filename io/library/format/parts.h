/* What the formats of spectra share; nobody else includes this. */
#ifndef HC_IO_LIBRARY_FORMAT_PARTS_H
#define HC_IO_LIBRARY_FORMAT_PARTS_H

#include "io/library/format/format.h"
#include "io/library/parts.h"

#include <stddef.h>

/* A file in memory. Zero-initialise, then hc_spectrum_close() is always safe. */
typedef struct HcSpectrumFile {
    const char *path;
    char *data; /* terminated by a 0 */
    size_t bytes;
    char **line; /* [lines] of a text, without their ends, in `data`; NULL: the file holds bytes of 0 */
    int32_t lines;
    HcSpectrumAxes **axes;
} HcSpectrumFile;

typedef struct HcSpectrumFormat {
    const char *name;
    bool (*is)(const HcSpectrumFile *file);
    /* Makes the library and fills it; NULL: the format is refused by its name. */
    HcStatus (*read)(const HcSpectrumFile *file, HcLibrary *out, HcError *err);
} HcSpectrumFormat;

extern const HcSpectrumFormat hc_format_asd, hc_format_tables, hc_format_usgs;

/* text.c */
HcStatus hc_spectrum_open(HcSpectrumFile *file, const char *path, HcError *err) HC_MUST_CHECK;
void hc_spectrum_close(HcSpectrumFile *file);
/* The first line that begins with these words, whatever their case, or -1. */
int32_t hc_spectrum_line(const HcSpectrumFile *file, const char *words);
/* What follows "KEY:" or "KEY=" in the first line that begins so; NULL: there is none. */
const char *hc_spectrum_key(const HcSpectrumFile *file, const char *key);
/* Numbers at the beginning of a line, at most `limit`, apart by blanks, tabs or semicolons, with decimal
 * points or commas. Returns how many; -1: something else follows them. */
int32_t hc_spectrum_numbers(const char *line, double *value, int32_t limit);

/* Rows of numbers, from a line to the end of the file; empty lines count for nothing. */
typedef struct HcSpectrumRows {
    int32_t first;   /* line */
    int32_t columns; /* of every row */
    int32_t x;       /* the column of wavelengths */
    int32_t y;       /* the column of values; -1 = all but x, each a spectrum */
    int32_t stated;  /* rows that the header states: fewer are an error; 0 = not known */
    const char *unit;
} HcSpectrumRows;

/* Makes a library of them, without names. */
HcStatus hc_spectrum_rows(const HcSpectrumFile *file, const HcSpectrumRows *rows, HcLibrary *out,
                          HcError *err) HC_MUST_CHECK;
/* The name of the file without folder and ending, as name of an entry. */
HcStatus hc_spectrum_name_by_file(const HcSpectrumFile *file, HcLibrary *out, int32_t entry,
                                  HcError *err) HC_MUST_CHECK;

#endif
