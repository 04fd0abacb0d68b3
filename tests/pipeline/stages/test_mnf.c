#include "cpu/cpu.h"
#include "tests/support/linear_runs.h"
#include "tests/support/truth.h"

#include <stdio.h>
#include <stdlib.h>

enum { LINES = 45, SAMPLES = 38, BANDS = 6 };

/* What a fit must give, for the kept bands alone. */
typedef struct Expected {
    int32_t components;
    double mean[BANDS], covariance[BANDS * BANDS], noise[BANDS * BANDS];
    double values[BANDS], forward[BANDS * BANDS];
    int64_t pixels, noise_pixels;
} Expected;

static Expected expect(const Cube *cube, NoiseKind kind, const int32_t *window) {
    Expected e = {.components = cube->bands};
    e.pixels = reference_covariance(cube, e.mean, e.covariance);
    e.noise_pixels = reference_noise(cube, kind, window, e.noise);
    reference_mnf(cube->bands, e.covariance, e.noise, e.values, e.forward);
    return e;
}

static void check_fit(const Cube *cube, const Expected *e, const char *model_path, const char *name) {
    HcTransform model = model_load(model_path, "mnf");
    assert_int_equal(model.components, e->components);
    assert_int_equal(model.pixels, e->pixels);
    assert_int_equal(model.noise_pixels, e->noise_pixels);
    for (int32_t k = 0; k < e->components; k++) {
        check_near(model.eigenvalues[k], e->values[k], 1e-9 * e->values[k]);
    }
    hc_transform_clear(&model);
    Cube parts = reference_project(cube, e->mean, e->forward, e->components);
    check_components(name, &parts, e->values);
    cube_free(&parts);
}

static const char *const noise_words[] = {"mean3x3", "median3x3", "shift", "shift-diagonal"};

static void check_all_noises(const Cube *cube, HcType type, const char *more) {
    cube_write(cube, "scene", type, "bil", more);
    for (int kind = 0; kind < 4; kind++) {
        Expected e = expect(cube, (NoiseKind)kind, NULL);
        check_runs(NULL, "read scene.img ! mnf --noise %s --save-model model.json ! write out.img",
                   noise_words[kind]);
        check_fit(cube, &e, "model.json", "out");
    }
}

static void integers_agree_with_reference(void **state) {
    (void)state;
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 21, true);
    check_all_noises(&cube, HC_UINT16, NULL);
    check_all_noises(&cube, HC_INT32, NULL);
    cube_free(&cube);
}

static void floats_agree_with_reference(void **state) {
    (void)state;
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 22, false);
    for (size_t i = 0; i < cube_pixels(&cube) * BANDS; i++) {
        /* Sixteenths, so that the differences of float32 values are float32 values too. */
        cube.value[i] = nearbyint(cube.value[i] * 16) / 16;
    }
    check_all_noises(&cube, HC_FLOAT32, NULL);
    cube_free(&cube);
}

static void masked_pixels_take_no_part(void **state) {
    (void)state;
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 23, true);
    cube_border(&cube, 0);
    check_all_noises(&cube, HC_INT16, "data ignore value = 0\n");
    for (int32_t line = 7; line < 40; line += 8) {
        cube_pixel(&cube, line, 17)[line % BANDS] = line % 2 == 0 ? NAN : INFINITY;
        cube.valid[line * SAMPLES + 17] = 0;
    }
    check_all_noises(&cube, HC_FLOAT32, "data ignore value = 0\n");
    cube_free(&cube);
}

static void noise_window_is_a_rectangle(void **state) {
    (void)state;
    static const int32_t window[4] = {5, 11, 20, 17};
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 24, true);
    cube_border(&cube, 0);
    cube_write(&cube, "scene", HC_UINT16, "bsq", "data ignore value = 0\n");
    for (int kind = 0; kind < 4; kind++) {
        Expected e = expect(&cube, (NoiseKind)kind, window);
        check_runs(NULL,
                   "read scene.img ! mnf --noise %s --noise-window 5,11,20,17 --save-model model.json ! "
                   "write out.img",
                   noise_words[kind]);
        check_fit(&cube, &e, "model.json", "out");
    }
    check_run_fails(NULL, HC_E_USAGE, "leaves the scene",
                    "read scene.img ! mnf --noise-window 30,0,20,5 ! write bad.img");
    check_run_fails(NULL, HC_E_USAGE, "whole pixels",
                    "read scene.img ! mnf --noise-window 3,0,20 ! write bad.img");
    check_run_fails(NULL, HC_E_NUMERIC, "pixels",
                    "read scene.img ! mnf --noise-window 9,9,4,4 ! write bad.img");
    assert_false(file_exists("bad.img"));
    cube_free(&cube);
}

static void noise_comes_from_files(void **state) {
    (void)state;
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 25, true);
    cube_write(&cube, "scene", HC_UINT16, "bsq", NULL);
    check_runs(NULL, "read scene.img ! mnf --noise shift ! write direct.img");
    check_runs(NULL, "read scene.img ! cov noise.json --noise shift");
    check_runs(NULL, "read scene.img ! mnf --noise noise.json ! write by_file.img");
    check_same_files("direct.img", "by_file.img");
    check_runs(NULL, "read scene.img ! cov scene.json");
    check_run_fails(NULL, HC_E_INPUT, "not of its noise",
                    "read scene.img ! mnf --noise scene.json ! write bad.img");
    check_run_fails(NULL, HC_E_USAGE, "did you mean mean3x3",
                    "read scene.img ! mnf --noise men3x3 ! write bad.img");
    assert_false(file_exists("bad.img"));
    cube_free(&cube);
}

