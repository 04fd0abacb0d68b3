/* Differences of neighbouring pixels: the noise of a scene. */
#include "cpu/image/difference.h"
#include "core/allocate.h"
#include "cpu/work.h"

#include <stdlib.h>
#include <string.h>

/* The rows above, here and below a run of pixels, from the pixel left of the first one on; rows that `kind`
 * does not look at may be NULL. */
typedef struct Rows {
    const float *above, *here, *below;
    int64_t bands;
} Rows;

static Rows rows_at(const HcBlock *in, int64_t line, int32_t sample) {
    int64_t left = ((int64_t)sample - 1) * in->bands;
    const float *above = hc_cpu_line(in, line - 1);
    const float *here = hc_cpu_line(in, line);
    const float *below = hc_cpu_line(in, line + 1);
    /* The left neighbour of sample 0 is never read; no pointer is formed before the row. */
    int64_t at = sample > 0 ? left : 0;
    return (Rows){above != NULL ? above + at : NULL, here + at, below != NULL ? below + at : NULL, in->bands};
}

static int32_t valid_none(const uint8_t *mask, int64_t first, int64_t end, uint8_t *ok) {
    int32_t count = 0;
    for (int64_t s = first; s < end; s++) {
        ok[s] = mask[s] != 0;
        count += ok[s];
    }
    return count;
}

HC_CLONES static int32_t valid_pair(const uint8_t *mask, const uint8_t *other, int64_t first, int64_t end,
                                    uint8_t *ok) {
    int32_t count = 0;
    for (int64_t s = first; s < end; s++) {
        ok[s] = mask[s] != 0 && other[s + 1] != 0;
        count += ok[s];
    }
    return count;
}

HC_CLONES static int32_t valid_nine(const uint8_t *a, const uint8_t *h, const uint8_t *b, int64_t first,
                                    int64_t end, uint8_t *ok) {
    int32_t count = 0;
    for (int64_t s = first; s < end; s++) {
        int all = (a[s - 1] != 0) & (a[s] != 0) & (a[s + 1] != 0) & (h[s - 1] != 0) & (h[s] != 0) &
                  (h[s + 1] != 0) & (b[s - 1] != 0) & (b[s] != 0) & (b[s + 1] != 0);
        ok[s] = (uint8_t)all;
        count += all;
    }
    return count;
}

int32_t hc_cpu_difference_valid(const HcBlock *in, HcDifference kind, int64_t line, const HcWindow *window,
                                uint8_t *ok) {
    int64_t first = 0;
    int64_t end = in->samples;
    int64_t top = hc_block_first_line(in);
    int64_t bottom = top + hc_block_rows(in);
    if (window != NULL) {
        first = hc_max64(first, window->sample0);
        end = hc_min64(end, window->sample0 + window->samples);
        top = hc_max64(top, window->line0);
        bottom = hc_min64(bottom, window->line0 + window->lines);
    }
    const uint8_t *above = line - 1 >= top ? hc_cpu_mask_line(in, line - 1) : NULL;
    const uint8_t *here = line >= top && line < bottom ? hc_cpu_mask_line(in, line) : NULL;
    const uint8_t *below = line + 1 < bottom ? hc_cpu_mask_line(in, line + 1) : NULL;
    memset(ok, 0, (size_t)in->samples);
    if (here == NULL) {
        return 0;
    }
    switch (kind) {
    case HC_DIFFERENCE_NONE:
        return valid_none(here, first, end, ok);
    case HC_DIFFERENCE_SHIFT:
        return valid_pair(here, here, first, end - 1, ok);
    case HC_DIFFERENCE_SHIFT_DIAGONAL:
        return below != NULL ? valid_pair(here, below, first, end - 1, ok) : 0;
    case HC_DIFFERENCE_MEAN3X3:
    case HC_DIFFERENCE_MEDIAN3X3:
        return above != NULL && below != NULL ? valid_nine(above, here, below, first + 1, end - 1, ok) : 0;
    }
    return 0;
}

static inline void sort2(float *a, float *b) {
    float low = *a < *b ? *a : *b;
    float high = *a < *b ? *b : *a;
    *a = low;
    *b = high;
}

