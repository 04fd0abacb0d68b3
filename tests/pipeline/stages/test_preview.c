#include "figure/figure.h"
#include "tests/support/scene_files.h"

#include <math.h>
#include <png.h>
#include <stdlib.h>

enum { LINES = 20, SAMPLES = 30, BANDS = 4 };

typedef struct Picture {
    int width, height;
    uint8_t *pixel; /* [height][width][4] */
} Picture;

static Picture read_picture(const char *path) {
    png_image image = {.version = PNG_IMAGE_VERSION};
    assert_true(png_image_begin_read_from_file(&image, path));
    image.format = PNG_FORMAT_RGBA;
    Picture picture = {(int)image.width, (int)image.height, malloc(PNG_IMAGE_SIZE(image))};
    assert_true(png_image_finish_read(&image, NULL, picture.pixel, 0, NULL));
    return picture;
}

static const uint8_t *pixel_of(const Picture *picture, int x, int y) {
    return picture->pixel + 4 * ((size_t)y * (size_t)picture->width + (size_t)x);
}

/* A ramp along the lines in band 1, along the samples in band 2, the reverse of it in band 3. */
static Cube write_ramps(const char *more) {
    Cube cube = cube_new(LINES, SAMPLES, BANDS);
    for (int32_t line = 0; line < LINES; line++) {
        for (int32_t sample = 0; sample < SAMPLES; sample++) {
            double *value = cube_pixel(&cube, line, sample);
            value[0] = 100 + line;
            value[1] = 100 + sample;
            value[2] = 200 - sample;
            value[3] = 7;
        }
    }
    cube_write(&cube, "scene", HC_UINT16, "bil", more);
    return cube;
}

static void chosen_bands_become_colours(void **state) {
    (void)state;
    Cube cube = write_ramps(NULL);
    check_runs(NULL, "read scene.img ! preview a.png --bands 1,2,3 --percentiles 0,100");
    Picture a = read_picture("a.png");
    assert_int_equal(a.width, SAMPLES);
    assert_int_equal(a.height, LINES);
    for (int y = 0; y < LINES; y++) {
        for (int x = 0; x < SAMPLES; x++) {
            const uint8_t *pixel = pixel_of(&a, x, y);
            check_near(pixel[0], 255.0 * y / (LINES - 1), 1);
            check_near(pixel[1], 255.0 * x / (SAMPLES - 1), 1);
            check_near(pixel[2], 255.0 - 255.0 * x / (SAMPLES - 1), 1);
            assert_int_equal(pixel[3], 255);
        }
    }
    free(a.pixel);
    cube_free(&cube);
}

/* Opaque, half and transparent pixels over others; the legend of classes stays beside the map. */
static void pictures_lie_over_others(void **state) {
    (void)state;
    Cube cube = write_ramps(NULL);
    check_runs(NULL,
               "read scene.img ! preview low.png --bands 1,2,3 --limits 100,110,110,120,0,200 ! preview "
               "top.png --bands 2 --limits 100,130 --threshold 110");
    check_runs(NULL,
               "read scene.img ! preview half.png --bands 2 --limits 100,130 --threshold 110 --opacity "
               "0.5 --over low.png ! preview alone.png --bands 2 --limits 100,130 --threshold 110 "
               "--opacity 0.5 ! preview over.png --bands 2 --limits 100,130 --threshold 110 --over low.png");
    check_runs(NULL, "read scene.img ! preview hole.png --bands 1,2,3 --limits 100,110 --threshold 105");
    check_runs(NULL,
               "read scene.img ! preview holes.png --bands 2 --limits 100,130 --threshold 110 --opacity "
               "0.5 --over hole.png");
    static const char *const names[] = {"low.png",   "top.png",  "half.png",
                                        "alone.png", "over.png", "holes.png"};
    enum { LOW, TOP, HALF, ALONE, OVER, HOLES, COUNT };
    Picture picture[COUNT];
    for (int p = 0; p < COUNT; p++) {
        picture[p] = read_picture(names[p]);
    }
    for (int y = 0; y < LINES; y++) {
        for (int x = 0; x < SAMPLES; x++) {
            const uint8_t *pixel[COUNT];
            for (int p = 0; p < COUNT; p++) {
                pixel[p] = pixel_of(&picture[p], x, y);
            }
            assert_int_equal(pixel[TOP][3], x >= 10 ? 255 : 0);
            assert_int_equal(pixel[ALONE][3], x >= 10 ? 128 : 0);
            assert_int_equal(pixel[HALF][3], 255);
            assert_memory_equal(pixel[OVER], x >= 10 ? pixel[TOP] : pixel[LOW], 4);
            for (int c = 0; c < 3 && x >= 10; c++) {
                check_near(pixel[HALF][c], (pixel[TOP][c] + pixel[LOW][c]) / 2.0, 0.51);
                assert_true(y >= 5 || pixel[HOLES][c] == pixel[TOP][c]);
            }
            assert_int_equal(pixel[HOLES][3], y >= 5 ? 255 : x >= 10 ? 128 : 0);
        }
    }
    for (int p = 0; p < COUNT; p++) {
        free(picture[p].pixel);
    }
    check_run_fails(NULL, HC_E_INPUT, "low.png: has 30 x 20 pixels instead of 60 x 40",
                    "read scene.img ! preview b.png --enlarge 2 --over low.png");
    check_run_fails(NULL, HC_E_IO, "none.png", "read scene.img ! preview b.png --over none.png");
    check_run_fails(NULL, HC_E_INPUT, "scene.img: no PNG that can be read",
                    "read scene.img ! preview b.png --over scene.img");
    check_run_fails(NULL, HC_E_USAGE, "low.png",
                    "read scene.img ! preview low.png --overwrite --over low.png");
    check_run_fails(NULL, HC_E_USAGE, "--opacity 2", "read scene.img ! preview b.png --opacity 2");
    cube_free(&cube);
}

