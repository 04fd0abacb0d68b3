#include "pipeline/stages/kmeans/sums.h"
#include "core/allocate.h"
#include "core/solver/clones.h"

#include <math.h>

enum { BESIDE = 16 };

HcStatus hc_cluster_sums_open(HcClusterSums *sums, int32_t clusters, int32_t bands, HcError *err) {
    sums->clusters = clusters;
    sums->bands = bands;
    HC_OR_RETURN(hc_new(sums->number, hc_class_sums(clusters, bands), "sums of clusters", err));
    sums->count = sums->number + 1;
    return HC_OK;
}

void hc_cluster_sums_close(HcClusterSums *sums) {
    free(sums->number);
    *sums = (HcClusterSums){0};
}

HcStatus hc_cluster_sums_join(HcClusterSums *sums, HcQueue *queue, const HcBuffer *own, HcRanks *ranks,
                              HcError *err) {
    size_t count = hc_class_sums(sums->clusters, sums->bands);
    HC_OR_RETURN(hc_download(queue, own->data, sums->number, count * sizeof *sums->number, err));
    HC_OR_RETURN(hc_wait(queue, err));
    return hc_ranks_sum(ranks, sums->number, count, err);
}

/* The sums that digits hold, of some bands side by side, with an error of a few units in the last place. The
 * same bits for equal sums. */
HC_CLONES static void values_of(const int64_t *digit, size_t bands, size_t count, double value[BESIDE]) {
    int32_t low[HC_CLASS_DIGITS][BESIDE];
    int64_t carry[BESIDE] = {0};
    for (int32_t i = 0; i < HC_CLASS_DIGITS; i++) {
        for (size_t b = 0; b < count; b++) {
            int64_t sum = digit[(size_t)i * bands + b] + carry[b];
            low[i][b] = (int32_t)(sum & 255);
            carry[b] = (sum - (sum & 255)) / 256;
        }
    }
    for (size_t b = 0; b < count; b++) {
        value[b] = (double)carry[b];
    }
    for (int32_t i = HC_CLASS_DIGITS - 1; i >= 0; i--) {
        for (size_t b = 0; b < count; b++) {
            value[b] = value[b] * 256 + low[i][b];
        }
    }
}

double hc_cluster_sums_mean(const HcClusterSums *sums, int32_t cluster, float *mean) {
    size_t bands = (size_t)sums->bands;
    const int64_t *digits = sums->count + sums->clusters + (size_t)cluster * HC_CLASS_DIGITS * bands;
    double value[BESIDE];
    double square = 0;
    for (size_t b = 0; b < bands; b++) {
        double before = mean[b];
        if (b % BESIDE == 0) {
            values_of(digits + b, bands, bands - b < BESIDE ? bands - b : BESIDE, value);
        }
        mean[b] = (float)(ldexp(value[b % BESIDE], -149) / (double)sums->count[cluster]);
        square += (mean[b] - before) * (mean[b] - before);
    }
    return sqrt(square);
}

HcStatus hc_cluster_inertia(const HcReduced *reduced, const double *distance, double *inertia, HcError *err) {
    HcStatus status = HC_OK;
    size_t lines = (size_t)reduced->stage->in.lines;
    int64_t line = reduced->first / reduced->samples;
    const uint8_t *mask = reduced->mask.data;
    double *sum = NULL;
    HC_TRY(hc_new(sum, lines, "sums of lines", err));
    for (int64_t i = 0; i < reduced->count; line++) {
        for (int64_t end = i + reduced->samples; i < end; i++) {
            sum[line] += mask[i] != 0 ? distance[i] : 0;
        }
    }
    HC_TRY(hc_ranks_join(hc_stage_ranks(reduced->stage), sum, lines * sizeof *sum, err));
    for (size_t l = 0; l < lines; l++) {
        *inertia += sum[l];
    }
done:
    free(sum);
    return status;
}
