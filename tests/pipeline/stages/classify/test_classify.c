/* classify: the distance of every pixel from every class by its formula in double, with a solution of the
 * linear system by Gauss and Jordan written here and Ledoit and Wolf's share by its definition; real samples.
 */
#include "tests/support/nearest.h"
#include "tests/support/random.h"
#include "tests/support/strict_runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Means {
    int there[CLASSES + 1]; /* pixels of each class */
    double mean[CLASSES + 1][BANDS];
    double inverse[BANDS][BANDS]; /* of the covariance within classes */
    double share;
    double log_determinant; /* of that covariance */
} Means;

/* Returns the logarithm of the determinant. */
static double invert(double matrix[BANDS][BANDS], double inverse[BANDS][BANDS]) {
    double sum = 0;
    double work[BANDS][2 * BANDS] = {{0}};
    for (int i = 0; i < BANDS; i++) {
        memcpy(work[i], matrix[i], sizeof matrix[i]);
        work[i][BANDS + i] = 1;
    }
    for (int i = 0; i < BANDS; i++) {
        double pivot = work[i][i]; /* the matrix is positive definite */
        assert_true(pivot > 0);
        sum += log(pivot);
        for (int k = 0; k < BANDS; k++) {
            double factor = k == i ? 0 : work[k][i] / pivot;
            for (int j = 0; j < 2 * BANDS; j++) {
                work[k][j] -= factor * work[i][j];
            }
        }
    }
    for (int i = 0; i < BANDS; i++) {
        for (int j = 0; j < BANDS; j++) {
            inverse[i][j] = work[i][BANDS + j] / work[i][i];
        }
    }
    return sum;
}

/* The mean of |z z' - S|^2 / n over |S - m|^2, where z are the spectra less their class means. */
static double ledoit_wolf(const KnnTrained *trained, const Means *means) {
    double s[BANDS][BANDS] = {{0}};
    double trace = 0, apart = 0, spread = 0;
    double n = trained->count;
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < trained->count; i++) {
            const double *x = trained->value + i * BANDS, *m = means->mean[trained->class[i]];
            for (int b = 0; b < BANDS; b++) {
                for (int c = 0; c < BANDS; c++) {
                    double product = (x[b] - m[b]) * (x[c] - m[c]);
                    s[b][c] += turn == 0 ? product / n : 0;
                    spread += turn == 1 ? pow(product - s[b][c], 2) / n / n : 0;
                }
            }
        }
    }
    for (int b = 0; b < BANDS; b++) {
        trace += s[b][b];
    }
    for (int i = 0; i < BANDS * BANDS; i++) {
        apart += pow(s[i / BANDS][i % BANDS] - (i / BANDS == i % BANDS ? trace / BANDS : 0), 2);
    }
    return fmin(1, spread / apart);
}

/* share < 0: by the estimate. */
static Means means_of(const KnnTrained *trained, double share) {
    Means means = {0};
    double covariance[BANDS][BANDS] = {{0}};
    double trace = 0;
    int there = 0;
    for (int i = 0; i < trained->count; i++) {
        there += means.there[trained->class[i]]++ == 0;
    }
    for (int i = 0; i < trained->count * BANDS; i++) {
        int class = trained->class[i / BANDS];
        means.mean[class][i % BANDS] += trained->value[i] / means.there[class];
    }
    for (int i = 0; i < trained->count; i++) {
        const double *x = trained->value + i * BANDS, *m = means.mean[trained->class[i]];
        for (int b = 0; b < BANDS; b++) {
            for (int c = 0; c < BANDS; c++) {
                covariance[b][c] += (x[b] - m[b]) * (x[c] - m[c]) / (trained->count - there);
            }
        }
    }
    means.share = share < 0 ? ledoit_wolf(trained, &means) : share;
    for (int b = 0; b < BANDS; b++) {
        trace += covariance[b][b];
    }
    for (int i = 0; i < BANDS * BANDS; i++) {
        covariance[i / BANDS][i % BANDS] *= 1 - means.share;
        covariance[i / BANDS][i % BANDS] += i / BANDS == i % BANDS ? means.share * trace / BANDS : 0;
    }
    means.log_determinant = invert(covariance, means.inverse);
    return means;
}

