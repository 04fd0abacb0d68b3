/* read: the scene file, as blocks. */
#include "core/operation/decode.h"
#include "pipeline/chain.h"
#include "pipeline/stages/stages.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Params {
    const char *path;
    const char *mask;
    double nodata;
    int32_t nodata_rule;
    int32_t unit;
    bool all_bands, ignore_nodata, no_direct;
    int64_t threads;
} Params;

static const char *const nodata_rules[] = {"any", "all", NULL};
static const char *const units[] = {"nm", "um", NULL};

static const HcOption options[] = {
    {HC_TEXT(Params, path), .file = HC_FILE_READ, .value = "SCENE", .positional = true, .required = true,
     .help = "the scene: an ENVI header or data file, or anything that GDAL opens"},
    {HC_TEXT(Params, mask), .file = HC_FILE_READ, .value = "FILE",
     .help = "raster of one band with the lines and samples of the scene: pixels that are 0, nodata or NaN "
             "there are left out"},
    {HC_FLAG(Params, all_bands, "all-bands"),
     .help = "also read the bands that the header marks as bad (bbl)"},
    {HC_REAL(Params, nodata, "source-nodata"), .initial = NAN, .otherwise = "that of the file",
     .unit = "stored units", .value = "VALUE", .help = "value that means no data"},
    {HC_FLAG(Params, ignore_nodata, "ignore-nodata"), .help = "take the nodata value of the file as data"},
    {HC_CHOICE(Params, nodata_rule, "nodata-rule"), .choices = nodata_rules, .standard = "any",
     .help = "leave a pixel out when any band holds nodata, or only when all bands do"},
    {HC_CHOICE(Params, unit, "wavelength-unit"), .choices = units,
     .otherwise = "um if all are below 100, else nm",
     .help = "unit of the wavelengths, for headers that do not say"},
    {HC_FLAG(Params, no_direct, "no-direct"), .help = "read raw files through GDAL, too"},
    {HC_INT(Params, threads, "read-threads"), .range = {1, 256},
     .otherwise = "one for each processor, at most 16", .value = "COUNT",
     .help = "threads that read raw files directly"},
    {0}};

static HcReaderOptions reader_options(const Params *params) {
    return (HcReaderOptions){.threads = (int32_t)params->threads,
                             .never_direct = params->no_direct,
                             .mask_path = params->mask,
                             .wavelength_unit = params->unit >= 0 ? units[params->unit] : NULL};
}

static HcStatus open_reader(HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    HcSource *source = stage->state;
    HcReaderOptions how = reader_options(params);
    return hc_reader_open(&source->reader, params->path, &how, err);
}

/* What a pixel without data holds in a band. */
static bool find_nodata(const Params *params, const HcScene *scene, double *nodata) {
    *nodata = isnan(params->nodata) ? scene->nodata : params->nodata;
    return !params->ignore_nodata && (scene->has_nodata || !isnan(params->nodata));
}

/* By the rule that all bands must lack data, a band that lacks it everywhere says nothing of a pixel: it is
 * left out like one that is marked as bad. */
static HcStatus drop_empty_bands(HcStage *stage, HcError *err) {
    HcStatus status = HC_OK;
    const Params *params = stage->params;
    HcSource *source = stage->state;
    const HcScene *scene = hc_reader_scene(source->reader);
    HcReaderOptions how = reader_options(params);
    double nodata = 0;
    bool has_nodata = find_nodata(params, scene, &nodata);
    bool floating = scene->type == HC_FLOAT32 || scene->type == HC_FLOAT64;
    int32_t count = source->band_count, kept = 0;
    if (params->nodata_rule != 1 || (!has_nodata && !floating)) {
        return HC_OK;
    }
    int32_t *empty = malloc((size_t)count * sizeof *empty);
    if (empty == NULL) {
        return hc_fail_memory(err, (double)count * sizeof *empty, "a list of bands");
    }
    memcpy(empty, source->bands, (size_t)count * sizeof *empty);
    HC_TRY(hc_reader_empty_bands(params->path, &how, has_nodata, nodata, empty, &count, err));
    if (count == source->band_count) {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: no band holds a value that is not nodata, NaN or infinity",
                       params->path));
    }
    for (int32_t k = 0, e = 0; k < source->band_count; k++) {
        if (e < count && empty[e] == source->bands[k]) {
            e++;
        } else {
            source->bands[kept++] = source->bands[k];
        }
    }
    if (count > 0) {
        hc_stage_note(stage, "%d of %d bands hold no value and are left out (the first is band %d)", count,
                      source->band_count, empty[0] + 1);
    }
    source->band_count = kept;
done:
    free(empty);
    return status;
}

/* All bands, or those that the header does not mark as bad. */
static HcStatus choose_bands(HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    HcSource *source = stage->state;
    const HcScene *scene = hc_reader_scene(source->reader);
    source->bands = malloc((size_t)scene->bands * sizeof *source->bands);
    if (source->bands == NULL) {
        return hc_fail_memory(err, (double)scene->bands * sizeof *source->bands, "a list of bands");
    }
    for (int32_t b = 0; b < scene->bands; b++) {
        if (params->all_bands || scene->bad == NULL || !scene->bad[b]) {
            source->bands[source->band_count++] = b;
        }
    }
    if (source->band_count == 0) {
        return hc_fail(err, HC_E_INPUT,
                       "%s: the header marks all %d bands as bad (read them with --all-bands)", params->path,
                       scene->bands);
    }
    if (source->band_count < scene->bands) {
        hc_stage_note(stage, "%d of %d bands are marked as bad and left out (--all-bands keeps them)",
                      scene->bands - source->band_count, scene->bands);
    }
    return HC_OK;
}

