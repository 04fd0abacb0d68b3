/* Intervals in which spectra say nothing are marked with their reason: bad bands, water vapour, detectors
 * that overlap. A reader would take the curve there for data. Bands are drawn by rising wavelength, since
 * two sensors of one scene may overlap. */
#include "pipeline/picture/plots.h"
#include "core/allocate.h"
#include "core/text.h"
#include "core/scene.h"
#include "figure/figure.h"
#include "io/file.h"
#include "io/read/overlaps.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double page_width = 510, page_dpi = 150; /* 180 mm */

HcStatus hc_plot_file_check(const char *who, const char *option, const char *path, HcError *err) {
    HcFigureFormat format;
    if (!hc_figure_format_of(path, &format)) {
        return hc_fail(err, HC_E_USAGE, "%s: %s %s: does not end with .png, .svg or .pdf", who, option, path);
    }
    return HC_OK;
}

static int32_t shown_of(int32_t count) {
    return count < HC_PLOT_SPECTRA_MAX ? count : HC_PLOT_SPECTRA_MAX;
}

size_t hc_plot_file_bytes(const char *path, int32_t count, int32_t bands) {
    HcFigureFormat format = HC_FIGURE_PNG;
    if (path == NULL || !hc_figure_format_of(path, &format)) {
        return 0;
    }
    size_t values = (size_t)shown_of(count) * (size_t)bands;
    return hc_figure_bytes(format, page_width, page_dpi, 0) + hc_plot_bytes(values) +
           values * 3 * sizeof(double) + (size_t)bands * (sizeof(HcPlotInterval) + 16);
}

/* ---- the page ---- */

/* `page` says title, caption and width. */
static HcStatus draw(const HcPlot *plot, const HcFigurePanel *beside, const HcFigure *page,
                     HcFigureFormat format, HcFigureFile *file, HcError *err) {
    int32_t count = beside != NULL ? 2 : 1;
    HcFigurePanel panel[2] = {0};
    panel[0] = beside != NULL ? *beside : panel[0];
    panel[count - 1].plot = plot;
    HcFigure figure = *page;
    figure.caption = page->caption != NULL && page->caption[0] != '\0' ? page->caption : NULL;
    figure.description = figure.caption;
    figure.width = page->width > 0 ? page->width : page_width;
    figure.dpi = page_dpi;
    figure.panel = panel;
    figure.count = figure.columns = count;
    return hc_figure_draw(&figure, format, file, err);
}

static HcFigureFormat format_of(const char *path) {
    HcFigureFormat format = HC_FIGURE_PNG;
    hc_figure_format_of(path, &format);
    return format;
}

/* Frees what was drawn. */
static HcStatus write_file(const char *path, HcFigureFile *file, bool overwrite, HcError *err) {
    HcStatus status = hc_file_write_unflushed(path, file->data, file->bytes, overwrite, err);
    free(file->data);
    return status;
}

/* ---- intervals ---- */

/* Where water vapour lets hardly any light through [nm]. */
static const HcPlotInterval water[] = {
    {1340, 1450, "H\xe2\x82\x82O"}, {1790, 1960, "H\xe2\x82\x82O"}, {2500, 2900, "H\xe2\x82\x82O"}};
enum { WATER = sizeof water / sizeof *water };

/* Runs of bad bands; x[bands] rises, from[bands] are the bands of the scene. */
static int32_t bad_runs(const HcScene *scene, const double *x, const int32_t *from, HcPlotInterval *to) {
    int32_t count = 0, bands = scene->bands;
    for (int32_t b = 0; b < bands && scene->bad != NULL; b++) {
        if (!scene->bad[from[b]] || !isfinite(x[b])) {
            continue;
        }
        double low = b > 0 ? (x[b - 1] + x[b]) / 2 : x[b],
               high = b + 1 < bands ? (x[b] + x[b + 1]) / 2 : x[b];
        if (count > 0 && to[count - 1].high >= low) {
            to[count - 1].high = high;
        } else {
            to[count++] = (HcPlotInterval){low, high, "bad"};
        }
    }
    return count;
}

static int compare_intervals(const void *a, const void *b) {
    double x = ((const HcPlotInterval *)a)->low, y = ((const HcPlotInterval *)b)->low;
    return (x > y) - (x < y);
}

