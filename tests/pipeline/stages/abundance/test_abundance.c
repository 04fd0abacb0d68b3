#include "core/operation/image/decode.h"
#include "pipeline/chain.h"
#include "pipeline/json/json.h"
#include "pipeline/stages/abundance/abundance.h"
#include "tests/support/mixtures.h"
#include "tests/support/strict_runs.h"
#include "tests/support/truth.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- endmembers and a scene of their mixtures ---- */

/* Takes one or two bands from the pixel: nodata, NaN or infinity. */
static void lose_bands(double *pixel, uint64_t *seed) {
    static const double lost[] = {-9999, NAN, INFINITY};
    for (int n = 0; n < 2; n++) {
        pixel[(int)(BANDS * random_uniform(seed))] = lost[(int)(3 * random_uniform(seed))];
    }
}

static bool lacks(double value) {
    return value == -9999 || !isfinite(value);
}

/* NAME: mixtures of up to three spectra with noise and now and then an outlier, times `factor`; a masked
 * border. With `lost` every third pixel lacks one or two bands, and one lacks all, for different reasons.
 * `valid` is that of pixels that have a value. */
static Cube write_scene(const char *name, double factor, bool lost) {
    uint64_t seed = 18;
    Cube cube = mixtures_new(factor, true);
    for (size_t i = 0; i < PIXELS && lost; i += 3) {
        lose_bands(cube.value + i * BANDS, &seed);
    }
    cube_border(&cube, -9999);
    for (int b = 0; b < BANDS && lost; b++) {
        cube_pixel(&cube, 12, 9)[b] = b % 2 == 0 ? NAN : -9999;
    }
    if (lost) {
        cube.valid[12 * SAMPLES + 9] = 0;
    }
    mixtures_write(&cube, name, "");
    return cube;
}

/* Whether the pixel is valid and has a value in every band. */
static bool is_whole(const Cube *cube, size_t i) {
    bool whole = cube->valid[i] != 0;
    for (int b = 0; b < BANDS; b++) {
        whole = whole && !lacks(cube->value[i * BANDS + (size_t)b]);
    }
    return whole;
}

/* ---- plain reference: the best of all corners ---- */

typedef enum Sum { FREE, ONE, AT_MOST_ONE, SUMS } Sum;

static const char *const sum_words[SUMS] = {"free", "one", "at-most-one"};

typedef struct Problem {
    Sum sum;
    double weight[BANDS];
    double y[BANDS]; /* NaN where it is missing */
    double best;
} Problem;

static double objective_of(const Problem *problem, const double x[SPECTRA]) {
    double sum = 0;
    for (int b = 0; b < BANDS; b++) {
        double rest = problem->y[b];
        for (int k = 0; k < SPECTRA; k++) {
            rest -= x[k] * library_value(k, b);
        }
        sum += isnan(rest) ? 0 : problem->weight[b] * fabs(rest);
    }
    return sum;
}

/* Gauss with pivots; false where there is no one solution. */
static bool solve(int n, double a[SPECTRA][SPECTRA + 1], double x[SPECTRA]) {
    for (int c = 0; c < n; c++) {
        int pivot = c;
        for (int r = c + 1; r < n; r++) {
            pivot = fabs(a[r][c]) > fabs(a[pivot][c]) ? r : pivot;
        }
        if (fabs(a[pivot][c]) < 1e-9) {
            return false;
        }
        for (int k = 0; k <= n; k++) {
            double swapped = a[c][k];
            a[c][k] = a[pivot][k];
            a[pivot][k] = swapped;
        }
        for (int r = 0; r < n; r++) {
            double times = a[r][c] / a[c][c];
            for (int k = c; k <= n && r != c; k++) {
                a[r][k] -= times * a[c][k];
            }
        }
    }
    for (int c = 0; c < n; c++) {
        x[c] = a[c][n] / a[c][c];
    }
    return true;
}

/* The corner where the spectra of a set explain some bands exactly; with `full` they sum to one. */
static void try_corner(Problem *problem, const int *set, int size, const int *band, bool full) {
    double a[SPECTRA][SPECTRA + 1];
    double part[SPECTRA];
    double x[SPECTRA] = {0};
    double sum = 0;
    for (int r = 0; r < size; r++) {
        bool sums = full && r == size - 1;
        for (int k = 0; k < size; k++) {
            a[r][k] = sums ? 1 : library_value(set[k], band[r]);
        }
        a[r][size] = sums ? 1 : problem->y[band[r]];
    }
    if (!solve(size, a, part)) {
        return;
    }
    for (int k = 0; k < size; k++) {
        if (!(part[k] >= -1e-12)) {
            return;
        }
        x[set[k]] = part[k];
        sum += part[k];
    }
    if (problem->sum == FREE || sum <= 1 + 1e-12) {
        problem->best = fmin(problem->best, objective_of(problem, x));
    }
}

