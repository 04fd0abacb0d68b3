#include "figure/figure.h"
#include "tests/support/scene_files.h"

#include <cjson/cJSON.h>
#include <png.h>
#include <stdlib.h>

enum { LINES = 20, SAMPLES = 30, BANDS = 4 };

static const char utm[] = "map info = {UTM, 1, 1, 331200.0, 5563500.0, 30.0, 30.0, 33, North, WGS-84}\n";

static bool is_border(int32_t line, int32_t sample) {
    return line == 0 || sample == 0 || line == LINES - 1 || sample == SAMPLES - 1;
}

/* A ramp along the lines in band 1, one of both signs along the samples in band 2. */
static void write_ramps(const char *name, const char *more) {
    Cube cube = cube_new(LINES, SAMPLES, BANDS);
    for (int32_t line = 0; line < LINES; line++) {
        for (int32_t sample = 0; sample < SAMPLES; sample++) {
            double *value = cube_pixel(&cube, line, sample);
            value[0] = 100 + line;
            value[1] = sample - 10;
            value[2] = 7;
            value[3] = -sample;
            for (int32_t b = 0; b < BANDS && is_border(line, sample); b++) {
                value[b] = -999;
            }
        }
    }
    cube_write(&cube, name, HC_FLOAT32, "bil", more);
    cube_free(&cube);
}

typedef struct Page {
    int width, height;
    uint8_t *pixel; /* [height][width][3] */
    double box[4];  /* of the first map [pixels] */
} Page;

static const RunHow recorded = {.settings.record = "record.json"};

/* Where the map of the figure lies on its page [mm], by the record: x, y, width, height. `number`: which of
 * the figures of the chain. */
static void find_box(int number, double box[4]) {
    size_t bytes;
    char *text = file_bytes("record.json", &bytes);
    cJSON *root = cJSON_ParseWithLength(text, bytes), *step = NULL, *part = NULL, *found = NULL;
    free(text);
    assert_non_null(root);
    cJSON_ArrayForEach(step, cJSON_GetObjectItem(root, "steps")) {
        cJSON_ArrayForEach(part, step) {
            cJSON *maps = cJSON_GetObjectItem(part, "maps_mm");
            if (maps != NULL && number-- == 0) {
                found = cJSON_GetArrayItem(maps, 0);
            }
        }
    }
    assert_non_null(found);
    for (int v = 0; v < 4; v++) {
        box[v] = cJSON_GetArrayItem(found, v)->valuedouble;
    }
    cJSON_Delete(root);
}

static Page read_page(const char *path, int number, double dpi) {
    png_image image = {.version = PNG_IMAGE_VERSION};
    assert_true(png_image_begin_read_from_file(&image, path));
    image.format = PNG_FORMAT_RGB;
    Page page = {(int)image.width, (int)image.height, malloc(PNG_IMAGE_SIZE(image)), {0}};
    assert_true(png_image_finish_read(&image, NULL, page.pixel, 0, NULL));
    find_box(number, page.box);
    for (int v = 0; v < 4; v++) {
        page.box[v] *= dpi / 25.4;
    }
    return page;
}

/* The colour in the middle of a pixel of the scene. */
static const uint8_t *pixel_of(const Page *page, int32_t line, int32_t sample) {
    size_t x = (size_t)(page->box[0] + (sample + 0.5) * page->box[2] / SAMPLES);
    size_t y = (size_t)(page->box[1] + (line + 0.5) * page->box[3] / LINES);
    return page->pixel + 3 * (y * (size_t)page->width + x);
}

static char *svg_of(const char *path) {
    size_t bytes;
    char *text = file_bytes(path, &bytes);
    text = realloc(text, bytes + 1);
    assert_non_null(text);
    text[bytes] = 0;
    assert_non_null(strstr(text, "</svg>"));
    return text;
}

static void check_has(const char *text, const char *part) {
    if (strstr(text, part) == NULL) {
        fail_msg("no \"%s\"", part);
    }
}

