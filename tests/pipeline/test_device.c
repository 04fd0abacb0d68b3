/* Runs on a device with memory of its own: where the scene lies, what is copied when, and what happens when
 * the device is full or fails. */
#include "core/operation/table.h"
#include "cpu/cpu.h"
#include "pipeline/run/forecast.h"
#include "pipeline/run/run.h"
#include "tests/support/scene_files.h"
#include "tests/support/strict.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LINES = 57, SAMPLES = 300, BANDS = 6, STEP = 4 }; /* lines of a block */

static void write_scene(void) {
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 61, true);
    cube_border(&cube, 0);
    cube_write(&cube, "bil", HC_UINT16, "bil", "data ignore value = 0\n");
    cube_free(&cube);
    Cube mask = cube_new(LINES, SAMPLES, 1);
    for (size_t i = 0; i < cube_pixels(&mask); i++) {
        mask.value[i] = i % 53 != 0;
    }
    cube_write(&mask, "mask", HC_UINT8, "bsq", NULL);
    cube_free(&mask);
}

static const char *const plain = "read bil.img ! mnf --components 3 --save-model m.json ! write out.img";
static const char *const masked =
    "read bil.img --mask mask.img ! mnf --components 3 --save-model m.json ! pca ! write out.img";

static const char *const results[] = {"out.img", "m.json", NULL};

/* Runs the chain on the CPU and keeps its results as the truth. */
static void keep_truth(const char *chain) {
    check_runs(NULL, "%s", chain);
    files_keep(results);
    assert_true(file_exists("kept.out.img") && file_exists("kept.m.json"));
}

static void check_truth(void) {
    check_kept(results);
}

static void check_clean(void) {
    assert_int_equal(hc_strict_leaks(), 0);
    assert_int_equal(hc_strict_overruns(), 0);
}

static uint64_t reserve_of_strict(void) {
    HcComputeConfig config = {.threads = 1};
    HcCompute *compute = NULL;
    HcComputeInfo info;
    assert_int_equal(hc_compute_open(hc_strict_ops(), &config, &compute, NULL), HC_OK);
    hc_compute_info(compute, &info);
    hc_compute_close(compute);
    assert_true(info.reserve > 0);
    return info.reserve;
}

/* The planned device memory for blocks of that many lines, with the scene on the device or no block of it. */
static uint64_t planned(const char *chain, int32_t lines, bool kept) {
    HcRunReport report = {0};
    RunHow how = {.ops = hc_strict_ops(), .settings = {.block_lines = lines}, .report = &report};
    check_runs(&how, "%s", chain);
    assert_true(report.device_resident && report.device_blocks == report.blocks);
    while (!kept && report.device_blocks > 0) {
        how.settings.device_memory = report.device_bytes - 1;
        check_runs(&how, "%s", chain);
        assert_false(report.device_resident);
        assert_int_equal(report.block_lines, lines);
    }
    return report.device_bytes;
}

/* What the passes read: in the first all of it, then what the device does not keep. */
static double read_bytes(const HcRunReport *report) {
    double kept = (double)report->device_blocks * report->block_lines / (double)report->lines;
    return (double)report->raw_bytes * (report->passes - (report->passes - 1) * (kept < 1 ? kept : 1));
}

