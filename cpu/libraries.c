/* OpenBLAS: what it is, and on how many threads it runs. */
#include "cpu/internal.h"

#include <cblas.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define CORE_SWITCH "OPENBLAS_CORETYPE"

/* Built with OpenMP, OpenBLAS asks in every call how many threads OpenMP gives to the calling thread, and
 * newer versions forget what openblas_set_num_threads said. hcube itself uses no OpenMP, so it takes the
 * function that OpenBLAS has brought along. NULL = there is none. */
static void (*set_openmp_threads)(int);
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_chosen = true; /* false: memory was too short to choose kernels */

/* On a processor that it does not know, OpenBLAS uses its oldest kernels ("Prescott", SSE3): 0.3.21 does so
 * on Emerald Rapids and Zen 5, where LAPACK then takes several times as long. Its environment variable
 * selects other kernels, but is only read when the library starts. So the library is started again. A value
 * that the user has set stays. */
static void choose_kernels(void) {
    void (*leave)(void) = NULL;
    void (*enter)(void) = NULL;
    *(void **)&leave = dlsym(RTLD_DEFAULT, "gotoblas_dynamic_quit");
    *(void **)&enter = dlsym(RTLD_DEFAULT, "gotoblas_dynamic_init");
    bool is_new = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
    if (!is_new || strcmp(openblas_get_corename(), "Prescott") != 0 || getenv(CORE_SWITCH) != NULL ||
        leave == NULL || enter == NULL) {
        return;
    }
    bool has_avx512 = __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
                      __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0;
    is_chosen = setenv(CORE_SWITCH, has_avx512 ? "SkylakeX" : "Haswell", 1) == 0;
    if (is_chosen) {
        leave();
        enter();
        unsetenv(CORE_SWITCH);
    }
}

static void begin(void) {
    choose_kernels();
    if (openblas_get_parallel() == OPENBLAS_OPENMP) {
        *(void **)&set_openmp_threads = dlsym(RTLD_DEFAULT, "omp_set_num_threads");
    }
    openblas_set_num_threads(1);
}

void hc_cpu_blas_alone(void) {
    pthread_once(&once, begin);
    if (set_openmp_threads != NULL) {
        set_openmp_threads(1);
    }
}

bool hc_cpu_blas_begin(void) {
    hc_cpu_blas_alone();
    return is_chosen;
}

void hc_cpu_blas_threads(int threads) {
    pthread_once(&once, begin);
    openblas_set_num_threads(threads);
    if (set_openmp_threads != NULL) {
        set_openmp_threads(threads);
    }
}

/* Whether the address space has room for one more buffer of OpenBLAS, and for what a run needs beside it: the
 * first buffer is tried for little, a further one leaves room for the stacks and blocks of the run. */
static bool has_room(int32_t count) {
    const size_t bytes = ((size_t)128 + (count == 0 ? 16 : 64)) << 20;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return false;
    }
    munmap(memory, bytes);
    return true;
}

int32_t hc_cpu_blas_reserve(int32_t threads) {
    enum { BUFFERS_MAX = 128 };
    void *buffers[BUFFERS_MAX];
    int32_t count = 0;
    struct rlimit limit;
    void *(*take)(int) = NULL;
    void (*give)(void *) = NULL;
    *(void **)&take = dlsym(RTLD_DEFAULT, "blas_memory_alloc");
    *(void **)&give = dlsym(RTLD_DEFAULT, "blas_memory_free");
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || take == NULL ||
        give == NULL) {
        return threads;
    }
    while (count < threads && count < BUFFERS_MAX && has_room(count) && (buffers[count] = take(1)) != NULL) {
        count++;
    }
    for (int32_t b = 0; b < count; b++) {
        give(buffers[b]);
    }
    return count;
}

void hc_cpu_libraries(HcText *text) {
    pthread_once(&once, begin);
    hc_text_add(text, "%s (%s)\n", openblas_get_config(), openblas_get_corename());
}
