/* One suite for every backend: `conformance cpu`, `conformance strict`, `conformance gpu`, or some of its
 * tests: `conformance gpu 'test_gram*'`. Each case compares with a plain reference written here.
 * `conformance gpu pairs` runs small cases of all operations, each after each, on one queue: an operation may
 * count on nothing that another one can leave. Exit code 77: there is no such backend. */
#include "tests/conformance/rig.h"

#include "tests/support/backend.h"
#include "tests/support/strict.h"

#include <stdio.h>
#include <string.h>

/* CASES(CASE): one CASE(test_...) for each case of this folder; SMALL_CASES: for each SMALL(test_...). Made
 * by CMake. */
#include "cases.h"

#define DECLARE_CASE(name) void name(void **state);
CASES(DECLARE_CASE)

const HcComputeOps *rig_ops;

static int nothing_left(void **state) {
    (void)state;
    return hc_strict_leaks() == 0 && hc_strict_overruns() == 0 ? 0 : -1;
}

static int begin_pairs(void **state) {
    (void)state;
    rig_share(2);
    return 0;
}

static int end_pairs(void **state) {
    rig_unshare();
    return nothing_left(state);
}

/* Each small case right after each one, itself too, with as few runs as that takes: the least cyclic sequence
 * that has all pairs (de Bruijn's of order 2). A test is named by its pair. */
static int run_pairs(void) {
#define CASE_ENTRY(name) cmocka_unit_test(name),
    static const struct CMUnitTest cases[] = {SMALL_CASES(CASE_ENTRY)};
    enum { CASES_COUNT = sizeof cases / sizeof *cases, PAIRS = CASES_COUNT * CASES_COUNT + 1 };
    static struct CMUnitTest tests[PAIRS];
    static char names[PAIRS][128];
    const char *before = "nothing";
    size_t count = 0;
    for (size_t a = 0; a < CASES_COUNT; a++) {
        for (size_t b = a; b < CASES_COUNT; b++) {
            const struct CMUnitTest *steps[] = {&cases[a], &cases[b]};
            for (size_t k = b == a ? 1 : 0; k < 2; k++, count++) {
                tests[count] = *steps[k];
                snprintf(names[count], sizeof names[count], "%s after %s", steps[k]->name, before);
                tests[count].name = names[count];
                before = steps[k]->name;
            }
        }
    }
    tests[count] = cases[0];
    snprintf(names[count], sizeof names[count], "%s after %s", cases[0].name, before);
    tests[count].name = names[count];
    return cmocka_run_group_tests_name("pairs", tests, begin_pairs, end_pairs);
}

int main(int count, char **words) {
    HcError error = {0};
    rig_ops = backend_find(count >= 2 ? words[1] : "", &error);
    if (rig_ops == NULL) {
        printf("skipped: %s\n", error.text);
        return 77;
    }
    if (count >= 3 && strcmp(words[2], "pairs") == 0) {
        return run_pairs();
    }
    const struct CMUnitTest tests[] = {CASES(CASE_ENTRY)};
    cmocka_set_test_filter(count >= 3 ? words[2] : NULL);
    return cmocka_run_group_tests_name(hc_compute_name(rig_ops), tests, NULL, nothing_left);
}
