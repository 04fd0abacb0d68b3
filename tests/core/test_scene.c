#include "core/scene.h"
#include "tests/support/check.h"

#include <stdlib.h>
#include <string.h>

/* A scene of five bands with everything that a scene can have. */
static HcScene full_scene(void) {
    enum { BANDS = 5 };
    HcScene scene = {.lines = 7, .samples = 9, .bands = BANDS, .type = HC_UINT16, .integer_limit = 65535};
    HcError err = {0};
    scene.wavelength = malloc(BANDS * sizeof(double));
    scene.fwhm = malloc(BANDS * sizeof(double));
    scene.bad = calloc(BANDS, 1);
    scene.gain = malloc(BANDS * sizeof(double));
    scene.offset = malloc(BANDS * sizeof(double));
    assert_true(scene.wavelength && scene.fwhm && scene.bad && scene.gain && scene.offset);
    for (int b = 0; b < BANDS; b++) {
        scene.wavelength[b] = 400 + 100 * b;
        scene.fwhm[b] = 10 + b;
        scene.gain[b] = 0.5 * b;
        scene.offset[b] = -b;
        if (b != 2) {
            check_ok(hc_scene_name_band(&scene, b, &err, "band %d", b), err);
        }
    }
    scene.bad[3] = 1;
    scene.has_nodata = true;
    scene.nodata = -9999;
    scene.place =
        (HcPlace){.has_transform = true, .transform = {1, 2, 3, 4, 5, 6}, .crs = strdup("EPSG:32633")};
    scene.has_default_bands = true;
    scene.default_bands[0] = 4;
    scene.default_bands[1] = 2;
    scene.default_bands[2] = 0;
    scene.description = strdup("a scene");
    scene.wavelength_note = strdup("guessed nm");
    return scene;
}

static void test_copy(void **state) {
    (void)state;
    HcError err = {0};
    HcScene scene = full_scene();
    HcScene copy = {0};
    check_ok(hc_scene_copy(&copy, &scene, &err), err);
    assert_true(hc_scene_same_grid(&copy, &scene));
    hc_scene_clear(&scene);
    hc_scene_clear(&scene);
    hc_scene_clear(NULL);
    assert_int_equal(copy.bands, 5);
    check_same(copy.wavelength[4], 800);
    check_same(copy.fwhm[4], 14);
    check_same(copy.offset[1], -1);
    assert_int_equal(copy.bad[3], 1);
    assert_string_equal(copy.band_name[4], "band 4");
    assert_null(copy.band_name[2]);
    assert_string_equal(copy.place.crs, "EPSG:32633");
    check_same(copy.place.transform[5], 6);
    assert_string_equal(copy.description, "a scene");
    assert_string_equal(copy.wavelength_note, "guessed nm");
    assert_true(copy.has_default_bands && copy.default_bands[0] == 4);
    hc_scene_clear(&copy);
    HcScene bare = {.lines = 1, .samples = 1, .bands = 1};
    check_ok(hc_scene_copy(&copy, &bare, &err), err);
    assert_null(copy.wavelength);
    hc_scene_clear(&copy);
}

static void test_select(void **state) {
    (void)state;
    HcError err = {0};
    HcScene scene = full_scene();
    static const int32_t index[] = {4, 0, 2, 2};
    check_ok(hc_scene_select(&scene, index, 4, &err), err);
    assert_int_equal(scene.bands, 4);
    check_same(scene.wavelength[0], 800);
    check_same(scene.wavelength[3], 600);
    assert_string_equal(scene.band_name[1], "band 0");
    assert_null(scene.band_name[3]);
    assert_true(scene.has_default_bands);
    assert_true(scene.default_bands[0] == 0 && scene.default_bands[1] == 2 && scene.default_bands[2] == 1);
    static const int32_t beyond[] = {0, 4};
    static const int32_t negative[] = {-1};
    check_fails(hc_scene_select(&scene, beyond, 2, &err), HC_E_USAGE, err);
    check_fails(hc_scene_select(&scene, negative, 1, &err), HC_E_USAGE, err);
    assert_int_equal(scene.bands, 4); /* a refusal changes nothing */
    static const int32_t one[] = {3};
    check_ok(hc_scene_select(&scene, one, 1, &err), err);
    assert_false(scene.has_default_bands); /* red and blue are gone */
    hc_scene_clear(&scene);
}

static void test_reband(void **state) {
    (void)state;
    HcError err = {0};
    HcScene scene = full_scene();
    check_ok(hc_scene_reband(&scene, 3, HC_COMPONENT, &err), err);
    assert_true(scene.bands == 3 && scene.meaning == HC_COMPONENT && scene.integer_limit == 0);
    assert_null(scene.wavelength);
    assert_null(scene.bad);
    assert_null(scene.gain);
    assert_false(scene.has_default_bands);
    assert_null(scene.band_name[2]);
    check_ok(hc_scene_name_band(&scene, 2, &err, "MNF %d", 3), err);
    check_ok(hc_scene_name_band(&scene, 2, &err, "MNF %d (eigenvalue %.1f)", 3, 15.2), err);
    assert_string_equal(scene.band_name[2], "MNF 3 (eigenvalue 15.2)");
    assert_string_equal(scene.place.crs, "EPSG:32633");
    assert_true(scene.has_nodata);
    hc_scene_clear(&scene);
}

