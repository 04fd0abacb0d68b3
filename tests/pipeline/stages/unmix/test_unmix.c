#include "pipeline/json/json.h"
#include "pipeline/statistics/statistics.h"
#include "tests/support/mixtures.h"
#include "tests/support/strict_runs.h"
#include "tests/support/truth.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- a library and a scene of its mixtures ---- */

/* NAME: mixtures of up to three spectra with noise, times `factor`; a masked border, a NaN, and a pixel that
 * is darker than 0. `more` are header lines. */
static Cube write_scene(const char *name, double factor, const char *more) {
    Cube cube = mixtures_new(factor, false);
    cube_border(&cube, -9999);
    cube_pixel(&cube, 11, 8)[3] = NAN;
    cube.valid[11 * SAMPLES + 8] = 0;
    for (int b = 0; b < BANDS; b++) {
        cube_pixel(&cube, 12, 9)[b] = (double)(float)(-0.01 * factor);
    }
    mixtures_write(&cube, name, more);
    return cube;
}

/* ---- plain reference ---- */

typedef struct How {
    double lambda;
    bool sums; /* to one */
    double weight[BANDS];
    const double *level; /* of lambda [pixels], NULL = 1 */
} How;

static const How plain = {.lambda = 1e-3, .weight = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}};

/* Coordinate descent from x = 0, or where abundances sum to one from x = 1 / SPECTRA by pairs of them. */
static void descend(const How *how, const double gram[SPECTRA][SPECTRA], double *gradient, double *x) {
    double moved = 1;
    for (int sweep = 0; sweep < 20000 && moved > 1e-13; sweep++) {
        moved = 0;
        for (int k = 0; k < SPECTRA; k++) {
            for (int l = how->sums ? 0 : k; l < (how->sums ? k : k + 1); l++) {
                double slope = how->sums ? gradient[k] - gradient[l] : gradient[k];
                double bend = how->sums ? gram[k][k] + gram[l][l] - 2 * gram[k][l] : gram[k][k];
                double step = fmax(-slope / bend, -x[k]);
                step = how->sums ? fmin(step, x[l]) : step;
                x[k] += step;
                moved = fmax(moved, fabs(step));
                x[l] -= how->sums ? step : 0;
                for (int m = 0; m < SPECTRA; m++) {
                    gradient[m] += step * (gram[m][k] - (how->sums ? gram[m][l] : 0));
                }
            }
        }
    }
}

/* Abundances x of pixel y; returns the root mean square of the residual. */
static double solve(const How *how, const double *y, double x[SPECTRA]) {
    double gram[SPECTRA][SPECTRA] = {{0}};
    double gradient[SPECTRA];
    double squares = 0;
    for (int k = 0; k < SPECTRA; k++) {
        x[k] = how->sums ? 1.0 / SPECTRA : 0;
    }
    for (int k = 0; k < SPECTRA; k++) {
        gradient[k] = how->lambda;
        for (int b = 0; b < BANDS; b++) {
            gradient[k] -= how->weight[b] * library_value(k, b) * y[b];
            for (int l = 0; l < SPECTRA; l++) {
                gram[k][l] += how->weight[b] * library_value(k, b) * library_value(l, b);
            }
        }
        for (int l = 0; l < SPECTRA; l++) {
            gradient[k] += gram[k][l] * x[l];
        }
    }
    descend(how, gram, gradient, x);
    for (int b = 0; b < BANDS; b++) {
        double rest = y[b];
        for (int k = 0; k < SPECTRA; k++) {
            rest -= x[k] * library_value(k, b);
        }
        squares += rest * rest;
    }
    return sqrt(squares / BANDS);
}

/* NAME.img holds abundances and, with `added`, rmse, iterations, gap and end. The scene is `factor` times the
 * unit of the library. */
static void check_map(const char *name, const Cube *scene, const How *how, double factor, double tolerance,
                      bool added) {
    Cube found = cube_read_floats(name, LINES, SAMPLES, SPECTRA + (added ? 4 : 0));
    int zeros = 0;
    int others = 0;
    for (size_t i = 0; i < cube_pixels(scene); i++) {
        const double *pixel = found.value + i * (size_t)found.bands;
        double y[BANDS];
        double x[SPECTRA];
        for (int b = 0; b < found.bands && !scene->valid[i]; b++) {
            assert_true(isnan(pixel[b]));
        }
        if (!scene->valid[i]) {
            continue;
        }
        for (int b = 0; b < BANDS; b++) {
            y[b] = scene->value[i * BANDS + (size_t)b] / factor;
        }
        How here = *how;
        here.lambda *= how->level != NULL ? how->level[i] : 1;
        double rmse = solve(&here, y, x);
        for (int k = 0; k < SPECTRA; k++) {
            check_near(pixel[k], x[k], tolerance);
            zeros += x[k] == 0;
            others += x[k] > 0;
        }
        if (added) {
            check_near(pixel[SPECTRA] / factor, rmse, tolerance);
            assert_true(pixel[SPECTRA + 1] >= 0 && pixel[SPECTRA + 1] <= 100000);
            assert_true(pixel[SPECTRA + 2] >= 0 && pixel[SPECTRA + 2] <= 1e-4);
            check_near(pixel[SPECTRA + 3], 0, 0);
        }
    }
    assert_true(zeros > 50 && others > 50);
    cube_free(&found);
}

