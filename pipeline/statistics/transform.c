/* Transforms of mnf and pca from statistics. Noise is whitened by the Cholesky factor of its correlations,
 * not by eigenvectors: one eigenproblem is left, no inverse is formed, and bands of very different noise keep
 * their digits (3 to 8 times closer to long double arithmetic at a condition number of 10^10). */
#include "pipeline/statistics/transform.h"
#include "core/allocate.h"
#include "core/operation/eigh/eigh.h"
#include "core/solver/dense.h"
#include "pipeline/json/json.h"

#include <math.h>
#include <sched.h>
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

static HcStatus allocate(HcTransform *transform, int32_t bands, int32_t components, HcError *err) {
    size_t p = (size_t)bands;
    size_t m = (size_t)components;
    transform->bands = bands;
    transform->components = components;
    HC_OR_RETURN(hc_new(transform->mean, p, "a transform", err));
    HC_OR_RETURN(hc_new(transform->forward, p * m, "a transform", err));
    HC_OR_RETURN(hc_new(transform->inverse, m * p, "a transform", err));
    HC_OR_RETURN(hc_new(transform->eigenvalues, m, "a transform", err));
    return transform->left_out == NULL ? hc_new(transform->left_out, p, "a transform", err) : HC_OK;
}

/* Components whose columns and rows are made. */
static int32_t made_of(const HcTransform *transform) {
    bool all = transform->wanted <= 0 || transform->wanted > transform->components;
    return all ? transform->components : transform->wanted;
}

