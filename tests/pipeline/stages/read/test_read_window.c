/* read --window, --bbox, --cutline: against gdal_translate -srcwin, and against polygons that are counted
 * here. */
#include "tests/support/scene_files.h"
#include "tests/support/strict.h"

#include <cpl_string.h>
#include <gdal.h>
#include <gdal_utils.h>
#include <ogr_api.h>
#include <ogr_srs_api.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINES = 23, SAMPLES = 17, BANDS = 5, EPSG = 32633 };

typedef struct Window {
    int32_t x, y, width, height;
} Window;

static const Window windows[] = {
    {0, 0, SAMPLES, LINES}, {3, 5, 9, 11}, {16, 22, 1, 1}, {0, 7, SAMPLES, 4}, {4, 0, 1, LINES}};
enum { WINDOWS = sizeof windows / sizeof *windows };

static const double upright[6] = {500000, 30, 0, 5600000, 0, -30};
static const double turned[6] = {500000, 30, 4, 5600000, 4, -30};

static OGRSpatialReferenceH crs_of(int epsg) {
    OGRSpatialReferenceH crs = OSRNewSpatialReference(NULL);
    assert_int_equal(OSRImportFromEPSG(crs, epsg), OGRERR_NONE);
    OSRSetAxisMappingStrategy(crs, OAMS_TRADITIONAL_GIS_ORDER);
    return crs;
}

/* GDAL's own result, as a file. */
static void translate(const char *from, const char *to, const char *format, const char *interleave,
                      const Window *window) {
    char **words = NULL, number[4][16];
    const int32_t value[4] = {window->x, window->y, window->width, window->height};
    words = CSLAddString(CSLAddString(words, "-of"), format);
    words = CSLAddString(words, "-srcwin");
    for (int i = 0; i < 4; i++) {
        snprintf(number[i], sizeof number[i], "%d", value[i]);
        words = CSLAddString(words, number[i]);
    }
    if (interleave != NULL) {
        char option[32];
        snprintf(option, sizeof option, "INTERLEAVE=%s", interleave);
        words = CSLAddString(CSLAddString(words, "-co"), option);
    }
    GDALTranslateOptions *how = GDALTranslateOptionsNew(words, NULL);
    GDALDatasetH source = GDALOpen(from, GA_ReadOnly);
    GDALDatasetH made = GDALTranslate(to, source, how, NULL);
    assert_non_null(made);
    GDALClose(made);
    GDALClose(source);
    GDALTranslateOptionsFree(how);
    CSLDestroy(words);
}

/* NAME.tif in the CRS of the tests, with some nodata. */
static void write_placed(const Cube *cube, const char *name, const double *transform) {
    char path[64], *wkt = NULL;
    snprintf(path, sizeof path, "%s.tif", name);
    GDALDatasetH made = GDALCreate(GDALGetDriverByName("GTiff"), path, cube->samples, cube->lines,
                                   cube->bands, GDT_Int16, NULL);
    double copy[6];
    memcpy(copy, transform, sizeof copy);
    OGRSpatialReferenceH crs = crs_of(EPSG);
    assert_int_equal(OSRExportToWkt(crs, &wkt), OGRERR_NONE);
    assert_int_equal(GDALSetGeoTransform(made, copy), CE_None);
    assert_int_equal(GDALSetProjection(made, wkt), CE_None);
    for (int32_t b = 0; b < cube->bands; b++) {
        for (int32_t line = 0; line < cube->lines; line++) {
            assert_int_equal(GDALRasterIO(GDALGetRasterBand(made, b + 1), GF_Write, 0, line, cube->samples, 1,
                                          cube_pixel(cube, line, 0) + b, cube->samples, 1, GDT_Float64,
                                          cube->bands * 8, 0),
                             CE_None);
        }
    }
    GDALClose(made);
    CPLFree(wkt);
    OSRDestroySpatialReference(crs);
}

/* The same place and size by GDAL. */
static void check_same_place(const char *a, const char *b) {
    double first[6], second[6];
    GDALDatasetH one = GDALOpen(a, GA_ReadOnly), two = GDALOpen(b, GA_ReadOnly);
    assert_true(one != NULL && two != NULL);
    assert_int_equal(GDALGetRasterXSize(one), GDALGetRasterXSize(two));
    assert_int_equal(GDALGetRasterYSize(one), GDALGetRasterYSize(two));
    assert_int_equal(GDALGetGeoTransform(one, first), CE_None);
    assert_int_equal(GDALGetGeoTransform(two, second), CE_None);
    for (int i = 0; i < 6; i++) {
        check_near(first[i], second[i], 1e-9);
    }
    assert_string_equal(GDALGetProjectionRef(one), GDALGetProjectionRef(two));
    GDALClose(one);
    GDALClose(two);
}

