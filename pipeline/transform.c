#include "pipeline/transform.h"
#include "pipeline/json.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hc_transform_clear(HcTransform *transform) {
    hc_scene_clear(&transform->scene);
    free(transform->mean);
    free(transform->forward);
    free(transform->inverse);
    free(transform->eigenvalues);
    free(transform->left_out);
    *transform = (HcTransform){0};
}

/* One block of zeroed doubles for the matrices of a fit. */
static double *new_doubles(size_t count) {
    return calloc(count > 0 ? count : 1, sizeof(double));
}

static HcStatus allocate(HcTransform *transform, int32_t bands, int32_t components, HcError *err) {
    size_t p = (size_t)bands;
    size_t m = (size_t)components;
    transform->bands = bands;
    transform->components = components;
    transform->mean = new_doubles(p);
    transform->forward = new_doubles(p * m);
    transform->inverse = new_doubles(m * p);
    transform->eigenvalues = new_doubles(m);
    if (transform->left_out == NULL) {
        transform->left_out = calloc(p, 1);
    }
    if (transform->mean == NULL || transform->forward == NULL || transform->inverse == NULL ||
        transform->eigenvalues == NULL || transform->left_out == NULL) {
        return hc_fail_memory(err, (double)(2 * p * m) * sizeof(double), "a transform");
    }
    return HC_OK;
}

/* out[n][m] = a[n][k] b[k][m]; a row of out is a sum of rows of b, which compilers vectorise. */
static void multiply(const double *a, const double *b, double *out, size_t n, size_t k, size_t m) {
    memset(out, 0, n * m * sizeof *out);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < k; j++) {
            double factor = a[i * k + j];
            for (size_t c = 0; c < m; c++) {
                out[i * m + c] += factor * b[j * m + c];
            }
        }
    }
}

static void transpose(const double *a, double *out, size_t rows, size_t columns) {
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < columns; j++) {
            out[j * rows + i] = a[i * columns + j];
        }
    }
}

HcStatus hc_transform_fit_pca(HcTransform *transform, HcCompute *compute, const double *mean,
                              const double *covariance, bool standardise, HcError *err) {
    HcStatus status = HC_OK;
    int32_t p = transform->scene.bands;
    size_t n = (size_t)p;
    double *matrix = new_doubles(n * n);
    double *vectors = new_doubles(n * n);
    double *scale = new_doubles(n);
    int32_t used = 0;
    if (matrix == NULL || vectors == NULL || scale == NULL) {
        HC_TRY(hc_fail_memory(err, (double)(2 * n * n) * sizeof(double), "a principal component fit"));
    }
    snprintf(transform->method, sizeof transform->method, "pca");
    HC_TRY(allocate(transform, p, p, err));
    memcpy(transform->mean, mean, n * sizeof *mean);
    for (size_t b = 0; b < n; b++) {
        double variance = covariance[b * n + b];
        transform->left_out[b] = variance > 0 ? HC_BAND_USED : HC_BAND_CONSTANT;
        used += variance > 0;
        scale[b] = !standardise ? 1 : variance > 0 ? 1 / sqrt(variance) : 0;
    }
    if (used == 0) {
        HC_TRY(hc_fail(err, HC_E_NUMERIC, "all %d bands are constant: there are no principal components", p));
    }
    for (size_t b = 0; b < n; b++) {
        for (size_t c = 0; c < n; c++) {
            matrix[b * n + c] = scale[b] * covariance[b * n + c] * scale[c];
        }
    }
    HC_TRY(compute->ops->eigh(compute, p, matrix, transform->eigenvalues, vectors, err));
    for (size_t k = 0; k < n; k++) {
        for (size_t b = 0; b < n; b++) {
            double loading = vectors[k * n + b];
            transform->forward[b * n + k] = scale[b] * loading;
            transform->inverse[k * n + b] = scale[b] > 0 ? loading / scale[b] : 0;
        }
    }
done:
    free(matrix);
    free(vectors);
    free(scale);
    return status;
}

/* Bands whose noise cannot be whitened: constant, without noise, or a combination of the bands before them.
 * The last are found by a Cholesky factorisation of the noise correlations that skips a band when nothing of
 * its variance is left. Writes the list of kept bands; returns how many. */