/* Three classes in a scene of two bands. */
static HcScene class_map(void) {
    HcScene scene = {.lines = 3, .samples = 4, .bands = 2, .meaning = HC_CLASS_MAP};
    HcError err = {0};
    check_ok(hc_classes_make(&scene.classes, 3, &err), err);
    check_ok(hc_classes_name(&scene.classes, 2, "Water", &err), err);
    scene.classes.colour[2][2] = 201;
    return scene;
}

static void test_classes(void **state) {
    (void)state;
    HcError err = {0};
    HcClasses classes = {0};
    hc_classes_clear(NULL);
    hc_classes_clear(&classes);
    assert_false(hc_classes_has_unclassified(&classes));
    check_fails(hc_classes_make(&classes, 0, &err), HC_E_USAGE, err);
    check_ok(hc_classes_make(&classes, 300, &err), err);
    assert_true(hc_classes_has_unclassified(&classes));
    assert_string_equal(classes.name[0], "Unclassified");
    assert_string_equal(classes.name[299], "Class 299");
    for (int32_t a = 0; a < 40; a++) { /* told apart by their colours */
        for (int32_t b = 0; b < a; b++) {
            assert_memory_not_equal(classes.colour[a], classes.colour[b], 3);
        }
    }
    check_fails(hc_classes_name(&classes, 300, "x", &err), HC_E_USAGE, err);
    check_fails(hc_classes_name(&classes, -1, "x", &err), HC_E_USAGE, err);
    check_ok(hc_classes_name(&classes, 0, "Sea", &err), err);
    assert_false(hc_classes_has_unclassified(&classes));
    HcClasses copy;
    check_ok(hc_classes_copy(&copy, &classes, &err), err);
    hc_classes_clear(&classes);
    assert_int_equal(copy.count, 300);
    assert_string_equal(copy.name[0], "Sea");
    hc_classes_clear(&copy);
    check_ok(hc_classes_copy(&copy, &classes, &err), err);
    assert_true(copy.count == 0 && copy.name == NULL);
}

static void test_class_maps(void **state) {
    (void)state;
    HcError err = {0};
    HcScene scene = class_map(), copy = {0};
    static const int32_t first[] = {0, 1}, second[] = {1, 0};
    assert_true(hc_scene_is_class_map(&scene));
    check_ok(hc_scene_copy(&copy, &scene, &err), err);
    hc_scene_clear(&scene);
    assert_false(hc_scene_is_class_map(&scene));
    check_ok(hc_scene_select(&copy, first, 1, &err), err);
    assert_true(hc_scene_is_class_map(&copy));
    assert_string_equal(copy.classes.name[2], "Water");
    assert_int_equal(copy.classes.colour[2][2], 201);
    check_ok(hc_scene_reband(&copy, 2, HC_COMPONENT, &err), err);
    assert_int_equal(copy.classes.count, 0);
    hc_scene_clear(&copy);
    scene = class_map();
    check_ok(hc_scene_select(&scene, second, 2, &err), err);
    assert_true(scene.meaning == HC_OTHER && scene.classes.count == 0);
    hc_scene_clear(&scene);
}

static void test_scales(void **state) {
    (void)state;
    HcScene scene = full_scene();
    HcScene bare = {.bands = 3};
    HcScale none = hc_scene_scale(&bare, 2), third = hc_scene_scale(&scene, 3);
    assert_true(none.gain == 1 && none.offset == 0 && hc_scene_has_one_scale(&bare));
    assert_true(third.gain == 1.5 && third.offset == -3 && !hc_scene_has_one_scale(&scene));
    for (int32_t b = 0; b < scene.bands; b++) {
        scene.gain[b] = 0.5;
        scene.offset[b] = -2;
    }
    assert_true(hc_scene_has_one_scale(&scene));
    scene.gain[4] = 0.25;
    assert_false(hc_scene_has_one_scale(&scene));
    scene.gain[4] = 0.5;
    scene.offset[3] = 0;
    assert_false(hc_scene_has_one_scale(&scene));
    hc_scene_clear(&scene);
}

static void test_band_at(void **state) {
    (void)state;
    HcScene scene = full_scene();
    assert_int_equal(hc_scene_band_at(&scene, 640, 50), 2);
    assert_int_equal(hc_scene_band_at(&scene, 660, 50), 3);
    assert_int_equal(hc_scene_band_at(&scene, 400, 0), 0);
    assert_int_equal(hc_scene_band_at(&scene, 900, 50), -1);
    HcScene bare = {.bands = 3};
    assert_int_equal(hc_scene_band_at(&bare, 640, 50), -1);
    hc_scene_clear(&scene);
}

