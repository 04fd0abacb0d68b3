/* Zarr: a folder with a text that describes it. A group has other groups and arrays in it; an array has a
 * file a chunk. This reader knows regular chunks of versions 2 and 3, stored as they are or through zlib,
 * gzip or zstd; others are left to GDAL. */
#ifndef HC_IO_CHUNK_ZARR_H
#define HC_IO_CHUNK_ZARR_H

#include "io/chunk/index.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum HcZarrNode { HC_ZARR_NONE, HC_ZARR_GROUP, HC_ZARR_ARRAY } HcZarrNode;

/* What a folder is, and the text that says so (a path in fresh memory; NULL of HC_ZARR_NONE). A server is
 * asked for names that hold ".zarr" alone. HC_E_INPUT where the text cannot be read. */
HcStatus hc_zarr_node(const char *folder, HcZarrNode *node, char **text, HcError *err) HC_MUST_CHECK;
/* The same without the text; what cannot be read is none. */
bool hc_zarr_is(const char *folder);

/* The chunks of the array in that folder; `order` as for hc_chunk_hdf5. *out is NULL, with HC_OK, for what is
 * left to GDAL. HC_E_INPUT where its text is wrong, HC_E_UNSUPPORTED where GDAL of this version does not know
 * what it says. */
HcStatus hc_chunk_zarr(HcChunkIndex **out, const char *folder, const HcAxis order[HC_AXES],
                       HcError *err) HC_MUST_CHECK;

/* Reads a chunk: *stored = its bytes, 0 where it is not stored. `to` has space for index->stored_most. The
 * failure says why, without the place. Any thread. */
HcStatus hc_zarr_read_chunk(const HcChunkIndex *index, int64_t number, void *to, int64_t *stored,
                            HcError *why) HC_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
