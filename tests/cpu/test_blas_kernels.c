/* OpenBLAS that does not know the processor takes its oldest kernels: a backend then has newer ones, unless
 * the user has said which. */
#include "core/compute.h"
#include "cpu/cpu.h"

#include <cblas.h>
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/check.h"
#include "tests/support/random.h"

static const char core_switch[] = "OPENBLAS_CORETYPE";

/* As if OpenBLAS had been loaded by a processor that it does not know. */
static void take_oldest_kernels(void) {
    void (*leave)(void) = NULL;
    void (*enter)(void) = NULL;
    *(void **)&leave = dlsym(RTLD_DEFAULT, "gotoblas_dynamic_quit");
    *(void **)&enter = dlsym(RTLD_DEFAULT, "gotoblas_dynamic_init");
    if (leave == NULL || enter == NULL || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
        skip(); /* another BLAS, or an old processor */
    }
    assert_int_equal(setenv(core_switch, "Prescott", 1), 0);
    leave();
    enter();
    assert_string_equal(openblas_get_corename(), "Prescott");
}

static void open_and_close(void) {
    HcError err = {0};
    HcCompute *compute = NULL;
    HcComputeConfig config = {.threads = 2};
    check_ok(hc_compute_open(hc_cpu_ops(), &config, &compute, &err), err);
    hc_compute_close(compute);
}

/* In a child, since a process looks at its library once. */
static void user_decides(void **state) {
    int status = -1;
    (void)state;
    take_oldest_kernels();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        open_and_close();
        _exit(strcmp(openblas_get_corename(), "Prescott") == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void new_processor_has_new_kernels(void **state) {
    (void)state;
    take_oldest_kernels();
    assert_int_equal(unsetenv(core_switch), 0);
    open_and_close();
    assert_string_not_equal(openblas_get_corename(), "Prescott");
    assert_null(getenv(core_switch)); /* programs that are started keep the user's environment */

    enum { ROWS = 37, COLUMNS = 53, DEPTH = 300 };
    static double a[ROWS * DEPTH], b[DEPTH * COLUMNS], c[ROWS * COLUMNS];
    uint64_t seed = 7;
    for (int32_t i = 0; i < ROWS * DEPTH; i++) {
        a[i] = (double)random_between(&seed, -1000, 1000);
    }
    for (int32_t i = 0; i < DEPTH * COLUMNS; i++) {
        b[i] = (double)random_between(&seed, -1000, 1000);
    }
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, ROWS, COLUMNS, DEPTH, 1, a, DEPTH, b, COLUMNS, 0,
                c, COLUMNS);
    for (int32_t i = 0; i < ROWS; i++) {
        for (int32_t j = 0; j < COLUMNS; j++) {
            double sum = 0;
            for (int32_t k = 0; k < DEPTH; k++) {
                sum += a[i * DEPTH + k] * b[k * COLUMNS + j];
            }
            assert_true(c[i * COLUMNS + j] == sum); /* integers: exact */
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(user_decides),
        cmocka_unit_test(new_processor_has_new_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
