/* .npy, the format of NumPy (its NEP 1): a magic word, the length of a header, the header as a Python
 * dictionary, and the values. */
#include "core/allocate.h"
#include "core/text.h"
#include "io/file.h"
#include "io/gdal/errors.h"
#include "io/load.h"
#include "io/table/matrix_parts.h"
#include "io/read/parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char magic[6] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};

/* Any header that NumPy writes for an array of numbers is far shorter. */
#define HEADER_LIMIT 65536

/* A header while it is read. */
typedef struct Header {
    const char *path;
    const char *at; /* in the text, which ends with 0 */
    HcNpyLayout *layout;
    int32_t dimensions;
    bool has_type, has_order, has_shape;
} Header;

static HcStatus fail_header(const Header *header, HcError *err) {
    return hc_fail(err, HC_E_INPUT, "%s: its .npy header cannot be read at '%.40s'", header->path,
                   header->at);
}

static void skip_blanks(Header *header) {
    header->at += strspn(header->at, " \t\n");
}

/* Whether the text goes on so; it is passed then. */
static bool take(Header *header, const char *text) {
    skip_blanks(header);
    size_t length = strlen(text);
    bool found = strncmp(header->at, text, length) == 0;
    header->at += found ? length : 0;
    return found;
}

/* A text in quotes; false where there is none, or a longer one. */
static bool take_text(Header *header, char *text, size_t size) {
    skip_blanks(header);
    char quote = *header->at;
    const char *end = quote == '\'' || quote == '"' ? strchr(header->at + 1, quote) : NULL;
    size_t length = end != NULL ? (size_t)(end - header->at) - 1 : size;
    if (length >= size) {
        return false;
    }
    snprintf(text, size, "%.*s", (int)length, header->at + 1);
    header->at = end + 1;
    return true;
}

/* "<f4": byte order, kind, bytes. */
static HcStatus set_type(Header *header, const char *code, HcError *err) {
    static const struct {
        const char *code;
        HcType type;
    } types[] = {{"u1", HC_UINT8},   {"i1", HC_INT8},   {"u2", HC_UINT16}, {"i2", HC_INT16},
                 {"u4", HC_UINT32},  {"i4", HC_INT32},  {"u8", HC_UINT64}, {"i8", HC_INT64},
                 {"f4", HC_FLOAT32}, {"f8", HC_FLOAT64}};
    HcNpyLayout *layout = header->layout;
    bool big_here = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    bool ordered = code[0] != '\0' && strchr("<>|=", code[0]) != NULL;
    layout->swap = (code[0] == '<' && big_here) || (code[0] == '>' && !big_here);
    layout->half = ordered && strcmp(code + 1, "f2") == 0;
    layout->type = HC_FLOAT32;
    header->has_type = layout->half;
    for (size_t t = 0; t < sizeof types / sizeof *types && ordered; t++) {
        if (strcmp(code + 1, types[t].code) == 0) {
            layout->type = types[t].type;
            header->has_type = true;
        }
    }
    if (!header->has_type) {
        return hc_fail(err, HC_E_UNSUPPORTED,
                       "%s: values of type '%s' are not read (floats of 16 to 64 bits and integers are)",
                       header->path, code);
    }
    return HC_OK;
}

static HcStatus take_type(Header *header, HcError *err) {
    char code[32];
    if (take(header, "[")) {
        return hc_fail(err, HC_E_UNSUPPORTED, "%s: holds records, not numbers", header->path);
    }
    return take_text(header, code, sizeof code) ? set_type(header, code, err) : fail_header(header, err);
}

