/* OGR makes the file in memory, it is read back, and our own writer puts the bytes on the disk: OGR's text
 * drivers do not report failed writes. GeoPackages get a fixed date, so that two runs make the same bytes. */
#include "io/shape/points.h"
#include "core/text.h"
#include "io/file.h"
#include "io/gdal/errors.h"
#include "io/shape/shapes.h"

#include <cpl_conv.h>
#include <cpl_vsi.h>
#include <stdio.h>
#include <string.h>

/* Days would make the bytes of a GeoPackage differ from run to run. */
static const char date_option[] = "OGR_CURRENT_DATE";
static const char fixed_date[] = "2000-01-01T00:00:00.000Z";

static const char *driver_of(const char *path) {
    return hc_text_ends_with(path, ".gpkg")                                          ? "GPKG"
           : hc_text_ends_with(path, ".geojson") || hc_text_ends_with(path, ".json") ? "GeoJSON"
                                                                                     : NULL;
}

HcStatus hc_points_check(const char *who, const char *option, const char *path, const HcScene *scene,
                         HcError *err) {
    const char *driver = driver_of(path);
    if (driver == NULL) {
        return hc_fail(err, HC_E_USAGE, "%s: %s %s: ends neither with .gpkg nor .geojson", who, option, path);
    }
    if (strcmp(driver, "GeoJSON") == 0 && scene->place.crs == NULL) {
        return hc_fail(err, HC_E_USAGE,
                       "%s: %s %s: the scene has no CRS, which GeoJSON always has: take a .gpkg", who, option,
                       path);
    }
    return HC_OK;
}

static bool add_field(OGRLayerH layer, const char *name, OGRFieldType type) {
    OGRFieldDefnH field = OGR_Fld_Create(name, type);
    bool good = field != NULL && OGR_L_CreateField(layer, field, TRUE) == OGRERR_NONE;
    OGR_Fld_Destroy(field);
    return good;
}

/* GeoPackage has columns of its own, too. */
static bool add_attributes(OGRLayerH layer, const HcAttributes *attributes) {
    static const OGRFieldType types[] = {[HC_ATTRIBUTE_TEXT] = OFTString,
                                         [HC_ATTRIBUTE_INTEGER] = OFTInteger64,
                                         [HC_ATTRIBUTE_REAL] = OFTReal};
    bool good = true;
    for (int32_t k = 0; k < attributes->count && good; k++) {
        HcText name = {0};
        hc_text_add(&name, "%s", attributes->name[k]);
        while (hc_text_equal(hc_text_shown(&name), "fid") || hc_text_equal(hc_text_shown(&name), "geom") ||
               (!name.failed && OGR_FD_GetFieldIndex(OGR_L_GetLayerDefn(layer), name.data) >= 0)) {
            hc_text_add(&name, "_1");
        }
        good = !name.failed && add_field(layer, name.data, types[attributes->type[k]]);
        hc_text_clear(&name);
    }
    return good;
}

/* From the centre of a pixel to the coordinates of the layer. */
static void place_of(const HcScene *scene, const HcPoint *point, double *x, double *y) {
    const double *t = scene->place.transform;
    double sample = (double)point->sample + 0.5;
    double line = (double)point->line + 0.5;
    if (scene->place.has_transform) {
        *x = t[0] + t[1] * sample + t[2] * line;
        *y = t[3] + t[4] * sample + t[5] * line;
    } else {
        *x = sample + (double)scene->cut.sample0;
        *y = line + (double)scene->cut.line0;
    }
}

static void set_attributes(OGRFeatureH feature, int first, const HcAttributes *attributes, int64_t of) {
    for (int32_t k = 0; k < attributes->count; k++) {
        const char *value = hc_attributes_value(attributes, of, k);
        if (value != NULL) {
            OGR_F_SetFieldString(feature, first + k, value);
        }
    }
}

static bool add_point(OGRLayerH layer, const HcScene *scene, const HcPoint *point, int fields,
                      const HcAttributes *attributes) {
    double x = 0;
    double y = 0;
    place_of(scene, point, &x, &y);
    OGRFeatureH feature = OGR_F_Create(OGR_L_GetLayerDefn(layer));
    OGRGeometryH geometry = OGR_G_CreateGeometry(wkbPoint);
    bool good = feature != NULL && geometry != NULL;
    if (good) {
        OGR_G_SetPoint_2D(geometry, 0, x, y);
        OGR_F_SetFieldString(feature, 0, point->name);
        OGR_F_SetFieldInteger64(feature, 1, point->line + scene->cut.line0);
        OGR_F_SetFieldInteger64(feature, 2, point->sample + scene->cut.sample0);
        for (int k = 0; k < fields; k++) {
            OGR_F_SetFieldDouble(feature, 3 + k, point->value[k]);
        }
        if (attributes != NULL) {
            set_attributes(feature, 3 + fields, attributes, point->feature);
        }
        good = OGR_F_SetGeometry(feature, geometry) == OGRERR_NONE &&
               OGR_L_CreateFeature(layer, feature) == OGRERR_NONE;
    }
    OGR_G_DestroyGeometry(geometry);
    OGR_F_Destroy(feature);
    return good;
}

