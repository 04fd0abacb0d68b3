#include "tests/conformance/rig.h"

#include "core/operation/spectrum/normalise.h"

enum { KINDS = HC_NORMALISE_AREA + 1 };

static double weight_of(int64_t band) {
    return 0.5 + (double)(band % 5);
}

/* The reference, in long double and in the order of the bands: mean and size of a pixel. */
static void size_of(const float *x, HcNormalisation kind, int64_t bands, double *mean, double *size) {
    long double sum = 0, square = 0, area = 0;
    for (int64_t b = 0; b < bands; b++) {
        sum += (long double)x[b];
        area += (long double)weight_of(b) * fabsl((long double)x[b]);
    }
    *mean = kind == HC_NORMALISE_SNV ? (double)(sum / (long double)bands) : 0;
    for (int64_t b = 0; b < bands; b++) {
        square += ((long double)x[b] - *mean) * ((long double)x[b] - *mean);
    }
    *size = (double)(kind == HC_NORMALISE_AREA  ? area
                     : kind == HC_NORMALISE_SNV ? sqrtl(square / (long double)(bands - 1))
                                                : sqrtl(square));
}

static void check_block(Rig *rig, const Cube *cube, HcNormalisation kind, int64_t line0, int32_t lines) {
    double weight[64];
    for (int64_t b = 0; b < cube->bands; b++) {
        weight[b] = weight_of(b);
    }
    HcBlock in = rig_put_block(rig, cube, line0, lines, 1);
    HcBlock out = rig_alloc_block(rig, cube, line0, lines, 0, cube->bands);
    const double *there =
        kind == HC_NORMALISE_AREA ? rig_put(rig, weight, (size_t)cube->bands * sizeof *weight) : NULL;
    check_ok(hc_normalise(rig->queue, &in, kind, there, &out, &rig->err), rig->err);
    Cube got = rig_get_block(rig, &out);
    for (int64_t p = 0; p < (int64_t)lines * cube->samples; p++) {
        int64_t from = line0 * cube->samples + p;
        double mean = 0, size = 0;
        size_of(cube->data + from * cube->bands, kind, cube->bands, &mean, &size);
        bool valid = cube->mask[from] != 0 && size > 0;
        assert_int_equal(got.mask[p], valid);
        for (int64_t b = 0; b < cube->bands; b++) {
            double expected = valid ? ((double)cube->data[from * cube->bands + b] - mean) / size : 0;
            check_near(got.data[p * cube->bands + b], expected, fabs(expected) * 0x1p-23 + 0x1p-40);
        }
    }
    cube_free(&got);
    rig_empty(rig);
}

/* Small odd shapes, in blocks of one to three lines, without and with masked pixels. The first pixel is
 * constant, the last one 0: neither has a standard deviation, and the last has no size at all. */
SMALL(test_normalise) {
    (void)state;
    static const int32_t shapes[][3] = {{1, 1, 2}, {7, 1, 5}, {2, 2, 3}, {9, 70, 17}, {3, 5, 64}};
    Rig rig;
    uint64_t seed = 1;
    rig_open(&rig, 2);
    for (size_t i = 0; i < KINDS * sizeof shapes / sizeof shapes[0]; i++) {
        const int32_t *shape = shapes[i / KINDS];
        for (Masking masking = MASK_NONE; masking <= MASK_ALL; masking++) {
            Cube cube = cube_new(shape[0], shape[1], shape[2]);
            int64_t last = (int64_t)cube.lines * cube.samples * cube.bands;
            cube_fill_normal(&cube, 100, 10, &seed);
            for (int64_t b = 0; b < cube.bands; b++) {
                cube.data[b] = 0.1F;
                cube.data[last - 1 - b] = 0;
            }
            cube_mask(&cube, masking, &seed);
            for (int32_t line = 0, lines = 1; line < cube.lines; line += lines, lines = lines % 3 + 1) {
                check_block(&rig, &cube, (HcNormalisation)(i % KINDS), line,
                            (int32_t)hc_min64(lines, cube.lines - line));
            }
            cube_free(&cube);
        }
    }
    rig_close(&rig);
}

/* One band has a brightness, and no standard deviation. */
CASE(test_normalise_refuses) {
    (void)state;
    const HcNormalisation snv = HC_NORMALISE_SNV, area = HC_NORMALISE_AREA;
    Rig rig;
    rig_open(&rig, 1);
    HcError *err = &rig.err;
    Cube cube = cube_new(5, 4, 3);
    Cube single = cube_new(5, 4, 1);
    HcBlock in = rig_put_block(&rig, &cube, 1, 3, 0);
    HcBlock one = rig_put_block(&rig, &single, 1, 3, 0);
    HcBlock out = rig_alloc_block(&rig, &cube, 1, 3, 0, 3);
    HcBlock more = rig_alloc_block(&rig, &cube, 1, 4, 0, 3);
    HcBlock bands = rig_alloc_block(&rig, &cube, 1, 3, 0, 1);
    HcBlock none = {.lines = 3, .samples = 4, .bands = 3};
    const double *weight = rig_put(&rig, (double[]){1, 1, 1}, 3 * sizeof(double));
    check_fails(hc_normalise(NULL, &in, snv, NULL, &out, err), HC_E_USAGE, rig.err);
    check_fails(hc_normalise(rig.queue, NULL, snv, NULL, &out, err), HC_E_USAGE, rig.err);
    check_fails(hc_normalise(rig.queue, &in, snv, NULL, &none, err), HC_E_USAGE, rig.err);
    check_fails(hc_normalise(rig.queue, &in, snv, NULL, &more, err), HC_E_USAGE, rig.err);
    check_fails(hc_normalise(rig.queue, &in, snv, NULL, &bands, err), HC_E_USAGE, rig.err);
    check_fails(hc_normalise(rig.queue, &one, snv, NULL, &bands, err), HC_E_USAGE, rig.err);
    check_fails(hc_normalise(rig.queue, &in, area, NULL, &out, err), HC_E_USAGE, rig.err);
    check_fails(hc_normalise(rig.queue, &in, snv, weight, &out, err), HC_E_USAGE, rig.err);
    check_fails(hc_normalise(rig.queue, &in, (HcNormalisation)7, NULL, &out, err), HC_E_USAGE, rig.err);
    check_ok(hc_normalise(rig.queue, &one, HC_NORMALISE_BRIGHTNESS, NULL, &bands, err), rig.err);
    cube_free(&cube);
    cube_free(&single);
    rig_close(&rig);
}
