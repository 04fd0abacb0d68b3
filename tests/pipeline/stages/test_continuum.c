/* continuum: against values of Spectral Python 0.25 (remove_continuum), features whose figures follow from
 * their shape, and the two faults that users found in another program: uneven wavelengths taken as even ones,
 * bad bands that lift the hull of an image. */
#include "io/read/reader.h"
#include "tests/support/strict_runs.h"

#include <math.h>
#include <stdio.h>

enum { BANDS = 10, PIXELS = 4 };

#define UNEVEN "wavelength = {400, 430, 445, 500, 520, 600, 604, 650, 700, 790}\n"

static const char header[] =
    "wavelength units = Nanometers\n" UNEVEN "fwhm = {10, 11, 12, 13, 14, 15, 16, 17, 18, 19}\n"
    "band names = {a, b, c, d, e, f, g, h, i, j}\n";

static const double values[PIXELS][BANDS] = {{861, 637, 678, 828, 604, 742, 783, 357, 238, 410},
                                             {203, 283, 292, 399, 527, 549, 757, 774, 811, 838},
                                             {300, 420, 500, 610, 640, 700, 400, 650, 610, 380},
                                             {607, 587, 556, 896, 765, 754, 690, 635, 438, 892}};

static const double removed[PIXELS][BANDS] = {
    {1, 0.748443191, 0.801276369, 1, 0.737173168, 0.945547223, 1, 0.516827522, 0.403059273, 1},
    {1, 0.994830438, 0.897892738, 0.840763542, 0.996440885, 0.735789557, 1, 0.98866358, 1, 1},
    {1, 0.969230769, 1, 1, 1, 1, 0.574382539, 0.992366412, 1, 1},
    {1, 0.846187113, 0.754358592, 1, 0.854057592, 0.842815294, 0.771324164, 0.710345626, 0.490348981, 1}};

/* A line of the given pixels. */
static Cube make_line(int32_t samples, int32_t bands, const double *from) {
    Cube cube = cube_new(1, samples, bands);
    memcpy(cube.value, from, sizeof *from * (size_t)samples * (size_t)bands);
    return cube;
}

static void write_values(const char *more) {
    Cube cube = make_line(PIXELS, BANDS, values[0]);
    cube_write(&cube, "scene", HC_INT16, "bil", more);
    cube_free(&cube);
}

/* ---- hulls ---- */

static void uneven_wavelengths_against_spectral_python(void **state) {
    (void)state;
    write_values(header);
    check_runs(NULL, "read scene.img ! continuum --gap 500 ! write out.img");
    check_runs(NULL, "read scene.img ! continuum --gap 500 --output depth ! write depth.img");
    check_runs(NULL, "read scene.img ! continuum --gap 500 --output hull ! write hull.img");
    Cube out = cube_read_floats("out", 1, PIXELS, BANDS);
    Cube depth = cube_read_floats("depth", 1, PIXELS, BANDS);
    Cube hull = cube_read_floats("hull", 1, PIXELS, BANDS);
    for (int32_t s = 0; s < PIXELS; s++) {
        for (int32_t b = 0; b < BANDS; b++) {
            double wanted = removed[s][b];
            check_near(cube_pixel(&out, 0, s)[b], wanted, 1e-7);
            check_near(cube_pixel(&depth, 0, s)[b], 1 - wanted, 1e-7);
            check_near(cube_pixel(&hull, 0, s)[b], values[s][b] / wanted, 2e-4);
        }
    }
    cube_free(&hull);
    cube_free(&depth);
    cube_free(&out);
}

/* Bands in any order go out in that order, and keep what is said of them. */
static void order_and_properties_stay(void **state) {
    (void)state;
    write_values(header);
    check_runs(NULL, "read scene.img ! bands 3,10,1,2,9-4 ! continuum --gap 500 ! write out.img");
    static const int32_t order[] = {3, 10, 1, 2, 9, 8, 7, 6, 5, 4};
    Cube out = cube_read_floats("out", 1, PIXELS, BANDS);
    for (int32_t s = 0; s < PIXELS; s++) {
        for (int32_t b = 0; b < BANDS; b++) {
            check_near(cube_pixel(&out, 0, s)[b], removed[s][order[b] - 1], 1e-7);
        }
    }
    cube_free(&out);
    HcReader *reader = NULL;
    HcError err = {0};
    check_ok(hc_reader_open(&reader, "out.img", NULL, &err), err);
    const HcScene *scene = hc_reader_scene(reader);
    check_near(scene->wavelength[1], 790, 1e-6);
    check_near(scene->fwhm[1], 19, 1e-6);
    assert_string_equal(scene->band_name[3], "b");
    hc_reader_close(reader);
}

