#include "core/allocate.h"

#include <stdint.h>

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
