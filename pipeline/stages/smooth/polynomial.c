/* Polynomials that are orthonormal on the points of a window: each is x times the one before, less its parts
 * along all before (Brubeck, Nakatsukasa, Trefethen: Vandermonde with Arnoldi, 2021). Powers of x would be
 * nearly parallel. The same steps are taken with the derivatives at the place of interest. */
#include "pipeline/stages/smooth/polynomial.h"

#include <math.h>
#include <string.h>

enum { ORDERS = HC_POLYNOMIAL_ORDER_MAX + 1, DERIVATIVES = HC_POLYNOMIAL_DERIVATIVE_MAX + 1 };

typedef struct Basis {
    const double *x;
    double at, scale; /* t = (x - at) / scale lies within -1 and 1 */
    int32_t count;
    double *q;                        /* [orders][count] values at the points */
    double here[ORDERS][DERIVATIVES]; /* value and derivatives at t = 0 */
} Basis;

static double *values(const Basis *basis, int32_t order) {
    return basis->q + (int64_t)order * basis->count;
}

/* t times the polynomial before; at first 1. */
static void begin(Basis *basis, int32_t order) {
    double *q = values(basis, order);
    double *here = basis->here[order];
    for (int32_t i = 0; i < basis->count; i++) {
        q[i] = order == 0 ? 1 : (basis->x[i] - basis->at) / basis->scale * values(basis, order - 1)[i];
    }
    here[0] = order == 0;
    for (int32_t d = 1; d < DERIVATIVES; d++) {
        here[d] = order == 0 ? 0 : d * basis->here[order - 1][d - 1];
    }
}

static void subtract_part(Basis *basis, int32_t order, int32_t other) {
    double *q = values(basis, order);
    const double *p = values(basis, other);
    double part = 0;
    for (int32_t i = 0; i < basis->count; i++) {
        part += q[i] * p[i];
    }
    for (int32_t i = 0; i < basis->count; i++) {
        q[i] -= part * p[i];
    }
    for (int32_t d = 0; d < DERIVATIVES; d++) {
        basis->here[order][d] -= part * basis->here[other][d];
    }
}

static void divide_by_length(Basis *basis, int32_t order) {
    double *q = values(basis, order);
    double squares = 0;
    for (int32_t i = 0; i < basis->count; i++) {
        squares += q[i] * q[i];
    }
    for (int32_t i = 0; i < basis->count; i++) {
        q[i] /= sqrt(squares);
    }
    for (int32_t d = 0; d < DERIVATIVES; d++) {
        basis->here[order][d] /= sqrt(squares);
    }
}

void hc_polynomial_weights(const double *x, int32_t count, int32_t order, int32_t derivative, double at,
                           double *weight, double *work) {
    Basis basis = {.x = x, .at = at, .count = count, .q = work};
    basis.scale = fmax(fmax(fabs(x[0] - at), fabs(x[count - 1] - at)), 1e-300);
    memset(weight, 0, (size_t)count * sizeof *weight);
    for (int32_t j = 0; j <= order; j++) {
        begin(&basis, j);
        for (int32_t again = 0; again < 2; again++) { /* the second time takes what rounding left */
            for (int32_t other = 0; other < j; other++) {
                subtract_part(&basis, j, other);
            }
        }
        divide_by_length(&basis, j);
        double part = basis.here[j][derivative] / pow(basis.scale, derivative);
        for (int32_t i = 0; i < count; i++) {
            weight[i] += part * values(&basis, j)[i];
        }
    }
}
