/* The chunk index of a TIFF. Its directory is read here and not through GDAL's metadata, which take a text
 * for each tile and do not say byte order and predictor. A file that has anything that is not named here is
 * left to another reader. */
#include "core/allocate.h"
#include "core/block.h"
#include "io/chunk/codec/decode.h"
#include "io/chunk/index.h"
#include "io/chunk/tiff.h"
#include "io/file.h"
#include "io/gdal/errors.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COMPRESSION_LERC = 34887, ALPHA = 2 };

enum { ENTRIES_MAX = 4096, CHUNK_BYTES_MAX = INT32_MAX };

/* A field of a directory: `count` numbers of `bytes` bytes each at `at` in the file. */
typedef struct Field {
    int64_t at;
    int64_t count;
    int bytes; /* 0 = there is no such field, or it holds no whole numbers */
} Field;

typedef struct Tiff {
    const char *path; /* for messages */
    int file;
    HcRemote *remote; /* instead of it, of a file of a server */
    int64_t size;
    bool big_endian, big; /* big: BigTIFF */
    uint8_t *entries;
    int64_t entry_count, entries_at;
} Tiff;

static uint64_t number_at(const uint8_t *at, int bytes, bool big_endian) {
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++) {
        value = value << 8 | at[big_endian ? i : bytes - 1 - i];
    }
    return value;
}

/* ---- the file ---- */

/* HC_E_IO where it cannot be read; *there is false where it ends before. */
static HcStatus read_at(const Tiff *tiff, void *to, int64_t bytes, int64_t at, bool *there, HcError *err) {
    *there = false;
    if (at < 0 || bytes > tiff->size || at > tiff->size - bytes) {
        return HC_OK;
    }
    if (tiff->remote != NULL) {
        *there = true;
        return hc_remote_look(tiff->remote, to, bytes, at, err);
    }
    int failed = hc_file_read_at(tiff->file, to, (size_t)bytes, at);
    if (failed > 0) {
        return hc_fail(err, HC_E_IO, "%s: reading failed: %s", tiff->path, strerror(failed));
    }
    *there = failed == 0;
    return HC_OK;
}

/* Reads the entries of the first directory; *is = whether there is one. */
static HcStatus read_directory(Tiff *tiff, bool *is, HcError *err) {
    uint8_t head[16] = {0};
    bool there = false;
    *is = false;
    HC_OR_RETURN(read_at(tiff, head, hc_min64(sizeof head, tiff->size), 0, &there, err));
    if (!there || head[0] != head[1] || (head[0] != 'I' && head[0] != 'M')) {
        return HC_OK;
    }
    tiff->big_endian = head[0] == 'M';
    uint64_t version = number_at(head + 2, 2, tiff->big_endian);
    tiff->big = version == 43;
    if (version != 42 && version != 43) {
        return HC_OK;
    }
    uint64_t at =
        tiff->big ? number_at(head + 8, 8, tiff->big_endian) : number_at(head + 4, 4, tiff->big_endian);
    int count_bytes = tiff->big ? 8 : 2;
    uint8_t count[8];
    if (at > (uint64_t)tiff->size) {
        return HC_OK;
    }
    HC_OR_RETURN(read_at(tiff, count, count_bytes, (int64_t)at, &there, err));
    uint64_t entries = there ? number_at(count, count_bytes, tiff->big_endian) : 0;
    if (entries == 0 || entries > ENTRIES_MAX) {
        return HC_OK;
    }
    int64_t bytes = (int64_t)entries * (tiff->big ? 20 : 12);
    tiff->entries = malloc((size_t)bytes);
    if (tiff->entries == NULL) {
        return hc_fail_memory(err, (double)bytes, "a TIFF directory");
    }
    tiff->entry_count = (int64_t)entries;
    tiff->entries_at = (int64_t)at + count_bytes;
    return read_at(tiff, tiff->entries, bytes, tiff->entries_at, is, err);
}

