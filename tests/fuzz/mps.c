/* Fuzz harness: linear programs as MPS, fixed and free. */
#include "io/table/linear_program.h"
#include "tests/fuzz/harness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void check_columns(const HcLinearProgram *p) {
    uint8_t *seen = calloc((size_t)p->rows + 1, 1);
    hc_fuzz_expect(seen != NULL, "there is memory for the harness itself");
    for (int64_t j = 0; j < p->columns; j++) {
        hc_fuzz_expect(p->start[j] <= p->start[j + 1], "columns follow one another");
        hc_fuzz_expect(isfinite(p->cost[j]), "a cost is finite");
        hc_fuzz_expect(!isnan(p->lower[j]) && !isnan(p->upper[j]), "a bound is a number");
        for (int64_t e = p->start[j]; e < p->start[j + 1]; e++) {
            hc_fuzz_expect(p->row[e] >= 0 && p->row[e] < p->rows, "an entry lies in a row");
            hc_fuzz_expect(isfinite(p->value[e]) && p->value[e] != 0, "an entry is finite and not 0");
            hc_fuzz_expect(!seen[p->row[e]], "a row comes once in a column");
            seen[p->row[e]] = 1;
        }
        for (int64_t e = p->start[j]; e < p->start[j + 1]; e++) {
            seen[p->row[e]] = 0;
        }
    }
    free(seen);
}

static void check_program(const HcLpFile *file) {
    const HcLinearProgram *p = &file->program;
    hc_fuzz_expect(p->rows >= 0 && p->columns > 0 && p->start[0] == 0, "a program has columns");
    check_columns(p);
    for (int64_t i = 0; i < p->rows; i++) {
        hc_fuzz_expect(!isnan(p->row_lower[i]) && !isnan(p->row_upper[i]), "a bound is a number");
        hc_fuzz_expect(file->row_name[i] != NULL, "a row has a name");
    }
    for (int64_t j = 0; j < p->columns; j++) {
        hc_fuzz_expect(file->column_name[j] != NULL, "a column has a name");
    }
    hc_fuzz_expect(isfinite(file->constant), "the constant is finite");
    hc_fuzz_expect(file->name != NULL && file->objective != NULL, "program and objective have names");
    hc_fuzz_expect(file->note.data == NULL || strchr(file->note.data, '\n') == NULL, "a note is one line");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    HcError err = {0};
    HcLpFile file = {0};
    hc_fuzz_memory_open("/vsimem/program.mps", data, size);
    HcStatus status = hc_lp_read(&file, "/vsimem/program.mps", &err);
    hc_fuzz_check(status, &err);
    if (status == HC_OK) {
        check_program(&file);
    }
    hc_lp_clear(&file);
    hc_fuzz_memory_close("/vsimem/program.mps");
    return 0;
}
