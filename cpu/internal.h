/* What the files of the CPU backend share. */
#ifndef HC_CPU_INTERNAL_H
#define HC_CPU_INTERNAL_H

#include "core/check.h"
#include "cpu/cpu.h"

#include <omp.h>

/* Compiles a leaf function for the vector units of newer processors too, chosen when the program starts. The
 * results do not change: no operation is contracted or reordered. (Sanitizers run before the choice could.)
 */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(HC_SANITIZED)
#define HC_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define HC_CLONES
#endif

typedef struct HcCpu {
    HcCompute base; /* first: an HcCompute is one of these */
    int threads;
    HcCpuGram gram;
} HcCpu;

struct HcQueue {
    HcCpu *cpu; /* work is done at once: a queue holds nothing */
};

/* Keeps BLAS and LAPACK on the calling thread, and on those of the parallel regions that it starts. For every
 * operation that uses them: OpenBLAS asks OpenMP how many threads it may take, each thread has an answer of
 * its own, and a region of one thread does not count as one. (Newer versions forget what
 * openblas_set_num_threads said.) Our regions say their number of threads. */
static inline void hc_cpu_blas_alone(void) {
    omp_set_num_threads(1);
}

/* The values and the mask of one line of the scene; NULL where the block does not have it. */
static inline const float *hc_cpu_line(const HcBlock *block, int64_t line) {
    int64_t row = line - hc_block_first_line(block);
    return row < 0 || row >= hc_block_rows(block)
               ? NULL
               : block->data + row * block->samples * (int64_t)block->bands;
}

static inline const uint8_t *hc_cpu_mask_line(const HcBlock *block, int64_t line) {
    int64_t row = line - hc_block_first_line(block);
    return row < 0 || row >= hc_block_rows(block) ? NULL : block->mask + row * block->samples;
}

/* Where each neighbour that `kind` looks at is valid and within the scene and the window (NULL = the scene):
 * ok[samples] for one line. Returns how many are. */
int32_t hc_cpu_difference_valid(const HcBlock *in, HcDifference kind, int64_t line, const HcWindow *window,
                                uint8_t *ok);
/* Pixels that are worked on at once, at most. */
enum { HC_CPU_RUN = 64 };

/* How many pixels from `sample` on are marked, HC_CPU_RUN at most. */
static inline int32_t hc_cpu_run(const uint8_t *marked, int32_t sample, int32_t samples) {
    int32_t end = samples - sample < HC_CPU_RUN ? samples : sample + HC_CPU_RUN;
    int32_t s = sample;
    while (s < end && marked[s] != 0) {
        s++;
    }
    return s - sample;
}

/* The difference (as HcDifference has it) of `count` pixels from `sample` on, all of whose neighbours exist:
 * out[count][bands]. In float32 it is exact for integers as long as it stays within 2^24.
 * scratch[count][bands]. */
void hc_cpu_difference_float(const HcBlock *in, HcDifference kind, int64_t line, int32_t sample,
                             int32_t count, float *out);
void hc_cpu_difference_double(const HcBlock *in, HcDifference kind, int64_t line, int32_t sample,
                              int32_t count, float *scratch, double *out);

/* Median and sum of the nine values around each of `values` values (whole pixels) of three rows, which start
 * at the pixel left of the first. */
void hc_cpu_median9(const float *above, const float *here, const float *below, int64_t bands, int64_t values,
                    float *out);
void hc_cpu_sum9(const float *above, const float *here, const float *below, int64_t bands, int64_t values,
                 double *out);

HcStatus hc_cpu_decode(HcQueue *queue, const HcRaw *raw, const HcDecode *how, const HcBlock *out,
                       HcError *err);
HcStatus hc_cpu_gather(HcQueue *queue, const HcBlock *in, const int32_t *index, const HcBlock *out,
                       HcError *err);
HcStatus hc_cpu_filter(HcQueue *queue, const HcBlock *in, HcFilter kind, const HcBlock *out, HcError *err);
HcStatus hc_cpu_difference(HcQueue *queue, const HcBlock *in, HcDifference kind, const HcBlock *out,
                           HcError *err);
