/* netCDF: one variable of all bands, and what the scene says as CF has it. Read back through GDAL's interface
 * for arrays, and as a raster. */
#include "io/read/reader.h"
#include "write_fixture.h"

#include <cpl_string.h>

typedef struct File {
    GDALDatasetH dataset;
    GDALGroupH root;
} File;

static File open_file(const char *path) {
    static const char *const only[] = {"netCDF", NULL};
    File file = {GDALOpenEx(path, GDAL_OF_MULTIDIM_RASTER, only, NULL, NULL), NULL};
    assert_non_null(file.dataset);
    file.root = GDALDatasetGetRootGroup(file.dataset);
    assert_non_null(file.root);
    return file;
}

static void close_file(File *file) {
    GDALGroupRelease(file->root);
    GDALClose(file->dataset);
}

static bool has_array(const File *file, const char *name) {
    char **names = GDALGroupGetMDArrayNames(file->root, NULL);
    bool has = CSLFindString(names, name) >= 0;
    CSLDestroy(names);
    return has;
}

/* The names of the dimensions, "wavelength y x". */
static void check_dimensions(const File *file, const char *array, const char *expected) {
    char found[200] = "";
    size_t count = 0;
    GDALMDArrayH handle = GDALGroupOpenMDArray(file->root, array, NULL);
    assert_non_null(handle);
    GDALDimensionH *dimensions = GDALMDArrayGetDimensions(handle, &count);
    for (size_t d = 0; d < count; d++) {
        snprintf(found + strlen(found), sizeof found - strlen(found), "%s%s", d > 0 ? " " : "",
                 GDALDimensionGetName(dimensions[d]));
    }
    GDALReleaseDimensions(dimensions, count);
    GDALMDArrayRelease(handle);
    assert_string_equal(found, expected);
}

static void check_list(const File *file, const char *name, const double *expected, size_t count) {
    GUInt64 start = 0;
    double values[64];
    GDALMDArrayH array = GDALGroupOpenMDArray(file->root, name, NULL);
    GDALExtendedDataTypeH type = GDALExtendedDataTypeCreate(GDT_Float64);
    assert_non_null(array);
    assert_int_equal(GDALMDArrayGetTotalElementsCount(array), count);
    assert_true(GDALMDArrayRead(array, &start, &count, NULL, NULL, type, values, values, sizeof values));
    for (size_t i = 0; i < count; i++) {
        check_same(values[i], expected[i]);
    }
    GDALExtendedDataTypeRelease(type);
    GDALMDArrayRelease(array);
}

static void check_text(const File *file, const char *array, const char *attribute, const char *expected) {
    GDALMDArrayH handle = GDALGroupOpenMDArray(file->root, array, NULL);
    assert_non_null(handle);
    GDALAttributeH found = GDALMDArrayGetAttribute(handle, attribute);
    assert_non_null(found);
    assert_string_equal(GDALAttributeReadAsString(found), expected);
    GDALAttributeRelease(found);
    GDALMDArrayRelease(handle);
}

static void check_unit(const File *file, const char *array, const char *expected) {
    GDALMDArrayH handle = GDALGroupOpenMDArray(file->root, array, NULL);
    assert_non_null(handle);
    assert_string_equal(GDALMDArrayGetUnit(handle), expected);
    GDALMDArrayRelease(handle);
}

static void check_global(const File *file, const char *attribute, const char *expected) {
    GDALAttributeH found = GDALGroupGetAttribute(file->root, attribute);
    assert_non_null(found);
    assert_string_equal(GDALAttributeReadAsString(found), expected);
    GDALAttributeRelease(found);
}

/* ---- values ---- */

static void types_and_compression(void **state) {
    (void)state;
    HcScene scene = plain_scene(37, 29, 5);
    HcError err = {0};
    static const char *const compressions[] = {NULL, "deflate"};
    for (int t = 0; t < HC_TYPE_COUNT; t++) {
        for (int c = 0; c < 2; c++) {
            HcWriterOptions options = {.format = "netCDF",
                                       .has_type = true,
                                       .type = (HcType)t,
                                       .compress = compressions[c],
                                       .overwrite = true};
            if (hc_writer_check(in_folder("a.nc"), &scene, &options, &err) == HC_E_UNSUPPORTED) {
                assert_true(t == HC_INT8 || t == HC_INT64 || t == HC_UINT64); /* by the version of GDAL */
                err = (HcError){0};
                continue;
            }
            check_ok(write_scene(in_folder("a.nc"), &scene, &options, &err), err);
            check_values(in_folder("a.nc"), &scene, (HcType)t);
        }
    }
    assert_int_equal(folder_entries(folder), 1);
}

