/* The compute contract: every arithmetic operation on blocks, as one table that each backend fills (cpu/,
 * gpu/, and the strict one of the tests).
 *
 * Work is queued. An operation returns once its work is accepted; a failure of the device may show only at
 * the next wait() of that queue. Arguments that are structs are copied before the call returns; the memory
 * that they point to must stay until wait(). Pointers marked [device] lie in HC_MEMORY_DEVICE of this
 * backend, all others on the host. Outputs never overlap inputs. Rows are matched by their line of the scene,
 * so that an output may have a smaller halo than its input; every row of the output is written (data and
 * mask), masked pixels as 0.
 *
 * Operations check their arguments (shapes, NULL) in every build and return HC_E_USAGE through `err`. */
#ifndef HC_CORE_COMPUTE_H
#define HC_CORE_COMPUTE_H

#include "core/block.h"
#include "core/moments.h"
#include "core/solver/program.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HC_COMPUTE_ABI 8

/* Largest magnitude of an integer whose sums of products can be exact. */
#define HC_SUMS_LIMIT ((int64_t)1 << 20)

typedef struct HcComputeOps HcComputeOps;
typedef struct HcQueue HcQueue; /* work in order; opaque */
typedef struct HcSums HcSums;   /* growing moments in device memory; opaque */

/* An open backend. Backends put this first in their own struct. */
typedef struct HcCompute {
    const HcComputeOps *ops;
} HcCompute;

typedef struct HcComputeConfig {
    int32_t threads; /* 0 = as many as there are processors */
    int32_t device;  /* number of the device, from 0 */
    uint64_t memory; /* most device memory to use [bytes], 0 = what is free */
    /* The backend of the host, whose operations on host memory (eigh) a device backend hands on, so that
     * their bits are the same on both. Devices need it, the host does not. */
    const HcComputeOps *host;
} HcComputeConfig;

/* What a device can do at most, from its data sheet or its attributes; 0 = not known. A multiplication and an
 * addition are two operations. */
typedef struct HcRates {
    double memory;  /* device memory [bytes/s], reads and writes together */
    double float32; /* [operations/s] */
    double float64;
    double int8; /* matrix products of 8-bit integers */
} HcRates;

typedef struct HcComputeInfo {
    char name[128];  /* "Intel Xeon ..., 2 threads" */
    char driver[64]; /* "CUDA 13.0, driver 13.0"; empty where there is none */
    int32_t threads;
    bool shared_memory;    /* device memory is host memory: nothing needs to be copied */
    int32_t slots;         /* blocks worth having in flight at once, each with its own queue */
    size_t block_bytes;    /* of a float32 block worth its overhead */
    uint64_t memory_total; /* of the device [bytes], 0 = not known */
    uint64_t memory_free;
    uint64_t reserve;  /* device memory that the backend may still take for itself, beside buffers [bytes] */
    int32_t clock_mhz; /* highest clock of the device, 0 = not known */
    HcRates rates;
} HcComputeInfo;

/* How raw bytes become a block. */
typedef struct HcDecode {
    const int32_t *band_index; /* [device] [bands of the block], which stored band each comes from */
    bool has_nodata;
    double nodata;
    /* A pixel is left out when any of its bands holds nodata, or only when all do; NaN and infinity in any
     * band always leave it out. */
    bool nodata_needs_all_bands;
    /* Bands that hold nodata, NaN or infinity become NaN and only pixels without any other band are left out
     * (as HC_MASK_NODATA where one of them holds nodata), for operations that take NaN as a missing value.
     * The rules above do not count then. */
    bool keep_missing;
    int64_t
        *counts; /* [device] [HC_MASK_REASONS], grows by the interior pixels left out; NULL = not counted */
} HcDecode;

/* Why a pixel is masked; the first reason in this order counts. */
typedef enum HcMaskReason { HC_MASK_USER, HC_MASK_NODATA, HC_MASK_NAN, HC_MASK_REASONS } HcMaskReason;

typedef enum HcFilter { HC_FILTER_MEAN3X3, HC_FILTER_MEDIAN3X3 } HcFilter;