/* Statistics know the numbers of their bands, and give those that come in. */
static void noise_from_a_file_is_that_of_the_bands(void **state) {
    (void)state;
    static const char *const nm = "wavelength units = nm\nwavelength = {400, 410, 420, 430, 440, 450}\n";
    static const char *const moved = "wavelength units = nm\nwavelength = {401, 411, 421, 431, 441, 451}\n";
    static const char *const between = "wavelength units = nm\nwavelength = {410, 420, 435, 440, 450, 460}\n";
    static const char *const others = "wavelength units = nm\nwavelength = {500, 510, 520, 530, 540, 550}\n";
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 25, true);
    for (int with = 0; with < 2; with++) {
        HcText notes = {0};
        RunHow how = {.notes = &notes};
        cube_write(&cube, "scene", HC_UINT16, "bsq", with == 1 ? nm : NULL);
        check_runs(NULL, "read scene.img ! cov noise.json --noise shift");
        static const char *const parts[] = {"1-5", "2,4,6", "6,1-3"}; /* also in another order */
        for (int p = 0; p < 3; p++) {
            check_runs(NULL, "read scene.img ! bands %s ! mnf --noise shift ! write direct.img", parts[p]);
            check_runs(&how, "read scene.img ! bands %s ! mnf --noise noise.json ! write by_file.img",
                       parts[p]);
            check_same_files("direct.img", "by_file.img");
        }
        check_says(notes.data, "mnf: noise.json ... 6 bands the 4 that come in");
        hc_text_clear(&notes);
        check_runs(NULL, "read scene.img ! bands 6,5,4,3,2,1 ! mnf --noise shift ! write direct.img");
        check_runs(NULL, "read scene.img ! bands 6,5,4,3,2,1 ! mnf --noise noise.json ! write by_file.img");
        check_same_files("direct.img", "by_file.img");
        check_runs(NULL, "read scene.img ! bands 2-5 ! cov four.json --noise shift");
        check_run_fails(NULL, HC_E_INPUT, "four.json: made for 4 bands ... 6, and band 1",
                        "read scene.img ! mnf --noise four.json ! write bad.img");
        check_run_fails(NULL, HC_E_INPUT, "four.json: made for 4 bands ... 3, and band 6",
                        "read scene.img ! bands 4-6 ! mnf --noise four.json ! write bad.img");
    }
    /* Another scene of the sensor, whose file lacks the first band: numbers are others, wavelengths tell. */
    check_runs(NULL, "read scene.img ! bands 2-6 ! write part.img --type uint16");
    check_runs(NULL, "read part.img ! bands 2-4 ! mnf --noise noise.json ! write by_file.img");
    check_runs(NULL, "read part.img ! bands 2-4 ! mnf --noise shift ! write direct.img");
    check_same_files("direct.img", "by_file.img");
    cube_write(&cube, "scene", HC_UINT16, "bsq", moved);
    check_runs(NULL, "read scene.img ! bands 3-5 ! mnf --noise noise.json ! write by_file.img");
    check_same_files("direct.img", "by_file.img");
    cube_write(&cube, "scene", HC_UINT16, "bsq", others);
    check_run_fails(NULL, HC_E_INPUT, "band 2 (510.00 nm) is none",
                    "read scene.img ! bands 2-4 ! mnf --noise noise.json ! write bad.img");
    check_run_fails(NULL, HC_E_INPUT, "noise.json: band 1 was at 400.00 nm ... at 500.00 nm",
                    "read scene.img ! mnf --noise noise.json ! write bad.img");
    /* Where wavelengths tell, the band that is named is one that has no wavelength in the file. */
    cube_write(&cube, "scene", HC_UINT16, "bsq", between);
    check_run_fails(NULL, HC_E_INPUT, "has 3, and band 3 (435.00 nm) is none",
                    "read scene.img ! bands 1-3 ! mnf --noise noise.json ! write bad.img");
    /* One of both has no wavelengths: numbers tell. */
    check_runs(NULL, "read scene.img ! bands 2-5 ! cov four.json --noise shift");
    cube_write(&cube, "scene", HC_UINT16, "bsq", NULL);
    check_run_fails(NULL, HC_E_INPUT, "made for 4 bands ... 6, and band 1 is none",
                    "read scene.img ! mnf --noise four.json ! write bad.img");
    check_runs(NULL, "read scene.img ! bands 2-5 ! cov four.json --noise shift");
    cube_write(&cube, "scene", HC_UINT16, "bsq", nm);
    check_run_fails(NULL, HC_E_INPUT, "made for 4 bands ... 6, and band 1 is none",
                    "read scene.img ! mnf --noise four.json ! write bad.img");
    assert_false(file_exists("bad.img"));
    cube_free(&cube);
}

