/* One line a stage. */
#ifndef HC_PIPELINE_STAGES_STAGES_H
#define HC_PIPELINE_STAGES_STAGES_H

#include "pipeline/stage.h"

extern const HcStageClass hc_stage_read;
extern const HcStageClass hc_stage_bands;
extern const HcStageClass hc_stage_filter;
extern const HcStageClass hc_stage_cov;
extern const HcStageClass hc_stage_pca;
extern const HcStageClass hc_stage_mnf;
extern const HcStageClass hc_stage_svd;
extern const HcStageClass hc_stage_knn;
extern const HcStageClass hc_stage_unmix;
extern const HcStageClass hc_stage_abundance;
extern const HcStageClass hc_stage_write;
extern const HcStageClass hc_stage_preview;

#endif
