#include "pipeline/stage.h"
#include "figure/figure.h"
#include "pipeline/stages/classify/svm.h"
#include "pipeline/stages/stages.h"

#include <string.h>
#include <strings.h>

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

/* Words of other programs, and what does the same here. */
static const char *const foreign[][2] = {
    {"convert", "hcube write SCENE OUTPUT"},
    {"translate", "hcube write SCENE OUTPUT"},
    {"gdal_translate", "hcube write SCENE OUTPUT"},
    {"gdalinfo", "hcube info SCENE"},
    {"subset", "hcube bands SCENE LIST OUTPUT; --window of read for lines and samples"},
    {"spectral_subset", "hcube bands SCENE LIST OUTPUT"},
    {"quicklook", "hcube preview SCENE PICTURE.png"},
    {"stats", "hcube cov SCENE STATISTICS.json"},
    {"covariance", "hcube cov SCENE STATISTICS.json"},
    {"pc", "hcube pca SCENE OUTPUT"},
    {"minimum_noise_fraction", "hcube mnf SCENE OUTPUT"},
    {"mnf_denoise", "hcube mnf SCENE OUTPUT --denoise"},
    {"reed_xiaoli", "hcube rx SCENE OUTPUT"},
    {"anomaly", "hcube rx SCENE OUTPUT"},
    {"sam", "hcube detect SCENE OUTPUT --targets FILE --method sam"},
    {"spectral_angle_mapper", "hcube detect SCENE OUTPUT --targets FILE --method sam"},
    {"sid", "hcube detect SCENE OUTPUT --targets FILE --method sid"},
    {"ace", "hcube detect SCENE OUTPUT --targets FILE --method ace"},
    {"mf", "hcube detect SCENE OUTPUT --targets FILE --method mf"},
    {"matched_filter", "hcube detect SCENE OUTPUT --targets FILE --method mf"},
    {"cem", "hcube detect SCENE OUTPUT --targets FILE --method cem"},
    {"amf", "hcube detect SCENE OUTPUT --targets FILE --method amf"},
    {"osp", "hcube detect SCENE OUTPUT --targets FILE --method osp"},
    {"mtmf",
     "hcube run read SCENE ! mnf --components COUNT ! detect --targets FILE --method mtmf ! write OUTPUT"},
    {"ppi", "hcube endmembers SCENE LIBRARY --method ppi --count COUNT"},
    {"nfindr", "hcube endmembers SCENE LIBRARY --method nfindr --count COUNT"},
    {"n-findr", "hcube endmembers SCENE LIBRARY --method nfindr --count COUNT"},
    {"smacc", "hcube endmembers SCENE LIBRARY --count COUNT"},
    {"atgp", "hcube endmembers SCENE LIBRARY --count COUNT"},
    {"vca", "hcube endmembers SCENE LIBRARY --count COUNT"},
    {"vd", "hcube dimension SCENE"},
    {"hysime", "hcube dimension SCENE"},
    {"hfc", "hcube dimension SCENE"},
    {"nwhfc", "hcube dimension SCENE"},
    {"snr", "hcube noise SCENE"},
    {"rmse", "hcube compare SCENE TRUTH"},
    {"confusion", "hcube compare MAP TRUTH"},
    {"gdalcompare", "hcube compare SCENE TRUTH"},
    {"lda", "hcube classify SCENE OUTPUT --training FILE --method lda"},
    {"ml", "hcube classify SCENE OUTPUT --training FILE --method ml"},
    {"maximum_likelihood", "hcube classify SCENE OUTPUT --training FILE --method ml"},
    {"svm", "hcube classify SCENE OUTPUT --training FILE --method svm"},
    {"minimum_distance", "hcube classify SCENE OUTPUT --training FILE --method distance"},
    {"isodata", "hcube kmeans SCENE OUTPUT"},
    {"nnls", "hcube unmix SCENE OUTPUT --library FILE --lambda 0"},
    {"fcls", "hcube unmix SCENE OUTPUT --library FILE --sum-to-one"},
    {"sunsal", "hcube unmix SCENE OUTPUT --library FILE"},
    {"unmixing", "hcube unmix SCENE OUTPUT --library FILE, hcube abundance SCENE OUTPUT --endmembers FILE"},
};

const char *hc_stage_foreign(const char *name) {
    for (size_t f = 0; f < sizeof foreign / sizeof *foreign; f++) {
        if (strcasecmp(foreign[f][0], name) == 0) {
            return foreign[f][1];
        }
    }
    return NULL;
}

HcStatus hc_stage_unknown(const char *name, HcError *err) {
    const char *names[64];
    size_t count = 0;
    const char *here = hc_stage_foreign(name);
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