static int32_t usable_bands(const double *covariance, const double *noise, size_t n, double *factor,
                            uint8_t *left_out, int32_t *kept) {
    /* Rounding leaves about n eps of an exact repetition; real noise leaves far more. */
    double least = 16 * (double)n * DBL_EPSILON;
    int32_t count = 0;
    for (size_t b = 0; b < n; b++) {
        left_out[b] = HC_BAND_USED;
        if (!(covariance[b * n + b] > 0)) {
            left_out[b] = HC_BAND_CONSTANT;
        } else if (!(noise[b * n + b] > 0)) {
            left_out[b] = HC_BAND_NOISELESS;
        }
        if (left_out[b] != HC_BAND_USED) {
            continue;
        }
        double *row = factor + (size_t)count * n;
        double rest = 1;
        for (int32_t j = 0; j < count; j++) {
            size_t other = (size_t)kept[j];
            const double *row_j = factor + (size_t)j * n;
            double value = noise[b * n + other] / sqrt(noise[b * n + b] * noise[other * n + other]);
            for (int32_t i = 0; i < j; i++) {
                value -= row[i] * row_j[i];
            }
            row[j] = value / row_j[j];
            rest -= row[j] * row[j];
        }
        if (rest < least) {
            left_out[b] = HC_BAND_REPEATED;
            continue;
        }
        row[count] = sqrt(rest);
        kept[count++] = (int32_t)b;
    }
    return count;
}

/* whiten[m][m]: columns are the eigenvectors of the noise of the kept bands, divided by its standard
 * deviations. Works on noise correlations, so that bands of very different noise do not lose digits. */
static HcStatus whitening(HcCompute *compute, const double *noise, size_t n, const int32_t *kept, size_t m,
                          double *whiten, double *scratch, double *values, HcError *err) {
    double *correlation = scratch;
    double *vectors = scratch + m * m;
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < m; j++) {
            size_t a = (size_t)kept[i];
            size_t b = (size_t)kept[j];
            correlation[i * m + j] = noise[a * n + b] / sqrt(noise[a * n + a] * noise[b * n + b]);
        }
    }
    HcStatus status = compute->ops->eigh(compute, (int32_t)m, correlation, values, vectors, err);
    if (status != HC_OK) {
        return status;
    }
    if (!(values[m - 1] > 0)) {
        return hc_fail(err, HC_E_NUMERIC, "the noise covariance of %zu bands is not positive definite", m);
    }
    for (size_t i = 0; i < m; i++) {
        double deviation = sqrt(noise[(size_t)kept[i] * n + (size_t)kept[i]]);
        for (size_t k = 0; k < m; k++) {
            whiten[i * m + k] = vectors[k * m + i] / (deviation * sqrt(values[k]));
        }
    }
    return HC_OK;
}

/* The whitened covariance of the kept bands, made symmetric: whiten' covariance whiten. */
static void whitened(const double *covariance, size_t n, const int32_t *kept, size_t m, const double *whiten,
                     double *out, double *scratch) {
    double *part = scratch;
    double *product = scratch + m * m;
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < m; j++) {
            part[i * m + j] = covariance[(size_t)kept[i] * n + (size_t)kept[j]];
        }
    }
    multiply(part, whiten, product, m, m, m);
    transpose(whiten, part, m, m);
    multiply(part, product, out, m, m, m);
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < i; j++) {
            out[i * m + j] = out[j * m + i] = 0.5 * (out[i * m + j] + out[j * m + i]);
        }
    }
}

HcStatus hc_transform_fit_mnf(HcTransform *transform, HcCompute *compute, const double *mean,
                              const double *covariance, const double *noise, HcError *err) {
    HcStatus status = HC_OK;
    size_t n = (size_t)transform->scene.bands;
    size_t m = 0;
    int32_t *kept = calloc(n, sizeof *kept);
    double *whiten = new_doubles(n * n);
    double *target = new_doubles(n * n);
    double *scratch = new_doubles(2 * n * n);
    double *values = new_doubles(n);
    transform->left_out = calloc(n, 1);
    if (kept == NULL || whiten == NULL || target == NULL || scratch == NULL || values == NULL ||
        transform->left_out == NULL) {
        HC_TRY(hc_fail_memory(err, (double)(4 * n * n) * sizeof(double), "a noise fraction fit"));
    }
    snprintf(transform->method, sizeof transform->method, "mnf");
    m = (size_t)usable_bands(covariance, noise, n, target, transform->left_out, kept);
    if (m == 0) {
        HC_TRY(hc_fail(err, HC_E_NUMERIC,
                       "none of the %zu bands has both signal and noise: no noise fractions", n));
    }
    HC_TRY(allocate(transform, (int32_t)n, (int32_t)m, err));
    memcpy(transform->mean, mean, n * sizeof *mean);
    HC_TRY(whitening(compute, noise, n, kept, m, whiten, scratch, values, err));
    whitened(covariance, n, kept, m, whiten, target, scratch);
    double *vectors = scratch;
    HC_TRY(compute->ops->eigh(compute, (int32_t)m, target, transform->eigenvalues, vectors, err));
    double *turned = scratch + m * m; /* vectors transposed: a component a column */
    transpose(vectors, turned, m, m);
    multiply(whiten, turned, target, m, m, m);
    /* The sign rule holds for the loadings on the bands, not for those on the whitened axes. */
    for (size_t k = 0; k < m; k++) {
        double *loading = scratch;
        for (size_t i = 0; i < m; i++) {
            loading[i] = target[i * m + k];
        }
        hc_sign_rule(loading, (int32_t)m);
        for (size_t i = 0; i < m; i++) {
            transform->forward[(size_t)kept[i] * m + k] = loading[i];
        }
    }
    /* forward' noise forward = 1, so the inverse is (noise forward)'; it also gives repeated bands their
     * share. */
    multiply(noise, transform->forward, whiten, n, n, m);
    transpose(whiten, transform->inverse, n, m);
done:
    free(kept);
    free(whiten);
    free(target);
    free(scratch);
    free(values);
    return status;
}

