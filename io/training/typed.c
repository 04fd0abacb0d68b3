/* Pixels that the user types, SAMPLE,LINE[:SAMPLE,LINE...] of the scene or X,Y[:X,Y...] of its map, as
 * labelled pixels: each is a class of its own, in the order in which they are typed. A rectangle is one. */
#include "core/allocate.h"
#include "core/text.h"
#include "io/training/parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Typed {
    const char *option; /* "extract: --at" */
    bool on_map;
    HcLabelling labelling;
    double (*at)[2]; /* [count] as typed */
    int32_t count;
    HcShape *shape; /* [count] points, in pixels of the scene or of its map */
} Typed;

/* ---- the words ---- */

static HcStatus parse_place(Typed *typed, char *item, HcError *err) {
    double *at = typed->at[typed->count++];
    char *comma = strchr(item, ',');
    bool good = comma != NULL;
    if (good) {
        *comma = '\0';
        good = hc_text_parse_double(item, &at[0]) && hc_text_parse_double(comma + 1, &at[1]);
        good = good && isfinite(at[0]) && isfinite(at[1]);
        *comma = ',';
    }
    for (int i = 0; i < 2 && good && !typed->on_map; i++) {
        good = at[i] >= 0 && at[i] == floor(at[i]);
    }
    return good ? HC_OK
                : hc_fail(err, HC_E_USAGE, "%s %s: not %s", typed->option, item,
                          typed->on_map ? "X,Y in coordinates of the scene's map"
                                        : "SAMPLE,LINE in whole numbers from 0");
}

static HcStatus parse(Typed *typed, const char *const *text, int32_t texts, HcError *err) {
    HcStatus status = HC_OK;
    char *copy = NULL, *rest = NULL;
    size_t places = 0;
    for (int32_t t = 0; t < texts; t++) {
        places += strlen(text[t]) / 2 + 1;
    }
    HC_TRY(hc_new(typed->at, places, "places", err));
    for (int32_t t = 0; t < texts; t++) {
        free(copy);
        copy = strdup(text[t]);
        HC_TRY(hc_text_made(copy, strlen(text[t]), "places", err));
        rest = copy;
        for (char *item = NULL; (item = strsep(&rest, ":")) != NULL;) {
            HC_TRY(parse_place(typed, item, err));
        }
    }
done:
    free(copy);
    return status;
}

/* ---- the pixels ---- */

/* "sample 40 line 25": commas would be lost in an ENVI header. */
static char *name_of(const Typed *typed, int32_t i) {
    const double *at = typed->at[i];
    return hc_text_format(typed->on_map ? "x %.10g y %.10g" : "sample %.10g line %.10g", at[0], at[1]);
}

static HcStatus fail_place(const Typed *typed, int32_t i, const char *what, HcError *err) {
    const double *at = typed->at[i];
    return hc_fail(err, HC_E_USAGE, "%s %.10g,%.10g: %s", typed->option, at[0], at[1], what);
}

static HcStatus fail_outside(const Typed *typed, int32_t i, const HcScene *scene, HcError *err) {
    char what[200];
    const double *t = scene->place.transform, samples = (double)scene->samples, lines = (double)scene->lines;
    if (typed->on_map) {
        snprintf(what, sizeof what, "lies outside of the scene, from %.10g,%.10g to %.10g,%.10g", t[0], t[3],
                 t[0] + t[1] * samples + t[2] * lines, t[3] + t[4] * samples + t[5] * lines);
    } else {
        snprintf(what, sizeof what, "the scene has %.0f samples x %.0f lines", samples, lines);
    }
    return fail_place(typed, i, what, err);
}

/* Points in pixels; `scene` has the map. */
static HcStatus place_points(Typed *typed, const HcScene *scene, HcError *err) {
    double forward[6] = {0, 1, 0, 0, 0, 1}, back[6];
    if (typed->on_map && scene->place.has_transform) {
        memcpy(forward, scene->place.transform, sizeof forward);
    }
    if ((typed->on_map && !scene->place.has_transform) || !GDALInvGeoTransform(forward, back)) {
        return hc_fail(err, HC_E_USAGE, "%s: the scene has no place on Earth: give SAMPLE,LINE instead",
                       typed->option);
    }
    for (int32_t i = 0; i < typed->count; i++) {
        const double *at = typed->at[i];
        double x = floor(back[0] + back[1] * at[0] + back[2] * at[1]);
        double y = floor(back[3] + back[4] * at[0] + back[5] * at[1]);
        if (!(x >= 0 && x < (double)scene->samples && y >= 0 && y < (double)scene->lines)) {
            return fail_outside(typed, i, scene, err);
        }
        int32_t id = 0;
        HC_OR_RETURN(hc_labelling_class(&typed->labelling, i + 1, NULL, &id, err));
        if ((typed->labelling.key[id - 1].text = name_of(typed, i)) == NULL) {
            return hc_fail_memory(err, 64, "the name of a pixel");
        }
        typed->shape[i] = (HcShape){.extent = {x, x, y, y}, .id = id, .feature = i};
    }
    return HC_OK;
}

