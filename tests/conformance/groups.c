/* Groups of alike patches: found as the contract says, and filtered. */
#include "tests/conformance/rig.h"

#include "core/operation/svd/groups.h"

#include <math.h>
#include <stdlib.h>

enum { SIDE = HC_GROUP_SIZE_MAX, COUNT = HC_GROUP_COUNT_MAX };

/* A scene with noise of variance 1, and a pilot with less of it. */
typedef struct Scene {
    Cube in, pilot;
    HcGroupRule rule;
} Scene;

static Scene make_scene(const int32_t *shape, Masking masking, uint64_t *seed) {
    Scene scene = {.in = cube_new(shape[0], shape[1], shape[2]),
                   .pilot = cube_new(shape[0], shape[1], shape[2]),
                   .rule = {.lines = shape[0], .size = shape[3], .reach = shape[4], .count = shape[5]}};
    cube_mask(&scene.in, masking, seed);
    for (int64_t line = 0; line < shape[0]; line++) {
        for (int64_t sample = 0; sample < shape[1]; sample++) {
            int64_t pixel = line * shape[1] + sample;
            scene.pilot.mask[pixel] = scene.in.mask[pixel];
            for (int64_t b = 0; b < shape[2] && scene.in.mask[pixel] != 0; b++) {
                double truth = 6 * cos(0.5 * (double)line + (double)b) * cos(0.4 * (double)sample);
                int64_t at = pixel * shape[2] + b;
                scene.in.data[at] = (float)(truth + random_normal(seed));
                scene.pilot.data[at] = (float)(truth + 0.5 * random_normal(seed));
            }
        }
    }
    return scene;
}

static void free_scene(Scene *scene) {
    cube_free(&scene->in);
    cube_free(&scene->pilot);
}

/* ---- the reference ---- */

typedef struct Patch {
    int32_t line, sample;
    float distance;
} Patch;

typedef struct Plain {
    const Scene *scene;
    int32_t lines, samples; /* of a patch */
    Patch group[4096];
    int32_t count;
    double *sum, *weight; /* [lines][samples][bands] of the scene */
} Plain;

static bool is_valid(const Plain *plain, int32_t line, int32_t sample) {
    return plain->scene->in.mask[line * plain->scene->in.samples + sample] != 0;
}

static int32_t valid_pixels(const Plain *plain, int32_t line, int32_t sample) {
    int32_t count = 0;
    for (int32_t p = 0; p < plain->lines * plain->samples; p++) {
        count += is_valid(plain, line + p / plain->samples, sample + p % plain->samples);
    }
    return count;
}

/* In the order that the contract has; infinity where too few pixels are valid in both patches. */
static float distance(const Plain *plain, const Patch *a, const Patch *b) {
    float part[8] = {0};
    int32_t common = 0;
    int32_t valid = valid_pixels(plain, a->line, a->sample);
    for (int32_t p = 0; p < plain->lines * plain->samples; p++) {
        int32_t l = p / plain->samples;
        int32_t s = p % plain->samples;
        common += is_valid(plain, a->line + l, a->sample + s) && is_valid(plain, b->line + l, b->sample + s);
    }
    if (2 * common < valid) {
        return INFINITY;
    }
    const Cube *pilot = &plain->scene->pilot;
    for (int32_t l = 0; l < plain->lines; l++) {
        for (int32_t x = 0; x < plain->samples * pilot->bands; x++) {
            int32_t s = x / pilot->bands;
            int32_t band = x % pilot->bands;
            float difference = cube_at(pilot, a->line + l, a->sample + s, band) -
                               cube_at(pilot, b->line + l, b->sample + s, band);
            if (is_valid(plain, a->line + l, a->sample + s) && is_valid(plain, b->line + l, b->sample + s)) {
                part[x % 8] += difference * difference;
            }
        }
    }
    float sum = ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]));
    return sum * ((float)valid / (float)common);
}

static int by_distance(const void *a, const void *b) {
    const Patch *x = a;
    const Patch *y = b;
    if (x->distance < y->distance || x->distance > y->distance) {
        return x->distance < y->distance ? -1 : 1;
    }
    return x->line != y->line ? (x->line < y->line ? -1 : 1)
                              : (x->sample > y->sample) - (x->sample < y->sample);
}

