/* Cloud optimised GeoTIFFs: what GDAL's driver is given, so that it keeps within memory.
 *
 * The driver only copies, and stores the bands of a pixel together: one tile of 512 x 512 pixels and 1,000
 * bands of float32 has 1 GiB, and the driver holds a few of them. So tiles get smaller with the number of
 * bands. The driver also makes overviews, and then reads its source once a band where that has all bands in a
 * tile. So the source is made here band by band, in tiles of the same size, and has its overviews already:
 * each band's are computed in memory by a thread, since GDAL has one thread for all of them. */
#include "core/allocate.h"
#include "core/system/team.h"
#include "io/write/parts.h"

#include <cpl_conv.h>
#include <cpl_string.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MIB            1048576.0
#define STANDARD_EDGE  512 /* of the driver */
#define TILE_BYTES_MAX (8 * MIB)
#define TILES_HELD     4.5        /* in the driver and in libtiff, measured */
#define DRIVER_BYTES   (40 * MIB) /* for overviews and GDAL's cache */
#define OVERVIEWS_MAX  24
#define BUILDER_BYTES                                                                                        \
    (4 * MIB) /* of a thread that makes overviews: lines as floats, with those around them */
#define BUILDER_PIXEL_BYTES 2048.0

bool hc_write_is_cog(const HcWritePlan *plan) {
    return plan->format != NULL && strcmp(plan->format, "COG") == 0;
}

bool hc_write_is_tiff(const HcWritePlan *plan) {
    return strcmp(plan->format, "GTiff") == 0 || hc_write_is_cog(plan);
}

int hc_write_cog_edge(const HcWritePlan *plan) {
    int edge = atoi(CSLFetchNameValueDef(plan->options, "BLOCKSIZE", "0"));
    return edge > 0 ? edge : STANDARD_EDGE;
}

static double tile_bytes(const HcWritePlan *plan, const HcScene *scene, int edge) {
    return (double)hc_type_bytes(plan->type) * scene->bands * edge * edge;
}

HcStatus hc_write_cog_tiles(char ***options, const HcWritePlan *plan, const HcScene *scene, HcError *err) {
    char text[24];
    int edge = STANDARD_EDGE;
    int64_t extent = scene->samples > scene->lines ? scene->samples : scene->lines;
    while (edge > 16 &&
           (tile_bytes(plan, scene, edge) > TILE_BYTES_MAX || (edge < STANDARD_EDGE && edge / 2 >= extent))) {
        edge /= 2;
    }
    snprintf(text, sizeof text, "%d", edge);
    return edge < STANDARD_EDGE ? hc_write_option(options, "BLOCKSIZE", text, err) : HC_OK;
}

double hc_write_cog_memory(const HcWritePlan *plan, const HcScene *scene) {
    return TILES_HELD * tile_bytes(plan, scene, hc_write_cog_edge(plan)) + DRIVER_BYTES;
}

int hc_write_cog_rows(const HcWritePlan *plan, const HcScene *scene) {
    return hc_write_cog_edge(plan) < scene->lines ? hc_write_cog_edge(plan) : (int)scene->lines;
}

static int source_edge(int64_t extent, int edge) {
    int64_t least = (extent + 15) / 16 * 16;
    return (int)(least < edge ? least : (edge + 15) / 16 * 16);
}

HcStatus hc_write_cog_source(char ***options, const HcWritePlan *plan, const HcScene *scene, HcError *err) {
    char text[24];
    HC_OR_RETURN(hc_write_option(options, "TILED", "YES", err));
    snprintf(text, sizeof text, "%d", source_edge(scene->samples, hc_write_cog_edge(plan)));
    HC_OR_RETURN(hc_write_option(options, "BLOCKXSIZE", text, err));
    snprintf(text, sizeof text, "%d", source_edge(scene->lines, hc_write_cog_edge(plan)));
    HC_OR_RETURN(hc_write_option(options, "BLOCKYSIZE", text, err));
    HC_OR_RETURN(hc_write_option(options, "INTERLEAVE", "BAND", err));
    return hc_write_option(options, "BIGTIFF", "IF_SAFER", err);
}

/* ---- overviews ---- */

/* Whether the source has them: the driver makes those that the user decides on, and those of 64-bit integers,
 * of whose directories GDAL 3.6 makes a circle in the source (gdaladdo of Int64 with a nodata value). */