/* Every interleave and type, mapped, copied, through GDAL, in small blocks, on the strict backend. */
static void windows_are_those_of_gdal(void **state) {
    (void)state;
    static const char *const interleaves[] = {"bsq", "bil", "bip"};
    static const HcType types[] = {HC_UINT8, HC_INT16, HC_FLOAT32, HC_FLOAT64};
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 1, true);
    for (size_t i = 0; i < cube_pixels(&cube) * BANDS; i++) {
        cube.value[i] = fmod(cube.value[i], 251);
    }
    for (size_t c = 0; c < 3 * 4 * WINDOWS; c++) {
        const char *interleave = interleaves[c % 3], *type = hc_type_name(types[c / 3 % 4]);
        const Window *w = &windows[c / 12];
        cube_write(&cube, "scene", types[c / 3 % 4], interleave, NULL);
        translate("scene.img", "gdal.img", "ENVI", interleave, w);
        for (int way = 0; way < 4; way++) {
            RunHow how = {.settings.block_lines = way == 1 ? 3 : 0, .threads = 1 + way % 2};
            how.ops = way == 3 ? hc_strict_ops() : NULL;
            check_runs(&how,
                       "read scene.img --window %d,%d,%d,%d %s ! write ours.img --type %s --interleave %s",
                       w->x, w->y, w->width, w->height, way == 2 ? "--no-direct" : "", type, interleave);
            check_same_files("gdal.img", "ours.img");
        }
        /* Values that are converted on their way. */
        check_runs(NULL,
                   "read scene.img --window %d,%d,%d,%d --source-nodata -7,-8 ! write ours.img --type %s "
                   "--interleave %s",
                   w->x, w->y, w->width, w->height, type, interleave);
        check_same_files("gdal.img", "ours.img");
    }
    cube_free(&cube);
}

/* What stages make of a window is what they make of a file that was cut before: statistics, neighbours,
 * classes. */
static void stages_see_the_window_alone(void **state) {
    (void)state;
    static const char *const stages[] = {"mnf",
                                         "pca --components 3",
                                         "filter mean3x3",
                                         "mnf --noise shift --noise-window 1,2,8,8",
                                         "svd --side 4 --keep 2",
                                         "rx"};
    const Window w = {2, 3, 12, 17};
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 2, true);
    write_placed(&cube, "scene", turned);
    translate("scene.tif", "cut.tif", "GTiff", NULL, &w);
    for (size_t s = 0; s < sizeof stages / sizeof *stages; s++) {
        for (int32_t lines = 0; lines <= 5; lines += 5) {
            RunHow how = {.settings.block_lines = lines};
            check_runs(&how, "read cut.tif ! %s ! write a.tif", stages[s]);
            check_runs(&how, "read scene.tif --window 2,3,12,17 ! %s ! write b.tif", stages[s]);
            check_same_files("a.tif", "b.tif");
        }
    }
    check_same_place("a.tif", "cut.tif");
    cube_free(&cube);
}

static void places_shift(void **state) {
    (void)state;
    Cube cube = cube_smooth(LINES, SAMPLES, 2, 3, true);
    for (int t = 0; t < 2; t++) {
        write_placed(&cube, "scene", t == 0 ? upright : turned);
        for (size_t c = 0; c < WINDOWS; c++) {
            const Window *w = &windows[c];
            translate("scene.tif", "gdal.tif", "GTiff", NULL, w);
            check_runs(NULL, "read scene.tif --window %d,%d,%d,%d ! write ours.tif --type int16", w->x, w->y,
                       w->width, w->height);
            check_same_place("gdal.tif", "ours.tif");
        }
    }
    cube_free(&cube);
}

