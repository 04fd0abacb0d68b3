#include "core/patch.h"
#include "tests/support/reference.h"
#include "tests/support/strict_runs.h"
#include "tests/support/truth.h"

#include <stdio.h>
#include <stdlib.h>

enum { LINES = 23, SAMPLES = 19, BANDS = 7 };

/* Two signals that change slowly and noise of variance 1; with_border: a masked border and a NaN or two. */
static Cube make_cube(int32_t lines, int32_t samples, int32_t bands, bool with_border, uint64_t seed) {
    Cube cube = cube_new(lines, samples, bands);
    for (int32_t line = 0; line < lines; line++) {
        for (int32_t sample = 0; sample < samples; sample++) {
            double *pixel = cube_pixel(&cube, line, sample);
            for (int32_t b = 0; b < bands; b++) {
                pixel[b] = (double)(float)(40 + 8 * sin(0.2 * line + 0.1 * sample) * cos(1.0 + b) +
                                           7 * cos(0.3 * sample) * sin(0.5 * b * b) + random_normal(&seed));
            }
        }
    }
    if (with_border) {
        cube_border(&cube, 0);
        cube_pixel(&cube, lines / 2, samples / 2)[bands - 1] = NAN;
        cube.valid[lines / 2 * samples + samples / 2] = 0;
    }
    return cube;
}

static const char *const nodata = "data ignore value = 0\n";

/* ---- against the definition ---- */

/* One rule. A patch's singular values are the roots of the eigenvalues of X'X. */
typedef struct Rule {
    const char *words; /* as typed */
    int32_t size, step;
    char keep;    /* 'o'ptimal, 'e'dge, 's'hrink, 'c'ount */
    double noise; /* 0 = estimated */
    int32_t count;
} Rule;

static double keep_value(const Rule *rule, double noise, int32_t m, int32_t n, int32_t k, double value) {
    double b = (double)m / n;
    double y = value / (noise * sqrt(n));
    double limit =
        rule->keep == 'o' ? sqrt(2 * (b + 1) + 8 * b / (b + 1 + sqrt(b * b + 14 * b + 1))) : 1 + sqrt(b);
    if (rule->keep == 'c') {
        return k < rule->count ? value : 0;
    }
    assert_true(fabs(y / limit - 1) > 1e-4); /* or rounding decides */
    return y <= limit ? 0 : rule->keep == 's' ? value * sqrt(pow(y * y - b - 1, 2) - 4 * b) / (y * y) : value;
}

/* Adds what one patch says to sum[lines][samples][BANDS] and dimension[lines][samples]. */
static void add_patch(const Cube *cube, const Rule *rule, int32_t line0, int32_t sample0, int32_t lines,
                      int32_t samples, double *sum, double *dimension) {
    double gram[BANDS * BANDS] = {0};
    double squares[BANDS];
    double vectors[BANDS * BANDS];
    double weight[BANDS * BANDS] = {0};
    double value[BANDS];
    int32_t valid = 0;
    for (int32_t i = 0; i < lines * samples; i++) {
        int32_t line = line0 + i / samples;
        int32_t sample = sample0 + i % samples;
        const double *x = cube_pixel(cube, line, sample);
        bool is_valid = cube->valid[line * cube->samples + sample] != 0;
        valid += is_valid;
        for (int32_t e = 0; e < BANDS * BANDS && is_valid; e++) {
            gram[e] += x[e / BANDS] * x[e % BANDS];
        }
    }
    int32_t m = valid < BANDS ? valid : BANDS;
    int32_t n = valid < BANDS ? BANDS : valid;
    reference_eigen(BANDS, gram, squares, vectors);
    for (int32_t k = 0; k < BANDS; k++) {
        value[k] = sqrt(fmax(squares[k], 0));
    }
    double noise = rule->noise;
    if (noise == 0 && m > 0) {
        noise = (value[(m - 1) / 2] + value[m / 2]) / 2 / sqrt(n * hc_patch_median((double)m / n));
    }
    int32_t count = 0;
    for (int32_t k = 0; k < m; k++) {
        double kept = keep_value(rule, noise, m, n, k, value[k]);
        count += kept > 0;
        for (int32_t e = 0; e < BANDS * BANDS && kept > 0; e++) {
            weight[e] += kept / value[k] * vectors[e / BANDS * BANDS + k] * vectors[e % BANDS * BANDS + k];
        }
    }
    for (int32_t i = 0; i < lines * samples; i++) {
        int64_t pixel = (int64_t)(line0 + i / samples) * cube->samples + sample0 + i % samples;
        const double *x = cube->value + pixel * BANDS;
        dimension[pixel] += count;
        for (int32_t e = 0; e < BANDS * BANDS && cube->valid[pixel]; e++) {
            sum[pixel * BANDS + e / BANDS] += weight[e] * x[e % BANDS];
        }
    }
}

