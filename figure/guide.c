/* What colours mean: colour bars and legends. */
#include "figure/canvas_parts.h"
#include "figure/parts.h"
#include "figure/ticks.h"

#include <math.h>
#include <stdio.h>

enum { BAR_STEPS = 256 };

static const double bar_height = 8, swatch = 8, row_height = 11, name_max = 430, gap = 14;

/* ---- colour bars ---- */

static void fill_steps(const HcFigureBar *bar, uint8_t pixels[BAR_STEPS][4]) {
    double power = bar->gamma > 0 ? 1 / bar->gamma : 1;
    for (int i = 0; i < BAR_STEPS; i++) {
        /* If all values are equal, show the middle: that is their colour. */
        double at = bar->high > bar->low ? i / (BAR_STEPS - 1.0) : 0.5;
        hc_ramp_colour(bar->ramp, pow(at, power), pixels[i]);
        pixels[i][3] = 255;
    }
}

double hc_bar_draw(HcCanvas *canvas, const HcFigureBar *bar, double x, double y, double width) {
    uint8_t pixels[BAR_STEPS][4];
    fill_steps(bar, pixels);
    HcFigureBox box = {x, y, width, bar_height};
    HcCanvasPicture picture = {BAR_STEPS, 1, pixels[0]};
    hc_canvas_picture(canvas, &box, &picture);
    hc_canvas_frame(canvas, x, y, width, bar_height, 0.5, hc_ink_grey);
    HcTicks ticks;
    hc_ticks_make(&ticks, bar->low, bar->high, width < 120 ? 3 : 5);
    HcLetters letters = {.size = HC_SMALL, .rgb = hc_ink_dark};
    double end = y + bar_height;
    for (int32_t t = 0; t < ticks.count; t++) {
        double part = bar->high > bar->low ? (ticks.at[t] - bar->low) / (bar->high - bar->low) : 0.5;
        double at = x + part * width;
        const double mark[2][2] = {{at, end}, {at, end + 2.5}};
        hc_canvas_line(canvas, mark, 2, 0.5, hc_ink_grey);
        /* The first and the last stay within the width of the bar. */
        double half = hc_canvas_text_width(canvas, &letters, ticks.text[t]) / 2;
        letters.align = part * width < half         ? HC_ALIGN_LEFT
                        : (1 - part) * width < half ? HC_ALIGN_RIGHT
                                                    : HC_ALIGN_CENTRE;
        hc_canvas_text(canvas,
                       letters.align == HC_ALIGN_LEFT    ? x
                       : letters.align == HC_ALIGN_RIGHT ? x + width
                                                         : at,
                       end + 3.5 + HC_SMALL, &letters, ticks.text[t]);
    }
    end += 3.5 + 1.3 * HC_SMALL;
    if (bar->label != NULL) {
        letters.align = HC_ALIGN_LEFT;
        letters.width = width;
        end += hc_canvas_paragraph(canvas, x, end + 1, &letters, bar->label) + 1;
    }
    return end;
}

/* ---- legends ---- */

static double area_of(const HcFigureEntry *entry) {
    return isfinite(entry->percent) ? entry->percent : 0;
}

/* Puts an entry after those that are not smaller; the smallest of too many falls out. */
static void insert(HcLegendChoice *choice, int32_t most, const HcFigureEntry *entry) {
    int32_t at = choice->count;
    while (at > 0 && area_of(&choice->entry[at - 1]) < area_of(entry)) {
        at--;
    }
    if (at == most) {
        return;
    }
    choice->count += choice->count < most;
    for (int32_t e = choice->count - 1; e > at; e--) {
        choice->entry[e] = choice->entry[e - 1];
    }
    choice->entry[at] = *entry;
}

void hc_legend_choose(const HcFigureLegend *legend, int32_t most, HcLegendChoice *choice) {
    most = most < HC_LEGEND_MAX ? most : HC_LEGEND_MAX;
    choice->count = 0;
    int32_t kept = legend->kept < most - 2 ? legend->kept : 0, ranked = legend->count - kept;
    if (legend->count <= most) {
        for (; choice->count < legend->count; choice->count++) {
            choice->entry[choice->count] = legend->entry[choice->count];
        }
        return;
    }
    double all = 0, shown = 0;
    for (int32_t e = 0; e < ranked; e++) {
        insert(choice, most - kept - 1, &legend->entry[e]);
        all += legend->entry[e].percent; /* of areas that are not known: NAN */
    }
    for (int32_t e = 0; e < choice->count; e++) {
        shown += choice->entry[e].percent;
    }
    snprintf(choice->more, sizeof choice->more, "and %d more", ranked - choice->count);
    choice->entry[choice->count++] = (HcFigureEntry){
        .rgb = {255, 255, 255}, .name = choice->more, .percent = isfinite(all) ? fmax(all - shown, 0) : NAN};
    for (int32_t e = ranked; e < legend->count; e++) {
        choice->entry[choice->count++] = legend->entry[e];
    }
}

static void percent_text(char text[HC_TICK_BYTES], double percent) {
    if (percent > 0 && percent < 0.1) {
        snprintf(text, HC_TICK_BYTES, "< 0.1 %%");
    } else {
        snprintf(text, HC_TICK_BYTES, "%.1f %%", percent);
    }
}

