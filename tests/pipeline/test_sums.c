#include "pipeline/statistics/sums.h"
#include "pipeline/statistics/statistics.h"
#include "tests/support/random.h"
#include "tests/support/reference.h"
#include "tests/support/strict.h"

#include <stdio.h>
#include <stdlib.h>

enum { LINES = 1501, SAMPLES = 400, BANDS = 3 };

static Cube float_scene(void) {
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 11, false);
    for (size_t i = 0; i < cube_pixels(&cube); i += 97) { /* masked, some beside the cuts */
        cube.valid[i] = 0;
        for (size_t b = 0; b < BANDS; b++) {
            cube.value[i * BANDS + b] = NAN;
        }
    }
    return cube;
}

static void float_sums_do_not_know_of_blocks(void **state) {
    (void)state;
    static const int32_t block_lines[] = {3, 100, 329, 330, 700, 1501};
    Cube cube = float_scene();
    cube_write(&cube, "scene", HC_FLOAT32, "bil", NULL);
    check_runs(
        NULL,
        "read scene.img ! cov a.json ! cov an.json --noise mean3x3 ! mnf --save-model am.json ! write a.img");
    for (size_t k = 0; k < sizeof block_lines / sizeof *block_lines; k++) {
        RunHow how = {.threads = 1 + (int32_t)k % 3, .settings = {.block_lines = block_lines[k]}};
        how.ops = k % 2 == 0 ? hc_strict_ops() : NULL;
        check_runs(&how, "read scene.img ! cov b.json ! cov bn.json --noise mean3x3 ! mnf --save-model "
                         "bm.json ! write b.img");
        check_same_files("a.json", "b.json");
        check_same_files("an.json", "bn.json");
        check_same_files("am.json", "bm.json");
        check_same_files("a.img", "b.img");
    }
    cube_free(&cube);
}

/* However the bytes lie: strips of one layout, pixels of another, and threads that share both. */
static void sums_do_not_know_of_layouts(void **state) {
    (void)state;
    static const HcType types[] = {HC_UINT16, HC_INT16, HC_FLOAT32};
    static const char *const layouts[] = {"bil", "bsq", "bip"};
    Cube cube = cube_smooth(83, 201, 19, 12, true);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        for (size_t k = 0; k < sizeof layouts / sizeof *layouts; k++) {
            RunHow how = {.threads = k == 0 ? 1 : 3, .settings = {.block_lines = k == 1 ? 40 : 83}};
            cube_write(&cube, "scene", types[t], layouts[k], NULL);
            check_runs(&how,
                       "read scene.img ! cov %s.json --overwrite ! cov %sn.json --noise mean3x3 "
                       "--overwrite ! cov %sm.json --noise median3x3 --overwrite",
                       layouts[k], layouts[k], layouts[k]);
        }
        for (size_t k = 1; k < sizeof layouts / sizeof *layouts; k++) {
            static const char *const kinds[] = {"", "n", "m"};
            for (size_t n = 0; n < sizeof kinds / sizeof *kinds; n++) {
                char one[16];
                char other[16];
                (void)snprintf(one, sizeof one, "%s%s.json", layouts[0], kinds[n]);
                (void)snprintf(other, sizeof other, "%s%s.json", layouts[k], kinds[n]);
                check_same_files(one, other);
            }
        }
    }
    cube_free(&cube);
}

static void check_statistics(const char *path, int64_t pixels, const double *mean, const double *covariance) {
    HcStatistics found = {0};
    HcError err = {0};
    check_ok(hc_statistics_load(&found, path, &err), err);
    assert_int_equal(found.pixels, pixels);
    for (size_t b = 0; b < BANDS; b++) {
        if (mean != NULL) {
            check_near(found.mean[b], mean[b], 1e-12 * fabs(mean[b]));
        }
        for (size_t c = 0; c < BANDS; c++) {
            double size = sqrt(covariance[b * BANDS + b] * covariance[c * BANDS + c]);
            check_near(found.covariance[b * BANDS + c], covariance[b * BANDS + c], 1e-12 * size);
        }
    }
    hc_statistics_clear(&found);
}

