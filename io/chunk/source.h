/* The chunks of a dataset that GDAL has opened. */
#ifndef HC_IO_CHUNK_SOURCE_H
#define HC_IO_CHUNK_SOURCE_H

#include "io/chunk/chunks.h"

#include <gdal.h>

#ifdef __cplusplus
extern "C" {
#endif

/* *out is the reader of the chunks of this dataset, with that path and scene, where this program can read
 * them and finds the same values as GDAL; else NULL. `code` is the type of GDAL's buffers for the scene's
 * values. *differs = whether chunks were left to GDAL since a few values differ. HC_E_INPUT where a chunk
 * lies outside of the file, or neither way can read it. */
HcStatus hc_chunks_of_dataset(HcChunks **out, GDALDatasetH dataset, const char *path, const HcScene *scene,
                              GDALDataType code, bool *differs, HcError *err) HC_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
