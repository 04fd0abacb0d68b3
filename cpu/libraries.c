/* OpenBLAS: what it is, and on how many threads it runs. */
#include "cpu/internal.h"

#include <cblas.h>
#include <dlfcn.h>
#include <pthread.h>

/* Built with OpenMP, OpenBLAS asks in every call how many threads OpenMP gives to the calling thread, and
 * newer versions forget what openblas_set_num_threads said. hcube itself uses no OpenMP, so it takes the
 * function that OpenBLAS has brought along. NULL = there is none. */
static void (*set_openmp_threads)(int);
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void begin(void) {
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

void hc_cpu_blas_threads(int threads) {
    pthread_once(&once, begin);
    openblas_set_num_threads(threads);
    if (set_openmp_threads != NULL) {
        set_openmp_threads(threads);
    }
}

void hc_cpu_libraries(HcText *text) {
    hc_text_add(text, "%s (%s)\n", openblas_get_config(), openblas_get_corename());
}