/* What a pixel y becomes, by itself or with each target t: y'y and so on are sums over the bands. */
typedef enum HcReduction {
    HC_REDUCE_SQUARES,   /* y'y; one band, no targets */
    HC_REDUCE_MATCH,     /* y't / t't: 1 where y = t, 0 where t is 0 throughout */
    HC_REDUCE_COHERENCE, /* y't |y't| / (y'y t't): the squared cosine of the angle with the sign of the
                          * cosine, -1 to 1; 0 where y or t is 0 throughout */
    HC_REDUCE_ANGLE      /* the angle between y and t, 0 to pi [radians]; pi / 2 where one is 0 throughout */
} HcReduction;

/* A rectangle of the scene [pixels]. */
typedef struct HcWindow {
    int64_t sample0, line0, samples, lines;
} HcWindow;

/* How spectra are compared. */
typedef enum HcMetric {
    HC_METRIC_EUCLIDEAN, /* sum of (x - t)^2 */
    HC_METRIC_ANGLE      /* minus the cosine, - sum of x t / (|x| |t|); 0 where a spectrum is 0 throughout */
} HcMetric;

/* Training spectra in device memory; opaque. */
typedef struct HcTraining HcTraining;

#define HC_KNN_MAX 128 /* neighbours of a pixel */

typedef enum HcVote { HC_VOTE_MAJORITY, HC_VOTE_DISTANCE } HcVote;

/* What neighbours become. Distances below are those that users know: Euclidean, or an angle [radians]. */
typedef struct HcVoteRule {
    HcVote vote; /* MAJORITY: most votes, ties to the smaller sum of distances, then to the lower class;
                  * DISTANCE: largest sum of 1 / distance (where some are 0, of those only, by their count),
                  * ties to the lower class. Sums are formed in float64, nearest first */
    HcMetric metric;
    int32_t k;
    int32_t classes; /* labels are 1 .. classes */
    double reject;   /* a pixel whose nearest neighbour is farther is of class 0; INFINITY = none is */
    /* Which bands follow the first, the class, in this order. */
    bool confidence; /* the winner's share of the votes, or of the weights; 0 for class 0 */
    bool nearest;    /* distance to the nearest neighbour */
    bool neighbours; /* k bands: numbers of the neighbours, from 0, nearest first */
} HcVoteRule;

/* What a matrix is made of. */
typedef enum HcElement {
    HC_ELEMENT_FLOAT32,
    HC_ELEMENT_FLOAT64,
    HC_ELEMENT_COMPLEX_FLOAT32, /* two float32: real part, imaginary part */
    HC_ELEMENT_COMPLEX_FLOAT64,
    HC_ELEMENT_COUNT
} HcElement;

static inline size_t hc_element_bytes(HcElement element) {
    return element == HC_ELEMENT_FLOAT32 ? 4 : element == HC_ELEMENT_COMPLEX_FLOAT64 ? 16 : 8;
}

/* Decompositions of matrices of one shape, with the memory that they work in; opaque. */
typedef struct HcSvd HcSvd;

/* How a decomposition ended. */
typedef enum HcSvdEnd {
    HC_SVD_CONVERGED,
    HC_SVD_UNFINISHED, /* after HC_SVD_SWEEPS: results are as good as they got */
    HC_SVD_NOT_FINITE  /* the matrix holds NaN or infinity: all results are NaN */
} HcSvdEnd;

#define HC_SVD_MAX    4096 /* rows or columns of a matrix, at most */
#define HC_SVD_SWEEPS 40   /* at most */

/* Matrices of one shape and what becomes of them; k = min(rows, columns). All [device]; NULL = not wanted. */
typedef struct HcSvdBatch {
    int64_t count;
    const void *matrices; /* [count][rows][columns]; REQUIRED */
    void *values;         /* [count][k] singular values, descending: float32 or float64; REQUIRED */
    void *left;           /* [count][k][rows] */
    void *right;          /* [count][k][columns] */
    int32_t *sweeps;      /* [count] passes over all pairs of columns; 0 where another way was taken */
    uint8_t *end;         /* [count] HcSvdEnd */
} HcSvdBatch;

