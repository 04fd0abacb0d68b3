/* Blocks to limbs (gram.cuh says how): values, or differences of neighbours. Those of integers are as they
 * are; those of floats are whole numbers on their grid. A thread loads all that its patch looks at before it
 * is known which pixels count: else one wait would follow the other. */
#include "gpu/gram/grid.cuh"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
enum { ALONE = 4 }; /* a multiprocessor has 1024 threads there */
#else
enum { ALONE = 5 }; /* thread blocks a multiprocessor, of integers without neighbours */
#endif

enum {
    THREADS = 256,
    WARPS = THREADS / 32,
    WORDS = HC_TILE_PIXELS / 4 /* a word holds a limb of four pixels */
};

/* ---- numbers to limbs ---- */

/* 1.5 * 2^23: adding it leaves the integer in the low bits. */
static const float integer = 12582912.0F;
static const uint32_t integer_bits = 0x4B400000;

/* What a thread keeps of its band. */
struct Integers {
    enum { LIMBS = HC_LIMBS_INTEGERS };
    typedef float Number;
    float limit;
    float wrong; /* that breaks the promise */
    uint32_t mover, third;
    int32_t sum;

    __device__ inline Integers(const HcExact &exact, int32_t, int64_t most)
        : limit((float)most), wrong(0), mover(hc_limb_mover - (uint32_t)exact.offset - integer_bits),
          third(0), sum(0) {
    }
    template <int COUNT> __device__ inline void whole(const float x[COUNT], float out[COUNT]) const {
#pragma unroll
        for (int32_t k = 0; k < COUNT; k++) {
            out[k] = x[k];
        }
    }
    __device__ inline float number(float x) const {
        return x;
    }
    __device__ inline bool keeps_promise(float x) const {
        return fabsf(x) <= limit & x + integer - integer == x;
    }
    /* Those of four numbers; valid: a byte a number, 0 or 1. Those that count must keep the promise. */
    __device__ inline void limbs(const float value[HC_PATCH], uint32_t valid, uint32_t word[LIMBS]) {
        uint32_t moved[HC_PATCH];
        bool fine = true;
#pragma unroll
        for (int32_t c = 0; c < HC_PATCH; c++) {
            moved[c] = (uint32_t)__float_as_int(value[c] + integer) + mover;
            fine &= keeps_promise(value[c]);
        }
        if (!fine) {
#pragma unroll
            for (int32_t c = 0; c < HC_PATCH; c++) {
                wrong = (valid >> 8 * c & 1) == 0 || keeps_promise(value[c]) ? wrong : value[c];
            }
        }
        sum += hc_take_limbs(moved, valid * 0xFFU, word);
        third |= word[2];
    }
    __device__ inline uint32_t seen_bits(void) const {
        return third != 0 ? HC_GRID_THIRD : 0U;
    }
    __device__ inline int64_t total(HcFault *fault) const {
        if (wrong != 0) {
            hc_raise(fault, HC_E_NUMERIC, HC_FAULT_PROMISE, (double)wrong, (int64_t)limit);
        }
        return sum;
    }
};

struct Grid {
    enum { LIMBS = HC_LIMBS_GRID };
    typedef double Number;
    double center, scale;
    HcGridSeen seen;

    __device__ inline Grid(const HcExact &exact, int32_t band, int64_t)
        : center(exact.center[band]), scale(exact.scale[band]), seen() {
    }
    template <int COUNT> __device__ inline void whole(const float x[COUNT], double out[COUNT]) const {
        (void)hc_all_on_grid<COUNT>(x, center, scale, out);
    }
    /* Has yet to be rounded. */
    __device__ inline double number(float x) const {
        return __dmul_rn(__dsub_rn((double)x, center), scale);
    }
    __device__ inline void limbs(const double value[HC_PATCH], uint32_t valid, uint32_t word[LIMBS]) {
        double moved[HC_PATCH];
#pragma unroll
        for (int32_t c = 0; c < HC_PATCH; c++) {
            moved[c] = __dadd_rn(value[c], hc_grid_mover);
        }
        hc_grid_limbs(
            moved, valid, [&](int32_t c) { return value[c]; }, &seen, word);
        seen.fifth |= word[HC_LIMBS_GRID - 1];
    }
    __device__ inline uint32_t seen_bits(void) const {
        return hc_grid_seen_bits(seen);
    }
    __device__ inline int64_t total(HcFault *) const {
        return (int64_t)seen.sum;
    }
};

