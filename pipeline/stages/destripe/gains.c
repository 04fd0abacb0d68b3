/* What bands should be and what differs from it are kept for one segment of lines; a segment leaves a slope
 * and a weight for each column and band. So memory does not grow with the lines. */
#include "pipeline/stages/destripe/gains.h"
#include "core/allocate.h"
#include "core/operation/image/project.h"
#include "pipeline/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SEGMENT_MIN = 24, /* lines */
    SEGMENT_MAX = 64,
    SEGMENTS_MAX = 32, /* that are looked at */
    OBSERVED = 8,      /* lines that are transformed at once */
    COMPONENTS = 20,   /* most that tell a band from all bands, */
    SHARE = 8,         /* and most of the bands: one of N */
    ROUNDS = 4,        /* of a line with the least absolute deviations */
    NEIGHBOURS = 7,    /* bands to each side that have one part of gains */
    SURE = 4,          /* deviations from which on nothing is chance */
    TEAM = 16
};

static const char what[] = "gains of columns";

int32_t hc_gains_segment(const HcScene *scene) {
    int32_t one = hc_stripes_segment(scene);
    return (SEGMENT_MIN + one - 1) / one * one;
}

static int64_t whole_segments(const HcScene *scene) {
    return scene->lines / hc_gains_segment(scene);
}

static int64_t every_of(const HcScene *scene) {
    return hc_max64(1, (whole_segments(scene) + SEGMENTS_MAX - 1) / SEGMENTS_MAX);
}

/* Two halves of the scene have at least one each. */
static int32_t segments_of(const HcScene *scene) {
    int64_t count = (whole_segments(scene) + every_of(scene) - 1) / every_of(scene);
    return count >= 2 ? (int32_t)count : 0;
}

static int32_t components_of(int32_t bands) {
    return (int32_t)hc_max64(1, hc_min64(COMPONENTS, bands / SHARE));
}

static size_t strip_bytes(int64_t samples, int32_t bands) {
    return (size_t)OBSERVED * (size_t)samples * ((size_t)bands * sizeof(float) + 1);
}

size_t hc_gains_bytes_device(const HcScene *scene) {
    size_t bands = (size_t)scene->bands;
    return strip_bytes(scene->samples, scene->bands) +
           strip_bytes(scene->samples, components_of(scene->bands)) +
           (2 * (size_t)components_of(scene->bands) + 1) * bands * sizeof(double);
}

size_t hc_gains_bytes(const HcScene *scene) {
    size_t values = (size_t)scene->samples * (size_t)scene->bands;
    size_t lines = 2 * (size_t)hc_gains_segment(scene) + 2 * (size_t)segments_of(scene);
    return lines * values * sizeof(float) + 2 * strip_bytes(scene->samples, scene->bands) +
           (2 * values + 3 * (size_t)scene->samples + 3 * (size_t)scene->bands) * sizeof(double);
}

/* What only the search needs. */
static void free_search(HcGains *gains) {
    hc_linear_release(gains->compute, &gains->device);
    hc_memory_release(gains->compute, &gains->strip);
    hc_memory_release(gains->compute, &gains->expected);
    hc_memory_release(gains->compute, &gains->fetched);
    hc_team_close(gains->team);
    free(gains->lines_of[0]);
    free(gains->lines_of[1]);
    free(gains->slope);
    free(gains->weight);
    gains->team = NULL;
    gains->lines_of[0] = gains->lines_of[1] = gains->slope = gains->weight = NULL;
}

void hc_gains_close(HcGains *gains) {
    free_search(gains);
    free(gains->gain);
    free(gains->beyond);
    free(gains->part);
    *gains = (HcGains){0};
}

HcStatus hc_gains_open(HcGains *gains, const HcStripes *stripes, const HcScene *scene, HcError *err) {
    size_t values = (size_t)scene->samples * (size_t)scene->bands;
    *gains = (HcGains){.compute = stripes->compute,
                       .samples = scene->samples,
                       .bands = scene->bands,
                       .segment = hc_gains_segment(scene),
                       .segments = segments_of(scene),
                       .every = every_of(scene)};
    gains->components = (int32_t)hc_min64(components_of(scene->bands), stripes->basis.components);
    HC_OR_RETURN(hc_new(gains->part, scene->bands, what, err));
    HC_OR_RETURN(hc_new(gains->beyond, values, what, err));
    HC_OR_RETURN(hc_new(gains->gain, values, what, err));
    return hc_gains_again(gains, stripes, scene, err);
}

