/* Singular value decompositions of batches. The witness is LAPACK's divide and conquer (gesdd) on the same
 * matrix in float64, which has nothing in common with rotations of columns; where small singular values must
 * be right relative to themselves, rotations in long double. */
#include "tests/conformance/rig.h"

#include "core/operation/svd/svd.h"

#include <lapacke.h>
#include <stdlib.h>

/* A batch and its results, as they lie in memory. */
typedef struct Batch {
    HcElement element;
    int32_t rows, columns;
    int64_t count;
    void *matrices; /* [count][rows][columns] */
    void *values;   /* [count][shorter] */
    void *left;     /* [count][shorter][rows] */
    void *right;    /* [count][shorter][columns] */
    int32_t *sweeps;
    uint8_t *end;
} Batch;

/* What a matrix is filled with. */
typedef enum Kind {
    NORMAL,
    POSITIVE, /* like spectra: one large singular value */
    GRADED,   /* columns of very different lengths */
    REPEATED, /* every column twice and more */
    OUTER,    /* rank one */
    ZERO,
    IDENTITY,
    EQUAL,     /* a diagonal whose entries differ in sign only */
    DEFICIENT, /* one column is 0 */
    SINGLE,    /* one entry that is not 0 */
    SMALL,
    LARGE,
    VERY_SMALL,
    VERY_LARGE,
    FINITE_KINDS,
    HOLDS_NAN = FINITE_KINDS,
    HOLDS_INFINITY,
    KINDS
} Kind;

static bool is_double(HcElement element) {
    return element == HC_ELEMENT_FLOAT64 || element == HC_ELEMENT_COMPLEX_FLOAT64;
}

static int64_t parts_of(HcElement element) {
    return element == HC_ELEMENT_FLOAT32 || element == HC_ELEMENT_FLOAT64 ? 1 : 2;
}

static int64_t shorter_of(const Batch *batch) {
    return batch->rows < batch->columns ? batch->rows : batch->columns;
}

static int64_t longer_of(const Batch *batch) {
    return batch->rows < batch->columns ? batch->columns : batch->rows;
}

/* Half the distance from 1 to the next number. */
static double unit_of(const Batch *batch) {
    return is_double(batch->element) ? 0x1p-53 : 0x1p-24;
}

static double get(const Batch *batch, const void *numbers, int64_t i) {
    return is_double(batch->element) ? ((const double *)numbers)[i] : (double)((const float *)numbers)[i];
}

static void set(const Batch *batch, void *numbers, int64_t i, double value) {
    if (is_double(batch->element)) {
        ((double *)numbers)[i] = value;
    } else {
        ((float *)numbers)[i] = (float)value;
    }
}

static size_t bytes_of_values(const Batch *batch) {
    return (size_t)(batch->count * shorter_of(batch)) * (is_double(batch->element) ? 8 : 4);
}

static size_t bytes_of_vectors(const Batch *batch, int64_t length) {
    return (size_t)(batch->count * shorter_of(batch) * length) * hc_element_bytes(batch->element);
}

static Batch batch_new(HcElement element, int32_t rows, int32_t columns, int64_t count) {
    Batch batch = {.element = element, .rows = rows, .columns = columns, .count = count};
    batch.matrices = calloc((size_t)(count * rows * columns), hc_element_bytes(element));
    batch.values = malloc(bytes_of_values(&batch));
    batch.left = malloc(bytes_of_vectors(&batch, rows));
    batch.right = malloc(bytes_of_vectors(&batch, columns));
    batch.sweeps = malloc((size_t)count * sizeof *batch.sweeps);
    batch.end = malloc((size_t)count);
    assert_true(batch.matrices != NULL && batch.values != NULL && batch.left != NULL && batch.right != NULL &&
                batch.sweeps != NULL && batch.end != NULL);
    return batch;
}

static void batch_free(Batch *batch) {
    free(batch->matrices);
    free(batch->values);
    free(batch->left);
    free(batch->right);
    free(batch->sweeps);
    free(batch->end);
    *batch = (Batch){0};
}

