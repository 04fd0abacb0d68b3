#include "io/scratch.h"
#include "core/text.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

const char *hc_scratch_folder(void) {
    const char *folder = getenv("TMPDIR");
    return folder != NULL && folder[0] != '\0' ? folder : access("/var/tmp", W_OK) == 0 ? "/var/tmp" : "/tmp";
}

int hc_scratch_open(void) {
    const char *folder = hc_scratch_folder();
    int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
        /* A file system without files that have no name. */
        char *path = hc_text_format("%s/hcube-scratch-XXXXXX", folder);
        if (path == NULL) {
            errno = ENOMEM;
            return -1;
        }
        file = mkostemp(path, O_CLOEXEC);
        int number = errno;
        if (file >= 0) {
            (void)unlink(path);
        }
        free(path);
        errno = number;
    }
    return file;
}

double hc_scratch_free(void) {
    struct statfs disk;
    if (statfs(hc_scratch_folder(), &disk) != 0 || disk.f_type == TMPFS_MAGIC || disk.f_type == RAMFS_MAGIC) {
        return 0;
    }
    return (double)disk.f_bavail * (double)disk.f_bsize;
}

static int move(int file, int64_t at, char *data, size_t bytes, int writes) {
    for (size_t done = 0; done < bytes;) {
        ssize_t moved = writes ? pwrite(file, data + done, bytes - done, (off_t)at + (off_t)done)
                               : pread(file, data + done, bytes - done, (off_t)at + (off_t)done);
        if (moved > 0) {
            done += (size_t)moved;
        } else if (moved == 0 || errno != EINTR) {
            return moved == 0 ? -1 : errno;
        }
    }
    return 0;
}

int hc_scratch_write(int file, int64_t at, const void *data, size_t bytes) {
    return move(file, at, (char *)(uintptr_t)data, bytes, 1);
}

int hc_scratch_read(int file, int64_t at, void *data, size_t bytes) {
    return move(file, at, data, bytes, 0);
}

const char *hc_scratch_reason(int number) {
    return number > 0 ? strerror(number) : "it ends before";
}