/* The window that the record of out.tif names. */
static Window window_of_record(void) {
    size_t bytes = 0;
    char *text = file_bytes("out.tif.hcube.json", &bytes);
    cJSON *record = cJSON_ParseWithLength(text, bytes);
    const cJSON *steps = cJSON_GetObjectItem(record, "steps");
    const cJSON *at =
        cJSON_GetObjectItem(cJSON_GetObjectItem(cJSON_GetArrayItem(steps, 0), "result"), "window");
    Window window = {(int32_t)number_of(at, "first_sample_from_0"),
                     (int32_t)number_of(at, "first_line_from_0"), (int32_t)number_of(at, "samples"),
                     (int32_t)number_of(at, "lines")};
    cJSON_Delete(record);
    free(text);
    return window;
}

static void check_window(Window got, Window wanted) {
    if (memcmp(&got, &wanted, sizeof got) != 0) {
        fail_msg("window %d,%d,%d,%d instead of %d,%d,%d,%d", got.x, got.y, got.width, got.height, wanted.x,
                 wanted.y, wanted.width, wanted.height);
    }
}

static const RunHow recorded = {.settings.record = "out.tif.hcube.json"};

static void boxes(void **state) {
    (void)state;
    Cube cube = cube_smooth(LINES, SAMPLES, 2, 4, true);
    write_placed(&cube, "scene", upright);
    /* On the edges of pixels, and a part of a pixel further. */
    check_runs(&recorded, "read scene.tif --bbox %d,%d,%d,%d ! write out.tif", 500000 + 3 * 30,
               5600000 - 12 * 30, 500000 + 10 * 30, 5600000 - 5 * 30);
    check_window(window_of_record(), (Window){3, 5, 7, 7});
    check_runs(&recorded, "read scene.tif --bbox %d,%d,%d,%d ! write out.tif", 500000 + 3 * 30 - 1,
               5600000 - 12 * 30 - 29, 500000 + 10 * 30 + 1, 5600000 - 5 * 30);
    check_window(window_of_record(), (Window){2, 5, 9, 8});
    /* Within one pixel; beyond the scene. */
    check_runs(&recorded, "read scene.tif --bbox 500094,5599810,500095,5599811 ! write out.tif");
    check_window(window_of_record(), (Window){3, 6, 1, 1});
    HcText notes = {0};
    RunHow how = recorded;
    how.notes = &notes;
    check_runs(&how, "read scene.tif --bbox 499000,5599900,500100,5700000 ! write out.tif");
    check_window(window_of_record(), (Window){0, 0, 4, 4});
    assert_non_null(strstr(notes.data, "the box reaches beyond the scene"));
    assert_non_null(strstr(notes.data, "samples 0 to 3 and lines 0 to 3 (from 0)"));
    hc_text_clear(&notes);
    check_runs(&recorded,
               "read scene.tif --bbox 500094,5599810,500095,5599811 --bbox-crs EPSG:32633 ! write out.tif");
    check_window(window_of_record(), (Window){3, 6, 1, 1});
    /* In degrees: the box of 4 pixels round a corner, brought there and back. */
    double x[4] = {500090, 500210, 500090, 500210}, y[4] = {5599700, 5599700, 5599820, 5599820};
    OGRSpatialReferenceH utm = crs_of(EPSG), degrees = crs_of(4326);
    OGRCoordinateTransformationH way = OCTNewCoordinateTransformation(utm, degrees);
    assert_true(OCTTransform(way, 4, x, y, NULL));
    check_runs(
        &recorded, "read scene.tif --bbox %.12f,%.12f,%.12f,%.12f --bbox-crs EPSG:4326 ! write out.tif",
        fmax(x[0], x[2]) + 1e-7, fmax(y[0], y[1]) + 1e-7, fmin(x[1], x[3]) - 1e-7, fmin(y[2], y[3]) - 1e-7);
    check_window(window_of_record(), (Window){3, 6, 4, 4});
    OCTDestroyCoordinateTransformation(way);
    OSRDestroySpatialReference(utm);
    OSRDestroySpatialReference(degrees);
    /* In a turned scene the window holds all corners of the box. */
    write_placed(&cube, "scene", turned);
    check_runs(&recorded, "read scene.tif --bbox 500100,5599700,500200,5599800 ! write out.tif");
    Window got = window_of_record();
    for (int corner = 0; corner < 4; corner++) {
        double inverse[6], copy[6];
        memcpy(copy, turned, sizeof copy);
        assert_true(GDALInvGeoTransform(copy, inverse));
        double e = corner % 2 ? 500100 : 500200, n = corner / 2 ? 5599700 : 5599800;
        double sample = inverse[0] + inverse[1] * e + inverse[2] * n;
        double line = inverse[3] + inverse[4] * e + inverse[5] * n;
        assert_true(sample >= got.x && sample <= got.x + got.width && line >= got.y &&
                    line <= got.y + got.height);
    }
    assert_true(got.width < 7 && got.height < 7);
    cube_free(&cube);
}

