/* The GPU backend: how it is opened, and the tables that the program is given. No other file needs this one.
 */
#include "core/operation/table.h"
#include "gpu/gram/gram.cuh"

#include <new>
#include <stdio.h>
#include <unistd.h>

#define DECLARE(name, Function) Function hc_gpu_##name;
HC_OPERATIONS(DECLARE)

/* Device memory for what sums hold beside their panels, of which digits of far values are most with hundreds
 * of bands, and for queues [bytes]. */
static const size_t other_reserve = (size_t)128 << 20;

/* ---- opening ---- */

static void close_gpu(HcCompute *compute) {
    HcGpu *gpu = (HcGpu *)compute;
    if (gpu == NULL) {
        return;
    }
    if (cudaSetDevice(gpu->device) == cudaSuccess) {
        hc_gpu_free_queues(gpu);
        hc_gpu_trim(gpu);
    }
    hc_compute_close(gpu->host);
    delete gpu;
}

/* Panels of exact sums: mostly two at once (scene and noise), and no large share of a small device. */
static size_t panel_bytes_for(const HcGpu *gpu) {
    const size_t least = (size_t)8 << 20;
    const size_t most = (size_t)256 << 20;
    size_t free_bytes = 0;
    size_t total = 0;
    (void)cudaMemGetInfo(&free_bytes, &total);
    size_t budget = gpu->memory > 0 && gpu->memory < free_bytes ? (size_t)gpu->memory : free_bytes;
    size_t bytes = budget / 64;
    return bytes < least ? least : bytes > most ? most : bytes;
}

/* Those of the host, for which the device has no use. */
static void limit_threads(HcCompute *compute, int32_t threads) {
    HcGpu *gpu = (HcGpu *)compute;
    HcComputeInfo host;
    hc_compute_info(gpu->host, &host);
    host.limit_threads(gpu->host, threads);
    gpu->lasting.threads = threads;
}

/* What does not change is asked for once. The driver answers one process after the other, and the start of
 * another one holds it up. */
static void look_at_device(HcGpu *gpu) {
    HcComputeInfo *to = &gpu->lasting;
    cudaDeviceProp properties;
    int driver = 0;
    int runtime = 0;
    to->threads = gpu->threads;
    to->limit_threads = gpu->host != NULL ? limit_threads : NULL;
    to->slots = 3;
    to->block_bytes = (size_t)28 << 20;
    if (cudaGetDeviceProperties(&properties, gpu->device) == cudaSuccess) {
        snprintf(to->name, sizeof to->name, "%.80s, compute capability %d.%d", properties.name, gpu->major,
                 gpu->minor);
    }
    (void)cudaDriverGetVersion(&driver);
    (void)cudaRuntimeGetVersion(&runtime);
    snprintf(to->driver, sizeof to->driver, "CUDA %d.%d, driver for CUDA %d.%d", runtime / 1000,
             runtime % 1000 / 10, driver / 1000, driver % 1000 / 10);
    double hertz = hc_gpu_attribute(cudaDevAttrClockRate, gpu->device) * 1e3;
    to->clock_mhz = (int32_t)(hertz / 1e6);
    to->rates = hc_gpu_rates(gpu, hertz);
    (void)cudaGetLastError();
}

