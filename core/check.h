/* Argument checks of the operations: shapes and missing pointers, without looking at device memory. */
#ifndef HC_CORE_CHECK_H
#define HC_CORE_CHECK_H

#include "core/compute.h"

#ifdef __cplusplus
extern "C" {
#endif

HcStatus hc_check_decode(const HcQueue *queue, const HcRaw *raw, const HcDecode *how, const HcBlock *out,
                         HcError *err) HC_MUST_CHECK;
HcStatus hc_check_gather(const HcQueue *queue, const HcBlock *in, const int32_t *index, const HcBlock *out,
                         HcError *err) HC_MUST_CHECK;
HcStatus hc_check_filter(const HcQueue *queue, const HcBlock *in, HcFilter kind, const HcBlock *out,
                         HcError *err) HC_MUST_CHECK;
HcStatus hc_check_difference(const HcQueue *queue, const HcBlock *in, HcDifference kind, const HcBlock *out,
                             HcError *err) HC_MUST_CHECK;
HcStatus hc_check_project(const HcQueue *queue, const HcBlock *in, const double *matrix, const HcBlock *out,
                          HcError *err) HC_MUST_CHECK;
HcStatus hc_check_reduce(const HcQueue *queue, const HcBlock *in, HcReduction kind, const double *targets,
                         const HcBlock *out, HcError *err) HC_MUST_CHECK;
HcStatus hc_check_sums(int32_t bands, int64_t integer_limit, HcError *err) HC_MUST_CHECK;
HcStatus hc_check_gram(const HcQueue *queue, const HcBlock *in, HcDifference kind, int32_t sums_bands,
                       HcError *err) HC_MUST_CHECK;
HcStatus hc_check_training(const float *spectra, int64_t count, int32_t bands, HcMetric metric,
                           HcError *err) HC_MUST_CHECK;
HcStatus hc_check_knn(const HcQueue *queue, const HcBlock *in, int64_t training_count, int32_t training_bands,
                      int32_t k, const int32_t *index, const double *distance, HcError *err) HC_MUST_CHECK;
HcStatus hc_check_vote(const HcQueue *queue, const HcBlock *in, const int32_t *index, const double *distance,
                       const int32_t *label, const HcVoteRule *rule, const HcBlock *out,
                       HcError *err) HC_MUST_CHECK;
HcStatus hc_check_svd(HcElement element, int32_t rows, int32_t columns, int64_t most,
                      HcError *err) HC_MUST_CHECK;
HcStatus hc_check_svd_batch(const HcQueue *queue, const HcSvd *svd, const HcSvdBatch *batch, bool vectors,
                            HcError *err) HC_MUST_CHECK;
HcStatus hc_check_patch_rule(const HcPatchRule *rule, HcError *err) HC_MUST_CHECK;
HcStatus hc_check_patches(const HcQueue *queue, const HcBlock *in, const HcPatches *patches,
                          const HcPatchRule *rule, const HcBlock *out, HcError *err) HC_MUST_CHECK;
HcStatus hc_check_unmix_rule(const HcUnmixRule *rule, HcError *err) HC_MUST_CHECK;
HcStatus hc_check_unmix(const HcQueue *queue, const HcBlock *in, const HcUnmixing *unmixing,
                        const HcUnmixRule *rule, const HcBlock *out, HcError *err) HC_MUST_CHECK;
/* what: the operation, "gemv" or "gemv_t"; of a matrix alone "l1" too. */
HcStatus hc_check_matrix(const HcMatrix *matrix, const char *what, HcError *err) HC_MUST_CHECK;
HcStatus hc_check_gemv(const HcQueue *queue, const HcMatrix *matrix, const float *x, const float *y,
                       const char *what, HcError *err) HC_MUST_CHECK;
HcStatus hc_check_fista(const HcQueue *queue, const HcL1 *l1, const HcL1Rule *rule, const float *b,
                        const float *x, const HcL1Told *told, HcError *err) HC_MUST_CHECK;
HcStatus hc_check_alm(const HcQueue *queue, const HcL1 *l1, const HcL1Rule *rule, const float *b,
                      const float *x, const HcL1Told *told, HcError *err) HC_MUST_CHECK;
HcStatus hc_check_abundance_rule(const HcAbundanceRule *rule, HcError *err) HC_MUST_CHECK;
HcStatus hc_check_simplex_batched(const HcQueue *queue, const HcBlock *in, const HcAbundances *abundances,
                                  const HcAbundanceRule *rule, const HcBlock *out,
                                  HcError *err) HC_MUST_CHECK;
/* Contradictory bounds of one variable or row are refused: no combination of rows would prove them. */
HcStatus hc_check_simplex(const HcQueue *queue, const HcLinearProgram *program, const HcSimplexRule *rule,
                          const HcLpSolution *out, HcError *err) HC_MUST_CHECK;
HcStatus hc_check_eigh(int32_t n, const double *matrix, const double *values, const double *vectors,
                       HcError *err) HC_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
