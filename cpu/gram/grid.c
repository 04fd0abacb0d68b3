/* Float scenes on their grid: values become whole numbers, and differences are those of whole numbers, so
 * that sums of them are exact. A strip keeps three lines of whole numbers: each value is brought onto the
 * grid once for all lines that look at it. */
#include "cpu/gram/gram.h"

#include <stdlib.h>
#include <string.h>

size_t hc_cpu_grid_bytes(int32_t bands) {
    const size_t n = (size_t)bands;
    size_t lines = 3 * (HC_CPU_RUN + 2) * sizeof(double) + HC_CPU_RUN * (sizeof(double) + sizeof(float));
    return n * lines + n * (sizeof(double) + sizeof(int32_t) + sizeof(int64_t)) +
           n * (n + 1) * sizeof(HcWide);
}

HcStatus hc_cpu_grid_open(HcGridWork *work, int32_t bands, HcError *err) {
    size_t row = (HC_CPU_RUN + 2) * (size_t)bands;
    *work = (HcGridWork){.values = malloc(HC_CPU_RUN * (size_t)bands * sizeof(double)),
                         .medians = malloc(HC_CPU_RUN * (size_t)bands * sizeof(float)),
                         .near = malloc((size_t)bands * sizeof(double)),
                         .far = malloc((size_t)bands * sizeof(int32_t)),
                         .whole = malloc((size_t)bands * sizeof(int64_t))};
    bool fine = work->values != NULL && work->medians != NULL && work->near != NULL && work->far != NULL &&
                work->whole != NULL;
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
    free(work->whole);
    free(work->sums.sum);
    free(work->sums.product);
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

/* ---- far values ---- */

static HcStatus open_far(HcFarSums *far, HcSums *sums, HcError *err) {
    size_t n = (size_t)sums->bands;
    if (far->product != NULL) {
        return HC_OK;
    }
    pthread_mutex_lock(&sums->lock);
    HcStatus status = hc_moments_far(&sums->moments, err);
    pthread_mutex_unlock(&sums->lock);
    HC_OR_RETURN(status);
    free(far->sum);
    far->sum = calloc(n, sizeof *far->sum);
    far->product = calloc(n * n, sizeof *far->product);
    if (far->sum == NULL || far->product == NULL) {
        free(far->product);
        far->product = NULL;
        return hc_fail_memory(err, (double)(n * n * sizeof *far->product),
                              "sums of values that lie far from the others of their band");
    }
    return HC_OK;
}

void hc_cpu_grid_drain(HcGridWork *work, HcSums *sums) {
    size_t n = (size_t)sums->bands;
    HcFarSums *far = &work->sums;
    if (far->pixels > 0) {
        pthread_mutex_lock(&sums->lock);
        hc_moments_add_wide(&sums->moments, far->sum, far->product);
        pthread_mutex_unlock(&sums->lock);
        memset(far->sum, 0, n * sizeof *far->sum);
        memset(far->product, 0, n * n * sizeof *far->product);
        far->pixels = 0;
    }
}

/* All products of a pixel that have a far factor: values below 2^53, far ones of the list. */
static void multiply_far(HcGridWork *work, int32_t bands, int32_t far_count) {
    const int64_t *x = work->whole;
    for (int32_t f = 0; f < far_count; f++) {
        int64_t i = work->far[f];
        HcWide *row = work->sums.product + i * bands;
        work->sums.sum[i] += x[i];
        for (int64_t j = i; j < bands; j++) {
            row[j] += (HcWide)x[i] * x[j];
        }
        int32_t next = 0; /* of the far bands: their rows have this product */
        for (int64_t j = 0; f < i && j < i; j++) {
            if (work->far[next] == j) {
                next++;
            } else {
                work->sums.product[j * bands + i] += (HcWide)x[i] * x[j];
            }
        }
    }
}

/* Limbs add the near values, and 0 for far ones. */
static HcStatus add_far(HcGridWork *work, double *pixel, int32_t far_count, HcSums *sums, HcError *err) {
    enum { PIXELS_MAX = 1 << 20 }; /* of products below 2^106 */
    HC_OR_RETURN(open_far(&work->sums, sums, err));
    for (int32_t b = 0; b < sums->bands; b++) {
        work->whole[b] = (int64_t)pixel[b];
    }
    multiply_far(work, sums->bands, far_count);
    for (int32_t f = 0; f < far_count; f++) {
        pixel[work->far[f]] = 0;
    }
    if (++work->sums.pixels == PIXELS_MAX) {
        hc_cpu_grid_drain(work, sums);
    }
    return HC_OK;
}

static size_t farther_each(int32_t bands) {
    return (size_t)bands * (size_t)bands * (HC_LONG_DIGITS + 2) * sizeof(int64_t);
}

/* Such values are rare: threads share sums where these would take more than 32 MiB. */
static int farther_count(int32_t bands, int32_t threads) {
    size_t fit = ((size_t)1 << 25) / farther_each(bands);
    return fit < 1 ? 1 : fit < (size_t)threads ? (int)fit : threads;
}

size_t hc_cpu_farther_bytes(int32_t bands, int32_t threads) {
    return (size_t)farther_count(bands, threads) * farther_each(bands);
}

HcStatus hc_cpu_farther_open(HcSums *sums, HcError *err) {
    const int count = farther_count(sums->bands, sums->threads);
    if ((sums->farther = calloc((size_t)count, sizeof *sums->farther)) == NULL) {
        return hc_fail_memory(err, count * (double)sizeof *sums->farther, "sums of far values");
    }
    sums->farther_count = count;
    for (int k = 0; k < sums->farther_count; k++) {
        pthread_mutex_init(&sums->farther[k].lock, NULL);
    }
    return HC_OK;
}

void hc_cpu_farther_close(HcSums *sums) {
    for (int k = 0; k < sums->farther_count; k++) {
        pthread_mutex_destroy(&sums->farther[k].lock);
        hc_moments_clear(&sums->farther[k].moments);
    }
    free(sums->farther);
    sums->farther = NULL;
    sums->farther_count = 0;
}

HcStatus hc_cpu_farther_drain(HcSums *sums, HcError *err) {
    for (int k = 0; k < sums->farther_count; k++) {
        HcMoments *moments = &sums->farther[k].moments;
        if (moments->bands > 0) {
            HC_OR_RETURN(hc_moments_far(&sums->moments, err));
            hc_moments_carry(moments);
            hc_moments_merge(&sums->moments, moments);
            hc_moments_clear(moments);
        }
    }
    return HC_OK;
}

/* What limbs leave of a pixel -> the sums of the thread. */
static HcStatus add_to_farther(HcFartherSums *farther, const double *pixel, const HcGridWork *work,
                               int32_t bands, int32_t far_count, HcError *err) {
    HcMoments *moments = &farther->moments;
    if (moments->bands == 0) {
        HC_OR_RETURN(hc_moments_init(moments, bands, err));
    }
    HC_OR_RETURN(hc_moments_far(moments, err));
    hc_moments_add_far(moments, pixel, work->near, work->far, far_count);
    return HC_OK;
}

/* Values of any size. Limbs add the near values, and the lowest 32 bits of far ones. */
static HcStatus add_farther(HcGridWork *work, double *pixel, int32_t far_count, HcSums *sums, HcError *err) {
    double *near = work->near;
    memcpy(near, pixel, (size_t)sums->bands * sizeof *near);
    for (int32_t f = 0; f < far_count; f++) {
        near[work->far[f]] = hc_far_rest(pixel[work->far[f]]);
    }
    HcFartherSums *farther = &sums->farther[(work - sums->work) % sums->farther_count];
    pthread_mutex_lock(&farther->lock);
    HcStatus status = add_to_farther(farther, pixel, work, sums->bands, far_count, err);
    pthread_mutex_unlock(&farther->lock);
    memcpy(pixel, near, (size_t)sums->bands * sizeof *near);
    return status;
}

/* Takes what is far out of the pixels: their near parts stay. */
static HcStatus take_far(HcGridWork *work, int32_t count, HcSums *sums, HcError *err) {
    int32_t bands = sums->bands;
    for (int32_t p = 0; p < count; p++) {
        double *pixel = work->values + (int64_t)p * bands;
        int32_t far_count = 0;
        bool farther = false;
        for (int32_t b = 0; b < bands; b++) {
            if (!(fabs(pixel[b]) < HC_GRID_NEAR)) {
                work->far[far_count++] = b;
                farther = farther || !(fabs(pixel[b]) < 0x1p53);
            }
        }
        if (farther) {
            HC_OR_RETURN(add_farther(work, pixel, far_count, sums, err));
        } else if (far_count > 0) {
            HC_OR_RETURN(add_far(work, pixel, far_count, sums, err));
        }
    }
    return HC_OK;
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
