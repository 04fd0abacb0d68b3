/* Sums of raw bytes against the same bytes, decoded and summed by the plainest way of the backend. */
#include "tests/conformance/rig.h"

#include "core/operation/gram/gram_raw.h"
#include "cpu/cpu.h"

#include <stdlib.h>

enum { PARTS = 3, FIRST_LINE = 10 };

typedef enum Layout { BIL, BSQ, BIP, LAYOUTS } Layout;

/* Bytes of a made-up file, and what is asked of it. */
typedef struct Scene {
    HcRaw raw; /* host pointers */
    unsigned char *bytes;
    size_t size, start;
    int32_t bands, *index; /* of the file, in the order asked for */
    uint8_t *user;         /* NULL = none */
    HcDecode how;
    HcDifference kind[PARTS];
    bool has_window[PARTS];
    HcWindow window;
    double *center[2]; /* of the grid: of values, of differences */
    int32_t *exponent;
    bool on_grid;
} Scene;

static bool is_floating(HcType type) {
    return type == HC_FLOAT32 || type == HC_FLOAT64;
}

static void write_value(const Scene *scene, int64_t line, int64_t sample, int64_t band, double value) {
    const HcRaw *raw = &scene->raw;
    size_t bytes = hc_type_bytes(raw->type);
    float narrow = (float)value;
    int64_t whole = is_floating(raw->type) ? 0 : (int64_t)value;
    const void *from = raw->type == HC_FLOAT32   ? (const void *)&narrow
                       : raw->type == HC_FLOAT64 ? (const void *)&value
                                                 : (const void *)&whole;
    unsigned char *at = scene->bytes + scene->start + line * raw->stride_line + sample * raw->stride_sample +
                        band * raw->stride_band;
    for (size_t i = 0; i < bytes; i++) {
        at[raw->swap ? bytes - 1 - i : i] = ((const unsigned char *)from)[i];
    }
}

/* size: 0 = small integers or plain floats, 1 = the whole range of small types or now and then a far value, 2
 * = values that cannot be, too. */
static double make_value(HcType type, int64_t band, int size, uint64_t *seed) {
    static const double odd[] = {1e7, -3e9, 2.5e15, -1e20, 3.4e38, 1e-41, NAN, INFINITY};
    if (is_floating(type)) {
        uint64_t draw = random_bits(seed) % 4000;
        double value = (double)(band % 5) * 30 + 2 * random_normal(seed);
        return size > 0 && draw < (size > 1 ? 8 : 6) ? odd[draw] : draw < 40 ? 7 : value;
    }
    bool is_signed = type == HC_INT8 || type == HC_INT16 || type == HC_INT32 || type == HC_INT64;
    int bits = 8 * (int)hc_type_bytes(type) < 16 ? 8 : 16;
    int64_t most = (size == 0 ? (int64_t)100 : (int64_t)1 << (is_signed ? bits - 1 : bits)) - 1;
    return random_bits(seed) % 500 == 0
               ? 7
               : (double)random_between(seed, is_signed ? -most - (size > 0) : 0, most);
}

static void place(Scene *scene, Layout layout, int gap) {
    HcRaw *raw = &scene->raw;
    int64_t bytes = (int64_t)hc_type_bytes(raw->type);
    if (layout == BIP) {
        raw->stride_band = bytes;
        raw->stride_sample = bytes * raw->bands + gap;
        raw->stride_line = raw->stride_sample * raw->samples;
    } else if (layout == BIL) {
        raw->stride_sample = bytes;
        raw->stride_band = bytes * raw->samples + gap;
        raw->stride_line = raw->stride_band * raw->bands;
    } else {
        raw->stride_sample = bytes;
        raw->stride_line = bytes * raw->samples + gap;
        raw->stride_band = raw->stride_line * raw->lines;
    }
    scene->size = (size_t)((raw->lines - 1) * raw->stride_line + (raw->samples - 1) * raw->stride_sample +
                           (raw->bands - 1) * raw->stride_band + bytes);
    if (gap == 2) { /* lines from the bottom up */
        scene->start = (size_t)((raw->lines - 1) * raw->stride_line);
        raw->stride_line = -raw->stride_line;
    }
}

