/* Swaths: PACE OCI L1B and L2, and cubes whose attributes name their coordinates; values, wavelengths, flags
 * and coordinates; what is missing is told. */
#include "io/view/view.h"
#include "product_check.h"

#include <unistd.h>

enum { PIXELS = PRODUCT_LINES * PRODUCT_SAMPLES, BLUE = 4, RED = 3, SWIR = 3, BANDS = BLUE + RED + SWIR };

static const double none = -32767;

typedef enum Flaw {
    FLAW_NONE,
    FLAW_CHUNKS,
    FLAW_NO_ARM,
    FLAW_NO_PLACE,
    FLAW_SIZE,
    FLAW_FILL,
    FLAW_COUNT,
    FLAW_MASK_SIZE,
    FLAW_MEANINGS,
    FLAW_NO_GROUP
} Flaw;

static void put_flat(ProductFile *file, const char *group, const char *name, GDALDataType type, size_t lines,
                     const double *values) {
    ProductArray of = {.group = group,
                       .name = name,
                       .type = type,
                       .axes = 2,
                       .axis = {lines == PRODUCT_LINES ? "scans" : "fewer", "pixels", NULL},
                       .size = {lines, PRODUCT_SAMPLES, 0},
                       .values = values};
    GDALMDArrayRelease(product_array(file, &of));
}

static void put_place(ProductFile *file, const char *group, const char *const names[2], size_t lines) {
    double x[PIXELS], y[PIXELS];
    for (int i = 0; i < PIXELS; i++) {
        x[i] = 10 + i % PRODUCT_SAMPLES;
        y[i] = 50 - (double)(i / PRODUCT_SAMPLES);
    }
    put_flat(file, group, names[0], GDT_Float32, lines, x);
    put_flat(file, group, names[1], GDT_Float32, lines, y);
}

static const char *const place[2] = {"longitude", "latitude"};

/* ---- L1B ---- */

static void put_arm(ProductFile *file, const char *arm, int bands, int first, const double *centres,
                    Flaw flaw) {
    char name[40], axis[40];
    snprintf(axis, sizeof axis, "%s_bands", arm);
    snprintf(name, sizeof name, "rhot_%s", arm);
    ProductArray of = {.group = "/observation_data",
                       .name = name,
                       .type = GDT_Float32,
                       .axes = 3,
                       .axis = {axis, "scans", "pixels"},
                       .size = {(size_t)bands, PRODUCT_LINES, PRODUCT_SAMPLES},
                       .values = product_cube("bls", bands, first),
                       .nodata = &none,
                       .chunks = flaw == FLAW_CHUNKS ? "2,3,4" : NULL,
                       .units = "dimensionless"};
    GDALMDArrayRelease(product_array(file, &of));
    snprintf(name, sizeof name, "%s_wavelength", arm);
    product_list(file, "/sensor_band_parameters", name, axis, centres, (size_t)bands);
}

static const char *write_l1b(const char *name, Flaw flaw) {
    static const double blue[BLUE] = {590.579, 600.839, 603.3425, 605.7052};
    static const double red[RED] = {600.4462, 602.92, 607.8};
    static const double swir[SWIR] = {1250.375, 1248.55, 2258.429};
    const double bad[RED] = {600.4462, none, 607.8};
    const char *path = in_folder(name);
    double water[PIXELS] = {0};
    ProductFile file = product_begin(path);
    product_text(NULL, file.root, "platform", "PACE");
    product_text(NULL, file.root, "instrument", "OCI");
    product_text(NULL, file.root, "processing_level", "L1B");
    put_arm(&file, "blue", BLUE, 0, blue, flaw);
    put_arm(&file, "red", RED, BLUE, flaw == FLAW_FILL ? bad : red, flaw);
    if (flaw != FLAW_NO_ARM) {
        put_arm(&file, "SWIR", SWIR, BLUE + RED, swir, flaw);
    }
    if (flaw != FLAW_NO_PLACE) {
        put_place(&file, "/geolocation_data", place, PRODUCT_LINES - (flaw == FLAW_SIZE));
    }
    water[7] = 1;
    put_flat(&file, "/geolocation_data", "watermask", GDT_Byte, PRODUCT_LINES, water);
    product_end(&file);
    return path;
}

