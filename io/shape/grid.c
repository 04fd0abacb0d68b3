/* Corners are compared on the ground, since texts of one CRS differ from program to program, and equal
 * numbers in two CRS are two places. */
#include "io/shape/grid.h"
#include "io/gdal/errors.h"
#include "io/shape/shapes.h"

#include <cpl_conv.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

static const double refused_from = 0.5, noted_from = 0.01; /* [pixels of the scene] */

/* The place of a raster. Zero-initialise; close_place() is then always safe. */
typedef struct Place {
    const double *transform;
    OGRSpatialReferenceH crs; /* NULL = not known */
    bool known, local;        /* local: in coordinates of its own, not on Earth */
} Place;

/* What programs write where pixels have no place. */
static bool is_pixels(const HcScene *scene) {
    const double *t = scene->place.transform;
    return t[0] == 0 && t[1] == 1 && t[2] == 0 && t[4] == 0 && fabs(t[5]) == 1 &&
           (t[3] == 0 || t[3] == (double)scene->lines);
}

static void open_place(Place *place, const HcScene *scene) {
    OGRSpatialReferenceH crs = NULL;
    bool understood = hc_shape_scene_crs(scene, "", &crs, NULL) == HC_OK && crs != NULL;
    place->transform = scene->place.transform;
    place->local = understood && OSRIsLocal(crs);
    place->crs = crs;
    if (understood && !hc_shape_is_crs(crs)) {
        OSRDestroySpatialReference(crs);
        place->crs = NULL;
    }
    place->known = scene->place.has_transform && (place->crs != NULL || !is_pixels(scene));
}

static void close_place(Place *place) {
    OSRDestroySpatialReference(place->crs);
}

/* From the CRS of the raster to that of the scene; NULL where coordinates stay as they are. False: there is
 * no way. */
static bool open_way(const Place *from, const Place *to, OGRCoordinateTransformationH *way) {
    *way = NULL;
    if (from->crs == NULL || to->crs == NULL || OSRIsSame(from->crs, to->crs)) {
        return true;
    }
    *way = OCTNewCoordinateTransformation(from->crs, to->crs);
    return *way != NULL;
}

/* Longitudes of 0 to 360 degrees and of -180 to 180 are the same places. */
static double unwrap(const Place *place, double x, double at) {
    double turn = place->crs != NULL && OSRIsGeographic(place->crs)
                      ? 2 * M_PI / OSRGetAngularUnits(place->crs, NULL)
                      : 0;
    return turn > 0 ? x - turn * round((x - at) / turn) : x;
}

static void ground_of(const double *t, const double pixel[2], double xy[2]) {
    for (int i = 0; i < 2; i++) {
        xy[i] = t[3 * i] + t[3 * i + 1] * pixel[0] + t[3 * i + 2] * pixel[1];
    }
}

/* How far the raster lies from the scene at the worst corner, in samples and lines; infinite where that
 * cannot be found. */
static void measure(const HcScene *scene, const Place *to, const Place *from, double shift[2]) {
    double inverse[6], forward[6];
    HcGdalErrors messages;
    OGRCoordinateTransformationH way = NULL;
    shift[0] = shift[1] = 0;
    memcpy(forward, to->transform, sizeof forward); /* GDALInvGeoTransform only reads its argument */
    hc_gdal_catch(&messages);
    bool good = GDALInvGeoTransform(forward, inverse) && open_way(from, to, &way);
    for (int corner = 0; corner < 4 && good; corner++) {
        const double pixel[2] = {corner % 2 ? (double)scene->samples : 0,
                                 corner / 2 ? (double)scene->lines : 0};
        double own[2], other[2], found[2];
        ground_of(to->transform, pixel, own);
        ground_of(from->transform, pixel, other);
        good = way == NULL || OCTTransform(way, 1, &other[0], &other[1], NULL);
        other[0] = unwrap(to, other[0], own[0]);
        ground_of(inverse, other, found);
        good = good && isfinite(found[0]) && isfinite(found[1]);
        double apart[2] = {found[0] - pixel[0], found[1] - pixel[1]};
        if (good && hypot(apart[0], apart[1]) > hypot(shift[0], shift[1])) {
            memcpy(shift, apart, sizeof apart);
        }
    }
    OCTDestroyCoordinateTransformation(way);
    hc_gdal_release();
    if (!good) {
        shift[0] = shift[1] = INFINITY;
    }
}

