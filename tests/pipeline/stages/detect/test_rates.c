/* --rates of detect and rx: the scores are those of a run without them, the rank share of a pixel is counted
 * over all scores one by one, and Gaussian rates have the deviation of the scores themselves. */
#include "pipeline/detections/false_alarm.h"
#include "tests/support/strict.h"
#include "tests/support/strict_runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINES = 19, SAMPLES = 23, BANDS = 5, PIXELS = LINES * SAMPLES };

static void write_scene(void) {
    Cube cube = cube_few_values(LINES, SAMPLES, BANDS, 4);
    cube_border(&cube, 0);
    cube_write(&cube, "scene", HC_UINT16, "bil", "data ignore value = 0\n");
    cube_free(&cube);
}

/* Pixels with this score or a better one, of those with a score. */
static double share_of(const Cube *scores, int32_t band, double score, bool low) {
    double better = 0;
    double all = 0;
    for (int32_t p = 0; p < PIXELS; p++) {
        double other = scores->value[p * scores->bands + band];
        all += !isnan(other);
        better += low ? other <= score : other >= score;
    }
    return better / all;
}

static double deviation_of(const Cube *scores, int32_t band) {
    double sum = 0, squares = 0, count = 0;
    for (int32_t p = 0; p < PIXELS; p++) {
        double score = scores->value[p * scores->bands + band];
        if (!isnan(score)) {
            sum += score;
            squares += score * score;
            count++;
        }
    }
    return sqrt((squares - sum * sum / count) / (count - 1));
}

typedef struct Case {
    const char *step;
    int32_t scores;
    HcNull null; /* UNKNOWN = rank alone */
    bool low;
    bool apart; /* the background is that of a file */
} Case;

static int64_t count_valid(const Cube *scores) {
    int64_t count = 0;
    for (int32_t p = 0; p < PIXELS; p++) {
        count += !isnan(scores->value[p * scores->bands]);
    }
    return count;
}

static void check_pixel(const Case *of, const Cube *scores, const double *deviation, int32_t pixel,
                        const double *got) {
    const double *score = scores->value + pixel * of->scores;
    for (int32_t b = 0; b < of->scores; b++) {
        if (isnan(score[b])) {
            assert_true(isnan(got[b]) && isnan(got[of->scores + b]));
            continue;
        }
        check_near(got[b], score[b], 0);
        const double *rate = got + of->scores + (of->null == HC_NULL_UNKNOWN ? b : 2 * b);
        if (of->null != HC_NULL_UNKNOWN) {
            HcNullLaw law = {.null = of->null,
                             .directions = BANDS,
                             .pixels = count_valid(scores),
                             .apart = of->apart,
                             .deviation = deviation[b],
                             .nearness = deviation[b]};
            double expected = hc_false_alarm(&law, pixel, score[b]);
            check_near(*rate++, expected, 2e-6 * (0.01 + expected));
        }
        check_near(*rate, share_of(scores, b, score[b], of->low), 1e-7);
    }
}

static void check_case(const Case *of) {
    const char *choice = of->null == HC_NULL_UNKNOWN ? "rank" : "both";
    int32_t bands = of->scores * (of->null == HC_NULL_UNKNOWN ? 2 : 3);
    double deviation[2];
    check_runs(NULL, "read scene.img ! %s ! write scores.img --nodata nan", of->step);
    check_runs(NULL, "read scene.img ! %s --rates %s ! write out.img --nodata nan", of->step, choice);
    Cube scores = cube_read_floats("scores", LINES, SAMPLES, of->scores);
    Cube got = cube_read_floats("out", LINES, SAMPLES, bands);
    for (int32_t b = 0; b < of->scores; b++) {
        deviation[b] = deviation_of(&scores, b);
    }
    for (int32_t p = 0; p < PIXELS; p++) {
        check_pixel(of, &scores, deviation, p, got.value + p * bands);
    }
    cube_free(&scores);
    cube_free(&got);
}

#define TARGETS " --target-at 5,4 --target-at 9,12"

static void rates_are_those_of_the_scores(void **state) {
    (void)state;
    write_scene();
    static const Case cases[] = {
        {"detect --method mf" TARGETS, 2, HC_NULL_NORMAL, false, false},
        {"detect --method amf" TARGETS, 2, HC_NULL_ROOT_NORMAL, false, false},
        {"detect --method ace" TARGETS, 2, HC_NULL_COHERENCE, false, false},
        {"rx", 1, HC_NULL_CHI_SQUARE, false, false},
        {"detect --method cem" TARGETS, 2, HC_NULL_UNKNOWN, false, false},
        {"detect --method osp" TARGETS, 2, HC_NULL_UNKNOWN, false, false},
        {"detect --method sam" TARGETS, 2, HC_NULL_UNKNOWN, true, false},
        {"detect --method sid" TARGETS, 2, HC_NULL_UNKNOWN, true, false},
        {"detect --method ace --shrink ledoit-wolf" TARGETS, 2, HC_NULL_UNKNOWN, false, false},
        {"detect --method mf --robust 1e-3" TARGETS, 2, HC_NULL_UNKNOWN, false, false},
        {"detect --method mf --by columns=4" TARGETS, 2, HC_NULL_UNKNOWN, false, false},
        {"rx --side 9", 1, HC_NULL_UNKNOWN, false, false},
        {"rx --shrink ledoit-wolf", 1, HC_NULL_UNKNOWN, false, false},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        check_case(&cases[k]);
    }
    check_runs(NULL, "read scene.img ! cov background.json ! write copy.img");
    check_case(
        &(Case){"detect --method mf --background background.json" TARGETS, 2, HC_NULL_NORMAL, false, true});
    check_case(&(Case){"rx --background background.json", 1, HC_NULL_CHI_SQUARE, false, true});
}

