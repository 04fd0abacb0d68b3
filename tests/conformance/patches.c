/* Patches of a scene: denoised, or described by their singular values. */
#include "tests/conformance/rig.h"

#include "core/operation/svd/svd.h"
#include "core/patch.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>

/* What the reference says of a scene, and how far float32 may be from it. */
typedef struct Expected {
    double *value; /* [lines][samples][bands of the output] */
    double *error; /* [lines][samples] */
} Expected;

/* A decomposition in float64: m <= n. */
typedef struct Plain {
    int32_t m, n;
    bool turned;    /* bands are the longer side */
    double *column; /* [m][n]: orthogonal, of the length of their singular values */
    double *turn;   /* [m][m] */
    double *value;  /* [m] descending */
    int32_t *order; /* [m] which column each is of */
} Plain;

static double dot(const double *a, const double *b, int32_t n) {
    double sum = 0;
    for (int32_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

static void rotate(double *a, double *b, int32_t n, double c, double s) {
    for (int32_t i = 0; i < n; i++) {
        double first = a[i];
        a[i] = c * first - s * b[i];
        b[i] = s * first + c * b[i];
    }
}

/* Rotates pairs of columns until all are orthogonal (Hestenes 1958). */
static void decompose(Plain *plain) {
    bool rotated = true;
    for (int32_t i = 0; i < plain->m * plain->m; i++) {
        plain->turn[i] = i % (plain->m + 1) == 0;
    }
    for (int sweep = 0; rotated; sweep++) {
        assert_true(sweep < 60);
        rotated = false;
        for (int32_t i = 0; i < plain->m; i++) {
            for (int32_t j = i + 1; j < plain->m; j++) {
                double *a = plain->column + i * plain->n;
                double *b = plain->column + j * plain->n;
                double aa = dot(a, a, plain->n);
                double bb = dot(b, b, plain->n);
                double ab = dot(a, b, plain->n);
                if (fabs(ab) <= 1e-13 * sqrt(aa * bb) || fmin(aa, bb) <= 1e-26 * fmax(aa, bb)) {
                    continue;
                }
                rotated = true;
                double zeta = (bb - aa) / (2 * ab);
                double t = (zeta >= 0 ? 1 : -1) / (fabs(zeta) + sqrt(1 + zeta * zeta));
                double c = 1 / sqrt(1 + t * t);
                rotate(a, b, plain->n, c, c * t);
                rotate(plain->turn + i * plain->m, plain->turn + j * plain->m, plain->m, c, c * t);
            }
        }
    }
    for (int32_t i = 0; i < plain->m; i++) {
        const double *column = plain->column + i * plain->n;
        double value = sqrt(dot(column, column, plain->n));
        int32_t at = i;
        for (; at > 0 && plain->value[at - 1] < value; at--) {
            plain->value[at] = plain->value[at - 1];
            plain->order[at] = plain->order[at - 1];
        }
        plain->value[at] = value;
        plain->order[at] = i;
    }
}

static Plain plain_new(int32_t pixels, int32_t bands) {
    Plain plain = {
        .m = pixels < bands ? pixels : bands, .n = pixels < bands ? bands : pixels, .turned = pixels < bands};
    size_t m = (size_t)plain.m;
    plain.column = calloc(m * (size_t)plain.n, sizeof(double));
    plain.turn = calloc(m * m, sizeof(double));
    plain.value = calloc(m, sizeof(double));
    plain.order = calloc(m, sizeof(int32_t));
    assert_true(plain.column != NULL && plain.turn != NULL && plain.value != NULL && plain.order != NULL);
    return plain;
}

static void plain_free(Plain *plain) {
    free(plain->column);
    free(plain->turn);
    free(plain->value);
    free(plain->order);
}

/* What is kept of the singular values, by the formulas of HcPatchKeep; m and n are those of the valid pixels.
 */
static double keep(const HcPatchRule *rule, double noise, int32_t m, int32_t n, int32_t k, double value) {
    double b = (double)m / n;
    double y = value / (noise * sqrt(n));
    bool over = y > 1 + sqrt(b);
    switch (rule->keep) {
    case HC_PATCH_OPTIMAL:
        return y > sqrt(2 * (b + 1) + 8 * b / (b + 1 + sqrt(b * b + 14 * b + 1))) ? value : 0;
    case HC_PATCH_EDGE:
        return over ? value : 0;
    case HC_PATCH_SHRINK:
        return over ? noise * sqrt(n) * sqrt(pow(y * y - b - 1, 2) - 4 * b) / y : 0;
    default:
        return k < rule->count ? value : 0;
    }
}

/* One patch: what it says of its pixels is added to `expected`. */
typedef struct Patch {
    const Cube *cube;
    const HcPatchRule *rule;
    int32_t line, sample, lines, samples;
} Patch;

static int32_t load(const Patch *patch, Plain *plain) {
    int32_t bands = patch->cube->bands;
    int32_t valid = 0;
    for (int32_t p = 0; p < patch->lines * patch->samples; p++) {
        int64_t line = patch->line + p / patch->samples;
        int64_t sample = patch->sample + p % patch->samples;
        valid += patch->cube->mask[line * patch->cube->samples + sample] != 0;
        for (int32_t b = 0; b < bands; b++) {
            plain->column[plain->turned ? p * bands + b : b * plain->n + p] =
                (double)cube_at(patch->cube, line, sample, b);
        }
    }
    return valid;
}

/* kept[m]; returns the error that one in `slack` of the largest value makes in the result. Fails the test
 * where such an error decides what is signal. */
static double keep_all(const HcPatchRule *rule, const Plain *plain, int32_t valid, double slack,
                       double *kept) {
    const double *value = plain->value;
    int32_t m = valid < rule->bands ? valid : rule->bands;
    int32_t n = valid < rule->bands ? rule->bands : valid;
    double error = slack * value[0];
    double worst = error;
    double noise = rule->noise;
    double noise_error = 0;
    if (noise == 0 && m > 0) {
        double expected = sqrt(n * hc_patch_median((double)m / n));
        noise = (value[(m - 1) / 2] + value[m / 2]) / 2 / expected;
        noise_error = error / expected;
    }
    for (int32_t k = 0; k < plain->m; k++) {
        kept[k] = k < m ? keep(rule, noise, m, n, k, value[k]) : 0;
        if (k >= m || rule->keep == HC_PATCH_COUNT) {
            continue;
        }
        double low = keep(rule, noise + noise_error, m, n, k, value[k] - error);
        double high = keep(rule, noise - noise_error, m, n, k, value[k] + error);
        assert_true((low > 0) == (kept[k] > 0) && (high > 0) == (kept[k] > 0));
        worst = fmax(worst, fmax(high - kept[k], kept[k] - low));
    }
    /* Vectors of kept and dropped values mix by the error over their distance. */
    for (int32_t k = 0; k + 1 < m; k++) {
        if (kept[k] > 0 && !(kept[k + 1] > 0)) {
            assert_true(value[k] - value[k + 1] > 10 * error);
            worst += kept[k] * error / (value[k] - value[k + 1]);
        }
    }
    return worst;
}

static void add_patch(const Patch *patch, Plain *plain, const Expected *expected) {
    const HcPatchRule *rule = patch->rule;
    int32_t bands = rule->bands;
    int32_t out_bands = hc_patch_bands(rule);
    double kept[512];
    double slack = 8 * sqrt(plain->n) * (double)FLT_EPSILON;
    assert_true(plain->m <= 512);
    int32_t valid = load(patch, plain);
    decompose(plain);
    double worst = keep_all(rule, plain, valid, slack, kept);
    int32_t dimension = 0;
    for (int32_t k = 0; k < plain->m; k++) {
        dimension += kept[k] > 0;
    }
    for (int32_t p = 0; p < patch->lines * patch->samples; p++) {
        int64_t pixel = (int64_t)(patch->line + p / patch->samples) * patch->cube->samples + patch->sample +
                        p % patch->samples;
        double *to = expected->value + pixel * out_bands;
        expected->error[pixel] = fmax(expected->error[pixel], worst);
        for (int32_t k = 0; rule->describe && k <= rule->values; k++) {
            to[k] += k == 0 ? dimension : k <= plain->m ? plain->value[k - 1] : 0;
        }
        for (int32_t k = 0; !rule->describe && k < dimension; k++) {
            const double *column = plain->column + plain->order[k] * plain->n;
            const double *turn = plain->turn + plain->order[k] * plain->m;
            for (int32_t b = 0; b < bands; b++) {
                double product = plain->turned ? column[b] * turn[p] : column[p] * turn[b];
                to[b] += kept[k] / plain->value[k] * product;
            }
        }
    }
}

/* The whole scene, patch by patch: those at multiples of the step that fit, and one at the end. */
static Expected expect(const Cube *cube, const HcPatchRule *rule) {
    size_t pixels = (size_t)cube->lines * (size_t)cube->samples;
    size_t bands = (size_t)hc_patch_bands(rule);
    Expected expected = {calloc(pixels * bands, sizeof(double)), calloc(pixels, sizeof(double))};
    int32_t *holders = calloc(pixels, sizeof *holders);
    assert_true(expected.value != NULL && expected.error != NULL && holders != NULL);
    Patch patch = {.cube = cube, .rule = rule};
    patch.lines = cube->lines < rule->size ? cube->lines : rule->size;
    patch.samples = cube->samples < rule->size ? cube->samples : rule->size;
    for (int32_t line = 0; line < cube->lines; line += rule->step) {
        patch.line = line + patch.lines < cube->lines ? line : cube->lines - patch.lines;
        for (int32_t sample = 0; sample < cube->samples; sample += rule->step) {
            patch.sample = sample + patch.samples < cube->samples ? sample : cube->samples - patch.samples;
            Plain plain = plain_new(patch.lines * patch.samples, cube->bands);
            add_patch(&patch, &plain, &expected);
            plain_free(&plain);
            for (int32_t p = 0; p < patch.lines * patch.samples; p++) {
                holders[(patch.line + p / patch.samples) * cube->samples + patch.sample +
                        p % patch.samples]++;
            }
            sample = patch.sample + patch.samples == cube->samples ? cube->samples : sample;
        }
        line = patch.line + patch.lines == cube->lines ? cube->lines : line;
    }
    for (size_t p = 0; p < pixels; p++) {
        for (size_t b = 0; b < bands; b++) {
            expected.value[p * bands + b] /= holders[p];
        }
    }
    free(holders);
    return expected;
}

/* Three smooth signals, the last one weak, in noise of variance 1. */
static Cube make_scene(int32_t lines, int32_t samples, int32_t bands, Masking masking, uint64_t *seed) {
    static const double strength[] = {6, 3, 1};
    Cube cube = cube_new(lines, samples, bands);
    double phase[3];
    for (int k = 0; k < 3; k++) {
        phase[k] = random_normal(seed);
    }
    for (int32_t line = 0; line < lines; line++) {
        for (int32_t sample = 0; sample < samples; sample++) {
            for (int32_t b = 0; b < bands; b++) {
                double value = random_normal(seed);
                for (int k = 0; k < 3; k++) {
                    value += strength[k] * cos(phase[k] + 0.7 * k * line + 0.4 * (k + 1) * sample) *
                             (1 + cos((k + 1) * phase[k] + 3.0 * (k + 1) * b / bands));
                }
                cube.data[((int64_t)line * samples + sample) * bands + b] = (float)value;
            }
        }
    }
    cube_mask(&cube, masking, seed);
    return cube;
}

static void *open_patches(Rig *rig, const void *rule) {
    HcPatches *patches = NULL;
    HcPatchRule given = *(const HcPatchRule *)rule;
    check_ok(hc_patches_open(rig->compute, &given, &patches, &rig->err), rig->err);
    memset(&given, 0xFF, sizeof given); /* it was copied */
    return patches;
}

static HcStatus call(HcQueue *queue, const HcBlock *in, void *made, const HcBlock *out, HcError *err) {
    return hc_patches(queue, in, made, out, err);
}

static void close(void *made) {
    hc_patches_close(made);
}

static RigOperation operation_of(const Cube *cube, const HcPatchRule *rule) {
    return (RigOperation){.cube = cube,
                          .rule = rule,
                          .bands = hc_patch_bands(rule),
                          .halo = rule->size - 1,
                          .open = open_patches,
                          .call = call,
                          .close = close};
}

static void compare(const Cube *cube, const HcPatchRule *rule, const Expected *expected, int64_t line0,
                    const Cube *got) {
    size_t bands = (size_t)hc_patch_bands(rule);
    size_t first = (size_t)line0 * (size_t)cube->samples;
    for (size_t p = 0; p < (size_t)got->lines * (size_t)got->samples; p++) {
        bool valid = cube->mask[first + p] != 0;
        assert_int_equal(got->mask[p], valid);
        for (size_t b = 0; b < bands; b++) {
            double value = (double)got->data[p * bands + b];
            if (!valid) {
                check_near(value, 0, 0);
            } else {
                check_near(value, expected->value[(first + p) * bands + b], expected->error[first + p]);
            }
        }
    }
}

static void check_rule(Rig *rig, const Cube *cube, const HcPatchRule *rule) {
    Expected expected = expect(cube, rule);
    RigOperation operation = operation_of(cube, rule);
    HcPatches *patches = open_patches(rig, rule);
    for (int32_t size = cube->lines; size > 0; size = size / 3) {
        for (int32_t line = 0; line < cube->lines; line += size) {
            int32_t lines = line + size <= cube->lines ? size : cube->lines - line;
            Cube got = rig_run_block(rig, &operation, patches, line, lines, size % 2);
            rig_empty(rig);
            compare(cube, rule, &expected, line, &got);
            cube_free(&got);
        }
    }
    hc_patches_close(patches);
    free(expected.value);
    free(expected.error);
}

static const HcPatchRule rules[] = {{.keep = HC_PATCH_OPTIMAL, .noise = 1},
                                    {.keep = HC_PATCH_SHRINK, .noise = 1},
                                    {.keep = HC_PATCH_EDGE, .noise = 1.1},
                                    {.keep = HC_PATCH_OPTIMAL},
                                    {.keep = HC_PATCH_SHRINK},
                                    {.keep = HC_PATCH_COUNT, .count = 1},
                                    {.keep = HC_PATCH_COUNT, .count = 5000},
                                    {.keep = HC_PATCH_OPTIMAL, .noise = 1, .describe = true},
                                    {.keep = HC_PATCH_EDGE, .noise = 1, .describe = true, .values = 4},
                                    {.keep = HC_PATCH_SHRINK, .describe = true, .values = 90},
                                    {.keep = HC_PATCH_COUNT, .count = 2, .describe = true, .values = 2}};
enum { RULES = sizeof rules / sizeof *rules };

static HcPatchRule rule_for(int number, const Cube *cube, int32_t size, int32_t step) {
    HcPatchRule rule = rules[number];
    rule.lines = cube->lines;
    rule.samples = cube->samples;
    rule.bands = cube->bands;
    rule.size = size;
    rule.step = step;
    return rule;
}

CASE(test_patches) {
    (void)state;
    /* lines, samples, bands, size, step: one pixel, one line, one band, scenes smaller than a patch, bands
     * and pixels on either side of each other and of 64. */
    static const int32_t cases[][5] = {
        {1, 1, 1, 8, 4},   {1, 1, 9, 1, 1},      {5, 3, 6, 8, 8},    {1, 23, 4, 6, 3},  {19, 1, 12, 5, 2},
        {13, 14, 1, 4, 3}, {21, 17, 5, 8, 4},    {12, 11, 20, 8, 3}, {9, 10, 70, 8, 8}, {11, 10, 7, 1, 1},
        {17, 13, 3, 2, 1}, {20, 20, 10, 64, 40}, {11, 9, 66, 9, 6},  {14, 15, 8, 7, 7}, {16, 12, 30, 5, 1}};
    uint64_t seed = 31;
    for (int32_t threads = 1; threads <= 3; threads++) {
        Rig rig;
        rig_open(&rig, threads);
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            for (int round = 0; round < 3; round++) {
                Masking masking = round == 0 ? MASK_NONE : MASK_SOME;
                Cube cube = make_scene(cases[c][0], cases[c][1], cases[c][2], masking, &seed);
                HcPatchRule rule = rule_for((int)(c * 4 + (size_t)round + 3 * (size_t)threads) % RULES, &cube,
                                            cases[c][3], cases[c][4]);
                check_rule(&rig, &cube, &rule);
                cube_free(&cube);
            }
        }
        rig_close(&rig);
    }
}

/* Noise and signal that differ by far more than the rounding: every rule, with all masked too. */
CASE(test_patches_rules) {
    (void)state;
    uint64_t seed = 7;
    Rig rig;
    rig_open(&rig, 2);
    for (int number = 0; number < RULES; number++) {
        for (Masking masking = MASK_NONE; masking <= MASK_ALL; masking++) {
            Cube cube = make_scene(18, 15, 12, masking, &seed);
            HcPatchRule rule = rule_for(number, &cube, 6, 4);
            check_rule(&rig, &cube, &rule);
            cube_free(&cube);
        }
    }
    rig_close(&rig);
}

/* A pixel has the same bits for every cut into blocks, every spare line of halo and every number of threads.
 */
CASE(test_patches_blocks) {
    (void)state;
    static const int32_t shapes[][5] = {{37, 29, 11, 8, 4}, {37, 29, 11, 8, 3}, {23, 40, 66, 5, 2},
                                        {19, 9, 66, 9, 9},  {6, 31, 3, 16, 5},  {41, 7, 40, 8, 1}};
    static const int32_t sizes[] = {41, 32, 28, 23, 19, 14, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
    uint64_t seed = 8;
    for (size_t c = 0; c < sizeof shapes / sizeof *shapes; c++) {
        Cube cube = make_scene(shapes[c][0], shapes[c][1], shapes[c][2], MASK_SOME, &seed);
        HcPatchRule rule = rule_for(c % 2 == 0 ? 1 : 9, &cube, shapes[c][3], shapes[c][4]);
        RigOperation operation = operation_of(&cube, &rule);
        Cube whole = rig_run(&operation, 1);
        rig_check_cuts(&operation, 1, sizes, &whole);
        rig_check_cuts(&operation, 2, sizes, &whole);
        rig_check_cuts(&operation, 7, (int32_t[]){41, 20, 10, 4, 1, 0}, &whole);
        cube_free(&whole);
        cube_free(&cube);
    }
}

CASE(test_patches_opening) {
    (void)state;
    uint64_t seed = 9;
    Cube cube = make_scene(37, 29, 11, MASK_SOME, &seed);
    HcPatchRule rule = rule_for(1, &cube, 8, 4);
    RigOperation operation = operation_of(&cube, &rule);
    Cube whole = rig_run(&operation, 1);
    rig_check_opening(&operation, 1, &whole);
    cube_free(&whole);
    cube_free(&cube);
}

/* A value that is no number makes NaN of all pixels that share a patch with it, and changes no other. */
SMALL(test_patches_not_finite) {
    (void)state;
    uint64_t seed = 10;
    Rig rig;
    rig_open(&rig, 2);
    for (int number = 0; number < RULES; number++) {
        Cube cube = make_scene(17, 20, 6, MASK_NONE, &seed);
        HcPatchRule rule = rule_for(number, &cube, 5, 5);
        RigOperation operation = operation_of(&cube, &rule);
        HcPatches *patches = open_patches(&rig, &rule);
        rig_empty(&rig);
        Cube plain = rig_run_block(&rig, &operation, patches, 0, 17, 0);
        cube.data[(7 * 20 + 11) * 6 + 3] = number % 2 == 0 ? INFINITY : NAN;
        Cube got = rig_run_block(&rig, &operation, patches, 0, 17, 0);
        for (int32_t p = 0; p < 17 * 20; p++) {
            bool shares = p / 20 / 5 == 1 && p % 20 / 5 == 2;
            for (int32_t b = rule.describe ? 1 : 0; b < got.bands; b++) {
                double value = (double)got.data[p * got.bands + b];
                if (!shares || b > 6) {
                    check_same(value, (double)plain.data[p * got.bands + b]);
                } else {
                    assert_true(isnan(value));
                }
            }
        }
        cube_free(&got);
        cube_free(&plain);
        cube_free(&cube);
        hc_patches_close(patches);
    }
    rig_close(&rig);
}

CASE(test_patches_refuses) {
    (void)state;
    uint64_t seed = 9;
    Rig rig;
    rig_open(&rig, 2);
    Cube cube = make_scene(20, 9, 4, MASK_NONE, &seed);
    HcError *err = &rig.err;
    HcPatchRule rule = rule_for(0, &cube, 4, 2);
    HcPatches *patches = NULL;
    check_fails(hc_patches_open(rig.compute, NULL, &patches, err), HC_E_USAGE, rig.err);
    HcPatchRule wrong[16];
    size_t count = 0;
    for (; count < 16; count++) {
        wrong[count] = rule;
    }
    wrong[0].lines = 0;
    wrong[1].samples = 0;
    wrong[2].bands = 0;
    wrong[3].bands = HC_SVD_MAX + 1;
    wrong[4].size = 0;
    wrong[5].size = HC_PATCH_SIZE_MAX + 1;
    wrong[6].step = 0;
    wrong[7].step = 5;
    wrong[8].keep = (HcPatchKeep)(HC_PATCH_COUNT + 1);
    wrong[9].keep = (HcPatchKeep)-1;
    wrong[10].count = -1;
    wrong[11].values = -1;
    wrong[12].noise = NAN;
    wrong[13].noise = INFINITY;
    wrong[14].noise = -1;
    wrong[15].step = -1;
    for (size_t i = 0; i < count; i++) {
        check_fails(hc_patches_open(rig.compute, &wrong[i], &patches, err), HC_E_USAGE, rig.err);
        assert_null(patches);
    }
    patches = open_patches(&rig, &rule);
    HcBlock in = rig_put_block(&rig, &cube, 5, 6, 3);
    HcBlock out = rig_alloc_block(&rig, &cube, 5, 6, 0, 4);
    HcQueue *queue = rig.queue;
    RigOperation operation = operation_of(&cube, &rule);
    rig_check_refusals(&rig, &operation, patches, &in, &out);
    HcBlock short_in[] = {in, in, in};
    short_in[0].above--;
    short_in[1].below--;
    short_in[2].samples--;
    for (size_t i = 0; i < sizeof short_in / sizeof *short_in; i++) {
        check_fails(hc_patches(queue, &short_in[i], patches, &out, err), HC_E_USAGE, rig.err);
    }
    HcBlock other[] = {out, out, out};
    other[0].line0--;
    other[1].above = 1;
    other[2].below = 1;
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        check_fails(hc_patches(queue, &in, patches, &other[i], err), HC_E_USAGE, rig.err);
    }
    /* Lines beyond the end of the scene that the rule knows. */
    HcBlock beyond = in;
    HcBlock after = out;
    beyond.line0 = 12;
    after.line0 = 15;
    beyond.below = 10;
    check_fails(hc_patches(queue, &beyond, patches, &after, err), HC_E_USAGE, rig.err);
    hc_patches_close(patches);
    hc_patches_close(NULL);
    cube_free(&cube);
    rig_close(&rig);
}