/* ---- values to numbers ---- */

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
    int32_t row0;                          /* of the view, above the patch */
    int32_t column[Around<KIND>::columns]; /* floats to it */
    int32_t last;                          /* pixel of a run that is there */
};

/* The patch of a warp. Pixels outside the view are taken from its border: nobody uses them. */
template <HcDifference KIND>
__device__ static inline Patch<KIND> patch_of(const HcGramJob &job, const HcTiling &tiling, int64_t tile,
                                              int32_t warp, int32_t band) {
    Patch<KIND> patch;
    const HcView &view = job.in;
    if constexpr (KIND == HC_DIFFERENCE_NONE) {
        const int64_t last = view.rows * view.samples - 1;
        const int64_t pixel = job.first_row * view.samples + tile * HC_TILE_PIXELS + warp * HC_PATCH_PIXELS;
        patch.last = (int32_t)min(max(last - pixel, (int64_t)0), (int64_t)HC_PATCH_PIXELS);
        patch.data = view.data + min(pixel, last) * view.bands + band;
    } else {
        const HcPixelPlace corner = hc_grid_corner(job, tiling, tile);
        const HcPixelPlace place = hc_grid_place(job, tiling, corner, warp * HC_PATCH_PIXELS);
        const int32_t last = view.samples - 1;
        const int32_t from = min((int32_t)place.sample, last);
        patch.row0 = (int32_t)(job.first_row + place.row) - Around<KIND>::above;
        patch.data = view.data + (int64_t)from * view.bands + band;
#pragma unroll
        for (int32_t c = 0; c < Around<KIND>::columns; c++) {
            const int32_t at = min(max((int32_t)place.sample + c - Around<KIND>::left, 0), last);
            patch.column[c] = (at - from) * view.bands;
        }
    }
    return patch;
}

template <HcDifference KIND>
__device__ static inline void load_row(const HcView &view, const Patch<KIND> &patch, int32_t row,
                                       float x[Around<KIND>::columns]) {
    if constexpr (KIND == HC_DIFFERENCE_NONE) { /* pixels in their order */
#pragma unroll
        for (int32_t c = 0; c < HC_PATCH; c++) {
            x[c] = patch.data[min(row * HC_PATCH + c, patch.last) * view.bands];
        }
    } else {
        const int64_t line = (int64_t)view.samples * view.bands;
        const float *from = patch.data + min(max(patch.row0 + row, 0), (int32_t)view.rows - 1) * line;
        asm("" : "+l"(from)); /* else it is computed for each column */
#pragma unroll
        for (int32_t c = 0; c < Around<KIND>::columns; c++) {
            x[c] = __ldg(from + patch.column[c]);
        }
    }
}

/* The numbers of four pixels whose neighbourhood ends with row `last` of the patch. whole: its last three
 * rows, in places 0 to 2 by turns. */
