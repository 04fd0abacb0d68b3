/* What is timed as the serial reference is right: by hand, and against the operations of the CPU backend. */
#include "core/operation/image/decode.h"
#include "core/operation/gram/gram.h"
#include "core/operation/image/project.h"
#include "bench/serial.h"
#include "cpu/cpu.h"
#include "tests/support/check.h"

#include <stdlib.h>

enum { LINES = 9, SAMPLES = 11, BANDS = 7, COMPONENTS = 3, PIXELS = LINES * SAMPLES };

static uint16_t raw[LINES * BANDS * SAMPLES];
static float x[PIXELS * BANDS];

static void fill(void **state) {
    (void)state;
    uint32_t seed = 7;
    for (size_t i = 0; i < sizeof raw / sizeof raw[0]; i++) {
        seed = seed * 1664525U + 1013904223U;
        raw[i] = i % 5 == 0 ? UINT16_MAX : (uint16_t)(seed >> 16);
    }
    hc_serial_decode(raw, LINES, SAMPLES, BANDS, x);
}

static int setup(void **state) {
    fill(state);
    return 0;
}

/* Two pixels and a 3x3 scene, of one band, by hand. */
static void test_by_hand(void **state) {
    (void)state;
    const uint16_t small[] = {1, 2, 3, 4, 50, 6, 7, 8, 9};
    float pixels[9];
    HcMoments moments = {0};
    HcError err = {0};
    hc_serial_decode(small, 3, 3, 1, pixels);
    assert_true(pixels[4] > 49.5F && pixels[4] < 50.5F);
    check_ok(hc_moments_init(&moments, 1, &err), err);
    check_ok(hc_serial_gram(pixels, 2, 1, &moments, &err), err);
    assert_int_equal(moments.count, 2);
    assert_int_equal((int64_t)moments.sum[0], 3);
    assert_int_equal((int64_t)moments.product[0], 5);
    hc_moments_clear(&moments);
    check_ok(hc_moments_init(&moments, 1, &err), err);
    check_ok(hc_serial_gram_mean3x3(pixels, 3, 3, 1, &moments, &err), err);
    assert_int_equal(moments.count, 1);
    assert_int_equal((int64_t)moments.sum[0], 9 * 50 - 90);
    assert_int_equal((int64_t)moments.product[0], 360 * 360);
    hc_moments_clear(&moments);
    const double mean = 1;
    const double matrix[] = {2, -3};
    float y[2];
    hc_serial_project(pixels + 4, 1, 1, &mean, matrix, 2, y);
    check_same(y[0], 98);
    check_same(y[1], -147);
}

typedef struct Opened {
    HcCompute *compute;
    HcQueue *queue;
    float data[PIXELS * BANDS];
    uint8_t mask[PIXELS];
    HcBlock block;
} Opened;

/* The CPU backend with the decoded scene. */
static Opened *open_cpu(void) {
    static Opened opened;
    static const int32_t index[BANDS] = {0, 1, 2, 3, 4, 5, 6};
    HcComputeConfig config = {.threads = 2};
    HcError err = {0};
    opened = (Opened){0};
    check_ok(hc_compute_open(hc_cpu_ops(), &config, &opened.compute, &err), err);
    check_ok(hc_queue_open(opened.compute, &opened.queue, &err), err);
    opened.block = (HcBlock){
        .data = opened.data, .mask = opened.mask, .lines = LINES, .samples = SAMPLES, .bands = BANDS};
    HcRaw view = {.data = raw,
                  .type = HC_UINT16,
                  .lines = LINES,
                  .samples = SAMPLES,
                  .bands = BANDS,
                  .stride_line = 2 * SAMPLES * BANDS,
                  .stride_sample = 2,
                  .stride_band = 2 * SAMPLES};
    HcDecode how = {.band_index = index};
    check_ok(hc_decode(opened.queue, &view, &how, &opened.block, &err), err);
    return &opened;
}

static void close_cpu(Opened *opened) {
    hc_queue_close(opened->queue);
    hc_compute_close(opened->compute);
}

static void test_decode(void **state) {
    (void)state;
    Opened *opened = open_cpu();
    assert_memory_equal(opened->data, x, sizeof x);
    close_cpu(opened);
}

