/* EMIT: files laid out as its product guide says, value for value; and what is missing is told. */
#include "io/chunk/index.h"
#include "product_check.h"

enum { BANDS = 6 };

static const double centres[BANDS] = {381, 388.4, 395.8, 403.2, 410.6, 418};
static const double widths[BANDS] = {8.4, 8.4, 8.4, 8.4, 8.4, 8.8};
static const double good[BANDS] = {1, 1, 0, 0, 1, 1};
static const double none = -9999;

/* What is wrong with a file, or how it is stored. */
typedef enum Flaw {
    FLAW_NONE,
    FLAW_CHUNKS,
    FLAW_UNUSED,
    FLAW_CHUNKS_FALL,
    FLAW_NO_WIDTHS,
    FLAW_COUNT,
    FLAW_SHAPE,
    FLAW_NO_GLT,
    FLAW_NO_CENTRES,
    FLAW_FALLS,
    FLAW_EQUAL,
    FLAW_TURNS,
    FLAW_NAN,
    FLAW_BELOW,
    FLAW_FILL,
    FLAW_ZEROS
} Flaw;

/* The wavelengths of a file with such a flaw. */
static const double *flawed_centres(Flaw flaw) {
    static double list[BANDS];
    for (int b = 0; b < BANDS; b++) {
        bool falls = flaw == FLAW_FALLS || flaw == FLAW_CHUNKS_FALL;
        list[b] = falls ? centres[BANDS - 1 - b] : flaw == FLAW_ZEROS ? 0 : centres[b];
    }
    list[2] = flaw == FLAW_NAN     ? NAN
              : flaw == FLAW_BELOW ? -395.8
              : flaw == FLAW_FILL  ? 9.96921e36
              : flaw == FLAW_EQUAL ? list[3]
                                   : list[2];
    list[4] = flaw == FLAW_TURNS ? 399 : list[4];
    list[3] = flaw == FLAW_UNUSED ? 0 : list[3];
    return list;
}

static const char *write_emit(const char *name, const char *cube, Flaw flaw) {
    const char *path = in_folder(name);
    ProductFile file = product_begin(path);
    const double transform[] = {10, 0.0005, 0, 50, 0, -0.0005};
    double table[4 * 3] = {0};
    bool in_chunks = flaw == FLAW_CHUNKS || flaw == FLAW_UNUSED || flaw == FLAW_CHUNKS_FALL;
    product_emit_cube(&file,
                      (ProductArray){.name = cube,
                                     .axes = flaw == FLAW_SHAPE ? 2 : 3,
                                     .size = {PRODUCT_LINES, PRODUCT_SAMPLES, BANDS},
                                     .values = product_cube("lsb", BANDS, 0),
                                     .nodata = &none,
                                     .chunks = in_chunks ? "2,3,4" : NULL,
                                     .units = strcmp(cube, "radiance") == 0 ? "uW/cm^2/SR/nm" : "unitless"});
    const char *group = "/sensor_band_parameters";
    bool short_list = flaw == FLAW_COUNT;
    if (flaw != FLAW_NO_CENTRES) {
        product_list(&file, group, "wavelengths", short_list ? "fewer" : "bands", flawed_centres(flaw),
                     BANDS - short_list);
    }
    if (flaw != FLAW_NO_WIDTHS) {
        product_list(&file, group, "fwhm", "bands", widths, BANDS);
    }
    if (strcmp(cube, "reflectance") == 0) {
        product_list(&file, group, "good_wavelengths", "bands", good, BANDS);
    }
    product_emit_lookup(&file, "glt_x", "ortho_y", 4, 3, table, NULL);
    if (flaw != FLAW_NO_GLT) {
        product_emit_lookup(&file, "glt_y", "ortho_y", 4, 3, table, NULL);
    }
    product_numbers(NULL, file.root, "geotransform", transform, 6);
    product_end(&file);
    return path;
}

static const int stored[BANDS] = {0, 1, 2, 3, 4, 5};