static double distance_of(const char *method, const Means *means, int class, const double *x) {
    const double *m = means->mean[class];
    double sum = 0, xx = 0, mm = 0, xm = 0;
    for (int b = 0; b < BANDS; b++) {
        xx += x[b] * x[b];
        mm += m[b] * m[b];
        xm += x[b] * m[b];
        for (int c = 0; c < BANDS && strcmp(method, "lda") == 0; c++) {
            sum += (x[b] - m[b]) * means->inverse[b][c] * (x[c] - m[c]);
        }
        sum += strcmp(method, "distance") == 0 ? (x[b] - m[b]) * (x[b] - m[b]) : 0;
    }
    return strcmp(method, "sam") == 0 ? acos(xm / sqrt(xx * mm)) : sqrt(sum);
}

/* out.img has class and distance. Classes that are equally near, to rounding, may be either. */
static void check_map(const char *method, const Cube *scene, const Means *means, double reject) {
    Cube got = cube_read_floats("out", LINES, SAMPLES, 2);
    int64_t classes[CLASSES + 1] = {0};
    for (size_t p = 0; p < cube_pixels(scene); p++) {
        double least = INFINITY;
        const double *x = scene->value + p * BANDS;
        int class = knn_class_of(got.value[2 * p]);
        if (!scene->valid[p]) {
            assert_true(isnan(got.value[2 * p]));
            continue;
        }
        for (int c = 1; c <= CLASSES; c++) {
            least = fmin(least, distance_of(method, means, c, x));
        }
        double near = 1e-6 * least + 1e-6;
        check_near(got.value[2 * p + 1], least, near);
        assert_true((class > 0) == (got.value[2 * p] > 0));
        classes[class]++;
        if (class == 0) {
            assert_true(least > reject - near);
        } else {
            assert_true(least < reject + near);
            check_near(distance_of(method, means, class, x), least, near);
        }
    }
    for (int c = isinf(reject) ? 1 : 0; c <= CLASSES; c++) {
        if (classes[c] == 0) {
            fail_msg("%s, reject %g: no pixel of class %d", method, reject, c);
        }
    }
    cube_free(&got);
}

#define TO_OUT "--distance ! write out.img --type float32 --nodata nan"

static void maps_agree_with_formulas(void **state) {
    (void)state;
    Cube scene = knn_scene();
    Cube labels = knn_labels(&scene, "labels", 5, 0.1);
    KnnTrained trained = knn_train(&scene, &labels, NULL, false);
    static const struct {
        const char *method, *shrink;
        double share, reject;
    } cases[] = {{"lda", "--shrink none", 0, INFINITY},
                 {"lda", "", -1, INFINITY},
                 {"lda", "--shrink 0.3 --reject 0.8", 0.3, 0.8},
                 {"distance", "", 0, INFINITY},
                 {"sam", "--reject 0.05", 0, 0.05}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        Means means = means_of(&trained, cases[c].share);
        assert_true(cases[c].share >= 0 || (means.share > 1e-4 && means.share < 0.5));
        check_runs(NULL, "read scene.img ! classify --training labels.img --method %s %s " TO_OUT,
                   cases[c].method, cases[c].shrink);
        check_map(cases[c].method, &scene, &means, cases[c].reject);
    }
    knn_free(&trained);
    cube_free(&labels);
    cube_free(&scene);
}

/* ---- maximum likelihood, divergence, scores ---- */

/* The training spectra of one class; borrows nothing. */
static KnnTrained those_of(const KnnTrained *trained, int class) {
    KnnTrained some = {.bands = BANDS,
                       .value = calloc((size_t)trained->count * BANDS, sizeof(double)),
                       .class = calloc((size_t)trained->count, sizeof(int))};
    assert_non_null(some.value);
    assert_non_null(some.class);
    for (int i = 0; i < trained->count; i++) {
        if (trained->class[i] == class) {
            memcpy(some.value + some.count * BANDS, trained->value + i * BANDS, BANDS * sizeof(double));
            some.class[some.count++] = class;
        }
    }
    return some;
}

