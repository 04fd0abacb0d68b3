/* Scores against windows: the bits of sums that are formed directly, pixel after pixel of each window, and
 * near those of means and covariances in long double. */
#include "tests/conformance/rig.h"

#include "core/operation/image/local.h"

#include <math.h>
#include <stdlib.h>

__extension__ typedef __int128 Wide;

enum { DIRECTIONS = 70 };

/* ---- the reference ---- */

typedef struct Plain {
    const Cube *cube;
    const HcLocalRule *rule;
    double *score; /* [lines][samples], NaN = none */
    bool cut;      /* of the integers that become elements of C, only the first 64 bits count */
} Plain;

/* What the windows of a pixel add up to. */
typedef struct Sums {
    int64_t count;
    int64_t sum[DIRECTIONS];
    Wide product[DIRECTIONS][DIRECTIONS];
} Sums;

/* The integers of a pixel; false where it takes no part. */
static bool whole(const Plain *plain, int64_t line, int64_t sample, int64_t *v) {
    bool takes = plain->cube->mask[line * plain->cube->samples + sample] != 0;
    for (int32_t i = 0; i < plain->rule->directions; i++) {
        double value = (double)cube_at(plain->cube, line, sample, i) * plain->rule->per_unit;
        takes = takes && fabs(value) <= HC_LOCAL_LARGEST;
        v[i] = takes ? (int64_t)rint(value) : 0;
    }
    return takes;
}

static bool inside(int64_t line, int64_t sample, int64_t at_line, int64_t at_sample, int32_t side) {
    return llabs(line - at_line) <= side / 2 && llabs(sample - at_sample) <= side / 2;
}

static void add_window(const Plain *plain, int64_t line, int64_t sample, Sums *to) {
    int32_t n = plain->rule->directions;
    int64_t v[DIRECTIONS];
    memset(to, 0, sizeof *to);
    for (int64_t l = 0; l < plain->cube->lines; l++) {
        for (int64_t s = 0; s < plain->cube->samples; s++) {
            if (!inside(l, s, line, sample, plain->rule->window) ||
                inside(l, s, line, sample, plain->rule->guard) || !whole(plain, l, s, v)) {
                continue;
            }
            to->count++;
            for (int32_t i = 0; i < n; i++) {
                to->sum[i] += v[i];
                for (int32_t j = i; j < n; j++) {
                    to->product[i][j] += (Wide)v[i] * v[j];
                }
            }
        }
    }
}

/* The first 64 bits of a number; the others become 0. */
static Wide cut(Wide number) {
    Wide unit = 1;
    while (number / unit > (Wide)UINT64_MAX || -(number / unit) > (Wide)UINT64_MAX) {
        unit *= 2;
    }
    return number / unit * unit;
}

/* As the contract has it, operation for operation. */
static double score_of(const Plain *plain, const Sums *sums, const int64_t *y) {
    static double c[DIRECTIONS][DIRECTIONS], z[DIRECTIONS], diagonal[DIRECTIONS];
    int32_t n = plain->rule->directions;
    double share = plain->rule->share, unit = plain->rule->per_unit, m = (double)sums->count;
    double scale = (1 - share) / (unit * unit * m * (m - 1));
    double score = 0;
    if (sums->count < 2 || (!(share > 0) && sums->count < n + 1)) {
        return NAN;
    }
    for (int32_t i = 0; i < n; i++) {
        for (int32_t j = i; j < n; j++) {
            Wide exact = sums->count * sums->product[i][j] - (Wide)sums->sum[i] * sums->sum[j];
            c[i][j] = (double)(plain->cut ? cut(exact) : exact) * scale;
        }
        c[i][i] += share;
        diagonal[i] = c[i][i];
        z[i] = (double)(sums->count * y[i] - sums->sum[i]) / (unit * m);
    }
    for (int32_t i = 0; i < n; i++) {
        if (!(c[i][i] > 16 * (double)n * 0x1p-52 * diagonal[i])) {
            return NAN;
        }
        score += z[i] * z[i] / c[i][i];
        for (int32_t j = i + 1; j < n; j++) {
            double factor = c[i][j] / c[i][i];
            for (int32_t k = j; k < n; k++) {
                c[j][k] -= factor * c[i][k];
            }
            z[j] -= factor * z[i];
        }
    }
    return score;
}

