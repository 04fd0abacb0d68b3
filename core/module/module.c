#include "core/module/module.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const HcModule *loaded;

static HcModuleKind gpu_kind(void) {
    return (HcModuleKind){.name = "GPU",
                          .file = "libhcube_gpu.so",
                          .variable = "HCUBE_GPU_MODULE",
                          .symbol = HC_MODULE_SYMBOL,
                          .abi = hc_compute_abi(),
                          .failure = HC_E_DEVICE};
}

bool hc_module_exists(void) {
    char path[4096];
    HcModuleKind kind = gpu_kind();
    HcError unseen = {0};
    return hc_module_find(&kind, path, sizeof path, &unseen) != HC_OK || path[0] != '\0';
}

static HcStatus load(const HcModule **out, HcError *err) {
    const HcModuleHead *head = NULL;
    HcModuleKind kind = gpu_kind();
    HC_OR_RETURN(hc_module_open(&kind, &head, err));
    *out = (const HcModule *)head;
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
