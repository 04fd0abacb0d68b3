/* Shapes over pixels in sensor geometry, on the map of these. */
#include "io/shape/on_map.h"

#include "core/allocate.h"
#include "core/block.h"
#include "io/gdal/errors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_PIXELS ((int64_t)1 << 20) /* of the map, at once */

/* What visits of shapes have in common. */
typedef struct Visits {
    const HcShapeMap *map;
    const HcShapes *shapes;
    HcShapeVisit *visit;
    void *user;
    int64_t piece_lines; /* of the map */
    HcOrthoPixel *pixel; /* [piece_lines][samples of the map] */
    uint8_t *burnt;      /* the same shape, of a part of the samples: 1 = inside */
} Visits;

/* ---- a lookup table: pixels whose place on the map lies inside ---- */

/* A point fills its pixel. */
static bool burn(const Visits *visits, HcShape *shape, HcPixels pixels) {
    int width = (int)(pixels.x1 - pixels.x0), height = (int)(pixels.y1 - pixels.y0);
    if (shape->polygon == NULL) {
        memset(visits->burnt, 1, (size_t)width * (size_t)height);
        return true;
    }
    GDALDatasetH raster = hc_pixels_burn(pixels, 1, &shape->polygon);
    bool good = raster != NULL && GDALRasterIO(GDALGetRasterBand(raster, 1), GF_Read, 0, 0, width, height,
                                               visits->burnt, width, height, GDT_Byte, 0, 0) == CE_None;
    GDALClose(raster);
    return good;
}

/* Visits the part of one shape in these pixels of the map: at most piece_lines lines. */
static HcStatus visit_piece(const Visits *visits, int64_t k, HcPixels piece, HcError *err) {
    HcGdalErrors messages;
    int64_t samples = visits->map->scene.samples;
    const uint8_t *burnt = visits->burnt;
    hc_gdal_catch(&messages);
    bool good = burn(visits, &visits->shapes->shape[k], piece);
    hc_gdal_release();
    if (!good) {
        return hc_gdal_fail(err, HC_E_MEMORY, visits->shapes->path, &messages);
    }
    HC_OR_RETURN(hc_ortho_lines(visits->map->ortho, piece.y0, piece.y1 - piece.y0, visits->pixel, err));
    for (int64_t y = piece.y0; y < piece.y1; y++) {
        const HcOrthoPixel *line = visits->pixel + (y - piece.y0) * samples;
        for (int64_t x = piece.x0; x < piece.x1; x++) {
            if (*burnt++ != 0 && line[x].line >= 0) {
                visits->visit(visits->user, k, line[x].line, line[x].sample);
            }
        }
    }
    return HC_OK;
}

static HcPixels pixels_of(const HcShape *shape, HcPixels bounds) {
    double x = floor(shape->extent.MinX), y = floor(shape->extent.MinY);
    if (shape->polygon != NULL) {
        return hc_pixels_touched(&shape->extent, bounds);
    }
    bool within =
        x >= 0 && x < (double)bounds.x1 && y >= 0 && y < (double)bounds.y1; /* and no number is NaN */
    return within ? (HcPixels){(int64_t)x, (int64_t)y, (int64_t)x + 1, (int64_t)y + 1} : (HcPixels){0};
}

/* points: none of the polygons. */
static HcStatus visit_by_table(Visits *visits, bool points, HcError *err) {
    HcStatus status = HC_OK;
    const HcScene *scene = &visits->map->scene;
    const HcPixels bounds = {0, 0, scene->samples, scene->lines};
    visits->piece_lines = hc_max64(1, hc_min64(scene->lines, PIECE_PIXELS / scene->samples));
    HC_TRY(hc_new(visits->pixel, visits->piece_lines * scene->samples, "lines of a lookup table", err));
    HC_TRY(hc_new(visits->burnt, visits->piece_lines * scene->samples, "lines of a lookup table", err));
    for (int64_t k = 0; k < visits->shapes->count; k++) {
        const HcShape *shape = &visits->shapes->shape[k];
        HcPixels own = pixels_of(shape, bounds), piece = own;
        if (own.x1 <= own.x0 || (points && shape->polygon != NULL)) {
            continue;
        }
        for (piece.y0 = own.y0; piece.y0 < own.y1; piece.y0 = piece.y1) {
            piece.y1 = hc_min64(own.y1, piece.y0 + visits->piece_lines);
            HC_TRY(visit_piece(visits, k, piece, err));
        }
    }
done:
    free(visits->pixel);
    free(visits->burnt);
    return status;
}

/* ---- coordinates: pixels whose own place lies inside ---- */

