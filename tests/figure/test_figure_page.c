/* The page: what lies where in a PNG, and which texts are in an SVG. */
#include "figure/figure.h"
#include "figure/ticks.h"
#include "tests/support/check.h"

#include <math.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 12, HEIGHT = 8 };

/* Every pixel has a colour of its own; the first column is nodata. */
static void fill(uint8_t pixels[HEIGHT * WIDTH][4]) {
    for (int y = 0; y < HEIGHT; y++) {
        for (int x = 0; x < WIDTH; x++) {
            uint8_t *pixel = pixels[y * WIDTH + x];
            pixel[0] = (uint8_t)(20 * x);
            pixel[1] = (uint8_t)(30 * y);
            pixel[2] = 77;
            pixel[3] = x == 0 ? 0 : 255;
        }
    }
}

typedef struct Drawn {
    HcFigureFile file;
    HcFigureBox box;
} Drawn;

static HcFigure figure_of(HcFigurePanel *panel) {
    return (HcFigure){.title = "Lake & <shore>",
                      .caption = "2 % to 98 %",
                      .description = "what it shows",
                      .width = 300,
                      .dpi = 144,
                      .panel = panel,
                      .count = 1,
                      .columns = 1};
}

static HcFigureFile draw(HcFigure *figure, HcFigureFormat format) {
    HcError err = {0};
    HcFigureFile file;
    assert_int_equal(hc_figure_draw(figure, format, &file, &err), HC_OK);
    assert_non_null(file.data);
    return file;
}

/* The SVG as a string, to be freed. */
static char *draw_svg(HcFigure *figure) {
    HcFigureFile file = draw(figure, HC_FIGURE_SVG);
    char *text = realloc(file.data, file.bytes + 1);
    assert_non_null(text);
    text[file.bytes] = 0;
    return text;
}

static void check_pixel(const uint8_t *pixels, uint32_t stride, double x, double y, const uint8_t wanted[3]) {
    const uint8_t *pixel = pixels + 3 * ((size_t)y * stride + (size_t)x);
    for (int c = 0; c < 3; c++) {
        assert_int_equal(pixel[c], wanted[c]);
    }
}

static void png_shows_each_pixel_in_its_place(void **state) {
    (void)state;
    static uint8_t pixels[HEIGHT * WIDTH][4];
    static const uint8_t paper[3] = {255, 255, 255};
    fill(pixels);
    HcFigurePanel panel = {.map = {WIDTH, HEIGHT, pixels[0], .north = NAN}};
    HcFigure figure = figure_of(&panel);
    HcFigureFile file = draw(&figure, HC_FIGURE_PNG);
    png_image image = {.version = PNG_IMAGE_VERSION};
    assert_true(png_image_begin_read_from_memory(&image, file.data, file.bytes));
    image.format = PNG_FORMAT_RGB;
    uint8_t *page = malloc(PNG_IMAGE_SIZE(image));
    assert_non_null(page);
    assert_true(png_image_finish_read(&image, NULL, page, 0, NULL));
    assert_int_equal(image.width, 600);
    assert_int_equal(image.height, lround(2 * file.height));
    assert_true(panel.box.width > 250 && panel.box.x + panel.box.width < 300);
    double dx = 2 * panel.box.width / WIDTH, dy = 2 * panel.box.height / HEIGHT;
    assert_true(fabs(dx - dy) < 1e-9);
    for (int y = 0; y < HEIGHT; y++) {
        for (int x = 0; x < WIDTH; x++) {
            check_pixel(page, image.width, 2 * panel.box.x + (x + 0.5) * dx, 2 * panel.box.y + (y + 0.5) * dy,
                        x == 0 ? paper : pixels[y * WIDTH + x]);
        }
    }
    check_pixel(page, image.width, 1, 1, paper);
    check_pixel(page, image.width, image.width - 1, image.height - 1, paper);
    /* 144 pixels an inch are 5669 a metre. */
    static const uint8_t chunk[] = {0, 0, 0, 9, 'p', 'H', 'Y', 's', 0, 0, 0x16, 0x25, 0, 0, 0x16, 0x25, 1};
    assert_memory_equal(file.data + 33, chunk, sizeof chunk);
    free(page);
    free(file.data);
}

