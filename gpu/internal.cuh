/* What the files of the GPU backend share. */
#ifndef HC_GPU_INTERNAL_CUH
#define HC_GPU_INTERNAL_CUH

#include "core/compute.h"
#include "core/module/module.h"
#include "core/sums/moments.h"

#include <cuda_runtime.h>
#include <atomic>
#include <pthread.h>

/* An error that a kernel found; lies in mapped host memory, one a queue. The first to write wins, roughly. */
struct HcFault {
    int32_t status; /* an HcStatus, HC_OK = none */
    int32_t operation;
    double value;
    int64_t limit;
    int32_t holes; /* no error: floats of this queue held NaN or infinity where none were expected */
};

/* Which line a fault becomes. */
enum {
    HC_FAULT_DECODE_BAND,
    HC_FAULT_GATHER_BAND,
    HC_FAULT_FORMULA_BAND,
    HC_FAULT_FORMULA_STEP,
    HC_FAULT_PROMISE
};

struct HcGpuPiece; /* memory that is given out or kept for later (memory.cu) */

struct HcGpu {
    HcCompute base; /* first: an HcCompute is one of these */
    int device;
    int32_t threads;
    int major, minor;
    int processors;        /* streaming multiprocessors */
    size_t shared_memory;  /* that a block can ask for [bytes] */
    bool hopper;           /* exact sums by gram/hopper.cu */
    size_t panel_bytes;    /* of the limbs that are collected for exact sums, three of each value */
    bool poison;           /* as in HcComputeConfig */
    uint64_t memory;       /* most to use, 0 = no limit [bytes] */
    HcCompute *host;       /* the backend of the host; NULL = none was given */
    HcComputeInfo lasting; /* what hcube asks for that does not change */
    mutable pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* around the pieces and queues */
    HcGpuPiece *pieces;
    HcQueue *queues;                  /* kept for later */
    uint64_t device_bytes;            /* given out and kept */
    std::atomic<uint64_t> sums_bytes; /* that sums hold */
};

/* Holds the lock of the pieces and queues to the end of the block. That of the C++ library may throw. */
struct HcGpuHeld {
    const HcGpu *gpu;
    explicit HcGpuHeld(const HcGpu *locked) : gpu(locked) {
        (void)pthread_mutex_lock(&gpu->lock);
    }
    ~HcGpuHeld() {
        (void)pthread_mutex_unlock(&gpu->lock);
    }
    HcGpuHeld(const HcGpuHeld &) = delete;
    HcGpuHeld &operator=(const HcGpuHeld &) = delete;
};

struct HcQueue {
    HcHead head;
    HcQueue *next; /* of those that are kept */
    HcGpu *gpu;
    cudaStream_t stream;
    cudaEvent_t event;
    HcFault *fault;        /* on the host */
    HcFault *fault_device; /* the same memory, as kernels see it */
    HcBuffer scratch;      /* [device] that operations without memory of their own work in; grows */
    HcBuffer counters;     /* [device] 0 between operations; empty until one asks */
};

/* ---- device.cu ---- */

/* Turns a result of the runtime into a status; `what` was being done. */
HcStatus hc_gpu_check(cudaError_t result, const char *what, HcError *err);

/* Makes the device of a backend that of this thread. */
HcStatus hc_gpu_use(const HcGpu *gpu, HcError *err);

/* A figure of a device; 0 where the runtime does not know it. */
int hc_gpu_attribute(cudaDeviceAttr which, int device);

/* What the device can do at most at that clock; 0 = not known. */
HcRates hc_gpu_rates(const HcGpu *gpu, double hertz);

/* As HcModule has them. */
HcStatus hc_gpu_devices(HcDevice *out, int32_t capacity, int32_t *count, HcError *err);
int32_t hc_gpu_addresses(HcAddress *out, int32_t capacity);

/* After a launch: whether it was accepted. */
static inline HcStatus hc_gpu_launched(const char *what, HcError *err) {
    return hc_gpu_check(cudaGetLastError(), what, err);
}

/* ---- memory.cu ---- */

HcAllocFn hc_gpu_alloc;
HcReleaseFn hc_gpu_release;
/* Gives back all memory, at the end. */
void hc_gpu_trim(HcGpu *gpu);
/* Copies to the device outside of any queue. When it returns, kernels of all queues find the bytes there. */
HcStatus hc_gpu_bring(void *to, const void *from, size_t bytes, const char *what, HcError *err);
/* Device memory that is kept for later [bytes]. */
uint64_t hc_gpu_kept(const HcGpu *gpu);

/* ---- queue.cu ---- */

