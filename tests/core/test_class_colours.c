#include "core/scene.h"
#include "tests/support/check.h"

#include <math.h>
#include <string.h>

static bool is_blue(const uint8_t rgb[3]) {
    return rgb[2] > rgb[0] + 60 && rgb[2] > rgb[1];
}

static bool is_green(const uint8_t rgb[3]) {
    return rgb[1] > rgb[0] && rgb[1] > rgb[2];
}

static bool is_brown(const uint8_t rgb[3]) {
    return rgb[0] > rgb[1] && rgb[1] > rgb[2];
}

static void names_have_colours_that_mean_something(void **state) {
    (void)state;
    char *names[] = {"Open water", "Green vegetation", "Wald",    "kaolinite",
                     "Lake",       "seaside house",    "goethite"};
    uint8_t rgb[7][3];
    hc_class_colours(names, 7, rgb);
    assert_true(is_blue(rgb[0]) && is_blue(rgb[4]));
    assert_true(is_green(rgb[1]) && is_green(rgb[2]));
    /* In any order, what is dry does not take the green of what is not. */
    char *plants[] = {"Dry vegetation", "Green vegetation", "dry soil"};
    uint8_t of_plants[3][3];
    hc_class_colours(plants, 3, of_plants);
    assert_memory_equal(of_plants[1], rgb[1], 3);
    assert_true(is_brown(of_plants[2]) && !is_green(of_plants[0]));
    for (int a = 0; a < 7; a++) {
        for (int b = 0; b < a; b++) {
            assert_memory_not_equal(rgb[a], rgb[b], 3);
        }
    }
}

/* The colour of a name alone is the first shade of its meaning. */
static void check_alike(const char *const *names, const char *like) {
    uint8_t rgb[3], expected[3];
    char *one = (char *)(uintptr_t)like;
    hc_class_colours(&one, 1, &expected);
    for (; *names != NULL; names++) {
        one = (char *)(uintptr_t)*names;
        hc_class_colours(&one, 1, &rgb);
        if (memcmp(rgb, expected, 3) != 0) {
            fail_msg("%s: has not the colour of %s", *names, like);
        }
    }
}

static void names_of_many_languages(void **state) {
    (void)state;
    static const char *const water[] = {
        "Gewässer", "Étang du bois", "Água",   "Lago di Como", "RZEKA",     "Вода",          "Озеро", "水",
        "河流",     "湖沼",          "de zee", "하천",         "깨끗한 물", "المياه الضحلة", "بحيرة", NULL};
    static const char *const forest[] = {"Forêt dense", "Bosque",   "árboles", "Лес",
                                         "森林",        "针叶林",   "lasy",    "bomen",
                                         "Mischwald",   "침엽수림", "الغابات", NULL};
    static const char *const plants[] = {"végétation", "Vegetación", "Łąka",    "Пшеница", "水稻",
                                         "水田",       "草地",       "prairie", "erba",    "식물",
                                         "옥수수",     "محاصيل",     NULL};
    static const char *const soil[] = {"Sol nu", "terra rossa", "Почва",  "土壤",
                                       "areia",  "모래",        "التربة", NULL};
    static const char *const built[] = {"bâtiment", "Häuser", "здание",  "建筑",
                                        "tetti",    "건물",   "المباني", NULL};
    static const char *const roads[] = {"Asphalt", "Straße", "Дорога", "混凝土", "weg", "도로", "طريق", NULL};
    static const char *const dry[] = {"Dry vegetation", "trockenes Gras", "Сухая трава",
                                      "straw",          "枯草",           NULL};
    static const char *const snow[] = {"Neige", "снег", "雪", "Eis", NULL};
    check_alike(water, "water");
    check_alike(forest, "forest");
    check_alike(plants, "vegetation");
    check_alike(soil, "soil");
    check_alike(built, "building");
    check_alike(roads, "road");
    check_alike(dry, "dry grass");
    check_alike(snow, "snow");
}

/* The longest word counts, and words within words or the beginnings of minerals do not. */
static void words_that_only_look_alike(void **state) {
    (void)state;
    static const char *const none[] = {
        "hausmannite", "mercury", "forsterite", "solar panel", "iceland spar", "kieserite",
        "железо",      "Tool",    "",           NULL};
    static const char *const built[] = {"Buildings-Grass-Trees-Drives", NULL};
    static const char *const plants[] = {"Soybean-notill", "Grass-trees", NULL};
    check_alike(none, "kaolinite");
    check_alike(built, "building");
    check_alike(plants, "vegetation");
}

