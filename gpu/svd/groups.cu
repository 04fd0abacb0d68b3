/* Groups of patches that are alike: found in the pilot, filtered together, and averaged.
 *
 * A block takes a reference patch. Its threads share the patches around it, eight lanes each; then its warps
 * share the bands, a lane for each patch of the group, whose pixels stay in registers. Contributions are
 * integers, so that atomic additions give the same bits in any order. Those of eight bands are added
 * together: they are neighbours in memory, where additions take most of the time. */
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
    HALF = COUNT / 2,                  /* patches that a lane has of one pixel */
    NEAR = 2 * HC_GROUP_REACH_MAX + 1, /* lines and samples that patches around a reference begin at */
    CHUNK = 8,                         /* bands that are added together, as neighbours in memory */
};

static_assert(COUNT == 32 && PIXELS == 16, "a lane for each patch of a group, or two for each pixel");

const char doing[] = "filtering groups of patches";

struct Job {
    HcGroupFrame frame;
    HcView in, pilot, out;
    int64_t first; /* reference patch of the first block */
    unsigned long long *sum;
    int32_t *weight;
};

/* Values of a chunk of bands, by pixel, patch and band. Neither lanes of patches nor those of pixels share a
 * bank. */
struct Values {
    float value[PIXELS][COUNT * (CHUNK + 1) + 1];
    __device__ float &at(int32_t p, int32_t k, int32_t in_chunk) {
        return value[p][k * (CHUNK + 1) + in_chunk];
    }
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
    int32_t weight[CHUNK];
    Values said; /* what the patches say of a chunk, and on the way there */
};

/* Pixels that are valid in both patches: of those numbered `part` modulo the parts. */
__device__ inline int32_t common_pixels(const Job &job, int64_t row, int64_t sample, int64_t other_row,
                                        int64_t other_sample, int32_t part) {
    int32_t count = 0;
#pragma unroll
    for (int32_t p = part; p < PIXELS; p += PARTS) {
        int32_t l = p / SIDE;
        int32_t s = p % SIDE;
        count += l < job.frame.down.size && s < job.frame.across.size &&
                 job.in.mask[(row + l) * job.in.samples + sample + s] != 0 &&
                 job.in.mask[(other_row + l) * job.in.samples + other_sample + s] != 0;
    }
    return count;
}

/* The sum over the lanes of a patch. */
template <typename T> __device__ inline T sum_of_parts(T value) {
    value += __shfl_xor_sync(0xFFFFFFFFU, value, 4, PARTS);
    value += __shfl_xor_sync(0xFFFFFFFFU, value, 2, PARTS);
    value += __shfl_xor_sync(0xFFFFFFFFU, value, 1, PARTS);
    return value;
}

/* Part `part` of the squared distance of two patches of which no pixel is masked. */
__device__ inline float part_of_whole(const Job &job, int64_t row, int64_t sample, int64_t other_row,
                                      int64_t other_sample, int32_t part) {
    int64_t line = (int64_t)job.pilot.samples * job.pilot.bands;
    int32_t width = job.frame.across.size * job.pilot.bands;
    const float *a = job.pilot.data + row * line + sample * job.pilot.bands;
    const float *b = job.pilot.data + other_row * line + other_sample * job.pilot.bands;
    float sum = 0;
    for (int32_t l = 0; l < job.frame.down.size; l++, a += line, b += line) {
#pragma unroll 5
        for (int32_t x = part; x < width; x += PARTS) {
            float difference = a[x] - b[x];
            sum += difference * difference;
        }
    }
    return sum;
}

/* The same of any two. */
__device__ inline float part_of(const Job &job, int64_t row, int64_t sample, int64_t other_row,
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
            if (job.in.mask[pixel + x / bands] != 0 && job.in.mask[other + x / bands] != 0) {
                sum += difference * difference;
            }
        }
    }
    return sum;
}

/* Whether no pixel of the patches around a reference is masked; asked by all threads. */
__device__ inline bool is_whole(const Job &job, int64_t row, int64_t sample) {
    const HcGroupFrame &frame = job.frame;
    int32_t width = 2 * frame.reach + frame.across.size;
    int32_t lines = 2 * frame.reach + frame.down.size;
    bool whole = true;
    for (int32_t at = (int32_t)threadIdx.x; at < lines * width; at += THREADS) {
        int64_t line = row + job.in.first_line + at / width - frame.reach;
        int64_t s = sample + at % width - frame.reach;
        bool inside = line >= 0 && line < frame.down.length && s >= 0 && s < frame.across.length;
        whole = whole && (!inside || job.in.mask[(line - job.in.first_line) * job.in.samples + s] != 0);
    }
    return __syncthreads_and(whole) != 0;
}

