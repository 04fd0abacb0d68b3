/* endmembers: pure pixels of mixtures without noise, exactly; the largest simplex against all simplices;
 * corners that no pixel reaches; the same bytes for blocks, threads, backends and a scratch file; what is
 * refused; real scenes against their truth. */
#include "figure/figure.h"
#include "core/text.h"
#include "io/library/library.h"
#include "io/read/reader.h"
#include "io/training/training.h"
#include "pipeline/json/json.h"
#include "tests/support/reference.h"
#include "tests/support/strict_runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MATERIALS = 5, HEIGHT = 31, WIDTH = 23, CHANNELS = 20 };

static const int32_t pure[MATERIALS] = {3, 100, 333, 500, 712};

static const int patch_line[MATERIALS] = {3, 6, 27, 20, 12}, patch_sample[MATERIALS] = {2, 19, 4, 17, 6};

static double spectrum(int material, int band) {
    uint64_t seed = (uint64_t)(1000 * material + 7);
    double level = 500 + 2500 * random_uniform(&seed);
    double place = CHANNELS * random_uniform(&seed);
    double width = 3 + 4 * random_uniform(&seed);
    return floor(level * (0.2 + exp(-(band - place) * (band - place) / (2 * width * width))));
}

/* Shares of a pixel, at most `most` of a material; exponential, so that they are spread evenly. */
static void shares_at_random(uint64_t *seed, double most, double *share) {
    double largest = 2;
    while (largest > most) {
        double sum = 0;
        largest = 0;
        for (int k = 0; k < MATERIALS; k++) {
            share[k] = -log(1 - random_uniform(seed));
            sum += share[k];
        }
        for (int k = 0; k < MATERIALS; k++) {
            share[k] /= sum;
            largest = fmax(largest, share[k]);
        }
    }
}

/* Mixtures without noise. Two copies of each pure pixel, of which the first counts, with `with_pure`. */
static Cube mixtures(int32_t lines, int32_t samples, double most, bool with_pure) {
    Cube cube = cube_new(lines, samples, CHANNELS);
    uint64_t seed = 77;
    for (size_t p = 0; p < cube_pixels(&cube); p++) {
        double share[MATERIALS];
        shares_at_random(&seed, most, share);
        for (int k = 0; k < MATERIALS && with_pure; k++) {
            if (p == (size_t)pure[k] || p == (size_t)pure[k] + 1) {
                memset(share, 0, sizeof share);
                share[k] = 1;
            }
        }
        for (int b = 0; b < CHANNELS; b++) {
            for (int k = 0; k < MATERIALS; k++) {
                cube.value[p * CHANNELS + (size_t)b] += share[k] * spectrum(k, b);
            }
        }
    }
    return cube;
}

/* The places of the record, in ascending order, and a number of its result (`key`, "volume" or
 * "log10_volume"; NULL = none); returns how many. */
static int32_t places_and(const char *record, int32_t samples, int64_t *place, const char *key,
                          double *number) {
    cJSON *json = NULL;
    HcError err = {0};
    int32_t count = 0;
    assert_int_equal(hc_json_read(record, &json, &err), HC_OK);
    const cJSON *step = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "steps"), 1);
    const cJSON *result = cJSON_GetObjectItem(step, "result");
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(result, "endmembers")) {
        int64_t at =
            (int64_t)number_of(item, "line_from_0") * samples + (int64_t)number_of(item, "sample_from_0");
        int32_t k = count++;
        for (; k > 0 && place[k - 1] > at; k--) {
            place[k] = place[k - 1];
        }
        place[k] = at;
    }
    if (key != NULL) {
        *number = number_of(result, key);
    }
    cJSON_Delete(json);
    return count;
}

static int32_t places_of(const char *record, int32_t samples, int64_t *place, double *volume) {
    return places_and(record, samples, place, volume != NULL ? "volume" : NULL, volume);
}

static void check_pure(const char *options) {
    int64_t place[256] = {0};
    RunHow how = {.settings.record = "record.json"};
    check_runs(&how, "read scene.img ! endmembers found.sli --overwrite --count 5 %s", options);
    assert_int_equal(places_of("record.json", WIDTH, place, NULL), MATERIALS);
    for (int k = 0; k < MATERIALS; k++) {
        assert_int_equal(place[k], pure[k]);
    }
    file_remove("record.json");
}