/* Every pixel once, and differences across blocks too. */
static void float_sums_are_the_scene(void **state) {
    (void)state;
    double mean[BANDS];
    double covariance[BANDS * BANDS];
    Cube cube = float_scene();
    cube_write(&cube, "scene", HC_FLOAT32, "bip", NULL);
    for (size_t i = 0; i < cube_pixels(&cube) * BANDS; i++) {
        cube.value[i] = (double)(float)cube.value[i];
    }
    check_runs(NULL, "read scene.img ! cov all.json ! cov noise.json --noise mean3x3 ! cov part.json --noise "
                     "shift-diagonal --noise-window 10,300,200,700");
    int64_t pixels = reference_covariance(&cube, mean, covariance);
    check_statistics("all.json", pixels, mean, covariance);
    pixels = reference_noise(&cube, NOISE_MEAN3X3, NULL, covariance);
    check_statistics("noise.json", pixels, NULL, covariance);
    pixels = reference_noise(&cube, NOISE_SHIFT_DIAGONAL, (const int32_t[]){10, 300, 200, 700}, covariance);
    check_statistics("part.json", pixels, NULL, covariance);
    cube_free(&cube);
}

/* ---- real scenes as floats ---- */

typedef struct RealScene {
    const char *path;
    int32_t lines, samples;
} RealScene;

static const RealScene real_scenes[] = {{"aviris-crop/aviris_crop.img", 90, 90},
                                        {"dc1/dc1_clean.img", 75, 75},
                                        {"hydice-urban/hydice_urban.img", 100, 80},
                                        {"jasper-ridge/jasper_f224.img", 100, 100},
                                        {"jasper-ridge/jasper_r198.img", 100, 100},
                                        {"salinas-a/salinas_a.img", 83, 86},
                                        {"samson/samson.img", 95, 95}};

/* With sanitizers, sums in long double take minutes: one scene is enough for them. */
#ifdef HC_SANITIZED
enum { REAL_SCENES = 1 };
#else
enum { REAL_SCENES = sizeof real_scenes / sizeof *real_scenes };
#endif

/* Means and covariances in long double, about the mean. */
static void plain_covariance(const Cube *cube, long double *mean, long double *covariance) {
    size_t n = (size_t)cube->bands;
    size_t pixels = cube_pixels(cube);
    long double *row = calloc(n, sizeof *row);
    assert_non_null(row);
    memset(mean, 0, n * sizeof *mean);
    memset(covariance, 0, n * n * sizeof *covariance);
    for (size_t i = 0; i < pixels * n; i++) {
        long double first =
            (long double)cube->value[i % n]; /* so that a constant band has no variance at all */
        mean[i % n] += ((long double)cube->value[i] - first) / (long double)pixels;
    }
    for (size_t b = 0; b < n; b++) {
        mean[b] += (long double)cube->value[b];
    }
    for (size_t p = 0; p < pixels; p++) {
        for (size_t b = 0; b < n; b++) {
            row[b] = (long double)cube->value[p * n + b] - mean[b];
        }
        for (size_t b = 0; b < n; b++) {
            for (size_t c = b; c < n; c++) {
                covariance[b * n + c] += row[b] * row[c];
            }
        }
    }
    for (size_t k = 0; k < n * n; k++) {
        covariance[k] /= (long double)(pixels - 1);
    }
    free(row);
}

/* What a covariance of two bands may be off by, for each sqrt(C_xx C_yy). rounded: root of the share of
 * values that their unit rounds, NULL = not known. The unit may be twice as large as for the whole scene,
 * since it follows a sample. */
static double bound_of(double bound, const double *rounded, size_t b, size_t c) {
    double by_share = rounded != NULL ? 0x1p-28 * (rounded[b] + rounded[c]) + 0x1p-50 : bound;
    return fmin(bound, by_share);
}

