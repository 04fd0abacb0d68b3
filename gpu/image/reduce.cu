/* Every pixel y to one number, by itself or with each of some targets t: sums of squares, shares, cosines,
 * angles, divergences; or to two numbers, a share and how far the pixel is from that mixture.
 *
 * Memory is what this waits for, so loads are whole sectors and several of them are under way in each thread:
 * eight lanes share a pixel (the eight parts of a sum, core/operation/image/reduce.h), a warp reads four
 * pixels side by side, and a lane has four pixels, for which it reads and squares a target once. What a
 * target reads again of a pixel is in the first cache. */
#include "core/operation/image/reduce.h"
#include "gpu/internal.cuh"

HcReduceFn hc_gpu_reduce;

namespace {

enum { THREADS = 256, PARTS = 8, GROUPS = THREADS / PARTS, PIXELS = 4 }; /* PIXELS: of a group */

struct Job {
    const float *x; /* of the output's first pixel */
    const uint8_t *mask;
    const double *targets;
    HcView out;
    int64_t pixels;
    int32_t bands;
};

/* The pixels of a group: GROUPS apart, so that those of a warp lie side by side. */
struct Group {
    const float *x;
    int64_t pixel, left, bands;
    int lane;

    __device__ bool has(int p) const {
        return (int64_t)p * GROUPS < left;
    }
    __device__ double value(int p, int64_t b) const {
        return has(p) ? (double)__ldg(x + (int64_t)p * GROUPS * bands + b) : 0;
    }
};

/* The sum of the parts, in all lanes of the group. */
__device__ inline double join(double part) {
#pragma unroll
    for (int step = PARTS / 2; step > 0; step /= 2) {
        part += __shfl_xor_sync(0xffffffff, part, step);
    }
    return part;
}

__device__ inline void squares(const Group &group, double yy[PIXELS]) {
    double part[PIXELS] = {};
#pragma unroll 2
    for (int64_t b = group.lane; b < group.bands; b += PARTS) {
#pragma unroll
        for (int p = 0; p < PIXELS; p++) {
            double y = group.value(p, b);
            part[p] += y * y;
        }
    }
#pragma unroll
    for (int p = 0; p < PIXELS; p++) {
        yy[p] = join(part[p]);
    }
}

/* y't of each pixel; returns t't. */
__device__ inline double products(const Group &group, const double *t, double yt[PIXELS]) {
    double part[PIXELS] = {};
    double square = 0;
#pragma unroll 2
    for (int64_t b = group.lane; b < group.bands; b += PARTS) {
        double target = __ldg(t + b);
        square += target * target;
#pragma unroll
        for (int p = 0; p < PIXELS; p++) {
            part[p] += group.value(p, b) * target;
        }
    }
#pragma unroll
    for (int p = 0; p < PIXELS; p++) {
        yt[p] = join(part[p]);
    }
    return join(square);
}

/* Angles need |y| and |t| first, and then look at both again. */
__device__ inline void angles(const Group &group, const double *t, const double yy[PIXELS],
                              double angle[PIXELS]) {
    double square = 0;
    for (int64_t b = group.lane; b < group.bands; b += PARTS) {
        square += __ldg(t + b) * __ldg(t + b);
    }
    double tt = join(square);
    double down[PIXELS] = {};
    double up[PIXELS] = {};
    double a = sqrt(tt);
    double length[PIXELS];
#pragma unroll
    for (int p = 0; p < PIXELS; p++) {
        length[p] = sqrt(yy[p]);
    }
    for (int64_t b = group.lane; b < group.bands; b += PARTS) {
        double target = __ldg(t + b);
#pragma unroll
        for (int p = 0; p < PIXELS; p++) {
            double ay = a * group.value(p, b);
            double bt = length[p] * target;
            down[p] += (ay - bt) * (ay - bt);
            up[p] += (ay + bt) * (ay + bt);
        }
    }
#pragma unroll
    for (int p = 0; p < PIXELS; p++) {
        double minus = join(down[p]);
        double plus = join(up[p]);
        angle[p] = yy[p] * tt == 0 ? acos(0.0) : 2 * atan2(sqrt(minus), sqrt(plus));
    }
}

/* Values that are not positive are counted: both sums come before the logarithms. */
__device__ inline void divergences(const Group &group, const double *t, double result[PIXELS]) {
    double sum[PIXELS] = {};
    double low[PIXELS] = {};
    double part[PIXELS] = {};
    double target_part = 0;
    double target_low = 0;
    for (int64_t b = group.lane; b < group.bands; b += PARTS) {
        double target = __ldg(t + b);
        target_part += target;
        target_low += target <= 0 ? 1 : 0;
#pragma unroll
        for (int p = 0; p < PIXELS; p++) {
            double y = group.value(p, b);
            sum[p] += y;
            low[p] += y <= 0 ? 1 : 0;
        }
    }
    double target_sum = join(target_part);
    target_low = join(target_low);
#pragma unroll
    for (int p = 0; p < PIXELS; p++) {
        sum[p] = join(sum[p]);
        low[p] = join(low[p]) + target_low;
    }
    for (int64_t b = group.lane; b < group.bands; b += PARTS) {
        double target = __ldg(t + b) / target_sum;
#pragma unroll
        for (int p = 0; p < PIXELS; p++) {
            double y = group.value(p, b) / sum[p];
            part[p] += (y - target) * log(y / target);
        }
    }
#pragma unroll
    for (int p = 0; p < PIXELS; p++) {
        double joined = join(part[p]);
        result[p] = !isfinite(sum[p]) ? NAN : low[p] > 0 ? INFINITY : joined;
    }
}

/* The share of a target, and how far the pixel is from that mixture, by standard deviations d. */
__device__ inline void mixtures(const Group &group, const double *t, const double *d, double share[PIXELS],
                                double apart[PIXELS]) {
    double yt[PIXELS] = {};
    double part[PIXELS] = {};
    double tt = 0;
    double within[PIXELS];
    for (int64_t b = group.lane; b < group.bands; b += PARTS) {
        double deviation = __ldg(d + b);
        double weighted = __ldg(t + b) / (deviation * deviation);
        tt += __ldg(t + b) * weighted;
#pragma unroll
        for (int p = 0; p < PIXELS; p++) {
            yt[p] += group.value(p, b) * weighted;
        }
    }
    double square = join(tt);
#pragma unroll
    for (int p = 0; p < PIXELS; p++) {
        double product = join(yt[p]);
        share[p] = square == 0 ? product : product / square;
        within[p] = share[p] < 0 ? 0 : share[p] > 1 ? 1 : share[p];
    }
    for (int64_t b = group.lane; b < group.bands; b += PARTS) {
        double deviation = __ldg(d + b);
        double target = __ldg(t + b);
#pragma unroll
        for (int p = 0; p < PIXELS; p++) {
            double rest = (group.value(p, b) - share[p] * target) / (deviation + within[p] * (1 - deviation));
            part[p] += rest * rest;
        }
    }
#pragma unroll
    for (int p = 0; p < PIXELS; p++) {
        apart[p] = sqrt(join(part[p]) / (double)group.bands);
    }
}

template <HcReduction KIND>
__device__ inline void with_target(const Group &group, const double *t, const double yy[PIXELS],
                                   double result[PIXELS]) {
    if constexpr (KIND == HC_REDUCE_ANGLE) {
        angles(group, t, yy, result);
    } else if constexpr (KIND == HC_REDUCE_DIVERGENCE) {
        divergences(group, t, result);
    } else {
        double yt[PIXELS];
        double tt = products(group, t, yt);
#pragma unroll
        for (int p = 0; p < PIXELS; p++) {
            double both = yy[p] * tt;
            if constexpr (KIND == HC_REDUCE_MATCH) {
                result[p] = tt == 0 ? yt[p] : yt[p] / tt;
            } else if constexpr (KIND == HC_REDUCE_POWER) {
                result[p] = tt == 0 ? yt[p] : yt[p] * fabs(yt[p]) / tt;
            } else {
                result[p] = both == 0 ? 0 : yt[p] * fabs(yt[p]) / both;
            }
        }
    }
}

__device__ inline void write(const Group &group, const Job &job, int64_t band, const double result[PIXELS]) {
    for (int p = 0; p < PIXELS && group.lane == 0; p++) {
        int64_t at = group.pixel + (int64_t)p * GROUPS;
        if (group.has(p)) {
            job.out.data[at * job.out.bands + band] = __ldg(job.mask + at) != 0 ? (float)result[p] : 0;
        }
    }
}

template <HcReduction KIND> __global__ void __launch_bounds__(THREADS) reduce(const Job job) {
    double yy[PIXELS] = {};
    Group group;
    group.pixel = (int64_t)blockIdx.x * GROUPS * PIXELS + threadIdx.x / PARTS;
    group.left = job.pixels - group.pixel;
    group.bands = job.bands;
    group.lane = (int)threadIdx.x % PARTS;
    group.x = job.x + group.pixel * group.bands;
    if constexpr (KIND == HC_REDUCE_SQUARES || KIND == HC_REDUCE_COHERENCE || KIND == HC_REDUCE_ANGLE) {
        squares(group, yy);
    }
    if constexpr (KIND == HC_REDUCE_SQUARES) {
        write(group, job, 0, yy);
    } else if constexpr (KIND == HC_REDUCE_MIXTURE) {
        int64_t targets = job.out.bands / 2;
        for (int64_t j = 0; j < targets; j++) {
            double share[PIXELS];
            double apart[PIXELS];
            mixtures(group, job.targets + j * group.bands, job.targets + targets * group.bands, share, apart);
            write(group, job, 2 * j, share);
            write(group, job, 2 * j + 1, apart);
        }
    } else {
        for (int64_t j = 0; j < job.out.bands; j++) {
            double result[PIXELS];
            with_target<KIND>(group, job.targets + j * group.bands, yy, result);
            write(group, job, j, result);
        }
    }
    int64_t at = (int64_t)blockIdx.x * GROUPS * PIXELS + threadIdx.x;
    if (threadIdx.x < GROUPS * PIXELS && at < job.pixels) {
        job.out.mask[at] = job.mask[at];
    }
}

typedef void Kernel(Job job);

} // namespace

