/* The same work by cuBLAS and cuSOLVER, for measuring. They are loaded when asked for, so that the module
 * does not depend on them. */
#include "gpu/internal.cuh"

#include <cublas_v2.h>
#include <cusolverDn.h>
#include <dlfcn.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <new>
#include <stdio.h>

/* The functions that are used, by the names that their headers give them. */
#define BLAS_LIST(X)                                                                                         \
    X(cublasCreate_v2)                                                                                       \
    X(cublasDestroy_v2)                                                                                      \
    X(cublasSetStream_v2)                                                                                    \
    X(cublasGetProperty)                                                                                     \
    X(cublasSsyrk_v2)                                                                                        \
    X(cublasSgemm_v2)                                                                                        \
    X(cublasSgemv_v2)                                                                                        \
    X(cublasDgemm_v2)

#define SOLVER_LIST(X)                                                                                       \
    X(cusolverDnCreate)                                                                                      \
    X(cusolverDnDestroy)                                                                                     \
    X(cusolverDnSetStream)                                                                                   \
    X(cusolverGetProperty)                                                                                   \
    X(cusolverDnDsyevd_bufferSize)                                                                           \
    X(cusolverDnDsyevd)                                                                                      \
    X(cusolverDnCreateGesvdjInfo)                                                                            \
    X(cusolverDnDestroyGesvdjInfo)                                                                           \
    X(cusolverDnXgesvdjSetTolerance)                                                                         \
    X(cusolverDnSgesvdjBatched_bufferSize)                                                                   \
    X(cusolverDnSgesvdjBatched)                                                                              \
    X(cusolverDnCgesvdjBatched_bufferSize)                                                                   \
    X(cusolverDnCgesvdjBatched)                                                                              \
    X(cusolverDnSgesvdj_bufferSize)                                                                          \
    X(cusolverDnSgesvdj)                                                                                     \
    X(cusolverDnCgesvdj_bufferSize)                                                                          \
    X(cusolverDnCgesvdj)

struct HcVendor {
    HcGpu *gpu;
    cublasHandle_t blas;
    cusolverDnHandle_t solver;
    gesvdjInfo_t jacobi; /* how exact its rotations are */
    HcBuffer work;       /* of eigh and svd; grows */
#define MEMBER(name) decltype(&::name) name;
    BLAS_LIST(MEMBER)
    SOLVER_LIST(MEMBER)
#undef MEMBER
};

static HcStatus check_blas(cublasStatus_t result, const char *what, HcError *err) {
    return result == CUBLAS_STATUS_SUCCESS
               ? HC_OK
               : hc_fail(err, result == CUBLAS_STATUS_ALLOC_FAILED ? HC_E_MEMORY : HC_E_DEVICE,
                         "cuBLAS failed while %s (status %d)", what, (int)result);
}

static HcStatus check_solver(cusolverStatus_t result, const char *what, HcError *err) {
    return result == CUSOLVER_STATUS_SUCCESS
               ? HC_OK
               : hc_fail(err, result == CUSOLVER_STATUS_ALLOC_FAILED ? HC_E_MEMORY : HC_E_DEVICE,
                         "cuSOLVER failed while %s (status %d)", what, (int)result);
}

/* ---- loading ---- */

/* Libraries stay loaded: they have told the runtime of their kernels. */
static HcStatus load_library(const char *const *names, const char *title, void **out, HcError *err) {
    const char *const *name = names;
    for (; *name != NULL; name++) {
        if ((*out = dlopen(*name, RTLD_NOW | RTLD_LOCAL)) != NULL) {
            return HC_OK;
        }
    }
    return hc_fail(err, HC_E_UNSUPPORTED, "%s was not found: neither %s nor another version can be loaded",
                   title, names[0]);
}

