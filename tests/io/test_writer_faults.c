/* The writer when things go wrong: whatever happens, no file looks whole that is not, and nothing else is
 * left. */
#include "write_fixture.h"
#include "core/text.h"
#include "io/file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static const struct {
    const char *format, *name;
    HcType type;
    const char *compress;
    int32_t threads;
} ways[] = {
    {"ENVI", "a.img", HC_FLOAT32, NULL, 1},     {"GTiff", "a.tif", HC_FLOAT32, NULL, 0},
    {"GTiff", "b.tif", HC_INT16, "deflate", 0}, {"COG", "c.tif", HC_FLOAT32, NULL, 0},
    {"PNG", "d.png", HC_UINT8, NULL, 0},        {"HFA", "e.img", HC_FLOAT32, NULL, 0},
    {"ENVI", "a.img", HC_FLOAT32, NULL, 8},    /* by several threads */
    {"GTiff", "f.tif", HC_FLOAT32, "zstd", 4}, /* tiles by several threads */
    {"GTiff", "g.tif", HC_FLOAT32, "lzw", 4},
};
#define WAYS (sizeof ways / sizeof *ways)

static HcWriterOptions way(size_t i) {
    static const char *const small[] = {"BLOCKXSIZE=64", "BLOCKYSIZE=64", "NUM_THREADS=4", NULL};
    return (HcWriterOptions){.format = ways[i].format,
                             .has_type = true,
                             .type = ways[i].type,
                             .compress = ways[i].compress,
                             .creation_options =
                                 ways[i].compress != NULL && ways[i].threads > 1 ? small : NULL,
                             .threads = ways[i].threads};
}

static void missing_lines(void **state) {
    (void)state;
    HcScene scene = plain_scene(40, 30, 3);
    HcError err = {0};
    for (size_t i = 0; i < WAYS; i++) {
        HcWriterOptions options = way(i);
        HcWriter *writer = NULL;
        check_ok(hc_writer_open(&writer, in_folder(ways[i].name), &scene, &options, &err), err);
        check_ok(write_lines(writer, &scene, 0, 39, &err), err);
        check_fails(hc_writer_finish(writer, &err), HC_E_IO, err);
        hc_writer_close(writer);
        assert_int_equal(folder_entries(folder), 0);
    }
}

static void abandoned(void **state) {
    (void)state;
    HcScene scene = plain_scene(40, 30, 3);
    HcError err = {0};
    for (size_t i = 0; i < WAYS; i++) {
        HcWriterOptions options = way(i);
        HcWriter *writer = NULL;
        check_ok(hc_writer_open(&writer, in_folder(ways[i].name), &scene, &options, &err), err);
        check_ok(write_lines(writer, &scene, 0, (int64_t)i * 6 % 40, &err), err);
        assert_false(file_exists(in_folder(ways[i].name)));
        assert_int_equal(folder_entries(folder), 1);
        hc_writer_close(writer);
        assert_int_equal(folder_entries(folder), 0);
    }
    hc_writer_close(NULL);
}

/* As on Ctrl-C: the files go although the writer is still there. */
static void interrupted(void **state) {
    (void)state;
    HcScene scene = plain_scene(40, 30, 3);
    HcError err = {0};
    HcWriter *writers[2] = {NULL, NULL};
    for (size_t i = 0; i < 2; i++) {
        HcWriterOptions options = way(i);
        check_ok(hc_writer_open(&writers[i], in_folder(ways[i].name), &scene, &options, &err), err);
        check_ok(write_lines(writers[i], &scene, 0, 20, &err), err);
    }
    hc_file_remove_partials();
    assert_int_equal(folder_entries(folder), 0);
    hc_writer_close(writers[0]);
    hc_writer_close(writers[1]);
    assert_int_equal(folder_entries(folder), 0);
}

