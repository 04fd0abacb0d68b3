/* PRISMA: files laid out as its specification says. Both cubes become one, value for value, whatever the
 * level stores first. */
#include "io/chunk/index.h"
#include "io/ortho/ortho.h"
#include "product_check.h"

enum { VNIR = 4, SWIR = 5, FIRST_SWIR = 10 };

/* Descending, as the product has them; 0 = not used. */
static const double vnir[VNIR] = {0, 970, 950, 900}, swir[SWIR] = {1010, 990, 960, 940, 0};
static const double vnir_widths[VNIR] = {0, 11, 11, 11}, swir_widths[SWIR] = {10, 10, 10, 10, 0};
static const double vnir_flags[VNIR] = {0, 1, 1, 1}, swir_flags[SWIR] = {1, 1, 1, 1, 0};
/* Ascending, and which band of which cube each is. */
static const double joined[] = {900, 940, 950, 960, 970, 990, 1010};
static const int stored[] = {3, FIRST_SWIR + 3, 2, FIRST_SWIR + 2, 1, FIRST_SWIR + 1, FIRST_SWIR};

typedef enum Flaw { FLAW_NONE, FLAW_NO_SWIR, FLAW_COUNT, FLAW_NO_SCALE, FLAW_CORNER, FLAW_NO_PLACES } Flaw;

/* What is wrong with the tables of wavelengths per column. */
typedef enum Columns {
    COLUMNS_NONE,
    COLUMNS_GOOD,
    COLUMNS_FEWER,
    COLUMNS_TURNED,
    COLUMNS_NAN,
    COLUMNS_BELOW,
    COLUMNS_SHAPE
} Columns;
static Columns columns;

/* How the cubes are stored, NULL = in one piece. */
static const char *chunked;

/* The cubes of a level: up to L2C across track first and from right to left. */
static void add_cube(ProductFile *file, const char *level, const char *name, int bands, int first) {
    char group[64];
    static double mirrored[PRODUCT_LINES * PRODUCT_SAMPLES * 64];
    bool is_map = strcmp(level, "L2D") == 0;
    snprintf(group, sizeof group, "/HDFEOS/SWATHS/PRS_%s_HCO/Data Fields", level);
    size_t row = (size_t)(bands * PRODUCT_LINES);
    const double *values = product_cube(is_map ? "lbs" : "sbl", bands, first);
    for (size_t s = 0; s < PRODUCT_SAMPLES && !is_map; s++) {
        memcpy(mirrored + s * row, values + (PRODUCT_SAMPLES - 1 - s) * row, row * sizeof *values);
    }
    ProductArray of = {
        .group = group,
        .name = name,
        .type = GDT_UInt16,
        .axes = 3,
        .axis = {is_map ? "line" : "across", name[0] == 'V' ? "vnir" : "swir", is_map ? "sample" : "along"},
        .size = {is_map ? PRODUCT_LINES : PRODUCT_SAMPLES, (size_t)bands,
                 is_map ? PRODUCT_SAMPLES : PRODUCT_LINES},
        .values = is_map ? values : mirrored,
        .chunks = chunked};
    GDALMDArrayRelease(product_array(file, &of));
}

static void add_scales(ProductFile *file, const char *level, Flaw flaw) {
    static const char *const l1[] = {"ScaleFactor_Vnir", "Offset_Vnir", "ScaleFactor_Swir", "Offset_Swir"};
    static const char *const l2[] = {"L2ScaleVnirMax", "L2ScaleVnirMin", "L2ScaleSwirMax", "L2ScaleSwirMin"};
    static const double of_l1[] = {100, 0, 50, 3}, of_l2[] = {1.25, 0.25, 0.5, 0};
    bool is_l1 = strcmp(level, "L1") == 0;
    for (int k = 0; k < (flaw == FLAW_NO_SCALE ? 3 : 4); k++) {
        product_numbers(NULL, file->root, is_l1 ? l1[k] : l2[k], is_l1 ? &of_l1[k] : &of_l2[k], 1);
    }
}

