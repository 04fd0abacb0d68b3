/* Noise: models of the noise of a scene that need no sums of differences. */
#ifndef HC_PIPELINE_STATISTICS_NOISE_H
#define HC_PIPELINE_STATISTICS_NOISE_H

#include "pipeline/stage.h"
#include "pipeline/statistics/statistics.h"

/* The words for all noise models, NULL-terminated: those of hc_neighbour_words, then "regression",
 * "spatial-spectral", "spatial-spectral-lower" and "auto". */
extern const char *const hc_noise_models[];
extern const char hc_noise_auto[]; /* "auto" */

bool hc_noise_is_regression(const char *word);
bool hc_noise_is_spatial_spectral(const char *word); /* of right or of lower neighbours */
bool hc_noise_is_auto(const char *word);

/* The difference whose sums a model is made of; NONE: those of the scene, or no word of a model. */
HcDifference hc_noise_difference_of(const char *word);

/* Which entries of a noise covariance count. */
typedef enum HcNoiseMatrix {
    HC_NOISE_USUAL = -1, /* those of the model: regressions diagonal, the others full */
    HC_NOISE_FULL,
    HC_NOISE_DIAGONAL
} HcNoiseMatrix;
extern const char *const hc_noise_matrices[]; /* the words, NULL-terminated */

/* "full" or "diagonal" [HC_OPTION_CHOICE]: the option of a stage with noise models. */
#define HC_NOISE_MATRIX_OPTION(Params, field)                                                                \
    HC_CHOICE(Params, field, "noise-matrix"),                                                                \
        .choices = hc_noise_matrices, .otherwise = "diagonal for regressions, full for all others",          \
        .help = "covariance of the noise: full, or its diagonal (noise without correlation between bands)"

/* The noise of a scene by regression (Roger 1996; Bioucas-Dias and Nascimento 2008): the residuals of each
 * band from the least-squares fit, with intercept, by all other bands. P is the inverse of the covariance of
 * the scene, and D = diag(1 / P_bb). With n pixels and p bands the covariance is (n - 1) / (n - p) D P D, or
 * its diagonal. Constant bands take no part: their noise is 0.
 *
 * HC_E_NUMERIC: no more pixels than bands, or bands that are combinations of others (the message names them).
 */
HcStatus hc_noise_regression(HcStatistics *out, const HcStatistics *scene, HcNoiseMatrix matrix,
                             HcError *err) HC_MUST_CHECK;

/* The same, where bands may be combinations of others: those of a scene that was denoised or reduced. It is
 * worked in the range of the covariance K of rank r: P is the pseudo-inverse in units of the diagonal, h_b
 * the diagonal of K P, D = diag(h_b / P_bb), and r takes the place of p. This is the residual of a band from
 * the fit by all directions of the range that are orthogonal to it. Bands that are repeated have the noise
 * that they have without their copies. out->dependent and out->combinations say what was found. */
HcStatus hc_noise_in_range(HcStatistics *out, const HcStatistics *scene, HcNoiseMatrix matrix,
                           HcError *err) HC_MUST_CHECK;

/* The same of sums, by the word of a regression: "regression" or one of the spatial-spectral ones. */
HcStatus hc_noise_in_range_by(const char *word, HcStatistics *out, const HcScene *scene,
                              const HcMoments *moments, HcNoiseMatrix matrix, HcError *err) HC_MUST_CHECK;

/* Notes that bands are combinations of others, where some are. */
void hc_noise_range_note(HcStage *stage, const HcStatistics *noise);

/* hc_noise_regression of the sums of a scene. */
HcStatus hc_noise_regression_of(HcStatistics *out, const HcScene *scene, const HcMoments *moments,
                                HcNoiseMatrix matrix, HcError *err) HC_MUST_CHECK;

/* Noise by spatial and spectral neighbours (after Roger and Arnold 1996, with all bands in place of the two
 * that lie beside each): the same regression, of the differences of right neighbours. `moments`:
 * sums of HC_DIFFERENCE_SHIFT. Differences that share a pixel are correlated by -1/2, and those of the other
 * bands are so too, which takes 3/2 p degrees of freedom from n differences, not p.
 *
 * HC_E_NUMERIC: as above, with 3/2 times the bands. */
HcStatus hc_noise_spatial_spectral_of(HcStatistics *out, const HcScene *scene, const HcMoments *moments,
                                      HcNoiseMatrix matrix, HcError *err) HC_MUST_CHECK;

/* The same by the word of the model. "spatial-spectral-lower": of the differences of lower neighbours
 * (HC_STENCIL_LOWER). In a scene of a pushbroom sensor both pixels come from one detector, so that offsets of
 * columns (stripes) cancel. */
HcStatus hc_noise_spatial_spectral_by(const char *word, HcStatistics *out, const HcScene *scene,
                                      const HcMoments *moments, HcNoiseMatrix matrix,
                                      HcError *err) HC_MUST_CHECK;

/* How the variances of bands differ. White noise has one variance; a regression adds to it what a band has
 * of its own. So the calmest bands are nearest to it. */
typedef struct HcNoiseBands {
    double calm;    /* variance of the noise by the calmest bands: a twentieth of the bands have less, without
                     * what chance makes of that; at most the median */
    double quarter; /* variance that a quarter of the bands are below, over that of a twentieth */
    double most;    /* the same of nineteen twentieths */
} HcNoiseBands;

/* Of the bands that vary; all 0 where none does. `noise`: diagonal, by regression. */
HcStatus hc_noise_compare_bands(const HcStatistics *noise, HcNoiseBands *out, HcError *err) HC_MUST_CHECK;

/* Gives all bands that vary this variance. */
void hc_noise_whiten(HcStatistics *noise, double variance);

/* Keeps the diagonal of a noise covariance, where `matrix` says so, and adds that to its name. */
void hc_noise_reduce(HcStatistics *noise, HcNoiseMatrix matrix);

/* Whether all covariances between bands are 0. */
bool hc_noise_is_diagonal(const HcStatistics *noise);

/* Whether `noise`, the name that a model has (HcStatistics.noise), is that of a difference of neighbours. */
bool hc_noise_is_difference(const char *noise);

/* The inverse of a symmetric positive semidefinite matrix[n][n], in units of its diagonal. A row that is a
 * combination of earlier ones is marked in dependent[n]. Where there is one, the inverse is the
 * pseudo-inverse. */
HcStatus hc_noise_inverse(const double *matrix, size_t n, double *inverse, uint8_t *dependent, size_t *rank,
                          HcError *err) HC_MUST_CHECK;

#endif
