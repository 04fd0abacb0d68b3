/* Libraries print, warn in several lines, and report success after failures. Handlers of GDAL and HDF5 keep
 * what they say, per thread. So our one line names the reason, and a failed read that a driver hides is
 * noticed. */
#include "io/gdal/errors.h"
#include "io/gdal/files.h"
#include "io/gdal/proj.h"
#include "io/gdal/said.h"

#include <cpl_conv.h>
#include <cpl_error.h>
#include <dlfcn.h>
#include <errno.h>
#include <gdal.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <hdf5.h>

static pthread_once_t drivers_once = PTHREAD_ONCE_INIT;
static void (*leave_at_fatal)(const char *text, bool memory);

void hc_gdal_on_fatal(void (*leave)(const char *text, bool memory)) {
    leave_at_fatal = leave;
}

static void CPL_STDCALL on_fatal_only(CPLErr level, CPLErrorNum code, const char *text) {
    if (level == CE_Fatal && leave_at_fatal != NULL) {
        /* Its smallest allocations fail without that code. */
        leave_at_fatal(text, code == CPLE_OutOfMemory || strstr(text, "Out of memory") != NULL);
    }
}

/* ---- warnings ---- */

static _Thread_local HcText *listening;

HcText *hc_gdal_listen(HcText *warnings) {
    HcText *before = listening;
    listening = warnings;
    return before;
}

/* Whether the list has this line. */
static bool has_line(const HcText *list, const char *line) {
    size_t length = strlen(line);
    const char *at = list->data;
    while (at != NULL && (at = strstr(at, line)) != NULL) {
        if ((at == list->data || at[-1] == '\n') && at[length] == '\n') {
            return true;
        }
        at++;
    }
    return false;
}

/* What the netCDF driver says of the axes of most files, the order of which is checked here (axes.c). */
static bool is_of_axes(const char *text) {
    return (strncmp(text, "dimension #", 11) == 0 && strstr(text, " is not a ") != NULL) ||
           strncmp(text, "No 1D variable is indexed by dimension", 38) == 0;
}

static void keep_warning(const char *text) {
    char line[200];
    if (is_of_axes(text)) {
        return;
    }
    snprintf(line, sizeof line, "%s", text);
    for (char *at = line; *at != '\0'; at++) {
        *at = *at == '\n' || *at == '\r' ? ' ' : *at;
    }
    if (listening != NULL && !has_line(listening, line)) {
        hc_text_add(listening, "%s\n", line);
    }
}

static _Thread_local const char *heard; /* whose debug output; NULL = none */
static _Thread_local int catching;

void hc_gdal_hear_servers(const char *systems) {
    heard = systems;
    hc_said_restart();
}

static void CPL_STDCALL on_message(CPLErr level, CPLErrorNum code, const char *text) {
    int number = errno;
    on_fatal_only(level, code, text);
    hc_proj_note(text);
    if (heard != NULL) {
        hc_said_hear(text);
    }
    HcGdalErrors *errors = CPLGetErrorHandlerUserData();
    if (level == CE_Warning) {
        keep_warning(text);
        if (errors->warning[0] == '\0') {
            snprintf(errors->warning, sizeof errors->warning, "%s", text);
        }
    }
    if (level < CE_Failure || errors->failed) {
        return;
    }
    errors->failed = true;
    errors->memory = code == CPLE_OutOfMemory;
    errors->number = number;
    snprintf(errors->text, sizeof errors->text, "%s", text);
}

/* Unless it is told otherwise, libtiff prints failures of its writes. The driver of GDAL 3.10 does not take
 * these over, and reports them as well. A GDAL with a libtiff of its own has no such symbol. */
static void silence_libtiff(void) {
    typedef void (*Handler)(const char *module, const char *format, va_list arguments);
    Handler (*set)(Handler) = NULL;
    *(void **)&set = dlsym(RTLD_DEFAULT, "TIFFSetErrorHandler");
    if (set != NULL) {
        (void)set(NULL);
    }
}

/* ---- HDF5 ---- */

static _Thread_local char hdf5_said[240];

const char *hc_hdf5_said(void) {
    return hdf5_said;
}

static _Thread_local bool listens;
static bool shared; /* threads may call the library, and each has messages of its own */

static herr_t keep_innermost(unsigned number, const H5E_error2_t *error, void *user) {
    (void)user;
    if (number == 0 && error->desc != NULL) {
        snprintf(hdf5_said, sizeof hdf5_said, "HDF5 says: %.200s", error->desc);
    }
    return 0;
}

/* netCDF opens a file without what it could not read, and HDF5 gives zeros the next time. */
static void note_failed_read(void) {
    char path[200] = "";
    int number = 0;
    const char *name = strstr(hdf5_said, "filename = '"), *error = strstr(hdf5_said, "errno = ");
    if (strstr(hdf5_said, "file read failed") != NULL && name != NULL && error != NULL &&
        sscanf(name, "filename = '%199[^']", path) == 1 && sscanf(error, "errno = %d", &number) == 1 &&
        hc_errno_status(number, HC_OK) != HC_OK) {
        hc_gdal_files_note(path, number);
    }
}