/* Before rounding to the element. */
static double entry(const Batch *batch, Kind kind, int64_t r, int64_t c, uint64_t *seed) {
    double normal = random_normal(seed);
    bool wide = is_double(batch->element);
    switch (kind) {
    case POSITIVE:
        return 100 * (double)(r + 2) / (double)(c + 1) + normal;
    case GRADED:
        return normal * pow(10, -(wide ? 12.0 : 5.0) * (double)c / (double)batch->columns);
    case ZERO:
        return 0;
    case IDENTITY:
        return r == c ? 1 : 0;
    case EQUAL:
        return r != c ? 0 : normal < 0 ? -3 : 3;
    case DEFICIENT:
        return c == batch->columns / 2 ? 0 : normal;
    case SINGLE:
        return r == batch->rows / 2 && c == batch->columns / 3 ? -7 : 0;
    case SMALL:
        return 1e-30 * normal;
    case LARGE:
        return 1e30 * normal;
    case VERY_SMALL:
        return (wide ? 1e-300 : 1e-41) * normal; /* 1e-41: subnormal */
    case VERY_LARGE:
        return (wide ? 1e300 : 1e35) * normal;
    default:
        return normal;
    }
}

static void fill(Batch *batch, int64_t matrix, Kind kind, uint64_t *seed) {
    int64_t parts = parts_of(batch->element);
    int64_t columns = batch->columns;
    int64_t values = batch->rows * columns * parts;
    int64_t first = matrix * values;
    for (int64_t i = 0; i < values; i++) {
        int64_t c = i / parts % columns;
        bool imaginary = i % parts == 1;
        double value = entry(batch, kind, i / parts / columns, c, seed);
        set(batch, batch->matrices, first + i,
            imaginary && (kind == IDENTITY || kind == EQUAL || kind == SINGLE) ? 0 : value);
    }
    for (int64_t i = 0; i < values && (kind == REPEATED || kind == OUTER); i++) {
        int64_t row = i / parts / columns * columns * parts;
        int64_t column = i / parts % columns;
        int64_t of = kind == OUTER ? 0 : column % ((columns + 1) / 2);
        double factor = kind == OUTER ? (double)(column % 5 + 1) : 1;
        double same = get(batch, batch->matrices, first + row + of * parts + i % parts);
        set(batch, batch->matrices, first + i, of == column ? same : factor * same);
    }
    if (kind == HOLDS_NAN || kind == HOLDS_INFINITY) {
        set(batch, batch->matrices, first + values / 2, kind == HOLDS_NAN ? NAN : -INFINITY);
    }
}

/* Which results are wanted, and how. */
typedef struct Way {
    int64_t most;
    bool vectors, left, right;
} Way;

static const Way everything = {.most = 16, .vectors = true, .left = true, .right = true};

/* Memory for a result that is neither NaN, nor 0, nor a number that a result may be. */
static void *fresh(Rig *rig, size_t bytes) {
    void *pattern = malloc(bytes);
    assert_non_null(pattern);
    memset(pattern, 0x55, bytes);
    void *place = rig_put(rig, pattern, bytes);
    free(pattern);
    return place;
}

static void decompose(Rig *rig, Batch *batch, Way way) {
    HcSvd *svd = NULL;
    size_t count = (size_t)batch->count;
    size_t left = bytes_of_vectors(batch, batch->rows);
    size_t right = bytes_of_vectors(batch, batch->columns);
    size_t bytes = count * (size_t)batch->rows * (size_t)batch->columns * hc_element_bytes(batch->element);
    check_ok(hc_svd_open(rig->compute, batch->element, batch->rows, batch->columns, way.most, way.vectors,
                         &svd, &rig->err),
             rig->err);
    HcSvdBatch on_device = {.count = batch->count,
                            .matrices = rig_put(rig, batch->matrices, bytes),
                            .values = fresh(rig, bytes_of_values(batch)),
                            .left = way.left ? fresh(rig, left) : NULL,
                            .right = way.right ? fresh(rig, right) : NULL,
                            .sweeps = fresh(rig, count * sizeof *batch->sweeps),
                            .end = fresh(rig, count)};
    check_ok(hc_svd_batched(rig->queue, svd, &on_device, &rig->err), rig->err);
    rig_get(rig, on_device.values, batch->values, bytes_of_values(batch));
    rig_get(rig, on_device.sweeps, batch->sweeps, count * sizeof *batch->sweeps);
    rig_get(rig, on_device.end, batch->end, count);
    if (way.left) {
        rig_get(rig, on_device.left, batch->left, left);
    }
    if (way.right) {
        rig_get(rig, on_device.right, batch->right, right);
    }
    hc_svd_close(svd);
    rig_empty(rig);
}

