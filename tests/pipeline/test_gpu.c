/* Chains on the GPU against the CPU: what must have the same bits has them, wherever the scene lies and
 * however it is cut into blocks, and the rest agrees within rounding. `test_gpu strict` takes the strict
 * backend of the tests for the GPU, which needs none. Exit code 77: there is no GPU. */
#include "cpu/cpu.h"
#include "pipeline/run/run.h"
#include "pipeline/statistics/statistics.h"
#include "pipeline/statistics/transform.h"
#include "tests/support/backend.h"
#include "tests/support/scene_files.h"
#include "tests/support/strict.h"

#include <stdio.h>
#include <stdlib.h>

static const HcComputeOps *gpu;
static bool stands_in; /* the strict backend does */

static uint64_t reserve;

static int look_at_device(void **state) {
    (void)state;
    HcComputeConfig config = {.threads = 1, .host = hc_cpu_ops()};
    HcCompute *compute = NULL;
    HcComputeInfo info;
    HcError err = {0};
    if (hc_compute_open(gpu, &config, &compute, &err) != HC_OK) {
        fprintf(stderr, "%s\n", err.text);
        return -1;
    }
    hc_compute_info(compute, &info);
    printf("%s; %s\n", info.name, info.driver);
    reserve = info.reserve;
    hc_compute_close(compute);
    return info.shared_memory ? -1 : 0;
}

/* The chain of a table that runs now: the last line of a test that fails in it. */
static const char *running;

static int leave_folder(void **state) {
    if (running != NULL) {
        printf("in the chain: %s\n", running);
    }
    running = NULL;
    return folder_teardown(state);
}

static int nothing_left(void **state) {
    (void)state;
    return hc_strict_leaks() == 0 && hc_strict_overruns() == 0 ? 0 : -1;
}

/* ---- scenes ---- */

typedef struct Place {
    const char *name, *folder, *file; /* the folder is an environment variable */
    int32_t lines, samples, bands;    /* bands that are read */
} Place;

static const Place places[] = {
    {"sample scene", "HCUBE_SAMPLE_DATA", "scene.hdr", 100, 100, 59},
    {"Jasper Ridge, int16", "HCUBE_DATA", "jasper-ridge/jasper_r198.img", 100, 100, 198},
    {"Jasper Ridge, uint16", "HCUBE_DATA", "jasper-ridge/jasper_f224.img", 100, 100, 198},
};

enum { PLACES = sizeof places / sizeof *places, STEP = 11 }; /* blocks are multiples of 11 lines */

/* The words that read it; NULL where it is not there. */
static const char *reading(const Place *place, char *text, size_t size) {
    const char *folder = getenv(place->folder);
    if (stands_in && place != places) {
        return NULL; /* one scene is enough to see that these tests work */
    }
    if (folder == NULL) {
        printf("skipped: %s (%s is not set)\n", place->name, place->folder);
        return NULL;
    }
    snprintf(text, size, "read '%s/%s'", folder, place->file);
    return text;
}

static const int32_t cuts[] = {0, STEP, 2 * STEP, 5 * STEP};

enum { CUTS = sizeof cuts / sizeof *cuts };

/* ---- running one chain in all ways ---- */

static RunHow on_gpu(int32_t block_lines) {
    return (RunHow){.ops = gpu, .threads = 2, .settings = {.block_lines = block_lines}};
}

/* Runs the chain with the scene on the device, and, where it is read twice, with too little memory for that;
 * each must leave the kept files. */
static void check_resident_and_streamed(const char *chain, const char *const *names, const int32_t *lines,
                                        int count) {
    for (int k = 0; k < count; k++) {
        HcRunReport report = {0};
        RunHow how = on_gpu(lines[k]);
        how.report = &report;
        check_runs(&how, "%s", chain);
        assert_true(report.device_resident || report.passes == 1);
        check_kept(names);
        if (report.passes > 1 && report.blocks > report.slots) { /* else as many blocks lie there anyway */
            bool wished = true;                                  /* what a stage only wishes for goes first */
            for (int less = 0; less < 2 && wished; less++) {
                how.settings.device_memory = report.device_bytes - 1;
                check_runs(&how, "%s", chain);
                check_kept(names);
                wished = report.device_resident;
            }
            assert_false(report.device_resident);
        }
    }
}

/* ---- integers: the same bits as the CPU ---- */