static void svg_keeps_texts(void **state) {
    (void)state;
    static uint8_t pixels[HEIGHT * WIDTH][4];
    fill(pixels);
    const HcFigureEntry entries[] = {{{1, 2, 3}, "\xd9\x86\xd9\x87\xd8\xb1", 12.34},    /* right to left */
                                     {{250, 20, 30}, "\xe6\xa3\xae\xe6\x9e\x97", 0.01}, /* Chinese */
                                     {{9, 9, 9}, "bad \xff byte\n&", NAN}};
    HcFigureLegend legend = {.entry = entries, .count = 3};
    HcFigurePanel panel = {
        .title = "panel \"one\"", .map = {WIDTH, HEIGHT, pixels[0], 100, 1, 0, NULL}, .legend = &legend};
    HcFigure figure = figure_of(&panel);
    char *svg = draw_svg(&figure);
    assert_non_null(strstr(svg, "<title>Lake &amp; &lt;shore&gt;</title>"));
    assert_non_null(strstr(svg, "<desc>what it shows</desc>"));
    assert_non_null(strstr(svg, ">2 % to 98 %</text>"));
    assert_non_null(strstr(svg, ">panel &quot;one&quot;</text>"));
    assert_non_null(strstr(svg, ">\xd9\x86\xd9\x87\xd8\xb1</text>"));
    assert_non_null(strstr(svg, ">\xe6\xa3\xae\xe6\x9e\x97</text>"));
    assert_non_null(strstr(svg, ">bad \\xff byte &amp;</text>"));
    assert_non_null(strstr(svg, ">12.3 %</text>"));
    assert_non_null(strstr(svg, ">&lt; 0.1 %</text>"));
    assert_non_null(strstr(svg, "fill=\"#fa141e\""));
    assert_non_null(strstr(svg, "href=\"data:image/png;base64,iVBORw0KGgo"));
    assert_non_null(strstr(svg, ">N</text>"));
    assert_non_null(strstr(svg, ">200 m</text>")); /* 1200 m across, at most 2/5 of it */
    free(svg);
}

/* A page of 100 mm has no space for this name beside its map, but below. */
static void names_that_would_be_cut_stand_below(void **state) {
    (void)state;
    static uint8_t pixels[HEIGHT * WIDTH][4];
    fill(pixels);
    const HcFigureEntry entries[] = {{{1, 2, 3}, "Green vegetation", 40.7}, {{4, 5, 6}, "Water", 6.5}};
    HcFigureLegend legend = {.entry = entries, .count = 2};
    HcFigurePanel panel = {.map = {WIDTH, HEIGHT, pixels[0], .north = NAN}, .legend = &legend};
    HcFigure figure = figure_of(&panel);
    figure.width = 220;
    char *svg = draw_svg(&figure);
    assert_non_null(strstr(svg, ">Green vegetation</text>"));
    assert_true(panel.box.width > 190); /* the map has the whole width */
    free(svg);
}

static void without_a_place_there_is_no_scale(void **state) {
    (void)state;
    static uint8_t pixels[HEIGHT * WIDTH][4];
    fill(pixels);
    HcFigureBar bar = {HC_RAMP_VIK, -2, 2, 1, "units of noise"};
    HcFigurePanel panel = {.map = {WIDTH, HEIGHT, pixels[0], .north = NAN}, .bar = &bar};
    HcFigure figure = figure_of(&panel);
    char *svg = draw_svg(&figure);
    assert_null(strstr(svg, " m</text>"));
    assert_null(strstr(svg, " km</text>"));
    assert_null(strstr(svg, ">N</text>"));
    assert_non_null(strstr(svg, ">\xe2\x88\x92"
                                "2</text>"));
    assert_non_null(strstr(svg, ">0</text>"));
    assert_non_null(strstr(svg, ">units of noise</text>"));
    free(svg);
}

static void pixels_of_degrees_keep_their_shape(void **state) {
    (void)state;
    static uint8_t pixels[HEIGHT * WIDTH][4];
    fill(pixels);
    HcFigurePanel panel = {.map = {WIDTH, HEIGHT, pixels[0], 50, 2, NAN, NULL}};
    HcFigure figure = figure_of(&panel);
    HcFigureFile file = draw(&figure, HC_FIGURE_PDF);
    check_near(panel.box.height / panel.box.width, 2.0 * HEIGHT / WIDTH, 1e-9);
    check_near(panel.box.height, HC_FIGURE_MAP_TALL * 276,
               1e-9); /* narrower than the page, which it would leave */
    free(file.data);
    panel.map.height = HEIGHT / 2;
    file = draw(&figure, HC_FIGURE_PDF);
    check_near(panel.box.height / panel.box.width, 2.0 * (HEIGHT / 2) / WIDTH, 1e-9);
    check_near(panel.box.width, 276, 1e-9);
    free(file.data);
}

static void the_same_page_has_the_same_bytes(void **state) {
    (void)state;
    static uint8_t pixels[HEIGHT * WIDTH][4];
    fill(pixels);
    HcFigurePanel panel = {.map = {WIDTH, HEIGHT, pixels[0], 100, 1, 30, NULL}};
    HcFigure figure = figure_of(&panel);
    for (int f = HC_FIGURE_PNG; f <= HC_FIGURE_PDF; f++) {
        HcFigureFile a = draw(&figure, (HcFigureFormat)f), b = draw(&figure, (HcFigureFormat)f);
        assert_int_equal(a.bytes, b.bytes);
        assert_memory_equal(a.data, b.data, a.bytes);
        assert_true(f != HC_FIGURE_PDF || memcmp(a.data, "%PDF-1.", 7) == 0);
        free(a.data);
        free(b.data);
    }
}

