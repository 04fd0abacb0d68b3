/* Small files, whole or not at all. */
#include "io/file/parts.h"
#include "io/gdal/errors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* Writes all and closes, also on failure; returns 0 or an errno. */
static int write_all(int file, const char *data, size_t bytes) {
    int number = 0;
    while (bytes > 0 && number == 0) {
        ssize_t wrote = write(file, data, bytes);
        if (wrote >= 0) {
            data += wrote;
            bytes -= (size_t)wrote;
        } else if (errno != EINTR) {
            number = errno;
        }
    }
    if (close(file) != 0 && number == 0) {
        number = errno;
    }
    return number;
}

int hc_file_write_at(int file, const void *data, size_t bytes, int64_t at) {
    for (const char *from = data; bytes > 0;) {
        ssize_t wrote = pwrite(file, from, bytes, at);
        if (wrote < 0 && errno != EINTR) {
            return errno;
        }
        if (wrote == 0) {
            return ENOSPC; /* a system that takes nothing and gives no reason */
        }
        wrote = wrote > 0 ? wrote : 0;
        from += wrote;
        bytes -= (size_t)wrote;
        at += wrote;
    }
    return 0;
}

static HcStatus write_file(const char *path, const void *data, size_t bytes, bool overwrite, bool flush,
                           HcError *err) {
    HcStatus status = HC_OK;
    char *partial = NULL;
    HC_TRY(hc_file_check(path, overwrite, err));
    HC_TRY(hc_file_partial(path, &partial, err));
    int file = open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    int number = file < 0 ? errno : write_all(file, data, bytes);
    if (number != 0) {
        status = hc_file_fail(err, HC_E_IO, path, number);
        goto done;
    }
    HC_TRY(hc_file_keep_flushed(partial, path, overwrite, flush, err));
done:
    if (status != HC_OK) {
        hc_file_drop(partial);
    }
    free(partial);
    return status;
}

HcStatus hc_file_write(const char *path, const void *data, size_t bytes, bool overwrite, HcError *err) {
    return write_file(path, data, bytes, overwrite, true, err);
}

HcStatus hc_file_write_unflushed(const char *path, const void *data, size_t bytes, bool overwrite,
                                 HcError *err) {
    return write_file(path, data, bytes, overwrite, false, err);
}
