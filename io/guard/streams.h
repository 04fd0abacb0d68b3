/* Chunks of any array of HDF5: whether each decodes to its size. */
#ifndef HC_IO_GUARD_STREAMS_H
#define HC_IO_GUARD_STREAMS_H

#include "io/chunk/hdf5_array.h"

#include <stdint.h>

/* Lists, and tables of at most that many bytes, are checked where a file is opened, since libraries read them
 * at once. Others are where they are read (hc_guard_array). */
#define HC_GUARD_SMALL_BYTES ((double)((int64_t)4 << 20))

/* HC_E_INPUT, with the chunk, where one is broken. Arrays of more than `most` bytes pass, and of more than
 * two axes, unless that is infinite. Within hc_hdf5_lock. */
HcStatus hc_guard_streams(hid_t dataset, hid_t plist, const char *path, const char *name, double most,
                          HcError *err) HC_MUST_CHECK;

#endif
