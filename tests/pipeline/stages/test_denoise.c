/* denoise: against the chains that it stands for, byte by byte; gains against scenes whose truth is known;
 * scenes that it has to hand on. */
#include "tests/support/reference.h"
#include "tests/support/strict_runs.h"
#include "tests/support/truth.h"

#include <stdio.h>
#include <stdlib.h>

enum { LINES = 140, SAMPLES = 26, BANDS = 24 };

/* Three signals that change slowly; the noise of band b has the standard deviation noise[b]. */
typedef struct Scene {
    Cube truth, cube;
    double noise[BANDS];
} Scene;

/* Standard deviations from `least` in the first band to `most` in the last one. */
static Scene make_scene(double least, double most, double strength, uint64_t seed) {
    Scene scene = {.truth = cube_new(LINES, SAMPLES, BANDS), .cube = cube_new(LINES, SAMPLES, BANDS)};
    for (int32_t b = 0; b < BANDS; b++) {
        scene.noise[b] = least * pow(most / least, (double)b / (BANDS - 1));
    }
    for (int32_t line = 0; line < LINES; line++) {
        for (int32_t sample = 0; sample < SAMPLES; sample++) {
            double *truth = cube_pixel(&scene.truth, line, sample);
            double *pixel = cube_pixel(&scene.cube, line, sample);
            for (int32_t b = 0; b < BANDS; b++) {
                truth[b] =
                    100 + strength * (8 * sin(0.07 * line + 0.1 * sample) * cos(0.3 * b) +
                                      7 * cos(0.15 * sample) * sin(0.2 * b) + 5 * (line > 37) * cos(0.5 * b));
                pixel[b] = (double)(float)(truth[b] + scene.noise[b] * random_normal(&seed));
            }
        }
    }
    return scene;
}

static void free_scene(Scene *scene) {
    cube_free(&scene->truth);
    cube_free(&scene->cube);
}

/* Mean square error over the valid pixels, each band in units of its noise. */
static double error_of(const Scene *scene, const Cube *cube) {
    double sum = 0;
    double count = 0;
    for (size_t p = 0; p < cube_pixels(cube); p++) {
        for (size_t b = 0; b < BANDS && scene->cube.valid[p] != 0; b++) {
            double error = (cube->value[p * BANDS + b] - scene->truth.value[p * BANDS + b]) / scene->noise[b];
            sum += error * error;
            count++;
        }
    }
    assert_true(count > 0 && isfinite(sum));
    return sum / count;
}

static double denoise(const Scene *scene, const char *step, HcText *notes) {
    RunHow how = {.notes = notes};
    check_runs(&how, "read scene.img ! %s ! write out.img --overwrite", step);
    Cube out = cube_read_floats("out", LINES, SAMPLES, BANDS);
    double error = error_of(scene, &out);
    printf("%-50s error %.4f\n", step, error);
    cube_free(&out);
    return error;
}

/* The gain that a note promises [dB]. */
static double promised(const HcText *notes) {
    const char *at = strstr(notes->data, "a gain of ");
    assert_non_null(at);
    at += strlen("a gain of ");
    return strtod(at + strcspn(at, "-0123456789"), NULL); /* "at least 9.1 dB", "about 9.1 dB" */
}

/* Three components of 24 keep 3/24 of white noise. A patch of rank r keeps r (64 + 3 - r) / (64 * 3) of that:
 * r is mostly 1 or 2 here, which is 0.34 or 0.68. */
static void white_noise_is_removed(void **state) {
    (void)state;
    HcText notes = {0};
    HcText subspace_notes = {0};
    HcText group_notes = {0};
    Scene scene = make_scene(2, 2, 1, 1);
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bip", NULL);
    double groups = denoise(&scene, "denoise", &group_notes);
    double patches = denoise(&scene, "denoise --method patches", &notes);
    double subspace = denoise(&scene, "denoise --method subspace", &subspace_notes);
    check_says(notes.data, "noise by regression, white, 3 of 24 components");
    assert_true(groups < 0.8 * patches);
    check_near(subspace, 3.0 / BANDS, 0.06 * 3 / BANDS);
    assert_true(patches < 0.7 * subspace);
    check_near(promised(&subspace_notes), -10 * log10(subspace), 0.4);
    check_near(promised(&notes), -10 * log10(patches), 0.8);
    check_near(promised(&group_notes), -10 * log10(groups), 1.5); /* of a few lines */
    hc_text_clear(&notes);
    hc_text_clear(&subspace_notes);
    hc_text_clear(&group_notes);
    free_scene(&scene);
}

