#include "io/chunk/index.h"
#include "core/allocate.h"
#include "core/block.h"
#include "core/text.h"

#include "io/gdal/errors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *hc_chunk_code_name(HcChunkCode code) {
    static const char *const names[] = {
#define HC_AS_NAME(name, word) word,
        HC_CHUNK_CODES(HC_AS_NAME)
#undef HC_AS_NAME
    };
    return names[code];
}

HcStatus hc_chunk_index_new(HcChunkIndex **out, const char *path, const HcAxis order[HC_AXES], HcError *err) {
    HC_OR_RETURN(hc_new(*out, 1, "places of chunks", err));
    (*out)->file = -1;
    for (int i = 0; i < HC_AXES && order != NULL; i++) {
        (*out)->order[i] = (int)order[i];
    }
    (*out)->path = strdup(path);
    return hc_text_made((*out)->path, strlen(path), "a path", err);
}

HcStatus hc_chunk_index_fill(HcChunkIndex *index, uint64_t value, HcError *err) {
    HC_OR_RETURN(hc_new(index->fill, (size_t)index->size[HC_AXIS_BAND], "fill values", err));
    for (int64_t b = 0; b < index->size[HC_AXIS_BAND]; b++) {
        index->fill[b] = value;
    }
    return HC_OK;
}

void hc_chunk_index_free(HcChunkIndex *index) {
    if (index == NULL) {
        return;
    }
    if (index->file >= 0) {
        close(index->file);
    }
    hc_remote_close(index->remote);
    hc_hdf5_close(index->hdf5);
    free(index->zarr);
    free(index->path);
    free(index->place);
    free(index->fill);
    free(index);
}

HcStatus hc_chunk_index_open(HcChunkIndex *index, int64_t *size, HcError *err) {
    struct stat info;
    if (hc_remote_is(index->path)) {
        HC_OR_RETURN(hc_remote_open(&index->remote, index->path, err));
        *size = hc_remote_size(index->remote);
        return HC_OK;
    }
    index->file = open(index->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (index->file < 0 || fstat(index->file, &info) != 0) {
        return hc_fail(err, hc_errno_status(errno, HC_E_IO), "%s: cannot be opened: %s", index->path,
                       strerror(errno));
    }
    *size = S_ISREG(info.st_mode) ? (int64_t)info.st_size : -1;
    return HC_OK;
}

int64_t hc_chunk_count(const HcChunkIndex *index) {
    return index->count[HC_AXIS_LINE] * index->count[HC_AXIS_SAMPLE] * index->count[HC_AXIS_BAND];
}

bool hc_chunk_is_remote(const HcChunkIndex *index) {
    return index->remote != NULL || (index->zarr != NULL && hc_remote_is(index->path));
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
