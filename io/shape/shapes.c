/* Vector data on the grid of a scene: layer and CRS are settled, then each feature becomes polygons and
 * points in pixel coordinates. */
#include "io/shape/shapes.h"
#include "core/grow.h"
#include "core/text.h"
#include "io/gdal/errors.h"
#include "io/libraries.h"

#include <math.h>
#include <ogr_srs_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LISTED_MAX 12    /* names in a message */
#define FARTHEST   1.0e9 /* corners of polygons that touch the scene [pixels]: GDAL burns with int */

const HcPointColumns hc_point_columns[] = {{"x", "y", HC_TABLE_MAP},
                                           {"easting", "northing", HC_TABLE_MAP},
                                           {"lon", "lat", HC_TABLE_LONLAT},
                                           {"longitude", "latitude", HC_TABLE_LONLAT},
                                           {"sample", "line", HC_TABLE_PIXELS},
                                           {0}};

/* ---- layers ---- */

static bool has_geometries(OGRLayerH layer) {
    return OGR_L_GetGeomType(layer) != wkbNone;
}

int hc_shapes_layers(GDALDatasetH dataset) {
    int count = 0;
    for (int i = 0; i < GDALDatasetGetLayerCount(dataset); i++) {
        count += has_geometries(GDALDatasetGetLayer(dataset, i));
    }
    return count;
}

static void list_layers(GDALDatasetH dataset, HcText *text) {
    int shown = 0;
    for (int i = 0; i < GDALDatasetGetLayerCount(dataset); i++) {
        OGRLayerH layer = GDALDatasetGetLayer(dataset, i);
        if (has_geometries(layer) && shown++ < LISTED_MAX) {
            hc_text_add(text, "%s'%.40s'", text->length > 0 ? ", " : "", OGR_L_GetName(layer));
        }
    }
    hc_text_add(text, "%s", shown > LISTED_MAX ? ", ..." : "");
}

static HcStatus fail_layer(const HcShapes *shapes, GDALDatasetH dataset, const char *name, HcError *err) {
    HcText names = {0};
    list_layers(dataset, &names);
    const char *list = hc_text_shown(&names);
    const char *path = shapes->path;
    HcStatus status =
        name != NULL
            ? hc_fail_text(err, HC_E_USAGE, &names, "%s: no layer '%s' with geometries, there is %s", path,
                           name, list)
            : hc_fail_text(err, HC_E_USAGE, &names, "%s: has several layers, choose one: %s", path, list);
    hc_text_clear(&names);
    return status;
}

HcStatus hc_shapes_choose(HcShapes *shapes, GDALDatasetH dataset, const char *name, HcError *err) {
    shapes->extent = (OGREnvelope){INFINITY, -INFINITY, INFINITY, -INFINITY};
    for (int i = 0; i < GDALDatasetGetLayerCount(dataset); i++) {
        OGRLayerH layer = GDALDatasetGetLayer(dataset, i);
        bool wanted = name == NULL || strcmp(OGR_L_GetName(layer), name) == 0;
        if (wanted && has_geometries(layer)) {
            shapes->layer = layer;
            shapes->layer_name = OGR_L_GetName(layer);
            break;
        }
    }
    if (shapes->layer == NULL || (name == NULL && hc_shapes_layers(dataset) > 1)) {
        return fail_layer(shapes, dataset, name, err);
    }
    return HC_OK;
}

/* ---- the place ---- */

/* One of both has a CRS (or the scene one but no transform): say what is missing. */
static HcStatus fail_crs(const HcShapes *shapes, OGRSpatialReferenceH of_data, OGRSpatialReferenceH of_scene,
                         HcError *err) {
    const char *path = shapes->path;
    char *name = NULL;
    HcStatus status = hc_shape_crs_name(of_data != NULL ? of_data : of_scene, &name, err);
    if (status != HC_OK) {
        return status;
    }
    const char *shown = name != NULL ? name : "unnamed";
    if (of_data == NULL) {
        status = hc_fail(err, HC_E_INPUT, "%s: has no CRS, the scene has %s", path, shown);
    } else if (!shapes->scene->place.has_transform) {
        status = hc_fail(err, HC_E_INPUT,
                         "%s: has the CRS %s, but the scene has no place on Earth: data in pixel coordinates "
                         "must have no CRS (GeoJSON always has one)",
                         path, shown);
    } else {
        status = hc_fail(err, HC_E_INPUT, "%s: has the CRS %s, the scene has none", path, shown);
    }
    free(name);
    return status;
}

