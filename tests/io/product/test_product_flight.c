/* AVIRIS-NG and AVIRIS Classic: folders of ENVI files as the documents of their distribution list them. */
#include "product_check.h"

enum { BANDS = 4 };

static const double centres[BANDS] = {376.86, 381.87, 386.88, 391.89};
static const double widths[BANDS] = {5.57, 5.58, 5.59, 5.6};
static const int stored[BANDS] = {0, 1, 2, 3};
static const char *const ng[] = {"ang20160831t201002_rdn_v1n2_img",
                                 "ang20160831t201002_rdn_v1n2_img.hdr",
                                 "ang20160831t201002_rdn_glt",
                                 "ang20160831t201002_rdn_glt.hdr",
                                 "ang20160831t201002_rdn_igm",
                                 "ang20160831t201002_rdn_igm.hdr",
                                 "ang20160831t201002_rdn_loc",
                                 "ang20160831t201002_rdn_loc.hdr",
                                 "ang20160831t201002_rdn_obs",
                                 "ang20160831t201002_rdn_obs.hdr",
                                 NULL};

/* An ENVI file of int16 or float64, BIL or BIP, with its header; `fields` are further ones. */
static void write_envi(const char *name, int lines, int samples, int bands, int type, const char *fields) {
    char header[600], path[700];
    bool by_line = type == 2;
    FILE *file = fopen(in_folder(name), "wb");
    assert_non_null(file);
    for (int i = 0; i < lines * samples * bands; i++) {
        int line = i / (samples * bands), sample = by_line ? i % samples : i / bands % samples;
        int band = by_line ? i / samples % bands : i % bands;
        double value = product_value(line, sample, band);
        int16_t whole = (int16_t)value;
        assert_int_equal(fwrite(by_line ? (void *)&whole : (void *)&value, by_line ? 2 : 8, 1, file), 1);
    }
    fclose(file);
    snprintf(header, sizeof header,
             "ENVI\nsamples = %d\nlines = %d\nbands = %d\nheader offset = 0\nfile type = ENVI Standard\n"
             "data type = %d\ninterleave = %s\nbyte order = 0\n%s",
             samples, lines, bands, type, by_line ? "bil" : "bip", fields);
    snprintf(path, sizeof path, "%s.hdr", in_folder(name));
    put_file(path, header);
}

#define HEADER                                                                                               \
    "wavelength = {376.86, 381.87, 386.88, 391.89}\nfwhm = {5.57, 5.58, 5.59, 5.6}\n"                        \
    "wavelength units = Nanometers\n"                                                                        \
    "map info = {UTM, 1, 1, 500000, 4000000, 4, 4, 10, North, WGS-84, units=Meters, rotation=30}\n"

static void write_image(const char *name) {
    write_envi(name, PRODUCT_LINES, PRODUCT_SAMPLES, BANDS, 2, HEADER "data ignore value = -9999\n");
}

static void write_ng(const char *in, int table_lines) {
    char name[200];
    for (int f = 0; ng[f] != NULL; f += 2) {
        snprintf(name, sizeof name, "%s/%s", in, ng[f]);
        if (f == 0) {
            write_image(name);
        } else {
            write_envi(name, f == 2 ? table_lines : 7, f == 2 ? PRODUCT_SAMPLES : 3, f == 2 ? 2 : 3, 5, "");
        }
    }
}

static void remove_all(const char *in, const char *const *names) {
    char name[200];
    for (; *names != NULL; names++) {
        snprintf(name, sizeof name, "%s/%s", in, *names);
        assert_int_equal(unlink(in_folder(name)), 0);
    }
    assert_int_equal(rmdir(in_folder(in)), 0);
}

static HcReader *open_scene(const char *path) {
    HcReader *reader = NULL;
    HcError err = {0};
    check_ok(hc_reader_open(&reader, path, NULL, &err), err);
    return reader;
}