/* By wavelength: those of blue and red lie between each other. */
static void detectors_are_joined(void **state) {
    (void)state;
    static const int stored[BANDS] = {0, 4, 1, 5, 2, 3, 6, 8, 7, 9};
    static const double centres[BANDS] = {590.579,  600.4462, 600.839, 602.92,   603.3425,
                                          605.7052, 607.8,    1248.55, 1250.375, 2258.429};
    HcReader *reader = NULL;
    HcError err = {0};
    int32_t layers = 0;
    const char *path = write_l1b("PACE_OCI.20260404T140251.L1B.V3.nc", FLAW_NONE);
    check_layers_in_table(path);
    check_ok(hc_reader_open(&reader, path, NULL, &err), err);
    const HcScene *scene = hc_reader_scene(reader);
    assert_string_equal(hc_reader_product(reader), "PACE OCI L1B rhot");
    assert_int_equal(scene->bands, BANDS);
    check_list(scene->wavelength, centres, BANDS);
    assert_null(scene->fwhm);
    assert_true(scene->has_nodata && scene->nodata == none);
    assert_string_equal(scene->lookup.x, "/geolocation_data/longitude");
    assert_string_equal(scene->lookup.y, "/geolocation_data/latitude");
    assert_string_equal(hc_reader_layers(reader, &layers)[0].name, "water");
    assert_int_equal(layers, 1);
    hc_reader_close(reader);
    check_cubes(path, stored);
    check_cubes(write_l1b("chunks.nc", FLAW_CHUNKS), stored);
    check_bad(path, HC_OVERLAP_USUAL, "0000000000",
              "from 600.4 to 605.7 nm bands of two detectors take turns");
    check_bad(path, HC_OVERLAP_BOTH, "0000000000", "spectra have spikes there");
    check_bad(path, HC_OVERLAP_SWIR, "0010110000", "3 blue bands there count as bad");
    check_bad(path, HC_OVERLAP_VNIR, "0101000000", "2 red bands there count as bad");
}

static void flaws_of_l1b_are_told(void **state) {
    (void)state;
    check_refused(write_l1b("flaw.nc", FLAW_NO_ARM), HC_E_INPUT,
                  "there is no array /observation_data/rhot_SWIR");
    check_refused(write_l1b("flaw.nc", FLAW_NO_PLACE), HC_E_INPUT,
                  "there is no array /geolocation_data/latitude");
    check_refused(write_l1b("flaw.nc", FLAW_SIZE), HC_E_INPUT,
                  "/observation_data/rhot_blue has 4 x 5 x 6 values ... has 4 lines x 6 samples");
    check_refused(write_l1b("flaw.nc", FLAW_FILL), HC_E_INPUT, "band 2 of PACE OCI L1B rhot ... -32767 nm");
    const char *path = write_l1b("cut.nc", FLAW_NONE);
    assert_int_equal(truncate(path, 3000), 0);
    check_refused(path, HC_E_INPUT, "");
}

/* ---- L2 ---- */

static void put_flags(ProductFile *file, Flaw flaw) {
    static const double masks[] = {1, 2, 512, 33554432, 134217728, -2147483648.0};
    double flags[PIXELS] = {0};
    flags[3] = 512;
    flags[4] = 512 + 2;
    flags[9] = 33554432 + 1;
    flags[11] = -2147483648.0;
    ProductArray of = {.group = "/geophysical_data",
                       .name = "l2_flags",
                       .type = GDT_Int32,
                       .axes = 2,
                       .axis = {flaw == FLAW_MASK_SIZE ? "fewer" : "scans", "pixels", NULL},
                       .size = {PRODUCT_LINES - (flaw == FLAW_MASK_SIZE), PRODUCT_SAMPLES, 0},
                       .values = flags};
    GDALMDArrayH array = product_array(file, &of);
    product_numbers(array, NULL, "flag_masks", masks, 6);
    product_text(array, NULL, "flag_meanings",
                 flaw == FLAW_MEANINGS ? "ATMFAIL LAND" : "ATMFAIL LAND CLDICE NAVFAIL SPARE27 LAST");
    GDALMDArrayRelease(array);
}

