/* Kernels that are compiled for the vector units of newer processors, too. */
#ifndef HC_CORE_SOLVER_CLONES_H
#define HC_CORE_SOLVER_CLONES_H

/* HC_CLONES compiles a leaf function several times; which one runs is chosen when the program starts. The
 * results do not change: no operation is contracted or reordered. HC_NARROW_CLONES leaves 512-bit vectors
 * out, where a function of its own is HC_WIDE; that is defined only where there are such vectors. (Sanitizers
 * run before the choice could.) */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(HC_SANITIZED)
#define HC_CLONES        __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#define HC_NARROW_CLONES __attribute__((target_clones("default", "arch=x86-64-v3")))
#define HC_WIDE          __attribute__((target("avx512f")))
#else
#define HC_CLONES
#define HC_NARROW_CLONES
#endif

#endif
