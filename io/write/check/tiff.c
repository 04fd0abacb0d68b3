/* A TIFF file that was just written: do its directories, and the strips and tiles that they name, lie inside
 * of the file?
 *
 * GDAL and libtiff do not always report a write that failed when a file is closed (libtiff 4.7 loses the
 * failure of its last writes). The file then ends early, although it opens with its full size. This reader
 * follows every directory (image, overviews, masks) of a classic TIFF or BigTIFF in either byte order, and
 * looks at positions alone: it decodes nothing. */
#include "io/write/parts.h"
#include "core/allocate.h"
#include "io/file.h"
#include "io/gdal/errors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WIDTH = 256, HEIGHT = 257, STRIP_AT = 273, SAMPLES = 277, STRIP_ROWS = 278, STRIP_BYTES = 279 };
enum { PLANAR = 284, TILE_WIDTH = 322, TILE_HEIGHT = 323, TILE_AT = 324, TILE_BYTES = 325, SUB_IFD = 330 };

/* More directories than any pyramid of overviews has: a file that links them in a circle ends here. */
#define DIRECTORIES_MAX 4096

typedef struct Tiff {
    int file;
    const char *path; /* for messages */
    uint64_t size;
    bool swapped, big, sparse;
    uint64_t trailer; /* bytes after each strip or tile, as GDAL's COG driver adds them */
    int directories;
} Tiff;

/* One field of a directory. */
typedef struct Field {
    uint64_t count, at; /* values, and the place of the first one in the file */
    int width;          /* bytes of a value, 0 = there is no such field */
} Field;

/* What a directory says of one image. */
typedef struct Image {
    Field width, height, samples, planar;
    Field piece_width, piece_height, piece_at, piece_bytes; /* of strips or tiles */
    Field children;
} Image;

static HcStatus fail_cut(const Tiff *tiff, const char *what, HcError *err) {
    return hc_fail(err, HC_E_IO, "%s: the file is not whole when read back: %s lies beyond its end",
                   tiff->path, what);
}

static HcStatus get(const Tiff *tiff, uint64_t at, void *to, uint64_t bytes, const char *what, HcError *err) {
    if (at > tiff->size || bytes > tiff->size - at) {
        return fail_cut(tiff, what, err);
    }
    int failed = hc_file_read_at(tiff->file, to, bytes, (int64_t)at);
    if (failed > 0) {
        return hc_fail(err, hc_errno_status(failed, HC_E_IO), "%s: %s", tiff->path, strerror(failed));
    }
    return failed == 0 ? HC_OK : fail_cut(tiff, what, err);
}

/* An unsigned number of 1, 2, 4 or 8 bytes in the byte order of the file. */
static uint64_t number(const Tiff *tiff, const unsigned char *bytes, int width) {
    const uint16_t probe = 1;
    bool little = (*(const unsigned char *)&probe == 1) != tiff->swapped;
    uint64_t value = 0;
    for (int i = 0; i < width; i++) {
        value = value << 8 | bytes[little ? width - 1 - i : i];
    }
    return value;
}

static int width_of_type(uint64_t type) {
    static const int width[] = {0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8};
    return type < sizeof width / sizeof *width ? width[type] : 0;
}

/* The place in `image` of a field that is needed, or NULL. */
static Field *place_of(Image *image, uint64_t tag) {
    switch (tag) {
    case WIDTH:
        return &image->width;
    case HEIGHT:
        return &image->height;
    case SAMPLES:
        return &image->samples;
    case PLANAR:
        return &image->planar;
    case TILE_WIDTH:
        return &image->piece_width;
    case STRIP_ROWS:
    case TILE_HEIGHT:
        return &image->piece_height;
    case STRIP_AT:
    case TILE_AT:
        return &image->piece_at;
    case STRIP_BYTES:
    case TILE_BYTES:
        return &image->piece_bytes;
    case SUB_IFD:
        return &image->children;
    default:
        return NULL;
    }
}

/* All values of a field, as fresh memory. */
static HcStatus get_values(const Tiff *tiff, const Field *field, uint64_t **values, HcError *err) {
    HcStatus status = HC_OK;
    uint64_t bytes = field->count * (uint64_t)field->width;
    unsigned char *raw = NULL;
    *values = NULL;
    HC_TRY(hc_new(raw, bytes + 1, "the places of tiles", err));
    HC_TRY(hc_new(*values, field->count + 1, "the places of tiles", err));
    HC_TRY(get(tiff, field->at, raw, bytes, "a directory", err));
    for (uint64_t i = 0; i < field->count; i++) {
        (*values)[i] = number(tiff, raw + i * (uint64_t)field->width, field->width);
    }
done:
    free(raw);
    if (status != HC_OK) {
        free(*values);
        *values = NULL;
    }
    return status;
}

