/* Scenes, vector files, and what labels of their pixels are to be. */
#ifndef HC_TESTS_IO_TRAINING_LABELS_H
#define HC_TESTS_IO_TRAINING_LABELS_H

#include "io/libraries.h"
#include "io/training/training.h"
#include "tests/io/write_fixture.h"

#include <cpl_string.h>
#include <inttypes.h>
#include <ogr_api.h>
#include <ogr_srs_api.h>

/* ---- scenes ---- */

static inline HcScene bare_scene(int64_t lines, int64_t samples) {
    return (HcScene){.lines = lines, .samples = samples, .bands = 3};
}

static inline char *wkt_of(int epsg) {
    char *wkt = NULL;
    OGRSpatialReferenceH crs = OSRNewSpatialReference(NULL);
    assert_int_equal(OSRImportFromEPSG(crs, epsg), OGRERR_NONE);
    assert_int_equal(OSRExportToWkt(crs, &wkt), OGRERR_NONE);
    OSRDestroySpatialReference(crs);
    return wkt;
}

/* UTM zone 11, pixels of 20 m, turned by a little. The text is freed by hc_scene_clear. */
static inline HcScene utm_scene(int64_t lines, int64_t samples) {
    HcScene scene = bare_scene(lines, samples);
    char *wkt = wkt_of(32611);
    scene.place =
        (HcPlace){.has_transform = true, .transform = {560000, 20, 1, 4150000, 0.5, -20}, .crs = strdup(wkt)};
    CPLFree(wkt);
    return scene;
}

/* ---- vector files ---- */

typedef struct Feature {
    const char *wkt;   /* in pixel coordinates, NULL = no geometry */
    const char *value; /* NULL = not set */
} Feature;

typedef struct Source {
    const char *driver, *name;
    int epsg; /* 0 = none; the corners go through the transform of the scene and its CRS */
    const char *field;
    OGRFieldType type;
    const char *second; /* another text field, or NULL */
} Source;

static inline void through_transform(OGRGeometryH geometry, const double *t) {
    for (int i = 0; i < OGR_G_GetGeometryCount(geometry); i++) {
        through_transform(OGR_G_GetGeometryRef(geometry, i), t);
    }
    for (int i = 0; i < (OGR_G_GetGeometryCount(geometry) > 0 ? 0 : OGR_G_GetPointCount(geometry)); i++) {
        double s = OGR_G_GetX(geometry, i), l = OGR_G_GetY(geometry, i);
        OGR_G_SetPoint_2D(geometry, i, t[0] + t[1] * s + t[2] * l, t[3] + t[4] * s + t[5] * l);
    }
}

static inline OGRGeometryH geometry_of(const char *wkt) {
    OGRGeometryH geometry = NULL;
    char *copy = strdup(wkt), *rest = copy;
    assert_int_equal(OGR_G_CreateFromWkt(&rest, NULL, &geometry), OGRERR_NONE);
    free(copy);
    return geometry;
}

static inline OGRSpatialReferenceH crs_of(int epsg) {
    OGRSpatialReferenceH crs = OSRNewSpatialReference(NULL);
    assert_int_equal(OSRImportFromEPSG(crs, epsg), OGRERR_NONE);
    OSRSetAxisMappingStrategy(crs, OAMS_TRADITIONAL_GIS_ORDER);
    return crs;
}

/* From pixels to the coordinates of the source. */
static inline OGRGeometryH placed(const char *wkt, const HcScene *scene, int epsg) {
    OGRGeometryH geometry = geometry_of(wkt);
    if (scene->place.has_transform) {
        through_transform(geometry, scene->place.transform);
    }
    if (epsg != 0 && epsg != 32611) {
        OGRSpatialReferenceH from = crs_of(32611), to = crs_of(epsg);
        OGRCoordinateTransformationH way = OCTNewCoordinateTransformation(from, to);
        assert_int_equal(OGR_G_Transform(geometry, way), OGRERR_NONE);
        OCTDestroyCoordinateTransformation(way);
        OSRDestroySpatialReference(from);
        OSRDestroySpatialReference(to);
    }
    return geometry;
}

static inline void add_layer(GDALDatasetH dataset, const char *name, const Source *source,
                             const Feature *features, int count, const HcScene *scene) {
    OGRSpatialReferenceH crs = source->epsg != 0 ? crs_of(source->epsg) : NULL;
    OGRwkbGeometryType type = wkbUnknown;
    if (strcmp(source->driver, "ESRI Shapefile") == 0) {
        type = strncmp(features[0].wkt, "POINT", 5) == 0 ? wkbPoint : wkbPolygon;
    }
    OGRLayerH layer = GDALDatasetCreateLayer(dataset, name, crs, type, NULL);
    assert_non_null(layer);
    const char *names[2] = {source->field, source->second};
    for (int f = 0; f < 2; f++) {
        if (names[f] != NULL) {
            OGRFieldDefnH field = OGR_Fld_Create(names[f], f == 0 ? source->type : OFTString);
            assert_int_equal(OGR_L_CreateField(layer, field, TRUE), OGRERR_NONE);
            OGR_Fld_Destroy(field);
        }
    }
    for (int i = 0; i < count; i++) {
        OGRFeatureH feature = OGR_F_Create(OGR_L_GetLayerDefn(layer));
        if (features[i].value != NULL && source->field != NULL) {
            OGR_F_SetFieldString(feature, OGR_F_GetFieldIndex(feature, source->field), features[i].value);
        }
        if (features[i].wkt != NULL) {
            OGR_F_SetGeometryDirectly(feature, placed(features[i].wkt, scene, source->epsg));
        }
        assert_int_equal(OGR_L_CreateFeature(layer, feature), OGRERR_NONE);
        OGR_F_Destroy(feature);
    }
    if (crs != NULL) {
        OSRDestroySpatialReference(crs);
    }
}

