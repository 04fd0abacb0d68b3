/* Spectral libraries on the bands of a scene: picked, resampled, refused; and the unit of their values. */
#include "pipeline/spectra/library/unit.h"

#include "pipeline/chain.h"
#include "tests/support/scene_files.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { BANDS = 6 };

/* A chain that is planned, and what became of a library in front of its last step. */
typedef struct Fitted {
    HcChain *chain;
    char **words;
    int32_t word_count;
    HcLibrary library;
    HcLibraryFit fit;
} Fitted;

static HcStatus try_fit(Fitted *fitted, const char *chain, const char *path, HcError *err) {
    *fitted = (Fitted){0};
    HC_OR_RETURN(hc_words_split(chain, "the test", &fitted->words, NULL, &fitted->word_count, err));
    HC_OR_RETURN(
        hc_chain_parse(&fitted->chain, (const char *const *)fitted->words, fitted->word_count, NULL, err));
    HC_OR_RETURN(hc_chain_plan(fitted->chain, err));
    HC_OR_RETURN(hc_library_read(&fitted->library, path, err));
    const HcStage *last = &fitted->chain->stages[fitted->chain->count - 1];
    return hc_library_fit(&fitted->library, path, last, &fitted->fit, err);
}

static Fitted fit(const char *chain, const char *path) {
    Fitted fitted;
    HcError err = {0};
    check_ok(try_fit(&fitted, chain, path, &err), err);
    return fitted;
}

static void clear(Fitted *fitted) {
    hc_library_fit_clear(&fitted->fit);
    hc_library_fit_clear(&fitted->fit);
    hc_library_clear(&fitted->library);
    hc_chain_free(fitted->chain);
    hc_free_texts(fitted->words, fitted->word_count);
}

static void check_refused(const char *chain, const char *path, HcStatus status, const char *part) {
    Fitted fitted;
    HcError err = {0};
    HcStatus found = try_fit(&fitted, chain, path, &err);
    if (found != status || !check_holds(err.text, part) || strchr(err.text, '\n') != NULL) {
        fail_msg("%s: status %d, \"%s\" (wanted: \"%s\")", path, (int)found, err.text, part);
    }
    assert_null(fitted.fit.value);
    assert_null(fitted.fit.name);
    clear(&fitted);
}

