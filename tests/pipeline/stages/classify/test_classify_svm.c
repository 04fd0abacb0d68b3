/* classify --method svm: the machine fulfils the conditions of its optimum; maps against plain sums over its
 * vectors; the same for blocks, threads and backends; cross-validation chooses what is best and repeats; real
 * samples. Without libsvm: what is said. */
#include "pipeline/stages/classify/classify.h"
#include "pipeline/stages/classify/svm.h"
#include "tests/support/nearest.h"
#include "tests/support/strict_runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* An allocation of more than 20 kB fails after that number of them; 0: none does. Of the program alone:
 * libsvm is not linked with --wrap. */
static int large_left;

void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);

void *__wrap_calloc(size_t count, size_t bytes) {
    bool fails = large_left > 0 && count * bytes > 20000 && --large_left == 0;
    return fails ? NULL : __real_calloc(count, bytes);
}

static const char *const kernels[] = {"rbf", "linear"};

static double kernel_of(const HcSvmHow *how, const double *x, const double *y, int32_t bands) {
    double dot = 0, apart = 0;
    for (int32_t b = 0; b < bands; b++) {
        dot += x[b] * y[b];
        apart += (x[b] - y[b]) * (x[b] - y[b]);
    }
    return how->linear ? dot : exp(-how->gamma * apart);
}

static const double *vector_at(const HcSvm *svm, int32_t i, double *x) {
    for (int32_t b = 0; b < svm->bands; b++) {
        x[b] = svm->vector[((size_t)i / HC_SVM_LANES * (size_t)svm->bands + (size_t)b) * HC_SVM_LANES +
                           (size_t)i % HC_SVM_LANES];
    }
    return x;
}

/* The margin between the classes at places a < b. */
static double margin(const HcSvm *svm, int32_t a, int32_t b, const double *x) {
    double vector[BANDS];
    int32_t pair = 0;
    for (int32_t i = 0; i < a; i++) {
        pair += svm->classes - 1 - i;
    }
    pair += b - a - 1;
    double sum = -svm->rho[pair];
    for (int32_t i = 0; i < svm->count; i++) {
        bool of_a = i >= svm->first[a] && i < svm->first[a + 1];
        bool of_b = i >= svm->first[b] && i < svm->first[b + 1];
        if (of_a || of_b) {
            sum += svm->coef[(of_a ? b - 1 : a) * svm->count + i] *
                   kernel_of(&svm->how, x, vector_at(svm, i, vector), svm->bands);
        }
    }
    return sum;
}

/* Two classes that overlap. */
static HcSvmProblem overlapping(double *value, int32_t *label, int32_t count) {
    uint64_t seed = 12;
    for (int32_t i = 0; i < count; i++) {
        label[i] = i < count / 2 ? 4 : 9;
        for (int b = 0; b < BANDS; b++) {
            value[i * BANDS + b] = random_normal(&seed) + (label[i] == 4 ? 0.4 : -0.4);
        }
    }
    return (HcSvmProblem){.value = value, .label = label, .count = count, .bands = BANDS};
}

/* Karush, Kuhn and Tucker: weights within 0 and the cost that add up to 0 over both classes; margins of 1
 * where a weight is neither, and beyond or below 1 where it is. They hold at the optimum only. */
static void machines_are_optimal(void **state) {
    (void)state;
    enum { COUNT = 120 };
    double value[COUNT * BANDS];
    int32_t label[COUNT];
    HcSvmProblem problem = overlapping(value, label, COUNT);
    const HcSvmHow hows[] = {
        {.cost = 10, .gamma = 0.1}, {.cost = 0.5, .gamma = 1}, {.linear = true, .cost = 2}};
    for (int h = 0; h < 3; h++) {
        HcSvm svm = {0};
        HcError err = {0};
        assert_int_equal(hc_svm_train(&svm, &problem, &hows[h], 1e-6, &err), HC_OK);
        assert_int_equal(svm.classes, 2);
        assert_int_equal(svm.label[0], 4);
        assert_int_equal(svm.label[1], 9);
        double sum = 0;
        int inside = 0, found = 0;
        for (int32_t i = 0; i < svm.count; i++) {
            double sign = i < svm.first[1] ? 1 : -1;
            assert_true(sign * svm.coef[i] > 0 && sign * svm.coef[i] <= hows[h].cost * (1 + 1e-12));
            sum += svm.coef[i];
        }
        check_near(sum, 0, 1e-9);
        for (int i = 0; i < COUNT; i++) {
            double weight = 0, vector[BANDS];
            for (int32_t k = 0; k < svm.count; k++) {
                bool same = memcmp(vector_at(&svm, k, vector), value + i * BANDS, sizeof vector) == 0;
                weight += same ? fabs(svm.coef[k]) : 0;
                found += same;
            }
            double beyond = (label[i] == 4 ? 1 : -1) * margin(&svm, 0, 1, value + i * BANDS) - 1;
            assert_true(weight > 0 || beyond > -1e-4);
            assert_true(weight < hows[h].cost * (1 - 1e-9) || beyond < 1e-4);
            inside += weight > 0 && weight < hows[h].cost * (1 - 1e-9);
        }
        assert_int_equal(found, svm.count);
        assert_true(inside > 0);
        hc_svm_clear(&svm);
    }
}