/* --limits are values; what lies below the threshold in the first band is transparent. */
static void limits_and_threshold_are_values(void **state) {
    (void)state;
    Cube cube = write_ramps(NULL);
    check_runs(NULL,
               "read scene.img ! preview a.png --bands 1,2,3 --limits 100,110,110,120,0,200 --threshold 105");
    Picture a = read_picture("a.png");
    for (int y = 0; y < LINES; y++) {
        for (int x = 0; x < SAMPLES; x++) {
            const uint8_t *pixel = pixel_of(&a, x, y);
            assert_int_equal(pixel[3], y < 5 ? 0 : 255);
            check_near(pixel[0], y < 5 ? 0 : fmin(255, 25.5 * y), 1);
            check_near(pixel[1], y < 5 ? 0 : fmin(255, fmax(0, 25.5 * (x - 10))), 1);
            check_near(pixel[2], y < 5 ? 0 : 255 * (200 - x) / 200.0, 1);
        }
    }
    check_run_fails(NULL, HC_E_USAGE, "--limits 2,1", "read scene.img ! preview b.png --limits 2,1");
    check_run_fails(NULL, HC_E_USAGE, "--limits 1,2,3,4", "read scene.img ! preview b.png --limits 1,2,3,4");
    check_run_fails(NULL, HC_E_USAGE, "--limits",
                    "read scene.img ! preview b.png --limits 1,2 --percentiles 1,99");
    free(a.pixel);
    cube_free(&cube);
}

static void true_colour_goes_by_wavelength(void **state) {
    (void)state;
    Cube cube = write_ramps("wavelength units = Nanometers\nwavelength = {460, 550, 650, 900}\n");
    check_runs(NULL, "read scene.img ! preview by_wavelength.png");
    check_runs(NULL, "read scene.img ! preview by_number.png --bands 3,2,1 --gamma 1.4");
    check_runs(NULL, "read scene.img ! preview asked.png --wavelengths 640,555,470 --gamma 1.4");
    check_same_files("by_wavelength.png", "by_number.png");
    check_same_files("by_wavelength.png", "asked.png");
    cube_free(&cube);
}

static void masked_pixels_are_transparent(void **state) {
    (void)state;
    Cube cube = write_ramps(NULL);
    cube_border(&cube, 0);
    cube_write(&cube, "scene", HC_UINT16, "bil", "data ignore value = 0\n");
    check_runs(NULL, "read scene.img ! preview a.png --bands 2 --colours grey");
    Picture a = read_picture("a.png");
    for (int y = 0; y < LINES; y++) {
        for (int x = 0; x < SAMPLES; x++) {
            bool valid = cube.valid[y * SAMPLES + x] != 0;
            const uint8_t *pixel = pixel_of(&a, x, y);
            assert_int_equal(pixel[3], valid ? 255 : 0);
            assert_int_equal(pixel[0], pixel[1]);
            assert_int_equal(pixel[0], pixel[2]);
        }
    }
    free(a.pixel);
    cube_free(&cube);
}

