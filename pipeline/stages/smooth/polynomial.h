/* The value, or a derivative, of the polynomial that fits some values best, as weights of these values. */
#ifndef HC_PIPELINE_STAGES_SMOOTH_POLYNOMIAL_H
#define HC_PIPELINE_STAGES_SMOOTH_POLYNOMIAL_H

#include <stdint.h>

enum { HC_POLYNOMIAL_ORDER_MAX = 9, HC_POLYNOMIAL_DERIVATIVE_MAX = 2 };

/* weight[count]: their sum over values at x[count] is the derivative (0 to 2, 0 = the value) at `at` of the
 * polynomial of this order that fits the values by least squares. count > order; no two of x are equal. work
 * has (order + 1) * count elements. */
void hc_polynomial_weights(const double *x, int32_t count, int32_t order, int32_t derivative, double at,
                           double *weight, double *work);

#endif