/* A bad band far above all others changes nothing, and does not go out. */
static void bad_bands_take_no_part(void **state) {
    (void)state;
    char more[512];
    double lifted[PIXELS][BANDS];
    memcpy(lifted, values, sizeof lifted);
    for (int32_t s = 0; s < PIXELS; s++) {
        lifted[s][5] = 30000;
    }
    (void)snprintf(more, sizeof more, "%sbbl = {1, 1, 1, 1, 1, 0, 1, 1, 1, 1}\n", header);
    Cube cube = make_line(PIXELS, BANDS, lifted[0]);
    cube_write(&cube, "scene", HC_INT16, "bil", more);
    check_runs(NULL, "read scene.img ! continuum --gap 500 ! write good.img");
    check_runs(NULL, "read scene.img --all-bands ! continuum --gap 500 ! write out.img");
    cube_free(&cube);
    check_same_files("out.img", "good.img");
    Cube out = cube_read_floats("out", 1, PIXELS, BANDS - 1);
    check_near(cube_pixel(&out, 0, 1)[5], 1, 1e-7); /* 604 nm; the bad band was at 600 nm */
    check_near(cube_pixel(&out, 0, 3)[4], removed[3][4], 1e-7);
    cube_free(&out);
}

/* From 520 to 600 nm is a gap: both ends belong to hulls of their own. */
static void hulls_end_at_gaps(void **state) {
    (void)state;
    write_values(header);
    check_runs(NULL, "read scene.img ! continuum --gap 79 ! write out.img");
    check_runs(NULL, "read scene.img ! bands 1-5 ! continuum ! write low.img");
    check_runs(NULL, "read scene.img ! bands 6-10 ! continuum --gap 91 ! write high.img");
    Cube out = cube_read_floats("out", 1, PIXELS, BANDS);
    Cube low = cube_read_floats("low", 1, PIXELS, 5);
    Cube high = cube_read_floats("high", 1, PIXELS, 5);
    for (int32_t s = 0; s < PIXELS; s++) {
        check_near(cube_pixel(&out, 0, s)[4], 1, 0);
        check_near(cube_pixel(&out, 0, s)[5], 1, 0);
        check_near(cube_pixel(&out, 0, s)[9], 1, 0); /* 90 nm from its neighbour: alone */
        for (int32_t b = 0; b < 5; b++) {
            check_near(cube_pixel(&out, 0, s)[b], cube_pixel(&low, 0, s)[b], 0);
        }
    }
    check_near(cube_pixel(&high, 0, 2)[1], 400.0 / (700 + (610.0 - 700) * 4 / 100), 1e-7);
    cube_free(&high);
    cube_free(&low);
    cube_free(&out);
}

static void ranges_have_hulls_of_their_own(void **state) {
    (void)state;
    write_values(header);
    check_runs(NULL, "read scene.img ! continuum --range 600-700,0.4-0.445um ! write out.img");
    Cube out = cube_read_floats("out", 1, PIXELS, 7);
    check_near(cube_pixel(&out, 0, 0)[5], 357 / (783 + (238.0 - 783) * 46 / 96), 1e-7);
    check_near(cube_pixel(&out, 0, 1)[5], 774 / (757 + (811.0 - 757) * 46 / 96), 1e-7);
    check_near(cube_pixel(&out, 0, 3)[3], 1, 0);
    check_near(cube_pixel(&out, 0, 2)[1], 420 / (300 + 200 * 30 / 45.0), 1e-7);
    check_near(cube_pixel(&out, 0, 0)[1], 637 / (861 + (678.0 - 861) * 30 / 45), 1e-7);
    cube_free(&out);
}

/* ---- missing values ---- */