#define HC_PATCH_SIZE_MAX 64 /* lines and samples of a patch */

/* Patches of a scene as matrices [pixels][bands]; opaque. */
typedef struct HcPatches HcPatches;

/* Which singular values of a patch count as signal. With n = the larger and m = the smaller of (its valid
 * pixels, bands), b = m / n and noise of standard deviation d in every band: */
typedef enum HcPatchKeep {
    HC_PATCH_OPTIMAL, /* above d sqrt(n) sqrt(2 (b + 1) + 8 b / (b + 1 + sqrt(b^2 + 14 b + 1))): least mean
                       * square error of cutting (Gavish and Donoho 2014, equation 11) */
    HC_PATCH_EDGE,    /* above d (sqrt(n) + sqrt(m)): beyond all noise (Marchenko and Pastur 1967) */
    HC_PATCH_SHRINK,  /* those above the edge, made smaller: y = s / (d sqrt(n)) becomes
                       * sqrt((y^2 - b - 1)^2 - 4 b) / y: least mean square error of all rules (Gavish and
                       * Donoho 2017, equation 1.9) */
    HC_PATCH_COUNT    /* the `count` largest */
} HcPatchKeep;

typedef struct HcPatchRule {
    int64_t lines;   /* of the scene */
    int32_t samples; /* of the scene */
    int32_t bands;
    int32_t size; /* lines and samples of a patch; where the scene has fewer, those of the scene */
    int32_t step; /* patches begin at multiples of it, and so that the last one ends with the scene */
    HcPatchKeep keep;
    int32_t count; /* HC_PATCH_COUNT */
    double noise;  /* d; 0 = of each patch, from the median of its singular values (Gavish and Donoho 2014) */
    bool describe; /* out: dimension (how many count as signal) and the `values` largest singular values */
    int32_t values; /* instead of the denoised bands */
    bool tight;     /* memory is scarce: few patches at once */
} HcPatchRule;

/* How abundances are found. All reach the same optimum. */
typedef enum HcUnmixSolver {
    HC_UNMIX_ACTIVE, /* active sets: exact but for rounding (Bro and de Jong 1997) */
    HC_UNMIX_FISTA,  /* fast proximal gradients (Beck and Teboulle 2009; Gao and Li) */
    HC_UNMIX_ALM     /* augmented Lagrangian (Bioucas-Dias and Figueiredo 2010; Gao and Li) */
} HcUnmixSolver;

/* How a pixel ended. */
typedef enum HcUnmixEnd {
    HC_UNMIX_OPTIMAL,   /* the relative duality gap is at most rule.gap */
    HC_UNMIX_UNFINISHED /* the limit of iterations came first */
} HcUnmixEnd;

#define HC_UNMIX_SPECTRA_MAX 4096

/* What is counted of the pixels that were unmixed; then follow, for each spectrum, the pixels whose abundance
 * is not 0, and then their sums in units of HC_UNMIX_COUNT_UNIT (values beyond 2^16 count as 2^16). All are
 * integers, so that their order does not matter. */
typedef enum HcUnmixCount {
    HC_UNMIX_COUNT_PIXELS,
    HC_UNMIX_COUNT_UNFINISHED,
    HC_UNMIX_COUNT_GAP, /* the bits of the largest relative duality gap, a double: they order as it does */
    HC_UNMIX_COUNTS
} HcUnmixCount;

#define HC_UNMIX_COUNT_UNIT 0x1p-20

/* Every pixel y of a block: min over x >= 0 of
 *     F(x) = 1/2 sum over b of weight[b] (y[b] - sum over k of x[k] spectra[k][b])^2 + lambda sum over k of
 * x[k] */
