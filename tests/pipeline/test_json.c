/* A JSON object is whole or says that it is not: each allocation for it fails in turn. The linker sends those
 * of pipeline/ here (--wrap), and cJSON is given the same function. */
#include "pipeline/json/json.h"
#include "tests/support/check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long countdown; /* allocations until one fails, 0 = none does */

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);

void *__wrap_malloc(size_t bytes) {
    return countdown > 0 && --countdown == 0 ? NULL : __real_malloc(bytes);
}

static void *counted(size_t bytes) {
    return __wrap_malloc(bytes);
}

static const char whole[] = "{\"number\":3,\"exact\":0.1,\"none\":null,\"text\":\"oak\",\"yes\":true,"
                            "\"list\":[1,{\"inner\":[]},\"ash\"],\"doubles\":[0.1, null],\"ints\":[4,5],"
                            "\"part\":{\"of\":7},\"bands\":2,\"wavelength_nm\":[500, 600.5],"
                            "\"band_names\":[\"red\",\"\"],\"last\":1}";

static void build(HcJson *json) {
    static const double doubles[] = {0.1, INFINITY};
    static const int32_t ints[] = {4, 5};
    double wavelength[] = {500, 600.5};
    char red[] = "red";
    char *names[] = {red, NULL};
    HcScene scene = {.bands = 2, .wavelength = wavelength, .band_name = names};
    HcJson part;
    hc_json_begin(json);
    hc_json_put_number(json, "number", 3);
    hc_json_put_double(json, "exact", 0.1);
    hc_json_put_double(json, "none", NAN);
    hc_json_put_text(json, "text", "oak");
    hc_json_put_bool(json, "yes", true);
    hc_json_open_array(json, "list");
    hc_json_put_number(json, NULL, 1);
    hc_json_open_object(json, NULL);
    hc_json_open_array(json, "inner");
    hc_json_close(json);
    hc_json_close(json);
    hc_json_put_text(json, NULL, "ash");
    hc_json_close(json);
    hc_json_put_doubles(json, "doubles", doubles, 2);
    hc_json_put_doubles(json, "left out", NULL, 2);
    hc_json_put_ints(json, "ints", ints, 2);
    hc_json_begin(&part);
    hc_json_put_number(&part, "of", 7);
    hc_json_put_part(json, "part", &part);
    hc_json_put_bands(json, &scene);
    hc_json_put_number(json, "last", 1);
}

static void whole_or_failed(void **state) {
    (void)state;
    cJSON_Hooks hooks = {.malloc_fn = counted, .free_fn = free};
    cJSON_InitHooks(&hooks);
    bool complete = false;
    long fails = 1;
    for (; !complete; fails++) {
        HcJson json;
        HcError err = {0};
        countdown = fails;
        build(&json);
        complete = countdown > 0; /* more allocations than it takes */
        countdown = 0;
        char *text = hc_json_format(&json, true);
        if (complete) {
            check_ok(hc_json_check(&json, "the test", &err), err);
            assert_string_equal(text, whole);
        } else {
            check_fails(hc_json_check(&json, "the test", &err), HC_E_MEMORY, err);
            assert_null(text);
            err = (HcError){0};
            check_fails(hc_json_save(&json, "never.json", true, &err), HC_E_MEMORY, err);
            assert_int_equal(access("never.json", F_OK), -1);
        }
        cJSON_free(text);
        hc_json_clear(&json);
    }
    assert_true(fails > 40);
    cJSON_InitHooks(NULL);
}

/* Deeper than any object of hcube: it fails, and closings still meet their openings. */
static void depth_is_limited(void **state) {
    (void)state;
    HcJson json;
    hc_json_begin(&json);
    for (int d = 1; d < HC_JSON_DEPTH; d++) {
        hc_json_open_object(&json, "deeper");
        assert_false(json.failed);
    }
    for (int d = 0; d < 3; d++) {
        hc_json_open_array(&json, "too deep");
        hc_json_put_number(&json, NULL, 1);
        assert_true(json.failed);
    }
    for (int d = 0; d < HC_JSON_DEPTH + 2; d++) {
        hc_json_close(&json);
    }
    assert_int_equal(json.depth, 1);
    hc_json_clear(&json);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_or_failed),
        cmocka_unit_test(depth_is_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
