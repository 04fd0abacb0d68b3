/* A cloud optimised GeoTIFF from its parts, as GDAL's driver lays it out (its page "COG"): a note that says
 * so, the directory that GDAL made and those of the overviews, then tiles, the smallest overview first.
 * Before a tile lies its size, and after it its last four bytes again. */
#include "core/allocate.h"
#include "core/block.h"
#include "core/system/team.h"
#include "core/text.h"
#include "io/chunk/tiff.h"
#include "io/file.h"
#include "io/gdal/errors.h"
#include "io/write/parts.h"

#include <cpl_string.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FRAME = 4 };

/* The last blank is space for YES. */
static const char note[] = "LAYOUT=IFDS_BEFORE_DATA\n"
                           "BLOCK_ORDER=ROW_MAJOR\n"
                           "BLOCK_LEADER=SIZE_AS_UINT4\n"
                           "BLOCK_TRAILER=LAST_4_BYTES_REPEATED\n"
                           "KNOWN_INCOMPATIBLE_EDITION=NO\n ";

/* The image, or an overview. */
typedef struct Part {
    const HcChunkIndex *index;
    int file;           /* with its tiles */
    HcTiffField *field; /* of the directory; data are borrowed, or those below */
    int64_t *at;        /* [count] where the data of a field lie in the file; 0 = in its entry */
    int64_t count, directory;
    uint8_t *offsets, *sizes;
    uint8_t size[2][4]; /* width and length */
    uint8_t kind[4];    /* of an overview */
    int64_t *tile_at;   /* in the new file */
} Part;

typedef struct Cog {
    const char *path; /* for messages */
    Part *part;       /* [parts] the image, then overviews, the largest first */
    int32_t parts;
    bool big, big_endian;
    int64_t head, end; /* bytes in front of all tiles, and of the file */
    uint8_t *bytes;    /* [head] */
    int file;
} Cog;

/* ---- fields ---- */

/* What overviews have in common with their image. */
static bool is_shared(int tag) {
    static const int shared[] = {HC_TIFF_BITS,          HC_TIFF_COMPRESSION,   HC_TIFF_PHOTOMETRIC,
                                 HC_TIFF_SAMPLES,       HC_TIFF_PLANAR,        HC_TIFF_PREDICTOR,
                                 HC_TIFF_COLOURS,       HC_TIFF_TILE_WIDTH,    HC_TIFF_TILE_LENGTH,
                                 HC_TIFF_EXTRA_SAMPLES, HC_TIFF_SAMPLE_FORMAT, HC_TIFF_NODATA};
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
        if (tag == shared[i]) {
            return true;
        }
    }
    return false;
}

static void add_field(Part *part, int tag, int type, int64_t count, uint8_t *data) {
    part->field[part->count++] = (HcTiffField){.tag = tag, .type = type, .count = count, .data = data};
}

static HcStatus make_part(Cog *cog, Part *part, const HcTiffField *field, int64_t count, HcError *err) {
    bool overview = part != cog->part;
    int64_t tiles = hc_chunk_count(part->index);
    HC_OR_RETURN(hc_new(part->field, (size_t)count + 1, "a TIFF directory", err));
    HC_OR_RETURN(hc_new(part->at, (size_t)count + 1, "a TIFF directory", err));
    HC_OR_RETURN(hc_new(part->offsets, (size_t)tiles * 8, "places of tiles", err));
    HC_OR_RETURN(hc_new(part->sizes, (size_t)tiles * 4, "places of tiles", err));
    HC_OR_RETURN(hc_new(part->tile_at, (size_t)tiles, "places of tiles", err));
    hc_tiff_put(part->size[0], (uint64_t)part->index->size[HC_AXIS_SAMPLE], 4, cog->big_endian);
    hc_tiff_put(part->size[1], (uint64_t)part->index->size[HC_AXIS_LINE], 4, cog->big_endian);
    hc_tiff_put(part->kind, 1, 4, cog->big_endian);
    if (overview) {
        add_field(part, HC_TIFF_KIND, HC_TIFF_LONG, 1, part->kind);
    }
    for (int64_t f = 0; f < count; f++) {
        const HcTiffField *from = &field[f];
        if (from->tag == HC_TIFF_WIDTH || from->tag == HC_TIFF_LENGTH) {
            add_field(part, from->tag, HC_TIFF_LONG, 1, part->size[from->tag - HC_TIFF_WIDTH]);
        } else if (from->tag == HC_TIFF_TILE_OFFSETS) {
            add_field(part, from->tag, HC_TIFF_LONG8, tiles, part->offsets);
        } else if (from->tag == HC_TIFF_TILE_BYTES) {
            add_field(part, from->tag, HC_TIFF_LONG, tiles, part->sizes);
        } else if (!overview || is_shared(from->tag)) {
            add_field(part, from->tag, from->type, from->count, from->data);
        }
    }
    return HC_OK;
}

