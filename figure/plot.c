/* Axes with ticks, and what lies between them. */
#include "core/text.h"
#include "figure/parts.h"
#include "figure/ticks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double tick_length = 3, line_width = 1.1, decades_max = 16;
static const uint8_t mark_ink[3] = {176, 62, 44};
static const uint8_t shade_ink[3] = {120, 128, 138};

/* ---- ranges ---- */

/* One axis: values from low to high (their decadic logarithms on a logarithmic axis) lie from `begin` to
 * `end` on the page. */
typedef struct Scale {
    bool logarithmic;
    double low, high;
    double begin, end;
} Scale;

/* NAN where the axis cannot show it. */
static double level_of(const Scale *scale, double value) {
    return !isfinite(value) ? NAN : !scale->logarithmic ? value : value > 0 ? log10(value) : NAN;
}

/* Where the value lies on the page; NAN = nowhere. */
static double place_of(const Scale *scale, double value) {
    double level = level_of(scale, value);
    return level >= scale->low && level <= scale->high
               ? scale->begin +
                     (level - scale->low) / (scale->high - scale->low) * (scale->end - scale->begin)
               : NAN;
}

static void widen(Scale *scale, double value) {
    double level = level_of(scale, value);
    if (!isnan(level)) {
        scale->low = fmin(scale->low, level);
        scale->high = fmax(scale->high, level);
    }
}

/* A range that holds something, with some air. */
static void settle(Scale *scale, double air) {
    if (!(scale->low <= scale->high)) {
        scale->low = scale->logarithmic ? -1 : 0;
        scale->high = 1;
    }
    if (scale->logarithmic) {
        scale->low = fmax(scale->low, scale->high - decades_max);
    }
    /* Halves, since the whole span of the largest doubles is infinite. */
    double half = scale->high / 2 - scale->low / 2;
    double least = scale->logarithmic ? 0.15 : 1e-6 * fmax(fabs(scale->low), fabs(scale->high));
    if (!(half > least)) {
        half = scale->logarithmic ? 1 : fabs(scale->high) > 0 ? fabs(scale->high) : 1;
        air = fmax(air, 0.05);
    }
    scale->low = fmax(scale->low - 2 * air * half, -8e307);
    scale->high = fmin(scale->high + 2 * air * half, 8e307);
}

static bool is_shaded(const HcPlot *plot, double x) {
    for (int32_t i = 0; i < plot->interval_count; i++) {
        if (x >= plot->interval[i].low && x <= plot->interval[i].high) {
            return true;
        }
    }
    return false;
}

/* Whether the series shows its value i. */
static bool is_shown(const HcPlot *plot, const HcPlotSeries *series, int32_t i) {
    return isfinite(series->x[i]) && isfinite(series->y[i]) && !is_shaded(plot, series->x[i]);
}

static void widen_by_series(const HcPlot *plot, const HcPlotSeries *series, Scale *x, Scale *y) {
    for (int32_t i = 0; i < series->count; i++) {
        widen(x, series->x[i]);
        if (!is_shown(plot, series, i)) {
            continue;
        }
        widen(y, series->y[i]);
        if (series->low != NULL && series->high != NULL) {
            widen(y, series->low[i]);
            widen(y, series->high[i]);
        }
    }
}

static void find_ranges(const HcPlot *plot, Scale *x, Scale *y) {
    *x = (Scale){.logarithmic = plot->x.logarithmic, .low = INFINITY, .high = -INFINITY};
    *y = (Scale){.logarithmic = plot->y.logarithmic, .low = INFINITY, .high = -INFINITY};
    bool points = false;
    for (int32_t s = 0; s < plot->series_count; s++) {
        widen_by_series(plot, &plot->series[s], x, y);
        points = points || plot->series[s].points;
    }
    for (int32_t m = 0; m < plot->mark_count; m++) {
        widen(plot->mark[m].upright ? x : y, plot->mark[m].at);
    }
    settle(x, points ? 0.02 : 0);
    settle(y, 0.05);
}

/* ---- ticks ---- */

