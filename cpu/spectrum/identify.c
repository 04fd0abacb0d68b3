/* identify: HC_LANES pixels of a line side by side, so that a band of all of them is one vector. The vectors
 * are what makes it fast: a division a band and a feature is most of the work. */
#include "core/operation/spectrum/identify.h"
#include "core/solver/identify.h"
#include "cpu/work.h"

#include <string.h>

HcIdentifyFn hc_cpu_identify;

typedef struct Job {
    const HcBlock *in, *out;
    const HcIdentifyRule *rule;
} Job;

/* tile[bands][HC_LANES] of `count` pixels; lanes without a pixel are 0. */
static void turn(const float *from, int32_t bands, int64_t count, float *tile) {
    for (int64_t l = 0; l < HC_LANES; l++) {
        for (int32_t b = 0; b < bands; b++) {
            tile[b * HC_LANES + l] = l < count ? from[l * bands + b] : 0;
        }
    }
}

HC_CLONES static void identify_lanes(const HcIdentifyRule *rule, const float *tile,
                                     HcIdentifyBest best[HC_LANES][HC_IDENTIFY_TOP_MAX + 1]) {
    HcIdentifyVerdict verdict;
    for (int32_t l = 0; l < HC_LANES; l++) {
        hc_identify_none(best[l], rule->top + 1);
    }
    for (int32_t r = 0; r < rule->references; r++) {
        hc_identify_judge(rule, rule->reference + r, tile, HC_LANES, rule->rejected, &verdict);
        for (int32_t l = 0; l < HC_LANES; l++) {
            hc_identify_take(rule, r, &verdict, l, best[l]);
        }
    }
}

static void write_pixels(const HcIdentifyRule *rule, HcIdentifyBest best[HC_LANES][HC_IDENTIFY_TOP_MAX + 1],
                         const uint8_t *valid, int64_t count, int32_t bands, float *out) {
    for (int64_t l = 0; l < count; l++, out += bands) {
        if (valid[l] != 0) {
            hc_identify_write(rule, best[l], out);
        } else {
            memset(out, 0, (size_t)bands * sizeof *out);
        }
    }
}

static void identify_rows(void *user, int64_t row, int64_t end, int32_t thread) {
    const Job *job = user;
    const HcBlock *in = job->in;
    const HcBlock *out = job->out;
    int64_t samples = out->samples;
    int64_t first = hc_block_first_line(out);
    float tile[HC_IDENTIFY_BANDS_MAX * HC_LANES];
    HcIdentifyBest best[HC_LANES][HC_IDENTIFY_TOP_MAX + 1];
    (void)thread;
    for (; row < end; row++) {
        const float *from = hc_cpu_line(in, first + row);
        const uint8_t *valid = hc_cpu_mask_line(in, first + row);
        float *to = out->data + row * samples * out->bands;
        memcpy(out->mask + row * samples, valid, (size_t)samples);
        for (int64_t s = 0; s < samples; s += HC_LANES) {
            int64_t count = hc_min64(HC_LANES, samples - s);
            turn(from + s * in->bands, in->bands, count, tile);
            identify_lanes(job->rule, tile, best);
            for (int32_t l = 0; l < HC_LANES; l++) {
                hc_identify_settle(job->rule, tile, HC_LANES, l, best[l]);
            }
            write_pixels(job->rule, best, valid + s, count, out->bands, to + s * out->bands);
        }
    }
}

HcStatus hc_cpu_identify(HcQueue *queue, const HcBlock *in, const HcIdentifyRule *rule, const HcBlock *out,
                         HcError *err) {
    Job job = {in, out, rule};
    int64_t rows = hc_block_rows(out);
    (void)err;
    hc_cpu_work(queue->cpu, rows, hc_cpu_grain(queue->cpu, rows), identify_rows, &job);
    return HC_OK;
}