/* Rounding errors of a sum over the longer side grow like its root, those of some hundred rotations like
 * theirs: results keep within 4.4 times this on the CPU (measured: all shapes and kinds below). Not quite
 * twice that is allowed. */
static double tolerance_of(const Batch *batch) {
    return 8 * unit_of(batch) * sqrt((double)longer_of(batch));
}

static double *reference_values(const Batch *batch, int64_t matrix) {
    int64_t parts = parts_of(batch->element);
    int64_t values = (int64_t)batch->rows * batch->columns * parts;
    /* zgemv of OpenBLAS 0.3.21 looks up to four columns beyond a matrix (its issue 4013) */
    double *copy = calloc((size_t)(values + 4 * parts * batch->columns), sizeof *copy);
    double *singular = malloc((size_t)shorter_of(batch) * sizeof *singular);
    assert_true(copy != NULL && singular != NULL);
    for (int64_t i = 0; i < values; i++) {
        copy[i] = get(batch, batch->matrices, matrix * values + i);
    }
    int failed = parts == 1 ? (int)LAPACKE_dgesdd(LAPACK_COL_MAJOR, 'N', batch->columns, batch->rows, copy,
                                                  batch->columns, singular, NULL, 1, NULL, 1)
                            : (int)LAPACKE_zgesdd(LAPACK_COL_MAJOR, 'N', batch->columns, batch->rows,
                                                  (lapack_complex_double *)(void *)copy, batch->columns,
                                                  singular, NULL, 1, NULL, 1);
    assert_int_equal(failed, 0);
    free(copy);
    return singular;
}

static void check_values(const Batch *batch, int64_t matrix, const double *reference) {
    int64_t n = shorter_of(batch);
    double tolerance = tolerance_of(batch) * reference[0] + (is_double(batch->element) ? 0 : 0x1p-149);
    for (int64_t k = 0; k < n; k++) {
        double value = get(batch, batch->values, matrix * n + k);
        check_near(value, reference[k], tolerance);
        assert_true(value >= 0 && (k == 0 || get(batch, batch->values, matrix * n + k - 1) >= value));
    }
}

/* Real and imaginary part of the number i of vectors. */
static void number(const Batch *batch, const void *vectors, int64_t i, double *real, double *imaginary) {
    int64_t parts = parts_of(batch->element);
    *real = get(batch, vectors, parts * i);
    *imaginary = parts == 2 ? get(batch, vectors, 2 * i + 1) : 0;
}

/* The rows of vectors[shorter][length] are orthonormal. */
static void check_orthonormal(const Batch *batch, const void *vectors, int64_t matrix, int64_t length) {
    int64_t n = shorter_of(batch);
    int64_t first = matrix * n * length;
    for (int64_t j = 0; j < n; j++) {
        for (int64_t k = 0; k <= j; k++) {
            double real = 0;
            double imaginary = 0;
            for (int64_t i = 0; i < length; i++) {
                double a, ai, b, bi;
                number(batch, vectors, first + j * length + i, &a, &ai);
                number(batch, vectors, first + k * length + i, &b, &bi);
                real += a * b + ai * bi;
                imaginary += a * bi - ai * b;
            }
            check_near(real, j == k ? 1 : 0, tolerance_of(batch));
            check_near(imaginary, 0, tolerance_of(batch));
        }
    }
}