/* "200", or as a power of ten ("2·10²"). */
static void write_power(char text[HC_TICK_BYTES], int digit, int decade, bool power) {
    static const char *const raised[] = {"\xe2\x81\xb0", "\xc2\xb9",     "\xc2\xb2",     "\xc2\xb3",
                                         "\xe2\x81\xb4", "\xe2\x81\xb5", "\xe2\x81\xb6", "\xe2\x81\xb7",
                                         "\xe2\x81\xb8", "\xe2\x81\xb9"};
    if (!power) {
        hc_ticks_number(text, digit * pow(10, decade), 6);
        return;
    }
    char number[8];
    size_t length = 0;
    snprintf(number, sizeof number, "%d", decade);
    if (digit > 1) {
        length += (size_t)snprintf(text, HC_TICK_BYTES, "%d\xc2\xb7", digit);
    }
    length += (size_t)snprintf(text + length, HC_TICK_BYTES - length, "10");
    for (const char *at = number; *at != 0; at++) {
        const char *sign = *at == '-' ? "\xe2\x81\xbb" : raised[*at - '0'];
        length += (size_t)snprintf(text + length, HC_TICK_BYTES - length, "%s", sign);
    }
}

/* Powers of ten, every second or more where they are many; 2 and 5 between them where they are few. */
static void make_powers(HcTicks *ticks, const Scale *scale) {
    *ticks = (HcTicks){0};
    double span = scale->high - scale->low;
    bool power = scale->low < -3 || scale->high > 5;
    int every = span > 12 ? 3 : span > 6 ? 2 : 1;
    for (int decade = (int)floor(scale->low); decade <= (int)ceil(scale->high); decade++) {
        for (int digit = 1; digit <= 5; digit += digit == 1 ? 1 : 3) {
            double level = decade + log10(digit);
            bool wanted = digit == 1 ? decade % every == 0 : span < 2.5;
            if (wanted && level >= scale->low && level <= scale->high && ticks->count < HC_TICKS_MAX) {
                write_power(ticks->text[ticks->count], digit, decade, power);
                ticks->at[ticks->count++] = digit * pow(10, decade);
            }
        }
    }
}

static void make_ticks(HcTicks *ticks, const Scale *scale, int32_t want) {
    if (scale->logarithmic) {
        make_powers(ticks, scale);
    } else {
        hc_ticks_make(ticks, scale->low, scale->high, want);
    }
}

static double widest_of(HcCanvas *canvas, const HcTicks *ticks) {
    const HcLetters letters = {.size = HC_SMALL, .rgb = hc_ink_dark};
    double widest = 0;
    for (int32_t t = 0; t < ticks->count; t++) {
        widest = fmax(widest, hc_canvas_text_width(canvas, &letters, ticks->text[t]));
    }
    return widest;
}

/* Each with a faint line across the plot. A text that would touch the one before is left out. */
static void draw_x_ticks(HcCanvas *canvas, const Scale *x, const HcTicks *ticks, const HcFigureBox *box) {
    const HcLetters letters = {.size = HC_SMALL, .align = HC_ALIGN_CENTRE, .rgb = hc_ink_dark};
    double bottom = box->y + box->height, last = -INFINITY;
    for (int32_t t = 0; t < ticks->count; t++) {
        double at = place_of(x, ticks->at[t]);
        double half = hc_canvas_text_width(canvas, &letters, ticks->text[t]) / 2;
        if (isnan(at) || at - half < last + 3) {
            continue;
        }
        const double line[2][2] = {{at, box->y}, {at, bottom}};
        const double mark[2][2] = {{at, bottom}, {at, bottom + tick_length}};
        hc_canvas_line(canvas, line, 2, 0.4, hc_ink_faint);
        hc_canvas_line(canvas, mark, 2, 0.5, hc_ink_grey);
        hc_canvas_text(canvas, at, bottom + tick_length + 1.2 * HC_SMALL, &letters, ticks->text[t]);
        last = at + half;
    }
}

static void draw_y_ticks(HcCanvas *canvas, const Scale *y, const HcTicks *ticks, const HcFigureBox *box) {
    const HcLetters letters = {.size = HC_SMALL, .align = HC_ALIGN_RIGHT, .rgb = hc_ink_dark};
    for (int32_t t = 0; t < ticks->count; t++) {
        double at = place_of(y, ticks->at[t]);
        if (isnan(at)) {
            continue;
        }
        const double line[2][2] = {{box->x, at}, {box->x + box->width, at}};
        const double mark[2][2] = {{box->x - tick_length, at}, {box->x, at}};
        hc_canvas_line(canvas, line, 2, 0.4, hc_ink_faint);
        hc_canvas_line(canvas, mark, 2, 0.5, hc_ink_grey);
        hc_canvas_text(canvas, box->x - tick_length - 2, at + 0.36 * HC_SMALL, &letters, ticks->text[t]);
    }
}