/* A table [column][channel]: columns lie 1.5, 0 and -0.9 nm from the list in its first band (of SWIR on the
 * other side), and 0.3, 0 and -0.3 in the others; the last column is dead. The table has a channel of zeros
 * more at either end. */
static void add_table(ProductFile *file, const char *name, const char *axis, const double *list, int count) {
    enum { COLUMNS = 4, ROOM = 16 };
    static const double first[COLUMNS] = {1.5, 0, -0.9}, others[COLUMNS] = {0.3, 0, -0.3};
    double side = strstr(name, "Swir") != NULL ? -1 : 1;
    double values[COLUMNS * ROOM] = {0};
    int channels = count + 2, begin = 0;
    while (list[begin] == 0) {
        begin++;
    }
    for (int c = 0; c < COLUMNS; c++) {
        for (int b = 0; b < count; b++) {
            double from = list[columns == COLUMNS_TURNED && b > 0 ? count - b : b];
            from = columns == COLUMNS_FEWER && b == 2 ? 0 : from;
            values[c * channels + b + 1] =
                from > 0 && c < COLUMNS - 1 ? from + side * (b == begin ? first : others)[c] : 0;
        }
    }
    values[channels + 3] = columns == COLUMNS_NAN     ? NAN
                           : columns == COLUMNS_BELOW ? -1
                                                      : values[channels + 3];
    bool flat = columns == COLUMNS_SHAPE;
    const ProductArray of = {.group = "/KDP_AUX",
                             .name = name,
                             .type = GDT_Float32,
                             .axes = flat ? 1 : 2,
                             .axis = {flat ? axis : "columns", axis, NULL},
                             .size = {flat ? (size_t)channels : COLUMNS, (size_t)channels, 0},
                             .values = values};
    GDALMDArrayRelease(product_array(file, &of));
}

/* Longitudes and latitudes of a grid of 0.001 degrees, as the cubes of `lines` x `samples` are stored. */
static void add_coordinates(ProductFile *file, const char *group, const char *suffix, int lines, int samples,
                            const char *chunks) {
    double *values = malloc(sizeof *values * (size_t)(lines * samples));
    for (int of_latitude = 0; of_latitude < 2; of_latitude++) {
        char name[32];
        snprintf(name, sizeof name, "%s%s", of_latitude ? "Latitude" : "Longitude", suffix);
        for (int i = 0; i < lines * samples; i++) {
            int line = i % lines, sample = samples - 1 - i / lines;
            values[i] = of_latitude ? 50 - 0.001 * line : 10 + 0.001 * sample;
        }
        const ProductArray of = {.group = group,
                                 .name = name,
                                 .type = GDT_Float64,
                                 .axes = 2,
                                 .axis = {"across", "along"},
                                 .size = {(size_t)samples, (size_t)lines},
                                 .values = values,
                                 .chunks = chunks};
        GDALMDArrayRelease(product_array(file, &of));
    }
    free(values);
}

/* The map by those coordinates is the scene itself, pixel for pixel. */
static void check_map_is_scene(const HcScene *scene) {
    HcOrtho *ortho = NULL;
    HcError err = {0};
    check_ok(hc_ortho_open(&ortho, scene, "a scene", NULL, 0, &err), err);
    HcOrthoFacts facts = hc_ortho_facts(ortho);
    assert_true(facts.nearest);
    check_near(facts.spacing, 0.001, 1e-9);
    assert_int_equal(facts.lines, scene->lines);
    assert_int_equal(facts.samples, scene->samples);
    HcOrthoPixel *pixel = malloc(sizeof *pixel * (size_t)scene->samples);
    for (int64_t line = 0; line < facts.lines; line++) {
        check_ok(hc_ortho_lines(ortho, line, 1, pixel, &err), err);
        for (int64_t sample = 0; sample < facts.samples; sample++) {
            assert_int_equal(pixel[sample].line, line);
            assert_int_equal(pixel[sample].sample, sample);
        }
    }
    HcScene map = {0};
    check_ok(hc_ortho_scene(ortho, scene, &map, &err), err);
    check_transform(&map, (double[6]){9.9995, 0.001, 0, 50.0005, 0, -0.001}, "WGS 84");
    hc_scene_clear(&map);
    free(pixel);
    hc_ortho_close(ortho);
}