/* Covariances of a file against those of the cube over `variance`, and its means unless the cube has
 * differences. */
static void check_digits(const char *path, const Cube *cube, bool differences, double variance, double bound,
                         const double *rounded) {
    size_t n = (size_t)cube->bands;
    long double *mean = malloc(n * sizeof *mean);
    long double *covariance = malloc(n * n * sizeof *covariance);
    HcStatistics found = {0};
    HcError err = {0};
    assert_true(mean != NULL && covariance != NULL);
    plain_covariance(cube, mean, covariance);
    check_ok(hc_statistics_load(&found, path, &err), err);
    for (size_t b = 0; b < n; b++) {
        double spread = (double)sqrtl(covariance[b * n + b]);
        if (!differences) {
            check_near(found.mean[b], (double)mean[b], bound * (fabs((double)mean[b]) + spread));
        }
        for (size_t c = b; c < n; c++) {
            double size = spread * (double)sqrtl(covariance[c * n + c]);
            check_near(found.covariance[b * n + c] * variance, (double)covariance[b * n + c],
                       bound_of(bound, rounded, b, c) * size);
        }
    }
    hc_statistics_clear(&found);
    free(mean);
    free(covariance);
}

/* 9 x less the sum of the neighbourhood, where there is one: what the noise covariance is 72 times of. */
static Cube mean3x3_differences(const Cube *cube) {
    size_t n = (size_t)cube->bands;
    Cube out = cube_new(cube->lines - 2, cube->samples - 2, cube->bands);
    for (int32_t line = 0; line < out.lines; line++) {
        for (int32_t sample = 0; sample < out.samples; sample++) {
            for (size_t b = 0; b < n; b++) {
                long double sum = 0;
                for (int32_t k = 0; k < 9; k++) {
                    sum += (long double)cube_pixel(cube, line + k / 3, sample + k % 3)[b];
                }
                long double x = (long double)cube_pixel(cube, line + 1, sample + 1)[b];
                cube_pixel(&out, line, sample)[b] = (double)(9 * x - sum);
            }
        }
    }
    return out;
}

static void sum_scene(const char *path) {
    check_runs(NULL, "read %s ! cov scaled.json --overwrite ! cov noise.json --noise mean3x3 --overwrite",
               path);
}

/* What sum_scene() made: covariances of the values, and of their noise. rounded: as bound_of(), of values. */
static void check_sums(const Cube *cube, double bound, double noise_bound, const double *rounded) {
    Cube differences = mean3x3_differences(cube);
    check_digits("scaled.json", cube, false, 1, bound, rounded);
    check_digits("noise.json", &differences, true, 72, noise_bound, NULL);
    cube_free(&differences);
}

typedef enum Hard { OUTLIER, DENORMALS, DECADES, ONE_OTHER, FILL, HARD_SCENES } Hard;

/* A value of a scene that a grid fits badly. random: in [-1, 1]. */
static float hard_value(Hard kind, size_t pixel, size_t band, double random) {
    switch (kind) {
    case OUTLIER: /* one pixel at 10^6 times the spread */
        return (float)(5 + random * (pixel == 1234 ? 1e6 : 1));
    case DENORMALS:
        return (float)(random * (band == 1 ? 1 : 1e-40));
    case DECADES: /* twelve of them */
        return (float)pow(10, 6 * random);
    case ONE_OTHER: /* constant bands, but for one pixel of one */
        return band == 0 ? (float)random : band == 2 && pixel == 777 ? 3.5F : 2.0F;
    case FILL: /* nine of ten pixels are the same */
        return pixel % 10 != 0 ? -9999.0F : (float)(0.3 + 0.1 * random);
    case HARD_SCENES:
        break;
    }
    return 0;
}

