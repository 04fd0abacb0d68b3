/* Bringing chunks: read, decode, and put their values where they belong. */
#include "io/chunk/parts.h"
#include "io/chunk/zarr.h"
#include "io/file.h"
#include "io/gdal/errors.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- one chunk ---- */

static HcStatus fail_chunk(const HcChunkIndex *index, int64_t number, HcStatus status, const char *why,
                           HcError *err) {
    int64_t first[HC_AXES], size[HC_AXES];
    hc_chunk_box(index, number, first, size);
    return hc_fail(err, status,
                   "%s: the %s at line %" PRId64 ", sample %" PRId64 ", band %" PRId64 " (from 0) %s",
                   index->path, index->pieces ? "piece" : "chunk", first[HC_AXIS_LINE], first[HC_AXIS_SAMPLE],
                   first[HC_AXIS_BAND], why);
}

/* Bytes of the file from this chunk on that are worth one request: those of the next chunks, too, while there
 * is little between them. */
static int64_t bytes_together(const HcChunkIndex *index, int64_t number, int64_t ahead) {
    enum { GAP = 4096 };
    const HcChunkPlace *place = &index->place[number];
    int64_t end = place->offset + place->bytes, count = hc_min64(ahead, hc_chunk_count(index) - number);
    for (int64_t n = 1; n < count; n++) {
        int64_t gap = place[n].offset - end, to = place[n].offset + place[n].bytes;
        if (place[n].bytes == 0 || gap < 0 || gap > GAP || to - place->offset > HC_WINDOW_BYTES) {
            break;
        }
        end = to;
    }
    return end - place->offset;
}

static HcStatus read_window(const HcChunkIndex *index, int64_t number, HcChunkWindow *window, uint8_t *to,
                            HcError *err) {
    const HcChunkPlace *place = &index->place[number];
    int64_t bytes = bytes_together(index, number, window->ahead), within = place->offset - window->at;
    if (within >= 0 && within + place->bytes <= window->bytes) {
        memcpy(to, window->data + within, (size_t)place->bytes);
        return HC_OK;
    }
    if (bytes > place->bytes && window->data == NULL) {
        window->data = malloc(HC_WINDOW_BYTES);
    }
    if (bytes == place->bytes || window->data == NULL) {
        return hc_remote_read(index->remote, to, place->bytes, place->offset, err);
    }
    window->bytes = 0;
    HC_OR_RETURN(hc_remote_read(index->remote, window->data, bytes, place->offset, err));
    window->at = place->offset;
    window->bytes = bytes;
    memcpy(to, window->data, (size_t)place->bytes);
    return HC_OK;
}

static HcStatus read_remote(const HcChunkIndex *index, int64_t number, HcChunkWorkspace *workspace,
                            HcError *err) {
    HcError why = {0};
    char text[sizeof why.text];
    uint8_t *to = hc_chunk_decode_input(workspace);
    HcStatus status = read_window(index, number, hc_chunk_window(workspace), to, &why);
    snprintf(text, sizeof text, "cannot be read: %.400s", why.text);
    return status == HC_OK ? HC_OK : fail_chunk(index, number, status, text, err);
}

static HcStatus read_file(const HcChunkIndex *index, int64_t number, HcChunkWorkspace *workspace,
                          int64_t *stored, HcError *err) {
    HcError why = {0};
    HcStatus status = hc_zarr_read_chunk(index, number, hc_chunk_decode_input(workspace), stored, &why);
    return status == HC_OK ? HC_OK : fail_chunk(index, number, status, why.text, err);
}

/* *stored = the bytes of the chunk. */
static HcStatus read_stored(const HcChunkIndex *index, int64_t number, HcChunkWorkspace *workspace,
                            int64_t *stored, uint32_t *skipped, HcError *err) {
    uint8_t *to = hc_chunk_decode_input(workspace);
    *skipped = 0;
    if (index->zarr != NULL) {
        return read_file(index, number, workspace, stored, err);
    }
    const HcChunkPlace *place = &index->place[number];
    *stored = place->bytes;
    if (index->remote != NULL) {
        return read_remote(index, number, workspace, err);
    }
    if (index->file < 0) {
        char why[300] = "cannot be read: ";
        size_t begun = strlen(why);
        int64_t corner[HC_AXES];
        hc_chunk_corner(index, number, corner);
        errno = 0;
        if (hc_hdf5_read_chunk(index->hdf5, corner, place->bytes, to, skipped, why + begun,
                               sizeof why - begun)) {
            return HC_OK;
        }
        return fail_chunk(index, number, hc_errno_status(errno, HC_E_INPUT), why, err);
    }
    int failed = hc_file_read_at(index->file, to, (size_t)place->bytes, place->offset);
    if (failed != 0) {
        char why[200];
        snprintf(why, sizeof why, "cannot be read: %s",
                 failed > 0 ? strerror(failed) : "the file ends before its last byte");
        return fail_chunk(index, number, HC_E_IO, why, err);
    }
    return HC_OK;
}