static const char *write_prisma(const char *level, Flaw flaw) {
    char fields[64];
    const char *path = in_folder("product.he5");
    ProductFile file = product_begin(path);
    bool is_l1 = strcmp(level, "L1") == 0;
    add_cube(&file, level, "VNIR_Cube", VNIR, 0);
    if (flaw != FLAW_NO_SWIR) {
        add_cube(&file, level, "SWIR_Cube", SWIR, FIRST_SWIR);
    }
    product_numbers(NULL, file.root, "List_Cw_Vnir", vnir, flaw == FLAW_COUNT ? VNIR - 1 : VNIR);
    product_numbers(NULL, file.root, "List_Cw_Swir", swir, SWIR);
    product_numbers(NULL, file.root, "List_Fwhm_Vnir", vnir_widths, VNIR);
    product_numbers(NULL, file.root, "List_Fwhm_Swir", swir_widths, SWIR);
    product_numbers(NULL, file.root, "List_Cw_Vnir_Flags", vnir_flags, VNIR);
    product_numbers(NULL, file.root, "List_Cw_Swir_Flags", swir_flags, SWIR);
    add_scales(&file, level, flaw);
    snprintf(fields, sizeof fields, "/HDFEOS/SWATHS/PRS_%s_HCO/Geolocation Fields", level);
    if (strcmp(level, "L2D") != 0 && flaw != FLAW_NO_PLACES) {
        add_coordinates(&file, fields, is_l1 ? "_VNIR" : "", PRODUCT_LINES, PRODUCT_SAMPLES,
                        chunked != NULL ? "4,2" : NULL);
    }
    if (columns != COLUMNS_NONE) {
        add_table(&file, "Cw_Vnir_Matrix", "vnir_channels", vnir, VNIR);
        add_table(&file, "Cw_Swir_Matrix", "swir_channels", swir, SWIR);
        add_table(&file, "Fwhm_Vnir_Matrix", "vnir_channels", vnir_widths, VNIR);
        add_table(&file, "Fwhm_Swir_Matrix", "swir_channels", swir_widths, SWIR);
    }
    product_number(&file, "/", "Product_ULcorner_easting", 500015);
    product_number(&file, "/", "Product_ULcorner_northing", 4000015);
    product_number(&file, "/", "Product_LRcorner_easting", 500015 + 30 * (PRODUCT_SAMPLES - 1));
    product_number(&file, "/", "Product_LRcorner_northing",
                   4000015 - 30 * (PRODUCT_LINES - 1) - (flaw == FLAW_CORNER ? 300 : 0));
    product_number(&file, "/", "Epsg_Code", 32633);
    product_end(&file);
    return path;
}

static void check_level(const char *level, const char *name) {
    HcReader *reader = NULL;
    HcError err = {0};
    const char *path = write_prisma(level, FLAW_NONE);
    check_ok(hc_reader_open(&reader, path, NULL, &err), err);
    const HcScene *scene = hc_reader_scene(reader);
    assert_string_equal(hc_reader_product(reader), name);
    assert_int_equal(scene->bands, 7);
    assert_int_equal(scene->lines, PRODUCT_LINES);
    assert_int_equal(scene->samples, PRODUCT_SAMPLES);
    assert_int_equal(scene->type, HC_UINT16);
    assert_int_equal(scene->integer_limit, 65535);
    check_list(scene->wavelength, joined, 7);
    check_near(scene->fwhm[0], 11, 0);
    check_near(scene->fwhm[1], 10, 0);
    bool is_l1 = strcmp(level, "L1") == 0;
    check_near(scene->gain[0], is_l1 ? 0.01 : 1.0 / 65535, 1e-15);
    check_near(scene->offset[0], is_l1 ? 0 : 0.25, 1e-15);
    check_near(scene->gain[1], is_l1 ? 0.02 : 0.5 / 65535, 1e-15);
    check_near(scene->offset[1], is_l1 ? -3 : 0, 1e-15);
    hc_reader_close(reader);
    check_cubes(path, stored);
}