static Field find_field(const Tiff *tiff, int tag) {
    static const int sizes[] = {[3] = 2, [4] = 4, [16] = 8};
    int each = tiff->big ? 20 : 12, word = tiff->big ? 8 : 4;
    for (int64_t e = 0; e < tiff->entry_count; e++) {
        const uint8_t *entry = tiff->entries + e * each;
        uint64_t type = number_at(entry + 2, 2, tiff->big_endian);
        if (number_at(entry, 2, tiff->big_endian) != (uint64_t)tag) {
            continue;
        }
        Field field = {.bytes = type < sizeof sizes / sizeof *sizes ? sizes[type] : 0};
        uint64_t count = number_at(entry + 4, word, tiff->big_endian);
        if (field.bytes == 0 || count == 0 || count > (uint64_t)tiff->size / (unsigned)field.bytes) {
            return (Field){.count = -1}; /* there, and of no use */
        }
        field.count = (int64_t)count;
        bool inside = field.count * field.bytes <= word;
        uint64_t at = number_at(entry + 4 + word, word, tiff->big_endian);
        field.at = inside ? tiff->entries_at + e * each + 4 + word : at > INT64_MAX ? -1 : (int64_t)at;
        return field;
    }
    return (Field){0};
}

/* The numbers of a field, fresh memory; NULL with HC_OK where the file ends before. */
static HcStatus read_numbers(const Tiff *tiff, const Field *field, uint64_t **out, HcError *err) {
    HcStatus status = HC_OK;
    bool there = false;
    size_t bytes = (size_t)field->count * (size_t)field->bytes;
    uint64_t *numbers = malloc((size_t)field->count * sizeof *numbers);
    uint8_t *stored = malloc(bytes);
    *out = NULL;
    if (numbers == NULL || stored == NULL) {
        HC_TRY(hc_fail_memory(err, (double)field->count * sizeof *numbers, "places of tiles"));
    }
    HC_TRY(read_at(tiff, stored, (int64_t)bytes, field->at, &there, err));
    for (int64_t i = 0; there && i < field->count; i++) {
        numbers[i] = number_at(stored + i * field->bytes, field->bytes, tiff->big_endian);
    }
    if (there) {
        *out = numbers;
        numbers = NULL;
    }
done:
    free(numbers);
    free(stored);
    return status;
}

/* The one number of a field, all alike where it has several; `otherwise` where it is missing, -1 where it
 * says nothing of use. */
static HcStatus read_one(const Tiff *tiff, int tag, int64_t otherwise, int64_t *value, HcError *err) {
    Field field = find_field(tiff, tag);
    uint64_t *numbers = NULL;
    *value = field.count == 0 ? otherwise : -1;
    if (field.count <= 0) {
        return HC_OK;
    }
    HC_OR_RETURN(read_numbers(tiff, &field, &numbers, err));
    if (numbers != NULL && numbers[0] <= INT32_MAX) {
        *value = (int64_t)numbers[0];
        for (int64_t i = 1; i < field.count; i++) {
            *value = numbers[i] == numbers[0] ? *value : -1;
        }
    }
    free(numbers);
    return HC_OK;
}

/* ---- what it says ---- */

typedef struct Layout {
    int64_t width, length, bits, compression, photometric, fill_order, samples, planar, predictor, format;
    int64_t chunk_width, chunk_length;
    int64_t extra; /* samples beyond colours: 0 = bands, -1 = several kinds */
    int64_t lerc;  /* how its blobs are compressed once more: 0 not, 1 deflate, 2 zstd */
    bool tiled;
} Layout;

static HcStatus read_lerc(const Tiff *tiff, Layout *layout, HcError *err) {
    Field field = find_field(tiff, HC_TIFF_LERC);
    uint64_t *numbers = NULL;
    layout->lerc = -1;
    if (field.count < 2) {
        return HC_OK;
    }
    HC_OR_RETURN(read_numbers(tiff, &field, &numbers, err));
    layout->lerc = numbers != NULL && numbers[1] <= 2 ? (int64_t)numbers[1] : -1;
    free(numbers);
    return HC_OK;
}

