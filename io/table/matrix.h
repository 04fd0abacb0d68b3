/* Matrices and vectors from files, and back: .npy (NumPy), or a raster of one band, whose lines are the rows
 * and whose samples are the columns. */
#ifndef HC_IO_TABLE_MATRIX_H
#define HC_IO_TABLE_MATRIX_H

#include "core/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct HcMatrixFile HcMatrixFile;

/* Opens a matrix: .npy of versions 1 to 3, of one or two dimensions (n values are a column), in C or
 * Fortran order. Its type is float16 to float64 or integers of 8 to 64 bits, in either byte order. Any
 * other file is opened as a scene, and must have one band. A file that is empty, truncated, complex or of
 * objects fails here with HC_E_INPUT or HC_E_UNSUPPORTED, before memory for values is allocated. */
HcStatus hc_matrix_open(HcMatrixFile **out, const char *path, HcError *err) HC_MUST_CHECK;
void hc_matrix_close(HcMatrixFile *file); /* NULL is fine */

int64_t hc_matrix_rows(const HcMatrixFile *file);
int64_t hc_matrix_columns(const HcMatrixFile *file);

/* All values into `to` [rows][columns], rounded to float32. Values that are missing, not finite or too large
 * for float32 fail with HC_E_INPUT and the row and the column, from 1. */
HcStatus hc_matrix_read(HcMatrixFile *file, float *to, HcError *err) HC_MUST_CHECK;

/* What hc_matrix_write would refuse, and an output that would replace one of the inputs (or the header of
 * one).
 */
HcStatus hc_matrix_check(const char *path, int64_t rows, int64_t columns, bool overwrite,
                         const HcMatrixFile *const *inputs, int32_t input_count, HcError *err) HC_MUST_CHECK;

/* Writes values [rows][columns] as float32, to .npy or a raster of one band, by the ending of the path. An
 * existing file is replaced only with `overwrite` (HC_E_USAGE), and only by a whole one. */
HcStatus hc_matrix_write(const char *path, const float *values, int64_t rows, int64_t columns, bool overwrite,
                         HcError *err) HC_MUST_CHECK;

#endif
