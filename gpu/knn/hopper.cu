/* Candidates on Hopper's matrix units (wgmma): what find_candidates() of knn.cu finds, here by limbs.
 *
 * The limbs of a thread block's pixels stay in shared memory. One thread brings training spectra, a step of
 * 64 at a time, into a ring of slots. Each group of four warps has 64 pixels of its own. Groups multiply in
 * turn: one has the matrix units while the others look through their products. A warp has 16 pixels with all
 * of the 64 spectra: their lists, thresholds and counts are its own. */
#include "gpu/knn/knn.cuh"
#include "gpu/knn/lists.cuh"

namespace {

enum {
    GROUPS_MAX = 4,
    SLOTS_MAX = 12,
    SUMS = UNIT * UNIT / 128, /* of a thread */
    SHORT = 16,               /* candidates of a lane that four lanes prune alone */
    FILLED = 1 << 20,         /* more than a list takes */
    SPARE_BYTES = 4096        /* of shared memory: barriers, and where the ring begins */
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/* Rows of 128 bytes, their 16-byte parts where place() says. */
__device__ inline uint64_t matrix_at(const char *shared) {
    return (uint64_t)((hc_shared_address(shared) & 0x3FFFF) >> 4) | (uint64_t)1 << 16 |
           (uint64_t)(8 * ROW_BYTES >> 4) << 32 | (uint64_t)1 << 62;
}

/* sum[64][64] += a[64][32] b[64][32]' by four warps; finished after the group is waited for. */
__device__ inline void multiply(int32_t sum[SUMS], uint64_t a, uint64_t b, int32_t adds) {
    asm volatile("{\n.reg .pred adds;\nsetp.ne.s32 adds, %34, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8 "
                 "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
                 "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, %32, %33, adds;\n}"
                 : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3]), "+r"(sum[4]), "+r"(sum[5]),
                   "+r"(sum[6]), "+r"(sum[7]), "+r"(sum[8]), "+r"(sum[9]), "+r"(sum[10]), "+r"(sum[11]),
                   "+r"(sum[12]), "+r"(sum[13]), "+r"(sum[14]), "+r"(sum[15]), "+r"(sum[16]), "+r"(sum[17]),
                   "+r"(sum[18]), "+r"(sum[19]), "+r"(sum[20]), "+r"(sum[21]), "+r"(sum[22]), "+r"(sum[23]),
                   "+r"(sum[24]), "+r"(sum[25]), "+r"(sum[26]), "+r"(sum[27]), "+r"(sum[28]), "+r"(sum[29]),
                   "+r"(sum[30]), "+r"(sum[31])
                 : "l"(a), "l"(b), "r"(adds));
}

/* The compiler keeps what it does with the sums out of the products. */
__device__ inline void hold(float sum[SUMS]) {
#pragma unroll
    for (int32_t i = 0; i < SUMS; i++) {
        asm volatile("" : "+f"(sum[i])::"memory");
    }
}

__device__ inline void hold(int32_t sum[2][SUMS]) {
#pragma unroll
    for (int32_t i = 0; i < SUMS; i++) {
        asm volatile("" : "+r"(sum[0][i]), "+r"(sum[1][i])::"memory");
    }
}

/* Begins to add the products of the first 32 PARTS bands of a step: high high to the first sums, high low and
 * low high to the others. */
template <int PARTS>
__device__ inline void begin_step(int32_t s, const char *pixels, const char *spectra, int32_t sum[2][SUMS]) {
    const uint64_t factor[2] = {matrix_at(pixels), matrix_at(spectra)};
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int32_t k = 0; k < PARTS; k++) {
#pragma unroll
        for (int32_t product = 0; product < 3; product++) {
            multiply(sum[product > 0], factor[0] + ((product == 2 ? LIMB_STEP : 0) + 32 * k) / 16,
                     factor[1] + ((product == 1 ? LIMB_STEP : 0) + 32 * k) / 16, s + k + (product == 2));
        }
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/* Waits until at most RUNNING steps are not finished. */
template <int RUNNING> __device__ inline void wait_for_steps() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(RUNNING) : "memory");
}