static HcStatus plan(HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    HcSource *source = stage->state;
    if (source->reader == NULL) {
        HC_OR_RETURN(open_reader(stage, err));
        const char *note = hc_reader_note(source->reader);
        if (note != NULL) {
            hc_stage_note(stage, "%s", note);
        }
    }
    if (source->bands == NULL) {
        HC_OR_RETURN(choose_bands(stage, err));
        HC_OR_RETURN(drop_empty_bands(stage, err));
    }
    for (int32_t k = 0; k < source->band_count; k++) {
        if (source->bands[k] >= hc_reader_scene(source->reader)->bands) {
            return hc_fail(err, HC_E_INPUT, "%s: band %d is needed, the file has %d", params->path,
                           source->bands[k] + 1, hc_reader_scene(source->reader)->bands);
        }
    }
    HC_OR_RETURN(hc_scene_copy(&stage->out, hc_reader_scene(source->reader), err));
    HC_OR_RETURN(hc_scene_select(&stage->out, source->bands, source->band_count, err));
    free(stage->out.source_band);
    stage->out.source_band = malloc((size_t)source->band_count * sizeof *source->bands);
    if (stage->out.source_band == NULL) {
        return hc_fail_memory(err, (double)source->band_count * sizeof *source->bands, "a list of bands");
    }
    memcpy(stage->out.source_band, source->bands, (size_t)source->band_count * sizeof *source->bands);
    if (params->ignore_nodata && !isnan(params->nodata)) {
        return hc_fail(err, HC_E_USAGE, "read: give one of --ignore-nodata and --source-nodata");
    }
    if (params->ignore_nodata) {
        stage->out.has_nodata = false;
    } else if (!isnan(params->nodata)) {
        stage->out.has_nodata = true;
        stage->out.nodata = params->nodata;
    }
    bool is_integer = stage->out.type != HC_FLOAT32 && stage->out.type != HC_FLOAT64;
    stage->out.complete = is_integer && !stage->out.has_nodata && params->mask == NULL;
    return HC_OK;
}

/* Whether pixels of zeros are values, and may be none: not where 0 is the nodata value, or the user says that
 * nodata is data; one band may well be 0. */
static bool zeros_are_data(const HcStage *stage) {
    const Params *params = stage->params;
    const HcScene *scene = &stage->out;
    return scene->meaning == HC_SPECTRAL && scene->bands > 1 && !params->ignore_nodata &&
           !(scene->has_nodata && scene->nodata == 0);
}

static HcStatus open_source(HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    HcSource *source = stage->state;
    source->zeros_may_be_none = zeros_are_data(stage);
    source->decode = (HcDecode){.has_nodata = stage->out.has_nodata,
                                .nodata = stage->out.nodata,
                                .nodata_needs_all_bands = params->nodata_rule == 1,
                                .keep_missing = hc_chain_keeps_missing(stage->chain)};
    return hc_source_open(source, stage->compute, err);
}

static HcStatus gather_border(HcStage *stage, HcError *err) {
    HcSource *source = stage->state;
    HC_OR_RETURN(hc_ranks_sum(hc_stage_ranks(stage), &source->zero_border, 1, err));
    if (source->zero_border > 0) {
        hc_stage_note(stage,
                      "%lld of %lld pixels are 0 in all %d bands, at the border, and count as data (%s "
                      "leaves them out)",
                      (long long)source->zero_border, (long long)(stage->out.lines * stage->out.samples),
                      stage->out.bands,
                      stage->out.has_nodata ? "--mask FILE" : "--source-nodata 0 --nodata-rule all");
    }
    return HC_OK;
}

static void report(const HcStage *stage, HcJson *to) {
    const HcSource *source = stage->state;
    int64_t size = 0;
    int64_t modified = 0;
    hc_reader_identity(source->reader, &size, &modified);
    hc_json_put_text(to, "file", hc_reader_path(source->reader));
    hc_json_put_number(to, "bytes", (double)size);
    hc_json_put_number(to, "modified", (double)modified);
    hc_json_put_text(to, "method", hc_reader_method(source->reader));
    hc_json_put_text(to, "type", hc_type_name(stage->out.type));
    hc_json_put_number(to, "zero_border_pixels", (double)source->zero_border);
}

static void close_source(HcStage *stage) {
    hc_source_close(stage->state, stage->compute);
}

const HcStageClass hc_stage_read = {
    .name = "read",
    .summary = "read a scene: any raster that GDAL opens, and every ENVI file",
    .role = HC_ROLE_SOURCE,
    .options = options,
    .params_size = sizeof(Params),
    .state_size = sizeof(HcSource),
    .plan = plan,
    .open = open_source,
    .gather = gather_border,
    .report = report,
    .close = close_source,
};
