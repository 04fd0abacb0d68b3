/* Threads take chunks in their order, as soon as all lines of a chunk are there and a slot is free. An
 * encoded chunk waits in its slot until all before it have their place in the file; whoever completes the
 * line of them writes. So bytes and order are those of one thread, and no thread waits for a slow one while
 * it has a slot. */
#include "io/chunk/sink.h"
#include "core/allocate.h"
#include "core/block.h"
#include "io/file.h"
#include "io/gdal/errors.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* An encoded chunk. */
typedef struct Slot {
    uint8_t *bytes;
    size_t count;
    bool taken; /* from the begin of its encoding until it is written */
    bool ready;
} Slot;

struct HcChunkSink {
    HcChunkIndex *index;
    HcChunkSinkHow how;
    HcChunkEncoder **encoder; /* [threads] the first is the caller's */
    Slot *slot;               /* [slots] chunk n has slot n % slots */
    int32_t slots;
    int64_t *left; /* [rows of chunks that wait] chunks of a row that are not encoded */
    int64_t rows;  /* of chunks that wait at most */
    pthread_t *thread;
    int32_t running;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    int64_t given;       /* lines */
    int64_t first_row;   /* of chunks, that is not encoded */
    int64_t begun;       /* chunks, in their order */
    int64_t placed, end; /* chunks that have their place in the file, and where the next one goes */
    int64_t written;
    bool stop;
    HcError failure; /* the first one */
};

/* Work for one thread of a sink. */
typedef struct Helper {
    HcChunkSink *sink;
    HcChunkEncoder *encoder;
} Helper;

/* ---- chunks in their order ---- */

static int64_t chunks_of_row(const HcChunkIndex *index) {
    return index->count[HC_AXIS_SAMPLE] * index->count[HC_AXIS_BAND];
}

static bool bands_apart(const HcChunkIndex *index) {
    return index->order[1] == HC_AXIS_BAND;
}

/* Rows of chunks that wait. */
static int64_t waiting_rows(const HcChunkIndex *index, int32_t threads) {
    return hc_min64(index->count[HC_AXIS_LINE], 2 + (threads - 1) / chunks_of_row(index));
}

int32_t hc_chunk_sink_rows(const HcChunkIndex *index, int32_t threads) {
    return (int32_t)hc_min64(index->size[HC_AXIS_LINE],
                             waiting_rows(index, threads) * index->shape[HC_AXIS_LINE]);
}

/* Along a row of chunks, all of a band before those of the next one. */
static int64_t number_of(const HcChunkIndex *index, int64_t n) {
    int64_t row = n / chunks_of_row(index), at = n % chunks_of_row(index);
    int64_t across = index->count[HC_AXIS_SAMPLE];
    return hc_chunk_number(index, row, at % across, at / across);
}

static HcChunkValues values_of(const HcChunkSink *sink, int64_t number) {
    const HcChunkIndex *index = sink->index;
    int64_t first[HC_AXES], size[HC_AXES], value = (int64_t)hc_type_bytes(index->type);
    hc_chunk_box(index, number, first, size);
    int64_t row = first[HC_AXIS_LINE] % sink->how.rows;
    int64_t each = bands_apart(index) ? 1 : index->size[HC_AXIS_BAND];
    int64_t line = index->size[HC_AXIS_SAMPLE] * each;
    int64_t at = row * line + first[HC_AXIS_SAMPLE] * each +
                 (bands_apart(index) ? first[HC_AXIS_BAND] * sink->how.rows * line : 0);
    return (HcChunkValues){.values = (const char *)sink->how.lines + at * value,
                           .line_stride = line * value,
                           .lines = size[HC_AXIS_LINE],
                           .samples = size[HC_AXIS_SAMPLE]};
}

/* Chunks whose lines are all there; the lock is held. */
static int64_t complete_chunks(const HcChunkSink *sink) {
    const HcChunkIndex *index = sink->index;
    int64_t rows = sink->given == index->size[HC_AXIS_LINE] ? index->count[HC_AXIS_LINE]
                                                            : sink->given / index->shape[HC_AXIS_LINE];
    return rows * chunks_of_row(index);
}

/* ---- the work; the lock is held before and after each function ---- */