static bool has_own_overviews(const HcWritePlan *plan) {
    static const char *const words[] = {"OVERVIEWS", "OVERVIEW_COUNT", "TILING_SCHEME", "WARP_RESAMPLING",
                                        NULL};
    bool decided = plan->type == HC_INT64 || plan->type == HC_UINT64;
    for (int i = 0; words[i] != NULL; i++) {
        decided = decided || CSLFetchNameValue(plan->options, words[i]) != NULL;
    }
    return !decided;
}

/* Half the size until one fits a tile, as the driver makes them. Returns how many there are. */
static int choose_factors(const HcWritePlan *plan, const HcScene *scene, int factors[OVERVIEWS_MAX]) {
    int count = 0, edge = hc_write_cog_edge(plan);
    int64_t samples = scene->samples, lines = scene->lines;
    while ((samples > edge || lines > edge) && count < OVERVIEWS_MAX) {
        samples /= 2;
        lines /= 2;
        factors[count] = 2 << count;
        count++;
    }
    return count;
}

/* Classes are not averaged. */
static const char *resampling_of(const HcWritePlan *plan, const HcScene *scene) {
    const char *standard = hc_scene_is_class_map(scene) ? "NEAREST" : "CUBIC";
    const char *way = CSLFetchNameValueDef(plan->options, "RESAMPLING", standard);
    return CSLFetchNameValueDef(plan->options, "OVERVIEW_RESAMPLING", way);
}

static CPLErr build(GDALDatasetH source, const HcWritePlan *plan, const HcScene *scene, const char *way) {
    int factors[OVERVIEWS_MAX], count = choose_factors(plan, scene, factors), edge = hc_write_cog_edge(plan);
    char text[24];
    snprintf(text, sizeof text, "%d", edge < 64 ? 64 : edge); /* GDAL takes no smaller one */
    CPLSetThreadLocalConfigOption("GDAL_TIFF_OVR_BLOCKSIZE", text);
    CPLErr result =
        count == 0 ? CE_None : GDALBuildOverviews(source, way, count, factors, 0, NULL, NULL, NULL);
    CPLSetThreadLocalConfigOption("GDAL_TIFF_OVR_BLOCKSIZE", NULL);
    return result;
}

/* Bands that threads take in turn: each reads the file by a handle of its own, and one at a time writes. */
typedef struct Building {
    const HcWritePlan *plan;
    const char *way;
    GDALDatasetH to;
    GDALDatasetH *from; /* [threads] */
    pthread_mutex_t lock;
    HcError error; /* the first one */
} Building;

/* A band's overviews in memory, empty; false: GDAL has said why. */
static bool open_memory(const Building *building, int band, GDALDatasetH memory[OVERVIEWS_MAX]) {
    GDALRasterBandH to = GDALGetRasterBand(building->to, band);
    int has_nodata = 0;
    const double nodata = GDALGetRasterNoDataValue(to, &has_nodata);
    bool opened = true;
    for (int k = 0; k < GDALGetOverviewCount(to) && opened; k++) {
        GDALRasterBandH overview = GDALGetOverview(to, k);
        memory[k] = GDALCreate(GDALGetDriverByName("MEM"), "", GDALGetRasterBandXSize(overview),
                               GDALGetRasterBandYSize(overview), 1, building->plan->gdal_type, NULL);
        opened =
            memory[k] != NULL &&
            (!has_nodata || GDALSetRasterNoDataValue(GDALGetRasterBand(memory[k], 1), nodata) == CE_None);
    }
    return opened;
}

static CPLErr store(GDALRasterBandH from, GDALRasterBandH to) {
    enum { ROWS = 64 };
    const int samples = GDALGetRasterBandXSize(from), lines = GDALGetRasterBandYSize(from);
    const GDALDataType type = GDALGetRasterDataType(from);
    CPLErr result = CE_None;
    void *values = VSI_MALLOC3_VERBOSE((size_t)samples, (size_t)ROWS, (size_t)GDALGetDataTypeSizeBytes(type));
    for (int line = 0; line < lines && result == CE_None && values != NULL; line += ROWS) {
        int rows = lines - line < ROWS ? lines - line : ROWS;
        result = GDALRasterIO(from, GF_Read, 0, line, samples, rows, values, samples, rows, type, 0, 0);
        result = result != CE_None
                     ? result
                     : GDALRasterIO(to, GF_Write, 0, line, samples, rows, values, samples, rows, type, 0, 0);
    }
    VSIFree(values);
    return values != NULL ? result : CE_Failure;
}

