/* Differences of neighbouring pixels: the noise of a scene. */
#include "core/operation/image/difference.h"
#include "gpu/image/walk.cuh"

HcDifferenceFn hc_gpu_difference;

namespace {

/* In units of the scene, rounded once. */
template <HcDifference KIND>
__device__ inline float difference_of(const HcColumn &left, const HcColumn &here, const HcColumn &right) {
    double x = here.values[1];
    if constexpr (KIND == HC_DIFFERENCE_MEDIAN3X3) {
        return (float)(x - (double)hc_middle_of_nine(left.values[0], here.values[0], right.values[0],
                                                     left.values[1], here.values[1], right.values[1],
                                                     left.values[2], here.values[2], right.values[2]));
    }
    return (float)hc_ninth(9.0 * x - (left.sum + here.sum + right.sum));
}

/* From all nine pixels around one. */
template <HcDifference KIND>
__global__ void __launch_bounds__(HC_WALK_THREADS)
    around(const HcView in, const HcView out, const HcWalk walk, int64_t skip) {
    hc_walk_windows<4>(in, out, walk, skip,
                       [](const HcColumn &left, const HcColumn &here, const HcColumn &right, bool *valid) {
                           *valid = (left.valid & here.valid & right.valid) == 7;
                           return *valid ? difference_of<KIND>(left, here, right) : 0;
                       });
}

/* From one other pixel, or none. */
template <HcDifference KIND>
__global__ void __launch_bounds__(HC_WALK_THREADS)
    between(const HcView in, const HcView out, const HcWalk walk, int64_t skip) {
    const int64_t other = (KIND == HC_DIFFERENCE_SHIFT_DIAGONAL ? (int64_t)in.samples : 0) + 1;
    HcStretch at = hc_stretch(walk, out);
    int64_t row = at.row + skip;
    const float *from = in.data + row * in.samples * in.bands + at.band;
    int64_t pixel = at.row * out.samples;
#pragma unroll 4
    for (int32_t s = at.sample; s < at.end; s++) {
        bool valid = hc_difference_valid(in, KIND, row, s, 0, in.rows, 0, in.samples);
        float value = 0;
        if (valid) {
            double x = __ldg(from + (int64_t)s * in.bands);
            double y = KIND != HC_DIFFERENCE_NONE ? __ldg(from + (s + other) * in.bands) : 0;
            value = (float)(x - y);
        }
        out.data[(pixel + s) * out.bands + at.band] = value;
        if (at.band == 0) {
            out.mask[pixel + s] = valid;
        }
    }
}

typedef void Kernel(HcView in, HcView out, HcWalk walk, int64_t skip);

Kernel *kernel_of(HcDifference kind) {
    switch (kind) {
    case HC_DIFFERENCE_MEAN3X3:
        return around<HC_DIFFERENCE_MEAN3X3>;
    case HC_DIFFERENCE_MEDIAN3X3:
        return around<HC_DIFFERENCE_MEDIAN3X3>;
    case HC_DIFFERENCE_SHIFT:
        return between<HC_DIFFERENCE_SHIFT>;
    case HC_DIFFERENCE_SHIFT_DIAGONAL:
        return between<HC_DIFFERENCE_SHIFT_DIAGONAL>;
    default:
        return between<HC_DIFFERENCE_NONE>;
    }
}

} // namespace

HcStatus hc_gpu_difference(HcQueue *queue, const HcBlock *in, HcDifference kind, const HcBlock *out,
                           HcError *err) {
    HC_OR_RETURN(hc_gpu_use(queue->gpu, err));
    HcView to = hc_view(out);
    HcWalk walk = hc_walk(to);
    Kernel *kernel = kernel_of(kind);
    int64_t skip = hc_block_first_line(out) - hc_block_first_line(in);
    kernel<<<hc_walk_blocks(walk, to), HC_WALK_THREADS, 0, queue->stream>>>(hc_view(in), to, walk, skip);
    return hc_gpu_launched("taking differences", err);
}
