/* cov: mean and covariance of a scene or of its noise, saved as a statistics file; or the sums for them. */
#include "core/allocate.h"
#include "io/file.h"
#include "pipeline/chain.h"
#include "pipeline/stages/stages.h"
#include "pipeline/statistics/noise/choice.h"
#include "pipeline/statistics/sums.h"
#include "pipeline/statistics/sums_file.h"

#include <stdlib.h>

typedef struct Params {
    const char *path;
    int32_t noise, matrix;
    const char *window;
    bool sums;
    bool overwrite;
    HcGroupingParams groups;
} Params;

/* The pixels of one group. */
typedef struct Group {
    HcSceneSums sums;
    HcSceneSums differences; /* with --noise auto */
    HcMoments moments;       /* with --sums */
    HcStatistics statistics;
    HcNoiseChoice choice;
} Group;

typedef struct State {
    HcWindow window;
    HcGrouping grouping;
    Group *group; /* [grouping.count] */
} State;

static const HcOption options[] = {
    {HC_TEXT(Params, path, "output"), .file = HC_FILE_WRITTEN, .value = "STATISTICS.json", .positional = true,
     .required = true, .help = "statistics file to write"},
    {HC_CHOICE(Params, noise), .choices = hc_noise_models, .otherwise = "statistics of the scene",
     .help = "write the statistics of the noise, estimated by this difference of neighbours, or by "
             "regression of each band on all others. spatial-spectral: regression of shift differences; "
             "spatial-spectral-lower: of shift-lower differences. auto: regression or mean3x3, whichever the "
             "scene confirms"},
    {HC_NOISE_MATRIX_OPTION(Params, matrix), .needs = "noise", .excludes = "sums"},
    {HC_TEXT(Params, window, "noise-window"), .was = "window", .unit = "pixels", .value = "X,Y,W,H",
     .otherwise = "the whole scene",
     .help = "use only this rectangle: first sample and first line (from 0), samples, lines"},
    {HC_BY_OPTION(Params, groups), .value = HC_BY_CLASSES_VALUE, .otherwise = "all pixels",
     .help =
         "mask: take the pixels that it leaves (as --mask of read). classes: make statistics of each class "
         "in this map or vector file. Separated by a comma: of what the mask leaves of each class"},
    HC_CLASS_FIELD_OPTIONS(Params, groups),
    {HC_FLAG(Params, sums), .help = "save sums instead of mean and covariance; sums of several scenes can be "
                                    "added, as batch --pool does"},
    {HC_FLAG(Params, overwrite), .help = "replace an existing file"},
    {0}};

static const char *noise_of(const HcStage *stage) {
    const Params *params = stage->params;
    return params->noise >= 0 ? hc_noise_models[params->noise] : "";
}

/* NONE: the scene itself is summed. */
static HcDifference kind_of(const HcStage *stage) {
    return hc_noise_difference_of(noise_of(stage));
}

static HcStatus check_params(const Params *params, const char *noise, HcError *err) {
    if (params->sums && (hc_noise_is_regression(noise) || hc_noise_is_auto(noise))) {
        return hc_fail(err, HC_E_USAGE,
                       "cov: --sums --noise %s: a regression needs the sums of the scene (--sums alone)",
                       noise);
    }
    if (params->sums && hc_noise_is_spatial_spectral(noise)) {
        return hc_fail(err, HC_E_USAGE,
                       "cov: --sums --noise %s: it needs the sums of the differences (--sums --noise %s)",
                       noise, hc_noise_word_of(hc_noise_difference_of(noise)));
    }
    return HC_OK;
}

/* Kinds of sums that a group has: one, or two with --noise auto. */
static int32_t kinds_of(const HcStage *stage) {
    return hc_noise_is_auto(noise_of(stage)) ? 2 : 1;
}

static HcDifference difference_of(const HcStage *stage, int32_t kind) {
    return kind > 0 ? HC_NOISE_AUTO_DIFFERENCE : kind_of(stage);
}

static HcSceneSums *sums_of(const HcStage *stage, int32_t number, int32_t kind) {
    Group *group = &((State *)stage->state)->group[number];
    return kind > 0 ? &group->differences : &group->sums;
}

