/* The chunk index of an array of Zarr. Its text says how chunks are stored, and their names follow from their
 * places, so that none is looked for before it is read: on a server a chunk is one request. A chunk that has
 * no file holds the fill value. What the text says is checked here, since GDAL passes over arrays that it
 * does not understand. */
#include "io/chunk/zarr.h"
#include "core/allocate.h"
#include "core/block.h"
#include "core/text.h"
#include "io/gdal/errors.h"
#include "io/gdal/files.h"

#include <cJSON.h>
#include <cpl_vsi.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNKS_MAX      ((int64_t)1 << 26)
#define CHUNK_BYTES_MAX ((int64_t)INT32_MAX)
#define SIZE_MAX_AXIS   ((double)INT32_MAX)

/* ---- the texts ---- */

static const char *const texts[] = {".zarray", "zarr.json", ".zgroup", NULL};

/* The files are looked at here, since those who look for any file ask whether it is Zarr. */
static bool is_there(const char *path, mode_t kind) {
    VSIStatBufL info;
    return hc_gdal_stat(path, &info, 0) && (info.st_mode & S_IFMT) == kind;
}

static HcStatus load_text(const char *path, char **data, HcError *err) {
    enum { TEXT_MAX = 64 << 20 };
    HcGdalErrors messages;
    GByte *found = NULL;
    vsi_l_offset size = 0;
    hc_gdal_catch(&messages);
    bool read = VSIIngestFile(NULL, path, &found, &size, TEXT_MAX) != 0;
    hc_gdal_release();
    *data = (char *)found; /* ends with 0 */
    return read ? HC_OK : hc_gdal_fail(err, HC_E_IO, path, &messages);
}

static HcStatus find_text(const char *folder, char **text, HcError *err) {
    for (int t = 0; texts[t] != NULL && *text == NULL; t++) {
        *text = hc_text_format("%s/%s", folder, texts[t]);
        HC_OR_RETURN(hc_text_made(*text, strlen(folder), "a path", err));
        if (!is_there(*text, S_IFREG)) {
            free(*text);
            *text = NULL;
        }
    }
    return HC_OK;
}

HcStatus hc_zarr_node(const char *folder, HcZarrNode *node, char **text, HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors messages;
    *node = HC_ZARR_NONE;
    *text = NULL;
    if (hc_remote_is(folder) ? strstr(folder, ".zarr") == NULL : !is_there(folder, S_IFDIR)) {
        return HC_OK;
    }
    hc_gdal_catch(&messages);
    status = find_text(folder, text, err);
    hc_gdal_release();
    if (*text == NULL) {
        return status;
    }
    *node = hc_text_ends_with(*text, "zarray") ? HC_ZARR_ARRAY : HC_ZARR_GROUP;
    if (hc_text_ends_with(*text, ".json")) { /* of both */
        char *data = NULL;
        status = load_text(*text, &data, err);
        cJSON *json = status == HC_OK ? cJSON_Parse(data) : NULL;
        const char *type = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "node_type"));
        *node = type != NULL && strcmp(type, "array") == 0 ? HC_ZARR_ARRAY : HC_ZARR_GROUP;
        cJSON_Delete(json);
        VSIFree(data);
    }
    return status;
}

bool hc_zarr_is(const char *folder) {
    HcError why = {0};
    HcZarrNode node = HC_ZARR_NONE;
    char *text = NULL;
    HcStatus status = hc_zarr_node(folder, &node, &text, &why);
    free(text);
    return status == HC_OK && node != HC_ZARR_NONE;
}

/* ---- what a text says ---- */

/* How the names of chunks are made, and in which order of axes. */
struct HcZarrArray {
    char separator;
    const char *prefix; /* "c" of version 3; "" = none */
    int axes;
    int axis[HC_AXES]; /* HcAxis as the array has them, the slowest first */
};

typedef struct Text {
    const char *path;
    const cJSON *root;
    HcChunkIndex *index;
    bool known; /* false: it is left to GDAL */
} Text;

static HcStatus fail_key(const Text *text, const char *key, const char *wanted, HcError *err) {
    char *found = cJSON_PrintUnformatted(cJSON_GetObjectItemCaseSensitive(text->root, key));
    HcStatus status = hc_fail(err, HC_E_INPUT, "%s: %s is %.80s, and not %s", text->path, key,
                              found != NULL ? found : "missing", wanted);
    cJSON_free(found);
    return status;
}

