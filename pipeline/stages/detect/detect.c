/* detect: how much each pixel is like a target, by one of several methods.
 *
 * A method makes a detector (detect.h) of targets and background once; pixels then go through one or two
 * operations, so that a scene costs a projection or a reduction, and not a program of its own for each
 * method.
 */
#include "pipeline/stages/detect/detect.h"
#include "core/allocate.h"
#include "core/operation/image/project.h"
#include "pipeline/memory.h"
#include "pipeline/stages/shared/linear.h"
#include "pipeline/stages/stages.h"
#include "pipeline/statistics/shrinkage.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef HcDetectParams Params; /* as tables of options name them */

static const char *const method_words[] = {"mf", "cem", "ace", "amf", "osp", "sam", "sid", "mtmf", NULL};

static const HcOption options[] = {
    {HC_CHOICE(Params, method), .choices = method_words, .standard = "ace", .help = "method of scoring"},
    {HC_TEXT(Params, targets), .file = HC_FILE_READ, .value = "FILE",
     .help = "spectra of the targets: a library as ENVI (.sli, .hdr) or CSV"},
    HC_LIBRARY_CHOICE_OPTIONS(Params, choice),
    {HC_TEXT(Params, scale), .value = "FACTOR|auto|none", .standard = "auto",
     .help = "factor from the unit of the library to that of the scene; auto takes it from headers and "
             "values, none is 1"},
    {HC_LIST(Params, pixels, "target-at"), .was = "target-pixel", .value = "SAMPLE,LINE[:SAMPLE,LINE...]",
     .help = "use these pixels of the scene as targets (from 0)"},
    {HC_FLAG(Params, absorption), .needs = "method=mf method=ace method=amf", .excludes = "target-at",
     .help =
         "targets are relative changes of the mean spectrum, such as the unit absorption of a gas: mf then "
         "gives amounts in their unit"},
    HC_BACKGROUND_OPTIONS(Params, scored.background),
    {HC_TEXT(Params, scored.background.shrink, "shrink"), .check = hc_shrinkage_check,
     .value = HC_SHRINKAGE_WORDS, .standard = "none",
     .help = "mix the covariance with a multiple of the unit matrix of the same trace: by an estimate, or by "
             "this share (0 to 1)"},
    HC_RATES_OPTION(Params, scored.rates),
    HC_DETECTION_OPTIONS(Params, scored.detections),
    {0}};

/* ---- plan ---- */

static const HcBackgroundParams *background_params(const HcStage *stage) {
    return &hc_detect_params(stage)->scored.background;
}

/* What a method without a background makes no use of. */
static HcStatus check_unused(const HcStage *stage, HcError *err) {
    const HcBackgroundParams *background = background_params(stage);
    const char *unused = background->file != NULL                     ? "background"
                         : background->groups.by.count > 0            ? "by"
                         : !isnan(background->robust)                 ? "robust"
                         : !hc_text_equal(background->shrink, "none") ? "shrink"
                                                                      : NULL;
    return unused == NULL || hc_detect_method(stage)->background
               ? HC_OK
               : hc_fail(err, HC_E_USAGE, "detect: --%s: --method %s has no background", unused,
                         hc_detect_method(stage)->name);
}

static HcStatus check_mixture(const HcStage *stage, HcError *err) {
    static const char why[] = "a detection of mtmf has a high share and a low infeasibility: no single order";
    const HcScoredParams *params = &hc_detect_params(stage)->scored;
    const HcStage *before = hc_detect_transform(stage);
    if (before == NULL || before->kind->gives != HC_GIVES_WHITE_COMPONENTS) {
        return hc_fail(err, HC_E_USAGE, "detect: --method mtmf: give mnf right before it (mnf --components)");
    }
    if (params->detections.path != NULL) {
        return hc_fail(err, HC_E_USAGE, "detect: --detections %s: %s", params->detections.path, why);
    }
    return params->rates < 0
               ? HC_OK
               : hc_fail(err, HC_E_USAGE, "detect: --rates %s: %s", hc_rate_words[params->rates], why);
}

static HcStatus check_params(const HcStage *stage, HcError *err) {
    const HcDetectMethod *method = hc_detect_method(stage);
    bool absorption = hc_detect_params(stage)->absorption;
    HC_OR_RETURN(check_unused(stage, err));
    if (stage->in.meaning == HC_COMPONENT && (absorption || method->spectra)) {
        return hc_fail(err, HC_E_USAGE, "detect: --%s%s: components come in, spectra are needed",
                       absorption ? "absorption" : "method ", absorption ? "" : method->name);
    }
    return method->white ? check_mixture(stage, err) : HC_OK;
}

