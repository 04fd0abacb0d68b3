/* Abundances of least absolute deviation: objectives against a plain simplex tableau, and what is known. */
#include "tests/conformance/rig.h"

#include "core/operation/lp/lad.h"

#include <stdlib.h>

/* What the endmembers look like. */
typedef enum Look {
    NORMAL, /* of both signs */
    SMOOTH, /* positive: a slope, two features and some texture each */
    TWICE,  /* as SMOOTH, the second half the first again, of twice the length */
    SHADE,  /* as SMOOTH, and one that is 0 */
    GRID,   /* small integers: residuals are often 0, and ratios often the same */
    ALIKE   /* as SMOOTH without texture: many of them are mixtures of others, but for little */
} Look;

typedef struct Size {
    int32_t endmembers, bands, lines, samples;
} Size;

/* What a scene holds beside mixtures. */
typedef struct Spoil {
    double noise;    /* its deviation */
    double outliers; /* share of the bands of a pixel that are off by up to 5 */
    double missing;  /* share of them that are NaN; each pixel keeps one */
} Spoil;

/* Endmembers, a scene mixed of them, and the rule. */
typedef struct Problem {
    HcLadRule rule;
    float *spectrum; /* [endmembers][bands] */
    double *weight;  /* [bands] */
    double *truth;   /* [pixels][endmembers] */
    Cube cube;
} Problem;

static void fill_endmembers(Problem *problem, Look look, uint64_t *seed) {
    int32_t n = problem->rule.endmembers;
    int32_t bands = problem->rule.bands;
    for (int32_t k = 0; k < n; k++) {
        float *spectrum = problem->spectrum + (int64_t)k * bands;
        rig_fill_spectrum(spectrum, bands, look == ALIKE ? 0 : 0.05, seed);
        for (int32_t b = 0; b < bands; b++) {
            if (look == NORMAL) {
                spectrum[b] = (float)random_normal(seed);
            } else if (look == GRID) {
                spectrum[b] = (float)random_between(seed, -1, 2);
            } else if (look == TWICE && k >= (n + 1) / 2) {
                spectrum[b] = 2 * problem->spectrum[(int64_t)(k - (n + 1) / 2) * bands + b];
            } else if (look == SHADE && k == n / 2) {
                spectrum[b] = 0;
            }
        }
    }
}

/* Up to three endmembers a pixel, which change along a line as scenes do. Mixtures of GRID are such that
 * every value is a small multiple of a quarter, so that those without noise are exact. */
static void mix(Problem *problem, Look look, Spoil spoil, uint64_t *seed) {
    Cube *cube = &problem->cube;
    int32_t n = problem->rule.endmembers;
    int64_t pixels = (int64_t)cube->lines * cube->samples;
    int64_t member[3] = {0};
    for (int64_t p = 0; p < pixels; p++) {
        double part[3] = {0.25, 0.25, 0.5};
        double *truth = problem->truth + p * n;
        double sum = 0;
        for (int i = 0; i < 3; i++) {
            part[i] = look == GRID ? part[i] : 0.05 + random_uniform(seed);
            sum += part[i];
            member[i] = p % 5 == 0 ? random_between(seed, 0, n - 1) : member[i];
        }
        for (int i = 0; i < 3; i++) {
            truth[member[i]] += part[i] / sum;
        }
        for (int32_t b = 0; b < cube->bands; b++) {
            double value = spoil.noise * random_normal(seed);
            for (int32_t k = 0; k < n; k++) {
                value += truth[k] * (double)problem->spectrum[(int64_t)k * cube->bands + b];
            }
            value += random_uniform(seed) < spoil.outliers ? 10 * random_uniform(seed) - 5 : 0;
            bool missing = random_uniform(seed) < spoil.missing && b != p % cube->bands;
            cube->data[p * cube->bands + b] = missing ? NAN : (float)value;
        }
    }
}

static Problem problem_new(Look look, Size size, HcLadSum sum, Spoil spoil, uint64_t *seed) {
    Problem problem = {.cube = cube_new(size.lines, size.samples, size.bands)};
    size_t pixels = (size_t)size.lines * (size_t)size.samples;
    problem.spectrum = malloc((size_t)size.endmembers * (size_t)size.bands * sizeof(float));
    problem.weight = malloc((size_t)size.bands * sizeof(double));
    problem.truth = calloc(pixels * (size_t)size.endmembers, sizeof(double));
    assert_true(problem.spectrum != NULL && problem.weight != NULL && problem.truth != NULL);
    for (int32_t b = 0; b < size.bands; b++) {
        problem.weight[b] = 1;
    }
    problem.rule = (HcLadRule){.endmembers = size.endmembers,
                               .bands = size.bands,
                               .spectrum = problem.spectrum,
                               .weight = problem.weight,
                               .sum = sum,
                               .add = {true, true, true, true, true, true}};
    fill_endmembers(&problem, look, seed);
    mix(&problem, look, spoil, seed);
    return problem;
}