#define ALL_BANDS "--add rmse,iterations,gap,end ! write out.img"

/* ---- against the definition ---- */

static void abundances_are_the_optimum(void **state) {
    (void)state;
    static const struct {
        const char *options;
        double lambda;
        bool sums, weighted;
        double tolerance;
    } cases[] = {{"", 1e-3, false, false, 2e-6},
                 {"--lambda 0", 0, false, false, 2e-6},
                 {"--lambda 0.05", 0.05, false, false, 2e-6},
                 {"--lambda 0.05 --weights noise.txt", 0.05, false, true, 2e-6},
                 {"--sum-to-one", 0, true, false, 2e-6},
                 {"--sum-to-one --weights noise.txt", 0, true, true, 2e-6},
                 {"--solver fista --gap 1e-6 --iterations 100000", 1e-3, false, false, 3e-4},
                 {"--solver alm --gap 1e-6 --iterations 100000", 1e-3, false, false, 3e-4}};
    Cube scene = write_scene("scene", 1, "");
    library_write("library.csv", 1, 0);
    How weighted = plain;
    double sum = 0;
    for (int b = 0; b < BANDS; b++) {
        weighted.weight[b] = 1 / (deviation_of(b) * deviation_of(b));
        sum += weighted.weight[b] / BANDS;
    }
    for (int b = 0; b < BANDS; b++) {
        weighted.weight[b] /= sum;
    }
    deviations_write("noise.txt");
    check_runs(NULL, "read scene.img ! unmix --library library.csv --scale none " ALL_BANDS);
    Cube first = cube_read_floats("out", LINES, SAMPLES, SPECTRA + 4);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        How how = cases[c].weighted ? weighted : plain;
        how.lambda = cases[c].lambda;
        how.sums = cases[c].sums;
        check_runs(NULL, "read scene.img ! unmix --library library.csv --scale none %s " ALL_BANDS,
                   cases[c].options);
        check_map("out", &scene, &how, 1, cases[c].tolerance, true);
    }
    static const char *const added[] = {"rmse", "iterations", "gap", "end"};
    for (int a = 0; a < 4; a++) {
        char names_behind[64];
        snprintf(names_behind, sizeof names_behind, "Asphalt,\n%s}", added[a]);
        check_runs(NULL, "read scene.img ! unmix --library library.csv --scale none --add %s ! write one.img",
                   added[a]);
        assert_true(file_holds("one.hdr", names_behind));
        Cube one = cube_read_floats("one", LINES, SAMPLES, SPECTRA + 1);
        check_near(one.value[(3 * SAMPLES + 8) * (SPECTRA + 1) + SPECTRA],
                   first.value[(3 * SAMPLES + 8) * (SPECTRA + 4) + SPECTRA + (size_t)a], 0);
        cube_free(&one);
    }
    cube_free(&first);
    assert_true(file_holds("out.hdr", "Alunite"));
    assert_true(file_holds("out.hdr", "Asphalt,\nrmse,\niterations,\ngap,\nend}"));
    assert_false(file_holds("out.hdr", "wavelength"));
    cube_free(&scene);
}

/* Half the deviation that the noise gives to the product of a pixel with a spectrum, the median of the
 * spectra, in the unit of the library. */
static double lambda_of(const HcStatistics *noise, const double *weight, double factor) {
    double deviation[SPECTRA];
    for (int k = 0; k < SPECTRA; k++) {
        double sum = 0;
        for (int b = 0; b < BANDS; b++) {
            double a = (float)(factor * library_value(k, b));
            sum += pow(weight[b] * a, 2) * noise->covariance[b * (BANDS + 1)];
        }
        deviation[k] = sqrt(sum);
        for (int l = k; l > 0 && deviation[l] < deviation[l - 1]; l--) {
            double kept = deviation[l];
            deviation[l] = deviation[l - 1];
            deviation[l - 1] = kept;
        }
    }
    return 0.5 * deviation[(SPECTRA - 1) / 2] / (factor * factor);
}

