/* App: what the problems of `hcube solve` share. */
#ifndef HC_APP_SOLVE_H
#define HC_APP_SOLVE_H

#include "app/usage/usage.h"
#include "io/file_use.h"

/* Options of every problem; they fill an HcCommon, of which the rest is not used. */
const HcOption *hc_solve_options(void);

extern const HcCommand hc_solve_l1, hc_solve_lp;

/* What every problem has while it is solved. */
typedef struct HcSolve {
    const HcCommand *command;
    HcOptionSet options; /* of the problem alone */
    HcCommon common;
    HcFileUse use;
    HcCompute *compute;
    HcQueue *queue;
    double started, reading, solving; /* seconds */
} HcSolve;

typedef struct HcProblem HcProblem; /* each problem has a struct of its own */

typedef struct HcSolveSteps {
    HcStatus (*open)(HcProblem *problem, HcError *err); /* files, before there is a backend */
    HcStatus (*solve)(HcProblem *problem, HcError *err);
    HcStatus (*give)(HcProblem *problem, HcError *err); /* in a set of files; commits it */
    void (*close)(HcProblem *problem);                  /* before the backend, if there is one */
} HcSolveSteps;

/* Parses the words, opens a backend and takes the steps of a problem, of which `run` is a part. */
HcStatus hc_solve_run(HcProblem *problem, HcSolve *run, const HcSolveSteps *steps, int32_t word_count,
                      const char *const *words, HcError *err) HC_MUST_CHECK;

/* Adds the options of a problem and those of every problem. */
void hc_solve_describe(HcUsage *usage, const HcOption *table);

/* Fills run->use with the files that the options of the problem name, and refuses one that would replace
 * another; and a record that could not be written: that of `output` (NULL = there is none) by the options. */
HcStatus hc_solve_check_files(HcSolve *run, const char *output, HcError *err) HC_MUST_CHECK;

/* Writes the record of a problem if the options ask for one; does nothing for NULL without
 * --record.
 * `result` becomes part of it, or is freed. */
HcStatus hc_solve_write_record(HcSolve *run, const char *output, HcJson *result, const char *note,
                               HcError *err) HC_MUST_CHECK;

/* A line of the report: what, and a formatted text. */
void hc_solve_report(const HcCommon *common, const char *what, const char *format, ...) HC_PRINTF(3, 4);

#endif
