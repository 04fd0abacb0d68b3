/* The chunk index of an array in an HDF5 file. The library finds chunks and reads their bytes; values are
 * decoded outside of it, on the team. An array that lies in one piece counts as one of chunks that follow
 * each other: the file itself is read, past the library. */
#include "core/allocate.h"
#include "core/block.h"
#include "io/chunk/hdf5_array.h"
#include "io/gdal/errors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FILTER_ZSTD 32015
/* What HDF5 1.10 says of a chunk that was never written; later ones say 0 bytes. */
#define NOT_STORED "not allocated"

enum { CHUNK_BYTES_MAX = INT32_MAX, VALUES_MAX = 16 };
enum { CHUNKS_LOOKED_AT = 1000 }; /* the library looks for each from the first on */

/* ---- what the array is ---- */

static bool find_type(hid_t dataset, HcChunkIndex *index) {
    hid_t type = H5Dget_type(dataset);
    H5T_class_t kind = H5Tget_class(type);
    size_t bytes = H5Tget_size(type);
    bool is_signed = kind == H5T_INTEGER && H5Tget_sign(type) == H5T_SGN_2;
    bool plain = kind == H5T_INTEGER && H5Tget_precision(type) == 8 * bytes && H5Tget_offset(type) == 0;
    bool big = (kind == H5T_INTEGER || kind == H5T_FLOAT) && bytes > 1 && H5Tget_order(type) == H5T_ORDER_BE;
    bool known = true;
    if (kind == H5T_FLOAT && (H5Tequal(type, H5T_IEEE_F32LE) > 0 || H5Tequal(type, H5T_IEEE_F32BE) > 0)) {
        index->type = HC_FLOAT32;
    } else if (kind == H5T_FLOAT &&
               (H5Tequal(type, H5T_IEEE_F64LE) > 0 || H5Tequal(type, H5T_IEEE_F64BE) > 0)) {
        index->type = HC_FLOAT64;
    } else if (plain && bytes == 1) {
        index->type = is_signed ? HC_INT8 : HC_UINT8;
    } else if (plain && bytes == 2) {
        index->type = is_signed ? HC_INT16 : HC_UINT16;
    } else if (plain && bytes == 4) {
        index->type = is_signed ? HC_INT32 : HC_UINT32;
    } else if (plain && bytes == 8) {
        index->type = is_signed ? HC_INT64 : HC_UINT64;
    } else {
        known = false;
    }
    index->swap = bytes > 1 && big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    H5Tclose(type);
    return known;
}

static hid_t native_type(HcType type) {
    const hid_t native[HC_TYPE_COUNT] = {
        H5T_NATIVE_UINT8, H5T_NATIVE_INT8,   H5T_NATIVE_UINT16, H5T_NATIVE_INT16, H5T_NATIVE_UINT32,
        H5T_NATIVE_INT32, H5T_NATIVE_UINT64, H5T_NATIVE_INT64,  H5T_NATIVE_FLOAT, H5T_NATIVE_DOUBLE};
    return native[type];
}

/* The steps that undo the filters, the last one first. */
bool hc_hdf5_find_steps(hid_t plist, HcChunkIndex *index) {
    int count = H5Pget_nfilters(plist);
    if (count < 0 || count > HC_CHUNK_STEPS_MAX) {
        return false;
    }
    for (int f = count - 1; f >= 0; f--) {
        unsigned flags = 0, values[VALUES_MAX] = {0};
        size_t found = VALUES_MAX;
        H5Z_filter_t filter = H5Pget_filter2(plist, (unsigned)f, &flags, &found, values, 0, NULL, NULL);
        HcChunkCode code = filter == H5Z_FILTER_DEFLATE      ? HC_CODE_DEFLATE
                           : filter == H5Z_FILTER_SHUFFLE    ? HC_CODE_SHUFFLE
                           : filter == H5Z_FILTER_FLETCHER32 ? HC_CODE_FLETCHER32
                           : filter == H5Z_FILTER_SZIP       ? HC_CODE_SZIP
                           : filter == FILTER_ZSTD           ? HC_CODE_ZSTD
                                                             : HC_CODE_COUNT;
        if (code == HC_CODE_COUNT ||
            (code == HC_CODE_SHUFFLE && found > 0 && values[0] != hc_type_bytes(index->type)) ||
            (code == HC_CODE_SZIP && found < 4)) {
            return false;
        }
        for (int v = 0; v < 4 && code == HC_CODE_SZIP; v++) {
            index->szip[v] = values[v];
        }
        index->step_bit[index->steps] = f;
        index->step[index->steps++] = code;
    }
    return true;
}

/* Whether one of the chunks went through the filter of that place. A filter that is optional may have been
 * skipped for some of them. */
