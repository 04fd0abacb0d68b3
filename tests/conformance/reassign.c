/* Pixels that change their class. */
#include "tests/conformance/rig.h"

#include "core/operation/knn/reassign.h"

#include <math.h>
#include <stdlib.h>

enum { CLASSES = 3 };

/* Adds `sign` times a value to the digits of a band. A subnormal number has the exponent of the smallest one
 * that is not. */
static void add(int64_t *digits, int32_t bands, float value, int sign) {
    int exponent = 0;
    double part = frexp((double)value, &exponent);
    int place = value == 0 ? 0 : exponent - 24 + 149 < 0 ? 0 : exponent - 24 + 149;
    int64_t units = value == 0 ? 0 : (int64_t)ldexp(part, exponent + 149 - place);
    digits[(ptrdiff_t)(place / 8) * bands] += sign * units * (1 << place % 8);
}

/* What the sums and the labels become. */
static void plain(const Cube *cube, int64_t first, int64_t pixels, const int32_t *index, int32_t k,
                  int32_t *label, int64_t *sums) {
    for (int64_t i = 0; i < pixels; i++) {
        int32_t to = index[i * k];
        int32_t from = label[i];
        if (cube->mask[first + i] == 0 || to < 0 || to == from) {
            continue;
        }
        sums[0]++;
        for (int sign = -1; sign <= 1; sign += 2) {
            int32_t class = sign < 0 ? from : to;
            for (int32_t b = 0; b < cube->bands && class >= 0; b++) {
                int64_t *digits = sums + 1 + CLASSES + (ptrdiff_t) class * HC_CLASS_DIGITS * cube->bands + b;
                add(digits, cube->bands, cube->data[(first + i) * cube->bands + b], sign);
            }
            if (class >= 0) {
                sums[1 + class] += sign;
            }
        }
        label[i] = to;
    }
}

/* Three steps, in which pixels come, change their class, and stay. */
static void check_block(Rig *rig, const Cube *cube, int64_t line0, int32_t lines, int32_t k, uint64_t *seed) {
    HcBlock in = rig_put_block(rig, cube, line0, lines, 1);
    int64_t first = line0 * cube->samples;
    int64_t pixels = (int64_t)lines * cube->samples;
    size_t numbers = hc_class_sums(CLASSES, cube->bands);
    int32_t *index = calloc((size_t)(pixels * k), sizeof *index);
    int32_t *label = calloc((size_t)pixels, sizeof *label);
    int32_t *got_label = calloc((size_t)pixels, sizeof *label);
    int64_t *sums = calloc(numbers, sizeof *sums);
    int64_t *got = calloc(numbers, sizeof *sums);
    for (int64_t i = 0; i < pixels; i++) {
        label[i] = -1;
    }
    int32_t *label_at = rig_put(rig, label, (size_t)pixels * sizeof *label);
    int64_t *sums_at = rig_put(rig, sums, numbers * sizeof *sums);
    for (int step = 0; step < 3; step++) {
        for (int64_t i = 0; i < pixels * k; i++) {
            index[i] = (int32_t)random_between(seed, -1, CLASSES - 1);
        }
        const int32_t *index_at = rig_put(rig, index, (size_t)(pixels * k) * sizeof *index);
        check_ok(hc_reassign(rig->queue, &in, index_at, k, label_at, CLASSES, sums_at, &rig->err), rig->err);
        plain(cube, first, pixels, index, k, label, sums);
        rig_get(rig, label_at, got_label, (size_t)pixels * sizeof *label);
        rig_get(rig, sums_at, got, numbers * sizeof *sums);
        assert_memory_equal(got_label, label, (size_t)pixels * sizeof *label);
        assert_memory_equal(got, sums, numbers * sizeof *sums);
    }
    free(index);
    free(label);
    free(got_label);
    free(sums);
    free(got);
    rig_empty(rig);
}

/* Values of all sizes, some of them 0 or subnormal. */
static void fill(Cube *cube, uint64_t *seed) {
    size_t values = (size_t)cube->lines * (size_t)cube->samples * (size_t)cube->bands;
    for (size_t i = 0; i < values; i++) {
        int exponent = (int)random_between(seed, -170, 102);
        double value = ldexp((double)random_between(seed, -0xFFFFFF, 0xFFFFFF), exponent);
        cube->data[i] = random_bits(seed) % 5 == 0 ? -0.0F : (float)value;
    }
}

static void check_shapes(const int32_t shapes[][3], size_t count) {
    Rig rig;
    uint64_t seed = 1;
    rig_open(&rig, 3);
    for (size_t i = 0; i < count; i++) {
        for (Masking masking = MASK_NONE; masking <= MASK_ALL; masking++) {
            Cube cube = cube_new(shapes[i][0], shapes[i][1], shapes[i][2]);
            fill(&cube, &seed);
            cube_mask(&cube, masking, &seed);
            for (int32_t line = 0, lines = 1; line < cube.lines; line += lines, lines = lines % 3 + 1) {
                int32_t rest = (int32_t)hc_min64(lines, cube.lines - line);
                check_block(&rig, &cube, line, rest, 1 + line % 2, &seed);
            }
            cube_free(&cube);
        }
    }
    rig_close(&rig);
}

SMALL(test_reassign) {
    (void)state;
    static const int32_t shapes[][3] = {{1, 1, 1}, {7, 1, 5}, {2, 2, 3}, {9, 70, 17}};
    check_shapes(shapes, sizeof shapes / sizeof shapes[0]);
}

/* More pixels than threads take at once, more bands than a warp. */
CASE(test_reassign_many) {
    (void)state;
    static const int32_t shapes[][3] = {{6, 1000, 75}, {3, 333, 200}};
    check_shapes(shapes, sizeof shapes / sizeof shapes[0]);
}

CASE(test_reassign_refuses) {
    (void)state;
    Rig rig;
    rig_open(&rig, 1);
    HcError *err = &rig.err;
    Cube cube = cube_new(5, 4, 3);
    HcBlock in = rig_put_block(&rig, &cube, 1, 3, 0);
    HcBlock none = {.lines = 3, .samples = 4, .bands = 3};
    int32_t *label = rig_alloc(&rig, 12 * sizeof *label);
    int64_t *sums = rig_alloc(&rig, hc_class_sums(2, 3) * sizeof *sums);
    check_fails(hc_reassign(NULL, &in, label, 1, label, 2, sums, err), HC_E_USAGE, rig.err);
    check_fails(hc_reassign(rig.queue, NULL, label, 1, label, 2, sums, err), HC_E_USAGE, rig.err);
    check_fails(hc_reassign(rig.queue, &none, label, 1, label, 2, sums, err), HC_E_USAGE, rig.err);
    check_fails(hc_reassign(rig.queue, &in, NULL, 1, label, 2, sums, err), HC_E_USAGE, rig.err);
    check_fails(hc_reassign(rig.queue, &in, label, 1, NULL, 2, sums, err), HC_E_USAGE, rig.err);
    check_fails(hc_reassign(rig.queue, &in, label, 1, label, 2, NULL, err), HC_E_USAGE, rig.err);
    check_fails(hc_reassign(rig.queue, &in, label, 0, label, 2, sums, err), HC_E_USAGE, rig.err);
    check_fails(hc_reassign(rig.queue, &in, label, 1, label, 0, sums, err), HC_E_USAGE, rig.err);
    cube_free(&cube);
    rig_close(&rig);
}
