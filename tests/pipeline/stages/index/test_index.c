/* index: against spyndex, and a plain reference of its own formulas. */
#include "io/read/reader.h"
#include "pipeline/stages/index/indices.h"
#include "tests/support/strict_runs.h"

#include <math.h>
#include <stdlib.h>

/* ---- against the public list ---- */

/* Where the bands of the list lie, and a reflectance of each. */
static const struct {
    double wavelength, reflectance;
} bands[] = {{442.7, 0.0312}, {492.4, 0.0437}, {531, 0.0688},    {559.8, 0.0781}, {605, 0.0655},
             {664.6, 0.0594}, {704.1, 0.1207}, {740.5, 0.2833},  {782.8, 0.3561}, {832.8, 0.3915},
             {864.7, 0.4123}, {945.1, 0.4012}, {1613.7, 0.2219}, {2202.4, 0.1128}};

enum { BANDS = sizeof bands / sizeof *bands, INDICES = 242 };

static const struct {
    const char *name;
    double value;
} expected[] = {
#define X(name, value) {#name, value},
#include "tests/pipeline/stages/index/expected.def"
#undef X
};

static void write_bands(const char *name, double scale, const char *more) {
    HcText header = {0};
    Cube cube = cube_new(2, 3, BANDS);
    hc_text_add(&header, "%swavelength units = Nanometers\nwavelength = {", more);
    for (int32_t b = 0; b < BANDS; b++) {
        hc_text_add(&header, "%s%.1f", b > 0 ? ", " : "", bands[b].wavelength);
        for (int32_t p = 0; p < 6; p++) {
            cube.value[p * BANDS + b] = bands[b].reflectance * scale;
        }
    }
    hc_text_add(&header, "}\n");
    cube_write(&cube, name, HC_FLOAT32, "bil", header.data);
    hc_text_clear(&header);
    cube_free(&cube);
}

static void check_list(const char *options) {
    HcText list = {0};
    assert_int_equal(sizeof expected / sizeof *expected, INDICES);
    for (int32_t k = 0; k < INDICES; k++) {
        hc_text_add(&list, "%s%s", k > 0 ? "," : "", expected[k].name);
    }
    check_runs(NULL, "read scene.img ! index %s --constants PAR=1000 %s ! write out.img", list.data, options);
    Cube out = cube_read_floats("out", 2, 3, INDICES);
    for (int32_t k = 0; k < INDICES; k++) {
        double size = fmax(1, fabs(expected[k].value));
        if (!(fabs(cube_pixel(&out, 1, 2)[k] - expected[k].value) <= 1e-6 * size)) {
            fail_msg("%s: %.9g instead of %.9g", expected[k].name, cube_pixel(&out, 1, 2)[k],
                     expected[k].value);
        }
    }
    cube_free(&out);
    hc_text_clear(&list);
}

static void all_optical_indices(void **state) {
    (void)state;
    write_bands("scene", 1, "");
    check_list("");
}

/* The scale of the header, or of the option, makes reflectances. */
static void scaled_reflectances(void **state) {
    (void)state;
    write_bands("scene", 10000, "reflectance scale factor = 10000\n");
    check_list("");
    write_bands("scene", 100, "");
    check_list("--reflectance-one 100");
}

/* Every name of the list is an index, or is refused with a reason; constants without a default are named. */
static void the_rest_is_refused(void **state) {
    (void)state;
    int32_t fine = 0, refused = 0;
    write_bands("scene", 1, "");
    for (const HcNamedIndex *index = hc_named_indices; index->name != NULL; index++) {
        HcError err = {0};
        bool narrow = strstr(index->formula, "R1") != NULL || strstr(index->formula, "R2") != NULL ||
                      strstr(index->formula, "R5") != NULL || strstr(index->formula, "R9") != NULL;
        HcStatus status =
            run_chain_text(NULL, &err, "read scene.img ! index %s ! write out.img", index->name);
        bool told = strstr(err.text, "no reflectance") != NULL || strstr(err.text, "kernel of") != NULL ||
                    strstr(err.text, "PAR=NUMBER") != NULL ||
                    (narrow && strstr(err.text, "nearest is") != NULL);
        assert_true(status == HC_OK ||
                    (status == HC_E_USAGE && told && strstr(err.text, index->name) != NULL));
        fine += status == HC_OK;
        refused += status != HC_OK && !narrow;
    }
    assert_int_equal(fine, INDICES - 1); /* NIRvP asks for PAR */
    assert_int_equal(refused, 38 + 1);
}

