/* reduce: against sums in long double, in the order of the bands. */
#include "tests/conformance/rig.h"

#include "core/operation/image/reduce.h"

#include <stdlib.h>

enum { KINDS = HC_REDUCE_DIVERGENCE + 1 }; /* those of one band for each target */

/* Sums of a pixel and a target: of squares, products, magnitudes of products. */
typedef struct Sums {
    long double yy, tt, yt, size;
} Sums;

static Sums sums_of(const float *y, const double *t, int64_t bands) {
    Sums sums = {0};
    for (int64_t b = 0; b < bands; b++) {
        long double product = t != NULL ? (long double)y[b] * (long double)t[b] : 0;
        sums.yy += (long double)y[b] * (long double)y[b];
        sums.tt += t != NULL ? (long double)t[b] * (long double)t[b] : 0;
        sums.yt += product;
        sums.size += fabsl(product);
    }
    return sums;
}

/* |y|^2 |t|^2 sin^2, by Lagrange's identity: nothing cancels at small angles. */
static long double crosses(const float *y, const double *t, int64_t bands) {
    long double sum = 0;
    for (int64_t i = 0; i < bands; i++) {
        for (int64_t j = 0; j < i; j++) {
            long double cross = (long double)y[i] * (long double)t[j] - (long double)y[j] * (long double)t[i];
            sum += cross * cross;
        }
    }
    return sum;
}

/* By its definition, in long double; *size: the sum of the magnitudes that are added, with the derivatives of
 * their logarithms. */
static long double divergence_of(const float *y, const double *t, int64_t bands, long double *size) {
    long double y_sum = 0, t_sum = 0, sum = 0;
    for (int64_t b = 0; b < bands; b++) {
        if (y[b] <= 0 || t[b] <= 0) {
            return INFINITY;
        }
        y_sum += (long double)y[b];
        t_sum += (long double)t[b];
    }
    for (int64_t b = 0; b < bands; b++) {
        long double p = (long double)y[b] / y_sum;
        long double q = (long double)t[b] / t_sum;
        sum += p * logl(p / q) + q * logl(q / p);
        *size += (p + q) * (fabsl(logl(p / q)) + 1);
    }
    return sum;
}

/* Rounding to float32, and some float64 roundings a band of what is summed. */
static void check_value(HcReduction kind, const float *y, const double *t, int64_t bands, float got) {
    Sums sums = sums_of(y, t, bands);
    double unit = 0x1p-52 * (double)(bands + 16);
    long double expected = sums.yy;
    long double bound = sums.yy * unit;
    long double both = sums.yy * sums.tt;
    if (kind == HC_REDUCE_MATCH) {
        expected = sums.tt == 0 ? 0 : sums.yt / sums.tt;
        bound = sums.tt == 0 ? 0 : sums.size / sums.tt * unit;
    } else if (kind == HC_REDUCE_COHERENCE) {
        long double off = sums.size * unit;
        expected = both == 0 ? 0 : sums.yt * fabsl(sums.yt) / both;
        bound = both == 0 ? 0 : (2 * fabsl(sums.yt) * off + off * off) / both + fabsl(expected) * unit;
    } else if (kind == HC_REDUCE_ANGLE) {
        expected = both == 0 ? acosl(0) : atan2l(sqrtl(crosses(y, t, bands)), sums.yt);
        bound = unit;
    } else if (kind == HC_REDUCE_POWER) {
        long double off = sums.size * unit;
        expected = sums.tt == 0 ? 0 : sums.yt * fabsl(sums.yt) / sums.tt;
        bound = sums.tt == 0 ? 0 : (2 * fabsl(sums.yt) * off + off * off) / sums.tt + fabsl(expected) * unit;
    } else if (kind == HC_REDUCE_DIVERGENCE) {
        long double size = 0;
        expected = divergence_of(y, t, bands, &size);
        bound = 4 * size * unit;
        if (isinf(expected)) {
            assert_true(isinf(got) && got > 0);
            return;
        }
    }
    check_near(got, (double)expected, (double)(bound + fabsl(expected) * 0x1p-24) + 0x1p-149);
}

