#include "io/scratch.h"
#include "core/text.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double stated; /* 0 = no space was stated, and nothing is counted */
static double held;

bool hc_scratch_use(const char *folder, double space) {
    stated = space > 0 ? space : stated;
    return folder == NULL || setenv("TMPDIR", folder, 1) == 0; /* so that libraries take it, too */
}

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

void hc_scratch_close(int file) {
    struct stat info;
    if (file < 0) {
        return;
    }
    if (stated > 0 && fstat(file, &info) == 0) {
        hc_scratch_let_go((double)info.st_size);
    }
    close(file);
}

double hc_scratch_space(void) {
    return stated > 0 ? stated : INFINITY;
}

double hc_scratch_left(void) {
    pthread_mutex_lock(&lock);
    double left = hc_scratch_space() - held;
    pthread_mutex_unlock(&lock);
    return left;
}

bool hc_scratch_hold(double bytes) {
    pthread_mutex_lock(&lock);
    bool fits = stated == 0 || held + bytes <= stated;
    held += fits ? bytes : 0;
    pthread_mutex_unlock(&lock);
    return fits;
}

void hc_scratch_let_go(double bytes) {
    pthread_mutex_lock(&lock);
    held -= bytes;
    pthread_mutex_unlock(&lock);
}

/* Makes room up to `end` in a file without a name, where a space is stated. Returns 0, an errno, or
 * HC_SCRATCH_USED_UP. */
static int grow(int file, int64_t end) {
    struct stat info;
    int number = 0;
    pthread_mutex_lock(&lock);
    if (fstat(file, &info) == 0 && info.st_nlink == 0 && end > info.st_size) {
        double more = (double)(end - info.st_size);
        number = held + more > stated ? HC_SCRATCH_USED_UP : ftruncate(file, (off_t)end) != 0 ? errno : 0;
        held += number == 0 ? more : 0;
    }
    pthread_mutex_unlock(&lock);
    return number;
}

double hc_scratch_free(void) {
    struct statfs disk;
    if (statfs(hc_scratch_folder(), &disk) != 0 || disk.f_type == TMPFS_MAGIC || disk.f_type == RAMFS_MAGIC) {
        return 0;
    }
    return fmin((double)disk.f_bavail * (double)disk.f_bsize, hc_scratch_left());
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
    int number = stated > 0 ? grow(file, at + (int64_t)bytes) : 0;
    return number != 0 ? number : move(file, at, (char *)(uintptr_t)data, bytes, 1);
}

int hc_scratch_read(int file, int64_t at, void *data, size_t bytes) {
    return move(file, at, data, bytes, 0);
}

const char *hc_scratch_reason(int number) {
    return number > 0                     ? strerror(number)
           : number == HC_SCRATCH_USED_UP ? "the space of --scratch-space is used up"
                                          : "it ends before";
}
