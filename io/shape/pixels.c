/* Shapes to pixels: polygons burnt into a raster of some pixels. */
#include "io/shape/shapes.h"

#include <gdal_alg.h>
#include <math.h>
#include <stdlib.h>

static int64_t clip(double value, int64_t low, int64_t high) {
    return value <= (double)low ? low : value >= (double)high ? high : (int64_t)value;
}

HcPixels hc_pixels_touched(const OGREnvelope *extent, HcPixels bounds) {
    return (HcPixels){.x0 = clip(floor(extent->MinX), bounds.x0, bounds.x1),
                      .y0 = clip(floor(extent->MinY), bounds.y0, bounds.y1),
                      .x1 = clip(ceil(extent->MaxX), bounds.x0, bounds.x1),
                      .y1 = clip(ceil(extent->MaxY), bounds.y0, bounds.y1)};
}

/* To the pixels of the raster that is burnt: a transformer of GDAL that shifts. */
static int shift(void *pixels, int backwards, int count, double *x, double *y, double *z, int *success) {
    const HcPixels *to = pixels;
    double sign = backwards ? 1 : -1;
    (void)z;
    for (int i = 0; i < count; i++) {
        x[i] += sign * (double)to->x0;
        y[i] += sign * (double)to->y0;
        success[i] = TRUE;
    }
    return TRUE;
}

GDALDatasetH hc_pixels_burn(HcPixels pixels, int count, OGRGeometryH *polygon) {
    const int band = 1;
    static char optimise[] = "OPTIM=RASTER";
    char *options[] = {optimise, NULL};
    double *value = malloc((size_t)count * sizeof *value);
    GDALDatasetH raster = GDALCreate(GDALGetDriverByName("MEM"), "", (int)(pixels.x1 - pixels.x0),
                                     (int)(pixels.y1 - pixels.y0), 1, GDT_Byte, NULL);
    for (int i = 0; value != NULL && i < count; i++) {
        value[i] = 1;
    }
    if (raster != NULL &&
        (value == NULL || GDALRasterizeGeometries(raster, 1, &band, count, polygon, shift, &pixels, value,
                                                  options, NULL, NULL) != CE_None)) {
        GDALClose(raster);
        raster = NULL;
    }
    free(value);
    return raster;
}
