/* Reference: the mean of the dark or white lines of a line scanner, for each detector column and band. */
#ifndef HC_PIPELINE_STAGES_REFLECTANCE_REFERENCE_H
#define HC_PIPELINE_STAGES_REFLECTANCE_REFERENCE_H

#include "pipeline/stage.h"

/* What an option names: a file, or lines or columns of the scene itself. */
typedef struct HcReferenceOf {
    const char *option;       /* "--dark", for messages */
    const char *path;         /* borrowed */
    int64_t line0, lines;     /* that are read; lines 0 = all */
    int64_t sample0, samples; /* whose mean all columns get; samples 0 = each column has its own */
} HcReferenceOf;

/* Owns its arrays. Zero-initialise, then hc_reference_clear() is always safe. */
typedef struct HcReference {
    double *mean;       /* [samples][bands] of the stage; NaN = no value */
    uint8_t *saturated; /* [samples][bands] 1 = a value reaches the limit */
    double line;        /* the middle of its lines, counted in the file */
    int64_t lines;
} HcReference;

/* Reads FILE, lines=A-B or columns=A-B (from 1); the last two are of the scene of the chain. */
HcStatus hc_reference_parse(const HcStage *stage, const char *option, const char *text, HcReferenceOf *of,
                            HcError *err) HC_MUST_CHECK;

/* In plan: whether the file is there and has the columns and bands of the scene. No pixel is read. */
HcStatus hc_reference_check(const HcStage *stage, const HcReferenceOf *of, HcError *err) HC_MUST_CHECK;

/* Reads the lines in blocks. Sums are in float64, in the order of lines. Values that are nodata, NaN or
 * infinite are left out. */
HcStatus hc_reference_read(const HcStage *stage, const HcReferenceOf *of, float limit, HcReference *out,
                           HcError *err) HC_MUST_CHECK;
void hc_reference_clear(HcReference *reference);

/* Host memory that a reference holds, and that reading one takes besides. */
size_t hc_reference_bytes(const HcStage *stage);
size_t hc_reference_work_bytes(const HcStage *stage);

#endif
