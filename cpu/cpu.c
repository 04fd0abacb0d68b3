#include "cpu/gram/gram.h"

#include <cblas.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_once_t blas_once = PTHREAD_ONCE_INIT;

/* Parallel loops are ours: every BLAS and LAPACK call stays on its own thread, so that its bits cannot depend
 * on the number of threads. OpenBLAS that is built with OpenMP forgets this: see hc_cpu_blas_alone. */
static void set_up_blas(void) {
    openblas_set_num_threads(1);
}

static HcStatus open_cpu(HcCompute **out, const HcComputeConfig *config, HcError *err) {
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int32_t threads = config->threads;
    *out = NULL;
    if (threads < 0 || threads > 4096) {
        return hc_fail(err, HC_E_USAGE, "%d threads asked for: 0 (all) to 4096", threads);
    }
    HcCpu *cpu = calloc(1, sizeof *cpu);
    if (cpu == NULL) {
        return hc_fail_memory(err, sizeof *cpu, "the CPU backend");
    }
    pthread_once(&blas_once, set_up_blas);
    cpu->base.ops = hc_cpu_ops();
    cpu->threads = threads > 0 ? threads : (int)(processors > 0 ? processors : 1);
    cpu->gram = HC_CPU_GRAM_BEST;
    *out = &cpu->base;
    return HC_OK;
}

static void close_cpu(HcCompute *compute) {
    free(compute);
}

/* "model name : Intel(R) Xeon(R) ..." of the first processor. */
static void processor_name(char *name, size_t size) {
    char line[256];
    snprintf(name, size, "CPU");
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon != NULL) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(name, size, "%.*s", (int)size - 1, colon + 1 + strspn(colon + 1, " "));
            break;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
}

static void info(const HcCompute *compute, HcComputeInfo *out) {
    const HcCpu *cpu = (const HcCpu *)compute;
    char name[96];
    processor_name(name, sizeof name);
    *out = (HcComputeInfo){
        .threads = cpu->threads, .shared_memory = true, .slots = 1, .block_bytes = (size_t)24 << 20};
    snprintf(out->name, sizeof out->name, "%s, %d thread%s", name, cpu->threads,
             cpu->threads == 1 ? "" : "s");
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    out->memory_total = page * (uint64_t)sysconf(_SC_PHYS_PAGES);
    out->memory_free = page * (uint64_t)sysconf(_SC_AVPHYS_PAGES);
}

static HcStatus alloc(HcCompute *compute, HcMemory where, size_t bytes, HcBuffer *out, HcError *err) {
    (void)compute;
    const size_t huge = (size_t)2 << 20;
    size_t alignment = bytes >= huge ? huge : 64;
    *out = (HcBuffer){0};
    if (bytes > SIZE_MAX / 2) {
        return hc_fail_memory(err, (double)bytes, "a buffer");
    }
    size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    void *data = aligned_alloc(alignment, rounded > 0 ? rounded : alignment);
    if (data == NULL) {
        return hc_fail_memory(err, (double)bytes, "a buffer");
    }
    if (bytes >= huge) {
        /* Fewer page faults; a refusal changes nothing. */
        (void)madvise(data, rounded, MADV_HUGEPAGE);
    }
    *out = (HcBuffer){.data = data, .bytes = bytes, .where = where};
    return HC_OK;
}

static void release(HcCompute *compute, HcBuffer *buffer) {
    (void)compute;
    if (buffer != NULL) {
        free(buffer->data);
        *buffer = (HcBuffer){0};
    }
}

static HcStatus queue_open(HcCompute *compute, HcQueue **out, HcError *err) {
    *out = calloc(1, sizeof **out);
    if (*out == NULL) {
        return hc_fail_memory(err, sizeof **out, "a queue");
    }
    (*out)->cpu = (HcCpu *)compute;
    return HC_OK;
}

static void queue_close(HcQueue *queue) {
    free(queue);
}

static HcStatus follow(HcQueue *queue, HcQueue *after, HcError *err) {
    if (queue == NULL || after == NULL) {
        return hc_fail(err, HC_E_USAGE, "follow: a queue is missing");
    }
    return HC_OK;
}

static HcStatus wait_for(HcQueue *queue, HcError *err) {
    return queue != NULL ? HC_OK : hc_fail(err, HC_E_USAGE, "wait: the queue is missing");
}

static HcStatus copy(HcQueue *queue, const void *from, void *to, size_t bytes, HcError *err) {
    if (queue == NULL || (bytes > 0 && (from == NULL || to == NULL))) {
        return hc_fail(err, HC_E_USAGE, "copy: %s is missing", queue == NULL ? "the queue" : "a pointer");
    }
    if (bytes > 0 && from != to) { /* memory is shared: a caller may give the same place twice */
        memmove(to, from, bytes);
    }
    return HC_OK;
}

static HcStatus zero(HcQueue *queue, void *at, size_t bytes, HcError *err) {
    if (queue == NULL || (bytes > 0 && at == NULL)) {
        return hc_fail(err, HC_E_USAGE, "zero: %s is missing", queue == NULL ? "the queue" : "a pointer");
    }
    if (bytes > 0) {
        memset(at, 0, bytes);
    }
    return HC_OK;
}

bool hc_cpu_gram_force(HcCompute *compute, HcCpuGram way) {
    HcCpu *cpu = (HcCpu *)compute;
    if (way == HC_CPU_GRAM_AMX && hc_cpu_panels_amx() == NULL) {
        return false;
    }
    cpu->gram = way;
    return true;
}

static const HcComputeOps cpu_ops = {
    .abi = HC_COMPUTE_ABI,
    .name = "cpu",
    .open = open_cpu,
    .close = close_cpu,
    .info = info,
    .alloc = alloc,
    .release = release,
    .queue_open = queue_open,
    .queue_close = queue_close,
    .follow = follow,
    .wait = wait_for,
    .upload = copy,
    .download = copy,
    .zero = zero,
    .decode = hc_cpu_decode,
    .gather = hc_cpu_gather,
    .filter = hc_cpu_filter,
    .difference = hc_cpu_difference,
    .project = hc_cpu_project,
    .reduce = hc_cpu_reduce,
    .sums_open = hc_cpu_sums_open,
    .sums_close = hc_cpu_sums_close,
    .gram = hc_cpu_gram,
    .sums_fetch = hc_cpu_sums_fetch,
    .training_open = hc_cpu_training_open,
    .training_close = hc_cpu_training_close,
    .knn = hc_cpu_knn,
    .vote = hc_cpu_vote,
    .svd_open = hc_cpu_svd_open,
    .svd_close = hc_cpu_svd_close,
    .svd_batched = hc_cpu_svd_batched,
    .patches_open = hc_cpu_patches_open,
    .patches_close = hc_cpu_patches_close,
    .patches = hc_cpu_patches,
    .unmix_open = hc_cpu_unmix_open,
    .unmix_close = hc_cpu_unmix_close,
    .unmix = hc_cpu_unmix,
    .gemv = hc_cpu_gemv,
    .gemv_t = hc_cpu_gemv_t,
    .l1_open = hc_cpu_l1_open,
    .l1_close = hc_cpu_l1_close,
    .fista = hc_cpu_fista,
    .alm = hc_cpu_alm,
    .abundances_open = hc_cpu_abundances_open,
    .abundances_close = hc_cpu_abundances_close,
    .simplex_batched = hc_cpu_simplex_batched,
    .simplex = hc_cpu_simplex,
    .eigh = hc_cpu_eigh,
};

const HcComputeOps *hc_cpu_ops(void) {
    return &cpu_ops;
}
