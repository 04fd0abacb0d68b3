/* Small whole files: written under a temporary name and renamed, read at once. */
#ifndef HC_IO_FILE_H
#define HC_IO_FILE_H

#include "core/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Writes `bytes` bytes to `path`: a temporary name beside it, fsync, rename. An existing file is replaced
 * only with `overwrite` (HC_E_USAGE otherwise). */
HcStatus hc_file_write(const char *path, const void *data, size_t bytes, bool overwrite,
                       HcError *err) HC_MUST_CHECK;

/* The same without fsync: for what describes a cube, which is not flushed either. */
HcStatus hc_file_write_unflushed(const char *path, const void *data, size_t bytes, bool overwrite,
                                 HcError *err) HC_MUST_CHECK;

/* Reads a whole file into fresh memory, terminated by a 0 that `bytes` does not count. Refuses more than
 * `limit`. */
HcStatus hc_file_read(const char *path, size_t limit, char **data, size_t *bytes, HcError *err) HC_MUST_CHECK;

/* What hc_file_write would refuse: the directory missing or not writable, an existing file without
 * `overwrite`. */
HcStatus hc_file_check(const char *path, bool overwrite, HcError *err) HC_MUST_CHECK;

/* "DIR/.NAME.PID-N.partial/NAME": a temporary name for `path`, fresh memory, in a fresh hidden directory
 * beside it, so that drivers see the ending and the name that the file will have, and so that every sidecar
 * that they make lies with it. The directory is removed by hc_file_remove_partials if the process is
 * interrupted before hc_file_keep. */
HcStatus hc_file_partial(const char *path, char **partial, HcError *err) HC_MUST_CHECK;

/* Moves all that lies beside partial to the directory of `path`, partial itself to `path` and last, and
 * forgets it. With `overwrite` an existing `path` and its sidecars (.aux.xml, .ovr, .msk) are replaced;
 * without it nothing is ever replaced (HC_E_USAGE). Of a failure nothing new remains but the partial. Nothing
 * is flushed to the disk here unless hc_file_flush_all says so. */
HcStatus hc_file_keep(const char *partial, const char *path, bool overwrite, HcError *err) HC_MUST_CHECK;

/* From now on hc_file_keep flushes every file to the disk before it gets its name, and the new name too: what
 * has its name is then whole after a power failure as well. For archives; a single run does not wait for the
 * disk. */
void hc_file_flush_all(bool flush);

/* Removes partials of `path` that other processes have left, dead ones as the caller knows; and where `path`
 * itself is missing the sidecars that belong to such a partial, or belonged to what it was about to replace.
 */
void hc_file_remove_leftovers(const char *path);

/* Removes partial with all that lies beside it, and forgets it. NULL is fine. */
void hc_file_drop(const char *partial);

/* Removes what every partial of this process has left so far: for the end of the process and for Ctrl-C.
 * Takes a lock and allocates, so not for a signal handler. */
void hc_file_remove_partials(void);

/* Whether two paths lead to one existing file. */
bool hc_file_same(const char *a, const char *b);

/* Size [bytes] and time of last change [s since 1970]; false when there is no such file. NULL is fine
 * for what is not wanted. */
bool hc_file_identity(const char *path, int64_t *size, int64_t *modified);

#ifdef __cplusplus
}
#endif
#endif
