/* The STAC item of a raster: where it lies on the Earth, when it was measured, what its bands and files are,
 * and what it was made of. It has no time of its own: the same run makes the same bytes. It is made when the
 * raster is complete and has no name yet, and gets its name together with it. */
#include "pipeline/stages/write/write_stac.h"

#include "core/text.h"
#include "core/allocate.h"
#include "core/version.h"
#include "io/file.h"
#include "io/identity.h"
#include "io/shape/ground.h"
#include "io/stac/stac.h"
#include "pipeline/chain.h"
#include "pipeline/picture/unit.h"
#include "pipeline/settings.h"
#include "pipeline/statistics/summary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The versions of the extensions that the item uses; the last for bands with wavelengths. */
static const char *const extensions[] = {"https://stac-extensions.github.io/raster/v2.0.0/schema.json",
                                         "https://stac-extensions.github.io/projection/v2.0.0/schema.json",
                                         "https://stac-extensions.github.io/processing/v1.2.0/schema.json",
                                         "https://stac-extensions.github.io/file/v2.1.0/schema.json",
                                         "https://stac-extensions.github.io/eo/v2.0.0/schema.json"};

typedef struct Item {
    HcStage *stage;
    const HcWriteStac *what;
    HcReader *file;      /* the raster, under its temporary name */
    HcBandSummary *band; /* [bands of it] */
    cJSON *input;        /* the item of the scene that was read, or NULL */
    char *input_path;    /* where that lies */
    HcPaths files;       /* of that scene */
    HcFootprint footprint;
    HcJson json;
} Item;

/* ---- links and files ---- */

static HcStatus put_link(HcJson *to, const Item *item, const char *name, const char *path, HcError *err) {
    char *link = NULL;
    HC_OR_RETURN(hc_stac_link(item->what->item, path, &link, err));
    hc_json_put_text(to, name, link);
    free(link);
    return HC_OK;
}

/* By the format of a raster (NULL: of another file), else by the ending of the name. */
static const char *media_type(const char *path, const char *format) {
    static const char *const types[][2] = {
        {"COG", "image/tiff; application=geotiff; profile=cloud-optimized"},
        {"GTiff", "image/tiff; application=geotiff"},
        {"netCDF", "application/netcdf"},
        {"Zarr", "application/vnd.zarr; version=2"},
        {".json", "application/json"},
        {".html", "text/html"},
        {".hdr", "text/plain"},
        {".xml", "application/xml"},
        {".qml", "application/xml"}};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        bool is = format != NULL ? hc_text_equal(format, types[t][0]) : hc_text_ends_with(path, types[t][0]);
        if (is) {
            return types[t][1];
        }
    }
    return "application/octet-stream";
}

/* Opens an asset; format is that of the raster, NULL for other files. */
static HcStatus open_asset(Item *item, const char *key, const char *path, const char *format,
                           const char *role, HcError *err) {
    HcJson *to = &item->json;
    hc_json_open_object(to, key);
    HC_OR_RETURN(put_link(to, item, "href", path, err));
    hc_json_put_text(to, "type", media_type(path, format));
    hc_json_open_array(to, "roles");
    hc_json_put_text(to, NULL, role);
    hc_json_close(to);
    return HC_OK;
}

/* The checksum is a multihash: the code of XXH64 (0xb3e2), its 8 bytes, the hash that records have, too. What
 * would be that of a folder, nobody says. */
static void put_identity(HcJson *to, const HcIdentity *identity) {
    char text[32];
    snprintf(text, sizeof text, "e2e70208%016llx", (unsigned long long)identity->hash);
    hc_json_put_number(to, "file:size", (double)identity->bytes);
    if (!identity->folder) {
        hc_json_put_text(to, "file:checksum", text);
    }
}

/* ---- bands ---- */