/* The training spectra of the stage: by class, with mean 0 and a mean variance of 1. */
static HcSvmProblem problem_of(const KnnTrained *trained, double *value, int32_t *label) {
    int32_t count = 0;
    for (int c = 1; c <= CLASSES; c++) {
        for (int i = 0; i < trained->count; i++) {
            for (int b = 0; b < BANDS && trained->class[i] == c; b++) {
                value[count * BANDS + b] =
                    (trained->value[i * BANDS + b] - trained->mean[b]) / trained->deviation[b];
            }
            label[count] = c;
            count += trained->class[i] == c;
        }
    }
    return (HcSvmProblem){.value = value, .label = label, .count = count, .bands = BANDS};
}

static void check_map(const Cube *scene, const KnnTrained *trained, const HcSvm *svm) {
    Cube got = cube_read_floats("out", LINES, SAMPLES, 1 + CLASSES);
    int64_t classes[CLASSES + 1] = {0}, close = 0;
    for (size_t p = 0; p < cube_pixels(scene); p++) {
        double x[BANDS], nearest = INFINITY;
        int votes[CLASSES] = {0}, best = 0;
        const double *out = got.value + p * (1 + CLASSES);
        if (!scene->valid[p]) {
            assert_true(isnan(out[0]));
            continue;
        }
        for (int b = 0; b < BANDS; b++) {
            x[b] = (scene->value[p * BANDS + (size_t)b] - trained->mean[b]) / trained->deviation[b];
        }
        for (int a = 0; a < CLASSES; a++) {
            for (int b = a + 1; b < CLASSES; b++) {
                double beyond = margin(svm, a, b, x);
                nearest = fmin(nearest, fabs(beyond));
                votes[beyond > 0 ? a : b]++;
            }
        }
        for (int c = 1; c < CLASSES; c++) {
            best = votes[c] > votes[best] ? c : best;
        }
        close += nearest < 1e-4;
        if (nearest < 1e-4) {
            continue; /* float32 may say otherwise */
        }
        check_near(out[0], knn_class_number[best + 1], 0);
        classes[best + 1]++;
        for (int c = 0; c < CLASSES; c++) {
            check_near(out[1 + c], (double)votes[c] / (CLASSES - 1), 1e-7);
            assert_false(signbit(out[1 + c]));
        }
    }
    assert_true(close < 20);
    assert_true((classes[1] > 0) + (classes[2] > 0) + (classes[3] > 0) > 1);
    cube_free(&got);
}

static void maps_agree_with_the_formula(void **state) {
    (void)state;
    Cube scene = knn_scene();
    Cube labels = knn_labels(&scene, "labels", 5, 0.2);
    KnnTrained trained = knn_train(&scene, &labels, NULL, false);
    knn_set_scale(&trained);
    double variance = 0;
    for (int b = 0; b < BANDS; b++) {
        variance += trained.deviation[b] * trained.deviation[b] / BANDS;
    }
    for (int b = 0; b < BANDS; b++) {
        trained.deviation[b] = sqrt(variance);
    }
    double *value = calloc((size_t)trained.count * BANDS, sizeof *value);
    int32_t *label = calloc((size_t)trained.count + 1, sizeof *label);
    assert_non_null(value);
    assert_non_null(label);
    HcSvmProblem problem = problem_of(&trained, value, label);
    for (int k = 0; k < 2; k++) {
        HcSvm svm = {0};
        HcError err = {0};
        const HcSvmHow how = {.linear = k == 1, .cost = 5, .gamma = 0.2};
        assert_int_equal(hc_svm_train(&svm, &problem, &how, 0.001, &err), HC_OK);
        check_runs(
            NULL,
            "read scene.img ! classify --method svm --kernel %s --cost 5 --gamma 0.2 --training labels.img "
            "--rules ! write out.img --type float32 --nodata nan",
            kernels[k]);
        check_map(&scene, &trained, &svm);
        hc_svm_clear(&svm);
    }
    free(value);
    free(label);
    knn_free(&trained);
    cube_free(&labels);
    cube_free(&scene);
}

