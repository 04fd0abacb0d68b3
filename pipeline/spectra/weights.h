/* Weights of bands by their noise: quiet bands count more. */
#ifndef HC_PIPELINE_SPECTRA_WEIGHTS_H
#define HC_PIPELINE_SPECTRA_WEIGHTS_H

#include "pipeline/stage.h"

/* For plan(): weights 1 / variance of the noise, with mean 1, of the bands that come into a stage. *weight
 * becomes fresh memory, [stage->in.bands], unless it is there already.
 *
 * `path` is a statistics file that cov --noise made (its name ends in .json), or a text. A text has a
 * standard deviation for each of these bands, or for each band of the file that the chain reads. Its numbers
 * are separated by blanks, line ends, commas or semicolons. NULL =
 * no weights are wanted; *weight stays as it is.
 *
 * Statistics of more bands give those that come in (hc_statistics_take), with a note.
 *
 * HC_E_INPUT: no such file, no statistics of noise, other bands, a value that is not a number above 0. */
HcStatus hc_weights_read(const char *path, HcStage *stage, double **weight, HcError *err) HC_MUST_CHECK;

#endif
