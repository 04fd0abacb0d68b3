/* The truth of the sample scene: its signal without noise, and the variance of its noise. */
#ifndef HC_TESTS_SUPPORT_TRUTH_H
#define HC_TESTS_SUPPORT_TRUTH_H

#include "tests/support/scene_files.h"

/* GOOD: bands that are not marked as bad. SIGNALS: directions that signal lies in (shares of the materials
 * add to 1). */
enum { SIDE = 100, ALL_BANDS = 64, GOOD = 59, MATERIALS = 6, SIGNALS = MATERIALS - 1 };

typedef struct Truth {
    Cube scene;       /* the good bands as stored */
    double *signal;   /* [pixels][GOOD], without noise */
    double *variance; /* [pixels][GOOD], of the noise */
} Truth;

/* "FOLDER/name" of a file of the sample data; returns buffer. */
const char *sample_path(char *buffer, size_t size, const char *name);

Truth truth_load(void);
void truth_free(Truth *truth);

/* NAME.img, NAME.hdr: an image of all bands that holds nothing but noise like the scene's. */
void truth_write_dark(const Truth *truth, const char *name);

/* Mean square error of values[pixels][GOOD] over the valid pixels, each band in units of its noise: 1 for the
 * scene itself. */
double truth_error(const Truth *truth, const double *values);

/* Its signal-to-noise ratio with the same weights: mean square of the signal over that error [dB]. */
double truth_snr(const Truth *truth, const double *values);

#endif