/* Compressed as it is delivered: the chunks are read, and give what GDAL gives. */
static void chunks_are_read(void **state) {
    (void)state;
    HcReader *reader = NULL;
    HcReaderOptions never = {.never_direct = true};
    HcError err = {0};
    const char *path = write_emit("EMIT_L2A_RFL_002.nc", "reflectance", FLAW_CHUNKS);
    check_cubes(path, stored);
    check_ok(hc_reader_open(&reader, path, NULL, &err), err);
    assert_non_null(strstr(hc_reader_method(reader), "chunks (deflate"));
    hc_reader_close(reader);
    check_ok(hc_reader_open(&reader, path, &never, &err), err);
    assert_string_equal(hc_reader_method(reader), "GDAL arrays");
    hc_reader_close(reader);
}

/* Lines of these bands, as they lie in memory. */
static HcRaw read_raw(const char *path, const int32_t *bands, int32_t count) {
    HcReader *reader = NULL;
    HcError err = {0};
    HcRaw raw = {0};
    check_ok(hc_reader_open(&reader, path, NULL, &err), err);
    check_ok(hc_reader_use_bands(reader, bands, count, &err), err);
    char *buffer = malloc(hc_reader_bytes(reader, 3));
    check_ok(hc_reader_read(reader, 1, 3, buffer, &raw, &err), err);
    free(buffer);
    hc_reader_close(reader);
    return raw;
}

/* Bands of one array in its order come as its chunks lie, [sample][band]; others are put into [band][sample].
 * The array has more bands than the scene, so that it is not read as a plain one. */
static void bands_in_their_order_need_no_copy(void **state) {
    (void)state;
    static const int used[] = {0, 1, 2, 4, 5}, turned[BANDS] = {5, 4, 3, 2, 1, 0};
    static const int32_t all[] = {0, 1, 2, 3, 4}, some[] = {1, 3};
    const char *path = write_emit("unused.nc", "reflectance", FLAW_UNUSED);
    check_cubes(path, used);
    HcRaw raw = read_raw(path, all, 5);
    assert_true(raw.stride_band == 4 && raw.stride_sample == 5 * 4);
    raw = read_raw(path, some, 2);
    assert_true(raw.stride_band == 4 && raw.stride_sample == 2 * 4);
    path = write_emit("falls.nc", "reflectance", FLAW_CHUNKS_FALL);
    check_cubes(path, turned);
    raw = read_raw(path, some, 2);
    assert_true(raw.stride_band == (int64_t)PRODUCT_SAMPLES * 4 && raw.stride_sample == 4);
}

static void reflectance_opens(void **state) {
    (void)state;
    HcReader *reader = NULL;
    HcError err = {0};
    const char *path = write_emit("EMIT_L2A_RFL_001.nc", "reflectance", FLAW_NONE);
    check_ok(hc_reader_open(&reader, path, NULL, &err), err);
    const HcScene *scene = hc_reader_scene(reader);
    assert_string_equal(hc_reader_product(reader), "EMIT L2A reflectance");
    assert_int_equal(scene->lines, PRODUCT_LINES);
    assert_int_equal(scene->samples, PRODUCT_SAMPLES);
    assert_int_equal(scene->bands, BANDS);
    assert_int_equal(scene->type, HC_FLOAT32);
    assert_true(scene->has_nodata && scene->nodata == -9999);
    assert_false(scene->place.has_transform); /* that of the file is the table's */
    for (int32_t b = 0; b < BANDS; b++) {
        check_same(scene->wavelength[b], (double)(float)centres[b]);
        check_same(scene->fwhm[b], (double)(float)widths[b]);
        assert_int_equal(scene->bad[b], good[b] == 0);
        assert_int_equal(scene->source_band[b], b);
    }
    check_says(hc_reader_note(reader), "write --ortho ... lookup table");
    assert_non_null(strstr(hc_reader_note(reader), "(EMIT_L2A_MASK_001.nc) are not beside it"));
    hc_reader_close(reader);
    check_cubes(path, stored);
}