/* ---- polygons ---- */

/* FILE.gpkg with a layer of polygons in pixel coordinates of the scene. */
static void write_polygons(const char *path, const char *layer_name, const double *transform,
                           const char *const *wkt, int count) {
    GDALDatasetH made = GDALCreate(GDALGetDriverByName("GPKG"), path, 0, 0, 0, GDT_Unknown, NULL);
    OGRSpatialReferenceH crs = crs_of(EPSG);
    OGRLayerH layer = GDALDatasetCreateLayer(made, layer_name, crs, wkbUnknown, NULL);
    OGRFieldDefnH field = OGR_Fld_Create("class", OFTInteger);
    assert_int_equal(OGR_L_CreateField(layer, field, TRUE), OGRERR_NONE);
    OGR_Fld_Destroy(field);
    for (int i = 0; i < count; i++) {
        OGRGeometryH geometry = NULL;
        char *copy = strdup(wkt[i]), *rest = copy;
        assert_int_equal(OGR_G_CreateFromWkt(&rest, NULL, &geometry), OGRERR_NONE);
        OGRGeometryH ring =
            OGR_G_GetGeometryCount(geometry) > 0 ? OGR_G_GetGeometryRef(geometry, 0) : geometry;
        for (int p = 0; p < OGR_G_GetPointCount(ring); p++) {
            double s = OGR_G_GetX(ring, p), l = OGR_G_GetY(ring, p);
            OGR_G_SetPoint_2D(ring, p, transform[0] + transform[1] * s + transform[2] * l,
                              transform[3] + transform[4] * s + transform[5] * l);
        }
        OGRFeatureH feature = OGR_F_Create(OGR_L_GetLayerDefn(layer));
        OGR_F_SetGeometryDirectly(feature, geometry);
        OGR_F_SetFieldInteger(feature, 0, i + 1);
        assert_int_equal(OGR_L_CreateFeature(layer, feature), OGRERR_NONE);
        OGR_F_Destroy(feature);
        free(copy);
    }
    GDALClose(made);
    OSRDestroySpatialReference(crs);
}

/* A triangle and a square, in pixels, and whether a pixel's centre lies in one of them. */
static const char *const shapes[] = {"POLYGON((3.2 4.1,12.4 6.3,5.1 15.8,3.2 4.1))",
                                     "POLYGON((10 14,13 14,13 17,10 17,10 14))"};

static bool left_of(double x0, double y0, double x1, double y1, double x, double y) {
    return (x1 - x0) * (y - y0) - (y1 - y0) * (x - x0) > 0;
}

static bool is_inside(int32_t line, int32_t sample) {
    double x = sample + 0.5, y = line + 0.5;
    bool triangle = left_of(3.2, 4.1, 12.4, 6.3, x, y) && left_of(12.4, 6.3, 5.1, 15.8, x, y) &&
                    left_of(5.1, 15.8, 3.2, 4.1, x, y);
    return triangle || (x > 10 && x < 13 && y > 14 && y < 17);
}

/* out.img, float32 in bands, is the scene from (x0, y0) on, with NaN where no polygon is. */
static void check_cut(const Cube *cube, int32_t x0, int32_t y0, int32_t width, int32_t height) {
    Cube out = cube_read_floats("out", height, width, cube->bands);
    for (int32_t line = 0; line < height; line++) {
        for (int32_t sample = 0; sample < width; sample++) {
            double value = cube_pixel(&out, line, sample)[1];
            if (is_inside(y0 + line, x0 + sample)) {
                check_near(value, cube_pixel(cube, y0 + line, x0 + sample)[1], 0);
            } else {
                assert_true(isnan(value));
            }
        }
    }
    cube_free(&out);
}

