/* The border of the CPU backend: threads, memory, and the table of all operations. Work is done when it is
 * queued, so that queues hold nothing and waiting returns at once. Large buffers ask for huge pages, which
 * saves page faults. Under a limit of address space fewer threads run, as many as OpenBLAS has buffers for.
 */
#include "core/allocate.h"
#include "core/operation/table.h"
#include "cpu/gram/gram.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static HcStatus open_cpu(HcCompute **out, const HcComputeConfig *config, HcError *err) {
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int32_t threads = config->threads;
    *out = NULL;
    if (threads < 0 || threads > 4096) {
        return hc_fail(err, HC_E_USAGE, "%d threads asked for: 0 (all) to 4096", threads);
    }
    threads = threads > 0 ? threads : (int32_t)(processors > 0 ? processors : 1);
    HcCpu *cpu = NULL;
    HC_OR_RETURN(hc_new(cpu, 1, "the CPU backend", err));
    if (!hc_cpu_blas_begin()) { /* with other kernels, results would differ in the last digits */
        free(cpu);
        return hc_fail_memory(err, 0, "the kernels of OpenBLAS");
    }
    cpu->team = hc_team_open(threads);
    if (cpu->team == NULL && threads > 1) {
        free(cpu);
        return hc_fail_memory(err, (double)threads * sizeof(pthread_t), "the threads of the CPU backend");
    }
    int32_t room = hc_cpu_blas_reserve(hc_team_threads(cpu->team));
    if (room == 0) {
        hc_team_close(cpu->team);
        free(cpu);
        return hc_fail(
            err, HC_E_MEMORY,
            "out of memory: the limit of address space (ulimit -v) leaves less than the 144 MiB that "
            "products of matrices need");
    }
    hc_team_limit(cpu->team, room);
    cpu->threads = hc_team_threads(cpu->team);
    cpu->gram = HC_CPU_GRAM_BEST;
    *out = &cpu->base;
    return HC_OK;
}

static void close_cpu(HcCompute *compute) {
    hc_team_close(((HcCpu *)compute)->team);
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

static void limit_threads(HcCompute *compute, int32_t threads) {
    HcCpu *cpu = (HcCpu *)compute;
    hc_team_limit(cpu->team, threads);
    cpu->threads = hc_team_threads(cpu->team);
}

static void info(const HcCompute *compute, HcComputeInfo *out) {
    const HcCpu *cpu = (const HcCpu *)compute;
    char name[96];
    processor_name(name, sizeof name);
    *out = (HcComputeInfo){.threads = cpu->threads,
                           .shared_memory = true,
                           .slots = 1,
                           .block_bytes = (size_t)24 << 20,
                           .sums_bytes = hc_cpu_sums_bytes,
                           .limit_threads = limit_threads};
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
    HC_OR_RETURN(hc_new(*out, 1, "a queue", err));
    (*out)->cpu = (HcCpu *)compute;
    return HC_OK;
}

static void queue_close(HcQueue *queue) {
    free(queue);
}

/* Work is done at once: nothing is ever left to follow or to wait for. */
static HcStatus follow(HcQueue *queue, HcQueue *after, HcError *err) {
    (void)queue;
    (void)after;
    (void)err;
    return HC_OK;
}

static HcStatus wait_for(HcQueue *queue, HcError *err) {
    (void)queue;
    (void)err;
    return HC_OK;
}

static HcStatus copy(HcQueue *queue, const void *from, void *to, size_t bytes, HcError *err) {
    (void)queue;
    (void)err;
    if (from != to) { /* memory is shared: a caller may give the same place twice */
        memmove(to, from, bytes);
    }
    return HC_OK;
}

static HcStatus zero(HcQueue *queue, void *at, size_t bytes, HcError *err) {
    (void)queue;
    (void)err;
    memset(at, 0, bytes);
    return HC_OK;
}

static void share(HcCompute *compute, int64_t count, HcWork *work, void *user) {
    hc_team_run(((HcCpu *)compute)->team, count, work, user);
}

bool hc_cpu_gram_force(HcCompute *compute, HcCpuGram way) {
    HcCpu *cpu = (HcCpu *)compute;
    if (hc_cpu_panel_kind(way) == NULL) {
        return false;
    }
    cpu->gram = way;
    return true;
}

#define DECLARE(name, Function) Function hc_cpu_##name;
HC_OPERATIONS(DECLARE)

#define ENTRY(name, Function) .name = hc_cpu_##name,
static const HcComputeOps cpu_ops = {.abi = HC_COMPUTE_ABI,
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
                                     .share = share,
                                     HC_OPERATIONS(ENTRY)};

const HcComputeOps *hc_cpu_ops(void) {
    return &cpu_ops;
}
