/* Texts of a canvas: pango shapes them, in any script. Each is read in the direction of its first letter with
 * one; where it stands does not depend on that. */
#include "figure/canvas_parts.h"
#include "core/text.h"
#include "figure/figure.h"

#include <stdlib.h>
#include <string.h>

static PangoLayout *layout_of(HcCanvas *canvas, const HcLetters *letters, const char *clean, size_t bytes) {
    PangoLayout *layout = pango_layout_new(canvas->context);
    PangoFontDescription *font = pango_font_description_new();
    pango_font_description_set_family_static(font, "DejaVu Sans, sans-serif");
    pango_font_description_set_weight(font, letters->bold ? PANGO_WEIGHT_BOLD : PANGO_WEIGHT_NORMAL);
    pango_font_description_set_absolute_size(font, letters->size * PANGO_SCALE);
    pango_layout_set_font_description(layout, font);
    pango_font_description_free(font);
    pango_layout_set_text(layout, clean, (int)bytes);
    /* A name of a file that is broken within must not gain a hyphen. */
    PangoAttrList *plain = pango_attr_list_new();
    pango_attr_list_insert(plain, pango_attr_insert_hyphens_new(FALSE));
    pango_layout_set_attributes(layout, plain);
    pango_attr_list_unref(plain);
    return layout;
}

static double width_of(PangoLayout *layout) {
    int width, height;
    pango_layout_get_size(layout, &width, &height);
    return (double)width / PANGO_SCALE;
}

static double measure(HcCanvas *canvas, const HcLetters *letters, const char *clean, size_t bytes) {
    PangoLayout *layout = layout_of(canvas, letters, clean, bytes);
    pango_layout_set_single_paragraph_mode(layout, TRUE);
    double width = width_of(layout);
    g_object_unref(layout);
    return width;
}

/* The most whole characters that fit with an ellipsis after them, by halving; fresh memory. */
static char *cut(HcCanvas *canvas, const HcLetters *letters, double width, const char *clean) {
    size_t low = 0, high = strlen(clean);
    char *text = hc_text_format("%s", clean);
    if (text == NULL || measure(canvas, letters, clean, high) <= width) {
        return text;
    }
    while (low < high) {
        size_t middle = low + (high - low + 1) / 2;
        while (middle < high && ((unsigned char)clean[middle] & 0xc0) == 0x80) {
            middle++;
        }
        char *tried = hc_text_format("%.*s\xe2\x80\xa6", (int)middle, clean);
        if (tried != NULL && measure(canvas, letters, tried, strlen(tried)) <= width) {
            free(text);
            text = tried;
            low = middle;
            continue;
        }
        free(tried);
        high = middle - 1;
        while (high > low && ((unsigned char)clean[high] & 0xc0) == 0x80) {
            high--;
        }
    }
    if (low == 0) {
        free(text);
        text = hc_text_format("\xe2\x80\xa6");
    }
    return text;
}

static void draw_line(HcCanvas *canvas, double x, double y, const HcLetters *letters, PangoLayoutLine *line,
                      double width, const char *text) {
    if (canvas->format == HC_FIGURE_SVG) {
        bool leftwards = pango_layout_line_get_resolved_direction(line) == PANGO_DIRECTION_RTL;
        hc_svg_text(&canvas->svg, x, y, width, letters, leftwards, text + line->start_index,
                    (size_t)line->length);
    } else if (canvas->cairo != NULL) {
        double back = letters->align == HC_ALIGN_LEFT     ? 0
                      : letters->align == HC_ALIGN_CENTRE ? width / 2
                                                          : width;
        cairo_save(canvas->cairo);
        cairo_set_source_rgb(canvas->cairo, letters->rgb[0] / 255.0, letters->rgb[1] / 255.0,
                             letters->rgb[2] / 255.0);
        cairo_move_to(canvas->cairo, x, y);
        if (letters->up) {
            cairo_rotate(canvas->cairo, -1.5707963267948966);
        }
        cairo_rel_move_to(canvas->cairo, -back, 0);
        pango_cairo_show_layout_line(canvas->cairo, line);
        cairo_restore(canvas->cairo);
    }
}

static void keep_memory_failure(HcCanvas *canvas) {
    if (canvas->status == HC_OK) {
        canvas->status = hc_fail_memory(&canvas->error, 0, "a text of a figure");
    }
}

double hc_canvas_text(HcCanvas *canvas, double x, double y, const HcLetters *letters, const char *text) {
    char *clean = hc_utf8_clean(text);
    char *shown = clean != NULL && letters->width > 0 ? cut(canvas, letters, letters->width, clean) : clean;
    double width = 0;
    if (shown == NULL) {
        keep_memory_failure(canvas);
    } else if (*shown != 0) {
        PangoLayout *layout = layout_of(canvas, letters, shown, strlen(shown));
        pango_layout_set_single_paragraph_mode(layout, TRUE);
        width = width_of(layout);
        draw_line(canvas, x, y, letters, pango_layout_get_line_readonly(layout, 0), width, shown);
        g_object_unref(layout);
    }
    if (shown != clean) {
        free(shown);
    }
    free(clean);
    return width;
}

double hc_canvas_text_width(HcCanvas *canvas, const HcLetters *letters, const char *text) {
    char *clean = hc_utf8_clean(text);
    double width = 0;
    if (clean == NULL) {
        keep_memory_failure(canvas);
    } else {
        width = measure(canvas, letters, clean, strlen(clean));
    }
    free(clean);
    return letters->width > 0 && width > letters->width ? letters->width : width;
}

static double paragraph(HcCanvas *canvas, double x, double y, const HcLetters *letters, const char *text,
                        bool draws) {
    const double leading = 1.35 * letters->size;
    char *clean = hc_utf8_clean(text);
    char *shown = clean != NULL && letters->most > 0 ? cut(canvas, letters, letters->most, clean) : clean;
    int lines = 0;
    if (shown == NULL) {
        keep_memory_failure(canvas);
    } else if (*shown != 0) {
        PangoLayout *layout = layout_of(canvas, letters, shown, strlen(shown));
        pango_layout_set_width(layout, (int)(letters->width * PANGO_SCALE));
        pango_layout_set_wrap(layout, PANGO_WRAP_WORD_CHAR);
        pango_layout_set_single_paragraph_mode(layout, letters->most > 0);
        lines = pango_layout_get_line_count(layout);
        for (int l = 0; l < lines && draws; l++) {
            PangoLayoutLine *line = pango_layout_get_line_readonly(layout, l);
            PangoRectangle extent;
            pango_layout_line_get_extents(line, NULL, &extent);
            draw_line(canvas, x, y + leading * l + letters->size, letters, line,
                      (double)extent.width / PANGO_SCALE, shown);
        }
        g_object_unref(layout);
    }
    if (shown != clean) {
        free(shown);
    }
    free(clean);
    return leading * lines;
}

double hc_canvas_paragraph(HcCanvas *canvas, double x, double y, const HcLetters *letters, const char *text) {
    return paragraph(canvas, x, y, letters, text, true);
}

double hc_canvas_paragraph_height(HcCanvas *canvas, const HcLetters *letters, const char *text) {
    return paragraph(canvas, 0, 0, letters, text, false);
}

void hc_figure_libraries(HcText *text) {
    hc_text_add(text, "cairo %s\npango %s\n", cairo_version_string(), pango_version_string());
}
