/* Class maps: what is written of them comes back, through GDAL and through the reader. */
#include "io/file.h"
#include "io/read/reader.h"
#include "write_fixture.h"

#include <cpl_string.h>
#include <ogr_srs_api.h>

static const char *const some_names[] = {"Unclassified", "Water, deep", "{braces}", "Gr\xC3\xBCnland"};

/* Numbered or with the names above, colours of their own. */
static HcScene class_scene(int64_t lines, int64_t samples, int32_t bands, int32_t count) {
    HcScene scene = plain_scene(lines, samples, bands);
    HcError err = {0};
    scene.meaning = HC_CLASS_MAP;
    check_ok(hc_classes_make(&scene.classes, count, &err), err);
    for (int32_t c = 0; c < count; c++) {
        if (c < 4) {
            check_ok(hc_classes_name(&scene.classes, c, some_names[c], &err), err);
        }
        scene.classes.colour[c][0] = (uint8_t)(c * 40 % 251);
        scene.classes.colour[c][1] = (uint8_t)(c * 7 % 253);
        scene.classes.colour[c][2] = (uint8_t)(c > 0 ? 200 : 0);
    }
    return scene;
}

static float class_at(const HcScene *scene, int64_t line, int64_t sample) {
    return (float)((line * scene->samples + sample) % scene->classes.count);
}

/* Classes in the first band, fractions in the others. */
static HcStatus write_map(const char *path, const HcScene *scene, const HcWriterOptions *options, bool whole,
                          HcError *err) {
    HcWriter *writer = NULL;
    size_t pixels = (size_t)(scene->lines * scene->samples), bands = (size_t)scene->bands;
    float *data = calloc(pixels * bands, sizeof *data);
    uint8_t *mask = calloc(pixels, 1);
    for (int64_t l = 0; l < scene->lines; l++) {
        for (int64_t s = 0; s < scene->samples; s++) {
            size_t at = (size_t)(l * scene->samples + s);
            mask[at] = !is_masked(l, s);
            for (size_t b = 0; b < bands && mask[at]; b++) {
                data[at * bands + b] = b == 0 ? class_at(scene, l, s) : 0.25f * (float)b;
            }
        }
    }
    HcBlock block = {.data = data,
                     .mask = mask,
                     .lines = (int32_t)scene->lines,
                     .samples = (int32_t)scene->samples,
                     .bands = scene->bands};
    HcStatus status = hc_writer_open(&writer, path, scene, options, err);
    if (status == HC_OK) {
        status = hc_writer_write(writer, &block, err);
    }
    if (status == HC_OK && whole) {
        status = hc_writer_finish(writer, err);
    }
    hc_writer_close(writer);
    free(data);
    free(mask);
    return status;
}

/* `masked` is what masked pixels hold. */
static void check_map(const char *path, const HcScene *scene, GDALDataType type, double masked) {
    GDALDatasetH dataset = GDALOpen(path, GA_ReadOnly);
    assert_non_null(dataset);
    GDALRasterBandH band = GDALGetRasterBand(dataset, 1);
    assert_int_equal(GDALGetRasterDataType(band), type);
    for (int64_t l = 0; l < scene->lines; l++) {
        for (int64_t s = 0; s < scene->samples; s++) {
            double value = read_value(band, l, s);
            double wanted = is_masked(l, s) ? masked : (double)class_at(scene, l, s);
            assert_true(value == wanted || (isnan(value) && isnan(wanted)));
        }
    }
    double nodata = nodata_of(band);
    assert_true(nodata == masked || (isnan(nodata) && isnan(masked)));
    GDALClose(dataset);
}

static void check_gdal_classes(const char *path, const HcScene *scene, bool names_as_given) {
    GDALDatasetH dataset = GDALOpen(path, GA_ReadOnly);
    GDALRasterBandH band = GDALGetRasterBand(dataset, 1);
    nodata_of(band); /* GDAL 3.6 does not look into the .aux.xml for the categories alone */
    char **names = GDALGetRasterCategoryNames(band);
    GDALColorTableH table = GDALGetRasterColorTable(band);
    if (names == NULL || table == NULL) {
        fail_msg("%s: no %s", path, names == NULL ? "names" : "colours");
    }
    assert_int_equal(CSLCount(names), scene->classes.count);
    for (int32_t c = 0; c < scene->classes.count; c++) {
        const GDALColorEntry *entry = GDALGetColorEntry(table, c);
        assert_true(entry->c1 == scene->classes.colour[c][0] && entry->c2 == scene->classes.colour[c][1] &&
                    entry->c3 == scene->classes.colour[c][2]);
        if (names_as_given) {
            assert_string_equal(names[c], scene->classes.name[c]);
        }
    }
    GDALClose(dataset);
}