/* Noise that grows tenfold over the bands: one variance for all of them would keep much of it. */
static void noise_of_each_band_is_seen(void **state) {
    (void)state;
    HcText notes = {0};
    Scene scene = make_scene(0.6, 6, 1, 2);
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bip", NULL);
    double own = denoise(&scene, "denoise", &notes);
    assert_non_null(strstr(notes.data, "noise by regression, 3 of 24 components"));
    assert_true(own < 3.0 / BANDS);
    assert_true(own < 0.8 * denoise(&scene, "denoise --noise white", NULL));
    assert_true(denoise(&scene, "denoise --noise regression", NULL) < 3.0 / BANDS);
    hc_text_clear(&notes);
    free_scene(&scene);
}

/* Noise in common to pairs of bands is signal to a regression. The noise of a dark image says what it is.
 *
 * With the noise covariance N and the spectra A of the three signals, the best linear estimate keeps
 * trace(A (A' N^-1 A)^-1 A') / trace(N) of the noise: 0.1662, by a NumPy program. */
static void noise_of_a_file_is_taken(void **state) {
    (void)state;
    HcText notes = {0};
    uint64_t seed = 10;
    Scene scene = make_scene(2, 2, 1, 10);
    Cube dark = cube_new(LINES, SAMPLES, BANDS);
    for (size_t p = 0; p < cube_pixels(&dark); p++) {
        for (size_t b = 0; b < BANDS; b += 2) {
            double common = 1.9 * random_normal(&seed);
            double dark_common = 1.9 * random_normal(&seed);
            for (size_t k = b; k < b + 2; k++) {
                double own = 0.62 * random_normal(&seed); /* 1.9^2 + 0.62^2 is nearly 2^2 */
                double value = scene.truth.value[p * BANDS + k] + common + own;
                scene.cube.value[p * BANDS + k] = (double)(float)value;
                value = 10 + dark_common + 0.62 * random_normal(&seed);
                dark.value[p * BANDS + k] = (double)(float)value;
            }
        }
    }
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bip", NULL);
    cube_write(&dark, "dark", HC_FLOAT32, "bip", NULL);
    check_runs(NULL, "read dark.img ! cov noise.json --noise shift");
    double known = denoise(&scene, "denoise --method subspace --noise noise.json", &notes);
    check_says(notes.data, "noise by shift (of a file), 3 of 24");
    check_near(known, 0.1662, 0.08 * 0.1662);
    check_near(promised(&notes), -10 * log10(known), 0.5);
    assert_true(known < 0.5 * denoise(&scene, "denoise --method subspace --noise regression", NULL));
    hc_text_clear(&notes);
    cube_free(&dark);
    free_scene(&scene);
}

/* A difference of neighbours, summed beside the scene, is the same as its file. */
static void noise_of_neighbours_is_taken(void **state) {
    (void)state;
    static const char *const words[] = {"trimmed", "spatial-spectral", "spatial-spectral-lower", "shift-mean",
                                        "quad"};
    Scene scene = make_scene(2, 2, 1, 14);
    uint64_t seed = 15;
    double own =
        2 * sqrt(0.5); /* half of the noise is that of the band before, which a regression explains */
    for (size_t p = 0; p < cube_pixels(&scene.cube); p++) {
        double before = random_normal(&seed);
        for (size_t b = 0; b < BANDS; b++) {
            double now = random_normal(&seed);
            scene.cube.value[p * BANDS + b] =
                (double)(float)(scene.truth.value[p * BANDS + b] + own * (now + before));
            before = now;
        }
    }
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bip", NULL);
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        char step[64];
        snprintf(step, sizeof step, "denoise --noise %s", words[k]);
        double error = denoise(&scene, step, NULL);
        assert_true(k == 1 || k == 2 || error < 0.1);
        check_runs(NULL, "read scene.img ! cov noise.json --noise %s --overwrite", words[k]);
        check_runs(NULL, "read scene.img ! denoise --noise noise.json ! write again.img --overwrite");
        check_same_files("out.img", "again.img");
    }
    assert_true(denoise(&scene, "denoise --noise regression", NULL) > 0.3);
    check_run_fails(NULL, HC_E_NUMERIC, "denoise: 19 pixels show noise (shift-lower) ... 24 bands",
                    "read scene.img --window 0,0,19,2 ! denoise --noise shift-lower ! write bad.img");
    free_scene(&scene);
}