/* Cubes of int16 with a scale, or (cubes 0) arrays of lines and samples. */
static const char *write_l2(const char *name, int cubes, Flaw flaw) {
    static const char *const names[] = {"a", "Rrs"};
    static const double centres[] = {346, 351, 356, 1618}, scale = 2e-6, offset = 0.05;
    const char *path = in_folder(name);
    ProductFile file = product_begin(path);
    product_text(NULL, file.root, "instrument", "OCI");
    for (int c = 0; c < cubes; c++) {
        ProductArray of = {.group = "/geophysical_data",
                           .name = names[c],
                           .type = GDT_Int16,
                           .axes = 3,
                           .axis = {"scans", "pixels", "wavelength_3d"},
                           .size = {PRODUCT_LINES, PRODUCT_SAMPLES, 4},
                           .values = product_cube("lsb", 4, 0),
                           .nodata = &none};
        GDALMDArrayH array = product_array(&file, &of);
        product_numbers(array, NULL, "scale_factor", &scale, 1);
        product_numbers(array, NULL, "add_offset", &offset, 1);
        GDALMDArrayRelease(array);
    }
    for (int f = 0; f < 2 && cubes == 0; f++) {
        put_flat(&file, "/geophysical_data", f == 0 ? "chlor_a" : "poc", f == 0 ? GDT_Float32 : GDT_Int16,
                 PRODUCT_LINES, product_cube("lsb", 1, f));
    }
    put_flags(&file, flaw);
    if (flaw != FLAW_NO_GROUP) {
        product_list(&file, "/sensor_band_parameters", "wavelength", "all_bands", (double[]){1, 2, 3, 4, 5},
                     5);
        product_list(&file, "/sensor_band_parameters", "wavelength_3d",
                     flaw == FLAW_COUNT ? "three" : "wavelength_3d", centres, 4 - (flaw == FLAW_COUNT));
    }
    put_place(&file, "/navigation_data", place, PRODUCT_LINES);
    product_end(&file);
    return path;
}

static void reflectance_is_chosen(void **state) {
    (void)state;
    static const int stored[] = {0, 1, 2, 3};
    HcReader *reader = NULL;
    HcError err = {0};
    const char *path = write_l2("PACE_OCI.L2.nc", 2, FLAW_NONE);
    check_ok(hc_reader_open(&reader, path, NULL, &err), err);
    const HcScene *scene = hc_reader_scene(reader);
    assert_string_equal(hc_reader_product(reader), "OCI Rrs");
    check_list(scene->wavelength, (double[]){346, 351, 356, 1618}, 4);
    check_near(scene->gain[3], 2e-6, 1e-18);
    check_near(scene->offset[3], 0.05, 1e-12);
    assert_true(scene->has_nodata && scene->nodata == none);
    check_says(hc_reader_note(reader), "a is not read");
    hc_reader_close(reader);
    check_cubes(path, stored);
    path = write_l2("BGC.nc", 0, FLAW_NONE);
    check_ok(hc_reader_open(&reader, path, NULL, &err), err);
    assert_int_equal(hc_reader_scene(reader)->bands, 2);
    assert_string_equal(hc_reader_scene(reader)->band_name[1], "poc");
    hc_reader_close(reader);
    check_cubes(path, stored);
}

/* Pixels of a scene that stay, as 0 and 1. */
static void check_mask(const char *path, const HcViewOptions *options, const int *left_out, int count) {
    HcView *view = NULL;
    HcError err = {0};
    HcRaw raw;
    check_ok(hc_view_open(&view, path, options, &err), err);
    void *buffer = malloc(hc_view_bytes(view, PRODUCT_LINES));
    check_ok(hc_view_read(view, 0, PRODUCT_LINES, buffer, &raw, &err), err);
    for (int i = 0; i < PIXELS; i++) {
        bool out = false;
        for (int k = 0; k < count; k++) {
            out = out || left_out[k] == i;
        }
        assert_int_equal(raw.user_mask == NULL || raw.user_mask[i] != 0, !out);
    }
    free(buffer);
    hc_view_close(view);
}

