/* The stream: a thread of its own has the team decode chunk after chunk while earlier lines are handed out,
 * so that threads wait neither for the last chunks of a row nor for those who use its lines.
 *
 * It is one call of the team over the chunks of all rows in their order. A chunk whose place in memory is
 * taken holds its thread up: that of a row, until its lines are not asked for again; that of a part, until it
 * is written into the scratch file, which the waiting threads help with. Chunks are begun in order, so the
 * first of those that are not finished never waits for a later one. */
#include "core/allocate.h"
#include "io/chunk/parts.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

/* What a thread writes at a time. */
#define SHARE ((int64_t)1 << 20)

/* A part of a row on its way to the scratch file. */
typedef struct Part {
    int64_t unit; /* which part of all, -1 = none: the place is free */
    HcTarget target;
    int64_t place;   /* in a line of the scratch file */
    int64_t left;    /* chunks that are not decoded */
    int64_t next;    /* the first line that nobody writes */
    int64_t writing; /* lines that are not written */
    bool lost;       /* some could not be */
} Part;

typedef enum Ending { GOES_ON, ENDS_WITH_ROW, ENDS_AT_ONCE } Ending;

struct HcChunkStream {
    HcChunks *chunks;
    int64_t first, end; /* rows */
    int64_t each;       /* chunks of a row: an item is one of them */
    int64_t units;      /* of a row: 1, or its parts */
    int64_t across;     /* chunks of a unit; the last one of a row may have fewer */
    pthread_t thread;

    pthread_mutex_t lock; /* of all below */
    pthread_cond_t changed;
    int64_t *left;  /* [rows] units that are not there yet, or chunks where a row is one unit */
    Part *part;     /* [plan.parts] */
    int64_t limit;  /* rows below it may be begun */
    int64_t begun;  /* the first row of which no chunk is begun */
    int64_t failed; /* the first item that failed, INT64_MAX = none */
    Ending ending;
    bool finished; /* nothing comes any more */
    HcStatus status;
    HcError error;
};

static bool in_parts(const HcChunks *chunks) {
    return chunks->plan.rows == 0 && chunks->plan.part > 0;
}

static int64_t row_of_item(const HcChunkStream *stream, int64_t item) {
    return stream->first + item / stream->each;
}

/* Whether this item is none, or is not wanted any more. Under the lock, as all of these. */
static bool is_over(const HcChunkStream *stream, int64_t item) {
    int64_t row = row_of_item(stream, item);
    return stream->ending == ENDS_AT_ONCE || stream->failed < item ||
           (stream->ending == ENDS_WITH_ROW && row >= stream->begun);
}

/* ---- parts ---- */

/* Writes some lines of a part that is decoded; false where there are none. Leaves the lock meanwhile. */
static bool write_some(HcChunkStream *stream, Part *part, HcStatus *status, HcError *err) {
    int64_t lines = part->target.lines, bytes = part->target.stride[HC_AXIS_LINE], first = part->next;
    if (part->unit < 0 || part->left > 0 || first >= lines) {
        return false;
    }
    int64_t some = hc_min64(lines - first, bytes < SHARE ? SHARE / hc_max64(1, bytes) : 1);
    part->next += some;
    pthread_mutex_unlock(&stream->lock);
    HcError why = {0};
    HcStatus written =
        bytes > 0 ? hc_chunk_scratch_part(stream->chunks, &part->target, part->place, first, some, &why)
                  : HC_OK;
    pthread_mutex_lock(&stream->lock);
    if (written != HC_OK) {
        part->lost = true;
        *status = hc_fail(err, written, "%s", why.text);
    }
    part->writing -= some;
    if (part->writing == 0) {
        if (!part->lost) {
            int64_t row = part->target.row - stream->first;
            stream->left[row]--;
            stream->chunks->written[part->target.row] = stream->left[row] == 0;
        }
        part->unit = -1;
        pthread_cond_broadcast(&stream->changed);
    }
    return true;
}

/* Waits for the place of a part; false where it is not wanted. A part is entered for chunks of it that are
 * not decoded, and for no others: it would begin anew after its end, and nobody would end it again. */