/* Every block is summed once for each class that it holds. */
static HcStatus plan_groups(HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    State *state = stage->state;
    HcGrouping *grouping = &state->grouping;
    int32_t halo = hc_scene_sums_halo(&stage->in, difference_of(stage, kinds_of(stage) - 1));
    HC_OR_RETURN(hc_grouping_plan(grouping, stage, &params->groups, HC_BY_MASK | HC_BY_CLASSES,
                                  !stage->settled, halo, err));
    if (params->sums && !hc_grouping_is_one(grouping)) {
        return hc_fail(err, HC_E_USAGE, "cov: --sums: the file has one group, --by classes=%s has %d",
                       grouping->classes, grouping->count);
    }
    for (int32_t k = 0; k < kinds_of(stage) * grouping->count && !stage->settled; k++) {
        hc_scene_sums_plan(stage, difference_of(stage, k % kinds_of(stage)));
    }
    return state->group != NULL ? HC_OK : hc_new(state->group, grouping->count, "sums of groups", err);
}

static HcStatus plan(HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    State *state = stage->state;
    HC_OR_RETURN(check_params(params, noise_of(stage), err));
    HC_OR_RETURN(hc_statistics_of_values(&stage->in, "cov", err));
    HC_OR_RETURN(hc_scene_copy(&stage->out, &stage->in, err));
    if (params->window != NULL) {
        HC_OR_RETURN(hc_window_parse(params->window, &stage->in, &state->window, err));
    }
    stage->needs.passes_through = true;
    stage->output = params->path;
    return plan_groups(stage, err);
}

static HcStatus open_cov(HcStage *stage, HcError *err) {
    State *state = stage->state;
    const HcWindow *window = ((const Params *)stage->params)->window != NULL ? &state->window : NULL;
    int32_t kinds = kinds_of(stage);
    for (int32_t k = 0; k < kinds * state->grouping.count; k++) {
        HcSceneSums *sums = sums_of(stage, k / kinds, k % kinds);
        hc_scene_sums_by(sums, &state->grouping, k / kinds);
        HC_OR_RETURN(hc_scene_sums_open(sums, stage, difference_of(stage, k % kinds), window, err));
    }
    return HC_OK;
}

static HcStatus observe(HcStage *stage, HcQueue *queue, const HcBlock *in, HcError *err) {
    int32_t kinds = kinds_of(stage);
    for (int32_t k = 0; k < kinds * ((State *)stage->state)->grouping.count; k++) {
        HC_OR_RETURN(hc_scene_sums_add(sums_of(stage, k / kinds, k % kinds), stage, queue, in, err));
    }
    return HC_OK;
}

static HcStatus parts(HcStage *stage, HcGramPart *to, int32_t *count, HcError *err) {
    for (int32_t k = 0; k < kinds_of(stage); k++) {
        HC_OR_RETURN(hc_scene_sums_part(sums_of(stage, 0, k), stage, to, count, err));
    }
    return HC_OK;
}

static HcStatus settle_auto(HcStage *stage, Group *group, HcQueue *queue, HcError *err) {
    HcStatus status = HC_OK;
    const Params *params = stage->params;
    HcStatistics scene = {0};
    HcMoments differences = {0};
    HC_TRY(hc_scene_sums_statistics(&group->sums, stage, queue, "", &scene, err));
    HC_TRY(hc_scene_sums_take(&group->differences, stage, queue, &differences, err));
    HC_TRY(hc_noise_choose(&group->choice, &group->statistics, stage->compute, &scene, &differences,
                           (HcNoiseMatrix)params->matrix, err));
    hc_noise_choice_note(stage, &group->choice);
done:
    hc_statistics_clear(&scene);
    hc_moments_clear(&differences);
    return status;
}

/* Of the scene, or of its differences. */
static HcStatus settle_regression(HcStage *stage, Group *group, HcQueue *queue, HcError *err) {
    HcNoiseMatrix matrix = (HcNoiseMatrix)((const Params *)stage->params)->matrix;
    HcMoments moments = {0};
    HcStatus status = hc_scene_sums_take(&group->sums, stage, queue, &moments, err);
    if (status == HC_OK) {
        status = hc_noise_in_range_by(noise_of(stage), &group->statistics, &stage->in, &moments, matrix, err);
    }
    if (status == HC_OK) {
        hc_noise_range_note(stage, &group->statistics);
    }
    hc_moments_clear(&moments);
    return status;
}

