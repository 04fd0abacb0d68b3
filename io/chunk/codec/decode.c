/* A chunk goes through the steps of its index, each from one of two buffers into the other, or in place.
 * Both have their size before the first byte is decoded, since the size that a file claims is not believed:
 * a step that makes more, or too little, is an error of that chunk. */
#include "io/chunk/codec/decode.h"
#include "core/block.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <libdeflate.h>
#include <hdf5.h>
#include <Lerc_c_api.h>
#include <szlib.h>
#include <zstd.h>
#include <zstd_errors.h>

/* What libraries keep for a stream, and the table of LZW on the stack. */
#define LIBRARY_BYTES ((size_t)320 << 10)

/* Steps go from one buffer into the other, or stay in place. Each has space for what was stored and for the
 * values, where a step may end in it. */
struct HcChunkWorkspace {
    uint8_t *buffer[2];
    size_t bytes[2];
    struct libdeflate_decompressor *inflater;
    void *zstd;
    HcChunkWindow window;
};

static bool in_place(HcChunkCode code) {
    return code == HC_CODE_DIFFERENCE || code == HC_CODE_FLOAT_DIFFERENCE || code == HC_CODE_FLETCHER32;
}

static int64_t row_bytes(const HcChunkIndex *index) {
    return index->shape[HC_AXIS_SAMPLE] * index->shape[HC_AXIS_BAND] * (int64_t)hc_type_bytes(index->type);
}

/* Bytes that a step may make: the values, and the checksums after them, or the blob of LERC, which may be
 * larger: values as they are, masks, and ranges and a head for each band. */
static size_t most_made(const HcChunkIndex *index) {
    size_t values = (size_t)hc_chunk_bytes(index), more = 0;
    for (int32_t s = 0; s < index->steps; s++) {
        more += index->step[s] == HC_CODE_FLETCHER32 ? 4 : 0;
        more +=
            index->step[s] == HC_CODE_LERC ? values / 8 + 1024 * ((size_t)index->shape[HC_AXIS_BAND] + 1) : 0;
    }
    return values + more;
}

/* Bytes of each buffer: the first takes what is stored, and every second step writes into it. */
static void buffer_bytes(const HcChunkIndex *index, size_t bytes[2]) {
    int now = 0;
    bytes[0] = (size_t)index->stored_most;
    bytes[1] = 0;
    for (int32_t s = 0; s < index->steps; s++) {
        if (!in_place(index->step[s])) {
            now = 1 - now;
            size_t values = most_made(index);
            bytes[now] = values > bytes[now] ? values : bytes[now];
        }
        if (index->step[s] == HC_CODE_FLOAT_DIFFERENCE) {
            size_t row = (size_t)row_bytes(index);
            bytes[1 - now] = row > bytes[1 - now] ? row : bytes[1 - now];
        }
    }
    if (index->steps == 0) {
        bytes[0] = (size_t)hc_max64(index->stored_most, hc_chunk_bytes(index));
    }
    if (index->hdf5 != NULL) { /* any step may be missing of a chunk */
        bytes[0] = bytes[1] = (size_t)hc_max64(index->stored_most, (int64_t)most_made(index));
    }
}

static bool has_step(const HcChunkIndex *index, HcChunkCode code) {
    for (int32_t s = 0; s < index->steps; s++) {
        if (index->step[s] == code) {
            return true;
        }
    }
    return false;
}

size_t hc_chunk_workspace_bytes(const HcChunkIndex *index) {
    size_t bytes[2];
    buffer_bytes(index, bytes);
    return bytes[0] + bytes[1] + LIBRARY_BYTES + (index->together > 1 ? HC_WINDOW_BYTES : 0) +
           (has_step(index, HC_CODE_LERC) ? hc_chunk_lerc_bytes(index) : 0);
}

static bool open_libraries(HcChunkWorkspace *workspace, const HcChunkIndex *index) {
    bool there = true;
    if (has_step(index, HC_CODE_DEFLATE) || has_step(index, HC_CODE_GZIP)) {
        workspace->inflater = libdeflate_alloc_decompressor();
        there = workspace->inflater != NULL;
    }
    if (has_step(index, HC_CODE_ZSTD)) {
        workspace->zstd = ZSTD_createDCtx();
        there = there && workspace->zstd != NULL;
    }
    return there;
}

HcStatus hc_chunk_workspace_open(HcChunkWorkspace **out, const HcChunkIndex *index, HcError *err) {
    HcChunkWorkspace *workspace = calloc(1, sizeof *workspace);
    *out = NULL;
    if (workspace == NULL) {
        return hc_fail_memory(err, sizeof *workspace, "a chunk");
    }
    buffer_bytes(index, workspace->bytes);
    for (int b = 0; b < 2; b++) {
        workspace->buffer[b] = malloc(workspace->bytes[b] + 8);
    }
    if (workspace->buffer[0] == NULL || workspace->buffer[1] == NULL || !open_libraries(workspace, index)) {
        hc_chunk_workspace_close(workspace);
        return hc_fail_memory(err, (double)hc_chunk_workspace_bytes(index), "a chunk");
    }
    *out = workspace;
    return HC_OK;
}

