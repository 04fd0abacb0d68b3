#include "pipeline/run/run.h"
#include "tests/support/scene_files.h"
#include "tests/support/strict.h"

#include <stdio.h>
#include <stdlib.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

enum { LINES = 57, SAMPLES = 300, BANDS = 6 }; /* blocks are multiples of 4 lines then */

/* A scene with a nodata border, as integers and as floats with NaN, in three interleaves, and a mask. */
static void write_scenes(void) {
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 61, true);
    cube_border(&cube, 0);
    const char *more =
        "data ignore value = 0\nwavelength units = nm\nwavelength = {450, 550, 650, 750, 850, 950}\n"
        "bbl = {1, 1, 1, 1, 0, 1}\n";
    cube_write(&cube, "bil", HC_UINT16, "bil", more);
    cube_write(&cube, "bsq", HC_INT16, "bsq", more);
    cube_pixel(&cube, 20, 20)[1] = NAN;
    cube_write(&cube, "bip", HC_FLOAT32, "bip", "data ignore value = 0\n");
    cube_free(&cube);
    Cube mask = cube_new(LINES, SAMPLES, 1);
    for (size_t i = 0; i < cube_pixels(&mask); i++) {
        mask.value[i] = i % 53 != 0;
    }
    cube_write(&mask, "mask", HC_UINT8, "bsq", NULL);
    cube_free(&mask);
}

/* Every stage, alone and with others. Each chain writes out*.img and s.json, m.json or p.png. */
static const char *const chains[] = {
    "read bil.img ! write out.img",
    "read bil.img --all-bands --nodata-rule all ! bands --good ! write out.img",
    "read bil.img --mask mask.img ! bands 5,1-3 ! write out.img",
    "read bsq.img ! bands --wavelength 500-700 ! write out.img --interleave bip --type int16",
    "read bsq.img ! filter mean3x3 ! write out.img",
    "read bip.img ! filter median3x3 ! write out.img",
    "read bil.img ! filter --noise mean3x3 ! write out.img",
    "read bil.img ! filter --noise shift-diagonal ! write out.img",
    "read bil.img ! cov s.json --noise mean3x3 ! write out.img",
    "read bip.img ! pca --save-model m.json ! write out.img",
    "read bil.img ! pca --denoise --components 2 ! write out.img",
    "read bil.img ! mnf --components 3 --save-model m.json ! write out.img ! mnf --inverse ! write out2.img",
    "read bip.img ! mnf --noise median3x3 --denoise --min-eigenvalue 3 ! write out.img",
    "read bil.img ! mnf --dark bsq.img ! write out.img",
    "read bil.img ! mnf --fit-only --save-model m.json ! preview p.png ! write out.img",
    "read bil.img ! filter mean3x3 ! filter median3x3 ! mnf --noise shift ! pca ! preview p.png --scree "
    "q.png ! "
    "write out.img",
    "read bil.img --no-direct ! write out2.img ! preview p.png ! mnf --components 2 ! write out.img",
};

enum { CHAINS = sizeof chains / sizeof *chains };

static const char *const results[] = {"out.img", "out2.img", "s.json", "m.json", "p.png", "q.png", NULL};

static void strict_backend_gives_the_same_bytes(void **state) {
    (void)state;
    static const int32_t block_lines[] = {0, 20, 4};
    write_scenes();
    for (int c = 0; c < CHAINS; c++) {
        check_runs(NULL, "%s", chains[c]);
        files_keep(results);
        for (size_t k = 0; k < 3; k++) {
            RunHow strict = {
                .ops = hc_strict_ops(), .threads = 2, .settings = {.block_lines = block_lines[k]}};
            check_runs(&strict, "%s", chains[c]);
            check_kept(results);
            RunHow cpu = {.threads = 3, .settings = {.block_lines = block_lines[k]}};
            check_runs(&cpu, "%s", chains[c]);
            check_kept(results);
        }
    }
    assert_int_equal(hc_strict_leaks(), 0);
    assert_int_equal(hc_strict_overruns(), 0);
}

static void failing_operations_leave_nothing(void **state) {
    (void)state;
    write_scenes();
    int before = folder_entries();
    for (int c = 0; c < CHAINS; c++) {
        RunHow how = {.ops = hc_strict_ops(), .settings = {.block_lines = 20}};
        hc_strict_fail_at(0);
        check_runs(&how, "%s", chains[c]);
        int64_t operations = hc_strict_operations();
        assert_true(operations > 5);
        files_keep(results);
        for (int r = 0; results[r] != NULL; r++) {
            char kept[64];
            snprintf(kept, sizeof kept, "kept.%s", results[r]);
            file_remove(kept);
        }
        file_remove("out.hdr");
        file_remove("out2.hdr");
        assert_int_equal(folder_entries(), before);
        for (int64_t n = 1; n <= operations; n += n < 12 ? 1 : 1 + operations / 40) {
            HcError err = {0};
            hc_strict_fail_at(n);
            HcStatus status = run_chain_text(&how, &err, "%s", chains[c]);
            if (status != HC_E_DEVICE || folder_entries() != before) {
                fail_msg("%s: operation %lld of %lld failed: status %d, \"%s\", %d entries instead of %d",
                         chains[c], (long long)n, (long long)operations, (int)status, err.text,
                         folder_entries(), before);
            }
        }
        hc_strict_fail_at(0);
    }
    assert_int_equal(hc_strict_leaks(), 0);
    assert_int_equal(hc_strict_overruns(), 0);
}