/* Where patches begin along a side; returns how many. */
static int32_t starts_of(int32_t length, const Rule *rule, int32_t *start) {
    int32_t count = 0;
    for (int32_t at = 0; at + rule->size < length; at += rule->step) {
        start[count++] = at;
    }
    start[count++] = length > rule->size ? length - rule->size : 0;
    return count;
}

static void check_rule(const Cube *cube, const char *read, const Rule *rule) {
    int32_t lines = cube->lines < rule->size ? cube->lines : rule->size;
    int32_t samples = cube->samples < rule->size ? cube->samples : rule->size;
    size_t pixels = cube_pixels(cube);
    double *sum = calloc(pixels * (BANDS + 2), sizeof *sum);
    assert_non_null(sum);
    double *dimension = sum + pixels * BANDS;
    double *holders = dimension + pixels;
    int32_t down[64];
    int32_t across[64];
    int32_t rows = starts_of(cube->lines, rule, down);
    int32_t columns = starts_of(cube->samples, rule, across);
    for (int32_t p = 0; p < rows * columns; p++) {
        int32_t line = down[p / columns];
        int32_t sample = across[p % columns];
        add_patch(cube, rule, line, sample, lines, samples, sum, dimension);
        for (int32_t i = 0; i < lines * samples; i++) {
            holders[(line + i / samples) * cube->samples + sample + i % samples]++;
        }
    }
    check_runs(NULL, "%s ! svd %s ! write out.img --nodata nan", read, rule->words);
    int32_t values = lines * samples == 1 ? 1 : 2;
    check_runs(NULL, "%s ! svd %s --output dimension --values %d ! write local.img", read, rule->words,
               values);
    Cube out = cube_read_floats("out", cube->lines, cube->samples, BANDS);
    Cube local = cube_read_floats("local", cube->lines, cube->samples, 1 + values);
    for (size_t i = 0; i < pixels; i++) {
        for (size_t b = 0; b < BANDS; b++) {
            double got = out.value[i * BANDS + b];
            if (cube->valid[i]) {
                check_near(got, sum[i * BANDS + b] / holders[i], 2e-4);
            } else {
                assert_true(isnan(got));
            }
        }
        const double *described = local.value + i * (size_t)(1 + values);
        if (cube->valid[i]) {
            check_near(described[0], dimension[i] / holders[i], 1e-6 * BANDS);
            assert_true(described[1] >= described[values]);
        } else {
            assert_true(isnan(described[0]) && isnan(described[values]));
        }
    }
    cube_free(&local);
    cube_free(&out);
    free(sum);
}

static const Rule rules[] = {{"--side 4 --keep optimal --noise 1", 4, 2, 'o', 1, 0},
                             {"--side 5 --step 3 --keep edge --noise 1.5", 5, 3, 'e', 1.5, 0},
                             {"--keep shrink --noise 1", 8, 4, 's', 1, 0},
                             {"--side 6 --tiled --keep shrink --noise estimate", 6, 6, 's', 0, 0},
                             {"--side 3 --step 1 --keep optimal --noise estimate", 3, 1, 'o', 0, 0},
                             {"--side 7 --keep 2", 7, 3, 'c', 1, 2},
                             {"--side 1 --keep shrink --noise 1", 1, 1, 's', 1, 0},
                             {"--side 32 --step 32 --keep optimal --noise 1", 32, 32, 'o', 1, 0}};

