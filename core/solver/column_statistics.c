#include "core/solver/column_statistics.h"

int64_t hc_column_statistics(int32_t bands, const int64_t *sums, const double *unit, double *mean,
                             double *upper) {
    size_t n = (size_t)bands;
    double one = unit[n];
    int64_t all = sums[hc_column_place(bands, n, n)]; /* the count, in units of one^2 */
    int64_t count = (int64_t)((double)all * (one * one));
    double divisor = (double)all * (double)(count - 1);
    for (size_t b = 0; b < n; b++) {
        double sum = (double)sums[hc_column_place(bands, n, b)];
        mean[b] = count > 0 ? sum * (unit[b] * one) / (double)count : 0;
    }
    for (size_t first = 0; first < n && count > 1; first += HC_COLUMN_STRIP) {
        size_t end = first + HC_COLUMN_STRIP < n ? first + HC_COLUMN_STRIP : n;
        const int64_t *other = sums + hc_column_place(bands, n, first);
        for (size_t i = first; i < n; i++) {
            const int64_t *product = sums + hc_column_place(bands, i, first);
            HcWide own = sums[hc_column_place(bands, n, i)];
            for (size_t j = first; j < end && j <= i; j++) {
                HcWide value = (HcWide)all * product[j - first] - own * other[j - first];
                upper[j * n + i] = hc_column_of_wide(value) / divisor * (unit[i] * unit[j]);
            }
        }
    }
    return count;
}
