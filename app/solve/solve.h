/* App: what the problems of `hcube solve` share. */
#ifndef HC_APP_SOLVE_H
#define HC_APP_SOLVE_H

#include "app/usage/usage.h"
#include "io/file_use.h"

/* Options of every problem; they fill an HcCommon, of which the rest is not used. */
const HcOption *hc_solve_options(void);

extern const HcCommand hc_solve_l1, hc_solve_lp;

/* Adds the options of a problem and those of every problem. */
void hc_solve_describe(HcUsage *usage, const HcOption *table);

/* Fills `use` with the files that the options of the problem name, and refuses one that would replace
 * another; and a record that could not be written: that of `output` (NULL = there is none) by the options. */
HcStatus hc_solve_check_files(const HcCommon *common, const HcOptionSet *options, const char *output,
                              HcFileUse *use, HcError *err) HC_MUST_CHECK;

/* What a record says beside the result. */
typedef struct HcSolveSeconds {
    double all, reading, solving;
} HcSolveSeconds;

/* Writes the record of a problem if the options ask for one; does nothing for NULL without --record.
 * `result` becomes part of it, or is freed. */
HcStatus hc_solve_write_record(const HcCommon *common, const HcCompute *compute, const HcCommand *problem,
                               const char *output, HcJson *result, const HcSolveSeconds *seconds,
                               const char *note, HcError *err) HC_MUST_CHECK;

/* A line of the report: what, and a formatted text. */
void hc_solve_report(const HcCommon *common, const char *what, const char *format, ...) HC_PRINTF(3, 4);
/* A remark on standard error, unless it is empty. */
void hc_solve_note(const HcCommon *common, const char *note);
/* Prints the reason why there is no GPU, as hc_backend_open() gives it. */
void hc_solve_note_backend(const HcCommon *common, const char *reason);

#endif
