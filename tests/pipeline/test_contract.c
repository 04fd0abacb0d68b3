/* What every stage promises, of those that need no file. Stages that do have it in their own tests. */
#include "tests/support/strict_runs.h"

static void keeps_contract(void **state) {
    check_stage_contract(*state);
}

#define STAGE_TEST(step)                                                                                     \
    {                                                                                                        \
        .name = step, .test_func = keeps_contract, .initial_state = (char[]){step}, .setup_func = NULL,      \
        .teardown_func = NULL                                                                                \
    }

int main(void) {
    const struct CMUnitTest tests[] = {
        STAGE_TEST("bands 1,3-4"),
        STAGE_TEST("bands --wavelength 500-900"),
        STAGE_TEST("filter"),
        STAGE_TEST("filter median3x3 --noise"),
        STAGE_TEST("pca --components 2"),
        STAGE_TEST("pca --correlation --denoise --components 2"),
        STAGE_TEST("mnf --components 3"),
        STAGE_TEST("mnf --noise shift --denoise --components 2"),
        STAGE_TEST("svd --side 4 --noise estimate"),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
