/* Tiles of a GeoTIFF: as many pixels as open quickly with all their bands. Those of a COG are in
 * cog/driver.c.
 *
 * GDAL's writing thread copies lines into its cache and from there into tiles, one after the other; its
 * threads only compress. So most tiles are encoded here (io/chunk/sink.h): GDAL writes the file with all that
 * it says, and without a tile. */
#include "core/allocate.h"
#include "core/text.h"
#include "io/chunk/codec/decode.h"
#include "io/chunk/codec/encode.h"
#include "io/chunk/sink.h"
#include "io/write/parts.h"

#include <cpl_conv.h>
#include <cpl_string.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB         1048576.0
#define WAITING_MAX (256 * MIB) /* of lines of all tiles in a row */

/* About `wanted`, a multiple of 16, so that the tiles overhang the scene by little. */
static int tile_edge(int64_t extent, int wanted) {
    if (wanted == 16) {
        return wanted; /* with that many bands no pixel more than needed */
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

/* Options that do not change values, or are known here. */
static bool knows_option(const char *option, bool cog) {
    static const char *const of_cog[] = {"BIGTIFF=YES",
                                         "BIGTIFF=IF_",
                                         "COMPRESS=NONE",
                                         "COMPRESS=DEFLATE",
                                         "COMPRESS=ZSTD",
                                         "COMPRESS=LZW",
                                         "LEVEL=",
                                         "PREDICTOR=",
                                         "BLOCKSIZE=",
                                         "NUM_THREADS=",
                                         "GEOTIFF_VERSION=1",
                                         "RESAMPLING=AVERAGE",
                                         "OVERVIEW_RESAMPLING=AVERAGE",
                                         NULL};
    static const char *const known[] = {"TILED=YES",
                                        "BIGTIFF=YES",
                                        "BIGTIFF=IF_SAFER",
                                        "COMPRESS=NONE",
                                        "COMPRESS=DEFLATE",
                                        "COMPRESS=ZSTD",
                                        "COMPRESS=LZW",
                                        "BLOCKXSIZE=",
                                        "BLOCKYSIZE=",
                                        "PREDICTOR=",
                                        "NUM_THREADS=",
                                        "ZSTD_LEVEL=",
                                        "ZLEVEL=",
                                        "INTERLEAVE=",
                                        "PHOTOMETRIC=",
                                        "PROFILE=",
                                        "GEOTIFF_KEYS_FLAVOR=",
                                        "GEOTIFF_VERSION=",
                                        "TFW=",
                                        "WORLDFILE=",
                                        "RPB=",
                                        "RPCTXT=",
                                        NULL};
    for (const char *const *each = cog ? of_cog : known; *each != NULL; each++) {
        size_t length = strlen(*each);
        bool any = (*each)[length - 1] == '=' || (*each)[length - 1] == '_';
        if (any ? EQUALN(option, *each, length) : hc_text_equal(option, *each)) {
            return true;
        }
    }
    return false;
}

int hc_write_level(const HcWritePlan *plan) {
    const char *name = CSLFetchNameValueDef(plan->options, "COMPRESS", "NONE");
    bool zstd = hc_text_equal(name, "ZSTD");
    const char *option = hc_write_is_cog(plan) ? "LEVEL" : zstd ? "ZSTD_LEVEL" : "ZLEVEL";
    return atoi(CSLFetchNameValueDef(plan->options, option, zstd ? "9" : "6"));
}

double hc_write_tile_rows(const HcWritePlan *plan, const HcScene *scene) {
    double line = (double)scene->samples * scene->bands * (double)hc_type_bytes(plan->type);
    int height = hc_write_is_cog(plan) ? hc_write_cog_edge(plan)
                                       : atoi(CSLFetchNameValueDef(plan->options, "BLOCKYSIZE", "256"));
    return line * fmin(2.0 * height, (double)scene->lines);
}

bool hc_write_encodes(const HcWritePlan *plan, const HcScene *scene) {
    bool cog = hc_write_is_cog(plan);
    bool created = plan->way == HC_WRITE_CREATE && strcmp(plan->format, "GTiff") == 0;
    if (!(cog ? hc_pyramid_takes(plan->type) : created) || scene->bands > HC_MANY_BANDS ||
        hc_write_tile_rows(plan, scene) > WAITING_MAX) {
        return false;
    }
    for (char **option = plan->options; option != NULL && *option != NULL; option++) {
        if (!knows_option(*option, cog)) {
            return false;
        }
    }
    int level = hc_write_level(plan);
    bool zstd = hc_text_equal(CSLFetchNameValueDef(plan->options, "COMPRESS", ""), "ZSTD");
    return level >= 1 && level <= (zstd ? 22 : 12);
}

/* ---- writing ---- */

struct HcWriteTiles {
    HcChunkIndex *index;
    HcChunkSink *sink;
    HcPyramid *pyramid;      /* of a COG, or NULL */
    int file, overview_file; /* -1 when closed */
};

static HcStatus fail_by_errno(const HcWritePlan *plan, HcError *err) {
    return hc_fail(err, hc_errno_status(errno, HC_E_IO), "%s: %s", plan->path, strerror(errno));
}

static HcStatus make_index(HcWriteTiles *tiles, const char *file, const HcWritePlan *plan,
                           const HcScene *scene, HcError *err) {
    HcScene stored = *scene;
    HcError why = {0};
    stored.type = plan->type;
    HcStatus status = hc_chunk_tiff(&tiles->index, file, &stored, &why);
    if (status != HC_OK) { /* it names the temporary file */
        size_t name = strlen(file);
        bool named = strncmp(why.text, file, name) == 0;
        return hc_fail(err, status, "%s%s%s", plan->path, named ? "" : ": ", why.text + (named ? name : 0));
    }
    return HC_OK;
}

/* The file of the overviews has no name. */
static HcStatus make_pyramid(HcWriteTiles *tiles, const char *file, const HcWritePlan *plan,
                             const HcScene *scene, HcError *err) {
    char *path = hc_text_format("%s.overviews", file);
    HC_OR_RETURN(hc_text_made(path, strlen(file), "a file name", err));
    tiles->overview_file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    HcStatus status = tiles->overview_file >= 0 ? HC_OK : fail_by_errno(plan, err);
    unlink(path);
    free(path);
    HcPyramidHow how = {.file = tiles->overview_file,
                        .nodata = plan->nodata,
                        .no_nodata = plan->no_nodata || plan->shares_nodata,
                        .nearest = hc_scene_is_class_map(scene)};
    return status == HC_OK ? hc_pyramid_open(&tiles->pyramid, tiles->index, &how, err) : status;
}

HcStatus hc_write_tiles_open(HcWriteTiles **out, const char *file, const HcWritePlan *plan,
                             const HcScene *scene, int32_t *rows, bool *pixels, HcError *err) {
    HcStatus status = HC_OK;
    HcWriteTiles *tiles = NULL;
    *out = NULL;
    HC_OR_RETURN(hc_new(tiles, 1, "tiles to write", err));
    tiles->file = tiles->overview_file = -1;
    HC_TRY(make_index(tiles, file, plan, scene, err));
    if (tiles->index == NULL || !hc_chunk_can_encode(tiles->index)) {
        goto done;
    }
    tiles->file = open(file, O_RDWR | O_CLOEXEC);
    if (tiles->file < 0) {
        HC_TRY(fail_by_errno(plan, err));
    }
    HC_TRY(hc_write_is_cog(plan) ? make_pyramid(tiles, file, plan, scene, err) : HC_OK);
    *rows = hc_chunk_sink_rows(tiles->index, plan->threads);
    *pixels = tiles->index->order[1] == HC_AXIS_SAMPLE;
    *out = tiles;
    tiles = NULL;
done:
    hc_write_tiles_close(tiles);
    return status;
}

static HcStatus take_tile(void *taker, int64_t number, const HcChunkValues *values, HcChunkEncoder *encoder,
                          HcError *err) {
    return hc_pyramid_add(taker, number, values, encoder, err);
}

HcStatus hc_write_tiles_begin(HcWriteTiles *tiles, const HcWritePlan *plan, void *lines, HcError *err) {
    struct stat info;
    if (fstat(tiles->file, &info) != 0) {
        return fail_by_errno(plan, err);
    }
    HcChunkSinkHow how = {.path = plan->path,
                          .file = tiles->file,
                          .end = info.st_size,
                          .level = hc_write_level(plan),
                          .threads = plan->threads,
                          .lines = lines,
                          .rows = hc_chunk_sink_rows(tiles->index, plan->threads),
                          .take = tiles->pyramid != NULL ? take_tile : NULL,
                          .taker = tiles->pyramid};
    return hc_chunk_sink_open(&tiles->sink, tiles->index, &how, err);
}

HcStatus hc_write_tiles_room(HcWriteTiles *tiles, int32_t *lines, HcError *err) {
    return hc_chunk_sink_room(tiles->sink, lines, err);
}

HcStatus hc_write_tiles_give(HcWriteTiles *tiles, int32_t lines, HcError *err) {
    return hc_chunk_sink_give(tiles->sink, lines, err);
}

HcStatus hc_write_tiles_finish(HcWriteTiles *tiles, const char *copy, const HcWritePlan *plan, HcError *err) {
    HC_OR_RETURN(hc_chunk_sink_finish(tiles->sink, err));
    hc_chunk_sink_close(tiles->sink); /* its memory is that of the copy */
    tiles->sink = NULL;
    HcCogParts parts = {.image = tiles->index,
                        .pyramid = tiles->pyramid,
                        .image_file = tiles->file,
                        .overview_file = tiles->overview_file};
    HC_OR_RETURN(tiles->pyramid != NULL ? hc_write_cog_file(copy, &parts, plan, err)
                                        : hc_chunk_tiff_store(tiles->index, tiles->file, plan->path, err));
    int file = tiles->file;
    tiles->file = -1;
    return close(file) == 0 ? HC_OK : fail_by_errno(plan, err);
}

void hc_write_tiles_close(HcWriteTiles *tiles) {
    if (tiles == NULL) {
        return;
    }
    hc_chunk_sink_close(tiles->sink);
    hc_pyramid_close(tiles->pyramid);
    hc_chunk_index_free(tiles->index);
    if (tiles->file >= 0) {
        close(tiles->file);
    }
    if (tiles->overview_file >= 0) {
        close(tiles->overview_file);
    }
    free(tiles);
}