/* " -t_srs 'EPSG:32633'", or a definition of PROJ where there is no code. */
static void add_crs(HcText *text, const char *option, OGRSpatialReferenceH crs) {
    char *definition = NULL;
    const char *authority = OSRGetAuthorityName(crs, NULL), *code = OSRGetAuthorityCode(crs, NULL);
    if (authority != NULL && code != NULL) {
        hc_text_add(text, " %s %s:%s", option, authority, code);
    } else if (OSRExportToProj4(crs, &definition) == OGRERR_NONE) {
        hc_text_add(text, " %s '%s'", option, definition);
    }
    CPLFree(definition);
}

/* The line that brings the raster onto the grid of the scene. */
static void add_cure(const HcScene *scene, const Place *to, const Place *from, const char *path,
                     HcText *text) {
    const double *t = to->transform;
    char edge[4][HC_TEXT_DOUBLE];
    if (t[2] != 0 || t[4] != 0 || t[1] <= 0 || t[5] >= 0) {
        hc_text_add(text, "resample it onto the grid of the scene, which is turned");
        return;
    }
    hc_text_add(text, "bring it onto that grid: gdalwarp");
    if (to->crs != NULL && from->crs == NULL) {
        add_crs(text, "-s_srs", to->crs);
    }
    if (to->crs != NULL) {
        add_crs(text, "-t_srs", to->crs);
    }
    hc_text_add(text, " -te %s %s %s %s -ts %" PRId64 " %" PRId64 " '%s' on_grid.tif",
                hc_text_double(edge[0], t[0]), hc_text_double(edge[1], t[3] + t[5] * (double)scene->lines),
                hc_text_double(edge[2], t[0] + t[1] * (double)scene->samples), hc_text_double(edge[3], t[3]),
                scene->samples, scene->lines, path);
}

static HcStatus judge(const HcScene *scene, const char *scene_name, const Place *to, const Place *from,
                      const char *path, HcText *note, HcError *err) {
    double shift[2];
    HcText cure = {0};
    measure(scene, to, from, shift);
    double apart = hypot(shift[0], shift[1]);
    if (apart < refused_from - 1e-6) {
        if (apart >= noted_from) {
            hc_text_add(note, "lies %.2g pixels from the grid of the scene, and is taken as it is", apart);
        }
        return HC_OK;
    }
    add_cure(scene, to, from, path, &cure);
    HcStatus status =
        hc_fail_text(err, HC_E_INPUT, &cure,
                     "%s: lies elsewhere than %s: their corners are up to %.6g pixels apart (%.6g samples, "
                     "%.6g lines). Give --by-pixels to take lines and samples as they are, or %s",
                     path, scene_name, apart, shift[0], shift[1], hc_text_shown(&cure));
    hc_text_clear(&cure);
    return status;
}

HcStatus hc_grid_check_size(const HcScene *scene, const char *scene_name, const HcScene *raster,
                            const char *path, HcError *err) {
    return hc_scene_same_grid(scene, raster)
               ? HC_OK
               : hc_fail(err, HC_E_INPUT,
                         "%s: has %" PRId64 " lines x %" PRId64 " samples, %s has %" PRId64 " x %" PRId64,
                         path, raster->lines, raster->samples, scene_name, scene->lines, scene->samples);
}

HcStatus hc_grid_check(const HcScene *scene, const char *scene_name, const HcScene *raster, const char *path,
                       HcText *note, HcError *err) {
    HcStatus status = HC_OK;
    Place to = {0}, from = {0};
    HC_OR_RETURN(hc_grid_check_size(scene, scene_name, raster, path, err));
    open_place(&to, scene);
    open_place(&from, raster);
    if (!scene->place.by_pixels && to.known && from.known && to.local == from.local) {
        status = judge(scene, scene_name, &to, &from, path, note, err);
    }
    close_place(&to);
    close_place(&from);
    return status;
}

double hc_grid_shift(const HcScene *scene, const HcPlace *found) {
    double shift[2] = {0, 0};
    HcScene raster = {.lines = scene->lines, .samples = scene->samples, .place = *found};
    Place to = {0}, from = {0};
    open_place(&to, scene);
    open_place(&from, &raster);
    if (to.known && found->has_transform) {
        measure(scene, &to, &from, shift);
    } else if (to.known) {
        shift[0] = INFINITY;
    }
    close_place(&to);
    close_place(&from);
    return hypot(shift[0], shift[1]);
}
