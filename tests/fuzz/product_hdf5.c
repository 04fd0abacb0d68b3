/* Fuzz harness: products in netCDF and HDF5 files (EMIT with its masks, PRISMA, NEON, Tanager, HYPSO). An
 * input is a text that says what a file holds, so that any input gives a container that libhdf5 takes, and
 * what changes are shapes, values, names and attributes:
 *
 *   file NAME                                     what follows goes to this file; the first is opened
 *   array PATH TYPE AXIS=SIZE,... CHUNKS FIRST    values FIRST, FIRST + 1, ...; CHUNKS "2,3,4" or "-"
 *   list PATH AXIS VALUE...                       numbers, one axis of as many
 *   words PATH AXIS|WORD|...                      texts, the same
 *   text PATH VALUE                               an array without axes that is a text
 *   number PATH NAME VALUE...                     an attribute of an array or a group ("/" = the file)
 *   label PATH NAME VALUE                         the same, a text
 *   nodata PATH VALUE, unit PATH VALUE
 *
 * A line that says nothing, or that GDAL does not take, is left out. Chunks that are read without GDAL must
 * give the bytes that GDAL gives. */
#include "io/gdal/errors.h"
#include "io/view/view.h"
#include "tests/fuzz/harness.h"

#include <cpl_string.h>
#include <gdal.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE_MAX_BYTES = 1500,
    LINES_MAX = 80,
    AXES_MAX = 4,
    VALUES_MAX = 20000,
    LIST_MAX = 256,
    FILES_MAX = 3
};

bool hc_fuzz_arrays(void) {
    return true;
}

typedef struct Product {
    char path[FILES_MAX][HC_FUZZ_PATH];
    int files;
    GDALDatasetH dataset;
    GDALGroupH root;
} Product;

/* ---- words of a line ---- */

/* The next word of the line, "" at its end. A word in quotes may hold blanks. */
static const char *next_word(char **at) {
    char *begin = *at + strspn(*at, " \t");
    const char *stop = " \t";
    if (*begin == '"') {
        begin++;
        stop = "\"";
    }
    char *end = begin + strcspn(begin, stop);
    *at = *end != '\0' ? end + 1 : end;
    *end = '\0';
    return begin;
}

static size_t numbers_of(char **at, double values[LIST_MAX]) {
    size_t count = 0;
    for (const char *word = next_word(at); *word != '\0' && count < LIST_MAX; word = next_word(at)) {
        values[count++] = strtod(word, NULL);
    }
    return count;
}

/* ---- groups, axes and arrays ---- */

static GDALGroupH child_group(GDALGroupH group, const char *name) {
    GDALGroupH found = GDALGroupOpenGroup(group, name, NULL);
    return found != NULL ? found : GDALGroupCreateGroup(group, name, NULL);
}

/* The group in which PATH lies, to be released, and the name in it; NULL where it cannot be. */
static GDALGroupH group_of(const Product *product, const char *path, const char **name) {
    char part[200];
    GDALGroupH group = product->root != NULL ? GDALDatasetGetRootGroup(product->dataset) : NULL;
    path += *path == '/';
    for (const char *slash = strchr(path, '/'); slash != NULL && group != NULL; slash = strchr(path, '/')) {
        snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
        GDALGroupH next = child_group(group, part);
        GDALGroupRelease(group);
        group = next;
        path = slash + 1;
    }
    *name = path;
    return group;
}

/* The axis of that name and size, to be released; netCDF keeps a name once, so the size of the first counts.
 */
static GDALDimensionH axis_of(const Product *product, const char *name, size_t size) {
    GDALDimensionH found = NULL;
    size_t count = 0;
    GDALDimensionH *all = GDALGroupGetDimensions(product->root, &count, NULL);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(GDALDimensionGetName(all[i]), name) == 0 && found == NULL) {
            found = all[i];
        } else {
            GDALDimensionRelease(all[i]);
        }
    }
    CPLFree(all);
    return found != NULL ? found : GDALGroupCreateDimension(product->root, name, NULL, NULL, size, NULL);
}

