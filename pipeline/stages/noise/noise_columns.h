/* Noise columns: the noise of each band in each group of neighbouring columns. In a pushbroom sensor a column
 * is one detector, with a noise of its own.
 *
 * The regression is that of the scene: residual r_b = w_b'(x - m_g), with w_b of all pixels and m_g, the mean
 * of the group. So its variance is w_b' S_g w_b, with S_g from the exact sums of the group: no pixel is read
 * again, and a group needs far fewer pixels than a regression of its own. Offsets of columns (stripes) do not
 * count. */
#ifndef HC_PIPELINE_STAGES_NOISE_COLUMNS_H
#define HC_PIPELINE_STAGES_NOISE_COLUMNS_H

#include "pipeline/statistics/column_sums.h"
#include "pipeline/json/json.h"
#include "pipeline/statistics/statistics.h"

/* Zero-initialise; hc_noise_columns_close() is always safe. */
typedef struct HcNoiseColumns {
    int32_t width; /* columns of a group; 0 = not asked for */
    int32_t bands;
    HcColumnSums sums;
    int64_t groups;
    int64_t *pixels;   /* [groups] */
    double *deviation; /* [groups][bands] of the noise; NaN = fewer than two pixels */
    double *relative;  /* [groups] median over the bands of that over the one of the scene; NaN = none */
} HcNoiseColumns;

/* Numbers (double) that each thread works in. */
size_t hc_noise_columns_room(int32_t bands);

/* In settle, once columns->sums are taken; the caller closes these. `regression`: noise of the scene, with
 * covariances (HC_NOISE_FULL); constant bands have 0. May be called again, with another regression. */
HcStatus hc_noise_columns_find(HcNoiseColumns *columns, const HcStatistics *regression,
                               HcError *err) HC_MUST_CHECK;

/* A note where pixels took no part. */
void hc_noise_columns_note(const HcNoiseColumns *columns, HcStage *stage);

/* The group with the least (or the most) relative noise, -1 = none has one. */
int64_t hc_noise_columns_extreme(const HcNoiseColumns *columns, bool most);

/* An array: first column (from 1), columns, pixels, relative noise and the noise of each band. */
void hc_noise_columns_put(const HcNoiseColumns *columns, HcJson *to);

/* A table with a row for each group: the same, a column a band. */
HcStatus hc_noise_columns_csv(const HcNoiseColumns *columns, const char *path, bool overwrite,
                              HcError *err) HC_MUST_CHECK;

void hc_noise_columns_close(HcNoiseColumns *columns);

#endif
