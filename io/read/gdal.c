/* Reading through GDAL. */
#include "core/allocate.h"
#include "io/guard/guard.h"
#include "io/libraries.h"
#include "io/read/parts.h"

#include <cpl_conv.h>
#include <cpl_string.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

GDALDatasetH hc_read_gdal_open(const char *path, const char *driver, HcGdalErrors *messages) {
    const char *const only[] = {driver, NULL};
    hc_gdal_catch(messages);
    GDALDatasetH dataset = hc_guard_open(path, GDAL_OF_RASTER | GDAL_OF_READONLY | GDAL_OF_VERBOSE_ERROR,
                                         driver != NULL ? only : NULL, NULL);
    hc_gdal_release();
    return dataset;
}

static const struct {
    GDALDataType code;
    HcType type;
} type_table[] = {
    {GDT_Byte, HC_UINT8},    {GDT_UInt16, HC_UINT16},   {GDT_Int16, HC_INT16},
    {GDT_UInt32, HC_UINT32}, {GDT_Int32, HC_INT32},     {GDT_UInt64, HC_UINT64},
    {GDT_Int64, HC_INT64},   {GDT_Float32, HC_FLOAT32}, {GDT_Float64, HC_FLOAT64},
#if GDAL_VERSION_NUM >= GDAL_COMPUTE_VERSION(3, 7, 0)
    {GDT_Int8, HC_INT8},
#endif
};

GDALDataType hc_read_gdal_code(HcType type) {
    for (size_t i = 0; i < sizeof type_table / sizeof *type_table; i++) {
        if (type_table[i].type == type) {
            return type_table[i].code;
        }
    }
    return GDT_Byte; /* int8 before GDAL 3.7: bytes with a remark in the metadata */
}

bool hc_read_gdal_code_type(GDALDataType code, HcType *type) {
    for (size_t i = 0; i < sizeof type_table / sizeof *type_table; i++) {
        if (type_table[i].code == code) {
            *type = type_table[i].type;
            return true;
        }
    }
    return false;
}

/* Since 3.7 GDAL has a type int8, and would clamp bytes with a remark on their way to it. So it would clamp
 * integers that are unsigned by an attribute which GDAL does not take. */
GDALDataType hc_read_gdal_buffer_code(GDALDatasetH dataset, HcType type) {
    GDALDataType own = GDALGetRasterDataType(GDALGetRasterBand(dataset, 1));
    bool as_stored = (type == HC_INT8 && own == GDT_Byte) || (type == HC_UINT32 && own == GDT_Int32) ||
                     (type == HC_UINT64 && own == GDT_Int64);
    return as_stored ? own : hc_read_gdal_code(type);
}

static bool is_signed_byte(GDALRasterBandH band) {
    /* By the list: since 3.7 GDAL warns where it is asked for this item of a band of bytes. */
    const char *type = CSLFetchNameValue(GDALGetMetadata(band, "IMAGE_STRUCTURE"), "PIXELTYPE");
    return GDALGetRasterDataType(band) == GDT_Byte && type != NULL && hc_text_equal(type, "SIGNEDBYTE");
}

bool hc_read_gdal_type(GDALDatasetH dataset, HcType *type) {
    GDALDataType all = GDALGetRasterDataType(GDALGetRasterBand(dataset, 1));
    int signed_bytes = 0, bands = GDALGetRasterCount(dataset);
    for (int b = 1; b <= bands; b++) {
        all = GDALDataTypeUnion(all, GDALGetRasterDataType(GDALGetRasterBand(dataset, b)));
        signed_bytes += is_signed_byte(GDALGetRasterBand(dataset, b));
    }
    if (signed_bytes > 0) { /* GDAL would read them as unsigned among others */
        *type = HC_INT8;
        return signed_bytes == bands;
    }
    return hc_read_gdal_code_type(all, type);
}

/* The longest side of an overview of the raster, 0 where a band has none of that number and size. */
static int64_t overview_side(GDALDatasetH dataset, int level) {
    int width = 0, height = 0;
    for (int b = 1; b <= GDALGetRasterCount(dataset); b++) {
        GDALRasterBandH band = GDALGetRasterBand(dataset, b);
        GDALRasterBandH overview = level < GDALGetOverviewCount(band) ? GDALGetOverview(band, level) : NULL;
        if (overview == NULL || GDALGetRasterDataType(overview) != GDALGetRasterDataType(band) ||
            (b > 1 &&
             (GDALGetRasterBandXSize(overview) != width || GDALGetRasterBandYSize(overview) != height))) {
            return 0;
        }
        width = GDALGetRasterBandXSize(overview);
        height = GDALGetRasterBandYSize(overview);
    }
    return width > height ? width : height;
}

