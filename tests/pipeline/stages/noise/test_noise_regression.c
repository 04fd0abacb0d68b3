/* Noise by regression against least squares of each band, written down naively, and against known noise. */
#include "pipeline/statistics/noise/noise.h"
#include "tests/support/linear_runs.h"
#include "tests/support/reference.h"
#include "tests/support/strict_runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES = 40, SAMPLES = 31, BANDS = 6 };

static HcStatistics load(const char *path, int32_t bands) {
    HcStatistics statistics = {0};
    HcError err = {0};
    check_ok(hc_statistics_load(&statistics, path, &err), err);
    assert_int_equal(statistics.scene.bands, bands);
    return statistics;
}

/* x of the square system a x = b (both are overwritten), by elimination with pivots. */
static void solve(size_t n, double *a, double *b) {
    for (size_t k = 0; k < n; k++) {
        size_t pivot = k;
        for (size_t i = k + 1; i < n; i++) {
            pivot = fabs(a[i * n + k]) > fabs(a[pivot * n + k]) ? i : pivot;
        }
        for (size_t j = 0; j < n; j++) {
            double kept = a[k * n + j];
            a[k * n + j] = a[pivot * n + j];
            a[pivot * n + j] = kept;
        }
        double kept = b[k];
        b[k] = b[pivot];
        b[pivot] = kept;
        for (size_t i = 0; i < n; i++) {
            double factor = i == k ? 0 : a[i * n + k] / a[k * n + k];
            for (size_t j = k; j < n; j++) {
                a[i * n + j] -= factor * a[k * n + j];
            }
            b[i] -= factor * b[k];
        }
    }
    for (size_t k = 0; k < n; k++) {
        b[k] /= a[k * n + k];
    }
}

/* Residuals of band `target` [valid pixels], by the normal equations of an intercept and all other bands. */
static void residuals(const Cube *cube, const double *mean, size_t target, double *out) {
    size_t n = (size_t)cube->bands;
    double *a = calloc(n * n, sizeof *a);
    double *b = calloc(n, sizeof *b);
    double *x = calloc(n, sizeof *x);
    size_t at = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t p = 0; p < cube_pixels(cube); p++) {
            for (size_t k = 0; k < n; k++) {
                x[k] = k == target ? 1 : cube->value[p * n + k] - mean[k];
            }
            double y = cube->value[p * n + target] - mean[target];
            for (size_t i = 0; i < n && pass == 0 && cube->valid[p]; i++) {
                for (size_t j = 0; j < n; j++) {
                    a[i * n + j] += x[i] * x[j];
                }
                b[i] += x[i] * y;
            }
            for (size_t i = 0; i < n && pass == 1; i++) {
                y -= b[i] * x[i];
            }
            if (pass == 1 && cube->valid[p]) {
                out[at++] = y;
            }
        }
        if (pass == 0) {
            solve(n, a, b);
        }
    }
    free(a);
    free(b);
    free(x);
}

/* covariance[bands][bands] of the residuals; returns how many pixels there are. A band takes `share` degrees
 * of freedom. */
static int64_t reference_regression(const Cube *cube, double share, double *covariance) {
    size_t n = (size_t)cube->bands;
    double *mean = calloc(n, sizeof *mean);
    int64_t count = reference_covariance(cube, mean, covariance);
    double *rest = calloc(n * (size_t)count, sizeof *rest);
    for (size_t b = 0; b < n; b++) {
        residuals(cube, mean, b, rest + b * (size_t)count);
    }
    for (size_t b = 0; b < n; b++) {
        for (size_t c = 0; c < n; c++) {
            double sum = 0;
            for (int64_t i = 0; i < count; i++) {
                sum += rest[b * (size_t)count + (size_t)i] * rest[c * (size_t)count + (size_t)i];
            }
            covariance[b * n + c] = sum / ((double)count - share * (double)cube->bands);
        }
    }
    free(rest);
    free(mean);
    return count;
}

