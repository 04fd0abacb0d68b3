#include "pipeline/spectra/accuracy.h"
#include "tests/support/check.h"

#include <stdlib.h>

static const char *const four_names[] = {"Unclassified", "Deciduous", "Conifer", "Agriculture", "Shrub"};

/* R. G. Congalton: A review of assessing the accuracy of classifications of remotely sensed data, 1991,
 * table 1. There a row is what was mapped and a column is what is true. */
static const int64_t congalton[4][4] = {{65, 4, 22, 24}, {6, 81, 5, 8}, {0, 11, 85, 19}, {4, 7, 3, 90}};

static HcAccuracy four_classes(void) {
    HcAccuracy accuracy = {0};
    HcError err = {0};
    check_ok(hc_accuracy_init(&accuracy, 4, &err), err);
    for (int32_t mapped = 0; mapped < 4; mapped++) {
        for (int32_t truth = 0; truth < 4; truth++) {
            for (int64_t i = 0; i < congalton[mapped][truth]; i++) {
                hc_accuracy_add(&accuracy, truth + 1, mapped + 1);
            }
        }
    }
    hc_accuracy_finish(&accuracy);
    return accuracy;
}

/* As published: overall 74 %, kappa 0.65, producer's 87, 79, 74, 64 %, user's 57, 81, 74, 87 %. */
static void a_published_matrix(void **state) {
    (void)state;
    static const double producers[] = {65. / 75, 81. / 103, 85. / 115, 90. / 141};
    static const double users[] = {65. / 115, 81. / 100, 85. / 115, 90. / 104};
    static const int percent[2][4] = {{87, 79, 74, 64}, {57, 81, 74, 87}};
    HcAccuracy accuracy = four_classes();
    assert_int_equal(accuracy.pixels, 434);
    assert_int_equal(accuracy.correct, 321);
    check_near(accuracy.overall, 321. / 434, 1e-15);
    check_near(accuracy.overall, 0.74, 0.005);
    check_near(accuracy.kappa, 0.65, 0.005);
    check_near(accuracy.kappa, (434. * 321 - 46814) / (434. * 434 - 46814), 1e-15);
    double sum = 0;
    for (int c = 0; c < 4; c++) {
        check_near(accuracy.producers[c + 1], producers[c], 1e-15);
        check_near(accuracy.users[c + 1], users[c], 1e-15);
        check_near(100 * accuracy.producers[c + 1], percent[0][c], 0.5);
        check_near(100 * accuracy.users[c + 1], percent[1][c], 0.5);
        check_near(accuracy.f1[c + 1], 2 / (1 / producers[c] + 1 / users[c]), 1e-15);
        sum += producers[c];
    }
    check_near(accuracy.average, sum / 4, 1e-15);
    hc_accuracy_clear(&accuracy);
}

/* What is left unclassified is wrong, and in no class. */
static void unclassified_counts_as_wrong(void **state) {
    (void)state;
    HcAccuracy accuracy = {0};
    HcError err = {0};
    check_ok(hc_accuracy_init(&accuracy, 2, &err), err);
    for (int i = 0; i < 10; i++) {
        hc_accuracy_add(&accuracy, 1, i < 6 ? 1 : 0);
        hc_accuracy_add(&accuracy, 2, i < 8 ? 2 : 1);
    }
    hc_accuracy_finish(&accuracy);
    assert_int_equal(accuracy.pixels, 20);
    assert_int_equal(accuracy.correct, 14);
    assert_int_equal(accuracy.predicted[0], 4);
    assert_int_equal(accuracy.predicted[1], 8);
    assert_int_equal(accuracy.predicted[2], 8);
    assert_int_equal(accuracy.reference[0], 0);
    check_near(accuracy.overall, 0.7, 1e-15);
    check_near(accuracy.average, 0.7, 1e-15);
    /* Chance: (10 * 8 + 10 * 8) / 400 = 0.4. */
    check_near(accuracy.kappa, (0.7 - 0.4) / 0.6, 1e-15);
    check_near(accuracy.users[1], 0.75, 1e-15);
    check_near(accuracy.producers[2], 0.8, 1e-15);
    hc_accuracy_clear(&accuracy);
}

