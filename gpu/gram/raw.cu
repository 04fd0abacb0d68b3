/* Raw bytes to sums.
 *
 * Integers of 8 and 16 bits and float32 whose samples lie side by side (BIL, BSQ) go to limbs without a block
 * between: panels are band-major too, so that nothing is turned. Floats are in raw_grid.cu. Masks are made
 * first, then for each of the sums a bit a pixel, whether it counts. Then one kernel reads each line once,
 * keeps three of them in registers, and writes limbs of two sums, those of the scene and of its noise. A tile
 * is 64 samples of two lines; the order of pixels does not matter to exact sums. All else is decoded first.
 *
 * Masks of floats would read the file once more, to find NaN and infinity. So pixels count at first unless
 * the user's mask leaves them out. Kernels that make limbs notice what is not finite; where they do, kernels
 * that mostly have nothing to do make the masks and then these limbs again.
 */
#include "core/operation/gram/gram_raw.h"
#include "gpu/gram/raw.cuh"
#include "gpu/image/decode.cuh"

HcDecodeFn hc_gpu_decode;
HcGramRawFn hc_gpu_gram_raw;

enum {
    THREADS = 256,
    RUN = 8,                            /* samples of a thread, of one band */
    RUN_THREADS = HC_STEP_PIXELS / RUN, /* that share a line of a strip and a band */
    AROUND = RUN + 2,                   /* samples with their neighbours */
    UNIT_LINES = HC_RAW_UNIT_TILES * HC_TILE_STEPS
};

/* ---- which pixels count ---- */

/* Of one of the sums. */
struct MarkPart {
    HcGramJob job;
    uint32_t *counts; /* as those of HcRawPart */
    int64_t *count, *unsettled;
    int32_t padded;
};

struct MarkJob {
    MarkPart part[HC_RAW_PAIR];
    int64_t strips;
    const int32_t *holes; /* marks again where they were found; NULL = for the first time */
};

/* Thread block (line, samples, part): a warp 32 samples, a word of bits for each. Marking again forgets what
 * was summed with holes. */
__global__ void __launch_bounds__(THREADS) mark(const __grid_constant__ MarkJob marks) {
    const MarkPart &part = marks.part[blockIdx.z];
    const HcGramJob &job = part.job;
    const bool again = marks.holes != NULL;
    const int64_t line = blockIdx.x;
    const int32_t sample = (int32_t)(blockIdx.y * THREADS + threadIdx.x);
    if (again && *marks.holes != HC_HOLES_FOUND) {
        return;
    }
    for (int32_t b = (int32_t)threadIdx.x; again && blockIdx.x + blockIdx.y == 0 && b < part.padded;
         b += THREADS) {
        part.unsettled[b] = 0;
    }
    const bool ok =
        sample < job.in.samples && hc_difference_valid(job.in, job.kind, job.first_row + line, sample,
                                                       job.top, job.bottom, job.left, job.right);
    uint32_t *word = part.counts + (line * marks.strips * HC_STEP_PIXELS + sample) / 32;
    const bool there = sample < marks.strips * HC_STEP_PIXELS;
    const bool was = again && there && (*word >> sample % 32 & 1) != 0;
    const uint32_t bits = __ballot_sync(0xFFFFFFFFU, ok);
    if (threadIdx.x % 32 == 0 && there) {
        *word = bits;
    }
    const int64_t more = __syncthreads_count(ok) - __syncthreads_count(was);
    if (threadIdx.x == 0 && more != 0) {
        atomicAdd((unsigned long long *)part.count, (unsigned long long)more);
    }
}

/* ---- reading ---- */

/* AROUND values as they lie in the file, from a bit of the first word on. They are looked at when the next
 * ones have been asked for. */
template <typename T> struct Words {
    enum { COUNT = (AROUND * sizeof(T) + 3) / 4 + 1 };
    uint32_t word[COUNT], bit;
};