static void levels_open(void **state) {
    (void)state;
    check_level("L1", "PRISMA L1 radiance");
    check_level("L2B", "PRISMA L2B radiance");
    check_level("L2C", "PRISMA L2C reflectance");
    check_level("L2D", "PRISMA L2D reflectance");
}

static void one_detector_gives_the_overlap(void **state) {
    (void)state;
    const char *path = write_prisma("L2D", FLAW_NONE);
    check_bad(path, HC_OVERLAP_USUAL, "0010100", "2 VNIR bands there count as bad");
    check_bad(path, HC_OVERLAP_SWIR, "0010100", "2 VNIR bands");
    check_bad(path, HC_OVERLAP_VNIR, "0101000", "2 SWIR bands");
    check_bad(path, HC_OVERLAP_BOTH, "0000000", "bands of two detectors take turns: spectra have spikes");
}

/* One detector alone is still mirrored. */
static void bands_of_one_detector_are_read(void **state) {
    (void)state;
    static const int32_t some[] = {0, 2, 4};
    static const int of_vnir[] = {3, 2, 1};
    HcReader *reader = NULL;
    HcError err = {0};
    const char *path = write_prisma("L1", FLAW_NONE);
    check_ok(hc_reader_open(&reader, path, NULL, &err), err);
    check_ok(hc_reader_use_bands(reader, some, 3, &err), err);
    check_cube(reader, 2, some, of_vnir, 3);
    hc_reader_close(reader);
}

/* Samples 1 to 4 of these bands, by `step` lines; no others are read. */
static void check_samples(HcReader *reader, int32_t step, const int32_t *bands, const int *of,
                          int32_t count) {
    HcError err = {0};
    const int64_t first = 1, samples = 4;
    check_ok(hc_reader_use_samples(reader, first, samples, &err), err);
    check_ok(hc_reader_use_bands(reader, bands, count, &err), err);
    void *buffer = malloc(hc_reader_bytes(reader, step));
    for (int64_t line0 = 0; line0 < PRODUCT_LINES; line0 += step) {
        HcRaw raw;
        int32_t lines = (int32_t)(PRODUCT_LINES - line0 < step ? PRODUCT_LINES - line0 : step);
        check_ok(hc_reader_read(reader, line0, lines, buffer, &raw, &err), err);
        assert_int_equal(raw.samples, samples);
        for (int i = 0; i < lines * samples * count; i++) {
            int line = i / (int)(samples * count), sample = i / count % (int)samples, k = i % count;
            const char *at = (const char *)raw.data + line * raw.stride_line + sample * raw.stride_sample +
                             hc_reader_stored_band(reader, bands[k]) * raw.stride_band;
            check_same(value_at(at, raw.type, 0),
                       product_value((int)line0 + line, sample + (int)first, of[k]));
        }
    }
    free(buffer);
    hc_reader_close(reader);
}

/* Pieces of the file, chunks and GDAL give the same values, of all samples and of some. */
static void every_way_gives_the_same(void **state) {
    (void)state;
    static const char *const levels[] = {"L1", "L2C", "L2D"}, *const stored_as[] = {NULL, "2,2,3", "6,4,5"};
    static const int32_t some[] = {1, 2, 5}, all[] = {0, 1, 2, 3, 4, 5, 6};
    const int of_some[] = {stored[1], stored[2], stored[5]};
    for (int l = 0; l < 3; l++) {
        for (int c = 0; c < 3; c++) {
            chunked = c == 2 && l == 2 ? "5,4,6" : stored_as[c];
            const char *path = write_prisma(levels[l], FLAW_NONE);
            check_cubes(path, stored);
            for (int never = 0; never < 2; never++) {
                for (int32_t step = 1; step <= PRODUCT_LINES; step += 2) {
                    const HcReaderOptions how = {.never_direct = never == 1};
                    HcReader *reader = NULL;
                    HcError err = {0};
                    check_ok(hc_reader_open(&reader, path, &how, &err), err);
                    const char *way = never == 1 ? "GDAL arrays"
                                      : c == 0   ? "chunks (plain)"
                                                 : "chunks (deflate";
                    assert_memory_equal(hc_reader_method(reader), way, strlen(way));
                    (void)hc_reader_settle(reader, 0, step == 1 ? 1 : 1e9, false);
                    check_samples(reader, step, step == 3 ? all : some, step == 3 ? stored : of_some,
                                  step == 3 ? 7 : 3);
                }
            }
        }
    }
    chunked = NULL;
}

