/* Five spectra and a scene of their mixtures, for tests of stages that tell how much of each is in a pixel.
 */
#ifndef HC_TESTS_SUPPORT_MIXTURES_H
#define HC_TESTS_SUPPORT_MIXTURES_H

#include "tests/support/scene_files.h"

/* Blocks begin at multiples of 10 lines, as their samples have it. */
enum { LINES = 27, SAMPLES = 103, BANDS = 14, SPECTRA = 5, PIXELS = LINES * SAMPLES };

extern const char *const spectrum_names[SPECTRA];

/* A band of a spectrum; a float. */
double library_value(int spectrum, int band);

/* NAME: the library, one spectrum a line, the values times `factor`; then `zeros` spectra of zeros. */
void library_write(const char *name, double factor, int zeros);

/* Standard deviations of the noise, one a band, and a list of them as --weights takes it. */
double deviation_of(int band);
void deviations_write(const char *name);

/* Mixtures of up to three spectra with noise, and with `outliers` now and then one, times `factor`. */
Cube mixtures_new(double factor, bool outliers);

/* NAME.img and NAME.hdr, which has the wavelengths of the library and takes -9999 for nodata; `more` are
 * further header lines. */
void mixtures_write(const Cube *cube, const char *name, const char *more);

/* The result of the step behind the reading in record.json; *json is to be deleted. */
const cJSON *read_result(cJSON **json);

/* Checks what a result says of all spectra against abundances [LINES][SAMPLES][SPECTRA or more], NaN where
 * masked. */
void check_spectra(const cJSON *result, const Cube *abundances);

#endif
