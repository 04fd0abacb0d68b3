/* 3x3 mean and median. */
#include "core/operation/image/filter.h"
#include "gpu/image/walk.cuh"

#include <math.h>

HcFilterFn hc_gpu_filter;

namespace {

/* The median of the valid ones of nine values; equal values keep their order. */
__device__ __forceinline__ float median_of(float values[9], uint32_t valid) {
    int count = __popc(valid);
    float low = 0;
    float high = 0;
#pragma unroll
    for (int k = 0; k < 9; k++) {
        values[k] = (valid >> k & 1) != 0 ? values[k] : INFINITY; /* sorted to the end */
    }
#pragma unroll
    for (int end = 8; end > 0; end--) {
#pragma unroll
        for (int k = 0; k < end; k++) {
            float a = values[k];
            float b = values[k + 1];
            values[k] = b < a ? b : a;
            values[k + 1] = b < a ? a : b;
        }
    }
#pragma unroll
    for (int k = 0; k < 9; k++) {
        low = k == (count - 1) / 2 ? values[k] : low;
        high = k == count / 2 ? values[k] : high;
    }
    return (float)(((double)low + (double)high) / 2);
}

__device__ __forceinline__ float mean_of(const float values[9], uint32_t valid) {
    double sum = 0;
#pragma unroll
    for (int k = 0; k < 9; k++) {
        sum += (valid >> k & 1) != 0 ? (double)values[k] : 0;
    }
    return (float)(sum / __popc(valid));
}

/* A pixel at the edge of the scene or beside a masked one, row by row. */
template <HcFilter KIND>
__device__ __forceinline__ float partial(const HcColumn &left, const HcColumn &here, const HcColumn &right) {
    float values[9];
    uint32_t valid = 0;
#pragma unroll
    for (int r = 0; r < 3; r++) {
        values[3 * r] = left.values[r];
        values[3 * r + 1] = here.values[r];
        values[3 * r + 2] = right.values[r];
        valid |= ((left.valid >> r & 1) | (here.valid >> r & 1) << 1 | (right.valid >> r & 1) << 2)
                 << (3 * r);
    }
    return KIND == HC_FILTER_MEDIAN3X3 ? median_of(values, valid) : mean_of(values, valid);
}

template <HcFilter KIND>
__device__ inline float whole(const HcColumn &left, const HcColumn &here, const HcColumn &right) {
    if constexpr (KIND == HC_FILTER_MEDIAN3X3) {
        return hc_middle_of_nine(left.values[0], here.values[0], right.values[0], left.values[1],
                                 here.values[1], right.values[1], left.values[2], here.values[2],
                                 right.values[2]);
    }
    return (float)hc_ninth(left.sum + here.sum + right.sum);
}

template <HcFilter KIND>
__global__ void __launch_bounds__(HC_WALK_THREADS)
    filter(const HcView in, const HcView out, const HcWalk walk, int64_t skip) {
    hc_walk_windows<2>(in, out, walk, skip,
                       [](const HcColumn &left, const HcColumn &here, const HcColumn &right, bool *valid) {
                           *valid = (here.valid & 2) != 0;
                           if ((left.valid & here.valid & right.valid) == 7) {
                               return whole<KIND>(left, here, right);
                           }
                           return *valid ? partial<KIND>(left, here, right) : 0;
                       });
}

} // namespace

HcStatus hc_gpu_filter(HcQueue *queue, const HcBlock *in, HcFilter kind, const HcBlock *out, HcError *err) {
    HC_OR_RETURN(hc_gpu_use(queue->gpu, err));
    HcView to = hc_view(out);
    HcWalk walk = hc_walk(to);
    auto kernel = kind == HC_FILTER_MEDIAN3X3 ? filter<HC_FILTER_MEDIAN3X3> : filter<HC_FILTER_MEAN3X3>;
    int64_t skip = hc_block_first_line(out) - hc_block_first_line(in);
    kernel<<<hc_walk_blocks(walk, to), HC_WALK_THREADS, 0, queue->stream>>>(hc_view(in), to, walk, skip);
    return hc_gpu_launched("filtering", err);
}