static void noise_around_masked_pixels_is_removed(void **state) {
    (void)state;
    Scene scene = make_scene(2, 2, 1, 3);
    cube_border(&scene.cube, 0);
    for (size_t p = 0; p < cube_pixels(&scene.cube); p += 17) {
        scene.cube.valid[p] = 0;
        memset(scene.cube.value + p * BANDS, 0, BANDS * sizeof(double));
    }
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bsq", "data ignore value = 0\n");
    assert_true(denoise(&scene, "denoise", NULL) < 0.7 * 3 / BANDS);
    check_runs(NULL, "read scene.img ! denoise ! write nan.img --nodata nan");
    Cube out = cube_read_floats("nan", LINES, SAMPLES, BANDS);
    for (size_t p = 0; p < cube_pixels(&out); p++) {
        assert_int_equal(isnan(out.value[p * BANDS]), scene.cube.valid[p] == 0);
    }
    cube_free(&out);
    free_scene(&scene);
}

static const char no_gain[] = "no gain is expected ... unchanged";

static void check_handed_on(const char *scene, const char *step, const char *note) {
    HcText notes = {0};
    RunHow how = {.notes = &notes};
    check_runs(&how, "read %s.img ! %s ! write out.img --overwrite", scene, step);
    check_says(notes.data, note);
    check_runs(NULL, "read %s.img ! write same.img --overwrite", scene);
    check_same_files("out.img", "same.img");
    hc_text_clear(&notes);
}

/* Noise alone, and bands that are all signal: nothing can be gained, so that nothing is changed. */
static void scenes_without_a_gain_are_handed_on(void **state) {
    (void)state;
    Scene noise = make_scene(2, 2, 0, 4);
    cube_write(&noise.cube, "noise", HC_FLOAT32, "bip", NULL);
    check_handed_on("noise", "denoise", no_gain);
    check_handed_on("noise", "denoise --method subspace", no_gain);
    free_scene(&noise);
    enum { FEW = 3 };
    uint64_t seed = 5;
    Cube own = cube_new(30, 30, FEW);
    for (size_t v = 0; v < cube_pixels(&own) * FEW; v++) {
        own.value[v] = (double)(float)(50 + random_normal(&seed));
    }
    cube_write(&own, "own", HC_FLOAT32, "bip", NULL);
    check_handed_on("own", "denoise", no_gain);
    /* As many materials as bands: none explains the others, and what a regression leaves is signal. */
    for (int32_t line = 0; line < own.lines; line++) {
        for (int32_t sample = 0; sample < own.samples; sample++) {
            double fields[FEW] = {sin(0.11 * line), cos(0.13 * sample), sin(0.08 * line + 0.09 * sample)};
            for (int32_t b = 0; b < FEW; b++) {
                double value = 50 + 2 * fields[b] + 0.3 * fields[(b + 1) % FEW] + 0.01 * random_normal(&seed);
                cube_pixel(&own, line, sample)[b] = (double)(float)value;
            }
        }
    }
    cube_write(&own, "few", HC_FLOAT32, "bip", NULL);
    check_handed_on("few", "denoise", no_gain);
    check_handed_on("few", "denoise --method subspace", no_gain);
    cube_free(&own);
}

/* What is left of noise in a scene that was denoised before, no regression can tell: its bands are
 * combinations of others. Differences of neighbours see its texture. */
static void combinations_of_bands_are_handed_on(void **state) {
    (void)state;
    Scene scene = make_scene(0.5, 2, 1, 34);
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bip", NULL);
    free_scene(&scene);
    check_runs(NULL, "read scene.img ! denoise --components 3 ! write before.img");
    check_runs(NULL, "read scene.img ! pca --components 2 --denoise ! write reduced.img");
    check_handed_on("before", "denoise", "no regression confirms ... unchanged");
    check_handed_on("before", "svd", "no regression confirms ... unchanged");
    check_handed_on("reduced", "denoise --method patches", "handed on unchanged");
    check_handed_on("reduced", "svd", "handed on unchanged");
}

