/* Linear programs from files: MPS, fixed or free, also packed by gzip. */
#ifndef HC_IO_TABLE_LINEAR_PROGRAM_H
#define HC_IO_TABLE_LINEAR_PROGRAM_H

#include "core/solver/lp/linear_program.h"
#include "core/text.h"

/* A program with the names that it has in its file. All arrays belong to it, and `program` points at them.
 * Zero-initialise, then hc_lp_clear() is always safe. */
typedef struct HcLpFile {
    HcLinearProgram program; /* by columns, without zeros */
    char *name;              /* of the program; may be empty */
    char *objective;         /* name of the objective */
    double constant;         /* that the file adds to the objective; `program` does not have it */
    char **row_name;         /* [program.rows] */
    char **column_name;      /* [program.columns] */
    HcText note;             /* remarks for the user on one line; empty where there are none */

    int64_t *start;
    int32_t *row;
    double *value, *cost, *lower, *upper, *row_lower, *row_upper;
} HcLpFile;

/* Reads a program (docs/solving.md says which MPS). Fails with HC_E_INPUT or HC_E_UNSUPPORTED and one line
 * that names the line of the file; `out` is then cleared. */
HcStatus hc_lp_read(HcLpFile *out, const char *path, HcError *err) HC_MUST_CHECK;
void hc_lp_clear(HcLpFile *file);

#endif