typedef struct HcUnmixRule {
    int32_t spectra, bands;
    const float *spectrum; /* [host] [spectra][bands], finite; copied */
    const double *weight;  /* [host] [bands], >= 0; copied; NULL = 1 */
    double lambda;         /* >= 0 */
    bool sum_to_one;       /* and sum over k of x[k] = 1, where lambda changes nothing */
    HcUnmixSolver solver;
    double gap; /* that is asked for: (F(x) - lower bound) / F(x), or / 2^-34 y'W y where that is larger; with
                 * sum_to_one F is without its constant lambda */
    int32_t iterations; /* at most, of a pixel */
    int32_t top; /* 0 = all abundances; else so many of the largest: numbers from 0 (-1 = no more), values */
    double threshold; /* >= 0; abundances below it, once they are rounded, become 0 */
    bool rmse, told_iterations, told_gap, told_end; /* bands that follow, in this order */
    int64_t *counts; /* [device] [hc_unmix_counts], grows by the valid interior pixels; NULL = not counted */
} HcUnmixRule;

/* A library to unmix with, in device memory; opaque. */
typedef struct HcUnmixing HcUnmixing;

#define HC_MATRIX_SIDE_MAX INT32_MAX

/* A dense matrix of 1 to HC_MATRIX_SIDE_MAX rows and columns; data is aligned as a float is, no more. */
typedef struct HcMatrix {
    const float *data; /* [device] [rows][columns] */
    int64_t rows, columns;
} HcMatrix;

/* One matrix to solve l1 problems with, what is known of it and the memory that they need; opaque. */
typedef struct HcL1 HcL1;

/* How a solution x of A x = b is looked for whose entries are mostly 0. */
typedef struct HcL1Rule {
    double lambda;      /* fista: of 1/2 |A x - b|^2 + lambda |x|_1, > 0. alm: no meaning */
    bool positive;      /* entries of x are not negative */
    int32_t iterations; /* at most: steps of fista, inner steps of each outer one of alm */
    int32_t outer;      /* at most: outer steps of alm. fista: no meaning */
    double tolerance;   /* >= 0. fista ends at this relative duality gap, alm at this |A x - b| / |b|; 0 =
                         * after all iterations */
} HcL1Rule;

typedef enum HcL1End {
    HC_L1_REACHED,   /* the tolerance */
    HC_L1_UNFINISHED /* the limit of iterations came first */
} HcL1End;

/* What a solution is like; computed in float64 from its float32 entries. */
typedef struct HcL1Told {
    HcL1End end;
    int32_t iterations; /* of fista, or all inner ones of alm */
    int32_t outer;      /* of alm */
    int64_t nonzeros;
    double objective; /* fista: 1/2 |A x - b|^2 + lambda |x|_1. alm: |x|_1 */
    double gap;       /* fista: relative duality gap. alm: (|x|_1 - b'u) / |x|_1 at the multipliers u, brought
                       * to |A'u| <= 1 */
    double residual;  /* |A x - b| / |b|, 0 where b is 0 */
} HcL1Told;

/* What abundances of least absolute deviation may sum to. */
typedef enum HcAbundanceSum { HC_SUM_FREE, HC_SUM_ONE, HC_SUM_AT_MOST_ONE } HcAbundanceSum;

#define HC_ABUNDANCE_ENDMEMBERS_MAX 64
#define HC_ABUNDANCE_BANDS_MAX      512

/* What is counted of the pixels whose abundances were found; then follow, for each endmember, the pixels
 * whose abundance is not 0, and then their sums in units of HC_UNMIX_COUNT_UNIT, as with unmix. */
typedef enum HcAbundanceCount {
    HC_ABUNDANCE_COUNT_PIXELS,
    HC_ABUNDANCE_COUNT_UNFINISHED, /* not HC_LP_OPTIMAL */
    HC_ABUNDANCE_COUNT_PIVOTS,
    HC_ABUNDANCE_COUNT_ERROR, /* the bits of the largest error (told_error), a double */
    HC_ABUNDANCE_COUNTS
} HcAbundanceCount;

/* Every pixel y of a block: min over x >= 0 of
 *     sum over b of weight[b] |y[b] - sum over k of x[k] spectrum[k][b]|
 * over the bands in which y is finite. */