/* ---- between the axes ---- */

static void draw_interval(HcCanvas *canvas, const Scale *x, const HcPlotInterval *interval,
                          const HcFigureBox *box) {
    double low = fmax(level_of(x, interval->low), x->low), high = fmin(level_of(x, interval->high), x->high);
    if (!(low < high)) {
        return;
    }
    double per = (x->end - x->begin) / (x->high - x->low);
    double left = x->begin + (low - x->low) * per, right = x->begin + (high - x->low) * per;
    double bottom = box->y + box->height;
    const double area[4][2] = {{left, box->y}, {right, box->y}, {right, bottom}, {left, bottom}};
    hc_canvas_area(canvas, area, 4, 0.16, shade_ink);
    if (interval->label == NULL) {
        return;
    }
    HcLetters letters = {.size = HC_SMALL, .align = HC_ALIGN_CENTRE, .rgb = hc_ink_grey};
    double wide = hc_canvas_text_width(canvas, &letters, interval->label), middle = (left + right) / 2;
    if (wide + 4 <= right - left) {
        hc_canvas_text(canvas, middle, box->y + 1.4 * HC_SMALL, &letters, interval->label);
    } else if (right - left >= HC_SMALL && wide + 8 <= box->height) {
        letters.up = true;
        letters.align = HC_ALIGN_RIGHT;
        hc_canvas_text(canvas, middle + 0.36 * HC_SMALL, box->y + 4, &letters, interval->label);
    }
}

/* The values of a series from `first` on that are joined by a line; returns their end. */
static int32_t end_of_run(const HcPlot *plot, const HcPlotSeries *series, const Scale *x, const Scale *y,
                          int32_t first) {
    int32_t i = first;
    while (i < series->count && is_shown(plot, series, i) && !isnan(place_of(x, series->x[i])) &&
           !isnan(place_of(y, series->y[i]))) {
        /* A line does not cross an interval that lies between two values. */
        for (int32_t n = 0; i > first && n < plot->interval_count; n++) {
            double a = fmin(series->x[i - 1], series->x[i]), b = fmax(series->x[i - 1], series->x[i]);
            if (a < plot->interval[n].low && b > plot->interval[n].high) {
                return i;
            }
        }
        i++;
    }
    return i;
}

/* To the next edge of the axis where it lies beyond. */
static double place_within(const Scale *scale, double value) {
    double level = level_of(scale, value);
    level = isnan(level) || level < scale->low ? scale->low : fmin(level, scale->high);
    return scale->begin + (level - scale->low) / (scale->high - scale->low) * (scale->end - scale->begin);
}

static void draw_spread(HcCanvas *canvas, const HcPlotSeries *series, const Scale *x, const Scale *y,
                        int32_t first, int32_t end, double (*xy)[2]) {
    int32_t count = end - first;
    for (int32_t i = 0; i < count; i++) {
        int32_t from = first + i;
        double low = isfinite(series->low[from]) ? series->low[from] : series->y[from];
        double high = isfinite(series->high[from]) ? series->high[from] : series->y[from];
        xy[i][0] = xy[2 * count - 1 - i][0] = place_of(x, series->x[from]);
        xy[i][1] = place_within(y, high);
        xy[2 * count - 1 - i][1] = place_within(y, low);
    }
    hc_canvas_area(canvas, (const double(*)[2])xy, 2 * count, 0.22, series->rgb);
}

static void draw_point(HcCanvas *canvas, const double at[2], double radius, const uint8_t rgb[3]) {
    enum { CORNERS = 12 };
    double corner[CORNERS][2];
    for (int c = 0; c < CORNERS; c++) {
        corner[c][0] = at[0] + radius * cos(c * 2 * M_PI / CORNERS);
        corner[c][1] = at[1] + radius * sin(c * 2 * M_PI / CORNERS);
    }
    hc_canvas_area(canvas, (const double(*)[2])corner, CORNERS, 1, rgb);
}

