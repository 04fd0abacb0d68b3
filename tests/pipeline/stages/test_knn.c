#include "core/operation/knn.h"
#include "io/read/reader.h"
#include "pipeline/json.h"
#include "tests/support/scene_files.h"
#include "tests/support/strict_runs.h"

#include <stdio.h>
#include <stdlib.h>

enum { LINES = 37, SAMPLES = 41, BANDS = 6, CLASSES = 3, NEIGHBOURS_MAX = 16 };

/* The numbers of the classes in the rasters that are made here; the stage counts them from 1. */
static const int class_number[CLASSES + 1] = {0, 2, 5, 9};

/* ---- scenes and labels ---- */

static Cube make_scene(void) {
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 71, false);
    for (size_t i = 0; i < cube_pixels(&cube) * BANDS; i++) {
        cube.value[i] = (float)cube.value[i];
    }
    cube_border(&cube, 0);
    cube_write(&cube, "scene", HC_FLOAT32, "bil", "data ignore value = 0\n");
    return cube;
}

/* A class raster: every n-th pixel or so has a class, which hangs loosely on its first band. */
static Cube make_labels(const Cube *scene, const char *name, uint64_t seed, double share) {
    Cube labels = cube_new(LINES, SAMPLES, 1);
    for (size_t i = 0; i < cube_pixels(scene); i++) {
        double place = (scene->value[i * BANDS] - 5000) / 4000 + 0.5 * (random_uniform(&seed) - 0.5);
        int class = place < 0.4 ? 1 : place < 0.7 ? 2 : 3;
        labels.value[i] = random_uniform(&seed) < share ? class_number[class] : 0;
    }
    cube_write(&labels, name, HC_UINT8, "bsq", NULL);
    return labels;
}

static int class_of(double number) {
    for (int c = 1; c <= CLASSES; c++) {
        if (class_number[c] == (int)number) {
            return c;
        }
    }
    return 0;
}

/* ---- plain reference ---- */

typedef struct How {
    int k;
    bool weighted, angle, scaled;
    double reject;
} How;

typedef struct Trained {
    int count, bands;
    double *value; /* [count][bands] */
    int *class;
    double mean[BANDS], deviation[BANDS];
} Trained;

typedef struct Answer {
    int class;
    double confidence, distance;
    int neighbour[NEIGHBOURS_MAX];
} Answer;

static void set_scale(Trained *trained) {
    for (int b = 0; b < trained->bands; b++) {
        double sum = 0;
        double squares = 0;
        for (int i = 0; i < trained->count; i++) {
            sum += trained->value[i * trained->bands + b];
        }
        trained->mean[b] = sum / trained->count;
        for (int i = 0; i < trained->count; i++) {
            double off = trained->value[i * trained->bands + b] - trained->mean[b];
            squares += off * off;
        }
        trained->deviation[b] = sqrt(squares / (trained->count - 1));
    }
}

/* The valid pixels of `scene` that have a class, in order; chosen[pixels] = 0 leaves out, NULL = none. */
static Trained train(const Cube *scene, const Cube *labels, const uint8_t *chosen, bool scaled) {
    Trained trained = {.bands = scene->bands};
    size_t bands = (size_t)scene->bands;
    trained.value = calloc(cube_pixels(scene) * bands, sizeof *trained.value);
    trained.class = calloc(cube_pixels(scene), sizeof *trained.class);
    assert_non_null(trained.value);
    assert_non_null(trained.class);
    for (size_t i = 0; i < cube_pixels(scene); i++) {
        if (scene->valid[i] && labels->value[i] > 0 && (chosen == NULL || chosen[i])) {
            memcpy(trained.value + (size_t)trained.count * bands, scene->value + i * bands,
                   bands * sizeof(double));
            trained.class[trained.count++] = class_of(labels->value[i]);
        }
    }
    for (int b = 0; b < BANDS; b++) {
        trained.mean[b] = 0;
        trained.deviation[b] = 1;
    }
    if (scaled) {
        set_scale(&trained);
    }
    return trained;
}

static void free_trained(Trained *trained) {
    free(trained->value);
    free(trained->class);
}

