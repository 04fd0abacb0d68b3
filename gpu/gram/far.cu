/* Values far from their band's center, of float scenes: limbs hold their lowest 32 bits, sums of long
 * integers the rest. They are few, so that each is looked up again where it lies: in a block, or in the bytes
 * of a file. */
#include "gpu/gram/grid.cuh"
#include "gpu/gram/raw.cuh"

enum {
    THREADS = 256,
    FAR_TILES = 32 /* that a thread block looks at */
};

/* ---- values ---- */

/* float32 somewhere; distances in bytes. */
struct Values {
    const char *data; /* of row 0, sample 0 */
    int64_t row, sample, band;
    const int32_t *index; /* the stored band of each; NULL = in their order */
    int32_t bands, stored;
    bool swap;
};

/* The value of a pixel and band, or of one `down` and `right` of it. */
struct Spot {
    const char *at;
    int64_t row, sample;
    double center, scale;
    bool swap;

    __device__ inline float value(int32_t down, int32_t right) const {
        const uint32_t word = *(const uint32_t *)(at + down * row + right * sample);
        return __uint_as_float(__byte_perm(word, 0, swap ? 0x0123 : 0x3210));
    }

    __device__ inline double whole(int32_t down, int32_t right) const {
        return hc_on_grid(value(down, right), center, scale);
    }
};

__device__ static inline Spot spot_of(const HcExact &exact, const Values &values, int64_t row, int64_t sample,
                                      int32_t band) {
    /* That a band is not there was raised before. */
    const int64_t stored =
        values.index != NULL ? min(max(__ldg(values.index + band), 0), values.stored - 1) : band;
    return {values.data + row * values.row + sample * values.sample + stored * values.band,
            values.row,
            values.sample,
            exact.center[band],
            exact.scale[band],
            values.swap};
}

/* The whole number that is summed for a pixel and a band, where its neighbourhood is there. */
__device__ static double whole_number(const Spot &spot, HcDifference kind) {
    const double here = spot.whole(0, 0);
    switch (kind) {
    case HC_DIFFERENCE_MEAN3X3: {
        double sum = 0;
        for (int32_t c = -1; c <= 1; c++) {
            const double column = spot.whole(-1, c) + spot.whole(0, c) + spot.whole(1, c);
            sum = c < 0 ? column : sum + column;
        }
        return 9.0 * here - sum;
    }
    case HC_DIFFERENCE_MEDIAN3X3: {
        const float middle = hc_middle_of_nine(spot.value(-1, -1), spot.value(-1, 0), spot.value(-1, 1),
                                               spot.value(0, -1), spot.value(0, 0), spot.value(0, 1),
                                               spot.value(1, -1), spot.value(1, 0), spot.value(1, 1));
        return here - hc_on_grid(middle, spot.center, spot.scale);
    }
    case HC_DIFFERENCE_SHIFT:
        return here - spot.whole(0, 1);
    case HC_DIFFERENCE_SHIFT_DIAGONAL:
        return here - spot.whole(1, 1);
    default:
        return here;
    }
}

/* A whole number as part * 2^exponent. */
struct Scaled {
    int64_t part; /* below 2^53 */
    int32_t exponent;
};

__device__ static inline Scaled scaled_of(double value) {
    if (fabs(value) < 0x1p53) {
        return {__double2ll_rz(value), 0};
    }
    const int64_t bits = __double_as_longlong(value);
    const int64_t part = (bits & (((int64_t)1 << 52) - 1)) | (int64_t)1 << 52;
    return {bits < 0 ? -part : part, (int32_t)(bits >> 52 & 0x7FF) - 1075};
}

/* Adds a b to digits, of which others add to the same ones: no carries. */
__device__ static inline void add_product(const Scaled &a, const Scaled &b, int64_t *digit) {
    const uint64_t low = (uint64_t)a.part * (uint64_t)b.part;
    const int64_t high = __mul64hi(a.part, b.part);
    const int32_t at = a.exponent + b.exponent;
    const int64_t piece[4] = {(int64_t)(low & 0xFFFFFFFF), (int64_t)(low >> 32), high & 0xFFFFFFFF,
                              high >> 32};
    int64_t carried = 0;
    digit += at / 32;
#pragma unroll
    for (int32_t k = 0; k <= 4; k++) {
        const int64_t moved = k < 4 ? (int64_t)((uint64_t)piece[k] << at % 32) : 0;
        const int64_t added = carried + (moved & 0xFFFFFFFF);
        carried = moved >> 32;
        if (added != 0) {
            atomicAdd((unsigned long long *)&digit[k], (unsigned long long)added);
        }
    }
}