/* Bytes outside of the file are 0. */
__device__ static inline uint32_t careful_word(const HcRawJob &job, const char *at) {
    uint32_t word = 0;
#pragma unroll 1
    for (int32_t i = 0; i < 4; i++) {
        if (at + i >= job.low && at + i < job.high) {
            word |= (uint32_t)(uint8_t)at[i] << 8 * i;
        }
    }
    return word;
}

/* Where a thread's line begins, one sample in front of its run. */
template <typename T>
__device__ static inline const char *line_at(const HcRawJob &job, const char *band, int64_t line) {
    return band + line * job.stride_line - (int64_t)sizeof(T);
}

__device__ static inline bool is_there(const HcRawJob &job, const char *band, int64_t line) {
    return band != NULL && line >= -job.above && line < job.lines + job.below;
}

/* Whether a line is there, and all its words lie in the file. */
template <typename T>
__device__ static inline bool is_inside(const HcRawJob &job, const char *band, int64_t line) {
    const char *at = line_at<T>(job, band, line);
    const char *first = at - ((uintptr_t)at & 3);
    return is_there(job, band, line) && first >= job.low && first + 4 * Words<T>::COUNT <= job.high;
}

/* A line of a thread's band, from one sample in front of its run to one after; 0 where there is none. inside:
 * is_inside() is known. */
template <typename T>
__device__ static inline Words<T> load_line(const HcRawJob &job, const char *band, int64_t line,
                                            bool inside) {
    const char *at = line_at<T>(job, band, line);
    const uint32_t *first = (const uint32_t *)(at - ((uintptr_t)at & 3));
    Words<T> words = {{}, 8 * ((uint32_t)(uintptr_t)at & 3)};
    if (inside || is_inside<T>(job, band, line)) {
#pragma unroll
        for (int32_t w = 0; w < Words<T>::COUNT; w++) {
            words.word[w] = __ldg(first + w);
        }
    } else if (is_there(job, band, line)) {
#pragma unroll
        for (int32_t w = 0; w < Words<T>::COUNT; w++) {
            words.word[w] = careful_word(job, (const char *)(first + w));
        }
    }
    return words;
}

template <typename T>
__device__ static inline void values_of(const Words<T> &words, bool swap, int32_t value[AROUND]) {
    uint32_t aligned[Words<T>::COUNT - 1];
#pragma unroll
    for (int32_t w = 0; w < Words<T>::COUNT - 1; w++) {
        aligned[w] = __funnelshift_r(words.word[w], words.word[w + 1], words.bit);
    }
#pragma unroll
    for (int32_t s = 0; s < AROUND; s++) {
        const uint32_t word = aligned[s * sizeof(T) / 4];
        if constexpr (sizeof(T) == 1) {
            value[s] = (T)(word >> 8 * (s % 4));
        } else {
            value[s] = (T)__byte_perm(word, 0,
                                      s % 2 == 0 ? (swap ? 0x4401 : 0x4410)
                                      : swap     ? 0x4423
                                                 : 0x4432);
        }
    }
}

/* ---- differences ---- */

/* Three lines of a run of samples of a band, with a neighbour on each side. */
struct Lines {
    int32_t above[AROUND], here[AROUND], below[AROUND];
};

__device__ static inline void differences(const Lines &lines, HcDifference kind, int32_t value[RUN]) {
    if (kind == HC_DIFFERENCE_MEAN3X3) {
        int32_t column[AROUND];
#pragma unroll
        for (int32_t s = 0; s < AROUND; s++) {
            column[s] = lines.above[s] + lines.here[s] + lines.below[s];
        }
#pragma unroll
        for (int32_t s = 0; s < RUN; s++) {
            value[s] = 9 * lines.here[s + 1] - (column[s] + column[s + 1] + column[s + 2]);
        }
        return;
    }
#pragma unroll
    for (int32_t s = 0; s < RUN; s++) {
        value[s] = lines.here[s + 1];
    }
    if (kind != HC_DIFFERENCE_NONE) {
#pragma unroll
        for (int32_t s = 0; s < RUN; s++) {
            value[s] -= kind == HC_DIFFERENCE_SHIFT ? lines.here[s + 2] : lines.below[s + 2];
        }
    }
}