/* Makes and closes the file; what is wrong is in the messages of GDAL. */
static bool make_file(const char *path, const char *driver_name, const HcScene *scene,
                      OGRSpatialReferenceH crs, const HcPoint *point, int64_t count, const char *const *field,
                      const HcAttributes *attributes) {
    GDALDriverH driver = GDALGetDriverByName(driver_name);
    GDALDatasetH dataset = driver != NULL ? GDALCreate(driver, path, 0, 0, 0, GDT_Unknown, NULL) : NULL;
    /* As the standard has it since 2016: degrees of WGS 84, whatever the CRS of the scene. */
    static char standard[] = "RFC7946=YES";
    char *layer_options[] = {strcmp(driver_name, "GeoJSON") == 0 ? standard : NULL, NULL};
    OGRLayerH layer =
        dataset != NULL ? GDALDatasetCreateLayer(dataset, "pixels", crs, wkbPoint, layer_options) : NULL;
    bool good = layer != NULL && add_field(layer, "name", OFTString) &&
                add_field(layer, "line", OFTInteger64) && add_field(layer, "sample", OFTInteger64);
    int fields = 0;
    while (good && field != NULL && field[fields] != NULL) {
        good = add_field(layer, field[fields++], OFTReal);
    }
    good = good && (attributes == NULL || add_attributes(layer, attributes));
    good = good && GDALDatasetStartTransaction(dataset, FALSE) != OGRERR_FAILURE;
    for (int64_t i = 0; i < count && good; i++) {
        good = add_point(layer, scene, &point[i], fields, attributes);
    }
    if (dataset != NULL) {
        (void)GDALDatasetCommitTransaction(dataset); /* GeoJSON has none */
        GDALClose(dataset);
    }
    return good;
}

/* Reads the file again, feature by feature. */
static bool reads_back(const char *path, int64_t count) {
    GDALDatasetH dataset = GDALOpenEx(path, GDAL_OF_VECTOR | GDAL_OF_READONLY, NULL, NULL, NULL);
    OGRLayerH layer = dataset != NULL ? GDALDatasetGetLayer(dataset, 0) : NULL;
    OGRFeatureH feature = NULL;
    int64_t whole = 0;
    bool named = count == 0 || (layer != NULL && OGR_L_FindFieldIndex(layer, "sample", TRUE) == 2);
    while (layer != NULL && (feature = OGR_L_GetNextFeature(layer)) != NULL) {
        OGRGeometryH geometry = OGR_F_GetGeometryRef(feature);
        whole += geometry != NULL && !OGR_G_IsEmpty(geometry) && OGR_F_IsFieldSetAndNotNull(feature, 2);
        OGR_F_Destroy(feature);
    }
    GDALClose(dataset);
    return layer != NULL && named && whole == count;
}

/* GDAL's text driver does not report that a write has failed. So drivers write to memory, and the bytes go to
 * the disk by our own writer. */
HcStatus hc_points_write(const char *path, const HcScene *scene, const HcPoint *point, int64_t count,
                         const char *const *field, const HcAttributes *attributes, bool overwrite,
                         HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors messages = {0};
    OGRSpatialReferenceH crs = NULL;
    char folder[64], name[80];
    snprintf(folder, sizeof folder, "/vsimem/hcube-points-%p", (const void *)&messages);
    HC_TRY(hc_points_check(path, "the name", path, scene, err));
    snprintf(name, sizeof name, "%s/points.%s", folder,
             hc_text_ends_with(path, ".gpkg") ? "gpkg" : "geojson");
    HC_TRY(hc_shape_scene_crs(scene, path, &crs, err));
    hc_gdal_catch(&messages);
    CPLSetThreadLocalConfigOption(date_option, fixed_date);
    bool good = make_file(name, driver_of(path), scene, crs, point, count, field, attributes);
    CPLSetThreadLocalConfigOption(date_option, NULL);
    bool whole = good && !messages.failed && reads_back(name, count);
    hc_gdal_release();
    if (!good || messages.failed) {
        HC_TRY(hc_gdal_fail(err, HC_E_IO, path, &messages));
    }
    vsi_l_offset bytes = 0;
    const GByte *data = VSIGetMemFileBuffer(name, &bytes, FALSE);
    if (!whole || data == NULL) {
        HC_TRY(hc_fail(err, HC_E_IO, "%s: the file is not whole when read back", path));
    }
    HC_TRY(hc_file_write_unflushed(path, data, (size_t)bytes, overwrite, err));
done:
    (void)VSIRmdirRecursive(folder);
    OSRRelease(crs);
    return status;
}
