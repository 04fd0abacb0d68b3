/* Plot: what a panel of a figure shows over two axes: lines with a band of spread, points, shaded intervals
 * and marked values. */
#ifndef HC_FIGURE_PLOT_H
#define HC_FIGURE_PLOT_H

#include "core/status.h"

#include <stddef.h>
#include <stdint.h>

/* Its range is that of the values; on a logarithmic axis of the positive ones, over 16 decades at most. */
typedef struct HcPlotAxis {
    const char *label; /* with the unit; or NULL */
    bool logarithmic;
} HcPlotAxis;

/* A value that is not finite, that a logarithmic axis cannot show, or that lies in a shaded interval breaks
 * the line. */
typedef struct HcPlotSeries {
    const char *name;         /* in the legend; NULL = not there */
    const double *x, *y;      /* [count] */
    const double *low, *high; /* [count] the band of spread around it; or NULL */
    int32_t count;
    uint8_t rgb[3];
    bool points; /* a point at each value, too */
} HcPlotSeries;

/* Shaded from low to high of the x axis. */
typedef struct HcPlotInterval {
    double low, high;
    const char *label; /* or NULL; left out where it does not fit */
} HcPlotInterval;

/* A line across the plot at a value of the y axis, or upright at one of the x axis. */
typedef struct HcPlotMark {
    double at;
    bool upright;
    bool chosen;       /* its label stays; those of others give way to it */
    const char *label; /* or NULL */
} HcPlotMark;

typedef struct HcPlot {
    HcPlotAxis x, y;
    const HcPlotSeries *series; /* [series_count] later ones lie over earlier ones */
    int32_t series_count;
    const HcPlotInterval *interval; /* [interval_count] rising, apart from each other */
    int32_t interval_count;
    const HcPlotMark *mark; /* [mark_count] upright ones rising: labels that would touch are left out */
    int32_t mark_count;
    double shape; /* height over width of the area within the axes; 0 = 0.55 */
} HcPlot;

/* Names in the legend of a plot; those beyond are counted there. */
enum { HC_PLOT_NAMES_MAX = 40 };

/* Bytes of host memory that drawing takes beside those of the page, for all values of all series. */
size_t hc_plot_bytes(size_t values);

#endif
