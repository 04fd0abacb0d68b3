/* column_scores: the bits of plain sums in the order of the contract, which long double confirms. */
#include "tests/conformance/rig.h"

#include "core/operation/image/column_scores.h"

#include <stdlib.h>

enum { KINDS = HC_COLUMN_COHERENCE + 1 };

/* Filters of a cube, on the host. */
typedef struct Filters {
    HcColumnScoring how;
    int32_t groups, targets, bands;
    double *filter, *deviation, *triangle, *whitening; /* triangle: [groups][bands][bands] */
    uint8_t *scored;
} Filters;

static Filters filters_new(const Cube *cube, int32_t width, int32_t targets, uint64_t *seed) {
    Filters made = {.targets = targets, .bands = cube->bands};
    size_t n = (size_t)cube->bands;
    made.groups = (cube->samples + width - 1) / width;
    size_t groups = (size_t)made.groups;
    made.how.width = width;
    made.how.stride = hc_whitening_values(cube->bands) + (size_t)width % 3 * HC_WHITENING_ROWS;
    made.filter = malloc(groups * (1 + (size_t)targets) * n * sizeof(double));
    made.deviation = malloc(groups * (size_t)targets * sizeof(double));
    made.triangle = calloc(groups * n * n, sizeof(double));
    made.whitening = calloc(groups * made.how.stride, sizeof(double));
    made.scored = malloc(groups);
    assert_true(made.filter && made.deviation && made.triangle && made.whitening && made.scored);
    for (size_t i = 0; i < groups * (1 + (size_t)targets) * n; i++) {
        made.filter[i] = random_normal(seed);
    }
    for (size_t i = 0; i < groups * (size_t)targets; i++) {
        made.deviation[i] = 0.5 + random_uniform(seed);
    }
    for (size_t g = 0; g < groups; g++) {
        made.scored[g] = groups < 3 || g % 5 != 2;
        for (size_t r = 0; r < n; r++) {
            double *quad =
                made.whitening + g * made.how.stride + hc_whitening_offset((int64_t)(r / HC_WHITENING_ROWS));
            for (size_t b = 0; b <= r && r % 7 != 3; b++) { /* a row without a band is zeros */
                double value = random_normal(seed);
                made.triangle[(g * n + r) * n + b] = value;
                quad[b * HC_WHITENING_ROWS + r % HC_WHITENING_ROWS] = value;
            }
        }
    }
    return made;
}

static void filters_free(Filters *made) {
    free(made->filter);
    free(made->deviation);
    free(made->triangle);
    free(made->whitening);
    free(made->scored);
}

/* What a call takes: the same in device memory. */
static HcColumnScoring filters_put(Rig *rig, const Filters *made, HcColumnScore kind) {
    HcColumnScoring how = made->how;
    size_t groups = (size_t)made->groups;
    size_t filter = (1 + (size_t)made->targets) * (size_t)made->bands;
    how.kind = kind;
    how.filter = rig_put(rig, made->filter, groups * filter * sizeof(double));
    how.scored = rig_put(rig, made->scored, groups);
    if (kind != HC_COLUMN_SHARE) {
        how.deviation = rig_put(rig, made->deviation, groups * (size_t)made->targets * sizeof(double));
    }
    if (kind == HC_COLUMN_COHERENCE) {
        how.whitening = rig_put(rig, made->whitening, groups * how.stride * sizeof(double));
    }
    return how;
}

/* The score of a valid pixel in the order of the contract, and in long double. */
typedef struct Score {
    double value;
    long double exact, size; /* size: of what is added, where 1 is the score */
} Score;

