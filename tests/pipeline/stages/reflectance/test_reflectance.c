/* reflectance: against (raw - dark) / (white - dark) x panel in plain float64, written here, with drift,
 * exposure, saturated pixels and a dead element; references beside the scene; what is refused. */
#include "tests/support/strict_runs.h"

#include <stdlib.h>

enum { LINES = 23, SAMPLES = 9, BANDS = 5, DARK_LINES = 4 };

/* Counts around a level that differs with column and band. */
static Cube frame_new(int32_t lines, double level, uint64_t seed) {
    Cube cube = cube_new(lines, SAMPLES, BANDS);
    for (int32_t l = 0; l < lines; l++) {
        for (int32_t s = 0; s < SAMPLES; s++) {
            for (int32_t b = 0; b < BANDS; b++) {
                seed = seed * 6364136223846793005u + 1442695040888963407u;
                cube_pixel(&cube, l, s)[b] = level + 10 * s + 3 * b + (double)(seed >> 60);
            }
        }
    }
    return cube;
}

static double mean_of(const Cube *cube, int32_t s, int32_t b) {
    double sum = 0;
    for (int32_t l = 0; l < cube->lines; l++) {
        sum += cube_pixel(cube, l, s)[b];
    }
    return sum / cube->lines;
}

typedef struct Scenes {
    Cube raw, dark, later, white;
} Scenes;

/* raw.img, dark.img, later.img and white.img. Column 3 is dead in band 1, pixel 2, 4 is saturated. */
static Scenes scenes_new(void) {
    Scenes scenes = {.raw = frame_new(LINES, 900, 1),
                     .dark = frame_new(DARK_LINES, 100, 2),
                     .later = frame_new(DARK_LINES + 2, 150, 3),
                     .white = frame_new(DARK_LINES, 3000, 4)};
    for (int32_t l = 0; l < DARK_LINES; l++) {
        cube_pixel(&scenes.white, l, 3)[1] = 20;
    }
    cube_pixel(&scenes.raw, 2, 4)[3] = 65535;
    cube_write(&scenes.raw, "raw", HC_UINT16, "bil", "tint = 10\n");
    cube_write(&scenes.dark, "dark", HC_UINT16, "bil", "tint = 10\n");
    cube_write(&scenes.later, "later", HC_UINT16, "bip", "tint = 10\n");
    cube_write(&scenes.white, "white", HC_UINT16, "bsq", "tint = 5\n");
    return scenes;
}

static void scenes_free(Scenes *scenes) {
    cube_free(&scenes->raw);
    cube_free(&scenes->dark);
    cube_free(&scenes->later);
    cube_free(&scenes->white);
}

/* out.img against the formula. line0: the first line of the scene that it has. */
static void check_values(const Scenes *scenes, int32_t line0, int32_t lines, bool drifts, double factor) {
    Cube got = cube_read_floats("out", lines, SAMPLES, BANDS);
    for (int32_t l = 0; l < lines; l++) {
        for (int32_t s = 0; s < SAMPLES; s++) {
            bool masked = s == 3 || (l + line0 == 2 && s == 4);
            for (int32_t b = 0; b < BANDS; b++) {
                double value = cube_pixel(&got, l, s)[b];
                double first = mean_of(&scenes->dark, s, b), last = mean_of(&scenes->later, s, b);
                double share = drifts ? (double)(l + line0) / (LINES - 1) : 0;
                double dark = first * (1 - share) + last * share;
                double raw = cube_pixel(&scenes->raw, l + line0, s)[b];
                double expected = (raw - dark) / (mean_of(&scenes->white, s, b) - first) * factor;
                if (masked) {
                    assert_true(isnan(value));
                } else {
                    check_near(value, expected, 1e-6);
                }
            }
        }
    }
    cube_free(&got);
}

static void against_the_formula(void **state) {
    (void)state;
    Scenes scenes = scenes_new();
    HcText notes = {0};
    RunHow how = {.notes = &notes};
    check_runs(&how,
               "read raw.img ! reflectance --dark dark.img --white white.img --panel 0.5 --exposure none ! "
               "write out.img --nodata nan");
    check_values(&scenes, 0, LINES, false, 0.5);
    assert_true(strstr(hc_text_shown(&notes), "24 pixels are masked") != NULL);
    assert_true(strstr(hc_text_shown(&notes), "not corrected (--exposure none)") != NULL);
    check_runs(NULL,
               "read raw.img ! reflectance --dark dark.img --white white.img ! write out.img --nodata nan "
               "--overwrite");
    check_values(&scenes, 0, LINES, false, 0.5); /* 5 over 10 */
    hc_text_clear(&notes);
    scenes_free(&scenes);
}

