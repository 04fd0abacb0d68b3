#include "tests/conformance/rig.h"

#include "core/operation/image/store.h"

#include <math.h>
#include <string.h>

/* Where a value of the block lies in the file of its lines. */
static int64_t place_of(const Cube *cube, HcInterleave interleave, int64_t lines, int64_t line, int64_t s,
                        int64_t b) {
    return interleave == HC_BSQ   ? (b * lines + line) * cube->samples + s
           : interleave == HC_BIL ? (line * cube->bands + b) * cube->samples + s
                                  : (line * cube->samples + s) * cube->bands + b;
}

static void check_block(Rig *rig, const Cube *cube, int64_t line0, int32_t lines, const HcStoring *how) {
    const size_t values = (size_t)lines * (size_t)cube->samples * (size_t)cube->bands;
    HcBlock in = rig_put_block(rig, cube, line0, lines, 1);
    HcBuffer to = {0};
    check_ok(hc_alloc(rig->compute, HC_MEMORY_HOST, (values + 1) * sizeof(float), &to, &rig->err), rig->err);
    float *got = to.data;
    memset(got, 0xFF, (values + 1) * sizeof *got);
    check_ok(hc_store(rig->queue, &in, how, got, &rig->err), rig->err);
    check_ok(hc_wait(rig->queue, &rig->err), rig->err);
    for (int64_t line = 0; line < lines; line++) {
        for (int64_t s = 0; s < cube->samples; s++) {
            for (int64_t b = 0; b < cube->bands; b++) {
                float value = cube_at(cube, line0 + line, s, b);
                bool valid = cube->mask[(line0 + line) * cube->samples + s] != 0 && !isnan(value);
                value = !valid ? how->nodata : value == how->nodata ? how->beside : value;
                assert_memory_equal(got + place_of(cube, how->interleave, lines, line, s, b), &value,
                                    sizeof value);
            }
        }
    }
    const uint32_t untouched = UINT32_MAX;
    assert_memory_equal(got + values, &untouched, sizeof untouched);
    hc_release(rig->compute, &to);
    rig_empty(rig);
}

/* Small odd shapes, in blocks of one to three lines with context, in all orders. Values are few integers, so
 * that some are nodata; some are NaN. */
SMALL(test_store) {
    (void)state;
    static const int32_t shapes[][3] = {{1, 1, 1}, {7, 1, 5}, {2, 2, 3}, {5, 70, 17}, {3, 131, 33}};
    const HcStoring orders[] = {{HC_BSQ, NAN, NAN}, {HC_BIL, 3, 4}, {HC_BIP, -9999, -9998}, {HC_BSQ, 0, 0}};
    Rig rig;
    uint64_t seed = 1;
    rig_open(&rig, 2);
    for (size_t i = 0; i < 4 * sizeof shapes / sizeof shapes[0]; i++) {
        const int32_t *shape = shapes[i / 4];
        Cube cube = cube_new(shape[0], shape[1], shape[2]);
        cube_fill_integers(&cube, 0, 5, &seed);
        cube.data[0] = NAN;
        cube_mask(&cube, (Masking)(i / 4 % 3), &seed);
        for (int32_t line = 0, lines = 1; line < cube.lines; line += lines, lines = lines % 3 + 1) {
            check_block(&rig, &cube, line, (int32_t)hc_min64(lines, cube.lines - line), &orders[i % 4]);
        }
        cube_free(&cube);
    }
    rig_close(&rig);
}

CASE(test_store_refuses) {
    (void)state;
    Rig rig;
    rig_open(&rig, 1);
    HcError *err = &rig.err;
    Cube cube = cube_new(5, 4, 3);
    HcBlock in = rig_put_block(&rig, &cube, 1, 3, 0);
    HcBlock none = {.lines = 3, .samples = 4, .bands = 3};
    const HcStoring how = {HC_BSQ, 0, 0}, unknown = {(HcInterleave)7, 0, 0};
    float to[36];
    check_fails(hc_store(NULL, &in, &how, to, err), HC_E_USAGE, rig.err);
    check_fails(hc_store(rig.queue, NULL, &how, to, err), HC_E_USAGE, rig.err);
    check_fails(hc_store(rig.queue, &none, &how, to, err), HC_E_USAGE, rig.err);
    check_fails(hc_store(rig.queue, &in, NULL, to, err), HC_E_USAGE, rig.err);
    check_fails(hc_store(rig.queue, &in, &unknown, to, err), HC_E_USAGE, rig.err);
    check_fails(hc_store(rig.queue, &in, &how, NULL, err), HC_E_USAGE, rig.err);
    cube_free(&cube);
    rig_close(&rig);
}