static void lambda_follows_the_noise(void **state) {
    (void)state;
    static const double factors[] = {1, 4096};
    library_write("library.csv", 1, 0);
    deviations_write("noise.txt");
    for (int f = 0; f < 2; f++) {
        HcError err = {0};
        HcStatistics noise = {0};
        HcText notes = {0};
        RunHow run = {.notes = &notes};
        How how = plain;
        Cube scene = write_scene("scene", factors[f], "");
        check_runs(NULL, "read scene.img ! cov noise.json --noise auto --overwrite");
        check_ok(hc_statistics_load(&noise, "noise.json", &err), err);
        how.lambda = lambda_of(&noise, how.weight, factors[f]);
        assert_true(how.lambda > 1e-5 && how.lambda < 1);
        check_runs(&run,
                   "read scene.img ! unmix --library library.csv --scale %g --lambda auto ! write out.img "
                   "--overwrite",
                   factors[f]);
        check_map("out", &scene, &how, factors[f], 2e-6, false);
        char says[64];
        snprintf(says, sizeof says, "unmix: --lambda auto: %.4g, for noise", how.lambda);
        check_says(notes.data, says);
        assert_non_null(strstr(notes.data, "unmix: --noise auto takes "));
        /* The unit of the scene is looked for in the same pass. */
        check_runs(NULL, "read scene.img ! unmix --library library.csv --lambda auto ! write looked.img "
                         "--overwrite");
        assert_true(file_exists("looked.img"));
        double sum = 0;
        for (int b = 0; b < BANDS; b++) {
            how.weight[b] = 1 / (deviation_of(b) * deviation_of(b));
            sum += how.weight[b] / BANDS;
        }
        for (int b = 0; b < BANDS; b++) {
            how.weight[b] /= sum;
        }
        how.lambda = lambda_of(&noise, how.weight, factors[f]);
        check_runs(
            NULL,
            "read scene.img ! unmix --library library.csv --scale %g --lambda auto --weights noise.txt ! "
            "write out.img --overwrite",
            factors[f]);
        check_map("out", &scene, &how, factors[f], 2e-6, false);
        hc_statistics_clear(&noise);
        hc_text_clear(&notes);
        cube_free(&scene);
    }
}

static double random_noise(uint64_t *seed) {
    return (double)(float)(0.02 * exp(2 * random_uniform(seed) - 1));
}

/* map.img holds the noise of each pixel; level becomes that over the root mean square of what is known. */
static void write_noise_map(const char *name, const double *noise, const char *more, double *level) {
    Cube map = cube_new(LINES, SAMPLES, 1);
    double sum = 0;
    int known = 0;
    for (size_t i = 0; i < cube_pixels(&map); i++) {
        map.value[i] = noise[i];
        bool is_known = noise[i] != -1;
        sum += is_known ? noise[i] * noise[i] : 0;
        known += is_known;
    }
    for (size_t i = 0; i < cube_pixels(&map); i++) {
        level[i] = noise[i] != -1 ? (double)(float)(noise[i] / sqrt(sum / known)) : 1;
    }
    cube_write(&map, name, HC_FLOAT32, "bsq", more);
    cube_free(&map);
}

/* Lambda goes with the noise of a raster; -1 is its nodata. */
static void lambda_goes_with_the_noise_of_pixels(void **state) {
    (void)state;
    static const char *const options[] = {"--lambda 0.02", "--lambda 0.02 --add rmse,iterations,gap,end",
                                          "--lambda 0.02 --solver fista --gap 1e-6 --iterations 100000"};
    uint64_t seed = 4;
    double noise[LINES * SAMPLES], level[LINES * SAMPLES];
    Cube scene = write_scene("scene", 1, "");
    library_write("library.csv", 1, 0);
    for (size_t i = 0; i < LINES * SAMPLES; i++) {
        noise[i] = i % 17 == 3 ? -1 : random_noise(&seed);
    }
    write_noise_map("map", noise, "data ignore value = -1\n", level);
    How how = plain;
    how.lambda = 0.02;
    how.level = level;
    for (size_t c = 0; c < sizeof options / sizeof *options; c++) {
        HcText notes = {0};
        RunHow run = {.notes = &notes};
        check_runs(&run,
                   "read scene.img ! unmix --library library.csv --scale none --noise-map map.img %s ! write "
                   "out.img --overwrite",
                   options[c]);
        check_map("out", &scene, &how, 1, c == 2 ? 3e-4 : 2e-6, c == 1);
        check_says(notes.data, "unmix: map.img: lambda ... noise of the pixels, from ");
        check_says(notes.data, "no noise there ... lambda is 0.02");
        hc_text_clear(&notes);
    }
    /* The library in another unit, --lambda auto, and a map in any unit. */
    for (size_t i = 0; i < LINES * SAMPLES; i++) {
        noise[i] = noise[i] == -1 ? -1 : (double)(float)(noise[i] * 512);
    }
    double same[LINES * SAMPLES];
    write_noise_map("wide", noise, "data ignore value = -1\n", same);
    HcText notes = {0};
    RunHow run = {.notes = &notes};
    check_runs(&run, "read scene.img ! unmix --library library.csv --scale none --lambda auto ! write a.img");
    const char *said = strstr(notes.data, "--lambda auto: ");
    assert_non_null(said);
    how.lambda = strtod(said + strlen("--lambda auto: "), NULL); /* four digits */
    hc_text_clear(&notes);
    check_runs(NULL, "read scene.img ! unmix --library library.csv --scale none --lambda auto --noise-map "
                     "wide.img ! write out.img --overwrite");
    check_map("out", &scene, &how, 1, 1e-3, false);
    /* A window of the scene takes that of the map of its file, or a map of its size. */
    static const char *const window = "--window 4,3,20,9";
    check_runs(NULL, "read map.img %s ! write part.img", window);
    for (int k = 0; k < 2; k++) {
        check_runs(NULL,
                   "read scene.img %s ! unmix --library library.csv --scale none --lambda 0.02 --noise-map "
                   "%s ! write window%d.img",
                   window, k == 0 ? "map.img" : "part.img", k);
    }
    Cube whole = cube_read_floats("window0", 9, 20, SPECTRA);
    Cube part = cube_read_floats("window1", 9, 20, SPECTRA);
    double sum[2] = {
        0}; /* the mean square is that of the window: lambda is another than in the whole scene */
    for (size_t i = 0; i < cube_pixels(&whole) * SPECTRA; i++) {
        check_same(whole.value[i], part.value[i]);
        sum[0] += isnan(whole.value[i]) ? 0 : whole.value[i];
    }
    assert_true(sum[0] > 10);
    cube_free(&whole);
    cube_free(&part);
    cube_free(&scene);
}

