#include "tests/conformance/rig.h"

#include "core/operation/image/decode.h"

#include <float.h>
#include <stdlib.h>

typedef enum Layout { BSQ, BIL, BIP, LAYOUTS } Layout;

/* For each type and layout; then as many in which missing values are kept. */
enum { ROUNDS = 12 };

/* Bytes of a made-up file, with gaps between everything. */
typedef struct File {
    HcRaw raw;            /* host pointers */
    unsigned char *bytes; /* [size] */
    size_t size, start;   /* the first value lies at `start` */
} File;

static void *value_at(const File *file, int64_t line, int64_t sample, int64_t band) {
    const HcRaw *raw = &file->raw;
    return file->bytes + file->start + line * raw->stride_line + sample * raw->stride_sample +
           band * raw->stride_band;
}

/* Value of the file as it is: integers exactly, in a long double. */
static long double read_value(const File *file, int64_t line, int64_t sample, int64_t band,
                              float *converted) {
    unsigned char raw[8];
    size_t bytes = hc_type_bytes(file->raw.type);
    const unsigned char *at = value_at(file, line, sample, band);
    for (size_t i = 0; i < bytes; i++) {
        raw[i] = at[file->raw.swap ? bytes - 1 - i : i];
    }
#define READ(T)                                                                                              \
    do {                                                                                                     \
        T v;                                                                                                 \
        memcpy(&v, raw, sizeof v);                                                                           \
        *converted = (float)v;                                                                               \
        return (long double)v;                                                                               \
    } while (0)
    switch (file->raw.type) {
    case HC_UINT8:
        READ(uint8_t);
    case HC_INT8:
        READ(int8_t);
    case HC_UINT16:
        READ(uint16_t);
    case HC_INT16:
        READ(int16_t);
    case HC_UINT32:
        READ(uint32_t);
    case HC_INT32:
        READ(int32_t);
    case HC_UINT64:
        READ(uint64_t);
    case HC_INT64:
        READ(int64_t);
    case HC_FLOAT32:
        READ(float);
    default:
        READ(double);
    }
}

static void write_value(const File *file, int64_t line, int64_t sample, int64_t band, const void *native) {
    size_t bytes = hc_type_bytes(file->raw.type);
    unsigned char *at = value_at(file, line, sample, band);
    for (size_t i = 0; i < bytes; i++) {
        at[file->raw.swap ? bytes - 1 - i : i] = ((const unsigned char *)native)[i];
    }
}

/* One value: random bits for integers; for floats now and then something special. `common` is a frequent
 * value that can serve as nodata. */
static void make_value(const File *file, int64_t line, int64_t sample, int64_t band, int rare,
                       uint64_t *seed) {
    static const double special[] = {NAN, INFINITY, -INFINITY, 0x1p-149, -0x1p-140, 1e300, -0.0, FLT_MAX};
    uint64_t bits = random_bits(seed);
    int choice = (int)(random_bits(seed) % (uint64_t)rare);
    if (file->raw.type == HC_FLOAT32 || file->raw.type == HC_FLOAT64) {
        double wide = choice == 0 ? special[bits % 8] : choice < 3 ? 7 : 1000 * random_normal(seed);
        float narrow = (float)wide;
        if (file->raw.type == HC_FLOAT32) {
            write_value(file, line, sample, band, &narrow);
        } else {
            write_value(file, line, sample, band, &wide);
        }
        return;
    }
    if (choice < 3) {
        bits = 7;
    }
    write_value(file, line, sample, band, &bits); /* little-endian: the low bytes */
}

