/* Chunks: lines of an array that is stored in chunks, each of which is decompressed once on its way through
 * the array. The threads of a team decode the chunks of some rows of chunks at a time, and put their values
 * where they belong. Where lines are asked for in their order, the next rows are decoded meanwhile.
 *
 * Lines that are asked for seldom end where a row of chunks ends. So rows that are needed again stay in
 * memory; where they are too large for that, all rows go through a scratch file that holds plain lines. */
#ifndef HC_IO_CHUNK_CHUNKS_H
#define HC_IO_CHUNK_CHUNKS_H

#include "core/block.h"
#include "io/chunk/index.h"

typedef struct HcChunks HcChunks;

/* How an array is read. */
typedef struct HcChunkPlan {
    int32_t threads;
    int64_t rows;  /* rows of chunks that stay in memory, 0 = lines come from a scratch file */
    int64_t part;  /* into the scratch file: chunks side by side that are brought together in memory; 0 = the
                      lines of a chunk go there at once */
    int64_t parts; /* in memory at a time: some are decoded while others are written */
    int64_t again; /* lines at the end of what was asked for that are asked for once more */
    int64_t end;   /* rows are brought ahead up to this line; 0 = none are */
    size_t bytes;  /* memory that this takes */
} HcChunkPlan;

/* Takes the index over, also on failure. Reads by the smallest plan unless another is settled. */
HcStatus hc_chunks_open(HcChunks **out, HcChunkIndex *index, HcError *err) HC_MUST_CHECK;
/* NULL is fine. */
void hc_chunks_close(HcChunks *chunks);

const HcChunkIndex *hc_chunks_index(const HcChunks *chunks);

/* The plan for at most `threads` threads in at most that many bytes, or the smallest one where it takes more.
 */
HcChunkPlan hc_chunks_plan(const HcChunkIndex *index, int32_t threads, int64_t again, double bytes);
/* Changes a plan for lines that are asked for in their order, up to `end`: chunks of later rows are decoded
 * while lines are handed out. Rows that stay in memory grow by those that give all threads work, where they
 * fit into that many bytes. */
void hc_chunks_plan_ahead(HcChunkPlan *plan, const HcChunkIndex *index, int64_t end, double bytes);
/* The plan for lines that are read again in a later pass: they stay in the scratch file, which is read much
 * faster than chunks are decoded. The plan above where twice its size is not free in its folder, or that
 * lies in memory. */
HcChunkPlan hc_chunks_plan_again(const HcChunks *chunks, int32_t threads, int64_t again, double bytes);
/* Before the first read. */
void hc_chunks_settle(HcChunks *chunks, const HcChunkPlan *plan);
const HcChunkPlan *hc_chunks_settled(const HcChunks *chunks);

/* Only these bands (copied; NULL = all) are read from now on. Before the first read. */
HcStatus hc_chunks_use(HcChunks *chunks, const int32_t *bands, int32_t count, HcError *err) HC_MUST_CHECK;

/* Only these samples of each line are read from now on. Before the first read. */
void hc_chunks_use_samples(HcChunks *chunks, int64_t sample0, int64_t samples);

/* Bytes of that many lines of the bands that are used. */
size_t hc_chunks_bytes(const HcChunks *chunks, int64_t lines);

/* Chunks that were decoded so far, the same one counted again. */
int64_t hc_chunks_decoded(const HcChunks *chunks);

/* Reads lines into `to` and describes them. HC_E_INPUT where a chunk is broken. */
HcStatus hc_chunks_read(HcChunks *chunks, int64_t line0, int32_t lines, void *to, HcRaw *raw,
                        HcError *err) HC_MUST_CHECK;

/* Decodes one chunk, for a comparison: `pixel` gets the values of some pixels of it, each in that band. */
typedef struct HcChunkPixel {
    int64_t line, sample;
    int32_t band;
    uint64_t value; /* its bytes, lowest address first */
} HcChunkPixel;
HcStatus hc_chunks_look(HcChunks *chunks, int64_t number, HcChunkPixel *pixel, int32_t count,
                        HcError *err) HC_MUST_CHECK;

#endif
