#include "tests/conformance/rig.h"

#include "core/operation/image/project.h"

#include <stdlib.h>

static double *random_doubles(size_t count, uint64_t *seed) {
    double *values = malloc(count * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < count; i++) {
        values[i] = random_normal(seed);
    }
    return values;
}

typedef struct Transform {
    int32_t in, out;
    double *matrix, *in_offset, *out_offset;
} Transform;

/* Against long double, within one rounding to float32 and float64 roundings of every term. */
static void compare(const Cube *cube, const Transform *t, const HcBlock *block, const Cube *got) {
    for (int64_t row = 0; row < got->lines; row++) {
        int64_t line = hc_block_first_line(block) + row;
        for (int64_t s = 0; s < got->samples; s++) {
            bool valid = cube->mask[line * cube->samples + s] != 0;
            assert_int_equal(got->mask[row * got->samples + s], valid);
            for (int64_t k = 0; k < t->out; k++) {
                long double sum = t->out_offset != NULL ? (long double)t->out_offset[k] : 0;
                long double size = fabsl(sum);
                for (int64_t b = 0; b < t->in; b++) {
                    long double x = (long double)cube_at(cube, line, s, b) -
                                    (t->in_offset != NULL ? (long double)t->in_offset[b] : 0);
                    long double term = x * (long double)t->matrix[b * t->out + k];
                    sum += term;
                    size += fabsl(term);
                }
                double bound = fabs((double)sum) * 0x1p-24 + (double)size * 0x1p-52 * (t->in + 3) + 0x1p-149;
                check_near(cube_at(got, row, s, k), valid ? (double)sum : 0, valid ? bound : 0);
            }
        }
    }
}

/* The whole cube in blocks of `size` lines; the result is the same to the last bit for all of them. */
static Cube project_cube(Rig *rig, const Cube *cube, const Transform *t, int32_t size) {
    Cube whole = cube_new(cube->lines, cube->samples, t->out);
    for (int32_t line = 0; line < cube->lines; line += size) {
        int32_t lines = line + size <= cube->lines ? size : cube->lines - line;
        HcBlock in = rig_put_block(rig, cube, line, lines, size % 2);
        HcBlock out = rig_alloc_block(rig, cube, line, lines, 0, t->out);
        size_t n = (size_t)t->in;
        size_t m = (size_t)t->out;
        double *matrix = rig_put(rig, t->matrix, n * m * sizeof(double));
        double *before = t->in_offset != NULL ? rig_put(rig, t->in_offset, n * sizeof(double)) : NULL;
        double *after = t->out_offset != NULL ? rig_put(rig, t->out_offset, m * sizeof(double)) : NULL;
        check_ok(hc_project(rig->queue, &in, matrix, before, after, &out, &rig->err), rig->err);
        Cube got = rig_get_block(rig, &out);
        compare(cube, t, &out, &got);
        size_t at = (size_t)line * (size_t)cube->samples;
        size_t pixels = (size_t)lines * (size_t)cube->samples;
        memcpy(whole.data + at * m, got.data, pixels * m * sizeof(float));
        cube_free(&got);
        rig_empty(rig);
    }
    return whole;
}

/* Leaves a narrow band of values beside the diagonal, and nothing at all in some columns. */
static void make_banded(const Transform *t) {
    for (int32_t b = 0; b < t->in; b++) {
        for (int32_t k = 0; k < t->out; k++) {
            bool beside = abs(b - k) <= 4 && k != 5 && (k < 16 || k >= 32);
            t->matrix[(size_t)b * (size_t)t->out + (size_t)k] *= beside;
        }
    }
}

SMALL(test_project) {
    (void)state;
    static const int32_t shapes[][4] = {{1, 1, 1, 1},     {1, 150, 3, 5},  {6, 1, 7, 2},
                                        {5, 140, 31, 20}, {3, 4, 425, 40}, {4, 140, 70, 77}};
    uint64_t seed = 4;
    for (int round = 0; round < 12; round++) {
        const int32_t *shape = shapes[round / 2];
        size_t n = (size_t)shape[2];
        size_t m = (size_t)shape[3];
        Transform t = {shape[2], shape[3], random_doubles(n * m, &seed), NULL, NULL};
        if (round >= 10) {
            make_banded(&t);
        }
        t.in_offset = round % 2 == 0 ? random_doubles(n, &seed) : NULL;
        t.out_offset = round % 3 == 0 ? random_doubles(m, &seed) : NULL;
        Cube cube = cube_new(shape[0], shape[1], shape[2]);
        cube_fill_normal(&cube, 100, 3, &seed);
        cube_mask(&cube, round % 4 == 0 ? MASK_NONE : round == 9 ? MASK_ALL : MASK_SOME, &seed);
        Cube first = {0};
        for (int32_t threads = 1; threads <= 3; threads++) {
            Rig rig;
            rig_open(&rig, threads);
            Cube whole = project_cube(&rig, &cube, &t, threads);
            if (threads == 1) {
                first = whole;
            } else {
                size_t bytes = (size_t)cube.lines * (size_t)cube.samples * m * sizeof(float);
                assert_memory_equal(whole.data, first.data, bytes);
                cube_free(&whole);
            }
            rig_close(&rig);
        }
        cube_free(&first);
        cube_free(&cube);
        free(t.matrix);
        free(t.in_offset);
        free(t.out_offset);
    }
}

/* A part of a block may be rows of the halo alone: they are projected as others are. */
CASE(test_project_halo) {
    (void)state;
    Rig rig;
    uint64_t seed = 5;
    Cube cube = cube_new(6, 41, 7);
    cube_fill_normal(&cube, 100, 3, &seed);
    cube_mask(&cube, MASK_SOME, &seed);
    double *matrix = random_doubles(7 * 3, &seed);
    Transform t = {7, 3, matrix, NULL, NULL};
    rig_open(&rig, 2);
    HcBlock in = rig_put_block(&rig, &cube, 0, 6, 0);
    HcBlock out = rig_alloc_block(&rig, &cube, 1, 2, 0, 3);
    out.line0 = 3;
    out.above = 2;
    out.lines = 0;
    const double *at = rig_put(&rig, matrix, 7 * 3 * sizeof *matrix);
    check_ok(hc_project(rig.queue, &in, at, NULL, NULL, &out, &rig.err), rig.err);
    Cube got = rig_get_block(&rig, &out);
    compare(&cube, &t, &out, &got);
    cube_free(&got);
    cube_free(&cube);
    free(matrix);
    rig_close(&rig);
}