static HcStatus read_layout(const Tiff *tiff, Layout *layout, HcError *err) {
    const struct {
        int tag;
        int64_t otherwise;
        int64_t *to;
    } fields[] = {{HC_TIFF_WIDTH, -1, &layout->width},
                  {HC_TIFF_LENGTH, -1, &layout->length},
                  {HC_TIFF_BITS, 1, &layout->bits},
                  {HC_TIFF_COMPRESSION, 1, &layout->compression},
                  {HC_TIFF_PHOTOMETRIC, -1, &layout->photometric},
                  {HC_TIFF_FILL_ORDER, 1, &layout->fill_order},
                  {HC_TIFF_SAMPLES, 1, &layout->samples},
                  {HC_TIFF_PLANAR, 1, &layout->planar},
                  {HC_TIFF_PREDICTOR, 1, &layout->predictor},
                  {HC_TIFF_EXTRA_SAMPLES, 0, &layout->extra},
                  {HC_TIFF_SAMPLE_FORMAT, 1, &layout->format},
                  {HC_TIFF_TILE_WIDTH, 0, &layout->chunk_width},
                  {HC_TIFF_TILE_LENGTH, 0, &layout->chunk_length}};
    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++) {
        HC_OR_RETURN(read_one(tiff, fields[f].tag, fields[f].otherwise, fields[f].to, err));
    }
    if (layout->compression == COMPRESSION_LERC) {
        HC_OR_RETURN(read_lerc(tiff, layout, err));
    }
    layout->tiled = layout->chunk_width != 0 || layout->chunk_length != 0;
    if (!layout->tiled) {
        layout->chunk_width = layout->width;
        HC_OR_RETURN(read_one(tiff, HC_TIFF_STRIP_ROWS, layout->length, &layout->chunk_length, err));
        /* 2^32-1 means one strip, and comes as -1. */
        if (layout->chunk_length < 0 || layout->chunk_length > layout->length) {
            layout->chunk_length = layout->length;
        }
    }
    return HC_OK;
}

/* 1 unsigned, 2 signed, 3 float; GDAL before 3.7 keeps int8 as bytes with a remark. */
static bool format_fits(int64_t format, HcType type) {
    switch (type) {
    case HC_FLOAT32:
    case HC_FLOAT64:
        return format == 3;
    case HC_INT8:
        return format == 1 || format == 2;
    case HC_INT16:
    case HC_INT32:
    case HC_INT64:
        return format == 2;
    default:
        return format == 1;
    }
}

/* An alpha band lies in the mask of LERC, which is left to GDAL. */
static bool add_lerc(HcChunkIndex *index, const Layout *layout) {
    if (layout->lerc < 0 || layout->lerc > 2 || layout->extra != 0 || layout->predictor != 1 ||
        !hc_chunk_lerc_holds(index->type)) {
        return false;
    }
    if (layout->lerc > 0) {
        index->step[index->steps++] = layout->lerc == 1 ? HC_CODE_DEFLATE : HC_CODE_ZSTD;
    }
    index->step[index->steps++] = HC_CODE_LERC;
    return true;
}

static bool add_steps(HcChunkIndex *index, const Layout *layout) {
    int64_t how = layout->compression;
    bool floating = index->type == HC_FLOAT32 || index->type == HC_FLOAT64;
    if (how == 1 || how == COMPRESSION_LERC) { /* 1: no predictor, whatever the field says */
        return how == 1 || add_lerc(index, layout);
    }
    if ((how != 5 && how != 8 && how != 32946 && how != 50000) || layout->predictor < 1 ||
        layout->predictor > (floating ? 3 : 2)) {
        return false;
    }
    index->step[index->steps++] = how == 5 ? HC_CODE_LZW : how == 50000 ? HC_CODE_ZSTD : HC_CODE_DEFLATE;
    if (layout->predictor > 1) {
        index->step[index->steps++] = layout->predictor == 2 ? HC_CODE_DIFFERENCE : HC_CODE_FLOAT_DIFFERENCE;
    }
    return true;
}