/* Spectra and names of a library are those of the pure pixels, in the order that the names tell. */
static void check_library(const char *path) {
    HcLibrary library = {0};
    HcError err = {0};
    assert_int_equal(hc_library_read(&library, path, &err), HC_OK);
    assert_int_equal(library.count, MATERIALS);
    assert_int_equal(library.bands, CHANNELS);
    for (int32_t i = 0; i < library.count; i++) {
        long long sample = -1;
        long long line = -1;
        int number = 0;
        assert_int_equal(
            sscanf(library.name[i], "endmember %d (sample %lld line %lld)", &number, &sample, &line), 3);
        assert_int_equal(number, i + 1);
        int material = 0;
        while (material < MATERIALS && pure[material] != line * WIDTH + sample) {
            material++;
        }
        assert_true(material < MATERIALS);
        for (int b = 0; b < CHANNELS; b++) {
            check_near(library.value[i * CHANNELS + b], spectrum(material, b), 1e-3);
        }
    }
    hc_library_clear(&library);
}

static void pure_pixels_are_found(void **state) {
    (void)state;
    Cube cube = mixtures(HEIGHT, WIDTH, 0.8, true);
    cube_write(&cube, "scene", HC_FLOAT32, "bil", NULL);
    check_pure("--method vca");
    check_pure("--method vca --seed 1234567 --starts 3");
    check_pure("--method nfindr --csv found.csv");
    check_library("found.sli");
    check_library("found.csv");
    check_pure("--method nfindr --starts 1 --seed 3");
    check_pure("--method atgp");
    check_pure("--method ppi");
    check_pure("--method ppi --skewers 500 --seed 9");
    check_pure("--method nfindr --denoise");
    check_library("found.sli");
    cube_free(&cube);
}

/* Signal over noise in dB as Nascimento and Dias estimate it (2005, section III), from eigenvalues of all
 * bands. */
static double reference_snr(const Cube *cube) {
    static double mean[CHANNELS], covariance[CHANNELS * CHANNELS], values[CHANNELS],
        vectors[CHANNELS * CHANNELS];
    double power = 0, kept = 0, pixels = (double)cube_pixels(cube);
    reference_covariance(cube, mean, covariance);
    reference_eigen(CHANNELS, covariance, values, vectors);
    for (size_t i = 0; i < cube_pixels(cube) * CHANNELS; i++) {
        power += cube->value[i] * cube->value[i] / pixels;
    }
    for (int b = 0; b < CHANNELS; b++) {
        kept += mean[b] * mean[b] + (b < MATERIALS ? values[b] * (pixels - 1) / pixels : 0);
    }
    return 10 * log10((kept - MATERIALS * power / CHANNELS) / (power - kept));
}

static double recorded_snr(void) {
    cJSON *json = NULL;
    HcError err = {0};
    check_ok(hc_json_read("record.json", &json, &err), err);
    const cJSON *step = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "steps"), 1);
    double found = number_of(cJSON_GetObjectItem(step, "result"), "snr_db");
    cJSON_Delete(json);
    return found;
}

/* vca takes affine coordinates where the noise is large, projective ones below 15 + 10 log10(count) dB: here
 * 22. All values are below 1, as reflectance is. */
static void noise_decides_the_coordinates(void **state) {
    (void)state;
    const double noise[] = {3e-1, 4e-2, 2e-2, 5e-3}, limit = 15 + 10 * log10(MATERIALS);
    int about_mean = 0;
    for (size_t n = 0; n < sizeof noise / sizeof *noise; n++) {
        Cube cube = mixtures(HEIGHT, WIDTH, 0.6, true);
        uint64_t seed = 5;
        for (size_t i = 0; i < cube_pixels(&cube) * CHANNELS; i++) {
            cube.value[i] = (float)(cube.value[i] / 4000 + noise[n] * random_normal(&seed));
        }
        cube_write(&cube, "scene", HC_FLOAT32, "bip", NULL);
        check_runs(&(RunHow){.settings.record = "record.json"},
                   "read scene.img ! endmembers e.sli --overwrite --count 5 --method vca");
        double wanted = reference_snr(&cube);
        bool mean = file_holds("record.json", "\"coordinates\":\t\"about the mean\"");
        check_near(recorded_snr(), wanted, 1e-6);
        assert_int_equal(mean, wanted < limit);
        about_mean += mean;
        cube_free(&cube);
        file_remove("record.json");
    }
    assert_int_equal(about_mean, 2); /* both kinds were seen */
}