/* `plain`: without the characters that a list in a header cannot hold. */
static void check_read(const char *path, const HcScene *wanted, bool plain) {
    HcReader *reader = NULL;
    HcError err = {0};
    check_ok(hc_reader_open(&reader, path, NULL, &err), err);
    const HcScene *scene = hc_reader_scene(reader);
    assert_true(hc_scene_is_class_map(scene));
    assert_int_equal(scene->classes.count, wanted->classes.count);
    for (int32_t c = 0; c < scene->classes.count; c++) {
        const char *name = plain && c == 1   ? "Water; deep"
                           : plain && c == 2 ? "(braces)"
                                             : wanted->classes.name[c];
        assert_string_equal(scene->classes.name[c], name);
        assert_memory_equal(scene->classes.colour[c], wanted->classes.colour[c], 3);
    }
    hc_reader_close(reader);
}

static bool holds(const char *path, const char *text) {
    char *data = NULL;
    HcError err = {0};
    check_ok(hc_file_read(path, 1 << 20, &data, NULL, &err), err);
    bool found = strstr(data, text) != NULL;
    free(data);
    return found;
}

static void envi(void **state) {
    (void)state;
    HcError err = {0};
    static const int32_t counts[] = {1, 4, 256, 257, 300};
    for (int i = 0; i < 5; i++) {
        HcScene scene = class_scene(23, 19, 1, counts[i]);
        HcWriterOptions options = {.overwrite = true};
        check_ok(write_map(in_folder("a.img"), &scene, &options, true, &err), err);
        check_map(in_folder("a.img"), &scene, counts[i] > 256 ? GDT_UInt16 : GDT_Byte, 0);
        check_gdal_classes(in_folder("a.img"), &scene, false);
        check_read(in_folder("a.img"), &scene, true);
        assert_true(holds(in_folder("a.hdr"), "file type = ENVI Classification"));
        hc_scene_clear(&scene);
    }
    assert_int_equal(folder_entries(folder), 2);
}

static void gdal_formats(void **state) {
    (void)state;
    static const struct {
        const char *format, *name;
        int32_t count;
    } cases[] = {{"GTiff", "a.tif", 4}, {"GTiff", "b.tif", 300}, {"COG", "c.tif", 4},
                 {"COG", "d.tif", 300}, {"PNG", "e.png", 4},     {"HFA", "f.img", 4}};
    HcError err = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        HcScene scene = class_scene(40, 33, 1, cases[i].count);
        HcWriterOptions options = {.format = cases[i].format};
        const char *path = in_folder(cases[i].name);
        if (GDALGetDriverByName(cases[i].format) != NULL) {
            check_ok(write_map(path, &scene, &options, true, &err), err);
            check_map(path, &scene, cases[i].count > 256 ? GDT_UInt16 : GDT_Byte, 0);
            check_gdal_classes(path, &scene, true);
            check_read(path, &scene, false);
        }
        hc_scene_clear(&scene);
    }
}

/* The names lie in a file beside a GeoTIFF: it comes, goes and is refused with it. */
static void file_of_names(void **state) {
    (void)state;
    HcError err = {0};
    HcScene scene = class_scene(20, 20, 1, 4), other = plain_scene(20, 20, 1);
    HcWriterOptions again = {.overwrite = true};
    check_ok(write_map(in_folder("a.tif"), &scene, NULL, true, &err), err);
    assert_int_equal(folder_entries(folder), 2);
    assert_true(file_exists(in_folder("a.tif.aux.xml")));
    check_fails(write_map(in_folder("a.tif"), &scene, NULL, true, &err), HC_E_USAGE, err);
    check_ok(write_map(in_folder("a.tif"), &scene, &again, false, &err), err); /* never finished */
    assert_int_equal(folder_entries(folder), 2);
    check_ok(write_map(in_folder("a.tif"), &scene, &again, true, &err), err);
    assert_int_equal(folder_entries(folder), 2);
    check_read(in_folder("a.tif"), &scene, false);
    check_ok(write_scene(in_folder("a.tif"), &other, &again, &err), err);
    assert_int_equal(folder_entries(folder), 1);
    unlink(in_folder("a.tif"));
    /* One that was left behind is somebody's until it is said otherwise. */
    put_file(in_folder("a.tif.aux.xml"), "<PAMDataset/>");
    check_fails(hc_writer_check(in_folder("a.tif"), &scene, NULL, &err), HC_E_USAGE, err);
    check_ok(write_map(in_folder("a.tif"), &scene, &again, true, &err), err);
    /* What was lost with it, the file itself knows. */
    unlink(in_folder("a.tif.aux.xml"));
    check_read(in_folder("a.tif"), &scene, true);
    hc_scene_clear(&scene);
}