static double distance_between(const Trained *trained, const How *how, const double *x, int i) {
    const double *t = trained->value + i * trained->bands;
    double squares = 0;
    double xx = 0;
    double tt = 0;
    double xt = 0;
    for (int b = 0; b < trained->bands; b++) {
        double u = (float)((x[b] - trained->mean[b]) / trained->deviation[b]);
        double v = (float)((t[b] - trained->mean[b]) / trained->deviation[b]);
        squares += (u - v) * (u - v);
        xx += u * u;
        tt += v * v;
        xt += u * v;
    }
    return how->angle ? acos(fmin(1, xt / (sqrt(xx) * sqrt(tt)))) : sqrt(squares);
}

static void find_neighbours(const Trained *trained, const How *how, const double *x, Answer *answer,
                            double *distance) {
    for (int n = 0; n < how->k; n++) {
        distance[n] = INFINITY;
    }
    for (int i = 0; i < trained->count; i++) {
        double d = distance_between(trained, how, x, i);
        int n = how->k;
        while (n > 0 && d < distance[n - 1]) {
            n--;
        }
        for (int m = how->k - 1; m > n; m--) {
            distance[m] = distance[m - 1];
            answer->neighbour[m] = answer->neighbour[m - 1];
        }
        if (n < how->k) {
            distance[n] = d;
            answer->neighbour[n] = i;
        }
    }
}

static Answer classify(const Trained *trained, const How *how, const double *x) {
    Answer answer = {0};
    double distance[NEIGHBOURS_MAX] = {0};
    double votes[CLASSES + 1] = {0};
    double far[CLASSES + 1] = {0};
    double all = 0;
    find_neighbours(trained, how, x, &answer, distance);
    bool same = how->weighted && distance[0] == 0;
    for (int n = 0; n < how->k; n++) {
        int class = trained->class[answer.neighbour[n]];
        double vote = !how->weighted ? 1 : same ? distance[n] == 0 : 1 / distance[n];
        votes[class] += vote;
        far[class] += distance[n];
        all += vote;
    }
    int best = 1;
    for (int c = 2; c <= CLASSES; c++) {
        bool tie = votes[c] == votes[best] && !how->weighted;
        if (votes[c] > votes[best] || (tie && votes[c] > 0 && far[c] < far[best])) {
            best = c;
        }
    }
    answer.distance = distance[0];
    answer.class = distance[0] > how->reject ? 0 : best;
    answer.confidence = answer.class > 0 ? votes[best] / all : 0;
    return answer;
}

/* Compares NAME.img (class, confidence, distance, k neighbours) with the reference at every pixel. */
static void check_map(const char *name, const Cube *scene, const Trained *trained, const How *how) {
    Cube found = cube_read_floats(name, LINES, SAMPLES, 3 + how->k);
    int unclassified = 0;
    for (size_t i = 0; i < cube_pixels(scene); i++) {
        const double *pixel = found.value + i * (size_t)found.bands;
        if (!scene->valid[i]) {
            for (int b = 0; b < found.bands; b++) {
                assert_true(isnan(pixel[b]));
            }
            continue;
        }
        Answer answer = classify(trained, how, scene->value + i * (size_t)scene->bands);
        check_near(pixel[0], answer.class, 0);
        check_near(pixel[1], answer.confidence, 1e-6);
        check_near(pixel[2], answer.distance, 1e-6 * answer.distance + 1e-7);
        for (int n = 0; n < how->k; n++) {
            check_near(pixel[3 + n], answer.neighbour[n], 0);
        }
        unclassified += answer.class == 0;
    }
    assert_true(unclassified == 0 || how->reject < INFINITY);
    assert_true(unclassified > 0 || how->reject == INFINITY);
    cube_free(&found);
}

#define BANDS_OUT "--confidence --distance --neighbours ! write out.img --type float32 --nodata nan"

/* ---- maps ---- */

static void maps_equal_brute_force(void **state) {
    (void)state;
    static const struct {
        const char *options;
        How how;
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
    Cube scene = make_scene();
    Cube labels = make_labels(&scene, "labels", 5, 0.1);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        Trained trained = train(&scene, &labels, NULL, cases[c].how.scaled);
        check_runs(NULL, "read scene.img ! knn --training labels.img %s " BANDS_OUT, cases[c].options);
        check_map("out", &scene, &trained, &cases[c].how);
        free_trained(&trained);
    }
    cube_free(&labels);
    cube_free(&scene);
}