/* A map that noise --columns has made: each column has the noise that the file says. */
static void lambda_goes_with_the_noise_of_columns(void **state) {
    (void)state;
    double level[LINES * SAMPLES];
    double column[SAMPLES];
    Cube scene = write_scene("scene", 1, "");
    library_write("library.csv", 1, 0);
    check_runs(NULL, "read scene.img ! noise noise.json --columns 4");
    cJSON *json = NULL;
    HcError err = {0};
    check_ok(hc_json_read("noise.json", &json, &err), err);
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(json, "noise_by_columns");
    assert_int_equal(cJSON_GetArraySize(list), (SAMPLES + 3) / 4);
    double sum = 0;
    for (int s = 0; s < SAMPLES; s++) {
        const cJSON *group = cJSON_GetArrayItem(list, s / 4);
        column[s] = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(group, "relative_noise"));
        assert_true(column[s] > 0);
        column[s] = (double)(float)column[s];
        sum += column[s] * column[s] / SAMPLES;
    }
    cJSON_Delete(json);
    for (int i = 0; i < LINES * SAMPLES; i++) {
        level[i] = (double)(float)(column[i % SAMPLES] / sqrt(sum));
    }
    How how = plain;
    how.lambda = 0.05;
    how.level = level;
    check_runs(NULL, "read scene.img ! unmix --library library.csv --scale none --lambda 0.05 --noise-map "
                     "noise.json ! write out.img");
    check_map("out", &scene, &how, 1, 2e-6, false);
    /* Columns of a window are those of the file. */
    check_runs(NULL,
               "read scene.img --window 5,3,10,9 ! unmix --library library.csv --scale none --noise-map "
               "noise.json ! write out.img --overwrite");
    check_runs(NULL, "read scene.img --window 5,3,10,9 ! write part.img");
    check_run_fails(NULL, HC_E_INPUT, "noise.json: 26 groups of 4 columns ... 10 samples",
                    "read part.img ! unmix --library library.csv --noise-map noise.json ! write bad.img");
    cube_free(&scene);
}

/* The noise of a statistics file weighs as its standard deviations in a list do. */
static void statistics_are_weights(void **state) {
    (void)state;
    Cube scene = write_scene("scene", 1, "");
    library_write("library.csv", 1, 0);
    check_runs(NULL, "read scene.img ! cov noise.json --noise shift");
    check_runs(NULL, "read scene.img ! cov scene.json");
    cJSON *json = NULL;
    HcError err = {0};
    double covariance[BANDS * BANDS];
    char list[512] = "";
    check_ok(hc_json_read("noise.json", &json, &err), err);
    check_ok(hc_json_get_doubles(json, "covariance", covariance, BANDS * BANDS, "noise.json", &err), err);
    cJSON_Delete(json);
    for (int b = 0; b < BANDS; b++) {
        snprintf(list + strlen(list), sizeof list - strlen(list), "%.17g\n",
                 7 * sqrt(covariance[b * BANDS + b]));
    }
    file_write("noise.txt", list);
    check_runs(NULL, "read scene.img ! unmix --library library.csv --weights noise.json ! write a.img");
    check_runs(NULL, "read scene.img ! unmix --library library.csv --weights noise.txt ! write b.img");
    check_runs(NULL, "read scene.img ! unmix --library library.csv ! write c.img");
    Cube a = cube_read_floats("a", LINES, SAMPLES, SPECTRA);
    Cube b = cube_read_floats("b", LINES, SAMPLES, SPECTRA);
    Cube c = cube_read_floats("c", LINES, SAMPLES, SPECTRA);
    double apart = 0;
    for (size_t i = 0; i < cube_pixels(&a) * SPECTRA; i++) {
        if (scene.valid[i / SPECTRA]) {
            check_near(a.value[i], b.value[i], 1e-6);
            apart = fmax(apart, fabs(a.value[i] - c.value[i]));
        }
    }
    assert_true(apart > 1e-3);
    /* A list for the bands of the file serves what is left of them. */
    check_runs(NULL, "read scene.img ! bands 1-4,7-14 ! unmix --library library.csv --weights noise.txt ! "
                     "write some.img");
    FILE *file = fopen("some.txt", "w");
    assert_non_null(file);
    for (int k = 0; k < BANDS; k++) {
        if (k < 4 || k > 5) {
            fprintf(file, "%.17g;", sqrt(covariance[k * BANDS + k]));
        }
    }
    assert_int_equal(fclose(file), 0);
    check_runs(NULL, "read scene.img ! bands 1-4,7-14 ! unmix --library library.csv --weights some.txt ! "
                     "write own.img");
    /* So do statistics, which know the numbers of their bands. */
    check_runs(NULL, "read scene.img ! bands 1-4,7-14 ! unmix --library library.csv --weights noise.json ! "
                     "write part.img");
    check_near_components("part", "own", LINES, SAMPLES, SPECTRA, 1e-5);
    Cube some = cube_read_floats("some", LINES, SAMPLES, SPECTRA);
    Cube own = cube_read_floats("own", LINES, SAMPLES, SPECTRA);
    for (size_t i = 0; i < cube_pixels(&a) * SPECTRA; i++) {
        if (scene.valid[i / SPECTRA]) {
            check_near(some.value[i], own.value[i], 1e-6);
        }
    }
    cube_free(&own);
    cube_free(&some);
    cube_free(&c);
    cube_free(&b);
    cube_free(&a);
    cube_free(&scene);
}

