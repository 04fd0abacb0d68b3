/* GLib, cairo and Pango end the process where they get no memory or no thread. So memory, threads and a font
 * are tried before the libraries are called; what fails later is kept and reported once, by
 * hc_canvas_finish. Hints of fonts are off: letters have the same width in PNG, SVG and PDF, and one layout
 * serves all three. */
#include "figure/canvas_parts.h"
#include "core/text.h"
#include "core/allocate.h"

#include <cairo-pdf.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

const uint8_t hc_ink_dark[3] = {34, 38, 44};
const uint8_t hc_ink_grey[3] = {105, 112, 120};
const uint8_t hc_ink_faint[3] = {214, 218, 223};
static const uint8_t paper[3] = {255, 255, 255};

/* ---- failures ---- */

static void keep_failure(HcCanvas *canvas, HcStatus status) {
    if (canvas->status == HC_OK) {
        canvas->status = status;
    }
}

/* GLib ends the process where it gets no memory or no thread. What drawing takes is therefore tried before,
 * and hc_figure_on_fatal says what becomes of the rest. */
static const size_t library_bytes = (size_t)192 << 20; /* of address space: two threads reserve 64 MiB each */
enum { LIBRARY_THREADS = 4 }; /* that look for fonts at the same time: two a weight */

static void *wait_for(void *lock) {
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
    return NULL;
}

static HcStatus try_threads(HcError *err) {
    pthread_t thread[LIBRARY_THREADS];
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    int count = 0;
    pthread_mutex_lock(&lock);
    while (count < LIBRARY_THREADS && pthread_create(&thread[count], NULL, wait_for, &lock) == 0) {
        count++;
    }
    pthread_mutex_unlock(&lock);
    for (int t = 0; t < count; t++) {
        pthread_join(thread[t], NULL);
    }
    return count == LIBRARY_THREADS
               ? HC_OK
               : hc_fail(err, HC_E_MEMORY, "a figure: the thread that looks for fonts could not be started");
}

/* Memory and threads at the same time: each has a stack. */
static HcStatus try_resources(HcError *err) {
    char *tried = NULL;
    HcStatus status = hc_new_aligned(tried, library_bytes, "the type of a figure", err);
    if (status == HC_OK) {
        status = try_threads(err);
    }
    free(tried);
    return status;
}

/* Without any font Pango draws boxes of any size. */
static HcStatus try_font(HcCanvas *canvas, HcError *err) {
    PangoFontDescription *wanted = pango_font_description_from_string("sans-serif 10");
    PangoFont *font = pango_context_load_font(canvas->context, wanted);
    pango_font_description_free(wanted);
    if (font == NULL) {
        return hc_fail(err, HC_E_MEMORY, "a figure: no font is installed (Debian: fonts-dejavu-core)");
    }
    g_object_unref(font);
    return HC_OK;
}

static void (*leave_at_fatal)(const char *text);

static void on_message(const char *domain, GLogLevelFlags level, const char *text, void *user) {
    if ((level & G_LOG_FLAG_FATAL) != 0) {
        leave_at_fatal(text != NULL ? text : "");
    }
    g_log_default_handler(domain, level, text, user);
}

void hc_figure_on_fatal(void (*leave)(const char *text)) {
    leave_at_fatal = leave;
    g_log_set_default_handler(on_message, NULL);
}

/* ---- bytes ---- */

cairo_status_t hc_canvas_store(void *to, const unsigned char *data, unsigned int count) {
    HcBytes *bytes = to;
    if (count > bytes->capacity - bytes->count) {
        size_t capacity = bytes->capacity * 2 + count + 65536;
        uint8_t *grown = realloc(bytes->data, capacity);
        if (grown == NULL) {
            return CAIRO_STATUS_NO_MEMORY;
        }
        bytes->data = grown;
        bytes->capacity = capacity;
    }
    memcpy(bytes->data + bytes->count, data, count);
    bytes->count += count;
    return CAIRO_STATUS_SUCCESS;
}

/* ---- opening and closing ---- */

