/* identify: rules against values that CRAMM 1.5 (PyPI, MIT) gives for the same file, spectra and pixels;
 * features and angles against plain arithmetic. */
#include "pipeline/json/json.h"
#include "tests/support/strict_runs.h"

#include <stdio.h>
#include <stdlib.h>

enum { BANDS = 50, REFERENCES = 5, SIDE = 8, PIXELS = SIDE * SIDE };

/* ---- references and pixels, as the script that asked CRAMM had them ---- */

static const char *const names[REFERENCES] = {"calcite", "dolomite", "kaolinite", "muscovite", "gypsum"};

/* centre [nm], depth, width [nm] */
static const double features[REFERENCES][2][3] = {{{2340, .35, 30}, {0, 0, 1}},
                                                  {{2318, .33, 32}, {0, 0, 1}},
                                                  {{2165, .2, 14}, {2206, .32, 12}},
                                                  {{2206, .3, 22}, {2350, .15, 18}},
                                                  {{2215, .2, 45}, {2270, .06, 20}}};

static double wavelength(int band) {
    return 2000 + 10 * band;
}

static double reference(int which, int band) {
    double value = 0.5 + 0.1 * (wavelength(band) - 2000) / 500;
    for (int f = 0; f < 2; f++) {
        double off = (wavelength(band) - features[which][f][0]) / features[which][f][2];
        value *= 1 - features[which][f][1] * exp(-off * off);
    }
    return (double)(float)value;
}

/* Two references in shares, with a shade and a ripple. */
static double pixel(int p, int band) {
    double share = p * 7 % 11 / 10.0, shade = 0.15 + p * 5 % 13 / 10.0;
    double mixed = share * reference(p % 5, band) + (1 - share) * reference((p * 3 + p / 5) % 5, band);
    return (double)(float)(mixed * shade * (1 + 0.004 * sin(0.7 * (p + 1) * band)));
}

static const char rules[] =
    "{'rf':{'calcite':{'reference':{'reflectance_record':'calcite'},"
    "'diagnostic_features':[{'feature_weight':1,'continuum_endpoints':[2.22,2.24,2.42,2.44],"
    "'continuum_constraints':{'mean_min':0.1},'absorption_center_range':[2.3,2.33]}],"
    "'weighted_constraints':{'min_weighted_fit':0.6,'min_weighted_depth':0.02,"
    "'min_fit_depth_product':0.01}},'dolomite':{'reference':{'reflectance_record':'dolomite'},"
    "'diagnostic_features':[{'feature_weight':1,'continuum_endpoints':[2.22,2.24,2.42,2.44],"
    "'continuum_constraints':{'mean_min':0.1,'ratio_max':1.2},'absorption_center_range':[2.33,"
    "2.36]}],'weighted_constraints':{'min_weighted_fit':0.6,'min_weighted_depth':0.02,"
    "'min_fit_depth_product':0.01}},'kaolinite':{'reference':{'reflectance_record':'kaolinite'},"
    "'diagnostic_features':[{'feature_weight':0.8,'continuum_endpoints':[2.1,2.12,2.24,2.26],"
    "'fit_constraint':0.5},{'feature_weight':0.2,'continuum_endpoints':[2.1,2.11,2.18,2.19]}],"
    "'not_absolute_features':[{'reflectance_record':'muscovite','continuum_endpoints':[2.29,2.31,"
    "2.39,2.41],'fit_constraint':0.5,'absolute_depth_constraint':0.05}],"
    "'weighted_constraints':{'min_weighted_fit':0.6,'min_weighted_depth':0.02,"
    "'min_fit_depth_product':0.01}},'muscovite':{'reference':{'reflectance_record':'muscovite'},"
    "'diagnostic_features':[{'feature_weight':0.7,'continuum_endpoints':[2.13,2.15,2.26,2.28]},"
    "{'feature_weight':0.3,'continuum_endpoints':[2.29,2.31,2.39,2.41],'depth_constraints':[0.01,"
    "0.5]}],'not_relative_features':[{'reflectance_record':'calcite','continuum_endpoints':[2.22,"
    "2.24,2.42,2.44],'fit_constraint':0.8,'relative_depth_threshold':0.8}],"
    "'weighted_constraints':{'min_weighted_fit':0.6,'min_weighted_depth':0.02,"
    "'min_fit_depth_product':0.01},'max_depth_ratio_feat1_over_feat0':0.9},"
    "'gypsum':{'reference':{'reflectance_record':'gypsum'},"
    "'diagnostic_features':[{'feature_weight':1,'continuum_endpoints':[2.13,2.15,2.3,2.32],"
    "'continuum_constraints':{'left_min':0.2,'right_max':0.8}}],"
    "'weighted_constraints':{'min_weighted_fit':0.5,'min_weighted_depth':0.02,"
    "'max_weighted_depth':0.25}}}}";

