/* An offset and a gain of each detector column and band. A warp takes some lines of one column: lanes take
 * neighbouring bands, whose offset and gain come from far away once. */
#include "core/operation/spectrum/calibrate.h"
#include "gpu/internal.cuh"

HcCalibrateFn hc_gpu_calibrate;

namespace {

enum { THREADS = 256, LANES = 32, LINES = 8 };

struct Job {
    const float *from; /* of the output's first pixel */
    const uint8_t *mask;
    HcCalibration how;
    HcView out;
    int64_t first; /* line of the scene in the first row */
};

/* Whether a pixel of LANES threads has a saturated value. */
__device__ bool is_saturated(const Job &job, const float *from, int lane) {
    bool any = false;
    for (int64_t b = lane; job.how.limit != NULL && b < job.out.bands; b += LANES) {
        any = any || __ldg(from + b) >= __ldg(job.how.limit + b);
    }
    return __any_sync(0xFFFFFFFFu, any) != 0;
}

__global__ void __launch_bounds__(THREADS) calibrate(const Job job) {
    int64_t bands = job.out.bands, samples = job.out.samples;
    int64_t unit = (int64_t)blockIdx.x * (THREADS / LANES) + (int)threadIdx.x / LANES;
    int64_t sample = unit % samples, row0 = unit / samples * LINES;
    int lane = (int)threadIdx.x % LANES;
    uint32_t stays = 0; /* bit i: the pixel in row row0 + i does */
    if (row0 >= job.out.rows) {
        return;
    }
    int lines = job.out.rows - row0 < LINES ? (int)(job.out.rows - row0) : LINES;
    for (int i = 0; i < lines; i++) {
        int64_t pixel = (row0 + i) * samples + sample;
        bool valid = __ldg(job.mask + pixel) != 0 && __ldg(job.how.live + sample) != 0;
        valid = valid && !is_saturated(job, job.from + pixel * bands, lane);
        stays |= (uint32_t)valid << i;
        if (lane == 0) {
            job.out.mask[pixel] = valid;
        }
    }
    for (int64_t b = lane; b < bands; b += LANES) {
        int64_t at = sample * bands + b;
#pragma unroll
        for (int i = 0; i < LINES; i++) {
            int64_t value = ((row0 + i) * samples + sample) * bands + b;
            if (i < lines) {
                job.out.data[value] =
                    (stays >> i & 1) != 0
                        ? hc_calibrated(&job.how, at, job.first + row0 + i, __ldg(job.from + value))
                        : 0;
            }
        }
    }
}

} // namespace

HcStatus hc_gpu_calibrate(HcQueue *queue, const HcBlock *in, const HcCalibration *how, const HcBlock *out,
                          HcError *err) {
    HC_OR_RETURN(hc_gpu_use(queue->gpu, err));
    /* Rows of both blocks lie without gaps, so pixels are counted through. */
    int64_t skip = (hc_block_first_line(out) - hc_block_first_line(in)) * in->samples;
    Job job = {in->data + skip * in->bands, in->mask + skip, *how, hc_view(out), hc_block_first_line(out)};
    int64_t units = job.out.samples * hc_div_up(job.out.rows, LINES);
    calibrate<<<(unsigned)hc_div_up(units, THREADS / LANES), THREADS, 0, queue->stream>>>(job);
    return hc_gpu_launched("calibrating columns", err);
}