/* Reduces the lines of a cube, into host memory made here. */
static Cube reduce_lines(Rig *rig, const Cube *cube, HcReduction kind, const double *targets, int32_t count,
                         int64_t line, int32_t lines, int32_t halo) {
    size_t bytes = (size_t)count * (size_t)cube->bands * sizeof *targets;
    HcBlock in = rig_put_block(rig, cube, line, lines, halo);
    HcBlock out = rig_alloc_block(rig, cube, line, lines, halo / 2, count);
    const double *there = kind != HC_REDUCE_SQUARES ? rig_put(rig, targets, bytes) : NULL;
    check_ok(hc_reduce(rig->queue, &in, kind, there, &out, &rig->err), rig->err);
    Cube got = rig_get_block(rig, &out);
    rig_empty(rig);
    return got;
}

static void check_cube(const Cube *cube, const Cube *got, HcReduction kind, const double *targets) {
    int64_t pixels = (int64_t)cube->lines * cube->samples;
    assert_memory_equal(got->mask, cube->mask, (size_t)pixels);
    for (int64_t p = 0; p < pixels; p++) {
        for (int64_t j = 0; j < got->bands; j++) {
            float value = got->data[p * got->bands + j];
            if (cube->mask[p] != 0) {
                check_value(kind, cube->data + p * cube->bands, targets + j * cube->bands, cube->bands,
                            value);
            } else {
                check_same(value, 0.0);
            }
        }
    }
}

/* The first of the targets is a pixel, the second its opposite, but for rounding of the others. */
static double *targets_of(const Cube *cube, int32_t count, uint64_t *seed) {
    double *targets = malloc((size_t)count * (size_t)cube->bands * sizeof *targets);
    assert_non_null(targets);
    for (int64_t i = 0; i < (int64_t)count * cube->bands; i++) {
        double near = (double)cube->data[i % cube->bands];
        targets[i] = i < cube->bands ? near : i < 2 * cube->bands ? -near * 1e-3 : random_normal(seed);
    }
    return targets;
}

/* What divergences are defined for. */
static void all_positive(Cube *cube, double *targets, int32_t count) {
    for (int64_t i = 0; i < (int64_t)cube->lines * cube->samples * cube->bands; i++) {
        cube->data[i] = fabsf(cube->data[i]) + 1e-3F;
    }
    for (int64_t i = 0; i < (int64_t)count * cube->bands; i++) {
        targets[i] = fabs(targets[i]) + 1e-3;
    }
}

CASE(test_reduce) {
    (void)state;
    static const int32_t shapes[][4] = {{1, 1, 1, 1},  {1, 150, 3, 5},  {6, 1, 7, 2},
                                        {3, 61, 8, 3}, {5, 140, 31, 1}, {3, 4, 425, 4}};
    uint64_t seed = 11;
    for (size_t round = 0; round < sizeof shapes / sizeof shapes[0] * KINDS; round++) {
        const int32_t *shape = shapes[round / KINDS];
        HcReduction kind = (HcReduction)(round % KINDS);
        int32_t count = kind == HC_REDUCE_SQUARES ? 1 : shape[3];
        Cube cube = cube_new(shape[0], shape[1], shape[2]);
        cube_fill_normal(&cube, 1, 3, &seed);
        double *targets = targets_of(&cube, count, &seed);
        if (kind == HC_REDUCE_DIVERGENCE && round % 2 == 1) {
            all_positive(&cube, targets, count);
        }
        cube_mask(&cube, round == 21 ? MASK_ALL : round % 5 == 0 ? MASK_NONE : MASK_SOME, &seed);
        Cube first = {0};
        for (int32_t threads = 1; threads <= 3; threads++) {
            Rig rig;
            rig_open(&rig, threads);
            if (threads == 1) {
                first = reduce_lines(&rig, &cube, kind, targets, count, 0, cube.lines, 0);
                check_cube(&cube, &first, kind, targets);
            }
            for (int32_t line = 0; line < cube.lines; line += threads) {
                int32_t lines = line + threads <= cube.lines ? threads : cube.lines - line;
                int32_t halo = threads % 3;
                Cube got = reduce_lines(&rig, &cube, kind, targets, count, line, lines, halo);
                rig_check_rows(&got, &first, line, halo / 2);
                cube_free(&got);
            }
            rig_close(&rig);
        }
        cube_free(&first);
        cube_free(&cube);
        free(targets);
    }
}