static void wrong_blocks(void **state) {
    (void)state;
    HcScene scene = plain_scene(10, 6, 3);
    HcError err = {0};
    HcWriter *writer = NULL;
    float data[10 * 6 * 3] = {0};
    uint8_t mask[10 * 6] = {0};
    HcBlock block = {.data = data, .mask = mask, .lines = 4, .samples = 6, .bands = 3};
    HcBlock wrong[4] = {block, block, block, block};
    wrong[0].line0 = 1;
    wrong[1].samples = 5;
    wrong[2].bands = 2;
    wrong[3].lines = 11;
    check_ok(hc_writer_open(&writer, in_folder("a.img"), &scene, NULL, &err), err);
    for (int i = 0; i < 4; i++) {
        check_fails(hc_writer_write(writer, &wrong[i], &err), HC_E_USAGE, err);
    }
    check_ok(hc_writer_write(writer, &block, &err), err);
    check_fails(hc_writer_write(writer, &block, &err), HC_E_USAGE, err); /* the same lines again */
    hc_writer_close(writer);
}

/* ---- what is there already ---- */

static void existing_file(void **state) {
    (void)state;
    HcScene scene = plain_scene(10, 6, 3);
    HcError err = {0};
    for (size_t i = 0; i < WAYS; i++) {
        HcWriterOptions options = way(i);
        const char *path = in_folder(ways[i].name);
        put_file(path, "precious");
        check_fails(hc_writer_check(path, &scene, &options, &err), HC_E_USAGE, err);
        check_fails(write_scene(path, &scene, &options, &err), HC_E_USAGE, err);
        assert_true(file_is(path, "precious"));
        assert_int_equal(folder_entries(folder), 1);

        /* Replaced only when whole. */
        HcWriter *writer = NULL;
        options.overwrite = true;
        check_ok(hc_writer_check(path, &scene, &options, &err), err);
        check_ok(hc_writer_open(&writer, path, &scene, &options, &err), err);
        check_ok(write_lines(writer, &scene, 0, 5, &err), err);
        hc_writer_close(writer);
        assert_true(file_is(path, "precious"));
        assert_int_equal(folder_entries(folder), 1);

        check_ok(write_scene(path, &scene, &options, &err), err);
        check_values(path, &scene, ways[i].type);
        unlink(path);
        unlink(in_folder("a.hdr"));
        unlink(in_folder("d.png.aux.xml"));
    }
}

/* Somebody else is quicker, after open has looked. */
static void file_appears_meanwhile(void **state) {
    (void)state;
    HcScene scene = plain_scene(10, 6, 3);
    HcError err = {0};
    static const char *const rivals[] = {"a.img", "a.hdr", "a.tif"};
    static const char *const outputs[] = {"a.img", "a.img", "a.tif"};
    for (int i = 0; i < 3; i++) {
        HcWriter *writer = NULL;
        check_ok(hc_writer_open(&writer, in_folder(outputs[i]), &scene, NULL, &err), err);
        check_ok(write_lines(writer, &scene, 0, 10, &err), err);
        put_file(in_folder(rivals[i]), "precious");
        check_fails(hc_writer_finish(writer, &err), HC_E_USAGE, err);
        hc_writer_close(writer);
        assert_true(file_is(in_folder(rivals[i]), "precious"));
        assert_int_equal(folder_entries(folder), 1);
        unlink(in_folder(rivals[i]));
    }
}

static void sidecars_of_the_old_file_go(void **state) {
    (void)state;
    HcScene scene = plain_scene(10, 6, 3);
    HcError err = {0};
    HcWriterOptions options = {.overwrite = true};
    put_file(in_folder("a.tif"), "old");
    put_file(in_folder("a.tif.aux.xml"), "<PAMDataset/>");
    put_file(in_folder("a.tif.ovr"), "old overviews");
    put_file(in_folder("a.tif.hcube.json"), "not ours to remove here");
    check_ok(write_scene(in_folder("a.tif"), &scene, &options, &err), err);
    check_values(in_folder("a.tif"), &scene, HC_FLOAT32);
    assert_int_equal(folder_entries(folder), 2);
}

