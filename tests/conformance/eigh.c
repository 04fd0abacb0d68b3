#include "tests/conformance/rig.h"

#include "core/operation/eigh/eigh.h"

#include <float.h>
#include <pthread.h>
#include <stdlib.h>

static double *decompose_first(const double *matrix, int32_t n, int32_t count, int32_t threads,
                               double *vectors) {
    double *values = malloc((size_t)n * sizeof *values);
    assert_non_null(values);
    Rig rig;
    rig_open(&rig, threads);
    check_ok(hc_eigh(rig.compute, n, count, matrix, values, vectors, &rig.err), rig.err);
    rig_close(&rig);
    return values;
}

static double *decompose(const double *matrix, int32_t n, int32_t threads, double *vectors) {
    return decompose_first(matrix, n, n, threads, vectors);
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
        int32_t first = (int32_t)i * n / 4; /* of the vectors alone */
        more = decompose_first(matrix, n, first, threads[i], again);
        assert_memory_equal(more, values, (size_t)n * sizeof(double));
        assert_memory_equal(again, vectors, (size_t)first * (size_t)n * sizeof(double));
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

CASE(test_eigh) {
    (void)state;
    uint64_t seed = 9;
    static const int32_t sizes[] = {1, 2, 3, 17, 25, 26, 31, 32, 33, 64, 65, 130, 224, 225, 257};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t n = (size_t)sizes[i];
        double *matrix = malloc(n * n * sizeof *matrix);
        assert_non_null(matrix);
        for (size_t a = 0; a < n; a++) {
            for (size_t b = 0; b <= a; b++) {
                matrix[a * n + b] = matrix[b * n + a] =
                    random_normal(&seed) * (i % 2 == 0 ? 1 : exp(-(double)(a + b)));
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

/* Every STEP-th vector of a matrix of several blocks and panels, and the same bits for other numbers of
 * threads. */
CASE(test_eigh_blocks) {
    (void)state;
    enum { N = 1100, STEP = 97 };
    uint64_t seed = 21;
    size_t count = (size_t)N * N;
    double *matrix = malloc(3 * count * sizeof *matrix);
    assert_non_null(matrix);
    double *vectors = matrix + count;
    double *again = vectors + count;
    for (size_t a = 0; a < N; a++) {
        for (size_t b = 0; b <= a; b++) {
            matrix[a * N + b] = matrix[b * N + a] = random_normal(&seed);
        }
    }
    double *values = decompose(matrix, N, 2, vectors);
    check_order_and_sign(values, vectors, N);
    double size = fmax(fabs(values[0]), fabs(values[N - 1]));
    for (size_t k = 0; k < N; k += STEP) {
        const double *v = vectors + k * N;
        for (size_t i = 0; i < N; i++) {
            long double image = 0;
            long double inner = 0;
            for (size_t j = 0; j < N; j++) {
                image += (long double)matrix[i * N + j] * (long double)v[j];
                inner += (long double)vectors[i * N + j] * (long double)v[j];
            }
            check_near((double)(image - (long double)values[k] * (long double)v[i]), 0, 64 * 0x1p-53 * size);
            check_near((double)inner, i == k, 128 * 0x1p-53);
        }
    }
    static const int32_t threads[] = {1, 5};
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        double *more = decompose(matrix, N, threads[i], again);
        assert_memory_equal(more, values, N * sizeof(double));
        assert_memory_equal(again, vectors, count * sizeof(double));
        free(more);
    }
    free(values);
    free(matrix);
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
        rows[k] = random_normal(seed);
    }
    for (size_t a = 0; a < n; a++) {
        for (size_t b = 0; b <= a; b++) {
            double sum = (a == b) + spread * random_normal(seed);
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
            set(matrix, n, a, b, random_normal(seed) * pow(step, (double)(a / rows)));
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
CASE(test_eigh_clusters) {
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

/* Takes the part of column `to` along column `from` out of the columns of a factor, and turns both so that
 * they are orthogonal (one-sided Jacobi); false if they were. */
static bool rotate(long double *from, long double *to, size_t n) {
    long double from2 = 0;
    long double to2 = 0;
    long double inner = 0;
    for (size_t i = 0; i < n; i++) {
        from2 += from[i] * from[i];
        to2 += to[i] * to[i];
        inner += from[i] * to[i];
    }
    if (fabsl(inner) <= (long double)n * LDBL_EPSILON * sqrtl(from2) * sqrtl(to2)) {
        return false;
    }
    long double half = (to2 - from2) / (2 * inner);
    long double tangent = (half >= 0 ? 1 : -1) / (fabsl(half) + sqrtl(1 + half * half));
    long double cosine = 1 / sqrtl(1 + tangent * tangent);
    for (size_t i = 0; i < n; i++) {
        long double old = from[i];
        from[i] = cosine * (old - tangent * to[i]);
        to[i] = cosine * (tangent * old + to[i]);
    }
    return true;
}

/* factor[k] = column k of L with L L' = matrix, largest pivots first; what is left of rest[n][n] is 0. A
 * pivot of 0 ends it: the columns from there on are 0. */
static void factorise(long double *rest, size_t n, long double *factor) {
    memset(factor, 0, n * n * sizeof *factor);
    for (size_t k = 0; k < n; k++) {
        size_t pivot = 0;
        for (size_t i = 1; i < n; i++) {
            pivot = rest[i * n + i] > rest[pivot * n + pivot] ? i : pivot;
        }
        long double root = sqrtl(rest[pivot * n + pivot]);
        for (size_t i = 0; i < n && root > 0; i++) {
            factor[k * n + i] = rest[pivot * n + i] / root;
        }
        for (size_t i = 0; i < n; i++) {
            for (size_t j = 0; j < n && factor[k * n + i] != 0; j++) {
                rest[i * n + j] -= factor[k * n + i] * factor[k * n + j];
            }
        }
        for (size_t i = 0; i < n; i++) { /* exactly, as it would be without rounding */
            rest[pivot * n + i] = rest[i * n + pivot] = 0;
        }
    }
}

static int descending(const void *a, const void *b) {
    long double x = *(const long double *)a;
    long double y = *(const long double *)b;
    return (x < y) - (x > y);
}

/* The eigenvalues of a positive semidefinite matrix, descending, each right relative to itself: Cholesky,
 * then Jacobi on its factor (Demmel and Veselic 1992), in long double. The caller frees. */
static long double *exact_values(const double *matrix, size_t n) {
    long double *rest = malloc(n * n * sizeof *rest);
    long double *factor = malloc(n * n * sizeof *factor);
    long double *values = calloc(n, sizeof *values);
    assert_true(rest != NULL && factor != NULL && values != NULL);
    for (size_t i = 0; i < n * n; i++) {
        rest[i] = (long double)matrix[i];
    }
    factorise(rest, n, factor);
    bool turned = true;
    for (int sweep = 0; turned; sweep++) {
        assert_true(sweep < 40);
        turned = false;
        for (size_t a = 0; a < n; a++) {
            for (size_t b = a + 1; b < n; b++) {
                turned |= rotate(factor + a * n, factor + b * n, n);
            }
        }
    }
    for (size_t k = 0; k < n; k++) {
        for (size_t i = 0; i < n; i++) {
            values[k] += factor[k * n + i] * factor[k * n + i];
        }
    }
    qsort(values, n, sizeof *values, descending);
    free(rest);
    free(factor);
    return values;
}

/* scale[i] c_ij scale[j] with the well-conditioned covariance c of 3 n + 3 random vectors. */
static void fill_graded(double *matrix, size_t n, const double *scale, uint64_t *seed) {
    size_t count = 3 * n + 3;
    double *rows = malloc(n * count * sizeof *rows);
    assert_non_null(rows);
    for (size_t k = 0; k < n * count; k++) {
        rows[k] = random_normal(seed);
    }
    for (size_t a = 0; a < n; a++) {
        for (size_t b = 0; b <= a; b++) {
            double sum = 0;
            for (size_t k = 0; k < count; k++) {
                sum += rows[a * count + k] * rows[b * count + k];
            }
            set(matrix, n, a, b, sum / (double)count * scale[a] * scale[b]);
        }
    }
    free(rows);
}

typedef enum Grades { GRADES_DOWN, GRADES_UP, GRADES_MIXED, GRADES_STEPS, GRADES_COUNT } Grades;

/* Scales for which a matrix has about that condition. The middle one of the steps gives eigenvalues near the
 * first limit below which they are found again. */
static void fill_scale(double *scale, size_t n, double condition, Grades grades, uint64_t *seed) {
    for (size_t i = 0; i < n; i++) {
        double part = n == 1 ? 0 : (double)i / (double)(n - 1);
        part = grades == GRADES_UP ? 1 - part : part;
        scale[i] = pow(condition, -part / 2);
        if (grades == GRADES_STEPS) {
            scale[i] = i % 3 == 0 ? 1 : i % 3 == 1 ? 0x1p-12 : pow(condition, -0.5);
        }
    }
    for (size_t i = n - 1; grades == GRADES_MIXED && i > 0; i--) {
        size_t other = (size_t)random_between(seed, 0, (int64_t)i);
        double old = scale[i];
        scale[i] = scale[other];
        scale[other] = old;
    }
}

/* Every eigenvalue is right relative to itself, and is the variance v'A v of its vector. Where a condition is
 * beyond 2^48, so are the vectors: v'A w is 0 relative to the root of their eigenvalues. */
static void check_relative(const double *matrix, int32_t n, bool beyond) {
    size_t rows = (size_t)n;
    double tolerance = 0x1p-25; /* 3e-8: 16 units of e / 2^-24, e = 2^-53 */
    double *vectors = malloc(rows * rows * sizeof *vectors);
    long double *image = malloc(rows * sizeof *image);
    assert_true(vectors != NULL && image != NULL);
    double *values = decompose(matrix, n, 2, vectors);
    long double *exact = exact_values(matrix, rows);
    for (size_t k = 0; k < rows; k++) {
        check_near((double)((long double)values[k] / exact[k]), 1, tolerance);
        for (size_t i = 0; i < rows; i++) {
            image[i] = 0;
            for (size_t j = 0; j < rows; j++) {
                image[i] += (long double)matrix[i * rows + j] * (long double)vectors[k * rows + j];
            }
        }
        for (size_t other = 0; other < rows; other++) {
            long double inner = 0;
            for (size_t i = 0; i < rows; i++) {
                inner += image[i] * (long double)vectors[other * rows + i];
            }
            if (beyond || other == k) {
                check_near((double)(inner / sqrtl(exact[k] * exact[other])), other == k, 4 * tolerance);
            }
        }
    }
    free(values);
    free(exact);
    free(vectors);
    free(image);
}

/* One large eigenvalue, all others where those begin that are found again: some of these come out larger than
 * some that are not. */
static void check_limit(int32_t n, uint64_t *seed) {
    size_t rows = (size_t)n;
    double limit = 0x1p-24 / (1 - 0x1p-24);
    double *matrix = malloc(rows * rows * sizeof *matrix);
    double *direction = malloc(rows * sizeof *direction);
    double length = 0;
    assert_true(matrix != NULL && direction != NULL);
    for (size_t a = 0; a < rows; a++) {
        direction[a] = random_normal(seed);
        length += direction[a] * direction[a];
    }
    for (size_t a = 0; a < rows; a++) {
        for (size_t b = 0; b <= a; b++) {
            set(matrix, rows, a, b, direction[a] * direction[b] / length + (a == b ? limit : 0));
        }
    }
    check_all(matrix, n);
    free(matrix);
    free(direction);
}

/* Graded matrices. What is right relative to the largest eigenvalue alone will not do: the smallest ones of
 * LAPACK's dsyevd are off by 7e-6 to 2e-4 for a condition of 1e12 and 224 rows, and by 100 % from 1e16 on. */
CASE(test_eigh_graded) {
    (void)state;
    uint64_t seed = 3;
    static const int32_t sizes[] = {1, 2, 5, 30, 64, 224};
    static const double conditions[] = {1e8, 1e12, 1e16, 1e20, 1e28};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t n = (size_t)sizes[i];
        double *matrix = malloc(n * n * sizeof *matrix);
        double *scale = malloc(n * sizeof *scale);
        assert_true(matrix != NULL && scale != NULL);
        for (size_t c = 0; c < sizeof conditions / sizeof *conditions; c++) {
            for (Grades grades = 0; grades < GRADES_COUNT; grades++) {
                if (n > 64 && (grades != GRADES_MIXED || c == 0)) { /* they take long */
                    continue;
                }
                fill_scale(scale, n, conditions[c], grades, &seed);
                fill_graded(matrix, n, scale, &seed);
                check_all(matrix, sizes[i]);
                check_relative(matrix, sizes[i], conditions[c] > 0x1p48);
            }
        }
        free(matrix);
        free(scale);
        check_limit(sizes[i], &seed);
    }
}

/* Graded matrices that are semidefinite or indefinite: right relative to the largest eigenvalue, as any
 * other; where rows are 0, also the small ones. */
SMALL(test_eigh_graded_singular) {
    (void)state;
    enum { N = 66, ZEROS = 2 };
    uint64_t seed = 4;
    double *matrix = malloc((size_t)N * N * sizeof *matrix);
    double *vectors = malloc((size_t)N * N * sizeof *vectors);
    double scale[N];
    assert_true(matrix != NULL && vectors != NULL);
    fill_scale(scale, N, 1e16, GRADES_MIXED, &seed);
    scale[0] = scale[N / 2] = 0;
    fill_graded(matrix, N, scale, &seed);
    check_all(matrix, N);
    long double *exact = exact_values(matrix, N);
    double *values = decompose(matrix, N, 2, vectors);
    for (int k = 0; k < N; k++) {
        if (k < N - ZEROS) {
            check_near((double)((long double)values[k] / exact[k]), 1, 0x1p-25);
        } else {
            check_near(values[k], 0, 1e-20 * values[0]);
        }
    }
    set(matrix, N, 0, 1, 1e-6); /* beside a diagonal entry of 0: one eigenvalue is negative */
    check_all(matrix, N);
    fill_scale(scale, N, 1e12, GRADES_MIXED, &seed);
    fill_graded(matrix, N, scale, &seed);
    for (size_t a = 0; a < N; a++) { /* a row comes twice */
        set(matrix, N, 7, a, matrix[3 * N + a]);
    }
    set(matrix, N, 7, 7, matrix[3 * N + 3]);
    check_all(matrix, N);
    fill_graded(matrix, N, scale, &seed);
    for (size_t a = 0; a < N; a++) { /* signs change from row to row */
        set(matrix, N, a, a, a % 2 == 0 ? matrix[a * N + a] : -matrix[a * N + a]);
    }
    check_all(matrix, N);
    for (size_t k = 0; k < (size_t)N * N; k++) {
        matrix[k] = -matrix[k];
    }
    check_all(matrix, N);
    free(exact);
    free(values);
    free(matrix);
    free(vectors);
}

typedef struct Elsewhere {
    Rig rig;
    const double *matrix;
    double *values, *vectors;
    HcStatus status;
} Elsewhere;

static void *decompose_elsewhere(void *argument) {
    Elsewhere *e = argument;
    e->status = hc_eigh(e->rig.compute, 425, 425, e->matrix, e->values, e->vectors, &e->rig.err);
    return NULL;
}

/* A scene of many bands, from the thread that opened the backend and from another one. */
CASE(test_eigh_large) {
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

CASE(test_eigh_refuses) {
    (void)state;
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    Rig rig;
    rig_open(&rig, 1);
    double values[2];
    double vectors[4];
    for (int i = 0; i < 3; i++) {
        double matrix[4] = {1, bad[i], bad[i], 1};
        check_fails(hc_eigh(rig.compute, 2, 2, matrix, values, vectors, &rig.err), HC_E_NUMERIC, rig.err);
    }
    double fine[4] = {1, 0, 0, 1};
    check_fails(hc_eigh(rig.compute, 0, 0, fine, values, vectors, &rig.err), HC_E_USAGE, rig.err);
    check_fails(hc_eigh(rig.compute, 2, 2, NULL, values, vectors, &rig.err), HC_E_USAGE, rig.err);
    check_fails(hc_eigh(rig.compute, 2, 2, fine, values, NULL, &rig.err), HC_E_USAGE, rig.err);
    check_fails(hc_eigh(rig.compute, 2, 3, fine, values, vectors, &rig.err), HC_E_USAGE, rig.err);
    check_fails(hc_eigh(rig.compute, 2, -1, fine, values, vectors, &rig.err), HC_E_USAGE, rig.err);
    rig_close(&rig);
}