/* The differences of right or lower neighbours; a pixel without one is masked. */
static Cube differences_of(const Cube *cube, bool lower) {
    Cube out = cube_new(cube->lines, cube->samples, cube->bands);
    size_t n = (size_t)cube->bands;
    size_t samples = (size_t)cube->samples;
    for (size_t p = 0; p < cube_pixels(cube); p++) {
        bool last = lower ? p + samples >= cube_pixels(cube) : (p + 1) % samples == 0;
        size_t other = p + (lower ? samples : 1);
        out.valid[p] = !last && cube->valid[p] && cube->valid[other];
        for (size_t b = 0; b < n && out.valid[p]; b++) {
            out.value[p * n + b] = cube->value[p * n + b] - cube->value[other * n + b];
        }
    }
    return out;
}

static void check_matrix(const char *path, const double *expected, int64_t pixels, bool diagonal,
                         double tolerance) {
    HcStatistics found = load(path, BANDS);
    assert_int_equal(found.pixels, pixels);
    for (size_t b = 0; b < BANDS; b++) {
        for (size_t c = 0; c < BANDS; c++) {
            /* Normal equations in float64 lose the condition of the scene, below 1e5 here, twice. */
            double scale = sqrt(expected[b * BANDS + b] * expected[c * BANDS + c]);
            double wanted = diagonal && b != c ? 0 : expected[b * BANDS + c];
            check_near(found.covariance[b * BANDS + c], wanted, tolerance * scale);
        }
    }
    hc_statistics_clear(&found);
}

static void check_pairs(const Cube *cube, const char *word, double tolerance) {
    char named[64];
    double expected[BANDS * BANDS];
    Cube differences = differences_of(cube, strstr(word, "lower") != NULL);
    int64_t pixels = reference_regression(&differences, 1.5, expected);
    for (size_t i = 0; i < BANDS * BANDS; i++) {
        expected[i] /= 2; /* a difference has the noise of two pixels */
    }
    check_runs(NULL,
               "read scene.img ! cov pairs.json --overwrite --noise %s ! "
               "cov both.json --overwrite --noise %s --noise-matrix full",
               word, word);
    check_matrix("pairs.json", expected, pixels, true, tolerance);
    check_matrix("both.json", expected, pixels, false, tolerance);
    snprintf(named, sizeof named, "\"%s\"", word);
    assert_true(file_holds("pairs.json", named));
    snprintf(named, sizeof named, "\"%s, full\"", word);
    assert_true(file_holds("both.json", named));
    cube_free(&differences);
}

static void residuals_are_those_of_least_squares(void **state) {
    (void)state;
    static const HcType types[] = {HC_UINT16, HC_FLOAT32, HC_INT16};
    double expected[BANDS * BANDS];
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 90 + t, types[t] != HC_FLOAT32);
        bool border = types[t] == HC_INT16;
        if (border) {
            cube_border(&cube, 0);
        }
        cube_write(&cube, "scene", types[t], "bil", border ? "data ignore value = 0\n" : NULL);
        for (size_t i = 0; i < cube_pixels(&cube) * BANDS && types[t] == HC_FLOAT32; i++) {
            cube.value[i] = (float)cube.value[i];
        }
        int64_t pixels = reference_regression(&cube, 1, expected);
        check_runs(NULL, "read scene.img ! cov usual.json --noise regression ! "
                         "cov diagonal.json --noise regression --noise-matrix diagonal ! "
                         "cov full.json --noise regression --noise-matrix full");
        check_matrix("usual.json", expected, pixels, true, 1e-7);
        check_matrix("full.json", expected, pixels, false, 1e-7);
        check_same_files("usual.json", "diagonal.json");
        assert_true(file_holds("usual.json", "\"regression\""));
        assert_true(file_holds("full.json", "\"regression, full\""));
        check_pairs(&cube, "spatial-spectral", 1e-7);
        /* The host rounds differences of floats to float32. */
        check_pairs(&cube, "spatial-spectral-lower", types[t] == HC_FLOAT32 ? 1e-5 : 1e-7);
        cube_free(&cube);
    }
}