HcStatus hc_gains_again(HcGains *gains, const HcStripes *stripes, const HcScene *scene, HcError *err) {
    HcComputeInfo info;
    if (gains->segments == 0) {
        return HC_OK;
    }
    hc_compute_info(stripes->compute, &info);
    size_t values = (size_t)scene->samples * (size_t)scene->bands;
    size_t bytes = strip_bytes(scene->samples, scene->bands);
    gains->team = hc_team_open(hc_team_count(info.threads, TEAM));
    HC_OR_RETURN(hc_linear_upload(gains->compute, &stripes->basis, gains->components, &gains->device, err));
    HC_OR_RETURN(
        hc_memory_zeros(gains->compute, strip_bytes(scene->samples, gains->components), &gains->strip, err));
    HC_OR_RETURN(hc_memory_zeros(gains->compute, bytes, &gains->expected, err));
    HC_OR_RETURN(hc_alloc(gains->compute, HC_MEMORY_HOST, 2 * bytes, &gains->fetched, err));
    for (int i = 0; i < 2; i++) {
        HC_OR_RETURN(hc_new(gains->lines_of[i], (size_t)gains->segment * values, what, err));
    }
    HC_OR_RETURN(hc_new(gains->slope, (size_t)gains->segments * values, what, err));
    return hc_new(gains->weight, (size_t)gains->segments * values, what, err);
}

/* ---- slopes of a segment ---- */

typedef struct Weighted {
    double value, weight;
} Weighted;

static int by_value(const void *a, const void *b) {
    double x = ((const Weighted *)a)->value, y = ((const Weighted *)b)->value;
    return (x > y) - (x < y);
}

/* Sorts them. No weight: 0. */
static double weighted_median(Weighted *item, int32_t count) {
    double all = 0, sum = 0;
    for (int32_t i = 0; i < count; i++) {
        all += item[i].weight;
    }
    if (!(all > 0)) {
        return 0;
    }
    qsort(item, (size_t)count, sizeof *item, by_value);
    int32_t i = 0;
    for (; i + 1 < count && sum + item[i].weight < all / 2; i++) {
        sum += item[i].weight;
    }
    return item[i].value;
}

/* The slope of the line of e over y with the least absolute deviations, by turns with its height (a convex
 * problem; four rounds change it by no more). y becomes its deviation from its median. */
static double slope_of(double *y, const double *e, int32_t count, double *weight) {
    Weighted item[SEGMENT_MAX];
    double slope = 0;
    for (int32_t i = 0; i < count; i++) {
        item[i] = (Weighted){y[i], 1};
    }
    double middle = weighted_median(item, count);
    *weight = 0;
    for (int32_t i = 0; i < count; i++) {
        y[i] -= middle;
        *weight += fabs(y[i]);
    }
    for (int32_t round = 0; round<ROUNDS && * weight> 0; round++) {
        for (int32_t i = 0; i < count; i++) {
            item[i] = (Weighted){e[i] - slope * y[i], 1};
        }
        double height = weighted_median(item, count);
        int32_t n = 0;
        for (int32_t i = 0; i < count; i++) {
            if (y[i] != 0) {
                item[n++] = (Weighted){(e[i] - height) / y[i], fabs(y[i])};
            }
        }
        slope = weighted_median(item, n);
    }
    return slope;
}

typedef struct Segment {
    const HcGains *gains;
    float *slope, *weight; /* of the segment */
} Segment;

static void find_slopes(void *user, int64_t sample, int32_t thread) {
    (void)thread;
    const Segment *segment = user;
    const HcGains *gains = segment->gains;
    size_t line = (size_t)gains->samples * (size_t)gains->bands;
    for (int32_t b = 0; b < gains->bands; b++) {
        size_t at = (size_t)sample * (size_t)gains->bands + (size_t)b;
        double y[SEGMENT_MAX], e[SEGMENT_MAX], weight = 0;
        int32_t count = 0;
        for (int32_t l = 0; l < gains->segment; l++) {
            float value = gains->lines_of[0][(size_t)l * line + at];
            y[count] = (double)value;
            e[count] = (double)gains->lines_of[1][(size_t)l * line + at];
            count += !isnan(value);
        }
        segment->slope[at] = (float)slope_of(y, e, count, &weight);
        segment->weight[at] = (float)weight;
    }
}

static void take_line(HcGains *gains, int64_t line, const float *value, const float *expected,
                      const uint8_t *mask) {
    size_t values = (size_t)gains->samples * (size_t)gains->bands;
    int64_t number = line / gains->segment;
    int32_t row = (int32_t)(line % gains->segment);
    bool wanted = number % gains->every == 0 && number / gains->every < gains->segments;
    for (size_t i = 0; wanted && i < values; i++) {
        bool valid = mask[i / (size_t)gains->bands] != 0;
        gains->lines_of[0][(size_t)row * values + i] = valid ? expected[i] : NAN;
        gains->lines_of[1][(size_t)row * values + i] = valid ? value[i] - expected[i] : NAN;
    }
    if (wanted && row + 1 == gains->segment) {
        size_t at = (size_t)(number / gains->every) * values;
        Segment segment = {gains, gains->slope + at, gains->weight + at};
        hc_team_run(gains->team, gains->samples, find_slopes, &segment);
    }
}