/* On a grid that suits most values: whole bands may be far from it. */
static void choose_grid(Scene *scene) {
    size_t n = (size_t)scene->bands;
    scene->center[0] = malloc(n * sizeof(double));
    scene->center[1] = calloc(n, sizeof(double));
    scene->exponent = malloc(n * sizeof(int32_t));
    assert_true(scene->center[0] != NULL && scene->center[1] != NULL && scene->exponent != NULL);
    for (size_t b = 0; b < n; b++) {
        scene->center[0][b] = (double)(scene->index[b] % 5) * 30;
        scene->exponent[b] = is_floating(scene->raw.type) ? -27 - scene->index[b] % 2 : -14;
    }
}

static Scene scene_new(HcType type, Layout layout, const int32_t shape[3], int round, uint64_t *seed) {
    Scene scene = {
        .raw = {.type = type, .line0 = FIRST_LINE, .lines = shape[0], .samples = shape[1], .bands = shape[2]},
        .window = {1, FIRST_LINE + 1, 140, 15}};
    scene.raw.swap = random_bits(seed) % 2 != 0;
    place(&scene, layout, round % 3);
    scene.bytes = calloc(1, scene.size);
    scene.index = malloc((size_t)shape[2] * sizeof *scene.index);
    assert_true(scene.bytes != NULL && scene.index != NULL);
    for (int64_t l = 0; l < shape[0]; l++) {
        for (int64_t s = 0; s < shape[1]; s++) {
            int size = (int)(random_bits(seed) % 3) * (round % 4 != 0);
            for (int64_t b = 0; b < shape[2]; b++) {
                write_value(&scene, l, s, b, make_value(type, b, size, seed));
            }
        }
    }
    scene.bands = round % 2 == 0 ? shape[2] : (int32_t)random_between(seed, 1, shape[2]);
    for (int32_t b = 0; b < scene.bands; b++) {
        scene.index[b] = round % 2 == 0 ? b : (int32_t)random_between(seed, 0, shape[2] - 1);
    }
    if (round % 3 == 1) {
        size_t pixels = (size_t)shape[0] * (size_t)shape[1];
        scene.user = malloc(pixels);
        assert_non_null(scene.user);
        for (size_t p = 0; p < pixels; p++) {
            scene.user[p] = random_bits(seed) % (round % 2 == 0 ? 3 : 200) != 0;
        }
    }
    scene.how = (HcDecode){.has_nodata = round % 4 > 1,
                           .nodata = round % 5 == 4 ? NAN : 7,
                           .nodata_needs_all_bands = round % 4 == 3,
                           .keep_missing = false};
    scene.on_grid = hc_type_bytes(type) > 2;
    for (int p = 0; p < PARTS; p++) {
        scene.kind[p] = (HcDifference)((p * (1 + round / 3)) % 5);
        scene.has_window[p] = p == 2 && round % 2 == 0;
    }
    choose_grid(&scene);
    return scene;
}

static void scene_free(Scene *scene) {
    free(scene->bytes);
    free(scene->index);
    free(scene->user);
    free(scene->center[0]);
    free(scene->center[1]);
    free(scene->exponent);
}

