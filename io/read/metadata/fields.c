/* Fields of a header or dataset on their way into a scene: texts, lists, and notes on what is left out. */
#include "core/text.h"
#include "core/allocate.h"
#include "io/read/parts.h"

#include <cpl_conv.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <ogr_srs_api.h>
#include <stdlib.h>
#include <string.h>

void hc_read_note(HcReader *reader, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = hc_text_vformat(format, arguments);
    va_end(arguments);
    char *clean = text != NULL ? hc_envi_clean(text) : NULL;
    if (clean != NULL) {
        hc_text_add(&reader->note, "%s%s", reader->note.length > 0 ? "; " : "", clean);
    } else {
        reader->note.failed = true;
    }
    free(clean);
    free(text);
}

HcStatus hc_read_set_text(char **to, const char *text, HcError *err) {
    char *clean = hc_envi_clean(text);
    HC_OR_RETURN(hc_text_made(clean, strlen(text), "a text of the scene", err));
    free(*to);
    *to = clean;
    if (clean[0] == '\0') {
        free(clean);
        *to = NULL;
    }
    return HC_OK;
}

HcStatus hc_read_leave_out(HcReader *reader, const char *what, const HcError *why, HcError *err) {
    if (why->status != HC_E_INPUT) {
        return hc_fail(err, why->status, "%s", why->text);
    }
    hc_read_note(reader, "%s left out: %s", what, why->text);
    return HC_OK;
}

HcStatus hc_read_list(HcReader *reader, const HcEnviHeader *header, const char *key, int32_t want,
                      double **values, int32_t *count, HcError *err) {
    HcError local = {0};
    *values = NULL;
    *count = 0;
    if (hc_envi_numbers(header, key, values, count, &local) != HC_OK) {
        return hc_read_leave_out(reader, key, &local, err);
    }
    if (want > 0 && *count > 0 && *count != want) {
        hc_read_note(reader, "%s left out: %" PRId32 " values for %" PRId32 " bands", key, *count, want);
        free(*values);
        *values = NULL;
        *count = 0;
    }
    return HC_OK;
}

/* ---- fields that contradict each other, or are missing ---- */

/* A key that stands twice with different values. */
static void note_twice(HcReader *reader, const HcEnviHeader *header) {
    for (int32_t i = 0; i < header->count; i++) {
        const HcEnviField *field = &header->field[i], *last = hc_envi_field(header, field->key);
        if (last != field && !hc_text_equal(last->value, field->value)) {
            hc_read_note(reader, "%.40s stands in line %" PRId32 " and in line %" PRId32 ", which counts",
                         field->key, field->line, last->line);
        }
    }
}

/* "UTM" of map info against the zone of the system that GDAL made, of a coordinate system string. */
static void note_zone(HcReader *reader, const HcEnviHeader *header) {
    char **info = NULL;
    int32_t count = 0;
    int64_t zone = 0;
    int north = 0;
    HcError local = {0};
    if (hc_envi_texts(header, "map info", &info, &count, &local) != HC_OK) {
        return;
    }
    bool is_utm = count > 8 && hc_text_equal(info[0], "UTM") && hc_text_parse_int(info[7], &zone);
    OGRSpatialReferenceH crs = is_utm ? OSRNewSpatialReference(reader->scene.place.crs) : NULL;
    int taken = crs != NULL ? OSRGetUTMZone(crs, &north) : 0;
    if (is_utm && (zone < 1 || zone > 60) && hc_envi_text(header, "coordinate system string") == NULL) {
        hc_read_note(reader, "coordinate system left out: map info has the UTM zone %" PRId64 ", of 1 to 60",
                     zone);
        free(reader->scene.place.crs);
        reader->scene.place.crs = NULL;
    } else if (is_utm && reader->scene.place.crs != NULL &&
               (taken != zone || hc_text_equal(info[8], "South") == (north != 0))) {
        hc_read_note(reader,
                     "map info says UTM zone %" PRId64
                     " %.10s, coordinate system string another system, which counts",
                     zone, info[8]);
    }
    OSRDestroySpatialReference(crs);
    hc_free_texts(info, count);
}

static bool is_by_header(const HcReader *reader) {
    GDALDatasetH dataset = reader->dataset;
    const char *driver = dataset != NULL ? GDALGetDriverShortName(GDALGetDatasetDriver(dataset)) : "ENVI";
    return hc_text_equal(driver, "ENVI") || hc_text_equal(driver, "VRT");
}

void hc_read_note_header(HcReader *reader) {
    const HcEnviHeader *header = &reader->header;
    const HcScene *scene = &reader->scene;
    const HcPlace *place = &scene->place;
    if (header->count == 0) {
        return;
    }
    const char *order = hc_envi_text(header, "byte order");
    note_twice(reader, header);
    if (is_by_header(reader) && hc_type_bytes(scene->type) > 1 && (order == NULL || order[0] == '\0')) {
        hc_read_note(reader, "byte order is not given, 0 (lowest byte first) is assumed");
    }
    const char *info = hc_envi_text(header, "map info");
    if (info != NULL && info[0] != '\0' && !place->has_transform) {
        hc_read_note(reader, "map info left out: GDAL finds no place in it (%.60s)", info);
    }
    note_zone(reader, header);
    const char *crs = hc_envi_text(header, "coordinate system string");
    OGRSpatialReferenceH known = crs != NULL && crs[0] != '\0' ? OSRNewSpatialReference(NULL) : NULL;
    char *text = known != NULL ? hc_envi_clean(crs) : NULL, *at = text;
    if (text != NULL && OSRImportFromWkt(known, &at) != OGRERR_NONE) {
        hc_read_note(reader, "coordinate system string left out: PROJ does not know it (%.60s)", text);
    }
    free(text);
    OSRDestroySpatialReference(known);
}