/* Ranges that meet become one, which is named after the water. */
static int32_t join_intervals(HcPlotInterval *interval, int32_t count) {
    int32_t kept = 0;
    qsort(interval, (size_t)count, sizeof *interval, compare_intervals);
    for (int32_t i = 0; i < count; i++) {
        HcPlotInterval *last = interval + kept - 1;
        if (kept > 0 && interval[i].low <= last->high) {
            last->high = fmax(last->high, interval[i].high);
            last->label = last->label == water[0].label || interval[i].label == water[0].label
                              ? water[0].label
                              : last->label;
        } else {
            interval[kept++] = interval[i];
        }
    }
    return kept;
}

/* A scene that lies in such intervals altogether is shown without them. */
static int32_t find_intervals(const HcScene *scene, const double *x, const int32_t *from,
                              HcPlotInterval *to) {
    int32_t count = bad_runs(scene, x, from, to), outside = 0;
    for (int32_t w = 0; w < WATER && scene->wavelength != NULL; w++) {
        to[count] = water[w];
        to[count++].label = water[0].label;
    }
    double overlap[HC_OVERLAPS_MAX][2];
    for (int32_t o = hc_detector_overlaps(scene, overlap); o > 0; o--) {
        to[count++] = (HcPlotInterval){overlap[o - 1][0], overlap[o - 1][1], "overlap"};
    }
    count = join_intervals(to, count);
    for (int32_t b = 0; b < scene->bands; b++) {
        bool within = false;
        for (int32_t i = 0; i < count; i++) {
            within = within || (x[b] >= to[i].low && x[b] <= to[i].high);
        }
        outside += !within;
    }
    return outside > 0 ? count : 0;
}

/* ---- spectra ---- */

typedef struct Spectra {
    double *x, *y, *low, *high; /* [bands]; [shown][bands] each */
    int32_t *from;              /* [bands] the band of the scene, by rising wavelength */
    HcPlotInterval *interval;
    HcPlotSeries *series; /* [shown] */
    uint8_t (*rgb)[3];    /* [shown] */
    char **name;          /* [shown], borrowed */
    HcText caption;
} Spectra;

static void clear_spectra(Spectra *spectra) {
    free(spectra->x);
    free(spectra->y);
    free(spectra->low);
    free(spectra->high);
    free(spectra->from);
    free(spectra->interval);
    free(spectra->series);
    free(spectra->rgb);
    free(spectra->name);
    hc_text_clear(&spectra->caption);
}

static HcStatus open_spectra(Spectra *spectra, size_t shown, size_t bands, bool spread, HcError *err) {
    static const char what[] = "a plot of spectra";
    HC_OR_RETURN(hc_new(spectra->x, bands, what, err));
    HC_OR_RETURN(hc_new(spectra->from, bands, what, err));
    HC_OR_RETURN(hc_new(spectra->interval, bands + WATER + HC_OVERLAPS_MAX, what, err));
    HC_OR_RETURN(hc_new(spectra->y, shown * bands, what, err));
    HC_OR_RETURN(hc_new(spectra->low, spread ? shown * bands : 1, what, err));
    HC_OR_RETURN(hc_new(spectra->high, spread ? shown * bands : 1, what, err));
    HC_OR_RETURN(hc_new(spectra->series, shown, what, err));
    HC_OR_RETURN(hc_new(spectra->rgb, shown, what, err));
    return hc_new(spectra->name, shown, what, err);
}

/* Two sensors of one scene may overlap: bands are taken by rising wavelength. */
static void sort_bands(const HcScene *scene, Spectra *spectra) {
    for (int32_t b = 0; b < scene->bands; b++) {
        double at = scene->wavelength != NULL ? scene->wavelength[b] : b + 1;
        int32_t to = b;
        for (; to > 0 && spectra->x[to - 1] > at; to--) {
            spectra->x[to] = spectra->x[to - 1];
            spectra->from[to] = spectra->from[to - 1];
        }
        spectra->x[to] = at;
        spectra->from[to] = b;
    }
}