/* The smallest overview that suffices, -1 = none. */
static int overview_of(GDALDatasetH dataset, int64_t enough) {
    int best = -1;
    int64_t least = 0;
    for (int level = 0; level < GDALGetOverviewCount(GDALGetRasterBand(dataset, 1)); level++) {
        int64_t side = overview_side(dataset, level);
        if (side >= enough && (best < 0 || side < least)) {
            best = level;
            least = side;
        }
    }
    return best;
}

/* The scene has the pixels of the overview now. What counts in pixels of the file is left out. */
static void take_size(HcScene *scene, GDALDatasetH overview) {
    double across = (double)scene->samples / GDALGetRasterXSize(overview);
    double along = (double)scene->lines / GDALGetRasterYSize(overview);
    scene->samples = GDALGetRasterXSize(overview);
    scene->lines = GDALGetRasterYSize(overview);
    for (int k = 0; k < 6; k += 3) {
        scene->place.transform[k + 1] *= across;
        scene->place.transform[k + 2] *= along;
    }
    scene->rpc.known = false;
}

void hc_read_overview(HcReader *reader) {
    HcScene *scene = &reader->scene;
    int64_t enough = reader->options.enough;
    bool large = hc_max64(scene->lines, scene->samples) > HC_READER_MUCH * enough;
    /* Means of classes are no classes, and arrays of positions name pixels of the file. */
    if (enough <= 0 || !large || reader->dataset == NULL || reader->product != NULL ||
        hc_scene_is_class_map(scene) || scene->lookup.file != NULL) {
        return;
    }
    HcGdalErrors messages;
    char level[40];
    const char *const how[] = {level, NULL};
    hc_gdal_catch(&messages);
    int best = overview_of(reader->dataset, enough);
    snprintf(level, sizeof level, "OVERVIEW_LEVEL=%d", best);
    GDALDatasetH overview =
        best >= 0 ? GDALOpenEx(reader->path, GDAL_OF_RASTER | GDAL_OF_READONLY, NULL, how, NULL) : NULL;
    hc_gdal_release();
    if (overview == NULL || GDALGetRasterCount(overview) != scene->bands) {
        GDALClose(overview);
        return;
    }
    hc_read_let_go(reader);
    reader->dataset = overview;
    reader->is_overview = true;
    hc_read_note(reader, "the picture is made of an overview in the file, %d x %d for %" PRId64 " x %" PRId64,
                 GDALGetRasterYSize(overview), GDALGetRasterXSize(overview), scene->lines, scene->samples);
    take_size(scene, overview);
}

/* ---- the mask of the file ---- */

/* Whether a band has a mask that is neither its nodata value nor an alpha band. */
static bool has_mask(GDALDatasetH dataset, int band) {
    int flags = GDALGetMaskFlags(GDALGetRasterBand(dataset, band));
    return (flags & (GMF_ALL_VALID | GMF_ALPHA)) == 0 && flags != GMF_NODATA;
}

/* One among others: GDAL takes it for the mask only where there are one or three of them. */
static bool is_alpha(GDALDatasetH dataset, int band) {
    return GDALGetRasterCount(dataset) > 1 &&
           GDALGetRasterColorInterpretation(GDALGetRasterBand(dataset, band)) == GCI_AlphaBand;
}

static char *name_mask(GDALDatasetH dataset, int masked, int alpha) {
    if (masked == 0) {
        return hc_text_format("alpha band %d", alpha);
    }
    int flags = GDALGetMaskFlags(GDALGetRasterBand(dataset, masked));
    return strdup((flags & GMF_NODATA) != 0 ? "NODATA_VALUES" : "mask band");
}

/* It is no band of the spectrum. */
static HcStatus leave_alpha_out(HcReader *reader, HcError *err) {
    HcScene *scene = &reader->scene;
    if (scene->bad == NULL) {
        HC_OR_RETURN(hc_new(scene->bad, (size_t)scene->bands, "the list of bad bands", err));
    }
    scene->bad[reader->mask_alpha - 1] = true;
    return HC_OK;
}

