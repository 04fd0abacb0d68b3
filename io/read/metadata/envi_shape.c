/* The fields of an ENVI header that say how the data file is laid out. A wrong one turns pixels into noise,
 * so each is refused unless it has one meaning: a key that comes twice must say the same twice. What ENVI has
 * a default for may be missing. */
#include "io/read/metadata/envi_header.h"
#include "core/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The same key twice with different values: either could be meant. */
static HcStatus check_once(const HcEnviHeader *header, const char *key, HcError *err) {
    const HcEnviField *last = hc_envi_field(header, key);
    for (int32_t i = 0; last != NULL && i < header->count; i++) {
        const HcEnviField *field = &header->field[i];
        if (strcmp(field->key, key) == 0 && !hc_text_equal(field->value, last->value)) {
            return hc_fail(err, HC_E_INPUT,
                           "%s: %s is both %.60s (line %" PRId32 ") and %.60s (line %" PRId32 ")",
                           header->path, key, field->value, field->line, last->value, last->line);
        }
    }
    return HC_OK;
}

static HcStatus get_size(const HcEnviHeader *header, const char *key, int64_t *value, HcError *err) {
    HcStatus status = HC_OK;
    bool found = false;
    HC_OR_RETURN(check_once(header, key, err));
    HC_OR_RETURN(hc_envi_integer(header, key, value, &found, err));
    if (!found) {
        status =
            hc_fail(err, HC_E_INPUT, "%s: the header does not say how many %s there are ('%s' is missing)",
                    header->path, key, key);
    } else if (*value <= 0) {
        status =
            hc_fail(err, HC_E_INPUT, "%s: %s = %" PRId64 ", it must be positive", header->path, key, *value);
    } else if (*value > INT32_MAX) {
        status = hc_fail(err, HC_E_INPUT, "%s: %s = %" PRId64 " is absurd", header->path, key, *value);
    }
    return status;
}

static HcStatus get_type(const HcEnviHeader *header, HcEnviShape *out, HcError *err) {
    static const struct {
        int32_t code;
        HcType type;
    } types[] = {{1, HC_UINT8},   {2, HC_INT16},   {3, HC_INT32},  {4, HC_FLOAT32}, {5, HC_FLOAT64},
                 {12, HC_UINT16}, {13, HC_UINT32}, {14, HC_INT64}, {15, HC_UINT64}};
    HcStatus status = HC_OK;
    bool found = false;
    int64_t code = 0;
    HC_OR_RETURN(check_once(header, "data type", err));
    HC_OR_RETURN(hc_envi_integer(header, "data type", &code, &found, err));
    if (!found) {
        return hc_fail(err, HC_E_INPUT,
                       "%s: the header does not say the type of the values ('data type' is missing)",
                       header->path);
    }
    out->complex_values = code == 6 || code == 9;
    out->data_type = (int32_t)(code > 99 ? 99 : code);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (types[i].code == code) {
            out->type = types[i].type;
            return status;
        }
    }
    if (!out->complex_values) {
        status = hc_fail(err, HC_E_INPUT, "%s: data type = %" PRId64 " is not a data type of ENVI",
                         header->path, code);
    }
    return status;
}

const char *const hc_envi_interleaves[] = {"bsq", "bil", "bip", NULL};

static HcStatus get_interleave(const HcEnviHeader *header, HcEnviShape *out, HcError *err) {
    HC_OR_RETURN(check_once(header, "interleave", err));
    const HcEnviField *field = hc_envi_field(header, "interleave");
    if (field == NULL || field->value[0] == '\0') {
        return HC_OK;
    }
    int32_t place = hc_text_find(field->value, hc_envi_interleaves);
    if (place >= 0) {
        out->interleave = (HcEnviInterleave)place;
        return HC_OK;
    }
    return hc_fail(err, HC_E_INPUT, "%s: interleave = %.80s in line %" PRId32 " must be bsq, bil or bip",
                   header->path, field->value, field->line);
}

/* Frames with gaps between lines or bands; few programs write them. */
static HcStatus check_frames(const HcEnviHeader *header, HcError *err) {
    static const char *const keys[] = {"major frame offsets", "minor frame offsets"};
    for (int k = 0; k < 2; k++) {
        double *values = NULL;
        int32_t count = 0;
        HcStatus status = hc_envi_numbers(header, keys[k], &values, &count, err);
        for (int32_t i = 0; i < count && status == HC_OK; i++) {
            if (values[i] != 0) {
                status = hc_fail(err, HC_E_UNSUPPORTED, "%s: %s = %g: frame offsets are not supported",
                                 header->path, keys[k], values[i]);
            }
        }
        free(values);
        if (status != HC_OK) {
            return status;
        }
    }
    return HC_OK;
}

HcStatus hc_envi_shape(const HcEnviHeader *header, HcEnviShape *out, HcError *err) {
    HcStatus status = HC_OK;
    int64_t bands = 0, order = 0, compression = 0;
    bool found = false;
    *out = (HcEnviShape){.interleave = HC_ENVI_NO_INTERLEAVE};
    HC_OR_RETURN(get_size(header, "samples", &out->samples, err));
    HC_OR_RETURN(get_size(header, "lines", &out->lines, err));
    HC_OR_RETURN(get_size(header, "bands", &bands, err));
    out->bands = (int32_t)bands;
    HC_OR_RETURN(get_type(header, out, err));
    HC_OR_RETURN(get_interleave(header, out, err));
    HC_OR_RETURN(check_frames(header, err));
    HC_OR_RETURN(check_once(header, "byte order", err));
    HC_OR_RETURN(hc_envi_integer(header, "byte order", &order, &found, err));
    if (order != 0 && order != 1) {
        status =
            hc_fail(err, HC_E_INPUT, "%s: byte order = %" PRId64 " is neither 0 nor 1", header->path, order);
        return status;
    }
    out->big_endian = order == 1;
    HC_OR_RETURN(hc_envi_integer(header, "file compression", &compression, &found, err));
    out->compressed = compression != 0;
    HC_OR_RETURN(check_once(header, "header offset", err));
    HC_OR_RETURN(hc_envi_integer(header, "header offset", &out->offset, &found, err));
    if (out->offset < 0) {
        status = hc_fail(err, HC_E_INPUT, "%s: header offset = %" PRId64 " is negative", header->path,
                         out->offset);
    }
    return status;
}
