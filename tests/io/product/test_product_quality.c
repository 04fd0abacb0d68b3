/* Quality layers of products: each leaves out the pixels that a formula of the test says, whatever the order
 * of its axes; those that count by themselves do, and the user can say otherwise. */
#include "io/view/view.h"
#include "product_check.h"

#include <unistd.h>

enum { LINES = PRODUCT_LINES, SAMPLES = PRODUCT_SAMPLES, PIXELS = LINES * SAMPLES, BANDS = 4 };

static const double centres[BANDS] = {500, 600, 900, 1000}, widths[BANDS] = {10, 10, 10, 10};

/* Whether layer k marks a pixel. */
static bool marks(int k, int line, int sample) {
    return (line * 5 + sample * 2 + k * 4) % 9 < 2;
}

/* Layer k as an array of lines and samples: `yes` where it marks a pixel, else `no`. */
static const double *layer_of(int k, double yes, double no, bool by_sample, bool mirrored) {
    static double values[PIXELS];
    for (int i = 0; i < PIXELS; i++) {
        int line = by_sample ? i % LINES : i / SAMPLES, sample = by_sample ? i / LINES : i % SAMPLES;
        values[i] = marks(k, line, mirrored ? SAMPLES - 1 - sample : sample) ? yes : no;
    }
    return values;
}

/* ---- what is left ---- */

/* The mask of a scene, read by `step` lines, with the pixels that each mask has counted. */
typedef struct Got {
    uint8_t mask[PIXELS];
    int64_t counts[32];
    int32_t masks;
    char names[200]; /* of the masks, with commas */
    char note[600];
} Got;

static Got look(const char *path, const HcViewOptions *options, const int32_t *bands, int32_t count,
                int32_t step) {
    Got got = {.masks = 0};
    HcView *view = NULL;
    HcError err = {0};
    check_ok(hc_view_open(&view, path, options, &err), err);
    if (bands != NULL) {
        check_ok(hc_view_use_bands(view, bands, count, &err), err);
    }
    const HcScene *scene = hc_view_scene(view);
    got.masks = hc_view_mask_count(view);
    for (int32_t m = 0; m < got.masks; m++) {
        const char *value = NULL;
        const char *option = hc_view_mask_name(view, m, &value);
        size_t used = strlen(got.names);
        snprintf(got.names + used, sizeof got.names - used, "%s%s %s", m > 0 ? "," : "", option, value);
    }
    const char *note = hc_view_note(view);
    snprintf(got.note, sizeof got.note, "%s", note != NULL ? note : "");
    void *buffer = malloc(hc_view_bytes(view, step));
    memset(got.mask, 1, sizeof got.mask);
    for (int64_t line = 0; line < scene->lines; line += step) {
        HcRaw raw;
        int32_t lines = (int32_t)(scene->lines - line < step ? scene->lines - line : step);
        check_ok(hc_view_read(view, line, lines, buffer, &raw, &err), err);
        if (got.masks > 0) {
            memcpy(got.mask + line * scene->samples, raw.user_mask, (size_t)(lines * scene->samples));
            hc_view_count(view, &raw, line, lines, got.counts);
        }
    }
    free(buffer);
    hc_view_close(view);
    return got;
}

/* The pixels that stay are those that no layer of the list (ended by -1) marks, and each counts for the first
 * that does. */
static void check_left(const char *path, const HcViewOptions *options, const char *names, const int *layers) {
    for (int32_t step = 1; step <= LINES; step += 2) {
        Got got = look(path, options, NULL, 0, step);
        int64_t counts[32] = {0};
        assert_string_equal(got.names, names);
        for (int p = 0; p < PIXELS; p++) {
            int m = 0;
            while (layers[m] >= 0 && !marks(layers[m], p / SAMPLES, p % SAMPLES)) {
                m++;
            }
            assert_int_equal(got.mask[p], layers[m] < 0);
            counts[m] += layers[m] >= 0;
        }
        for (int32_t m = 0; m < got.masks; m++) {
            assert_int_equal(got.counts[m], counts[m]);
            assert_true(counts[m] > 0);
        }
    }
}

static void check_view_refused(const char *path, const HcViewOptions *options, HcStatus status,
                               const char *part) {
    HcView *view = NULL;
    HcError err = {0};
    HcStatus got = hc_view_open(&view, path, options, &err);
    if (got != status || !check_holds(err.text, part) || strchr(err.text, '\n') != NULL) {
        fail_msg("status %d, '%s' lacks '%s'", (int)got, err.text, part);
    }
    assert_null(view);
}

