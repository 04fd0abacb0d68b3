/* Nearest neighbours and their distances are those of plain float64 arithmetic, to the last bit. */
#include "tests/conformance/rig.h"

#include "core/operation/knn/knn.h"

#include <stdlib.h>

/* What the spectra look like. */
typedef enum Look {
    NORMAL,
    TIES,        /* small integers, half of the training spectra are there twice */
    NEAR,        /* all but equal: they differ in the last digit of float32 */
    OFFSET,      /* far from 0, close to each other */
    CONSTANT,    /* every second band is the same everywhere */
    ZEROS,       /* some spectra are 0 throughout */
    ALIKE,       /* one spectrum, again and again */
    ENORMOUS,    /* products overflow in float32 */
    TINY,        /* products underflow */
    OUTLIER,     /* one training spectrum and some pixels are huge */
    MIXED,       /* mixtures of three spectra with noise, as those of scenes */
    ALIKE_MIXED, /* mixtures of which only a few differ */
    BYTES,       /* integers of one byte; pixels are BETWEEN */
    BETWEEN,     /* four of five are all but half a step from such integers; pixels are BYTES */
    BRIGHT,      /* integers of one byte, all above or all below 0: their sums are large; pixels are BYTES */
    LOOKS
} Look;

typedef struct Shape {
    int32_t lines, samples, bands, count, k;
} Shape;

/* Band of a mixture of three smooth spectra; the shares are the same for all bands of a spectrum. */
static double mixture(int64_t spectrum, int64_t band) {
    double mixed = 0;
    for (int m = 0; m < 3; m++) {
        double share = fmod((double)(spectrum * (m + 2)) * 0.6180339887, 1);
        mixed += share * (1000 + 800 * sin((double)band * 0.02 * (m + 1)));
    }
    return mixed;
}

static uint32_t hash_of(uint32_t pair, int64_t band) {
    uint32_t word = pair * 2654435761U + (uint32_t)band * 2246822519U;
    return (word ^ word >> 15) * 2654435761U;
}

/* A band of a bright or dark spectrum. Pairs have opposite signs, so that steps leave nothing of it. */
static int bright_of(int64_t spectrum, int64_t band) {
    int size = band == 0 ? 127 : 64 + (int)(hash_of((uint32_t)(spectrum / 2), band) >> 26);
    return spectrum % 2 == 0 ? size : -size;
}

/* A band of a spectrum of one byte. Pairs have opposite signs; a pixel has those of two training spectra. An
 * eighth of the bands are large, and one of these is huge where `between`: half a step of it is 127. */
static int byte_of(int64_t spectrum, int64_t band, bool between) {
    uint32_t pair = (uint32_t)(spectrum / 2 % 512);
    int sign = ((int64_t)(hash_of(pair, band) >> 16) + spectrum) % 2 == 0 ? 1 : -1;
    bool large = (pair / 16 + (uint32_t)band) % 8 == 0;
    if (between) {
        return sign * (large && (uint32_t)band / 8 == pair % 8 ? 254 * 127 : 124);
    }
    return sign * (large ? 127 : 64);
}

static float value_of(Look look, int64_t spectrum, int64_t band, uint64_t *seed) {
    double normal = random_normal(seed);
    switch (look) {
    case TIES:
        return (float)random_between(seed, 0, 2);
    case NEAR:
        return nextafterf((float)(100 + band), random_bits(seed) % 2 == 0 ? INFINITY : 0);
    case OFFSET:
        return (float)(30000 + 20 * (double)band + 3 * normal);
    case CONSTANT:
        return band % 2 == 0 ? 7 : (float)normal;
    case ZEROS:
        return random_bits(seed) % 4 == 0 || spectrum % 3 == 0 ? 0 : (float)random_between(seed, -2, 2);
    case ALIKE:
        return (float)(band - 3);
    case ENORMOUS:
        return (float)(normal * 5e37);
    case TINY:
        return (float)(normal * 1e-42);
    case OUTLIER:
        return (float)(spectrum % 50 == 3 ? normal * 1e30 : normal);
    case MIXED:
        return (float)rint(mixture(spectrum, band) + 3 * normal);
    case ALIKE_MIXED:
        return (float)mixture(spectrum % 4, band);
    case BYTES:
    case BETWEEN:
        return (float)byte_of(spectrum, band, look == BETWEEN && spectrum % 5 != 4);
    case BRIGHT:
        return (float)bright_of(spectrum, band);
    default:
        return (float)normal;
    }
}

