/* Principal axes of the training spectra. Spectra of real scenes lie near few axes, so a product of 32 terms
 * finds most of those that cannot be neighbours (docs/numerics.md). Example: 5,000 spectra of 198 bands of
 * Jasper Ridge leave 47 candidates a pixel, of which products of all bands leave 7, where k is 5.
 *
 * With P the axes, a = P'x and b = P't, the lengths of x and t beyond the axes are r = root of |x|^2 - |a|^2
 * and q, and x.t is at most a.b + r q and at least a.b - r q. The last of the 32 terms is r q.
 *
 * Squares of lengths get 2^-36 of |x|^2, which covers the roundings of a and the error of the axes, which are
 * orthonormal to 2^-40. */
#include "core/allocate.h"
#include "cpu/eigh/eigh.h"
#include "cpu/knn/knn.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>

/* The last term is the length beyond the axes. */
enum { AXES = HC_KNN_TERMS - 1 };

/* Fewer bands or spectra are not worth the axes; more bands would need a larger bound. */
enum { BANDS_MIN = 96, BANDS_MAX = 4096, COUNT_MIN = 1024, SAMPLE_MAX = 4096 };

/* Largest part of the sum of squares beyond the axes. Axes cannot tell noise apart. */
static const double rest_max = 0x1p-7;

HC_CLONES static double multiply(const float *restrict x, const double *restrict axis, int64_t bands,
                                 double *restrict sum) {
    double square = 0;
    double a[HC_KNN_TERMS] = {0};
    for (int64_t b = 0; b < bands; b++) {
        double value = (double)x[b];
        square += value * value;
        for (int i = 0; i < HC_KNN_TERMS; i++) {
            a[i] += value * axis[b * HC_KNN_TERMS + i];
        }
    }
    for (int i = 0; i < HC_KNN_TERMS; i++) {
        sum[i] = a[i];
    }
    return square;
}

float hc_knn_turn(const HcTraining *training, const float *moved, float *turned) {
    double a[HC_KNN_TERMS];
    double square = multiply(moved, training->axis, training->bands, a);
    double rest = square * (1 + 0x1p-36);
    for (int i = 0; i < AXES; i++) {
        turned[i] = (float)a[i];
        rest -= a[i] * a[i];
    }
    turned[AXES] = (float)(sqrt(fmax(rest, 0)) * (1 + 0x1p-20));
    return turned[AXES];
}

/* Sums of products of bands, of some of the spectra. */
static void multiply_bands(const HcTraining *training, float *sum, double *gram) {
    int bands = training->bands;
    int64_t count = hc_min64(training->count, SAMPLE_MAX);
    int64_t stride = training->count / count * bands;
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, bands, bands, (int)count, 1.0F, training->moved,
                (int)stride, training->moved, (int)stride, 0.0F, sum, bands);
    for (int64_t b = 0; b < bands; b++) {
        for (int64_t c = 0; c <= b; c++) {
            gram[b * bands + c] = gram[c * bands + b] = (double)sum[b * bands + c];
        }
    }
}

/* Whether few axes hold almost all of the sum of squares. */
static bool are_few(const double *values, int32_t bands) {
    double all = 0;
    double rest = 0;
    for (int32_t i = 0; i < bands; i++) {
        all += values[i];
        rest += i >= AXES ? values[i] : 0;
    }
    return rest < rest_max * all;
}

static HcStatus take_axes(HcTraining *training, const double *vectors, HcError *err) {
    int64_t bands = training->bands;
    HC_OR_RETURN(hc_new(training->axis, bands * HC_KNN_TERMS, "training spectra", err));
    HC_OR_RETURN(hc_new(training->turned, training->count * HC_KNN_TERMS, "training spectra", err));
    for (int64_t b = 0; b < bands; b++) {
        for (int64_t i = 0; i < AXES; i++) {
            training->axis[b * HC_KNN_TERMS + i] = vectors[i * bands + b];
        }
    }
    for (int64_t j = 0; j < training->count; j++) {
        float rest = hc_knn_turn(training, training->moved + j * bands, training->turned + j * HC_KNN_TERMS);
        training->rest = rest > training->rest ? rest : training->rest;
    }
    return HC_OK;
}

HcStatus hc_knn_find_axes(HcCompute *compute, HcTraining *training, HcError *err) {
    HcStatus status = HC_OK;
    size_t bands = (size_t)training->bands;
    float *sum = NULL;
    double *work = NULL; /* sums of products, vectors, values */
    if (bands < BANDS_MIN || bands > BANDS_MAX || training->count < COUNT_MIN) {
        return HC_OK;
    }
    hc_cpu_blas_alone();
    HC_TRY(hc_new(sum, bands * bands, "axes of training spectra", err));
    HC_TRY(hc_new(work, 2 * bands * bands + bands, "axes of training spectra", err));
    double *vectors = work + bands * bands;
    double *values = vectors + bands * bands;
    multiply_bands(training, sum, work);
    HC_TRY(hc_cpu_eigh(compute, training->bands, AXES, work, values, vectors, err));
    if (are_few(values, training->bands)) {
        HC_TRY(take_axes(training, vectors, err));
    }
done:
    free(sum);
    free(work);
    return status;
}
