/* The parts of a page. Each draws at (x, y) and returns the lower edge of what it drew; on a canvas without a
 * page it only measures. */
#ifndef HC_FIGURE_PARTS_H
#define HC_FIGURE_PARTS_H

#include "figure/canvas.h"
#include "figure/ticks.h"

#define HC_SMALL 7.0 /* sizes of letters [points] */
#define HC_TEXT  8.0
#define HC_TITLE 11.0

/* The map with its frame, in a box that the caller has chosen. */
void hc_map_draw(HcCanvas *canvas, const HcFigureMap *map, const HcFigureBox *box);

/* Scale bar and north of a map in that box, where they are known. */
double hc_ground_draw(HcCanvas *canvas, const HcFigureMap *map, const HcFigureBox *box, double x, double y);

/* A colour bar with ticks and label, `width` wide. */
double hc_bar_draw(HcCanvas *canvas, const HcFigureBar *bar, double x, double y, double width);

/* The entries of a legend that are shown: at most `most`, and at most HC_LEGEND_MAX. */
typedef struct HcLegendChoice {
    HcFigureEntry entry[HC_LEGEND_MAX];
    int32_t count;
    char more[HC_TICK_BYTES]; /* the name of the others */
} HcLegendChoice;
void hc_legend_choose(const HcFigureLegend *legend, int32_t most, HcLegendChoice *choice);

/* Swatches with names and percent, in columns of `rows` entries. */
typedef struct HcLegendShape {
    int32_t rows, columns;
    double step;          /* from column to column */
    double width, height; /* of all */
    double name;          /* width of the names */
    double percent;       /* and of the percent; 0 = none is known */
    bool wraps;           /* a name takes several lines; then there is one column */
} HcLegendShape;
/* In at most `width`, with as few columns as a height of `height` allows. */
void hc_legend_lay_out(HcCanvas *canvas, const HcFigureLegend *legend, double width, double height,
                       HcLegendShape *shape);
double hc_legend_draw(HcCanvas *canvas, const HcFigureLegend *legend, const HcLegendShape *shape, double x,
                      double y);

/* The axes of a plot with what lies between them, `width` wide with their labels; box: filled, the area
 * within the axes. */
double hc_plot_draw(HcCanvas *canvas, const HcPlot *plot, double x, double y, double width, HcFigureBox *box);
/* A table of counts in at most `width`; box: filled, where its cells lie. */
double hc_matrix_draw(HcCanvas *canvas, const HcMatrix *matrix, double x, double y, double width,
                      HcFigureBox *box);

/* The names of its series as entry[], returns their count; `more`: the text of the last one, where names were
 * left out. */
int32_t hc_plot_names(const HcPlot *plot, HcFigureEntry entry[HC_PLOT_NAMES_MAX + 1],
                      char more[HC_TICK_BYTES]);

#endif