/* Share and distance of each pixel by their definitions, for targets and deviations in one array. */
static void check_mixture(const Cube *cube, const Cube *got, const double *targets, int32_t count) {
    const double *d = targets + (size_t)count * (size_t)cube->bands;
    for (int64_t at = 0; at < (int64_t)cube->lines * cube->samples * count; at++) {
        const float *y = cube->data + at / count * cube->bands;
        const double *t = targets + at % count * cube->bands;
        long double yt = 0, tt = 0, size = 0, apart = 0, rest_size = 0;
        for (int64_t b = 0; b < cube->bands; b++) {
            long double weight = 1 / ((long double)d[b] * (long double)d[b]);
            yt += (long double)y[b] * (long double)t[b] * weight;
            tt += (long double)t[b] * (long double)t[b] * weight;
            size += fabsl((long double)y[b] * (long double)t[b]) * weight;
        }
        long double share = tt == 0 ? 0 : yt / tt;
        long double within = fminl(fmaxl(share, 0), 1);
        for (int64_t b = 0; b < cube->bands; b++) {
            long double s = (long double)d[b] + within * (1 - (long double)d[b]);
            long double rest = ((long double)y[b] - share * (long double)t[b]) / s;
            apart += rest * rest;
            rest_size += (fabsl((long double)y[b]) + fabsl(share * (long double)t[b])) / s;
        }
        apart = sqrtl(apart / cube->bands);
        long double unit = 0x1p-52L * (cube->bands + 16);
        long double off = tt == 0 ? 0 : size / tt * unit;
        bool valid = cube->mask[at / count] != 0;
        check_near(got->data[2 * at], valid ? (double)share : 0,
                   valid ? (double)(off + fabsl(share) * 0x1p-24L) + 0x1p-149 : 0);
        check_near(got->data[2 * at + 1], valid ? (double)apart : 0,
                   valid ? (double)(rest_size * (unit + off) * 4 + apart * 0x1p-24L) : 0);
    }
}

/* Pixels that are mixtures of a background of variances 1 to 9 with a target, of every share. */
SMALL(test_reduce_mixture) {
    (void)state;
    enum { COUNT = 3 };
    uint64_t seed = 5;
    for (int32_t bands = 1; bands <= 37; bands += 6) {
        Cube cube = cube_new(3, 70, bands);
        cube_fill_normal(&cube, 1, 3, &seed);
        double *targets = targets_of(&cube, COUNT + 1, &seed);
        for (int32_t b = 0; b < bands; b++) {
            targets[bands + b] = bands > 8 ? targets[bands + b] : 0; /* a target of zeros */
            targets[COUNT * bands + b] = 1 + fmod(fabs(targets[COUNT * bands + b]), 2);
        }
        cube_mask(&cube, bands == 13 ? MASK_ALL : MASK_SOME, &seed);
        Rig rig;
        rig_open(&rig, 2);
        HcBlock in = rig_put_block(&rig, &cube, 0, cube.lines, 0);
        HcBlock out = rig_alloc_block(&rig, &cube, 0, cube.lines, 0, 2 * COUNT);
        const double *there = rig_put(&rig, targets, (size_t)((COUNT + 1) * bands) * sizeof *targets);
        check_ok(hc_reduce(rig.queue, &in, HC_REDUCE_MIXTURE, there, &out, &rig.err), rig.err);
        Cube got = rig_get_block(&rig, &out);
        check_mixture(&cube, &got, targets, COUNT);
        cube_free(&got);
        rig_close(&rig);
        cube_free(&cube);
        free(targets);
    }
}

