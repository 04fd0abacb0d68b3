/* Products of one dense matrix with a vector, against plain float64. */
#include "tests/conformance/rig.h"

#include "core/operation/l1/gemv.h"

#include <stdlib.h>

/* Rows and columns: each alone, powers of two, one less and one more, longer than any part that a backend
 * may cut them into. */
static const int64_t shapes[][2] = {
    {1, 1},      {1, 2},      {2, 1},      {1, 200003},  {200003, 1}, {3, 5},       {4, 17},
    {31, 33},    {32, 32},    {33, 31},    {7, 1023},    {1023, 7},   {1025, 129},  {16, 70001},
    {70001, 16}, {70001, 15}, {257, 1000}, {1023, 1027}, {5, 16385},  {100003, 2},  {65537, 3},
    {3, 65537},  {2049, 511}, {9, 32769},  {40000, 24},  {24, 40000}, {33900, 256}, {33801, 257},
    {17, 5003},  {18, 5004},  {33, 8191},  {95, 12800},  {700, 4099}, {3001, 1027}};

enum { SHAPES = sizeof shapes / sizeof shapes[0] };

/* Sums of integers are the same in every order while they stay below 2^24. */
enum { INTEGER = 8 };

/* How far sums in float32 may be from those in float64, relative to the sum of magnitudes. */
static const double tolerance = 0x1p-21;

/* A product: y = A x, or A'x where `turned`. */
typedef struct Product {
    bool turned;
    int64_t rows, columns;
    float *a; /* [rows][columns] */
    float *x; /* [in] */
    float *y; /* [out] */
    int64_t in, out;
} Product;

static Product product_new(const int64_t shape[2], bool turned, bool integers, uint64_t *seed) {
    Product p = {.turned = turned, .rows = shape[0], .columns = shape[1]};
    p.in = turned ? p.rows : p.columns;
    p.out = turned ? p.columns : p.rows;
    int64_t values = p.rows * p.columns;
    p.a = malloc((size_t)values * sizeof *p.a);
    p.x = malloc((size_t)p.in * sizeof *p.x);
    p.y = malloc((size_t)p.out * sizeof *p.y);
    assert_true(p.a != NULL && p.x != NULL && p.y != NULL);
    for (int64_t i = 0; i < values + p.in; i++) {
        double value = integers ? (double)random_between(seed, -INTEGER, INTEGER) : random_normal(seed);
        *(i < values ? &p.a[i] : &p.x[i - values]) = (float)value;
    }
    return p;
}

static void product_free(Product *p) {
    free(p->a);
    free(p->x);
    free(p->y);
}

/* A copy in device memory that begins `shift` values behind what is aligned. */
static float *put_shifted(Rig *rig, const float *values, int64_t count, int64_t shift) {
    float *image = calloc((size_t)(count + shift), sizeof *image);
    assert_non_null(image);
    memcpy(image + shift, values, (size_t)count * sizeof *image);
    float *at = rig_put(rig, image, (size_t)(count + shift) * sizeof *image);
    free(image);
    return at + shift;
}

/* Fills p->y; what lies before it stays. */
static void multiply(Rig *rig, Product *p, int64_t shift) {
    HcMatrix matrix = {put_shifted(rig, p->a, p->rows * p->columns, shift), p->rows, p->columns};
    const float *x = put_shifted(rig, p->x, p->in, shift);
    size_t bytes = (size_t)(p->out + shift) * sizeof(float);
    float *y = rig_alloc(rig, bytes);
    float *image = malloc(bytes);
    const unsigned char untouched[sizeof(float)] = {0xFF, 0xFF, 0xFF, 0xFF};
    assert_non_null(image);
    check_ok((p->turned ? hc_gemv_t : hc_gemv)(rig->queue, &matrix, x, y + shift, &rig->err), rig->err);
    rig_get(rig, y, image, bytes);
    for (int64_t i = 0; i < shift; i++) {
        assert_memory_equal(&image[i], untouched, sizeof untouched);
    }
    memcpy(p->y, image + shift, (size_t)p->out * sizeof *p->y);
    free(image);
    rig_empty(rig);
}

