/* rx: scores against (x - m)' inv(C) (x - m), solved by a plain Cholesky factor written here; a planted
 * anomaly whose distance is known; scenes whose covariance is singular; the ROC area of a real scene. */
#include "tests/support/reference.h"
#include "tests/support/strict_runs.h"

#include <stdio.h>
#include <stdlib.h>

enum { LINES = 41, SAMPLES = 37, BANDS = 7 };

/* L of matrix = L L', in its lower triangle. */
static void cholesky(int32_t n, double *matrix) {
    for (int32_t i = 0; i < n; i++) {
        for (int32_t j = 0; j <= i; j++) {
            double sum = matrix[i * n + j];
            for (int32_t k = 0; k < j; k++) {
                sum -= matrix[i * n + k] * matrix[j * n + k];
            }
            assert_true(i != j || sum > 0);
            matrix[i * n + j] = i == j ? sqrt(sum) : sum / matrix[j * n + j];
        }
    }
}

/* The scores of a cube, of one band, by its own mean and covariance or by those given. */
static Cube reference_rx(const Cube *cube, const double *mean, const double *covariance) {
    int32_t n = cube->bands;
    double *lower = malloc((size_t)(n * n + n) * sizeof *lower);
    Cube score = cube_new(cube->lines, cube->samples, 1);
    assert_non_null(lower);
    double *y = lower + n * n;
    memcpy(lower, covariance, (size_t)(n * n) * sizeof *lower);
    cholesky(n, lower);
    for (size_t p = 0; p < cube_pixels(cube); p++) {
        score.valid[p] = cube->valid[p];
        for (int32_t i = 0; i < n && cube->valid[p]; i++) {
            y[i] = cube->value[p * (size_t)n + (size_t)i] - mean[i];
            for (int32_t k = 0; k < i; k++) {
                y[i] -= lower[i * n + k] * y[k];
            }
            y[i] /= lower[i * n + i];
            score.value[p] += y[i] * y[i];
        }
    }
    free(lower);
    return score;
}

/* Each whitened band is rounded to float32, and the sum once more. */
static void check_scores(const char *name, const Cube *expected) {
    Cube got = cube_read_floats(name, expected->lines, expected->samples, 1);
    for (size_t p = 0; p < cube_pixels(expected); p++) {
        if (expected->valid[p]) {
            check_near(got.value[p], expected->value[p], 3e-7 * expected->value[p]);
        } else {
            assert_true(isnan(got.value[p]));
        }
    }
    cube_free(&got);
}

static void check_rx(const Cube *cube, HcType type, const char *more) {
    double mean[BANDS];
    double covariance[BANDS * BANDS];
    (void)reference_covariance(cube, mean, covariance);
    Cube expected = reference_rx(cube, mean, covariance);
    cube_write(cube, "scene", type, "bil", more);
    check_runs(NULL, "read scene.img ! rx ! write out.img --nodata nan");
    check_scores("out", &expected);
    cube_free(&expected);
}

static void scores_agree_with_reference(void **state) {
    (void)state;
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 1, true);
    check_rx(&cube, HC_UINT16, NULL);
    cube_border(&cube, 0);
    check_rx(&cube, HC_INT16, "data ignore value = 0\n");
    cube_pixel(&cube, 7, 20)[3] = NAN; /* in one band alone: masks the pixel */
    cube.valid[7 * SAMPLES + 20] = 0;
    check_rx(&cube, HC_FLOAT32, "data ignore value = 0\n");
    cube_free(&cube);
    assert_true(file_holds("out.hdr", "RX score"));
}

