/* The strict backend: lp. */
#include "tests/support/strict_parts.h"

STRICT_HANDLE(HcLad, HcLadHead, lad, StrictCounts counts;)

HcStatus hc_strict_lad_open(HcCompute *compute, const HcLadRule *rule, HcLad **out, HcError *err) {
    HcLadRule own = *rule;
    const void *counts = rule->counts;
    size_t bytes = hc_lad_counts(rule) * sizeof *rule->counts;
    HC_OR_RETURN(strict_translate_at_once(strict_of(compute), &counts, bytes, "lad, the counts", err));
    own.counts = (int64_t *)(uintptr_t)counts;
    STRICT_OPEN(HcLad, lad, hc_lad_open(strict_of(compute)->cpu, &own, &real, err));
    (*out)->counts = (StrictCounts){rule->counts, counts, bytes};
    return HC_OK;
}

static HcStatus do_lad(const Strict *strict, void *arguments, HcError *err) {
    StrictSolve *work = arguments;
    HC_OR_RETURN(strict_translate_solve(strict, work, "lad: endmembers", err));
    return hc_lad(strict->cpu_queue, &work->pair.in, work->kept->real, &work->pair.out, err);
}

HcStatus hc_strict_lad(HcQueue *queue, const HcBlock *in, HcLad *lad, const HcBlock *out, HcError *err) {
    StrictSolve work = {.pair = {.in = *in, .out = *out}, .kept = &lad->kept, .counts = lad->counts};
    return strict_accept(queue, do_lad, &work, sizeof work, err);
}

HcStatus hc_strict_simplex(HcQueue *queue, const HcLinearProgram *program, const HcSimplexRule *rule,
                           HcLpSolution *out, HcError *err) {
    const Strict *strict = strict_of(((const HcHead *)queue)->compute);
    return hc_simplex(strict->cpu_queue, program, rule, out, err);
}