static void agrees_with_the_definition(void **state) {
    (void)state;
    for (int masked = 0; masked < 2; masked++) {
        Cube cube = make_cube(LINES, SAMPLES, BANDS, masked != 0, 3);
        cube_write(&cube, "scene", HC_FLOAT32, "bil", masked ? nodata : NULL);
        for (size_t r = 0; r < sizeof rules / sizeof *rules; r++) {
            check_rule(&cube, "read scene.img", &rules[r]);
        }
        cube_free(&cube);
    }
    static const int32_t shapes[][2] = {{1, 1}, {1, 12}, {12, 1}, {5, 9}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        Cube cube = make_cube(shapes[s][0], shapes[s][1], BANDS, false, 4);
        cube_write(&cube, "small", HC_FLOAT32, "bip", NULL);
        check_rule(&cube, "read small.img", &rules[0]);
        check_rule(&cube, "read small.img", &rules[2]);
        cube_free(&cube);
    }
}

/* Signal without noise: as many dimensions as there are spectra in the patches. */
static void dimensions_are_counted(void **state) {
    (void)state;
    uint64_t seed = 5;
    Cube cube = cube_new(16, 24, 9);
    for (int32_t line = 0; line < 16; line++) {
        for (int32_t sample = 0; sample < 24; sample++) {
            for (int32_t b = 0; b < 9; b++) {
                /* 1 to 3 spectra in a tile, which are unit vectors. */
                double share = 1000 * (0.5 + random_uniform(&seed));
                cube_pixel(&cube, line, sample)[b] = b <= sample / 8 ? share : 0;
            }
        }
    }
    cube_write(&cube, "scene", HC_FLOAT32, "bsq", NULL);
    check_runs(NULL, "read scene.img ! svd --tiled --output dimension --values 9 ! write out.img");
    Cube out = cube_read_floats("out", 16, 24, 10);
    for (int32_t line = 0; line < 16; line++) {
        for (int32_t sample = 0; sample < 24; sample++) {
            const double *pixel = cube_pixel(&out, line, sample);
            int32_t dimension = sample / 8 + 1;
            check_near(pixel[0], dimension, 0);
            for (int32_t k = 1; k < 9; k++) {
                assert_true(pixel[k] >= pixel[k + 1] && (k <= dimension ? pixel[k] > 1000 : pixel[k] < 0.1));
            }
        }
    }
    assert_true(file_holds("out.hdr", "band names = {\ndimension,\nsingular value 1,\nsingular value 2,\n"));
    assert_false(file_holds("out.hdr", "wavelength"));
    check_runs(NULL, "read scene.img ! svd --output dimension --keep optimal ! write optimal.img");
    check_runs(NULL, "read scene.img ! svd --output dimension ! write standard.img");
    check_same_files("optimal.img", "standard.img");
    HcText notes = {0};
    RunHow how = {.notes = &notes};
    check_runs(&how, "read scene.img ! svd --side 2 --output dimension --values 5 ! write four.img");
    check_says(notes.data, "svd: --values 5 ... only 4");
    hc_text_clear(&notes);
    Cube four = cube_read_floats("four", 16, 24, 5);
    cube_free(&four);
    cube_free(&out);
    cube_free(&cube);
}

/* ---- the same bytes ---- */

static void blocks_threads_and_devices_agree(void **state) {
    (void)state;
    static const char *const chains[] = {
        "read scene.img ! svd --side 5 --step 2 --noise estimate ! write out.img",
        "read scene.img ! mnf --noise shift ! svd --side 6 --keep optimal ! mnf --inverse ! write out.img",
        "read scene.img ! svd --side 4 --noise 1 ! svd --side 3 --noise 0.3 ! filter ! write out.img",
        "read scene.img ! svd --keep 2 --output dimension --values 3 ! pca ! write out.img"};
    Cube cube = make_cube(41, 30, BANDS, true, 6);
    cube_write(&cube, "scene", HC_FLOAT32, "bil", nodata);
    check_runs_agree(chains, sizeof chains / sizeof *chains, 35);
    cube_free(&cube);
}