/* Whether the corners are within what a body may measure, in any unit, and neighbours of each lie apart. */
static bool is_possible(const HcScene *scene) {
    static const double farthest = 1e12;
    const double *t = scene->place.transform;
    double area = t[1] * t[5] - t[2] * t[4];
    bool possible = isfinite(area) && area != 0;
    for (int corner = 0; corner < 4; corner++) {
        double sample = corner % 2 ? (double)scene->samples : 0, line = corner / 2 ? (double)scene->lines : 0;
        double x = t[0] + t[1] * sample + t[2] * line, y = t[3] + t[4] * sample + t[5] * line;
        possible = possible && fabs(x) <= farthest && fabs(y) <= farthest &&
                   (x + t[1] != x || y + t[4] != y) && (x + t[2] != x || y + t[5] != y);
    }
    return possible;
}

/* A CRS without a place would become one in the header of an ENVI output. */
static void check_place(HcReader *reader) {
    HcPlace *place = &reader->scene.place;
    const double *t = place->transform;
    char **info = NULL, *end = NULL;
    int32_t count = 0;
    HcError local = {0};
    if (!place->has_transform) {
        return;
    }
    if (is_by_header(reader) && hc_envi_texts(&reader->header, "map info", &info, &count, &local) != HC_OK) {
        reader->note.failed = true;
    }
    const char *text = NULL; /* that GDAL takes for 0 */
    for (int32_t f = 1; f < 7 && f < count && text == NULL; f++) {
        (void)CPLStrtod(info[f], &end);
        text = end == info[f] ? info[f] : NULL;
    }
    if (text != NULL) {
        hc_read_note(reader, "place left out: map info has '%.40s' where a number belongs", text);
    } else if (!is_possible(&reader->scene)) {
        hc_read_note(reader, "place left out: pixels of %g x %g at %g, %g are impossible", t[1], t[5], t[0],
                     t[3]);
    } else {
        goto done;
    }
    free(place->crs);
    *place = (HcPlace){.by_pixels = place->by_pixels};
done:
    hc_free_texts(info, count);
}

void hc_read_check_values(HcReader *reader) {
    HcScene *scene = &reader->scene;
    double low = 0, high = 0;
    check_place(reader);
    hc_read_limits(scene->type, &low, &high);
    bool is_float = scene->type == HC_FLOAT32 || scene->type == HC_FLOAT64;
    if (scene->has_nodata && !is_float && !isnan(scene->nodata) &&
        (scene->nodata < low || scene->nodata > high || scene->nodata != floor(scene->nodata))) {
        hc_read_note(reader, "nodata %.9g is no value of %s: no pixel has it", scene->nodata,
                     hc_type_name(scene->type));
    }
    for (int32_t b = 0; b < scene->bands && scene->fwhm != NULL && scene->wavelength != NULL; b++) {
        if (scene->fwhm[b] >= scene->wavelength[b]) {
            hc_read_note(reader, "fwhm of band %" PRId32 " is %g nm at %g nm", b + 1, scene->fwhm[b],
                         scene->wavelength[b]);
            break;
        }
    }
}

HcStatus hc_read_set_gains(HcReader *reader, const double *gain, const double *offset, double factor,
                           HcError *err) {
    HcScene *scene = &reader->scene;
    bool plain = true;
    for (int32_t b = 0; b < scene->bands; b++) {
        double g = gain != NULL ? gain[b] : factor, o = offset != NULL ? offset[b] : 0;
        if (!isfinite(g) || !isfinite(o) || g == 0) {
            hc_read_note(reader, "gain and offset left out: %g and %g in band %" PRId32, g, o, b + 1);
            return HC_OK;
        }
        plain = plain && g == 1 && o == 0;
    }
    if (plain || scene->gain != NULL) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_new(scene->gain, (size_t)scene->bands, "gains", err));
    HC_OR_RETURN(hc_new(scene->offset, (size_t)scene->bands, "gains", err));
    for (int32_t b = 0; b < scene->bands; b++) {
        scene->gain[b] = gain != NULL ? gain[b] : factor;
        scene->offset[b] = offset != NULL ? offset[b] : 0;
    }
    return HC_OK;
}

/* Nodata as the stored type has it: a float32 file holds the rounded value. */
double hc_read_stored_nodata(const HcScene *scene, double value) {
    if (scene->type == HC_FLOAT32 && isfinite(value)) {
        bool beyond = fabs(value) > FLT_MAX && fabs(value) < FLT_MAX * (1 + 1e-6);
        value = beyond ? copysign(FLT_MAX, value) : (double)(float)value;
    }
    return value;
}

void hc_read_set_nodata(HcScene *scene, double value) {
    scene->has_nodata = true;
    scene->nodata = hc_read_stored_nodata(scene, value);
}