/* Details that two neighbouring bands share, in the pairs from `first` on: from `least` to `most`, growing.
 */
static void add_details(Scene *scene, int32_t first, int32_t step, double least, double most, uint64_t seed) {
    for (size_t p = 0; p < cube_pixels(&scene->cube); p++) {
        for (int32_t b = first; b + 1 < BANDS; b += step) {
            double detail = least * pow(most / least, (double)(b - first) / (BANDS - first));
            detail *= random_normal(&seed);
            for (int32_t c = b; c <= b + 1; c++) {
                double before = scene->truth.value[p * BANDS + (size_t)c];
                scene->truth.value[p * BANDS + (size_t)c] += detail * (c == b ? 1 : 0.3);
                scene->cube.value[p * BANDS + (size_t)c] =
                    (double)(float)(scene->cube.value[p * BANDS + (size_t)c] +
                                    scene->truth.value[p * BANDS + (size_t)c] - before);
            }
        }
    }
}

/* A regression takes for noise what few bands show. Where the calm bands agree, they say what noise is; where
 * they do not, no gain is sure, and the scene must not get worse. */
static void details_of_few_bands_are_kept(void **state) {
    (void)state;
    HcText notes = {0};
    Scene scene = make_scene(1, 1, 1, 30);
    add_details(&scene, 16, 2, 3, 6, 31);
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bip", NULL);
    double kept = denoise(&scene, "denoise", &notes);
    assert_non_null(strstr(notes.data, "noise by regression, white, "));
    assert_true(kept < 0.5 * denoise(&scene, "denoise --noise regression", NULL));
    assert_true(denoise(&scene, "svd --noise scene", NULL) < 0.3);
    hc_text_clear(&notes);
    free_scene(&scene);

    scene = make_scene(0.1, 0.1, 1, 32);
    add_details(&scene, 0, 1, 0.2, 2, 33);
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bip", NULL);
    check_handed_on("scene", "denoise", "may be signal ... unchanged");
    check_handed_on("scene", "svd", "may be signal ... unchanged");
    assert_true(denoise(&scene, "denoise --noise regression", NULL) > 1);
    free_scene(&scene);
}

/* The stages that it stands for give the same bytes. */
static void chains_say_the_same(void **state) {
    (void)state;
    Scene scene = make_scene(1, 4, 1, 6);
    cube_border(&scene.cube, 0);
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bil", "data ignore value = 0\n");
    check_runs(NULL,
               "read scene.img ! denoise --method subspace --components 5 --noise regression ! write a.img");
    check_runs(NULL, "read scene.img ! mnf --denoise --components 5 --noise regression ! write b.img");
    check_same_files("a.img", "b.img");
    check_runs(NULL,
               "read scene.img ! denoise --method patches --components 5 --noise regression ! write c.img");
    check_runs(NULL, "read scene.img ! mnf --components 5 --noise regression ! svd --side 8 --step 2 ! mnf "
                     "--inverse ! write d.img");
    check_same_files("c.img", "d.img");
    check_runs(NULL, "read scene.img ! denoise --method patches --components 5 --noise regression --step 2 ! "
                     "write g.img");
    check_same_files("c.img", "g.img");
    check_runs(NULL,
               "read scene.img ! denoise --method patches --components hysime --noise regression --side 5 "
               "--step 3 ! write e.img");
    check_runs(NULL,
               "read scene.img ! mnf --components hysime --noise regression ! svd --side 5 --step 3 ! mnf "
               "--inverse ! write f.img");
    check_same_files("e.img", "f.img");
    /* A file has the same noise, all of its covariances included. */
    check_runs(NULL, "read scene.img ! cov regression.json --noise regression");
    check_runs(NULL, "read scene.img ! cov shift.json --noise shift");
    check_runs(NULL,
               "read scene.img ! denoise --method patches --components 5 --noise regression.json ! write "
               "k.img");
    check_same_files("c.img", "k.img");
    check_runs(NULL, "read scene.img ! denoise --method subspace --components 5 --noise shift.json ! write "
                     "l.img");
    check_runs(NULL, "read scene.img ! mnf --denoise --components 5 --noise shift ! write m.img");
    check_same_files("l.img", "m.img");
    check_runs(NULL, "read scene.img ! bands 3-20 ! denoise --method subspace --components 5 --noise "
                     "shift.json ! write n.img");
    check_runs(NULL,
               "read scene.img ! bands 3-20 ! mnf --denoise --components 5 --noise shift ! write o.img");
    check_same_files("n.img", "o.img");
    /* Groups have half the window as the step of their pilot. */
    check_runs(NULL, "read scene.img ! denoise --components 5 --noise regression ! write h.img");
    check_runs(
        NULL,
        "read scene.img ! denoise --method groups --components 5 --noise regression --side 8 --step 4 ! "
        "write i.img");
    check_same_files("h.img", "i.img");
    free_scene(&scene);
}

