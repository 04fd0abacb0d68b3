#include "pipeline/stage.h"
#include "figure/figure.h"
#include "pipeline/stages/classify/svm.h"
#include "pipeline/stages/stages.h"

#include <string.h>

#define STAGE_ADDRESS(name) &hc_stage_##name,
const HcStageClass *const hc_stage_list[] = {HC_STAGES(STAGE_ADDRESS) NULL};

const HcStageClass *hc_stage_find(const char *name) {
    for (int i = 0; hc_stage_list[i] != NULL; i++) {
        if (strcmp(hc_stage_list[i]->name, name) == 0) {
            return hc_stage_list[i];
        }
    }
    return NULL;
}

void hc_stages_libraries(HcText *text) {
    hc_figure_libraries(text);
    hc_svm_library(text);
}

void hc_stages_on_fatal(void (*leave)(const char *text)) {
    hc_figure_on_fatal(leave);
}

HcStatus hc_stage_unknown(const char *name, HcError *err) {
    const char *names[64];
    size_t count = 0;
    const char *here = name[0] == '-' ? NULL : hc_foreign_advice(name);
    if (here != NULL) {
        return hc_fail(err, HC_E_USAGE, "%s: unknown stage; as a command: %s", name, here);
    }
    for (; hc_stage_list[count] != NULL && count < 63; count++) {
        names[count] = hc_stage_list[count]->name;
    }
    names[count] = NULL;
    const char *nearest = hc_text_nearest(name, names);
    if (nearest != NULL) {
        return hc_fail(err, HC_E_USAGE, "%s: unknown stage, did you mean %s?", name, nearest);
    }
    return hc_fail(err, HC_E_USAGE, "%s: unknown stage (hcube stages lists them)", name);
}
