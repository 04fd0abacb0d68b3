/* simplex: one linear program. */
#ifndef HC_CORE_OPERATION_SIMPLEX_H
#define HC_CORE_OPERATION_SIMPLEX_H

#include "core/compute.h"
#include "core/solver/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Solves one linear program by a revised simplex method, in float64, done on return. Program and solution lie
 * on the host (core/solver/program.h). The inverse of the basis is kept as those of its columns that are no
 * unit vectors (Bai, Ouyang, He and Jiang). Contradictory bounds of one variable or row are refused: no
 * combination of rows would prove them. */
typedef HcStatus HcSimplexFn(HcQueue *queue, const HcLinearProgram *program, const HcSimplexRule *rule,
                             HcLpSolution *out, HcError *err);
HcSimplexFn hc_simplex HC_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