/* The logarithm of the density of a normal distribution, and Mahalanobis' distance. */
static double log_density(const Means *means, int class, const double *x, double *distance) {
    *distance = distance_of("lda", means, class, x);
    return -0.5 * (*distance * *distance + means->log_determinant + BANDS * log(2 * acos(-1.0)));
}

/* out.img has class, confidence, distance and a rule for each class. */
static void check_likelihood(const Cube *scene, const Means *of_class, double reject) {
    enum { OUT = 3 + CLASSES };
    Cube got = cube_read_floats("out", LINES, SAMPLES, OUT);
    int64_t classes[CLASSES + 1] = {0};
    for (size_t p = 0; p < cube_pixels(scene); p++) {
        const double *out = got.value + p * OUT;
        double density[CLASSES + 1], distance[CLASSES + 1], best = -INFINITY, sum = 0;
        if (!scene->valid[p]) {
            assert_true(isnan(out[0]));
            continue;
        }
        int class = knn_class_of(out[0]);
        assert_true((class > 0) == (out[0] > 0));
        classes[class]++;
        for (int c = 1; c <= CLASSES; c++) {
            density[c] = log_density(&of_class[c], c, scene->value + p * BANDS, &distance[c]);
            best = fmax(best, density[c]);
            check_near(out[2 + c], density[c], 1e-5 * (1 + fabs(density[c])));
        }
        for (int c = 1; c <= CLASSES; c++) {
            sum += exp(density[c] - best);
        }
        if (class == 0) {
            check_near(out[1], 0, 0);
            assert_true(out[2] > reject);
            continue;
        }
        assert_true(density[class] > best - 1e-5 * (1 + fabs(best)));
        check_near(out[1], 1 / sum, 1e-4);
        check_near(out[2], distance[class], 1e-5 * (1 + distance[class]));
        assert_true(out[2] <= reject);
    }
    assert_true(isinf(reject) || classes[0] > 0);
    assert_true(classes[2] > 0 && classes[1] + classes[3] > 0);
    cube_free(&got);
}

static void likelihoods_agree_with_the_formula(void **state) {
    (void)state;
    Cube scene = knn_scene();
    Cube labels = knn_labels(&scene, "labels", 5, 0.2);
    KnnTrained trained = knn_train(&scene, &labels, NULL, false);
    static const struct {
        const char *options;
        double share, reject;
    } cases[] = {{"--shrink none", 0, INFINITY}, {"", -1, INFINITY}, {"--shrink 0.2 --reject 1.5", 0.2, 1.5}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        Means of_class[CLASSES + 1];
        for (int c = 1; c <= CLASSES; c++) {
            KnnTrained some = those_of(&trained, c);
            of_class[c] = means_of(&some, cases[k].share);
            knn_free(&some);
        }
        check_runs(
            NULL,
            "read scene.img ! classify --training labels.img --method ml --confidence --rules %s " TO_OUT,
            cases[k].options);
        check_likelihood(&scene, of_class, cases[k].reject);
    }
    knn_free(&trained);
    cube_free(&labels);
    cube_free(&scene);
}

