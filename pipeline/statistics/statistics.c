/* A file of statistics is compared with the scene band by band, by number and by wavelength: bands of the
 * file that a chain has left out are dropped, and others are refused. Covariances of other bands would give
 * results that look right. */
#include "pipeline/statistics/statistics.h"
#include "core/allocate.h"
#include "core/text.h"
#include "pipeline/json/json.h"
#include "pipeline/option/option.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hc_statistics_clear(HcStatistics *statistics) {
    hc_scene_clear(&statistics->scene);
    free(statistics->mean);
    free(statistics->covariance);
    *statistics = (HcStatistics){0};
}

static HcStatus allocate(HcStatistics *statistics, HcError *err) {
    size_t n = (size_t)statistics->scene.bands;
    HC_OR_RETURN(hc_new(statistics->mean, n, "a covariance", err));
    HC_OR_RETURN(hc_new(statistics->covariance, n * n, "a covariance", err));
    return HC_OK;
}

HcStatus hc_statistics_make(HcStatistics *out, HcCompute *compute, const HcScene *scene,
                            const HcMoments *moments, HcDifference difference, const char *noise,
                            HcError *err) {
    HC_OR_RETURN(hc_scene_copy(&out->scene, scene, err));
    HC_OR_RETURN(allocate(out, err));
    snprintf(out->noise, sizeof out->noise, "%s", noise);
    out->pixels = moments->count;
    HC_OR_RETURN(hc_moments_covariance(moments, compute, hc_stencil_variance(difference),
                                       *noise != '\0' ? "the noise" : "the scene", out->mean, out->covariance,
                                       err));
    for (int32_t b = 0; b < scene->bands; b++) {
        out->mean[b] /= hc_stencil_scale(difference); /* sums are of 9x minus the neighbourhood */
    }
    return HC_OK;
}

void hc_statistics_put(const HcStatistics *statistics, HcJson *to) {
    size_t n = (size_t)statistics->scene.bands;
    hc_json_put_text(to, "noise", statistics->noise);
    hc_json_put_number(to, "pixels", (double)statistics->pixels);
    hc_json_put_bands(to, &statistics->scene);
    hc_json_put_doubles(to, "mean", statistics->mean, n);
    hc_json_put_doubles(to, "covariance", statistics->covariance, n * n);
}

HcStatus hc_statistics_save(const HcStatistics *statistics, const char *path, bool overwrite, HcError *err) {
    HcJson json;
    hc_json_begin(&json);
    hc_json_put_kind(&json, HC_JSON_STATISTICS, 1);
    hc_statistics_put(statistics, &json);
    HcStatus status = hc_json_save(&json, path, overwrite, err);
    hc_json_clear(&json);
    return status;
}

HcStatus hc_statistics_load(HcStatistics *out, const char *path, HcError *err) {
    HcStatus status = HC_OK;
    cJSON *json = NULL;
    HC_TRY(hc_json_read(path, &json, err));
    HC_TRY(hc_json_check_kind(json, HC_JSON_STATISTICS, path, out->remark, err));
    HC_TRY(hc_json_get_bands(json, &out->scene, path, err));
    HC_TRY(hc_json_get_int(json, "pixels", 0, INT64_MAX / 2, &out->pixels, path, err));
    size_t n = (size_t)out->scene.bands;
    HC_TRY(hc_json_check_count(json, "covariance", n * n, path, err));
    HC_TRY(allocate(out, err));
    HC_TRY(hc_json_get_doubles(json, "mean", out->mean, n, path, err));
    HC_TRY(hc_json_get_doubles(json, "covariance", out->covariance, n * n, path, err));
    const char *noise = hc_json_text(json, "noise");
    snprintf(out->noise, sizeof out->noise, "%s", noise != NULL ? noise : "");
done:
    cJSON_Delete(json);
    return status;
}

/* Whether a band is at the same wavelength. Calibrations shift by a fraction of a band; another band is some
 * nanometres away. Where one of both is not known, nothing speaks against it. */
static bool same_wavelength(const HcScene *made, int32_t place, const HcScene *scene, int32_t band) {
    return made->wavelength == NULL || scene->wavelength == NULL ||
           fabs(made->wavelength[place] - scene->wavelength[band]) <= 2.5;
}

HcStatus hc_statistics_check_bands(const HcScene *made, const HcScene *scene, const char *path,
                                   HcError *err) {
    if (made->bands != scene->bands) {
        return hc_fail(err, HC_E_INPUT, "%s: made for %d bands, the scene has %d", path, made->bands,
                       scene->bands);
    }
    for (int32_t b = 0; b < scene->bands; b++) {
        if (!same_wavelength(made, b, scene, b)) {
            return hc_fail(err, HC_E_INPUT, "%s: band %d was at %.2f nm, in the scene it is at %.2f nm", path,
                           b + 1, made->wavelength[b], scene->wavelength[b]);
        }
    }
    return HC_OK;
}

/* Whether the bands are the same, one after the other, as far as anything tells. */
static bool are_the_same(const HcScene *made, const HcScene *scene) {
    bool wavelengths = made->wavelength != NULL && scene->wavelength != NULL;
    bool numbers = made->source_band != NULL && scene->source_band != NULL;
    for (int32_t b = 0; b < scene->bands && made->bands == scene->bands; b++) {
        bool same = wavelengths ? same_wavelength(made, b, scene, b)
                                : !numbers || made->source_band[b] == scene->source_band[b];
        if (!same) {
            return false;
        }
    }
    return made->bands == scene->bands;
}

