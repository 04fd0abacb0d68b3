/* Polygons of vector data as a mask, in the pixels of the file. */
#include "core/allocate.h"
#include "io/guard/guard.h"
#include "io/file.h"
#include "io/gdal/errors.h"
#include "io/gdal/files.h"
#include "io/view/parts.h"

#include <cpl_string.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_PIXELS ((int64_t)1 << 20) /* that are burnt at once */

struct HcViewPolygons {
    HcShapes shapes;
    char *path;
    char **files;   /* of the dataset */
    HcShapeMap map; /* in sensor geometry: `shapes` are in its pixels */
    uint8_t
        *inside; /* [lines][samples] of the file: 1 = in a polygon; NULL: polygons are burnt where needed */
    HcWatch watch;
    OGRGeometryH *near; /* [shapes.count] those of the lines in hand */
    uint8_t *piece;     /* 1 = inside, of the lines in hand */
    int64_t piece_lines;
};

bool hc_view_is_vector(const char *path) {
    HcGdalErrors messages;
    hc_gdal_catch(&messages);
    GDALDatasetH dataset = hc_guard_open(path, GDAL_OF_VECTOR | GDAL_OF_READONLY, NULL, NULL);
    bool is = dataset != NULL && hc_shapes_layers(dataset) > 0;
    GDALClose(dataset);
    hc_gdal_release();
    return is;
}

static HcStatus open_dataset(HcViewPolygons *polygons, GDALDatasetH *out, HcError *err) {
    const unsigned flags = GDAL_OF_VECTOR | GDAL_OF_READONLY | GDAL_OF_VERBOSE_ERROR;
    HcGdalErrors messages;
    hc_gdal_catch(&messages);
    *out = hc_guard_open(polygons->path, flags, NULL, NULL);
    polygons->files = *out != NULL ? GDALGetFileList(*out) : NULL;
    hc_gdal_release();
    if (*out == NULL) {
        return hc_gdal_fail(err, HC_E_INPUT, polygons->path, &messages);
    }
    for (int f = 0; polygons->files != NULL && polygons->files[f] != NULL; f++) {
        HC_OR_RETURN(hc_watch_add(&polygons->watch, polygons->files[f], err));
    }
    return hc_shapes_layers(*out) > 0
               ? HC_OK
               : hc_fail(err, HC_E_INPUT, "%s: has no layer with geometries", polygons->path);
}

static HcStatus take_all(HcShapes *shapes, HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors messages;
    OGRFeatureH feature = NULL;
    hc_gdal_catch(&messages);
    OGR_L_ResetReading(shapes->layer);
    while (status == HC_OK && (feature = OGR_L_GetNextFeature(shapes->layer)) != NULL) {
        OGRGeometryH geometry = hc_shapes_geometry(feature);
        if (geometry != NULL) {
            status = hc_shapes_take(shapes, geometry, OGR_F_GetFID(feature), 0, err);
            OGR_G_DestroyGeometry(geometry);
        }
        OGR_F_Destroy(feature);
    }
    hc_gdal_release();
    if (status == HC_OK && messages.failed) {
        status = hc_gdal_fail(err, HC_E_IO, shapes->path, &messages);
    }
    if (status == HC_OK && shapes->features == 0) {
        status =
            hc_fail(err, HC_E_INPUT, "%s: layer '%.60s' has no polygon", shapes->path, shapes->layer_name);
    }
    return status;
}

/* Polygons with a CRS over pixels in sensor geometry lie on the map of these. */
static HcStatus choose_map(HcViewPolygons *polygons, HcError *err) {
    HcShapes *shapes = &polygons->shapes;
    const HcScene *scene = shapes->scene;
    if (!hc_shape_on_map(scene) || !hc_shape_is_crs(OGR_L_GetSpatialRef(shapes->layer))) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_shape_map_open(&polygons->map, scene, err));
    shapes->scene = &polygons->map.scene;
    return hc_new(polygons->inside, scene->lines * scene->samples, "pixels in polygons", err);
}

static void mark(void *user, int64_t shape, int64_t line, int64_t sample) {
    HcViewPolygons *polygons = user;
    (void)shape;
    polygons->inside[line * polygons->map.samples + sample] = 1;
}

