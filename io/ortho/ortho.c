/* Where a table comes from, and the map that it makes. */
#include "io/ortho/ortho.h"
#include "core/allocate.h"
#include "io/ortho/parts.h"

#include <inttypes.h>
#include <ogr_srs_api.h>
#include <stdlib.h>
#include <string.h>

struct HcOrtho {
    char *file;
    uint64_t memory; /* that reading may take, 0 = not limited */
    bool keeps;      /* the coordinates, after the table that is made of them */
    HcOrthoPlaces places;
    HcOrthoTable table;
    int64_t top, left, lines, samples; /* of the map in the table */
    HcPlace place;                     /* of the map */
    bool nearest;
    double spacing, reach;
};

void hc_ortho_close(HcOrtho *ortho) {
    if (ortho != NULL) {
        hc_ortho_table_close(&ortho->table);
        hc_ortho_places_close(&ortho->places);
        free(ortho->place.crs);
        free(ortho->file);
        free(ortho);
    }
}

static HcStatus copy_text(char **to, const char *from, HcError *err) {
    if (from != NULL && (*to = strdup(from)) == NULL) {
        return hc_fail_memory(err, (double)strlen(from), "a text");
    }
    return HC_OK;
}

static HcStatus take_place(HcOrtho *ortho, const HcPlace *place, HcError *err) {
    ortho->place = (HcPlace){.has_transform = place->has_transform};
    memcpy(ortho->place.transform, place->transform, sizeof place->transform);
    return copy_text(&ortho->place.crs, place->crs, err);
}

/* ---- coordinates ---- */

static HcStatus from_places(HcOrtho *ortho, const char *crs, HcError *err) {
    HcOrthoGrid grid;
    HC_OR_RETURN(hc_ortho_nearest(&ortho->table, &ortho->places, crs, &grid, err));
    if (!ortho->keeps) {
        hc_ortho_places_close(&ortho->places);
    }
    ortho->nearest = true;
    ortho->spacing = grid.spacing;
    ortho->reach = grid.reach;
    HC_OR_RETURN(take_place(ortho, &grid.place, err));
    return copy_text(&ortho->place.crs, crs == NULL && grid.geographic ? SRS_WKT_WGS84_LAT_LONG : crs, err);
}

/* ---- sources ---- */

static HcStatus from_lookup(HcOrtho *ortho, const HcLookup *lookup, HcError *err) {
    if (lookup->sample != NULL) {
        HC_OR_RETURN(hc_ortho_table_arrays(&ortho->table, lookup, ortho->memory, err));
        return take_place(ortho, &lookup->place, err);
    }
    ortho->places.path = ortho->file;
    HC_OR_RETURN(hc_ortho_places_arrays(&ortho->places, lookup, ortho->memory, err));
    return from_places(ortho, lookup->place.crs, err);
}

static HcStatus places_of_raster(HcOrtho *ortho, HcReader *reader, HcError *err) {
    ortho->places.path = ortho->file;
    HC_OR_RETURN(hc_ortho_places_raster(&ortho->places, reader, err));
    return from_places(ortho, hc_reader_scene(reader)->place.crs, err);
}

static HcStatus from_raster(HcOrtho *ortho, HcReader *reader, HcError *err) {
    const HcScene *scene = hc_reader_scene(reader);
    bool floating = scene->type == HC_FLOAT32 || scene->type == HC_FLOAT64;
    if (floating && (scene->bands == 2 || scene->bands == 3)) {
        return places_of_raster(ortho, reader, err);
    }
    if (floating || scene->bands != 2) {
        return hc_fail(err, HC_E_INPUT,
                       "%s: %" PRId32 " bands of %s are no lookup table: that has two of integers (sample, "
                       "line), and coordinates two or three of floats (x, y, height)",
                       ortho->file, scene->bands, hc_type_name(scene->type));
    }
    HC_OR_RETURN(hc_ortho_table_raster(&ortho->table, reader, err));
    return take_place(ortho, &scene->place, err);
}

/* Opens the file of the table if the image names one; else does nothing. */
static HcStatus follow(HcOrtho *ortho, HcReader **reader, HcError *err) {
    const HcLookup *lookup = &hc_reader_scene(*reader)->lookup;
    char *file = NULL;
    if (lookup->file == NULL || lookup->sample != NULL || lookup->x != NULL) {
        return HC_OK;
    }
    HC_OR_RETURN(copy_text(&file, lookup->file, err));
    free(ortho->file);
    ortho->table.path = ortho->file = file;
    hc_reader_close(*reader);
    *reader = NULL;
    return hc_reader_open(reader, ortho->file, NULL, err);
}

static HcStatus from_file(HcOrtho *ortho, HcError *err) {
    HcStatus status = HC_OK;
    HcReader *reader = NULL;
    HC_TRY(hc_reader_open(&reader, ortho->file, NULL, err));
    HC_TRY(follow(ortho, &reader, err));
    const HcLookup *lookup = &hc_reader_scene(reader)->lookup;
    status = lookup->sample != NULL || lookup->x != NULL ? from_lookup(ortho, lookup, err)
                                                         : from_raster(ortho, reader, err);
done:
    hc_reader_close(reader);
    return status;
}

