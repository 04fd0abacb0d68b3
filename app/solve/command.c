/* solve: one problem from files, without a scene. */
#include "app/solve/solve.h"

const HcCommand *const hc_solve_problems[] = {&hc_solve_l1, &hc_solve_lp, NULL};

HcStatus hc_command_solve(int32_t word_count, const char *const *words, HcError *err) {
    return hc_command_part("solve", "problem", hc_solve_problems, word_count, words, err);
}
