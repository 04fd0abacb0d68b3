/* The nearest point without negative entries in the metric of core/solver/metric.h: of a pixel's unknowns
 * only the multipliers w of the directions are left, and the sum's, for which Newton's method takes a few
 * steps (Becker and Fadili 2012: proximity in metrics of low rank). */
#include "core/solver/working.h"
#include "core/allocate.h"
#include "cpu/unmix/unmix.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PASSES = 60, HALVINGS = 10 };

/* What rounding may add to the function that Newton's method lowers, of the magnitude of its terms. */
static const double rounding = 0x1p-44;

/* A pivot is at least so much. */
static const double least_pivot = 0x1p-40;

/* Newton's method of one pixel: t = target - U w, and the positive entries of t are x. */
typedef struct Newton {
    int32_t spectra, size, width;
    const double *direction; /* U [spectra][width] */
    const double *target;    /* [spectra] */
    const double *turned;    /* [width] */
    double *t, *next;        /* [spectra] */
    int32_t *member, *found; /* [spectra] numbers of the positive entries */
    int32_t count;
    HcUnmixFactor *factor; /* of I + U_S'U_S */
    double w[HC_METRIC_WIDTH];
} Newton;

size_t hc_unmix_nearest_scratch(const HcUnmixing *unmixing) {
    return 3 * (size_t)unmixing->rule.spectra;
}

/* 1 + U U' of the directions on working sets. */
static HcStatus find_working_metric(HcUnmixing *unmixing, HcError *err) {
    int32_t n = unmixing->rule.spectra;
    int32_t size = hc_working_size(unmixing->eigenvalue, n, &unmixing->working_level);
    double *direction = NULL;
    HC_OR_RETURN(hc_new(unmixing->working_metric, (size_t)n * (size_t)n, "a metric", err));
    HC_OR_RETURN(hc_new(direction, (size_t)n * (size_t)hc_max64(size, 1), "a metric", err));
    for (int32_t k = 0; k < n; k++) {
        unmixing->working_metric[(int64_t)k * (n + 1)] = 1;
        hc_metric_row(unmixing->eigenvalue, unmixing->eigenvector, n, size, unmixing->working_level, false, k,
                      direction + (int64_t)k * size);
    }
    if (size > 0) {
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, n, size, 1, direction, size, direction, size,
                    1, unmixing->working_metric, n);
    }
    free(direction);
    return HC_OK;
}

HcStatus hc_unmix_find_metric(HcUnmixing *unmixing, HcError *err) {
    int32_t n = unmixing->rule.spectra;
    bool sums = unmixing->rule.sum_to_one;
    unmixing->size = hc_metric_size(unmixing->eigenvalue, n, &unmixing->level);
    unmixing->width = unmixing->size + (sums ? 1 : 0);
    HC_OR_RETURN(
        hc_new(unmixing->direction, (size_t)n * (size_t)hc_max64(unmixing->width, 1), "a metric", err));
    for (int32_t k = 0; k < n; k++) {
        hc_metric_row(unmixing->eigenvalue, unmixing->eigenvector, n, unmixing->size, unmixing->level, sums,
                      k, unmixing->direction + (int64_t)k * unmixing->width);
    }
    return find_working_metric(unmixing, err);
}

static int32_t find_positive(const double *x, int32_t n, int32_t *number) {
    int32_t count = 0;
    for (int32_t k = 0; k < n; k++) {
        number[count] = k;
        count += x[k] > 0;
    }
    return count;
}

HC_CLONES static void add_square(int32_t width, const double *restrict row, double *restrict matrix) {
    for (int32_t i = 0; i < width; i++) {
        double value = row[i];
        for (int32_t j = 0; j <= i; j++) {
            matrix[i * width + j] += value * row[j];
        }
    }
}

/* matrix = L D L' in place of the lower triangle. */
HC_CLONES static void decompose(int32_t width, double *restrict matrix) {
    double column[HC_METRIC_WIDTH];
    for (int32_t c = 0; c < width; c++) {
        double pivot = fmax(matrix[c * width + c], least_pivot);
        matrix[c * width + c] = pivot;
        for (int32_t i = c + 1; i < width; i++) {
            column[i] = matrix[i * width + c];
            matrix[i * width + c] /= pivot;
            for (int32_t j = c + 1; j <= i; j++) {
                matrix[i * width + j] -= matrix[i * width + c] * column[j];
            }
        }
    }
}

/* right = inv(L D L') right. */
HC_CLONES static void solve(int32_t width, const double *restrict factor, double *restrict right) {
    for (int32_t i = 0; i < width; i++) {
        for (int32_t j = 0; j < i; j++) {
            right[i] -= factor[i * width + j] * right[j];
        }
    }
    for (int32_t c = width - 1; c >= 0; c--) {
        right[c] /= factor[c * width + c];
        for (int32_t i = c + 1; i < width; i++) {
            right[c] -= factor[i * width + c] * right[i];
        }
    }
}

/* The matrix of the members, and its factor. */
static void form_factor(const Newton *newton) {
    int32_t width = newton->width;
    double *matrix = newton->factor->entry;
    memset(matrix, 0, (size_t)(width * width) * sizeof(double));
    for (int32_t i = 0; i < newton->size; i++) {
        matrix[i * width + i] = 1;
    }
    for (int32_t m = 0; m < newton->count; m++) {
        add_square(width, newton->direction + (int64_t)newton->member[m] * width, matrix);
    }
    decompose(width, matrix);
}

