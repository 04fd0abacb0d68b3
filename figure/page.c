/* The page: panels in columns between a title and a caption. It is drawn twice: once to measure, once to
 * draw. */
#include "figure/parts.h"

#include <math.h>
#include <stdlib.h>

static const double margin = 12, gutter = 14;
/* Largest part of the width of a map that a legend beside it may take. */
static const double legend_part = 0.45;

/* What the parts of a page are drawn on. */
typedef struct Paper {
    HcCanvas *canvas;
    HcFigure *figure;
    double tallest_legend; /* below a map: at most so high */
    double legend_height;  /* filled: how high it is; 0 = there is none */
} Paper;

static double height_over_width(const HcFigureMap *map) {
    return map->height * (map->stretch > 0 ? map->stretch : 1) / map->width;
}

/* The largest box for the map that is `width` wide at most. */
static HcFigureBox fit_map(const HcFigureMap *map, double x, double y, double width) {
    double shape = height_over_width(map), height = width * shape;
    double tallest = width * HC_FIGURE_MAP_TALL;
    return height <= tallest ? (HcFigureBox){x, y, width, height}
                             : (HcFigureBox){x, y, tallest / shape, tallest};
}

/* Beside a map that is about as high as wide, or higher, there is space for a legend that is no longer than
 * it, unless its names have more space below. */
static bool fits_beside(const HcFigurePanel *panel, const HcLegendShape *shape, const HcFigureBox *box) {
    return !panel->legend->below && !shape->wraps && shape->columns == 1 &&
           shape->height <= fmax(box->height, 60);
}

/* As many entries as `tallest` has space for, at least three. */
static double draw_legend(Paper *paper, HcFigurePanel *panel, double y, double width) {
    HcLegendShape shape;
    HcLegendChoice choice;
    HcFigureLegend legend = {.entry = choice.entry};
    for (int32_t most = HC_LEGEND_MAX;;) {
        hc_legend_choose(panel->legend, most, &choice);
        legend.count = choice.count;
        /* About as high as wide, so that few classes take one or two columns. */
        hc_legend_lay_out(paper->canvas, &legend, width, 60, &shape);
        if (shape.height <= paper->tallest_legend || most <= 3) {
            break;
        }
        int32_t rows = (int32_t)(paper->tallest_legend / shape.height * shape.rows);
        int32_t fitting = shape.columns * rows;
        most = fitting < 3 ? 3 : fitting < most ? fitting : most - 1;
    }
    paper->legend_height = shape.height;
    return hc_legend_draw(paper->canvas, &legend, &shape, panel->box.x, y);
}

/* The title of a panel; returns its height. */
static double draw_panel_title(HcCanvas *canvas, const HcFigurePanel *panel, double x, double y,
                               double width) {
    const HcLetters letters = {.size = HC_TEXT, .bold = true, .width = width, .rgb = hc_ink_dark};
    return panel->title != NULL ? hc_canvas_paragraph(canvas, x, y, &letters, panel->title) + 2 : 0;
}

/* The names stand beside the axes where they fit there, else below. */
static double draw_plot(HcCanvas *canvas, HcFigurePanel *panel, double x, double y, double width) {
    HcFigureEntry entry[HC_PLOT_NAMES_MAX + 1];
    char more[HC_TICK_BYTES];
    const HcFigureLegend legend = {.entry = entry, .count = hc_plot_names(panel->plot, entry, more)};
    HcLegendShape shape = {0};
    double shown = panel->plot->shape > 0 ? panel->plot->shape : 0.55;
    if (legend.count == 0) {
        return hc_plot_draw(canvas, panel->plot, x, y, width, &panel->box);
    }
    hc_legend_lay_out(canvas, &legend, legend_part * width, INFINITY, &shape);
    double beside = width - shape.width - gutter;
    if (beside > 0.6 * width && shape.columns == 1 && shape.height <= 0.85 * beside * shown) {
        double end = hc_plot_draw(canvas, panel->plot, x, y, beside, &panel->box);
        return fmax(end, hc_legend_draw(canvas, &legend, &shape, x + beside + gutter, panel->box.y));
    }
    double end = hc_plot_draw(canvas, panel->plot, x, y, width, &panel->box) + 6;
    hc_legend_lay_out(canvas, &legend, width, 60, &shape);
    return hc_legend_draw(canvas, &legend, &shape, x, end);
}