/* class, fit, fit x depth by CRAMM; both members of a family have the range of the other one, so that it
 * changes the class of pixels. */
static const double expected[PIXELS][3] = {
    {0, 0, 0},
    {2, 0.951449868, 0.218840591},
    {2, 0.99604882, 0.226619743},
    {4, 0.998559514, 0.247801846},
    {3, 0.816725121, 0.121339448},
    {1, 0.603714833, 0.149590778},
    {2, 0.999045112, 0.289438119},
    {3, 0.999294907, 0.256962422},
    {1, 0.997997006, 0.324670566},
    {5, 0.971683571, 0.18432426},
    {1, 0.953828584, 0.131485171},
    {1, 0.999489148, 0.349569781},
    {3, 0.936229656, 0.214210001},
    {4, 0.605839367, 0.0450570923},
    {5, 0.998561566, 0.188771978},
    {1, 0.948640787, 0.237338017},
    {2, 0.999402099, 0.329466988},
    {3, 0.998300681, 0.238106732},
    {4, 0.903742921, 0.164985253},
    {1, 0.998921053, 0.309935963},
    {1, 0.995383061, 0.26923744},
    {3, 0.99595719, 0.151849036},
    {1, 0.999512349, 0.349722551},
    {4, 0.998668243, 0.247426103},
    {2, 0.993828464, 0.207984381},
    {1, 0.99948044, 0.34974983},
    {4, 0.712151016, 0.0735197746},
    {2, 0.997075189, 0.261188599},
    {4, 0.997734561, 0.233109501},
    {3, 0.904034859, 0.149077596},
    {2, 0.992910873, 0.316172409},
    {2, 0.997349121, 0.249165399},
    {3, 0.998862818, 0.255908515},
    {1, 0.9994754, 0.349407279},
    {4, 0.915927194, 0.133308177},
    {1, 0.899695997, 0.0919695174},
    {2, 0.999283212, 0.328545222},
    {4, 0.850761846, 0.144818756},
    {2, 0.982667832, 0.258578557},
    {0, 0, 0},
    {1, 0.89784442, 0.201852018},
    {2, 0.999457502, 0.328140468},
    {3, 0.991960433, 0.220885212},
    {4, 0.868904768, 0.150132344},
    {1, 0.999996959, 0.349739895},
    {1, 0.988763463, 0.226891824},
    {3, 0.997989101, 0.180940148},
    {3, 0.998890711, 0.256334519},
    {4, 0.998658624, 0.247649081},
    {2, 0.997562904, 0.249086104},
    {1, 0.999519229, 0.349849477},
    {4, 0.788179841, 0.103545299},
    {0, 0, 0},
    {4, 0.997601868, 0.217936452},
    {3, 0.953662413, 0.174330929},
    {2, 0.999429722, 0.328319625},
    {2, 0.993199424, 0.207482343},
    {3, 0.999138831, 0.25635546},
    {4, 0.998609924, 0.247879078},
    {4, 0.940824202, 0.15052498},
    {1, 0.742967442, 0.0500701182},
    {2, 0.99056577, 0.314461994},
    {4, 0.906978304, 0.167467323},
    {2, 0.995411544, 0.294535626},
};

