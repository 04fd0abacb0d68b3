/* Pixels are sorted by their place, so that a block finds its own by bisection and copies runs of neighbours
 * at once. Ranks fill their pixels of one array of zeros; joining them is an OR of bytes. */
#include "pipeline/spectra/spectra.h"
#include "core/allocate.h"
#include "pipeline/memory.h"
#include "pipeline/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

HcStatus hc_spectra_choose(HcSpectra *spectra, const HcScene *scene, int64_t most, int64_t run,
                           HcError *err) {
    HcLabelled *pixels = &spectra->pixels;
    int64_t all = scene->lines * scene->samples;
    int64_t step = all / most + 1;
    size_t count = (size_t)((all + step - 1) / step);
    pixels->count = (int64_t)count;
    HC_OR_RETURN(hc_new(pixels->sample, count, "some pixels of the scene", err));
    HC_OR_RETURN(hc_new(pixels->line, count, "some pixels of the scene", err));
    HC_OR_RETURN(hc_new(pixels->label, count, "some pixels of the scene", err));
    for (size_t i = 0; i < count; i++) {
        int64_t place = (int64_t)i / run * run * step + (int64_t)i % run;
        pixels->line[i] = (int32_t)(place / scene->samples);
        pixels->sample[i] = (int32_t)(place % scene->samples);
    }
    return HC_OK;
}

size_t hc_spectra_bytes(const HcSpectra *spectra, int32_t bands) {
    return (size_t)spectra->pixels.count * ((size_t)bands * sizeof(float) + 1);
}

HcStatus hc_spectra_open(HcSpectra *spectra, HcCompute *compute, int32_t bands, HcError *err) {
    size_t count = (size_t)spectra->pixels.count;
    spectra->bands = bands;
    HC_OR_RETURN(hc_alloc(compute, HC_MEMORY_HOST, hc_spectra_bytes(spectra, bands), &spectra->memory, err));
    spectra->value = spectra->memory.data;
    spectra->valid = (uint8_t *)(spectra->value + count * (size_t)bands);
    memset(spectra->value, 0, hc_spectra_bytes(spectra, bands));
    return HC_OK;
}

