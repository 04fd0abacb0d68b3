/* Pairs of 16-bit integers on the vector units of x86 processors: the inner loops of gram/pairs.c. */
#ifndef HC_CPU_GRAM_PAIRS_H
#define HC_CPU_GRAM_PAIRS_H

#include "cpu/cpu.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    HC_PAIRS_BLOCK = 16, /* bands of a block */
    HC_PAIRS = 128       /* of a panel: a pair holds two pixels */
};

/* Words are pairs of 16-bit integers of -32767 to 32767, aligned to 64 bytes. */
typedef struct HcPairsUnit {
    /* sums[r][c] += the products of band r of `rows` and band c of `columns` over `pairs` pairs: their sum
     * fits 32 bits. rows, columns: [pairs][HC_PAIRS_BLOCK]. sums is aligned to 64 bytes. */
    void (*multiply)(const int32_t *rows, const int32_t *columns, int32_t pairs, int64_t *sums);
    /* Adds each band of words[pairs][HC_PAIRS_BLOCK] to sum[HC_PAIRS_BLOCK]. True where the squares of each
     * band sum to less than 2^31; false where they do not, or all but do not. */
    bool (*measure)(const int32_t *words, int32_t pairs, int32_t *sum);
} HcPairsUnit;

/* NULL where this processor (or this build) has no such instructions. */
const HcPairsUnit *hc_cpu_pairs_unit(HcCpuGram way);

#endif