static void check_usual(const HcScene *scene, int32_t count, int32_t red, int32_t green, int32_t blue) {
    int32_t band[3] = {-1, -1, -1};
    assert_int_equal(hc_scene_usual_bands(scene, band), count);
    assert_int_equal(band[0], red);
    assert_true(count == 1 || (band[1] == green && band[2] == blue));
}

static void test_usual_bands(void **state) {
    (void)state;
    double visible[] = {460, 550, 650, 900}, infrared[] = {900, 1000, 1100, 1200};
    HcScene scene = {
        .bands = 4, .wavelength = visible, .has_default_bands = true, .default_bands = {3, 1, 0}};
    check_usual(&scene, 3, 2, 1, 0); /* true colour */
    scene.meaning = HC_NOISE;
    check_usual(&scene, 3, 2, 1, 0);
    scene.wavelength = infrared;
    check_usual(&scene, 3, 3, 1, 0); /* as the header says */
    scene.meaning = HC_COMPONENT;
    check_usual(&scene, 3, 3, 1, 0);
    scene.default_bands[2] = 4; /* which it has not */
    check_usual(&scene, 3, 0, 1, 2);
    scene = (HcScene){.bands = 64};
    check_usual(&scene, 3, 32, 16, 8); /* over the range */
    scene.meaning = HC_COMPONENT;
    check_usual(&scene, 3, 0, 1, 2);
    scene.bands = 2;
    check_usual(&scene, 1, 0, 0, 0);
    scene = (HcScene){.bands = 1, .wavelength = visible};
    check_usual(&scene, 1, 0, 0, 0);
    scene = class_map();
    scene.has_default_bands = true;
    scene.default_bands[0] = 1;
    check_usual(&scene, 1, 0, 0, 0);
    hc_scene_clear(&scene);
}

static void test_types(void **state) {
    (void)state;
    static const size_t bytes[] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8};
    for (int type = 0; type < HC_TYPE_COUNT; type++) {
        assert_int_equal(hc_type_bytes((HcType)type), bytes[type]);
        for (int other = 0; other < type; other++) {
            assert_string_not_equal(hc_type_name((HcType)type), hc_type_name((HcType)other));
        }
    }
    assert_string_equal(hc_type_name(HC_TYPE_COUNT), "unknown");
}

static void check_label(const HcScene *scene, int32_t band, const char *expected) {
    HcText label = {0};
    hc_scene_add_band_label(scene, band, &label);
    assert_string_equal(hc_text_shown(&label), expected);
    /* And back. */
    const char *name = scene->band_name != NULL ? scene->band_name[band] : NULL;
    size_t length = hc_scene_name_in_label(scene, band, hc_text_shown(&label));
    assert_int_equal(length, name != NULL ? strlen(name) : 0);
    hc_text_clear(&label);
}

static void test_labels(void **state) {
    (void)state;
    HcError err = {0};
    HcScene scene = full_scene();
    scene.wavelength[1] = 550.2049;
    check_label(&scene, 1, "band 1 (550.2 nm)");
    check_label(&scene, 2, "band 3 (600 nm)"); /* it has no name */
    check_ok(hc_scene_name_band(&scene, 3, &err, "\xd8\xa3\xd8\xad\xd9\x85\xd8\xb1"), err);
    check_label(&scene, 3, "\xd8\xa3\xd8\xad\xd9\x85\xd8\xb1 (700 nm)");
    check_ok(hc_scene_name_band(&scene, 3, &err, "700 nm"), err);
    check_label(&scene, 3, "700 nm");
    scene.wavelength[4] = NAN;
    check_label(&scene, 4, "band 4");
    /* What others write stays. */
    assert_int_equal(hc_scene_name_in_label(&scene, 1, "band 2 (551 nm)"), 15);
    assert_int_equal(hc_scene_name_in_label(&scene, 1, "band 2 (550.2 nm)"), 0);
    assert_int_equal(hc_scene_name_in_label(&scene, 1, "band 21 (550.2 nm)"), 7);
    assert_int_equal(hc_scene_name_in_label(&scene, 1, " (550.2 nm)"), 11);
    scene.meaning = HC_COMPONENT;
    check_label(&scene, 1, "band 1");
    check_label(&scene, 2, "");
    hc_scene_clear(&scene);
    HcScene bare = {.bands = 1};
    check_label(&bare, 0, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copy),       cmocka_unit_test(test_select),      cmocka_unit_test(test_reband),
        cmocka_unit_test(test_band_at),    cmocka_unit_test(test_types),       cmocka_unit_test(test_classes),
        cmocka_unit_test(test_class_maps), cmocka_unit_test(test_usual_bands), cmocka_unit_test(test_labels),
        cmocka_unit_test(test_scales),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
