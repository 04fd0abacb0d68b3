/* Spectra are convolved with the part of a band's response that the library has not been through yet: the
 * Gaussian of width sqrt(f^2 - g^2). The integral over straight lines between values is exact, so that
 * uneven spacing does not matter. */
#include "pipeline/spectra/resample.h"
#include "core/allocate.h"
#include "pipeline/statistics/median.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A Gaussian of full width 1 at half maximum has this standard deviation. */
static const double deviation_of_width = 0.42466090014400953;

/* Instead of 0, so that a point is a Gaussian too: far below the distance of any two bands [nm]. */
static const double least_deviation = 1e-6;

/* Standard deviations beyond which a Gaussian is left out: 2e-9 of it, less than float32 resolves. */
static const double reach = 6;

typedef struct Gaussian {
    double centre, deviation;
} Gaussian;

/* One band of those that come in, sorted by wavelength. */
typedef struct Source {
    double centre;
    double low, high; /* what a value here stands for */
    double width;
    int32_t band; /* in the order given */
} Source;

typedef struct Resampler {
    const HcBandSet *to;
    Source *source; /* [sources] */
    int32_t sources;
    double *kernel;          /* [to->count] deviations of the Gaussians */
    uint8_t *valid, *before; /* [sources] which values a spectrum has, and the one before had */
    double *x;               /* [known] the centres of the sources that are valid */
    int32_t *at;             /* [known] their bands */
    int32_t known;
    double *weight; /* [to->count][sources] of x[first[b]] and so on */
    int32_t *first; /* [to->count] */
    int32_t *terms; /* [to->count] 0 = not covered */
} Resampler;

/* ---- bands ---- */

void hc_band_spacing(const double *centre, int32_t count, double *spacing) {
    for (int32_t b = 0; b < count; b++) {
        double step[4];
        int steps = 0;
        for (int32_t from = b - 2; from < b + 2; from++) {
            double apart = from >= 0 && from + 1 < count ? fabs(centre[from + 1] - centre[from]) : 0;
            if (apart > 0) {
                step[steps++] = apart;
            }
        }
        spacing[b] = steps > 0 ? hc_lower_median(step, (size_t)steps) : 0;
    }
}

static int by_centre(const void *a, const void *b) {
    const Source *left = a;
    const Source *right = b;
    int order = (left->centre > right->centre) - (left->centre < right->centre);
    return order != 0 ? order : (left->band > right->band) - (left->band < right->band);
}

/* `low` and `high` hold the reach to either side until all are sorted. */
static void set_cells(Resampler *resampler) {
    Source *source = resampler->source;
    int32_t last = resampler->sources - 1;
    for (int32_t k = 0; k <= last; k++) {
        double most = source[k].high;
        double below = k > 0 ? (source[k].centre - source[k - 1].centre) / 2 : most / 2;
        double above = k < last ? (source[k + 1].centre - source[k].centre) / 2 : most / 2;
        source[k].low = source[k].centre - fmin(below, most);
        source[k].high = source[k].centre + fmin(above, most);
    }
}

static void sort_sources(Resampler *resampler, const HcBandSet *from, const double *spacing) {
    for (int32_t k = 0; k < from->count; k++) {
        resampler->source[k] = (Source){.centre = from->centre[k],
                                        .high = fmax(from->width[k], spacing[k]),
                                        .width = from->width[k],
                                        .band = k};
    }
    qsort(resampler->source, (size_t)from->count, sizeof *resampler->source, by_centre);
    set_cells(resampler);
}

/* How many of x[count], which rise, lie below a value. */
static int32_t count_below(const double *x, int32_t count, double value) {
    int32_t low = 0;
    while (low < count) {
        int32_t middle = low + (count - low) / 2;
        if (x[middle] < value) {
            low = middle + 1;
        } else {
            count = middle;
        }
    }
    return low;
}

/* The deviations of the Gaussians that widen bands; x holds all centres here. Returns how many vanish. */
static int32_t set_kernels(Resampler *resampler) {
    const HcBandSet *to = resampler->to;
    int32_t vanish = 0;
    for (int32_t b = 0; b < to->count; b++) {
        int32_t near = count_below(resampler->x, resampler->sources, to->centre[b]);
        if (near == resampler->sources ||
            (near > 0 && to->centre[b] - resampler->x[near - 1] < resampler->x[near] - to->centre[b])) {
            near--;
        }
        double width = resampler->source[near].width;
        double squares = (to->width[b] - width) * (to->width[b] + width);
        vanish += !(squares > 0);
        resampler->kernel[b] = fmax(sqrt(fmax(squares, 0)) * deviation_of_width, least_deviation);
    }
    return vanish;
}

/* ---- weights ---- */

/* The part of a Gaussian below x. */
static double part_below(const Gaussian *gaussian, double x) {
    return 0.5 * erfc((gaussian->centre - x) / gaussian->deviation * M_SQRT1_2);
}

static double density(const Gaussian *gaussian, double x) {
    double t = (x - gaussian->centre) / gaussian->deviation;
    return exp(-0.5 * t * t) / (gaussian->deviation * sqrt(2 * M_PI));
}

/* The part of the response of a band that lies on valid values. */
static double covered_part(const Resampler *resampler, const Gaussian *response) {
    double sum = 0;
    for (int32_t k = 0; k < resampler->sources; k++) {
        const Source *source = &resampler->source[k];
        if (resampler->valid[k] && source->high > response->centre - reach * response->deviation &&
            source->low < response->centre + reach * response->deviation) {
            sum += part_below(response, source->high) - part_below(response, source->low);
        }
    }
    return sum;
}