HcStatus hc_gpu_reduce(HcQueue *queue, const HcBlock *in, HcReduction kind, const double *targets,
                       const HcBlock *out, HcError *err) {
    HC_OR_RETURN(hc_gpu_use(queue->gpu, err));
    static Kernel *const kernels[] = {reduce<HC_REDUCE_SQUARES>,   reduce<HC_REDUCE_MATCH>,
                                      reduce<HC_REDUCE_COHERENCE>, reduce<HC_REDUCE_ANGLE>,
                                      reduce<HC_REDUCE_POWER>,     reduce<HC_REDUCE_DIVERGENCE>,
                                      reduce<HC_REDUCE_MIXTURE>};
    /* Rows of both blocks lie without gaps, so pixels are counted through. */
    int64_t skip = (hc_block_first_line(out) - hc_block_first_line(in)) * in->samples;
    Job job = {};
    job.x = in->data + skip * in->bands;
    job.mask = in->mask + skip;
    job.targets = targets;
    job.out = hc_view(out);
    job.pixels = (int64_t)hc_block_pixels(out);
    job.bands = in->bands;
    int64_t blocks = hc_div_up(job.pixels, GROUPS * PIXELS);
    kernels[kind]<<<(unsigned)blocks, THREADS, 0, queue->stream>>>(job);
    return hc_gpu_launched("reducing", err);
}
