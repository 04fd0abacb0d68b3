/* Values become one tile: each row by its predictor, what lies beyond the scene as zeros or copies, then
 * compressed by a library with memory of its thread. The bytes of a tile depend on its values alone, so that
 * files are the same for any number of threads. */
#include "io/chunk/codec/encode.h"
#include "core/allocate.h"
#include "core/block.h"
#include "io/chunk/codec/decode.h"

#include <stdlib.h>
#include <string.h>

#include <libdeflate.h>
#include <zstd.h>

struct HcChunkEncoder {
    uint8_t *values;       /* a chunk in front of compression */
    uint8_t *row, *planes; /* of predictor 3: a row with its margin, and its bytes by their place */
    struct libdeflate_compressor *deflater;
    void *zstd;
};

/* ---- what there is to do ---- */

static bool compresses(const HcChunkIndex *index) {
    return index->steps > 0;
}

static HcChunkCode predictor_of(const HcChunkIndex *index) {
    return index->steps > 1 ? index->step[1] : HC_CODE_COUNT;
}

bool hc_chunk_can_encode(const HcChunkIndex *index) {
    HcChunkCode code = index->step[0], before = predictor_of(index);
    bool plain = index->hdf5 == NULL && !index->swap && !index->upwards && !index->pieces;
    bool known = !compresses(index) || code == HC_CODE_LZW || code == HC_CODE_DEFLATE || code == HC_CODE_ZSTD;
    return plain && known && index->steps <= 2 &&
           (before == HC_CODE_COUNT || before == HC_CODE_DIFFERENCE || before == HC_CODE_FLOAT_DIFFERENCE);
}

size_t hc_chunk_encoded_most(const HcChunkIndex *index) {
    size_t bytes = (size_t)hc_chunk_bytes(index);
    if (!compresses(index)) {
        return bytes;
    }
    if (index->step[0] == HC_CODE_DEFLATE) {
        return libdeflate_zlib_compress_bound(NULL, bytes);
    }
    if (index->step[0] == HC_CODE_ZSTD) {
        return ZSTD_compressBound(bytes);
    }
    return hc_chunk_lzw_most(bytes);
}

static int64_t row_values(const HcChunkIndex *index) {
    return index->shape[HC_AXIS_SAMPLE] * index->shape[HC_AXIS_BAND];
}

static size_t row_bytes(const HcChunkIndex *index) {
    return (size_t)row_values(index) * hc_type_bytes(index->type);
}

static bool open_libraries(HcChunkEncoder *encoder, const HcChunkIndex *index, int level) {
    bool there = true;
    if (index->step[0] == HC_CODE_DEFLATE) {
        encoder->deflater = libdeflate_alloc_compressor(level);
        there = encoder->deflater != NULL;
    }
    if (index->step[0] == HC_CODE_ZSTD) {
        encoder->zstd = ZSTD_createCCtx();
        there = encoder->zstd != NULL &&
                !ZSTD_isError(ZSTD_CCtx_setParameter(encoder->zstd, ZSTD_c_compressionLevel, level));
    }
    return there;
}

HcStatus hc_chunk_encoder_open(HcChunkEncoder **out, const HcChunkIndex *index, int level, HcError *err) {
    HcStatus status = HC_OK;
    HcChunkEncoder *encoder = NULL;
    *out = NULL;
    HC_OR_RETURN(hc_new(encoder, 1, "tiles to write", err));
    if (compresses(index)) {
        HC_TRY(hc_new_aligned(encoder->values, hc_chunk_bytes(index), "tiles to write", err));
        if (!open_libraries(encoder, index, level)) {
            HC_TRY(hc_fail_memory(err, (double)hc_chunk_bytes(index), "tiles to write"));
        }
    }
    if (predictor_of(index) == HC_CODE_FLOAT_DIFFERENCE) {
        HC_TRY(hc_new_aligned(encoder->row, row_bytes(index), "tiles to write", err));
        HC_TRY(hc_new_aligned(encoder->planes, row_bytes(index), "tiles to write", err));
    }
    *out = encoder;
    encoder = NULL;
done:
    hc_chunk_encoder_close(encoder);
    return status;
}

void hc_chunk_encoder_close(HcChunkEncoder *encoder) {
    if (encoder == NULL) {
        return;
    }
    if (encoder->deflater != NULL) {
        libdeflate_free_compressor(encoder->deflater);
    }
    ZSTD_freeCCtx(encoder->zstd);
    free(encoder->values);
    free(encoder->row);
    free(encoder->planes);
    free(encoder);
}

/* ---- predictors ---- */

/* Each value less that of its band one pixel before. */
#define DEFINE_DIFFERENCE(name, type)                                                                        \
    static void name(const uint8_t *from, uint8_t *to, int64_t count, int64_t each) {                        \
        const type *restrict in = (const type *)(const void *)from;                                          \
        type *restrict out = (type *)(void *)to;                                                             \
        memcpy(out, in, (size_t)each * sizeof(type));                                                        \
        for (int64_t i = each; i < count; i++) {                                                             \
            out[i] = (type)(in[i] - in[i - each]);                                                           \
        }                                                                                                    \
    }