/* Stops the run after some blocks. */
typedef struct Stopper {
    int64_t left;
    HcFlag cancel;
} Stopper;

static void count_down(const HcProgress *progress, void *user) {
    Stopper *stopper = user;
    assert_true(progress->lines_done <= progress->lines && progress->pass <= progress->passes);
    assert_true(progress->bytes_done <= progress->bytes);
    if (--stopper->left <= 0) {
        hc_flag_set(&stopper->cancel, 1);
    }
}

static void cancelling_leaves_nothing(void **state) {
    (void)state;
    write_scenes();
    int before = folder_entries();
    for (int64_t blocks = 0; blocks < 25; blocks++) {
        Stopper stopper = {.left = blocks, .cancel = {blocks == 0}};
        RunHow how = {
            .ops = blocks % 2 == 0 ? hc_strict_ops() : NULL,
            .settings = {
                .block_lines = 4, .cancel = &stopper.cancel, .progress = count_down, .user = &stopper}};
        check_run_fails(&how, HC_E_CANCELLED, "interrupted", "%s", chains[11]);
        assert_int_equal(folder_entries(), before);
    }
    assert_int_equal(hc_strict_leaks(), 0);
}

/* A failing writer (here: another file is in the way when the output gets its name) leaves nothing either. */
static void existing_outputs_stay(void **state) {
    (void)state;
    write_scenes();
    check_runs(NULL, "read bil.img ! bands 1 ! write out.img");
    check_runs(NULL, "read bil.img ! pca --fit-only --save-model m.json");
    check_runs(NULL, "read bil.img ! preview p.png ! cov s.json");
    files_keep(results);
    for (int r = 0; results[r] != NULL; r++) {
        char kept[64];
        snprintf(kept, sizeof kept, "kept.%s", results[r]);
        if (file_exists(kept)) {
            assert_int_equal(link(kept, results[r]), 0);
        }
    }
    int before = folder_entries();
    RunHow how = {.keeps_outputs = true};
    check_run_fails(&how, HC_E_USAGE, "out.img", "read bil.img ! write new.img ! mnf ! write out.img");
    check_run_fails(&how, HC_E_USAGE, "m.json", "read bil.img ! mnf --save-model m.json ! write new.img");
    check_run_fails(&how, HC_E_USAGE, "p.png", "read bil.img ! preview p.png ! write new.img");
    check_run_fails(&how, HC_E_USAGE, "s.json", "read bil.img ! write new.img ! cov s.json");
    assert_int_equal(folder_entries(), before);
    assert_true(file_exists("s.json"));
    check_kept(results);
}

/* Zeros that take no space on the disk. */
static void write_large(int lines, int samples, int bands) {
    FILE *file = fopen("large.hdr", "w");
    assert_non_null(file);
    fprintf(file,
            "ENVI\nsamples = %d\nlines = %d\nbands = %d\ndata type = 12\ninterleave = bil\nbyte order = 0\n",
            samples, lines, bands);
    assert_int_equal(fclose(file), 0);
    file = fopen("large.img", "w");
    assert_non_null(file);
    assert_int_equal(ftruncate(fileno(file), (off_t)lines * samples * bands * 2), 0);
    assert_int_equal(fclose(file), 0);
}

/* A large output that has no space is an error before the first pass, and not after it. */
static void large_outputs_are_begun_early(void **state) {
    (void)state;
    struct rlimit limit;
    HcRunReport report = {0};
    Stopper stopper = {.left = 1}; /* a block would end the run otherwise */
    RunHow how = {.threads = 2,
                  .settings = {.cancel = &stopper.cancel, .progress = count_down, .user = &stopper},
                  .report = &report};
    write_large(2000, 400, 170); /* 544 MB of output */
    int before = folder_entries();
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    const rlim_t kept = limit.rlim_cur;
    signal(SIGXFSZ, SIG_IGN);
    limit.rlim_cur = 1 << 20;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    check_run_fails(&how, HC_E_IO, "out.img: File too large (518.8 MiB needed)",
                    "read large.img ! pca ! write out.img");
    limit.rlim_cur = kept;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(report.passes_done, 0);
    assert_int_equal(folder_entries(), before);
    /* One that has space goes with a run that ends before its writer is opened. */
    check_run_fails(&how, HC_E_CANCELLED, "interrupted", "read large.img ! pca ! write out.img");
    assert_int_equal(folder_entries(), before);
}

