/* The picture of a comparison, as a page: the map of differences, or the curves of scores. */
#include "core/allocate.h"
#include "figure/figure.h"
#include "io/file.h"
#include "io/shape/ground.h"
#include "pipeline/compare/compare.h"
#include "pipeline/picture/image.h"
#include "pipeline/picture/plots.h"
#include "core/texts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHANCE_POINTS = 101 };
static const double page_width = 510, page_dpi = 200; /* 180 mm */

/* What the page borrows. */
typedef struct Drawing {
    HcFigurePanel panel[2];
    HcFigureBar bar;
    HcFigureEntry entry[2];
    HcFigureLegend legend;
    uint8_t *pixels; /* of a map */
    HcPlot plot[2];
    HcPlotSeries *series; /* [names + 1] of the curves */
    char **name;          /* [names] */
    uint8_t (*rgb)[3];    /* [names] */
    int32_t names;
    double chance[CHANCE_POINTS];
    HcText title, caption;
} Drawing;

static void clear(Drawing *drawing) {
    hc_text_clear(&drawing->title);
    hc_text_clear(&drawing->caption);
    hc_free_texts(drawing->name, drawing->names);
    free(drawing->rgb);
    free(drawing->series);
    free(drawing->pixels);
}

/* ---- maps ---- */

static HcStatus open_map(const HcComparison *from, Drawing *to, HcError *err) {
    const HcDifferenceMap *shown = &from->difference;
    const HcScene *scene = from->scene[0];
    HcGround ground = hc_ground_of(&scene->place, scene->lines, scene->samples);
    HC_OR_RETURN(hc_new(to->pixels, (size_t)shown->width * (size_t)shown->height * 4, "a picture", err));
    to->panel[0].map = (HcFigureMap){.width = shown->width,
                                     .height = shown->height,
                                     .pixels = to->pixels,
                                     .metres = ground.known ? ground.across * shown->step : 0,
                                     .stretch = ground.known ? ground.along / ground.across : 1,
                                     .north = ground.known ? ground.north : NAN};
    return HC_OK;
}

static HcStatus draw_classes(const HcComparison *from, Drawing *to, HcError *err) {
    static const uint8_t colours[2][3] = {{190, 190, 190}, {200, 30, 30}};
    const HcDifferenceMap *shown = &from->difference;
    int64_t count[2] = {0};
    HC_OR_RETURN(open_map(from, to, err));
    for (size_t p = 0; p < (size_t)shown->width * (size_t)shown->height; p++) {
        int wrong = shown->plane[p] > 1.5f;
        memcpy(to->pixels + 4 * p, colours[wrong], 3);
        to->pixels[4 * p + 3] = shown->valid[p] ? 255 : 0;
        count[wrong] += shown->valid[p] != 0;
    }
    for (int k = 0; k < 2; k++) {
        double all = (double)(count[0] + count[1]);
        to->entry[k] = (HcFigureEntry){.name = k == 0 ? "right" : "wrong",
                                       .percent = all > 0 ? 100.0 * (double)count[k] / all : NAN};
        memcpy(to->entry[k].rgb, colours[k], 3);
    }
    to->legend = (HcFigureLegend){.entry = to->entry, .count = 2};
    to->panel[0].legend = &to->legend;
    hc_text_add(&to->caption, "Percent of the shown pixels. ");
    return HC_OK;
}

/* From 0 to the 99th percentile, so that a few outliers do not darken the rest. */
static HcStatus draw_values(const HcComparison *from, Drawing *to, HcError *err) {
    const HcDifferenceMap *shown = &from->difference;
    float limits[2];
    size_t pixels = (size_t)shown->width * (size_t)shown->height;
    HC_OR_RETURN(open_map(from, to, err));
    HC_OR_RETURN(hc_image_limits(shown->plane, shown->valid, pixels, 0, 99, limits, err));
    limits[0] = 0;
    limits[1] = limits[1] > 0 ? limits[1] : 1;
    HcRamp ramp = hc_image_ramp(limits);
    for (size_t p = 0; p < pixels; p++) {
        hc_ramp_colour(ramp, hc_image_level(limits, shown->plane[p]), to->pixels + 4 * p);
        to->pixels[4 * p + 3] = shown->valid[p] ? 255 : 0;
    }
    to->bar = (HcFigureBar){
        .ramp = ramp, .high = (double)limits[1], .label = "root mean square difference of a pixel"};
    to->panel[0].bar = &to->bar;
    hc_text_add(&to->caption,
                "RMSE %.4g. Colours from 0 to the value below which 99 %% of the shown pixels lie. ",
                from->values.rmse);
    return HC_OK;
}

/* ---- curves ---- */

