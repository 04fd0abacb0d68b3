/* The end of an l1 problem that ran out of iterations: which columns a solution uses is mostly known long
 * before their values are. */
#ifndef HC_CORE_SOLVER_L1_POLISH_H
#define HC_CORE_SOLVER_L1_POLISH_H

#include "core/operation/l1/l1.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Moves the entries of x that are not 0 to the least objective (fista) or residual (alm) that they can have
 * together; an entry whose sign would change becomes 0. x[columns] is rounded to float32 and replaced, and
 * `report` brought up to date from it, where that makes the objective (the residual) smaller; returns whether
 * it does. Nothing is done where the columns depend on each other, or there are too many of them. matrix
 * [rows][columns], b[rows]; all of it on the host. */
HcStatus hc_l1_polish(const HcMatrix *matrix, const float *b, const HcL1Rule *rule, bool alm, float *x,
                      HcL1Report *report, bool *polished, HcError *err);

#ifdef __cplusplus
}
#endif
#endif
