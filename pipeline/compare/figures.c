/* The figures of a comparison as JSON, as tables, and as a picture. */
#include "io/write/png.h"
#include "pipeline/compare/compare.h"
#include "pipeline/picture/image.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

HcStatus hc_comparison_json(const HcComparison *from, HcJson *to, HcError *err) {
    hc_json_put_text(to, "scene", from->path[0]);
    hc_json_put_text(to, "truth", from->path[1]);
    hc_json_put_text(to, "compared_as", from->kind == HC_COMPARE_CLASSES ? "classes" : "values");
    hc_json_put_double(to, "pixels", (double)from->pixels);
    hc_json_put_double(to, "left_out_pixels", (double)from->left_out);
    hc_json_put_text(to, "matched_by", from->matched_by);
    if (from->kind == HC_COMPARE_CLASSES) {
        hc_json_put_number(to, "scene_classes_without_partner", from->unmatched[0]);
        hc_json_put_number(to, "truth_classes_without_partner", from->unmatched[1]);
        return hc_accuracy_json(&from->accuracy, &from->classes, NULL, to, err);
    }
    put_values(from, to);
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

void hc_comparison_text(const HcComparison *from, bool all_bands, HcText *to) {
    const HcValueFigures *values = &from->values;
    hc_text_add(to, "%-12s %s\n%-12s %s\n", "scene", from->path[0], "truth", from->path[1]);
    hc_text_add(to, "%-12s %lld, and %lld left out\n", "pixels", (long long)from->pixels,
                (long long)from->left_out);
    bool classes = from->kind == HC_COMPARE_CLASSES;
    hc_text_add(to, "%-12s %d, matched by %s", classes ? "classes" : "bands",
                classes ? from->class_count : values->bands,
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

/* ---- picture ---- */

static HcStatus draw_classes(const HcComparison *from, HcImage *image, HcError *err) {
    static const uint8_t colours[2][3] = {{190, 190, 190}, {200, 30, 30}};
    HcStatus status = HC_OK;
    HcClasses classes = {0};
    const HcDifferenceMap *shown = &from->difference;
    HC_TRY(hc_classes_make(&classes, 3, err));
    HC_TRY(hc_classes_name(&classes, 1, "right", err));
    HC_TRY(hc_classes_name(&classes, 2, "wrong", err));
    memcpy(classes.colour[1], colours, sizeof colours);
    HcClassPlane plane = {.value = shown->plane,
                          .valid = shown->valid,
                          .width = shown->width,
                          .height = shown->height,
                          .enlarge = 1,
                          .classes = &classes};
    HC_TRY(hc_image_classes(image, &plane, HC_LEGEND_BELOW, err));
done:
    hc_classes_clear(&classes);
    return status;
}

/* From 0 to the 99th percentile, so that a few outliers do not darken the rest. */
static HcStatus draw_values(const HcComparison *from, HcImage *image, HcError *err) {
    enum { MARGIN = 4, BAR_LEAST = 120 };
    const HcDifferenceMap *shown = &from->difference;
    float limits[2];
    size_t pixels = (size_t)shown->width * (size_t)shown->height;
    int32_t width = shown->width > BAR_LEAST ? shown->width : BAR_LEAST;
    HC_OR_RETURN(hc_image_limits(shown->plane, shown->valid, pixels, 0, 99, limits, err));
    limits[0] = 0;
    limits[1] = limits[1] > 0 ? limits[1] : 1;
    HC_OR_RETURN(
        hc_image_init(image, width + 2 * MARGIN, shown->height + hc_image_bar_height(1) + 2 * MARGIN, err));
    for (size_t p = 0; p < pixels; p++) {
        size_t x = p % (size_t)shown->width, y = p / (size_t)shown->width;
        uint8_t *to = image->pixels + 4 * (y * (size_t)image->width + x);
        float level = 255 * shown->plane[p] / limits[1];
        hc_image_viridis((uint8_t)(level < 255 ? level : 255), to);
        to[3] = shown->valid[p] ? 255 : 0;
    }
    hc_image_bar(image, MARGIN, shown->height + MARGIN, width, 1, true, limits, "RMS difference");
    return HC_OK;
}

HcStatus hc_comparison_draw(const HcComparison *from, const char *path, bool overwrite, HcError *err) {
    HcStatus status = HC_OK;
    HcImage image = {0};
    HC_TRY(from->kind == HC_COMPARE_CLASSES ? draw_classes(from, &image, err)
                                            : draw_values(from, &image, err));
    HC_TRY(hc_png_write(path, image.width, image.height, image.pixels, overwrite, err));
done:
    hc_image_clear(&image);
    return status;
}