/* "()", "(3,)", "(3, 4)" */
static HcStatus take_shape(Header *header, HcError *err) {
    int64_t size[2] = {1, 1};
    if (!take(header, "(")) {
        return fail_header(header, err);
    }
    while (!take(header, ")")) {
        char *end = NULL;
        skip_blanks(header);
        bool digit = *header->at >= '0' && *header->at <= '9';
        long long number = digit ? strtoll(header->at, &end, 10) : -1;
        bool ends = digit && (*end == ',' || *end == ')');
        if (!ends) {
            return fail_header(header, err);
        }
        header->at = end + (*end == ',');
        size[header->dimensions < 2 ? header->dimensions : 1] = number;
        header->dimensions++;
    }
    header->layout->rows = size[0];
    header->layout->columns = size[1];
    header->has_shape = true;
    return HC_OK;
}

static HcStatus take_item(Header *header, HcError *err) {
    char key[32];
    if (!take_text(header, key, sizeof key) || !take(header, ":")) {
        return fail_header(header, err);
    }
    if (strcmp(key, "descr") == 0 && !header->has_type) {
        return take_type(header, err);
    }
    if (strcmp(key, "shape") == 0 && !header->has_shape) {
        return take_shape(header, err);
    }
    if (strcmp(key, "fortran_order") == 0 && !header->has_order) {
        header->layout->fortran = take(header, "True");
        header->has_order = header->layout->fortran || take(header, "False");
        return header->has_order ? HC_OK : fail_header(header, err);
    }
    return hc_fail(err, HC_E_INPUT, "%s: its .npy header has '%s' where it should not", header->path, key);
}

static HcStatus parse(Header *header, HcError *err) {
    if (!take(header, "{")) {
        HC_OR_RETURN(fail_header(header, err));
    }
    while (!take(header, "}")) {
        HC_OR_RETURN(take_item(header, err));
        if (!take(header, ",")) {
            skip_blanks(header);
            HC_OR_RETURN(*header->at == '}' ? HC_OK : fail_header(header, err));
        }
    }
    skip_blanks(header);
    if (*header->at != '\0') {
        HC_OR_RETURN(fail_header(header, err));
    }
    if (!header->has_type || !header->has_shape || !header->has_order) {
        return hc_fail(err, HC_E_INPUT, "%s: its .npy header lacks %s", header->path,
                       !header->has_type    ? "descr"
                       : !header->has_shape ? "shape"
                                            : "fortran_order");
    }
    return HC_OK;
}

static size_t value_bytes(const HcNpyLayout *layout) {
    return layout->half ? 2 : hc_type_bytes(layout->type);
}

/* A matrix or a vector, all of which is in the file. */
static HcStatus check_shape(const Header *header, uint64_t file_bytes, HcError *err) {
    const HcNpyLayout *layout = header->layout;
    double values = (double)layout->rows * (double)layout->columns;
    double bytes = (double)layout->offset + values * (double)value_bytes(layout);
    if (header->dimensions == 0 || header->dimensions > 2) {
        return hc_fail(err, HC_E_INPUT, "%s: has %d dimensions, a matrix has 2, a vector 1", header->path,
                       header->dimensions);
    }
    if (values == 0) {
        return hc_fail(err, HC_E_INPUT, "%s: is empty: %" PRId64 " rows, %" PRId64 " columns", header->path,
                       layout->rows, layout->columns);
    }
    if (bytes != (double)file_bytes) {
        return hc_fail(err, HC_E_INPUT,
                       "%s: %" PRId64 " x %" PRId64 " values of %zu bytes make a file of %.0f bytes, it has "
                       "%" PRIu64,
                       header->path, layout->rows, layout->columns, value_bytes(layout), bytes, file_bytes);
    }
    return HC_OK;
}

