/* Raw bytes to sums, without a block of pixels between. A unit of work is a strip of 64 samples over some
 * lines: each line goes through all sums, so that the lines around it are read while they are in the cache,
 * and differences need no lines of their own.
 *
 * Strips need samples that lie side by side (BIL, BSQ) and panels that take them. All else is decoded first,
 * as hc_decode and hc_gram do it. So is a strip of which few pixels count, or with a value that limbs do not
 * hold: that strip alone. The sums are the same, whichever way a pixel takes. */
#include "core/operation/gram/gram_raw.h"
#include "cpu/gram/gram.h"
#include "cpu/image/decode.h"
#include "cpu/work.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

HcGramRawFn hc_cpu_gram_raw;

enum {
    UNIT_LINES = 16,
    ENOUGH = 24,            /* pixels: fewer are faster one by one */
    AROUND = HC_CPU_RUN + 2 /* samples of a strip with its neighbours */
};

/* A strip that is decoded after all, of one thread. */
typedef struct Aside {
    float *values;  /* [3][AROUND][bands] */
    float *scratch; /* [HC_CPU_RUN][bands] */
    uint8_t mask[3 * AROUND], ok[AROUND];
} Aside;

typedef struct Job {
    const HcCpu *cpu;
    const HcRaw *raw;
    const HcDecode *how;
    const HcBlock *block; /* its mask is there */
    const HcGramPart *parts;
    int32_t count;
    int64_t *band; /* [bands]: where each is [bytes] */
    uint8_t *ok;   /* [parts][lines][samples] */
    int64_t strips;
    Aside *aside;       /* [threads] */
    atomic_bool failed; /* the first thread to set it writes: */
    HcStatus status;
    HcError error;
} Job;

static bool takes_strips(const HcRaw *raw, const HcDecode *how, const HcGramPart *part) {
    const HcSums *sums = part->sums;
    bool small =
        raw->type == HC_UINT8 || raw->type == HC_INT8 || raw->type == HC_UINT16 || raw->type == HC_INT16;
    return sums->kind->strip != NULL && !how->keep_missing &&
           raw->stride_sample == (int64_t)hc_type_bytes(raw->type) && raw->samples >= ENOUGH &&
           (sums->scale != NULL ? raw->type == HC_FLOAT32 && !sums->kind->strips_of_integers : small);
}

static uint8_t *ok_line(const Job *job, int32_t part, int64_t line) {
    return job->ok + (part * (int64_t)job->block->lines + line) * job->block->samples;
}

static void find_valid(void *user, int64_t line, int64_t end, int32_t thread) {
    const Job *job = user;
    const HcBlock *block = job->block;
    (void)thread;
    for (; line < end; line++) {
        for (int32_t p = 0; p < job->count; p++) {
            (void)hc_cpu_difference_valid(block, job->parts[p].kind, block->line0 + line,
                                          job->parts[p].window, ok_line(job, p, line));
        }
    }
}

/* ---- a strip that is decoded ---- */

size_t hc_cpu_aside_bytes(int32_t bands) {
    return (3 * (size_t)AROUND + HC_CPU_RUN) * (size_t)bands * sizeof(float);
}

static HcStatus open_aside(Aside *aside, int32_t bands, HcError *err) {
    size_t bytes = hc_cpu_aside_bytes(bands);
    if (aside->values == NULL && (aside->values = malloc(bytes)) == NULL) {
        return hc_fail_memory(err, (double)bytes, "a strip of pixels");
    }
    aside->scratch = aside->values + 3 * (size_t)AROUND * (size_t)bands;
    return HC_OK;
}

/* The strip from sample `first` to `last` of a line of the scene, with its neighbours, by way of pixels. */
static HcStatus add_aside(const Job *job, int32_t part, int64_t line, int32_t first, int32_t last,
                          int32_t thread, HcError *err) {
    const HcBlock *block = job->block;
    Aside *aside = &job->aside[thread];
    HC_OR_RETURN(open_aside(aside, block->bands, err));
    int32_t from = first > 0 ? first - 1 : 0;
    int32_t end = last < block->samples ? last + 1 : last;
    HcRaw raw = *job->raw;
    HcDecode how = *job->how;
    raw.data = (const char *)raw.data + from * raw.stride_sample;
    raw.samples = end - from;
    raw.user_mask = NULL; /* what does not count is known */
    how.counts = NULL;
    const HcBlock pixels = {.data = aside->values,
                            .mask = aside->mask,
                            .line0 = line,
                            .lines = 1,
                            .above = line > hc_block_first_line(block),
                            .below = line + 1 < hc_block_first_line(block) + hc_block_rows(block),
                            .samples = end - from,
                            .bands = block->bands};
    HC_OR_RETURN(hc_cpu_decode_here(&raw, &how, &pixels, err));
    memset(aside->ok, 0, sizeof aside->ok);
    memcpy(aside->ok + (first - from), ok_line(job, part, line - block->line0) + first,
           (size_t)(last - first));
    return hc_cpu_gram_line(job->parts[part].sums, &pixels, job->parts[part].kind, aside->ok, thread,
                            aside->scratch, err);
}

/* ---- strips ---- */

/* The start of a line of the scene at a sample; NULL where the bytes do not hold it. */
static const char *bytes_at(const HcRaw *raw, int64_t line, int32_t sample) {
    int64_t row = line - raw->line0;
    return row < 0 || row >= raw->lines
               ? NULL
               : (const char *)raw->data + row * raw->stride_line + sample * raw->stride_sample;
}

static uint64_t bits_of(const uint8_t *ok, int32_t count) {
    uint64_t bits = 0;
    for (int32_t s = 0; s < count; s++) {
        bits |= (uint64_t)(ok[s] != 0) << s;
    }
    return bits;
}

