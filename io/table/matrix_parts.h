/* What the files of matrix.h share; nobody else includes this. */
#ifndef HC_IO_TABLE_MATRIX_PARTS_H
#define HC_IO_TABLE_MATRIX_PARTS_H

#include "core/scene.h"
#include "io/table/matrix.h"

#include <cpl_vsi.h>

/* How the values of a .npy file lie. */
typedef struct HcNpyLayout {
    HcType type; /* float32 for those of float16 */
    bool half;   /* float16 */
    bool swap;   /* in the other byte order */
    bool fortran;
    int64_t rows, columns;
    uint64_t offset; /* of the first value in the file [bytes] */
} HcNpyLayout;

/* matrix_npy.c */
bool hc_npy_recognise(const char *path);
/* Reads the header; leaves nothing open after a failure. */
HcStatus hc_npy_open(const char *path, HcNpyLayout *layout, VSILFILE **file, HcError *err) HC_MUST_CHECK;
HcStatus hc_npy_read(const char *path, const HcNpyLayout *layout, VSILFILE *file, float *to,
                     HcError *err) HC_MUST_CHECK;
HcStatus hc_npy_write(const char *path, const float *values, int64_t rows, int64_t columns, bool overwrite,
                      HcError *err) HC_MUST_CHECK;

/* matrix.c: what is wrong with a value that has no place in a matrix, counted from 0 here. */
HcStatus hc_matrix_fail_value(const char *path, int64_t row, int64_t column, double value,
                              HcError *err) HC_MUST_CHECK;

/* Values at once in memory beside the matrix [bytes], or one line of the file if that is more. */
#define HC_MATRIX_PIECE ((int64_t)4 << 20)

#endif
