/* JSON keeps doubles, and the sums are integers of up to 128 bits: they stand in texts, so that a total of
 * many files has the bits of one run. A file from elsewhere is checked before memory is taken, and before a
 * covariance could overflow. */
#include "pipeline/statistics/sums_file.h"
#include "core/allocate.h"
#include "pipeline/json/json.h"
#include "pipeline/statistics/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void hc_saved_sums_clear(HcSavedSums *sums) {
    hc_scene_clear(&sums->scene);
    hc_moments_clear(&sums->moments);
    *sums = (HcSavedSums){0};
}

/* ---- whole numbers ----
 *
 * JSON numbers would be rounded to doubles, so the integers stand in a text. */

/* Digits of a sum and of a product, at most: of integer scenes, and of far values on a grid. */
enum { WIDE_DIGITS = 38, LONG_SUM_DIGITS = 99, LONG_PRODUCT_DIGITS = 190 };

static HcStatus put_sums(HcJson *to, const HcMoments *moments, HcError *err) {
    size_t n = (size_t)moments->bands;
    char *text = NULL;
    HC_OR_RETURN(hc_new(text, n * HC_LONG_TEXT, "sum", err));
    char *end = text;
    for (size_t b = 0; b < n; b++) {
        HcLong sum = hc_moments_sum(moments, b);
        end = hc_long_print(&sum, end);
        *end++ = ' ';
    }
    end[-1] = '\0';
    hc_json_put_text(to, "sum", text);
    free(text);
    return HC_OK;
}

/* The rows of the symmetric matrix from the diagonal on, one behind the other. */
static HcStatus put_products(HcJson *to, const HcMoments *moments, HcError *err) {
    size_t n = (size_t)moments->bands;
    size_t each = moments->far_product != NULL ? HC_LONG_TEXT : WIDE_DIGITS + 3;
    char *text = NULL;
    HC_OR_RETURN(hc_new(text, n * (n + 1) / 2 * each, "products", err));
    char *end = text;
    for (size_t b = 0; b < n; b++) {
        for (size_t c = b; c < n; c++) {
            HcLong product = hc_moments_product(moments, b, c);
            end = hc_long_print(&product, end);
            *end++ = ' ';
        }
    }
    end[-1] = '\0';
    hc_json_put_text(to, "products", text);
    free(text);
    return HC_OK;
}

static HcStatus fail_wholes(const char *path, const char *name, size_t count, HcError *err) {
    return hc_fail(err, HC_E_INPUT, "%s: \"%s\" does not hold %zu whole numbers", path, name, count);
}

static HcStatus get_sums(const cJSON *json, const char *path, HcMoments *moments, HcError *err) {
    size_t n = (size_t)moments->bands;
    const char *text = hc_json_text(json, "sum");
    bool whole = text != NULL;
    for (size_t b = 0; b < n && whole; b++) {
        HcLong sum;
        whole = hc_long_parse(&text, moments->center != NULL ? LONG_SUM_DIGITS : WIDE_DIGITS, &sum);
        if (whole) {
            HC_OR_RETURN(hc_moments_set_sum(moments, b, &sum, err));
        }
    }
    return whole && *text == '\0' ? HC_OK : fail_wholes(path, "sum", n, err);
}

static HcStatus get_products(const cJSON *json, const char *path, HcMoments *moments, HcError *err) {
    size_t n = (size_t)moments->bands;
    const char *text = hc_json_text(json, "products");
    bool whole = text != NULL;
    for (size_t b = 0; b < n && whole; b++) {
        for (size_t c = b; c < n && whole; c++) {
            HcLong product;
            whole =
                hc_long_parse(&text, moments->center != NULL ? LONG_PRODUCT_DIGITS : WIDE_DIGITS, &product);
            if (whole) {
                HC_OR_RETURN(hc_moments_set_product(moments, b, c, &product, err));
            }
        }
    }
    return whole && *text == '\0' ? HC_OK : fail_wholes(path, "products", n * (n + 1) / 2, err);
}

/* ---- the grid of float scenes ---- */

