/* An offset and a gain of each detector column and band. A column's numbers are read once a line: they stay
 * in the cache of a processor where a frame of the detector fits there. */
#include "core/operation/spectrum/calibrate.h"
#include "cpu/work.h"

#include <string.h>

HcCalibrateFn hc_cpu_calibrate;

typedef struct Job {
    const HcBlock *in, *out;
    const HcCalibration *how;
} Job;

static bool is_saturated(const float *value, const float *limit, int64_t bands) {
    bool saturated = false;
    for (int64_t b = 0; limit != NULL && b < bands; b++) {
        saturated |= value[b] >= limit[b];
    }
    return saturated;
}

static void calibrate_pixel(const HcCalibration *how, int64_t at, int64_t line, const float *from, float *to,
                            int64_t bands) {
    for (int64_t b = 0; b < bands; b++) {
        to[b] = hc_calibrated(how, at + b, line, from[b]);
    }
}

static void calibrate_rows(void *user, int64_t row, int64_t end, int32_t thread) {
    const Job *job = user;
    const HcBlock *out = job->out;
    int64_t samples = out->samples, bands = out->bands;
    int64_t first = hc_block_first_line(out);
    (void)thread;
    for (; row < end; row++) {
        const float *from = hc_cpu_line(job->in, first + row);
        const uint8_t *valid = hc_cpu_mask_line(job->in, first + row);
        float *to = out->data + row * samples * bands;
        for (int64_t s = 0; s < samples; s++, from += bands, to += bands) {
            bool stays =
                valid[s] != 0 && job->how->live[s] != 0 && !is_saturated(from, job->how->limit, bands);
            out->mask[row * samples + s] = stays;
            if (stays) {
                calibrate_pixel(job->how, s * bands, first + row, from, to, bands);
            } else {
                memset(to, 0, (size_t)bands * sizeof *to);
            }
        }
    }
}

HcStatus hc_cpu_calibrate(HcQueue *queue, const HcBlock *in, const HcCalibration *how, const HcBlock *out,
                          HcError *err) {
    Job job = {in, out, how};
    int64_t rows = hc_block_rows(out);
    (void)err;
    hc_cpu_work(queue->cpu, rows, hc_cpu_grain(queue->cpu, rows), calibrate_rows, &job);
    return HC_OK;
}
