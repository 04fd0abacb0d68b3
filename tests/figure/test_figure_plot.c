/* Plots: axes, labels, ticks, and how many points a path of the SVG has. */
#include "core/scene.h"
#include "figure/figure.h"
#include "tests/support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The SVG of a page with one plot, to be freed; box: where its axes lie. With HCUBE_PLOTS a PNG of it is
 * left in that folder to be looked at. */
static char *draw(const HcPlot *plot, const char *name, HcFigureBox *box) {
    HcError err = {0};
    HcFigureFile file;
    HcFigurePanel panel = {.plot = plot};
    HcFigure figure = {.title = name, .width = 510, .dpi = 110, .panel = &panel, .count = 1, .columns = 1};
    const char *folder = getenv("HCUBE_PLOTS");
    if (folder != NULL) {
        char path[4096];
        assert_int_equal(hc_figure_draw(&figure, HC_FIGURE_PNG, &file, &err), HC_OK);
        snprintf(path, sizeof path, "%s/%s.png", folder, name);
        FILE *to = fopen(path, "wb");
        assert_non_null(to);
        assert_int_equal(fwrite(file.data, 1, file.bytes, to), file.bytes);
        assert_int_equal(fclose(to), 0);
        free(file.data);
    }
    check_ok(hc_figure_draw(&figure, HC_FIGURE_SVG, &file, &err), err);
    char *text = realloc(file.data, file.bytes + 1);
    assert_non_null(text);
    text[file.bytes] = 0;
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
    if (box != NULL) {
        *box = panel.box;
    }
    return text;
}

/* Paths drawn in that colour: how many, and how many points all of them have. */
static void count_paths(const char *svg, const char *attribute, int *paths, int *points) {
    *paths = *points = 0;
    for (const char *at = svg; (at = strstr(at, "<path d=\"")) != NULL; at++) {
        const char *end = strstr(at, "/>"), *found = strstr(at, attribute);
        assert_non_null(end);
        if (found != NULL && found < end) {
            ++*paths;
            for (const char *c = at; c < end; c++) {
                *points += *c == 'M' || *c == 'L';
            }
        }
    }
}

static void check_paths(const char *svg, const char *attribute, int paths, int points) {
    int found_paths, found_points;
    count_paths(svg, attribute, &found_paths, &found_points);
    assert_int_equal(found_paths, paths);
    assert_int_equal(found_points, points);
}

#define STROKE_BLUE "stroke=\"#0000c8\""
#define FILL_BLUE   "fill=\"#0000c8\""
#define STROKE_RED  "stroke=\"#c80000\""

static void a_line_lies_between_its_axes(void **state) {
    (void)state;
    const double x[] = {0, 50, 100}, y[] = {10, 30, 20};
    const HcPlotSeries series = {.name = "A & B", .x = x, .y = y, .count = 3, .rgb = {0, 0, 200}};
    const HcPlot plot = {
        .x = {"wavelength [nm]", false}, .y = {"radiance", false}, .series = &series, .series_count = 1};
    HcFigureBox box;
    char *svg = draw(&plot, "line", &box), wanted[200];
    check_paths(svg, STROKE_BLUE, 1, 3);
    assert_non_null(strstr(svg, ">wavelength [nm]</text>"));
    assert_non_null(strstr(svg, ">radiance</text>"));
    assert_non_null(strstr(svg, ">A &amp; B</text>"));
    const char *const ticks[] = {">0<",   ">20<", ">40<", ">60<", ">80<",
                                 ">100<", ">10<", ">15<", ">25<", ">30<"};
    for (size_t t = 0; t < sizeof ticks / sizeof *ticks; t++) {
        assert_non_null(strstr(svg, ticks[t]));
    }
    check_near(box.height / box.width, 0.55, 1e-9);
    /* x from edge to edge, y with 5 % of air: 10 to 30 are 9 to 31. */
    double top = box.y + box.height / 22, bottom = box.y + box.height * 21 / 22;
    snprintf(wanted, sizeof wanted, "M%g %gL%g %gL%g %g\"", round(100 * box.x) / 100,
             round(100 * bottom) / 100, round(100 * (box.x + box.width / 2)) / 100, round(100 * top) / 100,
             round(100 * (box.x + box.width)) / 100, round(100 * (top + bottom) / 2) / 100);
    assert_non_null(strstr(svg, wanted));
    free(svg);
}

