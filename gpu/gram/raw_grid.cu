/* Bytes of float32 to limbs of the sums of a scene and of its noise, as raw.cu does it for integers: each
 * line is read once, comes to the grid once, and stays for the lines beside it. A thread takes four samples
 * of a band; what lies beside them it asks of its neighbours. Warps do not wait for each other: what they
 * see of a tile is put together afterwards. */
#include "gpu/gram/grid.cuh"
#include "gpu/gram/raw.cuh"
#include "gpu/image/decode.cuh"
#include "gpu/shared.cuh"

#include <float.h>

enum {
    RUN = HC_PATCH,                     /* samples of a thread */
    RUN_THREADS = HC_STEP_PIXELS / RUN, /* that share a line of a strip and a band */
    WARP_BANDS = 32 / RUN_THREADS,
    TILE_WARPS = HC_TILE_BANDS / WARP_BANDS, /* whose limbs lie together */
    WARPS = 4,                               /* of a thread block */
    BLOCKS = 5,                              /* of a multiprocessor, at least: what registers allow */
    THREADS = 32 * WARPS,
    BANDS = WARPS * WARP_BANDS, /* of a thread block */
    READ = RUN + 1, /* samples that are read: the last lies beside the strip, for its first and last run */
    AHEAD = 4,      /* lines that are on their way: what a thread reads goes to shared memory first */
    UNIT_LINES = HC_RAW_UNIT_TILES * HC_TILE_STEPS,
    COUNT_WORDS = HC_STEP_PIXELS / 32, /* of a line of a strip */
    SETTLE_THREADS = 128
};

static_assert(UNIT_LINES * (int32_t)COUNT_WORDS == 32, "a word a thread");
static_assert((int32_t)WARP_BANDS == (int32_t)HC_SEEN_BANDS, "a byte a warp");

/* ---- reading ---- */

/* What a thread reads: a run of samples of a band, line by line. */
struct Source {
    const char *at;  /* the run's first sample, of the next line */
    int32_t left;    /* lines after that one */
    int32_t samples; /* of the run that the line has, 0 = there is no such band */
    int32_t beside;  /* bytes from the first sample to that beside the strip; 0 = nobody wants one */
};

__device__ static inline int32_t run_of_thread(void) {
    return (int32_t)threadIdx.x % RUN_THREADS;
}

/* begin: the first line that is read. */
__device__ static inline Source source_of(const HcRawJob &job, int32_t band, int32_t sample, int64_t begin) {
    Source source = {NULL, 0, 0, 0};
    const char *from = sample < job.samples ? hc_raw_band_at(job, band, sample, sizeof(float)) : NULL;
    if (from == NULL) {
        return source;
    }
    const int32_t run = run_of_thread();
    source.at = from + max(begin, -job.above) * job.stride_line;
    source.left = (int32_t)(job.lines + job.below - 1 - begin);
    source.samples = min(job.samples - sample, (int32_t)RUN);
    if (run == 0 && sample > 0) {
        source.beside = -(int32_t)sizeof(float);
    } else if (run == RUN_THREADS - 1 && sample + RUN < job.samples) {
        source.beside = RUN * (int32_t)sizeof(float);
    }
    return source;
}

/* Lines of a warp; each thread reads what it wrote itself. */
typedef uint32_t Lines[AHEAD][READ][32];

/* Samples that are not read: nobody uses them, but NaN among them would be noticed. */
__device__ static inline void clear_lines(const Source &source, Lines lines) {
    const int32_t lane = (int32_t)threadIdx.x % 32;
#pragma unroll
    for (int32_t k = 0; k < AHEAD; k++) {
        for (int32_t s = source.samples; s < RUN; s++) {
            lines[k][s][lane] = 0;
        }
        if (source.beside == 0) {
            lines[k][RUN][lane] = 0;
        }
    }
}