#define MASKS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const HcViewOptions usual = {.no_quality = false}, none = {.no_quality = true};

/* ---- EMIT ---- */

static const char *write_emit(const char *name, const char *cube) {
    const char *path = in_folder(name);
    ProductFile file = product_begin(path);
    const double table[4] = {0};
    product_emit_cube(&file, (ProductArray){.name = cube,
                                            .size = {LINES, SAMPLES, BANDS},
                                            .values = product_cube("lsb", BANDS, 0),
                                            .units = "unitless"});
    product_emit_bands(&file, BANDS, centres, widths);
    product_emit_lookup(&file, "glt_x", "ortho_y", 2, 2, table, NULL);
    product_emit_lookup(&file, "glt_y", "ortho_y", 2, 2, table, NULL);
    product_end(&file);
    return path;
}

/* Layer k is band k; bands 5 and 6 hold amounts, 0.75 where they mark a pixel. */
static const char *write_emit_masks(size_t lines, size_t bands) {
    static const char *const words[] = {"Cloud flag",      "Cirrus flag",        "Water flag",
                                        "Spacecraft Flag", "Dilated Cloud Flag", "AOD550",
                                        "H2O (g cm-2)",    "Aggregate Flag"};
    const char *path = in_folder("EMIT_L2A_MASK_001_x.nc");
    static double values[PIXELS * 8];
    for (int p = 0; p < PIXELS * 8; p++) {
        bool marked = marks(p % 8, p / 8 / SAMPLES, p / 8 % SAMPLES);
        bool amount = p % 8 == 5 || p % 8 == 6;
        values[p] = amount ? (marked ? 0.75 : 0.25) : marked;
    }
    ProductFile file = product_begin(path);
    product_emit_cube(
        &file,
        (ProductArray){.name = "mask", .size = {lines, SAMPLES, 8}, .values = values, .chunks = "2,3,8"});
    product_words(&file, "/sensor_band_parameters", "mask_bands", bands == 8 ? "bands" : "fewer", words,
                  bands);
    product_end(&file);
    return path;
}

static void emit_has_a_file_of_masks(void **state) {
    (void)state;
    char path[600], masks[600];
    snprintf(path, sizeof path, "%s", write_emit("EMIT_L2A_RFL_001_x.nc", "reflectance"));
    snprintf(masks, sizeof masks, "%s", write_emit_masks(LINES, 8));
    check_left(path, &usual, "--quality cloud,--quality cirrus,--quality spacecraft,--quality dilated-cloud",
               (const int[]){0, 1, 3, 4, -1});
    Got got = look(path, &usual, NULL, 0, LINES);
    assert_string_equal(got.note, "quality layers leave pixels out: cloud, cirrus, spacecraft, dilated-cloud "
                                  "(--quality none keeps them)");
    got = look(path, &none, NULL, 0, LINES);
    assert_int_equal(got.masks, 0);
    assert_string_equal(got.note, "");
    HcViewOptions how = {.no_quality = true, .masks = MASKS("water", "Aggregate")};
    check_left(path, &how, "--mask water,--mask Aggregate", (const int[]){2, 7, -1});
    how.masks = MASKS("aod550=0.5-9", "h2o!=0.25");
    check_left(path, &how, "--mask aod550=0.5-9,--mask h2o!=0.25", (const int[]){5, 6, -1});
    /* One that is named counts as it is named, and no second time. */
    how = (HcViewOptions){.masks = MASKS("cirrus=1")};
    check_left(path, &how, "--mask cirrus=1,--quality cloud,--quality spacecraft,--quality dilated-cloud",
               (const int[]){1, 0, 3, 4, -1});
    /* A part of the scene. */
    const HcViewWindow window = {1, 2, 4, 3};
    how = (HcViewOptions){.no_quality = true, .masks = MASKS("water"), .window = &window};
    got = look(path, &how, NULL, 0, 2);
    for (int p = 0; p < 12; p++) {
        assert_int_equal(got.mask[p], !marks(2, p / 4 + 2, p % 4 + 1));
    }
    check_view_refused(path, &(HcViewOptions){.masks_inside = MASKS("cloud")}, HC_E_USAGE,
                       "--mask-inside cloud: is a quality layer");
    check_view_refused(path, &(HcViewOptions){.masks = MASKS("cloud=x")}, HC_E_USAGE, "'x' is no value");
    check_view_refused(path, &(HcViewOptions){.masks = MASKS("clouds")}, HC_E_INPUT,
                       "EMIT_L2A_RFL_001_x.nc ... cloud, cirrus, water, ");
    write_emit_masks(LINES - 1, 8);
    check_view_refused(path, &usual, HC_E_INPUT, "EMIT_L2A_MASK_001_x.nc: has 4 lines x 6 samples");
    write_emit_masks(LINES, 7); /* nobody knows which band is which */
    check_view_refused(path, &(HcViewOptions){.masks = MASKS("cloud")}, HC_E_INPUT, "cloud");
    check_view_refused(path, &usual, HC_E_INPUT, "EMIT_L2A_MASK_001_x.nc");
    put_file(masks, "no masks");
    check_view_refused(path, &usual, HC_E_INPUT, "EMIT_L2A_MASK_001_x.nc");
    got = look(path, &none, NULL, 0, LINES);
    assert_int_equal(got.masks, 0);
    unlink(masks);
    check_view_refused(path, &(HcViewOptions){.masks = MASKS("cloud=1")}, HC_E_INPUT,
                       "--mask cloud=1 ... no such file, and ");
}

