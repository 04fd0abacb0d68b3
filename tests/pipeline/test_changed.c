/* A scene that changes while it is read: no output, exit code 3, and the file that changed is named. The
 * change is made between two blocks. */
#include "tests/support/scene_files.h"
#include "tests/support/strict.h"

#include <fcntl.h>
#include <gdal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINES = 48, SAMPLES = 300, BANDS = 3, BLOCK = 4 };

/* What happens to `path` after the first block of the pass `pass`. */
typedef struct Change {
    const char *path;
    void (*happens)(const char *path);
    int32_t pass;
    bool done;
} Change;

/* Long ago, so that every later write is seen, however coarse the clock of the file system is. */
static void make_old(const char *path) {
    const struct timespec then[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    assert_int_equal(utimensat(AT_FDCWD, path, then, 0), 0);
}

static void is_written_to(const char *path) {
    int file = open(path, O_WRONLY);
    assert_true(file >= 0);
    assert_int_equal(pwrite(file, "", 1, 0), 1); /* the same byte, perhaps */
    assert_int_equal(close(file), 0);
}

/* Until the clock of the file system has gone on. */
static void is_written_to_in_secret(const char *path) {
    struct stat before, now;
    assert_int_equal(stat(path, &before), 0);
    do {
        is_written_to(path);
        make_old(path);
        assert_int_equal(stat(path, &now), 0);
    } while (now.st_ctim.tv_sec == before.st_ctim.tv_sec && now.st_ctim.tv_nsec == before.st_ctim.tv_nsec);
}

static void gets_a_link(const char *path) {
    (void)unlink("link");
    assert_int_equal(link(path, "link"), 0);
}

static void gets_rights(const char *path) {
    assert_int_equal(chmod(path, 0400), 0);
}

static void is_replaced(const char *path) {
    struct stat info;
    size_t bytes = 0;
    char *data = file_bytes(path, &bytes);
    assert_int_equal(stat(path, &info), 0);
    FILE *file = fopen("fresh", "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
    free(data);
    make_old("fresh"); /* another file of the same size and time */
    assert_int_equal(rename("fresh", path), 0);
}

static void shrinks(const char *path) {
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(truncate(path, info.st_size / 2), 0);
}

static void grows(const char *path) {
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(truncate(path, info.st_size + 1), 0);
}

static void vanishes(const char *path) {
    assert_int_equal(unlink(path), 0);
}

static void on_progress(const HcProgress *progress, void *user) {
    Change *change = user;
    if (!change->done && progress->pass == change->pass) {
        change->done = true;
        change->happens(change->path);
    }
}

static void write_scene(void) {
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 7, true);
    cube_write(&cube, "scene", HC_UINT16, "bil", NULL);
    cube_write(&cube, "bands", HC_UINT16, "bsq", NULL);
    GDALAllRegister();
    char *deflate[] = {(char[]){"COMPRESS=DEFLATE"}, NULL};
    file_remove("scene.tif");
    GDALDatasetH from = GDALOpen("scene.img", GA_ReadOnly);
    GDALClose(GDALCreateCopy(GDALGetDriverByName("GTiff"), "scene.tif", from, 0, (CSLConstList)deflate, NULL,
                             NULL));
    GDALClose(from);
    cube_free(&cube);
    Cube mask = cube_new(LINES, SAMPLES, 1);
    for (size_t i = 0; i < cube_pixels(&mask); i++) {
        mask.value[i] = 1;
    }
    cube_write(&mask, "mask", HC_UINT8, "bsq", NULL);
    cube_free(&mask);
    static const char *const names[] = {"scene.img", "scene.hdr", "bands.img", "bands.hdr",
                                        "scene.tif", "mask.img",  "mask.hdr"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        make_old(names[n]);
    }
}

/* The chain fails and leaves nothing when that happens to the file. */
static void check_noticed(const HcComputeOps *ops, const char *chain, Change change) {
    RunHow how = {.ops = ops, .settings = {.block_lines = BLOCK, .progress = on_progress, .user = &change}};
    char part[200];
    write_scene();
    snprintf(part, sizeof part, "%s: changed while it was read", change.path);
    check_run_fails(&how, HC_E_INPUT, part, "%s", chain);
    assert_true(change.done);
    assert_false(file_exists("out.img"));
    assert_false(file_exists("out.hdr"));
}

/* Mapped (the CPU's own memory is that of the device), copied, and through GDAL. */
static void every_way_of_reading_notices(void **state) {
    (void)state;
    const struct {
        const HcComputeOps *ops;
        const char *chain, *data;
    } ways[] = {{NULL, "read scene.img ! write out.img", "scene.img"},
                {NULL, "read bands.img ! write out.img", "bands.img"},
                {hc_strict_ops(), "read scene.img ! write out.img", "scene.img"},
                {NULL, "read scene.img --no-direct ! write out.img", "scene.img"},
                {NULL, "read scene.tif ! write out.img", "scene.tif"},
                {NULL, "read scene.tif --mask mask.img ! write out.img", "mask.img"},
                {NULL, "read scene.img --mask mask.img ! write out.img", "mask.hdr"},
                {NULL, "read scene.img ! write out.img", "scene.hdr"}};
    static void (*const changes[])(const char *) = {
        is_written_to, is_written_to_in_secret, is_replaced, shrinks, grows, vanishes};
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        for (size_t c = 0; c < sizeof changes / sizeof *changes; c++) {
            check_noticed(ways[w].ops, ways[w].chain,
                          (Change){.path = ways[w].data, .happens = changes[c], .pass = 1});
        }
    }
}

/* The content is the same. */
static void links_and_rights_are_no_change(void **state) {
    (void)state;
    static void (*const changes[])(const char *) = {gets_a_link, gets_rights};
    for (size_t c = 0; c < sizeof changes / sizeof *changes; c++) {
        Change change = {.path = "scene.img", .happens = changes[c], .pass = 1};
        RunHow how = {.settings = {.block_lines = BLOCK, .progress = on_progress, .user = &change}};
        write_scene();
        check_runs(&how, "read scene.img ! write out.img");
        assert_true(change.done);
        file_remove("out.img");
        file_remove("out.hdr");
        file_remove("scene.img");
    }
}

/* In any pass, also where nothing is written. */
static void every_pass_notices(void **state) {
    (void)state;
    for (int32_t pass = 1; pass <= 2; pass++) {
        check_noticed(NULL, "read scene.img ! pca ! write out.img",
                      (Change){.path = "scene.img", .happens = is_written_to, .pass = pass});
    }
    check_noticed(NULL, "read scene.img ! pca --fit-only --save-model m.json",
                  (Change){.path = "scene.img", .happens = is_written_to, .pass = 1});
    assert_false(file_exists("m.json"));
}

/* What others do beside the scene does not count. */
static void other_files_may_change(void **state) {
    (void)state;
    Change change = {.path = "mask.img", .happens = is_written_to, .pass = 1};
    RunHow how = {.settings = {.block_lines = BLOCK, .progress = on_progress, .user = &change}};
    write_scene();
    check_runs(&how, "read scene.img ! write out.img");
    assert_true(change.done);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_of_reading_notices),
        cmocka_unit_test(links_and_rights_are_no_change),
        cmocka_unit_test(every_pass_notices),
        cmocka_unit_test(other_files_may_change),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
