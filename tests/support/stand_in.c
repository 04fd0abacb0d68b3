/* A GPU module without a GPU: the strict backend behind the border of core/module/module.h. It has two
 * devices, or as many as the environment variable HCUBE_STAND_IN says, of which CUDA_VISIBLE_DEVICES leaves
 * some (numbers). With HCUBE_STAND_IN_PROCESSORS its name tells which of the first two processors the process
 * may use. HCUBE_STAND_IN_MEMORY: bytes that each has. Under fail_at.c each of its operations can fail.
 */
#include "core/module/module.h"
#include "core/operation/table.h"
#include "tests/support/strict.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef HC_STAND_IN_OLD
enum { ABI = HC_COMPUTE_ABI - 1 };
#else
enum { ABI = HC_COMPUTE_ABI };
#endif

static HcComputeOps ops;
static int32_t opened; /* the device that this process opened last */

/* Whether the next operation must fail: a function of fail_at.c, or NULL. */
static bool (*asked_to_fail)(void);

/* Operations that are done at once. Those that a queue accepts fail late, in strict.c. */
#define OR_FAIL(name, parameters, arguments)                                                                 \
    static HcStatus name##_or_fail parameters {                                                              \
        if (asked_to_fail != NULL && asked_to_fail()) {                                                      \
            return hc_fail(err, HC_E_DEVICE, "the device failed in %s, as the test asked", #name);           \
        }                                                                                                    \
        return hc_strict_ops()->name arguments;                                                              \
    }

OR_FAIL(alloc, (HcCompute * compute, HcMemory where, size_t bytes, HcBuffer *out, HcError *err),
        (compute, where, bytes, out, err))
OR_FAIL(queue_open, (HcCompute * compute, HcQueue **out, HcError *err), (compute, out, err))
OR_FAIL(sums_open,
        (HcCompute * compute, int32_t bands, int64_t integer_limit, const HcGrid *grid, HcSums **out,
         HcError *err),
        (compute, bands, integer_limit, grid, out, err))
OR_FAIL(sums_fetch, (HcQueue * queue, HcSums *sums, HcMoments *out, HcError *err), (queue, sums, out, err))
OR_FAIL(training_open,
        (HcCompute * compute, const float *spectra, int64_t count, int32_t bands, HcMetric metric,
         HcTraining **out, HcError *err),
        (compute, spectra, count, bands, metric, out, err))
OR_FAIL(svd_open,
        (HcCompute * compute, HcElement element, int32_t rows, int32_t columns, int64_t count, bool vectors,
         HcSvd **out, HcError *err),
        (compute, element, rows, columns, count, vectors, out, err))
OR_FAIL(patches_open, (HcCompute * compute, const HcPatchRule *rule, HcPatches **out, HcError *err),
        (compute, rule, out, err))
OR_FAIL(unmix_open, (HcCompute * compute, const HcUnmixRule *rule, HcUnmixing **out, HcError *err),
        (compute, rule, out, err))
OR_FAIL(lad_open, (HcCompute * compute, const HcLadRule *rule, HcLad **out, HcError *err),
        (compute, rule, out, err))
OR_FAIL(l1_open, (HcCompute * compute, const HcMatrix *matrix, HcL1 **out, HcError *err),
        (compute, matrix, out, err))
OR_FAIL(simplex,
        (HcQueue * queue, const HcLinearProgram *program, const HcSimplexRule *rule, HcLpSolution *out,
         HcError *err),
        (queue, program, rule, out, err))
OR_FAIL(eigh,
        (HcCompute * compute, int32_t n, int32_t count, const double *matrix, double *values, double *vectors,
         HcError *err),
        (compute, n, count, matrix, values, vectors, err))

/* The operations of the strict backend, those above instead of its own. */
static void fill_operations(void) {
    ops = *hc_strict_ops();
    ops.name = "gpu";
    ops.alloc = alloc_or_fail;
    ops.queue_open = queue_open_or_fail;
    ops.sums_open = sums_open_or_fail;
    ops.sums_fetch = sums_fetch_or_fail;
    ops.training_open = training_open_or_fail;
    ops.svd_open = svd_open_or_fail;
    ops.patches_open = patches_open_or_fail;
    ops.unmix_open = unmix_open_or_fail;
    ops.lad_open = lad_open_or_fail;
    ops.l1_open = l1_open_or_fail;
    ops.simplex = simplex_or_fail;
    ops.eigh = eigh_or_fail;
}

