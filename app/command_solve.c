/* solve: one problem from files, without a scene. */
#include "app/solve.h"

#include <stdio.h>
#include <string.h>

static const HcSolveProblem *const problems[] = {&hc_solve_l1, &hc_solve_lp, NULL};

static void print_help(void) {
    printf("hcube solve PROBLEM ...: one problem from files, without a scene\n\n");
    for (int p = 0; problems[p] != NULL; p++) {
        char left[64];
        snprintf(left, sizeof left, "%s %s", problems[p]->name, problems[p]->usage);
        printf("  %-28s  %s\n", left, problems[p]->summary);
    }
    printf("\nhcube solve PROBLEM --help says more.\n");
}

HcStatus hc_command_solve(int32_t word_count, const char *const *words, HcError *err) {
    const char *names[sizeof problems / sizeof *problems] = {NULL};
    if (word_count == 0) {
        return hc_fail(err, HC_E_USAGE, "solve: no problem given (hcube solve --help lists them)");
    }
    for (int p = 0; problems[p] != NULL; p++) {
        if (strcmp(words[0], problems[p]->name) == 0) {
            return problems[p]->body(word_count - 1, words + 1, err);
        }
        names[p] = problems[p]->name;
    }
    if (hc_asks_for_help(word_count, words)) {
        print_help();
        return HC_OK;
    }
    const char *nearest = hc_text_nearest(words[0], names);
    return hc_fail(err, HC_E_USAGE, "solve: %s: unknown problem%s%s%s", words[0],
                   nearest != NULL ? ", did you mean " : " (hcube solve --help lists them)",
                   nearest != NULL ? nearest : "", nearest != NULL ? "?" : "");
}
