/* Files that get their names together: all or none, and what was there before is back where one fails. */
#include "write_fixture.h"
#include "io/file.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

/* ---- calls that fail, and a list of what was flushed ---- */

static int renames_left = -1, links_left = -1, syncs_left = -1; /* before one fails; -1 = none fails */
static char synced[2000];

static bool fails(int *left) {
    return *left >= 0 && (*left)-- == 0;
}

/* NEXT(name, parameters): `next` is the function of the C library. */
#define NEXT(name, parameters)                                                                               \
    static int(*next) parameters;                                                                            \
    if (next == NULL) {                                                                                      \
        *(void **)&next = dlsym(RTLD_NEXT, #name);                                                           \
    }

int renameat2(int a, const char *from, int b, const char *to, unsigned int flags) {
    NEXT(renameat2, (int, const char *, int, const char *, unsigned int))
    errno = EIO;
    return fails(&renames_left) ? -1 : next(a, from, b, to, flags);
}

int rename(const char *from, const char *to) {
    NEXT(rename, (const char *, const char *))
    errno = EIO;
    return fails(&renames_left) ? -1 : next(from, to);
}

int link(const char *from, const char *to) {
    NEXT(link, (const char *, const char *))
    errno = EPERM; /* a file system without links */
    return links_left >= 0 ? -1 : next(from, to);
}

int fsync(int file) {
    NEXT(fsync, (int))
    char place[64], path[600] = "";
    snprintf(place, sizeof place, "/proc/self/fd/%d", file);
    if (readlink(place, path, sizeof path - 1) > 0) {
        const char *slash = strrchr(path, '/');
        size_t used = strlen(synced);
        snprintf(synced + used, sizeof synced - used, "%s ", strcmp(path, folder) == 0 ? "/" : slash + 1);
    }
    errno = EIO;
    return fails(&syncs_left) ? -1 : next(file);
}

static int reset(void **state) {
    renames_left = links_left = syncs_left = -1;
    synced[0] = '\0';
    return make_folder(state);
}

/* ---- what the tests write ---- */

/* A partial of a file with a header beside it, as the writer makes it. */
static HcStatus keep_pair(const char *name, const char *header, const char *text, bool overwrite,
                          HcError *err) {
    char *partial = NULL;
    char beside[700];
    HcStatus status = hc_file_partial(in_folder(name), &partial, err);
    if (status == HC_OK) {
        put_file(partial, text);
        snprintf(beside, sizeof beside, "%.*s/%s", (int)(strrchr(partial, '/') - partial), partial, header);
        put_file(beside, text);
        status = hc_file_keep(partial, in_folder(name), overwrite, err);
        if (status != HC_OK) {
            hc_file_drop(partial);
        }
    }
    free(partial);
    return status;
}

/* An old scene with header and sidecar, an old picture, and a record of both. */
static void put_old(void) {
    put_file(in_folder("s.img"), "old");
    put_file(in_folder("s.hdr"), "old");
    put_file(in_folder("s.img.aux.xml"), "old");
    put_file(in_folder("p.png"), "old");
    put_file(in_folder("s.img.hcube.json"), "old");
}

static void check_old(void) {
    assert_true(file_is(in_folder("s.img"), "old"));
    assert_true(file_is(in_folder("s.hdr"), "old"));
    assert_true(file_is(in_folder("s.img.aux.xml"), "old"));
    assert_true(file_is(in_folder("p.png"), "old"));
    assert_true(file_is(in_folder("s.img.hcube.json"), "old"));
    assert_int_equal(folder_entries(folder), 5);
}

static HcStatus fill_set(bool overwrite, HcError *err) {
    HcStatus status = hc_file_retire(in_folder("s.img.hcube.json"), err);
    status = status == HC_OK ? keep_pair("s.img", "s.hdr", "new", overwrite, err) : status;
    status = status == HC_OK ? hc_file_write(in_folder("p.png"), "new", 3, overwrite, err) : status;
    status = status == HC_OK ? hc_file_write(in_folder("q.png"), "new", 3, overwrite, err) : status;
    return status == HC_OK ? hc_file_write(in_folder("s.img.hcube.json"), "new", 3, true, err) : status;
}

/* ---- the tests ---- */

static void names_come_together(void **state) {
    (void)state;
    static const char *const names[] = {"s.img", "s.hdr", "p.png", "q.png", "s.img.hcube.json"};
    HcError err = {0};
    char *place = NULL;
    check_ok(hc_file_begin(NULL, 0, &err), err);
    check_ok(fill_set(false, &err), err);
    for (int n = 0; n < 5; n++) {
        assert_false(file_exists(in_folder(names[n])));
        check_ok(hc_file_find(in_folder(names[n]), &place, &err), err);
        assert_true(file_is(place, "new"));
        free(place);
    }
    check_ok(hc_file_commit(&err), err);
    hc_file_rollback();
    for (int n = 0; n < 5; n++) {
        assert_true(file_is(in_folder(names[n]), "new"));
        check_ok(hc_file_find(in_folder(names[n]), &place, &err), err);
        assert_string_equal(place, in_folder(names[n]));
        free(place);
    }
    assert_int_equal(folder_entries(folder), 5);
}

static void without_a_commit_nothing_stays(void **state) {
    (void)state;
    HcError err = {0};
    put_old();
    check_ok(hc_file_begin(NULL, 0, &err), err);
    check_ok(fill_set(true, &err), err);
    hc_file_rollback();
    check_old();
    hc_file_rollback();
    check_fails(hc_file_commit(&err), HC_E_USAGE, err);
    check_ok(hc_file_begin(NULL, 0, &err), err);
    check_fails(hc_file_begin(NULL, 0, &err), HC_E_USAGE, err);
    hc_file_rollback();
}

/* Every rename in its turn, with links and without: all is as it was, or all is new. */
static void failing_renames(void **state) {
    (void)state;
    for (int links = 0; links < 2; links++) {
        HcStatus status = HC_E_IO;
        int turn = 0;
        for (; status != HC_OK; turn++) {
            HcError err = {0};
            put_old();
            check_ok(hc_file_begin(NULL, 0, &err), err);
            check_ok(fill_set(true, &err), err);
            links_left = links - 1;
            renames_left = turn;
            status = hc_file_commit(&err);
            renames_left = links_left = -1;
            hc_file_rollback();
            if (status != HC_OK) {
                assert_int_equal(status, HC_E_IO);
                check_old();
            }
        }
        assert_true(turn > 3);
        assert_true(file_is(in_folder("s.img.hcube.json"), "new"));
        assert_false(file_exists(in_folder("s.img.aux.xml")));
        assert_int_equal(folder_entries(folder), 5);
        unlink(in_folder("q.png"));
    }
}

/* A header that has its name already goes when the data cannot get theirs. */
static void header_is_taken_back(void **state) {
    (void)state;
    for (int links = 0; links < 2; links++) {
        HcError err = {0};
        links_left = links - 1;
        renames_left = links == 0 ? 0 : 1; /* without links, the header is renamed before */
        check_fails(keep_pair("s.img", "s.hdr", "new", true, &err), HC_E_IO, err);
        assert_int_equal(folder_entries(folder), 0);
    }
}

/* A folder appears where a file of the set is to lie. */
static void something_in_the_way(void **state) {
    (void)state;
    HcError err = {0};
    put_old();
    check_ok(hc_file_begin(NULL, 0, &err), err);
    check_ok(fill_set(true, &err), err);
    assert_int_equal(mkdir(in_folder("q.png"), 0777), 0);
    put_file(in_folder("q.png/precious"), "precious");
    check_fails(hc_file_commit(&err), HC_E_IO, err);
    hc_file_rollback();
    assert_true(file_is(in_folder("q.png/precious"), "precious"));
    unlink(in_folder("q.png/precious"));
    rmdir(in_folder("q.png"));
    check_old();
}

/* Inputs stay, under whichever name they are about to be replaced. */
static void inputs_stay(void **state) {
    (void)state;
    HcError err = {0};
    put_old();
    assert_int_equal(link(in_folder("s.img.aux.xml"), in_folder("mask")), 0);
    const char *inputs[] = {in_folder("mask"), in_folder("none")};
    check_ok(hc_file_begin(inputs, 2, &err), err);
    check_ok(fill_set(true, &err), err);
    check_fails(hc_file_commit(&err), HC_E_USAGE, err);
    hc_file_rollback();
    unlink(in_folder("mask"));
    check_old();
    const char *record[] = {in_folder("s.img.hcube.json")};
    check_ok(hc_file_begin(record, 1, &err), err);
    check_ok(fill_set(true, &err), err);
    check_fails(hc_file_commit(&err), HC_E_USAGE, err);
    hc_file_rollback();
    check_old();
}

/* A symbolic link is replaced, and not what it leads to. */
static void links(void **state) {
    (void)state;
    HcError err = {0};
    put_file(in_folder("behind"), "precious");
    assert_int_equal(symlink("behind", in_folder("out")), 0);
    check_ok(hc_file_write(in_folder("out"), "new", 3, true, &err), err);
    assert_true(file_is(in_folder("behind"), "precious"));
    assert_true(file_is(in_folder("out"), "new"));
    assert_int_equal(symlink("/dev/null", in_folder("device")), 0);
    check_fails(hc_file_check(in_folder("device"), true, &err), HC_E_IO, err);
    check_fails(hc_file_write(in_folder("device"), "new", 3, true, &err), HC_E_IO, err);
    assert_int_equal(symlink(".", in_folder("folder")), 0);
    check_fails(hc_file_check(in_folder("folder"), true, &err), HC_E_IO, err);
}

/* ---- the disk ---- */

static void flushing(void **state) {
    (void)state;
    HcError err = {0};
    check_ok(hc_file_write(in_folder("a"), "x", 1, false, &err), err);
    assert_string_equal(synced, "a / "); /* the content before the name */
    synced[0] = '\0';
    check_ok(hc_file_write_unflushed(in_folder("b"), "x", 1, false, &err), err);
    assert_string_equal(synced, "");
    hc_file_flush_all(true);
    check_ok(keep_pair("s.img", "s.hdr", "new", false, &err), err);
    assert_string_equal(synced, "s.img s.hdr / ");
    synced[0] = '\0';
    check_ok(hc_file_begin(NULL, 0, &err), err);
    check_ok(hc_file_retire(in_folder("a"), &err), err);
    check_ok(hc_file_write_unflushed(in_folder("c"), "x", 1, false, &err), err);
    check_ok(hc_file_write_unflushed(in_folder("d"), "x", 1, false, &err), err);
    assert_string_equal(synced, "");
    check_ok(hc_file_commit(&err), err);
    assert_string_equal(synced, "c d / / / ");
    hc_file_flush_all(false);
}

static void failing_flushes(void **state) {
    (void)state;
    for (int turn = 0; turn < 2; turn++) {
        HcError err = {0};
        put_old();
        hc_file_flush_all(true);
        syncs_left = turn; /* of the data, of the header */
        check_fails(keep_pair("s.img", "s.hdr", "new", true, &err), HC_E_IO, err);
        hc_file_flush_all(false);
        check_old();
    }
    HcError err = {0};
    syncs_left = 0;
    check_fails(hc_file_write(in_folder("a"), "x", 1, false, &err), HC_E_IO, err);
    check_old();
}

/* ---- dead processes ---- */

/* The partial of a process that is killed while it makes a scene. */
static char *left_partial(void) {
    static char path[700];
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t process = fork();
    if (process == 0) {
        char *partial = NULL;
        if (hc_file_partial(in_folder("s.img"), &partial, NULL) == HC_OK) {
            put_file(partial, "half");
            (void)!write(ends[1], partial, strlen(partial));
        }
        raise(SIGKILL);
    }
    close(ends[1]);
    ssize_t bytes = read(ends[0], path, sizeof path - 1);
    close(ends[0]);
    assert_true(bytes > 0);
    path[bytes] = '\0';
    assert_int_equal(waitpid(process, NULL, 0), process);
    *strrchr(path, '/') = '\0';
    return path;
}

/* Replaces the field of a partial's name (from 0, between hyphens) by `by`. */
static void change_field(const char *partial, int field, const char *by) {
    char other[700];
    const char *at = strstr(partial, ".s.img.") + strlen(".s.img.");
    for (int f = 0; f < field; f++) {
        at = strchr(at, '-') + 1;
    }
    const char *behind = at + strcspn(at, "-.");
    snprintf(other, sizeof other, "%.*s%s%s", (int)(at - partial), partial, by, behind);
    assert_int_equal(rename(partial, other), 0);
}

static void dead_processes(void **state) {
    (void)state;
    HcError err = {0};
    /* A partial of this process, which lives. */
    char *own = NULL;
    check_ok(hc_file_partial(in_folder("s.img"), &own, &err), err);
    left_partial();
    assert_int_equal(folder_entries(folder), 2);
    hc_file_remove_dead(in_folder("img"));
    hc_file_remove_dead(in_folder("s"));
    assert_int_equal(folder_entries(folder), 2);
    hc_file_remove_dead(in_folder("s.img"));
    assert_int_equal(folder_entries(folder), 1);
    /* The number of a dead process was given to another one, here to this. */
    char number[32];
    snprintf(number, sizeof number, "%ld", (long)getpid());
    change_field(left_partial(), 0, number);
    hc_file_remove_dead(in_folder("s.img"));
    assert_int_equal(folder_entries(folder), 1);
    /* Another host, another start of this host that has just been, other process numbers. */
    for (int field = 3; field < 6; field++) {
        change_field(left_partial(), field, "00000001");
    }
    hc_file_remove_dead(in_folder("s.img"));
    assert_int_equal(folder_entries(folder), 4);
    /* The next file of that name finds what is dead. */
    left_partial();
    check_ok(hc_file_write(in_folder("s.img"), "x", 1, false, &err), err);
    assert_int_equal(folder_entries(folder), 5);
    hc_file_remove_leftovers(in_folder("s.img"));
    assert_int_equal(folder_entries(folder), 1);
    hc_file_drop(own);
    free(own);
}

/* The header that a dead process has placed goes with its partial; one that is somebody's own does not. */
static void headers_of_the_dead(void **state) {
    (void)state;
    for (int placed = 0; placed < 2; placed++) {
        char header[800];
        snprintf(header, sizeof header, "%s/s.hdr", left_partial());
        put_file(header, "half");
        if (placed == 1) {
            assert_int_equal(link(header, in_folder("s.hdr")), 0);
        } else {
            put_file(in_folder("s.hdr"), "precious");
        }
        hc_file_remove_dead(in_folder("s.img"));
        assert_int_equal(file_exists(in_folder("s.hdr")), placed == 0);
        unlink(in_folder("s.hdr"));
        assert_int_equal(folder_entries(folder), 0);
    }
}

#define in_own_folder(test) cmocka_unit_test_setup_teardown(test, reset, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        in_own_folder(names_come_together),
        in_own_folder(without_a_commit_nothing_stays),
        in_own_folder(failing_renames),
        in_own_folder(header_is_taken_back),
        in_own_folder(something_in_the_way),
        in_own_folder(inputs_stay),
        in_own_folder(links),
        in_own_folder(flushing),
        in_own_folder(failing_flushes),
        in_own_folder(dead_processes),
        in_own_folder(headers_of_the_dead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
