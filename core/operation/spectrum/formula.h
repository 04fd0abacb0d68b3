/* formula: new bands, each computed from the bands of the same pixel by a small program. */
#ifndef HC_CORE_OPERATION_FORMULA_H
#define HC_CORE_OPERATION_FORMULA_H

#include "core/compute.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    HC_FORMULA_DEPTH = 16,      /* values on the stack */
    HC_FORMULA_INPUTS = 1024,   /* of a program */
    HC_FORMULA_STEPS = 1 << 16, /* of a program */
    HC_FORMULA_RUN = 72, /* pixels that a backend on the host works on at once: no power of two, so that
                            columns of them do not share sets of the cache */
};

/* What steps do: name, values that they take, result of a, b and c, of which the last lies on top of the
 * stack. The result takes their place. It is missing (NaN) where an operand is, a divisor is 0, or the value
 * is not defined. A comparison gives 1 or 0. The functions are those of core/solver/formula.h. */
#define HC_FORMULA_LIST(X)                                                                                   \
    X(NEGATE, 1, -a)                                                                                         \
    X(ABS, 1, fabs(a))                                                                                       \
    X(SQUARE, 1, a *a)                                                                                       \
    X(SQRT, 1, sqrt(a))                                                                                      \
    X(LOG, 1, hc_formula_log(a))                                                                             \
    X(EXP, 1, hc_formula_exp(a))                                                                             \
    X(ADD, 2, a + b)                                                                                         \
    X(SUBTRACT, 2, a - b)                                                                                    \
    X(MULTIPLY, 2, a *b)                                                                                     \
    X(DIVIDE, 2, hc_formula_unless(b == 0, a / b))                                                           \
    X(POWER, 2, hc_formula_power(a, b))                                                                      \
    X(MIN, 2, hc_formula_both(a, b, a < b ? a : b))                                                          \
    X(MAX, 2, hc_formula_both(a, b, a > b ? a : b))                                                          \
    X(LESS, 2, hc_formula_both(a, b, a < b))                                                                 \
    X(LESS_EQUAL, 2, hc_formula_both(a, b, a <= b))                                                          \
    X(GREATER, 2, hc_formula_both(a, b, a > b))                                                              \
    X(GREATER_EQUAL, 2, hc_formula_both(a, b, a >= b))                                                       \
    X(EQUAL, 2, hc_formula_both(a, b, a == b))                                                               \
    X(UNEQUAL, 2, hc_formula_both(a, b, a != b))                                                             \
    X(WHERE, 3, hc_formula_unless(a != a, a != 0 ? b : c))

typedef enum HcFormulaCode {
    HC_FORMULA_INPUT,  /* puts an input of the program on the stack */
    HC_FORMULA_NUMBER, /* puts a number there */
    HC_FORMULA_STORE,  /* takes a value off: a band of the output */
#define HC_AS_ENUM(name, takes, result) HC_FORMULA_##name,
    HC_FORMULA_LIST(HC_AS_ENUM)
#undef HC_AS_ENUM
        HC_FORMULA_CODES
} HcFormulaCode;

typedef struct HcFormulaStep {
    int32_t code;
    int32_t at;    /* input or band of the output, from 0 */
    double number; /* of HC_FORMULA_NUMBER */
} HcFormulaStep;

/* An input: a band of the block, as gain * value + offset. */
typedef struct HcFormulaInput {
    int32_t band, reserved;
    double gain, offset;
} HcFormulaInput;

/* A program stores the bands of the output in their order, each once, and leaves nothing on the stack. */
typedef struct HcFormula {
    const HcFormulaStep *step;   /* [device] [steps] */
    const HcFormulaInput *input; /* [device] [inputs] */
    int32_t steps, inputs;
    bool whole;       /* masks a pixel that lacks one value, not only one that lacks all */
    int64_t *missing; /* [device] [bands of the output] gets the missing values of interior lines added: of
                         pixels that come in valid */
} HcFormula;

/* Computes in float64, in the order of the steps, and rounds each value once to float32. A value that is not
 * finite then is missing: NaN. A pixel that lacks all of its values is masked, as is one that comes in
 * masked. Bands that no input names do not matter. No halo. All arithmetic, log, exp and power included, is
 * that of core/solver/formula.h: the bits agree on every backend. */
typedef HcStatus HcFormulaFn(HcQueue *queue, const HcBlock *in, const HcFormula *formula, const HcBlock *out,
                             HcError *err);
HcFormulaFn hc_formula HC_MUST_CHECK;

/* Checks a program in host memory for blocks of that many bands: the door cannot see one on a device.
 * Backends on the host call it themselves. HC_E_USAGE names the number of the step. */
HcStatus hc_formula_check(const HcFormula *formula, int32_t in_bands, int32_t out_bands,
                          HcError *err) HC_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
