/* Five spectra and a scene of their mixtures, for tests of stages that tell how much of each is in a pixel.
 */
#ifndef HC_TESTS_SUPPORT_MIXTURES_H
#define HC_TESTS_SUPPORT_MIXTURES_H

#include "tests/support/strict_runs.h"

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

/* The next three are about a stage up to the name of its library: `step` is "unmix --library" or "abundance
 * --endmembers". They write library.csv.
 *
 * Fails the test unless the stage refuses libraries that are none or do not fit scene.img, wrong --scale and
 * --weights, components, class maps and files of earlier steps, and leaves no bad.img. */
void check_library_refusals(const char *step);

/* Fails the test unless a scene without a valid pixel becomes `bands` bands of NaN, with no pixels in the
 * record. */
void check_without_pixels(const char *step, const char *options, int32_t bands);

/* Runs `step` with the options on scene.img into some.img, with halos and further passes behind it, on the
 * CPU and on the strict backend; `check` looks at record.json, some.img and the notes of each run. */
void check_counts(const char *step, const char *options, void (*check)(const char *notes));

#endif
