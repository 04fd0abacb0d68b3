/* What callers ask before anything is drawn. */
#include "figure/figure.h"
#include "core/text.h"

bool hc_figure_format_of(const char *path, HcFigureFormat *format) {
    static const char *const endings[] = {".png", ".svg", ".pdf"}; /* as HcFigureFormat */
    for (int f = HC_FIGURE_PNG; f <= HC_FIGURE_PDF; f++) {
        if (hc_text_ends_with(path, endings[f])) {
            *format = (HcFigureFormat)f;
            return true;
        }
    }
    return false;
}

size_t hc_figure_bytes(HcFigureFormat format, double width, double dpi, size_t map_pixels) {
    /* Fonts, their caches, and what is tried before (canvas.c). */
    const double fixed = 24 << 20;
    double side = width / 72 * dpi;
    /* The page and its file; of vectors the picture and its file, in SVG as text that grows by doubling. */
    double page = format == HC_FIGURE_PNG ? side * side * HC_FIGURE_TALL * 5 : 0;
    double maps = (double)map_pixels * (format == HC_FIGURE_PNG ? 4 : format == HC_FIGURE_PDF ? 12 : 24);
    return (size_t)(fixed + page + maps);
}