/* What unmixes the scene with what was found: pure pixels hold their material alone. */
static void library_feeds_abundance(void **state) {
    (void)state;
    Cube cube = mixtures(HEIGHT, WIDTH, 0.8, true);
    cube_write(&cube, "scene", HC_FLOAT32, "bsq", NULL);
    check_runs(NULL, "read scene.img ! endmembers found.sli --count 5");
    check_runs(NULL, "read scene.img ! abundance --endmembers found.sli ! write share.img");
    Cube share = cube_read_floats("share", HEIGHT, WIDTH, MATERIALS);
    for (int k = 0; k < MATERIALS; k++) {
        double largest = 0;
        for (int m = 0; m < MATERIALS; m++) {
            largest = fmax(largest, share.value[(size_t)pure[k] * MATERIALS + (size_t)m]);
        }
        check_near(largest, 1, 1e-4);
    }
    cube_free(&share);
    cube_free(&cube);
}

/* ---- the largest simplex ---- */

static double simplex3(const double *a, const double *b, const double *c) {
    return fabs((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])) / 2;
}

static double simplex4(const double *a, const double *b, const double *c, const double *d) {
    double u[3], v[3], w[3];
    for (int k = 0; k < 3; k++) {
        u[k] = b[k] - a[k];
        v[k] = c[k] - a[k];
        w[k] = d[k] - a[k];
    }
    return fabs(u[0] * (v[1] * w[2] - v[2] * w[1]) - u[1] * (v[0] * w[2] - v[2] * w[0]) +
                u[2] * (v[0] * w[1] - v[1] * w[0])) /
           6;
}

static double largest_simplex(const Cube *cube) {
    double most = 0;
    size_t n = cube_pixels(cube);
    const double *x = cube->value;
    for (size_t a = 0; a < n; a++) {
        for (size_t b = a + 1; b < n; b++) {
            for (size_t c = b + 1; c < n; c++) {
                if (cube->bands == 2) {
                    most = fmax(most, simplex3(x + 2 * a, x + 2 * b, x + 2 * c));
                }
                for (size_t d = c + 1; d < n && cube->bands == 3; d++) {
                    most = fmax(most, simplex4(x + 3 * a, x + 3 * b, x + 3 * c, x + 3 * d));
                }
            }
        }
    }
    return most;
}

/* Components turn and shift all bands, which changes no volume. */
static void check_largest(int32_t lines, int32_t samples, int32_t bands, uint64_t seed) {
    int64_t place[256];
    double volume = NAN;
    Cube cube = cube_new(lines, samples, bands);
    for (size_t i = 0; i < cube_pixels(&cube) * (size_t)bands; i++) {
        cube.value[i] = floor(15000 + 3000 * random_normal(&seed));
    }
    cube_write(&cube, "random", HC_INT16, "bip", NULL);
    check_runs(&(RunHow){.settings.record = "record.json"},
               "read random.img ! endmembers r.sli --overwrite --count %d", bands + 1);
    assert_int_equal(places_of("record.json", samples, place, &volume), bands + 1);
    double expected = largest_simplex(&cube);
    check_near(volume, expected, 1e-5 * expected); /* coordinates are rounded to float32 */
    cube_free(&cube);
    file_remove("record.json");
}

static void volume_is_that_of_all_simplices(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        check_largest(10, 20, 2, seed);
    }
    check_largest(8, 10, 3, 11);
    check_largest(8, 10, 3, 12);
}

/* The logarithm (base 10) of |det| / n! of [n][n], by Gauss elimination. */
static double log_simplex(long double *matrix, int n) {
    long double sum = 0;
    for (int c = 0; c < n; c++) {
        int pivot = c;
        for (int r = c + 1; r < n; r++) {
            pivot = fabsl(matrix[r * n + c]) > fabsl(matrix[pivot * n + c]) ? r : pivot;
        }
        for (int k = 0; k < n; k++) {
            long double kept = matrix[c * n + k];
            matrix[c * n + k] = matrix[pivot * n + k];
            matrix[pivot * n + k] = kept;
        }
        sum += log10l(fabsl(matrix[c * n + c])) - log10l(c + 1);
        for (int r = c + 1; r < n; r++) {
            long double factor = matrix[r * n + c] / matrix[c * n + c];
            for (int k = c; k < n; k++) {
                matrix[r * n + k] -= factor * matrix[c * n + k];
            }
        }
    }
    return (double)sum;
}

/* One band varies 1e5 times as much as all others, so that a determinant of 100 of them in units of the first
 * is below the smallest double. */
