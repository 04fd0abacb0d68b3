/* The chunks of a dataset that GDAL has opened. */
#ifndef HC_IO_CHUNK_SOURCE_H
#define HC_IO_CHUNK_SOURCE_H

#include "io/chunk/chunks.h"

#include <gdal.h>

/* *out is the reader of the chunks of this dataset by that index, where they hold the values that GDAL reads;
 * else NULL. Takes the index over, also on failure. `code` is the type of GDAL's buffers for the scene's
 * values. *differs = whether chunks were left to GDAL since a few values differ. HC_E_INPUT where neither way
 * can read a chunk. */
HcStatus hc_chunks_of_dataset(HcChunks **out, HcChunkIndex *index, GDALDatasetH dataset, GDALDataType code,
                              bool *differs, HcError *err) HC_MUST_CHECK;

#endif
