/* --verify on another backend: every band of every stage passes with the rounding of that backend, and does
 * not where it is wrong. */
#include "core/operation/table.h"
#include "cpu/cpu.h"
#include "io/file.h"
#include "tests/support/scene_files.h"
#include "tests/support/strict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINES = 40, SAMPLES = 48, BANDS = 7, SPECTRA = 3 };

/* Mixtures of three spectra: without noise in the first lines, so that residuals are rounding. The last band
 * is dark, and the one before it is the sum of two others, so that one component is rounding, too. */
static void write_files(void) {
    static const double spectrum[SPECTRA][BANDS] = {{900, 2100, 3000, 3900, 5200, 5100, 2},
                                                    {4100, 3200, 2500, 1400, 800, 6600, 1},
                                                    {500, 700, 4800, 700, 900, 1200, 3}};
    uint64_t seed = 5;
    Cube cube = cube_new(LINES, SAMPLES, BANDS);
    for (int32_t i = 0; i < LINES * SAMPLES; i++) {
        double part[SPECTRA] = {random_uniform(&seed), random_uniform(&seed), random_uniform(&seed)};
        double *pixel = cube_pixel(&cube, i / SAMPLES, i % SAMPLES);
        part[i % SPECTRA] = i % 5 == 0 ? 0 : part[i % SPECTRA];
        double sum = part[0] + part[1] + part[2];
        for (int b = 0; b < BANDS; b++) {
            for (int k = 0; k < SPECTRA; k++) {
                pixel[b] += part[k] / sum * spectrum[k][b];
            }
            pixel[b] += i < 12 * SAMPLES ? 0 : 0.01 * spectrum[0][b] * random_normal(&seed);
        }
        pixel[5] = i < 12 * SAMPLES ? pixel[5] : pixel[0] + pixel[1];
    }
    cube_pixel(&cube, 20, 20)[1] = NAN;
    cube_write(&cube, "scene", HC_FLOAT32, "bip", NULL);
    cube_free(&cube);
    FILE *file = fopen("library.csv", "w");
    assert_non_null(file);
    fprintf(file, "wavelength_nm,one,two,three\n");
    for (int b = 0; b < BANDS; b++) {
        fprintf(file, "%d,%g,%g,%g\n", 400 + 100 * b, spectrum[0][b], spectrum[1][b], spectrum[2][b]);
    }
    assert_int_equal(fclose(file), 0);
    check_runs(NULL, "read scene.img ! kmeans --clusters 3 ! write classes.img");
}

static HcStatus open_cpu(const void *user, HcCompute **out, HcError *err) {
    const HcComputeConfig config = {.threads = 2};
    (void)user;
    return hc_compute_open(hc_cpu_ops(), &config, out, err);
}

/* ---- a backend that rounds otherwise ---- */

/* Counts, classes and zeros stay. */
static void roughen(const HcBlock *out, double noise) {
    uint64_t seed = 9;
    for (size_t i = 0; i < hc_block_values(out); i++) {
        double value = (double)out->data[i];
        if (value != rint(value)) {
            out->data[i] =
                (float)(value * (1 + 2e-7 * (random_uniform(&seed) - 0.5)) + noise * random_uniform(&seed));
        }
    }
}

#define ROUGH(name, parameters, arguments)                                                                   \
    static HcStatus name##_roughly parameters {                                                              \
        HC_OR_RETURN(hc_cpu_ops()->name arguments);                                                          \
        roughen(out, 2e-15);                                                                                 \
        return HC_OK;                                                                                        \
    }

ROUGH(filter, (HcQueue * queue, const HcBlock *in, HcFilter kind, const HcBlock *out, HcError *err),
      (queue, in, kind, out, err))
/* Sums have the rounding of their largest terms. */
static HcStatus project_roughly(HcQueue *queue, const HcBlock *in, const double *matrix,
                                const double *in_offset, const double *out_offset, const HcBlock *out,
                                HcError *err) {
    float largest = 0;
    HC_OR_RETURN(hc_cpu_ops()->project(queue, in, matrix, in_offset, out_offset, out, err));
    for (size_t i = 0; i < hc_block_values(in); i++) {
        largest = fmaxf(largest, fabsf(in->data[i]));
    }
    roughen(out, 0x1p-48 * (double)largest);
    return HC_OK;
}

