/* Arrays that lie in one stretch of a file: cut into pieces, which are read and kept as chunks are. */
#include "core/allocate.h"
#include "core/block.h"
#include "io/chunk/index.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Pieces of whole lines, and of lines of one band or sample, many of which make a line. */
enum { PIECE_BYTES = 1 << 20, THIN_PIECE_BYTES = 1 << 16, TURNED = 32 };
/* Of a server a request takes as long as half a MiB on a usual line. Small files have a piece for each of the
 * requests at once; thin pieces grow until the lines that they belong to have that many bytes. */
enum { REMOTE_MIN = 512 << 10, REMOTE_LINES = 32 << 20 };

/* Bytes of a piece: `others` pieces beside each other make its lines. */
static double piece_bytes(const HcChunkIndex *index, double all, double others) {
    bool remote = hc_remote_is(index->path);
    double least = others > 1 ? THIN_PIECE_BYTES : remote ? REMOTE_MIN : PIECE_BYTES;
    double wanted = others > 1 ? REMOTE_LINES / others : all / HC_REMOTE_THREADS;
    return remote ? fmax(least, fmin(wanted, PIECE_BYTES)) : least;
}

/* Along the lines, and along the axes that are slower, so that each piece is one of the file. */
void hc_chunk_cut(HcChunkIndex *index) {
    double each = (double)hc_type_bytes(index->type), others = 1;
    int line = 0, first = index->size[index->order[0]] == 1 && index->order[0] == HC_AXIS_BAND ? 1 : 0;
    while (index->order[line] != HC_AXIS_LINE) {
        others *= (double)index->size[index->order[line]];
        index->shape[index->order[line++]] = 1;
    }
    for (int i = HC_AXES - 1; i > line; i--) {
        index->shape[index->order[i]] = index->size[index->order[i]];
        each *= (double)index->size[index->order[i]];
    }
    int64_t lines = index->size[HC_AXIS_LINE];
    double fit = piece_bytes(index, each * (double)lines, others) / each;
    index->shape[HC_AXIS_LINE] = hc_min64(lines, hc_max64(1, (int64_t)fit));
    if (line == HC_AXES - 1) { /* lines are the fastest axis: some cache lines of each sample or band */
        index->shape[HC_AXIS_LINE] = lines;
        index->shape[index->order[1]] = index->size[index->order[1]];
        index->shape[index->order[first]] = hc_min64(TURNED, index->size[index->order[first]]);
    }
    for (int a = 0; a < HC_AXES; a++) {
        index->count[a] = (index->size[a] + index->shape[a] - 1) / index->shape[a];
    }
}

HcStatus hc_chunk_pieces(HcChunkIndex *index, int64_t offset, HcError *err) {
    int64_t file_bytes = 0, chunks = hc_chunk_count(index), each = (int64_t)hc_type_bytes(index->type),
            all = index->size[0] * index->size[1] * index->size[2];
    HC_OR_RETURN(hc_new(index->place, (size_t)chunks, "places of chunks", err));
    HC_OR_RETURN(hc_chunk_index_open(index, &file_bytes, err));
    if (offset > file_bytes || all > (file_bytes - offset) / each) {
        return hc_fail(err, HC_E_INPUT,
                       "%s: has %" PRId64 " bytes, an array of %" PRId64 " values of %" PRId64
                       " bytes is said to begin at byte %" PRId64,
                       index->path, file_bytes, all, each, offset);
    }
    for (int64_t number = 0; number < chunks; number++) {
        int64_t first[HC_AXES] = {0}, size[HC_AXES] = {0}, at = 0, count = 1;
        hc_chunk_box(index, number, first, size);
        for (int i = 0; i < HC_AXES; i++) {
            at = at * index->size[index->order[i]] + first[index->order[i]];
            count *= size[index->order[i]];
        }
        index->place[number] = (HcChunkPlace){.offset = offset + at * each, .bytes = count * each};
        index->stored_most = hc_max64(index->stored_most, count * each);
    }
    index->pieces = true;
    return HC_OK;
}

HcStatus hc_chunk_raw(HcChunkIndex **out, const char *path, const HcScene *scene, const HcAxis order[HC_AXES],
                      bool big_endian, int64_t offset, HcError *err) {
    HcStatus status = HC_OK;
    HcChunkIndex *index = NULL;
    *out = NULL;
    HC_TRY(hc_chunk_index_new(&index, path, order, err));
    index->type = scene->type;
    index->swap = hc_type_bytes(scene->type) > 1 && big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    index->size[HC_AXIS_LINE] = scene->lines;
    index->size[HC_AXIS_SAMPLE] = scene->samples;
    index->size[HC_AXIS_BAND] = scene->bands;
    hc_chunk_cut(index);
    if (hc_chunk_count(index) <= HC_PIECES_MAX) {
        HC_TRY(hc_chunk_pieces(index, offset, err));
        *out = index;
        index = NULL;
    }
done:
    hc_chunk_index_free(index);
    return status;
}
