/* The window of a view: given in pixels, by a box in any CRS, or by the extent of polygons. */
#include "core/text.h"
#include "core/allocate.h"
#include "io/gdal/errors.h"
#include "io/ortho/ortho.h"
#include "io/shape/shapes.h"
#include "io/view/parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EDGE_POINTS = 21 }; /* of a box that is brought to another CRS */

/* A box that ends this near the edge of a pixel [pixels] ends at that edge, as gdal_translate takes it. */
static const double edge = 1e-3;

HcPixels hc_view_whole(const HcScene *scene) {
    return (HcPixels){0, 0, scene->samples, scene->lines};
}

static bool is_empty(HcPixels pixels) {
    return pixels.x1 <= pixels.x0 || pixels.y1 <= pixels.y0;
}

HcStatus hc_view_check_window(const HcViewWindow *window, const HcScene *scene, const char *path,
                              HcPixels *out, HcError *err) {
    /* Compared without sums, which could overflow. */
    if (window->samples < 1 || window->lines < 1 || window->sample0 < 0 || window->line0 < 0 ||
        window->samples > scene->samples || window->lines > scene->lines ||
        window->sample0 > scene->samples - window->samples || window->line0 > scene->lines - window->lines) {
        return hc_fail(err, HC_E_USAGE,
                       "%s: the window %" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64
                       " leaves the scene of %" PRId64 " samples x %" PRId64 " lines",
                       path, window->sample0, window->line0, window->samples, window->lines, scene->samples,
                       scene->lines);
    }
    *out = (HcPixels){window->sample0, window->line0, window->sample0 + window->samples,
                      window->line0 + window->lines};
    return HC_OK;
}

HcPixels hc_view_touched(OGREnvelope extent, HcPixels bounds) {
    double width = fmin(edge, (extent.MaxX - extent.MinX) / 4);
    double height = fmin(edge, (extent.MaxY - extent.MinY) / 4);
    extent.MinX += width;
    extent.MaxX -= width;
    extent.MinY += height;
    extent.MaxY -= height;
    return hc_pixels_touched(&extent, bounds);
}

/* ---- boxes ---- */

/* Points along the edges of the box. */
static int outline(const double box[4], double *x, double *y) {
    int count = 0;
    for (int i = 0; i < EDGE_POINTS; i++) {
        double t = (double)i / (EDGE_POINTS - 1);
        double across = box[0] + t * (box[2] - box[0]), up = box[1] + t * (box[3] - box[1]);
        const double points[4][2] = {{across, box[1]}, {across, box[3]}, {box[0], up}, {box[2], up}};
        for (int p = 0; p < 4; p++) {
            x[count] = points[p][0];
            y[count++] = points[p][1];
        }
    }
    return count;
}

static HcStatus from_user(const char *name, OGRSpatialReferenceH *out, HcError *err) {
    HcGdalErrors messages;
    hc_gdal_catch(&messages);
    *out = OSRNewSpatialReference(NULL);
    bool good = *out != NULL && OSRSetFromUserInput(*out, name) == OGRERR_NONE;
    hc_gdal_release();
    if (!good) {
        return hc_fail(err, HC_E_USAGE, "--bbox-crs %s: not a CRS that GDAL knows%s%.200s", name,
                       messages.failed ? ": " : "", messages.failed ? messages.text : "");
    }
    OSRSetAxisMappingStrategy(*out, OAMS_TRADITIONAL_GIS_ORDER);
    return HC_OK;
}

/* The points of the outline from the CRS of the user to that of the scene. */
static HcStatus to_scene(const HcViewBox *box, const HcScene *scene, const char *path, int count, double *x,
                         double *y, HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors messages;
    OGRSpatialReferenceH from = NULL, to = NULL;
    OGRCoordinateTransformationH way = NULL;
    HC_TRY(from_user(box->crs, &from, err));
    HC_TRY(hc_shape_scene_crs(scene, path, &to, err));
    if (to == NULL) {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: has no CRS to bring a box in %s to", path, box->crs));
    }
    hc_gdal_catch(&messages);
    way = OCTNewCoordinateTransformation(from, to);
    bool reached = way != NULL && OCTTransform(way, count, x, y, NULL);
    hc_gdal_release();
    if (!reached) {
        status =
            hc_fail(err, HC_E_INPUT, "%s: the box in %s cannot be brought to the CRS of the scene%s%.200s",
                    path, box->crs, messages.failed ? ": " : "", messages.failed ? messages.text : "");
    }
done:
    OCTDestroyCoordinateTransformation(way);
    OSRRelease(from);
    OSRRelease(to);
    return status;
}

static void grow(OGREnvelope *extent, double x, double y) {
    extent->MinX = fmin(extent->MinX, x);
    extent->MaxX = fmax(extent->MaxX, x);
    extent->MinY = fmin(extent->MinY, y);
    extent->MaxY = fmax(extent->MaxY, y);
}