/* The classes are those without rules, and each rule is the distance from its class. */
static void rules_are_distances(void **state) {
    (void)state;
    Cube scene = knn_scene();
    Cube labels = knn_labels(&scene, "labels", 5, 0.1);
    KnnTrained trained = knn_train(&scene, &labels, NULL, false);
    Means means = means_of(&trained, -1);
    static const char *const methods[] = {"lda", "distance", "sam"};
    for (int m = 0; m < 3; m++) {
        check_runs(NULL, "read scene.img ! classify --training labels.img --method %s " TO_OUT, methods[m]);
        Cube alone = cube_read_floats("out", LINES, SAMPLES, 2);
        check_runs(NULL, "read scene.img ! classify --training labels.img --method %s --rules " TO_OUT,
                   methods[m]);
        Cube got = cube_read_floats("out", LINES, SAMPLES, 2 + CLASSES);
        for (size_t p = 0; p < cube_pixels(&scene); p++) {
            const double *out = got.value + p * (2 + CLASSES);
            if (!scene.valid[p]) {
                assert_true(isnan(out[0]));
                continue;
            }
            check_near(out[0], alone.value[2 * p], 0);
            check_near(out[1], alone.value[2 * p + 1], 0);
            for (int c = 1; c <= CLASSES; c++) {
                double expected = distance_of(methods[m], &means, c, scene.value + p * BANDS);
                check_near(out[1 + c], expected, 1e-6 * expected + 1e-6);
            }
        }
        cube_free(&got);
        cube_free(&alone);
    }
    knn_free(&trained);
    cube_free(&labels);
    cube_free(&scene);
}

static double divergence(const double *x, const double *m) {
    double sum = 0, xs = 0, ms = 0;
    for (int b = 0; b < BANDS; b++) {
        xs += x[b];
        ms += m[b];
    }
    for (int b = 0; b < BANDS; b++) {
        if (!(x[b] > 0)) {
            return INFINITY;
        }
        sum += (x[b] / xs - m[b] / ms) * log(x[b] / xs / (m[b] / ms));
    }
    return sum;
}

/* A pixel without a positive value in each band has no divergence, and no class. */
static void divergences_agree_with_the_formula(void **state) {
    (void)state;
    Cube scene = knn_scene();
    Cube labels = knn_labels(&scene, "labels", 5, 0.1);
    uint64_t seed = 8;
    for (size_t i = 0; i < cube_pixels(&scene) * BANDS; i++) {
        scene.value[i] = scene.valid[i / BANDS] ? (double)(float)fabs(scene.value[i]) + 0.01 : scene.value[i];
    }
    for (int k = 0; k < 9; k++) { /* not those that train */
        size_t p = (size_t)(random_uniform(&seed) * (double)cube_pixels(&scene));
        if (knn_class_of(labels.value[p]) == 0 && scene.valid[p]) {
            scene.value[p * BANDS + (size_t)k % BANDS] = k % 2 == 0 ? 0 : -1;
        }
    }
    cube_write(&scene, "positive", HC_FLOAT32, "bip", "data ignore value = -9999\n");
    KnnTrained trained = knn_train(&scene, &labels, NULL, false);
    Means means = means_of(&trained, 0);
    check_runs(NULL, "read positive.img ! classify --training labels.img --method sid --rules " TO_OUT);
    Cube got = cube_read_floats("out", LINES, SAMPLES, 2 + CLASSES);
    int64_t none = 0;
    for (size_t p = 0; p < cube_pixels(&scene); p++) {
        const double *x = scene.value + p * BANDS, *out = got.value + p * (2 + CLASSES);
        double least = INFINITY;
        if (isnan(out[0])) {
            continue;
        }
        for (int c = 1; c <= CLASSES; c++) {
            double expected = divergence(x, means.mean[c]);
            least = fmin(least, expected);
            if (isinf(expected)) {
                assert_true(isinf(out[1 + c]));
            } else {
                check_near(out[1 + c], expected, 1e-6 * expected + 1e-12);
            }
        }
        none += out[0] == 0;
        assert_int_equal(out[0] == 0, isinf(least));
        if (out[0] > 0) {
            check_near(out[1], least, 1e-6 * least + 1e-12);
            check_near(divergence(x, means.mean[knn_class_of(out[0])]), least, 1e-6 * least + 1e-12);
        }
    }
    assert_true(none > 2);
    cube_free(&got);
    knn_free(&trained);
    cube_free(&labels);
    cube_free(&scene);
}

