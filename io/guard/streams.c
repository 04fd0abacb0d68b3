/* Decodes the chunks of small arrays before a library does: HDF5 believes a stream that is too short, and
 * hands on whatever lies in memory. */
#include "io/guard/streams.h"
#include "io/gdal/errors.h"
#include "io/guard/parts.h"

#include <inttypes.h>
#include <math.h>

/* A chunk counts as a row of numbers: its length matters, and not its shape. */
typedef struct Streams {
    hid_t dataset;
    int rank;
    hsize_t size[H5S_MAX_RANK], shape[H5S_MAX_RANK];
    double bytes;      /* of all values */
    HcHdf5Array array; /* has no part in it: chunks of HDF5 may lack a step */
    HcChunkIndex index;
} Streams;

/* Bytes of a value in the file; 0 = not known. Where values have a length of their own, the file has a length
 * (4 bytes), an address and an index (4 bytes), and memory something else. */
static size_t stored_bytes(hid_t dataset, hid_t type) {
    H5T_class_t kind = H5Tget_class(type);
    size_t address = 0, bytes = H5Tget_size(type);
    if (kind == H5T_VLEN || H5Tis_variable_str(type) > 0) {
        hid_t file = H5Iget_file_id(dataset), plist = H5Fget_create_plist(file);
        bytes = H5Pget_sizes(plist, &address, NULL) >= 0 ? 4 + address + 4 : 0;
        H5Pclose(plist);
        H5Fclose(file);
    }
    bool has_parts = kind == H5T_COMPOUND || kind == H5T_ARRAY;
    int parts = !has_parts ? 0 : kind == H5T_ARRAY ? 1 : H5Tget_nmembers(type);
    for (int p = 0; p < parts; p++) {
        hid_t part = kind == H5T_ARRAY ? H5Tget_super(type) : H5Tget_member_type(type, (unsigned)p);
        bytes = stored_bytes(dataset, part) == H5Tget_size(part) ? bytes : 0;
        H5Tclose(part);
    }
    return bytes;
}

/* False where the array has no chunks, or nobody but HDF5 knows its filters or values. */
static bool describe(Streams *streams, hid_t plist) {
    HcChunkIndex *index = &streams->index;
    hid_t space = H5Dget_space(streams->dataset), type = H5Dget_type(streams->dataset);
    size_t each = stored_bytes(streams->dataset, type);
    bool is_chunked =
        H5Pget_layout(plist) == H5D_CHUNKED && H5Sget_simple_extent_dims(space, streams->size, NULL) > 0;
    streams->rank = is_chunked ? H5Pget_chunk(plist, H5S_MAX_RANK, streams->shape) : 0;
    H5Tclose(type);
    H5Sclose(space);
    index->type = each == 2 ? HC_UINT16 : each == 4 ? HC_UINT32 : each == 8 ? HC_UINT64 : HC_UINT8;
    index->shape[HC_AXIS_LINE] = index->shape[HC_AXIS_SAMPLE] = 1;
    index->shape[HC_AXIS_BAND] = (int64_t)(each / hc_type_bytes(index->type));
    streams->bytes = (double)each;
    for (int i = 0; i < streams->rank; i++) {
        int64_t *all = &index->shape[HC_AXIS_BAND];
        streams->bytes *= (double)streams->size[i];
        if (__builtin_mul_overflow(*all, (int64_t)streams->shape[i], all) || *all > INT32_MAX) {
            return false;
        }
    }
    index->hdf5 = &streams->array;
    return streams->rank > 0 && each > 0 && hc_hdf5_find_steps(plist, index);
}

/* The next chunk; false after the last one. */
static bool step(const Streams *streams, hsize_t *corner) {
    for (int i = streams->rank - 1; i >= 0; i--) {
        corner[i] += streams->shape[i];
        if (corner[i] < streams->size[i]) {
            return true;
        }
        corner[i] = 0;
    }
    return false;
}

static HcStatus check_chunk(const Streams *streams, const hsize_t *corner, hsize_t bytes, HcError *why) {
    HcChunkWorkspace *workspace = NULL;
    HcChunkIndex index = streams->index;
    uint8_t *values = NULL;
    uint32_t skipped = 0;
    char text[200];
    int64_t most = 2 * hc_chunk_bytes(&index) + 4096;
    if (bytes > (hsize_t)most) {
        return hc_fail(why, HC_E_INPUT, "it is said to have %.0f bytes, of values there are %" PRId64,
                       (double)bytes, hc_chunk_bytes(&index));
    }
    index.stored_most = (int64_t)bytes;
    HC_OR_RETURN(hc_chunk_workspace_open(&workspace, &index, why));
    HcStatus status = HC_OK;
    if (!hc_hdf5_read_stored(streams->dataset, corner, &skipped, hc_chunk_decode_input(workspace),
                             (size_t)bytes, text, sizeof text)) {
        status = hc_fail(why, hc_hdf5_status(text), "%s", text);
    } else {
        status = hc_chunk_decode(workspace, &index, (int64_t)bytes, 1, skipped, &values, why);
    }
    hc_chunk_workspace_close(workspace);
    return status;
}

static HcStatus fail_chunk(const Streams *streams, const hsize_t *corner, const char *path, const char *name,
                           const HcError *why, HcError *err) {
    HcText at = {0};
    for (int i = 0; i < streams->rank; i++) {
        hc_text_add(&at, "%s%" PRIu64, i > 0 ? ", " : "", (uint64_t)corner[i]);
    }
    HcStatus status = hc_fail_text(err, why->status, &at, "%s: the chunk at %.100s of %.100s is broken: %s",
                                   path, hc_text_shown(&at), name, why->text);
    hc_text_clear(&at);
    return status;
}

HcStatus hc_guard_streams(hid_t dataset, hid_t plist, const char *path, const char *name, double most,
                          HcError *err) {
    HcStatus status = HC_OK;
    Streams streams = {.dataset = dataset};
    hsize_t corner[H5S_MAX_RANK] = {0}, bytes = 0;
    HcError why = {0};
    if (!describe(&streams, plist) || (streams.rank > 1 && streams.bytes > most) ||
        (streams.rank > 2 && isfinite(most))) {
        return HC_OK;
    }
    do {
        bool stored = H5Dget_chunk_storage_size(dataset, corner, &bytes) >= 0 && bytes > 0;
        status = stored ? check_chunk(&streams, corner, bytes, &why) : HC_OK;
    } while (status == HC_OK && step(&streams, corner));
    return status == HC_OK ? HC_OK : fail_chunk(&streams, corner, path, name, &why, err);
}

HcStatus hc_guard_array(const char *path, const char *array, HcError *err) {
    HcStatus status = HC_OK;
    hc_hdf5_lock();
    H5E_BEGIN_TRY {
        hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
        hid_t dataset = file >= 0 ? H5Dopen2(file, array, H5P_DEFAULT) : -1;
        if (dataset >= 0) {
            hid_t plist = H5Dget_create_plist(dataset);
            status = hc_guard_streams(dataset, plist, path, array, INFINITY, err);
            H5Pclose(plist);
            H5Dclose(dataset);
        }
        if (file >= 0) {
            H5Fclose(file);
        }
    }
    H5E_END_TRY
    hc_hdf5_unlock();
    return status;
}
