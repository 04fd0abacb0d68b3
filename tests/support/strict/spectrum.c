/* The strict backend: operations along the spectrum. */
#include "tests/support/strict_parts.h"

typedef struct Continua {
    StrictPair pair;
    HcContinuumRule rule;
} Continua;

static HcStatus do_continuum(const Strict *strict, void *arguments, HcError *err) {
    Continua *work = arguments;
    HcContinuumRule *rule = &work->rule;
    size_t bytes = (size_t)rule->places * sizeof(int32_t);
    HC_OR_RETURN(strict_translate_pair(strict, &work->pair, err));
    HC_OR_RETURN(strict_translate(strict, &rule->first, ((size_t)rule->pieces + 1) * sizeof(int32_t),
                                  "continuum, the pieces", err));
    HC_OR_RETURN(strict_translate(strict, &rule->centre, 2 * bytes, "continuum, the wavelengths", err));
    HC_OR_RETURN(strict_translate(strict, &rule->band, bytes, "continuum, the bands", err));
    HC_OR_RETURN(strict_translate(strict, &rule->target, bytes, "continuum, the bands", err));
    return hc_continuum(strict->cpu_queue, &work->pair.in, rule, &work->pair.out, err);
}

HcStatus hc_strict_continuum(HcQueue *queue, const HcBlock *in, const HcContinuumRule *rule,
                             const HcBlock *out, HcError *err) {
    Continua work = {{.in = *in, .out = *out}, *rule};
    return strict_accept(queue, do_continuum, &work, sizeof work, err);
}

static HcStatus do_normalise(const Strict *strict, void *arguments, HcError *err) {
    StrictPair *work = arguments;
    size_t bytes = (size_t)work->in.bands * sizeof(double);
    HC_OR_RETURN(strict_translate_pair(strict, work, err));
    HC_OR_RETURN(strict_translate(strict, &work->matrix, bytes, "normalise, the weights", err));
    return hc_normalise(strict->cpu_queue, &work->in, (HcNormalisation)work->variant, work->matrix,
                        &work->out, err);
}

HcStatus hc_strict_normalise(HcQueue *queue, const HcBlock *in, HcNormalisation kind, const double *weight,
                             const HcBlock *out, HcError *err) {
    StrictPair work = {.in = *in, .variant = (int)kind, .matrix = weight, .out = *out};
    return strict_accept(queue, do_normalise, &work, sizeof work, err);
}

typedef struct Formula {
    StrictPair pair;
    HcFormula how;
} Formula;

static HcStatus do_formula(const Strict *strict, void *arguments, HcError *err) {
    Formula *work = arguments;
    HcFormula *how = &work->how;
    size_t counts = sizeof *how->missing * (size_t)work->pair.out.bands;
    HC_OR_RETURN(strict_translate_pair(strict, &work->pair, err));
    HC_OR_RETURN(
        strict_translate(strict, &how->step, sizeof *how->step * (size_t)how->steps, "formula", err));
    HC_OR_RETURN(
        strict_translate(strict, &how->input, sizeof *how->input * (size_t)how->inputs, "formula", err));
    HC_OR_RETURN(strict_translate(strict, &how->missing, counts, "formula, the counts", err));
    return hc_formula(strict->cpu_queue, &work->pair.in, how, &work->pair.out, err);
}

HcStatus hc_strict_formula(HcQueue *queue, const HcBlock *in, const HcFormula *formula, const HcBlock *out,
                           HcError *err) {
    Formula work = {{.in = *in, .out = *out}, *formula};
    return strict_accept(queue, do_formula, &work, sizeof work, err);
}

typedef struct Identify {
    HcBlock in, out;
    HcIdentifyRule rule;
} Identify;

static HcStatus do_identify(const Strict *strict, void *arguments, HcError *err) {
    Identify *work = arguments;
    HcIdentifyRule *rule = &work->rule;
    HC_OR_RETURN(strict_translate_block(strict, &work->in, "the input block", err));
    HC_OR_RETURN(strict_translate_block(strict, &work->out, "the output block", err));
    HC_OR_RETURN(strict_translate(strict, &rule->reference,
                                  (size_t)rule->references * sizeof *rule->reference, "the references", err));
    HC_OR_RETURN(strict_translate(strict, &rule->feature, (size_t)rule->features * sizeof *rule->feature,
                                  "the features", err));
    HC_OR_RETURN(strict_translate(strict, &rule->entry, (size_t)rule->entries * sizeof *rule->entry,
                                  "the entries", err));
    return hc_identify(strict->cpu_queue, &work->in, rule, &work->out, err);
}

HcStatus hc_strict_identify(HcQueue *queue, const HcBlock *in, const HcIdentifyRule *rule, const HcBlock *out,
                            HcError *err) {
    Identify work = {.in = *in, .out = *out, .rule = *rule};
    return strict_accept(queue, do_identify, &work, sizeof work, err);
}
