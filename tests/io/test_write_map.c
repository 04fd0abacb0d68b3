/* A large ENVI output in memory (tmpfs), which all threads fill: the same bytes as if it were written, and
 * the same errors where there is no space. What the system says is put in its place here. */
#include "write_fixture.h"
#include "core/text.h"
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/syscall.h>

enum { POPULATE_WRITE = 23 };

/* ---- what the system says ---- */

static bool as_disk;                  /* files in memory are said to lie on a disk */
static bool as_full;                  /* the file system has no space left, it says */
static atomic_bool no_populate;       /* the kernel is too old to bring pages */
static atomic_bool no_map, no_thread; /* neither is to be had */
static atomic_int populate_end;       /* the errno of bringing pages, after the first page */
static atomic_int no_space;           /* an errno of space that is to be reserved */
static atomic_llong put_bytes;        /* by pwrite */
static atomic_llong brought, given, reserved;

int fstatfs(int file, struct statfs *info) {
    int result = (int)syscall(SYS_fstatfs, file, info);
    info->f_type = as_disk ? EXT4_SUPER_MAGIC : info->f_type;
    info->f_bavail = as_full ? 3 : info->f_bavail;
    return result;
}

int __wrap_madvise(void *at, size_t bytes, int advice);
int __wrap_madvise(void *at, size_t bytes, int advice) {
    if (advice == POPULATE_WRITE && (no_populate || (populate_end != 0 && bytes > 1))) {
        errno = no_populate ? EINVAL : populate_end;
        return -1;
    }
    brought += advice == POPULATE_WRITE ? (long long)bytes : 0;
    given += advice == MADV_DONTNEED ? (long long)bytes : 0;
    return (int)syscall(SYS_madvise, at, bytes, advice);
}

void *__real_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset) {
    if (no_map && (flags & MAP_SHARED) != 0) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return __real_mmap(at, bytes, protection, flags, file, offset);
}

int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*work)(void *), void *user);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*work)(void *), void *user) {
    return no_thread ? EAGAIN : __real_pthread_create(thread, how, work, user);
}

ssize_t pwrite(int file, const void *data, size_t bytes, off_t at) {
    ssize_t wrote = syscall(SYS_pwrite64, file, data, bytes, at);
    put_bytes += wrote > 0 ? wrote : 0;
    return wrote;
}

int fallocate(int file, int mode, off_t at, off_t bytes) {
    reserved += bytes;
    errno = no_space;
    return no_space != 0 ? -1 : (int)syscall(SYS_fallocate, file, mode, at, bytes);
}

/* ---- the place ---- */

