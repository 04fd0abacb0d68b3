/* Decompositions of many small matrices side by side: each lane of a vector register holds one matrix, so
 * that sums over a column stay within lanes, and no lane knows of the others.
 *
 * The columns of a matrix are turned against each other in pairs until all are orthogonal (one-sided Jacobi;
 * Hestenes 1958), the longer one of a pair before the shorter (de Rijk 1989). Their lengths are the singular
 * values. Long matrices are reduced first to the triangle R of a QR factorisation with the columns in
 * descending order, and the columns of R^H are turned, which converges faster (Drmac and Veselic 2008). */
#include "cpu/svd/svd.h"

#include <math.h>
#include <string.h>

#define IN_LANES(type) type __attribute__((vector_size(LANES_BYTES), may_alias))
/* Vectors wider than a processor's may not be passed between functions. */
#define INLINE static inline __attribute__((always_inline))

/* The largest magnitude of a matrix is brought to below two to the power of SCALE: squares neither overflow
 * nor, for what counts, vanish. Columns shorter than LENGTH_MIN count as 0. */
enum { SCALE_FLOAT32 = 40, SCALE_FLOAT64 = 450 };
#define LENGTH_MIN_FLOAT32 0x1p-60F
#define LENGTH_MIN_FLOAT64 0x1p-450

/* Of which columns may take that much [bytes]. */
enum { FIRST_CACHE = 36 << 10 };

/* Whether the columns of R^H are turned, and not those of the matrix: it costs what about one and a half
 * passes over the pairs do, and saves what longer columns than rows of R do. */
static bool is_factored(const HcSvd *svd) {
    return 5 * svd->longer > 6 * svd->shorter;
}

/* Once for each kind of processor, with its vectors. (HC_CLONES would not do: it takes comparisons of vectors
 * apart before it knows the processor.) The results are the same: no operation is contracted or reordered. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v2")
#define TARGET(word) word##_v2
#define LANES_BYTES  16
#include "cpu/svd/lanes_target_typed.h"
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v3")
#define TARGET(word) word##_v3
#define LANES_BYTES  32
#include "cpu/svd/lanes_target_typed.h"
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4")
#define TARGET(word) word##_v4
#define LANES_BYTES  64
#include "cpu/svd/lanes_target_typed.h"
#pragma GCC pop_options

const HcSvdWay *hc_cpu_svd_lanes(HcElement element) {
    if (__builtin_cpu_supports("x86-64-v4")) {
        return &ways_v4[element];
    }
    if (__builtin_cpu_supports("x86-64-v3")) {
        return &ways_v3[element];
    }
    return __builtin_cpu_supports("x86-64-v2") ? &ways_v2[element] : NULL;
}
#else
#define TARGET(word) word##_any
#define LANES_BYTES  16
#include "cpu/svd/lanes_target_typed.h"

const HcSvdWay *hc_cpu_svd_lanes(HcElement element) {
    return &ways_any[element];
}
#endif
