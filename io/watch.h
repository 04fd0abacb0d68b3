/* Watch: notices that files changed while they were read. */
#ifndef HC_IO_WATCH_H
#define HC_IO_WATCH_H

#include "core/status.h"

#include <stdint.h>

/* One file as it was when it was added. */
typedef struct HcWatched HcWatched;

/* Zero-initialise; freed by hc_watch_clear. */
typedef struct HcWatch {
    HcWatched *file; /* [count] */
    int32_t count;
} HcWatch;

/* Remembers which file `path` is (device and inode), its size and the times of its last change and of its
 * status; of a file of a server what the server says of it (hc_remote_state), whose failure is one. Others,
 * and those that are missing or there already, are passed over. */
HcStatus hc_watch_add(HcWatch *watch, const char *path, HcError *err) HC_MUST_CHECK;

/* HC_E_INPUT with the first file that is no longer what it was. New rights, owners and hard links are
 * accepted. */
HcStatus hc_watch_check(const HcWatch *watch, HcError *err) HC_MUST_CHECK;

void hc_watch_clear(HcWatch *watch);

#endif
