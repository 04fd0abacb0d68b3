/* Tap: looks at what passes between two steps, for the report: a thinned picture, and the mean and spread of
 * each band. It is a stage that the report puts into the chain, and that no user names. */
#ifndef HC_PIPELINE_REPORT_TAP_H
#define HC_PIPELINE_REPORT_TAP_H

#include "pipeline/stage.h"

extern const HcStageClass hc_report_tap;

#endif
