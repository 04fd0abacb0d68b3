/* Dimension of the signal. All rules work on the covariance K of the scene, on its correlation R = K + m m'
 * about 0, and on one inverse of K, from which noise by regression comes. docs/stages/dimension.md has the
 * formulas. */
#include "pipeline/statistics/dimension.h"
#include "core/allocate.h"
#include "core/operation/eigh/eigh.h"
#include "pipeline/statistics/noise/noise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const hc_dimension_words[] = {"auto",          "hysime",           "hfc", "nwhfc", "elm",
                                          "gavish-donoho", "marchenko-pastur", NULL};
const char *const hc_dimension_names[] = {"recommended",   "HySime",           "HFC", "NWHFC", "ELM",
                                          "Gavish-Donoho", "Marchenko-Pastur", NULL};

/* The bands that vary, p of them; matrices are [p][p], divided by n where pixels are averaged. */
typedef struct Work {
    size_t p;
    size_t rank; /* of K */
    double n;
    double *mean;  /* [p] */
    double *noise; /* [p] variances by regression, unbiased: of the directions of bands in the range of K */
    double *covariance;          /* K */
    double *inverse;             /* of K, or its pseudo-inverse */
    double *range;               /* K K^-1 */
    double *matrix, *vectors;    /* of the eigenproblem at hand */
    double *around_0, *around_m; /* [p] eigenvalues of R and K */
} Work;

static void work_clear(Work *work) {
    free(work->mean);
    free(work->noise);
    free(work->covariance);
    free(work->inverse);
    free(work->range);
    free(work->matrix);
    free(work->vectors);
    free(work->around_0);
    free(work->around_m);
}

/* range = K K^-1: the unit matrix, or the projection on the range of K. */
static void put_range(Work *work) {
    size_t p = work->p;
    for (size_t b = 0; b < p; b++) {
        work->range[b * p + b] = 1;
        for (size_t c = 0; c < p && work->rank < p; c++) {
            double sum = 0;
            for (size_t k = 0; k < p; k++) {
                sum += work->covariance[b * p + k] * work->inverse[c * p + k];
            }
            work->range[b * p + c] = sum;
        }
    }
}

static HcStatus work_init(Work *work, HcStage *stage, const HcStatistics *scene, HcError *err) {
    static const char what[] = "the dimension of a scene";
    HcStatus status = HC_OK;
    size_t bands = (size_t)scene->scene.bands;
    HcStatistics noise = {0};
    uint8_t *dependent = NULL;
    HC_TRY(hc_noise_in_range(&noise, scene, HC_NOISE_DIAGONAL, err)); /* refuses few pixels */
    hc_noise_range_note(stage, &noise);
    HC_TRY(hc_new(work->mean, bands, what, err));
    HC_TRY(hc_new(work->noise, bands, what, err));
    HC_TRY(hc_new(work->around_0, bands, what, err));
    HC_TRY(hc_new(work->around_m, bands, what, err));
    HC_TRY(hc_new(work->covariance, bands * bands, what, err));
    HC_TRY(hc_new(work->inverse, bands * bands, what, err));
    HC_TRY(hc_new(work->range, bands * bands, what, err));
    HC_TRY(hc_new(work->matrix, bands * bands, what, err));
    HC_TRY(hc_new(work->vectors, bands * bands, what, err));
    HC_TRY(hc_new(dependent, bands, what, err));
    work->n = (double)scene->pixels;
    size_t filled = 0;
    for (size_t b = 0; b < bands; b++) {
        if (!(scene->covariance[b * bands + b] > 0)) {
            continue;
        }
        work->mean[work->p] = scene->mean[b];
        work->noise[work->p++] = noise.covariance[b * bands + b];
        for (size_t c = 0; c < bands; c++) {
            if (scene->covariance[c * bands + c] > 0) {
                work->covariance[filled++] = scene->covariance[b * bands + c] * ((work->n - 1) / work->n);
            }
        }
    }
    HC_TRY(hc_noise_inverse(work->covariance, work->p, work->inverse, dependent, &work->rank, err));
    put_range(work);
    for (size_t b = 0; b < work->p; b++) {
        work->noise[b] /= work->range[b * work->p + b];
    }
done:
    hc_statistics_clear(&noise);
    free(dependent);
    return status;
}

/* Eigenvalues of K, or of R, with each band in units of scale[b] (NULL = 1). */
static HcStatus eigenvalues(Work *work, HcCompute *compute, bool around_mean, const double *scale,
                            double *values, HcError *err) {
    size_t p = work->p;
    for (size_t b = 0; b < p; b++) {
        for (size_t c = 0; c < p; c++) {
            double entry = work->covariance[b * p + c] + (around_mean ? 0 : work->mean[b] * work->mean[c]);
            work->matrix[b * p + c] = scale != NULL ? entry / sqrt(scale[b] * scale[c]) : entry;
        }
    }
    return hc_eigh(compute, (int32_t)p, 0, work->matrix, values, work->vectors, err);
}

