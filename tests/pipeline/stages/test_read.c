#include "core/operation/decode.h"
#include "tests/support/scene_files.h"

#include <stdio.h>
#include <stdlib.h>

enum { LINES = 12, SAMPLES = 8, BANDS = 3 };

static HcRunReport report;
static const RunHow reported = {.report = &report};

/* Runs read with the options; returns how many pixels each reason left out, in `report`. */
static void read_with(const char *options) {
    report = (HcRunReport){0};
    check_runs(&reported, "read scene.img %s ! write out.img", options);
}

static void nodata_by_any_or_all_bands(void **state) {
    (void)state;
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 1, true);
    for (int32_t b = 0; b < BANDS; b++) {
        cube_pixel(&cube, 2, 3)[b] = 0;
    }
    cube_pixel(&cube, 4, 4)[1] = 0;
    cube_write(&cube, "scene", HC_INT16, "bil", "data ignore value = 0\n");
    read_with("");
    assert_int_equal(report.masked[HC_MASK_NODATA], 2);
    read_with("--nodata-rule all");
    assert_int_equal(report.masked[HC_MASK_NODATA], 1);
    read_with("--ignore-nodata");
    assert_int_equal(report.masked[HC_MASK_NODATA], 0);
    double other = cube_pixel(&cube, 0, 0)[2];
    char options[64];
    snprintf(options, sizeof options, "--source-nodata %g --nodata-rule any", other);
    read_with(options);
    int64_t masked = report.masked[HC_MASK_NODATA];
    assert_true(masked >= 1 && masked <= LINES * SAMPLES);
    assert_int_equal(report.pixels, LINES * SAMPLES);
    cube_free(&cube);
}

/* By --nodata-rule all a band without any value says nothing: bands over water vapour that are NaN, or NaN
 * here and nodata there, are left out with a note, and pixels count by what is left. */
static void bands_without_values(void **state) {
    (void)state;
    static const char *const interleaves[] = {"bsq", "bil", "bip"};
    for (int i = 0; i < 3; i++) {
        Cube cube = cube_smooth(LINES, SAMPLES, BANDS + 2, 9, false);
        for (int32_t line = 0; line < LINES; line++) {
            for (int32_t sample = 0; sample < SAMPLES; sample++) {
                double *pixel = cube_pixel(&cube, line, sample);
                pixel[1] = NAN;
                pixel[3] = (line + sample) % 2 == 0 ? NAN : -9999;
                pixel[4] = line < LINES - 1 ? NAN : pixel[4]; /* a value in the last line */
            }
        }
        for (int32_t b = 0; b < BANDS + 2; b++) {
            cube_pixel(&cube, LINES - 1, 2)[b] = b == 1 ? (double)NAN : -9999;
        }
        cube_write(&cube, "scene", HC_FLOAT32, interleaves[i], "data ignore value = -9999\n");
        HcText notes = {0};
        RunHow how = {.report = &report, .notes = &notes};
        check_runs(&how, "read scene.img --nodata-rule all ! write out.img");
        assert_non_null(strstr(notes.data, "2 of 5 bands hold no value and are left out"));
        Cube out = cube_read_floats("out", LINES, SAMPLES, 3);
        check_near(cube_pixel(&out, LINES - 1, 3)[1], (float)cube_pixel(&cube, LINES - 1, 3)[2], 0);
        assert_int_equal(report.masked[HC_MASK_NODATA], 1);
        assert_int_equal(report.masked[HC_MASK_NAN], (LINES - 1) * SAMPLES); /* band 5 lacks a value there */
        cube_free(&out);
        check_runs(&how, "read scene.img --nodata-rule all ! bands 1-2 ! write out.img");
        hc_text_clear(&notes);
        cube_free(&cube);
    }
    Cube cube = cube_new(LINES, SAMPLES, 2);
    for (size_t v = 0; v < cube_pixels(&cube) * 2; v++) {
        cube.value[v] = v % 3 == 0 ? NAN : 7;
    }
    cube_write(&cube, "scene", HC_FLOAT32, "bil", "data ignore value = 7\n");
    check_run_fails(NULL, HC_E_INPUT, "no band holds a value",
                    "read scene.img --nodata-rule all ! write o.img");
    cube_free(&cube);
}

