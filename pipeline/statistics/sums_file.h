/* Sums file: the moments of one scene or of its noise, as whole numbers. Moments of many scenes can be
 * added before a mean and a covariance are made of them. */
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

/* Whether sums of `scene` can be added to those of scenes before it (HC_E_INPUT): by number, wavelengths and
 * scaling of the bands. `path` names it in messages. */
HcStatus hc_saved_sums_check(const HcScene *before, const HcScene *scene, const char *path,
                             HcError *err) HC_MUST_CHECK;

/* Adds `from` to `to`, which may be zeroed; puts both onto one grid. `path` names `from` in messages.
 *
 * HC_E_INPUT: bands, differences or scalings differ. HC_E_NUMERIC: integers would become too large for a
 * covariance. */
HcStatus hc_saved_sums_add(HcSavedSums *to, HcSavedSums *from, const char *path, HcError *err) HC_MUST_CHECK;

#endif
