/* solve: one problem from files, without a scene. */
#include "app/solve/solve.h"

#include <string.h>

const HcCommand *const hc_solve_problems[] = {&hc_solve_l1, &hc_solve_lp, NULL};

HcStatus hc_command_solve(int32_t word_count, const char *const *words, HcError *err) {
    const char *names[sizeof hc_solve_problems / sizeof *hc_solve_problems] = {NULL};
    if (word_count == 0) {
        return hc_fail(err, HC_E_USAGE, "solve: no problem given (hcube solve --help lists them)");
    }
    for (int p = 0; hc_solve_problems[p] != NULL; p++) {
        if (strcmp(words[0], hc_solve_problems[p]->name) == 0) {
            return hc_solve_problems[p]->body(word_count - 1, words + 1, err);
        }
        names[p] = hc_solve_problems[p]->name;
    }
    const char *nearest = hc_text_nearest(words[0], names);
    return hc_fail(err, HC_E_USAGE, "solve: %s: unknown problem%s%s%s", words[0],
                   nearest != NULL ? ", did you mean " : " (hcube solve --help lists them)",
                   nearest != NULL ? nearest : "", nearest != NULL ? "?" : "");
}