/* Denoising drops components: which ones has to be said. */
static void denoise_needs_a_choice(void **state) {
    (void)state;
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 27, true);
    cube_write(&cube, "scene", HC_UINT16, "bsq", NULL);
    check_runs(NULL, "read scene.img ! mnf --fit-only --save-model model.json");
    check_run_fails(NULL, HC_E_USAGE, "mnf: --denoise needs --components, --min-eigenvalue or --keep-all",
                    "read scene.img ! mnf --denoise ! write bad.img");
    check_run_fails(NULL, HC_E_USAGE, "mnf: --denoise needs --components",
                    "read scene.img ! mnf --denoise --model model.json ! write bad.img");
    check_run_fails(NULL, HC_E_USAGE, "pca: --denoise needs --components",
                    "read scene.img ! pca --denoise ! write bad.img");
    assert_false(file_exists("bad.img"));
    check_runs(NULL, "read scene.img ! mnf --denoise --keep-all ! write all.img");
    cube_free(&cube);
}

static void noise_comes_from_a_dark_image(void **state) {
    (void)state;
    uint64_t seed = 5;
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 26, true);
    Cube dark = cube_new(30, 25, BANDS);
    for (size_t i = 0; i < cube_pixels(&dark); i++) {
        double shared = random_normal(&seed);
        for (size_t b = 0; b < BANDS; b++) {
            dark.value[i * BANDS + b] = nearbyint(200 + 3 * shared + (4 + (double)b) * random_normal(&seed));
        }
    }
    cube_write(&cube, "scene", HC_UINT16, "bsq", NULL);
    cube_write(&dark, "dark", HC_INT16, "bip", NULL);
    Expected e = expect(&cube, NOISE_MEAN3X3, NULL);
    double level[BANDS];
    e.noise_pixels = reference_covariance(&dark, level, e.noise);
    reference_mnf(BANDS, e.covariance, e.noise, e.values, e.forward);
    check_runs(NULL, "read scene.img ! mnf --dark dark.img --save-model model.json ! write out.img");
    check_fit(&cube, &e, "model.json", "out");

    /* The same bands of both files, when the scene has been thinned out. */
    check_runs(NULL, "read scene.img ! bands 2,4,5 ! mnf --dark dark.img ! write three.img");
    Cube few = cube_new(LINES, SAMPLES, 3);
    Cube few_dark = cube_new(30, 25, 3);
    static const size_t chosen[] = {1, 3, 4};
    for (size_t k = 0; k < 3; k++) {
        for (size_t i = 0; i < cube_pixels(&cube); i++) {
            few.value[i * 3 + k] = cube.value[i * BANDS + chosen[k]];
        }
        for (size_t i = 0; i < cube_pixels(&dark); i++) {
            few_dark.value[i * 3 + k] = dark.value[i * BANDS + chosen[k]];
        }
    }
    cube_write(&few, "few", HC_UINT16, "bsq", NULL);
    cube_write(&few_dark, "few_dark", HC_INT16, "bsq", NULL);
    check_runs(NULL, "read few.img ! mnf --dark few_dark.img ! write plain.img");
    check_same_files("three.img", "plain.img");
    check_run_fails(NULL, HC_E_INPUT, "none.img", "read scene.img ! mnf --dark none.img ! write bad.img");
    /* Lines and samples may differ, as above; bands that are needed may not lack, and pixels must suffice. */
    check_run_fails(NULL, HC_E_INPUT, "few_dark.img: band 4 is needed ... has 3",
                    "read scene.img ! mnf --dark few_dark.img ! write bad.img");
    Cube small_dark = cube_new(2, 3, BANDS);
    cube_write(&small_dark, "small_dark", HC_INT16, "bip", NULL);
    cube_free(&small_dark);
    check_run_fails(NULL, HC_E_NUMERIC, "6 pixels show noise (dark image) ... 6 bands",
                    "read scene.img ! mnf --dark small_dark.img ! write bad.img");
    assert_false(file_exists("bad.img"));
    cube_free(&few);
    cube_free(&few_dark);
    cube_free(&dark);
    cube_free(&cube);
}

static void inverse_returns_the_input(void **state) {
    (void)state;
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 27, true);
    cube_border(&cube, 0);
    check_inverse("mnf", &cube);
    cube_free(&cube);
}

static void denoise_is_forward_drop_inverse(void **state) {
    (void)state;
    double loading[BANDS * BANDS] = {0}; /* forward' noise forward = 1: the inverse is noise * forward */
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 28, true);
    Expected e = expect(&cube, NOISE_MEAN3X3, NULL);
    for (size_t b = 0; b < BANDS; b++) {
        for (size_t k = 0; k < BANDS; k++) {
            for (size_t c = 0; c < BANDS; c++) {
                loading[b * BANDS + k] += e.noise[b * BANDS + c] * e.forward[c * BANDS + k];
            }
        }
    }
    check_denoise("mnf", &cube, e.mean, e.forward, loading, 2);
    cube_free(&cube);
}

static void components_are_chosen(void **state) {
    (void)state;
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 29, true);
    Expected e = expect(&cube, NOISE_MEAN3X3, NULL);
    cube_write(&cube, "scene", HC_UINT16, "bsq", NULL);
    check_runs(NULL, "read scene.img ! mnf --min-eigenvalue %.17g ! write out.img", e.values[2] * (1 - 1e-6));
    check_runs(NULL, "read scene.img ! mnf --components 3 ! write three.img");
    check_same_files("out.img", "three.img");
    check_runs(NULL, "read scene.img ! mnf --min-eigenvalue %.17g ! write two.img", e.values[2] * (1 + 1e-6));
    Cube two = cube_read_floats("two", LINES, SAMPLES, 2);
    cube_free(&two);
    check_runs(NULL, "read scene.img ! mnf --min-eigenvalue 1e30 ! write one.img");
    Cube one = cube_read_floats("one", LINES, SAMPLES, 1);
    cube_free(&one);
    cube_free(&cube);
}

