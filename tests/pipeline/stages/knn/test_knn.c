#include "core/operation/knn/knn.h"
#include "io/read/reader.h"
#include "pipeline/json/json.h"
#include "tests/support/nearest.h"
#include "tests/support/strict_runs.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- maps ---- */

static void maps_equal_brute_force(void **state) {
    (void)state;
    static const struct {
        const char *options;
        KnnHow how;
    } cases[] = {
        {"-k 1", {.k = 1, .reject = INFINITY}},
        {"", {.k = 5, .reject = INFINITY}},
        {"-k 4 --reject 40", {.k = 4, .reject = 40}},
        {"-k 6 --vote distance", {.k = 6, .weighted = true, .reject = INFINITY}},
        {"-k 3 --metric angle", {.k = 3, .angle = true, .reject = INFINITY}},
        {"-k 5 --metric angle --vote distance --reject 0.003",
         {.k = 5, .angle = true, .weighted = true, .reject = 0.003}},
        {"-k 7 --scale unit-variance", {.k = 7, .scaled = true, .reject = INFINITY}},
        {"-k 2 --scale unit-variance --metric angle --reject 0.05",
         {.k = 2, .scaled = true, .angle = true, .reject = 0.05}},
    };
    Cube scene = knn_scene();
    Cube labels = knn_labels(&scene, "labels", 5, 0.1);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        KnnTrained trained = knn_train(&scene, &labels, NULL, cases[c].how.scaled);
        check_runs(NULL, "read scene.img ! knn --training labels.img %s " BANDS_OUT, cases[c].options);
        knn_check_map("out", &scene, &trained, &cases[c].how);
        knn_free(&trained);
    }
    cube_free(&labels);
    cube_free(&scene);
}

/* Spectra are those at this place in the chain. */
static void components_are_what_is_compared(void **state) {
    (void)state;
    Cube scene = knn_scene();
    Cube labels = knn_labels(&scene, "labels", 6, 0.08);
    const KnnHow how = {.k = 5, .reject = INFINITY};
    check_runs(NULL,
               "read scene.img ! pca --components 3 ! write pca.img ! knn --training labels.img " BANDS_OUT);
    Cube components = cube_read_floats("pca", LINES, SAMPLES, 3);
    memcpy(components.valid, scene.valid, cube_pixels(&scene));
    KnnTrained trained = knn_train(&components, &labels, NULL, false);
    knn_check_map("out", &components, &trained, &how);
    knn_free(&trained);
    cube_free(&components);
    cube_free(&labels);
    cube_free(&scene);
}

static void every_cut_and_backend_gives_the_same(void **state) {
    (void)state;
    static const char *const chains[] = {
        "knn --training labels.img --scale unit-variance --vote distance --split 0.5 --report out.json "
        "--confidence",
        "mnf --components 4 ! knn --training labels.img --validation other.img --metric angle --report "
        "out.json",
        "filter ! knn --training labels.img --split 0.7 --report out.json --distance ! filter median3x3"};
    static const int32_t block_lines[] = {1, 7, 1000};
    Cube scene = knn_scene();
    Cube labels = knn_labels(&scene, "labels", 7, 0.1);
    Cube other = knn_labels(&scene, "other", 8, 0.1);
    for (size_t c = 0; c < sizeof chains / sizeof *chains; c++) {
        check_runs(NULL, "read scene.img ! %s ! write out.img --type float32", chains[c]);
        files_keep((const char *const[]){"out.img", "out.json", NULL});
        for (size_t b = 0; b < sizeof block_lines / sizeof *block_lines; b++) {
            for (int strict = 0; strict < 2; strict++) {
                RunHow how = {.ops = strict ? hc_strict_ops() : NULL,
                              .threads = 1 + (int32_t)b,
                              .settings = {.block_lines = block_lines[b]}};
                check_runs(&how, "read scene.img ! %s ! write out.img --type float32", chains[c]);
                check_same_files("out.img", "kept.out.img");
                check_same_files("out.json", "kept.out.json");
            }
        }
    }
    cube_free(&other);
    cube_free(&labels);
    cube_free(&scene);
    assert_int_equal(hc_strict_leaks(), 0);
    assert_int_equal(hc_strict_overruns(), 0);
}

