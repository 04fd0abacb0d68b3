/* Column sums: mean and covariance of each group of neighbouring columns of a scene. In a pushbroom sensor a
 * column is one detector, with a response of its own.
 *
 * Sums have the same bits for any blocks, threads and ranks. Pixels of a group are taken in panels of up to
 * 128 pixels, which begin at fixed lines of the scene. Products of two float32 values are exact in float64;
 * those of a panel are added in the order of its pixels. The sum of a panel is rounded to a multiple of a
 * unit and added to a 64-bit integer. So the order of panels does not matter, and ranks share whole panels
 * (HcNeeds.rank_lines).
 *
 * The unit is 2^-62 of the largest sum that the pixels of a group can have. For integers it is 1 where that
 * fits, and all sums are exact. For floats the largest value is taken to be 32 times the largest of a sample
 * of the scene. Pixels beyond that (a dead detector, a glint) take no part. */
#ifndef HC_PIPELINE_DETECTIONS_COLUMN_SUMS_H
#define HC_PIPELINE_DETECTIONS_COLUMN_SUMS_H

#include "core/operation/gram/column_gram.h"
#include "core/system/team.h"
#include "pipeline/groups/grouping.h"

/* Zero-initialise; hc_column_sums_close() is always safe. */
typedef struct HcColumnSums {
    int32_t bands, samples;
    int32_t width; /* columns of a group; the last group may have fewer */
    int64_t groups;
    int64_t limit;        /* of integers, 0 = floats */
    int64_t pixels;       /* of a group, at most */
    bool ready;           /* units are known, and on the device */
    int32_t *exponent;    /* [24 strips] of the units of values, 1 behind the bands */
    double *scale, *unit; /* [24 strips] 2^-exponent, 2^exponent */
    float *largest;       /* [bands] that takes part */
    int64_t *sum;         /* [groups][hc_column_values()] at hc_column_place(), once taken */
    int64_t far[1];       /* pixels that took no part, of all ranks; once taken */
    HcTeam *team;
    /* What adding needs, [device] */
    HcBuffer sums; /* as `sum`, which takes its place where device memory is host memory */
    HcBuffer far_device, largest_device, scale_device, work;
    HcBuffer in_order;     /* [bands] int32: 0, 1, ... */
    HcBuffer values, mask; /* [HC_COLUMN_LINES][samples][bands], and of pixels: of the lines that wait */
    HcBlock waiting;       /* the first lines of a window, in them */
    HcCompute *compute;
    bool shared; /* device memory is host memory */
} HcColumnSums;

/* In plan: adds to stage->needs. */
void hc_column_sums_plan(HcStage *stage, int32_t width);

HcStatus hc_column_sums_open(HcColumnSums *sums, HcStage *stage, int32_t width, HcError *err) HC_MUST_CHECK;

/* In observe: the valid interior pixels of a block that the mask of `grouping` leaves, in order of lines
 * without gaps. */
HcStatus hc_column_sums_add(HcColumnSums *sums, HcGrouping *grouping, HcStage *stage, HcQueue *queue,
                            const HcBlock *in, HcError *err) HC_MUST_CHECK;

/* In settle, on all ranks: completes the sums, on the host, and frees what only adding needs. */
HcStatus hc_column_sums_take(HcColumnSums *sums, HcStage *stage, HcError *err) HC_MUST_CHECK;

/* The same for those who work on the device: *at = the sums [device], [groups][hc_column_values()] at
 * hc_column_place(), of all ranks. The memory is that of `sums`, and may be written to. They are in units of
 * sums->unit[i] sums->unit[j]. The statistics below are not there. */
HcStatus hc_column_sums_take_on_device(HcColumnSums *sums, HcStage *stage, HcQueue *queue, int64_t **at,
                                       HcError *err) HC_MUST_CHECK;

/* After hc_column_sums_take(): the pixels of a group, their mean[bands] and covariance[bands][bands]. Fewer
 * than two pixels have no covariance. Several threads may call it. */
int64_t hc_column_sums_statistics(const HcColumnSums *sums, int64_t group, double *mean, double *covariance);

void hc_column_sums_close(HcColumnSums *sums);

#endif
