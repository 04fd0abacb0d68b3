/* Cloud optimised GeoTIFFs: what GDAL's driver is given, so that it keeps within memory.
 *
 * The driver only copies, and stores the bands of a pixel together: one tile of 512 x 512 pixels and 1,000
 * bands of float32 has 1 GiB, and the driver holds a few of them. So tiles get smaller with the number of
 * bands. The driver also makes overviews, and then reads its source once a band where that has all bands in a
 * tile. So the source is made here band by band, in tiles of the same size, and has its overviews already. */
#include "io/write_parts.h"

#include <cpl_conv.h>
#include <cpl_string.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB             1048576.0
#define STANDARD_EDGE   512 /* of the driver */
#define TILE_BYTES_MOST (8 * MIB)
#define TILES_HELD      4.5        /* in the driver and in libtiff, measured */
#define DRIVER_BYTES    (40 * MIB) /* for overviews and GDAL's cache */
#define OVERVIEWS_MOST  24

bool hc_write_is_cog(const HcWritePlan *plan) {
    return plan->format != NULL && strcmp(plan->format, "COG") == 0;
}

static int edge_of(const HcWritePlan *plan) {
    int edge = atoi(CSLFetchNameValueDef(plan->options, "BLOCKSIZE", "0"));
    return edge > 0 ? edge : STANDARD_EDGE;
}

static double tile_bytes(const HcWritePlan *plan, const HcScene *scene, int edge) {
    return (double)hc_type_bytes(plan->type) * scene->bands * edge * edge;
}

char **hc_write_cog_tiles(char **options, const HcWritePlan *plan, const HcScene *scene) {
    char text[24];
    int edge = STANDARD_EDGE;
    int64_t extent = scene->samples > scene->lines ? scene->samples : scene->lines;
    while (edge > 16 && (tile_bytes(plan, scene, edge) > TILE_BYTES_MOST ||
                         (edge < STANDARD_EDGE && edge / 2 >= extent))) {
        edge /= 2;
    }
    snprintf(text, sizeof text, "%d", edge);
    return edge < STANDARD_EDGE ? CSLSetNameValue(options, "BLOCKSIZE", text) : options;
}

static int processors(void) {
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : count > 1024 ? 1024 : (int)count;
}

/* Each thread that compresses holds tiles of its own: 32 MiB of them in all. */
char **hc_write_cog_threads(char **options, const HcWritePlan *plan, const HcScene *scene) {
    char text[24];
    double room = 4 * TILE_BYTES_MOST / tile_bytes(plan, scene, edge_of(plan));
    int threads = room < 1 ? 1 : room < processors() ? (int)room : processors();
    snprintf(text, sizeof text, "%d", threads);
    return CSLSetNameValue(options, "NUM_THREADS", text);
}

static int threads_of(const HcWritePlan *plan) {
    const char *text = CSLFetchNameValueDef(plan->options, "NUM_THREADS", "0");
    return hc_text_equal(text, "ALL_CPUS") ? processors() : atoi(text);
}

double hc_write_cog_memory(const HcWritePlan *plan, const HcScene *scene) {
    double tiles = TILES_HELD + 2 * (threads_of(plan) > 1 ? threads_of(plan) : 0);
    return tiles * tile_bytes(plan, scene, edge_of(plan)) + DRIVER_BYTES;
}

int hc_write_cog_rows(const HcWritePlan *plan, const HcScene *scene) {
    return edge_of(plan) < scene->lines ? edge_of(plan) : (int)scene->lines;
}

static int source_edge(int64_t extent, int edge) {
    int64_t least = (extent + 15) / 16 * 16;
    return (int)(least < edge ? least : (edge + 15) / 16 * 16);
}

char **hc_write_cog_source(const HcWritePlan *plan, const HcScene *scene) {
    char text[24];
    char **options = CSLSetNameValue(NULL, "TILED", "YES");
    snprintf(text, sizeof text, "%d", source_edge(scene->samples, edge_of(plan)));
    options = CSLSetNameValue(options, "BLOCKXSIZE", text);
    snprintf(text, sizeof text, "%d", source_edge(scene->lines, edge_of(plan)));
    options = CSLSetNameValue(options, "BLOCKYSIZE", text);
    options = CSLSetNameValue(options, "INTERLEAVE", "BAND");
    return CSLSetNameValue(options, "BIGTIFF", "IF_SAFER");
}

/* Overviews of half the size until one fits a tile, as the driver makes them. Classes are not averaged. */
static CPLErr build(GDALDatasetH source, const HcWritePlan *plan, const HcScene *scene) {
    int factors[OVERVIEWS_MOST], count = 0, edge = edge_of(plan);
    int64_t samples = scene->samples, lines = scene->lines;
    const char *standard = hc_scene_is_class_map(scene) ? "NEAREST" : "CUBIC";
    const char *way = CSLFetchNameValueDef(plan->options, "RESAMPLING", standard);
    char text[24];
    while ((samples > edge || lines > edge) && count < OVERVIEWS_MOST) {
        samples /= 2;
        lines /= 2;
        factors[count] = 2 << count;
        count++;
    }
    snprintf(text, sizeof text, "%d", edge < 64 ? 64 : edge); /* GDAL takes no smaller one */
    CPLSetThreadLocalConfigOption("GDAL_TIFF_OVR_BLOCKSIZE", text);
    CPLErr result =
        count == 0
            ? CE_None
            : GDALBuildOverviews(source, CSLFetchNameValueDef(plan->options, "OVERVIEW_RESAMPLING", way),
                                 count, factors, 0, NULL, NULL, NULL);
    CPLSetThreadLocalConfigOption("GDAL_TIFF_OVR_BLOCKSIZE", NULL);
    return result;
}

HcStatus hc_write_cog_overviews(const char *file, const HcWritePlan *plan, const HcScene *scene,
                                HcError *err) {
    static const char *const own[] = {"OVERVIEWS", "OVERVIEW_COUNT", "TILING_SCHEME", "WARP_RESAMPLING",
                                      NULL};
    HcStatus status = HC_OK;
    HcGdalErrors errors;
    for (int i = 0; own[i] != NULL; i++) {
        if (CSLFetchNameValue(plan->options, own[i]) != NULL) {
            return HC_OK; /* the user decides: the driver knows how */
        }
    }
    hc_gdal_catch(&errors);
    GDALDatasetH source = GDALOpen(file, GA_Update);
    CPLErr result = source != NULL ? build(source, plan, scene) : CE_Failure;
    GDALClose(source);
    if (result != CE_None || errors.failed) {
        status = hc_gdal_fail(err, HC_E_IO, plan->path, &errors);
    }
    hc_gdal_release();
    return status;
}
