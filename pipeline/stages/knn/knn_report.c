/* The accuracy report of knn, as JSON and as text. */
#include "core/allocate.h"
#include "figure/figure.h"
#include "io/file.h"
#include "pipeline/json/json.h"
#include "pipeline/stages/knn/knn.h"

#include <stdlib.h>

const char *const hc_knn_split_words[] = {"pixel", "polygon", NULL};

/* Which spectra of the library the training spectra are. */
static HcStatus put_spectra(const HcKnnState *state, HcJson *to, HcError *err) {
    size_t count = (size_t)state->used;
    int32_t *used = NULL;
    HC_OR_RETURN(hc_new(used, count, "a report", err));
    for (size_t i = 0; i < count; i++) {
        used[i] = (int32_t)state->library.from[i] + 1;
    }
    hc_json_put_ints(to, "training_spectrum_from_1", used, count);
    hc_json_put_ints(to, "training_class", state->library.label, count);
    free(used);
    return HC_OK;
}

/* Where the training spectra lie, so that the numbers of neighbours can be looked up. */
static HcStatus put_places(const HcStage *stage, HcJson *to, HcError *err) {
    const HcKnnState *state = stage->state;
    const HcLabelled *pixels = &state->training.pixels;
    const struct {
        const char *name;
        const int32_t *values;
    } columns[] = {{"training_sample_from_0", pixels->sample},
                   {"training_line_from_0", pixels->line},
                   {"training_class", pixels->label}};
    int32_t *used = NULL;
    HC_OR_RETURN(hc_new(used, state->used, "a report", err));
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
        bool labels = columns[c].values == pixels->label;
        for (int64_t i = 0; i < state->used; i++) {
            int32_t value = columns[c].values[state->from[i]];
            used[i] = labels ? hc_labelled_number(pixels, value) : value;
        }
        hc_json_put_ints(to, columns[c].name, used, (size_t)state->used);
    }
    free(used);
    return HC_OK;
}

static void put_settings(const HcStage *stage, HcJson *to) {
    const HcKnnParams *params = hc_knn_params(stage);
    hc_knn_plan_of(stage)->settings(stage, to);
    hc_json_put_text(to, "training", params->training);
    if (isfinite(hc_knn_plan_of(stage)->rule.reject)) {
        hc_json_put_number(to, "reject", hc_knn_plan_of(stage)->rule.reject);
    }
    if (params->accuracy.validation != NULL) {
        hc_json_put_text(to, "validation", params->accuracy.validation);
    } else {
        hc_json_put_number(to, "split", params->accuracy.split);
        hc_json_put_text(to, "split_by", hc_knn_split_words[params->accuracy.split_by]);
        hc_json_put_number(to, "seed", (double)params->accuracy.seed);
    }
}

static HcStatus write_json(const HcStage *stage, const char *path, HcError *err) {
    HcStatus status = HC_OK;
    const HcKnnState *state = stage->state;
    HcJson report;
    hc_json_begin(&report);
    hc_json_put_kind(&report, HC_JSON_ACCURACY, 1);
    hc_json_put_text(&report, "stage", stage->kind->name);
    put_settings(stage, &report);
    hc_json_put_number(&report, "training_pixels", (double)state->used);
    HC_TRY(hc_accuracy_json(&state->accuracy, &state->training.pixels.classes, state->trained, &report, err));
    if (hc_knn_plan_of(stage)->rule.add[HC_VOTE_ADD_NEIGHBOURS]) {
        HC_TRY(state->from_library ? put_spectra(state, &report, err) : put_places(stage, &report, err));
    }
    HC_TRY(hc_json_save(&report, path, hc_stage_overwrite(stage), err));
done:
    hc_json_clear(&report);
    return status;
}

static HcStatus write_text(const HcStage *stage, const char *path, HcError *err) {
    HcStatus status = HC_OK;
    const HcKnnParams *params = hc_knn_params(stage);
    const HcKnnState *state = stage->state;
    HcText text = {0};
    char number[HC_TEXT_DOUBLE];
    hc_knn_plan_of(stage)->describe(stage, &text);
    if (isfinite(hc_knn_plan_of(stage)->rule.reject)) {
        hc_text_add(&text, ", rejected beyond %s",
                    hc_text_double(number, hc_knn_plan_of(stage)->rule.reject));
    }
    if (params->accuracy.validation != NULL) {
        hc_text_add(&text, "\nvalidated with %s\n\n", params->accuracy.validation);
    } else {
        hc_text_add(&text, "\nsplit %s by %s, seed %lld\n\n", hc_text_double(number, params->accuracy.split),
                    hc_knn_split_words[params->accuracy.split_by], (long long)params->accuracy.seed);
    }
    hc_accuracy_text(&state->accuracy, &state->training.pixels.classes, state->trained, &text);
    if (text.failed) {
        HC_TRY(hc_fail_memory(err, 0, "a report"));
    }
    HC_TRY(hc_file_write(path, text.data, text.length, hc_stage_overwrite(stage), err));
done:
    hc_text_clear(&text);
    return status;
}

HcStatus hc_knn_write_report(const HcStage *stage, const char *path, HcError *err) {
    const HcKnnState *state = stage->state;
    HcFigureFormat format;
    if (hc_figure_format_of(path, &format)) {
        return hc_accuracy_figure(&state->accuracy, &state->training.pixels.classes, path,
                                  hc_stage_overwrite(stage), err);
    }
    return hc_text_ends_with(path, ".json") ? write_json(stage, path, err) : write_text(stage, path, err);
}

HcStatus hc_knn_panels(const HcStage *stage, HcPanels *to, HcError *err) {
    const HcKnnState *state = stage->state;
    return hc_accuracy_panels(&state->accuracy, &state->training.pixels.classes, to, err);
}
