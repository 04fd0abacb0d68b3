#include "tests/conformance/rig.h"

#include "core/operation/spectrum/calibrate.h"

#include <stdlib.h>

/* Numbers of the columns [host], and the same on the device. */
typedef struct Numbers {
    double *offset, *slope, *gain;
    float *limit;
    uint8_t *live;
    HcCalibration how;
} Numbers;

static double between(double low, double high, uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (double)(*seed >> 40) / 16777216.0;
}

static Numbers numbers_new(const Cube *cube, uint64_t *seed) {
    size_t values = (size_t)cube->samples * (size_t)cube->bands;
    Numbers made = {.offset = calloc(values, sizeof(double)),
                    .slope = calloc(values, sizeof(double)),
                    .gain = calloc(values, sizeof(double)),
                    .limit = calloc((size_t)cube->bands, sizeof(float)),
                    .live = calloc((size_t)cube->samples, 1)};
    for (size_t i = 0; i < values; i++) {
        made.offset[i] = between(10, 30, seed);
        made.slope[i] = between(-0.5, 0.5, seed);
        made.gain[i] = between(0.001, 0.002, seed);
    }
    for (int32_t b = 0; b < cube->bands; b++) {
        made.limit[b] = b == cube->bands / 2 ? cube_at(cube, cube->lines / 2, cube->samples / 2, b) : 1e30F;
    }
    for (int64_t s = 0; s < cube->samples; s++) {
        made.live[s] = s % 5 != 1;
    }
    return made;
}

static void numbers_free(Numbers *made) {
    free(made->offset);
    free(made->slope);
    free(made->gain);
    free(made->limit);
    free(made->live);
}

static void numbers_put(Rig *rig, const Cube *cube, bool drifts, bool saturates, Numbers *made) {
    size_t bytes = (size_t)cube->samples * (size_t)cube->bands * sizeof(double);
    made->how = (HcCalibration){
        .offset = rig_put(rig, made->offset, bytes),
        .slope = drifts ? rig_put(rig, made->slope, bytes) : NULL,
        .gain = rig_put(rig, made->gain, bytes),
        .limit = saturates ? rig_put(rig, made->limit, (size_t)cube->bands * sizeof(float)) : NULL,
        .live = rig_put(rig, made->live, (size_t)cube->samples)};
}

/* Whether a pixel stays, by the definition. */
static bool stays(const Cube *cube, const Numbers *made, int64_t line, int64_t s) {
    bool valid = cube->mask[line * cube->samples + s] != 0 && made->live[s] != 0;
    for (int64_t b = 0; made->how.limit != NULL && b < cube->bands; b++) {
        valid = valid && cube_at(cube, line, s, b) < made->limit[b];
    }
    return valid;
}

static float expected(const Cube *cube, const Numbers *made, int64_t line, int64_t s, int64_t b) {
    int64_t at = s * cube->bands + b;
    volatile double drift = made->how.slope != NULL ? (double)line * made->slope[at] : 0;
    volatile double offset = made->offset[at] + drift;
    volatile double range = (double)cube_at(cube, line, s, b) - offset;
    return (float)(range * made->gain[at]);
}

/* Returns how many pixels were masked. */
static int64_t check_block(Rig *rig, const Cube *cube, Numbers *made, int64_t line0, int32_t lines) {
    int64_t masked = 0;
    HcBlock in = rig_put_block(rig, cube, line0, lines, 1);
    HcBlock out = rig_alloc_block(rig, cube, line0, lines, 0, cube->bands);
    check_ok(hc_calibrate(rig->queue, &in, &made->how, &out, &rig->err), rig->err);
    Cube got = rig_get_block(rig, &out);
    for (int64_t line = 0; line < lines; line++) {
        for (int64_t s = 0; s < cube->samples; s++) {
            bool valid = stays(cube, made, line0 + line, s);
            masked += !valid;
            assert_int_equal(got.mask[line * cube->samples + s], valid);
            for (int64_t b = 0; b < cube->bands; b++) {
                check_same(cube_at(&got, line, s, b), valid ? expected(cube, made, line0 + line, s, b) : 0);
            }
        }
    }
    cube_free(&got);
    return masked;
}