/* scene.img and scene.hdr are somebody's; scene.bsq would take the header away. */
static void header_of_another_file(void **state) {
    (void)state;
    HcScene scene = plain_scene(10, 6, 3);
    HcError err = {0};
    HcWriterOptions options = {.overwrite = true};
    put_file(in_folder("scene.img"), "data");
    put_file(in_folder("scene.hdr"), "header");
    check_fails(hc_writer_check(in_folder("scene.bsq"), &scene, NULL, &err), HC_E_USAGE, err);
    check_fails(hc_writer_check(in_folder("scene.bsq"), &scene, &options, &err), HC_E_USAGE, err);
    check_ok(hc_writer_check(in_folder("scene.img"), &scene, &options, &err), err);
    check_ok(hc_writer_check(in_folder("scene.hdr"), &scene, &options, &err), err);
    assert_true(file_is(in_folder("scene.hdr"), "header"));
}

/* ---- what cannot be ---- */

static void fails_with(const char *name, HcWriterOptions options, int32_t bands, HcStatus expected,
                       const char *part) {
    HcScene scene = plain_scene(10, 6, bands);
    HcError err = {0};
    HcStatus status = hc_writer_check(in_folder(name), &scene, &options, &err);
    if (status != expected || strstr(err.text, part) == NULL || strchr(err.text, '\n') != NULL) {
        fail_msg("%s: status %d, \"%s\" lacks \"%s\"", name, (int)status, err.text, part);
    }
    HcWriter *writer = NULL;
    assert_int_equal(hc_writer_open(&writer, in_folder(name), &scene, &options, NULL), expected);
    assert_null(writer);
    assert_int_equal(folder_entries(folder), 0);
}

static void refusals(void **state) {
    (void)state;
    static const char *const no_value[] = {"TILED", NULL};
    static const char *const unknown[] = {"TILDE=YES", NULL};
    fails_with("no/such/a.img", (HcWriterOptions){0}, 3, HC_E_IO, "No such file or directory");
    fails_with("a.tif", (HcWriterOptions){.format = "GTif"}, 3, HC_E_USAGE, "did you mean GTiff?");
    fails_with("a.img", (HcWriterOptions){.format = "ENVY"}, 3, HC_E_USAGE, "did you mean ENVI?");
    fails_with("a.img", (HcWriterOptions){.format = "SENTINEL2"}, 3, HC_E_UNSUPPORTED, "not written");
    fails_with("a.docx", (HcWriterOptions){0}, 3, HC_E_USAGE, ".docx");
    fails_with("a.png", (HcWriterOptions){0}, 3, HC_E_UNSUPPORTED, "uint8, uint16");
    fails_with("a.png", (HcWriterOptions){.has_type = true, .type = HC_UINT8}, 5, HC_E_UNSUPPORTED,
               "5 bands");
    fails_with("a.tif", (HcWriterOptions){.interleave = "bil"}, 3, HC_E_UNSUPPORTED, "bil");
    fails_with("a.tif", (HcWriterOptions){.interleave = "bsp"}, 3, HC_E_USAGE, "bsp");
    fails_with("a.tif", (HcWriterOptions){.compress = "zip"}, 3, HC_E_UNSUPPORTED, "zip");
    fails_with("a.img", (HcWriterOptions){.compress = "deflate"}, 3, HC_E_UNSUPPORTED, "deflate");
    fails_with("a.tif", (HcWriterOptions){.creation_options = no_value}, 3, HC_E_USAGE, "NAME=VALUE");
    fails_with("a.tif", (HcWriterOptions){.creation_options = unknown}, 3, HC_E_USAGE, "TILDE");
    fails_with("a.img",
               (HcWriterOptions){.has_type = true, .type = HC_UINT8, .has_nodata = true, .nodata = -1}, 3,
               HC_E_USAGE, "-1");
    fails_with("a.img", (HcWriterOptions){0}, 0, HC_E_USAGE, "0 bands");
    HcError err = {0};
    HcScene scene = plain_scene(10, 6, 3);
    check_fails(hc_writer_check("/vsimem/a.img", &scene, NULL, &err), HC_E_UNSUPPORTED, err);
    check_fails(hc_writer_check("", &scene, NULL, &err), HC_E_USAGE, err);
    scene.lines = (int64_t)1 << 40;
    check_fails(hc_writer_check(in_folder("a.img"), &scene, NULL, &err), HC_E_UNSUPPORTED, err);
}

