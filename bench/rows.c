/* Rows of the benchmark: which are wanted, and how a part becomes the whole. */
#include "bench/internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool hc_bench_selects(const char *word, size_t length, const char *operation) {
    return strncmp(word, operation, length) == 0 && (operation[length] == '\0' || operation[length] == '-');
}

bool hc_bench_wants(const HcBench *bench, const char *operation) {
    const char *word = bench->settings.only;
    while (word != NULL) {
        size_t length = strcspn(word, ",");
        if (hc_bench_selects(word, length, operation)) {
            return true;
        }
        if (word[length] == '\0') {
            return false;
        }
        word += length + 1;
    }
    return true;
}

HcBenchRow *hc_bench_row(HcBench *bench, const char *operation, const char *by, int64_t lines) {
    static HcBenchRow spare;
    bool fits = bench->row_count < HC_BENCH_ROWS_MAX;
    HcBenchRow *row = fits ? &bench->rows[bench->row_count++] : &spare;
    *row = (HcBenchRow){.operation = operation, .lines = lines, .repetitions = 1, .rounds = 1};
    snprintf(row->by, sizeof row->by, "%s", by);
    if (bench->settings.report != NULL) {
        bench->settings.report(by, operation);
    }
    return row;
}

void hc_bench_scale(const HcBench *bench, HcBenchRow *row) {
    double factor = row->batch > 0 ? (double)row->batch / (double)row->matrices
                                   : (double)bench->settings.lines / (double)row->lines;
    row->seconds *= factor;
    row->least *= factor;
    row->most *= factor;
    row->bytes *= factor;
    row->operations *= factor;
    row->floor *= factor;
}

void hc_bench_wrong(HcBenchRow *row, const char *format, ...) {
    va_list arguments;
    if (row->wrong[0] == '\0') {
        va_start(arguments, format);
        vsnprintf(row->wrong, sizeof row->wrong, format, arguments);
        va_end(arguments);
    }
}

HcStatus hc_bench_judge(const HcBench *bench, HcError *err) {
    const HcBenchRow *first = NULL;
    int32_t count = 0;
    for (int32_t r = bench->row_count - 1; r >= 0; r--) {
        if (bench->rows[r].wrong[0] != '\0') {
            first = &bench->rows[r];
            count++;
        }
    }
    return count == 0 ? HC_OK
                      : hc_fail(err, HC_E_DEVICE, "bench: %s by %s is wrong: %s%s", first->operation,
                                first->by, first->wrong, count > 1 ? "; other rows are wrong, too" : "");
}
