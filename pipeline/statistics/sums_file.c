#include "pipeline/statistics/sums_file.h"
#include "pipeline/json.h"
#include "pipeline/statistics/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void hc_saved_sums_clear(HcSavedSums *sums) {
    hc_scene_clear(&sums->scene);
    hc_moments_clear(&sums->moments);
    *sums = (HcSavedSums){0};
}

static const char *word_of(HcDifference difference) {
    return difference == HC_DIFFERENCE_NONE ? "" : hc_noise_words[difference - 1];
}

/* ---- wide integers ---- */

enum { WIDE_DIGITS = 41 }; /* a sign, 39 digits and a blank or the final 0 */

/* Decimal digits behind `to`; returns the end. */
static char *print_wide(HcWide value, char *to) {
    char digits[WIDE_DIGITS];
    int count = 0;
    bool negative = value < 0;
    do { /* digit by digit with its sign, since the most negative number has no positive one */
        int digit = (int)(value % 10);
        digits[count++] = (char)('0' + (digit < 0 ? -digit : digit));
        value /= 10;
    } while (value != 0);
    if (negative) {
        *to++ = '-';
    }
    while (count > 0) {
        *to++ = digits[--count];
    }
    return to;
}

/* Reads what print_wide prints; false where there is no number, or one of more than 38 digits. */
static bool parse_wide(const char **text, HcWide *out) {
    const char *at = *text + strspn(*text, " ");
    bool negative = *at == '-';
    const char *first = at += negative;
    HcWide value = 0;
    for (; *at >= '0' && *at <= '9' && at - first < 38; at++) {
        value = 10 * value + (*at - '0');
    }
    bool whole = at > first && (*at == ' ' || *at == '\0');
    *out = negative ? -value : value;
    *text = at;
    return whole;
}

/* JSON numbers would be rounded to doubles, so the integers stand in a text. */
static HcStatus put_wides(HcJson *to, const char *name, const HcWide *value, size_t count, HcError *err) {
    char *text = malloc(count * WIDE_DIGITS);
    char *end = text;
    if (text == NULL) {
        return hc_fail_memory(err, (double)count * WIDE_DIGITS, name);
    }
    for (size_t i = 0; i < count; i++) {
        end = print_wide(value[i], end);
        *end++ = ' ';
    }
    end[-1] = '\0';
    hc_json_put_text(to, name, text);
    free(text);
    return HC_OK;
}

static HcStatus fail_wides(const char *path, const char *name, size_t count, HcError *err) {
    return hc_fail(err, HC_E_INPUT, "%s: \"%s\" does not hold %zu whole numbers", path, name, count);
}

static HcStatus get_wides(const cJSON *from, const char *name, HcWide *value, size_t count, const char *path,
                          HcError *err) {
    const char *text = hc_json_text(from, name);
    bool whole = text != NULL;
    for (size_t i = 0; i < count && whole; i++) {
        whole = parse_wide(&text, &value[i]);
    }
    if (!whole || *text != '\0') {
        return fail_wides(path, name, count, err);
    }
    return HC_OK;
}

/* The rows of a symmetric matrix from the diagonal on, one behind the other; or back. */
static size_t pack_triangle(const HcWide *square, size_t n, HcWide *triangle) {
    size_t count = 0;
    for (size_t b = 0; b < n; b++) {
        for (size_t c = b; c < n; c++) {
            triangle[count++] = square[b * n + c];
        }
    }
    return count;
}

static void unpack_triangle(const HcWide *triangle, size_t n, HcWide *square) {
    for (size_t b = 0; b < n; b++) {
        for (size_t c = b; c < n; c++) {
            square[b * n + c] = square[c * n + b] = *triangle++;
        }
    }
}

/* ---- files ---- */

static HcStatus put_integers(HcJson *json, const HcMoments *moments, HcError *err) {
    HcStatus status = HC_OK;
    size_t n = (size_t)moments->bands;
    HcWide *triangle = malloc(n * n * sizeof *triangle);
    if (triangle == NULL) {
        return hc_fail_memory(err, (double)(n * n) * sizeof *triangle, "sums of products");
    }
    size_t count = pack_triangle(moments->product, n, triangle);
    HC_TRY(put_wides(json, "sum", moments->sum, n, err));
    HC_TRY(put_wides(json, "products", triangle, count, err));
done:
    free(triangle);
    return status;
}

HcStatus hc_saved_sums_write(const char *path, const HcScene *scene, HcDifference difference,
                             const HcMoments *moments, bool overwrite, HcError *err) {
    HcStatus status = HC_OK;
    size_t n = (size_t)moments->bands;
    HcJson json;
    hc_json_begin(&json);
    hc_json_put_number(&json, "hcube_sums", 1);
    hc_json_put_text(&json, "noise", word_of(difference));
    hc_json_put_number(&json, "pixels", (double)moments->count);
    hc_json_put_bands(&json, scene);
    if (moments->exact) {
        HC_TRY(put_integers(&json, moments, err));
    } else {
        hc_json_put_doubles(&json, "mean", moments->mean, n);
        hc_json_put_doubles(&json, "scatter", moments->scatter, n * n);
    }
    HC_TRY(hc_json_save(&json, path, overwrite, err));
done:
    hc_json_clear(&json);
    return status;
}

