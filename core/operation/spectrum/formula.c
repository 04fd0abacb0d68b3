#include "core/operation/spectrum/formula.h"
#include "core/operation/check.h"
#include "core/solver/formula.h"

static HcStatus check(const HcQueue *queue, const HcBlock *in, const HcFormula *formula, const HcBlock *out,
                      HcError *err) {
    HC_OR_RETURN(hc_check_pair(queue, in, out, 0, "formula", err));
    if (formula == NULL || formula->step == NULL || formula->input == NULL || formula->missing == NULL) {
        return hc_fail(err, HC_E_USAGE, "formula: a part of the program is missing");
    }
    bool fits = formula->steps > 0 && formula->steps <= HC_FORMULA_STEPS && formula->inputs >= 0 &&
                formula->inputs <= HC_FORMULA_INPUTS;
    return fits ? HC_OK
                : hc_fail(err, HC_E_USAGE, "formula: %d steps and %d inputs (at most %d and %d)",
                          formula->steps, formula->inputs, HC_FORMULA_STEPS, HC_FORMULA_INPUTS);
}

HcStatus hc_formula(HcQueue *queue, const HcBlock *in, const HcFormula *formula, const HcBlock *out,
                    HcError *err) {
    HC_OR_RETURN(check(queue, in, formula, out, err));
    return hc_ops_of(queue)->formula(queue, in, formula, out, err);
}

HcStatus hc_formula_check(const HcFormula *formula, int32_t in_bands, int32_t out_bands, HcError *err) {
    int32_t depth = 0, stored = 0;
    for (int32_t k = 0; k < formula->inputs; k++) {
        if (formula->input[k].band < 0 || formula->input[k].band >= in_bands) {
            return hc_fail(err, HC_E_USAGE, "formula: band %d asked for, the block has 0 to %d",
                           formula->input[k].band, in_bands - 1);
        }
    }
    for (int32_t k = 0; k < formula->steps; k++) {
        const HcFormulaStep *step = &formula->step[k];
        bool stores = step->code == HC_FORMULA_STORE;
        depth = hc_formula_depth(step, depth, formula->inputs, out_bands);
        if (depth < 0 || (stores && step->at != stored)) {
            return hc_fail(err, HC_E_USAGE, "formula: step %d of %d cannot be done", k, formula->steps);
        }
        stored += stores;
    }
    return depth == 0 && stored == out_bands
               ? HC_OK
               : hc_fail(err, HC_E_USAGE, "formula: the program stores %d of %d bands", stored, out_bands);
}