/* Of an entry whose name may take several lines. */
static double entry_height(HcCanvas *canvas, const HcLetters *letters, const char *name) {
    return fmax(row_height, hc_canvas_paragraph_height(canvas, letters, name) + 1);
}

void hc_legend_lay_out(HcCanvas *canvas, const HcFigureLegend *legend, double width, double height,
                       HcLegendShape *shape) {
    *shape = (HcLegendShape){0};
    const HcLetters letters = {.size = HC_TEXT, .width = name_max, .rgb = hc_ink_dark};
    for (int32_t e = 0; e < legend->count; e++) {
        shape->name = fmax(shape->name, hc_canvas_text_width(canvas, &letters, legend->entry[e].name));
        if (isfinite(legend->entry[e].percent)) {
            char text[HC_TICK_BYTES];
            percent_text(text, legend->entry[e].percent);
            shape->percent = fmax(shape->percent, hc_canvas_text_width(canvas, &letters, text));
        }
    }
    double percent = shape->percent > 0 ? shape->percent + 8 : 0;
    double space = fmax(width - swatch - 5 - percent, 20);
    shape->wraps = shape->name > space;
    shape->name = fmin(shape->name, space) + 0.5;
    shape->step = swatch + 5 + shape->name + percent + gap;
    int32_t columns = (int32_t)fmax(floor((width + gap) / shape->step), 1);
    int32_t rows = (int32_t)fmax(floor(height / row_height), 1);
    /* As few columns as the height allows; more rows than that where the width ends. */
    int32_t wanted = (legend->count + rows - 1) / rows;
    columns = wanted < 1 ? 1 : wanted < columns ? wanted : columns;
    shape->rows = (legend->count + columns - 1) / columns;
    shape->columns = columns;
    shape->width = columns * shape->step - gap;
    shape->height = shape->rows * row_height;
    if (shape->wraps) {
        const HcLetters lines = {.size = HC_TEXT, .width = shape->name, .most = name_max};
        shape->height = 0;
        for (int32_t e = 0; e < legend->count; e++) {
            shape->height += entry_height(canvas, &lines, legend->entry[e].name);
        }
    }
}

double hc_legend_draw(HcCanvas *canvas, const HcFigureLegend *legend, const HcLegendShape *shape, double x,
                      double y) {
    HcLetters letters = {.size = HC_TEXT, .most = name_max, .rgb = hc_ink_dark};
    for (int32_t e = 0; e < legend->count; e++) {
        const HcFigureEntry *entry = &legend->entry[e];
        double left = x + e / shape->rows * shape->step;
        double top = shape->wraps ? y : y + e % shape->rows * row_height;
        hc_canvas_rectangle(canvas, left, top, swatch, swatch, entry->rgb);
        hc_canvas_frame(canvas, left, top, swatch, swatch, 0.4, hc_ink_grey);
        letters.align = HC_ALIGN_LEFT;
        if (shape->wraps) {
            letters.width = shape->name;
            hc_canvas_paragraph(canvas, left + swatch + 5, top + 0.9 * swatch - HC_TEXT, &letters,
                                entry->name);
            y += entry_height(canvas, &letters, entry->name);
        } else {
            letters.width = shape->name + 0.1;
            hc_canvas_text(canvas, left + swatch + 5, top + 0.9 * swatch, &letters, entry->name);
        }
        if (isfinite(entry->percent)) {
            char text[HC_TICK_BYTES];
            percent_text(text, entry->percent);
            letters.align = HC_ALIGN_RIGHT;
            letters.width = 0;
            hc_canvas_text(canvas, left + shape->step - gap, top + 0.9 * swatch, &letters, text);
        }
    }
    return shape->wraps ? y : y + shape->height;
}

HcStatus hc_figure_legend(const HcFigureLegend *legend, double width, double height, double zoom,
                          HcFigureRaster *raster, HcError *err) {
    static const double margin = 6;
    HcStatus status = HC_OK;
    HcCanvas *canvas = NULL;
    HcLegendChoice choice;
    HcLegendShape shape;
    HcCanvasPage page = {.dpi = 72 * zoom};
    *raster = (HcFigureRaster){0};
    hc_legend_choose(legend, HC_LEGEND_MAX, &choice);
    const HcFigureLegend shown = {.entry = choice.entry, .count = choice.count};
    if (shown.count == 0) {
        return HC_OK;
    }
    for (int32_t e = 0; e < choice.count; e++) {
        choice.entry[e].percent = NAN; /* they have chosen which entries stay */
    }
    HC_TRY(hc_canvas_open(&canvas, HC_CANVAS_BLANK, &page, err));
    hc_legend_lay_out(canvas, &shown, 1e4, INFINITY, &shape); /* one column, in which no name is cut */
    hc_legend_lay_out(canvas, &shown, fmax(width - 2 * margin, shape.width), height - 2 * margin, &shape);
    hc_canvas_close(canvas);
    canvas = NULL;
    page.width = shape.width + 2 * margin;
    page.height = shape.height + 2 * margin;
    HC_TRY(hc_canvas_open(&canvas, HC_FIGURE_PNG, &page, err));
    hc_legend_draw(canvas, &shown, &shape, margin, margin);
    HC_TRY(hc_canvas_raster(canvas, raster, err));
done:
    hc_canvas_close(canvas);
    return status;
}