static HcStatus add_curve(const HcComparison *from, const HcRoc *roc, Drawing *to, HcError *err) {
    const HcScene *scene = from->scene[0];
    const char *name = scene->band_name != NULL ? scene->band_name[roc->band] : NULL;
    char *text = name != NULL ? hc_text_format("%s, area %.4f", name, roc->area)
                              : hc_text_format("band %d, area %.4f", roc->band + 1, roc->area);
    HC_OR_RETURN(hc_text_made(text, 64, "a curve", err));
    to->name[to->names++] = text;
    to->series[to->names] =
        (HcPlotSeries){.name = text, .x = roc->curve[0], .y = roc->curve[1], .count = roc->count};
    return HC_OK;
}

/* Scores that say nothing: from 0 over the least rate of an axis with logarithms to 1. */
static void add_chance(double least, Drawing *to) {
    for (int k = 1; k < CHANCE_POINTS; k++) {
        to->chance[k] = pow(least, 1 - (double)(k - 1) / (CHANCE_POINTS - 2));
    }
    to->series[0] = (HcPlotSeries){
        .name = "chance", .x = to->chance, .y = to->chance, .count = CHANCE_POINTS, .rgb = {170, 170, 170}};
}

/* One panel over rates as they are, one over their logarithms, with the stated rates marked. */
static HcStatus draw_scores(const HcComparison *from, Drawing *to, HcError *err) {
    static const HcPlotMark marks[] = {{.at = 1e-4, .upright = true, .label = "1e-4"},
                                       {.at = 1e-3, .upright = true, .label = "1e-3"}};
    const HcScoreFigures *scores = &from->scores;
    double least = 0.1;
    HC_OR_RETURN(hc_new(to->series, scores->bands + 1, "curves", err));
    HC_OR_RETURN(hc_new(to->name, scores->bands, "curves", err));
    HC_OR_RETURN(hc_new(to->rgb, scores->bands, "curves", err));
    for (int32_t b = 0; b < scores->bands; b++) {
        const HcRoc *roc = &scores->band[b];
        if (!isnan(roc->area)) {
            HC_OR_RETURN(add_curve(from, roc, to, err));
            least = fmin(least, 1 / (double)roc->background);
        }
    }
    hc_line_colours(to->name, to->names, to->rgb);
    for (int32_t s = 0; s < to->names; s++) {
        memcpy(to->series[s + 1].rgb, to->rgb[s], 3);
    }
    add_chance(least, to);
    for (int k = 0; k < 2; k++) {
        to->plot[k] = (HcPlot){.x = {.label = "false-alarm rate", .logarithmic = k == 1},
                               .y = {.label = "rate of detection"},
                               .series = to->series,
                               .series_count = to->names + 1,
                               .mark = marks,
                               .mark_count = k == 1 ? 2 : 0};
        to->panel[k].plot = &to->plot[k];
    }
    hc_text_add(&to->caption, "Receiver operating characteristics; below with a logarithmic axis. ");
    return HC_OK;
}

HcStatus hc_comparison_picture_check(const char *path, HcError *err) {
    return hc_plot_file_check("compare", "--picture", path, err);
}

size_t hc_comparison_draw_bytes(const HcDifferenceMap *map) {
    return hc_figure_bytes(HC_FIGURE_PNG, page_width, page_dpi, (size_t)map->width * (size_t)map->height);
}

HcStatus hc_comparison_draw(const HcComparison *from, const char *path, bool overwrite, HcError *err) {
    HcStatus status = HC_OK;
    HcFigureFormat format = HC_FIGURE_PNG;
    Drawing drawing = {0};
    HcFigureFile file = {0};
    bool scores = from->kind == HC_COMPARE_SCORES;
    hc_figure_format_of(path, &format);
    hc_text_add(&drawing.title, "%s, compared with %s", hc_file_base(from->path[0]),
                hc_file_base(from->path[1]));
    HC_TRY(scores                             ? draw_scores(from, &drawing, err)
           : from->kind == HC_COMPARE_CLASSES ? draw_classes(from, &drawing, err)
                                              : draw_values(from, &drawing, err));
    hc_text_add(&drawing.caption, "%" PRId64 " pixels, %" PRId64 " left out%s.", from->pixels, from->left_out,
                from->left_out > 0 && !scores ? " (white)" : "");
    if (drawing.title.failed || drawing.caption.failed) {
        HC_TRY(hc_fail_memory(err, 1024, "the texts of a picture"));
    }
    HcFigure figure = {.title = drawing.title.data,
                       .caption = drawing.caption.data,
                       .description = drawing.caption.data,
                       .width = page_width,
                       .dpi = page_dpi,
                       .panel = drawing.panel,
                       .count = scores ? 2 : 1,
                       .columns = 1};
    HC_TRY(hc_figure_draw(&figure, format, &file, err));
    HC_TRY(hc_file_write_unflushed(path, file.data, file.bytes, overwrite, err));
done:
    free(file.data);
    clear(&drawing);
    return status;
}
