/* Groups of patches that are alike: found in the pilot, filtered together, and averaged.
 *
 * A block takes a reference patch. Its threads share the patches around it, eight lanes each; then its warps
 * share the bands, a lane for each patch of the group, whose pixels stay in registers. Contributions are
 * integers, so that atomic additions give the same bits in any order. */
#include "core/operation/svd/groups.h"
#include "gpu/internal.cuh"

#include "core/solver/group.h"

HcGroupsFn hc_gpu_groups;

namespace {

enum {
    THREADS = 128,
    WARPS = THREADS / 32,
    PARTS = 8,
    SIDE = HC_GROUP_SIZE_MAX,
    PIXELS = SIDE * SIDE,
    COUNT = HC_GROUP_COUNT_MAX,
    NEAR = 2 * HC_GROUP_REACH_MAX + 1, /* lines and samples that patches around a reference begin at */
};

static_assert(COUNT == 32, "a lane for each patch of a group");

const char doing[] = "filtering groups of patches";

struct Job {
    HcGroupFrame frame;
    HcView in, pilot, out;
    int64_t first; /* reference patch of the first block */
    unsigned long long *sum;
    int32_t *weight;
};

/* What the threads of a block share. */
struct Shared {
    float distance[NEAR * NEAR]; /* infinity: not to be taken, or taken already */
    float best[WARPS];
    int32_t best_at[WARPS];
    int64_t row[COUNT]; /* of the views, where the patches of the group begin */
    int32_t sample[COUNT];
    uint32_t masked[COUNT]; /* pixels of each patch, a bit each */
    int32_t count;
    int32_t valid; /* pixels of the reference */
};

/* Pixels that are valid in both patches. */
__device__ inline int32_t common_pixels(const Job &job, int64_t row, int64_t sample, int64_t other_row,
                                        int64_t other_sample) {
    int32_t count = 0;
    for (int32_t l = 0; l < job.frame.down.size; l++) {
        const uint8_t *a = job.in.mask + (row + l) * job.in.samples + sample;
        const uint8_t *b = job.in.mask + (other_row + l) * job.in.samples + other_sample;
        for (int32_t s = 0; s < job.frame.across.size; s++) {
            count += a[s] != 0 && b[s] != 0;
        }
    }
    return count;
}

/* Part `part` of the squared distance of two patches; `whole` says that no pixel of them is masked. */
__device__ inline float part_of(const Job &job, bool whole, int64_t row, int64_t sample, int64_t other_row,
                                int64_t other_sample, int32_t part) {
    int32_t bands = job.pilot.bands;
    float sum = 0;
    for (int32_t l = 0; l < job.frame.down.size; l++) {
        int64_t pixel = (row + l) * job.pilot.samples + sample;
        int64_t other = (other_row + l) * job.pilot.samples + other_sample;
        const float *a = job.pilot.data + pixel * bands;
        const float *b = job.pilot.data + other * bands;
        for (int32_t x = part; x < job.frame.across.size * bands; x += PARTS) {
            float difference = a[x] - b[x];
            if (whole || (job.in.mask[pixel + x / bands] != 0 && job.in.mask[other + x / bands] != 0)) {
                sum += difference * difference;
            }
        }
    }
    return sum;
}

/* Eight lanes a patch: all distances. */
__device__ void measure(const Job &job, Shared &shared, int64_t row, int64_t sample) {
    const HcGroupFrame &frame = job.frame;
    int64_t line = row + job.in.first_line;
    int32_t width = 2 * frame.reach + 1;
    int32_t part = (int32_t)threadIdx.x % PARTS;
    int32_t pixels = frame.down.size * frame.across.size;
    for (int32_t base = 0; base < width * width; base += THREADS / PARTS) {
        int32_t at = base + (int32_t)threadIdx.x / PARTS;
        int64_t down = at / width - frame.reach;
        int64_t right = at % width - frame.reach;
        bool inside = at < width * width && (down != 0 || right != 0) && line + down >= 0 &&
                      line + down + frame.down.size <= frame.down.length && sample + right >= 0 &&
                      sample + right + frame.across.size <= frame.across.length;
        int32_t common = inside ? common_pixels(job, row, sample, row + down, sample + right) : 0;
        bool takes = inside && 2 * common >= shared.valid;
        float sum = takes ? part_of(job, common == pixels, row, sample, row + down, sample + right, part) : 0;
        sum += __shfl_xor_sync(0xFFFFFFFFU, sum, 4, PARTS);
        sum += __shfl_xor_sync(0xFFFFFFFFU, sum, 2, PARTS);
        sum += __shfl_xor_sync(0xFFFFFFFFU, sum, 1, PARTS);
        sum *= (float)shared.valid / (float)common; /* `takes` makes common at least 1 */
        if (at < width * width && part == 0) {
            shared.distance[at] = takes && sum < INFINITY ? sum : INFINITY;
        }
    }
    __syncthreads();
}

__device__ inline bool is_nearer(float a, int32_t a_at, float b, int32_t b_at) {
    return a < b || (a == b && a_at < b_at);
}

/* Takes the nearest patch out of the distances; its number, or -1. */
__device__ int32_t take_nearest(Shared &shared, int32_t distances) {
    float best = INFINITY;
    int32_t best_at = distances;
    for (int32_t at = (int32_t)threadIdx.x; at < distances; at += THREADS) {
        if (is_nearer(shared.distance[at], at, best, best_at)) {
            best = shared.distance[at];
            best_at = at;
        }
    }
    for (int32_t step = 16; step >= 1; step /= 2) {
        float other = __shfl_xor_sync(0xFFFFFFFFU, best, step);
        int32_t other_at = __shfl_xor_sync(0xFFFFFFFFU, best_at, step);
        if (is_nearer(other, other_at, best, best_at)) {
            best = other;
            best_at = other_at;
        }
    }
    if (threadIdx.x % 32 == 0) {
        shared.best[threadIdx.x / 32] = best;
        shared.best_at[threadIdx.x / 32] = best_at;
    }
    __syncthreads();
    best = shared.best[0];
    best_at = shared.best_at[0];
    for (int32_t warp = 1; warp < WARPS; warp++) {
        if (is_nearer(shared.best[warp], shared.best_at[warp], best, best_at)) {
            best = shared.best[warp];
            best_at = shared.best_at[warp];
        }
    }
    __syncthreads();
    if (!(best < INFINITY)) {
        return -1;
    }
    if (threadIdx.x == 0) {
        shared.distance[best_at] = INFINITY;
    }
    __syncthreads();
    return best_at;
}

/* The patches of the group, the reference first; a power of two. */
__device__ void find_group(const Job &job, Shared &shared, int64_t row, int64_t sample) {
    const HcGroupFrame &frame = job.frame;
    int32_t width = 2 * frame.reach + 1;
    int32_t count = 1;
    measure(job, shared, row, sample);
    if (threadIdx.x == 0) {
        shared.row[0] = row;
        shared.sample[0] = (int32_t)sample;
    }
    for (; count < frame.count; count++) {
        int32_t at = take_nearest(shared, width * width);
        if (at < 0) {
            break;
        }
        if (threadIdx.x == 0) {
            shared.row[count] = row + at / width - frame.reach;
            shared.sample[count] = (int32_t)sample + at % width - frame.reach;
        }
    }
    while ((count & (count - 1)) != 0) {
        count &= count - 1;
    }
    if (threadIdx.x == 0) {
        shared.count = count;
    }
    __syncthreads();
}

/* One row or column of a patch, `stride` apart in the registers. */
template <int STRIDE> __device__ inline void turn(float *value, const float (*matrix)[SIDE], bool back) {
    float to[SIDE];
#pragma unroll
    for (int u = 0; u < SIDE; u++) {
        to[u] = 0;
#pragma unroll
        for (int x = 0; x < SIDE; x++) {
            to[u] += (back ? matrix[x][u] : matrix[u][x]) * value[x * STRIDE];
        }
    }
#pragma unroll
    for (int u = 0; u < SIDE; u++) {
        value[u * STRIDE] = to[u];
    }
}

__device__ inline void cosines(const HcGroupFrame &frame, float *value, bool back) {
#pragma unroll
    for (int s = 0; s < SIDE; s++) {
        turn<SIDE>(value + s, frame.along, back);
    }
#pragma unroll
    for (int l = 0; l < SIDE; l++) {
        turn<1>(value + l * SIDE, frame.aside, back);
    }
}

/* Lanes that are not first or second of a pair keep what they have. */
__device__ inline float haar_step(float value, int32_t lane, int32_t step) {
    const float half_root = 0.70710678118654752F;
    float other = __shfl_xor_sync(0xFFFFFFFFU, value, step);
    int32_t within = lane % (2 * step);
    return within == 0 ? (value + other) * half_root : within == step ? (other - value) * half_root : value;
}

__device__ inline void haar(float *value, int32_t lane, int32_t count) {
    for (int32_t step = 1; step < count; step *= 2) {
#pragma unroll
        for (int p = 0; p < PIXELS; p++) {
            value[p] = haar_step(value[p], lane, step);
        }
    }
}

__device__ inline void haar_back(float *value, int32_t lane, int32_t count) {
    for (int32_t step = count / 2; step >= 1; step /= 2) {
#pragma unroll
        for (int p = 0; p < PIXELS; p++) {
            value[p] = haar_step(value[p], lane, step);
        }
    }
}

/* Whether pixel p of the patch of a lane exists, and its number in the views. */
__device__ inline bool find_pixel(const Job &job, const Shared &shared, int32_t lane, int32_t p,
                                  int64_t *pixel) {
    bool inside = lane < shared.count && p / SIDE < job.frame.down.size && p % SIDE < job.frame.across.size;
    *pixel = inside ? (shared.row[lane] + p / SIDE) * job.in.samples + shared.sample[lane] + p % SIDE : 0;
    return inside;
}

/* The masked pixels of all patches of the group, a thread each. */
__device__ inline void find_masked(const Job &job, Shared &shared) {
    int32_t lane = (int32_t)threadIdx.x;
    uint32_t masked = 0;
    for (int p = 0; p < PIXELS; p++) {
        int64_t pixel;
        bool inside = find_pixel(job, shared, lane, p, &pixel);
        masked |= inside && job.in.mask[pixel] == 0 ? 1U << p : 0U;
    }
    if (lane < COUNT) {
        shared.masked[lane] = masked;
    }
    __syncthreads();
}

/* Masked pixels of a patch take the mean of its valid ones: 0 would be an edge, which spreads. */
__device__ inline void fill_masked(const Job &job, uint32_t masked, float *value) {
    float sum = 0;
#pragma unroll
    for (int p = 0; p < PIXELS; p++) {
        sum += (masked >> p & 1U) != 0 ? 0.0F : value[p];
    }
    float mean = sum / (float)(job.frame.down.size * job.frame.across.size - __popc(masked));
#pragma unroll
    for (int p = 0; p < PIXELS; p++) {
        value[p] = (masked >> p & 1U) != 0 ? mean : value[p];
    }
}

/* One band of a patch; what lies beyond its size is 0, as is all of a lane without a patch. */
__device__ inline void load(const Job &job, const Shared &shared, const HcView &view, int32_t lane,
                            int32_t band, float *value) {
#pragma unroll
    for (int p = 0; p < PIXELS; p++) {
        int64_t pixel;
        bool inside = find_pixel(job, shared, lane, p, &pixel);
        value[p] = inside ? hc_group_load(view.data[pixel * view.bands + band]) : 0.0F;
    }
    if (shared.masked[lane] != 0) {
        fill_masked(job, shared.masked[lane], value);
    }
}

/* Adds what a patch says to the output. */
__device__ inline void add(const Job &job, const Shared &shared, int32_t lane, int32_t band,
                           const float *value, int32_t weight) {
    for (int p = 0; p < PIXELS && lane < shared.count; p++) {
        int64_t row = shared.row[lane] + p / SIDE;
        int64_t sample = shared.sample[lane] + p % SIDE;
        int64_t row_out = row + job.in.first_line - job.out.first_line;
        if (p / SIDE < job.frame.down.size && p % SIDE < job.frame.across.size && row_out >= 0 &&
            row_out < job.out.rows) {
            float before = job.pilot.data[(row * job.pilot.samples + sample) * job.pilot.bands + band];
            int64_t at = (row_out * job.out.samples + sample) * job.out.bands + band;
            atomicAdd(job.sum + at, (unsigned long long)(long long)hc_group_value(value[p] - before, weight));
            atomicAdd(job.weight + at, weight);
        }
    }
}

/* A warp a band. */
__device__ void filter_bands(const Job &job, const Shared &shared) {
    int32_t lane = (int32_t)threadIdx.x % 32;
    int32_t count = shared.count;
    for (int32_t band = (int32_t)threadIdx.x / 32; band < job.in.bands; band += WARPS) {
        float value[PIXELS];
        float pilot[PIXELS];
        load(job, shared, job.in, lane, band, value);
        load(job, shared, job.pilot, lane, band, pilot);
        cosines(job.frame, value, false);
        cosines(job.frame, pilot, false);
        haar(value, lane, count);
        haar(pilot, lane, count);
        float squares = 0;
#pragma unroll
        for (int p = 0; p < PIXELS; p++) {
            float square = pilot[p] * pilot[p];
            float weight = square / (square + 1);
            value[p] *= weight;
            squares += weight * weight;
        }
        for (int32_t step = count / 2; step >= 1; step /= 2) {
            squares += __shfl_down_sync(0xFFFFFFFFU, squares, (unsigned)step);
        }
        squares = __shfl_sync(0xFFFFFFFFU, squares, 0);
        haar_back(value, lane, count);
        cosines(job.frame, value, true);
        add(job, shared, lane, band, value, hc_group_weight(squares));
    }
}

__global__ void __launch_bounds__(THREADS) filter(const Job job) {
    __shared__ Shared shared;
    int64_t patch = job.first + blockIdx.x;
    int64_t row = hc_patch_start(job.frame.down, patch / job.frame.across.count) - job.in.first_line;
    int64_t sample = hc_patch_start(job.frame.across, patch % job.frame.across.count);
    if (threadIdx.x == 0) {
        shared.valid = common_pixels(job, row, sample, row, sample);
    }
    __syncthreads();
    if (shared.valid == 0) {
        return;
    }
    find_group(job, shared, row, sample);
    find_masked(job, shared);
    filter_bands(job, shared);
}

__global__ void __launch_bounds__(THREADS) finish(const Job job, int64_t values) {
    int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (at >= values) {
        return;
    }
    int64_t skip = (job.out.first_line - job.in.first_line) * job.in.samples;
    int64_t pixel = at / job.out.bands;
    uint8_t valid = job.in.mask[skip + pixel];
    job.out.data[at] = valid != 0 ? hc_group_mean(job.pilot.data[skip * job.out.bands + at],
                                                  (int64_t)job.sum[at], job.weight[at])
                                  : 0.0F;
    if (at % job.out.bands == 0) {
        job.out.mask[pixel] = valid;
    }
}

} // namespace