static void one_pixel_and_nan(void **state) {
    (void)state;
    Cube scene = knn_scene();
    Cube labels = knn_labels(&scene, "labels", 9, 0.1);
    size_t place = 20 * SAMPLES + 20;
    labels.value[place] = knn_class_number[2];
    cube_write(&labels, "labels", HC_UINT8, "bsq", NULL);
    scene.value[place * BANDS + 3] = NAN; /* a training pixel that is none */
    scene.valid[place] = 0;
    cube_write(&scene, "scene", HC_FLOAT32, "bip", "data ignore value = 0\n");
    HcText notes = {0};
    RunHow how = {.notes = &notes};
    check_runs(&how, "read scene.img ! knn --training labels.img -k 3 " BANDS_OUT);
    assert_non_null(strstr(notes.data, "training pixels are masked and left out"));
    KnnTrained trained = knn_train(&scene, &labels, NULL, false);
    const KnnHow brute = {.k = 3, .reject = INFINITY};
    knn_check_map("out", &scene, &trained, &brute);
    knn_free(&trained);
    hc_text_clear(&notes);

    /* Two training pixels, one a class. */
    memset(labels.value, 0, cube_pixels(&labels) * sizeof *labels.value);
    labels.value[21 * SAMPLES + 5] = knn_class_number[1];
    labels.value[9 * SAMPLES + 30] = knn_class_number[3];
    cube_write(&labels, "two", HC_UINT16, "bsq", NULL);
    check_runs(NULL, "read scene.img ! knn --training two.img -k 1 ! write two_classes.img --type float32");
    Cube map = cube_read_floats("two_classes", LINES, SAMPLES, 1);
    check_near(map.value[21 * SAMPLES + 5], knn_class_number[1], 0);
    check_near(map.value[9 * SAMPLES + 30], knn_class_number[3], 0);
    cube_free(&map);
    cube_free(&labels);
    cube_free(&scene);
}

/* ---- accuracy ---- */

static void validation_files_are_measured(void **state) {
    (void)state;
    Cube scene = knn_scene();
    Cube labels = knn_labels(&scene, "labels", 10, 0.1);
    Cube other = knn_labels(&scene, "other", 11, 0.3);
    HcText notes = {0};
    RunHow run = {.notes = &notes};
    const KnnHow how = {.k = 5, .reject = 300};
    int64_t matrix[CLASSES][CLASSES + 1] = {{0}};
    KnnTrained trained = knn_train(&scene, &labels, NULL, false);
    int both = 0;
    for (size_t i = 0; i < cube_pixels(&scene); i++) {
        if (scene.valid[i] && other.value[i] > 0) {
            both += labels.value[i] > 0;
            KnnAnswer answer = knn_classify(&trained, &how, scene.value + i * BANDS);
            matrix[knn_class_of(other.value[i]) - 1][answer.class] += labels.value[i] == 0;
        }
    }
    /* Nothing but the report is wanted: one pass, and no map. */
    HcRunReport report = {0};
    run.report = &report;
    check_runs(&run, "read scene.img ! knn --training labels.img --validation other.img --reject 300 "
                     "--report out.json --report out.txt");
    assert_int_equal(report.passes, 1);
    cJSON *json = knn_read_json("out.json");
    knn_check_report(json, matrix);
    check_near(number_of(json, "training_pixels"), trained.count, 0);
    assert_true(number_of(json, "unclassified_pixels") > 0);
    assert_true(file_holds("out.txt", "overall accuracy   0."));
    char text[100];
    snprintf(text, sizeof text, "%d validation pixels are training pixels too and left out", both);
    assert_true(both > 0);
    assert_non_null(strstr(notes.data, text));
    snprintf(text, sizeof text, "overall accuracy %.4f, kappa %.4f", number_of(json, "overall_accuracy"),
             number_of(json, "kappa"));
    assert_non_null(strstr(notes.data, text));
    hc_text_clear(&notes);
    cJSON_Delete(json);
    knn_free(&trained);
    cube_free(&other);
    cube_free(&labels);
    cube_free(&scene);
}