enum { SIDE = 80, MANY = 40, SPECTRA = 4 };

static double spectrum(size_t k, size_t b) {
    return 3000 * (1 + sin(0.11 * (double)((k + 1) * b) + (double)k));
}

static double sigma_of(size_t b) {
    return 5 + (double)(b % 8) * 5;
}

/* What regression of band b finds in infinitely many pixels: 1 / P_bb of the true covariance, whose shares
 * have a variance of 1/12. It is the noise, and what the noise of the other bands hides of the signal. */
static double variance_in_the_limit(size_t target) {
    double *a = calloc((size_t)MANY * MANY, sizeof *a);
    double x[MANY] = {0};
    for (size_t b = 0; b < MANY; b++) {
        for (size_t c = 0; c < MANY; c++) {
            a[b * MANY + c] = b == c ? sigma_of(b) * sigma_of(b) : 0;
            for (size_t k = 0; k < SPECTRA; k++) {
                a[b * MANY + c] += spectrum(k, b) * spectrum(k, c) / 12;
            }
        }
    }
    x[target] = 1;
    solve(MANY, a, x);
    free(a);
    return 1 / x[target];
}

/* A mixture of four spectra with abundances that vary from pixel to pixel, and noise that differs from band
 * to band by a factor of 8. Neighbours have nothing in common: differences take all of that for noise. */
static void noise_of_a_textured_scene_is_found(void **state) {
    (void)state;
    uint64_t seed = 17;
    Cube cube = cube_new(SIDE, SIDE, MANY);
    for (size_t p = 0; p < cube_pixels(&cube); p++) {
        double share[SPECTRA];
        for (size_t k = 0; k < SPECTRA; k++) {
            share[k] = random_uniform(&seed);
        }
        for (size_t b = 0; b < MANY; b++) {
            double value = 1000 + sigma_of(b) * random_normal(&seed);
            for (size_t k = 0; k < SPECTRA; k++) {
                value += share[k] * spectrum(k, b);
            }
            cube.value[p * MANY + b] = value;
        }
    }
    cube_write(&cube, "scene", HC_FLOAT32, "bip", NULL);
    check_runs(NULL, "read scene.img ! cov noise.json --noise regression ! cov shift.json --noise shift ! "
                     "cov both.json --noise spatial-spectral");
    HcStatistics found = load("noise.json", MANY);
    HcStatistics both = load("both.json", MANY);
    HcStatistics shift = load("shift.json", MANY);
    for (size_t b = 0; b < MANY; b++) {
        double truth = sigma_of(b) * sigma_of(b);
        double limit = variance_in_the_limit(b);
        assert_true(limit >= truth);
        assert_true(limit < (sigma_of(b) > 9 ? 1.3 : 3) * truth);
        /* Five standard deviations of a variance with 6,360 degrees of freedom. */
        check_near(found.covariance[b * MANY + b], limit, 5 * sqrt(2 / 6360.0) * limit);
        /* 6,260 degrees of freedom; residuals that share a pixel take a third of them. */
        check_near(both.covariance[b * MANY + b], limit, 5 * sqrt(3 / 6260.0) * limit);
        assert_true(shift.covariance[b * MANY + b] > 100 * truth);
    }
    hc_statistics_clear(&found);
    hc_statistics_clear(&both);
    hc_statistics_clear(&shift);
    cube_free(&cube);
}