/* More than 32 components have larger patches. */
static void the_window_goes_by_the_components(void **state) {
    (void)state;
    char path[1024];
    const char *scene = sample_path(path, sizeof path, "scene.hdr");
    for (int32_t count = 32; count <= 33; count++) {
        check_runs(NULL, "read %s ! denoise --components %d ! write a.img --overwrite", scene, count);
        check_runs(NULL, "read %s ! denoise --components %d --side %d ! write b.img --overwrite", scene,
                   count, count == 32 ? 8 : 16);
        check_same_files("a.img", "b.img");
    }
}

static void models_are_kept(void **state) {
    (void)state;
    Scene scene = make_scene(1, 4, 1, 7);
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bip", NULL);
    check_runs(NULL, "read scene.img ! denoise --save-model model.json ! write a.img");
    check_runs(NULL, "read scene.img ! denoise --model model.json ! write b.img");
    check_same_files("a.img", "b.img");
    check_runs(NULL, "read scene.img ! denoise --fit-only --save-model only.json ! write c.img");
    check_runs(NULL, "read scene.img ! write same.img");
    check_same_files("c.img", "same.img");
    check_same_files("model.json", "only.json");
    check_run_fails(NULL, HC_E_USAGE, "denoise: --fit-only needs --save-model",
                    "read scene.img ! denoise --fit-only");
    check_run_fails(NULL, HC_E_USAGE, "denoise: --fit-only excludes --model",
                    "read scene.img ! denoise --fit-only --model model.json --save-model bad.json");
    check_run_fails(NULL, HC_E_USAGE, "denoise: --model excludes --save-model",
                    "read scene.img ! denoise --model model.json --save-model bad.json ! write bad.img");
    check_run_fails(NULL, HC_E_USAGE, "denoise: --model excludes --noise",
                    "read scene.img ! denoise --model model.json --noise white ! write bad.img");
    check_run_fails(NULL, HC_E_USAGE, "denoise: --model excludes --noise",
                    "read scene.img ! denoise --model model.json --noise n.json ! write bad.img");
    check_runs(NULL, "read scene.img ! mnf --fit-only --save-model mnf.json");
    check_run_fails(NULL, HC_E_INPUT, "mnf.json: a model of mnf, not",
                    "read scene.img ! denoise --model mnf.json ! write bad.img");
    free_scene(&scene);
}

static void wrong_input_is_refused(void **state) {
    (void)state;
    Scene scene = make_scene(1, 1, 1, 8);
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bip", NULL);
    check_run_fails(NULL, HC_E_USAGE, "--step 9 ... side of 8",
                    "read scene.img ! denoise --step 9 ! write bad.img");
    check_run_fails(NULL, HC_E_USAGE, "--method", "read scene.img ! denoise --method patch ! write bad.img");
    check_run_fails(NULL, HC_E_USAGE, "did you mean hysime",
                    "read scene.img ! denoise --components hysim ! write bad.img");
    check_run_fails(NULL, HC_E_NUMERIC, "20 valid pixels",
                    "read scene.img --window 0,0,5,4 ! denoise ! write bad.img");
    check_run_fails(NULL, HC_E_USAGE, "--noise whit: unknown ... white?",
                    "read scene.img ! denoise --noise whit ! write bad.img");
    check_run_fails(NULL, HC_E_INPUT, "--noise missing.json: neither auto, white, regression",
                    "read scene.img ! denoise --noise missing.json ! write bad.img");
    check_runs(NULL, "read scene.img ! cov scene.json");
    check_run_fails(NULL, HC_E_INPUT, "scene.json: statistics of a scene ... (cov --noise)",
                    "read scene.img ! denoise --noise scene.json ! write bad.img");
    check_runs(NULL, "read scene.img ! bands 1-23 ! cov other.json --noise shift");
    check_run_fails(NULL, HC_E_INPUT, "other.json",
                    "read scene.img ! denoise --noise other.json ! write bad.img");
    check_runs(NULL, "read scene.img --window 0,0,5,4 ! cov few.json --noise shift");
    check_run_fails(NULL, HC_E_NUMERIC, "denoise: 16 pixels show noise (shift) ... 24 bands",
                    "read scene.img ! denoise --noise few.json ! write bad.img");
    assert_false(file_exists("bad.img"));
    free_scene(&scene);
}

