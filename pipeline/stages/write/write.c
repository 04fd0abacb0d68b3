/* write: blocks into a raster file. */
#include "core/text.h"
#include "core/allocate.h"
#include "io/file.h"
#include "io/ortho/store.h"
#include "io/stac/stac.h"
#include "io/write/picture/style.h"
#include "io/write/writer.h"
#include "pipeline/chain.h"
#include "pipeline/picture/ortho_map.h"
#include "pipeline/stages/denoise/residual.h"
#include "pipeline/stages/stages.h"
#include "pipeline/stages/write/write_sent.h"
#include "pipeline/stages/write/write_stac.h"
#include "pipeline/stages/write/write_tally.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Params {
    const char *path, *format, *interleave, *ortho;
    int32_t type, compress;
    const char *nodata; /* a text, since NaN may be asked for */
    HcOptionList creation;
    double scale, offset;
    bool style, no_style;
    bool stac;
    const char *stac_collection, *stac_from;
    bool overwrite;
    int64_t threads;
} Params;

typedef struct State {
    const char *path, *format; /* of the file: params->path, or where it is made that is sent */
    char *sent;                /* that path, NULL = the output has a name of its own */
    char *item;                /* path of the STAC item, or NULL */
    HcWriter *begun;
    HcWriter *writer;
    HcWriterNames names; /* of the files */
    HcWriterNeeds needs;
    HcScene scene; /* that is written */
    /* A map is written at the end, from all lines of the scene. */
    HcOrtho *ortho;      /* NULL = the scene is written as it comes */
    HcOrthoStore *store; /* its lines */
    bool styled;         /* a style is written */
    HcStyle *style;      /* or NULL */
} State;

static const char *const type_words[] = {
#define HC_AS_WORD(name, word, bytes, is_integer, bits) word,
    HC_TYPE_LIST(HC_AS_WORD)
#undef HC_AS_WORD
        NULL};
static const char *const compress_words[] = {"none", "deflate", "zstd", "lzw", NULL};
static const char *const interleave_words[] = {"bsq", "bil", "bip", NULL};

static const HcOption options[] = {
    {HC_TEXT(Params, path, "output"), .letter = 'o', .file = HC_FILE_WRITTEN, .value = "OUTPUT",
     .positional = true, .required = true,
     .help = "raster file to write; - sends it to standard output (GTiff, COG or netCDF, by --format)"},
    {HC_TEXT(Params, format), .letter = 'f', .value = "DRIVER",
     .otherwise = "by the extension: .tif GTiff; .img, .dat, .bsq, .bil, .bip, .hdr or none ENVI; - GTiff",
     .help = "name of the GDAL driver, such as ENVI, GTiff or COG"},
    {HC_CHOICE(Params, type), .choices = type_words,
     .otherwise = "that of the scene (8 or 16 bits) if no step changes values, else float32; for class maps "
                  "of one band uint8, above 255 classes uint16",
     .help = "type of the stored values; integers are rounded to nearest (halves to even) and clamped"},
    {HC_REAL(Params, scale), .initial = NAN, .otherwise = "1", .value = "SCALE",
     .help = "store (value - OFFSET) / SCALE, so that integers keep fractions; the file records SCALE (not "
             "0) and OFFSET of its bands"},
    {HC_REAL(Params, offset), .initial = NAN, .otherwise = "0", .unit = "units of the input",
     .value = "OFFSET", .help = "OFFSET of --scale; you may give either alone"},
    {HC_TEXT(Params, interleave), .value = "bsq|bil|bip",
     .otherwise = "for ENVI by the extension .bil or .bip, else bsq; for others that of the driver",
     .help = "order of the values in the file"},
    {HC_CHOICE(Params, compress), .choices = compress_words, .otherwise = "that of the driver",
     .help = "compression of GeoTIFF and COG, with a predictor; zstd of level 3"},
    {HC_LIST(Params, creation, "co"), .value = "NAME=VALUE", .help = "creation option of the driver"},
    {HC_TEXT(Params, nodata), .unit = "stored units", .value = "VALUE",
     .otherwise = "the nodata value of the scene if the bands are still its bands; else NaN, or for integers "
                  "the lowest value (unsigned: the highest)",
     .help = "value of masked pixels in the file; nan is a value"},
    {HC_FLAG(Params, style, "qml"),
     .help = "write a style for QGIS beside the file, of its name with the ending .qml. It shows classes "
             "that occur, true colour, the first components, or a colour ramp. A single run writes it beside "
             "GeoTIFF and ENVI files unless it would replace another file"},
    {HC_FLAG(Params, no_style, "no-qml"), .help = "write no style for QGIS"},
    HC_ORTHO_OPTION(Params),
    {HC_FLAG(Params, stac),
     .help = "write a STAC item beside the file, of its name with the ending .stac.json: place, time, bands "
             "with statistics, checksums, record"},
    {HC_TEXT(Params, stac_collection, "stac-collection"), .value = "FOLDER", .needs = "stac",
     .help = "link the item to the collection in FOLDER, which batch --stac-collection writes"},
    {HC_TEXT(Params, stac_from, "stac-from"), .value = "ITEM", .needs = "stac",
     .otherwise = "the item that describes the scene, or SCENE.stac.json",
     .help = "STAC item of the scene, to which the item links and from which it copies time and platform"},
    {HC_FLAG(Params, overwrite), .help = "replace an existing file"},
    {HC_INT(Params, threads, "write-threads"), .range = {1, 256},
     .otherwise = "one for each processor, at most 16; fewer if a batch works on several scenes",
     .value = "COUNT", .help = "number of threads that convert values and write ENVI files"},
    {0}};