static void lines_break_where_nothing_is_known(void **state) {
    (void)state;
    const double x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, y[] = {1, 2, NAN, 2, 900, 3, 4, INFINITY, 5};
    const HcPlotSeries series[] = {{.x = x, .y = y, .count = 9, .rgb = {0, 0, 200}}};
    const HcPlotInterval water = {4.5, 5.5, "H\xe2\x82\x82O"};
    const HcPlot plot = {.series = series, .series_count = 1, .interval = &water, .interval_count = 1};
    char *svg = draw(&plot, "breaks", NULL);
    check_paths(svg, STROKE_BLUE, 2, 4); /* 1-2, 6-7; 4 and 9 alone are points */
    check_paths(svg, FILL_BLUE, 2, 2 * 12);
    check_paths(svg, "fill-opacity=\"0.16\"", 1, 4);
    assert_non_null(strstr(svg, ">H\xe2\x82\x82O</text>"));
    assert_null(strstr(svg, ">900<")); /* what lies in an interval does not stretch the axis */
    assert_non_null(strstr(svg, ">5<"));
    free(svg);
}

static void a_line_does_not_cross_an_interval(void **state) {
    (void)state;
    const double x[] = {1, 2, 5, 6}, y[] = {1, 2, 3, 4};
    const HcPlotSeries series = {.x = x, .y = y, .count = 4, .rgb = {0, 0, 200}};
    const HcPlotInterval gap = {3, 4, NULL};
    HcPlot plot = {.series = &series, .series_count = 1, .interval = &gap, .interval_count = 1};
    char *svg = draw(&plot, "gap", NULL);
    check_paths(svg, STROKE_BLUE, 2, 4);
    free(svg);
    plot.interval_count = 0;
    svg = draw(&plot, "no gap", NULL);
    check_paths(svg, STROKE_BLUE, 1, 4);
    free(svg);
}

static void spread_is_an_area(void **state) {
    (void)state;
    const double x[] = {1, 2, 3, 4, 5}, y[] = {1, 2, NAN, 2, 3};
    const double low[] = {0, 1, NAN, -3, 2}, high[] = {2, 3, NAN, 3, 8};
    const HcPlotSeries series = {
        .name = "mean", .x = x, .y = y, .low = low, .high = high, .count = 5, .rgb = {0, 0, 200}};
    const HcPlot plot = {.series = &series, .series_count = 1};
    char *svg = draw(&plot, "spread", NULL);
    check_paths(svg, STROKE_BLUE, 2, 4);
    check_paths(svg, "fill-opacity=\"0.22\"", 2, 8);
    assert_non_null(strstr(svg, ">\xe2\x88\x92"
                                "2<"));
    assert_non_null(strstr(svg, ">8<"));
    free(svg);
}

static void decades_of_a_logarithmic_axis(void **state) {
    (void)state;
    double x[40], y[40];
    for (int i = 0; i < 40; i++) {
        x[i] = i + 1;
        y[i] = i == 7 ? 0 : i == 8 ? -4 : pow(10, 6 - i * 0.2);
    }
    const HcPlotSeries series = {.x = x, .y = y, .count = 40, .rgb = {0, 0, 200}, .points = true};
    const HcPlotMark marks[] = {{.at = 1, .label = "noise = 1"},
                                {.at = 12, .upright = true, .label = "HySime 12"},
                                {.at = 13, .upright = true, .label = "HFC 13"}};
    const HcPlot plot = {.x = {"component", false},
                         .y = {"eigenvalue", true},
                         .series = &series,
                         .series_count = 1,
                         .mark = marks,
                         .mark_count = 3};
    HcFigureBox box;
    char *svg = draw(&plot, "scree", &box);
    check_paths(svg, STROKE_BLUE, 2, 38);
    check_paths(svg, FILL_BLUE, 38, 38 * 12);
    assert_non_null(strstr(svg, ">10\xe2\x81\xb6<")); /* ten to the sixth */
    assert_non_null(strstr(svg, ">10\xe2\x81\xbb\xc2\xb2<"));
    assert_non_null(strstr(svg, ">noise = 1<"));
    assert_non_null(strstr(svg, ">HySime 12<"));
    assert_null(strstr(svg, ">HFC 13<")); /* it would touch the one before */
    check_paths(svg, "stroke=\"#b03e2c\"", 3, 6);
    free(svg);
}

static void anything_makes_a_plot(void **state) {
    (void)state;
    const double x[] = {1, 2, 3}, same[] = {7, 7, 7}, none[] = {NAN, NAN, NAN}, zero[] = {0, 0, 0};
    const double huge[] = {-1.7e308, 1.7e308, 0}, tiny[] = {1e-310, 2e-310, 3e-310},
                 near[] = {1, 1 + 1e-15, 1 + 2e-15};
    const struct {
        const double *x, *y;
        int32_t count;
        bool shown;
    } cases[] = {{x, same, 3, true},     {x, none, 3, false}, {x, zero, 3, true}, {x, huge, 3, true},
                 {x, tiny, 3, true},     {x, near, 3, true},  {x, same, 1, true}, {same, same, 3, true},
                 {none, same, 3, false}, {x, same, 0, false}};
    for (int logarithmic = 0; logarithmic < 2; logarithmic++) {
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
            const HcPlotSeries series = {.name = "s",
                                         .x = cases[k].x,
                                         .y = cases[k].y,
                                         .low = cases[k].y,
                                         .high = cases[k].y,
                                         .count = cases[k].count,
                                         .rgb = {200, 0, 0}};
            const HcPlot plot = {
                .x = {"x", false}, .y = {"y", logarithmic != 0}, .series = &series, .series_count = 1};
            char name[40];
            snprintf(name, sizeof name, "any %d %d", (int)k, logarithmic);
            char *svg = draw(&plot, name, NULL);
            bool shown = cases[k].shown && (logarithmic == 0 || cases[k].y != zero);
            assert_true(shown == (strstr(svg, ">no value<") == NULL));
            free(svg);
        }
    }
    const HcPlot empty = {.y = {"y", true}};
    char *svg = draw(&empty, "empty", NULL);
    assert_non_null(strstr(svg, ">no value<"));
    free(svg);
}