/* Shares as their authors define them (Chen, Wiesel, Eldar, Hero 2010), for n pixels. */
static double share_of(const char *how, const Cube *cube, double n, const double *covariance) {
    double trace = 0, squares = 0, p = BANDS;
    for (int i = 0; i < BANDS * BANDS; i++) {
        trace += i % (BANDS + 1) == 0 ? covariance[i] : 0;
        squares += covariance[i] * covariance[i];
    }
    double apart = squares - trace * trace / p;
    double share =
        strcmp(how, "oas") == 0 ? ((1 - 2 / p) * squares + trace * trace) / ((n + 1 - 2 / p) * apart)
        : strcmp(how, "rao-blackwell") == 0 ? ((n - 2) / n * squares + trace * trace) / ((n + 2) * apart)
        : strcmp(how, "ledoit-wolf") == 0   ? reference_ledoit_wolf(cube)
                                            : atof(how);
    return share < 1 ? share : 1;
}

/* Also of fewer pixels than bands. */
static void covariance_is_shrunk(void **state) {
    (void)state;
    static const char *const how[] = {"0.25", "1", "oas", "rao-blackwell", "ledoit-wolf"};
    for (size_t k = 0; k < 2 * sizeof how / sizeof *how; k++) {
        bool few = k % 2 != 0;
        double mean[BANDS], covariance[BANDS * BANDS];
        double trace = 0;
        Cube cube = cube_smooth(few ? 2 : LINES, few ? 3 : SAMPLES, BANDS, 9, true);
        double n = (double)reference_covariance(&cube, mean, covariance);
        double share = share_of(how[k / 2], &cube, n, covariance);
        for (int b = 0; b < BANDS; b++) {
            trace += covariance[b * BANDS + b];
        }
        for (int i = 0; i < BANDS * BANDS; i++) {
            covariance[i] *= 1 - share;
            covariance[i] += i % (BANDS + 1) == 0 ? share * trace / BANDS : 0;
        }
        Cube expected = reference_rx(&cube, mean, covariance);
        cube_write(&cube, "scene", HC_UINT16, "bil", NULL);
        check_runs(NULL, "read scene.img ! rx --shrink %s ! write out.img --nodata nan", how[k / 2]);
        check_scores("out", &expected);
        cube_free(&expected);
        cube_free(&cube);
    }
}

/* Bands in other units: scores are the same, whatever factors the bands have. */
static void units_do_not_matter(void **state) {
    (void)state;
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 2, false);
    for (size_t i = 0; i < cube_pixels(&cube) * BANDS; i++) {
        cube.value[i] = (float)ldexp(cube.value[i], 10 * (int)(i % BANDS) - 30);
    }
    check_rx(&cube, HC_FLOAT32, NULL);
    cube_free(&cube);
}

/* Pixels at +a and -a along each axis, in equal numbers, and one pair of anomalies at +-t along another
 * direction: mean and covariance are known, and with them the scores. With n pixels, c = 2 m a^2 / (n - 1) on
 * the diagonal and the anomalies' t t' 2 / (n - 1), the score of t is q / (1 + 2 q / (n - 1)), q = t't / c
 * (Sherman and Morrison). */
static void planted_anomaly_has_its_distance(void **state) {
    (void)state;
    enum { SIDE = 16, PIXELS = SIDE * SIDE, EACH = (PIXELS - 4) / (2 * BANDS) };
    const double base = 100;
    const double a = 8;
    const double t[BANDS] = {3, -5, 2, 7, -1, 4, 6};
    double tt = 0;
    Cube cube = cube_new(SIDE, SIDE, BANDS);
    for (int b = 0; b < BANDS; b++) {
        tt += t[b] * t[b];
    }
    for (size_t p = 0; p < PIXELS; p++) {
        for (size_t b = 0; b < BANDS; b++) {
            bool anomaly = p < 2;
            bool background = p >= 4 && (p - 4) / 2 % BANDS == b;
            double sign = p % 2 == 0 ? 1 : -1;
            cube.value[p * BANDS + b] = base + (anomaly ? sign * t[b] : background ? sign * a : 0);
        }
    }
    cube_write(&cube, "scene", HC_UINT8, "bip", NULL);
    check_runs(NULL, "read scene.img ! rx ! write out.img");
    Cube got = cube_read_floats("out", SIDE, SIDE, 1);
    double q = tt * (PIXELS - 1) / (2 * EACH * a * a);
    double score = q / (1 + 2 * q / (PIXELS - 1));
    check_near(got.value[0], score, 3e-7 * score);
    check_near(got.value[1], score, 3e-7 * score);
    check_near(got.value[2], 0, 1e-12); /* the mean itself */
    check_near(got.value[3], 0, 1e-12);
    double sum = 0;
    for (size_t p = 0; p < PIXELS; p++) {
        sum += got.value[p];
    }
    check_near(sum, BANDS * (PIXELS - 1), 1e-6 * sum); /* of any scene */
    cube_free(&got);
    cube_free(&cube);
}

