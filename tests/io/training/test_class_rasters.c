/* Class rasters as training data, against pixels that are found by hand, and regions by a plain flood. */
#include "tests/io/training/labels.h"
#include "tests/support/random.h"

/* Regions against a plain flood: pixels of one class that touch at edges or corners. */
static void flood(const uint8_t *map, int *region, int lines, int samples, int at, int number) {
    region[at] = number;
    for (int l = at / samples - 1; l <= at / samples + 1; l++) {
        for (int s = at % samples - 1; s <= at % samples + 1; s++) {
            bool inside = l >= 0 && l < lines && s >= 0 && s < samples;
            if (inside && region[l * samples + s] < 0 && map[l * samples + s] == map[at]) {
                flood(map, region, lines, samples, l * samples + s, number);
            }
        }
    }
}

static void regions(void **state) {
    (void)state;
    enum { L = 40, S = 37 };
    HcScene scene = bare_scene(L, S);
    for (int density = 2; density <= 6; density++) {
        uint8_t map[L * S];
        int region[L * S], number = 0;
        uint64_t seed = (uint64_t)density;
        for (int i = 0; i < L * S; i++) {
            map[i] = (uint8_t)(random_uniform(&seed) * density);
            region[i] = -1;
        }
        GDALDatasetH raster =
            GDALCreate(GDALGetDriverByName("GTiff"), in_folder("map.tif"), S, L, 1, GDT_Byte, NULL);
        assert_int_equal(
            GDALRasterIO(GDALGetRasterBand(raster, 1), GF_Write, 0, 0, S, L, map, S, L, GDT_Byte, 0, 0),
            CE_None);
        GDALClose(raster);
        HcLabelled got = {0};
        HcError err = {0};
        check_ok(hc_labelled_read_any(in_folder("map.tif"), NULL, NULL, NULL, &scene, &got, &err), err);
        int64_t k = 0;
        for (int i = 0; i < L * S; i++) {
            if (map[i] == 0) {
                continue;
            }
            if (region[i] < 0) {
                flood(map, region, L, S, i, number++);
            }
            assert_int_equal(got.feature[k++], region[i]);
        }
        assert_int_equal(got.count, k);
        assert_int_equal(got.features, number);
        hc_labelled_clear(&got);
    }
}

enum { LINES = 4, SAMPLES = 6 };

static const int values[LINES][SAMPLES] = {
    {0, 7, 7, 0, 2, 2}, {0, 7, 9, 9, 2, 0}, {40, 40, 9, 0, 0, 0}, {0, 0, 0, 0, 0, 3}};
static const int dense[LINES * SAMPLES] = {0, 3, 3, 0, 1, 1, 0, 3, 4, 4, 1, 0,
                                           5, 5, 4, 0, 0, 0, 0, 0, 0, 0, 0, 2};

static GDALDatasetH create_raster(const char *name, int bands, GDALDataType type) {
    GDALDatasetH raster =
        GDALCreate(GDALGetDriverByName("GTiff"), in_folder(name), SAMPLES, LINES, bands, type, NULL);
    assert_non_null(raster);
    for (int b = 1; b <= bands; b++) {
        assert_int_equal(GDALRasterIO(GDALGetRasterBand(raster, b), GF_Write, 0, 0, SAMPLES, LINES,
                                      (void *)(uintptr_t)values, SAMPLES, LINES, GDT_Int32, 0, 0),
                         CE_None);
    }
    return raster;
}

static void check_raster(const char *path, const HcScene *scene, const char *const *names) {
    HcLabelled got = read_good(path, NULL, NULL, scene);
    check_names(&got, names, 5);
    check_map(&got, dense, scene);
    assert_null(got.field);
    hc_labelled_clear(&got);
}

static void rasters(void **state) {
    static const char *const numbered[] = {"Class 2", "Class 3", "Class 7", "Class 9", "Class 40"};
    static const GDALDataType types[] = {GDT_Byte,   GDT_Int16, GDT_UInt16, GDT_Int32,
                                         GDT_UInt32, GDT_Int64, GDT_UInt64};
    HcScene scene = bare_scene(LINES, SAMPLES);
    (void)state;
    for (int t = 0; t < COUNT(types); t++) {
        GDALClose(create_raster("plain.tif", 1, types[t]));
        check_raster(in_folder("plain.tif"), &scene, numbered);
    }
    /* nodata is not a class */
    GDALDatasetH raster = create_raster("nodata.tif", 1, GDT_Byte);
    assert_int_equal(GDALSetRasterNoDataValue(GDALGetRasterBand(raster, 1), 40), CE_None);
    GDALClose(raster);
    HcLabelled got = read_good(in_folder("nodata.tif"), NULL, NULL, &scene);
    check_names(&got, numbered, 4);
    assert_int_equal(got.count, 10);
    hc_labelled_clear(&got);
}

