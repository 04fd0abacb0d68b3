/* One tile of a sum of products, in a fixed order. */
#ifndef HC_CPU_GRAM_TILE_H
#define HC_CPU_GRAM_TILE_H

#include <stdbool.h>
#include <stdint.h>

/* Bands of a tile. Pixels are packed in groups of HC_TILE_ROWS bands: [group][pixel][HC_TILE_ROWS]. */
enum { HC_TILE_ROWS = 8, HC_TILE_COLUMNS = 16 };

/* sum[r][c] = the sum over pixels p = 0, 1, 2, ... of rows[p][r] * columns[p][c], added one pixel after the
 * other from 0 on. `columns` is one group, and the next one begins `stride` values behind it. All arrays are
 * aligned to 64 bytes. */
typedef void HcTile(const double *rows, const double *columns, int64_t stride, int64_t pixels,
                    double sum[HC_TILE_ROWS][HC_TILE_COLUMNS]);

typedef struct HcTileKind {
    const char *name;
    bool fused; /* multiplies and adds in one step, and rounds once */
    HcTile *tile;
} HcTileKind;

/* The tiles that this processor can run, the fastest first; the last one has no name. Fused ones have the
 * same bits. */
const HcTileKind *hc_cpu_tiles(void);

#endif