static void many_endmembers_are_found(void **state) {
    (void)state;
    enum { SIDE = 12, MANY = 100 };
    int64_t place[MANY + 1];
    double volume = NAN;
    uint64_t seed = 5;
    Cube cube = cube_new(SIDE, SIDE, MANY);
    for (size_t i = 0; i < cube_pixels(&cube) * MANY; i++) {
        double value = random_normal(&seed) * (i % MANY == 0 ? 1e5 : 1);
        cube.value[i] = (double)(float)(value + 100);
    }
    cube_write(&cube, "many", HC_FLOAT32, "bip", NULL);
    check_runs(&(RunHow){.settings.record = "record.json"},
               "read many.img ! endmembers r.sli --starts 1 --count %d", MANY + 1);
    assert_int_equal(places_and("record.json", SIDE, place, "log10_volume", &volume), MANY + 1);
    long double *edges = calloc((size_t)MANY * MANY, sizeof *edges);
    assert_non_null(edges);
    for (int j = 0; j < MANY; j++) {
        assert_true(place[j + 1] > place[j]);
        for (int b = 0; b < MANY; b++) {
            edges[j * MANY + b] =
                (long double)(cube.value[place[j + 1] * MANY + b] - cube.value[place[0] * MANY + b]);
        }
    }
    check_near(volume, log_simplex(edges, MANY), 0.01);
    free(edges);
    cube_free(&cube);
}

/* ---- no pure pixels ---- */

static void sisal_finds_corners_without_pixels(void **state) {
    (void)state;
    Cube cube = mixtures(60, 50, 0.8, false);
    HcLibrary library = {0};
    HcError err = {0};
    cube_write(&cube, "scene", HC_FLOAT32, "bil", NULL);
    check_runs(NULL, "read scene.img ! endmembers found.sli --count 5 --method sisal");
    assert_int_equal(hc_library_read(&library, "found.sli", &err), HC_OK);
    assert_int_equal(library.count, MATERIALS);
    for (int material = 0; material < MATERIALS; material++) {
        double nearest = INFINITY;
        for (int32_t i = 0; i < library.count; i++) {
            double xx = 0, yy = 0, xy = 0;
            for (int b = 0; b < CHANNELS; b++) {
                double x = library.value[i * CHANNELS + b];
                double y = spectrum(material, b);
                xx += x * x;
                yy += y * y;
                xy += x * y;
            }
            nearest = fmin(nearest, acos(fmin(1, xy / sqrt(xx * yy))));
        }
        check_near(nearest, 0, 0.02); /* the purest pixels are up to 0.3 away */
    }
    hc_library_clear(&library);
    cube_free(&cube);
}

/* ---- the same for any way to run ---- */

static const char *const outputs[] = {"e.sli", "e.hdr", "e.csv", "e.gpkg", "e.png", NULL};
static const char three[] =
    "read scene.img ! endmembers e.sli --count 4 --csv e.csv --places e.gpkg --picture "
    "e.png --method %s --overwrite";

static void runs_agree(void **state) {
    (void)state;
    static const char *const methods[] = {"vca",
                                          "nfindr",
                                          "atgp",
                                          "ppi",
                                          "nfindr --spatial 9 --similar 0.3",
                                          "atgp --spatial 12 --similar 0.5 --denoise"};
    Cube cube = cube_smooth(37, 29, 9, 4, true);
    cube_border(&cube, 0);
    cube_write(&cube, "scene", HC_UINT16, "bil", "data ignore value = 0\n");
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
        check_runs(NULL, three, methods[m]);
        files_keep(outputs);
        for (int32_t lines = 1; lines <= 40; lines += 13) {
            check_runs((&(RunHow){.threads = 1 + lines % 3, .settings.block_lines = lines}), three,
                       methods[m]);
            for (int i = 0; i < 5; i++) {
                char kept[32];
                snprintf(kept, sizeof kept, "kept.%s", outputs[i]);
                check_same_files(outputs[i], kept);
            }
        }
        check_runs((&(RunHow){.ops = hc_strict_ops(), .settings.block_lines = 7}), three, methods[m]);
        check_kept(outputs);
    }
    check_runs(NULL, "read scene.img ! endmembers e.sli --count 3 --method sisal");
    files_keep(outputs);
    check_runs((&(RunHow){.threads = 3, .settings.block_lines = 5}),
               "read scene.img ! endmembers e.sli --count 3 --method sisal");
    check_kept(outputs);
    cube_free(&cube);
}

