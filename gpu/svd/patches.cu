/* Patches of a scene as matrices: gathered, decomposed, weighted and averaged, some thousand at a time. */
#include "core/operation/svd/patches.h"
#include "core/operation/svd/svd.h"
#include "gpu/internal.cuh"

#include "core/patch.h"

#include <new>
#include <stdlib.h>

HcPatchesOpenFn hc_gpu_patches_open;
HcPatchesCloseFn hc_gpu_patches_close;
HcPatchesFn hc_gpu_patches;

enum { THREADS = 128, WARPS = THREADS / 32, EACH = 4 };

static const char doing[] = "decomposing patches";

/* What kernels need to know of the patches. */
struct Frame {
    HcPatchRule rule;
    HcPatchSide down, across; /* patches along lines and samples; they count row after row */
    int32_t pixels;           /* of a patch */
    int32_t values;           /* singular values of a patch */
};

struct HcPatches {
    HcPatchesHead head;
    HcGpu *gpu;
    Frame frame;
    HcSvd *svd;
    int64_t most; /* patches at once */
    HcBuffer memory;
    float *matrices;      /* [most][pixels][bands] */
    float *singular;      /* [most][values] */
    float *left;          /* [most][values][pixels], NULL when describing */
    float *right;         /* [most][values][bands], NULL when describing */
    float *kept;          /* [most][values], after those that count as signal 0 */
    int32_t *dimension;   /* [most] */
    int32_t *valid;       /* [most] pixels */
    HcPatchLevel *levels; /* [pixels + 1] */
};

/* Patch `patch` of the chunk that starts with `first`: where it begins. */
__device__ static inline void find_patch(const Frame &frame, int64_t patch, int64_t &line, int64_t &sample) {
    line = hc_patch_start(frame.down, patch / frame.across.count);
    sample = hc_patch_start(frame.across, patch % frame.across.count);
}

/* A block a patch: its matrix, masked pixels as 0, and how many are not. */
__global__ static void gather_patches(Frame frame, HcView in, int64_t first, float *matrices,
                                      int32_t *valid) {
    __shared__ int32_t count;
    int64_t line, sample;
    find_patch(frame, first + blockIdx.x, line, sample);
    if (threadIdx.x == 0) {
        count = 0;
    }
    __syncthreads();
    int32_t width = frame.across.size;
    int32_t values = width * in.bands; /* of a line, side by side in the scene, too */
    float *out = matrices + (int64_t)blockIdx.x * frame.pixels * in.bands;
    int32_t valid_here = 0;
    for (int32_t l = (int32_t)threadIdx.x / 32; l < frame.down.size; l += WARPS) {
        int64_t at = (line + l - in.first_line) * in.samples + sample;
        for (int32_t s = (int32_t)threadIdx.x % 32; s < width; s += 32) {
            valid_here += in.mask[at + s] != 0;
        }
        for (int32_t x = (int32_t)threadIdx.x % 32; x < values; x += 32) {
            out[l * values + x] = in.mask[at + x / in.bands] != 0 ? in.data[at * in.bands + x] : 0.0F;
        }
    }
    if (valid_here > 0) {
        atomicAdd(&count, valid_here);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        valid[blockIdx.x] = count;
    }
}

/* A thread a patch: which of its singular values count as signal. */
__global__ static void weigh_patches(Frame frame, int64_t count, const HcPatchLevel *levels,
                                     const int32_t *valid, const float *singular, float *kept,
                                     int32_t *dimension) {
    int64_t patch = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (patch >= count) {
        return;
    }
    const float *values = singular + patch * frame.values;
    const HcPatchLevel level = levels[valid[patch]];
    double noise = hc_patch_noise(&frame.rule, &level, values);
    int32_t found = 0;
    for (int32_t k = 0; k < frame.values; k++) {
        float value = (float)hc_patch_kept(&frame.rule, &level, noise, k, (double)values[k]);
        kept[patch * frame.values + k] = value;
        found = value != 0 ? k + 1 : found; /* NaN is told, not dropped */
    }
    dimension[patch] = found;
}

/* What the patches of a chunk say of pixels. */
struct Chunk {
    int64_t first, count; /* patches */
    int64_t line0;        /* of the first row of pixels below */
    const float *singular, *left, *right, *kept;
    const int32_t *dimension;
};

/* What a patch says of one band of a pixel (its number in the patch). */
__device__ static inline float say(const Frame &frame, const Chunk &chunk, int64_t patch, int32_t pixel,
                                   int32_t band) {
    int32_t dimension = chunk.dimension[patch];
    if (frame.rule.describe) {
        return band == 0              ? (float)dimension
               : band <= frame.values ? chunk.singular[patch * frame.values + band - 1]
                                      : 0.0F;
    }
    const float *left = chunk.left + patch * frame.values * frame.pixels + pixel;
    const float *right = chunk.right + patch * frame.values * frame.rule.bands + band;
    const float *kept = chunk.kept + patch * frame.values;
    float sum = 0;
    for (int32_t k = 0; k < dimension; k++) {
        sum = fmaf(kept[k] * left[(int64_t)k * frame.pixels], right[(int64_t)k * frame.rule.bands], sum);
    }
    return sum;
}

