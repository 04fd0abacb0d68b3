#include "ranks/ranks.h"
#include "ranks/launcher.h"
#include "tests/support/check.h"

#include <stdlib.h>

static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMI_SIZE", "PMI_RANK",
                                    "PMIX_RANK"};

static void without_launcher(void) {
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        unsetenv(names[i]);
    }
}

/* A process of its own is the first of one, and every function leaves its numbers alone. */
static void alone(void **state) {
    (void)state;
    HcError err = {0};
    HcRanks *ranks = NULL;
    int64_t value[2] = {3, -4};
    HcWide wide = (HcWide)1 << 100;
    without_launcher();
    check_ok(hc_ranks_open(&ranks, "hcube", &err), err);
    assert_null(ranks);
    assert_int_equal(hc_ranks_number(ranks), 0);
    assert_int_equal(hc_ranks_count(ranks), 1);
    assert_int_equal(hc_ranks_local_number(ranks), 0);
    assert_int_equal(hc_ranks_local_count(ranks), 1);
    assert_false(hc_ranks_broken(ranks));
    check_ok(hc_ranks_sum(ranks, value, 2, &err), err);
    check_ok(hc_ranks_largest(ranks, value, 2, &err), err);
    check_ok(hc_ranks_join(ranks, value, sizeof value, &err), err);
    check_ok(hc_ranks_share(ranks, value, sizeof value, &err), err);
    check_ok(hc_ranks_fold(ranks, value, sizeof value, NULL, NULL, &err), err);
    check_ok(hc_ranks_sum_wide(ranks, &wide, 1, &err), err);
    assert_true(value[0] == 3 && value[1] == -4 && wide == (HcWide)1 << 100);
    check_ok(hc_ranks_agree(ranks, HC_OK, &err), err);
    assert_int_equal(hc_ranks_agree(ranks, HC_E_IO, &err), HC_E_IO);
    check_ok(hc_ranks_close(ranks, &err), err);
}

/* What launchers leave in the environment, and what only looks like it. */
static void launchers(void **state) {
    (void)state;
    without_launcher();
    setenv("SLURM_PROCID", "3", 1);
    setenv("SLURM_NTASKS", "8", 1);
    assert_false(hc_launcher_present());
    assert_true(hc_ranks_speaks());
    setenv("PMI_RANK", "2", 1);
    setenv("PMI_SIZE", "5", 1);
    assert_true(hc_launcher_present());
    assert_false(hc_ranks_speaks());
    assert_int_equal(hc_launcher_count(), 5);
    assert_int_equal(hc_launcher_number(), 2);
    setenv("PMI_RANK", "two", 1);
    assert_false(hc_launcher_present());
    setenv("PMIX_RANK", "0", 1);
    assert_true(hc_launcher_present() && hc_ranks_speaks());
    without_launcher();
    assert_int_equal(hc_launcher_count(), 0);
}

/* mpirun -n 1 is a program alone, with or without MPI. */
static void one_rank(void **state) {
    (void)state;
    HcError err = {0};
    HcRanks *ranks = NULL;
    without_launcher();
    setenv("OMPI_COMM_WORLD_SIZE", "1", 1);
    setenv("OMPI_COMM_WORLD_RANK", "0", 1);
    check_ok(hc_ranks_open(&ranks, "hcube", &err), err);
    assert_null(ranks);
    without_launcher();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone),
        cmocka_unit_test(launchers),
        cmocka_unit_test(one_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