/* ---- where all lies ---- */

/* Numbers of places have four bytes in a TIFF, eight in a BigTIFF. */
static int word_of(const Cog *cog) {
    return cog->big ? 8 : 4;
}

static int type_of(const Cog *cog, const HcTiffField *field) {
    return field->tag == HC_TIFF_TILE_OFFSETS && !cog->big ? HC_TIFF_LONG : field->type;
}

static int64_t bytes_of(const Cog *cog, const HcTiffField *field) {
    return field->count * hc_tiff_type_bytes(type_of(cog, field));
}

static int64_t aligned(int64_t at) {
    return (at + 7) / 8 * 8;
}

static void lay_out(Cog *cog, bool big) {
    cog->big = big;
    int64_t at = (big ? 16 : 8) + (int64_t)strlen("GDAL_STRUCTURAL_METADATA_SIZE=000000 bytes\n") +
                 (int64_t)sizeof note - 1;
    for (Part *part = cog->part; part < cog->part + cog->parts; part++) {
        part->directory = aligned(at);
        at = part->directory + (big ? 16 + 20 * part->count : 6 + 12 * part->count);
        for (int64_t f = 0; f < part->count; f++) {
            bool inside = bytes_of(cog, &part->field[f]) <= word_of(cog);
            part->at[f] = inside ? 0 : aligned(at);
            at = inside ? at : part->at[f] + bytes_of(cog, &part->field[f]);
        }
    }
    cog->head = cog->end = aligned(at);
    for (Part *part = cog->part + cog->parts - 1; part >= cog->part; part--) {
        for (int64_t t = 0; t < hc_chunk_count(part->index); t++) {
            part->tile_at[t] = cog->end + FRAME;
            cog->end += part->index->place[t].bytes + 2 * FRAME;
        }
    }
}

static void put_directory(Cog *cog, Part *part, const Part *next) {
    int word = word_of(cog), each = cog->big ? 20 : 12, count_bytes = cog->big ? 8 : 2;
    uint8_t *at = cog->bytes + part->directory;
    for (int64_t t = 0; t < hc_chunk_count(part->index); t++) {
        hc_tiff_put(part->offsets + t * word, (uint64_t)part->tile_at[t], word, cog->big_endian);
        hc_tiff_put(part->sizes + t * 4, (uint64_t)part->index->place[t].bytes, 4, cog->big_endian);
    }
    hc_tiff_put(at, (uint64_t)part->count, count_bytes, cog->big_endian);
    at += count_bytes;
    for (int64_t f = 0; f < part->count; f++, at += each) {
        const HcTiffField *field = &part->field[f];
        hc_tiff_put(at, (uint64_t)field->tag, 2, cog->big_endian);
        hc_tiff_put(at + 2, (uint64_t)type_of(cog, field), 2, cog->big_endian);
        hc_tiff_put(at + 4, (uint64_t)field->count, word, cog->big_endian);
        if (part->at[f] != 0) {
            hc_tiff_put(at + 4 + word, (uint64_t)part->at[f], word, cog->big_endian);
        }
        uint8_t *data = part->at[f] != 0 ? cog->bytes + part->at[f] : at + 4 + word;
        memcpy(data, field->data, (size_t)bytes_of(cog, field));
    }
    hc_tiff_put(at, next != NULL ? (uint64_t)next->directory : 0, word, cog->big_endian);
}

static HcStatus put_head(Cog *cog, HcError *err) {
    HC_OR_RETURN(hc_new(cog->bytes, (size_t)cog->head, "a TIFF directory", err));
    memcpy(cog->bytes, cog->big_endian ? "MM" : "II", 2);
    hc_tiff_put(cog->bytes + 2, cog->big ? 43 : 42, 2, cog->big_endian);
    if (cog->big) {
        hc_tiff_put(cog->bytes + 4, 8, 2, cog->big_endian);
    }
    hc_tiff_put(cog->bytes + word_of(cog), (uint64_t)cog->part->directory, word_of(cog), cog->big_endian);
    (void)sprintf((char *)cog->bytes + (cog->big ? 16 : 8), "GDAL_STRUCTURAL_METADATA_SIZE=%06zu bytes\n%s",
                  sizeof note - 1, note);
    for (int32_t p = 0; p < cog->parts; p++) {
        put_directory(cog, &cog->part[p], p + 1 < cog->parts ? &cog->part[p + 1] : NULL);
    }
    return HC_OK;
}

/* ---- tiles ---- */

typedef struct Copy {
    const Cog *cog;
    const Part *part;
    int *failed; /* [threads] errno */
    uint8_t **bytes;
} Copy;