/* ---- limbs ---- */

/* What a thread keeps of one of the sums. */
struct Kept {
    int8_t *to;                             /* where its limbs of the next step go: RUN bytes of a row */
    int32_t sum;                            /* of a unit: 128 values below 2^21 */
    uint32_t seen;                          /* bits of the third limbs of a tile */
    uint32_t third[HC_TILE_STEPS][RUN / 4]; /* limbs, until it is known whether somebody needs them */
};

__device__ static inline int64_t step_bytes(const HcExact &to) {
    return (int64_t)to.sides * (HC_LIMBS_INTEGERS * HC_SIDE_LIMB_BYTES);
}

/* For the first tile of the unit of the thread block. */
__device__ static inline Kept kept_of(const HcRawJob &job, const HcExact &to) {
    const int32_t band = (int32_t)threadIdx.x / RUN_THREADS;
    const int32_t run = (int32_t)threadIdx.x % RUN_THREADS;
    const int64_t step = (int64_t)blockIdx.y * job.unit_tiles * HC_TILE_STEPS;
    return {to.panel + hc_panel_at<HC_LIMBS_INTEGERS>(to, step, (int32_t)blockIdx.x) +
                hc_swizzled(band, run / 2) + run % 2 * RUN,
            0,
            0,
            {}};
}

/* Values that count must keep the promise. */
__device__ static inline void check_values(const HcRawJob &job, const HcRawPart &part,
                                           const int32_t value[RUN], uint32_t counts) {
    int32_t wrong = 0;
#pragma unroll
    for (int32_t s = 0; s < RUN; s++) {
        wrong = (counts >> s & 1) != 0 && abs(value[s]) > (int32_t)part.limit ? value[s] : wrong;
    }
    if (wrong != 0) {
        hc_raise(job.fault, HC_E_NUMERIC, HC_FAULT_PROMISE, (double)wrong, part.limit);
    }
}

/* The values of a run to limbs; counts: a bit a sample. */
__device__ static inline void take_apart(const HcRawPart &part, const int32_t value[RUN], uint32_t counts,
                                         Kept *kept, uint32_t word[RUN / 4][HC_LIMBS_INTEGERS]) {
    const uint32_t mover = hc_limb_mover - (uint32_t)part.to.offset;
#pragma unroll
    for (int32_t w = 0; w < RUN / 4; w++) {
        const uint32_t taken = ((counts >> 4 * w & 15) * 0x00204081U & 0x01010101U) * 0xFFU;
        uint32_t moved[4];
#pragma unroll
        for (int32_t s = 0; s < 4; s++) {
            moved[s] = (uint32_t)value[4 * w + s] + mover;
        }
        kept->sum += hc_take_limbs(moved, taken, word[w]);
        kept->seen |= word[w][2];
    }
}

/* One line of a tile. LARGEST: of values of the type. */
template <int32_t LARGEST>
__device__ static inline void add_line(const HcRawJob &job, const HcRawPart &part, const Lines &lines,
                                       uint32_t counts, int32_t step, Kept *kept) {
    int32_t value[RUN];
    uint32_t word[RUN / 4][HC_LIMBS_INTEGERS];
    differences(lines, part.kind, value);
    if (part.limit < (part.kind == HC_DIFFERENCE_NONE ? LARGEST : 16 * LARGEST)) {
        check_values(job, part, value, counts);
    }
    take_apart(part, value, counts, kept, word);
    *(uint2 *)kept->to = make_uint2(word[0][0], word[1][0]);
    *(uint2 *)(kept->to + HC_SIDE_LIMB_BYTES) = make_uint2(word[0][1], word[1][1]);
    kept->third[step][0] = word[0][2];
    kept->third[step][1] = word[1][2];
    kept->to += step_bytes(part.to);
}