static File file_new(HcType type, Layout layout, int32_t lines, int32_t samples, int32_t bands, int gap,
                     uint64_t *seed) {
    int64_t bytes = (int64_t)hc_type_bytes(type);
    File file = {.raw = {.type = type, .lines = lines, .samples = samples, .bands = bands}};
    HcRaw *raw = &file.raw;
    if (layout == BIP) {
        raw->stride_band = bytes;
        raw->stride_sample = bytes * bands + gap;
        raw->stride_line = raw->stride_sample * samples + gap;
    } else if (layout == BIL) {
        raw->stride_sample = bytes + (gap == 3 ? 3 : 0);
        raw->stride_band = raw->stride_sample * samples + gap;
        raw->stride_line = raw->stride_band * bands + gap;
    } else {
        raw->stride_sample = bytes;
        raw->stride_line = bytes * samples + gap;
        raw->stride_band = raw->stride_line * lines + gap;
    }
    int64_t last = (lines - 1) * raw->stride_line + (samples - 1) * raw->stride_sample +
                   (bands - 1) * raw->stride_band + bytes;
    file.start = gap > 0 ? 1 : 0;
    if (gap == 5) { /* lines from the bottom up */
        file.start += (size_t)((lines - 1) * raw->stride_line);
        raw->stride_line = -raw->stride_line;
    }
    file.size = (size_t)last + (gap > 0 ? 1 : 0);
    file.bytes = malloc(file.size);
    assert_non_null(file.bytes);
    memset(file.bytes, 0x5A, file.size);
    raw->swap = random_bits(seed) % 2 != 0;
    return file;
}

typedef struct Expected {
    int32_t bands;
    const int32_t *index;
    bool has_nodata, all, keeps;
    double nodata;
    const uint8_t *user;
    int64_t partly; /* pixels that are kept and lack a band */
} Expected;

static bool is_nodata(const File *file, const Expected *how, long double value) {
    if (!how->has_nodata ||
        (file->raw.type == HC_FLOAT32 && fabs(how->nodata) > FLT_MAX && isfinite(how->nodata))) {
        return false; /* none asked for, or none that the type can hold */
    }
    long double wanted =
        file->raw.type == HC_FLOAT32 ? (long double)(float)how->nodata : (long double)how->nodata;
    return value == wanted || (isnan(value) && isnan(wanted));
}

/* Why the pixel is left out; HC_MASK_REASONS = it is not. */
static HcMaskReason reason_of(const File *file, const Expected *how, int64_t line, int64_t sample) {
    int32_t hits = 0;
    int32_t lacking = 0;
    bool bad = false;
    for (int32_t k = 0; k < how->bands; k++) {
        float converted;
        long double value = read_value(file, line, sample, how->index[k], &converted);
        hits += is_nodata(file, how, value);
        bad = bad || !isfinite(converted);
        lacking += is_nodata(file, how, value) || !isfinite(converted);
    }
    if (how->user != NULL && how->user[line * file->raw.samples + sample] == 0) {
        return HC_MASK_USER;
    }
    if (how->keeps && lacking < how->bands) {
        return HC_MASK_REASONS;
    }
    if (how->all && !how->keeps ? hits == how->bands : hits > 0) {
        return HC_MASK_NODATA;
    }
    return bad ? HC_MASK_NAN : HC_MASK_REASONS;
}

/* What the block is to hold of a valid pixel's band. */
static float kept_value(const File *file, const Expected *how, int64_t line, int64_t sample, int32_t band) {
    float converted;
    long double value = read_value(file, line, sample, how->index[band], &converted);
    bool lacks = is_nodata(file, how, value) || !isfinite(converted);
    return how->keeps && lacks ? NAN : converted;
}

static void compare(const File *file, Expected *how, const HcBlock *block, const Cube *got,
                    const int64_t counts[HC_MASK_REASONS], const int64_t counts0[HC_MASK_REASONS]) {
    int64_t expected[HC_MASK_REASONS] = {0};
    for (int64_t row = 0; row < got->lines; row++) {
        int64_t line = hc_block_first_line(block) + row - file->raw.line0;
        bool interior = row >= block->above && row < block->above + block->lines;
        for (int64_t s = 0; s < got->samples; s++) {
            HcMaskReason reason = reason_of(file, how, line, s);
            assert_int_equal(got->mask[row * got->samples + s], reason == HC_MASK_REASONS);
            if (reason != HC_MASK_REASONS && interior) {
                expected[reason]++;
            }
            bool lacks = false;
            for (int32_t k = 0; k < how->bands; k++) {
                float value = reason == HC_MASK_REASONS ? kept_value(file, how, line, s, k) : 0;
                float held = cube_at(got, row, s, k);
                if (isnan(value)) { /* whichever bits */
                    assert_true(isnan(held));
                } else {
                    check_same(held, value);
                }
                lacks = lacks || isnan(value);
            }
            how->partly += lacks;
        }
    }
    for (int r = 0; r < HC_MASK_REASONS; r++) {
        assert_int_equal(counts[r], counts0[r] + expected[r]);
    }
}