static void statistics_of_integers_have_the_same_bits(void **state) {
    (void)state;
    static const char *const names[] = {"scene.json", "mean.json",   "median.json", "shift.json",
                                        "diag.json",  "window.json", NULL};
    char words[1024];
    char chain[2048];
    for (int p = 0; p < PLACES; p++) {
        if (reading(&places[p], words, sizeof words) == NULL) {
            continue;
        }
        snprintf(chain, sizeof chain,
                 "%s ! cov scene.json ! cov mean.json --noise mean3x3 ! cov median.json --noise median3x3 ! "
                 "cov shift.json --noise shift ! cov diag.json --noise shift-diagonal ! "
                 "cov window.json --noise mean3x3 --noise-window 13,17,60,50",
                 words);
        check_runs(NULL, "%s", chain);
        files_keep(names);
        assert_true(file_exists("kept.window.json"));
        for (int k = 0; k < CUTS; k++) {
            RunHow how = on_gpu(cuts[k]);
            check_runs(&how, "%s", chain);
            check_kept(names);
        }
    }
}

/* Models have the CPU's bits; components are those of the CPU within the rounding of float32, and have the
 * same bits however the device comes by the scene. */
static void check_transform(const Place *place, const char *chain) {
    static const char *const model[] = {"m.json", NULL};
    static const char *const output[] = {"out.img", NULL};
    static const char *const all[] = {"out.img", "m.json", NULL};
    check_runs(NULL, "%s", chain);
    files_keep(all);
    RunHow how = on_gpu(2 * STEP);
    check_runs(&how, "%s", chain);
    check_kept(model);
    check_near_components("out", "kept.out", place->lines, place->samples, 10, 1e-5);
    check_runs(&how, "%s", chain);
    files_keep(output);
    check_kept(model);
    check_resident_and_streamed(chain, all, cuts, CUTS);
}

static void transforms_of_integers_agree(void **state) {
    (void)state;
    static const char *const stages[] = {"mnf", "mnf --noise median3x3", "mnf --noise shift-diagonal", "pca",
                                         "pca --correlation"};
    char words[1024];
    char chain[2048];
    for (int p = 0; p < PLACES; p++) {
        if (reading(&places[p], words, sizeof words) == NULL) {
            continue;
        }
        for (size_t s = 0; s < sizeof stages / sizeof *stages; s++) {
            snprintf(chain, sizeof chain, "%s ! %s --components 10 --save-model m.json ! write out.img",
                     words, stages[s]);
            check_transform(&places[p], chain);
        }
    }
}

static void user_masks_agree(void **state) {
    (void)state;
    char words[1024];
    char chain[4096];
    const char *folder = getenv("HCUBE_SAMPLE_DATA");
    if (reading(&places[0], words, sizeof words) == NULL) {
        return;
    }
    snprintf(chain, sizeof chain,
             "%s --mask '%s/class.img' ! mnf --components 10 --save-model m.json ! write out.img", words,
             folder);
    check_transform(&places[0], chain);
}

/* Neither the device nor the host can keep the scene: it is read for each pass. */
static void large_scenes_are_streamed_from_the_file(void **state) {
    (void)state;
    enum { LINES = 1500, SAMPLES = 120, BANDS = 40 };
    static const char *const all[] = {"out.img", "m.json", NULL};
    static const char *const model[] = {"m.json", NULL};
    const char *chain = "read large.img ! mnf --components 3 --save-model m.json ! write out.img";
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 55, true);
    cube_border(&cube, 0);
    cube_write(&cube, "large", HC_UINT16, "bil", "data ignore value = 0\n");
    cube_free(&cube);
    check_runs(NULL, "%s", chain);
    files_keep(model);
    HcRunReport report = {0};
    RunHow how = on_gpu(0);
    how.report = &report;
    check_runs(&how, "%s", chain);
    assert_true(report.device_resident);
    check_kept(model);
    check_near_components("out", "out", LINES, SAMPLES, 3, 1e-5); /* there are such */
    files_keep((const char *const[]){"out.img", NULL});
    how.settings = (HcRunSettings){
        .memory = (uint64_t)88 << 20, .device_memory = reserve + ((uint64_t)7 << 20), .block_lines = 54};
    check_runs(&how, "%s", chain);
    assert_true(!report.device_resident && !report.resident);
    assert_true(report.device_blocks < report.blocks && report.bytes_read > (double)report.raw_bytes);
    assert_int_equal(rename("kept.m.json", "model.json"), 0);
    check_same_files("m.json", "model.json");
    assert_int_equal(rename("model.json", "kept.m.json"), 0);
    check_kept(all);
}

/* ---- floats: the device agrees with itself by bits, with the CPU by digits ---- */