static void directory_in_the_way(void **state) {
    (void)state;
    HcScene scene = plain_scene(10, 6, 3);
    HcError err = {0};
    HcWriterOptions options = {.overwrite = true};
    assert_int_equal(mkdir(in_folder("a.tif"), 0777), 0);
    check_fails(hc_writer_check(in_folder("a.tif"), &scene, &options, &err), HC_E_IO, err);
    rmdir(in_folder("a.tif"));
}

/* ---- full disks ---- */

/* Limits the size of files: the same as a full disk to a writer, and needs no rights. */
static void limit_files(rlim_t bytes) {
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Limits on the size of a file, from nothing to nearly whole: 21 even steps, then small ones over the last
 * 16 KiB, where a driver writes directories and what it has kept back. Ends with -1. */
static int64_t next_limit(int64_t limit, int64_t size) {
    int64_t step = limit < size - 16384 ? size / 21 : limit < size - 64 ? 331 : 7;
    int64_t next = limit < size - 16384 && limit + step > size - 16384 ? size - 16384 : limit + step;
    return limit == size - 1 ? -1 : next > size - 1 ? size - 1 : next;
}

/* It must never look as if it had worked. */
static void file_size_limit(void **state) {
    (void)state;
    HcScene scene = plain_scene(300, 290, 3);
    HcError err = {0};
    signal(SIGXFSZ, SIG_IGN);
    for (size_t i = 0; i < WAYS; i++) {
        HcWriterOptions options = way(i);
        int64_t size = 0, modified;
        check_ok(write_scene(in_folder(ways[i].name), &scene, &options, &err), err);
        int whole = folder_entries(folder);
        assert_true(hc_file_identity(in_folder(ways[i].name), &size, &modified));
        for (int64_t limit = 0; limit >= 0; limit = next_limit(limit, size)) {
            options.overwrite = true;
            limit_files((rlim_t)limit);
            HcStatus status = write_scene(in_folder(ways[i].name), &scene, &options, &err);
            limit_files(RLIM_INFINITY);
            if (status != HC_E_IO || strstr(err.text, in_folder(ways[i].name)) != err.text) {
                fail_msg("%s with %lld of %lld bytes: status %d \"%s\"", ways[i].format, (long long)limit,
                         (long long)size, (int)status, err.text);
            }
            err = (HcError){0};
            assert_int_equal(folder_entries(folder), whole);
        }
        check_values(in_folder(ways[i].name), &scene, ways[i].type); /* the old one is as it was */
        unlink(in_folder(ways[i].name));
        unlink(in_folder("a.hdr"));
        unlink(in_folder("d.png.aux.xml"));
    }
}

/* How a process of its own ends that writes the scene where files may not grow: with the status as exit code,
 * or by a signal. */
static int end_of_writing(const char *path, const HcScene *scene, const HcWriterOptions *options,
                          rlim_t limit) {
    int end = 0;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        HcError err = {0};
        limit_files(limit);
        _exit((int)write_scene(path, scene, options, &err));
    }
    assert_int_equal(waitpid(child, &end, 0), child);
    return end;
}

/* HDF5 2, built with its assertions, ends by one of them when it closes a file that could not be written
 * (H5F__dest); docs/reliability.md says so. */
static bool may_abort(const char *format) {
    int (*version_of)(unsigned *, unsigned *, unsigned *) = NULL;
    unsigned version[3] = {0};
    *(void **)&version_of = dlsym(RTLD_DEFAULT, "H5get_libversion");
    return strcmp(format, "netCDF") == 0 && version_of != NULL &&
           version_of(&version[0], &version[1], &version[2]) >= 0 && version[0] >= 2;
}