/* The same from values that are not rounded to integers, in long double; NaN where it has no inverse. */
static double score_in_long_double(const Plain *plain, const Sums *sums, int64_t line, int64_t sample) {
    static long double c[DIRECTIONS][DIRECTIONS];
    long double mean[DIRECTIONS] = {0}, z[DIRECTIONS], score = 0;
    int32_t n = plain->rule->directions;
    int64_t unused[DIRECTIONS];
    const Cube *cube = plain->cube;
    memset(c, 0, sizeof c);
    for (int turn = 0; turn < 2; turn++) {
        for (int64_t p = 0; p < (int64_t)cube->lines * cube->samples; p++) {
            int64_t l = p / cube->samples, s = p % cube->samples;
            bool takes = inside(l, s, line, sample, plain->rule->window) &&
                         !inside(l, s, line, sample, plain->rule->guard) && whole(plain, l, s, unused);
            for (int32_t i = 0; i < n && takes; i++) {
                long double x = (long double)cube_at(cube, l, s, i);
                mean[i] += turn == 0 ? x / sums->count : 0;
                for (int32_t j = i; j < n && turn == 1; j++) {
                    c[i][j] +=
                        (x - mean[i]) * ((long double)cube_at(cube, l, s, j) - mean[j]) / (sums->count - 1);
                }
            }
        }
    }
    for (int32_t i = 0; i < n; i++) {
        z[i] = (long double)cube_at(cube, line, sample, i) - mean[i];
        for (int32_t j = i; j < n; j++) {
            c[i][j] = (1 - (long double)plain->rule->share) * c[i][j];
        }
        c[i][i] += (long double)plain->rule->share;
    }
    for (int32_t i = 0; i < n; i++) {
        if (!(c[i][i] > 0)) {
            return NAN;
        }
        score += z[i] * z[i] / c[i][i];
        for (int32_t j = i + 1; j < n; j++) {
            long double factor = c[i][j] / c[i][i];
            for (int32_t k = j; k < n; k++) {
                c[j][k] -= factor * c[i][k];
            }
            z[j] -= factor * z[i];
        }
    }
    return (double)score;
}

/* near: scores are compared with those in long double, too. */
static Plain expect(const Cube *cube, const HcLocalRule *rule, bool near) {
    static Sums sums;
    int64_t y[DIRECTIONS];
    Plain plain = {.cube = cube, .rule = rule};
    plain.score = malloc((size_t)cube->lines * (size_t)cube->samples * sizeof(double));
    assert_non_null(plain.score);
    for (int64_t line = 0; line < cube->lines; line++) {
        for (int64_t sample = 0; sample < cube->samples; sample++) {
            double *score = &plain.score[line * cube->samples + sample];
            bool takes = whole(&plain, line, sample, y);
            *score = NAN;
            if (takes) {
                add_window(&plain, line, sample, &sums);
                *score = score_of(&plain, &sums, y);
            }
            if (near && !isnan(*score)) {
                double other = score_in_long_double(&plain, &sums, line, sample);
                check_near(*score, other, 1e-6 * (1 + fabs(other)));
            }
        }
    }
    return plain;
}

/* ---- the operation ---- */

static void *open_local(Rig *rig, const void *rule) {
    HcLocal *made = NULL;
    HcLocalRule given = *(const HcLocalRule *)rule;
    check_ok(hc_local_open(rig->compute, &given, &made, &rig->err), rig->err);
    memset(&given, 0xFF, sizeof given); /* it was copied */
    return made;
}

static HcStatus call(HcQueue *queue, const HcBlock *in, void *made, const HcBlock *out, HcError *err) {
    return hc_local(queue, in, made, out, err);
}

static void close_local(void *made) {
    hc_local_close(made);
}

static RigOperation operation_of(const Cube *cube, const HcLocalRule *rule) {
    return (RigOperation){.cube = cube,
                          .rule = rule,
                          .bands = 1,
                          .halo = hc_local_halo(rule),
                          .keeps_halo = true,
                          .open = open_local,
                          .call = call,
                          .close = close_local};
}

static void check_score(const Cube *got, int64_t pixel, double expected) {
    float value = isnan(expected) ? 0 : (float)expected;
    assert_int_equal(got->mask[pixel], isnan(expected) ? 0 : 1);
    assert_memory_equal(&got->data[pixel], &value, sizeof value);
}