static void problem_free(Problem *problem) {
    free(problem->spectrum);
    free(problem->weight);
    free(problem->truth);
    cube_free(&problem->cube);
}

static void *open_abundances(Rig *rig, const void *rule) {
    HcLad *lad = NULL;
    check_ok(hc_lad_open(rig->compute, rule, &lad, &rig->err), rig->err);
    return lad;
}

static HcStatus call(HcQueue *queue, const HcBlock *in, void *made, const HcBlock *out, HcError *err) {
    return hc_lad(queue, in, made, out, err);
}

static void close(void *made) {
    hc_lad_close(made);
}

static RigOperation operation_of(const Problem *problem) {
    return (RigOperation){.cube = &problem->cube,
                          .rule = &problem->rule,
                          .bands = hc_lad_bands(&problem->rule),
                          .halo = 1,
                          .keeps_halo = true,
                          .open = open_abundances,
                          .call = call,
                          .close = close};
}

/* The whole scene. */
static Cube run_problem(const Problem *problem, int32_t threads) {
    RigOperation operation = operation_of(problem);
    return rig_run(&operation, threads);
}

/* --- the reference: the primal program by a full tableau --- */

/* min of the sum of weight (p + q) where E x + p - q = y and the sum of x is at most 1; x, p, q >= 0. */
typedef struct Tableau {
    int32_t rows, columns; /* of the tableau: equations, variables */
    long double *entry;    /* [rows + 1][columns + 1]: reduced costs last, right sides last */
    int32_t *basic;        /* [rows] */
} Tableau;

static long double *entry_at(const Tableau *tableau, int32_t row, int32_t column) {
    return tableau->entry + (int64_t)row * (tableau->columns + 1) + column;
}

/* The equation of a band: x[0] = 1 - the others where all sum to one. */
static void fill_band(const Tableau *tableau, const Problem *problem, const float *pixel, int32_t band,
                      int32_t row, int32_t bands) {
    bool equal = problem->rule.sum == HC_SUM_ONE;
    int32_t n = problem->rule.endmembers - (equal ? 1 : 0);
    long double first = equal ? (long double)problem->spectrum[band] : 0;
    long double right = (long double)pixel[band] - first;
    long double sign = right < 0 ? -1 : 1;
    for (int32_t k = 0; k < n; k++) {
        int64_t from = (int64_t)(k + (equal ? 1 : 0)) * problem->rule.bands + band;
        *entry_at(tableau, row, k) = sign * ((long double)problem->spectrum[from] - first);
    }
    *entry_at(tableau, row, n + row) = sign;
    *entry_at(tableau, row, n + bands + row) = -sign;
    *entry_at(tableau, row, tableau->columns) = sign * right;
    tableau->basic[row] = sign > 0 ? n + row : n + bands + row;
    *entry_at(tableau, tableau->rows, n + row) = (long double)problem->weight[band];
    *entry_at(tableau, tableau->rows, n + bands + row) = (long double)problem->weight[band];
}

static void eliminate(const Tableau *tableau, int32_t row, int32_t target, long double factor) {
    for (int32_t j = 0; j <= tableau->columns && factor != 0; j++) {
        *entry_at(tableau, target, j) -= factor * *entry_at(tableau, row, j);
    }
}

static Tableau tableau_new(const Problem *problem, const float *pixel) {
    int32_t bands = 0;
    int32_t row = 0;
    for (int32_t b = 0; b < problem->rule.bands; b++) {
        bands += isfinite(pixel[b]) ? 1 : 0;
    }
    int32_t n = problem->rule.endmembers - (problem->rule.sum == HC_SUM_ONE ? 1 : 0);
    int32_t limited = problem->rule.sum == HC_SUM_FREE ? 0 : 1;
    Tableau tableau = {.rows = bands + limited, .columns = n + 2 * bands + limited};
    tableau.entry = calloc((size_t)(tableau.rows + 1) * (size_t)(tableau.columns + 1), sizeof(long double));
    tableau.basic = malloc((size_t)tableau.rows * sizeof(int32_t));
    assert_true(tableau.entry != NULL && tableau.basic != NULL);
    for (int32_t b = 0; b < problem->rule.bands; b++) {
        if (isfinite(pixel[b])) {
            fill_band(&tableau, problem, pixel, b, row++, bands);
        }
    }
    for (int32_t k = 0; limited != 0 && k < n; k++) {
        *entry_at(&tableau, row, k) = 1;
    }
    if (limited != 0) {
        *entry_at(&tableau, row, tableau.columns - 1) = 1;
        *entry_at(&tableau, row, tableau.columns) = 1;
        tableau.basic[row] = tableau.columns - 1;
    }
    for (int32_t i = 0; i < tableau.rows; i++) {
        eliminate(&tableau, i, tableau.rows, *entry_at(&tableau, tableau.rows, tableau.basic[i]));
    }
    return tableau;
}