static GDALDataType type_of(const char *name) {
    GDALDataType type = GDALGetDataTypeByName(name);
    return type == GDT_Unknown || GDALDataTypeIsComplex(type) ? GDT_Float32 : type;
}

typedef struct Array {
    const char *path, *chunks;
    GDALDataType type;
    GDALDimensionH axis[AXES_MAX];
    size_t size[AXES_MAX], axes;
} Array;

static void write_numbers(const Product *product, const Array *array, const double *values) {
    static const GUInt64 start[AXES_MAX];
    const char *name = NULL;
    char **options = NULL;
    GDALGroupH group = group_of(product, array->path, &name);
    GDALExtendedDataTypeH type = GDALExtendedDataTypeCreate(array->type);
    GDALExtendedDataTypeH from = GDALExtendedDataTypeCreate(GDT_Float64);
    if (array->chunks[0] != '-' && array->chunks[0] != '\0') {
        options = CSLSetNameValue(options, "BLOCKSIZE", array->chunks);
        options = CSLSetNameValue(options, "COMPRESS", "DEFLATE");
    }
    GDALDimensionH axis[AXES_MAX];
    memcpy(axis, array->axis, sizeof axis);
    GDALMDArrayH made = group != NULL && name[0] != '\0'
                            ? GDALGroupCreateMDArray(group, name, array->axes, axis, type, options)
                            : NULL;
    if (made != NULL) {
        (void)GDALMDArrayWrite(made, start, array->size, NULL, NULL, from, values, NULL, 0);
        GDALMDArrayRelease(made);
    }
    if (group != NULL) {
        GDALGroupRelease(group);
    }
    GDALExtendedDataTypeRelease(from);
    GDALExtendedDataTypeRelease(type);
    CSLDestroy(options);
}

static void release_axes(Array *array) {
    for (size_t i = 0; i < array->axes; i++) {
        GDALDimensionRelease(array->axis[i]);
    }
}

/* "lines=5,samples=6"; false where they are none, or too many values. */
static bool take_axes(const Product *product, Array *array, char *text) {
    size_t values = 1;
    char *rest = NULL;
    for (char *part = strtok_r(text, ",", &rest); part != NULL && array->axes < AXES_MAX;
         part = strtok_r(NULL, ",", &rest)) {
        char *equal = strchr(part, '=');
        long size = equal != NULL ? strtol(equal + 1, NULL, 10) : 0;
        if (size < 1 || size > VALUES_MAX || equal == part) {
            return false;
        }
        *equal = '\0';
        GDALDimensionH axis = axis_of(product, part, (size_t)size);
        if (axis == NULL) {
            return false;
        }
        array->axis[array->axes] = axis;
        array->size[array->axes] = (size_t)GDALDimensionGetSize(axis);
        values *= array->size[array->axes++];
        if (values > VALUES_MAX) {
            return false;
        }
    }
    return array->axes > 0;
}

static void add_array(const Product *product, char *rest) {
    static double values[VALUES_MAX];
    Array array = {.path = next_word(&rest)};
    array.type = type_of(next_word(&rest));
    char axes[LINE_MAX_BYTES];
    snprintf(axes, sizeof axes, "%s", next_word(&rest));
    array.chunks = next_word(&rest);
    double first = strtod(next_word(&rest), NULL);
    for (int i = 0; i < VALUES_MAX; i++) {
        values[i] = first + i;
    }
    if (take_axes(product, &array, axes)) {
        write_numbers(product, &array, values);
    }
    release_axes(&array);
}

static void add_list(const Product *product, char *rest) {
    static double values[LIST_MAX + VALUES_MAX];
    Array array = {.path = next_word(&rest), .chunks = "-", .type = GDT_Float32};
    const char *axis = next_word(&rest);
    size_t count = numbers_of(&rest, values);
    if (count == 0 || axis[0] == '\0' || (array.axis[0] = axis_of(product, axis, count)) == NULL) {
        return;
    }
    array.axes = 1;
    array.size[0] = (size_t)GDALDimensionGetSize(array.axis[0]);
    if (array.size[0] <= VALUES_MAX) {
        write_numbers(product, &array, values);
    }
    release_axes(&array);
}

