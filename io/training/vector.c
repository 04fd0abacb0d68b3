/* Vector data as training data: layer, field and CRS are settled, then each feature becomes shapes in pixel
 * coordinates. */
#include "core/text.h"
#include "io/read/envi_header.h"
#include "io/gdal_errors.h"
#include "io/libraries.h"
#include "io/training/parts.h"

#include <cpl_conv.h>
#include <inttypes.h>
#include <math.h>
#include <ogr_srs_api.h>
#include <stdlib.h>
#include <string.h>

#define LISTED_MAX 12    /* names in a message */
#define FARTHEST   1.0e9 /* corners of polygons that touch the scene [pixels]: GDAL burns with int */

typedef struct Vector {
    HcLabelling *labelling;
    OGRLayerH layer;
    const char *layer_name;
    int field;
    OGRFieldType type;
    OGRCoordinateTransformationH to_scene; /* NULL = the coordinates are those of the scene */
    double to_pixel[6];

    HcShape *shape; /* those whose extent touches the scene */
    int64_t shapes, room;
    OGREnvelope extent; /* of all geometries, in the coordinates of the scene */
    int64_t features;   /* with class and geometry, in the CRS of the scene */
    GIntBig id;         /* of the feature in hand */
    int32_t class_id;   /* of the feature in hand */
    bool any_area;      /* a shape was made of the feature in hand */
    bool mended, unprojected;
} Vector;

/* ---- layer and field ---- */

static bool has_geometries(OGRLayerH layer) {
    return OGR_L_GetGeomType(layer) != wkbNone;
}

int hc_labelling_layers(GDALDatasetH dataset) {
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

static HcStatus fail_layer(const Vector *vector, GDALDatasetH dataset, const char *name, HcError *err) {
    HcText names = {0};
    list_layers(dataset, &names);
    const char *list = names.data != NULL ? names.data : "";
    const char *path = vector->labelling->path;
    HcStatus status =
        name != NULL
            ? hc_fail(err, HC_E_USAGE, "%s: no layer '%s' with geometries, there is %s", path, name, list)
            : hc_fail(err, HC_E_USAGE, "%s: has several layers, choose one: %s", path, list);
    hc_text_clear(&names);
    return status;
}

static HcStatus choose_layer(Vector *vector, GDALDatasetH dataset, const char *name, HcError *err) {
    for (int i = 0; i < GDALDatasetGetLayerCount(dataset); i++) {
        OGRLayerH layer = GDALDatasetGetLayer(dataset, i);
        bool wanted = name == NULL || strcmp(OGR_L_GetName(layer), name) == 0;
        if (wanted && has_geometries(layer)) {
            vector->layer = layer;
            vector->layer_name = OGR_L_GetName(layer);
            break;
        }
    }
    if (vector->layer == NULL || (name == NULL && hc_labelling_layers(dataset) > 1)) {
        return fail_layer(vector, dataset, name, err);
    }
    return HC_OK;
}

static bool can_name_classes(OGRFieldType type) {
    return type == OFTString || type == OFTInteger || type == OFTInteger64 || type == OFTReal;
}

/* Whether a field is more than the number of the feature, and holds text or integers. */
static bool is_sensible(OGRFieldDefnH field) {
    static const char *const numbers[] = {"fid", "id", "ogc_fid", "objectid", "gid", "uuid", "globalid"};
    OGRFieldType type = OGR_Fld_GetType(field);
    bool sensible = can_name_classes(type) && type != OFTReal;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        sensible = sensible && !hc_text_equal(OGR_Fld_GetNameRef(field), numbers[i]);
    }
    return sensible;
}

static void list_fields(OGRFeatureDefnH definition, HcText *text) {
    int count = OGR_FD_GetFieldCount(definition);
    for (int i = 0; i < count && i < LISTED_MAX; i++) {
        OGRFieldDefnH field = OGR_FD_GetFieldDefn(definition, i);
        OGRFieldType type = OGR_Fld_GetType(field);
        const char *word = type == OFTString                            ? "text"
                           : type == OFTInteger || type == OFTInteger64 ? "integer"
                           : type == OFTReal                            ? "number"
                                                                        : OGR_GetFieldTypeName(type);
        hc_text_add(text, "%s'%.40s' (%s)", i > 0 ? ", " : "", OGR_Fld_GetNameRef(field), word);
    }
    hc_text_add(text, "%s", count > LISTED_MAX ? ", ..." : count == 0 ? "none" : "");
}