static void fail(HcChunkSink *sink, const HcError *why) {
    if (sink->failure.status == HC_OK) {
        (void)hc_fail(&sink->failure, why->status, "%s: %s", sink->how.path, why->text);
    }
    sink->stop = true;
    pthread_cond_broadcast(&sink->changed);
}

static bool may_begin(const HcChunkSink *sink) {
    return !sink->stop && sink->begun < complete_chunks(sink) && !sink->slot[sink->begun % sink->slots].taken;
}

/* Lines of rows that are encoded become free. */
static void encoded(HcChunkSink *sink, int64_t n) {
    int64_t each = chunks_of_row(sink->index);
    sink->left[n / each % sink->rows]--;
    while (sink->left[sink->first_row % sink->rows] == 0) {
        sink->left[sink->first_row % sink->rows] = each;
        sink->first_row++;
    }
    pthread_cond_broadcast(&sink->changed);
}

/* Writes all chunks that are next in the file and wait. Others may do so at the same time with later ones. */
static void write_ready(HcChunkSink *sink) {
    for (;;) {
        Slot *slot = &sink->slot[sink->placed % sink->slots];
        if (sink->stop || !slot->ready) {
            return;
        }
        int64_t at = sink->end;
        slot->ready = false;
        sink->index->place[number_of(sink->index, sink->placed)] =
            (HcChunkPlace){.offset = at, .bytes = (int64_t)slot->count};
        sink->end += (int64_t)slot->count;
        sink->placed++;
        pthread_mutex_unlock(&sink->lock);
        int number = hc_file_write_at(sink->how.file, slot->bytes, slot->count, at);
        pthread_mutex_lock(&sink->lock);
        if (number != 0) {
            HcError why = {0};
            (void)hc_fail(&why, hc_errno_status(number, HC_E_IO), "%s", strerror(number));
            fail(sink, &why);
        }
        slot->taken = false;
        sink->written++;
        pthread_cond_broadcast(&sink->changed);
    }
}

static void encode_next(HcChunkSink *sink, HcChunkEncoder *encoder) {
    HcError why = {0};
    int64_t n = sink->begun++;
    Slot *slot = &sink->slot[n % sink->slots];
    slot->taken = true;
    pthread_mutex_unlock(&sink->lock);
    int64_t number = number_of(sink->index, n);
    HcChunkValues values = values_of(sink, number);
    HcStatus status = hc_chunk_encode(encoder, sink->index, &values, slot->bytes, &slot->count, &why);
    if (status == HC_OK && sink->how.take != NULL) {
        status = sink->how.take(sink->how.taker, number, &values, encoder, &why);
    }
    pthread_mutex_lock(&sink->lock);
    if (status != HC_OK) {
        fail(sink, &why);
        return;
    }
    slot->ready = true;
    encoded(sink, n);
    write_ready(sink);
}

static void *help(void *user) {
    Helper *helper = user;
    HcChunkSink *sink = helper->sink;
    HcChunkEncoder *encoder = helper->encoder;
    free(helper);
    pthread_mutex_lock(&sink->lock);
    while (!sink->stop) {
        if (may_begin(sink)) {
            encode_next(sink, encoder);
        } else {
            pthread_cond_wait(&sink->changed, &sink->lock);
        }
    }
    pthread_mutex_unlock(&sink->lock);
    return NULL;
}

/* The caller's own part of the work, or a wait for that of others. */
static void help_or_wait(HcChunkSink *sink) {
    if (may_begin(sink)) {
        encode_next(sink, sink->encoder[0]);
    } else {
        pthread_cond_wait(&sink->changed, &sink->lock);
    }
}

/* ---- opening and closing ---- */

static HcStatus make(HcChunkSink *sink, HcError *err) {
    const HcChunkIndex *index = sink->index;
    int32_t threads = sink->how.threads;
    sink->slots = threads > 1 ? 2 * threads : 1;
    HC_OR_RETURN(hc_new(sink->encoder, threads, "tiles to write", err));
    HC_OR_RETURN(hc_new(sink->thread, threads, "tiles to write", err));
    HC_OR_RETURN(hc_new(sink->slot, sink->slots, "tiles to write", err));
    HC_OR_RETURN(hc_new(sink->left, sink->rows, "tiles to write", err));
    for (int32_t t = 0; t < threads; t++) {
        HC_OR_RETURN(hc_chunk_encoder_open(&sink->encoder[t], index, sink->how.level, err));
    }
    for (int32_t s = 0; s < sink->slots; s++) {
        HC_OR_RETURN(
            hc_new_aligned(sink->slot[s].bytes, hc_chunk_encoded_most(index), "tiles to write", err));
    }
    for (int64_t r = 0; r < sink->rows; r++) {
        sink->left[r] = chunks_of_row(index);
    }
    return HC_OK;
}

