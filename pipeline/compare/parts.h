/* What the files of a comparison share. */
#ifndef HC_PIPELINE_COMPARE_PARTS_H
#define HC_PIPELINE_COMPARE_PARTS_H

#include "core/system/team.h"
#include "pipeline/compare/compare.h"

/* Two rasters that are read at the same time. Zero-initialise; hc_pair_close() is always safe. */
typedef struct HcPair {
    HcChain *chain[2]; /* borrowed */
    HcCompute *compute;
    HcQueue *queue;
    HcTeam *team;
    const HcFlag *cancel;
    HcBuffer raw[2], values[2], masks[2];
    HcBlock block[2];   /* filled by hc_pair_load: as many bands as `order` says */
    int32_t *order[2];  /* [bands] which of its bands is in each pair, owned; NULL = all in their order */
    int32_t bands;      /* pairs, where there is an order */
    float *spectrum;    /* [bands of the larger one] */
    int32_t lines_most; /* of a block */
    int64_t lines;      /* of the rasters */
    int32_t samples;
} HcPair;

/* What a block of a pass needs beside its pixels. */
typedef struct HcPairCost {
    int32_t context;    /* lines that the next block reads again */
    size_t line_bytes;  /* for each line */
    size_t fixed_bytes; /* for each thread */
    size_t held_bytes;  /* for the whole pass */
} HcPairCost;

/* Plans both chains and opens their sources; first_band_only [scene, truth]: no other is read. */
HcStatus hc_pair_plan(HcPair *pair, HcChain *scene, HcChain *truth, HcError *err) HC_MUST_CHECK;
HcStatus hc_pair_open(HcPair *pair, HcCompute *compute, const bool first_band_only[2], const HcPairCost *cost,
                      const HcCompareSettings *settings, HcError *err) HC_MUST_CHECK;
void hc_pair_close(HcPair *pair);

/* Reads these lines of both, at most lines_most. Fails with HC_E_CANCELLED where the user ends the program.
 */
HcStatus hc_pair_load(HcPair *pair, int64_t line0, int32_t lines, HcError *err) HC_MUST_CHECK;
/* Whether a file has changed since it was opened. */
HcStatus hc_pair_unchanged(const HcPair *pair, HcError *err) HC_MUST_CHECK;

const HcScene *hc_pair_scene(const HcPair *pair, int which);
const char *hc_pair_path(const HcPair *pair, int which);

/* The pairs of bands by the settings: fills pair->order and the list of partners in `out`. */
HcStatus hc_match_bands(HcPair *pair, HcCompareMatch match, HcComparison *out, HcError *err) HC_MUST_CHECK;

/* Pairs rows and columns so that the sum of cost[rows][columns] is least: column[rows], -1 = none is left. */
HcStatus hc_match_least(const double *cost, int32_t rows, int32_t columns, int32_t *column,
                        HcError *err) HC_MUST_CHECK;

/* All figures but SSIM, and the picture. */
HcStatus hc_compare_values(HcPair *pair, double peak, HcComparison *out, HcError *err) HC_MUST_CHECK;
/* Bytes for each line. */
size_t hc_compare_values_bytes(int32_t bands);

/* SSIM, after the sums. */
HcStatus hc_compare_ssim(HcPair *pair, HcComparison *out, HcError *err) HC_MUST_CHECK;
enum { HC_SSIM_REACH = 5 }; /* a window has 2 * reach + 1 lines and samples */
size_t hc_compare_ssim_bytes(int32_t samples, int32_t bands, size_t *fixed);

HcStatus hc_compare_classes(HcPair *pair, HcCompareMatch match, HcComparison *out,
                            HcError *err) HC_MUST_CHECK;

HcStatus hc_compare_scores(HcPair *pair, const HcCompareSettings *settings, HcComparison *out,
                           HcError *err) HC_MUST_CHECK;
/* Bytes of the whole pass. */
size_t hc_compare_scores_bytes(const HcPair *pair);

/* 10 log10(part / rest): infinite where rest is 0. */
double hc_decibels(double part, double rest);

#endif
