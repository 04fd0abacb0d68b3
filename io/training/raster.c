/* A class raster as training data: what is neither 0 nor nodata is the number of a class. */
#include "io/shape/grid.h"
#include "io/training/parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_BYTES (16 << 20) /* of lines that are read at once */

static HcStatus check_raster(const HcLabelling *labelling, const HcScene *raster, const char *path,
                             HcError *err) {
    if (raster->bands != 1) {
        return hc_fail(err, HC_E_UNSUPPORTED, "%s: has %" PRId32 " bands, a class raster has one", path,
                       raster->bands);
    }
    if (raster->type == HC_FLOAT32 || raster->type == HC_FLOAT64) {
        return hc_fail(err, HC_E_UNSUPPORTED, "%s: holds %s values, classes are integers", path,
                       hc_type_name(raster->type));
    }
    HcStatus status =
        hc_grid_check(labelling->scene, "the scene", raster, path, &labelling->out->place_note, err);
    return labelling->out->place_note.failed ? hc_fail_memory(err, 64, "a note") : status;
}

/* ---- the values ---- */

/* The stored value; false when it is larger than int64 holds. */
static bool value_at(const HcRaw *raw, int64_t line, int64_t sample, int64_t *value) {
    const unsigned char *at =
        (const unsigned char *)raw->data + line * raw->stride_line + sample * raw->stride_sample;
    size_t bytes = hc_type_bytes(raw->type);
    bool big = (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) != raw->swap;
    uint64_t bits = 0;
    for (size_t i = 0; i < bytes; i++) {
        bits |= (uint64_t)at[big ? bytes - 1 - i : i] << (8 * i);
    }
    bool is_signed =
        raw->type == HC_INT8 || raw->type == HC_INT16 || raw->type == HC_INT32 || raw->type == HC_INT64;
    if (is_signed && bytes < 8 && (bits >> (8 * bytes - 1)) != 0) {
        bits |= ~(uint64_t)0 << (8 * bytes);
    }
    memcpy(value, &bits, sizeof *value);
    return is_signed || bits <= INT64_MAX;
}

/* *id = 0 where a name says that it is no class. */
static HcStatus class_of(HcLabelling *labelling, const HcNamed *named, int64_t value, int32_t *id,
                         HcError *err) {
    int32_t known = labelling->key_count;
    HC_OR_RETURN(hc_labelling_class(labelling, value, NULL, id, err));
    HcClassKey *key = &labelling->key[*id - 1];
    if (labelling->key_count > known) {
        const char *name = NULL;
        HC_OR_RETURN(hc_labelling_name(key, named, &name, err));
        key->none = hc_class_is_none(name);
    }
    *id = key->none ? 0 : *id;
    return HC_OK;
}

static HcStatus add_value(HcLabelling *labelling, const HcScene *raster, const HcNamed *named, int64_t line,
                          int64_t sample, int64_t value, int32_t *id, HcError *err) {
    if (raster->has_nodata && (double)value == raster->nodata) {
        *id = 0;
        return HC_OK;
    }
    if (value < 0) {
        return hc_fail(err, HC_E_INPUT,
                       "%s: holds %" PRId64 " at line %" PRId64 ", sample %" PRId64
                       " (from 0): classes are not negative, and it is not its nodata",
                       labelling->path, value, line, sample);
    }
    return class_of(labelling, named, value, id, err);
}

static HcStatus add_lines(HcLabelling *labelling, const HcScene *raster, const HcNamed *named,
                          const HcRaw *raw, HcError *err) {
    int64_t last = 0; /* the value before, and its class */
    int32_t id = 0;
    for (int64_t l = 0; l < raw->lines; l++) {
        for (int64_t s = 0; s < raw->samples; s++) {
            int64_t value = 0;
            if (!value_at(raw, l, s, &value)) {
                return hc_fail(err, HC_E_INPUT, "%s: holds %" PRIu64 ", too large for a class",
                               labelling->path, (uint64_t)value);
            }
            bool masked = raw->user_mask != NULL && raw->user_mask[l * raw->samples + s] == 0;
            if (value == 0 || masked) {
                continue;
            }
            if (value != last) {
                HC_OR_RETURN(add_value(labelling, raster, named, raw->line0 + l, s, value, &id, err));
                last = value;
            }
            if (id > 0) {
                HC_OR_RETURN(hc_labelling_add(labelling, raw->line0 + l, s, id, 0, err));
            }
        }
    }
    return HC_OK;
}

static HcStatus read_values(HcLabelling *labelling, HcView *view, const HcNamed *named, HcError *err) {
    HcStatus status = HC_OK;
    const HcScene *raster = hc_view_scene(view);
    size_t line_bytes = hc_view_bytes(view, 1);
    int64_t piece = PIECE_BYTES / (int64_t)(line_bytes > 0 ? line_bytes : 1);
    piece = piece < 1 ? 1 : piece > raster->lines ? raster->lines : piece;
    size_t bytes = hc_view_bytes(view, piece);
    void *buffer = malloc(bytes);
    if (buffer == NULL) {
        return hc_fail_memory(err, (double)bytes, "lines of the class raster");
    }
    for (int64_t line0 = 0; line0 < raster->lines; line0 += piece) {
        int64_t rest = raster->lines - line0;
        HcRaw raw = {0};
        HC_TRY(hc_view_read(view, line0, (int32_t)(rest < piece ? rest : piece), buffer, &raw, err));
        HC_TRY(add_lines(labelling, raster, named, &raw, err));
    }
done:
    free(buffer);
    return status;
}

HcStatus hc_labelling_raster(HcLabelling *labelling, HcView *view, HcError *err) {
    HcStatus status = HC_OK;
    HcNamed named = {.classes = &hc_view_scene(view)->classes};
    const char *path = hc_reader_path(hc_view_reader(view));
    HC_TRY(check_raster(labelling, hc_view_scene(view), path, err));
    HC_TRY(hc_read_attributes_open(&named.attributes, path, err));
    HC_TRY(read_values(labelling, view, &named, err));
    HC_TRY(hc_labelling_finish(labelling, &named, err));
    HC_TRY(hc_view_unchanged(view, err));
done:
    hc_read_attributes_close(named.attributes);
    return status;
}