/* The ends of 64-bit integers are no doubles, and nodata all the same. */
static void nodata_at_the_ends_of_integers(void **state) {
    (void)state;
    static const struct {
        int type;
        uint64_t bits;
        const char *text;
    } ends[] = {{14, (uint64_t)INT64_MIN, "-9223372036854775808"},
                {14, (uint64_t)INT64_MAX, "9223372036854775807"},
                {15, UINT64_MAX, "18446744073709551615"}};
    for (int e = 0; e < 3; e++) {
        uint64_t value[40];
        for (uint64_t i = 0; i < 40; i++) {
            value[i] = i % 8 == 0 ? ends[e].bits : i;
        }
        FILE *file = fopen("ends.img", "wb");
        assert_non_null(file);
        assert_int_equal(fwrite(value, sizeof value, 1, file), 1);
        assert_int_equal(fclose(file), 0);
        file = fopen("ends.hdr", "w");
        assert_non_null(file);
        fprintf(file,
                "ENVI\nsamples = 8\nlines = 5\nbands = 1\ndata type = %d\ninterleave = bsq\nbyte order = 0\n"
                "data ignore value = %s\n",
                ends[e].type, ends[e].text);
        assert_int_equal(fclose(file), 0);
        report = (HcRunReport){0};
        check_runs(&reported, "read ends.img ! write out.img");
        assert_int_equal(report.masked[HC_MASK_NODATA], 5);
    }
}

static void nan_and_user_masks(void **state) {
    (void)state;
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 2, false);
    cube_pixel(&cube, 1, 1)[2] = NAN;
    cube_pixel(&cube, 7, 0)[0] = INFINITY;
    cube_write(&cube, "scene", HC_FLOAT32, "bip", NULL);
    Cube mask = cube_new(LINES, SAMPLES, 1);
    for (size_t i = 0; i < cube_pixels(&mask); i++) {
        mask.value[i] = i >= SAMPLES; /* the first line is left out */
    }
    cube_write(&mask, "mask", HC_UINT8, "bsq", NULL);
    read_with("--mask mask.hdr");
    assert_int_equal(report.masked[HC_MASK_USER], SAMPLES);
    assert_int_equal(report.masked[HC_MASK_NAN], 2);
    Cube out = cube_read_floats("out", LINES, SAMPLES, BANDS);
    for (int32_t s = 0; s < SAMPLES; s++) {
        assert_true(isnan(cube_pixel(&out, 0, s)[0]));
    }
    /* A pixel that is masked for one band is masked in all. */
    assert_true(isnan(cube_pixel(&out, 1, 1)[0]));
    check_near(cube_pixel(&out, 5, 5)[1], (float)cube_pixel(&cube, 5, 5)[1], 0);
    cube_free(&out);
    cube_free(&mask);
    cube_free(&cube);
}

static void bad_bands_are_left_out(void **state) {
    (void)state;
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 3, true);
    cube_write(&cube, "scene", HC_UINT16, "bsq", "bbl = {1, 0, 1}\n");
    read_with("");
    Cube out = cube_read_floats("out", LINES, SAMPLES, 2);
    check_near(cube_pixel(&out, 3, 3)[1], cube_pixel(&cube, 3, 3)[2], 0);
    cube_free(&out);
    read_with("--all-bands");
    out = cube_read_floats("out", LINES, SAMPLES, 3);
    check_near(cube_pixel(&out, 3, 3)[1], cube_pixel(&cube, 3, 3)[1], 0);
    cube_free(&out);
    cube_write(&cube, "scene", HC_UINT16, "bsq", "bbl = {0, 0, 0}\n");
    check_run_fails(NULL, HC_E_INPUT, "marks all 3 bands as bad", "read scene.img ! write o.img");
    cube_free(&cube);
}

/* Every way of reading gives the same file: mapped, copied, through GDAL, with few threads or blocks of any
 * size. */
static void every_way_is_the_same(void **state) {
    (void)state;
    static const char *const interleaves[] = {"bsq", "bil", "bip"};
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 4, true);
    for (int i = 0; i < 3; i++) {
        cube_write(&cube, "scene", HC_INT16, interleaves[i], "bbl = {1, 0, 1}\n");
        check_runs(NULL, "read scene.img ! write a.img");
        for (int32_t lines = 1; lines <= LINES; lines += 4) {
            RunHow how = {.settings = {.block_lines = lines}};
            check_runs(&how, "read scene.img ! write b.img");
            check_same_files("a.img", "b.img");
            check_runs(&how, "read scene.img --no-direct --read-threads 1 ! write b.img");
            check_same_files("a.img", "b.img");
        }
    }
    cube_free(&cube);
}