static void fill(float *values, Look look, int64_t spectra, int64_t bands, uint64_t *seed) {
    for (int64_t i = 0; i < spectra; i++) {
        for (int64_t b = 0; b < bands; b++) {
            values[i * bands + b] = value_of(look, i, b, seed);
        }
        if (look == TIES && i > 0 && i % 2 == 0) {
            memcpy(values + i * bands, values + i / 2 * bands, (size_t)bands * sizeof *values);
        }
    }
}

typedef struct Found {
    int32_t *index;
    double *distance;
} Found;

static Found found_new(int64_t pixels, int32_t k) {
    size_t count = (size_t)pixels * (size_t)k;
    Found found = {malloc(count * sizeof(int32_t)), malloc(count * sizeof(double))};
    assert_true(found.index != NULL && found.distance != NULL);
    return found;
}

static void found_free(Found *found) {
    free(found->index);
    free(found->distance);
}

static double plain_distance(const float *x, const float *t, int32_t bands, HcMetric metric) {
    double square = 0;
    double product = 0;
    double norm_x = 0;
    double norm_t = 0;
    for (int32_t b = 0; b < bands; b++) {
        double apart = (double)x[b] - (double)t[b];
        square += apart * apart;
        product += (double)x[b] * (double)t[b];
        norm_x += (double)x[b] * (double)x[b];
        norm_t += (double)t[b] * (double)t[b];
    }
    if (metric == HC_METRIC_EUCLIDEAN) {
        return square;
    }
    return norm_x == 0 || norm_t == 0 ? 0 : -product / (sqrt(norm_x) * sqrt(norm_t));
}

typedef struct Ranked {
    double distance;
    int32_t index;
} Ranked;

static int nearer(const void *a, const void *b) {
    const Ranked *one = a;
    const Ranked *two = b;
    if (one->distance != two->distance) {
        return one->distance < two->distance ? -1 : 1;
    }
    return one->index < two->index ? -1 : 1;
}

/* Every pixel with every training spectrum, sorted. */
static Found plain(const Cube *cube, const float *spectra, const Shape *shape, HcMetric metric) {
    int64_t pixels = (int64_t)cube->lines * cube->samples;
    Found found = found_new(pixels, shape->k);
    Ranked *all = malloc((size_t)shape->count * sizeof *all);
    assert_non_null(all);
    for (int64_t p = 0; p < pixels; p++) {
        bool valid = cube->mask[p] != 0;
        for (int32_t j = 0; valid && j < shape->count; j++) {
            const float *t = spectra + (int64_t)j * shape->bands;
            all[j] = (Ranked){plain_distance(cube->data + p * shape->bands, t, shape->bands, metric), j};
        }
        if (valid) {
            qsort(all, (size_t)shape->count, sizeof *all, nearer);
        }
        for (int32_t i = 0; i < shape->k; i++) {
            found.index[p * shape->k + i] = valid ? all[i].index : -1;
            found.distance[p * shape->k + i] = valid ? all[i].distance : INFINITY;
        }
    }
    free(all);
    return found;
}

static void compare(const Found *got, const Found *expected, int64_t first, int64_t values) {
    for (int64_t i = 0; i < values; i++) {
        assert_int_equal(got->index[i], expected->index[first + i]);
        check_same(got->distance[i], expected->distance[first + i]);
    }
}

/* The whole cube in blocks of `size` lines, with and without a halo. */
static void search_cube(Rig *rig, const Cube *cube, const HcTraining *training, const Shape *shape,
                        int32_t size, const Found *expected) {
    for (int32_t line = 0; line < cube->lines; line += size) {
        int32_t lines = line + size <= cube->lines ? size : cube->lines - line;
        int64_t pixels = (int64_t)lines * cube->samples;
        size_t values = (size_t)pixels * (size_t)shape->k;
        HcBlock in = rig_put_block(rig, cube, line, lines, size % 3);
        int32_t *index = rig_alloc(rig, values * sizeof *index);
        double *distance = rig_alloc(rig, values * sizeof *distance);
        check_ok(hc_knn(rig->queue, &in, training, shape->k, index, distance, &rig->err), rig->err);
        Found got = found_new(pixels, shape->k);
        rig_get(rig, index, got.index, values * sizeof *index);
        rig_get(rig, distance, got.distance, values * sizeof *distance);
        compare(&got, expected, (int64_t)line * cube->samples * shape->k, (int64_t)values);
        found_free(&got);
        rig_empty(rig);
    }
}

