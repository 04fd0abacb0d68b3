/* dimension: how many components of a scene hold signal, by several published rules side by side. */
#include "io/file.h"
#include "pipeline/stages/stages.h"
#include "pipeline/statistics/dimension.h"
#include "pipeline/statistics/sums.h"

typedef struct Params {
    const char *path;
    const char *rates;
    bool overwrite;
} Params;

typedef struct State {
    HcSceneSums sums;
    HcDimension dimension;
} State;

static const HcOption options[] = {
    {HC_TEXT(Params, path, "output"), .file = HC_FILE_WRITTEN, .value = "DIMENSION.json", .positional = true,
     .otherwise = "no file, the counts are printed", .help = "JSON file to write"},
    {HC_TEXT(Params, rates, "false-alarm"), .value = "RATES", .standard = "1e-3,1e-4,1e-5",
     .help = "false-alarm rates of HFC and NWHFC, each above 0 and below 0.5; the first one is compared with "
             "the other rules"},
    {HC_FLAG(Params, overwrite), .help = "replace an existing file"},
    {0}};

static HcStatus read_rates(const Params *params, HcDimension *to, HcError *err) {
    to->rates = hc_option_numbers(params->rates, to->rate, HC_RATES);
    bool good = to->rates > 0;
    for (int32_t r = 0; r < to->rates; r++) {
        good = good && to->rate[r] > 0 && to->rate[r] < 0.5;
    }
    return good ? HC_OK
                : hc_fail(err, HC_E_USAGE,
                          "dimension: --false-alarm %s: one to %d rates above 0 and below 0.5 are needed",
                          params->rates, HC_RATES);
}

static HcStatus plan(HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    State *state = stage->state;
    HC_OR_RETURN(read_rates(params, &state->dimension, err));
    HC_OR_RETURN(hc_statistics_of_values(&stage->in, "dimension", err));
    HC_OR_RETURN(hc_scene_copy(&stage->out, &stage->in, err));
    stage->needs.passes_through = true;
    stage->output = params->path;
    if (!stage->settled) {
        hc_scene_sums_want(&state->sums, stage, HC_DIFFERENCE_NONE, NULL);
    }
    return HC_OK;
}

static HcStatus settle(HcStage *stage, HcQueue *queue, HcError *err) {
    State *state = stage->state;
    HcStatistics statistics = {0};
    HcStatus status = hc_scene_sums_statistics(&state->sums, stage, queue, "", &statistics, err);
    if (status == HC_OK) {
        status = hc_dimension_estimate(&state->dimension, stage, &statistics, err);
    }
    hc_statistics_clear(&statistics);
    if (status == HC_OK && hc_dimension_differs(&state->dimension)) {
        hc_stage_note(stage,
                      "the rules find %d to %d components: look at the eigenvalues (preview of mnf) "
                      "before you rely on one",
                      hc_dimension_extreme(&state->dimension, false),
                      hc_dimension_extreme(&state->dimension, true));
    }
    return status;
}

static HcStatus finish(HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    const State *state = stage->state;
    if (params->path == NULL) {
        return HC_OK;
    }
    HcJson json;
    hc_json_begin(&json);
    hc_json_put_kind(&json, HC_JSON_DIMENSION, 1);
    hc_dimension_put(&state->dimension, &json);
    hc_json_put_bands(&json, &stage->in);
    bool overwrite = hc_stage_overwrite(stage);
    HcStatus status = hc_json_save(&json, params->path, overwrite, err);
    hc_json_clear(&json);
    return status;
}

static void show(const HcStage *stage, HcText *to) {
    const HcDimension *dimension = &((const State *)stage->state)->dimension;
    for (int32_t k = HC_DIMENSION_HYSIME; k < HC_DIMENSION_RULES; k++) {
        bool rated = k == HC_DIMENSION_HFC || k == HC_DIMENSION_NWHFC;
        const int32_t *counts = k == HC_DIMENSION_HFC ? dimension->hfc : dimension->nwhfc;
        for (int32_t r = 0; r < dimension->rates && rated; r++) {
            hc_text_add(to, "%-18s %5d   false alarms %g\n", hc_dimension_names[k], counts[r],
                        dimension->rate[r]);
        }
        if (!rated) {
            hc_text_add(to, "%-18s %5d\n", hc_dimension_names[k], dimension->count[k]);
        }
    }
    hc_text_add(to, "%-18s %5d   HySime\n", hc_dimension_names[0], dimension->count[HC_DIMENSION_AUTO]);
}

static void report(const HcStage *stage, HcJson *to) {
    const State *state = stage->state;
    hc_dimension_put(&state->dimension, to);
}

static const HcDimension *found(const HcStage *stage) {
    const State *state = stage->state;
    return stage->settled ? &state->dimension : NULL;
}

const HcStageClass hc_stage_dimension = {
    .name = "dimension",
    .summary = "the number of components with signal, by several rules",
    .cite = "Bioucas-Dias, Nascimento 2008; Chang, Du 2004; Luo et al. 2013; Gavish, Donoho 2014",
    .example = "hcube dimension scene.hdr",
    .role = HC_ROLE_SINK,
    .options = options,
    .params_size = sizeof(Params),
    .state_size = sizeof(State),
    .plan = plan,
    .settle = settle,
    .finish = finish,
    .report = report,
    .rare = {.show = show, .dimension = found},
};
