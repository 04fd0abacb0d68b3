/* Mean and covariance of a group of columns, from its sums. */
#ifndef HC_CORE_SOLVER_COLUMN_STATISTICS_H
#define HC_CORE_SOLVER_COLUMN_STATISTICS_H

#include "core/operation/gram/column_gram.h"
#include "core/sums/long.h"

/* Within one unit in the last place of the nearest double; what compilers call for this is slow. The lower
 * half has a sign of its own, so that nothing cancels. */
HC_ANYWHERE double hc_column_of_wide(HcWide value) {
    int64_t lower = (int64_t)value;
    int64_t upper = (int64_t)(value >> 64) + (lower < 0);
    return (double)upper * 0x1p64 + (double)lower;
}

/* sums[hc_column_values(bands)] of column_gram, in units of unit[bands + 1] (HcColumnFilters.unit). Returns
 * the pixels. mean[bands]: 0 without any. upper[bands][bands]: the covariance, each row from its diagonal on;
 * not written for fewer than two pixels. Numerators are exact; each is rounded to within one unit in the last
 * place. */
int64_t hc_column_statistics(int32_t bands, const int64_t *sums, const double *unit, double *mean,
                             double *upper);

#endif