static void draw_run(HcCanvas *canvas, const HcPlotSeries *series, const Scale *x, const Scale *y,
                     int32_t first, int32_t end, double (*xy)[2]) {
    int32_t count = end - first;
    if (series->low != NULL && series->high != NULL && count > 1) {
        draw_spread(canvas, series, x, y, first, end, xy);
    }
    for (int32_t i = 0; i < count; i++) {
        xy[i][0] = place_of(x, series->x[first + i]);
        xy[i][1] = place_of(y, series->y[first + i]);
    }
    if (count > 1) {
        hc_canvas_line(canvas, (const double(*)[2])xy, count, line_width, series->rgb);
    }
    double radius = series->count <= 60 ? 2.2 : series->count <= 200 ? 1.5 : 1;
    for (int32_t i = 0; i < count && (series->points || count == 1); i++) {
        draw_point(canvas, xy[i], radius, series->rgb);
    }
}

/* Returns how many values are shown. */
static int32_t draw_series(HcCanvas *canvas, const HcPlot *plot, const HcPlotSeries *series, const Scale *x,
                           const Scale *y) {
    int32_t shown = 0;
    double(*xy)[2] = hc_canvas_points(canvas, 2 * (size_t)series->count);
    for (int32_t first = 0; xy != NULL && first < series->count;) {
        int32_t end = end_of_run(plot, series, x, y, first);
        if (end > first) {
            draw_run(canvas, series, x, y, first, end, xy);
        }
        shown += end - first;
        first = end > first ? end : first + 1;
    }
    free(xy);
    return shown;
}

static const HcLetters upright_letters = {.size = HC_SMALL, .align = HC_ALIGN_CENTRE, .rgb = mark_ink};

/* Half of what the label of an upright mark takes, which is centred above it. */
static double half_of(HcCanvas *canvas, const HcPlotMark *mark) {
    return mark->label != NULL ? hc_canvas_text_width(canvas, &upright_letters, mark->label) / 2 : 0;
}

/* The label of an upright mark stands above the plot, and is left out where it would touch the one before,
 * whose end is `last`, or that of the chosen mark, from `chosen[0]` to `chosen[1]`. */
static void draw_upright(HcCanvas *canvas, const HcPlotMark *mark, double at, const HcFigureBox *box,
                         const double chosen[2], double *last) {
    const double line[2][2] = {{at, box->y}, {at, box->y + box->height}};
    hc_canvas_line(canvas, line, 2, mark->chosen ? 1.2 : 0.7, mark_ink);
    double half = half_of(canvas, mark);
    bool free = at - half >= *last && (at + half < chosen[0] || at - half > chosen[1]);
    if (half > 0 && (mark->chosen || free)) {
        hc_canvas_text(canvas, at, box->y - 2.5, &upright_letters, mark->label);
        *last = at + half + 2;
    }
}

static void draw_across(HcCanvas *canvas, const HcPlotMark *mark, double at, const HcFigureBox *box) {
    const HcLetters letters = {
        .size = HC_SMALL, .align = HC_ALIGN_RIGHT, .width = box->width - 8, .rgb = mark_ink};
    double right = box->x + box->width;
    const double line[2][2] = {{box->x, at}, {right, at}};
    hc_canvas_line(canvas, line, 2, 0.7, mark_ink);
    double up = at - 3 - HC_SMALL > box->y ? at - 3 : at + 1.1 * HC_SMALL;
    hc_canvas_text(canvas, right - 4, up, &letters, mark->label != NULL ? mark->label : "");
}

static void draw_marks(HcCanvas *canvas, const HcPlot *plot, const Scale *x, const Scale *y,
                       const HcFigureBox *box) {
    double last = -INFINITY, chosen[2] = {INFINITY, -INFINITY};
    for (int32_t m = 0; m < plot->mark_count; m++) {
        const HcPlotMark *mark = &plot->mark[m];
        double at = place_of(x, mark->at), half = half_of(canvas, mark);
        if (mark->chosen && mark->upright && half > 0 && !isnan(at)) {
            chosen[0] = at - half - 2;
            chosen[1] = at + half + 2;
        }
    }
    for (int32_t m = 0; m < plot->mark_count; m++) {
        const HcPlotMark *mark = &plot->mark[m];
        double at = place_of(mark->upright ? x : y, mark->at);
        if (!isnan(at) && mark->upright) {
            draw_upright(canvas, mark, at, box, chosen, &last);
        } else if (!isnan(at)) {
            draw_across(canvas, mark, at, box);
        }
    }
}

