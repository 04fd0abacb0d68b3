/* Units of wavelengths, as files spell them. */
#ifndef HC_IO_READ_WAVELENGTH_H
#define HC_IO_READ_WAVELENGTH_H

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

#endif