static void find_group(Plain *plain, int32_t line, int32_t sample) {
    const HcGroupRule *rule = &plain->scene->rule;
    const Cube *in = &plain->scene->in;
    Patch reference = {line, sample, -1};
    plain->count = 0;
    plain->group[plain->count++] = reference;
    for (int32_t l = 0; l + plain->lines <= in->lines; l++) {
        for (int32_t s = 0; s + plain->samples <= in->samples; s++) {
            Patch patch = {l, s, 0};
            bool is_near = abs(l - line) <= rule->reach && abs(s - sample) <= rule->reach;
            patch.distance =
                is_near && (l != line || s != sample) ? distance(plain, &reference, &patch) : INFINITY;
            if (patch.distance < INFINITY) {
                assert_true(plain->count < 4096);
                plain->group[plain->count++] = patch;
            }
        }
    }
    qsort(plain->group, (size_t)plain->count, sizeof *plain->group, by_distance);
    int32_t power = 1;
    while (2 * power <= plain->count && 2 * power <= rule->count) {
        power *= 2;
    }
    plain->count = power;
}

/* Row u of an orthonormal cosine transform of that size. */
static double cosine(int32_t size, int32_t u, int32_t x) {
    return sqrt((u == 0 ? 1.0 : 2.0) / size) * cos(acos(-1) * u * (2 * x + 1) / (2.0 * size));
}

/* Row u of an orthonormal Haar transform: row 0 is the mean, row 2^k + j the difference of two halves. */
static double haar(int32_t size, int32_t u, int32_t x) {
    if (u == 0) {
        return 1 / sqrt(size);
    }
    int32_t parts = 1;
    while (2 * parts <= u) {
        parts *= 2;
    }
    int32_t length = size / parts;
    int32_t within = x - (u - parts) * length;
    return within < 0 || within >= length ? 0 : (within < length / 2 ? 1 : -1) / sqrt(length);
}

/* Coefficient (m, u, v) of a band of the group, or, from coefficients, its value. */
static double transform(const Plain *plain, double (*from)[SIDE][SIDE], bool back, int32_t m, int32_t u,
                        int32_t v) {
    double sum = 0;
    for (int32_t i = 0; i < plain->count; i++) {
        double along = back ? haar(plain->count, i, m) : haar(plain->count, m, i);
        for (int32_t l = 0; l < plain->lines && along != 0; l++) {
            double row = along * (back ? cosine(plain->lines, l, u) : cosine(plain->lines, u, l));
            for (int32_t s = 0; s < plain->samples; s++) {
                double cell = back ? cosine(plain->samples, s, v) : cosine(plain->samples, v, s);
                sum += row * cell * from[i][l][s];
            }
        }
    }
    return sum;
}

/* What goes into the transform for a pixel of a patch: the mean of the valid ones where it is masked. */
static double value_at(const Plain *plain, const Cube *cube, const Patch *patch, int32_t l, int32_t s,
                       int32_t band) {
    double sum = 0;
    if (is_valid(plain, patch->line + l, patch->sample + s)) {
        return (double)cube_at(cube, patch->line + l, patch->sample + s, band);
    }
    for (int32_t p = 0; p < plain->lines * plain->samples; p++) {
        int32_t line = patch->line + p / plain->samples;
        int32_t sample = patch->sample + p % plain->samples;
        sum += is_valid(plain, line, sample) ? (double)cube_at(cube, line, sample, band) : 0;
    }
    return sum / valid_pixels(plain, patch->line, patch->sample);
}

static void filter_band(Plain *plain, int32_t band) {
    static double in[COUNT][SIDE][SIDE];
    static double pilot[COUNT][SIDE][SIDE];
    static double kept[COUNT][SIDE][SIDE];
    const Scene *scene = plain->scene;
    int32_t cells = plain->count * plain->lines * plain->samples;
    int32_t area = plain->lines * plain->samples;
    double squares = 0;
    for (int32_t c = 0; c < cells; c++) {
        const Patch *patch = &plain->group[c / area];
        int32_t l = c % area / plain->samples;
        int32_t s = c % plain->samples;
        in[c / area][l][s] = value_at(plain, &scene->in, patch, l, s, band);
        pilot[c / area][l][s] = value_at(plain, &scene->pilot, patch, l, s, band);
    }
    for (int32_t c = 0; c < cells; c++) {
        int32_t l = c % area / plain->samples;
        int32_t s = c % plain->samples;
        double g = transform(plain, pilot, false, c / area, l, s);
        double wiener = g * g / (g * g + 1);
        squares += wiener * wiener;
        kept[c / area][l][s] = wiener * transform(plain, in, false, c / area, l, s);
    }
    for (int32_t c = 0; c < cells; c++) {
        const Patch *patch = &plain->group[c / area];
        int32_t l = c % area / plain->samples;
        int32_t s = c % plain->samples;
        int64_t at =
            ((int64_t)(patch->line + l) * scene->in.samples + patch->sample + s) * scene->in.bands + band;
        plain->sum[at] += transform(plain, kept, true, c / area, l, s) / (1 + squares);
        plain->weight[at] += 1 / (1 + squares);
    }
}