static HcWriterOptions writer_options(const HcStage *stage) {
    const Params *params = stage->params;
    const State *state = stage->state;
    double nodata = 0;
    bool has_nodata = params->nodata != NULL && hc_text_parse_double(params->nodata, &nodata);
    return (HcWriterOptions){.format = state->format,
                             .has_type = params->type >= 0,
                             .type = (HcType)(params->type >= 0 ? params->type : 0),
                             .interleave = params->interleave,
                             .compress = params->compress >= 0 ? compress_words[params->compress] : NULL,
                             .creation_options = params->creation.count > 0 ? params->creation.item : NULL,
                             .has_nodata = has_nodata,
                             .nodata = nodata,
                             .has_scale = !isnan(params->scale) || !isnan(params->offset),
                             .scale = isnan(params->scale) ? 1 : params->scale,
                             .offset = isnan(params->offset) ? 0 : params->offset,
                             .overwrite = state->sent != NULL || hc_stage_overwrite(stage),
                             .sends = state->sent != NULL,
                             .cancel = hc_stage_cancel(stage),
                             .style = state->styled,
                             .threads = (int32_t)params->threads};
}

/* The scene that is written, what the writer takes for it, and what the store of a map takes. */
static HcStatus plan_writing(HcStage *stage, const HcWriterOptions *how, HcError *err) {
    const Params *params = stage->params;
    State *state = stage->state;
    HC_OR_RETURN(hc_ortho_map_plan(stage, params->ortho, &state->ortho, err));
    hc_scene_clear(&state->scene);
    if (state->ortho != NULL) {
        HC_OR_RETURN(hc_ortho_scene(state->ortho, &stage->in, &state->scene, err));
    } else {
        HC_OR_RETURN(hc_scene_copy(&state->scene, &stage->in, err));
    }
    HC_OR_RETURN(hc_writer_needs(state->path, &state->scene, how, &state->needs, err));
    state->scene.type = state->needs.type;
    state->needs.memory += state->styled ? hc_style_bytes(&stage->in) : 0;
    state->needs.memory += state->ortho != NULL ? hc_ortho_write_bytes(&stage->in, state->ortho) : 0;
    return HC_OK;
}