/* Bands in more than one tile of the device, odd sizes, pixels that are masked one by one. */
static Cube float_scene(int32_t lines, int32_t samples, int32_t bands, uint64_t seed) {
    Cube cube = cube_smooth(lines, samples, bands, seed, false);
    cube_border(&cube, -1);
    for (int32_t line = 5; line < lines; line += 7) {
        int32_t sample = (line * 13) % samples;
        cube_pixel(&cube, line, sample)[line % bands] = line % 2 == 0 ? NAN : INFINITY;
    }
    return cube;
}

static void check_near_model(const char *method, int32_t separated) {
    HcTransform got = {0};
    HcTransform expected = {0};
    HcError err = {0};
    check_ok(hc_transform_load(&got, "m.json", method, &err), err);
    check_ok(hc_transform_load(&expected, "kept.m.json", method, &err), err);
    assert_int_equal(got.components, expected.components);
    assert_int_equal(got.pixels, expected.pixels);
    assert_int_equal(got.noise_pixels, expected.noise_pixels);
    for (int32_t k = 0; k < got.components; k++) {
        /* The smallest ones have lost digits to the largest one. */
        check_near(got.eigenvalues[k], expected.eigenvalues[k],
                   1e-10 * expected.eigenvalues[k] + (k < separated ? 0 : 1e-13 * expected.eigenvalues[0]));
    }
    for (int32_t k = 0; k < separated; k++) { /* so that the components mean something */
        assert_true(expected.eigenvalues[k] > 1.02 * expected.eigenvalues[k + 1]);
    }
    hc_transform_clear(&got);
    hc_transform_clear(&expected);
}

static void transforms_of_floats_agree(void **state) {
    (void)state;
    enum { SEPARATED = 4 };
    static const struct {
        int32_t lines, samples, bands, step;
    } shapes[] = {{83, 300, 70, 4}, {61, 1100, 9, 1}};
    static const char *const stages[] = {"mnf", "mnf --noise median3x3", "mnf --noise shift", "pca"};
    static const char *const all[] = {"out.img", "m.json", NULL};
    for (int s = 0; s < 2; s++) {
        Cube cube = float_scene(shapes[s].lines, shapes[s].samples, shapes[s].bands, 71);
        cube_write(&cube, "floats", HC_FLOAT32, "bil", "data ignore value = -1\n");
        cube_free(&cube);
        const int32_t lines[] = {0, shapes[s].step, 3 * shapes[s].step, 8 * shapes[s].step};
        for (size_t k = 0; k < sizeof stages / sizeof *stages; k++) {
            char chain[256];
            snprintf(chain, sizeof chain,
                     "read floats.img ! %s --components %d --save-model m.json ! write out.img", stages[k],
                     SEPARATED);
            check_runs(NULL, "%s", chain);
            files_keep(all);
            RunHow how = on_gpu(2 * shapes[s].step);
            check_runs(&how, "%s", chain);
            check_near_components("out", "kept.out", shapes[s].lines, shapes[s].samples, SEPARATED, 1e-5);
            check_near_model(stages[k][0] == 'm' ? "mnf" : "pca", SEPARATED);
            files_keep(all);
            check_resident_and_streamed(chain, all, lines, 4);
        }
    }
}

static void check_near_statistics(const char *name) {
    char kept[64];
    HcStatistics got = {0};
    HcStatistics expected = {0};
    HcError err = {0};
    snprintf(kept, sizeof kept, "kept.%s", name);
    check_ok(hc_statistics_load(&got, name, &err), err);
    check_ok(hc_statistics_load(&expected, kept, &err), err);
    assert_int_equal(got.pixels, expected.pixels);
    assert_int_equal(got.scene.bands, expected.scene.bands);
    size_t n = (size_t)got.scene.bands;
    for (size_t i = 0; i < n; i++) {
        double deviation = sqrt(expected.covariance[i * n + i]);
        check_near(got.mean[i], expected.mean[i], 1e-11 * (fabs(expected.mean[i]) + deviation));
        for (size_t j = 0; j < n; j++) {
            check_near(got.covariance[i * n + j], expected.covariance[i * n + j],
                       1e-11 * deviation * sqrt(expected.covariance[j * n + j]));
        }
    }
    hc_statistics_clear(&got);
    hc_statistics_clear(&expected);
}

