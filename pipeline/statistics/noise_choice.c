/* The choice between regression and differences of neighbours.
 *
 * Both are had from one pass, and they err in opposite ways, so each is the witness of the other. Two figures
 * decide: the ratio of their variances, and the smallest eigenvalue of the scene in units of the regression.
 * docs/noise.md has the measurements behind the limits. */
#include "pipeline/statistics/noise_choice.h"
#include "core/allocate.h"
#include "core/operation/eigh.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    AGREE = 2, /* estimates agree within this factor */
    FEW = 10   /* fewer bands than that hardly explain each other: a regression is too high then */
};

static double variance_of(const HcStatistics *of, int32_t band) {
    return of->covariance[(size_t)band * (size_t)(of->scene.bands + 1)];
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median over the bands that have noise: variance in `above` over that in `below`; NaN = none. */
static HcStatus ratio_of(const HcStatistics *above, const HcStatistics *below, double *ratio, HcError *err) {
    size_t count = 0;
    double *found = NULL;
    HC_OR_RETURN(hc_new(found, (size_t)below->scene.bands, "ratios of bands", err));
    for (int32_t b = 0; b < below->scene.bands; b++) {
        if (variance_of(below, b) > 0) {
            found[count++] = variance_of(above, b) / variance_of(below, b);
        }
    }
    qsort(found, count, sizeof *found, compare_doubles);
    *ratio = count > 0 ? found[(count - 1) / 2] : NAN;
    free(found);
    return HC_OK;
}

/* How many bands have noise, and the smallest eigenvalue of the scene where their noise is 1. */
static HcStatus smallest_eigenvalue(HcCompute *compute, const HcStatistics *scene,
                                    const HcStatistics *regression, int32_t *count, double *smallest,
                                    HcError *err) {
    HcStatus status = HC_OK;
    size_t n = (size_t)scene->scene.bands;
    size_t m = 0;
    size_t *band = NULL;
    double *matrix = NULL, *values = NULL, *vectors = NULL;
    HC_TRY(hc_new(band, n, "a choice of noise", err));
    for (size_t b = 0; b < n; b++) {
        if (variance_of(regression, (int32_t)b) > 0) {
            band[m++] = b;
        }
    }
    HC_TRY(hc_new(matrix, m * m, "a choice of noise", err));
    HC_TRY(hc_new(vectors, m * m, "a choice of noise", err));
    HC_TRY(hc_new(values, m, "a choice of noise", err));
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < m; j++) {
            double both =
                variance_of(regression, (int32_t)band[i]) * variance_of(regression, (int32_t)band[j]);
            matrix[i * m + j] = scene->covariance[band[i] * n + band[j]] / sqrt(both);
        }
    }
    HC_TRY(hc_eigh(compute, (int32_t)m, matrix, values, vectors, err));
    *count = (int32_t)m;
    *smallest = values[m - 1];
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
    HC_OR_RETURN(smallest_eigenvalue(compute, scene, regression, &bands, &smallest, err));
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
    choice->ratio = choice->lacking = NAN;
    snprintf(choice->why, sizeof choice->why, "%s", why);
}

HcStatus hc_noise_choose(HcNoiseChoice *choice, HcStatistics *out, HcCompute *compute,
                         const HcStatistics *scene, const HcMoments *differences, HcNoiseMatrix matrix,
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
        HC_TRY(
            hc_statistics_make(&neighbours, &scene->scene, differences, HC_NOISE_AUTO_DIFFERENCE, word, err));
    }
    if (regressed && compared) {
        HC_TRY(hc_noise_weigh(choice, compute, scene, &regression, &neighbours, err));
    } else {
        take_only(choice, word, regressed,
                  regressed ? "too few pixels have all neighbours, so nothing is compared" : refused.text);
    }
    if (hc_noise_is_regression(choice->taken)) {
        HC_TRY(hc_noise_regression(out, scene, matrix, err));
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
    hc_json_close(to);
}