template <HcDifference KIND, class Form, typename Number>
__device__ static inline void
differences(const Form &form, const float x[Around<KIND>::rows][Around<KIND>::columns],
            const Number whole[3][Around<KIND>::columns], int32_t last, Number out[HC_PATCH]) {
    const int32_t end = last % 3;
    const int32_t mid = (last + 2) % 3;
    const int32_t first = (last + 1) % 3;
    if constexpr (KIND == HC_DIFFERENCE_NONE) {
#pragma unroll
        for (int32_t c = 0; c < HC_PATCH; c++) {
            out[c] = form.number(x[last][c]);
        }
    } else if constexpr (KIND == HC_DIFFERENCE_MEAN3X3) {
        Number sum[HC_PATCH + 2];
#pragma unroll
        for (int32_t c = 0; c < HC_PATCH + 2; c++) {
            sum[c] = whole[first][c] + whole[mid][c] + whole[end][c];
        }
#pragma unroll
        for (int32_t c = 0; c < HC_PATCH; c++) {
            out[c] = 9 * whole[mid][c + 1] - (sum[c] + sum[c + 1] + sum[c + 2]);
        }
    } else if constexpr (KIND == HC_DIFFERENCE_MEDIAN3X3) {
        /* Greater values never become smaller whole numbers: the median's number is the numbers' median. */
        float pair[2 * HC_PATCH];
        Number number[2 * HC_PATCH];
#pragma unroll
        for (int32_t c = 0; c < HC_PATCH; c++) {
            pair[2 * c] = x[last - 1][c + 1];
            pair[2 * c + 1] = hc_middle_of_nine(x[last - 2][c], x[last - 2][c + 1], x[last - 2][c + 2],
                                                x[last - 1][c], x[last - 1][c + 1], x[last - 1][c + 2],
                                                x[last][c], x[last][c + 1], x[last][c + 2]);
        }
        form.template whole<2 * HC_PATCH>(pair, number);
#pragma unroll
        for (int32_t c = 0; c < HC_PATCH; c++) {
            out[c] = number[2 * c] - number[2 * c + 1];
        }
    } else {
        const int32_t here = KIND == HC_DIFFERENCE_SHIFT ? end : mid;
#pragma unroll
        for (int32_t c = 0; c < HC_PATCH; c++) {
            out[c] = whole[here][c] - whole[end][c + 1];
        }
    }
}

/* Tile (y, x) of 128 pixels and 32 bands: a lane a band, a warp a patch. */
template <class Form, HcDifference KIND>
__global__ void __launch_bounds__(THREADS,
                                  KIND == HC_DIFFERENCE_NONE ? (Form::LIMBS < HC_LIMBS_GRID ? ALONE : 4) : 3)
    split(HcGramJob job, HcTiling tiling, int64_t first_tile, HcExact exact, int64_t limit, HcFault *fault) {
    __shared__ uint32_t words[Form::LIMBS][HC_TILE_BANDS][WORDS + 1];
    __shared__ int64_t sums[WARPS][32];
    __shared__ uint32_t marked;                           /* what was seen, as bits */
    __shared__ uint32_t valid[HC_TILE_PIXELS / HC_PATCH]; /* a byte a pixel */
    const int32_t EARLY_ROWS =
        Form::LIMBS == HC_LIMBS_GRID && KIND != HC_DIFFERENCE_NONE ? 3 : Around<KIND>::rows;
    const int64_t tile = blockIdx.y;
    const int32_t warp = threadIdx.x / 32;
    const int32_t lane = threadIdx.x % 32;
    const int32_t band = blockIdx.x * HC_TILE_BANDS + lane;
    const bool there = band < job.in.bands;
    const int32_t band_there = there ? band : job.in.bands - 1;
    float x[Around<KIND>::rows][Around<KIND>::columns];
    bool ok = false;
    __builtin_assume((tiling.columns == 0) == (KIND == HC_DIFFERENCE_NONE));
    Form form(exact, band_there, limit);
    const Patch<KIND> patch = patch_of<KIND>(job, tiling, first_tile + tile, warp, band_there);
#pragma unroll
    for (int32_t r = 0; r < EARLY_ROWS; r++) {
        load_row<KIND>(job.in, patch, r, x[r]);
    }
    if (threadIdx.x == 0) {
        marked = 0;
    }
    if (threadIdx.x < HC_TILE_PIXELS) {
        const HcPixelPlace corner = hc_grid_corner(job, tiling, first_tile + tile);
        ok = hc_grid_used(job, KIND, hc_grid_place(job, tiling, corner, (int32_t)threadIdx.x));
        ((uint8_t *)valid)[threadIdx.x] = ok;
    }
    const int32_t count = __syncthreads_count(ok);
    if (blockIdx.x == 0 && threadIdx.x == 0 && count > 0) {
        atomicAdd((unsigned long long *)exact.count, (unsigned long long)count);
    }

    typename Form::Number whole[3][Around<KIND>::columns];
#pragma unroll
    for (int32_t last = 0; last < Around<KIND>::rows; last++) {
        const int32_t r = last - Around<KIND>::above - Around<KIND>::below;
        if constexpr (KIND != HC_DIFFERENCE_NONE && KIND != HC_DIFFERENCE_MEDIAN3X3) {
            form.template whole<Around<KIND>::columns>(x[last], whole[last % 3]);
        }
        if (last + EARLY_ROWS < Around<KIND>::rows) {
            load_row<KIND>(job.in, patch, last + EARLY_ROWS, x[last + EARLY_ROWS]);
        }
        if (r >= 0) {
            typename Form::Number value[HC_PATCH];
            differences<KIND>(form, x, whole, last, value);
            uint32_t word[Form::LIMBS];
            form.limbs(value, there ? valid[warp * HC_PATCH + r] : 0, word);
#pragma unroll
            for (int32_t limb = 0; limb < Form::LIMBS; limb++) {
                words[limb][lane][warp * HC_PATCH + r] = word[limb];
            }
        }
    }
    sums[warp][lane] = form.total(fault);
    const uint32_t warp_bits = hc_grid_any(form.seen_bits());
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
                 hc_panel_at<Form::LIMBS>(exact, tile * HC_TILE_STEPS + chunk / 4, (int32_t)blockIdx.x) +
                 hc_swizzled(to_row, chunk % 4);
#pragma unroll
    for (int32_t limb = 0; limb < Form::LIMBS; limb++) {
        if (limb < needs) {
            const uint32_t *from = &words[limb][to_row][chunk * 4];
            *(uint4 *)(to + limb * HC_SIDE_LIMB_BYTES) = make_uint4(from[0], from[1], from[2], from[3]);
        }
    }
}