/* All polygons of a layer. */
static HcStatus read_layer(HcViewPolygons *polygons, const char *layer, HcError *err) {
    HcStatus status = HC_OK;
    HcShapes *shapes = &polygons->shapes;
    GDALDatasetH dataset = NULL;
    HC_TRY(hc_file_check_companions(polygons->path, err));
    HC_TRY(hc_watch_add(&polygons->watch, polygons->path, err)); /* as it is before it is read */
    HC_TRY(open_dataset(polygons, &dataset, err));
    HC_TRY(hc_shapes_choose(shapes, dataset, layer, err));
    HC_TRY(choose_map(polygons, err));
    HC_TRY(hc_shapes_place(shapes, err));
    HC_TRY(take_all(shapes, err));
    if (polygons->inside != NULL) {
        HC_TRY(hc_shape_map_visit(&polygons->map, shapes, mark, polygons, err));
        hc_shape_map_forget_places(&polygons->map);
    }
done:
    shapes->layer = NULL;
    shapes->layer_name = NULL;
    GDALClose(dataset);
    return status;
}

HcStatus hc_view_polygons_open(HcViewPolygons **out, const char *path, const char *layer,
                               const HcScene *scene, HcError *err) {
    HcStatus status = HC_OK;
    HcViewPolygons *polygons = calloc(1, sizeof *polygons);
    *out = NULL;
    if (polygons == NULL || (polygons->path = strdup(path)) == NULL) {
        free(polygons);
        return hc_fail_memory(err, sizeof *polygons, "polygons");
    }
    polygons->shapes = (HcShapes){.path = polygons->path,
                                  .scene = scene,
                                  .taken = "masks and cutlines are made of polygons",
                                  .no_points = true};
    HcError failure = {0};
    int64_t mark = hc_gdal_files_mark();
    HC_TRY(hc_gdal_files_settle(mark, read_layer(polygons, layer, &failure), &failure, err));
    if (polygons->inside != NULL) {
        *out = polygons;
        return HC_OK;
    }
    polygons->piece_lines = scene->samples < PIECE_PIXELS ? PIECE_PIXELS / scene->samples : 1;
    size_t bytes = (size_t)polygons->piece_lines * (size_t)scene->samples;
    HC_TRY(hc_new(polygons->near, polygons->shapes.count + 1, "polygons", err));
    HC_TRY(hc_new(polygons->piece, bytes, "polygons", err));
    *out = polygons;
    polygons = NULL;
done:
    hc_view_polygons_close(polygons);
    return status;
}

void hc_view_polygons_close(HcViewPolygons *polygons) {
    if (polygons != NULL) {
        hc_shapes_clear(&polygons->shapes);
        CSLDestroy(polygons->files);
        hc_watch_clear(&polygons->watch);
        hc_shape_map_close(&polygons->map);
        free(polygons->inside);
        free(polygons->near);
        free(polygons->piece);
        free(polygons->path);
        free(polygons);
    }
}

/* The extent of the pixels in sensor geometry that lie in polygons. */
static HcStatus marked_extent(const HcViewPolygons *polygons, OGREnvelope *out, HcError *err) {
    const HcShapeMap *map = &polygons->map;
    HcPixels all = {INT64_MAX, INT64_MAX, 0, 0};
    for (int64_t line = 0; line < map->lines; line++) {
        for (int64_t s = 0; s < map->samples; s++) {
            if (polygons->inside[line * map->samples + s] != 0) {
                all = (HcPixels){hc_min64(all.x0, s), hc_min64(all.y0, line), hc_max64(all.x1, s + 1),
                                 line + 1};
            }
        }
    }
    *out = (OGREnvelope){(double)all.x0, (double)all.x1, (double)all.y0, (double)all.y1};
    return all.x1 > 0
               ? HC_OK
               : hc_fail(err, HC_E_INPUT, "%s: no pixel of the scene lies in its polygons", polygons->path);
}

/* Clears what the polygons hold, or (inside false) do not hold. */
static void apply_marks(const HcViewPolygons *polygons, HcPixels pixels, bool inside, uint8_t *to) {
    for (int64_t y = pixels.y0; y < pixels.y1; y++) {
        const uint8_t *line = polygons->inside + y * polygons->map.samples;
        for (int64_t x = pixels.x0; x < pixels.x1; x++, to++) {
            *to &= (line[x] != 0) != inside;
        }
    }
}

