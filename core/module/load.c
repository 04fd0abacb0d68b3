#include "core/module/load.h"
#include "core/text.h"
#include "core/version.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The file in `folder`, which is relative to that of the program; false when it does not fit or is not there.
 */
static bool near_program(const char *folder, const char *file, char *path, size_t size) {
    ssize_t length = readlink("/proc/self/exe", path, size - 1);
    if (length < 0) {
        return false;
    }
    path[length] = '\0';
    char *slash = strrchr(path, '/');
    size_t at = slash != NULL ? (size_t)(slash - path) : 0;
    int added = snprintf(path + at, size - at, "/%s/%s", folder, file);
    return added > 0 && (size_t)added < size - at && access(path, R_OK) == 0;
}

bool hc_module_find(const HcModuleKind *kind, char *path, size_t size) {
    const char *given = getenv(kind->variable);
    if (given != NULL && *given != '\0') {
        snprintf(path, size, "%s", given); /* what does not fit is no path either */
        return true;
    }
    return near_program(".", kind->file, path, size) ||
           near_program(HC_MODULE_FOLDER, kind->file, path, size);
}

/* Why the library at `path` was not loaded. A lack of memory is no property of the module; of the first
 * allocation that fails the loader says that the file, which is there, is not. */
static HcStatus fail_load(const HcModuleKind *kind, const char *path, HcError *err) {
    const char *reason = dlerror();
    reason = reason != NULL ? reason : strerror(ENOMEM);
    bool missing = strncmp(reason, path, strlen(path)) == 0 && strstr(reason, strerror(ENOENT)) != NULL;
    bool memory = strstr(reason, strerror(ENOMEM)) != NULL ||
                  strstr(reason, "cannot create shared object descriptor") != NULL ||
                  (missing && strchr(path, '/') != NULL && access(path, R_OK) == 0);
    return hc_fail(err, memory ? HC_E_MEMORY : kind->failure, "the %s module cannot be loaded: %s",
                   kind->name, memory ? strerror(ENOMEM) : reason);
}

HcStatus hc_module_open(const HcModuleKind *kind, const HcModuleHead **out, HcError *err) {
    char path[4096];
    *out = NULL;
    if (!hc_module_find(kind, path, sizeof path)) {
        return hc_fail(err, kind->failure, "the %s module is not there (%s)", kind->name, kind->file);
    }
    /* Never closed: neither the CUDA runtime nor MPI likes to be unloaded. */
    void *library = dlopen(path, RTLD_NOW | (kind->global ? RTLD_GLOBAL : RTLD_LOCAL));
    if (library == NULL) {
        return fail_load(kind, path, err);
    }
    HcModuleEntry *entry = NULL;
    *(void **)&entry = dlsym(library, kind->symbol);
    const HcModuleHead *head = entry != NULL ? entry() : NULL;
    if (head == NULL) {
        return hc_fail(err, kind->failure, "%s: not a %s module of hcube", path, kind->name);
    }
    if (head->abi != kind->abi || !hc_text_equal(head->version, hc_version())) {
        return hc_fail(err, kind->failure, "%s: the %s module of hcube %s (interface %u), this is %s (%u)",
                       path, kind->name, head->version, head->abi, hc_version(), kind->abi);
    }
    *out = head;
    return HC_OK;
}
