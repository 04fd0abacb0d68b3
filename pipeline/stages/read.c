/* read: the scene file, as blocks. */
#include "core/allocate.h"
#include "core/operation/image/decode.h"
#include "pipeline/chain.h"
#include "pipeline/stages/stages.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Params {
    const char *path;
    const char *window, *box, *box_crs, *cutline;
    HcOptionList masks, masks_inside;
    const char *nodata; /* a list of numbers, or "none" */
    int32_t nodata_rule, scale;
    int32_t unit, overlap, quality, metadata;
    bool sort;
    bool all_bands, by_pixels, ignore_mask, no_direct, allow_external;
    int64_t threads;
} Params;

static const char *const nodata_rules[] = {"any", "all", NULL};
static const char *const scales[] = {"keep", "apply", NULL};
static const char *const units[] = {"nm", "um", NULL};
static const char *const qualities[] = {"usual", "none", "require", NULL};
static const char *const metadata_rules[] = {"require", "any", NULL};
static const char *const overlaps[] = {"vnir", "swir", "both", NULL};

static const HcOption options[] = {
    {HC_TEXT(Params, path), .letter = 'i', .file = HC_FILE_READ, .value = "SCENE", .positional = true,
     .required = true, .help = "the scene: an ENVI header or data file, or anything that GDAL opens"},
    {HC_TEXT(Params, window), .unit = "pixels", .value = "XOFF,YOFF,XSIZE,YSIZE",
     .otherwise = "the whole scene",
     .help = "read this rectangle only: first sample and first line (from 0), samples, lines"},
    {HC_TEXT(Params, box, "bbox"), .one_of = "window bbox", .unit = "coordinates of --bbox-crs",
     .value = "XMIN,YMIN,XMAX,YMAX", .otherwise = "the whole scene",
     .help = "read only the pixels that this box touches"},
    {HC_TEXT(Params, box_crs, "bbox-crs"), .value = "CRS", .needs = "bbox", .otherwise = "that of the scene",
     .help = "coordinate system of --bbox, such as EPSG:4326; x is east or longitude"},
    {HC_TEXT(Params, cutline), .file = HC_FILE_READ, .file_of = hc_view_file_of, .value = "FILE[:LAYER]",
     .help = "read only the lines and samples that these polygons touch, and leave out pixels whose centre "
             "lies in none"},
    {HC_LIST(Params, masks, "mask"), .file = HC_FILE_READ, .file_of = hc_view_file_of,
     .value = "FILE[:BAND[=VALUES]]",
     .help = "leave out pixels that are 0, nodata or NaN in a raster, or hold one of VALUES (1,5-9,bit3). "
             "Vector data (FILE[:LAYER]): those in no polygon. A quality layer of the product "
             "(NAME[=VALUES]): those that it marks"},
    {HC_LIST(Params, masks_inside, "mask-inside"), .file = HC_FILE_READ, .file_of = hc_view_file_of,
     .value = "FILE[:BAND]",
     .help = "the inverse of --mask: leave out pixels that are not 0 in a raster, or that lie in a polygon "
             "(FILE[:LAYER])"},
    {HC_FLAG(Params, by_pixels, "by-pixels"),
     .help = "place masks, class rasters and other rasters by lines and samples, ignoring their coordinates"},
    {HC_CHOICE(Params, quality, "quality"), .choices = qualities, .standard = "usual",
     .help = "usual: leave out what the usual quality layers of the product mark (hcube info lists them). "
             "none: only what --mask says. require: as usual, but refuse a scene without such layers"},
    {HC_CHOICE(Params, metadata, "metadata"), .choices = metadata_rules, .standard = "require",
     .help = "require: refuse the raster of a known sensor if its metadata cannot be used. any: read it "
             "without them (stored values without scale, bands without wavelengths)"},
    {HC_FLAG(Params, ignore_mask, "ignore-mask"),
     .help = "treat pixels that the mask of the file excludes (mask band, .msk file, alpha band, "
             "NODATA_VALUES) as data"},
    {HC_FLAG(Params, all_bands, "all-bands"),
     .help = "also read the bands that the header marks as bad (bbl)"},
    {HC_TEXT(Params, nodata, "source-nodata"), .otherwise = "that of the file, for each band",
     .unit = "stored units", .value = "VALUE[,VALUE...]|none",
     .help = "values that mean no data, in every band; nan is a value. none: every value is data"},
    {HC_CHOICE(Params, nodata_rule, "nodata-rule"), .choices = nodata_rules, .standard = "any",
     .help = "leave a pixel out if any band has nodata, or only if all bands do"},
    {HC_CHOICE(Params, scale, "source-scale"), .choices = scales, .standard = "keep",
     .help =
         "apply scale and offset of the file (value = scale x stored + offset), or keep stored values and "
         "carry both along"},
    {HC_CHOICE(Params, unit, "wavelength-unit"), .choices = units,
     .otherwise = "um if all are below 100, else nm",
     .help = "unit of the wavelengths if the header has none"},
    {HC_CHOICE(Params, overlap, "overlap"), .choices = overlaps, .otherwise = "swir",
     .help =
         "products of two detectors: the detector to use where both overlap. Bands of the other one "
         "count as bad there. Other files: the same where their wavelengths fall back; both if not given"},
    {HC_FLAG(Params, sort), .help = "put bands in the order of their wavelengths"},
    {HC_FLAG(Params, allow_external, "allow-external"),
     .help = "allow other files that the scene refers to as raw bytes: raw bands of a VRT, external storage, "
             "links and virtual arrays of HDF5"},
    {HC_FLAG(Params, no_direct, "no-direct"),
     .help = "read every file through GDAL, also those that hcube reads directly or by chunks"},
    {HC_INT(Params, threads, "read-threads"), .range = {1, 256},
     .otherwise =
         "one for each processor, at most 16; fewer if a batch works on several scenes; 16 for files of "
         "servers",
     .value = "COUNT",
     .help = "number of threads that read raw files directly, decode chunks, or ask a server"},
    {0}};

