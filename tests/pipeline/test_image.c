/* The canvas: stretches and colours by their definition, drawing within its bounds. */
#include "figure/ramp.h"
#include "pipeline/picture/image.h"
#include "tests/support/check.h"

#include <stdlib.h>

static int compare(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void limits_are_order_statistics(void **state) {
    (void)state;
    static const double percents[] = {0, 2, 33.3, 50, 98, 100};
    HcError err = {0};
    uint32_t random = 7;
    for (size_t count = 1; count < 400; count += count < 12 ? 1 : 37) {
        float plane[400], sorted[400];
        for (size_t i = 0; i < count; i++) {
            random = random * 1664525U + 1013904223U;
            sorted[i] = plane[i] =
                (float)(random >> (count % 3 == 0 ? 29 : 12)) - 100.0f; /* with and without ties */
        }
        qsort(sorted, count, sizeof *sorted, compare);
        for (size_t p = 0; p < sizeof percents / sizeof *percents; p++) {
            float limits[2];
            size_t rank = (size_t)floor(percents[p] / 100 * (double)(count - 1) + 0.5);
            check_ok(hc_image_limits(plane, NULL, count, percents[p], 100, limits, &err), err);
            check_same(limits[0], sorted[rank]);
            check_same(limits[1], sorted[count - 1]);
        }
    }
}

static void limits_leave_out(void **state) {
    (void)state;
    HcError err = {0};
    float limits[2];
    const float plane[6] = {5, NAN, INFINITY, 3, -1000, 4};
    const uint8_t valid[6] = {1, 1, 1, 1, 0, 1};
    const uint8_t none[6] = {0};
    check_ok(hc_image_limits(plane, valid, 6, 0, 100, limits, &err), err);
    check_same(limits[0], 3);
    check_same(limits[1], 5);
    check_ok(hc_image_limits(plane, none, 6, 2, 98, limits, &err), err);
    check_same(limits[0], 0);
    check_same(limits[1], 1);
    check_ok(hc_image_limits(plane, NULL, 0, 2, 98, limits, &err), err);
}

static void stretch(const float *plane, size_t count, double low, double high, uint8_t *level) {
    HcError err = {0};
    float limits[2];
    check_ok(hc_image_limits(plane, NULL, count, low, high, limits, &err), err);
    hc_image_levels(plane, NULL, count, limits, level);
}

static void levels(void **state) {
    (void)state;
    float plane[104];
    uint8_t level[104];
    for (int i = 0; i <= 100; i++) {
        plane[i] = (float)i;
    }
    plane[101] = NAN;
    plane[102] = -INFINITY;
    plane[103] = 101;
    stretch(plane, 104, 0, 100, level);
    assert_int_equal(level[0], 0);
    assert_int_equal(level[103], 255);
    assert_int_equal(level[101], 0);
    assert_int_equal(level[102], 0);
    for (int i = 1; i <= 100; i++) {
        check_near(level[i], i / 101.0 * 255, 0.5001);
    }
    stretch(plane, 101, 10, 90, level);
    assert_int_equal(level[10], 0);
    assert_int_equal(level[9], 0);
    assert_int_equal(level[90], 255);
    assert_int_equal(level[100], 255);
    assert_int_equal(level[50], 128);
}

static void constant_plane(void **state) {
    (void)state;
    float plane[100];
    uint8_t level[100];
    for (int i = 0; i < 100; i++) {
        plane[i] = 3;
    }
    plane[0] = -7; /* an outlier beyond the percentiles */
    plane[1] = 7;
    stretch(plane, 100, 2, 98, level);
    assert_int_equal(level[0], 0);
    assert_int_equal(level[1], 255);
    assert_int_equal(level[50], 128);
}

static void viridis_rises(void **state) {
    (void)state;
    uint8_t rgb[3];
    double last = -1;
    hc_ramp_colour(HC_RAMP_VIRIDIS, 0, rgb);
    assert_memory_equal(rgb, ((uint8_t[]){0x44, 0x01, 0x54}), 3);
    for (int level = 0; level < 256; level++) {
        hc_ramp_colour(HC_RAMP_VIRIDIS, level / 255.0, rgb);
        double luminance = 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2];
        assert_true(luminance > last - 0.5);
        last = luminance;
    }
    assert_memory_equal(rgb, ((uint8_t[]){0xfd, 0xe7, 0x25}), 3);
}

static int64_t inked(const HcImage *image) {
    int64_t count = 0;
    for (int64_t i = 0; i < (int64_t)image->width * image->height; i++) {
        count += image->pixels[4 * i] != 255;
        assert_int_equal(image->pixels[4 * i + 3], 255);
    }
    return count;
}

static void canvas(void **state) {
    (void)state;
    HcImage image = {0};
    HcError err = {0};
    check_fails(hc_image_init(&image, 0, 3, &err), HC_E_USAGE, err);
    hc_image_clear(&image);
    check_ok(hc_image_init(&image, 40, 30, &err), err);
    assert_int_equal(inked(&image), 0);
    hc_image_clear(&image);
    hc_image_clear(&image);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_are_order_statistics),
        cmocka_unit_test(limits_leave_out),
        cmocka_unit_test(levels),
        cmocka_unit_test(constant_plane),
        cmocka_unit_test(viridis_rises),
        cmocka_unit_test(canvas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