/* Pixel 0 lacks a band, pixel 1 has a hull below 0 at one end, pixel 2 lacks all bands. */
static void write_holes(void) {
    Cube cube = make_line(PIXELS, BANDS, values[0]);
    cube_pixel(&cube, 0, 0)[6] = NAN;
    cube_pixel(&cube, 0, 1)[0] = -10;
    for (int32_t b = 0; b < BANDS; b++) {
        cube_pixel(&cube, 0, 2)[b] = NAN;
    }
    cube_write(&cube, "holes", HC_FLOAT32, "bil", header);
    cube_free(&cube);
}

static void what_is_missing_stays_so(void **state) {
    (void)state;
    write_holes();
    check_runs(NULL, "read holes.img ! continuum --gap 500 ! bands 1-10 ! write out.img --nodata nan");
    Cube out = cube_read_floats("out", 1, PIXELS, BANDS);
    for (int32_t b = 0; b < BANDS; b++) {
        assert_int_equal(isnan(cube_pixel(&out, 0, 0)[b]), b == 6);
        assert_int_equal(isnan(cube_pixel(&out, 0, 1)[b]), b == 0);
        assert_true(isnan(cube_pixel(&out, 0, 2)[b]));
        check_near(cube_pixel(&out, 0, 3)[b], removed[3][b], 1e-7);
    }
    double corner =
        828 + (410.0 - 828) * 100 / 290; /* without 604 nm the line from 500 to 790 nm, below 742 */
    assert_true(corner < 742);
    check_near(cube_pixel(&out, 0, 0)[5], 1, 0);
    check_near(cube_pixel(&out, 0, 0)[7], 357 / (742 + (410.0 - 742) * 50 / 190), 1e-7);
    cube_free(&out);
    /* The next stage needs whole pixels: there are two fewer. */
    check_runs(NULL, "read holes.img ! continuum --gap 500 ! filter ! write out.img --nodata nan");
    out = cube_read_floats("out", 1, PIXELS, BANDS);
    for (int32_t s = 0; s < PIXELS; s++) {
        assert_int_equal(isnan(cube_pixel(&out, 0, s)[3]), s != 3);
    }
    check_near(cube_pixel(&out, 0, 3)[3], 1, 0);
    cube_free(&out);
    static const char *const chains[] = {"read holes.img ! continuum --gap 500 ! write out.img --nodata nan",
                                         "read holes.img ! continuum --gap 500 ! filter ! write out.img"};
    check_runs_agree(chains, 2, 1);
}

/* ---- features ---- */

enum { FEATURE_BANDS = 13, FIGURES = 5 };

static const double feature_at[FEATURE_BANDS] = {2100, 2110, 2121, 2133, 2146, 2160, 2175,
                                                 2188, 2203, 2216, 2228, 2239, 2250};

/* depth 0.3 at 2170 nm, and 0 at 2130 and 2210 nm: a parabola. Then a triangle of depth 0.4 at 2160 nm from
 * 2110 to 2239 nm, under a continuum that rises. */
static void write_features(void) {
    char more[512] = "wavelength units = Nanometers\nwavelength = {";
    Cube cube = cube_new(1, 3, FEATURE_BANDS);
    for (int32_t b = 0; b < FEATURE_BANDS; b++) {
        double x = feature_at[b];
        double u = (x - 2170) / 40;
        double left = (x - 2110) / 50;
        double right = (2239 - x) / 79;
        cube_pixel(&cube, 0, 0)[b] = u * u < 1 ? 1 - 0.3 * (1 - u * u) : 1;
        cube_pixel(&cube, 0, 1)[b] = (1 - 0.4 * fmax(fmin(left, right), 0)) * (500 + x);
        cube_pixel(&cube, 0, 2)[b] = 7;
        size_t at = strlen(more);
        (void)snprintf(more + at, sizeof more - at, "%s%g", b > 0 ? ", " : "", x);
    }
    (void)snprintf(more + strlen(more), sizeof more - strlen(more), "}\n");
    cube_write(&cube, "feature", HC_FLOAT32, "bip", more);
    cube_free(&cube);
}

