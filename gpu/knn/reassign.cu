/* Pixels that change their class: a warp looks at 32 of them, and takes the bands of each one that changes.
 * Sums are integers, so atomic additions may come in any order. */
#include "core/operation/knn/reassign.h"
#include "gpu/internal.cuh"

HcReassignFn hc_gpu_reassign;

namespace {

enum { THREADS = 128 };

struct Job {
    const float *data; /* of the first pixel */
    const uint8_t *mask;
    const int32_t *index;
    int32_t *label;
    unsigned long long *sums;
    int64_t pixels;
    int32_t bands, k, classes;
};

__global__ void __launch_bounds__(THREADS) reassign(const Job job) {
    const int32_t lane = threadIdx.x % 32;
    const int64_t pixel = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const bool there = pixel < job.pixels && job.mask[pixel] != 0;
    const int32_t to = there ? job.index[pixel * job.k] : -1;
    const int32_t from = to >= 0 ? job.label[pixel] : -1;
    const bool changes = to >= 0 && to != from;
    unsigned long long *digits = job.sums + 1 + job.classes;
    uint32_t left = __ballot_sync(0xFFFFFFFFU, changes);
    if (changes) {
        job.label[pixel] = to;
        atomicAdd(&job.sums[1 + to], 1ULL);
        if (from >= 0) {
            atomicAdd(&job.sums[1 + from], ~0ULL);
        }
    }
    if (lane == 0 && left != 0) {
        atomicAdd(job.sums, (unsigned long long)__popc(left));
    }
    for (; left != 0; left &= left - 1) {
        const int32_t which = __ffs((int)left) - 1;
        const int64_t old = __shfl_sync(0xFFFFFFFFU, from, which);
        const int64_t its = __shfl_sync(0xFFFFFFFFU, to, which);
        const float *x = job.data + (pixel - lane + which) * job.bands;
        for (int32_t b = lane; b < job.bands; b += 32) {
            uint32_t digit = 0;
            const int64_t part = hc_class_digit(x[b], &digit);
            atomicAdd(&digits[(its * HC_CLASS_DIGITS + digit) * job.bands + b], (unsigned long long)part);
            if (old >= 0) {
                atomicAdd(&digits[(old * HC_CLASS_DIGITS + digit) * job.bands + b],
                          (unsigned long long)-part);
            }
        }
    }
}

} // namespace

HcStatus hc_gpu_reassign(HcQueue *queue, const HcBlock *in, const int32_t *index, int32_t k, int32_t *label,
                         int32_t classes, int64_t *sums, HcError *err) {
    HC_OR_RETURN(hc_gpu_use(queue->gpu, err));
    const int64_t above = (int64_t)in->above * in->samples;
    const Job job = {
        in->data + above * in->bands,     in->mask + above, index, label,  (unsigned long long *)sums,
        (int64_t)in->lines * in->samples, in->bands,        k,     classes};
    reassign<<<(unsigned)hc_div_up(job.pixels, THREADS), THREADS, 0, queue->stream>>>(job);
    return hc_gpu_launched("changing classes", err);
}
