/* The same work by OpenBLAS and LAPACK with all threads, for measuring only. */
#include "cpu/work.h"
#include "core/allocate.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct HcVendor {
    const HcCpu *cpu;
    char *scratch; /* that threads decompose in; grows */
    size_t scratch_bytes;
};

/* BLAS may use the threads of the backend within a call, and has one of its own otherwise. */
static void enter(const HcVendor *vendor) {
    hc_cpu_blas_threads(vendor->cpu->threads);
}

static void leave(void) {
    hc_cpu_blas_threads(1);
}

static HcStatus open_vendor(HcCompute *compute, HcVendor **out, char *name, size_t name_size, HcError *err) {
    HC_OR_RETURN(hc_new(*out, 1, "the libraries", err));
    int threads = ((const HcCpu *)compute)->threads;
    (*out)->cpu = (const HcCpu *)compute;
    snprintf(name, name_size, "%s (%s), %d thread%s", openblas_get_config(), openblas_get_corename(), threads,
             threads == 1 ? "" : "s");
    return HC_OK;
}

static void close_vendor(HcVendor *vendor) {
    if (vendor != NULL) {
        free(vendor->scratch);
    }
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

typedef struct Widening {
    const float *x;
    double *out;
    int32_t bands;
} Widening;

static void widen_pixels(void *user, int64_t first, int64_t end, int32_t thread) {
    (void)thread;
    const Widening *job = user;
    widen(job->x + first * job->bands, (end - first) * job->bands, job->out + first * job->bands);
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
        Widening job = {x + first * bands, scratch, bands};
        hc_cpu_work(vendor->cpu, count, hc_cpu_grain(vendor->cpu, count), widen_pixels, &job);
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

/* The factor R of matrix = R' R is [entries that are about 1] [a diagonal], which is what dgejsv keeps. */
static HcStatus eigh_jacobi(HcVendor *vendor, HcQueue *queue, int32_t n, const double *matrix, double *values,
                            double *vectors, HcError *err) {
    (void)queue;
    HcStatus status = HC_OK;
    size_t rows = (size_t)n;
    double scale[7];
    lapack_int counts[3];
    double *factor = NULL;
    HC_OR_RETURN(hc_new(factor, rows * rows, "a matrix", err));
    for (size_t column = 0; column < rows; column++) {
        memcpy(factor + column * rows, matrix + column * rows, (column + 1) * sizeof *factor);
    }
    enter(vendor);
    lapack_int failed = LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'U', n, factor, n);
    if (failed == 0) {
        failed = LAPACKE_dgejsv(LAPACK_COL_MAJOR, 'C', 'N', 'V', 'R', 'N', 'N', n, n, factor, n, values, NULL,
                                n, vectors, n, scale, counts);
    }
    leave();
    if (failed != 0) {
        HC_TRY(hc_fail(err, HC_E_NUMERIC, "no eigenvalues of a matrix of %d rows (LAPACK dpotrf, dgejsv: %d)",
                       n, (int)failed));
    }
    for (size_t k = 0; k < rows; k++) {
        double value = scale[1] / scale[0] * values[k];
        values[k] = value * value;
    }
done:
    free(factor);
    return status;
}

/* ---- singular value decompositions ---- */

static const char *svd_name(HcElement element, int32_t n) {
    (void)n;
    return element == HC_ELEMENT_COMPLEX_FLOAT32 ? "cgesdd" : "sgesdd";
}

/* What a thread works in: a matrix, a piece for LAPACK's values and one each for its real and whole numbers.
 */
typedef struct SvdWorkspace {
    HcElement element;
    lapack_int n;
    lapack_int values; /* of the piece */
    size_t square;     /* bytes of a matrix */
    size_t reals_at, integers_at, bytes;
} SvdWorkspace;

static lapack_int gesdd(const SvdWorkspace *scratch, char *at, float *singular, void *left, void *right) {
    void *matrix = at;
    void *work = at + scratch->square;
    float *reals = (float *)(at + scratch->reals_at);
    lapack_int *integers = (lapack_int *)(at + scratch->integers_at);
    lapack_int n = scratch->n;
    lapack_int values = scratch->values;
    return scratch->element == HC_ELEMENT_COMPLEX_FLOAT32
               ? LAPACKE_cgesdd_work(LAPACK_COL_MAJOR, 'S', n, n, matrix, n, singular, left, n, right, n,
                                     work, values, reals, integers)
               : LAPACKE_sgesdd_work(LAPACK_COL_MAJOR, 'S', n, n, matrix, n, singular, left, n, right, n,
                                     work, values, integers);
}

static HcStatus plan_svd(HcElement element, int32_t n, SvdWorkspace *scratch, HcError *err) {
    size_t rows = (size_t)n;
    float asked[2] = {0};
    *scratch = (SvdWorkspace){.element = element, .n = n, .square = rows * rows * hc_element_bytes(element)};
    lapack_int failed = element == HC_ELEMENT_COMPLEX_FLOAT32
                            ? LAPACKE_cgesdd_work(LAPACK_COL_MAJOR, 'S', n, n, NULL, n, NULL, NULL, n, NULL,
                                                  n, (void *)asked, -1, NULL, NULL)
                            : LAPACKE_sgesdd_work(LAPACK_COL_MAJOR, 'S', n, n, NULL, n, NULL, NULL, n, NULL,
                                                  n, asked, -1, NULL);
    if (failed != 0) {
        return hc_fail(err, HC_E_NUMERIC, "no memory is planned for matrices of %d rows (LAPACK gesdd: %d)",
                       n, (int)failed);
    }
    scratch->values = (lapack_int)asked[0];
    scratch->reals_at = scratch->square + (size_t)scratch->values * hc_element_bytes(element);
    scratch->integers_at = scratch->reals_at + (7 * rows * rows + 7 * rows) * sizeof(float);
    scratch->bytes = (scratch->integers_at + 8 * rows * sizeof(lapack_int) + 255) / 256 * 256;
    return HC_OK;
}

static HcStatus grow_workspace(HcVendor *vendor, size_t bytes, HcError *err) {
    if (vendor->scratch_bytes < bytes) {
        free(vendor->scratch);
        vendor->scratch = malloc(bytes);
        vendor->scratch_bytes = vendor->scratch != NULL ? bytes : 0;
    }
    return vendor->scratch != NULL ? HC_OK : hc_fail_memory(err, (double)bytes, "decompositions");
}

/* LAPACK leaves right^H by columns: its conjugate, transposed in place. */
static void turn_right(const SvdWorkspace *scratch, float *right) {
    size_t n = (size_t)scratch->n;
    size_t parts = scratch->element == HC_ELEMENT_COMPLEX_FLOAT32 ? 2 : 1;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++) {
            for (size_t part = 0; part < parts; part++) {
                float kept = right[(i * n + j) * parts + part];
                right[(i * n + j) * parts + part] = right[(j * n + i) * parts + part];
                right[(j * n + i) * parts + part] = kept;
            }
        }
    }
    for (size_t i = 1; parts == 2 && i < 2 * n * n; i += 2) {
        right[i] = -right[i];
    }
}