/* What a lane knows of its two pixels, rows lane / 4 and lane / 4 + 8 of the warp's. Four lanes have the same
 * pixels, and each fills every fourth place of their lists. */
struct Rows {
    int64_t row;       /* the first */
    HcCandidate *list; /* of the first: the lane's first place */
    float threshold[2], ahead[2];
    float factor[2];  /* of half squares */
    int32_t found[2]; /* by this lane; FILLED: compare with all */

    __device__ HcCandidate *list_of(int32_t r) const {
        return list + r * 8 * CANDIDATES_MAX;
    }
};

/* The similarities of a unit whose first training spectrum of this lane is `first`. */
__device__ inline void compare(const HcTraining &training, int32_t first, const int32_t sum[2][SUMS],
                               const Rows &rows, float similarity[SUMS]) {
#pragma unroll
    for (int32_t n = 0; n < UNIT / 8; n++) {
        const float4 both = *(const float4 *)(training.known + first + n * 8);
        const HcKnown known[2] = {{both.x, both.y}, {both.z, both.w}};
#pragma unroll
        for (int32_t i = 0; i < 4; i++) {
            const float product = (float)(sum[0][n * 4 + i] * 256 + sum[1][n * 4 + i]);
            similarity[n * 4 + i] = fmaf(rows.factor[i / 2], known[i % 2].half_square,
                                         known[i % 2].step * fmaf(product, 256, rows.ahead[i / 2]));
        }
    }
    hold(similarity);
}

/* Puts what reaches the thresholds into the lists. A lane finds at most 16: it has room for them
 * (prune_rows()). */
__device__ inline void collect(int32_t first, const float similarity[SUMS], Rows *rows) {
    HcCandidate *next[2] = {rows->list_of(0) + rows->found[0] * 4, rows->list_of(1) + rows->found[1] * 4};
#pragma unroll
    for (int32_t n = 0; n < UNIT / 8; n++) {
        /* half of the time no lane of the warp finds any of eight spectra */
        const bool some = fmaxf(similarity[n * 4], similarity[n * 4 + 1]) >= rows->threshold[0] ||
                          fmaxf(similarity[n * 4 + 2], similarity[n * 4 + 3]) >= rows->threshold[1];
        if (!__any_sync(0xFFFFFFFFU, some)) {
            continue;
        }
#pragma unroll
        for (int32_t i = 0; i < 4; i++) {
            asm volatile("{\n.reg .pred reaches;\nsetp.ge.f32 reaches, %1, %2;\n"
                         "@reaches st.global.v2.b32 [%0], {%1, %3};\n@reaches add.s64 %0, %0, 32;\n}"
                         : "+l"(next[i / 2])
                         : "f"(similarity[n * 4 + i]), "f"(rows->threshold[i / 2]), "r"(first + n * 8 + i % 2)
                         : "memory");
        }
    }
#pragma unroll
    for (int32_t r = 0; r < 2; r++) {
        rows->found[r] =
            rows->found[r] < FILLED ? (int32_t)(next[r] - rows->list_of(r)) / 4 : (int32_t)FILLED;
    }
    __syncwarp();
}

/* Over the four lanes that have the same pixels. */
__device__ inline int32_t largest_of_four(int32_t value) {
    value = max(value, __shfl_xor_sync(0xFFFFFFFFU, value, 1));
    return max(value, __shfl_xor_sync(0xFFFFFFFFU, value, 2));
}

__device__ inline int32_t sum_of_four(int32_t value) {
    value += __shfl_xor_sync(0xFFFFFFFFU, value, 1);
    return value + __shfl_xor_sync(0xFFFFFFFFU, value, 2);
}

/* Sorts values in registers, the largest first. */
__device__ inline void sort_down(float value[SHORT]) {
#pragma unroll
    for (int32_t size = 2; size <= SHORT; size *= 2) {
#pragma unroll
        for (int32_t step = size / 2; step > 0; step /= 2) {
#pragma unroll
            for (int32_t i = 0; i < SHORT; i++) {
                if ((i & step) == 0) {
                    const float larger = fmaxf(value[i], value[i | step]);
                    const float smaller = fminf(value[i], value[i | step]);
                    value[i] = (i & size) == 0 ? larger : smaller;
                    value[i | step] = (i & size) == 0 ? smaller : larger;
                }
            }
        }
    }
}