static void size_and_enlarging(void **state) {
    (void)state;
    Cube cube = write_ramps(NULL);
    check_runs(NULL, "read scene.img ! preview small.png --size 16 --bands 1,2,3 ! preview large.png "
                     "--enlarge 3 --gamma 2");
    Picture small = read_picture("small.png");
    Picture large = read_picture("large.png");
    assert_int_equal(small.width, 15);
    assert_int_equal(small.height, 10);
    assert_int_equal(large.width, 3 * SAMPLES);
    assert_int_equal(large.height, 3 * LINES);
    assert_memory_equal(pixel_of(&large, 0, 0), pixel_of(&large, 2, 2), 4);
    /* Gamma 2 turns the middle level into 255 sqrt(1/2). */
    int level = pixel_of(&large, 45, 0)[1];
    assert_true(level >= 170 && level <= 192);
    free(small.pixel);
    free(large.pixel);
    cube_free(&cube);
}

static void scree_plot_needs_eigenvalues(void **state) {
    (void)state;
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 3, true);
    cube_write(&cube, "scene", HC_UINT16, "bil", NULL);
    size_t bytes = 0;
    check_runs(NULL, "read scene.img ! pca ! preview a.png --scree scree.png");
    Picture scree = read_picture("scree.png");
    assert_int_equal(scree.width, 1063); /* 510 points at 150 pixels an inch, rounded */
    free(scree.pixel);
    check_runs(NULL, "read scene.img ! dimension ! pca ! preview a.png --scree scree.svg --overwrite");
    char *svg = file_bytes("scree.svg", &bytes);
    assert_non_null(strstr(svg, ">PCA eigenvalues<"));
    assert_non_null(strstr(svg, ">Components with signal: "));
    assert_non_null(strstr(svg, "HySime"));
    assert_null(strstr(svg, ">noise<"));
    free(svg);
    check_run_fails(NULL, HC_E_USAGE, "no pca or mnf before", "read scene.img ! preview b.png --scree s.png");
    check_run_fails(NULL, HC_E_USAGE, ".png, .svg or .pdf",
                    "read scene.img ! pca ! preview a.png --scree s.jpg");
    check_run_fails(NULL, HC_E_USAGE, "--bands 5", "read scene.img ! preview b.png --bands 5");
    check_run_fails(NULL, HC_E_USAGE, "--bands 1,2", "read scene.img ! preview b.png --bands 1,2");
    check_run_fails(NULL, HC_E_USAGE, "--percentiles 98,2",
                    "read scene.img ! preview b.png --percentiles 98,2");
    check_run_fails(NULL, HC_E_USAGE, "no band within 50 nm",
                    "read scene.img ! preview b.png --wavelengths 500");
    assert_false(file_exists("b.png"));
    cube_free(&cube);
}

/* Class (line + sample) % classes; class 0 is written as nodata where the header says so. */
static Cube write_classes(int32_t classes, const char *more) {
    Cube cube = cube_new(LINES, SAMPLES, 1);
    for (int32_t line = 0; line < LINES; line++) {
        for (int32_t sample = 0; sample < SAMPLES; sample++) {
            cube_pixel(&cube, line, sample)[0] = (line + sample) % classes;
        }
    }
    cube_write(&cube, "classes", HC_UINT16, "bsq", more);
    return cube;
}

static bool has_colour(const Picture *picture, int x0, int y0, const uint8_t rgb[3]) {
    for (int y = y0; y < picture->height; y++) {
        for (int x = x0; x < picture->width; x++) {
            if (memcmp(pixel_of(picture, x, y), rgb, 3) == 0 && pixel_of(picture, x, y)[3] == 255) {
                return true;
            }
        }
    }
    return false;
}

static const char four_classes[] = "file type = ENVI Classification\nclasses = 5\n"
                                   "class names = {Unclassified, one, two, three, never}\n"
                                   "class lookup = {0,0,0, 250,10,20, 30,240,50, 60,70,230, 9,99,199}\n";
static const uint8_t four_colours[5][3] = {
    {0, 0, 0}, {250, 10, 20}, {30, 240, 50}, {60, 70, 230}, {9, 99, 199}};

static void check_class_pixels(const Picture *picture, int32_t enlarge) {
    for (int y = 0; y < LINES * enlarge; y++) {
        for (int x = 0; x < SAMPLES * enlarge; x++) {
            int number = (y / enlarge + x / enlarge) % 4;
            const uint8_t *pixel = pixel_of(picture, x, y);
            assert_int_equal(pixel[3], number != 0 ? 255 : 0);
            assert_memory_equal(pixel, four_colours[number], 3);
        }
    }
}

