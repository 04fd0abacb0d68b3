/* The rows of a bench: all there, with a time each, and checked; on the CPU, and on the strict backend, whose
 * memory the host cannot reach and whose work is done late. How long anything takes is not looked at. */
#include "bench/bench.h"
#include "cpu/cpu.h"
#include "tests/support/check.h"
#include "tests/support/strict.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[300];

/* Where the files of the scene rows go; it must be empty at the end, also after failures. */
static int make_folder(void **state) {
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%.200s/hcube-test-bench-XXXXXX", base != NULL ? base : "/tmp");
    return mkdtemp(folder) == NULL || setenv("TMPDIR", folder, 1) != 0;
}

static int remove_folder(void **state) {
    (void)state;
    return rmdir(folder);
}

static HcBenchSettings small_settings(void) {
    return (HcBenchSettings){.lines = 23,
                             .samples = 17,
                             .bands = 6,
                             .bits = 16,
                             .seed = 3,
                             .components = 4,
                             .training = 50,
                             .neighbours = 3,
                             .repetitions = 2,
                             .block_bytes = (size_t)5 * 17 * (6 * sizeof(float) + 1)};
}

static HcStatus run(HcBench *bench, const HcBenchSettings *settings, const HcComputeOps *ops,
                    const HcVendorOps *vendor, HcError *err) {
    HcStatus status = HC_OK;
    HcCompute *compute = NULL;
    HcComputeConfig config = {.threads = 2, .host = hc_cpu_ops()};
    HC_TRY(hc_bench_open(bench, settings, err));
    HC_TRY(ops->open(&compute, &config, err));
    HC_TRY(hc_bench_serial(bench, compute, err));
    HC_TRY(hc_bench_backend(bench, compute, vendor, err));
done:
    if (compute != NULL) {
        ops->close(compute);
    }
    return status;
}

static const HcBenchRow *find(const HcBench *bench, const char *operation, const char *by) {
    for (int32_t r = 0; r < bench->row_count; r++) {
        if (strcmp(bench->rows[r].operation, operation) == 0 && strcmp(bench->rows[r].by, by) == 0) {
            return &bench->rows[r];
        }
    }
    return NULL;
}

static void check_row(const HcBenchRow *row) {
    if (!(row->least > 0 && row->seconds >= row->least && row->most >= row->seconds && row->floor >= 0 &&
          isfinite(row->most) && isfinite(row->floor) && row->lines > 0 && row->repetitions > 0)) {
        fail_msg("%s by %s: %g s, %g to %g, floor %g, %d calls", row->operation, row->by, row->seconds,
                 row->least, row->most, row->floor, row->repetitions);
    }
}

/* Every operation by `by`, but for those that are left out. */
static void check_rows(const HcBench *bench, const char *by, bool copies) {
    const char *const same[] = {"decode-bil",        "gram-none", "gram-mean3x3",
                                "chain-covariances", "knn",       "knn-angle"};
    const char *const near[] = {"project", "chain-mnf", "scene-first", "scene"};
    for (int32_t r = 0; r < bench->row_count; r++) {
        check_row(&bench->rows[r]);
    }
    for (int i = 0; hc_bench_operations[i] != NULL; i++) {
        bool copy = i < 2;
        if ((find(bench, hc_bench_operations[i], by) != NULL) != (!copy || copies)) {
            fail_msg("%s by %s: %s", hc_bench_operations[i], by, copy ? "copies" : "missing");
        }
    }
    for (int i = 0; i < 6; i++) {
        assert_int_equal(find(bench, same[i], by)->check, HC_BENCH_SAME);
        assert_true(hc_bench_times_serial(bench, find(bench, same[i], by)) > 0);
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(find(bench, near[i], by)->check, HC_BENCH_NEAR);
        assert_true(i >= 2 || hc_bench_times_serial(bench, find(bench, near[i], by)) > 0);
    }
}

static void test_cpu(void **state) {
    (void)state;
    HcBench *bench = calloc(1, sizeof *bench);
    HcBenchSettings settings = small_settings();
    HcError err = {0};
    assert_non_null(bench);
    check_ok(run(bench, &settings, hc_cpu_ops(), hc_cpu_vendor(), &err), err);
    check_rows(bench, "cpu", false);
    assert_int_equal(find(bench, "gram-none", "cpu vendor")->check, HC_BENCH_SAME);
    assert_non_null(find(bench, "eigh", "cpu vendor"));
    assert_non_null(find(bench, "project", "cpu vendor"));
    assert_non_null(find(bench, "chain-mnf", "serial"));
    assert_true(bench->devices[0].measured && bench->devices[0].ceiling.memory > 0);
    assert_true(bench->devices[0].ceiling.float32 > 0 && find(bench, "knn", "cpu")->floor > 0);
    hc_bench_close(bench);
    free(bench);
}