static void named_rasters(void **state) {
    HcScene scene = bare_scene(LINES, SAMPLES);
    (void)state;
    /* Categories and a colour table, not for all. */
    char **names = NULL;
    static const char *const some[] = {"nothing", "", "two", "three", "", "", "", "seven"};
    for (int i = 0; i < COUNT(some); i++) {
        names = CSLAddString(names, some[i]);
    }
    GDALDatasetH raster = create_raster("named.tif", 1, GDT_Byte);
    GDALColorTableH table = GDALCreateColorTable(GPI_RGB);
    const GDALColorEntry orange = {255, 128, 1, 255};
    GDALSetColorEntry(table, 7, &orange);
    GDALSetRasterColorTable(GDALGetRasterBand(raster, 1), table);
    GDALSetRasterCategoryNames(GDALGetRasterBand(raster, 1), names);
    GDALClose(raster);
    GDALDestroyColorTable(table);
    CSLDestroy(names);
    static const char *const want[] = {"two", "three", "seven", "Class 9", "Class 40"};
    check_raster(in_folder("named.tif"), &scene, want);
    HcLabelled got = read_good(in_folder("named.tif"), NULL, NULL, &scene);
    uint8_t second[3];
    hc_classes_standard_colour(2, second);
    assert_memory_equal(got.classes.colour[2], second, 3);
    assert_memory_equal(got.classes.colour[3], "\xFF\x80\x01", 3);
    hc_labelled_clear(&got);
    /* An attribute table: rows in any order. */
    raster = create_raster("table.tif", 1, GDT_UInt16);
    GDALRasterAttributeTableH rows = GDALCreateRasterAttributeTable();
    static const struct {
        const char *name;
        GDALRATFieldType type;
        GDALRATFieldUsage usage;
    } columns[] = {{"Value", GFT_Integer, GFU_MinMax},
                   {"Name", GFT_String, GFU_Name},
                   {"Red", GFT_Integer, GFU_Red},
                   {"Green", GFT_Integer, GFU_Green},
                   {"Blue", GFT_Integer, GFU_Blue}};
    for (int c = 0; c < COUNT(columns); c++) {
        GDALRATCreateColumn(rows, columns[c].name, columns[c].type, columns[c].usage);
    }
    GDALRATSetRowCount(rows, 2);
    GDALRATSetValueAsInt(rows, 0, 0, 40);
    GDALRATSetValueAsString(rows, 0, 1, "forty");
    GDALRATSetValueAsInt(rows, 0, 3, 200);
    GDALRATSetValueAsInt(rows, 1, 0, 9);
    GDALRATSetValueAsString(rows, 1, 1, " nine ");
    GDALSetDefaultRAT(GDALGetRasterBand(raster, 1), rows);
    GDALDestroyRasterAttributeTable(rows);
    GDALClose(raster);
    static const char *const listed[] = {"Class 2", "Class 3", "Class 7", "nine", "forty"};
    check_raster(in_folder("table.tif"), &scene, listed);
    got = read_good(in_folder("table.tif"), NULL, NULL, &scene);
    assert_memory_equal(got.classes.colour[5], "\x00\xC8\x00", 3);
    hc_labelled_clear(&got);
}

/* NAME.img and NAME.hdr, uint8 (1), uint16 of the other byte order (12) or int64 (14), which GDAL 3.6 does
 * not read. */
static void write_classification(const char *name, int type) {
    char path[700], bytes[LINES * SAMPLES * 8] = {0};
    int size = type == 14 ? 8 : type == 12 ? 2 : 1;
    for (int i = 0; i < LINES * SAMPLES; i++) {
        bytes[i * size + (type == 12)] = (char)values[i / SAMPLES][i % SAMPLES];
    }
    snprintf(path, sizeof path, "%s.img", in_folder(name));
    FILE *file = fopen(path, "wb");
    assert_int_equal(fwrite(bytes, 1, (size_t)(LINES * SAMPLES * size), file), LINES * SAMPLES * size);
    fclose(file);
    char *header = NULL;
    assert_true(
        asprintf(&header,
                 "ENVI\nsamples = 6\nlines = 4\nbands = 1\nheader offset = 0\n"
                 "file type = ENVI Classification\ndata type = %d\ninterleave = bsq\nbyte order = %d\n"
                 "classes = 8\nclass names = {Unclassified, one, deep water, Soil,\n four, 5, 6, Seven}\n"
                 "class lookup = {0, 0, 0, 1, 1, 1, 0, 0, 255, 100, 80, 60, 4, 4, 4, 5, 5, 5, 6, 6, 6,\n"
                 " 7, 77, 177}\n",
                 type, type == 12) > 0);
    snprintf(path, sizeof path, "%s.hdr", in_folder(name));
    put_file(path, header);
    free(header);
}