/* More lines than a strip, and neighbours for a later stage. */
static void strips_and_blocks_leave_no_trace(void **state) {
    (void)state;
    Scene scene = make_scene(2, 2, 1, 9);
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bil", NULL);
    const char *const chains[] = {"read scene.img ! denoise ! write out.img",
                                  "read scene.img ! denoise --side 6 ! filter median3x3 ! write out.img",
                                  "read scene.img ! denoise --method patches ! write out.img"};
    check_runs_agree(chains, 3, 13);
    free_scene(&scene);
}

static void contract(void **state) {
    (void)state;
    check_stage_contract("denoise --components 2");
    check_stage_contract("denoise --components 2 --method patches");
    check_stage_contract("denoise --components 2 --method subspace");
    check_stage_contract("denoise --components 2 --sigma-map");
}

/* ---- the map of errors ---- */

/* The map of a step, [LINES][SAMPLES]. */
static Cube map_of(const char *step) {
    check_runs(NULL, "read scene.img ! %s --sigma-map ! write map.img --overwrite", step);
    return cube_read_floats("map", LINES, SAMPLES, 1);
}

/* Root mean square over the samples first .. end - 1, away from the sides: of the map, and of the errors of
 * out.img. */
static void compare_errors(const Scene *scene, const Cube *map, int32_t first, int32_t end, double *said,
                           double *true_error) {
    Cube out = cube_read_floats("out", LINES, SAMPLES, BANDS);
    double count = 0;
    *said = *true_error = 0;
    for (int32_t line = 0; line < LINES; line++) {
        for (int32_t sample = first; sample < end; sample++) {
            double said_here = cube_pixel(map, line, sample)[0];
            assert_true(said_here >= 0 && isfinite(said_here));
            *said += said_here * said_here;
            for (int32_t b = 0; b < BANDS; b++) {
                double error = cube_pixel(&out, line, sample)[b] - cube_pixel(&scene->truth, line, sample)[b];
                *true_error += error * error / BANDS;
            }
            count++;
        }
    }
    *said = sqrt(*said / count);
    *true_error = sqrt(*true_error / count);
    cube_free(&out);
}

/* Left, abundances change from pixel to pixel, which patches and groups cannot smooth: more noise stays
 * there. The map says how much, on both sides. */
static void the_map_says_what_stays(void **state) {
    (void)state;
    static const char *const steps[] = {"denoise", "denoise --method patches", "denoise --method subspace"};
    enum { HALF = SAMPLES / 2 };
    Scene scene = make_scene(2, 2, 1, 11);
    uint64_t seed = 12;
    for (int32_t line = 0; line < LINES; line++) {
        for (int32_t sample = 0; sample < HALF; sample++) {
            double one = 12 * random_normal(&seed);
            double two = 12 * random_normal(&seed);
            for (int32_t b = 0; b < BANDS; b++) {
                double rough = one * cos(0.3 * b) + two * sin(0.2 * b);
                cube_pixel(&scene.truth, line, sample)[b] += rough;
                cube_pixel(&scene.cube, line, sample)[b] += rough;
            }
        }
    }
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bip", NULL);
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
        double said[2];
        double errors[2];
        (void)denoise(&scene, steps[k], NULL);
        Cube map = map_of(steps[k]);
        compare_errors(&scene, &map, 0, HALF - 4, &said[0], &errors[0]);
        compare_errors(&scene, &map, HALF + 4, SAMPLES, &said[1], &errors[1]);
        printf("%-50s rough %.4f and %.4f, smooth %.4f and %.4f\n", steps[k], said[0], errors[0], said[1],
               errors[1]);
        check_near(said[0], errors[0], 0.12 * errors[0]);
        check_near(said[1], errors[1], 0.12 * errors[1]);
        assert_true(k == 2 || errors[0] > 1.2 * errors[1]); /* the test would show nothing else */
        cube_free(&map);
    }
    free_scene(&scene);
}