/* ---- scale ---- */

static void libraries_come_to_the_unit_of_the_scene(void **state) {
    (void)state;
    static const struct {
        const char *scene, *library, *options, *note;
        double factor; /* scene over library */
        int passes;
    } cases[] = {{"large.img", "library.csv", "", "multiplied by 10000", 1e4, 2},
                 {"header.img", "library.csv", "", "multiplied by 10000", 1e4, 1},
                 {"large.img", "library.csv", "--scale 10000", NULL, 1e4, 1},
                 {"scene.img", "percent.csv", "", "multiplied by 0.01", 1e-2, 2},
                 {"scene.img", "library.csv", "", NULL, 1, 2}};
    Cube scene = write_scene("scene", 1, "");
    Cube large = write_scene("large", 1e4, "");
    Cube header = write_scene("header", 1e4, "reflectance scale factor = 10000\n");
    library_write("library.csv", 1, 0);
    library_write("percent.csv", 100, 0);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        HcText notes = {0};
        HcRunReport report = {0};
        RunHow run = {.notes = &notes, .report = &report};
        /* Lambda is in squared units of the library. */
        double unit = cases[c].factor == 1e-2 ? 1e4 : 1;
        const Cube *from = cases[c].factor == 1e4 ? &large : &scene;
        check_runs(&run, "read %s ! unmix --library %s --lambda %.17g %s " ALL_BANDS, cases[c].scene,
                   cases[c].library, 0.02 * unit, cases[c].options);
        How how = plain;
        how.lambda = 0.02;
        check_map("out", from, &how, cases[c].factor == 1e4 ? 1e4 : 1, 3e-6, true);
        assert_int_equal(report.passes, cases[c].passes);
        assert_true(cases[c].note == NULL ? notes.data == NULL || strstr(notes.data, "multiplied") == NULL
                                          : strstr(notes.data, cases[c].note) != NULL);
        hc_text_clear(&notes);
    }
    /* Abundances of spectra that are not brought to the scene are as many times as large. */
    check_runs(NULL, "read large.img ! unmix --library library.csv --lambda 0 --scale none ! write out.img");
    check_runs(NULL, "read large.img ! unmix --library library.csv --lambda 0 --scale 1e4 ! write unit.img");
    Cube out = cube_read_floats("out", LINES, SAMPLES, SPECTRA);
    Cube unit = cube_read_floats("unit", LINES, SAMPLES, SPECTRA);
    for (size_t i = 0; i < cube_pixels(&scene) * SPECTRA; i++) {
        if (scene.valid[i / SPECTRA]) {
            check_near(out.value[i] / 1e4, unit.value[i], 2e-6);
        }
    }
    cube_free(&unit);
    cube_free(&out);
    cube_free(&header);
    cube_free(&large);
    cube_free(&scene);
}

/* ---- the sample scene, whose truth is known ---- */

/* Root mean square error of the abundances of the materials, which are these bands of the output. */
static double error_of(const char *library, const char *options, const int band[MATERIALS], int32_t bands) {
    char scene[1024];
    char spectra[1024];
    char abundance[1024];
    double squares = 0;
    double count = 0;
    check_runs(NULL, "read %s ! unmix --library %s %s ! write out.img",
               sample_path(scene, sizeof scene, "scene.hdr"), sample_path(spectra, sizeof spectra, library),
               options);
    Cube truth =
        cube_read_floats(sample_path(abundance, sizeof abundance, "abundance"), SIDE, SIDE, MATERIALS);
    Cube out = cube_read_floats("out", SIDE, SIDE, bands);
    for (size_t i = 0; i < cube_pixels(&truth); i++) {
        for (size_t m = 0; m < MATERIALS && truth.value[i * MATERIALS] >= 0; m++) {
            double found = out.value[i * (size_t)bands + (size_t)band[m]];
            squares += pow(found - truth.value[i * MATERIALS + m], 2);
            count++;
        }
    }
    printf("sample scene, %s %s: RMSE %.4f\n", library, options, sqrt(squares / count));
    cube_free(&out);
    cube_free(&truth);
    return sqrt(squares / count);
}