static void put_text(const char *name, const char *text) {
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* NAME.img: 6 bands, 400 to 450 nm, whose header has `more` lines too. */
static void make_scene(const char *name, const char *more) {
    char lines[300];
    Cube cube = cube_smooth(4, 5, BANDS, 17, false);
    snprintf(lines, sizeof lines, "wavelength units = nm\nwavelength = {400, 410, 420, 430, 440, 450}\n%s",
             more);
    cube_write(&cube, name, HC_FLOAT32, "bil", lines);
    cube_free(&cube);
}

static void check_note(const Fitted *fitted, const char *part) {
    if (fitted->fit.note == NULL || !check_holds(fitted->fit.note, part) ||
        strchr(fitted->fit.note, '\n') != NULL) {
        fail_msg("note \"%s\" (wanted: \"%s\")", fitted->fit.note != NULL ? fitted->fit.note : "", part);
    }
}

/* ---- the same bands ---- */

static void the_same_bands_are_taken_as_they_are(void **state) {
    (void)state;
    make_scene("a", "bbl = {1, 0, 1, 1, 1, 1}\n");
    put_text("six.csv", "nm,400,411,420,430,440,450\nOak,1,,3,4,5,6\nElm,7,8,9,10,nan,12\nAsh,1,1,2,2,3,3\n");
    Fitted fitted = fit("read a.img ! write out.img", "six.csv"); /* the bands of the file */
    assert_int_equal(fitted.fit.count, 2);
    assert_int_equal(fitted.fit.bands, 5);
    assert_false(fitted.fit.figures.resampled);
    assert_int_equal(fitted.fit.figures.spectra, 3);
    assert_int_equal(fitted.fit.figures.bands, 6);
    assert_int_equal(fitted.fit.figures.used, 2);
    const float wanted[] = {1, 3, 4, 5, 6, 1, 2, 2, 3, 3};
    assert_memory_equal(fitted.fit.value, wanted, sizeof wanted);
    assert_int_equal(fitted.fit.from[1], 2);
    assert_string_equal(fitted.fit.name[1], "Ash");
    check_note(&fitted, "six.csv: left out: 1 of 3 spectra ... 440 nm: Elm");
    clear(&fitted);
    put_text("five.csv",
             "name,a,b,c,d,e\nOak,1,3,4,5,6\n"); /* those that come in; nothing is known of them */
    put_text("five.csv", "band,Oak\n1,1\n2,3\n3,4\n4,5\n5,6\n");
    fitted = fit("read a.img ! write out.img", "five.csv");
    assert_memory_equal(fitted.fit.value, wanted, 5 * sizeof *wanted);
    assert_null(fitted.fit.note);
    clear(&fitted);
}

/* ---- other bands ---- */

/* A straight line from 0.4 at 400 nm, with 0.01 more every 10 nm. */
static void check_line(const Fitted *fitted, int32_t spectrum, double factor) {
    for (int32_t b = 0; b < fitted->fit.bands; b++) {
        double wavelength = fitted->chain->stages[fitted->chain->count - 1].in.wavelength[b];
        check_near(fitted->fit.value[spectrum * fitted->fit.bands + b], factor * wavelength / 1000,
                   1e-7 * factor);
    }
}

/* However a library is written down, its spectra are the same. */
static void every_form_is_resampled(void **state) {
    (void)state;
    enum { COUNT = 40 };
    static const char *const names[] = {"down.csv", "across.csv", "micro.csv", "back.csv", "lib.sli"};
    make_scene("a", "fwhm = {9, 9, 9, 9, 9, 9}\n");
    HcText texts[4] = {{0}};
    double values[2][COUNT];
    HcText wavelengths = {0};
    hc_text_add(&texts[0], "wavelength_nm,One,Two\n");
    hc_text_add(&texts[1], "name");
    hc_text_add(&texts[2], "Wavelength [um],One,Two\n");
    hc_text_add(&texts[3], "wavelength_nm,One,Two\n");
    for (int k = 0; k < COUNT; k++) {
        double x = 370 + 3 * k;
        double back = 370 + 3 * (COUNT - 1 - k);
        hc_text_add(&texts[0], "%g,%.9g,%.9g\n", x, x / 1000, x / 100);
        hc_text_add(&texts[1], ",%g", x);
        hc_text_add(&texts[2], "%g,%.9g,%.9g\n", x / 1000, x / 1000, x / 100);
        hc_text_add(&texts[3], "%g,%.9g,%.9g\n", back, back / 1000, back / 100);
        hc_text_add(&wavelengths, "%s%g", k > 0 ? ", " : "", x / 1000);
        values[0][k] = x / 1000;
        values[1][k] = x / 100;
    }
    for (int i = 0; i < 2; i++) {
        hc_text_add(&texts[1], "\n%s", i == 0 ? "One" : "Two");
        for (int k = 0; k < COUNT; k++) {
            hc_text_add(&texts[1], ",%.9g", values[i][k]);
        }
    }
    for (int t = 0; t < 4; t++) {
        put_text(names[t], texts[t].data);
        hc_text_clear(&texts[t]);
    }
    FILE *data = fopen("lib.sli", "wb");
    assert_non_null(data);
    assert_int_equal(fwrite(values, sizeof **values, 2 * COUNT, data), 2 * COUNT);
    assert_int_equal(fclose(data), 0);
    hc_text_add(&texts[0],
                "ENVI\nsamples = %d\nlines = 2\nbands = 1\nfile type = ENVI Spectral Library\ndata type = 5\n"
                "byte order = 0\nspectra names = {One, Two}\nwavelength units = Micrometers\n"
                "wavelength = {%s}\n",
                (int)COUNT, wavelengths.data);
    put_text("lib.hdr", texts[0].data);
    hc_text_clear(&texts[0]);
    hc_text_clear(&wavelengths);
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        Fitted fitted = fit("read a.img ! write out.img", names[n]);
        assert_int_equal(fitted.fit.count, 2);
        assert_true(fitted.fit.figures.resampled);
        assert_int_equal(fitted.fit.figures.interpolated, 0);
        check_near(fitted.fit.figures.shortest, 370, 1e-9);
        check_near(fitted.fit.figures.longest, 487, 1e-9);
        check_line(&fitted, 0, 1);
        check_line(&fitted, 1, 10);
        check_note(&fitted, "2 spectra on 40 bands ... resampled to 6 bands");
        clear(&fitted);
    }
}

