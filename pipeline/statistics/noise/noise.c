/* Noise by regression, of a scene or of its differences. The residuals of all bands are those of one matrix,
 * the inverse of the covariance: no band is regressed by itself, and no pixel is read again. */
#include "pipeline/statistics/noise/noise.h"
#include "core/allocate.h"
#include "core/compare.h"
#include "core/solver/clones.h"
#include "core/text.h"
#include "pipeline/statistics/dot.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char hc_noise_auto[] = "auto";
static const char regression_word[] = "regression";
static const char spatial_spectral_word[] = "spatial-spectral";
static const char lower_word[] = "spatial-spectral-lower";
const char *const hc_noise_models[] = {
    "mean3x3",         "median3x3",           "shift",      "shift-diagonal", "shift-lower",
    "shift-lowerleft", "shift-mean",          "hv-average", "quad",           "trimmed",
    regression_word,   spatial_spectral_word, lower_word,   hc_noise_auto,    NULL};
const char *const hc_noise_matrices[] = {"full", "diagonal", NULL};

bool hc_noise_is_regression(const char *word) {
    return hc_text_equal(word, regression_word);
}

bool hc_noise_is_spatial_spectral(const char *word) {
    return hc_text_equal(word, spatial_spectral_word) || hc_text_equal(word, lower_word);
}

HcDifference hc_noise_difference_of(const char *word) {
    return hc_text_equal(word, lower_word)      ? (HcDifference)HC_STENCIL_LOWER
           : hc_noise_is_spatial_spectral(word) ? HC_DIFFERENCE_SHIFT
                                                : hc_noise_of_word(word);
}

bool hc_noise_is_auto(const char *word) {
    return hc_text_equal(word, hc_noise_auto);
}

bool hc_noise_is_difference(const char *noise) {
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(noise, ","), noise);
    return hc_noise_of_word(word) != HC_DIFFERENCE_NONE;
}

/* What an inverse is made in: matrices of the rows that take part. */
typedef struct Inverse {
    size_t kept;
    size_t *row;   /* [kept] their places */
    double *scale; /* [n] 1 / square root of the diagonal */
    double *line;  /* [n] */
    double *upper; /* [n][n] L' with L L' = the correlations */
    double *whole; /* [n][n] the inverse of L */
} Inverse;

/* Rounding leaves about n eps of an exact combination, and up to 1e-12 where its values were stored as
 * float32. Real noise leaves far more: 1e-11 is a ratio of 110 dB. */
static double least_rest(size_t n) {
    return fmax(16 * (double)n * DBL_EPSILON, 1e-11);
}

static void inverse_clear(Inverse *work) {
    free(work->row);
    free(work->scale);
    free(work->line);
    free(work->upper);
    free(work->whole);
}

/* to += factor * from */
HC_CLONES static void add_line(double *restrict to, const double *restrict from, double factor,
                               size_t count) {
    for (size_t j = 0; j < count; j++) {
        to[j] += factor * from[j];
    }
}

/* The Cholesky factor, row by row: the rows that earlier ones explain take no part. */
static void factorise(Inverse *work, const double *matrix, size_t n, uint8_t *dependent) {
    double least = least_rest(n);
    double *to = work->line;
    for (size_t b = 0; b < n; b++) {
        double rest = 1;
        for (size_t k = 0; k < work->kept; k++) {
            to[k] = matrix[b * n + work->row[k]] * (work->scale[b] * work->scale[work->row[k]]);
        }
        for (size_t k = 0; k < work->kept; k++) {
            const double *column = work->upper + k * n;
            to[k] /= column[k];
            rest -= to[k] * to[k];
            add_line(to + k + 1, column + k + 1, -to[k], work->kept - k - 1);
        }
        dependent[b] = !(rest >= least);
        if (dependent[b] == 0) {
            to[work->kept] = sqrt(rest);
            for (size_t k = 0; k <= work->kept; k++) {
                work->upper[k * n + work->kept] = to[k];
            }
            work->row[work->kept++] = b;
        }
    }
}

/* whole = L^-1, a row at a time. */
static void invert_factor(Inverse *work, size_t n) {
    for (size_t i = 0; i < work->kept; i++) {
        double *to = work->whole + i * n;
        memset(to, 0, n * sizeof *to);
        to[i] = 1;
        for (size_t k = 0; k < i; k++) {
            add_line(to, work->whole + k * n, -work->upper[k * n + i], k + 1);
        }
        for (size_t j = 0; j <= i; j++) {
            to[j] /= work->upper[i * n + i];
        }
    }
}

