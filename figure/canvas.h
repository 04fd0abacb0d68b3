/* Canvas: a page to draw on, as PNG or PDF by cairo, or as SVG with texts that stay texts.
 *
 * Lengths are points. A page is drawn twice: on a canvas without a page (HC_CANVAS_BLANK), which only
 * measures, and then on one of the height that was found. A failure is kept, and reported by
 * hc_canvas_finish. */
#ifndef HC_FIGURE_CANVAS_H
#define HC_FIGURE_CANVAS_H

#include "figure/figure.h"

typedef struct HcCanvas HcCanvas;

typedef struct HcCanvasPage {
    double width, height;
    double dpi;
    const char *title, *description; /* or NULL */
} HcCanvasPage;

/* For `format`: no page. */
enum { HC_CANVAS_BLANK = -1 };

HcStatus hc_canvas_open(HcCanvas **out, int format, const HcCanvasPage *page, HcError *err) HC_MUST_CHECK;
/* The bytes of the file, fresh memory; NULL of a canvas without a page. */
HcStatus hc_canvas_finish(HcCanvas *canvas, uint8_t **data, size_t *bytes, HcError *err) HC_MUST_CHECK;
void hc_canvas_close(HcCanvas *canvas);

/* Filled. */
void hc_canvas_rectangle(HcCanvas *canvas, double x, double y, double width, double height,
                         const uint8_t rgb[3]);
/* Its outline, `thickness` wide. */
void hc_canvas_frame(HcCanvas *canvas, double x, double y, double width, double height, double thickness,
                     const uint8_t rgb[3]);
/* A line through xy[count][2]. */
void hc_canvas_line(HcCanvas *canvas, const double (*xy)[2], int32_t count, double thickness,
                    const uint8_t rgb[3]);
/* The area within, of an opacity from 0 to 1. */
void hc_canvas_area(HcCanvas *canvas, const double (*xy)[2], int32_t count, double opacity,
                    const uint8_t rgb[3]);

/* Fresh memory for the points of a line or an area; NULL: there is none, and hc_canvas_finish reports it. */
double (*hc_canvas_points(HcCanvas *canvas, size_t count))[2];

/* pixels[height][width][4], alpha 0 or 255, as squares. */
typedef struct HcCanvasPicture {
    int32_t width, height;
    const uint8_t *pixels;
} HcCanvasPicture;
void hc_canvas_picture(HcCanvas *canvas, const HcFigureBox *box, const HcCanvasPicture *picture);

typedef enum HcAlign { HC_ALIGN_LEFT, HC_ALIGN_CENTRE, HC_ALIGN_RIGHT } HcAlign;

typedef struct HcLetters {
    double size;
    bool bold;
    HcAlign align;
    bool up;            /* reads upwards */
    double width;       /* cut with an ellipsis beyond it; of a paragraph the width of its lines; 0 = any */
    double most;        /* of a paragraph: cut with an ellipsis beyond this width of all its lines; 0 = any */
    const uint8_t *rgb; /* [3] */
} HcLetters;

/* One line of text from (x, y) on its base line; returns its width. */
double hc_canvas_text(HcCanvas *canvas, double x, double y, const HcLetters *letters, const char *text);
double hc_canvas_text_width(HcCanvas *canvas, const HcLetters *letters, const char *text);

/* Lines of `letters->width`, the first one's upper edge at y; returns the height of all. */
double hc_canvas_paragraph(HcCanvas *canvas, double x, double y, const HcLetters *letters, const char *text);
/* That height. */
double hc_canvas_paragraph_height(HcCanvas *canvas, const HcLetters *letters, const char *text);

/* For parts of figures: dark, grey, and faint ink. */
extern const uint8_t hc_ink_dark[3], hc_ink_grey[3], hc_ink_faint[3];

#endif