/* By folder, header and data; all files are recorded, and the place and nodata of the header stay. */
static void a_folder_is_its_image(void **state) {
    (void)state;
    HcError err = {0};
    char image[100], paths[3][600];
    assert_int_equal(mkdir(in_folder("flight"), 0700), 0);
    write_ng("flight", PRODUCT_LINES);
    snprintf(image, sizeof image, "flight/%s", ng[0]);
    snprintf(paths[0], sizeof paths[0], "%s", in_folder("flight"));
    snprintf(paths[1], sizeof paths[1], "%s", in_folder(image));
    snprintf(paths[2], sizeof paths[2], "%s.hdr", in_folder(image));
    for (int p = 0; p < 3; p++) {
        HcPaths files = {0};
        HcReader *reader = open_scene(paths[p]);
        const HcScene *scene = hc_reader_scene(reader);
        assert_string_equal(hc_reader_product(reader), "AVIRIS-NG radiance");
        assert_string_equal(hc_reader_path(reader), in_folder(image));
        assert_string_equal(hc_reader_method(reader), "direct");
        check_list(scene->wavelength, centres, BANDS);
        check_list(scene->fwhm, widths, BANDS);
        assert_true(scene->has_nodata && scene->nodata == -9999);
        assert_true(scene->place.has_transform && scene->place.transform[2] != 0);
        assert_null(strstr(hc_reader_note(reader), "sensor geometry"));
        assert_non_null(strstr(hc_reader_note(reader),
                               "beside it: ang20160831t201002_rdn_glt, ang20160831t201002_rdn_igm, "
                               "ang20160831t201002_rdn_loc, ang20160831t201002_rdn_obs"));
        check_ok(hc_reader_files(reader, &files, &err), err);
        for (int f = 0; ng[f] != NULL; f++) {
            char name[100];
            snprintf(name, sizeof name, "flight/%s", ng[f]);
            assert_true(hc_paths_has(&files, in_folder(name)));
        }
        hc_paths_clear(&files);
        hc_reader_close(reader);
        check_cubes(paths[p], stored);
    }
    /* What lies beside it is a raster like any other. */
    snprintf(image, sizeof image, "flight/%s", ng[8]);
    HcReader *reader = open_scene(in_folder(image));
    assert_null(hc_reader_product(reader));
    hc_reader_close(reader);
    remove_all("flight", ng);
}

/* AVIRIS-3 as ENVI: a rotated map, with angles beside it; what lies beside may have wavelengths, too. */
static void aviris_3_opens(void **state) {
    (void)state;
    static const char *const names[] = {"AV320231005t181518_L2A_OE_main_98b13fff_RFL_ORT",
                                        "AV320231005t181518_L2A_OE_main_98b13fff_RFL_ORT.hdr",
                                        "AV320231005t181518_L2A_OE_main_98b13fff_UNC_ORT",
                                        "AV320231005t181518_L2A_OE_main_98b13fff_UNC_ORT.hdr",
                                        "AV320231005t181518_L1B_ORT_main_d71e8b07_OBS_ORT",
                                        "AV320231005t181518_L1B_ORT_main_d71e8b07_OBS_ORT.hdr",
                                        NULL};
    char name[200];
    assert_int_equal(mkdir(in_folder("flight"), 0700), 0);
    for (int f = 0; f < 6; f += 2) {
        snprintf(name, sizeof name, "flight/%s", names[f]);
        if (f < 4) {
            write_image(name);
        } else {
            write_envi(name, PRODUCT_LINES, PRODUCT_SAMPLES, 11, 5, "");
        }
    }
    HcReader *reader = open_scene(in_folder("flight"));
    assert_string_equal(hc_reader_product(reader), "AVIRIS-3 reflectance");
    check_list(hc_reader_scene(reader)->wavelength, centres, BANDS);
    assert_true(hc_reader_scene(reader)->place.transform[2] != 0);
    check_says(hc_reader_note(reader), "beside it: ... OBS_ORT, ... UNC_ORT");
    hc_reader_close(reader);
    check_cubes(in_folder("flight"), stored);
    remove_all("flight", names);
    static const char *const five[] = {"AV520250508t173511_000_L2A_OE_f9b3b7e7_RFL_ORT",
                                       "AV520250508t173511_000_L2A_OE_f9b3b7e7_RFL_ORT.hdr",
                                       "AV520250508t173511_000_L2A_OE_f9b3b7e7_UNC_ORT",
                                       "AV520250508t173511_000_L2A_OE_f9b3b7e7_UNC_ORT.hdr", NULL};
    assert_int_equal(mkdir(in_folder("flight"), 0700), 0);
    for (int f = 0; f < 4; f += 2) {
        snprintf(name, sizeof name, "flight/%s", five[f]);
        write_image(name);
    }
    reader = open_scene(in_folder("flight"));
    assert_string_equal(hc_reader_product(reader), "AVIRIS-5 reflectance");
    check_says(hc_reader_note(reader), "beside it: ... UNC_ORT");
    hc_reader_close(reader);
    remove_all("flight", five);
}