static void runs_agree(void **state) {
    (void)state;
    static const char *const chains[] = {"read scene.img ! classify --method svm --training labels.img "
                                         "--split 0.5 --report r.json --rules ! write "
                                         "out.img --type float32",
                                         "read scene.img ! classify --method svm --kernel linear --training "
                                         "labels.img --cost 3 ! write out.img"};
    static const char *const results[] = {"out.img", "out.hdr", NULL};
    Cube scene = knn_scene();
    Cube labels = knn_labels(&scene, "labels", 7, 0.1);
    check_runs_agree(chains, 2, 10);
    check_failures_leave_nothing(chains + 1, 1, 10, results);
    cube_free(&labels);
    cube_free(&scene);
}

/* Folds do not depend on the team, but on the seed; each spectrum is predicted once. */
static void cross_validation_repeats(void **state) {
    (void)state;
    enum { COUNT = 90, TRIALS = 3 };
    double value[COUNT * BANDS];
    int32_t label[COUNT];
    HcSvmProblem problem = overlapping(value, label, COUNT);
    HcTeam *team = hc_team_open(3);
    HcError err = {0};
    double accuracy[2][TRIALS] = {{0}};
    for (int turn = 0; turn < 3; turn++) {
        HcSvmTrial trial[TRIALS] = {{.how = {.cost = 1, .gamma = 0.1}},
                                    {.how = {.cost = 1, .gamma = 1e4}},
                                    {.how = {.linear = true, .cost = 1}}};
        assert_int_equal(hc_svm_cross_validate(&problem, 5, turn == 2 ? 8 : 7, trial, TRIALS,
                                               turn == 1 ? team : NULL, &err),
                         HC_OK);
        for (int t = 0; t < TRIALS; t++) {
            double right = trial[t].accuracy * COUNT;
            check_near(right, floor(right + 0.5), 1e-9);
            if (turn == 1) {
                check_near(trial[t].accuracy, accuracy[0][t], 0);
            }
            accuracy[turn == 2][t] = trial[t].accuracy;
        }
        /* The classes are told apart, but not by a kernel that knows no neighbours. */
        assert_true(trial[0].accuracy > 0.65 && trial[2].accuracy > 0.65);
        assert_true(trial[1].accuracy < 0.62);
    }
    assert_true(accuracy[0][0] != accuracy[1][0] || accuracy[0][2] != accuracy[1][2]);
    hc_team_close(team);
}

static void refusals(void **state) {
    (void)state;
    Cube scene = knn_scene();
    Cube labels = knn_labels(&scene, "labels", 7, 0.1);
    static const char chain[] =
        "read scene.img ! classify --training labels.img --method svm %s ! write bad.img";
    check_run_fails(NULL, HC_E_USAGE, "--cost 0: neither auto ... above 0", chain, "--cost 0");
    check_run_fails(NULL, HC_E_USAGE, "classify: --gamma x: neither", chain, "--gamma x");
    check_run_fails(NULL, HC_E_USAGE, "classify: --distance excludes --method svm", chain, "--distance");
    check_run_fails(NULL, HC_E_USAGE, "classify: --reject excludes --method svm", chain, "--reject 3");
    check_run_fails(NULL, HC_E_USAGE, "--confidence needs --method lda or --method ml", chain,
                    "--confidence");
    Cube many = cube_new(LINES, SAMPLES, 1);
    for (int p = 0; p < HC_SVM_CLASSES + 1; p++) {
        many.value[p] = p + 1;
    }
    cube_write(&many, "many", HC_UINT16, "bsq", NULL);
    check_run_fails(
        NULL, HC_E_UNSUPPORTED, "many.img: 1025 classes: --method svm ... 1024",
        "read scene.img ! classify --training many.img --method svm --kernel linear ! write bad.img");
    assert_false(file_exists("bad.img"));
    cube_free(&many);
    cube_free(&labels);
    cube_free(&scene);
}

