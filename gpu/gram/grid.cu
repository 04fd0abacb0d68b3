/* Float scenes on their grid: values become whole numbers and these limbs (gram.cuh), differences are those
 * of whole numbers. */
#include "gpu/gram/grid.cuh"

enum {
    THREADS = 256,
    WARPS = THREADS / 32,
    WORDS = HC_TILE_PIXELS / 4 /* a word holds a limb of four pixels */
};

/* ---- values to limbs ---- */

/* Pixels around a patch that its differences look at. */
template <HcDifference KIND> struct Around {
    static const bool all = KIND == HC_DIFFERENCE_MEAN3X3 || KIND == HC_DIFFERENCE_MEDIAN3X3;
    static const int32_t above = all ? 1 : 0;
    static const int32_t below = all || KIND == HC_DIFFERENCE_SHIFT_DIAGONAL ? 1 : 0;
    static const int32_t left = all ? 1 : 0;
    static const int32_t right = KIND != HC_DIFFERENCE_NONE ? 1 : 0;
    static const int32_t rows = HC_PATCH + above + below;
    static const int32_t columns = HC_PATCH + left + right;
};

/* What a thread loads its patch by. */
template <HcDifference KIND> struct Patch {
    const float *data;                     /* of the band, in the pixel that columns count from */
    int64_t line, row0;                    /* floats in a row of the view; its row above the patch */
    int32_t column[Around<KIND>::columns]; /* floats to it */
};

/* The patch of a warp. Pixels outside the view are taken from its border: nobody uses them. */
template <HcDifference KIND>
__device__ static inline Patch<KIND> patch_of(const HcGramJob &job, const HcTiling &tiling,
                                              const HcPixelPlace &corner, int32_t warp, int32_t band) {
    Patch<KIND> patch;
    const HcView &view = job.in;
    patch.line = (int64_t)view.samples * view.bands;
    if constexpr (KIND == HC_DIFFERENCE_NONE) {
        const int64_t pixel = (job.first_row + corner.row) * view.samples + corner.sample;
        patch.row0 = 0;
        patch.data = view.data + (pixel + warp * HC_PATCH_PIXELS) * view.bands + band;
    } else {
        const int64_t last = view.samples - 1;
        const HcPixelPlace place = hc_grid_place(job, tiling, corner, warp * HC_PATCH_PIXELS);
        const int64_t from = min(place.sample, last);
        patch.row0 = job.first_row + place.row - Around<KIND>::above;
        patch.data = view.data + from * view.bands + band;
#pragma unroll
        for (int32_t c = 0; c < Around<KIND>::columns; c++) {
            const int64_t at = min(max(place.sample + c - Around<KIND>::left, (int64_t)0), last);
            patch.column[c] = (int32_t)(at - from) * view.bands;
        }
    }
    return patch;
}

/* valid: bytes of the four pixels of the row. */
template <HcDifference KIND>
__device__ static inline void load_row(const HcView &view, const Patch<KIND> &patch, int32_t row,
                                       uint32_t valid, float x[Around<KIND>::columns]) {
    if constexpr (KIND == HC_DIFFERENCE_NONE) { /* pixels in their order */
#pragma unroll
        for (int32_t c = 0; c < HC_PATCH; c++) {
            x[c] = (valid >> 8 * c & 1) != 0 ? patch.data[(int64_t)(row * HC_PATCH + c) * view.bands] : 0.0F;
        }
    } else {
        const int64_t at = min(max(patch.row0 + row, (int64_t)0), view.rows - 1);
        const float *from = patch.data + at * patch.line;
#pragma unroll
        for (int32_t c = 0; c < Around<KIND>::columns; c++) {
            x[c] = from[patch.column[c]];
        }
    }
}

/* The last three rows of the neighbourhood, in places 0 to 2 by turns: as they are for medians, else on the
 * grid. */
template <HcDifference KIND> struct Rows {
    float x[3][Around<KIND>::columns];
    double whole[3][Around<KIND>::columns];
};

/* The differences of a row of four pixels whose neighbourhood ends with row `last`; for values themselves
 * what has yet to be rounded. */
