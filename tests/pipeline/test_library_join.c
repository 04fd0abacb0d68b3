/* Libraries as one: entries and facts in their order, grids, scales, and what is refused. Resampling itself
 * is in test_resample. */
#include "pipeline/spectra/library/join.h"
#include "pipeline/spectra/grid.h"
#include "core/text.h"
#include "tests/support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* `count` spectra i + 1 + slope * wavelength, from `low` in steps. */
static HcLibraryPart make_part(const char *path, int32_t count, int32_t bands, double low, double step,
                               double slope) {
    HcLibraryPart part = {.path = path};
    HcError err = {0};
    check_ok(hc_library_make(&part.library, count, bands, &err), err);
    part.library.wavelength = calloc((size_t)bands, sizeof(double));
    for (int32_t i = 0; i < count; i++) {
        part.library.name[i] = hc_text_format("%s %d", path, i);
        for (int32_t b = 0; b < bands; b++) {
            part.library.wavelength[b] = low + b * step;
            part.library.value[i * bands + b] = (float)(i + 1 + slope * (low + b * step));
        }
    }
    return part;
}

static void join(HcLibraryPart *parts, int32_t count, const HcBandSet *grid, HcLibrary *out, int32_t *empty) {
    HcError err = {0};
    check_ok(hc_library_join(parts, count, grid, out, empty, &err), err);
}

static void clear(HcLibraryPart *parts, int32_t count, HcLibrary *out) {
    for (int32_t p = 0; p < count; p++) {
        hc_library_clear(&parts[p].library);
    }
    hc_library_clear(out);
}

static void the_same_bands_are_joined(void **state) {
    (void)state;
    HcLibrary out = {0};
    HcError err = {0};
    int32_t empty = -1;
    HcLibraryPart parts[] = {make_part("a", 2, 4, 400, 10, 0), make_part("b", 1, 4, 400.0005, 10, 0)};
    parts[0].library.scale = 100;
    check_ok(hc_library_set_fact(&parts[1].library, 0, HC_FACT_CLASS, "oak", &err), err);
    parts[1].library.value[2] = NAN;
    join(parts, 2, NULL, &out, &empty);
    assert_int_equal(out.count, 3);
    assert_int_equal(empty, 0);
    assert_string_equal(out.name[2], "b 0");
    assert_string_equal(hc_library_fact(&out, 2, HC_FACT_CLASS), "oak");
    assert_string_equal(hc_library_fact(&out, 0, HC_FACT_CLASS), "");
    check_near(out.scale, 1, 0); /* that of percent is applied, since they differ */
    check_near(out.value[0], 0.01F, 0);
    check_near(out.value[8], 1, 0);
    assert_true(isnan(out.value[10]));
    clear(parts, 2, &out);
}

static void other_bands_are_refused_or_resampled(void **state) {
    (void)state;
    HcLibrary out = {0};
    HcError err = {0};
    int32_t empty = -1;
    HcBandSet grid = {0};
    HcLibraryPart parts[] = {make_part("a.sli", 1, 21, 400, 10, 0.01),
                             make_part("b.asd", 2, 401, 400, 1, 0.01), make_part("c", 1, 3, 2000, 1, 0)};
    assert_int_equal(hc_library_join(parts, 2, NULL, &out, &empty, &err), HC_E_INPUT);
    assert_string_equal(err.text,
                        "a.sli has 21 bands from 400 to 600 nm, b.asd has 401 bands from 400 to 800 nm: "
                        "--wavelengths or --like chooses common bands");
    assert_null(out.value);
    err = (HcError){0};
    check_ok(hc_band_grid("who", "450-550:25", &grid, &err), err);
    assert_int_equal(grid.count, 5);
    check_near(grid.centre[4], 550, 0);
    check_near(grid.width[0], 25, 0);
    join(parts, 3, &grid, &out, &empty);
    assert_int_equal(out.count, 4);
    assert_int_equal(empty, 1);
    for (int32_t i = 0; i < 3; i++) {
        for (int32_t b = 0; b < 5; b++) { /* a straight line stays one; float32 holds 7 digits */
            check_near(out.value[i * 5 + b], (i == 2 ? 2 : 1) + 0.01 * (450 + 25 * b), 2e-6);
        }
    }
    assert_true(isnan(out.value[15]));
    check_near(out.fwhm[0], 25, 0);
    hc_library_clear(&out);
    free(parts[1].library.wavelength);
    parts[1].library.wavelength = NULL;
    assert_int_equal(hc_library_join(parts, 3, &grid, &out, &empty, &err), HC_E_INPUT);
    assert_non_null(strstr(err.text, "b.asd: without wavelengths"));
    free((double *)(uintptr_t)grid.centre);
    clear(parts, 3, &out);
}

static void grids_come_from_ranges_and_files(void **state) {
    (void)state;
    static const struct {
        const char *text;
        HcStatus status;
        const char *part;
    } flaws[] = {
        {"0-100:1", HC_E_USAGE, "expected A-B:STEP"},   {"500-400:1", HC_E_USAGE, "expected A-B:STEP"},
        {"400-500:0", HC_E_USAGE, "expected A-B:STEP"}, {"400-500:1e-9", HC_E_USAGE, "expected A-B:STEP"},
        {"nan-500:1", HC_E_USAGE, "expected A-B:STEP"}, {"none.txt", HC_E_INPUT, "none.txt"}};
    char path[] = "/tmp/hcube-grid-XXXXXX";
    HcBandSet grid = {0};
    HcError err = {0};
    for (size_t f = 0; f < sizeof flaws / sizeof *flaws; f++) {
        err = (HcError){0};
        assert_int_equal(hc_band_grid("who", flaws[f].text, &grid, &err), flaws[f].status);
        assert_non_null(strstr(err.text, flaws[f].part));
    }
    FILE *file = fdopen(mkstemp(path), "w");
    fputs("center,width\r\n# um\r\n0.4 0.01\n\n0.5\n0.6, 0.02 # the last one\n", file);
    fclose(file);
    check_ok(hc_band_grid("who", path, &grid, &err), err);
    assert_int_equal(grid.count, 3);
    check_near(grid.centre[1], 500, 1e-9);
    check_near(grid.width[0], 10, 1e-9);
    check_near(grid.width[1], 100, 1e-9);
    free((double *)(uintptr_t)grid.centre);
    static const char *const bad[][2] = {{"", "no band"},
                                         {"400\n-1\n", "line 2: '-1'"},
                                         {"400\nnan", "line 2: 'nan'"},
                                         {"400 1 2", "line 1: '2'"},
                                         {"500\n400\n", "line 2: '400'"},
                                         {"band\n", "no band"},
                                         {"400\n", "no width"},
                                         {"400\n\nx", "line 3: 'x'"}};
    for (size_t b = 0; b < sizeof bad / sizeof *bad; b++) {
        file = fopen(path, "w");
        fputs(bad[b][0], file);
        fclose(file);
        err = (HcError){0};
        assert_int_equal(hc_band_grid("who", path, &grid, &err), HC_E_INPUT);
        assert_non_null(strstr(err.text, bad[b][1]));
    }
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_bands_are_joined),
        cmocka_unit_test(other_bands_are_refused_or_resampled),
        cmocka_unit_test(grids_come_from_ranges_and_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
