/* Tanager-1 and HYPSO: wavelengths are attributes of the cube. */
#include "io/training/training.h"
#include "io/view/view.h"
#include "product_check.h"

#include <unistd.h>

enum { BANDS = 6 };

static const double centres[BANDS] = {376.4, 381.4, 386.4, 391.4, 396.4, 401.4};
static const double widths[BANDS] = {5.5, 5.5, 5.5, 5.5, 5.6, 5.6};
static const double good[BANDS] = {1, 1, 0, 1, 1, 0};
static const int stored[BANDS] = {0, 1, 2, 3, 4, 5};

typedef enum Flaw { FLAW_NONE, FLAW_COUNT, FLAW_NO_WAVELENGTHS, FLAW_NO_CORNER } Flaw;

static void add_cube(ProductFile *file, const char *group, const char *name, const char *order, Flaw flaw) {
    bool last = order[2] == 'b';
    ProductArray of = {
        .group = group,
        .name = name,
        .type = GDT_Float32,
        .axes = 3,
        .axis = {last ? "lines" : "bands", last ? "samples" : "lines", last ? "bands" : "samples"},
        .size = {last ? PRODUCT_LINES : BANDS, last ? PRODUCT_SAMPLES : PRODUCT_LINES,
                 last ? BANDS : PRODUCT_SAMPLES},
        .values = product_cube(order, BANDS, 0),
        .units = "W/(m^2 sr um)"};
    GDALMDArrayH array = product_array(file, &of);
    if (flaw != FLAW_NO_WAVELENGTHS) {
        product_numbers(array, NULL, "wavelengths", centres, flaw == FLAW_COUNT ? BANDS - 1 : BANDS);
    }
    product_numbers(array, NULL, "fwhm", widths, BANDS);
    product_numbers(array, NULL, "good_wavelengths", good, BANDS);
    GDALMDArrayRelease(array);
}

static const char *write_tanager(bool ortho, Flaw flaw) {
    const char *path = in_folder("scene.h5");
    ProductFile file = product_begin(path);
    add_cube(&file, ortho ? "/HDFEOS/GRIDS/HYP/Data Fields" : "/HDFEOS/SWATHS/HYP/Data Fields",
             ortho ? "surface_reflectance" : "toa_radiance", "bls", flaw);
    if (ortho) {
        product_number(&file, "/HDFEOS/GRIDS/HYP", "epsg_code", 32734);
        product_string(&file, "/HDFEOS INFORMATION", "StructMetadata.0",
                       flaw == FLAW_NO_CORNER
                           ? "GROUP=GridStructure\n"
                           : "GROUP=GridStructure\n\t\tUpperLeftPointMtrs=(345660.000000,6286110.000000)\n"
                             "\t\tLowerRightMtrs=(345840.000000,6285960.000000)\n");
    }
    product_end(&file);
    return path;
}

static void check_scene(const char *path, const char *name, const double *transform, bool flags) {
    HcReader *reader = NULL;
    HcError err = {0};
    check_ok(hc_reader_open(&reader, path, NULL, &err), err);
    const HcScene *scene = hc_reader_scene(reader);
    assert_string_equal(hc_reader_product(reader), name);
    check_list(scene->wavelength, centres, BANDS);
    check_list(scene->fwhm, widths, BANDS);
    for (int32_t b = 0; b < BANDS; b++) {
        assert_int_equal(scene->bad != NULL && scene->bad[b], flags && good[b] == 0);
    }
    if (transform != NULL) {
        check_transform(scene, transform, "UTM zone 34S");
    } else {
        assert_false(scene->place.has_transform);
        assert_non_null(strstr(hc_reader_note(reader), "sensor geometry"));
    }
    hc_reader_close(reader);
    check_cubes(path, stored);
}

static void scenes_open(void **state) {
    (void)state;
    static const double transform[] = {345660, 30, 0, 6286110, 0, -30};
    check_scene(write_tanager(false, FLAW_NONE), "Tanager basic radiance (W/(m^2 sr um))", NULL, true);
    check_scene(write_tanager(true, FLAW_NONE), "Tanager ortho reflectance (W/(m^2 sr um))", transform, true);
}

