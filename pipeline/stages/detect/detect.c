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
#include "pipeline/stages/linear.h"
#include "pipeline/stages/stages.h"
#include "pipeline/statistics/shrinkage.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef HcDetectParams Params; /* as tables of options name them */

static const char *const method_words[] = {"mf", "cem", "ace", "amf", "osp", "sam", "sid", "mtmf", NULL};

static const HcOption options[] = {
    {HC_CHOICE(Params, method), .choices = method_words, .standard = "ace", .help = "how pixels are scored"},
    {HC_TEXT(Params, targets), .file = HC_FILE_READ, .value = "FILE",
     .help = "spectra of the targets: a library as ENVI (.sli, .hdr) or CSV"},
    HC_LIBRARY_CHOICE_OPTIONS(Params, choice),
    {HC_TEXT(Params, scale), .value = "FACTOR|auto|none", .standard = "auto",
     .help = "factor that brings the library to the unit of the scene; auto takes it from headers and "
             "values, none is 1"},
    {HC_LIST(Params, pixels, "target-at"), .was = "target-pixel", .value = "SAMPLE,LINE[:SAMPLE,LINE...]",
     .help = "pixels of the scene are targets (from 0)"},
    {HC_FLAG(Params, absorption), .needs = "method=mf method=ace method=amf", .excludes = "target-at",
     .help =
         "targets are relative changes of the mean spectrum, such as the unit absorption of a gas: mf then "
         "gives amounts in their unit"},
    {HC_INT(Params, columns), .range = {1, 1000000}, .value = "COUNT", .otherwise = "one for the scene",
     .excludes = "background background-classes robust",
     .help = "a background for each COUNT neighbouring columns (1: each detector of a pushbroom sensor)"},
    HC_BACKGROUND_OPTIONS(Params, background),
    {HC_TEXT(Params, background.shrink, "shrink"), .check = hc_shrinkage_check, .value = HC_SHRINKAGE_WORDS,
     .standard = "none",
     .help = "mix the covariance with a multiple of the unit matrix of the same trace: by an estimate, or by "
             "this share (0 to 1)"},
    HC_RATES_OPTION(Params, rates),
    HC_DETECTION_OPTIONS(Params, detections),
    {0}};

/* ---- plan ---- */