/* The options of a view, with what they point to. */
typedef struct Asked {
    HcViewOptions how;
    HcViewWindow window;
    HcViewBox box;
} Asked;

static bool ignores_nodata(const Params *params) {
    return params->nodata != NULL && strcmp(params->nodata, "none") == 0;
}

static HcStatus ask_window(const Params *params, Asked *asked, HcError *err) {
    double value[4];
    bool whole = hc_option_numbers(params->window, value, 4) == 4;
    for (int i = 0; i < 4 && whole; i++) {
        whole = value[i] == floor(value[i]) && fabs(value[i]) < 1e15;
    }
    if (!whole) {
        return hc_fail(err, HC_E_USAGE, "read: --window %s: not XOFF,YOFF,XSIZE,YSIZE in whole pixels",
                       params->window);
    }
    if (value[2] < 1 || value[3] < 1) {
        return hc_fail(err, HC_E_USAGE, "read: --window %s: holds no pixel", params->window);
    }
    asked->window =
        (HcViewWindow){(int64_t)value[0], (int64_t)value[1], (int64_t)value[2], (int64_t)value[3]};
    asked->how.window = &asked->window;
    return HC_OK;
}

static HcStatus ask_box(const Params *params, Asked *asked, HcError *err) {
    double *edge = asked->box.edge;
    bool good = hc_option_numbers(params->box, edge, 4) == 4;
    for (int i = 0; i < 4 && good; i++) {
        good = isfinite(edge[i]);
    }
    if (!good) {
        return hc_fail(err, HC_E_USAGE, "read: --bbox %s: not XMIN,YMIN,XMAX,YMAX", params->box);
    }
    if (!(edge[0] < edge[2] && edge[1] < edge[3])) {
        return hc_fail(err, HC_E_USAGE, "read: --bbox %s: XMIN must be below XMAX, and YMIN below YMAX",
                       params->box);
    }
    asked->box.crs = params->box_crs;
    asked->how.box = &asked->box;
    return HC_OK;
}

static HcStatus ask_place(const Params *params, Asked *asked, HcError *err) {
    asked->how.cutline = params->cutline;
    if (params->window != NULL) {
        return ask_window(params, asked, err);
    }
    return params->box != NULL ? ask_box(params, asked, err) : HC_OK;
}

