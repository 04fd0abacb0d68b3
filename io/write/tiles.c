/* Tiles of a GeoTIFF: as many pixels as open quickly with all their bands. Those of a COG are in cog.c. */
#include "io/write/parts.h"

#include <cpl_string.h>
#include <stdio.h>

/* About `wanted`, a multiple of 16, so that the tiles overhang the scene by little. */
static int tile_edge(int64_t extent, int wanted) {
    int64_t tiles = (extent + wanted / 2) / wanted;
    int64_t edge = tiles < 1 ? extent : (extent + tiles - 1) / tiles;
    return (int)((edge + 15) / 16 * 16);
}

char **hc_write_tiles(char **options, const HcScene *scene, HcType type) {
    char text[24];
    double pixel = (double)hc_type_bytes(type) * scene->bands;
    int wanted = 256;
    /* A pixel-interleaved tile holds all bands: one of up to 8 MiB still opens quickly. */
    int least = scene->bands > HC_MANY_BANDS ? 16 : 64;
    while (wanted > least && pixel * wanted * wanted > 8388608.0) {
        wanted /= 2;
    }
    options = CSLSetNameValue(options, "TILED", "YES");
    snprintf(text, sizeof text, "%d", tile_edge(scene->samples, wanted));
    options = CSLSetNameValue(options, "BLOCKXSIZE", text);
    snprintf(text, sizeof text, "%d", tile_edge(scene->lines, wanted));
    options = CSLSetNameValue(options, "BLOCKYSIZE", text);
    return CSLSetNameValue(options, "BIGTIFF", "IF_SAFER");
}