/* In the place of the one that prints. */
static herr_t on_hdf5_failure(hid_t stack, void *user) {
    (void)user;
    (void)H5Ewalk2(stack, H5E_WALK_UPWARD, keep_innermost, NULL);
    for (char *at = hdf5_said; *at != '\0'; at++) {
        *at = *at == '\n' || *at == '\r' ? ' ' : *at;
    }
    note_failed_read();
    return 0;
}

/* After a failed write HDF5 keeps the file, and dies by a signal where it tries again at the end. */
static void listen_first(void) {
    hbool_t found = false;
    (void)H5dont_atexit();
    shared = H5is_library_threadsafe(&found) >= 0 && found;
    (void)H5Eset_auto2(H5E_DEFAULT, on_hdf5_failure, NULL);
}

void hc_hdf5_listen(void) {
    if (shared) {
        listens = true;
        (void)H5Eset_auto2(H5E_DEFAULT, on_hdf5_failure, NULL);
    }
}

/* Once a thread: it takes the lock of the library, which another thread may hold while it reads. */
static void listen_once(void) {
    if (!listens) {
        hc_hdf5_listen();
    }
}

/* Drivers push GDAL's quiet handler, which hands debug output on to a log: standard error where none is set.
 * The output that is listened to (hear) would be printed there. */
static void silence_quiet_handler(void) {
    if (CPLGetConfigOption("CPL_DEBUG", NULL) == NULL && CPLGetConfigOption("CPL_LOG", NULL) == NULL) {
        CPLSetConfigOption("CPL_LOG", "/dev/null");
    }
}

/* hc_gdal_catch holds for the calling thread. Threads of GDAL (GDAL_NUM_THREADS) would print: what fails
 * there comes back as a failure of the call. */
static void start_gdal(void) {
    listen_first();
    hc_proj_listen();
    silence_libtiff(); /* before the driver, which may set its own */
    hc_gdal_files_install();
    silence_quiet_handler();
    GDALAllRegister();
    CPLSetErrorHandler(on_fatal_only);
}

void hc_gdal_catch(HcGdalErrors *errors) {
    pthread_once(&drivers_once, start_gdal);
    *errors = (HcGdalErrors){0};
    listen_once();
    hdf5_said[0] = '\0';
    CPLErrorReset();
    errno = 0;
    CPLPushErrorHandlerEx(on_message, errors);
    catching++;
    if (heard != NULL) {
        CPLSetThreadLocalConfigOption("CPL_DEBUG", heard);
    }
}

void hc_gdal_release(void) {
    CPLPopErrorHandler();
    if (--catching == 0 && heard != NULL) { /* nobody would take it */
        CPLSetThreadLocalConfigOption("CPL_DEBUG", NULL);
    }
}

HcStatus hc_gdal_fail(HcError *err, HcStatus status, const char *path, const HcGdalErrors *errors) {
    const char *text = errors->failed ? errors->text : "GDAL failed without a message";
    status = errors->memory ? HC_E_MEMORY : hc_errno_status(errors->number, status);
    /* Only these are the cause for sure: errno may be left over from anything. */
    bool full = errors->number == ENOSPC || errors->number == EFBIG || errors->number == EDQUOT;
    if (full && strstr(text, strerror(errors->number)) == NULL) {
        return hc_fail(err, HC_E_IO, "%s: %s (%s)", path, strerror(errors->number), text);
    }
    /* Many of its messages begin with the name of the file. */
    size_t length = strlen(path);
    if (strncmp(text, path, length) == 0 && strncmp(text + length, ": ", 2) == 0) {
        return hc_fail(err, status, "%s", text);
    }
    return hc_fail(err, full ? HC_E_IO : status, "%s: %s", path, text);
}

HcStatus hc_hdf5_status(const char *said) {
    const char *number = strstr(said, "errno = ");
    bool memory = strstr(said, "memory allocation failed") != NULL;
    return memory ? HC_E_MEMORY : number != NULL ? hc_errno_status(atoi(number + 8), HC_E_IO) : HC_E_INPUT;
}

HcStatus hc_gdal_why(const HcGdalErrors *errors, HcStatus otherwise, const char **reason) {
    *reason = hdf5_said[0] != '\0' ? hdf5_said : errors->failed ? errors->text : "no reason given";
    if (errors->memory) {
        return HC_E_MEMORY;
    }
    if (hdf5_said[0] == '\0' && errors->failed && strstr(errors->text, "NetCDF: Filter error") != NULL) {
        return HC_E_INPUT; /* netCDF 4.9.3 looks for filters itself, before HDF5 does */
    }
    HcStatus status = hdf5_said[0] != '\0' ? hc_hdf5_status(hdf5_said) : otherwise;
    return errors->failed ? hc_errno_status(errors->number, status) : status;
}