static HcStatus add_strip(const Job *job, int32_t part, int64_t line, int32_t first, int32_t last,
                          int32_t thread, HcError *err) {
    const HcRaw *raw = job->raw;
    HcSums *sums = job->parts[part].sums;
    const HcStrip strip = {.above = bytes_at(raw, line - 1, first),
                           .here = bytes_at(raw, line, first),
                           .below = bytes_at(raw, line + 1, first),
                           .next = part == 0 ? bytes_at(raw, line + 2, first) : NULL,
                           .band = job->band,
                           .type = raw->type,
                           .swap = raw->swap,
                           .kind = job->parts[part].kind,
                           .samples = last - first,
                           .before = first > 0,
                           .after = last < raw->samples,
                           .ok = bits_of(ok_line(job, part, line - job->block->line0) + first, last - first),
                           .center = sums->moments.center,
                           .scale = sums->scale};
    int count = __builtin_popcountll(strip.ok);
    if (count == 0 || (count >= ENOUGH && sums->kind->strip(sums->panels[thread], &strip, &sums->moments))) {
        return HC_OK;
    }
    return add_aside(job, part, line, first, last, thread, err);
}

/* The first lines of a unit. Those that follow are asked for by the strip in front. */
static void ask_for_lines(const Job *job, int64_t line, int32_t first) {
    const int64_t bytes = (int64_t)hc_type_bytes(job->raw->type);
    for (int64_t k = line - 1; k <= line + 1; k++) {
        const char *at = bytes_at(job->raw, k, first);
        for (int32_t b = 0; at != NULL && b < job->block->bands; b++) {
            for (int64_t byte = 0; byte <= HC_CPU_RUN * bytes; byte += 64) {
                __builtin_prefetch(at + job->band[b] + byte, 0, 2);
            }
        }
    }
}

static HcStatus add_unit(const Job *job, int64_t unit, int32_t thread, HcError *err) {
    const HcBlock *block = job->block;
    int64_t line = block->line0 + unit / job->strips * UNIT_LINES;
    int64_t end = hc_min64(block->line0 + block->lines, line + UNIT_LINES);
    int32_t first = (int32_t)(unit % job->strips * HC_CPU_RUN);
    int32_t last = (int32_t)hc_min64(block->samples, first + HC_CPU_RUN);
    ask_for_lines(job, line, first);
    for (; line < end; line++) {
        for (int32_t p = 0; p < job->count; p++) {
            HC_OR_RETURN(add_strip(job, p, line, first, last, thread, err));
        }
    }
    return HC_OK;
}

static void add_units(void *user, int64_t unit, int64_t end, int32_t thread) {
    Job *job = user;
    HcError error = {0};
    for (; unit < end && !atomic_load(&job->failed); unit++) {
        HcStatus status = add_unit(job, unit, thread, &error);
        if (status != HC_OK && !atomic_exchange(&job->failed, true)) {
            job->status = status;
            job->error = error;
        }
    }
}

/* ---- the operation ---- */

static HcStatus by_block(HcQueue *queue, const HcRaw *raw, const HcDecode *how, const HcBlock *block,
                         const HcGramPart *parts, int32_t count, HcError *err) {
    HC_OR_RETURN(hc_cpu_decode(queue, raw, how, block, err));
    for (int32_t p = 0; p < count; p++) {
        HC_OR_RETURN(hc_cpu_gram(queue, block, parts[p].kind, parts[p].window, parts[p].sums, err));
    }
    return HC_OK;
}

static HcStatus by_strips(Job *job, HcError *err) {
    const HcCpu *cpu = job->cpu;
    const HcBlock *block = job->block;
    HC_OR_RETURN(hc_cpu_decode_masks(cpu, job->raw, job->how, block, err));
    for (int32_t b = 0; b < block->bands; b++) {
        job->band[b] = job->how->band_index[b] * job->raw->stride_band;
    }
    job->strips = (block->samples + HC_CPU_RUN - 1) / HC_CPU_RUN;
    hc_cpu_work(cpu, block->lines, hc_cpu_grain(cpu, block->lines), find_valid, job);
    hc_cpu_work(cpu, (block->lines + UNIT_LINES - 1) / UNIT_LINES * job->strips, 1, add_units, job);
    return atomic_load(&job->failed) ? hc_fail(err, job->status, "%s", job->error.text) : HC_OK;
}

HcStatus hc_cpu_gram_raw(HcQueue *queue, const HcRaw *raw, const HcDecode *how, const HcBlock *block,
                         const HcGramPart *parts, int32_t count, HcError *err) {
    HcStatus status = HC_OK;
    for (int32_t p = 0; p < count; p++) {
        if (!takes_strips(raw, how, &parts[p])) {
            return by_block(queue, raw, how, block, parts, count, err);
        }
    }
    size_t pixels = (size_t)block->lines * (size_t)block->samples * (size_t)count;
    size_t bands = (size_t)block->bands;
    size_t threads = (size_t)queue->cpu->threads;
    Job job = {.cpu = queue->cpu, .raw = raw, .how = how, .block = block, .parts = parts, .count = count};
    job.band = malloc(bands * sizeof *job.band);
    job.ok = malloc(pixels);
    job.aside = calloc(threads, sizeof *job.aside);
    if (job.band == NULL || job.ok == NULL || job.aside == NULL) {
        HC_TRY(hc_fail_memory(err, (double)(pixels + bands * sizeof *job.band + threads * sizeof *job.aside),
                              "valid pixels"));
    }
    HC_TRY(by_strips(&job, err));
done:
    for (size_t t = 0; job.aside != NULL && t < threads; t++) {
        free(job.aside[t].values);
    }
    free(job.aside);
    free(job.ok);
    free(job.band);
    return status;
}