/* The first value of a field, or `standard` where there is none. */
static HcStatus get_value(const Tiff *tiff, const Field *field, uint64_t standard, uint64_t *value,
                          HcError *err) {
    unsigned char raw[8];
    *value = standard;
    if (field->width > 0 && field->count > 0) {
        HC_OR_RETURN(get(tiff, field->at, raw, (uint64_t)field->width, "a directory", err));
        *value = number(tiff, raw, field->width);
    }
    return HC_OK;
}

/* How many strips or tiles the image must have. */
static HcStatus count_pieces(const Tiff *tiff, const Image *image, uint64_t *pieces, HcError *err) {
    uint64_t width, height, samples, planar, across, down;
    HC_OR_RETURN(get_value(tiff, &image->width, 0, &width, err));
    HC_OR_RETURN(get_value(tiff, &image->height, 0, &height, err));
    HC_OR_RETURN(get_value(tiff, &image->samples, 1, &samples, err));
    HC_OR_RETURN(get_value(tiff, &image->planar, 1, &planar, err));
    HC_OR_RETURN(get_value(tiff, &image->piece_width, width, &across, err));
    HC_OR_RETURN(get_value(tiff, &image->piece_height, height, &down, err));
    if (width == 0 || height == 0 || across == 0 || down == 0) {
        return hc_fail(err, HC_E_IO, "%s: the file is not whole when read back: a directory has no shape",
                       tiff->path);
    }
    *pieces = ((width - 1) / across + 1) * ((height - 1) / down + 1) * (planar == 2 ? samples : 1);
    return HC_OK;
}

static HcStatus check_piece(const Tiff *tiff, uint64_t at, uint64_t bytes, HcError *err) {
    bool missing = at == 0 || bytes == 0;
    if (missing && !tiff->sparse) {
        return hc_fail(err, HC_E_IO, "%s: the file is not whole when read back: a strip or tile is missing",
                       tiff->path);
    }
    if (!missing && (at > tiff->size || bytes > tiff->size - at || tiff->trailer > tiff->size - at - bytes)) {
        return fail_cut(tiff, "a strip or tile", err);
    }
    return HC_OK;
}

static HcStatus check_pieces(const Tiff *tiff, const Image *image, HcError *err) {
    HcStatus status = HC_OK;
    uint64_t *at = NULL, *bytes = NULL, pieces = 0;
    HC_TRY(count_pieces(tiff, image, &pieces, err));
    if (image->piece_at.count != pieces || image->piece_bytes.count != pieces) {
        HC_TRY(hc_fail(
            err, HC_E_IO,
            "%s: the file is not whole when read back: a directory names %llu of %llu strips or tiles",
            tiff->path, (unsigned long long)image->piece_at.count, (unsigned long long)pieces));
    }
    HC_TRY(get_values(tiff, &image->piece_at, &at, err));
    HC_TRY(get_values(tiff, &image->piece_bytes, &bytes, err));
    for (uint64_t i = 0; i < pieces; i++) {
        HC_TRY(check_piece(tiff, at[i], bytes[i], err));
    }
done:
    free(at);
    free(bytes);
    return status;
}

/* Reads one entry of a directory at `at`; its values must lie inside of the file. */
static HcStatus read_entry(const Tiff *tiff, uint64_t at, Image *image, HcError *err) {
    unsigned char raw[20];
    int wide = tiff->big ? 8 : 4;
    HC_OR_RETURN(get(tiff, at, raw, (uint64_t)(4 + 2 * wide), "a directory", err));
    Field field = {.count = number(tiff, raw + 4, wide), .width = width_of_type(number(tiff, raw + 2, 2))};
    if (field.count > tiff->size) {
        HC_OR_RETURN(fail_cut(tiff, "a directory", err));
    }
    uint64_t bytes = field.count * (uint64_t)field.width;
    field.at = bytes <= (uint64_t)wide ? at + 4 + (uint64_t)wide : number(tiff, raw + 4 + wide, wide);
    if (field.at > tiff->size || bytes > tiff->size - field.at) {
        HC_OR_RETURN(fail_cut(tiff, "a directory", err));
    }
    Field *place = place_of(image, number(tiff, raw, 2));
    if (place != NULL) {
        *place = field;
    }
    return HC_OK;
}

