/* One suite for every backend: `conformance cpu`, `conformance strict`, `conformance gpu`, or some of its
 * tests: `conformance gpu 'test_gram*'`. Each case compares with a plain reference written here. Exit code
 * 77: there is no such backend. */
#include "tests/conformance/rig.h"

#include "tests/support/backend.h"
#include "tests/support/strict.h"

#include <stdio.h>

#include "cases.h" /* CASES(CASE): one CASE(test_...) for each case of this folder; made by CMake */

#define DECLARE_CASE(name) void name(void **state);
CASES(DECLARE_CASE)

const HcComputeOps *rig_ops;

static int nothing_left(void **state) {
    (void)state;
    return hc_strict_leaks() == 0 && hc_strict_overruns() == 0 ? 0 : -1;
}

int main(int count, char **words) {
    HcError error = {0};
    rig_ops = backend_find(count >= 2 ? words[1] : "", &error);
    if (rig_ops == NULL) {
        printf("skipped: %s\n", error.text);
        return 77;
    }
#define CASE_ENTRY(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {CASES(CASE_ENTRY)};
    cmocka_set_test_filter(count >= 3 ? words[2] : NULL);
    return cmocka_run_group_tests_name(hc_compute_name(rig_ops), tests, NULL, nothing_left);
}