HcQueueOpenFn hc_gpu_queue_open;
HcQueueCloseFn hc_gpu_queue_close;
HcFollowFn hc_gpu_follow;
HcWaitFn hc_gpu_wait;
HcCopyFn hc_gpu_upload, hc_gpu_download;
HcZeroFn hc_gpu_zero;
/* Frees the queues that are kept, at the end. */
void hc_gpu_free_queues(HcGpu *gpu);
/* Memory of the queue for one operation, of `bytes` bytes at least: any operation before may have left
 * anything there. Waits for the work before if it must grow. */
HcStatus hc_gpu_scratch(HcQueue *queue, size_t bytes, void **out, HcError *err);
/* Counters of the queue that are 0 for each operation, which leaves them so: HC_GPU_COUNTERS of them. No
 * other memory has that promise. */
enum { HC_GPU_COUNTERS = 2048 };
HcStatus hc_gpu_counters(HcQueue *queue, uint32_t **out, HcError *err);

/* ---- vendor.cu ---- */

const HcVendorOps *hc_gpu_vendor(void);

/* ---- what kernels share ---- */

/* A block as kernels take it: by value, with its rows counted. */
struct HcView {
    float *data;
    uint8_t *mask;
    int64_t first_line; /* line of the scene in the first row */
    int64_t rows;
    int32_t samples, bands;
};

static inline HcView hc_view(const HcBlock *block) {
    return {block->data,          block->mask,    hc_block_first_line(block),
            hc_block_rows(block), block->samples, block->bands};
}

static inline int64_t hc_div_up(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

/* Takes the next `bytes` of a layout, aligned. */
static inline char *hc_take(char *memory, size_t *at, size_t bytes) {
    size_t start = *at;
    *at += (bytes + 255) / 256 * 256;
    return memory != NULL ? memory + start : NULL;
}

#ifdef __CUDACC__

__device__ static inline void hc_raise(HcFault *fault, int32_t status, int32_t operation, double value,
                                       int64_t limit) {
    volatile HcFault *f = fault;
    if (f->status == HC_OK) {
        f->operation = operation;
        f->value = value;
        f->limit = limit;
        __threadfence_system();
        f->status = status;
    }
}

/* Whether a pixel of the scene is in the view and valid. row and sample may lie outside. */
__device__ static inline bool hc_valid(const HcView &view, int64_t row, int64_t sample) {
    return row >= 0 && row < view.rows && sample >= 0 && sample < view.samples &&
           view.mask[row * view.samples + sample] != 0;
}

/* Whether all that `kind` looks at around a pixel is valid, and within the window (rows and samples of the
 * view, ends excluded). */
__device__ static inline bool hc_difference_valid(const HcView &view, HcDifference kind, int64_t row,
                                                  int64_t sample, int64_t top, int64_t bottom, int64_t left,
                                                  int64_t right) {
    int64_t up = 0;
    int64_t down = 0;
    int64_t before = 0;
    int64_t behind = 0;
    if (kind == HC_DIFFERENCE_MEAN3X3 || kind == HC_DIFFERENCE_MEDIAN3X3) {
        up = down = before = behind = 1;
    } else if (kind != HC_DIFFERENCE_NONE) {
        behind = 1;
        down = kind == HC_DIFFERENCE_SHIFT_DIAGONAL;
    }
    if (row - up < top || row + down >= bottom || sample - before < left || sample + behind >= right) {
        return false;
    }
    if (up == 0) {
        return hc_valid(view, row, sample) && hc_valid(view, row + down, sample + behind);
    }
    /* All nine at once: loads that wait for each other take nine times as long. */
    if (row < 1 || row + 1 >= view.rows) {
        return false;
    }
    const uint8_t *mask = view.mask + (row - 1) * view.samples + sample - 1;
    int valid = 1;
#pragma unroll
    for (int k = 0; k < 9; k++) {
        valid &= mask[k / 3 * (int64_t)view.samples + k % 3] != 0;
    }
    return valid != 0;
}

__device__ static inline void hc_sort2(float &a, float &b) {
    float low = a < b ? a : b; /* as the CPU has it, for zeros of both signs */
    b = a < b ? b : a;
    a = low;
}

/* An exchange network for the fifth of nine values (after Devillard's and Smith's). */
__device__ static inline float hc_middle_of_nine(float p0, float p1, float p2, float p3, float p4, float p5,
                                                 float p6, float p7, float p8) {
    hc_sort2(p1, p2), hc_sort2(p4, p5), hc_sort2(p7, p8);
    hc_sort2(p0, p1), hc_sort2(p3, p4), hc_sort2(p6, p7);
    hc_sort2(p1, p2), hc_sort2(p4, p5), hc_sort2(p7, p8);
    hc_sort2(p0, p3), hc_sort2(p5, p8), hc_sort2(p4, p7);
    hc_sort2(p3, p6), hc_sort2(p1, p4), hc_sort2(p2, p5);
    hc_sort2(p4, p7), hc_sort2(p4, p2), hc_sort2(p6, p4), hc_sort2(p4, p2);
    return p4;
}

#endif

#endif