/* Three spectra in library.csv, the header line of its wavelengths, and the median of their lengths. */
static double write_library(char *wavelengths, size_t size) {
    double length[3];
    FILE *file = fopen("library.csv", "w");
    assert_non_null(file);
    size_t at = (size_t)snprintf(wavelengths, size, "wavelength units = Nanometers\nwavelength = {");
    fprintf(file, "name");
    for (int32_t b = 0; b < BANDS; b++) {
        fprintf(file, ",%d", 400 + 10 * b);
        at +=
            (size_t)snprintf(wavelengths + at, size - at, "%d%s", 400 + 10 * b, b + 1 < BANDS ? "," : "}\n");
    }
    for (int k = 0; k < 3; k++) {
        double sum = 0;
        fprintf(file, "\nspectrum %d", k);
        for (int32_t b = 0; b < BANDS; b++) {
            double value = 100 + 10 * (k + 1) * cos((0.2 + 0.1 * k) * b);
            fprintf(file, ",%.9g", value);
            sum += value * value;
        }
        length[k] = sqrt(sum);
    }
    assert_int_equal(fclose(file), 0);
    double least = fmin(fmin(length[0], length[1]), length[2]);
    double most = fmax(fmax(length[0], length[1]), length[2]);
    return length[0] + length[1] + length[2] - least - most;
}

/* `unmix --lambda auto` behind denoise: the number in its note behind `word`. */
static double told(const char *step, const char *word) {
    HcText notes = {0};
    RunHow how = {.notes = &notes};
    check_runs(&how,
               "read scene.img ! %s ! unmix --library library.csv --scale none --lambda auto ! write "
               "abundances.img --overwrite",
               step);
    const char *at = strstr(notes.data, word);
    assert_non_null(at);
    double value = strtod(at + strlen(word), NULL);
    hc_text_clear(&notes);
    return value;
}

/* The stage behind takes the error that stays for its noise, as large as it is, and the few dimensions that
 * it lies in. A scene that is handed on has its own noise. */
static void the_stage_behind_knows_what_stays(void **state) {
    (void)state;
    static const char *const steps[] = {"denoise", "denoise --method patches", "denoise --method subspace"};
    char wavelengths[512];
    double length = write_library(wavelengths, sizeof wavelengths);
    Scene scene = make_scene(2, 2, 1, 34);
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bip", wavelengths);
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
        double sigma = 2 * sqrt(denoise(&scene, steps[k], NULL));
        double lambda = 0.5 * sqrt(3.0 / BANDS) * sigma * length;
        check_near(told(steps[k], "that denoise leaves, with a deviation of "), sigma, 0.15 * sigma);
        check_near(told(steps[k], "--lambda auto: "), lambda, 0.15 * lambda);
    }
    free_scene(&scene);
    scene = make_scene(2, 2, 0, 4);
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bip", wavelengths);
    check_near(told("denoise", "for noise with a deviation of "), 2, 0.1);
    free_scene(&scene);
}

/* Signal that few pixels have lies in components that are dropped. The map shows where it is lost. */
static void the_map_shows_what_is_lost(void **state) {
    (void)state;
    Scene scene = make_scene(2, 2, 1, 13);
    for (int32_t line = 60; line < 72; line++) {
        for (int32_t sample = 8; sample < 20; sample++) {
            for (int32_t b = 0; b < BANDS; b++) {
                double rare = b % 2 == 0 ? 4 : -4;
                cube_pixel(&scene.truth, line, sample)[b] += rare;
                cube_pixel(&scene.cube, line, sample)[b] += rare;
            }
        }
    }
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bip", NULL);
    (void)denoise(&scene, "denoise --components 3", NULL);
    check_run_fails(NULL, HC_E_NUMERIC, "--sigma-map ... not known ... correlated between bands",
                    "read scene.img ! denoise --components 3 --sigma-map ! write bad.img");
    check_runs(NULL, "read scene.img ! denoise --components 3 --save-model m.json ! write fitted.img");
    Cube map = map_of("denoise --components 3 --model m.json");
    double lost = cube_pixel(&map, 66, 14)[0];
    assert_true(lost > 3.5 && lost < 5);
    assert_true(cube_pixel(&map, 20, 14)[0] < 1);
    cube_free(&map);
    free_scene(&scene);
}