static void results_do_not_depend_on_where_the_scene_lies(void **state) {
    (void)state;
    static const int32_t lines[] = {4, 8, 12, 16};
    write_scene();
    for (int c = 0; c < 2; c++) {
        const char *chain = c == 0 ? plain : masked;
        keep_truth(chain);
        for (size_t k = 0; k < 4; k++) {
            HcRunReport report = {0};
            RunHow how = {.ops = hc_strict_ops(),
                          .threads = 2,
                          .settings = {.block_lines = lines[k], .record = "r.json"},
                          .report = &report};
            check_runs(&how, "%s", chain);
            assert_true(report.device_resident && !report.resident);
            assert_int_equal(report.bytes_read, report.raw_bytes);
            assert_true(file_holds("r.json", "\"device_resident\":\ttrue") ||
                        file_holds("r.json", "\"device_resident\": true"));
            check_truth();
            /* With ever less memory fewer blocks stay, and the others are read for each pass. */
            int64_t last = report.blocks;
            while (report.device_blocks > 0) {
                how.settings.device_memory = report.device_bytes - 1;
                check_runs(&how, "%s", chain);
                assert_true(!report.device_resident && !report.resident);
                assert_true(report.device_bytes <= how.settings.device_memory);
                assert_true(report.device_blocks < last);
                assert_true(fabs(report.bytes_read - read_bytes(&report)) < 1);
                check_truth();
                last = report.device_blocks;
            }
            RunHow cpu = {.settings = {.block_lines = lines[k]}, .report = &report};
            check_runs(&cpu, "%s", chain);
            assert_false(report.device_resident);
            check_truth();
        }
        RunHow one_block = {.ops = hc_strict_ops(), .threads = 2};
        check_runs(&one_block, "%s", chain);
        check_truth();
    }
    check_clean();
}

/* Zeros at the ends of a line, in all bands. */
static void clear_ends(Cube *cube, int32_t line, int32_t left, int32_t right) {
    for (int32_t s = 0; s < cube->samples; s++) {
        for (int32_t b = 0; b < cube->bands && (s < left || s >= cube->samples - right); b++) {
            cube->value[((size_t)line * (size_t)cube->samples + (size_t)s) * (size_t)cube->bands +
                        (size_t)b] = 0;
        }
    }
}

/* Pieces go to the device before anybody has looked at whole lines. Scenes: no zeros at the ends of lines; in
 * a few lines that are not among the probes; in all; where a window cuts; and pixels with a zero in the first
 * band alone. */
static void borders_of_zeros_are_counted(void **state) {
    (void)state;
    enum { FEW = 3 + 7 + SAMPLES, ALL = FEW + (LINES - 3) * 4 };
    static const char *const layouts[] = {"bil", "bsq", "bip"};
    for (size_t i = 0; i < 3; i++) {
        uint64_t without_border = 0;
        for (int scene = 0; scene < 4; scene++) {
            Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 61, true);
            for (int32_t line = 0; line < LINES; line++) {
                int32_t left = scene == 0                 ? 0
                               : line == 5                ? 3
                               : line == 6                ? SAMPLES
                               : scene == 2 && line != 20 ? 4
                                                          : 0;
                clear_ends(&cube, line, left, scene > 0 && line == 20 ? 7 : 0);
                if (scene == 3 && line == 12) {
                    cube.value[(size_t)line * SAMPLES * BANDS] = 0;
                }
            }
            cube_write(&cube, "zeros", HC_UINT16, layouts[i], NULL);
            cube_free(&cube);
            for (int ways = 0; ways < 3; ways++) { /* all stay on the device, some do, on the CPU */
                HcText notes = {0};
                HcRunReport report = {0};
                RunHow how = {.ops = ways < 2 ? hc_strict_ops() : NULL,
                              .threads = 2,
                              .settings = {.block_lines = 8, .record = "r.json"},
                              .report = &report,
                              .notes = &notes};
                check_runs(&how, "read zeros.img ! mnf --components 2 ! write out.img");
                if (ways == 0) { /* whole blocks are in host memory where most lines would be read again */
                    without_border = scene == 0 ? report.host_bytes : without_border;
                    assert_int_equal(report.host_bytes > without_border, scene == 2);
                }
                if (ways == 1) {
                    hc_text_clear(&notes);
                    how.settings.device_memory = report.device_bytes - 1;
                    check_runs(&how, "read zeros.img ! mnf --components 2 ! write out.img");
                }
                char wanted[64];
                snprintf(wanted, sizeof wanted, " %d of %d pixels are 0 in all", scene == 2 ? ALL : FEW,
                         LINES * SAMPLES);
                bool told = notes.data != NULL && strstr(notes.data, wanted) != NULL;
                if (told != (scene > 0)) {
                    fail_msg("%s, scene %d, way %d: %s", layouts[i], scene, ways,
                             notes.data != NULL ? notes.data : "no note");
                }
                hc_text_clear(&notes);
            }
        }
    }
    check_clean();
}