/* Stages behind it may look at neighbours: the chain is the same as one step after the other. */
static void neighbours_are_there_for_later_stages(void **state) {
    (void)state;
    Cube cube = make_cube(37, 20, BANDS, true, 7);
    cube_write(&cube, "scene", HC_FLOAT32, "bsq", nodata);
    check_runs(NULL, "read scene.img ! svd --side 6 ! write one.img --nodata nan");
    check_runs(NULL, "read one.img ! filter median3x3 ! write two.img --nodata nan");
    RunHow how = {.settings = {.block_lines = 35}};
    check_runs(&how, "read scene.img ! svd --side 6 ! filter median3x3 ! write both.img --nodata nan");
    check_same_files("two.img", "both.img");

    /* Integers come in, none go out: sums that took them for such would be wrong. */
    cube_pixel(&cube, 37 / 2, 20 / 2)[BANDS - 1] = 0; /* was NaN */
    cube_write(&cube, "whole", HC_UINT16, "bsq", nodata);
    check_runs(NULL, "read whole.img ! svd --noise estimate ! write one.img --nodata nan");
    check_runs(NULL, "read one.img ! pca ! write two.img");
    check_runs(NULL, "read whole.img ! svd --noise estimate ! pca ! write both.img");
    check_same_files("two.img", "both.img");
    cube_free(&cube);
}

/* ---- between mnf and its inverse ---- */

static void check_all_kept(const char *scene, const Cube *cube, double tolerance) {
    check_runs(NULL,
               "read %s ! mnf --keep-all ! svd --keep 4096 ! mnf --inverse ! write back.img --nodata nan",
               scene);
    Cube back = cube_read_floats("back", cube->lines, cube->samples, cube->bands);
    size_t bands = (size_t)cube->bands;
    for (size_t i = 0; i < cube_pixels(cube) * bands; i++) {
        if (cube->valid[i / bands]) {
            check_near(back.value[i], cube->value[i], tolerance);
        } else {
            assert_true(isnan(back.value[i]));
        }
    }
    cube_free(&back);
}

static void inverse_follows_with_the_bands_of_the_scene(void **state) {
    (void)state;
    Cube cube = make_cube(30, 30, BANDS, true, 8);
    const char *header = "data ignore value = 0\nwavelength units = nm\n"
                         "wavelength = {400, 500, 600, 700, 800, 900, 1000}\n"
                         "band names = {a, b, c, d, e, f, g}\n";
    cube_write(&cube, "scene", HC_FLOAT32, "bil", header);
    check_all_kept("scene.img", &cube, 1e-3);
    assert_true(file_holds("back.hdr", "400, 500, 600, 700, 800, 900, 1000"));
    assert_true(file_holds("back.hdr", "band names = {\na,\nb,\nc,\nd,\ne,\nf,\ng}"));

    /* A constant band and one that repeats another take no part, and come back. */
    for (size_t i = 0; i < cube_pixels(&cube); i++) {
        if (cube.valid[i]) {
            cube.value[i * BANDS + 2] = 31;
            cube.value[i * BANDS + 5] = cube.value[i * BANDS + 1];
        }
    }
    cube_write(&cube, "dropped", HC_FLOAT32, "bil", header);
    HcText notes = {0};
    RunHow how = {.notes = &notes};
    check_runs(&how, "read dropped.img ! mnf --keep-all ! svd ! mnf --inverse ! write out.img");
    assert_non_null(strstr(notes.data, "constant, takes no part: 1 band (3)"));
    assert_null(strstr(notes.data, "is assumed"));
    check_says(notes.data, "svd: mnf ... differences of neighbours (mean3x3)");
    hc_text_clear(&notes);
    check_all_kept("dropped.img", &cube, 1e-3);
    cube_free(&cube);
}

