/* The view of a scene: what it adds to the lines that the reader gives. */
#include "io/view/view.h"
#include "tests/support/scene_files.h"

#include <gdal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { POPULATE_READ = 22 }; /* of madvise, since Linux 5.14 */
enum { SAMPLES = 7, LINES = 5, BANDS = 4 };

static HcView *open_view(const char *path, const HcViewOptions *options) {
    HcView *view = NULL;
    HcError err = {0};
    check_ok(hc_view_open(&view, path, options, &err), err);
    return view;
}

/* The mask of all lines, read `step` at a time. */
static void read_mask(HcView *view, int32_t step, uint8_t *mask) {
    const HcScene *scene = hc_view_scene(view);
    void *buffer = malloc(hc_view_bytes(view, step));
    for (int64_t line = 0; line < scene->lines; line += step) {
        HcRaw raw;
        HcError err = {0};
        int32_t lines = (int32_t)(scene->lines - line < step ? scene->lines - line : step);
        check_ok(hc_view_read(view, line, lines, buffer, &raw, &err), err);
        memcpy(mask + line * scene->samples, raw.user_mask, (size_t)lines * (size_t)scene->samples);
    }
    free(buffer);
}

static void masks(void **state) {
    (void)state;
    static const double kinds[] = {1, 0, 2.5, NAN, -9, 0.1};
    uint8_t want[LINES * SAMPLES], got[LINES * SAMPLES];
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 1, false), mask = cube_new(LINES, SAMPLES, 1);
    for (int i = 0; i < LINES * SAMPLES; i++) {
        mask.value[i] = kinds[i % 6];
        want[i] = i % 6 == 0 || i % 6 == 2 || i % 6 == 5;
    }
    cube_write(&cube, "scene", HC_FLOAT64, "bil", NULL);
    cube_write(&mask, "mask", HC_FLOAT32, "bsq", "data ignore value = -9\n");
    for (int never = 0; never < 2; never++) {
        HcViewOptions options = {.masks = (const char *const[]){"mask.hdr", NULL},
                                 .reader.never_direct = never};
        HcView *view = open_view("scene.hdr", &options);
        for (int32_t step = 1; step <= LINES; step++) {
            memset(got, 7, sizeof got);
            read_mask(view, step, got);
            assert_memory_equal(got, want, sizeof want);
        }
        assert_int_equal(hc_view_bytes(view, LINES), BANDS * LINES * SAMPLES * 8 + 2 * LINES * SAMPLES);
        assert_false(hc_view_map(view));
        hc_view_close(view);
    }
    Cube small = cube_new(LINES, SAMPLES - 1, 1);
    cube_write(&small, "small", HC_UINT8, "bsq", NULL);
    HcViewOptions options = {.masks = (const char *const[]){"small.hdr", NULL}};
    HcView *view = NULL;
    HcError err = {0};
    assert_int_equal(hc_view_open(&view, "scene.hdr", &options, &err), HC_E_INPUT);
    assert_non_null(strstr(err.text, "small.img: has 5 lines x 6 samples"));
    assert_non_null(strstr(err.text, "has 5 x 7"));
    options.masks = (const char *const[]){"scene.hdr", NULL};
    err = (HcError){0};
    assert_int_equal(hc_view_open(&view, "scene.hdr", &options, &err), HC_E_INPUT);
    assert_non_null(strstr(err.text, "4 bands"));
    cube_free(&small);
    cube_free(&mask);
    cube_free(&cube);
}

/* Masks that look at bands of one file, in any order and one of them twice, beside a mask of another file
 * with longer pieces: each says what it says alone, and what all leave is what every one of them leaves. */