/* The column that lowers the sum fastest, or with `first` the first that does (Bland 1977); -1 = none. */
static int32_t entering(const Tableau *tableau, bool first) {
    int32_t best = -1;
    long double least = -1e-14L;
    for (int32_t j = 0; j < tableau->columns && !(first && best >= 0); j++) {
        if (*entry_at(tableau, tableau->rows, j) < least) {
            best = j;
            least = *entry_at(tableau, tableau->rows, j);
        }
    }
    return best;
}

static int32_t leaving(const Tableau *tableau, int32_t column) {
    int32_t best = -1;
    long double least = 0;
    for (int32_t i = 0; i < tableau->rows; i++) {
        long double pivot = *entry_at(tableau, i, column);
        if (pivot > 1e-12L) {
            long double ratio = *entry_at(tableau, i, tableau->columns) / pivot;
            if (best < 0 || ratio < least || (ratio == least && tableau->basic[i] < tableau->basic[best])) {
                best = i;
                least = ratio;
            }
        }
    }
    return best;
}

static void solve_tableau(const Tableau *tableau) {
    int32_t stalled = 0;
    for (;;) {
        int32_t column = entering(tableau, stalled > 20);
        if (column < 0) {
            return;
        }
        int32_t row = leaving(tableau, column);
        assert_true(row >= 0);
        long double before = *entry_at(tableau, tableau->rows, tableau->columns);
        long double pivot = *entry_at(tableau, row, column);
        for (int32_t j = 0; j <= tableau->columns; j++) {
            *entry_at(tableau, row, j) /= pivot;
        }
        for (int32_t i = 0; i <= tableau->rows; i++) {
            if (i != row) {
                eliminate(tableau, row, i, *entry_at(tableau, i, column));
            }
        }
        tableau->basic[row] = column;
        stalled = *entry_at(tableau, tableau->rows, tableau->columns) == before ? stalled + 1 : 0;
    }
}

/* The sum over the bands of weight |y - x'E|. */
static double objective(const Problem *problem, const float *pixel, const double *abundance) {
    long double sum = 0;
    for (int32_t b = 0; b < problem->rule.bands; b++) {
        long double residual = (long double)pixel[b];
        for (int32_t k = 0; k < problem->rule.endmembers; k++) {
            residual -= (long double)abundance[k] *
                        (long double)problem->spectrum[(int64_t)k * problem->rule.bands + b];
        }
        sum += isfinite(pixel[b]) ? (long double)problem->weight[b] * fabsl(residual) : 0;
    }
    return (double)sum;
}

/* The least objective of a pixel. */
static double reference(const Problem *problem, const float *pixel) {
    Tableau tableau = tableau_new(problem, pixel);
    double abundance[HC_LAD_ENDMEMBERS_MAX] = {0};
    int32_t skipped = problem->rule.sum == HC_SUM_ONE ? 1 : 0;
    double others = 0;
    solve_tableau(&tableau);
    for (int32_t i = 0; i < tableau.rows; i++) {
        int32_t k = tableau.basic[i] + skipped;
        if (k < problem->rule.endmembers) {
            abundance[k] = (double)*entry_at(&tableau, i, tableau.columns);
            others += abundance[k];
        }
    }
    abundance[0] = skipped != 0 ? 1 - others : abundance[0];
    free(tableau.entry);
    free(tableau.basic);
    return objective(problem, pixel, abundance);
}

/* --- checks --- */

/* What a pixel of the output says. */
typedef struct Answer {
    const float *abundance;
    double residual, end, pivots, primal, dual, error;
} Answer;

static Answer answer_at(const Problem *problem, const Cube *got, int64_t pixel) {
    const float *at = got->data + pixel * got->bands;
    const float *report = at + problem->rule.endmembers;
    return (Answer){at,
                    (double)report[0],
                    (double)report[1],
                    (double)report[2],
                    (double)report[3],
                    (double)report[4],
                    (double)report[5]};
}

