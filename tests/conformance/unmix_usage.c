/* Sparse unmixing: levels, limits, what is written and counted, cuts of a scene, and what is refused. */
#include "tests/conformance/unmix_problem.h"

/* Lines by themselves, with and without a spare line, have the bits of the whole. The level stays in the rig.
 */
static void check_level_cuts(const UnmixProblem *problem, const Cube *whole) {
    Rig rig;
    rig_open(&rig, 2);
    RigOperation operation = unmix_operation(problem);
    HcUnmixing *unmixing = unmix_open(&rig, &problem->rule);
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
        UnmixProblem problem =
            unmix_problem_new((UnmixLook)(number % LOOKS), (UnmixSize){12, 20, 3, 70}, 5e-2, 0.05, &seed);
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
            Cube got = unmix_run(&problem, 2);
            unmix_check_all(&problem, &got);
            check_level_cuts(&problem, &got);
            cube_free(&got);
        }
        unmix_problem_free(&problem);
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
        UnmixProblem problem =
            unmix_problem_new(SMOOTH, (UnmixSize){SPECTRA, BANDS, 4, 40}, 1e-2, 0.05, &seed);
        Cube got[2];
        problem.rule.solver = (HcUnmixSolver)(number % 3);
        problem.rule.top = number < 3 ? 0 : 5;
        Cube plain = unmix_run(&problem, 2);
        problem.rule.level_pixels = PIXELS;
        problem.rule.level = level;
        for (int k = 0; k < 2; k++) {
            for (int p = 0; p < PIXELS; p++) {
                level[p] = k == 0 ? 1 : (float)ldexp(1, p % 5 - 2);
                for (int b = 0; b < BANDS; b++) {
                    problem.cube.data[p * BANDS + b] *= level[p];
                }
            }
            got[k] = unmix_run(&problem, 2);
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
        RigOperation operation = unmix_operation(&problem);
        HcUnmixing *unmixing = unmix_open(&rig, &problem.rule);
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
        unmix_problem_free(&problem);
    }
}