/* Patches of 3 x 3 pure pixels with noise in mixtures, and a pixel beyond the simplex. */
static Cube patches(size_t odd) {
    Cube cube = mixtures(HEIGHT, WIDTH, 0.6, false);
    uint64_t seed = 5;
    for (size_t p = 0; p < cube_pixels(&cube); p++) {
        for (int k = 0; k < MATERIALS; k++) {
            int line = abs((int)p / WIDTH - patch_line[k]);
            int sample = abs((int)p % WIDTH - patch_sample[k]);
            for (int b = 0; b < CHANNELS && line <= 1 && sample <= 1; b++) {
                cube.value[p * CHANNELS + (size_t)b] = spectrum(k, b);
            }
        }
        for (int b = 0; b < CHANNELS; b++) {
            double *value = &cube.value[p * CHANNELS + (size_t)b];
            *value = p == odd ? 2.5 * spectrum(0, b) - 1.5 * spectrum(1, b) : *value + random_normal(&seed);
            *value = (double)(float)*value;
        }
    }
    return cube;
}

/* The patch of a pixel, or -1. */
static int patch_of(int64_t pixel) {
    int k = 0;
    while (k < MATERIALS &&
           (llabs(pixel / WIDTH - patch_line[k]) > 1 || llabs(pixel % WIDTH - patch_sample[k]) > 1)) {
        k++;
    }
    return k < MATERIALS ? k : -1;
}

static void odd_pixels_are_no_candidates(void **state) {
    (void)state;
    const int64_t odd = 15 * WIDTH + 11;
    int64_t place[256] = {0};
    HcLibrary library = {0};
    HcError err = {0};
    RunHow how = {.settings.record = "record.json"};
    Cube cube = patches((size_t)odd);
    cube_write(&cube, "scene", HC_FLOAT32, "bil", NULL);
    check_runs(&how, "read scene.img ! endmembers e.sli --count 5 ! write same.img --interleave bil");
    check_same_files("same.img", "scene.img");
    assert_int_equal(places_of("record.json", WIDTH, place, NULL), MATERIALS);
    bool there = false;
    for (int k = 0; k < MATERIALS; k++) {
        there = there || place[k] == odd;
    }
    assert_true(there); /* without the filter it is a corner */
    file_remove("record.json");
    check_runs(&how, "read scene.img ! endmembers e.sli --count 5 --spatial 5 --overwrite");
    assert_int_equal(places_of("record.json", WIDTH, place, NULL), MATERIALS);
    assert_true(file_holds("record.json", "\"averaged_pixels\":\t9"));
    assert_int_equal(hc_library_read(&library, "e.sli", &err), HC_OK);
    bool found[MATERIALS] = {false};
    for (int i = 0; i < MATERIALS; i++) {
        long long sample = -1, line = -1;
        assert_int_equal(sscanf(library.name[i], "endmember %*d (sample %lld line %lld)", &sample, &line), 2);
        int k = patch_of(line * WIDTH + sample);
        assert_true(k >= 0 && !found[k]);
        found[k] = true;
        for (int b = 0; b < CHANNELS; b++) { /* the mean of the patch as it was measured */
            double sum = 0;
            for (int p = 0; p < HEIGHT * WIDTH; p++) {
                sum += patch_of(p) == k ? cube.value[p * CHANNELS + b] : 0;
            }
            check_near(library.value[i * CHANNELS + b], sum / 9, 1e-6 * sum);
        }
    }
    hc_library_clear(&library);
    /* Components have the mean, too, without the noise of the directions that are left out. */
    check_runs(NULL, "read scene.img ! endmembers d.sli --count 5 --spatial 5 --denoise");
    assert_int_equal(hc_library_read(&library, "d.sli", &err), HC_OK);
    for (int i = 0; i < MATERIALS; i++) {
        long long sample = -1, line = -1;
        assert_int_equal(sscanf(library.name[i], "endmember %*d (sample %lld line %lld)", &sample, &line), 2);
        for (int b = 0; b < CHANNELS; b++) {
            check_near(library.value[i * CHANNELS + b], spectrum(patch_of(line * WIDTH + sample), b), 3);
        }
    }
    hc_library_clear(&library);
    /* Two pixels that are alike are a candidate. */
    for (int b = 0; b < CHANNELS; b++) {
        cube.value[(odd + 1) * CHANNELS + b] = cube.value[odd * CHANNELS + b];
    }
    cube_write(&cube, "pair", HC_FLOAT32, "bil", NULL);
    file_remove("record.json");
    check_runs(&how, "read pair.img ! endmembers e.sli --count 5 --spatial 5 --overwrite");
    assert_true(file_holds("record.json", "\"averaged_pixels\":\t2"));
    check_run_fails(NULL, HC_E_NUMERIC, "--spatial 10: 0 candidates, and ",
                    "read scene.img ! endmembers f.sli --count 5 --spatial 10 --similar 1e-9");
    cube_free(&cube);
}

