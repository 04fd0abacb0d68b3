#include "tests/support/strict_runs.h"

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
        for (int64_t n = 1; n <= operations; n++) {
            hc_strict_fail_at(n);
            check_run_fails(&how, HC_E_DEVICE, "", "%s", chains[c]);
            assert_int_equal(folder_entries(), before);
        }
    }
    hc_strict_fail_at(0);
    assert_int_equal(hc_strict_leaks(), 0);
}