static void sensor_geometry_is_told(void **state) {
    (void)state;
    assert_int_equal(mkdir(in_folder("flight"), 0700), 0);
    write_ng("flight", 9);
    HcReader *reader = open_scene(in_folder("flight"));
    assert_non_null(
        strstr(hc_reader_note(reader), "write --ortho places them by ang20160831t201002_rdn_glt.hdr"));
    const char *table = hc_reader_scene(reader)->lookup.file;
    assert_true(table != NULL && strstr(table, "/ang20160831t201002_rdn_glt.hdr") != NULL);
    hc_reader_close(reader);
    remove_all("flight", ng);
}

/* A folder with two images names both; one whose data are missing is refused. */
static void flaws_are_told(void **state) {
    (void)state;
    char name[100];
    static const char *const other[] = {"flight/ang20160831t201002_rfl_v1n2_img",
                                        "flight/ang20160831t201002_rfl_v1n2_img.hdr"};
    assert_int_equal(mkdir(in_folder("flight"), 0700), 0);
    write_ng("flight", PRODUCT_LINES);
    write_image(other[0]);
    check_refused(in_folder("flight"), HC_E_INPUT, "holds 2 products, open one of them: ");
    HcReader *reader = open_scene(in_folder(other[0]));
    assert_string_equal(hc_reader_product(reader), "AVIRIS-NG reflectance");
    hc_reader_close(reader);
    unlink(in_folder(other[0]));
    unlink(in_folder(other[1]));
    snprintf(name, sizeof name, "flight/%s", ng[0]);
    unlink(in_folder(name));
    HcError err = {0};
    HcReader *none = NULL;
    assert_int_equal(hc_reader_open(&none, in_folder("flight"), NULL, &err), HC_E_INPUT);
    assert_non_null(strstr(err.text, ng[1]));
    write_image(name);
    remove_all("flight", ng);
}

