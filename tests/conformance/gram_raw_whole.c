/* Sums of raw integers against wide integers that are formed here, from the values themselves. Shapes lie
 * around the sizes of tiles and strips; blocks are single lines, or the whole scene with both its borders. */
#include "tests/conformance/rig.h"

#include "core/operation/gram/gram_raw.h"
#include "cpu/cpu.h"

#include <stdlib.h>

enum { KINDS = HC_DIFFERENCE_SHIFT_DIAGONAL + 1, NODATA = 7, LAYOUTS = 3 };

typedef enum Missing { NOTHING, SOME_BAND, ALL_BANDS, MISSING } Missing;

/* A scene as values and as bytes. */
typedef struct Scene {
    HcRaw raw;      /* host pointers; of all lines */
    int64_t *value; /* [lines][samples][bands], as asked for: stored bands from the last to the first */
    uint8_t *user;  /* [lines][samples], NULL = none */
    uint8_t *mask;  /* [lines][samples], what the sums may take */
    unsigned char *bytes;
    size_t size, start; /* [bytes]; start: of the first value */
    Missing missing;
    int64_t counts[HC_MASK_REASONS];
} Scene;

static int64_t *value_at(const Scene *scene, int64_t line, int64_t sample, int64_t band) {
    const HcRaw *raw = &scene->raw;
    return &scene->value[(line * raw->samples + sample) * raw->bands + band];
}

static bool valid_at(const Scene *scene, int64_t line, int64_t sample) {
    const HcRaw *raw = &scene->raw;
    return line >= 0 && line < raw->lines && sample >= 0 && sample < raw->samples &&
           scene->mask[line * raw->samples + sample] != 0;
}

/* ---- making a scene ---- */

static void set_strides(HcRaw *raw, int32_t layout) {
    const int64_t bytes = (int64_t)hc_type_bytes(raw->type);
    const int64_t samples = bytes * raw->samples;
    const int64_t bands = bytes * raw->bands;
    raw->stride_sample = layout == 2 ? bands : bytes;
    raw->stride_band = layout == 0 ? samples : layout == 1 ? samples * raw->lines : bytes;
    raw->stride_line = layout == 1 ? samples : samples * raw->bands;
}

static void write_bytes(const Scene *scene) {
    const HcRaw *raw = &scene->raw;
    const size_t bytes = hc_type_bytes(raw->type);
    for (int64_t l = 0; l < raw->lines; l++) {
        for (int64_t s = 0; s < raw->samples; s++) {
            for (int64_t b = 0; b < raw->bands; b++) {
                const uint64_t value = (uint64_t)*value_at(scene, l, s, b);
                const int64_t stored = raw->bands - 1 - b;
                unsigned char *at = scene->bytes + scene->start + l * raw->stride_line +
                                    s * raw->stride_sample + stored * raw->stride_band;
                for (size_t i = 0; i < bytes; i++) {
                    at[i] = (unsigned char)(value >> 8 * (raw->swap ? bytes - 1 - i : i));
                }
            }
        }
    }
}

/* The whole range of the type, both its ends often. */
static int64_t make_value(HcType type, uint64_t *seed) {
    const bool is_signed = type == HC_INT8 || type == HC_INT16;
    const int64_t range = (int64_t)1 << 8 * hc_type_bytes(type);
    const int64_t low = is_signed ? -range / 2 : 0;
    const uint64_t draw = random_bits(seed) % 16;
    int64_t value = draw == 0   ? low
                    : draw == 1 ? low + range - 1
                                : random_between(seed, low, low + range - 1);
    return value == NODATA ? NODATA + 1 : value;
}

static void fill_pixel(Scene *scene, int64_t line, int64_t sample, uint64_t *seed) {
    const int32_t bands = scene->raw.bands;
    for (int32_t b = 0; b < bands; b++) {
        *value_at(scene, line, sample, b) = make_value(scene->raw.type, seed);
    }
    const int64_t pixel = line * scene->raw.samples + sample;
    const bool by_user = scene->user != NULL && scene->user[pixel] == 0;
    const bool is_missing = scene->missing != NOTHING && random_bits(seed) % 40 == 0;
    const int32_t from = scene->missing == ALL_BANDS ? 0 : (int32_t)random_between(seed, 0, bands - 1);
    for (int32_t b = from; is_missing && b < (scene->missing == ALL_BANDS ? bands : from + 1); b++) {
        *value_at(scene, line, sample, b) = NODATA;
    }
    scene->mask[pixel] = !by_user && !is_missing;
    scene->counts[HC_MASK_USER] += by_user;
    scene->counts[HC_MASK_NODATA] += is_missing && !by_user;
}

static void mask_by_user(Scene *scene, uint64_t *seed) {
    const size_t pixels = (size_t)scene->raw.lines * (size_t)scene->raw.samples;
    scene->user = malloc(pixels);
    assert_non_null(scene->user);
    for (size_t p = 0; p < pixels; p++) {
        scene->user[p] = random_bits(seed) % 30 != 0;
    }
}