/* What has to be decoded stays in host memory where the device has no place for all of it. */
static void decoded_scenes_stay_in_host_memory(void **state) {
    (void)state;
    write_scene();
    check_runs(NULL, "read bil.img ! write scene.tif --co COMPRESS=DEFLATE");
    const char *chain = "read scene.tif ! mnf --components 3 --save-model m.json ! write out.img";
    keep_truth(chain);
    HcRunReport report = {0};
    RunHow how = {.ops = hc_strict_ops(), .settings = {.block_lines = STEP}, .report = &report};
    check_runs(&how, "%s", chain);
    assert_true(report.device_resident && !report.resident);
    how.settings.device_memory = report.device_bytes - 1;
    check_runs(&how, "%s", chain);
    assert_true(!report.device_resident && report.resident && report.device_blocks == 0);
    assert_int_equal(report.bytes_read, report.raw_bytes);
    check_truth();
    check_clean();
}

/* Neither the device nor the host can keep the scene. The device keeps some blocks, and each pass reads the
 * others. */
static void scenes_larger_than_both_memories_are_streamed(void **state) {
    (void)state;
    enum { HIGH = 1500, WIDE = 120, DEEP = 40 };
    Cube cube = cube_smooth(HIGH, WIDE, DEEP, 55, true);
    cube_write(&cube, "large", HC_UINT16, "bil", NULL);
    cube_free(&cube);
    const char *chain = "read large.img ! mnf --components 3 --save-model m.json ! write out.img";
    keep_truth(chain);
    HcRunReport report = {0};
    RunHow how = {
        .ops = hc_strict_ops(),
        .threads = 2,
        .settings = {.memory = (uint64_t)88 << 20, .device_memory = (uint64_t)8 << 20, .block_lines = 54},
        .report = &report};
    check_runs(&how, "%s", chain);
    assert_true(!report.device_resident && !report.resident);
    assert_true(report.host_bytes <= how.settings.memory);
    assert_true(report.device_bytes <= how.settings.device_memory);
    assert_true(report.device_blocks > 0 && report.device_blocks < report.blocks);
    assert_true(fabs(report.bytes_read - read_bytes(&report)) < 1);
    check_truth();
    check_clean();
}

/* The trial reads all of its lines in each pass; the run that it stands for reads again what does not stay.
 */
static void forecasts_know_what_stays(void **state) {
    (void)state;
    static const char *const words[] = {"read", "bil.img", "!",     "mnf",    "--components",
                                        "3",    "!",       "write", "out.img"};
    const int32_t count = (int32_t)(sizeof words / sizeof *words);
    write_scene();
    HcRunSettings settings = {.record = "none", .block_lines = STEP};
    HcComputeConfig config = {.threads = 1, .host = hc_cpu_ops()};
    HcCompute *compute = NULL;
    HcRunReport plan = {0};
    assert_int_equal(hc_compute_open(hc_strict_ops(), &config, &compute, NULL), HC_OK);
    for (int all = 1; all >= 0; all--) {
        HcChain *chain = NULL;
        HcChain *trial = NULL;
        HcForecast forecast;
        assert_int_equal(hc_chain_parse(&chain, words, count, NULL, NULL), HC_OK);
        assert_int_equal(hc_chain_parse(&trial, words, count, NULL, NULL), HC_OK);
        settings.device_memory = all ? 0 : plan.device_bytes - 1;
        assert_int_equal(hc_run_plan(chain, compute, &settings, &plan, NULL), HC_OK);
        assert_true(all ? plan.device_resident : plan.device_blocks > 0 && plan.device_blocks < plan.blocks);
        assert_int_equal(hc_run_forecast(trial, compute, &settings, &plan, &forecast, NULL), HC_OK);
        assert_int_equal(forecast.passes, 2);
        double again = 1 - (double)plan.device_blocks / (double)plan.blocks;
        assert_true(fabs(forecast.pass[0].bytes_read - (double)plan.raw_bytes) < 1);
        assert_true(fabs(forecast.pass[1].bytes_read - again * (double)plan.raw_bytes) < 1);
        hc_chain_free(trial);
        hc_chain_free(chain);
    }
    hc_compute_close(compute);
    assert_false(file_exists("out.img"));
    check_clean();
}

