/* Bytes of float32 to limbs of the sums of a scene and of its noise, as raw.cu does it for integers: each
 * line is read once, comes to the grid once, and stays for the lines beside it. A thread takes four samples
 * of a band, so that three lines of float64 fit its registers. Of five limbs the first four are written at
 * once; the last is kept until it is known whether the tile needs it. */
#include "gpu/gram/grid.cuh"
#include "gpu/gram/raw.cuh"

enum {
    RUN = HC_PATCH,                     /* samples of a thread */
    RUN_THREADS = HC_STEP_PIXELS / RUN, /* that share a line of a strip and a band */
    THREADS = HC_TILE_BANDS * RUN_THREADS,
    WARPS = THREADS / 32,
    AROUND = RUN + 2,     /* samples with their neighbours */
    AHEAD = HC_TILE_STEPS /* lines that are on their way */
};

/* ---- reading ---- */

/* What a thread reads: a run of samples of a band, from one sample in front of it to one behind. */
struct Source {
    const char *from;    /* the run's first sample, of the first interior line; NULL = there is none */
    int64_t first, last; /* lines that the file has */
    bool inside;         /* so are the samples around the run, in each line of the unit */
};

__device__ static inline Source source_of(const HcRawJob &job, int32_t band, int64_t sample, int64_t line0) {
    Source source = {NULL, -job.above, job.lines + job.below - 1, false};
    source.from = sample < job.samples ? hc_raw_band_at(job, band, sample, sizeof(float)) : NULL;
    const char *top = source.from + max(line0 - 1, source.first) * job.stride_line;
    const int64_t end = line0 + (int64_t)job.unit_tiles * HC_TILE_STEPS + AHEAD;
    const char *bottom = source.from + min(end, source.last) * job.stride_line;
    const char *low = top < bottom ? top : bottom;
    const char *high = top < bottom ? bottom : top;
    source.inside = source.from != NULL && low - sizeof(float) >= job.low &&
                    high + (AROUND - 1) * sizeof(float) <= job.high;
    return source;
}

/* A line as float32. Where the file has no such line or sample, it is one that nobody uses. */
__device__ static inline void load_line(const HcRawJob &job, const Source &source, int64_t line,
                                        uint32_t word[AROUND]) {
    const char *first =
        source.from + min(max(line, source.first), source.last) * job.stride_line - sizeof(float);
    if (source.inside) {
#pragma unroll
        for (int32_t s = 0; s < AROUND; s++) {
            word[s] = __ldg((const uint32_t *)first + s);
        }
        return;
    }
#pragma unroll
    for (int32_t s = 0; s < AROUND; s++) {
        const char *at = first + s * sizeof(float);
        word[s] = source.from != NULL && at >= job.low && at < job.high ? __ldg((const uint32_t *)at) : 0;
    }
}

/* ---- limbs ---- */

/* What a thread keeps of one of the sums. */
struct Kept {
    double center, scale;  /* of its band */
    const uint8_t *counts; /* of its samples, in the line after the next */
    uint32_t next;         /* what they are in the next one */
    int8_t *to;            /* of its limbs, in the next step */
    HcGridSeen seen;
    uint32_t fifth[HC_TILE_STEPS];
};

__device__ static inline Kept begin_unit(const HcRawJob &job, const HcRawPart &part, int32_t band,
                                         int64_t strip, int64_t line0, bool there) {
    const int32_t run = (int32_t)threadIdx.x % RUN_THREADS;
    const int64_t step = (int64_t)blockIdx.x * job.unit_tiles * HC_TILE_STEPS;
    Kept kept = {};
    kept.center = part.to.center[band];
    kept.scale = part.to.scale[band];
    kept.counts = part.counts + (line0 * job.strips + strip) * (HC_STEP_PIXELS / 8) + run / 2;
    kept.next = there ? *kept.counts : 0;
    kept.counts += job.strips * (HC_STEP_PIXELS / 8);
    kept.to = part.to.panel + hc_panel_at<HC_LIMBS_GRID>(part.to, step, (int32_t)blockIdx.y) +
              hc_swizzled((int32_t)threadIdx.x / RUN_THREADS, run / 4) + run % 4 * RUN;
    return kept;
}