static const cJSON *item_of(const cJSON *object, const char *key) {
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static const char *text_of(const cJSON *object, const char *key) {
    const char *said = cJSON_GetStringValue(item_of(object, key));
    return said != NULL ? said : "";
}

/* Lengths along the axes of the array; an array of two axes is one band. */
static HcStatus take_sizes(const Text *text, const cJSON *list, const char *key, int64_t *to, HcError *err) {
    const HcChunkIndex *index = text->index;
    int first = HC_AXES - index->zarr->axes;
    bool whole = cJSON_IsArray(list) && cJSON_GetArraySize(list) == index->zarr->axes;
    for (int i = 0; i < HC_AXES; i++) {
        const cJSON *item = i < first || !whole ? NULL : cJSON_GetArrayItem(list, i - first);
        double value = i < first ? 1 : cJSON_IsNumber(item) ? item->valuedouble : 0;
        whole = whole && value >= 1 && value <= SIZE_MAX_AXIS && value == floor(value);
        to[index->zarr->axis[i]] = whole ? (int64_t)value : 0;
    }
    return whole ? HC_OK : fail_key(text, key, "a length for each axis", err);
}

static HcStatus take_shape(Text *text, const cJSON *chunks, const char *key, HcError *err) {
    HcChunkIndex *index = text->index;
    int64_t all = 1, bytes = (int64_t)hc_type_bytes(index->type);
    HC_OR_RETURN(take_sizes(text, item_of(text->root, "shape"), "shape", index->size, err));
    HC_OR_RETURN(take_sizes(text, chunks, key, index->shape, err));
    for (int a = 0; a < HC_AXES; a++) {
        index->count[a] = (index->size[a] + index->shape[a] - 1) / index->shape[a];
        if (__builtin_mul_overflow(all, index->count[a], &all) || all > CHUNKS_MAX) {
            return hc_fail(err, HC_E_UNSUPPORTED, "%s: %s makes more than %" PRId64 " chunks of the array",
                           text->path, key, CHUNKS_MAX);
        }
        if (__builtin_mul_overflow(bytes, index->shape[a], &bytes) || bytes > CHUNK_BYTES_MAX) {
            return hc_fail(err, HC_E_UNSUPPORTED, "%s: %s makes chunks of more than 2 GiB", text->path, key);
        }
    }
    return HC_OK;
}

/* "<u2" of version 2, "uint16" of version 3; *swap = big-endian as far as the word says it. */
static bool find_type(const char *word, HcType *type, bool *big) {
    bool ordered = word[0] == '<' || word[0] == '>' || word[0] == '|';
    *big = word[0] == '>';
    for (int t = 0; t < HC_TYPE_COUNT; t++) {
        const char *name = hc_type_name((HcType)t);
        const char brief[] = {name[0], (char)('0' + hc_type_bytes((HcType)t)), '\0'};
        if (strcmp(word, name) == 0 || (ordered && strcmp(word + 1, brief) == 0)) {
            *type = (HcType)t;
            return true;
        }
    }
    return false;
}

static void set_swap(HcChunkIndex *index, bool big) {
    index->swap = hc_type_bytes(index->type) > 1 && big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

/* A compressor, or a codec of version 3 that compresses. */
static bool add_step(HcChunkIndex *index, const char *word) {
    HcChunkCode code = strcmp(word, "zlib") == 0   ? HC_CODE_DEFLATE
                       : strcmp(word, "gzip") == 0 ? HC_CODE_GZIP
                       : strcmp(word, "zstd") == 0 ? HC_CODE_ZSTD
                                                   : HC_CODE_COUNT;
    if (code == HC_CODE_COUNT || index->steps > 0) {
        return false;
    }
    index->step[index->steps++] = code;
    return true;
}

/* The value of chunks that are not stored. Base64 and hexadecimal words are left to GDAL. */
static HcStatus take_fill(Text *text, HcError *err) {
    HcChunkIndex *index = text->index;
    const cJSON *fill = item_of(text->root, "fill_value");
    const char *word = cJSON_GetStringValue(fill);
    bool is_float = index->type == HC_FLOAT32 || index->type == HC_FLOAT64;
    double value = cJSON_IsNumber(fill) ? fill->valuedouble : word != NULL ? strtod(word, NULL) : 0;
    bool special = word != NULL && is_float && !isfinite(value); /* NaN, Infinity, -Infinity */
    uint64_t bytes = 0;
    if (fill != NULL && !cJSON_IsNull(fill) && !cJSON_IsNumber(fill) && word == NULL) {
        return fail_key(text, "fill_value", "a value of the array", err);
    }
    if (word != NULL && !special) {
        text->known = false;
        return HC_OK;
    }
    if (index->type == HC_FLOAT32) {
        float single = (float)value;
        memcpy(&bytes, &single, sizeof single);
    } else if (is_float) {
        memcpy(&bytes, &value, sizeof value);
    } else if (!(value >= -0x1p53 && value <= 0x1p53)) { /* the number of JSON is rounded */
        text->known = false;
        return HC_OK;
    } else {
        bytes = (uint64_t)(int64_t)value;
    }
    return hc_chunk_index_fill(index, bytes, err);
}

static HcStatus take_version_2(Text *text, HcError *err) {
    HcChunkIndex *index = text->index;
    const cJSON *compressor = item_of(text->root, "compressor"), *filters = item_of(text->root, "filters");
    const char *type = text_of(text->root, "dtype"), *order = text_of(text->root, "order");
    const char *separator = text_of(text->root, "dimension_separator");
    bool big = false;
    if (type[0] == '\0') {
        return fail_key(text, "dtype", "the type of a value", err);
    }
    if (strcmp(order, "C") != 0 && strcmp(order, "F") != 0) {
        return fail_key(text, "order", "\"C\" or \"F\"", err);
    }
    if (!find_type(type, &index->type, &big)) {
        text->known = false;
        return HC_OK;
    }
    set_swap(index, big);
    index->zarr->prefix = "";
    index->zarr->separator = separator[0] != '\0' ? separator[0] : '.';
    if (order[0] == 'F') {
        index->order[0] = index->zarr->axis[2];
        index->order[2] = index->zarr->axis[0];
    }
    text->known =
        (filters == NULL || cJSON_IsNull(filters) || cJSON_GetArraySize(filters) == 0) &&
        (compressor == NULL || cJSON_IsNull(compressor) || add_step(index, text_of(compressor, "id")));
    HC_OR_RETURN(take_shape(text, item_of(text->root, "chunks"), "chunks", err));
    return text->known ? take_fill(text, err) : HC_OK;
}

/* Codecs of version 3: "bytes", and one that compresses. */
static bool take_codecs(HcChunkIndex *index, const cJSON *codecs) {
    const cJSON *codec = NULL;
    bool known = true, ordered = hc_type_bytes(index->type) == 1;
    cJSON_ArrayForEach(codec, codecs) {
        const char *name = text_of(codec, "name"), *end = text_of(item_of(codec, "configuration"), "endian");
        if (strcmp(name, "bytes") == 0) {
            set_swap(index, strcmp(end, "big") == 0);
            ordered = true;
        } else {
            known = known && add_step(index, name);
        }
    }
    return known && ordered;
}

static HcStatus take_version_3(Text *text, HcError *err) {
    HcChunkIndex *index = text->index;
    const cJSON *grid = item_of(text->root, "chunk_grid"), *keys = item_of(text->root, "chunk_key_encoding");
    const cJSON *codecs = item_of(text->root, "codecs");
    const char *type = text_of(text->root, "data_type");
    const char *separator = text_of(item_of(keys, "configuration"), "separator");
    bool big = false, by_default = strcmp(text_of(keys, "name"), "default") == 0;
    if (!cJSON_IsArray(codecs)) {
        return fail_key(text, "codecs", "a list", err);
    }
    if (!find_type(type, &index->type, &big) || strcmp(text_of(grid, "name"), "regular") != 0) {
        text->known = false;
        return HC_OK;
    }
    index->zarr->prefix = by_default ? "c" : "";
    index->zarr->separator = separator[0] != '\0' ? separator[0] : by_default ? '/' : '.';
    text->known = take_codecs(index, codecs);
    HC_OR_RETURN(
        take_shape(text, item_of(item_of(grid, "configuration"), "chunk_shape"), "chunk_shape", err));
    return text->known ? take_fill(text, err) : HC_OK;
}

static HcStatus take_text(Text *text, HcError *err) {
    const cJSON *format = item_of(text->root, "zarr_format"), *shape = item_of(text->root, "shape");
    HcZarrArray *zarr = text->index->zarr;
    bool two = hc_text_ends_with(text->path, ".zarray");
    if (!cJSON_IsNumber(format) || format->valuedouble != (two ? 2 : 3)) {
        return fail_key(text, "zarr_format", two ? "2" : "3", err);
    }
    zarr->axes = cJSON_IsArray(shape) ? cJSON_GetArraySize(shape) : 0;
    if (zarr->axes == 0) {
        return fail_key(text, "shape", "a list of lengths", err);
    }
    text->known = (zarr->axes == 2 && zarr->axis[0] == HC_AXIS_BAND) || zarr->axes == HC_AXES;
    return !text->known ? HC_OK : two ? take_version_2(text, err) : take_version_3(text, err);
}

/* ---- opening ---- */

static HcStatus load(Text *text, HcError *err) {
    char *data = NULL;
    HC_OR_RETURN(load_text(text->path, &data, err));
    const char *end = data;
    cJSON *json = cJSON_ParseWithOpts(data, &end, false);
    text->root = json;
    HcStatus status = cJSON_IsObject(json) ? take_text(text, err)
                                           : hc_fail(err, HC_E_INPUT, "%s: is no JSON from byte %zu on",
                                                     text->path, (size_t)(end - data));
    text->root = NULL;
    cJSON_Delete(json);
    VSIFree(data);
    return status;
}

HcStatus hc_chunk_zarr(HcChunkIndex **out, const char *folder, const HcAxis order[HC_AXES], HcError *err) {
    HcStatus status = HC_OK;
    HcZarrNode node = HC_ZARR_NONE;
    HcChunkIndex *index = NULL;
    char *path = NULL;
    *out = NULL;
    HC_TRY(hc_zarr_node(folder, &node, &path, err));
    if (node != HC_ZARR_ARRAY) {
        goto done;
    }
    HC_TRY(hc_chunk_index_new(&index, folder, order, err));
    HC_TRY(hc_new(index->zarr, 1, "places of chunks", err));
    memcpy(index->zarr->axis, index->order, sizeof index->order);
    Text text = {.path = path, .index = index};
    HC_TRY(load(&text, err));
    if (text.known) {
        /* Compressed noise is a little larger than itself. */
        int64_t bytes = hc_chunk_bytes(index);
        index->stored_most = index->steps > 0 ? bytes + bytes / 64 + 4096 : bytes;
        *out = index;
        index = NULL;
    }
done:
    hc_chunk_index_free(index);
    free(path);
    return status;
}

/* ---- chunks ---- */

/* "FOLDER/c/0/1/2" or "FOLDER/0.1.2". */
static char *name_of(const HcChunkIndex *index, int64_t number) {
    const HcZarrArray *zarr = index->zarr;
    HcText name = {0};
    int64_t first[HC_AXES], size[HC_AXES];
    hc_chunk_box(index, number, first, size);
    hc_text_add(&name, "%s/%s", index->path, zarr->prefix);
    for (int i = HC_AXES - zarr->axes, begun = zarr->prefix[0] != '\0'; i < HC_AXES; i++, begun = 1) {
        int axis = zarr->axis[i];
        hc_text_add(&name, "%.*s%" PRId64, begun, &zarr->separator, first[axis] / index->shape[axis]);
    }
    char *out = name.failed ? NULL : strdup(name.data);
    hc_text_clear(&name);
    return out;
}

static HcStatus read_local(const char *path, int64_t most, uint8_t *to, int64_t *stored, HcError *why) {
    HcStatus status = HC_OK;
    struct stat info;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0 && errno == ENOENT) {
        return HC_OK;
    }
    ssize_t got = file >= 0 && fstat(file, &info) == 0 ? 1 : -1;
    if (got > 0 && (info.st_size == 0 || info.st_size > most)) {
        HC_TRY(hc_fail(why, HC_E_INPUT, "has %" PRId64 " bytes, and a chunk at most %" PRId64,
                       (int64_t)info.st_size, most));
    }
    while (got > 0 || (got < 0 && errno == EINTR && file >= 0)) {
        got = read(file, to + *stored, (size_t)(most - *stored));
        *stored += got > 0 ? got : 0;
    }
    if (got < 0) {
        HC_TRY(hc_fail(why, hc_errno_status(errno, HC_E_IO), "cannot be read: %s", strerror(errno)));
    }
done:
    if (file >= 0) {
        close(file);
    }
    return status;
}

HcStatus hc_zarr_read_chunk(const HcChunkIndex *index, int64_t number, void *to, int64_t *stored,
                            HcError *why) {
    char *path = name_of(index, number);
    *stored = 0;
    HC_OR_RETURN(hc_text_made(path, strlen(index->path), "a path", why));
    HcStatus status = hc_remote_is(path) ? hc_remote_fetch(path, to, index->stored_most, stored, why)
                                         : read_local(path, index->stored_most, to, stored, why);
    free(path);
    return status;
}