/* `why`: "has no field 'x'", "choose the field that names the class". */
static HcStatus fail_field(const Vector *vector, const char *why, HcError *err) {
    HcText list = {0};
    list_fields(OGR_L_GetLayerDefn(vector->layer), &list);
    HcStatus status = hc_fail(err, HC_E_USAGE, "%s: layer '%.60s' %s; fields: %s", vector->labelling->path,
                              vector->layer_name, why, list.data != NULL ? list.data : "");
    hc_text_clear(&list);
    return status;
}

static HcStatus choose_field(Vector *vector, const char *name, HcError *err) {
    OGRFeatureDefnH definition = OGR_L_GetLayerDefn(vector->layer);
    char why[160];
    int sensible = 0;
    vector->field = name != NULL ? OGR_FD_GetFieldIndex(definition, name) : -1;
    for (int i = 0; name == NULL && i < OGR_FD_GetFieldCount(definition); i++) {
        if (is_sensible(OGR_FD_GetFieldDefn(definition, i))) {
            vector->field = i;
            sensible++;
        }
    }
    if (name == NULL && sensible != 1) {
        return fail_field(vector, "does not say by itself which field names the class, choose one", err);
    }
    if (vector->field < 0) {
        snprintf(why, sizeof why, "has no field '%.100s'", name);
        return fail_field(vector, why, err);
    }
    OGRFieldDefnH field = OGR_FD_GetFieldDefn(definition, vector->field);
    vector->type = OGR_Fld_GetType(field);
    if (!can_name_classes(vector->type)) {
        snprintf(why, sizeof why, "has no text or whole numbers in '%.80s'", OGR_Fld_GetNameRef(field));
        return fail_field(vector, why, err);
    }
    char **kept = &vector->labelling->out->field;
    if ((*kept = hc_envi_clean(OGR_Fld_GetNameRef(field))) == NULL) {
        return hc_fail_memory(err, 64, "the name of a field");
    }
    return HC_OK;
}

/* ---- the place ---- */

/* Whether it says where on Earth: GeoPackages without a CRS have one of an undefined name. */
static bool is_crs(OGRSpatialReferenceH crs) {
    if (crs == NULL || OSRIsLocal(crs)) {
        return false;
    }
    const char *name = OSRGetName(crs);
    return name == NULL || strncmp(name, "Undefined ", 10) != 0;
}

/* What a CRS is called, for messages; to be freed. */
static char *crs_name(OGRSpatialReferenceH crs) {
    char *wkt = NULL;
    char *name = OSRExportToWkt(crs, &wkt) == OGRERR_NONE ? hc_io_crs_name(wkt) : NULL;
    CPLFree(wkt);
    return name;
}