/* The nearest earlier mnf is inverted, each by its own. */
static void nested_transforms_are_undone(void **state) {
    (void)state;
    Cube cube = make_cube(30, 30, BANDS, false, 9);
    cube_write(&cube, "scene", HC_FLOAT32, "bil", NULL);
    check_runs(NULL, "read scene.img ! pca ! svd --noise 1 ! mnf ! svd --keep 4096 ! mnf --inverse ! "
                     "write nested.img");
    check_runs(NULL, "read scene.img ! pca ! svd --noise 1 ! write plain.img");
    Cube nested = cube_read_floats("nested", 30, 30, BANDS);
    Cube plain = cube_read_floats("plain", 30, 30, BANDS);
    for (size_t i = 0; i < cube_pixels(&cube) * BANDS; i++) {
        check_near(nested.value[i], plain.value[i], 1e-3);
    }
    cube_free(&plain);
    cube_free(&nested);
    cube_free(&cube);
}

/* More bands than the pixels of a patch, and more than 64 of both. */
static void many_bands(void **state) {
    (void)state;
    enum { MANY = 224 };
    Cube cube = make_cube(18, 20, MANY, false, 10);
    cube_write(&cube, "wide", HC_FLOAT32, "bip", NULL);
    check_all_kept("wide.img", &cube, 1e-2);
    check_runs(NULL, "read wide.img ! svd --side 9 --step 6 --keep 4096 ! write out.img");
    check_runs(NULL, "read wide.img ! svd --side 9 --tiled --keep optimal --noise 1 ! write low.img");
    Cube out = cube_read_floats("out", 18, 20, MANY);
    Cube low = cube_read_floats("low", 18, 20, MANY);
    double before = 0;
    for (size_t i = 0; i < cube_pixels(&cube) * MANY; i++) {
        check_near(out.value[i], cube.value[i], 1e-3);
        before += pow(low.value[i] - cube.value[i], 2) / ((double)cube_pixels(&cube) * MANY);
    }
    /* Of noise of variance 1, a patch of rank r keeps r (81 + 224 - r) / (81 * 224): r is 2 or 3. */
    check_near(before, 1 - 2.5 * 302 / (81 * 224), 0.04);
    cube_free(&low);
    cube_free(&out);
    cube_free(&cube);
}

static void masked_scenes_stay_masked(void **state) {
    (void)state;
    Cube cube = cube_new(9, 9, BANDS);
    cube_write(&cube, "empty", HC_FLOAT32, "bsq", nodata);
    check_runs(NULL, "read empty.img ! svd --noise estimate ! write out.img --nodata nan");
    Cube out = cube_read_floats("out", 9, 9, BANDS);
    for (size_t i = 0; i < cube_pixels(&cube) * BANDS; i++) {
        assert_true(isnan(out.value[i]));
    }
    cube_free(&out);
    cube_free(&cube);
}

