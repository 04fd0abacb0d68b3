/* Pixels that change their class. Bands are shared out, not pixels: all threads add to one set of sums. */
#include "core/operation/knn/reassign.h"
#include "core/allocate.h"
#include "core/solver/clones.h"
#include "cpu/work.h"

HcReassignFn hc_cpu_reassign;

/* Bands of a thread at least; pixels that the processor fetches ahead, since what changes lies apart; values
 * that are taken apart together; pixels that a thread looks at together. */
enum { BANDS_MIN = 8, AHEAD = 16, SPLIT = 64, CHUNK = 4096 };

typedef struct Job {
    const float *data; /* of the first pixel */
    const uint8_t *mask;
    const int32_t *index;
    int32_t *label;
    int64_t *sums;
    int64_t pixels, bands, k, classes, chunks;
    uint16_t *moved; /* [chunks][CHUNK] places in the chunk of pixels that change */
    int32_t *count;  /* [chunks] of these */
} Job;

static void find_moved(void *user, int64_t chunk, int64_t end, int32_t thread) {
    const Job *job = user;
    (void)thread;
    for (; chunk < end; chunk++) {
        int64_t first = chunk * CHUNK;
        uint16_t *moved = job->moved + first;
        for (int64_t pixel = first; pixel < hc_min64(first + CHUNK, job->pixels); pixel++) {
            int32_t to = job->index[pixel * job->k];
            if (job->mask[pixel] != 0 && to >= 0 && to != job->label[pixel]) {
                *moved++ = (uint16_t)(pixel - first);
            }
        }
        job->count[chunk] = (int32_t)(moved - (job->moved + first));
    }
}

HC_CLONES static void split(const float *restrict value, int64_t count, uint32_t *restrict digit,
                            int64_t *restrict part) {
    for (int64_t b = 0; b < count; b++) {
        part[b] = hc_class_digit(value[b], &digit[b]);
    }
}

/* Some bands from `first` on of a pixel, at most SPLIT. */
static void move_some(const Job *job, int64_t pixel, int64_t first, int64_t count) {
    uint32_t digit[SPLIT];
    int64_t part[SPLIT];
    int64_t *digits = job->sums + 1 + job->classes + first;
    int64_t *from = digits + job->label[pixel] * HC_CLASS_DIGITS * job->bands;
    int64_t *to = digits + job->index[pixel * job->k] * HC_CLASS_DIGITS * job->bands;
    split(job->data + pixel * job->bands + first, count, digit, part);
    for (int64_t b = 0; b < count && job->label[pixel] >= 0; b++) {
        from[digit[b] * job->bands + b] -= part[b];
    }
    for (int64_t b = 0; b < count; b++) {
        to[digit[b] * job->bands + b] += part[b];
    }
}

static void count_pixel(const Job *job, int64_t pixel) {
    job->sums[0]++;
    job->sums[1 + job->index[pixel * job->k]]++;
    if (job->label[pixel] >= 0) {
        job->sums[1 + job->label[pixel]]--;
    }
}

/* The bands from `first` on of all pixels that change; with the first band these are counted. */
static void move_bands(void *user, int64_t first, int64_t end, int32_t thread) {
    const Job *job = user;
    (void)thread;
    for (int64_t chunk = 0; chunk < job->chunks; chunk++) {
        const uint16_t *moved = job->moved + chunk * CHUNK;
        for (int32_t i = 0; i < job->count[chunk]; i++) {
            int64_t pixel = chunk * CHUNK + moved[i];
            int64_t later = chunk * CHUNK + moved[i + AHEAD < job->count[chunk] ? i + AHEAD : i];
            for (int64_t b = first; b < end; b += 16) { /* a line of the cache */
                __builtin_prefetch(job->data + later * job->bands + b);
            }
            for (int64_t b = first; b < end; b += SPLIT) {
                move_some(job, pixel, b, hc_min64(SPLIT, end - b));
            }
            if (first == 0) {
                count_pixel(job, pixel);
            }
        }
    }
}

static void set_labels(void *user, int64_t chunk, int64_t end, int32_t thread) {
    const Job *job = user;
    (void)thread;
    for (; chunk < end; chunk++) {
        for (int32_t i = 0; i < job->count[chunk]; i++) {
            int64_t pixel = chunk * CHUNK + job->moved[chunk * CHUNK + i];
            job->label[pixel] = job->index[pixel * job->k];
        }
    }
}

HcStatus hc_cpu_reassign(HcQueue *queue, const HcBlock *in, const int32_t *index, int32_t k, int32_t *label,
                         int32_t classes, int64_t *sums, HcError *err) {
    HcStatus status = HC_OK;
    const HcCpu *cpu = queue->cpu;
    const int64_t above = (int64_t)in->above * in->samples;
    Job job = {.data = in->data + above * in->bands,
               .mask = in->mask + above,
               .index = index,
               .label = label,
               .sums = sums,
               .pixels = (int64_t)in->lines * in->samples,
               .bands = in->bands,
               .k = k,
               .classes = classes};
    job.chunks = (job.pixels + CHUNK - 1) / CHUNK;
    HC_TRY(hc_new(job.moved, job.chunks * CHUNK, "pixels that change", err));
    HC_TRY(hc_new(job.count, job.chunks, "pixels that change", err));
    hc_cpu_work(cpu, job.chunks, hc_cpu_grain(cpu, job.chunks), find_moved, &job);
    hc_cpu_work(cpu, job.bands, hc_max64(BANDS_MIN, (job.bands + cpu->threads - 1) / cpu->threads),
                move_bands, &job);
    hc_cpu_work(cpu, job.chunks, hc_cpu_grain(cpu, job.chunks), set_labels, &job);
done:
    free(job.moved);
    free(job.count);
    return status;
}
