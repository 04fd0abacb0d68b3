/* gather, filter and difference. */
#include "tests/conformance/rig.h"

#include "core/operation/image/difference.h"
#include "core/operation/image/filter.h"
#include "core/operation/image/gather.h"

#include <stdlib.h>

static const int32_t shapes[][3] = {{1, 1, 1},   {1, 9, 4},   {7, 1, 5},  {2, 2, 3},
                                    {9, 70, 17}, {5, 6, 425}, {12, 33, 8}};
enum { SHAPES = 7 };

static bool valid_at(const Cube *cube, int64_t line, int64_t sample) {
    return line >= 0 && line < cube->lines && sample >= 0 && sample < cube->samples &&
           cube->mask[line * cube->samples + sample] != 0;
}

/* The valid values of one band around a pixel, in order. */
static int around(const Cube *cube, int64_t line, int64_t sample, int64_t band, double values[9]) {
    int count = 0;
    for (int64_t l = line - 1; l <= line + 1; l++) {
        for (int64_t s = sample - 1; s <= sample + 1; s++) {
            if (valid_at(cube, l, s)) {
                double value = (double)cube_at(cube, l, s, band);
                int at = count++;
                for (; at > 0 && values[at - 1] > value; at--) {
                    values[at] = values[at - 1];
                }
                values[at] = value;
            }
        }
    }
    return count;
}

static double expected_filter(const Cube *cube, HcFilter kind, int64_t line, int64_t sample, int64_t band) {
    double values[9];
    int count = around(cube, line, sample, band, values);
    if (kind == HC_FILTER_MEDIAN3X3) {
        return (values[(count - 1) / 2] + values[count / 2]) / 2;
    }
    long double sum = 0;
    for (int k = 0; k < count; k++) {
        sum += (long double)values[k];
    }
    return (double)(sum / count);
}

/* false: masked. */
static bool expected_difference(const Cube *cube, HcDifference kind, int64_t line, int64_t sample,
                                int64_t band, double *value) {
    double values[9];
    bool valid = valid_at(cube, line, sample);
    double x = valid ? (double)cube_at(cube, line, sample, band) : 0;
    int64_t lower = kind == HC_DIFFERENCE_SHIFT_DIAGONAL ? line + 1 : line;
    switch (kind) {
    case HC_DIFFERENCE_MEAN3X3:
    case HC_DIFFERENCE_MEDIAN3X3:
        if (around(cube, line, sample, band, values) != 9) {
            return false;
        }
        *value = x - (kind == HC_DIFFERENCE_MEDIAN3X3 ? values[4] : 0);
        if (kind == HC_DIFFERENCE_MEAN3X3) {
            long double sum = 0;
            for (int k = 0; k < 9; k++) {
                sum += (long double)values[k];
            }
            *value = (double)((9 * (long double)x - sum) / 9);
        }
        return true;
    case HC_DIFFERENCE_SHIFT:
    case HC_DIFFERENCE_SHIFT_DIAGONAL:
        if (!valid || !valid_at(cube, lower, sample + 1)) {
            return false;
        }
        *value = x - (double)cube_at(cube, lower, sample + 1, band);
        return true;
    default:
        *value = x;
        return valid;
    }
}

/* Blocks of every size, with one line of halo or more. */
typedef void Compare(const Cube *cube, int variant, const HcBlock *block, const Cube *got);
typedef HcStatus Operation(Rig *rig, const HcBlock *in, int variant, const HcBlock *out);

static void by_blocks(Rig *rig, const Cube *cube, int variant, Operation *operation, Compare *compare) {
    for (int32_t size = 1; size <= cube->lines; size += 1 + cube->lines / 3) {
        for (int32_t line = 0; line < cube->lines; line += size) {
            int32_t lines = line + size <= cube->lines ? size : cube->lines - line;
            int32_t spare = size % 2; /* the output keeps some halo of its own */
            HcBlock in = rig_put_block(rig, cube, line, lines, 1 + spare);
            HcBlock out = rig_alloc_block(rig, cube, line, lines, spare, cube->bands);
            check_ok(operation(rig, &in, variant, &out), rig->err);
            Cube got = rig_get_block(rig, &out);
            compare(cube, variant, &out, &got);
            cube_free(&got);
            rig_empty(rig);
        }
    }
}

static void each_cube(int variants, Operation *operation, Compare *compare) {
    uint64_t seed = 3;
    for (int32_t threads = 1; threads <= 3; threads += 2) {
        Rig rig;
        rig_open(&rig, threads);
        for (int shape = 0; shape < SHAPES; shape++) {
            for (int round = 0; round < 5; round++) {
                Cube cube = cube_new(shapes[shape][0], shapes[shape][1], shapes[shape][2]);
                if (round % 2 == 0) {
                    cube_fill_integers(&cube, -300, 300, &seed);
                } else {
                    cube_fill_normal(&cube, 1000, 3, &seed);
                }
                cube_mask(&cube, round < 2 ? MASK_NONE : round < 4 ? MASK_SOME : MASK_ALL, &seed);
                for (int variant = 0; variant < variants; variant++) {
                    by_blocks(&rig, &cube, variant, operation, compare);
                }
                cube_free(&cube);
            }
        }
        rig_close(&rig);
    }
}