ROUGH(reduce,
      (HcQueue * queue, const HcBlock *in, HcReduction kind, const double *targets, const HcBlock *out,
       HcError *err),
      (queue, in, kind, targets, out, err))
ROUGH(vote,
      (HcQueue * queue, const HcBlock *in, const int32_t *index, const double *distance, const int32_t *label,
       const HcVoteRule *rule, const HcBlock *out, HcError *err),
      (queue, in, index, distance, label, rule, out, err))
ROUGH(patches, (HcQueue * queue, const HcBlock *in, HcPatches *patches, const HcBlock *out, HcError *err),
      (queue, in, patches, out, err))
ROUGH(local, (HcQueue * queue, const HcBlock *in, HcLocal *local, const HcBlock *out, HcError *err),
      (queue, in, local, out, err))
ROUGH(unmix, (HcQueue * queue, const HcBlock *in, HcUnmixing *unmixing, const HcBlock *out, HcError *err),
      (queue, in, unmixing, out, err))
ROUGH(lad, (HcQueue * queue, const HcBlock *in, HcLad *lad, const HcBlock *out, HcError *err),
      (queue, in, lad, out, err))
ROUGH(column_scores,
      (HcQueue * queue, const HcBlock *in, const HcColumnScoring *how, const HcBlock *out, HcError *err),
      (queue, in, how, out, err))

/* Ends elsewhere, within the same gap. */
static HcStatus unmix_open_closer(HcCompute *compute, const HcUnmixRule *rule, HcUnmixing **out,
                                  HcError *err) {
    HcUnmixRule closer = *rule;
    closer.gap = rule->gap / 30;
    return hc_cpu_ops()->unmix_open(compute, &closer, out, err);
}

static HcComputeOps rough_ops(void) {
    HcComputeOps ops = *hc_cpu_ops();
    ops.name = "rough";
    ops.filter = filter_roughly;
    ops.project = project_roughly;
    ops.reduce = reduce_roughly;
    ops.vote = vote_roughly;
    ops.patches = patches_roughly;
    ops.local = local_roughly;
    ops.unmix_open = unmix_open_closer;
    ops.unmix = unmix_roughly;
    ops.lad = lad_roughly;
    ops.column_scores = column_scores_roughly;
    return ops;
}

/* ---- a file in which one band is wrong ---- */

typedef struct Wrong {
    int32_t band;
    double by; /* added, with a share of the largest value */
} Wrong;

static HcStatus spoil_and_open(const void *user, HcCompute **out, HcError *err) {
    const Wrong *wrong = user;
    enum { PIXELS = LINES * SAMPLES };
    static float value[PIXELS];
    char *lies = NULL;
    float largest = 0;
    assert_int_equal(hc_file_find("out.img", &lies, err), HC_OK);
    FILE *file = fopen(lies, "r+b");
    assert_non_null(file);
    long at = (long)sizeof value * wrong->band;
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    assert_int_equal(fread(value, sizeof *value, PIXELS, file), PIXELS);
    for (int i = 0; i < PIXELS; i++) {
        largest = value[i] > largest ? value[i] : largest;
    }
    for (int i = 0; i < PIXELS; i++) {
        value[i] += 0.02F * largest + (float)wrong->by;
    }
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    assert_int_equal(fwrite(value, sizeof *value, PIXELS, file), PIXELS);
    assert_int_equal(fclose(file), 0);
    free(lies);
    return open_cpu(NULL, out, err);
}

/* ---- all bands of all stages ---- */

