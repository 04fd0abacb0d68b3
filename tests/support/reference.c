#include "tests/support/reference.h"

#include <stdlib.h>

static double *zeros(size_t count) {
    double *memory = calloc(count, sizeof *memory);
    assert_non_null(memory);
    return memory;
}

/* Of rows[count][n], a row a pixel. */
static void covariance_of_rows(const double *rows, int64_t count, size_t n, double *mean,
                               double *covariance) {
    for (size_t b = 0; b < n; b++) {
        long double sum = 0;
        for (int64_t i = 0; i < count; i++) {
            sum += rows[(size_t)i * n + b];
        }
        mean[b] = (double)(sum / count);
    }
    for (size_t b = 0; b < n; b++) {
        for (size_t c = 0; c <= b; c++) {
            long double sum = 0;
            for (int64_t i = 0; i < count; i++) {
                sum += ((long double)rows[(size_t)i * n + b] - mean[b]) * (rows[(size_t)i * n + c] - mean[c]);
            }
            covariance[b * n + c] = covariance[c * n + b] = (double)(sum / (count - 1));
        }
    }
}

int64_t reference_covariance(const Cube *cube, double *mean, double *covariance) {
    size_t n = (size_t)cube->bands;
    double *rows = zeros(cube_pixels(cube) * n);
    int64_t count = 0;
    for (size_t i = 0; i < cube_pixels(cube); i++) {
        if (cube->valid[i]) {
            memcpy(rows + (size_t)count++ * n, cube->value + i * n, n * sizeof *rows);
        }
    }
    covariance_of_rows(rows, count, n, mean, covariance);
    free(rows);
    return count;
}

void reference_solve(int32_t n, const double *matrix, const double *b, double *x) {
    size_t bands = (size_t)n, row = bands + 1;
    double *work = malloc(bands * row * sizeof *work);
    assert_non_null(work);
    for (size_t i = 0; i < bands; i++) {
        memcpy(work + i * row, matrix + i * bands, bands * sizeof *work);
        work[i * row + bands] = b[i];
    }
    for (size_t i = 0; i < bands; i++) {
        for (size_t k = 0; k < bands; k++) {
            double factor = work[k * row + i] / work[i * row + i];
            for (size_t j = 0; j <= bands && k != i; j++) {
                work[k * row + j] -= factor * work[i * row + j];
            }
        }
    }
    for (size_t i = 0; i < bands; i++) {
        x[i] = work[i * row + bands] / work[i * row + i];
    }
    free(work);
}