/* weight[0..last] of the values at x[0..last] in the integral of the Gaussian times the straight lines
 * between them, with the end values beyond the ends. */
static void weigh(const Gaussian *gaussian, const double *x, int32_t last, double *weight) {
    double below = part_below(gaussian, x[0]);
    double dense = density(gaussian, x[0]);
    double variance = gaussian->deviation * gaussian->deviation;
    weight[0] = below;
    for (int32_t j = 0; j < last; j++) {
        double below_next = part_below(gaussian, x[j + 1]);
        double dense_next = density(gaussian, x[j + 1]);
        double length = x[j + 1] - x[j];
        double mass = below_next - below;
        double moment = (gaussian->centre - x[j]) * mass - variance * (dense_next - dense);
        double share = length > 0 ? moment / length : 0;
        weight[j] += mass - share;
        weight[j + 1] = share;
        below = below_next;
        dense = dense_next;
    }
    weight[last] += 1 - below;
}

/* For the values that are valid now. */
static void set_weights(Resampler *resampler) {
    const HcBandSet *to = resampler->to;
    resampler->known = 0;
    for (int32_t k = 0; k < resampler->sources; k++) {
        if (resampler->valid[k]) {
            resampler->x[resampler->known] = resampler->source[k].centre;
            resampler->at[resampler->known++] = resampler->source[k].band;
        }
    }
    for (int32_t b = 0; b < to->count; b++) {
        const Gaussian kernel = {to->centre[b], resampler->kernel[b]};
        const Gaussian response = {to->centre[b], fmax(to->width[b] * deviation_of_width, least_deviation)};
        resampler->terms[b] = 0;
        if (covered_part(resampler, &response) >= 0.5) {
            double span = reach * kernel.deviation;
            int32_t from = count_below(resampler->x, resampler->known, kernel.centre - span);
            int32_t last = count_below(resampler->x, resampler->known, kernel.centre + span);
            from -= from > 0;
            last -= last == resampler->known;
            resampler->first[b] = from;
            resampler->terms[b] = last - from + 1;
            weigh(&kernel, resampler->x + from, last - from,
                  resampler->weight + (size_t)b * (size_t)resampler->sources);
        }
    }
}

static void resample_one(const Resampler *resampler, const float *value, float *out) {
    for (int32_t b = 0; b < resampler->to->count; b++) {
        const double *weight = resampler->weight + (size_t)b * (size_t)resampler->sources;
        const int32_t *at = resampler->at + resampler->first[b];
        double sum = 0;
        for (int32_t j = 0; j < resampler->terms[b]; j++) {
            sum += weight[j] * (double)value[at[j]];
        }
        out[b] = resampler->terms[b] > 0 ? (float)sum : NAN;
    }
}

/* ---- all spectra ---- */

static HcStatus make_resampler(Resampler *resampler, const HcBandSet *from, const HcBandSet *to,
                               HcError *err) {
    static const char what[] = "the weights of a spectral library";
    size_t sources = (size_t)from->count;
    size_t bands = (size_t)to->count;
    *resampler = (Resampler){.to = to, .sources = from->count};
    HC_OR_RETURN(hc_new(resampler->source, sources, what, err));
    HC_OR_RETURN(hc_new(resampler->valid, sources, what, err));
    HC_OR_RETURN(hc_new(resampler->before, sources, what, err));
    HC_OR_RETURN(hc_new(resampler->x, sources, what, err));
    HC_OR_RETURN(hc_new(resampler->at, sources, what, err));
    HC_OR_RETURN(hc_new(resampler->kernel, bands, what, err));
    HC_OR_RETURN(hc_new(resampler->first, bands, what, err));
    HC_OR_RETURN(hc_new(resampler->terms, bands, what, err));
    HC_OR_RETURN(hc_new(resampler->weight, bands * sources, what, err));
    return HC_OK;
}

static void free_resampler(Resampler *resampler) {
    free(resampler->source);
    free(resampler->valid);
    free(resampler->before);
    free(resampler->x);
    free(resampler->at);
    free(resampler->kernel);
    free(resampler->first);
    free(resampler->terms);
    free(resampler->weight);
}

/* Weights hold until a spectrum comes that has values elsewhere. */
static void resample_all(Resampler *resampler, const float *value, int32_t spectra, float *out) {
    size_t sources = (size_t)resampler->sources;
    for (int32_t i = 0; i < spectra; i++) {
        const float *spectrum = value + (size_t)i * sources;
        for (size_t k = 0; k < sources; k++) {
            resampler->valid[k] = isfinite(spectrum[resampler->source[k].band]) != 0;
        }
        if (memcmp(resampler->valid, resampler->before, sources) != 0) {
            set_weights(resampler);
            memcpy(resampler->before, resampler->valid, sources);
        }
        resample_one(resampler, spectrum, out + (size_t)i * (size_t)resampler->to->count);
    }
}

HcStatus hc_resample(const HcBandSet *from, const float *value, int32_t spectra, const HcBandSet *to,
                     float *out, int32_t *interpolated, HcError *err) {
    HcStatus status = HC_OK;
    Resampler resampler = {0};
    HC_TRY(make_resampler(&resampler, from, to, err));
    hc_band_spacing(from->centre, from->count, resampler.x);
    sort_sources(&resampler, from, resampler.x);
    for (int32_t k = 0; k < from->count; k++) {
        resampler.x[k] = resampler.source[k].centre;
    }
    *interpolated = set_kernels(&resampler);
    resample_all(&resampler, value, spectra, out);
done:
    free_resampler(&resampler);
    return status;
}