static void add_texts(const Product *product, const char *path, GDALDimensionH *axis, char **texts) {
    const char *name = NULL;
    GUInt64 start = 0;
    size_t count = axis != NULL ? (size_t)GDALDimensionGetSize(*axis) : 1;
    GDALGroupH group = group_of(product, path, &name);
    GDALExtendedDataTypeH type = GDALExtendedDataTypeCreateString(0);
    GDALMDArrayH array = group != NULL && name[0] != '\0'
                             ? GDALGroupCreateMDArray(group, name, axis != NULL, axis, type, NULL)
                             : NULL;
    if (array != NULL) {
        (void)GDALMDArrayWrite(array, &start, &count, NULL, NULL, type, texts, NULL, 0);
        GDALMDArrayRelease(array);
    }
    if (group != NULL) {
        GDALGroupRelease(group);
    }
    GDALExtendedDataTypeRelease(type);
}

static void add_words(const Product *product, char *rest) {
    static char empty[] = "";
    char *words[LIST_MAX], *end = NULL;
    size_t count = 0;
    const char *path = next_word(&rest);
    const char *name = strtok_r(rest, "|", &end);
    char *word = NULL;
    while (name != NULL && count < LIST_MAX && (word = strtok_r(NULL, "|", &end)) != NULL) {
        words[count++] = word;
    }
    GDALDimensionH axis = count > 0 ? axis_of(product, name, count) : NULL;
    if (axis != NULL && GDALDimensionGetSize(axis) <= LIST_MAX) {
        while (count < LIST_MAX) {
            words[count++] = empty;
        }
        add_texts(product, path, &axis, words);
    }
    if (axis != NULL) {
        GDALDimensionRelease(axis);
    }
}

/* ---- attributes ---- */

/* Of an array, or of the group of that path. */
static GDALAttributeH make_attribute(const Product *product, const char *path, const char *name,
                                     GUInt64 count, GDALExtendedDataTypeH type) {
    GDALAttributeH made = NULL;
    bool one = count == 0;
    if (name[0] == '\0') {
        return NULL;
    }
    if (strcmp(path, "/") == 0) {
        return GDALGroupCreateAttribute(product->root, name, !one, &count, type, NULL);
    }
    GDALMDArrayH array = GDALGroupOpenMDArrayFromFullname(product->root, path, NULL);
    GDALGroupH group = array == NULL ? GDALGroupOpenGroupFromFullname(product->root, path, NULL) : NULL;
    if (array != NULL) {
        made = GDALMDArrayCreateAttribute(array, name, !one, &count, type, NULL);
        GDALMDArrayRelease(array);
    } else if (group != NULL) {
        made = GDALGroupCreateAttribute(group, name, !one, &count, type, NULL);
        GDALGroupRelease(group);
    }
    return made;
}

static void add_attribute(const Product *product, char *rest, bool is_text) {
    double values[LIST_MAX];
    const char *path = next_word(&rest), *name = next_word(&rest);
    size_t count = is_text ? 0 : numbers_of(&rest, values);
    if (!is_text && count == 0) {
        return;
    }
    GDALExtendedDataTypeH type =
        is_text ? GDALExtendedDataTypeCreateString(0) : GDALExtendedDataTypeCreate(GDT_Float64);
    GDALAttributeH made = make_attribute(product, path, name, count, type);
    if (made != NULL) {
        (void)(is_text ? GDALAttributeWriteString(made, rest)
                       : GDALAttributeWriteDoubleArray(made, values, count));
        GDALAttributeRelease(made);
    }
    GDALExtendedDataTypeRelease(type);
}

static void describe_array(const Product *product, char *rest, bool is_unit) {
    const char *path = next_word(&rest), *value = next_word(&rest);
    GDALMDArrayH array = GDALGroupOpenMDArrayFromFullname(product->root, path, NULL);
    if (array != NULL) {
        (void)(is_unit ? GDALMDArraySetUnit(array, value)
                       : GDALMDArraySetNoDataValueAsDouble(array, strtod(value, NULL)));
        GDALMDArrayRelease(array);
    }
}

