/* formula: every step against the functions of the C library, in float64. */
#include "tests/conformance/rig.h"

#include "core/solver/formula.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { INPUTS = 3, OUTPUTS = HC_FORMULA_CODES - HC_FORMULA_STORE - 1, STEPS = OUTPUTS * (INPUTS + 2) };

static const HcFormulaInput inputs[INPUTS] = {
    {.band = 1, .gain = 1}, {.band = 0, .gain = 0.5, .offset = 0.25}, {.band = 2, .gain = -1}};

static int32_t code_of(int64_t output) {
    return HC_FORMULA_STORE + 1 + (int32_t)output;
}

static int32_t operands_of(int32_t code) {
    return code <= HC_FORMULA_EXP ? 1 : code <= HC_FORMULA_UNEQUAL ? 2 : 3;
}

/* Output k has the k-th operation, of the first inputs. */
static int32_t fill_steps(HcFormulaStep *step) {
    int32_t count = 0;
    for (int32_t k = 0; k < OUTPUTS; k++) {
        for (int32_t i = 0; i < operands_of(code_of(k)); i++) {
            step[count++] = (HcFormulaStep){HC_FORMULA_INPUT, i, 0};
        }
        step[count++] = (HcFormulaStep){code_of(k), 0, 0};
        step[count++] = (HcFormulaStep){HC_FORMULA_STORE, k, 0};
    }
    return count;
}

static double expect(int32_t code, double a, double b, double c) {
    bool known = !isnan(a) && !isnan(b);
    switch (code) {
    case HC_FORMULA_NEGATE:
        return -a;
    case HC_FORMULA_ABS:
        return fabs(a);
    case HC_FORMULA_SQUARE:
        return a * a;
    case HC_FORMULA_SQRT:
        return sqrt(a);
    case HC_FORMULA_LOG:
        return log(a);
    case HC_FORMULA_EXP:
        return exp(a);
    case HC_FORMULA_ADD:
        return a + b;
    case HC_FORMULA_SUBTRACT:
        return a - b;
    case HC_FORMULA_MULTIPLY:
        return a * b;
    case HC_FORMULA_DIVIDE:
        return a / b;
    case HC_FORMULA_POWER:
        return known ? pow(a, b) : NAN;
    case HC_FORMULA_MIN:
        return known ? fmin(a, b) : NAN;
    case HC_FORMULA_MAX:
        return known ? fmax(a, b) : NAN;
    case HC_FORMULA_LESS:
        return known ? a < b : NAN;
    case HC_FORMULA_LESS_EQUAL:
        return known ? a <= b : NAN;
    case HC_FORMULA_GREATER:
        return known ? a > b : NAN;
    case HC_FORMULA_GREATER_EQUAL:
        return known ? a >= b : NAN;
    case HC_FORMULA_EQUAL:
        return known ? a == b : NAN;
    case HC_FORMULA_UNEQUAL:
        return known ? a != b : NAN;
    default:
        return isnan(a) ? NAN : a != 0 ? b : c;
    }
}

/* The value of a pixel; NaN = missing. */
static float value_of(const float *x, int32_t code) {
    double a = (double)x[1];
    double b = (double)x[0] * 0.5 + 0.25;
    double c = -(double)x[2];
    float value = (float)expect(code, a, b, c);
    return isfinite(value) ? value : NAN;
}

static bool near(float got, float expected, int32_t code) {
    bool exact = code != HC_FORMULA_LOG && code != HC_FORMULA_EXP && code != HC_FORMULA_POWER;
    return isnan(expected) ? isnan(got)
                           : fabsf(got - expected) <= (exact ? 0 : 1.01F * FLT_EPSILON * fabsf(expected));
}

static void check_pixel(const float *x, bool valid, bool whole, const float *got, bool kept,
                        int64_t *missing) {
    int32_t lacking = 0;
    for (int32_t k = 0; k < OUTPUTS; k++) {
        bool lost = isnan(value_of(x, code_of(k)));
        lacking += lost;
        missing[k] += lost && valid;
    }
    assert_int_equal(kept, valid && lacking < (whole ? 1 : OUTPUTS));
    for (int32_t k = 0; k < OUTPUTS; k++) {
        assert_true(kept ? near(got[k], value_of(x, code_of(k)), code_of(k)) : got[k] == 0);
    }
}

