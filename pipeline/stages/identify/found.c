#include "pipeline/stages/identify/found.h"
#include "core/allocate.h"
#include "pipeline/chain.h"
#include "pipeline/report/plot_panel.h"
#include "pipeline/stages/identify/identify.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Pixels that are looked at, about, in runs of neighbours; classes that are drawn, each with two lines. */
enum { PIXELS = 4096, RUN = 8, DRAWN = 5, LINES = 2 * DRAWN };

HcStatus hc_identify_plan_found(HcStage *stage, HcError *err) {
    const HcIdentifyParams *params = hc_identify_params(stage);
    HcIdentifyState *state = stage->state;
    int32_t bands = stage->in.bands;
    state->draws = params->picture != NULL || stage->chain->report != NULL;
    if (!state->draws) {
        return HC_OK;
    }
    hc_stage_takes(stage, HC_SPACE_HOST,
                   (size_t)(PIXELS + 1) * (size_t)(bands + stage->out.bands + 16) * sizeof(float) +
                       hc_plot_panel_bytes(LINES, bands) + hc_plot_file_bytes("plot.png", LINES, bands));
    return params->picture == NULL ? HC_OK
                                   : hc_plot_file_check("identify", "--picture", params->picture, err);
}

HcStatus hc_identify_open_found(HcStage *stage, HcError *err) {
    HcIdentifyState *state = stage->state;
    if (!state->draws) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_spectra_choose(&state->in, &stage->in, PIXELS, RUN, err));
    HC_OR_RETURN(hc_spectra_choose(&state->out, &stage->in, PIXELS, RUN, err));
    HC_OR_RETURN(hc_spectra_open(&state->in, stage->compute, stage->in.bands, err));
    return hc_spectra_open(&state->out, stage->compute, stage->out.bands, err);
}

HcStatus hc_identify_add_found(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out,
                               HcError *err) {
    const HcIdentifyState *state = stage->state;
    if (!state->draws) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_spectra_gather(&state->in, queue, in, err));
    return hc_spectra_gather(&state->out, queue, out, err);
}

/* The class of one of the pixels; 0 = none, or it is masked. */
static int32_t class_of(const HcIdentifyState *state, int64_t pixel) {
    return state->out.valid[pixel] != 0 ? (int32_t)state->out.value[pixel * state->out.bands] : 0;
}

HcStatus hc_identify_gather_found(HcStage *stage, HcError *err) {
    HcIdentifyState *state = stage->state;
    if (!state->draws) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_spectra_join(&state->in, hc_stage_ranks(stage), err));
    HC_OR_RETURN(hc_spectra_join(&state->out, hc_stage_ranks(stage), err));
    for (int64_t i = 0; i < state->out.pixels.count; i++) {
        state->sampled += state->out.valid[i] != 0;
        state->found += class_of(state, i) > 0;
    }
    return HC_OK;
}

void hc_identify_report_found(const HcStage *stage, HcJson *to) {
    const HcIdentifyState *state = stage->state;
    if (state->sampled > 0) {
        hc_json_put_number(to, "sampled_pixels", (double)state->sampled);
        hc_json_put_number(to, "sampled_pixels_found", (double)state->found);
    }
}

/* ---- the plot ---- */

/* Owns its arrays. */
typedef struct Drawing {
    int32_t count; /* lines: the pixels of a class, then its reference, for each class */
    float *value;  /* [LINES][bands] */
    char *name[LINES];
    char caption[120];
} Drawing;

static void clear_drawing(Drawing *drawing) {
    for (int32_t i = 0; i < LINES; i++) {
        free(drawing->name[i]);
    }
    free(drawing->value);
}

/* The most frequent class of those that are left; it is then out of the count. */
static int32_t take_class(int64_t *count, int32_t classes, int64_t *pixels) {
    int32_t best = 0;
    for (int32_t c = 1; c < classes; c++) {
        best = count[c] > (best > 0 ? count[best] : 0) ? c : best;
    }
    *pixels = best > 0 ? count[best] : 0;
    count[best] = 0;
    return best;
}