/* The k-th largest of what four lanes have sorted. */
__device__ inline float kth_of_four(float value[SHORT], int32_t k) {
    for (int32_t n = 1;; n++) {
        float top = fmaxf(value[0], __shfl_xor_sync(0xFFFFFFFFU, value[0], 1));
        top = fmaxf(top, __shfl_xor_sync(0xFFFFFFFFU, top, 2));
        if (n == k) {
            return top;
        }
        const uint32_t holders =
            __ballot_sync(0xFFFFFFFFU, value[0] == top) >> (threadIdx.x % 32 / 4 * 4) & 15;
        const bool takes = (int32_t)threadIdx.x % 4 == __ffs((int)holders) - 1;
#pragma unroll
        for (int32_t i = 0; i < SHORT; i++) {
            value[i] = !takes ? value[i] : i + 1 < SHORT ? value[i + 1] : -INFINITY;
        }
    }
}

/* Prunes the lists r of all pixels that take part, at most SHORT candidates a lane: each four lanes theirs,
 * all at once. Lists are closed up where this is the `last` time. */
__device__ inline void prune_short(const HcTraining &training, int32_t k, bool part, bool last, int32_t r,
                                   Rows *rows) {
    const HcBound bound = training.bound[rows->row + r * 8];
    HcCandidate *list = rows->list_of(r);
    HcCandidate mine[SHORT];
    float sorted[SHORT];
#pragma unroll
    for (int32_t i = 0; i < SHORT; i++) {
        mine[i] = part && i < rows->found[r] ? list[i * 4] : HcCandidate{-INFINITY, -1};
        sorted[i] = least_of(training, mine[i], bound);
    }
    sort_down(sorted);
    const float least = fmaxf(kth_of_four(sorted, k) - bound.slack, -FLT_MAX);
    int32_t kept = 0;
#pragma unroll
    for (int32_t i = 0; i < SHORT; i++) {
        kept += mine[i].similarity >= least;
    }
    int32_t before = 0; /* kept by the lanes before this one */
#pragma unroll
    for (int32_t n = 0; n < 3; n++) {
        const int32_t its = __shfl_sync(0xFFFFFFFFU, kept, n, 4);
        before += (int32_t)threadIdx.x % 4 > n ? its : 0;
    }
    if (part) {
        HcCandidate *to = last ? list - threadIdx.x % 4 + before : list;
        const int32_t stride = last ? 1 : 4;
#pragma unroll
        for (int32_t i = 0; i < SHORT; i++) {
            if (mine[i].similarity >= least) {
                *to = mine[i];
                to += stride;
            }
        }
        rows->found[r] = kept;
        rows->threshold[r] = least;
    }
}

/* Prunes the lists of the warp's pixels: all, closed up the `last` time, or those that the next spectra may
 * fill. */
__device__ inline void prune_rows(const HcTraining &training, int32_t k, bool all, bool last, Rows *rows) {
    const int32_t lane = threadIdx.x % 32;
#pragma unroll
    for (int32_t r = 0; r < 2; r++) {
        const int32_t longest = largest_of_four(rows->found[r]);
        const int32_t total = sum_of_four(rows->found[r]);
        const bool part = longest < FILLED && total >= k && (all || longest > KEPT / 4 + 16);
        if (__any_sync(0xFFFFFFFFU, part && longest <= SHORT)) {
            prune_short(training, k, part && longest <= SHORT, last, r, rows);
        }
        uint32_t due = __ballot_sync(0xFFFFFFFFU, lane % 4 == 0 && part && longest > SHORT);
        for (; due != 0; due &= due - 1) {
            const int32_t from = __ffs((int)due) - 1;
            float least = 0;
            const int64_t row = rows->row - lane / 4 + from / 4 + r * 8;
            const int32_t kept =
                prune(training, training.candidates + row * CANDIDATES_MAX,
                      __shfl_sync(0xFFFFFFFFU, rows->found[r], from + lane % 4),
                      __shfl_sync(0xFFFFFFFFU, longest, from), k, training.bound[row], &least);
            if (lane / 4 * 4 == from) {
                rows->found[r] = kept > KEPT ? (int32_t)FILLED : quarter(kept);
                rows->threshold[r] = kept > KEPT ? INFINITY : fmaxf(least, -FLT_MAX);
            }
        }
    }
}