static HcStatus reproject(HcShapes *shapes, OGRSpatialReferenceH from, OGRSpatialReferenceH to,
                          HcError *err) {
    HcGdalErrors messages;
    hc_gdal_catch(&messages);
    shapes->to_scene = OCTNewCoordinateTransformation(from, to);
    hc_gdal_release();
    return shapes->to_scene != NULL ? HC_OK : hc_gdal_fail(err, HC_E_INPUT, shapes->path, &messages);
}

/* From the coordinates of the scene to pixels. */
static HcStatus set_pixels(HcShapes *shapes, bool has_crs, HcError *err) {
    const HcPlace *place = &shapes->scene->place;
    OGREnvelope extent = {0};
    if (place->has_transform && shapes->table != HC_TABLE_PIXELS) {
        double forward[6];
        memcpy(forward, place->transform, sizeof forward);
        return GDALInvGeoTransform(forward, shapes->to_pixel)
                   ? HC_OK
                   : hc_fail(err, HC_E_INPUT, "%s: the transform of the scene cannot be inverted",
                             shapes->path);
    }
    const HcCut *cut = &shapes->scene->cut;
    shapes->to_pixel[1] = shapes->to_pixel[5] = 1;
    shapes->to_pixel[0] = -(double)cut->sample0;
    shapes->to_pixel[3] = -(double)cut->line0;
    if (!has_crs && OGR_L_GetExtent(shapes->layer, &extent, TRUE) == OGRERR_NONE && extent.MaxY <= 0 &&
        extent.MinY < 0) {
        shapes->to_pixel[5] = -1; /* upwards, as QGIS shows it */
    }
    return HC_OK;
}

bool hc_shapes_on_earth(const HcShapes *shapes) {
    return shapes->table == HC_TABLE_NONE ? hc_shape_is_crs(OGR_L_GetSpatialRef(shapes->layer))
                                          : shapes->table != HC_TABLE_PIXELS;
}

/* The CRS of the coordinates, to be released; *out = NULL where there is none. */
static HcStatus crs_of_data(const HcShapes *shapes, OGRSpatialReferenceH of_scene, OGRSpatialReferenceH *out,
                            HcError *err) {
    *out = shapes->table == HC_TABLE_MAP ? of_scene : OGR_L_GetSpatialRef(shapes->layer);
    if (shapes->table == HC_TABLE_LONLAT) {
        *out = OSRNewSpatialReference(NULL);
        if (*out == NULL || OSRImportFromEPSG(*out, 4326) != OGRERR_NONE) {
            return hc_fail_memory(err, 0, "a CRS");
        }
        OSRSetAxisMappingStrategy(*out, OAMS_TRADITIONAL_GIS_ORDER);
    } else if (*out != NULL) {
        OSRReference(*out);
    }
    return HC_OK;
}

HcStatus hc_shapes_place(HcShapes *shapes, HcError *err) {
    HcStatus status = HC_OK;
    OGRSpatialReferenceH of_scene = NULL, of_data = NULL;
    HC_TRY(hc_shape_scene_crs(shapes->scene, shapes->path, &of_scene, err));
    HC_TRY(crs_of_data(shapes, of_scene, &of_data, err));
    bool placed = shapes->scene->place.has_transform && shapes->table != HC_TABLE_PIXELS;
    bool known = hc_shape_is_crs(of_scene) && placed;
    if (hc_shape_is_crs(of_data) != known) {
        status = fail_crs(shapes, hc_shape_is_crs(of_data) ? of_data : NULL, of_scene, err);
        goto done;
    }
    if (known) {
        HC_TRY(reproject(shapes, of_data, of_scene, err));
    }
    HC_TRY(set_pixels(shapes, known, err));
done:
    if (of_scene != NULL) {
        OSRRelease(of_scene);
    }
    if (of_data != NULL) {
        OSRRelease(of_data);
    }
    return status;
}

/* ---- geometries ---- */

static HcStatus keep(HcShapes *shapes, HcShape shape, HcError *err) {
    HC_OR_RETURN(hc_grow(shapes->shape, shapes->count, "polygons", err));
    shapes->shape[shapes->count++] = shape;
    return HC_OK;
}

/* A part of a geometry into pixel coordinates; false when a coordinate is not finite. */
static bool to_pixels(const HcShapes *shapes, OGRGeometryH geometry) {
    const double *t = shapes->to_pixel;
    bool finite = true;
    for (int i = 0; i < OGR_G_GetGeometryCount(geometry); i++) {
        finite = to_pixels(shapes, OGR_G_GetGeometryRef(geometry, i)) && finite;
    }
    for (int i = 0; i < (OGR_G_GetGeometryCount(geometry) > 0 ? 0 : OGR_G_GetPointCount(geometry)); i++) {
        double x = OGR_G_GetX(geometry, i), y = OGR_G_GetY(geometry, i);
        double sample = t[0] + t[1] * x + t[2] * y, line = t[3] + t[4] * x + t[5] * y;
        finite = finite && isfinite(sample) && isfinite(line);
        OGR_G_SetPoint_2D(geometry, i, sample, line);
    }
    return finite;
}