static void saved_model_gives_the_same_bytes(void **state) {
    (void)state;
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 30, true);
    cube_border(&cube, 0);
    check_saved_model("mnf", "pca", &cube);
    cube_free(&cube);
}

/* Bands 3 (constant) and 5 (band 2 again) of six take no part; the rest is the fit without them. */
static void singular_bands_are_left_out_or_stop(void **state) {
    (void)state;
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 31, true);
    Cube few = cube_new(LINES, SAMPLES, 4);
    static const size_t kept[] = {0, 1, 3, 5};
    for (size_t i = 0; i < cube_pixels(&cube); i++) {
        cube.value[i * BANDS + 2] = 700;
        cube.value[i * BANDS + 4] = cube.value[i * BANDS + 1];
        for (size_t k = 0; k < 4; k++) {
            few.value[i * 4 + k] = cube.value[i * BANDS + kept[k]];
        }
    }
    cube_write(&cube, "scene", HC_UINT16, "bsq", NULL);
    Expected e = expect(&few, NOISE_MEAN3X3, NULL);
    HcText notes = {0};
    RunHow how = {.notes = &notes};
    check_runs(
        &how,
        "read scene.img ! mnf --save-model model.json ! write out.img ! mnf --inverse ! write back.img");
    check_fit(&few, &e, "model.json", "out");
    assert_non_null(notes.data);
    assert_non_null(strstr(notes.data, "constant, takes no part: 1 band (3)"));
    assert_non_null(strstr(notes.data, "takes no part: 1 band (5)"));
    hc_text_clear(&notes);
    Cube back = cube_read_floats("back", LINES, SAMPLES, BANDS);
    for (size_t i = 0; i < cube_pixels(&cube) * BANDS; i++) {
        check_near(back.value[i], cube.value[i], 1e-6 * 30000);
    }
    cube_free(&back);
    check_run_fails(NULL, HC_E_NUMERIC, "band 3 is constant",
                    "read scene.img ! mnf --singular stop ! write bad.img");
    check_run_fails(NULL, HC_E_NUMERIC, "band 4 is with noise that repeats",
                    "read scene.img ! bands --drop 3 ! mnf --singular stop ! write bad.img");

    /* A ramp has signal but no noise in its differences to a mean. */
    for (int32_t line = 0; line < LINES; line++) {
        for (int32_t sample = 0; sample < SAMPLES; sample++) {
            cube_pixel(&cube, line, sample)[2] = 100 + 3 * line + 2 * sample;
        }
    }
    cube_write(&cube, "ramp", HC_UINT16, "bsq", NULL);
    check_run_fails(NULL, HC_E_NUMERIC, "band 3 is without any noise",
                    "read ramp.img ! mnf --singular stop ! write bad.img");
    check_runs(NULL, "read ramp.img ! mnf --save-model model.json ! write out.img");
    check_fit(&few, &e, "model.json", "out");
    assert_false(file_exists("bad.img"));
    cube_free(&few);
    cube_free(&cube);
}

static void scenes_without_pixels_stop(void **state) {
    (void)state;
    Cube cube = cube_new(20, 20, BANDS);
    cube_write(&cube, "empty", HC_UINT16, "bsq", "data ignore value = 0\n");
    cube_write(&cube, "flat", HC_UINT16, "bsq", NULL);
    check_run_fails(NULL, HC_E_NUMERIC, "pixels", "read empty.img ! mnf ! write bad.img");
    check_run_fails(NULL, HC_E_NUMERIC, "no noise fractions", "read flat.img ! mnf ! write bad.img");
    for (size_t i = 0; i < cube_pixels(&cube) * BANDS; i++) {
        cube.value[i] = NAN;
    }
    cube_write(&cube, "nan", HC_FLOAT32, "bsq", NULL);
    check_run_fails(NULL, HC_E_NUMERIC, "pixels", "read nan.img ! mnf ! write bad.img");
    cube_free(&cube);

    Cube one = cube_new(1, 1, BANDS);
    cube_write(&one, "one", HC_UINT16, "bsq", NULL);
    check_run_fails(NULL, HC_E_NUMERIC, "pixel", "read one.img ! mnf ! write bad.img");
    cube_free(&one);

    /* A chequered mask leaves valid pixels, but none with a whole neighbourhood. */
    Cube board = cube_smooth(20, 20, BANDS, 32, true);
    for (int32_t line = 0; line < 20; line++) {
        for (int32_t sample = line % 2; sample < 20; sample += 2) {
            cube_pixel(&board, line, sample)[0] = 0;
        }
    }
    cube_write(&board, "board", HC_UINT16, "bsq", "data ignore value = 0\n");
    check_run_fails(NULL, HC_E_NUMERIC, "pixels", "read board.img ! mnf --noise mean3x3 ! write bad.img");
    check_run_fails(NULL, HC_E_NUMERIC, "pixels", "read board.img ! mnf --noise shift ! write bad.img");
    check_runs(NULL, "read board.img ! mnf --noise shift-diagonal ! write fine.img");
    assert_false(file_exists("bad.img"));
    cube_free(&board);
}