static void check_lacks(const char *text, const char *part) {
    if (strstr(text, part) != NULL) {
        fail_msg("has \"%s\"", part);
    }
}

static void check_images(const char *svg, int expected) {
    int images = 0;
    for (const char *at = svg; (at = strstr(at, "<image ")) != NULL; at++) {
        images++;
    }
    assert_int_equal(images, expected);
}

static void three_bands_are_mixed(void **state) {
    (void)state;
    write_ramps("scene", "data ignore value = -999\n");
    check_runs(&recorded,
               "read scene.img ! figure a.png --bands 1,2,3 --percentiles 0,100 --width 100 --dpi 127");
    Page page = read_page("a.png", 0, 127);
    assert_int_equal(page.width, 500);
    for (int32_t line = 0; line < LINES; line++) {
        for (int32_t sample = 0; sample < SAMPLES; sample++) {
            const uint8_t *pixel = pixel_of(&page, line, sample);
            if (is_border(line, sample)) {
                assert_true(pixel[0] == 255 && pixel[1] == 255 && pixel[2] == 255);
                continue;
            }
            check_near(pixel[0], 255.0 * (line - 1) / (LINES - 3), 1);
            check_near(pixel[1], 255.0 * (sample - 1) / (SAMPLES - 3), 1);
            assert_int_equal(pixel[2], 128); /* a constant band */
        }
    }
    free(page.pixel);
}

/* Of both signs: the middle of vik is 0. Of one: batlow from end to end. */
static void signs_choose_the_colours(void **state) {
    (void)state;
    write_ramps("scene", "data ignore value = -999\n");
    check_runs(&recorded, "read scene.img ! figure a.png --bands 2 --percentiles 0,100 ! "
                          "figure b.png --bands 1 --percentiles 0,100 ! "
                          "figure c.png --bands 1 --limits 0,200 --colours viridis --gamma 2");
    Page a = read_page("a.png", 0, 300), b = read_page("b.png", 1, 300), c = read_page("c.png", 2, 300);
    for (int32_t line = 1; line < LINES - 1; line++) {
        for (int32_t sample = 1; sample < SAMPLES - 1; sample++) {
            uint8_t wanted[3];
            hc_ramp_colour(HC_RAMP_VIK, (sample - 10 + 18) / 36.0, wanted);
            assert_memory_equal(pixel_of(&a, line, sample), wanted, 3);
            hc_ramp_colour(HC_RAMP_BATLOW, (line - 1) / (LINES - 3.0), wanted);
            assert_memory_equal(pixel_of(&b, line, sample), wanted, 3);
            hc_ramp_colour(HC_RAMP_VIRIDIS, sqrt((100 + line) / 200.0), wanted);
            assert_memory_equal(pixel_of(&c, line, sample), wanted, 3);
        }
    }
    free(a.pixel);
    free(b.pixel);
    free(c.pixel);
}

/* Six limits are those of the colours; gamma is 1.4 where true colour is shown without being asked for. */
static void colours_have_limits_of_their_own(void **state) {
    (void)state;
    write_ramps("scene",
                "data ignore value = -999\nwavelength units = nm\nwavelength = {650, 550, 460, 800}\n");
    check_runs(&recorded, "read scene.img ! figure a.png --limits 0,200,-20,20,0,1000 ! "
                          "figure b.png --bands 1,2,3 --limits 0,200,-20,20,0,1000 ! figure c.svg ! "
                          "figure d.svg --limits 0,200,0,200,0,1000");
    Page a = read_page("a.png", 0, 300), b = read_page("b.png", 1, 300);
    for (int32_t line = 1; line < LINES - 1; line++) {
        for (int32_t sample = 1; sample < SAMPLES - 1; sample++) {
            double red = (100 + line) / 200.0, green = (sample - 10 + 20) / 40.0;
            const uint8_t *bright = pixel_of(&a, line, sample), *plain = pixel_of(&b, line, sample);
            check_near(plain[0], 255 * red, 1);
            check_near(plain[1], 255 * green, 1);
            check_near(bright[0], 255 * pow(red, 1 / 1.4), 1);
            check_near(bright[1], 255 * pow(green, 1 / 1.4), 1);
        }
    }
    char *c = svg_of("c.svg");
    char *d = svg_of("d.svg");
    check_has(c, "gamma 1.4");
    check_has(d, "blue 460 nm (band 3), 0 to 1000. Stretch: as asked, gamma 1.4.");
    free(d);
    free(c);
    free(a.pixel);
    free(b.pixel);
}

