/* What a pooled fit asks of an mnf stage. */
#ifndef HC_PIPELINE_STAGES_MNF_H
#define HC_PIPELINE_STAGES_MNF_H

#include "pipeline/stage.h"

/* The difference of neighbours that a parsed mnf takes noise from, HC_DIFFERENCE_NONE = a file or a dark
 * image; *window is its --noise-window (borrowed), or NULL. */
HcDifference hc_mnf_noise(const HcStage *stage, const char **window);

#endif