static HcStatus get_integers(const cJSON *json, const char *path, HcMoments *moments, HcError *err) {
    HcStatus status = HC_OK;
    size_t n = (size_t)moments->bands;
    HcWide *triangle = malloc(n * n * sizeof *triangle);
    if (triangle == NULL) {
        return hc_fail_memory(err, (double)(n * n) * sizeof *triangle, "sums of products");
    }
    HC_TRY(get_wides(json, "sum", moments->sum, n, path, err));
    HC_TRY(get_wides(json, "products", triangle, n * (n + 1) / 2, path, err));
    unpack_triangle(triangle, n, moments->product);
done:
    free(triangle);
    return status;
}

static HcStatus get_floats(const cJSON *json, const char *path, HcMoments *moments, HcError *err) {
    size_t n = (size_t)moments->bands;
    HC_OR_RETURN(hc_json_get_doubles(json, "mean", moments->mean, n, path, err));
    return hc_json_get_doubles(json, "scatter", moments->scatter, n * n, path, err);
}

/* Before memory is taken: whether the file can hold what so many bands ask for. */
static HcStatus check_room(const cJSON *json, bool exact, size_t n, const char *path, HcError *err) {
    if (!exact) {
        return hc_json_check_count(json, "scatter", n * n, path, err);
    }
    const char *text = hc_json_text(json, "products");
    size_t count = n * (n + 1) / 2;
    if (text == NULL || strlen(text) < 2 * count - 1) { /* a digit each, and blanks between them */
        return fail_wides(path, "products", count, err);
    }
    return HC_OK;
}

static HcStatus get_moments(const cJSON *json, const char *path, HcSavedSums *out, HcError *err) {
    bool exact = cJSON_HasObjectItem(json, "products");
    int64_t pixels = 0;
    HC_OR_RETURN(hc_json_get_int(json, "pixels", 0, INT64_MAX / 2, &pixels, path, err));
    HC_OR_RETURN(check_room(json, exact, (size_t)out->scene.bands, path, err));
    HC_OR_RETURN(hc_moments_init(&out->moments, out->scene.bands, exact, err));
    out->moments.count = pixels;
    return exact ? get_integers(json, path, &out->moments, err) : get_floats(json, path, &out->moments, err);
}

HcStatus hc_saved_sums_read(const char *path, HcSavedSums *out, HcError *err) {
    HcStatus status = HC_OK;
    cJSON *json = NULL;
    HC_TRY(hc_json_read(path, &json, err));
    const char *noise = hc_json_text(json, "noise");
    if (!cJSON_HasObjectItem(json, "hcube_sums") || noise == NULL) {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: not a sums file of hcube", path));
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

static HcStatus check_form(const HcSavedSums *to, const HcSavedSums *from, const char *path, HcError *err) {
    if (from->scene.bands != to->scene.bands) {
        return hc_fail(err, HC_E_INPUT, "%s: has %d bands, the scenes before it %d", path, from->scene.bands,
                       to->scene.bands);
    }
    HC_OR_RETURN(hc_statistics_check_bands(&from->scene, &to->scene, path, err));
    if (from->difference != to->difference) {
        return hc_fail(err, HC_E_INPUT, "%s: noise \"%s\" does not go with \"%s\"", path,
                       word_of(from->difference), word_of(to->difference));
    }
    if (from->moments.exact != to->moments.exact) {
        return hc_fail(err, HC_E_INPUT, "%s: sums of %s do not go with sums of %s", path,
                       from->moments.exact ? "integers" : "floats",
                       to->moments.exact ? "integers" : "floats");
    }
    if (!same_scaling(&from->scene, &to->scene)) {
        return hc_fail(err, HC_E_INPUT, "%s: values are scaled otherwise than in the scenes before it", path);
    }
    return HC_OK;
}

/* A covariance is made of count times product and of sum times sum, in 128 bits (hc_moments_covariance), and
 * of its denominator, which for noise is up to 72 count squared. Sums of a scene keep sum squared below count
 * times product; those of a file need not. */
static HcStatus check_size(const HcMoments *moments, const char *path, HcError *err) {
    const double most = ldexp(1, 125);
    size_t n = (size_t)moments->bands;
    double count = (double)moments->count;
    bool fits = 72 * count * count < most;
    for (size_t b = 0; b < n && moments->exact; b++) {
        fits = fits && (double)moments->sum[b] * (double)moments->sum[b] < most;
    }
    for (size_t k = 0; k < n * n && moments->exact; k++) {
        fits = fits && count * fabs((double)moments->product[k]) < most;
    }
    if (!fits) {
        return hc_fail(err, HC_E_NUMERIC, "%s: with this scene there are too many pixels for exact sums",
                       path);
    }
    return HC_OK;
}

HcStatus hc_saved_sums_add(HcSavedSums *to, const HcSavedSums *from, const char *path, HcError *err) {
    if (to->scene.bands == 0) {
        HC_OR_RETURN(hc_scene_copy(&to->scene, &from->scene, err));
        HC_OR_RETURN(hc_moments_init(&to->moments, from->moments.bands, from->moments.exact, err));
        to->difference = from->difference;
    }
    HC_OR_RETURN(check_form(to, from, path, err));
    HC_OR_RETURN(check_size(&from->moments, path, err));
    hc_moments_merge(&to->moments, &from->moments);
    return check_size(&to->moments, path, err);
}