HcStatus hc_shapes_fail(const HcShapes *shapes, const char *what, HcError *err) {
    return hc_fail(err, HC_E_INPUT, "%s: feature %lld of layer '%.60s' %s", shapes->path,
                   (long long)shapes->number, shapes->layer_name, what);
}

/* Takes over a polygon or point in the coordinates of the source. */
static HcStatus place_part(HcShapes *shapes, OGRGeometryH part, bool point, HcError *err) {
    HcStatus status = HC_OK;
    const HcScene *scene = shapes->scene;
    HcShape shape = {.id = shapes->id, .feature = shapes->features};
    HcGdalErrors messages;
    OGREnvelope extent;
    hc_gdal_catch(&messages);
    bool reached = shapes->to_scene == NULL || OGR_G_Transform(part, shapes->to_scene) == OGRERR_NONE;
    hc_gdal_release();
    if (!reached) {
        shapes->unprojected = true;
        goto done;
    }
    OGR_G_GetEnvelope(part, &extent);
    if (!to_pixels(shapes, part)) {
        status = hc_shapes_fail(shapes, "has a coordinate that is not a number", err);
        goto done;
    }
    shapes->any_area = true;
    OGREnvelope *all = &shapes->extent;
    all->MinX = fmin(all->MinX, extent.MinX);
    all->MaxX = fmax(all->MaxX, extent.MaxX);
    all->MinY = fmin(all->MinY, extent.MinY);
    all->MaxY = fmax(all->MaxY, extent.MaxY);
    OGR_G_GetEnvelope(part, &shape.extent);
    const OGREnvelope *at = &shape.extent;
    if (at->MinX >= (double)scene->samples || at->MaxX < 0 || at->MinY >= (double)scene->lines ||
        at->MaxY < 0) {
        goto done;
    }
    if (fmax(fmax(-at->MinX, at->MaxX), fmax(-at->MinY, at->MaxY)) > FARTHEST) {
        status = hc_shapes_fail(shapes, "reaches more than 1e9 pixels beyond the scene", err);
        goto done;
    }
    shape.polygon = point ? NULL : part;
    part = point ? part : NULL;
    if ((status = keep(shapes, shape, err)) != HC_OK) {
        OGR_G_DestroyGeometry(shape.polygon);
    }
done:
    OGR_G_DestroyGeometry(part);
    return status;
}

static bool all_finite(OGRGeometryH geometry) {
    for (int i = 0; i < OGR_G_GetGeometryCount(geometry); i++) {
        if (!all_finite(OGR_G_GetGeometryRef(geometry, i))) {
            return false;
        }
    }
    for (int i = 0; i < (OGR_G_GetGeometryCount(geometry) > 0 ? 0 : OGR_G_GetPointCount(geometry)); i++) {
        if (!isfinite(OGR_G_GetX(geometry, i)) || !isfinite(OGR_G_GetY(geometry, i))) {
            return false;
        }
    }
    return true;
}

/* The polygons of a geometry, each taken over as a copy; other parts (of mended ones) are left out. */
static HcStatus take_polygons(HcShapes *shapes, OGRGeometryH geometry, HcError *err) {
    OGRwkbGeometryType type = wkbFlatten(OGR_G_GetGeometryType(geometry));
    if (type == wkbPolygon) {
        return OGR_G_IsEmpty(geometry) ? HC_OK : place_part(shapes, OGR_G_Clone(geometry), false, err);
    }
    for (int i = 0;
         i <
         (type == wkbMultiPolygon || type == wkbGeometryCollection ? OGR_G_GetGeometryCount(geometry) : 0);
         i++) {
        HC_OR_RETURN(take_polygons(shapes, OGR_G_GetGeometryRef(geometry, i), err));
    }
    return HC_OK;
}

static HcStatus take_polygon(HcShapes *shapes, OGRGeometryH polygon, HcError *err) {
    HcGdalErrors messages;
    hc_gdal_catch(&messages);
    bool valid = OGR_G_IsValid(polygon);
    OGRGeometryH mended = valid ? NULL : OGR_G_MakeValid(polygon);
    hc_gdal_release();
    if (valid) {
        return take_polygons(shapes, polygon, err);
    }
    if (mended == NULL) {
        char what[300];
        snprintf(what, sizeof what, "has a polygon that is not valid: %.200s",
                 messages.warning[0] != '\0' ? messages.warning : messages.text);
        return hc_shapes_fail(shapes, what, err);
    }
    HcStatus status = take_polygons(shapes, mended, err);
    shapes->mended = shapes->mended || !OGR_G_IsEmpty(mended);
    OGR_G_DestroyGeometry(mended);
    return status;
}