static HcStatus settle_group(HcStage *stage, Group *group, HcQueue *queue, HcError *err) {
    const Params *params = stage->params;
    if (params->sums) {
        return hc_scene_sums_take(&group->sums, stage, queue, &group->moments, err);
    }
    if (hc_noise_is_auto(noise_of(stage))) {
        return settle_auto(stage, group, queue, err);
    }
    if (hc_noise_is_regression(noise_of(stage)) || hc_noise_is_spatial_spectral(noise_of(stage))) {
        return settle_regression(stage, group, queue, err);
    }
    HC_OR_RETURN(
        hc_scene_sums_statistics(&group->sums, stage, queue, noise_of(stage), &group->statistics, err));
    if (params->noise >= 0) {
        hc_noise_reduce(&group->statistics, (HcNoiseMatrix)params->matrix);
    }
    return HC_OK;
}

static HcStatus settle(HcStage *stage, HcQueue *queue, HcError *err) {
    State *state = stage->state;
    for (int32_t g = 0; g < state->grouping.count; g++) {
        HcStatus status = settle_group(stage, &state->group[g], queue, err);
        HC_OR_RETURN(hc_grouping_named(&state->grouping, stage, g, status, err));
    }
    return HC_OK;
}

/* One object for each class, with its name. */
static HcStatus save_groups(const HcStage *stage, const char *path, bool overwrite, HcError *err) {
    const State *state = stage->state;
    HcJson json;
    hc_json_begin(&json);
    hc_json_put_kind(&json, HC_JSON_GROUPS, 1);
    hc_json_open_array(&json, "groups");
    for (int32_t g = 0; g < state->grouping.count; g++) {
        hc_json_open_object(&json, NULL);
        hc_json_put_text(&json, "name", state->grouping.name[g]);
        hc_statistics_put(&state->group[g].statistics, &json);
        hc_json_close(&json);
    }
    hc_json_close(&json);
    HcStatus status = hc_json_save(&json, path, overwrite, err);
    hc_json_clear(&json);
    return status;
}

static HcStatus finish(HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    const State *state = stage->state;
    bool overwrite = hc_stage_overwrite(stage);
    if (!hc_grouping_is_one(&state->grouping)) {
        return save_groups(stage, params->path, overwrite, err);
    }
    return params->sums ? hc_saved_sums_write(params->path, &stage->in, kind_of(stage),
                                              &state->group[0].moments, overwrite, err)
                        : hc_statistics_save(&state->group[0].statistics, params->path, overwrite, err);
}

static void report(const HcStage *stage, HcJson *to) {
    const Params *params = stage->params;
    const State *state = stage->state;
    int64_t pixels = 0;
    for (int32_t g = 0; g < state->grouping.count && state->group != NULL; g++) {
        const Group *group = &state->group[g];
        pixels += params->sums ? group->moments.count : group->statistics.pixels;
    }
    hc_json_put_text(to, "output", params->path);
    hc_json_put_number(to, "pixels", (double)pixels);
    hc_json_put_bool(to, "exact", hc_sums_limit(&stage->in, kind_of(stage)) > 0);
    if (state->grouping.count == 1 && state->group != NULL) {
        hc_noise_choice_put(&state->group[0].choice, to);
    }
}

static void close_cov(HcStage *stage) {
    State *state = stage->state;
    for (int32_t g = 0; g < state->grouping.count && state->group != NULL; g++) {
        Group *group = &state->group[g];
        hc_scene_sums_close(&group->sums);
        hc_scene_sums_close(&group->differences);
        hc_moments_clear(&group->moments);
        hc_statistics_clear(&group->statistics);
    }
    free(state->group);
    state->group = NULL;
    hc_grouping_close(&state->grouping, stage);
}

HcStatistics hc_cov_take(HcStage *stage) {
    State *state = stage->state;
    HcStatistics taken = state->group[0].statistics;
    state->group[0].statistics = (HcStatistics){0};
    return taken;
}

const HcStageClass hc_stage_cov = {
    .name = "cov",
    .summary = "mean and covariance of the scene or of its noise, saved as a statistics file",
    .cite = "Chan, Golub, LeVeque 1983 (float scenes); exact integer sums otherwise",
    .example = "hcube cov scene.hdr statistics.json",
    .role = HC_ROLE_SINK,
    .options = options,
    .params_size = sizeof(Params),
    .state_size = sizeof(State),
    .plan = plan,
    .open = open_cov,
    .observe = observe,
    .settle = settle,
    .finish = finish,
    .report = report,
    .close = close_cov,
    .rare = {.sums = parts},
};