/* ---- the fit alone, of covariances that are made up ---- */

/* matrix = H matrix H for the reflection H along a random vector. */
static void reflect(int n, long double *matrix, uint64_t *seed) {
    long double v[64];
    long double length = 0;
    for (int i = 0; i < n; i++) {
        v[i] = random_normal(seed);
        length += v[i] * v[i];
    }
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < n; i++) {
            int along = side == 0 ? n : 1; /* a column, then a row */
            long double *line = matrix + i * (side == 0 ? 1 : n);
            long double inner = 0;
            for (int k = 0; k < n; k++) {
                inner += v[k] * line[k * along];
            }
            for (int k = 0; k < n; k++) {
                line[k * along] -= 2 * inner / length * v[k];
            }
        }
    }
}

/* Noise whose eigenvalues run from 1 down to 1 / condition, in bands of very different units, and a scene
 * with three signals beside it. */
static void make_up(int n, double condition, double *covariance, double *noise, uint64_t *seed) {
    long double whole[64 * 64] = {0};
    double signal[3][64];
    for (int i = 0; i < n; i++) {
        whole[i * n + i] = powl(condition, n > 1 ? -(long double)i / (n - 1) : 0);
        for (int k = 0; k < 3; k++) {
            signal[k][i] = (3 - k) * random_normal(seed);
        }
    }
    for (int k = 0; k < 4; k++) {
        reflect(n, whole, seed);
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++) {
            double unit = pow(10, i % 5) * pow(10, j % 5);
            double both = (double)whole[i * n + j];
            noise[i * n + j] = noise[j * n + i] = unit * both;
            for (int k = 0; k < 3; k++) {
                both += signal[k][i] * signal[k][j];
            }
            covariance[i * n + j] = covariance[j * n + i] = unit * both;
        }
    }
}

static HcTransform fit_by(HcCompute *compute, int n, const double *covariance, const double *noise) {
    HcTransform fit = {0};
    HcError err = {0};
    double mean[64] = {0};
    fit.scene.bands = n;
    check_ok(hc_transform_fit_mnf(&fit, compute, mean, covariance, noise, &err), err);
    return fit;
}

/* Of one thread. Four find the same bits, however they come to the rows that wait for each other. */
static HcTransform fit_alone(int n, const double *covariance, const double *noise) {
    HcError err = {0};
    HcCompute *compute = NULL;
    HcComputeConfig config = {.threads = 1};
    check_ok(hc_compute_open(hc_cpu_ops(), &config, &compute, &err), err);
    HcTransform fit = fit_by(compute, n, covariance, noise);
    hc_compute_close(compute);
    config.threads = 4;
    check_ok(hc_compute_open(hc_cpu_ops(), &config, &compute, &err), err);
    for (int again = 0; again < 2 * n; again++) {
        HcTransform shared = fit_by(compute, n, covariance, noise);
        size_t count = (size_t)fit.components * (size_t)n;
        assert_int_equal(fit.components, shared.components);
        assert_memory_equal(fit.eigenvalues, shared.eigenvalues, (size_t)fit.components * sizeof(double));
        assert_memory_equal(fit.forward, shared.forward, count * sizeof(double));
        assert_memory_equal(fit.inverse, shared.inverse, count * sizeof(double));
        hc_transform_clear(&shared);
    }
    hc_compute_close(compute);
    return fit;
}

/* forward' matrix forward, by its definition in long double. */
static long double form(const HcTransform *fit, const double *matrix, int k, int l) {
    int n = fit->bands;
    int m = fit->components;
    long double sum = 0;
    for (int i = 0; i < n; i++) {
        long double inner = 0;
        for (int j = 0; j < n; j++) {
            inner += (long double)matrix[i * n + j] * fit->forward[j * m + l];
        }
        sum += inner * fit->forward[i * m + k];
    }
    return sum;
}

/* What makes a transform the noise fractions, within what the condition of the noise leaves of float64. */
static void check_definition(const HcTransform *fit, const double *covariance, const double *noise,
                             double condition) {
    int m = fit->components;
    double rounding = 2 * (fit->bands + 8) * 0x1p-52;
    for (int k = 0; k < m; k++) {
        assert_true(k == 0 || fit->eigenvalues[k - 1] >= fit->eigenvalues[k]);
        for (int l = 0; l < m; l++) {
            long double product = 0;
            for (int b = 0; b < fit->bands; b++) {
                if (fit->left_out[b] == HC_BAND_USED) {
                    product += (long double)fit->inverse[k * fit->bands + b] * fit->forward[b * m + l];
                }
            }
            check_near((double)product, k == l, rounding * sqrt(condition));
            check_near((double)form(fit, noise, k, l), k == l, rounding * condition);
            check_near((double)form(fit, covariance, k, l), k == l ? fit->eigenvalues[k] : 0,
                       rounding * condition * fit->eigenvalues[0]);
        }
    }
}