static void scores_are_the_same_everywhere(void **state) {
    (void)state;
    static const char *const chains[] = {
        "read scene.img ! classify --method ml --training labels.img --split 0.5 --report r.json --rules "
        "--confidence --distance ! write out.img --type float32",
        "read scene.img ! classify --method lda --rules --confidence --training labels.img ! write out.img "
        "--type "
        "float32",
        "read scene.img ! mnf --components 4 ! classify --method sam --rules --training labels.img ! write "
        "out.img --type float32"};
    static const char *const results[] = {"out.img", "out.hdr", "r.json", NULL};
    Cube scene = knn_scene();
    Cube labels = knn_labels(&scene, "labels", 7, 0.2);
    check_runs_agree(chains, 3, 10);
    check_failures_leave_nothing(chains, 2, 10, results);
    check_runs(NULL, "%s", chains[0]);
    assert_true(file_holds("r.json", "\"ml\""));
    cube_free(&labels);
    cube_free(&scene);
}

static void blocks_and_failures(void **state) {
    (void)state;
    static const char *const chains[] = {
        "read scene.img ! classify --training labels.img --split 0.5 --report r.json --distance ! write "
        "out.img "
        "--type float32",
        "read scene.img ! mnf --components 4 ! classify --method sam --training labels.img ! write out.img"};
    static const char *const results[] = {"out.img", "out.hdr", "r.json", NULL};
    Cube scene = knn_scene();
    Cube labels = knn_labels(&scene, "labels", 7, 0.1);
    check_runs_agree(chains, 2, 10);
    check_failures_leave_nothing(chains, 1, 10, results);
    check_runs(NULL, "%s", chains[0]);
    assert_true(file_holds("r.json", "\"lda\""));
    cube_free(&labels);
    cube_free(&scene);
}

static void refusals(void **state) {
    (void)state;
    Cube scene = knn_scene();
    Cube labels = knn_labels(&scene, "labels", 7, 0.1);
    memset(labels.value, 0, cube_pixels(&labels) * sizeof *labels.value);
    labels.value[21 * SAMPLES + 5] = knn_class_number[1];
    labels.value[9 * SAMPLES + 30] = knn_class_number[3];
    cube_write(&labels, "two", HC_UINT16, "bsq", NULL);
    check_run_fails(NULL, HC_E_NUMERIC, "--method lda: two.img ... one spectrum a class",
                    "read scene.img ! classify --training two.img ! write bad.img");
    labels.value[20 * SAMPLES + 5] = knn_class_number[1];
    cube_write(&labels, "three", HC_UINT16, "bsq", NULL);
    check_run_fails(NULL, HC_E_NUMERIC, "3 training spectra of 2 classes ... 6 bands",
                    "read scene.img ! classify --training three.img --shrink none ! write bad.img");
    check_runs(NULL, "read scene.img ! classify --training two.img --method distance ! write good.img");
    check_run_fails(NULL, HC_E_NUMERIC, "--method ml: class \"Class 9\" ... one training spectrum",
                    "read scene.img ! classify --training three.img --method ml ! write bad.img");
    labels.value[10 * SAMPLES + 30] = knn_class_number[3];
    cube_write(&labels, "four", HC_UINT16, "bsq", NULL);
    check_run_fails(
        NULL, HC_E_NUMERIC, "(2 training spectra of 6 bands) has no inverse ... --shrink",
        "read scene.img ! classify --training four.img --method ml --shrink none ! write bad.img");
    HcText notes = {0};
    check_runs((&(RunHow){.notes = &notes}),
               "read scene.img ! classify --training four.img --method ml ! write some.img");
    check_says(notes.data, "2 of 2 classes ... too few ... 6 bands");
    hc_text_clear(&notes);
    check_run_fails(NULL, HC_E_USAGE, "--confidence needs --method lda or --method ml",
                    "read scene.img ! classify --training two.img --method sam --confidence ! write bad.img");
    for (size_t i = 0; i < cube_pixels(&scene) * BANDS; i++) {
        scene.value[i] -= 1e6;
    }
    cube_write(&scene, "negative", HC_FLOAT32, "bip", NULL);
    check_run_fails(NULL, HC_E_NUMERIC, "classify: --method sid: the mean of class",
                    "read negative.img ! classify --training two.img --method sid ! write bad.img");
    check_run_fails(NULL, HC_E_USAGE, "classify: --shrink 2",
                    "read scene.img ! classify --training two.img --shrink 2 ! write bad.img");
    check_run_fails(NULL, HC_E_USAGE, "classify: --report needs --validation or --split",
                    "read scene.img ! classify --training two.img --report r.json ! write bad.img");
    check_run_fails(NULL, HC_E_INPUT, "none.img",
                    "read scene.img ! classify --training none.img ! write bad.img");
    cube_free(&labels);
    cube_free(&scene);
}

