/* knn with spectral libraries in place of training pixels. */
#include "pipeline/json/json.h"
#include "tests/support/nearest.h"
#include "tests/support/strict_runs.h"

#include <stdio.h>
#include <stdlib.h>

enum { SPECTRA = 12 };

static const char *const wavelengths = "wavelength units = nm\nwavelength = {400, 410, 420, 430, 440, 450}\n";

/* A scene of 6 bands, 400 to 450 nm, whose header has `more` lines too. */
static Cube make_lit_scene(const char *more) {
    char lines[300];
    Cube scene = knn_scene();
    snprintf(lines, sizeof lines, "data ignore value = 0\n%s%s", wavelengths, more);
    cube_write(&scene, "lit", HC_FLOAT32, "bil", lines);
    return scene;
}

/* NAME: spectra near pixels of the scene, classes by turns in the order Oats, Corn, Barley; one a line.
 * Values are those of `bands` (BANDS of them where it is NULL), times `factor`. One lacks a value in the
 * second band of the scene. */
static KnnTrained make_library(const Cube *scene, const char *name, const int *bands, int count,
                               double factor, double shift) {
    static const char *const names[CLASSES] = {"Oats", "Corn", "Barley"};
    static const int class[SPECTRA] = {1, 2, 2, 1, 3, 1, 2, 3, 3, 1, 2, 3};
    KnnTrained trained = {.bands = count};
    trained.value = calloc((size_t)SPECTRA * BANDS, sizeof *trained.value);
    trained.class = calloc(SPECTRA, sizeof *trained.class);
    assert_non_null(trained.value);
    assert_non_null(trained.class);
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    fprintf(file, "name");
    for (int b = 0; b < count; b++) {
        fprintf(file, ",%g", 400 + shift + 10 * (bands != NULL ? bands[b] : b));
    }
    for (int i = 0; i < SPECTRA; i++) {
        const double *pixel = scene->value + ((size_t)(5 + 2 * i) * SAMPLES + 8 + (size_t)i) * BANDS;
        fprintf(file, "\n%s", names[class[i] - 1]);
        for (int b = 0; b < count; b++) {
            int band = bands != NULL ? bands[b] : b;
            float value = (float)((pixel[band] + 3 * b + i) * factor);
            trained.value[trained.count * count + b] = value;
            fprintf(file, i == 4 && band == 1 ? "," : ",%.9g", value);
        }
        trained.class[trained.count] = class[i];
        trained.count += i != 4;
    }
    assert_int_equal(fclose(file), 0);
    for (int b = 0; b < BANDS; b++) {
        trained.deviation[b] = 1;
    }
    return trained;
}

/* Some bands of a cube. */
static Cube some_bands(const Cube *from, const int *bands, int count) {
    Cube cube = cube_new(from->lines, from->samples, count);
    memcpy(cube.valid, from->valid, cube_pixels(from));
    for (size_t i = 0; i < cube_pixels(from); i++) {
        for (int b = 0; b < count; b++) {
            cube.value[i * (size_t)count + (size_t)b] = from->value[i * BANDS + (size_t)bands[b]];
        }
    }
    return cube;
}