/* All choices of `wanted` bands from `first` on. */
static void try_bands(Problem *problem, const int *set, int size, int *band, int chosen, int first,
                      bool full) {
    if (chosen == size - (full ? 1 : 0)) {
        try_corner(problem, set, size, band, full);
        return;
    }
    for (int b = first; b < BANDS; b++) {
        if (!isnan(problem->y[b])) {
            band[chosen] = b;
            try_bands(problem, set, size, band, chosen + 1, b + 1, full);
        }
    }
}

/* A linear program has its optimum at a corner. */
static double least_objective(Problem *problem) {
    static const double nothing[SPECTRA] = {0};
    problem->best = problem->sum == ONE ? INFINITY : objective_of(problem, nothing);
    for (int mask = 1; mask < 1 << SPECTRA; mask++) {
        int set[SPECTRA];
        int band[BANDS];
        int size = 0;
        for (int k = 0; k < SPECTRA; k++) {
            if ((mask >> k & 1) != 0) {
                set[size++] = k;
            }
        }
        if (problem->sum != ONE) {
            try_bands(problem, set, size, band, 0, 0, false);
        }
        if (problem->sum != FREE) {
            try_bands(problem, set, size, band, 0, 0, true);
        }
    }
    return problem->best;
}

static Problem problem_of(const Cube *scene, size_t i, Sum sum, bool weighted) {
    Problem problem = {.sum = sum};
    double all = 0;
    for (int b = 0; b < BANDS; b++) {
        double value = scene->value[i * BANDS + (size_t)b];
        problem.y[b] = lacks(value) ? NAN : value;
        problem.weight[b] = weighted ? 1 / deviation_of(b) : 1;
        all += problem.weight[b] / BANDS;
    }
    for (int b = 0; b < BANDS; b++) {
        problem.weight[b] /= all;
    }
    return problem;
}

/* ---- against the definition ---- */

#define ALL_BANDS "--residual --status --pivots --verify ! write out.img"
enum { TOLD = 6 };

static double mean_deviation(const Problem *problem, const double *x) {
    Problem plain = *problem;
    int there = 0;
    for (int b = 0; b < BANDS; b++) {
        plain.weight[b] = 1;
        there += !isnan(problem->y[b]);
    }
    return objective_of(&plain, x) / there;
}

/* A pixel of out.img with all bands: rounding to float32 moves abundances by 2^-24, deviations by little
 * more. */
static void check_pixel(const Problem *problem, const double *pixel) {
    double sum = 0;
    for (int k = 0; k < SPECTRA; k++) {
        assert_true(pixel[k] >= 0);
        sum += pixel[k];
    }
    assert_true(problem->sum == FREE || sum <= 1 + 1e-6);
    assert_true(problem->sum != ONE || sum >= 1 - 1e-6);
    check_near(pixel[SPECTRA], mean_deviation(problem, pixel), 1e-6);
    check_near(pixel[SPECTRA + 1], 0, 0);
    assert_true(pixel[SPECTRA + 2] >= 0 && pixel[SPECTRA + 2] <= 200);
    check_near(pixel[SPECTRA + 3], objective_of(problem, pixel), 1e-5);
    check_near(pixel[SPECTRA + 4], pixel[SPECTRA + 3], 1e-6);
    assert_true(pixel[SPECTRA + 5] >= 0 && pixel[SPECTRA + 5] <= 1e-9);
}

static void check_map(const Cube *scene, Sum sum, bool weighted) {
    Cube found = cube_read_floats("out", LINES, SAMPLES, SPECTRA + TOLD);
    int compared = 0;
    int incomplete = 0;
    for (size_t i = 0; i < PIXELS; i++) {
        const double *pixel = found.value + i * (SPECTRA + TOLD);
        for (int b = 0; b < SPECTRA + TOLD; b++) {
            assert_int_equal(isnan(pixel[b]), !scene->valid[i]);
        }
        if (!scene->valid[i]) {
            continue;
        }
        Problem problem = problem_of(scene, i, sum, weighted);
        check_pixel(&problem, pixel);
        if (i % 29 == 0) {
            check_near(pixel[SPECTRA + 3], least_objective(&problem), 1e-6);
            compared++;
            incomplete += !is_whole(scene, i);
        }
    }
    assert_true(compared > 60 && incomplete > 15);
    cube_free(&found);
}