/* The text of the header, fresh; sets where the values begin. */
static HcStatus load_header(const char *path, VSILFILE *file, char **text, uint64_t *offset, HcError *err) {
    unsigned char begin[12] = {0};
    size_t got = VSIFReadL(begin, 1, 12, file);
    if (got < sizeof magic || memcmp(begin, magic, sizeof magic) != 0) {
        return hc_fail(err, HC_E_INPUT, "%s: not a .npy file", path);
    }
    if (got == 12 && (begin[6] < 1 || begin[6] > 3)) {
        return hc_fail(err, HC_E_UNSUPPORTED, "%s: .npy of version %d, versions 1 to 3 are read", path,
                       begin[6]);
    }
    bool is_short = begin[6] == 1;
    uint32_t length = begin[8] + 256u * begin[9];
    length += is_short ? 0 : ((uint32_t)begin[10] << 16) + ((uint32_t)begin[11] << 24);
    *offset = (is_short ? 10 : 12) + (uint64_t)length;
    if (got == 12 && length > HEADER_LIMIT) {
        return hc_fail(err, HC_E_INPUT, "%s: a .npy header of %" PRIu32 " bytes", path, length);
    }
    *text = calloc((size_t)length + 1, 1);
    HC_OR_RETURN(hc_text_made(*text, length, "a .npy header", err));
    bool read = got == 12 && VSIFSeekL(file, *offset - length, SEEK_SET) == 0 &&
                VSIFReadL(*text, 1, length, file) == length;
    if (!read) {
        return hc_fail(err, HC_E_INPUT, "%s: ends within its .npy header", path);
    }
    return HC_OK;
}

bool hc_npy_recognise(const char *path) {
    char begin[sizeof magic];
    VSILFILE *file = hc_file_is_special(path) ? NULL : VSIFOpenL(path, "rb");
    bool found = file != NULL && VSIFReadL(begin, 1, sizeof begin, file) == sizeof begin &&
                 memcmp(begin, magic, sizeof magic) == 0;
    if (file != NULL) {
        VSIFCloseL(file);
    }
    return found;
}

static HcStatus open_file(const char *path, VSILFILE **file, HcError *err) {
    HC_OR_RETURN(hc_load_check(path, err));
    errno = 0;
    *file = VSIFOpenL(path, "rb");
    return *file != NULL ? HC_OK : hc_fail(err, hc_errno_status(errno, HC_E_IO), "%s: cannot be read", path);
}

HcStatus hc_npy_open(const char *path, HcNpyLayout *layout, VSILFILE **file, HcError *err) {
    HcStatus status = HC_OK;
    char *text = NULL;
    Header header = {.path = path, .layout = layout};
    HC_TRY(open_file(path, file, err));
    HC_TRY(load_header(path, *file, &text, &layout->offset, err));
    header.at = text;
    HC_TRY(parse(&header, err));
    VSIFSeekL(*file, 0, SEEK_END);
    HC_TRY(check_shape(&header, VSIFTellL(*file), err));
done:
    free(text);
    if (status != HC_OK && *file != NULL) {
        VSIFCloseL(*file);
        *file = NULL;
    }
    return status;
}

/* ---- values ---- */

/* float16: 1 bit of sign, 5 of exponent, 10 of fraction. */
static double half_value(const char *at, bool swap) {
    union {
        char byte[2];
        uint16_t bits;
    } stored = {{at[swap ? 1 : 0], at[swap ? 0 : 1]}};
    int exponent = (stored.bits >> 10) & 31;
    int fraction = stored.bits & 1023;
    double size = exponent == 31  ? (fraction == 0 ? (double)INFINITY : (double)NAN)
                  : exponent == 0 ? ldexp(fraction, -24)
                                  : ldexp(1024 + fraction, exponent - 25);
    return stored.bits >> 15 ? -size : size;
}

static double value_at(const HcNpyLayout *layout, const char *at) {
    return layout->half ? half_value(at, layout->swap) : hc_read_value(at, layout->type, layout->swap);
}

/* `count` lines of the file from `first`: rows, or in Fortran order columns, which are `length` long. */
static HcStatus take_lines(const char *path, const HcNpyLayout *layout, const char *data, int64_t first,
                           int64_t count, int64_t length, float *to, HcError *err) {
    int64_t size = (int64_t)value_bytes(layout);
    int64_t outer = layout->fortran ? length : count;
    int64_t inner = layout->fortran ? count : length;
    /* In the order of the matrix, so that it is written in stretches. */
    for (int64_t o = 0; o < outer; o++) {
        for (int64_t i = 0; i < inner; i++) {
            int64_t row = layout->fortran ? o : first + o;
            int64_t column = layout->fortran ? first + i : i;
            double value =
                value_at(layout, data + size * (layout->fortran ? i * length + o : o * length + i));
            float rounded = (float)value;
            if (!isfinite(rounded)) {
                return hc_matrix_fail_value(path, row, column, value, err);
            }
            to[row * layout->columns + column] = rounded;
        }
    }
    return HC_OK;
}

