/* kmeans: the same clusters as plain float64 steps from the same start; sums without rounding; empty
 * clusters; the same bytes for blocks, threads, backends and a scratch file; what is refused. */
#include "core/text.h"
#include "io/library/library.h"
#include "pipeline/stages/kmeans/sums.h"
#include "tests/support/strict_runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINES = 41, SAMPLES = 37, BANDS = 11, CLUSTERS_MAX = 16 };

/* ---- a plain reference ---- */

typedef struct Reference {
    const Cube *cube;
    int clusters;
    double *centre; /* [clusters][bands] */
    int *label;     /* [pixels], -1 = masked */
    double *far;    /* [pixels] squared */
    int64_t size[CLUSTERS_MAX];
} Reference;

static double squared(const Reference *reference, size_t pixel, const double *centre) {
    double sum = 0;
    for (int b = 0; b < reference->cube->bands; b++) {
        double difference =
            reference->cube->value[pixel * (size_t)reference->cube->bands + (size_t)b] - centre[b];
        sum += difference * difference;
    }
    return sum;
}

static double *pixel_of(const Reference *reference, size_t pixel) {
    return reference->cube->value + pixel * (size_t)reference->cube->bands;
}

/* The sum of squared distances from the nearest of `known` centres and from the pixel `more`. */
static double potential(const Reference *reference, int known, size_t more) {
    double sum = 0;
    for (size_t p = 0; p < cube_pixels(reference->cube); p++) {
        double least = squared(reference, p, pixel_of(reference, more));
        for (int k = 0; k < known; k++) {
            least = fmin(least, squared(reference, p, reference->centre + k * reference->cube->bands));
        }
        sum += reference->cube->valid[p] ? least : 0;
    }
    return sum;
}

static size_t draw(const Reference *reference, int known, double wanted) {
    double sum = 0;
    for (size_t p = 0; p < cube_pixels(reference->cube); p++) {
        double least = INFINITY;
        for (int k = 0; k < known; k++) {
            least = fmin(least, squared(reference, p, reference->centre + k * reference->cube->bands));
        }
        sum += reference->cube->valid[p] ? least : 0;
        if (reference->cube->valid[p] && sum > wanted) {
            return p;
        }
    }
    fail_msg("nothing was drawn");
    return 0;
}

static size_t nth_valid(const Cube *cube, int64_t n) {
    size_t p = 0;
    for (; n > 0 || !cube->valid[p]; p++) {
        n -= cube->valid[p];
    }
    return p;
}

/* As the page says: the best of 2 + log(clusters) draws. All pixels are in the sample. */
static void start_reference(Reference *reference, uint64_t seed) {
    const Cube *cube = reference->cube;
    int64_t valid = 0;
    for (size_t p = 0; p < cube_pixels(cube); p++) {
        valid += cube->valid[p];
    }
    size_t found = nth_valid(cube, (int64_t)(random_uniform(&seed) * (double)valid));
    for (int k = 0; k < reference->clusters; k++) {
        double least = INFINITY;
        double all = k > 0 ? potential(reference, k - 1, found) : 0; /* of the centres so far */
        for (int t = 0; k > 0 && t < 2 + (int)log(reference->clusters); t++) {
            size_t pixel = draw(reference, k, random_uniform(&seed) * all);
            double left = potential(reference, k, pixel);
            found = left < least ? pixel : found;
            least = fmin(least, left);
        }
        memcpy(reference->centre + k * cube->bands, pixel_of(reference, found),
               (size_t)cube->bands * sizeof(double));
    }
}

static int64_t assign_reference(Reference *reference) {
    int64_t changed = 0;
    memset(reference->size, 0, sizeof reference->size);
    for (size_t p = 0; p < cube_pixels(reference->cube); p++) {
        int label = -1;
        reference->far[p] = INFINITY;
        for (int k = 0; k < reference->clusters && reference->cube->valid[p]; k++) {
            double distance = squared(reference, p, reference->centre + k * reference->cube->bands);
            label = distance < reference->far[p] ? k : label;
            reference->far[p] = fmin(reference->far[p], distance);
        }
        changed += label != reference->label[p];
        reference->label[p] = label;
        reference->size[label >= 0 ? label : CLUSTERS_MAX - 1] += label >= 0;
    }
    return changed;
}