/* Widths that are missing are the spacing in the file, whatever was left out since. */
static void widths_may_be_missing(void **state) {
    (void)state;
    make_scene("bare", "");
    make_scene("wide", "fwhm = {10, 10, 10, 10, 10, 10}\n");
    HcText text = {0};
    hc_text_add(&text, "nm,One\n");
    for (int k = 0; k < 60; k++) {
        hc_text_add(&text, "%d,%g\n", 370 + 2 * k, fabs(k - 25.0));
    }
    put_text("library.csv", text.data);
    hc_text_clear(&text);
    Fitted bare = fit("read bare.img ! bands 2,6 ! write out.img", "library.csv");
    Fitted wide = fit("read wide.img ! bands 2,6 ! write out.img", "library.csv");
    assert_int_equal(bare.fit.bands, 2);
    assert_memory_equal(bare.fit.value, wide.fit.value, 2 * sizeof *bare.fit.value);
    /* The mean of |x| under a Gaussian of that width, whose deviation is in steps of 2 nm here. */
    const double deviation = sqrt(100 - 4) * 0.42466090014400953 / 2;
    const double off = (410 - 420) / 2.0;
    double mean = deviation * sqrt(2 / M_PI) * exp(-off * off / (2 * deviation * deviation)) +
                  off * erf(off / (deviation * M_SQRT2));
    check_near(bare.fit.value[0], mean, 1e-5);
    clear(&bare);
    clear(&wide);
}

static void spectra_that_lack_values_are_left_out(void **state) {
    (void)state;
    make_scene("a", "");
    HcText text = {0};
    hc_text_add(&text, "nm,Ash,Elm,Fir,Oak,Yew\n");
    for (int k = 0; k < 36; k++) {
        double x = 380 + 3 * k;
        bool hole = x > 425 && x < 445;
        hc_text_add(&text, "%g,1,%g,%s,%s,%s\n", x, x / 1000, hole ? "-1.23e34" : "2",
                    x < 395 ? "-1.23e34" : "3", hole ? "nan" : "4");
    }
    put_text("holes.csv", text.data);
    hc_text_clear(&text);
    Fitted fitted = fit("read a.img ! write out.img", "holes.csv");
    assert_int_equal(fitted.fit.count, 3);
    assert_int_equal(fitted.fit.from[1], 1);
    assert_int_equal(fitted.fit.from[2], 3);
    assert_string_equal(fitted.fit.name[2], "Oak");
    check_line(&fitted, 1, 1);
    check_note(&fitted, "resampled to 6 bands; left out: 2 of 5 spectra ... 430-440 nm: Fir, Yew");
    HcJson json;
    HcError err = {0};
    hc_json_begin(&json);
    hc_library_figures_json(&fitted.fit.figures, &json);
    check_ok(hc_json_check(&json, "the figures", &err), err);
    const cJSON *library = cJSON_GetObjectItemCaseSensitive(json.root, "library");
    check_near(cJSON_GetObjectItemCaseSensitive(library, "spectra")->valuedouble, 5, 0);
    check_near(cJSON_GetObjectItemCaseSensitive(library, "bands")->valuedouble, 36, 0);
    check_near(cJSON_GetObjectItemCaseSensitive(library, "used_spectra")->valuedouble, 3, 0);
    assert_true(cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(library, "resampled")));
    char *printed = cJSON_PrintUnformatted(library);
    assert_non_null(printed);
    assert_non_null(strstr(printed, "\"extent_nm\":[380, 485]"));
    cJSON_free(printed);
    hc_json_clear(&json);
    clear(&fitted);
}

