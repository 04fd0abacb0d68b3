/* Problems of unmix: objectives against plain coordinate descent, and what an optimum must satisfy. */
#include "tests/conformance/unmix_problem.h"

#include <stdlib.h>

static void fill_library(UnmixProblem *problem, uint64_t *seed) {
    UnmixLook look = problem->look;
    int32_t spectra = problem->rule.spectra;
    int32_t bands = problem->rule.bands;
    for (int32_t k = 0; k < spectra; k++) {
        float *spectrum = problem->spectrum + (int64_t)k * bands;
        rig_fill_spectrum(spectrum, bands, problem->look == ALIKE ? 0 : 0.05, seed);
        for (int32_t b = 0; b < bands; b++) {
            if (look == NORMAL) {
                spectrum[b] = (float)random_normal(seed);
            } else if (look == TWICE && k >= spectra / 3) {
                float factor = k >= spectra / 3 * 2 ? 2 : 1;
                spectrum[b] = factor * problem->spectrum[(int64_t)(k % (spectra / 3)) * bands + b];
            } else if (look == SHADE && k == spectra / 2) {
                spectrum[b] = 0;
            }
        }
    }
}

/* Three members of the library a pixel, which change along a line as scenes do; with noise. */
static void mix(UnmixProblem *problem, double noise, uint64_t *seed) {
    Cube *cube = &problem->cube;
    int64_t pixels = (int64_t)cube->lines * cube->samples;
    int64_t member[3] = {0};
    for (int64_t p = 0; p < pixels; p++) {
        double part[3] = {random_uniform(seed), random_uniform(seed), random_uniform(seed)};
        double sum = part[0] + part[1] + part[2];
        for (int i = 0; i < 3 && p % 5 == 0; i++) {
            member[i] = random_between(seed, 0, problem->rule.spectra - 1);
        }
        for (int32_t b = 0; b < cube->bands; b++) {
            double value = noise * random_normal(seed);
            for (int i = 0; i < 3; i++) {
                value += part[i] / sum * (double)problem->spectrum[member[i] * cube->bands + b];
            }
            cube->data[p * cube->bands + b] = (float)value;
        }
    }
}

UnmixProblem unmix_problem_new(UnmixLook look, UnmixSize size, double lambda, double noise, uint64_t *seed) {
    UnmixProblem problem = {.look = look, .cube = cube_new(size.lines, size.samples, size.bands)};
    size_t values = (size_t)size.spectra * (size_t)size.bands;
    problem.spectrum = malloc(values * sizeof(float));
    problem.weight = malloc((size_t)size.bands * sizeof(double));
    assert_true(problem.spectrum != NULL && problem.weight != NULL);
    for (int32_t b = 0; b < size.bands; b++) {
        problem.weight[b] = 1;
    }
    problem.rule = (HcUnmixRule){.spectra = size.spectra,
                                 .bands = size.bands,
                                 .spectrum = problem.spectrum,
                                 .weight = problem.weight,
                                 .lambda = lambda,
                                 .gap = 1e-4,
                                 .iterations = 100000,
                                 .add = {true, true, true, true}};
    fill_library(&problem, seed);
    mix(&problem, noise, seed);
    return problem;
}

void unmix_problem_free(UnmixProblem *problem) {
    free(problem->spectrum);
    free(problem->weight);
    cube_free(&problem->cube);
}

void *unmix_open(Rig *rig, const void *rule) {
    HcUnmixing *unmixing = NULL;
    HcUnmixRule own = *(const HcUnmixRule *)rule;
    if (own.level != NULL) {
        own.level = rig_put(rig, own.level, (size_t)own.level_pixels * sizeof *own.level);
    }
    check_ok(hc_unmix_open(rig->compute, &own, &unmixing, &rig->err), rig->err);
    return unmixing;
}

static HcStatus call(HcQueue *queue, const HcBlock *in, void *made, const HcBlock *out, HcError *err) {
    return hc_unmix(queue, in, made, out, err);
}