static void abundances_are_the_optimum(void **state) {
    (void)state;
    Cube scene = write_scene("scene", 1, true);
    library_write("library.csv", 1, 0);
    deviations_write("noise.txt");
    for (int sum = 0; sum < SUMS; sum++) {
        for (int weighted = 0; weighted < 2; weighted++) {
            check_runs(
                NULL,
                "read scene.img ! abundance --endmembers library.csv --scale none --sum %s %s " ALL_BANDS,
                sum_words[sum], weighted ? "--weights noise.txt" : "");
            check_map(&scene, (Sum)sum, weighted != 0);
        }
    }
    assert_true(file_holds("out.hdr", "Alunite"));
    assert_true(
        file_holds("out.hdr", "Asphalt,\nresidual,\nstatus,\npivots,\nobjective,\ndual objective,\nerror}"));
    assert_false(file_holds("out.hdr", "wavelength"));
    cube_free(&scene);
}

/* Free abundances over their sum, and all that is added as it was; a pixel of zeros has no shares. */
static void shares_are_free_abundances_over_their_sum(void **state) {
    (void)state;
    Cube scene = write_scene("scene", 1, true);
    library_write("library.csv", 1, 0);
    for (int k = 0; k < 2; k++) {
        const char *norm = k == 0 ? "l1" : "l2";
        const char *step =
            "read scene.img ! abundance --endmembers library.csv --scale none --residual --verify";
        int32_t bands = SPECTRA + (k == 0 ? 4 : 2);
        check_runs(NULL, "%s --norm %s --sum free ! write free.img", step, norm);
        check_runs(NULL, "%s --norm %s --sum shares ! write out.img", step, norm);
        Cube free_ones = cube_read_floats("free", LINES, SAMPLES, bands);
        Cube shares = cube_read_floats("out", LINES, SAMPLES, bands);
        for (size_t p = 0; p < PIXELS; p++) {
            const double *x = free_ones.value + p * (size_t)bands;
            const double *found = shares.value + p * (size_t)bands;
            double sum = 0;
            for (int e = 0; e < SPECTRA; e++) {
                sum += x[e];
            }
            for (int32_t b = 0; b < bands; b++) {
                double expected = b < SPECTRA && sum > 0 ? x[b] / sum : x[b];
                assert_true(isnan(expected) == isnan(found[b]));
                if (!isnan(expected)) {
                    check_near(found[b], expected, 1e-7 * fabs(expected));
                }
            }
        }
        cube_free(&free_ones);
        cube_free(&shares);
        file_remove("free.img");
        file_remove("free.hdr");
    }
    cube_free(&scene);
}

/* Each band by itself is that band among all. */
static void bands_are_added(void **state) {
    (void)state;
    static const struct {
        const char *option, *names;
        int first, count;
    } cases[] = {{"--residual", "Asphalt,\nresidual}", 0, 1},
                 {"--status", "Asphalt,\nstatus}", 1, 1},
                 {"--pivots", "Asphalt,\npivots}", 2, 1},
                 {"--verify", "Asphalt,\nobjective,\ndual objective,\nerror}", 3, 3},
                 {"", "Asphalt}", 0, 0}};
    Cube scene = write_scene("scene", 1, true);
    library_write("library.csv", 1, 0);
    check_runs(NULL, "read scene.img ! abundance --endmembers library.csv " ALL_BANDS);
    Cube all = cube_read_floats("out", LINES, SAMPLES, SPECTRA + TOLD);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        int bands = SPECTRA + cases[c].count;
        check_runs(NULL, "read scene.img ! abundance --endmembers library.csv %s ! write one.img",
                   cases[c].option);
        assert_true(file_holds("one.hdr", cases[c].names));
        Cube one = cube_read_floats("one", LINES, SAMPLES, bands);
        for (size_t i = 0; i < PIXELS; i++) {
            for (int b = 0; b < bands && scene.valid[i]; b++) {
                int from = b < SPECTRA ? b : b + cases[c].first;
                check_near(one.value[i * (size_t)bands + (size_t)b],
                           all.value[i * (SPECTRA + TOLD) + (size_t)from], 0);
            }
        }
        cube_free(&one);
    }
    cube_free(&all);
    cube_free(&scene);
}

/* ---- least squares ---- */