/* ---- files ---- */

static void write_wavelengths(HcText *to, double unit) {
    hc_text_add(to, "wavelength = {");
    for (int b = 0; b < BANDS; b++) {
        hc_text_add(to, "%s%.10g", b > 0 ? ", " : "", wavelength(b) / unit);
    }
    hc_text_add(to, "}\n");
}

/* NAME.img times `factor`; every 9th pixel masked with `masked`. */
static void write_scene(const char *name, double factor, bool masked) {
    HcText more = {0};
    Cube cube = cube_new(SIDE, SIDE, BANDS);
    for (int p = 0; p < PIXELS; p++) {
        bool valid = !masked || p % 9 != 4;
        for (int b = 0; b < BANDS; b++) {
            cube.value[p * BANDS + b] = valid ? factor * pixel(p, b) : -1;
        }
    }
    hc_text_add(&more, "data ignore value = -1\nwavelength units = Nanometers\n");
    write_wavelengths(&more, 1);
    cube_write(&cube, name, HC_FLOAT32, "bil", more.data);
    hc_text_clear(&more);
    cube_free(&cube);
}

/* library.csv: a line a band. `gap`: values of these bands (from 0) are missing in all. */
static void write_library(int gap, int gap_end) {
    HcText text = {0};
    hc_text_add(&text, "nm");
    for (int r = 0; r < REFERENCES; r++) {
        hc_text_add(&text, ",%s", names[r]);
    }
    for (int b = 0; b < BANDS; b++) {
        hc_text_add(&text, "\n%g", wavelength(b));
        for (int r = 0; r < REFERENCES; r++) {
            if (b >= gap && b < gap_end) {
                hc_text_add(&text, ",nan");
            } else {
                hc_text_add(&text, ",%.9g", reference(r, b));
            }
        }
    }
    hc_text_add(&text, "\n");
    file_write("library.csv", text.data);
    hc_text_clear(&text);
}

/* rules.json; the first `from` becomes `to`. */
static void write_rules(const char *from, const char *to) {
    HcText text = {0};
    const char *at = from != NULL ? strstr(rules, from) : NULL;
    assert_true(from == NULL || at != NULL);
    size_t before = at != NULL ? (size_t)(at - rules) : strlen(rules);
    hc_text_add(&text, "%.*s%s%s", (int)before, rules, at != NULL ? to : "",
                at != NULL ? at + strlen(from) : "");
    for (char *c = text.data; *c != '\0'; c++) {
        *c = *c == '\'' ? '"' : *c;
    }
    file_write("rules.json", text.data);
    hc_text_clear(&text);
}

static void write_all(void) {
    write_scene("scene", 1, false);
    write_library(0, 0);
    write_rules(NULL, NULL);
}

#define IDENTIFY "identify --library library.csv "
#define OUT      " ! write out.img --interleave bsq"

/* ---- rules ---- */

/* out.img, whose first bands are class, fit, depth, fit x depth. */
static void check_rules(int bands) {
    Cube found = cube_read_floats("out", SIDE, SIDE, bands);
    for (int p = 0; p < PIXELS; p++) {
        const double *at = found.value + p * bands;
        check_near(at[0], expected[p][0], 0);
        check_near(at[1], expected[p][1], 1e-6);
        check_near(at[3], expected[p][2], 1e-6);
        if (expected[p][0] == 0) {
            check_near(at[2], 0, 0);
        }
    }
    cube_free(&found);
}

static void rules_are_those_of_cramm(void **state) {
    (void)state;
    write_all();
    check_runs(NULL, "read scene.img ! " IDENTIFY "--rules rules.json" OUT);
    check_rules(4);
    assert_true(file_holds("out.hdr", "kaolinite"));
    check_runs(NULL, "read scene.img ! " IDENTIFY "--rules rules.json --top 3 --rejected" OUT);
    check_rules(14);
}