/* Version 3 of the masks. What marks a pixel is that of version 1: no flag of the station; SpecTf's flag is
 * that of the station there. `shift`: other pixels. */
static const char *write_emit_masks_3(const char *name, int shift) {
    static const char *const words[] = {"Cloud Flag",
                                        "Cirrus Flag",
                                        "Water Flag",
                                        "Dilated Cloud Flag",
                                        "SpecTf-Cloud Probability",
                                        "SpecTf-Cloud Flag",
                                        "SpecTf-Buffer Distance"};
    static const int like[] = {0, 1, 2, 4, -1, 3, -1};
    static double values[PIXELS * 7];
    const char *path = in_folder(name);
    for (int p = 0; p < PIXELS * 7; p++) {
        values[p] = like[p % 7] < 0 ? 0.5 : marks(like[p % 7] + shift, p / 7 / SAMPLES, p / 7 % SAMPLES);
    }
    ProductFile file = product_begin(path);
    product_emit_cube(&file, (ProductArray){.name = "mask", .size = {LINES, SAMPLES, 7}, .values = values});
    product_words(&file, "/sensor_band_parameters", "mask_bands", "bands", words, 7);
    product_end(&file);
    return path;
}

/* By the time stamp, whatever the version; the newest one. */
static void emit_masks_are_paired_by_time_stamp(void **state) {
    (void)state;
    static const char *const names[] = {"EMIT_L2A_RFL_002_20260921T044051.nc",
                                        "EMIT_L1B_RAD_002_20260921T044051.nc",
                                        "EMIT_L2A_RFL_001_20260921T044051_2626403_004.nc",
                                        "emit20260921t044051_o06402_s000_l2a_rfl_b0106_v01.nc"};
    char masks[600];
    const HcViewOptions needs = {.needs_quality = true};
    write_emit_masks_3("EMIT_L2A_MASK_004_20260921T044052.nc", 3); /* of the next granule */
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        char path[600];
        snprintf(path, sizeof path, "%s", write_emit(names[n], n == 1 ? "radiance" : "reflectance"));
        check_view_refused(path, &needs, HC_E_INPUT, "its quality masks (EMIT_L2A_MASK_*_20260921");
        snprintf(masks, sizeof masks, "%s", write_emit_masks_3("EMIT_L2A_MASK_003_20260921T044051.nc", 0));
        write_emit_masks_3("EMIT_L2A_MASK_003_20260921T044051_edited.nc", 3);
        write_emit_masks_3("EMIT_L2A_MASK_002_20260921T044051_2626403_004.nc", 3);
        check_left(path, &needs,
                   "--quality cloud,--quality cirrus,--quality dilated-cloud,--quality spectf-cloud",
                   (const int[]){0, 1, 4, 3, -1});
        Got got = look(
            path, &(HcViewOptions){.masks = MASKS("spectf-cloud-probability=0.4-0.6"), .no_quality = true},
            NULL, 0, LINES);
        assert_int_equal(got.counts[0], PIXELS);
        unlink(masks);
        unlink(in_folder("EMIT_L2A_MASK_003_20260921T044051_edited.nc"));
        unlink(in_folder("EMIT_L2A_MASK_002_20260921T044051_2626403_004.nc"));
        unlink(path);
    }
}

