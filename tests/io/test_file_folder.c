/* What stands out in a folder: a large one is not looked at by each call, and what matters is seen all the
 * same. */
#include "write_fixture.h"
#include "io/file.h"
#include "io/file/parts.h"

#include <fcntl.h>
#include <time.h>

/* ---- a folder, and how often it is looked at ---- */

static int looks;
static bool dies; /* a process dies while a folder is looked at */

DIR *__real_opendir(const char *path);
DIR *__wrap_opendir(const char *path);
DIR *__wrap_opendir(const char *path) {
    looks++;
    if (dies) {
        hc_file_look_anew();
    }
    return __real_opendir(path);
}

static void fill_folder(int files) {
    assert_int_equal(make_folder(NULL), 0);
    for (int f = 0; f < files; f++) {
        char name[32];
        snprintf(name, sizeof name, "scene%d.img", f);
        put_file(in_folder(name), "");
    }
    looks = 0;
}

static void empty_folder(void) {
    hc_file_look_anew();
    hc_file_remove_leftovers(in_folder("out.img"));
    assert_int_equal(remove_folder(NULL), 0);
}

/* A partial of out.img of a name that no other has had; the name is borrowed until the next one. */
static const char *leave(void) {
    static char name[80];
    static int serial;
    snprintf(name, sizeof name, ".out.img.1-%d-1-00000000-00000000-00000000.partial", ++serial);
    assert_int_equal(mkdir(in_folder(name), 0777), 0);
    return name;
}

static bool stays(const char *name) {
    hc_file_remove_leftovers(in_folder("out.img"));
    return access(in_folder(name), F_OK) == 0;
}

/* ---- tests ---- */

/* What another process leaves is seen by the next call. */
static void small_folder(void **state) {
    (void)state;
    fill_folder(200);
    for (int k = 0; k < 3; k++) {
        assert_false(stays(leave()));
    }
    empty_folder();
}

/* Of 1,000 names a look is good for three more calls, unless one is told to look anew. */
static void large_folder(void **state) {
    (void)state;
    fill_folder(1000);
    assert_false(stays(leave()));
    for (int round = 0; round < 2; round++) {
        hc_file_look_anew();
        assert_false(stays(leave()));
        const char *name = leave();
        for (int call = 0; call < 3; call++) {
            assert_true(stays(name));
        }
        assert_false(stays(name));
    }
    empty_folder();
}

/* What is seen while somebody dies is not kept: that may have left something since. */
static void death_during_a_look(void **state) {
    (void)state;
    fill_folder(1000);
    dies = true;
    assert_false(stays(leave()));
    dies = false;
    assert_false(stays(leave()));
    assert_true(stays(leave()));
    empty_folder();
}

/* Calls take the same time however many files there are: 256 names each. */
static void looks_are_shared(void **state) {
    HcError err = {0};
    (void)state;
    fill_folder(2000);
    for (int k = 0; k < 200; k++) {
        char *partial = NULL;
        check_ok(hc_file_partial(in_folder("new.img"), &partial, &err), err);
        hc_file_drop(partial);
        free(partial);
    }
    assert_in_range(looks, 1, 200 * 256 / 2000 + 1);
    empty_folder();
}

/* Eight folders are known at the same time, and none is taken for another one. */
static void several_folders(void **state) {
    enum { COUNT = 12 };
    char name[COUNT][sizeof folder];
    (void)state;
    for (int f = 0; f < COUNT; f++) {
        fill_folder(300);
        memcpy(name[f], folder, sizeof folder);
        assert_false(stays(leave()));
    }
    looks = 0;
    for (int f = COUNT - 1; f >= 0; f--) {
        memcpy(folder, name[f], sizeof folder);
        assert_int_equal(stays(leave()), f >= COUNT - 8);
        assert_int_equal(looks, f >= COUNT - 8 ? 0 : COUNT - 8 - f);
    }
    for (int f = 0; f < COUNT; f++) {
        memcpy(folder, name[f], sizeof folder);
        empty_folder();
    }
}

/* The folder has last changed so long ago. */
static void age_folder(time_t seconds) {
    const struct timespec times[2] = {{.tv_sec = time(NULL) - seconds}, {.tv_sec = time(NULL) - seconds}};
    assert_int_equal(utimensat(AT_FDCWD, folder, times, 0), 0);
}

/* A pipe beside a scene is refused from the moment on at which it is there, and no longer once it has gone,
 * whatever was known of the folder. */
static void pipe_beside(void **state) {
    HcError err = {0};
    (void)state;
    for (int old = 0; old < 2; old++) {
        fill_folder(1000);
        age_folder(old ? 1000 : 0);
        for (int k = 0; k < 3; k++) {
            check_ok(hc_file_check_companions(in_folder("scene7.img"), &err), err);
            assert_int_equal(mkfifo(in_folder("SCENE7.hdr"), 0666), 0);
            for (int call = 0; call < 5; call++) {
                assert_int_equal(hc_file_check_companions(in_folder("scene7.img"), &err), HC_E_INPUT);
                assert_non_null(strstr(err.text, "SCENE7.hdr: is a pipe or a device"));
                err = (HcError){0};
                check_ok(hc_file_check_companions(in_folder("scene8.img"), &err), err);
            }
            assert_int_equal(unlink(in_folder("SCENE7.hdr")), 0);
        }
        empty_folder();
    }
}

/* A folder that does not change is looked at once, and again when it has changed. */
static void folder_at_rest(void **state) {
    HcError err = {0};
    (void)state;
    fill_folder(300);
    for (int round = 0; round < 3; round++) {
        age_folder(1000 - round);
        looks = 0;
        for (int k = 0; k < 50; k++) {
            check_ok(hc_file_check_companions(in_folder("scene7.img"), &err), err);
        }
        assert_int_equal(looks, 1);
    }
    empty_folder();
}

/* No folder, and one that may not be read: nothing is known, and nothing fails. */
static void no_folder(void **state) {
    char **names = NULL;
    size_t count = 1;
    (void)state;
    assert_true(hc_file_odd_names("/tmp/hcube/no/such/folder", "x", 1, true, &names, &count));
    assert_int_equal(count, 0);
    assert_true(hc_file_odd_names("/proc/self/exe", "x", 1, true, &names, &count));
    assert_int_equal(count, 0);
    hc_file_list_free(names, count);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_folder),        cmocka_unit_test(large_folder),
        cmocka_unit_test(death_during_a_look), cmocka_unit_test(looks_are_shared),
        cmocka_unit_test(several_folders),     cmocka_unit_test(pipe_beside),
        cmocka_unit_test(folder_at_rest),      cmocka_unit_test(no_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
