/* Items beside scenes: which one describes a scene, when it was measured, and how files link to each other.
 */
#include "io/stac/stac.h"

#include "io/load.h"
#include "io/read/metadata/envi_header.h"

#include <cpl_vsi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool hc_stac_is_item(const cJSON *json) {
    const char *type = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "type"));
    return type != NULL && strcmp(type, "Feature") == 0 &&
           cJSON_IsString(cJSON_GetObjectItemCaseSensitive(json, "stac_version"));
}

char *hc_stac_item_path(const char *output) {
    return hc_text_format("%s.stac.json", output);
}

HcStatus hc_stac_read_item(const char *path, cJSON **item, HcError *err) {
    HcError why = {0};
    char *text = NULL;
    size_t bytes = 0;
    *item = NULL;
    HcStatus status = hc_load_file(path, &text, &bytes, &why);
    if (status != HC_OK) {
        return status == HC_E_INPUT ? HC_OK : hc_fail(err, status, "%s", why.text);
    }
    cJSON *json = cJSON_ParseWithLength(text, bytes);
    VSIFree(text);
    if (hc_stac_is_item(json)) {
        *item = json;
    } else {
        cJSON_Delete(json);
    }
    return HC_OK;
}

HcStatus hc_stac_item_of(const HcPaths *files, cJSON **item, char **path, HcError *err) {
    *item = NULL;
    *path = NULL;
    for (int32_t f = 0; f < 2 * files->count; f++) {
        const char *file = files->path[f / 2];
        bool is_remote = strncmp(file, "/vsi", 4) == 0;
        if (f % 2 == 0 ? !hc_text_ends_with(file, ".json") : is_remote) {
            continue;
        }
        char *at = f % 2 == 0 ? strdup(file) : hc_stac_item_path(file);
        HC_OR_RETURN(hc_text_made(at, strlen(file), "a path", err));
        HcStatus status = hc_stac_read_item(at, item, err);
        if (status == HC_OK && *item != NULL) {
            *path = at;
            return HC_OK;
        }
        free(at);
        HC_OR_RETURN(status);
    }
    return HC_OK;
}

/* ---- times ---- */

/* A time as STAC writes it, of its parts, if they make one. */
static bool put_time(const int part[5], double seconds, char time[HC_STAC_TIME]) {
    bool good = part[0] >= 1900 && part[0] < 2200 && part[1] >= 1 && part[1] <= 12 && part[2] >= 1 &&
                part[2] <= 31 && part[3] >= 0 && part[3] < 24 && part[4] >= 0 && part[4] < 60 &&
                seconds >= 0 && seconds < 61;
    if (good) {
        snprintf(time, HC_STAC_TIME, "%04d-%02d-%02dT%02d:%02d:%09.6f", part[0], part[1], part[2], part[3],
                 part[4], seconds);
        size_t length = strlen(time);
        while (time[length - 1] == '0') {
            length--;
        }
        length -= time[length - 1] == '.';
        strcpy(time + length, "Z");
    }
    return good;
}

/* 2012-06-22T10:12:13.5Z; a time of another zone is passed over. */
static bool parse_time(const char *text, char time[HC_STAC_TIME]) {
    int part[5], end = 0;
    double seconds = 0;
    bool read = sscanf(text, " %4d-%2d-%2dT%2d:%2d:%lf%n", &part[0], &part[1], &part[2], &part[3], &part[4],
                       &seconds, &end) == 6;
    return read && (text[end] == 'Z' || text[end] == '\0') && put_time(part, seconds, time);
}

/* 20120622T101213 or 20120622101213 anywhere in a name, with no further digit around it. */
static bool find_stamp(const char *name, char time[HC_STAC_TIME]) {
    for (const char *c = name; *c != '\0'; c++) {
        int part[5], seconds = 0;
        size_t date = strspn(c, "0123456789");
        const char *clock = c + date + (date == 8 && c[date] == 'T');
        bool split = date == 8 && c[8] == 'T' && strspn(clock, "0123456789") == 6;
        if (split || date == 14) {
            bool read = sscanf(c, split ? "%4d%2d%2dT%2d%2d%2d" : "%4d%2d%2d%2d%2d%2d", &part[0], &part[1],
                               &part[2], &part[3], &part[4], &seconds) == 6;
            if (read && put_time(part, seconds, time)) {
                return true;
            }
        }
        c += date > 0 ? date - 1 : 0;
    }
    return false;
}

void hc_stac_time(const HcPaths *files, char time[HC_STAC_TIME]) {
    time[0] = '\0';
    for (int32_t f = 0; f < files->count && time[0] == '\0'; f++) {
        HcEnviHeader header = {0};
        HcError unimportant = {0};
        bool is_header = hc_text_ends_with(files->path[f], ".hdr") &&
                         hc_envi_load(&header, files->path[f], &unimportant) == HC_OK;
        const char *text = is_header ? hc_envi_text(&header, "acquisition time") : NULL;
        if (text != NULL && !parse_time(text, time)) {
            time[0] = '\0';
        }
        hc_envi_clear(&header);
    }
    for (int32_t f = 0; f < files->count && time[0] == '\0'; f++) {
        const char *slash = strrchr(files->path[f], '/');
        if (!find_stamp(slash != NULL ? slash + 1 : files->path[f], time)) {
            time[0] = '\0';
        }
    }
}