/* The pixels that the report says were trained with. */
static void chosen_pixels(const cJSON *json, const Cube *labels, uint8_t *chosen) {
    const cJSON *sample = cJSON_GetObjectItemCaseSensitive(json, "training_sample_from_0");
    const cJSON *line = cJSON_GetObjectItemCaseSensitive(json, "training_line_from_0");
    const cJSON *class = cJSON_GetObjectItemCaseSensitive(json, "training_class");
    int count = (int)number_of(json, "training_pixels");
    assert_int_equal(cJSON_GetArraySize(sample), count);
    for (int i = 0; i < count; i++) {
        size_t at = (size_t)(cJSON_GetArrayItem(line, i)->valueint * SAMPLES +
                             cJSON_GetArrayItem(sample, i)->valueint);
        assert_int_equal(cJSON_GetArrayItem(class, i)->valueint, (int)labels->value[at]);
        chosen[at] = 1;
    }
}

static void splits_are_by_class_and_repeat(void **state) {
    (void)state;
    Cube scene = knn_scene();
    Cube labels = knn_labels(&scene, "labels", 12, 0.3);
    const KnnHow how = {.k = 3, .reject = INFINITY};
    int64_t matrix[CLASSES][CLASSES + 1] = {{0}};
    uint8_t chosen[LINES * SAMPLES] = {0};
    double there[CLASSES + 1] = {0};
    check_runs(
        NULL,
        "read scene.img ! knn --training labels.img -k 3 --split 0.4 --seed 17 --report out.json " BANDS_OUT);
    cJSON *json = knn_read_json("out.json");
    chosen_pixels(json, &labels, chosen);
    KnnTrained trained = knn_train(&scene, &labels, chosen, false);
    knn_check_map("out", &scene, &trained, &how);
    for (size_t i = 0; i < cube_pixels(&scene); i++) {
        if (scene.valid[i] && labels.value[i] > 0) {
            int class = knn_class_of(labels.value[i]);
            there[class]++;
            matrix[class - 1][knn_classify(&trained, &how, scene.value + i * BANDS).class] += !chosen[i];
        }
    }
    knn_check_report(json, matrix);
    for (int c = 1; c <= CLASSES; c++) {
        const cJSON *item = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(json, "classes"), c - 1);
        check_near(number_of(item, "training_pixels"), floor(0.4 * there[c] + 0.5), 0);
        check_near(number_of(item, "reference_pixels"), there[c] - floor(0.4 * there[c] + 0.5), 0);
    }
    cJSON_Delete(json);
    knn_free(&trained);
    check_runs(NULL, "read scene.img ! knn --training labels.img -k 3 --split 0.4 --seed 17 --neighbours "
                     "--report again.json");
    check_same_files("out.json", "again.json");
    check_runs(NULL, "read scene.img ! knn --training labels.img -k 3 --split 0.4 --seed 18 --neighbours "
                     "--report again.json");
    json = knn_read_json("again.json");
    uint8_t others[LINES * SAMPLES] = {0};
    chosen_pixels(json, &labels, others);
    assert_memory_not_equal(chosen, others, sizeof chosen);
    cJSON_Delete(json);
    /* However small the fraction, every class has a training pixel. */
    check_runs(NULL, "read scene.img ! knn --training labels.img -k 3 --split 0.0001 --report few.json");
    json = knn_read_json("few.json");
    check_near(number_of(json, "training_pixels"), CLASSES, 0);
    cJSON_Delete(json);
    cube_free(&labels);
    cube_free(&scene);
}