/* Several stages, and chunks that do not end where the scene does. */
static void many_lines(void **state) {
    (void)state;
    HcScene scene = plain_scene(211, 203, 70);
    HcError err = {0};
    HcWriterOptions options = {.compress = "deflate"};
    check_ok(write_scene(in_folder("a.nc"), &scene, &options, &err), err);
    check_values(in_folder("a.nc"), &scene, HC_FLOAT32);
}

/* ---- what a scene says ---- */

static void says_all(void **state) {
    (void)state;
    static const double good[] = {1, 1, 0, 1};
    static const double x[] = {500008, 500023.5}, y[] = {4100000.75 - 7.75, 4100000.75 - 23.25};
    HcScene scene = rich_scene();
    HcError err = {0};
    check_ok(write_scene(in_folder("a.nc"), &scene, NULL, &err), err);
    check_values(in_folder("a.nc"), &scene, HC_FLOAT32);
    GDALDatasetH raster = GDALOpen(in_folder("a.nc"), GA_ReadOnly);
    check_utm_place(raster, &scene);
    check_same(nodata_of(GDALGetRasterBand(raster, 2)), -9999);
    GDALClose(raster);
    File file = open_file(in_folder("a.nc"));
    check_dimensions(&file, "scene", "wavelength y x");
    check_list(&file, "wavelength", scene.wavelength, 4);
    check_unit(&file, "wavelength", "nm");
    check_text(&file, "wavelength", "standard_name", "radiation_wavelength");
    check_list(&file, "fwhm", scene.fwhm, 4);
    check_unit(&file, "fwhm", "nm");
    check_list(&file, "good_wavelengths", good, 4);
    check_list(&file, "gain", scene.gain, 4); /* they differ: no attribute of the variable can say them */
    check_list(&file, "offset", scene.offset, 4);
    check_global(&file, "Conventions", "CF-1.8");
    check_global(&file, "title", "a scene");
    check_dimensions(&file, "band_name", "wavelength");
    close_file(&file);
    /* The coordinates are the centers of the pixels. */
    scene.lines = scene.samples = 2;
    HcWriterOptions again = {.overwrite = true};
    check_ok(write_scene(in_folder("a.nc"), &scene, &again, &err), err);
    file = open_file(in_folder("a.nc"));
    check_list(&file, "x", x, 2);
    check_list(&file, "y", y, 2);
    check_text(&file, "x", "standard_name", "projection_x_coordinate");
    close_file(&file);
    assert_int_equal(folder_entries(folder), 1);
    hc_scene_clear(&scene);
}

/* One scale for all bands is that of the variable, as every program applies it. */
static void one_scale(void **state) {
    (void)state;
    HcScene scene = plain_scene(5, 6, 3);
    HcError err = {0};
    HcWriterOptions options = {
        .has_type = true, .type = HC_INT16, .has_scale = true, .scale = 0.25, .offset = 2, .overwrite = true};
    check_ok(write_scene(in_folder("a.nc"), &scene, &options, &err), err);
    GDALDatasetH raster = GDALOpen(in_folder("a.nc"), GA_ReadOnly);
    for (int b = 1; b <= 3; b++) {
        check_same(GDALGetRasterScale(GDALGetRasterBand(raster, b), NULL), 0.25);
        check_same(GDALGetRasterOffset(GDALGetRasterBand(raster, b), NULL), 2);
    }
    GDALClose(raster);
    File file = open_file(in_folder("a.nc"));
    check_dimensions(&file, "scene", "band y x");
    assert_false(has_array(&file, "gain"));
    assert_false(has_array(&file, "wavelength"));
    close_file(&file);
}

/* CF allows coordinates only where they rise or fall. */
static void wavelengths_out_of_order(void **state) {
    (void)state;
    HcScene scene = rich_scene();
    HcError err = {0};
    scene.wavelength[1] = 400;
    check_ok(write_scene(in_folder("a.nc"), &scene, NULL, &err), err);
    File file = open_file(in_folder("a.nc"));
    check_dimensions(&file, "scene", "band y x");
    check_dimensions(&file, "wavelength", "band");
    check_list(&file, "wavelength", scene.wavelength, 4);
    close_file(&file);
    hc_scene_clear(&scene);
}