/* An exchange network for the fifth of nine values (after Devillard's and Smith's). */
static inline float middle_of_nine(float p0, float p1, float p2, float p3, float p4, float p5, float p6,
                                   float p7, float p8) {
    sort2(&p1, &p2), sort2(&p4, &p5), sort2(&p7, &p8);
    sort2(&p0, &p1), sort2(&p3, &p4), sort2(&p6, &p7);
    sort2(&p1, &p2), sort2(&p4, &p5), sort2(&p7, &p8);
    sort2(&p0, &p3), sort2(&p5, &p8), sort2(&p4, &p7);
    sort2(&p3, &p6), sort2(&p1, &p4), sort2(&p2, &p5);
    sort2(&p4, &p7), sort2(&p4, &p2), sort2(&p6, &p4), sort2(&p4, &p2);
    return p4;
}

HC_CLONES void hc_cpu_median9(const float *restrict a, const float *restrict h, const float *restrict b,
                              int64_t bands, int64_t values, float *restrict out) {
    for (int64_t i = 0; i < values; i++) {
        int64_t j = i + bands;
        int64_t k = j + bands;
        out[i] = middle_of_nine(a[i], a[j], a[k], h[i], h[j], h[k], b[i], b[j], b[k]);
    }
}

HC_CLONES void hc_cpu_sum9(const float *restrict a, const float *restrict h, const float *restrict b,
                           int64_t bands, int64_t values, double *restrict out) {
    for (int64_t i = 0; i < values; i++) {
        int64_t j = i + bands;
        int64_t k = j + bands;
        double left = (double)a[i] + (double)h[i] + (double)b[i];
        double here = (double)a[j] + (double)h[j] + (double)b[j];
        double right = (double)a[k] + (double)h[k] + (double)b[k];
        out[i] = left + here + right;
    }
}

HC_CLONES static void mean_float(const float *restrict a, const float *restrict h, const float *restrict b,
                                 int64_t bands, int64_t values, float *restrict out) {
    for (int64_t i = 0; i < values; i++) {
        int64_t j = i + bands;
        int64_t k = j + bands;
        float left = a[i] + h[i] + b[i];
        float here = a[j] + h[j] + b[j];
        float right = a[k] + h[k] + b[k];
        out[i] = 9.0F * h[j] - (left + here + right);
    }
}

HC_CLONES static void less_float(const float *restrict x, const float *restrict y, int64_t values,
                                 float *restrict out) {
    for (int64_t i = 0; i < values; i++) {
        out[i] = x[i] - y[i];
    }
}

HC_CLONES static void less_double(const float *restrict x, const float *restrict y, int64_t values,
                                  double *restrict out) {
    for (int64_t i = 0; i < values; i++) {
        out[i] = (double)x[i] - (double)y[i];
    }
}

HC_CLONES static void nine_less_double(const float *restrict x, int64_t values, double *restrict out) {
    for (int64_t i = 0; i < values; i++) {
        out[i] = 9.0 * (double)x[i] - out[i];
    }
}

HC_CLONES static void widen(const float *restrict x, int64_t values, double *restrict out) {
    for (int64_t i = 0; i < values; i++) {
        out[i] = (double)x[i];
    }
}

void hc_cpu_difference_float(const HcBlock *in, HcDifference kind, int64_t line, int32_t sample,
                             int32_t count, float *out) {
    Rows r = rows_at(in, line, sample);
    int64_t values = count * r.bands;
    const float *x = hc_cpu_line(in, line) + sample * r.bands;
    switch (kind) {
    case HC_DIFFERENCE_NONE:
        memcpy(out, x, (size_t)values * sizeof *out);
        break;
    case HC_DIFFERENCE_MEAN3X3:
        mean_float(r.above, r.here, r.below, r.bands, values, out);
        break;
    case HC_DIFFERENCE_MEDIAN3X3:
        hc_cpu_median9(r.above, r.here, r.below, r.bands, values, out);
        for (int64_t i = 0; i < values; i++) {
            out[i] = x[i] - out[i];
        }
        break;
    case HC_DIFFERENCE_SHIFT:
        less_float(x, x + r.bands, values, out);
        break;
    case HC_DIFFERENCE_SHIFT_DIAGONAL:
        less_float(x, hc_cpu_line(in, line + 1) + (sample + 1) * r.bands, values, out);
        break;
    }
}