static void what_is_not_covered_is_refused(void **state) {
    (void)state;
    make_scene("a", "");
    Cube cube = cube_smooth(4, 5, BANDS, 17, false);
    cube_write(&cube, "dark", HC_FLOAT32, "bil", NULL);
    cube_free(&cube);
    put_text("short.csv", "nm,One,Two\n395,1,1\n400,1,1\n405,1,1\n410,1,1\n415,1,1\n420,1,1\n425,1,1\n");
    check_refused("read a.img ! write out.img", "short.csv", HC_E_INPUT,
                  "short.csv: none of its spectra ... 430-450 nm ... 395 to 425 nm");
    Fitted fitted = fit("read a.img ! bands 1-3 ! write out.img", "short.csv");
    assert_int_equal(fitted.fit.count, 2);
    clear(&fitted);
    put_text("split.csv", "nm,One,Two\n390,1,\n400,1,\n410,1,1\n420,1,1\n430,1,1\n440,,1\n450,,1\n460,,1\n");
    check_refused("read a.img ! write out.img", "split.csv", HC_E_INPUT,
                  "split.csv: each of its 2 spectra ... 400, 440-450 nm");
    put_text("bands.csv", "band,One,Two\n1,1,1\n2,1,1\n3,1,1\n4,,\n5,1,\n6,1,1\n");
    check_refused("read a.img ! write out.img", "bands.csv", HC_E_INPUT, "has values at 430 nm");
    check_refused("read dark.img ! write out.img", "bands.csv", HC_E_INPUT, "values at band 4");
    put_text("seven.csv", "band,One\n1,1\n2,1\n3,1\n4,1\n5,1\n6,1\n7,1\n");
    check_refused("read a.img ! write out.img", "seven.csv", HC_E_INPUT,
                  "seven.csv: has 7 bands, 6 come in ... has 6) ... no wavelengths");
    check_refused("read dark.img ! write out.img", "short.csv", HC_E_INPUT, "the scene has no wavelengths");
    check_refused("read a.img ! pca --components 2 ! write out.img", "short.csv", HC_E_USAGE,
                  "components come in");
}

/* ---- units ---- */

static HcValueUnit unit(double high, double one) {
    return (HcValueUnit){.high = high, .one = one};
}

static void units_are_told_apart(void **state) {
    (void)state;
    static const struct {
        HcValueUnit library, scene;
        double factor;
    } cases[] = {
        {{0.95, 0}, {4500, 0}, 10000},   {{4500, 0}, {0.6, 0}, 1e-4},     {{0.95, 0}, {0.8, 0}, 1},
        {{95, 0}, {0.6, 0}, 0.01},       {{0.9, 0}, {900, 0}, 1000},      {{0.9, 0}, {90, 0}, 100},
        {{0.9, 0}, {0.05, 0}, 1}, /* a dark scene */
        {{0.9, 0}, {500, 10000}, 10000}, {{0.9, 0}, {NAN, 10000}, 10000}, {{9000, 10000}, {0.4, 0}, 1e-4},
        {{0.9, 1}, {0.09, 10000}, 1}, /* a header that cannot be */
        {{0.5, 2}, {0.9, 1}, 0.5},       {{0.9, 1}, {9, 10}, 10},
    };
    char buffer[HC_UNIT_NOTE];
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        double factor = hc_unit_factor(&cases[c].library, &cases[c].scene);
        check_near(factor, cases[c].factor, 1e-12 * cases[c].factor);
        const char *note = hc_unit_note(buffer, &cases[c].library, &cases[c].scene);
        assert_true((note == NULL) == (cases[c].factor == 1));
        assert_true(note == NULL || strstr(note, "its values") == note);
    }
    HcValueUnit known = unit(1, 0);
    HcValueUnit unknown = unit(NAN, 0);
    HcValueUnit nothing = unit(0, 0);
    assert_true(isnan(hc_unit_factor(&known, &unknown)));
    assert_true(isnan(hc_unit_factor(&nothing, &known)));
    assert_null(hc_unit_note(buffer, &known, &unknown));
    known = unit(0.9, 0);
    unknown = unit(NAN, 10000);
    const char *note = hc_unit_note(buffer, &known, &unknown);
    assert_string_equal(note, "its values (99 % up to 0.9) are to be multiplied by 10000 to be in the "
                              "unit of the scene, whose header has 10000 for reflectance 1");
    /* The longest line fits. */
    known = unit(1.23456e-150, 1.23456e-150);
    unknown = unit(1.23456e+150, 1.23456e+150);
    assert_string_equal(strrchr(hc_unit_note(buffer, &known, &unknown), ','),
                        ", whose header has 1.23456e+150 for reflectance 1");
}