static void statistics_of_floats_agree(void **state) {
    (void)state;
    enum { LINES = 47, SAMPLES = 300, BANDS = 70 };
    static const char *const names[] = {"scene.json", "mean.json", "median.json", "window.json", NULL};
    const char *chain =
        "read floats.img ! cov scene.json ! cov mean.json --noise mean3x3 ! "
        "cov median.json --noise median3x3 ! cov window.json --noise shift --noise-window 9,7,200,31";
    static const int32_t lines[] = {4, 12, 40, 0};
    Cube cube = float_scene(LINES, SAMPLES, BANDS, 72);
    for (int type = 0; type < 2; type++) { /* wide integers are summed as floats are */
        for (size_t i = 0; type == 1 && i < cube_pixels(&cube) * BANDS; i++) {
            cube.value[i] = isfinite(cube.value[i]) ? nearbyint(cube.value[i] * 64) : 7;
        }
        cube_write(&cube, "floats", type == 0 ? HC_FLOAT32 : HC_INT32, "bsq",
                   type == 0 ? "data ignore value = -1\n" : "data ignore value = -64\n");
        check_runs(NULL, "%s", chain);
        files_keep(names);
        for (size_t k = 0; k < sizeof lines / sizeof *lines; k++) {
            RunHow how = on_gpu(lines[k]);
            check_runs(&how, "%s", chain);
            for (int i = 0; names[i] != NULL && k == 0; i++) {
                check_near_statistics(names[i]);
            }
            if (k == 0) {
                files_keep(names);
            } else {
                check_kept(names);
            }
        }
    }
    cube_free(&cube);
}

/* ---- every operation in a chain ---- */

static void stages_without_sums_have_the_same_bits(void **state) {
    (void)state;
    static const char *const stages[] = {
        "filter mean3x3",
        "filter median3x3",
        "filter mean3x3 --noise",
        "filter median3x3 --noise",
        "filter shift --noise",
        "filter shift-diagonal --noise",
        "bands 5,1-3,3,9",
        "filter median3x3 ! bands 9-2 ! filter mean3x3 ! filter mean3x3 --noise",
        "preview p.png --bands 3,2,1",
    };
    static const char *const names[] = {"out.img", "p.png", NULL};
    char words[1024];
    Cube cube = float_scene(50, 37, 9, 73);
    cube_write(&cube, "floats", HC_FLOAT32, "bip", "data ignore value = -1\n");
    cube_free(&cube);
    for (int p = -1; p < PLACES; p++) {
        if (p >= 0 && reading(&places[p], words, sizeof words) == NULL) {
            continue;
        }
        for (size_t s = 0; s < sizeof stages / sizeof *stages; s++) {
            char chain[2048];
            snprintf(chain, sizeof chain, "%s ! %s ! write out.img", p < 0 ? "read floats.img" : words,
                     stages[s]);
            running = stages[s];
            check_runs(NULL, "%s", chain);
            files_keep(names);
            assert_true(file_exists("kept.out.img"));
            for (int32_t lines = 0; lines <= 3 * STEP; lines += STEP) {
                RunHow how = on_gpu(lines > 0 && p < 0 ? 28 : lines);
                check_runs(&how, "%s", chain);
                check_kept(names);
            }
        }
    }
    running = NULL;
}

/* Stages whose sums or models are made on the device. A row of a new stage goes here: its bands in the
 * output, and how far they may be from those of the CPU, in standard deviations; 0 = the same bits. */
