/* Decoding: stored bytes of one chunk to its values. No files, so that it can be tested with any bytes. */
#ifndef HC_IO_CHUNK_DECODE_H
#define HC_IO_CHUNK_DECODE_H

#include "core/text.h"
#include "io/chunk/index.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Adds the versions of the libraries that decode: "libdeflate 1.14\nzstd 1.5.4\n" and so on. */
void hc_chunk_libraries(HcText *text);

/* The memory of one thread that decodes chunks of one index. */
typedef struct HcChunkWorkspace HcChunkWorkspace;

/* Bytes of the file that one request has brought, and how many chunks the next one may bring. Of those who
 * read; `data` is freed with the workspace. */
enum { HC_WINDOW_BYTES = 512 << 10 };
typedef struct HcChunkWindow {
    uint8_t *data;
    int64_t at, bytes, ahead;
} HcChunkWindow;
HcChunkWindow *hc_chunk_window(HcChunkWorkspace *workspace);

/* Bytes that a workspace takes. */
size_t hc_chunk_workspace_bytes(const HcChunkIndex *index);
HcStatus hc_chunk_workspace_open(HcChunkWorkspace **out, const HcChunkIndex *index,
                                 HcError *err) HC_MUST_CHECK;
/* NULL is fine. */
void hc_chunk_workspace_close(HcChunkWorkspace *workspace);

/* Where the stored bytes of a chunk go, index->stored_most of them, before hc_chunk_decode. */
uint8_t *hc_chunk_decode_input(HcChunkWorkspace *workspace);

/* Memory of the workspace for the values of a chunk, before or after its decoding. */
uint8_t *hc_chunk_decode_output(HcChunkWorkspace *workspace);

/* The values of a chunk of which `stored` bytes lie in the input; `lines` of it are within the scene;
 * `skipped` has the bits of steps that it lacks. *values points into the workspace: native byte order, the
 * whole shape of the chunk, though only those lines count. HC_E_INPUT where the bytes are no such chunk;
 * `why` then says what is wrong, without the place. */
HcStatus hc_chunk_decode(HcChunkWorkspace *workspace, const HcChunkIndex *index, int64_t stored,
                         int64_t lines, uint32_t skipped, uint8_t **values, HcError *why) HC_MUST_CHECK;

/* The decoders. All write exactly what `out` has space for at most; *made = bytes that came. False where the
 * bytes are broken or make more than that. */
bool hc_chunk_lzw(const uint8_t *in, size_t in_bytes, uint8_t *out, size_t capacity, size_t *made);

/* A blob of LERC to the values of a chunk, of its last lines fewer; *made = bytes that came, `space` at most.
 * NaN where its mask leaves floats out, else 0. HC_E_INPUT where it is no blob of that shape and type. */
HcStatus hc_chunk_lerc(const HcChunkIndex *index, const uint8_t *in, size_t bytes, uint8_t *out, size_t space,
                       size_t *made, HcError *why) HC_MUST_CHECK;
/* Whether LERC has that type. */
bool hc_chunk_lerc_holds(HcType type);
/* Bytes that its decoding takes beside the workspace. */
size_t hc_chunk_lerc_bytes(const HcChunkIndex *index);

/* Undoes the differences between neighbours along rows of `samples` x `each` values of `bytes` bytes. */
void hc_chunk_undo_difference(uint8_t *data, int64_t rows, int64_t samples, int64_t each, size_t bytes);
/* Undoes predictor 3 of TIFF; `row` has the bytes of one row. */
void hc_chunk_undo_float_difference(uint8_t *data, int64_t rows, int64_t samples, int64_t each, size_t bytes,
                                    uint8_t *row);
/* Whether the parameters of szip are possible ones. */
bool hc_chunk_szip_is_valid(const HcChunkIndex *index);

/* Undoes shuffle: the first bytes of all values lie together, then the second ones. */
void hc_chunk_undo_shuffle(const uint8_t *from, uint8_t *to, int64_t count, size_t bytes);
/* The checksum of HDF5. */
uint32_t hc_chunk_fletcher32(const uint8_t *data, size_t bytes);
void hc_chunk_undo_byte_order(uint8_t *data, int64_t count, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
