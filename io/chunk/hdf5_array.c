#include "io/chunk/hdf5_array.h"
#include "io/gdal/errors.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A thread that GDAL never had would print. */
void hc_hdf5_lock(void) {
    static _Thread_local bool listens;
    pthread_mutex_lock(&lock);
    if (!listens) {
        hc_hdf5_listen();
        listens = true;
    }
}

void hc_hdf5_unlock(void) {
    pthread_mutex_unlock(&lock);
}

typedef struct Reason {
    char *text;
    size_t bytes;
} Reason;

/* The innermost message of the library. */
static herr_t keep_reason(unsigned number, const H5E_error2_t *error, void *user) {
    const Reason *reason = user;
    if (number == 0 && error->desc != NULL) {
        snprintf(reason->text, reason->bytes, "HDF5 says: %.150s", error->desc);
    }
    return 0;
}

void hc_hdf5_reason(char *text, size_t bytes) {
    Reason reason = {text, bytes};
    snprintf(text, bytes, "HDF5 gives no reason");
    (void)H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_reason, &reason);
    for (char *at = text; *at != '\0'; at++) {
        *at = *at == '\n' || *at == '\r' ? ' ' : *at;
    }
}

/* HDF5 2.0 also asks how many bytes there is place for, and reads nothing where they are too few. */
static bool read_bytes(hid_t dataset, const hsize_t *corner, uint32_t *skipped, void *to, size_t bytes) {
#if H5_VERSION_GE(2, 0, 0)
    size_t place = bytes;
    return H5Dread_chunk2(dataset, H5P_DEFAULT, corner, skipped, to, &place) >= 0 && place <= bytes;
#else
    (void)bytes;
    return H5Dread_chunk(dataset, H5P_DEFAULT, corner, skipped, to) >= 0;
#endif
}

/* For an array without filters the library gives what the file says, and counts whole chunks: if it wrote
 * no last byte, in two tries with different ones, the chunk is shorter. */
bool hc_hdf5_read_stored(hid_t dataset, const hsize_t *corner, uint32_t *skipped, uint8_t *to, size_t bytes,
                         char *text, size_t text_bytes) {
    static const uint8_t marks[] = {0xA5, 0x5A};
    bool read = true, whole = false;
    for (int m = 0; m < 2 && read && !whole; m++) {
        to[bytes - 1] = marks[m];
        read = read_bytes(dataset, corner, skipped, to, bytes);
        whole = to[bytes - 1] != marks[m];
    }
    if (!read) {
        hc_hdf5_reason(text, text_bytes);
    } else if (!whole) {
        snprintf(text, text_bytes, "it has fewer than its %zu bytes", bytes);
    }
    return read && whole;
}

bool hc_hdf5_read_chunk(HcHdf5Array *array, const int64_t first[HC_AXES], int64_t stored, void *to,
                        uint32_t *skipped, char *text, size_t bytes) {
    hsize_t corner[HC_AXES] = {0}, now = 0;
    bool read = false;
    for (int i = 0; i < array->axes; i++) {
        corner[i] = (hsize_t)first[HC_AXES - array->axes + i];
    }
    hc_hdf5_lock();
    H5E_BEGIN_TRY {
        if (H5Dget_chunk_storage_size(array->dataset, corner, &now) >= 0 && (int64_t)now != stored) {
            snprintf(text, bytes, "it has %.0f bytes now, and had %" PRId64, (double)now, stored);
        } else {
            read = hc_hdf5_read_stored(array->dataset, corner, skipped, to, (size_t)stored, text, bytes);
        }
    }
    H5E_END_TRY
    hc_hdf5_unlock();
    return read;
}

bool hc_hdf5_has_attribute(const HcHdf5Array *array, const char *name) {
    hc_hdf5_lock();
    bool has = H5Aexists(array->dataset, name) > 0;
    hc_hdf5_unlock();
    return has;
}

bool hc_hdf5_opens(const char *path, char *text, size_t bytes) {
    hc_hdf5_lock();
    hid_t file = -1;
    H5E_BEGIN_TRY {
        file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
        if (file < 0) {
            hc_hdf5_reason(text, bytes);
        }
    }
    H5E_END_TRY
    if (file >= 0) {
        H5Fclose(file);
    }
    hc_hdf5_unlock();
    return file >= 0;
}

void hc_hdf5_close(HcHdf5Array *array) {
    if (array == NULL) {
        return;
    }
    hc_hdf5_lock();
    if (array->dataset >= 0) {
        H5Dclose(array->dataset);
    }
    if (array->file >= 0) {
        H5Fclose(array->file);
    }
    hc_hdf5_unlock();
    free(array);
}