static void close(void *made) {
    hc_unmix_close(made);
}

RigOperation unmix_operation(const UnmixProblem *problem) {
    return (RigOperation){.cube = &problem->cube,
                          .rule = &problem->rule,
                          .bands = hc_unmix_bands(&problem->rule),
                          .halo = 1,
                          .keeps_halo = true,
                          .open = unmix_open,
                          .call = call,
                          .close = close};
}

Cube unmix_run(const UnmixProblem *problem, int32_t threads) {
    RigOperation operation = unmix_operation(problem);
    return rig_run(&operation, threads);
}

/* --- the reference --- */

static double product(const UnmixProblem *problem, int32_t k, const double *vector) {
    double sum = 0;
    for (int32_t b = 0; b < problem->rule.bands; b++) {
        sum +=
            problem->weight[b] * (double)problem->spectrum[(int64_t)k * problem->rule.bands + b] * vector[b];
    }
    return sum;
}

/* x[k] += step. */
static void change(UnmixState *state, int32_t k, double step) {
    int32_t bands = state->problem->rule.bands;
    state->abundance[k] += step;
    for (int32_t b = 0; b < bands; b++) {
        state->residual[b] -= step * (double)state->problem->spectrum[(int64_t)k * bands + b];
    }
}

static UnmixState state_new(const UnmixProblem *problem, int64_t pixel) {
    UnmixState state = {.problem = problem, .pixel = problem->cube.data + pixel * problem->rule.bands};
    const float *level = problem->rule.level;
    state.lambda = problem->rule.lambda * (level != NULL ? (double)level[pixel] : 1);
    state.abundance = calloc((size_t)problem->rule.spectra, sizeof(double));
    state.residual = malloc((size_t)problem->rule.bands * sizeof(double));
    assert_true(state.abundance != NULL && state.residual != NULL);
    for (int32_t b = 0; b < problem->rule.bands; b++) {
        state.residual[b] = (double)state.pixel[b];
    }
    return state;
}

void unmix_state_free(UnmixState *state) {
    free(state->abundance);
    free(state->residual);
}

double unmix_length(const UnmixProblem *problem, const float *spectrum) {
    double sum = 0;
    for (int32_t b = 0; b < problem->rule.bands; b++) {
        sum += problem->weight[b] * (double)spectrum[b] * (double)spectrum[b];
    }
    return sqrt(sum);
}

double unmix_objective(const UnmixState *state) {
    const UnmixProblem *problem = state->problem;
    double sum = 0;
    for (int32_t b = 0; b < problem->rule.bands; b++) {
        sum += problem->weight[b] * state->residual[b] * state->residual[b] / 2;
    }
    for (int32_t k = 0; k < problem->rule.spectra && !problem->rule.sum_to_one; k++) {
        sum += state->lambda * state->abundance[k];
    }
    return sum;
}

/* Coordinate descent of a pixel: slopes are D W r. */
typedef struct Descent {
    int32_t spectra;
    double lambda;
    double *gram;      /* [spectra][spectra] D W D' */
    double *slope;     /* [spectra] */
    double *abundance; /* [spectra] */
} Descent;

static void move(Descent *descent, int32_t k, double step) {
    descent->abundance[k] += step;
    for (int32_t i = 0; i < descent->spectra; i++) {
        descent->slope[i] -= step * descent->gram[k * descent->spectra + i];
    }
}