/* Bytes that had been uploaded when a pass was first and last heard of. */
typedef struct Uploads {
    int64_t first[4], last[4];
} Uploads;

static void note_uploads(const HcProgress *progress, void *user) {
    Uploads *uploads = user;
    int64_t *first = &uploads->first[progress->pass];
    *first = *first == 0 ? hc_strict_uploaded() : *first;
    uploads->last[progress->pass] = hc_strict_uploaded();
}

static void later_passes_copy_nothing(void **state) {
    (void)state;
    write_scene();
    const int64_t block_bytes = (int64_t)STEP * SAMPLES * BANDS * 2;
    for (int kept = 0; kept < 2; kept++) {
        uint64_t memory = planned(masked, STEP, kept != 0);
        Uploads uploads = {0};
        HcRunReport report = {0};
        RunHow how = {.ops = hc_strict_ops(),
                      .settings = {.block_lines = STEP,
                                   .device_memory = memory,
                                   .progress = note_uploads,
                                   .user = &uploads},
                      .report = &report};
        int64_t before = hc_strict_uploaded();
        check_runs(&how, "%s", masked);
        assert_int_equal(report.device_resident, kept);
        assert_int_equal(report.passes, 3);
        assert_true(uploads.last[1] - before > (int64_t)report.raw_bytes);
        for (int pass = 2; pass <= 3; pass++) {
            /* Between passes the model goes there: a few matrices. */
            int64_t bytes = uploads.last[pass] - uploads.last[pass - 1];
            if (kept ? bytes >= block_bytes / 2 : bytes <= (int64_t)report.raw_bytes) {
                fail_msg("%lld bytes were uploaded in pass %d", (long long)bytes, pass);
            }
            assert_true(!kept || uploads.first[pass] == uploads.last[pass]);
        }
    }
    check_clean();
}

/* What was planned is what is taken, and once. */
static void planned_memory_is_enough(void **state) {
    (void)state;
    write_scene();
    keep_truth(masked);
    for (int32_t lines = STEP; lines <= 16; lines *= 2) {
        for (int kept = 0; kept < 2; kept++) {
            HcText notes = {0};
            HcRunReport report = {0};
            uint64_t memory = planned(masked, lines, kept != 0);
            RunHow how = {.ops = hc_strict_ops(),
                          .settings = {.block_lines = lines, .device_memory = memory},
                          .report = &report,
                          .notes = &notes};
            hc_strict_memory(memory);
            check_runs(&how, "%s", masked);
            hc_strict_memory(0);
            assert_int_equal(report.device_resident, kept);
            assert_int_equal(report.block_lines, lines);
            assert_true(notes.data == NULL || strstr(notes.data, "device memory") == NULL);
            hc_text_clear(&notes);
            check_truth();
        }
    }
    check_clean();
}

/* Runs with ever less device memory than the plan for blocks of that many lines needs; counts the runs that
 * took the planned blocks without keeping the scene there, and those that took smaller ones. */