static void envi_classifications(void **state) {
    static const char *const want[] = {"deep water", "Soil", "Seven", "Class 9", "Class 40"};
    static const int types[] = {1, 14, 12};
    static const char *const names[] = {"small.hdr", "small.img", "wide.hdr",
                                        "wide.img",  "big.hdr",   "big.img"};
    HcScene scene = bare_scene(LINES, SAMPLES);
    (void)state;
    for (int i = 0; i < 6; i++) {
        write_classification(i < 2 ? "small" : i < 4 ? "wide" : "big", types[i / 2]);
        check_raster(in_folder(names[i]), &scene, want);
        HcLabelled got = read_good(in_folder(names[i]), NULL, NULL, &scene);
        assert_memory_equal(got.classes.colour[1], "\x00\x00\xFF", 3);
        assert_memory_equal(got.classes.colour[3], "\x07\x4D\xB1", 3);
        hc_labelled_clear(&got);
    }
    /* A shapefile of the same name beside the header is a shapefile. */
    static const Feature two[] = {{"POLYGON((0 0,2 0,2 2,0 2,0 0))", "a"},
                                  {"POLYGON((3 0,5 0,5 2,3 2,3 0))", "b"}};
    Source source = {"ESRI Shapefile", "small.shp", 0, "cover", OFTString, NULL};
    HcLabelled got = read_good(write_vector(&source, two, 2, &scene), NULL, NULL, &scene);
    assert_int_equal(got.count, 8);
    hc_labelled_clear(&got);
}

static void wrong_rasters(void **state) {
    HcScene scene = bare_scene(LINES, SAMPLES), longer = bare_scene(LINES + 1, SAMPLES),
            utm = utm_scene(LINES, SAMPLES);
    (void)state;
    GDALClose(create_raster("good.tif", 1, GDT_Byte));
    check_refused(in_folder("good.tif"), NULL, NULL, &longer, HC_E_INPUT, "4 lines x 6 samples|5 x 6");
    check_refused(in_folder("good.tif"), "cover", NULL, &scene, HC_E_USAGE, "field 'cover'");
    check_refused(in_folder("good.tif"), NULL, "areas", &scene, HC_E_USAGE, "layer 'areas'");
    GDALClose(create_raster("bands.tif", 2, GDT_Byte));
    check_refused(in_folder("bands.tif"), NULL, NULL, &scene, HC_E_UNSUPPORTED, "2 bands");
    GDALClose(create_raster("float.tif", 1, GDT_Float32));
    check_refused(in_folder("float.tif"), NULL, NULL, &scene, HC_E_UNSUPPORTED, "float32");
    GDALDatasetH raster = create_raster("negative.tif", 1, GDT_Int16);
    const int negative = -9999;
    assert_int_equal(GDALRasterIO(GDALGetRasterBand(raster, 1), GF_Write, 4, 3, 1, 1,
                                  (void *)(uintptr_t)&negative, 1, 1, GDT_Int32, 0, 0),
                     CE_None);
    GDALClose(raster);
    check_refused(in_folder("negative.tif"), NULL, NULL, &scene, HC_E_INPUT, "-9999|line 3, sample 4");
    raster = create_raster("large.tif", 1, GDT_UInt64);
    const uint64_t large = UINT64_MAX - 1;
    assert_int_equal(GDALRasterIO(GDALGetRasterBand(raster, 1), GF_Write, 4, 3, 1, 1,
                                  (void *)(uintptr_t)&large, 1, 1, GDT_UInt64, 0, 0),
                     CE_None);
    GDALClose(raster);
    check_refused(in_folder("large.tif"), NULL, NULL, &scene, HC_E_INPUT, "18446744073709551614");
    /* Zeros and one class. */
    raster =
        GDALCreate(GDALGetDriverByName("GTiff"), in_folder("one.tif"), SAMPLES, LINES, 1, GDT_Byte, NULL);
    GDALFillRaster(GDALGetRasterBand(raster, 1), 5, 0);
    GDALClose(raster);
    check_refused(in_folder("one.tif"), NULL, NULL, &scene, HC_E_INPUT, "only one class, 'Class 5'");
    raster =
        GDALCreate(GDALGetDriverByName("GTiff"), in_folder("zero.tif"), SAMPLES, LINES, 1, GDT_Byte, NULL);
    GDALClose(raster);
    check_refused(in_folder("zero.tif"), NULL, NULL, &scene, HC_E_INPUT, "labels no pixel");
    /* The place: half a pixel is 10 m, and from a hundredth on there is a remark. */
    static const struct {
        double by;
        bool good, noted;
    } shifts[] = {{0, true, false},  {0.19, true, false},   {-0.21, true, true},
                  {9.9, true, true}, {-10.1, false, false}, {20, false, false}};
    for (int i = 0; i < COUNT(shifts); i++) {
        raster = create_raster("placed.tif", 1, GDT_Byte);
        double transform[6];
        memcpy(transform, utm.place.transform, sizeof transform);
        transform[0] += shifts[i].by;
        assert_int_equal(GDALSetGeoTransform(raster, transform), CE_None);
        GDALClose(raster);
        if (shifts[i].good) {
            HcLabelled got = read_good(in_folder("placed.tif"), NULL, NULL, &utm);
            assert_int_equal(got.place_note.length > 0, shifts[i].noted);
            hc_labelled_clear(&got);
        } else {
            check_refused(in_folder("placed.tif"), NULL, NULL, &utm, HC_E_INPUT, "pixels apart");
        }
    }
    utm.place.by_pixels = true;
    HcLabelled got = read_good(in_folder("placed.tif"), NULL, NULL, &utm);
    hc_labelled_clear(&got);
    hc_scene_clear(&utm);
}