/* Limits of reflectance follow the unit of the scene, by its header or its values. */
static void limits_follow_the_unit(void **state) {
    (void)state;
    write_all();
    write_scene("scene", 10000, false);
    check_runs(NULL, "read scene.img ! " IDENTIFY "--rules rules.json" OUT);
    check_rules(4);
}

/* The best before constraints, and why it was rejected. */
static void rejected_is_told(void **state) {
    (void)state;
    int reasons[16] = {0};
    write_all();
    check_runs(NULL, "read scene.img ! " IDENTIFY "--rules rules.json --rejected" OUT);
    Cube found = cube_read_floats("out", SIDE, SIDE, 6);
    for (int p = 0; p < PIXELS; p++) {
        const double *at = found.value + p * 6;
        assert_true(at[4] >= 1 && at[4] <= REFERENCES && at[5] >= 0 && at[5] <= 10);
        assert_true(at[0] > 0 || at[5] > 0);
        reasons[(int)at[5]]++;
    }
    assert_true(reasons[0] > 20 && reasons[1] > 0 && reasons[5] > 0);
    cube_free(&found);
}

/* A folder has rules in one file and colours in another one. */
static void a_folder_is_read(void **state) {
    (void)state;
    write_all();
    assert_int_equal(system("mkdir rules && mv rules.json rules/r.json"), 0);
    file_write("rules/color_table.json", "{\"dolomite\": [205, 25, 255], \"other\": [1, 2, 3]}");
    check_runs(NULL, "read scene.img ! " IDENTIFY "--rules rules" OUT);
    check_rules(4);
    assert_true(file_holds("out.hdr", "205, 25, 255"));
}

/* Bands of some rules are missing: the others stay, under their numbers. */
static void rules_that_bands_do_not_cover(void **state) {
    (void)state;
    HcText notes = {0};
    RunHow how = {.notes = &notes};
    write_all();
    check_runs(&how, "read scene.img ! bands 1-34 ! " IDENTIFY "--rules rules.json" OUT);
    assert_non_null(strstr(notes.data,
                           "rules.json: left out: 4 of 5 rules, without features that the bands of the "
                           "scene cover: calcite, dolomite, kaolinite, muscovite"));
    Cube found = cube_read_floats("out", SIDE, SIDE, 4);
    for (int p = 0; p < PIXELS; p++) {
        assert_true(found.value[p * 4] == 0 || found.value[p * 4] == 5);
    }
    cube_free(&found);
    hc_text_clear(&notes);
    write_library(36, 40); /* without these two left: kaolinite and gypsum need none of them */
    check_runs(NULL, "read scene.img ! " IDENTIFY "--rules rules.json" OUT);
    check_run_fails(NULL, HC_E_INPUT, "rules.json: none of its 5 rules has features that the bands",
                    "read scene.img ! bands 1-9 ! " IDENTIFY "--rules rules.json" OUT);
}

/* ---- features and angle ---- */

/* Pixels that are references in some shade. */
static void write_pure(void) {
    HcText more = {0};
    Cube cube = cube_new(1, REFERENCES, BANDS);
    for (int p = 0; p < REFERENCES * BANDS; p++) {
        cube.value[p] = reference(p / BANDS, p % BANDS) * (0.3 + 0.1 * (p / BANDS));
    }
    write_wavelengths(&more, 1000);
    hc_text_add(&more, "wavelength units = Micrometers\n");
    cube_write(&cube, "pure", HC_FLOAT32, "bip", more.data);
    hc_text_clear(&more);
    cube_free(&cube);
}