/* Lines from `line0` on; the block of the output has a halo of 1. */
static void check_block(Rig *rig, const Cube *cube, int64_t line0, int32_t lines, bool whole) {
    HcFormulaStep step[STEPS];
    int64_t missing[OUTPUTS] = {0}, counted[OUTPUTS];
    HcBlock in = rig_put_block(rig, cube, line0, lines, 2);
    HcBlock out = rig_alloc_block(rig, cube, line0, lines, 1, OUTPUTS);
    int32_t steps = fill_steps(step);
    HcFormula formula = {.step = rig_put(rig, step, (size_t)steps * sizeof *step),
                         .input = rig_put(rig, inputs, sizeof inputs),
                         .steps = steps,
                         .inputs = INPUTS,
                         .whole = whole,
                         .missing = rig_put(rig, missing, sizeof missing)};
    check_ok(hc_formula(rig->queue, &in, &formula, &out, &rig->err), rig->err);
    Cube got = rig_get_block(rig, &out);
    rig_get(rig, formula.missing, counted, sizeof counted);
    for (int64_t row = 0; row < got.lines; row++) {
        int64_t line = line0 - out.above + row;
        bool interior = line >= line0 && line < line0 + lines;
        int64_t ignored[OUTPUTS] = {0};
        for (int64_t s = 0; s < cube->samples; s++) {
            int64_t at = line * cube->samples + s, to = row * cube->samples + s;
            check_pixel(cube->data + at * cube->bands, cube->mask[at] != 0, whole, got.data + to * OUTPUTS,
                        got.mask[to] != 0, interior ? missing : ignored);
        }
    }
    assert_memory_equal(counted, missing, sizeof missing);
    cube_free(&got);
    rig_empty(rig);
}

/* Small integers, so that divisors are 0 and values equal; NaN in some bands. */
SMALL(test_formula) {
    (void)state;
    static const int32_t shapes[][3] = {{1, 1, 3}, {7, 1, 5}, {2, 2, 3}, {5, 131, 4}};
    Rig rig;
    uint64_t seed = 1;
    rig_open(&rig, 2);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        for (Masking masking = MASK_NONE; masking <= MASK_ALL; masking++) {
            Cube cube = cube_new(shapes[i][0], shapes[i][1], shapes[i][2]);
            cube_fill_integers(&cube, -3, 5, &seed);
            for (int64_t k = 2; k < (int64_t)cube.lines * cube.samples * cube.bands; k += 17) {
                cube.data[k] = NAN;
            }
            cube_mask(&cube, masking, &seed);
            for (int32_t line = 0, lines = 1; line < cube.lines; line += lines, lines = lines % 3 + 1) {
                check_block(&rig, &cube, line, (int32_t)hc_min64(lines, cube.lines - line), line % 2 != 0);
            }
            cube_free(&cube);
        }
    }
    rig_close(&rig);
}

/* One program of one operation of x and y, and what it gives. */
static double apply(Rig *rig, int32_t code, float x, float y) {
    Cube cube = cube_new(1, 1, 2);
    const HcFormulaInput input[] = {{.band = 0, .gain = 1}, {.band = 1, .gain = 1}};
    HcFormulaStep step[] = {
        {HC_FORMULA_INPUT, 0, 0}, {HC_FORMULA_INPUT, 1, 0}, {code, 0, 0}, {HC_FORMULA_STORE, 0, 0}};
    bool one = code <= HC_FORMULA_EXP;
    int64_t missing = 0;
    cube.data[0] = one ? y : x;
    cube.data[1] = y;
    HcBlock in = rig_put_block(rig, &cube, 0, 1, 0);
    HcBlock out = rig_alloc_block(rig, &cube, 0, 1, 0, 1);
    HcFormula formula = {.step = rig_put(rig, step + one, sizeof step - one * sizeof *step),
                         .input = rig_put(rig, input, sizeof input),
                         .steps = 4 - one,
                         .inputs = 2,
                         .missing = rig_put(rig, &missing, sizeof missing)};
    check_ok(hc_formula(rig->queue, &in, &formula, &out, &rig->err), rig->err);
    Cube got = rig_get_block(rig, &out);
    double value = got.mask[0] != 0 ? (double)got.data[0] : NAN;
    cube_free(&got);
    cube_free(&cube);
    rig_empty(rig);
    return value;
}

/* Within a unit in the last place of float64, beside half of one in the library. */
static void check_accuracy(double x) {
    assert_true(fabs(hc_formula_log(x) - log(x)) <= 1.5 * DBL_EPSILON * fabs(log(x)));
    for (int sign = -1; sign <= 1; sign += 2) {
        double power = exp(sign * x);
        assert_true(power > DBL_MAX || power < DBL_MIN ||
                    fabs(hc_formula_exp(sign * x) - power) <= 1.5 * DBL_EPSILON * power);
    }
}

/* log, exp and power over the whole range of float32, to its rounding. */
CASE(test_formula_functions) {
    (void)state;
    static const float values[] = {1e-45F,     1e-38F,     3e-7F,      0.01F,      0.3333333F, 0.7071067F,
                                   0.9999999F, 1,          1.0000001F, 1.4142137F, 2.5F,       10,
                                   88.7F,      12345.678F, 3e20F,      FLT_MAX};
    Rig rig;
    rig_open(&rig, 1);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        float x = values[i];
        check_accuracy((double)x);
        assert_true(near((float)apply(&rig, HC_FORMULA_LOG, x, x), logf(x), HC_FORMULA_LOG));
        for (int sign = -1; sign <= 1; sign += 2) {
            float signed_x = (float)sign * x;
            double power = exp((double)signed_x);
            float expected = power <= (double)FLT_MAX ? (float)power : NAN;
            assert_true(near((float)apply(&rig, HC_FORMULA_EXP, 0, signed_x), expected, HC_FORMULA_EXP));
            for (float y = -3.5F; y <= 4; y += 0.5F) {
                power = pow((double)signed_x, (double)y);
                expected = fabs(power) <= (double)FLT_MAX ? (float)power : NAN;
                assert_true(
                    near((float)apply(&rig, HC_FORMULA_POWER, signed_x, y), expected, HC_FORMULA_POWER));
            }
        }
    }
    assert_true(apply(&rig, HC_FORMULA_POWER, 0, 2) == 0);
    assert_true(apply(&rig, HC_FORMULA_POWER, 0, 0) == 1);
    assert_true(isnan(apply(&rig, HC_FORMULA_POWER, 0, -1)));
    assert_true(isnan(apply(&rig, HC_FORMULA_LOG, 0, 0)));
    rig_close(&rig);
}

