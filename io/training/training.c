/* Training data: which kind of source it is, and what both kinds have in common. */
#include "io/guard/guard.h"
#include "io/training/training.h"

#include "core/text.h"
#include "io/file.h"
#include "io/gdal/errors.h"
#include "io/gdal/files.h"
#include "io/training/parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- classes ---- */

void hc_labelling_clear(HcLabelling *labelling) {
    for (int32_t k = 0; k < labelling->key_count; k++) {
        free(labelling->key[k].text);
    }
    free(labelling->key);
    free(labelling->order);
}

/* ---- the kind of source ---- */

/* Neither a layer with geometries nor a raster. `opened`: as vector data it could be opened; else `messages`
 * holds why not. `raster`: why it is no raster. */
static HcStatus fail_neither(const char *path, GDALDatasetH opened, const HcGdalErrors *messages,
                             const HcError *raster, HcError *err) {
    bool is_flaw = raster->status == HC_E_INPUT || raster->status == HC_E_UNSUPPORTED;
    if (!is_flaw) {
        return hc_fail(err, raster->status, "%s", raster->text);
    }
    if (opened != NULL) {
        return hc_fail(
            err, HC_E_INPUT, "%s: has no layer with geometries%s", path,
            hc_table_is_csv(opened) ? "; a table of points has columns x,y or lon,lat or sample,line" : "");
    }
    if (messages->failed && GDALIdentifyDriverEx(path, GDAL_OF_VECTOR, NULL, NULL) != NULL &&
        GDALIdentifyDriverEx(path, GDAL_OF_RASTER, NULL, NULL) == NULL) {
        return hc_gdal_fail(err, HC_E_INPUT, path, messages);
    }
    return hc_fail(err, raster->status, "%s", raster->text);
}

/* Opens a raster; one of the size of the file that the scene is a window of is cut like it. */
static HcStatus open_raster(HcView **out, const char *path, const HcScene *scene, HcError *err) {
    const HcCut *cut = &scene->cut;
    const HcViewWindow window = {cut->sample0, cut->line0, scene->samples, scene->lines};
    HcViewOptions how = {0};
    HC_OR_RETURN(hc_view_open(out, path, &how, err));
    const HcScene *raster = hc_view_scene(*out);
    if (!hc_scene_same_grid(raster, scene) && raster->lines == cut->lines &&
        raster->samples == cut->samples) {
        hc_view_close(*out);
        how.window = &window;
        HC_OR_RETURN(hc_view_open(out, path, &how, err));
    }
    return HC_OK;
}

static HcStatus read_raster(HcLabelling *labelling, HcView *view, const char *field, const char *number,
                            const char *layer, HcError *err) {
    field = field != NULL ? field : number;
    if (field != NULL || layer != NULL) {
        return hc_fail(err, HC_E_USAGE, "%s: is a raster, there is no %s '%s' to choose", labelling->path,
                       field != NULL ? "field" : "layer", field != NULL ? field : layer);
    }
    if (labelling->attributes != NULL) {
        return hc_fail(err, HC_E_USAGE, "%s: is a raster, there are no attributes '%s' to keep",
                       labelling->path, labelling->attributes);
    }
    return hc_labelling_raster(labelling, view, err);
}

/* dataset: NULL where the source is no vector data, for the reason in `messages`. */
static HcStatus read_opened(HcLabelling *labelling, GDALDatasetH dataset, const HcGdalErrors *messages,
                            const char *field, const char *number, const char *layer, HcError *err) {
    HcError why = {0};
    HcView *view = NULL;
    if (dataset != NULL && hc_shapes_layers(dataset) > 0) {
        return hc_labelling_vector(labelling, dataset, field, number, layer, err);
    }
    HcStatus status = open_raster(&view, labelling->path, labelling->scene, &why) == HC_OK
                          ? read_raster(labelling, view, field, number, layer, err)
                          : fail_neither(labelling->path, dataset, messages, &why, err);
    hc_view_close(view);
    return status;
}

static HcStatus read_source(const char *path, const char *field, const char *number, const char *layer,
                            HcLabelling how, HcError *err) {
    HcGdalErrors messages;
    HcLabelling labelling = how;
    HC_OR_RETURN(hc_file_check_regular(path, err));
    hc_gdal_catch(&messages);
    GDALDatasetH dataset = hc_guard_open(path, GDAL_OF_VECTOR | GDAL_OF_READONLY, NULL, NULL);
    hc_gdal_release();
    HcStatus status = hc_table_of_points(path, &dataset, &labelling.table, err);
    if (status == HC_OK) {
        status = read_opened(&labelling, dataset, &messages, field, number, layer, err);
    }
    GDALClose(dataset);
    hc_labelling_clear(&labelling);
    return status;
}