static void put_statistics(HcJson *to, const HcBandSummary *band) {
    int64_t valid = band->pixels - band->nodata - band->not_finite;
    hc_json_open_object(to, "statistics");
    if (valid > 0) {
        hc_json_put_double(to, "minimum", band->low);
        hc_json_put_double(to, "maximum", band->high);
        hc_json_put_double(to, "mean", band->mean);
    }
    if (valid > 1) {
        hc_json_put_double(to, "stddev", band->deviation);
    }
    hc_json_put_number(to, "valid_percent", 100.0 * (double)valid / (double)band->pixels);
    hc_json_close(to);
}

static void put_names(HcJson *to, const HcScene *scene, int32_t b) {
    char name[24];
    HcText label = {0};
    snprintf(name, sizeof name, "b%d", b + 1);
    hc_json_put_text(to, "name", name);
    hc_scene_add_band_label(scene, b, &label);
    if (hc_text_shown(&label)[0] != '\0') {
        hc_json_put_text(to, "description", hc_text_shown(&label));
    }
    to->failed = to->failed || label.failed;
    hc_text_clear(&label);
}

static void put_band(Item *item, int32_t b) {
    HcJson *to = &item->json;
    const HcScene *scene = item->what->scene, *stored = hc_reader_scene(item->file);
    const char *unit = hc_unit_of(item->stage, b);
    HcScale scale = hc_scene_scale(stored, b);
    double nodata = 0;
    hc_json_open_object(to, NULL);
    put_names(to, scene, b);
    hc_json_put_text(to, "data_type", hc_type_name(stored->type));
    if (hc_reader_nodata(item->file, b, &nodata) && isfinite(nodata)) {
        hc_json_put_number(to, "nodata", nodata);
    } else if (stored->type == HC_FLOAT32 || stored->type == HC_FLOAT64) {
        hc_json_put_text(to, "nodata", "nan");
    }
    if (unit != NULL) {
        hc_json_put_text(to, "unit", unit);
    }
    put_statistics(to, &item->band[b]);
    if (scale.gain != 1 || scale.offset != 0) {
        hc_json_put_double(to, "raster:scale", scale.gain);
        hc_json_put_double(to, "raster:offset", scale.offset);
    }
    if (scene->wavelength != NULL && scene->wavelength[b] > 0) {
        hc_json_put_number(to, "eo:center_wavelength", scene->wavelength[b] / 1000);
    }
    if (scene->wavelength != NULL && scene->fwhm != NULL && scene->fwhm[b] > 0) {
        hc_json_put_number(to, "eo:full_width_half_max", scene->fwhm[b] / 1000);
    }
    hc_json_close(to);
}

static HcStatus put_data(Item *item, const char *path, const HcIdentity *identity, HcError *err) {
    HcJson *to = &item->json;
    const HcScene *scene = item->what->scene;
    HcGround ground = hc_ground_of(&scene->place, scene->lines, scene->samples);
    HC_OR_RETURN(open_asset(item, "data", path, hc_writer_format(item->what->writer), "data", err));
    put_identity(to, identity);
    hc_json_put_text(to, "raster:sampling", "area");
    if (ground.known) {
        hc_json_put_number(to, "raster:spatial_resolution", sqrt(ground.across * ground.along));
    }
    hc_json_open_array(to, "bands");
    for (int32_t b = 0; b < scene->bands; b++) {
        put_band(item, b);
    }
    hc_json_close(to);
    hc_json_close(to);
    return HC_OK;
}

/* ---- assets ---- */

/* A file of the set, if it belongs to the raster. */
static HcStatus put_file(const char *lies, const char *path, void *user, HcError *err) {
    Item *item = user;
    const HcWriterNames *names = item->what->names;
    HcIdentity identity;
    const char *key = hc_file_same_place(path, names->data)                              ? "data"
                      : names->header != NULL && hc_file_same_place(path, names->header) ? "header"
                      : names->style != NULL && hc_file_same_place(path, names->style)   ? "style"
                                                                                         : NULL;
    size_t length = strlen(names->data);
    const char *base = strncmp(path, "./", 2) == 0 && strncmp(names->data, "./", 2) != 0 ? path + 2 : path;
    bool beside = strncmp(base, names->data, length) == 0 && strcmp(base + length, ".aux.xml") == 0;
    key = key == NULL && beside ? "metadata" : key;
    if (key == NULL) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_identity_of(lies, true, &identity, err));
    if (strcmp(key, "data") == 0) {
        return put_data(item, path, &identity, err);
    }
    HC_OR_RETURN(open_asset(item, key, path, NULL, "metadata", err));
    put_identity(&item->json, &identity);
    hc_json_close(&item->json);
    return HC_OK;
}