/* How many limbs the tile needs; writes the third where it does. For all threads. */
__device__ static inline void end_tile(const HcRawPart &part, int64_t tile, Kept *kept) {
    const bool third = __syncthreads_or(kept->seen != 0) != 0;
    if (threadIdx.x == 0) {
        part.to.needs[tile * gridDim.x + blockIdx.x] = third ? HC_LIMBS_INTEGERS : HC_LIMBS_MIN;
    }
#pragma unroll
    for (int32_t step = 0; step < HC_TILE_STEPS && third; step++) {
        *(uint2 *)(kept->to - (HC_TILE_STEPS - step) * step_bytes(part.to) + 2 * HC_SIDE_LIMB_BYTES) =
            make_uint2(kept->third[step][0], kept->third[step][1]);
    }
    kept->seen = 0;
}

/* Thread block (32 bands, unit): a strip of 64 samples over some lines. PARTS: sums that are added to. */
template <typename T, int PARTS>
__global__ void __launch_bounds__(THREADS, 3) split_raw(const __grid_constant__ HcRawJob job, int64_t unit0) {
    const int32_t LARGEST = (1 << (8 * sizeof(T) - ((T)-1 < 0 ? 1 : 0))) - ((T)-1 < 0 ? 0 : 1);
    __shared__ uint8_t counts[PARTS][UNIT_LINES][RUN_THREADS]; /* a bit a sample */
    const int64_t unit = unit0 + blockIdx.y;
    const int64_t strip = unit % job.strips;
    const int64_t line0 = unit / job.strips * job.unit_tiles * HC_TILE_STEPS;
    const int32_t run = (int32_t)threadIdx.x % RUN_THREADS;
    const int32_t band = (int32_t)blockIdx.x * HC_TILE_BANDS + (int32_t)threadIdx.x / RUN_THREADS;
    const int64_t sample = strip * HC_STEP_PIXELS + run * RUN;
    const char *from = sample < job.samples ? hc_raw_band_at(job, band, sample, sizeof(T)) : NULL;
    const uint32_t there = from != NULL ? 0xFFU : 0;
    Kept kept[PARTS];
    Lines lines;
    const bool inside = is_inside<T>(job, from, line0 - 1) &&
                        is_inside<T>(job, from, line0 + job.unit_tiles * HC_TILE_STEPS + 1);
    values_of<T>(load_line<T>(job, from, line0 - 1, inside), job.swap, lines.above);
    values_of<T>(load_line<T>(job, from, line0, inside), job.swap, lines.here);
    Words<T> next = load_line<T>(job, from, line0 + 1, inside);
#pragma unroll
    for (int32_t p = 0; p < PARTS; p++) {
        kept[p] = kept_of(job, job.part[p].to);
        for (int32_t i = (int32_t)threadIdx.x; i < UNIT_LINES * RUN_THREADS; i += THREADS) {
            const int64_t line = line0 + i / RUN_THREADS;
            counts[p][i / RUN_THREADS][i % RUN_THREADS] =
                line < job.lines
                    ? job.part[p].counts[(line * job.strips + strip) * RUN_THREADS + i % RUN_THREADS]
                    : 0;
        }
    }
    __syncthreads();
    for (int32_t t = 0; t < job.unit_tiles; t++) {
#pragma unroll
        for (int32_t step = 0; step < HC_TILE_STEPS; step++) {
            const int32_t line = t * HC_TILE_STEPS + step;
            values_of<T>(next, job.swap, lines.below);
            next = load_line<T>(job, from, line0 + line + 2, inside);
#pragma unroll
            for (int32_t p = 0; p < PARTS; p++) {
                add_line<LARGEST>(job, job.part[p], lines, counts[p][line][run] & there, step, &kept[p]);
            }
#pragma unroll
            for (int32_t s = 0; s < AROUND; s++) {
                lines.above[s] = lines.here[s];
                lines.here[s] = lines.below[s];
            }
        }
#pragma unroll
        for (int32_t p = 0; p < PARTS; p++) {
            end_tile(job.part[p], (int64_t)blockIdx.y * job.unit_tiles + t, &kept[p]);
        }
    }
#pragma unroll
    for (int32_t p = 0; p < PARTS; p++) {
        hc_raw_end_unit<RUN_THREADS>(job.part[p].to.sum, band, kept[p].sum);
    }
}

