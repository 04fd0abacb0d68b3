/* Eigenvalues and eigenvectors of a symmetric matrix: tridiagonal form (reduce.c), divide and conquer
 * (merge.c), and back to the matrix (as dormtr does). All steps are cut into pieces by n alone, each computed
 * by one thread, so that the bits are the same for every number of threads. Small eigenvalues of positive
 * definite matrices are then found again (small.c). */
#include "cpu/eigh/eigh.h"
#include "core/allocate.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Reflectors that are applied at once. */
enum { REFLECTORS = 16 };

/* The power of two that brings a matrix that is far from it to about unit size, so that squares neither
 * overflow nor, for what counts, vanish: mostly 0. HC_E_NUMERIC where an entry is not finite. */
static HcStatus find_scale(int32_t n, const double *matrix, int *exponent, HcError *err) {
    size_t rows = (size_t)n;
    uint64_t largest = 0; /* magnitudes are ordered as their bits are, infinity and NaN last */
    for (size_t k = 0; k < rows * rows; k++) {
        uint64_t bits;
        memcpy(&bits, matrix + k, sizeof bits);
        bits &= UINT64_MAX >> 1;
        largest = bits > largest ? bits : largest;
    }
    double value;
    memcpy(&value, &largest, sizeof value);
    *exponent = 0;
    if (isfinite(value)) {
        if (value > 0 && (value > 0x1p50 || value < 0x1p-50)) {
            (void)frexp(value, exponent);
        }
        return HC_OK;
    }
    size_t k = 0;
    while (isfinite(matrix[k])) {
        k++;
    }
    return hc_fail(err, HC_E_NUMERIC, "the matrix holds %g in row %zu, column %zu: no eigenvalues", matrix[k],
                   k / rows, k % rows);
}

typedef struct Work {
    size_t n;
    int32_t reducing; /* threads of the reduction */
    double *memory;
    double *images;  /* [n][REFLECTORS] */
    double *vectors; /* [n][n] in the end, one after the other: the wanted ones */
    HcShare gathering, going_back;
    HcReduction reduction;
    HcTridiagonal tridiagonal;
} Work;

static void close_work(Work *work) {
    hc_cpu_reduction_close(&work->reduction);
    hc_cpu_tridiagonal_close(&work->tridiagonal);
    free(work->memory);
    free(work->tridiagonal.order);
}

static HcStatus open_work(int32_t rows, Work *work, HcError *err) {
    HcTridiagonal *t = &work->tridiagonal;
    HcReduction *r = &work->reduction;
    size_t n = (size_t)rows;
    size_t stride = hc_cpu_reduction_stride(rows);
    size_t size = n * (stride + 3 * n + 3 + REFLECTORS);
    *work = (Work){.n = n, .tridiagonal.n = rows, .reduction = {.n = rows, .stride = stride}};
    if (n * stride > INT32_MAX) { /* LAPACK counts so far */
        return hc_fail_memory(err, (double)size * sizeof(double), "eigenvectors");
    }
    HC_OR_RETURN(hc_new_aligned(work->memory, size, "eigenvectors", err));
    HC_OR_RETURN(hc_new(t->order, n, "eigenvectors", err));
    r->matrix = work->memory;
    t->vectors = r->matrix + n * stride;
    t->scratch = t->vectors + n * n;
    t->second = t->scratch + n * n;
    t->diagonal = r->diagonal = t->second + n * n;
    t->beside = r->beside = t->diagonal + n;
    r->factors = t->diagonal + 2 * n;
    work->images = t->diagonal + 3 * n;
    return hc_cpu_reduction_open(r, err);
}

/* Puts the lower half of the matrix where it is reduced. */
static void fill(Work *work, const double *matrix, int exponent) {
    const HcReduction *r = &work->reduction;
    double half = ldexp(1, -exponent / 2); /* twice, since the whole may not be a number */
    double rest = ldexp(1, -exponent - -exponent / 2);
    for (size_t c = 0; c < work->n; c++) {
        double *column = r->matrix + c * r->stride;
        for (size_t row = c; row < work->n; row++) {
            column[row] = matrix[c * work->n + row] * half * rest;
        }
        memset(column, 0, c * sizeof *column);
        memset(column + work->n, 0, (r->stride - work->n) * sizeof *column);
    }
    hc_cpu_reduction_begin(&work->reduction);
}

/* Scales the tridiagonal matrix to about unit size by a power of two, which is returned. */
static int scale_tridiagonal(HcTridiagonal *t) {
    double largest = 0;
    int exponent = 0;
    t->beside[t->n - 1] = 0;
    for (int32_t k = 0; k < t->n; k++) {
        largest = fmax(largest, fmax(fabs(t->diagonal[k]), fabs(t->beside[k])));
    }
    (void)frexp(largest, &exponent);
    for (int32_t k = 0; k < t->n; k++) {
        t->diagonal[k] = ldexp(t->diagonal[k], -exponent);
        t->beside[k] = ldexp(t->beside[k], -exponent);
    }
    return exponent;
}