/* Recognised by what it holds: the name says nothing, so that no masks can be found by it. */
static void radiance_opens_by_any_name(void **state) {
    (void)state;
    HcReader *reader = NULL;
    HcError err = {0};
    const char *path = write_emit("any.nc", "radiance", FLAW_NONE);
    check_ok(hc_reader_open(&reader, path, NULL, &err), err);
    assert_string_equal(hc_reader_product(reader), "EMIT L1B radiance (uW/cm^2/SR/nm)");
    assert_null(hc_reader_scene(reader)->bad);
    assert_non_null(strstr(hc_reader_note(reader), "its name has no time stamp"));
    hc_reader_close(reader);
}

/* A file of masks without any is told when it is applied (test_product_quality.c), and not before. */
static void masks_beside_it_are_found(void **state) {
    (void)state;
    HcReader *reader = NULL;
    HcError err = {0};
    const char *path = write_emit("EMIT_L2A_RFL_001.nc", "reflectance", FLAW_NONE);
    put_file(in_folder("EMIT_L2A_MASK_001.nc"), "");
    check_ok(hc_reader_open(&reader, path, NULL, &err), err);
    int32_t count = 0;
    assert_non_null(hc_reader_layers(reader, &count));
    assert_int_equal(count, 1);
    assert_null(strstr(hc_reader_note(reader), "masks"));
    hc_reader_close(reader);
    unlink(in_folder("EMIT_L2A_MASK_001.nc"));
}

/* ---- the file of masks ---- */

static const char *const mask_bands[BANDS] = {"Cloud flag",      "Cirrus flag", "Water flag",
                                              "Spacecraft Flag", "AOD550",      "H2O (g cm-2)"};

static const char *write_mask(const char *name, bool names) {
    const char *path = in_folder(name);
    ProductFile file = product_begin(path);
    double table[4 * 3] = {0};
    product_emit_cube(&file, (ProductArray){.name = "mask",
                                            .size = {PRODUCT_LINES, PRODUCT_SAMPLES, BANDS},
                                            .values = product_cube("lsb", BANDS, 0),
                                            .nodata = &none,
                                            .units = "unitless"});
    const ProductArray packed = {.group = "/",
                                 .name = "band_mask",
                                 .type = GDT_Byte,
                                 .axes = 3,
                                 .axis = {"downtrack", "crosstrack", "packed_wavelength_bands"},
                                 .size = {PRODUCT_LINES, PRODUCT_SAMPLES, 2},
                                 .values = product_cube("lsb", 2, 0)};
    GDALMDArrayRelease(product_array(&file, &packed));
    product_words(&file, "/sensor_band_parameters", names ? "mask_bands" : "others", "bands", mask_bands,
                  BANDS);
    product_emit_lookup(&file, "glt_x", "ortho_y", 4, 3, table, NULL);
    product_emit_lookup(&file, "glt_y", "ortho_y", 4, 3, table, NULL);
    product_end(&file);
    return path;
}

/* Its main array is a scene: bands by name, in their order, without wavelengths, no pixel left out. */
static void masks_open_as_a_scene(void **state) {
    (void)state;
    HcReader *reader = NULL;
    HcError err = {0};
    int32_t count = 0;
    const char *path = write_mask("EMIT_L2A_MASK_003.nc", true);
    check_ok(hc_reader_open(&reader, path, NULL, &err), err);
    const HcScene *scene = hc_reader_scene(reader);
    assert_string_equal(hc_reader_product(reader), "EMIT L2A mask");
    assert_int_equal(scene->bands, BANDS);
    assert_null(scene->wavelength);
    assert_null(scene->fwhm);
    assert_true(scene->has_nodata && scene->nodata == -9999);
    assert_non_null(scene->lookup.sample);
    for (int b = 0; b < BANDS; b++) {
        assert_string_equal(scene->band_name[b], mask_bands[b]);
    }
    assert_null(hc_reader_layers(reader, &count));
    hc_reader_close(reader);
    check_cubes(path, stored);
    check_refused(write_mask("EMIT_L2A_MASK_003.nc", false), HC_E_INPUT,
                  "/sensor_band_parameters/mask_bands ... name for each of 6 bands");
    unlink(path);
}

