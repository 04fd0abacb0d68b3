/* Small files: whole or not there. */
#include "write_fixture.h"
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

static void write_and_read(void **state) {
    (void)state;
    HcError err = {0};
    char *data = NULL;
    size_t bytes = 0;
    const char *path = in_folder("a.json");
    check_ok(hc_file_write(path, "one\0two", 7, false, &err), err);
    check_ok(hc_file_read(path, 100, &data, &bytes, &err), err);
    assert_int_equal(bytes, 7);
    assert_memory_equal(data, "one\0two\0", 8);
    free(data);
    check_fails(hc_file_write(path, "x", 1, false, &err), HC_E_USAGE, err);
    check_ok(hc_file_write(path, "x", 1, true, &err), err);
    assert_true(file_is(path, "x"));
    check_fails(hc_file_write_unflushed(path, "y", 1, false, &err), HC_E_USAGE, err);
    check_ok(hc_file_write_unflushed(path, "y", 1, true, &err), err);
    check_ok(hc_file_write(path, "", 0, true, &err), err);
    check_ok(hc_file_read(path, 0, &data, NULL, &err), err);
    assert_string_equal(data, "");
    free(data);
    assert_int_equal(folder_entries(folder), 1);
}

static void reading_refuses(void **state) {
    (void)state;
    HcError err = {0};
    char *data = NULL;
    size_t bytes = 0;
    char large[70001];
    memset(large, 'a', sizeof large);
    large[sizeof large - 1] = '\0';
    put_file(in_folder("a"), large);
    check_ok(hc_file_read(in_folder("a"), 70000, &data, &bytes, &err), err);
    assert_int_equal(bytes, 70000);
    free(data);
    check_fails(hc_file_read(in_folder("a"), 69999, &data, &bytes, &err), HC_E_INPUT, err);
    assert_null(data);
    check_fails(hc_file_read(in_folder("none"), 10, &data, &bytes, &err), HC_E_INPUT, err);
    check_fails(hc_file_read(folder, 10, &data, &bytes, &err), HC_E_INPUT, err);
}

static void reading_parts(void **state) {
    char part[4] = "";
    (void)state;
    put_file(in_folder("a"), "abcdef");
    int file = open(in_folder("a"), O_RDONLY);
    assert_int_equal(hc_file_read_at(file, part, 3, 2), 0);
    assert_string_equal(part, "cde");
    assert_int_equal(hc_file_read_at(file, part, 3, 4), -1);
    close(file);
    assert_int_equal(hc_file_read_at(-1, part, 3, 0), EBADF);
}

static void checking(void **state) {
    (void)state;
    HcError err = {0};
    check_ok(hc_file_check(in_folder("a"), false, &err), err);
    check_ok(hc_file_check("a-name-without-folder", false, &err), err);
    put_file(in_folder("a"), "a");
    check_fails(hc_file_check(in_folder("a"), false, &err), HC_E_USAGE, err);
    check_ok(hc_file_check(in_folder("a"), true, &err), err);
    check_fails(hc_file_check(in_folder("a/b"), true, &err), HC_E_IO, err);
    check_fails(hc_file_check(in_folder("none/b"), true, &err), HC_E_IO, err);
    check_fails(hc_file_check(folder, true, &err), HC_E_IO, err);
    check_fails(hc_file_check(in_folder(""), true, &err), HC_E_USAGE, err);
    check_fails(hc_file_check("/vsimem/a", true, &err), HC_E_UNSUPPORTED, err);
    assert_int_equal(symlink("nowhere", in_folder("dangling")), 0);
    check_fails(hc_file_check(in_folder("dangling"), false, &err), HC_E_USAGE, err);
    assert_int_equal(folder_entries(folder), 2);
}

