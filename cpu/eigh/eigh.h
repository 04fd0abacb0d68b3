/* What the files of the eigenvalues share. Matrices are column-major, as LAPACK has them. */
#ifndef HC_CPU_EIGH_EIGH_H
#define HC_CPU_EIGH_EIGH_H

#include "core/operation/eigh/eigh.h"
#include "cpu/work.h"

HcEighFn hc_cpu_eigh;

/* As the operation eigh, with eigenvalues that are right relative to the largest one; where some are small,
 * all vectors are there. BLAS must be kept to one thread by the caller. `vectors` may be the matrix itself.
 */
HcStatus hc_cpu_eigh_plain(const HcCpu *cpu, int32_t n, int32_t count, const double *matrix, double *values,
                           double *vectors, HcError *err);

/* Fraction of the largest eigenvalue below which eigenvalues are small. */
#define HC_EIGH_SMALL 0x1p-24

/* Where the matrix is positive definite, makes small eigenvalues of what hc_cpu_eigh_plain found right
 * relative to themselves, and their eigenvectors with them. */
HcStatus hc_cpu_eigh_small(const HcCpu *cpu, int32_t n, const double *matrix, double *values, double *vectors,
                           HcError *err);

/* A step of work that the threads of a team share, zero at first. A thread that the system has put aside
 * delays the others only while it holds a piece: they go on once the pieces are done, not once all threads
 * are here. */
typedef struct HcShare {
    int32_t next, done;
    char apart[56]; /* a line of the cache for each */
} HcShare;

/* Calls `steps` once for each thread of a team of `threads` at most; on as many threads as are free, the
 * first call may do the work of all. */
void hc_cpu_team(const HcCpu *cpu, int threads, void (*steps)(void *what), void *what);

/* Computes pieces 0 to pieces - 1, each on one thread, and returns when all are done. Every thread of the
 * team calls it in the same order of steps. */
void hc_cpu_share(HcShare *share, int32_t pieces, void (*compute)(void *what, int32_t piece), void *what);

/* Waits until *done is at least `count`. */
void hc_cpu_wait(const int32_t *done, int32_t count);

/* A symmetric matrix of about unit size that becomes tridiagonal by reflectors I - t v v'. */
typedef struct HcReduction {
    int32_t n;
    size_t stride;    /* of the columns: hc_cpu_reduction_stride(n) */
    double *matrix;   /* [n][stride] aligned to 64 bytes, the lower half and rows of 0 from n on. In the end
                         column k holds the v of reflector k from row k + 1 on, the first of them about 1 */
    double *factors;  /* [n - 1] t */
    double *diagonal; /* [n] of the tridiagonal matrix */
    double *beside;   /* [n - 1] */
    struct HcReducing *work;
} HcReduction;

size_t hc_cpu_reduction_stride(int32_t n);

/* Makes what is needed beside the arrays, all of which the caller owns. */
HcStatus hc_cpu_reduction_open(HcReduction *r, HcError *err);
void hc_cpu_reduction_close(HcReduction *r);

/* Begins with the matrix. */
void hc_cpu_reduction_begin(HcReduction *r);

/* To be called by all threads of a team of `threads`, which share the work. */
void hc_cpu_reduction_solve(HcReduction *r, int32_t threads);

/* Eigenvalues and eigenvectors of a symmetric tridiagonal matrix of at most about unit size. */
typedef struct HcTridiagonal {
    int32_t n;
    int32_t wanted;   /* vectors of the largest eigenvalues; all are made where some eigenvalue is small */
    double *diagonal; /* [n] becomes the eigenvalues */
    double *beside;   /* [n] the n - 1 entries beside the diagonal; overwritten */
    double *vectors;  /* [n][n] of the eigenvalues, in the same order; those not wanted hold anything */
    int32_t *order;   /* [n] from 1: diagonal[order[k] - 1] ascends */
    double *scratch;  /* [n][n] */
    double *second;   /* [n][n] */
    struct HcMerging *merging;
    int failed; /* what LAPACK said of the first step that failed, 0 = none did */
} HcTridiagonal;

/* Begins with a matrix; makes what is needed beside the arrays, all of which the caller owns. */
HcStatus hc_cpu_tridiagonal_open(HcTridiagonal *t, HcError *err);
void hc_cpu_tridiagonal_close(HcTridiagonal *t);

/* To be called by all threads of a team, which share the work. */
void hc_cpu_tridiagonal_solve(HcTridiagonal *t);

/* Vectors that are made; known once all eigenvalues are. */
int32_t hc_cpu_tridiagonal_made(const HcTridiagonal *t);

/* The sum of eight lanes. */
static inline double hc_cpu_eigh_added(const double *s) {
    return ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]));
}

/* Columns (or rows) of an n x n matrix that one thread works on at a time: depends on n alone. There are at
 * most HC_EIGH_PARTS such pieces, so that more threads would be of little use. */
enum { HC_EIGH_PARTS = 8 };
static inline int32_t hc_cpu_eigh_width(int32_t n) {
    int32_t width = ((n + HC_EIGH_PARTS - 1) / HC_EIGH_PARTS + 7) / 8 * 8;
    return width < 32 ? 32 : width;
}

/* Threads worth waking for an n x n matrix, of those there are. */
static inline int hc_cpu_eigh_threads(int32_t n, int threads) {
    return n < 80 ? 1 : threads < HC_EIGH_PARTS ? threads : HC_EIGH_PARTS;
}

#endif