/* ---- files ---- */

static void end_file(Product *product) {
    if (product->root != NULL) {
        GDALGroupRelease(product->root);
    }
    if (product->dataset != NULL) {
        GDALClose(product->dataset);
    }
    product->root = NULL;
    product->dataset = NULL;
}

/* Names hold letters, digits, '_' and '.', so that nothing is written elsewhere. */
static void begin_file(Product *product, const char *name) {
    size_t length = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.");
    end_file(product);
    if (length == 0 || length > 60 || name[length] != '\0' || name[0] == '.' || product->files == FILES_MAX) {
        return;
    }
    char *path = product->path[product->files];
    snprintf(path, HC_FUZZ_PATH, "%s/%s", hc_fuzz_folder(), name);
    product->dataset = GDALCreateMultiDimensional(GDALGetDriverByName("netCDF"), path, NULL, NULL);
    product->root = product->dataset != NULL ? GDALDatasetGetRootGroup(product->dataset) : NULL;
    product->files += product->root != NULL;
}

static void follow(Product *product, char *line) {
    const char *word = next_word(&line);
    if (strcmp(word, "file") == 0) {
        begin_file(product, next_word(&line));
    } else if (product->root == NULL) {
        return;
    } else if (strcmp(word, "array") == 0) {
        add_array(product, line);
    } else if (strcmp(word, "list") == 0) {
        add_list(product, line);
    } else if (strcmp(word, "words") == 0) {
        add_words(product, line);
    } else if (strcmp(word, "text") == 0) {
        const char *path = next_word(&line);
        add_texts(product, path, NULL, &line);
    } else if (strcmp(word, "number") == 0 || strcmp(word, "label") == 0) {
        add_attribute(product, line, word[0] == 'l');
    } else if (strcmp(word, "unit") == 0 || strcmp(word, "nodata") == 0) {
        describe_array(product, line, word[0] == 'u');
    }
}

/* False where there are more lines than an input needs. */
static bool write_files(Product *product, const uint8_t *data, size_t size) {
    const uint8_t *end = data + size;
    int lines = 0;
    HcGdalErrors messages;
    hc_gdal_catch(&messages);
    for (; data < end && lines < LINES_MAX; lines++) {
        char line[LINE_MAX_BYTES];
        const uint8_t *stop = memchr(data, '\n', (size_t)(end - data));
        stop = stop != NULL ? stop : end;
        snprintf(line, sizeof line, "%.*s", (int)(stop - data), (const char *)data);
        follow(product, line);
        data = stop + (stop < end);
    }
    end_file(product);
    hc_gdal_release();
    return lines < LINES_MAX;
}

/* ---- what comes out ---- */

static bool is_finite(const double *values, int32_t count) {
    for (int32_t b = 0; b < count && values != NULL; b++) {
        if (!isfinite(values[b])) {
            return false;
        }
    }
    return true;
}

static void check_scene(const HcScene *scene) {
    hc_fuzz_expect(scene->lines > 0 && scene->samples > 0 && scene->bands > 0, "a scene has a size");
    hc_fuzz_expect(is_finite(scene->wavelength, scene->bands), "wavelengths are finite");
    hc_fuzz_expect(is_finite(scene->fwhm, scene->bands), "widths are finite");
    hc_fuzz_expect(is_finite(scene->gain, scene->bands) && is_finite(scene->offset, scene->bands),
                   "gains and offsets are finite");
    for (int32_t b = 0; b < scene->bands && scene->band_name != NULL; b++) {
        const char *name = scene->band_name[b];
        hc_fuzz_expect(name == NULL || strpbrk(name, "\r\n") == NULL, "a band's name is one line");
    }
}

/* All values of the view as [line][band][sample], with the mask behind them; fresh memory, NULL where it
 * cannot be read. */
