/* rx --side: scores against statistics of each window in long double, by Gauss elimination written here;
 * sums that slide against sums that are formed anew; windows with too few pixels; scenes smaller than the
 * window; blocks that jump; what is refused. */
#include "cpu/cpu.h"
#include "core/operation/image/local.h"
#include "tests/support/reference.h"
#include "tests/support/strict_runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINES = 23, SAMPLES = 29, BANDS = 4 };

typedef long double Real;

/* z' inv(C) z. */
static Real distance(Real c[BANDS][BANDS], Real *z) {
    Real sum = 0;
    for (int i = 0; i < BANDS; i++) {
        assert_true(c[i][i] > 0);
        sum += z[i] * z[i] / c[i][i];
        for (int j = i + 1; j < BANDS; j++) {
            Real factor = c[j][i] / c[i][i];
            for (int k = i; k < BANDS; k++) {
                c[j][k] -= factor * c[i][k];
            }
            z[j] -= factor * z[i];
        }
    }
    return sum;
}

static bool inside(int line, int sample, int at_line, int at_sample, int side) {
    return abs(line - at_line) <= side / 2 && abs(sample - at_sample) <= side / 2;
}

/* NaN where the window has too few pixels. */
static double score_of(const Cube *cube, const double *scene, int line, int sample, int window, int guard,
                       double share) {
    Real mean[BANDS] = {0}, c[BANDS][BANDS] = {{0}}, z[BANDS];
    int count = 0;
    for (int turn = 0; turn < 2; turn++) {
        for (int p = 0; p < LINES * SAMPLES; p++) {
            int l = p / SAMPLES, s = p % SAMPLES;
            if (!cube->valid[p] || !inside(l, s, line, sample, window) || inside(l, s, line, sample, guard)) {
                continue;
            }
            const double *x = cube->value + (size_t)p * BANDS;
            for (int b = 0; b < BANDS; b++) {
                mean[b] += turn == 0 ? (Real)x[b] : 0;
                for (int k = 0; k < BANDS && turn == 1; k++) {
                    c[b][k] += ((Real)x[b] - mean[b]) * ((Real)x[k] - mean[k]);
                }
            }
            count += turn == 0;
        }
        if (turn == 0 && (count < 2 || (!(share > 0) && count < BANDS + 1))) {
            return NAN;
        }
        for (int b = 0; b < BANDS && turn == 0; b++) {
            mean[b] /= count;
        }
    }
    const double *x = cube->value + (size_t)(line * SAMPLES + sample) * BANDS;
    for (int b = 0; b < BANDS; b++) {
        z[b] = (Real)x[b] - mean[b];
        for (int k = 0; k < BANDS; k++) {
            c[b][k] = (1 - (Real)share) * c[b][k] / (count - 1) + (Real)share * (Real)scene[b * BANDS + k];
        }
    }
    return (double)distance(c, z);
}

/* White noise in components that bands mix, with masked pixels: a border, a notch, all but a few of a corner.
 */
static Cube make_scene(uint64_t seed) {
    Cube cube = cube_new(LINES, SAMPLES, BANDS);
    for (size_t p = 0; p < cube_pixels(&cube); p++) {
        double own[BANDS];
        for (int b = 0; b < BANDS; b++) {
            own[b] = random_normal(&seed);
        }
        for (int b = 0; b < BANDS; b++) {
            double value = 1000 + 300 * b + 200 * own[b] + 150 * own[(b + 1) % BANDS];
            cube.value[p * BANDS + (size_t)b] = floor(value + (double)(p % SAMPLES) * 10);
        }
    }
    for (int p = 0; p < LINES * SAMPLES; p++) {
        int l = p / SAMPLES, s = p % SAMPLES;
        bool corner = l > LINES - 7 && s > SAMPLES - 7 && p % 11 != 0;
        if (corner || l == 0 || (l == 9 && s < 12)) {
            cube.valid[p] = 0;
            for (int b = 0; b < BANDS; b++) {
                cube.value[p * BANDS + b] = NAN;
            }
        }
    }
    return cube;
}

