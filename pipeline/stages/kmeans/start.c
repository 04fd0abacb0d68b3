/* Greedy k-means++ (Arthur and Vassilvitskii 2007): each centre is the best of 2 + log k trials, drawn by
 * squared distance. It works on a sample in memory, since each centre would else take a pass over the scene.
 * The step of the sample has no divisor in common with the samples of a line: no column is favoured. */
#include "pipeline/stages/kmeans/start.h"
#include "core/allocate.h"
#include "pipeline/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Partial sums of a distance, so that the compiler may use vectors. */
enum { LANES = 8 };

/* Pixels of the sample that a thread takes at a time. */
enum { PIXELS_AT_ONCE = 512 };

typedef struct Sample {
    float *x;         /* [count][bands] */
    double *distance; /* [count] squared, from the nearest centre */
    double *trial;    /* [count] the same with one more centre */
    double *best;     /* the best of these so far */
    int64_t count;
    size_t bands;
    HcTeam *team; /* borrowed */
} Sample;

static int64_t divisor(int64_t a, int64_t b) {
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

int64_t hc_kmeans_step(int64_t lines, int64_t samples) {
    int64_t step = hc_max64(1, lines * samples / HC_KMEANS_SAMPLE);
    while (divisor(step, samples) != 1) {
        step++;
    }
    return step;
}

size_t hc_kmeans_start_bytes(int32_t bands) {
    return 2 * HC_KMEANS_SAMPLE * ((size_t)bands * sizeof(float) + 3 * sizeof(double) + 1);
}

static double distance_of(const float *x, const float *y, size_t bands) {
    double sum[LANES] = {0};
    size_t b = 0;
    for (; b + LANES <= bands; b += LANES) {
        for (size_t l = 0; l < LANES; l++) {
            double difference = (double)x[b + l] - (double)y[b + l];
            sum[l] += difference * difference;
        }
    }
    for (size_t l = 0; b < bands; b++, l++) {
        double difference = (double)x[b] - (double)y[b];
        sum[l] += difference * difference;
    }
    return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

/* Distances from the nearest centre where one more pixel is a centre. */
typedef struct More {
    const Sample *sample;
    const float *centre;
    double *distance;
} More;

static void with_more(void *user, int64_t item, int32_t thread) {
    const More *more = user;
    const Sample *sample = more->sample;
    int64_t end = hc_min64(sample->count, (item + 1) * PIXELS_AT_ONCE);
    (void)thread;
    for (int64_t i = item * PIXELS_AT_ONCE; i < end; i++) {
        double to = distance_of(sample->x + (size_t)i * sample->bands, more->centre, sample->bands);
        more->distance[i] = fmin(sample->distance[i], to);
    }
}

/* Returns the sum of the distances. */
static double with_centre(const Sample *sample, int64_t pixel, double *distance) {
    double sum = 0;
    More more = {sample, sample->x + (size_t)pixel * sample->bands, distance};
    hc_team_run(sample->team, (sample->count + PIXELS_AT_ONCE - 1) / PIXELS_AT_ONCE, with_more, &more);
    for (int64_t i = 0; i < sample->count; i++) {
        sum += distance[i];
    }
    return sum;
}

/* A pixel, with a probability in proportion to its distance; `sum` is that of all. */
static int64_t draw(const Sample *sample, double sum, uint64_t *seed) {
    double wanted = hc_random_uniform(seed) * sum;
    int64_t last = 0;
    for (int64_t i = 0; i < sample->count; i++) {
        if (sample->distance[i] > 0) {
            last = i;
            wanted -= sample->distance[i];
            if (wanted < 0) {
                break;
            }
        }
    }
    return last;
}

static void take(Sample *sample, int64_t pixel, float *centre) {
    memcpy(centre, sample->x + (size_t)pixel * sample->bands, sample->bands * sizeof *centre);
    memcpy(sample->distance, sample->best, (size_t)sample->count * sizeof *sample->distance);
}

static void choose(Sample *sample, int32_t clusters, uint64_t seed, float *centre) {
    int32_t trials = 2 + (int32_t)log(clusters);
    for (int64_t i = 0; i < sample->count; i++) {
        sample->distance[i] = INFINITY;
    }
    int64_t first = (int64_t)(hc_random_uniform(&seed) * (double)sample->count);
    double sum = with_centre(sample, first, sample->best);
    take(sample, first, centre);
    for (int32_t k = 1; k < clusters; k++) {
        double least = INFINITY;
        int64_t found = first;
        for (int32_t t = 0; t < trials && sum > 0; t++) {
            int64_t pixel = draw(sample, sum, &seed);
            double left = with_centre(sample, pixel, sample->trial);
            if (left < least) {
                double *swap = sample->best;
                sample->best = sample->trial;
                sample->trial = swap;
                least = left;
                found = pixel;
            }
        }
        take(sample, found, centre + (size_t)k * sample->bands);
        sum = sum > 0 ? least : 0;
    }
}

/* Leaves out what is not valid. */
static void pack(Sample *sample, const uint8_t *valid) {
    int64_t kept = 0;
    for (int64_t i = 0; i < sample->count; i++) {
        if (valid[i] != 0) {
            memmove(sample->x + (size_t)kept * sample->bands, sample->x + (size_t)i * sample->bands,
                    sample->bands * sizeof *sample->x);
            kept++;
        }
    }
    sample->count = kept;
}

HcStatus hc_kmeans_start(HcReduced *reduced, int32_t clusters, uint64_t seed, float *centre, int64_t *sampled,
                         HcError *err) {
    HcStatus status = HC_OK;
    const HcScene *in = &reduced->stage->in;
    int64_t step = hc_kmeans_step(in->lines, in->samples);
    Sample sample = {.bands = (size_t)reduced->width,
                     .count = (in->lines * in->samples + step - 1) / step,
                     .team = reduced->team};
    uint8_t *valid = NULL;
    HC_TRY(hc_new(sample.x, (size_t)sample.count * sample.bands, "a sample of the scene", err));
    HC_TRY(hc_new(sample.distance, sample.count, "distances of a sample", err));
    HC_TRY(hc_new(sample.trial, sample.count, "distances of a sample", err));
    HC_TRY(hc_new(sample.best, sample.count, "distances of a sample", err));
    HC_TRY(hc_new(valid, sample.count, "a sample of the scene", err));
    HC_TRY(hc_reduced_sample(reduced, step, sample.count, sample.x, valid, err));
    pack(&sample, valid);
    *sampled = sample.count;
    memset(centre, 0, (size_t)clusters * sample.bands * sizeof *centre);
    if (sample.count > 0) {
        choose(&sample, clusters, seed, centre);
    }
done:
    free(sample.x);
    free(sample.distance);
    free(sample.trial);
    free(sample.best);
    free(valid);
    return status;
}
