/* The figures of a comparison as JSON and as tables. */
#include "pipeline/compare/compare.h"

#include <math.h>

/* ---- JSON ---- */

/* JSON has no infinity: a text, which most languages read back as one; and null for what cannot be said. */
static void put_decibels(HcJson *to, const char *name, double value) {
    if (isinf(value)) {
        hc_json_put_text(to, name, value > 0 ? "inf" : "-inf");
    } else {
        hc_json_put_double(to, name, value);
    }
}

static const char *name_of(const HcScene *scene, int32_t band) {
    return scene->band_name != NULL ? scene->band_name[band] : NULL;
}

static void put_band(const HcComparison *from, const HcBandFigures *band, HcJson *to) {
    const HcScene *truth = from->scene[1];
    const char *name = name_of(truth, band->truth_band);
    hc_json_open_object(to, NULL);
    hc_json_put_number(to, "scene_band_from_1", band->scene_band + 1);
    hc_json_put_number(to, "truth_band_from_1", band->truth_band + 1);
    if (name != NULL) {
        hc_json_put_text(to, "name", name);
    }
    if (truth->wavelength != NULL) {
        hc_json_put_double(to, "wavelength_nm", truth->wavelength[band->truth_band]);
    }
    hc_json_put_double(to, "rmse", band->rmse);
    hc_json_put_double(to, "bias", band->bias);
    put_decibels(to, "sre_db", band->sre);
    put_decibels(to, "psnr_db", band->psnr);
    hc_json_put_double(to, "peak", band->peak);
    hc_json_put_double(to, "ssim", band->ssim);
    hc_json_close(to);
}

static void put_values(const HcComparison *from, HcJson *to) {
    const HcValueFigures *values = &from->values;
    hc_json_put_number(to, "bands", values->bands);
    hc_json_put_number(to, "scene_bands_without_partner", from->unmatched[0]);
    hc_json_put_number(to, "truth_bands_without_partner", from->unmatched[1]);
    hc_json_put_double(to, "rmse", values->rmse);
    hc_json_put_double(to, "bias", values->bias);
    put_decibels(to, "sre_db", values->sre);
    put_decibels(to, "psnr_db", values->psnr);
    hc_json_put_double(to, "peak", values->peak);
    put_decibels(to, "mean_psnr_db", values->mean_psnr);
    hc_json_put_double(to, "mean_ssim", values->ssim);
    hc_json_put_double(to, "ssim_windows", (double)values->windows);
    hc_json_put_double(to, "sam_degrees", values->sam);
    hc_json_put_double(to, "sam_pixels", (double)values->angles);
    hc_json_open_array(to, "per_band");
    for (int32_t b = 0; b < values->bands; b++) {
        put_band(from, &values->band[b], to);
    }
    hc_json_close(to);
}

static const char *target_name(const HcComparison *from, const HcRoc *roc) {
    const HcClasses *classes = &from->scene[1]->classes;
    return roc->target > 0 && roc->target < classes->count ? classes->name[roc->target] : NULL;
}

static void put_roc(const HcComparison *from, const HcRoc *roc, HcJson *to) {
    const char *name = name_of(from->scene[0], roc->band), *target = target_name(from, roc);
    hc_json_open_object(to, NULL);
    hc_json_put_number(to, "scene_band_from_1", roc->band + 1);
    hc_json_put_text(to, "name", name != NULL ? name : "");
    hc_json_put_number(to, "target_class", roc->target); /* 0 = all */
    if (target != NULL) {
        hc_json_put_text(to, "target_name", target);
    }
    hc_json_put_double(to, "targets", (double)roc->targets);
    hc_json_put_double(to, "background", (double)roc->background);
    hc_json_put_double(to, "area", roc->area);
    hc_json_open_array(to, "at");
    for (int r = 0; r < HC_ROC_RATES; r++) {
        hc_json_open_object(to, NULL);
        hc_json_put_double(to, "false_alarm_rate", hc_roc_rate[r]);
        hc_json_put_double(to, "detection_rate", roc->detection[r]);
        hc_json_put_double(to, "threshold", roc->threshold[r]);
        hc_json_put_double(to, "false_alarms", (double)roc->alarms[r]);
        hc_json_close(to);
    }
    hc_json_close(to);
    hc_json_open_array(to, "curve"); /* false-alarm rate, rate of detection */
    for (int32_t k = 0; k < roc->count; k++) {
        hc_json_open_array(to, NULL);
        hc_json_put_double(to, NULL, roc->curve[0][k]);
        hc_json_put_double(to, NULL, roc->curve[1][k]);
        hc_json_close(to);
    }
    hc_json_close(to);
    hc_json_close(to);
}

static const char *const kind_word[] = {
    [HC_COMPARE_VALUES] = "values", [HC_COMPARE_CLASSES] = "classes", [HC_COMPARE_SCORES] = "scores"};

HcStatus hc_comparison_json(const HcComparison *from, HcJson *to, HcError *err) {
    hc_json_put_text(to, "scene", from->path[0]);
    hc_json_put_text(to, "truth", from->path[1]);
    hc_json_put_text(to, "compared_as", kind_word[from->kind]);
    hc_json_put_double(to, "pixels", (double)from->pixels);
    hc_json_put_double(to, "left_out_pixels", (double)from->left_out);
    hc_json_put_text(to, "matched_by", from->matched_by);
    if (from->kind == HC_COMPARE_CLASSES) {
        hc_json_put_number(to, "scene_classes_without_partner", from->unmatched[0]);
        hc_json_put_number(to, "truth_classes_without_partner", from->unmatched[1]);
        return hc_accuracy_json(&from->accuracy, &from->classes, NULL, to, err);
    }
    if (from->kind == HC_COMPARE_VALUES) {
        put_values(from, to);
        return HC_OK;
    }
    hc_json_put_number(to, "scene_bands_without_partner", from->unmatched[0]);
    hc_json_open_array(to, "per_band");
    for (int32_t b = 0; b < from->scores.bands; b++) {
        put_roc(from, &from->scores.band[b], to);
    }
    hc_json_close(to);
    return HC_OK;
}

