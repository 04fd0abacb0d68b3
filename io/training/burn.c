/* Shapes in pixel coordinates to pixels: strip by strip, each polygon burnt on its own into a raster of its
 * extent, so that shapes of several classes in one pixel are seen. */
#include "core/allocate.h"
#include "io/gdal/errors.h"
#include "io/training/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STRIP_BYTES (64 << 20)
#define CONTESTED   (-1)

typedef struct Strip {
    int64_t samples, line0, lines;
    int32_t *claim; /* [lines][samples] the number of the shape, from 1; 0 = none, or CONTESTED */
    uint8_t *line;  /* [samples] of a burnt polygon */
} Strip;

static void claim(const Strip *strip, HcShape *all, int64_t k, int64_t line, int64_t sample) {
    int32_t *first = &strip->claim[(line - strip->line0) * strip->samples + sample];
    if (*first == 0) {
        *first = (int32_t)(k + 1);
    } else if (*first != CONTESTED && all[*first - 1].id != all[k].id) {
        *first = CONTESTED;
    } else if (*first > k + 1) { /* of a class the first, in whatever order they come */
        *first = (int32_t)(k + 1);
    }
    all[k].used = true;
}

static bool claim_polygon(const Strip *strip, HcShape *all, int64_t k) {
    HcShape *shape = &all[k];
    HcPixels bounds = {0, strip->line0, strip->samples, strip->line0 + strip->lines};
    HcPixels window = hc_pixels_touched(&shape->extent, bounds);
    int width = (int)(window.x1 - window.x0);
    if (width <= 0 || window.y1 <= window.y0) {
        return true;
    }
    GDALDatasetH raster = hc_pixels_burn(window, 1, &shape->polygon);
    bool good = raster != NULL;
    for (int64_t line = window.y0; good && line < window.y1; line++) {
        good = GDALRasterIO(GDALGetRasterBand(raster, 1), GF_Read, 0, (int)(line - window.y0), width, 1,
                            strip->line, width, 1, GDT_Byte, 0, 0) == CE_None;
        for (int64_t sample = window.x0; good && sample < window.x1; sample++) {
            if (strip->line[sample - window.x0] != 0) {
                claim(strip, all, k, line, sample);
            }
        }
    }
    GDALClose(raster);
    return good;
}

static void claim_point(const Strip *strip, HcShape *all, int64_t k) {
    const HcShape *shape = &all[k];
    double x = floor(shape->extent.MinX), y = floor(shape->extent.MinY);
    if (x >= 0 && x < (double)strip->samples && y >= (double)strip->line0 &&
        y < (double)(strip->line0 + strip->lines)) {
        claim(strip, all, k, (int64_t)y, (int64_t)x);
    }
}

static HcStatus add_strip(HcLabelling *labelling, const Strip *strip, const HcShape *shape, HcError *err) {
    const int32_t *first = strip->claim;
    for (int64_t line = strip->line0; line < strip->line0 + strip->lines; line++) {
        for (int64_t sample = 0; sample < strip->samples; sample++, first++) {
            if (*first == CONTESTED) {
                labelling->out->contested++;
            } else if (*first != 0) {
                const HcShape *of = &shape[*first - 1];
                HC_OR_RETURN(hc_labelling_add(labelling, line, sample, of->id, (int32_t)of->feature, err));
            }
        }
    }
    return HC_OK;
}

static HcStatus burn_strip(HcLabelling *labelling, Strip *strip, HcShape *shape, int64_t count,
                           HcError *err) {
    HcGdalErrors messages;
    bool good = true;
    memset(strip->claim, 0, (size_t)strip->lines * (size_t)strip->samples * sizeof *strip->claim);
    hc_gdal_catch(&messages);
    for (int64_t i = 0; i < count && good; i++) {
        if (shape[i].polygon != NULL) {
            good = claim_polygon(strip, shape, i);
        } else {
            claim_point(strip, shape, i);
        }
    }
    hc_gdal_release();
    return good ? add_strip(labelling, strip, shape, err)
                : hc_gdal_fail(err, HC_E_MEMORY, labelling->path, &messages);
}

HcStatus hc_labelling_burn(HcLabelling *labelling, HcShape *shape, int64_t count, HcError *err) {
    HcStatus status = HC_OK;
    const HcScene *scene = labelling->scene;
    int64_t height = STRIP_BYTES / (scene->samples * (int64_t)sizeof(int32_t));
    height = height < 1 ? 1 : height > scene->lines ? scene->lines : height;
    size_t pixels = (size_t)height * (size_t)scene->samples;
    Strip strip = {.samples = scene->samples,
                   .claim = malloc(pixels * sizeof *strip.claim),
                   .line = malloc((size_t)scene->samples)};
    if (strip.claim == NULL || strip.line == NULL) {
        status = hc_fail_memory(err, (double)pixels * sizeof *strip.claim, "labels of the scene");
        goto done;
    }
    for (strip.line0 = 0; strip.line0 < scene->lines; strip.line0 += height) {
        int64_t rest = scene->lines - strip.line0;
        strip.lines = rest < height ? rest : height;
        HC_TRY(burn_strip(labelling, &strip, shape, count, err));
    }
done:
    free(strip.claim);
    free(strip.line);
    return status;
}

/* ---- pixels in sensor geometry ---- */

typedef struct Claims {
    Strip strip; /* all lines */
    HcShape *shape;
} Claims;

static void claim_visited(void *user, int64_t k, int64_t line, int64_t sample) {
    Claims *claims = user;
    claim(&claims->strip, claims->shape, k, line, sample);
}

HcStatus hc_labelling_visit(HcLabelling *labelling, const HcShapeMap *map, const HcShapes *shapes,
                            HcError *err) {
    HcStatus status = HC_OK;
    Claims claims = {.strip = {.samples = map->samples, .lines = map->lines}, .shape = shapes->shape};
    HC_TRY(hc_new(claims.strip.claim, map->lines * map->samples, "labels of the scene", err));
    HC_TRY(hc_shape_map_visit(map, shapes, claim_visited, &claims, err));
    HC_TRY(add_strip(labelling, &claims.strip, shapes->shape, err));
done:
    free(claims.strip.claim);
    return status;
}
