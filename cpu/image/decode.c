/* Bytes as they lie in a file -> a block: float32, pixel-major, with its mask. */
#include "cpu/image/decode.h"
#include "cpu/image/transpose.h"
#include "cpu/work.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

/* Pixels and bands that are turned at once: a strip of a line lies in the second cache, a tile in the first.
 */
enum { STRIP = HC_CPU_RUN, TILE = 16 };

/* What was seen in each pixel of a strip. */
typedef struct Seen {
    uint8_t nodata[STRIP]; /* in any band, or in all, as asked */
    uint8_t bad[STRIP];    /* NaN or infinity, or too large for float32 */
    uint8_t found[STRIP];  /* a value in any band; where missing ones are kept */
} Seen;

typedef struct Job Job;
typedef void DecodeStrip(const Job *job, const char *from, int32_t pixels, float *to, Seen *seen);

struct Job {
    const HcRaw *raw;
    const HcDecode *how;
    const HcBlock *out;
    bool has_nodata; /* asked for, and the type of the file can hold it */
    bool keeps;      /* missing values, and the file can hold some */
    int64_t strips;  /* in a line */
    bool masks_alone;
    bool by_words, by_halves; /* the processor turns 16 x 16, or 8 x 8 words in registers */
    DecodeStrip *strip;
    atomic_llong counts[HC_MASK_REASONS];
};

static inline bool is_bad(float value) {
    return !(fabsf(value) <= FLT_MAX);
}

/* tile[band][pixel] -> to[pixel][band]. */
static void turn(const Job *job, float tile[TILE][STRIP], int32_t pixels, int32_t count, float *to) {
    int64_t bands = job->out->bands;
    int32_t s = 0;
#ifdef HC_HAS_TRANSPOSE16
    for (; job->by_words && count == TILE && s + TILE <= pixels; s += TILE) {
        hc_transpose16(tile[0] + s, STRIP * sizeof(float), to + s * bands, (size_t)bands * sizeof(float));
    }
    for (; job->by_halves && count == TILE && s + TILE / 2 <= pixels; s += TILE / 2) {
        for (int32_t k = 0; k < TILE; k += TILE / 2) {
            hc_transpose8(tile[k] + s, STRIP * sizeof(float), to + s * bands + k,
                          (size_t)bands * sizeof(float));
        }
    }
#endif
    for (; s < pixels; s++) {
        for (int32_t k = 0; k < count; k++) {
            to[s * bands + k] = tile[k][s];
        }
    }
}

static inline int64_t nodata_int64(double value) {
    return value >= 0x1p63 ? INT64_MAX : (int64_t)value;
}

static inline uint64_t nodata_uint64(double value) {
    return value >= 0x1p64 ? UINT64_MAX : (uint64_t)value;
}

#define SWAP_1(bits) (bits)

#define TYPE       uint8_t
#define BITS       uint8_t
#define SWAP       SWAP_1
#define FLOATING   0
#define NAME(word) uint8_##word
#include "cpu/image/decode_typed.h"

#define TYPE       int8_t
#define BITS       uint8_t
#define SWAP       SWAP_1
#define FLOATING   0
#define NAME(word) int8_##word
#include "cpu/image/decode_typed.h"

#define TYPE       uint16_t
#define BITS       uint16_t
#define SWAP       __builtin_bswap16
#define FLOATING   0
#define NAME(word) uint16_##word
#include "cpu/image/decode_typed.h"

#define TYPE       int16_t
#define BITS       uint16_t
#define SWAP       __builtin_bswap16
#define FLOATING   0
#define NAME(word) int16_##word
#include "cpu/image/decode_typed.h"

#define TYPE       uint32_t
#define BITS       uint32_t
#define SWAP       __builtin_bswap32
#define FLOATING   0
#define NAME(word) uint32_##word
#include "cpu/image/decode_typed.h"

#define TYPE       int32_t
#define BITS       uint32_t
#define SWAP       __builtin_bswap32
#define FLOATING   0
#define NAME(word) int32_##word
#include "cpu/image/decode_typed.h"

#define TYPE       uint64_t
#define BITS       uint64_t
#define SWAP       __builtin_bswap64
#define FLOATING   0
#define NAME(word) uint64_##word
#define NODATA     nodata_uint64
#include "cpu/image/decode_typed.h"

#define TYPE       int64_t
#define BITS       uint64_t
#define SWAP       __builtin_bswap64
#define FLOATING   0
#define NAME(word) int64_##word
#define NODATA     nodata_int64
#include "cpu/image/decode_typed.h"

