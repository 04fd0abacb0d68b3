/* The mean of the pixels of a target counts as one point: a large target is no more right than a small one.
 * The line with the least absolute deviations goes through two of the points, so that all pairs are tried. */
#include "pipeline/stages/reflectance/empirical.h"
#include "core/allocate.h"
#include "pipeline/chain.h"
#include "pipeline/report/plot_panel.h"
#include "pipeline/spectra/library/fit.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const hc_empirical_words[] = {"least-squares", "robust", NULL};

enum { TARGETS_MAX = 100, DRAWN = 6 };

static const char what[] = "an empirical line";

/* ---- plan ---- */

static const char *name_of(const HcEmpirical *empirical, int32_t target) {
    return empirical->pixels.pixels.classes.name[target + 1];
}

static HcStatus read_points(HcStage *stage, HcEmpirical *empirical, const HcEmpiricalParams *params,
                            HcError *err) {
    HcLabelled *pixels = &empirical->pixels.pixels;
    HcText note = {0};
    HC_OR_RETURN(hc_labelled_read(params->points, params->field, params->layer, &stage->in, pixels, err));
    hc_labelled_note(pixels, &note);
    hc_stage_note_file(stage, params->points, &note);
    empirical->targets = pixels->classes.count - 1;
    return empirical->targets <= TARGETS_MAX
               ? HC_OK
               : hc_fail(err, HC_E_UNSUPPORTED, "reflectance: --empirical %s: %d targets, at most %d",
                         params->points, empirical->targets, TARGETS_MAX);
}

/* The spectra of the library that have the names of the targets. */
static HcStatus take_spectra(HcEmpirical *empirical, const HcEmpiricalParams *params, const HcLibraryFit *fit,
                             double one, HcError *err) {
    size_t bands = (size_t)fit->bands;
    for (int32_t t = 0; t < empirical->targets; t++) {
        int32_t from = 0;
        while (from < fit->count && !hc_text_equal(fit->name[from], name_of(empirical, t))) {
            from++;
        }
        if (from == fit->count) {
            return hc_fail(
                err, HC_E_INPUT,
                "reflectance: --spectra %s: has no whole spectrum \"%s\", as a target of %s is called",
                params->spectra, name_of(empirical, t), params->points);
        }
        for (size_t b = 0; b < bands; b++) {
            empirical->expected[(size_t)t * bands + b] =
                (float)((double)fit->value[(size_t)from * bands + b] / one);
        }
    }
    return HC_OK;
}

static HcStatus read_spectra(HcStage *stage, HcEmpirical *empirical, const HcEmpiricalParams *params,
                             HcError *err) {
    HcStatus status = HC_OK;
    HcLibrary library = {0};
    HcLibraryFit fit = {0};
    free(empirical->expected);
    empirical->expected = NULL;
    HC_TRY(hc_new(empirical->expected, (size_t)empirical->targets * (size_t)stage->in.bands, what, err));
    HC_TRY(hc_library_read(&library, params->spectra, err));
    HC_TRY(hc_library_fit(&library, params->spectra, stage, &fit, err));
    HC_TRY(take_spectra(empirical, params, &fit, library.scale > 0 ? library.scale : 1, err));
done:
    hc_library_clear(&library);
    hc_library_fit_clear(&fit);
    return status;
}

HcStatus hc_empirical_plan(HcStage *stage, HcEmpirical *empirical, const HcEmpiricalParams *params,
                           HcError *err) {
    if (params->picture != NULL) {
        HC_OR_RETURN(hc_plot_file_check("reflectance", "--picture", params->picture, err));
    }
    if (empirical->targets == 0) {
        HC_OR_RETURN(read_points(stage, empirical, params, err));
    }
    if (!stage->is_open) {
        HC_OR_RETURN(read_spectra(stage, empirical, params, err));
    }
    size_t values = (size_t)empirical->targets * (size_t)stage->in.bands;
    hc_stage_takes(stage, HC_SPACE_HOST, hc_spectra_bytes(&empirical->pixels, stage->in.bands));
    hc_stage_takes(stage, HC_SPACE_HOST,
                   values * (sizeof(float) + sizeof(double)) + 4 * (size_t)stage->in.bands * sizeof(double) +
                       hc_plot_file_bytes(params->picture, 2 * DRAWN, stage->in.bands) +
                       (stage->chain->report != NULL ? hc_plot_panel_bytes(2 * DRAWN, stage->in.bands) : 0));
    return HC_OK;
}

/* ---- the fit ---- */