/* matrix = sum of values[k] left[k] right[k]^H; `size` is its largest singular value. */
static void check_product(const Batch *batch, int64_t matrix, double size) {
    int64_t n = shorter_of(batch);
    /* Singular values may be subnormal and then are rounded more coarsely. */
    double tolerance = tolerance_of(batch) * size + (is_double(batch->element) ? 0 : (double)n * 0x1p-149);
    for (int64_t r = 0; r < batch->rows; r++) {
        for (int64_t c = 0; c < batch->columns; c++) {
            double real, imaginary;
            number(batch, batch->matrices, (matrix * batch->rows + r) * batch->columns + c, &real,
                   &imaginary);
            for (int64_t k = 0; k < n; k++) {
                double u, ui, v, vi;
                double value = get(batch, batch->values, matrix * n + k);
                number(batch, batch->left, (matrix * n + k) * batch->rows + r, &u, &ui);
                number(batch, batch->right, (matrix * n + k) * batch->columns + c, &v, &vi);
                real -= value * (u * v + ui * vi);
                imaginary -= value * (ui * v - u * vi);
            }
            check_near(real, 0, tolerance);
            check_near(imaginary, 0, tolerance);
        }
    }
}

static void check_not_a_number(const Batch *batch, const void *numbers, int64_t first, int64_t count) {
    for (int64_t i = first; i < first + count; i++) {
        assert_true(isnan(get(batch, numbers, i)));
    }
}

static bool is_finite_matrix(const Batch *batch, int64_t matrix) {
    int64_t values = (int64_t)batch->rows * batch->columns * parts_of(batch->element);
    bool finite = true;
    for (int64_t i = matrix * values; i < (matrix + 1) * values; i++) {
        finite = finite && isfinite(get(batch, batch->matrices, i));
    }
    return finite;
}

static void check_matrix(const Batch *batch, int64_t matrix, bool vectors) {
    int64_t n = shorter_of(batch);
    int64_t parts = parts_of(batch->element);
    if (!is_finite_matrix(batch, matrix)) {
        assert_int_equal(batch->end[matrix], HC_SVD_NOT_FINITE);
        check_not_a_number(batch, batch->values, matrix * n, n);
        if (vectors) {
            check_not_a_number(batch, batch->left, matrix * n * batch->rows * parts, n * batch->rows * parts);
            check_not_a_number(batch, batch->right, matrix * n * batch->columns * parts,
                               n * batch->columns * parts);
        }
        return;
    }
    double *reference = reference_values(batch, matrix);
    assert_int_equal(batch->end[matrix], HC_SVD_CONVERGED);
    assert_true(batch->sweeps[matrix] >= 0 && batch->sweeps[matrix] <= HC_SVD_SWEEPS);
    check_values(batch, matrix, reference);
    if (vectors) {
        check_orthonormal(batch, batch->left, matrix, batch->rows);
        check_orthonormal(batch, batch->right, matrix, batch->columns);
        check_product(batch, matrix, reference[0]);
    }
    free(reference);
}

static void check_batch(const Batch *batch, bool vectors) {
    for (int64_t i = 0; i < batch->count; i++) {
        check_matrix(batch, i, vectors);
    }
}

