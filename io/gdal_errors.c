#include "io/gdal_errors.h"

#include <cpl_error.h>
#include <dlfcn.h>
#include <errno.h>
#include <gdal.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

static void CPL_STDCALL on_message(CPLErr level, CPLErrorNum code, const char *text) {
    int number = errno;
    on_fatal_only(level, code, text);
    HcGdalErrors *errors = CPLGetErrorHandlerUserData();
    if (level == CE_Warning && errors->warning[0] == '\0') {
        snprintf(errors->warning, sizeof errors->warning, "%s", text);
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

/* hc_gdal_catch holds for the calling thread. Threads of GDAL (GDAL_NUM_THREADS) would print: what fails
 * there comes back as a failure of the call. */
static void start_gdal(void) {
    silence_libtiff(); /* before the driver, which may set its own */
    GDALAllRegister();
    CPLSetErrorHandler(on_fatal_only);
}

void hc_gdal_catch(HcGdalErrors *errors) {
    pthread_once(&drivers_once, start_gdal);
    *errors = (HcGdalErrors){0};
    CPLErrorReset();
    errno = 0;
    CPLPushErrorHandlerEx(on_message, errors);
}

void hc_gdal_release(void) {
    CPLPopErrorHandler();
}

HcStatus hc_errno_status(int number, HcStatus otherwise) {
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
