/* RMSE, bias, SRE, PSNR and SAM from one pass over both rasters, and the difference picture. */
#include "core/allocate.h"
#include "pipeline/compare/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sums over the pixels of a line in one band. */
typedef struct BandSums {
    double difference, squared, truth_squared;
    double low, high; /* of the truth */
} BandSums;

/* What is not of one band. */
typedef struct LineSums {
    int64_t pixels, angles;
    double angle; /* [radians] */
} LineSums;

typedef struct Work {
    const HcPair *pair;
    HcDifferenceMap *difference;
    BandSums *band; /* [lines][bands] */
    LineSums *line; /* [lines] */
} Work;

size_t hc_compare_values_bytes(int32_t bands) {
    return sizeof(LineSums) + (size_t)bands * sizeof(BandSums);
}

double hc_decibels(double part, double rest) {
    return rest == 0 ? INFINITY : 10 * log10(part / rest);
}

/* The angle between two spectra, exact for small ones too, where the inverse cosine loses half of the digits:
 * 2 atan2(|u - v|, |u + v|) of the unit vectors u and v (Kahan 2006). NaN where one is 0 in all bands. */
static double angle(const float *x, const float *y, int32_t bands) {
    double xx = 0, yy = 0, apart = 0, together = 0;
    for (int32_t b = 0; b < bands; b++) {
        xx += (double)x[b] * (double)x[b];
        yy += (double)y[b] * (double)y[b];
    }
    if (!(xx > 0 && yy > 0)) {
        return NAN;
    }
    double x_scale = 1 / sqrt(xx), y_scale = 1 / sqrt(yy);
    for (int32_t b = 0; b < bands; b++) {
        double u = (double)x[b] * x_scale, v = (double)y[b] * y_scale;
        apart += (u - v) * (u - v);
        together += (u + v) * (u + v);
    }
    return 2 * atan2(sqrt(apart), sqrt(together));
}

/* Adds a pixel to the sums of its line; returns its sum of squared differences. */
static double add_pixel(const float *x, const float *y, int32_t bands, BandSums *sums) {
    double all = 0;
    for (int32_t b = 0; b < bands; b++) {
        double t = (double)y[b], d = (double)x[b] - t;
        all += d * d;
        sums[b].difference += d;
        sums[b].squared += d * d;
        sums[b].truth_squared += t * t;
        sums[b].low = t < sums[b].low ? t : sums[b].low;
        sums[b].high = t > sums[b].high ? t : sums[b].high;
    }
    return all;
}

static void show_pixel(HcDifferenceMap *to, int64_t line, int32_t sample, double value) {
    if (to->step > 0 && line % to->step == 0 && sample % to->step == 0) {
        size_t at = (size_t)(line / to->step) * (size_t)to->width + (size_t)(sample / to->step);
        to->plane[at] = (float)value;
        to->valid[at] = 1;
    }
}

static void add_line(void *user, int64_t row, int32_t thread) {
    const Work *work = user;
    const HcBlock *of = &work->pair->block[0], *to = &work->pair->block[1];
    const int32_t bands = of->bands;
    BandSums *sums = work->band + (size_t)row * (size_t)bands;
    LineSums *line = &work->line[row];
    (void)thread;
    *line = (LineSums){0};
    for (int32_t b = 0; b < bands; b++) {
        sums[b] = (BandSums){.low = INFINITY, .high = -INFINITY};
    }
    for (int32_t s = 0; s < of->samples; s++) {
        size_t pixel = (size_t)row * (size_t)of->samples + (size_t)s;
        const float *x = of->data + pixel * (size_t)bands, *y = to->data + pixel * (size_t)bands;
        if (!of->mask[pixel] || !to->mask[pixel]) {
            continue;
        }
        double between = bands > 1 ? angle(x, y, bands) : NAN;
        if (!isnan(between)) {
            line->angle += between;
            line->angles++;
        }
        line->pixels++;
        double squared = add_pixel(x, y, bands, sums);
        show_pixel(work->difference, of->line0 + row, s, sqrt(squared / bands));
    }
}

static void add_sums(BandSums *to, const BandSums *from, int32_t bands) {
    for (int32_t b = 0; b < bands; b++) {
        to[b].difference += from[b].difference;
        to[b].squared += from[b].squared;
        to[b].truth_squared += from[b].truth_squared;
        to[b].low = from[b].low < to[b].low ? from[b].low : to[b].low;
        to[b].high = from[b].high > to[b].high ? from[b].high : to[b].high;
    }
}