static void move_reference(Reference *reference) {
    int bands = reference->cube->bands;
    for (int k = 0; k < reference->clusters; k++) {
        assert_true(reference->size[k] > 0);
        for (int b = 0; b < bands; b++) {
            long double sum = 0;
            for (size_t p = 0; p < cube_pixels(reference->cube); p++) {
                sum += reference->label[p] == k ? (long double)pixel_of(reference, p)[b] : 0;
            }
            reference->centre[k * bands + b] = (double)(sum / (long double)reference->size[k]);
        }
    }
}

static Reference make_reference(const Cube *cube, int clusters, uint64_t seed) {
    Reference reference = {.cube = cube, .clusters = clusters};
    reference.centre = calloc((size_t)clusters * (size_t)cube->bands, sizeof(double));
    reference.label = calloc(cube_pixels(cube), sizeof(int));
    reference.far = calloc(cube_pixels(cube), sizeof(double));
    assert_true(reference.centre != NULL && reference.label != NULL && reference.far != NULL);
    start_reference(&reference, seed);
    (void)assign_reference(&reference);
    do {
        move_reference(&reference);
    } while (assign_reference(&reference) > 0);
    return reference;
}

static void free_reference(Reference *reference) {
    free(reference->centre);
    free(reference->label);
    free(reference->far);
}

/* The number of a cluster in the map: by size, of equal ones the first. */
static int number_of_cluster(const Reference *reference, int cluster) {
    int number = 1;
    for (int k = 0; k < reference->clusters; k++) {
        int64_t more = reference->size[k] - reference->size[cluster];
        number += more > 0 || (more == 0 && k < cluster);
    }
    return number;
}

static void check_centres(const Reference *reference) {
    HcLibrary library = {0};
    HcError err = {0};
    int bands = reference->cube->bands;
    assert_int_equal(hc_library_read(&library, "centres.sli", &err), HC_OK);
    assert_int_equal(library.count, reference->clusters);
    for (int k = 0; k < reference->clusters; k++) {
        int at = number_of_cluster(reference, k) - 1;
        char name[32];
        (void)snprintf(name, sizeof name, "cluster %d", at + 1);
        assert_string_equal(library.name[at], name);
        for (int b = 0; b < bands; b++) {
            double wanted = reference->centre[k * bands + b];
            check_near(library.value[at * bands + b], wanted, 1e-6 * fabs(wanted));
        }
    }
    hc_library_clear(&library);
}

static void check_clusters(const Cube *cube, HcType type, const char *more, int clusters, uint64_t seed) {
    Reference reference = make_reference(cube, clusters, seed);
    cube_write(cube, "scene", type, "bil", more);
    check_runs(NULL,
               "read scene.img ! kmeans --clusters %d --seed %d --distance --centres centres.sli ! write "
               "out.img --nodata nan",
               clusters, (int)seed);
    Cube out = cube_read_floats("out", cube->lines, cube->samples, 2);
    for (size_t p = 0; p < cube_pixels(cube); p++) {
        if (!cube->valid[p]) {
            assert_true(isnan(out.value[2 * p]));
            continue;
        }
        assert_int_equal((int)out.value[2 * p], number_of_cluster(&reference, reference.label[p]));
        /* Centres are float32: the distance may err by as much as they do. */
        check_near(out.value[2 * p + 1], sqrt(reference.far[p]), 1e-6 * 30000);
    }
    check_centres(&reference);
    cube_free(&out);
    free_reference(&reference);
}

static void agrees_with_reference(void **state) {
    (void)state;
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 1, true);
    check_clusters(&cube, HC_UINT16, NULL, 2, 1);
    check_clusters(&cube, HC_INT32, NULL, 5, 7);
    cube_border(&cube, 0);
    check_clusters(&cube, HC_INT16, "data ignore value = 0\n", 7, 99);
    for (int32_t line = 5; line < 9; line++) {
        cube_pixel(&cube, line, 20)[3] = NAN;
        cube.valid[line * SAMPLES + 20] = 0;
    }
    check_clusters(&cube, HC_FLOAT32, "data ignore value = 0\n", 4, 3);
    cube_free(&cube);
}

/* ---- sums ---- */

/* A pixel of two bands leaves a cluster and joins another one, as by reassign; -1 = none. */
static void move_value(HcClusterSums *sums, const float *value, int from, int to) {
    const int cluster[2] = {from, to};
    for (int i = 0; i < 2; i++) {
        int64_t sign = i == 0 ? -1 : 1;
        for (int b = 0; b < 2 && cluster[i] >= 0; b++) {
            uint32_t digit = 0;
            int64_t part = hc_class_digit(value[b], &digit);
            int64_t *digits = sums->count + sums->clusters;
            digits[((size_t)cluster[i] * HC_CLASS_DIGITS + digit) * 2 + (size_t)b] += sign * part;
        }
        if (cluster[i] >= 0) {
            sums->count[cluster[i]] += sign;
        }
    }
}