/* A thread that cross-validates has spectra and kernels of its own, of the spectra that are tried. */
static void memory_of_threads(void **state) {
    (void)state;
    size_t of_tried = hc_class_svm_thread_bytes(2000, 200, 3);
    assert_true(of_tried > (size_t)2000 * (200 * 32 + 2000 * 4));
    assert_true(hc_class_svm_thread_bytes(100, 200, 3) < of_tried / 10);
    assert_true(hc_class_svm_thread_bytes(1 << 20, 200, 3) < of_tried + of_tried / 100);
    assert_true(hc_class_svm_bytes(1 << 20, 200, 3) > (size_t)(1 << 20) * 200 * 32);
}

/* 695 pixels of Indian Pines in 16 classes, half of which train. */
static void indian_pines_samples(void **state) {
    (void)state;
    const char *folder = getenv("HCUBE_DATA");
    double sum = 0;
    if (folder == NULL) {
        skip();
    }
    for (int seed = 1; seed <= 3; seed++) {
        check_runs((&(RunHow){.threads = 2}),
                   "read %s/indian-pines-samples/ip_samples.img ! classify --method svm --training "
                   "%s/indian-pines-samples/ip_samples_gt.img --split 0.5 --seed %d --report r%d.json",
                   folder, folder, seed, seed);
        char path[24];
        snprintf(path, sizeof path, "r%d.json", seed);
        cJSON *json = knn_read_json(path);
        sum += number_of(json, "overall_accuracy");
        cJSON_Delete(json);
    }
    print_message("mean overall accuracy of SVM: %.4f\n", sum / 3);
    assert_true(sum / 3 > 0.74); /* 0.75 of these three splits */
}

static void built_without_libsvm(void **state) {
    (void)state;
    Cube scene = knn_scene();
    Cube labels = knn_labels(&scene, "labels", 7, 0.1);
    check_run_fails(NULL, HC_E_UNSUPPORTED, "--method svm ... built without libsvm",
                    "read scene.img ! classify --training labels.img --method svm ! write bad.img");
    cube_free(&labels);
    cube_free(&scene);
}

/* libsvm does not look at its memory: what it may take is asked for before, of each machine. */
static void memory_is_asked_for_first(void **state) {
    (void)state;
    enum { COUNT = 60 };
    double value[COUNT * BANDS];
    int32_t label[COUNT];
    HcSvmProblem problem = overlapping(value, label, COUNT);
    HcSvmHow how = {.cost = 1, .gamma = 0.1};
    HcSvmTrial trial = {.how = how};
    HcError err = {0};
    HcSvm svm = {0};
    large_left = 1;
    assert_int_equal(hc_svm_train(&svm, &problem, &how, 0.001, &err), HC_E_MEMORY);
    assert_non_null(strstr(err.text, "a support vector machine"));
    assert_int_equal(large_left, 0);
    hc_svm_clear(&svm);
    for (int at = 1; at <= 3; at++) { /* of all side by side, then of single folds */
        err = (HcError){0};
        large_left = at;
        check_fails(hc_svm_cross_validate(&problem, 5, 7, &trial, 1, NULL, &err), HC_E_MEMORY, err);
        assert_int_equal(large_left, 0);
    }
    err = (HcError){0};
    check_ok(hc_svm_train(&svm, &problem, &how, 0.001, &err), err);
    hc_svm_clear(&svm);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(machines_are_optimal),
        IN_FOLDER(maps_agree_with_the_formula),
        IN_FOLDER(runs_agree),
        IN_FOLDER(cross_validation_repeats),
        cmocka_unit_test(memory_is_asked_for_first),
        IN_FOLDER(refusals),
        cmocka_unit_test(memory_of_threads),
        IN_FOLDER(indian_pines_samples),
    };
    const struct CMUnitTest without[] = {IN_FOLDER(built_without_libsvm)};
    return hc_svm_there() ? cmocka_run_group_tests(tests, NULL, NULL)
                          : cmocka_run_group_tests(without, NULL, NULL);
}
