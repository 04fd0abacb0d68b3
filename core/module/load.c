#include "core/module/load.h"
#include "core/text.h"
#include "core/version.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether the file is there. Fails where that cannot be seen: then nobody may conclude that it is not. */
static HcStatus look_for(const char *path, bool *there, HcError *err) {
    *there = access(path, F_OK) == 0;
    bool unseen = !*there && errno != ENOENT && errno != ENOTDIR && errno != EACCES;
    return unseen ? hc_fail(err, HC_E_IO, "%s: cannot be looked for: %s", path, strerror(errno)) : HC_OK;
}

/* The path of the file in `folder`, which is relative to that of the program; empty where it does not fit or
 * is not there. */
static HcStatus near_program(const char *folder, const char *file, char *path, size_t size, HcError *err) {
    bool there = false;
    ssize_t length = readlink("/proc/self/exe", path, size - 1);
    path[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(path, '/');
    size_t left = slash != NULL ? size - (size_t)(slash - path) : 0;
    int added = slash != NULL ? snprintf(slash, left, "/%s/%s", folder, file) : 0;
    if (added > 0 && (size_t)added < left) {
        HC_OR_RETURN(look_for(path, &there, err));
    }
    path[0] = there ? path[0] : '\0';
    return HC_OK;
}

HcStatus hc_module_find(const HcModuleKind *kind, char *path, size_t size, HcError *err) {
    const char *given = secure_getenv(kind->variable); /* not where another user lends rights */
    if (given != NULL && *given != '\0') {
        snprintf(path, size, "%s", given); /* what does not fit is no path either */
        return HC_OK;
    }
    HC_OR_RETURN(near_program(".", kind->file, path, size, err));
    return path[0] == '\0' ? near_program(HC_MODULE_FOLDER, kind->file, path, size, err) : HC_OK;
}

/* Why the library at `path` was not loaded. A lack of memory is no property of the module; of the first
 * allocation that fails the loader says that the file, which is there, is not. */
static HcStatus fail_load(const HcModuleKind *kind, const char *path, HcError *err) {
    const char *reason = dlerror();
    reason = reason != NULL ? reason : strerror(ENOMEM);
    bool missing = strncmp(reason, path, strlen(path)) == 0 && strstr(reason, strerror(ENOENT)) != NULL;
    bool memory = strstr(reason, strerror(ENOMEM)) != NULL ||
                  strstr(reason, "cannot create shared object descriptor") != NULL ||
                  strcmp(reason, "out of memory") == 0 ||
                  (missing && strchr(path, '/') != NULL && access(path, R_OK) == 0);
    return hc_fail(err, memory ? HC_E_MEMORY : kind->failure, "the %s module cannot be loaded: %s",
                   kind->name, memory ? strerror(ENOMEM) : reason);
}

HcStatus hc_module_open(const HcModuleKind *kind, const HcModuleHead **out, HcError *err) {
    char path[4096];
    *out = NULL;
    HC_OR_RETURN(hc_module_find(kind, path, sizeof path, err));
    if (path[0] == '\0') {
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