static void wrong_options_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *words, *part;
    } cases[] = {
        {"svd --side 0", "--side 0"},
        {"pca ! svd", "svd: components of pca ... (PCA 1"},
        {"pca ! svd --output dimension", "svd: components of pca ... (PCA 1"},
        {"svd --side 65", "--side 65"},
        {"svd --side 4 --step 5", "svd: --step 5 ... side of 4"},
        {"svd --step 2 --tiled", "one of --step and --tiled"},
        {"svd --keep 0", "--keep 0"},
        {"svd --keep 2.5", "--keep 2.5"},
        {"svd --keep optimum", "did you mean optimal"},
        {"svd --keep 1,2", "--keep 1,2"},
        {"svd --noise 0", "--noise 0"},
        {"svd --noise -1", "--noise -1"},
        {"svd --noise nan", "--noise nan"},
        {"svd --noise guess", "--noise guess"},
        {"svd --keep 3 --noise 2", "does not look at the noise"},
        {"svd --noise scene --output dimension", "svd: --noise scene: goes with --output denoised"},
        {"svd --keep 3 --noise scene", "does not look at the noise"},
        {"svd --step 9", "svd: --step 9 ... side of 8"},
        {"svd --values 3", "--output dimension"},
        {"svd --output components", "--output components"},
        {"mnf ! svd --output dimension --values 4 ! mnf --inverse", "svd in between makes other bands"}};
    Cube cube = make_cube(12, 12, BANDS, false, 11);
    cube_write(&cube, "scene", HC_FLOAT32, "bil", NULL);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        check_run_fails(NULL, HC_E_USAGE, cases[c].part, "read scene.img ! %s ! write bad.img",
                        cases[c].words);
    }
    assert_false(file_exists("bad.img"));
    HcText notes = {0};
    RunHow how = {.notes = &notes};
    check_runs(&how, "read scene.img ! svd --output dimension ! write out.img");
    check_says(notes.data, "svd: noise of standard deviation 1");
    hc_text_clear(&notes);
    check_runs(&how, "read scene.img ! svd --noise estimate ! write out.img");
    check_says(notes.data, "svd: ... noise is estimated ... 7 singular values");
    hc_text_clear(&notes);
    check_runs(&how, "read scene.img ! mnf ! write parts.img");
    check_runs(&how, "read parts.img ! svd ! write out.img");
    check_runs(&how, "read scene.img ! svd --noise 1 ! write out.img");
    check_runs(&how, "read scene.img ! svd --keep 2 ! write out.img");
    assert_true(notes.data == NULL || strstr(notes.data, "svd:") == NULL);
    hc_text_clear(&notes);
    cube_free(&cube);
}

/* Few bands need small patches; so does a dimension that is to be local. */
static void the_window_goes_by_the_bands(void **state) {
    (void)state;
    static const struct {
        int32_t bands;
        const char *options, *window;
    } cases[] = {{32, "", "8"}, {33, "", "16"}, {33, "--output dimension", "8"}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        Cube cube = make_cube(40, 37, cases[c].bands, false, 12);
        cube_write(&cube, "scene", HC_FLOAT32, "bil", NULL);
        check_runs(NULL, "read scene.img ! svd --noise 2 %s ! write standard.img", cases[c].options);
        check_runs(NULL, "read scene.img ! svd --noise 2 %s --side %s ! write given.img", cases[c].options,
                   cases[c].window);
        check_same_files("standard.img", "given.img");
        cube_free(&cube);
    }
}

/* ---- scenes that are reduced first ---- */

/* Two signals; the noise of a band has its own variance, or that of all bands. */
static Cube make_spectra(bool white, double signal) {
    uint64_t seed = 13;
    Cube cube = cube_new(70, 37, 24);
    for (int32_t line = 0; line < cube.lines; line++) {
        for (int32_t sample = 0; sample < cube.samples; sample++) {
            for (int32_t b = 0; b < cube.bands; b++) {
                double noise = random_normal(&seed) * (white ? 1 : 0.4 + 0.1 * b);
                double fields = 8 * sin(0.2 * line + 0.1 * sample) * cos(1.0 + b) +
                                7 * cos(0.3 * sample) * sin(0.5 * b * b);
                cube_pixel(&cube, line, sample)[b] = (double)(float)(40 + signal * fields + noise);
            }
        }
    }
    return cube;
}

