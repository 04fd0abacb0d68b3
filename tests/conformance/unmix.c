/* Sparse unmixing: what the solvers find. */
#include "tests/conformance/unmix_problem.h"

static const UnmixSize sizes[] = {{1, 1, 1, 1}, {1, 4, 2, 3}, {12, 20, 3, 7}, {30, 9, 2, 9}, {6, 33, 1, 70}};

CASE(test_unmix) {
    (void)state;
    uint64_t seed = 1;
    for (UnmixLook look = 0; look < LOOKS; look++) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            if ((look == TWICE && sizes[i].spectra < 3) || (look == SHADE && sizes[i].spectra < 2)) {
                continue;
            }
            for (int way = 0; way < 3; way++) {
                UnmixProblem problem = unmix_problem_new(look, sizes[i], way == 0 ? 0.1 : 1e-3, 0.02, &seed);
                cube_mask(&problem.cube, way == 0 ? MASK_NONE : MASK_SOME, &seed);
                for (int32_t b = 0; way == 1 && b < sizes[i].bands; b++) {
                    problem.weight[b] = 3 * random_uniform(&seed);
                }
                problem.rule.weight = way == 1 ? problem.weight : NULL;
                Cube got = unmix_run(&problem, 2);
                unmix_check_all(&problem, &got);
                cube_free(&got);
                unmix_problem_free(&problem);
            }
        }
    }
}

/* No gap can be had where spectra point everywhere, and lambda is 0; else one can. */
CASE(test_unmix_without_lambda) {
    (void)state;
    uint64_t seed = 2;
    for (UnmixLook look = 0; look < LOOKS; look++) {
        UnmixProblem problem = unmix_problem_new(look, (UnmixSize){12, 20, 2, 9}, 0, 0.02, &seed);
        Cube got = unmix_run(&problem, 2);
        unmix_check_all(&problem, &got);
        cube_free(&got);
        unmix_problem_free(&problem);
    }
    /* F is 0 at its least: without noise, and with 60 of both signs in 5 bands. */
    for (int way = 0; way < 2; way++) {
        UnmixProblem problem =
            unmix_problem_new(way == 0 ? SMOOTH : NORMAL, (UnmixSize){60, way == 0 ? 20 : 5, 1, 9}, 0,
                              way == 0 ? 0 : 0.02, &seed);
        Cube got = unmix_run(&problem, 2);
        for (int64_t p = 0; p < 9; p++) {
            UnmixState found = unmix_state_of(&problem, &got, p);
            double length = unmix_length(&problem, found.pixel);
            assert_true(unmix_objective(&found) <= 1e-12 * length * length);
            assert_true(way == 1 || unmix_answer_at(&problem, &got, p).end == HC_UNMIX_OPTIMAL);
            unmix_state_free(&found);
        }
        cube_free(&got);
        unmix_problem_free(&problem);
    }
}

SMALL(test_unmix_mixtures) {
    (void)state;
    uint64_t seed = 3;
    UnmixProblem problem = unmix_problem_new(SMOOTH, (UnmixSize){10, 50, 3, 20}, 1e-8, 0, &seed);
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
    Cube got = unmix_run(&problem, 2);
    for (int64_t p = 0; p < 60; p++) {
        double expected[10] = {0};
        for (int64_t i = 0; i < 3; i++) {
            expected[(p + 3 * i) % 10] += (double)(1 + (p + i) % 4) / 8;
        }
        UnmixAnswer answer = unmix_answer_at(&problem, &got, p);
        assert_true(answer.end == HC_UNMIX_OPTIMAL);
        for (int32_t k = 0; k < 10; k++) {
            check_near(answer.abundance[k], expected[k], 1e-3);
        }
    }
    cube_free(&got);
    unmix_problem_free(&problem);
}