static uint8_t *values_of(HcView *view, size_t *bytes) {
    const HcScene *scene = hc_view_scene(view);
    size_t one = hc_type_bytes(scene->type), pixels = (size_t)(scene->lines * scene->samples);
    size_t all = one * pixels * (size_t)scene->bands;
    uint8_t *out = calloc(1, all + pixels), *to = out;
    char *buffer = malloc(hc_view_bytes(view, 2));
    HcError err = {0};
    HcStatus status = HC_OK;
    hc_fuzz_expect(out != NULL && buffer != NULL, "there is memory for the harness itself");
    for (int64_t line0 = 0; line0 < scene->lines && status == HC_OK; line0 += 2) {
        HcRaw raw;
        int32_t lines = line0 + 2 <= scene->lines ? 2 : 1;
        status = hc_view_read(view, line0, lines, buffer, &raw, &err);
        hc_fuzz_check(status, &err);
        for (int64_t at = 0; status == HC_OK && at < lines * scene->bands * scene->samples; at++) {
            int64_t s = at % scene->samples, b = at / scene->samples % scene->bands;
            int64_t l = at / scene->samples / scene->bands;
            const char *from = (const char *)raw.data + l * raw.stride_line + s * raw.stride_sample +
                               hc_view_stored_band(view, (int32_t)b) * raw.stride_band;
            for (size_t i = 0; i < one; i++) {
                *to++ = (uint8_t)from[raw.swap ? one - 1 - i : i];
            }
        }
        if (status == HC_OK && raw.user_mask != NULL) {
            memcpy(out + all + line0 * scene->samples, raw.user_mask, (size_t)(lines * scene->samples));
        }
    }
    free(buffer);
    *bytes = all + pixels;
    if (status != HC_OK) {
        free(out);
        return NULL;
    }
    return out;
}

/* Opens the scene with its masks and reads it; NULL where one of both fails. */
static uint8_t *read_scene(const char *path, bool never_direct, bool quality, size_t *bytes) {
    HcView *view = NULL;
    HcError err = {0};
    uint8_t *values = NULL;
    HcViewOptions how = {.reader = {.threads = 1, .never_direct = never_direct}, .no_quality = !quality};
    HcStatus status = hc_view_open(&view, path, &how, &err);
    hc_fuzz_check(status, &err);
    hc_fuzz_expect((status == HC_OK) == (view != NULL), "what is opened is there");
    if (status == HC_OK) {
        const char *notes[] = {hc_reader_note(hc_view_reader(view)), hc_view_note(view)};
        hc_fuzz_expect(notes[0] == NULL || strpbrk(notes[0], "\r\n") == NULL, "a note is one line");
        hc_fuzz_expect(notes[1] == NULL || strpbrk(notes[1], "\r\n") == NULL, "a note is one line");
        /* The reader compares, and leaves chunks that differ to GDAL: right for a user, a finding here. */
        hc_fuzz_expect(notes[0] == NULL || strstr(notes[0], "differ from what GDAL reads") == NULL,
                       "chunks hold what GDAL reads");
        check_scene(hc_view_scene(view));
        values = values_of(view, bytes);
    }
    hc_view_close(view);
    return values;
}

/* By chunks and by GDAL; false where it cannot be read. */
static bool both_ways(const char *path, bool quality) {
    size_t bytes[2] = {0, 0};
    uint8_t *direct = read_scene(path, false, quality, &bytes[0]);
    uint8_t *by_gdal = read_scene(path, true, quality, &bytes[1]);
    bool read = direct != NULL;
    hc_fuzz_expect(read == (by_gdal != NULL), "chunks are read where GDAL reads them");
    hc_fuzz_expect(!read || (bytes[0] == bytes[1] && memcmp(direct, by_gdal, bytes[0]) == 0),
                   "chunks hold what GDAL reads");
    free(direct);
    free(by_gdal);
    return read;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Product product = {.files = 0};
    hc_fuzz_expect(GDALGetDriverByName("netCDF") != NULL, "the driver that writes the files is there");
    if (write_files(&product, data, size) && product.files > 0 && !both_ways(product.path[0], true)) {
        (void)both_ways(product.path[0], false); /* a mask with a flaw hides the pixels */
    }
    hc_fuzz_empty_folder();
    return 0;
}