/* Abundances are feasible, but for their rounding, and the report on them is true. */
static void check_report(const Problem *problem, const Cube *got, int64_t p) {
    Answer answer = answer_at(problem, got, p);
    const float *pixel = problem->cube.data + p * problem->rule.bands;
    Problem plain = *problem; /* without weights */
    double abundance[HC_LAD_ENDMEMBERS_MAX];
    double one[HC_LAD_BANDS_MAX];
    double finite = 0;
    double sum = 0;
    double size = 0;
    for (int32_t b = 0; b < problem->rule.bands; b++) {
        one[b] = 1;
        finite += isfinite(pixel[b]) ? 1 : 0;
    }
    for (int32_t k = 0; k < problem->rule.endmembers; k++) {
        assert_true(answer.abundance[k] >= 0);
        abundance[k] = (double)answer.abundance[k];
        sum += abundance[k];
        for (int32_t b = 0; b < problem->rule.bands; b++) {
            size += abundance[k] * fabs((double)problem->spectrum[(int64_t)k * problem->rule.bands + b]);
        }
    }
    if (problem->rule.sum == HC_SUM_ONE) {
        check_near(sum, 1, 1e-6);
    } else if (problem->rule.sum == HC_SUM_AT_MOST_ONE) {
        assert_true(sum <= 1 + 1e-6);
    }
    plain.weight = one;
    double rounding = 1e-7 * size + 1e-30;
    double heaviest = 0;
    for (int32_t b = 0; b < problem->rule.bands; b++) {
        heaviest = fmax(heaviest, problem->weight[b]);
    }
    check_near(answer.primal, objective(problem, pixel, abundance),
               heaviest * rounding + 1e-7 * answer.primal);
    check_near(answer.residual, objective(&plain, pixel, abundance) / finite,
               (rounding + 1e-7 * answer.residual * finite) / finite);
    assert_true(answer.pivots >= 0 && answer.pivots == rint(answer.pivots));
    assert_true(answer.end == (answer.error <= 1e-9 ? HC_LP_OPTIMAL : HC_LP_UNFINISHED));
}

/* What objectives are rounded by: the sum over the bands of weight (|y| + the largest endmember). */
static double magnitude(const Problem *problem, const float *pixel) {
    double sum = 0;
    for (int32_t b = 0; b < problem->rule.bands; b++) {
        double largest = 0;
        for (int32_t k = 0; k < problem->rule.endmembers; k++) {
            largest = fmax(largest, fabs((double)problem->spectrum[(int64_t)k * problem->rule.bands + b]));
        }
        sum += isfinite(pixel[b]) ? problem->weight[b] * (fabs((double)pixel[b]) + largest) : 0;
    }
    return sum;
}

/* And they are optimal. Objectives are reported in float32. */
static void check_optimal(const Problem *problem, const Cube *got, int64_t p) {
    Answer answer = answer_at(problem, got, p);
    const float *pixel = problem->cube.data + p * problem->rule.bands;
    double least = reference(problem, pixel);
    double close = 1e-7 * least + 1e-13 * magnitude(problem, pixel) + 1e-30;
    check_report(problem, got, p);
    assert_true(answer.end == HC_LP_OPTIMAL);
    check_near(answer.primal, least, close);
    check_near(answer.dual, least, close);
}

static void check_all(const Problem *problem, int32_t threads) {
    Cube got = run_problem(problem, threads);
    for (int64_t p = 0; p < (int64_t)got.lines * got.samples; p++) {
        assert_int_equal(got.mask[p], 1);
        check_optimal(problem, &got, p);
    }
    cube_free(&got);
}

/* --- the cases --- */

/* More than 1,000 problems. */
CASE(test_lad) {
    (void)state;
    uint64_t seed = 1;
    static const Size sizes[] = {{1, 1, 1, 9},   {1, 40, 1, 9},   {5, 1, 1, 9},    {3, 7, 2, 70},
                                 {8, 33, 2, 25}, {12, 60, 1, 20}, {20, 10, 1, 20}, {7, 64, 1, 12}};
    int32_t pixels = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int sum = HC_SUM_FREE; sum <= HC_SUM_AT_MOST_ONE; sum++) {
            for (int look = NORMAL; look <= SMOOTH; look++) {
                Spoil spoil = {.noise = 0.02,
                               .outliers = i % 2 == 0 ? 0.05 : 0,
                               .missing = look == NORMAL && i % 3 == 1 ? 0.3 : 0};
                Problem problem = problem_new((Look)look, sizes[i], (HcLadSum)sum, spoil, &seed);
                for (int32_t b = 0; i % 2 == 1 && b < sizes[i].bands; b++) {
                    problem.weight[b] = exp(2 * random_normal(&seed));
                }
                check_all(&problem, 2);
                pixels += sizes[i].lines * sizes[i].samples;
                problem_free(&problem);
            }
        }
    }
    assert_true(pixels > 1000);
}

