/* Calm: the homogeneous blocks of a scene, from which noise is taken (after Gao 1993).
 *
 * Blocks of 8 x 8 pixels lie side by side from the first pixel of the scene on. The roughness of a block is
 * the mean, over its bands, of the logarithm of the mean square difference of right neighbours: no band
 * prevails, whatever its unit. The calmest quarter of the blocks without a masked pixel is taken, at most 512
 * of them. A block counts as saturated or filled where half of the bands that differ in some block of its
 * eight lines do not differ in it: it is left out.
 *
 * Blocks are weighed while lines pass, and the calmest are kept with their pixels: one pass is enough. The
 * choice does not depend on the size of blocks of lines or on ranks. */
#ifndef HC_PIPELINE_NEIGHBOURS_CALM_H
#define HC_PIPELINE_NEIGHBOURS_CALM_H

#include "core/operation/gram/gram.h"
#include "ranks/ranks.h"

enum { HC_CALM_SIZE = 8 }; /* lines and samples of a block */

/* Opaque. */
typedef struct HcCalm HcCalm;

/* Host memory of it for such a scene [bytes]. */
size_t hc_calm_bytes(const HcScene *scene);

/* window: only blocks inside it, which then begin at its first pixel; NULL = the scene (borrowed). */
HcStatus hc_calm_open(HcCalm **out, const HcScene *scene, const HcWindow *window, HcError *err) HC_MUST_CHECK;
void hc_calm_close(HcCalm *calm);

/* The first line >= `line` at which a row of blocks begins, whose HC_CALM_SIZE lines are in the scene and in
 * the window; -1 = none. */
int64_t hc_calm_next(const HcCalm *calm, int64_t line);

/* A row of blocks: HC_CALM_SIZE whole lines, [line][sample][band], with their mask. */
void hc_calm_add(HcCalm *calm, int64_t line, const float *value, const uint8_t *mask);

/* All ranks, after the last row: chooses among the blocks of all, and says how many of this rank are taken.
 */
HcStatus hc_calm_choose(HcCalm *calm, HcRanks *ranks, int32_t *taken, HcError *err) HC_MUST_CHECK;

/* The pixels of a block that was taken, number k of them: [line][sample][band]. */
const float *hc_calm_block(const HcCalm *calm, int32_t k);

#endif
