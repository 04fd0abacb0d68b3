/* Sink: lines into the chunks of a new file. Threads encode chunks while the caller goes on with later lines.
 *
 *     HC_TRY(hc_chunk_sink_open(&sink, index, &how, err));
 *     for (all lines) {
 *         HC_TRY(hc_chunk_sink_room(sink, &lines, err));      waits until some lines are free
 *         ...                                                 they are filled
 *         HC_TRY(hc_chunk_sink_give(sink, lines, err));
 *     }
 *     HC_TRY(hc_chunk_sink_finish(sink, err));                index->place says where all chunks lie
 *
 * Chunks lie in the file in their order, so that its bytes do not depend on the threads. */
#ifndef HC_IO_CHUNK_SINK_H
#define HC_IO_CHUNK_SINK_H

#include "io/chunk/codec/encode.h"

typedef struct HcChunkSink HcChunkSink;

/* Texts and memory are borrowed until close. */
typedef struct HcChunkSinkHow {
    const char *path; /* for messages */
    int file;         /* open for writing */
    int64_t end;      /* chunks are written from here on */
    int level;        /* of hc_chunk_encoder_open */
    int32_t threads;  /* that encode, the caller's included; at least 1 */
    /* Where lines wait: line l is row l % rows of them, as the chunks order samples and bands (a band of all
     * rows, then the next one, or all bands of a pixel together). */
    void *lines;
    int32_t rows; /* hc_chunk_sink_rows() */
    /* Gets each chunk after its encoding, on that thread, and may use its encoder; or NULL. */
    HcStatus (*take)(void *taker, int64_t number, const HcChunkValues *values, HcChunkEncoder *encoder,
                     HcError *err);
    void *taker;
} HcChunkSinkHow;

/* Lines that wait at a time, for N threads: whole rows of chunks, two and one more for each `count` of
 * threads, as many as there are chunks in a row; or all lines of the scene where these are fewer. */
int32_t hc_chunk_sink_rows(const HcChunkIndex *index, int32_t threads);

/* Fills index->place, which is borrowed. Its chunks begin with the first line of the scene. */
HcStatus hc_chunk_sink_open(HcChunkSink **out, HcChunkIndex *index, const HcChunkSinkHow *how,
                            HcError *err) HC_MUST_CHECK;

/* Waits for space after the lines that were given; *lines are free there, at least 1, in one piece. The
 * caller encodes meanwhile. These three fail with the first failure of any thread. */
HcStatus hc_chunk_sink_room(HcChunkSink *sink, int32_t *lines, HcError *err) HC_MUST_CHECK;
/* The next lines are there. */
HcStatus hc_chunk_sink_give(HcChunkSink *sink, int32_t lines, HcError *err) HC_MUST_CHECK;
/* Waits until all chunks are in the file. All lines must have been given. */
HcStatus hc_chunk_sink_finish(HcChunkSink *sink, HcError *err) HC_MUST_CHECK;

/* Ends its threads, whatever is left to do. NULL is fine. */
void hc_chunk_sink_close(HcChunkSink *sink);

#endif