/* The multipliers that are right if the members are. */
static void solve_members(const Newton *newton, double *w) {
    int32_t width = newton->width;
    if (!newton->factor->fits) {
        form_factor(newton);
    }
    for (int32_t i = 0; i < width; i++) {
        w[i] = -newton->turned[i];
    }
    for (int32_t m = 0; m < newton->count; m++) {
        int32_t k = newton->member[m];
        const double *row = newton->direction + (int64_t)k * width;
        for (int32_t i = 0; i < width; i++) {
            w[i] += newton->target[k] * row[i];
        }
    }
    solve(width, newton->factor->entry, w);
}

/* The convex function of w whose gradient is w + turned - U'x; *magnitude is that of its terms. */
static double value_at(const Newton *newton, const double *t, const double *w, double *magnitude) {
    double squares = 0;
    double rest = 0;
    for (int32_t k = 0; k < newton->spectra; k++) {
        double x = t[k] > 0 ? t[k] : 0;
        squares += x * x / 2;
    }
    for (int32_t i = 0; i < newton->width; i++) {
        squares += i < newton->size ? w[i] * w[i] / 2 : 0;
        rest += newton->turned[i] * w[i];
    }
    *magnitude = squares + fabs(rest);
    return squares + rest;
}

/* The step to w, halved as long as it leads uphill; whether it was taken in full. */
static bool take_step(Newton *newton, double *w, double *value) {
    int32_t n = newton->spectra;
    double magnitude = 0;
    bool full = true;
    memcpy(newton->next, newton->target, (size_t)n * sizeof(double));
    if (newton->width > 0) {
        cblas_dgemv(CblasRowMajor, CblasNoTrans, n, newton->width, -1, newton->direction, newton->width, w, 1,
                    1, newton->next, 1);
    }
    double here = value_at(newton, newton->next, w, &magnitude);
    for (int i = 0; i < HALVINGS && here > *value + rounding * magnitude; i++) {
        full = false;
        for (int32_t k = 0; k < n; k++) {
            newton->next[k] = (newton->next[k] + newton->t[k]) / 2;
        }
        for (int32_t k = 0; k < newton->width; k++) {
            w[k] = (w[k] + newton->w[k]) / 2;
        }
        here = value_at(newton, newton->next, w, &magnitude);
    }
    double *before = newton->t;
    newton->t = newton->next;
    newton->next = before;
    memcpy(newton->w, w, (size_t)newton->width * sizeof(double));
    *value = here;
    return full;
}

/* Abundances that sum to one have a member at least. */
static void begin_with_largest(Newton *newton, const double *from) {
    newton->count = 1;
    newton->member[0] = 0;
    for (int32_t k = 1; k < newton->spectra; k++) {
        if (from[k] > from[newton->member[0]]) {
            newton->member[0] = k;
        }
    }
}

/* Whether the positive entries of t are the members; they are afterwards. */
static bool renew_members(Newton *newton) {
    int32_t count = find_positive(newton->t, newton->spectra, newton->found);
    bool same = count == newton->count &&
                memcmp(newton->found, newton->member, (size_t)count * sizeof *newton->member) == 0;
    int32_t *before = newton->member;
    newton->member = newton->found;
    newton->found = before;
    newton->count = count;
    return same;
}

static void write_nearest(const Newton *newton, double *x, double *turned) {
    int32_t width = newton->width;
    double sum = 0;
    for (int32_t k = 0; k < newton->spectra; k++) {
        x[k] = newton->t[k] > 0 ? newton->t[k] : 0;
        sum += x[k];
    }
    for (int32_t k = 0; k < newton->spectra && width > newton->size && sum > 0; k++) {
        x[k] /= sum;
    }
    memset(turned, 0, (size_t)width * sizeof(double));
    for (int32_t m = 0; m < newton->count; m++) {
        const double *row = newton->direction + (int64_t)newton->member[m] * width;
        for (int32_t i = 0; i < width; i++) {
            turned[i] += x[newton->member[m]] * row[i];
        }
    }
}

void hc_unmix_nearest(const HcUnmixing *unmixing, const double *target, const double *turned, double *x,
                      double *turned_x, HcUnmixFactor *factor, double *scratch) {
    int32_t n = unmixing->rule.spectra;
    Newton newton = {.spectra = n,
                     .size = unmixing->size,
                     .width = unmixing->width,
                     .direction = unmixing->direction,
                     .target = target,
                     .turned = turned,
                     .factor = factor,
                     .t = scratch,
                     .next = scratch + n,
                     .member = (int32_t *)(scratch + 2 * (int64_t)n)};
    double w[HC_METRIC_WIDTH];
    double value = INFINITY;
    newton.found = newton.member + n;
    newton.count = find_positive(x, n, newton.member);
    for (int pass = 0; pass < PASSES; pass++) {
        if (newton.count == 0 && newton.width > newton.size) {
            begin_with_largest(&newton, pass == 0 ? target : newton.t);
        }
        solve_members(&newton, w);
        bool full = take_step(&newton, w, &value);
        factor->fits = renew_members(&newton);
        if (full && factor->fits) {
            break;
        }
    }
    write_nearest(&newton, x, turned_x);
}