static void check_scores(const Cube *cube, int window, int guard, double share) {
    double mean[BANDS], scene[BANDS * BANDS];
    HcText notes = {0};
    RunHow how = {.notes = &notes};
    int64_t bare = 0;
    (void)reference_covariance(cube, mean, scene);
    check_runs(&how, "read scene.img ! rx --side %d --guard %d --shrink %g ! write out.img --nodata nan",
               window, guard, share);
    Cube got = cube_read_floats("out", LINES, SAMPLES, 1);
    for (int p = 0; p < LINES * SAMPLES; p++) {
        double expected =
            cube->valid[p] ? score_of(cube, scene, p / SAMPLES, p % SAMPLES, window, guard, share) : NAN;
        bare += cube->valid[p] && isnan(expected);
        if (isnan(expected)) {
            assert_true(isnan(got.value[p]));
        } else { /* a window may be far from round, so that rounding of whitened pixels to float32 grows */
            check_near(got.value[p], expected, 2e-5 * (1 + expected));
        }
    }
    char text[64];
    snprintf(text, sizeof text, "%lld pixels are masked", (long long)bare);
    assert_true(bare == 0 ? notes.data == NULL || strstr(notes.data, "are masked") == NULL
                          : strstr(notes.data, text) != NULL);
    hc_text_clear(&notes);
    cube_free(&got);
}

static void scores_agree_with_windows(void **state) {
    (void)state;
    Cube cube = make_scene(1);
    cube_write(&cube, "scene", HC_FLOAT32, "bil", NULL);
    check_scores(&cube, 7, 3, 0);
    check_scores(&cube, 5, 1, 0);
    check_scores(&cube, 11, 5, 0.25);
    check_scores(&cube, 3, 1, 0.5); /* fewer pixels than bands at the border */
    check_scores(&cube, 101, 1, 0); /* the whole scene */
    check_scores(&cube, 9, 7, 1);
    cube_free(&cube);
}

/* ---- real scenes ---- */

enum { FEW = 10 };

/* The largest |score - naive score| / (1 + naive score), of every third pixel, in float64. Windows where a
 * component is a combination of others but for 1e-4 of its variance are left out. */
static double worst_of(const Cube *cube, const Cube *got, int window, int guard) {
    double worst = 0;
    for (int at = 0; at < (int)cube_pixels(cube); at += 3) {
        int line = at / cube->samples, sample = at % cube->samples, count = 0;
        double mean[FEW] = {0}, c[FEW][FEW] = {{0}}, z[FEW], variance[FEW], expected = 0, pivot = 1;
        for (int turn = 0; turn < 2; turn++) {
            for (int p = 0; p < (int)cube_pixels(cube); p++) {
                int l = p / cube->samples, s = p % cube->samples;
                if (!inside(l, s, line, sample, window) || inside(l, s, line, sample, guard)) {
                    continue;
                }
                const double *x = cube->value + (size_t)p * FEW;
                for (int b = 0; b < FEW; b++) {
                    mean[b] += turn == 0 ? x[b] : 0;
                    for (int k = 0; k < FEW && turn == 1; k++) {
                        c[b][k] += (x[b] - mean[b] / count) * (x[k] - mean[k] / count) / (count - 1);
                    }
                }
                count += turn == 0;
            }
        }
        for (int b = 0; b < FEW; b++) {
            z[b] = cube->value[(size_t)at * FEW + (size_t)b] - mean[b] / count;
            variance[b] = c[b][b];
        }
        for (int i = 0; i < FEW; i++) { /* z' inv(C) z */
            expected += z[i] * z[i] / c[i][i];
            pivot = fmin(pivot, c[i][i] / variance[i]);
            for (int j = i + 1; j < FEW; j++) {
                double factor = c[j][i] / c[i][i];
                for (int k = i; k < FEW; k++) {
                    c[j][k] -= factor * c[i][k];
                }
                z[j] -= factor * z[i];
            }
        }
        worst = pivot < 1e-4 ? worst : fmax(worst, fabs(got->value[at] - expected) / (1 + expected));
    }
    return worst;
}

