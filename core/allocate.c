#include "core/allocate.h"
#include "core/grow.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

void *hc_allocate(size_t count, size_t bytes, const char *what, HcError *err, const char *file, int line) {
    void *memory = calloc(count > 0 ? count : 1, bytes);
    if (memory == NULL) {
        (void)hc_fail_memory_at(err, (double)count * (double)bytes, what, file, line);
    }
    return memory;
}

void *hc_allocate_aligned(size_t count, size_t bytes, const char *what, HcError *err, const char *file,
                          int line) {
    enum { LINE = 64 };
    size_t most = (SIZE_MAX - LINE) / (bytes > 0 ? bytes : 1);
    void *memory = count <= most ? aligned_alloc(LINE, (count * bytes / LINE + 1) * LINE) : NULL;
    if (memory == NULL) {
        (void)hc_fail_memory_at(err, (double)count * (double)bytes, what, file, line);
    }
    return memory;
}

void *hc_allocate_large(size_t count, size_t bytes, const char *what, HcError *err, const char *file,
                        int line) {
    const uintptr_t huge = (uintptr_t)2 << 20;
    char *memory = hc_allocate(count, bytes, what, err, file, line);
    uintptr_t skipped = (huge - (uintptr_t)memory % huge) % huge;
    if (memory != NULL && count * bytes >= skipped + huge) {
        /* A refusal changes nothing. */
        (void)madvise(memory + skipped, (count * bytes - skipped) / huge * huge, MADV_HUGEPAGE);
    }
    return memory;
}

HcStatus hc_grow_list(void *list, size_t count, size_t bytes, const char *what, HcError *err,
                      const char *file, int line) {
    void *old = NULL;
    size_t wanted = (count == 0 ? 1 : 2 * count) * bytes;
    if ((count & (count - 1)) != 0) {
        return HC_OK;
    }
    memcpy(&old, list, sizeof old);
    void *grown = realloc(old, wanted);
    if (grown == NULL) {
        return hc_fail_memory_at(err, (double)wanted, what, file, line);
    }
    memcpy(list, &grown, sizeof grown);
    return HC_OK;
}