static HcStatus check_params(const HcStage *stage, HcError *err) {
    const Params *params = hc_detect_params(stage);
    const HcDetectMethod *method = hc_detect_method(stage);
    const char *unused = params->background.file != NULL                     ? "background"
                         : params->background.mask != NULL                   ? "background-mask"
                         : params->background.classes != NULL                ? "background-classes"
                         : !isnan(params->background.robust)                 ? "robust"
                         : !hc_text_equal(params->background.shrink, "none") ? "shrink"
                                                                             : NULL;
    if (!method->background && unused != NULL) {
        return hc_fail(err, HC_E_USAGE, "detect: --%s: --method %s has no background", unused, method->name);
    }
    if (params->absorption && stage->in.meaning == HC_COMPONENT) {
        return hc_fail(err, HC_E_USAGE, "detect: --absorption: components come in, spectra are needed");
    }
    if (method->white) {
        const HcStage *before = hc_detect_transform(stage);
        if (before == NULL || before->kind->gives != HC_GIVES_WHITE_COMPONENTS) {
            return hc_fail(err, HC_E_USAGE,
                           "detect: --method mtmf: give mnf right before it (mnf --components)");
        }
    }
    if (method->white && (params->detections.path != NULL || params->rates >= 0)) {
        bool places = params->detections.path != NULL;
        return hc_fail(
            err, HC_E_USAGE,
            "detect: --%s %s: a detection of %s has a high share and a low infeasibility: no single order",
            places ? "detections" : "rates", places ? params->detections.path : hc_rate_words[params->rates],
            method->name);
    }
    if (method->spectra && stage->in.meaning == HC_COMPONENT) {
        return hc_fail(err, HC_E_USAGE, "detect: --method %s: components come in, spectra are needed",
                       method->name);
    }
    return HC_OK;
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

static HcStatus plan_bands(HcStage *stage, HcError *err) {
    int32_t rates = hc_detect_params(stage)->rates;
    HC_OR_RETURN(hc_scene_copy(&stage->out, &stage->in, err));
    HC_OR_RETURN(hc_scene_reband(&stage->out, scores_of(stage) * (1 + hc_rates_count(rates)), HC_OTHER, err));
    stage->out.has_nodata = false; /* any value may be a score: the mask alone says where there is none */
    HC_OR_RETURN(name_bands(stage, err));
    return hc_rates_name(stage, rates, scores_of(stage), err);
}

static bool by_columns(const HcStage *stage) {
    return hc_detect_params(stage)->columns > 0;
}

/* Whether pixels are compared with groups of pixels (pipeline/detections/background.h). */
static bool by_groups(const HcStage *stage) {
    return !by_columns(stage) && hc_detect_method(stage)->background;
}

static bool sums_scene(const HcStage *stage) {
    return by_groups(stage) && hc_detect_params(stage)->background.file == NULL;
}

/* Detectors: one for each group, or one. */
static int32_t detectors_of(const HcStage *stage) {
    int32_t groups = ((const HcDetectState *)stage->state)->background.count;
    return groups > 0 ? groups : 1;
}

static HcStatus plan_needs(HcStage *stage, HcError *err) {
    HcDetectState *state = stage->state;
    size_t bands = (size_t)stage->in.bands;
    size_t rows = (size_t)state->targets + 1 + bands;
    hc_stage_takes(stage, HC_SPACE_PIXEL,
                   hc_detect_method(stage)->background ? bands * sizeof(float) + 1 : 0);
    if (by_columns(stage)) {
        HC_OR_RETURN(hc_detect_columns_plan(stage, err));
    }
    if (by_groups(stage)) {
        HC_OR_RETURN(hc_background_plan(&state->background, stage, &hc_detect_params(stage)->background,
                                        state->targets, scores_of(stage), state->made, err));
    }
    hc_stage_takes(stage, HC_SPACE_DEVICE, (size_t)detectors_of(stage) * (rows + 1) * bands * sizeof(double));
    if (stage->settled || state->made) {
        return HC_OK;
    }
    if (hc_detect_looks(stage)) {
        stage->needs.observes = true;
        hc_stage_takes(stage, HC_SPACE_HOST, 2 * hc_spectra_bytes(&state->pixels, stage->in.bands));
        hc_stage_takes(stage, HC_SPACE_HOST,
                       state->library.fit.count > 0 ? hc_scaled_library_bytes(&state->library) : 0);
    }
    return HC_OK;
}

static HcStatus check_rates(const HcStage *stage, HcError *err) {
    const Params *params = hc_detect_params(stage);
    bool shrunk = params->background.shrink != NULL && !hc_text_equal(params->background.shrink, "none");
    char why[64];
    HcNull null = shrunk ? HC_NULL_UNKNOWN : hc_detect_method(stage)->null;
    (void)snprintf(why, sizeof why, "%s %s", shrunk ? "with" : "of",
                   shrunk ? "--shrink" : hc_detect_method(stage)->name);
    return hc_rates_check(stage, params->rates, null, why, err);
}

static HcStatus plan(HcStage *stage, HcError *err) {
    HcDetectState *state = stage->state;
    HC_OR_RETURN(hc_statistics_of_values(&stage->in, "detect", err));
    HC_OR_RETURN(check_params(stage, err));
    HC_OR_RETURN(hc_detect_plan_targets(stage, err));
    HC_OR_RETURN(check_rates(stage, err));
    HC_OR_RETURN(plan_bands(stage, err));
    HC_OR_RETURN(plan_needs(stage, err));
    hc_rates_plan(&state->rates, stage, hc_detect_params(stage)->rates, scores_of(stage), state->made);
    return hc_detections_plan(stage, &hc_detect_params(stage)->detections, scores_of(stage), err);
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

/* The detectors can score: law[groups][scores]. */
static HcStatus fit_rates(HcStage *stage, const HcNullLaw *law, HcError *err) {
    HcDetectState *state = stage->state;
    if (state->detections.law != NULL && state->background.label == NULL) {
        memcpy(state->detections.law, law, (size_t)scores_of(stage) * sizeof *law);
    }
    state->rates.label = state->background.label;
    return hc_rates_fit(&state->rates, stage, detectors_of(stage), law, err);
}

/* Refuses a covariance without an inverse. */
static HcStatus shrink(HcStage *stage, HcBackgroundGroup *group, HcError *err) {
    hc_background_shrink(group, &hc_detect_params(stage)->background);
    if (group->shrinkage == 0 && group->statistics.pixels <= stage->in.bands) {
        return hc_fail(err, HC_E_NUMERIC,
                       "detect: the background has %lld pixels, fewer than %d bands need: give more pixels, "
                       "fewer bands, or --shrink",
                       (long long)group->statistics.pixels, stage->in.bands);
    }
    return HC_OK;
}

static HcDetectInput input_of(const HcStage *stage, const double *spectrum, int32_t number) {
    const HcDetectState *state = stage->state;
    const HcStage *transform = hc_detect_transform(stage);
    HcDetectInput in = {.compute = stage->compute,
                        .bands = stage->in.bands,
                        .targets = state->targets,
                        .spectrum = spectrum,
                        .name = state->name,
                        .absorption = hc_detect_params(stage)->absorption};
    if (state->background.count > 0) {
        const HcStatistics *background = &state->background.group[number].statistics;
        in.pixels = background->pixels;
        in.mean = background->mean;
        in.covariance = background->covariance;
    }
    if (transform != NULL) {
        in.variance = ((const HcLinear *)transform->state)->transform.eigenvalues;
    }
    return in;
}

/* Pixels far from the background along a target, on either side, are no part of it: among many bands a weak
 * target is not far by its whole distance. */
static HcStatus trim_group(HcStage *stage, const double *spectrum, int32_t number, HcError *err) {
    HcStatus status = HC_OK;
    HcDetectState *state = stage->state;
    HcScoring filter = {0};
    HcDetectInput in = input_of(stage, spectrum, number);
    HC_TRY(hc_detect_filter(&in, in.covariance, in.mean, &filter, err));
    for (size_t i = 0; i < (size_t)in.bands * (size_t)in.targets; i++) {
        filter.projection[i] /= filter.deviation[i % (size_t)in.targets];
    }
    HcFar far = {.directions = in.targets, .projection = filter.projection, .offset = in.mean};
    HC_TRY(hc_background_trim(&state->background, stage, &hc_detect_params(stage)->background, number, &far,
                              err));
done:
    hc_scoring_clear(&filter);
    return status;
}

static HcStatus trim(HcStage *stage, HcError *err) {
    HcStatus status = HC_OK;
    const HcBackground *background = &((const HcDetectState *)stage->state)->background;
    double *spectrum = NULL;
    HC_TRY(hc_detect_spectra(stage, &spectrum, err));
    for (int32_t g = 0; g < background->count; g++) {
        if (hc_background_trims(background, g)) {
            HC_TRY(hc_background_named(background, stage, g, trim_group(stage, spectrum, g, err), err));
        }
    }
done:
    free(spectrum);
    return status;
}

/* Of targets and background, which are there. law: [scores]. */
static HcStatus make_group(HcStage *stage, const double *spectrum, int32_t number, HcNullLaw *law,
                           HcError *err) {
    HcStatus status = HC_OK;
    HcDetectState *state = stage->state;
    HcBackground *background = &state->background;
    HcScoring detector = {0};
    HcNullLaw unknown = {0};
    if (by_groups(stage)) {
        HC_TRY(shrink(stage, &background->group[number], err));
    }
    HcDetectInput in = input_of(stage, spectrum, number);
    HC_TRY(hc_detect_method(stage)->make(&in, &detector, err));
    HC_TRY(upload(stage, &detector, &state->detector[number], err));
    set_laws(stage, &detector,
             by_groups(stage) ? hc_background_law(background, &hc_detect_params(stage)->background, number,
                                                  hc_detect_method(stage)->null, detector.components)
                              : unknown,
             law);
done:
    hc_scoring_clear(&detector);
    return status;
}

static HcStatus make(HcStage *stage, HcError *err) {
    HcStatus status = HC_OK;
    HcDetectState *state = stage->state;
    int32_t count = detectors_of(stage);
    double *spectrum = NULL;
    HcNullLaw *law = NULL;
    HC_TRY(hc_detect_spectra(stage, &spectrum, err));
    if (by_columns(stage)) {
        HC_TRY(hc_detect_columns_make(stage, spectrum, err));
        state->made = true;
        goto done;
    }
    HC_TRY(hc_new(state->detector, count, "detectors", err));
    HC_TRY(hc_new(law, (size_t)count * (size_t)scores_of(stage), "distributions of scores", err));
    for (int32_t g = 0; g < count; g++) {
        HC_TRY(hc_background_named(
            &state->background, stage, g,
            make_group(stage, spectrum, g, law + (size_t)g * (size_t)scores_of(stage), err), err));
    }
    state->made = true;
    HC_TRY(fit_rates(stage, law, err));
done:
    free(law);
    free(spectrum);
    return status;
}

/* ---- the run ---- */

static HcStatus open_detect(HcStage *stage, HcError *err) {
    HcDetectState *state = stage->state;
    const HcDetectionParams *detections = &hc_detect_params(stage)->detections;
    if (detections->path != NULL) {
        HC_OR_RETURN(hc_detections_open(&state->detections, detections, scores_of(stage),
                                        hc_detect_method(stage)->low, err));
    }
    HC_OR_RETURN(hc_rates_open(&state->rates, stage, hc_detect_method(stage)->low, err));
    if (!sums_scene(stage) && !by_columns(stage) && !hc_detect_looks(stage)) {
        return make(stage, err);
    }
    if (sums_scene(stage)) {
        HC_OR_RETURN(hc_background_open(&state->background, stage, &hc_detect_params(stage)->background,
                                        scores_of(stage), err));
    }
    if (by_columns(stage)) {
        HC_OR_RETURN(hc_detect_columns_open(stage, err));
    }
    return hc_detect_open_targets(stage, err);
}

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
    HcDetectState *state = stage->state;
    return by_columns(stage)
               ? hc_detect_columns_process(stage, queue, in, out, err)
               : hc_background_score(&state->background, stage, score_group, queue, in, out, scratch, err);
}

static HcStatus observe(HcStage *stage, HcQueue *queue, const HcBlock *in, HcError *err) {
    HcDetectState *state = stage->state;
    if (state->made) {
        return hc_rates_observe(&state->rates, stage, score, queue, in, err);
    }
    if (sums_scene(stage)) {
        HC_OR_RETURN(hc_background_observe(&state->background, stage, queue, in, err));
    }
    if (by_columns(stage)) {
        HC_OR_RETURN(hc_detect_columns_observe(stage, queue, in, err));
    }
    return stage->round == 0 ? hc_detect_observe_targets(stage, queue, in, err) : HC_OK;
}

static HcStatus settle(HcStage *stage, HcQueue *queue, HcError *err) {
    HcDetectState *state = stage->state;
    HcBackgroundNext next = HC_BACKGROUND_DONE;
    if (state->made) {
        state->columns.bare = state->background.bare = 0; /* counted again in process */
        return hc_rates_settle(&state->rates, stage, err);
    }
    if (sums_scene(stage)) {
        HC_OR_RETURN(hc_background_settle(&state->background, stage, &hc_detect_params(stage)->background,
                                          queue, &next, err));
        stage->needs.rounds += hc_rates_observes(hc_detect_params(stage)->rates);
    }
    if (stage->round == 0) {
        HC_OR_RETURN(hc_detect_settle_targets(stage, queue, err));
    }
    return next == HC_BACKGROUND_TRIM   ? trim(stage, err)
           : next == HC_BACKGROUND_DONE ? make(stage, err)
                                        : HC_OK;
}

static HcStatus process(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out, void *scratch,
                        HcError *err) {
    HcDetectState *state = stage->state;
    return hc_detect_params(stage)->rates < 0
               ? score(stage, queue, in, out, scratch, err)
               : hc_rates_process(&state->rates, stage, score, queue, in, out, err);
}

static HcStatus consume(HcStage *stage, const HcBlock *block, HcError *err) {
    HcDetectState *state = stage->state;
    (void)err;
    hc_detections_consume(&state->detections, block);
    return HC_OK;
}

static HcStatus gather(HcStage *stage, HcError *err) {
    HcDetectState *state = stage->state;
    if (by_columns(stage)) {
        HC_OR_RETURN(hc_detect_columns_gather(stage, err));
    }
    HC_OR_RETURN(hc_background_gather(&state->background, stage, err));
    return hc_detections_gather(&state->detections, stage, err);
}

static HcStatus finish(HcStage *stage, HcError *err) {
    HcDetectState *state = stage->state;
    return hc_detections_finish(&state->detections, stage, &hc_detect_params(stage)->detections,
                                (const char *const *)state->name, err);
}

static void report(const HcStage *stage, HcJson *to) {
    const HcDetectState *state = stage->state;
    const HcDetectMethod *method = hc_detect_method(stage);
    if (!state->made) {
        return;
    }
    hc_json_put_text(to, "score", method->what);
    hc_detections_report(&state->detections, to);
    hc_json_open_array(to, "targets");
    for (int32_t j = 0; j < state->targets; j++) {
        hc_json_put_text(to, NULL, state->name[j]);
    }
    hc_json_close(to);
    if (state->library.fit.count > 0) {
        hc_json_put_double(to, "scale", state->library.factor);
        hc_library_figures_json(&state->library.fit.figures, to);
    }
    if (by_columns(stage)) {
        hc_detect_columns_report(stage, to);
    } else if (method->background) {
        if (state->background.label == NULL) {
            hc_json_put_number(to, "background_pixels", (double)state->background.group[0].statistics.pixels);
        }
        hc_background_report(&state->background, &hc_detect_params(stage)->background, to);
    }
}

static void release(const HcStage *stage, HcDeviceScoring *detector) {
    hc_memory_release(stage->compute, &detector->projection);
    hc_memory_release(stage->compute, &detector->offset);
    hc_memory_release(stage->compute, &detector->rows);
}

static void close_detect(HcStage *stage) {
    HcDetectState *state = stage->state;
    for (int32_t g = 0; g < detectors_of(stage) && state->detector != NULL; g++) {
        release(stage, &state->detector[g]);
    }
    free(state->detector);
    hc_background_close(&state->background, stage);
    hc_detect_columns_close(stage);
    hc_rates_close(&state->rates, stage);
    free(state->name);
    hc_scaled_library_clear(&state->library, stage->compute);
    hc_spectra_clear(&state->pixels, stage->compute);
    hc_detections_close(&state->detections);
    *state = (HcDetectState){0};
}

static const char *unit(const HcStage *stage, int32_t band) {
    return band < scores_of(stage) ? hc_detect_method(stage)->score_unit : NULL;
}

const HcStageClass hc_stage_detect = {
    .name = "detect",
    .summary = "targets: how much each pixel is like given spectra (mf, cem, ace, amf, osp, sam, sid, mtmf)",
    .cite = "Manolakis, Lockwood, Cooley: Hyperspectral Imaging Remote Sensing, Cambridge 2016",
    .example = "hcube detect scene.hdr scores.tif --targets library.sli --spectra 1-3 --method ace",
    .role = HC_ROLE_STAGE,
    .options = options,
    .params_size = sizeof(HcDetectParams),
    .state_size = sizeof(HcDetectState),
    .plan = plan,
    .open = open_detect,
    .observe = observe,
    .settle = settle,
    .process = process,
    .consume = consume,
    .gather = gather,
    .finish = finish,
    .report = report,
    .rare = {.unit = unit},
    .close = close_detect,
};