/* All reference patches; sum becomes the mean. */
static void expect(Plain *plain, const Scene *scene) {
    const Cube *in = &scene->in;
    size_t values = (size_t)in->lines * (size_t)in->samples * (size_t)in->bands;
    plain->scene = scene;
    plain->lines = in->lines < scene->rule.size ? in->lines : scene->rule.size;
    plain->samples = in->samples < scene->rule.size ? in->samples : scene->rule.size;
    plain->sum = calloc(values, sizeof(double));
    plain->weight = calloc(values, sizeof(double));
    assert_true(plain->sum != NULL && plain->weight != NULL);
    for (int32_t line = 0; line < in->lines; line += plain->lines) {
        int32_t first = line + plain->lines <= in->lines ? line : in->lines - plain->lines;
        for (int32_t sample = 0; sample < in->samples; sample += plain->samples) {
            int32_t left = sample + plain->samples <= in->samples ? sample : in->samples - plain->samples;
            if (valid_pixels(plain, first, left) == 0) {
                continue;
            }
            find_group(plain, first, left);
            for (int32_t band = 0; band < in->bands; band++) {
                filter_band(plain, band);
            }
        }
    }
    for (size_t v = 0; v < values; v++) {
        plain->sum[v] = plain->weight[v] > 0 ? plain->sum[v] / plain->weight[v] : 0;
    }
}

/* ---- the operation ---- */

/* What the operation gets beside its input: the pilot, which is cut as that is, the rule and memory. */
typedef struct Groups {
    Rig *rig;
    const Scene *scene;
} Groups;

static void *open_groups(Rig *rig, const void *scene) {
    Groups *groups = malloc(sizeof *groups);
    assert_non_null(groups);
    *groups = (Groups){rig, scene};
    return groups;
}

static HcStatus call(HcQueue *queue, const HcBlock *in, void *made, const HcBlock *out, HcError *err) {
    Groups *groups = made;
    const Scene *scene = groups->scene;
    int32_t halo = in->above > in->below ? in->above : in->below;
    HcBlock pilot = rig_put_block(groups->rig, &scene->pilot, in->line0, in->lines, halo);
    HcGroupRule given = scene->rule;
    void *work = rig_alloc(groups->rig, hc_groups_bytes(&given, hc_block_pixels(out), out->bands));
    HcStatus status = hc_groups(queue, in, &pilot, &given, work, out, err);
    memset(&given, 0xFF, sizeof given); /* it was copied */
    return status;
}

static RigOperation operation_of(const Scene *scene) {
    return (RigOperation){.cube = &scene->in,
                          .rule = scene,
                          .bands = scene->in.bands,
                          .halo = hc_group_halo(&scene->rule),
                          .open = open_groups,
                          .call = call,
                          .close = free};
}

static Cube run_scene(Rig *rig, const Scene *scene) {
    RigOperation operation = operation_of(scene);
    Groups groups = {rig, scene};
    Cube got = rig_run_block(rig, &operation, &groups, 0, scene->in.lines, 0);
    rig_empty(rig);
    return got;
}

/* Weights are multiples of 2^-20: an error of that over the least weight, times how far contributions lie
 * apart. */
static void check_scene(Rig *rig, const Scene *scene) {
    static Plain plain;
    Cube got = run_scene(rig, scene);
    expect(&plain, scene);
    double step = scene->rule.size * scene->rule.size * scene->rule.count / (double)HC_GROUP_WEIGHT;
    for (int64_t pixel = 0; pixel < (int64_t)got.lines * got.samples; pixel++) {
        assert_int_equal(got.mask[pixel], scene->in.mask[pixel]);
        for (int64_t at = pixel * got.bands; at < (pixel + 1) * got.bands; at++) {
            check_near((double)got.data[at], got.mask[pixel] != 0 ? plain.sum[at] : 0,
                       got.mask[pixel] != 0 ? 5e-5 + 2 * step : 0);
        }
    }
    free(plain.sum);
    free(plain.weight);
    cube_free(&got);
}