/* Fills the index without the places of chunks. False: this reader does not know such a file. */
static bool fill_index(HcChunkIndex *index, const Tiff *tiff, const Layout *layout, const HcScene *scene) {
    int64_t bytes = (int64_t)hc_type_bytes(scene->type), all = 0;
    bool apart = layout->planar == 2;
    if (layout->width != scene->samples || layout->length != scene->lines ||
        layout->samples != scene->bands || layout->bits != 8 * bytes ||
        !format_fits(layout->format, scene->type) || layout->photometric < 0 || layout->photometric > 3 ||
        layout->fill_order != 1 || (!apart && layout->planar != 1) || layout->chunk_width < 1 ||
        layout->chunk_length < 1) {
        return false;
    }
    index->type = scene->type;
    index->swap = bytes > 1 && tiff->big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    index->size[HC_AXIS_LINE] = scene->lines;
    index->size[HC_AXIS_SAMPLE] = scene->samples;
    index->size[HC_AXIS_BAND] = scene->bands;
    index->shape[HC_AXIS_LINE] = layout->chunk_length;
    index->shape[HC_AXIS_SAMPLE] = layout->chunk_width;
    index->shape[HC_AXIS_BAND] = apart ? 1 : scene->bands;
    for (int a = 0; a < HC_AXES; a++) {
        index->count[a] = (index->size[a] + index->shape[a] - 1) / index->shape[a];
    }
    index->order[0] = HC_AXIS_LINE;
    index->order[1] = apart ? HC_AXIS_BAND : HC_AXIS_SAMPLE;
    index->order[2] = apart ? HC_AXIS_SAMPLE : HC_AXIS_BAND;
    index->short_last = !layout->tiled;
    return !__builtin_mul_overflow(layout->chunk_length * layout->chunk_width,
                                   index->shape[HC_AXIS_BAND] * bytes, &all) &&
           all <= CHUNK_BYTES_MAX &&
           !__builtin_mul_overflow(index->count[HC_AXIS_LINE] * index->count[HC_AXIS_SAMPLE],
                                   index->count[HC_AXIS_BAND], &all) &&
           add_steps(index, layout);
}

static HcStatus check_place(const Tiff *tiff, const HcChunkIndex *index, int64_t number, const char *what,
                            uint64_t offset, uint64_t bytes, HcError *err) {
    if (bytes <= (uint64_t)tiff->size && offset <= (uint64_t)tiff->size - bytes) {
        return HC_OK;
    }
    int64_t first[HC_AXES], size[HC_AXES];
    hc_chunk_box(index, number, first, size);
    return hc_fail(err, HC_E_INPUT,
                   "%s: the %s at line %" PRId64 ", sample %" PRId64 ", band %" PRId64
                   " (from 0) is said to be %" PRIu64 " bytes at byte %" PRIu64 ", the file has %" PRId64,
                   index->path, what, first[HC_AXIS_LINE], first[HC_AXIS_SAMPLE], first[HC_AXIS_BAND], bytes,
                   offset, tiff->size);
}

/* Fills the places; *known = false where the lists are not what they must be. */
static HcStatus read_places(const Tiff *tiff, const Layout *layout, HcChunkIndex *index, bool *known,
                            HcError *err) {
    HcStatus status = HC_OK;
    Field offsets = find_field(tiff, layout->tiled ? HC_TIFF_TILE_OFFSETS : HC_TIFF_STRIP_OFFSETS);
    Field sizes = find_field(tiff, layout->tiled ? HC_TIFF_TILE_BYTES : HC_TIFF_STRIP_BYTES);
    uint64_t *offset = NULL, *bytes = NULL;
    int64_t count = hc_chunk_count(index), plane = index->count[HC_AXIS_LINE] * index->count[HC_AXIS_SAMPLE];
    bool raw = index->steps == 0;
    *known = false;
    if (offsets.count != count || sizes.count != count) {
        return HC_OK;
    }
    HC_TRY(read_numbers(tiff, &offsets, &offset, err));
    HC_TRY(read_numbers(tiff, &sizes, &bytes, err));
    HC_TRY(hc_new(index->place, (size_t)count, "places of tiles", err));
    *known = offset != NULL && bytes != NULL;
    for (int64_t i = 0; i < count && *known; i++) {
        /* In the file one band follows the other. */
        int64_t number = i % plane * index->count[HC_AXIS_BAND] + i / plane;
        *known = (offset[i] == 0) == (bytes[i] == 0); /* else the sizes are to be guessed */
        HC_TRY(check_place(tiff, index, number, layout->tiled ? "tile" : "strip", offset[i], bytes[i], err));
        /* What lies after the values of a tile that is not compressed does not matter. */
        int64_t stored = hc_min64((int64_t)bytes[i], raw ? hc_chunk_bytes(index) : INT64_MAX);
        index->place[number] = (HcChunkPlace){(int64_t)offset[i], stored};
        index->stored_most = hc_max64(index->stored_most, stored);
    }
done:
    free(offset);
    free(bytes);
    return status;
}

