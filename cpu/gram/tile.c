/* Tiles of sums of products. BLAS is faster to write down, but promises no order of its additions: newer
 * versions choose it by the addresses of the matrices, so that the bits of a sum depended on how the scene
 * was cut into blocks. Here every entry has one accumulator, to which pixels are added in their order. */
#include "cpu/gram/tile.h"

#include <string.h>

enum { ROWS = HC_TILE_ROWS, COLUMNS = HC_TILE_COLUMNS, HALF = ROWS / 2 };

static void tile_plain(const double *rows, const double *columns, int64_t stride, int64_t pixels,
                       double sum[ROWS][COLUMNS]) {
    memset(sum, 0, sizeof(double[ROWS][COLUMNS]));
    for (int64_t p = 0; p < pixels; p++) {
        for (int r = 0; r < ROWS; r++) {
            for (int c = 0; c < COLUMNS; c++) {
                sum[r][c] += rows[p * ROWS + r] * columns[c / ROWS * stride + p * ROWS + c % ROWS];
            }
        }
    }
}

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

/* A quarter of a tile at a time: its accumulators fill half of the 16 registers. */
__attribute__((target("avx2,fma"))) static void quarter_v3(const double *rows, const double *columns,
                                                           int64_t pixels, double *sum) {
    __m256d all[HALF][2];
    for (int r = 0; r < HALF; r++) {
        all[r][0] = all[r][1] = _mm256_setzero_pd();
    }
    for (int64_t p = 0; p < pixels; p++) {
        __m256d left = _mm256_load_pd(columns + p * ROWS);
        __m256d right = _mm256_load_pd(columns + p * ROWS + 4);
#pragma GCC unroll 4
        for (int r = 0; r < HALF; r++) {
            __m256d value = _mm256_broadcast_sd(rows + p * ROWS + r);
            all[r][0] = _mm256_fmadd_pd(value, left, all[r][0]);
            all[r][1] = _mm256_fmadd_pd(value, right, all[r][1]);
        }
    }
    for (int r = 0; r < HALF; r++) {
        _mm256_store_pd(sum + r * COLUMNS, all[r][0]);
        _mm256_store_pd(sum + r * COLUMNS + 4, all[r][1]);
    }
}

static void tile_v3(const double *rows, const double *columns, int64_t stride, int64_t pixels,
                    double sum[ROWS][COLUMNS]) {
    for (int half = 0; half < ROWS; half += HALF) {
        quarter_v3(rows + half, columns, pixels, sum[half]);
        quarter_v3(rows + half, columns + stride, pixels, sum[half] + ROWS);
    }
}

__attribute__((target("avx512f"))) static void tile_v4(const double *rows, const double *columns,
                                                       int64_t stride, int64_t pixels,
                                                       double sum[ROWS][COLUMNS]) {
    __m512d all[ROWS][2];
    const double *more = columns + stride;
    for (int r = 0; r < ROWS; r++) {
        all[r][0] = all[r][1] = _mm512_setzero_pd();
    }
    for (int64_t p = 0; p < pixels; p++) {
        __m512d left = _mm512_load_pd(columns + p * ROWS);
        __m512d right = _mm512_load_pd(more + p * ROWS);
#pragma GCC unroll 8
        for (int r = 0; r < ROWS; r++) {
            __m512d value = _mm512_set1_pd(rows[p * ROWS + r]);
            all[r][0] = _mm512_fmadd_pd(value, left, all[r][0]);
            all[r][1] = _mm512_fmadd_pd(value, right, all[r][1]);
        }
    }
    for (int r = 0; r < ROWS; r++) {
        _mm512_store_pd(sum[r], all[r][0]);
        _mm512_store_pd(sum[r] + ROWS, all[r][1]);
    }
}

const HcTileKind *hc_cpu_tiles(void) {
    static const HcTileKind kinds[] = {{"avx512", true, tile_v4},
                                       {"avx2", true, tile_v3},
                                       {"plain", false, tile_plain},
                                       {NULL, false, NULL}};
    bool has_fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    return __builtin_cpu_supports("avx512f") && has_fma ? kinds : has_fma ? kinds + 1 : kinds + 2;
}

#else

const HcTileKind *hc_cpu_tiles(void) {
    static const HcTileKind kinds[] = {{"plain", false, tile_plain}, {NULL, false, NULL}};
    return kinds;
}

#endif