/* Every shape with matrices of every kind, as many as the time allows. */
CASE(test_svd) {
    (void)state;
    static const struct {
        int32_t rows, columns, count;
    } shapes[] = {
        {1, 1, 37},    {2, 2, 37},   {3, 5, 37},    {5, 3, 37},   {7, 1, 37},    {1, 7, 37},   {8, 8, 37},
        {16, 16, 37},  {17, 13, 37}, {31, 32, 37},  {32, 32, 37}, {33, 20, 37},  {64, 64, 15}, {63, 64, 3},
        {64, 20, 17},  {20, 64, 17}, {64, 224, 3},  {224, 64, 3}, {57, 49, 15},  {40, 30, 15}, {1024, 16, 3},
        {1000, 64, 1}, {65, 65, 3},  {100, 224, 1}, {128, 96, 1}, {224, 224, 1},
    };
    uint64_t seed = 4;
    Rig rig;
    rig_open(&rig, 2);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        for (int element = 0; element < HC_ELEMENT_COUNT; element++) {
            Batch batch = batch_new((HcElement)element, shapes[s].rows, shapes[s].columns, shapes[s].count);
            for (int64_t i = 0; i < batch.count; i++) {
                fill(&batch, i, (Kind)((i + (batch.count < KINDS ? (int64_t)s : 0)) % KINDS), &seed);
            }
            decompose(&rig, &batch, everything);
            check_batch(&batch, true);
            batch_free(&batch);
        }
    }
    rig_close(&rig);
}

/* Matrices that only the way for large ones meets, of every kind. */
CASE(test_svd_large) {
    (void)state;
    uint64_t seed = 5;
    Rig rig;
    rig_open(&rig, 2);
    for (int element = 0; element < HC_ELEMENT_COUNT; element++) {
        for (int turned = 0; turned < 2; turned++) {
            Batch batch = batch_new((HcElement)element, turned ? 67 : 80, turned ? 80 : 67, KINDS);
            for (int64_t i = 0; i < batch.count; i++) {
                fill(&batch, i, (Kind)i, &seed);
            }
            decompose(&rig, &batch, everything);
            check_batch(&batch, true);
            batch_free(&batch);
        }
    }
    rig_close(&rig);
}

/* The same results of the matrix i of a and the matrix j of b, to the last bit. */
static void check_same_results(const Batch *a, int64_t i, const Batch *b, int64_t j) {
    size_t values = bytes_of_values(a) / (size_t)a->count;
    size_t left = bytes_of_vectors(a, a->rows) / (size_t)a->count;
    size_t right = bytes_of_vectors(a, a->columns) / (size_t)a->count;
    assert_memory_equal((char *)a->values + (size_t)i * values, (char *)b->values + (size_t)j * values,
                        values);
    assert_memory_equal((char *)a->left + (size_t)i * left, (char *)b->left + (size_t)j * left, left);
    assert_memory_equal((char *)a->right + (size_t)i * right, (char *)b->right + (size_t)j * right, right);
    assert_int_equal(a->sweeps[i], b->sweeps[j]);
    assert_int_equal(a->end[i], b->end[j]);
}

/* a[(i + shift) modulo its count] becomes b[i]. */
static void copy_shifted(const Batch *a, int64_t shift, Batch *b) {
    size_t bytes = (size_t)a->rows * (size_t)a->columns * hc_element_bytes(a->element);
    for (int64_t i = 0; i < b->count; i++) {
        memcpy((char *)b->matrices + (size_t)i * bytes,
               (char *)a->matrices + (size_t)((i + shift) % a->count) * bytes, bytes);
    }
}

/* A matrix has the same bits wherever it lies, whatever lies beside it, and for every number of threads. */
CASE(test_svd_bits) {
    (void)state;
    static const int32_t shapes[][2] = {{8, 8}, {13, 17}, {40, 9}, {52, 50}, {66, 70}};
    static const int32_t threads[] = {1, 2, 7};
    static const int64_t most[] = {1, 5, 1000};
    static const int64_t counts[] = {37, 1, 3};
    uint64_t seed = 6;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        for (int element = 0; element < HC_ELEMENT_COUNT; element++) {
            Batch first = batch_new((HcElement)element, shapes[s][0], shapes[s][1], 37);
            for (int64_t i = 0; i < first.count; i++) {
                fill(&first, i, (Kind)(random_bits(&seed) % KINDS), &seed);
            }
            Rig rig;
            rig_open(&rig, 1);
            decompose(&rig, &first, everything);
            rig_close(&rig);
            for (int64_t t = 0; t < 3; t++) {
                Batch again = batch_new((HcElement)element, shapes[s][0], shapes[s][1], counts[t]);
                copy_shifted(&first, 5 + 3 * t, &again);
                rig_open(&rig, threads[t]);
                decompose(&rig, &again, (Way){.most = most[t], .vectors = true, .left = true, .right = true});
                rig_close(&rig);
                for (int64_t i = 0; i < again.count; i++) {
                    check_same_results(&again, i, &first, (i + 5 + 3 * t) % first.count);
                }
                batch_free(&again);
            }
            batch_free(&first);
        }
    }
}

