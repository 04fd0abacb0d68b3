/* Wrong units and missing materials give abundances that look right. So some pixels, in runs of neighbours
 * all over the scene, are mixed again from their abundances and compared: the notes name the option that
 * cures what is found. */
#include "pipeline/spectra/abundance_fit.h"

#include "core/allocate.h"
#include "core/compare.h"
#include "pipeline/chain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Pixels that tell how well the scene is explained, about, in runs of neighbours. */
enum { FIT_PIXELS = 512, FIT_RUN = 32 };

/* A residual beyond this share of a pixel is large: that of noise at a signal-to-noise ratio of 20 dB. */
static const double large_share = 0.1;

/* Pixels and mixtures of one unit differ by less than this factor. */
static const double same_size = 1.25;

/* Sums of one cost much where their residuals are larger by this factor, and not mere rounding. */
static const double costly = 1.05;
static const double least_share = 1e-3;

/* Sums of free abundances beyond these limits tell that the library is in another unit: shade makes them
 * smaller, bright slopes a little larger. */
static const double least_total = 0.05;
static const double most_total = 4;

size_t hc_abundance_fit_bytes(const HcStage *stage) {
    return (size_t)(FIT_PIXELS + 1) * (size_t)(stage->in.bands + stage->out.bands + 1) * sizeof(float);
}

HcStatus hc_abundance_fit_open(HcAbundanceFit *fit, const HcStage *stage, HcError *err) {
    fit->missed = fit->size = NAN;
    HC_OR_RETURN(hc_spectra_choose(&fit->in, &stage->in, FIT_PIXELS, FIT_RUN, err));
    HC_OR_RETURN(hc_spectra_choose(&fit->out, &stage->in, FIT_PIXELS, FIT_RUN, err));
    HC_OR_RETURN(hc_spectra_open(&fit->in, stage->compute, stage->in.bands, err));
    return hc_spectra_open(&fit->out, stage->compute, stage->out.bands, err);
}

HcStatus hc_abundance_fit_add(const HcAbundanceFit *fit, HcQueue *queue, const HcBlock *in,
                              const HcBlock *out, HcError *err) {
    HC_OR_RETURN(hc_spectra_gather(&fit->in, queue, in, err));
    return hc_spectra_gather(&fit->out, queue, out, err);
}

/* mixture[bands] of the abundances of one pixel. */
static void mix(const float *abundance, const HcLibraryFit *library, double factor, int32_t top,
                double *mixture) {
    size_t bands = (size_t)library->bands;
    int32_t count = top > 0 ? top : library->count;
    memset(mixture, 0, bands * sizeof *mixture);
    for (int32_t i = 0; i < count; i++) {
        int32_t k = top > 0 ? (int32_t)abundance[i] : i;
        double x = (double)abundance[top + i] * factor;
        const float *spectrum = library->value + (size_t)(k > 0 ? k : 0) * bands;
        for (size_t b = 0; b < bands && k >= 0 && x > 0; b++) {
            mixture[b] += x * (double)spectrum[b];
        }
    }
}

/* sum |pixel - factor mixture| over the bands that have a value; with the factor of least squares also, what
 * a free sum leaves at most. */
static void add_cost(HcAbundanceFit *fit, const float *pixel, const double *mixture) {
    double both = 0, square = 0;
    for (int32_t b = 0; b < fit->in.bands; b++) {
        both += isfinite(pixel[b]) ? (double)pixel[b] * mixture[b] : 0;
        square += isfinite(pixel[b]) ? mixture[b] * mixture[b] : 0;
    }
    double factor = square > 0 ? both / square : 1;
    for (int32_t b = 0; b < fit->in.bands; b++) {
        if (isfinite(pixel[b])) {
            double x = (double)pixel[b];
            fit->values += fabs(x);
            fit->left += fabs(x - mixture[b]);
            fit->left_scaled += fabs(x - factor * mixture[b]);
        }
    }
}

