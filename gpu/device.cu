/* The devices of this machine and what the runtime says of them: its errors, their figures, their list. All
 * other files of the backend stand above this one. */
#include "gpu/internal.cuh"

#include <stdio.h>
#include <stdlib.h>

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

int hc_gpu_attribute(cudaDeviceAttr which, int device) {
    int value = 0;
    return cudaDeviceGetAttribute(&value, which, device) == cudaSuccess ? value : 0;
}

/* Operations a cycle of one multiprocessor (CUDA programming guide, arithmetic throughput; matrix units for
 * 8-bit integers, and for float64 where there are any). Newer devices are not known. */
static const struct {
    int capability;
    double float32, float64, int8;
} cycle_rates[] = {{75, 128, 4, 2048}, {80, 128, 128, 4096}, {86, 256, 4, 2048},
                   {87, 256, 4, 4096}, {89, 256, 4, 2048},   {90, 256, 256, 8192}};

HcRates hc_gpu_rates(const HcGpu *gpu, double hertz) {
    HcRates rates = {};
    double bus = hc_gpu_attribute(cudaDevAttrGlobalMemoryBusWidth, gpu->device) / 8.0;
    rates.memory = 2 * hc_gpu_attribute(cudaDevAttrMemoryClockRate, gpu->device) * 1e3 * bus;
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

HcStatus hc_gpu_devices(HcDevice *out, int32_t capacity, int32_t *count, HcError *err) {
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

int32_t hc_gpu_addresses(HcAddress *out, int32_t capacity) {
    return hc_addresses_read("", getenv("CUDA_VISIBLE_DEVICES"), getenv("CUDA_DEVICE_ORDER"), out, capacity);
}
