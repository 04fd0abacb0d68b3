/* Lists that grow by one element at a time. */
#include "core/grow.h"
#include "tests/support/check.h"

#include <stdlib.h>

static void elements_stay(void **state) {
    (void)state;
    HcError err = {0};
    int64_t *list = NULL;
    for (int32_t count = 0; count < 1000; count++) {
        check_ok(hc_grow(list, count, "numbers", &err), err);
        list[count] = (int64_t)count * 7;
    }
    for (int32_t n = 0; n < 1000; n++) {
        assert_int_equal(list[n], n * 7);
    }
    for (int32_t count = 500; count < 1100; count++) { /* after elements were dropped */
        check_ok(hc_grow(list, count, "numbers", &err), err);
        list[count] = -1;
    }
    assert_int_equal(list[499], 499 * 7);
    free(list);
}

static void failures_leave_the_list(void **state) {
    (void)state;
    HcError err = {0};
    int64_t *list = NULL;
    check_ok(hc_grow(list, 0, "numbers", &err), err);
    list[0] = 7;
    const int64_t *before = list;
    assert_int_equal(hc_grow(list, (size_t)1 << 58, "numbers", &err), HC_E_MEMORY);
    assert_non_null(strstr(err.text, "numbers"));
    assert_ptr_equal(list, before);
    assert_int_equal(list[0], 7);
    free(list);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(elements_stay),
                                       cmocka_unit_test(failures_leave_the_list)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