static HcStatus name_bands(HcStage *stage, HcError *err) {
    const HcDetectState *state = stage->state;
    const HcDetectMethod *method = hc_detect_method(stage);
    int32_t band = 0;
    for (int32_t j = 0; j < state->targets; j++) {
        for (int32_t s = 0; method->suffix[s] != NULL; s++) {
            /* An angle or divergence of a pixel that is the target is rounding. */
            HC_OR_RETURN(hc_scene_agree(&stage->out, band, (HcAgreement){.within = 0x1p-40}, err));
            HC_OR_RETURN(
                hc_scene_name_band(&stage->out, band++, err, "%s%s", state->name[j], method->suffix[s]));
        }
    }
    return HC_OK;
}

/* Bands that are scores. */
static int32_t scores_of(const HcStage *stage) {
    int32_t each = 0;
    while (hc_detect_method(stage)->suffix[each] != NULL) {
        each++;
    }
    return each * ((const HcDetectState *)stage->state)->targets;
}

/* Sums of columns alone have operations of their own. Other products, and what takes more passes, go group by
 * group. */
static bool has_columns_alone(const HcStage *stage) {
    const HcBackgroundParams *params = background_params(stage);
    const HcGrouping *grouping = &((const HcDetectState *)stage->state)->scored.background.grouping;
    return grouping->width > 0 && grouping->label == NULL && isnan(params->robust) &&
           !hc_shrinkage_needs_powers(params->shrink);
}

static const HcScorerClass *choose(const HcStage *stage);

static HcStatus plan_needs(HcStage *stage, HcError *err) {
    HcDetectState *state = stage->state;
    HcScored *scored = &state->scored;
    size_t bands = (size_t)stage->in.bands;
    size_t rows = (size_t)state->targets + 1 + bands;
    scored->observes = hc_detect_looks(stage);
    hc_stage_takes(stage, HC_SPACE_PIXEL,
                   hc_detect_method(stage)->background ? bands * sizeof(float) + 1 : 0);
    HC_OR_RETURN(
        hc_background_plan_groups(&scored->background, stage, background_params(stage), scored->made, err));
    const HcScorerClass *kind = choose(stage);
    int32_t detectors = kind->fit != NULL ? scored->background.grouping.count : 1;
    hc_stage_takes(stage, HC_SPACE_DEVICE, (size_t)detectors * (rows + 1) * bands * sizeof(double));
    if (scored->observes && !stage->settled && !scored->made) {
        stage->needs.observes = true;
        hc_stage_takes(stage, HC_SPACE_HOST, 2 * hc_spectra_bytes(&state->pixels, stage->in.bands));
        hc_stage_takes(stage, HC_SPACE_HOST,
                       state->library.fit.count > 0 ? hc_scaled_library_bytes(&state->library) : 0);
    }
    return hc_scored_plan(stage, kind, state->targets, err);
}

static HcStatus plan(HcStage *stage, HcError *err) {
    HcDetectState *state = stage->state;
    char why[64];
    HC_OR_RETURN(hc_statistics_of_values(&stage->in, "detect", err));
    HC_OR_RETURN(check_params(stage, err));
    HC_OR_RETURN(hc_detect_plan_targets(stage, err));
    (void)snprintf(why, sizeof why, "of %s", hc_detect_method(stage)->name);
    HC_OR_RETURN(hc_scored_check_rates(stage, hc_detect_method(stage)->null, why, err));
    HC_OR_RETURN(hc_scored_plan_bands(stage, scores_of(stage), err));
    HC_OR_RETURN(name_bands(stage, err));
    state->scored.name = state->name;
    state->scored.low = hc_detect_method(stage)->low;
    return plan_needs(stage, err);
}

/* ---- the detector ---- */

static HcStatus upload(HcStage *stage, const HcScoring *scoring, HcDeviceScoring *detector, HcError *err) {
    size_t bands = (size_t)stage->in.bands;
    size_t directions = (size_t)scoring->directions;
    detector->directions = scoring->directions;
    detector->reduction = scoring->reduction;
    if (scoring->projection != NULL) {
        HC_OR_RETURN(hc_memory_upload(stage->compute, scoring->projection,
                                      bands * directions * sizeof(double), &detector->projection, err));
    }
    if (scoring->offset != NULL) {
        HC_OR_RETURN(hc_memory_upload(stage->compute, scoring->offset, bands * sizeof(double),
                                      &detector->offset, err));
    }
    if (scoring->rows != NULL) {
        size_t rows = (size_t)hc_reduce_targets(scoring->reduction, scores_of(stage));
        HC_OR_RETURN(hc_memory_upload(stage->compute, scoring->rows, rows * directions * sizeof(double),
                                      &detector->rows, err));
    }
    return HC_OK;
}