static void masks_of_one_file(void **state) {
    (void)state;
    enum { WIDE = 3000, LONG = 190, KINDS = 5 };
    static const char *const texts[] = {"three.hdr:3=1,2", "three.hdr:1", "narrow.hdr", "three.hdr:3!=0-2",
                                        "three.hdr:2=7"};
    static const size_t pixels = (size_t)WIDE * LONG;
    Cube scene = cube_new(LONG, WIDE, 1), three = cube_new(LONG, WIDE, 3), narrow = cube_new(LONG, WIDE, 1);
    for (size_t p = 0; p < pixels; p++) {
        uint32_t bits = (uint32_t)p * 2654435761U;
        three.value[3 * p] = (double)(bits >> 5 & 1);
        three.value[3 * p + 1] = (double)(bits >> 9 & 7);
        three.value[3 * p + 2] = (double)(bits >> 13 & 3);
        narrow.value[p] = (double)(bits >> 17 & 3);
    }
    cube_write(&scene, "scene", HC_UINT8, "bsq", NULL);
    cube_write(&three, "three", HC_INT16, "bil", NULL);
    cube_write(&narrow, "narrow", HC_UINT8, "bsq", NULL);
    uint8_t *all = malloc(pixels), *got = malloc(pixels);
    for (int never = 0; never < 2; never++) {
        memset(all, 1, pixels);
        for (int k = 0; k < KINDS; k++) {
            HcViewOptions one = {.masks = (const char *const[]){texts[k], NULL},
                                 .reader.never_direct = never};
            HcView *view = open_view("scene.hdr", &one);
            read_mask(view, LONG, got);
            for (size_t p = 0; p < pixels; p++) {
                const double *v = three.value + 3 * p;
                bool stays[] = {v[2] != 1 && v[2] != 2, v[0] != 0, narrow.value[p] != 0, v[2] <= 2,
                                v[1] != 7};
                if (got[p] != stays[k]) {
                    fail_msg("%s: pixel %zu is %d", texts[k], p, got[p]);
                }
                all[p] &= got[p];
            }
            hc_view_close(view);
        }
        HcViewOptions options = {
            .masks = (const char *const[]){texts[0], texts[1], texts[2], texts[3], texts[4], NULL},
            .reader.never_direct = never};
        for (int32_t step = LONG; step > 0; step /= 3) {
            HcView *view = open_view("scene.hdr", &options);
            read_mask(view, step, got);
            assert_memory_equal(got, all, pixels);
            hc_view_close(view);
        }
    }
    free(all);
    free(got);
    cube_free(&scene);
    cube_free(&three);
    cube_free(&narrow);
}

/* A mask that is read in several pieces of 1 MiB, and one with lines longer than that. */
static void large_masks(void **state) {
    static const struct { int32_t lines, samples; } shapes[] = {{300, 1001}, {5, 140003}};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        Cube mask = cube_new(shapes[i].lines, shapes[i].samples, 1);
        size_t pixels = cube_pixels(&mask);
        uint8_t *got = malloc(pixels);
        assert_non_null(got);
        for (size_t p = 0; p < pixels; p++) {
            mask.value[p] = (double)((p * 2654435761U) >> 7 & 1);
        }
        cube_write(&mask, "wide", HC_UINT8, "bsq", NULL);
        cube_write(&mask, "widemask", HC_FLOAT64, "bsq", NULL);
        for (int never = 0; never < 2; never++) {
            HcViewOptions options = {.masks = (const char *const[]){"widemask.hdr", NULL},
                                     .reader.never_direct = never};
            HcView *view = open_view("wide.hdr", &options);
            for (int32_t step = mask.lines; step > 0; step /= 2) {
                memset(got, 7, pixels);
                read_mask(view, step, got);
                for (size_t p = 0; p < pixels; p++) {
                    if (got[p] != (mask.value[p] != 0)) {
                        fail_msg("%d lines at a time: pixel %zu of the mask is %d", step, p, got[p]);
                    }
                }
            }
            hc_view_close(view);
        }
        free(got);
        cube_free(&mask);
    }
}

/* Bytes that this process has read by system calls so far; those of mapped files do not count. */
static long long bytes_read(void) {
    char text[400] = "";
    FILE *file = fopen("/proc/self/io", "r");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    const char *at = strstr(text, "rchar: ");
    assert_non_null(at);
    return atoll(at + 7);
}

/* Of a narrow window of long lines only its samples are read, in all bands or in some. */
static void only_samples_of_the_window(void **state) {
    (void)state;
    enum { MANY = 24, WIDE = 12000, ALL = 6, AT = 7, SOME = 9, LEFT = 5000, FEW = 40 };
    static const char *const interleaves[] = {"bil", "bip", "bsq"};
    static const int32_t chosen[] = {1, 4};
    Cube cube = cube_smooth(MANY, WIDE, ALL, 2, true);
    const HcViewWindow window = {LEFT, AT, FEW, SOME};
    for (int i = 0; i < 6; i++) {
        const bool some = i / 3 != 0;
        cube_write(&cube, "wide", HC_INT16, interleaves[i % 3], NULL);
        HcViewOptions options = {.window = &window, .reader = {.threads = 1 + i % 2}};
        HcRaw raw;
        HcError err = {0};
        HcView *view = open_view("wide.img", &options);
        if (some) {
            check_ok(hc_view_use_bands(view, chosen, 2, &err), err);
        }
        assert_false(hc_view_map(view)); /* that would bring the pages of whole lines */
        const size_t bytes = hc_view_bytes(view, SOME);
        const long long wanted = SOME * FEW * 2 * (some && i % 3 != 1 ? 2 : ALL);
        assert_true((long long)bytes >= wanted && (long long)bytes < wanted + 8);
        void *buffer = malloc(bytes);
        assert_non_null(buffer);
        long long before = bytes_read();
        check_ok(hc_view_read(view, 0, SOME, buffer, &raw, &err), err);
        long long taken = bytes_read() - before - 400; /* the counter itself is read, too */
        if (taken > wanted + 400 || taken < wanted - 400) {
            fail_msg("%s: read %lld bytes, the window has %lld", interleaves[i % 3], taken, wanted);
        }
        assert_int_equal(raw.samples, FEW);
        for (int32_t p = 0; p < SOME * FEW * (some ? 2 : ALL); p++) {
            int32_t line = p / FEW % SOME, sample = p % FEW, k = p / FEW / SOME;
            int32_t band = some ? chosen[k] : k;
            int16_t value;
            memcpy(&value,
                   (const char *)raw.data + line * raw.stride_line + sample * raw.stride_sample +
                       hc_view_stored_band(view, band) * raw.stride_band,
                   sizeof value);
            assert_int_equal(value, cube_pixel(&cube, AT + line, LEFT + sample)[band]);
        }
        free(buffer);
        hc_view_close(view);
    }
    cube_free(&cube);
}

