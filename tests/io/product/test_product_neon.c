/* NEON AOP reflectance: a file laid out as its tutorials and importers say. */
#include "product_check.h"

enum { BANDS = 6 };

static const double centres[BANDS] = {1300, 1340, 1445, 1500, 1800, 2000};
static const double widths[BANDS] = {5.8, 5.8, 5.8, 5.8, 5.9, 5.9};
static const int stored[BANDS] = {0, 1, 2, 3, 4, 5};

typedef enum Flaw {
    FLAW_NONE,
    FLAW_COUNT,
    FLAW_SHORT_WINDOW,
    CROP, /* without windows and widths, as tools leave it */
    FLAW_NO_CUBE,
    FLAW_MAP_INFO,
    FLAW_NO_SPECTRA
} Flaw;

static void add_cube(ProductFile *file) {
    static const double nodata = -9999, scale = 10000;
    ProductArray of = {.group = "/SERC/Reflectance",
                       .name = "Reflectance_Data",
                       .type = GDT_Int16,
                       .axes = 3,
                       .axis = {"y", "x", "band"},
                       .size = {PRODUCT_LINES, PRODUCT_SAMPLES, BANDS},
                       .values = product_cube("lsb", BANDS, 0)};
    GDALMDArrayH array = product_array(file, &of);
    product_numbers(array, NULL, "Data_Ignore_Value", &nodata, 1);
    product_numbers(array, NULL, "Scale_Factor", &scale, 1);
    GDALMDArrayRelease(array);
}

static const char *write_neon(Flaw flaw) {
    static const double windows[2][2] = {{1340, 1445}, {1790, 1955}};
    const char *path = in_folder("tile.h5");
    ProductFile file = product_begin(path);
    if (flaw != FLAW_NO_CUBE) {
        add_cube(&file);
    }
    GDALGroupH group = product_group(&file, "/SERC/Reflectance");
    if (flaw != CROP) {
        product_numbers(NULL, group, "Band_Window_1_Nanometers", windows[0], 2);
        product_numbers(NULL, group, "Band_Window_2_Nanometers", windows[1],
                        flaw == FLAW_SHORT_WINDOW ? 1 : 2);
    }
    GDALGroupRelease(group);
    const char *spectral = "/SERC/Reflectance/Metadata/Spectral_Data";
    int fewer = flaw == FLAW_COUNT;
    if (flaw != FLAW_NO_SPECTRA) {
        product_list(&file, spectral, "Wavelength", fewer ? "fewer" : "band", centres,
                     (size_t)(BANDS - fewer));
        if (flaw != CROP) {
            product_list(&file, spectral, "FWHM", "band", widths, BANDS);
        }
    }
    product_string(&file, "/SERC/Reflectance/Metadata/Coordinate_System", "Map_Info",
                   flaw == FLAW_MAP_INFO ? "UTM"
                                         : "UTM, 1.000, 2.000, 368000.0, 4307000.0, 1.5, 1.5, 18, North");
    product_string(&file, "/SERC/Reflectance/Metadata/Coordinate_System", "EPSG Code", "32618");
    product_end(&file);
    return path;
}

static void a_tile_opens(void **state) {
    (void)state;
    static const double transform[] = {368000, 1.5, 0, 4307001.5, 0, -1.5};
    HcReader *reader = NULL;
    HcError err = {0};
    const char *path = write_neon(FLAW_NONE);
    check_ok(hc_reader_open(&reader, path, NULL, &err), err);
    const HcScene *scene = hc_reader_scene(reader);
    assert_string_equal(hc_reader_product(reader), "NEON AOP reflectance, site SERC");
    assert_int_equal(scene->type, HC_INT16);
    assert_true(scene->has_nodata && scene->nodata == -9999);
    check_list(scene->wavelength, centres, BANDS);
    check_list(scene->fwhm, widths, BANDS);
    for (int32_t b = 0; b < BANDS; b++) {
        assert_int_equal(scene->bad[b], b == 1 || b == 2 || b == 4); /* the ends of a window are in it */
        check_near(scene->gain[b], 1e-4, 1e-18);
    }
    check_transform(scene, transform, "UTM zone 18N");
    hc_reader_close(reader);
    check_cubes(path, stored);
}

static void a_crop_opens(void **state) {
    (void)state;
    HcReader *reader = NULL;
    HcError err = {0};
    const char *path = write_neon(CROP);
    check_ok(hc_reader_open(&reader, path, NULL, &err), err);
    const HcScene *scene = hc_reader_scene(reader);
    const char *note = hc_reader_note(reader);
    check_list(scene->wavelength, centres, BANDS);
    assert_null(scene->fwhm);
    assert_null(scene->bad);
    assert_non_null(strstr(note, "no Band_Window_1_Nanometers"));
    assert_non_null(strstr(note, "no Band_Window_2_Nanometers"));
    assert_non_null(strstr(note, "no FWHM"));
    hc_reader_close(reader);
    check_cubes(path, stored);
}

static void flaws_are_told(void **state) {
    (void)state;
    check_refused(write_neon(FLAW_COUNT), HC_E_INPUT, "Wavelength has 5 values for 6 bands");
    check_refused(write_neon(FLAW_SHORT_WINDOW), HC_E_INPUT, "Band_Window_2_Nanometers has 1 values for 2");
    check_refused(write_neon(FLAW_NO_CUBE), HC_E_INPUT, "no array /SERC/Reflectance/Reflectance_Data");
    check_refused(write_neon(FLAW_NO_SPECTRA), HC_E_INPUT,
                  "no array /SERC/Reflectance/Metadata/Spectral_Data/Wavelength");
    check_refused(write_neon(FLAW_MAP_INFO), HC_E_INPUT, "Map_Info is 'UTM'");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_tile_opens), cmocka_unit_test(a_crop_opens),
                                       cmocka_unit_test(flaws_are_told)};
    if (!can_make_products()) {
        return 77;
    }
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