static double median(double *value, size_t count) {
    qsort(value, count, sizeof *value, hc_compare_doubles);
    return count > 0 ? value[count / 2] : NAN;
}

/* scratch[2 * pixels + bands] */
static void work_out(HcAbundanceFit *fit, const HcScaledLibrary *library, int32_t top, double *scratch) {
    size_t known = 0;
    size_t sized = 0;
    size_t pixels = (size_t)fit->in.pixels.count;
    double *mixture = scratch + 2 * pixels;
    for (size_t i = 0; i < pixels; i++) {
        const float *pixel = fit->in.value + i * (size_t)fit->in.bands;
        const float *abundance = fit->out.value + i * (size_t)fit->out.bands;
        double deviation = 0;
        double values = 0;
        double mixtures = 0;
        if (fit->in.valid[i] == 0 || fit->out.valid[i] == 0) {
            continue;
        }
        mix(abundance, &library->fit, library->factor, top, mixture);
        for (int32_t b = 0; b < fit->in.bands; b++) {
            if (isfinite(pixel[b])) {
                deviation += fabs((double)pixel[b] - mixture[b]);
                values += fabs((double)pixel[b]);
                mixtures += fabs(mixture[b]);
            }
        }
        add_cost(fit, pixel, mixture);
        if (values > 0) {
            scratch[known++] = deviation / values;
        }
        if (values > 0 && mixtures > 0) {
            scratch[pixels + sized++] = values / mixtures;
        }
    }
    fit->missed = median(scratch, known);
    fit->size = median(scratch + pixels, sized);
}

HcStatus hc_abundance_fit_gather(HcAbundanceFit *fit, const HcStage *stage, const HcScaledLibrary *library,
                                 int32_t top, HcError *err) {
    HcStatus status = HC_OK;
    size_t doubles = 2 * (size_t)fit->in.pixels.count + (size_t)fit->in.bands;
    double *scratch = NULL;
    HC_OR_RETURN(hc_new(scratch, doubles, "how well abundances fit", err));
    HC_TRY(hc_spectra_join(&fit->in, hc_stage_ranks(stage), err));
    HC_TRY(hc_spectra_join(&fit->out, hc_stage_ranks(stage), err));
    if (fit->in.value != NULL && fit->out.value != NULL) {
        work_out(fit, library, top, scratch);
    }
    hc_spectra_release(&fit->in, stage->compute);
    hc_spectra_release(&fit->out, stage->compute);
done:
    free(scratch);
    return status;
}

void hc_abundance_fit_note(HcStage *stage, const HcAbundanceFit *fit, bool sums, double total,
                           const char *cure) {
    char size[100] = "";
    if (sums && fit->left > costly * fit->left_scaled && fit->left > least_share * fit->values) {
        hc_stage_note(
            stage,
            "sums of one cost the fit at least %.0f %%: mixtures miss %.3g %% of the values, and %.3g %% "
            "once each has a factor (%s)",
            100 * (fit->left / fit->left_scaled - 1), 100 * fit->left / fit->values,
            100 * fit->left_scaled / fit->values, cure);
    }
    if (sums && fit->missed > large_share) {
        if (fit->size > same_size || fit->size < 1 / same_size) {
            snprintf(size, sizeof size, ", which are %.3g times their mixtures", fit->size);
        }
        hc_stage_note(
            stage,
            "the mixtures miss half of the pixels by %.0f %% of their values or more%s: sums of one need a "
            "library in the unit of the scene (--scale FACTOR) with every material (else %s)",
            100 * fit->missed, size, cure);
    } else if (!sums && total > 0 && (total > most_total || total < least_total)) {
        hc_stage_note(
            stage,
            "the abundances of a pixel sum to %.3g in the mean: library and scene look to be on different "
            "scales (--scale auto or --scale FACTOR brings the library to that of the scene)",
            total);
    }
}

void hc_abundance_fit_clear(HcAbundanceFit *fit, HcCompute *compute) {
    hc_spectra_clear(&fit->in, compute);
    hc_spectra_clear(&fit->out, compute);
}