static void the_map_has_the_noise_of_what_is_handed_on(void **state) {
    (void)state;
    Scene scene = make_scene(1, 3, 0, 4);
    double sum = 0;
    for (int32_t b = 0; b < BANDS; b++) {
        sum += scene.noise[b] * scene.noise[b] / BANDS;
    }
    cube_border(&scene.cube, 7777);
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bil", "data ignore value = 7777\n");
    Cube map = map_of("denoise");
    for (size_t p = 0; p < cube_pixels(&map); p++) {
        if (scene.cube.valid[p] != 0) {
            check_near(map.value[p], sqrt(sum), 0.05 * sqrt(sum));
        } else {
            assert_true(isnan(map.value[p]));
        }
    }
    cube_free(&map);
    check_run_fails(NULL, HC_E_USAGE, "denoise: --fit-only excludes --sigma-map",
                    "read scene.img ! denoise --sigma-map --fit-only --save-model m.json");
    free_scene(&scene);
}

static void maps_do_not_depend_on_blocks(void **state) {
    (void)state;
    Scene scene = make_scene(2, 2, 1, 9);
    cube_border(&scene.cube, 0);
    cube_write(&scene.cube, "scene", HC_FLOAT32, "bil", "data ignore value = 0\n");
    const char *const chains[] = {"read scene.img ! denoise --sigma-map ! write out.img",
                                  "read scene.img ! denoise --method subspace --sigma-map ! write out.img"};
    check_runs_agree(chains, 2, 13);
    free_scene(&scene);
}

static double denoise_sample(const Truth *truth, const char *step) {
    char path[1024];
    check_runs(NULL, "read %s ! %s ! write out.img --overwrite", sample_path(path, sizeof path, "scene.hdr"),
               step);
    Cube out = cube_read_floats("out", SIDE, SIDE, GOOD);
    double error = truth_error(truth, out.value);
    printf("%-50s error %.4f, SNR %.2f dB\n", step, error, truth_snr(truth, out.value));
    cube_free(&out);
    return error;
}

/* The sample scene: the best transform of the whole scene keeps 5/59 of the noise. Patches beat it, and
 * groups beat patches. */
static void the_sample_scene_is_cleaned(void **state) {
    (void)state;
    Truth truth = truth_load();
    double groups = denoise_sample(&truth, "denoise");
    double patches = denoise_sample(&truth, "denoise --method patches");
    double subspace = denoise_sample(&truth, "denoise --method subspace");
    check_near(subspace, (double)SIGNALS / GOOD, 0.1 * SIGNALS / GOOD);
    assert_true(patches < 0.8 * subspace);
    assert_true(groups < 0.95 * patches);
    truth_free(&truth);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(white_noise_is_removed),
        IN_FOLDER(noise_of_each_band_is_seen),
        IN_FOLDER(noise_of_a_file_is_taken),
        IN_FOLDER(noise_of_neighbours_is_taken),
        IN_FOLDER(noise_around_masked_pixels_is_removed),
        IN_FOLDER(scenes_without_a_gain_are_handed_on),
        IN_FOLDER(combinations_of_bands_are_handed_on),
        IN_FOLDER(details_of_few_bands_are_kept),
        IN_FOLDER(chains_say_the_same),
        IN_FOLDER(the_window_goes_by_the_components),
        IN_FOLDER(models_are_kept),
        IN_FOLDER(wrong_input_is_refused),
        IN_FOLDER(strips_and_blocks_leave_no_trace),
        IN_FOLDER(contract),
        IN_FOLDER(the_sample_scene_is_cleaned),
        IN_FOLDER(the_map_says_what_stays),
        IN_FOLDER(the_map_shows_what_is_lost),
        IN_FOLDER(the_stage_behind_knows_what_stays),
        IN_FOLDER(the_map_has_the_noise_of_what_is_handed_on),
        IN_FOLDER(maps_do_not_depend_on_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
