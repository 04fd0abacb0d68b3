/* Small whole files: written under a temporary name and renamed, read at once. */
#ifndef HC_IO_FILE_H
#define HC_IO_FILE_H

#include "core/system/flag.h"
#include "core/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Writes `bytes` bytes to `path`: a temporary name beside it, fsync, rename. An existing file is replaced
 * only with `overwrite` (HC_E_USAGE otherwise). */
HcStatus hc_file_write(const char *path, const void *data, size_t bytes, bool overwrite,
                       HcError *err) HC_MUST_CHECK;

/* The same without fsync, for files that describe a cube: the cube is not flushed either. */
HcStatus hc_file_write_unflushed(const char *path, const void *data, size_t bytes, bool overwrite,
                                 HcError *err) HC_MUST_CHECK;

/* Reads a whole file into fresh memory, terminated by a 0 that `bytes` does not count. Refuses files
 * larger than `limit`, and pipes and devices except those under /dev and /proc. */
HcStatus hc_file_read(const char *path, size_t limit, char **data, size_t *bytes, HcError *err) HC_MUST_CHECK;

/* From begin to end (which may be nested) this thread asks each folder once for its names, and answers by
 * them which files are missing. Files that appear meanwhile are not seen. */
void hc_file_names_begin(void);
void hc_file_names_end(void);
/* Whether such a list lacks the file. false: it may be there. */
bool hc_file_is_unlisted(const char *path);

/* Reads exactly these bytes of an open file; returns 0, an errno, or -1 where the file ends before. */
int hc_file_read_at(int file, void *to, size_t bytes, int64_t at) HC_MUST_CHECK;
/* Writes all bytes into an open file from `at` on; returns 0 or an errno. */
int hc_file_write_at(int file, const void *data, size_t bytes, int64_t at) HC_MUST_CHECK;

/* Removes a file or an object, if it is there. */
void hc_file_remove(const char *path);

/* The folder in which partials and claims of a path lie: its own, or of an object one below the scratch
 * folder (io/scratch.h), which this may make. Fresh memory, NULL when there is none left. The second removes
 * it if it is empty, and those above it. */
char *hc_file_near(const char *path, bool make);
void hc_file_leave_near(const char *path);

/* *left: a process was killed while it sent this object, or is sending it. false for local files. */
HcStatus hc_file_is_left(const char *path, bool *left, HcError *err) HC_MUST_CHECK;
/* The object is complete, or gone: removes what says that it is being sent. */
void hc_file_end_upload(const char *path);

/* The part of a path after its last slash, borrowed; and the part before it, "." where there is none, in
 * fresh memory (NULL when there is none left). */
const char *hc_file_base(const char *path);
char *hc_file_folder(const char *path);

/* What hc_file_write would refuse: the directory missing or not writable, an existing file without
 * `overwrite`. */
HcStatus hc_file_check(const char *path, bool overwrite, HcError *err) HC_MUST_CHECK;

/* Whether a local path is a folder with Zarr in it, which counts as one file: an output replaces it whole. */
bool hc_file_is_store(const char *path);

/* "DIR/.NAME.PID-N-....partial/NAME": a temporary name for `path`, fresh memory, in a fresh hidden folder
 * beside it; for an object of a server in the scratch folder (io/scratch.h). Drivers then see the ending and
 * the name that the file will have, and every sidecar that they make lies with it. The folder is removed by
 * hc_file_remove_partials if the process is interrupted before hc_file_keep. Removes what dead processes have
 * left of `path` (hc_file_remove_dead). */
HcStatus hc_file_partial(const char *path, char **partial, HcError *err) HC_MUST_CHECK;

/* Moves all that lies beside partial to the folder of `path`, partial itself to `path` and last, and
 * forgets it. With `overwrite` an existing `path` and its sidecars (hc_file_sidecars) are replaced; without
 * it nothing is ever replaced (HC_E_USAGE). Of a failure nothing new remains but the partial, and what was
 * replaced is back. (Objects of servers are sent then, and what they have replaced is gone.) Nothing is
 * flushed to the disk here unless hc_file_flush_all says so. While a set is open on this thread, the partial
 * joins the set, and gets its name by hc_file_commit. */
HcStatus hc_file_keep(const char *partial, const char *path, bool overwrite, HcError *err) HC_MUST_CHECK;

/* How standard output is named as an output. */
#define HC_FILE_STANDARD_OUTPUT "-"

/* The bytes of partial go to standard output, and it is removed; `path` as it was given to hc_file_partial.
 * Nothing that lies beside it is sent. In a set (below) that is the last step of the commit: where it fails,
 * no file of the set gets its name. The set knows it by the name HC_FILE_STANDARD_OUTPUT. `cancel` ends a
 * wait for the reader (HC_E_CANCELLED); it may be NULL, and is borrowed until the commit. */
HcStatus hc_file_send(const char *partial, const char *path, const HcFlag *cancel,
                      HcError *err) HC_MUST_CHECK;

/* Endings of the files that GDAL keeps beside a raster, which go with it; ends with NULL. */
extern const char *const hc_file_sidecars[];