static bool went_through(hid_t dataset, int place) {
    hid_t space = H5Dget_space(dataset); /* HDF5 1.10 takes no H5S_ALL here */
    hsize_t count = 0;
    bool found = false;
    bool known = space >= 0 && H5Dget_num_chunks(dataset, space, &count) >= 0;
    for (hsize_t c = 0; known && c < count && c < CHUNKS_LOOKED_AT && !found; c++) {
        hsize_t corner[H5S_MAX_RANK] = {0}, bytes = 0;
        unsigned skipped = 0;
        haddr_t at = HADDR_UNDEF;
        found = H5Dget_chunk_info(dataset, space, c, corner, &skipped, &at, &bytes) >= 0 &&
                at != HADDR_UNDEF && (skipped >> place & 1) == 0;
    }
    if (space >= 0) {
        H5Sclose(space);
    }
    return found;
}

/* A filter that neither this program nor the library has, and that a chunk went through: nobody can read the
 * array, and GDAL would not say why. */
static HcStatus check_filters(hid_t dataset, hid_t plist, const HcChunkIndex *index, HcError *err) {
    unsigned flags = 0;
    int count = H5Pget_layout(plist) == H5D_CHUNKED ? H5Pget_nfilters(plist) : 0;
    for (int f = 0; f < count && f < 32; f++) {
        size_t values = 0;
        H5Z_filter_t filter = H5Pget_filter2(plist, (unsigned)f, &flags, &values, NULL, 0, NULL, NULL);
        if (filter >= 0 && H5Zfilter_avail(filter) == 0 && went_through(dataset, f)) {
            return hc_fail(err, HC_E_INPUT,
                           "%s: an array went through the filter %d of HDF5, which is not installed here",
                           index->path, (int)filter);
        }
    }
    return HC_OK;
}

/* Whether the array lies in one piece of this file, and where. */
static bool find_piece(hid_t dataset, hid_t plist, int64_t *offset) {
    haddr_t at = H5Pget_layout(plist) == H5D_CONTIGUOUS ? H5Dget_offset(dataset) : HADDR_UNDEF;
    *offset = at != HADDR_UNDEF && at <= INT64_MAX ? (int64_t)at : 0;
    return at != HADDR_UNDEF && at <= INT64_MAX && H5Pget_external_count(plist) == 0;
}

/* Sizes of the array and its chunks. */
static bool find_shape(HcHdf5Array *array, hid_t plist, HcChunkIndex *index) {
    hsize_t size[HC_AXES] = {0}, shape[HC_AXES] = {0};
    int64_t all = 0;
    hid_t space = H5Dget_space(array->dataset);
    array->axes = H5Sget_simple_extent_ndims(space);
    bool known = array->axes >= 2 && array->axes <= HC_AXES &&
                 H5Sget_simple_extent_dims(space, size, NULL) == array->axes;
    bool flat_first = array->axes == HC_AXES || index->order[0] == HC_AXIS_BAND;
    array->plain = known && flat_first && find_piece(array->dataset, plist, &array->offset);
    if (!array->plain) {
        known = known && H5Pget_layout(plist) == H5D_CHUNKED &&
                H5Pget_chunk(plist, HC_AXES, shape) == array->axes;
    }
    H5Sclose(space);
    int behind = HC_AXES - array->axes; /* an array of two axes is one band */
    for (int i = 0; i < HC_AXES && known; i++) {
        int axis = index->order[i];
        index->size[axis] = i < behind ? 1 : (int64_t)size[i - behind];
        index->shape[axis] = i < behind || array->plain ? 1 : (int64_t)shape[i - behind];
        known = index->size[axis] > 0 && index->size[axis] <= INT32_MAX && index->shape[axis] > 0 &&
                index->shape[axis] <= INT32_MAX && (i >= behind || axis == HC_AXIS_BAND);
        index->count[axis] = known ? (index->size[axis] + index->shape[axis] - 1) / index->shape[axis] : 0;
    }
    if (known && array->plain) {
        hc_chunk_cut(index);
    }
    int64_t bytes = (int64_t)hc_type_bytes(index->type);
    known = known &&
            !__builtin_mul_overflow(index->shape[0] * index->shape[1], index->shape[2] * bytes, &all) &&
            all <= CHUNK_BYTES_MAX &&
            !__builtin_mul_overflow(index->count[0] * index->count[1], index->count[2], &array->chunks);
    return known;
}

static HcStatus find_fill(hid_t plist, HcChunkIndex *index, bool *known, HcError *err) {
    H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
    uint64_t value = 0;
    if (H5Pfill_value_defined(plist, &defined) < 0 || defined == H5D_FILL_VALUE_UNDEFINED) {
        return HC_OK;
    }
    *known = H5Pget_fill_value(plist, native_type(index->type), &value) >= 0;
    if (!*known) {
        return HC_OK;
    }
    return hc_chunk_index_fill(index, value, err);
}

/* ---- its chunks ---- */

