/* Memory of the device and pinned memory of the host. Both are slow to get, so what is released is kept for
 * the next scene of the same process. */
#include "gpu/internal.cuh"

#include <new>

struct HcGpuPiece {
    HcGpuPiece *next;
    void *data;
    size_t bytes;
    HcMemory where;
    bool free;
};

/* A kept piece is taken when it is at most this much larger than what is asked for. */
static bool fits(const HcGpuPiece *piece, HcMemory where, size_t bytes) {
    return piece->free && piece->where == where && piece->bytes >= bytes &&
           piece->bytes - bytes <= bytes / 4 + ((size_t)1 << 16);
}

static HcGpuPiece *take_kept(HcGpu *gpu, HcMemory where, size_t bytes) {
    HcGpuPiece *best = NULL;
    for (HcGpuPiece *piece = gpu->pieces; piece != NULL; piece = piece->next) {
        if (fits(piece, where, bytes) && (best == NULL || piece->bytes < best->bytes)) {
            best = piece;
        }
    }
    if (best != NULL) {
        best->free = false;
    }
    return best;
}

static void give_back(HcGpu *gpu, HcGpuPiece *piece) {
    if (piece->where == HC_MEMORY_DEVICE) {
        gpu->device_bytes -= piece->bytes;
        (void)cudaFree(piece->data);
    } else {
        (void)cudaFreeHost(piece->data);
    }
    delete piece;
}

static void trim_locked(HcGpu *gpu, bool all) {
    for (HcGpuPiece **at = &gpu->pieces; *at != NULL;) {
        HcGpuPiece *piece = *at;
        if (piece->free || all) {
            *at = piece->next;
            give_back(gpu, piece);
        } else {
            at = &piece->next;
        }
    }
}

void hc_gpu_trim(HcGpu *gpu) {
    HcGpuHeld held(gpu);
    trim_locked(gpu, true);
}

uint64_t hc_gpu_kept(const HcGpu *gpu) {
    HcGpuHeld held(gpu);
    uint64_t bytes = 0;
    for (const HcGpuPiece *piece = gpu->pieces; piece != NULL; piece = piece->next) {
        bytes += piece->free && piece->where == HC_MEMORY_DEVICE ? piece->bytes : 0;
    }
    return bytes;
}

static cudaError_t get(HcGpu *gpu, HcMemory where, size_t bytes, void **data) {
    if (where == HC_MEMORY_HOST) {
        return cudaHostAlloc(data, bytes, cudaHostAllocDefault);
    }
    if (gpu->memory > 0 && gpu->device_bytes + bytes > gpu->memory) {
        return cudaErrorMemoryAllocation;
    }
    return cudaMalloc(data, bytes);
}

HcStatus hc_gpu_alloc(HcCompute *compute, HcMemory where, size_t bytes, HcBuffer *out, HcError *err) {
    HcGpu *gpu = (HcGpu *)compute;
    *out = {};
    HcStatus status = hc_gpu_use(gpu, err);
    if (status != HC_OK) {
        return status;
    }
    if (bytes > SIZE_MAX / 2) {
        return hc_fail_memory(err, (double)bytes, "a buffer on the GPU");
    }
    size_t wanted = bytes > 0 ? (bytes + 255) / 256 * 256 : 256;
    HcGpuHeld held(gpu);
    HcGpuPiece *piece = take_kept(gpu, where, wanted);
    if (piece == NULL) {
        void *data = NULL;
        cudaError_t result = get(gpu, where, wanted, &data);
        if (result == cudaErrorMemoryAllocation) {
            (void)cudaGetLastError(); /* it is not sticky */
            trim_locked(gpu, false);
            result = get(gpu, where, wanted, &data);
        }
        if (result == cudaErrorMemoryAllocation) {
            (void)cudaGetLastError();
            return hc_fail_memory(err, (double)bytes,
                                  where == HC_MEMORY_DEVICE ? "a buffer on the GPU" : "a pinned buffer");
        }
        if ((status = hc_gpu_check(result, "allocating memory", err)) != HC_OK) {
            return status;
        }
        piece = new (std::nothrow) HcGpuPiece{gpu->pieces, data, wanted, where, false};
        if (piece == NULL) {
            (void)(where == HC_MEMORY_DEVICE ? cudaFree(data) : cudaFreeHost(data));
            return hc_fail_memory(err, sizeof *piece, "a buffer");
        }
        gpu->pieces = piece;
        gpu->device_bytes += where == HC_MEMORY_DEVICE ? wanted : 0;
    }
    *out = {piece->data, bytes, where, piece};
    return HC_OK;
}

void hc_gpu_release(HcCompute *compute, HcBuffer *buffer) {
    HcGpu *gpu = (HcGpu *)compute;
    if (buffer == NULL) {
        return;
    }
    HcGpuPiece *piece = (HcGpuPiece *)buffer->handle;
    if (piece != NULL) {
        HcGpuHeld held(gpu);
        piece->free = true;
    }
    *buffer = {};
}

/* The copy may go on after cudaMemcpy() has returned, and streams of queues do not wait for it. */
HcStatus hc_gpu_bring(void *to, const void *from, size_t bytes, const char *what, HcError *err) {
    HC_OR_RETURN(hc_gpu_check(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), what, err));
    return hc_gpu_check(cudaStreamSynchronize(cudaStreamLegacy), what, err);
}