static void units_come_from_headers_and_values(void **state) {
    (void)state;
    float values[1000];
    for (int i = 0; i < 1000; i++) {
        values[i] = (float)(i % 2 == 0 ? i : -i);
    }
    check_near(hc_values_quantile(values, 1000, 0.99), 990, 0);
    check_near(hc_values_quantile(values, 1000, 0.5), 500, 0);
    check_near(hc_values_quantile(values, 1000, 0), 0, 0);
    check_near(hc_values_quantile(values + 7, 1, 0.5), 7, 0);
    check_near(hc_values_quantile(values, 1000, 1), 999, 0);
    assert_true(isnan(hc_values_quantile(values, 0, 0.5)));
    double gain[2] = {1e-4, 1e-4};
    double offset[2] = {0, 0};
    HcScene scene = {.bands = 2, .gain = gain, .offset = offset};
    HcValueUnit found = hc_scene_unit(&scene, values, 1000);
    check_near(found.one, 10000, 1e-8);
    check_near(found.high, 990, 0);
    assert_true(isnan(hc_scene_unit(&scene, NULL, 0).high));
    offset[1] = 3;
    check_near(hc_scene_unit(&scene, NULL, 0).one, 0, 0);
    offset[1] = 0;
    gain[0] = 2e-4;
    check_near(hc_scene_unit(&scene, NULL, 0).one, 0, 0);
    make_scene("a", "");
    put_text("six.csv", "nm,400,410,420,430,440,450\nOak,1,2,3,4,5,6\n");
    Fitted fitted = fit("read a.img ! write out.img", "six.csv");
    found = hc_library_unit(&fitted.fit, &fitted.library);
    check_near(found.high, 6, 0);
    check_near(found.one, 0, 0);
    clear(&fitted);
}

/* ---- the real thing ---- */

/* The straight lines through the valid channels, sorted, read at x; NaN beyond half a channel from the ends
 * or where the nearest channel has no value. */
static double read_line(const HcLibrary *library, const float *value, double x) {
    int32_t near = 0;
    int32_t below = -1;
    int32_t above = -1;
    for (int32_t k = 0; k < library->bands; k++) {
        double apart = library->wavelength[k] - x;
        near = fabs(apart) < fabs(library->wavelength[near] - x) ? k : near;
        if (!isfinite(value[k])) {
            continue;
        }
        if (apart <= 0 && (below < 0 || library->wavelength[k] > library->wavelength[below])) {
            below = k;
        }
        if (apart > 0 && (above < 0 || library->wavelength[k] < library->wavelength[above])) {
            above = k;
        }
    }
    if (!isfinite(value[near]) || (below < 0 && above < 0)) {
        return NAN;
    }
    if (below < 0 || above < 0) {
        return value[below < 0 ? above : below];
    }
    double share =
        (x - library->wavelength[below]) / (library->wavelength[above] - library->wavelength[below]);
    return (1 - share) * (double)value[below] + share * (double)value[above];
}

/* The width of the channel that is nearest. */
static double width_near(const HcLibrary *library, double x) {
    int32_t near = 0;
    for (int32_t k = 0; k < library->bands; k++) {
        double apart = fabs(library->wavelength[k] - x);
        near = apart < fabs(library->wavelength[near] - x) ? k : near;
    }
    return library->fwhm[near];
}

