/* What is written on the page. */
#include "pipeline/chain.h"
#include "pipeline/picture/plots.h"
#include "pipeline/picture/scale.h"
#include "pipeline/source.h"
#include "pipeline/stages/figure/parts.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define NO_BREAK "\xC2\xA0"

/* The name of the scene's file without folder and ending. */
void hc_figure_add_title(const HcStage *stage, HcText *to) {
    const HcFigureParams *params = stage->params;
    if (params->title != NULL) {
        hc_text_add(to, "%s", params->title);
        return;
    }
    const char *name = hc_reader_name(hc_view_reader(stage->chain->source->view));
    const char *dot = strrchr(name, '.');
    hc_text_add(to, "%.*s", dot != NULL && dot > name ? (int)(dot - name) : (int)strlen(name), name);
}

/* The eigenvalue of a component, where the stage that made it is in the chain. */
static bool eigenvalue_of(const HcStage *stage, int32_t band, double *value, bool *snr) {
    for (int32_t s = stage->place - 1; s >= 0 && stage->in.meaning == HC_COMPONENT; s--) {
        const HcStage *from = &stage->chain->stages[s];
        HcScreePlot scree;
        if (from->kind->rare.scree != NULL) {
            bool known = from->kind->rare.scree(from, &scree) && band < scree.count;
            *value = known ? scree.values[band] : 0;
            *snr = from->kind->gives == HC_GIVES_WHITE_COMPONENTS;
            return known;
        }
    }
    return false;
}

void hc_figure_add_band(const HcStage *stage, int32_t band, HcText *to) {
    const HcScene *scene = &stage->in;
    const char *name = scene->band_name != NULL ? scene->band_name[band] : NULL;
    double value = 0;
    bool snr = false;
    const char *said = name != NULL ? strstr(name, " (eigenvalue") : NULL; /* it follows in other words */
    if (name != NULL && name[0] != 0) {
        hc_text_add(to, "%.*s", said != NULL ? (int)(said - name) : (int)strlen(name), name);
    } else {
        hc_text_add(to, "band %d", band + 1);
    }
    /* Many names hold the wavelength already. */
    if (hc_scene_is_spectral(scene) && scene->wavelength != NULL && isfinite(scene->wavelength[band]) &&
        (name == NULL || strpbrk(name, "0123456789") == NULL)) {
        hc_text_add(to, ", %.0f nm", scene->wavelength[band]);
    }
    bool known = eigenvalue_of(stage, band, &value, &snr);
    if (said != NULL && !known) {
        hc_text_add(to, "%s", said);
    }
    if (known) {
        /* No line of a title ends between a word and its number. */
        hc_text_add(to, ": eigenvalue" NO_BREAK "%.4g", value);
        if (snr) {
            hc_text_add(to, ", SNR" NO_BREAK "%.4g", fmax(value - 1, 0));
        }
    }
}

static void add_colours(const HcStage *stage, HcText *to) {
    static const char *const words[] = {"Red", "green", "blue"};
    const HcFigureState *state = stage->state;
    const HcScene *scene = &stage->in;
    for (int c = 0; c < 3; c++) {
        int32_t band = state->shown.band[c];
        hc_text_add(to, "%s%s ", c > 0 ? ", " : "", words[c]);
        if (hc_scene_is_spectral(scene) && scene->wavelength != NULL && isfinite(scene->wavelength[band])) {
            hc_text_add(to, "%.0f nm (band %d)", scene->wavelength[band], band + 1);
        } else {
            hc_figure_add_band(stage, band, to);
        }
        hc_text_add(to, ", %.4g to %.4g", state->limit[c][0], state->limit[c][1]);
    }
    hc_text_add(to, ". ");
}

static void add_stretch(const HcStage *stage, HcText *to) {
    const HcFigureState *state = stage->state;
    if (!state->each && state->shown.band_count == 3) {
        add_colours(stage, to);
    }
    /* The first two pairs against the last two: whether all three are equal. */
    if (state->fixed && memcmp(state->limit[0], state->limit[1], 2 * sizeof state->limit[0]) != 0) {
        hc_text_add(to, "Stretch: as asked");
    } else if (state->fixed) {
        hc_text_add(to, "Stretch: %.6g to %.6g, as asked", state->limit[0][0], state->limit[0][1]);
    } else {
        const HcScaled scaled = {.scene = &stage->in,
                                 .percentile = {state->percentile[0], state->percentile[1]}};
        bool single = state->each || state->shown.band_count == 1;
        hc_text_add(to, "Stretch: ");
        hc_scale_say(&scaled, state->shown.band[0], state->limit[0], to);
        for (int32_t c = 1; c < state->shown.band_count; c++) {
            if (hc_scale_is_fraction(&stage->in, state->shown.band[0]) && isnan(state->percentile[0]) &&
                !hc_scale_is_fraction(&stage->in, state->shown.band[c])) {
                hc_text_add(to, ", others 2 %% to 98 %% of the shown pixels");
                break;
            }
        }
        if (((const HcFigureParams *)stage->params)->one_scale) {
            hc_text_add(to, ", one scale for all maps");
        } else if (hc_scale_is_score(&stage->in, state->shown.band[0]) && state->shown.band_count > 1) {
            hc_text_add(to, ", one scale for all scores");
        }
        if (single && state->limit[0][0] < 0 && state->limit[0][0] == -state->limit[0][1]) {
            hc_text_add(to, ", as far below 0 as above");
        }
    }
    if (state->gamma != 1) {
        hc_text_add(to, ", gamma %g", state->gamma);
    }
    hc_text_add(to, ". ");
}

static void add_grid(const HcStage *stage, HcText *to) {
    const HcFigureState *state = stage->state;
    const HcShown *shown = &state->shown;
    hc_text_add(to, "%" PRId64 " lines x %" PRId64 " samples", shown->lines, shown->samples);
    if (shown->step > 1) {
        hc_text_add(to, ", thinned out to one pixel of %d x %d", shown->step, shown->step);
    }
    hc_text_add(to, ". ");
    if (state->ground.known) {
        hc_text_add(to, "Pixels of %.4g m x %.4g m. ", state->ground.across, state->ground.along);
    } else {
        hc_text_add(to, "No georeference: no scale bar and no north. ");
    }
}

void hc_figure_add_caption(const HcStage *stage, HcText *to) {
    const HcFigureState *state = stage->state;
    int64_t valid = state->counted[0], all = valid + state->counted[1];
    if (!state->classes && valid > 0) {
        add_stretch(stage, to);
    } else if (valid > 0) {
        hc_text_add(to, "Percent of the %" PRId64 "%s pixels with a value. ", valid,
                    state->shown.ortho != NULL ? " shown" : "");
    }
    add_grid(stage, to);
    if (valid == 0) {
        hc_text_add(to, "No pixel has a value.");
    } else if (valid < all) {
        hc_text_add(to, "White: no value (%.3g %%).", 100.0 * (double)(all - valid) / (double)all);
    }
    if (!to->failed && to->length > 0 && to->data[to->length - 1] == ' ') {
        to->data[--to->length] = 0;
    }
}