/* Constant and repeated bands add nothing: scores are those without them, and a note says so. */
static void singular_scenes_are_defined(void **state) {
    (void)state;
    double mean[BANDS];
    double covariance[BANDS * BANDS];
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 3, true);
    Cube wide = cube_new(LINES, SAMPLES, BANDS + 3);
    (void)reference_covariance(&cube, mean, covariance);
    Cube expected = reference_rx(&cube, mean, covariance);
    for (size_t p = 0; p < cube_pixels(&cube); p++) {
        double *to = wide.value + p * (BANDS + 3);
        memcpy(to, cube.value + p * BANDS, BANDS * sizeof *to);
        to[BANDS] = 77;
        to[BANDS + 1] = to[2];
        to[BANDS + 2] = to[0] + to[4];
    }
    cube_write(&wide, "wide", HC_INT32, "bsq", NULL);
    HcText notes = {0};
    RunHow how = {.notes = &notes};
    check_runs(&how, "read wide.img ! rx ! write out.img");
    check_scores("out", &expected);
    check_says(notes.data, "3 of 10 bands ... constant or combinations ... 7 directions");
    hc_text_clear(&notes);
    cube_free(&expected);
    cube_free(&wide);
    cube_free(&cube);
}

static void scenes_without_a_background_are_refused(void **state) {
    (void)state;
    Cube few = cube_smooth(2, 4, BANDS, 4, true);
    cube_write(&few, "few", HC_UINT16, "bsq", NULL);
    check_run_fails(NULL, HC_E_NUMERIC, "8 valid pixels with 7 bands", "read few.img ! rx ! write bad.img");
    check_runs(NULL, "read few.img ! pca --components 2 ! rx ! write out.img");
    cube_free(&few);
    Cube flat = cube_new(20, 20, BANDS);
    cube_write(&flat, "flat", HC_UINT16, "bsq", NULL);
    check_run_fails(NULL, HC_E_NUMERIC, "rx: all 7 bands are constant", "read flat.img ! rx ! write bad.img");
    cube_write(&flat, "empty", HC_UINT16, "bsq", "data ignore value = 0\n");
    check_run_fails(NULL, HC_E_NUMERIC,
                    "rx: 0 valid pixels in the scene: ", "read empty.img ! rx ! write bad.img");
    cube_free(&flat);
    Cube one = cube_new(1, 1, BANDS);
    cube_write(&one, "one", HC_UINT16, "bsq", NULL);
    check_run_fails(NULL, HC_E_NUMERIC,
                    "rx: 1 valid pixel in the scene: ", "read one.img ! rx ! write bad.img");
    assert_false(file_exists("bad.img"));
    cube_free(&one);
}

