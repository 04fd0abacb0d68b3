/* The choice between regression and differences of neighbours.
 *
 * Both are had from one pass, and they err in opposite ways, so each is the witness of the other. Two figures
 * decide: the ratio of their variances, and the smallest eigenvalue of the scene in units of the regression.
 * docs/noise.md has the measurements behind the limits. */
#include "pipeline/statistics/noise/choice.h"
#include "core/allocate.h"
#include "core/operation/eigh/eigh.h"
#include "core/patch.h"
#include "pipeline/statistics/median.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    AGREE = 2,   /* estimates agree within this factor */
    FEW = 10,    /* fewer bands than that hardly explain each other: a regression is too high then */
    LEFT_MIN = 8 /* eigenvalues of noise whose spread is looked at */
};

/* Variances of bands count as those of white noise where nine tenths lie within `white`, or within `shared`
 * where bands have no signal of their own. Where a quarter of the bands lie within `shared`, these have
 * nothing of their own, and show white noise. */
static const double white = 2;
static const double shared = 1.2;

/* Median over the bands that have noise: variance in `above` over that in `below`; NaN = none. */
static HcStatus ratio_of(const HcStatistics *above, const HcStatistics *below, double *ratio, HcError *err) {
    size_t count = 0;
    double *found = NULL;
    HC_OR_RETURN(hc_new(found, (size_t)below->scene.bands, "ratios of bands", err));
    for (int32_t b = 0; b < below->scene.bands; b++) {
        if (hc_statistics_variance(below, b) > 0) {
            found[count++] = hc_statistics_variance(above, b) / hc_statistics_variance(below, b);
        }
    }
    *ratio = hc_lower_median(found, count);
    free(found);
    return HC_OK;
}

/* Eigenvalues above those of noise alone. */
static size_t count_signal(const double *values, size_t bands, int64_t pixels) {
    double edge = 1 + sqrt((double)bands / (double)pixels);
    size_t signal = 0;
    while (signal < bands && values[signal] > edge * edge) {
        signal++;
    }
    return signal;
}

/* A regression makes the variance of a band too large by the part of its noise that goes with the signal: 1 /
 * (1 - h), with the leverage h of the band on the components of signal. Takes that out of the units of
 * matrix[bands][bands]. */
static void take_leverage(double *matrix, const double *values, const double *vectors, size_t bands,
                          size_t signal) {
    for (size_t b = 0; b < bands; b++) {
        double leverage = 0;
        for (size_t k = 0; k < signal; k++) {
            double share = vectors[k * bands + b];
            leverage += share * share * (1 - 1 / values[k]);
        }
        double scale = 1 / sqrt(fmax(1 - leverage, 1e-3));
        for (size_t c = 0; c < bands; c++) {
            matrix[b * bands + c] *= scale;
            matrix[c * bands + b] *= scale;
        }
    }
}

/* How far the eigenvalues of the noise spread: the ratio of those that 95 and 5 percent are below, over that
 * of noise alone (Marchenko and Pastur 1967), and how far that is from 1 by chance. The spread is 1 where the
 * variances of all bands are right. What bands have of their own makes them too large in some bands, and
 * other directions too small. NaN: too few eigenvalues. */
static void weigh_spread(HcNoiseChoice *choice, const double *values, size_t bands, int64_t pixels) {
    size_t signal = count_signal(values, bands, pixels);
    size_t left = bands - signal;
    if (left < LEFT_MIN || pixels < 2 * (int64_t)bands) {
        choice->spread = NAN;
        return;
    }
    size_t end = left / 20; /* number left out on each side */
    double ratio = (double)left / (double)pixels;
    double share = ((double)end + 0.5) / (double)left;
    double found = values[signal + end] / values[bands - 1 - end];
    choice->spread = found / (hc_patch_quantile(ratio, 1 - share) / hc_patch_quantile(ratio, share));
    choice->chance = 4 / sqrt((double)left * (double)pixels); /* their range over their number */
}

/* How many bands have noise, the smallest eigenvalue of the scene where their noise is 1, and the spread of
 * those of the noise once more exactly. */
