#include "io/chunk/parts.h"

int64_t hc_chunk_row_count(const HcChunkIndex *index) {
    return index->count[HC_AXIS_LINE];
}

int64_t hc_chunk_row_of_line(const HcChunkIndex *index, int64_t line) {
    int64_t lines = index->size[HC_AXIS_LINE], each = index->shape[HC_AXIS_LINE];
    return index->upwards ? hc_chunk_row_count(index) - 1 - (lines - 1 - line) / each : line / each;
}

int64_t hc_chunk_row_begin(const HcChunkIndex *index, int64_t row) {
    int64_t lines = index->size[HC_AXIS_LINE], each = index->shape[HC_AXIS_LINE];
    return index->upwards ? hc_max64(0, lines - (hc_chunk_row_count(index) - row) * each) : row * each;
}

int64_t hc_chunk_row_end(const HcChunkIndex *index, int64_t row) {
    return row + 1 < hc_chunk_row_count(index) ? hc_chunk_row_begin(index, row + 1)
                                               : index->size[HC_AXIS_LINE];
}

int64_t hc_chunk_row_place(const HcChunkIndex *index, int64_t row) {
    return index->upwards ? hc_chunk_row_count(index) - 1 - row : row;
}

int64_t hc_chunk_line_bytes(const HcChunks *chunks) {
    const HcChunkIndex *index = chunks->index;
    return chunks->samples * chunks->used * (int64_t)hc_type_bytes(index->type);
}

int64_t hc_chunk_row_lines(const HcChunkIndex *index) {
    return hc_min64(index->shape[HC_AXIS_LINE], index->size[HC_AXIS_LINE]);
}

char *hc_chunk_kept_row(const HcChunks *chunks, int64_t place) {
    return chunks->rows + place * hc_chunk_row_lines(chunks->index) * hc_chunk_line_bytes(chunks);
}

HcTarget hc_chunk_target(const HcChunks *chunks, int64_t row, int64_t line0, int64_t lines, char *to) {
    const HcChunkIndex *index = chunks->index;
    int64_t each = (int64_t)hc_type_bytes(index->type), samples = chunks->samples;
    HcTarget target = {.row = row, .line0 = line0, .lines = lines, .to = to, .sample0 = chunks->sample0};
    target.stride[HC_AXIS_LINE] = hc_chunk_line_bytes(chunks);
    target.stride[HC_AXIS_SAMPLE] = chunks->pixels ? chunks->used * each : each;
    target.stride[HC_AXIS_BAND] = chunks->pixels ? each : samples * each;
    target.count[HC_AXIS_SAMPLE] = index->count[HC_AXIS_SAMPLE];
    target.count[HC_AXIS_BAND] = index->count[HC_AXIS_BAND];
    return target;
}