static void flaws_are_told(void **state) {
    (void)state;
    check_refused(write_tanager(false, FLAW_COUNT), HC_E_INPUT, "wavelengths has 5 values for 6");
    check_refused(write_tanager(false, FLAW_NO_WAVELENGTHS), HC_E_INPUT,
                  "no attribute wavelengths of /HDFEOS");
    check_refused(write_tanager(true, FLAW_NO_CORNER), HC_E_INPUT, "StructMetadata.0 has no");
}

/* GDAL reads a text of a file with this ending from memory that it has freed: refused, with the cure. */
static void another_ending_is_told(void **state) {
    (void)state;
    char path[700];
    snprintf(path, sizeof path, "%s", in_folder("scene.nc"));
    assert_int_equal(rename(write_tanager(true, FLAW_NONE), path), 0);
    check_refused(path, HC_E_INPUT, "StructMetadata.0 ... the ending .nc: rename it to .h5");
    unlink(path);
}

static void hypso_opens(void **state) {
    (void)state;
    double zero = 0;
    const char *path = in_folder("hypso.nc");
    ProductFile file = product_begin(path);
    add_cube(&file, "/products", "Lt", "lsb", FLAW_NONE);
    product_list(&file, "/navigation", "unixtime", "one", &zero, 1);
    product_end(&file);
    check_scene(path, "HYPSO L1 Lt (W/(m^2 sr um))", NULL, false);
    file = product_begin(path);
    add_cube(&file, "/products", "Lt", "lsb", FLAW_COUNT);
    product_list(&file, "/navigation", "unixtime", "one", &zero, 1);
    product_end(&file);
    check_refused(path, HC_E_INPUT, "wavelengths has 5 values for 6");
}

/* Reflectance as an array for each band, whose names are not in the order of wavelengths. */
static void hypso_bands_open(void **state) {
    (void)state;
    static const char *const names[] = {"rhot_1000", "rhot_660", "rhot_663"};
    static const double wavelengths[] = {1000.4, 660.1, 663.6}, width = 5.5, zero = 0;
    static const int from[] = {1, 2, 0};
    const char *path = in_folder("hypso-l1d.nc");
    HcReader *reader = NULL;
    HcError err = {0};
    for (int flaw = 0; flaw < 2; flaw++) {
        ProductFile file = product_begin(path);
        for (int b = 0; b < 3; b++) {
            GDALMDArrayH array =
                product_array(&file, &(ProductArray){.group = "/products",
                                                     .name = names[b],
                                                     .type = GDT_Float64,
                                                     .axes = 2,
                                                     .axis = {"lines", "samples", NULL},
                                                     .size = {PRODUCT_LINES, PRODUCT_SAMPLES, 0},
                                                     .values = product_cube("lsb", 1, b)});
            product_numbers(array, NULL, flaw && b == 2 ? "wave" : "wavelength", &wavelengths[b], 1);
            product_numbers(array, NULL, "fwhm", &width, 1);
            GDALMDArrayRelease(array);
        }
        product_list(&file, "/navigation", "unixtime", "one", &zero, 1);
        product_end(&file);
        if (flaw) {
            check_refused(path, HC_E_INPUT, "there is no attribute wavelength of /products/rhot_663");
            continue;
        }
        check_ok(hc_reader_open(&reader, path, NULL, &err), err);
        assert_string_equal(hc_reader_product(reader), "HYPSO L1d rhot");
        check_list(hc_reader_scene(reader)->wavelength, (double[]){660.1, 663.6, 1000.4}, 3);
        check_near(hc_reader_scene(reader)->fwhm[2], 5.5, 0);
        hc_reader_close(reader);
        check_cubes(path, from);
    }
}