/* The same flags leave the same pixels out in both versions. */
static void emit_versions_agree(void **state) {
    (void)state;
    char first[600], second[600], masks[2][600];
    snprintf(first, sizeof first, "%s", write_emit("EMIT_L2A_RFL_001_x.nc", "reflectance"));
    snprintf(masks[0], sizeof masks[0], "%s", write_emit_masks(LINES, 8));
    snprintf(second, sizeof second, "%s", write_emit("EMIT_L2A_RFL_002_20260921T044051.nc", "reflectance"));
    snprintf(masks[1], sizeof masks[1], "%s", write_emit_masks_3("EMIT_L2A_MASK_003_20260921T044051.nc", 0));
    Got one = look(first, &usual, NULL, 0, LINES), other = look(second, &usual, NULL, 0, LINES);
    assert_memory_equal(one.mask, other.mask, sizeof one.mask);
    unlink(masks[0]);
    unlink(masks[1]);
}

/* A file of that name is a file. */
static void a_file_goes_before_a_layer(void **state) {
    (void)state;
    char path[600], masks[600], before[600];
    snprintf(path, sizeof path, "%s", write_emit("EMIT_L2A_RFL_001_x.nc", "reflectance"));
    snprintf(masks, sizeof masks, "%s", write_emit_masks(LINES, 8));
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(folder), 0);
    put_file("water", "no raster");
    check_view_refused(path, &(HcViewOptions){.masks = MASKS("water")}, HC_E_INPUT, "water");
    unlink("water");
    assert_int_equal(chdir(before), 0);
    unlink(masks);
}

static void add_flat(ProductFile *file, const char *group, const char *name, const char *const axis[2],
                     const size_t size[2], const double *values) {
    ProductArray of = {.group = group,
                       .name = name,
                       .type = GDT_Byte,
                       .axes = 2,
                       .axis = {axis[0], axis[1], NULL},
                       .size = {size[0], size[1], 0},
                       .values = values};
    GDALMDArrayRelease(product_array(file, &of));
}

/* Minerals have the grid of the masks, whatever the versions of both. */
static void emit_minerals_have_the_masks(void **state) {
    (void)state;
    static const char *const arrays[] = {"group_1_mineral_id", "group_1_band_depth", "group_2_mineral_id",
                                         "group_2_band_depth"};
    static const char *const axis[] = {"downtrack", "crosstrack"}, *const minerals[] = {"Goethite"};
    const double one = 1, table[4] = {0};
    char path[600], masks[600];
    snprintf(path, sizeof path, "%s", in_folder("EMIT_L2B_MIN_002_20260921T044051.nc"));
    ProductFile file = product_begin(path);
    for (int a = 0; a < 4; a++) {
        add_flat(&file, "/", arrays[a], axis, (const size_t[]){LINES, SAMPLES},
                 layer_of(a, 1, 0, false, false));
    }
    product_words(&file, "/mineral_metadata", "name", "minerals", minerals, 1);
    product_list(&file, "/mineral_metadata", "index", "minerals", &one, 1);
    product_emit_lookup(&file, "glt_x", "ortho_y", 2, 2, table, NULL);
    product_emit_lookup(&file, "glt_y", "ortho_y", 2, 2, table, NULL);
    product_end(&file);
    snprintf(masks, sizeof masks, "%s", write_emit_masks_3("EMIT_L2A_MASK_003_20260921T044051.nc", 0));
    check_left(path, &usual,
               "--quality cloud,--quality cirrus,--quality dilated-cloud,--quality spectf-cloud",
               (const int[]){0, 1, 4, 3, -1});
    unlink(masks);
    snprintf(masks, sizeof masks, "%s", write_emit_masks(LINES - 1, 8)); /* of another name */
    char other[600];
    snprintf(other, sizeof other, "%s", in_folder("EMIT_L2A_MASK_003_20260921T044051.nc"));
    assert_int_equal(rename(masks, other), 0);
    check_view_refused(path, &usual, HC_E_INPUT, "EMIT_L2A_MASK_003_20260921T044051.nc: has 4 lines");
    unlink(other);
    unlink(path);
}

/* ---- PRISMA ---- */