static void dark_drifts(void **state) {
    (void)state;
    Scenes scenes = scenes_new();
    check_runs(NULL, "read raw.img ! reflectance --dark dark.img --dark later.img --white white.img ! "
                     "write out.img --nodata nan");
    check_values(&scenes, 0, LINES, true, 0.5);
    check_runs(NULL, "read raw.img --window 0,6,9,11 ! reflectance --dark dark.img --dark later.img "
                     "--white white.img ! write out.img --nodata nan --overwrite");
    check_values(&scenes, 6, 11, true, 0.5);
    scenes_free(&scenes);
}

/* Bands and columns of the references follow those that are read. */
static void parts_of_the_scene(void **state) {
    (void)state;
    Scenes scenes = scenes_new();
    const char *step = "reflectance --dark dark.img --white white.img";
    check_runs(NULL, "read raw.img ! %s ! bands 4,2 ! write a.img --nodata nan", step);
    check_runs(NULL, "read raw.img ! bands 4,2 ! %s ! write b.img --nodata nan", step);
    Cube a = cube_read_floats("a", LINES, SAMPLES, 2), b = cube_read_floats("b", LINES, SAMPLES, 2);
    for (size_t i = 0; i < cube_pixels(&a) * 2; i++) {
        bool saturated = i / 2 == 2 * SAMPLES + 4; /* in a band that b does not have */
        assert_true(saturated || a.value[i] == b.value[i] || (isnan(a.value[i]) && isnan(b.value[i])));
    }
    check_runs(NULL, "read raw.img ! %s ! write c.img --nodata nan", step);
    check_runs(NULL, "read c.img --window 5,3,4,10 ! write d.img");
    check_runs(NULL, "read raw.img --window 5,3,4,10 ! %s ! write e.img --nodata nan", step);
    check_same_files("d.img", "e.img");
    cube_free(&a);
    cube_free(&b);
    scenes_free(&scenes);
}

/* Lines and shielded columns of the scene itself. */
static void lines_of_the_scene(void **state) {
    (void)state;
    Cube raw = frame_new(LINES, 900, 7);
    for (int32_t s = 0; s < SAMPLES; s++) {
        for (int32_t b = 0; b < BANDS; b++) {
            cube_pixel(&raw, 0, s)[b] = 50 + s;
            cube_pixel(&raw, 1, s)[b] = 52 + s;
            cube_pixel(&raw, LINES - 1, s)[b] = 72 + s;
            cube_pixel(&raw, 10, s)[b] = 2000;
        }
    }
    cube_write(&raw, "own", HC_UINT16, "bil", NULL);
    check_runs(NULL,
               "read own.img ! reflectance --dark lines=1-2 --dark lines=%d-%d --white lines=11-11 ! "
               "write out.img",
               LINES, LINES);
    Cube got = cube_read_floats("out", LINES, SAMPLES, BANDS);
    double dark = 51 + 4 + (15 - 0.5) * 21 / (LINES - 1 - 0.5);
    check_near(cube_pixel(&got, 15, 4)[2], (cube_pixel(&raw, 15, 4)[2] - dark) / (2000 - 51 - 4), 1e-6);
    cube_free(&got);
    check_runs(NULL, "read own.img ! reflectance --dark columns=1-2 --white lines=11-11 ! write out.img "
                     "--overwrite");
    got = cube_read_floats("out", LINES, SAMPLES, BANDS);
    dark = 0;
    for (int32_t l = 0; l < LINES; l++) {
        dark += (cube_pixel(&raw, l, 0)[2] + cube_pixel(&raw, l, 1)[2]) / (2 * LINES);
    }
    check_near(cube_pixel(&got, 15, 4)[2], (cube_pixel(&raw, 15, 4)[2] - dark) / (2000 - dark), 1e-6);
    cube_free(&got);
    cube_free(&raw);
}