static void flags_leave_pixels_out(void **state) {
    (void)state;
    static const char *const land[] = {"LAND", NULL}, *const last[] = {"last", NULL};
    HcReader *reader = NULL;
    HcError err = {0};
    HcView *view = NULL;
    int32_t count = 0;
    const char *path = write_l2("flags.nc", 1, FLAW_NONE);
    check_ok(hc_reader_open(&reader, path, NULL, &err), err);
    const HcProductLayer *layer = hc_reader_layers(reader, &count);
    assert_int_equal(count, 5); /* a spare one is none */
    assert_string_equal(layer[2].name, "cldice");
    assert_true(!layer[1].usual && layer[2].usual && layer[3].usual && !layer[4].usual);
    hc_reader_close(reader);
    check_mask(path, &(HcViewOptions){.no_quality = false}, (int[]){3, 4, 9}, 3);
    check_mask(path, &(HcViewOptions){.no_quality = true, .masks = land}, (int[]){4}, 1);
    check_mask(path, &(HcViewOptions){.no_quality = true, .masks = last}, (int[]){11}, 1);
    path = write_l2("small.nc", 1, FLAW_MASK_SIZE);
    assert_int_equal(hc_view_open(&view, path, &(HcViewOptions){.no_quality = false}, &err), HC_E_INPUT);
    check_says(err.text, "has 4 lines x 6 samples ... has 5 x 6");
}

static void flaws_of_l2_are_told(void **state) {
    (void)state;
    check_refused(write_l2("flaw.nc", 1, FLAW_COUNT), HC_E_INPUT,
                  "/sensor_band_parameters has no list of 4 wavelengths");
    check_refused(write_l2("flaw.nc", 1, FLAW_NO_GROUP), HC_E_INPUT, "no list of 4 wavelengths");
    check_refused(write_l2("flaw.nc", 1, FLAW_MEANINGS), HC_E_INPUT, "2 flag_meanings for 6 flag_masks");
}

/* ---- CF ---- */

static const char *write_cf(const char *list, const char *coordinates) {
    static const char *const names[2] = {"lon", "lat"};
    const char *path = in_folder("cf.nc");
    ProductFile file = product_begin(path);
    ProductArray of = {.group = "/",
                       .name = "radiance",
                       .type = GDT_Float32,
                       .axes = 3,
                       .axis = {"channel", "scans", "pixels"},
                       .size = {3, PRODUCT_LINES, PRODUCT_SAMPLES},
                       .values = product_cube("bls", 3, 0)};
    GDALMDArrayH array = product_array(&file, &of);
    product_text(array, NULL, "coordinates", coordinates);
    GDALMDArrayRelease(array);
    put_place(&file, "/", names, PRODUCT_LINES);
    ProductArray centres = {.group = "/",
                            .name = list,
                            .type = GDT_Float64,
                            .axes = 1,
                            .axis = {"channel", NULL, NULL},
                            .size = {3, 0, 0},
                            .values = (double[]){0.5, 0.6, 0.7},
                            .units = "um"};
    GDALMDArrayRelease(product_array(&file, &centres));
    product_end(&file);
    return path;
}

static void coordinates_make_a_swath(void **state) {
    (void)state;
    static const int stored[] = {0, 1, 2};
    HcReader *reader = NULL;
    HcError err = {0};
    const char *path = write_cf("wavelength", "lon lat");
    check_ok(hc_reader_open(&reader, path, NULL, &err), err);
    assert_string_equal(hc_reader_product(reader), "radiance");
    check_list(hc_reader_scene(reader)->wavelength, (double[]){500, 600, 700}, 3);
    assert_string_equal(hc_reader_scene(reader)->lookup.y, "/lat");
    hc_reader_close(reader);
    check_cubes(path, stored);
    HcStatus status = hc_reader_open(&reader, write_cf("time", "lon lat"), NULL, &err);
    assert_true(status != HC_OK || hc_reader_product(reader) == NULL); /* no spectra */
    hc_reader_close(reader);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(detectors_are_joined),  cmocka_unit_test(flaws_of_l1b_are_told),
        cmocka_unit_test(reflectance_is_chosen), cmocka_unit_test(flags_leave_pixels_out),
        cmocka_unit_test(flaws_of_l2_are_told),  cmocka_unit_test(coordinates_make_a_swath),
    };
    if (!can_make_products()) {
        return 77;
    }
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