static void cutlines(void **state) {
    (void)state;
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 5, true);
    for (int t = 0; t < 2; t++) {
        const double *transform = t == 0 ? upright : turned;
        HcRunReport report = {0};
        write_placed(&cube, "scene", transform);
        file_remove("aoi.gpkg");
        write_polygons("aoi.gpkg", "fields", transform, shapes, 2);
        for (int32_t lines = 0; lines <= 4; lines += 2) {
            RunHow how = {.settings.block_lines = lines, .report = &report};
            how.ops = lines == 4 ? hc_strict_ops() : NULL;
            check_runs(&how, "read scene.tif --cutline aoi.gpkg ! write out.img");
            check_cut(&cube, 3, 4, 10, 13);
            assert_int_equal(report.pixels, 10 * 13);
        }
        check_runs(NULL, "read scene.tif --cutline aoi.gpkg:fields --window 0,0,10,10 ! write out.img");
        check_cut(&cube, 3, 4, 7, 6);
        check_runs(NULL, "read scene.tif --cutline aoi.gpkg --nodata-rule all ! write out.img");
        check_cut(&cube, 3, 4, 10, 13);
    }
    check_run_fails(NULL, HC_E_USAGE, "no layer 'x'", "read scene.tif --cutline aoi.gpkg:x ! write o.img");
    check_run_fails(NULL, HC_E_INPUT, "none.gpkg", "read scene.tif --cutline none.gpkg ! write o.img");
    check_run_fails(NULL, HC_E_INPUT, "touch no pixel of the scene",
                    "read scene.tif --cutline aoi.gpkg --window 0,0,2,2 ! write o.img");
    static const char *const line[] = {"LINESTRING(1 1,5 5)"}, *const away[] = {
                                                                   "POLYGON((90 90,99 90,99 99,90 90))"};
    write_polygons("line.gpkg", "line", turned, line, 1);
    check_run_fails(NULL, HC_E_UNSUPPORTED, "is a LINESTRING ... polygons",
                    "read scene.tif --cutline line.gpkg ! write o.img");
    write_polygons("away.gpkg", "away", turned, away, 1);
    check_run_fails(NULL, HC_E_INPUT, "does not touch the scene",
                    "read scene.tif --cutline away.gpkg ! write o.img");
    write_polygons("empty.gpkg", "empty", turned, NULL, 0);
    check_run_fails(NULL, HC_E_INPUT, "layer 'empty' has no polygon",
                    "read scene.tif --cutline empty.gpkg ! write o.img");
    cube_write(&cube, "bare", HC_INT16, "bil", NULL);
    check_run_fails(NULL, HC_E_INPUT, "the scene has no place on Earth",
                    "read bare.img --cutline aoi.gpkg ! write o.img");
    cube_free(&cube);
}

/* ---- what belongs to the whole file ---- */

/* Masks and class rasters of the size of the file are cut like it; polygons know where they are. */
static void masks_and_training_of_the_file(void **state) {
    (void)state;
    const Window w = {2, 3, 12, 17};
    static const char *const fields[] = {"POLYGON((4 5,8 5,8 9,4 9,4 5))",
                                         "POLYGON((9 11,13 11,13 15,9 15,9 11))"};
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 6, true);
    Cube mask = cube_new(LINES, SAMPLES, 1), classes = cube_new(LINES, SAMPLES, 1);
    for (int32_t line = 0; line < LINES; line++) {
        for (int32_t s = 0; s < SAMPLES; s++) {
            *cube_pixel(&mask, line, s) = (line * s) % 5 != 1;
            bool one = s >= 4 && s < 8 && line >= 5 && line < 9,
                 two = s >= 9 && s < 13 && line >= 11 && line < 15;
            *cube_pixel(&classes, line, s) = one ? 1 : two ? 2 : s == 0 ? 3 : 0;
        }
    }
    write_placed(&cube, "scene", upright);
    write_placed(&mask, "mask", upright);
    write_placed(&classes, "classes", upright);
    translate("scene.tif", "cut.tif", "GTiff", NULL, &w);
    translate("mask.tif", "cutmask.tif", "GTiff", NULL, &w);
    translate("classes.tif", "cutclasses.tif", "GTiff", NULL, &w);
    write_polygons("fields.gpkg", "fields", upright, fields, 2);
    check_runs(NULL, "read cut.tif --mask cutmask.tif ! write a.tif");
    check_runs(NULL, "read scene.tif --window 2,3,12,17 --mask mask.tif ! write b.tif");
    check_same_files("a.tif", "b.tif");
    check_runs(NULL, "read scene.tif --window 2,3,12,17 --mask cutmask.tif ! write b.tif");
    check_same_files("a.tif", "b.tif");
    check_run_fails(NULL, HC_E_INPUT, "cutmask.tif: has 17 lines x 12 samples, scene.tif ... 23 x 17",
                    "read scene.tif --mask cutmask.tif ! write b.tif");
    check_runs(NULL, "read cut.tif ! knn -k 1 --training cutclasses.tif ! write a.tif");
    check_runs(NULL, "read scene.tif --window 2,3,12,17 ! knn -k 1 --training classes.tif ! write b.tif");
    check_same_files("a.tif", "b.tif");
    check_runs(NULL, "read cut.tif ! knn -k 1 --training fields.gpkg --field class ! write a.tif");
    check_runs(
        NULL,
        "read scene.tif --window 2,3,12,17 ! knn -k 1 --training fields.gpkg --field class ! write b.tif");
    check_same_files("a.tif", "b.tif");
    cube_free(&classes);
    cube_free(&mask);
    cube_free(&cube);
}