/* The product of L^-1 transposed with itself, in units of the matrix. */
static void put_inverse(Inverse *work, size_t n, double *inverse) {
    double *sum = work->upper; /* no longer needed */
    memset(sum, 0, n * n * sizeof *sum);
    for (size_t k = 0; k < work->kept; k++) {
        const double *row = work->whole + k * n;
        for (size_t i = 0; i <= k; i++) {
            add_line(sum + i * n, row, row[i], i + 1);
        }
    }
    memset(inverse, 0, n * n * sizeof *inverse);
    for (size_t i = 0; i < work->kept; i++) {
        for (size_t j = 0; j <= i; j++) {
            size_t b = work->row[i];
            size_t c = work->row[j];
            inverse[b * n + c] = inverse[c * n + b] = sum[i * n + j] * (work->scale[b] * work->scale[c]);
        }
    }
}

/* ---- where rows are combinations of others ---- */

/* upper[kept][n] = F' with F F' = the correlations. The row that earlier ones explain least comes next, so
 * that F has few large entries in its inverse. */
static void factorise_pivoted(Inverse *work, const double *matrix, size_t n) {
    double *rest = work->line;
    work->kept = 0;
    for (size_t b = 0; b < n; b++) {
        rest[b] = 1;
    }
    while (work->kept < n) {
        double *to = work->upper + work->kept * n;
        size_t next = 0;
        for (size_t b = 1; b < n; b++) {
            next = rest[b] > rest[next] ? b : next;
        }
        if (!(rest[next] >= least_rest(n))) {
            return;
        }
        for (size_t b = 0; b < n; b++) {
            to[b] = matrix[next * n + b] * (work->scale[next] * work->scale[b]);
        }
        for (size_t k = 0; k < work->kept; k++) {
            add_line(to, work->upper + k * n, -work->upper[k * n + next], n);
        }
        double root = sqrt(rest[next]);
        for (size_t b = 0; b < n; b++) {
            to[b] /= root;
            rest[b] -= to[b] * to[b];
        }
        rest[next] = 0;
        work->kept++;
    }
}

/* F = Z B: the rows of upper become Z', orthonormal, and whole the upper triangle B. Twice is enough. */
static void orthonormalise(Inverse *work, size_t n) {
    memset(work->whole, 0, n * n * sizeof *work->whole);
    for (size_t k = 0; k < work->kept; k++) {
        double *row = work->upper + k * n;
        for (size_t j = 0; j < 2 * k; j++) {
            const double *other = work->upper + j % k * n;
            double share = hc_dot(other, row, n);
            work->whole[j % k * n + k] += share;
            add_line(row, other, -share, n);
        }
        double length = sqrt(hc_dot(row, row, n));
        work->whole[k * n + k] = length;
        for (size_t b = 0; b < n; b++) {
            row[b] /= length;
        }
    }
}

/* The pseudo-inverse of F F' is M'M with B M = Z'. */
static void put_pseudo_inverse(Inverse *work, size_t n, double *inverse) {
    memset(inverse, 0, n * n * sizeof *inverse);
    for (size_t k = work->kept; k-- > 0;) {
        double *row = work->upper + k * n;
        for (size_t j = k + 1; j < work->kept; j++) {
            add_line(row, work->upper + j * n, -work->whole[k * n + j], n);
        }
        for (size_t b = 0; b < n; b++) {
            row[b] /= work->whole[k * n + k];
        }
        for (size_t b = 0; b < n; b++) {
            add_line(inverse + b * n, row, row[b], n);
        }
    }
    for (size_t b = 0; b < n; b++) {
        for (size_t c = 0; c < n; c++) {
            inverse[b * n + c] *= work->scale[b] * work->scale[c];
        }
    }
}