/* A set: files that get their names together, or none of them.
 *
 *     HC_TRY(hc_file_begin(inputs, input_count, err));
 *     ...                          write pictures, rasters, models and records in any way of this header
 *     HC_TRY(hc_file_commit(err));
 * done:
 *     hc_file_rollback();          does nothing after a commit
 *
 * A set belongs to the thread that opened it. `kept` [count] are files that no step of the set may replace or
 * remove, whatever its `overwrite` says (HC_E_USAGE at the commit); one that is missing is passed over. */
HcStatus hc_file_begin(const char *const *kept, int32_t count, HcError *err) HC_MUST_CHECK;

/* The file at `path`, if there is one, is removed by the commit before any other gets its name: for records
 * of outputs that are about to be replaced. Without a set it is removed now. */
HcStatus hc_file_retire(const char *path, HcError *err) HC_MUST_CHECK;

/* Gives all files of the set their names, in the order in which they joined it. When one fails, those before
 * it lose their names again, and what they have replaced is back. A process that is killed meanwhile leaves
 * some of them with their names, each of them whole. */
HcStatus hc_file_commit(HcError *err) HC_MUST_CHECK;

/* Closes the set and removes its files. */
void hc_file_rollback(void);

/* Calls `visit` for every file that the open set will give a name, in the order in which they joined it, with
 * what lies beside them, by name: where it lies now, and its name. Ends at the first failure. */
typedef HcStatus (*HcFileVisit)(const char *lies, const char *path, void *user, HcError *err);
HcStatus hc_file_visit(HcFileVisit visit, void *user, HcError *err) HC_MUST_CHECK;

/* Where the file lies that has this name, or will have it by the open set; fresh memory. */
HcStatus hc_file_find(const char *path, char **found, HcError *err) HC_MUST_CHECK;

/* From now on hc_file_keep flushes every file to the disk before it gets its name, and the new name too: what
 * has its name is then whole after a power failure as well. For archives; a single run does not wait for the
 * disk. */
void hc_file_flush_all(bool flush);

/* Removes partials of `path` that other processes have left, dead ones as the caller knows; and where `path`
 * itself is missing the sidecars that belong to such a partial, or belonged to what it was about to replace.
 */
void hc_file_remove_leftovers(const char *path);

/* The same for processes of this host that are known to be dead. Their number is free or was given to
 * another process, or they ran before the host was started anew. Partials of other hosts and of other name
 * spaces of processes stay. So do files beside `path` that do not come from such a partial. */
void hc_file_remove_dead(const char *path);

/* The next looks for leftovers see folders as they are: a process has died since the last ones. (A large
 * folder is not looked at each time.) */
void hc_file_look_anew(void);

/* Does so with one look at the whole folder of `path`, for files whose names end with `ending` and have no
 * sidecars. Where such a name is too long to be part of another name, its partials stay. */
void hc_file_remove_dead_beside(const char *path, const char *ending);

/* Removes partial with all that lies beside it, and forgets it. NULL is fine. */
void hc_file_drop(const char *partial);

/* Removes what every partial of this process has left so far: for the end of the process and for Ctrl-C.
 * Takes a lock, so not for a signal handler; takes no memory. */
void hc_file_remove_partials(void);

/* The same for the handler of a signal that ends the process. If another thread holds the lock, the
 * partials stay for the next run. */
void hc_file_remove_partials_at_crash(void);

/* Whether something is at a path, and what it is. Fails where that cannot be found out (EIO): such a file is
 * not missing. The second does not follow a link. */
HcStatus hc_file_look(const char *path, struct stat *info, bool *there, HcError *err) HC_MUST_CHECK;
HcStatus hc_file_look_at_link(const char *path, struct stat *info, bool *there, HcError *err) HC_MUST_CHECK;
HcStatus hc_file_is_there(const char *path, bool *there, HcError *err) HC_MUST_CHECK;
/* The same for a caller that opens the file next, and reports then why that fails: false only where nothing
 * is there, not even a link that leads nowhere. */
bool hc_file_may_be_there(const char *path);

/* Whether a path leads to a pipe, a socket or a device, on which open() may wait for ever. Not for /vsi
 * paths. */
bool hc_file_is_special(const char *path);

/* Fails (HC_E_INPUT) where it does. For every file that is opened by its name. */
HcStatus hc_file_check_regular(const char *path, HcError *err) HC_MUST_CHECK;

/* Checks the file and all files in its folder whose names begin with its stem (the name without its
 * ending): libraries open headers, statistics and masks beside a scene without asking what they are. */
HcStatus hc_file_check_companions(const char *path, HcError *err) HC_MUST_CHECK;

/* Whether two paths lead to one existing file. */
bool hc_file_same(const char *a, const char *b);

/* The same, or whether they are one name in one folder: of files that are yet to be made. */
bool hc_file_same_place(const char *a, const char *b);

/* Drops a file from the system's page cache where that can be, so that it is read from the disk again. */
void hc_file_uncache(const char *path);

/* Size [bytes] and time of last change [s since 1970]; false when there is no such file. NULL is fine
 * for what is not wanted. */
bool hc_file_identity(const char *path, int64_t *size, int64_t *modified);

#ifdef __cplusplus
}
#endif
#endif