static HcStatus check_chain(Tiff *tiff, uint64_t at, HcError *err);

/* The directory at `at`, with what hangs on it; *next is the place of the next one, 0 after the last. */
static HcStatus check_directory(Tiff *tiff, uint64_t at, uint64_t *next, HcError *err) {
    HcStatus status = HC_OK;
    Image image = {0};
    unsigned char raw[8];
    uint64_t *children = NULL;
    int head = tiff->big ? 8 : 2, wide = tiff->big ? 8 : 4;
    HC_TRY(get(tiff, at, raw, (uint64_t)head, "a directory", err));
    uint64_t entries = number(tiff, raw, head), entry_bytes = tiff->big ? 20 : 12;
    if (entries > tiff->size / entry_bytes || tiff->directories++ > DIRECTORIES_MAX) {
        HC_TRY(fail_cut(tiff, "a directory", err));
    }
    for (uint64_t e = 0; e < entries; e++) {
        HC_TRY(read_entry(tiff, at + (uint64_t)head + e * entry_bytes, &image, err));
    }
    HC_TRY(get(tiff, at + (uint64_t)head + entries * entry_bytes, raw, (uint64_t)wide, "a directory", err));
    *next = number(tiff, raw, wide);
    HC_TRY(check_pieces(tiff, &image, err));
    if (image.children.width > 0) {
        HC_TRY(get_values(tiff, &image.children, &children, err));
    }
    for (uint64_t c = 0; c < image.children.count && children != NULL; c++) {
        HC_TRY(check_chain(tiff, children[c], err));
    }
done:
    free(children);
    return status;
}

static HcStatus check_chain(Tiff *tiff, uint64_t at, HcError *err) {
    while (at != 0) {
        HC_OR_RETURN(check_directory(tiff, at, &at, err));
    }
    return HC_OK;
}

/* What the COG driver says of its layout in a text after the header. */
static HcStatus find_trailer(Tiff *tiff, HcError *err) {
    char text[512] = "";
    uint64_t head = tiff->big ? 16 : 8;
    uint64_t left = tiff->size > head ? tiff->size - head : 0;
    uint64_t bytes = left < sizeof text - 1 ? left : sizeof text - 1;
    HC_OR_RETURN(get(tiff, head, text, bytes, "its header", err));
    if (strncmp(text, "GDAL_STRUCTURAL_METADATA_SIZE=", 30) == 0 &&
        strstr(text, "BLOCK_TRAILER=LAST_4_BYTES_REPEATED") != NULL) {
        tiff->trailer = 4;
    }
    return HC_OK;
}

static HcStatus check_all(Tiff *tiff, HcError *err) {
    unsigned char raw[16];
    const uint16_t probe = 1;
    bool little = *(const unsigned char *)&probe == 1;
    HC_OR_RETURN(get(tiff, 0, raw, 8, "its header", err));
    tiff->swapped = raw[0] != (little ? 'I' : 'M');
    tiff->big = number(tiff, raw + 2, 2) == 43;
    if (tiff->big) {
        HC_OR_RETURN(get(tiff, 0, raw, 16, "its header", err));
    }
    uint64_t first = tiff->big ? number(tiff, raw + 8, 8) : number(tiff, raw + 4, 4);
    if (raw[0] != raw[1] || first == 0) {
        return hc_fail(err, HC_E_IO, "%s: the file is not whole when read back: it has no directory",
                       tiff->path);
    }
    HC_OR_RETURN(find_trailer(tiff, err));
    return check_chain(tiff, first, err);
}

HcStatus hc_write_check_tiff(const char *file, const char *path, bool sparse, HcError *err) {
    struct stat info;
    Tiff tiff = {.file = open(file, O_RDONLY | O_CLOEXEC), .path = path, .sparse = sparse};
    HcStatus status = HC_OK;
    if (tiff.file < 0 || fstat(tiff.file, &info) != 0) {
        status = hc_fail(err, hc_errno_status(errno, HC_E_IO), "%s: %s", path, strerror(errno));
    } else {
        tiff.size = (uint64_t)info.st_size;
        status = check_all(&tiff, err);
    }
    if (tiff.file >= 0) {
        close(tiff.file);
    }
    return status;
}
