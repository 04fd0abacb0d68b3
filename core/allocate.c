#include "core/allocate.h"

void *hc_allocate(size_t count, size_t bytes, const char *what, HcError *err, const char *file, int line) {
    void *memory = calloc(count > 0 ? count : 1, bytes);
    if (memory == NULL) {
        (void)hc_fail_memory_at(err, (double)count * (double)bytes, what, file, line);
    }
    return memory;
}