static CPLErr build_band(Building *building, GDALDatasetH from, int band) {
    GDALDatasetH memory[OVERVIEWS_MAX] = {NULL};
    GDALRasterBandH small[OVERVIEWS_MAX];
    GDALRasterBandH to = GDALGetRasterBand(building->to, band);
    const int count = GDALGetOverviewCount(to);
    CPLErr result = open_memory(building, band, memory) ? CE_None : CE_Failure;
    GDALRasterBandH larger = GDALGetRasterBand(from, band);
    for (int k = 0; k < count && result == CE_None; k++) { /* each from the one before, as GDAL does */
        small[k] = GDALGetRasterBand(memory[k], 1);
        result = GDALRegenerateOverviews(larger, 1, &small[k], building->way, NULL, NULL);
        larger = small[k];
    }
    pthread_mutex_lock(&building->lock);
    for (int k = 0; k < count && result == CE_None; k++) {
        result = store(small[k], GDALGetOverview(to, k));
    }
    pthread_mutex_unlock(&building->lock);
    for (int k = 0; k < count; k++) {
        GDALClose(memory[k]);
    }
    return result;
}

static void build_item(void *user, int64_t item, int32_t thread) {
    Building *building = user;
    HcGdalErrors errors;
    hc_gdal_catch(&errors);
    CPLErr result = build_band(building, building->from[thread], (int)item + 1);
    if (result != CE_None || errors.failed) {
        pthread_mutex_lock(&building->lock);
        if (building->error.status == HC_OK) {
            (void)hc_gdal_fail(&building->error, HC_E_IO, building->plan->path, &errors);
        }
        pthread_mutex_unlock(&building->lock);
    }
    hc_gdal_release();
}

/* All overviews of the file that is copied, by threads; those of the file are there, and empty. */
static HcStatus build_bands(GDALDatasetH source, const char *file, const HcWritePlan *plan,
                            const HcScene *scene, HcError *err) {
    HcStatus status = HC_OK;
    HcTeam *team = hc_team_open(plan->threads);
    const int32_t threads = hc_team_threads(team);
    Building building = {.plan = plan, .way = resampling_of(plan, scene), .to = source};
    pthread_mutex_init(&building.lock, NULL);
    HC_TRY(hc_new(building.from, (size_t)threads, "files that are open", err));
    for (int32_t t = 0; t < threads; t++) {
        building.from[t] = GDALOpen(file, GA_ReadOnly);
        if (building.from[t] == NULL) {
            HC_TRY(hc_fail(err, HC_E_IO, "%s: the file is not whole when read back", plan->path));
        }
    }
    hc_team_run(team, scene->bands, build_item, &building);
    if (building.error.status != HC_OK) {
        *err = building.error;
        status = err->status;
    }
done:
    for (int32_t t = 0; t < threads && building.from != NULL; t++) {
        GDALClose(building.from[t]);
    }
    free(building.from);
    pthread_mutex_destroy(&building.lock);
    hc_team_close(team);
    return status;
}

bool hc_write_cog_builds(const HcWritePlan *plan) {
    return hc_write_is_cog(plan) && has_own_overviews(plan);
}

/* A thread has a band's overviews, a third of the band, and what GDAL reads of it at a time. */
double hc_write_cog_thread_memory(const HcWritePlan *plan, const HcScene *scene) {
    double pixels = (double)scene->lines * (double)scene->samples;
    return pixels * (double)hc_type_bytes(plan->type) / 3 + (double)scene->samples * BUILDER_PIXEL_BYTES +
           BUILDER_BYTES;
}

HcStatus hc_write_cog_overviews(const char *file, const HcWritePlan *plan, const HcScene *scene,
                                HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors errors;
    const bool threads = plan->threads > 1 && hc_write_threads_fixed(plan) <= 1;
    if (!has_own_overviews(plan)) {
        return HC_OK;
    }
    hc_gdal_catch(&errors);
    GDALDatasetH source = GDALOpen(file, GA_Update);
    CPLErr result = source != NULL ? build(source, plan, scene, threads ? "NONE" : resampling_of(plan, scene))
                                   : CE_Failure;
    if (result == CE_None && threads) {
        GDALFlushCache(source); /* threads open the file, too */
        status = build_bands(source, file, plan, scene, err);
    }
    GDALClose(source);
    if (status == HC_OK && (result != CE_None || errors.failed)) {
        status = hc_gdal_fail(err, HC_E_IO, plan->path, &errors);
    }
    hc_gdal_release();
    return status;
}