/* Begins to read the next line, of float32. */
__device__ static inline void fetch_line(const Source &source, uint32_t to[READ][32]) {
    const int32_t lane = (int32_t)threadIdx.x % 32;
#pragma unroll
    for (int32_t s = 0; s < RUN; s++) {
        if (s < source.samples) {
            hc_copy_4(&to[s][lane], source.at + s * (int32_t)sizeof(float));
        }
    }
    if (source.beside != 0) {
        hc_copy_4(&to[RUN][lane], source.at + source.beside);
    }
    hc_copies_end();
}

/* The last line is read again where there is no other. */
__device__ static inline void go_on(const HcRawJob &job, Source *source) {
    source->at += source->left > 0 ? job.stride_line : 0;
    source->left--;
}

/* The oldest line that is on its way. */
__device__ static inline void read_line(const uint32_t from[READ][32], bool swap, float x[READ]) {
    hc_copies_wait<AHEAD - 1>();
#pragma unroll
    for (int32_t s = 0; s < READ; s++) {
        x[s] = __uint_as_float(__byte_perm(from[s][threadIdx.x % 32], 0, swap ? 0x0123 : 0x3210));
    }
}

__device__ static inline bool has_hole(const float x[READ]) {
    bool has = false;
#pragma unroll
    for (int32_t s = 0; s < READ; s++) {
        has = has || !(fabsf(x[s]) <= FLT_MAX);
    }
    return has;
}

/* A line on the grid; says where it has NaN or infinity. */
__device__ static inline void line_on_grid(const float x[READ], double center, double scale,
                                           double whole[READ], bool *holes) {
    if (hc_all_on_grid<READ>(x, center, scale, whole) && has_hole(x)) {
        *holes = true;
    }
}

/* ---- differences ---- */

/* A sample on the left of a run: the last one of the neighbour. For all threads of a warp. */
__device__ static inline double left_of(const double x[READ]) {
    const double beside = __shfl_up_sync(0xFFFFFFFFU, x[RUN - 1], 1, RUN_THREADS);
    return run_of_thread() == 0 ? x[RUN] : beside;
}

__device__ static inline double right_of(const double x[READ]) {
    const double beside = __shfl_down_sync(0xFFFFFFFFU, x[0], 1, RUN_THREADS);
    return run_of_thread() == RUN_THREADS - 1 ? x[RUN] : beside;
}

/* Of a line on the grid, with the one below and the sum of the one above and it, in the order of
 * core/operation/gram/gram.h, which float64 is rounded by. For all threads of a warp. */
__device__ static inline void differences(HcDifference kind, const double both[READ], const double here[READ],
                                          const double below[READ], double value[RUN]) {
    if (kind == HC_DIFFERENCE_MEAN3X3) {
        double column[READ];
#pragma unroll
        for (int32_t s = 0; s < READ; s++) {
            column[s] = both[s] + below[s];
        }
        const double left = left_of(column);
        const double right = right_of(column);
#pragma unroll
        for (int32_t s = 0; s < RUN; s++) {
            value[s] = 9 * here[s] -
                       ((s == 0 ? left : column[s - 1]) + column[s] + (s == RUN - 1 ? right : column[s + 1]));
        }
        return;
    }
    double taken[READ];
#pragma unroll
    for (int32_t s = 0; s < READ; s++) {
        taken[s] = kind == HC_DIFFERENCE_SHIFT            ? here[s]
                   : kind == HC_DIFFERENCE_SHIFT_DIAGONAL ? below[s]
                                                          : 0;
    }
    const double right = right_of(taken);
#pragma unroll
    for (int32_t s = 0; s < RUN; s++) {
        value[s] = here[s] - (kind == HC_DIFFERENCE_NONE ? 0 : s == RUN - 1 ? right : taken[s + 1]);
    }
}

/* ---- limbs ---- */

/* What a thread keeps of one of the sums. */
struct Kept {
    double center, scale; /* of its band */
    HcGridSeen seen;      /* fifth: a bit a step */
};

