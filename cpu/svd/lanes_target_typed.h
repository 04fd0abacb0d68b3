/* Matrices of all elements side by side; lanes.c includes this for each kind of processor with
 *   TARGET(word)  a name of this kind's own
 *   LANES_BYTES   the length of its vectors. */

typedef IN_LANES(float) TARGET(Float32Lanes);
typedef IN_LANES(double) TARGET(Float64Lanes);
typedef IN_LANES(int32_t) TARGET(Int32Lanes);
typedef IN_LANES(int64_t) TARGET(Int64Lanes);

#define PARTS           1
#define REAL            float
#define BITS            uint32_t
#define VECTOR          TARGET(Float32Lanes)
#define MASK            TARGET(Int32Lanes)
#define NAME(word)      TARGET(word##_float32)
#define COMPLETE        hc_cpu_svd_complete_float32
#define REAL_NAME(word) word##_float32
#define SCALE           SCALE_FLOAT32
#define LENGTH_MIN      LENGTH_MIN_FLOAT32
#define DIGITS          24
#define SQRT            sqrtf
#include "cpu/svd/lanes_typed.h"

#define PARTS           1
#define REAL            double
#define BITS            uint64_t
#define VECTOR          TARGET(Float64Lanes)
#define MASK            TARGET(Int64Lanes)
#define NAME(word)      TARGET(word##_float64)
#define COMPLETE        hc_cpu_svd_complete_float64
#define REAL_NAME(word) word##_float64
#define SCALE           SCALE_FLOAT64
#define LENGTH_MIN      LENGTH_MIN_FLOAT64
#define DIGITS          53
#define SQRT            sqrt
#include "cpu/svd/lanes_typed.h"

#define PARTS           2
#define REAL            float
#define BITS            uint32_t
#define VECTOR          TARGET(Float32Lanes)
#define MASK            TARGET(Int32Lanes)
#define NAME(word)      TARGET(word##_complex_float32)
#define COMPLETE        hc_cpu_svd_complete_complex_float32
#define REAL_NAME(word) word##_float32
#define SCALE           SCALE_FLOAT32
#define LENGTH_MIN      LENGTH_MIN_FLOAT32
#define DIGITS          24
#define SQRT            sqrtf
#include "cpu/svd/lanes_typed.h"

#define PARTS           2
#define REAL            double
#define BITS            uint64_t
#define VECTOR          TARGET(Float64Lanes)
#define MASK            TARGET(Int64Lanes)
#define NAME(word)      TARGET(word##_complex_float64)
#define COMPLETE        hc_cpu_svd_complete_complex_float64
#define REAL_NAME(word) word##_float64
#define SCALE           SCALE_FLOAT64
#define LENGTH_MIN      LENGTH_MIN_FLOAT64
#define DIGITS          53
#define SQRT            sqrt
#include "cpu/svd/lanes_typed.h"

static const HcSvdWay TARGET(ways)[HC_ELEMENT_COUNT] = {
    [HC_ELEMENT_FLOAT32] = {LANES_BYTES / sizeof(float), TARGET(work_bytes_float32),
                            TARGET(decompose_float32)},
    [HC_ELEMENT_FLOAT64] = {LANES_BYTES / sizeof(double), TARGET(work_bytes_float64),
                            TARGET(decompose_float64)},
    [HC_ELEMENT_COMPLEX_FLOAT32] = {LANES_BYTES / sizeof(float), TARGET(work_bytes_complex_float32),
                                    TARGET(decompose_complex_float32)},
    [HC_ELEMENT_COMPLEX_FLOAT64] = {LANES_BYTES / sizeof(double), TARGET(work_bytes_complex_float64),
                                    TARGET(decompose_complex_float64)},
};

#undef TARGET
#undef LANES_BYTES