/* The smallest memory that the run accepts cannot hold the reduced scene. */
static void scratch_files_change_nothing(void **state) {
    (void)state;
    HcError err = {0};
    HcStatus status = HC_E_MEMORY;
    Cube cube = cube_smooth(900, 500, 6, 8, true);
    cube_write(&cube, "scene", HC_UINT16, "bip", NULL);
    const char *const method = "nfindr --spatial 90 --similar 0.2";
    check_runs(&(RunHow){.settings.record = "record.json"}, three, method);
    assert_true(file_holds("record.json", "\"reduced_scene\":\t\"memory\""));
    file_remove("record.json");
    files_keep(outputs);
    for (uint64_t memory = (uint64_t)60 << 20; memory < (uint64_t)300 << 20 && status == HC_E_MEMORY;
         memory += (uint64_t)1 << 20) {
        RunHow how = {.settings = {.memory = memory, .record = "record.json"}};
        err = (HcError){0};
        status = run_chain_text(&how, &err, three, method);
    }
    assert_int_equal(status, HC_OK);
    assert_true(file_holds("record.json", "\"reduced_scene\":\t\"scratch file\""));
    check_kept(outputs);
    cube_free(&cube);
}

static void failures_leave_nothing(void **state) {
    (void)state;
    static const char *const chains[] = {
        "read scene.img ! endmembers e.sli --count 3 --csv e.csv --places e.gpkg --picture e.png "
        "--spatial 5 --similar 0.9"};
    Cube cube = cube_smooth(11, 9, 6, 3, true);
    cube_write(&cube, "scene", HC_UINT16, "bil", NULL);
    check_failures_leave_nothing(chains, 1, 4, outputs);
    cube_free(&cube);
}

/* ---- what is counted, and what is refused ---- */

static void rules_count(void **state) {
    (void)state;
    Cube cube = mixtures(60, 50, 0.9, false);
    uint64_t seed = 3;
    for (size_t i = 0; i < cube_pixels(&cube) * CHANNELS; i++) {
        cube.value[i] = floor(100 * cube.value[i] + 4 * random_normal(&seed));
    }
    cube_write(&cube, "scene", HC_INT32, "bil", NULL);
    check_runs(NULL, "read scene.img ! dimension d.json ! endmembers e.sli");
    HcLibrary library = {0};
    HcError err = {0};
    cJSON *json = NULL;
    assert_int_equal(hc_json_read("d.json", &json, &err), HC_OK);
    assert_int_equal(hc_library_read(&library, "e.sli", &err), HC_OK);
    assert_true(library.count > 2);
    check_near(number_of(json, "recommended"), library.count, 0);
    hc_library_clear(&library);
    check_runs(NULL, "read scene.img ! endmembers e.sli --count elm");
    assert_int_equal(hc_library_read(&library, "e.sli", &err), HC_OK);
    check_near(number_of(json, "elm"), library.count, 0);
    hc_library_clear(&library);
    cJSON_Delete(json);
    cube_free(&cube);
}

