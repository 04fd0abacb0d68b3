#include "io/chunk/index.h"
#include "core/block.h"

#include <stdlib.h>
#include <unistd.h>

const char *hc_chunk_code_name(HcChunkCode code) {
    static const char *const names[] = {
#define HC_AS_NAME(name, word) word,
        HC_CHUNK_CODES(HC_AS_NAME)
#undef HC_AS_NAME
    };
    return names[code];
}

void hc_chunk_index_free(HcChunkIndex *index) {
    if (index == NULL) {
        return;
    }
    if (index->file >= 0) {
        close(index->file);
    }
    hc_hdf5_close(index->hdf5);
    free(index->path);
    free(index->place);
    free(index->fill);
    free(index);
}

int64_t hc_chunk_count(const HcChunkIndex *index) {
    return index->count[HC_AXIS_LINE] * index->count[HC_AXIS_SAMPLE] * index->count[HC_AXIS_BAND];
}

int64_t hc_chunk_bytes(const HcChunkIndex *index) {
    return index->shape[HC_AXIS_LINE] * index->shape[HC_AXIS_SAMPLE] * index->shape[HC_AXIS_BAND] *
           (int64_t)hc_type_bytes(index->type);
}

void hc_chunk_box(const HcChunkIndex *index, int64_t number, int64_t first[HC_AXES], int64_t size[HC_AXES]) {
    static const HcAxis fastest_first[] = {HC_AXIS_BAND, HC_AXIS_SAMPLE, HC_AXIS_LINE};
    for (int a = 0; a < HC_AXES; a++) {
        HcAxis axis = fastest_first[a];
        first[axis] = number % index->count[axis] * index->shape[axis];
        size[axis] = hc_min64(index->shape[axis], index->size[axis] - first[axis]);
        number /= index->count[axis];
    }
}

void hc_chunk_corner(const HcChunkIndex *index, int64_t number, int64_t corner[HC_AXES]) {
    int64_t first[HC_AXES], size[HC_AXES];
    hc_chunk_box(index, number, first, size);
    for (int i = 0; i < HC_AXES; i++) {
        corner[i] = first[index->order[i]];
    }
}