#define TYPE       float
#define BITS       uint32_t
#define SWAP       __builtin_bswap32
#define FLOATING   1
#define NAME(word) float32_##word
#include "cpu/image/decode_typed.h"

#define TYPE       double
#define BITS       uint64_t
#define SWAP       __builtin_bswap64
#define FLOATING   1
#define NAME(word) float64_##word
#include "cpu/image/decode_typed.h"

static const struct {
    DecodeStrip *tiles, *pixels, *masks;
} strips_of[HC_TYPE_COUNT] = {
    [HC_UINT8] = {uint8_tiles, uint8_pixels, uint8_masks},
    [HC_INT8] = {int8_tiles, int8_pixels, int8_masks},
    [HC_UINT16] = {uint16_tiles, uint16_pixels, uint16_masks},
    [HC_INT16] = {int16_tiles, int16_pixels, int16_masks},
    [HC_UINT32] = {uint32_tiles, uint32_pixels, uint32_masks},
    [HC_INT32] = {int32_tiles, int32_pixels, int32_masks},
    [HC_UINT64] = {uint64_tiles, uint64_pixels, uint64_masks},
    [HC_INT64] = {int64_tiles, int64_pixels, int64_masks},
    [HC_FLOAT32] = {float32_tiles, float32_pixels, float32_masks},
    [HC_FLOAT64] = {float64_tiles, float64_pixels, float64_masks},
};

static bool is_floating(HcType type) {
    return type == HC_FLOAT32 || type == HC_FLOAT64;
}

/* For masks of a file that can hold neither nodata nor NaN. */
static void no_strip(const Job *job, const char *from, int32_t pixels, float *to, Seen *seen) {
    (void)job, (void)from, (void)pixels, (void)to, (void)seen;
}

/* Whether the type can hold nodata: -9999 is no uint16, 0.5 no integer. */
static bool can_hold(HcType type, double nodata) {
    switch (type) {
    case HC_FLOAT64:
        return true;
    case HC_FLOAT32:
        return !isfinite(nodata) || fabs(nodata) <= (double)FLT_MAX * (1 + 0x1p-25);
    case HC_UINT8:
    case HC_UINT16:
    case HC_UINT32:
        return nodata == floor(nodata) && nodata >= 0 && nodata < ldexp(1.0, 8 * (int)hc_type_bytes(type));
    /* The largest 64-bit integers are no doubles: the power of two above stands for them. */
    case HC_UINT64:
        return nodata == floor(nodata) && nodata >= 0 && nodata <= 0x1p64;
    case HC_INT64:
        return nodata == floor(nodata) && fabs(nodata) <= 0x1p63;
    default:
        return nodata == floor(nodata) && fabs(nodata + 0.5) < ldexp(1.0, 8 * (int)hc_type_bytes(type) - 1);
    }
}

/* Fills the mask of a strip and counts what is left out. to: NULL = the mask alone. */
static void mask_strip(const Job *job, const uint8_t *user, const Seen *seen, int32_t pixels, float *to,
                       uint8_t *mask, int64_t counts[HC_MASK_REASONS]) {
    int64_t bands = job->out->bands;
    for (int32_t s = 0; s < pixels; s++) {
        bool by_user = user != NULL && user[s] == 0;
        bool by_nodata = job->has_nodata && seen->nodata[s] != 0;
        bool spared = job->keeps && seen->found[s] != 0;
        mask[s] = !by_user && (spared || (!by_nodata && seen->bad[s] == 0));
        if (mask[s] == 0) {
            counts[by_user ? HC_MASK_USER : by_nodata ? HC_MASK_NODATA : HC_MASK_NAN]++;
            if (to != NULL) {
                memset(to + s * bands, 0, (size_t)bands * sizeof *to);
            }
        }
    }
}