static void partial_with_sidecars(void **state) {
    (void)state;
    HcError err = {0};
    char *partial = NULL;
    char beside[600];
    check_ok(hc_file_partial(in_folder("out.tif"), &partial, &err), err);
    assert_non_null(strstr(partial, ".partial/out.tif"));
    put_file(partial, "data");
    snprintf(beside, sizeof beside, "%s.aux.xml", partial);
    put_file(beside, "more");
    assert_int_equal(folder_entries(folder), 1);
    put_file(in_folder("out.tif.aux.xml"), "precious");
    check_fails(hc_file_keep(partial, in_folder("out.tif"), false, &err), HC_E_USAGE, err);
    assert_true(file_is(in_folder("out.tif.aux.xml"), "precious"));
    assert_false(file_exists(in_folder("out.tif")));
    check_ok(hc_file_keep(partial, in_folder("out.tif"), true, &err), err);
    free(partial);
    assert_true(file_is(in_folder("out.tif"), "data"));
    assert_true(file_is(in_folder("out.tif.aux.xml"), "more"));
    assert_int_equal(folder_entries(folder), 2);
}

static void dropping(void **state) {
    (void)state;
    HcError err = {0};
    char *partials[3] = {NULL};
    for (int i = 0; i < 3; i++) {
        check_ok(hc_file_partial(in_folder("out"), &partials[i], &err), err);
        put_file(partials[i], "data");
    }
    assert_int_equal(folder_entries(folder), 3);
    hc_file_drop(partials[1]);
    assert_int_equal(folder_entries(folder), 2);
    hc_file_remove_partials();
    assert_int_equal(folder_entries(folder), 0);
    hc_file_remove_partials();
    for (int i = 0; i < 3; i++) {
        hc_file_drop(partials[i]);
        free(partials[i]);
    }
    hc_file_drop(NULL);
}

/* A name as long as a name may be leaves no place for an addition. */
static void long_name(void **state) {
    (void)state;
    HcError err = {0};
    char name[256];
    memset(name, 'n', 255);
    name[255] = '\0';
    check_ok(hc_file_write(in_folder(name), "x", 1, false, &err), err);
    assert_true(file_is(in_folder(name), "x"));
    unlink(in_folder(name));
}

static void size_limit(void **state) {
    (void)state;
    HcError err = {0};
    struct rlimit limit, small;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small = limit;
    small.rlim_cur = 2;
    put_file(in_folder("a"), "precious");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    HcStatus status = hc_file_write(in_folder("a"), "four", 4, true, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(status, HC_E_IO);
    assert_true(file_is(in_folder("a"), "precious"));
    assert_int_equal(folder_entries(folder), 1);
}

#define THREADS 8

static void *race(void *won) {
    char path[512];
    snprintf(path, sizeof path, "%s/a", folder);
    *(HcStatus *)won = hc_file_write(path, "x", 1, false, NULL);
    return NULL;
}

/* Of many who want the same new name, one gets it. */
static void only_one_wins(void **state) {
    (void)state;
    for (int round = 0; round < 20; round++) {
        pthread_t threads[THREADS];
        HcStatus status[THREADS];
        int won = 0;
        for (int i = 0; i < THREADS; i++) {
            assert_int_equal(pthread_create(&threads[i], NULL, race, &status[i]), 0);
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
            won += status[i] == HC_OK;
            assert_true(status[i] == HC_OK || status[i] == HC_E_USAGE);
        }
        assert_int_equal(won, 1);
        assert_int_equal(folder_entries(folder), 1);
        unlink(in_folder("a"));
    }
}

static void identity(void **state) {
    (void)state;
    int64_t size = 0, modified = 0;
    put_file(in_folder("a"), "12345");
    assert_true(hc_file_identity(in_folder("a"), &size, &modified));
    assert_int_equal(size, 5);
    assert_true(modified > 1500000000);
    assert_false(hc_file_identity(in_folder("b"), &size, &modified));
}

#define in_own_folder(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        in_own_folder(write_and_read),
        in_own_folder(reading_refuses),
        in_own_folder(reading_parts),
        in_own_folder(checking),
        in_own_folder(partial_with_sidecars),
        in_own_folder(dropping),
        in_own_folder(long_name),
        in_own_folder(size_limit),
        in_own_folder(only_one_wins),
        in_own_folder(identity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
