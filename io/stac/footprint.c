/* The place of a scene on the Earth as GeoJSON: the outline of its grid, or of its pixels in sensor geometry
 * on the map that their lookup table makes. GDAL transforms it, and cuts it at the meridian of 180 degrees.
 */
#include "io/stac/stac.h"

#include "core/allocate.h"
#include "core/block.h"
#include "io/gdal/errors.h"
#include "io/ortho/ortho.h"
#include "io/shape/shapes.h"

#include <cpl_conv.h>
#include <math.h>
#include <ogr_api.h>
#include <stdlib.h>
#include <string.h>

enum {
    EDGE_PIECES = 16,   /* of each edge of a grid: it is no straight line in degrees */
    OUTLINE_LINES = 64, /* of a map that make an outline */
};
#define LOOKUP_BYTES ((uint64_t)64 << 20)

void hc_footprint_clear(HcFootprint *footprint) {
    cJSON_Delete(footprint->geometry);
    *footprint = (HcFootprint){0};
}

/* ---- the outline on the map ---- */

static void add_pixel(OGRGeometryH ring, const HcPlace *place, double sample, double line) {
    const double *t = place->transform;
    OGR_G_AddPoint_2D(ring, t[0] + t[1] * sample + t[2] * line, t[3] + t[4] * sample + t[5] * line);
}

static void outline_grid(OGRGeometryH ring, const HcScene *scene) {
    static const double corner[5][2] = {{0, 0}, {0, 1}, {1, 1}, {1, 0}, {0, 0}}; /* sample, line */
    for (int c = 0; c < 4; c++) {
        for (int p = 0; p < EDGE_PIECES; p++) {
            double there = (double)p / EDGE_PIECES, here = 1 - there;
            add_pixel(ring, &scene->place,
                      (here * corner[c][0] + there * corner[c + 1][0]) * (double)scene->samples,
                      (here * corner[c][1] + there * corner[c + 1][1]) * (double)scene->lines);
        }
    }
}

/* Where the pixels of a line of the map begin and end; the same where it has none. */
typedef struct Stretch {
    double line, begin, end;
} Stretch;

static Stretch stretch_of(const HcOrthoPixel *pixel, int64_t line, int64_t samples) {
    int64_t begin = 0, end = samples;
    while (begin < end && pixel[begin].line < 0) {
        begin++;
    }
    while (end > begin && pixel[end - 1].line < 0) {
        end--;
    }
    return (Stretch){(double)line, (double)begin, (double)end};
}

/* Of some lines with pixels; the first and the last of them are among these. */
static HcStatus find_stretches(const HcOrtho *ortho, const HcScene *map, Stretch *out, int32_t *count,
                               HcError *err) {
    HcStatus status = HC_OK;
    HcOrthoPixel *pixel = NULL;
    Stretch last = {0};
    int64_t step = hc_max64(1, map->lines / OUTLINE_LINES), next = 0;
    *count = 0;
    HC_TRY(hc_new(pixel, (size_t)map->samples, "a line of a lookup table", err));
    for (int64_t line = 0; line < map->lines; line++) {
        HC_TRY(hc_ortho_lines(ortho, line, 1, pixel, err));
        Stretch found = stretch_of(pixel, line, map->samples);
        if (found.end <= found.begin) {
            continue;
        }
        last = found;
        if (line >= next) {
            out[(*count)++] = found;
            next = line + step;
        }
    }
    if (*count > 0 && out[*count - 1].line != last.line) {
        out[(*count)++] = last;
    }
done:
    free(pixel);
    return status;
}

static HcStatus outline_swath(OGRGeometryH ring, const HcScene *scene, const char *path, HcPlace *place,
                              HcError *err) {
    HcStatus status = HC_OK;
    HcOrtho *ortho = NULL;
    HcScene map = {0};
    Stretch *stretch = NULL;
    int32_t count = 0;
    HC_TRY(hc_ortho_open(&ortho, scene, path, NULL, LOOKUP_BYTES, err));
    HC_TRY(hc_ortho_scene(ortho, scene, &map, err));
    HC_TRY(hc_new(stretch, 2 * OUTLINE_LINES + 4, "the outline of a scene", err));
    HC_TRY(find_stretches(ortho, &map, stretch, &count, err));
    for (int32_t s = 0; s < count; s++) { /* down the left side */
        add_pixel(ring, &map.place, stretch[s].begin, stretch[s].line + (s > 0 && s == count - 1));
    }
    for (int32_t s = count - 1; s >= 0; s--) {
        add_pixel(ring, &map.place, stretch[s].end, stretch[s].line + (s == count - 1));
    }
    *place = map.place;
    map.place.crs = NULL;
done:
    free(stretch);
    hc_scene_clear(&map);
    hc_ortho_close(ortho);
    return status;
}

