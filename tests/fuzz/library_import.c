/* Fuzz harness: formats of spectra, by what a file holds. */
#include "io/library/format/format.h"
#include "tests/fuzz/library_checks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    HcError err = {0};
    HcLibrary library = {0};
    HcSpectrumAxes *axes = NULL;
    hc_fuzz_memory_open("/vsimem/spectra.txt", data, size);
    HcStatus status = hc_spectrum_read(&library, "/vsimem/spectra.txt", size % 2 == 0, &axes, &err);
    hc_fuzz_check(status, &err);
    hc_fuzz_library_values(&library, status);
    hc_spectrum_axes_free(axes);
    hc_fuzz_memory_close("/vsimem/spectra.txt");
    return 0;
}