static void fits_hold_by_their_definition(void **state) {
    (void)state;
    static const int sizes[] = {1, 2, 7, 8, 9, 16, 31, 64};
    static double covariance[64 * 64];
    static double noise[64 * 64];
    uint64_t seed = 77;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (double condition = 1; condition < 1e11; condition *= 1e5) {
            int n = sizes[i];
            make_up(n, condition, covariance, noise, &seed);
            HcTransform fit = fit_alone(n, covariance, noise);
            assert_int_equal(fit.components, n);
            check_definition(&fit, covariance, noise, condition);
            double values[64];
            double forward[64 * 64];
            reference_mnf(n, covariance, noise, values, forward);
            for (int k = 0; k < n; k++) {
                check_near(fit.eigenvalues[k], values[k], 4 * (n + 8) * 0x1p-52 * condition * values[0]);
            }
            hc_transform_clear(&fit);
        }
    }
}

/* Bands that take no part, at the edges of the tiles that a fit works in and within them. */
static void fits_leave_bands_out_anywhere(void **state) {
    (void)state;
    enum { N = 43 };
    static const int constant[] = {0, 15, 24};
    static const int noiseless[] = {8, 17, 42};
    static const int repeated[] = {7, 16, 21, 23, 30, 36}; /* each repeats the band 5 before it, doubled */
    static double covariance[N * N];
    static double noise[N * N];
    uint64_t seed = 78;
    make_up(N, 1e4, covariance, noise, &seed);
    for (size_t i = 0; i < 6; i++) {
        for (int c = 0; c < N; c++) {
            for (int half = 0; half < 2; half++) {
                double *matrix = half == 0 ? covariance : noise;
                int b = repeated[i];
                matrix[b * N + c] = 2 * matrix[(b - 5) * N + c];
            }
        }
        for (int c = 0; c < N; c++) {
            int b = repeated[i];
            covariance[c * N + b] = 2 * covariance[c * N + b - 5];
            noise[c * N + b] = 2 * noise[c * N + b - 5];
        }
    }
    for (size_t i = 0; i < 3; i++) {
        for (int c = 0; c < N; c++) {
            noise[constant[i] * N + c] = noise[c * N + constant[i]] = 0;
            noise[noiseless[i] * N + c] = noise[c * N + noiseless[i]] = 0;
            covariance[constant[i] * N + c] = covariance[c * N + constant[i]] = 0;
        }
    }
    HcTransform fit = fit_alone(N, covariance, noise);
    assert_int_equal(fit.components, N - 12);
    check_definition(&fit, covariance, noise, 1e6);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(fit.left_out[constant[i]], HC_BAND_CONSTANT);
        assert_int_equal(fit.left_out[noiseless[i]], HC_BAND_NOISELESS);
    }
    for (size_t i = 0; i < 6; i++) {
        int b = repeated[i];
        assert_int_equal(fit.left_out[b], HC_BAND_REPEATED);
        for (int k = 0; k < fit.components; k++) {
            const double *row = fit.inverse + k * N;
            check_same(fit.forward[b * fit.components + k], 0.0);
            check_near(row[b], 2 * row[b - 5], 1e-9 * sqrt(noise[b * N + b]));
        }
    }
    hc_transform_clear(&fit);
}

/* ---- the sample scene, whose truth is known ---- */

/* Whether all nine pixels around one are there. */
static bool has_neighbours(const Cube *cube, size_t i) {
    size_t line = i / SIDE;
    size_t sample = i % SIDE;
    bool whole = line > 0 && sample > 0 && line < SIDE - 1 && sample < SIDE - 1;
    for (size_t k = 0; k < 9 && whole; k++) {
        whole = cube->valid[(line - 1 + k / 3) * SIDE + sample - 1 + k % 3];
    }
    return whole;
}

/* Noise-only eigenvalues are 1 but for sampling. How far from 1 may they lie?
 *
 * Let the noise be whitened by its true covariance, so that both sample covariances estimate the unit matrix
 * in the p = bands - signals directions without signal: S1 from n1 pixels x, S2 from n2 differences d = (9 x
 * - sum of nine), scaled by 72. The differences overlap. Their autocorrelation r(h) = (81 delta(h) - 18
 * box(h) + tri(h)) / 72 with box = 1 for |h| <= 1 and tri = (3-|h1|)(3-|h2|) is 1, -12/72 (4 times), -14/72
 * (4), 3/72 (4), 2/72 (8), 1/72 (4), and an entry of S2 has the variance of one made of n2 / sum r(h)^2
 * independent pixels: a = sum r^2 = 1 + (4*144 + 4*196 + 4*9 + 8*4 + 4*1) / 5184 = 1.2762.
 *
 * (1) Were S1 and S2 independent, the eigenvalues of S1 in terms of S2 would lie between the edges of the
 * spectrum of an F matrix (Wachter 1980; Bai and Silverstein 2010, section 4.4), with y1 = p/n1 and y2 = a
 * p/n2:
 *     ((1 -+ sqrt(y1 + y2 - y1 y2)) / (1 - y2))^2.
 *
 * (2) They are made of the same noise. A pixel x and the differences around it have the covariances 8 (once)
 * and -1 (8 times), so an entry of S1 and the same one of S2 have the covariance (64 + 8) / 72 / n1 = 1 / n1.
 * To first order the eigenvalues are 1 + those of S1 - S2, whose entries have the variance v = 1/n1 + a/n2 -
 * 2/n1 = a/n2 - 1/n1, a quarter of what (1) takes, and those eigenvalues fill Wigner's semicircle of radius 2
 * sqrt(p v).
 *
 * The noise grows with the signal, so pixels count unequally: entries of a sum of pixels with variances w
 * have the variance of equal ones times k = E[w^2] / E[w]^2; the largest k of all bands is taken. And pixels
 * at the border are in S1 but not in S2: where their mean variance differs in some band, eigenvalues shift by
 * at most that ratio. */