HcStatus hc_read_mask(HcReader *reader, HcError *err) {
    HcGdalErrors messages;
    GDALDatasetH dataset = reader->dataset;
    int masked = 0, alpha = 0;
    if (dataset == NULL || reader->options.ignore_mask) {
        return HC_OK;
    }
    hc_gdal_catch(&messages);
    for (int b = GDALGetRasterCount(dataset); b > 0; b--) {
        masked = has_mask(dataset, b) ? b : masked;
        alpha = is_alpha(dataset, b) ? b : alpha;
    }
    if (masked > 0 || alpha > 0) {
        reader->mask = dataset;
        reader->mask_alpha = alpha;
        reader->mask_name = name_mask(dataset, masked, alpha);
    }
    hc_gdal_release();
    if (reader->mask != NULL && reader->mask_name == NULL) {
        return hc_fail_memory(err, 0, "a text");
    }
    return alpha > 0 ? leave_alpha_out(reader, err) : HC_OK;
}

void hc_read_let_go(HcReader *reader) {
    if (reader->dataset != reader->mask) {
        GDALClose(reader->dataset);
    }
    reader->dataset = NULL;
}

/* Clears pixels of these lines where the band is 0. Of a scene that is an overview it is larger. */
static CPLErr apply_mask(const HcReader *reader, GDALRasterBandH band, int64_t line0, int32_t lines,
                         float *values, uint8_t *to) {
    const HcScene *scene = &reader->scene;
    int64_t samples = hc_read_samples(reader);
    int64_t width = GDALGetRasterBandXSize(band), height = GDALGetRasterBandYSize(band);
    int x0 = (int)(reader->sample0 * width / scene->samples), y0 = (int)(line0 * height / scene->lines);
    int x1 = (int)((reader->sample0 + samples) * width / scene->samples);
    int y1 = (int)((line0 + lines) * height / scene->lines);
    CPLErr result =
        GDALRasterIO(band, GF_Read, x0, y0, x1 - x0, y1 - y0, values, (int)samples, lines, GDT_Float32, 0, 0);
    for (int64_t p = 0; result == CE_None && p < lines * samples; p++) {
        to[p] &= values[p] != 0;
    }
    return result;
}

/* One mask for all bands, and those of single bands. */
static CPLErr apply_masks(const HcReader *reader, int64_t line0, int32_t lines, float *values, uint8_t *to) {
    CPLErr result = CE_None;
    bool whole = false;
    int alpha = reader->mask_alpha;
    for (int32_t k = 0; k < hc_read_used_count(reader) && result == CE_None; k++) {
        int number = (reader->used != NULL ? reader->used[k] : k) + 1;
        GDALRasterBandH band = GDALGetRasterBand(reader->mask, number);
        bool shared = (GDALGetMaskFlags(band) & GMF_PER_DATASET) != 0;
        if (has_mask(reader->mask, number) && !(shared && whole)) {
            result = apply_mask(reader, GDALGetMaskBand(band), line0, lines, values, to);
            whole = whole || shared;
        }
    }
    return alpha > 0 && result == CE_None
               ? apply_mask(reader, GDALGetRasterBand(reader->mask, alpha), line0, lines, values, to)
               : result;
}

HcStatus hc_reader_read_mask(const HcReader *reader, int64_t line0, int32_t lines, uint8_t *to,
                             HcError *err) {
    HcGdalErrors messages;
    CPLErr result = CE_None;
    float *values = NULL;
    int64_t samples = hc_read_samples(reader);
    int64_t step = hc_max64(1, HC_READER_MASK_BYTES / (samples * (int64_t)sizeof *values));
    if (reader->mask == NULL) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_new(values, (size_t)(hc_min64(step, lines) * samples), "the mask", err));
    hc_remote_watch(reader->path);
    hc_gdal_catch(&messages);
    hc_gdal_files_pixels(true);
    for (int64_t done = 0; done < lines && result == CE_None; done += step) {
        int32_t now = (int32_t)hc_min64(step, lines - done);
        result = apply_masks(reader, line0 + done, now, values, to + done * samples);
    }
    hc_gdal_files_pixels(false);
    hc_gdal_release();
    hc_remote_settle(reader->path);
    free(values);
    HC_OR_RETURN(hc_gdal_files_check(reader->mark, err));
    return result == CE_None && !messages.failed ? HC_OK
                                                 : hc_gdal_fail(err, HC_E_INPUT, reader->path, &messages);
}

