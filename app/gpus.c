/* The GPUs of this host as batches and runs share them, before CUDA starts. */
#include "app/app.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(cpu_set_t) == HC_PROCESSOR_WORDS * sizeof(uint64_t), "a set of processors is copied");

/* What this process was left by hc_gpus_see_only, and as which number; -1 = all. */
static int32_t left_number = -1;

int32_t hc_gpus_list(HcAddress *out, int32_t capacity) {
    HcError unimportant = {0};
    const HcModule *module = NULL;
    return hc_module_load(&module, &unimportant) == HC_OK ? module->addresses(out, capacity) : -1;
}

bool hc_gpus_see_only(int32_t number) {
    HcAddress list[HC_ADDRESSES_MAX];
    if (left_number >= 0) {
        return number == left_number;
    }
    int32_t count = hc_gpus_list(list, HC_ADDRESSES_MAX);
    if (count < 2 || count > HC_ADDRESSES_MAX || number < 0 || number >= count ||
        setenv("CUDA_VISIBLE_DEVICES", list[number].visible, 1) != 0) {
        return false;
    }
    left_number = number;
    return true;
}

void hc_gpus_sit_near(const HcAddress *list, int32_t count, int32_t number) {
    cpu_set_t own, beside, all, common;
    CPU_ZERO(&all);
    for (int32_t g = 0; g < count; g++) {
        if (!list[g].near_known) {
            return;
        }
        memcpy(&beside, list[g].near, sizeof beside);
        CPU_OR(&all, &all, &beside);
    }
    if (number < 0 || number >= count || sched_getaffinity(0, sizeof own, &own) != 0) {
        return;
    }
    CPU_AND(&common, &own, &all);
    if (!CPU_EQUAL(&common, &own)) {
        return; /* others would stay idle */
    }
    memcpy(&beside, list[number].near, sizeof beside);
    CPU_AND(&common, &own, &beside);
    if (CPU_COUNT(&common) > 0) {
        (void)sched_setaffinity(0, sizeof common, &common);
    }
}