/* The thread that brings: all of the pixels, then the training spectra slot by slot. */
template <int GROUPS>
__device__ inline void bring(const HcTraining &training, int64_t query0, int32_t slots, char *pixels,
                             char *ring, uint64_t *there, uint64_t *full, uint64_t *empty) {
    const int64_t unit_bytes = (int64_t)training.steps * UNIT_BYTES;
    hc_barrier_expect(there, (uint32_t)(GROUPS * unit_bytes));
    for (int32_t g = 0; g < GROUPS; g++) {
        hc_copy_bulk(pixels + g * unit_bytes, training.moved + (query0 / UNIT + g) * unit_bytes,
                     (uint32_t)unit_bytes, there);
    }
    int32_t slot = 0;
    uint32_t phase = 1;
    const int64_t count = training.tiles * (TILE / UNIT) * training.steps;
    for (int64_t n = 0; n < count; n++) {
        hc_barrier_wait(&empty[slot], phase);
        hc_barrier_expect(&full[slot], UNIT_BYTES);
        hc_copy_bulk(ring + slot * UNIT_BYTES, training.halves + n * UNIT_BYTES, UNIT_BYTES, &full[slot]);
        slot = slot + 1 < slots ? slot + 1 : 0;
        phase ^= slot == 0;
    }
}

#endif

template <int GROUPS>
__global__ void __launch_bounds__(GROUPS * 128 + 128, 1)
    find_on_hopper(HcTraining training, int32_t k, int32_t slots) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ char memory[];
    __shared__ alignas(8) uint64_t there, full[SLOTS_MAX], empty[SLOTS_MAX], turn[GROUPS];
    char *pixels = memory + (1024 - hc_shared_address(memory) % 1024) % 1024;
    char *ring = pixels + GROUPS * training.steps * UNIT_BYTES;
    const int64_t query0 = blockIdx.x * (int64_t)(GROUPS * UNIT);
    const int32_t lane = threadIdx.x % 32;
    const int32_t group = __shfl_sync(0xFFFFFFFFU, (int32_t)threadIdx.x / 128, 0); /* known to be uniform */
    if (threadIdx.x == 0) {
        hc_barrier_open(&there, 1);
        for (int32_t g = 0; g < GROUPS; g++) {
            hc_barrier_open(&turn[g], 4);
        }
        for (int32_t s = 0; s < slots; s++) {
            hc_barrier_open(&full[s], 1);
            hc_barrier_open(&empty[s], GROUPS * 4);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (group == GROUPS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
        if (threadIdx.x % 128 == 0) {
            bring<GROUPS>(training, query0, slots, pixels, ring, &there, full, empty);
        }
        return;
    }
    /* as many as the other groups of a block that begins with 96, 128 or 168 each leave */
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(GROUPS == 4 ? 112 : GROUPS == 3 ? 160 : 232));
    Rows rows;
    rows.row = query0 + threadIdx.x / 32 * 16 + lane / 4;
    rows.list = training.candidates + rows.row * CANDIDATES_MAX + lane % 4;
#pragma unroll
    for (int32_t r = 0; r < 2; r++) {
        const HcBound bound = training.bound[rows.row + r * 8];
        rows.ahead[r] = bound.ahead;
        rows.factor[r] = bound.tilt - bound.unit;
        rows.threshold[r] = bound.slack < 0 || isinf(bound.slack) ? INFINITY : -FLT_MAX;
        rows.found[r] = isinf(bound.slack) ? (int32_t)FILLED : 0;
    }
    hc_barrier_wait(&there, 0);
    const char *own = pixels + group * training.steps * UNIT_BYTES;
    int32_t slot = 0;
    int32_t oldest = 0; /* of those whose products run */
    uint32_t phase = 0;
    int32_t sum[2][SUMS] = {}; /* of high limbs, in 256 */
    auto begin = [&](int32_t s) {
        hc_barrier_wait(&full[slot], phase);
        if (s * LIMB_STEP + LIMB_STEP / 2 < training.bands) {
            begin_step<2>(s, own + s * UNIT_BYTES, ring + slot * UNIT_BYTES, sum);
        } else {
            begin_step<1>(s, own + s * UNIT_BYTES, ring + slot * UNIT_BYTES, sum);
        }
        slot = slot + 1 < slots ? slot + 1 : 0;
        phase ^= slot == 0;
    };
    auto release = [&]() {
        if (lane == 0) {
            hc_barrier_arrive(&empty[oldest]);
        }
        oldest = oldest + 1 < slots ? oldest + 1 : 0;
    };
    const int64_t units = training.tiles * (TILE / UNIT);
    for (int64_t unit = 0; unit < units; unit++) {
        const int32_t first = (int32_t)(unit * UNIT) + lane % 4 * 2;
        const bool last = unit + 1 == units;
        float similarity[SUMS];
        hold(sum);
        hc_barrier_wait(&turn[group], (uint32_t)(unit & 1) ^ (group == 0)); /* the first begins */
        begin(0);
        for (int32_t s = 1; s < training.steps; s++) {
            begin(s);
            wait_for_steps<1>();
            release();
        }
        if (lane == 0) {
            hc_barrier_arrive(&turn[group + 1 < GROUPS ? group + 1 : 0]);
        }
        wait_for_steps<0>();
        hold(sum);
        release();
        compare(training, first, sum, rows, similarity);
        collect(first, similarity, &rows);
        prune_rows(training, k, last || (unit & (unit + 1)) == 0, last, &rows);
    }
#pragma unroll
    for (int32_t r = 0; r < 2; r++) {
        const int32_t found = sum_of_four(rows.found[r]);
        if (lane % 4 == 0) {
            training.found[rows.row + r * 8] = found < FILLED ? found : -1;
        }
    }
#else
    (void)training, (void)k, (void)slots;
#endif
}