/* Drivers without a reader of our own, in their own file layouts. */
static void file_size_limit_of_other_drivers(void **state) {
    (void)state;
    static const char *const formats[] = {"ERS", "netCDF", "ISIS3", "PDS4", "RST", "JPEG2000", "JP2OpenJPEG"};
    static const char *const names[] = {"a.ers", "b.nc", "c.cub", "d.xml", "e.rst", "f.jp2", "g.jp2"};
    HcScene scene = plain_scene(300, 290, 1);
    signal(SIGXFSZ, SIG_IGN);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *path = in_folder(names[i]);
        HcWriterOptions options = {.format = formats[i], .has_type = true, .type = HC_INT16};
        if (GDALGetDriverByName(formats[i]) == NULL ||
            hc_writer_check(path, &scene, &options, NULL) != HC_OK) {
            continue;
        }
        for (rlim_t limit = 0; limit < 300 * 290 * 2; limit += 17011) {
            path = in_folder(names[i]);
            int end = end_of_writing(path, &scene, &options, limit);
            bool may_be_small = i >= 5; /* compressed */
            bool failed = WIFEXITED(end) && WEXITSTATUS(end) == HC_E_IO;
            bool aborted = WIFSIGNALED(end) && WTERMSIG(end) == SIGABRT && may_abort(formats[i]);
            if (!failed && !aborted && !(may_be_small && end == 0)) {
                fail_msg("%s with %ld bytes: end %#x", formats[i], (long)limit, (unsigned)end);
            }
            assert_true(end == 0 || access(path, F_OK) != 0);
            unlink(path);
            if (aborted) { /* what is left has no name, and the next run removes it */
                hc_file_remove_dead(path);
            }
            assert_int_equal(folder_entries(folder), 0);
        }
    }
}

/* An ENVI file gets its size when it is created. Here the writes into it fail, each after a part. */
static void envi_writes_fail(void **state) {
    (void)state;
    static const char *const interleaves[] = {"bsq", "bil", "bip"};
    HcScene scene = plain_scene(700, 611, 8); /* more than one stage */
    HcError err = {0};
    signal(SIGXFSZ, SIG_IGN);
    for (int i = 0; i < 12; i++) {
        HcWriterOptions options = {.interleave = interleaves[i % 3], .threads = i < 6 ? 1 : 4};
        HcWriter *writer = NULL;
        check_ok(hc_writer_open(&writer, in_folder("a.img"), &scene, &options, &err), err);
        limit_files(700 * 611 * 8 * 4 / 4 * (rlim_t)(i / 3) + 1001);
        HcStatus status = write_lines(writer, &scene, 0, 700, &err);
        if (status == HC_OK) {
            status = hc_writer_finish(writer, &err);
        }
        limit_files(RLIM_INFINITY);
        hc_writer_close(writer);
        if (status != HC_E_IO || strstr(err.text, strerror(EFBIG)) == NULL) {
            fail_msg("%s: status %d \"%s\"", options.interleave, (int)status, err.text);
        }
        err = (HcError){0};
        assert_int_equal(folder_entries(folder), 0);
    }
}

/* What the next reservation of space ends with; 0 = as the system does. */
static int no_space;
static int64_t reserved;

int fallocate(int file, int mode, off_t at, off_t bytes) {
    reserved += bytes;
    errno = no_space;
    return no_space != 0 ? -1 : (int)syscall(SYS_fallocate, file, mode, at, bytes);
}

/* Somebody shortens the file, or writes into its header, before it gets its name. Where no file can
 * grow any more, that is the cause. */
