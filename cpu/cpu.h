/* The CPU backend: every operation of the compute contract with threads of its own and BLAS. */
#ifndef HC_CPU_CPU_H
#define HC_CPU_CPU_H

#include "core/compute.h"
#include "core/module/module.h"
#include "core/text.h"

#ifdef __cplusplus
extern "C" {
#endif

const HcComputeOps *hc_cpu_ops(void);

/* OpenBLAS and LAPACK with all threads, for measuring. */
const HcVendorOps *hc_cpu_vendor(void);

/* Adds "OpenBLAS 0.3.21 ...\n": what this room is built on. */
void hc_cpu_libraries(HcText *text);

/* How exact sums of products are formed, the slowest way first; the sums are the same to the last bit. For
 * tests and measurements: the program takes the fastest one. */
typedef enum HcCpuGram {
    HC_CPU_GRAM_BEST,
    HC_CPU_GRAM_FLOAT64,     /* BLAS on float64 panels: everywhere */
    HC_CPU_GRAM_AVX2,        /* pairs of 16-bit integers on the vector units of x86 processors */
    HC_CPU_GRAM_AVX_VNNI,    /* the same, with an instruction that multiplies and adds */
    HC_CPU_GRAM_AVX512_VNNI, /* the same, of 512 bits */
    HC_CPU_GRAM_AMX          /* 8-bit limbs on the matrix unit of some x86 processors */
} HcCpuGram;

/* For sums opened later; false when this processor does not have it. */
bool hc_cpu_gram_force(HcCompute *compute, HcCpuGram way);

#ifdef __cplusplus
}
#endif
#endif