static void shrink_device(int32_t lines, int *unkept, int *smaller) {
    uint64_t memory = planned(masked, lines, true);
    uint64_t reserve = reserve_of_strict();
    HcStatus status = HC_OK;
    for (int32_t last_lines = lines; status == HC_OK; memory -= (memory - reserve) / 32) {
        HcText notes = {0};
        HcError err = {0};
        HcRunReport report = {0};
        RunHow how = {.ops = hc_strict_ops(),
                      .settings = {.block_lines = lines, .device_memory = (uint64_t)1 << 30},
                      .report = &report,
                      .notes = &notes};
        hc_strict_memory(memory);
        status = run_chain_text(&how, &err, "%s", masked);
        hc_strict_memory(0);
        if (status != HC_OK) {
            assert_int_equal(status, HC_E_MEMORY);
            check_says(err.text, "device is out of memory: blocks of 1 line,");
            assert_null(strchr(err.text, '\n'));
            assert_false(file_exists("out.img") || file_exists("m.json"));
            assert_int_equal(last_lines, 1); /* not before all else was tried */
        } else {
            const char *said = notes.data != NULL ? notes.data : "";
            char shrunk[64];
            snprintf(shrunk, sizeof shrunk, "blocks of %d lines instead of %d taken", report.block_lines,
                     lines);
            assert_true(report.block_lines <= last_lines);
            assert_int_equal(report.block_lines < lines, strstr(said, shrunk) != NULL);
            assert_int_equal(report.device_resident, strstr(said, "the scene is not kept there") == NULL);
            last_lines = report.block_lines;
            *unkept += !report.device_resident && report.block_lines == lines;
            *smaller += report.block_lines < lines;
            check_truth();
        }
        hc_text_clear(&notes);
    }
}

/* Others took memory after the plan was made: the run gets along with less, down to the smallest blocks. */
static void a_full_device_gets_smaller_blocks(void **state) {
    (void)state;
    write_scene();
    keep_truth(masked);
    int unkept = 0;
    int smaller = 0;
    shrink_device(16, &unkept, &smaller);
    assert_true(unkept > 0 && smaller > 5);
    smaller = 0;
    shrink_device(56, &unkept, &smaller); /* from two blocks, fewer than slots, to several */
    assert_true(smaller > 5);
    check_clean();
}

static void too_little_device_memory_is_refused(void **state) {
    (void)state;
    write_scene();
    char line[128];
    char least[32];
    uint64_t memory = planned(masked, 1, false);
    RunHow how = {.ops = hc_strict_ops(), .settings = {.device_memory = memory}};
    check_runs(&how, "%s", masked);
    file_remove("out.img");
    file_remove("m.json");
    how.settings.device_memory = memory - 4096;
    snprintf(line, sizeof line, "is too little: this chain needs at least %s",
             hc_text_bytes(least, sizeof least, (double)memory));
    check_run_fails(&how, HC_E_MEMORY, "--device-memory ", "%s", masked);
    check_run_fails(&how, HC_E_MEMORY, line, "%s", masked);
    how.settings.device_memory = 4096; /* less than what the backend takes itself */
    check_run_fails(&how, HC_E_MEMORY, "--device-memory 4.0 KiB is too little", "%s", masked);
    check_run_fails(&how, HC_E_MEMORY, line, "%s", masked);
    how.settings.device_memory = 0;
    hc_strict_memory(reserve_of_strict());
    check_run_fails(&how, HC_E_MEMORY, "free device memory of", "%s", masked);
    check_run_fails(&how, HC_E_MEMORY, line, "%s", masked);
    hc_strict_memory(0);
    assert_false(file_exists("out.img") || file_exists("m.json"));
    check_clean();
}