static bool enter_part(HcChunkStream *stream, int64_t item, Part **out, HcStatus *status, HcError *err) {
    HcChunks *chunks = stream->chunks;
    int64_t row = row_of_item(stream, item), of_row = item % stream->each / stream->across;
    int64_t unit = item / stream->each * stream->units + of_row;
    Part *part = &stream->part[unit % chunks->plan.parts];
    while (part->unit != unit && !is_over(stream, item)) {
        if (part->unit < 0) {
            *part = (Part){.unit = unit};
            part->place = hc_chunk_part_target(chunks, row, of_row,
                                               chunks->rows + unit % chunks->plan.parts * chunks->part_bytes,
                                               &part->target);
            part->left = hc_chunk_target_count(&part->target);
            part->writing = part->target.lines;
            pthread_cond_broadcast(&stream->changed);
            break;
        }
        bool helped = false;
        for (int64_t p = 0; p < chunks->plan.parts && !helped; p++) {
            helped = write_some(stream, &stream->part[p], status, err);
        }
        if (!helped) {
            pthread_cond_wait(&stream->changed, &stream->lock);
        }
    }
    *out = part;
    return part->unit == unit && !is_over(stream, item);
}

/* A chunk of a part: the thread with the last one begins to write. */
static HcStatus do_part(HcChunkStream *stream, int64_t item, HcChunkWorkspace *workspace, HcError *err) {
    HcStatus status = HC_OK, decoded = HC_OK;
    HcError why = {0};
    Part *part = NULL;
    int64_t within = item % stream->each % stream->across;
    if (!enter_part(stream, item, &part, &status, err)) {
        return status;
    }
    pthread_mutex_unlock(&stream->lock);
    decoded = hc_chunk_bring_into(stream->chunks, &part->target, within, workspace, &why);
    pthread_mutex_lock(&stream->lock);
    if (decoded != HC_OK) {
        return status != HC_OK ? status : hc_fail(err, decoded, "%s", why.text);
    }
    int64_t unit = part->unit;
    part->left--;
    while (part->unit == unit && write_some(stream, part, &status, err)) {
    }
    return status;
}

/* ---- rows ---- */

/* A chunk of a row that stays in memory, or whose lines go to the scratch file by themselves. */
static HcStatus do_row(HcChunkStream *stream, int64_t item, HcChunkWorkspace *workspace, HcError *err) {
    HcChunks *chunks = stream->chunks;
    int64_t row = row_of_item(stream, item), within = item % stream->each, rows = chunks->plan.rows;
    int64_t begin = hc_chunk_row_begin(chunks->index, row);
    HcStatus status = HC_OK;
    if (rows > 0) {
        chunks->row_in[row % rows] = -1;
    }
    pthread_mutex_unlock(&stream->lock);
    if (rows > 0) {
        HcTarget target = hc_chunk_target(chunks, row, begin, hc_chunk_row_end(chunks->index, row) - begin,
                                          hc_chunk_kept_row(chunks, row % rows));
        status = hc_chunk_bring_into(chunks, &target, within, workspace, err);
    } else {
        status = hc_chunk_scratch_chunk(chunks, row, within, workspace, err);
    }
    pthread_mutex_lock(&stream->lock);
    if (status == HC_OK && --stream->left[row - stream->first] == 0) {
        if (rows > 0) {
            chunks->row_in[row % rows] = row;
        } else {
            chunks->written[row] = 1;
        }
        pthread_cond_broadcast(&stream->changed);
    }
    return status;
}

/* ---- all ---- */

static HcStatus do_item(void *user, int64_t item, HcChunkWorkspace *workspace, HcError *err) {
    HcChunkStream *stream = user;
    HcStatus status = HC_OK;
    int64_t row = row_of_item(stream, item);
    pthread_mutex_lock(&stream->lock);
    while (row >= stream->limit && !is_over(stream, item)) {
        pthread_cond_wait(&stream->changed, &stream->lock);
    }
    bool there = stream->left[row - stream->first] == 0; /* before this stream */
    if (!there && !is_over(stream, item)) {
        stream->begun = hc_max64(stream->begun, row + 1);
        status = in_parts(stream->chunks) ? do_part(stream, item, workspace, err)
                                          : do_row(stream, item, workspace, err);
    }
    if (status != HC_OK) {
        stream->failed = hc_min64(stream->failed, item);
        pthread_cond_broadcast(&stream->changed);
    }
    pthread_mutex_unlock(&stream->lock);
    return status;
}

static void *run_stream(void *argument) {
    HcChunkStream *stream = argument;
    HcError error = {0};
    int64_t count = (stream->end - stream->first) * stream->each;
    HcStatus status = hc_chunk_each(stream->chunks, count, do_item, stream, &error);
    pthread_mutex_lock(&stream->lock);
    stream->status = status;
    stream->error = error;
    stream->finished = true;
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->lock);
    return NULL;
}

static void free_stream(HcChunkStream *stream) {
    if (stream == NULL) {
        return;
    }
    pthread_cond_destroy(&stream->changed);
    pthread_mutex_destroy(&stream->lock);
    free(stream->left);
    free(stream->part);
    free(stream);
}

