/* A GPU module without a GPU: the strict backend behind the border of core/module.h. It has two devices, or
 * as many as the environment variable HCUBE_STAND_IN says. */
#include "core/module.h"
#include "tests/support/strict.h"

#include <stdio.h>
#include <stdlib.h>

#ifdef HC_STAND_IN_OLD
enum { ABI = HC_COMPUTE_ABI - 1 };
#else
enum { ABI = HC_COMPUTE_ABI };
#endif

static HcComputeOps ops;
static int32_t opened; /* the device that this process opened last */

static int32_t device_count(void) {
    const char *text = getenv("HCUBE_STAND_IN");
    return text != NULL ? (int32_t)strtol(text, NULL, 10) : 2;
}

static HcStatus open_device(HcCompute **out, const HcComputeConfig *config, HcError *err) {
    *out = NULL;
    if (config->device >= device_count()) {
        return hc_fail(err, HC_E_DEVICE, "no stand-in has the number %d", config->device);
    }
    if (config->host == NULL) {
        return hc_fail(err, HC_E_USAGE, "the stand-in was opened without the host's operations");
    }
    HcStatus status = hc_strict_ops()->open(out, config, err);
    if (status == HC_OK) {
        (*out)->ops = &ops;
        opened = config->device;
    }
    return status;
}

static void tell_device(const HcCompute *compute, HcComputeInfo *out) {
    hc_strict_ops()->info(compute, out);
    snprintf(out->name, sizeof out->name, "stand-in %d", opened);
}

static HcStatus devices(HcDevice *out, int32_t capacity, int32_t *count, HcError *err) {
    (void)err;
    *count = device_count();
    for (int32_t d = 0; d < *count && d < capacity; d++) {
        out[d] = (HcDevice){.major = 1, .minor = d, .memory_total = (uint64_t)1 << 30};
        snprintf(out[d].name, sizeof out[d].name, "stand-in %d", d);
    }
    return HC_OK;
}

__attribute__((visibility("default"))) const HcModule *hc_gpu_module(void);

const HcModule *hc_gpu_module(void) {
    static HcModule module;
    ops = *hc_strict_ops();
    ops.name = "gpu";
    ops.open = open_device;
    ops.info = tell_device;
    module =
        (HcModule){.abi = (uint32_t)ABI, .version = HC_STAND_IN_VERSION, .ops = &ops, .devices = devices};
    return &module;
}