static void check_moments(const HcMoments *a, const HcMoments *b) {
    assert_int_equal(a->count, b->count);
    assert_memory_equal(a->sum, b->sum, BANDS * sizeof(HcWide));
    assert_memory_equal(a->product, b->product, (size_t)BANDS * BANDS * sizeof(HcWide));
}

static void test_grams(void **state) {
    (void)state;
    const HcDifference kinds[] = {HC_DIFFERENCE_NONE, HC_DIFFERENCE_MEAN3X3};
    Opened *opened = open_cpu();
    HcError err = {0};
    for (int i = 0; i < 2; i++) {
        HcSums *sums = NULL;
        HcMoments fast = {0};
        HcMoments serial = {0};
        check_ok(hc_sums_open(opened->compute, BANDS, hc_difference_limit(kinds[i], UINT16_MAX), NULL, &sums,
                              &err),
                 err);
        check_ok(hc_gram(opened->queue, &opened->block, kinds[i], NULL, sums, &err), err);
        check_ok(hc_sums_fetch(opened->queue, sums, &fast, &err), err);
        check_ok(hc_moments_init(&serial, BANDS, &err), err);
        check_ok(i == 0 ? hc_serial_gram(x, PIXELS, BANDS, &serial, &err)
                        : hc_serial_gram_mean3x3(x, LINES, SAMPLES, BANDS, &serial, &err),
                 err);
        check_moments(&serial, &fast);
        hc_sums_close(sums);
        hc_moments_clear(&fast);
        hc_moments_clear(&serial);
    }
    close_cpu(opened);
}

static void test_project(void **state) {
    (void)state;
    Opened *opened = open_cpu();
    HcError err = {0};
    double mean[BANDS];
    double matrix[BANDS * COMPONENTS];
    static float serial[PIXELS * COMPONENTS];
    static float fast[PIXELS * COMPONENTS];
    static uint8_t mask[PIXELS];
    for (int i = 0; i < BANDS * COMPONENTS; i++) {
        matrix[i] = 1.0 / (i + 2) - 0.2;
        mean[i % BANDS] = 30000 + i;
    }
    HcBlock out = opened->block;
    out.data = fast;
    out.mask = mask;
    out.bands = COMPONENTS;
    check_ok(hc_project(opened->queue, &opened->block, matrix, mean, NULL, &out, &err), err);
    hc_serial_project(x, PIXELS, BANDS, mean, matrix, COMPONENTS, serial);
    for (int i = 0; i < PIXELS * COMPONENTS; i++) {
        check_near(serial[i], fast[i], 1e-6 * 65536);
    }
    close_cpu(opened);
}

/* One band, equals to the lower number; angles of two bands. */
static void test_knn_by_hand(void **state) {
    (void)state;
    const float pixels[] = {5, 0};
    const float spectra[] = {9, 4, 6, 5, 4};
    int32_t index[8];
    double distance[8];
    HcError err = {0};
    check_ok(hc_serial_knn(pixels, 2, 1, spectra, 5, HC_METRIC_EUCLIDEAN, 4, index, distance, &err), err);
    const int32_t nearest[] = {3, 1, 2, 4, 1, 4, 3, 2};
    const double apart[] = {0, 1, 1, 1, 16, 16, 25, 36};
    for (int i = 0; i < 8; i++) {
        assert_int_equal(index[i], nearest[i]);
        check_same(distance[i], apart[i]);
    }
    const float directions[] = {0, 0, 0, 2, 4, 3};
    const float pixel[] = {3, 4};
    check_ok(hc_serial_knn(pixel, 1, 2, directions, 3, HC_METRIC_ANGLE, 3, index, distance, &err), err);
    const int32_t order[] = {2, 1, 0};
    const double cosine[] = {-24.0 / 25, -8.0 / 10, 0};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(index[i], order[i]);
        check_same(distance[i], cosine[i]);
    }
}

