#include "io/write/png.h"
#include "io/file.h"
#include "io/gdal_errors.h"

#include <errno.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* libpng reports a failure by a jump out of the call; its text and errno are kept for our own line. */
typedef struct Trouble {
    char text[128];
    int number;
} Trouble;

PNG_NORETURN static void on_error(png_structp png, png_const_charp text) {
    Trouble *trouble = png_get_error_ptr(png);
    trouble->number = errno;
    snprintf(trouble->text, sizeof trouble->text, "%s", text);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp text) {
    (void)png;
    (void)text;
}

/* Nothing that this function owns changes between setjmp and a jump. */
static bool encode(png_structp png, png_infop info, FILE *file, int32_t width, int32_t height,
                   const uint8_t *pixels) {
    if (setjmp(png_jmpbuf(png)) != 0) {
        return false;
    }
    png_init_io(png, file);
    /* The library's own limit of a million would refuse long flight lines. */
    png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_IHDR(png, info, (png_uint_32)width, (png_uint_32)height, 8, PNG_COLOR_TYPE_RGB_ALPHA,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    for (int32_t y = 0; y < height; y++) {
        png_write_row(png, pixels + (size_t)y * (size_t)width * 4);
    }
    png_write_end(png, NULL);
    return true;
}

static HcStatus encode_to(FILE *file, const char *path, int32_t width, int32_t height, const uint8_t *pixels,
                          HcError *err) {
    Trouble trouble = {{0}, 0};
    HcStatus status = HC_OK;
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &trouble, on_error, on_warning);
    png_infop info = png != NULL ? png_create_info_struct(png) : NULL;
    if (info == NULL) {
        status = hc_fail_memory(err, (double)width * 4, "a PNG encoder");
    } else if (!encode(png, info, file, width, height, pixels)) {
        status = hc_fail(err, HC_E_IO, "%s: %s", path,
                         trouble.number != 0 ? strerror(trouble.number) : trouble.text);
    }
    png_destroy_write_struct(&png, &info);
    return status;
}

HcStatus hc_png_write(const char *path, int32_t width, int32_t height, const uint8_t *pixels, bool overwrite,
                      HcError *err) {
    HcStatus status = HC_OK;
    char *partial = NULL;
    FILE *file = NULL;
    if (width < 1 || height < 1) {
        return hc_fail(err, HC_E_USAGE, "%s: an image of %d x %d pixels", path, width, height);
    }
    HC_TRY(hc_file_check(path, overwrite, err));
    HC_TRY(hc_file_partial(path, &partial, err));
    errno = 0;
    file = fopen(partial, "wbxe");
    if (file == NULL) {
        status = hc_fail(err, hc_errno_status(errno, HC_E_IO), "%s: %s", path, strerror(errno));
        goto done;
    }
    HC_TRY(encode_to(file, path, width, height, pixels, err));
    /* The last bytes leave the buffer here: a full disk may show only now. */
    int closed = fclose(file);
    file = NULL;
    if (closed != 0) {
        status = hc_fail(err, hc_errno_status(errno, HC_E_IO), "%s: %s", path, strerror(errno));
        goto done;
    }
    HC_TRY(hc_file_keep(partial, path, overwrite, err));
done:
    if (file != NULL) {
        fclose(file);
    }
    if (status != HC_OK) {
        hc_file_drop(partial);
    }
    free(partial);
    return status;
}