static bool has_upright(const HcPlot *plot) {
    for (int32_t m = 0; m < plot->mark_count; m++) {
        if (plot->mark[m].upright && plot->mark[m].label != NULL) {
            return true;
        }
    }
    return false;
}

static void draw_inside(HcCanvas *canvas, const HcPlot *plot, const Scale *x, const Scale *y,
                        const HcFigureBox *box) {
    int64_t shown = 0;
    for (int32_t s = 0; s < plot->series_count; s++) {
        shown += draw_series(canvas, plot, &plot->series[s], x, y);
    }
    draw_marks(canvas, plot, x, y, box);
    if (shown == 0) {
        const HcLetters letters = {.size = HC_TEXT, .align = HC_ALIGN_CENTRE, .rgb = hc_ink_grey};
        hc_canvas_text(canvas, box->x + box->width / 2, box->y + box->height / 2, &letters, "no value");
    }
}

/* ---- the panel ---- */

double hc_plot_draw(HcCanvas *canvas, const HcPlot *plot, double left, double top, double width,
                    HcFigureBox *box) {
    Scale x, y;
    HcTicks x_ticks, y_ticks;
    HcLetters letters = {.size = HC_TEXT, .align = HC_ALIGN_CENTRE, .rgb = hc_ink_dark};
    find_ranges(plot, &x, &y);
    make_ticks(&x_ticks, &x, width < 200 ? 3 : 7);
    make_ticks(&y_ticks, &y, width < 200 ? 4 : 7);
    double named = plot->y.label != NULL ? 1.5 * HC_TEXT : 0;
    double before = named + widest_of(canvas, &y_ticks) + tick_length + 3;
    double after = hc_canvas_text_width(canvas, &letters, "0000") / 2;
    *box = (HcFigureBox){left + before, top + (has_upright(plot) ? 4 + HC_SMALL : 4),
                         fmax(width - before - after, 20), 0};
    box->height = box->width * (plot->shape > 0 ? plot->shape : 0.55);
    double bottom = box->y + box->height;
    x.begin = box->x;
    x.end = box->x + box->width;
    y.begin = bottom;
    y.end = box->y;
    draw_x_ticks(canvas, &x, &x_ticks, box);
    draw_y_ticks(canvas, &y, &y_ticks, box);
    for (int32_t i = 0; i < plot->interval_count; i++) {
        draw_interval(canvas, &x, &plot->interval[i], box);
    }
    draw_inside(canvas, plot, &x, &y, box);
    hc_canvas_frame(canvas, box->x, box->y, box->width, box->height, 0.6, hc_ink_grey);
    double end = bottom + tick_length + 1.7 * HC_SMALL;
    if (plot->x.label != NULL) {
        letters.width = width;
        hc_canvas_text(canvas, box->x + box->width / 2, end + HC_TEXT, &letters, plot->x.label);
        end += 1.5 * HC_TEXT;
    }
    if (plot->y.label != NULL) {
        letters.up = true;
        letters.width = box->height;
        hc_canvas_text(canvas, left + HC_TEXT, box->y + box->height / 2, &letters, plot->y.label);
    }
    return end;
}

int32_t hc_plot_names(const HcPlot *plot, HcFigureEntry entry[HC_PLOT_NAMES_MAX + 1],
                      char more[HC_TICK_BYTES]) {
    int32_t count = 0, beyond = 0;
    for (int32_t s = 0; s < plot->series_count; s++) {
        const HcPlotSeries *series = &plot->series[s];
        if (series->name != NULL && count < HC_PLOT_NAMES_MAX) {
            entry[count] = (HcFigureEntry){.name = series->name, .percent = NAN};
            memcpy(entry[count++].rgb, series->rgb, 3);
        } else if (series->name != NULL) {
            beyond++;
        }
    }
    if (beyond > 0) {
        snprintf(more, HC_TICK_BYTES, "and %d more", beyond);
        entry[count++] = (HcFigureEntry){.rgb = {255, 255, 255}, .name = more, .percent = NAN};
    }
    return count;
}

size_t hc_plot_bytes(size_t values) {
    /* The points of a line or of the band around it; their texts in an SVG, which grows by doubling. */
    return values * (4 * sizeof(double) + 3 * 2 * 2 * HC_TEXT_DOUBLE);
}
