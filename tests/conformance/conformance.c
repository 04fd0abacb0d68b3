/* One suite for every backend: `conformance cpu`, `conformance strict`, `conformance gpu`, or some of its
 * tests: `conformance gpu 'test_gram*'`. Each case compares with a plain reference written here. Exit code
 * 77: there is no such backend. */
#include "tests/conformance/rig.h"

#include "tests/support/backend.h"
#include "tests/support/strict.h"

#include <stdio.h>

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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decode),
        cmocka_unit_test(test_decode_extremes),
        cmocka_unit_test(test_decode_nodata_in_some_bands),
        cmocka_unit_test(test_gather),
        cmocka_unit_test(test_filter),
        cmocka_unit_test(test_difference),
        cmocka_unit_test(test_project),
        cmocka_unit_test(test_reduce),
        cmocka_unit_test(test_reduce_angles),
        cmocka_unit_test(test_reduce_special),
        cmocka_unit_test(test_reduce_refuses),
        cmocka_unit_test(test_gram_exact),
        cmocka_unit_test(test_gram_extremes),
        cmocka_unit_test(test_gram_broken_promise),
        cmocka_unit_test(test_gram_float),
        cmocka_unit_test(test_covariance),
        cmocka_unit_test(test_knn),
        cmocka_unit_test(test_knn_looks),
        cmocka_unit_test(test_knn_refuses),
        cmocka_unit_test(test_vote),
        cmocka_unit_test(test_vote_ties),
        cmocka_unit_test(test_vote_refuses),
        cmocka_unit_test(test_patches),
        cmocka_unit_test(test_patches_rules),
        cmocka_unit_test(test_patches_blocks),
        cmocka_unit_test(test_patches_not_finite),
        cmocka_unit_test(test_patches_refuses),
        cmocka_unit_test(test_unmix),
        cmocka_unit_test(test_unmix_without_lambda),
        cmocka_unit_test(test_unmix_mixtures),
        cmocka_unit_test(test_unmix_tight),
        cmocka_unit_test(test_unmix_nothing),
        cmocka_unit_test(test_unmix_solvers),
        cmocka_unit_test(test_unmix_stopped),
        cmocka_unit_test(test_unmix_sum_to_one),
        cmocka_unit_test(test_unmix_top),
        cmocka_unit_test(test_unmix_ties),
        cmocka_unit_test(test_unmix_counts),
        cmocka_unit_test(test_unmix_bits),
        cmocka_unit_test(test_unmix_refuses),
        cmocka_unit_test(test_gemv),
        cmocka_unit_test(test_gemv_t),
        cmocka_unit_test(test_gemv_bits),
        cmocka_unit_test(test_gemv_not_finite),
        cmocka_unit_test(test_gemv_refuses),
        cmocka_unit_test(test_fista),
        cmocka_unit_test(test_fista_optimum),
        cmocka_unit_test(test_fista_gap),
        cmocka_unit_test(test_fista_recovers),
        cmocka_unit_test(test_fista_paper),
        cmocka_unit_test(test_fista_special),
        cmocka_unit_test(test_l1_not_finite),
        cmocka_unit_test(test_alm),
        cmocka_unit_test(test_alm_grows),
        cmocka_unit_test(test_alm_infeasible),
        cmocka_unit_test(test_alm_special),
        cmocka_unit_test(test_l1_bits),
        cmocka_unit_test(test_l1_refuses),
        cmocka_unit_test(test_simplex),
        cmocka_unit_test(test_simplex_kinds),
        cmocka_unit_test(test_simplex_families),
        cmocka_unit_test(test_simplex_constructed),
        cmocka_unit_test(test_simplex_ends),
        cmocka_unit_test(test_simplex_bits),
        cmocka_unit_test(test_simplex_refuses),
        cmocka_unit_test(test_simplex_batched),
        cmocka_unit_test(test_simplex_batched_ties),
        cmocka_unit_test(test_simplex_batched_special),
        cmocka_unit_test(test_simplex_batched_units),
        cmocka_unit_test(test_simplex_batched_truth),
        cmocka_unit_test(test_simplex_batched_large),
        cmocka_unit_test(test_simplex_batched_stopped),
        cmocka_unit_test(test_simplex_batched_told),
        cmocka_unit_test(test_simplex_batched_counts),
        cmocka_unit_test(test_simplex_batched_bits),
        cmocka_unit_test(test_simplex_batched_alike),
        cmocka_unit_test(test_simplex_batched_empty),
        cmocka_unit_test(test_simplex_batched_refuses),
        cmocka_unit_test(test_svd),
        cmocka_unit_test(test_svd_large),
        cmocka_unit_test(test_svd_bits),
        cmocka_unit_test(test_svd_wanted),
        cmocka_unit_test(test_svd_complex),
        cmocka_unit_test(test_svd_graded),
        cmocka_unit_test(test_svd_refuses),
        cmocka_unit_test(test_eigh),
        cmocka_unit_test(test_eigh_clusters),
        cmocka_unit_test(test_eigh_graded),
        cmocka_unit_test(test_eigh_graded_singular),
        cmocka_unit_test(test_eigh_large),
        cmocka_unit_test(test_eigh_refuses),
        cmocka_unit_test(test_usage),
        cmocka_unit_test(test_memory),
    };
    cmocka_set_test_filter(count >= 3 ? words[2] : NULL);
    return cmocka_run_group_tests_name(hc_compute_name(rig_ops), tests, NULL, nothing_left);
}