/* Spectra are those at this place in the chain. */
static void components_are_what_is_compared(void **state) {
    (void)state;
    Cube scene = make_scene();
    Cube labels = make_labels(&scene, "labels", 6, 0.08);
    const How how = {.k = 5, .reject = INFINITY};
    check_runs(NULL,
               "read scene.img ! pca --components 3 ! write pca.img ! knn --training labels.img " BANDS_OUT);
    Cube components = cube_read_floats("pca", LINES, SAMPLES, 3);
    memcpy(components.valid, scene.valid, cube_pixels(&scene));
    Trained trained = train(&components, &labels, NULL, false);
    check_map("out", &components, &trained, &how);
    free_trained(&trained);
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
    Cube scene = make_scene();
    Cube labels = make_labels(&scene, "labels", 7, 0.1);
    Cube other = make_labels(&scene, "other", 8, 0.1);
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
    Cube scene = make_scene();
    Cube labels = make_labels(&scene, "labels", 9, 0.1);
    size_t place = 20 * SAMPLES + 20;
    labels.value[place] = class_number[2];
    cube_write(&labels, "labels", HC_UINT8, "bsq", NULL);
    scene.value[place * BANDS + 3] = NAN; /* a training pixel that is none */
    scene.valid[place] = 0;
    cube_write(&scene, "scene", HC_FLOAT32, "bip", "data ignore value = 0\n");
    HcText notes = {0};
    RunHow how = {.notes = &notes};
    check_runs(&how, "read scene.img ! knn --training labels.img -k 3 " BANDS_OUT);
    assert_non_null(strstr(notes.data, "training pixels are masked and left out"));
    Trained trained = train(&scene, &labels, NULL, false);
    const How brute = {.k = 3, .reject = INFINITY};
    check_map("out", &scene, &trained, &brute);
    free_trained(&trained);
    hc_text_clear(&notes);

    /* Two training pixels, one a class. */
    memset(labels.value, 0, cube_pixels(&labels) * sizeof *labels.value);
    labels.value[21 * SAMPLES + 5] = class_number[1];
    labels.value[9 * SAMPLES + 30] = class_number[3];
    cube_write(&labels, "two", HC_UINT16, "bsq", NULL);
    check_runs(NULL, "read scene.img ! knn --training two.img -k 1 ! write two_classes.img --type float32");
    Cube map = cube_read_floats("two_classes", LINES, SAMPLES, 1);
    check_near(map.value[21 * SAMPLES + 5], 1, 0);
    check_near(map.value[9 * SAMPLES + 30], 2, 0);
    cube_free(&map);
    cube_free(&labels);
    cube_free(&scene);
}

/* ---- accuracy ---- */

static cJSON *read_json(const char *path) {
    cJSON *json = NULL;
    HcError err = {0};
    check_ok(hc_json_read(path, &json, &err), err);
    return json;
}