HcStatus hc_noise_inverse(const double *matrix, size_t n, double *inverse, uint8_t *dependent, size_t *rank,
                          HcError *err) {
    HcStatus status = HC_OK;
    Inverse work = {0};
    HC_TRY(hc_new(work.row, n, "the inverse of a covariance", err));
    HC_TRY(hc_new(work.scale, n, "the inverse of a covariance", err));
    HC_TRY(hc_new(work.line, n, "the inverse of a covariance", err));
    HC_TRY(hc_new(work.upper, n * n, "the inverse of a covariance", err));
    HC_TRY(hc_new(work.whole, n * n, "the inverse of a covariance", err));
    for (size_t b = 0; b < n; b++) {
        work.scale[b] = 1 / sqrt(matrix[b * n + b]);
    }
    factorise(&work, matrix, n, dependent);
    if (work.kept == n) {
        invert_factor(&work, n);
        put_inverse(&work, n, inverse);
    } else {
        factorise_pivoted(&work, matrix, n);
        orthonormalise(&work, n);
        put_pseudo_inverse(&work, n, inverse);
    }
    *rank = work.kept;
done:
    inverse_clear(&work);
    return status;
}

/* ---- regression ---- */

/* The bands that vary, and their covariance. */
typedef struct Fit {
    size_t count;
    size_t *band;       /* [count] */
    double *covariance; /* [count][count] */
    double *inverse;    /* [count][count] */
    uint8_t *dependent; /* [count] */
    size_t rank;        /* of the covariance */
} Fit;

static void fit_clear(Fit *fit) {
    free(fit->band);
    free(fit->covariance);
    free(fit->inverse);
    free(fit->dependent);
}

static HcStatus fit_init(Fit *fit, const HcStatistics *scene, HcError *err) {
    size_t n = (size_t)scene->scene.bands;
    HC_OR_RETURN(hc_new(fit->band, n, "a regression of bands", err));
    HC_OR_RETURN(hc_new(fit->dependent, n, "a regression of bands", err));
    for (size_t b = 0; b < n; b++) {
        if (scene->covariance[b * n + b] > 0) {
            fit->band[fit->count++] = b;
        }
    }
    size_t m = fit->count;
    HC_OR_RETURN(hc_new(fit->covariance, m * m, "a regression of bands", err));
    HC_OR_RETURN(hc_new(fit->inverse, m * m, "a regression of bands", err));
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < m; j++) {
            fit->covariance[i * m + j] = scene->covariance[fit->band[i] * n + fit->band[j]];
        }
    }
    return HC_OK;
}

/* What is regressed. */
typedef struct Kind {
    const char *word;
    const char *one, *many, *needed; /* names of what is counted */
    double share;                    /* degrees of freedom that a band takes */
} Kind;

static const Kind of_values = {regression_word, "valid pixel", "valid pixels", "pixels", 1};
static const Kind of_differences = {spatial_spectral_word, "pair of neighbours", "pairs of neighbours",
                                    "pairs of neighbours", 1.5};
static const Kind of_lower = {lower_word, "pair of neighbours", "pairs of neighbours", "pairs of neighbours",
                              1.5};

static HcStatus refuse_few(const Kind *kind, int64_t pixels, size_t bands, HcError *err) {
    return hc_fail(err, HC_E_NUMERIC, "noise by %s: %lld %s with %zu bands, at least %.0f %s are needed",
                   kind->word, (long long)pixels, pixels == 1 ? kind->one : kind->many, bands,
                   floor(kind->share * (double)bands) + 1, kind->needed);
}

/* Names the bands that are combinations of earlier ones by their numbers among those that come in; of a scene
 * that was denoised or reduced, where they are many, their number. */
static void name_dependent(HcStatistics *out, const Fit *fit) {
    enum { NAMED = 12 };
    size_t length = 0;
    int32_t count = (int32_t)(fit->count - fit->rank);
    int32_t named = 0;
    for (size_t i = 0; i < fit->count; i++) {
        named += fit->dependent[i];
    }
    out->rank = (int32_t)fit->rank;
    out->dependent = count;
    if (count > NAMED || count != named) {
        snprintf(out->combinations, sizeof out->combinations, "%d of %zu bands are combinations of others",
                 count, fit->count);
    }
    for (size_t i = 0; i < fit->count && count <= NAMED && count == named; i++) {
        if (fit->dependent[i] != 0) {
            length += (size_t)snprintf(out->combinations + length, sizeof out->combinations - length, "%s%zu",
                                       length > 0  ? ", "
                                       : count > 1 ? "bands "
                                                   : "band ",
                                       fit->band[i] + 1);
        }
    }
    if (length > 0) {
        snprintf(out->combinations + length, sizeof out->combinations - length, " %s of earlier bands",
                 count > 1 ? "are combinations" : "is a combination");
    }
}

