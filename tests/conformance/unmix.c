/* Sparse unmixing: objectives against plain coordinate descent, and what an optimum must satisfy. */
#include "tests/conformance/rig.h"

#include "core/operation/unmix.h"

#include <stdio.h>
#include <stdlib.h>

/* What the spectra look like. */
typedef enum Look {
    NORMAL, /* of both signs */
    SMOOTH, /* positive: a slope, two features and some texture each */
    ALIKE,  /* without the texture; coordinate descent would not end */
    TWICE,  /* as SMOOTH, each again, and each of twice the length */
    SHADE,  /* as SMOOTH, and one that is 0 */
    LOOKS
} Look;

/* A library, a scene mixed of it, and the rule, whose level lies in host memory here. */
typedef struct Problem {
    HcUnmixRule rule;
    Look look;
    float *spectrum; /* [spectra][bands] */
    double *weight;  /* [bands] */
    Cube cube;
} Problem;

typedef struct Size {
    int32_t spectra, bands, lines, samples;
} Size;

static void fill_library(Problem *problem, uint64_t *seed) {
    Look look = problem->look;
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
static void mix(Problem *problem, double noise, uint64_t *seed) {
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

static Problem problem_new(Look look, Size size, double lambda, double noise, uint64_t *seed) {
    Problem problem = {.look = look, .cube = cube_new(size.lines, size.samples, size.bands)};
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

static void problem_free(Problem *problem) {
    free(problem->spectrum);
    free(problem->weight);
    cube_free(&problem->cube);
}

static void *open_unmixing(Rig *rig, const void *rule) {
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

static RigOperation operation_of(const Problem *problem) {
    return (RigOperation){.cube = &problem->cube,
                          .rule = &problem->rule,
                          .bands = hc_unmix_bands(&problem->rule),
                          .halo = 1,
                          .keeps_halo = true,
                          .open = open_unmixing,
                          .call = call,
                          .close = close};
}

/* The whole scene. */
static Cube run_problem(const Problem *problem, int32_t threads) {
    RigOperation operation = operation_of(problem);
    return rig_run(&operation, threads);
}

/* --- the reference --- */

/* One pixel and abundances for it. */
typedef struct State {
    const Problem *problem;
    const float *pixel;
    double lambda;     /* of the pixel */
    double *abundance; /* [spectra] */
    double *residual;  /* [bands] */
} State;

static double product(const Problem *problem, int32_t k, const double *vector) {
    double sum = 0;
    for (int32_t b = 0; b < problem->rule.bands; b++) {
        sum +=
            problem->weight[b] * (double)problem->spectrum[(int64_t)k * problem->rule.bands + b] * vector[b];
    }
    return sum;
}

/* x[k] += step. */
static void change(State *state, int32_t k, double step) {
    int32_t bands = state->problem->rule.bands;
    state->abundance[k] += step;
    for (int32_t b = 0; b < bands; b++) {
        state->residual[b] -= step * (double)state->problem->spectrum[(int64_t)k * bands + b];
    }
}

static State state_new(const Problem *problem, int64_t pixel) {
    State state = {.problem = problem, .pixel = problem->cube.data + pixel * problem->rule.bands};
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

static void state_free(State *state) {
    free(state->abundance);
    free(state->residual);
}

/* W-norms. */
static double length_of(const Problem *problem, const float *spectrum) {
    double sum = 0;
    for (int32_t b = 0; b < problem->rule.bands; b++) {
        sum += problem->weight[b] * (double)spectrum[b] * (double)spectrum[b];
    }
    return sqrt(sum);
}

/* F, without the part that does not change where abundances sum to one. */
static double objective(const State *state) {
    const Problem *problem = state->problem;
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

static Descent descent_new(const Problem *problem, State *state) {
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
        State alone = state_new(problem, 0);
        for (int32_t b = 0; b < problem->rule.bands; b++) {
            alone.residual[b] = (double)problem->spectrum[(int64_t)k * problem->rule.bands + b];
        }
        for (int32_t i = 0; i < n; i++) {
            descent.gram[k * n + i] = product(problem, i, alone.residual);
        }
        state_free(&alone);
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
static double reference(const Problem *problem, int64_t pixel) {
    State state = state_new(problem, pixel);
    Descent descent = descent_new(problem, &state);
    double length = length_of(problem, state.pixel);
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
    double least = objective(&state);
    descent_free(&descent);
    state_free(&state);
    return least;
}

/* --- checks --- */

/* What a pixel of the output says. */
typedef struct Answer {
    const float *abundance;
    double rmse, iterations, gap, end;
} Answer;

static Answer answer_at(const Problem *problem, const Cube *got, int64_t pixel) {
    const float *at = got->data + pixel * got->bands;
    double added[HC_UNMIX_ADDS];
    for (int a = 0; a < HC_UNMIX_ADDS; a++) {
        added[a] = (double)at[hc_unmix_added_band(&problem->rule, (HcUnmixAdd)a)];
    }
    return (Answer){at, added[HC_UNMIX_ADD_RMSE], added[HC_UNMIX_ADD_ITERATIONS], added[HC_UNMIX_ADD_GAP],
                    added[HC_UNMIX_ADD_END]};
}

static State state_of(const Problem *problem, const Cube *got, int64_t pixel) {
    State state = state_new(problem, pixel);
    const float *abundance = answer_at(problem, got, pixel).abundance;
    for (int32_t k = 0; k < problem->rule.spectra; k++) {
        assert_true(abundance[k] >= 0);
        change(&state, k, (double)abundance[k]);
    }
    return state;
}

/* Slopes d'W r: those of abundances that are not 0 are the level (lambda), no other is beyond it. */
static void check_optimal(const State *state) {
    const Problem *problem = state->problem;
    double level = state->lambda;
    double length = length_of(problem, state->pixel);
    if (problem->rule.sum_to_one) {
        double sum = 0;
        level = 0;
        length += length_of(problem, problem->spectrum);
        for (int32_t k = 0; k < problem->rule.spectra; k++) {
            sum += state->abundance[k];
            level += state->abundance[k] * product(problem, k, state->residual);
        }
        check_near(sum, 1, 1e-6);
    }
    for (int32_t k = 0; k < problem->rule.spectra; k++) {
        double slope = product(problem, k, state->residual);
        double close =
            2e-6 * length * length_of(problem, problem->spectrum + (int64_t)k * problem->rule.bands);
        if (problem->rule.sum_to_one) {
            close += 2e-6 * length * length_of(problem, problem->spectrum);
        }
        if (state->abundance[k] > 0) {
            check_near(slope, level, close);
        } else {
            assert_true(slope <= level + close);
        }
    }
}

/* F is within the gap that is told of the least there is (abundances are rounded to float32 behind it), and
 * where that was reached the gap is what was asked for. Returns the gap. */
static double check_pixel(const Problem *problem, const Cube *got, int64_t pixel) {
    Answer answer = answer_at(problem, got, pixel);
    State state = state_of(problem, got, pixel);
    double value = objective(&state);
    double least = problem->look == ALIKE ? value : reference(problem, pixel);
    double length = length_of(problem, state.pixel);
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
    state_free(&state);
    return answer.gap;
}

static void check_masked(const Cube *got, int64_t pixel) {
    for (int32_t b = 0; b < got->bands; b++) {
        check_same(got->data[pixel * got->bands + b], 0);
    }
}

/* All pixels end as asked for. */
static void check_all(const Problem *problem, const Cube *got) {
    int64_t pixels = (int64_t)problem->cube.lines * problem->cube.samples;
    for (int64_t p = 0; p < pixels; p++) {
        assert_int_equal(got->mask[p], problem->cube.mask[p]);
        if (got->mask[p] == 0) {
            check_masked(got, p);
        } else {
            double gap = check_pixel(problem, got, p);
            if (!(gap <= problem->rule.gap)) {
                fail_msg("look %d, solver %d, pixel %d: gap %g", (int)problem->look,
                         (int)problem->rule.solver, (int)p, gap);
            }
        }
    }
}

static const Size sizes[] = {{1, 1, 1, 1}, {1, 4, 2, 3}, {12, 20, 3, 7}, {30, 9, 2, 9}, {6, 33, 1, 70}};

CASE(test_unmix) {
    (void)state;
    uint64_t seed = 1;
    for (Look look = 0; look < LOOKS; look++) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            if ((look == TWICE && sizes[i].spectra < 3) || (look == SHADE && sizes[i].spectra < 2)) {
                continue;
            }
            for (int way = 0; way < 3; way++) {
                Problem problem = problem_new(look, sizes[i], way == 0 ? 0.1 : 1e-3, 0.02, &seed);
                cube_mask(&problem.cube, way == 0 ? MASK_NONE : MASK_SOME, &seed);
                for (int32_t b = 0; way == 1 && b < sizes[i].bands; b++) {
                    problem.weight[b] = 3 * random_uniform(&seed);
                }
                problem.rule.weight = way == 1 ? problem.weight : NULL;
                Cube got = run_problem(&problem, 2);
                check_all(&problem, &got);
                cube_free(&got);
                problem_free(&problem);
            }
        }
    }
}

/* No gap can be had where spectra point everywhere, and lambda is 0; else one can. */
CASE(test_unmix_without_lambda) {
    (void)state;
    uint64_t seed = 2;
    for (Look look = 0; look < LOOKS; look++) {
        Problem problem = problem_new(look, (Size){12, 20, 2, 9}, 0, 0.02, &seed);
        Cube got = run_problem(&problem, 2);
        check_all(&problem, &got);
        cube_free(&got);
        problem_free(&problem);
    }
    /* F is 0 at its least: without noise, and with 60 of both signs in 5 bands. */
    for (int way = 0; way < 2; way++) {
        Problem problem = problem_new(way == 0 ? SMOOTH : NORMAL, (Size){60, way == 0 ? 20 : 5, 1, 9}, 0,
                                      way == 0 ? 0 : 0.02, &seed);
        Cube got = run_problem(&problem, 2);
        for (int64_t p = 0; p < 9; p++) {
            State found = state_of(&problem, &got, p);
            double length = length_of(&problem, found.pixel);
            assert_true(objective(&found) <= 1e-12 * length * length);
            assert_true(way == 1 || answer_at(&problem, &got, p).end == HC_UNMIX_OPTIMAL);
            state_free(&found);
        }
        cube_free(&got);
        problem_free(&problem);
    }
}

CASE(test_unmix_mixtures) {
    (void)state;
    uint64_t seed = 3;
    Problem problem = problem_new(SMOOTH, (Size){10, 50, 3, 20}, 1e-8, 0, &seed);
    /* Each pixel once more, as shares of the members themselves. */
    for (int64_t p = 0; p < 60; p++) {
        for (int32_t b = 0; b < 50; b++) {
            double value = 0;
            for (int64_t i = 0; i < 3; i++) {
                double part = (double)(1 + (p + i) % 4) / 8;
                value += part * (double)problem.spectrum[(p + 3 * i) % 10 * 50 + b];
            }
            problem.cube.data[p * 50 + b] = (float)value;
        }
    }
    Cube got = run_problem(&problem, 2);
    for (int64_t p = 0; p < 60; p++) {
        double expected[10] = {0};
        for (int64_t i = 0; i < 3; i++) {
            expected[(p + 3 * i) % 10] += (double)(1 + (p + i) % 4) / 8;
        }
        Answer answer = answer_at(&problem, &got, p);
        assert_true(answer.end == HC_UNMIX_OPTIMAL);
        for (int32_t k = 0; k < 10; k++) {
            check_near(answer.abundance[k], expected[k], 1e-3);
        }
    }
    cube_free(&got);
    problem_free(&problem);
}

/* Gaps far below what the equations of a set, whose condition is large, give at once. */
CASE(test_unmix_tight) {
    (void)state;
    uint64_t seed = 12;
    for (int way = 0; way < 4; way++) {
        double noise = way < 2 ? 0 : 0.01;
        Problem problem = problem_new(ALIKE, (Size){60, 100, 2, 70}, way < 2 ? 1e-9 : 1e-3, noise, &seed);
        problem.rule.sum_to_one = way % 2 == 1;
        problem.rule.gap = way < 2 ? 1e-4 : 2e-12;
        Cube got = run_problem(&problem, 2);
        check_all(&problem, &got);
        cube_free(&got);
        problem_free(&problem);
    }
}

/* A band of weight 0 may hold anything; a pixel of 0, or a large lambda, has abundances 0. */
CASE(test_unmix_nothing) {
    (void)state;
    uint64_t seed = 4;
    Problem problem = problem_new(SMOOTH, (Size){12, 20, 2, 9}, 1e-3, 0.02, &seed);
    problem.weight[7] = 0;
    Cube got = run_problem(&problem, 2);
    for (int64_t p = 0; p < 18; p++) {
        problem.cube.data[p * 20 + 7] = (float)(1e6 * random_normal(&seed));
    }
    Cube other = run_problem(&problem, 2);
    for (int64_t p = 0; p < 18; p++) {
        for (int32_t k = 0; k < 12; k++) {
            check_near(other.data[p * other.bands + k], got.data[p * got.bands + k], 1e-6);
        }
    }
    cube_free(&got);
    cube_free(&other);
    problem.weight[7] = 1;
    memset(problem.cube.data, 0, 20 * sizeof(float));
    for (int way = 0; way < 2; way++) {
        got = run_problem(&problem, 2);
        int64_t pixels = way == 0 ? 1 : 18;
        for (int64_t p = 0; p < pixels; p++) {
            Answer answer = answer_at(&problem, &got, p);
            assert_true(answer.gap == 0 && answer.end == HC_UNMIX_OPTIMAL);
            for (int32_t k = 0; k < 12; k++) {
                check_same(answer.abundance[k], 0);
            }
        }
        cube_free(&got);
        problem.rule.lambda = 1e9;
    }
    problem_free(&problem);
}

CASE(test_unmix_solvers) {
    (void)state;
    uint64_t seed = 5;
    for (int number = 0; number < 2 * LOOKS; number++) {
        Look look = (Look)(number % LOOKS);
        Problem problem = problem_new(look, (Size){12, 20, 2, 35}, 1e-2, 0.05, &seed);
        cube_mask(&problem.cube, MASK_SOME, &seed);
        problem.rule.sum_to_one = number >= LOOKS;
        for (HcUnmixSolver solver = HC_UNMIX_ACTIVE; solver <= HC_UNMIX_ALM; solver++) {
            problem.rule.solver = solver;
            Cube got = run_problem(&problem, 2);
            check_all(&problem, &got);
            cube_free(&got);
        }
        problem_free(&problem);
    }
}

/* Lines by themselves, with and without a spare line, have the bits of the whole. The level stays in the rig.
 */
static void check_level_cuts(const Problem *problem, const Cube *whole) {
    Rig rig;
    rig_open(&rig, 2);
    RigOperation operation = operation_of(problem);
    HcUnmixing *unmixing = open_unmixing(&rig, &problem->rule);
    for (int32_t i = 0; i < 2 * problem->cube.lines; i++) {
        Cube part = rig_run_block(&rig, &operation, unmixing, i / 2, 1, i % 2);
        rig_check_rows(&part, whole, i / 2, i % 2);
        cube_free(&part);
    }
    hc_unmix_close(unmixing);
    rig_close(&rig);
}

/* A lambda of its own for each pixel: some spectra leave dark ones, and come back where the level is small.
 */
CASE(test_unmix_level) {
    (void)state;
    uint64_t seed = 18;
    float level[3 * 70];
    for (int number = 0; number < 2 * LOOKS; number++) {
        Problem problem = problem_new((Look)(number % LOOKS), (Size){12, 20, 3, 70}, 5e-2, 0.05, &seed);
        cube_mask(&problem.cube, MASK_SOME, &seed);
        for (int p = 0; p < 3 * 70; p++) {
            level[p] = (float)exp(3 * random_uniform(&seed) - 1.5);
        }
        for (int32_t b = 0; number >= LOOKS && b < 20; b++) {
            problem.weight[b] = 3 * random_uniform(&seed);
        }
        problem.rule.weight = number >= LOOKS ? problem.weight : NULL;
        problem.rule.level = level;
        problem.rule.level_pixels = 3 * 70;
        for (HcUnmixSolver solver = HC_UNMIX_ACTIVE; solver <= HC_UNMIX_ALM; solver++) {
            problem.rule.solver = solver;
            Cube got = run_problem(&problem, 2);
            check_all(&problem, &got);
            check_level_cuts(&problem, &got);
            cube_free(&got);
        }
        problem_free(&problem);
    }
}

/* A level of 1 changes no bit. Powers of two scale all of a pixel without rounding: y and x by the level, and
 * the largest abundances, the threshold and the counts are those of x. */
CASE(test_unmix_level_scales) {
    (void)state;
    uint64_t seed = 19;
    enum { PIXELS = 4 * 40, SPECTRA = 12, BANDS = 20 };
    float level[PIXELS];
    int64_t counts[2][HC_UNMIX_COUNTS + 2 * SPECTRA] = {{0}};
    for (int number = 0; number < 6; number++) {
        Problem problem = problem_new(SMOOTH, (Size){SPECTRA, BANDS, 4, 40}, 1e-2, 0.05, &seed);
        Cube got[2];
        problem.rule.solver = (HcUnmixSolver)(number % 3);
        problem.rule.top = number < 3 ? 0 : 5;
        Cube plain = run_problem(&problem, 2);
        problem.rule.level_pixels = PIXELS;
        problem.rule.level = level;
        for (int k = 0; k < 2; k++) {
            for (int p = 0; p < PIXELS; p++) {
                level[p] = k == 0 ? 1 : (float)ldexp(1, p % 5 - 2);
                for (int b = 0; b < BANDS; b++) {
                    problem.cube.data[p * BANDS + b] *= level[p];
                }
            }
            got[k] = run_problem(&problem, 2);
        }
        for (int p = 0; p < PIXELS; p++) {
            for (int32_t b = 0; b < plain.bands; b++) {
                float value = plain.data[p * plain.bands + b];
                bool is_number = problem.rule.top > 0 && b < problem.rule.top;
                bool is_amount = b <= plain.bands - HC_UNMIX_ADDS && !is_number; /* or the rmse */
                check_same(got[0].data[p * plain.bands + b], value);
                check_same(got[1].data[p * plain.bands + b], is_amount ? value * level[p] : value);
            }
        }
        /* Counts, with a threshold that cuts scaled abundances. */
        Rig rig;
        rig_open(&rig, 2);
        memset(counts, 0, sizeof counts);
        problem.rule.threshold = 0.2;
        problem.rule.counts = rig_put(&rig, counts[0], sizeof counts[0]);
        RigOperation operation = operation_of(&problem);
        HcUnmixing *unmixing = open_unmixing(&rig, &problem.rule);
        Cube cut = rig_run_block(&rig, &operation, unmixing, 0, 4, 0);
        rig_get(&rig, problem.rule.counts, counts[0], sizeof counts[0]);
        hc_unmix_close(unmixing);
        rig_close(&rig);
        int below = 0;
        for (int p = 0; p < PIXELS && problem.rule.top == 0; p++) {
            for (int32_t k = 0; k < SPECTRA; k++) {
                float value = got[1].data[p * plain.bands + k];
                float kept = (double)value < problem.rule.threshold ? 0 : value;
                below += value > 0 && kept == 0;
                check_same(cut.data[p * plain.bands + k], kept);
                counts[1][HC_UNMIX_COUNTS + k] += kept != 0;
                counts[1][HC_UNMIX_COUNTS + SPECTRA + k] += llrint((double)kept / HC_UNMIX_COUNT_UNIT);
            }
        }
        for (int i = HC_UNMIX_COUNTS; i < HC_UNMIX_COUNTS + 2 * SPECTRA && problem.rule.top == 0; i++) {
            assert_int_equal(counts[0][i], counts[1][i]);
        }
        assert_true(problem.rule.top > 0 || below > 0);
        cube_free(&cut);
        cube_free(&plain);
        cube_free(&got[0]);
        cube_free(&got[1]);
        problem_free(&problem);
    }
}

/* Solvers that are stopped early tell how far they are, and are no farther. */
CASE(test_unmix_stopped) {
    (void)state;
    uint64_t seed = 6;
    static const int32_t limits[] = {1, 3, 25, 130};
    for (int number = 0; number < 2 * 2 * 3 * 4; number++) {
        Look look = number % 2 == 0 ? SMOOTH : NORMAL;
        Problem problem = problem_new(look, (Size){14, 20, 1, 20}, 1e-3, 0.02, &seed);
        problem.rule.sum_to_one = number / 2 % 2 == 1;
        problem.rule.solver = (HcUnmixSolver)(number / 4 % 3);
        problem.rule.iterations = limits[number / 12];
        Cube got = run_problem(&problem, 2);
        int unfinished = 0;
        for (int64_t p = 0; p < 20; p++) {
            double gap = check_pixel(&problem, &got, p);
            unfinished += !(gap <= problem.rule.gap);
        }
        assert_true(problem.rule.iterations > 1 || unfinished > 0);
        cube_free(&got);
        problem_free(&problem);
    }
}

/* A library of which a few mixtures are far longer than all others, as spectra that are much alike have it:
 * the first-order solvers need no more than a hundred steps. */
CASE(test_unmix_steps) {
    (void)state;
    uint64_t seed = 14;
    for (int number = 0; number < 4; number++) {
        Problem problem = problem_new(SMOOTH, (Size){100, 80, 2, 40}, 1e-3, 0.01, &seed);
        problem.rule.sum_to_one = number % 2 == 1;
        problem.rule.solver = number / 2 == 0 ? HC_UNMIX_FISTA : HC_UNMIX_ALM;
        problem.rule.gap = 1e-3;
        problem.rule.iterations = 100;
        Cube got = run_problem(&problem, 2);
        for (int64_t p = 0; p < 80; p++) {
            double gap = answer_at(&problem, &got, p).gap;
            if (!(gap <= problem.rule.gap)) {
                fail_msg("solver %d, pixel %d: gap %g", (int)problem.rule.solver, (int)p, gap);
            }
        }
        cube_free(&got);
        problem_free(&problem);
    }
}

static double objective_at(const Problem *problem, const Cube *got, int64_t pixel) {
    State state = state_of(problem, got, pixel);
    double value = objective(&state);
    state_free(&state);
    return value;
}

/* Libraries that fill the shared memory of a GPU, or do not go into it: as good as active sets, for which
 * other cases have a reference that would take minutes here. */
CASE(test_unmix_large) {
    (void)state;
    uint64_t seed = 15;
    static const int32_t spectra[] = {300, 860};
    for (int number = 0; number < 2; number++) {
        Problem problem = problem_new(SMOOTH, (Size){spectra[number], 40, 1, 9}, 1e-3, 0.02, &seed);
        problem.rule.sum_to_one = number == 1;
        Cube best = run_problem(&problem, 2);
        problem.rule.gap = 1e-3;
        for (HcUnmixSolver solver = HC_UNMIX_FISTA; solver <= HC_UNMIX_ALM; solver++) {
            problem.rule.solver = solver;
            Cube got = run_problem(&problem, 2);
            for (int64_t p = 0; p < 9; p++) {
                double least = objective_at(&problem, &best, p);
                double gap = answer_at(&problem, &got, p).gap;
                assert_true(gap <= problem.rule.gap);
                check_near(objective_at(&problem, &got, p), least, 1.01 * problem.rule.gap * least);
            }
            cube_free(&got);
        }
        cube_free(&best);
        problem_free(&problem);
    }
}

/* Pixels of many spectra: beyond 32 and 64 a working set does not do, and all spectra take part. */
CASE(test_unmix_wide) {
    (void)state;
    uint64_t seed = 17;
    static const int32_t members[] = {40, 90};
    for (int number = 0; number < 4; number++) {
        Problem problem = problem_new(NORMAL, (Size){160, 130, 1, 6}, 1e-3, 0.02, &seed);
        problem.rule.sum_to_one = number % 2 == 1;
        for (int64_t p = 0; p < 6; p++) {
            for (int32_t b = 0; b < 130; b++) {
                double value = 0.01 * random_normal(&seed);
                for (int64_t i = 0; i < members[number / 2]; i++) {
                    double part = (double)(1 + (p + i) % 4) / (2.5 * members[number / 2]);
                    value += part * (double)problem.spectrum[(p + i) * 130 + b];
                }
                problem.cube.data[p * 130 + b] = (float)value;
            }
        }
        Cube best = run_problem(&problem, 2);
        problem.rule.gap = 1e-3;
        for (HcUnmixSolver solver = HC_UNMIX_FISTA; solver <= HC_UNMIX_ALM; solver++) {
            problem.rule.solver = solver;
            Cube got = run_problem(&problem, 2);
            for (int64_t p = 0; p < 6; p++) {
                double least = objective_at(&problem, &best, p);
                int32_t used = 0;
                for (int32_t k = 0; k < 160; k++) {
                    used += answer_at(&problem, &best, p).abundance[k] > 0;
                }
                assert_true(used > (number < 2 ? 32 : 64));
                assert_true(answer_at(&problem, &got, p).gap <= problem.rule.gap);
                check_near(objective_at(&problem, &got, p), least, 1.01 * problem.rule.gap * least + 1e-9);
            }
            cube_free(&got);
        }
        cube_free(&best);
        problem_free(&problem);
    }
}

CASE(test_unmix_sum_to_one) {
    (void)state;
    uint64_t seed = 7;
    for (Look look = 0; look < LOOKS; look++) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            if ((look == TWICE && sizes[i].spectra < 3) || (look == SHADE && sizes[i].spectra < 2)) {
                continue;
            }
            Problem problem = problem_new(look, sizes[i], 0.5, 0.05, &seed);
            cube_mask(&problem.cube, i < 2 ? MASK_NONE : MASK_SOME, &seed);
            problem.rule.sum_to_one = true;
            if (problem.cube.mask[0] != 0) {
                memset(problem.cube.data, 0, (size_t)sizes[i].bands * sizeof(float));
            }
            Cube got = run_problem(&problem, 2);
            check_all(&problem, &got);
            cube_free(&got);
            problem_free(&problem);
        }
    }
    /* Corners of a simplex in three bands: more members than bands. */
    float corner[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    double expected[] = {0.25, 0.125, 0.5, 0.125};
    Problem problem = problem_new(SMOOTH, (Size){4, 3, 1, 1}, 0, 0, &seed);
    memcpy(problem.spectrum, corner, sizeof corner);
    problem.rule.sum_to_one = true;
    problem.rule.iterations = 1000;
    memcpy(problem.cube.data, (float[]){0.125F, 0.5F, 0.125F}, 3 * sizeof(float));
    for (HcUnmixSolver solver = HC_UNMIX_ACTIVE; solver <= HC_UNMIX_ALM; solver++) {
        problem.rule.solver = solver;
        Cube got = run_problem(&problem, 1);
        for (int k = 0; k < 4; k++) {
            check_near(got.data[k], expected[k], 1e-5);
        }
        cube_free(&got);
    }
    problem_free(&problem);
}

/* The `top` largest of abundances are those that are left where they are below the threshold. */
static void check_top(const HcUnmixRule *rule, const float *all, const float *top) {
    double last = INFINITY;
    double last_number = -1;
    int32_t left = 0;
    for (int32_t k = 0; k < rule->spectra; k++) {
        left += (double)all[k] >= rule->threshold && all[k] > 0;
    }
    for (int32_t i = 0; i < rule->top; i++) {
        double number = (double)top[i];
        double value = (double)top[rule->top + i];
        if (i >= left) {
            check_same(number, -1);
            check_same(value, 0);
            continue;
        }
        assert_true(number >= 0 && number < rule->spectra && value > 0);
        check_same(value, (double)all[(int32_t)number]);
        assert_true(value < last || (value == last && number > last_number));
        last = value;
        last_number = number;
    }
    for (int32_t k = 0; k < rule->spectra && left > rule->top; k++) {
        bool is_one = false;
        for (int32_t i = 0; i < rule->top; i++) {
            is_one = is_one || (double)top[i] == k;
        }
        assert_true(is_one || (double)all[k] <= last);
    }
}

CASE(test_unmix_top) {
    (void)state;
    uint64_t seed = 8;
    Problem problem = problem_new(TWICE, (Size){12, 20, 3, 30}, 1e-4, 0.05, &seed);
    Cube all = run_problem(&problem, 2);
    int cut = 0;
    for (int number = 0; number < 8; number++) {
        static const int32_t tops[] = {1, 2, 5, 12};
        problem.rule.top = tops[number % 4];
        problem.rule.threshold = number < 4 ? 0 : 0.05;
        problem.rule.add[HC_UNMIX_ADD_GAP] = number % 2 == 0;
        Cube got = run_problem(&problem, 2);
        assert_int_equal(got.bands, 2 * problem.rule.top + (number % 2 == 0 ? 4 : 3));
        for (int64_t p = 0; p < 90; p++) {
            const float *expected = all.data + p * all.bands;
            const float *at = got.data + p * got.bands;
            check_top(&problem.rule, expected, at);
            check_same(at[2 * problem.rule.top], expected[12]);
            check_same(at[2 * problem.rule.top + 1], expected[13]);
            check_same(at[got.bands - 1], expected[15]);
        }
        cube_free(&got);
    }
    problem.rule.top = 0;
    Cube got = run_problem(&problem, 2);
    for (int64_t p = 0; p < 90; p++) {
        for (int32_t k = 0; k < 12; k++) {
            float value = all.data[p * all.bands + k];
            bool below = (double)value < problem.rule.threshold;
            check_same(got.data[p * got.bands + k], below ? 0 : value);
            cut += below && value > 0;
        }
    }
    assert_true(cut > 0);
    cube_free(&got);
    cube_free(&all);
    problem_free(&problem);
}

/* Of equal abundances the first come first. */
CASE(test_unmix_ties) {
    (void)state;
    uint64_t seed = 13;
    Problem problem = problem_new(NORMAL, (Size){5, 5, 1, 1}, 0.25, 0, &seed);
    for (int32_t i = 0; i < 25; i++) {
        problem.spectrum[i] = i % 6 == 0 ? 1 : 0;
    }
    memcpy(problem.cube.data, (float[]){1, 2, 1, 2, 1}, 5 * sizeof(float));
    problem.rule.top = 4;
    Cube got = run_problem(&problem, 1);
    const float expected[] = {1, 3, 0, 2, 1.75F, 1.75F, 0.75F, 0.75F};
    for (int i = 0; i < 8; i++) {
        check_same(got.data[i], expected[i]);
    }
    cube_free(&got);
    problem_free(&problem);
}

/* Counts of the interior pixels, over blocks, are those of the output. */
CASE(test_unmix_counts) {
    (void)state;
    uint64_t seed = 9;
    Problem problem = problem_new(SMOOTH, (Size){12, 20, 8, 70}, 1e-4, 0.05, &seed);
    cube_mask(&problem.cube, MASK_SOME, &seed);
    problem.rule.threshold = 0.01;
    problem.rule.solver = HC_UNMIX_FISTA;
    problem.rule.iterations = 3;
    int64_t expected[HC_UNMIX_COUNTS + 24] = {0};
    int64_t counts[HC_UNMIX_COUNTS + 24] = {0};
    Rig rig;
    rig_open(&rig, 2);
    problem.rule.counts = rig_put(&rig, counts, sizeof counts);
    RigOperation operation = operation_of(&problem);
    HcUnmixing *unmixing = open_unmixing(&rig, &problem.rule);
    double largest = 0;
    for (int64_t line = 0; line < 8; line += 4) {
        Cube got = rig_run_block(&rig, &operation, unmixing, line, 4, 1);
        int64_t first = line == 0 ? 0 : 1;
        for (int64_t p = first * 70; p < (first + 4) * 70; p++) {
            Answer answer = answer_at(&problem, &got, p);
            expected[HC_UNMIX_COUNT_PIXELS] += got.mask[p] != 0;
            expected[HC_UNMIX_COUNT_UNFINISHED] += answer.end != 0;
            largest = fmax(largest, answer.gap);
            for (int32_t k = 0; k < 12; k++) {
                expected[HC_UNMIX_COUNTS + k] += answer.abundance[k] != 0;
                expected[HC_UNMIX_COUNTS + 12 + k] +=
                    (int64_t)rint((double)answer.abundance[k] / HC_UNMIX_COUNT_UNIT);
            }
        }
        cube_free(&got);
    }
    rig_get(&rig, problem.rule.counts, counts, sizeof counts);
    double gap = 0;
    memcpy(&gap, &counts[HC_UNMIX_COUNT_GAP], sizeof gap);
    check_near(gap, largest, 1e-6 * largest);
    assert_true(expected[HC_UNMIX_COUNT_UNFINISHED] > 0);
    for (int i = 0; i < HC_UNMIX_COUNTS + 24; i++) {
        if (i != HC_UNMIX_COUNT_GAP) {
            assert_int_equal(counts[i], expected[i]);
        }
    }
    hc_unmix_close(unmixing);
    rig_close(&rig);
    problem_free(&problem);
}

CASE(test_unmix_bits) {
    (void)state;
    uint64_t seed = 10;
    static const int32_t cuts[] = {1, 2, 3, 7};
    for (int number = 0; number < 6; number++) {
        Problem problem = problem_new(SMOOTH, (Size){40, 25, 7, 130}, 1e-4, 0.02, &seed);
        cube_mask(&problem.cube, MASK_SOME, &seed);
        problem.rule.solver = (HcUnmixSolver)(number / 2);
        problem.rule.sum_to_one = number % 2 == 1;
        problem.rule.iterations = 50;
        Cube whole = run_problem(&problem, 1);
        RigOperation operation = operation_of(&problem);
        for (int32_t i = 0; i < 4; i++) {
            rig_check_cuts(&operation, i + 1, (int32_t[]){cuts[i], 0}, &whole);
        }
        cube_free(&whole);
        problem_free(&problem);
    }
}

/* More pixels than a device unmixes at a time, some of them masked. */
CASE(test_unmix_many) {
    (void)state;
    uint64_t seed = 16;
    for (HcUnmixSolver solver = HC_UNMIX_ACTIVE; solver <= HC_UNMIX_ALM; solver++) {
        Problem problem = problem_new(SMOOTH, (Size){6, 8, 40, 641}, 1e-4, 0.02, &seed);
        cube_mask(&problem.cube, MASK_SOME, &seed);
        problem.rule.solver = solver;
        Cube whole = run_problem(&problem, 2);
        RigOperation operation = operation_of(&problem);
        rig_check_cuts(&operation, 2, (int32_t[]){3, 0}, &whole);
        for (int64_t p = 0; p < 641; p += 64) {
            if (whole.mask[p] != 0) {
                (void)check_pixel(&problem, &whole, p);
            }
        }
        cube_free(&whole);
        problem_free(&problem);
    }
}

CASE(test_unmix_refuses) {
    (void)state;
    uint64_t seed = 11;
    Rig rig;
    rig_open(&rig, 2);
    Problem problem = problem_new(SMOOTH, (Size){5, 6, 3, 4}, 1e-3, 0.02, &seed);
    HcError *err = &rig.err;
    float spectra[2][30];
    double weights[2][6] = {{1, 1, -1, 1, 1, 1}, {1, 1, 1, 1, 1, INFINITY}};
    HcUnmixing *unmixing = NULL;
    HcUnmixRule wrong[23];
    size_t count = 0;
    for (; count < sizeof wrong / sizeof *wrong; count++) {
        wrong[count] = problem.rule;
    }
    for (int i = 0; i < 2; i++) {
        memcpy(spectra[i], problem.spectrum, sizeof spectra[i]);
        spectra[i][17] = i == 0 ? NAN : INFINITY;
        wrong[i].spectrum = spectra[i];
        wrong[2 + i].weight = weights[i];
    }
    wrong[4].spectrum = NULL;
    wrong[5].spectra = 0;
    wrong[6].spectra = HC_UNMIX_SPECTRA_MAX + 1;
    wrong[7].bands = 0;
    wrong[8].lambda = -1;
    wrong[9].lambda = NAN;
    wrong[10].lambda = INFINITY;
    wrong[11].gap = 0;
    wrong[12].gap = NAN;
    wrong[13].iterations = 0;
    wrong[14].top = -1;
    wrong[15].top = 6;
    wrong[16].solver = (HcUnmixSolver)(HC_UNMIX_ALM + 1);
    wrong[17].solver = (HcUnmixSolver)-1;
    wrong[18].threshold = -1;
    wrong[19].threshold = NAN;
    wrong[20].iterations = -1;
    wrong[21].level = wrong[22].level = problem.spectrum; /* not looked at */
    wrong[22].level_pixels = 12;
    wrong[22].sum_to_one = true;
    for (size_t i = 0; i < count; i++) {
        check_fails(hc_unmix_open(rig.compute, &wrong[i], &unmixing, err), HC_E_USAGE, rig.err);
        assert_null(unmixing);
    }
    check_fails(hc_unmix_open(rig.compute, NULL, &unmixing, err), HC_E_USAGE, rig.err);
    unmixing = open_unmixing(&rig, &problem.rule);
    HcBlock in = rig_put_block(&rig, &problem.cube, 0, 3, 0);
    HcBlock out = rig_alloc_block(&rig, &problem.cube, 0, 3, 0, 9);
    RigOperation operation = operation_of(&problem);
    rig_check_refusals(&rig, &operation, unmixing, &in, &out);
    hc_unmix_close(unmixing);
    hc_unmix_close(NULL);
    /* A level of two lines for blocks of three. */
    float level[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    problem.rule.level = level;
    problem.rule.level_pixels = 8;
    unmixing = open_unmixing(&rig, &problem.rule);
    check_fails(hc_unmix(rig.queue, &in, unmixing, &out, err), HC_E_USAGE, rig.err);
    hc_unmix_close(unmixing);
    problem_free(&problem);
    rig_close(&rig);
}
