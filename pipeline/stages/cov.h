/* What mnf asks of a cov stage that measured a dark image. */
#ifndef HC_PIPELINE_STAGES_COV_H
#define HC_PIPELINE_STAGES_COV_H

#include "pipeline/stage.h"
#include "pipeline/statistics/statistics.h"

/* The statistics of a settled cov stage, now the caller's. */
HcStatistics hc_cov_take(HcStage *stage);

#endif
