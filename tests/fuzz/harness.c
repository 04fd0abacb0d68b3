#include "tests/fuzz/harness.h"

#include "io/read/metadata/envi_header.h"
#include "io/gdal/errors.h"

#include <cpl_vsi.h>
#include <dirent.h>
#include <fcntl.h>
#include <gdal.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void remove_folder(void);

void hc_fuzz_expect(bool holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "broken promise: %s\n", what);
        remove_folder();
        abort();
    }
}

void hc_fuzz_check(HcStatus status, const HcError *err) {
    static const HcStatus known[] = {HC_E_USAGE,       HC_E_INPUT,   HC_E_IO, HC_E_MEMORY,
                                     HC_E_UNSUPPORTED, HC_E_NUMERIC, HC_OK};
    bool found = false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        found = found || status == known[i];
    }
    hc_fuzz_expect(found, "the status is one that a parser may return");
    if (status != HC_OK) {
        hc_fuzz_expect(err->text[0] != '\0', "a failure says why");
        hc_fuzz_expect(strpbrk(err->text, "\r\n") == NULL, "a failure says it on one line");
        hc_fuzz_expect(err->status == status, "a failure returns the status that it has noted");
    }
}

/* ---- GDAL ---- */

__attribute__((weak)) bool hc_fuzz_arrays(void) {
    return false;
}

/* Drivers that could read other files, or ask a server, by what an input says are left out. */
static bool is_allowed(const char *driver) {
    static const char *const allowed[] = {"ENVI", "GTiff", "GeoJSON", "GPKG", "CSV", "MEM", "Memory"};
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++) {
        if (strcmp(driver, allowed[i]) == 0) {
            return true;
        }
    }
    return hc_fuzz_arrays() && (strcmp(driver, "netCDF") == 0 || strcmp(driver, "HDF5") == 0);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    HcGdalErrors messages;
    (void)argc;
    (void)argv;
    setenv("GDAL_NUM_THREADS", "1", 1);
    setenv("GDAL_CACHEMAX", "16", 1);
    setenv("CPL_TMPDIR", hc_fuzz_folder(), 1);
    /* Paths with the name of a server fail at once: port 9 of this machine refuses. */
    setenv("GDAL_HTTP_PROXY", "127.0.0.1:9", 1);
    setenv("GDAL_HTTP_MAX_RETRY", "0", 1);
    hc_gdal_catch(&messages);
    for (int i = GDALGetDriverCount() - 1; i >= 0; i--) {
        GDALDriverH driver = GDALGetDriver(i);
        if (!is_allowed(GDALGetDriverShortName(driver))) {
            GDALDeregisterDriver(driver);
            GDALDestroyDriver(driver);
        }
    }
    hc_gdal_release();
    return 0;
}

/* ---- files ---- */

static char folder[HC_FUZZ_PATH / 2];
static pid_t owner; /* of the folder: children of the harness leave it alone */

static void remove_all(const char *path, bool itself) {
    DIR *entries = opendir(path);
    for (struct dirent *e; entries != NULL && (e = readdir(entries)) != NULL;) {
        char inner[PATH_MAX];
        struct stat info;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            snprintf(inner, sizeof inner, "%s/%s", path, e->d_name) >= (int)sizeof inner) {
            continue;
        }
        if (lstat(inner, &info) == 0 && S_ISDIR(info.st_mode)) {
            remove_all(inner, true);
        } else {
            unlink(inner);
        }
    }
    if (entries != NULL) {
        closedir(entries);
    }
    if (itself) {
        rmdir(path);
    }
}

static void remove_folder(void) {
    if (folder[0] != '\0' && getpid() == owner) {
        remove_all(folder, true);
    }
}

/* Of the sanitizers: called before a finding ends the process. */
__attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)(void));

const char *hc_fuzz_folder(void) {
    if (folder[0] == '\0') {
        const char *root = getenv("TMPDIR");
        root = root != NULL ? root : access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
        snprintf(folder, sizeof folder, "%s/hcube-fuzz-XXXXXX", root);
        hc_fuzz_expect(mkdtemp(folder) != NULL, "a private folder can be made (TMPDIR)");
        owner = getpid();
        atexit(remove_folder);
        if (__sanitizer_set_death_callback != NULL) {
            __sanitizer_set_death_callback(remove_folder);
        }
    }
    return folder;
}

void hc_fuzz_empty_folder(void) {
    remove_all(hc_fuzz_folder(), false);
}

void hc_fuzz_file(char *path, const char *name, const void *data, size_t size) {
    snprintf(path, HC_FUZZ_PATH, "%s/%s", hc_fuzz_folder(), name);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    hc_fuzz_expect(file >= 0 && write(file, data, size) == (ssize_t)size && close(file) == 0,
                   "a file can be written in the private folder");
}

void hc_fuzz_memory_open(const char *path, const void *data, size_t size) {
    /* GDAL only reads them; its interface has no const. */
    VSILFILE *file = VSIFileFromMemBuffer(path, (GByte *)(uintptr_t)data, size, 0);
    hc_fuzz_expect(file != NULL, "a file in memory can be made");
    VSIFCloseL(file);
}

void hc_fuzz_memory_close(const char *path) {
    VSIUnlink(path);
}

/* ---- headers with data ---- */

static size_t asked_for(const HcFuzzPair *pair) {
    const double most = 1 << 17;
    HcError err = {0};
    HcEnviHeader header = {0};
    HcEnviShape shape;
    double bytes = 0;
    if (hc_envi_parse(&header, "header", (const char *)pair->header, pair->header_size, &err) == HC_OK &&
        hc_envi_shape(&header, &shape, &err) == HC_OK && !shape.complex_values) {
        bytes = (double)shape.offset + (double)shape.lines * (double)shape.samples * (double)shape.bands *
                                           (double)hc_type_bytes(shape.type);
    }
    hc_envi_clear(&header);
    return bytes <= most ? (size_t)bytes : (size_t)most;
}

HcFuzzPair hc_fuzz_split(const uint8_t *input, size_t size) {
    static uint8_t any[251]; /* the period fits no line */
    for (size_t i = 0; any[1] == 0 && i < sizeof any; i++) {
        any[i] = (uint8_t)(i * 37);
    }
    const uint8_t *end = size > 0 ? memchr(input, 0, size) : NULL;
    HcFuzzPair pair = {.header = input, .header_size = end != NULL ? (size_t)(end - input) : size};
    if (end != NULL && pair.header_size + 1 < size) {
        pair.data = end + 1;
        pair.data_size = size - pair.header_size - 1;
        return pair;
    }
    pair.data_size = asked_for(&pair);
    pair.made = malloc(pair.data_size + 1);
    hc_fuzz_expect(pair.made != NULL, "there is memory for the harness itself");
    for (size_t at = 0; at < pair.data_size; at += sizeof any) {
        memcpy(pair.made + at, any, pair.data_size - at < sizeof any ? pair.data_size - at : sizeof any);
    }
    pair.data = pair.made;
    return pair;
}