/* Ties everywhere: residuals that are exactly 0, endmembers twice, one that is 0, integers. */
CASE(test_lad_ties) {
    (void)state;
    uint64_t seed = 2;
    static const Size sizes[] = {
        {4, 30, 1, 12}, {9, 24, 1, 12}, {16, 16, 1, 12}, {10, 4, 1, 12}, {12, 60, 1, 12}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int sum = HC_SUM_FREE; sum <= HC_SUM_AT_MOST_ONE; sum++) {
            for (int look = TWICE; look <= GRID; look++) {
                for (int noisy = 0; noisy < 2; noisy++) {
                    Spoil spoil = {.noise = noisy == 1 && look != GRID ? 0.02 : 0};
                    Problem problem = problem_new((Look)look, sizes[i], (HcLadSum)sum, spoil, &seed);
                    for (int64_t v = 0; noisy == 1 && look == GRID && v < 12 * sizes[i].bands; v++) {
                        problem.cube.data[v] = (float)random_between(&seed, -1, 3);
                    }
                    check_all(&problem, 1);
                    problem_free(&problem);
                }
            }
        }
    }
}

/* Pixels that are 0, that are endmembers, that have one finite band; weights that are 0, all of them too;
 * endmembers that are all 0; infinities. */
CASE(test_lad_special) {
    (void)state;
    uint64_t seed = 3;
    for (int sum = HC_SUM_FREE; sum <= HC_SUM_AT_MOST_ONE; sum++) {
        for (int kind = 0; kind < 6; kind++) {
            Problem problem =
                problem_new(SMOOTH, (Size){6, 20, 1, 24}, (HcLadSum)sum, (Spoil){.noise = 0.05}, &seed);
            for (int64_t p = 0; p < 24; p++) {
                for (int64_t b = 0; b < 20; b++) {
                    float *value = problem.cube.data + p * 20 + b;
                    *value = kind == 0                  ? 0
                             : kind == 1                ? problem.spectrum[p % 6 * 20 + b]
                             : kind == 2 && p % 20 != b ? (p % 2 == 0 ? NAN : -INFINITY)
                                                        : *value;
                }
            }
            for (int64_t b = 0; b < 20; b++) {
                problem.weight[b] = kind == 3 && b % 3 == 0 ? 0 : kind == 4 ? 0 : problem.weight[b];
            }
            for (int64_t v = 0; kind == 5 && v < 6 * 20; v++) {
                problem.spectrum[v] = 0;
            }
            check_all(&problem, 2);
            problem_free(&problem);
        }
    }
}

/* Units change nothing but the scale of results, also where they are far apart. */
CASE(test_lad_units) {
    (void)state;
    uint64_t seed = 4;
    for (int sum = HC_SUM_FREE; sum <= HC_SUM_AT_MOST_ONE; sum++) {
        for (int kind = 0; kind < 4; kind++) {
            Problem problem = problem_new(SMOOTH, (Size){7, 30, 1, 12}, (HcLadSum)sum,
                                          (Spoil){.noise = 0.02, .outliers = 0.05}, &seed);
            for (int64_t v = 0; v < 7 * 30; v++) {
                problem.spectrum[v] *= kind == 0 ? 1e4F : kind == 1 ? 1e-20F : v / 30 % 2 == 0 ? 1e3F : 1;
            }
            for (int64_t v = 0; v < 12 * 30; v++) {
                problem.cube.data[v] *= kind == 0 ? 1e4F : kind == 1 ? 1e-20F : 1;
            }
            for (int64_t b = 0; kind == 3 && b < 30; b++) {
                problem.weight[b] = b % 2 == 0 ? 1e-30 : 1e30;
            }
            Cube got = run_problem(&problem, 1);
            for (int64_t p = 0; p < 12; p++) {
                check_report(&problem, &got, p);
                assert_true(answer_at(&problem, &got, p).end == HC_LP_OPTIMAL);
            }
            cube_free(&got);
            problem_free(&problem);
        }
    }
}

/* Mixtures without noise are found again, and also where a fifth of the bands is far off. */
SMALL(test_lad_truth) {
    (void)state;
    uint64_t seed = 5;
    for (int sum = HC_SUM_FREE; sum <= HC_SUM_AT_MOST_ONE; sum++) {
        for (int kind = 0; kind < 2; kind++) {
            Spoil spoil = {.outliers = kind == 0 ? 0 : 0.2};
            Problem problem = problem_new(NORMAL, (Size){9, 150, 2, 70}, (HcLadSum)sum, spoil, &seed);
            Cube got = run_problem(&problem, 2);
            for (int64_t p = 0; p < 140; p++) {
                for (int32_t k = 0; k < 9; k++) {
                    check_near(answer_at(&problem, &got, p).abundance[k], problem.truth[p * 9 + k], 1e-6);
                }
                check_report(&problem, &got, p);
                assert_true(answer_at(&problem, &got, p).end == HC_LP_OPTIMAL);
            }
            cube_free(&got);
            problem_free(&problem);
        }
    }
}

