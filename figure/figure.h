/* Figure: a page with maps or plots, colour bars, legends, a title and a caption, as PNG, SVG or PDF.
 *
 * The caller says what is on the page, and gets the bytes of the file. Lengths are points (1/72 inch), x
 * grows to the right and y downwards. Texts are UTF-8 in any script; hc_utf8_show says what is shown of
 * others. */
#ifndef HC_FIGURE_FIGURE_H
#define HC_FIGURE_FIGURE_H

#include "core/text.h"
#include "figure/plot.h"
#include "figure/ramp.h"

#include <stddef.h>
#include <stdint.h>

typedef enum HcFigureFormat { HC_FIGURE_PNG, HC_FIGURE_SVG, HC_FIGURE_PDF } HcFigureFormat;

/* Adds "cairo 1.16.0\npango 1.50.12\n". */
void hc_figure_libraries(HcText *text);

/* What GLib calls, which pango is built on, before it ends the process for lack of memory or threads: must
 * not return. */
void hc_figure_on_fatal(void (*leave)(const char *text));

/* By the ending of the name; false for any other ending. */
bool hc_figure_format_of(const char *path, HcFigureFormat *format);

/* A picture with its place. */
typedef struct HcFigureMap {
    int32_t width, height;
    const uint8_t *pixels; /* [height][width][4]: red, green, blue, alpha; alpha 0 = no data: paper */
    double metres;         /* on the ground, of one pixel; 0 = not known: no scale bar */
    double stretch;        /* height of a pixel on the ground over its width; 0 = 1 */
    double north;          /* where north is [degrees, clockwise from up]; NAN = not known: no arrow */
    const char *note;      /* written across its middle, as on a map without values; or NULL */
} HcFigureMap;

/* What the colours of a map mean. */
typedef struct HcFigureBar {
    HcRamp ramp;
    double low, high; /* values at both ends; equal where all values are */
    double gamma;     /* levels were raised to 1/gamma; 0 = 1 */
    const char *label;
} HcFigureBar;

typedef struct HcFigureEntry {
    uint8_t rgb[3];
    const char *name;
    double percent; /* of the area; NAN = not known */
} HcFigureEntry;

/* If there are more than HC_LEGEND_MAX entries, or more than fit on the page, those of the largest area
 * stay, largest first. One entry gives the number of the others and the area that they cover. */
enum { HC_LEGEND_MAX = 42 };

typedef struct HcFigureLegend {
    const HcFigureEntry *entry; /* [count] */
    int32_t count;
    int32_t kept; /* of these the last ones, which always stay, at their end */
    bool below;   /* below the map even where there is space beside it */
} HcFigureLegend;

/* Where something lies on the page [points]. */
typedef struct HcFigureBox {
    double x, y, width, height;
} HcFigureBox;

/* Counts in cells. */
typedef struct HcMatrix {
    int32_t rows, columns;
    const int64_t *count;                   /* [rows][columns], >= 0 */
    const char *const *row, *const *column; /* [rows], [columns] their names */
    const char *row_label, *column_label;   /* what the rows and the columns are */
} HcMatrix;

typedef struct HcFigurePanel {
    const char *title; /* or NULL */
    HcFigureMap map;
    const HcFigureBar *bar;       /* or NULL */
    const HcFigureLegend *legend; /* or NULL */
    HcFigureBox box;              /* filled by hc_figure_draw: where the map, or the area within axes, lies */
    const HcPlot *plot;           /* in place of the map, its bar and its legend; or NULL */
    const HcMatrix *matrix;       /* the same; or NULL */
} HcFigurePanel;

typedef struct HcFigure {
    const char *title, *caption; /* or NULL */
    const char *description;     /* for those who do not see it: <desc> of SVG, subject of PDF; or NULL */
    double width;                /* of the page [points] */
    double dpi;                  /* pixels an inch of a PNG */
    HcFigurePanel *panel;        /* [count] */
    int32_t count, columns;
} HcFigure;

/* Pixels to be set beside others. */
typedef struct HcFigureRaster {
    int32_t width, height;
    uint8_t *pixels; /* [height][width][4], opaque; fresh memory */
} HcFigureRaster;

/* A legend on white paper, `zoom` pixels a point, without areas: in columns within `width` points, or in one
 * where that is too narrow, and as few as `height` points allow. Nothing is drawn of a legend without
 * entries. */
HcStatus hc_figure_legend(const HcFigureLegend *legend, double width, double height, double zoom,
                          HcFigureRaster *raster, HcError *err) HC_MUST_CHECK;

/* A page is at most this much higher than wide; a map is at most HC_FIGURE_MAP_TALL times as high as it may
 * be wide. */
#define HC_FIGURE_TALL     2.2
#define HC_FIGURE_MAP_TALL 1.3
/* Pixels of the longest side of a PNG. */
#define HC_FIGURE_SIDE_MAX 32000

/* Bytes of host memory that drawing such a page takes at most, beside the pixels of the maps. */
size_t hc_figure_bytes(HcFigureFormat format, double width, double dpi, size_t map_pixels);

typedef struct HcFigureFile {
    uint8_t *data; /* fresh memory */
    size_t bytes;
    double width, height; /* of the page [points] */
} HcFigureFile;

/* Draws the page. HC_E_USAGE: it is too high, as it is with too many panels. */
HcStatus hc_figure_draw(HcFigure *figure, HcFigureFormat format, HcFigureFile *file,
                        HcError *err) HC_MUST_CHECK;

#endif
