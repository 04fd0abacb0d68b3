/* Formats of spectra that other programs and instruments write, a file a format, recognised by what is in a
 * file. */
#ifndef HC_IO_LIBRARY_FORMAT_H
#define HC_IO_LIBRARY_FORMAT_H

#include "io/library/library.h"
#include "io/scene_files.h"

/* Wavelengths and widths that files of a USGS library have apart, of one folder; kept for the next file. */
typedef struct HcSpectrumAxes HcSpectrumAxes;
void hc_spectrum_axes_free(HcSpectrumAxes *axes);

/* Reads a file of spectra as a library: ENVI and CSV as hc_library_read() does, tables as CSV whatever their
 * ending, and the formats below. Entries without a source have the name of the file. Bands of an instrument's
 * file that fall in wavelength are turned round, values with them. *axes: NULL at first, freed by
 * hc_spectrum_axes_free.
 *
 * listed: the file was found in a folder, and was not named. One of no known format is then no failure:
 * out->count is 0.
 *
 * HC_E_INPUT: one line with the file, the line or byte, and what was expected there. */
HcStatus hc_spectrum_read(HcLibrary *out, const char *path, bool listed, HcSpectrumAxes **axes,
                          HcError *err) HC_MUST_CHECK;

/* Adds the files below a folder that may hold spectra, by name, folder after folder: no hidden ones, and no
 * headers beside data. */
HcStatus hc_spectrum_files(const char *folder, HcPaths *out, HcError *err) HC_MUST_CHECK;

#endif