static void texts_say_what_is_shown(void **state) {
    (void)state;
    char more[400];
    snprintf(more, sizeof more,
             "data ignore value = -999\nband names = {one, \xd8\xa7\xd8\xab\xd9\x86\xd8\xa7\xd9\x86, c < d, "
             "four}\n%s",
             utm);
    write_ramps("scene", more);
    check_runs(NULL, "read scene.img ! figure a.svg --each all ! figure b.svg --bands 2 --title Title&more ! "
                     "figure c.svg --bands 1,2,4 --gamma 1.5 --size 16");
    char *a = svg_of("a.svg"), *b = svg_of("b.svg"), *c = svg_of("c.svg");
    check_has(a, "<title>scene</title>");
    check_has(a, ">one</text>");
    check_has(a, ">\xd8\xa7\xd8\xab\xd9\x86\xd8\xa7\xd9\x86</text>");
    check_has(a, ">c &lt; d</text>");
    check_has(a, ">N</text>");
    check_images(a, 2 * BANDS); /* each with its bar */
    check_has(b, "<title>Title&amp;more</title>");
    check_has(b, "Stretch: 2 % to 98 % of the shown pixels, as far below 0 as above. 20 lines x 30 samples. "
                 "Pixels of 30 m x 30 m. White: no value (16 %).");
    check_has(b, ">200 m</text>");
    check_has(c, "gamma 1.5");
    check_has(c, "thinned out to one pixel of 2 x 2");
    free(a);
    free(b);
    free(c);
    write_ramps("scene", NULL);
    check_runs(NULL, "read scene.img ! figure d.svg --bands 1 --limits 0,1000");
    char *d = svg_of("d.svg");
    check_has(
        d, "<desc>Stretch: 0 to 1000, as asked. 20 lines x 30 samples. No georeference: no scale bar and no "
           "north.</desc>");
    assert_null(strstr(d, ">N</text>"));
    free(d);
}

static void a_scene_without_values(void **state) {
    (void)state;
    Cube cube = cube_new(LINES, SAMPLES, 1);
    cube_write(&cube, "empty", HC_UINT16, "bil", "data ignore value = 0\n");
    cube_write(&cube, "classes", HC_UINT16, "bil",
               "data ignore value = 0\nfile type = ENVI Classification\nclasses = 3\n");
    cube_free(&cube);
    check_runs(&recorded, "read empty.img ! figure a.png ! figure a.svg ! figure a.pdf");
    char *svg = svg_of("a.svg");
    check_has(svg, "No pixel has a value.</desc>");
    check_has(svg, ">No pixel has a value</text>"); /* on the map */
    check_has(svg, ">band 1</text>");
    check_images(svg, 1); /* no colour bar */
    free(svg);
    check_runs(NULL, "read classes.img ! figure c.svg");
    svg = svg_of("c.svg");
    check_has(svg, ">No pixel has a value</text>");
    check_lacks(svg, "Percent of");
    check_lacks(svg, ">Class 1</text>");
    free(svg);
    Page page = read_page("a.png", 0, 300);
    for (int32_t line = 0; line < LINES; line++) {
        assert_int_equal(pixel_of(&page, line, 3)[1], 255);
    }
    free(page.pixel);
}

/* Every second pixel of every second line is shown; those between them have values. */
static void a_picture_without_values(void **state) {
    (void)state;
    Cube cube = cube_new(LINES, SAMPLES, 1);
    for (int32_t p = 0; p < LINES * SAMPLES; p++) {
        cube.value[p] = (p / SAMPLES) % 2;
    }
    cube_write(&cube, "between", HC_UINT16, "bil", "data ignore value = 0\n");
    cube_free(&cube);
    check_runs(NULL, "read between.img ! figure a.svg --size 16");
    char *svg = svg_of("a.svg");
    check_has(svg, ">No pixel that is shown has a value</text>");
    check_has(svg, "White: no value (50 %).");
    check_images(svg, 1);
    free(svg);
}