/* Numbers are kept; what is called background is no class; a number that no map holds gives all new ones. */
static void numbers_of_rasters(void **state) {
    static const int kept[] = {0, 2, 3, 9, 40}, plain[] = {0, 2, 3, 7, 9, 40};
    HcScene scene = bare_scene(LINES, SAMPLES);
    (void)state;
    char **names = NULL;
    for (int i = 0; i < 8; i++) {
        names = CSLAddString(names, i == 7 ? " Background" : i == 2 ? "two" : "");
    }
    GDALDatasetH raster = create_raster("named.tif", 1, GDT_Byte);
    GDALSetRasterCategoryNames(GDALGetRasterBand(raster, 1), names);
    GDALClose(raster);
    CSLDestroy(names);
    HcLabelled got = read_good(in_folder("named.tif"), NULL, NULL, &scene);
    assert_int_equal(got.classes.count, COUNT(kept));
    assert_memory_equal(got.number, kept, sizeof kept);
    assert_true(got.named && got.numbered);
    assert_int_equal(got.count, 9);
    assert_int_equal(got.lost_classes, 0);
    HcClasses map = {0};
    HcError err = {0};
    check_ok(hc_labelled_classes(&got, &map, &err), err);
    assert_int_equal(map.count, 41);
    assert_string_equal(map.name[2], "two");
    assert_string_equal(map.name[40], "Class 40");
    for (int c = 0; c < COUNT(kept); c++) {
        assert_int_equal(hc_labelled_label(&got, kept[c]), c);
    }
    hc_classes_clear(&map);
    hc_labelled_clear(&got);
    GDALClose(create_raster("plain.tif", 1, GDT_Int32));
    got = read_good(in_folder("plain.tif"), NULL, NULL, &scene);
    assert_memory_equal(got.number, plain, sizeof plain);
    assert_true(!got.named && got.numbered);
    hc_labelled_clear(&got);
    raster = create_raster("large.tif", 1, GDT_Int32);
    const int large = 70000;
    assert_int_equal(GDALRasterIO(GDALGetRasterBand(raster, 1), GF_Write, 0, 0, 1, 1,
                                  (void *)(uintptr_t)&large, 1, 1, GDT_Int32, 0, 0),
                     CE_None);
    GDALClose(raster);
    got = read_good(in_folder("large.tif"), NULL, NULL, &scene);
    assert_int_equal(got.number[6], 6);
    assert_int_equal(got.renumbered, large);
    HcText note = {0};
    hc_labelled_note(&got, &note);
    assert_non_null(strstr(note.data, "a map does not hold 70000"));
    hc_text_clear(&note);
    hc_labelled_clear(&got);
}

/* A CRS that cannot be read has no name, which is no failure. */

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regions),       cmocka_unit_test(rasters),
        cmocka_unit_test(named_rasters), cmocka_unit_test(envi_classifications),
        cmocka_unit_test(wrong_rasters), cmocka_unit_test(numbers_of_rasters),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