static void check_shape(const Shape *shape, Look look, HcMetric metric, Masking masking, uint64_t *seed) {
    Cube cube = cube_new(shape->lines, shape->samples, shape->bands);
    size_t bytes = (size_t)shape->count * (size_t)shape->bands * sizeof(float);
    float *spectra = malloc(bytes);
    float *copy = malloc(bytes);
    assert_true(spectra != NULL && copy != NULL);
    Look pixels = look == BYTES ? BETWEEN : look == BETWEEN || look == BRIGHT ? BYTES : look;
    fill(cube.data, pixels, (int64_t)shape->lines * shape->samples, shape->bands, seed);
    fill(spectra, look, shape->count, shape->bands, seed);
    cube_mask(&cube, masking, seed);
    Found expected = plain(&cube, spectra, shape, metric);
    for (int32_t threads = 1; threads <= 3; threads++) {
        Rig rig;
        HcTraining *training = NULL;
        rig_open(&rig, threads);
        memcpy(copy, spectra, bytes);
        check_ok(hc_training_open(rig.compute, copy, shape->count, shape->bands, metric, &training, &rig.err),
                 rig.err);
        memset(copy, 0xFF, bytes); /* they were copied */
        search_cube(&rig, &cube, training, shape, threads == 3 ? shape->lines : threads, &expected);
        hc_training_close(training);
        rig_close(&rig);
    }
    found_free(&expected);
    free(spectra);
    free(copy);
    cube_free(&cube);
}

CASE(test_knn) {
    (void)state;
    static const Shape shapes[] = {{1, 1, 1, 1, 1},       {1, 30, 1, 40, 3},    {7, 1, 5, 20, 20},
                                   {3, 11, 17, 130, 128}, {4, 90, 33, 1100, 5}, {2, 5, 425, 300, 10},
                                   {5, 13, 64, 513, 1},   {3, 50, 70, 8, 1},    {2, 70, 32, 16, 16},
                                   {2, 33, 31, 32, 5},    {1, 9, 40, 33, 2},    {3, 70, 260, 400, 4}};
    uint64_t seed = 11;
    int round = 0;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        for (int metric = HC_METRIC_EUCLIDEAN; metric <= HC_METRIC_ANGLE; metric++, round++) {
            Masking masking = round % 3 == 0 ? MASK_NONE : MASK_SOME;
            check_shape(&shapes[s], NORMAL, (HcMetric)metric, masking, &seed);
        }
    }
    check_shape(&(Shape){3, 4, 5, 6, 2}, NORMAL, HC_METRIC_EUCLIDEAN, MASK_ALL, &seed);
}

SMALL(test_knn_small) {
    (void)state;
    uint64_t seed = 13;
    check_shape(&(Shape){3, 21, 17, 130, 5}, NORMAL, HC_METRIC_EUCLIDEAN, MASK_SOME, &seed);
    check_shape(&(Shape){2, 9, 5, 40, 3}, TIES, HC_METRIC_ANGLE, MASK_SOME, &seed);
}

/* Spectra for which float32, or an unlucky order of additions, would go wrong. */
CASE(test_knn_looks) {
    (void)state;
    static const Shape shapes[] = {
        {5, 9, 31, 700, 7}, {2, 8, 3, 150, 128}, {3, 3, 200, 140, 1}, {3, 21, 45, 17, 4}};
    uint64_t seed = 12;
    for (int look = TIES; look < LOOKS; look++) {
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            check_shape(&shapes[s], (Look)look, HC_METRIC_EUCLIDEAN, MASK_SOME, &seed);
            check_shape(&shapes[s], (Look)look, HC_METRIC_ANGLE, MASK_SOME, &seed);
        }
    }
}

/* Neighbours are looked for by rough products first: along few axes, else of bytes; too many may be near. The
 * second shape takes some panels of pixels a thread, the last one two tiles of spectra. */
