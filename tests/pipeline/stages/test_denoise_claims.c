/* What denoise announces, against scenes of eight kinds of noise whose truth is known: a number that is
 * right, or none and why. */
#include "tests/pipeline/stages/denoised.h"

#include <math.h>
#include <stdlib.h>

enum { LINES = 80, SAMPLES = 64, BANDS = 40 };

typedef enum Kind { WHITE, OF_BANDS, OF_SIGNAL, STRIPES, IMPULSES, DEAD, CORRELATED, NEIGHBOURS } Kind;

/* Three signals, and a level from 60 to 1,040 over the scene, which grows with the bands. */
static double truth_at(int32_t line, int32_t sample, int32_t b) {
    double level = 550 + 490 * sin(0.05 * line) * cos(0.06 * sample);
    return level * (0.2 + 1.6 * b / BANDS) + 30 * cos(0.15 * sample) * sin(0.2 * b) +
           20 * (line > 37) * cos(0.5 * b);
}

static double noise_at(const Cube *white, Kind kind, int32_t line, int32_t sample, int32_t b, double truth) {
    const double *here = cube_pixel(white, line, sample);
    double own = here[b];
    switch (kind) {
    case OF_BANDS:
        return own * pow(3, 2.0 * ((b * 17) % BANDS) / (BANDS - 1) - 1);
    case OF_SIGNAL:
        return own * sqrt(truth / 300);
    case STRIPES:
        return own + 2 * cube_pixel(white, 0, sample)[b];
    case CORRELATED:
        return own + 0.8 * here[b > 0 ? b - 1 : BANDS - 1];
    case NEIGHBOURS:
        return own + cube_pixel(white, line, (sample + 1) % SAMPLES)[b];
    default:
        return own;
    }
}

static Scene make_scene(Kind kind) {
    uint64_t seed = 71 + (uint64_t)kind;
    Scene scene = {.truth = cube_new(LINES, SAMPLES, BANDS), .cube = cube_new(LINES, SAMPLES, BANDS)};
    Cube white = cube_new(LINES, SAMPLES, BANDS);
    for (size_t v = 0; v < cube_pixels(&white) * BANDS; v++) {
        white.value[v] = 2 * random_normal(&seed);
    }
    for (int32_t line = 0; line < LINES; line++) {
        for (int32_t sample = 0; sample < SAMPLES; sample++) {
            bool dead = kind == DEAD && (line * 31 + sample * 17) % 100 == 0;
            for (int32_t b = 0; b < BANDS; b++) {
                double truth = truth_at(line, sample, b);
                double noise = noise_at(&white, kind, line, sample, b, truth);
                bool impulse = kind == IMPULSES && (line * 7919 + sample * 613 + b * 211) % 200 == 0;
                double value = dead ? 0 : impulse ? truth + 60 : truth + noise;
                cube_pixel(&scene.truth, line, sample)[b] = truth;
                cube_pixel(&scene.cube, line, sample)[b] = (double)(float)value;
            }
        }
    }
    cube_free(&white);
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bip", NULL);
    return scene;
}

/* Mean square error of the scene as it is. */
static double error_before(const Scene *scene) {
    double sum = 0;
    size_t count = cube_pixels(&scene->cube) * BANDS;
    for (size_t v = 0; v < count; v++) {
        sum +=
            (scene->cube.value[v] - scene->truth.value[v]) * (scene->cube.value[v] - scene->truth.value[v]);
    }
    return sum / (double)count;
}

static void check_announced(Kind kind) {
    HcText notes = {0};
    Scene scene = make_scene(kind);
    double after = error_of(&scene, "denoise", &notes);
    double gain = 10 * log10(error_before(&scene) / after);
    const char *said = strstr(notes.data, "a gain of ");
    assert_non_null(said);
    printf("announced %.1f dB, gained %.1f dB\n", strtod(said + strlen("a gain of "), NULL), gain);
    assert_true(fabs(strtod(said + strlen("a gain of "), NULL) - gain) < 2);
    check_runs(NULL, "read scene.img ! denoise --sigma-map ! write map.img --overwrite");
    Cube map = cube_read_floats("map", LINES, SAMPLES, 1);
    double sum = 0;
    for (size_t p = 0; p < cube_pixels(&map); p++) {
        sum += map.value[p] * map.value[p] / (double)cube_pixels(&map);
    }
    printf("map over error %.2f\n", sqrt(sum / after));
    assert_true(sqrt(sum / after) > 0.8 && sqrt(sum / after) < 1.25);
    cube_free(&map);
    hc_text_clear(&notes);
    free_scene(&scene);
}

/* No number in notes or in the record, and no map. */
static void check_unknown(Kind kind, const char *step, const char *why, double least_gain) {
    HcText notes = {0};
    Scene scene = make_scene(kind);
    double gain = 10 * log10(error_before(&scene) / error_of(&scene, step, &notes));
    printf("gained %.1f dB, notes:\n%s\n", gain, notes.data);
    assert_null(strstr(notes.data, "a gain of "));
    assert_null(strstr(notes.data, " dB"));
    assert_non_null(strstr(notes.data, why));
    assert_true(gain > least_gain);
    check_run_fails(NULL, HC_E_NUMERIC, "denoise: --sigma-map: the error is not known",
                    "read scene.img ! %s --sigma-map ! write bad.img", step);
    hc_text_clear(&notes);
    free_scene(&scene);
}

static void independent_noise_is_announced(void **state) {
    (void)state;
    check_announced(WHITE);
    check_announced(OF_BANDS);
}

/* The regression is taken, since what differs between bands is noise. */
static void uneven_noise_is_removed(void **state) {
    (void)state;
    check_unknown(OF_SIGNAL, "denoise", "the gain is not known (noise", 6);
    check_unknown(IMPULSES, "denoise", "gain is not known (noise has heavy tails", 6);
}

static void other_noise_is_named(void **state) {
    (void)state;
    check_unknown(STRIPES, "denoise", "not known", -0.1);
    check_unknown(DEAD, "denoise", "not known (pixels differ from their neighbours", -0.1);
    check_unknown(CORRELATED, "denoise", "differences of neighbours count texture as noise", -0.1);
    check_unknown(CORRELATED, "denoise --noise regression", "noise is correlated between bands", -0.1);
    check_unknown(NEIGHBOURS, "denoise --noise regression", "noise is correlated between neighbours", -0.1);
    check_unknown(WHITE, "denoise --noise trimmed", "differences of neighbours count texture as noise", -20);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(independent_noise_is_announced),
        IN_FOLDER(uneven_noise_is_removed),
        IN_FOLDER(other_noise_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