/* The statistics of another scene, also for a single pixel and for some of its bands. */
static void background_may_be_another_scene(void **state) {
    (void)state;
    double mean[BANDS];
    double covariance[BANDS * BANDS];
    Cube other = cube_smooth(LINES, SAMPLES, BANDS, 5, true);
    Cube cube = cube_smooth(3, 4, BANDS, 6, true);
    (void)reference_covariance(&other, mean, covariance);
    Cube expected = reference_rx(&cube, mean, covariance);
    cube_write(&other, "other", HC_UINT16, "bsq", NULL);
    cube_write(&cube, "scene", HC_UINT16, "bsq", NULL);
    check_runs(NULL, "read other.img ! cov other.json");
    check_runs(NULL, "read scene.img ! rx --background other.json ! write out.img");
    check_scores("out", &expected);
    check_runs(NULL, "read other.img ! rx ! write own.img");
    check_runs(NULL, "read other.img ! rx --background other.json ! write loaded.img");
    check_same_files("own.img", "loaded.img");
    check_runs(NULL, "read other.img ! bands 2-4 ! rx ! write own.img");
    check_runs(NULL, "read other.img ! bands 2-4 ! rx --background other.json ! write loaded.img");
    check_same_files("own.img", "loaded.img");
    check_runs(NULL, "read other.img ! cov noise.json --noise shift");
    check_run_fails(NULL, HC_E_INPUT, "noise.json: statistics of noise",
                    "read scene.img ! rx --background noise.json ! write bad.img");
    check_run_fails(NULL, HC_E_INPUT, "none.json",
                    "read scene.img ! rx --background none.json ! write bad.img");
    check_runs(NULL, "read other.img ! bands 1-6 ! cov six.json");
    check_run_fails(NULL, HC_E_INPUT, "six.json",
                    "read scene.img ! rx --background six.json ! write bad.img");
    check_run_fails(NULL, HC_E_USAGE, "rx: ", "read scene.img ! rx --backgruond other.json ! write bad.img");
    cube_free(&expected);
    cube_free(&cube);
    cube_free(&other);
}

static void contract(void **state) {
    (void)state;
    check_stage_contract("rx");
}

static void contract_with_shrinkage(void **state) {
    (void)state;
    check_stage_contract("rx --shrink oas");
    check_stage_contract("rx --shrink ledoit-wolf --robust 0.01");
}

static void contract_with_a_background(void **state) {
    (void)state;
    Cube other = cube_smooth(LINES, SAMPLES, 4, 7, true);
    cube_write(&other, "other", HC_UINT16, "bsq", NULL);
    check_runs(NULL, "read other.img ! cov other.json");
    check_stage_contract("rx --background other.json");
    cube_free(&other);
}

/* The area under the curve of detection over false alarms: the share of pairs (target, background) in which
 * the target has the higher score. */
static double roc_area(const Cube *score, const uint8_t *target) {
    double above = 0;
    double pairs = 0;
    for (size_t p = 0; p < cube_pixels(score); p++) {
        for (size_t q = 0; q < cube_pixels(score) && target[p] != 0; q++) {
            if (target[q] == 0) {
                pairs++;
                above += score->value[p] > score->value[q] ? 1 : score->value[p] == score->value[q] ? 0.5 : 0;
            }
        }
    }
    return above / pairs;
}

/* The HYDICE urban crop with its 19 pixels of vehicles (Kang et al. 2017), against numpy and spectral 0.25.
 */
static void hydice_vehicles_are_found(void **state) {
    (void)state;
    const char *folder = getenv("HCUBE_DATA");
    char path[512];
    size_t bytes = 0;
    if (folder == NULL) {
        skip();
    }
    check_runs(NULL, "read %s/hydice-urban/hydice_urban.img ! rx ! write out.img", folder);
    snprintf(path, sizeof path, "%s/hydice-urban/hydice_urban_gt.img", folder);
    uint8_t *target = (uint8_t *)file_bytes(path, &bytes);
    Cube score = cube_read_floats("out", 100, 80, 1);
    assert_int_equal(bytes, cube_pixels(&score));
    check_near(roc_area(&score, target), 0.97628, 5e-6);
    cube_free(&score);
    free(target);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(scores_agree_with_reference),
        IN_FOLDER(covariance_is_shrunk),
        IN_FOLDER(units_do_not_matter),
        IN_FOLDER(planted_anomaly_has_its_distance),
        IN_FOLDER(singular_scenes_are_defined),
        IN_FOLDER(scenes_without_a_background_are_refused),
        IN_FOLDER(background_may_be_another_scene),
        IN_FOLDER(contract),
        IN_FOLDER(contract_with_a_background),
        IN_FOLDER(contract_with_shrinkage),
        IN_FOLDER(hydice_vehicles_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