/* They are those of unmix: a sum of at most one by a spectrum of zeros. */
static void squares_are_those_of_unmix(void **state) {
    (void)state;
    static const struct {
        const char *sum, *unmix;
        int zeros;
    } cases[] = {{"free", "library.csv --lambda 0", 0},
                 {"one", "library.csv --sum-to-one", 0},
                 {"at-most-one", "shade.csv --sum-to-one", 1},
                 {"one --weights noise.txt", "library.csv --sum-to-one --weights noise.txt", 0}};
    static const int from[] = {0, 3, 1,
                               2}; /* residual, status, iterations, error in rmse, iterations, gap, end */
    Cube scene = write_scene("scene", 1, true);
    library_write("library.csv", 1, 0);
    library_write("shade.csv", 1, 1);
    deviations_write("noise.txt");
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        int spectra = SPECTRA + cases[c].zeros;
        double most = 0;
        check_runs(
            NULL,
            "read scene.img ! abundance --endmembers library.csv --scale none --norm l2 --sum %s " ALL_BANDS,
            cases[c].sum);
        check_runs(
            NULL,
            "read scene.img ! unmix --scale none --library %s --add rmse,iterations,gap,end ! write by.img",
            cases[c].unmix);
        Cube out = cube_read_floats("out", LINES, SAMPLES, SPECTRA + 4);
        Cube by = cube_read_floats("by", LINES, SAMPLES, spectra + 4);
        for (size_t i = 0; i < PIXELS; i++) {
            const double *pixel = out.value + i * (SPECTRA + 4);
            const double *other = by.value + i * (size_t)(spectra + 4);
            assert_int_equal(isnan(pixel[0]), !is_whole(&scene, i)); /* others are masked */
            for (int b = 0; b < SPECTRA + 4 && is_whole(&scene, i); b++) {
                check_near(pixel[b], other[b < SPECTRA ? b : spectra + from[b - SPECTRA]], 0);
            }
            most =
                is_whole(&scene, i) ? fmax(most, pixel[0] + pixel[1] + pixel[2] + pixel[3] + pixel[4]) : most;
        }
        assert_true(c == 0 ? most > 1.1 : most < 1 + 1e-6);
        cube_free(&by);
        cube_free(&out);
    }
    assert_true(file_holds("out.hdr", "Asphalt,\nresidual,\nstatus,\niterations,\nerror}"));
    cube_free(&scene);
}

/* ---- missing values ---- */

/* Pixels of NAME.img that are not masked. */
static int count_valid(const char *name, int32_t bands) {
    int valid = 0;
    Cube out = cube_read_floats(name, LINES, SAMPLES, bands);
    for (size_t i = 0; i < PIXELS; i++) {
        valid += !isnan(out.value[i * (size_t)bands]);
    }
    cube_free(&out);
    return valid;
}

/* Runs a chain that ends with abundances in out.img. Where `before` is a stage, a note says that it keeps
 * pixels from being used; returns how many are. */
static int run_missing(const char *chain, const char *before) {
    HcText notes = {0};
    RunHow how = {.notes = &notes};
    char part[64];
    check_runs(&how, "read scene.img ! %s", chain);
    snprintf(part, sizeof part, "left out, since %s needs whole ones", before != NULL ? before : "");
    assert_int_equal(strstr(notes.data, part) != NULL, before != NULL);
    assert_true(before != NULL || strstr(notes.data, "left out") == NULL);
    hc_text_clear(&notes);
    return count_valid("out", SPECTRA);
}

static void stages_before_may_need_whole_pixels(void **state) {
    (void)state;
    static const char *const copy[] = {"copy.img", NULL};
    Cube scene = write_scene("scene", 1, true);
    int valid = 0;
    int whole = 0;
    for (size_t i = 0; i < PIXELS; i++) {
        valid += scene.valid[i];
        whole += is_whole(&scene, i);
    }
    assert_true(valid > whole + 500 && whole > 500);
    library_write("library.csv", 1, 0);
    assert_int_equal(run_missing("abundance --endmembers library.csv ! write out.img", NULL), valid);
    files_keep((const char *const[]){"out.img", NULL});
    assert_int_equal(run_missing("bands 1-14 ! abundance --endmembers library.csv ! write out.img", NULL),
                     valid);
    check_same_files("out.img", "kept.out.img");
    assert_int_equal(
        run_missing("filter median3x3 ! abundance --endmembers library.csv ! write out.img", "filter"),
        whole);
    assert_int_equal(
        run_missing("bands 1-14 ! cov s.json ! abundance --endmembers library.csv ! write out.img", "cov"),
        whole);
    /* What is written before has masked pixels as ever. */
    check_runs(NULL, "read scene.img ! write copy.img");
    files_keep(copy);
    assert_int_equal(
        run_missing("write copy.img ! abundance --endmembers library.csv ! write out.img", "write"), whole);
    check_same_files("copy.img", "kept.copy.img");
    /* What comes behind sees whole pixels. */
    assert_int_equal(run_missing("abundance --endmembers library.csv ! filter ! pca ! write out.img", NULL),
                     valid);
    cube_free(&scene);
}