static void classes_have_their_colours(void **state) {
    (void)state;
    Cube cube = write_classes(4, four_classes);
    check_runs(NULL, "read classes.img ! preview right.png ! preview below.png --legend below --enlarge 2 ! "
                     "preview none.png --legend none --bands 1");
    Picture right = read_picture("right.png"), below = read_picture("below.png"),
            none = read_picture("none.png");
    check_runs(NULL, "read classes.img ! preview over.png --over none.png --opacity 0.5");
    Picture over = read_picture("over.png");
    assert_memory_equal(over.pixel, right.pixel, 4 * (size_t)right.width * (size_t)right.height);
    free(over.pixel);
    check_class_pixels(&right, 1);
    check_class_pixels(&below, 2);
    check_class_pixels(&none, 1);
    assert_true(none.width == SAMPLES && none.height == LINES);
    assert_true(right.width > SAMPLES && right.height >= LINES);
    assert_true(below.width >= 2 * SAMPLES && below.height > 2 * LINES);
    for (int c = 1; c < 5; c++) { /* the last one does not occur */
        assert_int_equal(has_colour(&right, SAMPLES, 0, four_colours[c]), c < 4);
        assert_int_equal(has_colour(&below, 0, 2 * LINES, four_colours[c]), c < 4);
    }
    assert_int_equal(pixel_of(&right, right.width - 1, right.height - 1)[3], 255);
    free(right.pixel);
    free(below.pixel);
    free(none.pixel);
    cube_free(&cube);
}

/* Every n-th pixel: no colour that no class has. */
static void classes_are_thinned_out(void **state) {
    (void)state;
    Cube cube = write_classes(4, four_classes);
    check_runs(NULL, "read classes.img ! preview small.png --size 16 --legend none");
    Picture small = read_picture("small.png");
    assert_int_equal(small.width, 15);
    for (int y = 0; y < small.height; y++) {
        for (int x = 0; x < small.width; x++) {
            assert_memory_equal(pixel_of(&small, x, y), four_colours[2 * (x + y) % 4], 3);
        }
    }
    free(small.pixel);
    cube_free(&cube);
}

/* A picture of which the legend takes several columns, some classes, and an end. */
static void many_classes(void **state) {
    (void)state;
    Cube cube = write_classes(49, "file type = ENVI Classification\nclasses = 400\n");
    check_runs(NULL, "read classes.img ! preview few.png");
    cube_free(&cube);
    cube = cube_new(LINES, SAMPLES, 1);
    for (int32_t i = 0; i < LINES * SAMPLES; i++) {
        cube.value[i] = i; /* 400 and above are no class */
    }
    cube_write(&cube, "classes", HC_UINT16, "bsq", "file type = ENVI Classification\nclasses = 400\n");
    check_runs(NULL, "read classes.img ! preview many.png ! preview thin.png --legend below");
    Picture few = read_picture("few.png"), many = read_picture("many.png"), thin = read_picture("thin.png");
    /* At most 42 entries, in as many columns as the height asks for; below the picture in one. */
    assert_true(few.width > SAMPLES && few.height < 300 && many.height < 300 && many.width < 1000);
    assert_true(thin.height > many.height && thin.width < many.width);
    static const uint8_t grey[3] = {128, 128, 128};
    assert_memory_equal(pixel_of(&many, SAMPLES - 1, LINES - 1), grey, 3);
    free(few.pixel);
    free(many.pixel);
    free(thin.pixel);
    cube_free(&cube);
}

static void only_classes_have_a_legend(void **state) {
    (void)state;
    Cube cube = write_ramps(NULL);
    check_run_fails(NULL, HC_E_USAGE, "--legend below", "read scene.img ! preview b.png --legend below");
    check_runs(NULL, "read scene.img ! preview b.png --legend none");
    cube_free(&cube);
    cube = write_classes(4, four_classes);
    check_run_fails(NULL, HC_E_USAGE, "--legend right",
                    "read classes.img ! filter median3x3 ! preview c.png --legend right");
    cube_free(&cube);
}

/* Where pictures are all that is made, only the lines that they show are read: the same pictures, and counts
 * of these lines. */
