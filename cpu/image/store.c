/* A block as a file of float32 stores it. */
#include "core/operation/image/store.h"
#include "cpu/work.h"

#include <math.h>

HcStoreFn hc_cpu_store;

typedef struct Job {
    const HcBlock *in;
    const HcStoring *how;
    float *to;
} Job;

static void store_rows(void *user, int64_t row, int64_t end, int32_t thread) {
    const Job *job = user;
    const HcBlock *in = job->in;
    const HcStoring *how = job->how;
    const int64_t bands = in->bands, samples = in->samples;
    const int64_t by_sample = how->interleave == HC_BIP ? bands : 1;
    const int64_t by_band = how->interleave == HC_BSQ   ? in->lines * samples
                            : how->interleave == HC_BIL ? samples
                                                        : 1;
    (void)thread;
    for (; row < end; row++) {
        const float *from = hc_cpu_line(in, in->line0 + row);
        const uint8_t *mask = hc_cpu_mask_line(in, in->line0 + row);
        float *to = job->to + row * samples * (how->interleave == HC_BSQ ? 1 : bands);
        for (int64_t s = 0; s < samples; s++) {
            for (int64_t b = 0; b < bands; b++) {
                const float value = from[s * bands + b];
                to[s * by_sample + b * by_band] = mask[s] == 0 || isnan(value) ? how->nodata
                                                  : value == how->nodata       ? how->beside
                                                                               : value;
            }
        }
    }
}

HcStatus hc_cpu_store(HcQueue *queue, const HcBlock *in, const HcStoring *how, float *to, HcError *err) {
    Job job = {in, how, to};
    (void)err;
    hc_cpu_work(queue->cpu, in->lines, hc_cpu_grain(queue->cpu, in->lines), store_rows, &job);
    return HC_OK;
}