typedef struct SvdJob {
    const HcSvdBatch *batch;
    SvdWorkspace scratch;
    char *memory; /* [threads] workspaces */
    atomic_int failures;
} SvdJob;

static void decompose(void *user, int64_t first, int64_t end, int32_t thread) {
    SvdJob *job = user;
    const SvdWorkspace *scratch = &job->scratch;
    const HcSvdBatch *batch = job->batch;
    char *at = job->memory + (size_t)thread * scratch->bytes;
    for (int64_t m = first; m < end; m++) {
        size_t place = (size_t)m * scratch->square;
        char *right = (char *)batch->right + place;
        float *values = (float *)batch->values + m * scratch->n;
        memcpy(at, (const char *)batch->matrices + place, scratch->square);
        if (gesdd(scratch, at, values, (char *)batch->left + place, right) != 0) {
            atomic_fetch_add(&job->failures, 1);
        }
        turn_right(scratch, (float *)right);
    }
}

/* A matrix after the other in every thread, each by one thread. */
static HcStatus svd(HcVendor *vendor, HcQueue *queue, HcElement element, int32_t n, const HcSvdBatch *batch,
                    HcError *err) {
    (void)queue;
    SvdJob job = {.batch = batch};
    HC_OR_RETURN(plan_svd(element, n, &job.scratch, err));
    HC_OR_RETURN(grow_workspace(vendor, (size_t)vendor->cpu->threads * job.scratch.bytes, err));
    job.memory = vendor->scratch;
    hc_cpu_blas_threads(1);
    hc_cpu_work(vendor->cpu, batch->count, 8, decompose, &job);
    if (atomic_load(&job.failures) > 0) {
        return hc_fail(err, HC_E_NUMERIC, "no singular values of %d matrices of %d rows (LAPACK gesdd)",
                       atomic_load(&job.failures), n);
    }
    return HC_OK;
}

