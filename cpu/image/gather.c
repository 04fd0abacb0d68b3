/* Bands of a block in another order. */
#include "core/operation/image/gather.h"
#include "cpu/work.h"

#include <string.h>

HcGatherFn hc_cpu_gather;

typedef struct Job {
    const HcBlock *in, *out;
    const int32_t *index;
    bool all; /* bands, in their order */
} Job;

static void gather_rows(void *user, int64_t row, int64_t end, int32_t thread) {
    const Job *job = user;
    const HcBlock *in = job->in;
    const HcBlock *out = job->out;
    int64_t samples = out->samples;
    int64_t line = hc_block_first_line(out);
    (void)thread;
    for (; row < end; row++) {
        const float *from = hc_cpu_line(in, line + row);
        float *to = out->data + row * samples * out->bands;
        memcpy(out->mask + row * samples, hc_cpu_mask_line(in, line + row), (size_t)samples);
        if (job->all) {
            memcpy(to, from, (size_t)(samples * out->bands) * sizeof *to);
            continue;
        }
        for (int64_t s = 0; s < samples; s++, from += in->bands, to += out->bands) {
            for (int32_t k = 0; k < out->bands; k++) {
                to[k] = from[job->index[k]];
            }
        }
    }
}

HcStatus hc_cpu_gather(HcQueue *queue, const HcBlock *in, const int32_t *index, const HcBlock *out,
                       HcError *err) {
    Job job = {in, out, index, in->bands == out->bands};
    for (int32_t k = 0; k < out->bands; k++) {
        if (index[k] < 0 || index[k] >= in->bands) {
            return hc_fail(err, HC_E_USAGE, "gather: band %d asked for, the block has 0 to %d", index[k],
                           in->bands - 1);
        }
        job.all = job.all && index[k] == k;
    }
    int64_t rows = hc_block_rows(out);
    hc_cpu_work(queue->cpu, rows, hc_cpu_grain(queue->cpu, rows), gather_rows, &job);
    return HC_OK;
}