/* With bands behind the classes: float32, names and colours all the same. */
static void several_bands(void **state) {
    (void)state;
    HcError err = {0};
    HcScene scene = class_scene(20, 21, 3, 7);
    check_ok(hc_scene_name_band(&scene, 1, &err, "confidence"), err);
    check_ok(write_map(in_folder("a.img"), &scene, NULL, true, &err), err);
    check_ok(write_map(in_folder("b.tif"), &scene, NULL, true, &err), err);
    assert_int_equal(folder_entries(folder), 3);
    assert_true(holds(in_folder("a.hdr"), "file type = ENVI Standard"));
    static const char *const names[] = {"a.img", "b.tif"};
    for (int i = 0; i < 2; i++) {
        check_map(in_folder(names[i]), &scene, GDT_Float32, NAN);
        check_read(in_folder(names[i]), &scene, true);
    }
    hc_scene_clear(&scene);
}

static void forced_types(void **state) {
    (void)state;
    HcError err = {0};
    HcScene scene = class_scene(20, 20, 1, 7), many = class_scene(20, 20, 1, 300),
            deep = class_scene(9, 9, 2, 7);
    static const HcWriterOptions wide = {.has_type = true, .type = HC_INT16, .overwrite = true};
    static const HcWriterOptions floats = {.has_type = true, .type = HC_FLOAT32, .overwrite = true};
    static const HcWriterOptions zero = {
        .has_type = true, .type = HC_FLOAT64, .overwrite = true, .has_nodata = true};
    static const HcWriterOptions high = {.has_nodata = true, .nodata = 255, .overwrite = true};
    static const HcWriterOptions bytes = {.has_type = true, .type = HC_UINT8};
    static const HcWriterOptions taken = {.has_nodata = true, .nodata = 6, .overwrite = true};
    static const char *const names[] = {"a.img", "a.tif"};
    for (int i = 0; i < 2; i++) {
        const char *path = in_folder(names[i]);
        check_ok(write_map(path, &scene, &wide, true, &err), err);
        check_map(path, &scene, GDT_Int16, 0);
        check_read(path, &scene, i == 0);
        check_ok(write_map(path, &scene, &floats, true, &err), err);
        check_map(path, &scene, GDT_Float32, NAN);
        check_ok(write_map(path, &scene, &zero, true, &err), err);
        check_map(path, &scene, GDT_Float64, 0);
        check_ok(write_map(path, &scene, &high, true, &err), err);
        check_map(path, &scene, GDT_Byte, 255);
        check_ok(write_map(path, &deep, &wide, true, &err), err);
        check_map(path, &deep, GDT_Int16, 0);
        check_fails(write_map(path, &scene, &taken, true, &err), HC_E_USAGE, err);
        check_fails(write_map(in_folder("new.tif"), &many, &bytes, true, &err), HC_E_USAGE, err);
    }
    hc_scene_clear(&scene);
    hc_scene_clear(&many);
    hc_scene_clear(&deep);
}

/* ---- what others write ---- */

static HcReader *read_header(const char *fields) {
    HcReader *reader = NULL;
    HcError err = {0};
    char header[1000];
    snprintf(header, sizeof header,
             "ENVI\nsamples = 2\nlines = 2\nbands = 1\ndata type = 1\ninterleave = bsq\n%s\n", fields);
    put_file(in_folder("x.hdr"), header);
    put_file(in_folder("x.img"), "\1\2\3\4");
    check_ok(hc_reader_open(&reader, in_folder("x.img"), NULL, &err), err);
    return reader;
}

