/* The plots that stages leave, by the structure of their SVG. */
#include "pipeline/picture/plots.h"
#include "figure/figure.h"
#include "tests/support/check.h"
#include "tests/support/scene_files.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BANDS = 9 };

static char *draw(const HcSpectraPlot *plot) {
    HcError err = {0};
    size_t bytes = 0;
    check_ok(hc_plot_spectra("plot.svg", plot, true, &err), err);
    check_ok(hc_plot_spectra("plot.png", plot, true, &err), err);
    return file_bytes("plot.svg", &bytes);
}

/* The 1340 to 1450 nm of water lie between two bands, one band lies in 1790 to 1960, one is bad. */
static double wavelength[BANDS] = {500, 600, 700, 800, 1300, 1500, 1850, 2000, 2100};
static uint8_t bad[BANDS] = {0, 0, 1, 0, 0, 0, 0, 0, 0};
static const float value[BANDS] = {1, 2, 99, 4, 5, 6, -99, 8, 9};

static void water_and_bad_bands_are_shaded(void **state) {
    (void)state;
    HcScene scene = {.bands = BANDS, .wavelength = wavelength, .bad = bad};
    char soil[] = "soil";
    char *name[] = {soil};
    const HcSpectraPlot plot = {
        .scene = &scene, .count = 1, .value = value, .name = name, .title = "t", .label = "reflectance"};
    char *svg = draw(&plot);
    check_paths(svg, "stroke-width=\"1.1\"", 3, 6); /* 500-600, 800-1300, 2000-2100; 1500 is alone */
    check_paths(svg, "fill-opacity=\"0.16\"", 3, 12);
    assert_null(strstr(svg, ">99<"));
    free(svg);
}

static void a_scene_in_water_is_shown(void **state) {
    (void)state;
    double inside[3] = {1400, 1410, 1420};
    HcScene scene = {.bands = 3, .wavelength = inside};
    char soil[] = "soil";
    char *name[] = {soil};
    const HcSpectraPlot plot = {
        .scene = &scene, .count = 1, .value = value, .name = name, .title = "t", .label = "l"};
    char *svg = draw(&plot);
    check_paths(svg, "stroke-width=\"1.1\"", 1, 3);
    assert_null(strstr(svg, "O</text>"));
    assert_null(strstr(svg, ">no value<"));
    free(svg);
}

static void bands_are_taken_by_wavelength(void **state) {
    (void)state;
    double falling[4] = {900, 600, 700, 500};
    HcScene scene = {.bands = 4, .wavelength = falling};
    char soil[] = "soil";
    char *name[] = {soil};
    const float values[4] = {4, 2, 3, 1};
    HcSpectraPlot plot = {
        .scene = &scene, .count = 1, .value = values, .name = name, .title = "t", .label = "l"};
    char *svg = draw(&plot);
    double x[4], y[4];
    const char *path = strstr(svg, "stroke-width=\"1.1\"");
    assert_non_null(path);
    while (path > svg && strncmp(path, "<path", 5) != 0) {
        path--;
    }
    assert_int_equal(sscanf(path, "<path d=\"M%lf %lfL%lf %lfL%lf %lfL%lf %lf", &x[0], &y[0], &x[1], &y[1],
                            &x[2], &y[2], &x[3], &y[3]),
                     8);
    for (int i = 1; i < 4; i++) {
        assert_true(x[i] > x[i - 1] && y[i] < y[i - 1]); /* y grows downwards on the page */
    }
    free(svg);
    scene.wavelength = NULL;
    svg = draw(&plot);
    assert_non_null(strstr(svg, ">band</text>"));
    free(svg);
}