static HcStatus weigh_eigenvalues(HcCompute *compute, const HcStatistics *scene,
                                  const HcStatistics *regression, int32_t *count, double *smallest,
                                  HcNoiseChoice *choice, HcError *err) {
    HcStatus status = HC_OK;
    size_t n = (size_t)scene->scene.bands;
    size_t m = 0;
    size_t *band = NULL;
    double *matrix = NULL, *values = NULL, *vectors = NULL;
    HC_TRY(hc_new(band, n, "a choice of noise", err));
    for (size_t b = 0; b < n; b++) {
        if (hc_statistics_variance(regression, (int32_t)b) > 0) {
            band[m++] = b;
        }
    }
    HC_TRY(hc_new(matrix, m * m, "a choice of noise", err));
    HC_TRY(hc_new(vectors, m * m, "a choice of noise", err));
    HC_TRY(hc_new(values, m, "a choice of noise", err));
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < m; j++) {
            double both = hc_statistics_variance(regression, (int32_t)band[i]) *
                          hc_statistics_variance(regression, (int32_t)band[j]);
            matrix[i * m + j] = scene->covariance[band[i] * n + band[j]] / sqrt(both);
        }
    }
    HC_TRY(hc_eigh(compute, (int32_t)m, (int32_t)m, matrix, values, vectors, err));
    size_t rank = m - (size_t)regression->dependent; /* all other eigenvalues are 0 */
    *count = (int32_t)rank;
    *smallest = values[rank - 1];
    take_leverage(matrix, values, vectors, m, count_signal(values, m, scene->pixels));
    HC_TRY(hc_eigh(compute, (int32_t)m, 0, matrix, values, vectors, err));
    weigh_spread(choice, values, rank, scene->pixels);
done:
    free(band);
    free(matrix);
    free(values);
    free(vectors);
    return status;
}

/* White noise leaves eigenvalues down to the Marchenko-Pastur edge, (1 - sqrt(bands / pixels))^2. Let noise
 * be a moving average over two bands, with weights 1 and b: its spectrum reaches down to (1 - b)^2, the
 * variance that all other bands leave is 1 - b^2, and its variance is 1 + b^2. The smallest eigenvalue over
 * the edge is then s = (1 - b) / (1 + b), and the regression is too low by (1 + b^2) / (1 - b^2) = (s + 1 /
 * s) / 2. */
static double factor_lacking(double smallest, int32_t bands, int64_t pixels) {
    double edge = 1 - sqrt((double)bands / (double)pixels);
    double share = smallest / (edge * edge);
    return share < 1 ? (share + 1 / share) / 2 : 1;
}

static void take(HcNoiseChoice *choice, const char *word, bool regression, bool fits) {
    snprintf(choice->taken, sizeof choice->taken, "%s", regression ? "regression" : word);
    choice->fits = fits;
}

/* Where a regression is too low, that model is nearer whose factor is smaller. */
static void weigh_lacking(HcNoiseChoice *choice, const char *word) {
    double excess = choice->ratio / choice->lacking;
    bool regression = choice->lacking <= fmax(excess, 1 / excess);
    take(choice, word, regression, !regression && excess <= AGREE && excess >= 1.0 / AGREE);
    snprintf(choice->why, sizeof choice->why,
             "noise is correlated between bands: the regression is about %.3g times too low, differences of "
             "neighbours (%s) are about %.3g times too %s",
             choice->lacking, word, fmax(excess, 1 / excess), excess >= 1 ? "high" : "low");
}

static void weigh_few(HcNoiseChoice *choice, const char *word, int32_t bands) {
    take(choice, word, choice->ratio >= 1, choice->ratio >= 1.0 / AGREE && choice->ratio <= AGREE);
    snprintf(choice->why, sizeof choice->why,
             "%d band%s hardly explain each other, so the smaller estimate counts: differences of neighbours "
             "(%s) find %.4g times the variance of the regression",
             bands, bands == 1 ? "" : "s", word, choice->ratio);
}

static void weigh_usual(HcNoiseChoice *choice, const char *word) {
    const char *said = choice->ratio > AGREE         ? "the scene has texture"
                       : choice->ratio < 1.0 / AGREE ? "noise is correlated between neighbours, or bands do "
                                                       "not explain each other"
                                                     : "both agree";
    take(choice, word, true, choice->ratio >= 1.0 / AGREE);
    snprintf(choice->why, sizeof choice->why,
             "differences of neighbours (%s) find %.4g times its variance: %s", word, choice->ratio, said);
}

HcStatus hc_noise_weigh(HcNoiseChoice *choice, HcCompute *compute, const HcStatistics *scene,
                        const HcStatistics *regression, const HcStatistics *differences, HcError *err) {
    int32_t bands = 0;
    double smallest = 0;
    HC_OR_RETURN(weigh_eigenvalues(compute, scene, regression, &bands, &smallest, choice, err));
    choice->lacking = factor_lacking(smallest, bands, scene->pixels);
    HC_OR_RETURN(ratio_of(differences, regression, &choice->ratio, err));
    if (bands < FEW) {
        weigh_few(choice, differences->noise, bands);
    } else if (choice->lacking > AGREE) {
        weigh_lacking(choice, differences->noise);
    } else {
        weigh_usual(choice, differences->noise);
    }
    return HC_OK;
}

/* One of both estimates is missing. */
static void take_only(HcNoiseChoice *choice, const char *word, bool regression, const char *why) {
    take(choice, word, regression, true);
    choice->ratio = choice->lacking = choice->spread = NAN;
    snprintf(choice->why, sizeof choice->why, "%s", why);
}

