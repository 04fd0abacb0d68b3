/* fista, alm: solutions of A x = b whose entries are mostly 0. */
#ifndef HC_CORE_OPERATION_L1_H
#define HC_CORE_OPERATION_L1_H

#include "core/operation/l1/gemv.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One matrix to solve l1 problems with, and the memory that they need; opaque. */
typedef struct HcL1 HcL1;

/* Begins the handle of every backend; filled by the door that opens it. */
typedef struct HcL1Head {
    HcHead head;
    HcMatrix matrix;
} HcL1Head;

typedef struct HcL1Rule {
    double lambda;      /* fista: of 1/2 |A x - b|^2 + lambda |x|_1, > 0. alm: no meaning */
    bool positive;      /* entries of x are not negative */
    int32_t iterations; /* at most: steps of fista, inner steps of each outer one of alm */
    int32_t outer;      /* at most: outer steps of alm. fista: no meaning */
    double tolerance; /* >= 0. fista ends at this relative duality gap, alm at this |A x - b| / |b|. 0 = after
                       * all iterations */
} HcL1Rule;

typedef enum HcL1End {
    HC_L1_REACHED,   /* the tolerance */
    HC_L1_UNFINISHED /* the limit of iterations came first */
} HcL1End;

/* What a solution is worth; computed in float64 from its float32 entries. */
typedef struct HcL1Report {
    HcL1End end;
    int32_t iterations; /* of fista, or all inner ones of alm */
    int32_t outer;      /* of alm */
    int64_t nonzeros;
    double objective; /* fista: 1/2 |A x - b|^2 + lambda |x|_1. alm: |x|_1 */
    double gap;       /* fista: relative duality gap. alm: (|x|_1 - b'u) / |x|_1 at the multipliers u, scaled
                       * to |A'u| <= 1 */
    double residual;  /* |A x - b| / |b|, 0 where b is 0 */
} HcL1Report;

/* Takes the memory for problems with this matrix and finds its largest singular value, by Lanczos steps from
 * a fixed vector. matrix.data must hold the matrix already, and stay until hc_l1_close(). Fails with
 * HC_E_NUMERIC where it holds NaN or infinity. One queue at a time may use the result. */
typedef HcStatus HcL1OpenFn(HcCompute *compute, const HcMatrix *matrix, HcL1 **out, HcError *err);
HcL1OpenFn hc_l1_open HC_MUST_CHECK;
typedef void HcL1CloseFn(HcL1 *l1);
HcL1CloseFn hc_l1_close;

/* Both solve from x = 0. b [device] [rows], x [device] [columns]; report [host], there after hc_wait(). Where
 * b holds NaN or infinity, x is 0, the end HC_L1_UNFINISHED, and objective, gap and residual are NaN. The
 * same bits whatever was solved before. */
typedef HcStatus HcL1Fn(HcQueue *queue, HcL1 *l1, const HcL1Rule *rule, const float *b, float *x,
                        HcL1Report *report, HcError *err);

/* min over x of 1/2 |A x - b|^2 + lambda |x|_1 by fast proximal gradients (Beck and Teboulle 2009; Gao and
 * Li). A step that shows a larger largest singular value than was found is taken back. */
HcL1Fn hc_fista HC_MUST_CHECK;

/* min over x of |x|_1 where A x = b by augmented Lagrangians (Gao and Li). Outer steps move the multipliers
 * and raise the penalty, inner steps are those of fista. */
HcL1Fn hc_alm HC_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