static void chains_agree(void **state) {
    (void)state;
    static const char *const output[] = {"out.img", NULL};
    static const struct {
        const char *stages;
        int32_t bands;
        double tolerance; /* vectors of singular values on either side of a limit mix by the rounding over
                           * their distance */
    } chains[] = {
        {"mnf --denoise --components 5", 59, 1e-5},
        {"pca --denoise --components 5", 59, 1e-5},
        {"mnf --components 20 ! mnf --inverse", 59, 1e-5},
        {"pca --components 20 ! pca --inverse", 59, 1e-5},
        {"bands 1-30 ! mnf --noise shift ! filter mean3x3 ! bands 30-21", 10, 1e-5},
        {"smooth --points 7 --derivative 1", 59, 1e-6},
        {"smooth --normalise snv", 59, 0},
        {"resample --responses sentinel-2a", 13, 1e-6},
        {"mnf --keep-all ! svd --step 3 ! mnf --inverse", 59, 1e-3},
        {"mnf --components 12 ! svd --tiled --keep optimal ! filter mean3x3", 12, 1e-3},
        {"mnf --components 8 ! svd --side 5 --output dimension --values 3", 4, 1e-5},
        {"denoise", 59, 1e-3},
        {"svd", 59, 1e-3},
        {"denoise --method subspace ! filter mean3x3", 59, 1e-5},
        {"denoise --method subspace --stripes", 59, 1e-5},
        {"denoise --method subspace --stripes --columns 1", 59, 1e-5},
        {"rx", 1, 1e-5},
        {"mnf --components 8 ! rx", 1, 1e-5},
        {"rx --by mask=part.img:1=0", 1, 1e-5},
        {"rx --by mask=part.img:1=0 --shrink ledoit-wolf", 1, 1e-5},
        {"rx --robust 1e-3", 1, 1e-5},
        {"detect --method mf --target-at 25,40 --target-at 70,60 --robust 1e-3", 2, 1e-5},
        {"mnf --components 8 ! rx --side 11 --guard 3 ! filter mean3x3", 1, 1e-4},
        {"detect --method mf --target-at 25,40 --target-at 70,60", 2, 1e-5},
        {"detect --method mf --target-at 25,40 --by columns=4", 1, 0}, /* the same bits */
        {"detect --method ace --target-at 25,40 --target-at 70,60 --by columns=7 --shrink oas", 2, 0},
        {"detect --method ace --target-at 25,40 --target-at 70,60", 2, 1e-5},
        {"detect --method amf --target-at 25,40", 1, 1e-5},
        {"detect --method sid --target-at 25,40 --target-at 70,60", 2, 1e-5},
        {"mnf --components 8 ! detect --method mtmf --target-at 25,40", 2, 1e-5},
        {"detect --method cem --target-at 25,40 --target-at 70,60", 2, 1e-5},
        {"detect --method osp --target-at 25,40 --target-at 70,60", 2, 1e-5},
        {"detect --method sam --target-at 25,40 --target-at 70,60", 2, 1e-5},
        {"endmembers found.sli --count 5 --overwrite ! rx", 1, 1e-5},
        {"kmeans --clusters 5 --distance", 2, 1e-5},
        {"filter median3x3", 59, 0}, /* one pass */
        {"continuum", 59, 0},
        {"continuum --output hull ! mnf --components 5", 5, 1e-5},
        {"continuum --range 400-1000,900-2400 --gap 500 --features", 10, 0},
        {"index NDVI,EVI,OCVI,exp(R660/80),(-log(b3))^1.7 ! filter median3x3", 5, 0},
        {"destripe", 59, 0},
        {"reflectance --dark columns=1-3 --white lines=1-9", 59, 0},
        {"filter shift --noise ! bands 1-3 ! filter median3x3", 3, 0},
    };
    char words[1024];
    char chain[2048];
    if (reading(&places[0], words, sizeof words) == NULL) {
        return;
    }
    Cube part = cube_new(100, 100, 1);
    for (size_t p = 0; p < 6000; p++) {
        part.value[p] = 1;
    }
    cube_write(&part, "part", HC_UINT8, "bsq", NULL);
    cube_free(&part);
    for (size_t c = 0; c < sizeof chains / sizeof *chains; c++) {
        snprintf(chain, sizeof chain, "%s ! %s ! write out.img --nodata nan", words, chains[c].stages);
        running = chains[c].stages;
        check_runs(NULL, "%s", chain);
        files_keep(output);
        RunHow how = on_gpu(3 * STEP);
        check_runs(&how, "%s", chain);
        check_near_components("out", "kept.out", 100, 100, chains[c].bands, chains[c].tolerance);
        files_keep(output);
        check_resident_and_streamed(chain, output, cuts, CUTS);
    }
    running = NULL;
}

/* A chain that writes abundances into out.img: near those of the CPU, and the same however the scene is cut.
 */
static void check_abundances(const char *chain) {
    static const char *const output[] = {"out.img", NULL};
    check_runs(NULL, "%s", chain);
    files_keep(output);
    RunHow how = on_gpu(3 * STEP);
    check_runs(&how, "%s", chain);
    check_near_components("out", "kept.out", 100, 100, 6, 1e-5);
    files_keep(output);
    for (int k = 0; k < CUTS; k++) {
        how = on_gpu(cuts[k]);
        check_runs(&how, "%s", chain);
        check_kept(output);
    }
}

/* Abundances of the same optimum, which is one where spectra are independent. */
static void unmixing_agrees(void **state) {
    (void)state;
    static const char *const options[] = {"", "--sum-to-one", "--solver fista --gap 1e-9 --iterations 20000",
                                          "--weights noise.json --top 3"};
    char words[1024];
    char chain[4096];
    if (reading(&places[0], words, sizeof words) == NULL) {
        return;
    }
    check_runs(NULL, "%s ! cov noise.json --noise shift", words);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        snprintf(chain, sizeof chain,
                 "%s ! unmix --library %s/endmembers.sli %s ! write out.img --nodata nan", words,
                 getenv("HCUBE_SAMPLE_DATA"), options[i]);
        check_abundances(chain);
    }
}