/* Each kind of rates alone, and what bands are called. */
static void one_kind_has_one_band(void **state) {
    (void)state;
    write_scene();
    static const char *const kinds[] = {"gaussian", "rank"};
    check_runs(NULL, "read scene.img ! rx --rates both ! write both.img --nodata nan");
    Cube both = cube_read_floats("both", LINES, SAMPLES, 3);
    for (int32_t k = 0; k < 2; k++) {
        check_runs(NULL, "read scene.img ! rx --rates %s ! write one.img --nodata nan", kinds[k]);
        Cube one = cube_read_floats("one", LINES, SAMPLES, 2);
        for (int32_t p = 0; p < PIXELS; p++) {
            assert_true(isnan(one.value[2 * p + 1]) == isnan(both.value[3 * p + 1 + k]));
            if (!isnan(one.value[2 * p + 1])) {
                check_near(one.value[2 * p + 1], both.value[3 * p + 1 + k], 0);
            }
        }
        cube_free(&one);
    }
    cube_free(&both);
    assert_true(file_holds("both.hdr", "RX score,\nRX score false-alarm rate,\nRX score rank share}"));
}

/* Detections are of the scores alone, and their shares are those of the bands. */
static void detections_are_of_scores(void **state) {
    (void)state;
    write_scene();
    check_runs(NULL, "read scene.img ! detect --method mf" TARGETS " --detections plain.gpkg --top 5");
    check_runs(NULL,
               "read scene.img ! detect --method mf" TARGETS " --rates both --detections rated.gpkg --top 5");
    check_same_files("plain.gpkg", "rated.gpkg");
}

/* More than one part of a block (16 MiB), and equal scores all over the scene. */
static void large_scenes_go_in_parts(void **state) {
    (void)state;
    enum { WIDE = 6000, HIGH = 20, MANY = 60 };
    Cube cube = cube_new(HIGH, WIDE, MANY);
    uint64_t seed = 8;
    for (size_t i = 0; i < cube_pixels(&cube) * MANY; i++) {
        cube.value[i] = i / MANY % 3 == 0 ? 7 : floor(200 * random_uniform(&seed));
    }
    cube_write(&cube, "wide", HC_UINT8, "bip", NULL);
    cube_free(&cube);
    check_runs(NULL, "read wide.img ! detect --target-at 5,4 ! write scores.img");
    check_runs(NULL, "read wide.img ! detect --target-at 5,4 --rates rank ! write out.img");
    Cube scores = cube_read_floats("scores", HIGH, WIDE, 1);
    Cube got = cube_read_floats("out", HIGH, WIDE, 2);
    for (size_t p = 0; p < HIGH * WIDE; p += 997) {
        double better = 0;
        for (size_t q = 0; q < HIGH * WIDE; q++) {
            better += scores.value[q] >= scores.value[p];
        }
        check_near(got.value[2 * p], scores.value[p], 0);
        check_near(got.value[2 * p + 1], better / (HIGH * WIDE), 1e-7);
    }
    cube_free(&scores);
    cube_free(&got);
    /* Here a part of the later blocks, of 5 lines and 19 of context, is context alone. */
    static const struct {
        const char *name;
        int32_t lines;
    } runs[] = {{"whole", HIGH}, {"parts", 5}};
    for (int32_t r = 0; r < 2; r++) {
        check_runs(&(RunHow){.settings = {.block_lines = runs[r].lines}},
                   "read wide.img ! rx --rates rank ! rx --side 39 --shrink 0.1 ! write %s.img",
                   runs[r].name);
    }
    check_same_files("whole.img", "parts.img");
}

static void blocks_and_backends_agree(void **state) {
    (void)state;
    static const char *const chains[] = {
        "read scene.img ! rx --rates both ! write out.img",
        "read scene.img ! rx --side 7 --rates rank ! filter mean3x3 ! write out.img",
        "read scene.img ! detect" TARGETS " --rates both ! filter mean3x3 ! write out.img",
        "read scene.img ! detect --method mf --by columns=5 --rates rank" TARGETS " ! write out.img",
        "read scene.img ! detect --method sam --rates rank" TARGETS " ! write out.img",
    };
    static const char *const results[] = {"out.img", "out.hdr", NULL};
    write_scene();
    check_runs_agree(chains, sizeof chains / sizeof *chains, 3);
    check_failures_leave_nothing(chains, sizeof chains / sizeof *chains, 7, results);
    check_stage_contract("rx --rates rank");
}

static void refusals(void **state) {
    (void)state;
    write_scene();
    static const char *const cases[][2] = {
        {"detect --method sam --rates both" TARGETS, "detect: --rates both ... sam ... give --rates rank"},
        {"detect --method cem --rates gaussian" TARGETS, "scores of cem have no known distribution"},
        {"detect --shrink oas --rates gaussian" TARGETS, "scores with --shrink have no known distribution"},
        {"rx --side 9 --rates both", "rx: --rates both ... --side ... no known distribution"},
        {"rx --shrink 0.1 --rates both", "scores with --shrink have no known distribution"},
        {"mnf --keep-all ! detect --method mtmf --rates rank --target-at 5,4", "no single order"},
        {"rx --rates all", "--rates all"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        check_run_fails(NULL, HC_E_USAGE, cases[k][1], "read scene.img ! %s ! write out.img", cases[k][0]);
    }
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(rates_are_those_of_the_scores), IN_FOLDER(one_kind_has_one_band),
        IN_FOLDER(detections_are_of_scores),      IN_FOLDER(large_scenes_go_in_parts),
        IN_FOLDER(blocks_and_backends_agree),     IN_FOLDER(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