static void open_pdf(HcCanvas *canvas, const HcCanvasPage *page) {
    canvas->surface =
        cairo_pdf_surface_create_for_stream(hc_canvas_store, &canvas->bytes, page->width, page->height);
    char *title = hc_utf8_clean(page->title != NULL ? page->title : "");
    char *subject = hc_utf8_clean(page->description != NULL ? page->description : "");
    if (title == NULL || subject == NULL) {
        keep_failure(canvas, hc_fail_memory(&canvas->error, page->width, "a figure"));
    } else {
        cairo_pdf_surface_set_metadata(canvas->surface, CAIRO_PDF_METADATA_TITLE, title);
        cairo_pdf_surface_set_metadata(canvas->surface, CAIRO_PDF_METADATA_SUBJECT, subject);
        cairo_pdf_surface_set_metadata(canvas->surface, CAIRO_PDF_METADATA_CREATOR, "hcube");
        /* A fixed date: the same page gives the same bytes. */
        cairo_pdf_surface_set_metadata(canvas->surface, CAIRO_PDF_METADATA_CREATE_DATE,
                                       "2000-01-01T00:00:00Z");
    }
    free(title);
    free(subject);
}

static void open_page(HcCanvas *canvas, const HcCanvasPage *page) {
    if (canvas->format == HC_FIGURE_SVG) {
        hc_svg_open(canvas, page);
        hc_svg_rectangle(&canvas->svg, 0, 0, page->width, page->height, paper);
        return;
    }
    if (canvas->format == HC_FIGURE_PDF) {
        open_pdf(canvas, page);
    } else {
        canvas->scale = page->dpi / 72;
        canvas->surface =
            cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)lround(page->width * canvas->scale),
                                       (int)lround(page->height * canvas->scale));
    }
    canvas->cairo = cairo_create(canvas->surface);
    cairo_scale(canvas->cairo, canvas->scale, canvas->scale);
    /* All of it: the last pixel may be covered in part. */
    cairo_set_source_rgb(canvas->cairo, 1, 1, 1);
    cairo_paint(canvas->cairo);
}

HcStatus hc_canvas_open(HcCanvas **out, int format, const HcCanvasPage *page, HcError *err) {
    *out = NULL;
    HcCanvas *canvas = NULL;
    HC_OR_RETURN(try_resources(err));
    HC_OR_RETURN(hc_new(canvas, 1, "a figure", err));
    canvas->format = format;
    canvas->scale = 1;
    canvas->dpi = page->dpi;
    canvas->fonts = pango_cairo_font_map_new();
    pango_cairo_font_map_set_resolution(PANGO_CAIRO_FONT_MAP(canvas->fonts), 72);
    canvas->context = pango_font_map_create_context(canvas->fonts);
    HcStatus status = try_font(canvas, err);
    if (status != HC_OK) {
        hc_canvas_close(canvas);
        return status;
    }
    /* Letters are as wide on every surface. */
    cairo_font_options_t *options = cairo_font_options_create();
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
    cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
    pango_cairo_context_set_font_options(canvas->context, options);
    cairo_font_options_destroy(options);
    /* Letters at whole points would have gaps between them, since a point is several pixels. */
    pango_context_set_round_glyph_positions(canvas->context, FALSE);
    pango_context_set_base_dir(canvas->context, PANGO_DIRECTION_LTR);
    if (format != HC_CANVAS_BLANK) {
        open_page(canvas, page);
    }
    *out = canvas;
    return HC_OK;
}

static HcStatus close_svg(HcCanvas *canvas) {
    hc_text_add(&canvas->svg, "</svg>\n");
    if (canvas->svg.failed) {
        return hc_fail_memory(&canvas->error, (double)canvas->svg.length, "a figure");
    }
    canvas->bytes.count = canvas->svg.length;
    canvas->bytes.data = (uint8_t *)hc_text_take(&canvas->svg);
    return HC_OK;
}

