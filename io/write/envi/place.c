/* The map fields of an ENVI header, in GDAL's words. */
#include "core/text.h"
#include "io/write/parts.h"
#include "io/gdal/errors.h"

#include <cpl_vsi.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Appends the lines of the field that starts with `key`, up to its closing brace. */
static void copy_field(HcText *to, const char *header, const char *key) {
    size_t length = strlen(key);
    for (const char *line = header; line != NULL && *line != '\0';) {
        if (strncmp(line, key, length) == 0) {
            const char *end = strchr(line, '}');
            hc_text_add(to, "%.*s\n", (int)(end != NULL ? end + 1 - line : 0), line);
            return;
        }
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
}

static bool same_transform(const double *a, const double *b) {
    double size = fabs(a[1]) + fabs(a[2]) + fabs(a[4]) + fabs(a[5]);
    for (int i = 0; i < 6; i++) {
        double scale = i == 0 || i == 3 ? fabs(a[i]) + size : size;
        if (!(fabs(a[i] - b[i]) <= 1e-9 * scale)) {
            return false;
        }
    }
    return true;
}

static void write_probe(const char *name, const HcPlace *place) {
    GDALDatasetH probe = GDALCreate(GDALGetDriverByName("ENVI"), name, 1, 1, 1, GDT_Byte, NULL);
    if (probe == NULL) {
        return;
    }
    if (place->crs != NULL) {
        GDALSetProjection(probe, place->crs);
    }
    if (place->has_transform) {
        double transform[6];
        memcpy(transform, place->transform, sizeof transform);
        GDALSetGeoTransform(probe, transform);
    }
    GDALClose(probe);
}

/* Whether the header says the place; *opened stays false where GDAL cannot open what it wrote. */
static bool reads_back(const char *name, const HcPlace *place, bool *opened) {
    double transform[6];
    GDALDatasetH probe = GDALOpen(name, GA_ReadOnly);
    *opened = probe != NULL;
    bool same =
        probe != NULL && (!place->has_transform || (GDALGetGeoTransform(probe, transform) == CE_None &&
                                                    same_transform(place->transform, transform)));
    GDALClose(probe);
    return same;
}

/* GDAL's transform of a scene that is nowhere. */
static bool is_nowhere(const HcPlace *place) {
    static const double identity[6] = {0, 1, 0, 0, 0, 1};
    return !place->has_transform || same_transform(place->transform, identity);
}

/* What keeps a grid from being an ENVI header's: north up, or turned. */
static const char *shape_of(const double *transform) {
    double area = transform[1] * transform[5] - transform[2] * transform[4];
    bool straight = transform[2] == 0 && transform[4] == 0;
    return straight && transform[1] < 0 && transform[5] < 0   ? "mirrored (east to west)"
           : straight && transform[1] > 0 && transform[5] > 0 ? "mirrored (south to north)"
           : straight                                         ? "turned by 180 degrees"
           : area > 0                                         ? "mirrored"
                                                              : "sheared";
}

/* The header of a one-pixel scene that GDAL writes into memory has the map fields; they do not depend on the
 * size. *text NULL and no failure: memory ran out. */
static HcStatus ask_gdal(const char *path, const HcPlace *place, char **text, HcError *err) {
    HcStatus status = HC_OK;
    char name[64], header_name[64];
    HcGdalErrors errors;
    HcText fields = {0};
    snprintf(name, sizeof name, "/vsimem/hcube-place-%p.img", (const void *)&fields);
    snprintf(header_name, sizeof header_name, "/vsimem/hcube-place-%p.hdr", (const void *)&fields);
    hc_gdal_catch(&errors);
    write_probe(name, place);
    vsi_l_offset bytes = 0;
    const char *data = (const char *)VSIGetMemFileBuffer(header_name, &bytes, FALSE);
    char *header = data != NULL ? hc_text_format("%.*s", (int)bytes, data) : NULL;
    bool opened = false;
    bool same = header != NULL && reads_back(name, place, &opened);
    if (data != NULL && header == NULL) {
        fields.failed = true;
    } else if (!opened) { /* memory: the probe is a file in memory, and a header is written for every place */
        status = hc_gdal_fail(err, HC_E_MEMORY, path, &errors);
    } else if (same) {
        copy_field(&fields, header, "map info");
        copy_field(&fields, header, "projection info");
        copy_field(&fields, header, "coordinate system string");
    } else {
        status =
            hc_fail(err, HC_E_UNSUPPORTED,
                    "%s: the grid is %s, which an ENVI header cannot describe: write GTiff, or warp it first",
                    path, shape_of(place->transform));
    }
    free(header);
    *text = hc_text_take(&fields);
    GDALDeleteDataset(GDALGetDriverByName("ENVI"), name);
    hc_gdal_release();
    return status;
}

/* GDAL takes milliseconds for its answer, and is asked for the same place whenever a chain is planned. */
static pthread_mutex_t last_lock = PTHREAD_MUTEX_INITIALIZER;
static HcPlace last_place; /* its crs is owned */
static char *last_text;

static bool same_place(const HcPlace *a, const HcPlace *b) {
    bool same_crs = a->crs == NULL || b->crs == NULL ? a->crs == b->crs : strcmp(a->crs, b->crs) == 0;
    return same_crs && a->has_transform == b->has_transform &&
           (!a->has_transform || memcmp(a->transform, b->transform, sizeof a->transform) == 0);
}

/* A copy of the last answer, NULL if that was for another place. */
static char *recall(const HcPlace *place) {
    pthread_mutex_lock(&last_lock);
    char *text = last_text != NULL && same_place(place, &last_place) ? strdup(last_text) : NULL;
    pthread_mutex_unlock(&last_lock);
    return text;
}

static void remember(const HcPlace *place, const char *text) {
    char *crs = place->crs != NULL ? strdup(place->crs) : NULL;
    char *copy = strdup(text);
    pthread_mutex_lock(&last_lock);
    free(last_place.crs);
    free(last_text);
    last_place = *place;
    last_place.crs = crs;
    last_text = copy;
    if (place->crs != NULL && crs == NULL) {
        free(last_text);
        last_text = NULL;
    }
    pthread_mutex_unlock(&last_lock);
}

HcStatus hc_write_envi_place(const char *path, const HcScene *scene, char **text, HcError *err) {
    HcStatus status = HC_OK;
    HcPlace place = scene->place;
    place.has_transform = !is_nowhere(&scene->place);
    if (!place.has_transform && place.crs == NULL) {
        *text = strdup("");
    } else if ((*text = recall(&place)) == NULL) {
        HC_OR_RETURN(ask_gdal(path, &place, text, err));
        if (*text != NULL) {
            remember(&place, *text);
        }
    }
    if (*text == NULL) {
        status = hc_fail_memory(err, 0, "the ENVI header");
    }
    return status;
}
