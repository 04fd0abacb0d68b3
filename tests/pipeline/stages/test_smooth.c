/* smooth: against polynomials fitted by normal equations in long double, values of SciPy's savgol_filter, and
 * what is known of straight lines. */
#include "io/read/reader.h"
#include "tests/support/strict_runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES = 5, SAMPLES = 4, BANDS = 16, ORDERS = 6 };

/* Two runs of uneven spacing (band 12 lies before band 11), a bad band, and a lone band at the end. */
static const double centre[BANDS] = {400, 409, 421, 430,  437,  450,  462,  470,
                                     481, 490, 900, 1020, 1010, 1031, 1042, 1400};
static const char header[] =
    "wavelength units = Nanometers\n"
    "wavelength = {400, 409, 421, 430, 437, 450, 462, 470, 481, 490, 900, 1020, 1010, "
    "1031, 1042, 1400}\n"
    "bbl = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1}\n";

/* Bands of the runs in the order of their wavelengths. */
static const int32_t run_a[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
static const int32_t run_b[] = {12, 11, 13, 14};
static const int32_t run_c[] = {15};

/* The coefficients [order + 1] of the polynomial in x - at that fits value[count] at x[count] best. */
static void fit(const double *x, const double *value, int32_t count, int32_t order, double at,
                long double *coefficient) {
    long double a[ORDERS][ORDERS + 1] = {{0}};
    int32_t n = order + 1;
    for (int32_t i = 0; i < count; i++) {
        for (int32_t r = 0; r < n; r++) {
            for (int32_t c = 0; c < n; c++) {
                a[r][c] += powl((long double)(x[i] - at), (long double)(r + c));
            }
            a[r][n] += powl((long double)(x[i] - at), (long double)r) * (long double)value[i];
        }
    }
    for (int32_t p = 0; p < n; p++) {
        for (int32_t r = 0; r < n; r++) {
            long double factor = a[r][p] / a[p][p];
            for (int32_t c = p; c <= n && r != p; c++) {
                a[r][c] -= factor * a[p][c];
            }
        }
    }
    for (int32_t p = 0; p < n; p++) {
        coefficient[p] = a[p][n] / a[p][p];
    }
}

/* What band run[k] of a pixel becomes. */
static double expected_in(const double *pixel, const int32_t *run, int32_t length, int32_t k, int32_t points,
                          int32_t order, int32_t derivative) {
    double x[BANDS], value[BANDS];
    long double coefficient[ORDERS];
    int32_t count = points < length ? points : length;
    int32_t first = k - count / 2;
    first = first < 0 ? 0 : first + count > length ? length - count : first;
    for (int32_t i = 0; i < count; i++) {
        x[i] = centre[run[first + i]];
        value[i] = pixel[run[first + i]];
    }
    fit(x, value, count, order, centre[run[k]], coefficient);
    return (double)coefficient[derivative] * (derivative == 2 ? 2 : 1);
}

/* The bands that go out are those of the runs with more than `order` bands, in the order of the scene. */
static void check_filter(int32_t points, int32_t order, int32_t derivative) {
    static const int32_t *const runs[] = {run_a, run_b, run_c};
    static const int32_t length[] = {10, 4, 1};
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 11, true);
    int32_t bands = order >= 4 ? 10 : order >= 1 ? 14 : 15;
    cube_write(&cube, "scene", HC_UINT16, "bip", header);
    check_runs(NULL,
               "read scene.img --all-bands ! smooth --points %d --order %d --derivative %d ! write out.img "
               "--overwrite",
               points, order, derivative);
    Cube out = cube_read_floats("out", LINES, SAMPLES, bands);
    for (int32_t p = 0; p < LINES * SAMPLES; p++) {
        const double *pixel = cube.value + (size_t)p * BANDS;
        for (int32_t r = 0; r < 3; r++) {
            for (int32_t k = 0; k < length[r] && length[r] > order; k++) {
                int32_t at = runs[r][k] - (runs[r][k] > 10); /* the bad band is not there */
                double want = expected_in(pixel, runs[r], length[r], k, points, order, derivative);
                check_near(out.value[p * bands + at], want, 1e-6 * fabs(want) + 1e-7);
            }
        }
    }
    cube_free(&out);
    cube_free(&cube);
}

