/* Passes: how often the scene is read, which stages work in each pass, and what memory a slot of it takes. */
#ifndef HC_PIPELINE_RUN_PASSES_H
#define HC_PIPELINE_RUN_PASSES_H

#include "pipeline/chain.h"

#define HC_STAGES_MAX 64

/* One pass over the scene: the stages 1 .. end-1 process, and those that still observe do so; with `stops`
 * the last of them only observes. */
typedef struct HcPass {
    int32_t end;
    bool stops;
    int32_t halo[HC_STAGES_MAX]; /* lines of context that each stage's output has */
} HcPass;

/* The next pass of a planned chain: to the first stage that observes and changes what follows, or to the end.
 */
void hc_pass_next(const HcChain *chain, HcPass *pass);

/* The same, with the stages before the place `settled_before` taken as settled. The planner walks through the
 * passes with it before any has run. */
void hc_pass_after(const HcChain *chain, int32_t settled_before, HcPass *pass);

/* How often the scene is read for it: a stage that it stops at may have several rounds. */
int32_t hc_pass_times(const HcChain *chain, const HcPass *pass);

/* Fills the halos of a pass: walks back from its end, and adds what a stage looks at to what is needed of it.
 * observes: with what stages look at that observe. */
void hc_pass_halos(const HcChain *chain, bool observes, HcPass *pass);

/* Whether a stage observes in this pass. */
bool hc_pass_observes(const HcPass *pass, const HcStage *stage);

/* How a pass cuts the device memory of one slot: the output of every stage, the largest scratch [bytes from
 * its beginning]. */
typedef struct HcSlotLayout {
    size_t output[HC_STAGES_MAX];
    size_t scratch, all;
} HcSlotLayout;

/* The slots of a pass, for blocks of that many lines. */
void hc_pass_slot(const HcChain *chain, const HcPass *pass, int32_t lines, HcSlotLayout *out);

/* Bytes of a block with its mask. */
size_t hc_rows_bytes(const HcScene *scene, int64_t rows);

/* The first line from `line` on that a consuming stage wants, and how many it wants of `lines` from there. */
int64_t hc_wanted_line(const HcNeeds *needs, int64_t line);
int32_t hc_wanted_lines(const HcNeeds *needs, int64_t line, int64_t lines);

/* Whether a consuming stage gets some bands only. Their place on the device is that of its output. */
bool hc_picks_bands(const HcStage *stage);

/* Bytes of the block that a consuming stage gets of `lines` lines, at most. */
size_t hc_consumed_bytes(const HcStage *stage, int64_t lines);

/* Buffers begin at multiples of 256 bytes. */
size_t hc_aligned(size_t bytes);

#endif