static HcStatus both_eigenvalues(Work *work, HcCompute *compute, const double *scale, HcError *err) {
    HC_OR_RETURN(eigenvalues(work, compute, true, scale, work->around_m, err));
    return eigenvalues(work, compute, false, scale, work->around_0, err);
}

/* x with P(normal > x) = rate, for 0 < rate < 0.5. */
static double normal_quantile(double rate) {
    double low = 0;
    double high = 40;
    for (int i = 0; i < 80; i++) {
        double middle = 0.5 * (low + high);
        *(0.5 * erfc(middle / sqrt(2)) > rate ? &low : &high) = middle;
    }
    return 0.5 * (low + high);
}

/* Variance of the difference of the eigenvalues k of R and K when both hold noise alone. */
static double variance_of(const Work *work, size_t k) {
    double a = work->around_0[k];
    double b = work->around_m[k];
    return 2 * (a * a + b * b) / work->n;
}

/* Harsanyi, Farrand and Chang: differences that noise exceeds at `rate` only. */
static int32_t count_differences(const Work *work, double rate) {
    double factor = normal_quantile(rate);
    int32_t count = 0;
    for (size_t k = 0; k < work->rank; k++) {
        count += work->around_0[k] - work->around_m[k] > factor * sqrt(variance_of(work, k));
    }
    return count;
}

/* Luo et al.: the most likely place from which on differences are noise. Values count in units of their
 * root mean square, since the likelihood depends on the unit. */
static int32_t most_likely(const Work *work) {
    double unit = 0;
    double sum = 0;
    double most = -INFINITY;
    int32_t place = 0;
    for (size_t k = 0; k < work->rank; k++) {
        unit += work->around_0[k] / (double)work->rank;
    }
    for (size_t k = work->rank; k-- > 0;) {
        double z = work->around_0[k] - work->around_m[k];
        double variance = variance_of(work, k);
        sum -= 0.5 * (z * z / variance + log(variance / (unit * unit)));
        if (sum >= most) {
            most = sum;
            place = (int32_t)k;
        }
    }
    return place;
}

/* HySime (Bioucas-Dias and Nascimento 2008): the directions of the signal's correlation in which noise adds
 * less error than leaving them out. Regression without intercept, as there: its inverse is that of R, by
 * Sherman and Morrison. */
static HcStatus hysime(Work *work, HcCompute *compute, HcDimension *to, HcError *err) {
    size_t p = work->p;
    double *toward = work->around_0; /* K^-1 m */
    double *noise = work->around_m;  /* the variances of the residuals */
    double along = 1;
    double signal = 0;
    double power = 0;
    for (size_t b = 0; b < p; b++) {
        toward[b] = 0;
        for (size_t c = 0; c < p; c++) {
            toward[b] += work->inverse[b * p + c] * work->mean[c];
        }
        along += toward[b] * work->mean[b];
    }
    for (size_t b = 0; b < p; b++) {
        noise[b] = work->range[b * p + b] / (work->inverse[b * p + b] - toward[b] * toward[b] / along);
    }
    for (size_t b = 0; b < p; b++) {
        for (size_t c = 0; c < p; c++) {
            double inverse = work->inverse[b * p + c] - toward[b] * toward[c] / along;
            double entry = work->covariance[b * p + c] + work->mean[b] * work->mean[c];
            double noisy = work->range[b * p + c] * noise[c] + work->range[c * p + b] * noise[b];
            work->matrix[b * p + c] = entry - noisy + noise[b] * inverse * noise[c];
        }
        signal += work->matrix[b * p + b];
        power += work->range[b * p + b] * noise[b];
    }
    to->snr = signal / power;
    double *values = toward;
    HC_OR_RETURN(hc_eigh(compute, (int32_t)p, (int32_t)p, work->matrix, values, work->vectors, err));
    double floor_of_noise = signal / (double)p / 1e5; /* as the authors' program */
    int32_t count = 0;
    for (size_t k = 0; k < p; k++) {
        const double *e = work->vectors + k * p;
        double whole = 0;
        double noisy = floor_of_noise;
        for (size_t b = 0; b < p; b++) {
            double row = 0;
            for (size_t c = 0; c < p; c++) {
                row += (work->covariance[b * p + c] + work->mean[b] * work->mean[c]) * e[c];
            }
            whole += e[b] * row;
            noisy += e[b] * e[b] * noise[b];
        }
        count += 2 * noisy < whole;
    }
    to->count[HC_DIMENSION_HYSIME] = count;
    return HC_OK;
}