/* What is not wanted does not change the rest. */
CASE(test_svd_wanted) {
    (void)state;
    static const int32_t shapes[][2] = {{9, 9}, {30, 8}, {8, 30}, {50, 51}, {65, 68}};
    uint64_t seed = 7;
    Rig rig;
    rig_open(&rig, 2);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        for (int element = 0; element < HC_ELEMENT_COUNT; element++) {
            Batch all = batch_new((HcElement)element, shapes[s][0], shapes[s][1], KINDS);
            Batch some = batch_new((HcElement)element, shapes[s][0], shapes[s][1], KINDS);
            for (int64_t i = 0; i < all.count; i++) {
                fill(&all, i, (Kind)i, &seed);
            }
            copy_shifted(&all, 0, &some);
            decompose(&rig, &all, everything);
            for (int wanted = 0; wanted < 3; wanted++) {
                Way way = {.most = 3, .vectors = true, .left = wanted == 1, .right = wanted == 2};
                decompose(&rig, &some, way);
                assert_memory_equal(some.values, all.values, bytes_of_values(&all));
                assert_memory_equal(some.end, all.end, (size_t)all.count);
                if (way.left) {
                    assert_memory_equal(some.left, all.left, bytes_of_vectors(&all, all.rows));
                }
                if (way.right) {
                    assert_memory_equal(some.right, all.right, bytes_of_vectors(&all, all.columns));
                }
            }
            memset(some.values, 0xFF, bytes_of_values(&some));
            decompose(&rig, &some, (Way){.most = 3});
            check_batch(&some, false);
            batch_free(&some);
            batch_free(&all);
        }
    }
    rig_close(&rig);
}

/* The singular values of [[re, -im], [im, re]] are those of the complex matrix, each twice. */
SMALL(test_svd_complex) {
    (void)state;
    static const int32_t shapes[][2] = {{1, 1}, {5, 3}, {3, 5}, {16, 16}, {32, 20}, {33, 34}};
    uint64_t seed = 8;
    Rig rig;
    rig_open(&rig, 2);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        for (int wide = 0; wide < 2; wide++) {
            int32_t rows = shapes[s][0];
            int32_t columns = shapes[s][1];
            Batch complex_batch = batch_new(wide ? HC_ELEMENT_COMPLEX_FLOAT64 : HC_ELEMENT_COMPLEX_FLOAT32,
                                            rows, columns, FINITE_KINDS);
            Batch doubled = batch_new(wide ? HC_ELEMENT_FLOAT64 : HC_ELEMENT_FLOAT32, 2 * rows, 2 * columns,
                                      FINITE_KINDS);
            int64_t n = shorter_of(&complex_batch);
            for (int64_t i = 0; i < FINITE_KINDS; i++) {
                fill(&complex_batch, i, (Kind)i, &seed);
                for (int64_t at = 0; at < 4 * rows * columns; at++) {
                    int64_t r = at / (2 * columns);
                    int64_t c = at % (2 * columns);
                    int64_t part = (r >= rows) != (c >= columns) ? 1 : 0;
                    int64_t from = ((i * rows + r % rows) * columns + c % columns) * 2 + part;
                    double value = get(&complex_batch, complex_batch.matrices, from);
                    set(&doubled, doubled.matrices, i * 4 * rows * columns + at,
                        r < rows && part == 1 ? -value : value);
                }
            }
            decompose(&rig, &complex_batch, everything);
            decompose(&rig, &doubled, everything);
            for (int64_t i = 0; i < FINITE_KINDS * n; i++) {
                double size = get(&doubled, doubled.values, i / n * 2 * n);
                double value = get(&complex_batch, complex_batch.values, i);
                double tolerance = 2 * tolerance_of(&doubled) * size + (wide ? 0 : 0x1p-148);
                check_near(get(&doubled, doubled.values, 2 * i), value, tolerance);
                check_near(get(&doubled, doubled.values, 2 * i + 1), value, tolerance);
            }
            batch_free(&complex_batch);
            batch_free(&doubled);
        }
    }
    rig_close(&rig);
}