/* The product of the reflectors from `first` on, I - V T V', as V (in `second`) and V T (in `scratch`). */
static void gather_reflectors(void *works, int32_t piece) {
    const Work *work = works;
    const HcReduction *r = &work->reduction;
    size_t first = (size_t)piece * REFLECTORS;
    size_t n = work->n;
    size_t rows = n - 1 - first;
    size_t count = rows < REFLECTORS ? rows : REFLECTORS;
    double *v = work->tridiagonal.second + first * n;
    double *vt = work->tridiagonal.scratch + first * n;
    double t[REFLECTORS * REFLECTORS];
    for (size_t k = 0; k < count; k++) {
        memset(v + k * n, 0, k * sizeof *v);
        v[k * n + k] = 1;
        memcpy(v + k * n + k + 1, r->matrix + (first + k) * r->stride + first + k + 2,
               (rows - k - 1) * sizeof *v);
    }
    LAPACKE_dlarft_work(LAPACK_COL_MAJOR, 'F', 'C', (lapack_int)rows, (lapack_int)count, v, (lapack_int)n,
                        r->factors + first, t, REFLECTORS);
    for (size_t k = 0; k < count; k++) {
        memcpy(vt + k * n, v + k * n, rows * sizeof *vt);
    }
    cblas_dtrmm(CblasColMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, (int)rows, (int)count, 1,
                t, REFLECTORS, vt, (int)n);
}

/* Vectors that a thread takes back at a time: often the first few alone are wanted. */
static int32_t width_back(int32_t n) {
    return hc_cpu_eigh_width(n) / 2;
}

/* Some eigenvectors of the matrix, in descending order. */
static void vectors_back(void *works, int32_t piece) {
    const Work *work = works;
    const HcTridiagonal *t = &work->tridiagonal;
    size_t n = work->n;
    size_t width = (size_t)width_back(t->n);
    size_t begin = (size_t)piece * width;
    size_t end = begin + width < n ? begin + width : n;
    double *out = work->vectors + begin * n;
    double *image = work->images + begin * REFLECTORS;
    int columns = (int)(end - begin);
    for (size_t k = begin; k < end; k++) {
        memcpy(work->vectors + k * n, t->vectors + (size_t)(t->order[n - 1 - k] - 1) * n, n * sizeof *out);
    }
    for (size_t next = (n + REFLECTORS - 2) / REFLECTORS * REFLECTORS; next > 0; next -= REFLECTORS) {
        size_t first = next - REFLECTORS;
        int rows = (int)(n - 1 - first);
        int count = rows < REFLECTORS ? rows : REFLECTORS;
        cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, count, columns, rows, 1, t->second + first * n,
                    (int)n, out + first + 1, (int)n, 0, image, REFLECTORS);
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, rows, columns, count, -1,
                    t->scratch + first * n, (int)n, image, REFLECTORS, 1, out + first + 1, (int)n);
    }
    for (size_t k = begin; k < end; k++) {
        hc_sign_rule(work->vectors + k * n, (int32_t)n);
    }
}

/* A step of the reduction takes microseconds: of smaller matrices threads would wait for one another. */
enum { SHARED_REDUCTION = 400, ROWS_OF_A_THREAD = 128 };

static int32_t reducing_threads(int32_t n, int32_t threads) {
    int32_t worth = n < SHARED_REDUCTION ? 1 : n / ROWS_OF_A_THREAD;
    return worth < threads ? worth : threads;
}

static void reduce(void *works) {
    Work *work = works;
    hc_cpu_reduction_solve(&work->reduction, work->reducing);
}

/* From the tridiagonal matrix to the vectors. */
static void solve(void *works) {
    Work *work = works;
    int32_t n = work->tridiagonal.n;
    int32_t width = width_back(n);
    hc_cpu_tridiagonal_solve(&work->tridiagonal);
    int32_t made = hc_cpu_tridiagonal_made(&work->tridiagonal);
    int32_t gathered = made > 0 ? (n - 1 + REFLECTORS - 1) / REFLECTORS : 0;
    hc_cpu_share(&work->gathering, gathered, gather_reflectors, work);
    hc_cpu_share(&work->going_back, (made + width - 1) / width, vectors_back, work);
}

HcStatus hc_cpu_eigh_plain(const HcCpu *cpu, int32_t n, int32_t count, const double *matrix, double *values,
                           double *vectors, HcError *err) {
    HcStatus status = HC_OK;
    Work work = {0};
    HcTridiagonal *t = &work.tridiagonal;
    int exponent = 0;
    HC_TRY(find_scale(n, matrix, &exponent, err));
    HC_TRY(open_work(n, &work, err));
    work.vectors = vectors;
    t->wanted = exponent == 0 ? count : n; /* else what is small might change with the scale */
    int threads = hc_cpu_eigh_threads(n, cpu->threads);
    work.reducing = reducing_threads(n, threads);
    fill(&work, matrix, exponent);
    hc_cpu_team(cpu, work.reducing, reduce, &work);
    exponent += scale_tridiagonal(t);
    HC_TRY(hc_cpu_tridiagonal_open(t, err));
    hc_cpu_team(cpu, threads, solve, &work);
    if (t->failed != 0) {
        HC_TRY(
            hc_fail(err, HC_E_NUMERIC, "no eigenvalues of a matrix of %d rows (LAPACK: %d)", n, t->failed));
    }
    for (size_t k = 0; k < work.n; k++) {
        values[k] = ldexp(t->diagonal[t->order[work.n - 1 - k] - 1], exponent);
    }
done:
    close_work(&work);
    return status;
}

HcStatus hc_cpu_eigh(HcCompute *compute, int32_t n, int32_t count, const double *matrix, double *values,
                     double *vectors, HcError *err) {
    const HcCpu *cpu = (const HcCpu *)compute;
    hc_cpu_blas_alone();
    HC_OR_RETURN(hc_cpu_eigh_plain(cpu, n, count, matrix, values, vectors, err));
    return hc_cpu_eigh_small(cpu, n, matrix, values, vectors, err);
}
