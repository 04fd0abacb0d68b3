/* Pyramid: the overviews of an image, made tile by tile while its tiles are encoded. Each has half the lines
 * and samples of the one before, until one fits a tile.
 *
 *     HC_TRY(hc_pyramid_open(&pyramid, index, &how, err));
 *     hc_pyramid_add(pyramid, number, values, encoder, err)      for each tile, by any thread
 *     for (int32_t k = 0; k < hc_pyramid_levels(pyramid); k++) ... hc_pyramid_level(pyramid, k)
 *
 * A pixel is the mean of the 2 x 2 pixels below it that have data, in float64, then rounded to the type, or
 * the upper left one of them. Tiles of an overview wait in memory for the four below them. */
#ifndef HC_IO_WRITE_PYRAMID_H
#define HC_IO_WRITE_PYRAMID_H

#include "io/chunk/codec/encode.h"

typedef struct HcPyramid HcPyramid;

typedef struct HcPyramidHow {
    int file; /* open for writing, and empty: encoded tiles go there, in the order in which they come */
    double nodata;
    bool no_nodata; /* no value means that data are missing; NaN always does */
    bool nearest;   /* numbers of classes have no mean */
} HcPyramidHow;

/* Of the image with these tiles, whose bands lie together; the index is borrowed until close. */
HcStatus hc_pyramid_open(HcPyramid **out, const HcChunkIndex *image, const HcPyramidHow *how,
                         HcError *err) HC_MUST_CHECK;
/* A tile of the image. The encoder is the caller's, of the same index and type. */
HcStatus hc_pyramid_add(HcPyramid *pyramid, int64_t number, const HcChunkValues *values,
                        HcChunkEncoder *encoder, HcError *err) HC_MUST_CHECK;
/* NULL is fine. */
void hc_pyramid_close(HcPyramid *pyramid);

/* Whether there are means of that type. */
bool hc_pyramid_takes(HcType type);

int32_t hc_pyramid_levels(const HcPyramid *pyramid);
/* Level 0 has half the size of the image; its places are those in the file. */
const HcChunkIndex *hc_pyramid_level(const HcPyramid *pyramid, int32_t level);

/* Tiles that wait at most, where `rows` of the `down` rows of tiles, of `across` tiles each, are in work. */
double hc_pyramid_tiles(int64_t across, int64_t down, double rows);

#endif