/* ---- the map ---- */

static HcOrthoWindow window_of(const HcScene *scene) {
    const HcCut *cut = &scene->cut;
    bool whole = cut->lines == 0;
    return (HcOrthoWindow){.line0 = cut->line0,
                           .sample0 = cut->sample0,
                           .lines = scene->lines,
                           .samples = scene->samples,
                           .file_lines = whole ? scene->lines : cut->lines,
                           .file_samples = whole ? scene->samples : cut->samples};
}

/* The map of a window is as large as what it shows, that of a whole scene is the table. */
static HcStatus settle_map(HcOrtho *ortho, const HcScene *scene, HcError *err) {
    const HcOrthoTable *table = &ortho->table;
    double *t = ortho->place.transform;
    if (table->filled == 0) {
        return hc_fail(err, HC_E_INPUT, "%s: the lookup table leads to no pixel of the scene", ortho->file);
    }
    ortho->lines = table->lines;
    ortho->samples = table->samples;
    if (scene->cut.lines == 0) {
        return HC_OK;
    }
    ortho->top = table->top;
    ortho->left = table->left;
    ortho->lines = table->bottom - table->top;
    ortho->samples = table->right - table->left;
    t[0] += t[1] * (double)ortho->left + t[2] * (double)ortho->top;
    t[3] += t[4] * (double)ortho->left + t[5] * (double)ortho->top;
    return HC_OK;
}

static HcStatus open_ortho(HcOrtho **out, HcOrtho asked, const HcScene *scene, const char *path,
                           const char *file, HcError *err) {
    HcStatus status = HC_OK;
    HcOrtho *ortho = NULL;
    *out = NULL;
    if (file == NULL && scene->lookup.file == NULL) {
        return hc_fail(
            err, HC_E_INPUT,
            "%s: has no lookup table and no coordinates of its pixels (--ortho=FILE names them; RPC and "
            "ground control points are not applied)",
            path);
    }
    HC_OR_RETURN(hc_new(ortho, 1, "a lookup table", err));
    *ortho = asked;
    ortho->table.scratch = ortho->places.scratch = -1;
    ortho->table.window = window_of(scene);
    HC_TRY(copy_text(&ortho->file, file != NULL ? file : scene->lookup.file, err));
    ortho->table.path = ortho->file;
    bool arrays = file == NULL && (scene->lookup.sample != NULL || scene->lookup.x != NULL);
    HC_TRY(arrays ? from_lookup(ortho, &scene->lookup, err) : from_file(ortho, err));
    HC_TRY(settle_map(ortho, scene, err));
    *out = ortho;
    ortho = NULL;
done:
    hc_ortho_close(ortho);
    return status;
}

HcStatus hc_ortho_open(HcOrtho **out, const HcScene *scene, const char *path, const char *file,
                       uint64_t memory, HcError *err) {
    return open_ortho(out, (HcOrtho){.memory = memory}, scene, path, file, err);
}

HcStatus hc_ortho_open_with_coordinates(HcOrtho **out, const HcScene *scene, const char *path, HcError *err) {
    return open_ortho(out, (HcOrtho){.keeps = true}, scene, path, NULL, err);
}

HcStatus hc_ortho_scene(const HcOrtho *ortho, const HcScene *from, HcScene *to, HcError *err) {
    HC_OR_RETURN(hc_scene_copy(to, from, err));
    to->lines = ortho->lines;
    to->samples = ortho->samples;
    to->cut = (HcCut){0};
    to->complete = false;
    hc_lookup_clear(&to->lookup);
    to->rpc.known = false;
    free(to->place.crs);
    to->place = ortho->place;
    to->place.crs = NULL;
    return copy_text(&to->place.crs, ortho->place.crs, err);
}

HcOrthoFacts hc_ortho_facts(const HcOrtho *ortho) {
    return (HcOrthoFacts){.file = ortho->file,
                          .lines = ortho->lines,
                          .samples = ortho->samples,
                          .filled = ortho->table.filled,
                          .nearest = ortho->nearest,
                          .spacing = ortho->spacing,
                          .reach = ortho->reach};
}

HcStatus hc_ortho_coordinates(const HcOrtho *ortho, int64_t line, double *x, double *y, HcError *err) {
    const HcOrthoWindow *window = &ortho->table.window;
    return hc_ortho_places_get(&ortho->places, window->line0 + line, window->sample0, window->samples, x, y,
                               err);
}

HcStatus hc_ortho_lines(const HcOrtho *ortho, int64_t line0, int64_t lines, HcOrthoPixel *to, HcError *err) {
    if (ortho->samples == ortho->table.samples) {
        return hc_ortho_table_get(&ortho->table, ortho->top + line0, 0, lines * ortho->samples, to, err);
    }
    for (int64_t l = 0; l < lines; l++) {
        HC_OR_RETURN(hc_ortho_table_get(&ortho->table, ortho->top + line0 + l, ortho->left, ortho->samples,
                                        to + l * ortho->samples, err));
    }
    return HC_OK;
}
