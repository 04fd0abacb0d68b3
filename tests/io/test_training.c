/* Training data of every kind against pixels that are found here: by crossing numbers for polygons, by hand
 * for the rest. */
#include "io/libraries.h"
#include "io/training/training.h"
#include "tests/support/random.h"
#include "write_fixture.h"

#include <cpl_string.h>
#include <inttypes.h>
#include <ogr_api.h>
#include <ogr_srs_api.h>

/* ---- scenes ---- */

static HcScene bare_scene(int64_t lines, int64_t samples) {
    return (HcScene){.lines = lines, .samples = samples, .bands = 3};
}

static char *wkt_of(int epsg) {
    char *wkt = NULL;
    OGRSpatialReferenceH crs = OSRNewSpatialReference(NULL);
    assert_int_equal(OSRImportFromEPSG(crs, epsg), OGRERR_NONE);
    assert_int_equal(OSRExportToWkt(crs, &wkt), OGRERR_NONE);
    OSRDestroySpatialReference(crs);
    return wkt;
}

/* UTM zone 11, pixels of 20 m, turned by a little. The text is freed by hc_scene_clear. */
static HcScene utm_scene(int64_t lines, int64_t samples) {
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

static void through_transform(OGRGeometryH geometry, const double *t) {
    for (int i = 0; i < OGR_G_GetGeometryCount(geometry); i++) {
        through_transform(OGR_G_GetGeometryRef(geometry, i), t);
    }
    for (int i = 0; i < (OGR_G_GetGeometryCount(geometry) > 0 ? 0 : OGR_G_GetPointCount(geometry)); i++) {
        double s = OGR_G_GetX(geometry, i), l = OGR_G_GetY(geometry, i);
        OGR_G_SetPoint_2D(geometry, i, t[0] + t[1] * s + t[2] * l, t[3] + t[4] * s + t[5] * l);
    }
}

static OGRGeometryH geometry_of(const char *wkt) {
    OGRGeometryH geometry = NULL;
    char *copy = strdup(wkt), *rest = copy;
    assert_int_equal(OGR_G_CreateFromWkt(&rest, NULL, &geometry), OGRERR_NONE);
    free(copy);
    return geometry;
}

static OGRSpatialReferenceH crs_of(int epsg) {
    OGRSpatialReferenceH crs = OSRNewSpatialReference(NULL);
    assert_int_equal(OSRImportFromEPSG(crs, epsg), OGRERR_NONE);
    OSRSetAxisMappingStrategy(crs, OAMS_TRADITIONAL_GIS_ORDER);
    return crs;
}

/* From pixels to the coordinates of the source. */
static OGRGeometryH placed(const char *wkt, const HcScene *scene, int epsg) {
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

static void add_layer(GDALDatasetH dataset, const char *name, const Source *source, const Feature *features,
                      int count, const HcScene *scene) {
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

static GDALDatasetH create(const Source *source) {
    const char *path = in_folder(source->name);
    GDALDriverH driver = GDALGetDriverByName(source->driver);
    assert_non_null(driver);
    VSIUnlink(path);
    GDALDatasetH dataset = GDALCreate(driver, path, 0, 0, 0, GDT_Unknown, NULL);
    assert_non_null(dataset);
    return dataset;
}

static const char *write_vector(const Source *source, const Feature *features, int count,
                                const HcScene *scene) {
    GDALDatasetH dataset = create(source);
    add_layer(dataset, "areas", source, features, count, scene);
    GDALClose(dataset);
    return in_folder(source->name);
}

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* ---- expectations ---- */

/* Whether a point lies inside the rings of a polygon (or multipolygon), by crossing numbers. */
static bool inside(OGRGeometryH geometry, double x, double y) {
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
static int *expect(const Feature *features, const int *labels, int count, const HcScene *scene) {
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

static void check_map(const HcLabelled *got, const int *map, const HcScene *scene) {
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

static void check_names(const HcLabelled *got, const char *const *names, int count) {
    assert_int_equal(got->classes.count, count + 1);
    for (int c = 0; c < count; c++) {
        assert_string_equal(got->classes.name[c + 1], names[c]);
    }
}

static HcLabelled read_good(const char *path, const char *field, const char *layer, const HcScene *scene) {
    HcLabelled got = {0};
    HcError err = {0};
    check_ok(hc_labelled_read(path, field, layer, scene, &got, &err), err);
    return got;
}

/* Refused with that status, in one line that names the file and holds all the parts (apart by '|'). */
static void check_refused(const char *path, const char *field, const char *layer, const HcScene *scene,
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

/* ---- polygons ---- */

#define HOLED    "POLYGON((2.2 1.3,20.7 3.1,17.4 15.8,4.1 13.6,2.2 1.3),(7.3 5.1,12.2 5.7,10.9 10.4,7.3 5.1))"
#define TRIANGLE "POLYGON((14.2 2.7,31.3 9.2,12.4 19.6,14.2 2.7))"
#define TWO      "MULTIPOLYGON(((-5 16.2,6.3 17.1,3.2 40,-5 16.2)),((26.1 1.2,38.7 -4.5,33.4 8.8,26.1 1.2)))"
#define SQUARE   "POLYGON((22 12,26 12,26 18,22 18,22 12))"

static const Feature shapes[] = {
    {HOLED, "soil"}, {TRIANGLE, "Wasser"}, {TWO, "soil"}, {SQUARE, "\xC3\x84pfel"}};
static const int shape_labels[] = {2, 1, 2, 3};
static const char *const shape_names[] = {"Wasser", "soil", "\xC3\x84pfel"};

static void polygons_in(const Source *source, const HcScene *scene) {
    int *map = expect(shapes, shape_labels, COUNT(shapes), scene);
    HcLabelled got = read_good(write_vector(source, shapes, COUNT(shapes), scene), NULL, NULL, scene);
    check_names(&got, shape_names, 3);
    check_map(&got, map, scene);
    assert_true(got.contested > 10);
    assert_string_equal(got.field, source->field);
    HcText note = {0};
    char want[80];
    hc_labelled_note(&got, &note);
    snprintf(want, sizeof want, "left out: %" PRId64 " pixels that two classes claim", got.contested);
    assert_string_equal(note.data, want);
    hc_text_clear(&note);
    /* By their names: blue, brown, and any other. */
    const uint8_t(*colour)[3] = (const uint8_t(*)[3])got.classes.colour;
    assert_true(colour[1][2] > colour[1][0] + 60 && colour[1][2] > colour[1][1]);
    assert_true(colour[2][0] > colour[2][1] && colour[2][1] > colour[2][2]);
    assert_memory_not_equal(colour[3], colour[1], 3);
    assert_memory_not_equal(colour[3], colour[2], 3);
    hc_labelled_clear(&got);
    free(map);
}

static void polygons(void **state) {
    (void)state;
    HcScene bare = bare_scene(23, 34), utm = utm_scene(23, 34), local = bare_scene(23, 34);
    local.place = (HcPlace){.has_transform = true, .transform = {100, 0.5, 0, 900, 0, -0.25}};
    HcScene *without[] = {&bare, &local};
    for (int i = 0; i < 2; i++) {
        polygons_in(&(Source){"ESRI Shapefile", "plain.shp", 0, "cover", OFTString, NULL}, without[i]);
        polygons_in(&(Source){"GPKG", "plain.gpkg", 0, "cover", OFTString, NULL}, without[i]);
    }
    static const int codes[] = {32611, 4326, 3857, 32610};
    for (int i = 0; i < COUNT(codes); i++) {
        polygons_in(&(Source){"GPKG", "placed.gpkg", codes[i], "cover", OFTString, NULL}, &utm);
    }
    polygons_in(&(Source){"ESRI Shapefile", "placed.shp", 4326, "cover", OFTString, NULL}, &utm);
    polygons_in(&(Source){"GeoJSON", "placed.geojson", 4326, "cover", OFTString, NULL}, &utm);
    hc_scene_clear(&utm);
}

/* Shapes that end at the edges of the scene, reach beyond them, or lie just outside. */
static void edges(void **state) {
    static const Feature some[] = {{"POLYGON((30 2,34 2,34 9,30 9,30 2))", "right"},
                                   {"POLYGON((33.4 11,40 11,40 14,33.4 14,33.4 11))", "beyond"},
                                   {"POLYGON((-3 4,0.6 4,0.6 8,-3 8,-3 4))", "left"},
                                   {"POLYGON((5 20.2,9 20.2,9 23,5 23,5 20.2))", "below"},
                                   {"POLYGON((34 15,36 15,36 20,34 20,34 15))", "outside"}};
    static const int labels[] = {4, 2, 3, 1, 0};
    static const char *const names[] = {"below", "beyond", "left", "right"};
    HcScene bare = bare_scene(23, 34), utm = utm_scene(23, 34);
    HcScene *scenes[] = {&bare, &utm};
    (void)state;
    for (int i = 0; i < 2; i++) {
        int *expected = expect(some, labels, COUNT(some), scenes[i]);
        assert_int_equal(expected[2 * 34 + 33], 4);
        Source source = {"GPKG", "edges.gpkg", i == 0 ? 0 : 32611, "cover", OFTString, NULL};
        HcLabelled got =
            read_good(write_vector(&source, some, COUNT(some), scenes[i]), NULL, NULL, scenes[i]);
        check_map(&got, expected, scenes[i]);
        check_names(&got, names, 4);
        assert_int_equal(got.outside_features, 1);
        hc_labelled_clear(&got);
        free(expected);
    }
    hc_scene_clear(&utm);
    /* Points: the last pixel holds what lies before its far edge. */
    static const Feature dots[] = {{"POINT(33.99 22.99)", "in"},
                                   {"POINT(0 0)", "corner"},
                                   {"POINT(34 5)", "off"},
                                   {"POINT(5 23)", "off"}};
    Source source = {"GPKG", "dots.gpkg", 0, "cover", OFTString, NULL};
    HcLabelled got = read_good(write_vector(&source, dots, COUNT(dots), &bare), NULL, NULL, &bare);
    assert_int_equal(got.count, 2);
    assert_int_equal(got.line[1], 22);
    assert_int_equal(got.sample[1], 33);
    assert_int_equal(got.outside_features, 2);
    hc_labelled_clear(&got);
}

/* Numbers sort as numbers, whatever the type of the field. */
static void numbers(void **state) {
    static const Feature some[] = {{HOLED, "10"}, {TRIANGLE, "2"}, {SQUARE, "-3"}, {TWO, "10"}};
    static const int labels[] = {3, 2, 1, 3};
    static const char *const names[] = {"-3", "2", "10"};
    static const OGRFieldType types[] = {OFTInteger, OFTInteger64, OFTReal};
    HcScene scene = bare_scene(23, 34);
    (void)state;
    int *map = expect(some, labels, COUNT(some), &scene);
    for (int t = 0; t < COUNT(types); t++) {
        Source source = {"GPKG", "numbers.gpkg", 0, "Code", types[t], NULL};
        const char *path = write_vector(&source, some, COUNT(some), &scene);
        HcLabelled got = read_good(path, "code", "areas", &scene);
        check_names(&got, names, 3);
        check_map(&got, map, &scene);
        assert_string_equal(got.field, "Code");
        hc_labelled_clear(&got);
    }
    free(map);
    static const Feature halves[] = {{HOLED, "10"}, {TRIANGLE, "2.5"}};
    Source source = {"GPKG", "halves.gpkg", 0, "code", OFTReal, NULL};
    check_refused(write_vector(&source, halves, 2, &scene), "code", NULL, &scene, HC_E_INPUT,
                  "feature 2|2.5|'code'");
}

/* y from 0 down to -lines, as QGIS shows a scene without a place. */
static void upwards(void **state) {
    static const Feature up[] = {{"POLYGON((2 -1,9 -1,9 -4,2 -4,2 -1))", "a"}, {"POINT(0.5 -19.5)", "b"}};
    HcScene scene = bare_scene(20, 10);
    (void)state;
    Source source = {"GPKG", "upwards.gpkg", 0, "cover", OFTString, NULL};
    HcLabelled got = read_good(write_vector(&source, up, 2, &scene), NULL, NULL, &scene);
    assert_int_equal(got.count, 22);
    assert_int_equal(got.line[0], 1);
    assert_int_equal(got.sample[0], 2);
    assert_int_equal(got.line[21], 19);
    assert_int_equal(got.sample[21], 0);
    hc_labelled_clear(&got);
}

/* Scenes larger than a strip: shapes go on across the seams. */
static void strips(void **state) {
    enum { WIDTH = 12000, HEIGHT = 4000 };
    static const Feature tall[] = {{"POLYGON((10.2 -9,40.7 -9,95.3 4100,33.1 4100,10.2 -9))", "a"},
                                   {"POLYGON((60.1 1380.3,11980.9 1391.7,12010 1401.2,60.1 1380.3))", "b"}};
    HcScene scene = bare_scene(HEIGHT, WIDTH);
    (void)state;
    Source source = {"GPKG", "tall.gpkg", 0, "cover", OFTString, NULL};
    HcLabelled got = read_good(write_vector(&source, tall, 2, &scene), NULL, NULL, &scene);
    int64_t at = 0, contested = 0;
    OGRGeometryH a = geometry_of(tall[0].wkt), b = geometry_of(tall[1].wkt);
    for (int l = 0; l < HEIGHT; l++) {
        int end = l >= 1379 && l <= 1402 ? WIDTH : 120;
        for (int s = 0; s < end; s++) {
            bool in_a = inside(a, s + 0.5, l + 0.5), in_b = inside(b, s + 0.5, l + 0.5);
            contested += in_a && in_b;
            if (in_a == in_b) {
                continue;
            }
            assert_true(at < got.count && got.line[at] == l && got.sample[at] == s);
            assert_int_equal(got.label[at], in_a ? 1 : 2);
            at++;
        }
    }
    assert_int_equal(at, got.count);
    assert_int_equal(contested, got.contested);
    assert_true(at > 100000);
    OGR_G_DestroyGeometry(a);
    OGR_G_DestroyGeometry(b);
    hc_labelled_clear(&got);
}

/* ---- points ---- */

static void points(void **state) {
    static const Feature some[] = {{"POINT(3.0 4.0)", "b"},
                                   {"POINT(3.99 4.99)", "b"},
                                   {"MULTIPOINT(0 0,9.999 5.999,4 4,10 3,3 6,-0.001 2)", "a"},
                                   {"POINT(7.5 2.5)", "a"},
                                   {"POINT(7.1 2.9)", "b"},
                                   {"POINT(-4 2)", "b"},
                                   {"POLYGON((5 0,8 0,8 1,5 1,5 0))", "c"},
                                   {"POINT Z (6.5 0.5 99)", "a"},
                                   {"GEOMETRYCOLLECTION(POINT(1 5),POLYGON((0 4,2 4,2 5,0 5,0 4)))", "d"}};
    static const int want[][3] = {{0, 0, 1}, {0, 5, 3}, {0, 7, 3}, {4, 0, 4}, {4, 1, 4},
                                  {4, 3, 2}, {4, 4, 1}, {5, 1, 4}, {5, 9, 1}};
    HcScene bare = bare_scene(6, 10), utm = utm_scene(6, 10);
    (void)state;
    Source source = {"GPKG", "points.gpkg", 0, "cover", OFTString, NULL};
    HcLabelled got = read_good(write_vector(&source, some, COUNT(some), &bare), NULL, NULL, &bare);
    assert_int_equal(got.count, COUNT(want));
    for (int i = 0; i < COUNT(want); i++) {
        assert_int_equal(got.line[i], want[i][0]);
        assert_int_equal(got.sample[i], want[i][1]);
        assert_int_equal(got.label[i], want[i][2]);
    }
    assert_int_equal(got.contested, 2);
    assert_int_equal(got.outside_features, 1);
    hc_labelled_clear(&got);
    /* Away from the borders of pixels, through another CRS. */
    static const Feature middles[] = {{"POINT(3.5 4.5)", "x"}, {"MULTIPOINT(0.3 0.3,9.6 5.7)", "y"}};
    Source placed_source = {"GeoJSON", "points.geojson", 4326, "cover", OFTString, NULL};
    got = read_good(write_vector(&placed_source, middles, 2, &utm), NULL, NULL, &utm);
    assert_int_equal(got.count, 3);
    assert_int_equal(got.label[1], 1);
    assert_int_equal(got.line[1] * 10 + got.sample[1], 43);
    assert_int_equal(got.line[2] * 10 + got.sample[2], 59);
    hc_labelled_clear(&got);
    hc_scene_clear(&utm);
}

/* ---- features that are left out ---- */

static void left_out(void **state) {
    static const Feature some[] = {{SQUARE, "a"},
                                   {NULL, "a"},
                                   {"POLYGON EMPTY", "a"},
                                   {TRIANGLE, NULL},
                                   {TRIANGLE, "  "},
                                   {"POLYGON((1 1,5 1,1 5,5 5,1 1))", "b"},             /* crosses itself */
                                   {"POLYGON((1.6 8.6,1.9 8.6,1.9 8.9,1.6 8.6))", "c"}, /* holds no centre */
                                   {"POLYGON((3 9,9 9,3 9))", "b"},                     /* no area */
                                   {"POLYGON((100 1,105 1,105 5,100 1))", " b\n"}};
    HcScene scene = bare_scene(23, 34);
    (void)state;
    Source source = {"GPKG", "some.gpkg", 0, "cover", OFTString, NULL};
    HcLabelled got = read_good(write_vector(&source, some, COUNT(some), &scene), NULL, NULL, &scene);
    static const char *const names[] = {"a", "b"};
    check_names(&got, names, 2);
    assert_int_equal(got.empty_features, 3);
    assert_int_equal(got.unnamed_features, 2);
    assert_int_equal(got.outside_features, 2);
    assert_int_equal(got.mended_features, 1);
    assert_int_equal(got.lost_classes, 1);
    assert_string_equal(got.lost_class, "c");
    assert_int_equal(got.pixels[1], 24);
    assert_int_equal(got.pixels[2], 4 + 4);
    HcText note = {0};
    hc_labelled_note(&got, &note);
    assert_string_equal(note.data,
                        "left out: 3 features without a geometry or area, 2 features without a class, 2 "
                        "features in which no pixel's centre lies, 1 class that keeps no pixel ('c'); 1 "
                        "polygon crosses itself");
    hc_text_clear(&note);
    hc_labelled_clear(&got);
    HcLabelled nothing = {0};
    hc_labelled_note(&nothing, &note);
    assert_int_equal(note.length, 0);
    assert_false(note.failed);
}

/* Parts of a multipolygon that overlap belong to it nevertheless; so do two features of one class. */
static void unions(void **state) {
    static const Feature some[] = {{"MULTIPOLYGON(((1 1,6 1,6 6,1 6,1 1)),((4 4,9 4,9 9,4 9,4 4)))", "a"},
                                   {"POLYGON((8 8,11 8,11 11,8 11,8 8))", "a"},
                                   {"CURVEPOLYGON(CIRCULARSTRING(20 10,24 14,28 10,24 6,20 10))", "b"}};
    HcScene scene = bare_scene(23, 34);
    (void)state;
    Source source = {"GPKG", "unions.gpkg", 0, "cover", OFTString, NULL};
    HcLabelled got = read_good(write_vector(&source, some, 3, &scene), NULL, NULL, &scene);
    assert_int_equal(got.pixels[1], 25 + 25 - 4 + 9 - 1);
    int64_t disc = 0;
    for (int l = 0; l < 23; l++) {
        for (int s = 0; s < 34; s++) {
            disc += hypot(s + 0.5 - 24, l + 0.5 - 10) < 4;
        }
    }
    assert_int_equal(got.pixels[2], disc);
    assert_int_equal(got.contested, 0);
    hc_labelled_clear(&got);
}

/* ---- what is refused ---- */

static void fields(void **state) {
    static const Feature two[] = {{HOLED, "1"}, {TWO, "2"}};
    HcScene scene = bare_scene(23, 34);
    (void)state;
    Source source = {"GPKG", "fields.gpkg", 0, "crop", OFTString, "farmer"};
    const char *path = write_vector(&source, two, 2, &scene);
    check_refused(path, NULL, NULL, &scene, HC_E_USAGE, "choose one|'crop' (text), 'farmer' (text)");
    check_refused(path, "corp", NULL, &scene, HC_E_USAGE, "'corp'|'crop' (text), 'farmer' (text)");
    check_refused(path, "farmer", NULL, &scene, HC_E_INPUT, "2 without 'farmer'");
    HcLabelled got = read_good(path, "crop", NULL, &scene);
    assert_int_equal(got.classes.count, 3);
    hc_labelled_clear(&got);
    /* A number of the feature is not taken for its class, unless the user says so. */
    source = (Source){"GPKG", "ids.gpkg", 0, "id", OFTInteger, "crop"};
    path = write_vector(&source, two, 2, &scene);
    check_refused(path, NULL, NULL, &scene, HC_E_INPUT, "2 without 'crop'");
    got = read_good(path, "id", NULL, &scene);
    assert_int_equal(got.classes.count, 3);
    hc_labelled_clear(&got);
    source = (Source){"GPKG", "none.gpkg", 0, NULL, OFTInteger, NULL};
    check_refused(write_vector(&source, two, 2, &scene), NULL, NULL, &scene, HC_E_USAGE, "fields: none");
    source = (Source){"GPKG", "date.gpkg", 0, "when", OFTDate, NULL};
    static const Feature dates[] = {{HOLED, "2020/01/02"}};
    path = write_vector(&source, dates, 1, &scene);
    check_refused(path, "when", NULL, &scene, HC_E_USAGE, "'when'|'when' (Date)");
}

static void layers(void **state) {
    static const Feature first[] = {{HOLED, "a"}, {TWO, "b"}}, second[] = {{SQUARE, "c"}, {TWO, "d"}};
    HcScene scene = bare_scene(23, 34);
    (void)state;
    Source source = {"GPKG", "layers.gpkg", 0, "cover", OFTString, NULL};
    GDALDatasetH dataset = create(&source);
    add_layer(dataset, "first", &source, first, 2, &scene);
    add_layer(dataset, "second", &source, second, 2, &scene);
    OGRLayerH table = GDALDatasetCreateLayer(dataset, "styles", NULL, wkbNone, NULL);
    assert_non_null(table);
    GDALClose(dataset);
    const char *path = in_folder("layers.gpkg");
    check_refused(path, NULL, NULL, &scene, HC_E_USAGE, "several layers|'first', 'second'");
    check_refused(path, NULL, "third", &scene, HC_E_USAGE, "'third'|'first', 'second'");
    check_refused(path, NULL, "styles", &scene, HC_E_USAGE, "'styles'|'first', 'second'");
    HcLabelled got = read_good(path, NULL, "second", &scene);
    static const char *const names[] = {"c", "d"};
    check_names(&got, names, 2);
    hc_labelled_clear(&got);
    /* A table beside one layer does not count. */
    source.name = "styled.gpkg";
    dataset = create(&source);
    assert_non_null(GDALDatasetCreateLayer(dataset, "styles", NULL, wkbNone, NULL));
    add_layer(dataset, "first", &source, first, 2, &scene);
    GDALClose(dataset);
    got = read_good(in_folder("styled.gpkg"), NULL, NULL, &scene);
    hc_labelled_clear(&got);
    source.name = "table.gpkg";
    dataset = create(&source);
    assert_non_null(GDALDatasetCreateLayer(dataset, "styles", NULL, wkbNone, NULL));
    GDALClose(dataset);
    check_refused(in_folder("table.gpkg"), NULL, NULL, &scene, HC_E_INPUT, "no layer with geometries");
}

static void systems(void **state) {
    static const Feature two[] = {{HOLED, "a"}, {TWO, "b"}};
    HcScene bare = bare_scene(23, 34), utm = utm_scene(23, 34), local = utm_scene(23, 34);
    free(local.place.crs);
    local.place.crs = NULL;
    (void)state;
    Source source = {"GPKG", "place.gpkg", 4326, "cover", OFTString, NULL};
    const char *path = write_vector(&source, two, 2, &utm);
    check_refused(path, NULL, NULL, &bare, HC_E_INPUT, "WGS 84 (EPSG:4326)|no place on Earth");
    check_refused(path, NULL, NULL, &local, HC_E_INPUT, "WGS 84 (EPSG:4326)|the scene has none");
    source = (Source){"ESRI Shapefile", "pixels.shp", 0, "cover", OFTString, NULL};
    path = write_vector(&source, two, 2, &bare);
    check_refused(path, NULL, NULL, &utm, HC_E_INPUT, "has no CRS|UTM zone 11N");
    /* GeoJSON always has a CRS. */
    source = (Source){"GeoJSON", "pixels.geojson", 0, "cover", OFTString, NULL};
    path = write_vector(&source, two, 2, &bare);
    check_refused(path, NULL, NULL, &bare, HC_E_INPUT, "EPSG:4326|GeoJSON");
    /* A scene with a CRS but no transform has no place either. */
    utm.place.has_transform = false;
    HcLabelled got = read_good(in_folder("pixels.shp"), NULL, NULL, &utm);
    hc_labelled_clear(&got);
    utm.place.has_transform = true;
    free(utm.place.crs);
    utm.place.crs = strdup("rubbish");
    check_refused(in_folder("place.gpkg"), NULL, NULL, &utm, HC_E_INPUT, "CRS of the scene|rubbish");
    hc_scene_clear(&utm);
    hc_scene_clear(&local);
}

static void wrong_vectors(void **state) {
    HcScene scene = bare_scene(23, 34), utm = utm_scene(23, 34);
    (void)state;
    Source source = {"GPKG", "wrong.gpkg", 0, "cover", OFTString, NULL};
    static const Feature away[] = {{"POLYGON((100 5,110.5 5,100 9,100 5))", "a"}, {"POINT(90 -7)", "b"}};
    check_refused(write_vector(&source, away, 2, &scene), NULL, NULL, &scene, HC_E_INPUT,
                  "x 90 to 110.5 and y -7 to 9|x 0 to 34 and y 0 to 23");
    static const Feature one[] = {{HOLED, "only"}, {TWO, "only"}};
    check_refused(write_vector(&source, one, 2, &scene), NULL, NULL, &scene, HC_E_INPUT,
                  "only one class, 'only'|'cover'");
    static const Feature lost[] = {{HOLED, "only"}, {"POINT(-1 3)", "other"}};
    check_refused(write_vector(&source, lost, 2, &scene), NULL, NULL, &scene, HC_E_INPUT,
                  "only one class, 'only'|'other'");
    static const Feature same[] = {{SQUARE, "a"}, {SQUARE, "b"}};
    check_refused(write_vector(&source, same, 2, &scene), NULL, NULL, &scene, HC_E_INPUT,
                  "labels no pixel|two classes claim 24 pixels");
    static const Feature line[] = {{HOLED, "a"}, {"LINESTRING(1 1,5 5)", "b"}};
    check_refused(write_vector(&source, line, 2, &scene), NULL, NULL, &scene, HC_E_UNSUPPORTED,
                  "feature 2|LINESTRING");
    static const Feature empty[] = {{NULL, "a"}};
    check_refused(write_vector(&source, empty, 1, &scene), NULL, NULL, &scene, HC_E_INPUT,
                  "1 without geometry");
    check_refused(write_vector(&source, NULL, 0, &scene), NULL, NULL, &scene, HC_E_INPUT,
                  "no feature with a class");
    static const Feature vast[] = {{"POLYGON((-3e9 0,3e9 0,0 3e9,-3e9 0))", "a"}};
    check_refused(write_vector(&source, vast, 1, &scene), NULL, NULL, &scene, HC_E_INPUT, "feature 1|1e9");
    static const Feature endless[] = {{"POLYGON((1e400 0,3 0,0 3,1e400 0))", "a"}};
    CPLPushErrorHandler(CPLQuietErrorHandler); /* GeoPackage stumbles over the extent */
    const char *path = write_vector(&source, endless, 1, &scene);
    CPLPopErrorHandler();
    check_refused(path, NULL, NULL, &scene, HC_E_INPUT, "feature 1|not a number");
    /* In degrees as they are written, not as pixels: beyond what UTM can hold. */
    put_file(in_folder("poles.geojson"),
             "{\"type\":\"FeatureCollection\",\"features\":[{\"type\":\"Feature\",\"properties\":{\"c\":1},"
             "\"geometry\":{\"type\":\"Point\",\"coordinates\":[10, 200]}}]}");
    check_refused(in_folder("poles.geojson"), NULL, NULL, &utm, HC_E_INPUT, "beyond the CRS");
    put_file(in_folder("broken.geojson"), "{\"type\":\"FeatureCollection\",\"features\":[{\"type\":\"Feat");
    check_refused(in_folder("broken.geojson"), NULL, NULL, &utm, HC_E_INPUT, "broken.geojson: ");
    put_file(in_folder("text.txt"), "neither\n");
    check_refused(in_folder("text.txt"), NULL, NULL, &utm, HC_E_INPUT, "text.txt");
    check_refused(in_folder("missing.gpkg"), NULL, NULL, &utm, HC_E_INPUT, "missing.gpkg");
    hc_scene_clear(&utm);
}

/* Each pixel knows the feature that it lies in, of several the first, in the order of the file. Features
 * without a pixel have no number; a feature may have several parts. */
static void features(void **state) {
    (void)state;
    HcScene scene = bare_scene(23, 34);
    static const Feature some[] = {
        {"POINT(90 -7)", "b"}, {SQUARE, "a"}, {TWO, "b"}, {"POLYGON((24 10,30 10,30 14,24 14,24 10))", "a"}};
    Source source = {"GPKG", "features.gpkg", 0, "cover", OFTString, NULL};
    HcLabelled got = read_good(write_vector(&source, some, COUNT(some), &scene), NULL, NULL, &scene);
    assert_int_equal(got.features, 3);
    assert_true(got.count > 40);
    for (int64_t i = 0; i < got.count; i++) {
        int line = got.line[i], sample = got.sample[i];
        bool in_square = line >= 12 && line < 18 && sample >= 22 && sample < 26;
        assert_int_equal(got.feature[i], in_square ? 0 : got.label[i] == 2 ? 1 : 2);
    }
    hc_labelled_clear(&got);
}

/* A single class, and features without an attribute that names one: only hc_labelled_read_any takes them. */
static void any_classes(void **state) {
    (void)state;
    HcScene scene = bare_scene(23, 34);
    HcLabelled got = {0};
    HcError err = {0};
    put_file(in_folder("plain.csv"), "WKT,id\n\"POINT(3 4)\",9\n\"POINT(5 4)\",8\n");
    check_refused(in_folder("plain.csv"), NULL, NULL, &scene, HC_E_USAGE, "which field names the class");
    assert_int_equal(hc_labelled_read_any(in_folder("plain.csv"), NULL, NULL, NULL, &scene, &got, &err),
                     HC_OK);
    assert_int_equal(got.count, 2);
    assert_string_equal(got.classes.name[1], "1");
    assert_string_equal(got.classes.name[2], "2");
    assert_null(got.field);
    hc_labelled_clear(&got);
    put_file(in_folder("one.csv"), "WKT,kind\n\"POINT(3 4)\",only\n");
    check_refused(in_folder("one.csv"), NULL, NULL, &scene, HC_E_INPUT, "only one class, 'only'");
    assert_int_equal(hc_labelled_read_any(in_folder("one.csv"), NULL, NULL, NULL, &scene, &got, &err), HC_OK);
    assert_int_equal(got.classes.count, 2);
    hc_labelled_clear(&got);
}

/* ---- class rasters ---- */

/* Regions against a plain flood: pixels of one class that touch at edges or corners. */
static void flood(const uint8_t *map, int *region, int lines, int samples, int at, int number) {
    region[at] = number;
    for (int l = at / samples - 1; l <= at / samples + 1; l++) {
        for (int s = at % samples - 1; s <= at % samples + 1; s++) {
            bool inside = l >= 0 && l < lines && s >= 0 && s < samples;
            if (inside && region[l * samples + s] < 0 && map[l * samples + s] == map[at]) {
                flood(map, region, lines, samples, l * samples + s, number);
            }
        }
    }
}

static void regions(void **state) {
    (void)state;
    enum { L = 40, S = 37 };
    HcScene scene = bare_scene(L, S);
    for (int density = 2; density <= 6; density++) {
        uint8_t map[L * S];
        int region[L * S], number = 0;
        uint64_t seed = (uint64_t)density;
        for (int i = 0; i < L * S; i++) {
            map[i] = (uint8_t)(random_uniform(&seed) * density);
            region[i] = -1;
        }
        GDALDatasetH raster =
            GDALCreate(GDALGetDriverByName("GTiff"), in_folder("map.tif"), S, L, 1, GDT_Byte, NULL);
        assert_int_equal(
            GDALRasterIO(GDALGetRasterBand(raster, 1), GF_Write, 0, 0, S, L, map, S, L, GDT_Byte, 0, 0),
            CE_None);
        GDALClose(raster);
        HcLabelled got = {0};
        HcError err = {0};
        check_ok(hc_labelled_read_any(in_folder("map.tif"), NULL, NULL, NULL, &scene, &got, &err), err);
        int64_t k = 0;
        for (int i = 0; i < L * S; i++) {
            if (map[i] == 0) {
                continue;
            }
            if (region[i] < 0) {
                flood(map, region, L, S, i, number++);
            }
            assert_int_equal(got.feature[k++], region[i]);
        }
        assert_int_equal(got.count, k);
        assert_int_equal(got.features, number);
        hc_labelled_clear(&got);
    }
}

enum { LINES = 4, SAMPLES = 6 };

static const int values[LINES][SAMPLES] = {
    {0, 7, 7, 0, 2, 2}, {0, 7, 9, 9, 2, 0}, {40, 40, 9, 0, 0, 0}, {0, 0, 0, 0, 0, 3}};
static const int dense[LINES * SAMPLES] = {0, 3, 3, 0, 1, 1, 0, 3, 4, 4, 1, 0,
                                           5, 5, 4, 0, 0, 0, 0, 0, 0, 0, 0, 2};

static GDALDatasetH create_raster(const char *name, int bands, GDALDataType type) {
    GDALDatasetH raster =
        GDALCreate(GDALGetDriverByName("GTiff"), in_folder(name), SAMPLES, LINES, bands, type, NULL);
    assert_non_null(raster);
    for (int b = 1; b <= bands; b++) {
        assert_int_equal(GDALRasterIO(GDALGetRasterBand(raster, b), GF_Write, 0, 0, SAMPLES, LINES,
                                      (void *)(uintptr_t)values, SAMPLES, LINES, GDT_Int32, 0, 0),
                         CE_None);
    }
    return raster;
}

static void check_raster(const char *path, const HcScene *scene, const char *const *names) {
    HcLabelled got = read_good(path, NULL, NULL, scene);
    check_names(&got, names, 5);
    check_map(&got, dense, scene);
    assert_null(got.field);
    hc_labelled_clear(&got);
}

static void rasters(void **state) {
    static const char *const numbered[] = {"Class 2", "Class 3", "Class 7", "Class 9", "Class 40"};
    static const GDALDataType types[] = {GDT_Byte,   GDT_Int16, GDT_UInt16, GDT_Int32,
                                         GDT_UInt32, GDT_Int64, GDT_UInt64};
    HcScene scene = bare_scene(LINES, SAMPLES);
    (void)state;
    for (int t = 0; t < COUNT(types); t++) {
        GDALClose(create_raster("plain.tif", 1, types[t]));
        check_raster(in_folder("plain.tif"), &scene, numbered);
    }
    /* nodata is not a class */
    GDALDatasetH raster = create_raster("nodata.tif", 1, GDT_Byte);
    assert_int_equal(GDALSetRasterNoDataValue(GDALGetRasterBand(raster, 1), 40), CE_None);
    GDALClose(raster);
    HcLabelled got = read_good(in_folder("nodata.tif"), NULL, NULL, &scene);
    check_names(&got, numbered, 4);
    assert_int_equal(got.count, 10);
    hc_labelled_clear(&got);
}

static void named_rasters(void **state) {
    HcScene scene = bare_scene(LINES, SAMPLES);
    (void)state;
    /* Categories and a colour table, not for all. */
    char **names = NULL;
    static const char *const some[] = {"nothing", "", "two", "three", "", "", "", "seven"};
    for (int i = 0; i < COUNT(some); i++) {
        names = CSLAddString(names, some[i]);
    }
    GDALDatasetH raster = create_raster("named.tif", 1, GDT_Byte);
    GDALColorTableH table = GDALCreateColorTable(GPI_RGB);
    const GDALColorEntry orange = {255, 128, 1, 255};
    GDALSetColorEntry(table, 7, &orange);
    GDALSetRasterColorTable(GDALGetRasterBand(raster, 1), table);
    GDALSetRasterCategoryNames(GDALGetRasterBand(raster, 1), names);
    GDALClose(raster);
    GDALDestroyColorTable(table);
    CSLDestroy(names);
    static const char *const want[] = {"two", "three", "seven", "Class 9", "Class 40"};
    check_raster(in_folder("named.tif"), &scene, want);
    HcLabelled got = read_good(in_folder("named.tif"), NULL, NULL, &scene);
    uint8_t second[3];
    hc_classes_standard_colour(2, second);
    assert_memory_equal(got.classes.colour[2], second, 3);
    assert_memory_equal(got.classes.colour[3], "\xFF\x80\x01", 3);
    hc_labelled_clear(&got);
    /* An attribute table: rows in any order. */
    raster = create_raster("table.tif", 1, GDT_UInt16);
    GDALRasterAttributeTableH rows = GDALCreateRasterAttributeTable();
    static const struct {
        const char *name;
        GDALRATFieldType type;
        GDALRATFieldUsage usage;
    } columns[] = {{"Value", GFT_Integer, GFU_MinMax},
                   {"Name", GFT_String, GFU_Name},
                   {"Red", GFT_Integer, GFU_Red},
                   {"Green", GFT_Integer, GFU_Green},
                   {"Blue", GFT_Integer, GFU_Blue}};
    for (int c = 0; c < COUNT(columns); c++) {
        GDALRATCreateColumn(rows, columns[c].name, columns[c].type, columns[c].usage);
    }
    GDALRATSetRowCount(rows, 2);
    GDALRATSetValueAsInt(rows, 0, 0, 40);
    GDALRATSetValueAsString(rows, 0, 1, "forty");
    GDALRATSetValueAsInt(rows, 0, 3, 200);
    GDALRATSetValueAsInt(rows, 1, 0, 9);
    GDALRATSetValueAsString(rows, 1, 1, " nine ");
    GDALSetDefaultRAT(GDALGetRasterBand(raster, 1), rows);
    GDALDestroyRasterAttributeTable(rows);
    GDALClose(raster);
    static const char *const listed[] = {"Class 2", "Class 3", "Class 7", "nine", "forty"};
    check_raster(in_folder("table.tif"), &scene, listed);
    got = read_good(in_folder("table.tif"), NULL, NULL, &scene);
    assert_memory_equal(got.classes.colour[5], "\x00\xC8\x00", 3);
    hc_labelled_clear(&got);
}

/* NAME.img and NAME.hdr, uint8 (1), uint16 of the other byte order (12) or int64 (14), which GDAL 3.6 does
 * not read. */
static void write_classification(const char *name, int type) {
    char path[700], bytes[LINES * SAMPLES * 8] = {0};
    int size = type == 14 ? 8 : type == 12 ? 2 : 1;
    for (int i = 0; i < LINES * SAMPLES; i++) {
        bytes[i * size + (type == 12)] = (char)values[i / SAMPLES][i % SAMPLES];
    }
    snprintf(path, sizeof path, "%s.img", in_folder(name));
    FILE *file = fopen(path, "wb");
    assert_int_equal(fwrite(bytes, 1, (size_t)(LINES * SAMPLES * size), file), LINES * SAMPLES * size);
    fclose(file);
    char *header = NULL;
    assert_true(
        asprintf(&header,
                 "ENVI\nsamples = 6\nlines = 4\nbands = 1\nheader offset = 0\n"
                 "file type = ENVI Classification\ndata type = %d\ninterleave = bsq\nbyte order = %d\n"
                 "classes = 8\nclass names = {Unclassified, one, deep water, Soil,\n four, 5, 6, Seven}\n"
                 "class lookup = {0, 0, 0, 1, 1, 1, 0, 0, 255, 100, 80, 60, 4, 4, 4, 5, 5, 5, 6, 6, 6,\n"
                 " 7, 77, 177}\n",
                 type, type == 12) > 0);
    snprintf(path, sizeof path, "%s.hdr", in_folder(name));
    put_file(path, header);
    free(header);
}

static void envi_classifications(void **state) {
    static const char *const want[] = {"deep water", "Soil", "Seven", "Class 9", "Class 40"};
    static const int types[] = {1, 14, 12};
    static const char *const names[] = {"small.hdr", "small.img", "wide.hdr",
                                        "wide.img",  "big.hdr",   "big.img"};
    HcScene scene = bare_scene(LINES, SAMPLES);
    (void)state;
    for (int i = 0; i < 6; i++) {
        write_classification(i < 2 ? "small" : i < 4 ? "wide" : "big", types[i / 2]);
        check_raster(in_folder(names[i]), &scene, want);
        HcLabelled got = read_good(in_folder(names[i]), NULL, NULL, &scene);
        assert_memory_equal(got.classes.colour[1], "\x00\x00\xFF", 3);
        assert_memory_equal(got.classes.colour[3], "\x07\x4D\xB1", 3);
        hc_labelled_clear(&got);
    }
    /* A shapefile of the same name beside the header is a shapefile. */
    static const Feature two[] = {{"POLYGON((0 0,2 0,2 2,0 2,0 0))", "a"},
                                  {"POLYGON((3 0,5 0,5 2,3 2,3 0))", "b"}};
    Source source = {"ESRI Shapefile", "small.shp", 0, "cover", OFTString, NULL};
    HcLabelled got = read_good(write_vector(&source, two, 2, &scene), NULL, NULL, &scene);
    assert_int_equal(got.count, 8);
    hc_labelled_clear(&got);
}

static void wrong_rasters(void **state) {
    HcScene scene = bare_scene(LINES, SAMPLES), longer = bare_scene(LINES + 1, SAMPLES),
            utm = utm_scene(LINES, SAMPLES);
    (void)state;
    GDALClose(create_raster("good.tif", 1, GDT_Byte));
    check_refused(in_folder("good.tif"), NULL, NULL, &longer, HC_E_INPUT, "4 lines x 6 samples|5 x 6");
    check_refused(in_folder("good.tif"), "cover", NULL, &scene, HC_E_USAGE, "field 'cover'");
    check_refused(in_folder("good.tif"), NULL, "areas", &scene, HC_E_USAGE, "layer 'areas'");
    GDALClose(create_raster("bands.tif", 2, GDT_Byte));
    check_refused(in_folder("bands.tif"), NULL, NULL, &scene, HC_E_UNSUPPORTED, "2 bands");
    GDALClose(create_raster("float.tif", 1, GDT_Float32));
    check_refused(in_folder("float.tif"), NULL, NULL, &scene, HC_E_UNSUPPORTED, "float32");
    GDALDatasetH raster = create_raster("negative.tif", 1, GDT_Int16);
    const int negative = -9999;
    assert_int_equal(GDALRasterIO(GDALGetRasterBand(raster, 1), GF_Write, 4, 3, 1, 1,
                                  (void *)(uintptr_t)&negative, 1, 1, GDT_Int32, 0, 0),
                     CE_None);
    GDALClose(raster);
    check_refused(in_folder("negative.tif"), NULL, NULL, &scene, HC_E_INPUT, "-9999|line 3, sample 4");
    raster = create_raster("large.tif", 1, GDT_UInt64);
    const uint64_t large = UINT64_MAX - 1;
    assert_int_equal(GDALRasterIO(GDALGetRasterBand(raster, 1), GF_Write, 4, 3, 1, 1,
                                  (void *)(uintptr_t)&large, 1, 1, GDT_UInt64, 0, 0),
                     CE_None);
    GDALClose(raster);
    check_refused(in_folder("large.tif"), NULL, NULL, &scene, HC_E_INPUT, "18446744073709551614");
    /* Zeros and one class. */
    raster =
        GDALCreate(GDALGetDriverByName("GTiff"), in_folder("one.tif"), SAMPLES, LINES, 1, GDT_Byte, NULL);
    GDALFillRaster(GDALGetRasterBand(raster, 1), 5, 0);
    GDALClose(raster);
    check_refused(in_folder("one.tif"), NULL, NULL, &scene, HC_E_INPUT, "only one class, 'Class 5'");
    raster =
        GDALCreate(GDALGetDriverByName("GTiff"), in_folder("zero.tif"), SAMPLES, LINES, 1, GDT_Byte, NULL);
    GDALClose(raster);
    check_refused(in_folder("zero.tif"), NULL, NULL, &scene, HC_E_INPUT, "labels no pixel");
    /* The place: a thousandth of a pixel is 20 mm. */
    static const struct {
        double by;
        bool good;
    } shifts[] = {{0, true}, {0.015, true}, {-0.015, true}, {0.03, false}, {20, false}};
    for (int i = 0; i < COUNT(shifts); i++) {
        raster = create_raster("placed.tif", 1, GDT_Byte);
        double transform[6];
        memcpy(transform, utm.place.transform, sizeof transform);
        transform[0] += shifts[i].by;
        assert_int_equal(GDALSetGeoTransform(raster, transform), CE_None);
        GDALClose(raster);
        if (shifts[i].good) {
            HcLabelled got = read_good(in_folder("placed.tif"), NULL, NULL, &utm);
            hc_labelled_clear(&got);
        } else {
            check_refused(in_folder("placed.tif"), NULL, NULL, &utm, HC_E_INPUT, "pixels apart");
        }
    }
    hc_scene_clear(&utm);
}

/* A CRS that cannot be read has no name, which is no failure. */
static void names_of_systems(void **state) {
    (void)state;
    HcError err = {0};
    char *name = NULL;
    assert_int_equal(hc_io_crs_name(SRS_WKT_WGS84_LAT_LONG, &name, &err), HC_OK);
    assert_string_equal(name, "WGS 84 (EPSG:4326)");
    free(name);
    name = (char *)1;
    assert_int_equal(hc_io_crs_name("PROJCS[\"torn", &name, &err), HC_OK);
    assert_null(name);
}

/* ---- sensor geometry ---- */

enum { MAP_LINES = 23, MAP_SAMPLES = 34, SENSOR_LINES = 20, SENSOR_SAMPLES = 25 };

/* A lookup table on the grid of `map`: sample and line from 1, 0 = none, negative = filled. */
static void write_table(const char *path, const HcScene *map, int32_t *table) {
    uint64_t seed = 7;
    size_t pixels = (size_t)MAP_LINES * MAP_SAMPLES;
    double transform[6];
    for (size_t p = 0; p < pixels; p++) {
        int32_t sign = random_between(&seed, 0, 3) == 0 ? -1 : 1;
        bool empty = random_between(&seed, 0, 4) == 0;
        table[p] = empty ? 0 : sign * (int32_t)random_between(&seed, 1, SENSOR_SAMPLES);
        table[pixels + p] = empty ? 0 : sign * (int32_t)random_between(&seed, 1, SENSOR_LINES);
    }
    GDALDatasetH dataset =
        GDALCreate(GDALGetDriverByName("GTiff"), path, MAP_SAMPLES, MAP_LINES, 2, GDT_Int32, NULL);
    assert_non_null(dataset);
    memcpy(transform, map->place.transform, sizeof transform);
    assert_int_equal(GDALSetGeoTransform(dataset, transform), CE_None);
    assert_int_equal(GDALSetProjection(dataset, map->place.crs), CE_None);
    assert_int_equal(GDALDatasetRasterIO(dataset, GF_Write, 0, 0, MAP_SAMPLES, MAP_LINES, table, MAP_SAMPLES,
                                         MAP_LINES, GDT_Int32, 2, NULL, 0, 0, 0),
                     CE_None);
    GDALClose(dataset);
}

/* What labels on the map say of the pixels of a scene that the table puts there. */
static int *expect_by_table(const int32_t *table, const HcScene *map, const HcScene *scene) {
    int *labels = calloc((size_t)(scene->lines * scene->samples), sizeof *labels);
    int32_t pixels = MAP_LINES * MAP_SAMPLES;
    for (int f = 0; f < COUNT(shapes); f++) {
        int *on_map = expect(&shapes[f], &shape_labels[f], 1, map);
        for (int32_t p = 0; p < pixels; p++) {
            int64_t sample = abs(table[p]) - 1 - scene->cut.sample0;
            int64_t line = abs(table[pixels + p]) - 1 - scene->cut.line0;
            if (on_map[p] == 0 || table[p] == 0 || sample < 0 || line < 0 || sample >= scene->samples ||
                line >= scene->lines) {
                continue;
            }
            int *at = &labels[line * scene->samples + sample];
            *at = *at == 0 || *at == on_map[p] ? on_map[p] : -1;
        }
        free(on_map);
    }
    return labels;
}

/* Pixels belong to the classes of the polygons in which a lookup table puts them, of a whole scene and of a
 * window; polygons without a CRS are in its own pixels. */
static void sensor_geometry(void **state) {
    (void)state;
    static int32_t table[2 * MAP_LINES * MAP_SAMPLES];
    HcScene map = utm_scene(MAP_LINES, MAP_SAMPLES);
    HcScene scenes[] = {bare_scene(SENSOR_LINES, SENSOR_SAMPLES), bare_scene(12, 15)};
    scenes[1].cut = (HcCut){.line0 = 3, .sample0 = 4, .lines = SENSOR_LINES, .samples = SENSOR_SAMPLES};
    write_table(in_folder("table.tif"), &map, table);
    static const int codes[] = {32611, 4326};
    for (int i = 0; i < 2; i++) {
        scenes[i].lookup.file = strdup(in_folder("table.tif"));
        for (int c = 0; c < COUNT(codes); c++) {
            int *labels = expect_by_table(table, &map, &scenes[i]);
            Source source = {"GPKG", "sensor.gpkg", codes[c], "cover", OFTString, NULL};
            HcLabelled got =
                read_good(write_vector(&source, shapes, COUNT(shapes), &map), NULL, NULL, &scenes[i]);
            check_names(&got, shape_names, 3);
            check_map(&got, labels, &scenes[i]);
            assert_true(got.contested > 10);
            hc_labelled_clear(&got);
            free(labels);
        }
    }
    polygons_in(&(Source){"GPKG", "plain.gpkg", 0, "cover", OFTString, NULL}, &scenes[0]);
    static const Feature far[] = {{"POLYGON((100 2,104 2,104 9,100 2))", "a"},
                                  {"POLYGON((110 2,114 2,114 9,110 2))", "b"}};
    Source source = {"GPKG", "sensor.gpkg", 4326, "cover", OFTString, NULL};
    check_refused(write_vector(&source, far, 2, &map), NULL, NULL, &scenes[0], HC_E_INPUT,
                  "does not touch the scene");
    hc_scene_clear(&scenes[0]);
    hc_scene_clear(&scenes[1]);
    hc_scene_clear(&map);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(polygons),         cmocka_unit_test(sensor_geometry),
        cmocka_unit_test(numbers),          cmocka_unit_test(upwards),
        cmocka_unit_test(strips),           cmocka_unit_test(points),
        cmocka_unit_test(left_out),         cmocka_unit_test(unions),
        cmocka_unit_test(fields),           cmocka_unit_test(layers),
        cmocka_unit_test(systems),          cmocka_unit_test(features),
        cmocka_unit_test(any_classes),      cmocka_unit_test(regions),
        cmocka_unit_test(wrong_vectors),    cmocka_unit_test(rasters),
        cmocka_unit_test(named_rasters),    cmocka_unit_test(envi_classifications),
        cmocka_unit_test(wrong_rasters),    cmocka_unit_test(edges),
        cmocka_unit_test(names_of_systems),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