/* One strip of one row of the output. */
static void decode_unit(const Job *job, int64_t unit, int64_t counts[HC_MASK_REASONS]) {
    const HcRaw *raw = job->raw;
    const HcBlock *out = job->out;
    int64_t row = unit / job->strips;
    int64_t sample = unit % job->strips * STRIP;
    int32_t pixels = (int32_t)hc_min64(STRIP, out->samples - sample);
    int64_t line = hc_block_first_line(out) + row - raw->line0;
    const char *from = (const char *)raw->data + line * raw->stride_line + sample * raw->stride_sample;
    float *to = job->masks_alone ? NULL : out->data + (row * out->samples + sample) * out->bands;
    uint8_t *mask = out->mask + row * out->samples + sample;
    const uint8_t *user = raw->user_mask != NULL ? raw->user_mask + line * raw->samples + sample : NULL;
    int64_t ignored[HC_MASK_REASONS];
    bool interior = row >= out->above && row < (int64_t)out->above + out->lines;
    Seen seen;
    bool needs_all = job->how->nodata_needs_all_bands && !job->keeps;
    memset(seen.nodata, job->has_nodata && needs_all, sizeof seen.nodata);
    memset(seen.bad, 0, sizeof seen.bad);
    memset(seen.found, 0, sizeof seen.found);
    job->strip(job, from, pixels, to, &seen);
    mask_strip(job, user, &seen, pixels, to, mask, interior ? counts : ignored);
}

static void decode_units(void *user, int64_t unit, int64_t end, int32_t thread) {
    Job *job = user;
    int64_t counts[HC_MASK_REASONS] = {0};
    (void)thread;
    for (; unit < end; unit++) {
        decode_unit(job, unit, counts);
    }
    for (int r = 0; r < HC_MASK_REASONS; r++) {
        atomic_fetch_add(&job->counts[r], counts[r]);
    }
}

static HcStatus check_index(const HcRaw *raw, const HcDecode *how, const HcBlock *out, HcError *err) {
    for (int32_t k = 0; k < out->bands; k++) {
        if (how->band_index[k] < 0 || how->band_index[k] >= raw->bands) {
            return hc_fail(err, HC_E_USAGE, "decode: band %d asked for, the bytes hold 0 to %d",
                           how->band_index[k], raw->bands - 1);
        }
    }
    return HC_OK;
}

/* Whether each pixel's bands lie one after another, in the order asked for. */
static bool consecutive(const HcRaw *raw, const HcDecode *how, int32_t bands) {
    bool yes = raw->stride_band == (int64_t)hc_type_bytes(raw->type);
    for (int32_t k = 1; k < bands && yes; k++) {
        yes = how->band_index[k] == how->band_index[k - 1] + 1;
    }
    return yes;
}

static Job job_of(const HcRaw *raw, const HcDecode *how, const HcBlock *out) {
    Job job = {.raw = raw, .how = how, .out = out};
    job.has_nodata = how->has_nodata && can_hold(raw->type, how->nodata);
    job.keeps = how->keep_missing && (job.has_nodata || is_floating(raw->type));
#ifdef HC_HAS_TRANSPOSE16
    job.by_words = hc_can_transpose16();
    job.by_halves = hc_can_transpose8();
#endif
    job.strips = (out->samples + STRIP - 1) / STRIP;
    job.strip = consecutive(raw, how, out->bands) ? strips_of[raw->type].pixels : strips_of[raw->type].tiles;
    return job;
}

static HcStatus run_job(const HcCpu *cpu, Job *job, HcError *err) {
    HC_OR_RETURN(check_index(job->raw, job->how, job->out, err));
    int64_t units = hc_block_rows(job->out) * job->strips;
    if (cpu != NULL) {
        hc_cpu_work(cpu, units, hc_cpu_grain(cpu, units), decode_units, job);
    } else {
        decode_units(job, 0, units, 0);
    }
    for (int r = 0; r < HC_MASK_REASONS && job->how->counts != NULL; r++) {
        job->how->counts[r] += atomic_load(&job->counts[r]);
    }
    return HC_OK;
}

HcStatus hc_cpu_decode(HcQueue *queue, const HcRaw *raw, const HcDecode *how, const HcBlock *out,
                       HcError *err) {
    Job job = job_of(raw, how, out);
    return run_job(queue->cpu, &job, err);
}

HcStatus hc_cpu_decode_here(const HcRaw *raw, const HcDecode *how, const HcBlock *out, HcError *err) {
    Job job = job_of(raw, how, out);
    return run_job(NULL, &job, err);
}

HcStatus hc_cpu_decode_masks(const HcCpu *cpu, const HcRaw *raw, const HcDecode *how, const HcBlock *out,
                             HcError *err) {
    Job job = job_of(raw, how, out);
    job.masks_alone = true;
    job.strip = job.has_nodata || is_floating(raw->type) ? strips_of[raw->type].masks : no_strip;
    return run_job(cpu, &job, err);
}