/* The generator and the choice are the same on every machine: these are the pixels. */
static void the_first_choice_is_known(void **state) {
    (void)state;
    Cube scene = cube_smooth(2, 8, 3, 3, true);
    cube_write(&scene, "small", HC_UINT16, "bsq", NULL);
    Cube labels = cube_new(2, 8, 1);
    for (size_t i = 0; i < 16; i++) {
        labels.value[i] = (double)(1 + i % 2);
    }
    cube_write(&labels, "small_labels", HC_UINT8, "bsq", NULL);
    check_runs(NULL, "read small.img ! knn --training small_labels.img -k 1 --split 0.5 --neighbours "
                     "--report small.json");
    cJSON *json = knn_read_json("small.json");
    uint64_t seed = 1;
    double left[3] = {0, 8, 8};
    double wanted[3] = {0, 4, 4};
    int found = 0;
    const cJSON *sample = cJSON_GetObjectItemCaseSensitive(json, "training_sample_from_0");
    const cJSON *line = cJSON_GetObjectItemCaseSensitive(json, "training_line_from_0");
    for (int i = 0; i < 16; i++) {
        int c = 1 + i % 2;
        if (random_uniform(&seed) * left[c]-- < wanted[c]) {
            wanted[c]--;
            assert_int_equal(cJSON_GetArrayItem(line, found)->valueint * 8 +
                                 cJSON_GetArrayItem(sample, found)->valueint,
                             i);
            found++;
        }
    }
    assert_int_equal(found, 8);
    cJSON_Delete(json);
    cube_free(&labels);
    cube_free(&scene);
}

/* ---- what comes out beside values ---- */

static void bands_and_classes_have_names(void **state) {
    (void)state;
    Cube scene = knn_scene();
    Cube labels = cube_new(LINES, SAMPLES, 1);
    for (size_t i = 0; i < cube_pixels(&labels); i++) {
        labels.value[i] = (double)(i % 5 < 3 ? i % 5 : 0);
    }
    cube_write(&labels, "named", HC_UINT8, "bsq",
               "classes = 3\nclass names = {Unclassified, Winter wheat, Oats}\n"
               "class lookup = {0, 0, 0, 200, 100, 50, 10, 20, 30}\n");
    RunHow how = {.settings = {.record = "record.json"}};
    check_runs(&how, "read scene.img ! knn --training named.img -k 2 --confidence --distance --neighbours "
                     "--split 0.5 ! write out.img");
    assert_true(file_holds("out.hdr", "{\nclass,\nconfidence,\ndistance,\nneighbour 1,\nneighbour 2}"));
    check_runs(NULL, "read scene.img ! knn --training named.img ! write classes.img");
    assert_true(file_holds("classes.hdr", "Winter wheat"));
    assert_true(file_holds("classes.hdr", "200, 100, 50,\n10, 20, 30"));
    assert_true(file_holds("record.json", "\"name\":\t\"Oats\""));
    assert_true(file_holds("record.json", "\"kappa\":"));
    assert_true(file_holds("record.json", "\"training_pixels\":"));
    cube_free(&labels);
    cube_free(&scene);
}