/* Few pixels and many bands of noise alone: what the bands take of the degrees of freedom counts. */
static void noise_of_pairs_has_no_bias(void **state) {
    (void)state;
    enum { FEW = 30, BAND_COUNT = 100 };
    uint64_t seed = 21;
    Cube cube = cube_new(FEW, FEW, BAND_COUNT);
    for (size_t v = 0; v < cube_pixels(&cube) * BAND_COUNT; v++) {
        cube.value[v] = (double)(float)(1000 + 3 * random_normal(&seed));
    }
    cube_write(&cube, "scene", HC_FLOAT32, "bil", NULL);
    check_runs(NULL, "read scene.img ! cov noise.json --noise spatial-spectral");
    HcStatistics found = load("noise.json", BAND_COUNT);
    double mean = 0;
    for (size_t b = 0; b < BAND_COUNT; b++) {
        mean += found.covariance[b * (BAND_COUNT + 1)] / BAND_COUNT;
    }
    /* 870 pairs and 720 degrees of freedom; with one a band they would be 770, and the mean 6 % lower. Its
     * standard deviation is near sqrt(3 / 720 / 100), 0.6 %. */
    assert_int_equal(found.pixels, FEW * (FEW - 1));
    check_near(mean, 9, 0.025 * 9);
    hc_statistics_clear(&found);
    cube_free(&cube);
}

static double median_ratio(const char *path, double truth) {
    double ratio[MANY];
    HcStatistics found = load(path, MANY);
    for (size_t b = 0; b < MANY; b++) {
        double value = found.covariance[b * (MANY + 1)] / (truth * truth);
        size_t at = b;
        for (; at > 0 && ratio[at - 1] > value; at--) {
            ratio[at] = ratio[at - 1];
        }
        ratio[at] = value;
    }
    hc_statistics_clear(&found);
    return ratio[MANY / 2];
}

/* A scene of a pushbroom sensor: mixtures, white noise, and in each band and column an offset of 4 times and
 * a gain within 2 %. */
static void stripes_count_as_asked(void **state) {
    (void)state;
    enum { NOISE = 6, OFFSET = 24 };
    uint64_t seed = 23;
    double offset[SIDE * MANY], gain[SIDE * MANY];
    Cube cube = cube_new(SIDE, SIDE, MANY);
    for (size_t i = 0; i < SIDE * MANY; i++) {
        offset[i] = OFFSET * random_normal(&seed);
        gain[i] = 0.98 + 0.04 * random_uniform(&seed);
    }
    for (size_t p = 0; p < cube_pixels(&cube); p++) {
        size_t line = p / SIDE;
        size_t sample = p % SIDE;
        double share[SPECTRA];
        for (size_t k = 0; k < SPECTRA; k++) { /* smooth: neighbours differ by a hundredth */
            share[k] = 0.5 + 0.4 * sin(0.03 * (double)((k + 1) * line) + 0.02 * (double)((k + 2) * sample));
        }
        for (size_t b = 0; b < MANY; b++) {
            double value = 1000;
            for (size_t k = 0; k < SPECTRA; k++) {
                value += share[k] * spectrum(k, b) / 10;
            }
            value = value * gain[sample * MANY + b] + offset[sample * MANY + b];
            cube.value[p * MANY + b] = value + NOISE * random_normal(&seed);
        }
    }
    cube_write(&cube, "scene", HC_FLOAT32, "bil", NULL);
    check_runs(NULL, "read scene.img ! cov without.json --noise spatial-spectral-lower ! "
                     "cov with.json --noise spatial-spectral ! cov all.json --noise shift ! "
                     "cov regression.json --noise regression");
    /* 6,260 degrees of freedom, as above; the median of 40 bands is nearer than one of them. What bands hide
     * of each other's signal makes it larger. */
    double without = median_ratio("without.json", NOISE);
    assert_true(without > 0.97 && without < 1.1);
    /* Offsets have 16 times its variance. Of those that differ from band to band, a regression counts a part:
     * other bands tell a column from others. */
    assert_true(median_ratio("with.json", NOISE) > 5);
    assert_true(median_ratio("regression.json", NOISE) > 5);
    assert_true(median_ratio("all.json", NOISE) > 14);
    check_stage_contract("mnf --noise spatial-spectral-lower --components 3");
    check_runs(NULL, "read scene.img ! mnf --noise spatial-spectral-lower ! write direct.img");
    check_runs(NULL, "read scene.img ! mnf --noise without.json ! write file.img");
    check_same_files("direct.img", "file.img");
    cube_free(&cube);
}

