/* Fuzz harness: ENVI spectral libraries, header and data. */
#include "tests/fuzz/library_checks.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    HcFuzzPair pair = hc_fuzz_split(data, size);
    hc_fuzz_memory_open("/vsimem/library.hdr", pair.header, pair.header_size);
    hc_fuzz_memory_open("/vsimem/library.sli", pair.data, pair.data_size);
    hc_fuzz_library(size % 2 == 0 ? "/vsimem/library.sli" : "/vsimem/library.hdr");
    hc_fuzz_memory_close("/vsimem/library.sli");
    hc_fuzz_memory_close("/vsimem/library.hdr");
    free(pair.made);
    return 0;
}
