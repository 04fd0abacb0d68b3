#include "tests/support/backend.h"

#include "core/module/module.h"
#include "cpu/cpu.h"
#include "tests/support/strict.h"

#include <string.h>

const HcComputeOps *backend_find(const char *name, HcError *err) {
    const HcModule *module = NULL;
    int32_t devices = 0;
    if (strcmp(name, "cpu") == 0) {
        return hc_cpu_ops();
    }
    if (strcmp(name, "strict") == 0) {
        return hc_strict_ops();
    }
    if (strcmp(name, "gpu") != 0) {
        hc_fail(err, HC_E_USAGE, "no backend has the name \"%s\"", name);
    } else if (hc_module_load(&module, err) == HC_OK && module->devices(NULL, 0, &devices, err) == HC_OK &&
               devices == 0) {
        hc_fail(err, HC_E_DEVICE, "no GPU was found");
    }
    return devices > 0 ? module->ops : NULL;
}