static void materials_of_the_sample_scene(void **state) {
    (void)state;
    static const int own[MATERIALS] = {0, 1, 2, 3, 4, 5};
    static const int of_library[MATERIALS] = {2, 11, 19, 21, 48, 53};
    check_near(error_of("endmembers.sli", "--sum-to-one", own, MATERIALS), 0.0060, 0.0002);
    check_near(error_of("endmembers.sli", "--lambda 0", own, MATERIALS), 0.0104, 0.0002);
    check_near(error_of("endmembers.sli", "--lambda 0.0001", own, MATERIALS), 0.0084, 0.0002);
    /* Resampled, and much goes to spectra that are alike. */
    check_near(error_of("library.sli", "--sum-to-one", of_library, 60), 0.115, 0.002);
    check_near(error_of("library.sli", "--lambda 0", of_library, 60), 0.132, 0.002);
}

/* ---- what becomes of the abundances ---- */

static void the_largest_are_kept(void **state) {
    (void)state;
    static const double thresholds[] = {0, 0.2};
    Cube scene = write_scene("scene", 1, "");
    library_write("library.csv", 1, 0);
    check_runs(NULL, "read scene.img ! unmix --library library.csv --add rmse ! write all.img");
    Cube all = cube_read_floats("all", LINES, SAMPLES, SPECTRA + 1);
    for (size_t t = 0; t < sizeof thresholds / sizeof *thresholds; t++) {
        double threshold = thresholds[t];
        int missing = 0;
        int cut = 0;
        check_runs(NULL,
                   "read scene.img ! unmix --library library.csv --top 3 --threshold %g --add rmse ! "
                   "write top.img",
                   threshold);
        check_runs(NULL,
                   "read scene.img ! unmix --library library.csv --threshold %g --add rmse ! write cut.img",
                   threshold);
        Cube top = cube_read_floats("top", LINES, SAMPLES, 7);
        Cube above = cube_read_floats("cut", LINES, SAMPLES, SPECTRA + 1);
        for (size_t i = 0; i < cube_pixels(&scene); i++) {
            const double *x = all.value + i * (SPECTRA + 1);
            const double *kept = above.value + i * (SPECTRA + 1);
            const double *pixel = top.value + i * 7;
            double left[SPECTRA];
            if (!scene.valid[i]) {
                assert_true(isnan(pixel[0]) && isnan(pixel[6]));
                continue;
            }
            for (int k = 0; k < SPECTRA; k++) {
                left[k] = x[k] >= threshold ? x[k] : 0;
                check_near(kept[k], left[k], 0);
                cut += left[k] != x[k];
            }
            for (int n = 0; n < 3; n++) {
                int largest = 0;
                for (int k = 1; k < SPECTRA; k++) {
                    largest = left[k] > left[largest] ? k : largest;
                }
                check_near(pixel[n], left[largest] > 0 ? largest + 1 : 0, 0);
                check_near(pixel[3 + n], left[largest], 0);
                missing += !(left[largest] > 0);
                left[largest] = 0;
            }
            check_near(pixel[6], x[SPECTRA], 0);
            check_near(kept[SPECTRA], x[SPECTRA], 0);
        }
        assert_true(missing > 0 && (cut > 0) == (threshold > 0));
        cube_free(&above);
        cube_free(&top);
    }
    assert_true(file_holds("top.hdr", "{\nspectrum 1,\nspectrum 2,\nspectrum 3,\nabundance 1,"));
    cube_free(&all);
    cube_free(&scene);
}

/* ---- the record ---- */

/* Checks the record against the abundances of some.img. */
static void check_record(const char *notes) {
    cJSON *json = NULL;
    const cJSON *result = read_result(&json);
    Cube found = cube_read_floats("some", LINES, SAMPLES, SPECTRA);
    check_spectra(result, &found);
    assert_true(number_of(result, "largest_gap") >= 0 && number_of(result, "largest_gap") <= 1e-4);
    assert_null(strstr(notes, "ended before the gap"));
    cJSON_Delete(json);
    cube_free(&found);
}

static void records_sum_up(void **state) {
    (void)state;
    Cube scene = write_scene("scene", 1, "");
    check_counts("unmix --library", "--threshold 0.03", check_record);

    /* One step is not enough, and that is said. */
    HcText notes = {0};
    RunHow how = {.notes = &notes, .settings = {.record = "record.json"}};
    check_runs(&how, "read scene.img ! unmix --library library.csv --iterations 1 " ALL_BANDS);
    Cube out = cube_read_floats("out", LINES, SAMPLES, SPECTRA + 4);
    int unfinished = 0;
    double worst = 0;
    for (size_t i = 0; i < cube_pixels(&scene); i++) {
        const double *pixel = out.value + i * (SPECTRA + 4);
        if (scene.valid[i]) {
            assert_true(pixel[SPECTRA + 3] == (pixel[SPECTRA + 2] > 1e-4));
            unfinished += pixel[SPECTRA + 3] == 1;
            worst = fmax(worst, pixel[SPECTRA + 2]);
        }
    }
    cJSON *json = NULL;
    const cJSON *result = read_result(&json);
    assert_true(unfinished > 0);
    check_near(number_of(result, "unfinished_pixels"), unfinished, 0);
    check_near(number_of(result, "largest_gap"), worst, 1e-6 * worst);
    check_says(notes.data, "pixels ended before the gap of 0.0001");
    cJSON_Delete(json);
    hc_text_clear(&notes);
    cube_free(&out);
    cube_free(&scene);
}

/* ---- the same bytes ---- */