/* Decodes lines [2, lines) or so of the file and compares every value. */
static void decode_file(Rig *rig, File *file, Expected *how, bool halo) {
    const HcRaw *host = &file->raw;
    file->raw.line0 = 10;
    Cube shape = {.lines = 10 + host->lines, .samples = host->samples, .bands = how->bands};
    int32_t lines = host->lines > 2 && halo ? host->lines - 2 : host->lines;
    int64_t line0 = host->lines > 2 && halo ? 11 : 10;
    HcBlock out = rig_alloc_block(rig, &shape, line0, lines, line0 > 10 ? 1 : 0, how->bands);
    int64_t counts0[HC_MASK_REASONS] = {5, 6, 7};
    HcRaw raw = *host;
    raw.data = (char *)rig_put(rig, file->bytes, file->size) + file->start;
    size_t pixels = (size_t)host->lines * (size_t)host->samples;
    raw.user_mask = how->user != NULL ? rig_put(rig, how->user, pixels) : NULL;
    HcDecode decode = {.band_index = rig_put(rig, how->index, sizeof(int32_t) * (size_t)how->bands),
                       .has_nodata = how->has_nodata,
                       .nodata = how->nodata,
                       .nodata_needs_all_bands = how->all,
                       .keep_missing = how->keeps,
                       .counts = rig_put(rig, counts0, sizeof counts0)};
    check_ok(hc_decode(rig->queue, &raw, &decode, &out, &rig->err), rig->err);
    raw = (HcRaw){0}; /* structs are copied */
    int64_t *counts_at = decode.counts;
    decode = (HcDecode){0};
    int64_t counts[HC_MASK_REASONS];
    rig_get(rig, counts_at, counts, sizeof counts);
    Cube got = rig_get_block(rig, &out);
    compare(file, how, &out, &got, counts, counts0);
    cube_free(&got);
    rig_empty(rig);
}

/* Some bands in some order: all, one after another, or at random. */
static int32_t choose_bands(int32_t *index, int32_t stored, uint64_t *seed) {
    int how = (int)(random_bits(seed) % 3);
    int32_t bands = how == 0 ? stored : (int32_t)random_between(seed, 1, stored);
    int32_t first = (int32_t)random_between(seed, 0, stored - bands);
    for (int32_t k = 0; k < bands; k++) {
        index[k] = how < 2 ? first + k : (int32_t)random_between(seed, 0, stored - 1);
    }
    return bands;
}

/* Returns how many pixels were kept that lack a band. */
static int64_t decode_case(Rig *rig, HcType type, Layout layout, const int32_t shape[3], int gap, int round,
                           uint64_t *seed) {
    static const double nodata[] = {7, 7, -9999, 0.5, NAN, -1e301};
    int32_t index[512];
    File file = file_new(type, layout, shape[0], shape[1], shape[2], gap, seed);
    int rare = 3 + (round % 4) * 20 * shape[2]; /* from nearly all left out to nearly none */
    for (int64_t l = 0; l < shape[0]; l++) {
        for (int64_t s = 0; s < shape[1]; s++) {
            for (int64_t b = 0; b < shape[2]; b++) {
                make_value(&file, l, s, b, rare, seed);
            }
        }
    }
    size_t pixels = (size_t)shape[0] * (size_t)shape[1];
    uint8_t *user = malloc(pixels);
    assert_non_null(user);
    for (size_t p = 0; p < pixels; p++) {
        user[p] = random_bits(seed) % 5 != 0;
    }
    Expected how = {.bands = choose_bands(index, shape[2], seed), .index = index};
    how.has_nodata = round % 3 != 0;
    how.all = round % 2 != 0;
    how.nodata = nodata[random_bits(seed) % 6];
    how.keeps = round >= ROUNDS;
    how.user = round % 5 == 0 ? user : NULL;
    decode_file(rig, &file, &how, round % 2 == 0);
    free(user);
    free(file.bytes);
    return how.partly;
}

