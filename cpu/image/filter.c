/* 3x3 mean and median. */
#include "core/allocate.h"
#include "core/operation/image/filter.h"
#include "cpu/image/difference.h"
#include "cpu/work.h"

#include <stdlib.h>
#include <string.h>

HcFilterFn hc_cpu_filter;

/* One thread's memory. */
typedef struct Work {
    double *sum;   /* [HC_CPU_RUN][bands] */
    uint8_t *full; /* [samples]: all nine neighbours are valid */
} Work;

HC_CLONES static void ninth(const double *restrict sum, int64_t values, float *restrict out) {
    for (int64_t i = 0; i < values; i++) {
        out[i] = (float)(sum[i] / 9.0);
    }
}

/* A run of pixels whose neighbourhoods are whole. */
static void filter_run(const HcBlock *in, HcFilter kind, int64_t line, int32_t sample, int32_t run,
                       double *sum, float *out) {
    int64_t left = ((int64_t)sample - 1) * in->bands;
    int64_t values = (int64_t)run * in->bands;
    const float *above = hc_cpu_line(in, line - 1) + left;
    const float *here = hc_cpu_line(in, line) + left;
    const float *below = hc_cpu_line(in, line + 1) + left;
    if (kind == HC_FILTER_MEDIAN3X3) {
        hc_cpu_median9(above, here, below, in->bands, values, out);
        return;
    }
    hc_cpu_sum9(above, here, below, in->bands, values, sum);
    ninth(sum, values, out);
}

/* The valid pixels around one; returns how many. */
static int neighbours(const HcBlock *in, int64_t line, int32_t sample, const float **found) {
    int count = 0;
    for (int64_t l = line - 1; l <= line + 1; l++) {
        const uint8_t *mask = hc_cpu_mask_line(in, l);
        for (int32_t s = sample - 1; mask != NULL && s <= sample + 1; s++) {
            if (s >= 0 && s < in->samples && mask[s] != 0) {
                found[count++] = hc_cpu_line(in, l) + (int64_t)s * in->bands;
            }
        }
    }
    return count;
}

static float median_of(float *values, int count) {
    for (int i = 1; i < count; i++) {
        float value = values[i];
        int j = i;
        for (; j > 0 && values[j - 1] > value; j--) {
            values[j] = values[j - 1];
        }
        values[j] = value;
    }
    int middle = count / 2;
    return count % 2 != 0 ? values[middle]
                          : (float)(((double)values[middle - 1] + (double)values[middle]) / 2);
}

static void filter_partial(const HcBlock *in, HcFilter kind, int64_t line, int32_t sample, float *out) {
    const float *found[9];
    int count = neighbours(in, line, sample, found);
    for (int32_t b = 0; b < in->bands; b++) {
        float values[9];
        double sum = 0;
        for (int k = 0; k < count; k++) {
            values[k] = found[k][b];
            sum += (double)values[k];
        }
        out[b] = kind == HC_FILTER_MEDIAN3X3 ? median_of(values, count) : (float)(sum / count);
    }
}

static void filter_line(const HcBlock *in, HcFilter kind, const HcBlock *out, int64_t row, const Work *work) {
    int64_t line = hc_block_first_line(out) + row;
    int64_t bands = in->bands;
    uint8_t *mask = out->mask + row * out->samples;
    float *to = out->data + row * out->samples * bands;
    memcpy(mask, hc_cpu_mask_line(in, line), (size_t)out->samples);
    hc_cpu_difference_valid(in, HC_DIFFERENCE_MEAN3X3, line, NULL, work->full);
    for (int32_t s = 0; s < out->samples;) {
        int32_t run = hc_cpu_run(work->full, s, out->samples);
        if (run > 0) {
            filter_run(in, kind, line, s, run, work->sum, to + s * bands);
            s += run;
            continue;
        }
        if (mask[s] != 0) {
            filter_partial(in, kind, line, s, to + s * bands);
        } else {
            memset(to + s * bands, 0, (size_t)bands * sizeof *to);
        }
        s++;
    }
}

typedef struct Job {
    const HcBlock *in, *out;
    HcFilter kind;
    double *sums;  /* [threads][HC_CPU_RUN][bands] */
    uint8_t *full; /* [threads][samples] */
} Job;

static void filter_lines(void *user, int64_t row, int64_t end, int32_t thread) {
    const Job *job = user;
    Work work = {job->sums + (int64_t)thread * HC_CPU_RUN * job->in->bands,
                 job->full + (int64_t)thread * job->in->samples};
    for (; row < end; row++) {
        filter_line(job->in, job->kind, job->out, row, &work);
    }
}

HcStatus hc_cpu_filter(HcQueue *queue, const HcBlock *in, HcFilter kind, const HcBlock *out, HcError *err) {
    HcStatus status = HC_OK;
    double *sums = NULL;
    uint8_t *full = NULL;
    int threads = queue->cpu->threads;
    size_t values = HC_CPU_RUN * (size_t)in->bands;
    size_t samples = (size_t)in->samples;
    HC_TRY(hc_new_aligned(sums, values * (size_t)threads, "a filter", err));
    HC_TRY(hc_new_aligned(full, samples * (size_t)threads, "a filter", err));
    Job job = {in, out, kind, sums, full};
    int64_t rows = hc_block_rows(out);
    hc_cpu_work(queue->cpu, rows, hc_cpu_grain(queue->cpu, rows), filter_lines, &job);
done:
    free(sums);
    free(full);
    return status;
}
