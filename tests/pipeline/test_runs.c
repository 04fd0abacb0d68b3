/* Runs of bands between gaps of the spectrum. */
#include "pipeline/spectra/runs.h"

#include "tests/support/check.h"

#include <string.h>

enum { BANDS = 12 };

static const HcStageClass kind = {.name = "smooth"};

/* Two runs in falling order, one of 10 nm and one of 5 nm; band 7 stands alone between two gaps. */
static double centre[BANDS] = {745, 740, 735, 730, 725, 720, 715, 600, 530, 520, 510, 500};

static HcStage stage_of(int32_t bands, double *wavelength, uint8_t *bad) {
    return (HcStage){.kind = &kind, .in = {.bands = bands, .wavelength = wavelength, .bad = bad}};
}

static void check_runs(const HcStage *stage, double gap, int32_t count, int32_t runs, const int32_t *first) {
    HcBandRuns found = {0};
    HcError err = {0};
    check_ok(hc_band_runs_make(&found, stage, gap, &err), err);
    assert_int_equal(found.count, count);
    assert_int_equal(found.runs, runs);
    for (int32_t r = 0; r <= runs; r++) {
        assert_int_equal(found.first[r], first[r]);
    }
    for (int32_t k = 0; k < count; k++) {
        assert_true(found.centre[k] == stage->in.wavelength[found.band[k]]);
        assert_true(k == 0 || found.centre[k] > found.centre[k - 1]);
    }
    hc_band_runs_clear(&found);
}

static void test_gaps(void **state) {
    (void)state;
    HcStage stage = stage_of(BANDS, centre, NULL);
    check_runs(&stage, 0, BANDS, 3, (int32_t[]){0, 4, 5, BANDS});
    check_runs(&stage, 80, BANDS, 2, (int32_t[]){0, 5, BANDS});
    check_runs(&stage, 115, BANDS, 1, (int32_t[]){0, BANDS}); /* a step as wide as the gap is none */
    check_runs(&stage, 114.9, BANDS, 2, (int32_t[]){0, 5, BANDS});
    check_runs(&stage, 1, BANDS, BANDS, (int32_t[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, BANDS});
}

static void test_bad_bands(void **state) {
    (void)state;
    uint8_t bad[BANDS] = {[2] = 1, [3] = 1, [4] = 1, [9] = 1};
    HcStage stage = stage_of(BANDS, centre, bad);
    /* 720 to 740 is a gap among steps of 5 nm; 510 to 530 is none among steps of 10 and 20 nm. */
    check_runs(&stage, 0, BANDS - 4, 4, (int32_t[]){0, 3, 4, 6, BANDS - 4});
    stage = stage_of(1, centre, NULL);
    check_runs(&stage, 0, 1, 1, (int32_t[]){0, 1});
    stage = stage_of(2, centre, NULL);
    check_runs(&stage, 0, 2, 1, (int32_t[]){0, 2});
}

static void check_refused(const HcStage *stage, const char *text) {
    HcBandRuns runs = {0};
    HcError err = {0};
    assert_int_equal(hc_band_runs_make(&runs, stage, 0, &err), HC_E_USAGE);
    check_says(err.text, text);
    assert_null(runs.band);
    assert_int_equal(runs.count, 0);
}

static void test_refused(void **state) {
    (void)state;
    uint8_t bad[3] = {1, 1, 1};
    double twice[3] = {700, 710, 700};
    HcStage stage = stage_of(3, NULL, NULL);
    stage.in.wavelength_note = (char[]){"unit 'furlong' is no length"};
    check_refused(&stage, "no wavelengths: unit 'furlong'");
    stage = stage_of(3, twice, bad);
    check_refused(&stage, "all 3 bands are marked as bad");
    stage = stage_of(3, twice, NULL);
    check_refused(&stage, "bands 1 and 3 ... 700 nm");
    bad[0] = bad[1] = 0;
    stage = stage_of(3, twice, bad);
    check_runs(&stage, 0, 2, 1, (int32_t[]){0, 2});
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gaps), cmocka_unit_test(test_bad_bands),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
