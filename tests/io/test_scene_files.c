/* Which files of a folder are scenes, which files a scene is made of, and how a file is known again. */
#include "write_fixture.h"
#include "io/file.h"
#include "io/gdal/files.h"
#include "io/identity.h"
#include "io/library/library.h"
#include "io/load.h"
#include "io/read/parts.h"
#include "io/scene_files.h"

#include <dlfcn.h>
#include <fcntl.h>

/* ---- faults ---- */

static const char *unseen; /* the name of a file that cannot be looked at */

#define LOOKS(name, type)                                                                                    \
    int name(const char *restrict path, struct type *restrict out);                                          \
    int name(const char *restrict path, struct type *restrict out) {                                         \
        static int (*next)(const char *restrict, struct type *restrict);                                     \
        size_t length = strlen(path), end = unseen != NULL ? strlen(unseen) : 0;                             \
        if (next == NULL) {                                                                                  \
            *(void **)&next = dlsym(RTLD_NEXT, #name);                                                       \
        }                                                                                                    \
        if (end > 0 && length > end && path[length - end - 1] == '/' &&                                      \
            strcmp(path + length - end, unseen) == 0) {                                                      \
            errno = EIO;                                                                                     \
            return -1;                                                                                       \
        }                                                                                                    \
        return next(path, out);                                                                              \
    }

LOOKS(stat, stat)
LOOKS(lstat, stat)
LOOKS(stat64, stat64)
LOOKS(lstat64, stat64)

static void check_unseen(HcStatus status, HcError *err) {
    assert_int_equal(status, HC_E_IO);
    assert_non_null(strstr(err->text, unseen));
    assert_non_null(strstr(err->text, strerror(EIO)));
    *err = (HcError){0};
}

static void put_header(const char *name, const char *kind) {
    char text[300];
    snprintf(text, sizeof text,
             "ENVI\nsamples = 2\nlines = 2\nbands = 2\nheader offset = 0\nfile type = %s\ndata type = 1\n"
             "interleave = bsq\nbyte order = 0\n",
             kind);
    put_file(in_folder(name), text);
}

static bool is_scene(const char *path) {
    HcError err = {0};
    bool is = false;
    check_ok(hc_scene_recognise(path, &is, &err), err);
    return is;
}

static void put_tif(const char *name, int bands) {
    GDALDatasetH dataset =
        GDALCreate(GDALGetDriverByName("GTiff"), in_folder(name), 2, 2, bands, GDT_Byte, NULL);
    assert_non_null(dataset);
    GDALClose(dataset);
}

static void check_paths(const HcPaths *paths, const char *const *names) {
    int32_t count = 0;
    for (; names[count] != NULL; count++) {
        assert_true(count < paths->count);
        assert_string_equal(paths->path[count], in_folder(names[count]));
    }
    assert_int_equal(paths->count, count);
}

static void scenes_of_a_folder(void **state) {
    (void)state;
    HcError err = {0};
    HcPaths found = {0};
    HcPassedOver passed = {0};
    put_header("b.hdr", "ENVI Standard");
    put_file(in_folder("b.img"), "abcd");
    put_header("a.dat.hdr", "ENVI Standard");
    put_file(in_folder("a.dat"), "abcd");
    put_header("lost.hdr", "ENVI Standard"); /* its data are missing: to be told, not passed over */
    put_header("library.hdr", "ENVI Spectral Library");
    put_file(in_folder("library.sli"), "abcd");
    put_tif("c.tif", 2);
    put_file(in_folder("c.tif.aux.xml"), "<PAMDataset></PAMDataset>");
    put_tif(".hidden.tif", 2);
    put_tif("classes.tif", 1); /* one band of bytes: a map */
    put_file(in_folder("mask.hdr"), "ENVI\nsamples = 2\nlines = 2\nbands = 1\ndata type = 1\n");
    put_file(in_folder("mask.img"), "abcd");
    put_file(in_folder("copy.vrt"), "<VRTDataset rasterXSize=\"2\" rasterYSize=\"2\"></VRTDataset>");
    put_file(in_folder("dressed.tif"), "<VRTDataset rasterXSize=\"2\" rasterYSize=\"2\"></VRTDataset>");
    assert_int_equal(mkfifo(in_folder("pipe.hdr"), 0666), 0);
    assert_int_equal(mkfifo(in_folder("pipe.tif"), 0666), 0);
    put_file(in_folder("notes.txt"), "1 2 3\n4 5 6\n");
    put_file(in_folder("b_mnf.tif.hcube.json"), "{}");
    put_file(in_folder("quick.png"), "\x89PNG\r\n\x1a\n");
    assert_int_equal(mkdir(in_folder("deeper"), 0777), 0);
    check_ok(hc_scenes_in_folder(folder, &found, &passed, &err), err);
    check_paths(&found, (const char *const[]){"a.dat.hdr", "b.hdr", "c.tif", "lost.hdr", NULL});
    hc_paths_clear(&found);
    assert_int_equal(passed.recipes, 2);
    assert_int_equal(passed.maps, 2);
    check_fails(hc_file_check_regular(in_folder("pipe.tif"), &err), HC_E_INPUT, err);
    assert_false(is_scene(in_folder("pipe.tif")));
    assert_int_equal(rmdir(in_folder("deeper")), 0);
    assert_true(hc_is_folder(folder));
    assert_false(hc_is_folder(in_folder("b.hdr")));
    check_fails(hc_scenes_in_folder(in_folder("none"), &found, &passed, &err), HC_E_INPUT, err);
    hc_paths_clear(&found);

    assert_true(is_scene(in_folder("b.hdr")));
    assert_true(is_scene(in_folder("c.tif")));
    assert_false(is_scene(in_folder("notes.txt")));

    HcPaths matched = {0};
    check_ok(hc_paths_add(&matched, in_folder("b.hdr"), &err), err);
    check_ok(hc_paths_add(&matched, in_folder("b.img"), &err), err);
    check_ok(hc_paths_add(&matched, in_folder("a.dat"), &err), err);
    check_ok(hc_paths_add(&matched, in_folder("copy.vrt"), &err), err);
    check_ok(hc_scenes_among(&matched, "in/*", &found, &passed, &err), err);
    check_paths(&found, (const char *const[]){"b.hdr", "a.dat", NULL});
    hc_paths_clear(&found);
    assert_int_equal(passed.recipes, 3);
    check_ok(hc_scenes_among(&matched, "in/*.vrt", &found, &passed, &err), err);
    check_paths(&found, (const char *const[]){"b.hdr", "a.dat", "copy.vrt", NULL});
    assert_int_equal(passed.recipes, 3);
    hc_paths_clear(&found);
    /* What goes with others is found by * and not meant, unless its ending is named. */
    const char *const beside[] = {"c.tif.aux.xml", "b_mnf.tif.hcube.json", "quick.png", "library.hdr",
                                  "notes.txt"};
    for (size_t n = 0; n < sizeof beside / sizeof *beside; n++) {
        check_ok(hc_paths_add(&matched, in_folder(beside[n]), &err), err);
    }
    check_ok(hc_scenes_among(&matched, "in/*", &found, &passed, &err), err);
    check_paths(&found, (const char *const[]){"b.hdr", "a.dat", NULL});
    hc_paths_clear(&found);
    check_ok(hc_scenes_among(&matched, "in/*.json", &found, &passed, &err), err);
    check_paths(&found, (const char *const[]){"b.hdr", "a.dat", "b_mnf.tif.hcube.json", NULL});
    hc_paths_clear(&found);
    /* Maps, too: here in no order, one by its header. Alone they are meant. */
    HcPaths maps = {0};
    check_ok(hc_paths_add(&maps, in_folder("mask.hdr"), &err), err);
    check_ok(hc_paths_add(&maps, in_folder("classes.tif"), &err), err);
    check_ok(hc_scenes_among(&maps, "in/*", &found, &passed, &err), err);
    check_paths(&found, (const char *const[]){"mask.hdr", "classes.tif", NULL});
    assert_int_equal(passed.maps, 2);
    hc_paths_clear(&found);
    check_ok(hc_paths_add(&maps, in_folder("b.hdr"), &err), err);
    check_ok(hc_scenes_among(&maps, "in/*", &found, &passed, &err), err);
    check_paths(&found, (const char *const[]){"b.hdr", NULL});
    assert_int_equal(passed.maps, 4);
    hc_paths_clear(&found);
    hc_paths_clear(&maps);
    /* A pattern for rasters takes no recipe that is called like one. */
    passed.recipes = 3;
    check_ok(hc_paths_add(&matched, in_folder("dressed.tif"), &err), err);
    check_ok(hc_scenes_among(&matched, "in/*.tif", &found, &passed, &err), err);
    check_paths(&found, (const char *const[]){"b.hdr", "a.dat", NULL});
    assert_int_equal(passed.recipes, 5);
    hc_paths_clear(&matched);
    hc_paths_clear(&found);
}

static void files_of_a_scene(void **state) {
    (void)state;
    HcError err = {0};
    HcPaths files = {0};
    check_ok(hc_scene_files(in_folder("b.hdr"), &files, &err), err);
    check_paths(&files, (const char *const[]){"b.hdr", "b.img", NULL});
    check_ok(hc_scene_files(in_folder("b.img"), &files, &err), err); /* nothing new */
    assert_int_equal(files.count, 2);
    hc_paths_clear(&files);
    check_ok(hc_scene_files(in_folder("a.dat"), &files, &err), err);
    check_paths(&files, (const char *const[]){"a.dat", "a.dat.hdr", NULL});
    hc_paths_clear(&files);
    check_ok(hc_scene_files(in_folder("c.tif"), &files, &err), err);
    check_paths(&files, (const char *const[]){"c.tif", "c.tif.aux.xml", NULL});
    hc_paths_clear(&files);
    check_ok(hc_scene_files(in_folder("none.tif"), &files, &err), err);
    assert_int_equal(files.count, 0);
    /* Of a library by its header, whatever else has its stem. */
    put_file(in_folder("library.csv"), "nm,a\n400,1\n");
    put_file(in_folder("library.img"), "abcd");
    check_ok(hc_scene_files(in_folder("library.hdr"), &files, &err), err);
    check_paths(&files, (const char *const[]){"library.hdr", "library.sli", NULL});
    hc_paths_clear(&files);
    check_ok(hc_scene_files(in_folder("library.sli"), &files, &err), err);
    check_paths(&files, (const char *const[]){"library.sli", "library.hdr", NULL});
    hc_paths_clear(&files);
    put_header("gone.hdr", "ENVI Spectral Library"); /* without its data */
    check_ok(hc_scene_files(in_folder("gone.hdr"), &files, &err), err);
    check_paths(&files, (const char *const[]){"gone.hdr", NULL});
    hc_paths_clear(&files);
}

static void identities(void **state) {
    (void)state;
    HcError err = {0};
    HcIdentity one = {0};
    HcIdentity other = {0};
    const char *path = in_folder("abc");
    put_file(path, "abc");
    check_ok(hc_identity_of(path, true, &one, &err), err);
    assert_true(one.exists && one.hashed);
    assert_int_equal(one.bytes, 3);
    assert_true(one.hash == 0x44BC2CF5AD770999u);
    struct timespec times[2] = {{.tv_sec = 1000, .tv_nsec = 5}, {.tv_sec = 1000, .tv_nsec = 5}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    check_ok(hc_identity_of(path, false, &other, &err), err);
    assert_true(other.exists && !other.hashed);
    assert_int_equal(other.seconds, 1000);
    assert_int_equal(other.nanoseconds, 5);
    check_ok(hc_identity_of(in_folder("none"), true, &other, &err), err);
    assert_true(!other.exists && !other.hashed && other.bytes == 0);
    check_ok(hc_identity_of(folder, true, &other, &err), err);
    assert_false(other.exists);
}

/* Only what other processes left of this very file goes. */
static void leftovers(void **state) {
    (void)state;
    static const char *const stay[] = {".out.tif.partial", ".out.tif.old.12-1.partial",
                                       ".other.tif.12-1.partial", ".out.tif.12-1.partly"};
    static const char *const go[] = {".out.tif.12-1.partial", ".out.tif.99999-345.partial"};
    for (size_t s = 0; s < 4; s++) {
        assert_int_equal(mkdir(in_folder(stay[s]), 0777), 0);
    }
    for (size_t g = 0; g < 2; g++) {
        assert_int_equal(mkdir(in_folder(go[g]), 0777), 0);
    }
    put_file(in_folder(".out.tif.12-1.partial/out.tif"), "half");
    hc_file_remove_leftovers(in_folder("out.tif"));
    for (size_t g = 0; g < 2; g++) {
        assert_int_not_equal(access(in_folder(go[g]), F_OK), 0);
    }
    for (size_t s = 0; s < 4; s++) {
        assert_int_equal(rmdir(in_folder(stay[s])), 0);
    }
    hc_file_remove_leftovers(in_folder("no/such/folder.tif"));
}

/* A process died when it was about to give a header and its data their names: whether the data are there
 * decides.
 */
static void ownerless_headers(void **state) {
    (void)state;
    for (int has_data = 0; has_data < 2; has_data++) {
        assert_int_equal(mkdir(in_folder(".pair.img.12-1.partial"), 0777), 0);
        put_file(in_folder(".pair.img.12-1.partial/pair.hdr"), "new");
        put_file(in_folder(".pair.img.12-1.partial/pair.img"), "data");
        put_file(in_folder("pair.hdr"), "old or new");
        if (has_data) {
            put_file(in_folder("pair.img"), "old");
        }
        hc_file_remove_leftovers(in_folder("pair.img"));
        assert_int_not_equal(access(in_folder(".pair.img.12-1.partial"), F_OK), 0);
        assert_int_equal(access(in_folder("pair.hdr"), F_OK) == 0, has_data);
    }
    /* All had their names but for the end of the work. */
    assert_int_equal(mkdir(in_folder(".pair.img.12-1.partial"), 0777), 0);
    put_file(in_folder(".pair.img.12-1.partial/pair.hdr"), "new");
    assert_int_equal(unlink(in_folder("pair.img")), 0);
    hc_file_remove_leftovers(in_folder("pair.img"));
    assert_int_equal(unlink(in_folder("pair.hdr")), 0);
}

static void flushed(void **state) {
    (void)state;
    HcError err = {0};
    hc_file_flush_all(true);
    check_ok(hc_file_write_unflushed(in_folder("flushed"), "all", 3, false, &err), err);
    hc_file_flush_all(false);
    assert_true(file_is(in_folder("flushed"), "all"));
}

/* Before anything else opens a file: the handler of files, which later versions of GDAL do not have, is not
 * there yet. */
static void looks_without_the_handler(void **state) {
    (void)state;
    VSIStatBufL info;
    HcError err = {0};
    put_file(in_folder("b.img"), "abcd");
    int64_t mark = hc_gdal_files_mark();
    assert_true(hc_read_is_file(in_folder("b.img"), NULL, NULL));
    assert_false(hc_read_is_file(in_folder("missing"), NULL, NULL));
    check_ok(hc_gdal_files_check(mark, &err), err);
    unseen = "b.img";
    assert_false(hc_read_is_file(in_folder("b.img"), NULL, NULL));
    check_unseen(hc_gdal_files_check(mark, &err), &err);
    mark = hc_gdal_files_mark();
    assert_false(hc_is_folder(in_folder("b.img")));
    check_unseen(hc_gdal_files_check(mark, &err), &err);
    mark = hc_gdal_files_mark();
    assert_false(hc_gdal_stat(in_folder("b.img"), &info, VSI_STAT_EXISTS_FLAG));
    check_unseen(hc_gdal_files_check(mark, &err), &err);
    unseen = NULL;
    assert_int_equal(unlink(in_folder("b.img")), 0);
}

/* A file that cannot be looked at is not a missing one. */
static void files_that_cannot_be_looked_at(void **state) {
    (void)state;
    static const char *const made[] = {"u.hdr", "u.img", "u.img.aux.xml", "v.hdr", "v.sli"};
    struct stat info;
    HcIdentity identity;
    HcPaths found = {0};
    HcLibrary library = {0};
    HcError err = {0};
    bool is = false;
    put_header("u.hdr", "ENVI Standard");
    put_file(in_folder("u.img"), "abcdefgh");
    put_file(in_folder("u.img.aux.xml"), "<PAMDataset></PAMDataset>");
    put_header("v.hdr", "ENVI Spectral Library");
    put_file(in_folder("v.sli"), "abcdefgh");
    for (int m = 0; m < 3; m++) {
        unseen = made[m];
        check_unseen(hc_scene_files(in_folder("u.img"), &found, &err), &err);
        hc_paths_clear(&found);
    }
    unseen = "u.hdr";
    check_unseen(hc_scene_recognise(in_folder("u.hdr"), &is, &err), &err);
    unseen = "u.img";
    check_unseen(hc_scene_recognise(in_folder("u.img"), &is, &err), &err);
    check_unseen(hc_load_check(in_folder("u.img"), &err), &err);
    check_unseen(hc_identity_of(in_folder("u.img"), false, &identity, &err), &err);
    check_unseen(hc_file_is_there(in_folder("u.img"), &is, &err), &err);
    check_unseen(hc_file_look(in_folder("u.img"), &info, &is, &err), &err);
    check_unseen(hc_file_look_at_link(in_folder("u.img"), &info, &is, &err), &err);
    assert_true(hc_file_may_be_there(in_folder("u.img")));
    assert_false(hc_file_may_be_there(in_folder("missing")));
    unseen = "v.sli";
    check_unseen(hc_library_read(&library, in_folder("v.hdr"), &err), &err);
    unseen = "v.hdr";
    check_unseen(hc_library_read(&library, in_folder("v.sli"), &err), &err);
    unseen = NULL;
    check_ok(hc_scene_files(in_folder("u.img"), &found, &err), err);
    assert_int_equal(found.count, 3);
    assert_true(is_scene(in_folder("u.hdr")));
    hc_paths_clear(&found);
    for (size_t m = 0; m < sizeof made / sizeof *made; m++) {
        assert_int_equal(unlink(in_folder(made[m])), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(looks_without_the_handler),
        cmocka_unit_test(files_that_cannot_be_looked_at),
        cmocka_unit_test(scenes_of_a_folder),
        cmocka_unit_test(files_of_a_scene),
        cmocka_unit_test(identities),
        cmocka_unit_test(leftovers),
        cmocka_unit_test(ownerless_headers),
        cmocka_unit_test(flushed),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