/* The values of a run to limbs, as hc_grid_limbs(). counts: a bit a sample, others 0; limbs: where they go,
 * in panels that are smaller than 4 GiB. */
template <typename Value>
__device__ static inline void add_run(const HcRawPart &part, double moved[RUN], Value value_of,
                                      uint32_t counts, int32_t step, uint32_t limbs, Kept *kept) {
    uint32_t word[HC_LIMBS_GRID];
    int8_t *to = part.to.panel + limbs;
    hc_grid_limbs(moved, counts * 0x00204081U & 0x01010101U, value_of, &kept->seen, word);
#pragma unroll
    for (int32_t limb = 0; limb < HC_LIMBS_GRID - 1; limb++) {
        *(uint32_t *)(to + limb * HC_SIDE_LIMB_BYTES) = word[limb];
    }
    if (word[HC_LIMBS_GRID - 1] != 0) {
        *(uint32_t *)(to + (HC_LIMBS_GRID - 1) * HC_SIDE_LIMB_BYTES) = word[HC_LIMBS_GRID - 1];
        kept->seen.fifth |= 1U << step;
    }
}

/* Bits of a run of a line; word: of those of the unit, as threads have them. For all threads of a warp. */
__device__ static inline uint32_t counts_of(uint32_t word, int32_t line) {
    const uint32_t bit = (uint32_t)(line * HC_STEP_PIXELS + run_of_thread() * RUN);
    return __shfl_sync(0xFFFFFFFFU, word, bit / 32) >> bit % 32;
}

/* A line of a scene. */
__device__ static inline void add_values(const HcRawPart &part, const float x[READ], uint32_t counts,
                                         int32_t step, uint32_t limbs, Kept *kept) {
    double moved[RUN];
#pragma unroll
    for (int32_t s = 0; s < RUN; s++) {
        moved[s] = __fma_rn(__dsub_rn((double)x[s], kept->center), kept->scale, hc_grid_mover);
    }
    add_run(
        part, moved, [&](int32_t s) { return __dmul_rn(__dsub_rn((double)x[s], kept->center), kept->scale); },
        counts, step, limbs, kept);
}

/* A line of its noise. */
__device__ static inline void add_differences(const HcRawPart &part, const double both[READ],
                                              const double here[READ], const double below[READ],
                                              uint32_t counts, int32_t step, uint32_t limbs, Kept *kept) {
    double value[RUN];
    double moved[RUN];
    differences(part.kind, both, here, below, value);
#pragma unroll
    for (int32_t s = 0; s < RUN; s++) {
        moved[s] = __dadd_rn(value[s], hc_grid_mover);
    }
    add_run(
        part, moved, [&](int32_t s) { return value[s]; }, counts, step, limbs, kept);
}

__device__ static inline uint32_t step_bytes(const HcRawPart &part) {
    return (uint32_t)part.to.sides * (HC_LIMBS_GRID * HC_SIDE_LIMB_BYTES);
}

/* Says what a warp saw of a tile; completes its fifth limbs where there are any. limbs: of the step after it.
 */
__device__ static inline void end_tile(const HcRawPart &part, int64_t tile, int32_t warp, uint32_t limbs,
                                       Kept *kept) {
    const uint32_t bits = hc_grid_any(hc_grid_seen_bits(kept->seen));
    if (threadIdx.x % 32 == 0) {
        part.to.seen[tile * (part.to.padded / WARP_BANDS) + warp] = (uint8_t)bits;
    }
    if ((bits & HC_GRID_FIFTH) != 0) {
#pragma unroll
        for (int32_t step = 0; step < HC_TILE_STEPS; step++) {
            if ((kept->seen.fifth >> step & 1) == 0) {
                *(uint32_t *)(part.to.panel + limbs - (HC_TILE_STEPS - step) * step_bytes(part) +
                              (HC_LIMBS_GRID - 1) * HC_SIDE_LIMB_BYTES) = 0;
            }
        }
    }
    kept->seen = {kept->seen.sum, 0, 0, 0, false};
}