/* What the targets add to the distribution of their scores: law[targets]. Relative changes of the mean are
 * not distances from it. */
static void set_laws(const HcStage *stage, const HcScoring *detector, HcNullLaw law, HcNullLaw *to) {
    for (int32_t j = 0; j < scores_of(stage); j++) {
        to[j] = law;
        if (law.null != HC_NULL_UNKNOWN) {
            to[j].deviation = detector->deviation[j];
            to[j].nearness = hc_detect_params(stage)->absorption ? 0 : detector->deviation[j];
        }
    }
}

/* Refuses a covariance without an inverse. */
static HcStatus shrink(HcStage *stage, HcBackgroundGroup *group, HcError *err) {
    hc_background_shrink(group, background_params(stage));
    if (group->shrinkage == 0 && group->statistics.pixels <= stage->in.bands) {
        return hc_fail(err, HC_E_NUMERIC,
                       "detect: the background has %lld pixels, fewer than %d bands need: give more pixels, "
                       "fewer bands, or --shrink",
                       (long long)group->statistics.pixels, stage->in.bands);
    }
    return HC_OK;
}

static HcDetectInput input_of(const HcStage *stage, int32_t number) {
    const HcDetectState *state = stage->state;
    const HcStatistics *background = &state->scored.background.group[number].statistics;
    const HcStage *transform = hc_detect_transform(stage);
    HcDetectInput in = {.compute = stage->compute,
                        .bands = stage->in.bands,
                        .targets = state->targets,
                        .spectrum = state->spectrum,
                        .name = state->name,
                        .absorption = hc_detect_params(stage)->absorption,
                        .pixels = background->pixels,
                        .mean = background->mean,
                        .covariance = background->covariance};
    if (transform != NULL) {
        in.variance = ((const HcLinear *)transform->state)->transform.eigenvalues;
    }
    return in;
}

/* Pixels far from the background along a target, on either side, are no part of it: among many bands a weak
 * target is not far by its whole distance. */
static HcStatus trim_group(HcStage *stage, int32_t number, HcError *err) {
    HcStatus status = HC_OK;
    HcDetectState *state = stage->state;
    HcScoring filter = {0};
    HC_TRY(hc_detect_spectra(stage, err));
    HcDetectInput in = input_of(stage, number);
    HC_TRY(hc_detect_filter(&in, in.covariance, in.mean, &filter, err));
    for (size_t i = 0; i < (size_t)in.bands * (size_t)in.targets; i++) {
        filter.projection[i] /= filter.deviation[i % (size_t)in.targets];
    }
    HcFar far = {.directions = in.targets, .projection = filter.projection, .offset = in.mean};
    HC_TRY(hc_background_trim(&state->scored.background, stage, background_params(stage), number, &far, err));
done:
    hc_scoring_clear(&filter);
    return status;
}

static HcStatus begin_fit(HcStage *stage, HcNullLaw *law, HcError *err) {
    HcDetectState *state = stage->state;
    (void)law;
    HC_OR_RETURN(hc_detect_spectra(stage, err));
    return hc_new(state->detector, state->scored.background.grouping.count, "detectors", err);
}

/* law: [scores], once the detector of a group is there; 0 = not known. */
static HcStatus make(HcStage *stage, int32_t number, HcNullLaw *law, bool known, HcError *err) {
    HcStatus status = HC_OK;
    HcDetectState *state = stage->state;
    HcScoring detector = {0};
    HcDetectInput in = input_of(stage, number);
    HC_TRY(hc_detect_method(stage)->make(&in, &detector, err));
    HC_TRY(upload(stage, &detector, &state->detector[number], err));
    if (known) {
        set_laws(stage, &detector,
                 hc_background_law(&state->scored.background, background_params(stage), number,
                                   hc_detect_method(stage)->null, detector.components),
                 law);
    }
done:
    hc_scoring_clear(&detector);
    return status;
}

static HcStatus fit_group(HcStage *stage, int32_t number, HcNullLaw *law, HcError *err) {
    HC_OR_RETURN(shrink(stage, &((HcDetectState *)stage->state)->scored.background.group[number], err));
    return make(stage, number, law, true, err);
}

static HcStatus fit_alone(HcStage *stage, int32_t number, HcNullLaw *law, HcError *err) {
    return make(stage, number, law, false, err);
}

/* ---- the run ---- */