/* The first pixel at or behind the beginning of a line. */
static int64_t first_at(const HcLabelled *pixels, int64_t line) {
    int64_t low = 0;
    int64_t high = pixels->count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (pixels->line[middle] < line) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static int64_t place_in(const HcBlock *block, const HcLabelled *pixels, int64_t at) {
    return (pixels->line[at] - hc_block_first_line(block)) * block->samples + pixels->sample[at];
}

HcStatus hc_spectra_gather(const HcSpectra *spectra, HcQueue *queue, const HcBlock *in, HcError *err) {
    const HcLabelled *pixels = &spectra->pixels;
    size_t bands = (size_t)spectra->bands;
    int64_t at = first_at(pixels, in->line0);
    int64_t end = first_at(pixels, in->line0 + in->lines);
    while (at < end) {
        /* Pixels that follow one another in the block are one copy, to where they stay. */
        int64_t place = place_in(in, pixels, at);
        int64_t run = 1;
        while (at + run < end && place_in(in, pixels, at + run) == place + run) {
            run++;
        }
        HC_OR_RETURN(hc_download(queue, in->data + (size_t)place * bands, spectra->value + (size_t)at * bands,
                                 (size_t)run * bands * sizeof(float), err));
        HC_OR_RETURN(hc_download(queue, in->mask + place, spectra->valid + at, (size_t)run, err));
        at += run;
    }
    return HC_OK;
}

HcStatus hc_spectra_join(HcSpectra *spectra, HcRanks *ranks, HcError *err) {
    if (spectra->value == NULL) {
        return HC_OK; /* none were asked for */
    }
    return hc_ranks_join(ranks, spectra->value, hc_spectra_bytes(spectra, spectra->bands), err);
}

static bool all_finite(const float *value, int32_t bands) {
    for (int32_t b = 0; b < bands; b++) {
        if (!isfinite(value[b])) {
            return false;
        }
    }
    return true;
}

int64_t hc_spectra_check(HcSpectra *spectra) {
    int64_t left_out = 0;
    for (int64_t i = 0; i < spectra->pixels.count; i++) {
        const float *value = spectra->value + (size_t)i * (size_t)spectra->bands;
        spectra->valid[i] = spectra->valid[i] != 0 && all_finite(value, spectra->bands);
        left_out += !spectra->valid[i];
    }
    return left_out;
}

void hc_spectra_release(HcSpectra *spectra, HcCompute *compute) {
    hc_memory_release(compute, &spectra->memory);
    spectra->value = NULL;
    spectra->valid = NULL;
}

void hc_spectra_clear(HcSpectra *spectra, HcCompute *compute) {
    hc_spectra_release(spectra, compute);
    hc_labelled_clear(&spectra->pixels);
    *spectra = (HcSpectra){0};
}

/* Whether pixel i of a lies before pixel k of b in the scene. */
static bool before(const HcLabelled *a, int64_t i, const HcLabelled *b, int64_t k) {
    return a->line[i] != b->line[k] ? a->line[i] < b->line[k] : a->sample[i] < b->sample[k];
}

int64_t hc_spectra_without(HcSpectra *spectra, const HcSpectra *others) {
    int64_t found = 0;
    int64_t k = 0;
    for (int64_t i = 0; i < spectra->pixels.count; i++) {
        while (k < others->pixels.count && before(&others->pixels, k, &spectra->pixels, i)) {
            k++;
        }
        bool both = k < others->pixels.count && !before(&spectra->pixels, i, &others->pixels, k);
        if (both && spectra->valid[i] && others->valid[k]) {
            spectra->valid[i] = 0;
            found++;
        }
    }
    return found;
}

HcStatus hc_spectra_split(const HcSpectra *spectra, double fraction, uint64_t seed, uint8_t *trains,
                          HcError *err) {
    const HcLabelled *pixels = &spectra->pixels;
    size_t classes = (size_t)pixels->classes.count;
    int64_t *left = NULL;
    HC_OR_RETURN(hc_new(left, 2 * classes, "a split", err));
    int64_t *wanted = left + classes;
    for (int64_t i = 0; i < pixels->count; i++) {
        left[pixels->label[i]] += spectra->valid[i];
    }
    for (size_t c = 0; c < classes; c++) {
        int64_t share = (int64_t)floor(fraction * (double)left[c] + 0.5);
        share = share < 1 ? 1 : share;
        wanted[c] = share < left[c] ? share : left[c];
    }
    /* Selection sampling (Fan, Muller, Rezucha 1962; Knuth's algorithm S), all classes at once. */
    for (int64_t i = 0; i < pixels->count; i++) {
        int32_t c = pixels->label[i];
        trains[i] = 0;
        if (spectra->valid[i]) {
            trains[i] = hc_random_uniform(&seed) * (double)left[c] < (double)wanted[c];
            wanted[c] -= trains[i];
            left[c]--;
        }
    }
    free(left);
    return HC_OK;
}

HcStatus hc_spectra_split_features(const HcSpectra *spectra, double fraction, uint64_t seed, uint8_t *trains,
                                   HcWholeClasses *whole, HcError *err) {
    HcStatus status = HC_OK;
    const HcLabelled *pixels = &spectra->pixels;
    size_t classes = (size_t)pixels->classes.count;
    int32_t *left = NULL,
            *class_of = NULL; /* class_of: of a feature with a valid pixel; then whether it trains */
    HC_TRY(hc_new(left, 2 * classes, "a split", err));
    HC_TRY(hc_new(class_of, pixels->features, "a split", err));
    int32_t *wanted = left + classes;
    for (int64_t i = 0; i < pixels->count; i++) {
        int32_t *class = &class_of[pixels->feature[i]];
        left[pixels->label[i]] += spectra->valid[i] && *class == 0;
        *class = spectra->valid[i] ? pixels->label[i] : *class;
    }
    for (size_t c = 0; c < classes; c++) {
        int32_t share = (int32_t)floor(fraction * (double)left[c] + 0.5);
        int32_t most = left[c] > 1 ? left[c] - 1 : left[c];
        share = share < 1 ? 1 : share;
        wanted[c] = share < most ? share : most;
        whole->first = left[c] == 1 && whole->count == 0 ? (int32_t)c : whole->first;
        whole->count += left[c] == 1;
    }
    for (int32_t k = 0; k < pixels->features; k++) {
        int32_t c = class_of[k];
        class_of[k] = c > 0 && hc_random_uniform(&seed) * (double)left[c] < (double)wanted[c];
        wanted[c] -= class_of[k];
        left[c] -= c > 0;
    }
    for (int64_t i = 0; i < pixels->count; i++) {
        trains[i] = spectra->valid[i] && class_of[pixels->feature[i]] != 0;
    }
done:
    free(left);
    free(class_of);
    return status;
}

HcStatus hc_samples_take(HcSamples *samples, const HcSpectra *spectra, const uint8_t *marks, uint8_t wanted,
                         HcError *err) {
    HcStatus status = HC_OK;
    const HcLabelled *pixels = &spectra->pixels;
    size_t bands = (size_t)spectra->bands;
    int64_t count = 0;
    for (int64_t i = 0; i < pixels->count; i++) {
        count += spectra->valid[i] && (marks == NULL || marks[i] == wanted);
    }
    *samples = (HcSamples){.bands = spectra->bands};
    HC_TRY(hc_new(samples->value, (size_t)count * bands, "training spectra", err));
    HC_TRY(hc_new(samples->label, count, "training spectra", err));
    HC_TRY(hc_new(samples->from, count, "training spectra", err));
    for (int64_t i = 0; i < pixels->count; i++) {
        if (spectra->valid[i] && (marks == NULL || marks[i] == wanted)) {
            memcpy(samples->value + (size_t)samples->count * bands, spectra->value + (size_t)i * bands,
                   bands * sizeof *samples->value);
            samples->label[samples->count] = pixels->label[i];
            samples->from[samples->count++] = i;
        }
    }
done:
    if (status != HC_OK) {
        hc_samples_clear(samples);
    }
    return status;
}

void hc_samples_clear(HcSamples *samples) {
    free(samples->value);
    free(samples->label);
    free(samples->from);
    *samples = (HcSamples){0};
}

/* sum[b] of (x - mean), or of its square. */
static void add_up(const HcSamples *samples, const double *mean, bool square, double *sum) {
    size_t bands = (size_t)samples->bands;
    memset(sum, 0, bands * sizeof *sum);
    for (int64_t i = 0; i < samples->count; i++) {
        for (size_t b = 0; b < bands; b++) {
            double x = (double)samples->value[(size_t)i * bands + b] - (mean != NULL ? mean[b] : 0);
            sum[b] += square ? x * x : x;
        }
    }
}

/* Whether a band has one value only: rounding of the mean would hide it. */
static bool is_constant(const HcSamples *samples, size_t band) {
    size_t bands = (size_t)samples->bands;
    for (int64_t i = 1; i < samples->count; i++) {
        if (samples->value[(size_t)i * bands + band] != samples->value[band]) {
            return false;
        }
    }
    return true;
}

int32_t hc_samples_variance(const HcSamples *samples, double *mean, double *factor) {
    int32_t constant = 0;
    add_up(samples, NULL, false, mean);
    for (int32_t b = 0; b < samples->bands; b++) {
        mean[b] /= (double)samples->count;
    }
    add_up(samples, mean, true, factor);
    for (int32_t b = 0; b < samples->bands; b++) {
        bool flat = is_constant(samples, (size_t)b);
        factor[b] = flat ? 0 : 1 / sqrt(factor[b] / (double)(samples->count - 1));
        constant += flat;
    }
    return constant;
}

void hc_samples_scale(HcSamples *samples, const double *mean, const double *factor) {
    size_t bands = (size_t)samples->bands;
    for (int64_t i = 0; i < samples->count; i++) {
        for (size_t b = 0; b < bands; b++) {
            float *x = samples->value + (size_t)i * bands + b;
            *x = (float)(((double)*x - mean[b]) * factor[b]);
        }
    }
}
