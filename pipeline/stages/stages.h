/* All stages, one line each, in the order of the help. The line declares `hc_stage_NAME` and puts it into
 * hc_stage_list; the file NAME.c in this folder defines it, and is found by CMake. */
#ifndef HC_PIPELINE_STAGES_STAGES_H
#define HC_PIPELINE_STAGES_STAGES_H

#include "pipeline/stage.h"

#define HC_STAGES(STAGE)                                                                                     \
    STAGE(read)                                                                                              \
    STAGE(bands)                                                                                             \
    STAGE(filter)                                                                                            \
    STAGE(cov)                                                                                               \
    STAGE(dimension)                                                                                         \
    STAGE(pca)                                                                                               \
    STAGE(mnf)                                                                                               \
    STAGE(svd)                                                                                               \
    STAGE(knn)                                                                                               \
    STAGE(unmix)                                                                                             \
    STAGE(abundance)                                                                                         \
    STAGE(rx)                                                                                                \
    STAGE(write)                                                                                             \
    STAGE(preview)

#define HC_STAGE_DECLARATION(name) extern const HcStageClass hc_stage_##name;
HC_STAGES(HC_STAGE_DECLARATION)

#endif
