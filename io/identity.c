#include "io/identity.h"
#include "core/allocate.h"
#include "core/hash.h"
#include "io/file.h"
#include "io/gdal/errors.h"
#include "io/gdal/files.h"

#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PIECE ((size_t)1 << 20)

/* Adds the bytes of a file to a hash. */
static HcStatus hash_file(const char *path, int64_t bytes, XXH64_state_t *hash, HcError *err) {
    HcStatus status = HC_OK;
    int64_t length = 0;
    size_t got = 0;
    char *piece = NULL;
    errno = 0;
    VSILFILE *file = VSIFOpenL(path, "rb");
    if (file == NULL) {
        HC_TRY(hc_fail(err, hc_errno_status(errno, HC_E_INPUT), "%s: cannot be read", path));
    }
    HC_TRY(hc_new(piece, PIECE, path, err));
    for (; (got = VSIFReadL(piece, 1, PIECE, file)) > 0; length += (int64_t)got) {
        XXH64_update(hash, piece, got);
    }
    /* Reading that fails ends early too. */
    if (length != bytes) {
        HC_TRY(hc_fail(err, HC_E_IO, "%s: %lld of %lld bytes could be read", path, (long long)length,
                       (long long)bytes));
    }
done:
    if (file != NULL) {
        VSIFCloseL(file);
    }
    free(piece);
    return status;
}

static void add_file(HcIdentity *out, const struct stat *info) {
    int64_t seconds = (int64_t)info->st_mtim.tv_sec, nanoseconds = (int64_t)info->st_mtim.tv_nsec;
    bool newer = seconds > out->seconds || (seconds == out->seconds && nanoseconds > out->nanoseconds);
    *out = (HcIdentity){.exists = true,
                        .folder = out->folder,
                        .bytes = out->bytes + (int64_t)info->st_size,
                        .seconds = newer ? seconds : out->seconds,
                        .nanoseconds = newer ? nanoseconds : out->nanoseconds};
}

static int by_name(const FTSENT **a, const FTSENT **b) {
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* All files of Zarr in the order of their names, which are hashed, too. hash = NULL: their sizes and times.
 */
static HcStatus look_through(const char *store, XXH64_state_t *hash, HcIdentity *out, HcError *err) {
    HcStatus status = HC_OK;
    char *const roots[] = {(char *)store, NULL};
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
    FTSENT *entry = NULL;
    errno = walk != NULL ? 0 : errno;
    while (status == HC_OK && walk != NULL && (entry = fts_read(walk)) != NULL) {
        const char *name = entry->fts_path + strlen(store);
        if (entry->fts_info == FTS_F && hash == NULL) {
            add_file(out, entry->fts_statp);
        } else if (entry->fts_info == FTS_F) {
            XXH64_update(hash, name, strlen(name) + 1);
            status = hash_file(entry->fts_path, (int64_t)entry->fts_statp->st_size, hash, err);
        } else if (entry->fts_errno != 0 && entry->fts_info != FTS_D && entry->fts_info != FTS_DP) {
            status = hc_fail(err, hc_errno_status(entry->fts_errno, HC_E_INPUT), "%s: %s", entry->fts_path,
                             strerror(entry->fts_errno));
        }
    }
    if (status == HC_OK && errno != 0) {
        status = hc_fail(err, hc_errno_status(errno, HC_E_IO), "%s: %s", store, strerror(errno));
    }
    if (walk != NULL) {
        fts_close(walk);
    }
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
            add_file(out, &local);
        }
        out->folder = S_ISDIR(local.st_mode) && hc_file_is_store(path);
        return out->folder ? look_through(path, NULL, out, err) : HC_OK;
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
        XXH64_state_t state;
        XXH64_reset(&state, 0);
        HC_TRY(out->folder ? look_through(path, &state, out, err) : hash_file(path, out->bytes, &state, err));
        out->hash = XXH64_digest(&state);
        out->hashed = true;
    }
done:
    hc_gdal_release();
    return status;
}