static void check_scene(Rig *rig, const Cube *cube, const HcLocalRule *rule, bool near) {
    Plain plain = expect(cube, rule, near);
    RigOperation operation = operation_of(cube, rule);
    HcLocal *made = open_local(rig, rule);
    Cube got = rig_run_block(rig, &operation, made, 0, cube->lines, 0);
    for (int64_t pixel = 0; pixel < (int64_t)cube->lines * cube->samples; pixel++) {
        check_score(&got, pixel, plain.score[pixel]);
    }
    close_local(made);
    rig_empty(rig);
    free(plain.score);
    cube_free(&got);
}

/* lines, samples, directions, window, guard */
static const int32_t shapes[][5] = {
    {1, 1, 1, 3, 1},     {1, 40, 2, 9, 3},    {33, 1, 2, 7, 1},    {9, 11, 1, 3, 1},    {13, 37, 3, 5, 3},
    {20, 17, 5, 31, 9},  {24, 35, 4, 7, 1},   {12, 70, 2, 21, 19}, {6, 5, 3, 255, 1},   {17, 33, 16, 9, 3},
    {12, 14, 31, 11, 1}, {11, 13, 32, 11, 3}, {10, 12, 67, 13, 1}, {11, 12, 64, 11, 1}, {10, 11, 33, 9, 1},
    {9, 10, 47, 9, 5},   {15, 16, 8, 9, 1},   {14, 15, 25, 9, 1},  {16, 21, 20, 9, 3}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static HcLocalRule rule_of(const int32_t *shape, double share) {
    return (HcLocalRule){.lines = shape[0],
                         .samples = shape[1],
                         .directions = shape[2],
                         .window = shape[3],
                         .guard = shape[4],
                         .share = share,
                         .per_unit = 0x1p37};
}

CASE(test_local) {
    (void)state;
    static const double shares[] = {0, 0.25, 1};
    uint64_t seed = 31;
    for (int32_t threads = 1; threads <= 3; threads += 2) {
        Rig rig;
        rig_open(&rig, threads);
        for (size_t i = 0; i < SHAPES; i++) {
            Cube cube = cube_new(shapes[i][0], shapes[i][1], shapes[i][2]);
            for (Masking masking = MASK_NONE; masking <= MASK_ALL; masking++) {
                HcLocalRule rule = rule_of(shapes[i], shares[(i + (size_t)masking) % 3]);
                memset(cube.mask, 1, (size_t)cube.lines * (size_t)cube.samples);
                cube_fill_normal(&cube, 0.3, 1, &seed);
                cube_mask(&cube, masking, &seed);
                rule.tight = masking == MASK_SOME;
                check_scene(&rig, &cube, &rule, rule.share > 0 && threads == 1);
            }
            cube_free(&cube);
        }
        rig_close(&rig);
    }
}

/* More windows of many pixels, whose covariance is far from singular. */
CASE(test_local_windows) {
    (void)state;
    static const int32_t large[][5] = {{40, 45, 3, 31, 5}, {70, 40, 4, 9, 7}, {34, 130, 2, 15, 1}};
    uint64_t seed = 32;
    Rig rig;
    rig_open(&rig, 2);
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        Cube cube = cube_new(large[i][0], large[i][1], large[i][2]);
        HcLocalRule rule = rule_of(large[i], 0);
        cube_fill_normal(&cube, 2, 1, &seed);
        cube_mask(&cube, MASK_SOME, &seed);
        check_scene(&rig, &cube, &rule, true);
        cube_free(&cube);
    }
    rig_close(&rig);
}

/* Components at the largest integer and beyond it, NaN, flat parts, and a direction that repeats another. */
CASE(test_local_extremes) {
    (void)state;
    static const int32_t shape[] = {19, 23, 3, 7, 3};
    uint64_t seed = 33;
    Rig rig;
    rig_open(&rig, 2);
    for (int turn = 0; turn < 4; turn++) {
        Cube cube = cube_new(shape[0], shape[1], shape[2]);
        HcLocalRule rule = rule_of(shape, turn == 3 ? 0.5 : 0);
        cube_fill_normal(&cube, 0, 1, &seed);
        for (int32_t p = 0; p < shape[0] * shape[1]; p++) {
            float *x = cube.data + (size_t)p * 3;
            if (turn == 0) { /* as large as can be, of one sign: the largest sums */
                x[0] = x[1] = 128;
                x[2] = -128;
            } else if (turn == 1) {
                x[0] = p % 5 == 0 ? 128.00001F : p % 7 == 0 ? -128.00001F : 127;
                x[1] = p % 31 == 0 ? NAN : p % 37 == 0 ? INFINITY : x[1];
            } else {
                bool flat = p / shape[1] > 9 && p % shape[1] < 12;
                x[0] = flat ? 0.5F : x[0];
                x[2] = p % shape[1] > 14 ? x[1] : x[2];
            }
        }
        check_scene(&rig, &cube, &rule, false);
        cube_free(&cube);
    }
    rig_close(&rig);
}