/* One of both has a CRS (or the scene one but no transform): say what is missing. */
static HcStatus fail_crs(const Vector *vector, OGRSpatialReferenceH of_data, OGRSpatialReferenceH of_scene,
                         HcError *err) {
    const char *path = vector->labelling->path;
    char *name = crs_name(of_data != NULL ? of_data : of_scene);
    const char *shown = name != NULL ? name : "unnamed";
    HcStatus status;
    if (of_data == NULL) {
        status = hc_fail(err, HC_E_INPUT, "%s: has no CRS, the scene has %s", path, shown);
    } else if (!vector->labelling->scene->place.has_transform) {
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

static HcStatus reproject(Vector *vector, OGRSpatialReferenceH from, OGRSpatialReferenceH to, HcError *err) {
    HcGdalErrors messages;
    hc_gdal_catch(&messages);
    vector->to_scene = OCTNewCoordinateTransformation(from, to);
    hc_gdal_release();
    return vector->to_scene != NULL ? HC_OK
                                    : hc_gdal_fail(err, HC_E_INPUT, vector->labelling->path, &messages);
}

/* The CRS of the scene, coordinates as x east, y north as its transform has them; NULL when it has none. */
static HcStatus scene_crs(const Vector *vector, OGRSpatialReferenceH *out, HcError *err) {
    const char *wkt = vector->labelling->scene->place.crs;
    *out = NULL;
    if (wkt == NULL) {
        return HC_OK;
    }
    HcGdalErrors messages;
    hc_gdal_catch(&messages);
    *out = OSRNewSpatialReference(NULL);
    char *rest = (char *)(uintptr_t)wkt; /* OSR reads through a char **, and does not write */
    bool good = *out != NULL && OSRImportFromWkt(*out, &rest) == OGRERR_NONE;
    hc_gdal_release();
    if (!good) {
        return hc_fail(err, HC_E_INPUT, "%s: the CRS of the scene is not understood: %.200s",
                       vector->labelling->path, wkt);
    }
    OSRSetAxisMappingStrategy(*out, OAMS_TRADITIONAL_GIS_ORDER);
    return HC_OK;
}

/* From the coordinates of the scene to pixels. */
static HcStatus set_pixels(Vector *vector, bool has_crs, HcError *err) {
    const HcPlace *place = &vector->labelling->scene->place;
    OGREnvelope extent = {0};
    if (place->has_transform) {
        double forward[6];
        memcpy(forward, place->transform, sizeof forward);
        return GDALInvGeoTransform(forward, vector->to_pixel)
                   ? HC_OK
                   : hc_fail(err, HC_E_INPUT, "%s: the transform of the scene cannot be inverted",
                             vector->labelling->path);
    }
    vector->to_pixel[1] = vector->to_pixel[5] = 1;
    if (!has_crs && OGR_L_GetExtent(vector->layer, &extent, TRUE) == OGRERR_NONE && extent.MaxY <= 0 &&
        extent.MinY < 0) {
        vector->to_pixel[5] = -1; /* upwards, as QGIS shows it */
    }
    return HC_OK;
}

static HcStatus settle_place(Vector *vector, HcError *err) {
    HcStatus status = HC_OK;
    OGRSpatialReferenceH of_scene = NULL;
    OGRSpatialReferenceH of_data = OGR_L_GetSpatialRef(vector->layer);
    HC_TRY(scene_crs(vector, &of_scene, err));
    bool placed = vector->labelling->scene->place.has_transform;
    bool known = is_crs(of_scene) && placed;
    if (is_crs(of_data) != known) {
        status = fail_crs(vector, is_crs(of_data) ? of_data : NULL, of_scene, err);
        goto done;
    }
    if (known) {
        HC_TRY(reproject(vector, of_data, of_scene, err));
    }
    HC_TRY(set_pixels(vector, known, err));
done:
    if (of_scene != NULL) {
        OSRDestroySpatialReference(of_scene);
    }
    return status;
}

/* ---- geometries ---- */

static HcStatus keep(Vector *vector, HcShape shape, HcError *err) {
    if (vector->shapes == vector->room) {
        int64_t room = vector->room > 0 ? 2 * vector->room : 256;
        HcShape *fresh = realloc(vector->shape, (size_t)room * sizeof *fresh);
        if (fresh == NULL) {
            return hc_fail_memory(err, (double)room * sizeof *fresh, "polygons");
        }
        vector->shape = fresh;
        vector->room = room;
    }
    vector->shape[vector->shapes++] = shape;
    return HC_OK;
}

/* A part of a geometry into pixel coordinates; false when a coordinate is not finite. */
static bool to_pixels(const Vector *vector, OGRGeometryH geometry) {
    const double *t = vector->to_pixel;
    bool finite = true;
    for (int i = 0; i < OGR_G_GetGeometryCount(geometry); i++) {
        finite = to_pixels(vector, OGR_G_GetGeometryRef(geometry, i)) && finite;
    }
    for (int i = 0; i < (OGR_G_GetGeometryCount(geometry) > 0 ? 0 : OGR_G_GetPointCount(geometry)); i++) {
        double x = OGR_G_GetX(geometry, i), y = OGR_G_GetY(geometry, i);
        double sample = t[0] + t[1] * x + t[2] * y, line = t[3] + t[4] * x + t[5] * y;
        finite = finite && isfinite(sample) && isfinite(line);
        OGR_G_SetPoint_2D(geometry, i, sample, line);
    }
    return finite;
}

static HcStatus fail_feature(const Vector *vector, const char *what, HcError *err) {
    return hc_fail(err, HC_E_INPUT, "%s: feature %lld of layer '%.60s' %s", vector->labelling->path,
                   (long long)vector->id, vector->layer_name, what);
}

/* Takes over a polygon or point in the coordinates of the source. */
static HcStatus place_part(Vector *vector, OGRGeometryH part, bool point, HcError *err) {
    HcStatus status = HC_OK;
    const HcScene *scene = vector->labelling->scene;
    HcShape shape = {.id = vector->class_id, .feature = vector->features};
    HcGdalErrors messages;
    OGREnvelope extent;
    hc_gdal_catch(&messages);
    bool reached = vector->to_scene == NULL || OGR_G_Transform(part, vector->to_scene) == OGRERR_NONE;
    hc_gdal_release();
    if (!reached) {
        vector->unprojected = true;
        goto done;
    }
    OGR_G_GetEnvelope(part, &extent);
    if (!to_pixels(vector, part)) {
        status = fail_feature(vector, "has a coordinate that is not a number", err);
        goto done;
    }
    vector->any_area = true;
    OGREnvelope *all = &vector->extent;
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
        status = fail_feature(vector, "reaches more than 1e9 pixels beyond the scene", err);
        goto done;
    }
    shape.polygon = point ? NULL : part;
    part = point ? part : NULL;
    if ((status = keep(vector, shape, err)) != HC_OK) {
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
static HcStatus take_polygons(Vector *vector, OGRGeometryH geometry, HcError *err) {
    OGRwkbGeometryType type = wkbFlatten(OGR_G_GetGeometryType(geometry));
    if (type == wkbPolygon) {
        return OGR_G_IsEmpty(geometry) ? HC_OK : place_part(vector, OGR_G_Clone(geometry), false, err);
    }
    for (int i = 0;
         i <
         (type == wkbMultiPolygon || type == wkbGeometryCollection ? OGR_G_GetGeometryCount(geometry) : 0);
         i++) {
        HC_OR_RETURN(take_polygons(vector, OGR_G_GetGeometryRef(geometry, i), err));
    }
    return HC_OK;
}

static HcStatus take_polygon(Vector *vector, OGRGeometryH polygon, HcError *err) {
    HcGdalErrors messages;
    hc_gdal_catch(&messages);
    bool valid = OGR_G_IsValid(polygon);
    OGRGeometryH mended = valid ? NULL : OGR_G_MakeValid(polygon);
    hc_gdal_release();
    if (valid) {
        return take_polygons(vector, polygon, err);
    }
    if (mended == NULL) {
        char what[300];
        snprintf(what, sizeof what, "has a polygon that is not valid: %.200s",
                 messages.warning[0] != '\0' ? messages.warning : messages.text);
        return fail_feature(vector, what, err);
    }
    HcStatus status = take_polygons(vector, mended, err);
    vector->mended = vector->mended || !OGR_G_IsEmpty(mended);
    OGR_G_DestroyGeometry(mended);
    return status;
}

/* Polygons and points, on their own or in collections; the geometry has straight edges and two dimensions. */
static HcStatus take_geometry(Vector *vector, OGRGeometryH geometry, HcError *err) {
    HcStatus status = HC_OK;
    if (OGR_G_IsEmpty(geometry)) {
        return HC_OK;
    }
    switch (wkbFlatten(OGR_G_GetGeometryType(geometry))) {
    case wkbPoint:
        return place_part(vector, OGR_G_Clone(geometry), true, err);
    case wkbPolygon:
        return take_polygon(vector, geometry, err);
    case wkbMultiPoint:
    case wkbMultiPolygon:
    case wkbGeometryCollection:
        for (int i = 0; i < OGR_G_GetGeometryCount(geometry); i++) {
            HC_OR_RETURN(take_geometry(vector, OGR_G_GetGeometryRef(geometry, i), err));
        }
        break;
    default:
        status =
            hc_fail(err, HC_E_UNSUPPORTED,
                    "%s: feature %lld of layer '%.60s' is a %s: classes are taken from polygons and points",
                    vector->labelling->path, (long long)vector->id, vector->layer_name,
                    OGR_G_GetGeometryName(geometry));
    }
    return status;
}

/* ---- features ---- */

/* The class of a feature; *id = 0 when it names none. */
static HcStatus class_of(Vector *vector, OGRFeatureH feature, int32_t *id, HcError *err) {
    int64_t number = 0;
    *id = 0;
    if (!OGR_F_IsFieldSetAndNotNull(feature, vector->field)) {
        return HC_OK;
    }
    if (vector->type == OFTString) {
        char *text = hc_envi_clean(OGR_F_GetFieldAsString(feature, vector->field));
        HcStatus status = text == NULL      ? hc_fail_memory(err, 64, "the name of a class")
                          : text[0] == '\0' ? HC_OK
                                            : hc_labelling_class(vector->labelling, 0, text, id, err);
        free(text);
        return status;
    }
    if (vector->type == OFTReal) {
        double value = OGR_F_GetFieldAsDouble(feature, vector->field);
        if (!(fabs(value) <= 0x1p53) || value != floor(value)) {
            char what[200];
            snprintf(what, sizeof what, "has %.17g in '%.80s': classes are texts or whole numbers", value,
                     vector->labelling->out->field);
            return fail_feature(vector, what, err);
        }
        number = (int64_t)value;
    } else {
        number = OGR_F_GetFieldAsInteger64(feature, vector->field);
    }
    return hc_labelling_class(vector->labelling, number, NULL, id, err);
}

/* Its geometry without curves and heights; NULL when there is none. To be destroyed. */
static OGRGeometryH plain_geometry(OGRFeatureH feature) {
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

static HcStatus take_feature(Vector *vector, OGRFeatureH feature, HcError *err) {
    HcStatus status = HC_OK;
    HcLabelled *out = vector->labelling->out;
    OGRGeometryH geometry = plain_geometry(feature);
    vector->id = OGR_F_GetFID(feature);
    vector->any_area = vector->mended = vector->unprojected = false;
    if (geometry == NULL) {
        out->empty_features++;
        goto done;
    }
    HC_TRY(class_of(vector, feature, &vector->class_id, err));
    if (vector->class_id == 0) {
        out->unnamed_features++;
        goto done;
    }
    if (!all_finite(geometry)) {
        status = fail_feature(vector, "has a coordinate that is not a number", err);
        goto done;
    }
    HC_TRY(take_geometry(vector, geometry, err));
    out->mended_features += vector->mended && vector->any_area;
    if (vector->any_area) {
        vector->features++;
    } else if (vector->unprojected) {
        out->unprojected_features++;
    } else {
        out->empty_features++;
    }
done:
    OGR_G_DestroyGeometry(geometry);
    return status;
}

static HcStatus take_features(Vector *vector, HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors messages;
    OGRFeatureH feature = NULL;
    hc_gdal_catch(&messages);
    OGR_L_ResetReading(vector->layer);
    while (status == HC_OK && (feature = OGR_L_GetNextFeature(vector->layer)) != NULL) {
        status = take_feature(vector, feature, err);
        OGR_F_Destroy(feature);
    }
    hc_gdal_release();
    if (status == HC_OK && messages.failed) {
        status = hc_gdal_fail(err, HC_E_IO, vector->labelling->path, &messages);
    }
    return status;
}

/* ---- what came of it ---- */

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

static HcStatus check_overlap(const Vector *vector, HcError *err) {
    const HcLabelled *out = vector->labelling->out;
    const char *path = vector->labelling->path;
    OGREnvelope scene;
    if (vector->shapes > 0) {
        return HC_OK;
    }
    if (vector->features == 0) {
        return hc_fail(err, HC_E_INPUT,
                       "%s: layer '%.60s' has no feature with a class and a geometry (%" PRId64
                       " without geometry, %" PRId64 " without '%.80s', %" PRId64 " beyond the CRS)",
                       path, vector->layer_name, out->empty_features, out->unnamed_features, out->field,
                       out->unprojected_features);
    }
    scene_extent(vector->labelling->scene, &scene);
    const OGREnvelope *data = &vector->extent;
    return hc_fail(
        err, HC_E_INPUT,
        "%s: does not touch the scene: x %.9g to %.9g and y %.9g to %.9g, the scene x %.9g to %.9g "
        "and y %.9g to %.9g",
        path, data->MinX, data->MaxX, data->MinY, data->MaxY, scene.MinX, scene.MaxX, scene.MinY, scene.MaxY);
}

/* Features whose shapes hold the centre of no pixel. Shapes of a feature lie together. */
static int64_t count_outside(const Vector *vector) {
    int64_t used = 0, last = -1;
    for (int64_t i = 0; i < vector->shapes; i++) {
        if (vector->shape[i].used && vector->shape[i].feature != last) {
            last = vector->shape[i].feature;
            used++;
        }
    }
    return vector->features - used;
}

HcStatus hc_labelling_vector(HcLabelling *labelling, GDALDatasetH dataset, const char *field,
                             const char *layer, HcError *err) {
    HcStatus status = HC_OK;
    Vector vector = {.labelling = labelling, .extent = {INFINITY, -INFINITY, INFINITY, -INFINITY}};
    HC_TRY(choose_layer(&vector, dataset, layer, err));
    HC_TRY(choose_field(&vector, field, err));
    HC_TRY(settle_place(&vector, err));
    HC_TRY(take_features(&vector, err));
    HC_TRY(check_overlap(&vector, err));
    HC_TRY(hc_labelling_burn(labelling, vector.shape, vector.shapes, err));
    labelling->out->outside_features = count_outside(&vector);
    HC_TRY(hc_labelling_finish(labelling, NULL, err));
done:
    for (int64_t i = 0; i < vector.shapes; i++) {
        OGR_G_DestroyGeometry(vector.shape[i].polygon);
    }
    free(vector.shape);
    if (vector.to_scene != NULL) {
        OCTDestroyCoordinateTransformation(vector.to_scene);
    }
    return status;
}