/* ---- the operation ---- */

/* Tiles of the shape that wastes least at the borders; squarer ones have fewer neighbours to load. */
HcTiling hc_block_tiling(const HcGramJob *job) {
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

template <class Form>
static void launch(HcQueue *queue, const HcGramJob *job, const HcTiling *tiling, int64_t first, int64_t tiles,
                   const HcExact *to, int64_t limit) {
    const dim3 grid((unsigned)(to->padded / HC_TILE_BANDS), (unsigned)tiles);
    const auto go = [&](auto *kernel) {
        kernel<<<grid, THREADS, 0, queue->stream>>>(*job, *tiling, first, *to, limit, queue->fault_device);
    };
    switch (job->kind) {
    case HC_DIFFERENCE_NONE:
        go(split<Form, HC_DIFFERENCE_NONE>);
        break;
    case HC_DIFFERENCE_MEAN3X3:
        go(split<Form, HC_DIFFERENCE_MEAN3X3>);
        break;
    case HC_DIFFERENCE_MEDIAN3X3:
        go(split<Form, HC_DIFFERENCE_MEDIAN3X3>);
        break;
    case HC_DIFFERENCE_SHIFT:
        go(split<Form, HC_DIFFERENCE_SHIFT>);
        break;
    case HC_DIFFERENCE_SHIFT_DIAGONAL:
        go(split<Form, HC_DIFFERENCE_SHIFT_DIAGONAL>);
        break;
    }
}

HcStatus hc_block_split(HcQueue *queue, const HcGramJob *job, const HcTiling *tiling, int64_t first,
                        int64_t tiles, const HcExact *to, int64_t limit, HcError *err) {
    if (to->limbs != HC_LIMBS_GRID) {
        launch<Integers>(queue, job, tiling, first, tiles, to, limit);
        return hc_gpu_launched("taking values apart", err);
    }
    launch<Grid>(queue, job, tiling, first, tiles, to, limit);
    HC_OR_RETURN(hc_gpu_launched("taking values apart", err));
    return hc_far_add(queue, job, tiling, first, tiles, to, err);
}