/* QGIS takes a style for all rasters of its name, whatever their endings. */
static HcStatus style_is_free(const HcStage *stage, const HcWriterNames *names, bool *is_free, HcError *err) {
    char *of_scene = hc_style_name(hc_reader_path(hc_view_reader(stage->chain->source->view)));
    HC_OR_RETURN(hc_text_made(of_scene, strlen(names->data), "a file name", err));
    *is_free = !hc_chain_writes(stage->chain, names->style) && !hc_file_same_place(of_scene, names->style);
    free(of_scene);
    return *is_free ? hc_style_is_free(names->style, names->data, is_free, err) : HC_OK;
}

/* By --qml, or beside a file of a single run that QGIS opens, where the name is free. */
static HcStatus plan_style(HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    State *state = stage->state;
    const HcWriterNames *names = &state->names;
    bool usual = stage->chain->single && names->in_gis && !params->no_style;
    state->styled = params->style;
    if (usual && !params->style) {
        HC_OR_RETURN(style_is_free(stage, names, &state->styled, err));
    }
    if (usual && !state->styled) {
        hc_stage_note(stage, "%s gets no style for QGIS: %s belongs to another file", names->data,
                      names->style);
    }
    return state->styled ? hc_stage_will_write(stage, names->style, err) : HC_OK;
}

static HcStatus plan_item(HcStage *stage, HcError *err) {
    State *state = stage->state;
    if (state->item == NULL && (state->item = hc_stac_item_path(state->names.data)) == NULL) {
        return hc_fail_memory(err, (double)strlen(state->names.data), "a path");
    }
    return hc_stage_writes(stage, state->item, err);
}

/* The names of the output, and what the chain is told of them. */
static HcStatus plan_names(HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    State *state = stage->state;
    if (params->style && params->no_style) {
        return hc_fail(err, HC_E_USAGE, "write: give one of --qml and --no-qml");
    }
    if (hc_write_is_sent(params->path) && (params->style || params->stac)) {
        return hc_fail(err, HC_E_USAGE,
                       "write: -: --%s writes a second file, which standard output cannot take",
                       params->style ? "qml" : "stac");
    }
    if (state->path == NULL && hc_write_is_sent(params->path)) {
        HC_OR_RETURN(hc_write_sent_names(params->format, &state->format, &state->sent, err));
        state->path = state->sent;
    } else if (state->path == NULL) {
        state->path = params->path;
        state->format = params->format;
    }
    if (state->sent != NULL) {
        return hc_stage_will_send(stage, err);
    }
    if (hc_file_is_special(params->path)) {
        return hc_fail(
            err, HC_E_IO,
            "%s: is a device or pipe, which a file cannot replace (- as the output sends to standard "
            "output: - > %s)",
            params->path, params->path);
    }
    if (state->names.data == NULL) {
        HC_OR_RETURN(hc_writer_names(params->path, params->format, &state->names, err));
    }
    HC_OR_RETURN(hc_stage_will_write(stage, state->names.data, err));
    HC_OR_RETURN(params->stac ? plan_item(stage, err) : HC_OK);
    if (state->names.header != NULL) {
        HC_OR_RETURN(hc_stage_will_write(stage, state->names.header, err));
    }
    return plan_style(stage, err);
}

/* Blocks are float32, which is less than some types of files. */
static void note_rounded(HcStage *stage) {
    const HcScene *in = &stage->in;
    bool wider = hc_type_bytes(in->type) > 4 || in->type == HC_INT32 || in->type == HC_UINT32;
    if (in->stored && wider && !hc_scene_is_class_map(in)) {
        hc_stage_note(stage, "%s: values of %s become float32, which has 24 bits: %s are rounded",
                      ((const Params *)stage->params)->path, hc_type_name(in->type),
                      in->type == HC_FLOAT64 ? "further digits" : "integers beyond 16777216");
    }
}