/* ---- frequencies ---- */

enum { WIDE = 200, TALL = 120, FREQUENT = 4, FEW = 3 };
static const double frequency[FREQUENT] = {0.9, 0.06, 0.03, 0.01};
static const double center[FREQUENT][FEW] = {{0, 0, 0}, {2, 0, 0}, {0, 2, 1}, {1, 1, -2}};

/* Normal distributions of one covariance, the unit matrix. Labels stand in every second line. Returns the
 * true classes. */
static Cube draw_classes(Cube *labels, Cube *scene) {
    uint64_t seed = 45;
    Cube truth = cube_new(TALL, WIDE, 1);
    *scene = cube_new(TALL, WIDE, FEW);
    *labels = cube_new(TALL, WIDE, 1);
    for (int p = 0; p < TALL * WIDE; p++) {
        double left = random_uniform(&seed);
        int class = 0;
        while (class + 1 < FREQUENT && left >= frequency[class]) {
            left -= frequency[class ++];
        }
        truth.value[p] = class + 1;
        labels->value[p] = p / WIDE % 2 == 0 ? class + 1 : 0;
        for (int b = 0; b < FEW; b++) {
            scene->value[p * FEW + b] = center[class][b] + random_normal(&seed);
        }
    }
    cube_write(scene, "drawn", HC_FLOAT32, "bip", NULL);
    cube_write(labels, "known", HC_UINT8, "bsq", NULL);
    return truth;
}

/* Of out.img: the share of pixels that are right in the lines without labels. With confidence, what is said
 * of those between two tenths is what happens. */
static double check_confidence(const Cube *truth) {
    Cube got = cube_read_floats("out", TALL, WIDE, 2);
    double right[10] = {0}, said[10] = {0}, count[10] = {0}, all = 0;
    for (int p = 0; p < TALL * WIDE; p++) {
        double confidence = got.value[2 * p + 1];
        int tenth = confidence < 1 ? (int)(confidence * 10) : 9;
        if (p / WIDE % 2 == 1) {
            right[tenth] += fabs(got.value[2 * p] - truth->value[p]) < 0.5;
            said[tenth] += confidence;
            count[tenth]++;
        }
    }
    for (int tenth = 0; tenth < 10; tenth++) {
        all += right[tenth];
        if (count[tenth] >= 400) {
            check_near(said[tenth] / count[tenth], right[tenth] / count[tenth], 0.05);
        }
    }
    cube_free(&got);
    return all / (TALL / 2 * WIDE);
}

/* By the distributions themselves. */
static double best_accuracy(const Cube *truth, const Cube *scene) {
    double right = 0;
    for (int p = WIDE; p < TALL * WIDE; p += p % WIDE == WIDE - 1 ? WIDE + 1 : 1) {
        double best = -INFINITY;
        int class = 0;
        for (int c = 0; c < FREQUENT; c++) {
            double density = log(frequency[c]);
            for (int b = 0; b < FEW; b++) {
                density -= 0.5 * pow(scene->value[p * FEW + b] - center[c][b], 2);
            }
            class = density > best ? c + 1 : class;
            best = fmax(best, density);
        }
        right += fabs(class - truth->value[p]) < 0.5;
    }
    return right / (TALL / 2 * WIDE);
}

