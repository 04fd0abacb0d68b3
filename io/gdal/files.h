/* Local files as GDAL reads and writes them. Many drivers put zeros where a read fails or a file ends too
 * early, or leave out what could not be written, and report success. So GDAL opens all files through a
 * handler of ours, which notes what its drivers may hide. */
#ifndef HC_IO_GDAL_FILES_H
#define HC_IO_GDAL_FILES_H

#include "core/status.h"

#include <cpl_vsi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Puts the handler in the place of the one for plain file names. Call once, before files are opened. */
void hc_gdal_files_install(void);

/* The number of notes so far, of all threads. */
int64_t hc_gdal_files_mark(void);

/* HC_E_IO (HC_E_MEMORY) with the file and the reason where a file or folder could not be opened, read,
 * written or listed since that mark; HC_E_INPUT where a file ended within its pixels. */
HcStatus hc_gdal_files_check(int64_t mark, HcError *err) HC_MUST_CHECK;

/* Combines the check with the status of a call: the notes come before its own failure. */
static inline HcStatus hc_gdal_files_settle(int64_t mark, HcStatus status, const HcError *failure,
                                            HcError *err) {
    HcStatus lost = hc_gdal_files_check(mark, err);
    if (lost == HC_OK && err != NULL && err->status == HC_OK) {
        *err = *failure; /* with its place in the sources */
    }
    return lost != HC_OK ? lost : status;
}

/* Adds a note of another library, whose reads do not come here. error: errno. */
void hc_gdal_files_note(const char *path, int error);
/* The same with the whole failure, which names the file. */
void hc_gdal_files_note_failure(const HcError *failure);

/* remote.cpp: VSIStatExL(): whether something is at the path. Notes a file or folder that cannot be looked
 * at, which is not a missing one, with every version of GDAL. */
bool hc_gdal_stat(const char *path, VSIStatBufL *info, int flags);

/* Notes for SQLite, which names no file: the file is that of the last call of the first function. */
void hc_gdal_files_sqlite(const char *path);
void hc_gdal_files_note_sqlite(void);

/* Says that this thread begins or ends to read pixels: the end of a file counts as a failure meanwhile. While
 * drivers probe a file or read its header, they may come to its end. Calls do not nest. */
void hc_gdal_files_pixels(bool begin);

#ifdef __cplusplus
}
#endif
#endif