/* The promise of docs/numerics.md, and no far value is lost. */
static void hard_scenes_keep_the_bound(void **state) {
    (void)state;
    for (int kind = 0; kind < HARD_SCENES; kind++) {
        uint64_t seed = 5;
        Cube cube = cube_new(61, 47, BANDS);
        for (size_t i = 0; i < cube_pixels(&cube) * BANDS; i++) {
            double random = 2 * random_uniform(&seed) - 1;
            cube.value[i] = (double)hard_value((Hard)kind, i / BANDS, i % BANDS, random);
        }
        cube_write(&cube, "scaled", HC_FLOAT32, "bsq", NULL);
        sum_scene("scaled.img");
        check_sums(&cube, 0x1p-28, 0x1p-27, NULL);
        RunHow how = {.ops = hc_strict_ops(), .threads = 3, .settings = {.block_lines = 4}};
        check_runs(&how,
                   "read scaled.img ! cov again.json --overwrite ! cov noise_again.json --noise mean3x3 "
                   "--overwrite");
        check_same_files("scaled.json", "again.json");
        check_same_files("noise.json", "noise_again.json");
        cube_free(&cube);
    }
}

/* Roots of the shares of values that are no multiples of their band's unit, or of twice the unit. */
static void find_rounded(const Cube *cube, double *rounded) {
    const size_t n = (size_t)cube->bands;
    const double pixels = (double)cube_pixels(cube);
    for (size_t b = 0; b < n; b++) {
        double sum = 0;
        double square = 0;
        double count = 0;
        for (size_t p = 0; p < cube_pixels(cube); p++) {
            double x = cube->value[p * n + b] - cube->value[b];
            sum += x;
            square += x * x;
        }
        double variance = (square - sum * sum / pixels) / pixels;
        double unit = variance > 0 ? exp2(floor(log2(variance) / 2) - 27) : 1;
        for (size_t p = 0; p < cube_pixels(cube) && variance > 0; p++) {
            count += fmod(cube->value[p * n + b], unit) != 0;
        }
        rounded[b] = sqrt(count / pixels);
    }
}

/* Every covariance of a real scene, stored as floats, errs by at most 2^-38 of what its bands' variances
 * allow, and so does every covariance of its noise. After a calibration, which makes floats of all digits of
 * them, it is 2^-31 and 2^-30: small values lie between the units. The fewer they are, the less it is. */
static void real_scenes_keep_their_digits(void **state) {
    (void)state;
    static const float factors[] = {1e-4F, 0.1F, 0.0123456F}; /* Jasper Ridge is worst with the first */
    const char *folder = getenv("HCUBE_DATA");
    if (folder == NULL) {
        skip();
    }
    for (size_t k = 0; k < REAL_SCENES; k++) {
        const RealScene *real = &real_scenes[k];
        size_t bytes = 0;
        check_runs(NULL, "read %s/%s ! write plain.img --type float32 --overwrite", folder, real->path);
        free(file_bytes("plain.img", &bytes));
        size_t n = bytes / ((size_t)real->lines * (size_t)real->samples * sizeof(float));
        Cube cube = cube_read_floats("plain", real->lines, real->samples, (int32_t)n);
        sum_scene("plain.img");
        check_sums(&cube, 0x1p-38, 0x1p-38, NULL);
        for (size_t i = 0; i < cube_pixels(&cube) * n; i++) {
            cube.value[i] = (double)((float)cube.value[i] * factors[k % 3]);
        }
        double *rounded = malloc(n * sizeof *rounded);
        assert_non_null(rounded);
        cube_write(&cube, "scaled", HC_FLOAT32, "bil", NULL);
        sum_scene("scaled.img");
        find_rounded(&cube, rounded);
        check_sums(&cube, 0x1p-31, 0x1p-30, rounded);
        free(rounded);
        cube_free(&cube);
    }
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(float_sums_do_not_know_of_blocks), IN_FOLDER(sums_do_not_know_of_layouts),
        IN_FOLDER(float_sums_are_the_scene),         IN_FOLDER(hard_scenes_keep_the_bound),
        IN_FOLDER(real_scenes_keep_their_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