static HcStatus make_stream(HcChunkStream **out, HcChunks *chunks, int64_t row, int64_t end, HcError *err) {
    const HcChunkIndex *index = chunks->index;
    HcStatus status = HC_OK;
    HcChunkStream *stream = NULL;
    int64_t across = index->count[HC_AXIS_SAMPLE] * index->count[HC_AXIS_BAND];
    HC_OR_RETURN(hc_new(stream, 1, "the stream of chunks", err));
    stream->chunks = chunks;
    stream->first = stream->begun = row;
    stream->end = end;
    stream->units = 1;
    stream->each = stream->across = across;
    stream->failed = INT64_MAX;
    pthread_mutex_init(&stream->lock, NULL);
    pthread_cond_init(&stream->changed, NULL);
    HC_TRY(hc_new(stream->left, (size_t)(end - row), "the stream of chunks", err));
    if (in_parts(chunks)) {
        int axis = chunks->pixels ? HC_AXIS_SAMPLE : HC_AXIS_BAND;
        stream->units = hc_chunk_part_count(chunks);
        stream->across = across / index->count[axis] * hc_min64(chunks->plan.part, index->count[axis]);
        HC_TRY(hc_new(stream->part, (size_t)chunks->plan.parts, "parts of rows of chunks", err));
    }
    for (int64_t p = 0; stream->part != NULL && p < chunks->plan.parts; p++) {
        stream->part[p].unit = -1;
    }
    for (int64_t r = row; r < end; r++) {
        int64_t rows = chunks->plan.rows;
        bool there = rows == 0 ? chunks->written[r] : chunks->row_in[r % rows] == r && r < row + rows;
        stream->left[r - row] = there ? 0 : in_parts(chunks) ? stream->units : across;
    }
done:
    if (status != HC_OK) {
        free_stream(stream);
        stream = NULL;
    }
    *out = stream;
    return status;
}

HcStatus hc_chunk_stream_open(HcChunks *chunks, int64_t row, int64_t end, HcError *err) {
    HcChunkStream *stream = NULL;
    HC_OR_RETURN(make_stream(&stream, chunks, row, end, err));
    if (pthread_create(&stream->thread, NULL, run_stream, stream) != 0) {
        free_stream(stream);
        stream = NULL;
    }
    chunks->stream = stream;
    return HC_OK;
}

void hc_chunk_stream_close(HcChunks *chunks, bool at_once) {
    HcChunkStream *stream = chunks->stream;
    if (stream != NULL) {
        pthread_mutex_lock(&stream->lock);
        stream->ending = at_once ? ENDS_AT_ONCE : ENDS_WITH_ROW;
        pthread_cond_broadcast(&stream->changed);
        pthread_mutex_unlock(&stream->lock);
        pthread_join(stream->thread, NULL);
        free_stream(stream);
        chunks->stream = NULL;
    }
}

bool hc_chunk_stream_has(const HcChunks *chunks, int64_t row) {
    HcChunkStream *stream = chunks->stream;
    if (stream == NULL || row < stream->first || row >= stream->end) {
        return false;
    }
    pthread_mutex_lock(&stream->lock);
    bool kept = chunks->plan.rows == 0 || row >= stream->limit - chunks->plan.rows;
    pthread_mutex_unlock(&stream->lock);
    return kept;
}

void hc_chunk_stream_allow(HcChunks *chunks, int64_t limit) {
    HcChunkStream *stream = chunks->stream;
    pthread_mutex_lock(&stream->lock);
    if (limit > stream->limit) {
        stream->limit = limit;
        pthread_cond_broadcast(&stream->changed);
    }
    pthread_mutex_unlock(&stream->lock);
}

HcStatus hc_chunk_stream_wait(HcChunks *chunks, int64_t row, HcError *err) {
    HcChunkStream *stream = chunks->stream;
    pthread_mutex_lock(&stream->lock);
    while (stream->left[row - stream->first] > 0 && !stream->finished) {
        pthread_cond_wait(&stream->changed, &stream->lock);
    }
    bool there = stream->left[row - stream->first] == 0;
    HcStatus status = there ? HC_OK : stream->status;
    HcError error = stream->error;
    pthread_mutex_unlock(&stream->lock);
    return status == HC_OK ? HC_OK : hc_fail(err, status, "%s", error.text);
}

HcStatus hc_chunk_stream_row(HcChunks *chunks, int64_t row, HcError *err) {
    HcChunkStream *stream = NULL;
    HC_OR_RETURN(make_stream(&stream, chunks, row, row + 1, err));
    stream->limit = row + 1;
    (void)run_stream(stream);
    HcStatus status = stream->status;
    HcError error = stream->error;
    free_stream(stream);
    return status == HC_OK ? HC_OK : hc_fail(err, status, "%s", error.text);
}