/* Votes of the winner instead of their share, so that the map stays one of integers: nothing is lost. */
static void confidence_is_stored_as_votes(void **state) {
    (void)state;
    enum { NEIGHBOURS = 7 };
    HcReader *reader = NULL;
    HcError err = {0};
    Cube scene = knn_scene();
    Cube labels = knn_labels(&scene, "labels", 7, 0.3);
    check_runs(
        NULL, "read scene.img ! knn --training labels.img -k 7 --reject 1e9 --confidence ! write votes.img ! "
              "write share.img --type float32 --nodata nan");
    check_ok(hc_reader_open(&reader, "votes.img", NULL, &err), err);
    assert_int_equal(hc_reader_scene(reader)->type, HC_UINT8);
    assert_true(hc_scene_is_class_map(hc_reader_scene(reader)));
    assert_true(hc_reader_scene(reader)->gain[0] == 1 &&
                hc_reader_scene(reader)->gain[1] == 1.0 / NEIGHBOURS);
    hc_reader_close(reader);
    Cube share = cube_read_floats("share", LINES, SAMPLES, 2);
    FILE *file = fopen("votes.img", "rb");
    size_t pixels = cube_pixels(&share), divided = 0;
    unsigned char *votes = malloc(2 * pixels);
    assert_true(file != NULL && votes != NULL);
    assert_int_equal(fread(votes, 1, 2 * pixels, file), 2 * pixels);
    fclose(file);
    for (size_t i = 0; i < pixels; i++) {
        double confidence = share.value[2 * i + 1];
        if (isnan(confidence)) {
            assert_true(votes[i] == 0 && votes[pixels + i] == 0);
            continue;
        }
        check_near(votes[i], share.value[2 * i], 0);
        assert_true((float)(votes[pixels + i] * (1.0 / NEIGHBOURS)) == (float)confidence);
        divided += votes[pixels + i] > 0 && votes[pixels + i] < NEIGHBOURS;
    }
    assert_true(divided > 0);
    /* Weights are no whole numbers. */
    check_runs(
        NULL,
        "read scene.img ! knn --training labels.img -k 7 --vote distance --confidence ! write weights.img");
    check_ok(hc_reader_open(&reader, "weights.img", NULL, &err), err);
    assert_int_equal(hc_reader_scene(reader)->type, HC_FLOAT32);
    hc_reader_close(reader);
    free(votes);
    cube_free(&share);
    cube_free(&labels);
    cube_free(&scene);
}

/* ---- refusals ---- */

static void wrong_options_stop(void **state) {
    (void)state;
    Cube scene = knn_scene();
    Cube labels = knn_labels(&scene, "labels", 13, 0.05);
    int count = 0;
    for (size_t i = 0; i < cube_pixels(&labels); i++) {
        count += labels.value[i] > 0;
    }
    assert_true(count >= 20 && count <= HC_KNN_MAX);
    check_run_fails(NULL, HC_E_USAGE, "--training", "read scene.img ! knn ! write bad.img");
    check_run_fails(NULL, HC_E_USAGE, "-k 128",
                    "read scene.img ! knn --training labels.img -k 128 ! write bad.img");
    check_run_fails(NULL, HC_E_USAGE, "--k 129",
                    "read scene.img ! knn --training labels.img --k 129 ! write bad.img");
    check_run_fails(NULL, HC_E_NUMERIC, "chosen by --split",
                    "read scene.img ! knn --training labels.img -k 19 --split 0.1 ! write bad.img");
    check_run_fails(NULL, HC_E_USAGE,
                    "--split 1:", "read scene.img ! knn --training labels.img --split 1 ! write bad.img");
    check_run_fails(NULL, HC_E_NUMERIC, "a smaller --split",
                    "read scene.img ! knn --training labels.img --split 0.9999 ! write bad.img");
    check_run_fails(NULL, HC_E_USAGE, "--reject -1",
                    "read scene.img ! knn --training labels.img --reject -1 ! write bad.img");
    check_run_fails(NULL, HC_E_USAGE, "one of --validation and --split",
                    "read scene.img ! knn --training labels.img --split 0.5 --validation labels.img "
                    "! write bad.img");
    check_run_fails(NULL, HC_E_USAGE, "needs --validation",
                    "read scene.img ! knn --training labels.img --validation-layer a ! write bad.img");
    check_run_fails(NULL, HC_E_USAGE, "--report needs --validation or --split",
                    "read scene.img ! knn --training labels.img --report bad.json ! write bad.img");
    check_run_fails(NULL, HC_E_USAGE, "FILE.json, FILE.txt, or a picture",
                    "read scene.img ! knn --training labels.img --split 0.5 --report bad.csv");
    check_run_fails(NULL, HC_E_USAGE, "goes nowhere", "read scene.img ! knn --training labels.img");
    check_run_fails(NULL, HC_E_USAGE, "classes come in",
                    "read scene.img ! knn --training labels.img ! knn --training labels.img ! write bad.img");
    check_run_fails(NULL, HC_E_USAGE, "field",
                    "read scene.img ! knn --training labels.img --field crop ! write bad.img");
    check_run_fails(NULL, HC_E_NUMERIC, "no pixel is left to validate with",
                    "read scene.img ! knn --training labels.img --validation labels.img ! write bad.img");
    assert_false(file_exists("bad.img"));
    assert_false(file_exists("bad.json"));
    cube_free(&labels);
    cube_free(&scene);
}