static HcStatus fail_kind(const HcShapes *shapes, OGRGeometryH geometry, HcError *err) {
    return hc_fail(err, HC_E_UNSUPPORTED, "%s: feature %lld of layer '%.60s' is a %s: %s", shapes->path,
                   (long long)shapes->number, shapes->layer_name, OGR_G_GetGeometryName(geometry),
                   shapes->taken);
}

/* Polygons and points, on their own or in collections; the geometry has straight edges and two dimensions. */
static HcStatus take_geometry(HcShapes *shapes, OGRGeometryH geometry, HcError *err) {
    if (OGR_G_IsEmpty(geometry)) {
        return HC_OK;
    }
    OGRwkbGeometryType type = wkbFlatten(OGR_G_GetGeometryType(geometry));
    if (shapes->no_points && (type == wkbPoint || type == wkbMultiPoint)) {
        return fail_kind(shapes, geometry, err);
    }
    switch (type) {
    case wkbPoint:
        return place_part(shapes, OGR_G_Clone(geometry), true, err);
    case wkbPolygon:
        return take_polygon(shapes, geometry, err);
    case wkbMultiPoint:
    case wkbMultiPolygon:
    case wkbGeometryCollection:
        for (int i = 0; i < OGR_G_GetGeometryCount(geometry); i++) {
            HC_OR_RETURN(take_geometry(shapes, OGR_G_GetGeometryRef(geometry, i), err));
        }
        break;
    default:
        return fail_kind(shapes, geometry, err);
    }
    return HC_OK;
}

HcStatus hc_shapes_take(HcShapes *shapes, OGRGeometryH geometry, GIntBig number, int32_t id, HcError *err) {
    shapes->number = number;
    shapes->id = id;
    shapes->any_area = shapes->mended = shapes->unprojected = false;
    if (!all_finite(geometry)) {
        return hc_shapes_fail(shapes, "has a coordinate that is not a number", err);
    }
    HC_OR_RETURN(take_geometry(shapes, geometry, err));
    shapes->features += shapes->any_area;
    return HC_OK;
}

/* Its geometry without curves and heights; NULL when there is none. To be destroyed. */
OGRGeometryH hc_shapes_geometry(OGRFeatureH feature) {
    OGRGeometryH geometry = OGR_F_GetGeometryRef(feature);
    if (geometry == NULL || OGR_G_IsEmpty(geometry)) {
        return NULL;
    }
    OGRGeometryH plain = OGR_G_HasCurveGeometry(geometry, FALSE) ? OGR_G_GetLinearGeometry(geometry, 0, NULL)
                                                                 : OGR_G_Clone(geometry);
    if (plain != NULL) {
        OGR_G_FlattenTo2D(plain);
        OGR_G_SetMeasured(plain, FALSE);
    }
    return plain;
}

static void scene_extent(const HcScene *scene, OGREnvelope *extent) {
    static const double pixels[6] = {0, 1, 0, 0, 0, 1};
    const double *t = scene->place.has_transform ? scene->place.transform : pixels;
    *extent = (OGREnvelope){INFINITY, -INFINITY, INFINITY, -INFINITY};
    for (int corner = 0; corner < 4; corner++) {
        double sample = corner % 2 ? (double)scene->samples : 0, line = corner / 2 ? (double)scene->lines : 0;
        double x = t[0] + t[1] * sample + t[2] * line, y = t[3] + t[4] * sample + t[5] * line;
        extent->MinX = fmin(extent->MinX, x);
        extent->MaxX = fmax(extent->MaxX, x);
        extent->MinY = fmin(extent->MinY, y);
        extent->MaxY = fmax(extent->MaxY, y);
    }
}

HcStatus hc_shapes_fail_apart(const HcShapes *shapes, HcError *err) {
    const OGREnvelope *data = &shapes->extent;
    OGREnvelope scene;
    scene_extent(shapes->scene, &scene);
    return hc_fail(
        err, HC_E_INPUT,
        "%s: does not touch the scene: x %.9g to %.9g and y %.9g to %.9g, the scene x %.9g to %.9g "
        "and y %.9g to %.9g",
        shapes->path, data->MinX, data->MaxX, data->MinY, data->MaxY, scene.MinX, scene.MaxX, scene.MinY,
        scene.MaxY);
}

void hc_shapes_clear(HcShapes *shapes) {
    for (int64_t i = 0; i < shapes->count; i++) {
        OGR_G_DestroyGeometry(shapes->shape[i].polygon);
    }
    free(shapes->shape);
    OCTDestroyCoordinateTransformation(shapes->to_scene);
    *shapes = (HcShapes){0};
}