static void fits_polynomials(void **state) {
    (void)state;
    check_filter(5, 2, 0); /* the second run is one window of 4 */
    check_filter(5, 2, 1);
    check_filter(7, 3, 2);
    check_filter(3, 0, 0);
    check_filter(9, 4, 1); /* and has too few bands */
    check_filter(5, 0, 0);
}

/* scipy 1.17.1, savgol_filter(x, points, order, deriv, delta=10, mode="interp"). */
static void as_scipy(void **state) {
    (void)state;
    static const double x[] = {0.12, 0.15, 0.13, 0.20, 0.26, 0.31, 0.29, 0.35,
                               0.42, 0.40, 0.38, 0.33, 0.36, 0.41, 0.47};
    static const struct {
        const char *options;
        double want[15];
    } tables[] = {
        {"--points 7",
         {0.11047619, 0.14, 0.171428571, 0.204761904, 0.244761901, 0.286666664, 0.325238087, 0.359999994,
          0.389047611, 0.397142854, 0.374285719, 0.352380961, 0.368571437, 0.406428576, 0.465952377}},
        {"--points 7 --order 3 --derivative 1",
         {-0.00380952359, 0.00138095243, 0.0045714285, 0.00576190461, 0.00503968253, 0.00214682526,
          0.00342857112, 0.00433730153, 0.00336904789, -0.00206349156, -0.00373015786, -0.0006309523,
          0.00203571402, 0.00570238039, 0.0103690468}},
        {"--points 5 --order 4 --derivative 2",
         {-0.00410000127, -0.00030000013, 0.00110000025, -0.000183333606, -4.99996791e-05, -0.000875000296,
          0.000983333513, 0.000124999856, -0.00105833299, 9.99996066e-05, -0.000416666294, 0.000941666464,
          0.000158333108, 5.83335012e-05, 0.000458334312}},
        {"--points 5 --order 0",
         {0.171999998, 0.171999998, 0.171999998, 0.209999999, 0.237999997, 0.281999996, 0.325999993,
          0.353999996, 0.367999995, 0.375999999, 0.378000003, 0.376000005, 0.390000004, 0.390000004,
          0.390000004}},
    };
    Cube cube = cube_new(1, 1, 15);
    memcpy(cube.value, x, sizeof x);
    cube_write(
        &cube, "table", HC_FLOAT32, "bip",
        "wavelength units = Nanometers\nwavelength = {400, 410, 420, 430, 440, 450, 460, 470, 480, 490, "
        "500, 510, 520, 530, 540}\n");
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
        check_runs(NULL, "read table.img ! smooth %s ! write out.img --overwrite", tables[t].options);
        Cube out = cube_read_floats("out", 1, 1, 15);
        for (int32_t b = 0; b < 15; b++) {
            check_near(out.value[b], tables[t].want[b], 1e-7 * fabs(tables[t].want[b]) + 1e-10);
        }
        cube_free(&out);
    }
    cube_free(&cube);
}

/* Constants stay to the last bit, straight lines too; their slope is exact and their curvature 0, at the ends
 * of the runs and at uneven positions. */