/* Record and report are written later, so that they have no checksum here. */
static HcStatus put_later(Item *item, const char *key, const char *path, HcError *err) {
    HC_OR_RETURN(open_asset(item, key, path, NULL, "metadata", err));
    hc_json_close(&item->json);
    return HC_OK;
}

static HcStatus put_assets(Item *item, HcError *err) {
    HcStatus status = HC_OK;
    const HcChain *chain = item->stage->chain;
    const char *record = chain->settings != NULL ? chain->settings->record : NULL;
    char *usual = hc_text_format("%s.hcube.json", item->what->names->data);
    HC_OR_RETURN(hc_text_made(usual, 0, "a path", err));
    hc_json_open_object(&item->json, "assets");
    HC_TRY(hc_file_visit(put_file, item, err));
    if (record == NULL || strcmp(record, "none") != 0) {
        HC_TRY(put_later(item, "record", record != NULL ? record : usual, err));
    }
    if (chain->report != NULL) {
        HC_TRY(put_later(item, "report", chain->report, err));
    }
    hc_json_close(&item->json);
done:
    free(usual);
    return status;
}

static HcStatus put_relation(Item *item, const char *relation, const char *path, HcError *err) {
    hc_json_open_object(&item->json, NULL);
    hc_json_put_text(&item->json, "rel", relation);
    HC_OR_RETURN(put_link(&item->json, item, "href", path, err));
    hc_json_put_text(&item->json, "type",
                     strcmp(relation, "derived_from") == 0 ? "application/geo+json" : "application/json");
    hc_json_close(&item->json);
    return HC_OK;
}

static HcStatus put_collection(Item *item, HcError *err) {
    static const char *const relations[] = {"root", "parent", "collection"};
    const char *folder = item->what->collection;
    for (int r = 0; r < 3 && folder != NULL; r++) {
        char *path = hc_text_format("%s/%s.json", folder, r == 0 ? "catalog" : "collection");
        HC_OR_RETURN(hc_text_made(path, strlen(folder), "a path", err));
        HcStatus status = put_relation(item, relations[r], path, err);
        free(path);
        HC_OR_RETURN(status);
    }
    return HC_OK;
}

static HcStatus put_links(Item *item, HcError *err) {
    hc_json_open_array(&item->json, "links");
    if (item->input_path != NULL) {
        HC_OR_RETURN(put_relation(item, "derived_from", item->input_path, err));
    }
    HC_OR_RETURN(put_collection(item, err));
    hc_json_close(&item->json);
    return HC_OK;
}

/* ---- properties ---- */

static void put_copies(HcJson *to, const cJSON *from, const char *const *keys) {
    for (; *keys != NULL; keys++) {
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(from, *keys);
        if (value != NULL) {
            hc_json_put(to, *keys, cJSON_Duplicate(value, true));
        }
    }
}

/* Pixels were measured before their file was changed last: that is all that is known of some. */
static void put_interval(Item *item) {
    char text[32] = "";
    int64_t size = 0, modified = 0;
    hc_reader_identity(hc_view_reader(item->stage->chain->source->view), &size, &modified);
    time_t end = modified > 0 ? (time_t)modified : time(NULL);
    struct tm parts;
    if (gmtime_r(&end, &parts) != NULL) {
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    }
    hc_json_put(&item->json, "datetime", cJSON_CreateNull());
    hc_json_put_text(&item->json, "start_datetime", "1970-01-01T00:00:00Z");
    hc_json_put_text(&item->json, "end_datetime", text);
    hc_stage_note(item->stage,
                  "%s: the scene does not say when it was measured; the item has the time from 1970 to the "
                  "last change of its file",
                  item->what->item);
}