/* relative: of the sum of magnitudes; 0 = exactly. */
static void compare(const Product *p, double relative) {
    double *sum = calloc((size_t)p->out * 2, sizeof *sum);
    assert_non_null(sum);
    double *size = sum + p->out;
    for (int64_t r = 0; r < p->rows; r++) {
        for (int64_t c = 0; c < p->columns; c++) {
            int64_t out = p->turned ? c : r;
            double term = (double)p->a[r * p->columns + c] * (double)p->x[p->turned ? r : c];
            sum[out] += term;
            size[out] += fabs(term);
        }
    }
    for (int64_t i = 0; i < p->out; i++) {
        if (!(fabs((double)p->y[i] - sum[i]) <= relative * size[i])) {
            fail_msg("%lld x %lld%s: entry %lld is %.9g, expected %.9g", (long long)p->rows,
                     (long long)p->columns, p->turned ? ", turned" : "", (long long)i, (double)p->y[i],
                     sum[i]);
        }
    }
    free(sum);
}

/* Where blocks share a sum: rows that are few and long, many and short, or as many as columns. */
static void check_shared_sums(bool turned) {
    static const int64_t some[][2] = {{3, 9001}, {9001, 3}, {70, 400}, {33, 8191}, {4301, 65}};
    Rig rig;
    uint64_t seed = 19;
    rig_open(&rig, 2);
    for (size_t s = 0; s < sizeof some / sizeof some[0]; s++) {
        Product p = product_new(some[s], turned, true, &seed);
        multiply(&rig, &p, (int64_t)s % 2);
        compare(&p, 0);
        product_free(&p);
    }
    rig_close(&rig);
}

SMALL(test_gemv_small) {
    (void)state;
    check_shared_sums(false);
}

SMALL(test_gemv_t_small) {
    (void)state;
    check_shared_sums(true);
}

static void check_products(bool turned) {
    Rig rig;
    uint64_t seed = 11;
    rig_open(&rig, 2);
    for (int s = 0; s < SHAPES; s++) {
        for (int integers = 0; integers < 2; integers++) {
            Product p = product_new(shapes[s], turned, integers != 0, &seed);
            multiply(&rig, &p, s % 2);
            compare(&p, integers != 0 ? 0 : tolerance);
            product_free(&p);
        }
    }
    rig_close(&rig);
}

/* Many rows of 65 to 2,049 columns: one column less and one more than warps, threads and strips of a GPU
 * have; rows that its blocks share evenly and not; matrices that begin at each place of 16 bytes, and end at
 * each. */
static void check_many_rows(bool turned) {
    static const int64_t many[][2] = {{4301, 65},   {4229, 66},   {4303, 76},   {4232, 84},   {4230, 100},
                                      {4231, 109},  {4226, 112},  {4225, 126},  {8460, 127},  {4224, 128},
                                      {9001, 129},  {8999, 201},  {4229, 255},  {4224, 256},  {30001, 257},
                                      {4226, 260},  {4999, 420},  {4321, 511},  {4227, 512},  {4225, 513},
                                      {4230, 767},  {4226, 768},  {4231, 1023}, {4225, 1025}, {4226, 1267},
                                      {4224, 1280}, {4227, 1500}, {4229, 2047}, {4225, 2049}};
    Rig rig;
    uint64_t seed = 14;
    rig_open(&rig, 2);
    for (size_t s = 0; s < sizeof many / sizeof many[0]; s++) {
        Product p = product_new(many[s], turned, s % 3 != 0, &seed);
        int64_t places = many[s][1] <= 513 ? 4 : 1;
        for (int64_t shift = 0; shift < places; shift++) {
            multiply(&rig, &p, places > 1 ? shift : (int64_t)s % 4);
            compare(&p, s % 3 != 0 ? 0 : tolerance);
        }
        product_free(&p);
    }
    rig_close(&rig);
}

