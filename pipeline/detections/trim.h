/* Trim: leaves out pixels that are far from the background, so that its statistics can be taken again without
 * them. */
#ifndef HC_PIPELINE_DETECTIONS_TRIM_H
#define HC_PIPELINE_DETECTIONS_TRIM_H

#include "pipeline/stage.h"

/* Which pixels x are far: with y = projection' (x - offset), those with y'y above limit^2 (squares), or with
 * an |y[j]| above limit. Borrowed. */
typedef struct HcFar {
    int32_t directions;
    const double *projection; /* [bands][directions] */
    const double *offset;     /* [bands] */
    bool squares;
    double limit; /* > 0 */
} HcFar;

/* What hc_trim_take() works in; several may share it. Zero-initialise; hc_trim_work_close() is always safe.
 */
typedef struct HcTrimWork {
    HcBuffer index; /* [device] 0, 1, 2... */
    HcBuffer part;  /* [device] */
} HcTrimWork;

/* Zero-initialise; hc_trim_close() is always safe. */
typedef struct HcTrim {
    int32_t directions; /* 0 = all pixels stay */
    bool squares;
    const HcTrimWork *work;
    HcBuffer projection, offset; /* [device] */
    double *along;               /* [bands][directions] the projection that pixels were left out by */
    double limit;
} HcTrim;

/* In plan: adds the memory of `count` HcTrim to stage->needs, for parts of at most `lines` lines and
 * `directions`.
 */
void hc_trim_plan(HcStage *stage, int32_t count, int32_t lines, int32_t directions);
/* Between two passes: from now on these pixels are left out. lines, directions: as planned, at least those of
 * `far`. `work` is opened where it is not, and borrowed. */
HcStatus hc_trim_set(HcTrim *trim, HcTrimWork *work, HcStage *stage, const HcFar *far, int32_t lines,
                     int32_t directions, HcError *err) HC_MUST_CHECK;
/* A block without halo, of at most that many lines: far pixels become masked. *out is a view of memory that
 * the next call uses again, on the same queue. */
HcStatus hc_trim_take(HcTrim *trim, HcQueue *queue, const HcBlock *in, HcBlock *out,
                      HcError *err) HC_MUST_CHECK;
void hc_trim_close(HcTrim *trim, HcCompute *compute);
void hc_trim_work_close(HcTrimWork *work, HcCompute *compute);

/* The limit that this share of the `pixels` of a Gaussian background exceeds: of |y| in the given number of
 * directions (squares), or of one |y[j]|. y has variance 1 by their covariance. 0 < rate < 1. */
double hc_trim_limit(double rate, int64_t pixels, int32_t directions, bool squares);
/* The covariance [bands][bands] of the pixels that were left, made that of a Gaussian before any was left
 * out. Of a square limit all of it was too small by one factor. Else it was too small along the projection.
 */
HcStatus hc_trim_undo(const HcTrim *trim, double *covariance, int32_t bands, HcError *err) HC_MUST_CHECK;

#endif