static void blocks_threads_and_devices_agree(void **state) {
    (void)state;
    static const char *const chains[] = {
        "read scene.img ! unmix --library library.csv --add rmse,gap ! filter median3x3 ! write out.img",
        "read scene.img ! unmix --library library.csv --sum-to-one --top 2 --threshold 0.1 ! write out.img",
        "read scene.img ! unmix --library library.csv --scale 1 --add iterations ! pca ! write out.img",
        "read scene.img ! unmix --library library.csv --lambda auto ! write out.img",
        "read scene.img ! unmix --library library.csv --lambda auto --scale none ! write out.img",
        ("read scene.img ! denoise --components 3 ! unmix --library library.csv --lambda auto ! write "
         "out.img"),
        "read scene.img ! unmix --library library.csv --noise-map map.img ! write out.img"};
    uint64_t seed = 6;
    double noise[LINES * SAMPLES], level[LINES * SAMPLES];
    Cube scene = write_scene("scene", 1, "");
    library_write("library.csv", 1, 0);
    for (size_t i = 0; i < LINES * SAMPLES; i++) {
        noise[i] = random_noise(&seed);
    }
    write_noise_map("map", noise, NULL, level);
    check_runs_agree(chains, sizeof chains / sizeof *chains, 10);
    /* A later stage sees what a file would hold. */
    check_runs(NULL, "read scene.img ! unmix --library library.csv ! write one.img");
    check_runs(NULL, "read one.img ! filter median3x3 ! write two.img");
    check_runs(NULL, "read scene.img ! unmix --library library.csv ! filter median3x3 ! write both.img");
    check_same_files("two.img", "both.img");
    cube_free(&scene);
}

static void masked_scenes_stay_masked(void **state) {
    (void)state;
    check_without_pixels("unmix --library", "", SPECTRA);
}

static void failures_leave_nothing(void **state) {
    (void)state;
    static const char *const chains[] = {
        "read scene.img ! unmix --library library.csv ! write out.img",
        "read scene.img ! unmix --library library.csv --scale none ! write out.img",
        "read scene.img ! unmix --library library.csv --lambda auto --scale none ! write out.img",
        "read scene.img ! unmix --library library.csv --scale none --noise-map map.img ! write out.img"};
    double noise[LINES * SAMPLES], level[LINES * SAMPLES];
    for (size_t i = 0; i < LINES * SAMPLES; i++) {
        noise[i] = 1 + (double)(i % 7);
    }
    write_noise_map("map", noise, NULL, level);
    static const char *const results[] = {"out.img", "out.hdr", NULL};
    Cube scene = write_scene("scene", 1, "");
    library_write("library.csv", 1, 0);
    check_failures_leave_nothing(chains, sizeof chains / sizeof *chains, 10, results);
    cube_free(&scene);
}

/* ---- what cannot work ---- */

static void write_one_band(const char *name, int32_t lines, int32_t samples, int32_t bands, double value) {
    Cube cube = cube_new(lines, samples, bands);
    for (size_t i = 0; i < cube_pixels(&cube) * (size_t)bands; i++) {
        cube.value[i] = 1;
    }
    cube.value[samples + 2] = value;
    cube_write(&cube, name, HC_FLOAT32, "bsq", NULL);
    cube_free(&cube);
}

static void wrong_maps_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *options;
        HcStatus status;
        const char *part;
    } cases[] = {{"--noise-map good.img --sum-to-one", HC_E_USAGE, "--sum-to-one excludes --noise-map"},
                 {"--noise-map good.img --lambda 0", HC_E_USAGE,
                  "--noise-map good.img: changes nothing with --lambda 0"},
                 {"--noise-map missing.img", HC_E_INPUT, "missing.img"},
                 {"--noise-map missing.json", HC_E_INPUT, "missing.json"},
                 {"--noise-map wide.img", HC_E_INPUT, "wide.img: has 2 lines x 5 samples, "},
                 {"--noise-map two.img", HC_E_INPUT, "two.img: has 2 bands ... one band is needed"},
                 {"--noise-map zero.img", HC_E_INPUT, "zero.img ... line 1, sample 2 ... is 0, not above 0"},
                 {"--noise-map below.img", HC_E_INPUT, "line 1, sample 2 ... is -0.5, not above 0"},
                 {"--noise-map endless.img", HC_E_INPUT, "line 1, sample 2 ... is inf, not above 0"},
                 {"--noise-map none.img", HC_E_INPUT, "none.img: no pixel has a noise"},
                 {"--noise-map cov.json", HC_E_INPUT, "cov.json: no noise of columns ... --columns"},
                 {"--noise-map plain.json", HC_E_INPUT, "plain.json: no noise of columns"},
                 {"--noise-map dead.json", HC_E_INPUT, "dead.json ... group 2 is 0, not above 0"},
                 {"--noise-map lack.json", HC_E_INPUT, "lack.json: \"relative_noise\" of group 1 is missing"},
                 {"--noise-map few.json", HC_E_INPUT, "few.json: 1 groups of 2 columns"},
                 {"--noise-map broken.json", HC_E_INPUT, "broken.json"}};
    Cube scene = write_scene("scene", 1, "");
    library_write("library.csv", 1, 0);
    write_one_band("good", LINES, SAMPLES, 1, 2);
    write_one_band("wide", 2, 5, 1, 2);
    write_one_band("two", LINES, SAMPLES, 2, 2);
    write_one_band("zero", LINES, SAMPLES, 1, 0);
    write_one_band("below", LINES, SAMPLES, 1, -0.5);
    write_one_band("endless", LINES, SAMPLES, 1, (double)INFINITY);
    Cube none = cube_new(LINES, SAMPLES, 1);
    cube_write(&none, "none", HC_FLOAT32, "bsq", "data ignore value = 0\n");
    cube_free(&none);
    check_runs(NULL, "read scene.img ! cov cov.json --noise shift ! noise plain.json");
    HcText text = {0};
    hc_text_add(&text, "{\"hcube_noise\": 1, \"columns\": 2, \"noise_by_columns\": [");
    for (int g = 0; g < (SAMPLES + 1) / 2; g++) {
        hc_text_add(&text, "%s{\"relative_noise\": %d}", g > 0 ? ", " : "", g != 1);
    }
    hc_text_add(&text, "]}");
    file_write("dead.json", text.data);
    hc_text_clear(&text);
    hc_text_add(&text, "{\"hcube_noise\": 1, \"columns\": %d, \"noise_by_columns\": [{}]}", SAMPLES);
    file_write("lack.json", text.data);
    hc_text_clear(&text);
    file_write("few.json",
               "{\"hcube_noise\": 1, \"columns\": 2, \"noise_by_columns\": [{\"relative_noise\": 1}]}");
    file_write("broken.json", "{\"hcube_noise\": 1, \"columns\"");
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        check_run_fails(NULL, cases[c].status, cases[c].part,
                        "read scene.img ! unmix --library library.csv %s ! write bad.img", cases[c].options);
    }
    assert_false(file_exists("bad.img"));
    cube_free(&scene);
}

