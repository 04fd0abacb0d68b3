#include "tests/conformance/rig.h"

#include <pthread.h>
#include <stdlib.h>

static double *decompose(const double *matrix, int32_t n, int32_t threads, double *vectors) {
    double *values = malloc((size_t)n * sizeof *values);
    assert_non_null(values);
    Rig rig;
    rig_open(&rig, threads);
    check_ok(rig.ops->eigh(rig.compute, n, matrix, values, vectors, &rig.err), rig.err);
    rig_close(&rig);
    return values;
}

static void check_order_and_sign(const double *values, const double *vectors, int32_t n) {
    for (int32_t k = 0; k < n; k++) {
        assert_true(k == 0 || values[k - 1] >= values[k]);
        const double *row = vectors + (size_t)k * (size_t)n;
        int32_t largest = 0;
        for (int32_t b = 1; b < n; b++) {
            largest = fabs(row[b]) > fabs(row[largest]) ? b : largest;
        }
        assert_true(row[largest] > 0);
    }
}

/* A v = l v and v'v = I within n ulp of the largest eigenvalue. */
static void check_decomposition(const double *matrix, const double *values, const double *vectors,
                                int32_t n) {
    double size = fabs(values[0]) > fabs(values[n - 1]) ? fabs(values[0]) : fabs(values[n - 1]);
    double tolerance = 4 * n * 0x1p-52;
    for (int32_t k = 0; k < n; k++) {
        const double *v = vectors + (size_t)k * (size_t)n;
        for (int32_t i = 0; i < n; i++) {
            long double image = 0;
            long double inner = 0;
            for (int32_t j = 0; j < n; j++) {
                image += (long double)matrix[(size_t)i * (size_t)n + (size_t)j] * (long double)v[j];
                inner += (long double)vectors[(size_t)i * (size_t)n + (size_t)j] * (long double)v[j];
            }
            check_near((double)(image - (long double)values[k] * (long double)v[i]), 0, tolerance * size);
            check_near((double)inner, i == k, tolerance);
        }
    }
}

static void check_all(const double *matrix, int32_t n) {
    size_t bytes = (size_t)n * (size_t)n * sizeof(double);
    double *vectors = malloc(bytes);
    double *again = malloc(bytes);
    assert_true(vectors != NULL && again != NULL);
    double *values = decompose(matrix, n, 1, vectors);
    check_order_and_sign(values, vectors, n);
    check_decomposition(matrix, values, vectors, n);
    static const int32_t threads[] = {2, 3, 7, 16};
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        double *more = decompose(matrix, n, threads[i], again);
        assert_memory_equal(more, values, (size_t)n * sizeof(double));
        assert_memory_equal(again, vectors, bytes);
        free(more);
    }
    free(values);
    free(vectors);
    free(again);
}

/* `scale` times the second difference matrix has eigenvalues scale (2 - 2 cos(k pi / (n + 1))). */
static void check_closed_form(int32_t n, double scale) {
    size_t rows = (size_t)n;
    double *matrix = calloc(rows * rows, sizeof *matrix);
    double *vectors = malloc(rows * rows * sizeof *vectors);
    assert_true(matrix != NULL && vectors != NULL);
    for (size_t i = 0; i < rows; i++) {
        matrix[i * rows + i] = 2 * scale;
        if (i + 1 < rows) {
            matrix[i * rows + i + 1] = matrix[(i + 1) * rows + i] = -scale;
        }
    }
    double *values = decompose(matrix, n, 2, vectors);
    for (int32_t k = 0; k < n; k++) {
        double expected = 2 - 2 * cos((n - k) * 3.14159265358979323846 / (n + 1));
        check_near(values[k] / scale, expected, 1e-13 * n);
    }
    check_order_and_sign(values, vectors, n);
    free(values);
    free(matrix);
    free(vectors);
}

void test_eigh(void **state) {
    (void)state;
    uint64_t seed = 9;
    static const int32_t sizes[] = {1, 2, 3, 17, 25, 26, 31, 32, 33, 64, 65, 130, 224, 225};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t n = (size_t)sizes[i];
        double *matrix = malloc(n * n * sizeof *matrix);
        assert_non_null(matrix);
        for (size_t a = 0; a < n; a++) {
            for (size_t b = 0; b <= a; b++) {
                matrix[a * n + b] = matrix[b * n + a] =
                    rig_normal(&seed) * (i % 2 == 0 ? 1 : exp(-(double)(a + b)));
            }
        }
        check_all(matrix, sizes[i]);
        memset(matrix, 0, n * n * sizeof *matrix);
        check_all(matrix, sizes[i]);
        for (size_t a = 0; a < n; a++) {
            matrix[a * n + a] = 5; /* every vector is an eigenvector */
        }
        check_all(matrix, sizes[i]);
        check_closed_form(sizes[i], 1);
        check_closed_form(sizes[i], 1e200); /* squares would overflow, or vanish */
        check_closed_form(sizes[i], 1e-200);
        free(matrix);
    }
}

static void set(double *matrix, size_t n, size_t a, size_t b, double value) {
    matrix[a * n + b] = matrix[b * n + a] = value;
}

/* A multiple of the unit matrix and a few directions: all other eigenvalues are equal, or nearly so (spread).
 */