/* VNIR has 900 and 500 nm, SWIR 1000 and 600: by wavelength they alternate. Errors of band b are layer b,
 * where b counts by wavelength: 2 for odd bands, 1 for even ones. */
static const char *write_prisma(const char *level) {
    static const double of_vnir[] = {900, 500}, of_swir[] = {1000, 600}, narrow[] = {10, 10}, one = 1,
                        two = 2;
    static const int by_wavelength[2][2] = {{2, 0}, {3, 1}};
    static const char *const cubes[] = {"VNIR_Cube", "SWIR_Cube"};
    bool map = strcmp(level, "L2D") == 0;
    const char *path = in_folder("scene.he5");
    const char *axis[] = {map ? "line" : "across", map ? "sample" : "along"};
    const size_t size[] = {map ? LINES : SAMPLES, map ? SAMPLES : LINES};
    char group[100];
    ProductFile file = product_begin(path);
    snprintf(group, sizeof group, "/HDFEOS/SWATHS/PRS_%s_HCO/Data Fields", level);
    for (int c = 0; c < 2; c++) {
        static double errors[PIXELS * 2];
        char name[40];
        ProductArray of = {.group = group,
                           .name = cubes[c],
                           .type = GDT_UInt16,
                           .axes = 3,
                           .axis = {axis[0], c == 0 ? "vnir" : "swir", axis[1]},
                           .size = {size[0], 2, size[1]},
                           .values = product_cube(map ? "lbs" : "sbl", 2, 0)};
        GDALMDArrayRelease(product_array(&file, &of));
        for (int b = 0; b < 2; b++) {
            int k = by_wavelength[c][b];
            const double *flat = layer_of(k, k % 2 == 1 ? 2 : 1, 0, !map, !map);
            for (size_t i = 0; i < size[0]; i++) {
                memcpy(errors + (i * 2 + (size_t)b) * size[1], flat + i * size[1], size[1] * sizeof *flat);
            }
        }
        snprintf(name, sizeof name, "%.4s_PIXEL_%s_ERR_MATRIX", cubes[c],
                 strcmp(level, "L1") == 0 ? "SAT" : "L2");
        of.name = name;
        of.type = GDT_Byte;
        of.values = errors;
        GDALMDArrayRelease(product_array(&file, &of));
    }
    if (strcmp(level, "L1") == 0) {
        add_flat(&file, group, "Cloud_Mask", axis, size, layer_of(4, 1, 10, true, true));
        add_flat(&file, group, "SunGlint_Mask", axis, size, layer_of(5, 1, 0, true, true));
        add_flat(&file, group, "LandCover_Mask", axis, size, layer_of(6, 4, 2, true, true));
    }
    product_numbers(NULL, file.root, "List_Cw_Vnir", of_vnir, 2);
    product_numbers(NULL, file.root, "List_Cw_Swir", of_swir, 2);
    product_numbers(NULL, file.root, "List_Fwhm_Vnir", narrow, 2);
    product_numbers(NULL, file.root, "List_Fwhm_Swir", narrow, 2);
    static const char *const scales[] = {"ScaleFactor_Vnir", "Offset_Vnir",    "ScaleFactor_Swir",
                                         "Offset_Swir",      "L2ScaleVnirMin", "L2ScaleSwirMin"};
    for (int s = 0; s < 6; s++) {
        product_numbers(NULL, file.root, scales[s], &one, 1);
    }
    product_numbers(NULL, file.root, "L2ScaleVnirMax", &two, 1);
    product_numbers(NULL, file.root, "L2ScaleSwirMax", &two, 1);
    product_number(&file, "/", "Product_ULcorner_easting", 500015);
    product_number(&file, "/", "Product_ULcorner_northing", 4000015);
    product_number(&file, "/", "Product_LRcorner_easting", 500015 + 30 * (SAMPLES - 1));
    product_number(&file, "/", "Product_LRcorner_northing", 4000015 - 30 * (LINES - 1));
    product_number(&file, "/", "Epsg_Code", 32633);
    product_end(&file);
    return path;
}

/* Of the matrices of errors, the bands that are read count. */
static void check_errors(const char *path, const char *mask, const int32_t *bands, int32_t count,
                         int remainder) {
    const HcViewOptions how = {.no_quality = true, .masks = MASKS(mask)};
    for (int32_t step = 1; step <= LINES; step += 3) {
        Got got = look(path, &how, bands, count, step);
        for (int p = 0; p < PIXELS; p++) {
            bool stays = true;
            for (int32_t k = 0; k < (bands != NULL ? count : 4); k++) {
                int band = bands != NULL ? bands[k] : k;
                stays = stays &&
                        !((remainder < 0 || band % 2 == remainder) && marks(band, p / SAMPLES, p % SAMPLES));
            }
            assert_int_equal(got.mask[p], stays);
        }
    }
}