/* lines, samples, bands, size, reach, count */
static const int32_t shapes[][6] = {{1, 1, 1, 4, 8, 32},  {1, 9, 2, 4, 3, 8},  {7, 1, 5, 3, 2, 4},
                                    {2, 3, 3, 4, 16, 32}, {9, 10, 1, 4, 0, 8}, {11, 13, 4, 4, 2, 16},
                                    {10, 9, 2, 3, 3, 2},  {6, 7, 9, 1, 2, 32}, {17, 12, 3, 4, 8, 32},
                                    {9, 14, 2, 2, 4, 1}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

CASE(test_groups) {
    (void)state;
    uint64_t seed = 3;
    for (int32_t threads = 1; threads <= 3; threads += 2) {
        Rig rig;
        rig_open(&rig, threads);
        for (size_t i = 0; i < SHAPES; i++) {
            for (Masking masking = MASK_NONE; masking <= MASK_ALL; masking++) {
                Scene scene = make_scene(shapes[i], masking, &seed);
                check_scene(&rig, &scene);
                free_scene(&scene);
            }
        }
        rig_close(&rig);
    }
}

/* Noise goes: what comes out is nearer to the truth than the pilot is, and than the input. */
SMALL(test_groups_denoises) {
    (void)state;
    static const int32_t shape[] = {40, 30, 2, 4, 8, 32};
    uint64_t seed = 4;
    Rig rig;
    rig_open(&rig, 2);
    Scene scene = make_scene(shape, MASK_NONE, &seed);
    Cube got = run_scene(&rig, &scene);
    double before = 0;
    double after = 0;
    for (int64_t at = 0; at < 40 * 30 * 2; at++) {
        double truth = 6 * cos(0.5 * (double)(at / 60) + (double)(at % 2)) * cos(0.4 * (double)(at / 2 % 30));
        before += pow((double)scene.pilot.data[at] - truth, 2);
        after += pow((double)got.data[at] - truth, 2);
    }
    assert_true(before > 0 && after < before);
    cube_free(&got);
    free_scene(&scene);
    rig_close(&rig);
}

/* A pixel has the same bits for every cut into blocks, every spare line of halo and every number of threads.
 */
CASE(test_groups_blocks) {
    (void)state;
    static const int32_t large[][6] = {{37, 21, 5, 4, 3, 16}, {23, 9, 3, 3, 2, 8}, {41, 14, 2, 4, 8, 32}};
    uint64_t seed = 5;
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        Scene scene = make_scene(large[i], MASK_SOME, &seed);
        RigOperation operation = operation_of(&scene);
        Cube whole = rig_run(&operation, 1);
        for (int32_t threads = 1; threads <= 5; threads += 2) {
            rig_check_cuts(&operation, threads, (int32_t[]){13, 7, 4, 1, 0}, &whole);
        }
        cube_free(&whole);
        free_scene(&scene);
    }
}

/* Where the pilot is no number, that comes out; other pixels stay numbers. */
CASE(test_groups_not_finite) {
    (void)state;
    static const int32_t shape[] = {19, 18, 3, 4, 3, 8};
    uint64_t seed = 6;
    Rig rig;
    rig_open(&rig, 2);
    for (int round = 0; round < 3; round++) {
        Scene scene = make_scene(shape, MASK_NONE, &seed);
        int64_t at = (7 * 18 + 9) * 3 + 1;
        scene.in.data[at] = round == 0 ? NAN : INFINITY;
        scene.pilot.data[at] = round == 2 ? 1e30F : scene.in.data[at];
        Cube got = run_scene(&rig, &scene);
        for (int64_t v = 0; v < 19 * 18 * 3; v++) {
            assert_true(isfinite(got.data[v]) || (v == at && round < 2));
        }
        check_same((double)got.data[at], (double)scene.pilot.data[at]);
        cube_free(&got);
        free_scene(&scene);
    }
    rig_close(&rig);
}

/* A scene of one group: in the band with a value that is not finite it says the pilot, whatever its size. */
CASE(test_groups_bad_value) {
    (void)state;
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    uint64_t seed = 8;
    Rig rig;
    rig_open(&rig, 1);
    for (int32_t size = 1; size <= SIDE; size++) {
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            int32_t shape[] = {size, size, 2, size, 0, 1};
            Scene scene = make_scene(shape, MASK_NONE, &seed);
            scene.in.data[2 * (size * size / 2)] = bad[i];
            Cube got = run_scene(&rig, &scene);
            for (int32_t pixel = 0; pixel < size * size; pixel++) {
                check_same((double)cube_at(&got, 0, pixel, 0), (double)cube_at(&scene.pilot, 0, pixel, 0));
                assert_true(fabsf(cube_at(&got, 0, pixel, 1) - cube_at(&scene.pilot, 0, pixel, 1)) > 0);
            }
            cube_free(&got);
            free_scene(&scene);
        }
    }
    rig_close(&rig);
}

