/* HDF5 files of servers: the library reads what is no pixel (groups, the index of chunks) by a driver of this
 * room, through GDAL's cache. GDAL's own driver for that is not to be had from outside. Chunks are then read
 * past the library, by their places in the file, many at once. */
#include "io/chunk/hdf5_array.h"
#include "io/gdal/remote.h"

#include <stdlib.h>
#include <string.h>

#ifdef H5FD_FEAT_MEMMANAGE /* HDF5 1.13 and later */
#include <H5FDdevelop.h>
#endif

typedef struct RemoteFile {
    H5FD_t base; /* must be first */
    HcRemote *file;
    haddr_t allocated;
} RemoteFile;

static H5FD_t *open_file(const char *path, unsigned flags, hid_t plist, haddr_t most) {
    (void)plist;
    (void)most;
    HcError err = {0};
    RemoteFile *out = (flags & H5F_ACC_RDWR) == 0 ? calloc(1, sizeof *out) : NULL;
    if (out == NULL || hc_remote_open(&out->file, path, &err) != HC_OK) {
        free(out);
        return NULL;
    }
    return &out->base;
}

static herr_t close_file(H5FD_t *base) {
    RemoteFile *file = (RemoteFile *)base;
    hc_remote_close(file->file);
    free(file);
    return 0;
}

static herr_t say_features(const H5FD_t *base, unsigned long *flags) {
    (void)base;
    *flags = H5FD_FEAT_ACCUMULATE_METADATA;
    return 0;
}

static haddr_t get_allocated(const H5FD_t *base, H5FD_mem_t type) {
    (void)type;
    return ((const RemoteFile *)base)->allocated;
}

static herr_t set_allocated(H5FD_t *base, H5FD_mem_t type, haddr_t to) {
    (void)type;
    ((RemoteFile *)base)->allocated = to;
    return 0;
}

static haddr_t get_end(const H5FD_t *base, H5FD_mem_t type) {
    (void)type;
    return (haddr_t)hc_remote_size(((const RemoteFile *)base)->file);
}

static herr_t read_bytes(H5FD_t *base, H5FD_mem_t type, hid_t plist, haddr_t at, size_t bytes, void *to) {
    (void)type;
    (void)plist;
    HcError err = {0};
    HcStatus status = hc_remote_look(((RemoteFile *)base)->file, to, (int64_t)bytes, (int64_t)at, &err);
    return status == HC_OK ? 0 : -1;
}

/* The library wants one of every driver. */
static herr_t write_bytes(H5FD_t *base, H5FD_mem_t type, hid_t plist, haddr_t at, size_t bytes,
                          const void *from) {
    (void)base;
    (void)type;
    (void)plist;
    (void)at;
    (void)bytes;
    (void)from;
    return -1;
}

static const H5FD_class_t driver = {
#ifdef H5FD_CLASS_VERSION
    .version = H5FD_CLASS_VERSION,
#endif
#ifdef H5FD_FEAT_MEMMANAGE
    .value = (H5FD_class_value_t)700, /* 512 and above are for drivers of others */
#endif
    .name = "hcube_remote",
    .maxaddr = INT64_MAX,
    .fc_degree = H5F_CLOSE_WEAK,
    .open = open_file,
    .close = close_file,
    .query = say_features,
    .get_eoa = get_allocated,
    .set_eoa = set_allocated,
    .get_eof = get_end,
    .read = read_bytes,
    .write = write_bytes,
    .fl_map = H5FD_FLMAP_DICHOTOMY};

hid_t hc_hdf5_open_remote(const char *path) {
    static hid_t number = -1; /* under the lock of the callers */
    hid_t file = -1, plist = H5Pcreate(H5P_FILE_ACCESS);
    number = number < 0 ? H5FDregister(&driver) : number;
    if (plist >= 0 && number >= 0 && H5Pset_driver(plist, number, NULL) >= 0) {
        file = H5Fopen(path, H5F_ACC_RDONLY, plist);
    }
    if (plist >= 0) {
        H5Pclose(plist);
    }
    return file;
}

bool hc_hdf5_find_chunk(const HcHdf5Array *array, const hsize_t *corner, int64_t *offset, hsize_t *bytes) {
    unsigned skipped = 0;
    haddr_t at = HADDR_UNDEF;
    *bytes = 0;
    if (offset == NULL) {
        return H5Dget_chunk_storage_size(array->dataset, corner, bytes) >= 0;
    }
    if (H5Dget_chunk_info_by_coord(array->dataset, corner, &skipped, &at, bytes) < 0) {
        return false;
    }
    *offset = skipped != 0 ? -1 : at != HADDR_UNDEF ? (int64_t)at : 0;
    *bytes = at != HADDR_UNDEF ? *bytes : 0;
    return true;
}