/* The same as the steps that it stands for: with a variance for each band, and where one holds for all. */
static void scenes_are_reduced_first(void **state) {
    (void)state;
    HcText notes = {0};
    RunHow how = {.notes = &notes};
    Cube cube = make_spectra(false, 1);
    cube_border(&cube, 0);
    cube_write(&cube, "scene", HC_FLOAT32, "bil", nodata);
    check_runs(&how, "read scene.img ! svd ! write out.img");
    check_says(notes.data, "svd: noise by regression ... 2 of 24 components");
    hc_text_clear(&notes);
    check_runs(NULL, "read scene.img ! denoise --method patches --side 8 --step 4 ! write steps.img");
    check_same_files("steps.img", "out.img");
    check_runs(NULL, "read scene.img ! svd --noise scene --side 6 --step 2 ! write out.img");
    check_runs(NULL, "read scene.img ! denoise --method patches --side 6 --step 2 ! write steps.img");
    check_same_files("steps.img", "out.img");
    static const char *const chains[] = {"read scene.img ! svd ! filter median3x3 ! write out.img",
                                         "read scene.img ! svd --tiled ! svd --side 3 ! write out.img"};
    check_runs_agree(chains, sizeof chains / sizeof *chains, 35);
    cube_free(&cube);

    cube = make_spectra(true, 1);
    cube_write(&cube, "white", HC_FLOAT32, "bip", NULL);
    check_runs(&how, "read white.img ! svd ! write out.img");
    check_says(notes.data, "svd: noise by regression, white ... 2 of 24 components");
    hc_text_clear(&notes);
    check_runs(NULL, "read white.img ! denoise --method patches --side 8 --step 4 ! write steps.img");
    check_same_files("steps.img", "out.img");
    cube_free(&cube);
}

/* Noise alone goes on as it is; too few pixels are refused. */
static void scenes_without_signal_are_handed_on(void **state) {
    (void)state;
    HcText notes = {0};
    RunHow how = {.notes = &notes};
    Cube cube = make_spectra(true, 0);
    cube_write(&cube, "scene", HC_FLOAT32, "bip", NULL);
    check_runs(&how, "read scene.img ! svd ! write out.img --interleave bip");
    check_says(notes.data, "svd: noise by regression, white: no gain ... unchanged");
    hc_text_clear(&notes);
    check_same_files("scene.img", "out.img");
    cube_free(&cube);
    cube = cube_new(1, 1, 24);
    cube.value[0] = 1;
    cube_write(&cube, "small", HC_FLOAT32, "bip", NULL);
    check_run_fails(NULL, HC_E_NUMERIC, "pixel", "read small.img ! svd ! write bad.img");
    cube_free(&cube);
}

/* ---- the sample scene, whose truth is known ---- */

/* The error that is left, in units of the noise. */
static double denoise(const Truth *truth, const char *stages) {
    char path[1024];
    HcRunReport report = {0};
    RunHow how = {.threads = 2, .report = &report};
    check_runs(&how, "read %s ! %s ! write out.img", sample_path(path, sizeof path, "scene.hdr"), stages);
    Cube out = cube_read_floats("out", SIDE, SIDE, GOOD);
    double error = truth_error(truth, out.value);
    printf("%-90s error %7.4f, SNR %.2f dB, %.2f s\n", stages, error, truth_snr(truth, out.value),
           report.seconds);
    cube_free(&out);
    return error;
}

/* The figures of docs/stages/svd.md: between the transform with the noise of a dark image and its inverse. */
typedef enum Row {
    STANDARD,
    SHRINK,
    OPTIMAL,
    EDGE,
    FIVE,
    ESTIMATED,
    TILED,
    STEP2,
    WIDE,
    WIDER,
    FEW,
    FEW_SMALL,
    ROWS
} Row;
static const struct {
    const char *mnf, *svd;
} rows[ROWS] = {
    [STANDARD] = {"--keep-all", "svd"},
    [SHRINK] = {"--keep-all", "svd --side 8"},
    [OPTIMAL] = {"--keep-all", "svd --side 8 --keep optimal"},
    [EDGE] = {"--keep-all", "svd --side 8 --keep edge"},
    [FIVE] = {"--keep-all", "svd --side 8 --keep 5"},
    [ESTIMATED] = {"--keep-all", "svd --side 8 --noise estimate"},
    [TILED] = {"--keep-all", "svd --side 8 --tiled"},
    [STEP2] = {"--keep-all", "svd --side 8 --step 2"},
    [WIDE] = {"--keep-all", "svd --side 12 --step 3"},
    [WIDER] = {"--keep-all", "svd --side 16 --step 4"},
    [FEW] = {"--min-eigenvalue 1.5", "svd"},
    [FEW_SMALL] = {"--min-eigenvalue 1.5", "svd --side 5 --step 2"},
};