/* All sums of the scene, in blocks of `size` lines: of the bytes, or of decoded blocks. */
static void sum_scene(Rig *rig, const Scene *scene, int32_t size, bool by_bytes, HcMoments moments[PARTS],
                      int64_t counts[HC_MASK_REASONS]) {
    const HcRaw *host = &scene->raw;
    HcSums *sums[PARTS] = {NULL};
    const int64_t limit = hc_type_bytes(host->type) == 1 ? 255 : 65535;
    for (int p = 0; p < PARTS; p++) {
        const HcGrid grid = {scene->center[scene->kind[p] != HC_DIFFERENCE_NONE], scene->exponent};
        check_ok(hc_sums_open(rig->compute, scene->bands,
                              scene->on_grid ? 0 : hc_difference_limit(scene->kind[p], limit),
                              scene->on_grid ? &grid : NULL, &sums[p], &rig->err),
                 rig->err);
    }
    memset(counts, 0, HC_MASK_REASONS * sizeof *counts);
    for (int32_t line = 1; line < host->lines; line += size) { /* a line of context above */
        int32_t lines = line + size <= host->lines ? size : host->lines - line;
        int32_t halo = 1 + size % 2;
        Cube shape = {.lines = FIRST_LINE + host->lines, .samples = host->samples, .bands = scene->bands};
        HcBlock block = rig_alloc_block(rig, &shape, FIRST_LINE + line, lines, 0, scene->bands);
        block.above = line < halo ? line : halo;
        block.below = host->lines - line - lines < halo ? host->lines - line - lines : halo;
        block.data = rig_alloc(rig, hc_block_values(&block) * sizeof(float));
        block.mask = rig_alloc(rig, hc_block_pixels(&block));
        HcRaw raw = *host;
        raw.data = (char *)rig_put(rig, scene->bytes, scene->size) + scene->start;
        raw.user_mask = scene->user != NULL
                            ? rig_put(rig, scene->user, (size_t)host->lines * (size_t)host->samples)
                            : NULL;
        HcDecode how = scene->how;
        how.band_index = rig_put(rig, scene->index, sizeof(int32_t) * (size_t)scene->bands);
        int64_t *counts_at = rig_put(rig, counts, HC_MASK_REASONS * sizeof *counts);
        how.counts = counts_at;
        HcWindow window = scene->window;
        HcGramPart parts[PARTS];
        for (int p = 0; p < PARTS; p++) {
            parts[p] = (HcGramPart){scene->kind[p], scene->has_window[p] ? &window : NULL, sums[p]};
        }
        if (by_bytes) {
            check_ok(hc_gram_raw(rig->queue, &raw, &how, &block, parts, PARTS, &rig->err), rig->err);
            raw = (HcRaw){0}; /* structs are copied */
            how = (HcDecode){0};
            window = (HcWindow){0};
            memset(parts, 0, sizeof parts);
        } else {
            check_ok(hc_decode(rig->queue, &raw, &how, &block, &rig->err), rig->err);
            for (int p = 0; p < PARTS; p++) {
                check_ok(hc_gram(rig->queue, &block, parts[p].kind, parts[p].window, sums[p], &rig->err),
                         rig->err);
            }
        }
        rig_get(rig, counts_at, counts, HC_MASK_REASONS * sizeof *counts);
        rig_empty(rig);
    }
    for (int p = 0; p < PARTS; p++) {
        check_ok(hc_sums_fetch(rig->queue, sums[p], &moments[p], &rig->err), rig->err);
        hc_sums_close(sums[p]);
    }
}

static void compare(const HcMoments *got, const HcMoments *want) {
    size_t n = (size_t)want->bands;
    assert_int_equal(got->count, want->count);
    for (size_t b = 0; b < n; b++) {
        HcLong a = hc_moments_sum(got, b);
        HcLong e = hc_moments_sum(want, b);
        assert_memory_equal(&a, &e, sizeof a);
        for (size_t c = b; c < n; c++) {
            a = hc_moments_product(got, b, c);
            e = hc_moments_product(want, b, c);
            assert_memory_equal(&a, &e, sizeof a);
        }
    }
}

static void force(Rig *rig, HcCpuGram way, bool *there) {
    *there = strcmp(hc_compute_name(rig_ops), "cpu") != 0 ? way == HC_CPU_GRAM_BEST
                                                          : hc_cpu_gram_force(rig->compute, way);
}