static void wrong_windows(void **state) {
    (void)state;
    static const struct {
        HcStatus status;
        const char *options, *part;
    } wrong[] = {
        {HC_E_USAGE, "--window 1,2,3", "--window 1,2,3: not XOFF,YOFF,XSIZE,YSIZE in whole pixels"},
        {HC_E_USAGE, "--window 1,2,3,4,5", "not XOFF"},
        {HC_E_USAGE, "--window 1,2,x,4", "not XOFF"},
        {HC_E_USAGE, "--window 1.5,2,3,4", "not XOFF"},
        {HC_E_USAGE, "--window nan,2,3,4", "not XOFF"},
        {HC_E_USAGE, "--window 1,2,0,4", "--window 1,2,0,4: holds no pixel"},
        {HC_E_USAGE, "--window 5,5,-3,4", "holds no pixel"},
        {HC_E_USAGE, "--window 10,2,8,4", "window 10,2,8,4 leaves ... 17 samples x 23 lines"},
        {HC_E_USAGE, "--window -1,2,3,4", "leaves the scene"},
        {HC_E_USAGE, "--window 0,23,1,1", "leaves the scene"},
        {HC_E_USAGE, "--window 999999999999999,0,1,1", "leaves the scene"},
        {HC_E_USAGE, "--window 1,2,3,4 --bbox 1,2,3,4", "give one of --window and --bbox"},
        {HC_E_USAGE, "--bbox-crs EPSG:4326", "--bbox-crs needs --bbox"},
        {HC_E_USAGE, "--bbox 3,2,1,4", "XMIN must be below XMAX"},
        {HC_E_USAGE, "--bbox 1,5,3,4", "YMIN below YMAX"},
        {HC_E_USAGE, "--bbox 1,2,3", "not XMIN,YMIN,XMAX,YMAX"},
        {HC_E_USAGE, "--bbox 1,2,inf,4", "not XMIN,YMIN,XMAX,YMAX"},
        {HC_E_USAGE, "--bbox 1,2,3,4 --bbox-crs EPSG:999999", "--bbox-crs EPSG:999999: not a CRS"},
        {HC_E_USAGE, "--bbox 1,2,3,4 --bbox-crs nonsense", "--bbox-crs nonsense: not a CRS"},
        {HC_E_INPUT, "--bbox 1,2,3,4", "the box does not touch the scene"},
        {HC_E_INPUT, "--bbox 1,99,3,100 --bbox-crs EPSG:4326", "scene.tif: the box"},
    };
    Cube cube = cube_smooth(LINES, SAMPLES, 2, 7, true);
    write_placed(&cube, "scene", upright);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        check_run_fails(NULL, wrong[i].status, wrong[i].part, "read scene.tif %s ! write o.img",
                        wrong[i].options);
    }
    cube_write(&cube, "bare", HC_INT16, "bil", NULL);
    check_run_fails(NULL, HC_E_INPUT, "bare.img: is not georeferenced",
                    "read bare.img --bbox 1,2,3,4 ! write o.img");
    cube_free(&cube);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_are_those_of_gdal),
        cmocka_unit_test(stages_see_the_window_alone),
        cmocka_unit_test(places_shift),
        cmocka_unit_test(boxes),
        cmocka_unit_test(cutlines),
        cmocka_unit_test(masks_and_training_of_the_file),
        cmocka_unit_test(wrong_windows),
    };
    GDALAllRegister();
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
