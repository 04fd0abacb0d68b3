/* Units of wavelengths, as files spell them. */
#ifndef HC_IO_READ_WAVELENGTH_H
#define HC_IO_READ_WAVELENGTH_H

#include <stdint.h>

typedef enum HcUnitKind {
    HC_UNIT_SILENT, /* nothing is said */
    HC_UNIT_LENGTH,
    HC_UNIT_OTHER /* no length */
} HcUnitKind;

/* What a word says, and the nanometres in one of that unit (for lengths). NULL is silent. */
HcUnitKind hc_wavelength_unit(const char *word, double *nanometres);

/* The unit, and the nanometres in one of it, that is meant where nothing is said, from the largest
 * wavelength. */
const char *hc_wavelength_guess(double largest, double *nanometres);

/* The unit that a largest wavelength [nm] of an impossible size is rather in; NULL where the size is
 * possible. */
const char *hc_wavelength_doubt(double largest);

/* Fill values of netCDF (9.97e36) are lengths beyond this, in any unit. */
#define HC_WAVELENGTH_LIMIT 1e9

/* The first of `count` values that is no wavelength or width: not above 0, or beyond the limit; or `count`.
 */
int32_t hc_wavelength_wrong(const double *values, int32_t count);

#endif
