#include "io/shape/ground.h"
#include "io/gdal/errors.h"

#include <math.h>
#include <ogr_srs_api.h>

/* Metres of one unit of x and y; false where the CRS has neither lengths nor degrees. */
static bool metres_of_units(const char *wkt, double latitude, double metres[2]) {
    static const double radius = 6378137, flatness = 6.69437999014e-3; /* of WGS 84: a, e squared */
    HcGdalErrors messages;
    hc_gdal_catch(&messages);
    OGRSpatialReferenceH crs = OSRNewSpatialReference(wkt);
    bool known = crs != NULL && !OSRIsLocal(crs);
    if (known && OSRIsGeographic(crs)) {
        double radians = OSRGetAngularUnits(crs, NULL);
        double sine = sin(latitude * radians), root = sqrt(1 - flatness * sine * sine);
        metres[0] = radians * radius / root * cos(latitude * radians);
        metres[1] = radians * radius * (1 - flatness) / (root * root * root);
    } else if (known && OSRIsProjected(crs)) {
        metres[0] = metres[1] = OSRGetLinearUnits(crs, NULL);
    } else {
        known = false;
    }
    OSRDestroySpatialReference(crs);
    hc_gdal_release();
    return known;
}

HcGround hc_ground_of(const HcPlace *place, int64_t lines, int64_t samples) {
    const double *t = place->transform;
    HcGround ground = {0};
    double middle = t[3] + t[4] * (double)samples / 2 + t[5] * (double)lines / 2;
    double metres[2];
    if (!place->has_transform || place->crs == NULL || !metres_of_units(place->crs, middle, metres)) {
        return ground;
    }
    /* Metres to the east and to the north of a step along the samples, and of one along the lines. */
    double east_x = t[1] * metres[0], north_x = t[4] * metres[1];
    double east_y = t[2] * metres[0], north_y = t[5] * metres[1];
    double area = east_x * north_y - east_y * north_x;
    ground.across = hypot(east_x, north_x);
    ground.along = hypot(east_y, north_y);
    ground.known = isfinite(area) && area != 0;
    /* The steps that lead north, in metres of the picture. */
    double right = -east_y / area * ground.across, down = east_x / area * ground.along;
    ground.north = atan2(right, -down) * 180 / M_PI + 0.0;
    return ground;
}