/* In a folder they belong to the reflectance; alone, one is the product. */
static void a_folder_is_its_reflectance(void **state) {
    (void)state;
    HcReader *reader = NULL;
    HcError err = {0};
    assert_int_equal(mkdir(in_folder("delivery"), 0700), 0);
    write_mask("delivery/EMIT_L2A_MASK_003.nc", true);
    write_emit("delivery/EMIT_L2A_RFL_003.nc", "reflectance", FLAW_NONE);
    write_emit("delivery/EMIT_L2A_RFLUNCERT_003.nc", "reflectance_uncertainty", FLAW_NONE);
    check_ok(hc_reader_open(&reader, in_folder("delivery"), NULL, &err), err);
    assert_string_equal(hc_reader_product(reader), "EMIT L2A reflectance");
    hc_reader_close(reader);
    unlink(in_folder("delivery/EMIT_L2A_RFL_003.nc"));
    check_refused(in_folder("delivery"), HC_E_INPUT, "2 products, open one ... EMIT_L2A_");
    unlink(in_folder("delivery/EMIT_L2A_MASK_003.nc"));
    check_ok(hc_reader_open(&reader, in_folder("delivery"), NULL, &err), err);
    assert_string_equal(hc_reader_product(reader), "EMIT L2A reflectance uncertainty");
    hc_reader_close(reader);
    unlink(in_folder("delivery/EMIT_L2A_RFLUNCERT_003.nc"));
    assert_int_equal(rmdir(in_folder("delivery")), 0);
}

static void flaws_are_told(void **state) {
    (void)state;
    check_refused(write_emit("flaw.nc", "reflectance", FLAW_NO_WIDTHS), HC_E_INPUT,
                  "there is no array /sensor_band_parameters/fwhm");
    check_refused(write_emit("flaw.nc", "reflectance", FLAW_COUNT), HC_E_INPUT,
                  "/sensor_band_parameters/wavelengths has 5 values for 6 bands");
    check_refused(write_emit("flaw.nc", "reflectance", FLAW_SHAPE), HC_E_INPUT,
                  "/reflectance ... (downtrack 5, crosstrack 6)");
    check_refused(write_emit("flaw.nc", "reflectance", FLAW_NO_GLT), HC_E_INPUT, "glt_y");
}

/* Wavelengths that are missing, no numbers or out of all order are refused; falling ones turn the bands
 * round. */
static void wavelengths_make_sense(void **state) {
    (void)state;
    static const int turned[BANDS] = {5, 4, 3, 2, 1, 0};
    HcReader *reader = NULL;
    HcError err = {0};
    check_ok(hc_reader_open(&reader, write_emit("flaw.nc", "reflectance", FLAW_NO_CENTRES), NULL, &err), err);
    check_says(hc_reader_flaw(reader), "there is no array /sensor_band_parameters/wavelengths");
    hc_reader_close(reader);
    check_refused(write_emit("flaw.nc", "reflectance", FLAW_NAN), HC_E_INPUT,
                  "band 3 of EMIT L2A reflectance has");
    check_refused(write_emit("flaw.nc", "reflectance", FLAW_BELOW), HC_E_INPUT, "the wavelength -395.8 nm");
    check_refused(write_emit("flaw.nc", "reflectance", FLAW_FILL), HC_E_INPUT,
                  "the wavelength 9.96921e+36 nm");
    check_refused(write_emit("flaw.nc", "reflectance", FLAW_ZEROS), HC_E_INPUT,
                  "none of its 6 bands ... wavelength");
    check_refused(write_emit("flaw.nc", "reflectance", FLAW_TURNS), HC_E_INPUT,
                  "neither rise nor fall ... 403.2 nm of band 4, 399 nm of band 5");
    check_cubes(write_emit("equal.nc", "reflectance", FLAW_EQUAL), stored);
    const char *falls = write_emit("falls.nc", "reflectance", FLAW_FALLS);
    check_cubes(falls, turned);
    check_ok(hc_reader_open(&reader, falls, NULL, &err), err);
    for (int32_t b = 0; b < BANDS; b++) {
        check_same(hc_reader_scene(reader)->wavelength[b], (double)(float)centres[b]);
        assert_int_equal(hc_reader_scene(reader)->bad[b], good[turned[b]] == 0);
    }
    hc_reader_close(reader);
}

