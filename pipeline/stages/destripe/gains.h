/* Gains: how much the detector columns of a band differ in gain, by least absolute deviations.
 *
 * The first components of the scene tell what a value should be, x, from all bands: what is left, e, has next
 * to no texture. Where a detector has another gain, e follows x. The slope of e on x is that of the line with
 * the least sum of absolute deviations, in segments of lines; those of a half of the scene have a weighted
 * median. Slopes on the values themselves would be those of their noise, which e has, too.
 *
 * A slope of one column is not sure, but its term is (stripes.h). The gain that makes the term t of a column
 * with the level q is t / q. Over all columns, slopes tell which part of t / q are gains: all of it where the
 * offsets of detectors are right, nothing where only offsets differ. A gain is that part of t / q, and what
 * both halves of the scene have beyond it (moment matching).
 */
#ifndef HC_PIPELINE_STAGES_DESTRIPE_GAINS_H
#define HC_PIPELINE_STAGES_DESTRIPE_GAINS_H

#include "pipeline/stages/destripe/stripes.h"

/* Zero-initialise; hc_gains_close() is always safe. */
typedef struct HcGains {
    HcCompute *compute; /* borrowed */
    int64_t samples;
    int32_t bands, components; /* the first, that tell a band from all bands */
    int32_t segment, segments; /* lines of a segment; those that are looked at, 0 = the scene has too few */
    int64_t every;             /* one of N segments is looked at */
    HcLinearMatrices device;
    HcBuffer strip, expected; /* [device] components of some lines, and what bands should be; their masks */
    HcBuffer fetched;         /* [host] values of these lines, what they should be, and the mask */
    HcTeam *team;
    float *lines_of[2]; /* [segment][samples][bands] what values should be, and what is left; NaN = masked */
    float *slope;       /* [segments][samples][bands] */
    float *weight;      /* the same: sums of absolute deviations of what values should be from their median */
    double *part;       /* [bands] of terms over their level that is gains, once found */
    double *beyond;     /* [samples][bands] slopes beyond that part that are no chance */
    double *gain;       /* [samples][bands] both: gains less 1 */
    bool found;
} HcGains;

/* Lines that one rank has to have together. */
int32_t hc_gains_segment(const HcScene *scene);

size_t hc_gains_bytes_device(const HcScene *scene);
size_t hc_gains_bytes(const HcScene *scene);

/* With the basis of the stripes, and before the blocks that stripes are looked for in. */
HcStatus hc_gains_open(HcGains *gains, const HcStripes *stripes, const HcScene *scene,
                       HcError *err) HC_MUST_CHECK;

/* After settling: gets ready for the blocks of the scene without these gains. */
HcStatus hc_gains_again(HcGains *gains, const HcStripes *stripes, const HcScene *scene,
                        HcError *err) HC_MUST_CHECK;
void hc_gains_close(HcGains *gains);
HcStatus hc_gains_observe(HcGains *gains, HcQueue *queue, const HcBlock *in, HcError *err) HC_MUST_CHECK;

/* All ranks, after the last block, with stripes that are found and have means: of the whole offsets, also
 * where the gains of the round before are taken away. */
HcStatus hc_gains_settle(HcGains *gains, const HcStripes *stripes, HcRanks *ranks,
                         HcError *err) HC_MUST_CHECK;

#endif