/* ---- on the Earth ---- */

static double rounded(double degrees) {
    return round(degrees * 1e7) / 1e7; /* a centimetre */
}

/* The area of a ring, above 0 where it is counter-clockwise. */
static double area_of(OGRGeometryH ring) {
    double area = 0;
    int count = OGR_G_GetPointCount(ring);
    for (int p = 0; p + 1 < count; p++) {
        area += OGR_G_GetX(ring, p) * OGR_G_GetY(ring, p + 1) - OGR_G_GetX(ring, p + 1) * OGR_G_GetY(ring, p);
    }
    return area / 2;
}

/* [[[x, y], ...]] of the outer ring, counter-clockwise as GeoJSON wants it; NULL where memory ran out or a
 * place is no number. */
static cJSON *ring_json(OGRGeometryH polygon) {
    OGRGeometryH ring = OGR_G_GetGeometryRef(polygon, 0);
    cJSON *outer = cJSON_CreateArray(), *points = cJSON_CreateArray();
    int count = ring != NULL ? OGR_G_GetPointCount(ring) : 0;
    bool turned = count > 3 && area_of(ring)<0, good = count> 3 && cJSON_AddItemToArray(outer, points);
    for (int p = 0; p < count && good; p++) {
        int at = turned ? count - 1 - p : p;
        double place[2] = {rounded(OGR_G_GetX(ring, at)), rounded(OGR_G_GetY(ring, at))};
        good = isfinite(place[0]) && isfinite(place[1]) &&
               cJSON_AddItemToArray(points, cJSON_CreateDoubleArray(place, 2));
    }
    if (!good) {
        cJSON_Delete(count > 3 ? NULL : points);
        cJSON_Delete(outer);
    }
    return good ? outer : NULL;
}

static void add_bounds(HcFootprint *out, OGRGeometryH part, bool first, bool cut) {
    OGREnvelope e;
    OGR_G_GetEnvelope(part, &e);
    double *b = out->bbox;
    bool east = cut && e.MinX >= 0; /* of a footprint in two halves */
    b[0] = first || (cut ? east : e.MinX < b[0]) ? rounded(e.MinX) : b[0];
    b[2] = first || (cut ? !east : e.MaxX > b[2]) ? rounded(e.MaxX) : b[2];
    b[1] = first ? rounded(e.MinY) : fmin(b[1], rounded(e.MinY));
    b[3] = first ? rounded(e.MaxY) : fmax(b[3], rounded(e.MaxY));
}

/* Fills the footprint from what GDAL has made; it stays empty where that is no outline. */
static void take(HcFootprint *out, OGRGeometryH geometry) {
    bool several = OGR_GT_Flatten(OGR_G_GetGeometryType(geometry)) == wkbMultiPolygon;
    int count = several ? OGR_G_GetGeometryCount(geometry) : 1;
    OGREnvelope all;
    OGR_G_GetEnvelope(geometry, &all);
    bool cut = several && count > 1 && all.MaxX - all.MinX > 180;
    cJSON *list = cJSON_CreateArray(), *part = NULL;
    bool good = count > 0;
    for (int p = 0; p < count && good; p++) {
        OGRGeometryH polygon = several ? OGR_G_GetGeometryRef(geometry, p) : geometry;
        part = ring_json(polygon);
        good = part != NULL && cJSON_AddItemToArray(list, part);
        add_bounds(out, polygon, p == 0, cut);
    }
    if (good) {
        out->geometry = cJSON_CreateObject();
        cJSON_AddStringToObject(out->geometry, "type", several ? "MultiPolygon" : "Polygon");
        cJSON_AddItemToObject(out->geometry, "coordinates",
                              several ? list : cJSON_DetachItemFromArray(list, 0));
    }
    if (!good || !several) {
        cJSON_Delete(list);
    }
}