/* Class (line + sample) % classes. */
static void write_classes(int32_t classes, const char *more) {
    Cube cube = cube_new(LINES, SAMPLES, 1);
    for (int32_t p = 0; p < LINES * SAMPLES; p++) {
        cube.value[p] = (p / SAMPLES + p % SAMPLES) % classes;
    }
    cube_write(&cube, "classes", HC_UINT16, "bsq", more);
    cube_free(&cube);
}

static void classes_have_names_colours_and_areas(void **state) {
    (void)state;
    write_classes(4, "file type = ENVI Classification\nclasses = 5\n"
                     "class names = {Unclassified, one, two, three, never}\n"
                     "class lookup = {0,0,0, 250,10,20, 30,240,50, 60,70,230, 9,99,199}\n");
    check_runs(&recorded, "read classes.img ! figure a.svg ! figure a.png --size 16");
    char *svg = svg_of("a.svg");
    /* Counted over all pixels: 150 of 600 each. */
    check_has(svg, ">25.0 %</text>");
    check_has(svg, "fill=\"#fa0a14\"");
    check_has(svg, ">Unclassified</text>");
    assert_null(strstr(svg, ">never</text>"));
    free(svg);
    Page page = read_page("a.png", 1, 300);
    /* Every second pixel of every second line is shown: of line 2 and sample 4, of class 2. */
    static const uint8_t two[3] = {30, 240, 50};
    assert_memory_equal(pixel_of(&page, 2, 4), two, 3);
    assert_int_equal(pixel_of(&page, 0, 0)[0], 255);
    free(page.pixel);
    /* Without colours of their own, classes get those of their names. */
    write_classes(
        3, "file type = ENVI Classification\nclasses = 3\nclass names = {Unclassified, Lake, Forest}\n");
    check_runs(NULL, "read classes.img ! figure b.svg");
    svg = svg_of("b.svg");
    check_has(svg, "fill=\"#0072b2\"");
    check_has(svg, "fill=\"#117733\"");
    free(svg);
}

static void many_classes_end_in_one_entry(void **state) {
    (void)state;
    Cube cube = cube_new(LINES, SAMPLES, 1);
    for (int32_t p = 0; p < LINES * SAMPLES; p++) {
        cube.value[p] = p < 100 ? 7 : p;
    }
    cube_write(&cube, "classes", HC_UINT16, "bsq", "file type = ENVI Classification\nclasses = 500\n");
    cube_free(&cube);
    check_runs(NULL, "read classes.img ! figure a.svg ! figure a.pdf");
    char *svg = svg_of("a.svg");
    check_has(svg, ">Class 7</text>");
    check_has(svg, ">Class 138</text>"); /* 100 to 499 have one pixel each: the first ones stay */
    check_lacks(svg, ">Class 139</text>");
    check_has(svg, ">and 361 more</text>");
    check_has(svg, ">60.2 %</text>");
    check_has(svg, ">values of no class</text>"); /* 500 to 599 */
    check_has(svg, ">16.7 %</text>");
    free(svg);
    /* On a small page fewer have space. */
    check_runs(NULL, "read classes.img ! figure b.svg --width 40");
    svg = svg_of("b.svg");
    check_has(svg, ">Class 7</text>");
    check_has(svg, ">16.7 %</text>");
    check_lacks(svg, ">Class 138</text>");
    free(svg);
}

