/* What the parts of the canvas share. */
#ifndef HC_FIGURE_CANVAS_PARTS_H
#define HC_FIGURE_CANVAS_PARTS_H

#include "figure/canvas.h"
#include "core/text.h"

#include <pango/pangocairo.h>

/* Bytes that grow. */
typedef struct HcBytes {
    uint8_t *data;
    size_t count, capacity;
} HcBytes;

struct HcCanvas {
    int format;
    double scale; /* pixels a point of a PNG, else 1 */
    double dpi;
    HcStatus status; /* the first failure, and what it says */
    HcError error;
    PangoFontMap *fonts;
    PangoContext *context;
    cairo_surface_t *surface; /* of PNG and PDF, else NULL */
    cairo_t *cairo;
    HcBytes bytes; /* what PDF has written so far */
    HcText svg;
};

/* A callback of cairo, with an HcBytes. */
cairo_status_t hc_canvas_store(void *bytes, const unsigned char *data, unsigned int count);

/* Appends the surface as a PNG that says its resolution [pixels per inch]. */
HcStatus hc_canvas_png(cairo_surface_t *surface, double dpi, HcBytes *bytes, HcError *err) HC_MUST_CHECK;

/* The pixels of the page of a PNG. */
HcStatus hc_canvas_raster(HcCanvas *canvas, HcFigureRaster *raster, HcError *err) HC_MUST_CHECK;

/* A surface of cairo with the picture, NULL (the canvas then keeps the failure) without memory. */
cairo_surface_t *hc_canvas_surface(HcCanvas *canvas, const HcCanvasPicture *picture);

/* The parts of SVG. */
void hc_svg_open(HcCanvas *canvas, const HcCanvasPage *page);
void hc_svg_rectangle(HcText *svg, double x, double y, double width, double height, const uint8_t rgb[3]);
void hc_svg_frame(HcText *svg, double x, double y, double width, double height, double thickness,
                  const uint8_t rgb[3]);
void hc_svg_path(HcText *svg, const double (*xy)[2], int32_t count, bool closed);
void hc_svg_stroke(HcText *svg, double thickness, const uint8_t rgb[3]);
void hc_svg_fill(HcText *svg, double opacity, const uint8_t rgb[3]);
void hc_svg_picture(HcText *svg, const HcFigureBox *box, const uint8_t *png, size_t bytes);
/* text: `bytes` bytes of clean UTF-8, from (x, y), `width` wide; leftwards: read from right to left. */
void hc_svg_text(HcText *svg, double x, double y, double width, const HcLetters *letters, bool leftwards,
                 const char *text, size_t bytes);

#endif