static void libraries_equal_brute_force(void **state) {
    (void)state;
    static const struct {
        const char *options;
        KnnHow how;
    } cases[] = {
        {"-k 1", {.k = 1, .reject = INFINITY}},
        {"-k 4 --reject 400", {.k = 4, .reject = 400}},
        {"-k 5 --vote distance --metric angle",
         {.k = 5, .weighted = true, .angle = true, .reject = INFINITY}},
        {"-k 3 --scale unit-variance", {.k = 3, .scaled = true, .reject = INFINITY}},
    };
    Cube scene = make_lit_scene("");
    KnnTrained trained = make_library(&scene, "library.csv", NULL, BANDS, 1, 0);
    assert_int_equal(trained.count, SPECTRA - 1);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        HcText notes = {0};
        HcRunReport report = {0};
        RunHow how = {.ops = c % 2 == 1 ? hc_strict_ops() : NULL,
                      .settings = {.block_lines = c > 1 ? 7 : 0},
                      .notes = &notes,
                      .report = &report};
        if (cases[c].how.scaled) {
            knn_set_scale(&trained);
        }
        check_runs(&how, "read lit.img ! knn --training library.csv %s " BANDS_OUT, cases[c].options);
        assert_int_equal(report.passes, 1);
        assert_non_null(strstr(notes.data, "left out: 1 of 12 spectra"));
        knn_check_map("out", &scene, &trained, &cases[c].how);
        hc_text_clear(&notes);
    }
    check_runs(NULL, "read lit.img ! knn --training library.csv ! write classes.img");
    assert_true(file_holds("classes.hdr", "{\nUnclassified,\nOats,\nCorn,\nBarley}"));
    assert_int_equal(hc_strict_leaks(), 0);
    knn_free(&trained);
    cube_free(&scene);
}

/* The library may have the bands of the file, or those that come in. */
static void libraries_follow_the_bands(void **state) {
    (void)state;
    static const int kept[] = {0, 2, 3, 5};
    const KnnHow how = {.k = 3, .reject = INFINITY};
    Cube scene = make_lit_scene("bbl = {1, 0, 1, 1, 0, 1}\n");
    Cube seen = some_bands(&scene, kept, 4);
    KnnTrained all = make_library(&scene, "all.csv", NULL, BANDS, 1, 4.9);
    KnnTrained some = make_library(&scene, "some.csv", kept, 4, 1, -4.9);
    assert_int_equal(all.count, some.count);
    /* Without the second band every spectrum is whole. */
    all.count = 0;
    for (int i = 0; i < SPECTRA; i++) {
        static const int class[SPECTRA] = {1, 2, 2, 1, 3, 1, 2, 3, 3, 1, 2, 3};
        const double *pixel = scene.value + ((size_t)(5 + 2 * i) * SAMPLES + 8 + (size_t)i) * BANDS;
        for (int b = 0; b < 4; b++) {
            all.value[i * 4 + b] = (float)(pixel[kept[b]] + 3 * kept[b] + i);
            some.value[i * 4 + b] = (float)(pixel[kept[b]] + 3 * b + i);
        }
        all.class[i] = some.class[i] = class[i];
    }
    all.bands = 4;
    all.count = some.count = SPECTRA;
    check_runs(NULL, "read lit.img ! knn --training all.csv -k 3 " BANDS_OUT);
    knn_check_map("out", &seen, &all, &how);
    check_runs(NULL, "read lit.img ! knn --training some.csv -k 3 " BANDS_OUT);
    knn_check_map("out", &seen, &some, &how);
    check_runs(NULL, "read lit.img --all-bands ! bands 1,3,4,6 ! knn --training all.csv -k 3 " BANDS_OUT);
    knn_check_map("out", &seen, &all, &how);
    check_runs(NULL, "read lit.img ! filter ! knn --training all.csv -k 3 " BANDS_OUT);
    knn_free(&all);
    knn_free(&some);
    cube_free(&seen);
    cube_free(&scene);
}