static void spread_has_its_place(void **state) {
    (void)state;
    HcScene scene = {.bands = 3};
    char soil[] = "soil";
    char *name[] = {soil};
    const float mean[3] = {10, 10, 10}, deviation[3] = {1, NAN, 3};
    const HcSpectraPlot plot = {.scene = &scene,
                                .count = 1,
                                .value = mean,
                                .spread = deviation,
                                .name = name,
                                .title = "t",
                                .label = "l",
                                .caption = "what it means"};
    char *svg = draw(&plot);
    double x[6], y[6];
    const char *path = strstr(svg, "fill-opacity=\"0.22\"");
    assert_non_null(path);
    while (path > svg && strncmp(path, "<path", 5) != 0) {
        path--;
    }
    assert_int_equal(sscanf(path, "<path d=\"M%lf %lfL%lf %lfL%lf %lfL%lf %lfL%lf %lfL%lf %lfZ", &x[0], &y[0],
                            &x[1], &y[1], &x[2], &y[2], &x[3], &y[3], &x[4], &y[4], &x[5], &y[5]),
                     12);
    /* There along the upper edge, back along the lower one; no spread is known in the middle. */
    assert_true(x[0] < x[1] && x[1] < x[2] && x[3] == x[2] && x[4] == x[1] && x[5] == x[0]);
    check_near(y[1], y[4], 0.011);
    check_near((y[3] - y[2]) / (y[5] - y[0]), 3, 1e-2);
    check_near((y[2] + y[3]) / 2, y[1], 0.02);
    assert_true(y[2] < y[3]);
    assert_non_null(strstr(svg, ">what it means</text>"));
    free(svg);
}

static void many_spectra_are_thinned_out(void **state) {
    (void)state;
    enum { COUNT = 500 };
    static float many[COUNT][2];
    static char text[COUNT][24];
    static char *name[COUNT];
    HcScene scene = {.bands = 2};
    for (int i = 0; i < COUNT; i++) {
        many[i][0] = i == 3 ? NAN : (float)i;
        many[i][1] = 1;
        snprintf(text[i], sizeof text[i], "\xd9\x86\xd9\x87\xd8\xb1 %d", i);
        name[i] = text[i];
    }
    HcSpectraPlot plot = {
        .scene = &scene, .count = COUNT, .value = many[0], .name = name, .title = "t", .label = "l"};
    char *svg = draw(&plot);
    check_paths(svg, "stroke-width=\"1.1\"", 200, 400);
    assert_non_null(strstr(svg, ">200 of 500 spectra, evenly taken.<"));
    assert_non_null(strstr(svg, ">and 160 more<"));
    assert_non_null(strstr(svg, ">\xd9\x86\xd9\x87\xd8\xb1 5<"));
    free(svg);
    /* One band, and none with a value. */
    scene.bands = 1;
    plot.count = 1;
    svg = draw(&plot);
    assert_null(strstr(svg, ">no value<"));
    free(svg);
    plot.value = (const float[]){NAN};
    svg = draw(&plot);
    assert_non_null(strstr(svg, ">no value<"));
    free(svg);
}

static char *draw_scree(const HcScreePlot *plot) {
    HcError err = {0};
    size_t bytes = 0;
    check_ok(hc_plot_scree("scree.svg", plot, true, &err), err);
    return file_bytes("scree.svg", &bytes);
}

static void scree_marks_noise_and_dimensions(void **state) {
    (void)state;
    const double values[] = {150, 20, 3, 1.1, 0.9};
    HcDimension dimension = {.bands = 5};
    dimension.count[HC_DIMENSION_HYSIME] = 3;
    dimension.count[HC_DIMENSION_HFC] = 2;
    dimension.count[HC_DIMENSION_NWHFC] = 3;
    dimension.count[HC_DIMENSION_ELM] = 70; /* beyond the eigenvalues */
    HcScreePlot plot = {
        .values = values, .count = 5, .title = "eigenvalues", .noise = 1, .dimension = &dimension};
    char *svg = draw_scree(&plot);
    check_paths(svg, "stroke=\"#b03e2c\"", 3, 6);
    assert_non_null(strstr(svg, ">noise</text>"));
    assert_non_null(strstr(svg, ">Components with signal: 2 by HFC; 3 by HySime, NWHFC. "));
    check_paths(svg, "stroke-width=\"1.1\"", 1, 5);
    free(svg);
    plot.count = 3; /* all far above the noise */
    plot.dimension = NULL;
    svg = draw_scree(&plot);
    check_paths(svg, "stroke=\"#b03e2c\"", 0, 0);
    free(svg);
}