/* Mixtures without noise, but for their rounding to float32, of endmembers that are much alike: bases are
 * close to singular, and the optimum is 10^-7 of the pixel. Neighbours hand their bases on. */
CASE(test_lad_alike) {
    (void)state;
    uint64_t seed = 13;
    static const Size sizes[] = {{20, 100, 1, 64}, {40, 188, 1, 64}, {64, 220, 1, 64}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int sum = HC_SUM_FREE; sum <= HC_SUM_AT_MOST_ONE; sum++) {
            Problem problem = problem_new(ALIKE, sizes[i], (HcLadSum)sum, (Spoil){0}, &seed);
            Cube got = run_problem(&problem, 2);
            for (int64_t p = 0; p < sizes[i].samples; p++) {
                check_report(&problem, &got, p);
                assert_true(answer_at(&problem, &got, p).end == HC_LP_OPTIMAL);
            }
            cube_free(&got);
            problem_free(&problem);
        }
    }
}

/* As large as they may be, and as an imaging spectrometer has them; the reference solves two of them. */
CASE(test_lad_large) {
    (void)state;
    uint64_t seed = 6;
    static const Size sizes[] = {
        {64, 500, 1, 1}, {64, 512, 1, 2}, {33, 188, 1, 2}, {12, 285, 1, 40}, {12, 350, 1, 40}};
    for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++) {
        for (int sum = HC_SUM_FREE; sum <= HC_SUM_AT_MOST_ONE; sum++) {
            Problem problem = problem_new(i == 0 ? NORMAL : SMOOTH, sizes[i], (HcLadSum)sum,
                                          (Spoil){.noise = 0.02, .outliers = 0.02}, &seed);
            if (sum == i && i != 1) {
                check_all(&problem, 2);
            } else {
                Cube got = run_problem(&problem, 2);
                check_report(&problem, &got, 0);
                assert_true(answer_at(&problem, &got, 0).end == HC_LP_OPTIMAL);
                cube_free(&got);
            }
            problem_free(&problem);
        }
    }
}

/* The report on a point that is not optimal says so. Where the sum is free, dual prices may break the
 * constraints by a share that is report, and the dual objective is no bound by itself. */
static void check_bounds(Answer answer, bool is_free, double least) {
    double close = 1e-6 * least;
    double above = (answer.primal - least - close) / answer.primal;
    assert_true(answer.primal >= least - close);
    assert_true(answer.end == HC_LP_UNFINISHED || above <= 0);
    assert_true(is_free || (answer.dual <= least + close && answer.error >= above));
}

/* A limit of pivots: points are feasible, and more pivots make the first pixel better. */
CASE(test_lad_stopped) {
    (void)state;
    uint64_t seed = 7;
    for (int sum = HC_SUM_FREE; sum <= HC_SUM_AT_MOST_ONE; sum++) {
        Problem problem = problem_new(SMOOTH, (Size){12, 60, 1, 30}, (HcLadSum)sum,
                                      (Spoil){.noise = 0.02, .outliers = 0.05}, &seed);
        double before = INFINITY;
        double least[30];
        int32_t unfinished = 0;
        for (int64_t p = 0; p < 30; p++) {
            least[p] = reference(&problem, problem.cube.data + p * 60);
        }
        for (int32_t limit = 1; limit < 200; limit *= 4) {
            problem.rule.pivots = limit;
            Cube got = run_problem(&problem, 1);
            for (int64_t p = 0; p < 30; p++) {
                Answer answer = answer_at(&problem, &got, p);
                check_report(&problem, &got, p);
                assert_true(answer.pivots <= limit);
                unfinished += answer.end == HC_LP_UNFINISHED ? 1 : 0;
                check_bounds(answer, sum == HC_SUM_FREE, least[p]);
                assert_true(limit < 200 / 4 || answer.end == HC_LP_OPTIMAL);
            }
            double here = answer_at(&problem, &got, 0).primal;
            assert_true(here <= before);
            before = here;
            cube_free(&got);
        }
        assert_true(unfinished > 30);
        problem_free(&problem);
    }
}