/* Thirty pixels of a hundred are masked: a plane comes back as a plane. Zeros in their place would be edges.
 */
CASE(test_groups_scattered_masks) {
    (void)state;
    static const int32_t shape[] = {32, 32, 2, 4, 4, 8};
    uint64_t seed = 9;
    Rig rig;
    rig_open(&rig, 2);
    Scene scene = make_scene(shape, MASK_NONE, &seed);
    for (int32_t pixel = 0; pixel < 32 * 32; pixel++) {
        scene.in.mask[pixel] = scene.pilot.mask[pixel] = random_bits(&seed) % 10 >= 3;
        for (int32_t b = 0; b < 2; b++) {
            scene.pilot.data[2 * pixel + b] = scene.in.mask[pixel] != 0 ? 50 : 0;
            scene.in.data[2 * pixel + b] = scene.in.mask[pixel] != 0 ? 50 + (float)random_normal(&seed) : 0;
        }
    }
    Cube got = run_scene(&rig, &scene);
    double before = 0;
    double after = 0;
    for (int32_t v = 0; v < 32 * 32 * 2; v++) {
        bool valid = scene.in.mask[v / 2] != 0;
        before += valid ? pow((double)scene.in.data[v] - 50, 2) : 0;
        after += valid ? pow((double)got.data[v] - 50, 2) : 0;
    }
    assert_true(before > 0 && after < 0.2 * before);
    cube_free(&got);
    free_scene(&scene);
    rig_close(&rig);
}

CASE(test_groups_refuses) {
    (void)state;
    static const int32_t shape[] = {30, 4, 3, 4, 2, 8};
    uint64_t seed = 7;
    Rig rig;
    rig_open(&rig, 1);
    HcError *err = &rig.err;
    Scene scene = make_scene(shape, MASK_NONE, &seed);
    const HcGroupRule *rule = &scene.rule;
    HcBlock in = rig_put_block(&rig, &scene.in, 10, 5, 7);
    HcBlock pilot = rig_put_block(&rig, &scene.pilot, 10, 5, 7);
    HcBlock out = rig_alloc_block(&rig, &scene.in, 10, 5, 0, 3);
    void *work = rig_alloc(&rig, hc_groups_bytes(rule, 20, 3));
    HcQueue *queue = rig.queue;
    check_fails(hc_groups(NULL, &in, &pilot, rule, work, &out, err), HC_E_USAGE, rig.err);
    check_fails(hc_groups(queue, NULL, &pilot, rule, work, &out, err), HC_E_USAGE, rig.err);
    check_fails(hc_groups(queue, &in, NULL, rule, work, &out, err), HC_E_USAGE, rig.err);
    check_fails(hc_groups(queue, &in, &pilot, NULL, work, &out, err), HC_E_USAGE, rig.err);
    check_fails(hc_groups(queue, &in, &pilot, rule, NULL, &out, err), HC_E_USAGE, rig.err);
    check_fails(hc_groups(queue, &in, &pilot, rule, work, NULL, err), HC_E_USAGE, rig.err);
    HcGroupRule wrong[] = {*rule, *rule, *rule, *rule, *rule, *rule, *rule, *rule};
    wrong[0].lines = 0;
    wrong[1].size = 0;
    wrong[2].size = HC_GROUP_SIZE_MAX + 1;
    wrong[3].reach = -1;
    wrong[4].reach = HC_GROUP_REACH_MAX + 1;
    wrong[5].count = 0;
    wrong[6].count = 6;
    wrong[7].count = 2 * HC_GROUP_COUNT_MAX;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        check_fails(hc_groups(queue, &in, &pilot, &wrong[i], work, &out, err), HC_E_USAGE, rig.err);
    }
    HcBlock other[] = {in, in, in, in};
    other[0].above--;
    other[1].below--;
    other[2].bands--;
    other[3].samples--;
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        check_fails(hc_groups(queue, &other[i], &other[i], rule, work, &out, err), HC_E_USAGE, rig.err);
        check_fails(hc_groups(queue, &in, &other[i], rule, work, &out, err), HC_E_USAGE, rig.err);
    }
    HcBlock result[] = {out, out, out, out, out};
    result[0].bands--;
    result[1].samples--;
    result[2].line0--;
    result[3].above = 1;
    result[4].below = 1;
    for (size_t i = 0; i < sizeof result / sizeof *result; i++) {
        check_fails(hc_groups(queue, &in, &pilot, rule, work, &result[i], err), HC_E_USAGE, rig.err);
    }
    free_scene(&scene);
    rig_close(&rig);
}
