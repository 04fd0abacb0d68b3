/* What the files of HcChunks share; nobody else includes this. */
#ifndef HC_IO_CHUNK_PARTS_H
#define HC_IO_CHUNK_PARTS_H

#include "core/system/team.h"
#include "io/chunk/chunks.h"
#include "io/chunk/codec/decode.h"

/* Neighbours among the bands that are used: `count` bands from `from` on are stored from `to` on. */
typedef struct HcBandRun {
    int32_t from, to, count;
} HcBandRun;

typedef struct HcChunkStream HcChunkStream;

struct HcChunks {
    HcChunkIndex *index;
    HcChunkPlan plan;
    bool pixels;              /* a line is [sample][band], else [band][sample] */
    int64_t sample0, samples; /* of the scene that are stored */
    int32_t used;             /* bands that are stored */
    HcBandRun *run;           /* [run_count] */
    int32_t run_count;

    /* From the first read on. */
    bool begun;
    HcTeam *team;
    HcChunkWorkspace **workspace; /* [workspace_count] one a thread */
    int32_t workspace_count;
    char *rows;            /* [plan.rows] rows of chunks, as lines; or [plan.parts] parts of rows */
    int64_t part_bytes;    /* of a part in memory */
    int64_t *row_in;       /* [plan.rows] which row of chunks lies there, -1 = none */
    int scratch;           /* -1 = none */
    uint8_t *written;      /* [rows of chunks] whether it is in the scratch file */
    HcChunkStream *stream; /* NULL = none is open */
    int64_t first;         /* the first line that was asked for */
    int64_t next;          /* the line after the last request */
    int64_t decoded;       /* atomic */
};

/* Where some chunks of a row go: its lines, in memory. */
typedef struct HcTarget {
    int64_t row;                            /* of chunks, as the lines of the scene run */
    int64_t line0, lines;                   /* of the scene that are wanted, within the row */
    char *to;                               /* line0, sample0, band0 */
    int64_t sample0, band0;                 /* band0: among those stored */
    int64_t stride[HC_AXES];                /* of `to` [bytes] */
    int64_t first[HC_AXES], count[HC_AXES]; /* chunks along samples and bands */
} HcTarget;

/* rows.c: rows of chunks by the lines of the scene. */
int64_t hc_chunk_row_count(const HcChunkIndex *index);
int64_t hc_chunk_row_of_line(const HcChunkIndex *index, int64_t line);
int64_t hc_chunk_row_begin(const HcChunkIndex *index, int64_t row);
int64_t hc_chunk_row_end(const HcChunkIndex *index, int64_t row);
/* The place of a row among the chunks along lines. */
int64_t hc_chunk_row_place(const HcChunkIndex *index, int64_t row);
/* Bytes of a stored line of the bands that are used. */
int64_t hc_chunk_line_bytes(const HcChunks *chunks);
/* Lines of a row of chunks; the first or the last one may have fewer. */
int64_t hc_chunk_row_lines(const HcChunkIndex *index);
/* The place in memory of a row of chunks. */
char *hc_chunk_kept_row(const HcChunks *chunks, int64_t place);
/* A target of whole lines at `to`. */
HcTarget hc_chunk_target(const HcChunks *chunks, int64_t row, int64_t line0, int64_t lines, char *to);

/* bring.c: some items on the team, each with the workspace of its thread; the failure of the first that
 * fails.
 */
typedef HcStatus HcChunkItem(void *user, int64_t item, HcChunkWorkspace *workspace, HcError *err);
HcStatus hc_chunk_each(HcChunks *chunks, int64_t count, HcChunkItem *item, void *user,
                       HcError *err) HC_MUST_CHECK;
/* Decodes the chunks of some targets, which have the same number of chunks, on the team. */
HcStatus hc_chunk_bring(HcChunks *chunks, const HcTarget *target, int64_t targets, HcError *err);
/* Decodes chunk `within` of a target. */
HcStatus hc_chunk_bring_into(HcChunks *chunks, const HcTarget *target, int64_t within,
                             HcChunkWorkspace *workspace, HcError *err);
int64_t hc_chunk_target_count(const HcTarget *target);
/* Reads and decodes one chunk; *values is NULL where it is not stored. */
HcStatus hc_chunk_bring_one(HcChunks *chunks, HcChunkWorkspace *workspace, int64_t number, uint8_t **values,
                            HcError *err);

/* scratch.c */
HcStatus hc_chunk_scratch_open(HcChunks *chunks, HcError *err);
void hc_chunk_scratch_close(HcChunks *chunks);
/* Lines whose rows have been written. */
HcStatus hc_chunk_scratch_read(HcChunks *chunks, int64_t line0, int64_t lines, char *to, HcError *err);
/* Decodes chunk `sample` of a row, whose lines are pieces of lines of the scratch file, and writes it. */
HcStatus hc_chunk_scratch_chunk(HcChunks *chunks, int64_t row, int64_t sample, HcChunkWorkspace *workspace,
                                HcError *err);
/* Parts of a row. */
int64_t hc_chunk_part_count(const HcChunks *chunks);
/* A part whose lines lie at `to`; returns its place in a line of the scratch file. */
int64_t hc_chunk_part_target(const HcChunks *chunks, int64_t row, int64_t part, char *to, HcTarget *target);
/* Writes lines [first, first + lines) of a part that lies there. */
HcStatus hc_chunk_scratch_part(const HcChunks *chunks, const HcTarget *target, int64_t place, int64_t first,
                               int64_t lines, HcError *err);

/* stream.c: rows [row, end) are brought in their order, by a thread of its own and the team. Rows in memory
 * are kept at the places row % plan.rows. */

/* HC_OK also where the system gives no thread: chunks->stream is then NULL. */
HcStatus hc_chunk_stream_open(HcChunks *chunks, int64_t row, int64_t end, HcError *err);
/* Finishes the rows that are begun, or only the chunks (at_once). */
void hc_chunk_stream_close(HcChunks *chunks, bool at_once);
/* Whether the row is there, or will be. */
bool hc_chunk_stream_has(const HcChunks *chunks, int64_t row);
/* Rows below `limit` may be begun. It never sinks. */
void hc_chunk_stream_allow(HcChunks *chunks, int64_t limit);
/* Waits for a row, or for the failure that keeps it from coming. */
HcStatus hc_chunk_stream_wait(HcChunks *chunks, int64_t row, HcError *err);
/* Brings a row into the scratch file without a thread of its own, while no stream is open. */
HcStatus hc_chunk_stream_row(HcChunks *chunks, int64_t row, HcError *err);

#endif
