/* Pairs of 16-bit integers on the vector units of x86 processors: the inner loops of gram/pairs.c. */
#ifndef HC_CPU_GRAM_PAIRS_H
#define HC_CPU_GRAM_PAIRS_H

#include "cpu/gram/gram.h"

enum {
    HC_PAIRS_BLOCK = 16, /* bands of a block */
    HC_PAIRS = 128,      /* of a panel: a pair holds two pixels */
    HC_PAIRS_LIMB = 12,  /* bits of a limb; a value has up to three */
    HC_SHIFTED_LIMB = 14 /* the same of a value that is shifted; it has one or two */
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

/* ---- strips of a file (pairs_strips.c), for processors that have a unit ---- */

/* The integers of a strip, or their differences: values[bands][HC_CPU_RUN]. Those that do not count may be
 * anything. */
void hc_pairs_values(const HcStrip *strip, int32_t bands, int32_t *values);

/* Subtracts the center of each band; what does not count becomes 0. Returns the largest magnitude of a
 * result, -1 where a value that counts is beyond the limit. */
int32_t hc_pairs_less_center(int32_t *values, int32_t bands, uint64_t ok, const int32_t *center,
                             int32_t limit);

/* Up to HC_PAIRS_BLOCK bands of values, at most 16 bits large -> words[HC_CPU_RUN / 2][HC_PAIRS_BLOCK]. */
void hc_pairs_words(const int32_t *values, int32_t bands, int32_t *words);

/* ---- whole numbers of a grid (pairs_grid.c): a value is center + 2^shift y, with |y| < 2^28 ---- */

/* Chooses center and shift of each band. pixels[count][bands]: some values; size[bands]: the root mean square
 * of all that came before, 0 = unknown. */
void hc_pairs_choose_shift(const double *pixels, int32_t count, int32_t bands, const double *size,
                           int32_t *center, int32_t *shift);

/* y of a pixel; scale: 2^-shift. Returns a number whose bits are those of all |y|, -1 where a value has none.
 */
int32_t hc_pairs_shifted(const double *pixel, const int32_t *center, const double *scale, int64_t bands,
                         int32_t *to);

/* Three limbs of values below HC_GRID_NEAR. */
void hc_pairs_cut_in_three(const double *pixel, int64_t bands, int32_t *low, int32_t *middle, int32_t *high);

#endif