static void headers_of_others(void **state) {
    (void)state;
    static const struct {
        const char *fields;
        int32_t count;
        const char *last;
    } cases[] = {
        {"file type = ENVI Classification\nclasses = 3\n", 3, "Class 2"},
        {"file type = ENVI Classification\nclass names = {Unclassified, Sand}\n", 2, "Sand"},
        {"file type = ENVI Classification\nclasses = 4\nclass names = {Unclassified, Sand}\n", 4, "Class 3"},
        {"file type = ENVI Classification\nclasses = 2\nclass names = {a, b, c}\n", 2, "Class 1"},
        {"classes = 3\nclass names = {Unclassified, wet, sand, road}\n", 3, "Class 2"},
        {"classes = 3\nclass names = {Unclassified, a {1}, b}\n", 3, "Class 2"},
        {"file type = ENVI Classification\nclass lookup = {0, 0, 0, 9, 9, 9}\n", 2, "Class 1"},
        {"file type = ENVI Classification\nclass lookup = {0, x}\nclasses = 2\n", 2, "Class 1"},
        {"file type = ENVI Classification\n", 0, NULL},
        {"file type = ENVI Classification\nclasses = -1\n", 0, NULL},
        {"file type = ENVI Classification\nclasses = 100000000\n", 0, NULL},
        {"file type = ENVI Standard\n", 0, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        HcReader *reader = read_header(cases[i].fields);
        const HcScene *scene = hc_reader_scene(reader);
        assert_int_equal(scene->classes.count, cases[i].count);
        assert_int_equal(hc_scene_is_class_map(scene), cases[i].count > 0);
        if (cases[i].count > 0) {
            assert_string_equal(scene->classes.name[cases[i].count - 1], cases[i].last);
        }
        hc_reader_close(reader);
    }
    HcReader *reader = read_header("classes = 2\nclass lookup = {-5, 300, 12.5, 1, 2, 3}\n");
    static const uint8_t clamped[3] = {0, 255, 12};
    assert_memory_equal(hc_reader_scene(reader)->classes.colour[0], clamped, 3);
    assert_non_null(strstr(hc_reader_note(reader), "levels outside of 0 to 255"));
    hc_reader_close(reader);
    reader =
        read_header("classes = 2\nclass names = {Unclassified, wet, sand}\nclass lookup = {0, 0, 0, 1}\n");
    check_says(hc_reader_note(reader), "class names left out: 3 names ... 2 classes");
    check_says(hc_reader_note(reader), "class lookup has 4 values ... 2 classes");
    hc_reader_close(reader);
    reader = read_header("classes = 2\nclass names = {a, b, c}\n");
    assert_string_equal(hc_reader_scene(reader)->classes.name[0], "Class 0");
    hc_reader_close(reader);
    /* Fewer colours than classes: the others have the standard ones, also where names mean something. */
    reader = read_header(
        "classes = 4\nclass names = {Unclassified, a, b, water}\nclass lookup = {0, 0, 0, 9, 8, 7}\n");
    static const uint8_t own[3] = {9, 8, 7};
    const HcClasses *classes = &hc_reader_scene(reader)->classes;
    assert_memory_equal(classes->colour[1], own, 3);
    for (int32_t c = 2; c < 4; c++) {
        uint8_t standard[3];
        hc_classes_standard_colour(c, standard);
        assert_memory_equal(classes->colour[c], standard, 3);
    }
    hc_reader_close(reader);
}

/* A picture of few colours is no map with a class of no class: what it holds stays data. */
static void colours_alone(void **state) {
    (void)state;
    HcReader *reader = NULL;
    HcError err = {0};
    GDALDatasetH made = GDALCreate(GDALGetDriverByName("GTiff"), in_folder("p.tif"), 8, 8, 1, GDT_Byte, NULL);
    GDALColorTableH table = GDALCreateColorTable(GPI_RGB);
    GDALColorEntry white = {255, 255, 255, 255}, red = {255, 0, 0, 255};
    GDALSetColorEntry(table, 0, &white);
    GDALSetColorEntry(table, 2, &red);
    GDALSetRasterColorTable(GDALGetRasterBand(made, 1), table);
    GDALDestroyColorTable(table);
    GDALClose(made);
    check_ok(hc_reader_open(&reader, in_folder("p.tif"), NULL, &err), err);
    HcScene scene = {0};
    check_ok(hc_scene_copy(&scene, hc_reader_scene(reader), &err), err);
    hc_reader_close(reader);
    assert_int_equal(scene.classes.count, 3);
    assert_string_equal(scene.classes.name[0], "Class 0");
    scene.complete = true;
    check_ok(write_map(in_folder("q.tif"), &scene, NULL, true, &err), err);
    check_ok(hc_reader_open(&reader, in_folder("q.tif"), NULL, &err), err);
    assert_false(hc_reader_scene(reader)->has_nodata);
    assert_int_equal(hc_reader_scene(reader)->classes.colour[2][0], 255);
    hc_reader_close(reader);
    hc_scene_clear(&scene);
}

/* A system that CF has no projection for: from 3.9 on GDAL's driver would end the process for it. */
static void netcdf_of_switzerland(void **state) {
    (void)state;
    HcError err = {0};
    HcScene scene = class_scene(40, 33, 1, 4);
    set_crs(&scene, 2056);
    assert_int_equal(write_map(in_folder("a.nc"), &scene, NULL, true, &err), HC_E_UNSUPPORTED);
    check_says(err.text, "a.nc: ... netCDF");
    assert_int_equal(folder_entries(folder), 0);
    hc_scene_clear(&scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(envi, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(gdal_formats, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(file_of_names, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(several_bands, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(forced_types, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(headers_of_others, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(netcdf_of_switzerland, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(colours_alone, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