/* The note on a border of zeros when scene.img is read so; "" = there is none. To be freed. */
static char *border_note(RunHow how, const char *step) {
    HcText notes = {0};
    how.notes = &notes;
    check_runs(&how, "read scene.img %s ! write out.img", step);
    const char *at = notes.data != NULL ? strstr(notes.data, "at the border") : NULL;
    char *found = strdup(at != NULL ? notes.data : "");
    assert_non_null(found);
    hc_text_clear(&notes);
    return found;
}

static void check_border(RunHow how, const char *step, int32_t pixels) {
    char wanted[100] = "";
    char *note = border_note(how, step);
    if (pixels > 0) {
        snprintf(wanted, sizeof wanted, "%d of %d pixels are 0 in all %d bands, at the border", pixels,
                 LINES * SAMPLES, BANDS);
    }
    if (pixels > 0 ? strstr(note, wanted) == NULL : *note != '\0') {
        fail_msg("read scene.img %s: \"%s\" (wanted: \"%s\")", step, note, wanted);
    }
    free(note);
}

/* A border of zeros counts as data where nothing says otherwise: how large it is, in every form of file, for
 * every block, and what masks it. */
static void a_border_of_zeros_is_told(void **state) {
    (void)state;
    static const char *const interleaves[] = {"bsq", "bil", "bip"};
    static const HcType types[] = {HC_UINT8, HC_INT16, HC_FLOAT32, HC_FLOAT64};
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 6, true);
    Cube mask = cube_new(LINES, SAMPLES, 1);
    for (size_t i = 0; i < cube_pixels(&cube) * BANDS; i++) {
        cube.value[i] = 1 + fmod(cube.value[i], 200);
    }
    for (int32_t b = 0; b < BANDS; b++) {
        cube_pixel(&cube, 5, 4)[b] = 0; /* inside: no border */
    }
    cube_pixel(&cube, 6, 0)[1] = cube_pixel(&cube, 6, 0)[2] = 0; /* not in all bands */
    for (size_t i = 0; i < cube_pixels(&mask); i++) {
        mask.value[i] = 1;
    }
    cube_write(&cube, "scene", HC_INT16, "bil", NULL);
    check_border((RunHow){0}, "", 0);
    cube_border(&cube, 0);
    int32_t border = 0;
    for (size_t i = 0; i < cube_pixels(&cube); i++) {
        border += !cube.valid[i];
        mask.value[i] = cube.valid[i];
    }
    cube_write(&mask, "mask", HC_UINT8, "bsq", NULL);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        for (int i = 0; i < 3; i++) {
            cube_write(&cube, "scene", types[t], interleaves[i], NULL);
            for (int32_t lines = 0; lines <= 5; lines += 5) {
                RunHow how = {.settings.block_lines = lines};
                check_border(how, "", border);
                check_border(how, "--no-direct", border);
                check_border(how, "! mnf --noise shift", border); /* two passes, a halo: each pixel once */
                check_border(how, "--mask mask.img", 0);
            }
        }
    }
    check_border((RunHow){0}, "--source-nodata 0 --nodata-rule all", 0);
    check_border((RunHow){0}, "--ignore-nodata", 0);
    char *note = border_note((RunHow){0}, "");
    assert_non_null(strstr(note, "count as data (--source-nodata 0 --nodata-rule all leaves them out)"));
    free(note);
    /* A nodata value of its own would no longer hold. */
    cube_write(&cube, "scene", HC_INT16, "bil", "data ignore value = -1\n");
    note = border_note((RunHow){0}, "");
    assert_non_null(strstr(note, "count as data (--mask FILE leaves them out)"));
    free(note);
    cube_write(&cube, "scene", HC_INT16, "bil", "data ignore value = 0\n");
    check_border((RunHow){0}, "", 0);
    /* Only the bands that are read count. */
    cube_pixel(&cube, 3, 1)[1] = 7;
    cube_write(&cube, "scene", HC_INT16, "bip", "bbl = {1, 0, 1}\n");
    check_border((RunHow){0}, "--all-bands", border - 1);
    char wanted[60];
    snprintf(wanted, sizeof wanted, "%d of %d pixels are 0 in all 2 bands", border, LINES * SAMPLES);
    note = border_note((RunHow){0}, "");
    assert_non_null(strstr(note, wanted));
    free(note);
    cube_free(&mask);
    cube_free(&cube);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodata_by_any_or_all_bands), cmocka_unit_test(nodata_at_the_ends_of_integers),
        cmocka_unit_test(nan_and_user_masks),         cmocka_unit_test(bad_bands_are_left_out),
        cmocka_unit_test(every_way_is_the_same),      cmocka_unit_test(bands_without_values),
        cmocka_unit_test(a_border_of_zeros_is_told),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
