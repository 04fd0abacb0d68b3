/* Each spectrum divided by its own size. Sums have eight parts in a fixed order
 * (core/operation/image/normalise.h): a vector register on the CPU, eight lanes on the GPU, the same bits. */
#include "core/operation/image/normalise.h"
#include "cpu/work.h"

#include <math.h>

HcNormaliseFn hc_cpu_normalise;

enum { PARTS = 8 };

static double join(const double *part) {
    return ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]));
}

HC_CLONES static double sum(const float *restrict x, int64_t bands) {
    double part[PARTS] = {0};
    int64_t whole = bands / PARTS * PARTS;
    for (int64_t b = 0; b < whole; b += PARTS) {
        for (int i = 0; i < PARTS; i++) {
            part[i] += (double)x[b + i];
        }
    }
    for (int64_t b = whole; b < bands; b++) {
        part[b - whole] += (double)x[b];
    }
    return join(part);
}

HC_CLONES static double squares(const float *restrict x, double mean, int64_t bands) {
    double part[PARTS] = {0};
    int64_t whole = bands / PARTS * PARTS;
    for (int64_t b = 0; b < whole; b += PARTS) {
        for (int i = 0; i < PARTS; i++) {
            double off = (double)x[b + i] - mean;
            part[i] += off * off;
        }
    }
    for (int64_t b = whole; b < bands; b++) {
        double off = (double)x[b] - mean;
        part[b - whole] += off * off;
    }
    return join(part);
}

HC_CLONES static double area(const float *restrict x, const double *restrict weight, int64_t bands) {
    double part[PARTS] = {0};
    int64_t whole = bands / PARTS * PARTS;
    for (int64_t b = 0; b < whole; b += PARTS) {
        for (int i = 0; i < PARTS; i++) {
            part[i] += weight[b + i] * fabs((double)x[b + i]);
        }
    }
    for (int64_t b = whole; b < bands; b++) {
        part[b - whole] += weight[b] * fabs((double)x[b]);
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
    double mean = job->kind == HC_NORMALISE_SNV ? sum(x, bands) / (double)bands : 0;
    double size = job->kind == HC_NORMALISE_AREA  ? area(x, job->weight, bands)
                  : job->kind == HC_NORMALISE_SNV ? sqrt(squares(x, mean, bands) / (double)(bands - 1))
                                                  : sqrt(squares(x, 0, bands));
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