/* Far values of one pixel, of a run of bands. */
struct FarList {
    int32_t count;
    int32_t band[THREADS];
    double value[THREADS];
};

/* A thread block adds what limbs leave out of a pixel, as hc_moments_add_far() of core/sums/moments.c. */
__device__ static inline void add_far_pixel(const HcExact &exact, const Values &values, HcDifference kind,
                                            int64_t row, int64_t sample, FarList *list) {
    const int32_t n = values.bands;
    for (int32_t band0 = 0; band0 < n; band0 += THREADS) {
        const int32_t band = band0 + (int32_t)threadIdx.x;
        if (threadIdx.x == 0) {
            list->count = 0;
        }
        __syncthreads();
        if (band < n) {
            const double value = whole_number(spot_of(exact, values, row, sample, band), kind);
            if (hc_is_far(value)) {
                const int32_t at = atomicAdd(&list->count, 1);
                list->band[at] = band;
                list->value[at] = value;
            }
        }
        __syncthreads();
        for (int32_t k = 0; k < list->count; k++) {
            const int32_t i = list->band[k];
            const double rest_i = hc_grid_far_rest(list->value[k]);
            const Scaled rest = scaled_of(rest_i);
            const Scaled beyond = scaled_of(__dsub_rn(list->value[k], rest_i));
            if (threadIdx.x == 0) {
                add_product(beyond, {1, 0}, exact.far_sum + (int64_t)i * HC_LONG_DIGITS);
                exact.count[1] = 1;
            }
            for (int32_t j = (int32_t)threadIdx.x; j < n; j += THREADS) {
                const double value = whole_number(spot_of(exact, values, row, sample, j), kind);
                const bool both = hc_is_far(value);
                if (both && j < i) {
                    continue; /* is done from there */
                }
                const int64_t at = i < j ? (int64_t)i * n + j : (int64_t)j * n + i;
                int64_t *digit = exact.far_product + at * HC_LONG_DIGITS;
                add_product(beyond, scaled_of(value), digit);
                if (both) {
                    add_product(rest, scaled_of(__dsub_rn(value, hc_grid_far_rest(value))), digit);
                }
            }
        }
        __syncthreads();
    }
}

/* Bits of those of up to FAR_TILES tiles from `tile0` on that hold a far value. For all threads. */
__device__ static inline uint32_t far_tiles(const HcExact &exact, int64_t tile0, int64_t tiles) {
    __shared__ uint32_t marked;
    const int32_t blocks = exact.padded / HC_TILE_BANDS;
    const int32_t count = (int32_t)min(tiles - tile0, (int64_t)FAR_TILES);
    if (threadIdx.x == 0) {
        marked = 0;
    }
    __syncthreads();
    for (int32_t i = (int32_t)threadIdx.x; i < count * blocks; i += THREADS) {
        if ((exact.needs[tile0 * blocks + i] & HC_NEEDS_FAR) != 0) {
            atomicOr(&marked, 1U << i / blocks);
        }
    }
    __syncthreads();
    return marked;
}

/* Thread block: FAR_TILES tiles of a block, of which most hold no far value. */
__global__ void __launch_bounds__(THREADS)
    add_far(HcGramJob job, Values values, HcTiling tiling, int64_t first, int64_t tiles, HcExact exact) {
    __shared__ FarList list;
    const int64_t tile0 = (int64_t)blockIdx.x * FAR_TILES;
    for (uint32_t left = far_tiles(exact, tile0, tiles); left != 0; left &= left - 1) {
        const HcPixelPlace corner = hc_grid_corner(job, tiling, first + tile0 + __ffs((int32_t)left) - 1);
        for (int32_t at = 0; at < HC_TILE_PIXELS; at++) {
            const HcPixelPlace place = hc_grid_place(job, tiling, corner, at);
            if (hc_grid_used(job, job.kind, place)) {
                add_far_pixel(exact, values, job.kind, job.first_row + place.row, place.sample, &list);
            }
        }
    }
}

