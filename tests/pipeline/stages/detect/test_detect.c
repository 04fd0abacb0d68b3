/* detect: scores of every method against their formulas in long double, with an inverse by Gauss and Jordan
 * written here; targets from a library and from pixels; a planted gas; what is refused. */
#include "tests/support/reference.h"
#include "tests/support/strict_runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINES = 41, SAMPLES = 37, BANDS = 7, TARGETS = 3 };

typedef long double Real;

/* Spectra unlike each other and unlike the scene, as they stand in targets.csv. */
static double target_value(int target, int band) {
    return 2000 + 300 * target + 250 * ((band * (target + 2)) % 5) + 7 * band;
}

static const char *const target_names[TARGETS] = {"roof", "tar", "oak"};

static void write_targets(const char *name, double factor) {
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    fprintf(file, "name");
    for (int b = 0; b < BANDS; b++) {
        fprintf(file, ",%d", 500 + 10 * b);
    }
    for (int t = 0; t < TARGETS; t++) {
        fprintf(file, "\n%s", target_names[t]);
        for (int b = 0; b < BANDS; b++) {
            fprintf(file, ",%.9g", target_value(t, b) * factor);
        }
    }
    fprintf(file, "\n");
    assert_int_equal(fclose(file), 0);
}

static const char *const wavelengths =
    "wavelength units = Nanometers\nwavelength = {500, 510, 520, 530, 540, 550, 560}\n";

static void invert(const Real *matrix, Real *inverse) {
    Real work[BANDS][2 * BANDS] = {{0}};
    for (int i = 0; i < BANDS; i++) {
        work[i][BANDS + i] = 1;
        for (int j = 0; j < BANDS; j++) {
            work[i][j] = matrix[i * BANDS + j];
        }
    }
    for (int i = 0; i < BANDS; i++) {
        Real pivot = work[i][i]; /* positive: the matrix is positive definite */
        assert_true(pivot > 0);
        for (int j = 0; j < 2 * BANDS; j++) {
            work[i][j] /= pivot;
        }
        for (int k = 0; k < BANDS; k++) {
            Real factor = work[k][i];
            for (int j = 0; j < 2 * BANDS && k != i; j++) {
                work[k][j] -= factor * work[i][j];
            }
        }
    }
    for (int i = 0; i < BANDS * BANDS; i++) {
        inverse[i] = work[i / BANDS][BANDS + i % BANDS];
    }
}

/* a' M b; M NULL = 1. */
static Real form(const Real *a, const Real *matrix, const Real *b) {
    Real sum = 0;
    for (int i = 0; i < BANDS; i++) {
        for (int j = 0; j < BANDS && matrix != NULL; j++) {
            sum += a[i] * matrix[i * BANDS + j] * b[j];
        }
        sum += matrix == NULL ? a[i] * b[i] : 0;
    }
    return sum;
}

/* What all formulas need of a scene. */
typedef struct Known {
    Real mean[BANDS];
    Real covariance[BANDS * BANDS];
    Real inverse[BANDS * BANDS];  /* of the covariance */
    Real products[BANDS * BANDS]; /* the inverse of the mean of x x' */
    double pixels;
} Known;

static Known know(const Cube *cube, Real share) {
    double mean[BANDS], covariance[BANDS * BANDS];
    Known known = {.pixels = (double)reference_covariance(cube, mean, covariance)};
    Real products[BANDS * BANDS];
    Real trace = 0;
    for (int b = 0; b < BANDS; b++) {
        known.mean[b] = (Real)mean[b];
        trace += (Real)covariance[b * BANDS + b];
    }
    for (int i = 0; i < BANDS * BANDS; i++) {
        int b = i / BANDS, c = i % BANDS;
        known.covariance[i] = (1 - share) * (Real)covariance[i] + (b == c ? share * trace / BANDS : 0);
        products[i] =
            known.covariance[i] * (Real)((known.pixels - 1) / known.pixels) + known.mean[b] * known.mean[c];
    }
    invert(known.covariance, known.inverse);
    invert(products, known.products);
    return known;
}

/* t'P x / (t'P t), with P by the normal equations of the two other targets. */
static Real score_osp(const Real *x, int target) {
    Real u[2][BANDS], t[BANDS], projected[BANDS];
    for (int b = 0; b < BANDS; b++) {
        t[b] = (Real)target_value(target, b);
        u[0][b] = (Real)target_value((target + 1) % TARGETS, b);
        u[1][b] = (Real)target_value((target + 2) % TARGETS, b);
    }
    Real aa = form(u[0], NULL, u[0]), ab = form(u[0], NULL, u[1]), bb = form(u[1], NULL, u[1]);
    Real ta = form(u[0], NULL, t), tb = form(u[1], NULL, t);
    Real one = (bb * ta - ab * tb) / (aa * bb - ab * ab);
    Real two = (aa * tb - ab * ta) / (aa * bb - ab * ab);
    for (int b = 0; b < BANDS; b++) {
        projected[b] = t[b] - one * u[0][b] - two * u[1][b];
    }
    return form(projected, NULL, x) / form(projected, NULL, t);
}