/* Wherever the device fails: no output, nothing left open, no thread that waits for ever. */
static void failures_of_the_device_end_the_run(void **state) {
    (void)state;
    write_scene();
    const char *chain =
        "read bil.img --mask mask.img ! write raw.img ! mnf --save-model m.json ! write out.img";
    alarm(300);
    for (int kept = 0; kept < 2; kept++) {
        uint64_t memory = planned(chain, 12, kept != 0);
        RunHow how = {.ops = hc_strict_ops(), .settings = {.block_lines = 12, .device_memory = memory}};
        hc_strict_fail_at(0);
        check_runs(&how, "%s", chain);
        int64_t operations = hc_strict_operations();
        file_remove("raw.img");
        file_remove("raw.hdr");
        file_remove("out.img");
        file_remove("out.hdr");
        file_remove("m.json");
        int before = folder_entries();
        for (int64_t n = 1; n <= operations; n++) {
            HcError err = {0};
            hc_strict_fail_at(n);
            HcStatus status = run_chain_text(&how, &err, "%s", chain);
            if (status != HC_E_DEVICE || strstr(err.text, "the device failed") == NULL ||
                folder_entries() != before) {
                fail_msg("operation %lld of %lld failed: status %d, \"%s\", %d entries instead of %d",
                         (long long)n, (long long)operations, (int)status, err.text, folder_entries(),
                         before);
            }
        }
        hc_strict_fail_at(0);
    }
    alarm(0);
    check_clean();
}

/* ---- a backend that looks on ---- */

enum { QUEUES_MAX = 64 };

static HcComputeOps watching;
static const HcQueue *worker;              /* what decodes */
static const HcQueue *sending[QUEUES_MAX]; /* what downloads while there is a worker */
static int sending_count;
static int uploads_on_worker, downloads_on_worker;
static int host_buffers_left; /* -1 = no limit */
static struct {
    const HcQueue *queue;
    const char *to;
} pending[QUEUES_MAX]; /* downloads that nobody waited for */
static int pending_count;
static pthread_mutex_t watching_lock = PTHREAD_MUTEX_INITIALIZER; /* of all these: threads send pieces */

static HcStatus watch_decode(HcQueue *queue, const HcRaw *raw, const HcDecode *how, const HcBlock *out,
                             HcError *err) {
    pthread_mutex_lock(&watching_lock);
    assert_true(worker == NULL || worker == queue);
    worker = queue;
    pthread_mutex_unlock(&watching_lock);
    return hc_strict_ops()->decode(queue, raw, how, out, err);
}

static HcStatus watch_upload(HcQueue *queue, const void *from, void *to, size_t bytes, HcError *err) {
    pthread_mutex_lock(&watching_lock);
    uploads_on_worker += queue == worker;
    pthread_mutex_unlock(&watching_lock);
    return hc_strict_ops()->upload(queue, from, to, bytes, err);
}

static HcStatus watch_download(HcQueue *queue, const void *from, void *to, size_t bytes, HcError *err) {
    pthread_mutex_lock(&watching_lock);
    downloads_on_worker += queue == worker;
    if (worker != NULL && sending_count < QUEUES_MAX) {
        sending[sending_count++] = queue;
    }
    assert_true(pending_count < QUEUES_MAX);
    pending[pending_count].queue = queue;
    pending[pending_count++].to = to;
    pthread_mutex_unlock(&watching_lock);
    return hc_strict_ops()->download(queue, from, to, bytes, err);
}

static HcStatus watch_wait(HcQueue *queue, HcError *err) {
    pthread_mutex_lock(&watching_lock);
    for (int k = pending_count - 1; k >= 0; k--) {
        if (pending[k].queue == queue) {
            pending[k] = pending[--pending_count];
        }
    }
    pthread_mutex_unlock(&watching_lock);
    return hc_strict_ops()->wait(queue, err);
}

/* Host memory is given back when nothing is on its way there. */
static void watch_release(HcCompute *compute, HcBuffer *buffer) {
    const char *data = buffer->data;
    for (int k = 0; k < pending_count && buffer->where == HC_MEMORY_HOST; k++) {
        assert_false(pending[k].to >= data && pending[k].to < data + buffer->bytes);
    }
    hc_strict_ops()->release(compute, buffer);
}