int32_t hc_transform_count(const HcTransform *transform, double minimum) {
    int32_t count = 0;
    while (count < transform->components && transform->eigenvalues[count] >= minimum) {
        count++;
    }
    return count > 0 ? count : 1;
}

HcStatus hc_transform_save(const HcTransform *transform, const char *path, bool overwrite, HcError *err) {
    HcStatus status = HC_OK;
    size_t p = (size_t)transform->bands;
    size_t m = (size_t)transform->components;
    cJSON *json = cJSON_CreateObject();
    cJSON *left_out = cJSON_AddArrayToObject(json, "left_out_bands_from_1");
    if (left_out == NULL || cJSON_AddNumberToObject(json, "hcube_model", 1) == NULL ||
        cJSON_AddStringToObject(json, "method", transform->method) == NULL ||
        cJSON_AddStringToObject(json, "noise", transform->noise) == NULL ||
        cJSON_AddNumberToObject(json, "pixels", (double)transform->pixels) == NULL ||
        cJSON_AddNumberToObject(json, "noise_pixels", (double)transform->noise_pixels) == NULL ||
        cJSON_AddNumberToObject(json, "components", transform->components) == NULL) {
        HC_TRY(hc_fail_memory(err, 0, path));
    }
    for (size_t b = 0; b < p; b++) {
        if (transform->left_out[b] != HC_BAND_USED) {
            cJSON_AddItemToArray(left_out, cJSON_CreateNumber((double)b + 1));
        }
    }
    HC_TRY(hc_json_add_bands(json, &transform->scene, err));
    HC_TRY(hc_json_add_doubles(json, "eigenvalues", transform->eigenvalues, m, err));
    HC_TRY(hc_json_add_doubles(json, "mean", transform->mean, p, err));
    HC_TRY(hc_json_add_doubles(json, "forward", transform->forward, p * m, err));
    HC_TRY(hc_json_add_doubles(json, "inverse", transform->inverse, m * p, err));
    HC_TRY(hc_json_write(path, json, overwrite, err));
done:
    cJSON_Delete(json);
    return status;
}

HcStatus hc_transform_load(HcTransform *transform, const char *path, const char *method, HcError *err) {
    HcStatus status = HC_OK;
    cJSON *json = NULL;
    HC_TRY(hc_json_read(path, &json, err));
    const char *found = hc_json_text(json, "method");
    if (cJSON_GetObjectItemCaseSensitive(json, "hcube_model") == NULL || found == NULL) {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: not a model file of hcube", path));
    }
    if (strcmp(found, method) != 0) {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: a model of %s, not of %s", path, found, method));
    }
    HC_TRY(hc_json_get_bands(json, &transform->scene, path, err));
    int64_t components = 0;
    HC_TRY(hc_json_get_int(json, "components", 1, transform->scene.bands, &components, path, err));
    HC_TRY(hc_json_get_int(json, "pixels", 0, INT64_MAX / 2, &transform->pixels, path, err));
    HC_TRY(hc_json_get_int(json, "noise_pixels", 0, INT64_MAX / 2, &transform->noise_pixels, path, err));
    HC_TRY(allocate(transform, transform->scene.bands, (int32_t)components, err));
    size_t p = (size_t)transform->bands;
    size_t m = (size_t)components;
    HC_TRY(hc_json_get_doubles(json, "eigenvalues", transform->eigenvalues, m, path, err));
    HC_TRY(hc_json_get_doubles(json, "mean", transform->mean, p, path, err));
    HC_TRY(hc_json_get_doubles(json, "forward", transform->forward, p * m, path, err));
    HC_TRY(hc_json_get_doubles(json, "inverse", transform->inverse, m * p, path, err));
    snprintf(transform->method, sizeof transform->method, "%s", found);
    const char *noise = hc_json_text(json, "noise");
    snprintf(transform->noise, sizeof transform->noise, "%s", noise != NULL ? noise : "");
done:
    cJSON_Delete(json);
    return status;
}