/* Lines of neighbours are closer than their labels: that of the count that is kept stays. */
static void scree_names_the_chosen_count(void **state) {
    (void)state;
    double values[200];
    for (int k = 0; k < 200; k++) {
        values[k] = 1000.0 / (k + 1);
    }
    HcDimension dimension = {.bands = 200};
    dimension.count[HC_DIMENSION_AUTO] = dimension.count[HC_DIMENSION_HYSIME] = 112;
    dimension.count[HC_DIMENSION_HFC] = 111;
    dimension.count[HC_DIMENSION_ELM] = 113;
    HcScreePlot plot = {.values = values, .count = 200, .dimension = &dimension, .width = 255};
    for (int32_t kept = 110; kept <= 113; kept++) {
        char wanted[20];
        plot.kept = kept > 110 ? kept : 0;
        char *svg = draw_scree(&plot);
        for (int32_t count = 111; count <= 113; count++) {
            snprintf(wanted, sizeof wanted, ">%d</text>", count);
            assert_true((strstr(svg, wanted) != NULL) == (count == (kept > 110 ? kept : 112)));
        }
        snprintf(wanted, sizeof wanted, "Thick line: %d ", kept > 110 ? kept : 112);
        assert_non_null(strstr(svg, wanted));
        free(svg);
    }
    plot.dimension = NULL; /* as with --components 7 */
    plot.kept = 7;
    char *svg = draw_scree(&plot);
    assert_non_null(strstr(svg, ">7</text>"));
    assert_non_null(strstr(svg, "Thick line: 7 kept."));
    free(svg);
}

static void scree_of_anything(void **state) {
    (void)state;
    static const struct {
        double values[5];
        int32_t count;
        bool shown;
    } cases[] = {
        {{7}, 1, true},
        {{0, 0, 0}, 3, false},
        {{5, 5, 5}, 3, true},
        {{1e300, 1, 0, -1}, 4, true},
        {{1e-300, 1e-308}, 2, true},
        {{NAN, 3, 1}, 3, true},
        {{INFINITY, 3, 1}, 3, true},
        {{0}, 0, false},
        {{2, 1, 1e-30}, 3, true},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const HcScreePlot plot = {
            .values = cases[k].values, .count = cases[k].count, .title = "any", .noise = 1};
        char *svg = draw_scree(&plot);
        assert_true(cases[k].shown == (strstr(svg, ">no value<") == NULL));
        assert_true(strstr(svg, "nan") == NULL && strstr(svg, "inf") == NULL);
        free(svg);
    }
}

static void endings_are_checked(void **state) {
    (void)state;
    HcError err = {0};
    assert_int_equal(hc_plot_file_check("noise", "--picture", "a.jpg", &err), HC_E_USAGE);
    assert_string_equal(err.text, "noise: --picture a.jpg: does not end with .png, .svg or .pdf");
    err = (HcError){0};
    check_ok(hc_plot_file_check("noise", "--picture", "a.pdf", &err), err);
    assert_int_equal(hc_plot_file_bytes(NULL, 1, 5), 0);
    assert_true(hc_plot_file_bytes("a.png", 1000, 500) > hc_plot_file_bytes("a.svg", 1000, 500));
    assert_int_equal(hc_plot_file_bytes("a.svg", 1000, 500), hc_plot_file_bytes("a.svg", 200, 500));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(water_and_bad_bands_are_shaded),
        cmocka_unit_test(a_scene_in_water_is_shown),
        cmocka_unit_test(bands_are_taken_by_wavelength),
        cmocka_unit_test(spread_has_its_place),
        cmocka_unit_test(many_spectra_are_thinned_out),
        cmocka_unit_test(scree_marks_noise_and_dimensions),
        cmocka_unit_test(scree_names_the_chosen_count),
        cmocka_unit_test(scree_of_anything),
        cmocka_unit_test(endings_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