/* A panel without its title; one that is alone has scale bar and north, which many panels share. */
static double draw_panel(Paper *paper, HcFigurePanel *panel, double x, double y, double width) {
    HcCanvas *canvas = paper->canvas;
    HcLegendChoice choice;
    HcLegendShape shape = {0};
    HcFigureLegend legend = {.entry = choice.entry};
    bool beside = false, alone = paper->figure->count == 1;
    if (panel->plot != NULL) {
        return draw_plot(canvas, panel, x, y, width);
    }
    if (panel->matrix != NULL) {
        return hc_matrix_draw(canvas, panel->matrix, x, y, width, &panel->box);
    }
    panel->box = fit_map(&panel->map, x, y, width);
    if (panel->legend != NULL && panel->legend->count > 0) {
        hc_legend_choose(panel->legend, HC_LEGEND_MAX, &choice);
        legend.count = choice.count;
        hc_legend_lay_out(canvas, &legend, legend_part * width, INFINITY, &shape);
        HcFigureBox box = fit_map(&panel->map, x, y, width - shape.width - gutter);
        beside = fits_beside(panel, &shape, &box);
        panel->box = beside ? box : panel->box;
    }
    hc_map_draw(canvas, &panel->map, &panel->box);
    double end = y + panel->box.height;
    end = alone ? hc_ground_draw(canvas, &panel->map, &panel->box, x, end) : end;
    if (beside) {
        double right = panel->box.x + panel->box.width + gutter;
        end = fmax(end, hc_legend_draw(canvas, &legend, &shape, right, y));
    } else if (panel->legend != NULL && panel->legend->count > 0) {
        end = draw_legend(paper, panel, end + 8, width);
    }
    if (panel->bar != NULL) {
        double bar = fmin(fmax(panel->box.width, fmin(width, 100)), 240);
        end = hc_bar_draw(canvas, panel->bar, x, end + 6, bar);
    }
    return end;
}

/* Rows of panels, whose maps begin at the same height. */
static double draw_panels(Paper *paper, double y, double width) {
    HcCanvas *canvas = paper->canvas;
    HcFigure *figure = paper->figure;
    double step = (width + gutter) / figure->columns;
    for (int32_t first = 0; first < figure->count; first += figure->columns) {
        int32_t last = first + figure->columns < figure->count ? first + figure->columns : figure->count;
        double title = 0, end = y;
        for (int32_t p = first; p < last; p++) {
            double x = margin + (p - first) * step;
            title = fmax(title, draw_panel_title(canvas, &figure->panel[p], x, y, step - gutter));
        }
        for (int32_t p = first; p < last; p++) {
            double x = margin + (p - first) * step;
            end = fmax(end, draw_panel(paper, &figure->panel[p], x, y + title, step - gutter));
        }
        y = end + 10;
    }
    if (figure->count > 1 && figure->panel[0].plot == NULL) {
        const HcFigurePanel *panel = &figure->panel[0];
        double end = hc_ground_draw(canvas, &panel->map, &panel->box, margin, y - 8);
        y = end > y - 8 ? end + 10 : y;
    }
    return y;
}

/* Returns the height of the page. */
static double draw_page(Paper *paper) {
    HcCanvas *canvas = paper->canvas;
    const HcFigure *figure = paper->figure;
    double width = figure->width - 2 * margin, y = margin;
    if (figure->title != NULL) {
        const HcLetters letters = {.size = HC_TITLE, .bold = true, .width = width, .rgb = hc_ink_dark};
        y += hc_canvas_paragraph(canvas, margin, y, &letters, figure->title) + 4;
    }
    y = draw_panels(paper, y, width);
    if (figure->caption != NULL) {
        const HcLetters letters = {.size = HC_SMALL, .width = width, .rgb = hc_ink_grey};
        y += hc_canvas_paragraph(canvas, margin, y, &letters, figure->caption);
    }
    return y + margin;
}

/* The height of the page. A legend gives way where it makes the page too high. */
static HcStatus measure(Paper *paper, HcCanvasPage *page, HcError *err) {
    HcStatus status = HC_OK;
    HcCanvas *canvas = NULL;
    uint8_t *none = NULL;
    size_t bytes = 0;
    HC_TRY(hc_canvas_open(&canvas, HC_CANVAS_BLANK, page, err));
    paper->canvas = canvas;
    page->height = draw_page(paper);
    double beyond = page->height - HC_FIGURE_TALL * page->width;
    if (beyond > 0 && paper->legend_height > 0) {
        paper->tallest_legend = fmax(paper->legend_height - beyond, 0);
        page->height = draw_page(paper);
    }
    HC_TRY(hc_canvas_finish(canvas, &none, &bytes, err));
done:
    hc_canvas_close(canvas);
    return status;
}

HcStatus hc_figure_draw(HcFigure *figure, HcFigureFormat format, HcFigureFile *file, HcError *err) {
    HcStatus status = HC_OK;
    HcCanvasPage page = {.width = figure->width,
                         .dpi = figure->dpi,
                         .title = figure->title,
                         .description = figure->description};
    HcCanvas *canvas = NULL;
    Paper paper = {.figure = figure, .tallest_legend = INFINITY};
    *file = (HcFigureFile){0};
    HC_TRY(measure(&paper, &page, err));
    if (page.height > HC_FIGURE_TALL * page.width) {
        HC_TRY(hc_fail(
            err, HC_E_USAGE,
            "a figure of %.0f x %.0f mm with %d parts is too high: it needs a wider page or fewer parts",
            page.width / 72 * 25.4, page.height / 72 * 25.4, figure->count));
    }
    HC_TRY(hc_canvas_open(&canvas, (int)format, &page, err));
    paper.canvas = canvas;
    draw_page(&paper);
    HC_TRY(hc_canvas_finish(canvas, &file->data, &file->bytes, err));
    file->width = page.width;
    file->height = page.height;
done:
    hc_canvas_close(canvas);
    return status;
}