/* ---- formulas ---- */

enum { LINES = 9, SAMPLES = 11, WIDE = 6 };

static const char header[] = "wavelength units = Nanometers\n"
                             "wavelength = {400, 500, 600, 650, 660, 670}\n"
                             "fwhm = {50, 8, 8, 8, 8, 8}\n"
                             "bbl = {1, 1, 0, 1, 1, 1}\n";

static Cube write_scene(void) {
    Cube cube = cube_smooth(LINES, SAMPLES, WIDE, 11, true);
    cube_write(&cube, "scene", HC_FLOAT32, "bip", header);
    return cube;
}

typedef double Reference(const double *x);

static double mean_of(const double *x) {
    return (x[3] + x[4] + x[5]) / 3;
}
static double alone_of(const double *x) {
    return x[4];
}
static double quotient_of(const double *x) {
    return x[4] / 20;
}
static double precedence_of(const double *x) {
    return -(x[0] * x[0]) + pow(2, pow(3, 2)) - x[1] / x[3] / x[4];
}
static double functions_of(const double *x) {
    return sqrt(x[0]) + log(x[1]) - fabs(x[0] - x[1]) + exp(-x[0] / 3e4);
}
static double choice_of(const double *x) {
    return x[0] > x[1] ? fmin(fmin(x[0], x[3]), x[4]) : fmax(x[1], 7);
}
static double compared_of(const double *x) {
    return (double)(x[0] <= x[1]) + 2 * (x[0] >= x[1]) + 4 * (x[0] == x[1]) + 8 * (x[0] != x[1]) +
           16 * (x[0] < x[1]);
}
static double number_of_band(const double *x) {
    return x[3] - x[0];
}
static double wide_of(const double *x) {
    return x[0];
}
static double index_of(const double *x) {
    return (x[3] - x[0]) / (x[3] + x[0]) + 1;
}

static void own_formulas(void **state) {
    (void)state;
    static const struct {
        const char *formula;
        Reference *reference;
    } formulas[] = {
        {"R660/20", mean_of},  /* at once: the mean */
        {"R660/16", alone_of}, /* 10 nm away is too far */
        {"R660 / 20", quotient_of},
        {"R660/ 20", quotient_of},
        {"-b1 ** 2 + 2 ^ 3 ^ 2 - b2 / b4/b5", precedence_of},
        {"sqrt(b1) + log(b2) - abs(b1 - b2) + exp(-b1 / 3e4)", functions_of},
        {"where(b1 > b2, min(b1, b4, b5), max(b2, 7))", choice_of},
        {"(b1 <= b2) + 2 * (b1 >= b2) + 4 * (b1 == b2) + 8 * (b1 != b2) + 16 * (b1 < b2)", compared_of},
        {"my name = b4 - b1", number_of_band},
        {"R445", wide_of}, /* 45 nm away, within the width of the band */
        {"NDVI + 1", index_of},
    };
    enum { COUNT = sizeof formulas / sizeof *formulas };
    HcText list = {0};
    Cube cube = write_scene();
    for (int32_t k = 0; k < COUNT; k++) {
        hc_text_add(&list, "%s%s", k > 0 ? ", " : "", formulas[k].formula);
    }
    check_runs(
        NULL,
        "read scene.img --all-bands ! index \"%s\" --constants N=648,R=400 ! write out.img --nodata nan",
        list.data);
    Cube out = cube_read_floats("out", LINES, SAMPLES, COUNT);
    for (int32_t p = 0; p < LINES * SAMPLES; p++) {
        const double *x = cube_pixel(&cube, p / SAMPLES, p % SAMPLES);
        for (int32_t k = 0; k < COUNT; k++) {
            double value = formulas[k].reference(x);
            check_near(cube_pixel(&out, p / SAMPLES, p % SAMPLES)[k], value, 1e-7 * fabs(value));
        }
    }
    cube_free(&out);
    cube_free(&cube);
    hc_text_clear(&list);
}

