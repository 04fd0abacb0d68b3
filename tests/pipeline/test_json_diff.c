/* Where two JSON files differ: each kind of difference has its place and both values. */
#include "pipeline/json/diff.h"
#include "tests/support/check.h"

#include <stdio.h>
#include <string.h>

static bool is_left_out(const char *name) {
    return strcmp(name, "seconds") == 0;
}

/* Each difference as "PLACE: A and B (MORE)", in lines. */
static void check_diff(const char *left, const char *right, const char *expected) {
    char lines[2000] = "";
    HcError err = {0};
    HcJsonDiff diff = {0};
    cJSON *a = cJSON_Parse(left), *b = cJSON_Parse(right);
    assert_true(a != NULL && b != NULL);
    check_ok(hc_json_diff(a, b, is_left_out, &diff, &err), err);
    for (int32_t i = 0; i < diff.count; i++) {
        const HcJsonDifference *item = &diff.item[i];
        size_t at = strlen(lines);
        snprintf(lines + at, sizeof lines - at, "%s: %s and %s%s%s\n", item->place, item->a, item->b,
                 item->more != NULL ? ": " : "", item->more != NULL ? item->more : "");
    }
    assert_string_equal(lines, expected);
    hc_json_diff_clear(&diff);
    cJSON_Delete(a);
    cJSON_Delete(b);
}

static void differences(void **state) {
    (void)state;
    check_diff("{}", "{}", "");
    check_diff("{\"a\":1,\"b\":[1,2,{\"c\":null}]}", "{\"b\":[1,2,{\"c\":null}],\"a\":1}", "");
    check_diff("{\"a\":0.1}", "{\"a\":0.10000000000000002}", "a: 0.1 and 0.10000000000000002\n");
    check_diff("{\"a\":\"1\",\"b\":true}", "{\"a\":1,\"b\":false}", "a: \"1\" and 1\nb: true and false\n");
    check_diff("{\"a\":{\"b\":{\"c\":1}}}", "{\"a\":{\"b\":{\"c\":2}}}", "a.b.c: 1 and 2\n");
    check_diff("{\"a\":1,\"old\":[1]}", "{\"a\":1,\"new\":{\"x\":1}}",
               "old: a list of 1 and nothing\nnew: nothing and an object of 1\n");
    /* Names that repeat. */
    check_diff("{\"a\":1,\"a\":[2]}", "{\"a\":1,\"a\":[2]}", "");
    check_diff("{\"a\":1,\"a\":2}", "{\"a\":1,\"a\":3}", "a: 2 and 3\n");
    check_diff("{\"a\":1}", "{\"a\":1,\"a\":3}", "a: nothing and 3\n");
    check_diff("{\"a\":[1,{}]}", "{\"a\":{\"b\":1}}", "a: a list of 2 and an object of 1\n");
}

static void lists(void **state) {
    (void)state;
    check_diff("{\"a\":[{\"n\":1},{\"n\":2}]}", "{\"a\":[{\"n\":1},{\"n\":3},{}]}",
               "a[1].n: 2 and 3\na[2]: nothing and an object of 0\n");
    check_diff("{\"a\":[1,2,3,4]}", "{\"a\":[1,2.5,3,3]}", "a[1]: 2 and 2.5: 2 of 4 differ, by up to 1\n");
    check_diff("{\"a\":[1,2]}", "{\"a\":[1,2,3]}", "a[2]: nothing and 3\n");
    check_diff("{\"a\":[1,null,3]}", "{\"a\":[1,2,3]}", "a[1]: null and 2\n");
}

static void what_is_left_out(void **state) {
    (void)state;
    check_diff("{\"seconds\":1,\"steps\":[{\"seconds\":2,\"n\":1}]}", "{\"steps\":[{\"seconds\":3,\"n\":2}]}",
               "steps[0].n: 1 and 2\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(differences),
        cmocka_unit_test(lists),
        cmocka_unit_test(what_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
