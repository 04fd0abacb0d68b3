/* Spectral libraries: named spectra, with wavelengths where they are known. */
#ifndef HC_IO_LIBRARY_H
#define HC_IO_LIBRARY_H

#include "core/status.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Owns its arrays. Zero-initialise, then hc_library_clear() is always safe. */
typedef struct HcLibrary {
    int32_t count;      /* spectra, > 0 */
    int32_t bands;      /* > 0 */
    float *value;       /* [count][bands] as stored; NaN = missing */
    char **name;        /* [count], none NULL; the same name may come several times */
    double *wavelength; /* [bands, nm], in the order of the file, or NULL */
    double *fwhm;       /* [bands, nm], or NULL */
    uint8_t *bad; /* [bands] 1 = the header marks the band as bad, and its values are missing; or NULL */
    double scale; /* the header's reflectance scale factor: the value of reflectance 1; 0 = not given */
} HcLibrary;

/* Whether the file at `path` says that it is a spectral library: an ENVI header of that file type or the data
 * file that it lies beside, something that ends with .sli, or a CSV file without geometries (a column WKT).
 * Says nothing about what else is in it. */
bool hc_library_recognise(const char *path);

/* Reads an ENVI spectral library (by its header or its data file), or a CSV file (by its ending): one line a
 * band, with the wavelength first and a header of names; or one line a spectrum, with the name first and a
 * header of wavelengths. Values that are no finite number, of 1e30 and beyond (-1.23e34 marks deleted
 * channels), the header's data ignore value or in its bad bands are missing; the reflectance scale factor is
 * not applied. A
 * library without names has "Spectrum 1", ... Wavelengths in a unit that is no length are left out; where no
 * unit is given, those below 100 are micrometres. `out` must be zero or cleared; on failure it stays so.
 *
 * HC_E_INPUT: not such a file, a missing data file, sizes that do not fit, ragged lines, what is not a
 * number, no spectra. HC_E_UNSUPPORTED: complex or compressed values. */
HcStatus hc_library_read(HcLibrary *out, const char *path, HcError *err) HC_MUST_CHECK;

void hc_library_clear(HcLibrary *library);

#ifdef __cplusplus
}
#endif
#endif
