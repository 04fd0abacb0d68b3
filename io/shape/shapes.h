/* Shapes: polygons and points of vector data, in the pixel coordinates of a scene (x = sample, y = line). */
#ifndef HC_IO_SHAPE_SHAPES_H
#define HC_IO_SHAPE_SHAPES_H

#include "core/scene.h"
#include "io/shape/attributes.h"

#include <gdal.h>
#include <ogr_api.h>
#include <ogr_srs_api.h>

/* What the coordinates of a table of points are, which names no CRS. */
typedef enum HcTable {
    HC_TABLE_NONE,   /* it is none: as the layer says */
    HC_TABLE_MAP,    /* those of the scene */
    HC_TABLE_LONLAT, /* longitude and latitude, WGS 84 */
    HC_TABLE_PIXELS  /* sample and line of the file, the first pixel from 0 to 1 */
} HcTable;

/* Names of the two columns with the coordinates of a table, in any case. */
typedef struct HcPointColumns {
    const char *x, *y;
    HcTable table;
} HcPointColumns;

/* The first pair that a table has counts; x is NULL at the end. */
extern const HcPointColumns hc_point_columns[];

typedef struct HcShape {
    OGRGeometryH polygon; /* owned; NULL = a point */
    OGREnvelope extent;
    int32_t id;      /* of the class, or whatever the caller gave the feature */
    int64_t feature; /* which of the features it is part of */
    bool used;       /* for the caller; a pixel's centre lies in it */
} HcShape;

/* The shapes of one layer. Set path, scene and what is taken, the rest zero; hc_shapes_clear is then always
 * safe. */
typedef struct HcShapes {
    const char *path;     /* for messages, borrowed */
    const HcScene *scene; /* borrowed */
    const char *taken;    /* "classes are taken from polygons and points": why other geometries are refused */
    bool no_points;       /* points are refused as well */
    HcTable table;

    OGRLayerH layer;
    const char *layer_name;
    OGRCoordinateTransformationH to_scene; /* NULL = the coordinates are those of the scene */
    double to_pixel[6];

    HcShape *shape; /* [count] those whose extent touches the scene */
    int64_t count;
    OGREnvelope extent; /* of all geometries, in the coordinates of the scene */
    int64_t features;   /* that were taken */

    /* The feature in hand. */
    GIntBig number;
    int32_t id;
    bool any_area; /* a shape was made of it */
    bool mended;   /* its polygon crossed itself */
    bool unprojected;
} HcShapes;

/* Layers of a dataset that have geometries. */
int hc_shapes_layers(GDALDatasetH dataset);

/* Chooses the layer: that of the name, or (NULL) the only one with geometries. HC_E_USAGE where there is no
 * such layer or several. */
HcStatus hc_shapes_choose(HcShapes *shapes, GDALDatasetH dataset, const char *layer,
                          HcError *err) HC_MUST_CHECK;

/* Whether the coordinates of the layer are on Earth. */
bool hc_shapes_on_earth(const HcShapes *shapes);

/* Settles how coordinates of the layer become pixels: by the CRS of both, or without a place as pixels of the
 * file that the scene is of. HC_E_INPUT where only one of both has a CRS. */
HcStatus hc_shapes_place(HcShapes *shapes, HcError *err) HC_MUST_CHECK;

/* The geometry of a feature without curves and heights, to be destroyed; NULL when there is none. */
OGRGeometryH hc_shapes_geometry(OGRFeatureH feature);

/* Takes the polygons and points of a geometry as feature `number`; any_area, mended and unprojected say what
 * came of it. */
HcStatus hc_shapes_take(HcShapes *shapes, OGRGeometryH geometry, GIntBig number, int32_t id,
                        HcError *err) HC_MUST_CHECK;

/* HC_E_INPUT in the name of the feature in hand. */
HcStatus hc_shapes_fail(const HcShapes *shapes, const char *what, HcError *err);

/* HC_E_INPUT with both extents: no shape touches the scene. */
HcStatus hc_shapes_fail_apart(const HcShapes *shapes, HcError *err);

void hc_shapes_clear(HcShapes *shapes);

/* Chooses the attributes of `list`, names separated by commas, or "all" but the field `besides` (-1 = none).
 * HC_E_USAGE: the layer has no such attribute. */
HcStatus hc_attributes_choose(HcAttributes *to, const HcShapes *shapes, const char *list, int besides,
                              HcError *err) HC_MUST_CHECK;
/* Adds the values of a feature after those before. */
HcStatus hc_attributes_add(HcAttributes *to, OGRFeatureH feature, HcError *err) HC_MUST_CHECK;
/* Exchanges the values of two features. */
void hc_attributes_move(HcAttributes *attributes, int64_t from, int64_t to);

/* Pixels from (x0, y0) to before (x1, y1). */
typedef struct HcPixels {
    int64_t x0, y0, x1, y1;
} HcPixels;

/* The pixels within `bounds` that an extent touches; x1 <= x0 or y1 <= y0 where it touches none. */
HcPixels hc_pixels_touched(const OGREnvelope *extent, HcPixels bounds);

/* A raster of these pixels [uint8], 1 where the centre of a pixel lies in any of the polygons; to be closed.
 * NULL, with a message of GDAL, when it fails. */
GDALDatasetH hc_pixels_burn(HcPixels pixels, int count, OGRGeometryH *polygon);

/* Whether it says where on Earth: GeoPackages without a CRS have one of an undefined name. */
bool hc_shape_is_crs(OGRSpatialReferenceH crs);

/* What a CRS is called, for messages; to be freed. NULL where it cannot be written as WKT. */
HcStatus hc_shape_crs_name(OGRSpatialReferenceH crs, char **name, HcError *err) HC_MUST_CHECK;

/* The CRS of a scene, coordinates as x east, y north as its transform has them; NULL when it has none. */
HcStatus hc_shape_scene_crs(const HcScene *scene, const char *path, OGRSpatialReferenceH *out,
                            HcError *err) HC_MUST_CHECK;

#endif
