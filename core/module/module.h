/* The GPU module: what the program finds in libhcube_gpu.so, which it loads when it runs
 * (core/module/load.h). */
#ifndef HC_CORE_MODULE_H
#define HC_CORE_MODULE_H

#include "core/system/addresses.h"
#include "core/module/load.h"
#include "core/operation/l1/gemv.h"
#include "core/operation/svd/svd.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HC_MODULE_SYMBOL "hc_gpu_module"

/* A device as `hcube devices` lists it. */
typedef struct HcDevice {
    char name[128];
    int32_t major, minor;  /* compute capability */
    uint64_t memory_total; /* [bytes] */
} HcDevice;

/* The same work by the vendor's libraries, for `hcube bench` alone.
 * Arrays lie in the memory of the backend, in its layout, and matrices are square and full. */
typedef struct HcVendor HcVendor;

typedef struct HcVendorOps {
    /* Loads the libraries; says which in `name`. Fails with HC_E_UNSUPPORTED where they are not there. */
    HcStatus (*open)(HcCompute *compute, HcVendor **out, char *name, size_t name_size, HcError *err);
    void (*close)(HcVendor *vendor);
    /* product[bands][bands] = x' x of x[pixels][bands] [device], one triangle; inexact. */
    HcStatus (*syrk_float32)(HcVendor *vendor, HcQueue *queue, const float *x, int64_t pixels, int32_t bands,
                             float *product, HcError *err);
    /* product[bands][bands] += x' x, summed in float64 in chunks of `chunk` pixels (exact for integers while
     * a chunk stays below 2^53). scratch[pixels][bands] [device] takes x in float64; its conversion counts.
     */
    HcStatus (*gram_float64)(HcVendor *vendor, HcQueue *queue, const float *x, int64_t pixels, int32_t bands,
                             int64_t chunk, double *scratch, double *product, HcError *err);
    /* y[pixels][components] = x[pixels][bands] matrix[bands][components], in float32. */
    HcStatus (*gemm_float32)(HcVendor *vendor, HcQueue *queue, const float *x, int64_t pixels, int32_t bands,
                             const float *matrix, int32_t components, float *y, HcError *err);
    /* As eigh of the contract, without its order and signs: values ascending; matrix, values and vectors on
     * the host. */
    HcStatus (*eigh)(HcVendor *vendor, HcQueue *queue, int32_t n, const double *matrix, double *values,
                     double *vectors, HcError *err);
    /* The same for a positive definite matrix by one-sided Jacobi rotations of its Cholesky factor, which
     * keep the relative accuracy of small values; values descending. NULL = the vendor has none. */
    HcStatus (*eigh_jacobi)(HcVendor *vendor, HcQueue *queue, int32_t n, const double *matrix, double *values,
                            double *vectors, HcError *err);
    /* The routine that decomposes n x n matrices, float32 or complex float32. */
    const char *(*svd_name)(HcElement element, int32_t n);
    /* As svd_batched of the contract, of n x n matrices that are taken as stored by columns, with left and
     * right. The libraries overwrite matrices: a copy is made for them, and counts. */
    HcStatus (*svd)(HcVendor *vendor, HcQueue *queue, HcElement element, int32_t n, const HcSvdBatch *batch,
                    HcError *err);
    /* As gemv of the contract, or gemv_t. */
    HcStatus (*gemv)(HcVendor *vendor, HcQueue *queue, const HcMatrix *matrix, bool transposed,
                     const float *x, float *y, HcError *err);
    /* `iterations` plain steps of fast proximal gradients (Beck and Teboulle 2009) from x = 0, with `square`
     * at least the largest eigenvalue of A'A: two products a step, then the work on vectors, in float32.
     * b [device] [rows], x [device] [columns]; scratch [device] [2 rows + 3 columns]. NULL = not there. */
    HcStatus (*fista)(HcVendor *vendor, HcQueue *queue, const HcMatrix *matrix, const float *b, double lambda,
                      double square, int32_t iterations, float *scratch, float *x, HcError *err);
} HcVendorOps;

typedef struct HcModule {
    HcModuleHead head; /* abi: HC_COMPUTE_ABI */
    const HcComputeOps *ops;
    const HcVendorOps *vendor;
    /* Fills at most `capacity` devices; *count is how many there are (0 is not an error). Fails with
     * HC_E_DEVICE and the reason when the driver is missing or too old. */
    HcStatus (*devices)(HcDevice *out, int32_t capacity, int32_t *count, HcError *err);
    /* The same devices without starting them, as hc_addresses_read: -1 = only `devices` knows. May be
     * called before any other, which then sees what CUDA_VISIBLE_DEVICES says at that time. */
    int32_t (*addresses)(HcAddress *out, int32_t capacity);
} HcModule;

/* Whether there is a file that is taken for the module, or may be: false only where none is for sure. */
bool hc_module_exists(void);

/* Loads the module, once a process. HCUBE_GPU_MODULE names another file (hc_module_find). Fails with
 * HC_E_DEVICE and the reason; with HC_E_MEMORY or HC_E_IO where that says nothing of the module. */
HcStatus hc_module_load(const HcModule **out, HcError *err) HC_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