static void check_scene(const Scene *scene) {
    static const int32_t threads[] = {1, 3};
    HcMoments want[PARTS] = {{0}};
    int64_t want_counts[HC_MASK_REASONS];
    bool there = false;
    Rig rig;
    rig_open(&rig, 1);
    force(&rig, HC_CPU_GRAM_FLOAT64, &there);
    sum_scene(&rig, scene, scene->raw.lines, false, want, want_counts);
    rig_close(&rig);
    for (int way = HC_CPU_GRAM_BEST; way <= HC_CPU_GRAM_AMX; way++) {
        for (int t = 0; t < 2; t++) {
            rig_open(&rig, threads[t]);
            force(&rig, (HcCpuGram)way, &there);
            int32_t size = t == 0 ? scene->raw.lines : 1 + scene->raw.lines / 3;
            HcMoments got[PARTS] = {{0}};
            int64_t counts[HC_MASK_REASONS];
            if (there) {
                sum_scene(&rig, scene, size, true, got, counts);
                assert_memory_equal(counts, want_counts, sizeof counts);
            }
            for (int p = 0; p < PARTS && there; p++) {
                compare(&got[p], &want[p]);
                hc_moments_clear(&got[p]);
            }
            rig_close(&rig);
        }
    }
    for (int p = 0; p < PARTS; p++) {
        hc_moments_clear(&want[p]);
    }
}

/* Every type, layout and order of bytes; masks, nodata, windows, bands in any order, far values. */
CASE(test_gram_raw) {
    (void)state;
    static const int32_t shapes[][3] = {{3, 1, 2}, {4, 70, 5}, {19, 131, 3}, {5, 64, 18}, {3, 193, 33}};
    uint64_t seed = 41;
    for (int round = 0; round < 60; round++) {
        HcType type = round < 40 ? (HcType)(round % HC_TYPE_COUNT)
                                 : (HcType[]){HC_UINT16, HC_INT16, HC_FLOAT32, HC_UINT8}[round % 4];
        Scene scene = scene_new(type, (Layout)(round < 40 ? round / HC_TYPE_COUNT % LAYOUTS : round / 4 % 2),
                                shapes[(round * 7 / 3) % 5], round, &seed);
        check_scene(&scene);
        scene_free(&scene);
    }
}

SMALL(test_gram_raw_small) {
    (void)state;
    static const int32_t shape[] = {4, 70, 5};
    uint64_t seed = 47;
    for (int round = 0; round < 3; round++) {
        Scene scene =
            scene_new((HcType[]){HC_UINT16, HC_FLOAT32, HC_INT32}[round], (Layout)round, shape, round, &seed);
        check_scene(&scene);
        scene_free(&scene);
    }
}

/* Values and differences of floats at whole addresses, in any order, in more lines than a unit has. */
CASE(test_gram_raw_floats) {
    (void)state;
    static const int32_t shapes[][3] = {{5, 64, 18}, {19, 131, 3}, {3, 193, 33}, {37, 70, 40}};
    static const HcDifference kinds[][PARTS] = {
        {HC_DIFFERENCE_NONE, HC_DIFFERENCE_MEAN3X3, HC_DIFFERENCE_SHIFT},
        {HC_DIFFERENCE_MEAN3X3, HC_DIFFERENCE_NONE, HC_DIFFERENCE_SHIFT_DIAGONAL},
        {HC_DIFFERENCE_SHIFT, HC_DIFFERENCE_MEAN3X3, HC_DIFFERENCE_NONE},
        {HC_DIFFERENCE_NONE, HC_DIFFERENCE_NONE, HC_DIFFERENCE_MEAN3X3}};
    uint64_t seed = 45;
    for (int round = 3; round <= 24; round += 3) { /* no gaps */
        Scene scene = scene_new(HC_FLOAT32, round % 2 == 0 ? BIL : BSQ, shapes[round / 3 % 4], round, &seed);
        memcpy(scene.kind, kinds[round / 6 % 4], sizeof scene.kind);
        check_scene(&scene);
        scene_free(&scene);
    }
}

