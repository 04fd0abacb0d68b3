/* A page as PNG, by libpng: cairo's own writer tries five filters for each row, which takes five times as
 * long as drawing. Rows of an enlarged map repeat, so that the difference to the row above is nearly all that
 * a filter can gain. */
#include "figure/canvas_parts.h"
#include "core/allocate.h"

#include <math.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

/* libpng reports a failure by a jump out of the call. Bytes go to memory, so that only its lack fails. */
PNG_NORETURN static void on_error(png_structp png, png_const_charp text) {
    (void)text;
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp text) {
    (void)png;
    (void)text;
}

static void to_memory(png_structp png, png_bytep data, size_t count) {
    if (hc_canvas_store(png_get_io_ptr(png), data, (unsigned)count) != CAIRO_STATUS_SUCCESS) {
        png_error(png, "out of memory");
    }
}

static void flush_nothing(png_structp png) {
    (void)png;
}

/* What is encoded. */
typedef struct Sheet {
    cairo_surface_t *surface;
    png_uint_32 width, height, pixels_per_metre;
    uint8_t *row; /* [width][3] */
} Sheet;

/* Nothing that this function owns changes between setjmp and a jump. */
static bool encode(png_structp png, png_infop info, const Sheet *sheet) {
    if (setjmp(png_jmpbuf(png)) != 0) {
        return false;
    }
    png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_IHDR(png, info, sheet->width, sheet->height, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_pHYs(png, info, sheet->pixels_per_metre, sheet->pixels_per_metre, PNG_RESOLUTION_METER);
    png_set_compression_level(png, 3);
    png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_UP);
    png_write_info(png, info);
    const uint8_t *data = cairo_image_surface_get_data(sheet->surface);
    size_t stride = (size_t)cairo_image_surface_get_stride(sheet->surface);
    for (size_t y = 0; y < sheet->height; y++) {
        for (size_t x = 0; x < sheet->width; x++) {
            uint32_t pixel;
            memcpy(&pixel, data + y * stride + 4 * x, 4);
            for (size_t c = 0; c < 3; c++) {
                sheet->row[3 * x + c] = (uint8_t)(pixel >> (16 - 8 * c));
            }
        }
        png_write_row(png, sheet->row);
    }
    png_write_end(png, NULL);
    return true;
}

HcStatus hc_canvas_png(cairo_surface_t *surface, double dpi, HcBytes *bytes, HcError *err) {
    HcStatus status = HC_OK;
    png_structp png = NULL;
    png_infop info = NULL;
    Sheet sheet = {.surface = surface,
                   .width = (png_uint_32)cairo_image_surface_get_width(surface),
                   .height = (png_uint_32)cairo_image_surface_get_height(surface),
                   .pixels_per_metre = (png_uint_32)lround(dpi / 0.0254)};
    cairo_surface_flush(surface);
    HC_TRY(hc_new(sheet.row, (size_t)sheet.width * 3, "a figure", err));
    png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, on_error, on_warning);
    info = png != NULL ? png_create_info_struct(png) : NULL;
    if (info != NULL) {
        png_set_write_fn(png, bytes, to_memory, flush_nothing);
    }
    if (info == NULL || !encode(png, info, &sheet)) {
        HC_TRY(hc_fail_memory(err, 3.0 * sheet.width * sheet.height, "a figure"));
    }
done:
    png_destroy_write_struct(&png, &info);
    free(sheet.row);
    return status;
}

HcStatus hc_canvas_raster(HcCanvas *canvas, HcFigureRaster *raster, HcError *err) {
    int width = cairo_image_surface_get_width(canvas->surface);
    int height = cairo_image_surface_get_height(canvas->surface);
    if (canvas->status != HC_OK || cairo_status(canvas->cairo) != CAIRO_STATUS_SUCCESS) {
        return hc_fail(err, HC_E_MEMORY, "%s", canvas->status != HC_OK ? canvas->error.text : "a figure");
    }
    HC_OR_RETURN(hc_new(raster->pixels, (size_t)width * (size_t)height * 4, "a figure", err));
    raster->width = width;
    raster->height = height;
    cairo_surface_flush(canvas->surface);
    const uint8_t *data = cairo_image_surface_get_data(canvas->surface);
    size_t stride = (size_t)cairo_image_surface_get_stride(canvas->surface);
    for (size_t p = 0; p < (size_t)width * (size_t)height; p++) {
        uint32_t pixel;
        memcpy(&pixel, data + p / (size_t)width * stride + 4 * (p % (size_t)width), 4);
        for (size_t c = 0; c < 3; c++) {
            raster->pixels[4 * p + c] = (uint8_t)(pixel >> (16 - 8 * c));
        }
        raster->pixels[4 * p + 3] = 255;
    }
    return HC_OK;
}