/* The same of the bytes of a file, thread block (tiles, part). */
__global__ void __launch_bounds__(THREADS)
    add_far_raw(const __grid_constant__ HcRawJob job, Values values, int64_t unit0, int64_t tiles) {
    __shared__ FarList list;
    const HcRawPart &part = job.part[blockIdx.y];
    const int64_t tile0 = (int64_t)blockIdx.x * FAR_TILES;
    for (uint32_t left = far_tiles(part.to, tile0, tiles); left != 0; left &= left - 1) {
        const int64_t tile = tile0 + __ffs((int32_t)left) - 1;
        const int64_t unit = unit0 + tile / job.unit_tiles;
        const int64_t strip = unit % job.strips;
        const int64_t line0 = (unit / job.strips * job.unit_tiles + tile % job.unit_tiles) * HC_TILE_STEPS;
        for (int32_t at = 0; at < HC_TILE_PIXELS; at++) {
            const int64_t line = line0 + at / HC_STEP_PIXELS;
            const int32_t sample = at % HC_STEP_PIXELS;
            if (line < job.lines &&
                (part.counts[(line * job.strips + strip) * (HC_STEP_PIXELS / 8) + sample / 8] >> sample % 8 &
                 1) != 0) {
                add_far_pixel(part.to, values, part.kind, line, strip * HC_STEP_PIXELS + sample, &list);
            }
        }
    }
}

/* A thread a number: digits of 0 to 2^32 - 1, the last one with the sign. */
__global__ void carry(HcExact exact, int64_t bands) {
    if (exact.count[1] == 0) {
        return;
    }
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < bands + bands * bands;
         i += (int64_t)gridDim.x * blockDim.x) {
        int64_t *digit =
            i < bands ? exact.far_sum + i * HC_LONG_DIGITS : exact.far_product + (i - bands) * HC_LONG_DIGITS;
        int64_t carried = 0;
        for (int32_t k = 0; k < HC_LONG_DIGITS - 1; k++) {
            const int64_t value = digit[k] + carried;
            digit[k] = value & 0xFFFFFFFF;
            carried = value >> 32;
        }
        digit[HC_LONG_DIGITS - 1] += carried;
    }
}

/* ---- the operation ---- */

HcStatus hc_far_add(HcQueue *queue, const HcGramJob *job, const HcTiling *tiling, int64_t first,
                    int64_t tiles, const HcExact *to, HcError *err) {
    const int64_t bytes = sizeof(float);
    const int64_t sample = job->in.bands * bytes;
    const Values values = {(const char *)job->in.data,
                           job->in.samples * sample,
                           sample,
                           bytes,
                           NULL,
                           job->in.bands,
                           job->in.bands,
                           false};
    add_far<<<(unsigned)hc_div_up(tiles, FAR_TILES), THREADS, 0, queue->stream>>>(*job, values, *tiling,
                                                                                  first, tiles, *to);
    return hc_gpu_launched("adding far values", err);
}

HcStatus hc_far_add_raw(HcQueue *queue, const HcRawJob *job, int32_t count, int64_t unit0, int64_t units,
                        HcError *err) {
    const int64_t tiles = units * job->unit_tiles;
    const Values values = {job->data,  job->stride_line, sizeof(float), job->stride_band,
                           job->index, job->bands,       job->stored,   job->swap};
    const dim3 grid((unsigned)hc_div_up(tiles, FAR_TILES), (unsigned)count);
    add_far_raw<<<grid, THREADS, 0, queue->stream>>>(*job, values, unit0, tiles);
    return hc_gpu_launched("adding far values", err);
}

HcStatus hc_grid_carry(HcQueue *queue, const HcExact *exact, int32_t bands, HcError *err) {
    carry<<<256, 256, 0, queue->stream>>>(*exact, bands);
    return hc_gpu_launched("making carries", err);
}