/* ---- the operation ---- */

static int64_t strips_of(const HcBlock *block) {
    return hc_div_up(block->samples, HC_STEP_PIXELS);
}

/* Equal units, so that few tiles lie below the last line. */
static int32_t unit_tiles_of(const HcBlock *block) {
    const int64_t tiles = hc_div_up(block->lines, HC_TILE_STEPS);
    return (int32_t)hc_div_up(tiles, hc_div_up(tiles, HC_RAW_UNIT_TILES));
}

/* Whether each float32 lies at a multiple of its bytes. */
static bool is_aligned(const HcRaw *raw) {
    const int64_t all = (int64_t)(uintptr_t)raw->data | raw->stride_line | raw->stride_band;
    return all % (int64_t)sizeof(float) == 0;
}

/* Whether bytes become limbs at once. Narrow scenes would leave most of a strip empty, and the memory of the
 * block has room for the bits of each pixel where a line fills a strip. */
static bool takes_bytes(const HcRaw *raw, const HcDecode *how, const HcBlock *block, const HcGramPart *part) {
    const HcSums *sums = part->sums;
    const bool small =
        raw->type == HC_UINT8 || raw->type == HC_INT8 || raw->type == HC_UINT16 || raw->type == HC_INT16;
    const bool fits = sums->on_grid ? raw->type == HC_FLOAT32 && is_aligned(raw) : small;
    return fits && !how->keep_missing && part->kind != HC_DIFFERENCE_MEDIAN3X3 &&
           raw->stride_sample == (int64_t)hc_type_bytes(raw->type) && block->samples >= HC_STEP_PIXELS &&
           sums->exact.panel_tiles >= HC_RAW_UNIT_TILES && (uintptr_t)block->data % sizeof(uint32_t) == 0;
}

static HcRawJob make_job(HcQueue *queue, const HcRaw *raw, const HcDecode *how, const HcBlock *block) {
    HcRawJob job = {};
    const int64_t row = block->line0 - raw->line0;
    const int64_t line = (raw->lines - 1) * raw->stride_line;
    const int64_t band = (raw->bands - 1) * raw->stride_band;
    const char *data = (const char *)raw->data;
    job.data = data + row * raw->stride_line;
    job.low = data + hc_min64(line, 0) + hc_min64(band, 0);
    job.high = data + hc_max64(line, 0) + hc_max64(band, 0) + raw->samples * raw->stride_sample;
    job.stride_line = raw->stride_line;
    job.stride_band = raw->stride_band;
    job.above = row;
    job.below = raw->lines - row - block->lines;
    job.lines = block->lines;
    job.strips = strips_of(block);
    job.index = how->band_index;
    job.bands = block->bands;
    job.stored = raw->bands;
    job.samples = block->samples;
    job.unit_tiles = unit_tiles_of(block);
    job.swap = raw->swap;
    job.fault = queue->fault_device;
    return job;
}

template <typename T>
static void launch_type(HcQueue *queue, const HcRawJob *job, int32_t count, int64_t unit0, int64_t units) {
    const dim3 grid((unsigned)(job->part[0].to.padded / HC_TILE_BANDS), (unsigned)units);
    if (count == 1) {
        split_raw<T, 1><<<grid, THREADS, 0, queue->stream>>>(*job, unit0);
    } else {
        split_raw<T, 2><<<grid, THREADS, 0, queue->stream>>>(*job, unit0);
    }
}

