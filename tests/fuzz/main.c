/* Feeds files to a harness in builds without libFuzzer:
 *
 *     fuzz_mps FILE|FOLDER ...
 *
 * CTest runs the regression inputs this way, under whatever sanitizers the build has. */
#include "tests/fuzz/harness.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SECONDS_EACH = 60 };

/* In memory of exactly its size, so that a byte too far is seen. */
static bool feed_file(const char *path, long size) {
    uint8_t *data = malloc(size > 0 ? (size_t)size : 1);
    FILE *file = fopen(path, "rb");
    bool read = data != NULL && file != NULL && fread(data, 1, (size_t)size, file) == (size_t)size;
    if (file != NULL) {
        fclose(file);
    }
    if (read) {
        fprintf(stderr, "%s\n", path);
        alarm(SECONDS_EACH);
        LLVMFuzzerTestOneInput(data, (size_t)size);
        alarm(0);
    } else {
        fprintf(stderr, "%s: cannot be read\n", path);
    }
    free(data);
    return read;
}

/* Returns how many files were fed, -1 where one could not be read. */
static long feed(const char *path) {
    struct stat info;
    if (stat(path, &info) != 0) {
        fprintf(stderr, "%s: there is no such file or folder\n", path);
        return -1;
    }
    if (!S_ISDIR(info.st_mode)) {
        return feed_file(path, (long)info.st_size) ? 1 : -1;
    }
    struct dirent **entry = NULL;
    int entries = scandir(path, &entry, NULL, alphasort);
    long count = 0;
    for (int e = 0; e < entries; e++) {
        char inner[PATH_MAX];
        snprintf(inner, sizeof inner, "%s/%s", path, entry[e]->d_name);
        if (entry[e]->d_name[0] != '.' && count >= 0) {
            long fed = feed(inner);
            count = fed >= 0 ? count + fed : -1;
        }
        free(entry[e]);
    }
    free(entry);
    return count;
}

int main(int argc, char **argv) {
    long count = 0;
    LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 1; i < argc && count >= 0; i++) {
        long fed = feed(argv[i]);
        count = fed >= 0 ? count + fed : -1;
    }
    printf("%ld inputs\n", count);
    return count > 0 ? 0 : 1;
}