static const struct {
    const char *chain;
    int32_t bands;
    int32_t steps; /* 1 + the band that counts the steps of a solver; 0 = none */
} cases[] = {
    {"abundance --endmembers library.csv --residual --status --verify", SPECTRA + 5, 0},
    {"abundance --endmembers library.csv --sum one --residual --verify", SPECTRA + 4, 0},
    {"abundance --endmembers library.csv --norm l2 --residual --status --pivots --verify", SPECTRA + 4,
     SPECTRA + 3},
    {"unmix --library library.csv --add rmse,iterations,gap,end", SPECTRA + 4, SPECTRA + 2},
    {"unmix --library library.csv --top 2 --add rmse,gap", 6, 0},
    {"unmix --library library.csv --sum-to-one --add gap,rmse", SPECTRA + 2, 0},
    {"unmix --library library.csv --solver fista --add rmse,iterations,gap,end", SPECTRA + 4, SPECTRA + 2},
    {"unmix --library library.csv --solver alm --add gap", SPECTRA + 1, 0},
    {"abundance --endmembers library.csv --verify ! bands 6", 1, 0},
    {"abundance --endmembers library.csv --verify ! filter median3x3", SPECTRA + 3, 0},
    {"mnf", BANDS, 0},
    {"pca", BANDS, 0},
    {"pca ! bands 7", 1, 0},
    {"pca ! pca --inverse", BANDS, 0},
    {"mnf --denoise --components 2", BANDS, 0},
    {"denoise --components 3", BANDS, 0},
    {"denoise --components 3 ! bands 7", 1, 0},
    {"denoise --components 3 --sigma-map", 1, 0},
    {"svd --noise 20 --side 8", BANDS, 0},
    {"svd --noise 20 --output dimension --values 4 --side 8", 5, 0},
    {"rx --rates both", 3, 0},
    {"bands 1,3 ! rx --side 11 --guard 3 --rates rank", 2, 0},
    {"detect --targets library.csv --method sam --rates rank", 2 * SPECTRA, 0},
    {"detect --targets library.csv --method sid", SPECTRA, 0},
    {"detect --targets library.csv --method osp", SPECTRA, 0},
    {"detect --targets library.csv --method ace --rates both", 3 * SPECTRA, 0},
    {"detect --targets library.csv --method mf --by columns=24", SPECTRA, 0},
    {"mnf --components 4 ! detect --targets library.csv --method mtmf", 2 * SPECTRA, 0},
    {"knn --training library.csv -k 1 --confidence --distance --neighbours", 4, 0},
    {"classify --training library.csv --method sam --rules --distance", 2 + SPECTRA, 0},
    {"classify --training library.csv --method sid --rules --distance", 2 + SPECTRA, 0},
    {"classify --training classes.img --method distance --rules --distance", 2 + SPECTRA, 0},
    {"bands 1-4 ! classify --training classes.img --method lda --confidence --rules", 2 + SPECTRA, 0},
    {"bands 1-4 ! classify --training classes.img --method ml --confidence --rules --distance", 3 + SPECTRA,
     0},
    {"classify --training classes.img --method svm --rules", 1 + SPECTRA, 0},
    {"knn --training classes.img -k 5 --vote distance --confidence --metric angle", 2, 0},
    {"kmeans --clusters 4 --distance", 2, 0},
    {"filter mean3x3", BANDS, 0},
};

enum { CASES = sizeof cases / sizeof *cases };

static void check_passes(const char *chain, const HcComputeOps *ops) {
    HcVerify verify = {.tiles = 100, .open = open_cpu};
    RunHow how = {.ops = ops, .verify = &verify};
    check_runs(&how, "read scene.img ! %s ! write out.img --overwrite", chain);
    assert_true(verify.check.values > 0 && verify.check.differing == 0);
    hc_verify_clear(&verify);
}

/* Bands that are rounding alone, without those that they are the rounding of. */
static void write_degenerate_files(void) {
    uint64_t seed = 6;
    Cube cube = cube_new(LINES, SAMPLES, BANDS);
    for (int32_t i = 0; i < LINES * SAMPLES; i++) {
        double *pixel = cube_pixel(&cube, i / SAMPLES, i % SAMPLES);
        for (int b = 0; b < BANDS; b++) {
            pixel[b] = b < 5 ? (double)random_between(&seed, 1, 9000) : pixel[b - 5] + pixel[b - 4];
        }
    }
    cube_write(&cube, "ranks", HC_UINT16, "bip", NULL);
    for (int32_t i = 0; i < LINES * SAMPLES; i++) {
        static const double first[BANDS] = {900, 2100, 3000, 3900, 5200, 5100, 2};
        double *pixel = cube_pixel(&cube, i / SAMPLES, i % SAMPLES);
        for (int b = 0; b < BANDS; b++) {
            pixel[b] = first[b] * (1 + 0.001 * (double)(i % 7));
        }
    }
    cube_write(&cube, "pure", HC_FLOAT32, "bip", NULL);
    cube_free(&cube);
}