void hc_chunk_workspace_close(HcChunkWorkspace *workspace) {
    if (workspace == NULL) {
        return;
    }
    free(workspace->window.data);
    libdeflate_free_decompressor(workspace->inflater);
    ZSTD_freeDCtx(workspace->zstd);
    free(workspace->buffer[0]);
    free(workspace->buffer[1]);
    free(workspace);
}

void hc_chunk_libraries(HcText *text) {
    hc_text_add(text, "libdeflate %s\n", LIBDEFLATE_VERSION_STRING);
    hc_text_add(text, "zstd %s\n", ZSTD_versionString());
    hc_text_add(text, "LERC %d.%d.%d\n", LERC_VERSION_MAJOR, LERC_VERSION_MINOR, LERC_VERSION_PATCH);
    /* The version of the header: a call would start the library, which needs its lock. */
    hc_text_add(text, "HDF5 %d.%d.%d\n", H5_VERS_MAJOR, H5_VERS_MINOR, H5_VERS_RELEASE);
    hc_text_add(text, "SZIP by libsz\n");
}

HcChunkWindow *hc_chunk_window(HcChunkWorkspace *workspace) {
    return &workspace->window;
}

uint8_t *hc_chunk_decode_input(HcChunkWorkspace *workspace) {
    return workspace->buffer[0];
}

uint8_t *hc_chunk_decode_output(HcChunkWorkspace *workspace) {
    return workspace->buffer[workspace->bytes[1] > workspace->bytes[0]];
}

/* ---- decompression ---- */

static HcStatus fail_broken(HcChunkCode code, size_t bytes, HcError *why) {
    return hc_fail(why, HC_E_INPUT, "its %zu bytes are no whole %s stream", bytes, hc_chunk_code_name(code));
}

static HcStatus fail_long(HcChunkCode code, size_t capacity, HcError *why) {
    return hc_fail(why, HC_E_INPUT, "%s makes more than the %zu bytes of a chunk", hc_chunk_code_name(code),
                   capacity);
}

static HcStatus inflate(HcChunkWorkspace *workspace, HcChunkCode code, const uint8_t *in, size_t bytes,
                        uint8_t *out, size_t space, size_t *made, HcError *why) {
    switch (code == HC_CODE_GZIP
                ? libdeflate_gzip_decompress(workspace->inflater, in, bytes, out, space, made)
                : libdeflate_zlib_decompress(workspace->inflater, in, bytes, out, space, made)) {
    case LIBDEFLATE_SUCCESS:
        return HC_OK;
    case LIBDEFLATE_INSUFFICIENT_SPACE:
        return fail_long(code, space, why);
    default:
        return fail_broken(code, bytes, why);
    }
}

static HcStatus unzstd(HcChunkWorkspace *workspace, const uint8_t *in, size_t bytes, uint8_t *out,
                       size_t space, size_t *made, HcError *why) {
    *made = ZSTD_decompressDCtx(workspace->zstd, out, space, in, bytes);
    return !ZSTD_isError(*made)                                      ? HC_OK
           : ZSTD_getErrorCode(*made) == ZSTD_error_dstSize_tooSmall ? fail_long(HC_CODE_ZSTD, space, why)
                                                                     : fail_broken(HC_CODE_ZSTD, bytes, why);
}

/* The library divides by them without a look. */
bool hc_chunk_szip_is_valid(const HcChunkIndex *index) {
    uint32_t block = index->szip[1], bits = index->szip[2], line = index->szip[3];
    return block >= 2 && block <= 32 && block % 2 == 0 && bits == 8 * hc_type_bytes(index->type) &&
           line >= block && line <= 128 * block;
}

/* After four bytes with the length. */
static HcStatus unszip(const HcChunkIndex *index, uint8_t *in, size_t bytes, uint8_t *out, size_t space,
                       size_t *made, HcError *why) {
    SZ_com_t how = {.options_mask = (int)index->szip[0],
                    .pixels_per_block = (int)index->szip[1],
                    .bits_per_pixel = (int)index->szip[2],
                    .pixels_per_scanline = (int)index->szip[3]};
    if (bytes < 4 || !hc_chunk_szip_is_valid(index)) {
        return fail_broken(HC_CODE_SZIP, bytes, why);
    }
    *made = (size_t)in[0] | (size_t)in[1] << 8 | (size_t)in[2] << 16 | (size_t)in[3] << 24;
    if (*made > space) {
        return fail_long(HC_CODE_SZIP, space, why);
    }
    return SZ_BufftoBuffDecompress(out, made, in + 4, bytes - 4, &how) == SZ_OK
               ? HC_OK
               : fail_broken(HC_CODE_SZIP, bytes, why);
}

/* ---- the steps ---- */

/* The bytes on their way: `bytes` of them in the buffer `now`. */
typedef struct Way {
    int now;
    size_t bytes;
} Way;