/* The patches that hold a pixel: rows top to bottom, columns before to behind. */
struct Holders {
    int64_t top, bottom;
    int32_t before, behind;
};

/* Adds what patches say of a pixel: lanes over bands. The first patch of a pixel begins its sum, the last one
 * ends it. */
__device__ static inline void add_pixel(const Frame &frame, const HcView &in, const HcView &out,
                                        const Chunk &chunk, int64_t line, int32_t sample,
                                        const Holders &holders) {
    int64_t first = holders.top * frame.across.count + holders.before;
    int64_t last = holders.bottom * frame.across.count + holders.behind;
    int64_t at = (line - out.first_line) * out.samples + sample;
    bool begins = first >= chunk.first && first < chunk.first + chunk.count;
    bool ends = last >= chunk.first && last < chunk.first + chunk.count;
    if (last < chunk.first || first >= chunk.first + chunk.count) {
        return;
    }
    bool is_valid = in.mask[(line - in.first_line) * in.samples + sample] != 0;
    if (begins && threadIdx.x % 32 == 0) {
        out.mask[at] = is_valid;
    }
    float patches = (float)((holders.bottom - holders.top + 1) * (holders.behind - holders.before + 1));
    for (int32_t band = (int32_t)threadIdx.x % 32; band < out.bands; band += 32) {
        float sum = begins || !is_valid ? 0.0F : out.data[at * out.bands + band];
        for (int64_t row = holders.top; is_valid && row <= holders.bottom; row++) {
            int64_t line_in = line - hc_patch_start(frame.down, row);
            for (int32_t column = holders.before; column <= holders.behind; column++) {
                int64_t patch = row * frame.across.count + column - chunk.first;
                if (patch < 0 || patch >= chunk.count) {
                    continue;
                }
                int64_t sample_in = sample - hc_patch_start(frame.across, column);
                sum += say(frame, chunk, patch, (int32_t)(line_in * frame.across.size + sample_in), band);
            }
        }
        out.data[at * out.bands + band] = ends ? sum / patches : sum;
    }
}

/* A warp takes EACH pixels side by side. Its lanes find their patches at once, since that takes divisions.
 * Grid: samples, lines. */
__global__ static void __launch_bounds__(THREADS)
    add_patches(Frame frame, HcView in, HcView out, Chunk chunk) {
    int32_t first = ((int32_t)blockIdx.x * WARPS + (int32_t)threadIdx.x / 32) * EACH;
    int32_t own = min(first + (int32_t)threadIdx.x % EACH, out.samples - 1);
    int64_t line = chunk.line0 + blockIdx.y;
    Holders holders = {hc_patch_first(frame.down, line), hc_patch_last(frame.down, line), 0, 0};
    int32_t before = (int32_t)hc_patch_first(frame.across, own);
    int32_t behind = (int32_t)hc_patch_last(frame.across, own);
    for (int32_t i = 0; i < EACH && first + i < out.samples; i++) {
        holders.before = __shfl_sync(0xFFFFFFFFU, before, i);
        holders.behind = __shfl_sync(0xFFFFFFFFU, behind, i);
        add_pixel(frame, in, out, chunk, line, first + i, holders);
    }
}

/* The memory, cut; or only its size. */
static size_t lay_out(HcPatches *patches, char *base) {
    size_t at = 0;
    size_t most = (size_t)patches->most;
    size_t values = (size_t)patches->frame.values;
    size_t pixels = (size_t)patches->frame.pixels;
    size_t bands = (size_t)patches->frame.rule.bands;
    bool describes = patches->frame.rule.describe;
    patches->matrices = (float *)hc_take(base, &at, most * pixels * bands * sizeof(float));
    patches->singular = (float *)hc_take(base, &at, most * values * sizeof(float));
    patches->kept = (float *)hc_take(base, &at, most * values * sizeof(float));
    patches->dimension = (int32_t *)hc_take(base, &at, most * sizeof(int32_t));
    patches->valid = (int32_t *)hc_take(base, &at, most * sizeof(int32_t));
    patches->levels = (HcPatchLevel *)hc_take(base, &at, (pixels + 1) * sizeof(HcPatchLevel));
    patches->left = describes ? NULL : (float *)hc_take(base, &at, most * values * pixels * sizeof(float));
    patches->right = describes ? NULL : (float *)hc_take(base, &at, most * values * bands * sizeof(float));
    return at;
}

