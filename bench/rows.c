/* Rows of the benchmark: which are wanted, and how a part becomes the whole. */
#include "bench/internal.h"

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
    if (bench->settings.tell != NULL) {
        bench->settings.tell(by, operation);
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
