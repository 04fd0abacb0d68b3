/* Abundances of scenes with reference abundances: the figures of docs/stages/abundance.md. Needs HCUBE_DATA.
 */
#include "tests/support/scene_files.h"

#include <stdio.h>
#include <stdlib.h>

static const char *data; /* the folder of the test scenes */

typedef struct Scene {
    const char *name, *image, *stem;
    int32_t side, count; /* lines and samples, endmembers */
} Scene;

static const Scene samson = {"Samson", "samson/samson.img", "samson/samson", 95, 3};
static const Scene jasper = {"Jasper Ridge", "jasper-ridge/jasper_r198.img", "jasper-ridge/jasper", 100, 4};

/* Root mean square difference from the reference of abundances, divided by their sum with `shares`. */
static double compare(const Scene *scene, const char *norm, const char *sum, bool shares) {
    char name[1024];
    double squares = 0;
    size_t k = (size_t)scene->count;
    HcRunReport report = {0};
    RunHow how = {.threads = 2, .report = &report};
    snprintf(name, sizeof name, "%s/%s_abundance", data, scene->stem);
    Cube truth = cube_read_floats(name, scene->side, scene->side, scene->count);
    check_runs(&how,
               "read %s/%s ! abundance --endmembers %s/%s_endmembers.sli --norm %s --sum %s --status ! write "
               "out.img",
               data, scene->image, data, scene->stem, norm, sum);
    Cube out = cube_read_floats("out", scene->side, scene->side, scene->count + 1);
    for (size_t i = 0; i < cube_pixels(&out); i++) {
        const double *found = out.value + i * (k + 1);
        double all = 0;
        for (size_t e = 0; e < k; e++) {
            all += found[e];
        }
        for (size_t e = 0; e < k; e++) {
            double share = !shares ? found[e] : all > 0 ? found[e] / all : 0;
            squares += pow(share - truth.value[i * k + e], 2) / (double)(cube_pixels(&out) * k);
        }
        check_near(found[k], 0, 0);
    }
    printf("%s --norm %s --sum %s%s: RMSE %.4f, %.2f s\n", scene->name, norm, sum, shares ? ", shares" : "",
           sqrt(squares), report.seconds);
    cube_free(&out);
    cube_free(&truth);
    return sqrt(squares);
}

static void shares_are_those_of_the_reference(void **state) {
    (void)state;
    static const struct {
        const Scene *scene;
        const char *sum;
        bool shares;
        double l1, l2; /* as they were when the page was written */
    } cases[] = {
        {&samson, "free", true, 0.0150, 0.0020},        {&samson, "at-most-one", true, 0.0157, 0.0046},
        {&samson, "one", false, 0.5247, 0.3795},        {&samson, "shares", false, 0.0150, 0.0020},
        {&jasper, "shares", false, 0.0532, 0.0503},     {&jasper, "free", true, 0.0532, 0.0503},
        {&jasper, "at-most-one", true, 0.0532, 0.0503}, {&jasper, "one", false, 0.2562, 0.2593}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        check_near(compare(cases[c].scene, "l1", cases[c].sum, cases[c].shares), cases[c].l1, 0.0005);
        check_near(compare(cases[c].scene, "l2", cases[c].sum, cases[c].shares), cases[c].l2, 0.0005);
    }
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {IN_FOLDER(shares_are_those_of_the_reference)};
    data = getenv("HCUBE_DATA");
    if (data == NULL) {
        printf("skipped: HCUBE_DATA does not name the folder of the test scenes\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