size_t hc_read_gdal_bytes(const HcReader *reader, int64_t lines) {
    return (size_t)lines * (size_t)hc_read_samples(reader) * (size_t)hc_read_used_count(reader) *
           hc_type_bytes(reader->scene.type);
}

/* A thread decodes one tile: GDAL holds its bytes in the file and its values. */
size_t hc_reader_thread_bytes(const HcReader *reader) {
    int threads = hc_io_thread_count(CPLGetConfigOption("GDAL_NUM_THREADS", "1"));
    int width = 0, height = 0;
    if (reader->dataset == NULL || threads < 2) {
        return 0;
    }
    GDALGetBlockSize(GDALGetRasterBand(reader->dataset, 1), &width, &height);
    double values = (double)width * height * (reader->pixel_interleaved ? reader->scene.bands : 1);
    double all = (double)reader->scene.lines * (double)reader->scene.samples * reader->scene.bands;
    double held = values * threads < all ? values * threads : all;
    return (size_t)(2 * held * (double)hc_type_bytes(reader->scene.type));
}

/* HC_E_INPUT where an array of HDF5 has broken chunks. */
static HcStatus check_array(HcReader *reader, HcError *err) {
    HcReadArray array = {0};
    HC_OR_RETURN(hc_read_array(&array, reader->dataset, reader->path, err));
    HcStatus status = array.known ? hc_guard_array(array.file, array.name, err) : HC_OK;
    reader->checked = status == HC_OK;
    free(array.file);
    free(array.name);
    return status;
}

HcStatus hc_read_gdal_lines(HcReader *reader, int64_t line0, int32_t lines, void *to, HcRaw *raw,
                            HcError *err) {
    const HcScene *scene = &reader->scene;
    int64_t bytes = (int64_t)hc_type_bytes(scene->type);
    int64_t samples = hc_read_samples(reader);
    int32_t bands = hc_read_used_count(reader);
    int *numbers = NULL;
    if (!reader->checked) {
        HC_OR_RETURN(check_array(reader, err));
    }
    HC_OR_RETURN(hc_new(numbers, (size_t)bands, "a list of bands", err));
    for (int32_t k = 0; k < bands; k++) {
        numbers[k] = (reader->used != NULL ? reader->used[k] : k) + 1;
    }
    *raw = (HcRaw){.data = to,
                   .type = scene->type,
                   .line0 = line0,
                   .lines = lines,
                   .samples = (int32_t)samples,
                   .bands = bands,
                   .stride_line = samples * bytes,
                   .stride_sample = bytes,
                   .stride_band = lines * samples * bytes};
    if (reader->pixel_interleaved) {
        raw->stride_line = samples * bands * bytes;
        raw->stride_sample = bands * bytes;
        raw->stride_band = bytes;
    }
    HcGdalErrors messages;
    hc_remote_watch(reader->path);
    hc_gdal_catch(&messages);
    hc_gdal_files_pixels(true);
    CPLErr result =
        GDALDatasetRasterIOEx(reader->dataset, GF_Read, (int)reader->sample0, (int)line0, (int)samples, lines,
                              to, (int)samples, lines, hc_read_gdal_buffer_code(reader->dataset, scene->type),
                              bands, numbers, raw->stride_sample, raw->stride_line, raw->stride_band, NULL);
    hc_gdal_files_pixels(false);
    hc_gdal_release();
    hc_remote_settle(reader->path);
    free(numbers);
    /* For raw files GDAL gives zeros where a server fails, with only a message. */
    if (result != CE_None || messages.failed) {
        const char *why = NULL;
        /* Files of other formats may refer to a server. */
        const char *driver = GDALGetDriverShortName(GDALGetDatasetDriver(reader->dataset));
        bool local = hc_text_equal(driver, "GTiff") && strncmp(reader->path, "/vsi", 4) != 0;
        HcStatus status = hc_gdal_why(&messages, local ? HC_E_INPUT : HC_E_IO, &why);
        return hc_fail(err, status, "%s: reading lines %" PRId64 " to %" PRId64 " failed: %s", reader->path,
                       line0, line0 + lines - 1, why);
    }
    return HC_OK;
}