static void put_time(Item *item, const cJSON *properties) {
    static const char *const keys[] = {"datetime", "start_datetime", "end_datetime", NULL};
    char time[HC_STAC_TIME];
    hc_stac_time(&item->files, time);
    if (cJSON_GetObjectItemCaseSensitive(properties, "datetime") != NULL) {
        put_copies(&item->json, properties, keys);
    } else if (time[0] != '\0') {
        hc_json_put_text(&item->json, "datetime", time);
    } else {
        put_interval(item);
    }
}

static HcStatus put_projection(Item *item, HcError *err) {
    HcJson *to = &item->json;
    const HcScene *scene = item->what->scene;
    const double *t = scene->place.transform;
    char *code = NULL, *wkt = NULL;
    HC_OR_RETURN(hc_stac_crs(scene->place.crs, &code, &wkt, err));
    hc_json_put(to, "proj:code", code != NULL ? cJSON_CreateString(code) : cJSON_CreateNull());
    if (wkt != NULL) {
        hc_json_put_text(to, "proj:wkt2", wkt);
    }
    hc_json_open_array(to, "proj:shape");
    hc_json_put_number(to, NULL, (double)scene->lines);
    hc_json_put_number(to, NULL, (double)scene->samples);
    hc_json_close(to);
    if (scene->place.has_transform) {
        double order[6] = {t[1] + 0.0, t[2] + 0.0, t[0], t[4] + 0.0, t[5] + 0.0, t[3]}; /* no -0 */
        hc_json_put_doubles(to, "proj:transform", order, 6);
    }
    free(code);
    free(wkt);
    return HC_OK;
}

static void put_processing(Item *item) {
    HcJson *to = &item->json;
    const HcChain *chain = item->stage->chain;
    const HcCommandLine *command = chain->settings != NULL ? chain->settings->command : NULL;
    HcText text = {0};
    if (command != NULL && chain->single) { /* a batch has one for many scenes and hosts */
        hc_text_add(&text, "%s", command->text);
    } else {
        hc_chain_print(chain, &text);
    }
    hc_json_open_object(to, "processing:expression");
    hc_json_put_text(to, "format", "hcube");
    hc_json_put_text(to, "expression", hc_text_shown(&text));
    hc_json_close(to);
    hc_json_open_object(to, "processing:software");
    hc_json_put_text(to, "hcube", hc_version());
    hc_json_close(to);
    to->failed = to->failed || text.failed;
    hc_text_clear(&text);
}

static HcStatus put_properties(Item *item, HcError *err) {
    static const char *const keys[] = {"platform",       "instruments", "constellation", "mission", "gsd",
                                       "eo:cloud_cover", NULL};
    const cJSON *properties = cJSON_GetObjectItemCaseSensitive(item->input, "properties");
    hc_json_open_object(&item->json, "properties");
    put_time(item, properties);
    put_copies(&item->json, properties, keys);
    HC_OR_RETURN(put_projection(item, err));
    put_processing(item);
    hc_json_close(&item->json);
    return HC_OK;
}

/* ---- the item ---- */

/* The output's name without its ending. In a collection, its folders below the collection (or below where
 * both lie) come first: outputs in several folders may have one name. */
static HcStatus put_id(Item *item, HcError *err) {
    const char *data = item->what->names->data;
    char *path = NULL, *id = NULL;
    const char *from = item->what->collection;
    char *page = from != NULL ? hc_text_format("%s/collection.json", from) : strdup(item->what->item);
    HcStatus status = page != NULL ? hc_stac_link(page, data, &path, err)
                                   : hc_fail_memory(err, (double)strlen(data), "a path");
    if (status == HC_OK) {
        hc_stac_decode(path);
        id = path + strspn(path, "./");
        char *dot = strrchr(id, '.'), *slash = strrchr(id, '/');
        if (dot != NULL && dot > id && (slash == NULL || dot > slash + 1)) {
            *dot = '\0';
        }
        for (char *c = id; *c != '\0'; c++) {
            *c = *c == '/' ? '_' : *c;
        }
        hc_json_put_text(&item->json, "id", id);
    }
    free(page);
    free(path);
    return status;
}