static void wrong_files_stop(void **state) {
    (void)state;
    Cube scene = knn_scene();
    Cube labels = knn_labels(&scene, "labels", 14, 0.1);
    check_run_fails(NULL, HC_E_INPUT, "nowhere.img",
                    "read scene.img ! knn --training nowhere.img ! write bad.img");
    /* What is read is not written over, nor what is written read. */
    check_run_fails(NULL, HC_E_USAGE, "the chain reads this file",
                    "read scene.img ! knn --training labels.img ! write labels.img --overwrite");
    check_run_fails(
        NULL, HC_E_USAGE, "an earlier step writes this file",
        "read scene.img ! write labels.img --overwrite ! knn --training labels.img ! write b.img");
    check_run_fails(NULL, HC_E_USAGE, "writes this file already",
                    "read scene.img ! knn --training labels.img --split 0.5 --report a.json --report a.json");
    RunHow keeps = {.keeps_outputs = true};
    check_runs(NULL, "read scene.img ! knn --training labels.img --split 0.5 --report a.json");
    check_run_fails(&keeps, HC_E_USAGE, "a.json",
                    "read scene.img ! knn --training labels.img --split 0.5 --report a.json");
    check_runs(&keeps, "read scene.img ! knn --training labels.img --split 0.5 --report a.json --overwrite");
    /* One class, one class that is valid, a class that was not trained. */
    Cube one = cube_new(LINES, SAMPLES, 1);
    one.value[500] = one.value[600] = one.value[700] = 3;
    cube_write(&one, "one", HC_UINT8, "bsq", NULL);
    check_run_fails(NULL, HC_E_INPUT, "class", "read scene.img ! knn --training one.img ! write bad.img");
    one.value[0] = 4; /* in the masked corner */
    cube_write(&one, "hidden", HC_UINT8, "bsq", NULL);
    check_run_fails(NULL, HC_E_NUMERIC, "two classes are needed",
                    "read scene.img ! knn --training hidden.img -k 1 ! write bad.img");
    one.value[800] = 4;
    cube_write(&one, "strange", HC_UINT8, "bsq", NULL);
    check_run_fails(NULL, HC_E_INPUT, "is not in labels.img",
                    "read scene.img ! knn --training labels.img --validation strange.img ! write bad.img");
    check_run_fails(NULL, HC_E_NUMERIC, "only 4 training pixels are valid",
                    "read scene.img ! knn --training strange.img ! write bad.img");
    assert_false(file_exists("bad.img"));
    cube_free(&one);
    cube_free(&labels);
    cube_free(&scene);
}