/* The report says of this matrix [truth - 1][prediction] what can be said. */
static void check_report(const cJSON *json, int64_t matrix[CLASSES][CLASSES + 1]) {
    double all = 0;
    double right = 0;
    double chance = 0;
    double average = 0;
    const cJSON *found = cJSON_GetObjectItemCaseSensitive(json, "confusion_matrix");
    const cJSON *classes = cJSON_GetObjectItemCaseSensitive(json, "classes");
    assert_int_equal(cJSON_GetArraySize(found), CLASSES * (CLASSES + 1));
    assert_int_equal(cJSON_GetArraySize(classes), CLASSES);
    for (int r = 0; r < CLASSES; r++) {
        double row = 0;
        double column = 0;
        for (int c = 0; c <= CLASSES; c++) {
            check_near(cJSON_GetArrayItem(found, r * (CLASSES + 1) + c)->valuedouble, matrix[r][c], 0);
            row += (double)matrix[r][c];
        }
        for (int other = 0; other < CLASSES; other++) {
            column += (double)matrix[other][r + 1];
        }
        double hits = (double)matrix[r][r + 1];
        const cJSON *item = cJSON_GetArrayItem(classes, r);
        check_near(number_of(item, "reference_pixels"), row, 0);
        check_near(number_of(item, "predicted_pixels"), column, 0);
        check_near(number_of(item, "producers_accuracy"), hits / row, 1e-15);
        check_near(number_of(item, "users_accuracy"), hits / column, 1e-15);
        check_near(number_of(item, "f1"), 2 * hits / (row + column), 1e-15);
        all += row;
        right += hits;
        chance += row * column;
        average += hits / row / CLASSES;
    }
    chance /= all * all;
    check_near(number_of(json, "validation_pixels"), all, 0);
    check_near(number_of(json, "overall_accuracy"), right / all, 1e-15);
    check_near(number_of(json, "average_accuracy"), average, 1e-14);
    check_near(number_of(json, "kappa"), (right / all - chance) / (1 - chance), 1e-14);
}

static void validation_files_are_measured(void **state) {
    (void)state;
    Cube scene = make_scene();
    Cube labels = make_labels(&scene, "labels", 10, 0.1);
    Cube other = make_labels(&scene, "other", 11, 0.3);
    HcText notes = {0};
    RunHow run = {.notes = &notes};
    const How how = {.k = 5, .reject = 300};
    int64_t matrix[CLASSES][CLASSES + 1] = {{0}};
    Trained trained = train(&scene, &labels, NULL, false);
    int both = 0;
    for (size_t i = 0; i < cube_pixels(&scene); i++) {
        if (scene.valid[i] && other.value[i] > 0) {
            both += labels.value[i] > 0;
            Answer answer = classify(&trained, &how, scene.value + i * BANDS);
            matrix[class_of(other.value[i]) - 1][answer.class] += labels.value[i] == 0;
        }
    }
    /* Nothing but the report is wanted: one pass, and no map. */
    HcRunReport report = {0};
    run.report = &report;
    check_runs(&run, "read scene.img ! knn --training labels.img --validation other.img --reject 300 "
                     "--report out.json --report out.txt");
    assert_int_equal(report.passes, 1);
    cJSON *json = read_json("out.json");
    check_report(json, matrix);
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
    free_trained(&trained);
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
        assert_int_equal(cJSON_GetArrayItem(class, i)->valueint, class_of(labels->value[at]));
        chosen[at] = 1;
    }
}

static void splits_are_by_class_and_repeat(void **state) {
    (void)state;
    Cube scene = make_scene();
    Cube labels = make_labels(&scene, "labels", 12, 0.3);
    const How how = {.k = 3, .reject = INFINITY};
    int64_t matrix[CLASSES][CLASSES + 1] = {{0}};
    uint8_t chosen[LINES * SAMPLES] = {0};
    double there[CLASSES + 1] = {0};
    check_runs(
        NULL,
        "read scene.img ! knn --training labels.img -k 3 --split 0.4 --seed 17 --report out.json " BANDS_OUT);
    cJSON *json = read_json("out.json");
    chosen_pixels(json, &labels, chosen);
    Trained trained = train(&scene, &labels, chosen, false);
    check_map("out", &scene, &trained, &how);
    for (size_t i = 0; i < cube_pixels(&scene); i++) {
        if (scene.valid[i] && labels.value[i] > 0) {
            int class = class_of(labels.value[i]);
            there[class]++;
            matrix[class - 1][classify(&trained, &how, scene.value + i * BANDS).class] += !chosen[i];
        }
    }
    check_report(json, matrix);
    for (int c = 1; c <= CLASSES; c++) {
        const cJSON *item = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(json, "classes"), c - 1);
        check_near(number_of(item, "training_pixels"), floor(0.4 * there[c] + 0.5), 0);
        check_near(number_of(item, "reference_pixels"), there[c] - floor(0.4 * there[c] + 0.5), 0);
    }
    cJSON_Delete(json);
    free_trained(&trained);
    check_runs(NULL, "read scene.img ! knn --training labels.img -k 3 --split 0.4 --seed 17 --neighbours "
                     "--report again.json");
    check_same_files("out.json", "again.json");
    check_runs(NULL, "read scene.img ! knn --training labels.img -k 3 --split 0.4 --seed 18 --neighbours "
                     "--report again.json");
    json = read_json("again.json");
    uint8_t others[LINES * SAMPLES] = {0};
    chosen_pixels(json, &labels, others);
    assert_memory_not_equal(chosen, others, sizeof chosen);
    cJSON_Delete(json);
    /* However small the fraction, every class has a training pixel. */
    check_runs(NULL, "read scene.img ! knn --training labels.img -k 3 --split 0.0001 --report few.json");
    json = read_json("few.json");
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
    cJSON *json = read_json("small.json");
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