/* Every band that is added comes in its place, whichever others are. */
CASE(test_lad_report) {
    (void)state;
    uint64_t seed = 8;
    Problem problem = problem_new(SMOOTH, (Size){5, 20, 1, 10}, HC_SUM_ONE, (Spoil){.noise = 0.02}, &seed);
    Cube all = run_problem(&problem, 1);
    for (int wanted = 0; wanted < 1 << HC_LAD_ADDS; wanted++) {
        for (int a = 0; a < HC_LAD_ADDS; a++) {
            problem.rule.add[a] = (wanted >> a & 1) != 0;
        }
        Cube got = run_problem(&problem, 1);
        for (int64_t p = 0; p < 10; p++) {
            const float *from = all.data + p * 11;
            const float *at = got.data + p * got.bands;
            assert_memory_equal(at, from, 5 * sizeof(float));
            at += 5;
            for (int a = 0; a < HC_LAD_ADDS; a++) {
                if (problem.rule.add[a]) {
                    assert_int_equal(hc_lad_added_band(&problem.rule, (HcLadAdd)a),
                                     at - (got.data + p * got.bands));
                    check_same(*at++, from[5 + a]);
                }
            }
            assert_true(at == got.data + (p + 1) * got.bands);
        }
        cube_free(&got);
    }
    cube_free(&all);
    problem_free(&problem);
}

/* Counts of the interior pixels, over blocks, are those of the output. */
CASE(test_lad_counts) {
    (void)state;
    uint64_t seed = 9;
    Problem problem =
        problem_new(SMOOTH, (Size){6, 20, 8, 70}, HC_SUM_FREE, (Spoil){.noise = 0.05, .missing = 0.1}, &seed);
    cube_mask(&problem.cube, MASK_SOME, &seed);
    problem.rule.pivots = 9;
    int64_t expected[HC_LAD_COUNTS + 12] = {0};
    int64_t counts[HC_LAD_COUNTS + 12] = {0};
    Rig rig;
    rig_open(&rig, 2);
    problem.rule.counts = rig_put(&rig, counts, sizeof counts);
    RigOperation operation = operation_of(&problem);
    HcLad *lad = open_abundances(&rig, &problem.rule);
    double largest = 0;
    for (int64_t line = 0; line < 8; line += 4) {
        Cube got = rig_run_block(&rig, &operation, lad, line, 4, 1);
        int64_t first = line == 0 ? 0 : 1;
        for (int64_t p = first * 70; p < (first + 4) * 70; p++) {
            Answer answer = answer_at(&problem, &got, p);
            expected[HC_LAD_COUNT_PIXELS] += got.mask[p] != 0;
            expected[HC_LAD_COUNT_UNFINISHED] += answer.end != HC_LP_OPTIMAL;
            expected[HC_LAD_COUNT_PIVOTS] += (int64_t)answer.pivots;
            largest = fmax(largest, answer.error);
            for (int32_t k = 0; k < 6; k++) {
                expected[HC_LAD_COUNTS + k] += answer.abundance[k] != 0;
                expected[HC_LAD_COUNTS + 6 + k] +=
                    (int64_t)rint((double)answer.abundance[k] / HC_UNMIX_COUNT_UNIT);
            }
        }
        cube_free(&got);
    }
    rig_get(&rig, problem.rule.counts, counts, sizeof counts);
    double error = 0;
    memcpy(&error, &counts[HC_LAD_COUNT_ERROR], sizeof error);
    check_near(error, largest, 1e-6 * largest);
    assert_true(expected[HC_LAD_COUNT_UNFINISHED] > 0);
    assert_true(expected[HC_LAD_COUNT_UNFINISHED] < expected[HC_LAD_COUNT_PIXELS]);
    for (int i = 0; i < HC_LAD_COUNTS + 12; i++) {
        if (i != HC_LAD_COUNT_ERROR) {
            assert_int_equal(counts[i], expected[i]);
        }
    }
    hc_lad_close(lad);
    rig_close(&rig);
    problem_free(&problem);
}

/* The same bits however the scene is cut, for every number of threads, and masked pixels are 0. */
CASE(test_lad_bits) {
    (void)state;
    uint64_t seed = 10;
    static const int32_t cuts[] = {1, 2, 3, 7};
    for (int sum = HC_SUM_FREE; sum <= HC_SUM_AT_MOST_ONE; sum++) {
        Problem problem = problem_new(SMOOTH, (Size){10, 25, 7, 130}, (HcLadSum)sum,
                                      (Spoil){.noise = 0.02, .missing = 0.05}, &seed);
        cube_mask(&problem.cube, MASK_SOME, &seed);
        Cube whole = run_problem(&problem, 1);
        for (int64_t v = 0; v < 7 * 130 * (int64_t)whole.bands; v++) {
            assert_true(whole.mask[v / whole.bands] == problem.cube.mask[v / whole.bands]);
            assert_true(whole.mask[v / whole.bands] != 0 || whole.data[v] == 0);
        }
        RigOperation operation = operation_of(&problem);
        for (int32_t i = 0; i < 4; i++) {
            rig_check_cuts(&operation, i + 1, (int32_t[]){cuts[i], 0}, &whole);
        }
        cube_free(&whole);
        problem_free(&problem);
    }
}