static void names_and_meaning(void **state) {
    (void)state;
    HcReader *reader = NULL;
    HcError err = {0};
    Cube cube = write_scene();
    check_runs(NULL, "read scene.img ! index \"two words = b1, min(b1, b2)\" ! write out.tif");
    check_ok(hc_reader_open(&reader, "out.tif", NULL, &err), err);
    const HcScene *scene = hc_reader_scene(reader);
    assert_int_equal(scene->bands, 2);
    assert_null(scene->wavelength);
    assert_string_equal(scene->band_name[0], "two words");
    assert_string_equal(scene->band_name[1], "min(b1, b2)");
    hc_reader_close(reader);
    cube_free(&cube);
}

/* ---- missing values ---- */

/* Band 2 is 0 in one pixel, both bands are in another; band 3 of a third is missing. */
static Cube write_zeros(void) {
    Cube cube = cube_smooth(LINES, SAMPLES, 3, 5, true);
    cube_pixel(&cube, 2, 3)[1] = 0;
    cube_pixel(&cube, 4, 5)[0] = cube_pixel(&cube, 4, 5)[1] = 0;
    cube_pixel(&cube, 6, 7)[2] = NAN;
    cube_write(&cube, "scene", HC_FLOAT32, "bip", "");
    return cube;
}

static bool is_missing(const Cube *out, int32_t line, int32_t sample, int32_t band) {
    return isnan(cube_pixel(out, line, sample)[band]);
}

static void missing_values_are_counted(void **state) {
    (void)state;
    HcText notes = {0};
    RunHow how = {.threads = 1, .notes = &notes, .settings.record = "r.json"};
    Cube cube = write_zeros();
    check_runs(&how, "read scene.img ! index b1/b2,b2/b1,1/(b1/b2) ! write out.img --nodata nan");
    Cube out = cube_read_floats("out", LINES, SAMPLES, 3);
    assert_true(is_missing(&out, 2, 3, 0) && !is_missing(&out, 2, 3, 1)); /* one is there */
    assert_true(is_missing(&out, 4, 5, 0) && is_missing(&out, 4, 5, 1));
    assert_true(is_missing(&out, 2, 3, 2));  /* 1 by infinity is no 0 */
    assert_false(is_missing(&out, 6, 7, 0)); /* no formula has band 3 */
    assert_non_null(strstr(notes.data, "3 of 3 bands lack values"));
    assert_non_null(strstr(notes.data, "b1/b2: 2 of 99 pixels"));
    assert_true(file_holds("r.json", "\"missing_pixels\":\t2"));
    cube_free(&out);
    hc_text_clear(&notes);
    /* A stage that computes gets whole pixels. */
    check_runs(
        NULL, "read scene.img ! index b1/b2,b2/b1 ! filter median3x3 ! bands 2 ! write out.img --nodata nan");
    out = cube_read_floats("out", LINES, SAMPLES, 1);
    assert_true(is_missing(&out, 2, 3, 0) && is_missing(&out, 4, 5, 0));
    cube_free(&out);
    cube_free(&cube);
}

/* ---- refusals ---- */

static void wrong_formulas_are_named(void **state) {
    (void)state;
    static const char *const wrong[][2] = {
        {"R700", "R700: character 1 ... within 10 nm ... 700 nm ... band 6 (670 nm) ... 5 (660 nm)"},
        {"b1 + R600", "character 6 ... R600"}, /* it is bad */
        {"b3", "b3 ... bad"},
        {"R570/20", "R570/20 ... range ... 570 nm"},
        {"b7", "b7 ... bands 1 to 6"},
        {"b0", "b0 ... bands 1 to 6"},
        {"b1.5", "b1.5 ... bands 1 to 6"},
        {"R0.66", "R0.66 ... nm"},
        {"b1 +", "character 5 ... value"},
        {"(b1", ") is missing"},
        {"b1)", "operator ... )"},
        {"b1 b2", "character 4 ... operator ... b2"},
        {"b1,,b2", "value"},
        {"sqrt(b1, b2)", "sqrt ... 1 value ... not 2"},
        {"where(b1, b2)", "where ... 3 values ... not 2"},
        {"min(b1)", "min ... 2 values ... not 1"},
        {"sin(b1)", "sin ... function"},
        {"NDVJ", "NDVJ ... NDVI?"},
        {"1e999 * b1", "1e999 ... number"},
        {"1.2.3 * b1", "1.2.3 ... number"},
        {"1 + 2", "1 + 2 ... band"},
        {"b1 == b2 = 3", "operator ... = 3"},
    };
    Cube cube = write_scene();
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        check_run_fails(NULL, HC_E_USAGE, wrong[k][1],
                        "read scene.img --all-bands ! index \"%s\" ! write o.img", wrong[k][0]);
    }
    check_run_fails(NULL, HC_E_USAGE, "LIST", "read scene.img ! index ! write o.img");
    check_run_fails(NULL, HC_E_USAGE, "--list", "read scene.img ! index b1 --list ! write o.img");
    check_run_fails(NULL, HC_E_USAGE, "--constants Q=1",
                    "read scene.img ! index b1 --constants Q=1 ! write o.img");
    check_run_fails(NULL, HC_E_USAGE, "--constants L=x",
                    "read scene.img ! index b1 --constants N=650,L=x ! write o.img");
    cube_write(&cube, "plain", HC_UINT16, "bip", NULL);
    check_run_fails(NULL, HC_E_USAGE, "NDVI ... N: ... no wavelengths",
                    "read plain.img ! index NDVI ! write o.img");
    assert_false(file_exists("o.img"));
    cube_free(&cube);
}

