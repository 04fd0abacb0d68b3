#include "io/identity.h"
#include "core/allocate.h"
#include "core/hash.h"
#include "io/gdal/errors.h"
#include "io/gdal/files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PIECE ((size_t)1 << 20)

static HcStatus hash_file(const char *path, HcIdentity *out, HcError *err) {
    HcStatus status = HC_OK;
    XXH64_state_t hash;
    int64_t length = 0;
    size_t got = 0;
    char *piece = NULL;
    errno = 0;
    VSILFILE *file = VSIFOpenL(path, "rb");
    if (file == NULL) {
        HC_TRY(hc_fail(err, hc_errno_status(errno, HC_E_INPUT), "%s: cannot be read", path));
    }
    HC_TRY(hc_new(piece, PIECE, path, err));
    XXH64_reset(&hash, 0);
    for (; (got = VSIFReadL(piece, 1, PIECE, file)) > 0; length += (int64_t)got) {
        XXH64_update(&hash, piece, got);
    }
    /* Reading that fails ends early too. */
    if (length != out->bytes) {
        HC_TRY(hc_fail(err, HC_E_IO, "%s: %lld of %lld bytes could be read", path, (long long)length,
                       (long long)out->bytes));
    }
    out->hash = XXH64_digest(&hash);
    out->hashed = true;
done:
    if (file != NULL) {
        VSIFCloseL(file);
    }
    free(piece);
    return status;
}

/* A file that is not there has no identity; one that the disk does not give is a failure. */
static HcStatus look_up(const char *path, HcIdentity *out, HcError *err) {
    VSIStatBufL remote;
    struct stat local;
    if (strncmp(path, "/vsi", 4) != 0) {
        if (stat(path, &local) != 0) {
            HcStatus status = hc_errno_status(errno, HC_OK);
            return status == HC_OK ? HC_OK : hc_fail(err, status, "%s: %s", path, strerror(errno));
        }
        if (S_ISREG(local.st_mode)) {
            *out = (HcIdentity){.exists = true,
                                .bytes = (int64_t)local.st_size,
                                .seconds = (int64_t)local.st_mtim.tv_sec,
                                .nanoseconds = (int64_t)local.st_mtim.tv_nsec};
        }
        return HC_OK;
    }
    int64_t mark = hc_gdal_files_mark();
    if (hc_gdal_stat(path, &remote, 0) && !S_ISDIR(remote.st_mode)) {
        *out = (HcIdentity){
            .exists = true, .bytes = (int64_t)remote.st_size, .seconds = (int64_t)remote.st_mtime};
    }
    return hc_gdal_files_check(mark, err);
}

HcStatus hc_identity_of(const char *path, bool hash, HcIdentity *out, HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors messages;
    *out = (HcIdentity){0};
    hc_gdal_catch(&messages);
    HC_TRY(look_up(path, out, err));
    if (hash && out->exists) {
        status = hash_file(path, out, err);
    }
done:
    hc_gdal_release();
    return status;
}