/* The band of that number in the file, or -1. */
static int32_t find_number(const HcScene *made, const HcScene *scene, int32_t band) {
    for (int32_t b = 0; made->source_band != NULL && scene->source_band != NULL && b < made->bands; b++) {
        if (made->source_band[b] == scene->source_band[band]) {
            return same_wavelength(made, b, scene, band) ? b : -1;
        }
    }
    return -1;
}

/* The band nearest to the wavelength, or -1; both scenes have wavelengths. */
static int32_t find_wavelength(const HcScene *made, const HcScene *scene, int32_t band) {
    return hc_scene_band_at(made, scene->wavelength[band], 2.5);
}

/* Fills place; returns the first band that is not found, or -1. */
static int32_t find_all(const HcScene *made, const HcScene *scene,
                        int32_t (*find)(const HcScene *, const HcScene *, int32_t), int32_t *place) {
    for (int32_t b = 0; b < scene->bands; b++) {
        place[b] = find(made, scene, b);
        if (place[b] < 0) {
            return b;
        }
    }
    return -1;
}

static HcStatus fail_match(const HcScene *made, const HcScene *scene, int32_t lacking, const char *path,
                           HcError *err) {
    char where[64] = "";
    bool numbers = made->source_band != NULL && scene->source_band != NULL;
    bool wavelengths = made->wavelength != NULL && scene->wavelength != NULL;
    if (made->bands == scene->bands || (!numbers && !wavelengths)) {
        return hc_statistics_check_bands(made, scene, path, err);
    }
    if (wavelengths) {
        snprintf(where, sizeof where, " (%.2f nm)", scene->wavelength[lacking]);
    }
    return hc_fail(err, HC_E_INPUT, "%s: made for %d bands, the scene has %d, and band %d%s is none of them",
                   path, made->bands, scene->bands,
                   (scene->source_band != NULL ? scene->source_band[lacking] : lacking) + 1, where);
}

HcStatus hc_statistics_match(const HcScene *made, const HcScene *scene, const char *path, int32_t *place,
                             HcError *err) {
    bool as_they_are = are_the_same(made, scene);
    int32_t lacking = as_they_are ? -1 : find_all(made, scene, find_number, place);
    if (lacking >= 0 && made->wavelength != NULL && scene->wavelength != NULL) {
        lacking = find_all(made, scene, find_wavelength, place);
    }
    if (lacking >= 0) {
        HcStatus status = fail_match(made, scene, lacking, path, err);
        if (status != HC_OK) {
            return status;
        }
        as_they_are = true; /* numbers of another file, and no wavelengths that tell */
    }
    for (int32_t b = 0; as_they_are && b < scene->bands; b++) {
        place[b] = b;
    }
    return HC_OK;
}

HcStatus hc_statistics_take(HcStatistics *statistics, const HcScene *scene, const char *path, HcError *err) {
    HcStatus status = HC_OK;
    size_t n = (size_t)scene->bands;
    size_t m = (size_t)statistics->scene.bands;
    HcStatistics taken = {.pixels = statistics->pixels};
    int32_t *place = NULL;
    HC_OR_RETURN(hc_new(place, n, "a list of bands", err));
    HC_TRY(hc_statistics_match(&statistics->scene, scene, path, place, err));
    HC_TRY(hc_scene_copy(&taken.scene, &statistics->scene, err));
    HC_TRY(hc_scene_select(&taken.scene, place, scene->bands, err));
    HC_TRY(allocate(&taken, err));
    memcpy(taken.noise, statistics->noise, sizeof taken.noise);
    memcpy(taken.remark, statistics->remark, sizeof taken.remark);
    for (size_t b = 0; b < n; b++) {
        taken.mean[b] = statistics->mean[place[b]];
        for (size_t c = 0; c < n; c++) {
            taken.covariance[b * n + c] = statistics->covariance[(size_t)place[b] * m + (size_t)place[c]];
        }
    }
    hc_statistics_clear(statistics);
    *statistics = taken;
    taken = (HcStatistics){0};
done:
    hc_statistics_clear(&taken);
    free(place);
    return status;
}

int64_t hc_sums_limit(const HcScene *scene, HcDifference difference) {
    int64_t limit = hc_stencil_limit(difference, scene->integer_limit);
    return limit <= HC_SUMS_LIMIT ? limit : 0;
}

HcStatus hc_window_parse(const char *text, const HcScene *scene, HcWindow *window, HcError *err) {
    double value[4];
    bool whole = hc_option_numbers(text, value, 4) == 4;
    for (int i = 0; i < 4 && whole; i++) {
        whole = value[i] == floor(value[i]) && fabs(value[i]) < 1e15;
    }
    if (!whole) {
        return hc_fail(err, HC_E_USAGE, "%s: a window is x,y,w,h in whole pixels", text);
    }
    *window = (HcWindow){(int64_t)value[0], (int64_t)value[1], (int64_t)value[2], (int64_t)value[3]};
    if (window->sample0 < 0 || window->line0 < 0 || window->samples < 1 || window->lines < 1 ||
        window->sample0 + window->samples > scene->samples || window->line0 + window->lines > scene->lines) {
        return hc_fail(err, HC_E_USAGE, "%s: the window leaves the scene of %lld samples x %lld lines", text,
                       (long long)scene->samples, (long long)scene->lines);
    }
    return HC_OK;
}

HcStatus hc_statistics_of_values(const HcScene *scene, const char *stage, HcError *err) {
    return !hc_scene_is_class_map(scene)
               ? HC_OK
               : hc_fail(err, HC_E_USAGE, "%s: the scene is a class map, whose numbers are no values", stage);
}