/* Features have the same bits, an arc cosine nearly. */
static void identification_agrees(void **state) {
    (void)state;
    static const char *const output[] = {"out.img", NULL};
    static const char *const options[] = {"", "--rank product --top 3 --rejected", "--method angle"};
    char words[1024];
    char chain[4096];
    if (reading(&places[0], words, sizeof words) == NULL) {
        return;
    }
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        bool angle = strstr(options[i], "angle") != NULL;
        snprintf(chain, sizeof chain,
                 "%s ! identify --library %s/library.sli %s ! write out.img --nodata nan", words,
                 getenv("HCUBE_SAMPLE_DATA"), options[i]);
        check_runs(NULL, "%s", chain);
        files_keep(output);
        for (int k = 0; k < CUTS; k++) {
            RunHow how = on_gpu(cuts[k]);
            check_runs(&how, "%s", chain);
            if (angle) {
                check_near_components("out", "kept.out", 100, 100, 2, 1e-5);
            } else {
                check_kept(output);
            }
        }
    }
}

/* The same for absolute deviations, also where bands are missing: 1000 is the nodata value of some. */
static void abundances_agree(void **state) {
    (void)state;
    static const char *const options[] = {"", "--sum at-most-one --weights noise.json", "--sum free",
                                          "--sum at-most-one --norm l2"};
    const char *data = getenv("HCUBE_SAMPLE_DATA");
    char words[1024];
    char chain[4096];
    if (reading(&places[0], words, sizeof words) == NULL) {
        return;
    }
    check_runs(NULL, "%s ! cov noise.json --noise shift", words);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        snprintf(chain, sizeof chain,
                 "read %s/scene.hdr --source-nodata 1000 ! abundance --endmembers %s/endmembers.sli %s ! "
                 "write out.img --nodata nan",
                 data, data, options[i]);
        check_abundances(chain);
    }
}

/* ---- decoding ---- */

static const HcType types[] = {HC_UINT8,  HC_UINT16, HC_INT16,   HC_UINT32, HC_INT32,
                               HC_UINT64, HC_INT64,  HC_FLOAT32, HC_FLOAT64};

/* Values over the whole range of a type, those that float32 rounds among them; nodata in some bands of some
 * pixels and in all bands of others, and in float types NaN and infinity. */
static Cube extreme_scene(HcType type, double nodata) {
    Cube cube = cube_new(40, 53, 5);
    uint64_t seed = 5 + (uint64_t)type;
    bool is_integer = type != HC_FLOAT32 && type != HC_FLOAT64;
    bool is_signed = !is_integer || type == HC_INT16 || type == HC_INT32 || type == HC_INT64;
    int bits = 8 * (int)hc_type_bytes(type) - (is_integer && is_signed);
    double most = is_integer ? ldexp(1, bits < 53 ? bits : 53) - 1 : 1e5;
    for (size_t i = 0; i < cube_pixels(&cube) * 5; i++) {
        double value = most * (is_signed ? 2 * random_uniform(&seed) - 1 : random_uniform(&seed));
        cube.value[i] = is_integer ? nearbyint(value) : value;
    }
    for (int32_t line = 0; line < 40; line++) {
        cube_pixel(&cube, line, line)[line % 5] = nodata;
        for (int b = 0; b < 5; b++) {
            cube_pixel(&cube, line, 50 - line)[b] = nodata;
        }
        if (!is_integer) {
            cube_pixel(&cube, line, 52)[line % 5] = line % 2 == 0 ? NAN : -INFINITY;
        }
    }
    return cube;
}

static void check_decoding(const char *options) {
    static const char *const names[] = {"out.img", NULL};
    HcRunReport expected = {0};
    HcRunReport got = {0};
    RunHow cpu = {.report = &expected};
    check_runs(&cpu, "read types.img %s ! bands 4,1-3 ! write out.img --nodata nan", options);
    files_keep(names);
    for (int32_t lines = 0; lines <= 40; lines += 20) {
        RunHow how = on_gpu(lines);
        how.report = &got;
        check_runs(&how, "read types.img %s ! bands 4,1-3 ! write out.img --nodata nan", options);
        check_kept(names);
        for (int r = 0; r < HC_MASK_REASONS; r++) {
            assert_int_equal(got.masked[r], expected.masked[r]);
        }
    }
    assert_true(expected.masked[HC_MASK_NODATA] + expected.masked[HC_MASK_NAN] > 0 || *options != '\0');
}

