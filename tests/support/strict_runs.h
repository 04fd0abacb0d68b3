/* Runs of chains on the strict backend and elsewhere, which tests of several stages repeat. */
#ifndef HC_TESTS_SUPPORT_STRICT_RUNS_H
#define HC_TESTS_SUPPORT_STRICT_RUNS_H

#include "tests/support/scene_files.h"
#include "tests/support/strict.h"

/* Fails the test unless each of the chains [count] leaves the same bytes in out.img for blocks of several
 * sizes (multiples of `lines`), one to three threads, and on the strict backend. */
void check_runs_agree(const char *const *chains, size_t count, int32_t lines);

/* Lets one operation after the other of the strict backend fail in each of the chains [count], with blocks of
 * `lines` lines. Fails the test unless the run says so and leaves none of its `results` (files, a list that
 * ends with NULL) nor anything else. */
void check_failures_leave_nothing(const char *const *chains, size_t count, int32_t lines,
                                  const char *const *results);

/* Fails the test unless a stage keeps what every stage promises (docs/adding-a-stage.md). `step` is the stage
 * with its options, as between two ! ("filter median3x3"); it must change blocks and need no file. Checked
 * are pixels of nodata and with a NaN in one band, a scene of one pixel and one without any valid pixel, the
 * same bytes for other blocks, threads and the strict backend, and that each failure of the device leaves
 * nothing. Runs in the current folder. */
void check_stage_contract(const char *step);

#endif