/* Values of HICO are stored times 0.02, under either name; its coordinates are plural. */
static void hico_opens(void **state) {
    (void)state;
    static const char *const gains[] = {"scale_factor", "slope"}, *const offsets[] = {"add_offset",
                                                                                      "intercept"};
    static const double gain = 0.02, offset = -3;
    for (int n = 0; n < 2; n++) {
        HcReader *reader = NULL;
        HcError err = {0};
        const char *path = in_folder("hico.nc");
        const double zeros[4] = {0};
        ProductFile file = product_begin(path);
        add_cube(&file, "/products", "Lt", "lsb", FLAW_NONE);
        GDALGroupH group = product_group(&file, "/products");
        GDALMDArrayH cube = GDALGroupOpenMDArray(group, "Lt", NULL);
        product_numbers(cube, NULL, gains[n], &gain, 1);
        product_numbers(cube, NULL, offsets[n], &offset, 1);
        GDALMDArrayRelease(cube);
        GDALGroupRelease(group);
        product_list(&file, "/navigation", "latitudes", "four", zeros, 4);
        product_list(&file, "/navigation", "longitudes", "four", zeros, 4);
        product_end(&file);
        check_ok(hc_reader_open(&reader, path, NULL, &err), err);
        const HcScene *scene = hc_reader_scene(reader);
        assert_string_equal(hc_reader_product(reader), "HICO L1B Lt (W/(m^2 sr um))");
        check_near(scene->gain[1], gain, 1e-15);
        check_near(scene->offset[1], offset, 1e-15);
        assert_string_equal(scene->lookup.x, "/navigation/longitudes");
        assert_string_equal(scene->lookup.y, "/navigation/latitudes");
        hc_reader_close(reader);
        unlink(path);
    }
}

/* Without the group of coordinates, no product is taken for HYPSO or HICO. */
static void a_cube_without_navigation_is_told(void **state) {
    (void)state;
    HcReader *reader = NULL;
    HcError err = {0};
    const char *path = in_folder("alone.nc");
    ProductFile file = product_begin(path);
    add_cube(&file, "/products", "Lt", "lsb", FLAW_NONE);
    product_end(&file);
    assert_int_equal(hc_reader_open(&reader, path, NULL, &err), HC_E_INPUT);
    assert_non_null(
        strstr(err.text, "alone.nc: it has /products/Lt of HYPSO and HICO, but no group /navigation"));
    assert_null(reader);
    unlink(path);
}

/* Where a pixel of the turned scene lies [degrees]. */
static void place_of(int line, int sample, double *longitude, double *latitude) {
    *longitude = 10 + 0.001 * (0.8 * sample - 0.6 * line);
    *latitude = 50 + 0.001 * (0.6 * sample + 0.8 * line);
}

static const char *write_turned_hypso(void) {
    const char *path = in_folder("turned.nc");
    double longitude[PRODUCT_LINES * PRODUCT_SAMPLES], latitude[PRODUCT_LINES * PRODUCT_SAMPLES];
    for (int p = 0; p < PRODUCT_LINES * PRODUCT_SAMPLES; p++) {
        place_of(p / PRODUCT_SAMPLES, p % PRODUCT_SAMPLES, &longitude[p], &latitude[p]);
    }
    ProductFile file = product_begin(path);
    add_cube(&file, "/products", "Lt", "lsb", FLAW_NONE);
    for (int which = 0; which < 2; which++) {
        ProductArray of = {.group = "/navigation",
                           .name = which == 0 ? "longitude" : "latitude",
                           .type = GDT_Float64,
                           .axes = 2,
                           .axis = {"lines", "samples"},
                           .size = {PRODUCT_LINES, PRODUCT_SAMPLES},
                           .values = which == 0 ? longitude : latitude};
        GDALMDArrayRelease(product_array(&file, &of));
    }
    product_end(&file);
    return path;
}

/* What a mask leaves of the window of a view, against the triangle itself: x > west, y > south, x + y < end.
 */
static void check_triangle(const HcViewOptions *options, bool inside, int line0, int sample0) {
    HcView *view = NULL;
    HcError err = {0};
    HcRaw raw;
    int counted[2] = {0};
    check_ok(hc_view_open(&view, in_folder("turned.nc"), options, &err), err);
    const HcScene *scene = hc_view_scene(view);
    void *buffer = malloc(hc_view_bytes(view, (int32_t)scene->lines));
    check_ok(hc_view_read(view, 0, (int32_t)scene->lines, buffer, &raw, &err), err);
    for (int line = 0; line < scene->lines; line++) {
        for (int sample = 0; sample < scene->samples; sample++) {
            double x, y;
            place_of(line0 + line, sample0 + sample, &x, &y);
            bool in = x > 9.9999 && y > 50.0005 && x + y < 60.0052;
            assert_int_equal(raw.user_mask[line * scene->samples + sample], in == inside);
            counted[in]++;
        }
    }
    assert_true(counted[1] > 4);
    free(buffer);
    hc_view_close(view);
}

