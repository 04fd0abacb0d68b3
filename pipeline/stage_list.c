#include "pipeline/stage.h"
#include "pipeline/stages/stages.h"

#include <string.h>

const HcStageClass *const hc_stage_list[] = {
    &hc_stage_read,
    &hc_stage_bands,
    &hc_stage_filter,
    &hc_stage_cov,
    &hc_stage_pca,
    &hc_stage_mnf,
    &hc_stage_svd,
    &hc_stage_knn,
    &hc_stage_unmix,
    &hc_stage_abundance,
    &hc_stage_write,
    &hc_stage_preview,
    NULL,
};

const HcStageClass *hc_stage_find(const char *name) {
    for (int i = 0; hc_stage_list[i] != NULL; i++) {
        if (strcmp(hc_stage_list[i]->name, name) == 0) {
            return hc_stage_list[i];
        }
    }
    return NULL;
}

HcStatus hc_stage_unknown(const char *name, HcError *err) {
    const char *names[64];
    size_t count = 0;
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
