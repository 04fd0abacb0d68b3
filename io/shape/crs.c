/* Coordinate systems of scenes and of vector data. */
#include "io/gdal/errors.h"
#include "io/libraries.h"
#include "io/shape/shapes.h"

#include <cpl_conv.h>
#include <string.h>

bool hc_shape_is_crs(OGRSpatialReferenceH crs) {
    if (crs == NULL || OSRIsLocal(crs)) {
        return false;
    }
    const char *name = OSRGetName(crs);
    return name == NULL || strncmp(name, "Undefined ", 10) != 0;
}

HcStatus hc_shape_crs_name(OGRSpatialReferenceH crs, char **name, HcError *err) {
    char *wkt = NULL;
    *name = NULL;
    OGRErr result = OSRExportToWkt(crs, &wkt);
    HcStatus status = result == OGRERR_NONE                ? hc_io_crs_name(wkt, name, err)
                      : result == OGRERR_NOT_ENOUGH_MEMORY ? hc_fail_memory(err, 0, "the name of a CRS")
                                                           : HC_OK;
    CPLFree(wkt);
    return status;
}

HcStatus hc_shape_scene_crs(const HcScene *scene, const char *path, OGRSpatialReferenceH *out, HcError *err) {
    const char *wkt = scene->place.crs;
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
        return hc_fail(err, HC_E_INPUT, "%s: the CRS of the scene is not understood: %.200s", path, wkt);
    }
    OSRSetAxisMappingStrategy(*out, OAMS_TRADITIONAL_GIS_ORDER);
    return HC_OK;
}
