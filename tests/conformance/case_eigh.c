#include "tests/conformance/rig.h"

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
    for (int32_t threads = 2; threads <= 7; threads += 5) {
        double *more = decompose(matrix, n, threads, again);
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
    static const int32_t sizes[] = {1, 2, 3, 17, 64, 130, 225};
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
