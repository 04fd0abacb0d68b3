/* The GPU backend: opening, queues, copies, and the table of its operations. */
#include "core/operation/table.h"
#include "gpu/gram/gram.cuh"

#include <new>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

HcStatus hc_gpu_check(cudaError_t result, const char *what, HcError *err) {
    if (result == cudaSuccess) {
        return HC_OK;
    }
    (void)cudaGetLastError();
    HcStatus status = result == cudaErrorMemoryAllocation ? HC_E_MEMORY : HC_E_DEVICE;
    return hc_fail(err, status, "the GPU failed while %s: %s (%s)", what, cudaGetErrorString(result),
                   cudaGetErrorName(result));
}

HcStatus hc_gpu_use(const HcGpu *gpu, HcError *err) {
    return hc_gpu_check(cudaSetDevice(gpu->device), "choosing the device", err);
}

#define DECLARE(name, Function) Function hc_gpu_##name;
HC_OPERATIONS(DECLARE)

/* Device memory for what sums hold beside their panels, of which digits of far values are most with hundreds
 * of bands, and for queues [bytes]. */
static const size_t other_reserve = (size_t)128 << 20;

/* ---- opening ---- */

static int attribute(cudaDeviceAttr which, int device) {
    int value = 0;
    return cudaDeviceGetAttribute(&value, which, device) == cudaSuccess ? value : 0;
}

static void free_queues(HcGpu *gpu);

static void close_gpu(HcCompute *compute) {
    HcGpu *gpu = (HcGpu *)compute;
    if (gpu == NULL) {
        return;
    }
    if (cudaSetDevice(gpu->device) == cudaSuccess) {
        free_queues(gpu);
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
    gpu->threads = config->threads > 0 ? config->threads : (int32_t)sysconf(_SC_NPROCESSORS_ONLN);
    gpu->major = attribute(cudaDevAttrComputeCapabilityMajor, gpu->device);
    gpu->minor = attribute(cudaDevAttrComputeCapabilityMinor, gpu->device);
    gpu->processors = attribute(cudaDevAttrMultiProcessorCount, gpu->device);
    gpu->shared_memory = (size_t)attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, gpu->device);
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
    HC_TRY(hc_gpu_check(cudaFree(NULL), "starting", err));
    HC_TRY(hc_gpu_check(hc_exact_kernels(), "looking for its kernels", err));
    gpu->hopper = hc_hopper_can(gpu);
    gpu->panel_bytes = panel_bytes_for(gpu);
    *out = &gpu->base;
done:
    if (status != HC_OK) {
        close_gpu(gpu != NULL ? &gpu->base : NULL);
    }
    return status;
}

/* Operations a cycle of one multiprocessor (CUDA programming guide, arithmetic throughput; matrix units for
 * 8-bit integers, and for float64 where there are any). Newer devices are not known. */
static const struct {
    int capability;
    double float32, float64, int8;
} cycle_rates[] = {{75, 128, 4, 2048}, {80, 128, 128, 4096}, {86, 256, 4, 2048},
                   {87, 256, 4, 4096}, {89, 256, 4, 2048},   {90, 256, 256, 8192}};

static HcRates rates_of(const HcGpu *gpu, double hertz) {
    HcRates rates = {};
    double bus = attribute(cudaDevAttrGlobalMemoryBusWidth, gpu->device) / 8.0;
    rates.memory = 2 * attribute(cudaDevAttrMemoryClockRate, gpu->device) * 1e3 * bus;
    for (const auto &known : cycle_rates) {
        if (known.capability == gpu->major * 10 + gpu->minor) {
            double units = gpu->processors * hertz;
            rates.float32 = known.float32 * units;
            rates.float64 = known.float64 * units;
            rates.int8 = known.int8 * units;
        }
    }
    return rates;
}

static void info(const HcCompute *compute, HcComputeInfo *out) {
    const HcGpu *gpu = (const HcGpu *)compute;
    cudaDeviceProp properties;
    size_t free_bytes = 0;
    size_t total = 0;
    int driver = 0;
    int runtime = 0;
    *out = {};
    out->threads = gpu->threads;
    out->slots = 3;
    out->block_bytes = (size_t)28 << 20;
    uint64_t reserve = 2 * gpu->panel_bytes / 3 * 5 + other_reserve; /* two panels of five limbs, not three */
    uint64_t taken = gpu->sums_bytes;
    out->reserve = taken < reserve ? reserve - taken : 0;
    (void)cudaSetDevice(gpu->device);
    if (cudaGetDeviceProperties(&properties, gpu->device) == cudaSuccess) {
        snprintf(out->name, sizeof out->name, "%.80s, compute capability %d.%d", properties.name, gpu->major,
                 gpu->minor);
    }
    if (cudaMemGetInfo(&free_bytes, &total) == cudaSuccess) {
        out->memory_total = total;
        out->memory_free = free_bytes + hc_gpu_kept(gpu);
        if (gpu->memory > 0 && gpu->memory < out->memory_free) {
            out->memory_free = gpu->memory;
        }
    }
    (void)cudaDriverGetVersion(&driver);
    (void)cudaRuntimeGetVersion(&runtime);
    snprintf(out->driver, sizeof out->driver, "CUDA %d.%d, driver for CUDA %d.%d", runtime / 1000,
             runtime % 1000 / 10, driver / 1000, driver % 1000 / 10);
    double hertz = attribute(cudaDevAttrClockRate, gpu->device) * 1e3;
    out->clock_mhz = (int32_t)(hertz / 1e6);
    out->rates = rates_of(gpu, hertz);
    (void)cudaGetLastError();
}