static void files_that_change_before_they_are_named(void **state) {
    (void)state;
    static const char *const names[] = {"a.img", "a.hdr"};
    HcScene scene = plain_scene(40, 30, 3);
    HcError err = {0};
    for (int i = 0; i < 4; i++) {
        HcWriter *writer = NULL;
        HcWriterSite site;
        check_ok(hc_writer_open(&writer, in_folder("a.img"), &scene, NULL, &err), err);
        check_ok(write_lines(writer, &scene, 0, 40, &err), err);
        check_ok(hc_writer_site(writer, &site, &err), err);
        memcpy(strrchr(site.partial, '/') + 1, names[i % 2], strlen(names[i % 2]) + 1);
        assert_int_equal(truncate(site.partial, 100), 0);
        no_space = i < 2 ? 0 : ENOSPC;
        assert_int_equal(hc_writer_finish(writer, &err), HC_E_IO);
        no_space = 0;
        assert_non_null(strstr(err.text, "not whole when read back"));
        assert_int_equal(hc_text_ends_with(err.text, ": No space left on device"), i >= 2);
        hc_writer_close(writer);
        assert_int_equal(folder_entries(folder), 0);
        err = (HcError){0};
    }
}

/* Space for the whole ENVI file is asked for before a line is written: a full disk is noticed at once. File
 * systems that cannot reserve are written to all the same. */
static void space_is_reserved(void **state) {
    (void)state;
    static const int numbers[] = {ENOSPC, EDQUOT, EIO, EOPNOTSUPP, ENOSYS, 0};
    HcScene scene = plain_scene(30, 20, 3);
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++) {
        HcError err = {0};
        HcWriterOptions options = {.format = "ENVI"};
        HcWriter *writer = NULL;
        reserved = 0;
        no_space = numbers[n];
        HcStatus status = hc_writer_open(&writer, in_folder("a.img"), &scene, &options, &err);
        no_space = 0;
        assert_int_equal(reserved, 30 * 20 * 3 * 4);
        hc_writer_close(writer);
        assert_int_equal(status, n < 3 ? HC_E_IO : HC_OK);
        assert_true(n >= 3 || strstr(err.text, "(7.0 KiB needed)") != NULL);
        assert_int_equal(folder_entries(folder), 0);
    }
}

static void full_disk(void **state) {
    (void)state;
    HcScene scene = plain_scene(300, 290, 3);
    HcError err = {0};
    char keep[sizeof folder];
    snprintf(keep, sizeof keep, "%s", folder);
    assert_int_equal(mkdir(in_folder("small"), 0777), 0);
    if (mount("tmpfs", in_folder("small"), "tmpfs", 0, "size=64k") != 0) {
        print_message("no tmpfs for a full disk here (%s): skipped\n", strerror(errno));
        rmdir(in_folder("small"));
        skip();
    }
    snprintf(folder, sizeof folder, "%.256s/small", keep);
    bool good = true;
    char said[WAYS][sizeof err.text];
    for (size_t i = 0; i < WAYS; i++) {
        HcWriterOptions options = way(i);
        HcStatus status = write_scene(in_folder(ways[i].name), &scene, &options, &err);
        good = good && status == HC_E_IO && strstr(err.text, "No space left on device") != NULL &&
               folder_entries(folder) == 0;
        snprintf(said[i], sizeof said[i], "%s", err.text);
        err = (HcError){0};
    }
    snprintf(folder, sizeof folder, "%s", keep);
    umount(in_folder("small"));
    rmdir(in_folder("small"));
    for (size_t i = 0; i < WAYS && !good; i++) {
        print_message("%s: %s\n", ways[i].format, said[i]);
    }
    assert_true(good);
}

#define in_own_folder(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        in_own_folder(missing_lines),
        in_own_folder(abandoned),
        in_own_folder(interrupted),
        in_own_folder(wrong_blocks),
        in_own_folder(existing_file),
        in_own_folder(file_appears_meanwhile),
        in_own_folder(sidecars_of_the_old_file_go),
        in_own_folder(header_of_another_file),
        in_own_folder(refusals),
        in_own_folder(directory_in_the_way),
        in_own_folder(file_size_limit),
        in_own_folder(file_size_limit_of_other_drivers),
        in_own_folder(envi_writes_fail),
        in_own_folder(files_that_change_before_they_are_named),
        in_own_folder(full_disk),
        in_own_folder(space_is_reserved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
