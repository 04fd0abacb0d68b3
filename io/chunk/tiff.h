/* The directory of a TIFF (TIFF 6.0, section 2; BigTIFF), for those who read and write its fields. */
#ifndef HC_IO_CHUNK_TIFF_H
#define HC_IO_CHUNK_TIFF_H

#include "core/status.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    HC_TIFF_KIND = 254, /* 1 = an overview */
    HC_TIFF_WIDTH = 256,
    HC_TIFF_LENGTH = 257,
    HC_TIFF_BITS = 258,
    HC_TIFF_COMPRESSION = 259,
    HC_TIFF_PHOTOMETRIC = 262,
    HC_TIFF_FILL_ORDER = 266,
    HC_TIFF_STRIP_OFFSETS = 273,
    HC_TIFF_SAMPLES = 277,
    HC_TIFF_STRIP_ROWS = 278,
    HC_TIFF_STRIP_BYTES = 279,
    HC_TIFF_PLANAR = 284,
    HC_TIFF_PREDICTOR = 317,
    HC_TIFF_COLOURS = 320,
    HC_TIFF_TILE_WIDTH = 322,
    HC_TIFF_TILE_LENGTH = 323,
    HC_TIFF_TILE_OFFSETS = 324,
    HC_TIFF_TILE_BYTES = 325,
    HC_TIFF_EXTRA_SAMPLES = 338,
    HC_TIFF_SAMPLE_FORMAT = 339,
    HC_TIFF_NODATA = 42113, /* of GDAL */
    HC_TIFF_LERC = 50674
};

enum { HC_TIFF_LONG = 4, HC_TIFF_LONG8 = 16 };

/* Bytes of a value of a field; 0 = no such type. */
static inline int64_t hc_tiff_type_bytes(int type) {
    static const int8_t bytes[] = {0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8};
    return type >= 0 && type < (int)sizeof bytes ? bytes[type] : 0;
}

/* A field as it lies in its file, in the byte order of that. */
typedef struct HcTiffField {
    int tag, type;
    int64_t count;
    uint8_t *data; /* count * hc_tiff_type_bytes(type) */
} HcTiffField;

/* All fields of the first directory of an open file, fresh memory. HC_E_IO where it is broken; `path` is for
 * that message. */
HcStatus hc_tiff_fields(int file, const char *path, HcTiffField **out, int64_t *count, bool *big_endian,
                        HcError *err) HC_MUST_CHECK;
/* NULL is fine. */
void hc_tiff_fields_free(HcTiffField *fields, int64_t count);

/* A number of `bytes` bytes. */
void hc_tiff_put(uint8_t *to, uint64_t value, int bytes, bool big_endian);

#endif