static void figures_of_features(void **state) {
    (void)state;
    write_features();
    check_runs(NULL, "read feature.img ! continuum --range 2100-2250,2133-2250 --features ! write out.img");
    Cube out = cube_read_floats("out", 1, 3, 2 * FIGURES);
    const double *parabola = cube_pixel(&out, 0, 0);
    const double *triangle = cube_pixel(&out, 0, 1);
    const double *flat = cube_pixel(&out, 0, 2);
    double u = 5.0 / 40; /* of the lowest band, 2175 nm */
    check_near(parabola[0], 0.3 * (1 - u * u), 1e-6);
    check_near(parabola[1], 2170, 2e-3);
    check_near(triangle[0], 0.4, 1e-6);
    check_near(triangle[2], 0.4 * (2239 - 2110) / 2, 1e-4); /* all corners are bands */
    check_near(triangle[3], (2239 - 2110) / 2.0, 1e-3);
    check_near(triangle[4], ((2239 + 2160) / 2.0 + (2110 + 2160) / 2.0 - 2 * triangle[1]) / triangle[3],
               1e-4);
    assert_true(triangle[1] > 2146 && triangle[1] < 2175 && triangle[4] > 0);
    check_near(flat[0], 0, 0);
    check_near(flat[2], 0, 0);
    assert_true(isnan(flat[1]) && isnan(flat[3]) && isnan(flat[4]));
    /* the second range begins within the triangle */
    double hull = (1 - 0.4 * 23 / 50) * 2633;
    hull += (2739 - hull) * (2160 - 2133) / (2239 - 2133);
    check_near(triangle[5], 1 - 0.6 * 2660 / hull, 1e-6);
    cube_free(&out);
    HcReader *reader = NULL;
    HcError err = {0};
    check_ok(hc_reader_open(&reader, "out.img", NULL, &err), err);
    const HcScene *scene = hc_reader_scene(reader);
    assert_null(scene->wavelength);
    assert_string_equal(scene->band_name[0], "2100-2250 nm depth");
    assert_string_equal(scene->band_name[6], "2133-2250 nm wavelength");
    hc_reader_close(reader);
}

/* ---- what is refused, and the contract ---- */

static void check_refused(const char *part, const char *words) {
    check_run_fails(NULL, HC_E_USAGE, part, "read scene.img ! %s ! write o.img", words);
    assert_false(file_exists("o.img"));
}

static void wrong_words(void **state) {
    (void)state;
    write_values(header);
    check_refused("--range 600-604 ... 2 good bands ... 3", "continuum --range 400-500,600-604");
    check_refused("--range 900-1000 ... 0 good bands ... 400 ... 790", "continuum --range 900-1000");
    check_refused("--range 700-600", "continuum --range 700-600");
    check_refused("--range 500", "continuum --range 500");
    check_refused("band 4 ... 500 nm ... two ranges", "continuum --range 400-500,500-700");
    check_refused("--range 445-604 ... gap ... 520 ... 600", "continuum --gap 79 --range 445-604 --features");
    check_refused("--features ... --range", "continuum --features");
    check_refused("--features ... --output", "continuum --features --range 400-700 --output depth");
    check_refused("continuum ... 2 good bands ... 3", "bands 1-2 ! continuum");
    check_refused("continuum ... 1 good band", "bands 5 ! continuum");
    check_refused("continuum ... bands 2 and 3 ... 430 nm", "bands 1,2,2,3 ! continuum");
    check_refused("continuum ... no wavelengths", "pca ! continuum");
    check_refused("continuum ... values of noise", "filter --noise ! continuum");
    write_values(UNEVEN "wavelength units = Nanometers\ndata gain values = {2, 2, 2, 2, 2, 2, 2, 2, 2, 3}\n"
                        "data offset values = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0}\n");
    check_refused("gains ... --source-scale apply", "continuum");
    write_values(NULL);
    check_refused("continuum ... no wavelengths", "continuum");
}

static void contract(void **state) {
    (void)state;
    check_stage_contract("continuum ! filter");
    check_stage_contract("filter ! continuum --output hull");
    check_stage_contract("continuum --range 400-900 --features ! filter");
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(uneven_wavelengths_against_spectral_python),
        IN_FOLDER(order_and_properties_stay),
        IN_FOLDER(bad_bands_take_no_part),
        IN_FOLDER(hulls_end_at_gaps),
        IN_FOLDER(ranges_have_hulls_of_their_own),
        IN_FOLDER(what_is_missing_stays_so),
        IN_FOLDER(figures_of_features),
        IN_FOLDER(wrong_words),
        IN_FOLDER(contract),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