static HcStatus launch_split(HcQueue *queue, HcType type, const HcRawJob *job, int32_t count, int64_t unit0,
                             int64_t units, HcError *err) {
    switch (type) {
    case HC_UINT8:
        launch_type<uint8_t>(queue, job, count, unit0, units);
        break;
    case HC_INT8:
        launch_type<int8_t>(queue, job, count, unit0, units);
        break;
    case HC_UINT16:
        launch_type<uint16_t>(queue, job, count, unit0, units);
        break;
    default:
        launch_type<int16_t>(queue, job, count, unit0, units);
        break;
    }
    return hc_gpu_launched("taking bytes apart", err);
}

/* What masks are made of. */
struct Origin {
    const HcRaw *raw;
    const HcDecode *how;
    const HcBlock *block;
};

/* Which pixels count, to the memory of the block; holes: as in MarkJob. */
static HcStatus mark_parts(HcQueue *queue, const HcBlock *block, const HcGramPart *parts, int32_t count,
                           const HcRawJob *job, const int32_t *holes, HcError *err) {
    MarkJob marks = {};
    const dim3 grid((unsigned)block->lines, (unsigned)hc_div_up(job->strips * HC_STEP_PIXELS, THREADS),
                    (unsigned)count);
    marks.strips = job->strips;
    marks.holes = holes;
    for (int32_t p = 0; p < count; p++) {
        const HcExact *exact = &parts[p].sums->exact;
        marks.part[p] = {hc_gram_job(block, parts[p].kind, parts[p].window), (uint32_t *)job->part[p].counts,
                         exact->count, exact->unsettled, exact->padded};
    }
    mark<<<grid, THREADS, 0, queue->stream>>>(marks);
    return hc_gpu_launched("marking pixels", err);
}

/* Floats, as if none were missing; where some are, once more. */
static HcStatus split_floats(HcQueue *queue, const Origin *origin, const HcRawJob *job,
                             const HcGramPart *parts, int32_t count, int64_t unit0, int64_t units,
                             HcError *err) {
    HC_OR_RETURN(hc_raw_grid_split(queue, job, count, unit0, units, err));
    if (job->holes != NULL) {
        HC_OR_RETURN(
            hc_gpu_decode_other_masks(queue, origin->raw, origin->how, origin->block, job->holes, err));
        HC_OR_RETURN(mark_parts(queue, origin->block, parts, count, job, job->holes, err));
        HC_OR_RETURN(hc_raw_grid_split_again(queue, job, count, unit0, units, err));
    }
    return hc_raw_grid_settle(queue, job, count, unit0, units, err);
}

/* All units of the block to one or two sums. */
static HcStatus add_pair(HcQueue *queue, const Origin *origin, HcRawJob *job, const HcGramPart *parts,
                         int32_t count, HcError *err) {
    const HcType type = origin->raw->type;
    const int64_t units = job->strips * hc_div_up(job->lines, job->unit_tiles * HC_TILE_STEPS);
    for (int64_t unit = 0; unit < units;) {
        int64_t tiles = (units - unit) * job->unit_tiles;
        for (int32_t p = 0; p < count; p++) {
            HC_OR_RETURN(hc_exact_reserve(queue, parts[p].sums, job->unit_tiles, &tiles, err));
            job->part[p].to = hc_exact_behind(parts[p].sums);
        }
        const int64_t now = tiles / job->unit_tiles;
        HC_OR_RETURN(type == HC_FLOAT32 ? split_floats(queue, origin, job, parts, count, unit, now, err)
                                        : launch_split(queue, type, job, count, unit, now, err));
        for (int32_t p = 0; p < count; p++) {
            hc_exact_filled(parts[p].sums, now * job->unit_tiles);
        }
        unit += now;
    }
    return HC_OK;
}