static inline GDALDatasetH create(const Source *source) {
    const char *path = in_folder(source->name);
    GDALDriverH driver = GDALGetDriverByName(source->driver);
    assert_non_null(driver);
    VSIUnlink(path);
    GDALDatasetH dataset = GDALCreate(driver, path, 0, 0, 0, GDT_Unknown, NULL);
    assert_non_null(dataset);
    return dataset;
}

static inline const char *write_vector(const Source *source, const Feature *features, int count,
                                       const HcScene *scene) {
    GDALDatasetH dataset = create(source);
    add_layer(dataset, "areas", source, features, count, scene);
    GDALClose(dataset);
    return in_folder(source->name);
}

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* ---- expectations ---- */

/* Whether a point lies inside the rings of a polygon (or multipolygon), by crossing numbers. */
static inline bool inside(OGRGeometryH geometry, double x, double y) {
    bool in = false;
    int rings = OGR_G_GetGeometryCount(geometry);
    for (int i = 0; i < rings; i++) {
        in ^= inside(OGR_G_GetGeometryRef(geometry, i), x, y);
    }
    for (int i = 0; rings == 0 && i + 1 < OGR_G_GetPointCount(geometry); i++) {
        double x1 = OGR_G_GetX(geometry, i), y1 = OGR_G_GetY(geometry, i);
        double x2 = OGR_G_GetX(geometry, i + 1), y2 = OGR_G_GetY(geometry, i + 1);
        if ((y1 > y) != (y2 > y) && x < x1 + (y - y1) / (y2 - y1) * (x2 - x1)) {
            in = !in;
        }
    }
    return in;
}

/* The label of each pixel by the rule: -1 = contested. labels[i] is that of features[i], 0 = left out. */
static inline int *expect(const Feature *features, const int *labels, int count, const HcScene *scene) {
    int *map = calloc((size_t)(scene->lines * scene->samples), sizeof *map);
    for (int f = 0; f < count; f++) {
        if (labels[f] == 0) {
            continue;
        }
        OGRGeometryH geometry = geometry_of(features[f].wkt);
        for (int64_t l = 0; l < scene->lines; l++) {
            for (int64_t s = 0; s < scene->samples; s++) {
                int *at = &map[l * scene->samples + s];
                if (inside(geometry, (double)s + 0.5, (double)l + 0.5)) {
                    *at = *at == 0 || *at == labels[f] ? labels[f] : -1;
                }
            }
        }
        OGR_G_DestroyGeometry(geometry);
    }
    return map;
}

static inline void check_map(const HcLabelled *got, const int *map, const HcScene *scene) {
    int64_t at = 0, contested = 0;
    int64_t pixels[64] = {0};
    for (int64_t i = 0; i < scene->lines * scene->samples; i++) {
        contested += map[i] < 0;
        if (map[i] <= 0) {
            continue;
        }
        assert_true(at < got->count);
        if (got->line[at] != i / scene->samples || got->sample[at] != i % scene->samples ||
            got->label[at] != map[i]) {
            fail_msg("pixel %" PRId64 " is line %d, sample %d, label %d instead of %" PRId64 ", %" PRId64
                     ", %d",
                     at, got->line[at], got->sample[at], got->label[at], i / scene->samples,
                     i % scene->samples, map[i]);
        }
        pixels[map[i]]++;
        at++;
    }
    assert_int_equal(got->count, at);
    assert_int_equal(got->contested, contested);
    for (int c = 0; c < got->classes.count; c++) {
        assert_int_equal(got->pixels[c], pixels[c]);
    }
    assert_string_equal(got->classes.name[0], "Unclassified");
    assert_memory_equal(got->classes.colour[0], "\0\0\0", 3);
}

static inline void check_names(const HcLabelled *got, const char *const *names, int count) {
    assert_int_equal(got->classes.count, count + 1);
    for (int c = 0; c < count; c++) {
        assert_string_equal(got->classes.name[c + 1], names[c]);
    }
}

static inline HcLabelled read_good(const char *path, const char *field, const char *layer,
                                   const HcScene *scene) {
    HcLabelled got = {0};
    HcError err = {0};
    check_ok(hc_labelled_read(path, field, layer, scene, &got, &err), err);
    return got;
}

/* Refused with that status, in one line that names the file and holds all the parts (apart by '|'). */
static inline void check_refused(const char *path, const char *field, const char *layer, const HcScene *scene,
                                 HcStatus want, const char *parts) {
    HcLabelled got = {0};
    HcError err = {0};
    HcStatus status = hc_labelled_read(path, field, layer, scene, &got, &err);
    char **list = CSLTokenizeString2(parts, "|", 0);
    if (status != want || strchr(err.text, '\n') != NULL || strstr(err.text, CPLGetBasename(path)) == NULL) {
        fail_msg("%s: status %d instead of %d: '%s'", path, (int)status, (int)want, err.text);
    }
    for (int i = 0; i < CSLCount(list); i++) {
        if (strstr(err.text, list[i]) == NULL) {
            fail_msg("'%s' lacks '%s'", err.text, list[i]);
        }
    }
    CSLDestroy(list);
    assert_null(got.sample);
    assert_null(got.classes.name);
}

#endif
