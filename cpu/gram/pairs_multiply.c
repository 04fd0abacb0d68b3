/* The inner loops of gram/pairs.c, one a set of instructions. A tile of 16 x 16 bands is as large as the
 * registers allow: each word that is loaded takes part in 16 products.
 *
 *     AVX-512 VNNI   vpdpwssd: 16 words a step, a row of the tile in a register
 *     AVX-VNNI       the same, 8 words a step, four rows of the tile at once
 *     AVX2           vpmaddwd and vpaddd for it
 *
 * Sums wrap at 2^32, so that only the sum of a whole segment has to fit. */
#include "cpu/gram/pairs.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <cpuid.h>
#include <immintrin.h>
#include <stddef.h>

#define AVX512 __attribute__((target("avx512f,avx512bw")))
#define AVX2   __attribute__((target("avx2")))

/* Each adds the products of COLUMN and ROW to SUM, in place: with intrinsics GCC copies all sums in every
 * step. ROW is a word in memory for the first, a word in all places of a register for the others. */
#define ADD_512(SUM, COLUMN, ROW) __asm__("vpdpwssd %2%{1to16%}, %1, %0" : "+v"(SUM) : "v"(COLUMN), "m"(ROW))
#define ADD_256_VNNI(SUM, COLUMN, ROW)                                                                       \
    __asm__("%{vex%} vpdpwssd %2, %1, %0" : "+x"(SUM) : "x"(COLUMN), "x"(ROW))
#define ADD_256(SUM, COLUMN, ROW)                                                                            \
    __asm__("vpaddd %1, %0, %0" : "+x"(SUM) : "x"(_mm256_madd_epi16(COLUMN, ROW)))

enum { BLOCK = HC_PAIRS_BLOCK };

AVX512 static inline void widen_row_512(__m512i sum, int64_t *to) {
    __m512i low = _mm512_cvtepi32_epi64(_mm512_castsi512_si256(sum));
    __m512i high = _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(sum, 1));
    _mm512_store_si512(to, _mm512_add_epi64(_mm512_load_si512(to), low));
    _mm512_store_si512(to + 8, _mm512_add_epi64(_mm512_load_si512(to + 8), high));
}

