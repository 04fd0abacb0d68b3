/* Sums file: the moments of one scene or of its noise before a mean and a covariance are made of them, so
 * that those of several scenes can be added. They are whole numbers and stay so. */
#ifndef HC_PIPELINE_STATISTICS_SUMS_FILE_H
#define HC_PIPELINE_STATISTICS_SUMS_FILE_H

#include "core/sums/moments.h"

/* Zero-initialise; hc_saved_sums_clear() is always safe. */
typedef struct HcSavedSums {
    HcScene scene;           /* the bands */
    HcDifference difference; /* of neighbours that was summed, HC_DIFFERENCE_NONE = the values */
    HcMoments moments;
} HcSavedSums;

void hc_saved_sums_clear(HcSavedSums *sums);

/* `scene` gives the bands. An existing file is replaced only with `overwrite`. */
HcStatus hc_saved_sums_write(const char *path, const HcScene *scene, HcDifference difference,
                             const HcMoments *moments, bool overwrite, HcError *err) HC_MUST_CHECK;

/* Into zeroed sums, cleared by the caller also after a failure. */
HcStatus hc_saved_sums_read(const char *path, HcSavedSums *out, HcError *err) HC_MUST_CHECK;

/* Adds `from` to `to`, which may be zeroed; `from` is brought onto the same grid. Fails with HC_E_INPUT where
 * the two are of other bands, other differences or other scalings, and with HC_E_NUMERIC where integers would
 * become too large for a covariance; `path` names `from` in the message. */
HcStatus hc_saved_sums_add(HcSavedSums *to, HcSavedSums *from, const char *path, HcError *err) HC_MUST_CHECK;

#endif
