/* Fuzz harness: spectral libraries as CSV. */
#include "tests/fuzz/library_checks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hc_fuzz_memory_open("/vsimem/library.csv", data, size);
    hc_fuzz_library("/vsimem/library.csv");
    hc_fuzz_memory_close("/vsimem/library.csv");
    return 0;
}