/* Singular values of matrix[rows][columns] by rotations of its columns, descending. */
static void rotate_columns(long double *matrix, int64_t rows, int64_t columns, long double *values) {
    for (int sweep = 0; sweep < 30; sweep++) {
        for (int64_t p = 0; p < columns; p++) {
            for (int64_t q = p + 1; q < columns; q++) {
                long double a = 0, b = 0, c = 0;
                for (int64_t r = 0; r < rows; r++) {
                    long double *row = matrix + r * columns;
                    a += row[p] * row[p];
                    b += row[q] * row[q];
                    c += row[p] * row[q];
                }
                long double zeta = c == 0 ? 0 : (b - a) / (2 * c);
                long double tangent =
                    c == 0 ? 0 : (zeta < 0 ? -1 : 1) / (fabsl(zeta) + sqrtl(1 + zeta * zeta));
                long double cosine = 1 / sqrtl(1 + tangent * tangent);
                for (int64_t r = 0; r < rows; r++) {
                    long double *row = matrix + r * columns;
                    long double x = row[p];
                    row[p] = cosine * (x - tangent * row[q]);
                    row[q] = cosine * (tangent * x + row[q]);
                }
            }
        }
    }
    for (int64_t c = 0; c < columns; c++) {
        long double square = 0;
        for (int64_t r = 0; r < rows; r++) {
            square += matrix[r * columns + c] * matrix[r * columns + c];
        }
        int64_t at = c;
        for (; at > 0 && values[at - 1] < sqrtl(square); at--) {
            values[at] = values[at - 1];
        }
        values[at] = sqrtl(square);
    }
}

/* Columns that are well apart in direction but not in length (12 powers of ten): even the smallest singular
 * value has all its digits, in whatever order the columns come. */
static void check_graded(Rig *rig, HcElement element, int32_t rows, int32_t columns, uint64_t *seed) {
    int64_t n = rows < columns ? rows : columns;
    int64_t longer = rows < columns ? columns : rows;
    long double *wide = malloc((size_t)(longer * n) * sizeof *wide);
    long double *expected = malloc((size_t)n * sizeof *expected);
    assert_true(wide != NULL && expected != NULL);
    Batch batch = batch_new(element, rows, columns, 3);
    for (int64_t i = 0; i < batch.count * rows * columns; i++) {
        int64_t r = i / columns % rows;
        int64_t c = i % columns;
        int64_t graded = (rows < columns ? r : c) * 5 % n; /* scales come in no order */
        double direction = 0.3 * random_normal(seed) + (r == c ? 4 * sqrt((double)n) : 0);
        set(&batch, batch.matrices, i, direction * pow(10, -12.0 * (double)graded / (double)n));
    }
    decompose(rig, &batch, everything);
    for (int64_t m = 0; m < batch.count; m++) {
        for (int64_t i = 0; i < longer * n; i++) {
            int64_t at = rows < columns ? i % n * columns + i / n : i;
            wide[i] = (long double)get(&batch, batch.matrices, m * rows * columns + at);
        }
        rotate_columns(wide, longer, n, expected);
        for (int64_t k = 0; k < n; k++) {
            /* as tolerance_of, relative; the condition of the directions is below 2 */
            check_near(get(&batch, batch.values, m * n + k) / (double)expected[k], 1,
                       2 * tolerance_of(&batch));
        }
    }
    batch_free(&batch);
    free(wide);
    free(expected);
}