/* Coordinates along the axes cannot say that a grid is turned. */
static void turned_and_geographic_grids(void **state) {
    (void)state;
    static const double turned[] = {500000, 20, 22, 4000000, 22, -20};
    static const double degrees[] = {-120, 0.01, 0, 36, 0, -0.01};
    HcScene scene = rich_scene();
    HcError err = {0};
    HcWriterOptions options = {.overwrite = true};
    memcpy(scene.place.transform, turned, sizeof turned);
    check_fails(hc_writer_check(in_folder("a.nc"), &scene, &options, &err), HC_E_UNSUPPORTED, err);
    set_crs(&scene, 4326);
    memcpy(scene.place.transform, degrees, sizeof degrees);
    check_ok(write_scene(in_folder("a.nc"), &scene, &options, &err), err);
    check_values(in_folder("a.nc"), &scene, HC_FLOAT32);
    File file = open_file(in_folder("a.nc"));
    check_dimensions(&file, "scene", "wavelength lat lon");
    check_unit(&file, "lat", "degrees_north");
    check_unit(&file, "lon", "degrees_east");
    close_file(&file);
    double transform[6];
    GDALDatasetH raster = GDALOpen(in_folder("a.nc"), GA_ReadOnly);
    assert_int_equal(GDALGetGeoTransform(raster, transform), CE_None);
    for (int i = 0; i < 6; i++) {
        check_near(transform[i], degrees[i], 1e-9);
    }
    assert_true(OSRIsGeographic(GDALGetSpatialRef(raster)));
    GDALClose(raster);
    hc_scene_clear(&scene);
}

/* Those of Switzerland, Czechia and Hungary, for which CF has no projection. */
static void systems_that_cf_lacks(void **state) {
    (void)state;
    static const int codes[] = {2056, 21781, 5514, 23700, 32632};
    static const char *const same[] = {"IGNORE_DATA_AXIS_TO_SRS_AXIS_MAPPING=YES", "CRITERION=EQUIVALENT",
                                       NULL};
    HcWriterOptions options = {.overwrite = true};
    HcError err = {0};
    for (size_t k = 0; k < sizeof codes / sizeof *codes; k++) {
        HcScene scene = rich_scene();
        OGRSpatialReferenceH crs = OSRNewSpatialReference(NULL);
        assert_int_equal(OSRImportFromEPSG(crs, codes[k]), OGRERR_NONE);
        set_crs(&scene, codes[k]);
        check_ok(write_scene(in_folder("a.nc"), &scene, &options, &err), err);
        GDALDatasetH raster = GDALOpen(in_folder("a.nc"), GA_ReadOnly);
        OGRSpatialReferenceH found = GDALGetSpatialRef(raster);
        assert_non_null(found);
        assert_true(OSRIsSameEx(crs, found, same));
        GDALClose(raster);
        OSRDestroySpatialReference(crs);
        hc_scene_clear(&scene);
    }
}

static void components(void **state) {
    (void)state;
    HcScene scene = rich_scene();
    HcError err = {0};
    scene.meaning = HC_COMPONENT;
    check_ok(write_scene(in_folder("a.nc"), &scene, NULL, &err), err);
    File file = open_file(in_folder("a.nc"));
    check_dimensions(&file, "scene", "band y x");
    assert_false(has_array(&file, "wavelength"));
    check_dimensions(&file, "band_name", "band");
    close_file(&file);
    hc_scene_clear(&scene);
}

/* What the reader finds in the file is what the scene said. */
static void comes_back(void **state) {
    (void)state;
    HcScene scene = rich_scene();
    HcError err = {0};
    HcReader *reader = NULL;
    check_ok(write_scene(in_folder("a.nc"), &scene, NULL, &err), err);
    check_ok(hc_reader_open(&reader, in_folder("a.nc"), NULL, &err), err);
    const HcScene *back = hc_reader_scene(reader);
    for (int b = 0; b < 4; b++) {
        check_same(back->wavelength[b], scene.wavelength[b]);
        check_same(back->fwhm[b], scene.fwhm[b]);
        check_same(back->gain[b], scene.gain[b]);
        check_same(back->offset[b], scene.offset[b]);
        assert_int_equal(back->bad[b], scene.bad[b]);
        assert_string_equal(back->band_name[b], scene.band_name[b]);
    }
    assert_true(back->has_nodata && back->nodata == -9999);
    assert_string_equal(back->description, "a scene");
    for (int i = 0; i < 6; i++) {
        check_near(back->place.transform[i], scene.place.transform[i], 1e-8);
    }
    hc_reader_close(reader);
    /* Coordinates of pixels are no place. */
    free(scene.place.crs);
    scene.place = (HcPlace){0};
    HcWriterOptions again = {.overwrite = true};
    check_ok(write_scene(in_folder("a.nc"), &scene, &again, &err), err);
    check_ok(hc_reader_open(&reader, in_folder("a.nc"), NULL, &err), err);
    assert_false(hc_reader_scene(reader)->place.has_transform);
    assert_null(hc_reader_scene(reader)->place.crs);
    hc_reader_close(reader);
    hc_scene_clear(&scene);
}

int main(void) {
    GDALAllRegister();
    if (GDALGetDriverByName("netCDF") == NULL) {
        printf("skipped: GDAL has no netCDF here\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(types_and_compression, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(many_lines, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(says_all, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(one_scale, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(wavelengths_out_of_order, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(turned_and_geographic_grids, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(systems_that_cf_lacks, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(components, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(comes_back, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