static void straight_lines(void **state) {
    (void)state;
    Cube cube = cube_new(1, 2, BANDS);
    for (int32_t b = 0; b < BANDS; b++) {
        cube_pixel(&cube, 0, 0)[b] = 0.3F;
        cube_pixel(&cube, 0, 1)[b] = 0.25 * centre[b] - 64;
    }
    cube_write(&cube, "line", HC_FLOAT32, "bip", header);
    for (int32_t derivative = 0; derivative < 3; derivative++) {
        check_runs(NULL,
                   "read line.img ! smooth --points 7 --order 3 --derivative %d ! write out.img --overwrite",
                   derivative);
        Cube out = cube_read_floats("out", 1, 2, 14);
        for (int32_t k = 0; k < 14; k++) {
            int32_t b = k < 10 ? k : k + 1;
            double line = derivative == 0 ? 0.25 * centre[b] - 64 : derivative == 1 ? 0.25 : 0;
            check_near(cube_pixel(&out, 0, 0)[k], derivative == 0 ? (double)0.3F : 0,
                       derivative == 0 ? 0 : 1e-14);
            check_near(cube_pixel(&out, 0, 1)[k], line, derivative == 2 ? 1e-12 : 0);
        }
        cube_free(&out);
    }
    cube_free(&cube);
}

static double size_of(const double *x, int32_t bands, const char *kind, double *mean) {
    double sum = 0, squares = 0, area = 0;
    for (int32_t b = 0; b < bands; b++) {
        sum += x[b];
        area += b + 1 < bands ? (fabs(x[b]) + fabs(x[b + 1])) / 2 * (b == 2 ? 200 : 100) : 0;
    }
    *mean = strcmp(kind, "snv") == 0 ? sum / bands : 0;
    for (int32_t b = 0; b < bands; b++) {
        squares += (x[b] - *mean) * (x[b] - *mean);
    }
    return strcmp(kind, "area") == 0  ? area
           : strcmp(kind, "snv") == 0 ? sqrt(squares / (bands - 1))
                                      : sqrt(squares);
}

/* By themselves, and of physical values where the bands have gains and offsets. */
static void normalises(void **state) {
    (void)state;
    static const char *const kinds[] = {"snv", "brightness", "area"};
    static const char *const scales[] = {"", "data gain values = {2, 3, 0.5, 1}\n"
                                             "data offset values = {1, 0, -20, 7}\n"};
    static const double gain[] = {2, 3, 0.5, 1}, offset[] = {1, 0, -20, 7};
    char text[400];
    Cube cube = cube_smooth(3, 5, 4, 7, true);
    for (int32_t t = 0; t < 6; t++) {
        (void)snprintf(text, sizeof text,
                       "wavelength units = Nanometers\nwavelength = {450, 550, 650, 850}\n%s", scales[t % 2]);
        cube_write(&cube, "scene", HC_UINT16, "bip", text);
        check_runs(NULL, "read scene.img ! smooth --normalise %s ! write out.img --overwrite", kinds[t / 2]);
        Cube out = cube_read_floats("out", 3, 5, 4);
        for (int32_t p = 0; p < 15; p++) {
            double x[4], mean = 0;
            for (int32_t b = 0; b < 4; b++) {
                x[b] = cube.value[p * 4 + b];
                x[b] = t % 2 != 0 ? gain[b] * x[b] + offset[b] : x[b];
            }
            double size = size_of(x, 4, kinds[t / 2], &mean);
            for (int32_t b = 0; b < 4; b++) {
                check_near(out.value[p * 4 + b], (x[b] - mean) / size,
                           2e-6 * fabs((x[b] - mean) / size) + 1e-9);
            }
        }
        cube_free(&out);
    }
    cube_free(&cube);
}

