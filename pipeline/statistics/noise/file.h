/* Noise file: a noise covariance that `cov --noise` has saved, for a stage with the option --noise. */
#ifndef HC_PIPELINE_STATISTICS_NOISE_FILE_H
#define HC_PIPELINE_STATISTICS_NOISE_FILE_H

#include "pipeline/stage.h"
#include "pipeline/statistics/noise/noise.h"

/* In plan: the noise covariance in the file `path`, the value of --noise. Reads it where `noise` is still
 * empty; the caller clears it. `words`: what else the option takes, NULL-terminated.
 *
 * HC_E_USAGE: a word that is none of `words` and no file, or `matrix` asks for entries that the file lacks.
 * HC_E_INPUT: statistics of a scene, not of its noise, or a file that cannot be read as such. */
HcStatus hc_noise_file_read(HcStatistics *noise, HcStage *stage, const char *path, const char *const *words,
                            HcNoiseMatrix matrix, HcError *err) HC_MUST_CHECK;

/* In plan: reduces the noise of the file (or dark image) `from` to the bands that come in, with a note. */
HcStatus hc_noise_file_take(HcStatistics *noise, HcStage *stage, const char *from,
                            HcError *err) HC_MUST_CHECK;

/* In fit, of noise by any model: HC_E_NUMERIC where no more pixels showed it than there are bands. */
HcStatus hc_noise_file_check(const HcStatistics *noise, const HcStage *stage, HcError *err) HC_MUST_CHECK;

#endif
