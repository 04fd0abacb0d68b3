/* What was found, over its references: some thousand pixels tell which classes are frequent, and their mean
 * spectra. */
#include "core/allocate.h"
#include "pipeline/chain.h"
#include "pipeline/report/plot_panel.h"
#include "pipeline/stages/identify/identify.h"

#include <math.h>
#include <stdlib.h>

/* Pixels that are looked at, about, in runs of neighbours; classes that are drawn, each with two lines. */
enum { PIXELS = 4096, RUN = 8, DRAWN = 5, LINES = 2 * DRAWN };

static bool draws(const HcStage *stage) {
    return hc_identify_params(stage)->picture != NULL || stage->chain->report != NULL;
}

HcStatus hc_found_plan(HcStage *stage, HcError *err) {
    const char *path = hc_identify_params(stage)->picture;
    int32_t bands = stage->in.bands;
    if (draws(stage)) {
        hc_stage_takes(stage, HC_SPACE_HOST,
                       (size_t)(PIXELS + 1) * (size_t)(bands + stage->out.bands + 16) * sizeof(float) +
                           hc_plot_panel_bytes(LINES, bands) + hc_plot_file_bytes("plot.png", LINES, bands));
    }
    return path == NULL ? HC_OK : hc_plot_file_check("identify", "--picture", path, err);
}

HcStatus hc_found_open(HcStage *stage, HcError *err) {
    HcIdentifyState *state = stage->state;
    if (!draws(stage)) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_spectra_choose(&state->in, &stage->in, PIXELS, RUN, err));
    HC_OR_RETURN(hc_spectra_choose(&state->out, &stage->in, PIXELS, RUN, err));
    HC_OR_RETURN(hc_spectra_open(&state->in, stage->compute, stage->in.bands, err));
    return hc_spectra_open(&state->out, stage->compute, stage->out.bands, err);
}

HcStatus hc_found_add(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out, HcError *err) {
    const HcIdentifyState *state = stage->state;
    if (!draws(stage)) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_spectra_gather(&state->in, queue, in, err));
    return hc_spectra_gather(&state->out, queue, out, err);
}

HcStatus hc_found_gather(HcStage *stage, HcError *err) {
    HcIdentifyState *state = stage->state;
    if (!draws(stage)) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_spectra_join(&state->in, hc_stage_ranks(stage), err));
    return hc_spectra_join(&state->out, hc_stage_ranks(stage), err);
}

/* ---- the plot ---- */

/* Owns its arrays. */
typedef struct Drawing {
    int32_t count; /* lines: the pixels of a class, then its reference, for each class */
    float *value;  /* [LINES][bands] */
    char *name[LINES];
} Drawing;

/* The class of one of the pixels; 0 = none, or it is masked. */
static int32_t class_of(const HcIdentifyState *state, int64_t pixel) {
    return state->out.valid[pixel] != 0 ? (int32_t)state->out.value[pixel * state->out.bands] : 0;
}

/* The means of the pixels of a class; then its reference, scaled to them over the bands that it has. */
static void draw_class(const HcIdentifyState *state, int32_t class, int64_t count, float *mean) {
    const HcReferences *references = &state->references;
    int32_t bands = state->in.bands, r = 0;
    double found = 0, known = 0;
    while (references->reference[r].number != class) {
        r++;
    }
    const float *value = state->library.fit.value + (size_t)references->spectrum[r] * (size_t)bands;
    for (int32_t b = 0; b < bands; b++) {
        double sum = 0;
        for (int64_t i = 0; i < state->in.pixels.count; i++) {
            sum += class_of(state, i) == class ? (double)state->in.value[i * bands + b] : 0;
        }
        mean[b] = (float)(sum / (double)count);
        found += isfinite(value[b]) ? (double)mean[b] : 0;
        known += isfinite(value[b]) ? (double)value[b] : 0;
    }
    for (int32_t b = 0; b < bands; b++) {
        mean[bands + b] = (float)((double)value[b] * found / known);
    }
}

/* The most frequent class, which is then out of the counts; 0 = none is left. */
static HcStatus add_class(const HcIdentifyState *state, int64_t *count, int64_t all, Drawing *drawing,
                          HcError *err) {
    int32_t best = 0;
    count[0] = 0;
    for (int32_t c = 1; c <= state->rules.count; c++) {
        best = count[c] > count[best] ? c : best;
    }
    if (best == 0) {
        return HC_OK;
    }
    const char *name = state->rules.rule[best - 1].name;
    char **to = &drawing->name[drawing->count];
    draw_class(state, best, count[best], drawing->value + (size_t)drawing->count * (size_t)state->in.bands);
    to[0] = hc_text_format("%.1f %%: %s", 100 * (double)count[best] / (double)all, name);
    to[1] = hc_text_format("library: %s", name);
    drawing->count += 2;
    count[best] = 0;
    return to[0] != NULL && to[1] != NULL ? HC_OK : hc_fail_memory(err, 64, "the name of a line");
}

static HcStatus draw(const HcStage *stage, Drawing *drawing, HcSpectraPlot *plot, HcError *err) {
    HcStatus status = HC_OK;
    const HcIdentifyState *state = stage->state;
    int64_t all = 0, *count = NULL;
    HC_TRY(hc_new(count, state->rules.count + 1, "counts of classes", err));
    HC_TRY(hc_new(drawing->value, LINES * (size_t)stage->in.bands, "spectra", err));
    for (int64_t i = 0; i < state->out.pixels.count; i++) {
        count[class_of(state, i)]++;
        all += state->out.valid[i] != 0;
    }
    for (int32_t d = 0; d < DRAWN; d++) {
        HC_TRY(add_class(state, count, all, drawing, err));
    }
    *plot =
        (HcSpectraPlot){.scene = &stage->in,
                        .count = drawing->count,
                        .value = drawing->value,
                        .name = drawing->name,
                        .title = "Spectra found, and their references",
                        .label = "value",
                        .caption = "Means of some pixels, and their share; references are scaled to them."};
done:
    free(count);
    return status;
}

/* As a file, or as a panel of a report. */
static HcStatus show(const HcStage *stage, const char *path, HcPanels *panels, HcError *err) {
    HcStatus status = HC_OK;
    Drawing drawing = {0};
    HcSpectraPlot plot;
    HC_TRY(draw(stage, &drawing, &plot, err));
    if (path != NULL) {
        HC_TRY(hc_plot_spectra(path, &plot, hc_stage_overwrite(stage), err));
    } else if (plot.count > 0) {
        HC_TRY(hc_panels_add_spectra(panels, &plot, err));
    }
done:
    for (int32_t i = 0; i < LINES; i++) {
        free(drawing.name[i]);
    }
    free(drawing.value);
    return status;
}

HcStatus hc_found_finish(HcStage *stage, HcError *err) {
    const char *path = hc_identify_params(stage)->picture;
    return path != NULL ? show(stage, path, NULL, err) : HC_OK;
}

HcStatus hc_found_panels(const HcStage *stage, HcPanels *to, HcError *err) {
    return show(stage, NULL, to, err);
}