static void components_have_eigenvalues(void **state) {
    (void)state;
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 3, true);
    cube_write(&cube, "smooth", HC_UINT16, "bil", NULL);
    cube_free(&cube);
    check_runs(NULL, "read smooth.img ! mnf ! figure a.svg --each 1-2,4");
    char *svg = svg_of("a.svg");
    check_has(svg, ">MNF 1: eigenvalue\xC2\xA0");
    check_has(svg, ", SNR\xC2\xA0");
    check_has(svg, ">MNF 4: eigenvalue\xC2\xA0");
    assert_null(strstr(svg, ">MNF 3"));
    assert_null(strstr(svg, "(eigenvalue"));
    free(svg);
}

static void colours_have_units(void **state) {
    (void)state;
    write_ramps("scene",
                "data units = W/m2/sr/um\nwavelength units = nm\nwavelength = {450, 550, 650, 850}\n");
    FILE *file = fopen("targets.csv", "w");
    assert_non_null(file);
    fputs("wavelength,one,two\n450,1,5\n550,2,1\n650,7,2\n850,1,9\n", file);
    assert_int_equal(fclose(file), 0);
    check_runs(NULL, "read scene.img ! bands --keep 2-4 ! figure a.svg --bands 1 ! "
                     "detect --method sam --targets targets.csv --scale none ! figure b.svg --each all");
    check_runs(NULL, "read scene.img ! figure c.svg --bands 3 ! "
                     "unmix --scale none --library targets.csv --top 1 --add rmse ! figure d.svg --each all");
    char *a = svg_of("a.svg"), *b = svg_of("b.svg"), *c = svg_of("c.svg"), *d = svg_of("d.svg");
    check_has(a, ">band 1, 550 nm [W/m2/sr/um]</text>");
    check_has(b, ">two [rad]</text>");
    check_has(c, ">band 3, 650 nm [W/m2/sr/um]</text>");
    check_has(d, ">spectrum 1</text>");
    check_has(d, ">abundance 1 [fraction]</text>");
    check_has(d, ">rmse</text>");
    free(a);
    free(b);
    free(c);
    free(d);
    /* Stored numbers are not in the unit of the physical ones. */
    write_ramps("scene", "data units = W/m2/sr/um\ndata gain values = {0.1, 0.1, 0.1, 0.1}\n");
    check_runs(NULL, "read scene.img ! figure e.svg --bands 1");
    char *e = svg_of("e.svg");
    check_lacks(e, "W/m2");
    free(e);
}

/* A scene of 20 bands, band b from low + b to high + b along the samples. */
static void write_bands(double low, double high, double step, const char *more) {
    Cube cube = cube_new(LINES, SAMPLES, 20);
    for (int32_t p = 0; p < LINES * SAMPLES; p++) {
        for (int32_t b = 0; b < 20; b++) {
            cube.value[(size_t)p * 20 + (size_t)b] =
                low + step * b + (high - low) * (p % SAMPLES) / (SAMPLES - 1);
        }
    }
    cube_write(&cube, "bands", HC_FLOAT32, "bsq", more);
    cube_free(&cube);
}

/* Names say it in the files of others, a field in ours. */
static void components_of_a_file_are_the_first_three(void **state) {
    (void)state;
    char names[1000] = "band names = {";
    for (int b = 1; b <= 20; b++) {
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s Band %d", b > 1 ? ", " : "",
                 b % 2 == 0 ? "MNF" : "PC", b);
    }
    strcat(names, "}\n");
    const char *const more[] = {names, "hcube values = components\n", NULL};
    for (int k = 0; k < 3; k++) {
        write_bands(-5, 5, 1, more[k]);
        check_runs(NULL, "read bands.img ! figure a.svg");
        char *svg = svg_of("a.svg");
        if (k < 2) {
            check_lacks(svg, "gamma");
            check_has(svg, k == 0 ? "Red PC Band 1, " : "Red band 1, ");
            check_has(svg, k == 0 ? "blue PC Band 3, " : "blue band 3, ");
        } else {
            check_has(svg, "Red band 11, "); /* spectra without wavelengths */
            check_has(svg, "gamma 1.4");
        }
        free(svg);
    }
}