void hc_cpu_difference_double(const HcBlock *in, HcDifference kind, int64_t line, int32_t sample,
                              int32_t count, float *scratch, double *out) {
    Rows r = rows_at(in, line, sample);
    int64_t values = count * r.bands;
    const float *x = hc_cpu_line(in, line) + sample * r.bands;
    switch (kind) {
    case HC_DIFFERENCE_NONE:
        widen(x, values, out);
        break;
    case HC_DIFFERENCE_MEAN3X3:
        hc_cpu_sum9(r.above, r.here, r.below, r.bands, values, out);
        nine_less_double(x, values, out);
        break;
    case HC_DIFFERENCE_MEDIAN3X3:
        hc_cpu_median9(r.above, r.here, r.below, r.bands, values, scratch);
        less_double(x, scratch, values, out);
        break;
    case HC_DIFFERENCE_SHIFT:
        less_double(x, x + r.bands, values, out);
        break;
    case HC_DIFFERENCE_SHIFT_DIAGONAL:
        less_double(x, hc_cpu_line(in, line + 1) + (sample + 1) * r.bands, values, out);
        break;
    }
}

/* In units of the scene, rounded once. */
HC_CLONES static void to_scene_units(const double *restrict difference, double divisor, int64_t values,
                                     float *restrict out) {
    for (int64_t i = 0; i < values; i++) {
        out[i] = (float)(difference[i] / divisor);
    }
}

static void difference_line(const HcBlock *in, HcDifference kind, const HcBlock *out, int64_t row,
                            float *scratch, double *wide) {
    int64_t line = hc_block_first_line(out) + row;
    int64_t bands = out->bands;
    uint8_t *ok = out->mask + row * out->samples;
    float *to = out->data + row * out->samples * bands;
    double divisor = kind == HC_DIFFERENCE_MEAN3X3 ? 9.0 : 1.0;
    hc_cpu_difference_valid(in, kind, line, NULL, ok);
    for (int32_t s = 0; s < out->samples;) {
        int32_t run = hc_cpu_run(ok, s, out->samples);
        if (run == 0) {
            memset(to + s * bands, 0, (size_t)bands * sizeof *to);
            s++;
            continue;
        }
        hc_cpu_difference_double(in, kind, line, s, run, scratch, wide);
        to_scene_units(wide, divisor, run * bands, to + s * bands);
        s += run;
    }
}

typedef struct Job {
    const HcBlock *in, *out;
    HcDifference kind;
    float *scratch; /* [threads][HC_CPU_RUN][bands] */
    double *wide;   /* [threads][HC_CPU_RUN][bands] */
} Job;

static void difference_lines(void *user, int64_t row, int64_t end, int32_t thread) {
    const Job *job = user;
    int64_t at = (int64_t)thread * HC_CPU_RUN * job->in->bands;
    for (; row < end; row++) {
        difference_line(job->in, job->kind, job->out, row, job->scratch + at, job->wide + at);
    }
}

HcStatus hc_cpu_difference(HcQueue *queue, const HcBlock *in, HcDifference kind, const HcBlock *out,
                           HcError *err) {
    HcStatus status = HC_OK;
    float *scratch = NULL;
    double *wide = NULL;
    int threads = queue->cpu->threads;
    size_t values = HC_CPU_RUN * (size_t)in->bands;
    HC_TRY(hc_new_aligned(scratch, values * (size_t)threads, "differences", err));
    HC_TRY(hc_new_aligned(wide, values * (size_t)threads, "differences", err));
    Job job = {in, out, kind, scratch, wide};
    int64_t rows = hc_block_rows(out);
    hc_cpu_work(queue->cpu, rows, hc_cpu_grain(queue->cpu, rows), difference_lines, &job);
done:
    free(scratch);
    free(wide);
    return status;
}