/* GDAL's ENVI driver has the same limit: commas and braces are the form of a list. */
static void note_names(HcStage *stage) {
    const char *header = ((const State *)stage->state)->names.header, *first = NULL;
    int32_t count = 0;
    for (int32_t b = 0; header != NULL && stage->in.band_name != NULL && b < stage->in.bands; b++) {
        const char *name = stage->in.band_name[b];
        if (name != NULL && strpbrk(name, ",{}") != NULL) {
            first = count++ == 0 ? name : first;
        }
    }
    if (count > 0) {
        hc_stage_note(
            stage,
            "%s: names of bands in ENVI headers have neither commas nor braces: those in %d name%s, "
            "like '%s', become semicolons and parentheses",
            header, count, count == 1 ? "" : "s", first);
    }
}

/* Of classes, before the work. */
static void note_classes(HcStage *stage) {
    const Params *params = stage->params;
    const State *state = stage->state;
    if (!hc_scene_is_class_map(&stage->in)) {
        return;
    }
    if (stage->in.bands > 1 && params->type < 0 && !hc_scene_is_class_map_in_parts(&stage->in)) {
        hc_stage_note(stage,
                      "%s: classes and further bands together are float32, which a GIS shows without names "
                      "and colours; \"bands 1 ! write FILE\" writes the classes alone",
                      state->sent != NULL ? params->path : state->names.data);
    } else if (state->sent != NULL) {
        hc_stage_note(stage, "names and colours of classes are a file beside the raster (.aux.xml), which "
                             "standard output does not take");
    }
}

static HcStatus plan(HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    State *state = stage->state;
    HC_OR_RETURN(hc_scene_copy(&stage->out, &stage->in, err));
    if (params->interleave != NULL && hc_text_find(params->interleave, interleave_words) < 0) {
        return hc_fail(err, HC_E_USAGE, "write: --interleave %s: must be bsq, bil or bip",
                       params->interleave);
    }
    HC_OR_RETURN(plan_names(stage, err));
    HcWriterOptions how = writer_options(stage);
    if (params->nodata != NULL && !how.has_nodata) {
        return hc_fail(err, HC_E_USAGE, "write: --nodata %s: not a number (nan is one)", params->nodata);
    }
    if (state->writer == NULL) {
        HC_OR_RETURN(plan_writing(stage, &how, err));
    }
    note_names(stage);
    note_classes(stage);
    note_rounded(stage);
    stage->needs =
        (HcNeeds){.consumes = true, .passes_through = true, .threads_max = state->needs.threads_max};
    stage->needs.pick.stored =
        state->needs.floats && !state->styled && state->ortho == NULL ? &state->needs.storing : NULL;
    hc_stage_takes(stage, HC_SPACE_HOST, state->needs.memory);
    hc_stage_takes(stage, HC_SPACE_LIBRARY, state->needs.thread_memory);
    hc_stage_takes(stage, HC_SPACE_WISH, state->ortho != NULL ? hc_ortho_store_bytes(&stage->in) : 0);
    return HC_OK;
}

/* The first rank has the writer; all put their lines into one store. */
static HcStatus open_store(HcStage *stage, HcError *err) {
    State *state = stage->state;
    HcRanks *ranks = hc_stage_ranks(stage);
    bool alone = hc_ranks_count(ranks) == 1;
    char file[4096] = "";
    if (hc_ranks_number(ranks) == 0) {
        const char *beside = alone && stage->has_more ? NULL : hc_writer_path(state->writer);
        HC_OR_RETURN(hc_ortho_store_open(&state->store, &stage->in, beside, err));
    }
    if (alone) {
        return HC_OK;
    }
    if (hc_ranks_number(ranks) == 0) {
        const char *name = hc_ortho_store_file(state->store);
        if (strlen(name) >= sizeof file) {
            return hc_fail(err, HC_E_UNSUPPORTED, "%s: the name is too long to be shared by ranks", name);
        }
        strcpy(file, name);
    }
    HC_OR_RETURN(hc_ranks_share(ranks, file, sizeof file, err));
    return hc_ranks_number(ranks) > 0 ? hc_ortho_store_join(&state->store, &stage->in, file, err) : HC_OK;
}