/* docs/stages/rx.md has the bound. */
static void real_scenes_are_within_the_bound(void **state) {
    (void)state;
    static const struct {
        const char *path;
        int lines, samples;
    } scenes[] = {{"jasper-ridge/jasper_r198.hdr", 100, 100},
                  {"samson/samson.hdr", 95, 95},
                  {"salinas-a/salinas_a.hdr", 83, 86},
                  {"hydice-urban/hydice_urban.hdr", 100, 80},
                  {"aviris-crop/aviris_crop.hdr", 90, 90}};
    const char *data = getenv("HCUBE_DATA");
    if (data == NULL) {
        skip();
    }
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        for (int k = 0; k < 4; k++) {
            const char *how = k % 2 == 0 ? "pca" : "mnf --noise shift";
            int window = k < 2 ? 15 : 7, guard = k < 2 ? 7 : 3;
            check_runs(NULL, "read %s/%s ! %s --components 10 ! write few.img", data, scenes[i].path, how);
            check_runs(NULL, "read few.img ! rx --side %d --guard %d ! write out.img", window, guard);
            Cube cube = cube_read_floats("few", scenes[i].lines, scenes[i].samples, FEW);
            Cube got = cube_read_floats("out", scenes[i].lines, scenes[i].samples, 1);
            double worst = worst_of(&cube, &got, window, guard);
            printf("%s, %s, window %d: %.2g\n", scenes[i].path, how, window, worst);
            assert_true(worst < (k < 2 ? 1.7e-5 : 3e-4));
            cube_free(&cube);
            cube_free(&got);
        }
    }
}

/* With filter behind, every block begins a line before the end of the last: its sums are formed anew. In
 * blocks of the whole scene they slide all the way. The bits are the same, and so they are for tiles of other
 * threads. */
static void sums_that_slide_are_exact(void **state) {
    (void)state;
    static const char chain[] = "read scene.img ! rx --side 9 --guard 3 ! filter mean3x3 ! write";
    Cube cube = make_scene(2);
    for (size_t i = 0; i < cube_pixels(&cube) * BANDS; i++) { /* values whose sums round in floats */
        cube.value[i] = (double)(float)(cube.value[i] * 1e-3 + (i % 97 == 0 ? 1e4 / 3 : 1.0 / 3));
    }
    cube_write(&cube, "scene", HC_FLOAT32, "bip", NULL);
    check_runs(&(RunHow){.settings = {.block_lines = LINES}}, "%s whole.img", chain);
    static const int lines[] = {1, 2, 5, 20};
    for (size_t k = 0; k < sizeof lines / sizeof *lines; k++) {
        RunHow how = {.threads = 1 + (int32_t)k, .settings = {.block_lines = lines[k]}};
        check_runs(&how, "%s parts.img", chain);
        check_same_files("whole.img", "parts.img");
    }
    cube_free(&cube);
}

/* A window whose pixels are all equal has no inverse: no score, and no division by 0. */
static void flat_windows_have_no_score(void **state) {
    (void)state;
    Cube cube = make_scene(3);
    for (int p = 0; p < LINES * SAMPLES; p++) {
        for (int b = 0; b < BANDS && p / SAMPLES > 11 && p % SAMPLES < 14; b++) {
            cube.value[p * BANDS + b] = 100 + b;
        }
    }
    cube_write(&cube, "scene", HC_FLOAT32, "bsq", NULL);
    check_runs(NULL, "read scene.img ! rx --side 5 ! write out.img --nodata nan");
    Cube got = cube_read_floats("out", LINES, SAMPLES, 1);
    assert_true(isnan(got.value[17 * SAMPLES + 5]));
    assert_true(got.value[5 * SAMPLES + 5] >= 0);
    cube_free(&got);
    check_runs(NULL, "read scene.img ! rx --side 5 --shrink 0.1 ! write out.img --nodata nan");
    got = cube_read_floats("out", LINES, SAMPLES, 1);
    check_near(got.value[17 * SAMPLES + 5], 0, 1e-10);
    cube_free(&got);
    cube_free(&cube);
}

