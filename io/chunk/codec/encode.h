/* Encoding: the values of one chunk to the bytes that are stored, the way back of decode.h. No files. */
#ifndef HC_IO_CHUNK_ENCODE_H
#define HC_IO_CHUNK_ENCODE_H

#include "io/chunk/index.h"

/* Whether chunks of the index can be encoded here: TIFF, not compressed, or by zstd, deflate or LZW, each
 * with predictor 2, 3 or none, in native byte order. */
bool hc_chunk_can_encode(const HcChunkIndex *index);

/* Most bytes that an encoded chunk can have. */
size_t hc_chunk_encoded_most(const HcChunkIndex *index);

/* The memory of one thread that encodes chunks of one index. */
typedef struct HcChunkEncoder HcChunkEncoder;

/* `level` of zstd (1 to 22) or deflate (1 to 12). */
HcStatus hc_chunk_encoder_open(HcChunkEncoder **out, const HcChunkIndex *index, int level,
                               HcError *err) HC_MUST_CHECK;
/* NULL is fine. */
void hc_chunk_encoder_close(HcChunkEncoder *encoder);

/* Values within the scene, in the order of the chunk: the samples (and bands) of a line lie together. */
typedef struct HcChunkValues {
    const void *values;
    int64_t line_stride; /* [bytes] */
    int64_t lines, samples;
} HcChunkValues;

/* Encodes a chunk into to[hc_chunk_encoded_most()]; *bytes = bytes that came. What lies beyond the scene is
 * stored as zeros in front of compression. HC_E_MEMORY where a library fails, which has no other reason. */
HcStatus hc_chunk_encode(HcChunkEncoder *encoder, const HcChunkIndex *index, const HcChunkValues *from,
                         uint8_t *to, size_t *bytes, HcError *why) HC_MUST_CHECK;

/* LZW of TIFF (TIFF 6.0, section 13), the way back of hc_chunk_lzw(). `out` has space for
 * hc_chunk_lzw_most() bytes; returns the bytes that came. */
size_t hc_chunk_lzw_encode(const uint8_t *in, size_t in_bytes, uint8_t *out);
size_t hc_chunk_lzw_most(size_t in_bytes);

#endif
