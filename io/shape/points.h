/* Points: pixels of a scene as vector data, by OGR. */
#ifndef HC_IO_SHAPE_POINTS_H
#define HC_IO_SHAPE_POINTS_H

#include "core/scene.h"
#include "io/shape/attributes.h"

typedef struct HcPoint {
    const char *name;     /* borrowed */
    int64_t line, sample; /* of the scene, from 0 */
    double value[3];      /* of the further fields, where there are any */
    int64_t feature;      /* whose attributes are written, where there are any */
} HcPoint;

/* Memory that hc_points_write takes for a point without attributes: the file grows in memory. */
#define HC_POINT_FILE_BYTES 640

/* Refuses, in the name of `who` and the option, endings other than .gpkg, .geojson and .json; and the latter
 * two for a scene without a CRS, which GeoJSON always has (HC_E_USAGE). */
HcStatus hc_points_check(const char *who, const char *option, const char *path, const HcScene *scene,
                         HcError *err) HC_MUST_CHECK;

/* Writes one layer of points at the centres of pixels, in the CRS of the scene (GeoJSON: WGS 84); without a
 * place in pixels of its file, as hc_labelled_read takes them. Fields: name, line, sample (from 0, of the
 * file), those of `field`, at most three and NULL-terminated, and the attributes; NULL = none. An attribute
 * that is called like one of the fields before it gets "_1" after its name. An existing file is replaced
 * only with `overwrite`. The same points make the same bytes. The file is read again and its points are
 * counted before it is written (HC_E_IO). */
HcStatus hc_points_write(const char *path, const HcScene *scene, const HcPoint *point, int64_t count,
                         const char *const *field, const HcAttributes *attributes, bool overwrite,
                         HcError *err) HC_MUST_CHECK;

#endif