static void sums_are_exact(void **state) {
    (void)state;
    enum { COUNT = 6 };
    static const float value[COUNT][2] = {{1e30F, -3.25F},      {1, 1e-44F},  {-1e30F, 3.25F},
                                          {0x1p-140F, -1e-44F}, {-7, 1e-44F}, {2.5F, 3e-44F}};
    HcClusterSums sums = {0};
    HcError err = {0};
    float mean[2];
    assert_int_equal(hc_cluster_sums_open(&sums, 3, 2, &err), HC_OK);
    for (int i = 0; i < 5; i++) {
        move_value(&sums, value[i], -1, 1);
    }
    assert_int_equal(sums.count[1], 5);
    (void)hc_cluster_sums_mean(&sums, 1, mean);
    assert_true(mean[0] == -1.2F);
    assert_true(mean[1] == (float)((double)value[1][1] / 5));
    /* What leaves is as if it had never been there. */
    for (int i = 0; i < 5; i++) {
        move_value(&sums, value[i], 1, i == 1 ? 2 : -1);
    }
    move_value(&sums, value[5], -1, 1);
    assert_int_equal(sums.count[1], 1);
    (void)hc_cluster_sums_mean(&sums, 1, mean);
    assert_true(mean[0] == 2.5F && mean[1] == 3e-44F);
    (void)hc_cluster_sums_mean(&sums, 2, mean);
    assert_true(mean[0] == 1 && mean[1] == 1e-44F);
    hc_cluster_sums_close(&sums);
}

/* ---- clusters without pixels ---- */

/* Three spectra, the rare ones where the sample of the scene does not look. */
static Cube three_spectra(int32_t lines, int32_t samples) {
    Cube cube = cube_new(lines, samples, 3);
    for (size_t p = 0; p < cube_pixels(&cube); p++) {
        cube.value[3 * p] = p == 1 ? 500 : p == 43 || p == 44 ? 300 : 100;
    }
    return cube;
}

static void check_three(const Cube *cube) {
    Cube out = cube_read_floats("out", cube->lines, cube->samples, 2);
    for (size_t p = 0; p < cube_pixels(cube); p++) {
        int wanted = cube->value[3 * p] > 400 ? 3 : cube->value[3 * p] > 200 ? 2 : 1;
        assert_int_equal((int)out.value[2 * p], wanted);
        assert_true(out.value[2 * p + 1] == 0);
    }
    cube_free(&out);
}

static void empty_clusters_take_the_farthest(void **state) {
    (void)state;
    HcText notes = {0};
    Cube cube = three_spectra(300, 299);
    cube_write(&cube, "scene", HC_UINT16, "bil", NULL);
    check_runs(&(RunHow){.settings.record = "record.json"},
               "read scene.img ! kmeans --clusters 3 --distance ! write out.img");
    assert_true(file_holds("record.json", "\"moved_into_empty\":\t2"));
    check_three(&cube);
    check_runs(&(RunHow){.notes = &notes}, "read scene.img ! kmeans --clusters 5 --distance ! write out.img");
    check_says(notes.data, "2 of 5 clusters are empty");
    check_three(&cube);
    hc_text_clear(&notes);
    cube_free(&cube);
}

static void iterations_and_tolerance_stop(void **state) {
    (void)state;
    HcText notes = {0};
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 1, true);
    cube_write(&cube, "scene", HC_UINT16, "bil", NULL);
    check_runs(&(RunHow){.notes = &notes}, "read scene.img ! kmeans --iterations 1 ! write out.img");
    assert_non_null(strstr(notes.data, "stopped by --iterations 1: "));
    check_runs(&(RunHow){.settings.record = "record.json"},
               "read scene.img ! kmeans --tolerance 0.99 ! write out.img");
    assert_true(file_holds("record.json", "\"iterations\":\t1,"));
    hc_text_clear(&notes);
    cube_free(&cube);
}

/* ---- blocks, backends, memory ---- */

static void keeps_the_contract(void **state) {
    (void)state;
    check_stage_contract("kmeans --clusters 3 --distance");
}