static Real score_sid(const Real *x, const Real *t) {
    Real x_sum = 0, t_sum = 0, sum = 0;
    for (int b = 0; b < BANDS; b++) {
        x_sum += x[b];
        t_sum += t[b];
    }
    for (int b = 0; b < BANDS; b++) {
        Real p = x[b] / x_sum, q = t[b] / t_sum;
        sum += p * logl(p / q) + q * logl(q / p);
    }
    return sum;
}

/* The score of a pixel by its formula. */
static Real score_of(const char *method, const Known *known, const double *pixel, int target) {
    Real x[BANDS], t[BANDS], z[BANDS], d[BANDS];
    for (int b = 0; b < BANDS; b++) {
        x[b] = (Real)pixel[b];
        t[b] = (Real)target_value(target, b);
        z[b] = x[b] - known->mean[b];
        d[b] = t[b] - known->mean[b];
    }
    Real zd = form(z, known->inverse, d), dd = form(d, known->inverse, d), zz = form(z, known->inverse, z);
    if (strcmp(method, "mf") == 0) {
        return zd / dd;
    }
    if (strcmp(method, "cem") == 0) {
        return form(x, known->products, t) / form(t, known->products, t);
    }
    if (strcmp(method, "ace") == 0) {
        return zd * fabsl(zd) / (dd * zz);
    }
    if (strcmp(method, "amf") == 0) {
        return zd * fabsl(zd) / dd;
    }
    if (strcmp(method, "osp") == 0) {
        return score_osp(x, target);
    }
    if (strcmp(method, "sid") == 0) {
        return score_sid(x, t);
    }
    assert_string_equal(method, "sam");
    return acosl(form(x, NULL, t) / sqrtl(form(x, NULL, x) * form(t, NULL, t)));
}

/* Scores are right to 1e-6 of the largest of their band. */
static void check_scores(const char *name, const char *method, const Cube *cube, const Known *known) {
    Cube got = cube_read_floats(name, cube->lines, cube->samples, TARGETS);
    for (int t = 0; t < TARGETS; t++) {
        double largest = 1;
        for (int turn = 0; turn < 2; turn++) {
            for (size_t p = 0; p < cube_pixels(cube); p++) {
                double value = got.value[p * TARGETS + (size_t)t];
                if (!cube->valid[p]) {
                    assert_true(isnan(value));
                    continue;
                }
                double expected = (double)score_of(method, known, cube->value + p * BANDS, t);
                largest = fmax(largest, fabs(expected));
                if (turn == 1) {
                    check_near(value, expected, 1e-6 * (strcmp(method, "amf") == 0 ? largest : 1));
                }
            }
        }
    }
    cube_free(&got);
}

static const char *const methods[] = {"mf", "cem", "ace", "amf", "osp", "sam", "sid"};

static void scores_agree_with_formulas(void **state) {
    (void)state;
    write_targets("targets.csv", 1);
    char more[256];
    snprintf(more, sizeof more, "%sdata ignore value = 0\n", wavelengths);
    for (int round = 0; round < 2; round++) {
        Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 1 + (uint64_t)round, round == 0);
        cube_border(&cube, 0);
        cube_write(&cube, "scene", round == 0 ? HC_INT16 : HC_FLOAT32, "bil", more);
        if (round == 1) { /* what the file has of it */
            for (size_t i = 0; i < cube_pixels(&cube) * BANDS; i++) {
                cube.value[i] = (double)(float)cube.value[i];
            }
        }
        Known known = know(&cube, 0);
        for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
            check_runs(
                NULL,
                "read scene.img ! detect --method %s --targets targets.csv --scale none ! write out.img "
                "--nodata nan",
                methods[m]);
            check_scores("out", methods[m], &cube, &known);
        }
        cube_free(&cube);
    }
    assert_true(file_holds("out.hdr", "roof"));
}