static void transform(HcFootprint *out, OGRGeometryH polygon, OGRSpatialReferenceH from) {
    char wrap[] = "WRAPDATELINE=YES";
    char *options[] = {wrap, NULL};
    HcGdalErrors messages;
    hc_gdal_catch(&messages);
    OGRSpatialReferenceH to = OSRNewSpatialReference(NULL);
    bool good = to != NULL && OSRImportFromEPSG(to, 4326) == OGRERR_NONE;
    if (good) {
        OSRSetAxisMappingStrategy(to, OAMS_TRADITIONAL_GIS_ORDER);
    }
    OGRCoordinateTransformationH way = good ? OCTNewCoordinateTransformation(from, to) : NULL;
    OGRGeomTransformerH how = way != NULL ? OGR_GeomTransformer_Create(way, options) : NULL;
    OGRGeometryH there = how != NULL ? OGR_GeomTransformer_Transform(how, polygon) : NULL;
    if (there != NULL) {
        take(out, there);
    }
    OGR_G_DestroyGeometry(there);
    OGR_GeomTransformer_Destroy(how);
    OCTDestroyCoordinateTransformation(way);
    OSRDestroySpatialReference(to);
    hc_gdal_release();
}

HcStatus hc_footprint_of(const HcScene *scene, const char *path, HcFootprint *out, HcError *err) {
    HcStatus status = HC_OK;
    HcScene place = {0}; /* its place alone */
    OGRSpatialReferenceH crs = NULL;
    OGRGeometryH polygon = OGR_G_CreateGeometry(wkbPolygon), ring = OGR_G_CreateGeometry(wkbLinearRing);
    *out = (HcFootprint){0};
    if (polygon == NULL || ring == NULL) {
        HC_TRY(hc_fail_memory(err, 0, "the outline of a scene"));
    }
    if (scene->place.has_transform && scene->place.crs != NULL) {
        outline_grid(ring, scene);
        HC_TRY(hc_shape_scene_crs(scene, path, &crs, err));
    } else if (scene->lookup.file != NULL) {
        HC_TRY(outline_swath(ring, scene, path, &place.place, err));
        HC_TRY(hc_shape_scene_crs(&place, path, &crs, err));
    }
    OGR_G_CloseRings(ring);
    if (hc_shape_is_crs(crs) && OGR_G_GetPointCount(ring) > 0 &&
        OGR_G_AddGeometry(polygon, ring) == OGRERR_NONE) {
        OGR_G_CloseRings(polygon);
        transform(out, polygon, crs);
    }
done:
    OSRDestroySpatialReference(crs);
    OGR_G_DestroyGeometry(ring);
    OGR_G_DestroyGeometry(polygon);
    hc_scene_clear(&place);
    return status;
}

HcStatus hc_stac_crs(const char *wkt, char **code, char **wkt2, HcError *err) {
    char format[] = "FORMAT=WKT2_2019";
    const char *options[] = {format, NULL};
    HcGdalErrors messages;
    char *text = NULL;
    *code = *wkt2 = NULL;
    hc_gdal_catch(&messages);
    OGRSpatialReferenceH crs = wkt != NULL ? OSRNewSpatialReference(wkt) : NULL;
    const char *authority = crs != NULL ? OSRGetAuthorityName(crs, NULL) : NULL;
    const char *number = crs != NULL ? OSRGetAuthorityCode(crs, NULL) : NULL;
    bool coded = authority != NULL && number != NULL, lost = false;
    if (coded) {
        *code = hc_text_format("%s:%s", authority, number);
        lost = *code == NULL;
    } else if (crs != NULL && OSRExportToWktEx(crs, &text, options) == OGRERR_NONE) {
        *wkt2 = strdup(text);
        lost = *wkt2 == NULL;
    }
    CPLFree(text);
    OSRDestroySpatialReference(crs);
    hc_gdal_release();
    return lost ? hc_fail_memory(err, 0, "the CRS of a scene") : HC_OK;
}
