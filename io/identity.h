/* Identity: what distinguishes one state of a file from a later one. */
#ifndef HC_IO_IDENTITY_H
#define HC_IO_IDENTITY_H

#include "core/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct HcIdentity {
    bool exists; /* else all is 0 */
    bool hashed;
    bool folder; /* Zarr: `bytes` of all files in it, the newest change of one */
    int64_t bytes;
    int64_t seconds;     /* of the last change, since 1970; 0 where a remote store does not say */
    int64_t nanoseconds; /* beyond; 0 for /vsi files */
    uint64_t hash;       /* XXH64 of the content (of Zarr: names and contents), where hashed */
} HcIdentity;

/* Identity of a local or /vsi file; with `hash` the whole file is read. A file that is missing is no failure;
 * nor is a folder without Zarr, a pipe or a device, which counts as missing. */
HcStatus hc_identity_of(const char *path, bool hash, HcIdentity *out, HcError *err) HC_MUST_CHECK;

#endif