static HcStatus load_functions(HcVendor *vendor, HcError *err) {
    static const char *const blas_names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so", NULL};
    static const char *const solver_names[] = {"libcusolver.so.12", "libcusolver.so.11", "libcusolver.so",
                                               NULL};
    void *blas = NULL;
    void *solver = NULL;
    HC_OR_RETURN(load_library(blas_names, "cuBLAS", &blas, err));
    HC_OR_RETURN(load_library(solver_names, "cuSOLVER", &solver, err));
#define LOAD(library, name)                                                                                  \
    if ((vendor->name = (decltype(&::name))dlsym(library, #name)) == NULL) {                                 \
        return hc_fail(err, HC_E_UNSUPPORTED, "the library that was found has no %s", #name);                \
    }
#define LOAD_BLAS(name)   LOAD(blas, name)
#define LOAD_SOLVER(name) LOAD(solver, name)
    BLAS_LIST(LOAD_BLAS)
    SOLVER_LIST(LOAD_SOLVER)
    return HC_OK;
}

static void name_versions(const HcVendor *vendor, char *name, size_t size) {
    int blas[3] = {0, 0, 0};
    int solver[3] = {0, 0, 0};
    static const libraryPropertyType parts[] = {MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL};
    for (int i = 0; i < 3; i++) {
        (void)vendor->cublasGetProperty(parts[i], &blas[i]);
        (void)vendor->cusolverGetProperty(parts[i], &solver[i]);
    }
    snprintf(name, size, "cuBLAS %d.%d.%d, cuSOLVER %d.%d.%d", blas[0], blas[1], blas[2], solver[0],
             solver[1], solver[2]);
}

static void close_vendor(HcVendor *vendor) {
    if (vendor == NULL) {
        return;
    }
    (void)cudaSetDevice(vendor->gpu->device);
    if (vendor->jacobi != NULL) {
        (void)vendor->cusolverDnDestroyGesvdjInfo(vendor->jacobi);
    }
    if (vendor->solver != NULL) {
        (void)vendor->cusolverDnDestroy(vendor->solver);
    }
    if (vendor->blas != NULL) {
        (void)vendor->cublasDestroy_v2(vendor->blas);
    }
    hc_gpu_release(&vendor->gpu->base, &vendor->work);
    delete vendor;
}

static HcStatus open_vendor(HcCompute *compute, HcVendor **out, char *name, size_t name_size, HcError *err) {
    HcStatus status = HC_OK;
    HcVendor *vendor = NULL;
    *out = NULL;
    if ((vendor = new (std::nothrow) HcVendor()) == NULL) {
        HC_TRY(hc_fail_memory(err, sizeof *vendor, "the vendor's libraries"));
    }
    vendor->gpu = (HcGpu *)compute;
    HC_TRY(load_functions(vendor, err));
    HC_TRY(hc_gpu_use(vendor->gpu, err));
    HC_TRY(check_blas(vendor->cublasCreate_v2(&vendor->blas), "starting", err));
    HC_TRY(check_solver(vendor->cusolverDnCreate(&vendor->solver), "starting", err));
    HC_TRY(check_solver(vendor->cusolverDnCreateGesvdjInfo(&vendor->jacobi), "starting", err));
    HC_TRY(check_solver(vendor->cusolverDnXgesvdjSetTolerance(vendor->jacobi, FLT_EPSILON), "starting", err));
    name_versions(vendor, name, name_size);
    *out = vendor;
done:
    if (status != HC_OK) {
        close_vendor(vendor);
    }
    return status;
}

/* ---- products; a matrix of rows is the transposed one to these libraries ---- */

static HcStatus prepare(HcVendor *vendor, HcQueue *queue, int64_t pixels, int32_t bands, HcError *err) {
    if (pixels < 1 || pixels > INT_MAX || bands < 1) {
        return hc_fail(err, HC_E_USAGE, "a product of %lld pixels of %d bands: 1 to %d pixels",
                       (long long)pixels, bands, INT_MAX);
    }
    HcStatus status = hc_gpu_use(vendor->gpu, err);
    return status != HC_OK
               ? status
               : check_blas(vendor->cublasSetStream_v2(vendor->blas, queue->stream), "choosing a queue", err);
}

static HcStatus syrk_float32(HcVendor *vendor, HcQueue *queue, const float *x, int64_t pixels, int32_t bands,
                             float *product, HcError *err) {
    const float one = 1;
    const float zero = 0;
    HcStatus status = prepare(vendor, queue, pixels, bands, err);
    return status != HC_OK
               ? status
               : check_blas(vendor->cublasSsyrk_v2(vendor->blas, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, bands,
                                                   (int)pixels, &one, x, bands, &zero, product, bands),
                            "multiplying", err);
}

static __global__ void widen(const float *from, int64_t count, double *to) {
    int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        to[i] = __ldg(from + i);
    }
}

/* Adds the chunks in float64, so that integers are exact only while the whole sum stays below 2^53: enough to
 * be measured against. */
static HcStatus gram_float64(HcVendor *vendor, HcQueue *queue, const float *x, int64_t pixels, int32_t bands,
                             int64_t chunk, double *scratch, double *product, HcError *err) {
    const double one = 1;
    HcStatus status = prepare(vendor, queue, pixels, bands, err);
    if (status != HC_OK) {
        return status;
    }
    if (chunk < 1) {
        return hc_fail(err, HC_E_USAGE, "a product in chunks of %lld pixels", (long long)chunk);
    }
    widen<<<8 * vendor->gpu->processors, 256, 0, queue->stream>>>(x, pixels * bands, scratch);
    if ((status = hc_gpu_launched("converting", err)) != HC_OK) {
        return status;
    }
    for (int64_t pixel = 0; pixel < pixels; pixel += chunk) {
        int count = (int)(pixels - pixel < chunk ? pixels - pixel : chunk);
        const double *from = scratch + pixel * bands;
        status =
            check_blas(vendor->cublasDgemm_v2(vendor->blas, CUBLAS_OP_N, CUBLAS_OP_T, bands, bands, count,
                                              &one, from, bands, from, bands, &one, product, bands),
                       "multiplying", err);
        if (status != HC_OK) {
            return status;
        }
    }
    return HC_OK;
}

static HcStatus gemm_float32(HcVendor *vendor, HcQueue *queue, const float *x, int64_t pixels, int32_t bands,
                             const float *matrix, int32_t components, float *y, HcError *err) {
    const float one = 1;
    const float zero = 0;
    HcStatus status = prepare(vendor, queue, pixels, bands, err);
    return status != HC_OK ? status
                           : check_blas(vendor->cublasSgemm_v2(vendor->blas, CUBLAS_OP_N, CUBLAS_OP_N,
                                                               components, (int)pixels, bands, &one, matrix,
                                                               components, x, bands, &zero, y, components),
                                        "multiplying", err);
}

/* A matrix of rows is the transposed one to cuBLAS. */
static HcStatus gemv(HcVendor *vendor, HcQueue *queue, const HcMatrix *matrix, bool transposed,
                     const float *x, float *y, HcError *err) {
    const float one = 1;
    const float zero = 0;
    int rows = (int)matrix->rows;
    int columns = (int)matrix->columns;
    HC_OR_RETURN(hc_gpu_use(vendor->gpu, err));
    HC_OR_RETURN(
        check_blas(vendor->cublasSetStream_v2(vendor->blas, queue->stream), "choosing a queue", err));
    return check_blas(vendor->cublasSgemv_v2(vendor->blas, transposed ? CUBLAS_OP_N : CUBLAS_OP_T, columns,
                                             rows, &one, matrix->data, columns, x, 1, &zero, y, 1),
                      "multiplying", err);
}

/* ---- fast proximal gradients ---- */

/* The vectors of fista; scratch is cut into them. */
struct Fista {
    int64_t rows, columns;
    const float *b;
    float scale, threshold;
    float *product; /* [rows] A y */
    float *weight;  /* [rows] b - A y */
    float *ahead;   /* [columns] y */
    float *slopes;  /* [columns] */
    float *before;  /* [columns] x of the step before */
    float *x;       /* [columns] */
};

static __global__ void weigh(Fista fista) {
    int64_t r = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (r < fista.rows) {
        fista.weight[r] = fista.b[r] - fista.product[r];
    }
}

static __global__ void advance(Fista fista, float momentum) {
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (j < fista.columns) {
        float value = fista.ahead[j] + fista.slopes[j] * fista.scale;
        float x = copysignf(fmaxf(fabsf(value) - fista.threshold, 0.0F), value);
        fista.ahead[j] = x + momentum * (x - fista.before[j]);
        fista.before[j] = fista.x[j] = x;
    }
}

static HcStatus fista(HcVendor *vendor, HcQueue *queue, const HcMatrix *matrix, const float *b, double lambda,
                      double square, int32_t iterations, float *scratch, float *x, HcError *err) {
    enum { THREADS = 256 };
    size_t columns = (size_t)matrix->columns;
    Fista on = {.rows = matrix->rows,
                .columns = matrix->columns,
                .b = b,
                .scale = (float)(1 / square),
                .threshold = (float)(lambda / square),
                .product = scratch,
                .weight = scratch + matrix->rows,
                .ahead = scratch + 2 * matrix->rows,
                .slopes = scratch + 2 * matrix->rows + columns,
                .before = scratch + 2 * matrix->rows + 2 * columns,
                .x = x};
    double time = 1;
    HC_OR_RETURN(hc_gpu_use(vendor->gpu, err));
    HC_OR_RETURN(hc_gpu_check(cudaMemsetAsync(on.ahead, 0, 3 * columns * sizeof(float), queue->stream),
                              "clearing memory", err));
    for (int32_t step = 0; step < iterations; step++) {
        double before = time;
        time = (1 + sqrt(1 + 4 * before * before)) / 2;
        HC_OR_RETURN(gemv(vendor, queue, matrix, false, on.ahead, on.product, err));
        weigh<<<(unsigned)hc_div_up(on.rows, THREADS), THREADS, 0, queue->stream>>>(on);
        HC_OR_RETURN(gemv(vendor, queue, matrix, true, on.weight, on.slopes, err));
        advance<<<(unsigned)hc_div_up(on.columns, THREADS), THREADS, 0, queue->stream>>>(
            on, (float)((before - 1) / time));
        HC_OR_RETURN(hc_gpu_launched("moving a vector", err));
    }
    return HC_OK;
}

/* ---- eigenvalues ---- */

static HcStatus grow(HcVendor *vendor, size_t bytes, HcError *err) {
    if (vendor->work.bytes >= bytes) {
        return HC_OK;
    }
    hc_gpu_release(&vendor->gpu->base, &vendor->work);
    return hc_gpu_alloc(&vendor->gpu->base, HC_MEMORY_DEVICE, bytes, &vendor->work, err);
}

/* Parts of the one piece of device memory. */
struct Eigh {
    double *matrix, *values, *work; /* the eigenvectors replace the matrix, one after another */
    int *info;
    int work_size; /* [doubles] */
};

static HcStatus eigh_memory(HcVendor *vendor, int32_t n, Eigh *out, HcError *err) {
    HC_OR_RETURN(check_solver(vendor->cusolverDnDsyevd_bufferSize(vendor->solver, CUSOLVER_EIG_MODE_VECTOR,
                                                                  CUBLAS_FILL_MODE_LOWER, n, NULL, n, NULL,
                                                                  &out->work_size),
                              "planning", err));
    {
        size_t square = (size_t)n * (size_t)n;
        size_t doubles = square + (size_t)n + (size_t)out->work_size + 1;
        HC_OR_RETURN(grow(vendor, doubles * sizeof(double), err));
        out->matrix = (double *)vendor->work.data;
        out->values = out->matrix + square;
        out->work = out->values + n;
        out->info = (int *)(out->work + out->work_size);
    }
    return HC_OK;
}

static HcStatus eigh(HcVendor *vendor, HcQueue *queue, int32_t n, const double *matrix, double *values,
                     double *vectors, HcError *err) {
    Eigh on = {};
    int info = 0;
    size_t column = (size_t)(n > 0 ? n : 0) * sizeof(double);
    size_t square = column * (size_t)(n > 0 ? n : 0);
    HC_OR_RETURN(hc_gpu_use(vendor->gpu, err));
    HC_OR_RETURN(
        check_solver(vendor->cusolverDnSetStream(vendor->solver, queue->stream), "choosing a queue", err));
    HC_OR_RETURN(eigh_memory(vendor, n, &on, err));
    HC_OR_RETURN(
        hc_gpu_check(cudaMemcpyAsync(on.matrix, matrix, square, cudaMemcpyHostToDevice, queue->stream),
                     "copying to the device", err));
    HC_OR_RETURN(check_solver(vendor->cusolverDnDsyevd(vendor->solver, CUSOLVER_EIG_MODE_VECTOR,
                                                       CUBLAS_FILL_MODE_LOWER, n, on.matrix, n, on.values,
                                                       on.work, on.work_size, on.info),
                              "finding eigenvalues", err));
    HC_OR_RETURN(
        hc_gpu_check(cudaMemcpyAsync(vectors, on.matrix, square, cudaMemcpyDeviceToHost, queue->stream),
                     "copying from the device", err));
    HC_OR_RETURN(
        hc_gpu_check(cudaMemcpyAsync(values, on.values, column, cudaMemcpyDeviceToHost, queue->stream),
                     "copying from the device", err));
    HC_OR_RETURN(
        hc_gpu_check(cudaMemcpyAsync(&info, on.info, sizeof info, cudaMemcpyDeviceToHost, queue->stream),
                     "copying from the device", err));
    HC_OR_RETURN(hc_gpu_check(cudaStreamSynchronize(queue->stream), "finding eigenvalues", err));
    if (info != 0) {
        return hc_fail(err, HC_E_NUMERIC, "cuSOLVER found no eigenvalues of a matrix of %d rows (info %d)", n,
                       info);
    }
    return HC_OK;
}

/* ---- singular value decompositions ---- */

enum { BATCHED_ROWS = 32 }; /* at which gesvdjBatched stops */

static const char *svd_name(HcElement element, int32_t n) {
    (void)element;
    return n <= BATCHED_ROWS ? "gesvdjBatched" : "gesvdj one by one";
}

/* The functions for an element. */
template <typename T> struct Routines;

template <> struct Routines<float> {
    static constexpr auto batched_size = &HcVendor::cusolverDnSgesvdjBatched_bufferSize;
    static constexpr auto batched = &HcVendor::cusolverDnSgesvdjBatched;
    static constexpr auto single_size = &HcVendor::cusolverDnSgesvdj_bufferSize;
    static constexpr auto single = &HcVendor::cusolverDnSgesvdj;
};

template <> struct Routines<cuComplex> {
    static constexpr auto batched_size = &HcVendor::cusolverDnCgesvdjBatched_bufferSize;
    static constexpr auto batched = &HcVendor::cusolverDnCgesvdjBatched;
    static constexpr auto single_size = &HcVendor::cusolverDnCgesvdj_bufferSize;
    static constexpr auto single = &HcVendor::cusolverDnCgesvdj;
};

/* A batch, and the parts of the one piece of device memory. */
template <typename T> struct Svd {
    int n, count;
    long long square; /* entries of a matrix */
    const T *given;   /* the batch's, like the next three */
    float *values;
    T *left, *right;
    T *matrices; /* a copy, which is overwritten */
    T *work;
    int work_size; /* [entries] */
    int *info;     /* of each matrix */
};

/* It refuses missing arrays, though it does not look into them. */
template <typename T> static cusolverStatus_t svd_work_size(HcVendor *vendor, Svd<T> *on) {
    const cusolverEigMode_t mode = CUSOLVER_EIG_MODE_VECTOR;
    int n = on->n;
    if (on->n <= BATCHED_ROWS) {
        return (vendor->*Routines<T>::batched_size)(vendor->solver, mode, n, n, on->given, n, on->values,
                                                    on->left, n, on->right, n, &on->work_size, vendor->jacobi,
                                                    on->count);
    }
    return (vendor->*Routines<T>::single_size)(vendor->solver, mode, 1, n, n, on->given, n, on->values,
                                               on->left, n, on->right, n, &on->work_size, vendor->jacobi);
}

template <typename T> static HcStatus svd_memory(HcVendor *vendor, Svd<T> *on, HcError *err) {
    HC_OR_RETURN(check_solver(svd_work_size(vendor, on), "planning", err));
    {
        size_t entries = (size_t)on->count * (size_t)on->square;
        size_t work = (size_t)on->work_size;
        HC_OR_RETURN(grow(vendor, (entries + work) * sizeof(T) + (size_t)on->count * sizeof(int), err));
        on->matrices = (T *)vendor->work.data;
        on->work = on->matrices + entries;
        on->info = (int *)(on->work + work);
    }
    return HC_OK;
}

template <typename T> static cusolverStatus_t svd_one_by_one(HcVendor *vendor, const Svd<T> *on) {
    cusolverStatus_t result = CUSOLVER_STATUS_SUCCESS;
    int n = on->n;
    for (int m = 0; m < on->count && result == CUSOLVER_STATUS_SUCCESS; m++) {
        long long at = m * on->square;
        result = (vendor->*Routines<T>::single)(vendor->solver, CUSOLVER_EIG_MODE_VECTOR, 1, n, n,
                                                on->matrices + at, n, on->values + (size_t)m * n,
                                                on->left + at, n, on->right + at, n, on->work, on->work_size,
                                                on->info + m, vendor->jacobi);
    }
    return result;
}

template <typename T> static cusolverStatus_t svd_call(HcVendor *vendor, const Svd<T> *on) {
    const cusolverEigMode_t mode = CUSOLVER_EIG_MODE_VECTOR;
    int n = on->n;
    if (on->n > BATCHED_ROWS) {
        return svd_one_by_one(vendor, on);
    }
    return (vendor->*Routines<T>::batched)(vendor->solver, mode, n, n, on->matrices, n, on->values, on->left,
                                           n, on->right, n, on->work, on->work_size, on->info, vendor->jacobi,
                                           on->count);
}

template <typename T>
static HcStatus decompose(HcVendor *vendor, HcQueue *queue, int32_t n, const HcSvdBatch *batch,
                          HcError *err) {
    Svd<T> on = {};
    on.n = n;
    on.count = (int)batch->count;
    on.square = (long long)n * n;
    on.given = (const T *)batch->matrices;
    on.values = (float *)batch->values;
    on.left = (T *)batch->left;
    on.right = (T *)batch->right;
    HC_OR_RETURN(svd_memory(vendor, &on, err));
    HC_OR_RETURN(hc_gpu_check(cudaMemcpyAsync(on.matrices, batch->matrices,
                                              (size_t)batch->count * (size_t)on.square * sizeof(T),
                                              cudaMemcpyDeviceToDevice, queue->stream),
                              "copying on the device", err));
    return check_solver(svd_call(vendor, &on), "finding singular values", err);
}

static HcStatus svd(HcVendor *vendor, HcQueue *queue, HcElement element, int32_t n, const HcSvdBatch *batch,
                    HcError *err) {
    if (batch->count < 1 || batch->count > INT_MAX) {
        return hc_fail(err, HC_E_USAGE, "%lld decompositions in one call", (long long)batch->count);
    }
    HC_OR_RETURN(hc_gpu_use(vendor->gpu, err));
    HC_OR_RETURN(
        check_solver(vendor->cusolverDnSetStream(vendor->solver, queue->stream), "choosing a queue", err));
    return element == HC_ELEMENT_COMPLEX_FLOAT32 ? decompose<cuComplex>(vendor, queue, n, batch, err)
                                                 : decompose<float>(vendor, queue, n, batch, err);
}

const HcVendorOps *hc_gpu_vendor(void) {
    static const HcVendorOps operations = {.open = open_vendor,
                                           .close = close_vendor,
                                           .syrk_float32 = syrk_float32,
                                           .gram_float64 = gram_float64,
                                           .gemm_float32 = gemm_float32,
                                           .eigh = eigh,
                                           .eigh_jacobi = NULL,
                                           .svd_name = svd_name,
                                           .svd = svd,
                                           .gemv = gemv,
                                           .fista = fista};
    return &operations;
}
