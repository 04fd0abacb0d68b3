/* Local scores: how many numbers the sums of a pixel have, and how a device cuts a block into pieces. */
#ifndef HC_CORE_SOLVER_LOCAL_H
#define HC_CORE_SOLVER_LOCAL_H

#include "core/operation/image/local.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Directions of which a warp of a GPU holds the matrix in its registers. */
enum { HC_LOCAL_ONE_WARP = 64 };

/* Products of two components. */
static inline size_t hc_local_products(const HcLocalRule *rule) {
    size_t n = (size_t)rule->directions;
    return n * (n + 1) / 2;
}

/* Layout of the sums of pixels: count, sums, sums of products (upper triangle, row after row). */
static inline size_t hc_local_numbers(const HcLocalRule *rule) {
    return 1 + (size_t)rule->directions + hc_local_products(rule);
}

/* float64 of a row in which a thread of a host eliminates: C, z, up to a multiple of 8. */
static inline size_t hc_local_stride(const HcLocalRule *rule) {
    return (size_t)rule->directions / 8 * 8 + 8;
}

/* float64 that an elimination works in: rows of C from the diagonal on, each with its z, the diagonal, and
 * the factors of a step. */
static inline size_t hc_local_matrix(const HcLocalRule *rule) {
    return hc_local_products(rule) + 3 * (size_t)rule->directions;
}

/* What a device works on at once: `lines` x `columns` pixels, in tiles of `tile` columns. */
typedef struct HcLocalPiece {
    int32_t lines, columns, tile;
    int32_t slots; /* matrices that do not fit the fast memory of a processor, worked on at once */
    size_t integers, sums, products, matrices; /* of its arrays [elements of 8 bytes] */
} HcLocalPiece;

HcLocalPiece hc_local_piece(const HcLocalRule *rule);

#ifdef __cplusplus
}
#endif
#endif