static Scene scene_new(const int32_t shape[3], int round, uint64_t *seed) {
    static const HcType types[] = {HC_UINT16, HC_INT16, HC_UINT8, HC_INT8};
    Scene scene = {.raw = {.type = types[round % 4],
                           .swap = round / 2 % 2 != 0,
                           .lines = shape[0],
                           .samples = shape[1],
                           .bands = shape[2]},
                   .missing = (Missing)(round % MISSING),
                   .start = (size_t)(round / 3 % 3)};
    const size_t pixels = (size_t)shape[0] * (size_t)shape[1];
    const size_t values = pixels * (size_t)shape[2];
    set_strides(&scene.raw, round / 2 % LAYOUTS);
    scene.size = scene.start + values * hc_type_bytes(scene.raw.type);
    scene.value = malloc(values * sizeof *scene.value);
    scene.bytes = calloc(1, scene.size);
    scene.mask = malloc(pixels);
    assert_true(scene.value != NULL && scene.bytes != NULL && scene.mask != NULL);
    if (round % 5 == 1) {
        mask_by_user(&scene, seed);
    }
    for (int64_t l = 0; l < shape[0]; l++) {
        for (int64_t s = 0; s < shape[1]; s++) {
            fill_pixel(&scene, l, s, seed);
        }
    }
    write_bytes(&scene);
    return scene;
}

static void scene_free(Scene *scene) {
    free(scene->value);
    free(scene->user);
    free(scene->mask);
    free(scene->bytes);
}

/* ---- what is right ---- */

/* Whether all that the difference looks at is there. */
static bool whole(const Scene *scene, HcDifference kind, int64_t line, int64_t sample) {
    const bool around = kind == HC_DIFFERENCE_MEAN3X3 || kind == HC_DIFFERENCE_MEDIAN3X3;
    for (int64_t k = 0; around && k < 9; k++) {
        if (!valid_at(scene, line - 1 + k / 3, sample - 1 + k % 3)) {
            return false;
        }
    }
    return valid_at(scene, line, sample) &&
           (kind != HC_DIFFERENCE_SHIFT || valid_at(scene, line, sample + 1)) &&
           (kind != HC_DIFFERENCE_SHIFT_DIAGONAL || valid_at(scene, line + 1, sample + 1));
}

static int64_t difference_at(const Scene *scene, HcDifference kind, int64_t line, int64_t sample,
                             int64_t band) {
    const int64_t x = *value_at(scene, line, sample, band);
    int64_t sorted[9] = {0};
    int64_t sum = 0;
    if (kind == HC_DIFFERENCE_NONE) {
        return x;
    }
    if (kind == HC_DIFFERENCE_SHIFT || kind == HC_DIFFERENCE_SHIFT_DIAGONAL) {
        return x - *value_at(scene, line + (kind == HC_DIFFERENCE_SHIFT_DIAGONAL), sample + 1, band);
    }
    for (int k = 0; k < 9; k++) {
        const int64_t value = *value_at(scene, line - 1 + k / 3, sample - 1 + k % 3, band);
        int at = k;
        sum += value;
        for (; at > 0 && sorted[at - 1] > value; at--) {
            sorted[at] = sorted[at - 1];
        }
        sorted[at] = value;
    }
    return kind == HC_DIFFERENCE_MEAN3X3 ? 9 * x - sum : x - sorted[4];
}

static void add_pixel(HcMoments *to, const int64_t *value) {
    const size_t n = (size_t)to->bands;
    to->count++;
    for (size_t b = 0; b < n; b++) {
        to->sum[b] += value[b];
        for (size_t c = 0; c < n; c++) {
            to->product[b * n + c] += (HcWide)value[b] * value[c];
        }
    }
}

static HcMoments right_sums(const Scene *scene, HcDifference kind) {
    const int32_t bands = scene->raw.bands;
    HcMoments sums = {0};
    HcError err = {0};
    int64_t *value = malloc((size_t)bands * sizeof *value);
    assert_non_null(value);
    check_ok(hc_moments_init(&sums, bands, &err), err);
    for (int64_t l = 0; l < scene->raw.lines; l++) {
        for (int64_t s = 0; s < scene->raw.samples; s++) {
            if (whole(scene, kind, l, s)) {
                for (int64_t b = 0; b < bands; b++) {
                    value[b] = difference_at(scene, kind, l, s, b);
                }
                add_pixel(&sums, value);
            }
        }
    }
    free(value);
    return sums;
}

/* ---- what the backend makes of it ---- */

/* Lines of the scene, and one on each side where there is one, as a file that has no other lines. */
static HcRaw put_lines(Rig *rig, const Scene *scene, const HcBlock *block) {
    HcRaw raw = scene->raw;
    raw.line0 = hc_block_first_line(block);
    raw.lines = (int32_t)hc_block_rows(block);
    raw.data = (char *)rig_put(rig, scene->bytes, scene->size) + scene->start + raw.line0 * raw.stride_line;
    if (scene->user != NULL) {
        raw.user_mask =
            rig_put(rig, scene->user + raw.line0 * raw.samples, (size_t)raw.lines * (size_t)raw.samples);
    }
    return raw;
}

