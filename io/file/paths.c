/* Parts of paths, and what failures say of them. */
#include "io/file/parts.h"
#include "core/text.h"
#include "io/gdal/errors.h"

#include <stdio.h>
#include <string.h>

const char *hc_file_base(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

char *hc_file_folder(const char *path) {
    size_t length = (size_t)(hc_file_base(path) - path);
    while (length > 1 && path[length - 1] == '/') {
        length--;
    }
    return length == 0 ? hc_text_format(".") : hc_text_format("%.*s", (int)length, path);
}

HcStatus hc_file_fail(HcError *err, HcStatus status, const char *path, int number) {
    return hc_fail(err, hc_errno_status(number, status), "%s: %s", path, strerror(number));
}

HcStatus hc_file_fail_exists(HcError *err, const char *path) {
    return hc_fail(err, HC_E_USAGE, "%s: the file exists already (--overwrite replaces it)", path);
}

HcStatus hc_file_join(const char *folder, const char *name, char **out, HcError *err) {
    *out = hc_text_format("%s/%s", folder, name);
    return *out != NULL ? HC_OK : hc_fail_memory(err, (double)strlen(name), "a file name");
}

bool hc_file_join_into(char out[HC_FILE_PATH], const char *folder, const char *name) {
    int length = snprintf(out, HC_FILE_PATH, "%s/%s", folder, name);
    return length > 0 && length < HC_FILE_PATH;
}

bool hc_file_folder_into(char out[HC_FILE_PATH], const char *path) {
    size_t length = (size_t)(hc_file_base(path) - path);
    while (length > 1 && path[length - 1] == '/') {
        length--;
    }
    int printed = length == 0 ? snprintf(out, HC_FILE_PATH, ".")
                              : snprintf(out, HC_FILE_PATH, "%.*s", (int)length, path);
    return printed > 0 && printed < HC_FILE_PATH;
}
