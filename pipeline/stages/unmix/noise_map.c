/* Only ratios of the noise count: the level of a pixel is its noise over the root mean square of all. So
 * lambda, given or taken from the noise of the scene, keeps its meaning, and a map may have any unit. */
#include "pipeline/stages/unmix/noise_map.h"
#include "core/allocate.h"
#include "core/operation/gram/column_gram.h"
#include "core/text.h"
#include "pipeline/chain.h"
#include "pipeline/memory.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* Lines of the map that are read at once. */
enum { STEP = 64 };

static int64_t pixels_of(const HcStage *stage) {
    return stage->in.lines * stage->in.samples;
}

/* ---- a file of noise --columns ---- */

/* The groups are those of the scene, or of its file where the scene is a window of it. */
static HcStatus place_columns(HcNoiseMap *map, const HcScene *scene, int64_t groups, const char *path,
                              HcError *err) {
    if (groups == hc_column_groups((int32_t)scene->samples, (int32_t)map->width)) {
        map->first = 0;
        return HC_OK;
    }
    if (scene->cut.lines > 0 &&
        groups == hc_column_groups((int32_t)scene->cut.samples, (int32_t)map->width)) {
        map->first = scene->cut.sample0;
        return HC_OK;
    }
    return hc_fail(err, HC_E_INPUT, "%s: %lld groups of %lld columns, the scene has %lld samples", path,
                   (long long)groups, (long long)map->width, (long long)scene->samples);
}

static HcStatus take_column(double *noise, const cJSON *group, int64_t number, const char *path,
                            HcError *err) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(group, "relative_noise");
    if (item == NULL || !(cJSON_IsNumber(item) || cJSON_IsNull(item))) {
        return hc_fail(err, HC_E_INPUT, "%s: \"relative_noise\" of group %lld is missing", path,
                       (long long)number);
    }
    *noise = cJSON_IsNull(item) ? NAN : item->valuedouble;
    return isnan(*noise) || (*noise > 0 && isfinite(*noise))
               ? HC_OK
               : hc_fail(err, HC_E_INPUT, "%s: the relative noise of group %lld is %g, not above 0", path,
                         (long long)number, *noise);
}

static HcStatus read_columns(HcNoiseMap *map, HcStage *stage, const char *path, HcError *err) {
    HcStatus status = HC_OK;
    char remark[HC_JSON_REMARK];
    cJSON *json = NULL;
    HC_TRY(hc_json_read(path, &json, err));
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(json, "noise_by_columns");
    bool is = hc_json_kind(json) == HC_JSON_NOISE;
    if (is) {
        HC_TRY(hc_json_check_kind(json, HC_JSON_NOISE, path, remark, err));
    }
    if (!is || !cJSON_IsArray(list)) {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: no noise of columns (noise FILE.json --columns)", path));
    }
    hc_stage_remark(stage, path, remark);
    HC_TRY(hc_json_get_int(json, "columns", 1, INT32_MAX, &map->width, path, err));
    int64_t groups = cJSON_GetArraySize(list);
    HC_TRY(place_columns(map, &stage->in, groups, path, err));
    HC_TRY(hc_new(map->column, groups, "the noise of columns", err));
    int64_t g = 0;
    for (const cJSON *group = list->child; group != NULL; group = group->next, g++) {
        HC_TRY(take_column(&map->column[g], group, g + 1, path, err));
    }
done:
    cJSON_Delete(json);
    return status;
}

/* ---- plan ---- */

HcStatus hc_noise_map_plan(HcNoiseMap *map, HcStage *stage, const char *path, HcError *err) {
    bool there = map->raster != NULL || map->column != NULL || map->level.data != NULL;
    if (!there) {
        HcText note = {0};
        HcStatus status =
            hc_text_ends_with(path, ".json")
                ? read_columns(map, stage, path, err)
                : hc_view_beside_open(&map->raster, stage->chain->source->view, path, &note, err);
        hc_stage_note_file(stage, NULL, &note);
        HC_OR_RETURN(status);
    }
    size_t bytes = (size_t)pixels_of(stage) * sizeof(float);
    hc_stage_takes(stage, HC_SPACE_DEVICE, bytes);
    hc_stage_takes(stage, HC_SPACE_HOST,
                   bytes + (map->raster != NULL ? hc_view_beside_bytes(map->raster) : 0));
    return HC_OK;
}

/* ---- open ---- */

