/* A backend computes with the threads asked for: BLAS takes no others, neither on the thread that calls an
 * operation nor on those of the backend. */
#include "core/operation/eigh/eigh.h"
#include "core/operation/gram/gram.h"
#include "core/operation/knn/knn.h"
#include "core/operation/image/project.h"
#include "cpu/cpu.h"

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "tests/support/check.h"
#include "tests/support/random.h"

enum { LINES = 40, SAMPLES = 100, BANDS = 220, SPECTRA = 700 };

#ifndef HC_SANITIZED
/* Threads that anyone has started, libraries too. */
static _Atomic int started;

int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *argument) {
    int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = NULL;
    *(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
    started++;
    return next(thread, how, run, argument);
}
#endif

static double *random_values(size_t count) {
    uint64_t seed = 5;
    double *out = malloc(count * sizeof *out);
    assert_non_null(out);
    for (size_t i = 0; i < count; i++) {
        out[i] = (double)random_between(&seed, 0, 16383);
    }
    return out;
}

static HcBlock new_block(int32_t bands, const double *values) {
    size_t pixels = (size_t)LINES * SAMPLES;
    HcBlock block = {.data = calloc(pixels * (size_t)bands, sizeof(float)),
                     .mask = malloc(pixels),
                     .lines = LINES,
                     .samples = SAMPLES,
                     .bands = bands};
    assert_true(block.data != NULL && block.mask != NULL);
    for (size_t p = 0; p < pixels; p++) {
        block.mask[p] = 1;
    }
    for (size_t i = 0; values != NULL && i < pixels * (size_t)bands; i++) {
        block.data[i] = (float)values[i];
    }
    return block;
}

static void free_block(HcBlock *block) {
    free(block->data);
    free(block->mask);
}

static void add_products(HcCompute *compute, HcQueue *queue, const HcBlock *in, int64_t limit) {
    HcError err = {0};
    HcSums *sums = NULL;
    HcMoments moments = {0};
    double center[BANDS] = {0};
    int32_t exponent[BANDS] = {0};
    HcGrid grid = {center, exponent};
    check_ok(hc_sums_open(compute, BANDS, limit, limit == 0 ? &grid : NULL, &sums, &err), err);
    check_ok(hc_gram(queue, in, HC_DIFFERENCE_NONE, NULL, sums, &err), err);
    check_ok(hc_sums_fetch(queue, sums, &moments, &err), err);
    hc_moments_clear(&moments);
    hc_sums_close(sums);
}

static void search(HcCompute *compute, HcQueue *queue, const HcBlock *in) {
    HcError err = {0};
    HcTraining *training = NULL;
    int32_t *index = calloc((size_t)LINES * SAMPLES, sizeof *index);
    double *distance = calloc((size_t)LINES * SAMPLES, sizeof *distance);
    check_ok(hc_training_open(compute, in->data, SPECTRA, BANDS, HC_METRIC_EUCLIDEAN, &training, &err), err);
    check_ok(hc_knn(queue, in, training, 1, index, distance, &err), err);
    hc_training_close(training);
    free(index);
    free(distance);
}

static void *compute_elsewhere(void *argument) {
    HcCompute *compute = argument;
    HcError err = {0};
    HcQueue *queue = NULL;
    double *values = random_values((size_t)LINES * SAMPLES * BANDS);
    double *eigenvalues = malloc(BANDS * sizeof *eigenvalues);
    double *vectors = malloc(BANDS * BANDS * sizeof *vectors);
    HcBlock in = new_block(BANDS, values);
    HcBlock out = new_block(BANDS, NULL);
    assert_true(eigenvalues != NULL && vectors != NULL);
    check_ok(hc_queue_open(compute, &queue, &err), err);
    check_ok(hc_project(queue, &in, values, NULL, NULL, &out, &err), err);
    add_products(compute, queue, &in, 1 << 14);
    add_products(compute, queue, &in, 0);
    search(compute, queue, &in);
    for (size_t i = 0; i < BANDS; i++) {
        for (size_t j = 0; j < i; j++) {
            values[i * BANDS + j] = values[j * BANDS + i];
        }
    }
    check_ok(hc_eigh(compute, BANDS, BANDS, values, eigenvalues, vectors, &err), err);
    hc_queue_close(queue);
    free_block(&in);
    free_block(&out);
    free(values);
    free(eigenvalues);
    free(vectors);
    return NULL;
}

static void check_threads(int32_t threads) {
    HcError err = {0};
    HcCompute *compute = NULL;
    HcComputeConfig config = {.threads = threads};
    pthread_t thread;
#ifndef HC_SANITIZED
    started = 0;
#endif
    check_ok(hc_compute_open(hc_cpu_ops(), &config, &compute, &err), err);
    assert_int_equal(pthread_create(&thread, NULL, compute_elsewhere, compute), 0);
    pthread_join(thread, NULL);
#ifndef HC_SANITIZED                    /* sanitizers have a pthread_create of their own */
    assert_int_equal(started, threads); /* one of them is ours, in the place of the caller */
#endif
    hc_compute_close(compute);
}

static void no_other_threads(void **state) {
    (void)state;
    check_threads(1);
    check_threads(3);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_other_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
