/* The grid of a scene's float values, on which their sums are exact.
 *
 * Every band has a center c and a unit u = 2^exponent. A value x counts as the integer v = rint((x - c) / u),
 * and sums of v and of products of v are sums of integers: the same in every order, on every device. The unit
 * is at most 2^-28 of the spread of the band. Rounding to the grid then changes a covariance by at most 2^-28
 * of what the two bands' variances allow (docs/numerics.md). Most float32 values lie on the grid as they are.
 */
#ifndef HC_CORE_GRID_H
#define HC_CORE_GRID_H

#include "core/status.h"

#include <math.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Borrowed arrays of a number for each band. */
typedef struct HcGrid {
    const double *center;    /* whole multiples of the unit, below 2^53 of them */
    const int32_t *exponent; /* -149 to 127: of the unit */
} HcGrid;

/* Values and differences below this magnitude are near: they are summed by limbs. All others are far: they
 * are summed in long integers. A 3x3 difference of values less than 2^31 units from the center is near. */
#define HC_GRID_NEAR 0x1p35

/* The factor that hc_grid_value() takes: exact. */
static inline double hc_grid_scale(int32_t exponent) {
    return ldexp(1.0, -exponent);
}

/* v of a finite value; any whole number up to 2^278, exact below 2^53. Never contracted: -ffp-contract=off.
 */
static inline double hc_grid_value(float x, double center, double scale) {
    return rint(((double)x - center) * scale);
}

/* The first band whose center or unit is outside the ranges above; -1 = every band is inside. */
int32_t hc_grid_wrong_band(const HcGrid *grid, int32_t bands);

/* Chooses a grid for values[count][bands], a sample spread over the scene. The center follows the mean, the
 * unit the standard deviation; three times, values more than 4 standard deviations from the mean are left
 * out. A band of equal values gets a unit of 2^-31 of them, one of zeros the smallest unit. count may be 0.
 * The same bits everywhere. */
void hc_grid_choose(const float *values, int64_t count, int32_t bands, double *center, int32_t *exponent);

#ifdef __cplusplus
}
#endif
#endif
