/* Reduced: the pixels of this rank in a few numbers each, and the scans that look for the best of all ranks.
 * endmembers searches components, kmeans the bands as they are. Values lie in memory, or in a scratch file
 * that every scan reads again.
 *
 * A search does not depend on blocks, threads and ranks: of equal scores the pixel that comes first counts.
 */
#ifndef HC_PIPELINE_STAGES_REDUCED_H
#define HC_PIPELINE_STAGES_REDUCED_H

#include "core/system/team.h"
#include "pipeline/stage.h"

#include <math.h>

/* Zero-initialise and set file = -1; hc_reduced_close() is then always safe. */
typedef struct HcReduced {
    HcStage *stage;
    HcTeam *team;
    int32_t width;   /* numbers of a pixel */
    int64_t first;   /* the first pixel of this rank in the scene */
    int64_t count;   /* pixels of this rank */
    HcBuffer memory; /* [host] all values, or those of a piece */
    HcBuffer piece;  /* [device] a piece: values and mask */
    HcBuffer apart;  /* [device] all values and then all masks, or empty. Then no value is on the host, and
                        no value and no pixel is changed later */
    float *all;      /* [device] all values, there or in `memory`; NULL = pieces travel */
    uint8_t *all_masks;
    HcBuffer order;   /* [device] [width] 0, 1, ...: all numbers of a pixel, for copies within the device */
    HcBuffer matrix;  /* [device] [bands][width], or empty */
    HcBuffer center;  /* [device] [bands], or empty */
    HcBuffer mask;    /* [host] [count] 1 = takes part */
    int64_t rows;     /* lines of a piece */
    int64_t samples;  /* of a line */
    int file;         /* scratch, -1 = memory */
    int64_t pixels;   /* of the scene that take part, once filled */
    int64_t unusable; /* of the scene that are not finite, and left out */
} HcReduced;

/* Host memory of the masks and of pieces; of all values of this rank [bytes]. */
size_t hc_reduced_bytes(const HcStage *stage, int32_t width);
size_t hc_reduced_bytes_values(const HcStage *stage, int32_t width);
/* Device memory [bytes]. */
size_t hc_reduced_bytes_device(const HcStage *stage, int32_t width);
/* Device memory of all values and masks, which are then nowhere else: HC_SPACE_APART_WISH [bytes]. */
size_t hc_reduced_bytes_apart(const HcStage *stage, int32_t width);

/* matrix[bands][width]; center[bands] is subtracted first, NULL = none. Without a matrix (NULL) the values
 * are those of the bands, and width is their number. The values lie in memory where `in_memory`. */
HcStatus hc_reduced_open(HcReduced *reduced, HcStage *stage, int32_t width, const double *matrix,
                         const double *center, bool in_memory, HcError *err) HC_MUST_CHECK;

/* Adds a block. */
HcStatus hc_reduced_add(HcReduced *reduced, HcQueue *queue, const HcBlock *in, HcError *err) HC_MUST_CHECK;

/* All ranks, behind the last block: counts pixels, and leaves out what is not finite. */
HcStatus hc_reduced_filled(HcReduced *reduced, HcError *err) HC_MUST_CHECK;

void hc_reduced_close(HcReduced *reduced);

/* A pixel that may be the best one, and a number that the search gives it. */
typedef struct HcBest {
    double score;
    int64_t pixel; /* of the scene, -1 = none */
    int32_t which;
} HcBest;

/* Keeps the larger score; of equal ones the earlier pixel, then the smaller `which`. NaN is never kept. */
static inline void hc_best_offer(HcBest *best, double score, int64_t pixel, int32_t which) {
    bool ties = score == best->score && pixel < best->pixel;
    if (score > best->score || ties || (best->pixel < 0 && !isnan(score))) {
        *best = (HcBest){score, pixel, which};
    }
}

/* Offers pixels x[pixels][width] to best[count]; `pixel` is the first of them. */
typedef void HcScoreFn(const void *user, const float *x, int64_t pixel, int32_t pixels, HcBest *best);

/* All ranks: the best of all pixels. */
HcStatus hc_reduced_search(HcReduced *reduced, HcScoreFn *score, const void *user, HcBest *best,
                           int32_t count, HcError *err) HC_MUST_CHECK;

/* Only these pixels [count], ascending, take part from now on. */
void hc_reduced_keep(HcReduced *reduced, const int64_t *pixel, int64_t count);

/* Pixels of one piece, at most. */
size_t hc_reduced_piece_pixels(const HcStage *stage, int32_t width);

/* A piece in the memory of the device, as whole lines; `first` is its first pixel among those of this rank.
 * The memory is used again by what is queued after the function has returned. */
typedef HcStatus HcPieceFn(void *user, HcQueue *queue, const HcBlock *piece, int64_t first, HcError *err);

/* Shows the pieces of this rank in their order. */
HcStatus hc_reduced_visit(HcReduced *reduced, HcQueue *queue, HcPieceFn *visit, void *user,
                          HcError *err) HC_MUST_CHECK;

/* All ranks: the values of these pixels, x[count][width], which take part. */
HcStatus hc_reduced_fetch(HcReduced *reduced, const int64_t *pixel, int32_t count, double *x,
                          HcError *err) HC_MUST_CHECK;

/* These pixels take no part from now on. */
void hc_reduced_drop(HcReduced *reduced, const int64_t *pixel, int64_t count);

/* A part of the scene, within it. */
typedef struct HcReducedPart {
    int64_t line, sample, lines, samples;
} HcReducedPart;

/* All ranks: the values of the pixels of a window, x[lines][samples][width], and valid: 1 = takes part. */
HcStatus hc_reduced_window(HcReduced *reduced, HcReducedPart window, float *x, uint8_t *valid,
                           HcError *err) HC_MUST_CHECK;

/* All ranks: gives these pixels [count] other values, x[count][width]. */
HcStatus hc_reduced_put(HcReduced *reduced, const int64_t *pixel, int64_t count, const float *x,
                        HcError *err) HC_MUST_CHECK;

/* All ranks: every step-th pixel from the first on, x[wanted][width] and valid[wanted]; those of no pixel are
 * not valid. */
HcStatus hc_reduced_sample(HcReduced *reduced, int64_t step, int64_t wanted, float *x, uint8_t *valid,
                           HcError *err) HC_MUST_CHECK;

#endif
