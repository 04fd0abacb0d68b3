/* A comparison, from two planned sources to its figures. */
#include "pipeline/compare/compare.h"
#include "core/allocate.h"
#include "pipeline/compare/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A class map, or the numbers of one without names. */
static bool may_be_classes(const HcScene *scene) {
    bool integers = scene->type != HC_FLOAT32 && scene->type != HC_FLOAT64;
    return hc_scene_is_class_map(scene) || (integers && scene->bands == 1);
}

static HcStatus choose_kind(const HcPair *pair, HcCompareKind asked, HcComparison *out, HcError *err) {
    const HcScene *of = hc_pair_scene(pair, 0), *to = hc_pair_scene(pair, 1);
    bool maps = (hc_scene_is_class_map(of) && may_be_classes(to)) ||
                (hc_scene_is_class_map(to) && may_be_classes(of));
    bool scores = !maps &&
                  (hc_scene_is_class_map(to) || (of->meaning == HC_OTHER && to->meaning != HC_OTHER)) &&
                  may_be_classes(to) && to->bands == 1;
    out->kind = asked != HC_COMPARE_AUTO ? asked
                : maps                   ? HC_COMPARE_CLASSES
                : scores                 ? HC_COMPARE_SCORES
                                         : HC_COMPARE_VALUES;
    for (int w = 0; w < 2 && out->kind == HC_COMPARE_CLASSES; w++) {
        const HcScene *scene = hc_pair_scene(pair, w);
        if (scene->bands > 1 && !hc_scene_is_class_map(scene)) {
            return hc_fail(err, HC_E_INPUT, "%s: has %d bands, a map of classes has one",
                           hc_pair_path(pair, w), scene->bands);
        }
    }
    return HC_OK;
}

static HcStatus open_difference(const HcPair *pair, HcCompareKind kind, int32_t size, HcDifferenceMap *to,
                                HcError *err) {
    int64_t longest = pair->lines > pair->samples ? pair->lines : pair->samples;
    if (size == 0 || kind == HC_COMPARE_SCORES) {
        return HC_OK;
    }
    to->step = (int32_t)((longest + size - 1) / size);
    to->width = (pair->samples + to->step - 1) / to->step;
    to->height = (int32_t)((pair->lines + to->step - 1) / to->step);
    HC_OR_RETURN(hc_new(to->plane, (size_t)to->width * (size_t)to->height, "a picture", err));
    return hc_new(to->valid, (size_t)to->width * (size_t)to->height, "a picture", err);
}

/* What the most demanding pass needs. */
static HcPairCost cost_of(const HcPair *pair, const HcCompareSettings *settings, HcCompareKind kind,
                          const HcDifferenceMap *map) {
    HcPairCost cost = {0};
    int32_t bands = hc_pair_scene(pair, 1)->bands;
    cost.held_bytes = settings->picture > 0 ? hc_comparison_draw_bytes(map) : 0;
    cost.held_bytes += kind == HC_COMPARE_SCORES ? hc_compare_scores_bytes(pair) : 0;
    if (kind == HC_COMPARE_VALUES) {
        cost.line_bytes = hc_compare_values_bytes(bands);
    }
    if (kind == HC_COMPARE_VALUES && !settings->no_ssim) {
        cost.context = HC_SSIM_REACH;
        cost.line_bytes += hc_compare_ssim_bytes(pair->samples, bands, &cost.fixed_bytes);
    }
    return cost;
}

HcStatus hc_compare(HcChain *scene, HcChain *truth, HcCompute *compute, const HcCompareSettings *settings,
                    HcComparison *out, HcError *err) {
    HcStatus status = HC_OK;
    HcPair pair = {0};
    HC_TRY(hc_pair_plan(&pair, scene, truth, err));
    for (int w = 0; w < 2; w++) {
        out->chain[w] = pair.chain[w];
        out->scene[w] = hc_pair_scene(&pair, w);
        out->path[w] = hc_pair_path(&pair, w);
    }
    HC_TRY(choose_kind(&pair, settings->kind, out, err));
    HC_TRY(open_difference(&pair, out->kind, settings->picture, &out->difference, err));
    HcPairCost cost = cost_of(&pair, settings, out->kind, &out->difference);
    const bool first_band_only[2] = {out->kind == HC_COMPARE_CLASSES, out->kind != HC_COMPARE_VALUES};
    HC_TRY(hc_pair_open(&pair, compute, first_band_only, &cost, settings, err));
    if (out->kind == HC_COMPARE_SCORES) {
        HC_TRY(hc_compare_scores(&pair, settings, out, err));
        goto done;
    }
    if (out->kind == HC_COMPARE_CLASSES) {
        HC_TRY(hc_compare_classes(&pair, settings->match, out, err));
        goto done;
    }
    HC_TRY(hc_match_bands(&pair, settings->match, out, err));
    HC_TRY(hc_compare_values(&pair, settings->peak, out, err));
    out->passes = 1 + (settings->match == HC_MATCH_BEST);
    if (!settings->no_ssim) {
        HC_TRY(hc_compare_ssim(&pair, out, err));
        out->passes++;
    }
done:
    hc_pair_close(&pair);
    return status;
}

void hc_comparison_clear(HcComparison *comparison) {
    free(comparison->values.band);
    for (int32_t b = 0; b < comparison->scores.bands; b++) {
        free(comparison->scores.band[b].curve[0]);
        free(comparison->scores.band[b].curve[1]);
    }
    free(comparison->scores.band);
    hc_accuracy_clear(&comparison->accuracy);
    hc_classes_clear(&comparison->classes);
    free(comparison->number[0]);
    free(comparison->number[1]);
    free(comparison->difference.plane);
    free(comparison->difference.valid);
    *comparison = (HcComparison){0};
}