static void test_strict(void **state) {
    (void)state;
    HcBench *bench = calloc(1, sizeof *bench);
    HcBenchSettings settings = small_settings();
    HcError err = {0};
    int64_t leaks = hc_strict_leaks();
    assert_non_null(bench);
    settings.bits = 12;
    check_ok(run(bench, &settings, hc_strict_ops(), NULL, &err), err);
    check_rows(bench, "strict", true);
    assert_int_equal(hc_strict_leaks(), leaks);
    assert_int_equal(hc_strict_overruns(), 0);
    hc_bench_close(bench);
    free(bench);
}

/* A device that fails somewhere ends the bench with that failure and leaves nothing open. */
static void test_failing_device(void **state) {
    (void)state;
    HcBench *bench = calloc(1, sizeof *bench);
    HcBenchSettings settings = small_settings();
    HcError err = {0};
    int64_t leaks = hc_strict_leaks();
    assert_non_null(bench);
    settings.repetitions = 1;
    hc_strict_fail_at(0);
    check_ok(run(bench, &settings, hc_strict_ops(), NULL, &err), err);
    int64_t operations = hc_strict_operations();
    hc_bench_close(bench);
    assert_true(operations > 100);
    for (int64_t n = 1; n < operations; n += 7) {
        hc_strict_fail_at(n);
        check_fails(run(bench, &settings, hc_strict_ops(), NULL, &err), HC_E_DEVICE, err);
        hc_bench_close(bench);
    }
    hc_strict_fail_at(0);
    assert_int_equal(hc_strict_leaks(), leaks);
    free(bench);
}

static void test_only(void **state) {
    (void)state;
    HcBench *bench = calloc(1, sizeof *bench);
    HcBenchSettings settings = small_settings();
    HcError err = {0};
    assert_non_null(bench);
    settings.only = "eigh,decode";
    settings.serial = HC_BENCH_SERIAL_NONE;
    check_ok(run(bench, &settings, hc_cpu_ops(), NULL, &err), err);
    assert_int_equal(bench->row_count, 5);
    assert_int_equal(find(bench, "decode-bil", "cpu")->check, HC_BENCH_UNCHECKED);
    hc_bench_close(bench);
    settings.only = "scene";
    check_ok(run(bench, &settings, hc_cpu_ops(), NULL, &err), err);
    assert_int_equal(bench->row_count, 2);
    hc_bench_close(bench);
    assert_int_equal(setenv("TMPDIR", "/nowhere/at/all", 1), 0);
    check_fails(run(bench, &settings, hc_cpu_ops(), NULL, &err), HC_E_IO, err);
    assert_int_equal(setenv("TMPDIR", folder, 1), 0);
    hc_bench_close(bench);
    settings.only = "eigh,deco";
    check_fails(hc_bench_open(bench, &settings, &err), HC_E_USAGE, err);
    settings.only = "";
    check_fails(hc_bench_open(bench, &settings, &err), HC_E_USAGE, err);
    settings = small_settings();
    settings.lines = 2;
    check_fails(hc_bench_open(bench, &settings, &err), HC_E_USAGE, err);
    settings = small_settings();
    settings.components = 7;
    check_fails(hc_bench_open(bench, &settings, &err), HC_E_USAGE, err);
    settings = small_settings();
    settings.neighbours = 51;
    check_fails(hc_bench_open(bench, &settings, &err), HC_E_USAGE, err);
    settings.neighbours = 0;
    check_fails(hc_bench_open(bench, &settings, &err), HC_E_USAGE, err);
    settings = small_settings();
    settings.training = 1 << 24;
    check_fails(hc_bench_open(bench, &settings, &err), HC_E_USAGE, err);
    free(bench);
}

/* More work than one call is meant for: fewer lines are measured, and those of the reference still checked.
 */
static void test_part(void **state) {
    (void)state;
    HcBench *bench = calloc(1, sizeof *bench);
    HcBenchSettings settings = small_settings();
    HcError err = {0};
    assert_non_null(bench);
    settings.samples = 3000;
    settings.bands = 40;
    settings.training = 20000;
    settings.neighbours = 128;
    settings.repetitions = 1;
    settings.only = "knn,vote";
    check_ok(run(bench, &settings, hc_cpu_ops(), NULL, &err), err);
    assert_int_equal(bench->row_count, 5);
    const HcBenchRow *row = find(bench, "knn", "cpu");
    const HcBenchRow *serial = find(bench, "knn", "serial");
    assert_int_equal(row->check, HC_BENCH_SAME);
    assert_true(row->lines >= serial->lines);
    check_near(row->operations, 23.0 * 3000 * 2 * 40 * 20000, 1e-3);
    check_near(serial->operations, row->operations, 1e-3);
    hc_bench_close(bench);
    free(bench);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu),  cmocka_unit_test(test_strict), cmocka_unit_test(test_failing_device),
        cmocka_unit_test(test_only), cmocka_unit_test(test_part),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