static void wrong_options_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *chain;
        HcStatus status;
        const char *part;
    } cases[] = {
        {"unmix", HC_E_USAGE, "--library"},
        {"unmix --library library.csv --lambda -1", HC_E_USAGE, "--lambda -1 ... 0 and 1e30"},
        {"unmix --library library.csv --lambda nan", HC_E_USAGE, "--lambda nan: not a number"},
        {"unmix --library library.csv --lambda inf", HC_E_USAGE, "--lambda inf"},
        {"unmix --library library.csv --lambda 0.1 --sum-to-one", HC_E_USAGE,
         "--sum-to-one excludes --lambda"},
        {"unmix --library library.csv --lambda auto --sum-to-one", HC_E_USAGE,
         "--sum-to-one excludes --lambda"},
        {"unmix --library library.csv --lambda automatic", HC_E_USAGE, "--lambda automatic: not a number"},
        {"unmix --library library.csv --top 0", HC_E_USAGE, "--top 0"},
        {"unmix --library library.csv --top 6", HC_E_USAGE, "--top 6: library.csv has 5 spectra"},
        {"unmix --library library.csv --threshold -0.1", HC_E_USAGE, "--threshold -0.1"},
        {"unmix --library library.csv --gap 0", HC_E_USAGE, "--gap 0"},
        {"unmix --library library.csv --iterations 0", HC_E_USAGE, "--iterations 0"},
        {"unmix --library library.csv --solver simplex", HC_E_USAGE, "--solver simplex: must be one of"},
        {"unmix --library library.csv --add rmsd", HC_E_USAGE, "--add rmsd: unknown, did you mean rmse?"},
        {"unmix --library library.csv --add rmse,bands", HC_E_USAGE, "--add bands: rmse, iterations"},
        {"unmix --library library.csv --top 2 ! unmix --library library.csv", HC_E_USAGE, "no spectra"}};
    Cube scene = write_scene("scene", 1, "");
    check_library_refusals("unmix --library");
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        check_run_fails(NULL, cases[c].status, cases[c].part, "read scene.img ! %s ! write bad.img",
                        cases[c].chain);
    }
    /* A scene without wavelengths takes a library of as many bands, and no other. */
    cube_write(&scene, "dumb", HC_FLOAT32, "bsq", "data ignore value = -9999\n");
    check_runs(NULL, "read dumb.img ! unmix --library library.csv ! write out.img");
    check_run_fails(NULL, HC_E_INPUT, "far.csv: ", "read dumb.img ! unmix --library far.csv ! write bad.img");
    assert_false(file_exists("bad.img"));
    cube_free(&scene);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(abundances_are_the_optimum),
        IN_FOLDER(lambda_follows_the_noise),
        IN_FOLDER(lambda_goes_with_the_noise_of_pixels),
        IN_FOLDER(lambda_goes_with_the_noise_of_columns),
        IN_FOLDER(statistics_are_weights),
        IN_FOLDER(libraries_come_to_the_unit_of_the_scene),
        IN_FOLDER(materials_of_the_sample_scene),
        IN_FOLDER(the_largest_are_kept),
        IN_FOLDER(records_sum_up),
        IN_FOLDER(blocks_threads_and_devices_agree),
        IN_FOLDER(masked_scenes_stay_masked),
        IN_FOLDER(failures_leave_nothing),
        IN_FOLDER(wrong_maps_are_refused),
        IN_FOLDER(wrong_options_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