/* One pixel of two bands with one target. */
static float reduce_two(Rig *rig, HcReduction kind, float a, float b, double c, double d) {
    Cube cube = cube_new(1, 1, 2);
    double target[2] = {c, d};
    cube.data[0] = a;
    cube.data[1] = b;
    Cube got = reduce_lines(rig, &cube, kind, target, 1, 0, 1, 0);
    float value = got.data[0];
    assert_int_equal(got.mask[0], 1);
    cube_free(&cube);
    cube_free(&got);
    return value;
}

/* Angles that are known, down to those that a cosine in float64 cannot tell from 0; and signs. */
CASE(test_reduce_angles) {
    (void)state;
    const double quarter = acos(0);
    Rig rig;
    rig_open(&rig, 2);
    check_same(reduce_two(&rig, HC_REDUCE_ANGLE, 3, 4, 3, 4), 0.0);
    check_same(reduce_two(&rig, HC_REDUCE_ANGLE, 6, 8, 3, 4), 0.0);
    check_same(reduce_two(&rig, HC_REDUCE_ANGLE, 6, 8, -3, -4), (double)(float)(2 * quarter));
    check_same(reduce_two(&rig, HC_REDUCE_ANGLE, 3, 4, 4, -3), (double)(float)quarter);
    check_near(reduce_two(&rig, HC_REDUCE_ANGLE, 0.1F, 0.7F, 3 * (double)0.1F, 3 * (double)0.7F), 0, 1e-15);
    for (int power = 1; power <= 40; power++) {
        float small = ldexpf(1, -power);
        double angle = atan((double)small);
        check_near(reduce_two(&rig, HC_REDUCE_ANGLE, 1, small, 1, 0), angle, angle * 0x1p-23);
        check_near(reduce_two(&rig, HC_REDUCE_ANGLE, 1e15F, 1e15F * small, 1e-20, 0), angle, angle * 0x1p-22);
    }
    check_same(reduce_two(&rig, HC_REDUCE_COHERENCE, 3, 4, 6, 8), 1.0);
    check_same(reduce_two(&rig, HC_REDUCE_COHERENCE, 3, 4, -6, -8), -1.0);
    check_same(reduce_two(&rig, HC_REDUCE_COHERENCE, 1, 1, -1, 0), -0.5);
    check_same(reduce_two(&rig, HC_REDUCE_COHERENCE, 1, 1, 1, -1), 0.0);
    check_same(reduce_two(&rig, HC_REDUCE_POWER, 3, 4, -6, -8), -25.0);
    check_same(reduce_two(&rig, HC_REDUCE_POWER, 2, 5, 4, 0), 4.0);
    check_same(reduce_two(&rig, HC_REDUCE_DIVERGENCE, 3, 4, 6, 8), 0.0);
    check_near(reduce_two(&rig, HC_REDUCE_DIVERGENCE, 1, 3, 6, 2), log(3), 1e-7);
    check_same(reduce_two(&rig, HC_REDUCE_MATCH, 0.75F, 1, 3, 4), 0.25);
    check_same(reduce_two(&rig, HC_REDUCE_MATCH, -3, -4, 3, 4), -1.0);
    check_same(reduce_two(&rig, HC_REDUCE_SQUARES, 3, -4, 0, 0), 25.0);
    rig_close(&rig);
}

