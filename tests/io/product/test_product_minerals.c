/* EMIT L2B minerals and L3 abundances: an array for each band, of several types; names and place; what is
 * missing is told. */
#include "product_check.h"

enum { BANDS = 4, MINERALS = 3 };

static const double none = -9999;
static const char *const arrays[BANDS] = {"group_1_mineral_id", "group_1_band_depth", "group_2_mineral_id",
                                          "group_2_band_depth"};
static const char *const fits[BANDS] = {"group_1_band_depth_unc", "group_1_fit", "group_2_band_depth_unc",
                                        "group_2_fit"};
static const int stored[BANDS] = {0, 1, 2, 3};

typedef enum Flaw { FLAW_NONE, FLAW_NO_ARRAY, FLAW_SIZE, FLAW_AXES, FLAW_NO_NAMES, FLAW_NO_TABLE } Flaw;

/* An array of lines and samples whose values are those of a band. */
static void put_flat(ProductFile *file, const char *name, int band, GDALDataType type, int lines) {
    const char *axis = lines == PRODUCT_LINES ? "downtrack" : "fewer";
    GDALMDArrayRelease(product_array(file, &(ProductArray){.group = "/",
                                                           .name = name,
                                                           .type = type,
                                                           .axes = 2,
                                                           .axis = {axis, "crosstrack", NULL},
                                                           .size = {(size_t)lines, PRODUCT_SAMPLES, 0},
                                                           .values = product_cube("lsb", 1, band),
                                                           .nodata = &none}));
}

static const char *write_minerals(const char *name, const char *const *names, GDALDataType ids, Flaw flaw) {
    static const char *const minerals[MINERALS] = {"Goethite A", "Hematite", "Calcite"};
    static const double numbers[MINERALS] = {1, 2, 4}, transform[] = {10, 0.5, 0, 50, 0, -0.5};
    const char *path = in_folder(name);
    double table[2 * 3] = {1, 2, 3, 1, 2, 3};
    ProductFile file = product_begin(path);
    for (int b = 0; b < BANDS - (flaw == FLAW_NO_ARRAY); b++) {
        bool is_last = b == BANDS - 1;
        put_flat(&file, names[b], b, b % 2 == 0 ? ids : GDT_Float32,
                 PRODUCT_LINES - (flaw == FLAW_SIZE && is_last));
    }
    if (flaw == FLAW_NO_ARRAY) {
        product_emit_cube(&file, (ProductArray){.name = "some_cube",
                                                .size = {PRODUCT_LINES, PRODUCT_SAMPLES, 2},
                                                .values = product_cube("lsb", 2, 0)});
    }
    if (flaw != FLAW_NO_NAMES) {
        product_words(&file, "/mineral_metadata", "name", "minerals", minerals, MINERALS);
        product_list(&file, "/mineral_metadata", "index", "minerals", numbers, MINERALS);
    }
    if (flaw != FLAW_NO_TABLE) {
        product_emit_lookup(&file, "glt_x", "ortho_y", 2, 3, table, NULL);
        product_emit_lookup(&file, "glt_y", "ortho_y", 2, 3, table, NULL);
    }
    product_numbers(NULL, file.root, "geotransform", transform, 6);
    product_end(&file);
    return path;
}

static void minerals_open(void **state) {
    (void)state;
    HcReader *reader = NULL;
    HcError err = {0};
    const char *path = write_minerals("EMIT_L2B_MIN_001.nc", arrays, GDT_Int16, FLAW_NONE);
    check_ok(hc_reader_open(&reader, path, NULL, &err), err);
    const HcScene *scene = hc_reader_scene(reader);
    assert_string_equal(hc_reader_product(reader), "EMIT L2B minerals");
    assert_int_equal(scene->bands, BANDS);
    assert_int_equal(scene->type, HC_FLOAT32);
    assert_true(scene->has_nodata && scene->nodata == -9999);
    assert_null(scene->wavelength);
    assert_string_equal(scene->number_names, "none\nGoethite A\nHematite\n-\nCalcite");
    for (int b = 0; b < BANDS; b++) {
        assert_string_equal(scene->band_name[b], arrays[b]);
    }
    assert_non_null(scene->lookup.sample);
    check_near(scene->lookup.place.transform[1], 0.5, 0);
    check_says(hc_reader_note(reader), "/group_1_band_depth makes all values float32");
    hc_reader_close(reader);
    check_cubes(path, stored);
    check_cubes(write_minerals("MIN_int.nc", arrays, GDT_UInt16, FLAW_NONE), stored);
    check_cubes(write_minerals("MIN_float.nc", arrays, GDT_Float32, FLAW_NONE), stored);
    path = write_minerals("MINUNCERT.nc", fits, GDT_Float32, FLAW_NO_NAMES);
    check_ok(hc_reader_open(&reader, path, NULL, &err), err);
    assert_string_equal(hc_reader_product(reader), "EMIT L2B mineral uncertainty");
    hc_reader_close(reader);
    check_cubes(path, stored);
}