/* The box on the grid of a scene that has a place. */
static HcStatus placed_window(const HcViewBox *box, const HcScene *scene, const char *path, HcPixels *out,
                              bool *clipped, HcError *err) {
    double x[4 * EDGE_POINTS], y[4 * EDGE_POINTS], forward[6], inverse[6];
    OGREnvelope extent = {INFINITY, -INFINITY, INFINITY, -INFINITY};
    int count = outline(box->edge, x, y);
    memcpy(forward, scene->place.transform, sizeof forward);
    if (!scene->place.has_transform || !GDALInvGeoTransform(forward, inverse)) {
        return hc_fail(err, HC_E_INPUT, "%s: is not georeferenced: give the window in pixels (--window)",
                       path);
    }
    if (box->crs != NULL) {
        HC_OR_RETURN(to_scene(box, scene, path, count, x, y, err));
    }
    for (int i = 0; i < count; i++) {
        double sample = inverse[0] + inverse[1] * x[i] + inverse[2] * y[i];
        double line = inverse[3] + inverse[4] * x[i] + inverse[5] * y[i];
        if (!isfinite(sample) || !isfinite(line)) {
            return hc_fail(err, HC_E_INPUT, "%s: the box reaches beyond the CRS of the scene", path);
        }
        grow(&extent, sample, line);
    }
    *out = hc_view_touched(extent, hc_view_whole(scene));
    *clipped = extent.MinX < -edge || extent.MinY < -edge || extent.MaxX > (double)scene->samples + edge ||
               extent.MaxY > (double)scene->lines + edge;
    return !is_empty(*out) ? HC_OK
                           : hc_fail(err, HC_E_INPUT,
                                     "%s: the box does not touch the scene: samples %.6g to %.6g of %" PRId64
                                     ", lines %.6g to %.6g of %" PRId64,
                                     path, extent.MinX, extent.MaxX, scene->samples, extent.MinY, extent.MaxY,
                                     scene->lines);
}

/* ---- pixels in sensor geometry ---- */

/* The rectangle of the scene that these pixels of its map show; empty where they show none. */
static HcStatus shown_by(const HcOrtho *ortho, HcPixels on_map, HcPixels *out, HcError *err) {
    HcStatus status = HC_OK;
    HcOrthoPixel *row = NULL;
    const int64_t samples = hc_ortho_facts(ortho).samples;
    *out = (HcPixels){INT64_MAX, INT64_MAX, 0, 0};
    HC_OR_RETURN(hc_new(row, samples, "a line of a lookup table", err));
    for (int64_t line = on_map.y0; line < on_map.y1; line++) {
        HC_TRY(hc_ortho_lines(ortho, line, 1, row, err));
        for (int64_t s = on_map.x0; s < on_map.x1; s++) {
            if (row[s].line >= 0) {
                out->x0 = hc_min64(out->x0, row[s].sample);
                out->y0 = hc_min64(out->y0, row[s].line);
                out->x1 = hc_max64(out->x1, (int64_t)row[s].sample + 1);
                out->y1 = hc_max64(out->y1, (int64_t)row[s].line + 1);
            }
        }
    }
done:
    free(row);
    return status;
}

/* The box on the map of the lookup, and back: the rectangle of all pixels that show in it. */
static HcStatus lookup_window(const HcViewBox *box, const HcScene *scene, const char *path, HcPixels *out,
                              bool *clipped, HcError *err) {
    HcStatus status = HC_OK;
    HcOrtho *ortho = NULL;
    HcScene map = {0};
    HcPixels on_map;
    HC_TRY(hc_ortho_open(&ortho, scene, path, NULL, 0, err));
    HC_TRY(hc_ortho_scene(ortho, scene, &map, err));
    HC_TRY(placed_window(box, &map, hc_ortho_facts(ortho).file, &on_map, clipped, err));
    HC_TRY(shown_by(ortho, on_map, out, err));
    if (is_empty(*out)) {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: no pixel of the scene lies in the box", path));
    }
done:
    hc_scene_clear(&map);
    hc_ortho_close(ortho);
    return status;
}

HcStatus hc_view_box_window(const HcViewBox *box, const HcScene *scene, const char *path, HcPixels *out,
                            bool *clipped, HcError *err) {
    return hc_shape_on_map(scene) ? lookup_window(box, scene, path, out, clipped, err)
                                  : placed_window(box, scene, path, out, clipped, err);
}

/* ---- the scene of a window ---- */

void hc_view_cut(HcScene *scene, HcPixels window) {
    double *t = scene->place.transform;
    double sample0 = (double)window.x0, line0 = (double)window.y0;
    if (window.x0 == 0 && window.y0 == 0 && window.x1 == scene->samples && window.y1 == scene->lines) {
        return;
    }
    scene->cut =
        (HcCut){.line0 = window.y0, .sample0 = window.x0, .lines = scene->lines, .samples = scene->samples};
    scene->samples = window.x1 - window.x0;
    scene->lines = window.y1 - window.y0;
    if (scene->place.has_transform) {
        t[0] += t[1] * sample0 + t[2] * line0;
        t[3] += t[4] * sample0 + t[5] * line0;
    }
    scene->rpc.value[HC_RPC_LINE_OFFSET] -= line0;
    scene->rpc.value[HC_RPC_SAMPLE_OFFSET] -= sample0;
}