/* Polygons that answer quickly. */
typedef struct Prepared {
    OGRPreparedGeometryH *polygon; /* [count]; NULL = a point */
    OGRGeometryH point;
} Prepared;

static void close_prepared(Prepared *prepared, int64_t count) {
    for (int64_t i = 0; i < count && prepared->polygon != NULL; i++) {
        if (prepared->polygon[i] != NULL) {
            OGRDestroyPreparedGeometry(prepared->polygon[i]);
        }
    }
    free(prepared->polygon);
    OGR_G_DestroyGeometry(prepared->point);
}

static HcStatus open_prepared(Prepared *prepared, const HcShapes *shapes, HcError *err) {
    *prepared = (Prepared){0};
    if (!OGRHasPreparedGeometrySupport()) {
        return hc_fail(err, HC_E_UNSUPPORTED, "%s: this GDAL is built without GEOS: no polygons here",
                       shapes->path);
    }
    HC_OR_RETURN(hc_new(prepared->polygon, shapes->count, "polygons", err));
    prepared->point = OGR_G_CreateGeometry(wkbPoint);
    bool good = prepared->point != NULL;
    for (int64_t i = 0; i < shapes->count && good; i++) {
        OGRGeometryH polygon = shapes->shape[i].polygon;
        prepared->polygon[i] = polygon != NULL ? OGRCreatePreparedGeometry(polygon) : NULL;
        good = polygon == NULL || prepared->polygon[i] != NULL;
    }
    return good ? HC_OK : hc_fail_memory(err, (double)shapes->count * sizeof(void *), "polygons");
}

/* The shapes that hold the place (x, y) [pixels of the map] of a pixel. */
static void visit_holders(const Visits *visits, const Prepared *prepared, double x, double y, int64_t line,
                          int64_t sample) {
    for (int64_t k = 0; k < visits->shapes->count; k++) {
        const OGREnvelope *extent = &visits->shapes->shape[k].extent;
        if (prepared->polygon[k] != NULL && x >= extent->MinX && x <= extent->MaxX && y >= extent->MinY &&
            y <= extent->MaxY) { /* NaN lies in none */
            OGR_G_SetPoint_2D(prepared->point, 0, x, y);
            if (OGRPreparedGeometryContains(prepared->polygon[k], prepared->point)) {
                visits->visit(visits->user, k, line, sample);
            }
        }
    }
}

static HcStatus visit_by_coordinates(const Visits *visits, HcError *err) {
    HcStatus status = HC_OK;
    const HcShapeMap *map = visits->map;
    Prepared prepared = {0};
    double *x = NULL, *y = NULL;
    const double *t = visits->shapes->to_pixel;
    HC_TRY(open_prepared(&prepared, visits->shapes, err));
    HC_TRY(hc_new(x, map->samples, "a line of coordinates", err));
    HC_TRY(hc_new(y, map->samples, "a line of coordinates", err));
    for (int64_t line = 0; line < map->lines; line++) {
        HC_TRY(hc_ortho_coordinates(map->ortho, line, x, y, err));
        for (int64_t s = 0; s < map->samples; s++) {
            visit_holders(visits, &prepared, t[0] + t[1] * x[s] + t[2] * y[s],
                          t[3] + t[4] * x[s] + t[5] * y[s], line, s);
        }
    }
done:
    close_prepared(&prepared, visits->shapes->count);
    free(x);
    free(y);
    return status;
}

/* ---- the map ---- */

bool hc_shape_on_map(const HcScene *scene) {
    return !scene->place.has_transform && scene->lookup.file != NULL;
}

HcStatus hc_shape_map_open(HcShapeMap *map, const HcScene *scene, HcError *err) {
    *map = (HcShapeMap){.lines = scene->lines, .samples = scene->samples};
    HC_OR_RETURN(hc_ortho_open_with_coordinates(&map->ortho, scene, scene->lookup.file, err));
    return hc_ortho_scene(map->ortho, scene, &map->scene, err);
}

HcStatus hc_shape_map_visit(const HcShapeMap *map, const HcShapes *shapes, HcShapeVisit *visit, void *user,
                            HcError *err) {
    Visits visits = {.map = map, .shapes = shapes, .visit = visit, .user = user};
    bool nearest = hc_ortho_facts(map->ortho).nearest;
    if (nearest) {
        HC_OR_RETURN(visit_by_coordinates(&visits, err));
    }
    return visit_by_table(&visits, nearest, err);
}

void hc_shape_map_forget_places(HcShapeMap *map) {
    hc_ortho_close(map->ortho);
    map->ortho = NULL;
}

void hc_shape_map_close(HcShapeMap *map) {
    hc_shape_map_forget_places(map);
    hc_scene_clear(&map->scene);
}