static void classes_without_colours(void **state) {
    (void)state;
    HcClasses classes = {0};
    HcError err = {0};
    uint8_t standard[3];
    check_ok(hc_classes_make(&classes, 4, &err), err);
    assert_false(hc_classes_have_own_colours(&classes));
    hc_classes_colour_by_name(&classes); /* "Class 1" means nothing */
    assert_false(hc_classes_have_own_colours(&classes));
    check_ok(hc_classes_name(&classes, 2, "Wasser", &err), err);
    check_ok(hc_classes_name(&classes, 3, "bare soil", &err), err);
    hc_classes_colour_by_name(&classes);
    assert_true(hc_classes_have_own_colours(&classes));
    assert_true(is_blue(classes.colour[2]) && is_brown(classes.colour[3]));
    hc_classes_standard_colour(0, standard);
    assert_memory_equal(classes.colour[0], standard, 3); /* of no class */
    memcpy(classes.colour[2], "\1\2\3", 3);
    hc_classes_colour_by_name(&classes);
    assert_memory_equal(classes.colour[2], "\1\2\3", 3);
    hc_classes_clear(&classes);
}

/* ---- colour blindness: Machado et al. (2009), full severity, over linear sRGB; distances in CIELAB ---- */

static const double vision[3][3][3] = {
    {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
    {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
    {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}};

static double linear(uint8_t level) {
    double part = level / 255.0;
    return part <= 0.04045 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4);
}

static double curve(double part) {
    return part > 0.008856 ? cbrt(part) : 7.787 * part + 16 / 116.0;
}

static void multiply(const double by[3][3], const double from[3], double to[3]) {
    for (int r = 0; r < 3; r++) {
        to[r] = by[r][0] * from[0] + by[r][1] * from[1] + by[r][2] * from[2];
    }
}

static void see(const uint8_t rgb[3], int as, double lab[3]) {
    static const double xyz[3][3] = {
        {0.4124, 0.3576, 0.1805}, {0.2126, 0.7152, 0.0722}, {0.0193, 0.1192, 0.9505}};
    const double light[3] = {linear(rgb[0]), linear(rgb[1]), linear(rgb[2])};
    double seen[3], at[3];
    multiply(vision[as], light, seen);
    for (int c = 0; c < 3; c++) {
        seen[c] = fmin(fmax(seen[c], 0), 1);
    }
    multiply(xyz, seen, at);
    double x = curve(at[0] / 0.9505), y = curve(at[1]), z = curve(at[2] / 1.089);
    lab[0] = 116 * y - 16;
    lab[1] = 500 * (x - y);
    lab[2] = 200 * (y - z);
}

static double distance(const uint8_t a[3], const uint8_t b[3]) {
    double least = INFINITY;
    for (int as = 0; as < 3; as++) {
        double one[3], two[3];
        see(a, as, one);
        see(b, as, two);
        least = fmin(least, hypot(hypot(one[0] - two[0], one[1] - two[1]), one[2] - two[2]));
    }
    return least;
}

static double closest(const uint8_t (*rgb)[3], int count) {
    double least = INFINITY;
    for (int a = 0; a < count; a++) {
        for (int b = 0; b < a; b++) {
            least = fmin(least, distance(rgb[a], rgb[b]));
        }
    }
    return least;
}

static void the_colour_blind_tell_classes_apart(void **state) {
    (void)state;
    char *meanings[] = {"water", "forest", "grass", "straw", "soil", "building", "road", "snow", "shadow"};
    char *minerals[15], mineral[] = "mineral";
    uint8_t rgb[15][3];
    assert_true(fabs(distance((const uint8_t[]){0, 0, 0}, (const uint8_t[]){255, 255, 255}) - 100) < 0.1);
    hc_class_colours(meanings, 9, rgb);
    assert_true(closest((const uint8_t(*)[3])rgb, 9) >= 18);
    for (int i = 0; i < 15; i++) {
        minerals[i] = mineral;
    }
    hc_class_colours(minerals, 15, rgb);
    assert_true(closest((const uint8_t(*)[3])rgb, 8) >= 24);
    assert_true(closest((const uint8_t(*)[3])rgb, 15) >= 19);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_have_colours_that_mean_something),
        cmocka_unit_test(names_of_many_languages),
        cmocka_unit_test(words_that_only_look_alike),
        cmocka_unit_test(the_colour_blind_tell_classes_apart),
        cmocka_unit_test(classes_without_colours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