/* Where the system gives fewer threads, those do the work, and the caller in any case. */
static void start_threads(HcChunkSink *sink) {
    for (int32_t t = 1; t < sink->how.threads; t++) {
        Helper *helper = malloc(sizeof *helper);
        if (helper == NULL) {
            return;
        }
        *helper = (Helper){.sink = sink, .encoder = sink->encoder[t]};
        if (pthread_create(&sink->thread[sink->running], NULL, help, helper) != 0) {
            free(helper);
            return;
        }
        sink->running++;
    }
}

HcStatus hc_chunk_sink_open(HcChunkSink **out, HcChunkIndex *index, const HcChunkSinkHow *how, HcError *err) {
    HcStatus status = HC_OK;
    HcChunkSink *sink = NULL;
    *out = NULL;
    HC_OR_RETURN(hc_new(sink, 1, "tiles to write", err));
    sink->index = index;
    sink->how = *how;
    sink->how.threads = (int32_t)hc_min64(how->threads, hc_chunk_count(index));
    sink->rows = waiting_rows(index, how->threads);
    sink->end = how->end;
    pthread_mutex_init(&sink->lock, NULL);
    pthread_cond_init(&sink->changed, NULL);
    HC_TRY(make(sink, err));
    start_threads(sink);
    *out = sink;
    sink = NULL;
done:
    hc_chunk_sink_close(sink);
    return status;
}

void hc_chunk_sink_close(HcChunkSink *sink) {
    if (sink == NULL) {
        return;
    }
    pthread_mutex_lock(&sink->lock);
    sink->stop = true;
    pthread_cond_broadcast(&sink->changed);
    pthread_mutex_unlock(&sink->lock);
    for (int32_t t = 0; t < sink->running; t++) {
        pthread_join(sink->thread[t], NULL);
    }
    for (int32_t t = 0; t < sink->how.threads && sink->encoder != NULL; t++) {
        hc_chunk_encoder_close(sink->encoder[t]);
    }
    for (int32_t s = 0; s < sink->slots && sink->slot != NULL; s++) {
        free(sink->slot[s].bytes);
    }
    pthread_cond_destroy(&sink->changed);
    pthread_mutex_destroy(&sink->lock);
    free(sink->encoder);
    free(sink->thread);
    free(sink->slot);
    free(sink->left);
    free(sink);
}

/* ---- the caller ---- */

/* Unlocks, and says the first failure. */
static HcStatus leave(HcChunkSink *sink, HcError *err) {
    HcStatus status = sink->failure.status;
    if (status != HC_OK) {
        (void)hc_fail(err, status, "%s", sink->failure.text);
    }
    pthread_mutex_unlock(&sink->lock);
    return status;
}

/* Lines that are free in one piece; the lock is held. */
static int64_t free_lines(const HcChunkSink *sink) {
    int64_t rows = sink->how.rows;
    int64_t free_ones = sink->first_row * sink->index->shape[HC_AXIS_LINE] + rows - sink->given;
    return hc_min64(free_ones, rows - sink->given % rows);
}

HcStatus hc_chunk_sink_room(HcChunkSink *sink, int32_t *lines, HcError *err) {
    pthread_mutex_lock(&sink->lock);
    while (!sink->stop && free_lines(sink) <= 0) {
        help_or_wait(sink);
    }
    *lines = (int32_t)free_lines(sink);
    return leave(sink, err);
}

HcStatus hc_chunk_sink_give(HcChunkSink *sink, int32_t lines, HcError *err) {
    pthread_mutex_lock(&sink->lock);
    sink->given += lines;
    pthread_cond_broadcast(&sink->changed);
    return leave(sink, err);
}

HcStatus hc_chunk_sink_finish(HcChunkSink *sink, HcError *err) {
    pthread_mutex_lock(&sink->lock);
    while (!sink->stop && sink->written < hc_chunk_count(sink->index)) {
        help_or_wait(sink);
    }
    return leave(sink, err);
}