CASE(test_lad_opening) {
    (void)state;
    uint64_t seed = 15;
    Problem problem = problem_new(ALIKE, (Size){64, 220, 1, 64}, HC_SUM_AT_MOST_ONE, (Spoil){0}, &seed);
    Cube whole = run_problem(&problem, 2);
    RigOperation operation = operation_of(&problem);
    rig_check_opening(&operation, 2, &whole);
    cube_free(&whole);
    problem_free(&problem);
}

/* A run of the whole scene with its counts. */
static Cube run_counted(Problem *problem, int64_t *counts, size_t bytes) {
    Rig rig;
    rig_open(&rig, 2);
    memset(counts, 0, bytes);
    problem->rule.counts = rig_put(&rig, counts, bytes);
    RigOperation operation = operation_of(problem);
    HcLad *lad = open_abundances(&rig, &problem->rule);
    Cube got = rig_run_block(&rig, &operation, lad, 0, problem->cube.lines, 0);
    rig_get(&rig, problem->rule.counts, counts, bytes);
    hc_lad_close(lad);
    rig_close(&rig);
    return got;
}

/* A pixel without a finite band is one that was masked: in the output, in counts and for its neighbours. */
CASE(test_lad_empty) {
    (void)state;
    enum { LINES = 3, SAMPLES = 70, BANDS = 20, ENDMEMBERS = 6 };
    uint64_t seed = 12;
    int64_t counts[2][HC_LAD_COUNTS + 2 * ENDMEMBERS];
    Problem problem = problem_new(SMOOTH, (Size){ENDMEMBERS, BANDS, LINES, SAMPLES}, HC_SUM_ONE,
                                  (Spoil){.noise = 0.02}, &seed);
    for (int64_t p = 0; p < LINES * SAMPLES; p++) {
        for (int64_t b = 0; p % 7 < 2 && b < BANDS; b++) {
            problem.cube.data[p * BANDS + b] = b % 2 == 0 ? NAN : INFINITY;
        }
    }
    Cube empty = run_counted(&problem, counts[0], sizeof counts[0]);
    for (int64_t p = 0; p < LINES * SAMPLES; p++) {
        problem.cube.mask[p] = p % 7 >= 2;
    }
    Cube masked = run_counted(&problem, counts[1], sizeof counts[1]);
    assert_memory_equal(empty.mask, problem.cube.mask, LINES * SAMPLES);
    assert_memory_equal(empty.mask, masked.mask, LINES * SAMPLES);
    assert_memory_equal(empty.data, masked.data,
                        (size_t)(LINES * SAMPLES) * (size_t)empty.bands * sizeof(float));
    assert_memory_equal(counts[0], counts[1], sizeof counts[0]);
    assert_int_equal(counts[0][HC_LAD_COUNT_PIXELS], LINES * SAMPLES / 7 * 5);
    cube_free(&empty);
    cube_free(&masked);
    problem_free(&problem);
}

CASE(test_lad_refuses) {
    (void)state;
    uint64_t seed = 11;
    Rig rig;
    rig_open(&rig, 2);
    Problem problem = problem_new(SMOOTH, (Size){5, 6, 3, 4}, HC_SUM_ONE, (Spoil){.noise = 0.02}, &seed);
    HcError *err = &rig.err;
    float spectra[2][30];
    double weights[2][6] = {{1, 1, -1, 1, 1, 1}, {1, 1, 1, 1, 1, INFINITY}};
    HcLad *lad = NULL;
    HcLadRule wrong[12];
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
    wrong[5].endmembers = 0;
    wrong[6].endmembers = HC_LAD_ENDMEMBERS_MAX + 1;
    wrong[7].bands = 0;
    wrong[8].bands = HC_LAD_BANDS_MAX + 1;
    wrong[9].sum = (HcLadSum)(HC_SUM_AT_MOST_ONE + 1);
    wrong[10].sum = (HcLadSum)-1;
    wrong[11].pivots = -1;
    for (size_t i = 0; i < count; i++) {
        check_fails(hc_lad_open(rig.compute, &wrong[i], &lad, err), HC_E_USAGE, rig.err);
        assert_null(lad);
    }
    check_fails(hc_lad_open(rig.compute, NULL, &lad, err), HC_E_USAGE, rig.err);
    lad = open_abundances(&rig, &problem.rule);
    HcBlock in = rig_put_block(&rig, &problem.cube, 0, 3, 0);
    HcBlock out = rig_alloc_block(&rig, &problem.cube, 0, 3, 0, 11);
    RigOperation operation = operation_of(&problem);
    rig_check_refusals(&rig, &operation, lad, &in, &out);
    hc_lad_close(lad);
    hc_lad_close(NULL);
    problem_free(&problem);
    rig_close(&rig);
}