CASE(test_decode) {
    (void)state;
    static const int32_t shapes[][3] = {{1, 1, 1},   {1, 1, 425}, {5, 1, 3},    {1, 67, 1},
                                        {4, 70, 33}, {3, 16, 16}, {6, 131, 18}, {3, 64, 64}};
    uint64_t seed = 1;
    int64_t partly[HC_TYPE_COUNT] = {0};
    for (int32_t threads = 1; threads <= 3; threads++) {
        Rig rig;
        rig_open(&rig, threads);
        for (int type = 0; type < HC_TYPE_COUNT; type++) {
            for (int layout = 0; layout < LAYOUTS; layout++) {
                for (int round = 0; round < 2 * ROUNDS; round++) {
                    static const int gaps[] = {0, 0, 1, 3, 5};
                    int gap = gaps[random_bits(&seed) % 5]; /* compilers order arguments as they like */
                    const int32_t *shape = shapes[random_bits(&seed) % 8];
                    int64_t kept = decode_case(&rig, (HcType)type, (Layout)layout, shape, gap, round, &seed);
                    assert_true(kept == 0 || round >= ROUNDS);
                    partly[type] += kept;
                }
            }
        }
        rig_close(&rig);
    }
    for (int type = 0; type < HC_TYPE_COUNT; type++) { /* random, so that a few rounds may have none */
        assert_true(partly[type] > 0);
    }
}

/* By the rule "all bands" a pixel counts as nodata only where each of its bands does, whichever of them lie
 * apart from the others in the work of a backend. */
CASE(test_decode_nodata_in_some_bands) {
    enum { SOME = 301, PIXELS = 40 };
    static const int32_t ranges[][2] = {{0, SOME},   {0, 256}, {256, SOME}, {16, 32}, {0, 16},
                                        {300, SOME}, {0, 300}, {1, SOME},   {0, 0},   {128, 256}};
    (void)state;
    uint64_t seed = 3;
    int32_t index[SOME];
    Rig rig;
    rig_open(&rig, 2);
    for (int32_t k = 0; k < SOME; k++) {
        index[k] = k;
    }
    for (int type = 0; type < HC_TYPE_COUNT; type++) {
        for (int layout = 0; layout < LAYOUTS; layout++) {
            File file = file_new((HcType)type, (Layout)layout, 1, PIXELS, SOME, 0, &seed);
            for (int64_t s = 0; s < PIXELS; s++) {
                const int32_t *range = ranges[s % 10];
                for (int32_t b = 0; b < SOME; b++) {
                    bool nodata = b >= range[0] && b < range[1];
                    float narrow = nodata ? 7 : 3;
                    double wide = (double)narrow;
                    uint64_t bits = nodata ? 7 : 3;
                    write_value(&file, 0, s, b,
                                type == HC_FLOAT32   ? (void *)&narrow
                                : type == HC_FLOAT64 ? (void *)&wide
                                                     : (void *)&bits);
                }
            }
            for (int way = 0; way < 4; way++) {
                Expected how = {.bands = SOME, .index = index, .has_nodata = true, .nodata = 7};
                how.all = way % 2 == 0;
                how.keeps = way >= 2;
                decode_file(&rig, &file, &how, false);
            }
            free(file.bytes);
        }
    }
    rig_close(&rig);
}

SMALL(test_decode_extremes) {
    (void)state;
    static const uint64_t patterns[] = {0, ~(uint64_t)0, 0x8000800080008000U, 0x7FFF7FFF7FFF7FFFU, 0x80};
    uint64_t seed = 2;
    Rig rig;
    rig_open(&rig, 2);
    for (int type = 0; type < HC_FLOAT32; type++) {
        for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++) {
            File file = file_new((HcType)type, BIL, 2, 33, 17, 0, &seed);
            memset(file.bytes, 0, file.size);
            for (int64_t i = 0; i < 2 * 33 * 17; i++) {
                write_value(&file, 0, i, 0, &patterns[p]); /* sample by sample through the whole file */
            }
            int32_t index[17];
            for (int32_t k = 0; k < 17; k++) {
                index[k] = k;
            }
            Expected how = {.bands = 17, .index = index, .has_nodata = true, .nodata = 65535};
            decode_file(&rig, &file, &how, false);
            free(file.bytes);
        }
    }
    rig_close(&rig);
}