int32_t slots_beside(const HcGpu *gpu, int32_t groups, int32_t steps) {
    int64_t room = (int64_t)gpu->shared_memory - SPARE_BYTES - (int64_t)groups * steps * UNIT_BYTES;
    return (int32_t)(room < SLOTS_MAX * UNIT_BYTES ? room / UNIT_BYTES : (int64_t)SLOTS_MAX);
}

template <int GROUPS>
HcStatus launch(HcQueue *queue, const HcTraining *training, const HcKnnRun *run, HcError *err) {
    int32_t slots = slots_beside(queue->gpu, GROUPS, training->steps);
    int bytes = GROUPS * training->steps * UNIT_BYTES + slots * UNIT_BYTES + 1024;
    HC_OR_RETURN(hc_gpu_check(
        cudaFuncSetAttribute(find_on_hopper<GROUPS>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
        "asking for shared memory", err));
    find_on_hopper<GROUPS><<<(unsigned)hc_div_up(run->count, GROUPS * UNIT), GROUPS * 128 + 128,
                             (size_t)bytes, queue->stream>>>(*training, run->k, slots);
    return hc_gpu_launched("looking for candidates", err);
}

} // namespace

int32_t hc_gpu_knn_groups(const HcGpu *gpu, int32_t bands) {
    const int32_t steps = (int32_t)hc_div_up(bands, LIMB_STEP);
    for (int32_t groups = GROUPS_MAX; gpu->hopper && bands <= LIMB_BANDS_MAX && groups > 1; groups--) {
        if (slots_beside(gpu, groups, steps) > steps) {
            return groups;
        }
    }
    return 0;
}

HcStatus hc_gpu_knn_find_on_hopper(HcQueue *queue, const HcTraining *training, const HcKnnRun *run,
                                   HcError *err) {
    return training->groups == 4   ? launch<4>(queue, training, run, err)
           : training->groups == 3 ? launch<3>(queue, training, run, err)
                                   : launch<2>(queue, training, run, err);
}