static void noise_only_eigenvalues_are_one(void **state) {
    (void)state;
    char path[1024];
    Truth truth = truth_load();
    double n1 = 0;
    double n2 = 0;
    double inequality = 0;
    double least_shift = 1;
    double most_shift = 1;
    for (size_t b = 0; b < GOOD; b++) {
        double sum = 0;
        double squares = 0;
        double inner = 0;
        n1 = n2 = 0;
        for (size_t i = 0; i < SIDE * SIDE; i++) {
            double w = truth.variance[i * GOOD + b];
            if (truth.scene.valid[i]) {
                n1++;
                sum += w;
                squares += w * w;
            }
            if (has_neighbours(&truth.scene, i)) {
                n2++;
                for (size_t k = 0; k < 9; k++) {
                    size_t near = (i / SIDE - 1 + k / 3) * SIDE + i % SIDE - 1 + k % 3;
                    inner += truth.variance[near * GOOD + b] * (near == i ? 64 : 1) / 72;
                }
            }
        }
        double unequal = squares * n1 / (sum * sum);
        double shift = (sum / n1) / (inner / n2);
        inequality = unequal > inequality ? unequal : inequality;
        least_shift = shift < least_shift ? shift : least_shift;
        most_shift = shift > most_shift ? shift : most_shift;
    }
    double overlap = 1 + 1432.0 / 5184;
    double p = GOOD - SIGNALS;
    double y1 = inequality * p / n1;
    double y2 = inequality * overlap * p / n2;
    double root = sqrt(y1 + y2 - y1 * y2);
    double low = pow((1 - root) / (1 - y2), 2) * least_shift;
    double high = pow((1 + root) / (1 - y2), 2) * most_shift;
    double radius = 2 * sqrt(p * inequality * (overlap / n2 - 1 / n1));

    check_runs(NULL, "read %s ! mnf --noise mean3x3 --save-model model.json ! write out.img",
               sample_path(path, sizeof path, "scene.hdr"));
    HcTransform model = model_load("model.json", "mnf");
    assert_int_equal(model.components, GOOD);
    assert_int_equal(model.pixels, (int64_t)n1);
    assert_int_equal(model.noise_pixels, (int64_t)n2);
    double largest = model.eigenvalues[SIGNALS];
    double smallest = model.eigenvalues[GOOD - 1];
    double mean = 0;
    for (int k = SIGNALS; k < GOOD; k++) {
        mean += model.eigenvalues[k] / p;
    }
    printf("noise eigenvalues %.4f to %.4f, mean %.4f; F edges %.4f to %.4f; semicircle 1 -+ %.4f; shift "
           "%.4f to %.4f; "
           "weakest signal %.4f\n",
           smallest, largest, mean, low, high, radius, least_shift, most_shift,
           model.eigenvalues[SIGNALS - 1]);
    assert_true(model.eigenvalues[SIGNALS - 1] > high);
    assert_true(smallest >= low && largest <= high);
    /* The second order is of the size of the squared radius, and the outermost eigenvalue of a finite matrix
     * strays by about p^(-2/3) of the radius. */
    double slack = radius * radius + radius * pow(p, -2.0 / 3);
    assert_true(largest <= most_shift + radius + slack);
    assert_true(smallest >= least_shift - radius - slack);
    /* They do spread that far: the bound is no wide net. k overestimates what the weighted mean of all bands
     * does. */
    assert_true(largest - smallest >= 0.6 * 2 * radius);
    /* p eigenvalues of independent sampling errors: the mean is 1 within the shift and a few v^(1/2). */
    check_near(mean, 1, 0.01);
    hc_transform_clear(&model);
    truth_free(&truth);
}

/* Part of the noise covariance's sampling error that edges in the scene cause, see below. */
static double leaked_error(const Truth *truth) {
    double all = 0;
    double n2 = 0;
    for (size_t i = 0; i < SIDE * SIDE; i++) {
        n2 += has_neighbours(&truth->scene, i);
    }
    double *spread = calloc(SIDE * SIDE, sizeof *spread);
    assert_non_null(spread);
    for (size_t b = 0; b < GOOD; b++) {
        double variance = 0;
        double pixels = 0;
        memset(spread, 0, SIDE * SIDE * sizeof *spread);
        for (size_t i = 0; i < SIDE * SIDE; i++) {
            variance += truth->scene.valid[i] ? truth->variance[i * GOOD + b] : 0;
            pixels += truth->scene.valid[i];
            if (!has_neighbours(&truth->scene, i)) {
                continue;
            }
            double difference = 9 * truth->signal[i * GOOD + b];
            for (size_t k = 0; k < 9; k++) {
                difference -=
                    truth->signal[((i / SIDE - 1 + k / 3) * SIDE + i % SIDE - 1 + k % 3) * GOOD + b];
            }
            spread[i] += 9 * difference;
            for (size_t k = 0; k < 9; k++) {
                spread[(i / SIDE - 1 + k / 3) * SIDE + i % SIDE - 1 + k % 3] -= difference;
            }
        }
        for (size_t i = 0; i < SIDE * SIDE; i++) {
            all += spread[i] * spread[i] / (72 * n2) / (72 * n2) / (variance / pixels);
        }
    }
    free(spread);
    return all;
}