static HcStatus ask_view(const HcStage *stage, Asked *asked, HcError *err) {
    const Params *params = stage->params;
    HcViewOptions *how = &asked->how;
    *asked = (Asked){0};
    *how = (HcViewOptions){.reader = {.threads = (int32_t)params->threads,
                                      .by_pixels = params->by_pixels,
                                      .never_direct = params->no_direct || stage->chain->plain,
                                      .ignore_mask = params->ignore_mask,
                                      .allow_external = params->allow_external,
                                      .overlap = params->overlap >= 0
                                                     ? (HcOverlap)(params->overlap + HC_OVERLAP_VNIR)
                                                     : HC_OVERLAP_USUAL,
                                      .sort = params->sort,
                                      .wavelength_unit = params->unit >= 0 ? units[params->unit] : NULL},
                           .masks = params->masks.item,
                           .masks_inside = params->masks_inside.item,
                           .no_quality = params->quality == 1,
                           .needs_quality = params->quality == 2,
                           .needs_metadata = params->metadata != 1,
                           .ignore_nodata = ignores_nodata(params),
                           .apply_scale = params->scale == 1,
                           .first_lines = ((const HcSource *)stage->state)->first_lines};
    /* What is said in pixels of the file is said of the file itself. */
    bool whole = params->window == NULL && params->box == NULL && params->cutline == NULL &&
                 params->masks.item[0] == NULL && params->masks_inside.item[0] == NULL &&
                 how->first_lines == 0;
    how->reader.enough = whole ? ((const HcSource *)stage->state)->enough : 0;
    HC_OR_RETURN(ask_place(params, asked, err));
    if (params->nodata != NULL && !how->ignore_nodata) {
        how->nodata_count = hc_option_numbers(params->nodata, how->nodata, HC_VIEW_NODATA_MAX);
    }
    return params->nodata == NULL || how->ignore_nodata || how->nodata_count > 0
               ? HC_OK
               : hc_fail(err, HC_E_USAGE, "read: --source-nodata %s: not a list of at most %d numbers",
                         params->nodata, HC_VIEW_NODATA_MAX);
}

/* By the rule that all bands must lack data, a band that lacks it everywhere says nothing of a pixel: it is
 * left out like one that is marked as bad. */