static void mnf_takes_pairs(void **state) {
    (void)state;
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 96, true);
    cube_write(&cube, "scene", HC_UINT16, "bsq", NULL);
    check_runs(NULL,
               "read scene.img ! mnf --noise spatial-spectral --save-model model.json ! write direct.img");
    check_runs(NULL, "read scene.img ! cov noise.json --noise spatial-spectral");
    check_runs(NULL, "read scene.img ! mnf --noise noise.json ! write file.img");
    check_same_files("direct.img", "file.img");
    assert_true(file_holds("model.json", "\"spatial-spectral\""));
    check_runs(NULL,
               "read scene.img ! mnf --noise spatial-spectral --noise-window 3,4,20,30 ! write window.img");
    check_runs(NULL, "read scene.img ! cov part.json --noise spatial-spectral --noise-window 3,4,20,30");
    check_runs(NULL, "read scene.img ! mnf --noise part.json ! write part.img");
    check_same_files("window.img", "part.img");
    check_stage_contract("mnf --noise spatial-spectral --components 3");
    cube_free(&cube);
}

static void mnf_takes_it(void **state) {
    (void)state;
    double mean[BANDS], covariance[BANDS * BANDS], noise[BANDS * BANDS];
    double values[BANDS], forward[BANDS * BANDS];
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 95, true);
    cube_write(&cube, "scene", HC_UINT16, "bsq", NULL);
    reference_covariance(&cube, mean, covariance);
    reference_regression(&cube, 1, noise);
    for (size_t i = 0; i < BANDS * BANDS; i++) {
        noise[i] *= i % (BANDS + 1) == 0;
    }
    reference_mnf(BANDS, covariance, noise, values, forward);
    check_runs(NULL, "read scene.img ! mnf --noise regression --save-model model.json ! write direct.img");
    check_runs(NULL, "read scene.img ! cov noise.json --noise regression");
    check_runs(NULL, "read scene.img ! mnf --noise noise.json ! write file.img");
    check_same_files("direct.img", "file.img");
    HcTransform model = {0};
    HcError err = {0};
    check_ok(hc_transform_load(&model, "model.json", "mnf", &err), err);
    assert_string_equal(model.noise, "regression");
    double inverse_sum = 0;
    for (int32_t k = 0; k < BANDS; k++) {
        check_near(model.eigenvalues[k], values[k], 1e-7 * values[k]);
        inverse_sum += 1 / model.eigenvalues[k];
    }
    /* D^-1/2 P D^-1/2 has a diagonal of ones: the inverse eigenvalues add up to their number, times the
     * factor for the degrees of freedom. */
    double factor = (LINES * SAMPLES - 1.0) / (LINES * SAMPLES - BANDS);
    check_near(inverse_sum, BANDS * factor, 1e-6);
    hc_transform_clear(&model);
    /* Only the diagonal of differences; files serve as well. */
    check_runs(NULL, "read scene.img ! mnf --noise shift --noise-matrix diagonal ! write direct.img");
    check_runs(NULL, "read scene.img ! cov noise.json --overwrite --noise shift");
    check_runs(NULL, "read scene.img ! mnf --noise noise.json --noise-matrix diagonal ! write file.img");
    check_same_files("direct.img", "file.img");
    check_stage_contract("mnf --noise regression --components 3");
    cube_free(&cube);
}