/* Small odd shapes, in blocks of one to three lines, without and with masked pixels, drift and saturation. */
SMALL(test_calibrate) {
    (void)state;
    static const int32_t shapes[][3] = {{1, 1, 1}, {7, 1, 5}, {2, 2, 3}, {19, 70, 17}, {9, 5, 40}};
    Rig rig;
    uint64_t seed = 1;
    rig_open(&rig, 2);
    for (size_t i = 0; i < 4 * sizeof shapes / sizeof shapes[0]; i++) {
        const int32_t *shape = shapes[i / 4];
        int64_t masked = 0;
        Cube cube = cube_new(shape[0], shape[1], shape[2]);
        cube_fill_normal(&cube, 100, 10, &seed);
        Masking masking = (Masking)(i % 3);
        cube_mask(&cube, masking, &seed);
        Numbers made = numbers_new(&cube, &seed);
        for (int32_t line = 0, lines = 1; line < cube.lines; line += lines, lines = lines % 3 + 1) {
            numbers_put(&rig, &cube, i % 2 == 0, i % 4 < 2, &made);
            masked += check_block(&rig, &cube, &made, line, (int32_t)hc_min64(lines, cube.lines - line));
            rig_empty(&rig);
        }
        assert_true(shape[1] < 70 || masking >= MASK_ALL ||
                    (masked > 0 && masked < (int64_t)shape[0] * shape[1]));
        numbers_free(&made);
        cube_free(&cube);
    }
    rig_close(&rig);
}

CASE(test_calibrate_refuses) {
    (void)state;
    Rig rig;
    uint64_t seed = 1;
    rig_open(&rig, 1);
    HcError *err = &rig.err;
    Cube cube = cube_new(5, 4, 3);
    Numbers made = numbers_new(&cube, &seed);
    numbers_put(&rig, &cube, false, false, &made);
    HcBlock in = rig_put_block(&rig, &cube, 1, 3, 0);
    HcBlock out = rig_alloc_block(&rig, &cube, 1, 3, 0, 3);
    HcBlock more = rig_alloc_block(&rig, &cube, 1, 4, 0, 3);
    HcBlock bands = rig_alloc_block(&rig, &cube, 1, 3, 0, 4);
    HcBlock none = {.lines = 3, .samples = 4, .bands = 3};
    const HcCalibration *how = &made.how;
    HcCalibration lacks_gain = *how, lacks_live = *how, lacks_offset = *how;
    lacks_gain.gain = NULL;
    lacks_live.live = NULL;
    lacks_offset.offset = NULL;
    check_fails(hc_calibrate(NULL, &in, how, &out, err), HC_E_USAGE, rig.err);
    check_fails(hc_calibrate(rig.queue, NULL, how, &out, err), HC_E_USAGE, rig.err);
    check_fails(hc_calibrate(rig.queue, &in, how, &none, err), HC_E_USAGE, rig.err);
    check_fails(hc_calibrate(rig.queue, &in, how, &more, err), HC_E_USAGE, rig.err);
    check_fails(hc_calibrate(rig.queue, &in, how, &bands, err), HC_E_USAGE, rig.err);
    check_fails(hc_calibrate(rig.queue, &in, NULL, &out, err), HC_E_USAGE, rig.err);
    check_fails(hc_calibrate(rig.queue, &in, &lacks_gain, &out, err), HC_E_USAGE, rig.err);
    check_fails(hc_calibrate(rig.queue, &in, &lacks_live, &out, err), HC_E_USAGE, rig.err);
    check_fails(hc_calibrate(rig.queue, &in, &lacks_offset, &out, err), HC_E_USAGE, rig.err);
    numbers_free(&made);
    cube_free(&cube);
    rig_close(&rig);
}
