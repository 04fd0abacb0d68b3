/* How filter and difference walk over a block: a thread takes one band of a stretch of a line and keeps the
 * three columns around its pixel. Lanes take neighbouring bands (and, where bands are few, neighbouring
 * stretches); warps take neighbouring lines, so that each line comes from far away once. */
#ifndef HC_GPU_IMAGE_WALK_CUH
#define HC_GPU_IMAGE_WALK_CUH

#include "gpu/internal.cuh"

enum { HC_WALK_THREADS = 256, HC_WALK_LINES = HC_WALK_THREADS / 32, HC_WALK_PIXELS = 16 };

struct HcWalk {
    int32_t log_span; /* lanes that share the bands of a stretch, as a power of two */
    int32_t across;   /* warps side by side for the bands of a stretch */
    int32_t along;    /* warps one after another for the stretches of a line */
};

static inline HcWalk hc_walk(const HcView &out) {
    HcWalk walk = {0, 0, 0};
    while ((1 << walk.log_span) < out.bands && walk.log_span < 5) {
        walk.log_span++;
    }
    walk.across = (int32_t)hc_div_up(out.bands, 1 << walk.log_span);
    walk.along = (int32_t)hc_div_up(out.samples, (int64_t)HC_WALK_PIXELS << (5 - walk.log_span));
    return walk;
}

static inline unsigned hc_walk_blocks(const HcWalk &walk, const HcView &out) {
    return (unsigned)(hc_div_up(out.rows, HC_WALK_LINES) * walk.along * walk.across);
}

/* What a thread takes: nothing where `sample` is not below `end`. */
struct HcStretch {
    int64_t row; /* of the output */
    int32_t sample, end, band;
};

__device__ static inline HcStretch hc_stretch(const HcWalk &walk, const HcView &out) {
    uint32_t unit = blockIdx.x / (uint32_t)walk.across;
    int lane = (int)threadIdx.x % 32;
    int64_t band =
        (int64_t)(blockIdx.x % (uint32_t)walk.across << walk.log_span) + (lane & ((1 << walk.log_span) - 1));
    int64_t stretch = (int64_t)(unit % (uint32_t)walk.along << (5 - walk.log_span)) + (lane >> walk.log_span);
    int64_t row = (int64_t)(unit / (uint32_t)walk.along) * HC_WALK_LINES + threadIdx.x / 32;
    int64_t sample = stretch * HC_WALK_PIXELS;
    if (row >= out.rows || sample >= out.samples || band >= out.bands) {
        return {0, 0, 0, 0};
    }
    int64_t end = sample + HC_WALK_PIXELS < out.samples ? sample + HC_WALK_PIXELS : out.samples;
    return {row, (int32_t)sample, (int32_t)end, (int32_t)band};
}

/* One band of the lines above, here and below; NULL where the block does not have them. */
struct HcRows {
    const float *values[3];
    const uint8_t *masks[3];
    int32_t samples, bands;
};

__device__ static inline HcRows hc_rows(const HcView &in, int64_t row, int32_t band) {
    HcRows rows;
    rows.samples = in.samples;
    rows.bands = in.bands;
    for (int r = 0; r < 3; r++) {
        int64_t at = (row + r - 1) * in.samples;
        bool there = row + r >= 1 && row + r - 1 < in.rows;
        rows.values[r] = there ? in.data + at * in.bands + band : NULL;
        rows.masks[r] = there ? in.mask + at : NULL;
    }
    return rows;
}

/* The values of one sample in the three lines, 0 where masked or not there. */
struct HcColumn {
    float values[3];
    uint32_t valid; /* bit r: values[r] is */
    double sum;
};

__device__ static inline HcColumn hc_column(const HcRows &rows, int32_t sample) {
    HcColumn column = {{0, 0, 0}, 0, 0};
    bool inside = sample >= 0 && sample < rows.samples;
#pragma unroll
    for (int r = 0; r < 3; r++) {
        if (inside && rows.masks[r] != NULL) {
            float value = __ldg(rows.values[r] + (int64_t)sample * rows.bands);
            bool valid = __ldg(rows.masks[r] + sample) != 0;
            column.values[r] = valid ? value : 0;
            column.valid |= (uint32_t)valid << r;
        }
    }
    column.sum = (double)column.values[0] + (double)column.values[1] + (double)column.values[2];
    return column;
}

/* Fills the pixels of a stretch from the three columns around each: value_of(left, here, right, &valid),
 * where `valid` becomes whether the pixel is. */
template <int UNROLL, typename Value>
__device__ static inline void hc_walk_windows(const HcView &in, const HcView &out, const HcWalk &walk,
                                              int64_t skip, Value value_of) {
    HcStretch at = hc_stretch(walk, out);
    if (at.sample >= at.end) {
        return;
    }
    HcRows rows = hc_rows(in, at.row + skip, at.band);
    HcColumn left = hc_column(rows, at.sample - 1);
    HcColumn here = hc_column(rows, at.sample);
    int64_t pixel = at.row * out.samples;
#pragma unroll UNROLL
    for (int32_t s = at.sample; s < at.end; s++) {
        HcColumn right = hc_column(rows, s + 1);
        bool valid = false;
        out.data[(pixel + s) * out.bands + at.band] = value_of(left, here, right, &valid);
        if (at.band == 0) {
            out.mask[pixel + s] = valid;
        }
        left = here;
        here = right;
    }
}

/* value / 9, rounded as a division is: 1/9 is rounded to nearest and the first quotient is off by less than
 * one unit of its last place, so that one step with the exact remainder ends at the nearest (Markstein). */
__device__ static inline double hc_ninth(double value) {
    const double reciprocal = 1.0 / 9.0;
    double quotient = value * reciprocal;
    double remainder = fma(-9.0, quotient, value);
    return value == 0 ? value : fma(remainder, reciprocal, quotient);
}

#endif