static HcStatus open_joined(HcStage *stage, const HcWriterOptions *how, HcError *err) {
    State *state = stage->state;
    HcRanks *ranks = hc_stage_ranks(stage);
    HcWriterSite site = {0};
    if (hc_ranks_number(ranks) == 0) {
        HC_OR_RETURN(hc_writer_site(state->writer, &site, err));
    }
    HC_OR_RETURN(hc_ranks_share(ranks, &site, sizeof site, err));
    if (hc_ranks_number(ranks) > 0) {
        HC_OR_RETURN(hc_writer_join(&state->writer, state->path, &stage->in, how, &site,
                                    stage->chain->first_line, err));
    }
    return HC_OK;
}

static HcStatus begin(HcStage *stage, HcError *err) {
    State *state = stage->state;
    HcWriterOptions how = writer_options(stage);
    return hc_writer_begin(&state->begun, state->path, &state->scene, &how, err);
}

/* A scene that denoise has handed on says so wherever its file goes. */
static HcStatus describe_outcome(HcStage *stage, HcError *err) {
    State *state = stage->state;
    const char *outcome = hc_denoise_outcome(stage->chain), *own = state->scene.description;
    if (outcome == NULL) {
        return HC_OK;
    }
    char *text = hc_text_format("%s%s%s", own != NULL ? own : "", own != NULL ? "; " : "", outcome);
    HC_OR_RETURN(hc_text_made(text, 0, "a description", err));
    free(state->scene.description);
    state->scene.description = text;
    return HC_OK;
}

static HcStatus open_write(HcStage *stage, HcError *err) {
    State *state = stage->state;
    HcRanks *ranks = hc_stage_ranks(stage);
    HcWriterOptions how = writer_options(stage);
    how.compressors = stage->threads;
    how.begun = state->begun;
    if (state->styled) {
        HC_OR_RETURN(hc_style_open(&state->style, &stage->in, err));
    }
    state->begun = NULL;
    stage->output = state->sent != NULL ? HC_FILE_STANDARD_OUTPUT : state->path;
    HC_OR_RETURN(describe_outcome(stage, err));
    if (hc_ranks_number(ranks) == 0) {
        HC_OR_RETURN(hc_writer_open(&state->writer, state->path, &state->scene, &how, err));
        stage->output =
            state->sent != NULL ? stage->output : hc_writer_path(state->writer); /* b.hdr is b.img */
    }
    if (state->ortho != NULL) {
        return open_store(stage, err);
    }
    return hc_ranks_count(ranks) > 1 ? open_joined(stage, &how, err) : HC_OK;
}

static HcStatus consume(HcStage *stage, const HcBlock *block, HcError *err) {
    State *state = stage->state;
    if (state->style != NULL) {
        hc_style_add(state->style, block);
    }
    return state->ortho != NULL ? hc_ortho_store_put(state->store, block, err)
                                : hc_writer_write(state->writer, block, err);
}

/* The first rank's file gets the lines of the others. */
static HcStatus gather(HcStage *stage, HcError *err) {
    HcStatus status = HC_OK;
    State *state = stage->state;
    HcRanks *ranks = hc_stage_ranks(stage);
    int32_t count = hc_ranks_count(ranks);
    int32_t number = hc_ranks_number(ranks);
    if (count == 1) {
        return HC_OK;
    }
    if (state->style != NULL) {
        HcStyleSeen seen = hc_style_seen(state->style);
        HC_OR_RETURN(hc_ranks_join(ranks, seen.sampled, seen.sampled_bytes, err));
        HC_OR_RETURN(hc_ranks_sum(ranks, seen.used, seen.used_count, err));
    }
    if (state->ortho != NULL) {
        status = hc_ortho_store_flush(state->store, err);
        return hc_ranks_agree(ranks, status, err);
    }
    HcWriterLeft *left = NULL;
    HC_OR_RETURN(hc_new(left, count, "the ranks", err));
    if (number > 0) {
        HC_TRY(hc_writer_leave(state->writer, &left[number], err));
    }
    HC_TRY(hc_ranks_join(ranks, left, (size_t)count * sizeof *left, err));
    for (int32_t r = 1; r < count && number == 0; r++) {
        HC_TRY(hc_writer_take(state->writer, &left[r], err));
    }
done:
    free(left);
    return status;
}