/* A unit of a thread block: a strip of 64 samples over some lines. VALUES: part 0 is of values; DIFFERENCES:
 * the last part is of differences, a line after. Each has a grid of its own. */
template <bool VALUES, bool DIFFERENCES>
__device__ static inline void split_unit(const HcRawJob &job, int64_t unit0, int32_t place) {
    const int32_t parts = VALUES + DIFFERENCES;
    __shared__ Lines all_lines[WARPS];
    const int64_t unit = unit0 + place;
    const int64_t strip = unit % job.strips;
    const int64_t line0 = unit / job.strips * job.unit_tiles * HC_TILE_STEPS;
    const int32_t warp = (int32_t)blockIdx.x * WARPS + (int32_t)threadIdx.x / 32;
    const int32_t band = (int32_t)blockIdx.x * BANDS + (int32_t)threadIdx.x / RUN_THREADS;
    const int32_t run = run_of_thread();
    const int64_t begin = line0 - DIFFERENCES;
    const uint32_t step_limbs = step_bytes(job.part[0]);
    Source source = source_of(job, band, (int32_t)strip * HC_STEP_PIXELS + run * RUN, begin);
    const uint32_t there = source.samples > 0 ? 15U : 0;
    uint32_t limbs = (uint32_t)(place * job.unit_tiles * HC_TILE_STEPS) * step_limbs +
                     (uint32_t)hc_panel_at<HC_LIMBS_GRID>(job.part[0].to, 0, band / HC_TILE_BANDS) +
                     (uint32_t)hc_swizzled(band % HC_TILE_BANDS, run / 4) + (uint32_t)(run % 4 * RUN);
    uint32_t(*line_words)[READ][32] = all_lines[threadIdx.x / 32];
    clear_lines(source, line_words);
    fetch_line(source, line_words[0]);
    if (begin >= -job.above) {
        go_on(job, &source);
    } else { /* it was the line after that one */
        source.left--;
    }
#pragma unroll
    for (int32_t k = 1; k < AHEAD; k++) {
        fetch_line(source, line_words[k]);
        go_on(job, &source);
    }
    Kept kept[parts] = {};
    uint32_t counts[parts]; /* a word of a line of the unit, a bit a sample */
    const int64_t line = line0 + threadIdx.x % 32 / COUNT_WORDS;
    const int64_t at = (line * job.strips + strip) * COUNT_WORDS + threadIdx.x % COUNT_WORDS;
#pragma unroll
    for (int32_t p = 0; p < parts; p++) {
        kept[p].center = job.part[p].to.center[band];
        kept[p].scale = job.part[p].to.scale[band];
        counts[p] = line < job.lines ? ((const uint32_t *)job.part[p].counts)[at] : 0;
    }
    float x[READ];
    double both[READ]; /* the sum of the line above and of this one, on the grid of the noise */
    double here[READ];
    uint32_t taken = 0; /* lines that were */
    bool holes = false;
    if constexpr (DIFFERENCES) {
        read_line(line_words[0], job.swap, x);
        line_on_grid(x, kept[VALUES].center, kept[VALUES].scale, both, &holes);
        fetch_line(source, line_words[0]);
        go_on(job, &source);
        taken++;
    }
    read_line(line_words[taken], job.swap, x);
    if constexpr (!DIFFERENCES) {
        holes = has_hole(x);
    } else {
        line_on_grid(x, kept[VALUES].center, kept[VALUES].scale, here, &holes);
#pragma unroll
        for (int32_t s = 0; s < READ; s++) {
            both[s] += here[s];
        }
    }
    if constexpr (VALUES) {
        add_values(job.part[0], x, counts_of(counts[0], 0) & there, 0, limbs, &kept[0]);
    }
    fetch_line(source, line_words[taken++]);
    go_on(job, &source);
    for (int32_t t = 0; t < job.unit_tiles; t++) {
        const int64_t tile = (int64_t)place * job.unit_tiles + t;
#pragma unroll
        for (int32_t step = 0; step < HC_TILE_STEPS; step++) {
            const int32_t step_line = t * HC_TILE_STEPS + step;
            const bool last = step + 1 == HC_TILE_STEPS;
            uint32_t(*words)[32] = line_words[taken++ % AHEAD];
            read_line(words, job.swap, x);
            if constexpr (!DIFFERENCES) {
                holes |= has_hole(x);
            } else {
                double below[READ];
                line_on_grid(x, kept[VALUES].center, kept[VALUES].scale, below, &holes);
                add_differences(job.part[VALUES], both, here, below,
                                counts_of(counts[VALUES], step_line) & there, step, limbs, &kept[VALUES]);
#pragma unroll
                for (int32_t s = 0; s < READ; s++) {
                    both[s] = here[s] + below[s];
                    here[s] = below[s];
                }
            }
            limbs += step_limbs;
            if (last) {
#pragma unroll
                for (int32_t p = 0; p < parts; p++) {
                    end_tile(job.part[p], tile, warp, limbs, &kept[p]);
                }
            }
            if (VALUES && !(last && t + 1 == job.unit_tiles)) {
                add_values(job.part[0], x, counts_of(counts[0], step_line + 1) & there,
                           (step + 1) % HC_TILE_STEPS, limbs, &kept[0]);
            }
            fetch_line(source, words);
            go_on(job, &source);
        }
    }
#pragma unroll
    for (int32_t p = 0; p < parts; p++) {
        hc_raw_end_unit<RUN_THREADS>(job.part[p].to.unsettled, band, kept[p].seen.sum);
    }
    if (holes && job.holes != NULL && atomicCAS(job.holes, HC_HOLES_NONE, HC_HOLES_FOUND) == HC_HOLES_NONE) {
        job.fault->holes = 1;
    }
}