static void fill_lines(const HcNoiseMap *map, const HcScene *scene, int64_t lines, float *to) {
    for (int64_t p = 0; p < lines * scene->samples; p++) {
        to[p] = (float)map->column[(map->first + p % scene->samples) / map->width];
    }
}

static HcStatus read_noise(HcNoiseMap *map, const HcStage *stage, float *noise, HcError *err) {
    for (int64_t line = 0; line < stage->in.lines; line += STEP) {
        int64_t lines = hc_min64(STEP, stage->in.lines - line);
        float *to = noise + line * stage->in.samples;
        if (map->raster != NULL) {
            HC_OR_RETURN(hc_view_beside_read(map->raster, line, lines, to, err));
        } else {
            fill_lines(map, &stage->in, lines, to);
        }
    }
    return HC_OK;
}

/* The root mean square of what is known. */
static HcStatus find_mean(HcNoiseMap *map, const HcStage *stage, const float *noise, const char *path,
                          double *mean, HcError *err) {
    int64_t pixels = pixels_of(stage);
    double sum = 0;
    map->unknown = 0;
    for (int64_t p = 0; p < pixels; p++) {
        double value = (double)noise[p];
        if (isnan(value)) {
            map->unknown++;
        } else if (value > 0 && isfinite(value)) {
            sum += value * value;
        } else {
            return hc_fail(err, HC_E_INPUT,
                           "%s: the noise of line %lld, sample %lld (from 0) is %g, not above 0 (nodata says "
                           "that it is not known)",
                           path, (long long)(p / stage->in.samples), (long long)(p % stage->in.samples),
                           value);
        }
    }
    if (map->unknown == pixels) {
        return hc_fail(err, HC_E_INPUT, "%s: no pixel has a noise", path);
    }
    *mean = sqrt(sum / (double)(pixels - map->unknown));
    return HC_OK;
}

/* Noise becomes the level; it stays a number above 0, however far the map goes. */
static void make_level(HcNoiseMap *map, int64_t pixels, double mean, float *noise) {
    map->least = INFINITY;
    map->most = 0;
    for (int64_t p = 0; p < pixels; p++) {
        double level = isnan(noise[p]) ? 1 : (double)noise[p] / mean;
        level = fmin(fmax(level, (double)FLT_MIN), (double)FLT_MAX);
        noise[p] = (float)level;
        map->least = fmin(map->least, level);
        map->most = fmax(map->most, level);
    }
}

HcStatus hc_noise_map_open(HcNoiseMap *map, HcStage *stage, const char *path, HcError *err) {
    HcStatus status = HC_OK;
    int64_t pixels = pixels_of(stage);
    double mean = 0;
    float *noise = NULL;
    if (map->level.data != NULL) {
        return HC_OK;
    }
    HC_TRY(hc_new(noise, pixels, "a map of noise", err));
    HC_TRY(read_noise(map, stage, noise, err));
    HC_TRY(find_mean(map, stage, noise, path, &mean, err));
    make_level(map, pixels, mean, noise);
    HC_TRY(hc_memory_upload(stage->compute, noise, (size_t)pixels * sizeof *noise, &map->level, err));
    hc_view_beside_close(map->raster);
    map->raster = NULL;
done:
    free(noise);
    return status;
}

void hc_noise_map_note(const HcNoiseMap *map, HcStage *stage, const char *path, double lambda) {
    hc_stage_note(stage, "%s: lambda goes with the noise of the pixels, from %.4g to %.4g", path,
                  lambda * map->least, lambda * map->most);
    if (map->unknown > 0) {
        hc_stage_note(stage, "%s: %lld of %lld pixels have no noise there: their lambda is %.4g", path,
                      (long long)map->unknown, (long long)pixels_of(stage), lambda);
    }
}

void hc_noise_map_put(const HcNoiseMap *map, HcJson *to) {
    if (map->level.data == NULL) {
        return;
    }
    hc_json_open_object(to, "noise_map");
    hc_json_put_double(to, "least", map->least);
    hc_json_put_double(to, "most", map->most);
    hc_json_put_number(to, "unknown_pixels", (double)map->unknown);
    hc_json_close(to);
}

void hc_noise_map_close(HcNoiseMap *map, HcCompute *compute) {
    hc_view_beside_close(map->raster);
    hc_memory_release(compute, &map->level);
    free(map->column);
    *map = (HcNoiseMap){0};
}