typedef struct HcAbundanceRule {
    int32_t endmembers, bands;
    const float *spectrum; /* [host] [endmembers][bands], finite; copied */
    const double *weight;  /* [host] [bands], >= 0; copied; NULL = 1 */
    HcAbundanceSum sum;
    int32_t pivots; /* at most, of a pixel; 0 = as many as it should ever take */
    /* Bands that follow the abundances, in this order: mean over the bands used of |y - x'spectrum| (no
     * weights) [units of the spectra]; HcLpEnd; pivots; the primal and the dual objective; the error: the
     * largest of the relative violations of the primal's and the dual's constraints and of the relative gap,
     * computed from scratch. */
    bool told_residual, told_end, told_pivots, told_objectives, told_error;
    int64_t
        *counts; /* [device] [hc_abundance_counts], grows by the valid interior pixels; NULL = not counted */
} HcAbundanceRule;

/* Endmembers whose abundances are looked for, in device memory; opaque. */
typedef struct HcAbundances HcAbundances;

struct HcComputeOps {
    uint32_t abi;     /* HC_COMPUTE_ABI; a mismatch is refused */
    const char *name; /* "cpu", "strict", "gpu" */

    HcStatus (*open)(HcCompute **out, const HcComputeConfig *config, HcError *err);
    void (*close)(HcCompute *compute); /* NULL is fine, here and in every other close and release */
    void (*info)(const HcCompute *compute, HcComputeInfo *out);

    HcStatus (*alloc)(HcCompute *compute, HcMemory where, size_t bytes, HcBuffer *out, HcError *err);
    void (*release)(HcCompute *compute, HcBuffer *buffer); /* zeroes *buffer */

    HcStatus (*queue_open)(HcCompute *compute, HcQueue **out, HcError *err);
    void (*queue_close)(HcQueue *queue);
    /* Later work of `queue` starts after all that `after` has accepted so far. */
    HcStatus (*follow)(HcQueue *queue, HcQueue *after, HcError *err);
    /* Returns when the queue is empty; reports the first failure of its work. */
    HcStatus (*wait)(HcQueue *queue, HcError *err);

    HcStatus (*upload)(HcQueue *queue, const void *from, void *to /* [device] */, size_t bytes, HcError *err);
    HcStatus (*download)(HcQueue *queue, const void *from /* [device] */, void *to, size_t bytes,
                         HcError *err);
    HcStatus (*zero)(HcQueue *queue, void *at /* [device] */, size_t bytes, HcError *err);

    /* raw (data and user_mask [device]) -> out, every row of out. Integers beyond 2^24 are rounded to
     * float32. */
    HcStatus (*decode)(HcQueue *queue, const HcRaw *raw, const HcDecode *how, const HcBlock *out,
                       HcError *err);

    /* out band k = in band index[k]; index [device] [out->bands]. */
    HcStatus (*gather)(HcQueue *queue, const HcBlock *in, const int32_t *index, const HcBlock *out,
                       HcError *err);

    /* 3x3 mean or median over the valid neighbours within the scene; masked pixels stay masked. The median of
     * an even count is the mean of the middle two. Needs one row of halo more than out has. */
    HcStatus (*filter)(HcQueue *queue, const HcBlock *in, HcFilter kind, const HcBlock *out, HcError *err);

    /* The noise image: the difference in units of the scene (HC_DIFFERENCE_MEAN3X3 divided by 9). A pixel
     * whose neighbourhood leaves the scene or holds a masked pixel is masked. */
    HcStatus (*difference)(HcQueue *queue, const HcBlock *in, HcDifference kind, const HcBlock *out,
                           HcError *err);

    /* y[k] = out_offset[k] + sum over b of (x[b] - in_offset[b]) * matrix[b][k], summed in float64 and
     * rounded once. matrix [device] [in bands][out bands], offsets [device] [bands], NULL = 0. */
    HcStatus (*project)(HcQueue *queue, const HcBlock *in, const double *matrix, const double *in_offset,
                        const double *out_offset, const HcBlock *out, HcError *err);