/* A reference is itself: the fit is 1, the depth that of its features, weighted by their areas. */
static void features_of_references(void **state) {
    (void)state;
    write_all();
    write_pure();
    check_runs(NULL, "read pure.img ! " IDENTIFY OUT);
    Cube found = cube_read_floats("out", 1, REFERENCES, 4);
    for (int p = 0; p < REFERENCES; p++) {
        const double *at = found.value + p * 4;
        check_near(at[0], p + 1, 0);
        check_near(at[1], 1, 1e-6);
        check_near(at[3], at[2], 1e-6);
    }
    /* One feature alone: its depth below the straight line between the corners of the hull. */
    check_near(found.value[2], 0.35, 0.003);
    check_near(found.value[4 + 2], 0.33, 0.003);
    cube_free(&found);
    check_runs(NULL, "read pure.img ! " IDENTIFY "--min-depth 0.34" OUT);
    found = cube_read_floats("out", 1, REFERENCES, 4);
    for (int p = 0; p < REFERENCES; p++) {
        check_near(found.value[p * 4], p == 0, 0);
    }
    cube_free(&found);
}

static double angle_of(int p, int which) {
    double product = 0, own = 0, other = 0;
    for (int b = 0; b < BANDS; b++) {
        product += pixel(p, b) * reference(which, b);
        own += pixel(p, b) * pixel(p, b);
        other += reference(which, b) * reference(which, b);
    }
    return acos(product / sqrt(own * other));
}

static void angles_are_smallest(void **state) {
    (void)state;
    write_all();
    check_runs(NULL, "read scene.img ! " IDENTIFY "--method angle --max-angle 0.05" OUT);
    Cube found = cube_read_floats("out", SIDE, SIDE, 2);
    int none = 0;
    for (int p = 0; p < PIXELS; p++) {
        int best = 0;
        for (int r = 1; r < REFERENCES; r++) {
            best = angle_of(p, r) < angle_of(p, best) ? r : best;
        }
        double angle = angle_of(p, best);
        check_near(found.value[p * 2], angle <= 0.05 ? best + 1 : 0, 0);
        check_near(found.value[p * 2 + 1], angle <= 0.05 ? angle : 0, 1e-6);
        none += angle > 0.05;
    }
    assert_true(none > 0 && none < PIXELS);
    cube_free(&found);
}

/* ---- all methods ---- */

static const char *const chains[] = {
    "read masked.img ! " IDENTIFY "--rules rules.json --top 2 --rejected ! write out.img",
    "read masked.img ! " IDENTIFY "--rank product ! write out.img",
    "read masked.img ! filter ! " IDENTIFY "--method angle --top 5 ! write out.img"};

static void every_cut_and_backend_gives_the_same(void **state) {
    (void)state;
    write_all();
    write_scene("masked", 10000, true);
    check_runs_agree(chains, 3, 1);
}

static void failures_leave_nothing(void **state) {
    (void)state;
    static const char *const results[] = {"out.img", "out.hdr", NULL};
    write_all();
    write_scene("masked", 10000, true);
    check_failures_leave_nothing(chains, 3, 3, results);
}

/* ---- refusals ---- */

static void wrong_rules(void **state) {
    (void)state;
    static const struct {
        const char *from, *to, *part;
    } cases[] = {
        {"{'rf'", "{'rules'", "rules.json: no rules: expected a member \"rf\""},
        {"'reference':{'reflectance_record':'dolomite'}", "'reference':{'reflectance_record':'opal'}",
         "rules.json: rule \"dolomite\": reflectance_record \"opal\": library.csv has no such spectrum"},
        {"'reference':{'reflectance_record':'dolomite'}", "'reference':{'reflectance_record':7}",
         "rule \"dolomite\": reflectance_record: expected the name of a spectrum"},
        {"'feature_weight':1,", "", "rule \"calcite\": diagnostic_features[0]: feature_weight: expected"},
        {"[2.1,2.11,2.18,2.19]", "[2.1,2.11,2.08,2.19]",
         "rule \"kaolinite\": diagnostic_features[1]: continuum_endpoints: expected four wavelengths that "
         "rise"},
        {"'mean_min':0.1", "'mean_min':'x'",
         "rule \"calcite\": diagnostic_features[0]: mean_min: expected a number"},
        {"'fit_constraint':0.5,'absolute", "'fit_constraint':[],'absolute",
         "rule \"kaolinite\": not_absolute_features[0]: fit_constraint: expected a number or null"},
        {"'depth_constraints':[0.01,0.5]", "'depth_constraints':[0.01]",
         "rule \"muscovite\": diagnostic_features[1]: depth_constraints: expected a list of two limits"},
        {"'diagnostic_features'", "'features'", "rule \"calcite\": diagnostic_features: expected a list"},
        {"'min_weighted_fit':0.6", "'min_weighted_fit':true",
         "rule \"calcite\": min_weighted_fit: expected a number or null"},
        {"{'rf':{", "{'rf':{'x':1,", "rule \"x\": expected an object"},
        {"{'rf':{", "{'rf':{,", "rules.json: not a JSON file"},
    };
    write_all();
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        write_rules(cases[c].from, cases[c].to);
        check_run_fails(NULL, HC_E_INPUT, cases[c].part,
                        "read scene.img ! " IDENTIFY "--rules rules.json" OUT);
    }
}

