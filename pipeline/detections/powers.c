/* Squared distances q, in units of the trace of the covariance, are an image of one band, and its sum of
 * products is the sum of q^2. q is about 1 and at most the number of pixels, so that its grid is known
 * without a sample: the sum is one of integers, the same for every order of blocks and ranks. */
#include "pipeline/detections/powers.h"
#include "core/allocate.h"
#include "core/operation/gram/gram.h"
#include "core/operation/image/project.h"
#include "core/operation/image/reduce.h"
#include "pipeline/memory.h"
#include "pipeline/statistics/sums.h"

#include <math.h>
#include <stdlib.h>

/* Rounding to the grid changes q by 2^-25 at most. */
enum { EXPONENT = -24 };

static size_t part_bytes(const HcStage *stage, int32_t lines) {
    size_t pixels = (size_t)lines * (size_t)stage->in.samples;
    return pixels * (((size_t)stage->in.bands + 1) * sizeof(float) + 2);
}

void hc_powers_plan(HcStage *stage, int32_t count, int32_t lines) {
    size_t bands = (size_t)stage->in.bands;
    hc_stage_takes(stage, HC_SPACE_DEVICE,
                   part_bytes(stage, lines) + (size_t)count * (bands + 1) * bands * sizeof(double));
    hc_stage_takes(stage, HC_SPACE_HOST, bands * bands * sizeof(double));
}

static HcStatus open_diagonal(HcPowers *powers, HcStage *stage, HcError *err) {
    size_t bands = (size_t)stage->in.bands;
    double *diagonal = NULL;
    HC_OR_RETURN(hc_new(diagonal, bands * bands, "a diagonal matrix", err));
    for (size_t b = 0; b < bands; b++) {
        diagonal[b * bands + b] = 1 / sqrt(powers->trace);
    }
    HcStatus status =
        hc_memory_upload(stage->compute, diagonal, bands * bands * sizeof *diagonal, &powers->diagonal, err);
    free(diagonal);
    return status;
}

HcStatus hc_powers_open(HcPowers *powers, HcBuffer *part, HcStage *stage, const HcStatistics *statistics,
                        int32_t lines, HcError *err) {
    static const double center = 0;
    static const int32_t exponent = EXPONENT;
    size_t bands = (size_t)stage->in.bands;
    powers->trace = 0;
    for (size_t b = 0; b < bands; b++) {
        powers->trace += statistics->covariance[b * bands + b];
    }
    powers->trace = powers->trace > 0 ? powers->trace : 1; /* all pixels are equal: distances are 0 */
    HC_OR_RETURN(open_diagonal(powers, stage, err));
    HC_OR_RETURN(
        hc_memory_upload(stage->compute, statistics->mean, bands * sizeof(double), &powers->mean, err));
    if (part->data == NULL) {
        HC_OR_RETURN(hc_alloc(stage->compute, HC_MEMORY_DEVICE, part_bytes(stage, lines), part, err));
    }
    powers->part = part;
    return hc_sums_open(stage->compute, 1, 0, &(HcGrid){&center, &exponent}, &powers->sums, err);
}

HcStatus hc_powers_add(HcPowers *powers, HcQueue *queue, const HcBlock *in, HcError *err) {
    HcBlock apart = *in;
    HcBlock square = *in;
    size_t pixels = hc_block_pixels(in);
    apart.data = powers->part->data;
    square.bands = 1;
    square.data = apart.data + hc_block_values(in);
    apart.mask = (uint8_t *)(square.data + pixels);
    square.mask = apart.mask + pixels;
    HC_OR_RETURN(hc_project(queue, in, powers->diagonal.data, powers->mean.data, NULL, &apart, err));
    HC_OR_RETURN(hc_reduce(queue, &apart, HC_REDUCE_SQUARES, NULL, &square, err));
    return hc_gram(queue, &square, HC_DIFFERENCE_NONE, NULL, powers->sums, err);
}

HcStatus hc_powers_settle(HcPowers *powers, HcStage *stage, HcQueue *queue, double *mean, HcError *err) {
    HcStatus status = HC_OK;
    HcMoments moments = {0};
    HC_TRY(hc_sums_fetch(queue, powers->sums, &moments, err));
    HC_TRY(hc_moments_sum_ranks(&moments, hc_stage_ranks(stage), true, err));
    HcLong sum = hc_moments_product(&moments, 0, 0);
    *mean = moments.count > 0 ? hc_long_ratio(&sum, moments.count, 2 * EXPONENT) : 0;
    *mean *= powers->trace * powers->trace;
done:
    hc_moments_clear(&moments);
    hc_powers_close(powers, stage->compute);
    return status;
}

void hc_powers_close(HcPowers *powers, HcCompute *compute) {
    hc_sums_close(powers->sums);
    hc_memory_release(compute, &powers->mean);
    hc_memory_release(compute, &powers->diagonal);
    *powers = (HcPowers){0};
}