/* A row that holds NaN is NaN, and those beside it are as they are without it. */
static void check_rows_apart(const int64_t shape[2]) {
    Rig rig;
    uint64_t seed = 17;
    rig_open(&rig, 2);
    Product p = product_new(shape, false, true, &seed);
    const int64_t bad[] = {0, 17, shape[0] - 2};
    for (size_t b = 0; b < sizeof bad / sizeof bad[0]; b++) {
        for (int64_t c = 0; c < p.columns; c++) {
            p.a[bad[b] * p.columns + c] = NAN;
        }
    }
    multiply(&rig, &p, 1);
    for (size_t b = 0; b < sizeof bad / sizeof bad[0]; b++) {
        assert_true(isnan(p.y[bad[b]]));
        p.y[bad[b]] = 0;
        memset(p.a + bad[b] * p.columns, 0, (size_t)p.columns * sizeof *p.a);
    }
    compare(&p, 0);
    product_free(&p);
    rig_close(&rig);
}

CASE(test_gemv_rows_apart) {
    (void)state;
    check_rows_apart((const int64_t[2]){4301, 129});
    check_rows_apart((const int64_t[2]){4302, 65});
    check_rows_apart((const int64_t[2]){301, 15});
}

CASE(test_gemv_many_rows) {
    (void)state;
    check_many_rows(false);
}

CASE(test_gemv_t_many_rows) {
    (void)state;
    check_many_rows(true);
}

/* Rows of up to 4,096 columns: the longest of those. */
CASE(test_gemv_long_rows) {
    (void)state;
    static const int64_t some[][2] = {{4225, 4093}, {4224, 4096}};
    Rig rig;
    uint64_t seed = 15;
    rig_open(&rig, 2);
    for (int s = 0; s < 2; s++) {
        Product p = product_new(some[s], false, true, &seed);
        multiply(&rig, &p, 1);
        compare(&p, 0);
        product_free(&p);
    }
    rig_close(&rig);
}

/* Strips of gemv_t, as many as there are and all about as wide: each of their edges. */
CASE(test_gemv_t_strips) {
    (void)state;
    Rig rig;
    uint64_t seed = 16;
    rig_open(&rig, 2);
    for (int64_t columns = 250; columns <= 770; columns += columns % 256 < 4     ? 1
                                                           : columns % 256 > 248 ? 1
                                                                                 : 61) {
        Product p = product_new((const int64_t[2]){19 + columns % 7, columns}, true, true, &seed);
        multiply(&rig, &p, columns % 4);
        compare(&p, 0);
        multiply(&rig, &p, 0);
        compare(&p, 0);
        product_free(&p);
    }
    rig_close(&rig);
}

CASE(test_gemv) {
    (void)state;
    check_products(false);
}

CASE(test_gemv_t) {
    (void)state;
    check_products(true);
}

/* The same bits again, and by any number of threads. */
CASE(test_gemv_bits) {
    (void)state;
    static const int64_t some[][2] = {{1, 100003}, {100003, 1}, {1023, 1027}, {20000, 15},
                                      {11, 50001}, {9001, 257}, {4300, 1025}};
    for (int k = 0; k < 14; k++) {
        uint64_t seed = 12;
        float *first = NULL;
        for (int32_t threads = 1; threads <= 7; threads += 2) {
            Rig rig;
            rig_open(&rig, threads);
            seed = 12;
            Product p = product_new(some[k / 2], k % 2 != 0, false, &seed);
            size_t bytes = (size_t)p.out * sizeof *first;
            for (int again = 0; again < 2; again++) {
                multiply(&rig, &p, 0);
                if (first == NULL) {
                    first = malloc(bytes);
                    assert_non_null(first);
                    memcpy(first, p.y, bytes);
                }
                assert_memory_equal(first, p.y, bytes);
            }
            product_free(&p);
            rig_close(&rig);
        }
        free(first);
    }
}