static Score score_of(const Filters *made, HcColumnScore kind, const float *x, int32_t group,
                      int32_t target) {
    size_t n = (size_t)made->bands;
    const double *mean = made->filter + (size_t)group * (1 + (size_t)made->targets) * n;
    const double *weight = mean + (1 + (size_t)target) * n;
    const double *triangle = made->triangle + (size_t)group * n * n;
    double deviation = made->deviation[group * made->targets + target];
    double part[8] = {0};
    long double exact = 0, size = 0;
    for (size_t b = 0; b < n; b++) {
        part[b % 8] += ((double)x[b] - mean[b]) * weight[b];
        exact += ((long double)x[b] - mean[b]) * weight[b];
        size += (fabsl((long double)x[b]) + fabsl((long double)mean[b])) * fabsl((long double)weight[b]);
    }
    double sum = ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
    if (kind == HC_COLUMN_SHARE) {
        return (Score){sum, exact, size};
    }
    double along = sum / deviation;
    double value = along * fabs(along);
    size = (2 * fabsl(exact) * size + size * size * 0x1p-40L) / ((long double)deviation * deviation);
    exact = exact * fabsl(exact) / ((long double)deviation * deviation);
    if (kind == HC_COLUMN_POWER) {
        return (Score){value, exact, size + fabsl(exact)};
    }
    double square = 0;
    long double exact_square = 0, square_size = 0;
    for (size_t r = 0; r < n; r++) {
        double y = 0;
        long double exact_y = 0, y_size = 0;
        for (size_t b = 0; b <= r; b++) {
            y += triangle[r * n + b] * ((double)x[b] - mean[b]);
            exact_y += triangle[r * n + b] * ((long double)x[b] - mean[b]);
            y_size += fabsl(triangle[r * n + b] * ((long double)x[b] - mean[b]));
        }
        square += y * y;
        exact_square += exact_y * exact_y;
        square_size += 2 * fabsl(exact_y) * y_size + y_size * y_size * 0x1p-40L;
    }
    if (exact_square == 0) {
        return (Score){0};
    }
    exact /= exact_square;
    return (Score){value / square, exact,
                   size / exact_square + fabsl(exact) * (1 + square_size / exact_square)};
}

static void check_scores(const Cube *cube, const Cube *got, const Filters *made, HcColumnScore kind) {
    for (int64_t p = 0; p < (int64_t)cube->lines * cube->samples; p++) {
        int32_t group = (int32_t)(p % cube->samples) / made->how.width;
        bool valid = cube->mask[p] != 0 && made->scored[group] != 0;
        assert_int_equal(got->mask[p], valid);
        for (int32_t j = 0; j < made->targets; j++) {
            float value = got->data[p * made->targets + j];
            if (!valid) {
                check_same(value, 0.0);
                continue;
            }
            Score score = score_of(made, kind, cube->data + p * cube->bands, group, j);
            long double unit = 0x1p-52L * (cube->bands + 16);
            check_same(value, (double)(float)score.value);
            check_near(value, (double)score.exact,
                       (double)(score.size * unit + fabsl(score.exact) * 0x1p-24L) + 0x1p-149);
        }
    }
}

static Cube score_lines(Rig *rig, const Cube *cube, const Filters *made, HcColumnScore kind, int64_t line,
                        int32_t lines, int32_t halo) {
    HcColumnScoring how = filters_put(rig, made, kind);
    HcBlock in = rig_put_block(rig, cube, line, lines, halo);
    HcBlock out = rig_alloc_block(rig, cube, line, lines, halo / 2, made->targets);
    check_ok(hc_column_scores(rig->queue, &in, &how, &out, &rig->err), rig->err);
    Cube got = rig_get_block(rig, &out);
    rig_empty(rig);
    return got;
}

/* Odd shapes, with groups of all sizes, more pixels than a panel has, and more bands than a tile. */
/* Each kind of score, for cuts into blocks and numbers of threads. */
static void check_shape(const int32_t shape[5], int round, uint64_t *seed) {
    HcColumnScore kind = (HcColumnScore)(round % KINDS);
    Cube cube = cube_new(shape[0], shape[1], shape[2]);
    cube_fill_normal(&cube, 1, 3, seed);
    cube_mask(&cube, round == 10 ? MASK_ALL : round % 4 == 0 ? MASK_NONE : MASK_SOME, seed);
    Filters made = filters_new(&cube, shape[3], shape[4], seed);
    Cube whole = {0};
    for (int32_t threads = 1; threads <= 3; threads++) {
        Rig rig;
        rig_open(&rig, threads);
        if (threads == 1) {
            whole = score_lines(&rig, &cube, &made, kind, 0, cube.lines, 0);
            check_scores(&cube, &whole, &made, kind);
        }
        int32_t step = 5 * threads - 4;
        for (int32_t line = 0; line < cube.lines; line += step) {
            int32_t lines = line + step <= cube.lines ? step : cube.lines - line;
            int32_t halo = threads % 3;
            Cube got = score_lines(&rig, &cube, &made, kind, line, lines, halo);
            rig_check_rows(&got, &whole, line, halo / 2);
            cube_free(&got);
        }
        rig_close(&rig);
    }
    cube_free(&whole);
    filters_free(&made);
    cube_free(&cube);
}

