/* The files of a chain: what it reads and what it writes, and what of it must not be. */
#include "pipeline/chain.h"
#include "io/file.h"
#include "pipeline/json/json.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

HcStatus hc_chain_is_record(const char *path, bool *is, HcError *err) {
    HcStatus status = HC_OK;
    HcError why = {0};
    struct stat info;
    cJSON *record = NULL;
    bool there = false;
    *is = false;
    HC_OR_RETURN(hc_file_look(path, &info, &there, err));
    if (!there || !S_ISREG(info.st_mode)) {
        return HC_OK;
    }
    status = hc_json_read(path, &record, &why);
    if (status != HC_OK) {
        /* Another file. What memory or the disk do says nothing about it. */
        return status == HC_E_INPUT ? HC_OK : hc_fail(err, status, "%s", why.text);
    }
    *is = hc_json_kind(record) == HC_JSON_RECORD || hc_json_kind(record) == HC_JSON_POOL;
    cJSON_Delete(record);
    return HC_OK;
}

/* ---- what the options of a stage name ---- */

HcStatus hc_stage_reads(HcStage *stage, const char *path, HcError *err) {
    if (hc_chain_writes(stage->chain, path)) {
        return hc_fail(err, HC_E_USAGE, "%s: %s: an earlier step writes this file, but only at the end",
                       stage->kind->name, path);
    }
    return hc_paths_add(&stage->chain->reads, path, err);
}

static HcStatus collect_read(const char *path, void *user, HcError *err) {
    return hc_stage_reads(user, path, err);
}

static HcStatus collect_output(const char *path, void *user, HcError *err) {
    return hc_stage_writes(user, path, err);
}

HcStatus hc_chain_collect_files(HcStage *stage, HcError *err) {
    const HcOptionSet set = {.table = stage->kind->options, .params = stage->params};
    HC_OR_RETURN(hc_options_files(&set, HC_FILE_READ, collect_read, stage, err));
    /* The writer of a raster derives its names from their format, and may send it to standard output. */
    return stage->kind->rare.check != NULL
               ? HC_OK
               : hc_options_files(&set, HC_FILE_WRITTEN, collect_output, stage, err);
}

/* ---- what is read ---- */

static HcStatus add_path(const char *path, void *user, HcError *err) {
    return hc_paths_add(user, path, err);
}

/* The reader knows the files of scene and mask; asking a server for them once more would take its time. */
static HcStatus add_scene(HcChain *chain, HcError *err) {
    HcStatus status = HC_OK;
    HcPaths files = {0};
    const HcView *view = chain->source->view;
    const HcOptionSet set = {.table = chain->stages[0].kind->options, .params = chain->stages[0].params};
    HC_TRY(hc_options_files(&set, HC_FILE_READ, add_path, &files, err));
    if (view != NULL && strncmp(hc_reader_path(hc_view_reader(view)), "/vsi", 4) != 0) {
        HC_TRY(hc_view_files(view, &files, err));
    }
    HC_TRY(hc_file_use_read_all(&chain->use, &files, err));
done:
    hc_paths_clear(&files);
    return status;
}

static HcStatus add_reads(HcChain *chain, HcError *err) {
    HC_OR_RETURN(add_scene(chain, err));
    for (int32_t r = 0; r < chain->reads.count; r++) {
        HC_OR_RETURN(hc_file_use_read(&chain->use, chain->reads.path[r], err));
    }
    chain->step_reads = chain->use.reads.count;
    return hc_file_use_read_all(&chain->use, &chain->inputs, err);
}

/* ---- what is written ---- */

/* Whether a record of hcube lies beside a file. */
static HcStatus has_record(const char *path, bool *has, HcError *err) {
    HcStatus status = HC_OK;
    char *record = hc_text_format("%s.hcube.json", path);
    HC_TRY(hc_text_made(record, strlen(path), "a path", err));
    HC_TRY(hc_chain_is_record(record, has, err));
done:
    free(record);
    return status;
}

/* Bands of the scene that a path leads to; 0 where it leads to none, or to one that hcube wrote: that has a
 * record, beside its data where the path is a header, and can be made again. */
static HcStatus bands_without_record(const char *path, int32_t *bands, HcError *err) {
    HcStatus status = HC_OK;
    HcError why = {0};
    HcReader *reader = NULL;
    bool recorded = false;
    *bands = 0;
    HC_TRY(has_record(path, &recorded, err));
    if (recorded) {
        goto done;
    }
    HcStatus opened = hc_reader_open(&reader, path, NULL, &why);
    if (opened != HC_OK) {
        /* What memory or the disk do says nothing about the file. */
        HC_TRY(opened == HC_E_MEMORY || opened == HC_E_IO ? hc_fail(err, opened, "%s", why.text) : HC_OK);
        goto done;
    }
    HC_TRY(has_record(hc_reader_path(reader), &recorded, err));
    *bands = recorded ? 0 : hc_reader_scene(reader)->bands;
done:
    hc_reader_close(reader);
    return status;
}

/* Names that no scene has, although a header of the same stem may lie beside them: that of scene.img, if the
 * report is scene.html. */
static bool is_text_by_name(const char *path) {
    static const char *const endings[] = {".html", ".json", ".csv", ".txt", ".svg", NULL};
    for (int k = 0; endings[k] != NULL; k++) {
        if (hc_text_ends_with(path, endings[k])) {
            return true;
        }
    }
    return false;
}