/* NaN and infinity reach the entries that they belong to, and no others. */
CASE(test_gemv_not_finite) {
    (void)state;
    Rig rig;
    uint64_t seed = 13;
    rig_open(&rig, 2);
    for (int k = 0; k < 4; k++) { /* few rows, and many */
        int turned = k % 2;
        Product p = product_new((const int64_t[2]){k < 2 ? 45 : 5000, 139}, turned != 0, true, &seed);
        p.a[17 * 139 + 100] = NAN;
        p.a[18 * 139 + 101] = INFINITY;
        p.x[turned != 0 ? 18 : 101] = 2;
        multiply(&rig, &p, 0);
        assert_true(isnan(p.y[turned != 0 ? 100 : 17]));
        assert_true(isinf(p.y[turned != 0 ? 101 : 18]) && p.y[turned != 0 ? 101 : 18] > 0);
        for (int64_t i = 0; i < p.out; i++) {
            bool there = turned != 0 ? i == 100 || i == 101 : i == 17 || i == 18;
            assert_int_equal(isfinite(p.y[i]) == 0, there);
        }
        product_free(&p);
    }
    rig_close(&rig);
}

/* Products with an infinite factor are infinite, also where a backend cuts rows and columns into parts. */
CASE(test_gemv_infinite_factor) {
    (void)state;
    static const int64_t some[][2] = {{45, 5003}, {300, 4096}, {5000, 139}, {4301, 67}, {40, 1000}};
    Rig rig;
    uint64_t seed = 18;
    rig_open(&rig, 2);
    for (int k = 0; k < 10; k++) {
        Product p = product_new(some[k / 2], k % 2 != 0, true, &seed);
        for (int64_t i = 0; i < p.rows * p.columns; i++) {
            p.a[i] = fabsf(p.a[i]) + 1;
        }
        for (int64_t at = 0; at < p.in; at += p.in / 7) {
            float before = p.x[at];
            p.x[at] = INFINITY;
            multiply(&rig, &p, k % 4);
            p.x[at] = before;
            for (int64_t i = 0; i < p.out; i++) {
                assert_true(isinf(p.y[i]) && p.y[i] > 0);
            }
        }
        product_free(&p);
    }
    rig_close(&rig);
}

CASE(test_gemv_refuses) {
    (void)state;
    Rig rig;
    rig_open(&rig, 1);
    float *memory = rig_alloc(&rig, 64 * sizeof *memory);
    const HcMatrix fine = {memory, 3, 4};
    const int64_t most = (int64_t)1 << 31;
    const HcMatrix wrong[] = {{NULL, 3, 4},    {memory, 0, 4},    {memory, 3, 0},
                              {memory, -1, 4}, {memory, 3, most}, {memory, most, 4}};
    const float *x = memory + 20;
    float *y = memory + 30;
    for (int turned = 0; turned < 2; turned++) {
        HcStatus (*call)(HcQueue *, const HcMatrix *, const float *, float *, HcError *) =
            turned != 0 ? hc_gemv_t : hc_gemv;
        for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
            check_fails(call(rig.queue, &wrong[i], x, y, &rig.err), HC_E_USAGE, rig.err);
        }
        check_fails(call(NULL, &fine, x, y, &rig.err), HC_E_USAGE, rig.err);
        check_fails(call(rig.queue, NULL, x, y, &rig.err), HC_E_USAGE, rig.err);
        check_fails(call(rig.queue, &fine, NULL, y, &rig.err), HC_E_USAGE, rig.err);
        check_fails(call(rig.queue, &fine, x, NULL, &rig.err), HC_E_USAGE, rig.err);
    }
    rig_close(&rig);
}