static void fill_series(const HcSpectraPlot *plot, Spectra *spectra, int32_t s, int32_t number) {
    size_t bands = (size_t)plot->scene->bands;
    double *y = spectra->y + (size_t)s * bands, *low = spectra->low, *high = spectra->high;
    low += plot->spread != NULL ? (size_t)s * bands : 0;
    high += plot->spread != NULL ? (size_t)s * bands : 0;
    for (size_t b = 0; b < bands; b++) {
        size_t at = (size_t)number * bands + (size_t)spectra->from[b];
        y[b] = (double)plot->value[at];
        if (plot->spread != NULL) {
            low[b] = y[b] - (double)plot->spread[at];
            high[b] = y[b] + (double)plot->spread[at];
        }
    }
    spectra->name[s] = plot->name[number];
    spectra->series[s] = (HcPlotSeries){.name = plot->name[number],
                                        .x = spectra->x,
                                        .y = y,
                                        .low = plot->spread != NULL ? low : NULL,
                                        .high = plot->spread != NULL ? high : NULL,
                                        .count = (int32_t)bands};
}

static void say_overlaps(const HcScene *scene, HcText *caption) {
    double overlap[HC_OVERLAPS_MAX][2];
    int32_t count = hc_detector_overlaps(scene, overlap);
    for (int32_t i = 0; i < count; i++) {
        hc_text_add(caption, i > 0                 ? ", "
                             : caption->length > 0 ? " Detectors overlap at "
                                                   : "Detectors overlap at ");
        hc_text_add(caption, "%.0f-%.0f", overlap[i][0], overlap[i][1]);
    }
    hc_text_add(caption, count > 0 ? " nm." : "");
}

HcStatus hc_plot_spectra_draw(const HcSpectraPlot *plot, HcFigureFormat format, HcFigureFile *file,
                              HcError *err) {
    HcStatus status = HC_OK;
    Spectra spectra = {0};
    int32_t shown = shown_of(plot->count);
    HC_TRY(open_spectra(&spectra, (size_t)shown, (size_t)plot->scene->bands, plot->spread != NULL, err));
    sort_bands(plot->scene, &spectra);
    for (int32_t s = 0; s < shown; s++) {
        fill_series(plot, &spectra, s, (int32_t)((int64_t)s * plot->count / shown));
    }
    hc_line_colours(spectra.name, shown, spectra.rgb);
    for (int32_t s = 0; s < shown; s++) {
        memcpy(spectra.series[s].rgb, spectra.rgb[s], 3);
        /* Beside a map there is no room for a legend; the caption says what is shown. */
        spectra.series[s].name = plot->beside != NULL ? NULL : spectra.series[s].name;
    }
    hc_text_add(&spectra.caption, "%s", plot->caption != NULL ? plot->caption : "");
    if (shown < plot->count) {
        hc_text_add(&spectra.caption, "%s%d of %d spectra, evenly taken.", plot->caption != NULL ? " " : "",
                    shown, plot->count);
    }
    say_overlaps(plot->scene, &spectra.caption);
    if (spectra.caption.failed) {
        HC_TRY(hc_fail_memory(err, 256, "a plot of spectra"));
    }
    const HcPlot drawn = {.x = {.label = plot->scene->wavelength != NULL ? "wavelength [nm]" : "band"},
                          .y = {.label = plot->label, .logarithmic = plot->logarithmic},
                          .series = spectra.series,
                          .series_count = shown,
                          .shape = plot->beside != NULL ? 0.8 : 0,
                          .interval = spectra.interval,
                          .interval_count =
                              find_intervals(plot->scene, spectra.x, spectra.from, spectra.interval)};
    const HcFigure page = {.title = plot->title, .caption = spectra.caption.data, .width = plot->width};
    HC_TRY(draw(&drawn, plot->beside, &page, format, file, err));
done:
    clear_spectra(&spectra);
    return status;
}

HcStatus hc_plot_spectra(const char *path, const HcSpectraPlot *plot, bool overwrite, HcError *err) {
    HcFigureFile file = {0};
    HC_OR_RETURN(hc_plot_spectra_draw(plot, format_of(path), &file, err));
    return write_file(path, &file, overwrite, err);
}

/* ---- eigenvalues ---- */

enum { MARKS_MAX = HC_DIMENSION_RULES + 2 };

/* Counts with their texts, rising, each once. */
typedef struct Marks {
    HcPlotMark mark[MARKS_MAX];
    char text[MARKS_MAX][12];
    int32_t count;
} Marks;

