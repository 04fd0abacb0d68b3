/* SVG by hand, since cairo turns texts into outlines: here they can be searched, edited and read aloud. */
#include "figure/canvas_parts.h"
#include "core/text.h"

#include <math.h>
#include <stdlib.h>

/* Rounded to 1/100 point, whatever the locale. */
static void add_number(HcText *svg, const char *before, double value) {
    char number[HC_TEXT_DOUBLE];
    hc_text_add(svg, "%s%s", before, hc_text_double(number, round(value * 100) / 100 + 0.0));
}

static void add_attribute(HcText *svg, const char *name, double value) {
    hc_text_add(svg, " %s", name);
    add_number(svg, "=\"", value);
    hc_text_add(svg, "\"");
}

static void add_colour(HcText *svg, const char *name, const uint8_t rgb[3]) {
    hc_text_add(svg, " %s=\"#%02x%02x%02x\"", name, rgb[0], rgb[1], rgb[2]);
}

static void add_element(HcText *svg, const char *name, const char *text) {
    char *clean = text != NULL ? hc_utf8_clean(text) : NULL;
    if (clean != NULL) {
        hc_text_add(svg, "<%s>", name);
        hc_utf8_add_xml(svg, clean, strlen(clean));
        hc_text_add(svg, "</%s>\n", name);
    }
    svg->failed = svg->failed || (text != NULL && clean == NULL);
    free(clean);
}

void hc_svg_open(HcCanvas *canvas, const HcCanvasPage *page) {
    HcText *svg = &canvas->svg;
    hc_text_add(svg, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
                     "xmlns:xlink=\"http://www.w3.org/1999/xlink\" version=\"1.1\" role=\"img\"");
    add_number(svg, " width=\"", page->width);
    add_number(svg, "pt\" height=\"", page->height);
    add_number(svg, "pt\" viewBox=\"0 0 ", page->width);
    add_number(svg, " ", page->height);
    hc_text_add(svg, "\" font-family=\"DejaVu Sans, Verdana, sans-serif\">\n");
    add_element(svg, "title", page->title);
    add_element(svg, "desc", page->description);
}

void hc_svg_rectangle(HcText *svg, double x, double y, double width, double height, const uint8_t rgb[3]) {
    hc_text_add(svg, "<rect");
    add_attribute(svg, "x", x);
    add_attribute(svg, "y", y);
    add_attribute(svg, "width", width);
    add_attribute(svg, "height", height);
    add_colour(svg, "fill", rgb);
    hc_text_add(svg, "/>\n");
}

void hc_svg_frame(HcText *svg, double x, double y, double width, double height, double thickness,
                  const uint8_t rgb[3]) {
    hc_text_add(svg, "<rect fill=\"none\"");
    add_attribute(svg, "x", x);
    add_attribute(svg, "y", y);
    add_attribute(svg, "width", width);
    add_attribute(svg, "height", height);
    add_attribute(svg, "stroke-width", thickness);
    add_colour(svg, "stroke", rgb);
    hc_text_add(svg, "/>\n");
}

void hc_svg_path(HcText *svg, const double (*xy)[2], int32_t count, bool closed) {
    hc_text_add(svg, "<path d=\"");
    for (int32_t i = 0; i < count; i++) {
        add_number(svg, i == 0 ? "M" : "L", xy[i][0]);
        add_number(svg, " ", xy[i][1]);
    }
    hc_text_add(svg, closed ? "Z\"" : "\"");
}

void hc_svg_stroke(HcText *svg, double thickness, const uint8_t rgb[3]) {
    hc_text_add(svg, " fill=\"none\" stroke-linejoin=\"round\"");
    add_attribute(svg, "stroke-width", thickness);
    add_colour(svg, "stroke", rgb);
    hc_text_add(svg, "/>\n");
}

void hc_svg_fill(HcText *svg, double opacity, const uint8_t rgb[3]) {
    add_colour(svg, "fill", rgb);
    if (opacity < 1) {
        add_attribute(svg, "fill-opacity", opacity);
    }
    hc_text_add(svg, "/>\n");
}

void hc_svg_picture(HcText *svg, const HcFigureBox *box, const uint8_t *png, size_t bytes) {
    hc_text_add(svg, "<image preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\"");
    add_attribute(svg, "x", box->x);
    add_attribute(svg, "y", box->y);
    add_attribute(svg, "width", box->width);
    add_attribute(svg, "height", box->height);
    hc_text_add(svg, " xlink:href=\"data:image/png;base64,");
    hc_text_add_base64(svg, png, bytes);
    hc_text_add(svg, "\"/>\n");
}

void hc_svg_text(HcText *svg, double x, double y, double width, const HcLetters *letters, bool leftwards,
                 const char *text, size_t bytes) {
    hc_text_add(svg, "<text");
    if (letters->up) {
        add_number(svg, " transform=\"translate(", x);
        add_number(svg, ",", y);
        hc_text_add(svg, ") rotate(-90)\"");
    } else {
        add_attribute(svg, "x", x);
        add_attribute(svg, "y", y);
    }
    add_attribute(svg, "font-size", letters->size);
    if (letters->bold) {
        hc_text_add(svg, " font-weight=\"bold\"");
    }
    /* A text that is read from right to left starts at its right end. */
    if (leftwards) {
        hc_text_add(svg, " direction=\"rtl\"");
    }
    if (letters->align != (leftwards ? HC_ALIGN_RIGHT : HC_ALIGN_LEFT)) {
        hc_text_add(svg, " text-anchor=\"%s\"", letters->align == HC_ALIGN_CENTRE ? "middle" : "end");
    }
    /* A viewer with another font keeps the width. */
    add_attribute(svg, "textLength", width);
    hc_text_add(svg, " lengthAdjust=\"spacingAndGlyphs\"");
    add_colour(svg, "fill", letters->rgb);
    hc_text_add(svg, ">");
    hc_utf8_add_xml(svg, text, bytes);
    hc_text_add(svg, "</text>\n");
}
