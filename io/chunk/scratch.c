/* The scratch file: the lines of the scene as they are handed out, without a name. Where the lines of a chunk
 * are pieces of its lines, each chunk is written by the thread that has decoded it. Else a row of chunks is
 * brought in parts of chunks side by side, since each chunk has only some values of a line in one piece. */
#include "core/allocate.h"
#include "io/chunk/parts.h"
#include "io/gdal/errors.h"
#include "io/scratch.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a thread reads or writes at a time. */
#define SHARE ((int64_t)1 << 20)

static HcStatus fail_scratch(const HcChunks *chunks, const char *what, int number, HcError *err) {
    return hc_fail(err, hc_errno_status(number, HC_E_IO),
                   "%s: %s a scratch file of %.0f bytes in %s failed: %s (--scratch names its folder)",
                   chunks->index->path, what,
                   (double)chunks->index->size[HC_AXIS_LINE] * (double)hc_chunk_line_bytes(chunks),
                   hc_scratch_folder(), hc_scratch_reason(number));
}

HcStatus hc_chunk_scratch_open(HcChunks *chunks, HcError *err) {
    HC_OR_RETURN(hc_new(chunks->written, (size_t)hc_chunk_row_count(chunks->index), "rows of chunks", err));
    chunks->scratch = hc_scratch_open();
    return chunks->scratch >= 0 ? HC_OK : fail_scratch(chunks, "making", errno, err);
}

void hc_chunk_scratch_close(HcChunks *chunks) {
    hc_scratch_close(chunks->scratch);
    free(chunks->written);
}

/* ---- stretches of the file ---- */

/* Some stretches of equal length, `step` apart in the file and one after the other in memory. */
typedef struct Stretches {
    const HcChunks *chunks;
    char *memory;
    int64_t at, bytes, step;
    bool writes;
    pthread_mutex_t lock;
    bool failed;
    int error; /* as hc_scratch_read gives it */
} Stretches;

static void move_one(void *user, int64_t item, int32_t thread) {
    (void)thread;
    Stretches *all = user;
    char *memory = all->memory + item * all->bytes;
    int64_t at = all->at + item * all->step;
    size_t bytes = (size_t)all->bytes;
    int number = all->writes ? hc_scratch_write(all->chunks->scratch, at, memory, bytes)
                             : hc_scratch_read(all->chunks->scratch, at, memory, bytes);
    if (number != 0) {
        pthread_mutex_lock(&all->lock);
        all->failed = true;
        all->error = number;
        pthread_mutex_unlock(&all->lock);
    }
}

static HcStatus move_all(Stretches *all, int64_t count, HcError *err) {
    pthread_mutex_init(&all->lock, NULL);
    hc_team_run(all->chunks->team, count, move_one, all);
    pthread_mutex_destroy(&all->lock);
    return all->failed ? fail_scratch(all->chunks, all->writes ? "writing" : "reading", all->error, err)
                       : HC_OK;
}

/* ---- rows of chunks ---- */

/* How many of the bands that are used come before this one of the file. */
static int64_t used_before(const HcChunks *chunks, int64_t band) {
    int64_t count = 0;
    for (int32_t r = 0; r < chunks->run_count; r++) {
        const HcBandRun *run = &chunks->run[r];
        count += hc_max64(0, hc_min64(band - run->from, run->count));
    }
    return count;
}

int64_t hc_chunk_part_count(const HcChunks *chunks) {
    int64_t side = chunks->index->count[chunks->pixels ? HC_AXIS_SAMPLE : HC_AXIS_BAND];
    return (side + chunks->plan.part - 1) / chunks->plan.part;
}

int64_t hc_chunk_part_target(const HcChunks *chunks, int64_t row, int64_t part, char *to, HcTarget *target) {
    const HcChunkIndex *index = chunks->index;
    int axis = chunks->pixels ? HC_AXIS_SAMPLE : HC_AXIS_BAND;
    int64_t each = (int64_t)hc_type_bytes(index->type), line0 = hc_chunk_row_begin(index, row);
    int64_t first = part * chunks->plan.part, count = hc_min64(chunks->plan.part, index->count[axis] - first);
    int64_t begin = first * index->shape[axis], end = begin + count * index->shape[axis];
    *target = hc_chunk_target(chunks, row, line0, hc_chunk_row_end(index, row) - line0, to);
    target->first[axis] = first;
    target->count[axis] = count;
    if (chunks->pixels) {
        begin = hc_max64(begin, chunks->sample0);
        end = hc_max64(begin, hc_min64(end, chunks->sample0 + chunks->samples));
        target->sample0 = begin;
        target->stride[HC_AXIS_LINE] = (end - begin) * chunks->used * each;
        return (begin - chunks->sample0) * chunks->used * each;
    }
    int64_t band_bytes = chunks->samples * each;
    target->band0 = used_before(chunks, begin);
    target->stride[HC_AXIS_LINE] = (used_before(chunks, end) - target->band0) * band_bytes;
    return target->band0 * band_bytes;
}

