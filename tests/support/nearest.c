#include "tests/support/nearest.h"

#include "pipeline/json/json.h"

#include <stdlib.h>

const int knn_class_number[CLASSES + 1] = {0, 2, 5, 9};

/* ---- scenes and labels ---- */

Cube knn_scene(void) {
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 71, false);
    for (size_t i = 0; i < cube_pixels(&cube) * BANDS; i++) {
        cube.value[i] = (float)cube.value[i];
    }
    cube_border(&cube, 0);
    cube_write(&cube, "scene", HC_FLOAT32, "bil", "data ignore value = 0\n");
    return cube;
}

/* A class raster: every n-th pixel or so has a class, which hangs loosely on its first band. */
Cube knn_labels(const Cube *scene, const char *name, uint64_t seed, double share) {
    Cube labels = cube_new(LINES, SAMPLES, 1);
    for (size_t i = 0; i < cube_pixels(scene); i++) {
        double place = (scene->value[i * BANDS] - 5000) / 4000 + 0.5 * (random_uniform(&seed) - 0.5);
        int class = place < 0.4 ? 1 : place < 0.7 ? 2 : 3;
        labels.value[i] = random_uniform(&seed) < share ? knn_class_number[class] : 0;
    }
    cube_write(&labels, name, HC_UINT8, "bsq", NULL);
    return labels;
}

int knn_class_of(double number) {
    for (int c = 1; c <= CLASSES; c++) {
        if (knn_class_number[c] == (int)number) {
            return c;
        }
    }
    return 0;
}

/* ---- plain reference ---- */

void knn_set_scale(KnnTrained *trained) {
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
KnnTrained knn_train(const Cube *scene, const Cube *labels, const uint8_t *chosen, bool scaled) {
    KnnTrained trained = {.bands = scene->bands, .numbered = true};
    size_t bands = (size_t)scene->bands;
    trained.value = calloc(cube_pixels(scene) * bands, sizeof *trained.value);
    trained.class = calloc(cube_pixels(scene), sizeof *trained.class);
    assert_non_null(trained.value);
    assert_non_null(trained.class);
    for (size_t i = 0; i < cube_pixels(scene); i++) {
        if (scene->valid[i] && labels->value[i] > 0 && (chosen == NULL || chosen[i])) {
            memcpy(trained.value + (size_t)trained.count * bands, scene->value + i * bands,
                   bands * sizeof(double));
            trained.class[trained.count++] = knn_class_of(labels->value[i]);
        }
    }
    for (int b = 0; b < BANDS; b++) {
        trained.mean[b] = 0;
        trained.deviation[b] = 1;
    }
    if (scaled) {
        knn_set_scale(&trained);
    }
    return trained;
}

void knn_free(KnnTrained *trained) {
    free(trained->value);
    free(trained->class);
}

static double distance_between(const KnnTrained *trained, const KnnHow *how, const double *x, int i) {
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

static void find_neighbours(const KnnTrained *trained, const KnnHow *how, const double *x, KnnAnswer *answer,
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

KnnAnswer knn_classify(const KnnTrained *trained, const KnnHow *how, const double *x) {
    KnnAnswer answer = {0};
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
void knn_check_map(const char *name, const Cube *scene, const KnnTrained *trained, const KnnHow *how) {
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
        KnnAnswer answer = knn_classify(trained, how, scene->value + i * (size_t)scene->bands);
        check_near(pixel[0], trained->numbered ? knn_class_number[answer.class] : answer.class, 0);
        check_near(pixel[1], answer.confidence, 1e-6);
        check_near(pixel[2], answer.distance, 1e-6 * answer.distance + 1e-7);
        for (int n = 0; n < how->k; n++) {
            check_near(pixel[3 + n], answer.neighbour[n] + 1, 0); /* from 1 */
        }
        unclassified += answer.class == 0;
    }
    assert_true(unclassified == 0 || how->reject < INFINITY);
    assert_true(unclassified > 0 || how->reject == INFINITY);
    cube_free(&found);
}

/* ---- reports ---- */

cJSON *knn_read_json(const char *path) {
    cJSON *json = NULL;
    HcError err = {0};
    check_ok(hc_json_read(path, &json, &err), err);
    return json;
}

/* The report says of this matrix [truth - 1][prediction] what can be said. */
void knn_check_report(const cJSON *json, int64_t matrix[CLASSES][CLASSES + 1]) {
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