/* Thread block (bands, unit): those of a unit read and write side by side. */
template <bool VALUES, bool DIFFERENCES>
__global__ void __launch_bounds__(THREADS, BLOCKS)
    split_raw_grid(const __grid_constant__ HcRawJob job, int64_t unit0) {
    split_unit<VALUES, DIFFERENCES>(job, unit0, (int32_t)blockIdx.y);
}

/* Thread block (bands, some units): once more, where holes were found. */
template <bool VALUES, bool DIFFERENCES>
__global__ void __launch_bounds__(THREADS, BLOCKS)
    split_raw_grid_again(const __grid_constant__ HcRawJob job, int64_t unit0, int32_t units) {
    if (*job.holes != HC_HOLES_FOUND) {
        return;
    }
    for (int32_t place = (int32_t)blockIdx.y; place < units; place += (int32_t)gridDim.y) {
        split_unit<VALUES, DIFFERENCES>(job, unit0, place);
        hc_copies_wait<0>();
    }
}

/* A thread a tile and 32 bands, in a row of blocks for each part: how many limbs they need. Where a warp had
 * no fifth limb but others had, it is 0 there. And a thread a band: its sum. */
__global__ void __launch_bounds__(SETTLE_THREADS)
    settle(const __grid_constant__ HcRawJob job, int64_t count) {
    const HcExact &to = job.part[blockIdx.y].to;
    const int64_t at = blockIdx.x * (int64_t)SETTLE_THREADS + threadIdx.x;
    for (int64_t b = at; b < to.padded; b += (int64_t)gridDim.x * SETTLE_THREADS) {
        to.sum[b] += to.unsettled[b];
        to.unsettled[b] = 0;
    }
    if (at + blockIdx.y == 0 && job.holes != NULL && *job.holes == HC_HOLES_FOUND) {
        *job.holes = HC_HOLES_MASKED;
    }
    if (at >= count) {
        return;
    }
    const uint8_t *seen = to.seen + at * TILE_WARPS;
    uint32_t bits = 0;
    for (int32_t w = 0; w < TILE_WARPS; w++) {
        bits |= seen[w];
    }
    to.needs[at] = (uint8_t)hc_grid_needs(bits);
    const int32_t blocks = to.padded / HC_TILE_BANDS;
    for (int32_t w = 0; w < TILE_WARPS && (bits & HC_GRID_FIFTH) != 0; w++) {
        for (int32_t step = 0; step < HC_TILE_STEPS && (seen[w] & HC_GRID_FIFTH) == 0; step++) {
            int8_t *limbs =
                to.panel +
                hc_panel_at<HC_LIMBS_GRID>(to, at / blocks * HC_TILE_STEPS + step, (int32_t)(at % blocks)) +
                (HC_LIMBS_GRID - 1) * HC_SIDE_LIMB_BYTES + w * WARP_BANDS * HC_STEP_PIXELS;
            for (int32_t i = 0; i < WARP_BANDS * HC_STEP_PIXELS / 16; i++) {
                ((uint4 *)limbs)[i] = make_uint4(0, 0, 0, 0);
            }
        }
    }
}