/* ---- tables ---- */

static void add_figure(HcText *to, const char *name, double value, const char *unit) {
    if (isnan(value)) {
        hc_text_add(to, "%-12s -\n", name);
    } else {
        hc_text_add(to, "%-12s %.6g%s\n", name, value, unit);
    }
}

/* digits: significant ones of figures in units of the raster, else places after the point. */
static void add_cell(HcText *to, int width, int digits, bool significant, double value) {
    if (isnan(value)) {
        hc_text_add(to, " %*s", width, "-");
    } else if (significant) {
        hc_text_add(to, " %*.*g", width, digits, value);
    } else {
        hc_text_add(to, " %*.*f", width, digits, value);
    }
}

static void add_bands(const HcComparison *from, HcText *to) {
    const HcScene *truth = from->scene[1];
    hc_text_add(to, "\n%6s %6s %12s %12s %9s %9s %8s  %s\n", "scene", "truth", "RMSE", "bias", "SRE/dB",
                "PSNR/dB", "SSIM", "band of the truth");
    for (int32_t b = 0; b < from->values.bands; b++) {
        const HcBandFigures *band = &from->values.band[b];
        const char *name = name_of(truth, band->truth_band);
        hc_text_add(to, "%6d %6d", band->scene_band + 1, band->truth_band + 1);
        add_cell(to, 12, 5, true, band->rmse);
        add_cell(to, 12, 5, true, band->bias);
        add_cell(to, 9, 2, false, band->sre);
        add_cell(to, 9, 2, false, band->psnr);
        add_cell(to, 8, 4, false, band->ssim);
        if (name != NULL && *name != '\0') {
            hc_text_add(to, "  %s", name);
        } else if (truth->wavelength != NULL) {
            hc_text_add(to, "  %.2f nm", truth->wavelength[band->truth_band]);
        }
        hc_text_add(to, "\n");
    }
}

/* "0.998": at less than one false alarm the rate is that without any. */
static void add_scores(const HcComparison *from, HcText *to) {
    bool few = false, low = false;
    hc_text_add(to, "\n%9s %10s %8s %10s %10s  %s\n", "targets", "background", "area", "at 1e-3", "at 1e-4",
                "band and target");
    for (int32_t b = 0; b < from->scores.bands; b++) {
        const HcRoc *roc = &from->scores.band[b];
        const char *name = name_of(from->scene[0], roc->band), *target = target_name(from, roc);
        hc_text_add(to, "%9lld %10lld", (long long)roc->targets, (long long)roc->background);
        add_cell(to, 8, 4, false, roc->area);
        add_cell(to, 10, 4, false, roc->detection[0]);
        add_cell(to, 10, 4, false, roc->detection[1]);
        hc_text_add(to, "  %d %s: ", roc->band + 1, name != NULL ? name : "");
        if (roc->target == 0) {
            hc_text_add(to, "all classes\n");
        } else {
            hc_text_add(to, "class %d%s%s\n", roc->target, target != NULL ? " " : "",
                        target != NULL ? target : "");
        }
        few = few || (double)roc->background * hc_roc_rate[HC_ROC_RATES - 1] < 1;
        low = low || roc->area < 0.5;
    }
    if (few) {
        hc_text_add(
            to,
            "Of fewer than 10,000 pixels of the background, the rate at 1e-4 is that without false alarms "
            "(of fewer than 1,000 also at 1e-3).\n");
    }
    if (low) {
        hc_text_add(to, "An area below 0.5: where low scores are targets (sam, sid), give --low.\n");
    }
}

void hc_comparison_text(const HcComparison *from, bool all_bands, HcText *to) {
    const HcValueFigures *values = &from->values;
    hc_text_add(to, "%-12s %s\n%-12s %s\n", "scene", from->path[0], "truth", from->path[1]);
    hc_text_add(to, "%-12s %lld, and %lld left out\n", "pixels", (long long)from->pixels,
                (long long)from->left_out);
    bool classes = from->kind == HC_COMPARE_CLASSES;
    hc_text_add(to, "%-12s %d, matched by %s", classes ? "classes" : "bands",
                classes                           ? from->class_count
                : from->kind == HC_COMPARE_SCORES ? from->scores.bands
                                                  : values->bands,
                classes && hc_text_equal(from->matched_by, "order") ? "number" : from->matched_by);
    if (from->unmatched[0] + from->unmatched[1] > 0) {
        hc_text_add(to, " (without partner: %d of the scene, %d of the truth)", from->unmatched[0],
                    from->unmatched[1]);
    }
    hc_text_add(to, "\n");
    if (classes) {
        hc_text_add(to, "\n");
        hc_accuracy_text(&from->accuracy, &from->classes, NULL, to);
        return;
    }
    if (from->kind == HC_COMPARE_SCORES) {
        add_scores(from, to);
        return;
    }
    add_figure(to, "RMSE", values->rmse, "");
    add_figure(to, "bias", values->bias, "");
    add_figure(to, "SRE", values->sre, " dB");
    add_figure(to, "PSNR", values->psnr, " dB");
    add_figure(to, "mean PSNR", values->mean_psnr, " dB");
    add_figure(to, "mean SSIM", values->ssim, "");
    add_figure(to, "mean SAM", values->sam, " degrees");
    if (all_bands) {
        add_bands(from, to);
    }
}
