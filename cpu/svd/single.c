/* Decompositions one at a time by LAPACK's divide and conquer (gesdd), for matrices that are too large to be
 * worked on side by side: there it is faster than rotations. And what every way needs for a single matrix. */
#include "cpu/svd/svd.h"

#include <lapacke.h>
#include <math.h>
#include <string.h>

#define PARTS           1
#define REAL            float
#define VALUE           float
#define NAME(word)      word##_float32
#define REAL_NAME(word) word##_float32
#define GESDD(...)      LAPACKE_sgesdd_work(__VA_ARGS__)
#include "cpu/svd/single_typed.h"

#define PARTS           1
#define REAL            double
#define VALUE           double
#define NAME(word)      word##_float64
#define REAL_NAME(word) word##_float64
#define GESDD(...)      LAPACKE_dgesdd_work(__VA_ARGS__)
#include "cpu/svd/single_typed.h"

#define PARTS           2
#define REAL            float
#define VALUE           lapack_complex_float
#define NAME(word)      word##_complex_float32
#define REAL_NAME(word) word##_float32
#define GESDD(...)      LAPACKE_cgesdd_work(__VA_ARGS__)
#include "cpu/svd/single_typed.h"

#define PARTS           2
#define REAL            double
#define VALUE           lapack_complex_double
#define NAME(word)      word##_complex_float64
#define REAL_NAME(word) word##_float64
#define GESDD(...)      LAPACKE_zgesdd_work(__VA_ARGS__)
#include "cpu/svd/single_typed.h"

const HcSvdWay *hc_cpu_svd_single(HcElement element) {
    static const HcSvdWay ways[HC_ELEMENT_COUNT] = {
        [HC_ELEMENT_FLOAT32] = {1, work_bytes_float32, decompose_float32},
        [HC_ELEMENT_FLOAT64] = {1, work_bytes_float64, decompose_float64},
        [HC_ELEMENT_COMPLEX_FLOAT32] = {1, work_bytes_complex_float32, decompose_complex_float32},
        [HC_ELEMENT_COMPLEX_FLOAT64] = {1, work_bytes_complex_float64, decompose_complex_float64},
    };
    return &ways[element];
}