static void classify_by(const char *method, const char *priors, const char *out) {
    check_runs(NULL,
               "read drawn.img ! classify --method %s --training known.img --confidence --priors %s ! "
               "write %s.img --type float32",
               method, priors, out);
}

static void check_bad_weights(const char *text, const char *message) {
    file_write("bad.csv", text);
    check_run_fails(NULL, HC_E_INPUT, message,
                    "read drawn.img ! classify --training known.img --priors bad.csv ! write bad.img");
}

static void frequencies_decide(void **state) {
    (void)state;
    static const char *const methods[] = {"lda", "ml"};
    Cube labels, scene;
    Cube truth = draw_classes(&labels, &scene);
    double best = best_accuracy(&truth, &scene);
    FILE *file = fopen("weights.csv", "w");
    assert_non_null(file);
    fprintf(file, "class,weight\n");
    for (int c = 0; c < FREQUENT; c++) {
        int count = 0;
        for (int p = 0; p < TALL * WIDE; p++) {
            count += fabs(labels.value[p] - c - 1) < 0.5;
        }
        fprintf(file, "%d,%d\n", c + 1, count);
    }
    fclose(file);
    for (int m = 0; m < 2; m++) {
        classify_by(methods[m], "training", "out");
        check_near(check_confidence(&truth), best, 0.005);
        classify_by(methods[m], "weights.csv", "file");
        check_same_files("out.img", "file.img");
        classify_by(methods[m], "equal", "equal");
        Cube equal = cube_read_floats("equal", TALL, WIDE, 2);
        int64_t common = 0;
        for (int p = 0; p < TALL * WIDE; p++) {
            common += fabs(equal.value[2 * p] - 1) < 0.5;
        }
        assert_true((double)common < 0.8 * TALL * WIDE); /* the common class has 90 % */
        cube_free(&equal);
    }
    check_bad_weights("1,5\n2,0\n3,1\n4,1\n", "bad.csv: line 2 ... class \"2\" is \"0\"");
    check_bad_weights("1,5\n2,1\n7,1\n4,1\n", "bad.csv: line 3 ... class \"7\"");
    check_bad_weights("1,5\n2,1\n4,1\n", "bad.csv: no weight for class");
    check_run_fails(
        NULL, HC_E_USAGE, "--priors needs --method lda or --method ml",
        "read drawn.img ! classify --method sam --training known.img --priors training ! write b.img");
    cube_free(&truth);
    cube_free(&labels);
    cube_free(&scene);
}

/* 695 pixels of Indian Pines in 16 classes, half of which train. */
static void indian_pines_samples(void **state) {
    (void)state;
    const char *folder = getenv("HCUBE_DATA");
    double sum = 0;
    if (folder == NULL) {
        skip();
    }
    for (int seed = 1; seed <= 5; seed++) {
        RunHow how = {0};
        check_runs(&how,
                   "read %s/indian-pines-samples/ip_samples.img ! classify --training "
                   "%s/indian-pines-samples/ip_samples_gt.img --split 0.5 --seed %d --report r%d.json",
                   folder, folder, seed, seed);
        char path[24];
        snprintf(path, sizeof path, "r%d.json", seed);
        cJSON *json = knn_read_json(path);
        sum += number_of(json, "overall_accuracy");
        cJSON_Delete(json);
    }
    print_message("mean overall accuracy of LDA: %.4f\n", sum / 5);
    assert_true(sum / 5 > 0.72);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(maps_agree_with_formulas),
        IN_FOLDER(likelihoods_agree_with_the_formula),
        IN_FOLDER(rules_are_distances),
        IN_FOLDER(divergences_agree_with_the_formula),
        IN_FOLDER(scores_are_the_same_everywhere),
        IN_FOLDER(blocks_and_failures),
        IN_FOLDER(refusals),
        IN_FOLDER(frequencies_decide),
        IN_FOLDER(indian_pines_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