HcStatus hc_noise_choose(HcNoiseChoice *choice, HcStatistics *out, HcCompute *compute,
                         const HcStatistics *scene, HcMoments *differences, HcNoiseMatrix matrix,
                         HcError *err) {
    HcStatus status = HC_OK;
    HcError refused = {0};
    HcStatistics regression = {0};
    HcStatistics neighbours = {0};
    const char *word = hc_noise_words[HC_NOISE_AUTO_DIFFERENCE - 1];
    bool compared = differences->count > scene->scene.bands;
    *choice = (HcNoiseChoice){0};
    status = hc_noise_regression(&regression, scene, HC_NOISE_DIAGONAL, &refused);
    if (status != HC_OK && (status != HC_E_NUMERIC || !compared)) {
        HC_TRY(hc_fail(err, status, "%s", refused.text));
    }
    bool regressed = status == HC_OK;
    status = HC_OK;
    if (compared) {
        HC_TRY(hc_statistics_make(&neighbours, compute, &scene->scene, differences, HC_NOISE_AUTO_DIFFERENCE,
                                  word, err));
    }
    hc_moments_clear(differences);
    if (regressed && compared) {
        HC_TRY(hc_noise_weigh(choice, compute, scene, &regression, &neighbours, err));
    } else {
        take_only(choice, word, regressed,
                  regressed ? "too few pixels have all neighbours, so nothing is compared" : refused.text);
        choice->unseen = !regressed;
    }
    if (hc_noise_is_regression(choice->taken) && matrix == HC_NOISE_FULL) {
        HC_TRY(hc_noise_regression(out, scene, matrix, err));
    } else if (hc_noise_is_regression(choice->taken)) {
        *out = regression;
        regression = (HcStatistics){0};
    } else {
        *out = neighbours;
        neighbours = (HcStatistics){0};
        hc_noise_reduce(out, matrix);
    }
done:
    hc_statistics_clear(&regression);
    hc_statistics_clear(&neighbours);
    return status;
}

static double alike_by_chance(const HcStatistics *noise) {
    return fmax(shared, 1 + 6 * sqrt(2 / (double)noise->pixels));
}

HcStatus hc_noise_whiten_alike(HcStatistics *noise, HcError *err) {
    HcNoiseBands bands = {0};
    double sum = 0;
    double count = 0;
    HC_OR_RETURN(hc_noise_compare_bands(noise, &bands, err));
    for (int32_t b = 0; b < noise->scene.bands; b++) {
        sum += hc_statistics_variance(noise, b);
        count += hc_statistics_variance(noise, b) > 0;
    }
    if (bands.most <= alike_by_chance(noise)) {
        hc_noise_whiten(noise, sum / count);
    }
    return HC_OK;
}

HcStatus hc_noise_choice_whiten(HcNoiseChoice *choice, HcStatistics *noise, HcError *err) {
    HcNoiseBands bands = {0};
    choice->doubtful = choice->unseen;
    choice->by_calm = false;
    if (!hc_noise_is_regression(choice->taken)) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_noise_compare_bands(noise, &bands, err));
    bool calm_agree = bands.quarter <= shared;
    double limit = calm_agree ? 1 + 1.5 * choice->chance : 1.01 + 2 * choice->chance;
    bool compared = !isnan(choice->ratio);
    bool fits =
        choice->uneven || choice->spread <= limit || (!compared && !calm_agree); /* not where it is NaN */
    /* Where own variances leave nothing to explain, bands differ in noise: by more than chance makes of it.
     */
    bool own = choice->uneven || choice->spread <= 1 + 1.5 * choice->chance;
    double alike = own ? fmax(shared, 1 + 6 * sqrt(2 / (double)noise->pixels)) : white;
    if (bands.most <= alike || (calm_agree && !fits)) {
        hc_noise_whiten(noise, bands.calm);
        choice->by_calm = bands.most > white;
    } else {
        choice->doubtful = !fits;
    }
    return HC_OK;
}

void hc_noise_choice_note(HcStage *stage, const HcNoiseChoice *choice) {
    if (choice->taken[0] == '\0') {
        return;
    }
    hc_stage_note(stage, "--noise auto takes %s: %s", choice->taken, choice->why);
    if (!choice->fits) {
        hc_stage_note(stage,
                      "no noise model fits this scene well: give a dark image, a calm window, a noise file "
                      "of the sensor, or --noise trimmed");
    }
}

void hc_noise_choice_put(const HcNoiseChoice *choice, HcJson *to) {
    if (choice->taken[0] == '\0') {
        return;
    }
    hc_json_open_object(to, "noise_choice");
    hc_json_put_text(to, "taken", choice->taken);
    hc_json_put_text(to, "why", choice->why);
    hc_json_put_bool(to, "fits", choice->fits);
    hc_json_put_double(to, "differences_over_regression", choice->ratio);
    hc_json_put_double(to, "regression_lacks", choice->lacking);
    hc_json_put_double(to, "spread_over_noise_alone", choice->spread);
    if (choice->doubtful) {
        hc_json_put_bool(to, "doubtful", true);
    }
    hc_json_close(to);
}