/* Eight lanes a patch: all distances. */
__device__ void measure(const Job &job, Shared &shared, int64_t row, int64_t sample) {
    const HcGroupFrame &frame = job.frame;
    int64_t line = row + job.in.first_line;
    int32_t width = 2 * frame.reach + 1;
    int32_t part = (int32_t)threadIdx.x % PARTS;
    int32_t pixels = frame.down.size * frame.across.size;
    bool whole = is_whole(job, row, sample);
    for (int32_t base = 0; base < width * width; base += THREADS / PARTS) {
        int32_t at = base + (int32_t)threadIdx.x / PARTS;
        int64_t down = at / width - frame.reach;
        int64_t right = at % width - frame.reach;
        bool inside = at < width * width && (down != 0 || right != 0) && line + down >= 0 &&
                      line + down + frame.down.size <= frame.down.length && sample + right >= 0 &&
                      sample + right + frame.across.size <= frame.across.length;
        int32_t common = pixels;
        if (!whole) {
            common =
                sum_of_parts(inside ? common_pixels(job, row, sample, row + down, sample + right, part) : 0);
        }
        bool takes = inside && 2 * common >= shared.valid;
        float sum = !takes             ? 0.0F
                    : common == pixels ? part_of_whole(job, row, sample, row + down, sample + right, part)
                                       : part_of(job, row, sample, row + down, sample + right, part);
        sum = sum_of_parts(sum);
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
            to[u] = fmaf(back ? matrix[x][u] : matrix[u][x], value[x * STRIDE], to[u]);
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

/* The mean of two patches, and their difference; its own inverse. */
__device__ inline void haar_pair(float &a, float &b) {
    const float half_root = 0.70710678118654752F;
    float first = fmaf(half_root, a, half_root * b);
    b = fmaf(-half_root, b, half_root * a);
    a = first;
}

/* Pairs of the patches of a lane, or those of two lanes. */
template <int STEP> __device__ inline void haar_step(float *value, int32_t count) {
    if (STEP < count && STEP < HALF) {
#pragma unroll
        for (int j = 0; j < HALF; j += 2 * STEP) {
            haar_pair(value[j], value[j + STEP % HALF]);
        }
    } else if (STEP < count) {
        float other = __shfl_xor_sync(0xFFFFFFFFU, value[0], 16);
        bool second = threadIdx.x % 32 >= 16;
        float a = second ? other : value[0];
        float b = second ? value[0] : other;
        haar_pair(a, b);
        value[0] = second ? b : a;
    }
}

__device__ inline void haar(float *value, int32_t count) {
    haar_step<1>(value, count);
    haar_step<2>(value, count);
    haar_step<4>(value, count);
    haar_step<8>(value, count);
    haar_step<16>(value, count);
}

__device__ inline void haar_back(float *value, int32_t count) {
    haar_step<16>(value, count);
    haar_step<8>(value, count);
    haar_step<4>(value, count);
    haar_step<2>(value, count);
    haar_step<1>(value, count);
}

/* Turns one band: a lane has all pixels of a patch before, and half of the patches of a pixel after. */
__device__ inline void to_pixels(Values &said, int32_t in_chunk, float *value) {
    int32_t lane = (int32_t)threadIdx.x % 32;
    __syncwarp();
#pragma unroll
    for (int p = 0; p < PIXELS; p++) {
        said.at(p, lane, in_chunk) = value[p];
    }
    __syncwarp();
#pragma unroll
    for (int j = 0; j < HALF; j++) {
        value[j] = said.at(lane % PIXELS, lane / PIXELS * HALF + j, in_chunk);
    }
}

__device__ inline void to_patches(Values &said, int32_t in_chunk, float *value) {
    int32_t lane = (int32_t)threadIdx.x % 32;
    __syncwarp();
#pragma unroll
    for (int j = 0; j < HALF; j++) {
        said.at(lane % PIXELS, lane / PIXELS * HALF + j, in_chunk) = value[j];
    }
    __syncwarp();
#pragma unroll
    for (int p = 0; p < PIXELS; p++) {
        value[p] = said.at(p, lane, in_chunk);
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
    bool is_there = lane < shared.count;
    const float *line = view.data + band;
    line += is_there ? (shared.row[lane] * view.samples + shared.sample[lane]) * view.bands : 0;
#pragma unroll
    for (int l = 0; l < SIDE; l++) {
#pragma unroll
        for (int s = 0; s < SIDE; s++) {
            bool inside = is_there && l < job.frame.down.size && s < job.frame.across.size;
            value[l * SIDE + s] = inside ? hc_group_load(line[s * view.bands]) : 0.0F;
        }
        line += (int64_t)view.samples * view.bands;
    }
    if (shared.masked[lane] != 0) {
        fill_masked(job, shared.masked[lane], value);
    }
}

/* Adds what the patches say of a chunk to the output: a thread a band, of every 16th patch. */
__device__ inline void add(const Job &job, Shared &shared, int32_t first_band) {
    int32_t in_chunk = (int32_t)threadIdx.x % CHUNK;
    int32_t band = first_band + in_chunk;
    if (band >= job.in.bands) {
        return;
    }
    int32_t weight = shared.weight[in_chunk];
    for (int32_t k = (int32_t)threadIdx.x / CHUNK; k < shared.count; k += THREADS / CHUNK) {
        int64_t row_out = shared.row[k] + job.in.first_line - job.out.first_line;
        int64_t pilot = (shared.row[k] * job.pilot.samples + shared.sample[k]) * job.pilot.bands + band;
        int64_t at = (row_out * job.out.samples + shared.sample[k]) * job.out.bands + band;
#pragma unroll
        for (int l = 0; l < SIDE; l++) {
            bool is_line = l < job.frame.down.size && row_out + l >= 0 && row_out + l < job.out.rows;
#pragma unroll
            for (int s = 0; s < SIDE; s++) {
                if (is_line && s < job.frame.across.size) {
                    float difference = shared.said.at(l * SIDE + s, k, in_chunk) -
                                       job.pilot.data[pilot + s * job.pilot.bands];
                    int64_t to = at + s * job.out.bands;
                    atomicAdd(job.sum + to,
                              (unsigned long long)(long long)hc_group_value(difference, weight));
                    atomicAdd(job.weight + to, weight);
                }
            }
            pilot += (int64_t)job.pilot.samples * job.pilot.bands;
            at += (int64_t)job.out.samples * job.out.bands;
        }
    }
}

/* One band of the group: what its patches say of it. */
__device__ void filter_band(const Job &job, Shared &shared, int32_t band) {
    int32_t lane = (int32_t)threadIdx.x % 32;
    int32_t count = shared.count;
    float value[PIXELS];
    float pilot[PIXELS];
    load(job, shared, job.in, lane, band, value);
    load(job, shared, job.pilot, lane, band, pilot);
    cosines(job.frame, value, false);
    cosines(job.frame, pilot, false);
    to_pixels(shared.said, band % CHUNK, value);
    to_pixels(shared.said, band % CHUNK, pilot);
    haar(value, count);
    haar(pilot, count);
#pragma unroll
    for (int j = 0; j < HALF; j++) {
        float square = pilot[j] * pilot[j];
        pilot[j] = square / (square + 1);
        value[j] *= pilot[j];
    }
    float squares = 0;
    to_patches(shared.said, band % CHUNK, pilot);
#pragma unroll
    for (int p = 0; p < PIXELS; p++) {
        squares += pilot[p] * pilot[p];
    }
    for (int32_t step = count / 2; step >= 1; step /= 2) {
        squares += __shfl_down_sync(0xFFFFFFFFU, squares, (unsigned)step);
    }
    haar_back(value, count);
    to_patches(shared.said, band % CHUNK, value);
    cosines(job.frame, value, true);
    __syncwarp();
#pragma unroll
    for (int p = 0; p < PIXELS; p++) {
        shared.said.at(p, lane, band % CHUNK) = value[p];
    }
    if (lane == 0) {
        shared.weight[band % CHUNK] = hc_group_weight(squares);
    }
}

/* A warp a band. */
__device__ void filter_bands(const Job &job, Shared &shared) {
    for (int32_t first = 0; first < job.in.bands; first += CHUNK) {
        for (int32_t k = (int32_t)threadIdx.x / 32; k < CHUNK && first + k < job.in.bands; k += WARPS) {
            filter_band(job, shared, first + k);
        }
        __syncthreads();
        add(job, shared, first);
        __syncthreads();
    }
}

__global__ void __launch_bounds__(THREADS, 8) filter(const Job job) {
    __shared__ Shared shared;
    int64_t patch = job.first + blockIdx.x;
    int64_t row = hc_patch_start(job.frame.down, patch / job.frame.across.count) - job.in.first_line;
    int64_t sample = hc_patch_start(job.frame.across, patch % job.frame.across.count);
    if (threadIdx.x < 32) {
        int32_t part = (int32_t)threadIdx.x % PARTS;
        int32_t valid = sum_of_parts(common_pixels(job, row, sample, row, sample, part));
        if (threadIdx.x == 0) {
            shared.valid = valid;
        }
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