static HcStatus close_surface(HcCanvas *canvas) {
    cairo_status_t failed = cairo_status(canvas->cairo);
    if (failed == CAIRO_STATUS_SUCCESS && canvas->format == HC_FIGURE_PDF) {
        cairo_surface_finish(canvas->surface);
        failed = cairo_surface_status(canvas->surface);
    }
    if (failed == CAIRO_STATUS_NO_MEMORY) {
        return hc_fail_memory(&canvas->error, (double)canvas->bytes.count, "a figure");
    }
    if (failed != CAIRO_STATUS_SUCCESS) {
        return hc_fail(&canvas->error, HC_E_UNSUPPORTED, "a figure: %s", cairo_status_to_string(failed));
    }
    return canvas->format == HC_FIGURE_PNG
               ? hc_canvas_png(canvas->surface, canvas->dpi, &canvas->bytes, &canvas->error)
               : HC_OK;
}

HcStatus hc_canvas_finish(HcCanvas *canvas, uint8_t **data, size_t *bytes, HcError *err) {
    *data = NULL;
    *bytes = 0;
    if (canvas->status == HC_OK && canvas->format != HC_CANVAS_BLANK) {
        keep_failure(canvas, canvas->format == HC_FIGURE_SVG ? close_svg(canvas) : close_surface(canvas));
    }
    if (canvas->status != HC_OK) {
        return hc_fail(err, canvas->status, "%s", canvas->error.text);
    }
    *data = canvas->bytes.data;
    *bytes = canvas->bytes.count;
    canvas->bytes = (HcBytes){0};
    return HC_OK;
}

void hc_canvas_close(HcCanvas *canvas) {
    if (canvas == NULL) {
        return;
    }
    /* A surface may write while it is destroyed: its bytes go last. */
    if (canvas->surface != NULL) {
        cairo_destroy(canvas->cairo);
        cairo_surface_destroy(canvas->surface);
    }
    g_object_unref(canvas->context);
    g_object_unref(canvas->fonts);
    hc_text_clear(&canvas->svg);
    free(canvas->bytes.data);
    free(canvas);
}

/* ---- lines and areas ---- */

static void set_colour(HcCanvas *canvas, double opacity, const uint8_t rgb[3]) {
    cairo_set_source_rgba(canvas->cairo, rgb[0] / 255.0, rgb[1] / 255.0, rgb[2] / 255.0, opacity);
}

void hc_canvas_rectangle(HcCanvas *canvas, double x, double y, double width, double height,
                         const uint8_t rgb[3]) {
    if (canvas->format == HC_FIGURE_SVG) {
        hc_svg_rectangle(&canvas->svg, x, y, width, height, rgb);
    } else if (canvas->cairo != NULL) {
        set_colour(canvas, 1, rgb);
        cairo_rectangle(canvas->cairo, x, y, width, height);
        cairo_fill(canvas->cairo);
    }
}

void hc_canvas_frame(HcCanvas *canvas, double x, double y, double width, double height, double thickness,
                     const uint8_t rgb[3]) {
    if (canvas->format == HC_FIGURE_SVG) {
        hc_svg_frame(&canvas->svg, x, y, width, height, thickness, rgb);
    } else if (canvas->cairo != NULL) {
        set_colour(canvas, 1, rgb);
        cairo_set_line_width(canvas->cairo, thickness);
        cairo_rectangle(canvas->cairo, x, y, width, height);
        cairo_stroke(canvas->cairo);
    }
}

static void draw_path(HcCanvas *canvas, const double (*xy)[2], int32_t count) {
    cairo_new_path(canvas->cairo);
    for (int32_t i = 0; i < count; i++) {
        cairo_line_to(canvas->cairo, xy[i][0], xy[i][1]);
    }
}

void hc_canvas_line(HcCanvas *canvas, const double (*xy)[2], int32_t count, double thickness,
                    const uint8_t rgb[3]) {
    if (canvas->format == HC_FIGURE_SVG) {
        hc_svg_path(&canvas->svg, xy, count, false);
        hc_svg_stroke(&canvas->svg, thickness, rgb);
    } else if (canvas->cairo != NULL) {
        set_colour(canvas, 1, rgb);
        cairo_set_line_width(canvas->cairo, thickness);
        cairo_set_line_join(canvas->cairo, CAIRO_LINE_JOIN_ROUND);
        draw_path(canvas, xy, count);
        cairo_stroke(canvas->cairo);
    }
}