/* Of the host. */
static int32_t host_count(void) {
    const char *text = getenv("HCUBE_STAND_IN");
    return text != NULL ? (int32_t)strtol(text, NULL, 10) : 2;
}

/* The numbers in CUDA_VISIBLE_DEVICES, or all; like CUDA up to one that is none. Returns how many. */
static int32_t list_visible(int32_t *out) {
    const char *text = getenv("CUDA_VISIBLE_DEVICES");
    int32_t count = 0;
    for (int32_t d = 0; text == NULL && d < host_count() && d < HC_ADDRESSES_MAX; d++) {
        out[count++] = d;
    }
    while (text != NULL && count < HC_ADDRESSES_MAX) {
        char *end = NULL;
        long number = strtol(text, &end, 10);
        if (end == text || number < 0 || number >= host_count()) {
            break;
        }
        out[count++] = (int32_t)number;
        text = *end == ',' ? end + 1 : end;
    }
    return count;
}

/* What this process saw when it first asked: like CUDA, changes of the variable come too late then. */
static int32_t visible[HC_ADDRESSES_MAX];
static int32_t visible_count = -1;

static int32_t device_count(void) {
    if (visible_count < 0) {
        visible_count = list_visible(visible);
    }
    return visible_count;
}

static HcStatus open_device(HcCompute **out, const HcComputeConfig *config, HcError *err) {
    *out = NULL;
    if (config->device >= device_count()) {
        return hc_fail(err, HC_E_DEVICE, "no stand-in has the number %d", config->device);
    }
    if (asked_to_fail != NULL && asked_to_fail()) {
        return hc_fail(err, HC_E_DEVICE, "the stand-in %d was not opened, as the test asked", config->device);
    }
    if (config->host == NULL) {
        return hc_fail(err, HC_E_USAGE, "the stand-in was opened without the host's operations");
    }
    const char *memory = getenv("HCUBE_STAND_IN_MEMORY");
    hc_strict_memory(memory != NULL ? strtoull(memory, NULL, 10) : 0);
    HC_OR_RETURN(hc_strict_ops()->open(out, config, err));
    opened = visible[config->device];
    return HC_OK;
}

static void tell_device(const HcCompute *compute, HcComputeInfo *out) {
    hc_strict_ops()->info(compute, out);
    cpu_set_t own;
    snprintf(out->name, sizeof out->name, "stand-in %d, %d seen", opened, device_count());
    if (getenv("HCUBE_STAND_IN_PROCESSORS") != NULL && sched_getaffinity(0, sizeof own, &own) == 0) {
        snprintf(out->name, sizeof out->name, "stand-in %d, processors%s%s", opened,
                 CPU_ISSET(0, &own) ? " 0" : "", CPU_ISSET(1, &own) ? " 1" : "");
    }
}

static HcStatus devices(HcDevice *out, int32_t capacity, int32_t *count, HcError *err) {
    (void)err;
    *count = device_count();
    for (int32_t d = 0; d < *count && d < capacity; d++) {
        out[d] = (HcDevice){.major = 1, .minor = visible[d], .memory_total = (uint64_t)1 << 30};
        snprintf(out[d].name, sizeof out[d].name, "stand-in %d", visible[d]);
    }
    return HC_OK;
}

/* HCUBE_STAND_IN_UNKNOWN: only `devices` can tell. Processor 0 is beside even devices, and 1 beside odd ones.
 */
static int32_t addresses(HcAddress *out, int32_t capacity) {
    int32_t seen[HC_ADDRESSES_MAX];
    int32_t count = list_visible(seen);
    if (getenv("HCUBE_STAND_IN_UNKNOWN") != NULL) {
        return -1;
    }
    for (int32_t d = 0; d < count && d < capacity; d++) {
        out[d] = (HcAddress){.near_known = true, .near = {(uint64_t)1 << (seen[d] % 2)}};
        snprintf(out[d].visible, sizeof out[d].visible, "%d", seen[d]);
    }
    return count;
}

__attribute__((visibility("default"))) const HcModuleHead *hc_gpu_module(void);

const HcModuleHead *hc_gpu_module(void) {
    static HcModule module;
    fill_operations();
    *(void **)&asked_to_fail = dlsym(RTLD_DEFAULT, "hcube_fail_device");
    hc_strict_fail_when(asked_to_fail);
    ops.open = open_device;
    ops.info = tell_device;
    module = (HcModule){.head = {.abi = (uint32_t)ABI, .version = HC_STAND_IN_VERSION},
                        .ops = &ops,
                        .devices = devices,
                        .addresses = addresses};
    return &module.head;
}
