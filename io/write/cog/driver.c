/* Cloud optimised GeoTIFFs: what GDAL's driver is given, so that it keeps within memory.
 *
 * The driver only copies, and stores the bands of a pixel together: one tile of 512 x 512 pixels and 1,000
 * bands of float32 has 1 GiB, and the driver holds a few of them. So tiles get smaller with the number of
 * bands. The driver also makes overviews, and then reads its source once a band where that has all bands in a
 * tile. So the source is made here band by band, in tiles of the same size, and has its overviews already. */
#include "io/write/parts.h"

#include <cpl_conv.h>
#include <cpl_string.h>
#include <stdlib.h>
#include <string.h>

#define MIB            1048576.0
#define STANDARD_EDGE  512 /* of the driver */
#define TILE_BYTES_MAX (8 * MIB)
#define TILES_HELD     4.5        /* in the driver and in libtiff, measured */
#define DRIVER_BYTES   (40 * MIB) /* for overviews and GDAL's cache */
#define OVERVIEWS_MAX  24

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

/* Of an image whose tiles are those of the COG. */
static HcStatus add_image_options(char ***options, const HcWritePlan *plan, HcError *err) {
    const char *predictor = CSLFetchNameValueDef(plan->options, "PREDICTOR", "NO");
    bool floating = plan->type == HC_FLOAT32 || plan->type == HC_FLOAT64;
    bool third = hc_text_equal(predictor, "FLOATING_POINT") || (hc_text_equal(predictor, "YES") && floating);
    char text[24];
    snprintf(text, sizeof text, "%d", hc_write_cog_edge(plan));
    HC_OR_RETURN(hc_write_option(options, "BLOCKXSIZE", text, err));
    HC_OR_RETURN(hc_write_option(options, "BLOCKYSIZE", text, err));
    HC_OR_RETURN(hc_write_option(options, "INTERLEAVE", "PIXEL", err));
    HC_OR_RETURN(hc_write_option(options, "BIGTIFF", "IF_SAFER", err));
    HC_OR_RETURN(
        hc_write_option(options, "COMPRESS", CSLFetchNameValueDef(plan->options, "COMPRESS", "LZW"), err));
    return hc_write_option(options, "PREDICTOR",
                           third                            ? "3"
                           : hc_text_equal(predictor, "NO") ? "1"
                                                            : "2",
                           err);
}

HcStatus hc_write_cog_source(char ***options, const HcWritePlan *plan, const HcScene *scene, HcError *err) {
    char text[24];
    HC_OR_RETURN(hc_write_option(options, "TILED", "YES", err));
    if (plan->encodes) {
        return add_image_options(options, plan, err);
    }
    snprintf(text, sizeof text, "%d", source_edge(scene->samples, hc_write_cog_edge(plan)));
    HC_OR_RETURN(hc_write_option(options, "BLOCKXSIZE", text, err));
    snprintf(text, sizeof text, "%d", source_edge(scene->lines, hc_write_cog_edge(plan)));
    HC_OR_RETURN(hc_write_option(options, "BLOCKYSIZE", text, err));
    HC_OR_RETURN(hc_write_option(options, "INTERLEAVE", "BAND", err));
    return hc_write_option(options, "BIGTIFF", "IF_SAFER", err);
}

/* Overviews of half the size until one fits a tile, as the driver makes them. Classes are not averaged. */
static CPLErr build(GDALDatasetH source, const HcWritePlan *plan, const HcScene *scene) {
    int factors[OVERVIEWS_MAX], count = 0, edge = hc_write_cog_edge(plan);
    int64_t samples = scene->samples, lines = scene->lines;
    const char *standard = hc_scene_is_class_map(scene) ? "NEAREST" : "AVERAGE";
    const char *way = CSLFetchNameValueDef(plan->options, "RESAMPLING", standard);
    char text[24];
    while ((samples > edge || lines > edge) && count < OVERVIEWS_MAX) {
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
    /* The driver makes those of 64-bit integers: of their directories, with a nodata value, GDAL 3.6 makes a
     * circle in the source, in which it searches for ever. */
    if (plan->type == HC_INT64 || plan->type == HC_UINT64) {
        return HC_OK;
    }
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
