/* Each spectrum divided by its own size. Sums have eight parts in a fixed order
 * (core/operation/spectrum/normalise.h): a vector register on the CPU, eight lanes on the GPU, the same bits.
 */
#include "core/operation/spectrum/normalise.h"
#include "cpu/work.h"

#include <math.h>

HcNormaliseFn hc_cpu_normalise;

enum { PARTS = 8 };

static double join(const double *part) {
    return ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]));
}

/* What a value less the mean adds to a sum. */
typedef enum Term { VALUE, SQUARE, AREA } Term;

HC_CLONES static double sum_up(Term term, const float *restrict x, double mean, const double *restrict weight,
                               int64_t bands) {
    double part[PARTS] = {0};
    for (int64_t b = 0; b < bands; b += PARTS) {
        int count = (int)hc_min64(PARTS, bands - b);
        for (int i = 0; i < count; i++) {
            double value = (double)x[b + i] - mean;
            part[i] += term == VALUE ? value : term == SQUARE ? value * value : weight[b + i] * fabs(value);
        }
    }
    return join(part);
}

HC_CLONES static void divide(const float *restrict x, double mean, double factor, int64_t bands,
                             float *restrict out) {
    for (int64_t b = 0; b < bands; b++) {
        out[b] = (float)(((double)x[b] - mean) * factor);
    }
}

typedef struct Job {
    const HcBlock *in, *out;
    HcNormalisation kind;
    const double *weight;
} Job;

/* Returns whether the pixel has a size. */
static uint8_t normalise(const Job *job, const float *x, float *out) {
    int64_t bands = job->out->bands;
    double mean = job->kind == HC_NORMALISE_SNV ? sum_up(VALUE, x, 0, NULL, bands) / (double)bands : 0;
    double sum = sum_up(job->kind == HC_NORMALISE_AREA ? AREA : SQUARE, x, mean, job->weight, bands);
    double size = job->kind == HC_NORMALISE_AREA  ? sum
                  : job->kind == HC_NORMALISE_SNV ? sqrt(sum / (double)(bands - 1))
                                                  : sqrt(sum);
    bool has = size > 0 && isfinite(size);
    divide(x, has ? mean : 0, has ? 1 / size : 0, bands, out);
    return has;
}

static void do_rows(void *user, int64_t row, int64_t end, int32_t thread) {
    const Job *job = user;
    int64_t samples = job->out->samples;
    int64_t bands = job->out->bands;
    int64_t first = hc_block_first_line(job->out);
    (void)thread;
    for (; row < end; row++) {
        const float *from = hc_cpu_line(job->in, first + row);
        const uint8_t *valid = hc_cpu_mask_line(job->in, first + row);
        float *to = job->out->data + row * samples * bands;
        uint8_t *mask = job->out->mask + row * samples;
        for (int64_t s = 0; s < samples; s++, from += bands, to += bands) {
            mask[s] = valid[s] != 0 ? normalise(job, from, to) : 0;
            for (int64_t b = 0; b < bands && mask[s] == 0; b++) {
                to[b] = 0;
            }
        }
    }
}

HcStatus hc_cpu_normalise(HcQueue *queue, const HcBlock *in, HcNormalisation kind, const double *weight,
                          const HcBlock *out, HcError *err) {
    Job job = {in, out, kind, weight};
    int64_t rows = hc_block_rows(out);
    (void)err;
    hc_cpu_work(queue->cpu, rows, hc_cpu_grain(queue->cpu, rows), do_rows, &job);
    return HC_OK;
}