/* Whoever swaps input and output replaces a scene by a part of it. */
static HcStatus check_swapped(const HcChain *chain, const char *who, const char *path, int32_t bands,
                              bool overwrite, HcError *err) {
    struct stat info;
    int32_t there = 0;
    bool found = false;
    if (!chain->asks || !overwrite || is_text_by_name(path)) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_file_look(path, &info, &found, err));
    if (!found || !S_ISREG(info.st_mode)) {
        return HC_OK;
    }
    HC_OR_RETURN(bands_without_record(path, &there, err));
    if (there > bands) {
        return hc_fail(
            err, HC_E_USAGE,
            "%s: %s is a scene of %d bands that hcube has no record of, and would get %d: arguments "
            "swapped? (if not, remove it first)",
            who, path, there, bands);
    }
    return HC_OK;
}

/* Bands of the raster that an output is; a picture has four, and what is no raster has none. */
static int32_t bands_written(const HcOutput *output) {
    enum { PICTURE_BANDS = 4 };
    bool raster = output->stage->kind->role == HC_ROLE_SINK;
    int32_t bands = raster ? output->stage->in.bands : 0;
    return raster && hc_text_ends_with(output->path, ".png") && bands < PICTURE_BANDS ? PICTURE_BANDS : bands;
}

static HcStatus check_outputs(HcChain *chain, HcError *err) {
    for (int32_t c = 0; c < chain->output_count; c++) {
        const HcStage *stage = chain->outputs[c].stage;
        const char *path = chain->outputs[c].path;
        if (strcmp(path, HC_FILE_STANDARD_OUTPUT) == 0) {
            return hc_fail(
                err, HC_E_USAGE,
                "%s: -: only write sends its output to standard output (./- is a file of that name)",
                stage->kind->name);
        }
        HC_OR_RETURN(hc_file_use_write(&chain->use, stage->kind->name, path, err));
        HC_OR_RETURN(check_swapped(chain, stage->kind->name, path, bands_written(&chain->outputs[c]),
                                   hc_stage_overwrite(stage), err));
    }
    return HC_OK;
}

static bool some_step_overwrites(const HcChain *chain) {
    for (int32_t c = 0; c < chain->output_count; c++) {
        if (hc_stage_overwrite(chain->outputs[c].stage)) {
            return true;
        }
    }
    return false;
}

/* The one record of all outputs, or the report. */
static HcStatus check_one(HcChain *chain, const char *option, const char *path, HcError *err) {
    bool replaces = chain->overwrite;
    bool only_steps = !replaces && some_step_overwrites(chain);
    HC_OR_RETURN(hc_file_check(path, replaces || only_steps, err));
    if (only_steps && hc_file_may_be_there(path)) {
        return hc_fail(
            err, HC_E_USAGE,
            "%s %s: the file exists already; --overwrite of a step is for its own files (hcube run "
            "--overwrite is for all)",
            option, path);
    }
    if (hc_chain_writes(chain, path)) {
        return hc_fail(err, HC_E_USAGE, "%s %s: the chain writes this file already", option, path);
    }
    HC_OR_RETURN(hc_file_use_write(&chain->use, option, path, err));
    return check_swapped(chain, option, path, 0, chain->overwrite, err);
}

/* The record beside an output. */
static HcStatus check_record_of(HcChain *chain, const HcOutput *output, HcError *err) {
    HcStatus status = HC_OK;
    bool ours = false;
    char *path = hc_text_format("%s.hcube.json", output->path);
    HC_OR_RETURN(hc_text_made(path, strlen(output->path), "the record", err));
    HC_TRY(hc_chain_is_record(path, &ours, err));
    HC_TRY(hc_file_check(path, ours || hc_stage_overwrite(output->stage), err));
    if (hc_chain_writes(chain, path)) {
        HC_TRY(hc_fail(err, HC_E_USAGE, "%s: the chain writes this file already, its record has no place",
                       path));
    }
    HC_TRY(hc_file_use_write(&chain->use, output->stage->kind->name, path, err));
done:
    free(path);
    return status;
}

HcStatus hc_chain_check_files(HcChain *chain, const char *record, HcError *err) {
    hc_file_use_clear(&chain->use);
    HC_OR_RETURN(add_reads(chain, err));
    HC_OR_RETURN(check_outputs(chain, err));
    if (record != NULL && strcmp(record, "none") != 0) {
        HC_OR_RETURN(check_one(chain, "--record", record, err));
    }
    if (chain->report != NULL) {
        HC_OR_RETURN(check_one(chain, "--report", chain->report, err));
    }
    for (int32_t c = 0; c < chain->output_count && record == NULL; c++) {
        HC_OR_RETURN(check_record_of(chain, &chain->outputs[c], err));
    }
    return HC_OK;
}

/* ---- what dead processes have left ---- */

static HcStatus remove_dead(const char *path, void *user, HcError *err) {
    (void)user;
    (void)err;
    hc_file_remove_dead(path);
    return HC_OK;
}

HcStatus hc_chain_each_written(const HcChain *chain, HcOptionVisit each, void *user, HcError *err) {
    for (int32_t s = 0; s < chain->count; s++) {
        const HcOptionSet set = {.table = chain->stages[s].kind->options, .params = chain->stages[s].params};
        HC_OR_RETURN(hc_options_files(&set, HC_FILE_WRITTEN, each, user, err));
    }
    return chain->report != NULL ? each(chain->report, user, err) : HC_OK;
}

void hc_chain_remove_dead(const HcChain *chain) {
    hc_file_look_anew();
    (void)!hc_chain_each_written(chain, remove_dead, NULL, NULL);
}