CASE(test_column_scores) {
    (void)state;
    /* lines, samples, bands, width, targets */
    static const int32_t shapes[][5] = {{1, 1, 1, 1, 1},     {70, 3, 5, 1, 2},   {6, 17, 7, 5, 1},
                                        {3, 61, 33, 61, 3},  {5, 40, 30, 70, 1}, {53, 2, 285, 1, 1},
                                        {4, 37, 130, 18, 2}, {33, 2, 64, 1, 9}};
    uint64_t seed = 3;
    for (int round = 0; round < (int)(sizeof shapes / sizeof shapes[0]) * KINDS; round++) {
        check_shape(shapes[round / KINDS], round, &seed);
    }
}

SMALL(test_column_scores_small) {
    (void)state;
    uint64_t seed = 5;
    for (int round = 0; round < KINDS; round++) {
        check_shape((const int32_t[5]){6, 17, 7, 5, 1}, round, &seed);
    }
}

/* The mean itself has no direction; NaN stays. */
CASE(test_column_scores_special) {
    (void)state;
    uint64_t seed = 8;
    Cube cube = cube_new(1, 2, 9);
    Filters made = filters_new(&cube, 2, 1, &seed);
    for (int32_t b = 0; b < cube.bands; b++) {
        made.filter[b] = cube.data[b] = (float)b;
        cube.data[cube.bands + b] = b == 4 ? NAN : 1;
    }
    Rig rig;
    rig_open(&rig, 2);
    for (int kind = 0; kind < KINDS; kind++) {
        Cube got = score_lines(&rig, &cube, &made, (HcColumnScore)kind, 0, 1, 0);
        check_same(got.data[0], 0.0);
        assert_true(isnan(got.data[1]));
        assert_true(got.mask[0] == 1 && got.mask[1] == 1);
        cube_free(&got);
    }
    rig_close(&rig);
    filters_free(&made);
    cube_free(&cube);
}

CASE(test_column_scores_refuses) {
    (void)state;
    uint64_t seed = 1;
    Rig rig;
    rig_open(&rig, 1);
    HcError *err = &rig.err;
    Cube cube = cube_new(5, 4, 3);
    Filters made = filters_new(&cube, 2, 2, &seed);
    HcColumnScoring how = filters_put(&rig, &made, HC_COLUMN_COHERENCE);
    HcBlock in = rig_put_block(&rig, &cube, 1, 3, 0);
    HcBlock out = rig_alloc_block(&rig, &cube, 1, 3, 0, 2);
    HcBlock more = rig_alloc_block(&rig, &cube, 1, 4, 0, 2);
    HcBlock none = {.lines = 3, .samples = 4, .bands = 2};
    check_ok(hc_column_scores(rig.queue, &in, &how, &out, err), rig.err);
    check_fails(hc_column_scores(NULL, &in, &how, &out, err), HC_E_USAGE, rig.err);
    check_fails(hc_column_scores(rig.queue, NULL, &how, &out, err), HC_E_USAGE, rig.err);
    check_fails(hc_column_scores(rig.queue, &in, NULL, &out, err), HC_E_USAGE, rig.err);
    check_fails(hc_column_scores(rig.queue, &in, &how, &none, err), HC_E_USAGE, rig.err);
    check_fails(hc_column_scores(rig.queue, &in, &how, &more, err), HC_E_USAGE, rig.err);
    HcColumnScoring wrong[] = {how, how, how, how, how, how, how};
    wrong[0].filter = NULL;
    wrong[1].deviation = NULL;
    wrong[2].whitening = NULL;
    wrong[3].scored = NULL;
    wrong[4].width = 0;
    wrong[5].stride = hc_whitening_values(3) - HC_WHITENING_ROWS;
    wrong[6].stride = how.stride + 1;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        check_fails(hc_column_scores(rig.queue, &in, &wrong[i], &out, err), HC_E_USAGE, rig.err);
    }
    how.kind = (HcColumnScore)KINDS;
    check_fails(hc_column_scores(rig.queue, &in, &how, &out, err), HC_E_USAGE, rig.err);
    filters_free(&made);
    cube_free(&cube);
    rig_close(&rig);
}