template <HcDifference KIND>
__device__ static inline void differences(const Rows<KIND> &rows, int32_t last, double center, double scale,
                                          double out[HC_PATCH]) {
    const int32_t end = last % 3;
    const int32_t mid = (last + 2) % 3;
    const int32_t first = (last + 1) % 3;
    if constexpr (KIND == HC_DIFFERENCE_NONE) {
#pragma unroll
        for (int32_t c = 0; c < HC_PATCH; c++) {
            out[c] = __dmul_rn(__dsub_rn((double)rows.x[end][c], center), scale);
        }
    } else if constexpr (KIND == HC_DIFFERENCE_MEAN3X3) {
        double sum[HC_PATCH + 2];
#pragma unroll
        for (int32_t c = 0; c < HC_PATCH + 2; c++) {
            sum[c] = __dadd_rn(__dadd_rn(rows.whole[first][c], rows.whole[mid][c]), rows.whole[end][c]);
        }
#pragma unroll
        for (int32_t c = 0; c < HC_PATCH; c++) {
            out[c] = __dsub_rn(__dmul_rn(9.0, rows.whole[mid][c + 1]),
                               __dadd_rn(__dadd_rn(sum[c], sum[c + 1]), sum[c + 2]));
        }
    } else if constexpr (KIND == HC_DIFFERENCE_MEDIAN3X3) {
        /* Greater values never become smaller whole numbers: the median's number is the numbers' median. */
        float pair[2 * HC_PATCH];
        double whole[2 * HC_PATCH];
#pragma unroll
        for (int32_t c = 0; c < HC_PATCH; c++) {
            pair[2 * c] = rows.x[mid][c + 1];
            pair[2 * c + 1] = hc_middle_of_nine(rows.x[first][c], rows.x[first][c + 1], rows.x[first][c + 2],
                                                rows.x[mid][c], rows.x[mid][c + 1], rows.x[mid][c + 2],
                                                rows.x[end][c], rows.x[end][c + 1], rows.x[end][c + 2]);
        }
        hc_all_on_grid<2 * HC_PATCH>(pair, center, scale, whole);
#pragma unroll
        for (int32_t c = 0; c < HC_PATCH; c++) {
            out[c] = __dsub_rn(whole[2 * c], whole[2 * c + 1]);
        }
    } else {
        const int32_t here = KIND == HC_DIFFERENCE_SHIFT ? end : mid;
#pragma unroll
        for (int32_t c = 0; c < HC_PATCH; c++) {
            out[c] = __dsub_rn(rows.whole[here][c], rows.whole[end][c + 1]);
        }
    }
}

/* Tile (y, x) of 128 pixels and 32 bands: a lane a band, a warp a patch. */
template <HcDifference KIND>
__global__ void __launch_bounds__(THREADS, KIND == HC_DIFFERENCE_NONE ? 4 : 3)
    split_grid(HcGramJob job, HcTiling tiling, int64_t first, HcExact exact) {
    __shared__ uint32_t words[HC_LIMBS_GRID][HC_TILE_BANDS][WORDS + 1];
    __shared__ int64_t sums[WARPS][32];
    __shared__ uint32_t marked;                           /* what was seen, as bits */
    __shared__ uint32_t valid[HC_TILE_PIXELS / HC_PATCH]; /* a byte a pixel */
    const int64_t tile = blockIdx.y;
    const int32_t warp = threadIdx.x / 32;
    const int32_t lane = threadIdx.x % 32;
    const int32_t band = blockIdx.x * HC_TILE_BANDS + lane;
    const bool there = band < job.in.bands;
    const HcPixelPlace corner = hc_grid_corner(job, tiling, first + tile);
    bool ok = false;
    if (threadIdx.x == 0) {
        marked = 0;
    }
    if (threadIdx.x < HC_TILE_PIXELS) {
        ok = hc_grid_used(job, KIND, hc_grid_place(job, tiling, corner, (int32_t)threadIdx.x));
        ((uint8_t *)valid)[threadIdx.x] = ok;
    }
    const int32_t count = __syncthreads_count(ok);
    if (blockIdx.x == 0 && threadIdx.x == 0 && count > 0) {
        atomicAdd((unsigned long long *)exact.count, (unsigned long long)count);
    }

    const int32_t band_there = there ? band : job.in.bands - 1;
    const double center = exact.center[band_there];
    const double scale = exact.scale[band_there];
    const uint32_t *valid_rows = valid + warp * HC_PATCH;
    const Patch<KIND> patch = patch_of<KIND>(job, tiling, corner, warp, band_there);
    Rows<KIND> rows;
    HcGridSeen seen = {};
    float next[Around<KIND>::columns];
    load_row<KIND>(job.in, patch, 0, valid_rows[0], next);
#pragma unroll
    for (int32_t last = 0; last < Around<KIND>::rows; last++) {
        const int32_t r = last - Around<KIND>::above - Around<KIND>::below;
#pragma unroll
        for (int32_t c = 0; c < Around<KIND>::columns; c++) {
            rows.x[last % 3][c] = next[c];
        }
        if (last + 1 < Around<KIND>::rows) {
            load_row<KIND>(job.in, patch, last + 1, valid_rows[(last + 1) % HC_PATCH], next);
        }
        if constexpr (KIND != HC_DIFFERENCE_NONE && KIND != HC_DIFFERENCE_MEDIAN3X3) {
            hc_all_on_grid<Around<KIND>::columns>(rows.x[last % 3], center, scale, rows.whole[last % 3]);
        }
        if (r >= 0) {
            double value[HC_PATCH];
            double moved[HC_PATCH];
            uint32_t word[HC_LIMBS_GRID];
            differences<KIND>(rows, last, center, scale, value);
#pragma unroll
            for (int32_t c = 0; c < HC_PATCH; c++) {
                moved[c] = __dadd_rn(value[c], hc_grid_mover);
            }
            hc_grid_limbs(
                moved, there ? valid_rows[r] : 0, [&](int32_t c) { return value[c]; }, &seen, word);
            seen.fifth |= word[HC_LIMBS_GRID - 1];
#pragma unroll
            for (int32_t limb = 0; limb < HC_LIMBS_GRID; limb++) {
                words[limb][lane][warp * HC_PATCH + r] = word[limb];
            }
        }
    }
    sums[warp][lane] = (int64_t)seen.sum;
    const uint32_t warp_bits = hc_grid_any(hc_grid_seen_bits(seen));
    if (lane == 0) {
        atomicOr(&marked, warp_bits);
    }
    __syncthreads();
    const int32_t tile_needs = hc_grid_needs(marked);
    const int32_t needs = tile_needs & ~HC_NEEDS_FAR;
    if (threadIdx.x == 0) {
        exact.needs[tile * gridDim.x + blockIdx.x] = (uint8_t)tile_needs;
    }
    if (warp == 0) {
        int64_t total = 0;
        for (int32_t w = 0; w < WARPS; w++) {
            total += sums[w][lane];
        }
        if (total != 0) {
            atomicAdd((unsigned long long *)&exact.sum[band], (unsigned long long)total);
        }
    }
    /* Limbs that are 0 throughout are not written: nobody reads them there. */
    const int32_t to_row = threadIdx.x / 8;
    const int32_t chunk = threadIdx.x % 8; /* of 16 bytes, over both steps */
    int8_t *to = exact.panel +
                 hc_panel_at<HC_LIMBS_GRID>(exact, tile * HC_TILE_STEPS + chunk / 4, (int32_t)blockIdx.x) +
                 hc_swizzled(to_row, chunk % 4);
    for (int32_t limb = 0; limb < needs; limb++) {
        const uint32_t *from = &words[limb][to_row][chunk * 4];
        *(uint4 *)(to + limb * HC_SIDE_LIMB_BYTES) = make_uint4(from[0], from[1], from[2], from[3]);
    }
}

