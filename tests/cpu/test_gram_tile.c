/* Tiles of sums of products: each entry is summed pixel after pixel, to the last bit, on every kind of
 * processor that this one can play. */
#include "cpu/gram/tile.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PIXELS = 256, STRIDE = PIXELS * HC_TILE_ROWS, GROUPS = HC_TILE_COLUMNS / HC_TILE_ROWS };

static double random_value(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return ldexp((double)(int64_t)(*seed >> 12) - 0x1p51, (int)(*seed >> 60) - 51);
}

static void in_the_order_of_pixels(void **state) {
    (void)state;
    static _Alignas(64) double rows[STRIDE];
    static _Alignas(64) double columns[GROUPS * STRIDE];
    static const int64_t counts[] = {0, 1, 2, 3, 17, 255, PIXELS};
    uint64_t seed = 3;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rows[i] = random_value(&seed);
    }
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        columns[i] = random_value(&seed);
    }
    columns[5 * HC_TILE_ROWS + 3] = (double)NAN;
    for (const HcTileKind *kind = hc_cpu_tiles(); kind->name != NULL; kind++) {
        for (size_t n = 0; n < sizeof counts / sizeof *counts; n++) {
            _Alignas(64) double sum[HC_TILE_ROWS][HC_TILE_COLUMNS];
            memset(sum, 0x55, sizeof sum);
            kind->tile(rows, columns, STRIDE, counts[n], sum);
            for (int r = 0; r < HC_TILE_ROWS; r++) {
                for (int c = 0; c < HC_TILE_COLUMNS; c++) {
                    const double *column = columns + c / HC_TILE_ROWS * STRIDE + c % HC_TILE_ROWS;
                    double expected = 0;
                    for (int64_t p = 0; p < counts[n]; p++) {
                        double x = rows[p * HC_TILE_ROWS + r];
                        double y = column[p * HC_TILE_ROWS];
                        expected = kind->fused ? fma(x, y, expected) : expected + x * y;
                    }
                    assert_true(isnan(expected) ? isnan(sum[r][c])
                                                : memcmp(&expected, &sum[r][c], sizeof expected) == 0);
                }
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(in_the_order_of_pixels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