/* A library on other bands is the same as one that was brought to the bands of the scene beforehand. */
static void libraries_are_resampled(void **state) {
    (void)state;
    enum { FINE = 40 };
    const KnnHow how = {.k = 3, .reject = INFINITY};
    Cube scene = make_lit_scene("fwhm = {5, 5, 5, 5, 5, 5}\n");
    KnnTrained trained = make_library(&scene, "library.csv", NULL, BANDS, 1, 0);
    FILE *file = fopen("fine.csv", "w");
    assert_non_null(file);
    fputs("name", file);
    for (int k = 0; k < FINE; k++) {
        fprintf(file, ",%g", 387 + 2.0 * k);
    }
    /* Flat spectra, as bright as the first band of those of the library. */
    for (int i = 0; i < trained.count; i++) {
        static const char *const names[CLASSES] = {"Oats", "Corn", "Barley"};
        fprintf(file, "\n%s", names[trained.class[i] - 1]);
        for (int k = 0; k < FINE; k++) {
            fprintf(file, ",%.9g", trained.value[i * BANDS]);
        }
        for (int b = 1; b < BANDS; b++) {
            trained.value[i * BANDS + b] = trained.value[i * BANDS];
        }
    }
    assert_int_equal(fclose(file), 0);
    HcText notes = {0};
    RunHow noting = {.notes = &notes};
    check_runs(&noting, "read lit.img ! knn --training fine.csv -k 3 " BANDS_OUT);
    check_says(notes.data, "fine.csv: 11 spectra on 40 bands ... resampled to 6 bands");
    knn_check_map("out", &scene, &trained, &how);
    RunHow recording = {.settings = {.record = "record.json"}};
    check_runs(&recording, "read lit.img ! knn --training fine.csv -k 3 " BANDS_OUT);
    assert_true(file_holds("record.json", "\"resampled\""));
    hc_text_clear(&notes);
    knn_free(&trained);
    cube_free(&scene);
}

static void libraries_are_validated(void **state) {
    (void)state;
    Cube scene = make_lit_scene("");
    KnnTrained trained = make_library(&scene, "library.csv", NULL, BANDS, 1, 0);
    Cube labels = cube_new(LINES, SAMPLES, 1);
    const KnnHow how = {.k = 3, .reject = INFINITY};
    int64_t matrix[CLASSES][CLASSES + 1] = {{0}};
    for (size_t i = 0; i < cube_pixels(&scene); i++) {
        int class = (int)(i % 4); /* in the order Unclassified, Corn, Barley, Oats */
        static const int as_trained[] = {0, 2, 3, 1};
        labels.value[i] = class;
        if (class > 0 && scene.valid[i]) {
            matrix[as_trained[class] - 1][knn_classify(&trained, &how, scene.value + i * BANDS).class]++;
        }
    }
    cube_write(&labels, "truth", HC_UINT8, "bsq",
               "classes = 4\nclass names = {Unclassified, Corn, Barley, Oats}\n");
    RunHow strict = {.ops = hc_strict_ops(), .settings = {.block_lines = 9}};
    check_runs(&strict, "read lit.img ! knn --training library.csv -k 3 --validation truth.img --neighbours "
                        "--report out.json");
    cJSON *json = knn_read_json("out.json");
    knn_check_report(json, matrix);
    check_near(number_of(json, "training_pixels"), SPECTRA - 1, 0);
    const cJSON *from = cJSON_GetObjectItemCaseSensitive(json, "training_spectrum_from_1");
    assert_int_equal(cJSON_GetArraySize(from), SPECTRA - 1);
    assert_int_equal(cJSON_GetArrayItem(from, 4)->valueint, 6);
    cJSON_Delete(json);
    /* A scale of its own is noted, from pixels or from the type of the scene. */
    knn_free(&trained);
    trained = make_library(&scene, "small.csv", NULL, BANDS, 1e-4, 0);
    HcText notes = {0};
    RunHow noting = {.notes = &notes};
    check_runs(&noting, "read lit.img ! knn --training small.csv --validation truth.img --report a.json");
    check_says(notes.data, "multiplied by 10000 ... unit of the scene");
    hc_text_clear(&notes);
    check_runs(&noting,
               "read lit.img ! knn --training small.csv --metric angle --validation truth.img --report "
               "b.json");
    assert_null(strstr(notes.data, "multiplied"));
    hc_text_clear(&notes);
    cube_write(&scene, "counts", HC_UINT16, "bsq", "data ignore value = 0\n");
    check_runs(&noting, "read counts.img ! knn --training small.csv ! write out.img");
    assert_non_null(strstr(notes.data, "look like another unit"));
    hc_text_clear(&notes);
    knn_free(&trained);
    cube_free(&labels);
    cube_free(&scene);
    assert_int_equal(hc_strict_leaks(), 0);
}