/* A view of some lines in a buffer. */
static HcBlock strip_of(const HcBlock *lines, const HcBuffer *buffer, int32_t bands) {
    HcBlock strip = *lines;
    strip.bands = bands;
    strip.data = buffer->data;
    strip.mask = (uint8_t *)buffer->data + hc_block_values(&strip) * sizeof(float);
    return strip;
}

HcStatus hc_gains_observe(HcGains *gains, HcQueue *queue, const HcBlock *in, HcError *err) {
    int64_t end = in->line0 + in->lines;
    for (int64_t first = in->line0; gains->segments > 0 && first < end; first += OBSERVED) {
        HcBlock part = hc_block_part(in, first, hc_min64(end, first + OBSERVED), 0);
        HcBlock strip = strip_of(&part, &gains->strip, gains->components);
        HcBlock expected = strip_of(&part, &gains->expected, gains->bands);
        size_t values = hc_block_values(&part), line = (size_t)gains->samples * (size_t)gains->bands;
        float *value = gains->fetched.data;
        uint8_t *mask = (uint8_t *)(value + 2 * values);
        HC_OR_RETURN(
            hc_project(queue, &part, gains->device.forward.data, gains->device.mean.data, NULL, &strip, err));
        HC_OR_RETURN(hc_project(queue, &strip, gains->device.inverse.data, NULL, gains->device.mean.data,
                                &expected, err));
        HC_OR_RETURN(hc_download(queue, part.data, value, values * sizeof *value, err));
        HC_OR_RETURN(hc_download(queue, expected.data, value + values, values * sizeof *value, err));
        HC_OR_RETURN(hc_download(queue, part.mask, mask, hc_block_pixels(&part), err));
        HC_OR_RETURN(hc_wait(queue, err));
        for (int32_t l = 0; l < part.lines; l++) {
            take_line(gains, first + l, value + (size_t)l * line, value + values + (size_t)l * line,
                      mask + (size_t)l * (size_t)gains->samples);
        }
    }
    return HC_OK;
}

/* ---- gains ---- */

/* The slope of a column and band in the segments first .. end - 1. */
static double slope_of_half(const HcGains *gains, int32_t first, int32_t end, size_t at) {
    Weighted item[SEGMENTS_MAX];
    size_t values = (size_t)gains->samples * (size_t)gains->bands;
    for (int32_t k = first; k < end; k++) {
        size_t from = (size_t)k * values + at;
        item[k - first] = (Weighted){(double)gains->slope[from], (double)gains->weight[from]};
    }
    return weighted_median(item, end - first);
}

/* One band. */
typedef struct Band {
    double *slope[2]; /* [columns] by half of the scene, about their mean */
    double *term;     /* [columns] terms over the level of the column */
} Band;

static double mean_product(const double *x, const double *y, int64_t count) {
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += x[i] * y[i];
    }
    return sum / (double)count;
}

static void centre(double *x, int64_t count) {
    double mean = 0;
    for (int64_t i = 0; i < count; i++) {
        mean += x[i] / (double)count;
    }
    for (int64_t i = 0; i < count; i++) {
        x[i] -= mean;
    }
}

static void read_band(const HcGains *gains, const HcStripes *stripes, size_t b, Band *band) {
    int32_t half = gains->segments / 2;
    for (int64_t s = 0; s < gains->samples; s++) {
        size_t at = (size_t)s * (size_t)gains->bands + b;
        double level = stripes->mean[at] - stripes->term[at];
        band->slope[0][s] = slope_of_half(gains, 0, half, at);
        band->slope[1][s] = slope_of_half(gains, half, gains->segments, at);
        band->term[s] = level > fabs(stripes->term[at]) ? stripes->term[at] / level : 0;
    }
    centre(band->slope[0], gains->samples);
    centre(band->slope[1], gains->samples);
}

/* The part of the terms that are gains: slopes follow them. `weight`: 1 over its variance. */
static double part_of(const Band *band, int64_t columns, double *weight) {
    double terms = mean_product(band->term, band->term, columns), by_chance = 0;
    if (!(terms > 0)) {
        *weight = 0;
        return 0;
    }
    double part = (mean_product(band->slope[0], band->term, columns) +
                   mean_product(band->slope[1], band->term, columns)) /
                  (2 * terms);
    for (int64_t s = 0; s < columns; s++) {
        double differs = (band->slope[0][s] + band->slope[1][s]) / 2 - part * band->term[s];
        by_chance += differs * differs / (double)columns;
    }
    *weight = by_chance > 0 ? terms * (double)columns / by_chance : 0;
    return part;
}