/* The largest sums of all: every pixel of the largest window has components of the largest integer. Of two
 * lines, all but one pixel are alike. */
SMALL(test_local_largest) {
    (void)state;
    enum { SIDE = 261, SAMPLES = 300 };
    static HcLocalRule rule = {
        .lines = SIDE, .samples = SAMPLES, .directions = 1, .window = 255, .guard = 1, .per_unit = 0x1p37};
    Rig rig;
    rig_open(&rig, 2);
    Cube cube = cube_new(SIDE, SAMPLES, 1);
    for (int64_t p = 0; p < (int64_t)SIDE * SAMPLES; p++) {
        cube.data[p] = p % 2 == 0 ? 128 : 127.99999F;
    }
    RigOperation operation = operation_of(&cube, &rule);
    HcLocal *made = open_local(&rig, &rule);
    Cube got = rig_run_block(&rig, &operation, made, 128, 5, 0);
    Plain plain = {.cube = &cube, .rule = &rule};
    for (int64_t line = 128; line < 133; line += 2) {
        for (int64_t sample = 0; sample < SAMPLES; sample += 23) {
            static Sums sums;
            int64_t y[DIRECTIONS];
            assert_true(whole(&plain, line, sample, y));
            add_window(&plain, line, sample, &sums);
            check_score(&got, (line - 128) * SAMPLES + sample, score_of(&plain, &sums, y));
        }
    }
    close_local(made);
    cube_free(&got);
    cube_free(&cube);
    rig_close(&rig);
}

/* All bits of the integers that become elements of C decide how these are rounded. Few pixels are large and
 * the others small, so that sums of products have bits of all weights. Two components that are nearly alike
 * show the last bit of an element. */
CASE(test_local_rounding) {
    (void)state;
    static const int32_t shape[] = {60, 60, 2, 5, 1};
    uint64_t seed = 36;
    int64_t differ = 0;
    Rig rig;
    rig_open(&rig, 2);
    Cube cube = cube_new(shape[0], shape[1], shape[2]);
    HcLocalRule rule = rule_of(shape, 0);
    for (int64_t p = 0; p < 60 * 60; p++) {
        bool large = random_bits(&seed) % 8 == 0;
        double first = (double)random_between(&seed, -0xFFFFFF, 0xFFFFFF) * (large ? 0x1p-17 : 0x1p-37);
        double second = (double)random_between(&seed, -0xFFFFFF, 0xFFFFFF) * 0x1p-37;
        cube.data[2 * p] = (float)first;
        cube.data[2 * p + 1] = (float)(large ? first + second : second);
    }
    RigOperation operation = operation_of(&cube, &rule);
    HcLocal *made = open_local(&rig, &rule);
    Cube got = rig_run_block(&rig, &operation, made, 0, cube.lines, 0);
    Plain plain = {.cube = &cube, .rule = &rule};
    for (int64_t p = 0; p < 60 * 60; p++) {
        static Sums sums;
        int64_t y[DIRECTIONS];
        assert_true(whole(&plain, p / 60, p % 60, y));
        add_window(&plain, p / 60, p % 60, &sums);
        plain.cut = false;
        double score = score_of(&plain, &sums, y);
        check_score(&got, p, score);
        plain.cut = true;
        differ += (float)score_of(&plain, &sums, y) != (float)score;
    }
    assert_true(differ > 0);
    close_local(made);
    cube_free(&got);
    cube_free(&cube);
    rig_close(&rig);
}

/* A pixel has the same bits for every cut into blocks, every spare line of halo and every number of threads.
 * Pixels without a score are counted once. */
CASE(test_local_blocks) {
    (void)state;
    static const int32_t large[][5] = {{37, 21, 5, 9, 3}, {75, 40, 2, 31, 29}, {41, 14, 33, 11, 1}};
    uint64_t seed = 34;
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        Cube cube = cube_new(large[i][0], large[i][1], large[i][2]);
        HcLocalRule rule = rule_of(large[i], i == 0 ? 0 : 0.1);
        cube_fill_normal(&cube, 1, 1, &seed);
        cube_mask(&cube, MASK_SOME, &seed);
        RigOperation operation = operation_of(&cube, &rule);
        Cube whole_scene = rig_run(&operation, 1);
        for (int32_t threads = 1; threads <= 3; threads += 2) {
            rig_check_cuts(&operation, threads, (int32_t[]){13, 7, 4, 1, 0}, &whole_scene);
        }
        cube_free(&whole_scene);
        cube_free(&cube);
    }
}