/* Whether missing bands of a pixel change nothing but that pixel, whose abundances come from the others. */
static void missing_bands_are_left_out(void **state) {
    (void)state;
    HcRunReport report = {0};
    RunHow how = {.report = &report};
    Cube full = write_scene("full", 1, false);
    Cube scene = write_scene("scene", 1, true);
    library_write("library.csv", 1, 0);
    check_runs(NULL, "read full.img ! abundance --endmembers library.csv ! write a.img");
    check_runs(&how, "read scene.img ! abundance --endmembers library.csv ! write b.img");
    Cube a = cube_read_floats("a", LINES, SAMPLES, SPECTRA);
    Cube b = cube_read_floats("b", LINES, SAMPLES, SPECTRA);
    double apart = 0;
    int64_t border = 0;
    for (size_t i = 0; i < PIXELS; i++) {
        border += !full.valid[i];
        for (size_t k = 0; k < SPECTRA && scene.valid[i]; k++) {
            double difference = fabs(a.value[i * SPECTRA + k] - b.value[i * SPECTRA + k]);
            assert_true(!is_whole(&scene, i) || difference <= 1e-6);
            apart = fmax(apart, difference);
        }
    }
    assert_true(apart > 1e-3 && apart <= 1);
    /* The border is nodata, and so is a pixel of which one band is. */
    assert_int_equal(report.masked[HC_MASK_NODATA], border + 1);
    assert_int_equal(report.masked[HC_MASK_NAN], 0);
    cube_free(&b);
    cube_free(&a);
    cube_free(&scene);
    cube_free(&full);
}

/* A pixel without a value in the bands that were chosen is masked, whatever the others hold. */
static void bands_may_leave_nothing(void **state) {
    (void)state;
    Cube scene = write_scene("scene", 1, true);
    int valid = 0;
    int lost = 0;
    library_write("library.csv", 1, 0);
    check_runs(NULL,
               "read scene.img ! bands 3,5 ! abundance --endmembers library.csv --verify ! write out.img");
    Cube out = cube_read_floats("out", LINES, SAMPLES, SPECTRA + 3);
    for (size_t i = 0; i < PIXELS; i++) {
        const double *pixel = scene.value + i * BANDS;
        bool there = scene.valid[i] && !(lacks(pixel[2]) && lacks(pixel[4]));
        assert_int_equal(isnan(out.value[i * (SPECTRA + 3)]), !there);
        valid += there;
        lost += scene.valid[i] && !there;
    }
    assert_true(valid > 1000 && lost > 0);
    cube_free(&out);
    cube_free(&scene);
}

/* The unit of a scene is found from the values that are there: every third. */
static void units_are_found_among_missing_values(void **state) {
    (void)state;
    HcText notes = {0};
    RunHow how = {.notes = &notes};
    Cube scene = write_scene("scene", 1, false);
    Cube large = write_scene("large", 1e4, false);
    for (size_t i = 0; i < PIXELS; i++) {
        for (size_t b = 0; b < BANDS; b++) {
            large.value[i * BANDS + b] = (i + b) % 3 == 0 ? large.value[i * BANDS + b] : NAN;
            scene.value[i * BANDS + b] = (i + b) % 3 == 0 ? scene.value[i * BANDS + b] : NAN;
        }
    }
    cube_write(&large, "large", HC_FLOAT32, "bsq", "data ignore value = -9999\n");
    cube_write(&scene, "scene", HC_FLOAT32, "bsq", "data ignore value = -9999\n");
    library_write("library.csv", 1, 0);
    check_runs(&how, "read large.img ! abundance --endmembers library.csv --residual ! write a.img");
    check_runs(NULL,
               "read scene.img ! abundance --endmembers library.csv --scale none --residual ! write b.img");
    assert_non_null(strstr(notes.data, "multiplied by 10000"));
    Cube a = cube_read_floats("a", LINES, SAMPLES, SPECTRA + 1);
    Cube b = cube_read_floats("b", LINES, SAMPLES, SPECTRA + 1);
    for (size_t i = 0; i < PIXELS; i++) {
        size_t at = i * (SPECTRA + 1) + SPECTRA;
        assert_int_equal(isnan(a.value[at]), !scene.valid[i]);
        if (scene.valid[i]) {
            check_near(a.value[at] / 1e4, b.value[at], 1e-6); /* scenes are rounded apart */
        }
    }
    hc_text_clear(&notes);
    cube_free(&b);
    cube_free(&a);
    cube_free(&large);
    cube_free(&scene);
}

/* ---- the sample scene, whose truth is known ---- */