/* One gain for all bands stays beside the values; other gains are taken in. */
static void gains(void **state) {
    (void)state;
    Cube cube = cube_smooth(2, 3, 4, 7, true);
    HcReader *reader = NULL;
    HcError err = {0};
    cube_write(&cube, "scene", HC_UINT16, "bip",
               "wavelength units = Nanometers\nwavelength = {450, 550, 650, 750}\n"
               "data gain values = {2, 2, 2, 2}\ndata offset values = {3, 3, 3, 3}\n");
    check_runs(NULL,
               "read scene.img ! smooth --points 3 --order 1 --derivative 1 ! write out.img --overwrite");
    check_ok(hc_reader_open(&reader, "out.img", NULL, &err), err);
    const HcScene *scene = hc_reader_scene(reader);
    assert_int_equal(scene->meaning, HC_SHAPE);
    check_near(scene->gain[1], 2, 0);
    check_near(scene->offset[1], 0, 0);
    check_near(scene->wavelength[1], 550, 1e-9);
    hc_reader_close(reader);
    cube_write(&cube, "scene", HC_UINT16, "bip",
               "wavelength units = Nanometers\nwavelength = {450, 550, 650, 750}\n"
               "data gain values = {2, 4, 2, 2}\ndata offset values = {3, 5, 3, 3}\n");
    check_runs(NULL, "read scene.img ! smooth --points 3 --order 0 ! write out.img --overwrite");
    Cube out = cube_read_floats("out", 2, 3, 4);
    for (int32_t p = 0; p < 6; p++) {
        const double *x = cube.value + (size_t)p * 4;
        double want = (2 * x[0] + 3 + 4 * x[1] + 5 + 2 * x[2] + 3) / 3;
        check_near(out.value[p * 4 + 1], want, 1e-7 * fabs(want));
    }
    cube_free(&out);
    cube_free(&cube);
}

static void contract(void **state) {
    (void)state;
    check_stage_contract("smooth --points 3 --order 1");
    check_stage_contract("smooth --points 3 --derivative 1 --normalise snv");
    check_stage_contract("smooth --normalise area");
}

static void wrong_input(void **state) {
    (void)state;
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 11, true);
    cube_write(&cube, "scene", HC_UINT16, "bip", header);
    check_run_fails(NULL, HC_E_USAGE, "--points 4: not an odd number", "read scene.img ! smooth --points 4");
    check_run_fails(NULL, HC_E_USAGE, "--order 3: needs more than 3 points",
                    "read scene.img ! smooth --points 3 --order 3 ! write o.img");
    check_run_fails(NULL, HC_E_USAGE, "--derivative 1: is 0 everywhere with --order 0",
                    "read scene.img ! smooth --points 3 --order 0 --derivative 1 ! write o.img");
    check_run_fails(NULL, HC_E_USAGE,
                    "--points 11: longer than each run of bands without a gap, which have up "
                    "to 10",
                    "read scene.img ! smooth ! write o.img");
    check_run_fails(NULL, HC_E_USAGE, "--points 3: longer than each run",
                    "read scene.img ! smooth --points 3 --gap 5 ! write o.img");
    file_write("lib.csv", "wavelength,a,b\n400,1,2\n450,2,1\n490,1,1\n1010,2,2\n1042,1,2\n");
    check_run_fails(
        NULL, HC_E_USAGE, "derivatives or shapes of spectra come in",
        "read scene.img ! smooth --points 5 --derivative 1 ! abundance --endmembers lib.csv ! write "
        "o.img");
    cube_write(&cube, "plain", HC_UINT16, "bip", NULL);
    check_run_fails(NULL, HC_E_USAGE, "smooth: the scene has no wavelengths", "read plain.img ! smooth");
    check_run_fails(NULL, HC_E_USAGE, "no wavelengths", "read plain.img ! smooth --normalise area");
    check_run_fails(NULL, HC_E_USAGE, "one band has no standard deviation",
                    "read plain.img ! bands 1 ! smooth --normalise snv ! write o.img");
    check_run_fails(NULL, HC_E_USAGE, "16 bands come in that are no spectra",
                    "read plain.img ! pca ! smooth --normalise snv ! write o.img");
    check_runs(NULL, "read plain.img ! smooth --normalise snv ! write out.img --overwrite");
    assert_false(file_exists("o.img"));
    cube_free(&cube);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(fits_polynomials, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(as_scipy, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(straight_lines, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(normalises, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(gains, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(contract, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(wrong_input, folder_setup, folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