/* The file of cov instead of the scene, a share of the unit matrix, and a library in another unit. */
static void background_may_be_another(void **state) {
    (void)state;
    write_targets("targets.csv", 1e-4);
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 3, true);
    Cube other = cube_smooth(LINES, SAMPLES, BANDS, 4, true);
    cube_write(&cube, "scene", HC_UINT16, "bil", wavelengths);
    cube_write(&other, "other", HC_UINT16, "bsq", wavelengths);
    Known known = know(&other, 0);
    check_runs(NULL, "read other.img ! cov other.json");
    check_runs(NULL, "read scene.img ! detect --method mf --targets targets.csv --scale 10000 --background "
                     "other.json ! write out.img");
    check_scores("out", "mf", &cube, &known);
    known = know(&cube, 0.25L);
    for (size_t m = 0; m < 4; m++) {
        check_runs(NULL,
                   "read scene.img ! detect --method %s --targets targets.csv --scale 10000 --shrink 0.25 ! "
                   "write out.img",
                   methods[m]);
        check_scores("out", methods[m], &cube, &known);
    }
    known = know(&cube, 0);
    Real trace = 0, squares = 0, n = (Real)known.pixels, p = BANDS;
    for (int i = 0; i < BANDS * BANDS; i++) {
        trace += i % (BANDS + 1) == 0 ? known.covariance[i] : 0;
        squares += known.covariance[i] * known.covariance[i];
    }
    Real oas = ((1 - 2 / p) * squares + trace * trace) / ((n + 1 - 2 / p) * (squares - trace * trace / p));
    known = know(&cube, oas);
    check_runs(NULL, "read scene.img ! detect --method mf --targets targets.csv --scale 10000 --shrink oas ! "
                     "write out.img");
    check_scores("out", "mf", &cube, &known);
    known = know(&cube, 0);
    Real lw = ((n - 2) / n * squares + trace * trace) / ((n + 2) * (squares - trace * trace / p));
    known = know(&cube, lw);
    check_runs(NULL, "read scene.img ! detect --method mf --targets targets.csv --scale 10000 --shrink "
                     "rao-blackwell ! write out.img");
    check_scores("out", "mf", &cube, &known);
    known = know(&cube, (Real)reference_ledoit_wolf(&cube));
    check_runs(NULL, "read scene.img ! detect --method mf --targets targets.csv --scale 10000 --shrink "
                     "ledoit-wolf ! write out.img");
    check_scores("out", "mf", &cube, &known);
    check_run_fails(NULL, HC_E_USAGE, "--shrink ledoit-wolf needs the pixels",
                    "read scene.img ! detect --targets targets.csv --background other.json --shrink "
                    "ledoit-wolf ! write bad.img");
    cube_free(&cube);
    cube_free(&other);
}

/* Shares and distances from the components that mnf leaves, by their definition. */
static void mixtures_behind_mnf(void **state) {
    (void)state;
    double mean[BANDS], covariance[BANDS * BANDS], noise[BANDS * BANDS], values[BANDS];
    double forward[BANDS * BANDS];
    write_targets("targets.csv", 1);
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 5, true);
    cube_border(&cube, 0);
    char more[256];
    snprintf(more, sizeof more, "%sdata ignore value = 0\n", wavelengths);
    cube_write(&cube, "scene", HC_UINT16, "bil", more);
    (void)reference_covariance(&cube, mean, covariance);
    (void)reference_noise(&cube, NOISE_MEAN3X3, NULL, noise);
    reference_mnf(BANDS, covariance, noise, values, forward);
    enum { KEPT = 4 };
    check_runs(
        NULL, "read scene.img ! mnf --components 4 ! detect --method mtmf --targets targets.csv --scale none "
              "! write out.img --nodata nan");
    Cube got = cube_read_floats("out", LINES, SAMPLES, 2 * TARGETS);
    for (size_t at = 0; at < cube_pixels(&cube) * TARGETS; at++) {
        size_t p = at / TARGETS;
        int t = (int)(at % TARGETS);
        double y[KEPT] = {0}, target[KEPT] = {0}, yt = 0, tt = 0, apart = 0;
        for (int k = 0; k < KEPT; k++) {
            for (int b = 0; b < BANDS; b++) {
                y[k] += forward[b * BANDS + k] * (cube.value[p * BANDS + (size_t)b] - mean[b]);
                target[k] += forward[b * BANDS + k] * (target_value(t, b) - mean[b]);
            }
            yt += y[k] * target[k] / values[k];
            tt += target[k] * target[k] / values[k];
        }
        double share = yt / tt;
        double within = fmin(fmax(share, 0), 1);
        for (int k = 0; k < KEPT; k++) {
            double rest = (y[k] - share * target[k]) / (sqrt(values[k]) * (1 - within) + within);
            apart += rest * rest / KEPT;
        }
        if (cube.valid[p]) {
            check_near(got.value[2 * at], share, 1e-6);
            check_near(got.value[2 * at + 1], sqrt(apart), 1e-5 * sqrt(apart) + 1e-5);
        } else {
            assert_true(isnan(got.value[2 * at]) && isnan(got.value[2 * at + 1]));
        }
    }
    assert_true(file_holds("out.hdr", "oak infeasibility"));
    cube_free(&got);
    /* With all components a filter has the scores that it has in front of the transform. */
    Known known = know(&cube, 0);
    check_runs(NULL,
               "read scene.img ! mnf --keep-all ! detect --method mf --targets targets.csv --scale none ! "
               "write out.img --nodata nan");
    check_scores("out", "mf", &cube, &known);
    check_run_fails(NULL, HC_E_USAGE, "mnf right before it",
                    "read scene.img ! detect --method mtmf --targets targets.csv ! write bad.img");
    check_run_fails(NULL, HC_E_USAGE, "mnf right before it",
                    "read scene.img ! pca ! detect --method mtmf --targets targets.csv ! write bad.img");
    cube_free(&cube);
}

