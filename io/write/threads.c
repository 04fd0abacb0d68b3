/* Threads of GDAL that compress tiles: how many help, the memory that they take, and the level of zstd.
 *
 * GDAL gives each thread a tile of its own, and one more for the tile that it fills meanwhile. A thread holds
 * the values of a tile, a copy of them for the predictor, the result, and the buffer in front of it. With
 * pixels together a tile has all bands, so that 16 threads may take more than everything else. So the number
 * of threads is the planner's (HcWriterNeeds), and not ALL_CPUS. */
#include "io/libraries.h"
#include "io/write/parts.h"

#include <cpl_conv.h>
#include <cpl_string.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MIB          1048576.0
#define TILES_HELD   5 /* by a thread: 4, and its share of the tile that is being filled */
#define OTHERS_BYTES (1 * MIB)

static bool is_compressed(const HcWritePlan *plan) {
    const char *standard = hc_write_is_cog(plan) ? "LZW" : "NONE";
    return !hc_text_equal(CSLFetchNameValueDef(plan->options, "COMPRESS", standard), "NONE");
}

static double edge(const HcWritePlan *plan, const char *option) {
    int pixels = hc_write_is_cog(plan) ? hc_write_cog_edge(plan)
                                       : atoi(CSLFetchNameValueDef(plan->options, option, "256"));
    return pixels > 0 ? pixels : 256;
}

/* A strip is a tile as wide as the scene, and ends with it. */
static double tile_width(const HcWritePlan *plan, const HcScene *scene) {
    bool tiled = CPLTestBool(CSLFetchNameValueDef(plan->options, "TILED", "YES"));
    return tiled ? edge(plan, "BLOCKXSIZE") : (double)scene->samples;
}

static double tile_height(const HcWritePlan *plan, const HcScene *scene) {
    bool tiled = CPLTestBool(CSLFetchNameValueDef(plan->options, "TILED", "YES"));
    double height = edge(plan, "BLOCKYSIZE");
    return tiled ? height : fmin(height, (double)scene->lines);
}

static bool bands_apart(const HcWritePlan *plan) {
    return hc_text_equal(CSLFetchNameValueDef(plan->options, "INTERLEAVE", "PIXEL"), "BAND");
}

static double tile_bytes(const HcWritePlan *plan, const HcScene *scene) {
    double pixels = tile_width(plan, scene) * tile_height(plan, scene);
    return pixels * (double)hc_type_bytes(plan->type) * (bands_apart(plan) ? 1 : scene->bands);
}

static double tiles_of(const HcWritePlan *plan, const HcScene *scene) {
    double across = ceil((double)scene->samples / tile_width(plan, scene));
    double down = ceil((double)scene->lines / tile_height(plan, scene));
    return across * down * (bands_apart(plan) ? scene->bands : 1);
}

int hc_write_threads_max(const HcWritePlan *plan, const HcScene *scene) {
    double tiles = tiles_of(plan, scene);
    int most = hc_io_thread_count(CPLGetConfigOption("GDAL_NUM_THREADS", "ALL_CPUS"));
    if (!is_compressed(plan)) {
        return 1;
    }
    return tiles < most ? (int)tiles : most;
}

int hc_write_threads_fixed(const HcWritePlan *plan) {
    const char *text = CSLFetchNameValue(plan->options, "NUM_THREADS");
    return text != NULL ? hc_io_thread_count(text) : 0;
}

static const char *zstd_option(const HcWritePlan *plan) {
    return hc_write_is_cog(plan) ? "LEVEL" : "ZSTD_LEVEL";
}

HcStatus hc_write_zstd_level(HcWritePlan *plan, HcError *err) {
    if (!hc_write_is_tiff(plan) || CSLFetchNameValue(plan->options, zstd_option(plan)) != NULL ||
        !hc_text_equal(CSLFetchNameValueDef(plan->options, "COMPRESS", ""), "ZSTD")) {
        return HC_OK;
    }
    return hc_write_option(&plan->options, zstd_option(plan), "3", err);
}

/* Tables of zstd, and the window in front of them: ZSTD_estimateCStreamSize of version 1.5.4, and a third. */
static double zstd_bytes(const HcWritePlan *plan) {
    static const struct {
        int level; /* the last one that needs */
        double mib;
    } table[] = {{3, 5}, {6, 8}, {9, 24}, {11, 40}, {14, 72}, {18, 96}, {19, 120}, {20, 260}, {21, 520}};
    int level = atoi(CSLFetchNameValueDef(plan->options, zstd_option(plan), "9"));
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        if (level <= table[k].level) {
            return table[k].mib * MIB;
        }
    }
    return 1040 * MIB;
}

/* ZSTD, and LERC_ZSTD. */
static bool by_zstd(const HcWritePlan *plan) {
    const char *name = CSLFetchNameValueDef(plan->options, "COMPRESS", "");
    size_t length = strlen(name);
    return length >= 4 && hc_text_equal(name + length - 4, "ZSTD");
}

double hc_write_threads_memory(const HcWritePlan *plan, const HcScene *scene, int threads) {
    double tables = by_zstd(plan) ? zstd_bytes(plan) : OTHERS_BYTES;
    double used = fmin(threads, tiles_of(plan, scene));
    if (threads <= 1 || !is_compressed(plan)) {
        return by_zstd(plan) ? tables : 0;
    }
    return used * (TILES_HELD * tile_bytes(plan, scene) + tables);
}