static void five_hundred_names_in_any_script(void **state) {
    (void)state;
    enum { COUNT = 500 };
    static char name[COUNT][48];
    static char *names[COUNT];
    static uint8_t rgb[COUNT][3];
    static double y[COUNT][3];
    static HcPlotSeries series[COUNT];
    const double x[] = {400, 900, 2500};
    static const char *const words[] = {"\xd9\x86\xd9\x87\xd8\xb1", "\xe6\xa3\xae\xe6\x9e\x97",
                                        "kaolinite \xff", "snow",
                                        "a very long name of a mineral from far away"};
    for (int i = 0; i < COUNT; i++) {
        snprintf(name[i], sizeof name[i], "%.30s %d", words[i % 5], i);
        names[i] = name[i];
        for (int k = 0; k < 3; k++) {
            y[i][k] = i + k * 20;
        }
    }
    hc_line_colours(names, COUNT, rgb);
    for (int i = 0; i < COUNT; i++) {
        series[i] = (HcPlotSeries){.name = name[i], .x = x, .y = y[i], .count = 3};
        memcpy(series[i].rgb, rgb[i], 3);
        assert_true(0.299 * rgb[i][0] + 0.587 * rgb[i][1] + 0.114 * rgb[i][2] <= 165);
    }
    const HcPlot plot = {.x = {"wavelength [nm]", false}, .series = series, .series_count = COUNT};
    char *svg = draw(&plot, "names", NULL);
    assert_non_null(strstr(svg, ">\xd9\x86\xd9\x87\xd8\xb1 0<"));
    assert_non_null(strstr(svg, ">\xe6\xa3\xae\xe6\x9e\x97 1<"));
    assert_non_null(strstr(svg, ">and 460 more<"));
    free(svg);
}

static void the_same_plot_has_the_same_bytes(void **state) {
    (void)state;
    const double x[] = {0, 1, 2}, a[] = {1, 2, 3}, b[] = {3, 2, 1};
    const HcPlotSeries series[] = {{.name = "a", .x = x, .y = a, .count = 3, .rgb = {0, 0, 200}},
                                   {.name = "b", .x = x, .y = b, .count = 3, .rgb = {200, 0, 0}}};
    const HcPlot plot = {.series = series, .series_count = 2, .shape = 1};
    HcFigurePanel panel[] = {{.plot = &plot, .title = "one"}, {.plot = &plot, .title = "two"}};
    HcFigure figure = {.width = 400, .dpi = 72, .panel = panel, .count = 2, .columns = 2};
    for (int f = HC_FIGURE_PNG; f <= HC_FIGURE_PDF; f++) {
        HcError err = {0};
        HcFigureFile one, two;
        check_ok(hc_figure_draw(&figure, (HcFigureFormat)f, &one, &err), err);
        check_ok(hc_figure_draw(&figure, (HcFigureFormat)f, &two, &err), err);
        assert_int_equal(one.bytes, two.bytes);
        assert_memory_equal(one.data, two.data, one.bytes);
        free(one.data);
        free(two.data);
    }
    assert_true(panel[1].box.x > panel[0].box.x + panel[0].box.width && panel[1].box.y == panel[0].box.y);
    char *svg = draw(&plot, "square", &panel[0].box);
    check_near(panel[0].box.height, panel[0].box.width, 1e-9);
    check_paths(svg, STROKE_BLUE, 1, 3);
    check_paths(svg, STROKE_RED, 1, 3);
    assert_null(strstr(svg, ">N</text>"));
    free(svg);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_lies_between_its_axes),
        cmocka_unit_test(lines_break_where_nothing_is_known),
        cmocka_unit_test(a_line_does_not_cross_an_interval),
        cmocka_unit_test(spread_is_an_area),
        cmocka_unit_test(decades_of_a_logarithmic_axis),
        cmocka_unit_test(anything_makes_a_plot),
        cmocka_unit_test(five_hundred_names_in_any_script),
        cmocka_unit_test(the_same_plot_has_the_same_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
