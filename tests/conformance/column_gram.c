/* Sums of columns: the bits of the contract, and what they are worth against wide integers and long double.
 */
#include "tests/conformance/rig.h"

#include "core/operation/gram/column_gram.h"
#include "core/sums/moments.h"
#include "cpu/cpu.h"

#include <math.h>
#include <stdlib.h>

/* A scene and how it is summed; arrays on the host. */
typedef struct Task {
    Cube cube;
    int32_t width;
    float *largest;
    double *scale;
    int64_t groups;
    size_t values; /* of the sums of a group */
} Task;

typedef struct Sums {
    int64_t *sum; /* [groups][values] */
    int64_t far;
} Sums;

/* lines, samples, bands, columns of a group: strips of 24 bands and tiles of 96 begin, end and are crossed;
 * one pixel; groups with many panels, and wider than the scene. */
static const int32_t shapes[][4] = {{1, 1, 1, 1},     {130, 5, 3, 1}, {128, 3, 23, 1},  {129, 3, 24, 2},
                                    {257, 4, 47, 3},  {40, 9, 25, 9}, {150, 2, 97, 1},  {20, 33, 12, 64},
                                    {131, 60, 5, 60}, {3, 70, 7, 35}, {128, 1, 191, 1}, {17, 6, 100, 4}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* Floats of tasks are at most that; sums of their products fit 62 bits at all scales. */
#define VALUE_MAX 1e4F

static Task make_task(const int32_t *shape, Masking masking, bool integers, uint64_t *seed) {
    Task task = {.cube = cube_new(shape[0], shape[1], shape[2]),
                 .width = shape[3],
                 .groups = hc_column_groups(shape[1], shape[3]),
                 .values = hc_column_values(shape[2])};
    size_t padded = hc_column_strips(shape[2]) * HC_COLUMN_STRIP;
    task.largest = malloc((size_t)shape[2] * sizeof *task.largest);
    task.scale = calloc(padded, sizeof *task.scale);
    assert_true(task.largest != NULL && task.scale != NULL);
    if (integers) {
        cube_fill_integers(&task.cube, -3000, 30000, seed);
    } else {
        cube_fill_normal(&task.cube, 3, 40, seed);
    }
    cube_mask(&task.cube, masking, seed);
    for (int32_t b = 0; b <= shape[2]; b++) {
        task.scale[b] = integers ? 1 : ldexp(1, (int)random_between(seed, b < shape[2] ? -3 : 0, 11));
    }
    for (int32_t b = 0; b < shape[2]; b++) {
        task.largest[b] = integers ? 1e6F : VALUE_MAX;
    }
    return task;
}

static void free_task(Task *task) {
    cube_free(&task->cube);
    free(task->largest);
    free(task->scale);
}

static float *value_at(Task *task, int64_t line, int64_t sample, int64_t band) {
    return task->cube.data + (line * task->cube.samples + sample) * task->cube.bands + band;
}

/* Some pixels are beyond the limit, barely or as what is not a number; some are just at it. */
static void put_far(Task *task, uint64_t *seed) {
    const float bad[] = {NAN,    INFINITY,  -INFINITY, nextafterf(VALUE_MAX, INFINITY),
                         -3e38F, VALUE_MAX, -VALUE_MAX};
    for (int64_t pixel = 0; pixel < (int64_t)task->cube.lines * task->cube.samples; pixel++) {
        if (task->cube.mask[pixel] != 0 && random_bits(seed) % 9 == 0) {
            int64_t band = random_between(seed, 0, task->cube.bands - 1);
            *value_at(task, 0, pixel, band) = bad[random_bits(seed) % (sizeof bad / sizeof *bad)];
        }
    }
}

static bool is_near(const Task *task, const float *x) {
    for (int32_t b = 0; b < task->cube.bands; b++) {
        if (!(fabsf(x[b]) <= task->largest[b])) {
            return false;
        }
    }
    return true;
}

/* ---- the reference ---- */

/* Products of the pixels of a group; `exact` sees them all. */
typedef struct Pair {
    double sum; /* of the panel */
    int64_t rounded;
    long double exact, magnitude;
} Pair;

static int64_t round_sum(double sum, double row, double column) {
    double units = sum * row * column;
    double upper = (units * 0x1p-32 + 0x1.8p52) - 0x1.8p52;
    double lower = ((units - upper * 0x1p32) + 0x1.8p52) - 0x1.8p52;
    return (int64_t)upper * ((int64_t)1 << 32) + (int64_t)lower;
}

/* A whole group. pair: [bands + 1][bands + 1]. Returns the pixels that took part. */
static int64_t expect_group(const Task *task, int64_t group, Pair *pair, int64_t *far, int64_t *panels) {
    const Cube *cube = &task->cube;
    size_t n = (size_t)cube->bands + 1;
    int64_t begin = group * task->width;
    int64_t end = begin + task->width < cube->samples ? begin + task->width : cube->samples;
    int64_t pixels = 0;
    int64_t count = 0; /* of the panel */
    memset(pair, 0, n * n * sizeof *pair);
    for (int64_t line = 0; line < cube->lines; line++) {
        for (int64_t s = begin; s < end; s++) {
            int64_t pixel = line * cube->samples + s;
            const float *x = cube->data + pixel * cube->bands;
            bool near = cube->mask[pixel] != 0 && is_near(task, x);
            *far += cube->mask[pixel] != 0 && !near;
            for (size_t i = 0; i < n && near; i++) {
                for (size_t j = 0; j <= i; j++) {
                    double a = i + 1 < n ? (double)x[i] : 1;
                    double b = j + 1 < n ? (double)x[j] : 1;
                    pair[i * n + j].sum += a * b;
                    pair[i * n + j].exact += (long double)a * (long double)b;
                    pair[i * n + j].magnitude += fabsl((long double)a * (long double)b);
                }
            }
            count += near;
            pixels += near;
            bool last = s + 1 == end && (line + 1 == cube->lines || (line + 1) % HC_COLUMN_LINES == 0);
            if (count == HC_COLUMN_PANEL || (last && count > 0)) {
                for (size_t at = 0; at < n * n; at++) {
                    pair[at].rounded += round_sum(pair[at].sum, task->scale[at / n], task->scale[at % n]);
                    pair[at].sum = 0;
                }
                count = 0;
                (*panels)++;
            }
        }
    }
    return pixels;
}

/* Every bit is that of the contract, the sums are those of long double, and of integers they are exact. */
static void check_sums(const Task *task, const Sums *got, bool integers) {
    size_t n = (size_t)task->cube.bands + 1;
    Pair *pair = malloc(n * n * sizeof *pair);
    int64_t far = 0;
    assert_non_null(pair);
    for (int64_t group = 0; group < task->groups; group++) {
        int64_t panels = 0;
        int64_t pixels = expect_group(task, group, pair, &far, &panels);
        for (size_t i = 0; i < n; i++) {
            for (size_t j = 0; j <= i; j++) {
                const Pair *expected = &pair[i * n + j];
                int64_t sum =
                    got->sum[(size_t)group * task->values + hc_column_place(task->cube.bands, i, j)];
                long double scale = (long double)task->scale[i] * (long double)task->scale[j];
                long double error = fabsl((long double)sum - expected->exact * scale);
                long double bound = integers ? 0
                                             : 0.51L * (long double)panels +
                                                   expected->magnitude * scale * HC_COLUMN_PANEL * 0x1p-52L;
                assert_int_equal(sum, expected->rounded);
                assert_true(error <= bound);
            }
        }
        int64_t one = (int64_t)task->scale[n - 1]; /* at least 1: counts are exact */
        size_t place = hc_column_place(task->cube.bands, n - 1, n - 1);
        assert_int_equal(got->sum[(size_t)group * task->values + place], pixels * one * one);
    }
    assert_int_equal(got->far, far);
    free(pair);
}

/* ---- the operation ---- */

/* The sums of the scene; the lines of a window from `cut` on (0 = all) come in a second block. */
static Sums run(Rig *rig, const Task *task, int32_t cut) {
    const Cube *cube = &task->cube;
    size_t padded = hc_column_strips(cube->bands) * HC_COLUMN_STRIP;
    size_t count = (size_t)task->groups * task->values;
    HcComputeInfo info;
    hc_compute_info(rig->compute, &info);
    size_t work_bytes = hc_column_work_bytes(cube->bands, cube->samples, info.threads);
    Sums sums = {.sum = malloc(count * sizeof *sums.sum)};
    void *image = malloc(work_bytes);
    assert_true(sums.sum != NULL && image != NULL);
    HcColumnRule rule = {.width = task->width,
                         .largest = rig_put(rig, task->largest, (size_t)cube->bands * sizeof(float)),
                         .scale = rig_put(rig, task->scale, padded * sizeof(double))};
    int64_t *sum = rig_alloc(rig, count * sizeof *sum);
    int64_t *far = rig_alloc(rig, sizeof *far);
    void *work = rig_alloc(rig, work_bytes);
    check_ok(hc_zero(rig->queue, sum, count * sizeof *sum, &rig->err), rig->err);
    check_ok(hc_zero(rig->queue, far, sizeof *far, &rig->err), rig->err);
    for (int32_t line = 0; line < cube->lines; line += HC_COLUMN_LINES) {
        int32_t lines = line + HC_COLUMN_LINES < cube->lines ? HC_COLUMN_LINES : cube->lines - line;
        int32_t first = cut < lines ? cut : lines - 1;
        HcBlock before = rig_put_block(rig, cube, line, first > 0 ? first : 1, 1);
        HcBlock in = rig_put_block(rig, cube, line + first, lines - first, 1);
        HcColumnRule given = rule;
        check_ok(
            hc_column_gram(rig->queue, first > 0 ? &before : NULL, &in, &given, sum, far, work, &rig->err),
            rig->err);
        memset(&given, 0xFF, sizeof given); /* it was copied */
    }
    rig_get(rig, sum, sums.sum, count * sizeof *sum);
    rig_get(rig, far, &sums.far, sizeof *far);
    rig_get(rig, work, image, work_bytes);
    rig_empty(rig);
    free(image);
    return sums;
}

/* Opens the backend; of the CPU, the ways with narrow and with wide vectors. */
static void open_way(Rig *rig, int32_t threads, bool narrow) {
    rig_open(rig, threads);
    if (narrow && strcmp(hc_compute_name(rig_ops), "cpu") == 0) {
        assert_true(hc_cpu_gram_force(rig->compute, HC_CPU_GRAM_FLOAT64));
    }
}

static void check_task(const Task *task, bool integers) {
    for (int narrow = 0; narrow < 2; narrow++) {
        Rig rig;
        open_way(&rig, 2, narrow != 0);
        Sums got = run(&rig, task, 0);
        check_sums(task, &got, integers);
        free(got.sum);
        rig_close(&rig);
    }
}

CASE(test_column_gram) {
    (void)state;
    uint64_t seed = 11;
    for (size_t i = 0; i < SHAPES; i++) {
        for (Masking masking = MASK_NONE; masking <= MASK_ALL; masking++) {
            Task task = make_task(shapes[i], masking, false, &seed);
            check_task(&task, false);
            put_far(&task, &seed);
            check_task(&task, false);
            free_task(&task);
        }
    }
}

CASE(test_column_gram_integers) {
    (void)state;
    uint64_t seed = 12;
    for (size_t i = 0; i < SHAPES; i++) {
        Task task = make_task(shapes[i], MASK_SOME, true, &seed);
        check_task(&task, true);
        free_task(&task);
    }
}

/* The same bits for any cut into blocks and any number of threads. */
CASE(test_column_gram_blocks) {
    (void)state;
    static const int32_t cuts[] = {1, 5, 64, 127};
    uint64_t seed = 13;
    for (size_t i = 1; i < SHAPES; i++) {
        Task task = make_task(shapes[i], MASK_SOME, false, &seed);
        put_far(&task, &seed);
        Rig rig;
        rig_open(&rig, 1);
        Sums whole = run(&rig, &task, 0);
        rig_close(&rig);
        check_sums(&task, &whole, false);
        for (size_t c = 0; c < sizeof cuts / sizeof *cuts; c++) {
            rig_open(&rig, 1 + 2 * (int32_t)c);
            Sums got = run(&rig, &task, cuts[c]);
            check_sums(&task, &got, false);
            assert_int_equal(got.far, whole.far);
            free(got.sum);
            rig_close(&rig);
        }
        free(whole.sum);
        free_task(&task);
    }
}

/* Sums near the limit of 64 bits, of both signs, and values whose products are tiny. */
SMALL(test_column_gram_range) {
    (void)state;
    static const int32_t shape[] = {128, 2, 26, 1};
    uint64_t seed = 14;
    Task task = make_task(shape, MASK_NONE, false, &seed);
    for (int64_t pixel = 0; pixel < 256; pixel++) {
        for (int32_t b = 0; b < 26; b++) {
            float most = ldexpf(1, b == 3 ? -140 : b == 5 ? 120 : 10);
            *value_at(&task, 0, pixel, b) = (b % 2 == 0 ? 1 : -1) * most * (float)random_uniform(&seed);
            task.largest[b] = most;
        }
    }
    for (int32_t b = 0; b <= 26; b++) { /* 128 products of both largest values are below 2^62 */
        task.scale[b] = ldexp(1, 27 - (b == 26 ? 0 : b == 3 ? -140 : b == 5 ? 120 : 10));
    }
    check_task(&task, false);
    free_task(&task);
}

CASE(test_column_gram_refuses) {
    (void)state;
    static const int32_t shape[] = {150, 3, 4, 2};
    uint64_t seed = 15;
    Task task = make_task(shape, MASK_NONE, false, &seed);
    Rig rig;
    rig_open(&rig, 1);
    HcError *err = &rig.err;
    HcQueue *queue = rig.queue;
    HcBlock before = rig_put_block(&rig, &task.cube, 100, 20, 0);
    HcBlock in = rig_put_block(&rig, &task.cube, 120, 8, 0);
    int64_t *sum = rig_alloc(&rig, (size_t)task.groups * task.values * sizeof *sum);
    int64_t *far = rig_alloc(&rig, sizeof *far);
    void *work = rig_alloc(&rig, hc_column_work_bytes(4, 3, 64));
    HcColumnRule rule = {.width = 2,
                         .largest = rig_put(&rig, task.largest, 4 * sizeof(float)),
                         .scale = rig_put(&rig, task.scale, HC_COLUMN_STRIP * sizeof(double))};
    check_fails(hc_column_gram(NULL, &before, &in, &rule, sum, far, work, err), HC_E_USAGE, rig.err);
    check_fails(hc_column_gram(queue, &before, NULL, &rule, sum, far, work, err), HC_E_USAGE, rig.err);
    check_fails(hc_column_gram(queue, &before, &in, NULL, sum, far, work, err), HC_E_USAGE, rig.err);
    check_fails(hc_column_gram(queue, &before, &in, &rule, NULL, far, work, err), HC_E_USAGE, rig.err);
    check_fails(hc_column_gram(queue, &before, &in, &rule, sum, NULL, work, err), HC_E_USAGE, rig.err);
    check_fails(hc_column_gram(queue, &before, &in, &rule, sum, far, NULL, err), HC_E_USAGE, rig.err);
    HcColumnRule wrong[] = {rule, rule, rule};
    wrong[0].width = 0;
    wrong[1].largest = NULL;
    wrong[2].scale = NULL;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        check_fails(hc_column_gram(queue, &before, &in, &wrong[i], sum, far, work, err), HC_E_USAGE, rig.err);
    }
    HcBlock other[] = {before, before, before, before, before};
    other[0].bands--;
    other[1].samples--;
    other[2].line0--;
    other[3].lines--;
    other[4].data = NULL;
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        check_fails(hc_column_gram(queue, &other[i], &in, &rule, sum, far, work, err), HC_E_USAGE, rig.err);
    }
    HcBlock longer = rig_put_block(&rig, &task.cube, 120, 9, 0); /* to line 128 */
    check_fails(hc_column_gram(queue, &before, &longer, &rule, sum, far, work, err), HC_E_USAGE, rig.err);
    check_fails(hc_column_gram(queue, NULL, &longer, &rule, sum, far, work, err), HC_E_USAGE, rig.err);
    free_task(&task);
    rig_close(&rig);
}
