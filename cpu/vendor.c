/* The same work by OpenBLAS and LAPACK with all threads, as they come: for measuring only. */
#include "cpu/internal.h"

#include <cblas.h>
#include <lapacke.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct HcVendor {
    int threads;
};

/* BLAS may use the threads of the backend within a call, and has one of its own otherwise. */
static void enter(const HcVendor *vendor) {
    openblas_set_num_threads(vendor->threads);
}

static void leave(void) {
    openblas_set_num_threads(1);
}

static HcStatus open_vendor(HcCompute *compute, HcVendor **out, char *name, size_t name_size, HcError *err) {
    *out = calloc(1, sizeof **out);
    if (*out == NULL) {
        return hc_fail_memory(err, sizeof **out, "the libraries");
    }
    (*out)->threads = ((const HcCpu *)compute)->threads;
    snprintf(name, name_size, "%s (%s), %d thread%s", openblas_get_config(), openblas_get_corename(),
             (*out)->threads, (*out)->threads == 1 ? "" : "s");
    return HC_OK;
}

static void close_vendor(HcVendor *vendor) {
    free(vendor);
}

static HcStatus syrk_float32(HcVendor *vendor, HcQueue *queue, const float *x, int64_t pixels, int32_t bands,
                             float *product, HcError *err) {
    (void)queue;
    if (pixels > INT32_MAX) {
        return hc_fail(err, HC_E_UNSUPPORTED, "syrk: %lld pixels in one call", (long long)pixels);
    }
    enter(vendor);
    cblas_ssyrk(CblasRowMajor, CblasUpper, CblasTrans, bands, (int)pixels, 1.0F, x, bands, 0.0F, product,
                bands);
    leave();
    return HC_OK;
}

HC_CLONES static void widen(const float *restrict x, int64_t count, double *restrict out) {
    for (int64_t i = 0; i < count; i++) {
        out[i] = (double)x[i];
    }
}

static HcStatus gram_float64(HcVendor *vendor, HcQueue *queue, const float *x, int64_t pixels, int32_t bands,
                             int64_t chunk, double *scratch, double *product, HcError *err) {
    (void)queue;
    if (chunk < 1 || chunk > INT32_MAX) {
        return hc_fail(err, HC_E_USAGE, "gram: chunks of %lld pixels", (long long)chunk);
    }
    enter(vendor);
    for (int64_t first = 0; first < pixels; first += chunk) {
        int64_t count = hc_min64(chunk, pixels - first);
#pragma omp parallel for num_threads(vendor->threads) schedule(static)
        for (int64_t p = 0; p < count; p++) {
            widen(x + (first + p) * bands, bands, scratch + p * bands);
        }
        cblas_dsyrk(CblasRowMajor, CblasUpper, CblasTrans, bands, (int)count, 1.0, scratch, bands, 1.0,
                    product, bands);
    }
    leave();
    return HC_OK;
}

static HcStatus gemm_float32(HcVendor *vendor, HcQueue *queue, const float *x, int64_t pixels, int32_t bands,
                             const float *matrix, int32_t components, float *y, HcError *err) {
    (void)queue;
    if (pixels > INT32_MAX) {
        return hc_fail(err, HC_E_UNSUPPORTED, "gemm: %lld pixels in one call", (long long)pixels);
    }
    enter(vendor);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)pixels, components, bands, 1.0F, x, bands,
                matrix, components, 0.0F, y, components);
    leave();
    return HC_OK;
}

static HcStatus eigh(HcVendor *vendor, HcQueue *queue, int32_t n, const double *matrix, double *values,
                     double *vectors, HcError *err) {
    (void)queue;
    memcpy(vectors, matrix, (size_t)n * (size_t)n * sizeof *vectors);
    enter(vendor);
    lapack_int failed = LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'L', n, vectors, n, values);
    leave();
    return failed == 0 ? HC_OK
                       : hc_fail(err, HC_E_NUMERIC,
                                 "no eigenvalues of a matrix of %d rows (LAPACK dsyevd: %d)", n, (int)failed);
}

static const HcVendorOps vendor_ops = {
    .open = open_vendor,
    .close = close_vendor,
    .syrk_float32 = syrk_float32,
    .gram_float64 = gram_float64,
    .gemm_float32 = gemm_float32,
    .eigh = eigh,
};

const HcVendorOps *hc_cpu_vendor(void) {
    return &vendor_ops;
}