/* The next line of a run to limbs. follows: it has another one. */
__device__ static inline void add_run(const HcRawJob &job, const HcRawPart &part, const double value[RUN],
                                      bool follows, int32_t step, Kept *kept) {
    uint32_t word[HC_LIMBS_GRID];
    const uint32_t bits = kept->next >> threadIdx.x % 2 * RUN & 15U;
    kept->next = follows ? *kept->counts : 0;
    kept->counts += job.strips * (HC_STEP_PIXELS / 8);
    hc_grid_limbs(value, bits * 0x00204081U & 0x01010101U, &kept->seen, word);
#pragma unroll
    for (int32_t limb = 0; limb < HC_LIMBS_GRID - 1; limb++) {
        *(uint32_t *)(kept->to + limb * HC_SIDE_LIMB_BYTES) = word[limb];
    }
    kept->fifth[step] = word[HC_LIMBS_GRID - 1];
    kept->to += (int64_t)part.to.sides * (HC_LIMBS_GRID * HC_SIDE_LIMB_BYTES);
}

/* How many limbs the tile needs; writes the fifth where it does. For all threads, after a barrier behind what
 * each warp needs. */
__device__ static inline void end_tile(const HcRawPart &part, int64_t tile, const uint8_t needs_by[WARPS],
                                       Kept *kept) {
    int32_t needs = HC_LIMBS_LEAST;
    int32_t far = 0;
    for (int32_t w = 0; w < WARPS; w++) {
        needs = max(needs, needs_by[w] & ~HC_NEEDS_FAR);
        far |= needs_by[w] & HC_NEEDS_FAR;
    }
    if (threadIdx.x == 0) {
        part.to.needs[tile * gridDim.y + blockIdx.y] = (uint8_t)(needs | far);
    }
    const int64_t step_bytes = (int64_t)part.to.sides * (HC_LIMBS_GRID * HC_SIDE_LIMB_BYTES);
#pragma unroll
    for (int32_t step = 0; step < HC_TILE_STEPS && needs == HC_LIMBS_GRID; step++) {
        *(uint32_t *)(kept->to - (HC_TILE_STEPS - step) * step_bytes +
                      (HC_LIMBS_GRID - 1) * HC_SIDE_LIMB_BYTES) = kept->fifth[step];
    }
    kept->seen = {kept->seen.sum, 0, 0, 0, false};
}

/* Words of a line to float64 on the grid. */
__device__ static inline void to_grid(const float x[AROUND], const Kept &kept, double whole[AROUND]) {
    hc_all_on_grid<AROUND>(x, kept.center, kept.scale, whole);
}

__device__ static inline void values_of(const uint32_t word[AROUND], bool swap, float x[AROUND]) {
#pragma unroll
    for (int32_t s = 0; s < AROUND; s++) {
        x[s] = __uint_as_float(__byte_perm(word[s], 0, swap ? 0x0123 : 0x3210));
    }
}

/* Thread block (unit, 32 bands): a strip of 64 samples over some lines. VALUES: part 0 is of values;
 * DIFFERENCES: the last part is of differences. Each has a grid of its own. */
