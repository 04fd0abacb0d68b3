/* Empirical line: targets of known reflectance in the scene give an offset and a gain of each band. */
#ifndef HC_PIPELINE_STAGES_REFLECTANCE_EMPIRICAL_H
#define HC_PIPELINE_STAGES_REFLECTANCE_EMPIRICAL_H

#include "pipeline/spectra/spectra.h"
#include "pipeline/stage.h"

enum { HC_EMPIRICAL_SQUARES, HC_EMPIRICAL_ROBUST };
extern const char *const hc_empirical_words[];

typedef struct HcEmpiricalParams {
    const char *points, *field, *layer; /* points NULL = no empirical line */
    const char *spectra, *picture;
    int32_t fit;
} HcEmpiricalParams;

/* Zero-initialise; hc_empirical_close() is always safe. Reflectance = offset + gain value. */
typedef struct HcEmpirical {
    HcSpectra pixels;
    int32_t targets;
    float *expected;       /* [targets][bands] reflectance in the library */
    double *mean;          /* [targets][bands] values in the scene, once fitted */
    int64_t *count;        /* [targets] valid pixels */
    double *gain, *offset; /* [bands] */
    double *residual;      /* [bands] root mean square */
    double *r2;            /* [bands] NaN = the targets have one reflectance */
} HcEmpirical;

/* In plan: reads points and spectra once, and what memory they take. */
HcStatus hc_empirical_plan(HcStage *stage, HcEmpirical *empirical, const HcEmpiricalParams *params,
                           HcError *err) HC_MUST_CHECK;

/* All ranks, when all pixels are gathered (HcEmpirical.pixels): fits, and notes how well.
 *
 * HC_E_NUMERIC: a target without a valid pixel, a band in which all targets have one value. */
HcStatus hc_empirical_settle(HcStage *stage, HcEmpirical *empirical, const HcEmpiricalParams *params,
                             HcError *err) HC_MUST_CHECK;

/* Spectra of the targets, measured and of the library: as a file, or where path is NULL as a panel. */
HcStatus hc_empirical_draw(const HcStage *stage, const HcEmpirical *empirical, const char *path, HcPanels *to,
                           HcError *err) HC_MUST_CHECK;
void hc_empirical_report(const HcStage *stage, const HcEmpirical *empirical, HcJson *to);
void hc_empirical_close(HcStage *stage, HcEmpirical *empirical);

#endif
