/* PNG files: read back through GDAL, and what happens when they cannot be written. */
#include "write_fixture.h"
#include "io/file.h"
#include "io/write/picture/png.h"

#include <signal.h>
#include <sys/resource.h>

static uint8_t *noise(int32_t width, int32_t height) {
    uint8_t *pixels = malloc((size_t)width * (size_t)height * 4);
    uint32_t random = 1;
    for (int64_t i = 0; i < (int64_t)width * height * 4; i++) {
        random = random * 1664525U + 1013904223U;
        pixels[i] = (uint8_t)(random >> 24);
    }
    return pixels;
}

static void same_pixels(void **state) {
    (void)state;
    static const int32_t sizes[][2] = {{1, 1}, {7, 300}, {301, 5}, {64, 64}};
    HcError err = {0};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        int32_t width = sizes[k][0], height = sizes[k][1];
        size_t count = (size_t)width * (size_t)height * 4;
        uint8_t *pixels = noise(width, height), *back = malloc(count);
        check_ok(hc_png_write(in_folder("a.png"), width, height, pixels, true, &err), err);
        GDALDatasetH dataset = GDALOpen(in_folder("a.png"), GA_ReadOnly);
        assert_non_null(dataset);
        assert_int_equal(GDALGetRasterCount(dataset), 4);
        assert_int_equal(GDALDatasetRasterIOEx(dataset, GF_Read, 0, 0, width, height, back, width, height,
                                               GDT_Byte, 4, NULL, 4, 4 * width, 1, NULL),
                         CE_None);
        assert_memory_equal(pixels, back, count);
        GDALClose(dataset);
        memset(back, 0, count);
        check_ok(hc_png_read(in_folder("a.png"), width, height, NULL, &err), err);
        check_ok(hc_png_read(in_folder("a.png"), width, height, back, &err), err);
        assert_memory_equal(pixels, back, count);
        free(pixels);
        free(back);
    }
    assert_int_equal(folder_entries(folder), 1);
}

static void refusals(void **state) {
    (void)state;
    HcError err = {0};
    uint8_t pixel[4] = {0};
    put_file(in_folder("a.png"), "precious");
    check_fails(hc_png_write(in_folder("a.png"), 1, 1, pixel, false, &err), HC_E_USAGE, err);
    check_fails(hc_png_write(in_folder("b.png"), 0, 1, pixel, false, &err), HC_E_USAGE, err);
    check_fails(hc_png_write(in_folder("no/b.png"), 1, 1, pixel, false, &err), HC_E_IO, err);
    assert_true(file_is(in_folder("a.png"), "precious"));
    check_fails(hc_png_read(in_folder("a.png"), 1, 1, pixel, &err), HC_E_INPUT, err);
    check_fails(hc_png_read(in_folder("b.png"), 1, 1, pixel, &err), HC_E_IO, err);
    assert_int_equal(folder_entries(folder), 1);
}

/* Another size, and a file that ends early: refused before more is written than there is room for. */
static void files_that_are_not_read(void **state) {
    (void)state;
    enum { SIDE = 40, COUNT = SIDE * SIDE * 4 };
    HcError err = {0};
    uint8_t *pixels = noise(SIDE, SIDE), back[COUNT];
    int64_t size = 0, modified;
    check_ok(hc_png_write(in_folder("a.png"), SIDE, SIDE, pixels, false, &err), err);
    check_fails(hc_png_read(in_folder("a.png"), SIDE, SIDE - 1, back, &err), HC_E_INPUT, err);
    assert_true(hc_file_identity(in_folder("a.png"), &size, &modified));
    for (int part = 19; part >= 0; part--) {
        assert_int_equal(truncate(in_folder("a.png"), size * part / 20), 0);
        check_fails(hc_png_read(in_folder("a.png"), SIDE, SIDE, back, &err), HC_E_INPUT, err);
    }
    free(pixels);
}

static void size_limit(void **state) {
    (void)state;
    HcError err = {0};
    struct rlimit limit, small;
    uint8_t *pixels = noise(100, 100);
    int64_t size = 0, modified;
    signal(SIGXFSZ, SIG_IGN);
    check_ok(hc_png_write(in_folder("whole.png"), 100, 100, pixels, false, &err), err);
    assert_true(hc_file_identity(in_folder("whole.png"), &size, &modified));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small = limit;
    for (int part = 0; part <= 10; part++) {
        small.rlim_cur = part == 10 ? (rlim_t)size - 1 : (rlim_t)(size * part / 10);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        HcStatus status = hc_png_write(in_folder("a.png"), 100, 100, pixels, false, &err);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        assert_int_equal(status, HC_E_IO);
        assert_non_null(strstr(err.text, "File too large"));
        err = (HcError){0};
        assert_int_equal(folder_entries(folder), 1);
    }
    free(pixels);
}

#define in_own_folder(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {in_own_folder(same_pixels), in_own_folder(refusals),
                                       in_own_folder(files_that_are_not_read), in_own_folder(size_limit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