double reference_product(int32_t n, const double *a, const double *b) {
    double sum = 0;
    for (int32_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

double reference_ledoit_wolf(const Cube *cube) {
    size_t n = (size_t)cube->bands;
    double *mean = malloc((n + n * n) * sizeof *mean);
    double trace = 0, apart = 0, spread = 0;
    assert_non_null(mean);
    double *matrix = mean + n;
    double pixels = (double)reference_covariance(cube, mean, matrix);
    for (size_t i = 0; i < n * n; i++) {
        matrix[i] *= (pixels - 1) / pixels;
        trace += i % (n + 1) == 0 ? matrix[i] : 0;
    }
    for (size_t p = 0; p < cube_pixels(cube); p++) {
        const double *x = cube->value + p * n;
        for (size_t i = 0; i < n * n && cube->valid[p]; i++) {
            double rest = (x[i / n] - mean[i / n]) * (x[i % n] - mean[i % n]) - matrix[i];
            spread += rest * rest / pixels;
        }
    }
    for (size_t i = 0; i < n * n; i++) {
        double rest = matrix[i] - (i % (n + 1) == 0 ? trace / (double)n : 0);
        apart += rest * rest;
    }
    free(mean);
    return fmin(1, spread / pixels / apart);
}

/* Variance of the median of nine standard normal values, by Simpson's rule. */
static double median9_variance(void) {
    double sum = 0;
    int steps = 4000;
    for (int i = 0; i <= steps; i++) {
        double x = -8 + 16.0 * i / steps;
        double below = 0.5 * erfc(-x / sqrt(2));
        double density = 630 * pow(below * (1 - below), 4) * exp(-x * x / 2) / sqrt(6.283185307179586);
        sum += x * x * density * (i == 0 || i == steps ? 1 : i % 2 == 1 ? 4 : 2);
    }
    return sum * 16.0 / steps / 3;
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The difference at one pixel, unscaled but for the mean (pixel less mean), or false where there is none. */
static bool noise_at(const Cube *cube, NoiseKind kind, const int32_t *window, int32_t line, int32_t sample,
                     double *out) {
    static const int32_t low[] = {-1, -1, 0, 0};
    static const int32_t high_line[] = {1, 1, 0, 1};
    static const int32_t high_sample[] = {1, 1, 1, 1};
    for (int32_t l = line + low[kind]; l <= line + high_line[kind]; l++) {
        for (int32_t s = sample + low[kind]; s <= sample + high_sample[kind]; s++) {
            bool corner = (l == line) == (s == sample); /* of the diagonal shift only these two count */
            if (kind == NOISE_SHIFT_DIAGONAL && !corner) {
                continue;
            }
            if (l < window[1] || l >= window[1] + window[3] || s < window[0] || s >= window[0] + window[2] ||
                !cube->valid[(size_t)l * (size_t)cube->samples + (size_t)s]) {
                return false;
            }
        }
    }
    for (int32_t b = 0; b < cube->bands; b++) {
        double x = cube_pixel(cube, line, sample)[b];
        double nine[9];
        double sum = 0;
        switch (kind) {
        case NOISE_SHIFT:
            out[b] = x - cube_pixel(cube, line, sample + 1)[b];
            break;
        case NOISE_SHIFT_DIAGONAL:
            out[b] = x - cube_pixel(cube, line + 1, sample + 1)[b];
            break;
        default:
            for (int32_t k = 0; k < 9; k++) {
                nine[k] = cube_pixel(cube, line - 1 + k / 3, sample - 1 + k % 3)[b];
                sum += nine[k];
            }
            qsort(nine, 9, sizeof *nine, compare_doubles);
            out[b] = kind == NOISE_MEAN3X3 ? x - sum / 9 : x - nine[4];
        }
    }
    return true;
}

int64_t reference_noise(const Cube *cube, NoiseKind kind, const int32_t *window, double *covariance) {
    /* x less the mean of nine that it is one of: 1 - 1/9. x less the median of nine: 1 + v - 2/9, since its
     * covariance with each of the nine is 1/9. */
    double variance = kind == NOISE_MEAN3X3     ? 8.0 / 9
                      : kind == NOISE_MEDIAN3X3 ? 7.0 / 9 + median9_variance()
                                                : 2;
    int32_t scene[4] = {0, 0, cube->samples, cube->lines};
    window = window != NULL ? window : scene;
    size_t n = (size_t)cube->bands;
    double *rows = zeros(cube_pixels(cube) * n);
    double *mean = zeros(n);
    int64_t count = 0;
    for (int32_t line = 0; line < cube->lines; line++) {
        for (int32_t sample = 0; sample < cube->samples; sample++) {
            count += noise_at(cube, kind, window, line, sample, rows + (size_t)count * n);
        }
    }
    covariance_of_rows(rows, count, n, mean, covariance);
    for (size_t i = 0; i < n * n; i++) {
        covariance[i] /= variance;
    }
    free(rows);
    free(mean);
    return count;
}

/* One rotation that makes a[i][j] zero. */
static void rotate(size_t n, double *a, double *v, size_t i, size_t j) {
    if (a[i * n + j] == 0) {
        return;
    }
    double theta = (a[j * n + j] - a[i * n + i]) / (2 * a[i * n + j]);
    double t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1));
    double c = 1 / sqrt(t * t + 1);
    double s = t * c;
    for (size_t k = 0; k < n; k++) {
        double x = a[k * n + i];
        double y = a[k * n + j];
        a[k * n + i] = c * x - s * y;
        a[k * n + j] = s * x + c * y;
    }
    for (size_t k = 0; k < n; k++) {
        double x = a[i * n + k];
        double y = a[j * n + k];
        a[i * n + k] = c * x - s * y;
        a[j * n + k] = s * x + c * y;
        x = v[k * n + i];
        y = v[k * n + j];
        v[k * n + i] = c * x - s * y;
        v[k * n + j] = s * x + c * y;
    }
}

void reference_eigen(int32_t n, const double *matrix, double *values, double *vectors) {
    size_t p = (size_t)n;
    double *a = zeros(p * p);
    double *v = zeros(p * p);
    memcpy(a, matrix, p * p * sizeof *a);
    for (size_t i = 0; i < p; i++) {
        v[i * p + i] = 1;
    }
    for (int sweep = 0; sweep < 30; sweep++) {
        for (size_t i = 0; i < p; i++) {
            for (size_t j = i + 1; j < p; j++) {
                rotate(p, a, v, i, j);
            }
        }
    }
    for (size_t k = 0; k < p; k++) {
        size_t largest = 0;
        for (size_t i = 1; i < p; i++) {
            largest = a[i * p + i] > a[largest * p + largest] ? i : largest;
        }
        values[k] = a[largest * p + largest];
        a[largest * p + largest] = -INFINITY;
        for (size_t b = 0; b < p; b++) {
            vectors[b * p + k] = v[b * p + largest];
        }
    }
    free(a);
    free(v);
}

static void sign_columns(size_t n, double *forward) {
    for (size_t k = 0; k < n; k++) {
        size_t largest = 0;
        for (size_t b = 1; b < n; b++) {
            largest = fabs(forward[b * n + k]) > fabs(forward[largest * n + k]) ? b : largest;
        }
        bool flip = forward[largest * n + k] < 0;
        for (size_t b = 0; b < n && flip; b++) {
            forward[b * n + k] = -forward[b * n + k];
        }
    }
}

void reference_pca(int32_t n, const double *covariance, double *values, double *forward) {
    reference_eigen(n, covariance, values, forward);
    sign_columns((size_t)n, forward);
}

void reference_mnf(int32_t n, const double *covariance, const double *noise, double *values,
                   double *forward) {
    size_t p = (size_t)n;
    double *l = zeros(p * p);
    double *inverse = zeros(p * p);
    double *half = zeros(p * p);
    double *whitened = zeros(p * p);
    double *vectors = zeros(p * p);
    for (size_t i = 0; i < p; i++) {
        for (size_t j = 0; j <= i; j++) {
            double rest = noise[i * p + j];
            for (size_t k = 0; k < j; k++) {
                rest -= l[i * p + k] * l[j * p + k];
            }
            assert_true(i != j || rest > 0);
            l[i * p + j] = i == j ? sqrt(rest) : rest / l[j * p + j];
        }
    }
    for (size_t c = 0; c < p; c++) {
        for (size_t i = c; i < p; i++) {
            double rest = i == c;
            for (size_t k = c; k < i; k++) {
                rest -= l[i * p + k] * inverse[k * p + c];
            }
            inverse[i * p + c] = rest / l[i * p + i];
        }
    }
    for (size_t i = 0; i < p; i++) {
        for (size_t j = 0; j < p; j++) {
            for (size_t k = 0; k < p; k++) {
                half[i * p + j] += inverse[i * p + k] * covariance[k * p + j];
            }
        }
    }
    for (size_t i = 0; i < p; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = 0;
            for (size_t k = 0; k < p; k++) {
                sum += half[i * p + k] * inverse[j * p + k];
            }
            whitened[i * p + j] = whitened[j * p + i] = sum;
        }
    }
    reference_eigen(n, whitened, values, vectors);
    for (size_t b = 0; b < p; b++) {
        for (size_t k = 0; k < p; k++) {
            double sum = 0;
            for (size_t i = 0; i < p; i++) {
                sum += inverse[i * p + b] * vectors[i * p + k];
            }
            forward[b * p + k] = sum;
        }
    }
    sign_columns(p, forward);
    free(l);
    free(inverse);
    free(half);
    free(whitened);
    free(vectors);
}

Cube reference_project(const Cube *cube, const double *mean, const double *forward, int32_t components) {
    Cube out = cube_new(cube->lines, cube->samples, components);
    size_t p = (size_t)cube->bands;
    size_t m = (size_t)components;
    memcpy(out.valid, cube->valid, cube_pixels(cube));
    for (size_t i = 0; i < cube_pixels(cube); i++) {
        for (size_t k = 0; k < m && cube->valid[i]; k++) {
            double sum = 0;
            for (size_t b = 0; b < p; b++) {
                sum += (cube->value[i * p + b] - mean[b]) * forward[b * p + k];
            }
            out.value[i * m + k] = sum;
        }
    }
    return out;
}