template <bool VALUES, bool DIFFERENCES>
__global__ void __launch_bounds__(THREADS, 1)
    split_raw_grid(const __grid_constant__ HcRawJob job, int64_t unit0) {
    const int32_t parts = VALUES + DIFFERENCES;
    __shared__ uint8_t needs_by[2][parts][WARPS]; /* of tiles, by turns */
    const int64_t unit = unit0 + blockIdx.x;
    const int64_t strip = unit % job.strips;
    const int64_t line0 = unit / job.strips * job.unit_tiles * HC_TILE_STEPS;
    const int32_t warp = (int32_t)threadIdx.x / 32;
    const int32_t band = (int32_t)blockIdx.y * HC_TILE_BANDS + (int32_t)threadIdx.x / RUN_THREADS;
    const int64_t sample = strip * HC_STEP_PIXELS + threadIdx.x % RUN_THREADS * RUN;
    const Source source = source_of(job, band, sample, line0);
    Kept kept[parts];
#pragma unroll
    for (int32_t p = 0; p < parts; p++) {
        kept[p] = begin_unit(job, job.part[p], band, strip, line0, source.from != NULL);
    }
    HcRawLines<double, RUN> lines;
    float here[AROUND];
    uint32_t next[AHEAD][AROUND];
    if constexpr (DIFFERENCES) {
        load_line(job, source, line0 - 1, next[0]);
        values_of(next[0], job.swap, here);
        to_grid(here, kept[VALUES], lines.above);
    }
    load_line(job, source, line0, next[0]);
    values_of(next[0], job.swap, here);
    if constexpr (DIFFERENCES) {
        to_grid(here, kept[VALUES], lines.here);
    }
#pragma unroll
    for (int32_t k = 0; k < AHEAD; k++) {
        load_line(job, source, line0 + 1 + k, next[k]);
    }
    for (int32_t t = 0; t < job.unit_tiles; t++) {
#pragma unroll
        for (int32_t step = 0; step < HC_TILE_STEPS; step++) {
            const int64_t line = line0 + t * HC_TILE_STEPS + step;
            const bool follows = source.from != NULL && line + 1 < job.lines;
            double value[RUN];
            if constexpr (VALUES) {
#pragma unroll
                for (int32_t s = 0; s < RUN; s++) {
                    value[s] = ((double)here[s + 1] - kept[0].center) * kept[0].scale;
                }
                add_run(job, job.part[0], value, follows, step, &kept[0]);
            }
            values_of(next[step], job.swap, here);
            load_line(job, source, line + 1 + AHEAD, next[step]);
            if constexpr (DIFFERENCES) {
                to_grid(here, kept[VALUES], lines.below);
                hc_raw_differences<double, RUN>(lines, job.part[VALUES].kind, value);
                add_run(job, job.part[VALUES], value, follows, step, &kept[VALUES]);
#pragma unroll
                for (int32_t s = 0; s < AROUND; s++) {
                    lines.above[s] = lines.here[s];
                    lines.here[s] = lines.below[s];
                }
            }
        }
#pragma unroll
        for (int32_t p = 0; p < parts; p++) {
            const int32_t needs = hc_grid_needs(kept[p].seen);
            if (threadIdx.x % 32 == 0) {
                needs_by[t % 2][p][warp] = (uint8_t)needs;
            }
        }
        __syncthreads();
#pragma unroll
        for (int32_t p = 0; p < parts; p++) {
            end_tile(job.part[p], (int64_t)blockIdx.x * job.unit_tiles + t, needs_by[t % 2][p], &kept[p]);
        }
    }
#pragma unroll
    for (int32_t p = 0; p < parts; p++) {
        hc_raw_end_unit<RUN_THREADS>(job.part[p], band, kept[p].seen.sum);
    }
}

/* ---- the operation ---- */

HcStatus hc_raw_grid_split(HcQueue *queue, const HcRawJob *job, int32_t count, int64_t unit0, int64_t units,
                           HcError *err) {
    const dim3 grid((unsigned)units, (unsigned)(job->part[0].to.padded / HC_TILE_BANDS));
    if (count == 2) {
        split_raw_grid<true, true><<<grid, THREADS, 0, queue->stream>>>(*job, unit0);
    } else if (job->part[0].kind == HC_DIFFERENCE_NONE) {
        split_raw_grid<true, false><<<grid, THREADS, 0, queue->stream>>>(*job, unit0);
    } else {
        split_raw_grid<false, true><<<grid, THREADS, 0, queue->stream>>>(*job, unit0);
    }
    HC_OR_RETURN(hc_gpu_launched("taking bytes of floats apart", err));
    for (int32_t p = 0; p < count; p++) {
        HC_OR_RETURN(hc_far_add_raw(queue, job, &job->part[p], unit0, units, err));
    }
    return HC_OK;
}