CASE(test_svd_graded) {
    (void)state;
    static const int32_t shapes[][2] = {{6, 6},   {16, 16}, {20, 18}, {50, 12}, {60, 22},
                                        {12, 50}, {33, 31}, {64, 64}, {150, 60}};
    uint64_t seed = 9;
    Rig rig;
    rig_open(&rig, 2);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        check_graded(&rig, HC_ELEMENT_FLOAT32, shapes[s][0], shapes[s][1], &seed);
        check_graded(&rig, HC_ELEMENT_FLOAT64, shapes[s][0], shapes[s][1], &seed);
    }
    rig_close(&rig);
}

CASE(test_svd_refuses) {
    (void)state;
    Rig rig;
    rig_open(&rig, 1);
    HcSvd *svd = NULL;
    HcSvd *without = NULL;
    static const struct {
        int element;
        int32_t rows, columns;
        int64_t most;
    } wrong[] = {{-1, 2, 2, 1},
                 {HC_ELEMENT_COUNT, 2, 2, 1},
                 {0, 0, 2, 1},
                 {0, 2, 0, 1},
                 {0, -3, 2, 1},
                 {0, HC_SVD_MAX + 1, 2, 1},
                 {0, 2, HC_SVD_MAX + 1, 1},
                 {0, 2, 2, 0}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        check_fails(hc_svd_open(rig.compute, (HcElement)wrong[i].element, wrong[i].rows, wrong[i].columns,
                                wrong[i].most, true, &svd, &rig.err),
                    HC_E_USAGE, rig.err);
        assert_null(svd);
    }
    check_ok(hc_svd_open(rig.compute, HC_ELEMENT_FLOAT32, 2, 3, 4, true, &svd, &rig.err), rig.err);
    check_ok(hc_svd_open(rig.compute, HC_ELEMENT_FLOAT32, 2, 3, 4, false, &without, &rig.err), rig.err);
    float matrix[6] = {1, 2, 3, 4, 5, 6};
    HcSvdBatch fine = {.count = 1,
                       .matrices = rig_put(&rig, matrix, sizeof matrix),
                       .values = rig_alloc(&rig, 2 * sizeof(float)),
                       .left = rig_alloc(&rig, 4 * sizeof(float)),
                       .right = rig_alloc(&rig, 6 * sizeof(float))};
    HcSvdBatch none = fine, nothing = fine, nowhere = fine, left = fine, right = fine, values = fine;
    none.count = 0;
    nothing.matrices = NULL;
    nowhere.values = NULL;
    left.right = NULL;
    right.left = NULL;
    values.left = values.right = NULL;
    check_ok(hc_svd_batched(rig.queue, svd, &fine, &rig.err), rig.err);
    check_ok(hc_svd_batched(rig.queue, without, &values, &rig.err), rig.err);
    check_fails(hc_svd_batched(NULL, svd, &fine, &rig.err), HC_E_USAGE, rig.err);
    check_fails(hc_svd_batched(rig.queue, NULL, &fine, &rig.err), HC_E_USAGE, rig.err);
    check_fails(hc_svd_batched(rig.queue, svd, NULL, &rig.err), HC_E_USAGE, rig.err);
    check_fails(hc_svd_batched(rig.queue, svd, &none, &rig.err), HC_E_USAGE, rig.err);
    check_fails(hc_svd_batched(rig.queue, svd, &nothing, &rig.err), HC_E_USAGE, rig.err);
    check_fails(hc_svd_batched(rig.queue, svd, &nowhere, &rig.err), HC_E_USAGE, rig.err);
    check_fails(hc_svd_batched(rig.queue, without, &left, &rig.err), HC_E_USAGE, rig.err);
    check_fails(hc_svd_batched(rig.queue, without, &right, &rig.err), HC_E_USAGE, rig.err);
    check_ok(hc_wait(rig.queue, &rig.err), rig.err);
    hc_svd_close(NULL);
    hc_svd_close(without);
    hc_svd_close(svd);
    rig_close(&rig);
}