/* Integers are no reflectances; indices that are quotients do not care. */
static void unknown_units(void **state) {
    (void)state;
    HcText notes = {0};
    RunHow how = {.threads = 1, .notes = &notes};
    Cube cube = cube_smooth(LINES, SAMPLES, 2, 5, true);
    static const char near_red[] = "wavelength units = Nanometers\nwavelength = {665, 833}\n";
    cube_write(&cube, "scene", HC_UINT16, "bip", near_red);
    check_run_fails(NULL, HC_E_USAGE, "SAVI ... 1 others ... --reflectance-one",
                    "read scene.img ! index NDVI,SAVI,SR,OSAVI,N-R ! write out.img");
    check_runs(&how, "read scene.img ! index NDVI,SR,N-R ! write out.img");
    assert_null(strstr(notes.length > 0 ? notes.data : "", "depend"));
    check_runs(&how, "read scene.img ! index SAVI --reflectance-one 10000 ! write out.img");
    cube_write(&cube, "scene", HC_FLOAT32, "bip", near_red);
    check_runs(&how, "read scene.img ! index SAVI ! write out.img");
    assert_non_null(strstr(notes.data, "values of SAVI (and 0 others) depend on their unit"));
    hc_text_clear(&notes);
    cube_free(&cube);
}

/* Depth, length and number are bounded. */
static void bounds(void **state) {
    (void)state;
    static const struct {
        const char *before, *after, *told;
        int count;
    } deep[] = {{"(", ")", "within each other", 70},    {"-", "", "within each other", 70},
                {"abs(", ")", "within each other", 70}, {"b1+(", ")", "wait for their operators", 20},
                {"b1**", "", "within each other", 70},  {"b1*2+", "", NULL, 2000},
                {"b1*2+", "", "take more than", 20000}};
    HcScene scene = {.bands = 2};
    for (size_t k = 0; k < sizeof deep / sizeof *deep; k++) {
        HcText text = {0};
        HcIndices indices = {0};
        HcError err = {0};
        for (int i = 0; i < deep[k].count; i++) {
            hc_text_add(&text, "%s", deep[k].before);
        }
        hc_text_add(&text, "b1");
        for (int i = 0; i < deep[k].count; i++) {
            hc_text_add(&text, "%s", deep[k].after);
        }
        HcStatus status = hc_indices_compile(&indices, text.data, NULL, &scene, &err);
        assert_int_equal(status, deep[k].told != NULL ? HC_E_USAGE : HC_OK);
        assert_true(deep[k].told == NULL || strstr(err.text, deep[k].told) != NULL || strlen(err.text) > 200);
        hc_indices_clear(&indices);
        hc_text_clear(&text);
    }
}

static void contract(void **state) {
    (void)state;
    check_stage_contract("index b1/b3,b2-b3,exp(-b3)");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_optical_indices, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(scaled_reflectances, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(the_rest_is_refused, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(own_formulas, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(names_and_meaning, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(missing_values_are_counted, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(wrong_formulas_are_named, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(unknown_units, folder_setup, folder_teardown),
        cmocka_unit_test(bounds),
        cmocka_unit_test_setup_teardown(contract, folder_setup, folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