/* Solvers that are stopped early tell how far they are, and are no farther. */
CASE(test_unmix_stopped) {
    (void)state;
    uint64_t seed = 6;
    static const int32_t limits[] = {1, 3, 25, 130};
    for (int number = 0; number < 2 * 2 * 3 * 4; number++) {
        UnmixLook look = number % 2 == 0 ? SMOOTH : NORMAL;
        UnmixProblem problem = unmix_problem_new(look, (UnmixSize){14, 20, 1, 20}, 1e-3, 0.02, &seed);
        problem.rule.sum_to_one = number / 2 % 2 == 1;
        problem.rule.solver = (HcUnmixSolver)(number / 4 % 3);
        problem.rule.iterations = limits[number / 12];
        problem.rule.gap = 1e-13; /* which is more than a step on a working set brings */
        Cube got = unmix_run(&problem, 2);
        int unfinished = 0;
        for (int64_t p = 0; p < 20; p++) {
            double gap = unmix_check_pixel(&problem, &got, p);
            unfinished += !(gap <= problem.rule.gap);
        }
        assert_true(problem.rule.iterations > 1 || unfinished > 0);
        cube_free(&got);
        unmix_problem_free(&problem);
    }
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
    UnmixProblem problem = unmix_problem_new(TWICE, (UnmixSize){12, 20, 3, 30}, 1e-4, 0.05, &seed);
    Cube all = unmix_run(&problem, 2);
    int cut = 0;
    for (int number = 0; number < 8; number++) {
        static const int32_t tops[] = {1, 2, 5, 12};
        problem.rule.top = tops[number % 4];
        problem.rule.threshold = number < 4 ? 0 : 0.05;
        problem.rule.add[HC_UNMIX_ADD_GAP] = number % 2 == 0;
        Cube got = unmix_run(&problem, 2);
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
    Cube got = unmix_run(&problem, 2);
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
    unmix_problem_free(&problem);
}

/* Of equal abundances the first come first. */
CASE(test_unmix_ties) {
    (void)state;
    uint64_t seed = 13;
    UnmixProblem problem = unmix_problem_new(NORMAL, (UnmixSize){5, 5, 1, 1}, 0.25, 0, &seed);
    for (int32_t i = 0; i < 25; i++) {
        problem.spectrum[i] = i % 6 == 0 ? 1 : 0;
    }
    memcpy(problem.cube.data, (float[]){1, 2, 1, 2, 1}, 5 * sizeof(float));
    problem.rule.top = 4;
    Cube got = unmix_run(&problem, 1);
    const float expected[] = {1, 3, 0, 2, 1.75F, 1.75F, 0.75F, 0.75F};
    for (int i = 0; i < 8; i++) {
        check_same(got.data[i], expected[i]);
    }
    cube_free(&got);
    unmix_problem_free(&problem);
}

/* Counts of the interior pixels, over blocks, are those of the output. */
CASE(test_unmix_counts) {
    (void)state;
    uint64_t seed = 9;
    UnmixProblem problem = unmix_problem_new(SMOOTH, (UnmixSize){12, 20, 8, 70}, 1e-4, 0.05, &seed);
    cube_mask(&problem.cube, MASK_SOME, &seed);
    problem.rule.threshold = 0.01;
    problem.rule.solver = HC_UNMIX_FISTA;
    problem.rule.iterations = 1;
    problem.rule.gap = 1e-13;
    int64_t expected[HC_UNMIX_COUNTS + 24] = {0};
    int64_t counts[HC_UNMIX_COUNTS + 24] = {0};
    Rig rig;
    rig_open(&rig, 2);
    problem.rule.counts = rig_put(&rig, counts, sizeof counts);
    RigOperation operation = unmix_operation(&problem);
    HcUnmixing *unmixing = unmix_open(&rig, &problem.rule);
    double largest = 0;
    for (int64_t line = 0; line < 8; line += 4) {
        Cube got = rig_run_block(&rig, &operation, unmixing, line, 4, 1);
        int64_t first = line == 0 ? 0 : 1;
        for (int64_t p = first * 70; p < (first + 4) * 70; p++) {
            UnmixAnswer answer = unmix_answer_at(&problem, &got, p);
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
    unmix_problem_free(&problem);
}

CASE(test_unmix_opening) {
    (void)state;
    uint64_t seed = 11;
    UnmixProblem problem = unmix_problem_new(SMOOTH, (UnmixSize){40, 25, 7, 130}, 1e-4, 0.02, &seed);
    Cube whole = unmix_run(&problem, 1);
    RigOperation operation = unmix_operation(&problem);
    rig_check_opening(&operation, 1, &whole);
    cube_free(&whole);
    unmix_problem_free(&problem);
}

CASE(test_unmix_bits) {
    (void)state;
    uint64_t seed = 10;
    static const int32_t cuts[] = {1, 2, 3, 7};
    for (int number = 0; number < 6; number++) {
        UnmixProblem problem = unmix_problem_new(SMOOTH, (UnmixSize){40, 25, 7, 130}, 1e-4, 0.02, &seed);
        cube_mask(&problem.cube, MASK_SOME, &seed);
        problem.rule.solver = (HcUnmixSolver)(number / 2);
        problem.rule.sum_to_one = number % 2 == 1;
        problem.rule.iterations = 50;
        Cube whole = unmix_run(&problem, 1);
        RigOperation operation = unmix_operation(&problem);
        for (int32_t i = 0; i < 4; i++) {
            rig_check_cuts(&operation, i + 1, (int32_t[]){cuts[i], 0}, &whole);
        }
        cube_free(&whole);
        unmix_problem_free(&problem);
    }
}

/* More pixels than a device unmixes at a time, some of them masked. */
CASE(test_unmix_many) {
    (void)state;
    uint64_t seed = 16;
    for (HcUnmixSolver solver = HC_UNMIX_ACTIVE; solver <= HC_UNMIX_ALM; solver++) {
        UnmixProblem problem = unmix_problem_new(SMOOTH, (UnmixSize){6, 8, 40, 641}, 1e-4, 0.02, &seed);
        cube_mask(&problem.cube, MASK_SOME, &seed);
        problem.rule.solver = solver;
        Cube whole = unmix_run(&problem, 2);
        RigOperation operation = unmix_operation(&problem);
        rig_check_cuts(&operation, 2, (int32_t[]){3, 0}, &whole);
        for (int64_t p = 0; p < 641; p += 64) {
            if (whole.mask[p] != 0) {
                (void)unmix_check_pixel(&problem, &whole, p);
            }
        }
        cube_free(&whole);
        unmix_problem_free(&problem);
    }
}

CASE(test_unmix_refuses) {
    (void)state;
    uint64_t seed = 11;
    Rig rig;
    rig_open(&rig, 2);
    UnmixProblem problem = unmix_problem_new(SMOOTH, (UnmixSize){5, 6, 3, 4}, 1e-3, 0.02, &seed);
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
    unmixing = unmix_open(&rig, &problem.rule);
    HcBlock in = rig_put_block(&rig, &problem.cube, 0, 3, 0);
    HcBlock out = rig_alloc_block(&rig, &problem.cube, 0, 3, 0, 9);
    RigOperation operation = unmix_operation(&problem);
    rig_check_refusals(&rig, &operation, unmixing, &in, &out);
    hc_unmix_close(unmixing);
    hc_unmix_close(NULL);
    /* A level of two lines for blocks of three. */
    float level[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    problem.rule.level = level;
    problem.rule.level_pixels = 8;
    unmixing = unmix_open(&rig, &problem.rule);
    check_fails(hc_unmix(rig.queue, &in, unmixing, &out, err), HC_E_USAGE, rig.err);
    hc_unmix_close(unmixing);
    unmix_problem_free(&problem);
    rig_close(&rig);
}