/* By image, header and folder: one line with the header and the value. */
static void wavelengths_make_sense(void **state) {
    (void)state;
    static const struct {
        const char *wavelengths, *part;
    } flaws[] = {{"376.86, nan, 386.88, 391.89", "wavelength of band 2 is nan"},
                 {"376.86, 381.87, -386.88, 391.89", "wavelength of band 3 is -386.88"},
                 {"376.86, 381.87, 386.88, inf", "wavelength of band 4 is inf"},
                 {"376.86, 0, 386.88, 391.89", "wavelength of band 2 is 0"},
                 {"376.86, 381.87, 386.88", "wavelength has 3 values for 4 bands"},
                 {"1, 2, 3, 4, 5", "wavelength has 5 values for 4 bands"},
                 {"376.86, violet, 386.88, 391.89", "wavelength = violet in line 10 ... not a number"}};
    char name[100], fields[200], header[700];
    assert_int_equal(mkdir(in_folder("flight"), 0700), 0);
    write_ng("flight", PRODUCT_LINES);
    snprintf(name, sizeof name, "flight/%s", ng[0]);
    snprintf(header, sizeof header, "%s.hdr", in_folder(name));
    for (size_t f = 0; f < sizeof flaws / sizeof *flaws; f++) {
        snprintf(fields, sizeof fields, "wavelength = {%s}\nwavelength units = Nanometers\n",
                 flaws[f].wavelengths);
        write_envi(name, PRODUCT_LINES, PRODUCT_SAMPLES, BANDS, 2, fields);
        const char *paths[] = {in_folder(name), header, in_folder("flight")};
        for (int p = 0; p < 3; p++) {
            HcReader *reader = NULL;
            HcError err = {0};
            HcStatus got = hc_reader_open(&reader, paths[p], NULL, &err);
            if (got != HC_E_INPUT || strstr(err.text, header) == NULL ||
                !check_holds(err.text, flaws[f].part) || strchr(err.text, '\n') != NULL) {
                fail_msg("status %d, '%s' lacks '%s'", (int)got, err.text, flaws[f].part);
            }
        }
    }
    remove_all("flight", ng);
}

/* Stored integers of AVIRIS Classic are divided by the factors of a file beside them. */
static void factors_are_the_scale(void **state) {
    (void)state;
    static const char *const names[] = {"f130612t01p00r09rdn_e.gain",
                                        "f130612t01p00r09rdn_e_ort_glt",
                                        "f130612t01p00r09rdn_e_ort_glt.hdr",
                                        "f130612t01p00r09rdn_e_sc01_ort_img",
                                        "f130612t01p00r09rdn_e_sc01_ort_img.hdr",
                                        NULL};
    char path[200];
    assert_int_equal(mkdir(in_folder("classic"), 0700), 0);
    snprintf(path, sizeof path, "classic/%s", names[3]);
    write_image(path);
    snprintf(path, sizeof path, "classic/%s", names[1]);
    write_envi(path, PRODUCT_LINES, PRODUCT_SAMPLES, 2, 5, "");
    for (int turn = 0; turn < 3; turn++) {
        bool whole = turn != 1;
        for (int n = 1; turn == 2 && n < 3; n++) { /* the factors alone tell of a flight line */
            snprintf(path, sizeof path, "classic/%s", names[n]);
            assert_int_equal(unlink(in_folder(path)), 0);
        }
        snprintf(path, sizeof path, "classic/%s", names[0]);
        put_file(in_folder(path), whole ? " 300.0    1\n 300.0    2\n\n 600.0    3\n1200.0    4\n"
                                        : " 300.0    1\n 300.0    2\n 600.0    4\n");
        HcReader *reader = open_scene(in_folder("classic"));
        const HcScene *scene = hc_reader_scene(reader);
        assert_string_equal(hc_reader_product(reader), "AVIRIS Classic radiance");
        assert_int_equal(scene->gain != NULL, whole);
        check_list(scene->wavelength, centres, BANDS);
        if (whole) {
            const double wanted[BANDS] = {1 / 300.0, 1 / 300.0, 1 / 600.0, 1 / 1200.0};
            for (int b = 0; b < BANDS; b++) {
                check_near(scene->gain[b], wanted[b], 1e-15);
                check_near(scene->offset[b], 0, 0);
            }
        }
        const char *note = hc_reader_note(reader);
        const char *left = "f130612t01p00r09rdn_e.gain is left out ... each of 4 bands";
        assert_int_equal(note == NULL || !check_holds(note, left), whole);
        hc_reader_close(reader);
    }
    remove_all("classic", (const char *const[]){names[0], names[3], names[4], NULL});
}