/* outliers.img: the sample scene, of which each band of each pixel is anything with that probability. */
static void write_outliers(double probability) {
    char path[1024];
    uint64_t seed = 5;
    size_t bytes = 0;
    char *header = file_bytes(sample_path(path, sizeof path, "scene.hdr"), &bytes);
    FILE *file = fopen("outliers.hdr", "w");
    assert_non_null(file);
    assert_int_equal(fwrite(header, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
    free(header);
    char *values = file_bytes(sample_path(path, sizeof path, "scene.img"), &bytes);
    for (size_t at = 0; at < bytes; at += 2) {
        uint16_t value = (uint16_t)(1 + 10000 * random_uniform(&seed));
        bool hit = random_uniform(&seed) < probability;
        if (hit && (values[at] != 0 || values[at + 1] != 0)) { /* nodata stays */
            memcpy(values + at, &value, sizeof value);
        }
    }
    file = fopen("outliers.img", "w");
    assert_non_null(file);
    assert_int_equal(fwrite(values, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
    free(values);
}

/* Root mean square error of the abundances of the six materials. */
static double error_of(const char *scene, const char *options) {
    char path[1024];
    double squares = 0;
    double count = 0;
    check_runs(NULL, "read %s ! abundance --endmembers %s %s ! write out.img", scene,
               sample_path(path, sizeof path, "endmembers.sli"), options);
    Cube truth = cube_read_floats(sample_path(path, sizeof path, "abundance"), SIDE, SIDE, MATERIALS);
    Cube out = cube_read_floats("out", SIDE, SIDE, MATERIALS);
    for (size_t i = 0; i < cube_pixels(&truth); i++) {
        for (size_t m = 0; m < MATERIALS && truth.value[i * MATERIALS] >= 0; m++) {
            squares += pow(out.value[i * MATERIALS + m] - truth.value[i * MATERIALS + m], 2);
            count++;
        }
    }
    printf("sample scene%s, %s: RMSE %.4f\n", strcmp(scene, "outliers.img") == 0 ? " with outliers" : "",
           options, sqrt(squares / count));
    cube_free(&out);
    cube_free(&truth);
    return sqrt(squares / count);
}

static void outliers_count_little(void **state) {
    (void)state;
    char path[1024];
    sample_path(path, sizeof path, "scene.hdr");
    write_outliers(0.02);
    double absolute = error_of("outliers.img", "--norm l1");
    double squared = error_of("outliers.img", "--norm l2");
    assert_true(absolute < squared / 10);
    check_near(absolute, 0.0073, 0.0002);
    check_near(squared, 0.081, 0.002);
    /* Where there is nothing but normal noise, squares are a little better. */
    check_near(error_of(path, "--norm l1"), 0.0072, 0.0002);
    check_near(error_of(path, "--norm l2"), 0.0060, 0.0002);
}

/* ---- the record ---- */

/* Checks record.json against some.img, which has been written with --pivots --verify. */
static void check_record(const char *notes, bool l1) {
    cJSON *json = NULL;
    const cJSON *result = read_result(&json);
    const cJSON *proof = cJSON_GetObjectItemCaseSensitive(result, "proof");
    const cJSON *worst = cJSON_GetObjectItemCaseSensitive(proof, "worst");
    int32_t bands = SPECTRA + (l1 ? 4 : 2);
    Cube found = cube_read_floats("some", LINES, SAMPLES, bands);
    double pivots = 0;
    double error = -1;
    int error_at = 0;
    for (int i = 0; i < PIXELS; i++) {
        const double *pixel = found.value + (size_t)i * (size_t)bands;
        pivots += isnan(pixel[0]) ? 0 : pixel[SPECTRA];
        if (pixel[bands - 1] > error) {
            error = pixel[bands - 1];
            error_at = i;
        }
    }
    assert_non_null(strstr(notes, "pixels are proved: the largest error is "));
    assert_null(strstr(notes, "not proved"));
    check_spectra(result, &found);
    check_near(number_of(result, "largest_error"), error, 1e-6 * error);
    if (l1) {
        check_near(number_of(result, "pivots"), pivots, 0);
    }
    check_near(number_of(proof, "limit"), l1 ? 1e-9 : 1e-4, 0);
    check_near(number_of(proof, "pixels"), number_of(result, "pixels"), 0);
    check_near(number_of(proof, "not_proved_pixels"), 0, 0);
    check_near(number_of(worst, "error"), error, 0);
    check_near(number_of(worst, "line_from_0"), error_at / SAMPLES, 0);
    check_near(number_of(worst, "sample_from_0"), error_at % SAMPLES, 0);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(proof, "not_proved")), 0);
    cJSON_Delete(json);
    cube_free(&found);
}

static void check_record_l1(const char *notes) {
    check_record(notes, true);
}

static void check_record_l2(const char *notes) {
    check_record(notes, false);
}

static void records_sum_up(void **state) {
    (void)state;
    Cube scene = write_scene("scene", 1, true);
    check_counts("abundance --endmembers", "--pivots --verify", check_record_l1);
    check_counts("abundance --endmembers", "--norm l2 --pivots --verify", check_record_l2);
    cube_free(&scene);
}

/* ---- proofs ---- */

/* Two blocks of three lines of 50 pixels, whose second and last band holds errors; some pixels are masked. */
static void look_at_errors(HcAbundanceProof *proof, const float *error) {
    enum { WIDE = 50, HIGH = 3 };
    float data[2 * WIDE * HIGH];
    uint8_t mask[WIDE * HIGH];
    for (int64_t n = 0; n < 2; n++) {
        HcBlock block = {
            .data = data, .mask = mask, .line0 = n * HIGH, .lines = HIGH, .samples = WIDE, .bands = 2};
        for (size_t i = 0; i < WIDE * HIGH; i++) {
            data[2 * i] = INFINITY;
            data[2 * i + 1] = error[(size_t)n * WIDE * HIGH + i];
            mask[i] = i % 7 != 0;
        }
        hc_abundance_proof_add(proof, &block);
    }
}

static void pixels_without_proof_are_named(void **state) {
    (void)state;
    static const char *const words[] = {"read", "a.img", "!", "abundance", "--endmembers", "b.csv"};
    float error[300];
    HcChain *chain = NULL;
    HcError err = {0};
    check_ok(hc_chain_parse(&chain, words, 6, NULL, &err), err);
    HcStage *stage = &chain->stages[1];
    for (size_t i = 0; i < 300; i++) {
        error[i] = 1e-12F;
    }
    error[7] = 1; /* masked */
    error[203] = 3e-12F;
    HcAbundanceProof proof = {.limit = 1e-9};
    look_at_errors(&proof, error);
    hc_abundance_proof_note(stage, &proof);
    assert_string_equal(
        chain->notes[0],
        "abundance: all 256 pixels are proved: the largest error is 3e-12 (sample 3, line 4)");
    error[12] = 2e-9F;
    error[172] = NAN;
    error[299] = 5e-3F;
    proof = (HcAbundanceProof){.limit = 1e-9};
    look_at_errors(&proof, error);
    hc_abundance_proof_note(stage, &proof);
    assert_string_equal(
        chain->notes[1],
        "abundance: 3 of 256 pixels are not proved to 1e-09, the worst has an error of nan (sample "
        "22, line 3): sample 12, line 0 (2e-09); sample 22, line 3 (nan); sample 49, line 5 "
        "(0.005)");
    HcJson json;
    hc_json_begin(&json);
    hc_abundance_proof_json(&proof, &json);
    check_ok(hc_json_check(&json, "the proof", &err), err);
    const cJSON *told = cJSON_GetObjectItemCaseSensitive(json.root, "proof");
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(told, "not_proved");
    check_near(number_of(told, "not_proved_pixels"), 3, 0);
    assert_int_equal(cJSON_GetArraySize(list), 3);
    check_near(number_of(cJSON_GetArrayItem(list, 2), "sample_from_0"), 49, 0);
    check_near(number_of(cJSON_GetArrayItem(list, 2), "line_from_0"), 5, 0);
    const cJSON *worst = cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(list, 2), "error");
    check_near(strtod(worst->valuestring, NULL), (double)5e-3F, 0); /* raw until it is written */
    hc_json_clear(&json);
    /* More than anybody wants to read. */
    for (size_t i = 0; i < 300; i++) {
        error[i] = 1e-3F;
    }
    proof = (HcAbundanceProof){.limit = 1e-9};
    look_at_errors(&proof, error);
    hc_abundance_proof_note(stage, &proof);
    assert_non_null(strstr(chain->notes[2], "256 of 256 pixels are not proved"));
    assert_non_null(strstr(chain->notes[2], "; sample 5, line 0 (0.001); ..."));
    hc_json_begin(&json);
    hc_abundance_proof_json(&proof, &json);
    check_ok(hc_json_check(&json, "the proof", &err), err);
    told = cJSON_GetObjectItemCaseSensitive(json.root, "proof");
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(told, "not_proved")),
                     HC_PROOF_NAMED);
    hc_json_clear(&json);
    hc_chain_free(chain);
}