/* Floats of which single ones are NaN or infinite, at borders of strips, tiles and blocks: their pixels are
 * left out and, of differences, the pixels beside them. */
CASE(test_gram_raw_holes) {
    (void)state;
    static const int32_t shape[3] = {37, 140, 9};
    static const int32_t holes[][3] = {{0, 5, 0},    {1, 63, 3},   {17, 64, 8}, {18, 127, 2},
                                       {36, 139, 7}, {33, 128, 5}, {16, 0, 4},  {2, 62, 1}};
    static const HcDifference kinds[][PARTS] = {
        {HC_DIFFERENCE_NONE, HC_DIFFERENCE_MEAN3X3, HC_DIFFERENCE_SHIFT_DIAGONAL},
        {HC_DIFFERENCE_NONE, HC_DIFFERENCE_NONE, HC_DIFFERENCE_MEAN3X3},
        {HC_DIFFERENCE_SHIFT, HC_DIFFERENCE_MEAN3X3, HC_DIFFERENCE_NONE}};
    uint64_t seed = 47;
    for (int round = 0; round < 9; round++) {
        Scene scene = scene_new(HC_FLOAT32, round % 2 == 0 ? BIL : BSQ, shape, 0, &seed);
        memcpy(scene.kind, kinds[round % 3], sizeof scene.kind);
        for (int h = 0; h < 8; h++) {
            if (h == round || (round == 8 && h % 2 == 0)) {
                write_value(&scene, holes[h][0], holes[h][1], holes[h][2], h % 3 == 0 ? -INFINITY : NAN);
            }
        }
        if (round % 4 == 3) {
            const size_t pixels = (size_t)shape[0] * (size_t)shape[1];
            scene.user = malloc(pixels);
            assert_non_null(scene.user);
            for (size_t p = 0; p < pixels; p++) {
                scene.user[p] = random_bits(&seed) % 50 != 0;
            }
        }
        check_scene(&scene);
        scene_free(&scene);
    }
}

/* More pixels than 32-bit sums hold, at the largest values. */
CASE(test_gram_raw_full) {
    (void)state;
    static const int32_t shape[3] = {170, 128, 17};
    uint64_t seed = 42;
    for (int type = 0; type < 2; type++) {
        Scene scene = scene_new(type == 0 ? HC_UINT16 : HC_FLOAT32, BIL, shape, 0, &seed);
        for (int64_t i = 0; i < (int64_t)shape[0] * shape[1]; i++) {
            for (int64_t b = 0; b < shape[2]; b++) {
                double value = type == 0 ? 65535 : (double)(b % 5) * 30 + 15.999;
                write_value(&scene, i / shape[1], i % shape[1], b, value);
            }
        }
        check_scene(&scene);
        scene_free(&scene);
    }
}

/* Values that move far away in the course of the scene, with holes, in strips of all lengths: what was summed
 * until then stays. */
CASE(test_gram_raw_moving) {
    (void)state;
    static const int32_t widths[] = {200, 64, 219, 129};
    uint64_t seed = 46;
    for (int round = 0; round < 4; round++) {
        const int32_t shape[3] = {61, widths[round], 19};
        HcType type = round % 2 == 0 ? HC_UINT16 : HC_INT16;
        Scene scene = scene_new(type, round < 2 ? BIL : BSQ, shape, 1 + 3 * round, &seed);
        scene.how.has_nodata = false;
        for (int32_t l = 0; l < shape[0]; l++) {
            for (int64_t i = 0; i < (int64_t)shape[1] * shape[2]; i++) {
                int64_t level = l < 3 ? 0 : l < 20 ? 65000 : 20000;
                level = type == HC_INT16 ? level / 2 : level;
                write_value(&scene, l, i / shape[2], i % shape[2],
                            (double)random_between(&seed, level, level + 200));
            }
        }
        scene.kind[0] = HC_DIFFERENCE_NONE;
        scene.kind[1] = HC_DIFFERENCE_MEAN3X3;
        scene.kind[2] = (HcDifference)(2 + round % 3);
        check_scene(&scene);
        scene_free(&scene);
    }
}