static void wrong_scenes_are_refused(void **state) {
    (void)state;
    Cube cube = cube_smooth(2, 3, BANDS, 97, true);
    cube_write(&cube, "few", HC_UINT16, "bip", NULL);
    cube_free(&cube);
    check_run_fails(NULL, HC_E_NUMERIC, "cov: noise by regression: 6 valid pixels with 6 bands, at least 7",
                    "read few.img ! cov bad.json --noise regression");
    check_run_fails(NULL, HC_E_NUMERIC, "mnf: noise by regression: 6 valid pixels",
                    "read few.img ! mnf --noise regression ! write bad.img");
    /* 9 lines of one pair. */
    cube = cube_smooth(9, 2, BANDS, 97, true);
    cube_write(&cube, "pairs", HC_UINT16, "bip", NULL);
    cube_free(&cube);
    check_run_fails(NULL, HC_E_NUMERIC, "cov: noise by spatial-spectral: 9 pairs ... 6 bands, at least 10",
                    "read pairs.img ! cov bad.json --noise spatial-spectral");
    check_run_fails(NULL, HC_E_NUMERIC, "mnf: noise by spatial-spectral: 9 pairs",
                    "read pairs.img ! mnf --noise spatial-spectral ! write bad.img");
    check_run_fails(NULL, HC_E_NUMERIC, "noise by spatial-spectral-lower: 0 pairs of neighbours",
                    "read pairs.img --window 0,4,2,1 ! cov bad.json --noise spatial-spectral-lower");
    check_run_fails(NULL, HC_E_NUMERIC, "noise by spatial-spectral: 0 pairs of neighbours",
                    "read pairs.img --window 0,0,1,9 ! cov bad.json --noise spatial-spectral");
    assert_false(file_exists("bad.json"));
    cube = cube_smooth(LINES, SAMPLES, BANDS, 98, true);
    for (size_t p = 0; p < cube_pixels(&cube); p++) {
        cube.value[p * BANDS + 2] = 77;
    }
    cube_write(&cube, "scene", HC_INT32, "bip", NULL);
    /* A constant band takes no part. */
    check_runs(NULL, "read scene.img ! bands 1-4 ! cov four.json --noise regression");
    HcStatistics four = load("four.json", 4);
    check_same(four.covariance[2 * 4 + 2], 0);
    assert_true(four.covariance[0] > 0);
    hc_statistics_clear(&four);
    check_runs(NULL, "read scene.img ! bands 1-4 ! mnf --noise regression ! write out.img");
    check_run_fails(NULL, HC_E_NUMERIC, "noise by regression: all 1 bands ... constant",
                    "read scene.img ! bands 3 ! cov bad.json --noise regression");
    cube_free(&cube);
}

static void multiply(size_t n, const double *a, const double *b, double *out) {
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            out[i * n + j] = 0;
            for (size_t k = 0; k < n; k++) {
                out[i * n + j] += a[i * n + k] * b[k * n + j];
            }
        }
    }
}

/* The four equations of Moore and Penrose, in units of the diagonal. */
static void singular_matrices_have_a_pseudo_inverse(void **state) {
    (void)state;
    enum { N = 6, RANK = 3 };
    double a[N * N] = {0}, p[N * N], once[N * N], twice[N * N];
    uint8_t dependent[N];
    size_t rank = 0;
    HcError err = {0};
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < N; j++) {
            for (size_t k = 0; k < RANK; k++) {
                a[i * N + j] += sin((double)((1 + i * i) * (1 + k))) * sin((double)((1 + j * j) * (1 + k)));
            }
        }
    }
    check_ok(hc_noise_inverse(a, N, p, dependent, &rank, &err), err);
    assert_int_equal(rank, RANK);
    multiply(N, a, p, once);
    multiply(N, once, a, twice);
    for (size_t i = 0; i < N * N; i++) {
        double turned = once[i % N * N + i / N] * a[i / N * (N + 1)] / a[i % N * (N + 1)];
        check_near(twice[i], a[i], 1e-12);
        check_near(once[i], turned, 1e-12);
        assert_int_equal(dependent[i % N], i % N >= RANK);
    }
    multiply(N, p, once, twice);
    for (size_t i = 0; i < N * N; i++) {
        check_near(twice[i], p[i], 1e-12);
    }
}