/* Gaps far below what the equations of a set, whose condition is large, give at once. */
CASE(test_unmix_tight) {
    (void)state;
    uint64_t seed = 12;
    for (int way = 0; way < 4; way++) {
        double noise = way < 2 ? 0 : 0.01;
        UnmixProblem problem =
            unmix_problem_new(ALIKE, (UnmixSize){60, 100, 2, 70}, way < 2 ? 1e-9 : 1e-3, noise, &seed);
        problem.rule.sum_to_one = way % 2 == 1;
        problem.rule.gap = way < 2 ? 1e-4 : 2e-12;
        Cube got = unmix_run(&problem, 2);
        unmix_check_all(&problem, &got);
        cube_free(&got);
        unmix_problem_free(&problem);
    }
}

/* A band of weight 0 may hold anything; a pixel of 0, or a large lambda, has abundances 0. */
CASE(test_unmix_nothing) {
    (void)state;
    uint64_t seed = 4;
    UnmixProblem problem = unmix_problem_new(SMOOTH, (UnmixSize){12, 20, 2, 9}, 1e-3, 0.02, &seed);
    problem.weight[7] = 0;
    Cube got = unmix_run(&problem, 2);
    for (int64_t p = 0; p < 18; p++) {
        problem.cube.data[p * 20 + 7] = (float)(1e6 * random_normal(&seed));
    }
    Cube other = unmix_run(&problem, 2);
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
        got = unmix_run(&problem, 2);
        int64_t pixels = way == 0 ? 1 : 18;
        for (int64_t p = 0; p < pixels; p++) {
            UnmixAnswer answer = unmix_answer_at(&problem, &got, p);
            assert_true(answer.gap == 0 && answer.end == HC_UNMIX_OPTIMAL);
            for (int32_t k = 0; k < 12; k++) {
                check_same(answer.abundance[k], 0);
            }
        }
        cube_free(&got);
        problem.rule.lambda = 1e9;
    }
    unmix_problem_free(&problem);
}

CASE(test_unmix_solvers) {
    (void)state;
    uint64_t seed = 5;
    for (int number = 0; number < 2 * LOOKS; number++) {
        UnmixLook look = (UnmixLook)(number % LOOKS);
        UnmixProblem problem = unmix_problem_new(look, (UnmixSize){12, 20, 2, 35}, 1e-2, 0.05, &seed);
        cube_mask(&problem.cube, MASK_SOME, &seed);
        problem.rule.sum_to_one = number >= LOOKS;
        for (HcUnmixSolver solver = HC_UNMIX_ACTIVE; solver <= HC_UNMIX_ALM; solver++) {
            problem.rule.solver = solver;
            Cube got = unmix_run(&problem, 2);
            unmix_check_all(&problem, &got);
            cube_free(&got);
        }
        unmix_problem_free(&problem);
    }
}

/* A library of which a few mixtures are far longer than all others, as spectra that are much alike have it:
 * the first-order solvers need no more than a hundred steps. */
CASE(test_unmix_steps) {
    (void)state;
    uint64_t seed = 14;
    for (int number = 0; number < 4; number++) {
        UnmixProblem problem = unmix_problem_new(SMOOTH, (UnmixSize){100, 80, 2, 40}, 1e-3, 0.01, &seed);
        problem.rule.sum_to_one = number % 2 == 1;
        problem.rule.solver = number / 2 == 0 ? HC_UNMIX_FISTA : HC_UNMIX_ALM;
        problem.rule.gap = 1e-3;
        problem.rule.iterations = 100;
        Cube got = unmix_run(&problem, 2);
        for (int64_t p = 0; p < 80; p++) {
            double gap = unmix_answer_at(&problem, &got, p).gap;
            if (!(gap <= problem.rule.gap)) {
                fail_msg("solver %d, pixel %d: gap %g", (int)problem.rule.solver, (int)p, gap);
            }
        }
        cube_free(&got);
        unmix_problem_free(&problem);
    }
}

/* Libraries that fill the shared memory of a GPU, or do not go into it: as good as active sets, for which
 * other cases have a reference that would take minutes here. */
