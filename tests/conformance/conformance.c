/* One suite for every backend: `conformance cpu`, `conformance strict`. Each case compares with a plain
 * reference written here. Exit code 77: there is no such backend. */
#include "tests/conformance/rig.h"

#include "cpu/cpu.h"
#include "tests/support/strict.h"

#include <stdio.h>

const HcComputeOps *rig_ops;

static int nothing_left(void **state) {
    (void)state;
    return hc_strict_leaks() == 0 && hc_strict_overruns() == 0 ? 0 : -1;
}

int main(int count, char **words) {
    const HcComputeOps *known[] = {hc_cpu_ops(), hc_strict_ops()};
    for (size_t i = 0; i < sizeof known / sizeof *known && count == 2; i++) {
        if (strcmp(known[i]->name, words[1]) == 0) {
            rig_ops = known[i];
        }
    }
    if (rig_ops == NULL) {
        printf("skipped: no backend \"%s\" here\n", count == 2 ? words[1] : "");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decode),
        cmocka_unit_test(test_decode_extremes),
        cmocka_unit_test(test_gather),
        cmocka_unit_test(test_filter),
        cmocka_unit_test(test_difference),
        cmocka_unit_test(test_project),
        cmocka_unit_test(test_gram_exact),
        cmocka_unit_test(test_gram_extremes),
        cmocka_unit_test(test_gram_broken_promise),
        cmocka_unit_test(test_gram_float),
        cmocka_unit_test(test_covariance),
        cmocka_unit_test(test_eigh),
        cmocka_unit_test(test_eigh_refuses),
        cmocka_unit_test(test_usage),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests_name(rig_ops->name, tests, NULL, nothing_left);
}