/* Whitened noise has the same energy in every direction, and signal lies in 5 (6 materials, shares that add
 * to 1). Keeping those drops (bands - 5) of its `bands` parts and no signal: the error falls by bands / 5
 * = 11.8, provided that the noise covariance is known. Directions that are a little off lose about p/n of a
 * component each, in units of the noise (below 1 percent); the mean spectrum adds bands/n, 0.7 percent. Noise
 * covariances are measured here on a dark image that holds nothing but noise like the scene's.
 *
 * Differences of neighbours hold the edges of the scene too. Those lie in the 5 directions of the signal and
 * leave them as they are, but their chance correlations with the noise in the other p = bands - 5 directions
 * mix that noise into the signal. With nu the covariance of differences of signal and of unit noise, a signal
 * direction of eigenvalue l gets the noise of p others times var(nu) (l / (l - 1))^2 (first order, from the
 * block form of the generalised problem). nu is a sum over pixels of noise times the difference filter
 * applied twice to the signal, divided by 72 n2, and its variance over all signal directions is what
 * leaked_error() adds up. (The covariance of signal and noise themselves is taken off in that product; it is
 * sqrt(l) smaller and shares its noise, so the truth is a little less.) That is the larger part on this
 * scene, whose signal is some 100 times its noise and full of edges. */
static void denoising_gains_what_theory_gives(void **state) {
    (void)state;
    char path[1024];
    Truth truth = truth_load();
    truth_write_dark(&truth, "dark");
    sample_path(path, sizeof path, "scene.hdr");
    check_runs(NULL, "read %s ! mnf --denoise --components 5 --dark dark.img ! write known.img", path);
    check_runs(NULL,
               "read %s ! mnf --noise mean3x3 --denoise --components 5 --save-model model.json ! write "
               "measured.img",
               path);
    check_runs(NULL, "read %s ! mnf --denoise --components 5 ! write usual.img", path);
    Cube known = cube_read_floats("known", SIDE, SIDE, GOOD);
    Cube measured = cube_read_floats("measured", SIDE, SIDE, GOOD);
    Cube usual = cube_read_floats("usual", SIDE, SIDE, GOOD);
    HcTransform model = model_load("model.json", "mnf");
    double before = truth_error(&truth, truth.scene.value);
    double after = truth_error(&truth, known.value);
    double after_measured = truth_error(&truth, measured.value);
    double weakest = model.eigenvalues[SIGNALS - 1];
    double strongest = model.eigenvalues[0];
    double leaked = (GOOD - SIGNALS) * leaked_error(&truth);
    double least = (SIGNALS + leaked * pow(strongest / (strongest - 1), 2)) / GOOD;
    double most = (SIGNALS + leaked * pow(weakest / (weakest - 1), 2)) / GOOD;
    printf("error %.4f before; noise known: %.4f, %.2f times less (theory %.2f); measured: %.4f (theory %.4f "
           "to %.4f)\n",
           before, after, before / after, (double)GOOD / SIGNALS, after_measured, least, most);
    check_near(before, 1, 0.02);
    check_near(before / after, (double)GOOD / SIGNALS, 0.05 * GOOD / SIGNALS);
    /* A sum over some 270 chance correlations of which few directions carry most; first order. */
    assert_true(after_measured >= 0.7 * least && after_measured <= 1.3 * most);
    /* By default edges are no noise: the regression is within some percent of the dark image. */
    double after_usual = truth_error(&truth, usual.value);
    printf("by default: %.4f\n", after_usual);
    assert_true(after_usual < 1.1 * after);
    hc_transform_clear(&model);
    cube_free(&usual);
    cube_free(&measured);
    cube_free(&known);
    truth_free(&truth);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(integers_agree_with_reference),
        IN_FOLDER(floats_agree_with_reference),
        IN_FOLDER(masked_pixels_take_no_part),
        IN_FOLDER(noise_window_is_a_rectangle),
        IN_FOLDER(noise_comes_from_files),
        IN_FOLDER(noise_comes_from_a_dark_image),
        IN_FOLDER(inverse_returns_the_input),
        IN_FOLDER(denoise_is_forward_drop_inverse),
        IN_FOLDER(denoise_needs_a_choice),
        IN_FOLDER(noise_from_a_file_is_that_of_the_bands),
        IN_FOLDER(components_are_chosen),
        IN_FOLDER(saved_model_gives_the_same_bytes),
        IN_FOLDER(singular_bands_are_left_out_or_stop),
        IN_FOLDER(scenes_without_pixels_stop),
        cmocka_unit_test(fits_hold_by_their_definition),
        cmocka_unit_test(fits_leave_bands_out_anywhere),
        IN_FOLDER(noise_only_eigenvalues_are_one),
        IN_FOLDER(denoising_gains_what_theory_gives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