HcStatus hc_gpu_groups(HcQueue *queue, const HcBlock *in, const HcBlock *pilot, const HcGroupRule *rule,
                       void *work, const HcBlock *out, HcError *err) {
    HC_OR_RETURN(hc_gpu_use(queue->gpu, err));
    size_t values = hc_block_values(out);
    Job job = {};
    job.frame = hc_group_frame(rule, out->samples);
    job.in = hc_view(in);
    job.pilot = hc_view(pilot);
    job.out = hc_view(out);
    job.sum = (unsigned long long *)work;
    job.weight = (int32_t *)(job.sum + values);
    job.first = hc_group_first(&job.frame, out->line0) * job.frame.across.count;
    int64_t end = (hc_group_last(&job.frame, out->line0 + out->lines - 1) + 1) * job.frame.across.count;
    size_t bytes = values * (sizeof *job.sum + sizeof *job.weight);
    HC_OR_RETURN(hc_gpu_check(cudaMemsetAsync(work, 0, bytes, queue->stream), doing, err));
    filter<<<(unsigned)(end - job.first), THREADS, 0, queue->stream>>>(job);
    HC_OR_RETURN(hc_gpu_launched(doing, err));
    finish<<<(unsigned)hc_div_up((int64_t)values, THREADS), THREADS, 0, queue->stream>>>(job,
                                                                                         (int64_t)values);
    return hc_gpu_launched(doing, err);
}