static void wrong_windows_are_refused(void **state) {
    (void)state;
    Cube cube = make_scene(4);
    cube_write(&cube, "scene", HC_FLOAT32, "bil", NULL);
    check_runs(NULL, "read scene.img ! cov scene.json");
    static const char *const cases[][2] = {
        {"--side 8", "--side 8: an odd number"},
        {"--side 9 --guard 2", "--guard 2: an odd number"},
        {"--side 5 --guard 5", "--guard 5 ... inside ... --side 5"},
        {"--side 257", "--side 257"},
        {"--guard 3", "--guard needs --side"},
        {"--side 5 --shrink 1.5", "--shrink 1.5"},
        {"--side 5 --shrink oas", "--shrink oas: with --side ... 0 to 1"},
        {"--shrink ledoitwolf", "did you mean ledoit-wolf?"},
        {"--side 5 --background scene.json", "--side excludes --background"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        check_run_fails(NULL, HC_E_USAGE, cases[k][1], "read scene.img ! rx %s ! write bad.img", cases[k][0]);
    }
    Cube wide = cube_smooth(40, 40, 10, 5, true);
    cube_write(&wide, "wide", HC_UINT16, "bil", NULL);
    check_run_fails(NULL, HC_E_NUMERIC,
                    "--side 3 ... 8 pixels in 40 x 40, 10 directions ... 11: give --side 5",
                    "read wide.img ! rx --side 3 ! write bad.img");
    check_runs(NULL, "read wide.img ! rx --side 3 --shrink 0.1 ! write good.img");
    check_runs(NULL, "read wide.img ! pca --components 3 ! rx --side 3 ! write good.img --overwrite");
    assert_false(file_exists("bad.img"));
    cube_free(&wide);
    cube_free(&cube);
}

/* One pixel that is `times` as bright in all bands: scores of windows without it stay within `bound`. */
static void check_far_pixel(double times, double bound) {
    static const int far_line = 6, far_sample = 20;
    Cube cube = make_scene(5);
    cube_write(&cube, "near", HC_FLOAT32, "bip", NULL);
    for (int b = 0; b < BANDS; b++) {
        cube_pixel(&cube, far_line, far_sample)[b] *= times * (1 + 0.3 * b);
    }
    cube_write(&cube, "far", HC_FLOAT32, "bip", NULL);
    check_runs(NULL, "read near.img ! rx --side 9 --guard 3 ! write near_rx.img --nodata nan");
    check_runs(NULL, "read far.img ! rx --side 9 --guard 3 ! write far_rx.img --nodata nan");
    Cube expected = cube_read_floats("near_rx", LINES, SAMPLES, 1);
    Cube got = cube_read_floats("far_rx", LINES, SAMPLES, 1);
    int compared = 0;
    for (int p = 0; p < LINES * SAMPLES; p++) {
        double score = expected.value[p];
        if (!inside(p / SAMPLES, p % SAMPLES, far_line, far_sample, 9) && !isnan(score)) {
            check_near(got.value[p], score, bound * (1 + score));
            compared++;
        }
    }
    assert_true(compared > LINES * SAMPLES / 2);
    assert_true(cube_pixel(&got, far_line, far_sample)[0] > 1e3);
    cube_free(&got);
    cube_free(&expected);
    cube_free(&cube);
}

/* Its direction has nearly all of the variance that whitens, so that the others lie close together there. */
static void a_far_pixel_spoils_nothing(void **state) {
    (void)state;
    check_far_pixel(1e3, 1e-5);
    /* Whitened pixels are float32: what is left grows with the brightness over the number of pixels. */
    check_far_pixel(1e5, 1e-3);
    check_far_pixel(1e6, 1e-2);
}

/* The score of a pixel of two bands against all others of the scene. */
static double without_pixel(const Cube *cube, int32_t pixel) {
    Real mean[2] = {0}, c[2][2] = {{0}}, z[2];
    int32_t others = cube->lines * cube->samples - 1;
    for (int turn = 0; turn < 2; turn++) {
        for (int32_t p = 0; p <= others; p++) {
            const double *x = cube->value + (size_t)p * 2;
            for (int b = 0; b < 2 && p != pixel; b++) {
                mean[b] += turn == 0 ? (Real)x[b] / others : 0;
                for (int k = 0; k < 2 && turn == 1; k++) {
                    c[b][k] += ((Real)x[b] - mean[b]) * ((Real)x[k] - mean[k]) / (others - 1);
                }
            }
        }
    }
    z[0] = (Real)cube->value[(size_t)pixel * 2] - mean[0];
    z[1] = (Real)cube->value[(size_t)pixel * 2 + 1] - mean[1];
    Real determinant = c[0][0] * c[1][1] - c[0][1] * c[0][1];
    return (double)((z[0] * z[0] * c[1][1] - 2 * z[0] * z[1] * c[0][1] + z[1] * z[1] * c[0][0]) /
                    determinant);
}

/* A scene with fewer lines or samples than the window, in blocks of one line and of all. */
static void thin_scenes(void **state) {
    (void)state;
    static const int32_t shapes[][2] = {{1, 70}, {70, 1}, {2, 45}, {45, 3}, {6, 6}};
    static const char *const options[] = {"--side 9", "--side 255", "--side 11 --guard 3 --shrink 0.2"};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        int32_t lines = shapes[i][0], samples = shapes[i][1];
        Cube cube = cube_smooth(lines, samples, 2, 6 + i, false);
        cube_write(&cube, "thin", HC_FLOAT32, "bil", NULL);
        for (size_t k = 0; k < sizeof options / sizeof *options; k++) {
            RunHow how = {.threads = 2, .settings = {.block_lines = 1}};
            check_runs(NULL, "read thin.img ! rx %s ! write whole.img --nodata nan", options[k]);
            check_runs(&how, "read thin.img ! rx %s ! write parts.img --nodata nan", options[k]);
            check_same_files("whole.img", "parts.img");
        }
        check_runs(NULL, "read thin.img ! rx --side 255 ! write whole.img --nodata nan");
        Cube got = cube_read_floats("whole", lines, samples, 1);
        for (int32_t p = 0; p < lines * samples && lines * samples < 127; p++) {
            check_near(got.value[p], without_pixel(&cube, p), 1e-4 * (1 + got.value[p]));
        }
        cube_free(&got);
        cube_free(&cube);
    }
}

