/* Files of servers (/vsicurl/, /vsis3/ and kin): read by ranges, several requests at once, through GDAL. A
 * request that fails for a while (429, 5xx, timeouts, bodies that end early) is made again.
 *
 *     HcRemote *file = NULL;
 *     HC_TRY(hc_remote_open(&file, "/vsicurl/https://host/scene.tif", err));
 *     HC_TRY(hc_remote_read(file, to, 65536, 0, err));          any thread
 *     hc_remote_close(file); */
#ifndef HC_IO_GDAL_REMOTE_H
#define HC_IO_GDAL_REMOTE_H

#include "core/status.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Requests at once, where the user names no number: they wait, and take no processor. */
enum { HC_REMOTE_THREADS = 16 };

/* "https://host/a.tif" as GDAL names it, "/vsicurl/https://host/a.tif"; so for s3://, gs://, az:// and
 * ftp://. Other paths are returned as they are. The text stays until the process ends. */
const char *hc_remote_name(const char *path);

/* Whether a file lies on a server. */
bool hc_remote_is(const char *path);
/* Whether it is an object store, which takes outputs. */
bool hc_remote_takes(const char *path);

/* GDAL's settings for the files at `path` and beside it with the same stem: folders are not listed, sidecars
 * not looked for. From begin to end this thread also repeats requests that fail, and gives up those that
 * stand still. What the user has set stays. Other paths are left as they are. */
void hc_remote_begin(const char *path);
void hc_remote_end(void);

/* Before the end: whether what was opened is to be opened again, for want of an answer; waits before that.
 * `tries` is the number of times that it was. What is lost for good is noted (io/gdal/files.h). */
bool hc_remote_again(const char *path, int tries);

/* Around pixels that GDAL reads, each file once, outside of begin and end: what is lost between the two is
 * noted and not repeated, since drivers go on with the next block, and each would be repeated. */
void hc_remote_watch(const char *path);
void hc_remote_settle(const char *path);

/* Closes the connections of this thread, before a fork: the child would use them, too. */
void hc_remote_before_fork(void);

/* What tells one version of a file from another (ETag, time, size), as a text in fresh memory. HC_E_INPUT
 * where there is no such file, or it may not be read; HC_E_IO where the server cannot be asked. Asks the
 * server each time. */
HcStatus hc_remote_state(const char *path, char **state, HcError *err) HC_MUST_CHECK;

/* Whether there is such an object, its size [bytes] and the time of its last change [s since 1970]. Asks the
 * server each time; what may not be read or asked is a failure. */
HcStatus hc_remote_look_up(const char *path, bool *there, int64_t *size, int64_t *modified,
                           HcError *err) HC_MUST_CHECK;

/* Sends a local file, in parts where it is large, and looks whether the object has its size. One that is
 * there is replaced. Of a failure no part remains, as far as the server can be asked; it says why, without
 * the path. */
HcStatus hc_remote_put(const char *path, const char *from, HcError *err) HC_MUST_CHECK;
/* Removes an object; one that is not there is removed already. */
HcStatus hc_remote_remove(const char *path, HcError *err) HC_MUST_CHECK;
/* Ends uploads in parts that a dead process has begun for that name. Nobody may be sending it. */
void hc_remote_abort(const char *path);

typedef struct HcRemote HcRemote;

/* Any /vsi path: those that are on no server are read one after the other. */
HcStatus hc_remote_open(HcRemote **out, const char *path, HcError *err) HC_MUST_CHECK;
/* NULL is fine. */
void hc_remote_close(HcRemote *file);
int64_t hc_remote_size(const HcRemote *file);

/* Reads exactly these bytes, by one request. The failure says why, without the name of the file: "the server
 * answers 503". */
HcStatus hc_remote_read(HcRemote *file, void *to, int64_t bytes, int64_t at, HcError *err) HC_MUST_CHECK;
/* The same through GDAL's cache of 16 KiB pieces: for many small reads, such as those of a directory. */
HcStatus hc_remote_look(HcRemote *file, void *to, int64_t bytes, int64_t at, HcError *err) HC_MUST_CHECK;

/* A whole file of a server by one request, without a look before: *bytes = its size, at most `most`; 0 where
 * there is none. The failure says why, without the name. Any thread. */
HcStatus hc_remote_fetch(const char *path, void *to, int64_t most, int64_t *bytes,
                         HcError *err) HC_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
