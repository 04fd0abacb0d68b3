#include "core/module.h"
#include "core/text.h"
#include "core/version.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const HcModule *loaded;

/* The folder of the program with `rest` behind it; false when it does not fit or is not there. */
static bool beside_program(const char *rest, char *path, size_t size) {
    ssize_t length = readlink("/proc/self/exe", path, size - 1);
    if (length < 0) {
        return false;
    }
    path[length] = '\0';
    char *slash = strrchr(path, '/');
    size_t folder = slash != NULL ? (size_t)(slash - path) : 0;
    int added = snprintf(path + folder, size - folder, "/%s", rest);
    return added > 0 && (size_t)added < size - folder && access(path, R_OK) == 0;
}

static bool find(char *path, size_t size) {
    const char *given = getenv("HCUBE_GPU_MODULE");
    if (given != NULL && *given != '\0') {
        snprintf(path, size, "%s", given); /* what does not fit is no path either */
        return true;
    }
    return beside_program(HC_MODULE_FILE, path, size) ||
           beside_program("../lib/hcube/" HC_MODULE_FILE, path, size);
}

bool hc_module_exists(void) {
    char path[4096];
    return find(path, sizeof path);
}

static HcStatus load(const HcModule **out, HcError *err) {
    char path[4096];
    if (!find(path, sizeof path)) {
        return hc_fail(err, HC_E_DEVICE, "this hcube was built without the GPU module");
    }
    /* Never closed: the CUDA runtime does not like to be unloaded. */
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        return hc_fail(err, HC_E_DEVICE, "the GPU module cannot be loaded: %s", dlerror());
    }
    HcModuleEntry *entry = NULL;
    *(void **)&entry = dlsym(library, HC_MODULE_SYMBOL);
    const HcModule *module = entry != NULL ? entry() : NULL;
    if (module == NULL) {
        return hc_fail(err, HC_E_DEVICE, "%s: not a GPU module of hcube", path);
    }
    if (module->abi != hc_compute_abi() || !hc_text_equal(module->version, hc_version())) {
        return hc_fail(err, HC_E_DEVICE, "%s: the GPU module of hcube %s (interface %u), this is %s (%u)",
                       path, module->version, module->abi, hc_version(), hc_compute_abi());
    }
    *out = module;
    return HC_OK;
}

HcStatus hc_module_load(const HcModule **out, HcError *err) {
    HcStatus status = HC_OK;
    pthread_mutex_lock(&lock);
    if (loaded == NULL) {
        status = load(&loaded, err);
    }
    *out = loaded;
    pthread_mutex_unlock(&lock);
    return status;
}