/* Parts of neighbouring bands have a mean: detectors differ, the kind of their stripes does not. */
static double smooth_part(const double *part, const double *weight, int32_t bands, int32_t band) {
    double sum = 0, all = 0;
    for (int32_t b = band - NEIGHBOURS; b <= band + NEIGHBOURS; b++) {
        bool is_band = b >= 0 && b < bands;
        sum += is_band ? weight[b] * part[b] : 0;
        all += is_band ? weight[b] : 0;
    }
    return all > 0 && sum / all > SURE / sqrt(all) ? fmin(sum / all, 1) : 0;
}

/* How much of what slopes have beyond the terms is no chance: both halves of the scene agree on it, and so
 * do steps from column to column. */
static double share_of(const Band *band, int64_t columns) {
    double steps = 0;
    const double *x = band->slope[0], *y = band->slope[1];
    for (int64_t s = 0; s + 2 < columns; s++) {
        steps -= ((x[s + 1] - x[s]) * (y[s + 2] - y[s + 1]) + (y[s + 1] - y[s]) * (x[s + 2] - x[s + 1])) /
                 (2 * (double)(columns - 2));
    }
    double both = fmin(mean_product(x, y, columns), steps);
    double one = mean_product(x, x, columns), other = mean_product(y, y, columns);
    double all = (one + other + 2 * mean_product(x, y, columns)) / 4;
    return both > SURE * sqrt(one * other / (double)columns) ? fmin(both / all, 1) : 0;
}

static HcStatus open_band(const HcGains *gains, Band *band, HcError *err) {
    HC_OR_RETURN(hc_new(band->slope[0], gains->samples, what, err));
    HC_OR_RETURN(hc_new(band->slope[1], gains->samples, what, err));
    return hc_new(band->term, gains->samples, what, err);
}

/* Slopes are those of the scene without the gains of the round before. */
static void add_slopes(HcGains *gains, const Band *band, size_t b) {
    size_t bands = (size_t)gains->bands;
    for (int64_t s = 0; s < gains->samples; s++) {
        size_t at = (size_t)s * bands + b;
        double now = gains->part[b] * band->term[s] + gains->beyond[at] - gains->gain[at];
        band->slope[0][s] -= now;
        band->slope[1][s] -= now;
    }
    double share = share_of(band, gains->samples);
    gains->found = gains->found || gains->part[b] > 0 || share > 0;
    for (int64_t s = 0; s < gains->samples; s++) {
        size_t at = (size_t)s * bands + b;
        gains->beyond[at] += share * (band->slope[0][s] + band->slope[1][s]) / 2;
        double gain = gains->part[b] * band->term[s] + gains->beyond[at];
        gains->gain[at] = fmax(-0.5, fmin(gain, 0.5));
    }
}

/* Once: in a scene without these gains, slopes say no more of the terms. */
static HcStatus find_parts(HcGains *gains, const HcStripes *stripes, Band *band, HcError *err) {
    HcStatus status = HC_OK;
    double *part = NULL, *weight = NULL;
    HC_TRY(hc_new(part, gains->bands, what, err));
    HC_TRY(hc_new(weight, gains->bands, what, err));
    for (int32_t b = 0; b < gains->bands; b++) {
        read_band(gains, stripes, (size_t)b, band);
        part[b] = part_of(band, gains->samples, &weight[b]);
    }
    for (int32_t b = 0; b < gains->bands; b++) {
        gains->part[b] = smooth_part(part, weight, gains->bands, b);
    }
done:
    free(part);
    free(weight);
    return status;
}

static HcStatus make_gains(HcGains *gains, const HcStripes *stripes, HcError *err) {
    HcStatus status = HC_OK;
    Band band = {0};
    HC_TRY(open_band(gains, &band, err));
    if (!gains->found) {
        HC_TRY(find_parts(gains, stripes, &band, err));
    }
    for (size_t b = 0; b < (size_t)gains->bands; b++) {
        read_band(gains, stripes, b, &band);
        add_slopes(gains, &band, b);
    }
done:
    free(band.slope[0]);
    free(band.slope[1]);
    free(band.term);
    return status;
}

HcStatus hc_gains_settle(HcGains *gains, const HcStripes *stripes, HcRanks *ranks, HcError *err) {
    HcStatus status = HC_OK;
    size_t bytes = (size_t)gains->segments * (size_t)gains->samples * (size_t)gains->bands * sizeof(float);
    if (gains->segments == 0) {
        return HC_OK;
    }
    HC_TRY(hc_ranks_join(ranks, gains->slope, bytes, err));
    HC_TRY(hc_ranks_join(ranks, gains->weight, bytes, err));
    HC_TRY(make_gains(gains, stripes, err));
done:
    free_search(gains);
    return status;
}
