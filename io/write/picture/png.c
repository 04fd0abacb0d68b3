/* Pictures of a page (hc_png_encode) with at most 256 colours become palette PNGs, with one byte a pixel.
 * libpng leaves a failed call by longjmp: the function that it leaves owns nothing that changes, and its
 * text and errno become our line. */
#include "io/write/picture/png.h"
#include "core/allocate.h"
#include "io/file.h"
#include "io/gdal/errors.h"

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

/* At most 256 colours, and the number of each pixel's. */
typedef struct Palette {
    png_color colour[256];
    png_byte alpha[256];
    int32_t count;
    uint8_t *number; /* [height][width] */
} Palette;

/* What is encoded, and how. */
typedef struct Picture {
    int32_t width, height;
    const uint8_t *pixels;  /* [height][width][4] */
    const Palette *palette; /* NULL: none */
} Picture;

static void write_rows(png_structp png, const Picture *picture) {
    bool numbers = picture->palette != NULL;
    const uint8_t *rows = numbers ? picture->palette->number : picture->pixels;
    for (int32_t y = 0; y < picture->height; y++) {
        png_write_row(png, rows + (size_t)y * (size_t)picture->width * (numbers ? 1 : 4));
    }
}

/* Nothing that this function owns changes between setjmp and a jump. */
static bool encode(png_structp png, png_infop info, const Picture *picture) {
    const Palette *palette = picture->palette;
    if (setjmp(png_jmpbuf(png)) != 0) {
        return false;
    }
    /* The library's own limit of a million would refuse long flight lines. */
    png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_IHDR(png, info, (png_uint_32)picture->width, (png_uint_32)picture->height, 8,
                 palette != NULL ? PNG_COLOR_TYPE_PALETTE : PNG_COLOR_TYPE_RGB_ALPHA, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    if (palette != NULL) {
        png_set_PLTE(png, info, palette->colour, palette->count);
        png_set_tRNS(png, info, palette->alpha, palette->count, NULL);
    }
    png_write_info(png, info);
    write_rows(png, picture);
    png_write_end(png, NULL);
    return true;
}

/* Where the bytes go: a file, or memory that grows. */
typedef struct Target {
    FILE *file;
    uint8_t *data;
    size_t bytes, capacity;
} Target;

static void to_memory(png_structp png, png_bytep data, size_t bytes) {
    Target *target = png_get_io_ptr(png);
    if (target->bytes + bytes > target->capacity) {
        size_t capacity = 2 * (target->bytes + bytes);
        uint8_t *grown = realloc(target->data, capacity);
        if (grown == NULL) {
            errno = ENOMEM;
            png_error(png, "out of memory");
        }
        target->data = grown;
        target->capacity = capacity;
    }
    memcpy(target->data + target->bytes, data, bytes);
    target->bytes += bytes;
}

static void flush_nothing(png_structp png) {
    (void)png;
}

static HcStatus encode_to(Target *target, const char *path, const Picture *picture, HcError *err) {
    Trouble trouble = {{0}, 0};
    HcStatus status = HC_OK;
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &trouble, on_error, on_warning);
    png_infop info = png != NULL ? png_create_info_struct(png) : NULL;
    if (info != NULL && target->file != NULL) {
        png_init_io(png, target->file);
    } else if (info != NULL) {
        png_set_write_fn(png, target, to_memory, flush_nothing);
    }
    if (info == NULL) {
        status = hc_fail_memory(err, (double)picture->width * 4, "a PNG encoder");
    } else if (!encode(png, info, picture)) {
        status = hc_fail(err, trouble.number == ENOMEM ? HC_E_MEMORY : HC_E_IO, "%s: %s", path,
                         trouble.number != 0 ? strerror(trouble.number) : trouble.text);
    }
    png_destroy_write_struct(&png, &info);
    return status;
}

/* The place of a colour in an open hash table of 1,024 places. */
static uint32_t place_of(const uint8_t *pixel) {
    uint32_t colour;
    memcpy(&colour, pixel, sizeof colour);
    return (colour * 2654435761u) >> 22;
}

/* Numbers the colours; false where there are more than 256. */
static bool find_palette(const uint8_t *pixels, size_t count, Palette *palette) {
    int16_t at[1024];
    memset(at, -1, sizeof at);
    for (size_t p = 0; p < count; p++) {
        const uint8_t *pixel = pixels + 4 * p;
        uint32_t place = place_of(pixel);
        for (; at[place] >= 0; place = (place + 1) % 1024) {
            const png_color *known = &palette->colour[at[place]];
            if (known->red == pixel[0] && known->green == pixel[1] && known->blue == pixel[2] &&
                palette->alpha[at[place]] == pixel[3]) {
                break;
            }
        }
        if (at[place] < 0) {
            if (palette->count == 256) {
                return false;
            }
            at[place] = (int16_t)palette->count;
            palette->colour[palette->count] = (png_color){pixel[0], pixel[1], pixel[2]};
            palette->alpha[palette->count++] = pixel[3];
        }
        palette->number[p] = (uint8_t)at[place];
    }
    return true;
}

HcStatus hc_png_encode(int32_t width, int32_t height, const uint8_t *pixels, uint8_t **data, size_t *bytes,
                       HcError *err) {
    HcStatus status = HC_OK;
    Palette palette = {.count = 0};
    Target target = {0};
    Picture picture = {.width = width, .height = height, .pixels = pixels};
    size_t count = (size_t)width * (size_t)height;
    *data = NULL;
    HC_TRY(hc_new(palette.number, count, "a picture", err));
    picture.palette = find_palette(pixels, count, &palette) ? &palette : NULL;
    errno = 0;
    HC_TRY(encode_to(&target, "a picture", &picture, err));
    *data = target.data;
    *bytes = target.bytes;
    target.data = NULL;
done:
    free(target.data);
    free(palette.number);
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
    HC_TRY(encode_to(&(Target){.file = file}, path,
                     &(Picture){.width = width, .height = height, .pixels = pixels}, err));
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

HcStatus hc_png_read(const char *path, int32_t width, int32_t height, uint8_t *pixels, HcError *err) {
    png_image image = {.version = PNG_IMAGE_VERSION};
    HcStatus status = HC_OK;
    FILE *file = fopen(path, "rbe");
    if (file == NULL) {
        return hc_fail(err, hc_errno_status(errno, HC_E_IO), "%s: %s", path, strerror(errno));
    }
    bool good = png_image_begin_read_from_stdio(&image, file) != 0;
    if (good && (image.width != (png_uint_32)width || image.height != (png_uint_32)height)) {
        status = hc_fail(err, HC_E_INPUT, "%s: has %u x %u pixels instead of %d x %d", path, image.width,
                         image.height, width, height);
    } else if (good && pixels != NULL) {
        image.format = PNG_FORMAT_RGBA;
        good = png_image_finish_read(&image, NULL, pixels, 4 * width, NULL) != 0;
    }
    if (!good) {
        status = hc_fail(err, HC_E_INPUT, "%s: no PNG that can be read: %s", path, image.message);
    }
    png_image_free(&image);
    fclose(file);
    return status;
}
