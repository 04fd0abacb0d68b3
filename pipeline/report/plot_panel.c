#include "pipeline/report/plot_panel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The name says the format. */
static const char as_svg[] = "plot.svg";

/* Width of a plot [points]: its letters are then as large as the text of the page. */
static const double plot_width = 320;

size_t hc_plot_panels_bytes(void) {
    return hc_plot_file_bytes(as_svg, 0, 0);
}

size_t hc_plot_panel_bytes(int32_t count, int32_t bands) {
    /* And the copy of its text on the page. */
    return 2 * (hc_plot_file_bytes(as_svg, count, bands) - hc_plot_panels_bytes()) + ((size_t)64 << 10);
}

/* What stands between "<svg ...>" and "</svg>". */
static HcPanel panel_of(const HcFigureFile *file) {
    static const char opens[] = "<svg ", ends[] = "</svg>";
    const char *text = (const char *)file->data;
    size_t start = 0, end = file->bytes;
    while (start + strlen(opens) < end && memcmp(text + start, opens, strlen(opens)) != 0) {
        start++;
    }
    while (start < end && text[start++] != '>') {
    }
    while (end > start && (end + strlen(ends) > file->bytes || memcmp(text + end, ends, strlen(ends)) != 0)) {
        end--;
    }
    return (HcPanel){.svg = text + start,
                     .svg_bytes = end - start,
                     .svg_width = file->width,
                     .svg_height = file->height,
                     .wide = true};
}

/* Frees what was drawn. */
static HcStatus add_drawing(HcPanels *to, const char *title, const char *caption, const char *alt,
                            HcFigureFile *file, HcError *err) {
    HcPanel panel = panel_of(file);
    panel.title = title;
    panel.caption = caption;
    panel.alt = alt;
    HcStatus status = hc_panels_add(to, &panel, err);
    free(file->data);
    return status;
}

HcStatus hc_panels_add_spectra(HcPanels *to, const HcSpectraPlot *plot, HcError *err) {
    HcFigureFile file = {0};
    HcSpectraPlot drawn = *plot;
    char alt[80];
    drawn.title = drawn.caption = NULL; /* they are those of the panel */
    drawn.width = plot_width;
    HC_OR_RETURN(hc_plot_spectra_draw(&drawn, HC_FIGURE_SVG, &file, err));
    snprintf(alt, sizeof alt, "Plot of %d curve%s over %d bands", plot->count, plot->count == 1 ? "" : "s",
             plot->scene->bands);
    return add_drawing(to, plot->title, plot->caption, alt, &file, err);
}

HcStatus hc_panels_add_scree(HcPanels *to, const HcScreePlot *plot, HcError *err) {
    HcFigureFile file = {0};
    HcScreePlot drawn = *plot;
    char alt[80], first[HC_TEXT_DOUBLE], last[HC_TEXT_DOUBLE];
    if (plot->count == 0) {
        return HC_OK;
    }
    drawn.title = NULL;
    drawn.width = plot_width;
    HC_OR_RETURN(hc_plot_scree_draw(&drawn, HC_FIGURE_SVG, &file, err));
    snprintf(alt, sizeof alt, "Plot of %d eigenvalues, from %s to %s", plot->count,
             hc_panel_number(first, plot->values[0]), hc_panel_number(last, plot->values[plot->count - 1]));
    return add_drawing(to, plot->title, NULL, alt, &file, err);
}
