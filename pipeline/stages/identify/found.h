/* What was found, over its references: some thousand pixels tell which classes are frequent, and their mean
 * spectra. Nothing is kept where no picture and no report is wanted. */
#ifndef HC_PIPELINE_STAGES_IDENTIFY_FOUND_H
#define HC_PIPELINE_STAGES_IDENTIFY_FOUND_H

#include "pipeline/stage.h"

/* The hooks of the stage, each for this part. */
HcStatus hc_identify_plan_found(HcStage *stage, HcError *err) HC_MUST_CHECK;
HcStatus hc_identify_open_found(HcStage *stage, HcError *err) HC_MUST_CHECK;
HcStatus hc_identify_add_found(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out,
                               HcError *err) HC_MUST_CHECK;
HcStatus hc_identify_gather_found(HcStage *stage, HcError *err) HC_MUST_CHECK;
HcStatus hc_identify_draw_found(HcStage *stage, HcError *err) HC_MUST_CHECK;
HcStatus hc_identify_panels(const HcStage *stage, HcPanels *to, HcError *err) HC_MUST_CHECK;
void hc_identify_report_found(const HcStage *stage, HcJson *to);

#endif
