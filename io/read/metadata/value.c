#include "io/read/metadata/value.h"
#include "io/read/parts.h"

#include <math.h>
#include <string.h>

double hc_read_value(const char *at, HcType type, bool swap) {
    union {
        char byte[8];
        uint8_t u8;
        int8_t i8;
        uint16_t u16;
        int16_t i16;
        uint32_t u32;
        int32_t i32;
        uint64_t u64;
        int64_t i64;
        float f32;
        double f64;
    } value = {{0}};
    size_t bytes = hc_type_bytes(type);
    for (size_t i = 0; i < bytes; i++) {
        value.byte[i] = at[swap ? bytes - 1 - i : i];
    }
    switch (type) {
    case HC_UINT8:
        return value.u8;
    case HC_INT8:
        return value.i8;
    case HC_UINT16:
        return value.u16;
    case HC_INT16:
        return value.i16;
    case HC_UINT32:
        return value.u32;
    case HC_INT32:
        return value.i32;
    case HC_UINT64:
        return (double)value.u64;
    case HC_INT64:
        return (double)value.i64;
    case HC_FLOAT32:
        return (double)value.f32;
    default:
        return value.f64;
    }
}

static bool is_invalid(const HcReadValidity *validity, double value) {
    bool invalid = value < validity->low || value > validity->high;
    for (int32_t m = 0; m < validity->count; m++) {
        invalid = invalid || value == validity->missing[m];
    }
    return invalid;
}

void hc_read_mark_invalid(const HcReader *reader, const HcRaw *raw, void *to) {
    size_t bytes = hc_type_bytes(raw->type);
    if (!reader->validity.known) {
        return;
    }
    for (int64_t l = 0; l < raw->lines; l++) {
        for (int64_t b = 0; b < raw->bands; b++) {
            char *at = (char *)to + l * raw->stride_line + b * raw->stride_band;
            for (int64_t s = 0; s < raw->samples; s++, at += raw->stride_sample) {
                if (is_invalid(&reader->validity, hc_read_value(at, raw->type, false))) {
                    memcpy(at, &reader->validity.nodata, bytes);
                }
            }
        }
    }
}

void hc_read_limits(HcType type, double *low, double *high) {
    int bits = 8 * (int)hc_type_bytes(type);
    bool is_signed = type == HC_INT8 || type == HC_INT16 || type == HC_INT32 || type == HC_INT64;
    *low = is_signed ? -ldexp(1, bits - 1) : 0;
    *high = ldexp(1, is_signed ? bits - 1 : bits) - 1;
}