static HcStatus drop_empty_bands(HcStage *stage, HcError *err) {
    HcStatus status = HC_OK;
    const Params *params = stage->params;
    HcSource *source = stage->state;
    const HcScene *scene = hc_view_scene(source->view);
    bool floating = scene->type == HC_FLOAT32 || scene->type == HC_FLOAT64;
    int32_t count = source->band_count, kept = 0;
    Asked asked;
    HC_OR_RETURN(ask_view(stage, &asked, err));
    if (params->nodata_rule != 1 || (!scene->has_nodata && !floating)) {
        return HC_OK;
    }
    int32_t *empty = NULL;
    HC_OR_RETURN(hc_new(empty, (size_t)count, "a list of bands", err));
    memcpy(empty, source->bands, (size_t)count * sizeof *empty);
    HC_TRY(hc_view_empty_bands(params->path, &asked.how, empty, &count, err));
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
    const HcScene *scene = hc_view_scene(source->view);
    HC_OR_RETURN(hc_new(source->bands, (size_t)scene->bands, "a list of bands", err));
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

/* Whether pixels of zeros are values, and may be none: not where 0 is the nodata value, or the user says that
 * nodata is data; one band may well be 0. */
static bool zeros_are_data(const HcStage *stage) {
    const Params *params = stage->params;
    const HcScene *scene = &stage->out;
    return scene->meaning == HC_SPECTRAL && scene->bands > 1 && !ignores_nodata(params) &&
           !(scene->has_nodata && scene->nodata == 0);
}

static HcStatus plan(HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    HcSource *source = stage->state;
    if (source->view == NULL) {
        Asked asked;
        HC_OR_RETURN(ask_view(stage, &asked, err));
        HC_OR_RETURN(hc_view_open(&source->view, params->path, &asked.how, err));
        const char *notes[] = {hc_reader_note(hc_view_reader(source->view)), hc_view_note(source->view)};
        for (int n = 0; n < 2; n++) {
            if (notes[n] != NULL) {
                hc_stage_note(stage, "%s", notes[n]);
            }
        }
    }
    if (source->bands == NULL) {
        HC_OR_RETURN(choose_bands(stage, err));
        HC_OR_RETURN(drop_empty_bands(stage, err));
    }
    const HcScene *scene = hc_view_scene(source->view);
    for (int32_t k = 0; k < source->band_count; k++) {
        if (source->bands[k] >= scene->bands) {
            return hc_fail(err, HC_E_INPUT, "%s: band %d is needed, the file has %d", params->path,
                           source->bands[k] + 1, scene->bands);
        }
    }
    HC_OR_RETURN(hc_scene_copy(&stage->out, scene, err));
    HC_OR_RETURN(hc_scene_select(&stage->out, source->bands, source->band_count, err));
    free(stage->out.source_band);
    HC_OR_RETURN(hc_new(stage->out.source_band, (size_t)source->band_count, "a list of bands", err));
    memcpy(stage->out.source_band, source->bands, (size_t)source->band_count * sizeof *source->bands);
    bool is_integer = stage->out.type != HC_FLOAT32 && stage->out.type != HC_FLOAT64;
    stage->out.complete = is_integer && !stage->out.has_nodata && !hc_view_masks(source->view);
    stage->out.stored = true;
    bool each_its_own = (params->nodata == NULL || ignores_nodata(params)) &&
                        hc_reader_band_nodata(hc_view_reader(source->view)) != NULL;
    stage->out.shares_nodata = (params->nodata_rule == 1 && source->band_count > 1) || each_its_own;
    source->zeros_may_be_none = zeros_are_data(stage);
    return HC_OK;
}

static HcStatus open_source(HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    HcSource *source = stage->state;
    source->decode = (HcDecode){.nodata_needs_all_bands = params->nodata_rule == 1,
                                .keep_missing = hc_chain_keeps_missing(stage->chain)};
    source->any_counts =
        !source->decode.nodata_needs_all_bands && !source->decode.keep_missing && source->band_count > 1;
    source->decode.has_nodata = hc_view_nodata(source->view, &source->decode.nodata);
    return hc_source_open(source, stage->compute, err);
}

static HcStatus gather_border(HcStage *stage, HcError *err) {
    HcSource *source = stage->state;
    HcRanks *ranks = hc_stage_ranks(stage);
    HC_OR_RETURN(hc_ranks_sum(ranks, &source->zero_border, 1, err));
    if (source->left_out != NULL) {
        HC_OR_RETURN(hc_ranks_sum(ranks, source->left_out, (size_t)hc_view_mask_count(source->view), err));
    }
    int64_t every = source->every > 1 ? source->every : 1;
    if (every > 1) {
        hc_stage_note(stage, "one line of %lld is read, as many as the picture shows", (long long)every);
    }
    if (source->zero_border > 0) {
        hc_stage_note(stage,
                      "%lld of %lld pixels are 0 in all %d bands, at the border, and count as data (%s "
                      "leaves them out)",
                      (long long)source->zero_border,
                      (long long)((stage->out.lines + every - 1) / every * stage->out.samples),
                      stage->out.bands,
                      stage->out.has_nodata ? "--mask FILE" : "--source-nodata 0 --nodata-rule all");
    }
    return HC_OK;
}

static void report(const HcStage *stage, HcJson *to) {
    const HcSource *source = stage->state;
    int64_t size = 0;
    int64_t modified = 0;
    const HcReader *reader = hc_view_reader(source->view);
    hc_reader_identity(reader, &size, &modified);
    hc_json_put_text(to, "file", hc_reader_path(reader));
    hc_json_put_number(to, "bytes", (double)size);
    hc_json_put_number(to, "modified", (double)modified);
    hc_json_put_text(to, "method", hc_reader_method(reader));
    hc_json_put_text(to, "type", hc_type_name(hc_reader_scene(reader)->type));
    if (source->every > 1) {
        hc_json_put_number(to, "every_line", source->every);
    }
    const HcCut *cut = &stage->out.cut;
    if (cut->lines > 0) {
        hc_json_open_object(to, "window");
        hc_json_put_number(to, "first_sample_from_0", (double)cut->sample0);
        hc_json_put_number(to, "first_line_from_0", (double)cut->line0);
        hc_json_put_number(to, "samples", (double)stage->out.samples);
        hc_json_put_number(to, "lines", (double)stage->out.lines);
        hc_json_close(to);
    }
    if (source->left_out != NULL) {
        hc_json_open_array(to, "masks");
        for (int32_t m = 0; m < hc_view_mask_count(source->view); m++) {
            const char *value = NULL;
            hc_json_open_object(to, NULL);
            hc_json_put_text(to, "option", hc_view_mask_name(source->view, m, &value));
            hc_json_put_text(to, "value", value);
            hc_json_put_number(to, "pixels", (double)source->left_out[m]);
            hc_json_close(to);
        }
        hc_json_close(to);
    }
    hc_json_put_number(to, "zero_border_pixels", (double)source->zero_border);
}

static void close_source(HcStage *stage) {
    hc_source_close(stage->state, stage->compute);
}

const HcStageClass hc_stage_read = {
    .name = "read",
    .summary = "read a scene: any raster that GDAL opens, and every ENVI file",
    .example = "hcube read scene.hdr part.tif --window 10,20,60,60",
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
