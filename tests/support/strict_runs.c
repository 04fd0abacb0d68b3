#include "tests/support/strict_runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void check_runs_agree(const char *const *chains, size_t count, int32_t lines) {
    static const char *const results[] = {"out.img", NULL};
    for (size_t c = 0; c < count; c++) {
        RunHow usual = {.settings = {.block_lines = 3 * lines}};
        check_runs(&usual, "%s", chains[c]);
        files_keep(results);
        for (int32_t blocks = 0; blocks <= 2; blocks++) {
            for (int32_t threads = 1; threads <= 3; threads++) {
                RunHow how = {.ops = threads == 2 ? hc_strict_ops() : NULL,
                              .threads = threads,
                              .settings = {.block_lines = blocks * lines}};
                check_runs(&how, "%s", chains[c]);
                check_same_files("out.img", "kept.out.img");
            }
        }
        check_kept(results);
    }
    assert_int_equal(hc_strict_leaks(), 0);
    assert_int_equal(hc_strict_overruns(), 0);
}

/* Each operation fails once; with sanitizers, which take ten times as long, as many as these, spread evenly.
 */
#ifdef HC_SANITIZED
enum { FAILURES = 40 };
#else
enum { FAILURES = INT32_MAX };
#endif

void check_failures_leave_nothing(const char *const *chains, size_t count, int32_t lines,
                                  const char *const *results) {
    RunHow how = {.ops = hc_strict_ops(), .settings = {.block_lines = lines}};
    for (size_t c = 0; c < count; c++) {
        hc_strict_fail_at(0);
        check_runs(&how, "%s", chains[c]);
        int64_t operations = hc_strict_operations();
        for (const char *const *result = results; *result != NULL; result++) {
            file_remove(*result);
        }
        int before = folder_entries();
        for (int64_t n = 1; n <= operations; n += 1 + operations / FAILURES) {
            hc_strict_fail_at(n);
            check_run_fails(&how, HC_E_DEVICE, "", "%s", chains[c]);
            assert_int_equal(folder_entries(), before);
        }
    }
    hc_strict_fail_at(0);
    assert_int_equal(hc_strict_leaks(), 0);
}

/* ---- the contract of a stage ---- */

/* Blocks of the samples below may begin at multiples of this (hc_sums_lines), so that float sums have one
 * order. */
enum {
    CONTRACT_SAMPLES = 52,
    CONTRACT_STEP = 20,
    CONTRACT_LINES = 3 * CONTRACT_STEP + 7,
    CONTRACT_BANDS = 4
};

static const char *const contract_results[] = {"out.img", "out.hdr", NULL};

static void write_contract_scene(const Cube *cube) {
    cube_write(
        cube, "contract", HC_FLOAT32, "bil",
        "data ignore value = -9999\nwavelength units = Nanometers\nwavelength = {450, 550, 650, 850}\n");
}

/* Whether all bands of a pixel of out.img are NaN; they must be all or none. */
static bool is_masked_in_output(const float *value, size_t pixel, size_t pixels, size_t bands) {
    size_t missing = 0;
    for (size_t b = 0; b < bands; b++) {
        missing += isnan(value[b * pixels + pixel]) ? 1 : 0;
    }
    if (missing != 0 && missing != bands) {
        fail_msg("pixel %zu: %zu of %zu bands of the output are masked", pixel, missing, bands);
    }
    return missing == bands;
}

/* Pixels that come in masked go out masked. */
static void check_masked_pixels(const Cube *cube, const char *step) {
    size_t pixels = cube_pixels(cube);
    size_t bytes = 0;
    check_runs(NULL, "read contract.img ! %s ! write out.img --nodata nan --interleave bsq --type float32",
               step);
    float *value = (float *)(void *)file_bytes("out.img", &bytes);
    size_t bands = bytes / sizeof *value / pixels;
    assert_true(bands > 0 && bands * pixels * sizeof *value == bytes);
    for (size_t p = 0; p < pixels; p++) {
        bool masked = is_masked_in_output(value, p, pixels, bands);
        if (!cube->valid[p] && !masked) {
            fail_msg("%s: pixel %zu is masked in the input and not in the output", step, p);
        }
    }
    free(value);
}

/* A scene that may be too small to fit anything to: it runs, or fails with one line and leaves nothing. */
static void check_small_scene(const Cube *cube, const char *step, const char *what) {
    HcError err = {0};
    write_contract_scene(cube);
    for (const char *const *result = contract_results; *result != NULL; result++) {
        file_remove(*result);
    }
    int before = folder_entries();
    HcStatus status = run_chain_text(NULL, &err, "read contract.img ! %s ! write out.img --nodata nan", step);
    bool documented =
        status == HC_OK || status == HC_E_NUMERIC || status == HC_E_INPUT || status == HC_E_USAGE;
    if (!documented || (status != HC_OK && (err.text[0] == '\0' || strchr(err.text, '\n') != NULL))) {
        fail_msg("%s on %s: status %d, \"%s\"", step, what, (int)status, err.text);
    }
    if (status != HC_OK) {
        assert_int_equal(folder_entries(), before);
    }
}

void check_stage_contract(const char *step) {
    char chain[512];
    Cube cube = cube_smooth(CONTRACT_LINES, CONTRACT_SAMPLES, CONTRACT_BANDS, 11, false);
    cube_border(&cube, -9999);
    size_t holed = 5 * CONTRACT_SAMPLES + 9; /* a NaN in one band masks the pixel */
    cube.value[holed * CONTRACT_BANDS + 2] = NAN;
    cube.valid[holed] = 0;
    write_contract_scene(&cube);
    check_masked_pixels(&cube, step);
    snprintf(chain, sizeof chain, "read contract.img ! %s ! write out.img --nodata nan", step);
    const char *const chains[] = {chain};
    check_runs_agree(chains, 1, CONTRACT_STEP);
    for (const char *const *result = contract_results; *result != NULL; result++) {
        file_remove(*result);
    }
    check_failures_leave_nothing(chains, 1, CONTRACT_STEP, contract_results);
    cube_free(&cube);
    Cube one = cube_smooth(1, 1, CONTRACT_BANDS, 3, false);
    check_small_scene(&one, step, "one pixel");
    cube_free(&one);
    Cube none = cube_new(9, 7, CONTRACT_BANDS);
    for (size_t v = 0; v < cube_pixels(&none) * CONTRACT_BANDS; v++) {
        none.value[v] = -9999;
    }
    check_small_scene(&none, step, "a scene without a valid pixel");
    cube_free(&none);
}
