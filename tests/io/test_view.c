/* The view of a scene: what it adds to the lines that the reader gives. */
#include "io/view/view.h"
#include "tests/support/scene_files.h"

#include <gdal.h>
#include <stdlib.h>
#include <string.h>

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
    void *room = malloc(hc_view_bytes(view, step));
    for (int64_t line = 0; line < scene->lines; line += step) {
        HcRaw raw;
        HcError err = {0};
        int32_t lines = (int32_t)(scene->lines - line < step ? scene->lines - line : step);
        check_ok(hc_view_read(view, line, lines, room, &raw, &err), err);
        memcpy(mask + line * scene->samples, raw.user_mask, (size_t)lines * (size_t)scene->samples);
    }
    free(room);
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
        HcViewOptions options = {.mask = "mask.hdr", .reader.never_direct = never};
        HcView *view = open_view("scene.hdr", &options);
        for (int32_t step = 1; step <= LINES; step++) {
            memset(got, 7, sizeof got);
            read_mask(view, step, got);
            assert_memory_equal(got, want, sizeof want);
        }
        assert_int_equal(hc_view_bytes(view, LINES), BANDS * LINES * SAMPLES * 8 + LINES * SAMPLES);
        assert_false(hc_view_map(view));
        hc_view_close(view);
    }
    Cube small = cube_new(LINES, SAMPLES - 1, 1);
    cube_write(&small, "small", HC_UINT8, "bsq", NULL);
    HcViewOptions options = {.mask = "small.hdr"};
    HcView *view = NULL;
    HcError err = {0};
    assert_int_equal(hc_view_open(&view, "scene.hdr", &options, &err), HC_E_INPUT);
    assert_non_null(strstr(err.text, "small.hdr: the mask has 5 lines x 6 samples"));
    assert_non_null(strstr(err.text, "has 5 x 7"));
    options.mask = "scene.hdr";
    err = (HcError){0};
    assert_int_equal(hc_view_open(&view, "scene.hdr", &options, &err), HC_E_INPUT);
    assert_non_null(strstr(err.text, "4 bands"));
    cube_free(&small);
    cube_free(&mask);
    cube_free(&cube);
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
            HcViewOptions options = {.mask = "widemask.hdr", .reader.never_direct = never};
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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(masks), cmocka_unit_test(large_masks)};
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