/* ---- the same bytes ---- */

static void blocks_threads_and_devices_agree(void **state) {
    (void)state;
    static const char *const chains[] = {
        "read scene.img ! abundance --endmembers library.csv --residual --verify ! filter median3x3 ! write "
        "out.img",
        "read scene.img ! abundance --endmembers library.csv --sum free --scale 1 --pivots ! write out.img",
        "read scene.img ! abundance --endmembers library.csv --sum shares --status ! filter median3x3 ! "
        "write "
        "out.img",
        "read scene.img ! abundance --endmembers library.csv --norm l2 --sum at-most-one --verify ! write "
        "out.img",
        "read scene.img ! bands 2-12 ! abundance --endmembers library.csv --sum at-most-one --status ! pca ! "
        "write out.img"};
    Cube scene = write_scene("scene", 1, true);
    library_write("library.csv", 1, 0);
    check_runs_agree(chains, sizeof chains / sizeof *chains, 10);
    cube_free(&scene);
}

static void masked_scenes_stay_masked(void **state) {
    (void)state;
    check_without_pixels("abundance --endmembers", "--verify", SPECTRA + 3);
    check_without_pixels("abundance --endmembers", "--norm l2 --verify", SPECTRA + 1);
}

static void failures_leave_nothing(void **state) {
    (void)state;
    static const char *const chains[] = {
        "read scene.img ! abundance --endmembers library.csv --verify ! write out.img",
        "read scene.img ! abundance --endmembers library.csv --scale none --norm l2 --sum at-most-one ! "
        "write "
        "out.img",
        "read scene.img ! abundance --endmembers library.csv --sum shares ! write out.img"};
    static const char *const results[] = {"out.img", "out.hdr", NULL};
    Cube scene = write_scene("scene", 1, true);
    library_write("library.csv", 1, 0);
    check_failures_leave_nothing(chains, 3, 10, results);
    cube_free(&scene);
}