/* ---- queues ---- */

static void free_queue(HcQueue *queue) {
    hc_gpu_release(&queue->gpu->base, &queue->scratch);
    if (queue->stream != NULL) {
        (void)cudaStreamDestroy(queue->stream);
    }
    if (queue->event != NULL) {
        (void)cudaEventDestroy(queue->event);
    }
    (void)cudaFreeHost(queue->fault);
    (void)cudaGetLastError();
    delete queue;
}

static void free_queues(HcGpu *gpu) {
    while (gpu->queues != NULL) {
        HcQueue *next = gpu->queues->next;
        free_queue(gpu->queues);
        gpu->queues = next;
    }
}

/* Empty queues are kept: making one takes longer than a small copy. */
static void queue_close(HcQueue *queue) {
    if (queue == NULL) {
        return;
    }
    HcGpu *gpu = queue->gpu;
    if (cudaSetDevice(gpu->device) != cudaSuccess || cudaStreamSynchronize(queue->stream) != cudaSuccess) {
        free_queue(queue);
        return;
    }
    *queue->fault = {};
    hc_gpu_release(&gpu->base, &queue->scratch);
    HcGpuHeld held(gpu);
    queue->next = gpu->queues;
    gpu->queues = queue;
}

static HcQueue *take_kept_queue(HcGpu *gpu) {
    HcGpuHeld held(gpu);
    HcQueue *queue = gpu->queues;
    if (queue != NULL) {
        gpu->queues = queue->next;
    }
    return queue;
}

static HcStatus new_queue(HcGpu *gpu, HcQueue **out, HcError *err) {
    HcStatus status = HC_OK;
    HcQueue *queue = new (std::nothrow) HcQueue();
    if (queue == NULL) {
        return hc_fail_memory(err, sizeof *queue, "a queue");
    }
    queue->gpu = gpu;
    HC_TRY(hc_gpu_check(cudaStreamCreateWithFlags(&queue->stream, cudaStreamNonBlocking), "opening a queue",
                        err));
    HC_TRY(hc_gpu_check(cudaEventCreateWithFlags(&queue->event, cudaEventDisableTiming), "opening a queue",
                        err));
    HC_TRY(hc_gpu_check(cudaHostAlloc((void **)&queue->fault, sizeof(HcFault), cudaHostAllocMapped),
                        "opening a queue", err));
    *queue->fault = {};
    HC_TRY(hc_gpu_check(cudaHostGetDevicePointer((void **)&queue->fault_device, queue->fault, 0),
                        "opening a queue", err));
    *out = queue;
done:
    if (status != HC_OK) {
        free_queue(queue);
    }
    return status;
}

static HcStatus queue_open(HcCompute *compute, HcQueue **out, HcError *err) {
    HcGpu *gpu = (HcGpu *)compute;
    *out = NULL;
    HC_OR_RETURN(hc_gpu_use(gpu, err));
    if ((*out = take_kept_queue(gpu)) == NULL) {
        HC_OR_RETURN(new_queue(gpu, out, err));
    }
    return HC_OK;
}

HcStatus hc_gpu_scratch(HcQueue *queue, size_t bytes, HcError *err) {
    static const char growing[] = "making scratch memory";
    HcStatus status = HC_OK;
    HcBuffer larger = {};
    if (queue->scratch.bytes >= bytes) {
        return HC_OK;
    }
    HC_TRY(hc_gpu_alloc(&queue->gpu->base, HC_MEMORY_DEVICE, bytes, &larger, err));
    HC_TRY(hc_gpu_check(cudaMemsetAsync(larger.data, 0, bytes, queue->stream), growing, err));
    HC_TRY(hc_gpu_check(cudaStreamSynchronize(queue->stream), growing, err));
    hc_gpu_release(&queue->gpu->base, &queue->scratch);
    queue->scratch = larger;
    larger = {};
done:
    hc_gpu_release(&queue->gpu->base, &larger);
    return status;
}

static HcStatus follow(HcQueue *queue, HcQueue *after, HcError *err) {
    HC_OR_RETURN(hc_gpu_use(queue->gpu, err));
    HC_OR_RETURN(hc_gpu_check(cudaEventRecord(after->event, after->stream), "ordering queues", err));
    return hc_gpu_check(cudaStreamWaitEvent(queue->stream, after->event, 0), "ordering queues", err);
}