static void a_page_that_is_too_high_is_refused(void **state) {
    (void)state;
    static uint8_t pixels[HEIGHT * WIDTH][4];
    HcFigurePanel panel[8];
    for (int p = 0; p < 8; p++) {
        panel[p] = (HcFigurePanel){.map = {WIDTH, HEIGHT, pixels[0], .north = NAN}};
    }
    HcFigure figure = figure_of(panel);
    figure.count = 8;
    HcError err = {0};
    HcFigureFile file;
    assert_int_equal(hc_figure_draw(&figure, HC_FIGURE_PNG, &file, &err), HC_E_USAGE);
    assert_non_null(strstr(err.text, "with 8 parts is too high"));
    assert_null(file.data);
    figure.columns = 4;
    file = draw(&figure, HC_FIGURE_PNG);
    assert_true(panel[4].box.y > panel[0].box.y && panel[4].box.x == panel[0].box.x);
    assert_true(panel[3].box.x > panel[2].box.x && panel[3].box.y == panel[0].box.y);
    free(file.data);
}

static void check_ticks(double low, double high, int32_t want, const char *wanted) {
    HcTicks ticks;
    char all[HC_TICKS_MAX * (HC_TICK_BYTES + 1)] = "";
    hc_ticks_make(&ticks, low, high, want);
    for (int32_t t = 0; t < ticks.count; t++) {
        strcat(strcat(all, t > 0 ? " " : ""), ticks.text[t]);
    }
    assert_string_equal(all, wanted);
}

static void ticks_are_round(void **state) {
    (void)state;
    check_ticks(0, 1, 5, "0.0 0.2 0.4 0.6 0.8 1.0");
    check_ticks(0, 100, 4, "0 50 100");
    check_ticks(-1.5, 2.2, 4,
                "\xe2\x88\x92"
                "1 0 1 2");
    check_ticks(0.00012, 0.00088, 4, "0.0002 0.0004 0.0006 0.0008");
    check_ticks(1e6, 3e6, 4, "1e+06 1.5e+06 2e+06 2.5e+06 3e+06");
    check_ticks(7, 7, 4, "7");
    check_ticks(0, INFINITY, 4, "0");
    check_ticks(NAN, NAN, 4, "");
    assert_true(fabs(hc_ticks_round(999) - 500) < 1e-9 && fabs(hc_ticks_round(0.2) - 0.2) < 1e-12);
}

static double lightness(const uint8_t rgb[3]) {
    return 0.2126 * pow(rgb[0] / 255.0, 2.2) + 0.7152 * pow(rgb[1] / 255.0, 2.2) +
           0.0722 * pow(rgb[2] / 255.0, 2.2);
}

static void colours_rise_evenly(void **state) {
    (void)state;
    const HcRamp rising[] = {HC_RAMP_VIRIDIS, HC_RAMP_GREY, HC_RAMP_BATLOW};
    uint8_t rgb[3];
    for (size_t r = 0; r < 3; r++) {
        double last = -1;
        for (int i = 0; i <= 50; i++) {
            hc_ramp_colour(rising[r], i / 50.0, rgb);
            assert_true(lightness(rgb) > last);
            last = lightness(rgb);
        }
    }
    /* The ends and the middle of vik, from its table. */
    static const uint8_t first[3] = {0x00, 0x12, 0x61}, last[3] = {0x59, 0x00, 0x08};
    hc_ramp_colour(HC_RAMP_VIK, -3, rgb);
    assert_memory_equal(rgb, first, 3);
    hc_ramp_colour(HC_RAMP_VIK, 7, rgb);
    assert_memory_equal(rgb, last, 3);
    hc_ramp_colour(HC_RAMP_VIK, 0.5, rgb);
    assert_true(rgb[0] > 220 && rgb[1] > 220 && rgb[2] > 215);
    hc_ramp_colour(HC_RAMP_VIK, NAN, rgb);
    assert_memory_equal(rgb, first, 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(png_shows_each_pixel_in_its_place),
        cmocka_unit_test(svg_keeps_texts),
        cmocka_unit_test(names_that_would_be_cut_stand_below),
        cmocka_unit_test(without_a_place_there_is_no_scale),
        cmocka_unit_test(pixels_of_degrees_keep_their_shape),
        cmocka_unit_test(the_same_page_has_the_same_bytes),
        cmocka_unit_test(a_page_that_is_too_high_is_refused),
        cmocka_unit_test(ticks_are_round),
        cmocka_unit_test(colours_rise_evenly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
