/* Bytes as they lie in a file -> a block: float32, pixel-major, with its mask. */
#include "gpu/image/decode.cuh"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <type_traits>

HcDecodeFn hc_gpu_decode;

namespace {

enum { THREADS = 256, WARP = 32, WARPS = THREADS / WARP };
enum { TILE_BANDS = 64 }; /* bands that are turned at once, where samples lie one after another */
enum { WARP_PIXELS = 4 }; /* pixels that a warp takes, where they do not */

/* What was seen in the bands of a pixel. */
enum { SEEN_NODATA = 1, SEEN_OTHER = 2, SEEN_BAD = 4, SEEN_VALUE = 8 };

struct Job {
    const char *data;       /* of the output's first row */
    const char *low, *high; /* all bytes of the view lie in [low, high) */
    uint64_t words;         /* places in it where a word of 4 bytes may begin */
    const uint8_t *user;    /* of the output's first row; NULL = none */
    const int32_t *index;   /* [out.bands] */
    unsigned long long *counts;
    HcFault *fault;
    int64_t stride_line, stride_sample, stride_band;
    int64_t interior, interior_end; /* rows of the output that are counted */
    HcView out;
    int32_t stored;     /* bands of the view */
    int32_t strips;     /* runs of pixels that a thread block or a warp takes, in a line */
    int32_t parts;      /* thread blocks that share the bands of a strip */
    int32_t part_bands; /* bands that each takes */
    uint32_t order_low; /* selectors that turn bytes of the file into a value's, see value_of() */
    uint32_t order_high;
    uint64_t nodata; /* the bits of a value of the type */
    bool has_nodata; /* asked for, and the type of the file can hold it */
    bool needs_all;  /* nodata in all bands, not just in one */
    bool keeps;      /* missing values, and the file can hold some */
    bool look;       /* values decide about the mask */
    int32_t *holes;  /* an HcHoles; NULL = masks are made at once */
};

/* ---- values ---- */

/* low, high: the bytes of the file, the first one lowest. */
template <typename T> __device__ inline T value_of(uint32_t low, uint32_t high, const Job &job) {
    T value;
    uint64_t bits = __byte_perm(low, high, job.order_low);
    if constexpr (sizeof(T) == 8) {
        bits |= (uint64_t)__byte_perm(low, high, job.order_high) << 32;
    }
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The value at an address that is a multiple of ALIGN. */
template <typename T, int ALIGN> __device__ inline T fetch(const uint8_t *at, const Job &job) {
    uint32_t low = 0;
    uint32_t high = 0;
    if constexpr (sizeof(T) == 1) {
        low = *at;
    } else if constexpr (ALIGN == 1) {
#pragma unroll
        for (int i = 0; i < (int)sizeof(T); i++) {
            (i < 4 ? low : high) |= (uint32_t)at[i] << (8 * (i % 4));
        }
    } else if constexpr (sizeof(T) == 2) {
        low = *(const uint16_t *)at;
    } else if constexpr (sizeof(T) == 4) {
        low = *(const uint32_t *)at;
    } else if constexpr (ALIGN == 8) {
        uint2 both = *(const uint2 *)at;
        low = both.x;
        high = both.y;
    } else {
        low = ((const uint32_t *)at)[0];
        high = ((const uint32_t *)at)[1];
    }
    return value_of<T>(low, high, job);
}

/* What a value says about its pixel. */
template <typename T> __device__ inline uint32_t look_at(T value, const Job &job) {
    T nodata;
    memcpy(&nodata, &job.nodata, sizeof nodata);
    bool is_nodata = value == nodata;
    bool is_bad = false;
    if constexpr (std::is_floating_point<T>::value) {
        is_nodata = is_nodata || (value != value && nodata != nodata);
        is_bad = !(fabsf((float)value) <= FLT_MAX);
    }
    bool is_missing = is_bad || (is_nodata && job.has_nodata);
    return (is_nodata ? SEEN_NODATA : SEEN_OTHER) | (is_bad ? SEEN_BAD : 0) | (is_missing ? 0 : SEEN_VALUE);
}

/* What the block holds of it. */
template <typename T> __device__ inline float widen(T value, const Job &job) {
    return job.keeps && (look_at(value, job) & SEEN_VALUE) == 0 ? NAN : (float)value;
}

/* Why a pixel is left out; HC_MASK_REASONS = it is not. */
__device__ inline int reason_of(uint32_t seen, bool by_user, const Job &job) {
    bool by_nodata = job.has_nodata && (job.needs_all ? (seen & SEEN_OTHER) == 0 : (seen & SEEN_NODATA) != 0);
    bool is_spared = job.keeps && (seen & SEEN_VALUE) != 0;
    return by_user                  ? HC_MASK_USER
           : is_spared              ? HC_MASK_REASONS
           : by_nodata              ? HC_MASK_NODATA
           : (seen & SEEN_BAD) != 0 ? HC_MASK_NAN
                                    : HC_MASK_REASONS;
}

/* Counts the reasons of a warp's pixels, one a lane; for whole warps. */
__device__ inline void count_reasons(int reason, int64_t row, const Job &job) {
    if (job.counts == NULL || row < job.interior || row >= job.interior_end) {
        return;
    }
    for (int r = 0; r < HC_MASK_REASONS; r++) {
        int count = __popc(__ballot_sync(0xFFFFFFFFU, reason == r));
        if (count > 0 && threadIdx.x % WARP == 0) {
            atomicAdd(job.counts + r, (unsigned long long)count);
        }
    }
}

/* Where a band of the output begins, seen from where the first stored band does; NULL: there is no such band.
 */
__device__ inline const char *band_at(const char *from, int32_t band, const Job &job) {
    int32_t index = __ldg(job.index + band);
    if (index < 0 || index >= job.stored) {
        hc_raise(job.fault, HC_E_USAGE, HC_FAULT_DECODE_BAND, index, job.stored);
        return NULL;
    }
    return from + index * job.stride_band;
}

/* ---- samples one after another (BIL, BSQ) ---- */

/* Bytes of TILE_BANDS bands of a strip. Words are copied as they lie in the file, whatever the alignment of
 * the values, so a row begins up to three bytes in; one word more holds those and keeps columns in
 * different banks. */
template <typename T> struct Tile {
    enum {
        SAMPLES = sizeof(T) == 1 ? 64 : 128 / sizeof(T),
        WORDS = SAMPLES * sizeof(T) / 4,
        PITCH = WORDS + 1,
        LOADS = TILE_BANDS * WORDS / THREADS,
        ROWS = THREADS / WORDS, /* that are loaded at once */
        GROUPS = THREADS / SAMPLES
    };
    uint32_t words[TILE_BANDS][PITCH];
    uint32_t shift[TILE_BANDS];
};

/* What one thread loads of the next tile while the last one is being written. */
template <typename T> struct Held {
    uint32_t words[Tile<T>::LOADS];
    uint32_t last, shift;
};

/* Some byte of the word belongs to the view, others may lie outside. */
__device__ inline uint32_t load_word(const char *at, const Job &job) {
    if ((uint64_t)(at - job.low) < job.words) { /* what lies before low becomes a large number */
        return __ldg((const uint32_t *)at);
    }
    uint32_t word = 0;
#pragma unroll 1
    for (int i = 0; i < 4; i++) {
        if (at + i >= job.low && at + i < job.high) {
            word |= (uint32_t)(uint8_t)at[i] << (8 * i);
        }
    }
    return word;
}

/* Word `w` of a row of `bytes` bytes, counted from the word that holds the first; 0 after the last. */
__device__ inline uint32_t row_word(const char *row, int bytes, int w, const Job &job) {
    int shift = (int)((uintptr_t)row & 3);
    return row != NULL && w * 4 < shift + bytes ? load_word(row - shift + w * 4, job) : 0;
}

template <typename T>
__device__ inline void load(Held<T> &held, const char *from, int pixels, int32_t band, int count,
                            const Job &job) {
    typedef Tile<T> Tile;
    int thread = (int)threadIdx.x;
    int bytes = pixels * (int)sizeof(T);
#pragma unroll
    for (int i = 0; i < Tile::LOADS; i++) {
        int k = thread / Tile::WORDS + i * Tile::ROWS;
        held.words[i] =
            k < count ? row_word(band_at(from, band + k, job), bytes, thread % Tile::WORDS, job) : 0;
    }
    if (thread < TILE_BANDS) {
        const char *row = thread < count ? band_at(from, band + thread, job) : NULL;
        held.last = row_word(row, bytes, Tile::WORDS, job);
        held.shift = (uint32_t)((uintptr_t)row & 3);
    }
}

template <typename T> __device__ inline void put(const Held<T> &held, Tile<T> &to) {
    typedef Tile<T> Tile;
    int thread = (int)threadIdx.x;
#pragma unroll
    for (int i = 0; i < Tile::LOADS; i++) {
        to.words[thread / Tile::WORDS + i * Tile::ROWS][thread % Tile::WORDS] = held.words[i];
    }
    if (thread < TILE_BANDS) {
        to.words[thread][Tile::WORDS] = held.last;
        to.shift[thread] = held.shift;
    }
}

template <typename T> __device__ inline const uint8_t *row_of(const Tile<T> &tile, int band) {
    return (const uint8_t *)tile.words[band] + tile.shift[band];
}

template <typename T, int ALIGN>
__device__ inline T value_in(const uint8_t *row, int sample, const Job &job) {
    return fetch<T, (ALIGN < 4 ? ALIGN : 4)>(row + sample * (int)sizeof(T), job);
}

/* What this thread sees of its sample; GROUPS threads share one. */
template <typename T, int ALIGN>
__device__ inline uint32_t look_through(const Tile<T> &tile, int pixels, int count, const Job &job) {
    int sample = (int)threadIdx.x % Tile<T>::SAMPLES;
    uint32_t seen = 0;
    if (sample < pixels) {
        for (int k = (int)threadIdx.x / Tile<T>::SAMPLES; k < count; k += Tile<T>::GROUPS) {
            seen |= look_at(value_in<T, ALIGN>(row_of(tile, k), sample, job), job);
        }
    }
    return seen;
}

/* to[pixels][bands] of the first of `count` bands; neighbouring threads take neighbouring bands. */
template <typename T, int ALIGN>
__device__ inline void write(const Tile<T> &tile, int pixels, int count, float *to, const Job &job) {
    int log_span = count > 1 ? 32 - __clz(count - 1) : 0;
    int k = (int)threadIdx.x & ((1 << log_span) - 1);
    if (k < count) {
        const uint8_t *row = row_of(tile, k);
        const int step = THREADS >> log_span;
        int s = (int)threadIdx.x >> log_span;
        float *at = to + (int64_t)s * job.out.bands + k;
#pragma unroll 4
        for (; s < pixels; s += step, at += (int64_t)step * job.out.bands) {
            *at = widen(value_in<T, ALIGN>(row, s, job), job);
        }
    }
}

/* A thread block takes a strip of a line and all its bands, or, where values do not decide about the mask, a
 * part of them. */
template <typename T, int ALIGN> __global__ void __launch_bounds__(THREADS) by_tiles(const Job job) {
    typedef Tile<T> Tile;
    __shared__ Tile tile;
    __shared__ uint8_t seen_by[THREADS];
    __shared__ uint8_t left_out[THREADS];
    Held<T> held;
    uint32_t seen = 0;
    int thread = (int)threadIdx.x;
    uint32_t part = blockIdx.x % (uint32_t)job.parts;
    uint32_t unit = blockIdx.x / (uint32_t)job.parts;
    int64_t row = unit / (uint32_t)job.strips;
    int64_t sample = (int64_t)(unit % (uint32_t)job.strips) * Tile::SAMPLES;
    int pixels = job.out.samples - sample < Tile::SAMPLES ? (int)(job.out.samples - sample) : Tile::SAMPLES;
    int64_t pixel = row * job.out.samples + sample;
    int64_t first = (int64_t)part * job.part_bands;
    int64_t end = first + job.part_bands < job.out.bands ? first + job.part_bands : job.out.bands;
    const char *from = job.data + row * job.stride_line + sample * job.stride_sample;
    float *to = job.out.data + pixel * job.out.bands;
    int count = end - first < TILE_BANDS ? (int)(end - first) : TILE_BANDS;
    load(held, from, pixels, (int32_t)first, count, job);
    for (int64_t band = first; band < end; band += TILE_BANDS) {
        int now = count;
        __syncthreads(); /* the tile before has been written */
        put(held, tile);
        __syncthreads();
        int64_t next = band + TILE_BANDS;
        if (next < end) {
            count = end - next < TILE_BANDS ? (int)(end - next) : TILE_BANDS;
            load(held, from, pixels, (int32_t)next, count, job);
        }
        if (job.look) {
            seen |= look_through<T, ALIGN>(tile, pixels, now, job);
        }
        write<T, ALIGN>(tile, pixels, now, to + band, job);
    }
    seen_by[thread] = (uint8_t)seen;
    __syncthreads();
    int reason = HC_MASK_REASONS;
    if (thread < pixels) {
        for (int g = 0; g < Tile::GROUPS; g++) {
            seen |= seen_by[g * Tile::SAMPLES + thread];
        }
        reason = reason_of(seen, job.user != NULL && job.user[pixel + thread] == 0, job);
        if (part == 0) {
            job.out.mask[pixel + thread] = reason == HC_MASK_REASONS;
        }
    }
    left_out[thread] = reason != HC_MASK_REASONS;
    if (part == 0) {
        count_reasons(reason, row, job);
    }
    if (!__syncthreads_or(reason != HC_MASK_REASONS)) {
        return;
    }
    for (int s = thread / WARP; s < pixels; s += WARPS) {
        if (left_out[s] != 0) {
            for (int64_t k = first + thread % WARP; k < end; k += WARP) {
                to[(int64_t)s * job.out.bands + k] = 0;
            }
        }
    }
}

/* ---- every other layout; made for bands one after another (BIP) ---- */

__device__ inline uint32_t any_of_warp(uint32_t seen) {
    uint32_t all = 0;
    for (uint32_t bit = SEEN_NODATA; bit <= SEEN_VALUE; bit *= 2) {
        all |= __any_sync(0xFFFFFFFFU, (seen & bit) != 0) ? bit : 0;
    }
    return all;
}

/* A warp takes WARP_PIXELS pixels of a line, its lanes take neighbouring bands. */
template <typename T, int ALIGN> __global__ void __launch_bounds__(THREADS) by_pixels(const Job job) {
    int lane = (int)threadIdx.x % WARP;
    int64_t unit = (int64_t)blockIdx.x * WARPS + threadIdx.x / WARP;
    int64_t row = unit / job.strips;
    int64_t sample = unit % job.strips * WARP_PIXELS;
    int64_t bands = job.out.bands;
    if (row >= job.out.rows) {
        return;
    }
    int pixels = job.out.samples - sample < WARP_PIXELS ? (int)(job.out.samples - sample) : WARP_PIXELS;
    int64_t pixel = row * job.out.samples + sample;
    const char *from = job.data + row * job.stride_line + sample * job.stride_sample;
    float *to = job.out.data + pixel * bands;
    uint32_t seen[WARP_PIXELS] = {0};
    for (int64_t k = lane; k < bands; k += WARP) {
        T value[WARP_PIXELS] = {0};
        const char *at = band_at(from, (int32_t)k, job);
#pragma unroll
        for (int p = 0; p < WARP_PIXELS; p++) {
            if (p < pixels && at != NULL) {
                value[p] = fetch<T, ALIGN>((const uint8_t *)at + p * job.stride_sample, job);
            }
        }
#pragma unroll
        for (int p = 0; p < WARP_PIXELS; p++) {
            if (p < pixels) {
                seen[p] |= job.look ? look_at(value[p], job) : 0;
                to[p * bands + k] = widen(value[p], job);
            }
        }
    }
    int mine = HC_MASK_REASONS; /* the reason of pixel `lane` */
#pragma unroll
    for (int p = 0; p < WARP_PIXELS; p++) {
        bool by_user = p < pixels && job.user != NULL && job.user[pixel + p] == 0;
        int reason = reason_of(any_of_warp(seen[p]), by_user, job);
        mine = lane == p && p < pixels ? reason : mine;
        if (p < pixels && reason != HC_MASK_REASONS) {
            for (int64_t k = lane; k < bands; k += WARP) {
                to[p * bands + k] = 0;
            }
        }
    }
    if (lane < pixels) {
        job.out.mask[pixel + lane] = mine == HC_MASK_REASONS;
    }
    count_reasons(mine, row, job);
}

/* ---- masks without values ---- */

/* A thread a pixel, a thread block a run of samples: made for samples one after another. */
template <typename T, int ALIGN> __global__ void __launch_bounds__(THREADS) only_masks(const Job job) {
    int64_t row = blockIdx.x / (uint32_t)job.strips;
    int64_t sample = (int64_t)(blockIdx.x % (uint32_t)job.strips) * THREADS + threadIdx.x;
    int64_t pixel = row * job.out.samples + sample;
    bool there = sample < job.out.samples;
    const char *from = job.data + row * job.stride_line + sample * job.stride_sample;
    uint32_t seen = 0;
    const bool again = job.holes != NULL && job.look;
    if (again && *job.holes != HC_HOLES_FOUND) {
        return;
    }
    if (job.holes != NULL && !job.look && blockIdx.x == 0 && threadIdx.x == 0) {
        *job.holes = HC_HOLES_NONE;
    }
    for (int32_t k = (int32_t)threadIdx.x; blockIdx.x == 0 && k < job.out.bands; k += THREADS) {
        (void)band_at(from, k, job); /* complains of those that are not there */
    }
    if (there && job.look) {
#pragma unroll 8
        for (int32_t k = 0; k < job.out.bands; k++) {
            const char *at = band_at(from, k, job);
            seen |= at != NULL ? look_at(fetch<T, ALIGN>((const uint8_t *)at, job), job) : 0;
        }
    }
    int reason = HC_MASK_REASONS;
    if (there) {
        reason = reason_of(seen, job.user != NULL && job.user[pixel] == 0, job);
        job.out.mask[pixel] = reason == HC_MASK_REASONS;
    }
    count_reasons(again && reason == HC_MASK_USER ? HC_MASK_REASONS : reason, row, job);
}

/* ---- on the host ---- */

typedef void Kernel(Job job);

/* The kernels of a type, for values at any address and for aligned ones. */
struct Kernels {
    Kernel *tiles[2], *pixels[2], *masks[2];
    int32_t samples; /* of a tile */
};

template <typename T> Kernels kernels() {
    return {{by_tiles<T, 1>, by_tiles<T, sizeof(T)>},
            {by_pixels<T, 1>, by_pixels<T, sizeof(T)>},
            {only_masks<T, 1>, only_masks<T, sizeof(T)>},
            Tile<T>::SAMPLES};
}

Kernels kernels_of(HcType type) {
    switch (type) {
    case HC_UINT8:
        return kernels<uint8_t>();
    case HC_INT8:
        return kernels<int8_t>();
    case HC_UINT16:
        return kernels<uint16_t>();
    case HC_INT16:
        return kernels<int16_t>();
    case HC_UINT32:
        return kernels<uint32_t>();
    case HC_INT32:
        return kernels<int32_t>();
    case HC_UINT64:
        return kernels<uint64_t>();
    case HC_INT64:
        return kernels<int64_t>();
    case HC_FLOAT32:
        return kernels<float>();
    default:
        return kernels<double>();
    }
}

bool is_floating(HcType type) {
    return type == HC_FLOAT32 || type == HC_FLOAT64;
}

/* Whether the type can hold nodata: -9999 is no uint16, 0.5 no integer. */
bool can_hold(HcType type, double nodata) {
    int bits = 8 * (int)hc_type_bytes(type);
    switch (type) {
    case HC_FLOAT64:
        return true;
    case HC_FLOAT32:
        return !isfinite(nodata) || fabs(nodata) <= (double)FLT_MAX * (1 + ldexp(1.0, -25));
    case HC_UINT8:
    case HC_UINT16:
    case HC_UINT32:
        return nodata == floor(nodata) && nodata >= 0 && nodata < ldexp(1.0, bits);
    /* The largest 64-bit integers are no doubles: the power of two above stands for them. */
    case HC_UINT64:
        return nodata == floor(nodata) && nodata >= 0 && nodata <= ldexp(1.0, 64);
    case HC_INT64:
        return nodata == floor(nodata) && fabs(nodata) <= ldexp(1.0, 63);
    default:
        return nodata == floor(nodata) && fabs(nodata + 0.5) < ldexp(1.0, bits - 1);
    }
}

/* The bits of a nodata value that the type can hold. */
uint64_t bits_of(HcType type, double nodata) {
    uint64_t bits = 0;
    if (type == HC_FLOAT64) {
        memcpy(&bits, &nodata, sizeof nodata);
    } else if (type == HC_FLOAT32) {
        float narrow = (float)nodata;
        memcpy(&bits, &narrow, sizeof narrow);
    } else if (type == HC_UINT64) {
        bits = nodata >= ldexp(1.0, 64) ? UINT64_MAX : (uint64_t)nodata;
    } else {
        bits = (uint64_t)(nodata >= ldexp(1.0, 63) ? INT64_MAX : (int64_t)nodata);
    }
    return bits;
}

/* The place of byte i of a value, in a selector of 4 bits a byte. */
void set_order(Job *job, const HcRaw *raw) {
    uint64_t bytes = hc_type_bytes(raw->type);
    job->order_low = 0;
    job->order_high = 0;
    for (uint64_t i = 0; i < 8; i++) {
        uint64_t from = raw->swap && i < bytes ? bytes - 1 - i : i;
        (i < 4 ? job->order_low : job->order_high) |= (uint32_t)(from << (4 * (i % 4)));
    }
}

void set_extent(Job *job, const HcRaw *raw) {
    int64_t line = (raw->lines - 1) * raw->stride_line;
    int64_t sample = (raw->samples - 1) * raw->stride_sample;
    int64_t band = (raw->bands - 1) * raw->stride_band;
    job->low = (const char *)raw->data + hc_min64(line, 0) + hc_min64(sample, 0) + hc_min64(band, 0);
    job->high = (const char *)raw->data - hc_min64(-line, 0) - hc_min64(-sample, 0) - hc_min64(-band, 0) +
                hc_type_bytes(raw->type);
    job->words = job->high - job->low > 3 ? (uint64_t)(job->high - job->low - 3) : 0;
}

Job make_job(const HcQueue *queue, const HcRaw *raw, const HcDecode *how, const HcBlock *out) {
    Job job = {};
    int64_t line = hc_block_first_line(out) - raw->line0;
    job.data = (const char *)raw->data + line * raw->stride_line;
    job.user = raw->user_mask != NULL ? raw->user_mask + line * raw->samples : NULL;
    job.index = how->band_index;
    job.counts = (unsigned long long *)how->counts;
    job.fault = queue->fault_device;
    job.stride_line = raw->stride_line;
    job.stride_sample = raw->stride_sample;
    job.stride_band = raw->stride_band;
    job.interior = out->above;
    job.interior_end = (int64_t)out->above + out->lines;
    job.out = hc_view(out);
    job.stored = raw->bands;
    job.has_nodata = how->has_nodata && can_hold(raw->type, how->nodata);
    job.nodata = job.has_nodata ? bits_of(raw->type, how->nodata) : 0;
    job.look = job.has_nodata || is_floating(raw->type);
    job.keeps = how->keep_missing && job.look;
    job.needs_all = how->nodata_needs_all_bands && !job.keeps;
    set_order(&job, raw);
    set_extent(&job, raw);
    return job;
}

bool is_aligned(const HcRaw *raw) {
    uint64_t all = (uint64_t)(uintptr_t)raw->data | (uint64_t)raw->stride_line |
                   (uint64_t)raw->stride_sample | (uint64_t)raw->stride_band;
    return all % hc_type_bytes(raw->type) == 0;
}

} // namespace

HcStatus hc_gpu_decode(HcQueue *queue, const HcRaw *raw, const HcDecode *how, const HcBlock *out,
                       HcError *err) {
    HC_OR_RETURN(hc_gpu_use(queue->gpu, err));
    Job job = make_job(queue, raw, how, out);
    Kernels kernels = kernels_of(raw->type);
    bool aligned = is_aligned(raw);
    if (raw->stride_sample == (int64_t)hc_type_bytes(raw->type)) {
        job.strips = (int32_t)hc_div_up(out->samples, kernels.samples);
        job.part_bands = job.look ? out->bands : TILE_BANDS;
        job.parts = (int32_t)hc_div_up(out->bands, job.part_bands);
        int64_t blocks = job.out.rows * job.strips * job.parts;
        kernels.tiles[aligned]<<<(unsigned)blocks, THREADS, 0, queue->stream>>>(job);
    } else {
        job.strips = (int32_t)hc_div_up(out->samples, WARP_PIXELS);
        int64_t blocks = hc_div_up(job.out.rows * job.strips, WARPS);
        kernels.pixels[aligned]<<<(unsigned)blocks, THREADS, 0, queue->stream>>>(job);
    }
    return hc_gpu_launched("decoding", err);
}

static HcStatus launch_masks(HcQueue *queue, const HcRaw *raw, Job *job, HcError *err) {
    HC_OR_RETURN(hc_gpu_use(queue->gpu, err));
    Kernels kernels = kernels_of(raw->type);
    job->strips = (int32_t)hc_div_up(job->out.samples, THREADS);
    const unsigned blocks = (unsigned)(job->out.rows * job->strips);
    kernels.masks[is_aligned(raw)]<<<blocks, THREADS, 0, queue->stream>>>(*job);
    return hc_gpu_launched("masking", err);
}

HcStatus hc_gpu_decode_masks(HcQueue *queue, const HcRaw *raw, const HcDecode *how, const HcBlock *out,
                             HcError *err) {
    Job job = make_job(queue, raw, how, out);
    return launch_masks(queue, raw, &job, err);
}

HcStatus hc_gpu_decode_user_masks(HcQueue *queue, const HcRaw *raw, const HcDecode *how, const HcBlock *out,
                                  int32_t *holes, HcError *err) {
    Job job = make_job(queue, raw, how, out);
    job.look = false;
    job.holes = holes;
    return launch_masks(queue, raw, &job, err);
}

HcStatus hc_gpu_decode_other_masks(HcQueue *queue, const HcRaw *raw, const HcDecode *how, const HcBlock *out,
                                   int32_t *holes, HcError *err) {
    Job job = make_job(queue, raw, how, out);
    job.holes = holes;
    return launch_masks(queue, raw, &job, err);
}