static HcStatus tell_fault(const HcFault *fault, HcError *err) {
    HcStatus status = (HcStatus)fault->status;
    switch (fault->operation) {
    case HC_FAULT_PROMISE:
        return hc_fail(err, status,
                       "the value %.9g is not an integer of magnitude %lld or less, as was promised",
                       fault->value, (long long)fault->limit);
    default:
        return hc_fail(err, status, "%s: band %.0f asked for, the %s 0 to %lld",
                       fault->operation == HC_FAULT_GATHER_BAND ? "gather" : "decode", fault->value,
                       fault->operation == HC_FAULT_GATHER_BAND ? "block has" : "bytes hold",
                       (long long)fault->limit - 1);
    }
}

static HcStatus wait_for(HcQueue *queue, HcError *err) {
    HC_OR_RETURN(hc_gpu_use(queue->gpu, err));
    HC_OR_RETURN(hc_gpu_check(cudaStreamSynchronize(queue->stream), "computing", err));
    if (queue->fault->status != HC_OK) {
        HcFault fault = *queue->fault;
        *queue->fault = {};
        HC_OR_RETURN(tell_fault(&fault, err));
    }
    return HC_OK;
}

static HcStatus upload(HcQueue *queue, const void *from, void *to, size_t bytes, HcError *err) {
    HcStatus status = hc_gpu_use(queue->gpu, err);
    return status != HC_OK
               ? status
               : hc_gpu_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, queue->stream),
                              "copying to the device", err);
}

static HcStatus download(HcQueue *queue, const void *from, void *to, size_t bytes, HcError *err) {
    HcStatus status = hc_gpu_use(queue->gpu, err);
    return status != HC_OK
               ? status
               : hc_gpu_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, queue->stream),
                              "copying from the device", err);
}

static HcStatus zero(HcQueue *queue, void *at, size_t bytes, HcError *err) {
    HcStatus status = hc_gpu_use(queue->gpu, err);
    return status != HC_OK
               ? status
               : hc_gpu_check(cudaMemsetAsync(at, 0, bytes, queue->stream), "clearing memory", err);
}

/* On the host, by the host's routine: bits that do not depend on the device. */
HcStatus hc_gpu_eigh(HcCompute *compute, int32_t n, const double *matrix, double *values, double *vectors,
                     HcError *err) {
    HcGpu *gpu = (HcGpu *)compute;
    if (gpu->host == NULL) {
        return hc_fail(err, HC_E_USAGE, "eigh: the GPU backend was opened without the host's operations");
    }
    return hc_eigh(gpu->host, n, matrix, values, vectors, err);
}

#define ENTRY(name, Function) .name = hc_gpu_##name,
static const HcComputeOps hc_gpu_operations = {.abi = HC_COMPUTE_ABI,
                                               .name = "gpu",
                                               .open = open_gpu,
                                               .close = close_gpu,
                                               .info = info,
                                               .alloc = hc_gpu_alloc,
                                               .release = hc_gpu_release,
                                               .queue_open = queue_open,
                                               .queue_close = queue_close,
                                               .follow = follow,
                                               .wait = wait_for,
                                               .upload = upload,
                                               .download = download,
                                               .zero = zero,
                                               HC_OPERATIONS(ENTRY)};

/* ---- the module ---- */

static HcStatus devices(HcDevice *out, int32_t capacity, int32_t *count, HcError *err) {
    int found = 0;
    *count = 0;
    cudaError_t result = cudaGetDeviceCount(&found);
    if (result == cudaErrorNoDevice) {
        (void)cudaGetLastError();
        return HC_OK;
    }
    if (result == cudaErrorInsufficientDriver) {
        int driver = 0;
        int runtime = 0;
        (void)cudaGetLastError();
        (void)cudaDriverGetVersion(&driver);
        (void)cudaRuntimeGetVersion(&runtime);
        if (driver == 0) {
            return hc_fail(err, HC_E_DEVICE, "no NVIDIA driver was found");
        }
        return hc_fail(err, HC_E_DEVICE, "the NVIDIA driver is for CUDA %d.%d, the GPU module needs %d.%d",
                       driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    }
    HcStatus status = hc_gpu_check(result, "looking for devices", err);
    if (status != HC_OK) {
        return status;
    }
    for (int32_t d = 0; d < found && d < capacity; d++) {
        cudaDeviceProp properties;
        if ((status = hc_gpu_check(cudaGetDeviceProperties(&properties, d), "looking at a device", err)) !=
            HC_OK) {
            return status;
        }
        out[d] = {};
        snprintf(out[d].name, sizeof out[d].name, "%.127s", properties.name);
        out[d].major = properties.major;
        out[d].minor = properties.minor;
        out[d].memory_total = properties.totalGlobalMem;
    }
    *count = found;
    return HC_OK;
}

static int32_t addresses(HcAddress *out, int32_t capacity) {
    return hc_addresses_read("", getenv("CUDA_VISIBLE_DEVICES"), getenv("CUDA_DEVICE_ORDER"), out, capacity);
}

extern "C" __attribute__((visibility("default"))) const HcModuleHead *hc_gpu_module(void) {
    static const HcModule module = {.head = {.abi = HC_COMPUTE_ABI, .version = HC_VERSION},
                                    .ops = &hc_gpu_operations,
                                    .vendor = hc_gpu_vendor(),
                                    .devices = devices,
                                    .addresses = addresses};
    return &module.head;
}
