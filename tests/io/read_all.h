/* For the tests of the reader: a whole scene as plain values, by the definition of HcRaw alone. */
#ifndef HC_TESTS_READ_ALL_H
#define HC_TESTS_READ_ALL_H

#include "io/read/reader.h"

#include <stdlib.h>
#include <string.h>

/* All lines, `step` at a time, as [band][line][sample] in the type of the file and the byte order of this
 * machine; bands[count] of the file. Fresh memory; NULL when the reader failed (see err). */
static inline char *read_all(HcReader *reader, int32_t step, const int32_t *bands, int32_t count,
                             HcError *err) {
    const HcScene *scene = hc_reader_scene(reader);
    size_t bytes = hc_type_bytes(scene->type);
    char *all = malloc(bytes * (size_t)count * (size_t)scene->lines * (size_t)scene->samples);
    char *buffer = malloc(hc_reader_bytes(reader, step));
    for (int64_t line0 = 0; line0 < scene->lines; line0 += step) {
        HcRaw raw;
        int32_t lines = (int32_t)(scene->lines - line0 < step ? scene->lines - line0 : step);
        if (hc_reader_read(reader, line0, lines, buffer, &raw, err) != HC_OK) {
            free(all);
            all = NULL;
            break;
        }
        for (int32_t k = 0; k < count; k++) {
            for (int64_t l = 0; l < lines; l++) {
                for (int64_t s = 0; s < scene->samples; s++) {
                    int32_t stored = hc_reader_stored_band(reader, bands[k]);
                    const char *from = (const char *)raw.data + l * raw.stride_line + s * raw.stride_sample +
                                       stored * raw.stride_band;
                    int64_t at = (k * scene->lines + line0 + l) * scene->samples + s;
                    for (size_t i = 0; i < bytes; i++) {
                        all[(size_t)at * bytes + i] = from[raw.swap ? bytes - 1 - i : i];
                    }
                }
            }
        }
    }
    free(buffer);
    return all;
}

/* 0, 1, 2, ...; fresh memory. */
static inline int32_t *all_bands(const HcReader *reader) {
    int32_t count = hc_reader_scene(reader)->bands;
    int32_t *bands = malloc((size_t)count * sizeof *bands);
    for (int32_t b = 0; b < count; b++) {
        bands[b] = b;
    }
    return bands;
}

/* A value of read_all as a number. */
static inline double value_at(const char *all, HcType type, int64_t at) {
    switch (type) {
    case HC_UINT8:
        return ((const uint8_t *)all)[at];
    case HC_INT8:
        return ((const int8_t *)all)[at];
    case HC_UINT16:
        return ((const uint16_t *)(const void *)all)[at];
    case HC_INT16:
        return ((const int16_t *)(const void *)all)[at];
    case HC_UINT32:
        return ((const uint32_t *)(const void *)all)[at];
    case HC_INT32:
        return ((const int32_t *)(const void *)all)[at];
    case HC_UINT64:
        return (double)((const uint64_t *)(const void *)all)[at];
    case HC_INT64:
        return (double)((const int64_t *)(const void *)all)[at];
    case HC_FLOAT32:
        return (double)((const float *)(const void *)all)[at];
    default:
        return ((const double *)(const void *)all)[at];
    }
}

#endif