/* A cut granule without the group that has them opens with the reason, and is read on request alone. */
static void wavelengths_may_be_cut_off(void **state) {
    (void)state;
    HcReader *reader = NULL;
    HcError err = {0};
    double table[4 * 3] = {0};
    const char *path = in_folder("part.nc");
    ProductFile file = product_begin(path);
    product_emit_cube(&file, (ProductArray){.name = "reflectance",
                                            .size = {PRODUCT_LINES, PRODUCT_SAMPLES, BANDS},
                                            .values = product_cube("lsb", BANDS, 0)});
    product_emit_lookup(&file, "glt_x", "ortho_y", 4, 3, table, NULL);
    product_emit_lookup(&file, "glt_y", "ortho_y", 4, 3, table, NULL);
    product_end(&file);
    check_ok(hc_reader_open(&reader, path, NULL, &err), err);
    assert_null(hc_reader_scene(reader)->wavelength);
    check_says(hc_reader_flaw(reader), "/sensor_band_parameters/wavelengths ... ask for its group");
    hc_reader_close(reader);
    check_cubes(path, stored);
}

/* Angles and other things beside the radiance are bands with names. */
static void observations_open(void **state) {
    (void)state;
    static const char *const names[BANDS] = {"Path length (sensor-to-ground in meters)",
                                             "To-sensor azimuth (0 to 360 degrees CW from N)",
                                             "To-sensor zenith",
                                             "To-sun azimuth",
                                             "To-sun zenith",
                                             "Solar phase"};
    HcReader *reader = NULL;
    HcError err = {0};
    double table[4 * 3] = {0};
    const char *path = in_folder("EMIT_L1B_OBS_001.nc");
    ProductFile file = product_begin(path);
    product_emit_cube(&file, (ProductArray){.name = "obs",
                                            .size = {PRODUCT_LINES, PRODUCT_SAMPLES, BANDS},
                                            .values = product_cube("lsb", BANDS, 0)});
    product_words(&file, "/sensor_band_parameters", "observation_bands", "bands", names, BANDS);
    product_emit_lookup(&file, "glt_x", "ortho_y", 4, 3, table, NULL);
    product_emit_lookup(&file, "glt_y", "ortho_y", 4, 3, table, NULL);
    product_end(&file);
    check_ok(hc_reader_open(&reader, path, NULL, &err), err);
    assert_string_equal(hc_reader_product(reader), "EMIT L1B observation");
    assert_string_equal(hc_reader_scene(reader)->band_name[4], names[4]);
    hc_reader_close(reader);
    check_cubes(path, stored);
}

static void cut_files_are_refused(void **state) {
    (void)state;
    const char *path = write_emit("cut.nc", "reflectance", FLAW_NONE);
    assert_int_equal(truncate(path, 3000), 0);
    check_refused(path, HC_E_INPUT, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_are_read),
        cmocka_unit_test(bands_in_their_order_need_no_copy),
        cmocka_unit_test(reflectance_opens),
        cmocka_unit_test(radiance_opens_by_any_name),
        cmocka_unit_test(masks_beside_it_are_found),
        cmocka_unit_test(masks_open_as_a_scene),
        cmocka_unit_test(a_folder_is_its_reflectance),
        cmocka_unit_test(flaws_are_told),
        cmocka_unit_test(wavelengths_make_sense),
        cmocka_unit_test(wavelengths_may_be_cut_off),
        cmocka_unit_test(observations_open),
        cmocka_unit_test(cut_files_are_refused),
    };
    if (!can_make_products()) {
        return 77;
    }
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