static void what_cannot_be_said(void **state) {
    (void)state;
    HcAccuracy accuracy = {0};
    HcError err = {0};
    check_ok(hc_accuracy_init(&accuracy, 3, &err), err);
    hc_accuracy_finish(&accuracy);
    assert_true(isnan(accuracy.overall) && isnan(accuracy.average) && isnan(accuracy.kappa));
    for (int i = 0; i < 5; i++) {
        hc_accuracy_add(&accuracy, 2, 2);
    }
    hc_accuracy_finish(&accuracy);
    check_near(accuracy.overall, 1, 0);
    check_near(accuracy.average, 1, 0); /* of the one class that has pixels */
    assert_true(isnan(accuracy.kappa)); /* chance alone is right too */
    assert_true(isnan(accuracy.producers[1]) && isnan(accuracy.users[1]) && isnan(accuracy.f1[1]));
    check_near(accuracy.f1[2], 1, 0);
    hc_accuracy_add(&accuracy, 2, 3);
    hc_accuracy_finish(&accuracy);
    assert_true(isnan(accuracy.producers[3]));
    check_near(accuracy.users[3], 0, 0);
    check_near(accuracy.f1[3], 0, 0);
    check_near(accuracy.kappa, 0, 0);
    hc_accuracy_clear(&accuracy);
    hc_accuracy_clear(&accuracy);
}

static double number_of(const cJSON *from, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(from, name);
    return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

static void json_and_text(void **state) {
    (void)state;
    static const int64_t training[] = {0, 11, 12, 13, 14};
    char *names[5];
    HcClasses classes = {.count = 5, .name = names};
    for (int c = 0; c < 5; c++) {
        names[c] = strdup(c == 2 ? "Nadelgeh\xC3\xB6lz" : four_names[c]);
        assert_non_null(names[c]);
    }
    HcAccuracy accuracy = four_classes();
    HcError err = {0};
    HcJson made;
    hc_json_begin(&made);
    check_ok(hc_accuracy_json(&accuracy, &classes, training, &made, &err), err);
    char *text = hc_json_format(&made, false);
    assert_non_null(text);
    cJSON *json = cJSON_Parse(text);
    assert_non_null(json);
    check_same(number_of(json, "overall_accuracy"), accuracy.overall);
    check_same(number_of(json, "average_accuracy"), accuracy.average);
    check_same(number_of(json, "kappa"), accuracy.kappa);
    check_same(number_of(json, "validation_pixels"), 434);
    check_same(number_of(json, "unclassified_pixels"), 0);
    const cJSON *matrix = cJSON_GetObjectItemCaseSensitive(json, "confusion_matrix");
    assert_int_equal(cJSON_GetArraySize(matrix), 20);
    assert_int_equal(cJSON_GetArrayItem(matrix, 4)->valueint, 4); /* truly deciduous, mapped as shrub */
    const cJSON *conifer = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(json, "classes"), 1);
    assert_string_equal(cJSON_GetObjectItemCaseSensitive(conifer, "name")->valuestring, names[2]);
    check_same(number_of(conifer, "training_pixels"), 12);
    check_same(number_of(conifer, "reference_pixels"), 103);
    check_same(number_of(conifer, "predicted_pixels"), 100);
    check_same(number_of(conifer, "users_accuracy"), 0.81);

    HcText table = {0};
    hc_accuracy_text(&accuracy, &classes, training, &table);
    assert_non_null(table.data);
    assert_non_null(strstr(table.data, "overall accuracy   0.7396\n"));
    assert_non_null(strstr(table.data, "kappa              0.6535\n"));
    assert_non_null(strstr(table.data, "\n4    0   24    8   19   90\n"));
    hc_text_clear(&table);
    free(text);
    cJSON_Delete(json);
    hc_json_clear(&made);
    hc_accuracy_clear(&accuracy);
    for (int c = 0; c < 5; c++) {
        free(names[c]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_published_matrix),
        cmocka_unit_test(unclassified_counts_as_wrong),
        cmocka_unit_test(what_cannot_be_said),
        cmocka_unit_test(json_and_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
