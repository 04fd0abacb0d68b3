/* What a file has before it gets its name: its content on the disk, and the rights of what it replaces. */
#include "io/file/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

void hc_file_sync_folder(const char *folder) {
    int handle = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (handle >= 0) {
        (void)fsync(handle);
        close(handle);
    }
}

HcStatus hc_file_sync(const char *path, HcError *err) {
    struct stat info;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    bool folder = file >= 0 && fstat(file, &info) == 0 && S_ISDIR(info.st_mode); /* many files */
    int number = file < 0 || ((folder ? syncfs(file) : fsync(file)) != 0 && errno != EINVAL) ? errno : 0;
    if (file >= 0) {
        close(file);
    }
    return number == 0 ? HC_OK : hc_file_fail(err, HC_E_IO, path, number);
}

void hc_file_keep_access(const char *fresh, const char *target) {
    static const char list[] = "system.posix_acl_access";
    char entries[4096];
    struct stat old, info;
    if (stat(target, &old) != 0 || stat(fresh, &info) != 0 ||
        (old.st_mode & S_IFMT) != (info.st_mode & S_IFMT) ||
        (!S_ISREG(old.st_mode) && !S_ISDIR(old.st_mode))) {
        return;
    }
    if (chown(fresh, old.st_uid, old.st_gid) != 0) {
        (void)!chown(fresh, (uid_t)-1, old.st_gid);
    }
    (void)!chmod(fresh, old.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO));
    ssize_t bytes = getxattr(target, list, entries, sizeof entries);
    if (bytes > 0) {
        (void)!setxattr(fresh, list, entries, (size_t)bytes, 0);
    }
}