static void prisma_has_masks_and_errors(void **state) {
    (void)state;
    static const int32_t some[] = {1, 2};
    static const char *const levels[] = {"L1", "L2C", "L2D"};
    for (int l = 0; l < 3; l++) {
        const char *path = write_prisma(levels[l]);
        check_errors(path, "error", NULL, 0, -1);
        check_errors(path, "error", some, 2, -1);
        check_errors(path, "error=2", NULL, 0, 1);
        check_errors(path, "error=bit0", NULL, 0, 0);
        check_left(path, &usual, l == 0 ? "--quality cloud" : "",
                   l == 0 ? (const int[]){4, -1} : (const int[]){-1});
    }
    const char *path = write_prisma("L1");
    check_left(path, &(HcViewOptions){.no_quality = true, .masks = MASKS("sun-glint", "land-cover=4")},
               "--mask sun-glint,--mask land-cover=4", (const int[]){5, 6, -1});
}

/* ---- Tanager, NEON ---- */

static void tanager_has_masks(void **state) {
    (void)state;
    static const char *const axis[] = {"lines", "samples"}, *const group = "/HDFEOS/SWATHS/HYP/Data Fields";
    const size_t size[] = {LINES, SAMPLES};
    const char *path = in_folder("tanager.h5");
    ProductFile file = product_begin(path);
    ProductArray of = {.group = group,
                       .name = "toa_radiance",
                       .type = GDT_Float32,
                       .axes = 3,
                       .axis = {"bands", "lines", "samples"},
                       .size = {BANDS, LINES, SAMPLES},
                       .values = product_cube("bls", BANDS, 0)};
    GDALMDArrayH array = product_array(&file, &of);
    product_numbers(array, NULL, "wavelengths", centres, BANDS);
    product_numbers(array, NULL, "fwhm", widths, BANDS);
    GDALMDArrayRelease(array);
    add_flat(&file, group, "nodata_pixels", axis, size, layer_of(0, 1, 0, false, false));
    add_flat(&file, group, "beta_cloud_mask", axis, size, layer_of(1, 1, 0, false, false));
    add_flat(&file, group, "beta_cirrus_mask", axis, size, layer_of(2, 1, 0, false, false));
    product_end(&file);
    check_left(path, &usual, "--quality nodata,--quality cloud,--quality cirrus", (const int[]){0, 1, 2, -1});
}

static void neon_has_classes(void **state) {
    (void)state;
    static const char *const axis[] = {"y", "x"};
    static const double window[] = {1340, 1445}, nodata = -9999, scale = 10000;
    static const int classes[] = {8, 16, 12, 7, 17, 21, 5}; /* two of clouds, then haze and so on */
    const size_t size[] = {LINES, SAMPLES};
    double values[PIXELS];
    const char *path = in_folder("neon.h5"), *ancillary = "/SERC/Reflectance/Metadata/Ancillary_Imagery";
    ProductFile file = product_begin(path);
    ProductArray of = {.group = "/SERC/Reflectance",
                       .name = "Reflectance_Data",
                       .type = GDT_Int16,
                       .axes = 3,
                       .axis = {"y", "x", "band"},
                       .size = {LINES, SAMPLES, BANDS},
                       .values = product_cube("lsb", BANDS, 0)};
    GDALMDArrayH array = product_array(&file, &of);
    product_numbers(array, NULL, "Data_Ignore_Value", &nodata, 1);
    product_numbers(array, NULL, "Scale_Factor", &scale, 1);
    GDALMDArrayRelease(array);
    GDALGroupH group = product_group(&file, "/SERC/Reflectance");
    product_numbers(NULL, group, "Band_Window_1_Nanometers", window, 2);
    product_numbers(NULL, group, "Band_Window_2_Nanometers", window, 2);
    GDALGroupRelease(group);
    product_list(&file, "/SERC/Reflectance/Metadata/Spectral_Data", "Wavelength", "band", centres, BANDS);
    product_list(&file, "/SERC/Reflectance/Metadata/Spectral_Data", "FWHM", "band", widths, BANDS);
    product_string(&file, "/SERC/Reflectance/Metadata/Coordinate_System", "Map_Info",
                   "UTM, 1.000, 2.000, 368000.0, 4307000.0, 1.5, 1.5, 18, North");
    product_string(&file, "/SERC/Reflectance/Metadata/Coordinate_System", "EPSG Code", "32618");
    for (int p = 0; p < PIXELS; p++) {
        values[p] = classes[p % 7];
    }
    add_flat(&file, ancillary, "Haze_Cloud_Water_Map", axis, size, values);
    add_flat(&file, ancillary, "Weather_Quality_Indicator", axis, size, layer_of(3, 3, 1, false, false));
    product_end(&file);
    Got got = look(path, &usual, NULL, 0, 2);
    assert_string_equal(got.names, "--quality cloud,--quality haze");
    for (int p = 0; p < PIXELS; p++) {
        assert_int_equal(got.mask[p], p % 7 >= 3);
    }
    static const char *const further[] = {"snow", "water", "shadow"};
    for (int f = 0; f < 3; f++) {
        got = look(path, &(HcViewOptions){.no_quality = true, .masks = MASKS(further[f])}, NULL, 0, LINES);
        for (int p = 0; p < PIXELS; p++) {
            assert_int_equal(got.mask[p], p % 7 != f + 3);
        }
    }
    check_layers_in_table(path);
    check_left(path, &(HcViewOptions){.no_quality = true, .masks = MASKS("weather")}, "--mask weather",
               (const int[]){3, -1});
}