static void sum_block(Rig *rig, const Scene *scene, int32_t line, int32_t lines, HcGramPart parts[KINDS],
                      int64_t counts[HC_MASK_REASONS]) {
    const HcRaw *all = &scene->raw;
    Cube shape = {.lines = all->lines, .samples = all->samples, .bands = all->bands};
    HcBlock block = rig_alloc_block(rig, &shape, line, lines, 1, all->bands);
    HcRaw raw = put_lines(rig, scene, &block);
    int32_t *index = malloc((size_t)all->bands * sizeof *index);
    assert_non_null(index);
    for (int32_t b = 0; b < all->bands; b++) {
        index[b] = all->bands - 1 - b;
    }
    HcDecode how = {.band_index = rig_put(rig, index, (size_t)all->bands * sizeof *index),
                    .has_nodata = scene->missing != NOTHING,
                    .nodata = NODATA,
                    .keep_missing = scene->missing == ALL_BANDS,
                    .counts = rig_put(rig, counts, HC_MASK_REASONS * sizeof *counts)};
    check_ok(hc_gram_raw(rig->queue, &raw, &how, &block, parts, KINDS, &rig->err), rig->err);
    rig_get(rig, how.counts, counts, HC_MASK_REASONS * sizeof *counts);
    free(index);
    rig_empty(rig);
}

/* All sums of the scene, in blocks of `size` lines, against those that are right. */
static void check_blocks(Rig *rig, const Scene *scene, int32_t size, const HcMoments want[KINDS]) {
    const size_t n = (size_t)scene->raw.bands;
    const int64_t limit = hc_type_bytes(scene->raw.type) == 1 ? 255 : 65535;
    HcGramPart parts[KINDS] = {{0}};
    int64_t counts[HC_MASK_REASONS] = {0};
    for (int kind = 0; kind < KINDS; kind++) {
        parts[kind].kind = (HcDifference)kind;
        check_ok(hc_sums_open(rig->compute, scene->raw.bands, hc_difference_limit((HcDifference)kind, limit),
                              NULL, &parts[kind].sums, &rig->err),
                 rig->err);
    }
    for (int32_t line = 0; line < scene->raw.lines; line += size) {
        const int32_t left = scene->raw.lines - line;
        sum_block(rig, scene, line, left < size ? left : size, parts, counts);
    }
    assert_memory_equal(counts, scene->counts, sizeof counts);
    for (int kind = 0; kind < KINDS; kind++) {
        HcMoments got = {0};
        check_ok(hc_sums_fetch(rig->queue, parts[kind].sums, &got, &rig->err), rig->err);
        assert_int_equal(got.count, want[kind].count);
        assert_memory_equal(got.sum, want[kind].sum, n * sizeof *got.sum);
        assert_memory_equal(got.product, want[kind].product, n * n * sizeof *got.product);
        hc_moments_clear(&got);
        hc_sums_close(parts[kind].sums);
    }
}

static void check_ways(const Scene *scene) {
    HcMoments want[KINDS];
    for (int kind = 0; kind < KINDS; kind++) {
        want[kind] = right_sums(scene, (HcDifference)kind);
    }
    for (int way = HC_CPU_GRAM_BEST; way <= HC_CPU_GRAM_AMX; way++) {
        Rig rig;
        rig_open(&rig, 1 + way % 3);
        if (strcmp(hc_compute_name(rig_ops), "cpu") != 0 ? way == HC_CPU_GRAM_BEST
                                                         : hc_cpu_gram_force(rig.compute, (HcCpuGram)way)) {
            check_blocks(&rig, scene, scene->raw.lines, want);
            check_blocks(&rig, scene, 1, want);
        }
        rig_close(&rig);
    }
    for (int kind = 0; kind < KINDS; kind++) {
        hc_moments_clear(&want[kind]);
    }
}

/* Samples around 24, 64 and 128; bands around 32 and 64, and more blocks of bands than the matrix units take
 * at once; lines around 16. Every type, order of bytes, layout, mask and address. */
CASE(test_gram_raw_whole) {
    (void)state;
    static const int32_t shapes[][3] = {{1, 1, 1},    {1, 64, 32},  {2, 65, 33},  {3, 63, 31},
                                        {4, 127, 64}, {3, 128, 65}, {2, 129, 97}, {5, 2, 5},
                                        {3, 66, 225}, {9, 25, 34},  {17, 24, 3}};
    enum { SHAPES = sizeof shapes / sizeof shapes[0] };
    uint64_t seed = 45;
    for (int round = 0; round < 3 * SHAPES; round++) {
        Scene scene = scene_new(shapes[round % SHAPES], round, &seed);
        check_ways(&scene);
        scene_free(&scene);
    }
}