CASE(test_unmix_large) {
    (void)state;
    uint64_t seed = 15;
    static const int32_t spectra[] = {300, 860};
    for (int number = 0; number < 2; number++) {
        UnmixProblem problem =
            unmix_problem_new(SMOOTH, (UnmixSize){spectra[number], 40, 1, 9}, 1e-3, 0.02, &seed);
        problem.rule.sum_to_one = number == 1;
        Cube best = unmix_run(&problem, 2);
        problem.rule.gap = 1e-3;
        for (HcUnmixSolver solver = HC_UNMIX_FISTA; solver <= HC_UNMIX_ALM; solver++) {
            problem.rule.solver = solver;
            Cube got = unmix_run(&problem, 2);
            for (int64_t p = 0; p < 9; p++) {
                double least = unmix_objective_at(&problem, &best, p);
                double gap = unmix_answer_at(&problem, &got, p).gap;
                assert_true(gap <= problem.rule.gap);
                check_near(unmix_objective_at(&problem, &got, p), least, 1.01 * problem.rule.gap * least);
            }
            cube_free(&got);
        }
        cube_free(&best);
        unmix_problem_free(&problem);
    }
}

/* Pixels of many spectra: beyond 32 and 64 a working set does not do, and all spectra take part. */
CASE(test_unmix_wide) {
    (void)state;
    uint64_t seed = 17;
    static const int32_t members[] = {40, 90};
    for (int number = 0; number < 4; number++) {
        UnmixProblem problem = unmix_problem_new(NORMAL, (UnmixSize){160, 130, 1, 6}, 1e-3, 0.02, &seed);
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
        Cube best = unmix_run(&problem, 2);
        problem.rule.gap = 1e-3;
        for (HcUnmixSolver solver = HC_UNMIX_FISTA; solver <= HC_UNMIX_ALM; solver++) {
            problem.rule.solver = solver;
            Cube got = unmix_run(&problem, 2);
            for (int64_t p = 0; p < 6; p++) {
                double least = unmix_objective_at(&problem, &best, p);
                int32_t used = 0;
                for (int32_t k = 0; k < 160; k++) {
                    used += unmix_answer_at(&problem, &best, p).abundance[k] > 0;
                }
                assert_true(used > (number < 2 ? 32 : 64));
                assert_true(unmix_answer_at(&problem, &got, p).gap <= problem.rule.gap);
                check_near(unmix_objective_at(&problem, &got, p), least,
                           1.01 * problem.rule.gap * least + 1e-9);
            }
            cube_free(&got);
        }
        cube_free(&best);
        unmix_problem_free(&problem);
    }
}

CASE(test_unmix_sum_to_one) {
    (void)state;
    uint64_t seed = 7;
    for (UnmixLook look = 0; look < LOOKS; look++) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            if ((look == TWICE && sizes[i].spectra < 3) || (look == SHADE && sizes[i].spectra < 2)) {
                continue;
            }
            UnmixProblem problem = unmix_problem_new(look, sizes[i], 0.5, 0.05, &seed);
            cube_mask(&problem.cube, i < 2 ? MASK_NONE : MASK_SOME, &seed);
            problem.rule.sum_to_one = true;
            if (problem.cube.mask[0] != 0) {
                memset(problem.cube.data, 0, (size_t)sizes[i].bands * sizeof(float));
            }
            Cube got = unmix_run(&problem, 2);
            unmix_check_all(&problem, &got);
            cube_free(&got);
            unmix_problem_free(&problem);
        }
    }
    /* Corners of a simplex in three bands: more members than bands. */
    float corner[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    double expected[] = {0.25, 0.125, 0.5, 0.125};
    UnmixProblem problem = unmix_problem_new(SMOOTH, (UnmixSize){4, 3, 1, 1}, 0, 0, &seed);
    memcpy(problem.spectrum, corner, sizeof corner);
    problem.rule.sum_to_one = true;
    problem.rule.iterations = 1000;
    memcpy(problem.cube.data, (float[]){0.125F, 0.5F, 0.125F}, 3 * sizeof(float));
    for (HcUnmixSolver solver = HC_UNMIX_ACTIVE; solver <= HC_UNMIX_ALM; solver++) {
        problem.rule.solver = solver;
        Cube got = unmix_run(&problem, 1);
        for (int k = 0; k < 4; k++) {
            check_near(got.data[k], expected[k], 1e-5);
        }
        cube_free(&got);
    }
    unmix_problem_free(&problem);
}