static void small_cube(int variants, Operation *operation, Compare *compare) {
    uint64_t seed = 5;
    Rig rig;
    rig_open(&rig, 2);
    Cube cube = cube_new(4, 35, 6);
    cube_fill_normal(&cube, 1000, 3, &seed);
    cube_mask(&cube, MASK_SOME, &seed);
    for (int variant = 0; variant < variants; variant++) {
        by_blocks(&rig, &cube, variant, operation, compare);
    }
    cube_free(&cube);
    rig_close(&rig);
}

static HcStatus run_filter(Rig *rig, const HcBlock *in, int variant, const HcBlock *out) {
    return hc_filter(rig->queue, in, (HcFilter)variant, out, &rig->err);
}

/* One rounding to float32 of a value that is itself good to float64. */
static double half_ulp(double value) {
    return fabs(value) * (0x1p-24 + 0x1p-45) + 0x1p-149;
}

static void compare_filter(const Cube *cube, int variant, const HcBlock *block, const Cube *got) {
    for (int64_t row = 0; row < got->lines; row++) {
        int64_t line = hc_block_first_line(block) + row;
        for (int64_t s = 0; s < got->samples; s++) {
            bool valid = valid_at(cube, line, s);
            assert_int_equal(got->mask[row * got->samples + s], valid);
            for (int64_t b = 0; b < got->bands; b++) {
                double expected = valid ? expected_filter(cube, (HcFilter)variant, line, s, b) : 0;
                check_near(cube_at(got, row, s, b), expected, valid ? half_ulp(expected) : 0);
            }
        }
    }
}

CASE(test_filter) {
    (void)state;
    each_cube(2, run_filter, compare_filter);
}

SMALL(test_filter_small) {
    (void)state;
    small_cube(2, run_filter, compare_filter);
}

static HcStatus run_difference(Rig *rig, const HcBlock *in, int variant, const HcBlock *out) {
    return hc_difference(rig->queue, in, (HcDifference)variant, out, &rig->err);
}

static void compare_difference(const Cube *cube, int variant, const HcBlock *block, const Cube *got) {
    for (int64_t row = 0; row < got->lines; row++) {
        int64_t line = hc_block_first_line(block) + row;
        for (int64_t s = 0; s < got->samples; s++) {
            double expected = 0;
            bool valid = expected_difference(cube, (HcDifference)variant, line, s, 0, &expected);
            assert_int_equal(got->mask[row * got->samples + s], valid);
            for (int64_t b = 0; b < got->bands; b++) {
                expected = 0;
                (void)expected_difference(cube, (HcDifference)variant, line, s, b, &expected);
                expected = valid ? expected : 0;
                /* 9x and the sum are rounded in float64 */
                double slack = fabs((double)cube_at(cube, line, s, b)) * 0x1p-48;
                check_near(cube_at(got, row, s, b), expected, valid ? half_ulp(expected) + slack : 0);
            }
        }
    }
}

CASE(test_difference) {
    (void)state;
    each_cube(HC_DIFFERENCE_SHIFT_DIAGONAL + 1, run_difference, compare_difference);
}

SMALL(test_difference_small) {
    (void)state;
    small_cube(HC_DIFFERENCE_SHIFT_DIAGONAL + 1, run_difference, compare_difference);
}

static HcStatus run_gather(Rig *rig, const HcBlock *in, int variant, const HcBlock *out) {
    int32_t index[512];
    for (int32_t k = 0; k < out->bands; k++) {
        index[k] = (k * 7 + variant) % in->bands;
    }
    const int32_t *at = rig_put(rig, index, sizeof(int32_t) * (size_t)out->bands);
    return hc_gather(rig->queue, in, at, out, &rig->err);
}

static void compare_gather(const Cube *cube, int variant, const HcBlock *block, const Cube *got) {
    for (int64_t row = 0; row < got->lines; row++) {
        int64_t line = hc_block_first_line(block) + row;
        for (int64_t s = 0; s < got->samples; s++) {
            assert_int_equal(got->mask[row * got->samples + s], valid_at(cube, line, s));
            for (int64_t b = 0; b < got->bands; b++) {
                check_same(cube_at(got, row, s, b), cube_at(cube, line, s, (b * 7 + variant) % cube->bands));
            }
        }
    }
}

CASE(test_gather) {
    (void)state;
    each_cube(2, run_gather, compare_gather);
}

SMALL(test_gather_small) {
    (void)state;
    small_cube(2, run_gather, compare_gather);
}