/* Signal has five directions in the whole scene, and the transform of the scene leaves 5/59 of the noise if
 * it is told so. Patches find their own directions, which are fewer. */
static void denoising_beats_that_of_the_whole_scene(void **state) {
    (void)state;
    char stages[256];
    double error[ROWS];
    Truth truth = truth_load();
    truth_write_dark(&truth, "dark");
    double mnf = INFINITY;
    for (int components = 4; components <= 7; components++) {
        snprintf(stages, sizeof stages, "mnf --dark dark.img --denoise --components %d", components);
        mnf = fmin(mnf, denoise(&truth, stages));
    }
    check_near(mnf, (double)SIGNALS / GOOD, 0.05 * SIGNALS / GOOD);
    for (int row = 0; row < ROWS; row++) {
        snprintf(stages, sizeof stages, "mnf --dark dark.img %s ! %s ! mnf --inverse", rows[row].mnf,
                 rows[row].svd);
        error[row] = denoise(&truth, stages);
    }
    /* A patch of rank r keeps r (64 + 59 - r) / (64 * 59) of the noise: r is 2 to 5 here, and patches
     * overlap. */
    assert_true(error[SHRINK] > 0.06 && error[SHRINK] < 0.13);
    assert_true(error[SHRINK] < error[OPTIMAL] && error[OPTIMAL] < error[EDGE] && error[EDGE] < error[FIVE]);
    assert_true(error[STEP2] < error[SHRINK] && error[SHRINK] < error[TILED]);
    check_near(error[ESTIMATED], error[SHRINK], 0.1 * error[SHRINK]);
    assert_true(error[STANDARD] < 0.95 * error[SHRINK]);
    assert_true(error[WIDE] < 0.97 * mnf && error[WIDER] < 0.97 * mnf);
    assert_true(error[FEW] < 0.75 * mnf && error[FEW_SMALL] < error[FEW]);
    truth_free(&truth);
}

/* Differences of neighbours hold the edges of the scene, which spoils the noise covariance of the whole
 * scene. The noise of this scene is nearly the same in every band, so that patches need no transform. */
static void denoising_needs_no_dark_image(void **state) {
    (void)state;
    Truth truth = truth_load();
    double mnf = denoise(&truth, "mnf --noise mean3x3 --denoise --components 5");
    double shrink = denoise(&truth, "svd --noise estimate");
    assert_true(shrink < 0.13 && shrink < 0.2 * mnf);
    double small = denoise(&truth, "svd --noise estimate --side 8");
    assert_true(small < denoise(&truth, "svd --noise estimate --side 8 --keep optimal"));
    assert_true(shrink < 0.95 * small);
    double by_pca = denoise(&truth, "pca --components 10 ! svd --noise estimate ! pca --inverse");
    assert_true(by_pca < 0.9 * shrink);
    assert_true(denoise(&truth, "svd") < 0.9 * by_pca);
    /* What the page warns of. */
    assert_true(denoise(&truth, "mnf --noise mean3x3 --keep-all ! svd ! mnf --inverse") > 5);
    truth_free(&truth);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(agrees_with_the_definition),
        IN_FOLDER(dimensions_are_counted),
        IN_FOLDER(blocks_threads_and_devices_agree),
        IN_FOLDER(neighbours_are_there_for_later_stages),
        IN_FOLDER(inverse_follows_with_the_bands_of_the_scene),
        IN_FOLDER(nested_transforms_are_undone),
        IN_FOLDER(many_bands),
        IN_FOLDER(masked_scenes_stay_masked),
        IN_FOLDER(wrong_options_are_refused),
        IN_FOLDER(the_window_goes_by_the_bands),
        IN_FOLDER(scenes_are_reduced_first),
        IN_FOLDER(scenes_without_signal_are_handed_on),
        IN_FOLDER(denoising_beats_that_of_the_whole_scene),
        IN_FOLDER(denoising_needs_no_dark_image),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