static void decoding_has_the_same_bits(void **state) {
    (void)state;
    static const char *const interleaves[] = {"bsq", "bil", "bip"};
    static const char *const options[] = {"--nodata-rule all", "--source-nodata none", "--mask mask.img",
                                          "--no-direct"};
    Cube mask = cube_new(40, 53, 1);
    for (size_t i = 0; i < cube_pixels(&mask); i++) {
        mask.value[i] = i % 31 != 0;
    }
    cube_write(&mask, "mask", HC_UINT8, "bsq", NULL);
    cube_free(&mask);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        Cube cube = extreme_scene(types[t], 7);
        for (int variant = 0; variant < 6; variant++) {
            (variant < 3 ? cube_write : cube_write_swapped)(
                &cube, "types", types[t], interleaves[variant % 3], "data ignore value = 7\n");
            check_decoding("");
            const char *option = options[((int)t + variant) % 4];
            /* GDAL does not read all of them itself */
            bool wide = types[t] == HC_INT64 || types[t] == HC_UINT64;
            if (!wide || strcmp(option, "--no-direct") != 0) {
                check_decoding(option);
            }
        }
        cube_free(&cube);
    }
}

/* ---- memory and devices ---- */

static const char *const narrow =
    "read narrow.img ! mnf --components 3 --save-model m.json ! pca ! write out.img";

static void write_narrow(void) {
    Cube cube = cube_smooth(120, 300, 6, 61, true);
    cube_border(&cube, 0);
    cube_write(&cube, "narrow", HC_UINT16, "bil", "data ignore value = 0\n");
    cube_free(&cube);
}

static bool has_note(const HcText *notes, const char *part) {
    return notes->data != NULL && strstr(notes->data, part) != NULL;
}

enum { PLANNED = 16 }; /* lines of a block */

/* Runs with less device memory than was planned with; the run may end with HC_E_MEMORY, one line and no
 * outputs. */
static HcStatus run_with_less(uint64_t memory, HcRunReport *report) {
    static const char *const all[] = {"out.img", "m.json", NULL};
    HcText notes = {0};
    HcError err = {0};
    RunHow how = on_gpu(PLANNED);
    how.settings.device_memory = (uint64_t)1 << 30;
    how.memory_of_device = memory;
    how.report = report;
    how.notes = &notes;
    HcStatus status = run_chain_text(&how, &err, "%s", narrow);
    if (status == HC_OK) {
        assert_int_equal(report->block_lines < PLANNED, has_note(&notes, "lines instead of 16 taken"));
        assert_int_equal(report->device_resident, !has_note(&notes, "the scene is not kept there"));
        check_kept(all);
    } else if (status != HC_E_MEMORY || strchr(err.text, '\n') != NULL || err.text[0] == '\0') {
        fail_msg("status %d, \"%s\"", (int)status, err.text);
    }
    assert_false(file_exists("out.img") || file_exists("m.json"));
    hc_text_clear(&notes);
    return status;
}

/* The device has less than was planned with: first the scene does not stay there, then blocks are smaller,
 * and at last the run ends with one line and without outputs. */
static void less_memory_than_planned_is_enough(void **state) {
    (void)state;
    enum { STEPS = 24 };
    static const char *const all[] = {"out.img", "m.json", NULL};
    HcStatus status = HC_OK;
    HcRunReport report = {0};
    int unkept = 0;
    int smaller = 0;
    int refused = 0;
    write_narrow();
    RunHow whole = on_gpu(PLANNED);
    whole.report = &report;
    check_runs(&whole, "%s", narrow);
    files_keep(all);
    assert_true(report.device_resident && report.block_lines == PLANNED);
    /* The least for the run as it was planned: buffers, and what sums and matrices take of the reserve. */
    uint64_t buffers = report.device_bytes - reserve;
    uint64_t low = 0;
    uint64_t high = report.device_bytes;
    while (high - low > buffers / (2 * STEPS)) {
        uint64_t memory = low + (high - low) / 2;
        bool enough = run_with_less(memory, &report) == HC_OK && report.device_resident;
        low = enough ? low : memory;
        high = enough ? memory : high;
    }
    uint64_t memory = high;
    for (int n = 0; n < 2 * STEPS && memory > buffers / STEPS; n++) {
        memory -= buffers / STEPS;
        status = run_with_less(memory, &report);
        unkept += status == HC_OK && !report.device_resident && report.block_lines == PLANNED;
        smaller += status == HC_OK && report.block_lines < PLANNED;
        refused += status != HC_OK;
    }
    assert_int_equal(status, HC_E_MEMORY); /* with next to nothing */
    if (unkept == 0 || smaller < 2 || refused == 0) {
        fail_msg("%d runs kept no scene, %d had smaller blocks, %d were refused", unkept, smaller, refused);
    }
}

