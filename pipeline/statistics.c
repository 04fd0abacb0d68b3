#include "pipeline/statistics.h"
#include "core/text.h"
#include "pipeline/json.h"
#include "pipeline/option.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const hc_noise_words[] = {"mean3x3", "median3x3", "shift", "shift-diagonal", NULL};

HcDifference hc_noise_of_word(const char *word) {
    for (int i = 0; hc_noise_words[i] != NULL; i++) {
        if (hc_text_equal(hc_noise_words[i], word)) {
            return (HcDifference)(i + 1);
        }
    }
    return HC_DIFFERENCE_NONE;
}

void hc_statistics_clear(HcStatistics *statistics) {
    hc_scene_clear(&statistics->scene);
    free(statistics->mean);
    free(statistics->covariance);
    *statistics = (HcStatistics){0};
}

static HcStatus allocate(HcStatistics *statistics, HcError *err) {
    size_t n = (size_t)statistics->scene.bands;
    statistics->mean = calloc(n, sizeof(double));
    statistics->covariance = calloc(n * n, sizeof(double));
    if (statistics->mean == NULL || statistics->covariance == NULL) {
        return hc_fail_memory(err, (double)(n * n) * sizeof(double), "a covariance");
    }
    return HC_OK;
}

HcStatus hc_statistics_make(HcStatistics *out, const HcScene *scene, const HcMoments *moments,
                            HcDifference difference, const char *noise, HcError *err) {
    HcStatus status = HC_OK;
    HC_TRY(hc_scene_copy(&out->scene, scene, err));
    HC_TRY(allocate(out, err));
    snprintf(out->noise, sizeof out->noise, "%s", noise);
    out->pixels = moments->count;
    HC_TRY(hc_moments_covariance(moments, hc_difference_variance(difference),
                                 *noise != '\0' ? "the noise" : "the scene", out->mean, out->covariance,
                                 err));
    if (difference == HC_DIFFERENCE_MEAN3X3) {
        for (int32_t b = 0; b < scene->bands; b++) {
            out->mean[b] /= 9; /* sums are of 9x minus the neighbourhood */
        }
    }
done:
    return status;
}

HcStatus hc_statistics_save(const HcStatistics *statistics, const char *path, bool overwrite, HcError *err) {
    HcStatus status = HC_OK;
    size_t n = (size_t)statistics->scene.bands;
    cJSON *json = cJSON_CreateObject();
    if (cJSON_AddNumberToObject(json, "hcube_statistics", 1) == NULL ||
        cJSON_AddStringToObject(json, "noise", statistics->noise) == NULL ||
        cJSON_AddNumberToObject(json, "pixels", (double)statistics->pixels) == NULL) {
        HC_TRY(hc_fail_memory(err, 0, path));
    }
    HC_TRY(hc_json_add_bands(json, &statistics->scene, err));
    HC_TRY(hc_json_add_doubles(json, "mean", statistics->mean, n, err));
    HC_TRY(hc_json_add_doubles(json, "covariance", statistics->covariance, n * n, err));
    HC_TRY(hc_json_write(path, json, overwrite, err));
done:
    cJSON_Delete(json);
    return status;
}

HcStatus hc_statistics_load(HcStatistics *out, const char *path, HcError *err) {
    HcStatus status = HC_OK;
    cJSON *json = NULL;
    HC_TRY(hc_json_read(path, &json, err));
    if (cJSON_GetObjectItemCaseSensitive(json, "hcube_statistics") == NULL) {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: not a statistics file of hcube", path));
    }
    HC_TRY(hc_json_get_bands(json, &out->scene, path, err));
    HC_TRY(hc_json_get_int(json, "pixels", 0, INT64_MAX / 2, &out->pixels, path, err));
    HC_TRY(allocate(out, err));
    size_t n = (size_t)out->scene.bands;
    HC_TRY(hc_json_get_doubles(json, "mean", out->mean, n, path, err));
    HC_TRY(hc_json_get_doubles(json, "covariance", out->covariance, n * n, path, err));
    const char *noise = hc_json_text(json, "noise");
    snprintf(out->noise, sizeof out->noise, "%s", noise != NULL ? noise : "");
done:
    cJSON_Delete(json);
    return status;
}

HcStatus hc_statistics_check_bands(const HcScene *made, const HcScene *scene, const char *path,
                                   HcError *err) {
    if (made->bands != scene->bands) {
        return hc_fail(err, HC_E_INPUT, "%s: made for %d bands, the scene has %d", path, made->bands,
                       scene->bands);
    }
    for (int32_t b = 0; b < scene->bands && made->wavelength != NULL && scene->wavelength != NULL; b++) {
        /* Calibrations shift by a fraction of a band; another band is some nanometres away. */
        double distance = fabs(made->wavelength[b] - scene->wavelength[b]);
        if (!(distance <= 2.5)) {
            return hc_fail(err, HC_E_INPUT, "%s: band %d was at %.2f nm, in the scene it is at %.2f nm", path,
                           b + 1, made->wavelength[b], scene->wavelength[b]);
        }
    }
    return HC_OK;
}

int64_t hc_sums_limit(const HcScene *scene, HcDifference difference) {
    int64_t limit = hc_difference_limit(difference, scene->integer_limit);
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