/* Lines of context are scored, too. */
CASE(test_local_context) {
    (void)state;
    static const int32_t shape[] = {20, 9, 2, 3, 1};
    uint64_t seed = 35;
    Rig rig;
    rig_open(&rig, 2);
    Cube cube = cube_new(shape[0], shape[1], shape[2]);
    HcLocalRule rule = rule_of(shape, 0);
    cube_fill_normal(&cube, 1, 1, &seed);
    for (int32_t p = 0; p < 20 * 9; p++) { /* a valid pixel among masked ones, in lines 4 and 9 */
        int32_t line = p / 9, sample = p % 9;
        bool alone = (line == 4 || line == 9) && sample == 5;
        cube.mask[p] = alone || line < 2 || line > 11 || sample < 3 || sample > 7;
    }
    Plain plain = expect(&cube, &rule, false);
    HcLocal *made = open_local(&rig, &rule);
    HcBlock in = rig_put_block(&rig, &cube, 5, 3, 3);
    HcBlock out = rig_alloc_block(&rig, &cube, 5, 3, 2, 1);
    check_ok(call(rig.queue, &in, made, &out, &rig.err), rig.err);
    Cube got = rig_get_block(&rig, &out);
    for (int64_t p = 0; p < 7 * 9; p++) {
        check_score(&got, p, plain.score[3 * 9 + p]);
    }
    assert_true(isnan(plain.score[4 * 9 + 5]) && isnan(plain.score[9 * 9 + 5]));
    close_local(made);
    free(plain.score);
    cube_free(&got);
    cube_free(&cube);
    rig_close(&rig);
}

CASE(test_local_usage) {
    (void)state;
    static const int32_t shape[] = {30, 8, 2, 5, 3};
    HcLocalRule good = rule_of(shape, 0.5);
    HcLocal *local = NULL;
    Rig rig;
    rig_open(&rig, 1);
    HcError *err = &rig.err;
    HcLocalRule wrong[16];
    for (size_t i = 0; i < 16; i++) {
        wrong[i] = good;
    }
    wrong[0].lines = 0;
    wrong[1].samples = 0;
    wrong[2].directions = 0;
    wrong[3].window = 4;
    wrong[4].window = 1;
    wrong[5].window = HC_LOCAL_WINDOW_MAX + 2;
    wrong[6].guard = 0;
    wrong[7].guard = 2;
    wrong[8].guard = 5;
    wrong[9].share = -0.1;
    wrong[10].share = 1.1;
    wrong[11].share = NAN;
    wrong[12].per_unit = 0;
    wrong[13].per_unit = INFINITY;
    wrong[14].per_unit = NAN;
    wrong[15].guard = -1;
    for (size_t i = 0; i < 16; i++) {
        check_fails(hc_local_open(rig.compute, &wrong[i], &local, err), HC_E_USAGE, rig.err);
        assert_null(local);
    }
    check_fails(hc_local_open(NULL, &good, &local, err), HC_E_USAGE, rig.err);
    check_fails(hc_local_open(rig.compute, NULL, &local, err), HC_E_USAGE, rig.err);
    check_fails(hc_local_open(rig.compute, &good, NULL, err), HC_E_USAGE, rig.err);
    hc_local_close(NULL);
    Cube cube = cube_new(shape[0], shape[1], shape[2]);
    RigOperation operation = operation_of(&cube, &good);
    HcLocal *made = open_local(&rig, &good);
    HcBlock in = rig_put_block(&rig, &cube, 10, 4, 2);
    HcBlock out = rig_alloc_block(&rig, &cube, 10, 4, 0, 1);
    rig_check_refusals(&rig, &operation, made, &in, &out);
    HcBlock other[] = {in, in};
    other[0].above--;
    other[0].line0--;
    other[1].below--;
    for (size_t i = 0; i < 2; i++) {
        check_fails(hc_local(rig.queue, &other[i], made, &out, err), HC_E_USAGE, rig.err);
    }
    close_local(made);
    cube_free(&cube);
    rig_close(&rig);
}
