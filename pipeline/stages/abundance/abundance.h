/* What the stage abundance shares with its proofs. */
#ifndef HC_PIPELINE_STAGES_ABUNDANCE_H
#define HC_PIPELINE_STAGES_ABUNDANCE_H

#include "pipeline/stage.h"

/* Pixels without a proof that are named. */
#define HC_PROOF_NAMED 100

typedef struct HcPixelProof {
    int64_t line, sample; /* from 0 */
    double error;         /* that is proved; NaN counts as the largest one */
} HcPixelProof;

/* What is proved of all pixels: that they are within `limit` of their optimum. Plain data. */
typedef struct HcAbundanceProof {
    double limit;
    int64_t pixels;   /* that were looked at: those that are valid */
    int64_t unproved; /* of them, with a larger error */
    HcPixelProof worst;
    HcPixelProof named[HC_PROOF_NAMED]; /* the first without a proof, in the order of the scene */
} HcAbundanceProof;

/* Looks at the pixels of a block in host memory, whose last band holds errors. Blocks come in order. */
void hc_abundance_proof_add(HcAbundanceProof *proof, const HcBlock *block);

/* All ranks: what is proved of all their pixels. */
HcStatus hc_abundance_proof_gather(HcAbundanceProof *proof, HcRanks *ranks, HcError *err) HC_MUST_CHECK;

/* Notes the worst pixel, and which are without a proof. */
void hc_abundance_proof_note(HcStage *stage, const HcAbundanceProof *proof);

/* Adds it to a record, as an object `proof`. */
void hc_abundance_proof_json(const HcAbundanceProof *proof, HcJson *to);

#endif