static void budget_is_obeyed(void **state) {
    (void)state;
    /* 320 MB of scene for a budget of 110 MiB. */
    enum { HIGH = 2000, WIDE = 400, DEEP = 200 };
    write_large(HIGH, WIDE, DEEP);
    static const char *const reads[] = {"read large.img", "read large.img --no-direct"};
    for (int r = 0; r < 2; r++) {
        HcRunReport report = {0};
        RunHow how = {.threads = 2, .settings = {.memory = (uint64_t)110 << 20}, .report = &report};
        check_runs(&how, "%s ! cov s.json --noise mean3x3 ! bands 1 ! write out.img", reads[r]);
        assert_true(report.raw_bytes > 2 * how.settings.memory);
        assert_true(report.host_bytes <= how.settings.memory);
        assert_false(report.resident);
        assert_true(report.blocks > 3);
#ifndef HC_SANITIZED
        assert_true(report.peak_memory <= how.settings.memory);
#endif
        Cube out = cube_read_floats("out", HIGH, WIDE, 1);
        for (size_t i = 0; i < cube_pixels(&out); i++) {
            check_same(out.value[i], 0);
        }
        cube_free(&out);
        how.settings.memory = (uint64_t)1 << 20;
        check_run_fails(&how, HC_E_MEMORY, "--memory 1.0 MiB is too little", "%s ! write bad.img", reads[r]);
        assert_false(file_exists("bad.img"));
    }
}

/* Two writes with a preview between them leave what single runs leave. */
static void sinks_in_the_middle_take_copies(void **state) {
    (void)state;
    write_scenes();
    check_runs(NULL, "read bil.img ! bands 1-3 ! write out.img");
    check_runs(NULL, "read bil.img ! bands 1-3 ! filter mean3x3 ! preview p.png");
    check_runs(NULL, "read bil.img ! bands 1-3 ! filter mean3x3 ! pca ! write out2.img");
    files_keep(results);
    for (int32_t lines = 4; lines < 60; lines += 12) {
        for (int strict = 0; strict < 2; strict++) {
            RunHow how = {
                .ops = strict ? hc_strict_ops() : NULL, .threads = 2, .settings = {.block_lines = lines}};
            check_runs(&how,
                       "read bil.img ! bands 1-3 ! write out.img ! filter mean3x3 ! preview p.png ! pca ! "
                       "write out2.img");
            check_kept(results);
        }
    }
}

static void halos_of_chained_stages_add_up(void **state) {
    (void)state;
    write_scenes();
    check_runs(NULL,
               "read bil.img ! filter mean3x3 ! filter median3x3 ! mnf --save-model m.json ! write out.img");
    files_keep(results);
    for (int32_t lines = 4; lines <= 60; lines += lines < 12 ? 4 : 12) {
        for (int strict = 0; strict < 2; strict++) {
            RunHow how = {
                .ops = strict ? hc_strict_ops() : NULL, .threads = 2, .settings = {.block_lines = lines}};
            check_runs(&how, "read bil.img ! filter mean3x3 ! filter median3x3 ! mnf --save-model m.json ! "
                             "write out.img");
            check_kept(results);
        }
    }
    /* The same by way of files. */
    check_runs(NULL, "read bil.img ! filter mean3x3 ! write a.img");
    check_runs(NULL, "read a.img ! filter median3x3 ! write b.img");
    check_runs(NULL, "read b.img ! mnf ! write c.img");
    check_same_files("c.img", "kept.out.img");
}

static void reports_say_what_was_masked(void **state) {
    (void)state;
    write_scenes();
    HcRunReport report = {0};
    RunHow how = {.report = &report, .settings = {.block_lines = 20}};
    Cube mask = cube_smooth(LINES, SAMPLES, 1, 1, true);
    cube_border(&mask, 0);
    int64_t nodata = 0;
    int64_t user = 0;
    for (size_t i = 0; i < cube_pixels(&mask); i++) {
        bool is_user = i % 53 == 0; /* the user's mask is asked first */
        user += is_user;
        nodata += !is_user && !mask.valid[i];
    }
    check_runs(&how, "read bip.img --mask mask.img ! mnf ! write out.img");
    assert_int_equal(report.pixels, LINES * SAMPLES);
    assert_int_equal(report.masked[HC_MASK_USER], user);
    assert_int_equal(report.masked[HC_MASK_NODATA], nodata);
    assert_int_equal(report.masked[HC_MASK_NAN], 1);
    assert_int_equal(report.passes, 2);
    assert_true(report.seconds > 0 && report.peak_memory > 0);
    cube_free(&mask);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(budget_is_obeyed), /* first: peak memory is that of the process */
        IN_FOLDER(strict_backend_gives_the_same_bytes),
        IN_FOLDER(failing_operations_leave_nothing),
        IN_FOLDER(cancelling_leaves_nothing),
        IN_FOLDER(existing_outputs_stay),
        IN_FOLDER(large_outputs_are_begun_early),
        IN_FOLDER(sinks_in_the_middle_take_copies),
        IN_FOLDER(halos_of_chained_stages_add_up),
        IN_FOLDER(reports_say_what_was_masked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