static HcStatus read_sure(const char *path, const char *field, const char *number, const char *layer,
                          HcLabelling how, HcError *err) {
    HcError failure = {0};
    int64_t mark = hc_gdal_files_mark();
    HcStatus status = read_source(path, field, number, layer, how, &failure);
    status = hc_gdal_files_settle(mark, status, &failure, err);
    if (status != HC_OK) {
        hc_labelled_clear(how.out);
    }
    return status;
}

HcStatus hc_labelled_read(const char *path, const char *field, const char *layer, const HcScene *scene,
                          HcLabelled *out, HcError *err) {
    const HcLabelling how = {.path = path, .scene = scene, .out = out};
    return read_sure(path, field, NULL, layer, how, err);
}

HcStatus hc_labelled_read_numbered(const char *path, const char *field, const char *field_number,
                                   const char *layer, const HcScene *scene, HcLabelled *out, HcError *err) {
    const HcLabelling how = {.path = path, .scene = scene, .out = out};
    return read_sure(path, field, field_number, layer, how, err);
}

HcStatus hc_labelled_read_any(const char *path, const char *field, const char *layer, const char *attributes,
                              const HcScene *scene, HcLabelled *out, HcError *err) {
    const HcLabelling how = {.path = path, .scene = scene, .out = out, .any = true, .attributes = attributes};
    return read_sure(path, field, NULL, layer, how, err);
}

int32_t hc_labelled_label(const HcLabelled *labelled, int32_t number) {
    int32_t low = 0, high = labelled->number != NULL ? labelled->classes.count : 0;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        low = labelled->number[middle] < number ? middle + 1 : low;
        high = labelled->number[middle] < number ? high : middle;
    }
    return labelled->number != NULL ? low : number;
}

HcStatus hc_labelled_classes(const HcLabelled *labelled, HcClasses *to, HcError *err) {
    const HcClasses *from = &labelled->classes;
    HcStatus status = hc_classes_make(to, hc_labelled_number(labelled, from->count - 1) + 1, err);
    for (int32_t label = 0; label < from->count && status == HC_OK; label++) {
        int32_t number = hc_labelled_number(labelled, label);
        status = hc_classes_name(to, number, from->name[label], err);
        memcpy(to->colour[number], from->colour[label], sizeof *to->colour);
    }
    if (status != HC_OK) {
        hc_classes_clear(to);
    }
    return status;
}

void hc_labelled_clear(HcLabelled *labelled) {
    hc_classes_clear(&labelled->classes);
    free(labelled->sample);
    free(labelled->line);
    free(labelled->label);
    free(labelled->feature);
    free(labelled->pixels);
    free(labelled->number);
    free(labelled->field);
    free(labelled->lost_class);
    hc_text_clear(&labelled->place_note);
    hc_attributes_clear(&labelled->attributes);
    *labelled = (HcLabelled){0};
}

/* ---- notes ---- */

static void add_note(HcText *text, int64_t count, const char *one, const char *many) {
    if (count > 0) {
        hc_text_add(text, "%s%" PRId64 " %s", text->length > 0 ? ", " : "", count, count == 1 ? one : many);
    }
}

void hc_labelled_note(const HcLabelled *labelled, HcText *to) {
    HcText text = {0};
    add_note(&text, labelled->contested, "pixel that two classes claim", "pixels that two classes claim");
    add_note(&text, labelled->empty_features, "feature without a geometry or area",
             "features without a geometry or area");
    add_note(&text, labelled->unnamed_features, "feature without a class", "features without a class");
    add_note(&text, labelled->outside_features, "feature in which no pixel's centre lies",
             "features in which no pixel's centre lies");
    add_note(&text, labelled->unprojected_features, "feature beyond the CRS of the scene",
             "features beyond the CRS of the scene");
    add_note(&text, labelled->lost_classes, "class that keeps no pixel", "classes that keep no pixel");
    if (labelled->lost_class != NULL) {
        hc_text_add(&text, " ('%s'%s)", labelled->lost_class, labelled->lost_classes > 1 ? ", ..." : "");
    }
    if (text.length > 0) {
        hc_text_add(to, "left out: %s", text.data);
    }
    if (labelled->mended_features > 0) {
        hc_text_add(to, "%s%" PRId64 " %s", to->length > 0 ? "; " : "", labelled->mended_features,
                    labelled->mended_features == 1 ? "polygon crosses itself" : "polygons cross themselves");
    }
    if (labelled->renumbered != 0) {
        hc_text_add(to, "%sclasses get the numbers 1, 2, ...: a map does not hold %" PRId64,
                    to->length > 0 ? "; " : "", labelled->renumbered);
    }
    if (labelled->place_note.length > 0) {
        hc_text_add(to, "%s%s", to->length > 0 ? "; " : "", labelled->place_note.data);
    }
    to->failed = to->failed || text.failed;
    hc_text_clear(&text);
}
