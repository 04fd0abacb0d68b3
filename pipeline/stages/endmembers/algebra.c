/* Small dense algebra of simplices: a few vectors of a few numbers. */
#include "pipeline/stages/endmembers/methods.h"
#include "core/solver/clones.h"
#include "pipeline/random.h"
#include "pipeline/statistics/dot.h"

#include <math.h>
#include <string.h>

/* What rounding makes of sums, relative to what they are bounded by, at most. */
static const double rounding = 1e-9;

double hc_seed_normal(uint64_t *seed) {
    double sum = -6;
    for (int k = 0; k < 12; k++) {
        sum += hc_random_uniform(seed);
    }
    return sum;
}

void hc_remove_parts(double *x, const double *basis, int32_t count, int32_t n) {
    for (int32_t c = 0; c < count; c++) {
        const double *q = basis + (size_t)c * (size_t)n;
        double part = hc_dot(x, q, (size_t)n);
        for (int32_t k = 0; k < n; k++) {
            x[k] -= part * q[k];
        }
    }
}

int32_t hc_orthonormal(double *column, int32_t count, int32_t n) {
    int32_t left = 0;
    for (int32_t c = 0; c < count; c++) {
        double *q = column + (size_t)left * (size_t)n;
        memmove(q, column + (size_t)c * (size_t)n, (size_t)n * sizeof *q);
        double before = sqrt(hc_dot(q, q, (size_t)n));
        hc_remove_parts(q, column, left, n);
        hc_remove_parts(q, column, left, n); /* twice is enough (Giraud, Langou, Rozloznik 2005) */
        double length = sqrt(hc_dot(q, q, (size_t)n));
        if (length > 1e-10 * before) {
            for (int32_t k = 0; k < n; k++) {
                q[k] /= length;
            }
            left++;
        }
    }
    return left;
}

static void swap_rows(double *matrix, int32_t a, int32_t b, int32_t n) {
    for (int32_t k = 0; k < n && a != b; k++) {
        double kept = matrix[(size_t)a * (size_t)n + (size_t)k];
        matrix[(size_t)a * (size_t)n + (size_t)k] = matrix[(size_t)b * (size_t)n + (size_t)k];
        matrix[(size_t)b * (size_t)n + (size_t)k] = kept;
    }
}

static void add_row(double *to, const double *from, double factor, int32_t n) {
    for (int32_t k = 0; k < n; k++) {
        to[k] += factor * from[k];
    }
}

/* Gauss and Jordan, with the largest pivot of a column. */
double hc_invert(double *matrix, double *inverse, int32_t n) {
    double logarithm = 0;
    size_t row = (size_t)n;
    memset(inverse, 0, row * row * sizeof *inverse);
    for (size_t k = 0; k < row; k++) {
        inverse[k * row + k] = 1;
    }
    for (int32_t c = 0; c < n; c++) {
        int32_t pivot = c;
        for (int32_t r = c + 1; r < n; r++) {
            bool larger =
                fabs(matrix[(size_t)r * row + (size_t)c]) > fabs(matrix[(size_t)pivot * row + (size_t)c]);
            pivot = larger ? r : pivot;
        }
        double value = matrix[(size_t)pivot * row + (size_t)c];
        if (!(fabs(value) > 0)) {
            return -INFINITY;
        }
        logarithm += log(fabs(value));
        swap_rows(matrix, c, pivot, n);
        swap_rows(inverse, c, pivot, n);
        double *own = matrix + (size_t)c * row;
        double *right = inverse + (size_t)c * row;
        for (int32_t k = 0; k < n; k++) {
            own[k] /= value;
            right[k] /= value;
        }
        for (int32_t r = 0; r < n; r++) {
            double factor = -matrix[(size_t)r * row + (size_t)c];
            if (r != c) {
                add_row(matrix + (size_t)r * row, own, factor, n);
                add_row(inverse + (size_t)r * row, right, factor, n);
            }
        }
    }
    return logarithm;
}

typedef double Lanes
    __attribute__((vector_size(HC_LANES * sizeof(double)), aligned(sizeof(double)), may_alias));
typedef int64_t Bits __attribute__((vector_size(HC_LANES * sizeof(int64_t)), may_alias));

bool hc_find_long(HcLongPixels *pixels, double needed) {
    pixels->few = 0;
    pixels->longest = 0;
    for (; pixels->next < pixels->pixels && pixels->few < HC_PIXELS; pixels->next++) {
        const float *x = pixels->x + (size_t)pixels->next * (size_t)pixels->width;
        double sum = 0;
        for (int32_t k = 0; k < pixels->width; k++) {
            sum += pixels->weight[k] * ((double)x[k] * (double)x[k]);
        }
        if (sum >= needed) {
            pixels->number[pixels->few++] = pixels->next;
            pixels->longest = fmax(pixels->longest, sum);
        }
    }
    return pixels->few > 0;
}

void hc_widen(const HcLongPixels *pixels, double wide[][HC_PIXELS]) {
    for (int32_t p = 0; p < HC_PIXELS; p++) { /* the last one again where there are fewer */
        int32_t number = pixels->number[p < pixels->few ? p : pixels->few - 1];
        const float *from = pixels->x + (size_t)number * (size_t)pixels->width;
        for (int32_t k = 0; k < pixels->width; k++) {
            wide[k][p] = (double)from[k];
        }
    }
}

double hc_needed_length(const double *f, const double *weight, int32_t width, double offset, double goal) {
    double rest = goal * (1 - rounding) - fabs(offset);
    double sum = 0;
    for (int32_t k = 0; k < width; k++) {
        sum += f[k] * f[k] / weight[k];
    }
    return rest > 0 ? rest * rest / sum : 0;
}

HC_CLONES void hc_largest_sums(const double *f, int32_t rows, int32_t width, const double wide[][HC_PIXELS],
                               double largest[HC_PIXELS][HC_LANES]) {
    const Lanes *row = (const Lanes *)f;
    Lanes most[HC_PIXELS] = {0};
    for (int32_t r = 0; r < rows; r++, row += width + 1) {
        Lanes sum[HC_PIXELS];
        for (int32_t p = 0; p < HC_PIXELS; p++) {
            sum[p] = row[0];
        }
        for (int32_t k = 0; k < width; k++) {
            for (int32_t p = 0; p < HC_PIXELS; p++) {
                sum[p] += row[k + 1] * wide[k][p];
            }
        }
        for (int32_t p = 0; p < HC_PIXELS; p++) {
            Bits size = (Bits)sum[p] & INT64_MAX; /* without the sign */
            Bits larger = (Lanes)size > most[p];
            most[p] = (Lanes)((size & larger) | ((Bits)most[p] & ~larger));
        }
    }
    memcpy(largest, most, sizeof most);
}