static void test_knn(void **state) {
    (void)state;
    enum { SPECTRA = 60, K = 9 };
    Opened *opened = open_cpu();
    HcError err = {0};
    float spectra[SPECTRA * BANDS];
    static int32_t index[2][PIXELS * K];
    static double distance[2][PIXELS * K];
    for (int i = 0; i < SPECTRA * BANDS; i++) {
        spectra[i] = i % 4 == 0 ? x[i] : x[i] * 0.7F + 0.1F;
    }
    for (int metric = 0; metric < 2; metric++) {
        HcTraining *training = NULL;
        check_ok(
            hc_training_open(opened->compute, spectra, SPECTRA, BANDS, (HcMetric)metric, &training, &err),
            err);
        check_ok(hc_knn(opened->queue, &opened->block, training, K, index[0], distance[0], &err), err);
        check_ok(hc_wait(opened->queue, &err), err);
        check_ok(hc_serial_knn(x, PIXELS, BANDS, spectra, SPECTRA, (HcMetric)metric, K, index[1], distance[1],
                               &err),
                 err);
        assert_memory_equal(index[0], index[1], sizeof index[0]);
        assert_memory_equal(distance[0], distance[1], sizeof distance[0]);
        hc_training_close(training);
    }
    close_cpu(opened);
}

static void check_relative(double value, double expected) {
    check_near(value, expected, 4e-15 * expected);
}

/* Values that a method which is right in relation to the largest alone would lose. */
static void test_eigenvalues(void **state) {
    (void)state;
    const double small[] = {2, 1, 1, 2};
    const double graded[] = {1e-20, 5e-11, 5e-11, 1};
    const double three[] = {9e-30, 0, 0, 0, 2e20, 1e20, 0, 1e20, 2e20};
    const double indefinite[] = {1, 2, 2, 1};
    double values[3];
    HcError err = {0};
    check_ok(hc_serial_eigenvalues(small, 2, values, &err), err);
    check_relative(values[0], 3);
    check_relative(values[1], 1);
    check_ok(hc_serial_eigenvalues(graded, 2, values, &err), err);
    check_relative(values[0], 1);
    check_relative(values[1], 0.75e-20); /* the determinant */
    check_ok(hc_serial_eigenvalues(three, 3, values, &err), err);
    check_relative(values[0], 3e20);
    check_relative(values[1], 1e20);
    check_relative(values[2], 9e-30);
    check_ok(hc_serial_eigenvalues(three, 1, values, &err), err);
    check_relative(values[0], 9e-30);
    check_fails(hc_serial_eigenvalues(indefinite, 2, values, &err), HC_E_NUMERIC, err);
}

/* The sums of the eigenvalues and of their squares are those of the entries. */
static void test_eigenvalues_larger(void **state) {
    (void)state;
    enum { N = 45 };
    static double matrix[N * N];
    double values[N];
    double expected[2] = {0};
    double sums[2] = {0};
    HcError err = {0};
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            matrix[i * N + j] = (i == j ? 3.0 : 0.0) + 1.0 / (1 + abs(i - j) + (i + j) % 7);
            expected[1] += matrix[i * N + j] * matrix[i * N + j];
        }
        expected[0] += matrix[i * N + i];
    }
    check_ok(hc_serial_eigenvalues(matrix, N, values, &err), err);
    for (int k = 0; k < N; k++) {
        assert_true(values[k] > 0 && (k == 0 || values[k - 1] >= values[k]));
        sums[0] += values[k];
        sums[1] += values[k] * values[k];
    }
    check_near(sums[0], expected[0], 1e-13 * expected[0]);
    check_near(sums[1], expected[1], 1e-13 * expected[1]);
}

/* Where A is a diagonal, entries are those of A'b brought closer to 0; and b is met exactly. */
static void test_l1(void **state) {
    (void)state;
    const float a[] = {2, 0, 0, 0, 1, 0, 0, 0, 4};
    const float b[] = {3, -1, 0.125F};
    const double fista[] = {(6 - 1.0) / 4, 0, 0};
    const double alm[] = {1.5, -1, 0.03125};
    float found[3] = {0};
    HcError err = {0};
    check_ok(hc_serial_fista(a, 3, 3, b, 1, 16, 2000, found, &err), err);
    for (int i = 0; i < 3; i++) {
        check_near(found[i], fista[i], 1e-5);
    }
    check_ok(hc_serial_alm(a, 3, 3, b, 16, 20, 500, found, &err), err);
    for (int i = 0; i < 3; i++) {
        check_near(found[i], alm[i], 1e-5);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),     cmocka_unit_test(test_decode),
        cmocka_unit_test(test_grams),       cmocka_unit_test(test_project),
        cmocka_unit_test(test_knn_by_hand), cmocka_unit_test(test_knn),
        cmocka_unit_test(test_eigenvalues), cmocka_unit_test(test_eigenvalues_larger),
        cmocka_unit_test(test_l1),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