    /* out band j = the reduction of the pixel and targets[j]; targets [device] [out bands][in bands], finite,
     * NULL where the kind has none. Formed in float64 and rounded once: beyond the range of float32 it is
     * infinity. Sums have eight parts, band b in part b % 8 in ascending order, added as ((0 + 4) + (2 + 6))
     * +
     * ((1 + 5) + (3 + 7)): the same bits on every backend, but for the arc tangent of an angle. The angle is
     * 2 atan2(| |t| y - |y| t |, | |t| y + |y| t |), which is as accurate for small angles as for others.
     * A valid pixel that holds NaN or infinity becomes NaN, with SQUARES and MATCH perhaps infinity. Sums of
     * squares of a target that is not 0 lie within 1e-200 to 1e200. */
    HcStatus (*reduce)(HcQueue *queue, const HcBlock *in, HcReduction kind, const double *targets,
                       const HcBlock *out, HcError *err);

    /* Growing sums over `bands` bands. integer_limit > 0 promises that every value summed is an integer of at
     * most that magnitude (at most 2^20), and makes the sums exact; 0 makes them float64 in the fixed
     * partition below. */
    HcStatus (*sums_open)(HcCompute *compute, int32_t bands, int64_t integer_limit, HcSums **out,
                          HcError *err);
    void (*sums_close)(HcSums *sums);

    /* Adds the valid interior pixels of a block, or their differences (as defined with HcDifference: integers
     * stay integers), to the sums. window: only pixels inside, with their whole neighbourhood; NULL = the
     * scene. Float sums are the same for every split of the scene into blocks, provided that blocks come in
     * order and start at multiples of hc_sums_lines(samples); they are of one kind. */
    HcStatus (*gram)(HcQueue *queue, const HcBlock *in, HcDifference kind, const HcWindow *window,
                     HcSums *sums, HcError *err);

    /* Waits for the queue and hands over a copy of the sums; out is made here and cleared by the caller. */
    HcStatus (*sums_fetch)(HcQueue *queue, HcSums *sums, HcMoments *out, HcError *err);

    /* Keeps spectra[count][bands] [host], finite, count < 2^24; they are copied. */
    HcStatus (*training_open)(HcCompute *compute, const float *spectra, int64_t count, int32_t bands,
                              HcMetric metric, HcTraining **out, HcError *err);
    void (*training_close)(HcTraining *training);

    /* The k (1 to HC_KNN_MAX, at most the count) nearest training spectra of every interior pixel, nearest
     * first, ties to the lower number: index and distance [device] [lines][samples][k], distance as HcMetric
     * has it. Exactly those, and exactly the distances, that float64 arithmetic gives which adds in the order
     * of the bands and rounds every operation (norms are square roots of such sums). A masked pixel has index
     * -1 and distance infinity. A fast product may choose candidates where a bound proves that it loses none.
     */
    HcStatus (*knn)(HcQueue *queue, const HcBlock *in, const HcTraining *training, int32_t k, int32_t *index,
                    double *distance, HcError *err);

    /* Neighbours of the interior pixels of `in`, as knn left them, -> classes: interior rows of out, one band
     * and those that the rule asks for; label [device] [count]. out has no halo. */
    HcStatus (*vote)(HcQueue *queue, const HcBlock *in, const int32_t *index, const double *distance,
                     const int32_t *label, const HcVoteRule *rule, const HcBlock *out, HcError *err);

    /* Keeps what decompositions of rows x columns matrices (1 to HC_SVD_MAX each) need; `most` matrices are
     * worked on at once, so that memory does not depend on the batch. vectors: left or right will be wanted.
     * One queue at a time may use it. */
    HcStatus (*svd_open)(HcCompute *compute, HcElement element, int32_t rows, int32_t columns, int64_t most,
                         bool vectors, HcSvd **out, HcError *err);
    void (*svd_close)(HcSvd *svd);