static void corners_are_centres_of_pixels(void **state) {
    (void)state;
    static const double transform[] = {500000, 30, 0, 4000030, 0, -30};
    HcReader *reader = NULL;
    HcError err = {0};
    check_ok(hc_reader_open(&reader, write_prisma("L2D", FLAW_NONE), NULL, &err), err);
    check_transform(hc_reader_scene(reader), transform, "UTM zone 33N");
    hc_reader_close(reader);
    check_ok(hc_reader_open(&reader, write_prisma("L2D", FLAW_CORNER), NULL, &err), err);
    assert_false(hc_reader_scene(reader)->place.has_transform);
    assert_non_null(strstr(hc_reader_note(reader), "the place is left out"));
    hc_reader_close(reader);
    check_ok(hc_reader_open(&reader, write_prisma("L2C", FLAW_NONE), NULL, &err), err);
    assert_false(hc_reader_scene(reader)->place.has_transform); /* sensor geometry */
    hc_reader_close(reader);
}

/* Up to L2C the pixels have coordinates, which are turned as the cubes are. */
static void coordinates_place_the_sensor_grid(void **state) {
    (void)state;
    static const char *const levels[] = {"L1", "L2B", "L2C"};
    HcReader *reader = NULL;
    HcError err = {0};
    for (int l = 0; l < 6; l++) {
        chunked = l < 3 ? NULL : "2,2,3";
        check_ok(hc_reader_open(&reader, write_prisma(levels[l % 3], FLAW_NONE), NULL, &err), err);
        check_map_is_scene(hc_reader_scene(reader));
        hc_reader_close(reader);
    }
    chunked = NULL;
    check_ok(hc_reader_open(&reader, write_prisma("L2C", FLAW_NO_PLACES), NULL, &err), err);
    assert_null(hc_reader_scene(reader)->lookup.file);
    assert_non_null(strstr(hc_reader_note(reader), "without coordinates"));
    hc_reader_close(reader);
}

/* Arrays that are read in several pieces. */
static void large_coordinates_are_turned(void **state) {
    (void)state;
    enum { LONG = 1030, WIDE = 1100 };
    char *path = strdup(in_folder("large.nc"));
    ProductFile file = product_begin(path);
    add_coordinates(&file, "/fields", "", LONG, WIDE, NULL);
    product_end(&file);
    HcScene scene = {.lines = LONG, .samples = WIDE, .bands = 1, .type = HC_FLOAT32};
    scene.lookup =
        (HcLookup){.file = path, .x = "/fields/Longitude", .y = "/fields/Latitude", .turned = true};
    check_map_is_scene(&scene);
    free(path);
}

/* The mean over the columns stands for a band, and not the list of the main attributes. */
static void columns_give_their_mean(void **state) {
    (void)state;
    /* the first band of each list, 970 and 1010 nm, lies 0.2 nm from it */
    static const double means[] = {900, 940, 950, 960, 970.2, 990, 1009.8};
    static const double mean_widths[] = {11, 10, 11, 10, 11.2, 10, 9.8};
    HcReader *reader = NULL;
    HcError err = {0};
    columns = COLUMNS_GOOD;
    const char *path = write_prisma("L1", FLAW_NONE);
    check_ok(hc_reader_open(&reader, path, NULL, &err), err);
    check_list(hc_reader_scene(reader)->wavelength, means, 7);
    check_list(hc_reader_scene(reader)->fwhm, mean_widths, 7);
    const char *note = hc_reader_note(reader);
    check_says(note, "means over the 4 columns of /KDP_AUX/Cw_Vnir_Matrix ... 1.3 nm ... (at 970.2 nm), "
                     "List_Cw_Vnir ... 0.2 nm");
    check_says(note, "/KDP_AUX/Cw_Swir_Matrix ... 1.3 nm ... (at 1009.8");
    hc_reader_close(reader);
    check_cubes(path, stored);
    columns = COLUMNS_NONE;
}

