/* Tiles of a GeoTIFF: as many pixels as open quickly with all their bands. Those of a COG are in cog.c. */
#include "io/write/parts.h"

#include <stdio.h>

/* About `wanted`, a multiple of 16, so that the tiles overhang the scene by little. */
static int tile_edge(int64_t extent, int wanted) {
    if (wanted == 16) {
        return wanted; /* of so many bands no pixel more than needed */
    }
    int64_t tiles = (extent + wanted / 2) / wanted;
    int64_t edge = tiles < 1 ? extent : (extent + tiles - 1) / tiles;
    return (int)((edge + 15) / 16 * 16);
}

HcStatus hc_write_tiles(char ***options, const HcScene *scene, HcType type, HcError *err) {
    char text[24];
    double pixel = (double)hc_type_bytes(type) * scene->bands;
    int wanted = 256;
    /* A pixel-interleaved tile holds all bands: one of up to 8 MiB still opens quickly. */
    int least = scene->bands > HC_MANY_BANDS ? 16 : 64;
    while (wanted > least && pixel * wanted * wanted > 8388608.0) {
        wanted /= 2;
    }
    HC_OR_RETURN(hc_write_option(options, "TILED", "YES", err));
    snprintf(text, sizeof text, "%d", tile_edge(scene->samples, wanted));
    HC_OR_RETURN(hc_write_option(options, "BLOCKXSIZE", text, err));
    snprintf(text, sizeof text, "%d", tile_edge(scene->lines, wanted));
    HC_OR_RETURN(hc_write_option(options, "BLOCKYSIZE", text, err));
    return hc_write_option(options, "BIGTIFF", "IF_SAFER", err);
}

HcStatus hc_write_source(char ***options, const HcWritePlan *plan, const HcScene *scene, HcError *err) {
    if (hc_write_is_cog(plan)) {
        HC_OR_RETURN(hc_write_cog_source(options, plan, scene, err));
    } else {
        HC_OR_RETURN(hc_write_tiles(options, scene, plan->type, err));
    }
    return hc_write_option(options, "PHOTOMETRIC", "MINISBLACK", err);
}