HcStatus hc_chunk_bring_one(HcChunks *chunks, HcChunkWorkspace *workspace, int64_t number, uint8_t **values,
                            HcError *err) {
    const HcChunkIndex *index = chunks->index;
    int64_t first[HC_AXES], size[HC_AXES];
    HcError why = {0};
    *values = NULL;
    if (index->zarr == NULL && index->place[number].bytes == 0) {
        return HC_OK;
    }
    (void)__atomic_fetch_add(&chunks->decoded, 1, __ATOMIC_RELAXED);
    uint32_t skipped = 0;
    int64_t stored = 0;
    HC_OR_RETURN(read_stored(index, number, workspace, &stored, &skipped, err));
    if (stored == 0) {
        return HC_OK;
    }
    hc_chunk_box(index, number, first, size);
    HcStatus status = hc_chunk_decode(workspace, index, stored, size[HC_AXIS_LINE], skipped, values, &why);
    if (status != HC_OK) {
        char text[256];
        snprintf(text, sizeof text, "is broken: %.200s", why.text);
        return fail_chunk(index, number, status, text, err);
    }
    return HC_OK;
}

/* ---- copies ---- */

/* A box of values from one place to another; axes the slowest first, as they lie at `from`. */
typedef struct Copy {
    const char *from;
    char *to;
    int64_t count[HC_AXES], from_stride[HC_AXES], to_stride[HC_AXES];
} Copy;

#define DEFINE_COPY(name, type)                                                                              \
    static void name(const char *from, int64_t from_stride, char *to, int64_t to_stride, int64_t count) {    \
        for (int64_t i = 0; i < count; i++, from += from_stride, to += to_stride) {                          \
            memcpy(to, from, sizeof(type));                                                                  \
        }                                                                                                    \
    }
DEFINE_COPY(copy_1, uint8_t)
DEFINE_COPY(copy_2, uint16_t)
DEFINE_COPY(copy_4, uint32_t)
DEFINE_COPY(copy_8, uint64_t)

static void copy_row(const Copy *copy, const char *from, char *to, int64_t each) {
    int64_t count = copy->count[2], from_stride = copy->from_stride[2], to_stride = copy->to_stride[2];
    if (from_stride == each && to_stride == each) {
        memcpy(to, from, (size_t)(count * each));
        return;
    }
    switch (each) {
    case 1:
        copy_1(from, from_stride, to, to_stride, count);
        break;
    case 2:
        copy_2(from, from_stride, to, to_stride, count);
        break;
    case 4:
        copy_4(from, from_stride, to, to_stride, count);
        break;
    default:
        copy_8(from, from_stride, to, to_stride, count);
    }
}

static void swap_axes(Copy *copy, int a, int b) {
    int64_t *lists[] = {copy->count, copy->from_stride, copy->to_stride};
    for (int l = 0; l < 3; l++) {
        int64_t kept = lists[l][a];
        lists[l][a] = lists[l][b];
        lists[l][b] = kept;
    }
}

/* Where the values that lie together on both sides are not those of one axis: rows go along what lies
 * together at `to`, one after the other along what lies together at `from`. Either side then stays in the
 * cache. */
static void turn(Copy *copy, int64_t each) {
    for (int a = 0; a < 2 && copy->to_stride[2] != each; a++) {
        if (copy->to_stride[a] == each) {
            swap_axes(copy, a, 2);
            if (a == 0) {
                swap_axes(copy, 0, 1);
            }
        }
    }
}