/* The minerals of 1995 on the bands of Jasper Ridge: every spectrum and band against a sum over fine steps.
 */
static void usgs_minerals_on_jasper_ridge(void **state) {
    (void)state;
    const char *data = getenv("HCUBE_DATA");
    char chain[700];
    char path[600];
    if (data == NULL) {
        skip();
    }
    snprintf(chain, sizeof chain, "read %s/jasper-ridge/jasper_r198.hdr ! write out.img", data);
    snprintf(path, sizeof path, "%s/usgs-library/usgs_1995_av224.sli", data);
    Fitted fitted = fit(chain, path);
    const HcScene *scene = &fitted.chain->stages[1].in;
    assert_int_equal(fitted.fit.count, 498);
    assert_int_equal(fitted.fit.bands, 198);
    assert_true(fitted.fit.figures.resampled);
    int32_t vanish = 0;
    for (int32_t b = 0; b < 198; b++) {
        enum { STEPS = 240 };
        double squares =
            scene->fwhm[b] * scene->fwhm[b] - pow(width_near(&fitted.library, scene->wavelength[b]), 2);
        double deviation = sqrt(fmax(squares, 0)) * 0.42466090014400953;
        vanish += !(squares > 0);
        for (int32_t i = 0; i < 498; i += 23) {
            const float *value = fitted.library.value + (size_t)i * 224;
            double sum = 0;
            double all = 0;
            for (int s = 0; s < STEPS; s++) {
                double t = -6 + 12 * (s + 0.5) / STEPS;
                sum +=
                    exp(-t * t / 2) * read_line(&fitted.library, value, scene->wavelength[b] + t * deviation);
                all += exp(-t * t / 2);
            }
            check_near(fitted.fit.value[i * 198 + b], sum / all, 2e-5);
        }
    }
    assert_int_equal(fitted.fit.figures.interpolated, vanish);
    assert_true(vanish > 50 && vanish < 150);
    check_note(&fitted, "usgs_1995_av224.sli: 498 spectra on 224 bands ... resampled to 198 bands (");
    HcValueUnit library = hc_library_unit(&fitted.fit, &fitted.library);
    HcValueUnit jasper = hc_scene_unit(scene, NULL, 0);
    check_near(hc_unit_factor(&library, &jasper), 10000, 1e-6);
    clear(&fitted);
    /* All 224 bands of the scene begin 13 nm before those of the library. */
    snprintf(chain, sizeof chain, "read %s/jasper-ridge/jasper_f224.hdr --all-bands ! write out.img", data);
    check_refused(chain, path, HC_E_INPUT, "none of its spectra ... 369.85");
    /* Without widths, with deleted channels: whole spectra are kept, the others named. */
    snprintf(chain, sizeof chain, "read %s/jasper-ridge/jasper_f224.hdr ! write out.img", data);
    snprintf(path, sizeof path, "%s/usgs-library/s06av95a_envi.sli", data);
    fitted = fit(chain, path);
    for (int32_t i = 0; i < fitted.fit.count; i++) {
        const float *value = fitted.library.value + (size_t)fitted.fit.from[i] * 224;
        for (int32_t b = 0; b < 198; b++) {
            double line = read_line(&fitted.library, value, fitted.chain->stages[1].in.wavelength[b]);
            check_near(fitted.fit.value[i * 198 + b], line, 0.05);
        }
    }
    assert_true(fitted.fit.count > 700 && fitted.fit.count < 1365);
    check_note(&fitted, "of 1365 spectra, which lack values at");
    clear(&fitted);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(the_same_bands_are_taken_as_they_are),
        IN_FOLDER(every_form_is_resampled),
        IN_FOLDER(widths_may_be_missing),
        IN_FOLDER(spectra_that_lack_values_are_left_out),
        IN_FOLDER(what_is_not_covered_is_refused),
        IN_FOLDER(units_are_told_apart),
        IN_FOLDER(units_come_from_headers_and_values),
        IN_FOLDER(usgs_minerals_on_jasper_ridge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