AVX512 static void multiply_512(const int32_t *rows, const int32_t *columns, int32_t pairs, int64_t *sums) {
    __m512i sum[BLOCK];
#pragma GCC unroll 16
    for (int r = 0; r < BLOCK; r++) {
        sum[r] = _mm512_setzero_si512();
    }
    for (; pairs > 0; pairs--, rows += BLOCK, columns += BLOCK) {
        __m512i column = _mm512_load_si512(columns);
#pragma GCC unroll 16
        for (int r = 0; r < BLOCK; r++) {
            ADD_512(sum[r], column, rows[r]);
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < BLOCK; r++) {
        widen_row_512(sum[r], sums + (ptrdiff_t)r * BLOCK);
    }
}

AVX2 static inline void widen_half_row(__m256i sum, int64_t *to) {
    __m256i *low = (__m256i *)to;
    __m256i *high = low + 1;
    __m256i first = _mm256_cvtepi32_epi64(_mm256_castsi256_si128(sum));
    __m256i second = _mm256_cvtepi32_epi64(_mm256_extracti128_si256(sum, 1));
    _mm256_store_si256(low, _mm256_add_epi64(_mm256_load_si256(low), first));
    _mm256_store_si256(high, _mm256_add_epi64(_mm256_load_si256(high), second));
}

/* Four rows of the tile at once: eight sums, two columns and a row fit the 16 registers. */
#define KERNEL_256(NAME, TARGET, ADD)                                                                        \
    TARGET static void NAME(const int32_t *rows, const int32_t *columns, int32_t pairs, int64_t *sums) {     \
        enum { ROWS = 4 };                                                                                   \
        for (int q = 0; q < BLOCK / ROWS; q++, rows += ROWS, sums += ROWS * BLOCK) {                         \
            __m256i left[ROWS];                                                                              \
            __m256i right[ROWS];                                                                             \
            _Pragma("GCC unroll 4") for (int r = 0; r < ROWS; r++) {                                         \
                left[r] = right[r] = _mm256_setzero_si256();                                                 \
            }                                                                                                \
            for (ptrdiff_t k = 0; k < (ptrdiff_t)pairs * BLOCK; k += BLOCK) {                                \
                __m256i a = _mm256_load_si256((const __m256i *)(columns + k));                               \
                __m256i b = _mm256_load_si256((const __m256i *)(columns + k) + 1);                           \
                _Pragma("GCC unroll 4") for (int r = 0; r < ROWS; r++) {                                     \
                    __m256i row = _mm256_set1_epi32(rows[k + r]);                                            \
                    ADD(left[r], a, row);                                                                    \
                    ADD(right[r], b, row);                                                                   \
                }                                                                                            \
            }                                                                                                \
            _Pragma("GCC unroll 4") for (int r = 0; r < ROWS; r++) {                                         \
                widen_half_row(left[r], sums + (ptrdiff_t)r * BLOCK);                                        \
                widen_half_row(right[r], sums + (ptrdiff_t)r * BLOCK + BLOCK / 2);                           \
            }                                                                                                \
        }                                                                                                    \
    }

KERNEL_256(multiply_256, AVX2, ADD_256)
KERNEL_256(multiply_256_vnni, AVX2, ADD_256_VNNI)

/* One half of a block. */
AVX2 static inline bool measure_half(const int32_t *words, int32_t pairs, int32_t *sum) {
    enum { SHIFT = 7 }; /* squares of a pair are below 2^31, HC_PAIRS of them shifted down below 2^31 too */
    const __m256i one = _mm256_set1_epi16(1);
    const __m256i most = _mm256_set1_epi32((1 << (31 - SHIFT)) - pairs); /* what shifting drops */
    __m256i total = _mm256_loadu_si256((const __m256i *)sum);
    __m256i square = _mm256_setzero_si256();
    for (ptrdiff_t k = 0; k < (ptrdiff_t)pairs * BLOCK; k += BLOCK) {
        __m256i pair = _mm256_load_si256((const __m256i *)(words + k));
        total = _mm256_add_epi32(total, _mm256_madd_epi16(pair, one));
        square = _mm256_add_epi32(square, _mm256_srli_epi32(_mm256_madd_epi16(pair, pair), SHIFT));
    }
    _mm256_storeu_si256((__m256i *)sum, total);
    return _mm256_movemask_epi8(_mm256_cmpgt_epi32(square, most)) == 0;
}

AVX2 static bool measure(const int32_t *words, int32_t pairs, int32_t *sum) {
    bool low = measure_half(words, pairs, sum);
    bool high = measure_half(words + BLOCK / 2, pairs, sum + BLOCK / 2);
    return low && high;
}

static bool has_avx_vnni(void) {
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    return __builtin_cpu_supports("avx2") != 0 && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 &&
           (a >> 4 & 1) != 0;
}

static bool has_avx512_vnni(void) {
    return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
           __builtin_cpu_supports("avx512vnni") != 0;
}

const HcPairsUnit *hc_cpu_pairs_unit(HcCpuGram way) {
    static const HcPairsUnit avx2 = {multiply_256, measure};
    static const HcPairsUnit avx_vnni = {multiply_256_vnni, measure};
    static const HcPairsUnit avx512_vnni = {multiply_512, measure};
    switch (way) {
    case HC_CPU_GRAM_AVX2:
        return __builtin_cpu_supports("avx2") != 0 ? &avx2 : NULL;
    case HC_CPU_GRAM_AVX_VNNI:
        return has_avx_vnni() ? &avx_vnni : NULL;
    case HC_CPU_GRAM_AVX512_VNNI:
        return has_avx512_vnni() ? &avx512_vnni : NULL;
    default:
        return NULL;
    }
}

#else

#include <stddef.h>

const HcPairsUnit *hc_cpu_pairs_unit(HcCpuGram way) {
    (void)way;
    return NULL;
}

#endif