static HcStatus open_gpu(HcCompute **out, const HcComputeConfig *config, HcError *err) {
    HcStatus status = HC_OK;
    HcGpu *gpu = NULL;
    int count = 0;
    *out = NULL;
    if (config->threads < 0 || config->threads > 4096) {
        return hc_fail(err, HC_E_USAGE, "%d threads asked for: 0 (all) to 4096", config->threads);
    }
    HC_TRY(hc_gpu_check(cudaGetDeviceCount(&count), "looking for devices", err));
    if (config->device < 0 || config->device >= count) {
        HC_TRY(hc_fail(err, HC_E_DEVICE, "no GPU has the number %d: there %s %d", config->device,
                       count == 1 ? "is" : "are", count));
    }
    if ((gpu = new (std::nothrow) HcGpu()) == NULL) {
        HC_TRY(hc_fail_memory(err, sizeof *gpu, "the GPU backend"));
    }
    gpu->device = config->device;
    gpu->memory = config->memory;
    gpu->poison = config->poison;
    gpu->threads = config->threads > 0 ? config->threads : (int32_t)sysconf(_SC_NPROCESSORS_ONLN);
    gpu->major = hc_gpu_attribute(cudaDevAttrComputeCapabilityMajor, gpu->device);
    gpu->minor = hc_gpu_attribute(cudaDevAttrComputeCapabilityMinor, gpu->device);
    gpu->processors = hc_gpu_attribute(cudaDevAttrMultiProcessorCount, gpu->device);
    gpu->shared_memory = (size_t)hc_gpu_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, gpu->device);
    if (gpu->major * 10 + gpu->minor < 75) {
        HC_TRY(hc_fail(err, HC_E_DEVICE, "GPU %d has compute capability %d.%d: hcube needs 7.5 or newer",
                       gpu->device, gpu->major, gpu->minor));
    }
    if (config->host != NULL) {
        HcComputeConfig host = {};
        host.threads = config->threads;
        HC_TRY(hc_compute_open(config->host, &host, &gpu->host, err));
    }
    HC_TRY(hc_gpu_use(gpu, err));
    /* A thread that waits gives its processor away: to readers, and scenes beside this one. */
    HC_TRY(hc_gpu_check(cudaSetDeviceFlags(cudaDeviceScheduleYield), "starting", err));
    HC_TRY(hc_gpu_check(cudaFree(NULL), "starting", err));
    HC_TRY(hc_gpu_check(hc_exact_kernels(), "looking for its kernels", err));
    gpu->hopper = hc_hopper_can(gpu);
    gpu->panel_bytes = panel_bytes_for(gpu);
    look_at_device(gpu);
    *out = &gpu->base;
done:
    if (status != HC_OK) {
        close_gpu(gpu != NULL ? &gpu->base : NULL);
    }
    return status;
}

static void info(const HcCompute *compute, HcComputeInfo *out) {
    const HcGpu *gpu = (const HcGpu *)compute;
    size_t free_bytes = 0;
    size_t total = 0;
    *out = gpu->lasting;
    uint64_t reserve = 2 * gpu->panel_bytes / 3 * 5 + other_reserve; /* two panels of five limbs, not three */
    uint64_t taken = gpu->sums_bytes;
    out->reserve = taken < reserve ? reserve - taken : 0;
    (void)cudaSetDevice(gpu->device);
    if (cudaMemGetInfo(&free_bytes, &total) == cudaSuccess) {
        out->memory_total = total;
        out->memory_free = free_bytes + hc_gpu_kept(gpu);
        if (gpu->memory > 0 && gpu->memory < out->memory_free) {
            out->memory_free = gpu->memory;
        }
    }
    (void)cudaGetLastError();
}

static void share(HcCompute *compute, int64_t count, HcWork *work, void *user) {
    hc_share(((HcGpu *)compute)->host, count, work, user);
}

/* On the host, by the host's routine: bits that do not depend on the device. */
HcStatus hc_gpu_eigh(HcCompute *compute, int32_t n, int32_t count, const double *matrix, double *values,
                     double *vectors, HcError *err) {
    HcGpu *gpu = (HcGpu *)compute;
    if (gpu->host == NULL) {
        return hc_fail(err, HC_E_USAGE, "eigh: the GPU backend was opened without the host's operations");
    }
    return hc_eigh(gpu->host, n, count, matrix, values, vectors, err);
}

#define ENTRY(name, Function) .name = hc_gpu_##name,
static const HcComputeOps hc_gpu_operations = {.abi = HC_COMPUTE_ABI,
                                               .name = "gpu",
                                               .open = open_gpu,
                                               .close = close_gpu,
                                               .info = info,
                                               .alloc = hc_gpu_alloc,
                                               .release = hc_gpu_release,
                                               .queue_open = hc_gpu_queue_open,
                                               .queue_close = hc_gpu_queue_close,
                                               .follow = hc_gpu_follow,
                                               .wait = hc_gpu_wait,
                                               .upload = hc_gpu_upload,
                                               .download = hc_gpu_download,
                                               .zero = hc_gpu_zero,
                                               .share = share,
                                               HC_OPERATIONS(ENTRY)};

/* ---- the module ---- */

extern "C" __attribute__((visibility("default"))) const HcModuleHead *hc_gpu_module(void) {
    static const HcModule module = {.head = {.abi = HC_COMPUTE_ABI, .version = HC_VERSION},
                                    .ops = &hc_gpu_operations,
                                    .vendor = hc_gpu_vendor(),
                                    .devices = hc_gpu_devices,
                                    .addresses = hc_gpu_addresses};
    return &module.head;
}
