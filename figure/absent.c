/* In place of the page and its parts, in a build without cairo and pango. */
#include "figure/figure.h"
#include "figure/plot.h"

static const char reason[] = "this build draws no figures: cairo and pango were not there (libcairo2-dev, "
                             "libpango1.0-dev)";

bool hc_figure_available(void) {
    return false;
}

void hc_figure_libraries(HcText *text) {
    hc_text_add(text, "cairo none\npango none\n");
}

HcStatus hc_figure_check(const char *who, HcError *err) {
    return hc_fail(err, HC_E_UNSUPPORTED, "%s: %s", who, reason);
}

HcStatus hc_figure_draw(HcFigure *figure, HcFigureFormat format, HcFigureFile *file, HcError *err) {
    (void)figure;
    (void)format;
    *file = (HcFigureFile){0};
    return hc_figure_check("figure", err);
}

size_t hc_plot_bytes(size_t values) {
    (void)values;
    return 0;
}