static HcStatus put_grid(HcJson *json, const HcMoments *moments, HcError *err) {
    size_t n = (size_t)moments->bands;
    double *exponent = NULL;
    HC_OR_RETURN(hc_new(exponent, n, "the grid of sums", err));
    for (size_t b = 0; b < n; b++) {
        exponent[b] = moments->exponent[b];
    }
    hc_json_put_doubles(json, "center", moments->center, n);
    hc_json_put_doubles(json, "unit_exponent", exponent, n);
    free(exponent);
    return HC_OK;
}

static HcStatus get_grid(const cJSON *json, const char *path, HcMoments *moments, HcError *err) {
    HcStatus status = HC_OK;
    size_t n = (size_t)moments->bands;
    double *center = NULL, *read = NULL;
    int32_t *exponent = NULL;
    int32_t wrong = 0;
    HC_TRY(hc_new(center, n, "the grid of sums", err));
    HC_TRY(hc_new(read, n, "the grid of sums", err));
    HC_TRY(hc_new(exponent, n, "the grid of sums", err));
    HC_TRY(hc_json_get_doubles(json, "center", center, n, path, err));
    HC_TRY(hc_json_get_doubles(json, "unit_exponent", read, n, path, err));
    for (size_t b = 0; b < n; b++) {
        exponent[b] = fabs(read[b]) < 1000 && read[b] == rint(read[b]) ? (int32_t)read[b] : INT32_MIN / 2;
    }
    HcGrid grid = {center, exponent};
    wrong = hc_grid_wrong_band(&grid, moments->bands);
    if (wrong >= 0) {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: band %d has a \"center\" of %g and a \"unit_exponent\" of %g",
                       path, wrong + 1, center[wrong], read[wrong]));
    }
    HC_TRY(hc_moments_on_grid(moments, &grid, err));
done:
    free(center);
    free(read);
    free(exponent);
    return status;
}

/* ---- files ---- */

HcStatus hc_saved_sums_write(const char *path, const HcScene *scene, HcDifference difference,
                             const HcMoments *moments, bool overwrite, HcError *err) {
    HcStatus status = HC_OK;
    HcJson json;
    hc_json_begin(&json);
    hc_json_put_kind(&json, HC_JSON_SUMS, moments->center != NULL ? 2 : 1);
    hc_json_put_text(&json, "noise", hc_noise_word_of(difference));
    hc_json_put_number(&json, "pixels", (double)moments->count);
    hc_json_put_bands(&json, scene);
    if (moments->center != NULL) {
        HC_TRY(put_grid(&json, moments, err));
    }
    HC_TRY(put_sums(&json, moments, err));
    HC_TRY(put_products(&json, moments, err));
    HC_TRY(hc_json_save(&json, path, overwrite, err));
done:
    hc_json_clear(&json);
    return status;
}

/* Before memory is taken: whether the file can hold what that number of bands asks for. */
static HcStatus check_memory(const cJSON *json, size_t n, const char *path, HcError *err) {
    const char *text = hc_json_text(json, "products");
    size_t count = n * (n + 1) / 2;
    if (cJSON_HasObjectItem(json, "scatter")) {
        return hc_fail(err, HC_E_INPUT,
                       "%s: float sums of an earlier version of hcube, which were rounded: write them again",
                       path);
    }
    if (text == NULL || strlen(text) < 2 * count - 1) { /* a digit each, and blanks between them */
        return fail_wholes(path, "products", count, err);
    }
    return HC_OK;
}

static HcStatus get_moments(const cJSON *json, const char *path, HcSavedSums *out, HcError *err) {
    int64_t pixels = 0;
    int64_t version = 0;
    HC_OR_RETURN(hc_json_get_int(json, "hcube_sums", 1, 2, &version, path, err));
    HC_OR_RETURN(hc_json_get_int(json, "pixels", 0, (int64_t)1 << 40, &pixels, path, err));
    HC_OR_RETURN(check_memory(json, (size_t)out->scene.bands, path, err));
    HC_OR_RETURN(hc_moments_init(&out->moments, out->scene.bands, err));
    out->moments.count = pixels;
    if (version == 2) {
        HC_OR_RETURN(get_grid(json, path, &out->moments, err));
    }
    HC_OR_RETURN(get_sums(json, path, &out->moments, err));
    return get_products(json, path, &out->moments, err);
}