/* ---- spectral libraries ---- */

enum { SPECTRA = 12 };

static const char *const wavelengths = "wavelength units = nm\nwavelength = {400, 410, 420, 430, 440, 450}\n";

/* A scene of 6 bands, 400 to 450 nm, whose header has `more` lines too. */
static Cube make_lit_scene(const char *more) {
    char lines[300];
    Cube scene = make_scene();
    snprintf(lines, sizeof lines, "data ignore value = 0\n%s%s", wavelengths, more);
    cube_write(&scene, "lit", HC_FLOAT32, "bil", lines);
    return scene;
}

/* NAME: spectra near pixels of the scene, classes by turns in the order Oats, Corn, Barley; one a line.
 * Values are those of `bands` (BANDS of them where it is NULL), times `factor`. One lacks a value in the
 * second band of the scene. */
static Trained make_library(const Cube *scene, const char *name, const int *bands, int count, double factor,
                            double shift) {
    static const char *const names[CLASSES] = {"Oats", "Corn", "Barley"};
    static const int class[SPECTRA] = {1, 2, 2, 1, 3, 1, 2, 3, 3, 1, 2, 3};
    Trained trained = {.bands = count};
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
        How how;
    } cases[] = {
        {"-k 1", {.k = 1, .reject = INFINITY}},
        {"-k 4 --reject 400", {.k = 4, .reject = 400}},
        {"-k 5 --vote distance --metric angle",
         {.k = 5, .weighted = true, .angle = true, .reject = INFINITY}},
        {"-k 3 --scale unit-variance", {.k = 3, .scaled = true, .reject = INFINITY}},
    };
    Cube scene = make_lit_scene("");
    Trained trained = make_library(&scene, "library.csv", NULL, BANDS, 1, 0);
    assert_int_equal(trained.count, SPECTRA - 1);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        HcText notes = {0};
        HcRunReport report = {0};
        RunHow how = {.ops = c % 2 == 1 ? hc_strict_ops() : NULL,
                      .settings = {.block_lines = c > 1 ? 7 : 0},
                      .notes = &notes,
                      .report = &report};
        if (cases[c].how.scaled) {
            set_scale(&trained);
        }
        check_runs(&how, "read lit.img ! knn --training library.csv %s " BANDS_OUT, cases[c].options);
        assert_int_equal(report.passes, 1);
        assert_non_null(strstr(notes.data, "left out: 1 of 12 spectra"));
        check_map("out", &scene, &trained, &cases[c].how);
        hc_text_clear(&notes);
    }
    check_runs(NULL, "read lit.img ! knn --training library.csv ! write classes.img");
    assert_true(file_holds("classes.hdr", "{\nUnclassified,\nOats,\nCorn,\nBarley}"));
    assert_int_equal(hc_strict_leaks(), 0);
    free_trained(&trained);
    cube_free(&scene);
}