static void impossible_memory_is_refused(void **state) {
    (void)state;
    write_narrow();
    int before = folder_entries();
    RunHow how = on_gpu(0);
    how.settings.device_memory = (uint64_t)1 << 30;
    how.memory_of_device = 4096; /* planned with more than there is */
    check_run_fails(&how, HC_E_MEMORY, "out of memory", "%s", narrow);
    how.settings.device_memory = 0; /* planned with what there is */
    check_run_fails(&how, HC_E_MEMORY, "too little", "%s", narrow);
    how.memory_of_device = 0;
    how.settings.device_memory = reserve;
    check_run_fails(&how, HC_E_MEMORY, "--device-memory", "%s", narrow);
    assert_int_equal(folder_entries(), before);
    how.settings.device_memory = 0; /* and the device is as it was */
    check_runs(&how, "%s", narrow);
}

/* Sums of local windows take as much memory as is planned for them, and less where there is little. The
 * scores stay the same. */
static void local_scores_in_little_memory(void **state) {
    (void)state;
    enum { LINES = 70, SAMPLES = 700, BANDS = 20 };
    static const char chain[] = "read local.img ! rx --side 7 --guard 3 --shrink 0.1 ! write out.img";
    static const char *const all[] = {"out.img", NULL};
    HcRunReport report = {0};
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 81, true);
    cube_write(&cube, "local", HC_UINT16, "bil", NULL);
    cube_free(&cube);
    RunHow how = on_gpu(16);
    how.report = &report;
    how.settings.device_memory = (uint64_t)1 << 30;
    check_runs(&how, "%s", chain);
    files_keep(all);
    uint64_t ample = report.device_bytes;
    how.settings.device_memory = how.memory_of_device = ample;
    check_runs(&how, "%s", chain);
    check_kept(all);
    how.settings.device_memory = how.memory_of_device = reserve + ((uint64_t)48 << 20);
    check_runs(&how, "%s", chain);
    check_kept(all);
    assert_true(report.device_bytes <= how.settings.device_memory && report.device_bytes < ample);
    how.settings.device_memory = (uint64_t)16 << 20; /* less than the least of the sums alone */
    check_run_fails(&how, HC_E_MEMORY, "--device-memory", "%s", chain);
}

static void unknown_devices_are_refused(void **state) {
    (void)state;
    if (stands_in) {
        skip(); /* the strict backend has no numbers */
    }
    write_narrow();
    int before = folder_entries();
    RunHow how = on_gpu(0);
    how.device = 99;
    check_run_fails(&how, HC_E_DEVICE, "99", "%s", narrow);
    assert_int_equal(folder_entries(), before);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, leave_folder)

int main(int count, char **words) {
    HcError error = {0};
    stands_in = count == 2 && strcmp(words[1], "strict") == 0;
    gpu = backend_find(count == 2 ? words[1] : "gpu", &error);
    if (gpu == NULL) {
        printf("skipped: %s\n", error.text);
        return 77;
    }
    const struct CMUnitTest tests[] = {
        IN_FOLDER(statistics_of_integers_have_the_same_bits),
        IN_FOLDER(transforms_of_integers_agree),
        IN_FOLDER(user_masks_agree),
        IN_FOLDER(large_scenes_are_streamed_from_the_file),
        IN_FOLDER(transforms_of_floats_agree),
        IN_FOLDER(statistics_of_floats_agree),
        IN_FOLDER(stages_without_sums_have_the_same_bits),
        IN_FOLDER(chains_agree),
        IN_FOLDER(unmixing_agrees),
        IN_FOLDER(identification_agrees),
        IN_FOLDER(abundances_agree),
        IN_FOLDER(decoding_has_the_same_bits),
        IN_FOLDER(less_memory_than_planned_is_enough),
        IN_FOLDER(impossible_memory_is_refused),
        IN_FOLDER(local_scores_in_little_memory),
        IN_FOLDER(unknown_devices_are_refused),
    };
    return cmocka_run_group_tests_name(hc_compute_name(gpu), tests, look_at_device, nothing_left);
}
