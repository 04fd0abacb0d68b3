/* An open array of HDF5, for the maker of its index and for the reader of its chunks. GDAL uses the
 * library, too, and its threads do not know the lock of this room. Only builds of the library that threads
 * may share are used. */
#ifndef HC_IO_CHUNK_HDF5_ARRAY_H
#define HC_IO_CHUNK_HDF5_ARRAY_H

#include "io/chunk/codec/decode.h"
#include "io/chunk/index.h"

#include <hdf5.h>

struct HcHdf5Array {
    hid_t file, dataset; /* negative = closed */
    int axes;            /* of the array: 2 or 3 */
    int64_t chunks;
    bool plain;     /* it is not chunked, and lies in one piece of the file */
    int64_t offset; /* of that piece */
};

/* Around all calls of the library. */
void hc_hdf5_lock(void);
void hc_hdf5_unlock(void);

/* What the library said last, as one line. */
void hc_hdf5_reason(char *text, size_t bytes);

/* Reads the stored bytes (1 or more) of the chunk that begins there; false, with a reason, also where it has
 * fewer. *skipped = bits of the filters that it lacks. Within the lock. */
bool hc_hdf5_read_stored(hid_t dataset, const hsize_t *corner, uint32_t *skipped, uint8_t *to, size_t bytes,
                         char *text, size_t text_bytes);

/* The stored bytes of the chunk that begins there, 0 = not stored; where `offset` is not NULL also its place
 * in the file, of a chunk that went through all filters. False, with a message of the library, where it
 * fails. */
bool hc_hdf5_find_chunk(const HcHdf5Array *array, const hsize_t *corner, int64_t *offset, hsize_t *bytes);

/* Opens a file of a server for reading; negative where it is none of HDF5, or cannot be read. */
hid_t hc_hdf5_open_remote(const char *path);

/* Fills the steps of an index, of whose type the values are; false where one is not known here. */
bool hc_hdf5_find_steps(hid_t plist, HcChunkIndex *index);

#endif