static HcStatus make_index(HcChunkIndex *index, Tiff *tiff, const HcScene *scene, bool *known, HcError *err) {
    Layout layout = {0};
    HC_OR_RETURN(read_directory(tiff, known, err));
    if (!*known) {
        return HC_OK;
    }
    HC_OR_RETURN(read_layout(tiff, &layout, err));
    *known = fill_index(index, tiff, &layout, scene);
    return *known ? read_places(tiff, &layout, index, known, err) : HC_OK;
}

HcStatus hc_chunk_tiff(HcChunkIndex **out, const char *path, const HcScene *scene, HcError *err) {
    HcStatus status = HC_OK;
    Tiff tiff = {.path = path, .file = -1};
    bool known = false;
    *out = NULL;
    HcChunkIndex *index = NULL;
    HC_TRY(hc_chunk_index_new(&index, path, NULL, err));
    HC_TRY(hc_chunk_index_open(index, &tiff.size, err));
    tiff.file = index->file;
    tiff.remote = index->remote;
    if (tiff.size >= 0) {
        HcError why = {0};
        status = make_index(index, &tiff, scene, &known, &why);
        if (status != HC_OK) {
            bool named = strncmp(why.text, path, strlen(path)) == 0;
            (void)hc_fail(err, status, "%s%s%s", named ? "" : path, named ? "" : ": ", why.text);
        }
    }
    if (status == HC_OK && known) {
        *out = index;
        index = NULL;
    }
done:
    hc_chunk_index_free(index);
    free(tiff.entries);
    return status;
}

/* ---- the way back ---- */

void hc_tiff_put(uint8_t *to, uint64_t value, int bytes, bool big_endian) {
    for (int i = 0; i < bytes; i++) {
        to[big_endian ? bytes - 1 - i : i] = (uint8_t)(value >> 8 * i);
    }
}

/* Offsets of all chunks into their field, or their bytes. */
static HcStatus store_field(const Tiff *tiff, const HcChunkIndex *index, const Field *field, bool offsets,
                            const char *path, HcError *err) {
    HcStatus status = HC_OK;
    int64_t count = hc_chunk_count(index), plane = index->count[HC_AXIS_LINE] * index->count[HC_AXIS_SAMPLE];
    uint8_t *stored = NULL;
    if (field->count != count) {
        return hc_fail(err, HC_E_IO, "%s: its directory has %" PRId64 " tiles instead of %" PRId64, path,
                       field->count, count);
    }
    HC_OR_RETURN(hc_new(stored, (size_t)(count * field->bytes), "places of tiles", err));
    for (int64_t i = 0; i < count; i++) {
        const HcChunkPlace *place = &index->place[i % plane * index->count[HC_AXIS_BAND] + i / plane];
        uint64_t value = (uint64_t)(offsets ? place->offset : place->bytes);
        if (field->bytes < 8 && value >> 8 * field->bytes != 0) {
            HC_TRY(hc_fail(err, HC_E_IO,
                           "%s: a tile of %" PRId64 " bytes at byte %" PRId64
                           " has no space in its directory",
                           path, place->bytes, place->offset));
        }
        hc_tiff_put(stored + i * field->bytes, value, field->bytes, tiff->big_endian);
    }
    int number = hc_file_write_at(tiff->file, stored, (size_t)(count * field->bytes), field->at);
    if (number != 0) {
        status = hc_fail(err, hc_errno_status(number, HC_E_IO), "%s: %s", path, strerror(number));
    }
done:
    free(stored);
    return status;
}

