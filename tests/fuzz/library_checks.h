/* What the harnesses of spectral libraries expect of one. */
#ifndef HC_TESTS_FUZZ_LIBRARY_CHECKS_H
#define HC_TESTS_FUZZ_LIBRARY_CHECKS_H

#include "io/library/library.h"
#include "tests/fuzz/harness.h"

#include <math.h>
#include <string.h>

/* Looks at all of a library that was read with this status, and clears it. */
static inline void hc_fuzz_library_values(HcLibrary *library, HcStatus status) {
    if (status != HC_OK || library->count == 0) {
        hc_fuzz_expect(library->count == 0 && library->value == NULL, "a failure leaves nothing");
        return;
    }
    hc_fuzz_expect(library->count > 0 && library->bands > 0, "a library has spectra and bands");
    for (int32_t i = 0; i < library->count; i++) {
        hc_fuzz_expect(library->name[i] != NULL && strpbrk(library->name[i], "\r\n") == NULL,
                       "a name is one line");
        for (int32_t b = 0; b < library->bands; b++) {
            float value = library->value[(size_t)i * (size_t)library->bands + (size_t)b];
            hc_fuzz_expect(isnan(value) || fabsf(value) <= 1.01e30f, "a value is missing or below 1e30");
            hc_fuzz_expect(library->bad == NULL || library->bad[b] == 0 || isnan(value),
                           "a value in a bad band is missing");
        }
    }
    for (int32_t b = 0; b < library->bands; b++) {
        hc_fuzz_expect(library->wavelength == NULL || library->wavelength[b] > 0, "a wavelength is positive");
        hc_fuzz_expect(library->fwhm == NULL || library->fwhm[b] > 0, "a width is positive");
    }
    hc_fuzz_expect(library->scale >= 0 && isfinite(library->scale), "a scale is positive, or 0");
    hc_library_clear(library);
}

/* Reads the library at `path` and looks at all of it. */
static inline void hc_fuzz_library(const char *path) {
    HcError err = {0};
    HcLibrary library = {0};
    bool is_library = false;
    HcStatus status = hc_library_recognise(path, &is_library, &err);
    hc_fuzz_check(status, &err);
    err = (HcError){0};
    status = hc_library_read(&library, path, &err);
    hc_fuzz_check(status, &err);
    hc_fuzz_expect(status != HC_OK || library.count > 0, "a library has spectra");
    hc_fuzz_library_values(&library, status);
}

#endif