/* The library may have the bands of the file, or those that come in. */
static void libraries_follow_the_bands(void **state) {
    (void)state;
    static const int kept[] = {0, 2, 3, 5};
    const How how = {.k = 3, .reject = INFINITY};
    Cube scene = make_lit_scene("bbl = {1, 0, 1, 1, 0, 1}\n");
    Cube seen = some_bands(&scene, kept, 4);
    Trained all = make_library(&scene, "all.csv", NULL, BANDS, 1, 4.9);
    Trained some = make_library(&scene, "some.csv", kept, 4, 1, -4.9);
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
    check_map("out", &seen, &all, &how);
    check_runs(NULL, "read lit.img ! knn --training some.csv -k 3 " BANDS_OUT);
    check_map("out", &seen, &some, &how);
    check_runs(NULL, "read lit.img --all-bands ! bands 1,3,4,6 ! knn --training all.csv -k 3 " BANDS_OUT);
    check_map("out", &seen, &all, &how);
    check_runs(NULL, "read lit.img ! filter ! knn --training all.csv -k 3 " BANDS_OUT);
    free_trained(&all);
    free_trained(&some);
    cube_free(&seen);
    cube_free(&scene);
}

/* A library on other bands is the same as one that was brought to the bands of the scene beforehand. */
static void libraries_are_resampled(void **state) {
    (void)state;
    enum { FINE = 40 };
    const How how = {.k = 3, .reject = INFINITY};
    Cube scene = make_lit_scene("fwhm = {5, 5, 5, 5, 5, 5}\n");
    Trained trained = make_library(&scene, "library.csv", NULL, BANDS, 1, 0);
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
    assert_non_null(strstr(notes.data, "fine.csv: 11 spectra on 40 bands are resampled to 6 bands"));
    check_map("out", &scene, &trained, &how);
    RunHow recording = {.settings = {.record = "record.json"}};
    check_runs(&recording, "read lit.img ! knn --training fine.csv -k 3 " BANDS_OUT);
    assert_true(file_holds("record.json", "\"resampled\""));
    hc_text_clear(&notes);
    free_trained(&trained);
    cube_free(&scene);
}

static void libraries_are_validated(void **state) {
    (void)state;
    Cube scene = make_lit_scene("");
    Trained trained = make_library(&scene, "library.csv", NULL, BANDS, 1, 0);
    Cube labels = cube_new(LINES, SAMPLES, 1);
    const How how = {.k = 3, .reject = INFINITY};
    int64_t matrix[CLASSES][CLASSES + 1] = {{0}};
    for (size_t i = 0; i < cube_pixels(&scene); i++) {
        int class = (int)(i % 4); /* in the order Unclassified, Corn, Barley, Oats */
        static const int as_trained[] = {0, 2, 3, 1};
        labels.value[i] = class;
        if (class > 0 && scene.valid[i]) {
            matrix[as_trained[class] - 1][classify(&trained, &how, scene.value + i * BANDS).class]++;
        }
    }
    cube_write(&labels, "truth", HC_UINT8, "bsq",
               "classes = 4\nclass names = {Unclassified, Corn, Barley, Oats}\n");
    RunHow strict = {.ops = hc_strict_ops(), .settings = {.block_lines = 9}};
    check_runs(&strict, "read lit.img ! knn --training library.csv -k 3 --validation truth.img --neighbours "
                        "--report out.json");
    cJSON *json = read_json("out.json");
    check_report(json, matrix);
    check_near(number_of(json, "training_pixels"), SPECTRA - 1, 0);
    const cJSON *from = cJSON_GetObjectItemCaseSensitive(json, "training_spectrum_from_0");
    assert_int_equal(cJSON_GetArraySize(from), SPECTRA - 1);
    assert_int_equal(cJSON_GetArrayItem(from, 4)->valueint, 5);
    cJSON_Delete(json);
    /* A scale of its own is noted, from pixels or from the type of the scene. */
    free_trained(&trained);
    trained = make_library(&scene, "small.csv", NULL, BANDS, 1e-4, 0);
    HcText notes = {0};
    RunHow noting = {.notes = &notes};
    check_runs(&noting, "read lit.img ! knn --training small.csv --validation truth.img --report a.json");
    assert_non_null(strstr(notes.data, "are to be multiplied by 10000 to be in the unit of the scene"));
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
    free_trained(&trained);
    cube_free(&labels);
    cube_free(&scene);
    assert_int_equal(hc_strict_leaks(), 0);
}