static void copy_tile(void *user, int64_t number, int32_t thread) {
    const Copy *copy = user;
    const HcChunkPlace *place = &copy->part->index->place[number];
    uint8_t *bytes = copy->bytes[thread];
    size_t count = (size_t)place->bytes;
    if (copy->failed[thread] != 0) {
        return;
    }
    int failed = hc_file_read_at(copy->part->file, bytes + FRAME, count, place->offset);
    failed = failed < 0 ? EIO : failed;
    if (failed == 0) {
        hc_tiff_put(bytes, count, FRAME, false);
        memcpy(bytes + FRAME + count, bytes + count, FRAME);
        failed = hc_file_write_at(copy->cog->file, bytes, count + (size_t)(2 * FRAME),
                                  copy->part->tile_at[number] - FRAME);
    }
    copy->failed[thread] = failed;
}

static HcStatus fail_by(const Cog *cog, int number, HcError *err) {
    return number == 0
               ? HC_OK
               : hc_fail(err, hc_errno_status(number, HC_E_IO), "%s: %s", cog->path, strerror(number));
}

static HcStatus copy_tiles(const Cog *cog, int32_t wanted, HcError *err) {
    HcStatus status = HC_OK;
    HcTeam *team = hc_team_open(wanted);
    int32_t threads = hc_team_threads(team);
    Copy copy = {.cog = cog};
    int64_t most = 0;
    for (const Part *part = cog->part; part < cog->part + cog->parts; part++) {
        for (int64_t t = 0; t < hc_chunk_count(part->index); t++) {
            most = hc_max64(most, part->index->place[t].bytes);
        }
    }
    HC_TRY(hc_new(copy.failed, (size_t)threads, "tiles to write", err));
    HC_TRY(hc_new(copy.bytes, (size_t)threads, "tiles to write", err));
    for (int32_t t = 0; t < threads; t++) {
        HC_TRY(hc_new_aligned(copy.bytes[t], (size_t)most + 2 * FRAME, "tiles to write", err));
    }
    for (copy.part = cog->part + cog->parts - 1; copy.part >= cog->part; copy.part--) {
        hc_team_run(team, hc_chunk_count(copy.part->index), copy_tile, &copy);
    }
    for (int32_t t = 0; t < threads; t++) {
        HC_TRY(fail_by(cog, copy.failed[t], err));
    }
done:
    hc_team_close(team);
    for (int32_t t = 0; t < threads && copy.bytes != NULL; t++) {
        free(copy.bytes[t]);
    }
    free(copy.bytes);
    free(copy.failed);
    return status;
}

/* ---- the file ---- */

static HcStatus make_parts(Cog *cog, const HcCogParts *from, const HcTiffField *field, int64_t count,
                           HcError *err) {
    int32_t overviews = hc_pyramid_levels(from->pyramid);
    HC_OR_RETURN(hc_new(cog->part, (size_t)overviews + 1, "overviews", err));
    cog->parts = overviews + 1;
    for (int32_t p = 0; p < cog->parts; p++) {
        cog->part[p].index = p == 0 ? from->image : hc_pyramid_level(from->pyramid, p - 1);
        cog->part[p].file = p == 0 ? from->image_file : from->overview_file;
        HC_OR_RETURN(make_part(cog, &cog->part[p], field, count, err));
    }
    return HC_OK;
}

static HcStatus write_file(Cog *cog, const char *file, int32_t threads, HcError *err) {
    cog->file = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    HC_OR_RETURN(fail_by(cog, cog->file < 0 ? errno : 0, err));
    HC_OR_RETURN(fail_by(cog, hc_file_write_at(cog->file, cog->bytes, (size_t)cog->head, 0), err));
    HC_OR_RETURN(copy_tiles(cog, threads, err));
    int open_file = cog->file;
    cog->file = -1;
    return fail_by(cog, close(open_file) == 0 ? 0 : errno, err);
}

HcStatus hc_write_cog_file(const char *file, const HcCogParts *parts, const HcWritePlan *plan, HcError *err) {
    HcStatus status = HC_OK;
    Cog cog = {.path = plan->path, .file = -1};
    HcTiffField *field = NULL;
    int64_t count = 0;
    HC_TRY(hc_tiff_fields(parts->image_file, plan->path, &field, &count, &cog.big_endian, err));
    HC_TRY(make_parts(&cog, parts, field, count, err));
    lay_out(&cog, hc_text_equal(CSLFetchNameValueDef(plan->options, "BIGTIFF", ""), "YES"));
    if (cog.end > UINT32_MAX) {
        lay_out(&cog, true);
    }
    HC_TRY(put_head(&cog, err));
    HC_TRY(write_file(&cog, file, plan->threads, err));
done:
    if (cog.file >= 0) {
        close(cog.file);
    }
    for (int32_t p = 0; p < cog.parts; p++) {
        free(cog.part[p].field);
        free(cog.part[p].at);
        free(cog.part[p].offsets);
        free(cog.part[p].sizes);
        free(cog.part[p].tile_at);
    }
    free(cog.part);
    free(cog.bytes);
    hc_tiff_fields_free(field, count);
    return status;
}