/* A pixel of the scene is its own best match; its score is known. */
static void pixels_are_targets(void **state) {
    (void)state;
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 6, true);
    cube_border(&cube, 0);
    char more[256];
    snprintf(more, sizeof more, "%sdata ignore value = 0\n", wavelengths);
    cube_write(&cube, "scene", HC_UINT16, "bil", more);
    write_targets("targets.csv", 1);
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
        bool low = m >= 5;
        check_runs(NULL,
                   "read scene.img ! detect --method %s --targets targets.csv --spectra tar --scale none "
                   "--target-at 20,30 --target-at 9,12 ! write out.img --nodata nan",
                   methods[m]);
        Cube got = cube_read_floats("out", LINES, SAMPLES, 3);
        if (m != 3) {
            check_near(cube_pixel(&got, 30, 20)[1], low ? 0 : 1, 1e-6);
            check_near(cube_pixel(&got, 12, 9)[2], low ? 0 : 1, 1e-6);
        }
        assert_true(fabs(cube_pixel(&got, 12, 9)[1] - (low ? 0 : 1)) > 1e-3);
        cube_free(&got);
    }
    assert_true(file_holds("out.hdr", "sample 20 line 30"));
    check_run_fails(NULL, HC_E_NUMERIC, "--target-at 3,0: the pixel is masked",
                    "read scene.img ! detect --target-at 3,0 ! write bad.img");
    check_run_fails(NULL, HC_E_USAGE, "37 samples x 41 lines",
                    "read scene.img ! detect --target-at 37,5 ! write bad.img");
    check_run_fails(NULL, HC_E_USAGE, "given twice",
                    "read scene.img ! detect --target-at 7,5 --target-at 7,5 ! write bad.img");
    check_run_fails(NULL, HC_E_USAGE, "not SAMPLE,LINE in whole numbers from 0",
                    "read scene.img ! detect --target-at 5 ! write bad.img");
    cube_free(&cube);
}

/* Amounts of a gas that takes a share of the light, in the unit of its spectrum. */
static void absorption_gives_amounts(void **state) {
    (void)state;
    static const double absorbs[BANDS] = {0, 0, -1e-4, -3e-4, -2e-4, 0, -5e-5};
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 7, false);
    double mean[BANDS], covariance[BANDS * BANDS];
    cube_write(&cube, "clean", HC_FLOAT32, "bil", wavelengths);
    check_runs(NULL, "read clean.img ! cov clean.json");
    (void)reference_covariance(&cube, mean, covariance);
    for (int b = 0; b < BANDS; b++) {
        cube_pixel(&cube, 11, 7)[b] = mean[b] * (1 + 800 * absorbs[b]);
    }
    cube_write(&cube, "scene", HC_FLOAT32, "bil", wavelengths);
    file_write("gas.csv",
               "wavelength,CH4\n500,0\n510,0\n520,-1e-4\n530,-3e-4\n540,-2e-4\n550,0\n560,-5e-5\n");
    check_runs(NULL,
               "read scene.img ! detect --method mf --absorption --targets gas.csv --background clean.json "
               "! write out.img");
    Cube got = cube_read_floats("out", LINES, SAMPLES, 1);
    check_near(cube_pixel(&got, 11, 7)[0], 800, 0.01);
    cube_free(&got);
    cube_free(&cube);
    check_run_fails(NULL, HC_E_USAGE, "--absorption",
                    "read scene.img ! detect --method cem --absorption --targets gas.csv ! write bad.img");
    check_run_fails(NULL, HC_E_USAGE, "--absorption excludes --target-at",
                    "read scene.img ! detect --method mf --absorption --target-at 4,3 ! write bad.img");
}