/* *known = false where a file of a server has chunks that only the library reads. */
static HcStatus find_places(HcHdf5Array *array, HcChunkIndex *index, bool *known, HcError *err) {
    /* More cannot come of a chunk but by mistake: filters that make it larger are left out. */
    int64_t most = 2 * hc_chunk_bytes(index) + 4096, file_bytes = 0;
    if (hc_remote_is(index->path)) {
        HC_OR_RETURN(hc_chunk_index_open(index, &file_bytes, err));
    }
    HC_OR_RETURN(hc_new(index->place, (size_t)array->chunks, "places of chunks", err));
    for (int64_t number = 0; number < array->chunks; number++) {
        hsize_t corner[H5S_MAX_RANK] = {0}, bytes = 0;
        int64_t first[HC_AXES] = {0};
        hc_chunk_corner(index, number, first);
        for (int i = 0; i < array->axes; i++) {
            corner[i] = (hsize_t)first[HC_AXES - array->axes + i];
        }
        char why[200] = "";
        if (!hc_hdf5_find_chunk(array, corner, index->remote != NULL ? &index->place[number].offset : NULL,
                                &bytes)) {
            hc_hdf5_reason(why, sizeof why);
            bytes = 0;
        }
        if (why[0] != '\0' && strstr(why, NOT_STORED) == NULL) {
            return hc_fail(err, HC_E_INPUT,
                           "%s: the size of chunk %" PRId64 " of %" PRId64 " cannot be read: %s", index->path,
                           number, array->chunks, why);
        }
        if (bytes > (hsize_t)most) {
            return hc_fail(err, HC_E_INPUT,
                           "%s: chunk %" PRId64 " of %" PRId64
                           " is said to have %.0f bytes, of values there are %" PRId64,
                           index->path, number, array->chunks, (double)bytes, hc_chunk_bytes(index));
        }
        index->place[number].bytes = (int64_t)bytes;
        int64_t at = index->place[number].offset;
        *known = *known && at >= 0 && (index->remote == NULL || at <= file_bytes - (int64_t)bytes);
        index->stored_most = hc_max64(index->stored_most, (int64_t)bytes);
    }
    return HC_OK;
}

/* ---- opening ---- */

static HcStatus fill_index(HcChunkIndex *index, HcHdf5Array *array, bool *known, HcError *err) {
    HcStatus status = HC_OK;
    hid_t plist = H5Dget_create_plist(array->dataset);
    *known = plist >= 0 && find_type(array->dataset, index) && find_shape(array, plist, index) &&
             hc_hdf5_find_steps(plist, index);
    if (*known) {
        status = find_fill(plist, index, known, err);
    }
    if (plist >= 0 && !*known) {
        status = check_filters(array->dataset, plist, index, err);
    }
    if (plist >= 0) {
        H5Pclose(plist);
    }
    HC_OR_RETURN(status);
    for (int32_t s = 0; s < index->steps && *known; s++) {
        if (index->step[s] == HC_CODE_SZIP && !hc_chunk_szip_is_valid(index)) {
            return hc_fail(err, HC_E_INPUT,
                           "%s: szip of %" PRIu32 " bits in blocks of %" PRIu32 " and lines of %" PRIu32
                           " values is not possible",
                           index->path, index->szip[2], index->szip[1], index->szip[3]);
        }
    }
    hsize_t before = 0; /* the places of chunks do not count a user block */
    if (*known && hc_remote_is(index->path)) {
        hid_t made = H5Fget_create_plist(array->file);
        *known = made >= 0 && H5Pget_userblock(made, &before) >= 0 && before == 0;
        (void)H5Pclose(made);
    }
    if (*known && array->plain && array->chunks > HC_PIECES_MAX) {
        *known = false;
    }
    if (*known) {
        status =
            array->plain ? hc_chunk_pieces(index, array->offset, err) : find_places(array, index, known, err);
    }
    return status;
}

static HcStatus open_array(HcHdf5Array *array, HcChunkIndex *index, const char *name, bool *known,
                           HcError *err) {
    HcStatus status = HC_OK;
    hbool_t shared = false;
    *known = false;
    H5E_BEGIN_TRY {
        bool remote = hc_remote_is(index->path);
        if (H5is_library_threadsafe(&shared) >= 0 && shared && (remote || H5Fis_hdf5(index->path) > 0)) {
            array->file =
                remote ? hc_hdf5_open_remote(index->path) : H5Fopen(index->path, H5F_ACC_RDONLY, H5P_DEFAULT);
            array->dataset = array->file >= 0 ? H5Dopen2(array->file, name, H5P_DEFAULT) : -1;
        }
        if (array->dataset >= 0) {
            status = fill_index(index, array, known, err);
        }
    }
    H5E_END_TRY
    return status;
}

HcStatus hc_chunk_hdf5(HcChunkIndex **out, const char *path, const char *array, const HcAxis order[HC_AXES],
                       HcError *err) {
    HcStatus status = HC_OK;
    HcChunkIndex *index = NULL;
    bool known = false;
    *out = NULL;
    HC_TRY(hc_chunk_index_new(&index, path, order, err));
    HC_TRY(hc_new(index->hdf5, 1, "places of chunks", err));
    *index->hdf5 = (HcHdf5Array){.file = -1, .dataset = -1};
    hc_hdf5_lock();
    status = open_array(index->hdf5, index, array, &known, err);
    hc_hdf5_unlock();
    if (status == HC_OK && known) {
        *out = index;
        index = NULL;
    }
done:
    hc_chunk_index_free(index);
    return status;
}
