/* Chunk index: where the chunks of an array lie in a file, and how their bytes become values. A chunk is a
 * box of lines, samples and bands that is stored, and compressed, by itself: a tile or strip of a TIFF, a
 * chunk of HDF5. Makers fill an index from a file; HcChunks (chunks.h) reads by any index.
 *
 *     HcChunkIndex *index = NULL;
 *     HC_TRY(hc_chunk_tiff(&index, path, &scene, err));
 *     if (index != NULL) ...            NULL: a file of this format that needs another reader
 */
#ifndef HC_IO_CHUNK_INDEX_H
#define HC_IO_CHUNK_INDEX_H

#include "core/scene.h"
#include "io/axis.h"
#include "io/gdal/remote.h"

#ifdef __cplusplus
extern "C" {
#endif

/* name in messages, code */
#define HC_CHUNK_CODES(X)                                                                                    \
    X(HC_CODE_DEFLATE, "deflate")                                                                            \
    X(HC_CODE_GZIP, "gzip")                                                                                  \
    X(HC_CODE_ZSTD, "zstd")                                                                                  \
    X(HC_CODE_LZW, "LZW")                                                                                    \
    X(HC_CODE_DIFFERENCE, "predictor 2")                                                                     \
    X(HC_CODE_FLOAT_DIFFERENCE, "predictor 3")                                                               \
    X(HC_CODE_SHUFFLE, "shuffle")                                                                            \
    X(HC_CODE_FLETCHER32, "fletcher32")                                                                      \
    X(HC_CODE_SZIP, "szip")                                                                                  \
    X(HC_CODE_LERC, "LERC")

/* A step of the way from stored bytes to values. */
typedef enum HcChunkCode {
#define HC_AS_ENUM(name, word) name,
    HC_CHUNK_CODES(HC_AS_ENUM)
#undef HC_AS_ENUM
        HC_CODE_COUNT
} HcChunkCode;

const char *hc_chunk_code_name(HcChunkCode code);

enum { HC_CHUNK_STEPS_MAX = 8 };

/* Where the bytes of a chunk lie; bytes 0 = not stored, all values are the fill value. */
typedef struct HcChunkPlace {
    int64_t offset, bytes;
} HcChunkPlace;

/* An open array of HDF5, and an array of Zarr (zarr.h). */
typedef struct HcHdf5Array HcHdf5Array;
typedef struct HcZarrArray HcZarrArray;

typedef struct HcChunkIndex {
    char *path; /* of the file with the chunks */
    HcType type;
    bool swap;              /* values are stored in the other byte order */
    bool upwards;           /* the first line of the scene is the last one of the array */
    int64_t size[HC_AXES];  /* of the scene */
    int64_t shape[HC_AXES]; /* of a chunk */
    int64_t count[HC_AXES]; /* chunks along each axis, those included that stick out */
    int order[HC_AXES];     /* the axes (HcAxis) as values of a chunk lie, the slowest first */
    bool short_last;        /* chunks with the last lines may hold no more than those */
    bool pieces;            /* chunks hold what is within the scene along their slowest axis, and no more */
    int32_t steps;
    HcChunkCode step[HC_CHUNK_STEPS_MAX]; /* as they are undone */
    int step_bit[HC_CHUNK_STEPS_MAX];     /* HDF5: the bit that means that a chunk lacks this step */
    uint32_t szip[4];                     /* the parameters of HDF5 for it */
    HcChunkPlace *place;                  /* [line][sample][band] of chunks: hc_chunk_number() */
    int64_t stored_most;                  /* the largest of their bytes */
    int64_t together;                     /* chunks that a thread takes at once: small ones of a server */
    uint64_t *fill;                       /* [bands] the bytes of a value, lowest address first; NULL = 0 */
    int file;          /* open for reading by offsets, -1 where HDF5 or a server gives bytes */
    HcRemote *remote;  /* of a file of a server; else NULL */
    HcHdf5Array *hdf5; /* NULL = a file of another format */
    HcZarrArray *zarr; /* of a folder of files, one a chunk: `path` is the folder, `place` NULL; else NULL */
} HcChunkIndex;

/* An index without chunks, with its path and the order of its axes (NULL: to be set); free it also after a
 * failure. */
HcStatus hc_chunk_index_new(HcChunkIndex **out, const char *path, const HcAxis order[HC_AXES],
                            HcError *err) HC_MUST_CHECK;
/* Sets the value of chunks that are not stored, of all bands. */
HcStatus hc_chunk_index_fill(HcChunkIndex *index, uint64_t value, HcError *err) HC_MUST_CHECK;

/* Closes the file and frees all. NULL is fine. */
void hc_chunk_index_free(HcChunkIndex *index);

/* Opens the file at index->path for reading by offsets, local or of a server; *size = its bytes, -1 where it
 * is no regular file. */
HcStatus hc_chunk_index_open(HcChunkIndex *index, int64_t *size, HcError *err) HC_MUST_CHECK;

/* Number of a chunk from its place along the axes. */
static inline int64_t hc_chunk_number(const HcChunkIndex *index, int64_t line, int64_t sample, int64_t band) {
    return (line * index->count[HC_AXIS_SAMPLE] + sample) * index->count[HC_AXIS_BAND] + band;
}

int64_t hc_chunk_count(const HcChunkIndex *index);
/* Whether its chunks come from a server. */
bool hc_chunk_is_remote(const HcChunkIndex *index);
/* Bytes of the values of a whole chunk. */
int64_t hc_chunk_bytes(const HcChunkIndex *index);
/* The first value of a chunk (HcAxis), and how many of it are within the scene. */
void hc_chunk_box(const HcChunkIndex *index, int64_t number, int64_t first[HC_AXES], int64_t size[HC_AXES]);

/* The first value of a chunk in the order of its axes. */
void hc_chunk_corner(const HcChunkIndex *index, int64_t number, int64_t corner[HC_AXES]);

/* An array that lies in one stretch of its file is read in pieces, as if these were chunks. hc_chunk_cut sets
 * the shape and the count of pieces by index->path, type, order and size. hc_chunk_pieces opens the file, and
 * fills the places of the pieces of the array that begins at that byte; HC_E_INPUT where the file is too
 * short for it. */
enum { HC_PIECES_MAX = 1 << 24 };
void hc_chunk_cut(HcChunkIndex *index);
HcStatus hc_chunk_pieces(HcChunkIndex *index, int64_t offset, HcError *err) HC_MUST_CHECK;

/* A raw file: the values of the scene from that byte on, without gaps, in the order of those axes. *out is
 * NULL, with HC_OK, where it would have too many pieces. */
HcStatus hc_chunk_raw(HcChunkIndex **out, const char *path, const HcScene *scene, const HcAxis order[HC_AXES],
                      bool big_endian, int64_t offset, HcError *err) HC_MUST_CHECK;

/* The image of a TIFF file with tiles or strips of either interleave; `scene` (lines, samples, bands, type)
 * says what it must hold. *out is NULL, with HC_OK, where the file is no TIFF or has something that this
 * reader does not know; HC_E_INPUT with the tile where a tile lies outside of the file. */
HcStatus hc_chunk_tiff(HcChunkIndex **out, const char *path, const HcScene *scene,
                       HcError *err) HC_MUST_CHECK;

/* The way back: index->place of every tile into the directory of the file that the index was made from, open
 * for reading and writing. */
HcStatus hc_chunk_tiff_store(const HcChunkIndex *index, int file, const char *path,
                             HcError *err) HC_MUST_CHECK;

/* An array of an HDF5 or netCDF 4 file, under its full name ("/reflectance"). One that is not chunked, and
 * lies in one piece of the file, is cut into pieces that are read like chunks. `order` are the axes as the
 * array has them, the slowest first, any of the six orders; an array of two axes is one band, and its order
 * has HC_AXIS_BAND first. *out is NULL, with HC_OK, where the file or the array is none that this reader
 * knows: not HDF5, of other types or filters, or by a library that threads may not share. HC_E_INPUT where
 * the array is broken. */
HcStatus hc_chunk_hdf5(HcChunkIndex **out, const char *path, const char *array, const HcAxis order[HC_AXES],
                       HcError *err) HC_MUST_CHECK;
/* Whether the array has an attribute of that name. */
bool hc_hdf5_has_attribute(const HcHdf5Array *array, const char *name);
/* The `stored` bytes of the chunk whose first value is that (in the order of the axes of the index); *skipped
 * = bits of the steps that it lacks. One thread at a time is in the library. False where it fails, with a
 * reason in text[bytes]. */
bool hc_hdf5_read_chunk(HcHdf5Array *array, const int64_t first[HC_AXES], int64_t stored, void *to,
                        uint32_t *skipped, char *text, size_t bytes);
/* Whether the library opens the file, or the reason in text[bytes]; without the library it counts as one that
 * does. */
bool hc_hdf5_opens(const char *path, char *text, size_t bytes);
void hc_hdf5_close(HcHdf5Array *array);

#ifdef __cplusplus
}
#endif
#endif