    /* Singular value decompositions, matrix = sum over k of values[k] left[k] right[k]^H, by one-sided Jacobi
     * rotations (Li, Yan, Hou: batched small SVD; Brent and Luk 1985): left and right have orthonormal rows
     * also where singular values are 0, and every result is within small multiples of the rounding unit of
     * `element` times the root of the longer side. Signs (phases) are free: left[k] and right[k] may be
     * turned together. Magnitudes may be anything finite; what is below 2^-90 (float32) or 2^-300 (float64)
     * of a matrix's largest entry may come out as 0. A matrix has the same bits wherever it lies in the
     * batch. */
    HcStatus (*svd_batched)(HcQueue *queue, HcSvd *svd, const HcSvdBatch *batch, HcError *err);

    /* Keeps what patches of such a scene need. */
    HcStatus (*patches_open)(HcCompute *compute, const HcPatchRule *rule, HcPatches **out, HcError *err);
    void (*patches_close)(HcPatches *patches);

    /* Every interior pixel of out becomes the mean, over the patches that hold it, of what the patch says of
     * it: its spectrum in the sum of the singular values that count as signal (float32, orthogonalised as
     * svd_batched does), or with rule.describe the dimension and the singular values of the patch. Masked
     * pixels are zero rows of a patch, and stay masked. Patches lie where the scene's grid has them, so `in`
     * has size - 1 rows of halo more than out has, or ends with the scene; out has no halo. A pixel has the
     * same bits however the scene is cut into blocks. */
    HcStatus (*patches)(HcQueue *queue, const HcBlock *in, HcPatches *patches, const HcBlock *out,
                        HcError *err);

    /* Keeps a library and what is derived from it. One queue at a time may use it. */
    HcStatus (*unmix_open)(HcCompute *compute, const HcUnmixRule *rule, HcUnmixing **out, HcError *err);
    void (*unmix_close)(HcUnmixing *unmixing);

    /* Abundances, every row of out, of hc_unmix_bands bands: abundances in the order of the spectra (or `top`
     * numbers, then `top` values), the root of the mean squared residual over the bands [units of the
     * spectra], iterations, the relative duality gap, HcUnmixEnd. Solved in float64, from an empty set of
     * spectra or that of the pixel to the left, and rounded once; residual and gap are those of the values
     * before rounding and threshold. A masked pixel is 0 throughout. The same bits however the scene is cut
     * into blocks. */
    HcStatus (*unmix)(HcQueue *queue, const HcBlock *in, HcUnmixing *unmixing, const HcBlock *out,
                      HcError *err);

    /* y = A x, and y = A'x: products summed in float32 or wider, in an order that the shape decides, on a GPU
     * also the device and the alignment of the matrix (Gao and Li: adaptive kernels for any shape). x and y
     * [device]. */
    HcStatus (*gemv)(HcQueue *queue, const HcMatrix *matrix, const float *x /* [columns] */,
                     float *y /* [rows] */, HcError *err);
    HcStatus (*gemv_t)(HcQueue *queue, const HcMatrix *matrix, const float *x /* [rows] */,
                       float *y /* [columns] */, HcError *err);

    /* Keeps what problems with this matrix need and finds its largest singular value, by Lanczos steps from a
     * fixed vector; matrix.data must be there already, and stay until l1_close. Fails with HC_E_NUMERIC where
     * it holds NaN or infinity. One queue at a time may use it. */
    HcStatus (*l1_open)(HcCompute *compute, const HcMatrix *matrix, HcL1 **out, HcError *err);
    void (*l1_close)(HcL1 *l1);

    /* min over x of 1/2 |A x - b|^2 + lambda |x|_1 by fast proximal gradients (Beck and Teboulle 2009; Gao
     * and Li), from x = 0; a step that shows the largest singular value to be larger than was found is taken
     * back. b [device] [rows], x [device] [columns]; told [host], there after wait(). Where b holds NaN or
     * infinity, x is 0, the end HC_L1_UNFINISHED and objective, gap and residual are NaN. The same bits
     * whatever was solved before. */
    HcStatus (*fista)(HcQueue *queue, HcL1 *l1, const HcL1Rule *rule, const float *b, float *x,
                      HcL1Told *told, HcError *err);