static bool kernel_populates(void) {
    long page = sysconf(_SC_PAGESIZE);
    void *at = mmap(NULL, (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool able = at != MAP_FAILED && madvise(at, (size_t)page, POPULATE_WRITE) == 0;
    if (at != MAP_FAILED) {
        munmap(at, (size_t)page);
    }
    return able;
}

/* Without a folder in memory the test has one all the same, for its end. */
static int make_folder_in_memory(void **state) {
    struct statfs info;
    bool memory =
        statfs("/dev/shm", &info) == 0 && info.f_type == TMPFS_MAGIC && access("/dev/shm", W_OK) == 0;
    *state = memory && kernel_populates() ? folder : NULL;
    if (!memory) {
        return make_folder(state);
    }
    GDALAllRegister();
    snprintf(folder, sizeof folder, "/dev/shm/hcube-write-XXXXXX");
    return mkdtemp(folder) == NULL;
}

static void skip_without_memory(void **state) {
    if (*state == NULL) {
        print_message("/dev/shm is no file system in memory, or the kernel is older than 5.14: skipped\n");
        skip();
    }
    put_bytes = brought = given = reserved = 0;
}

static bool same_bytes(const char *a, const char *b) {
    char *one = NULL, *other = NULL;
    size_t size = 0, same = 0;
    HcError err = {0};
    check_ok(hc_file_read(a, 1 << 28, &one, &size, &err), err);
    check_ok(hc_file_read(b, 1 << 28, &other, &same, &err), err);
    bool equal = size == same && size > 0 && memcmp(one, other, size) == 0;
    free(one);
    free(other);
    return equal;
}

static const char *const interleaves[] = {"bsq", "bil", "bip"};

/* ---- the bytes ---- */

static void write_by_ranks(const char *path, const HcScene *scene, const HcWriterOptions *options) {
    HcError err = {0};
    HcWriter *first = NULL, *second = NULL;
    HcWriterSite site;
    HcWriterLeft left;
    check_ok(hc_writer_open(&first, path, scene, options, &err), err);
    check_ok(hc_writer_site(first, &site, &err), err);
    check_ok(hc_writer_join(&second, path, scene, options, &site, 333, &err), err);
    check_ok(write_lines(second, scene, 333, scene->lines, &err), err);
    check_ok(write_lines(first, scene, 0, 333, &err), err);
    check_ok(hc_writer_leave(second, &left, &err), err);
    check_ok(hc_writer_take(first, &left, &err), err);
    hc_writer_close(second);
    check_ok(hc_writer_finish(first, &err), err);
    hc_writer_close(first);
}

/* Stored in place, by all ranks, not one byte by a write; and the same bytes as written. */
static void stored_in_place(void **state) {
    static const HcType types[] = {HC_FLOAT32, HC_INT16};
    HcScene scene = plain_scene(700, 311, 5);
    HcError err = {0};
    skip_without_memory(state);
    for (int i = 0; i < 6; i++) {
        HcWriterOptions options = {.interleave = interleaves[i % 3],
                                   .has_type = true,
                                   .type = types[i / 3],
                                   .threads = 4,
                                   .overwrite = true};
        const int64_t size = 700 * 311 * 5 * (int64_t)hc_type_bytes(options.type);
        put_bytes = 0;
        check_ok(write_scene(in_folder("written.img"), &scene, &options, &err), err);
        assert_int_equal(put_bytes, size);
        put_bytes = brought = given = reserved = 0;
        options.large = size;
        check_ok(write_scene(in_folder("mapped.img"), &scene, &options, &err), err);
        assert_int_equal(put_bytes, 0);
        assert_true(brought >= size && given >= size);
        assert_true(same_bytes(in_folder("mapped.img"), in_folder("written.img")));
        reserved = 0;
        write_by_ranks(in_folder("ranks.img"), &scene, &options);
        assert_int_equal(put_bytes, 0);
        assert_true(reserved >= size / 700 * 333 && reserved <= size); /* by one of them, once */
        assert_true(same_bytes(in_folder("ranks.img"), in_folder("written.img")));
    }
}

/* Lines of a band that fill no whole number of times the shortest stretch. */
static void many_bands(void **state) {
    HcScene scene = plain_scene(30, 1242, 285);
    HcWriterOptions options = {.large = 1, .threads = 4, .overwrite = true};
    HcError err = {0};
    skip_without_memory(state);
    put_bytes = 0;
    check_ok(write_scene(in_folder("a.img"), &scene, &options, &err), err);
    assert_int_equal(put_bytes, 0);
}

/* Small files, files on disks, few threads, an old kernel, no addresses. */
static void written_instead(void **state) {
    HcScene scene = plain_scene(700, 311, 5);
    const int64_t size = 700 * 311 * 5 * 4;
    HcError err = {0};
    skip_without_memory(state);
    for (int i = 0; i < 5; i++) {
        HcWriterOptions options = {
            .large = i == 0 ? size + 1 : size, .threads = i == 1 ? 3 : 4, .overwrite = true};
        as_disk = i == 2;
        no_populate = i == 3;
        no_map = i == 4;
        put_bytes = brought = reserved = 0;
        HcStatus status = write_scene(in_folder("a.img"), &scene, &options, &err);
        as_disk = false;
        no_populate = false;
        no_map = false;
        check_ok(status, err);
        assert_int_equal(put_bytes, size);
        assert_int_equal(reserved, size);
        assert_int_equal(brought, 0);
    }
}

/* Pages go behind the lines: the process never has more of the file than some windows. */
static void few_pages_are_kept(void **state) {
    HcScene scene = plain_scene(2000, 1000, 5); /* 40 MB */
    HcError err = {0};
    skip_without_memory(state);
    for (int i = 0; i < 3; i++) {
        HcWriterOptions options = {.interleave = interleaves[i], .large = 1, .threads = 4, .overwrite = true};
        HcWriter *writer = NULL;
        long most = 0;
        check_ok(hc_writer_open(&writer, in_folder("a.img"), &scene, &options, &err), err);
        for (int64_t line = 0; line < scene.lines; line += 50) {
            check_ok(write_lines(writer, &scene, line, line + 50, &err), err);
            FILE *file = fopen("/proc/self/status", "r");
            char text[200];
            long kib = 0;
            while (fgets(text, sizeof text, file) != NULL) {
                if (sscanf(text, "RssShmem: %ld", &kib) == 1) {
                    most = kib > most ? kib : most;
                }
            }
            fclose(file);
        }
        check_ok(hc_writer_finish(writer, &err), err);
        hc_writer_close(writer);
        assert_true(most > 0 && most < 12 << 10);
    }
}

/* A file that is begun before its writer is its file, where it is still the same, and goes otherwise. */
static void begun_early(void **state) {
    HcScene scene = plain_scene(700, 311, 5);
    HcScene other = plain_scene(700, 311, 4);
    HcError err = {0};
    skip_without_memory(state);
    for (int i = 0; i < 3; i++) {
        HcWriterOptions options = {.interleave = interleaves[i], .large = 1, .threads = 4, .overwrite = true};
        check_ok(write_scene(in_folder("plain.img"), &scene, &options, &err), err);
        for (int as_planned = 0; as_planned < 2; as_planned++) {
            HcWriter *begun = NULL;
            reserved = 0;
            check_ok(
                hc_writer_begin(&begun, in_folder("a.img"), as_planned ? &scene : &other, &options, &err),
                err);
            assert_non_null(begun);
            HcWriterOptions how = options;
            how.begun = begun;
            assert_false(file_exists(in_folder("a.img")));
            check_ok(write_scene(in_folder("a.img"), &scene, &how, &err), err);
            assert_true(same_bytes(in_folder("a.img"), in_folder("plain.img")));
            assert_true(as_planned ? reserved == 700 * 311 * 5 * 4 : reserved >= 700 * 311 * 5 * 4);
            assert_int_equal(folder_entries(folder), 4);
            unlink(in_folder("a.img"));
            unlink(in_folder("a.hdr"));
        }
        HcWriter *begun = NULL;
        check_ok(hc_writer_begin(&begun, in_folder("a.img"), &scene, &options, &err), err);
        hc_writer_close(begun); /* no pass came to its writer */
        options.large = 700 * 311 * 5 * 4 + 1;
        check_ok(hc_writer_begin(&begun, in_folder("a.img"), &scene, &options, &err), err);
        assert_null(begun);
        assert_int_equal(folder_entries(folder), 2);
    }
}

/* ---- no space ---- */

/* What the failure of some way must be: one line with the file and the cause, and nothing is left. */
static void check_failure(HcStatus status, const char *why, const HcError *err) {
    if (status != HC_E_IO || strstr(err->text, "a.img: ") == NULL || strstr(err->text, why) == NULL) {
        fail_msg("status %d \"%s\", \"%s\" was expected", (int)status, err->text, why);
    }
    assert_int_equal(folder_entries(folder), 0);
}

/* Before the first line, where the file system says so. */
static void full_disk_is_noticed_at_once(void **state) {
    HcScene scene = plain_scene(300, 200, 3);
    HcWriterOptions options = {.large = 1, .threads = 4};
    HcError err = {0};
    HcWriter *writer = NULL;
    skip_without_memory(state);
    as_full = true;
    HcStatus status = hc_writer_open(&writer, in_folder("a.img"), &scene, &options, &err);
    as_full = false;
    hc_writer_close(writer);
    check_failure(status, "No space left on device (703.1 KiB", &err);
    assert_int_equal(reserved, 0);
}

/* Space that cannot be reserved, beside the work or (without a thread) before it. */
static void reserving_fails(void **state) {
    static const int numbers[] = {ENOSPC, EDQUOT, EIO, EOPNOTSUPP, ENOSYS, 0};
    HcScene scene = plain_scene(300, 200, 3);
    HcWriterOptions options = {.large = 1, .threads = 4};
    skip_without_memory(state);
    for (size_t n = 0; n < 2 * sizeof numbers / sizeof *numbers; n++) {
        HcError err = {0};
        HcWriter *writer = NULL;
        reserved = 0;
        no_space = numbers[n / 2];
        no_thread = n % 2 == 0;
        HcStatus status = hc_writer_open(&writer, in_folder("a.img"), &scene, &options, &err);
        no_thread = false;
        while (reserved == 0) {
            sched_yield();
        }
        usleep(20000); /* the thread keeps the number */
        status = status == HC_OK ? write_lines(writer, &scene, 0, 300, &err) : status;
        no_space = 0;
        hc_writer_close(writer);
        if (n / 2 < 3) {
            check_failure(status, strerror(numbers[n / 2]), &err);
        } else {
            check_ok(status, err);
        }
        assert_int_equal(folder_entries(folder), 0);
    }
}

/* No page is to be had: the cause is asked for. */
static void pages_fail(void **state) {
    static const struct {
        int pages, space;
        const char *why;
    } ends[] = {{EFAULT, ENOSPC, "No space left on device"},
                {EFAULT, EDQUOT, "Disk quota exceeded"},
                {ENOMEM, 0, "Cannot allocate memory"}};
    HcScene scene = plain_scene(300, 200, 3);
    skip_without_memory(state);
    for (size_t n = 0; n < 3; n++) {
        HcError err = {0};
        HcWriter *writer = NULL;
        HcWriterOptions options = {.large = 1, .threads = 4, .interleave = interleaves[n]};
        reserved = 0;
        check_ok(hc_writer_open(&writer, in_folder("a.img"), &scene, &options, &err), err);
        while (reserved < 300 * 200 * 3 * 4) {
            sched_yield();
        }
        usleep(20000); /* the thread ends */
        no_space = ends[n].space;
        populate_end = ends[n].pages;
        HcStatus status = write_lines(writer, &scene, 0, 300, &err);
        no_space = populate_end = 0;
        hc_writer_close(writer);
        if (n < 2) {
            check_failure(status, ends[n].why, &err);
        } else {
            assert_int_equal(status, HC_E_MEMORY);
        }
    }
}

/* Somebody shortens the file: an error of the next lines, where stores alone would end the process. */
static void file_is_shortened(void **state) {
    HcScene scene = plain_scene(2000, 1000, 5);
    HcError err = {0};
    skip_without_memory(state);
    for (int i = 0; i < 3; i++) {
        HcWriterOptions options = {.interleave = interleaves[i], .large = 1, .threads = 4};
        HcWriter *writer = NULL;
        HcWriterSite site;
        check_ok(hc_writer_open(&writer, in_folder("a.img"), &scene, &options, &err), err);
        check_ok(hc_writer_site(writer, &site, &err), err);
        assert_int_equal(truncate(site.partial, 100), 0);
        HcStatus status = write_lines(writer, &scene, 0, 2000, &err);
        hc_writer_close(writer);
        check_failure(status, "another process has shortened the file", &err);
        err = (HcError){0};
    }
}

/* A limit on the size of files (ulimit -f) holds for a process that joins, too. */
static void limit_of_a_joined_file(void **state) {
    HcScene scene = plain_scene(700, 311, 5);
    HcWriterOptions options = {.large = 1, .threads = 4};
    HcError err = {0};
    HcWriter *first = NULL, *second = NULL;
    HcWriterSite site;
    HcWriterLeft left;
    struct rlimit limit;
    skip_without_memory(state);
    signal(SIGXFSZ, SIG_IGN);
    check_ok(hc_writer_open(&first, in_folder("a.img"), &scene, &options, &err), err);
    check_ok(hc_writer_site(first, &site, &err), err);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = 1001;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    check_ok(hc_writer_join(&second, in_folder("a.img"), &scene, &options, &site, 333, &err), err);
    HcStatus status = write_lines(second, &scene, 333, 700, &err);
    status = status == HC_OK ? hc_writer_leave(second, &left, &err) : status;
    limit.rlim_cur = before;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    hc_writer_close(second);
    hc_writer_close(first);
    check_failure(status, strerror(EFBIG), &err);
}

/* A file system in memory that is full before the file is: no signal, whoever gets there first. */
static void full_memory(void **state) {
    HcScene scene = plain_scene(700, 611, 8); /* 13.7 MB */
    HcError err = {0};
    char keep[sizeof folder];
    skip_without_memory(state);
    snprintf(keep, sizeof keep, "%s", folder);
    assert_int_equal(mkdir(in_folder("small"), 0777), 0);
    if (mount("tmpfs", in_folder("small"), "tmpfs", 0, "size=16m") != 0) {
        print_message("no tmpfs for a full disk here (%s): skipped\n", strerror(errno));
        rmdir(in_folder("small"));
        skip();
    }
    snprintf(folder, sizeof folder, "%.256s/small", keep);
    bool good = true;
    for (int i = 0; i < 24 && good; i++) {
        HcWriterOptions options = {.interleave = interleaves[i % 3], .large = 1, .threads = 4};
        HcWriter *writer = NULL;
        no_space = i % 2 == 0 ? EOPNOTSUPP : 0; /* pages alone, or space as well */
        reserved = 0;
        HcStatus status = hc_writer_open(&writer, in_folder("a.img"), &scene, &options, &err);
        while (no_space != 0 && reserved == 0) {
            sched_yield();
        }
        usleep(no_space != 0 ? 1000 : 0);
        no_space = 0;
        int other = open(in_folder("other"), O_RDWR | O_CREAT | O_CLOEXEC, 0666); /* somebody fills it */
        bool filled = other >= 0;
        for (char block[65536] = {1}; filled && write(other, block, sizeof block) > 0;) {
        }
        close(other);
        status = status == HC_OK ? write_lines(writer, &scene, 0, 700, &err) : status;
        hc_writer_close(writer);
        unlink(in_folder("other"));
        bool said = status == HC_E_IO && strstr(err.text, "a.img: No space left on device") != NULL;
        good = filled && folder_entries(folder) == 0 && (said || (status == HC_OK && i % 2 == 1));
        if (!good) {
            print_message("%d: status %d \"%s\"\n", i, (int)status, err.text);
        }
        err = (HcError){0};
    }
    snprintf(folder, sizeof folder, "%s", keep);
    umount(in_folder("small"));
    rmdir(in_folder("small"));
    assert_true(good);
}

#define in_memory(test) cmocka_unit_test_setup_teardown(test, make_folder_in_memory, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        in_memory(stored_in_place),    in_memory(many_bands),
        in_memory(written_instead),    in_memory(begun_early),
        in_memory(few_pages_are_kept), in_memory(full_disk_is_noticed_at_once),
        in_memory(reserving_fails),    in_memory(pages_fail),
        in_memory(file_is_shortened),  in_memory(limit_of_a_joined_file),
        in_memory(full_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