static HcStatus put_levels(HcPatches *patches, HcError *err) {
    HcStatus status = HC_OK;
    int32_t pixels = patches->frame.pixels;
    size_t bytes = (size_t)(pixels + 1) * sizeof(HcPatchLevel);
    HcPatchLevel *levels = (HcPatchLevel *)malloc(bytes);
    if (levels == NULL) {
        return hc_fail_memory(err, (double)bytes, "patches");
    }
    hc_patch_levels(&patches->frame.rule, pixels, levels);
    status = hc_gpu_bring(patches->levels, levels, bytes, doing, err);
    free(levels);
    return status;
}

HcStatus hc_gpu_patches_open(HcCompute *compute, const HcPatchRule *rule, HcPatches **out, HcError *err) {
    HcStatus status = HC_OK;
    HcPatches *patches = NULL;
    Frame *frame = NULL;
    *out = NULL;
    patches = new (std::nothrow) HcPatches();
    if (patches == NULL) {
        HC_TRY(hc_fail_memory(err, sizeof *patches, "patches"));
    }
    frame = &patches->frame;
    patches->gpu = (HcGpu *)compute;
    frame->rule = *rule;
    frame->down = hc_patch_side(rule->lines, rule->size, rule->step);
    frame->across = hc_patch_side(rule->samples, rule->size, rule->step);
    frame->pixels = frame->down.size * frame->across.size;
    frame->values = frame->pixels < rule->bands ? frame->pixels : rule->bands;
    patches->most = hc_patch_max(rule);
    HC_TRY(hc_gpu_use(patches->gpu, err));
    HC_TRY(hc_svd_open(compute, HC_ELEMENT_FLOAT32, frame->pixels, rule->bands, patches->most,
                       !rule->describe, &patches->svd, err));
    HC_TRY(hc_gpu_alloc(compute, HC_MEMORY_DEVICE, lay_out(patches, NULL), &patches->memory, err));
    (void)lay_out(patches, (char *)patches->memory.data);
    HC_TRY(put_levels(patches, err));
    *out = patches;
    patches = NULL;
done:
    hc_gpu_patches_close(patches);
    return status;
}

void hc_gpu_patches_close(HcPatches *patches) {
    if (patches != NULL) {
        hc_svd_close(patches->svd);
        hc_gpu_release(&patches->gpu->base, &patches->memory);
        delete patches;
    }
}

/* Some patches, and the lines of the output that they hold. */
static HcStatus run_chunk(HcQueue *queue, const HcBlock *in, HcPatches *patches, const HcBlock *out,
                          int64_t first, int64_t count, HcError *err) {
    const Frame &frame = patches->frame;
    HcSvdBatch batch = {.count = count,
                        .matrices = patches->matrices,
                        .values = patches->singular,
                        .left = patches->left,
                        .right = patches->right,
                        .sweeps = NULL,
                        .end = NULL};
    int64_t row = first / frame.across.count;
    int64_t last_row = (first + count - 1) / frame.across.count;
    int64_t line0 = hc_max64(out->line0, hc_patch_start(frame.down, row));
    int64_t end = hc_min64(out->line0 + out->lines, hc_patch_start(frame.down, last_row) + frame.down.size);
    Chunk chunk = {first,         count,          line0,         patches->singular,
                   patches->left, patches->right, patches->kept, patches->dimension};
    dim3 grid((unsigned)hc_div_up(out->samples, WARPS * EACH), (unsigned)(end - line0));
    gather_patches<<<(unsigned)count, THREADS, 0, queue->stream>>>(frame, hc_view(in), first,
                                                                   patches->matrices, patches->valid);
    HC_OR_RETURN(hc_gpu_launched(doing, err));
    HC_OR_RETURN(hc_svd_batched(queue, patches->svd, &batch, err));
    weigh_patches<<<(unsigned)hc_div_up(count, THREADS), THREADS, 0, queue->stream>>>(
        frame, count, patches->levels, patches->valid, patches->singular, patches->kept, patches->dimension);
    HC_OR_RETURN(hc_gpu_launched(doing, err));
    add_patches<<<grid, THREADS, 0, queue->stream>>>(frame, hc_view(in), hc_view(out), chunk);
    return hc_gpu_launched(doing, err);
}

HcStatus hc_gpu_patches(HcQueue *queue, const HcBlock *in, HcPatches *patches, const HcBlock *out,
                        HcError *err) {
    int64_t first = 0;
    int64_t end = 0;
    HC_OR_RETURN(hc_gpu_use(queue->gpu, err));
    first = hc_patch_first(patches->frame.down, out->line0) * patches->frame.across.count;
    end = (hc_patch_last(patches->frame.down, out->line0 + out->lines - 1) + 1) * patches->frame.across.count;
    for (; first < end; first += patches->most) {
        HC_OR_RETURN(run_chunk(queue, in, patches, out, first, hc_min64(patches->most, end - first), err));
    }
    return HC_OK;
}