/* Work and uploads wait for no download. */
static HcStatus watch_follow(HcQueue *queue, HcQueue *after, HcError *err) {
    for (int k = 0; k < sending_count; k++) {
        assert_ptr_not_equal(after, sending[k]);
    }
    assert_true(after != worker || queue != worker);
    return hc_strict_ops()->follow(queue, after, err);
}

static HcStatus watch_alloc(HcCompute *compute, HcMemory where, size_t bytes, HcBuffer *out, HcError *err) {
    if (where == HC_MEMORY_HOST && host_buffers_left == 0) {
        *out = (HcBuffer){0};
        return hc_fail_memory(err, (double)bytes, "a pinned buffer");
    }
    host_buffers_left -= where == HC_MEMORY_HOST && host_buffers_left > 0;
    return hc_strict_ops()->alloc(compute, where, bytes, out, err);
}

static void watch(int host_buffers) {
    watching = *hc_strict_ops();
    watching.decode = watch_decode;
    watching.upload = watch_upload;
    watching.download = watch_download;
    watching.wait = watch_wait;
    watching.release = watch_release;
    watching.follow = watch_follow;
    watching.alloc = watch_alloc;
    worker = NULL;
    pending_count = 0;
    sending_count = uploads_on_worker = downloads_on_worker = 0;
    host_buffers_left = host_buffers;
}

static void copies_do_not_hold_up_the_work(void **state) {
    (void)state;
    write_scene();
    watch(-1);
    RunHow how = {.ops = &watching, .settings = {.block_lines = STEP}};
    check_runs(&how, "read bil.img ! write raw.img ! filter mean3x3 ! write out.img");
    assert_non_null(worker);
    assert_true(sending_count > 20);
    assert_int_equal(uploads_on_worker, 0);
    assert_int_equal(downloads_on_worker, 0);
}

static void failures_leave_no_copy_behind(void **state) {
    (void)state;
    write_scene();
    for (int64_t n = 1; n < 120; n++) {
        HcError err = {0};
        watch(-1);
        RunHow how = {.ops = &watching, .settings = {.block_lines = STEP}};
        hc_strict_fail_at(n);
        assert_int_equal(run_chain_text(&how, &err, "read bil.img ! write raw.img ! pca ! write out.img"),
                         HC_E_DEVICE);
    }
    hc_strict_fail_at(0);
    check_clean();
}

static void missing_host_memory_has_its_line(void **state) {
    (void)state;
    write_scene();
    int before = folder_entries();
    int buffers = 0;
    for (;; buffers++) {
        HcError err = {0};
        watch(buffers);
        RunHow how = {.ops = &watching, .settings = {.block_lines = 20}};
        HcStatus status = run_chain_text(&how, &err, "%s", plain);
        if (status == HC_OK) {
            break;
        }
        assert_int_equal(status, HC_E_MEMORY);
        assert_non_null(strstr(err.text, "the host is out of memory: "));
        assert_int_equal(folder_entries(), before);
    }
    assert_true(buffers > 5); /* three raw blocks, five of output */
    check_clean();
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(results_do_not_depend_on_where_the_scene_lies),
        IN_FOLDER(borders_of_zeros_are_counted),
        IN_FOLDER(decoded_scenes_stay_in_host_memory),
        IN_FOLDER(scenes_larger_than_both_memories_are_streamed),
        IN_FOLDER(forecasts_know_what_stays),
        IN_FOLDER(later_passes_copy_nothing),
        IN_FOLDER(planned_memory_is_enough),
        IN_FOLDER(a_full_device_gets_smaller_blocks),
        IN_FOLDER(too_little_device_memory_is_refused),
        IN_FOLDER(failures_of_the_device_end_the_run),
        IN_FOLDER(copies_do_not_hold_up_the_work),
        IN_FOLDER(failures_leave_no_copy_behind),
        IN_FOLDER(missing_host_memory_has_its_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
