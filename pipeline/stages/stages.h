/* All stages, one line each, in the order of the help. The line declares `hc_stage_NAME` and puts it into
 * hc_stage_list; the file NAME.c in this folder defines it, and is found by CMake. */
#ifndef HC_PIPELINE_STAGES_STAGES_H
#define HC_PIPELINE_STAGES_STAGES_H

#include "pipeline/stage.h"
#include "pipeline/statistics/statistics.h"

#define HC_STAGES(STAGE)                                                                                     \
    STAGE(read)                                                                                              \
    STAGE(bands)                                                                                             \
    STAGE(reflectance)                                                                                       \
    STAGE(destripe)                                                                                          \
    STAGE(filter)                                                                                            \
    STAGE(smooth)                                                                                            \
    STAGE(resample)                                                                                          \
    STAGE(cov)                                                                                               \
    STAGE(noise)                                                                                             \
    STAGE(dimension)                                                                                         \
    STAGE(pca)                                                                                               \
    STAGE(mnf)                                                                                               \
    STAGE(denoise)                                                                                           \
    STAGE(svd)                                                                                               \
    STAGE(endmembers)                                                                                        \
    STAGE(extract)                                                                                           \
    STAGE(knn)                                                                                               \
    STAGE(classify)                                                                                          \
    STAGE(kmeans)                                                                                            \
    STAGE(identify)                                                                                          \
    STAGE(unmix)                                                                                             \
    STAGE(abundance)                                                                                         \
    STAGE(rx)                                                                                                \
    STAGE(detect)                                                                                            \
    STAGE(continuum)                                                                                         \
    STAGE(index)                                                                                             \
    STAGE(write)                                                                                             \
    STAGE(figure)                                                                                            \
    STAGE(preview)

#define HC_STAGE_DECLARATION(name) extern const HcStageClass hc_stage_##name;
HC_STAGES(HC_STAGE_DECLARATION)

/* For mnf: the statistics of a settled cov stage that measured a dark image, now the caller's. */
HcStatistics hc_cov_take(HcStage *stage);

#endif