static int by_place(const void *a, const void *b) {
    const OGREnvelope *p = &((const HcShape *)a)->extent, *q = &((const HcShape *)b)->extent;
    return p->MinY != q->MinY ? (p->MinY > q->MinY) - (p->MinY < q->MinY)
                              : (p->MinX > q->MinX) - (p->MinX < q->MinX);
}

/* In the order of the scene. */
static HcStatus add_pixels(Typed *typed, HcError *err) {
    qsort(typed->shape, (size_t)typed->count, sizeof *typed->shape, by_place);
    for (int32_t i = 0; i < typed->count; i++) {
        const HcShape *shape = &typed->shape[i];
        if (i > 0 && by_place(shape, shape - 1) == 0) {
            return fail_place(typed, (int32_t)shape->feature, "given twice, or the same pixel", err);
        }
        HC_OR_RETURN(hc_labelling_add(&typed->labelling, (int64_t)shape->extent.MinY,
                                      (int64_t)shape->extent.MinX, shape->id, (int32_t)shape->feature, err));
    }
    return HC_OK;
}

/* The pixels in sensor geometry that the map shows there. */
static HcStatus add_from_map(Typed *typed, const HcShapeMap *map, HcError *err) {
    const HcShapes shapes = {
        .path = typed->option, .scene = &map->scene, .shape = typed->shape, .count = typed->count};
    HC_OR_RETURN(hc_labelling_visit(&typed->labelling, map, &shapes, err));
    for (int32_t i = 0; i < typed->count; i++) {
        if (!typed->shape[i].used) {
            return fail_place(typed, i, "the map has no pixel there", err);
        }
    }
    return typed->labelling.out->contested == 0
               ? HC_OK
               : hc_fail(err, HC_E_USAGE, "%s: two places lie in one pixel", typed->option);
}

HcStatus hc_labelled_typed(const char *option, bool on_map, const char *const *text, int32_t texts,
                           const HcScene *scene, HcLabelled *out, HcError *err) {
    HcStatus status = HC_OK;
    HcShapeMap map = {0};
    Typed typed = {.option = option,
                   .on_map = on_map,
                   .labelling = {.path = option, .scene = scene, .out = out, .any = true}};
    HC_TRY(parse(&typed, text, texts, err));
    HC_TRY(hc_new(typed.shape, typed.count, "places", err));
    if (on_map && hc_shape_on_map(scene)) {
        HC_TRY(hc_shape_map_open(&map, scene, err));
    }
    HC_TRY(place_points(&typed, map.ortho != NULL ? &map.scene : scene, err));
    HC_TRY(map.ortho != NULL ? add_from_map(&typed, &map, err) : add_pixels(&typed, err));
    HC_TRY(hc_labelling_finish(&typed.labelling, NULL, err));
done:
    hc_shape_map_close(&map);
    hc_labelling_clear(&typed.labelling);
    free(typed.at);
    free(typed.shape);
    if (status != HC_OK) {
        hc_labelled_clear(out);
    }
    return status;
}

HcStatus hc_labelled_area(const int64_t area[4], const HcScene *scene, HcLabelled *out, HcError *err) {
    HcStatus status = HC_OK;
    HcLabelling labelling = {.path = "--area", .scene = scene, .out = out, .any = true};
    const int64_t samples = area[2], pixels = area[2] * area[3];
    char name[100];
    int32_t id = 0;
    snprintf(name, sizeof name, "samples %lld-%lld lines %lld-%lld", (long long)area[0],
             (long long)(area[0] + samples - 1), (long long)area[1], (long long)(area[1] + area[3] - 1));
    HC_TRY(hc_labelling_class(&labelling, 1, name, &id, err));
    for (int64_t p = 0; p < pixels; p++) {
        HC_TRY(hc_labelling_add(&labelling, area[1] + p / samples, area[0] + p % samples, id, 0, err));
    }
    HC_TRY(hc_labelling_finish(&labelling, NULL, err));
done:
    hc_labelling_clear(&labelling);
    if (status != HC_OK) {
        hc_labelled_clear(out);
    }
    return status;
}