static void put_place(Item *item) {
    HcJson *to = &item->json;
    if (item->footprint.geometry == NULL) {
        hc_json_put(to, "geometry", cJSON_CreateNull());
        return;
    }
    hc_json_put(to, "geometry", cJSON_Duplicate(item->footprint.geometry, true));
    hc_json_put_doubles(to, "bbox", item->footprint.bbox, 4);
}

static HcStatus build(Item *item, HcError *err) {
    HcJson *to = &item->json;
    hc_json_begin(to);
    hc_json_put_text(to, "type", "Feature");
    hc_json_put_text(to, "stac_version", HC_STAC_VERSION);
    size_t uses = sizeof extensions / sizeof *extensions - (item->what->scene->wavelength == NULL);
    hc_json_put_texts(to, "stac_extensions", extensions, (int64_t)uses);
    HC_OR_RETURN(put_id(item, err));
    if (item->what->collection != NULL) {
        char *name = NULL;
        HC_OR_RETURN(hc_stac_folder_name(item->what->collection, &name, err));
        hc_json_put_text(to, "collection", name);
        free(name);
    }
    put_place(item);
    HC_OR_RETURN(put_properties(item, err));
    HC_OR_RETURN(put_links(item, err));
    HC_OR_RETURN(put_assets(item, err));
    return hc_json_check(to, "the STAC item", err);
}

/* Reads every value of the raster. */
static HcStatus look(Item *item, HcError *err) {
    char *lies = NULL;
    HC_OR_RETURN(hc_file_find(item->what->names->data, &lies, err));
    HcStatus status = hc_reader_open(&item->file, lies, NULL, err);
    free(lies);
    HC_OR_RETURN(status);
    int32_t bands = hc_reader_scene(item->file)->bands;
    if (bands != item->what->scene->bands) {
        return hc_fail(err, HC_E_UNSUPPORTED, "write: --stac: %s has %d bands when it is read, not %d",
                       item->what->names->data, bands, item->what->scene->bands);
    }
    HC_OR_RETURN(hc_new(item->band, (size_t)bands, "the figures of the bands", err));
    return hc_summarise(item->file, NULL, bands, 1, 0, item->band, err);
}

/* The item of the scene that was read, if it has one. */
static HcStatus find_input(Item *item, HcError *err) {
    const char *from = item->what->from;
    HC_OR_RETURN(hc_view_files(item->stage->chain->source->view, &item->files, err));
    if (from != NULL && from[0] != '\0') {
        HC_OR_RETURN(hc_stac_read_item(from, &item->input, err));
    }
    if (item->input == NULL) {
        return hc_stac_item_of(&item->files, &item->input, &item->input_path, err);
    }
    item->input_path = strdup(from);
    return item->input_path != NULL ? HC_OK : hc_fail_memory(err, (double)strlen(from), "a path");
}

HcStatus hc_write_stac(HcStage *stage, const HcWriteStac *what, HcError *err) {
    HcStatus status = HC_OK;
    Item item = {.stage = stage, .what = what};
    const HcView *view = stage->chain->source->view;
    HC_TRY(find_input(&item, err));
    HC_TRY(hc_footprint_of(what->scene, hc_reader_path(hc_view_reader(view)), &item.footprint, err));
    HC_TRY(look(&item, err));
    HC_TRY(build(&item, err));
    HC_TRY(hc_json_save_unflushed(&item.json, what->item, hc_stage_overwrite(stage), err));
done:
    hc_json_clear(&item.json);
    hc_footprint_clear(&item.footprint);
    hc_paths_clear(&item.files);
    hc_reader_close(item.file);
    cJSON_Delete(item.input);
    free(item.input_path);
    free(item.band);
    return status;
}