/* ---- the operation ---- */

/* Tiles of the shape that wastes least at the borders; squarer ones have fewer neighbours to load. */
HcTiling hc_grid_tiling(const HcGramJob *job) {
    HcTiling best = {hc_div_up(job->rows * job->in.samples, HC_TILE_PIXELS), 0, 0};
    if (job->kind == HC_DIFFERENCE_NONE) {
        return best;
    }
    best.tiles = INT64_MAX;
    for (int32_t bits : {2, 1, 3, 0}) {
        int64_t columns = hc_div_up(job->in.samples, HC_PATCH << bits);
        int64_t tiles = columns * hc_div_up(job->rows, HC_PATCH * WARPS >> bits);
        if (tiles < best.tiles) {
            best = {tiles, (int32_t)columns, bits};
        }
    }
    return best;
}

template <HcDifference KIND>
static void launch_split(HcQueue *queue, const HcGramJob *job, const HcTiling *tiling, int64_t first,
                         int64_t tiles, const HcExact *to) {
    dim3 grid((unsigned)(to->padded / HC_TILE_BANDS), (unsigned)tiles);
    split_grid<KIND><<<grid, THREADS, 0, queue->stream>>>(*job, *tiling, first, *to);
}

HcStatus hc_grid_split(HcQueue *queue, const HcGramJob *job, const HcTiling *tiling, int64_t first,
                       int64_t tiles, const HcExact *to, HcError *err) {
    switch (job->kind) {
    case HC_DIFFERENCE_NONE:
        launch_split<HC_DIFFERENCE_NONE>(queue, job, tiling, first, tiles, to);
        break;
    case HC_DIFFERENCE_MEAN3X3:
        launch_split<HC_DIFFERENCE_MEAN3X3>(queue, job, tiling, first, tiles, to);
        break;
    case HC_DIFFERENCE_MEDIAN3X3:
        launch_split<HC_DIFFERENCE_MEDIAN3X3>(queue, job, tiling, first, tiles, to);
        break;
    case HC_DIFFERENCE_SHIFT:
        launch_split<HC_DIFFERENCE_SHIFT>(queue, job, tiling, first, tiles, to);
        break;
    case HC_DIFFERENCE_SHIFT_DIAGONAL:
        launch_split<HC_DIFFERENCE_SHIFT_DIAGONAL>(queue, job, tiling, first, tiles, to);
        break;
    }
    HC_OR_RETURN(hc_gpu_launched("taking values apart", err));
    return hc_far_add(queue, job, tiling, first, tiles, to, err);
}