CASE(test_knn_rough) {
    (void)state;
    static const Shape shapes[] = {
        {2, 9, 130, 1024, 32}, {1, 400, 96, 1024, 5}, {2, 9, 96, 1025, 33}, {1, 21, 96, 5300, 4}};
    uint64_t seed = 14;
    for (int look = NORMAL; look < LOOKS; look++) {
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            check_shape(&shapes[s], (Look)look, HC_METRIC_EUCLIDEAN, MASK_SOME, &seed);
            check_shape(&shapes[s], (Look)look, HC_METRIC_ANGLE, MASK_SOME, &seed);
        }
    }
}

static void refuse_training(Rig *rig) {
    float spectra[12] = {0};
    HcTraining *training = NULL;
    HcCompute *compute = rig->compute;
    HcError *err = &rig->err;
    const HcMetric metric = HC_METRIC_EUCLIDEAN;
    check_fails(hc_training_open(compute, NULL, 3, 4, metric, &training, err), HC_E_USAGE, rig->err);
    check_fails(hc_training_open(compute, spectra, 0, 4, metric, &training, err), HC_E_USAGE, rig->err);
    check_fails(hc_training_open(compute, spectra, 1 << 24, 4, metric, &training, err), HC_E_USAGE, rig->err);
    check_fails(hc_training_open(compute, spectra, 3, 0, metric, &training, err), HC_E_USAGE, rig->err);
    check_fails(hc_training_open(compute, spectra, 3, 4, (HcMetric)7, &training, err), HC_E_USAGE, rig->err);
    assert_null(training);
    hc_training_close(NULL);
}

CASE(test_knn_refuses) {
    (void)state;
    Rig rig;
    rig_open(&rig, 2);
    refuse_training(&rig);
    Cube cube = cube_new(9, 5, 4);
    HcBlock in = rig_put_block(&rig, &cube, 3, 3, 1);
    HcBlock more = in;
    HcBlock none = {.lines = 3, .samples = 5, .bands = 4};
    more.bands++;
    float spectra[200 * 4] = {0};
    HcTraining *few = NULL;
    HcTraining *many = NULL;
    int32_t *index = rig_alloc(&rig, (size_t)15 * 128 * sizeof *index);
    double *distance = rig_alloc(&rig, (size_t)15 * 128 * sizeof *distance);
    HcQueue *queue = rig.queue;
    HcError *err = &rig.err;
    check_ok(hc_training_open(rig.compute, spectra, 3, 4, HC_METRIC_ANGLE, &few, err), rig.err);
    check_ok(hc_training_open(rig.compute, spectra, 200, 4, HC_METRIC_ANGLE, &many, err), rig.err);
    check_fails(hc_knn(NULL, &in, many, 1, index, distance, err), HC_E_USAGE, rig.err);
    check_fails(hc_knn(queue, NULL, many, 1, index, distance, err), HC_E_USAGE, rig.err);
    check_fails(hc_knn(queue, &none, many, 1, index, distance, err), HC_E_USAGE, rig.err);
    check_fails(hc_knn(queue, &more, many, 1, index, distance, err), HC_E_USAGE, rig.err);
    check_fails(hc_knn(queue, &in, NULL, 1, index, distance, err), HC_E_USAGE, rig.err);
    check_fails(hc_knn(queue, &in, many, 0, index, distance, err), HC_E_USAGE, rig.err);
    check_fails(hc_knn(queue, &in, many, HC_KNN_MAX + 1, index, distance, err), HC_E_USAGE, rig.err);
    check_fails(hc_knn(queue, &in, few, 4, index, distance, err), HC_E_USAGE, rig.err);
    check_fails(hc_knn(queue, &in, many, 1, NULL, distance, err), HC_E_USAGE, rig.err);
    check_fails(hc_knn(queue, &in, many, 1, index, NULL, err), HC_E_USAGE, rig.err);
    if (strcmp(hc_compute_name(rig_ops), "strict") ==
        0) { /* late work needs what was closed, or host memory where it may not */
        double host[45];
        check_ok(hc_knn(queue, &in, few, 3, index, host, err), rig.err);
        check_fails(hc_wait(queue, err), HC_E_DEVICE, rig.err);
        check_ok(hc_knn(queue, &in, few, 3, index, distance, err), rig.err);
        hc_training_close(few);
        few = NULL;
        check_fails(hc_wait(queue, err), HC_E_DEVICE, rig.err);
    }
    hc_training_close(few);
    hc_training_close(many);
    cube_free(&cube);
    rig_close(&rig);
}