/* ---- rasters: EnMAP, DESIS ---- */

/* A GeoTIFF whose band b holds layer first + b (value `yes`), or the pixels of a scene (first < 0). */
static void write_tiff(const char *name, int bands, int first, int yes) {
    GDALDatasetH dataset =
        GDALCreate(GDALGetDriverByName("GTiff"), in_folder(name), SAMPLES, LINES, bands, GDT_Int16, NULL);
    assert_non_null(dataset);
    for (int b = 0; b < bands; b++) {
        double values[PIXELS];
        for (int p = 0; p < PIXELS; p++) {
            values[p] = first < 0 ? product_value(p / SAMPLES, p % SAMPLES, b)
                        : marks(first + b, p / SAMPLES, p % SAMPLES) ? yes
                                                                     : 0;
        }
        assert_int_equal(GDALRasterIO(GDALGetRasterBand(dataset, b + 1), GF_Write, 0, 0, SAMPLES, LINES,
                                      values, SAMPLES, LINES, GDT_Float64, 0, 0),
                         CE_None);
    }
    GDALClose(dataset);
}

/* The metadata of EnMAP: bands 1 and 2 are of one detector, 3 and 4 of the other. */
static void write_enmap_xml(const double *wavelengths) {
    char text[3000];
    int used = snprintf(text, sizeof text,
                        "<level_X><base><level>L2A</level></base><specific>"
                        "<bandCharacterisation>");
    for (int b = 0; b < BANDS; b++) {
        used += snprintf(text + used, sizeof text - (size_t)used,
                         "<bandID number=\"%d\"><wavelengthCenterOfBand>%g</wavelengthCenterOfBand>"
                         "<FWHMOfBand>10</FWHMOfBand><GainOfBand>1</GainOfBand><OffsetOfBand>0</OffsetOfBand>"
                         "</bandID>",
                         b + 1, wavelengths[b]);
    }
    snprintf(text + used, sizeof text - (size_t)used,
             "</bandCharacterisation><vnirProductQuality><expectedChannelsList>1,2</expectedChannelsList>"
             "</vnirProductQuality><swirProductQuality><expectedChannelsList>3,4</expectedChannelsList>"
             "</swirProductQuality></specific></level_X>\n");
    put_file(in_folder("E-METADATA.XML"), text);
}