/* Pixels in sensor geometry belong to polygons by their own coordinates. */
static void polygons_over_coordinates(void **state) {
    (void)state;
    static const char *const triangle =
        "{\"type\":\"Polygon\",\"coordinates\":[[[9.9999,50.0005],[10.0047,50.0005],[9.9999,50.0053],"
        "[9.9999,50.0005]]]}";
    HcError err = {0};
    HcView *view = NULL;
    write_turned_hypso();
    put_file(in_folder("triangle.geojson"), triangle);
    put_file(in_folder("far.geojson"), "{\"type\":\"Polygon\",\"coordinates\":[[[1,1],[2,1],[1,2],[1,1]]]}");
    const char *const masks[] = {in_folder("triangle.geojson"), NULL};
    const char *const far[] = {in_folder("far.geojson"), NULL};
    check_triangle(&(HcViewOptions){.masks = masks}, true, 0, 0);
    check_triangle(&(HcViewOptions){.masks_inside = masks}, false, 0, 0);
    /* Pixels of the triangle are those of lines 0 to 3 and samples 1 to 5. */
    check_triangle(&(HcViewOptions){.cutline = masks[0]}, true, 0, 1);
    assert_int_equal(hc_view_open(&view, in_folder("turned.nc"), &(HcViewOptions){.masks = far}, &err),
                     HC_E_INPUT);
    assert_non_null(strstr(err.text, "far.geojson: does not touch the scene"));
}

/* Training polygons and points hold pixels by these, too: a point the pixel that is nearest. */
static void training_over_coordinates(void **state) {
    (void)state;
    static const char *const areas =
        "{\"type\":\"FeatureCollection\",\"features\":["
        "{\"type\":\"Feature\",\"properties\":{\"kind\":\"a\"},\"geometry\":{\"type\":\"Polygon\","
        "\"coordinates\":"
        "[[[9.9999,50.0005],[10.0047,50.0005],[9.9999,50.0053],[9.9999,50.0005]]]}},"
        "{\"type\":\"Feature\",\"properties\":{\"kind\":\"b\"},\"geometry\":{\"type\":\"Point\","
        "\"coordinates\":"
        "[%.7f,%.7f]}}]}";
    char text[900];
    double x, y;
    HcView *view = NULL;
    HcError err = {0};
    HcLabelled got = {0};
    write_turned_hypso();
    place_of(PRODUCT_LINES - 1, 2, &x, &y);
    snprintf(text, sizeof text, areas, x + 1e-5, y - 1e-5);
    put_file(in_folder("areas.geojson"), text);
    check_ok(hc_view_open(&view, in_folder("turned.nc"), &(HcViewOptions){0}, &err), err);
    check_ok(hc_labelled_read(in_folder("areas.geojson"), NULL, NULL, hc_view_scene(view), &got, &err), err);
    int64_t at = 0;
    for (int line = 0; line < PRODUCT_LINES; line++) {
        for (int sample = 0; sample < PRODUCT_SAMPLES; sample++) {
            place_of(line, sample, &x, &y);
            bool in = x > 9.9999 && y > 50.0005 && x + y < 60.0052;
            bool point = line == PRODUCT_LINES - 1 && sample == 2;
            assert_false(in && point);
            if (in || point) {
                assert_true(at < got.count);
                assert_int_equal(got.line[at], line);
                assert_int_equal(got.sample[at], sample);
                assert_int_equal(got.label[at], point ? 2 : 1);
                at++;
            }
        }
    }
    assert_int_equal(got.count, at);
    hc_labelled_clear(&got);
    hc_view_close(view);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scenes_open),
        cmocka_unit_test(flaws_are_told),
        cmocka_unit_test(another_ending_is_told),
        cmocka_unit_test(hypso_opens),
        cmocka_unit_test(hypso_bands_open),
        cmocka_unit_test(hico_opens),
        cmocka_unit_test(a_cube_without_navigation_is_told),
        cmocka_unit_test(polygons_over_coordinates),
        cmocka_unit_test(training_over_coordinates),
    };
    if (!can_make_products()) {
        return 77;
    }
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
