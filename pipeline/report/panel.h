/* Panel: a picture or plot with its title, colours and table, which a stage hands over for the report of the
 * run (HcStageClass.panels). All texts may come from files: they are escaped here, and any bytes will do. */
#ifndef HC_PIPELINE_REPORT_PANEL_H
#define HC_PIPELINE_REPORT_PANEL_H

#include "core/text.h"
#include "figure/ramp.h"
#include "pipeline/stage.h"

enum { HC_PANEL_BINS = 64, HC_PANEL_ENTRIES_MAX = 40 };

/* What the colours of a picture mean, and how often they occur. */
typedef struct HcPanelBar {
    HcRamp ramp;
    double low, high;             /* values at both ends; equal where all values are */
    int64_t count[HC_PANEL_BINS]; /* values in equal steps from low to high, those beyond in the outer ones */
} HcPanelBar;

typedef struct HcPanelEntry {
    uint8_t rgb[3];
    const char *name;
    double percent; /* of the area; NAN = not known */
} HcPanelEntry;

/* What is not there is NULL. Borrowed for the call. */
typedef struct HcPanel {
    const char *title;
    const char *caption;
    /* A picture, pixels[height][width][4] (red, green, blue, alpha), and what it shows in words. */
    const uint8_t *pixels;
    int32_t width, height;
    const char *alt; /* of a plot, too */
    const char *svg; /* or what stands in an <svg> element, which is copied as it is; its label is `alt` */
    size_t svg_bytes;
    double svg_width, svg_height;
    const HcPanelBar *bar;
    const HcPanelEntry *entry; /* [entries] a legend; only HC_PANEL_ENTRIES_MAX are shown */
    int32_t entries;
    const char *const *cell; /* [rows][columns] a table; its first row and column are heads */
    const float *shade;      /* [rows][columns] how much colour a cell has, 0 to 1; or NULL */
    int32_t rows, columns;
    bool wide; /* takes the whole width of the page where that is narrow */
} HcPanel;

/* The panels of a report, as HTML in the order in which they came. Zero-initialise. */
struct HcPanels {
    HcText html;
    char *icon; /* a small picture of the scene, as base 64 of a PNG: the first picture; NULL = none yet */
};

/* HC_E_MEMORY: there is none left, and the report fails. */
HcStatus hc_panels_add(HcPanels *to, const HcPanel *panel, HcError *err) HC_MUST_CHECK;
void hc_panels_clear(HcPanels *panels);

/* Maximum host memory of a panel with a picture of the given number of pixels [bytes]. */
size_t hc_panel_bytes(size_t pixels);

/* A number as people read it: "0.0123", "1,250,000". `text`: HC_TEXT_DOUBLE bytes, which is returned. */
const char *hc_panel_number(char *text, double value);

#endif