static void take_figures(const BandSums *sums, const LineSums *all, double asked_peak, HcComparison *out) {
    HcValueFigures *to = &out->values;
    const double pixels = (double)all->pixels;
    double difference = 0, squared = 0, truth_squared = 0, low = INFINITY, high = -INFINITY;
    for (int32_t b = 0; b < to->bands; b++) {
        HcBandFigures *band = &to->band[b];
        double mean_square = sums[b].squared / pixels;
        band->rmse = sqrt(mean_square);
        band->bias = sums[b].difference / pixels;
        band->sre = hc_decibels(sums[b].truth_squared, sums[b].squared);
        band->peak = isnan(asked_peak) ? sums[b].high - sums[b].low : asked_peak;
        band->psnr = hc_decibels(band->peak * band->peak, mean_square);
        band->ssim = NAN;
        to->mean_psnr += band->psnr;
        difference += sums[b].difference;
        squared += sums[b].squared;
        truth_squared += sums[b].truth_squared;
        low = sums[b].low < low ? sums[b].low : low;
        high = sums[b].high > high ? sums[b].high : high;
    }
    to->mean_psnr /= to->bands;
    to->rmse = sqrt(squared / pixels / to->bands);
    to->bias = difference / pixels / to->bands;
    to->sre = hc_decibels(truth_squared, squared);
    to->peak = isnan(asked_peak) ? high - low : asked_peak;
    to->psnr = hc_decibels(to->peak * to->peak, squared / pixels / to->bands);
    to->ssim = NAN;
    to->angles = all->angles;
    to->sam = all->angles > 0 ? all->angle / (double)all->angles * 180 / M_PI : NAN;
    out->pixels = all->pixels;
}

static HcStatus take_bands(const HcPair *pair, HcValueFigures *to, HcError *err) {
    HC_OR_RETURN(hc_new(to->band, (size_t)pair->bands, "figures of the bands", err));
    to->bands = pair->bands;
    for (int32_t b = 0; b < to->bands; b++) {
        to->band[b].scene_band = pair->order[0] != NULL ? pair->order[0][b] : b;
        to->band[b].truth_band = pair->order[1] != NULL ? pair->order[1][b] : b;
    }
    return HC_OK;
}

HcStatus hc_compare_values(HcPair *pair, double peak, HcComparison *out, HcError *err) {
    HcStatus status = HC_OK;
    Work work = {.pair = pair, .difference = &out->difference};
    LineSums all = {0};
    BandSums *sums = NULL;
    size_t bands = (size_t)pair->bands;
    HC_TRY(take_bands(pair, &out->values, err));
    HC_TRY(hc_new(sums, bands, "sums of the bands", err));
    HC_TRY(hc_new(work.band, (size_t)pair->lines_most * bands, "sums of the lines", err));
    HC_TRY(hc_new(work.line, (size_t)pair->lines_most, "sums of the lines", err));
    for (size_t b = 0; b < bands; b++) {
        sums[b] = (BandSums){.low = INFINITY, .high = -INFINITY};
    }
    for (int64_t line = 0; line < pair->lines; line += pair->lines_most) {
        int32_t lines = (int32_t)hc_min64(pair->lines_most, pair->lines - line);
        HC_TRY(hc_pair_load(pair, line, lines, err));
        hc_team_run(pair->team, lines, add_line, &work);
        for (int32_t row = 0; row < lines; row++) {
            add_sums(sums, work.band + (size_t)row * bands, pair->bands);
            all.pixels += work.line[row].pixels;
            all.angles += work.line[row].angles;
            all.angle += work.line[row].angle;
        }
    }
    HC_TRY(hc_pair_unchanged(pair, err));
    if (all.pixels == 0) {
        HC_TRY(hc_fail(err, HC_E_NUMERIC, "%s: no pixel has values here and in %s", hc_pair_path(pair, 0),
                       hc_pair_path(pair, 1)));
    }
    take_figures(sums, &all, peak, out);
    out->left_out = pair->lines * pair->samples - all.pixels;
done:
    free(sums);
    free(work.band);
    free(work.line);
    return status;
}
