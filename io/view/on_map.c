/* Polygons over pixels in sensor geometry: their map, by a lookup table or by coordinates, says which of them
 * lie inside. */
#include "core/allocate.h"
#include "io/gdal_errors.h"
#include "io/view/parts.h"

#include <math.h>
#include <stdlib.h>

/* ---- a lookup table: pixels whose place on the map lies inside ---- */

/* Lines of the map in hand. */
typedef struct Lines {
    HcOrthoPixel *pixel; /* [samples] of one line */
    uint8_t *burnt;      /* [samples] 1 = inside */
} Lines;

static bool burn_line(const HcShapes *shapes, OGRGeometryH *near, HcPixels pixels, Lines *lines, int *count) {
    *count = 0;
    for (int64_t i = 0; i < shapes->count; i++) {
        HcPixels own = hc_pixels_touched(&shapes->shape[i].extent, pixels);
        if (own.x1 > own.x0 && own.y1 > own.y0) {
            near[(*count)++] = shapes->shape[i].polygon;
        }
    }
    if (*count == 0) {
        return true;
    }
    int width = (int)(pixels.x1 - pixels.x0);
    GDALDatasetH raster = hc_pixels_burn(pixels, *count, near);
    bool good = raster != NULL && GDALRasterIO(GDALGetRasterBand(raster, 1), GF_Read, 0, 0, width, 1,
                                               lines->burnt, width, 1, GDT_Byte, 0, 0) == CE_None;
    GDALClose(raster);
    return good;
}

static HcStatus mark_line(const HcViewMap *map, const HcShapes *shapes, OGRGeometryH *near, int64_t line,
                          Lines *lines, uint8_t *inside, HcError *err) {
    HcGdalErrors messages;
    int count = 0;
    int64_t samples = map->scene.samples;
    hc_gdal_catch(&messages);
    bool good = burn_line(shapes, near, (HcPixels){0, line, samples, line + 1}, lines, &count);
    hc_gdal_release();
    if (!good) {
        return hc_gdal_fail(err, HC_E_MEMORY, shapes->path, &messages);
    }
    if (count == 0) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_ortho_lines(map->ortho, line, 1, lines->pixel, err));
    for (int64_t s = 0; s < samples; s++) {
        const HcOrthoPixel *at = &lines->pixel[s];
        if (lines->burnt[s] != 0 && at->line >= 0) {
            inside[at->line * map->samples + at->sample] = 1;
        }
    }
    return HC_OK;
}

static HcStatus mark_by_table(const HcViewMap *map, const HcShapes *shapes, uint8_t *inside, HcError *err) {
    HcStatus status = HC_OK;
    Lines lines = {0};
    OGRGeometryH *near = NULL;
    HC_TRY(hc_new(lines.pixel, map->scene.samples, "a line of a lookup table", err));
    HC_TRY(hc_new(lines.burnt, map->scene.samples, "a line of a lookup table", err));
    HC_TRY(hc_new(near, shapes->count, "polygons", err));
    for (int64_t line = 0; line < map->scene.lines; line++) {
        HC_TRY(mark_line(map, shapes, near, line, &lines, inside, err));
    }
done:
    free(lines.pixel);
    free(lines.burnt);
    free(near);
    return status;
}

/* ---- coordinates: pixels whose own place lies inside ---- */

/* Polygons that answer quickly. */
typedef struct Prepared {
    OGRPreparedGeometryH *polygon; /* [count] */
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
        prepared->polygon[i] = OGRCreatePreparedGeometry(shapes->shape[i].polygon);
        good = prepared->polygon[i] != NULL;
    }
    return good ? HC_OK : hc_fail_memory(err, (double)shapes->count * sizeof(void *), "polygons");
}

/* The place [pixels of the map] of a pixel. */
static bool lies_inside(const HcShapes *shapes, const Prepared *prepared, double x, double y) {
    for (int64_t i = 0; i < shapes->count; i++) {
        const OGREnvelope *extent = &shapes->shape[i].extent;
        if (x >= extent->MinX && x <= extent->MaxX && y >= extent->MinY && y <= extent->MaxY) {
            OGR_G_SetPoint_2D(prepared->point, 0, x, y);
            if (OGRPreparedGeometryContains(prepared->polygon[i], prepared->point)) {
                return true;
            }
        }
    }
    return false;
}

static HcStatus mark_by_coordinates(const HcViewMap *map, const HcShapes *shapes, uint8_t *inside,
                                    HcError *err) {
    HcStatus status = HC_OK;
    Prepared prepared = {0};
    double *x = NULL, *y = NULL;
    const double *t = shapes->to_pixel;
    HC_TRY(open_prepared(&prepared, shapes, err));
    HC_TRY(hc_new(x, map->samples, "a line of coordinates", err));
    HC_TRY(hc_new(y, map->samples, "a line of coordinates", err));
    for (int64_t line = 0; line < map->lines; line++) {
        HC_TRY(hc_ortho_coordinates(map->ortho, line, x, y, err));
        for (int64_t s = 0; s < map->samples; s++) { /* NaN lies in no extent */
            inside[line * map->samples + s] = lies_inside(shapes, &prepared, t[0] + t[1] * x[s] + t[2] * y[s],
                                                          t[3] + t[4] * x[s] + t[5] * y[s]);
        }
    }
done:
    close_prepared(&prepared, shapes->count);
    free(x);
    free(y);
    return status;
}

/* ---- the map ---- */

bool hc_view_on_map(const HcScene *scene) {
    return !scene->place.has_transform && scene->lookup.file != NULL;
}

HcStatus hc_view_map_open(HcViewMap *map, const HcScene *scene, HcError *err) {
    *map = (HcViewMap){.lines = scene->lines, .samples = scene->samples};
    HC_OR_RETURN(hc_ortho_open_with_coordinates(&map->ortho, scene, scene->lookup.file, err));
    return hc_ortho_scene(map->ortho, scene, &map->scene, err);
}

HcStatus hc_view_map_mark(const HcViewMap *map, const HcShapes *shapes, uint8_t *inside, HcError *err) {
    return hc_ortho_facts(map->ortho).nearest ? mark_by_coordinates(map, shapes, inside, err)
                                              : mark_by_table(map, shapes, inside, err);
}

void hc_view_map_forget_places(HcViewMap *map) {
    hc_ortho_close(map->ortho);
    map->ortho = NULL;
}

void hc_view_map_close(HcViewMap *map) {
    hc_view_map_forget_places(map);
    hc_scene_clear(&map->scene);
}