static void refusals(void **state) {
    (void)state;
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 8, true);
    cube_write(&cube, "scene", HC_UINT16, "bil", wavelengths);
    Cube tiny = cube_smooth(2, 3, BANDS, 8, true);
    cube_write(&tiny, "tiny", HC_UINT16, "bil", wavelengths);
    Cube plain = cube_smooth(LINES, SAMPLES, BANDS - 1, 8, true);
    cube_write(&plain, "plain", HC_UINT16, "bil", NULL);
    write_targets("targets.csv", 1);
    file_write("zero.csv",
               "wavelength,shade,two\n500,0,1\n510,1,2\n520,1,2\n530,2,4\n540,1,2\n550,1,2\n560,1,2\n");
    file_write("same.csv",
               "wavelength,one,two\n500,1,2\n510,1,2\n520,1,2\n530,2,4\n540,1,2\n550,1,2\n560,1,2\n");
    check_run_fails(NULL, HC_E_USAGE, "give --targets or --target-at",
                    "read scene.img ! detect --method mf ! write bad.img");
    check_run_fails(NULL, HC_E_USAGE, "mff", "read scene.img ! detect --method mff ! write bad.img");
    check_run_fails(NULL, HC_E_USAGE, "brick",
                    "read scene.img ! detect --targets targets.csv --spectra brick ! write bad.img");
    check_run_fails(NULL, HC_E_USAGE, "there are no --targets",
                    "read scene.img ! detect --target-at 1,1 --spectra brick ! write bad.img");
    check_run_fails(NULL, HC_E_INPUT, "none.csv",
                    "read scene.img ! detect --targets none.csv ! write bad.img");
    check_run_fails(NULL, HC_E_INPUT, "targets.csv",
                    "read plain.img ! detect --targets targets.csv ! write bad.img");
    check_run_fails(NULL, HC_E_NUMERIC, "has 6 pixels ... 7 bands need",
                    "read tiny.img ! detect --targets targets.csv --scale none ! write bad.img");
    check_runs(NULL,
               "read tiny.img ! detect --targets targets.csv --scale none --shrink 0.5 ! write good.img");
    check_run_fails(NULL, HC_E_INPUT, "target \"shade\" is 0 in band 1",
                    "read scene.img ! detect --method sid --targets zero.csv ! write bad.img");
    check_run_fails(NULL, HC_E_NUMERIC, "\"one\" is a combination of the others",
                    "read scene.img ! detect --method osp --targets same.csv --scale none ! write bad.img");
    check_run_fails(
        NULL, HC_E_USAGE, "--method sam has no background",
        "read scene.img ! detect --method sam --targets targets.csv --shrink 0.1 ! write bad.img");
    check_run_fails(NULL, HC_E_USAGE, "did you mean ledoit-wolf",
                    "read scene.img ! detect --targets targets.csv --shrink ledoitwolf ! write bad.img");
    check_runs(NULL, "read scene.img ! cov noise.json --noise shift");
    check_run_fails(NULL, HC_E_INPUT, "noise.json: statistics of noise",
                    "read scene.img ! detect --targets targets.csv --background noise.json ! write bad.img");
    cube_free(&cube);
    cube_free(&tiny);
    cube_free(&plain);
}

static void contract(void **state) {
    (void)state;
    check_stage_contract("detect --method mf --target-at 3,20 --target-at 2,4");
    check_stage_contract("detect --method ace --target-at 3,20 --shrink oas");
    check_stage_contract("detect --method mf --target-at 3,20 --shrink ledoit-wolf");
    check_stage_contract("detect --method sam --target-at 3,20");
    check_stage_contract("detect --method osp --target-at 3,20 --target-at 2,4");
}

static void contract_of_libraries(void **state) {
    (void)state;
    file_write("four.csv", "band,one,two\n1,100,200\n2,150,120\n3,10,90\n4,50,5\n");
    check_stage_contract("detect --method amf --targets four.csv --scale auto");
    check_stage_contract("detect --method sid --targets four.csv");
    check_stage_contract("mnf --keep-all ! detect --method mtmf --targets four.csv");
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(scores_agree_with_formulas),
        IN_FOLDER(background_may_be_another),
        IN_FOLDER(mixtures_behind_mnf),
        IN_FOLDER(pixels_are_targets),
        IN_FOLDER(absorption_gives_amounts),
        IN_FOLDER(refusals),
        IN_FOLDER(contract),
        IN_FOLDER(contract_of_libraries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