HcStatus hc_cpu_project(HcQueue *queue, const HcBlock *in, const double *matrix, const double *in_offset,
                        const double *out_offset, const HcBlock *out, HcError *err);
HcStatus hc_cpu_reduce(HcQueue *queue, const HcBlock *in, HcReduction kind, const double *targets,
                       const HcBlock *out, HcError *err);
HcStatus hc_cpu_sums_open(HcCompute *compute, int32_t bands, int64_t integer_limit, HcSums **out,
                          HcError *err);
void hc_cpu_sums_close(HcSums *sums);
HcStatus hc_cpu_gram(HcQueue *queue, const HcBlock *in, HcDifference kind, const HcWindow *window,
                     HcSums *sums, HcError *err);
HcStatus hc_cpu_sums_fetch(HcQueue *queue, HcSums *sums, HcMoments *out, HcError *err);
HcStatus hc_cpu_training_open(HcCompute *compute, const float *spectra, int64_t count, int32_t bands,
                              HcMetric metric, HcTraining **out, HcError *err);
void hc_cpu_training_close(HcTraining *training);
HcStatus hc_cpu_knn(HcQueue *queue, const HcBlock *in, const HcTraining *training, int32_t k, int32_t *index,
                    double *distance, HcError *err);
HcStatus hc_cpu_vote(HcQueue *queue, const HcBlock *in, const int32_t *index, const double *distance,
                     const int32_t *label, const HcVoteRule *rule, const HcBlock *out, HcError *err);
HcStatus hc_cpu_svd_open(HcCompute *compute, HcElement element, int32_t rows, int32_t columns, int64_t most,
                         bool vectors, HcSvd **out, HcError *err);
void hc_cpu_svd_close(HcSvd *svd);
HcStatus hc_cpu_svd_batched(HcQueue *queue, HcSvd *svd, const HcSvdBatch *batch, HcError *err);
HcStatus hc_cpu_patches_open(HcCompute *compute, const HcPatchRule *rule, HcPatches **out, HcError *err);
void hc_cpu_patches_close(HcPatches *patches);
HcStatus hc_cpu_patches(HcQueue *queue, const HcBlock *in, HcPatches *patches, const HcBlock *out,
                        HcError *err);
HcStatus hc_cpu_unmix_open(HcCompute *compute, const HcUnmixRule *rule, HcUnmixing **out, HcError *err);
void hc_cpu_unmix_close(HcUnmixing *unmixing);
HcStatus hc_cpu_unmix(HcQueue *queue, const HcBlock *in, HcUnmixing *unmixing, const HcBlock *out,
                      HcError *err);
HcStatus hc_cpu_gemv(HcQueue *queue, const HcMatrix *matrix, const float *x, float *y, HcError *err);
HcStatus hc_cpu_gemv_t(HcQueue *queue, const HcMatrix *matrix, const float *x, float *y, HcError *err);
HcStatus hc_cpu_l1_open(HcCompute *compute, const HcMatrix *matrix, HcL1 **out, HcError *err);
void hc_cpu_l1_close(HcL1 *l1);
HcStatus hc_cpu_fista(HcQueue *queue, HcL1 *l1, const HcL1Rule *rule, const float *b, float *x,
                      HcL1Told *told, HcError *err);
HcStatus hc_cpu_alm(HcQueue *queue, HcL1 *l1, const HcL1Rule *rule, const float *b, float *x, HcL1Told *told,
                    HcError *err);
HcStatus hc_cpu_abundances_open(HcCompute *compute, const HcAbundanceRule *rule, HcAbundances **out,
                                HcError *err);
void hc_cpu_abundances_close(HcAbundances *abundances);
HcStatus hc_cpu_simplex_batched(HcQueue *queue, const HcBlock *in, HcAbundances *abundances,
                                const HcBlock *out, HcError *err);
HcStatus hc_cpu_simplex(HcQueue *queue, const HcLinearProgram *program, const HcSimplexRule *rule,
                        HcLpSolution *out, HcError *err);
HcStatus hc_cpu_eigh(HcCompute *compute, int32_t n, const double *matrix, double *values, double *vectors,
                     HcError *err);

#endif