CASE(test_formula_refuses) {
    (void)state;
    Rig rig;
    rig_open(&rig, 1);
    HcError *err = &rig.err;
    Cube cube = cube_new(5, 4, 3);
    HcBlock in = rig_put_block(&rig, &cube, 1, 3, 0);
    HcBlock out = rig_alloc_block(&rig, &cube, 1, 3, 0, 1);
    HcBlock more = rig_alloc_block(&rig, &cube, 1, 4, 0, 1);
    HcFormulaStep steps[] = {{HC_FORMULA_INPUT, 0, 0}, {HC_FORMULA_STORE, 0, 0}};
    int64_t missing = 0;
    HcFormula good = {.step = rig_put(&rig, steps, sizeof steps),
                      .input = rig_put(&rig, inputs, sizeof inputs),
                      .steps = 2,
                      .inputs = INPUTS,
                      .missing = rig_put(&rig, &missing, sizeof missing)};
    HcFormula lacks = good, empty = good, many = good;
    lacks.missing = NULL;
    empty.steps = 0;
    many.inputs = HC_FORMULA_INPUTS + 1;
    check_fails(hc_formula(NULL, &in, &good, &out, err), HC_E_USAGE, rig.err);
    check_fails(hc_formula(rig.queue, NULL, &good, &out, err), HC_E_USAGE, rig.err);
    check_fails(hc_formula(rig.queue, &in, NULL, &out, err), HC_E_USAGE, rig.err);
    check_fails(hc_formula(rig.queue, &in, &lacks, &out, err), HC_E_USAGE, rig.err);
    check_fails(hc_formula(rig.queue, &in, &empty, &out, err), HC_E_USAGE, rig.err);
    check_fails(hc_formula(rig.queue, &in, &many, &out, err), HC_E_USAGE, rig.err);
    check_fails(hc_formula(rig.queue, &in, &good, &more, err), HC_E_USAGE, rig.err);
    cube_free(&cube);
    rig_close(&rig);
}

/* Programs that backends on the host refuse before the first pixel. */
CASE(test_formula_checks) {
    (void)state;
    HcError err = {0};
    static const HcFormulaInput far = {.band = 3};
    HcFormulaStep deep[HC_FORMULA_DEPTH + 1];
    for (int32_t k = 0; k <= HC_FORMULA_DEPTH; k++) {
        deep[k] = (HcFormulaStep){HC_FORMULA_INPUT, 0, 0};
    }
    static const HcFormulaStep programs[][3] = {
        {{HC_FORMULA_INPUT, 0, 0}, {HC_FORMULA_ADD, 0, 0}, {HC_FORMULA_STORE, 0, 0}},      /* one operand */
        {{HC_FORMULA_INPUT, INPUTS, 0}, {HC_FORMULA_ABS, 0, 0}, {HC_FORMULA_STORE, 0, 0}}, /* no such input */
        {{HC_FORMULA_INPUT, 0, 0}, {HC_FORMULA_ABS, 0, 0}, {HC_FORMULA_STORE, 1, 0}},      /* no such band */
        {{HC_FORMULA_INPUT, 0, 0}, {HC_FORMULA_CODES, 0, 0}, {HC_FORMULA_STORE, 0, 0}},    /* no such step */
        {{HC_FORMULA_INPUT, 0, 0}, {HC_FORMULA_INPUT, 0, 0}, {HC_FORMULA_STORE, 0, 0}},    /* one is left */
        {{HC_FORMULA_INPUT, 0, 0}, {HC_FORMULA_ABS, 0, 0}, {HC_FORMULA_ABS, 0, 0}}}; /* none is stored */
    HcFormula formula = {.input = inputs, .steps = 3, .inputs = INPUTS};
    for (size_t k = 0; k < sizeof programs / sizeof programs[0]; k++) {
        formula.step = programs[k];
        check_fails(hc_formula_check(&formula, 3, 1, &err), HC_E_USAGE, err);
    }
    HcFormula bad = {.step = deep, .input = inputs, .steps = HC_FORMULA_DEPTH + 1, .inputs = INPUTS};
    check_fails(hc_formula_check(&bad, 3, 1, &err), HC_E_USAGE, err);
    bad = (HcFormula){.step = deep, .input = &far, .steps = 1, .inputs = 1};
    check_fails(hc_formula_check(&bad, 3, 1, &err), HC_E_USAGE, err);
}