/* Vectors of zeros, values beyond float32, NaN and infinity. */
SMALL(test_reduce_special) {
    (void)state;
    const double quarter = (double)(float)acos(0);
    Rig rig;
    rig_open(&rig, 1);
    const double of_zero[KINDS] = {0, 0, 0, quarter, 0, INFINITY};
    for (int i = 0; i < KINDS; i++) {
        HcReduction kind = (HcReduction)i;
        check_same(reduce_two(&rig, kind, 0, 0, 3, 4), of_zero[i]);
        check_same(reduce_two(&rig, kind, 0, 0, 0, 0), of_zero[i]);
        assert_true(isnan(reduce_two(&rig, kind, NAN, 1, 3, 4)));
        assert_true(isnan(reduce_two(&rig, kind, 1, -NAN, 0, 0)));
        float infinite = reduce_two(&rig, kind, INFINITY, 1, 3, 4);
        if (kind == HC_REDUCE_SQUARES || kind == HC_REDUCE_MATCH || kind == HC_REDUCE_POWER) {
            assert_true(isinf(infinite) && infinite > 0);
        } else {
            assert_true(isnan(infinite));
        }
        if (kind != HC_REDUCE_SQUARES) {
            check_same(reduce_two(&rig, kind, 3, 4, 0, 0), of_zero[i]);
            assert_true(isnan(reduce_two(&rig, kind, INFINITY, -INFINITY, 3, 4)));
        }
    }
    assert_true(isinf(reduce_two(&rig, HC_REDUCE_SQUARES, 1e30F, 0, 0, 0)));
    assert_true(isinf(reduce_two(&rig, HC_REDUCE_MATCH, 1e30F, 0, 1e-30, 0)));
    check_same(reduce_two(&rig, HC_REDUCE_COHERENCE, 1e38F, 0, 1e100, 0), 1.0);
    check_same(reduce_two(&rig, HC_REDUCE_ANGLE, -1e-45F, 0, 1e-90, 0), 2 * quarter);
    rig_close(&rig);
}

CASE(test_reduce_refuses) {
    (void)state;
    Rig rig;
    rig_open(&rig, 1);
    HcQueue *queue = rig.queue;
    HcError *err = &rig.err;
    Cube cube = cube_new(4, 5, 3);
    HcBlock in = rig_put_block(&rig, &cube, 1, 2, 0);
    HcBlock one = rig_alloc_block(&rig, &cube, 1, 2, 0, 1);
    HcBlock two = rig_alloc_block(&rig, &cube, 1, 2, 0, 2);
    const double *targets = rig_alloc(&rig, 6 * sizeof *targets);
    HcBlock wider = one;
    HcBlock later = one;
    HcBlock none = {.lines = 2, .samples = 5, .bands = 1};
    wider.samples++;
    later.line0++;
    const struct {
        HcReduction kind;
        const HcBlock *in, *out;
        const double *targets;
        const char *says;
    } wrong[] = {{HC_REDUCE_SQUARES, &in, &two, NULL, "squares ... one band ... not 2"},
                 {HC_REDUCE_SQUARES, &in, &one, targets, "not 1 with targets"},
                 {HC_REDUCE_ANGLE, &in, &two, NULL, "targets are missing"},
                 {(HcReduction)(HC_REDUCE_MIXTURE + 1), &in, &one, targets, "number 7"},
                 {HC_REDUCE_MIXTURE, &in, &one, targets, "two bands for each target, not 1"},
                 {(HcReduction)-1, &in, &one, targets, "number -1"},
                 {HC_REDUCE_SQUARES, &in, &wider, NULL, "5 samples in, 6 out"},
                 {HC_REDUCE_SQUARES, &in, &later, NULL, "lines 2 to 3"},
                 {HC_REDUCE_SQUARES, &in, &none, NULL, "output block"},
                 {HC_REDUCE_SQUARES, NULL, &one, NULL, "input block"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        HcStatus status = hc_reduce(queue, wrong[i].in, wrong[i].kind, wrong[i].targets, wrong[i].out, err);
        if (status != HC_E_USAGE || !check_holds(rig.err.text, wrong[i].says)) {
            fail_msg("status %d, '%s' does not say '%s'", (int)status, rig.err.text, wrong[i].says);
        }
        rig.err = (HcError){0};
    }
    check_fails(hc_reduce(NULL, &in, HC_REDUCE_SQUARES, NULL, &one, err), HC_E_USAGE, rig.err);
    cube_free(&cube);
    rig_close(&rig);
}
