/* Training spectra made ready for fast products, and how far such a product may be off. */
#include "cpu/knn/knn.h"
#include "core/allocate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double hc_knn_norm(const float *x, int32_t bands) {
    double sum = 0;
    for (int32_t b = 0; b < bands; b++) {
        sum += (double)x[b] * (double)x[b];
    }
    return sqrt(sum);
}

/* x or t -> x' or t'; `length` is 1 where spectra keep theirs. */
HC_CLONES static void move(const float *restrict x, const double *restrict centre, double length,
                           double scale, int64_t bands, float *restrict moved) {
    for (int64_t b = 0; b < bands; b++) {
        moved[b] = (float)(((double)x[b] / length - centre[b]) * scale);
    }
}

HC_CLONES double hc_knn_length(const float *x, int32_t bands) {
    enum { LANES = 8 };
    double sum[LANES] = {0};
    double rest = 0;
    int32_t b = 0;
    for (; b + LANES <= bands; b += LANES) {
        for (int lane = 0; lane < LANES; lane++) {
            sum[lane] += (double)x[b + lane] * (double)x[b + lane];
        }
    }
    for (; b < bands; b++) {
        rest += (double)x[b] * (double)x[b];
    }
    for (int lane = 0; lane < LANES; lane++) {
        rest += sum[lane];
    }
    return sqrt(rest);
}

/* How far a similarity s may be from S = (|x - c|^2 - d) / 2 (EUCLIDEAN) or from -d + constant (ANGLE), d
 * being the float64 distance that the contract wants, X = |x - c| and T = |t - c| after scaling:
 *
 *   product in float32                               m u / (1 - m u) X T,  m >= roundings of a term
 *   x' and t', their parts along axes, rounded       4 u X T
 *   h rounded, product - h rounded                   u (X T + 2 h)
 *   the threshold that this is used for, rounded     u (X T + h)
 *   roundings of d, of norms and of divisions        (bands + 2) v (X + T)^2 / 2, or (3 bands + 16) v
 *   float32 underflow, flushed or not                bands 2^-125
 *
 * with u = 2^-24 and v = 2^-53. The constants below are larger, which covers what is of second order. */
static double bound(const HcTraining *training, double length, double roundings) {
    const double u = 0x1p-24;
    const double v = 0x1p-53;
    double n = training->bands;
    double m = roundings * u;
    double product = length * training->longest;
    double exact = training->metric == HC_METRIC_EUCLIDEAN
                       ? (n + 4) * v * (length + training->longest) * (length + training->longest)
                       : (4 * n + 32) * v;
    bool fine = m < 0.1 && length < 0x1p60; /* far from overflow, as longest and h are small */
    return fine ? m / (1 - m) * product + 6 * u * (product + training->most) + exact + 0x1p-90 : INFINITY;
}

/* A sum of all bands in any order meets bands and the roundings of blocks. A product along the axes meets
 * HC_KNN_TERMS and those of blocks; one in HC_KNN_CHUNK sums meets bands / HC_KNN_CHUNK, those of bands that
 * are left, fewer than HC_KNN_CHUNK, and 2. */
HcMargins hc_knn_move(const HcTraining *training, const HcQuery *query, float *moved) {
    double n = training->bands;
    bool angle = training->metric == HC_METRIC_ANGLE;
    move(query->x, training->centre, angle ? query->norm : 1, training->scale, training->bands, moved);
    double length = hc_knn_length(moved, training->bands) * (1 + 0x1p-20);
    const double twice = 2 * (1 + 0x1p-20);
    return (HcMargins){(float)(twice * bound(training, length, n + n / 8 + 16)),
                       (float)(twice * bound(training, length, n / HC_KNN_CHUNK + 2 * HC_KNN_TERMS))};
}

static void find_centre(HcTraining *training) {
    int32_t bands = training->bands;
    for (int64_t j = 0; j < training->count; j++) {
        double length = training->metric == HC_METRIC_ANGLE ? training->norm[j] : 1;
        for (int32_t b = 0; length > 0 && b < bands; b++) {
            training->centre[b] += (double)training->spectra[j * bands + b] / length;
        }
    }
    for (int32_t b = 0; b < bands; b++) {
        training->centre[b] /= (double)training->count;
    }
}