/* ---- what cannot work ---- */

/* A library and a scene of that size without wavelengths. */
static void write_sized(const char *library, int spectra, const char *scene, int bands) {
    FILE *file = fopen(library, "w");
    assert_non_null(file);
    fprintf(file, "band");
    for (int k = 0; k < spectra; k++) {
        fprintf(file, ",m%d", k);
    }
    for (int b = 0; b < bands; b++) {
        fprintf(file, "\n%d", b + 1);
        for (int k = 0; k < spectra; k++) {
            fprintf(file, ",%g", 0.1 + 0.01 * ((b * b + 7 * k + k * k * b) % 53));
        }
    }
    assert_int_equal(fclose(file), 0);
    Cube cube = cube_new(2, 3, bands);
    for (size_t i = 0; i < cube_pixels(&cube) * (size_t)bands; i++) {
        cube.value[i] = 0.1 + 0.01 * (double)(i * i % 37);
    }
    cube_write(&cube, scene, HC_FLOAT32, "bip", NULL);
    cube_free(&cube);
}

static void sizes_are_limited(void **state) {
    (void)state;
    write_sized("m64.csv", 64, "b512", 512);
    check_runs(NULL, "read b512.img ! abundance --endmembers m64.csv --verify ! write out.img");
    Cube out = cube_read_floats("out", 2, 3, 67);
    for (size_t i = 0; i < 6; i++) {
        assert_true(out.value[i * 67 + 66] <= 1e-9);
    }
    cube_free(&out);
    write_sized("m65.csv", 65, "b512", 512);
    check_run_fails(NULL, HC_E_UNSUPPORTED, "m65.csv ... 65 endmembers ... at most 64",
                    "read b512.img ! abundance --endmembers m65.csv ! write bad.img");
    write_sized("m3.csv", 3, "b513", 513);
    check_run_fails(NULL, HC_E_UNSUPPORTED, "abundance: 513 bands ... at most 512",
                    "read b513.img ! abundance --endmembers m3.csv ! write bad.img");
    check_runs(NULL, "read b513.img ! bands 2-513 ! abundance --endmembers m3.csv ! write out.img");
}

static void wrong_options_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *chain;
        HcStatus status;
        const char *part;
    } cases[] = {{"abundance", HC_E_USAGE, "--endmembers"},
                 {"abundance --endmembers library.csv --sum two", HC_E_USAGE, "--sum two: must be one of"},
                 {"abundance --endmembers library.csv --norm l3", HC_E_USAGE, "--norm l3: "}};
    Cube scene = write_scene("scene", 1, true);
    check_library_refusals("abundance --endmembers");
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        check_run_fails(NULL, cases[c].status, cases[c].part, "read scene.img ! %s ! write bad.img",
                        cases[c].chain);
    }
    assert_false(file_exists("bad.img"));
    cube_free(&scene);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(abundances_are_the_optimum),
        IN_FOLDER(shares_are_free_abundances_over_their_sum),
        IN_FOLDER(bands_are_added),
        IN_FOLDER(squares_are_those_of_unmix),
        IN_FOLDER(stages_before_may_need_whole_pixels),
        IN_FOLDER(missing_bands_are_left_out),
        IN_FOLDER(bands_may_leave_nothing),
        IN_FOLDER(units_are_found_among_missing_values),
        IN_FOLDER(outliers_count_little),
        IN_FOLDER(records_sum_up),
        cmocka_unit_test(pixels_without_proof_are_named),
        IN_FOLDER(blocks_threads_and_devices_agree),
        IN_FOLDER(masked_scenes_stay_masked),
        IN_FOLDER(failures_leave_nothing),
        IN_FOLDER(sizes_are_limited),
        IN_FOLDER(wrong_options_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
