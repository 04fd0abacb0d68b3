/* local: how far each pixel lies from the pixels around it, in units of their covariance. */
#ifndef HC_CORE_OPERATION_LOCAL_H
#define HC_CORE_OPERATION_LOCAL_H

#include "core/compute.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { HC_LOCAL_WINDOW_MAX = 255 };

/* Integers of a component, at most: 2^16 pixels times a sum of their products fit 128 bits. */
#define HC_LOCAL_LARGEST 0x1p44

typedef struct HcLocalRule {
    int64_t lines;         /* of the scene */
    int32_t samples;       /* of the scene */
    int32_t directions;    /* bands of the input */
    int32_t window, guard; /* sides [pixels], odd, guard < window; smaller at the border of the scene */
    double share;          /* of the unit matrix in the covariance of a window, 0 to 1 */
    double per_unit;       /* integers of a unit of the input */
    bool tight;            /* memory is scarce: a device works on few pixels at once */
} HcLocalRule;

/* Sums of windows of one scene; opaque. */
typedef struct HcLocal HcLocal;

/* Begins the handle of every backend; filled by the door that opens it. */
typedef struct HcLocalHead {
    HcHead head;
    HcLocalRule rule;
} HcLocalHead;

/* Rows of halo that the input needs. */
static inline int32_t hc_local_halo(const HcLocalRule *rule) {
    return rule->window / 2;
}

/* Memory that a handle takes [bytes]: on a backend of the host, for all threads and for each of them; on a
 * device. */
size_t hc_local_host_bytes(const HcLocalRule *rule);
size_t hc_local_thread_bytes(const HcLocalRule *rule);
size_t hc_local_device_bytes(const HcLocalRule *rule);

/* Takes the memory for such a scene. A handle serves one scene: a line has the same values in all calls. */
typedef HcStatus HcLocalOpenFn(HcCompute *compute, const HcLocalRule *rule, HcLocal **out, HcError *err);
HcLocalOpenFn hc_local_open HC_MUST_CHECK;
typedef void HcLocalCloseFn(HcLocal *local);
HcLocalCloseFn hc_local_close;

/* Scores of all rows of `out`, which has one band. With the valid pixels of the window of a pixel x, less
 * those of the guard, their number m, mean a and covariance C, the score is
 *
 *     (x - a)' ((1 - share) C + share I)^-1 (x - a)
 *
 * Components are rounded to integers, y = rint(x * per_unit) in float64. A pixel with a component beyond
 * HC_LOCAL_LARGEST, or NaN, counts as masked. Sums of y and of products of two of them are exact, 128 bits,
 * so that no order of adding and no cut into blocks changes them. In float64, each operation rounded:
 *
 *     C[i][j] = (m * sum(y_i y_j) - sum(y_i) sum(y_j)) * ((1 - share) / (per_unit * per_unit * m * (m - 1)))
 *     z[i]    = (m * y_i - sum(y_i)) / (per_unit * m)
 *
 * where the integers in brackets are exact and rounded once. `share` is added to the diagonal. Elimination
 * goes from row 0 on: row j > i becomes row j - (C[i][j] / C[i][i]) * row i, and so does z[j]. The score is
 * the sum of z[i] * z[i] / C[i][i] from i = 0 on, rounded to float32. The bits are the same on every backend.
 *
 * A pixel is masked where the input is, where m < 2, or m < directions + 1 with share 0, or where a pivot is
 * not above 16 * directions * 2^-52 of its diagonal element: the covariance has no inverse.
 *
 * `in` has hc_local_halo() rows more than `out`, or ends with the scene. (Reed, Yu 1990; Kwon, Nasrabadi
 * 2005.) */
typedef HcStatus HcLocalFn(HcQueue *queue, const HcBlock *in, HcLocal *local, const HcBlock *out,
                           HcError *err);
HcLocalFn hc_local HC_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