static HcStatus make_means(HcStage *stage, HcEmpirical *empirical, const char *points, HcError *err) {
    const HcSpectra *pixels = &empirical->pixels;
    size_t bands = (size_t)stage->in.bands;
    for (int64_t i = 0; i < pixels->pixels.count; i++) {
        int32_t target = pixels->pixels.label[i] - 1;
        empirical->count[target] += pixels->valid[i] != 0;
        for (size_t b = 0; b < bands && pixels->valid[i] != 0; b++) {
            empirical->mean[(size_t)target * bands + b] += (double)pixels->value[(size_t)i * bands + b];
        }
    }
    for (int32_t t = 0; t < empirical->targets; t++) {
        if (empirical->count[t] == 0) {
            return hc_fail(err, HC_E_NUMERIC, "reflectance: --empirical %s: target \"%s\" has no valid pixel",
                           points, name_of(empirical, t));
        }
        for (size_t b = 0; b < bands; b++) {
            empirical->mean[(size_t)t * bands + b] /= (double)empirical->count[t];
        }
    }
    return HC_OK;
}

/* One band: [targets] values and reflectances. */
typedef struct Points {
    int32_t count;
    double x[TARGETS_MAX], y[TARGETS_MAX];
} Points;

static void fit_squares(const Points *points, double *gain, double *offset) {
    double n = points->count, x = 0, y = 0, xx = 0, xy = 0;
    for (int32_t i = 0; i < points->count; i++) {
        x += points->x[i] / n;
        y += points->y[i] / n;
    }
    for (int32_t i = 0; i < points->count; i++) {
        xx += (points->x[i] - x) * (points->x[i] - x);
        xy += (points->x[i] - x) * (points->y[i] - y);
    }
    *gain = xy / xx;
    *offset = y - *gain * x;
}

static void fit_robust(const Points *points, double *gain, double *offset) {
    double least = INFINITY;
    for (int32_t i = 0; i < points->count; i++) {
        for (int32_t j = i + 1; j < points->count; j++) {
            double slope = (points->y[j] - points->y[i]) / (points->x[j] - points->x[i]), sum = 0;
            for (int32_t k = 0; k < points->count; k++) {
                sum += fabs(points->y[k] - points->y[i] - slope * (points->x[k] - points->x[i]));
            }
            if (isfinite(slope) && sum < least) {
                least = sum;
                *gain = slope;
                *offset = points->y[i] - slope * points->x[i];
            }
        }
    }
}

static void judge(HcEmpirical *empirical, const Points *points, int32_t band) {
    double n = points->count, mean = 0, left = 0, all = 0;
    for (int32_t i = 0; i < points->count; i++) {
        mean += points->y[i] / n;
    }
    for (int32_t i = 0; i < points->count; i++) {
        double differs = points->y[i] - empirical->offset[band] - empirical->gain[band] * points->x[i];
        left += differs * differs;
        all += (points->y[i] - mean) * (points->y[i] - mean);
    }
    empirical->residual[band] = sqrt(left / n);
    empirical->r2[band] = all > 0 ? 1 - left / all : NAN;
}

static HcStatus fit_band(HcStage *stage, HcEmpirical *empirical, const HcEmpiricalParams *params,
                         int32_t band, HcError *err) {
    Points points = {.count = empirical->targets};
    bool differs = false;
    for (int32_t t = 0; t < empirical->targets; t++) {
        size_t at = (size_t)t * (size_t)stage->in.bands + (size_t)band;
        points.x[t] = empirical->mean[at];
        points.y[t] = (double)empirical->expected[at];
        differs = differs || points.x[t] != points.x[0];
    }
    if (!differs) {
        return hc_fail(
            err, HC_E_NUMERIC,
            "reflectance: --empirical %s: all targets have the value %g in band %d: leave it out with "
            "bands",
            params->points, points.x[0], hc_stage_file_band(stage, band));
    }
    if (params->fit == HC_EMPIRICAL_ROBUST) {
        fit_robust(&points, &empirical->gain[band], &empirical->offset[band]);
    } else {
        fit_squares(&points, &empirical->gain[band], &empirical->offset[band]);
    }
    if (!(empirical->gain[band] != 0)) {
        return hc_fail(err, HC_E_NUMERIC,
                       "reflectance: --empirical %s: the gain is 0 in band %d: leave it out with bands",
                       params->points, hc_stage_file_band(stage, band));
    }
    judge(empirical, &points, band);
    return HC_OK;
}

static void note_fit(HcStage *stage, const HcEmpirical *empirical) {
    int32_t falling = 0, first = 0, worst = 0;
    for (int32_t b = 0; b < stage->in.bands; b++) {
        first = empirical->gain[b] < 0 && falling++ == 0 ? b : first;
        worst = empirical->residual[b] > empirical->residual[worst] ? b : worst;
    }
    if (falling > 0) {
        hc_stage_note(
            stage,
            "in %d of %d bands brighter targets have smaller values, first in band %d: they have no "
            "light, or targets are exchanged",
            falling, stage->in.bands, hc_stage_file_band(stage, first));
    }
    if (empirical->targets == 2) {
        hc_stage_note(stage, "two targets fit any line: a third one would test it");
    } else {
        hc_stage_note(stage,
                      "%d targets, largest root mean square residual %.3g in band %d, where R2 is %.4f",
                      empirical->targets, empirical->residual[worst], hc_stage_file_band(stage, worst),
                      empirical->r2[worst]);
    }
}