static const char *const degenerate[] = {
    "read ranks.img ! pca",
    "read ranks.img ! pca ! bands 6",
    "read ranks.img ! pca ! bands 7",
    "read ranks.img ! mnf ! bands 4-5",
    "read pure.img ! detect --targets library.csv --spectra one --method sam",
    "read pure.img ! detect --targets library.csv --method sid ! bands 1",
    "read pure.img ! detect --targets library.csv --method osp ! bands 2",
    "read pure.img ! abundance --endmembers library.csv --residual ! bands 2",
    "read pure.img ! abundance --endmembers library.csv --norm l2 --residual ! bands 3,4",
    "read pure.img ! unmix --library library.csv --lambda 0 --add rmse,gap ! bands 2",
    "read pure.img ! unmix --library library.csv --lambda 0 --solver fista ! bands 2",
};

static void rounding_alone_passes(void **state) {
    (void)state;
    const HcComputeOps rough = rough_ops();
    write_files();
    write_degenerate_files();
    for (size_t d = 0; d < sizeof degenerate / sizeof *degenerate; d++) {
        HcVerify verify = {.tiles = 100, .open = open_cpu};
        RunHow how = {.ops = &rough, .verify = &verify};
        print_message("%s\n", degenerate[d]);
        check_runs(&how, "%s ! write out.img --overwrite", degenerate[d]);
        hc_verify_clear(&verify);
    }
}

static void rounding_passes(void **state) {
    (void)state;
    const HcComputeOps rough = rough_ops();
    const HcComputeOps *backends[] = {hc_cpu_ops(), hc_strict_ops(), &rough};
    write_files();
    for (int c = 0; c < CASES; c++) {
        for (size_t b = 0; b < sizeof backends / sizeof *backends; b++) {
            print_message("%s: %s\n", backends[b]->name, cases[c].chain);
            check_passes(cases[c].chain, backends[b]);
        }
    }
    assert_int_equal(hc_strict_leaks(), 0);
}

/* Also where the file holds integers of a scale. */
static void integers_pass(void **state) {
    (void)state;
    const HcComputeOps rough = rough_ops();
    write_files();
    for (int k = 0; k < 2; k++) {
        HcVerify verify = {.tiles = 100, .open = open_cpu};
        RunHow how = {.ops = &rough, .verify = &verify};
        check_runs(&how,
                   "read scene.img ! abundance --endmembers library.csv --residual --verify ! bands 1-4,7 ! "
                   "write out.tif --type int32 --scale %g --overwrite",
                   k == 0 ? 1e-4 : 1e-7);
        hc_verify_clear(&verify);
    }
}

static void a_wrong_band_is_found(void **state) {
    (void)state;
    const HcComputeOps rough = rough_ops();
    write_files();
    for (int c = 0; c < CASES; c++) {
        for (int32_t b = 0; b < cases[c].bands; b++) {
            Wrong wrong = {.band = b, .by = b + 1 == cases[c].steps ? 1e6 : 0.05};
            HcVerify verify = {.tiles = 100, .open = spoil_and_open, .user = &wrong};
            RunHow how = {.ops = &rough, .verify = &verify};
            print_message("band %d of %s\n", b, cases[c].chain);
            check_run_fails(&how, HC_E_VERIFY, "computed again",
                            "read scene.img ! %s ! write out.img --overwrite", cases[c].chain);
            hc_verify_clear(&verify);
        }
    }
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(rounding_passes),
        IN_FOLDER(rounding_alone_passes),
        IN_FOLDER(integers_pass),
        IN_FOLDER(a_wrong_band_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