static void copy_box(Copy copy, int64_t each) {
    turn(&copy, each);
    /* Rows that follow each other on both sides are one. */
    int64_t row = copy.count[2] * each;
    if (copy.from_stride[2] == each && copy.to_stride[2] == each && copy.from_stride[1] == row &&
        copy.to_stride[1] == row) {
        copy.count[2] *= copy.count[1];
        copy.count[1] = 1;
    }
    for (int64_t i = 0; i < copy.count[0]; i++) {
        const char *from = copy.from + i * copy.from_stride[0];
        char *to = copy.to + i * copy.to_stride[0];
        for (int64_t j = 0; j < copy.count[1]; j++) {
            copy_row(&copy, from, to, each);
            from += copy.from_stride[1];
            to += copy.to_stride[1];
        }
    }
}

/* What of a chunk goes to a target: a box of each run of bands. */
typedef struct Part {
    int64_t first[HC_AXES], count[HC_AXES]; /* within the chunk */
    int64_t line, sample, band; /* where that lies: of the scene, and the band among those stored */
} Part;

/* What of a chunk is wanted of a run of bands; false where nothing is. */
static bool part_of_run(const HcChunks *chunks, const HcTarget *target, const int64_t first[HC_AXES],
                        const int64_t size[HC_AXES], const HcBandRun *run, Part *part) {
    const HcChunkIndex *index = chunks->index;
    int64_t end = target->line0 + target->lines; /* lines of the scene become lines of the array */
    int64_t low = index->upwards ? index->size[HC_AXIS_LINE] - end : target->line0;
    const int64_t wanted[HC_AXES] = {low, chunks->sample0, run->from};
    const int64_t count[HC_AXES] = {target->lines, chunks->samples, run->count};
    int64_t from[HC_AXES];
    for (int a = 0; a < HC_AXES; a++) {
        from[a] = hc_max64(first[a], wanted[a]);
        part->first[a] = from[a] - first[a];
        part->count[a] = hc_min64(first[a] + size[a], wanted[a] + count[a]) - from[a];
        if (part->count[a] <= 0) {
            return false;
        }
    }
    part->line = index->upwards ? index->size[HC_AXIS_LINE] - 1 - from[HC_AXIS_LINE] : from[HC_AXIS_LINE];
    part->sample = from[HC_AXIS_SAMPLE];
    part->band = run->to + from[HC_AXIS_BAND] - run->from;
    return true;
}

static char *place_of(const HcTarget *target, const Part *part) {
    return target->to + (part->line - target->line0) * target->stride[HC_AXIS_LINE] +
           (part->sample - target->sample0) * target->stride[HC_AXIS_SAMPLE] +
           (part->band - target->band0) * target->stride[HC_AXIS_BAND];
}

static int64_t line_step(const HcChunkIndex *index, const HcTarget *target) {
    return index->upwards ? -target->stride[HC_AXIS_LINE] : target->stride[HC_AXIS_LINE];
}

static void put_values(const HcChunkIndex *index, const HcTarget *target, const Part *part,
                       const uint8_t *values) {
    int64_t each = (int64_t)hc_type_bytes(index->type), stride = each;
    Copy copy = {.from = (const char *)values, .to = place_of(target, part)};
    for (int a = HC_AXES - 1; a >= 0; a--) {
        int axis = index->order[a];
        copy.count[a] = part->count[axis];
        copy.from_stride[a] = stride;
        copy.to_stride[a] = axis == HC_AXIS_LINE ? line_step(index, target) : target->stride[axis];
        copy.from += part->first[axis] * stride;
        stride *= index->shape[axis];
    }
    copy_box(copy, each);
}

/* A chunk that is not stored. */
static void put_fill(const HcChunkIndex *index, const HcTarget *target, const Part *part, int64_t band0) {
    size_t each = hc_type_bytes(index->type);
    char *to = place_of(target, part);
    for (int64_t l = 0; l < part->count[HC_AXIS_LINE]; l++, to += line_step(index, target)) {
        for (int64_t b = 0; b < part->count[HC_AXIS_BAND]; b++) {
            uint64_t value = index->fill != NULL ? index->fill[band0 + b] : 0;
            char *at = to + b * target->stride[HC_AXIS_BAND];
            for (int64_t s = 0; s < part->count[HC_AXIS_SAMPLE]; s++, at += target->stride[HC_AXIS_SAMPLE]) {
                memcpy(at, &value, each);
            }
        }
    }
}

/* ---- many ---- */

