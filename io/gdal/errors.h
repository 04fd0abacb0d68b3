/* What GDAL says, kept for our own one line and never printed. */
#ifndef HC_IO_GDAL_ERRORS_H
#define HC_IO_GDAL_ERRORS_H

#include "core/text.h"

#include <errno.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The first failure of GDAL in this thread since hc_gdal_catch. */
typedef struct HcGdalErrors {
    bool failed;
    bool memory; /* GDAL says that memory ran out */
    int number;  /* errno when it was reported, 0 = none */
    char text[400];
    char warning[200]; /* the first warning */
} HcGdalErrors;

/* Registers the drivers at the first call, and collects the messages of this thread in `errors` until
 * hc_gdal_release. Calls nest. */
void hc_gdal_catch(HcGdalErrors *errors);
void hc_gdal_release(void);

/* Collects the warnings of GDAL in this thread from now on, each once and one a line, also those of nested
 * catches; NULL ends it. Returns the text that was filled before. Only within hc_gdal_catch does GDAL report.
 */
HcText *hc_gdal_listen(HcText *warnings);

/* From now on debug output of these file systems of servers is taken in this thread, within hc_gdal_catch,
 * and goes to hc_said_hear() (io/gdal/said.h); NULL ends it. */
void hc_gdal_hear_servers(const char *systems);

/* HDF5 prints each failure, in each thread, unless it is switched off there. From hc_gdal_catch on it is kept
 * instead: what HDF5 said last in this thread since then, of the innermost call, as one line; "" where
 * nothing. GDAL and netCDF mostly keep that to themselves. Of calls that probe, it says nothing of value. */
const char *hc_hdf5_said(void);
/* The cause that such a text with the number of a failed system call reports: HC_E_MEMORY, HC_E_IO, or
 * what the file holds (HC_E_INPUT). */
HcStatus hc_hdf5_status(const char *said);
/* Has HDF5 keep its messages in this thread, where it calls HDF5 past GDAL; and again after netCDF was
 * opened, which turns messages off. */
void hc_hdf5_listen(void);

/* Why a read through GDAL failed, and whose fault it is: `otherwise`, unless GDAL, HDF5 or errno says that it
 * was memory, the disk, or (HC_E_INPUT) what the file holds. *reason is valid until the next hc_gdal_catch.
 */
HcStatus hc_gdal_why(const HcGdalErrors *errors, HcStatus otherwise, const char **reason);

/* GDAL ends the program by abort() after a fatal error, mostly a lack of memory. `leave` is called just
 * before, in the thread of the error, with its text, and may end the program in a better way. It holds for
 * the whole program: set it before any thread calls GDAL. */
void hc_gdal_on_fatal(void (*leave)(const char *text, bool memory));

/* The status of a failed system call: HC_E_MEMORY or HC_E_IO where errno says that memory, descriptors or the
 * disk failed, so that the file itself is not to blame; else `otherwise`. */
static inline HcStatus hc_errno_status(int number, HcStatus otherwise) {
    switch (number) {
    case ENOMEM:
        return HC_E_MEMORY;
    case EIO:
    case EMFILE:
    case ENFILE:
    case ESTALE:
    case ENOSPC:
    case EFBIG:
    case EDQUOT:
        return HC_E_IO;
    default:
        return otherwise;
    }
}

/* "path: what GDAL said": the text of the failure, put as "No space left on device" where that is after it.
 * The status is HC_E_MEMORY or HC_E_IO instead where GDAL or errno says so. */
HcStatus hc_gdal_fail(HcError *err, HcStatus status, const char *path, const HcGdalErrors *errors);

#ifdef __cplusplus
}
#endif
#endif
