/* Memory of the writer; threads that compress tiles: how many help, what they take, and the level of zstd.
 *
 * Where tiles are encoded here, a thread holds the values of a tile, two results, and lines of a tile that
 * wait (io/chunk/sink.c). GDAL gives each thread a tile of its own, and one more for the tile that it fills
 * meanwhile. A thread holds the values of a tile, a copy of them for the predictor, the result, and the
 * buffer in front of it. With pixels together a tile has all bands, so that 16 threads may take more than
 * everything else. So the number of threads is the planner's (HcWriterNeeds), and not ALL_CPUS. */
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
/* By a thread of ours; results may be longer than what they were made from, by LZW half as much. */
#define TILES_ENCODED 4.1
#define TILES_LZW     5.1
#define TILES_PLAIN   3.1
#define TILES_ABOVE   2.5 /* of overviews: a result, those that wait, what malloc() keeps of them */

static bool compresses_by(const HcWritePlan *plan, const char *name) {
    const char *standard = hc_write_is_cog(plan) ? "LZW" : "NONE";
    return hc_text_equal(CSLFetchNameValueDef(plan->options, "COMPRESS", standard), name);
}

static bool is_compressed(const HcWritePlan *plan) {
    return !compresses_by(plan, "NONE");
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

static double tiles_across(const HcWritePlan *plan, const HcScene *scene) {
    return ceil((double)scene->samples / tile_width(plan, scene));
}

static double tiles_down(const HcWritePlan *plan, const HcScene *scene) {
    return ceil((double)scene->lines / tile_height(plan, scene));
}

static double tiles_of(const HcWritePlan *plan, const HcScene *scene) {
    return tiles_across(plan, scene) * tiles_down(plan, scene) * (bands_apart(plan) ? scene->bands : 1);
}

int hc_write_threads_max(const HcWritePlan *plan, const HcScene *scene) {
    double tiles = tiles_of(plan, scene);
    int most = hc_io_thread_count(CPLGetConfigOption("GDAL_NUM_THREADS", "ALL_CPUS"));
    return !plan->encodes ? 1 : tiles < most ? (int)tiles : most;
}

int hc_write_threads_fixed(const HcWritePlan *plan) {
    const char *text = CSLFetchNameValue(plan->options, "NUM_THREADS");
    return text != NULL ? hc_io_thread_count(text) : 0;
}

HcStatus hc_write_sure_threads(char ***options, const HcWritePlan *plan, HcError *err) {
    HcTeam *team = plan->threads > 1 ? hc_team_open(plan->threads + 1) : NULL;
    bool sure = plan->threads <= 1 || hc_team_threads(team) == plan->threads + 1;
    hc_team_close(team);
    return sure ? HC_OK : hc_write_option(options, "NUM_THREADS", "1", err);
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
    double used = fmin(threads < 1 ? 1 : threads, tiles_of(plan, scene));
    if (plan->encodes) {
        double tiles = compresses_by(plan, "LZW") ? TILES_LZW
                       : is_compressed(plan)      ? TILES_ENCODED
                                                  : TILES_PLAIN;
        tiles += hc_write_is_cog(plan) ? TILES_ABOVE : 0;
        return used * (tiles * tile_bytes(plan, scene) + tables);
    }
    if (threads <= 1 || !is_compressed(plan)) {
        return by_zstd(plan) ? tables : 0;
    }
    return used * (TILES_HELD * tile_bytes(plan, scene) + tables);
}

/* ---- lines and blocks ---- */

HcStored hc_write_layout(const HcWritePlan *plan, const HcScene *scene, HcInterleave interleave,
                         int32_t rows) {
    return (HcStored){.type = plan->type,
                      .interleave = interleave,
                      .samples = scene->samples,
                      .bands = scene->bands,
                      .rows = rows,
                      .nodata = plan->nodata,
                      .no_nodata = plan->no_nodata || plan->shares_nodata,
                      .scaled = plan->scaled,
                      .scale = plan->scale,
                      .offset = plan->offset,
                      .parts = plan->in_parts ? scene->parts : NULL};
}

double hc_write_blocks_bytes(const HcScene *scene, HcType type, int pixels) {
    return 2.0 * scene->bands * (pixels * (double)hc_type_bytes(type) + 512);
}

/* Segments of a band of 64 KiB keep the system calls few. */
static int32_t rows_of(const HcScene *scene, const HcWritePlan *plan, double bytes) {
    double segment = (double)scene->samples * (double)hc_type_bytes(plan->type);
    double line = segment * scene->bands;
    double rows = bytes / line;
    if (plan->interleave == HC_BSQ && rows * segment < 65536) {
        rows = ceil(65536 / segment);
        rows = rows * line > 32 * MIB ? 32 * MIB / line : rows;
    }
    rows = rows < 1 ? 1 : rows;
    return (int32_t)(rows < (double)scene->lines ? rows : (double)scene->lines);
}

/* Few of them stay in the cache, and each thread has something to store. */
int32_t hc_write_envi_rows(const HcScene *scene, const HcWritePlan *plan) {
    return rows_of(scene, plan, fmin(fmax(2 * MIB, (double)plan->storing * HC_STORED_EACH), 8 * MIB));
}

int32_t hc_write_map_rows(const HcScene *scene, const HcWritePlan *plan) {
    return rows_of(scene, plan, 8 * MIB);
}

double hc_write_memory(const HcWritePlan *plan, const HcScene *scene) {
    double line = (double)scene->samples * scene->bands * (double)hc_type_bytes(plan->type);
    if (plan->way == HC_WRITE_ENVI) {
        return line * hc_write_envi_rows(scene, plan);
    }
    bool cog = hc_write_is_cog(plan);
    if (plan->encodes) {
        double waiting =
            cog ? hc_pyramid_tiles((int64_t)tiles_across(plan, scene), (int64_t)tiles_down(plan, scene), 2)
                : 0;
        return hc_write_tile_rows(plan, scene) + waiting * tile_bytes(plan, scene);
    }
    /* The stored lines (see gdal_rows, of tiles of about 256 lines), and as much in GDAL's cache. */
    double rows = line * (cog ? hc_write_cog_rows(plan, scene) : 256);
    double bytes = rows > 16 * MIB ? rows : 16 * MIB;
    bytes = fmin(2 * (bytes > 256 * MIB ? 64 * MIB : bytes), 2 * line * (double)scene->lines);
    double held = scene->bands > HC_MANY_BANDS ? hc_write_blocks_bytes(scene, plan->type, 16 * 16) : 0;
    bytes = held <= 256 * MIB ? bytes + held : bytes;
    return cog ? fmax(bytes, hc_write_cog_memory(plan, scene)) : bytes; /* one after the other */
}
