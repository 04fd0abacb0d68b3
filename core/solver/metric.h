/* The metric in which FISTA and augmented Lagrangians of unmix measure abundances: I + U U', where U has the
 * directions in which D W D' is steepest. What both backends decide alike. */
#ifndef HC_CORE_SOLVER_METRIC_H
#define HC_CORE_SOLVER_METRIC_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    HC_METRIC_MAX = 31, /* directions; fewer than a part of the spectra, since a step solves for them */
    HC_METRIC_PART = 4,
    HC_METRIC_WIDTH = HC_METRIC_MAX + 1 /* with the sum: a lane each in a warp */
};

/* Only directions steeper than this part of the steepest count: below it, rounding decides. */
#define HC_METRIC_MIN 0x1p-20

/* How many directions there are. *level: no eigenvalue is beyond level in the metric. eigenvalue[spectra],
 * descending. */
static inline int32_t hc_metric_size(const double *eigenvalue, int32_t spectra, double *level) {
    double least = HC_METRIC_MIN * eigenvalue[0];
    int32_t size = 0;
    while (size < HC_METRIC_MAX && size < spectra / HC_METRIC_PART && eigenvalue[size] > least) {
        size++;
    }
    *level = (1 + 0x1p-20) * fmax(fmax(eigenvalue[size], least), 0);
    return size;
}

/* Row k of U [spectra][size + sums]: the eigenvectors [size][spectra] by the root of what they are steeper
 * than `level`, and 1 where abundances sum to one. */
static inline void hc_metric_row(const double *eigenvalue, const double *eigenvector, int32_t spectra,
                                 int32_t size, double level, bool sums, int32_t k, double *row) {
    for (int32_t i = 0; i < size; i++) {
        row[i] = sqrt(fmax(eigenvalue[i] / level - 1, 0)) * eigenvector[(int64_t)i * spectra + k];
    }
    if (sums) {
        row[size] = 1;
    }
}

#endif
