/* The largest eigenvalue of A'A, from plain steps on small matrices whose eigenvalues are known. */
#include "core/solver/l1_largest.h"
#include "tests/support/check.h"

#include <math.h>
#include <string.h>

enum { SIDE = 40 };

/* A is diagonal. */
typedef struct Plain {
    double entry[SIDE];
    double u[SIDE], v[SIDE];
    int steps;
} Plain;

/* to = A from - times to, brought to length 1; returns the length. */
static double step(const Plain *plain, const double *from, double times, double *to) {
    double square = 0;
    for (int i = 0; i < SIDE; i++) {
        to[i] = plain->entry[i] * from[i] - times * to[i];
        square += to[i] * to[i];
    }
    for (int i = 0; i < SIDE && square > 0; i++) {
        to[i] /= sqrt(square);
    }
    return sqrt(square);
}

static HcStatus back(void *user, double beta, double *alpha, HcError *err) {
    Plain *plain = user;
    (void)err;
    plain->steps++;
    *alpha = step(plain, plain->u, beta, plain->v);
    return HC_OK;
}

static HcStatus ahead(void *user, double alpha, double *beta, HcError *err) {
    Plain *plain = user;
    (void)err;
    *beta = step(plain, plain->v, alpha, plain->u);
    return HC_OK;
}

/* By bisection with Sturm's sequence, in which a positive term says that an eigenvalue is above. The vector
 * follows from its first entry, row after row. */
static HcStatus tridiagonal(void *user, int32_t n, const double *diagonal, const double *beside,
                            double *largest, double *last, HcError *err) {
    double low = 0;
    double high = 1e6;
    (void)user;
    (void)err;
    for (int k = 0; k < 200; k++) {
        double middle = (low + high) / 2;
        double term = diagonal[0] - middle;
        bool above = term > 0;
        for (int32_t i = 1; i < n; i++) {
            term = diagonal[i] - middle - beside[i - 1] * beside[i - 1] / (term == 0 ? 1e-300 : term);
            above = above || term > 0;
        }
        low = above ? middle : low;
        high = above ? high : middle;
    }
    double vector[HC_L1_LANCZOS_MAX] = {1};
    double square = 1;
    for (int32_t i = 1; i < n; i++) {
        double before = i > 1 ? beside[i - 2] * vector[i - 2] : 0;
        vector[i] = ((high - diagonal[i - 1]) * vector[i - 1] - before) / beside[i - 1];
        square += vector[i] * vector[i];
    }
    *largest = high;
    *last = fabs(vector[n - 1]) / sqrt(square);
    return HC_OK;
}

static HcStatus largest_of(Plain *plain, double *largest, HcError *err) {
    const HcL1Lanczos lanczos = {plain, back, ahead, tridiagonal};
    double square = 0;
    memset(plain->v, 0, sizeof plain->v);
    hc_l1_start_vector(plain->u, SIDE);
    for (int i = 0; i < SIDE; i++) {
        square += plain->u[i] * plain->u[i];
    }
    for (int i = 0; i < SIDE; i++) {
        plain->u[i] /= sqrt(square);
    }
    plain->steps = 0;
    return hc_l1_largest(&lanczos, largest, err);
}

static void is_a_bound(void **state) {
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        Plain plain = {.steps = 0};
        HcError err = {0};
        double largest = 0;
        for (int i = 0; i < SIDE; i++) {
            plain.entry[i] = kind == 0   ? 3
                             : kind == 1 ? 1 + i
                             : kind == 2 ? pow(0.5, i)
                                         : (i == 17 ? 100 : 1);
        }
        double known = kind == 0 ? 9 : kind == 1 ? 1600 : kind == 2 ? 1 : 1e4;
        check_ok(largest_of(&plain, &largest, &err), err);
        assert_true(largest >= known && largest <= 1.04 * known);
        assert_true(plain.steps >= 2 && plain.steps <= HC_L1_LANCZOS_MAX + 1);
    }
}

static void of_zero_is_zero(void **state) {
    (void)state;
    Plain plain = {.steps = 0};
    HcError err = {0};
    double largest = -1;
    check_ok(largest_of(&plain, &largest, &err), err);
    check_near(largest, 0, 1e-12);
}

static void what_is_no_number_is_refused(void **state) {
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        Plain plain = {.steps = 0};
        HcError err = {0};
        double largest = 0;
        plain.entry[3] = kind == 0 ? (double)NAN : (double)INFINITY;
        assert_int_equal(largest_of(&plain, &largest, &err), HC_E_NUMERIC);
        assert_non_null(strstr(err.text, "NaN or infinity"));
    }
}

/* Values are 1 to 2 in magnitude, of both signs. */
static void the_start_is_far_from_zero(void **state) {
    (void)state;
    double start[1000];
    int negative = 0;
    hc_l1_start_vector(start, 1000);
    for (int i = 0; i < 1000; i++) {
        assert_true(fabs(start[i]) >= 1 && fabs(start[i]) < 2);
        negative += start[i] < 0;
    }
    assert_true(negative > 400 && negative < 600);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_a_bound),
        cmocka_unit_test(of_zero_is_zero),
        cmocka_unit_test(what_is_no_number_is_refused),
        cmocka_unit_test(the_start_is_far_from_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