static Descent descent_new(const UnmixProblem *problem, UnmixState *state) {
    int32_t n = problem->rule.spectra;
    Descent descent = {.spectra = n, .lambda = state->lambda};
    descent.gram = malloc((size_t)n * (size_t)n * sizeof(double));
    descent.slope = malloc((size_t)n * sizeof(double));
    descent.abundance = calloc((size_t)n, sizeof(double));
    assert_true(descent.gram != NULL && descent.slope != NULL && descent.abundance != NULL);
    for (int32_t k = 0; k < n; k++) {
        descent.slope[k] = product(problem, k, state->residual);
    }
    for (int32_t k = 0; k < n; k++) {
        UnmixState alone = state_new(problem, 0);
        for (int32_t b = 0; b < problem->rule.bands; b++) {
            alone.residual[b] = (double)problem->spectrum[(int64_t)k * problem->rule.bands + b];
        }
        for (int32_t i = 0; i < n; i++) {
            descent.gram[k * n + i] = product(problem, i, alone.residual);
        }
        unmix_state_free(&alone);
    }
    return descent;
}

static void descent_free(Descent *descent) {
    free(descent->gram);
    free(descent->slope);
    free(descent->abundance);
}

/* One abundance after the other takes its best value. Returns the longest step [units of the pixel]. */
static double sweep(Descent *descent) {
    double longest = 0;
    for (int32_t k = 0; k < descent->spectra; k++) {
        double square = descent->gram[k * (descent->spectra + 1)];
        if (square > 0) {
            double step = fmax((descent->slope[k] - descent->lambda) / square, -descent->abundance[k]);
            move(descent, k, step);
            longest = fmax(longest, fabs(step) * sqrt(square));
        }
    }
    return longest;
}

/* One pair after the other shares its abundance in the best way. */
static double sweep_pairs(Descent *descent) {
    int32_t n = descent->spectra;
    double longest = 0;
    for (int32_t i = 0; i < n; i++) {
        for (int32_t j = 0; j < i; j++) {
            double square =
                descent->gram[i * n + i] + descent->gram[j * n + j] - 2 * descent->gram[i * n + j];
            if (square > 1e-12 * descent->gram[i * n + i]) {
                double step = (descent->slope[i] - descent->slope[j]) / square;
                step = fmin(fmax(step, -descent->abundance[i]), descent->abundance[j]);
                move(descent, i, step);
                move(descent, j, -step);
                longest = fmax(longest, fabs(step) * sqrt(square));
            }
        }
    }
    return longest;
}

/* The least F of a pixel. */
static double reference(const UnmixProblem *problem, int64_t pixel) {
    UnmixState state = state_new(problem, pixel);
    Descent descent = descent_new(problem, &state);
    double length = unmix_length(problem, state.pixel);
    double moved = 1;
    if (problem->rule.sum_to_one) {
        move(&descent, 0, 1);
    }
    for (int i = 0; i < 200000 && moved > 1e-12 * length; i++) {
        moved = problem->rule.sum_to_one ? sweep_pairs(&descent) : sweep(&descent);
    }
    for (int32_t k = 0; k < problem->rule.spectra; k++) {
        change(&state, k, descent.abundance[k]);
    }
    double least = unmix_objective(&state);
    descent_free(&descent);
    unmix_state_free(&state);
    return least;
}

/* --- checks --- */

UnmixAnswer unmix_answer_at(const UnmixProblem *problem, const Cube *got, int64_t pixel) {
    const float *at = got->data + pixel * got->bands;
    double added[HC_UNMIX_ADDS];
    for (int a = 0; a < HC_UNMIX_ADDS; a++) {
        added[a] = (double)at[hc_unmix_added_band(&problem->rule, (HcUnmixAdd)a)];
    }
    return (UnmixAnswer){at, added[HC_UNMIX_ADD_RMSE], added[HC_UNMIX_ADD_ITERATIONS],
                         added[HC_UNMIX_ADD_GAP], added[HC_UNMIX_ADD_END]};
}

UnmixState unmix_state_of(const UnmixProblem *problem, const Cube *got, int64_t pixel) {
    UnmixState state = state_new(problem, pixel);
    const float *abundance = unmix_answer_at(problem, got, pixel).abundance;
    for (int32_t k = 0; k < problem->rule.spectra; k++) {
        assert_true(abundance[k] >= 0);
        change(&state, k, (double)abundance[k]);
    }
    return state;
}