static void abundances_go_from_0_to_1(void **state) {
    (void)state;
    write_bands(0.02, 0.3, 0.01, "hcube values = abundances\n");
    check_runs(&recorded,
               "read bands.img ! figure a.svg --each 1-3 ! figure a.png --bands 2 ! preview p.png --bands 2");
    char *svg = svg_of("a.svg");
    check_has(svg, "<desc>Stretch: 0 to 1. ");
    check_has(svg, ">band 3 [fraction]</text>");
    free(svg);
    Page page = read_page("a.png", 1, 300);
    uint8_t wanted[3];
    hc_ramp_colour(HC_RAMP_BATLOW, 0.03 + 0.28 * 12 / (SAMPLES - 1), wanted);
    assert_memory_equal(pixel_of(&page, 5, 12), wanted, 3);
    free(page.pixel);
    check_runs(NULL, "read bands.img ! figure b.svg --each 1-3 --percentiles 2,98");
    svg = svg_of("b.svg");
    check_has(svg, "<desc>Stretch: 2 % to 98 % of the shown pixels. ");
    free(svg);
}

/* One scale for all scores of a page, from 0; what has both signs is as far below 0 as above. */
static void scores_have_one_scale(void **state) {
    (void)state;
    write_bands(10, 20, 5, "hcube values = scores\n");
    check_runs(&recorded, "read bands.img ! figure a.svg --each 1-3 ! figure a.png --bands 2");
    char *svg = svg_of("a.svg");
    check_has(
        svg,
        "<desc>Stretch: 0 to the value below which 98 % of the shown pixels lie, one scale for all scores. ");
    free(svg);
    Page page = read_page("a.png", 1, 300);
    uint8_t wanted[3];
    hc_ramp_colour(HC_RAMP_BATLOW, (15 + 10.0 * 10 / (SAMPLES - 1)) / 25, wanted);
    const uint8_t *found = pixel_of(&page, 5, 10);
    for (int c = 0; c < 3; c++) {
        check_near(found[c], wanted[c], 5);
    }
    free(page.pixel);
    size_t bytes;
    char *text = file_bytes("record.json", &bytes);
    text = realloc(text, bytes + 1);
    assert_non_null(text);
    text[bytes] = 0;
    int same = 0;
    for (const char *at = text; (at = strstr(at, "30]")) != NULL; at++) {
        same++;
    }
    if (same != 3) { /* each of the maps from 0 to 30 */
        fail_msg("%s", text);
    }
    free(text);
}

static void what_cannot_be_drawn_is_refused(void **state) {
    (void)state;
    write_ramps("scene", NULL);
    file_remove("a.png");
    check_run_fails(NULL, HC_E_USAGE, "a.jpg ... must end in", "read scene.img ! figure a.jpg");
    check_run_fails(NULL, HC_E_USAGE, "--each 1-5 ... bands 1 to 4",
                    "read scene.img ! figure a.png --each 1-5");
    check_run_fails(NULL, HC_E_USAGE, "--each 3-1: must be all", "read scene.img ! figure a.png --each 3-1");
    check_run_fails(NULL, HC_E_USAGE, "--each 1,,2: must be all",
                    "read scene.img ! figure a.png --each 1,,2");
    check_run_fails(NULL, HC_E_USAGE, "give one of", "read scene.img ! figure a.png --each 1 --bands 2");
    check_run_fails(NULL, HC_E_USAGE, "--limits 3,3", "read scene.img ! figure a.png --limits 3,3");
    check_run_fails(NULL, HC_E_USAGE, "--limits 0,1,0,1: must be two",
                    "read scene.img ! figure a.png --bands 1,2,3 --limits 0,1,0,1");
    check_run_fails(NULL, HC_E_USAGE, "--limits 0,1,0,1,3,2 ... two numbers, rising",
                    "read scene.img ! figure a.png --bands 1,2,3 --limits 0,1,0,1,3,2");
    check_run_fails(NULL, HC_E_USAGE, "--limits 0,1,0,1,2,3",
                    "read scene.img ! figure a.png --bands 1 --limits 0,1,0,1,2,3");
    check_run_fails(NULL, HC_E_USAGE, "--percentiles 98,2",
                    "read scene.img ! figure a.png --percentiles 98,2");
    check_run_fails(NULL, HC_E_USAGE, "--dpi 1200", "read scene.img ! figure a.png --width 1000 --dpi 1200");
    assert_false(file_exists("a.png"));
}