HcStatus hc_transform_fit_pca(HcTransform *transform, HcCompute *compute, const double *mean,
                              const double *covariance, bool standardise, HcError *err) {
    HcStatus status = HC_OK;
    int32_t p = transform->scene.bands;
    size_t n = (size_t)p;
    double *matrix = NULL, *vectors = NULL, *scale = NULL;
    int32_t used = 0;
    HC_TRY(hc_new(matrix, n * n, "a principal component fit", err));
    HC_TRY(hc_new(vectors, n * n, "a principal component fit", err));
    HC_TRY(hc_new(scale, n, "a principal component fit", err));
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
        HC_TRY(hc_fail(err, HC_E_NUMERIC, "all %d bands are constant", p));
    }
    for (size_t b = 0; b < n; b++) {
        for (size_t c = 0; c < n; c++) {
            matrix[b * n + c] = scale[b] * covariance[b * n + c] * scale[c];
        }
    }
    int32_t made = made_of(transform);
    HC_TRY(hc_eigh(compute, p, made, matrix, transform->eigenvalues, vectors, err));
    for (size_t k = 0; k < (size_t)made; k++) {
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

/* What a noise fraction fit works in. Matrices are padded to whole tiles (core/solver/dense.h). */
typedef struct Fit {
    const double *covariance, *noise; /* [bands][bands] */
    size_t bands, kept, stride;
    size_t made;        /* components */
    int32_t *band;      /* [kept] the bands that take part */
    int32_t *done;      /* [rows of tiles of S] tiles of the row that are there */
    double *deviation;  /* [bands] of the noise, 0 where there is none to whiten */
    double *scale;      /* [bands] 1 / deviation, or 0 */
    double *reciprocal; /* [kept] of the diagonal of upper */
    double *upper;      /* [kept][kept] U of the noise correlations U'U */
    double *first, *second;
    double *forward, *inverse; /* of the transform, and its left_out */
    const uint8_t *left_out;
} Fit;

static void fit_clear(Fit *fit) {
    free(fit->band);
    free(fit->deviation);
    free(fit->upper);
    *fit = (Fit){0};
}

static HcStatus fit_init(Fit *fit, const double *covariance, const double *noise, size_t bands,
                         HcError *err) {
    HcStatus status = HC_OK;
    size_t padded = hc_dense_padded(bands);
    size_t stride = hc_dense_stride(bands);
    *fit = (Fit){.covariance = covariance, .noise = noise, .bands = bands, .stride = stride};
    HC_TRY(hc_new(fit->band, 2 * padded, "a noise fraction fit", err));
    HC_TRY(hc_new(fit->deviation, 3 * padded, "a noise fraction fit", err));
    HC_TRY(hc_new_aligned(fit->upper, 3 * padded * stride, "a noise fraction fit", err));
    memset(fit->upper, 0, padded * stride * sizeof *fit->upper);
    fit->done = fit->band + padded;
    fit->scale = fit->deviation + padded;
    fit->reciprocal = fit->scale + padded;
    fit->first = fit->upper + padded * stride;
    fit->second = fit->first + padded * stride;
done:
    if (status != HC_OK) {
        fit_clear(fit);
    }
    return status;
}

/* Which bands have signal and noise at all, and the standard deviations of their noise. */
static void deviations(Fit *fit, uint8_t *left_out) {
    for (size_t b = 0; b < fit->bands; b++) {
        double variance = fit->noise[b * fit->bands + b];
        left_out[b] = !(fit->covariance[b * fit->bands + b] > 0) ? HC_BAND_CONSTANT
                      : !(variance > 0)                          ? HC_BAND_NOISELESS
                                                                 : HC_BAND_USED;
        if (left_out[b] == HC_BAND_USED) {
            fit->deviation[b] = sqrt(variance);
            fit->scale[b] = 1 / fit->deviation[b];
        }
    }
}

/* The Cholesky factor U of the noise correlations R = U'U; a band that the bands before it explain takes no
 * part. */
static HcStatus factorise(Fit *fit, uint8_t *left_out, HcError *err) {
    uint8_t *used = NULL;
    HC_OR_RETURN(hc_new(used, fit->bands, "a noise fraction fit", err));
    for (size_t b = 0; b < fit->bands; b++) {
        used[b] = left_out[b] == HC_BAND_USED;
    }
    HcDenseFactor factor = {.bands = fit->bands,
                            .stride = fit->stride,
                            .band = fit->band,
                            .scale = fit->scale,
                            .reciprocal = fit->reciprocal,
                            .upper = fit->upper,
                            .rest = fit->first};
    hc_dense_factorise(&factor, fit->noise, used);
    fit->kept = factor.kept;
    for (size_t b = 0; b < fit->bands; b++) {
        left_out[b] = left_out[b] == HC_BAND_USED && used[b] == 0 ? HC_BAND_REPEATED : left_out[b];
    }
    free(used);
    return HC_OK;
}

/* Leaves the columns of kept bands in U, and fills it up to whole tiles with the unit matrix. */
static void close_ranks(Fit *fit) {
    size_t m = fit->kept;
    size_t padded = hc_dense_padded(m);
    for (size_t i = 0; i < m && m < fit->bands; i++) {
        double *row = fit->upper + i * fit->stride;
        for (size_t j = 0; j < m; j++) {
            row[j] = row[fit->band[j]];
        }
        memset(row + m, 0, (fit->stride - m) * sizeof *row);
    }
    for (size_t i = m; i < padded; i++) {
        fit->upper[i * fit->stride + i] = fit->reciprocal[i] = 1;
    }
}

/* Columns [panel, panel + 1) * HC_TILE of first = Y = U'^-1 C with C the covariance in units of the noise
 * deviations: its upper triangle, by tiles. */
static void half_whitened(const Fit *fit, size_t panel) {
    size_t n = fit->bands;
    size_t m = fit->kept;
    size_t stride = fit->stride;
    size_t j = panel * HC_TILE;
    double tile[HC_TILE * HC_TILE];
    for (size_t i = 0; i < j + HC_TILE; i++) { /* rows that factorise() used, and rows from m on, are 0 */
        double *row = fit->first + i * stride;
        size_t b = i < m ? (size_t)fit->band[i] : 0;
        for (size_t c = j; c < j + HC_TILE; c++) {
            size_t other = (size_t)fit->band[c < m ? c : 0];
            row[c] =
                i < m && c < m ? fit->covariance[b * n + other] * (fit->scale[b] * fit->scale[other]) : 0;
        }
    }
    for (size_t i = 0; i <= j; i += HC_TILE) {
        double *at = fit->first + i * stride + j;
        hc_dense_get(tile, at, stride);
        hc_dense_subtract(tile, fit->upper + i, 1, stride, fit->first + j, stride, i);
        hc_dense_forward(tile, fit->upper + i * stride + i, stride, fit->reciprocal + i);
        hc_dense_put(tile, at, stride);
    }
}

/* A row of tiles of second = S = U'^-1 Y', the whitened covariance, both triangles. Tiles of the lower
 * triangle need those above them, which S has by symmetry, and of Y the upper triangle alone: n^3 operations
 * with those of Y. Rows are begun in their order, so that what a row waits for comes. */
static void whitened(void *user, int64_t row, int32_t thread) {
    const Fit *fit = user;
    size_t stride = fit->stride;
    size_t i = (size_t)row * HC_TILE;
    double tile[HC_TILE * HC_TILE];
    (void)thread;
    half_whitened(fit, (size_t)row);
    for (size_t j = 0; j <= i; j += HC_TILE) {
        while (j < i && __atomic_load_n(fit->done + row - 1, __ATOMIC_ACQUIRE) <= (int32_t)(j / HC_TILE)) {
            sched_yield();
        }
        double *at = fit->second + i * stride + j;
        hc_dense_get_turned(tile, fit->first + j * stride + i, stride);
        hc_dense_subtract(tile, fit->upper + i, 1, stride, fit->second + j, stride, i);
        hc_dense_forward(tile, fit->upper + i * stride + i, stride, fit->reciprocal + i);
        if (i == j) { /* symmetric but for rounding */
            for (size_t r = 0; r < HC_TILE; r++) {
                for (size_t c = 0; c < r; c++) {
                    tile[c * HC_TILE + r] = tile[r * HC_TILE + c];
                }
            }
        }
        hc_dense_put(tile, at, stride);
        hc_dense_put_turned(tile, fit->second + j * stride + i, stride);
        __atomic_store_n(fit->done + row, (int32_t)(j / HC_TILE) + 1, __ATOMIC_RELEASE);
    }
}

/* first = eigenvectors of S, a row each. */
static HcStatus eigenvectors(const Fit *fit, HcCompute *compute, double *values, HcError *err) {
    size_t m = fit->kept;
    for (size_t i = 1; i < m; i++) {
        memmove(fit->second + i * m, fit->second + i * fit->stride, m * sizeof *fit->second);
    }
    return hc_eigh(compute, (int32_t)m, (int32_t)fit->made, fit->second, values, fit->first, err);
}

/* Components [k, end): second = U^-1 V, forward = D^-1 of it. The sign rule holds for the loadings on the
 * bands, not for those on the whitened axes; sign[HC_TILE]. */
static void forward_of(const Fit *fit, size_t k, size_t end, double *sign) {
    size_t m = fit->kept;
    size_t stride = fit->stride;
    size_t padded = hc_dense_padded(m);
    double tile[HC_TILE * HC_TILE];
    double largest[HC_TILE] = {0};
    for (size_t i = 0; i < padded; i++) {
        for (size_t c = k; c < k + HC_TILE; c++) {
            fit->second[i * stride + c] = i < m && c < m ? fit->first[c * m + i] : 0;
        }
    }
    for (size_t i = padded; i > 0;) {
        i -= HC_TILE;
        size_t next = i + HC_TILE;
        double *at = fit->second + i * stride + k;
        hc_dense_get(tile, at, stride);
        hc_dense_subtract(tile, fit->upper + i * stride + next, stride, 1, fit->second + next * stride + k,
                          stride, padded - next);
        hc_dense_backward(tile, fit->upper + i * stride + i, stride, fit->reciprocal + i);
        hc_dense_put(tile, at, stride);
    }
    for (size_t i = 0; i < m; i++) {
        size_t b = (size_t)fit->band[i];
        for (size_t c = k; c < end; c++) {
            double loading = fit->second[i * stride + c] * fit->scale[b];
            fit->forward[b * m + c] = loading;
            largest[c - k] = fabs(loading) > fabs(largest[c - k]) ? loading : largest[c - k];
        }
    }
    for (size_t c = k; c < end; c++) {
        sign[c - k] = largest[c - k] < 0 ? -1 : 1;
        for (size_t i = 0; i < m; i++) {
            fit->forward[(size_t)fit->band[i] * m + c] *= sign[c - k];
        }
    }
}

/* Components [k, end): inverse = (N forward)', which undoes forward since forward' N forward = 1: V'U D for
 * kept bands; the product as it stands gives bands that repeat others their share. */
static void inverse_of(const Fit *fit, size_t k, size_t end, const double *sign) {
    size_t n = fit->bands;
    size_t m = fit->kept;
    for (size_t i = 0; i < m; i += HC_TILE) {
        /* The tile is the negative of the product. */
        double tile[HC_TILE * HC_TILE] = {0};
        size_t rows = i + HC_TILE < m ? i + HC_TILE : m;
        hc_dense_subtract(tile, fit->first + k * m, m, 1, fit->upper + i, fit->stride, rows);
        for (size_t r = 0; k + r < end; r++) {
            for (size_t c = 0; c < HC_TILE && i + c < m; c++) {
                size_t b = (size_t)fit->band[i + c];
                fit->inverse[(k + r) * n + b] = -sign[r] * fit->deviation[b] * tile[r * HC_TILE + c];
            }
        }
    }
    for (size_t b = 0; b < n; b++) {
        for (size_t c = k; c < end && fit->left_out[b] != HC_BAND_USED; c++) {
            double share = 0;
            for (size_t i = 0; i < m; i++) {
                size_t other = (size_t)fit->band[i];
                share += fit->noise[b * n + other] * fit->forward[other * m + c];
            }
            fit->inverse[c * n + b] = share;
        }
    }
}

static void both_ways(void *user, int64_t panel, int32_t thread) {
    const Fit *fit = user;
    size_t k = (size_t)panel * HC_TILE;
    size_t end = k + HC_TILE < fit->made ? k + HC_TILE : fit->made;
    double sign[HC_TILE];
    (void)thread;
    forward_of(fit, k, end, sign);
    inverse_of(fit, k, end, sign);
}

HcStatus hc_transform_fit_mnf(HcTransform *transform, HcCompute *compute, const double *mean,
                              const double *covariance, const double *noise, HcError *err) {
    HcStatus status = HC_OK;
    size_t n = (size_t)transform->scene.bands;
    Fit fit = {0};
    HC_TRY(fit_init(&fit, covariance, noise, n, err));
    HC_TRY(hc_new(transform->left_out, n, "a noise fraction fit", err));
    snprintf(transform->method, sizeof transform->method, "mnf");
    deviations(&fit, transform->left_out);
    HC_TRY(factorise(&fit, transform->left_out, err));
    if (fit.kept == 0) {
        HC_TRY(hc_fail(err, HC_E_NUMERIC,
                       "none of the %zu bands has both signal and noise: no noise fractions", n));
    }
    close_ranks(&fit);
    HC_TRY(allocate(transform, (int32_t)n, (int32_t)fit.kept, err));
    memcpy(transform->mean, mean, n * sizeof *mean);
    fit.made = (size_t)made_of(transform);
    fit.forward = transform->forward;
    fit.inverse = transform->inverse;
    fit.left_out = transform->left_out;
    int64_t panels = (int64_t)(hc_dense_padded(fit.kept) / HC_TILE);
    hc_share(compute, panels, whitened, &fit);
    HC_TRY(eigenvectors(&fit, compute, transform->eigenvalues, err));
    hc_share(compute, (int64_t)(hc_dense_padded(fit.made) / HC_TILE), both_ways, &fit);
done:
    fit_clear(&fit);
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
    size_t p = (size_t)transform->bands;
    size_t m = (size_t)transform->components;
    HcJson json;
    hc_json_begin(&json);
    hc_json_open_array(&json, "left_out_bands_from_1");
    for (size_t b = 0; b < p; b++) {
        if (transform->left_out[b] != HC_BAND_USED) {
            hc_json_put_number(&json, NULL, (double)b + 1);
        }
    }
    hc_json_close(&json);
    hc_json_put_kind(&json, HC_JSON_MODEL, 1);
    hc_json_put_text(&json, "method", transform->method);
    hc_json_put_text(&json, "noise", transform->noise);
    hc_json_put_number(&json, "pixels", (double)transform->pixels);
    hc_json_put_number(&json, "noise_pixels", (double)transform->noise_pixels);
    hc_json_put_number(&json, "components", transform->components);
    hc_json_put_bands(&json, &transform->scene);
    hc_json_put_doubles(&json, "eigenvalues", transform->eigenvalues, m);
    hc_json_put_doubles(&json, "mean", transform->mean, p);
    hc_json_put_doubles(&json, "forward", transform->forward, p * m);
    hc_json_put_doubles(&json, "inverse", transform->inverse, m * p);
    HcStatus status = hc_json_save(&json, path, overwrite, err);
    hc_json_clear(&json);
    return status;
}

HcStatus hc_transform_load(HcTransform *transform, const char *path, const char *method, HcError *err) {
    HcStatus status = HC_OK;
    cJSON *json = NULL;
    HC_TRY(hc_json_read(path, &json, err));
    HC_TRY(hc_json_check_kind(json, HC_JSON_MODEL, path, transform->remark, err));
    const char *found = hc_json_text(json, "method");
    if (found == NULL) {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: \"method\" is missing", path));
    }
    if (strcmp(found, method) != 0) {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: a model of %s, not of %s", path, found, method));
    }
    HC_TRY(hc_json_get_bands(json, &transform->scene, path, err));
    int64_t components = 0;
    HC_TRY(hc_json_get_int(json, "components", 1, transform->scene.bands, &components, path, err));
    HC_TRY(hc_json_get_int(json, "pixels", 0, INT64_MAX / 2, &transform->pixels, path, err));
    HC_TRY(hc_json_get_int(json, "noise_pixels", 0, INT64_MAX / 2, &transform->noise_pixels, path, err));
    size_t p = (size_t)transform->scene.bands;
    size_t m = (size_t)components;
    HC_TRY(hc_json_check_count(json, "forward", p * m, path, err));
    HC_TRY(hc_json_check_count(json, "inverse", m * p, path, err));
    HC_TRY(allocate(transform, transform->scene.bands, (int32_t)components, err));
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
