/* Training data of vector files against pixels that are found here: by crossing numbers for polygons, by hand
 * for the rest. */
#include "tests/io/training/labels.h"
#include "tests/support/random.h"

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
        cmocka_unit_test(polygons),         cmocka_unit_test(sensor_geometry), cmocka_unit_test(numbers),
        cmocka_unit_test(upwards),          cmocka_unit_test(strips),          cmocka_unit_test(points),
        cmocka_unit_test(left_out),         cmocka_unit_test(unions),          cmocka_unit_test(fields),
        cmocka_unit_test(layers),           cmocka_unit_test(systems),         cmocka_unit_test(features),
        cmocka_unit_test(any_classes),      cmocka_unit_test(wrong_vectors),   cmocka_unit_test(edges),
        cmocka_unit_test(names_of_systems),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