static int compare_counts(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* "; 5 by HFC, ELM": which rules find a count. */
static void say_rules(const HcDimension *dimension, int32_t count, HcText *caption) {
    bool first = true;
    for (int32_t rule = HC_DIMENSION_HYSIME; dimension != NULL && rule < HC_DIMENSION_RULES; rule++) {
        if (dimension->count[rule] != count) {
            continue;
        }
        if (first) {
            hc_text_add(caption, "%s%d by ", caption->length > 0 ? "; " : "Components with signal: ", count);
        }
        hc_text_add(caption, "%s%s", first ? "" : ", ", hc_dimension_names[rule]);
        first = false;
    }
}

/* An upright line for each count that a rule finds, and for the one that is kept. That one, or without it the
 * recommended one, has its label in any case. */
static void mark_rules(const HcScreePlot *plot, Marks *marks, HcText *caption) {
    const HcDimension *dimension = plot->dimension;
    int32_t count[HC_DIMENSION_RULES] = {plot->kept}, last = 0;
    int32_t chosen = plot->kept > 0 || dimension == NULL ? plot->kept : dimension->count[HC_DIMENSION_AUTO];
    for (int32_t rule = HC_DIMENSION_HYSIME; dimension != NULL && rule < HC_DIMENSION_RULES; rule++) {
        count[rule] = dimension->count[rule];
    }
    qsort(count, HC_DIMENSION_RULES, sizeof *count, compare_counts);
    for (int32_t k = 0; k < HC_DIMENSION_RULES; k++) {
        if (count[k] <= last || count[k] > plot->count) {
            continue;
        }
        last = count[k];
        char *text = marks->text[marks->count];
        snprintf(text, sizeof marks->text[0], "%d", last);
        marks->mark[marks->count++] =
            (HcPlotMark){.at = last, .upright = true, .chosen = last == chosen, .label = text};
        say_rules(dimension, last, caption);
    }
    hc_text_add(caption, caption->length > 0 ? ". " : "");
    if (chosen > 0) {
        hc_text_add(caption, "Thick line: %d %s.", chosen, plot->kept > 0 ? "kept" : "recommended");
    }
}

HcStatus hc_plot_scree_draw(const HcScreePlot *plot, HcFigureFormat format, HcFigureFile *file,
                            HcError *err) {
    HcStatus status = HC_OK;
    Marks marks = {0};
    HcText caption = {0};
    double *number = NULL, lowest = INFINITY, highest = 0;
    HC_TRY(hc_new(number, plot->count > 0 ? (size_t)plot->count : 1, "a scree plot", err));
    for (int32_t i = 0; i < plot->count; i++) {
        number[i] = i + 1;
        lowest = plot->values[i] > 0 ? fmin(lowest, plot->values[i]) : lowest;
        highest = isfinite(plot->values[i]) ? fmax(highest, plot->values[i]) : highest;
    }
    mark_rules(plot, &marks, &caption);
    if (caption.failed) {
        HC_TRY(hc_fail_memory(err, 256, "a scree plot"));
    }
    /* A mark far from the values is of no use. */
    if (plot->noise > 0 && lowest < 2 * plot->noise && highest > plot->noise / 2) {
        marks.mark[marks.count++] = (HcPlotMark){.at = plot->noise, .label = "noise"};
    }
    const HcPlotSeries series = {
        .x = number, .y = plot->values, .count = plot->count, .rgb = {31, 104, 142}, .points = true};
    const HcPlot drawn = {.x = {.label = "component"},
                          .y = {.label = "eigenvalue", .logarithmic = true},
                          .series = &series,
                          .series_count = 1,
                          .mark = marks.mark,
                          .mark_count = marks.count};
    const HcFigure page = {.title = plot->title, .caption = caption.data, .width = plot->width};
    HC_TRY(draw(&drawn, NULL, &page, format, file, err));
done:
    hc_text_clear(&caption);
    free(number);
    return status;
}

HcStatus hc_plot_scree(const char *path, const HcScreePlot *plot, bool overwrite, HcError *err) {
    HcFigureFile file = {0};
    HC_OR_RETURN(hc_plot_scree_draw(plot, format_of(path), &file, err));
    return write_file(path, &file, overwrite, err);
}