static void mean_of_class(const HcIdentifyState *state, int32_t class, int64_t pixels, float *mean) {
    int32_t bands = state->in.bands;
    for (int32_t b = 0; b < bands; b++) {
        double sum = 0;
        for (int64_t i = 0; i < state->in.pixels.count; i++) {
            sum += class_of(state, i) == class ? (double)state->in.value[i * bands + b] : 0;
        }
        mean[b] = (float)(sum / (double)pixels);
    }
}

/* The reference of a class, times what brings it to the height of its pixels. */
static void reference_of_class(const HcIdentifyState *state, int32_t class, const float *mean, float *to) {
    const HcReferences *references = &state->references;
    int32_t bands = state->in.bands, r = 0;
    double pixels = 0, reference = 0;
    while (references->reference[r].number != class) {
        r++;
    }
    const float *value = state->library.fit.value + (size_t)references->spectrum[r] * (size_t)bands;
    for (int32_t b = 0; b < bands; b++) {
        pixels += isfinite(value[b]) ? (double)mean[b] : 0;
        reference += isfinite(value[b]) ? (double)value[b] : 0;
    }
    for (int32_t b = 0; b < bands; b++) {
        to[b] = (float)((double)value[b] * pixels / reference);
    }
}

static HcStatus add_class(const HcIdentifyState *state, int32_t class, int64_t pixels, Drawing *drawing,
                          HcError *err) {
    const char *name = state->rules.rule[class - 1].name;
    float *mean = drawing->value + (size_t)drawing->count * (size_t)state->in.bands;
    mean_of_class(state, class, pixels, mean);
    reference_of_class(state, class, mean, mean + state->in.bands);
    drawing->name[drawing->count++] =
        hc_text_format("%.3g %%: %s", 100 * (double)pixels / (double)state->sampled, name);
    drawing->name[drawing->count++] = hc_text_format("library: %s", name);
    return drawing->name[drawing->count - 1] != NULL && drawing->name[drawing->count - 2] != NULL
               ? HC_OK
               : hc_fail_memory(err, 64, "the name of a line");
}

static HcStatus make_drawing(const HcStage *stage, Drawing *drawing, HcError *err) {
    HcStatus status = HC_OK;
    const HcIdentifyState *state = stage->state;
    int32_t classes = state->rules.count + 1;
    int64_t pixels = 0, *count = NULL;
    HC_TRY(hc_new(count, classes, "counts of classes", err));
    HC_TRY(hc_new(drawing->value, LINES * (size_t)stage->in.bands, "spectra", err));
    for (int64_t i = 0; i < state->out.pixels.count; i++) {
        count[class_of(state, i)]++;
    }
    for (int32_t d = 0; d < DRAWN; d++) {
        int32_t class = take_class(count, classes, &pixels);
        HC_TRY(class > 0 ? add_class(state, class, pixels, drawing, err) : HC_OK);
    }
    snprintf(drawing->caption, sizeof drawing->caption,
             "%lld of %lld sampled pixels were identified. References are scaled to the pixels.",
             (long long)state->found, (long long)state->sampled);
done:
    free(count);
    return status;
}

static HcSpectraPlot plot_of(const HcStage *stage, const Drawing *drawing) {
    return (HcSpectraPlot){.scene = &stage->in,
                           .count = drawing->count,
                           .value = drawing->value,
                           .name = drawing->name,
                           .title = "Spectra found, and their references",
                           .label = "value",
                           .caption = drawing->caption};
}

HcStatus hc_identify_draw_found(HcStage *stage, HcError *err) {
    HcStatus status = HC_OK;
    const char *path = hc_identify_params(stage)->picture;
    Drawing drawing = {0};
    if (path == NULL) {
        return HC_OK;
    }
    HC_TRY(make_drawing(stage, &drawing, err));
    const HcSpectraPlot plot = plot_of(stage, &drawing);
    HC_TRY(hc_plot_spectra(path, &plot, hc_stage_overwrite(stage), err));
done:
    clear_drawing(&drawing);
    return status;
}

HcStatus hc_identify_panels(const HcStage *stage, HcPanels *to, HcError *err) {
    HcStatus status = HC_OK;
    Drawing drawing = {0};
    HC_TRY(make_drawing(stage, &drawing, err));
    const HcSpectraPlot plot = plot_of(stage, &drawing);
    HC_TRY(drawing.count > 0 ? hc_panels_add_spectra(to, &plot, err) : HC_OK);
done:
    clear_drawing(&drawing);
    return status;
}