/* Slopes d'W r: those of abundances that are not 0 are the level (lambda), no other is beyond it. */
static void check_optimal(const UnmixState *state) {
    const UnmixProblem *problem = state->problem;
    double level = state->lambda;
    double length = unmix_length(problem, state->pixel);
    if (problem->rule.sum_to_one) {
        double sum = 0;
        level = 0;
        length += unmix_length(problem, problem->spectrum);
        for (int32_t k = 0; k < problem->rule.spectra; k++) {
            sum += state->abundance[k];
            level += state->abundance[k] * product(problem, k, state->residual);
        }
        check_near(sum, 1, 1e-6);
    }
    for (int32_t k = 0; k < problem->rule.spectra; k++) {
        double slope = product(problem, k, state->residual);
        double close =
            2e-6 * length * unmix_length(problem, problem->spectrum + (int64_t)k * problem->rule.bands);
        if (problem->rule.sum_to_one) {
            close += 2e-6 * length * unmix_length(problem, problem->spectrum);
        }
        if (state->abundance[k] > 0) {
            check_near(slope, level, close);
        } else {
            assert_true(slope <= level + close);
        }
    }
}

double unmix_check_pixel(const UnmixProblem *problem, const Cube *got, int64_t pixel) {
    UnmixAnswer answer = unmix_answer_at(problem, got, pixel);
    UnmixState state = unmix_state_of(problem, got, pixel);
    double value = unmix_objective(&state);
    double least = problem->look == ALIKE ? value : reference(problem, pixel);
    double length = unmix_length(problem, state.pixel);
    double square = 0;
    double rounding = 1e-6 * value + 1e-12 * length * length + 1e-30;
    if (problem->rule.sum_to_one) {
        rounding += 1e-6 * length * length;
    }
    assert_true(answer.gap >= 0);
    assert_true(value >= least - 1e-4 * value - rounding); /* which is found slowly */
    assert_true(value - least <= answer.gap * fmax(value, 0x1p-34 * length * length) + rounding);
    assert_true(answer.end == (answer.gap <= problem->rule.gap ? HC_UNMIX_OPTIMAL : HC_UNMIX_UNFINISHED));
    assert_true(answer.iterations >= 0 && answer.iterations <= problem->rule.iterations);
    if (problem->rule.solver == HC_UNMIX_ACTIVE && answer.end == HC_UNMIX_OPTIMAL) {
        check_optimal(&state);
    }
    for (int32_t b = 0; b < problem->rule.bands; b++) {
        square += state.residual[b] * state.residual[b];
    }
    check_near(answer.rmse, sqrt(square / problem->rule.bands), 1e-5 * (length + 1));
    unmix_state_free(&state);
    return answer.gap;
}

static void check_masked(const Cube *got, int64_t pixel) {
    for (int32_t b = 0; b < got->bands; b++) {
        check_same(got->data[pixel * got->bands + b], 0);
    }
}

void unmix_check_all(const UnmixProblem *problem, const Cube *got) {
    int64_t pixels = (int64_t)problem->cube.lines * problem->cube.samples;
    for (int64_t p = 0; p < pixels; p++) {
        assert_int_equal(got->mask[p], problem->cube.mask[p]);
        if (got->mask[p] == 0) {
            check_masked(got, p);
        } else {
            double gap = unmix_check_pixel(problem, got, p);
            if (!(gap <= problem->rule.gap)) {
                fail_msg("look %d, solver %d, pixel %d: gap %g", (int)problem->look,
                         (int)problem->rule.solver, (int)p, gap);
            }
        }
    }
}

double unmix_objective_at(const UnmixProblem *problem, const Cube *got, int64_t pixel) {
    UnmixState state = unmix_state_of(problem, got, pixel);
    double value = unmix_objective(&state);
    unmix_state_free(&state);
    return value;
}