typedef struct Job {
    HcChunks *chunks;
    HcChunkItem *item;
    void *user;
    pthread_mutex_t lock;
    int64_t count, failed; /* failed: the first item that did, INT64_MAX = none */
    HcError error;
} Job;

static void do_item(void *user, int64_t item, int32_t thread) {
    Job *job = user;
    HcError error = {0};
    pthread_mutex_lock(&job->lock);
    bool late = job->failed < item;
    pthread_mutex_unlock(&job->lock);
    if (late || job->item(job->user, item, job->chunks->workspace[thread], &error) == HC_OK) {
        return;
    }
    pthread_mutex_lock(&job->lock);
    if (item < job->failed) {
        job->failed = item;
        job->error = error;
    }
    pthread_mutex_unlock(&job->lock);
}

/* Chunks that a thread brings one after the other. */
static void do_group(void *user, int64_t group, int32_t thread) {
    const Job *job = user;
    const HcChunks *chunks = job->chunks;
    bool all = chunks->used == chunks->index->size[HC_AXIS_BAND] && chunks->plan.part == 0 &&
               chunks->samples == chunks->index->size[HC_AXIS_SAMPLE];
    int64_t item = group * chunks->index->together;
    int64_t end = hc_min64(job->count, item + chunks->index->together);
    for (; item < end; item++) {
        hc_chunk_window(chunks->workspace[thread])->ahead = all ? end - item : 1;
        do_item(user, item, thread);
    }
}

HcStatus hc_chunk_each(HcChunks *chunks, int64_t count, HcChunkItem *item, void *user, HcError *err) {
    int64_t together = chunks->index->together;
    Job job = {.chunks = chunks,
               .item = item,
               .user = user,
               .lock = PTHREAD_MUTEX_INITIALIZER,
               .count = count,
               .failed = INT64_MAX};
    hc_team_run(chunks->team, (count + together - 1) / together, do_group, &job);
    pthread_mutex_destroy(&job.lock);
    return job.failed == INT64_MAX ? HC_OK : hc_fail(err, job.error.status, "%s", job.error.text);
}

typedef struct Targets {
    HcChunks *chunks;
    const HcTarget *target;
} Targets;

int64_t hc_chunk_target_count(const HcTarget *target) {
    return target->count[HC_AXIS_SAMPLE] * target->count[HC_AXIS_BAND];
}

HcStatus hc_chunk_bring_into(HcChunks *chunks, const HcTarget *target, int64_t within,
                             HcChunkWorkspace *workspace, HcError *err) {
    const HcChunkIndex *index = chunks->index;
    int64_t sample = target->first[HC_AXIS_SAMPLE] + within / target->count[HC_AXIS_BAND];
    int64_t band = target->first[HC_AXIS_BAND] + within % target->count[HC_AXIS_BAND];
    int64_t number = hc_chunk_number(index, hc_chunk_row_place(index, target->row), sample, band);
    int64_t first[HC_AXES], size[HC_AXES];
    uint8_t *values = NULL;
    bool brought = false;
    hc_chunk_box(index, number, first, size);
    for (int32_t r = 0; r < chunks->run_count; r++) {
        Part part;
        if (!part_of_run(chunks, target, first, size, &chunks->run[r], &part)) {
            continue;
        }
        if (!brought) {
            HC_OR_RETURN(hc_chunk_bring_one(chunks, workspace, number, &values, err));
            brought = true;
        }
        if (values != NULL) {
            put_values(index, target, &part, values);
        } else {
            put_fill(index, target, &part, first[HC_AXIS_BAND] + part.first[HC_AXIS_BAND]);
        }
    }
    return HC_OK;
}

static HcStatus bring_item(void *user, int64_t item, HcChunkWorkspace *workspace, HcError *err) {
    const Targets *targets = user;
    int64_t count = hc_chunk_target_count(&targets->target[0]);
    return hc_chunk_bring_into(targets->chunks, &targets->target[item / count], item % count, workspace, err);
}

HcStatus hc_chunk_bring(HcChunks *chunks, const HcTarget *target, int64_t count, HcError *err) {
    Targets targets = {.chunks = chunks, .target = target};
    return count > 0 ? hc_chunk_each(chunks, count * hc_chunk_target_count(target), bring_item, &targets, err)
                     : HC_OK;
}