/* Radiance of AVIRIS Classic is -50 outside of the swath, which no header says. */
static void fill_of_classic_is_known(void **state) {
    (void)state;
    static const char *const names[] = {"f201013t01p00r10rdn_e.gain", "f201013t01p00r10rdn_e_sc01_ort_img",
                                        "f201013t01p00r10rdn_e_sc01_ort_img.hdr", NULL};
    char path[200];
    assert_int_equal(mkdir(in_folder("classic"), 0700), 0);
    snprintf(path, sizeof path, "classic/%s", names[0]);
    put_file(in_folder(path), "300 1\n300 2\n600 3\n1200 4\n");
    for (int says = 0; says < 2; says++) {
        snprintf(path, sizeof path, "classic/%s", names[1]);
        write_envi(path, PRODUCT_LINES, PRODUCT_SAMPLES, BANDS, 2,
                   says ? HEADER "data ignore value = -9999\n" : HEADER);
        HcReader *reader = open_scene(in_folder("classic"));
        const HcScene *scene = hc_reader_scene(reader);
        const char *note = hc_reader_note(reader);
        assert_true(scene->has_nodata && scene->nodata == (says ? -9999 : -50));
        assert_int_equal(note != NULL && check_holds(note, "no nodata: -50 counts"), !says);
        hc_reader_close(reader);
    }
    remove_all("classic", names);
}

/* The detectors of AVIRIS Classic overlap: a band of the second lies among those of the first. */
static void bands_come_by_wavelength(void **state) {
    (void)state;
    static const int from[BANDS] = {0, 2, 1, 3};
    static const double rising[BANDS] = {376.86, 381.87, 386.88, 391.89};
    char path[200];
    assert_int_equal(mkdir(in_folder("flight"), 0700), 0);
    write_ng("flight", PRODUCT_LINES);
    snprintf(path, sizeof path, "flight/%s", ng[0]);
    write_envi(path, PRODUCT_LINES, PRODUCT_SAMPLES, BANDS, 2,
               "wavelength = {376.86, 386.88, 381.87, 391.89}\nwavelength units = Nanometers\n"
               "data gain values = {1, 2, 3, 4}\ndefault bands = {3, 2, 1}\n");
    HcReader *reader = open_scene(in_folder("flight"));
    const HcScene *scene = hc_reader_scene(reader);
    check_list(scene->wavelength, rising, BANDS);
    check_list(scene->gain, (const double[]){1, 3, 2, 4}, BANDS);
    assert_true(scene->has_default_bands && scene->default_bands[0] == 1 && scene->default_bands[1] == 2);
    assert_string_equal(hc_reader_method(reader), "direct");
    hc_reader_close(reader);
    check_cubes(in_folder("flight"), from);
    remove_all("flight", ng);
}

/* Another flight line says nothing of an image, nor does a name that only looks alike. */
static void other_files_are_no_flight(void **state) {
    (void)state;
    static const char *const images[] = {"ang20160831t201002_rdn_v1n2_img", "field_img", "f1_img",
                                         "ang2016t201002_img"};
    write_envi("ang20160831t201003_rdn_glt", PRODUCT_LINES, PRODUCT_SAMPLES, 2, 5, "");
    write_envi("field_glt", PRODUCT_LINES, PRODUCT_SAMPLES, 2, 5, "");
    write_envi("f1_glt", PRODUCT_LINES, PRODUCT_SAMPLES, 2, 5, "");
    write_envi("ang2016t201002_glt", PRODUCT_LINES, PRODUCT_SAMPLES, 2, 5, "");
    for (int i = 0; i < 4; i++) {
        write_image(images[i]);
        HcReader *reader = open_scene(in_folder(images[i]));
        assert_null(hc_reader_product(reader));
        assert_null(hc_reader_note(reader));
        hc_reader_close(reader);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folder_is_its_image),     cmocka_unit_test(aviris_3_opens),
        cmocka_unit_test(sensor_geometry_is_told),   cmocka_unit_test(flaws_are_told),
        cmocka_unit_test(wavelengths_make_sense),    cmocka_unit_test(factors_are_the_scale),
        cmocka_unit_test(fill_of_classic_is_known),  cmocka_unit_test(bands_come_by_wavelength),
        cmocka_unit_test(other_files_are_no_flight),
    };
    GDALAllRegister();
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