HcStatus hc_chunk_tiff_store(const HcChunkIndex *index, int file, const char *path, HcError *err) {
    HcStatus status = HC_OK;
    struct stat info;
    bool there = false;
    Tiff tiff = {.path = path, .file = file};
    if (fstat(file, &info) != 0) {
        return hc_fail(err, hc_errno_status(errno, HC_E_IO), "%s: %s", path, strerror(errno));
    }
    tiff.size = info.st_size;
    HC_TRY(read_directory(&tiff, &there, err));
    Field offsets = find_field(&tiff, index->short_last ? HC_TIFF_STRIP_OFFSETS : HC_TIFF_TILE_OFFSETS);
    Field sizes = find_field(&tiff, index->short_last ? HC_TIFF_STRIP_BYTES : HC_TIFF_TILE_BYTES);
    HC_TRY(store_field(&tiff, index, &offsets, true, path, err));
    HC_TRY(store_field(&tiff, index, &sizes, false, path, err));
done:
    free(tiff.entries);
    return status;
}

/* ---- all fields ---- */

void hc_tiff_fields_free(HcTiffField *fields, int64_t count) {
    for (int64_t f = 0; f < count && fields != NULL; f++) {
        free(fields[f].data);
    }
    free(fields);
}

static HcStatus take_field(const Tiff *tiff, const uint8_t *entry, HcTiffField *field, bool *there,
                           HcError *err) {
    int word = tiff->big ? 8 : 4;
    uint64_t count = number_at(entry + 4, word, tiff->big_endian);
    field->tag = (int)number_at(entry, 2, tiff->big_endian);
    field->type = (int)number_at(entry + 2, 2, tiff->big_endian);
    int64_t each = hc_tiff_type_bytes(field->type);
    *there = each > 0 && count <= (uint64_t)tiff->size;
    if (!*there) {
        return HC_OK;
    }
    field->count = (int64_t)count;
    int64_t bytes = field->count * each;
    HC_OR_RETURN(hc_new(field->data, (size_t)bytes, "a TIFF directory", err));
    if (bytes <= word) {
        memcpy(field->data, entry + 4 + word, (size_t)bytes);
        return HC_OK;
    }
    return read_at(tiff, field->data, bytes, (int64_t)number_at(entry + 4 + word, word, tiff->big_endian),
                   there, err);
}

HcStatus hc_tiff_fields(int file, const char *path, HcTiffField **out, int64_t *count, bool *big_endian,
                        HcError *err) {
    HcStatus status = HC_OK;
    struct stat info;
    bool there = false;
    Tiff tiff = {.path = path, .file = file};
    HcTiffField *fields = NULL;
    *out = NULL;
    *count = 0;
    if (fstat(file, &info) != 0) {
        return hc_fail(err, hc_errno_status(errno, HC_E_IO), "%s: %s", path, strerror(errno));
    }
    tiff.size = info.st_size;
    HC_TRY(read_directory(&tiff, &there, err));
    HC_TRY(hc_new(fields, (size_t)tiff.entry_count, "a TIFF directory", err));
    for (int64_t f = 0; f < tiff.entry_count && there; f++) {
        HC_TRY(take_field(&tiff, tiff.entries + f * (tiff.big ? 20 : 12), &fields[f], &there, err));
    }
    if (!there) {
        HC_TRY(hc_fail(err, HC_E_IO, "%s: its directory is broken", path));
    }
    *big_endian = tiff.big_endian;
    *count = tiff.entry_count;
    *out = fields;
    fields = NULL;
done:
    hc_tiff_fields_free(fields, tiff.entry_count);
    free(tiff.entries);
    return status;
}