static HcStatus decompress(HcChunkWorkspace *workspace, const HcChunkIndex *index, HcChunkCode code,
                           size_t space, Way *way, HcError *why) {
    uint8_t *in = workspace->buffer[way->now];
    uint8_t *out = workspace->buffer[1 - way->now];
    size_t bytes = way->bytes;
    if (code == HC_CODE_DEFLATE || code == HC_CODE_GZIP) {
        HC_OR_RETURN(inflate(workspace, code, in, bytes, out, space, &way->bytes, why));
    } else if (code == HC_CODE_ZSTD) {
        HC_OR_RETURN(unzstd(workspace, in, bytes, out, space, &way->bytes, why));
    } else if (code == HC_CODE_SZIP) {
        HC_OR_RETURN(unszip(index, in, bytes, out, space, &way->bytes, why));
    } else if (code == HC_CODE_LERC) {
        HC_OR_RETURN(hc_chunk_lerc(index, in, bytes, out, space, &way->bytes, why));
    } else if (code == HC_CODE_SHUFFLE) {
        size_t each = hc_type_bytes(index->type);
        if (bytes > space || bytes % each != 0) {
            return hc_fail(why, HC_E_INPUT, "it holds %zu bytes of shuffled values of %zu bytes", bytes,
                           each);
        }
        hc_chunk_undo_shuffle(in, out, (int64_t)(bytes / each), each);
    } else if (!hc_chunk_lzw(in, bytes, out, space, &way->bytes)) {
        return fail_broken(code, bytes, why);
    }
    way->now = 1 - way->now;
    return HC_OK;
}

/* Rows that came, for steps that go along rows; what lies after the last whole row does not count. */
static int64_t rows_of(const HcChunkIndex *index, size_t bytes) {
    return hc_min64((int64_t)bytes / row_bytes(index), index->shape[HC_AXIS_LINE]);
}

static HcStatus check_made(const HcChunkIndex *index, const Way *way, int64_t lines, HcError *why) {
    int64_t whole = hc_chunk_bytes(index);
    int64_t least = index->pieces       ? 0
                    : index->short_last ? whole / index->shape[HC_AXIS_LINE] * lines
                                        : whole;
    if ((int64_t)way->bytes >= least && (int64_t)way->bytes <= whole) {
        return HC_OK;
    }
    return hc_fail(why, HC_E_INPUT, "it holds %zu bytes of values instead of %" PRId64, way->bytes, least);
}

/* Both ways in which HDF5 has written it. */
static HcStatus check_sum(const uint8_t *data, Way *way, HcError *why) {
    if (way->bytes < 4) {
        return fail_broken(HC_CODE_FLETCHER32, way->bytes, why);
    }
    way->bytes -= 4;
    const uint8_t *at = data + way->bytes;
    uint32_t said = (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
    uint32_t found = hc_chunk_fletcher32(data, way->bytes);
    uint32_t turned = (found & 0xFF00FF) << 8 | (found >> 8 & 0xFF00FF);
    return said == found || said == turned ? HC_OK
                                           : hc_fail(why, HC_E_INPUT, "its checksum is %08x, and not %08x",
                                                     (unsigned)found, (unsigned)said);
}

HcStatus hc_chunk_decode(HcChunkWorkspace *workspace, const HcChunkIndex *index, int64_t stored,
                         int64_t lines, uint32_t skipped, uint8_t **values, HcError *why) {
    size_t space = most_made(index), each = hc_type_bytes(index->type);
    int64_t samples = index->shape[HC_AXIS_SAMPLE], bands = index->shape[HC_AXIS_BAND];
    Way way = {.bytes = (size_t)stored};
    bool swapped = !index->swap;
    for (int32_t s = 0; s < index->steps; s++) {
        HcChunkCode code = index->step[s];
        if ((skipped >> index->step_bit[s] & 1) != 0) {
            continue;
        }
        if (!in_place(code)) {
            HC_OR_RETURN(decompress(workspace, index, code, space, &way, why));
            continue;
        }
        if (code == HC_CODE_FLETCHER32) {
            HC_OR_RETURN(check_sum(workspace->buffer[way.now], &way, why));
            continue;
        }
        HC_OR_RETURN(check_made(index, &way, lines, why));
        uint8_t *data = workspace->buffer[way.now];
        int64_t rows = rows_of(index, way.bytes);
        if (code == HC_CODE_FLOAT_DIFFERENCE) {
            hc_chunk_undo_float_difference(data, rows, samples, bands, each, workspace->buffer[1 - way.now]);
            swapped = true; /* by its planes of bytes, which do not depend on the order */
            continue;
        }
        if (!swapped) {
            hc_chunk_undo_byte_order(data, rows * samples * bands, each);
            swapped = true;
        }
        hc_chunk_undo_difference(data, rows, samples, bands, each);
    }
    HC_OR_RETURN(check_made(index, &way, lines, why));
    if (!swapped) {
        hc_chunk_undo_byte_order(workspace->buffer[way.now],
                                 hc_min64((int64_t)way.bytes, (int64_t)space) / (int64_t)each, each);
    }
    *values = workspace->buffer[way.now];
    return HC_OK;
}