static void enmap_has_rasters(void **state) {
    (void)state;
    char path[600];
    write_enmap_xml(centres);
    write_tiff("E-SPECTRAL_IMAGE.TIF", BANDS, -1, 0);
    write_tiff("E-QL_QUALITY_CLOUD.TIF", 1, 0, 1);
    write_tiff("E-QL_QUALITY_CLOUDSHADOW.TIF", 1, 1, 1);
    write_tiff("E-QL_QUALITY_CIRRUS.TIF", 1, 2, 3);
    write_tiff("E-QL_QUALITY_HAZE.TIF", 1, 3, 1);
    write_tiff("E-QL_QUALITY_SNOW.TIF", 1, 4, 1);
    write_tiff("E-QL_QUALITY_CLASSES.TIF", 1, 5, 2);
    write_tiff("E-QL_PIXELMASK.TIF", BANDS, 6, 1);
    static const char *const names[] = {"E-METADATA.XML", "E-SPECTRAL_IMAGE.TIF"};
    for (int n = 0; n < 2; n++) {
        snprintf(path, sizeof path, "%s", in_folder(names[n]));
        check_left(path, &usual, "--quality cloud,--quality cloud-shadow,--quality cirrus,--quality haze",
                   (const int[]){0, 1, 2, 3, -1});
        check_left(path, &(HcViewOptions){.no_quality = true, .masks = MASKS("snow", "water")},
                   "--mask snow,--mask water", (const int[]){4, 5, -1});
    }
    check_layers_in_table(path);
    static const int32_t some[] = {0, 3};
    const HcViewOptions how = {.no_quality = true, .masks = MASKS("error")};
    Got got = look(path, &how, some, 2, 2);
    for (int p = 0; p < PIXELS; p++) {
        assert_int_equal(got.mask[p],
                         !marks(6, p / SAMPLES, p % SAMPLES) && !marks(9, p / SAMPLES, p % SAMPLES));
    }
    /* Where the bands of the raster are put into order, so are those of its mask: 0 and 1 are bands 1 and 3.
     */
    static const double mixed[BANDS] = {500, 900, 600, 1000};
    static const int32_t first[] = {0, 1};
    write_enmap_xml(mixed);
    got = look(path, &how, first, 2, 2);
    for (int p = 0; p < PIXELS; p++) {
        assert_int_equal(got.mask[p],
                         !marks(6, p / SAMPLES, p % SAMPLES) && !marks(8, p / SAMPLES, p % SAMPLES));
    }
    write_enmap_xml(centres);
    write_tiff("E-QL_PIXELMASK.TIF", BANDS - 1, 6, 1);
    check_view_refused(path, &how, HC_E_INPUT, "E-QL_PIXELMASK.TIF: has 3 bands, the scene");
}

static void desis_has_a_raster(void **state) {
    (void)state;
    char path[600];
    snprintf(path, sizeof path, "%s", in_folder("D-METADATA.xml"));
    put_file(path, "<hsi_doc><mission>DESIS</mission><level>L2A</level></hsi_doc>\n");
    put_file(in_folder("D-SPECTRAL_IMAGE.hdr"),
             "ENVI\nwavelength = {500, 600, 900, 1000}\nfwhm = {10, 10, 10, 10}\n"
             "data gain values = {1, 1, 1, 1}\ndata offset values = {0, 0, 0, 0}\n");
    write_tiff("D-SPECTRAL_IMAGE.tif", BANDS, -1, 0);
    write_tiff("D-QL_QUALITY-2.tif", 10, 0, 1);
    write_tiff("D-QL_QUALITY.tif", BANDS, 10, 1);
    check_left(path, &usual,
               "--quality haze-land,--quality haze-water,--quality cloud-land,--quality cloud-water",
               (const int[]){3, 4, 5, 6, -1});
    check_left(path, &(HcViewOptions){.no_quality = true, .masks = MASKS("shadow", "water")},
               "--mask shadow,--mask water", (const int[]){0, 7, -1});
    check_layers_in_table(path);
    static const int32_t some[] = {2};
    Got got = look(path, &(HcViewOptions){.no_quality = true, .masks = MASKS("error")}, some, 1, LINES);
    for (int p = 0; p < PIXELS; p++) {
        assert_int_equal(got.mask[p], !marks(12, p / SAMPLES, p % SAMPLES));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(emit_has_a_file_of_masks),
        cmocka_unit_test(emit_masks_are_paired_by_time_stamp),
        cmocka_unit_test(emit_versions_agree),
        cmocka_unit_test(a_file_goes_before_a_layer),
        cmocka_unit_test(emit_minerals_have_the_masks),
        cmocka_unit_test(prisma_has_masks_and_errors),
        cmocka_unit_test(tanager_has_masks),
        cmocka_unit_test(neon_has_classes),
        cmocka_unit_test(enmap_has_rasters),
        cmocka_unit_test(desis_has_a_raster),
    };
    if (!can_make_products()) {
        return 77;
    }
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