    /* min over x of |x|_1 where A x = b by augmented Lagrangians: outer steps move the multipliers and raise
     * the penalty, inner ones are those of fista (Gao and Li). As fista otherwise. */
    HcStatus (*alm)(HcQueue *queue, HcL1 *l1, const HcL1Rule *rule, const float *b, float *x, HcL1Told *told,
                    HcError *err);

    /* One linear program, all of it and its solution on the host (core/solver/program.h), in float64, done on
     * return: a revised simplex whose inverse of the basis is kept as those of its columns that are no unit
     * vectors (Bai, Ouyang, He and Jiang). */
    HcStatus (*simplex)(HcQueue *queue, const HcLinearProgram *program, const HcSimplexRule *rule,
                        HcLpSolution *out, HcError *err);

    /* Keeps endmembers and what is derived from them. One queue at a time may use it. */
    HcStatus (*abundances_open)(HcCompute *compute, const HcAbundanceRule *rule, HcAbundances **out,
                                HcError *err);
    void (*abundances_close)(HcAbundances *abundances);

    /* Abundances of least absolute deviation, every row of out, of hc_abundance_bands bands: a linear program
     * a pixel, by its bounded dual. Solved in float64 and rounded once. A masked pixel is 0 throughout; so is
     * one without a finite band, which comes out masked and is not counted. The same bits however the scene
     * is cut into blocks. */
    HcStatus (*simplex_batched)(HcQueue *queue, const HcBlock *in, HcAbundances *abundances,
                                const HcBlock *out, HcError *err);

    /* Eigenvalues (descending) and eigenvectors (row k belongs to value k, unit length, sign rule of hcube)
     * of the symmetric matrix[n][n]. Host memory, float64, done on return; the same bits for every number of
     * threads. Small eigenvalues of a positive definite matrix are right relative to themselves as far as
     * its entries determine them (docs/numerics.md). */
    HcStatus (*eigh)(HcCompute *compute, int32_t n, const double *matrix, double *values, double *vectors,
                     HcError *err);
};

/* Bands of the output of vote. */
static inline int32_t hc_vote_bands(const HcVoteRule *rule) {
    return 1 + (rule->confidence ? 1 : 0) + (rule->nearest ? 1 : 0) + (rule->neighbours ? rule->k : 0);
}

/* Bands of the output of unmix. */
static inline int32_t hc_unmix_bands(const HcUnmixRule *rule) {
    return (rule->top > 0 ? 2 * rule->top : rule->spectra) + (rule->rmse ? 1 : 0) +
           (rule->told_iterations ? 1 : 0) + (rule->told_gap ? 1 : 0) + (rule->told_end ? 1 : 0);
}

/* Numbers that rule.counts has room for. */
static inline size_t hc_unmix_counts(const HcUnmixRule *rule) {
    return HC_UNMIX_COUNTS + 2 * (size_t)rule->spectra;
}

/* Bands of the output of simplex_batched. */
static inline int32_t hc_abundance_bands(const HcAbundanceRule *rule) {
    return rule->endmembers + (rule->told_residual ? 1 : 0) + (rule->told_end ? 1 : 0) +
           (rule->told_pivots ? 1 : 0) + (rule->told_objectives ? 2 : 0) + (rule->told_error ? 1 : 0);
}

/* Numbers that rule.counts of it has room for. */
static inline size_t hc_abundance_counts(const HcAbundanceRule *rule) {
    return HC_ABUNDANCE_COUNTS + 2 * (size_t)rule->endmembers;
}

/* Bands of the output of patches. */
static inline int32_t hc_patch_bands(const HcPatchRule *rule) {
    return rule->describe ? 1 + rule->values : rule->bands;
}

/* Lines in one part of the fixed partition for float sums: depends on the samples of the scene alone. */
static inline int32_t hc_sums_lines(int64_t samples) {
    return samples >= 1024 ? 1 : (int32_t)((1023 + samples) / samples);
}

/* The sign rule: flips vector[n] so that its entry of largest magnitude is positive (the first wins a tie).
 */
void hc_sign_rule(double *vector, int32_t n);

#ifdef __cplusplus
}
#endif
#endif
