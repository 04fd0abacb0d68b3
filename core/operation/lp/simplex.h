/* simplex: one linear program. */
#ifndef HC_CORE_OPERATION_SIMPLEX_H
#define HC_CORE_OPERATION_SIMPLEX_H

#include "core/compute.h"
#include "core/solver/lp/linear_program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Solves one linear program by a revised simplex method, in float64, done on return. Program and solution lie
 * on the host (core/solver/lp/linear_program.h). Of the inverse of the basis only the columns that are no
 * unit vectors are stored (Bai, Ouyang, He and Jiang). A variable or row with contradictory bounds is
 * refused, since no combination of rows proves it infeasible. */
typedef HcStatus HcSimplexFn(HcQueue *queue, const HcLinearProgram *program, const HcSimplexRule *rule,
                             HcLpSolution *out, HcError *err);
HcSimplexFn hc_simplex HC_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