/* Eigenvalues of the covariance in units of the noise, above what white noise reaches; and above the
 * threshold that keeps singular values with the least error (Gavish and Donoho 2014, noise known). */
static void count_whitened(const Work *work, HcDimension *to) {
    double shape = (double)work->rank / work->n;
    double edge = (1 + sqrt(shape)) * (1 + sqrt(shape));
    double best = 2 * (shape + 1) + 8 * shape / (shape + 1 + sqrt(shape * shape + 14 * shape + 1));
    for (size_t k = 0; k < work->rank; k++) {
        double value = work->around_m[k] * work->n / (work->n - 1);
        to->count[HC_DIMENSION_MARCHENKO_PASTUR] += value > edge;
        to->count[HC_DIMENSION_GAVISH_DONOHO] += value > best;
    }
}

void hc_dimension_usual(HcDimension *dimension) {
    *dimension = (HcDimension){.rates = 3, .rate = {1e-3, 1e-4, 1e-5}};
}

HcStatus hc_dimension_estimate(HcDimension *dimension, HcStage *stage, const HcStatistics *scene,
                               HcError *err) {
    HcStatus status = HC_OK;
    HcCompute *compute = stage->compute;
    Work work = {0};
    memset(dimension->count, 0, sizeof dimension->count);
    HC_TRY(work_init(&work, stage, scene, err));
    dimension->pixels = scene->pixels;
    dimension->bands = (int32_t)work.p;
    dimension->rank = (int32_t)work.rank;
    HC_TRY(both_eigenvalues(&work, compute, NULL, err));
    for (int32_t r = 0; r < dimension->rates; r++) {
        dimension->hfc[r] = count_differences(&work, dimension->rate[r]);
    }
    dimension->count[HC_DIMENSION_ELM] = most_likely(&work);
    HC_TRY(both_eigenvalues(&work, compute, work.noise, err));
    for (int32_t r = 0; r < dimension->rates; r++) {
        dimension->nwhfc[r] = count_differences(&work, dimension->rate[r]);
    }
    count_whitened(&work, dimension);
    HC_TRY(hysime(&work, compute, dimension, err));
    dimension->count[HC_DIMENSION_HFC] = dimension->hfc[0];
    dimension->count[HC_DIMENSION_NWHFC] = dimension->nwhfc[0];
    int32_t found = dimension->count[HC_DIMENSION_HYSIME];
    dimension->count[HC_DIMENSION_AUTO] = found > 0 ? found : 1;
done:
    work_clear(&work);
    return status;
}

int32_t hc_dimension_extreme(const HcDimension *dimension, bool largest) {
    int32_t found = dimension->count[HC_DIMENSION_HYSIME];
    for (int32_t k = HC_DIMENSION_HYSIME; k < HC_DIMENSION_RULES; k++) {
        int32_t count = dimension->count[k];
        found = (count > found) == largest ? count : found;
    }
    return found;
}

bool hc_dimension_differs(const HcDimension *dimension) {
    return hc_dimension_extreme(dimension, true) > 2 * hc_dimension_extreme(dimension, false);
}

void hc_dimension_put(const HcDimension *dimension, HcJson *to) {
    size_t rates = (size_t)dimension->rates;
    hc_json_put_number(to, "bands_that_vary", dimension->bands);
    hc_json_put_number(to, "independent_bands", dimension->rank);
    hc_json_put_number(to, "pixels", (double)dimension->pixels);
    hc_json_put_double(to, "snr_db", 10 * log10(dimension->snr));
    hc_json_put_number(to, "hysime", dimension->count[HC_DIMENSION_HYSIME]);
    hc_json_put_doubles(to, "false_alarm_rates", dimension->rate, rates);
    hc_json_put_ints(to, "hfc", dimension->hfc, rates);
    hc_json_put_ints(to, "nwhfc", dimension->nwhfc, rates);
    hc_json_put_number(to, "elm", dimension->count[HC_DIMENSION_ELM]);
    hc_json_put_number(to, "gavish_donoho", dimension->count[HC_DIMENSION_GAVISH_DONOHO]);
    hc_json_put_number(to, "marchenko_pastur", dimension->count[HC_DIMENSION_MARCHENKO_PASTUR]);
    hc_json_put_number(to, "recommended", dimension->count[HC_DIMENSION_AUTO]);
    hc_json_put_text(to, "recommended_by", hc_dimension_words[HC_DIMENSION_HYSIME]);
    hc_json_put_bool(to, "rules_differ", hc_dimension_differs(dimension));
}