/* A component of one pixel is beyond float32. The squares of the others are, too, but these are finite. */
static void leaves_out_what_is_not_finite(void **state) {
    (void)state;
    static const char *const chain = "read scene.img ! pca ! kmeans --clusters 3 --distance ! write out.img";
    HcText notes = {0};
    Cube cube = cube_smooth(15, 12, 4, 3, true);
    for (int32_t b = 0; b < 4; b++) {
        cube_pixel(&cube, 7, 5)[b] = 3e38;
    }
    cube_write(&cube, "scene", HC_FLOAT32, "bil", NULL);
    check_runs(&(RunHow){.notes = &notes}, "%s", chain);
    check_says(notes.data, "1 pixels are not finite");
    check_runs_agree(&chain, 1, 3);
    hc_text_clear(&notes);
    cube_free(&cube);
}

static const char *const outputs[] = {"out.img", "centres.sli", "centres.hdr", NULL};

/* The smallest memory that the run accepts cannot hold the scene. */
static void scratch_files_change_nothing(void **state) {
    (void)state;
    static const char *const chain =
        "read scene.img ! kmeans --iterations 3 --centres centres.sli ! write out.img";
    HcError err = {0};
    HcStatus status = HC_E_MEMORY;
    Cube cube = cube_smooth(900, 500, 12, 8, true);
    cube_write(&cube, "scene", HC_UINT16, "bip", NULL);
    check_runs(&(RunHow){.settings.record = "record.json"}, "%s", chain);
    assert_true(file_holds("record.json", "\"kept_scene\":\t\"memory\""));
    file_remove("record.json");
    files_keep(outputs);
    for (uint64_t memory = (uint64_t)50 << 20; memory < (uint64_t)300 << 20 && status == HC_E_MEMORY;
         memory += (uint64_t)1 << 20) {
        RunHow how = {.settings = {.memory = memory, .record = "record.json"}};
        err = (HcError){0};
        status = run_chain_text(&how, &err, "%s", chain);
    }
    assert_int_equal(status, HC_OK);
    assert_true(file_holds("record.json", "\"kept_scene\":\t\"scratch file\""));
    check_kept(outputs);
    cube_free(&cube);
}

static void failures_leave_nothing(void **state) {
    (void)state;
    static const char *const chains[] = {
        "read scene.img ! kmeans --clusters 3 --centres centres.sli ! write out.img"};
    Cube cube = cube_smooth(11, 9, 6, 3, true);
    cube_write(&cube, "scene", HC_UINT16, "bil", NULL);
    check_failures_leave_nothing(chains, 1, 4, outputs);
    cube_free(&cube);
}

static void wrong_options_are_refused(void **state) {
    (void)state;
    Cube cube = cube_smooth(9, 8, 3, 2, true);
    cube_write(&cube, "scene", HC_UINT16, "bil", NULL);
    check_run_fails(NULL, HC_E_USAGE, "--clusters", "read scene.img ! kmeans --clusters 1 ! write out.img");
    check_run_fails(NULL, HC_E_USAGE, "--clusters", "read scene.img ! kmeans --clusters 255 ! write out.img");
    check_run_fails(NULL, HC_E_USAGE, "--tolerance", "read scene.img ! kmeans --tolerance 1 ! write out.img");
    check_run_fails(NULL, HC_E_USAGE, "centres.txt: ends neither with .sli nor .csv",
                    "read scene.img ! kmeans --centres centres.txt ! write out.img");
    check_run_fails(NULL, HC_E_USAGE, "kmeans: the scene is a class map",
                    "read scene.img ! kmeans ! kmeans ! write out.img");
    memset(cube.value, 0, cube_pixels(&cube) * 3 * sizeof *cube.value);
    cube_write(&cube, "scene", HC_UINT16, "bil", "data ignore value = 0\n");
    check_run_fails(NULL, HC_E_NUMERIC, "kmeans: no pixel is valid",
                    "read scene.img ! kmeans ! write out.img");
    cube_free(&cube);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(agrees_with_reference),
        cmocka_unit_test(sums_are_exact),
        IN_FOLDER(empty_clusters_take_the_farthest),
        IN_FOLDER(iterations_and_tolerance_stop),
        IN_FOLDER(keeps_the_contract),
        IN_FOLDER(leaves_out_what_is_not_finite),
        IN_FOLDER(scratch_files_change_nothing),
        IN_FOLDER(failures_leave_nothing),
        IN_FOLDER(wrong_options_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