/* The first parts that one kernel adds to; returns how many. Of floats these are values and differences, in
 * this order: each has a grid of its own. */
static int32_t choose_pair(bool floats, const HcGramPart *parts, int32_t count,
                           HcGramPart pair[HC_RAW_PAIR]) {
    pair[0] = parts[0];
    if (count < HC_RAW_PAIR) {
        return 1;
    }
    pair[1] = parts[1];
    const bool values[HC_RAW_PAIR] = {pair[0].kind == HC_DIFFERENCE_NONE, pair[1].kind == HC_DIFFERENCE_NONE};
    if (floats && values[1] && !values[0]) {
        pair[0] = parts[1];
        pair[1] = parts[0];
    }
    return floats && values[0] == values[1] ? 1 : HC_RAW_PAIR;
}

/* Masks of floats would need all values, to find NaN and infinity. Until a queue had some, none are expected:
 * they are noticed when values become limbs. */
static bool expects_no_holes(const HcQueue *queue, const HcRaw *raw, const HcDecode *how) {
    return raw->type == HC_FLOAT32 && !how->has_nodata &&
           ((const volatile HcFault *)queue->fault)->holes == 0;
}

static HcStatus by_bytes(HcQueue *queue, const HcRaw *raw, const HcDecode *how, const HcBlock *block,
                         const HcGramPart *parts, int32_t count, HcError *err) {
    const Origin origin = {raw, how, block};
    HcRawJob job = make_job(queue, raw, how, block);
    const int64_t words = job.lines * job.strips * HC_STEP_PIXELS / 32;
    if (expects_no_holes(queue, raw, how)) {
        job.holes = (int32_t *)block->data + HC_RAW_PAIR * words;
        HC_OR_RETURN(hc_gpu_decode_user_masks(queue, raw, how, block, job.holes, err));
    } else {
        HC_OR_RETURN(hc_gpu_decode_masks(queue, raw, how, block, err));
    }
    int32_t now = 0;
    for (int32_t p = 0; p < count; p += now) {
        HcGramPart pair[HC_RAW_PAIR];
        now = choose_pair(raw->type == HC_FLOAT32, parts + p, count - p, pair);
        for (int32_t k = 0; k < now; k++) {
            job.part[k].kind = pair[k].sums->kind = pair[k].kind;
            job.part[k].limit = pair[k].sums->limit;
            job.part[k].counts = (const uint8_t *)((uint32_t *)block->data + k * words);
        }
        HC_OR_RETURN(mark_parts(queue, block, pair, now, &job, NULL, err));
        HC_OR_RETURN(add_pair(queue, &origin, &job, pair, now, err));
    }
    return HC_OK;
}

static HcStatus by_block(HcQueue *queue, const HcRaw *raw, const HcDecode *how, const HcBlock *block,
                         const HcGramPart *parts, int32_t count, HcError *err) {
    HC_OR_RETURN(hc_gpu_decode(queue, raw, how, block, err));
    for (int32_t p = 0; p < count; p++) {
        HC_OR_RETURN(hc_gpu_gram(queue, block, parts[p].kind, parts[p].window, parts[p].sums, err));
    }
    return HC_OK;
}

HcStatus hc_gpu_gram_raw(HcQueue *queue, const HcRaw *raw, const HcDecode *how, const HcBlock *block,
                         const HcGramPart *parts, int32_t count, HcError *err) {
    HC_OR_RETURN(hc_gpu_use(queue->gpu, err));
    for (int32_t p = 0; p < count; p++) {
        if (!takes_bytes(raw, how, block, &parts[p])) {
            return by_block(queue, raw, how, block, parts, count, err);
        }
    }
    return by_bytes(queue, raw, how, block, parts, count, err);
}