static void tall_scenes_are_read_in_part(void **state) {
    (void)state;
    enum { TALL = 301, STEP = 19, SHOWN = 16 };
    static const char *const interleaves[] = {"bil", "bip", "bsq"};
    Cube cube = cube_smooth(TALL, 20, 3, 11, true);
    for (int32_t sample = 0; sample < 20; sample++) {
        cube_pixel(&cube, 2 * STEP, sample)[1] = cube_pixel(&cube, 2 * STEP + 1, sample)[1] = 0;
    }
    for (int i = 0; i < 3; i++) {
        HcRunReport report;
        HcText notes = {0};
        RunHow how = {.report = &report, .notes = &notes};
        cube_write(&cube, "tall", HC_UINT16, interleaves[i], "data ignore value = 0\n");
        check_runs(&how, "read tall.img ! preview part.png --size 16 ! preview shows_less.png --size 32");
        assert_int_equal(report.pixels, TALL * 20); /* 19 and 10 have no common lines but all */
        check_runs(&how, "read tall.img ! preview whole.png --size 16 ! write copy.img");
        assert_int_equal(report.pixels, TALL * 20);
        assert_int_equal(report.masked[HC_MASK_NODATA], 2 * 20);
        assert_true(notes.length == 0);
        check_runs(&how, "read tall.img ! preview part.png --size 16");
        check_same_files("part.png", "whole.png");
        assert_int_equal(report.lines, SHOWN);
        assert_int_equal(report.pixels, SHOWN * 20);
        assert_int_equal(report.masked[HC_MASK_NODATA], 20);
        assert_non_null(strstr(notes.data, "one line of 19 is read"));
        hc_text_clear(&notes);
        check_runs(NULL,
                   "read tall.img --source-scale apply --source-nodata 0,7 ! preview part.png --size 16");
        check_runs(NULL, "read tall.img --source-nodata 0,7 ! preview whole.png --size 16 ! write copy.img");
        check_same_files("part.png", "whole.png");
    }
    cube_free(&cube);
}

/* An overview in the file stands for a scene many times as large: 125 x 500 for 500 x 2000 here. */
static void overviews_are_read(void **state) {
    (void)state;
    enum { LONG = 2000, WIDE = 500 };
    HcRunReport report;
    HcText notes = {0};
    RunHow how = {.report = &report, .notes = &notes};
    Cube cube = cube_new(LONG, WIDE, 3);
    for (int32_t line = 0; line < LONG; line++) {
        for (int32_t sample = 0; sample < WIDE; sample++) {
            double *value = cube_pixel(&cube, line, sample);
            value[0] = 100 + line / 10;
            value[1] = 100 + sample / 2;
            value[2] = line < LONG / 2 ? 0 : 200;
        }
    }
    cube_write(&cube, "long", HC_UINT16, "bil",
               "wavelength units = Nanometers\nwavelength = {460, 550, 650}\n");
    check_runs(NULL, "read long.img ! write long.tif --format COG --co BLOCKSIZE=128");
    check_runs(&how, "read long.tif ! preview part.png --size 200");
    check_says(notes.data, "overview in the file, 250 x 63 ... 2000 x 500");
    assert_int_equal(report.pixels, 250 * 63);
    Picture part = read_picture("part.png");
    assert_int_equal(part.width, 32);
    assert_int_equal(part.height, 125);
    for (int y = 0; y < part.height; y++) { /* red is the step, and true colour was chosen */
        assert_int_equal(pixel_of(&part, 9, y)[0], y < 62 ? 0 : y == 62 ? pixel_of(&part, 9, y)[0] : 255);
    }
    free(part.pixel);
    /* Windows, masks and outputs of pixels take the file itself. */
    check_runs(&how, "read long.tif --window 0,0,500,2000 ! preview part.png --size 200");
    assert_int_equal(report.pixels, LONG * WIDE);
    check_runs(&how, "read long.tif ! preview part.png --size 200 ! write copy.img");
    assert_int_equal(report.pixels, LONG * WIDE);
    check_runs(&how, "read long.tif ! preview part.png --size 300");
    assert_int_equal(report.pixels, LONG * WIDE);
    hc_text_clear(&notes);
    cube_free(&cube);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chosen_bands_become_colours),
        cmocka_unit_test(pictures_lie_over_others),
        cmocka_unit_test(limits_and_threshold_are_values),
        cmocka_unit_test(true_colour_goes_by_wavelength),
        cmocka_unit_test(masked_pixels_are_transparent),
        cmocka_unit_test(size_and_enlarging),
        cmocka_unit_test(scree_plot_needs_eigenvalues),
        cmocka_unit_test(classes_have_their_colours),
        cmocka_unit_test(classes_are_thinned_out),
        cmocka_unit_test(many_classes),
        cmocka_unit_test(only_classes_have_a_legend),
        cmocka_unit_test(tall_scenes_are_read_in_part),
        cmocka_unit_test(overviews_are_read),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