/* A value beyond the limit is noticed, not summed wrongly. */
CASE(test_gram_raw_broken_promise) {
    (void)state;
    static const int32_t shape[3] = {3, 90, 5};
    uint64_t seed = 43;
    Rig rig;
    rig_open(&rig, 2);
    Scene scene = scene_new(HC_UINT16, BIL, shape, 0, &seed);
    write_value(&scene, 1, 77, 3, 1001);
    HcSums *sums = NULL;
    check_ok(hc_sums_open(rig.compute, 5, 1000, NULL, &sums, &rig.err), rig.err);
    HcRaw raw = scene.raw;
    raw.data = rig_put(&rig, scene.bytes, scene.size);
    HcDecode how = {.band_index = rig_put(&rig, scene.index, 5 * sizeof(int32_t))};
    Cube cube = {.lines = FIRST_LINE + 3, .samples = 90, .bands = 5};
    HcBlock block = rig_alloc_block(&rig, &cube, FIRST_LINE, 3, 0, 5);
    HcGramPart part = {HC_DIFFERENCE_NONE, NULL, sums};
    HcStatus status = hc_gram_raw(rig.queue, &raw, &how, &block, &part, 1, &rig.err);
    if (status == HC_OK) {
        status = hc_wait(rig.queue, &rig.err);
    }
    check_fails(status, HC_E_NUMERIC, rig.err);
    hc_sums_close(sums);
    scene_free(&scene);
    rig_close(&rig);
}

CASE(test_gram_raw_usage) {
    (void)state;
    static const int32_t shape[3] = {3, 20, 4};
    uint64_t seed = 44;
    Rig rig;
    rig_open(&rig, 1);
    Scene scene = scene_new(HC_INT16, BIL, shape, 0, &seed);
    HcSums *sums = NULL;
    check_ok(hc_sums_open(rig.compute, 3, 40000, NULL, &sums, &rig.err), rig.err);
    HcRaw raw = scene.raw;
    raw.data = rig_put(&rig, scene.bytes, scene.size);
    HcDecode how = {.band_index = rig_put(&rig, scene.index, 4 * sizeof(int32_t))};
    Cube cube = {.lines = FIRST_LINE + 3, .samples = 20, .bands = 4};
    HcBlock block = rig_alloc_block(&rig, &cube, FIRST_LINE, 3, 0, 4);
    HcGramPart parts[2] = {{HC_DIFFERENCE_NONE, NULL, sums}, {HC_DIFFERENCE_NONE, NULL, sums}};
#define REFUSED(raw, how, block, parts, count)                                                               \
    check_fails(hc_gram_raw(rig.queue, raw, how, block, parts, count, &rig.err), HC_E_USAGE, rig.err)
    REFUSED(&raw, &how, &block, parts, 1); /* 4 bands, sums of 3 */
    block.bands = 3;
    REFUSED(&raw, &how, &block, parts, 2); /* the same sums */
    REFUSED(&raw, &how, &block, parts, 0);
    REFUSED(&raw, &how, &block, parts, HC_GRAM_PARTS_MAX + 1);
    REFUSED(&raw, &how, &block, NULL, 1);
    REFUSED(NULL, &how, &block, parts, 1);
    REFUSED(&raw, NULL, &block, parts, 1);
    REFUSED(&raw, &how, NULL, parts, 1);
    parts[0].kind = HC_DIFFERENCE_MEAN3X3; /* no halo */
    REFUSED(&raw, &how, &block, parts, 1);
    parts[0] = (HcGramPart){HC_DIFFERENCE_NONE, NULL, NULL};
    REFUSED(&raw, &how, &block, parts, 1);
#undef REFUSED
    hc_sums_close(sums);
    scene_free(&scene);
    rig_close(&rig);
}
