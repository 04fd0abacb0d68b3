/* Invented but plausible reflectance spectra, evaluated at any wavelength from 350 to 2550 nm. */
#ifndef SAMPLE_DATA_SPECTRA_H
#define SAMPLE_DATA_SPECTRA_H

#include <stddef.h>

/* Number of spectra in the library. */
size_t spectrum_count(void);

/* Name of a spectrum; free of commas and braces, so that it can stand in an ENVI list and in a CSV header. */
const char *spectrum_name(size_t index);

/* Index of the spectrum of that name, or spectrum_count() if there is none. */
size_t spectrum_find(const char *name);

/* Reflectance (0 to 1) at a wavelength in nanometres, at infinitely fine spectral resolution. */
double spectrum_reflectance(size_t index, double wavelength);

/* Reflectance (0 to 1) as a band sees it: the mean over a Gaussian response of that centre and full width. */
double spectrum_in_band(size_t index, double centre, double fwhm);

#endif