static void libraries_that_do_not_fit_stop(void **state) {
    (void)state;
    static const int some[] = {0, 1, 2, 3};
    Cube scene = make_lit_scene("");
    KnnTrained trained[3] = {make_library(&scene, "library.csv", NULL, BANDS, 1, 0),
                             make_library(&scene, "short.csv", some, 4, 1, 0),
                             make_library(&scene, "moved.csv", NULL, BANDS, 1, 5.1)};
    static const struct {
        const char *chain;
        HcStatus status;
        const char *part;
    } cases[] = {
        {"knn --training short.csv", HC_E_INPUT, "none of its spectra ... 440-450 nm"},
        {"knn --training four.csv", HC_E_INPUT, "has 4 bands, 6 come in ... has 6)"},
        {"knn --training moved.csv", HC_E_INPUT, "moved.csv: none of its spectra ... 400 nm"},
        {"pca --components 3 ! knn --training library.csv", HC_E_USAGE, "components come in"},
        {"mnf --components 3 ! knn --training library.csv", HC_E_USAGE, "components come in"},
        {"knn --training library.csv --split 0.5", HC_E_USAGE, "--split"},
        {"knn --training library.csv --field name", HC_E_USAGE, "there is no field 'name'"},
        {"knn --training library.csv --layer name", HC_E_USAGE, "there is no layer 'name'"},
        {"knn --training library.csv -k 12", HC_E_USAGE, "-k 12: library.csv has 11 training spectra"},
        {"knn --training nowhere.csv", HC_E_INPUT, "nowhere.csv: there is no such file"},
        {"knn --training nowhere.sli", HC_E_INPUT, "nowhere.sli: there is no such file"},
        {"knn --training one.csv -k 1", HC_E_NUMERIC, "only class \"Oats\" has valid training spectra"},
        {"knn --training none.csv -k 1", HC_E_INPUT, "none of its spectra ... 420 nm"},
    };
    FILE *one = fopen("one.csv", "w");
    FILE *none = fopen("none.csv", "w");
    FILE *four = fopen("four.csv", "w");
    assert_non_null(one);
    assert_non_null(none);
    assert_non_null(four);
    fputs("band,Oats,Oats\n1,1,2\n2,1,2\n3,1,2\n4,1,2\n5,1,2\n6,1,2\n", one);
    fputs("band,Oats,Corn\n1,1,2\n2,1,2\n3,,\n4,1,2\n5,1,2\n6,1,2\n", none);
    assert_int_equal(fclose(one), 0);
    fputs("band,Oats,Corn\n1,1,2\n2,1,2\n3,1,2\n4,1,2\n", four);
    assert_int_equal(fclose(none), 0);
    assert_int_equal(fclose(four), 0);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        check_run_fails(NULL, cases[c].status, cases[c].part, "read lit.img ! %s ! write bad.img",
                        cases[c].chain);
    }
    assert_false(file_exists("bad.img"));
    for (int t = 0; t < 3; t++) {
        knn_free(&trained[t]);
    }
    cube_free(&scene);
}

/* Whatever operation fails, the run says so and leaves nothing. */
static void failures_leave_nothing(void **state) {
    (void)state;
    Cube lit = make_lit_scene("");
    KnnTrained trained = make_library(&lit, "library.csv", NULL, BANDS, 1, 0);
    static const char *const results[] = {"out.img", "out.hdr", NULL};
    const char *const chain =
        "read lit.img ! knn --training library.csv --scale unit-variance ! write out.img";
    check_failures_leave_nothing(&chain, 1, 20, results);
    knn_free(&trained);
    cube_free(&lit);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(libraries_equal_brute_force),    IN_FOLDER(libraries_follow_the_bands),
        IN_FOLDER(libraries_are_resampled),        IN_FOLDER(libraries_are_validated),
        IN_FOLDER(libraries_that_do_not_fit_stop), IN_FOLDER(failures_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