static void libraries_that_do_not_fit_stop(void **state) {
    (void)state;
    static const int some[] = {0, 1, 2, 3};
    Cube scene = make_lit_scene("");
    Trained trained[3] = {make_library(&scene, "library.csv", NULL, BANDS, 1, 0),
                          make_library(&scene, "short.csv", some, 4, 1, 0),
                          make_library(&scene, "moved.csv", NULL, BANDS, 1, 5.1)};
    static const struct {
        const char *chain;
        HcStatus status;
        const char *part;
    } cases[] = {
        {"knn --training short.csv", HC_E_INPUT, "none of its spectra has values at 440-450 nm"},
        {"knn --training four.csv", HC_E_INPUT, "has 4 bands, 6 come in (the file has 6)"},
        {"knn --training moved.csv", HC_E_INPUT, "moved.csv: none of its spectra has values at 400 nm"},
        {"pca --components 3 ! knn --training library.csv", HC_E_USAGE, "components come in"},
        {"mnf --components 3 ! knn --training library.csv", HC_E_USAGE, "components come in"},
        {"knn --training library.csv --split 0.5", HC_E_USAGE, "--split"},
        {"knn --training library.csv --field name", HC_E_USAGE, "there is no field 'name'"},
        {"knn --training library.csv --layer name", HC_E_USAGE, "there is no layer 'name'"},
        {"knn --training library.csv -k 12", HC_E_USAGE, "-k 12: library.csv has 11 training spectra"},
        {"knn --training nowhere.csv", HC_E_INPUT, "nowhere.csv: there is no such file"},
        {"knn --training nowhere.sli", HC_E_INPUT, "nowhere.sli: there is no such file"},
        {"knn --training one.csv -k 1", HC_E_NUMERIC, "only class \"Oats\" has valid training spectra"},
        {"knn --training none.csv -k 1", HC_E_INPUT, "none of its spectra has values at 420 nm"},
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
        free_trained(&trained[t]);
    }
    cube_free(&scene);
}

/* ---- what comes out beside values ---- */

static void bands_and_classes_have_names(void **state) {
    (void)state;
    Cube scene = make_scene();
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
    Cube scene = make_scene();
    Cube labels = make_labels(&scene, "labels", 7, 0.3);
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
    Cube scene = make_scene();
    Cube labels = make_labels(&scene, "labels", 13, 0.05);
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
    check_run_fails(NULL, HC_E_USAGE, "there is no --validation",
                    "read scene.img ! knn --training labels.img --validation-layer a ! write bad.img");
    check_run_fails(NULL, HC_E_USAGE, "give --validation or --split",
                    "read scene.img ! knn --training labels.img --report bad.json ! write bad.img");
    check_run_fails(NULL, HC_E_USAGE, "FILE.json or FILE.txt",
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
    Cube scene = make_scene();
    Cube labels = make_labels(&scene, "labels", 14, 0.1);
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

static void constant_bands_take_no_part(void **state) {
    (void)state;
    Cube scene = make_scene();
    Cube labels = make_labels(&scene, "labels", 15, 0.1);
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
    Cube scene = make_scene();
    Cube labels = make_labels(&scene, "labels", 16, 0.02);
    Cube lit = make_lit_scene("");
    Trained trained = make_library(&lit, "library.csv", NULL, BANDS, 1, 0);
    static const char *const results[] = {"out.img", "out.hdr", "out.json", NULL};
    const char *const chains[] = {
        "read scene.img ! knn --training labels.img --split 0.5 --scale unit-variance "
        "--report out.json ! write out.img",
        "read lit.img ! knn --training library.csv --scale unit-variance ! write "
        "out.img"};
    check_failures_leave_nothing(chains, 2, 20, results);
    free_trained(&trained);
    cube_free(&lit);
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
        IN_FOLDER(libraries_equal_brute_force),
        IN_FOLDER(libraries_follow_the_bands),
        IN_FOLDER(libraries_are_resampled),
        IN_FOLDER(libraries_are_validated),
        IN_FOLDER(libraries_that_do_not_fit_stop),
        IN_FOLDER(bands_and_classes_have_names),
        IN_FOLDER(confidence_is_stored_as_votes),
        IN_FOLDER(wrong_options_stop),
        IN_FOLDER(wrong_files_stop),
        IN_FOLDER(constant_bands_take_no_part),
        IN_FOLDER(failures_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