static HcStatus refuse_dependent(const HcStatistics *noise, HcError *err) {
    return noise->dependent == 0
               ? HC_OK
               : hc_fail(err, HC_E_NUMERIC, "noise by %.*s: the covariance is singular: %s%s",
                         (int)strcspn(noise->noise, ","), noise->noise, noise->combinations,
                         strstr(noise->combinations, "earlier") == NULL ? ""
                         : noise->dependent == 1                        ? " (leave it out: bands --drop)"
                                                                        : " (leave them out: bands --drop)");
}

void hc_noise_range_note(HcStage *stage, const HcStatistics *noise) {
    if (noise->dependent > 0) {
        hc_stage_note(
            stage, "%s: the noise is that of the %d directions in which bands vary, which may all be signal",
            noise->combinations, noise->rank);
    }
}

bool hc_noise_is_diagonal(const HcStatistics *noise) {
    size_t n = (size_t)noise->scene.bands;
    for (size_t b = 0; b < n; b++) {
        for (size_t c = 0; c < b; c++) {
            if (noise->covariance[b * n + c] != 0) {
                return false;
            }
        }
    }
    return n > 1;
}

void hc_noise_reduce(HcStatistics *noise, HcNoiseMatrix matrix) {
    bool regression = hc_noise_is_regression(noise->noise) || hc_noise_is_spatial_spectral(noise->noise);
    if (matrix == HC_NOISE_USUAL || (matrix == HC_NOISE_DIAGONAL) == regression) {
        matrix = regression ? HC_NOISE_DIAGONAL : HC_NOISE_FULL;
    } else {
        size_t length = strlen(noise->noise);
        snprintf(noise->noise + length, sizeof noise->noise - length, ", %s", hc_noise_matrices[matrix]);
    }
    size_t n = (size_t)noise->scene.bands;
    for (size_t b = 0; b < n && matrix == HC_NOISE_DIAGONAL; b++) {
        for (size_t c = 0; c < n; c++) {
            noise->covariance[b * n + c] *= b == c;
        }
    }
}

/* The 5 % quantile of estimates of variance 1, by the degrees of freedom (Wilson and Hilferty
 * 1931). */
static double twentieth_by_chance(double freedom) {
    double part = 2 / (9 * fmax(freedom, 1));
    return pow(fmax(1 - part - 1.6449 * sqrt(part), 0.1), 3);
}

HcStatus hc_noise_compare_bands(const HcStatistics *noise, HcNoiseBands *out, HcError *err) {
    size_t bands = (size_t)noise->scene.bands;
    size_t count = 0;
    double *variance = NULL;
    *out = (HcNoiseBands){0};
    HC_OR_RETURN(hc_new(variance, bands, "variances of noise", err));
    for (size_t b = 0; b < bands; b++) {
        if (noise->covariance[b * bands + b] > 0) {
            variance[count++] = noise->covariance[b * bands + b];
        }
    }
    qsort(variance, count, sizeof *variance, hc_compare_doubles);
    if (count > 0) {
        double low = variance[count / 20];
        double chance = twentieth_by_chance((double)noise->pixels - (double)count);
        out->calm = fmin(low / chance, variance[count / 2]);
        out->quarter = variance[count / 4] / low;
        out->most = variance[count - 1 - count / 20] / low;
    }
    free(variance);
    return HC_OK;
}

void hc_noise_whiten(HcStatistics *noise, double variance) {
    size_t bands = (size_t)noise->scene.bands;
    for (size_t b = 0; b < bands; b++) {
        double *own = &noise->covariance[b * bands + b];
        *own = *own > 0 ? variance : 0;
    }
    snprintf(noise->noise, sizeof noise->noise, "regression, white");
}

/* The part of band i that the range of the covariance holds: 1 where bands are independent. */
static double share_of(const Fit *fit, const HcStatistics *out, size_t i) {
    size_t m = fit->count;
    return out->dependent == 0 ? 1 : hc_dot(fit->covariance + i * m, fit->inverse + i * m, m);
}