HcStatus hc_view_polygons_extent(const HcViewPolygons *polygons, OGREnvelope *out, HcError *err) {
    const HcShapes *shapes = &polygons->shapes;
    if (shapes->count == 0) {
        return hc_shapes_fail_apart(shapes, err);
    }
    if (polygons->inside != NULL) {
        return marked_extent(polygons, out, err);
    }
    *out = shapes->shape[0].extent;
    for (int64_t i = 1; i < shapes->count; i++) {
        const OGREnvelope *one = &shapes->shape[i].extent;
        out->MinX = one->MinX < out->MinX ? one->MinX : out->MinX;
        out->MaxX = one->MaxX > out->MaxX ? one->MaxX : out->MaxX;
        out->MinY = one->MinY < out->MinY ? one->MinY : out->MinY;
        out->MaxY = one->MaxY > out->MaxY ? one->MaxY : out->MaxY;
    }
    return HC_OK;
}

/* Fills the piece: 1 where the centre of a pixel lies in a polygon. */
static bool burn(HcViewPolygons *polygons, HcPixels pixels) {
    HcShapes *shapes = &polygons->shapes;
    int width = (int)(pixels.x1 - pixels.x0), height = (int)(pixels.y1 - pixels.y0), count = 0;
    memset(polygons->piece, 0, (size_t)width * (size_t)height);
    for (int64_t i = 0; i < shapes->count; i++) {
        HcPixels own = hc_pixels_touched(&shapes->shape[i].extent, pixels);
        if (own.x1 > own.x0 && own.y1 > own.y0) {
            polygons->near[count++] = shapes->shape[i].polygon;
        }
    }
    if (count == 0) {
        return true;
    }
    GDALDatasetH raster = hc_pixels_burn(pixels, count, polygons->near);
    bool good = raster != NULL && GDALRasterIO(GDALGetRasterBand(raster, 1), GF_Read, 0, 0, width, height,
                                               polygons->piece, width, height, GDT_Byte, 0, 0) == CE_None;
    GDALClose(raster);
    return good;
}

HcStatus hc_view_polygons_apply(HcViewPolygons *polygons, HcPixels pixels, bool inside, uint8_t *to,
                                HcError *err) {
    HcGdalErrors messages;
    bool good = true;
    if (polygons->inside != NULL) {
        apply_marks(polygons, pixels, inside, to);
        return HC_OK;
    }
    hc_gdal_catch(&messages);
    for (int64_t y = pixels.y0; y < pixels.y1 && good; y += polygons->piece_lines) {
        int64_t end = y + polygons->piece_lines < pixels.y1 ? y + polygons->piece_lines : pixels.y1;
        good = burn(polygons, (HcPixels){pixels.x0, y, pixels.x1, end});
        for (int64_t p = 0; p < (end - y) * (pixels.x1 - pixels.x0) && good; p++, to++) {
            *to &= (polygons->piece[p] != 0) != inside;
        }
    }
    hc_gdal_release();
    return good ? HC_OK : hc_gdal_fail(err, HC_E_MEMORY, polygons->path, &messages);
}

size_t hc_view_polygons_bytes(const HcViewPolygons *polygons) {
    if (polygons->inside != NULL) {
        return (size_t)polygons->map.lines * (size_t)polygons->map.samples;
    }
    return 2 * (size_t)polygons->piece_lines * (size_t)polygons->shapes.scene->samples;
}

HcStatus hc_view_polygons_unchanged(const HcViewPolygons *polygons, HcError *err) {
    return hc_watch_check(&polygons->watch, err);
}

HcStatus hc_view_polygons_files(const HcViewPolygons *polygons, HcPaths *out, HcError *err) {
    HC_OR_RETURN(hc_scene_files(polygons->path, out, err));
    for (int f = 0; polygons->files != NULL && polygons->files[f] != NULL; f++) {
        if (!hc_paths_has(out, polygons->files[f])) {
            HC_OR_RETURN(hc_paths_add(out, polygons->files[f], err));
        }
    }
    return HC_OK;
}
