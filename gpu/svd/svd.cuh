/* What the files of the GPU's singular value decompositions share. A matrix B of m rows and n <= m columns is
 * decomposed: that of the batch, or its conjugate transpose where it has more columns than rows. */
#ifndef HC_GPU_SVD_SVD_CUH
#define HC_GPU_SVD_SVD_CUH

#include "core/operation/svd/svd.h"
#include "gpu/internal.cuh"

HcSvdOpenFn hc_gpu_svd_open;
HcSvdCloseFn hc_gpu_svd_close;
HcSvdBatchedFn hc_gpu_svd_batched;

/* Vectors: entry i of vector k of a matrix lies at data + matrix * matrices + vector * k + i [elements]. */
template <typename T> struct HcSvdVectors {
    T *data; /* NULL = not wanted; complex ones have two numbers an element */
    int64_t matrix, vector;
};

/* What was done to the columns of small matrices (of HC_SVD_SIDE columns), so that it can be done to longer
 * ones. */
struct HcSvdRecord {
    void *turns;      /* HcTurn [matrices][sweeps_most][SIDE rounds][SIDE / 2], NULL = not wanted */
    uint8_t *changes; /* [matrices][sweeps_most][SIDE rounds], where 0, columns only changed places */
    int32_t *places;  /* [matrices][SIDE] where each column belongs in descending order */
};

/* Small matrices that are decomposed by one launch. */
template <typename T> struct HcSvdJob {
    const T *source; /* element (i, k) of a matrix at matrix * source_matrix + i * source_row + k *
                        source_column */
    int64_t source_matrix, source_row, source_column; /* [elements] */
    bool conjugate;
    bool scaled; /* they are as large as they should be */
    int64_t count;
    int32_t rows, columns;
    const int32_t *exponent; /* [count] values are multiplied by two to its power; NULL = 0 */
    T *values;               /* [count][columns], NULL = not wanted */
    HcSvdVectors<T> u, v;    /* [columns] vectors of `rows` and of `columns` entries */
    HcSvdRecord record;
    int32_t *sweeps;     /* [count], NULL = not wanted */
    uint8_t *end;        /* [count] HcSvdEnd, NULL = not wanted */
    const int32_t *done; /* [count / shared_by] where not 0, nothing is done; NULL = all is */
    int32_t shared_by;
    int32_t sweeps_most;
    T tolerance; /* cosine of columns that count as orthogonal */
};

template <typename T> struct HcSvdLimits;
template <> struct HcSvdLimits<float> {
    __host__ __device__ static float largest() {
        return 3.402823466e+38F;
    }
};
template <> struct HcSvdLimits<double> {
    __host__ __device__ static double largest() {
        return 1.7976931348623157e308;
    }
};

/* How a shape is decomposed. */
enum HcSvdWay {
    HC_SVD_SMALL, /* B in registers */
    HC_SVD_LONG,  /* more rows than that: QR first, then R in registers */
    HC_SVD_BLOCKS /* more than HC_SVD_SIDE columns: blocks of them meet */
};

enum {
    HC_SVD_SIDE = 64,                /* of matrices in registers, at most */
    HC_SVD_BLOCK = 32,               /* columns of a block */
    HC_SVD_PANEL = 2 * HC_SVD_BLOCK, /* of two that meet */
    HC_SVD_MEETING_SWEEPS = 2        /* over these columns, each time: more do not save meetings */
};

/* What the decomposition of HcSvd.most matrices works in, cut from HcSvd.memory. */
struct HcSvdScratch {
    void *w, *v, *r, *tau, *panel, *norms;
    HcSvdRecord record;
    int32_t *exponent, *done, *turned, *sweeps, *finite, *job_sweeps;
    size_t bytes;
};

struct HcSvd {
    HcSvdHead head;
    HcGpu *gpu;
    HcElement element;
    int32_t rows, columns; /* of the matrices */
    bool wide;             /* B is the conjugate transpose of a matrix */
    int32_t m, n;          /* of B */
    int32_t stored;        /* columns of B with those that fill the last pair of blocks */
    bool vectors;
    HcSvdWay way;
    int64_t most; /* matrices that the memory below is for */
    HcBuffer memory;
    HcSvdScratch scratch;
};

/* Decomposes a batch; one for each element (float32.cu, ...). */
typedef HcStatus HcSvdRun(HcQueue *queue, const HcSvd *svd, const HcSvdBatch *batch, HcError *err);
HcSvdRun hc_svd_float32, hc_svd_float64, hc_svd_complex_float32, hc_svd_complex_float64;

#ifdef __CUDACC__
template <typename T>
__device__ static inline void hc_report_end(const HcSvdJob<T> &job, int64_t matrix, int sweeps,
                                            bool converged, bool finite) {
    if (job.sweeps != NULL) {
        job.sweeps[matrix] = sweeps;
    }
    if (job.end != NULL) {
        job.end[matrix] = (uint8_t)(!finite     ? HC_SVD_NOT_FINITE
                                    : converged ? HC_SVD_CONVERGED
                                                : HC_SVD_UNFINISHED);
    }
}
#endif

#endif