/* Bytes of mapped files that were asked for. */
static size_t populated;

int __real_madvise(void *at, size_t bytes, int advice);
int __wrap_madvise(void *at, size_t bytes, int advice);

int __wrap_madvise(void *at, size_t bytes, int advice) {
    populated += advice == POPULATE_READ ? bytes : 0;
    return __real_madvise(at, bytes, advice);
}

/* Of a window only its lines are read, whatever the way. */
static void only_lines_of_the_window(void **state) {
    (void)state;
    enum { MANY = 1000, WIDE = 100, SOME = 10, AT = 700 };
    static const char *const interleaves[] = {"bil", "bip", "bsq"};
    Cube cube = cube_smooth(MANY, WIDE, BANDS * 2, 2, true);
    const long long whole = (long long)cube_pixels(&cube) * BANDS * 2 * 2, part = whole / MANY * SOME;
    const HcViewWindow window = {5, AT, 20, SOME};
    for (int i = 0; i < 3; i++) {
        cube_write(&cube, "long", HC_INT16, interleaves[i], NULL);
        for (int never = 0; never < 2; never++) {
            HcViewOptions options = {.window = &window, .reader = {.threads = 1, .never_direct = never}};
            HcRaw raw;
            HcError err = {0};
            HcView *view = open_view("long.img", &options);
            void *buffer = malloc(hc_view_bytes(view, SOME));
            assert_non_null(buffer);
            assert_int_equal(hc_view_scene(view)->lines, SOME);
            assert_int_equal(hc_view_scene(view)->samples, 20);
            long long before = bytes_read();
            check_ok(hc_view_read(view, 0, SOME, buffer, &raw, &err), err);
            long long taken = bytes_read() - before - 400;        /* the counter itself is read, too */
            long long most = never ? whole / 5 : part + part / 2; /* GDAL has buffers of its own */
            if (taken > most || (!never && taken < part / 2)) {
                fail_msg("%s: read %lld bytes of %lld, the window has %lld", interleaves[i], taken, whole,
                         part);
            }
            int16_t value;
            memcpy(&value, raw.data, sizeof value);
            assert_int_equal(value, cube_pixel(&cube, AT, 5)[0]);
            assert_int_equal(hc_view_read(view, SOME - 1, 2, buffer, &raw, NULL), HC_E_USAGE);
            free(buffer);
            hc_view_close(view);
        }
    }
    /* Mapped: the pages of these lines. */
    cube_write(&cube, "long", HC_INT16, "bil", NULL);
    HcViewOptions options = {.window = &window};
    HcView *view = open_view("long.img", &options);
    HcRaw raw;
    HcError err = {0};
    assert_true(hc_view_map(view));
    populated = 0;
    check_ok(hc_view_read(view, 0, SOME, NULL, &raw, &err), err);
    int16_t value;
    memcpy(&value, raw.data, sizeof value);
    assert_int_equal(value, cube_pixel(&cube, AT, 5)[0]);
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (populated < (size_t)part || populated > (size_t)part + page) {
        fail_msg("%zu bytes of %lld are asked for, the window has %lld", populated, whole, part);
    }
    hc_view_release(view, 0, SOME);
    hc_view_close(view);
    cube_free(&cube);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masks), cmocka_unit_test(masks_of_one_file), cmocka_unit_test(large_masks),
        cmocka_unit_test(only_lines_of_the_window), cmocka_unit_test(only_samples_of_the_window)};
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