HcStatus hc_empirical_settle(HcStage *stage, HcEmpirical *empirical, const HcEmpiricalParams *params,
                             HcError *err) {
    size_t bands = (size_t)stage->in.bands;
    HC_OR_RETURN(hc_spectra_join(&empirical->pixels, hc_stage_ranks(stage), err));
    int64_t masked = hc_spectra_check(&empirical->pixels);
    if (masked > 0) {
        hc_stage_note(stage, "%" PRId64 " of %" PRId64 " pixels of targets are masked and left out", masked,
                      empirical->pixels.pixels.count);
    }
    HC_OR_RETURN(hc_new(empirical->mean, (size_t)empirical->targets * bands, what, err));
    HC_OR_RETURN(hc_new(empirical->count, empirical->targets, what, err));
    HC_OR_RETURN(hc_new(empirical->gain, bands, what, err));
    HC_OR_RETURN(hc_new(empirical->offset, bands, what, err));
    HC_OR_RETURN(hc_new(empirical->residual, bands, what, err));
    HC_OR_RETURN(hc_new(empirical->r2, bands, what, err));
    HC_OR_RETURN(make_means(stage, empirical, params->points, err));
    for (int32_t b = 0; b < stage->in.bands; b++) {
        HC_OR_RETURN(fit_band(stage, empirical, params, b, err));
    }
    note_fit(stage, empirical);
    return HC_OK;
}

/* ---- after the run ---- */

HcStatus hc_empirical_draw(const HcStage *stage, const HcEmpirical *empirical, const char *path, HcPanels *to,
                           HcError *err) {
    HcStatus status = HC_OK;
    size_t bands = (size_t)stage->in.bands;
    int32_t drawn = empirical->targets < DRAWN ? empirical->targets : DRAWN;
    float *value = NULL;
    char *name[2 * DRAWN] = {0};
    HcSpectraPlot plot = {.scene = &stage->in,
                          .count = 2 * drawn,
                          .name = name,
                          .title = "Targets of the empirical line",
                          .label = "reflectance",
                          .caption = "Means of the targets after the fit, and their spectra in the library."};
    HC_TRY(hc_new(value, 2 * (size_t)drawn * bands, what, err));
    for (int32_t t = 0; t < drawn; t++) {
        name[2 * t] = hc_text_format("%s", name_of(empirical, t));
        name[2 * t + 1] = hc_text_format("%s, library", name_of(empirical, t));
        if (name[2 * t] == NULL || name[2 * t + 1] == NULL) {
            HC_TRY(hc_fail_memory(err, (double)DRAWN, "names of targets"));
        }
        for (size_t b = 0; b < bands; b++) {
            size_t at = (size_t)t * bands + b;
            value[2 * (size_t)t * bands + b] =
                (float)(empirical->offset[b] + empirical->gain[b] * empirical->mean[at]);
            value[(2 * (size_t)t + 1) * bands + b] = empirical->expected[at];
        }
    }
    plot.value = value;
    HC_TRY(path != NULL ? hc_plot_spectra(path, &plot, hc_stage_overwrite(stage), err)
                        : hc_panels_add_spectra(to, &plot, err));
done:
    for (int32_t i = 0; i < 2 * DRAWN; i++) {
        free(name[i]);
    }
    free(value);
    return status;
}

void hc_empirical_report(const HcStage *stage, const HcEmpirical *empirical, HcJson *to) {
    size_t bands = (size_t)stage->in.bands;
    hc_json_put_doubles(to, "gain", empirical->gain, bands);
    hc_json_put_doubles(to, "offset", empirical->offset, bands);
    hc_json_put_doubles(to, "residual", empirical->residual, bands);
    hc_json_put_doubles(to, "r2", empirical->r2, bands);
    hc_json_open_array(to, "targets");
    for (int32_t t = 0; t < empirical->targets && empirical->count != NULL; t++) {
        hc_json_open_object(to, NULL);
        hc_json_put_text(to, "name", name_of(empirical, t));
        hc_json_put_number(to, "pixels", (double)empirical->count[t]);
        hc_json_put_doubles(to, "mean", empirical->mean + (size_t)t * bands, bands);
        hc_json_close(to);
    }
    hc_json_close(to);
}

void hc_empirical_close(HcStage *stage, HcEmpirical *empirical) {
    hc_spectra_clear(&empirical->pixels, stage->compute);
    free(empirical->expected);
    free(empirical->mean);
    free(empirical->count);
    free(empirical->gain);
    free(empirical->offset);
    free(empirical->residual);
    free(empirical->r2);
    *empirical = (HcEmpirical){0};
}
