/* Tap: looks at what passes between two steps, for the report: a thinned picture, and the mean and spread of
 * each band. It is a stage that the report puts into the chain, and that no user names. */
#ifndef HC_PIPELINE_REPORT_TAP_H
#define HC_PIPELINE_REPORT_TAP_H

#include "pipeline/stage.h"

extern const HcStageClass hc_report_tap;

/* The mean of each band of what passed, and its standard deviation [bands], of the pixels that are shown.
 * NULL where the tap saw no spectra, or no pixel. */
typedef struct HcTapSpectra {
    const double *mean, *deviation;
    int64_t pixels;
} HcTapSpectra;
bool hc_tap_spectra(const HcStage *tap, HcTapSpectra *out);

#endif