HcStatus hc_chunk_scratch_part(const HcChunks *chunks, const HcTarget *target, int64_t place, int64_t first,
                               int64_t lines, HcError *err) {
    int64_t bytes = target->stride[HC_AXIS_LINE], line = hc_chunk_line_bytes(chunks);
    for (int64_t l = first; l < first + lines; l++) {
        int number = hc_scratch_write(chunks->scratch, (target->line0 + l) * line + place,
                                      target->to + l * bytes, (size_t)bytes);
        if (number != 0) {
            return fail_scratch(chunks, "writing", number, err);
        }
    }
    return HC_OK;
}

/* ---- the lines of a chunk at once ---- */

/* Leaves the bands that are used of `samples` samples from `first` on. Nothing moves backwards. */
static void pack(const HcChunks *chunks, char *values, int64_t lines, int64_t first, int64_t samples) {
    const HcChunkIndex *index = chunks->index;
    int64_t each = (int64_t)hc_type_bytes(index->type), bands = index->shape[HC_AXIS_BAND];
    char *to = values;
    for (int64_t l = 0; l < lines; l++) {
        const char *from = values + (l * index->shape[HC_AXIS_SAMPLE] + first) * bands * each;
        if (chunks->used == bands) {
            memmove(to, from, (size_t)(samples * bands * each));
            to += samples * bands * each;
            continue;
        }
        for (int64_t s = 0; s < samples; s++, from += bands * each) {
            for (int32_t r = 0; r < chunks->run_count; r++) {
                const HcBandRun *run = &chunks->run[r];
                memmove(to, from + run->from * each, (size_t)(run->count * each));
                to += run->count * each;
            }
        }
    }
}

static void fill(const HcChunkIndex *index, char *to, int64_t pixels) {
    size_t each = hc_type_bytes(index->type);
    for (int64_t p = 0; p < pixels; p++) {
        for (int64_t b = 0; b < index->shape[HC_AXIS_BAND]; b++, to += each) {
            uint64_t value = index->fill != NULL && b < index->size[HC_AXIS_BAND] ? index->fill[b] : 0;
            memcpy(to, &value, each);
        }
    }
}

HcStatus hc_chunk_scratch_chunk(HcChunks *chunks, int64_t row, int64_t sample, HcChunkWorkspace *workspace,
                                HcError *err) {
    const HcChunkIndex *index = chunks->index;
    int64_t number = hc_chunk_number(index, hc_chunk_row_place(index, row), sample, 0);
    int64_t first[HC_AXES], size[HC_AXES];
    int64_t pixel = chunks->used * (int64_t)hc_type_bytes(index->type);
    uint8_t *values = NULL;
    hc_chunk_box(index, number, first, size);
    int64_t begin = hc_max64(first[HC_AXIS_SAMPLE], chunks->sample0);
    int64_t samples =
        hc_min64(first[HC_AXIS_SAMPLE] + size[HC_AXIS_SAMPLE], chunks->sample0 + chunks->samples) - begin;
    if (samples <= 0) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_chunk_bring_one(chunks, workspace, number, &values, err));
    char *lines = (char *)(values != NULL ? values : hc_chunk_decode_output(workspace));
    if (values == NULL) {
        fill(index, lines, size[HC_AXIS_LINE] * index->shape[HC_AXIS_SAMPLE]);
    }
    pack(chunks, lines, size[HC_AXIS_LINE], begin - first[HC_AXIS_SAMPLE], samples);
    int64_t line = first[HC_AXIS_LINE], step = hc_chunk_line_bytes(chunks);
    Stretches all = {.chunks = chunks,
                     .memory = lines,
                     .bytes = samples * pixel,
                     .step = index->upwards ? -step : step,
                     .writes = true};
    all.at = (index->upwards ? index->size[HC_AXIS_LINE] - 1 - line : line) * step +
             (begin - chunks->sample0) * pixel;
    return move_all(&all, size[HC_AXIS_LINE], err);
}

/* ---- reading ---- */

HcStatus hc_chunk_scratch_read(HcChunks *chunks, int64_t line0, int64_t lines, char *to, HcError *err) {
    int64_t line = hc_chunk_line_bytes(chunks), each = line < SHARE ? SHARE / line : 1;
    int64_t whole = lines / each;
    Stretches all = {
        .chunks = chunks, .memory = to, .at = line0 * line, .bytes = each * line, .step = each * line};
    HC_OR_RETURN(move_all(&all, whole, err));
    Stretches rest = all;
    rest.memory += whole * all.bytes;
    rest.at += whole * all.bytes;
    rest.bytes = (lines - whole * each) * line;
    return rest.bytes > 0 ? move_all(&rest, 1, err) : HC_OK;
}
