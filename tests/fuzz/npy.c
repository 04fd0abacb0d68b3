/* Fuzz harness: matrices as .npy. */
#include "io/table/matrix.h"
#include "tests/fuzz/harness.h"

#include <math.h>
#include <stdlib.h>

static void read_all(HcMatrixFile *file, size_t size) {
    HcError err = {0};
    int64_t rows = hc_matrix_rows(file);
    int64_t columns = hc_matrix_columns(file);
    hc_fuzz_expect(rows > 0 && columns > 0, "a matrix has rows and columns");
    hc_fuzz_expect((double)rows * (double)columns <= (double)size, "a matrix lies in its file");
    size_t count = (size_t)rows * (size_t)columns;
    float *values = malloc(count * sizeof *values);
    hc_fuzz_expect(values != NULL, "there is memory for the harness itself");
    HcStatus status = hc_matrix_read(file, values, &err);
    hc_fuzz_check(status, &err);
    for (size_t i = 0; status == HC_OK && i < count; i++) {
        hc_fuzz_expect(isfinite(values[i]), "values of a matrix are finite");
    }
    free(values);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    HcError err = {0};
    HcMatrixFile *file = NULL;
    hc_fuzz_memory_open("/vsimem/matrix.npy", data, size);
    HcStatus status = hc_matrix_open(&file, "/vsimem/matrix.npy", &err);
    hc_fuzz_check(status, &err);
    if (status == HC_OK) {
        read_all(file, size);
    }
    hc_matrix_close(file);
    hc_fuzz_memory_close("/vsimem/matrix.npy");
    return 0;
}