/* No window of the scene has enough pixels: one line, not an output without a score. */
static void scenes_too_thin_are_refused(void **state) {
    (void)state;
    static const struct {
        int32_t lines, samples;
        const char *options, *says;
    } cases[] = {
        {1, 70, "--side 3", "2 pixels in 1 x 70, 2 directions ... 3: give --side 5,"},
        {70, 1, "--side 9 --guard 7", "2 pixels in 70 x 1, 2 directions ... 3: give --side 11,"},
        {6, 6, "--side 31 --guard 29", "0 pixels in 6 x 6, 2 directions ... 3: give a smaller --guard,"},
        {6, 6, "--side 31 --guard 29 --shrink 0.5", "at least 2: give a smaller --guard"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Cube cube = cube_smooth(cases[i].lines, cases[i].samples, 2, 12, false);
        cube_write(&cube, "thin", HC_FLOAT32, "bil", NULL);
        check_run_fails(NULL, HC_E_NUMERIC, cases[i].says, "read thin.img ! rx %s ! write bad.img",
                        cases[i].options);
        assert_false(file_exists("bad.img"));
        cube_free(&cube);
    }
}

/* ---- blocks that jump ---- */

enum { JUMP_LINES = 131, JUMP_SAMPLES = 7, JUMP_BANDS = 2, JUMP_WINDOW = 21 };

typedef struct Jumps {
    float *data;
    uint8_t *mask;
    HcCompute *compute;
    HcQueue *queue;
    HcLocal *local;
    float score[JUMP_LINES * JUMP_SAMPLES];
    uint8_t score_mask[JUMP_LINES * JUMP_SAMPLES];
} Jumps;

/* Scores of some lines, at their place of the scene. */
static void score_lines(Jumps *jumps, int32_t line, int32_t lines) {
    HcError err = {0};
    HcBlock out = {.data = jumps->score + (size_t)line * JUMP_SAMPLES,
                   .mask = jumps->score_mask + (size_t)line * JUMP_SAMPLES,
                   .line0 = line,
                   .lines = lines,
                   .samples = JUMP_SAMPLES,
                   .bands = 1};
    HcBlock in = out;
    in.above = (int32_t)hc_min64(JUMP_WINDOW / 2, line);
    in.below = (int32_t)hc_min64(JUMP_WINDOW / 2, JUMP_LINES - line - lines);
    in.bands = JUMP_BANDS;
    in.data = jumps->data + (size_t)(line - in.above) * JUMP_SAMPLES * JUMP_BANDS;
    in.mask = jumps->mask + (size_t)(line - in.above) * JUMP_SAMPLES;
    check_ok(hc_local(jumps->queue, &in, jumps->local, &out, &err), err);
}

static void open_jumps(Jumps *jumps, int32_t threads, int32_t guard, float *data, uint8_t *mask) {
    HcError err = {0};
    HcComputeConfig config = {.threads = threads};
    HcLocalRule rule = {.lines = JUMP_LINES,
                        .samples = JUMP_SAMPLES,
                        .directions = JUMP_BANDS,
                        .window = JUMP_WINDOW,
                        .guard = guard,
                        .per_unit = 0x1p38};
    *jumps = (Jumps){.data = data, .mask = mask};
    check_ok(hc_compute_open(hc_cpu_ops(), &config, &jumps->compute, &err), err);
    check_ok(hc_queue_open(jumps->compute, &jumps->queue, &err), err);
    check_ok(hc_local_open(jumps->compute, &rule, &jumps->local, &err), err);
}

static void close_jumps(Jumps *jumps) {
    hc_local_close(jumps->local);
    hc_queue_close(jumps->queue);
    hc_compute_close(jumps->compute);
}

/* Blocks of `lines` lines from one end of the scene on, each `step` lines behind the one before. */
static void jump_through(Jumps *parts, const Jumps *whole, int32_t lines, int32_t step) {
    int32_t first = step > 0 ? 0 : JUMP_LINES - lines;
    for (int32_t line = first; line >= 0 && line + lines <= JUMP_LINES && step != 0; line += step) {
        size_t at = (size_t)line * JUMP_SAMPLES, pixels = (size_t)lines * JUMP_SAMPLES;
        score_lines(parts, line, lines);
        assert_memory_equal(parts->score_mask + at, whole->score_mask + at, pixels);
        assert_memory_equal(parts->score + at, whole->score + at, pixels * sizeof(float));
    }
}

/* Blocks need not follow each other: sums are formed anew where the rows to take away are gone. */
static void lines_may_jump(void **state) {
    (void)state;
    static Jumps whole, parts;
    static float data[JUMP_LINES * JUMP_SAMPLES * JUMP_BANDS];
    static uint8_t mask[JUMP_LINES * JUMP_SAMPLES];
    uint64_t seed = 9;
    for (size_t p = 0; p < sizeof mask; p++) {
        mask[p] = p % 13 != 0;
        for (size_t b = 0; b < JUMP_BANDS && mask[p] != 0; b++) {
            data[p * JUMP_BANDS + b] = (float)(random_normal(&seed) + 0.1 * (double)(p / JUMP_SAMPLES));
        }
    }
    for (int32_t guard = 1; guard < JUMP_WINDOW; guard += 6) {
        open_jumps(&whole, 1, guard, data, mask);
        open_jumps(&parts, 2, guard, data, mask);
        score_lines(&whole, 0, JUMP_LINES);
        for (int32_t lines = 1; lines <= 13; lines += 3) {
            for (int32_t step = -9; step <= lines + JUMP_WINDOW + 5; step++) {
                jump_through(&parts, &whole, lines, step);
            }
        }
        close_jumps(&whole);
        close_jumps(&parts);
    }
}

static void contract(void **state) {
    (void)state;
    check_stage_contract("rx --side 5 --guard 3 --shrink 0.2");
    check_stage_contract("pca --components 2 ! rx --side 7");
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(scores_agree_with_windows),   IN_FOLDER(real_scenes_are_within_the_bound),
        IN_FOLDER(sums_that_slide_are_exact),   IN_FOLDER(flat_windows_have_no_score),
        IN_FOLDER(a_far_pixel_spoils_nothing),  IN_FOLDER(thin_scenes),
        IN_FOLDER(scenes_too_thin_are_refused), cmocka_unit_test(lines_may_jump), /* no files */
        IN_FOLDER(wrong_windows_are_refused),   IN_FOLDER(contract),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