static void flaws_are_told(void **state) {
    (void)state;
    check_refused(write_minerals("flaw.nc", arrays, GDT_Int16, FLAW_NO_ARRAY), HC_E_INPUT,
                  "there is no array /group_2_band_depth");
    check_refused(write_minerals("flaw.nc", arrays, GDT_Int16, FLAW_SIZE), HC_E_INPUT,
                  "/group_2_band_depth has 4 lines ... /group_1_mineral_id has 5");
    check_refused(write_minerals("flaw.nc", arrays, GDT_Int16, FLAW_NO_NAMES), HC_E_INPUT,
                  "there is no array /mineral_metadata/name");
    check_refused(write_minerals("flaw.nc", arrays, GDT_Int16, FLAW_NO_TABLE), HC_E_INPUT, "glt_x");
    const char *path = write_minerals("cut.nc", arrays, GDT_Int16, FLAW_NONE);
    assert_int_equal(truncate(path, 3000), 0);
    check_refused(path, HC_E_INPUT, "");
}

/* ---- the map of the Earth ---- */

static const char *const abundances[3] = {"Goethite", "Hematite", "Goethite_UQ_low_grainsize"};

/* Lines go from north to south, or the reverse. */
static const char *write_map(double first, double step, bool is_short, double bend) {
    const char *path = in_folder("EMIT_L3_ASA_002.nc");
    double y[PRODUCT_LINES], x[PRODUCT_SAMPLES];
    ProductFile file = product_begin(path);
    for (int i = 0; i < PRODUCT_LINES; i++) {
        y[i] = first + i * step + (i == 2 ? bend : 0);
    }
    for (int i = 0; i < PRODUCT_SAMPLES; i++) {
        x[i] = -179.75 + i * 0.5;
    }
    for (int b = 0; b < 3; b++) {
        put_flat(&file, abundances[b], b, GDT_Float32, PRODUCT_LINES);
    }
    product_list(&file, "/", is_short ? "lat" : "latitude", "downtrack", y, PRODUCT_LINES);
    product_list(&file, "/", is_short ? "lon" : "longitude", "crosstrack", x, PRODUCT_SAMPLES);
    product_end(&file);
    return path;
}

static void abundances_open(void **state) {
    (void)state;
    HcReader *reader = NULL;
    HcError err = {0};
    const char *path = write_map(89.75, -0.5, true, 0);
    check_ok(hc_reader_open(&reader, path, NULL, &err), err);
    assert_string_equal(hc_reader_product(reader), "EMIT L3 mineral spectral abundance");
    assert_int_equal(hc_reader_scene(reader)->bands, 3);
    assert_string_equal(hc_reader_scene(reader)->band_name[2], abundances[2]);
    check_transform(hc_reader_scene(reader), (double[]){-180, 0.5, 0, 90, 0, -0.5}, "WGS");
    hc_reader_close(reader);
    check_cubes(path, stored);
    check_ok(hc_reader_open(&reader, write_map(10.25, 0.5, false, 0), NULL, &err), err);
    check_transform(hc_reader_scene(reader), (double[]){-180, 0.5, 0, 10, 0, 0.5}, "WGS");
    hc_reader_close(reader);
    check_refused(write_map(89.75, -0.5, true, 0.1), HC_E_INPUT, "the steps of /lon or /lat are not equal");
    check_refused(write_map(89.75, NAN, true, 0), HC_E_INPUT, "the steps of");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(minerals_open),
        cmocka_unit_test(flaws_are_told),
        cmocka_unit_test(abundances_open),
    };
    if (!can_make_products()) {
        return 77;
    }
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