/* Whether values lie as they shall. */
static bool is_plain(const HcNpyLayout *layout) {
    return layout->type == HC_FLOAT32 && !layout->half && !layout->swap && !layout->fortran;
}

static HcStatus check_lines(const char *path, const float *value, int64_t first, int64_t count,
                            int64_t length, HcError *err) {
    for (int64_t i = 0; i < count * length; i++) {
        if (!isfinite(value[i])) {
            return hc_matrix_fail_value(path, first + i / length, i % length, (double)value[i], err);
        }
    }
    return HC_OK;
}

HcStatus hc_npy_read(const char *path, const HcNpyLayout *layout, VSILFILE *file, float *to, HcError *err) {
    HcStatus status = HC_OK;
    bool plain = is_plain(layout);
    int64_t lines = layout->fortran ? layout->columns : layout->rows;
    int64_t length = layout->fortran ? layout->rows : layout->columns;
    int64_t line_bytes = length * (int64_t)value_bytes(layout);
    int64_t step = line_bytes < HC_MATRIX_PIECE ? hc_min64(HC_MATRIX_PIECE / line_bytes, lines) : 1;
    char *data = plain ? NULL : malloc((size_t)(step * line_bytes));
    if (!plain && data == NULL) {
        return hc_fail_memory(err, (double)(step * line_bytes), path);
    }
    VSIFSeekL(file, layout->offset, SEEK_SET);
    for (int64_t line = 0; line < lines; line += step) {
        int64_t count = hc_min64(step, lines - line);
        size_t bytes = (size_t)(count * line_bytes);
        void *place = plain ? (void *)(to + line * length) : data;
        if (VSIFReadL(place, 1, bytes, file) != bytes) {
            HC_TRY(hc_fail(err, HC_E_IO, "%s: cannot be read to its end", path));
        }
        HC_TRY(plain ? check_lines(path, to + line * length, line, count, length, err)
                     : take_lines(path, layout, data, line, count, length, to, err));
    }
done:
    free(data);
    return status;
}

/* ---- writing ---- */

HcStatus hc_npy_write(const char *path, const float *values, int64_t rows, int64_t columns, bool overwrite,
                      HcError *err) {
    HcStatus status = HC_OK;
    bool big_here = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    char header[128];
    size_t value_count = (size_t)rows * (size_t)columns;
    size_t bytes = sizeof header + value_count * sizeof(float);
    char *data = NULL;
    HC_OR_RETURN(hc_new(data, bytes, path, err));
    /* A column is a vector there; 128 bytes are a multiple of the 64 that values are aligned to. */
    char shape[64];
    snprintf(shape, sizeof shape, columns == 1 ? "%" PRId64 "," : "%" PRId64 ", %" PRId64, rows, columns);
    memset(header, ' ', sizeof header);
    memcpy(header, magic, sizeof magic);
    memcpy(header + sizeof magic, "\x01\x00\x76\x00", 4); /* version 1.0, 118 bytes follow */
    int used =
        snprintf(header + 10, sizeof header - 10,
                 "{'descr': '%cf4', 'fortran_order': False, 'shape': (%s), }", big_here ? '>' : '<', shape);
    header[10 + used] = ' '; /* in the place of the final 0 */
    header[sizeof header - 1] = '\n';
    memcpy(data, header, sizeof header);
    memcpy(data + sizeof header, values, value_count * sizeof(float));
    HC_TRY(hc_file_write(path, data, bytes, overwrite, err));
done:
    free(data);
    return status;
}