/* Tables that cannot belong to the bands are left out, with a remark; damaged ones are refused. */
static void columns_that_do_not_fit_are_told(void **state) {
    (void)state;
    static const struct {
        Columns flaw;
        const char *note;
    } kept[] = {
        {COLUMNS_FEWER, "/KDP_AUX/Cw_Vnir_Matrix is left out: 2 of its channels ... 3 of List_Cw_Vnir"},
        {COLUMNS_TURNED, "/KDP_AUX/Cw_Vnir_Matrix is left out ... 70 nm from List_Cw_Vnir"}};
    for (size_t k = 0; k < sizeof kept / sizeof *kept; k++) {
        HcReader *reader = NULL;
        HcError err = {0};
        columns = kept[k].flaw;
        check_ok(hc_reader_open(&reader, write_prisma("L2D", FLAW_NONE), NULL, &err), err);
        check_list(hc_reader_scene(reader)->wavelength, joined, 7);
        if (!check_holds(hc_reader_note(reader), kept[k].note)) {
            fail_msg("'%s' lacks '%s'", hc_reader_note(reader), kept[k].note);
        }
        hc_reader_close(reader);
    }
    columns = COLUMNS_NAN;
    check_refused(write_prisma("L1", FLAW_NONE), HC_E_INPUT,
                  "/KDP_AUX/Cw_Vnir_Matrix has nan nm ... channel 4 of column 2");
    columns = COLUMNS_BELOW;
    check_refused(write_prisma("L1", FLAW_NONE), HC_E_INPUT,
                  "/KDP_AUX/Cw_Vnir_Matrix has -1 nm ... channel 4 of column 2");
    columns = COLUMNS_SHAPE;
    check_refused(write_prisma("L1", FLAW_NONE), HC_E_INPUT, "/KDP_AUX/Cw_Vnir_Matrix has 1 axes, and not 2");
    columns = COLUMNS_NONE;
}

static void flaws_are_told(void **state) {
    (void)state;
    check_refused(write_prisma("L2D", FLAW_NO_SWIR), HC_E_INPUT, "Data Fields/SWIR_Cube");
    check_refused(write_prisma("L2D", FLAW_COUNT), HC_E_INPUT, "List_Cw_Vnir has 3 values for 4");
    check_refused(write_prisma("L2D", FLAW_NO_SCALE), HC_E_INPUT, "no attribute L2ScaleSwirMin");
    check_refused(write_prisma("L1", FLAW_NO_SCALE), HC_E_INPUT, "no attribute Offset_Swir");
    ProductFile file = product_begin(in_folder("product.he5"));
    product_text(NULL, file.root, "Product_ID", "PRS_L2D_STD");
    product_end(&file);
    check_refused(in_folder("product.he5"), HC_E_INPUT,
                  "Product_ID is PRS_L2D_STD, but there is no /HDFEOS/SWATHS/PRS_*_HCO");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_open),
        cmocka_unit_test(one_detector_gives_the_overlap),
        cmocka_unit_test(bands_of_one_detector_are_read),
        cmocka_unit_test(every_way_gives_the_same),
        cmocka_unit_test(corners_are_centres_of_pixels),
        cmocka_unit_test(coordinates_place_the_sensor_grid),
        cmocka_unit_test(large_coordinates_are_turned),
        cmocka_unit_test(columns_give_their_mean),
        cmocka_unit_test(columns_that_do_not_fit_are_told),
        cmocka_unit_test(flaws_are_told),
    };
    if (!can_make_products()) {
        return 77;
    }
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
