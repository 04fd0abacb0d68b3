/* What the files of HcChunks share; nobody else includes this. */
#ifndef HC_IO_CHUNK_PARTS_H
#define HC_IO_CHUNK_PARTS_H

#include "core/team.h"
#include "io/chunk/chunks.h"
#include "io/chunk/decode.h"

/* Neighbours among the bands that are used: `count` bands from `from` on are stored from `to` on. */
typedef struct HcBandRun {
    int32_t from, to, count;
} HcBandRun;

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
    char *rows;       /* [plan.rows] rows of chunks, as lines; or one part of a row */
    int64_t *row_in;  /* [plan.rows] which row of chunks lies there, -1 = none */
    int scratch;      /* -1 = none */
    uint8_t *written; /* [rows of chunks] whether it is in the scratch file */
    int64_t first;    /* the first line that was asked for */
    int64_t next;     /* the line behind the last request */
    int64_t decoded;  /* atomic */
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
/* Reads and decodes one chunk; *values is NULL where it is not stored. */
HcStatus hc_chunk_bring_one(HcChunks *chunks, HcChunkWorkspace *workspace, int64_t number, uint8_t **values,
                            HcError *err);

/* scratch.c */
HcStatus hc_chunk_scratch_open(HcChunks *chunks, HcError *err);
void hc_chunk_scratch_close(HcChunks *chunks);
/* Lines of the scene by way of the scratch file, into which their rows go first where they are not yet. */
HcStatus hc_chunk_scratch_read(HcChunks *chunks, int64_t line0, int64_t lines, char *to, HcError *err);

#endif