/* Bands that are combinations of others are worked in their range. A copy, in another unit, changes nothing
 * but the noise of the copy. */
static void combinations_are_worked_in_their_range(void **state) {
    (void)state;
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 98, true);
    for (size_t p = 0; p < cube_pixels(&cube); p++) {
        double *x = cube.value + p * BANDS;
        x[2] = 77;
        x[5] = 3 * x[3];
    }
    cube_write(&cube, "scene", HC_INT32, "bip", NULL);
    cube_free(&cube);
    static const char *const words[] = {"regression", "spatial-spectral", "spatial-spectral-lower"};
    for (int k = 0; k < 3; k++) {
        HcText notes = {0};
        RunHow how = {.notes = &notes};
        check_runs(&how, "read scene.img ! cov six.json --noise %s", words[k]);
        check_says(notes.data, "cov: band 6 is a combination ... 4 directions");
        hc_text_clear(&notes);
        check_runs(&how, "read scene.img ! bands 1-5 ! cov five.json --noise %s", words[k]);
        assert_true(notes.data == NULL || strstr(notes.data, "combination") == NULL);
        hc_text_clear(&notes);
        HcStatistics six = load("six.json", 6);
        HcStatistics five = load("five.json", 5);
        for (size_t b = 0; b < 5; b++) {
            double expected = five.covariance[b * 5 + b];
            check_near(six.covariance[b * 6 + b], expected, 1e-8 * expected);
        }
        check_near(six.covariance[35], 9 * six.covariance[21], 1e-8 * six.covariance[35]);
        hc_statistics_clear(&six);
        hc_statistics_clear(&five);
    }
    check_runs(NULL, "read scene.img ! mnf --noise regression ! write out.img");
}

static void wrong_options_are_refused(void **state) {
    (void)state;
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 99, true);
    cube_write(&cube, "scene", HC_UINT16, "bip", NULL);
    check_run_fails(NULL, HC_E_USAGE, "regression needs the sums of the scene",
                    "read scene.img ! cov bad.json --sums --noise regression");
    check_run_fails(NULL, HC_E_USAGE, "sums of the differences (--sums --noise shift)",
                    "read scene.img ! cov bad.json --sums --noise spatial-spectral");
    check_run_fails(NULL, HC_E_USAGE, "sums of the differences (--sums --noise shift-lower)",
                    "read scene.img ! cov bad.json --sums --noise spatial-spectral-lower");
    check_run_fails(NULL, HC_E_USAGE, "cov: --noise-matrix needs --noise",
                    "read scene.img ! cov bad.json --noise-matrix full");
    check_run_fails(NULL, HC_E_USAGE, "--noise-matrix excludes --sums",
                    "read scene.img ! cov bad.json --sums --noise shift --noise-matrix diagonal");
    check_run_fails(NULL, HC_E_USAGE, "--noise-window 1,1,9,9: there is no neighbour difference",
                    "read scene.img ! mnf --noise regression --noise-window 1,1,9,9 ! write bad.img");
    check_run_fails(NULL, HC_E_USAGE, "did you mean regression?",
                    "read scene.img ! mnf --noise regresion ! write bad.img");
    check_runs(NULL, "read scene.img ! mnf --save-model model.json ! write out.img");
    check_run_fails(NULL, HC_E_USAGE, "mnf: --noise-matrix excludes --model",
                    "read scene.img ! mnf --model model.json --noise-matrix full ! write bad.img");
    cube_free(&cube);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(residuals_are_those_of_least_squares, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(noise_of_a_textured_scene_is_found, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(noise_of_pairs_has_no_bias, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(stripes_count_as_asked, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(mnf_takes_it, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(mnf_takes_pairs, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(wrong_scenes_are_refused, folder_setup, folder_teardown),
        cmocka_unit_test(singular_matrices_have_a_pseudo_inverse),
        cmocka_unit_test_setup_teardown(combinations_are_worked_in_their_range, folder_setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(wrong_options_are_refused, folder_setup, folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