static HcStatus put_style(State *state, HcError *err) {
    char *text = NULL;
    HC_OR_RETURN(hc_style_text(state->style, hc_writer_path(state->writer), &text, err));
    HcStatus status = hc_writer_style(state->writer, text, err);
    free(text);
    return status;
}

static HcStatus finish(HcStage *stage, HcError *err) {
    State *state = stage->state;
    const Params *params = stage->params;
    if (state->ortho != NULL) {
        HC_OR_RETURN(
            hc_ortho_store_write(state->store, state->ortho, state->writer, hc_stage_cancel(stage), err));
        hc_ortho_store_close(state->store);
        state->store = NULL;
    }
    HC_OR_RETURN(state->style != NULL ? put_style(state, err) : HC_OK);
    hc_write_tally_note(stage, state->writer, !isnan(params->scale) || !isnan(params->offset));
    HC_OR_RETURN(hc_writer_finish(state->writer, err));
    if (hc_writer_loss(state->writer) > 0) {
        hc_stage_note(stage, "%s: the format with its options loses values: they differ by up to %g",
                      hc_writer_path(state->writer), hc_writer_loss(state->writer));
    }
    if (hc_writer_lacks(state->writer) != NULL) {
        hc_stage_note(stage, "%s: the format %s does not keep %s", hc_writer_path(state->writer),
                      hc_writer_format(state->writer), hc_writer_lacks(state->writer));
    }
    return state->item != NULL ? hc_write_stac(stage,
                                               &(HcWriteStac){.item = state->item,
                                                              .collection = params->stac_collection,
                                                              .from = params->stac_from,
                                                              .scene = &state->scene,
                                                              .names = &state->names,
                                                              .writer = state->writer},
                                               err)
                               : HC_OK;
}

static HcStatus check_lines(const HcStage *stage, HcReader *file, const HcBlock *block, HcWrittenCheck *check,
                            HcError *err) {
    const State *state = stage->state;
    return hc_writer_check_lines(state->writer, &state->scene, file, block, check, err);
}

static void report(const HcStage *stage, HcJson *to) {
    const State *state = stage->state;
    if (state->writer == NULL) {
        return;
    }
    double nodata = hc_writer_nodata(state->writer);
    hc_json_put_text(to, "file", stage->output);
    hc_json_put_text(to, "format", hc_writer_format(state->writer));
    hc_json_put_text(to, "type", hc_type_name(hc_writer_layout(state->writer)->type));
    if (isnan(nodata)) {
        hc_json_put_text(to, "nodata", "nan");
    } else {
        hc_json_put_number(to, "nodata", nodata);
    }
    hc_write_tally_json(state->writer, to);
    hc_ortho_map_report(state->ortho, to);
}

static const HcScene *written(const HcStage *stage) {
    return &((const State *)stage->state)->scene;
}

static void close_write(HcStage *stage) {
    State *state = stage->state;
    hc_style_close(state->style);
    hc_ortho_store_close(state->store);
    hc_ortho_close(state->ortho);
    hc_writer_close(state->writer);
    hc_writer_close(state->begun);
    hc_writer_names_clear(&state->names);
    free(state->sent);
    free(state->item);
    hc_scene_clear(&state->scene);
    *state = (State){0};
}

const HcStageClass hc_stage_write = {
    .name = "write",
    .summary = "write a raster: ENVI, GeoTIFF, COG, or any format that GDAL creates",
    .example = "hcube write scene.hdr scene.tif --compress zstd",
    .role = HC_ROLE_SINK,
    .options = options,
    .params_size = sizeof(Params),
    .state_size = sizeof(State),
    .plan = plan,
    .open = open_write,
    .consume = consume,
    .gather = gather,
    .finish = finish,
    .report = report,
    .rare = {.begin = begin, .check = check_lines, .written = written},
    .close = close_write,
};