/* |t - c|^2, and for ANGLE c.t, both of float64. */
static void compare_with_centre(const HcTraining *training, int64_t j, double *square, double *product) {
    double length = training->metric == HC_METRIC_ANGLE && training->norm[j] > 0 ? training->norm[j] : 1;
    const float *t = training->spectra + j * training->bands;
    *square = 0;
    *product = 0;
    for (int32_t b = 0; b < training->bands; b++) {
        double value = (double)t[b] / length;
        double apart = value - training->centre[b];
        *square += apart * apart;
        *product += value * training->centre[b];
    }
}

static void make_ready(HcTraining *training, double *square, double *product) {
    bool angle = training->metric == HC_METRIC_ANGLE;
    int32_t bands = training->bands;
    double longest = 0;
    for (int64_t j = 0; angle && j < training->count; j++) {
        training->norm[j] = hc_knn_norm(training->spectra + j * bands, bands);
    }
    find_centre(training);
    for (int64_t j = 0; j < training->count; j++) {
        compare_with_centre(training, j, &square[j], &product[j]);
        longest = square[j] > longest ? square[j] : longest;
    }
    int exponent = 0;
    (void)frexp(sqrt(longest), &exponent);
    training->scale = angle || longest == 0 ? 1 : ldexp(1, 1 - exponent);
    training->longest = sqrt(longest) * training->scale * (1 + 0x1p-20);
    for (int64_t j = 0; j < training->count; j++) {
        double length = angle && training->norm[j] > 0 ? training->norm[j] : 1;
        double half = angle ? -product[j] : square[j] * training->scale * training->scale / 2;
        move(training->spectra + j * bands, training->centre, length, training->scale, bands,
             training->moved + j * bands);
        training->half[j] = (float)half;
        training->most = fabs(half) > training->most ? fabs(half) : training->most;
    }
    for (int64_t j = 0; j < HC_KNN_BLOCK; j++) {
        training->half[training->count + j] = INFINITY;
    }
}

HcStatus hc_cpu_training_open(HcCompute *compute, const float *spectra, int64_t count, int32_t bands,
                              HcMetric metric, HcTraining **out, HcError *err) {
    HcStatus status = HC_OK;
    double *work = NULL;
    HcTraining *training = NULL;
    *out = NULL;
    size_t spectrum_count = (size_t)count;
    size_t values = spectrum_count * (size_t)bands;
    HC_TRY(hc_new(training, 1, "training spectra", err));
    *training = (HcTraining){.count = count, .bands = bands, .metric = metric};
    HC_TRY(hc_new(training->spectra, values, "training spectra", err));
    HC_TRY(hc_new(training->moved, values, "training spectra", err));
    HC_TRY(hc_new(training->half, spectrum_count + HC_KNN_BLOCK, "training spectra", err));
    HC_TRY(hc_new(training->norm, spectrum_count, "training spectra", err));
    HC_TRY(hc_new(training->centre, bands, "training spectra", err));
    HC_TRY(hc_new(work, 2 * spectrum_count, "training spectra", err));
    memcpy(training->spectra, spectra, values * sizeof(float));
    make_ready(training, work, work + count);
    HC_TRY(hc_knn_find_axes(compute, training, err));
    HC_TRY(hc_knn_make_bytes(training, err));
    HC_TRY(hc_knn_make_few(training, err));
    *out = training;
    training = NULL;
done:
    hc_cpu_training_close(training);
    free(work);
    return status;
}

void hc_cpu_training_close(HcTraining *training) {
    if (training != NULL) {
        free(training->spectra);
        free(training->moved);
        free(training->half);
        free(training->norm);
        free(training->centre);
        free(training->axis);
        free(training->turned);
        free(training->word);
        free(training->start);
        free(training->few);
        free(training);
    }
}