/* ---- one dense matrix ---- */

static HcStatus gemv(HcVendor *vendor, HcQueue *queue, const HcMatrix *matrix, bool transposed,
                     const float *x, float *y, HcError *err) {
    (void)queue;
    (void)err;
    enter(vendor);
    cblas_sgemv(CblasRowMajor, transposed ? CblasTrans : CblasNoTrans, (int)matrix->rows,
                (int)matrix->columns, 1.0F, matrix->data, (int)matrix->columns, x, 1, 0.0F, y, 1);
    leave();
    return HC_OK;
}

/* x moves on to where the slopes lead from `ahead`, and `ahead` beyond it. */
static void threshold_and_lead(const float *slope, float scale, float threshold, float momentum,
                               int64_t count, float *ahead, float *x) {
    for (int64_t j = 0; j < count; j++) {
        float at = ahead[j] + slope[j] * scale;
        float next = at > threshold ? at - threshold : at < -threshold ? at + threshold : 0;
        ahead[j] = next + momentum * (next - x[j]);
        x[j] = next;
    }
}

static HcStatus fista(HcVendor *vendor, HcQueue *queue, const HcMatrix *matrix, const float *b, double lambda,
                      double square, int32_t iterations, float *scratch, float *x, HcError *err) {
    float *residual = scratch;
    float *slope = residual + matrix->rows;
    float *ahead = slope + matrix->columns;
    double time = 1;
    memset(x, 0, (size_t)matrix->columns * sizeof *x);
    memset(ahead, 0, (size_t)matrix->columns * sizeof *ahead);
    for (int32_t i = 0; i < iterations; i++) {
        double next_time = (1 + sqrt(1 + 4 * time * time)) / 2;
        HC_OR_RETURN(gemv(vendor, queue, matrix, false, ahead, residual, err));
        for (int64_t r = 0; r < matrix->rows; r++) {
            residual[r] = b[r] - residual[r];
        }
        HC_OR_RETURN(gemv(vendor, queue, matrix, true, residual, slope, err));
        threshold_and_lead(slope, (float)(1 / square), (float)(lambda / square),
                           (float)((time - 1) / next_time), matrix->columns, ahead, x);
        time = next_time;
    }
    return HC_OK;
}

static const HcVendorOps vendor_ops = {
    .open = open_vendor,
    .close = close_vendor,
    .syrk_float32 = syrk_float32,
    .gram_float64 = gram_float64,
    .gemm_float32 = gemm_float32,
    .eigh = eigh,
    .eigh_jacobi = eigh_jacobi,
    .svd_name = svd_name,
    .svd = svd,
    .gemv = gemv,
    .fista = fista,
};

const HcVendorOps *hc_cpu_vendor(void) {
    return &vendor_ops;
}