DEFINE_DIFFERENCE(difference_1, uint8_t)
DEFINE_DIFFERENCE(difference_2, uint16_t)
DEFINE_DIFFERENCE(difference_4, uint32_t)
DEFINE_DIFFERENCE(difference_8, uint64_t)

static void difference(const uint8_t *from, uint8_t *to, int64_t count, int64_t each, size_t bytes) {
    switch (bytes) {
    case 1:
        difference_1(from, to, count, each);
        break;
    case 2:
        difference_2(from, to, count, each);
        break;
    case 4:
        difference_4(from, to, count, each);
        break;
    default:
        difference_8(from, to, count, each);
    }
}

/* The highest bytes of all values, then the next ones, and so on. */
static void split_4(const uint8_t *from, uint8_t *restrict to, int64_t count) {
    const uint32_t *restrict in = (const uint32_t *)(const void *)from;
    uint8_t *restrict a = to, *restrict b = to + count, *restrict c = b + count, *restrict d = c + count;
    for (int64_t i = 0; i < count; i++) {
        a[i] = (uint8_t)(in[i] >> 24);
        b[i] = (uint8_t)(in[i] >> 16);
        c[i] = (uint8_t)(in[i] >> 8);
        d[i] = (uint8_t)in[i];
    }
}

static void split_8(const uint8_t *from, uint8_t *restrict to, int64_t count) {
    const uint64_t *restrict in = (const uint64_t *)(const void *)from;
    for (int plane = 0; plane < 8; plane++) {
        uint8_t *restrict out = to + plane * count;
        int shift = 8 * (7 - plane);
        for (int64_t i = 0; i < count; i++) {
            out[i] = (uint8_t)(in[i] >> shift);
        }
    }
}

/* The last pixel goes on to the end of the row, so that differences after it are 0. */
static void float_difference(const HcChunkEncoder *encoder, const uint8_t *from, uint8_t *to, int64_t samples,
                             const HcChunkIndex *index) {
    size_t size = hc_type_bytes(index->type);
    int64_t each = index->shape[HC_AXIS_BAND], all = row_values(index);
    size_t pixel = (size_t)each * size, there = (size_t)samples * pixel;
    if (samples < index->shape[HC_AXIS_SAMPLE]) {
        memcpy(encoder->row, from, there);
        for (size_t at = there; at < row_bytes(index); at += pixel) {
            memcpy(encoder->row + at, encoder->row + there - pixel, pixel);
        }
        from = encoder->row;
    }
    if (size == 4) {
        split_4(from, encoder->planes, all);
    } else {
        split_8(from, encoder->planes, all);
    }
    difference_1(encoder->planes, to, all * (int64_t)size, each);
}

static void put_rows(const HcChunkEncoder *encoder, const HcChunkIndex *index, const HcChunkValues *from,
                     uint8_t *to) {
    size_t size = hc_type_bytes(index->type), row = row_bytes(index);
    int64_t each = index->shape[HC_AXIS_BAND];
    size_t there = (size_t)(from->samples * each) * size;
    HcChunkCode predictor = predictor_of(index);
    for (int64_t line = 0; line < from->lines; line++, to += row) {
        const uint8_t *at = (const uint8_t *)from->values + line * from->line_stride;
        if (predictor == HC_CODE_FLOAT_DIFFERENCE) {
            float_difference(encoder, at, to, from->samples, index);
            continue;
        }
        if (predictor == HC_CODE_DIFFERENCE) {
            difference(at, to, from->samples * each, each, size);
        } else {
            memcpy(to, at, there);
        }
        memset(to + there, 0, row - there);
    }
    memset(to, 0, row * (size_t)(index->shape[HC_AXIS_LINE] - from->lines));
}

/* ---- compression ---- */

static size_t compress(HcChunkEncoder *encoder, const HcChunkIndex *index, size_t bytes, uint8_t *to) {
    size_t made = 0;
    switch (index->step[0]) {
    case HC_CODE_DEFLATE:
        return libdeflate_zlib_compress(encoder->deflater, encoder->values, bytes, to,
                                        hc_chunk_encoded_most(index));
    case HC_CODE_ZSTD:
        made = ZSTD_compress2(encoder->zstd, to, hc_chunk_encoded_most(index), encoder->values, bytes);
        return ZSTD_isError(made) ? 0 : made;
    case HC_CODE_LZW:
        return hc_chunk_lzw_encode(encoder->values, bytes, to);
    default:
        return made;
    }
}

HcStatus hc_chunk_encode(HcChunkEncoder *encoder, const HcChunkIndex *index, const HcChunkValues *from,
                         uint8_t *to, size_t *bytes, HcError *why) {
    *bytes = (size_t)hc_chunk_bytes(index);
    if (!compresses(index)) {
        put_rows(encoder, index, from, to);
        return HC_OK;
    }
    put_rows(encoder, index, from, encoder->values);
    *bytes = compress(encoder, index, (size_t)hc_chunk_bytes(index), to);
    return *bytes > 0 ? HC_OK : hc_fail_memory(why, (double)hc_chunk_bytes(index), "tiles to write");
}