/* A spectrum of the panel: each band has its own factor. */
static void panel_spectrum(void **state) {
    (void)state;
    Scenes scenes = scenes_new();
    file_write("panel.csv", "wavelength,panel\n500,0.9\n600,0.8\n700,0.7\n800,0.6\n900,0.5\n");
    file_write("two.csv", "wavelength,one,two\n500,0.9,1\n600,0.8,1\n700,0.7,1\n800,0.6,1\n900,0.5,1\n");
    check_runs(NULL,
               "read raw.img ! reflectance --dark dark.img --white white.img ! write a.img --nodata nan");
    check_runs(NULL, "read raw.img ! reflectance --dark dark.img --white white.img --panel panel.csv ! "
                     "write b.img --nodata nan");
    Cube a = cube_read_floats("a", LINES, SAMPLES, BANDS), b = cube_read_floats("b", LINES, SAMPLES, BANDS);
    for (size_t i = 0; i < cube_pixels(&a) * BANDS; i++) {
        double factor = 0.9 - 0.1 * (double)(i % BANDS);
        assert_int_equal(isnan(a.value[i]), isnan(b.value[i]));
        assert_true(isnan(a.value[i]) || fabs(b.value[i] - factor * a.value[i]) < 1e-6);
    }
    check_run_fails(
        NULL, HC_E_INPUT, "has 2 spectra, one is needed",
        "read raw.img ! reflectance --dark dark.img --white white.img --panel two.csv ! write c.img");
    cube_free(&a);
    cube_free(&b);
    scenes_free(&scenes);
}

static void blocks_and_failures(void **state) {
    (void)state;
    Scenes scenes = scenes_new();
    static const char *const chains[] = {
        "read raw.img ! reflectance --dark dark.img --dark later.img --white white.img ! write out.img",
        "read raw.img ! reflectance --dark dark.img --white white.img ! filter median3x3 ! write out.img",
    };
    static const char *const results[] = {"out.img", "out.hdr", NULL};
    check_runs_agree(chains, 2, 1);
    check_failures_leave_nothing(chains, 2, 7, results);
    scenes_free(&scenes);
}

static void what_is_refused(void **state) {
    (void)state;
    Scenes scenes = scenes_new();
    Cube narrow = cube_smooth(3, SAMPLES - 1, BANDS, 1, true), few = cube_smooth(3, SAMPLES, 4, 1, true);
    cube_write(&narrow, "narrow", HC_UINT16, "bil", NULL);
    cube_write(&few, "few", HC_UINT16, "bil", NULL);
    cube_write(&scenes.white, "zero", HC_UINT16, "bil", "tint = 0\n");
    int entries = folder_entries();
#define REFUSED(status, part, words)                                                                         \
    check_run_fails(NULL, status, part, "read raw.img ! reflectance " words " ! write out.img")
    REFUSED(HC_E_INPUT, "--dark narrow.img: has 8 columns, the scene has 9",
            "--dark dark.img --dark narrow.img --white white.img");
    REFUSED(HC_E_INPUT, "--white few.img: has 4 bands, the scene has 5", "--dark dark.img --white few.img");
    REFUSED(HC_E_INPUT, "darker than the dark in 44 of 45", "--dark white.img --white dark.img");
    REFUSED(HC_E_INPUT, "tint = 0", "--dark dark.img --white zero.img");
    REFUSED(HC_E_INPUT, "no.img", "--dark no.img --white white.img");
    REFUSED(HC_E_USAGE, "not a range A-B from 1 to 23", "--dark lines=0-3 --white white.img");
    REFUSED(HC_E_USAGE, "not a range A-B from 1 to 9", "--dark columns=1-10 --white white.img");
    REFUSED(HC_E_USAGE, "not after", "--dark lines=9-9 --dark lines=1-2 --white white.img");
    REFUSED(HC_E_USAGE, "the third", "--dark dark.img --dark dark.img --dark dark.img --white white.img");
    REFUSED(HC_E_USAGE, "a reflectance is above 0", "--dark dark.img --white white.img --panel 99");
#undef REFUSED
    assert_int_equal(folder_entries(), entries);
    cube_free(&narrow);
    cube_free(&few);
    scenes_free(&scenes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(against_the_formula, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(dark_drifts, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(parts_of_the_scene, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(lines_of_the_scene, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(panel_spectrum, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(blocks_and_failures, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(what_is_refused, folder_setup, folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