/* Twelve maps of components, whose own scales differ, on that of the widest. */
static void one_scale_for_many_maps(void **state) {
    (void)state;
    const double highest = 24;
    Cube cube = cube_new(LINES, SAMPLES, 12);
    for (int32_t line = 0; line < LINES; line++) {
        for (int32_t sample = 0; sample < SAMPLES; sample++) {
            for (int32_t b = 0; b < 12; b++) {
                cube_pixel(&cube, line, sample)[b] =
                    2 * (b + 1) * sample / (SAMPLES - 1.0) - (b == 3 ? 1 : 0);
            }
        }
    }
    cube_write(&cube, "scene", HC_FLOAT32, "bsq", NULL);
    check_runs(&recorded, "read scene.img ! figure a.svg --each 1-12 --percentiles 0,100 --one-scale");
    char *svg = svg_of("a.svg");
    check_has(svg, "<desc>Stretch: 0 % to 100 % of the shown pixels, one scale for all maps. ");
    free(svg);
    size_t bytes;
    char *text = file_bytes("record.json", &bytes), one[64];
    text = realloc(text, bytes + 1);
    assert_non_null(text);
    text[bytes] = 0;
    int same = 0;
    snprintf(one, sizeof one, "%g]", highest);
    for (const char *at = text; (at = strstr(at, one)) != NULL; at++) {
        same++;
    }
    if (same != 12) {
        fail_msg("%s", text);
    }
    free(text);
    check_run_fails(NULL, HC_E_USAGE, "--one-scale", "read scene.img ! figure b.svg --one-scale");
    check_run_fails(NULL, HC_E_USAGE, "--limits",
                    "read scene.img ! figure b.svg --each 1-3 --one-scale --limits 0,1");
    cube_free(&cube);
}

/* Lengths may have their unit, as journals state them. */
static void widths_in_millimetres(void **state) {
    (void)state;
    write_ramps("scene", NULL);
    check_runs(NULL,
               "read scene.img ! figure bare.png --bands 1 --width 84 --dpi 100 ! figure unit.png --bands 1 "
               "--width 84mm --dpi 100");
    check_same_files("bare.png", "unit.png");
    check_run_fails(NULL, HC_E_USAGE, "--width 5mm: must lie between 40 and 1000",
                    "read scene.img ! figure c.png --bands 1 --width 5mm");
    check_run_fails(NULL, HC_E_USAGE, "--width 84cm: not a number",
                    "read scene.img ! figure c.png --bands 1 --width 84cm");
    check_run_fails(NULL, HC_E_USAGE, "--width mm: not a number",
                    "read scene.img ! figure c.png --bands 1 --width mm");
    check_run_fails(NULL, HC_E_USAGE, "--dpi 5000: must lie between 36 and 1200",
                    "read scene.img ! figure c.png --bands 1 --dpi 5000");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widths_in_millimetres),
        cmocka_unit_test(one_scale_for_many_maps),
        cmocka_unit_test(three_bands_are_mixed),
        cmocka_unit_test(signs_choose_the_colours),
        cmocka_unit_test(colours_have_limits_of_their_own),
        cmocka_unit_test(texts_say_what_is_shown),
        cmocka_unit_test(a_scene_without_values),
        cmocka_unit_test(a_picture_without_values),
        cmocka_unit_test(classes_have_names_colours_and_areas),
        cmocka_unit_test(many_classes_end_in_one_entry),
        cmocka_unit_test(components_have_eigenvalues),
        cmocka_unit_test(colours_have_units),
        cmocka_unit_test(components_of_a_file_are_the_first_three),
        cmocka_unit_test(abundances_go_from_0_to_1),
        cmocka_unit_test(scores_have_one_scale),
        cmocka_unit_test(what_cannot_be_drawn_is_refused),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
