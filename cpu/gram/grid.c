/* Float scenes on their grid: values become whole numbers, and differences are those of whole numbers, so
 * that sums of them are exact. A strip keeps three lines of whole numbers: each value is brought onto the
 * grid once for all lines that look at it. */
#include "cpu/gram/gram.h"

#include <stdlib.h>
#include <string.h>

HcStatus hc_cpu_grid_open(HcGridWork *work, int32_t bands, HcError *err) {
    size_t row = (HC_CPU_RUN + 2) * (size_t)bands;
    *work = (HcGridWork){.values = malloc(HC_CPU_RUN * (size_t)bands * sizeof(double)),
                         .medians = malloc(HC_CPU_RUN * (size_t)bands * sizeof(float)),
                         .near = malloc((size_t)bands * sizeof(double)),
                         .far = malloc((size_t)bands * sizeof(int32_t))};
    bool fine = work->values != NULL && work->medians != NULL && work->near != NULL && work->far != NULL;
    for (int k = 0; k < 3; k++) {
        work->row[k] = malloc(row * sizeof(double));
        fine = fine && work->row[k] != NULL;
    }
    if (!fine) {
        hc_cpu_grid_close(work);
        return hc_fail_memory(err, (double)(4 * row * sizeof(double)), "lines on the grid");
    }
    hc_cpu_grid_begin(work);
    return HC_OK;
}

void hc_cpu_grid_close(HcGridWork *work) {
    for (int k = 0; k < 3; k++) {
        free(work->row[k]);
    }
    free(work->values);
    free(work->medians);
    free(work->near);
    free(work->far);
    *work = (HcGridWork){0};
}

void hc_cpu_grid_begin(HcGridWork *work) {
    for (int k = 0; k < 3; k++) {
        work->line[k] = -1;
    }
}

HC_CLONES static void to_grid(const float *restrict x, const double *restrict center,
                              const double *restrict scale, int64_t pixels, int64_t bands,
                              double *restrict out) {
    for (int64_t p = 0; p < pixels; p++) {
        for (int64_t b = 0; b < bands; b++) {
            out[p * bands + b] = hc_grid_value(x[p * bands + b], center[b], scale[b]);
        }
    }
}

/* Whole numbers of a line of the strip, from sample `from` on (one before the strip where there is one); NULL
 * where the block has no such line. */
static const double *line_on_grid(HcGridWork *work, const HcBlock *in, int64_t line, int32_t from,
                                  int32_t end, const HcSums *sums) {
    const float *x = hc_cpu_line(in, line);
    if (x == NULL) {
        return NULL;
    }
    int place = (int)(line % 3);
    if (work->line[place] != line) {
        to_grid(x + (int64_t)from * in->bands, sums->moments.center, sums->scale, end - from, in->bands,
                work->row[place]);
        work->line[place] = line;
    }
    return work->row[place];
}

HC_CLONES static void mean_differences(const double *restrict a, const double *restrict h,
                                       const double *restrict b, int64_t bands, int64_t values,
                                       double *restrict out) {
    for (int64_t i = 0; i < values; i++) {
        int64_t j = i + bands;
        int64_t k = j + bands;
        double left = a[i] + h[i] + b[i];
        double here = a[j] + h[j] + b[j];
        double right = a[k] + h[k] + b[k];
        out[i] = 9.0 * h[j] - (left + here + right);
    }
}

/* out may be y. */
HC_CLONES static void less(const double *restrict x, const double *y, int64_t values, double *out) {
    for (int64_t i = 0; i < values; i++) {
        out[i] = x[i] - y[i];
    }
}

HC_CLONES static int far_in(const double *restrict value, int64_t count) {
    int far = 0;
    for (int64_t i = 0; i < count; i++) {
        far |= !(fabs(value[i]) < HC_GRID_NEAR);
    }
    return far;
}

/* Takes what is far out of the pixels: their near parts stay. */
static HcStatus take_far(HcGridWork *work, int32_t count, HcSums *sums, HcError *err) {
    HcStatus status = HC_OK;
    int32_t bands = sums->bands;
    double *near = work->near;
    for (int32_t p = 0; p < count && status == HC_OK; p++) {
        double *pixel = work->values + (int64_t)p * bands;
        int32_t far_count = 0;
        for (int32_t b = 0; b < bands; b++) {
            bool far = !(fabs(pixel[b]) < HC_GRID_NEAR);
            near[b] = far ? hc_far_rest(pixel[b]) : pixel[b];
            if (far) {
                work->far[far_count++] = b;
            }
        }
        if (far_count > 0) {
            pthread_mutex_lock(&sums->lock);
            status = hc_moments_far(&sums->moments, err);
            if (status == HC_OK) {
                hc_moments_add_far(&sums->moments, pixel, near, work->far, far_count);
            }
            pthread_mutex_unlock(&sums->lock);
            memcpy(pixel, near, (size_t)bands * sizeof *near);
        }
    }
    return status;
}

HcStatus hc_cpu_grid_values(HcGridWork *work, const HcBlock *in, HcDifference kind, int64_t line,
                            int32_t first, int32_t last, int32_t sample, int32_t count, HcSums *sums,
                            HcError *err) {
    const int64_t n = in->bands;
    const int32_t from = first > 0 ? first - 1 : 0;
    const int32_t end = last < in->samples ? last + 1 : last;
    const int64_t values = count * n;
    const int64_t at = (sample - from) * n;
    const int64_t left = (sample - 1) * n;
    const double *here =
        kind != HC_DIFFERENCE_NONE ? line_on_grid(work, in, line, from, end, sums) + at : NULL;
    const double *above = NULL;
    const double *below = NULL;
    switch (kind) {
    case HC_DIFFERENCE_NONE:
        to_grid(hc_cpu_line(in, line) + sample * n, sums->moments.center, sums->scale, count, n,
                work->values);
        break;
    case HC_DIFFERENCE_MEAN3X3:
        above = line_on_grid(work, in, line - 1, from, end, sums) + at;
        below = line_on_grid(work, in, line + 1, from, end, sums) + at;
        mean_differences(above - n, here - n, below - n, n, values, work->values);
        break;
    case HC_DIFFERENCE_MEDIAN3X3:
        /* Rounding to the grid keeps the order: the median of whole numbers is that of the values. */
        hc_cpu_median9(hc_cpu_line(in, line - 1) + left, hc_cpu_line(in, line) + left,
                       hc_cpu_line(in, line + 1) + left, n, values, work->medians);
        to_grid(work->medians, sums->moments.center, sums->scale, count, n, work->values);
        less(here, work->values, values, work->values);
        break;
    case HC_DIFFERENCE_SHIFT:
        less(here, here + n, values, work->values);
        break;
    case HC_DIFFERENCE_SHIFT_DIAGONAL:
        below = line_on_grid(work, in, line + 1, from, end, sums) + at;
        less(here, below + n, values, work->values);
        break;
    }
    return far_in(work->values, values) != 0 ? take_far(work, count, sums, err) : HC_OK;
}