/* A class of the training data that the scene does not show: no map without it, but where that is asked. */
static void empty_classes_stop(void **state) {
    (void)state;
    static const char *const steps[] = {"knn -k 1", "classify --method distance"};
    Cube scene = knn_scene();
    HcText notes = {0};
    RunHow how = {.notes = &notes};
    file_write("lost.csv", "WKT,kind\n\"POINT(20.5 3.5)\",a\n\"POINT(21.5 9.5)\",c\n"
                           "\"POINT(400 3)\",b\n\"POINT(400 4)\",d\n");
    Cube labels = cube_new(LINES, SAMPLES, 1);
    labels.value[0] = 2; /* in the masked corner */
    labels.value[500] = 3;
    labels.value[700] = 5;
    cube_write(&labels, "masked", HC_UINT8, "bsq", NULL);
    for (int k = 0; k < 2; k++) {
        char wanted[160];
        snprintf(wanted, sizeof wanted,
                 "%s: lost.csv: class \"b\" (and 1 more) has no pixel in the scene: --skip-empty",
                 k == 0 ? "knn" : "classify");
        check_run_fails(NULL, HC_E_INPUT, wanted, "read scene.img ! %s --training lost.csv ! write bad.img",
                        steps[k]);
        snprintf(wanted, sizeof wanted,
                 "%s: masked.img: class \"Class 2\": none of its training pixels is valid: --skip-empty",
                 k == 0 ? "knn" : "classify");
        check_run_fails(NULL, HC_E_NUMERIC, wanted,
                        "read scene.img ! %s --training masked.img ! write bad.img", steps[k]);
        assert_false(file_exists("bad.img"));
        check_runs(&how, "read scene.img ! %s --training lost.csv --skip-empty ! write good.img", steps[k]);
        assert_non_null(strstr(notes.data, "2 classes that keep no pixel ('b', ...)"));
        check_runs(&how, "read scene.img ! %s --training masked.img --skip-empty ! write good.img", steps[k]);
        check_says(notes.data, "class \"Class 2\": none ... valid");
        hc_text_clear(&notes);
    }
    /* The pixels that train keep their classes: the empty one has a number, and no pixel. */
    check_runs(NULL,
               "read scene.img ! knn -k 1 --training masked.img --skip-empty ! write map.img --type float32");
    Cube map = cube_read_floats("map", LINES, SAMPLES, 1);
    check_near(map.value[500], 3, 0);
    check_near(map.value[700], 5, 0);
    for (size_t p = 0; p < cube_pixels(&map); p++) {
        assert_true(!scene.valid[p] || map.value[p] == 3 || map.value[p] == 5);
    }
    cube_free(&map);
    cube_free(&labels);
    cube_free(&scene);
}

static void constant_bands_take_no_part(void **state) {
    (void)state;
    Cube scene = knn_scene();
    Cube labels = knn_labels(&scene, "labels", 15, 0.1);
    for (size_t i = 0; i < cube_pixels(&scene); i++) {
        scene.value[i * BANDS + 2] = scene.valid[i] ? 0.1F : 0;
    }
    cube_write(&scene, "scene", HC_FLOAT32, "bsq", "data ignore value = 0\n");
    HcText notes = {0};
    RunHow how = {.notes = &notes};
    check_runs(&how, "read scene.img ! knn --training labels.img --scale unit-variance ! write a.img");
    assert_non_null(strstr(notes.data, "1 of 6 bands are constant"));
    check_runs(NULL, "read scene.img ! bands --drop 3 ! knn --training labels.img --scale unit-variance ! "
                     "write b.img");
    check_same_files("a.img", "b.img");
    check_run_fails(
        NULL, HC_E_NUMERIC, "all training spectra are the same",
        "read scene.img ! bands 3 ! knn --training labels.img --scale unit-variance ! write c.img");
    hc_text_clear(&notes);
    cube_free(&labels);
    cube_free(&scene);
}

/* Whatever operation fails, the run says so and leaves nothing. */
static void failures_leave_nothing(void **state) {
    (void)state;
    Cube scene = knn_scene();
    Cube labels = knn_labels(&scene, "labels", 16, 0.04);
    static const char *const results[] = {"out.img", "out.hdr", "out.json", NULL};
    const char *const chain = "read scene.img ! knn --training labels.img --split 0.5 --scale unit-variance "
                              "--report out.json ! write out.img";
    check_failures_leave_nothing(&chain, 1, 20, results);
    cube_free(&labels);
    cube_free(&scene);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(maps_equal_brute_force),
        IN_FOLDER(components_are_what_is_compared),
        IN_FOLDER(every_cut_and_backend_gives_the_same),
        IN_FOLDER(one_pixel_and_nan),
        IN_FOLDER(validation_files_are_measured),
        IN_FOLDER(splits_are_by_class_and_repeat),
        IN_FOLDER(the_first_choice_is_known),
        IN_FOLDER(bands_and_classes_have_names),
        IN_FOLDER(confidence_is_stored_as_votes),
        IN_FOLDER(wrong_options_stop),
        IN_FOLDER(wrong_files_stop),
        IN_FOLDER(empty_classes_stop),
        IN_FOLDER(constant_bands_take_no_part),
        IN_FOLDER(failures_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