static void wrong_options(void **state) {
    (void)state;
    static const struct {
        HcStatus status;
        const char *options, *part;
    } cases[] = {
        {HC_E_USAGE, "--method rules", "identify: --method rules: give --rules"},
        {HC_E_USAGE, "--method angle --rules rules.json",
         "identify: --rules: --method angle makes no use of it"},
        {HC_E_USAGE, "--max-angle 0.1", "identify: --max-angle: --method features makes no use of it"},
        {HC_E_USAGE, "--method angle --rank product", "identify: --rank: --method angle makes no use of it"},
        {HC_E_USAGE, "--rules rules.json --min-fit 0.5",
         "identify: --min-fit: --method rules makes no use of it"},
        {HC_E_USAGE, "--scale none", "identify: --scale: --method features makes no use of it"},
        {HC_E_USAGE, "--top 9", "identify: --top 9"},
        {HC_E_USAGE, "--picture p.gif", "identify: --picture p.gif"},
        {HC_E_USAGE, "--spectra opal", "--spectra opal"},
    };
    write_all();
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        check_run_fails(NULL, cases[c].status, cases[c].part, "read scene.img ! " IDENTIFY "%s" OUT,
                        cases[c].options);
    }
    check_run_fails(NULL, HC_E_USAGE, "identify", "read scene.img ! pca ! " IDENTIFY OUT);
    check_run_fails(NULL, HC_E_INPUT, "none of its 5 spectra has features",
                    "read scene.img ! bands 3 ! " IDENTIFY OUT);
    check_run_fails(NULL, HC_E_INPUT, "none of its 5 spectra has features",
                    "read scene.img ! bands 3 ! " IDENTIFY "--method angle" OUT);
    Cube cube = cube_new(2, 2, BANDS);
    cube_write(&cube, "bare", HC_FLOAT32, "bil", NULL);
    cube_free(&cube);
    check_run_fails(NULL, HC_E_USAGE, "identify: the scene has no wavelengths",
                    "read bare.img ! " IDENTIFY OUT);
}

/* A picture of what was found. */
static void pictures_show_classes(void **state) {
    (void)state;
    write_all();
    check_runs(NULL, "read scene.img ! " IDENTIFY "--rules rules.json --picture p.svg" OUT);
    assert_true(file_holds("p.svg", "</svg>"));
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(rules_are_those_of_cramm),
        IN_FOLDER(limits_follow_the_unit),
        IN_FOLDER(rejected_is_told),
        IN_FOLDER(a_folder_is_read),
        IN_FOLDER(rules_that_bands_do_not_cover),
        IN_FOLDER(features_of_references),
        IN_FOLDER(angles_are_smallest),
        IN_FOLDER(every_cut_and_backend_gives_the_same),
        IN_FOLDER(failures_leave_nothing),
        IN_FOLDER(wrong_rules),
        IN_FOLDER(wrong_options),
        IN_FOLDER(pictures_show_classes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