/* Masked pixels are none, whatever they hold; the points are those of the file where a part of it is read. */
static void masks_and_windows(void **state) {
    (void)state;
    Cube cube = mixtures(HEIGHT, WIDTH, 0.8, true);
    int64_t place[256] = {0};
    for (int b = 0; b < CHANNELS; b++) {
        cube_pixel(&cube, 10, 10)[b] = b == 3 ? NAN : 30000; /* far outside, but masked */
        cube_pixel(&cube, 11, 10)[b] = -9999;
    }
    cube_write(&cube, "scene", HC_FLOAT32, "bil", "data ignore value = -9999\n");
    check_pure("--method atgp");
    check_pure("");
    check_runs(&(RunHow){.settings.record = "record.json"},
               "read scene.img --window 2,4,20,27 ! endmembers w.sli --places w.gpkg --count 4");
    assert_int_equal(places_of("record.json", 20, place, NULL), 4);
    HcLabelled labelled = {0};
    HcScene scene = {.lines = HEIGHT, .samples = WIDTH, .bands = CHANNELS};
    HcError err = {0};
    if (hc_labelled_read("w.gpkg", "name", NULL, &scene, &labelled, &err) != HC_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(labelled.count, 4);
    for (int64_t i = 0; i < labelled.count; i++) {
        assert_int_equal((labelled.line[i] - 4) * 20 + labelled.sample[i] - 2, place[i]);
    }
    hc_labelled_clear(&labelled);
    cube_free(&cube);
}

static void check_places(const char *path) {
    HcLabelled labelled = {0};
    HcReader *reader = NULL;
    HcError err = {0};
    check_runs(NULL, "read scene.img ! endmembers e.sli --places %s --count 5 --overwrite", path);
    assert_int_equal(hc_reader_open(&reader, "scene.img", NULL, &err), HC_OK);
    if (hc_labelled_read(path, "name", NULL, hc_reader_scene(reader), &labelled, &err) != HC_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(labelled.count, MATERIALS);
    for (int k = 0; k < MATERIALS; k++) {
        assert_int_equal(labelled.line[k] * WIDTH + labelled.sample[k], pure[k]);
    }
    hc_labelled_clear(&labelled);
    hc_reader_close(reader);
}

/* The points lie at the centres of their pixels, in any CRS. */
static void points_have_their_place(void **state) {
    (void)state;
    Cube cube = mixtures(HEIGHT, WIDTH, 0.8, true);
    cube_write(&cube, "scene", HC_FLOAT32, "bil",
               "map info = {UTM, 1, 1, 500000, 4000000, 30, 30, 33, North, WGS-84, units=Meters}\n");
    check_places("e.geojson");
    check_places("e.gpkg");
    cube_free(&cube);
}

static void wrong_input_is_refused(void **state) {
    (void)state;
    const char *find = "read scene.img ! endmembers e.sli --count";
    Cube cube = cube_smooth(5, 4, 6, 1, true);
    cube_write(&cube, "scene", HC_UINT16, "bil", NULL);
    Cube large = cube_smooth(300, 120, 6, 1, true);
    cube_write(&large, "large", HC_UINT16, "bil", NULL);
    cube_free(&large);
    check_run_fails(NULL, HC_E_USAGE, "--count 8: 6 bands ... at most 7", "%s 8", find);
    check_run_fails(NULL, HC_E_USAGE, "at most 6 endmembers by atgp", "%s 7 --method atgp", find);
    check_run_fails(NULL, HC_E_USAGE, "--count 1:", "%s 1", find);
    check_run_fails(NULL, HC_E_USAGE, "--count many:", "%s many", find);
    check_run_fails(NULL, HC_E_USAGE, "--starts excludes --method sisal", "%s 3 --method sisal --starts 2",
                    find);
    check_run_fails(NULL, HC_E_USAGE, "are no pixels", "%s 3 --method sisal --places e.gpkg", find);
    check_run_fails(NULL, HC_E_USAGE, "--spatial excludes --method sisal", "%s 3 --method sisal --spatial 5",
                    find);
    check_run_fails(NULL, HC_E_USAGE, "--similar needs --spatial", "%s 3 --similar 0.2", find);
    check_run_fails(NULL, HC_E_USAGE, "--spatial 3: 4000 squares ... 6 directions, at most 20000",
                    "read large.img ! endmembers e.sli --count 7 --spatial 3");
    check_run_fails(NULL, HC_E_USAGE, "e.shp: ends neither with .gpkg", "%s 3 --places e.shp", find);
    check_run_fails(NULL, HC_E_USAGE, "the scene has no CRS", "%s 3 --places e.geojson", find);
    check_run_fails(NULL, HC_E_USAGE, "e.txt: does not end with .csv", "%s 3 --csv e.txt", find);
    check_run_fails(NULL, HC_E_USAGE, "e.jpg: does not end with .png", "%s 3 --picture e.jpg", find);
    check_run_fails(NULL, HC_E_USAGE, "e.img: ends neither with .sli",
                    "read scene.img ! endmembers e.img --count 3");
    check_run_fails(NULL, HC_E_USAGE, "writes this file already",
                    "read scene.img ! endmembers e.csv --csv e.csv --count 3");
    check_run_fails(NULL, HC_E_USAGE, "scene.hdr is the header of another file",
                    "read scene.img ! endmembers scene.sli --count 3 --overwrite");
    check_run_fails(NULL, HC_E_USAGE, "the scene has 4 pixels",
                    "read scene.img --window 0,0,2,2 ! endmembers e.sli --count 5");
    cube_free(&cube);
    cube = cube_new(6, 7, 4);
    for (size_t i = 0; i < cube_pixels(&cube); i++) {
        for (size_t b = 0; b < 4; b++) {
            cube.value[i * 4 + b] = 100 + 3.0 * (double)i * (double)b; /* a line */
        }
    }
    cube_write(&cube, "scene", HC_FLOAT32, "bil", NULL);
    check_run_fails(NULL, HC_E_NUMERIC, "varies in 1 direction: at most 2", "%s 3", find);
    for (size_t i = 0; i < cube_pixels(&cube) * 4; i++) {
        cube.value[i] = i < 8 ? (double)i : NAN;
    }
    cube_write(&cube, "scene", HC_FLOAT32, "bil", NULL);
    check_run_fails(NULL, HC_E_NUMERIC, "only 2 pixels are valid", "%s 3", find);
    for (size_t i = 0; i < 8; i++) {
        cube.value[i] = NAN;
    }
    cube_write(&cube, "scene", HC_FLOAT32, "bil", NULL);
    check_run_fails(NULL, HC_E_NUMERIC, "endmembers", "%s 3", find);
    cube_free(&cube);
    assert_false(file_exists("e.sli"));
    assert_false(file_exists("e.hdr"));
}

/* ---- real scenes ---- */

static double angle(const float *x, const float *y, int32_t bands) {
    double xx = 0, yy = 0, xy = 0;
    for (int32_t b = 0; b < bands; b++) {
        xx += (double)x[b] * (double)x[b];
        yy += (double)y[b] * (double)y[b];
        xy += (double)x[b] * (double)y[b];
    }
    return acos(fmin(1, xy / sqrt(xx * yy)));
}

/* The mean angle to the truth, each spectrum with its own, by the best of all assignments. */
static double best_angle(const HcLibrary *found, const HcLibrary *truth, int32_t from, uint32_t taken) {
    double best = INFINITY;
    if (from == truth->count) {
        return 0;
    }
    for (int32_t i = 0; i < found->count; i++) {
        if ((taken >> i & 1) == 0) {
            double own = angle(found->value + (size_t)i * (size_t)found->bands,
                               truth->value + (size_t)from * (size_t)truth->bands, truth->bands);
            best = fmin(best, own + best_angle(found, truth, from + 1, taken | 1U << i));
        }
    }
    return best;
}

static double angle_of(const char *scene, const char *truth_path, const char *options) {
    char path[512];
    const char *data = getenv("HCUBE_DATA");
    HcLibrary found = {0}, truth = {0};
    HcError err = {0};
    snprintf(path, sizeof path, "%s/%s", data, truth_path);
    assert_int_equal(hc_library_read(&truth, path, &err), HC_OK);
    check_runs(NULL, "read %s/%s ! endmembers e.sli --overwrite --count %d %s", data, scene, truth.count,
               options);
    assert_int_equal(hc_library_read(&found, "e.sli", &err), HC_OK);
    assert_int_equal(found.bands, truth.bands);
    double mean = best_angle(&found, &truth, 0, 0) / truth.count;
    hc_library_clear(&found);
    hc_library_clear(&truth);
    return mean;
}

/* The bounds are the best of 20 seeds of plain NumPy programs of N-FINDR and (Samson) VCA. */
static void real_scenes_come_near_their_truth(void **state) {
    (void)state;
    if (getenv("HCUBE_DATA") == NULL) {
        skip();
    }
    const char *jasper = "jasper-ridge/jasper_r198.img";
    const char *samson = "samson/samson.img";
    assert_true(angle_of(samson, "samson/samson_endmembers.sli", "") <= 0.070236);
    assert_true(angle_of(jasper, "jasper-ridge/jasper_endmembers.sli", "") <= 0.160881);
    assert_true(angle_of(samson, "samson/samson_endmembers.sli", "--spatial 20") <= 0.0565);
    assert_true(angle_of(jasper, "jasper-ridge/jasper_endmembers.sli", "--spatial 20") <= 0.1405);
    double best = INFINITY;
    for (int seed = 0; seed < 20; seed++) {
        char options[80];
        snprintf(options, sizeof options, "--method vca --denoise --seed %d", seed);
        best = fmin(best, angle_of(samson, "samson/samson_endmembers.sli", options));
    }
    assert_true(best <= 0.066621);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)
        IN_FOLDER(pure_pixels_are_found),
        IN_FOLDER(noise_decides_the_coordinates),
        IN_FOLDER(library_feeds_abundance),
        IN_FOLDER(volume_is_that_of_all_simplices),
        IN_FOLDER(many_endmembers_are_found),
        IN_FOLDER(sisal_finds_corners_without_pixels),
        IN_FOLDER(runs_agree),
        IN_FOLDER(odd_pixels_are_no_candidates),
        IN_FOLDER(scratch_files_change_nothing),
        IN_FOLDER(failures_leave_nothing),
        IN_FOLDER(rules_count),
        IN_FOLDER(masks_and_windows),
        IN_FOLDER(points_have_their_place),
        IN_FOLDER(wrong_input_is_refused),
        IN_FOLDER(real_scenes_come_near_their_truth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
