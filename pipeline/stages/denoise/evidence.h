/* Evidence: what neighbouring pixels and bands show of the noise that is left beside the kept components.
 *
 * An estimate of a gain rests on noise that is independent between pixels and between bands, and of one
 * level. The dropped components hold noise alone, so that they can be tested for all of that. Stripes and
 * dead pixels lie in kept components, too. All is looked at in pairs of lines (HcStage.neighbours). */
#ifndef HC_PIPELINE_STAGES_DENOISE_EVIDENCE_H
#define HC_PIPELINE_STAGES_DENOISE_EVIDENCE_H

#include "pipeline/stage.h"
#include "pipeline/statistics/transform.h"

typedef struct HcEvidence {
    bool small;    /* the scene has too few pixels or bands for a test */
    bool found;    /* false: that, or too many components are kept to see noise beside them */
    double pixels; /* larger correlation of neighbours in a line or in a column */
    double bands;  /* correlation of neighbouring bands beyond that of the transform */
    double model;  /* mean deviation of the variances of bands from the model, relative */
    double tails;  /* excess of the fourth power in bands */
    double levels; /* relative variance of the noise level (squared) between pixels */
    double lone;   /* part of the pixels that both neighbours in the line differ from, fourfold in power */
    double count;  /* of pixels */
    double left;   /* components that were dropped */
} HcEvidence;

/* What spectra are changed by before they are transformed; NULL = not at all. */
typedef struct HcEvidenceChange {
    const double *offset;  /* [samples][bands] */
    const double *inverse; /* [samples] factor */
} HcEvidenceChange;

/* In plan, where the stage observes. */
void hc_evidence_plan(HcStage *stage);

/* own[bands]: variance of the signal that is left in each band, as far as neighbours share it; NULL = not
 * wanted. Stays as it is where nothing is found. */
HcStatus hc_evidence_find(HcEvidence *out, const HcStage *stage, const HcTransform *transform, int32_t used,
                          const HcEvidenceChange *change, double *own, HcError *err) HC_MUST_CHECK;

/* Why no gain and no map of errors can be trusted; NULL: they can. */
const char *hc_evidence_doubt(const HcEvidence *evidence);

/* Noise without correlation between bands or neighbours. */
bool hc_evidence_is_independent(const HcEvidence *evidence);

/* Noise that follows the signal, or impulses, and independent: what differs between bands is noise then. */
bool hc_evidence_is_uneven(const HcEvidence *evidence);

void hc_evidence_put(const HcEvidence *evidence, HcJson *to);

#endif
