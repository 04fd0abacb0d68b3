/* The strict backend: unmix. */
#include "tests/support/strict_parts.h"

STRICT_HANDLE(HcUnmixing, HcUnmixingHead, unmix, StrictCounts counts;)

HcStatus hc_strict_unmix_open(HcCompute *compute, const HcUnmixRule *rule, HcUnmixing **out, HcError *err) {
    HcUnmixRule own = *rule;
    const void *counts = rule->counts;
    const void *level = rule->level;
    size_t bytes = hc_unmix_counts(rule) * sizeof *rule->counts;
    HC_OR_RETURN(strict_translate_at_once(strict_of(compute), &counts, bytes, "unmix, the counts", err));
    HC_OR_RETURN(strict_translate_at_once(
        strict_of(compute), &level, (size_t)rule->level_pixels * sizeof(float), "unmix, the level", err));
    own.counts = (int64_t *)(uintptr_t)counts;
    own.level = level;
    STRICT_OPEN(HcUnmixing, unmix, hc_unmix_open(strict_of(compute)->cpu, &own, &real, err));
    (*out)->counts = (StrictCounts){rule->counts, counts, bytes};
    return HC_OK;
}

static HcStatus do_unmix(const Strict *strict, void *arguments, HcError *err) {
    StrictSolve *work = arguments;
    HC_OR_RETURN(strict_translate_solve(strict, work, "unmix: library", err));
    return hc_unmix(strict->cpu_queue, &work->pair.in, work->kept->real, &work->pair.out, err);
}

HcStatus hc_strict_unmix(HcQueue *queue, const HcBlock *in, HcUnmixing *unmixing, const HcBlock *out,
                         HcError *err) {
    StrictSolve work = {
        .pair = {.in = *in, .out = *out}, .kept = &unmixing->kept, .counts = unmixing->counts};
    return strict_accept(queue, do_unmix, &work, sizeof work, err);
}