void hc_canvas_area(HcCanvas *canvas, const double (*xy)[2], int32_t count, double opacity,
                    const uint8_t rgb[3]) {
    if (canvas->format == HC_FIGURE_SVG) {
        hc_svg_path(&canvas->svg, xy, count, true);
        hc_svg_fill(&canvas->svg, opacity, rgb);
    } else if (canvas->cairo != NULL) {
        set_colour(canvas, opacity, rgb);
        draw_path(canvas, xy, count);
        cairo_fill(canvas->cairo);
    }
}

double (*hc_canvas_points(HcCanvas *canvas, size_t count))[2] {
    double(*xy)[2] = NULL;
    keep_failure(canvas, hc_new(xy, count + 1, "the points of a plot", &canvas->error));
    return xy;
}

/* ---- pictures ---- */

cairo_surface_t *hc_canvas_surface(HcCanvas *canvas, const HcCanvasPicture *picture) {
    cairo_surface_t *surface =
        cairo_image_surface_create(CAIRO_FORMAT_ARGB32, picture->width, picture->height);
    if (cairo_surface_status(surface) != CAIRO_STATUS_SUCCESS) {
        keep_failure(canvas, hc_fail_memory(&canvas->error, 4.0 * picture->width * picture->height,
                                            "the picture of a figure"));
        cairo_surface_destroy(surface);
        return NULL;
    }
    uint8_t *to = cairo_image_surface_get_data(surface);
    size_t stride = (size_t)cairo_image_surface_get_stride(surface);
    for (int32_t y = 0; y < picture->height; y++) {
        for (int32_t x = 0; x < picture->width; x++) {
            const uint8_t *from = picture->pixels + 4 * ((size_t)y * (size_t)picture->width + (size_t)x);
            uint32_t pixel =
                from[3] == 0 ? 0 : 0xff000000u | (uint32_t)from[0] << 16 | (uint32_t)from[1] << 8 | from[2];
            memcpy(to + (size_t)y * stride + 4 * (size_t)x, &pixel, 4);
        }
    }
    cairo_surface_mark_dirty(surface);
    return surface;
}

static void place_picture(HcCanvas *canvas, const HcFigureBox *box, const HcCanvasPicture *picture,
                          cairo_surface_t *surface) {
    double across = box->width / picture->width, down = box->height / picture->height;
    bool shrinks = across * canvas->scale < 1 || down * canvas->scale < 1;
    cairo_save(canvas->cairo);
    cairo_rectangle(canvas->cairo, box->x, box->y, box->width, box->height);
    cairo_clip(canvas->cairo);
    cairo_translate(canvas->cairo, box->x, box->y);
    cairo_scale(canvas->cairo, across, down);
    cairo_set_source_surface(canvas->cairo, surface, 0, 0);
    cairo_pattern_set_filter(cairo_get_source(canvas->cairo), shrinks && canvas->format == HC_FIGURE_PNG
                                                                  ? CAIRO_FILTER_GOOD
                                                                  : CAIRO_FILTER_NEAREST);
    cairo_paint(canvas->cairo);
    cairo_restore(canvas->cairo);
}

void hc_canvas_picture(HcCanvas *canvas, const HcFigureBox *box, const HcCanvasPicture *picture) {
    if (canvas->format == HC_CANVAS_BLANK || canvas->status != HC_OK) {
        return;
    }
    cairo_surface_t *surface = hc_canvas_surface(canvas, picture);
    if (surface == NULL) {
        return;
    }
    if (canvas->format != HC_FIGURE_SVG) {
        place_picture(canvas, box, picture, surface);
    } else {
        HcBytes png = {0};
        if (cairo_surface_write_to_png_stream(surface, hc_canvas_store, &png) == CAIRO_STATUS_SUCCESS) {
            hc_svg_picture(&canvas->svg, box, png.data, png.count);
        } else {
            keep_failure(canvas,
                         hc_fail_memory(&canvas->error, (double)png.count, "the picture of a figure"));
        }
        free(png.data);
    }
    cairo_surface_destroy(surface);
}