static void fill_clustered(double *matrix, size_t n, int directions, double spread, uint64_t *seed) {
    double *rows = malloc((size_t)directions * n * sizeof *rows);
    assert_non_null(rows);
    for (size_t k = 0; k < (size_t)directions * n; k++) {
        rows[k] = rig_normal(seed);
    }
    for (size_t a = 0; a < n; a++) {
        for (size_t b = 0; b <= a; b++) {
            double sum = (a == b) + spread * rig_normal(seed);
            for (size_t d = 0; d < (size_t)directions; d++) {
                sum += rows[d * n + a] * rows[d * n + b];
            }
            set(matrix, n, a, b, sum);
        }
    }
    free(rows);
}

/* Blocks of `rows` rows that nothing couples, each smaller than the one before by a factor of `step`. */
static void fill_blocks(double *matrix, size_t n, size_t rows, double step, uint64_t *seed) {
    memset(matrix, 0, n * n * sizeof *matrix);
    for (size_t a = 0; a < n; a++) {
        for (size_t b = a / rows * rows; b <= a; b++) {
            set(matrix, n, a, b, rig_normal(seed) * pow(step, (double)(a / rows)));
        }
    }
}

/* Wilkinson's matrices, whose eigenvalues come in pairs that nearly coincide, glued to one another. */
static void fill_wilkinson(double *matrix, size_t n, size_t rows, double glue) {
    memset(matrix, 0, n * n * sizeof *matrix);
    for (size_t a = 0; a < n; a++) {
        set(matrix, n, a, a, fabs((double)(a % rows) - (double)(rows - 1) / 2));
        if (a + 1 < n) {
            set(matrix, n, a, a + 1, (a + 1) % rows == 0 ? glue : 1);
        }
    }
}

/* What divide and conquer finds hard: eigenvalues that coincide, parts that do not couple, scales that
 * differ. */
void test_eigh_clusters(void **state) {
    (void)state;
    uint64_t seed = 77;
    static const int32_t sizes[] = {2, 26, 33, 64, 65, 150, 224};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t n = (size_t)sizes[i];
        double *matrix = malloc(n * n * sizeof *matrix);
        assert_non_null(matrix);
        static const double spreads[] = {0, 1e-15, 1e-3};
        for (size_t k = 0; k < sizeof spreads / sizeof *spreads; k++) {
            fill_clustered(matrix, n, n < 5 ? 1 : 5, spreads[k], &seed);
            check_all(matrix, sizes[i]);
        }
        for (size_t a = 0; a < n; a++) { /* rank one */
            for (size_t b = 0; b < n; b++) {
                matrix[a * n + b] = (double)(a + 1) * (double)(b + 1);
            }
        }
        check_all(matrix, sizes[i]);
        static const double steps[] = {1, 1e-9, 1e-60};
        for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
            fill_blocks(matrix, n, 29, steps[k], &seed);
            check_all(matrix, sizes[i]);
        }
        fill_wilkinson(matrix, n, 21, 1e-14);
        check_all(matrix, sizes[i]);
        fill_wilkinson(matrix, n, n, 1);
        check_all(matrix, sizes[i]);
        free(matrix);
    }
}

typedef struct Elsewhere {
    Rig rig;
    const double *matrix;
    double *values, *vectors;
    HcStatus status;
} Elsewhere;

static void *decompose_elsewhere(void *argument) {
    Elsewhere *e = argument;
    e->status = e->rig.ops->eigh(e->rig.compute, 425, e->matrix, e->values, e->vectors, &e->rig.err);
    return NULL;
}

/* A scene of many bands, from the thread that opened the backend and from another one. */
void test_eigh_large(void **state) {
    (void)state;
    uint64_t seed = 5;
    size_t n = 425;
    size_t bytes = n * n * sizeof(double);
    double *matrix = malloc(bytes);
    double *vectors = malloc(bytes);
    Elsewhere e = {.matrix = matrix, .values = malloc(n * sizeof(double)), .vectors = malloc(bytes)};
    pthread_t thread;
    assert_true(matrix != NULL && vectors != NULL && e.values != NULL && e.vectors != NULL);
    fill_clustered(matrix, n, 20, 1e-2, &seed);
    check_all(matrix, (int32_t)n);
    double *values = decompose(matrix, (int32_t)n, 1, vectors);
    rig_open(&e.rig, 1);
    assert_int_equal(pthread_create(&thread, NULL, decompose_elsewhere, &e), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    check_ok(e.status, e.rig.err);
    rig_close(&e.rig);
    assert_memory_equal(values, e.values, n * sizeof *values);
    assert_memory_equal(vectors, e.vectors, bytes);
    free(values);
    free(vectors);
    free(e.values);
    free(e.vectors);
    free(matrix);
}

void test_eigh_refuses(void **state) {
    (void)state;
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    Rig rig;
    rig_open(&rig, 1);
    double values[2];
    double vectors[4];
    for (int i = 0; i < 3; i++) {
        double matrix[4] = {1, bad[i], bad[i], 1};
        check_fails(rig.ops->eigh(rig.compute, 2, matrix, values, vectors, &rig.err), HC_E_NUMERIC, rig.err);
    }
    double fine[4] = {1, 0, 0, 1};
    check_fails(rig.ops->eigh(rig.compute, 0, fine, values, vectors, &rig.err), HC_E_USAGE, rig.err);
    check_fails(rig.ops->eigh(rig.compute, 2, NULL, values, vectors, &rig.err), HC_E_USAGE, rig.err);
    check_fails(rig.ops->eigh(rig.compute, 2, fine, values, NULL, &rig.err), HC_E_USAGE, rig.err);
    rig_close(&rig);
}