/* ---- the operation ---- */

/* Thread blocks for the bands of a unit. */
static unsigned blocks_of(const HcRawJob *job) {
    return (unsigned)(job->part[0].to.padded / BANDS);
}

HcStatus hc_raw_grid_split(HcQueue *queue, const HcRawJob *job, int32_t count, int64_t unit0, int64_t units,
                           HcError *err) {
    const dim3 grid(blocks_of(job), (unsigned)units);
    if (count == 2) {
        split_raw_grid<true, true><<<grid, THREADS, 0, queue->stream>>>(*job, unit0);
    } else if (job->part[0].kind == HC_DIFFERENCE_NONE) {
        split_raw_grid<true, false><<<grid, THREADS, 0, queue->stream>>>(*job, unit0);
    } else {
        split_raw_grid<false, true><<<grid, THREADS, 0, queue->stream>>>(*job, unit0);
    }
    return hc_gpu_launched("taking bytes of floats apart", err);
}

HcStatus hc_raw_grid_split_again(HcQueue *queue, const HcRawJob *job, int32_t count, int64_t unit0,
                                 int64_t units, HcError *err) {
    /* Few blocks: mostly they have nothing to do. */
    const int64_t across = hc_div_up((int64_t)BLOCKS * queue->gpu->processors, blocks_of(job));
    const dim3 grid(blocks_of(job), (unsigned)hc_min64(units, across));
    if (count == 2) {
        split_raw_grid_again<true, true><<<grid, THREADS, 0, queue->stream>>>(*job, unit0, (int32_t)units);
    } else if (job->part[0].kind == HC_DIFFERENCE_NONE) {
        split_raw_grid_again<true, false><<<grid, THREADS, 0, queue->stream>>>(*job, unit0, (int32_t)units);
    } else {
        split_raw_grid_again<false, true><<<grid, THREADS, 0, queue->stream>>>(*job, unit0, (int32_t)units);
    }
    return hc_gpu_launched("taking bytes of floats apart", err);
}

HcStatus hc_raw_grid_settle(HcQueue *queue, const HcRawJob *job, int32_t count, int64_t unit0, int64_t units,
                            HcError *err) {
    const int64_t settled = units * job->unit_tiles * (job->part[0].to.padded / HC_TILE_BANDS);
    const dim3 grid((unsigned)hc_div_up(settled, SETTLE_THREADS), (unsigned)count);
    settle<<<grid, SETTLE_THREADS, 0, queue->stream>>>(*job, settled);
    HC_OR_RETURN(hc_gpu_launched("taking bytes of floats apart", err));
    return hc_far_add_raw(queue, job, count, unit0, units, err);
}