static HcStatus put_residuals(HcStatistics *out, const Fit *fit, double factor, HcError *err) {
    size_t n = (size_t)out->scene.bands;
    size_t m = fit->count;
    double *share = NULL;
    HC_OR_RETURN(hc_new(out->mean, n, "a noise covariance", err));
    HC_OR_RETURN(hc_new(out->covariance, n * n, "a noise covariance", err));
    HC_OR_RETURN(hc_new(share, m, "a noise covariance", err));
    for (size_t i = 0; i < m; i++) {
        share[i] = share_of(fit, out, i);
    }
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < m; j++) {
            double both = fit->inverse[i * m + i] * fit->inverse[j * m + j];
            out->covariance[fit->band[i] * n + fit->band[j]] =
                factor * fit->inverse[i * m + j] / both * (share[i] * share[j]);
        }
    }
    free(share);
    return HC_OK;
}

static HcStatus regress(const Kind *kind, HcStatistics *out, const HcStatistics *scene, HcNoiseMatrix matrix,
                        HcError *err) {
    HcStatus status = HC_OK;
    size_t n = (size_t)scene->scene.bands;
    Fit fit = {0};
    HC_TRY(fit_init(&fit, scene, err));
    size_t m = fit.count;
    if (m == 0) {
        HC_TRY(hc_fail(err, HC_E_NUMERIC, "noise by %s: all %zu bands are constant", kind->word, n));
    }
    if ((double)scene->pixels - kind->share * (double)m <= 0) {
        HC_TRY(refuse_few(kind, scene->pixels, m, err));
    }
    HC_TRY(hc_noise_inverse(fit.covariance, m, fit.inverse, fit.dependent, &fit.rank, err));
    HC_TRY(hc_scene_copy(&out->scene, &scene->scene, err));
    name_dependent(out, &fit);
    out->pixels = scene->pixels;
    snprintf(out->noise, sizeof out->noise, "%s", kind->word);
    double freedom = (double)scene->pixels - kind->share * out->rank;
    HC_TRY(put_residuals(out, &fit, (double)(scene->pixels - 1) / freedom, err));
    hc_noise_reduce(out, matrix);
done:
    fit_clear(&fit);
    return status;
}

HcStatus hc_noise_in_range(HcStatistics *out, const HcStatistics *scene, HcNoiseMatrix matrix, HcError *err) {
    return regress(&of_values, out, scene, matrix, err);
}

HcStatus hc_noise_regression(HcStatistics *out, const HcStatistics *scene, HcNoiseMatrix matrix,
                             HcError *err) {
    HC_OR_RETURN(hc_noise_in_range(out, scene, matrix, err));
    return refuse_dependent(out, err);
}

HcStatus hc_noise_in_range_by(const char *word, HcStatistics *out, const HcScene *scene,
                              const HcMoments *moments, HcNoiseMatrix matrix, HcError *err) {
    const Kind *kind = hc_noise_is_regression(word)      ? &of_values
                       : hc_text_equal(word, lower_word) ? &of_lower
                                                         : &of_differences;
    if (moments->count < 2) {
        return refuse_few(kind, moments->count, (size_t)scene->bands, err);
    }
    HcStatistics values = {0};
    HcStatus status =
        hc_statistics_make(&values, NULL, scene, moments, hc_noise_difference_of(word), "", err);
    if (status == HC_OK) {
        status = regress(kind, out, &values, matrix, err);
    }
    hc_statistics_clear(&values);
    return status;
}

HcStatus hc_noise_regression_of(HcStatistics *out, const HcScene *scene, const HcMoments *moments,
                                HcNoiseMatrix matrix, HcError *err) {
    return hc_noise_spatial_spectral_by(regression_word, out, scene, moments, matrix, err);
}

HcStatus hc_noise_spatial_spectral_of(HcStatistics *out, const HcScene *scene, const HcMoments *moments,
                                      HcNoiseMatrix matrix, HcError *err) {
    return hc_noise_spatial_spectral_by(spatial_spectral_word, out, scene, moments, matrix, err);
}

HcStatus hc_noise_spatial_spectral_by(const char *word, HcStatistics *out, const HcScene *scene,
                                      const HcMoments *moments, HcNoiseMatrix matrix, HcError *err) {
    HC_OR_RETURN(hc_noise_in_range_by(word, out, scene, moments, matrix, err));
    return refuse_dependent(out, err);
}