HcStatus hc_saved_sums_read(const char *path, HcSavedSums *out, HcError *err) {
    HcStatus status = HC_OK;
    cJSON *json = NULL;
    HC_TRY(hc_json_read(path, &json, err));
    const char *noise = hc_json_text(json, "noise");
    HC_TRY(hc_json_check_kind(json, HC_JSON_SUMS, path, NULL, err));
    if (noise == NULL) {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: \"noise\" is missing", path));
    }
    out->difference = hc_noise_of_word(noise);
    if (*noise != '\0' && out->difference == HC_DIFFERENCE_NONE) {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: noise \"%s\" is unknown", path, noise));
    }
    HC_TRY(hc_json_get_bands(json, &out->scene, path, err));
    HC_TRY(get_moments(json, path, out, err));
done:
    cJSON_Delete(json);
    return status;
}

/* ---- adding ---- */

static bool same_numbers(const double *a, const double *b, size_t count) {
    return (a == NULL) == (b == NULL) && (a == NULL || memcmp(a, b, count * sizeof *a) == 0);
}

/* Whether one physical value is stored as the same number in both. */
static bool same_scaling(const HcScene *a, const HcScene *b) {
    size_t n = (size_t)a->bands;
    return same_numbers(a->gain, b->gain, n) && same_numbers(a->offset, b->offset, n);
}

HcStatus hc_saved_sums_check(const HcScene *before, const HcScene *scene, const char *path, HcError *err) {
    if (scene->bands != before->bands) {
        return hc_fail(err, HC_E_INPUT, "%s: has %d bands, the scenes before it %d", path, scene->bands,
                       before->bands);
    }
    HC_OR_RETURN(hc_statistics_check_bands(scene, before, path, err));
    return same_scaling(scene, before)
               ? HC_OK
               : hc_fail(err, HC_E_INPUT, "%s: values are scaled otherwise than in the scenes before it",
                         path);
}

static HcStatus check_form(const HcSavedSums *to, const HcSavedSums *from, const char *path, HcError *err) {
    HC_OR_RETURN(hc_saved_sums_check(&to->scene, &from->scene, path, err));
    if (from->difference != to->difference) {
        return hc_fail(err, HC_E_INPUT, "%s: noise \"%s\" does not go with \"%s\"", path,
                       hc_noise_word_of(from->difference), hc_noise_word_of(to->difference));
    }
    return HC_OK;
}

/* A covariance of integers is made of count times product and of sum times sum, in 128 bits
 * (hc_moments_covariance), and of its denominator, which for noise is up to 72 count squared. Sums of a scene
 * keep sum squared below count times product; those of a file need not. On a grid longer integers take their
 * place. */
static HcStatus check_size(const HcMoments *moments, const char *path, HcError *err) {
    const double most = ldexp(1, 125);
    size_t n = (size_t)moments->bands;
    double count = (double)moments->count;
    bool integers = moments->center == NULL;
    bool fits = 72 * count * count < most;
    for (size_t b = 0; b < n; b++) {
        double sum = fabs((double)moments->sum[b]);
        fits = fits && (integers ? sum * sum : sum) < most;
    }
    for (size_t k = 0; k < n * n; k++) {
        double product = fabs((double)moments->product[k]);
        fits = fits && (integers ? fmax(count, 1) * product : product) < most;
    }
    if (!fits) {
        return hc_fail(err, HC_E_NUMERIC, "%s: with this scene there are too many pixels for exact sums",
                       path);
    }
    return HC_OK;
}

HcStatus hc_saved_sums_add(HcSavedSums *to, HcSavedSums *from, const char *path, HcError *err) {
    if (to->scene.bands == 0) {
        HC_OR_RETURN(hc_scene_copy(&to->scene, &from->scene, err));
        HC_OR_RETURN(hc_moments_copy(&to->moments, &from->moments, err));
        to->difference = from->difference;
        return check_size(&from->moments, path, err);
    }
    HC_OR_RETURN(check_form(to, from, path, err));
    HC_OR_RETURN(check_size(&from->moments, path, err));
    HC_OR_RETURN(hc_moments_align(&to->moments, &from->moments, err));
    HC_OR_RETURN(check_size(&to->moments, path, err));
    HC_OR_RETURN(check_size(&from->moments, path, err));
    hc_moments_merge(&to->moments, &from->moments);
    return check_size(&to->moments, path, err);
}