static HcStatus score_group(HcStage *stage, int32_t number, HcQueue *queue, const HcBlock *in,
                            const HcBlock *out, void *scratch, HcError *err) {
    const HcDeviceScoring *detector = &((const HcDetectState *)stage->state)->detector[number];
    if (detector->rows.data == NULL) {
        return hc_project(queue, in, detector->projection.data, detector->offset.data, NULL, out, err);
    }
    if (detector->projection.data == NULL) {
        return hc_reduce(queue, in, detector->reduction, detector->rows.data, out, err);
    }
    HcBlock white = *out;
    white.bands = detector->directions;
    white.data = scratch;
    white.mask = (uint8_t *)scratch + hc_block_values(&white) * sizeof(float);
    HC_OR_RETURN(hc_project(queue, in, detector->projection.data, detector->offset.data, NULL, &white, err));
    return hc_reduce(queue, &white, detector->reduction, detector->rows.data, out, err);
}

static HcStatus score(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out, void *scratch,
                      HcError *err) {
    return hc_scored_by_groups(stage, score_group, queue, in, out, scratch, err);
}

static void report_groups(const HcStage *stage, HcJson *to) {
    const HcBackground *background = &((const HcDetectState *)stage->state)->scored.background;
    if (hc_grouping_is_one(&background->grouping)) {
        hc_json_put_number(to, "background_pixels", (double)background->group[0].statistics.pixels);
    }
    hc_background_report(background, background_params(stage), to);
}

static const HcScorerClass by_groups = {.groups = true,
                                        .open = hc_detect_open_targets,
                                        .observe = hc_detect_observe_targets,
                                        .settle = hc_detect_settle_targets,
                                        .trim = trim_group,
                                        .begin_fit = begin_fit,
                                        .fit = fit_group,
                                        .score = score,
                                        .report = report_groups};

/* By the targets alone. */
static const HcScorerClass by_targets = {.open = hc_detect_open_targets,
                                         .observe = hc_detect_observe_targets,
                                         .settle = hc_detect_settle_targets,
                                         .begin_fit = begin_fit,
                                         .fit = fit_alone,
                                         .score = score};

static const HcScorerClass *choose(const HcStage *stage) {
    return !hc_detect_method(stage)->background ? &by_targets
           : has_columns_alone(stage)           ? &hc_detect_by_columns
                                                : &by_groups;
}

static void report(const HcStage *stage, HcJson *to) {
    const HcDetectState *state = stage->state;
    if (!state->scored.made) {
        return;
    }
    hc_json_put_text(to, "score", hc_detect_method(stage)->what);
    hc_json_put_texts(to, "targets", (const char *const *)state->name, state->targets);
    if (state->library.fit.count > 0) {
        hc_json_put_double(to, "scale", state->library.factor);
        hc_library_figures_json(&state->library.fit.figures, to);
    }
    hc_scored_report(stage, to);
}

static void release(const HcStage *stage, HcDeviceScoring *detector) {
    hc_memory_release(stage->compute, &detector->projection);
    hc_memory_release(stage->compute, &detector->offset);
    hc_memory_release(stage->compute, &detector->rows);
}

static void close_detect(HcStage *stage) {
    HcDetectState *state = stage->state;
    for (int32_t g = 0; g < state->scored.background.grouping.count && state->detector != NULL; g++) {
        release(stage, &state->detector[g]);
    }
    free(state->detector);
    free(state->spectrum);
    hc_detect_columns_close(stage);
    hc_scored_close(stage);
    free(state->name);
    hc_scaled_library_clear(&state->library, stage->compute);
    hc_spectra_clear(&state->pixels, stage->compute);
    *state = (HcDetectState){0};
}

static const char *unit(const HcStage *stage, int32_t band) {
    return band < scores_of(stage) ? hc_detect_method(stage)->score_unit : NULL;
}

const HcStageClass hc_stage_detect = {
    .name = "detect",
    .summary = "similarity of each pixel to target spectra (mf, cem, ace, amf, osp, sam, sid, mtmf)",
    .cite = "Manolakis, Lockwood, Cooley: Hyperspectral Imaging Remote Sensing, Cambridge 2016",
    .example = "hcube detect scene.hdr scores.tif --targets library.sli --spectra 1-3 --method ace",
    .role = HC_ROLE_STAGE,
    .options = options,
    .params_size = sizeof(HcDetectParams),
    .state_size = sizeof(HcDetectState),
    .plan = plan,
    HC_SCORED_HOOKS,
    .report = report,
    .rare = {.unit = unit},
    .close = close_detect,
};
