/* Where k-means starts: centres that are pixels of a sample, far apart. */
#ifndef HC_PIPELINE_STAGES_KMEANS_START_H
#define HC_PIPELINE_STAGES_KMEANS_START_H

#include "pipeline/stages/shared/reduced.h"

/* Pixels of the sample: less than twice this number, and more than half of it where the scene has enough. */
enum { HC_KMEANS_SAMPLE = 8192 };

/* Host memory that it takes [bytes]. */
size_t hc_kmeans_start_bytes(int32_t bands);

/* The step from one pixel of the sample to the next, by the number of the pixel in the scene: the smallest
 * from pixels / HC_KMEANS_SAMPLE on that has no divisor in common with the samples of a line, so that the
 * sample takes pixels from all columns. */
int64_t hc_kmeans_step(int64_t lines, int64_t samples);

/* All ranks: centre[clusters][bands] by k-means++ (Arthur, Vassilvitskii 2007). The first is any pixel of the
 * sample. Each other one is the best of 2 + log(clusters) pixels, drawn with a probability in proportion to
 * the squared distance from the nearest centre so far: the one that leaves the smallest sum of them. Where
 * the sample has fewer different spectra, the last centres repeat the first. Zeros where it has no valid
 * pixel. sampled: its valid pixels. */
HcStatus hc_kmeans_start(HcReduced *reduced, int32_t clusters, uint64_t seed, float *centre, int64_t *sampled,
                         HcError *err) HC_MUST_CHECK;

#endif
