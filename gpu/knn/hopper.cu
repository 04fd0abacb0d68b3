/* Candidates on Hopper's matrix units (wgmma): what find_candidates() of knn.cu finds.
 *
 * The halves of a thread block's pixels stay in shared memory. One thread brings training spectra, a step of
 * 64 at a time, into a ring of slots. Each group of four warps has 64 pixels of its own. It takes the slots
 * at its own pace: some groups multiply while others look through their products. A warp has 16 pixels with
 * all of the 64 spectra: their lists, thresholds and counts are its own.
 *
 * ptxas lets products run while other instructions do only where their pixels are loaded right after a wait:
 * elsewhere it waits for each product (warning C7513). */
#include "gpu/knn/knn.cuh"
#include "gpu/knn/lists.cuh"

namespace {

enum {
    GROUPS_MAX = 3,
    SLOTS_MIN = 4,
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

/* sum[64][64] += a[64][16] b[64][16]' by four warps that hold 16 rows of a each; finished after the group
 * is waited for. */
__device__ inline void multiply(float sum[SUMS], const uint32_t a[4], uint64_t b, int32_t adds) {
    asm volatile("{\n.reg .pred adds;\nsetp.ne.s32 adds, %37, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
                 "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
                 "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, {%32,%33,%34,%35}, %36, "
                 "adds, 1, 1, 0;\n}"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]), "+f"(sum[4]), "+f"(sum[5]),
                   "+f"(sum[6]), "+f"(sum[7]), "+f"(sum[8]), "+f"(sum[9]), "+f"(sum[10]), "+f"(sum[11]),
                   "+f"(sum[12]), "+f"(sum[13]), "+f"(sum[14]), "+f"(sum[15]), "+f"(sum[16]), "+f"(sum[17]),
                   "+f"(sum[18]), "+f"(sum[19]), "+f"(sum[20]), "+f"(sum[21]), "+f"(sum[22]), "+f"(sum[23]),
                   "+f"(sum[24]), "+f"(sum[25]), "+f"(sum[26]), "+f"(sum[27]), "+f"(sum[28]), "+f"(sum[29]),
                   "+f"(sum[30]), "+f"(sum[31])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds));
}

/* The compiler keeps what it does with the sums out of the products. */
__device__ inline void hold(float sum[SUMS]) {
#pragma unroll
    for (int32_t i = 0; i < SUMS; i++) {
        asm volatile("" : "+f"(sum[i])::"memory");
    }
}

/* Halves of 16 pixels of a warp, for one step. */
struct Halves {
    uint32_t at[STEP / 16][2][4];
};

/* The pixels come from registers: two factors in shared memory would take nearly all of its bandwidth. */
__device__ inline void load_halves(const char *pixels, Halves *halves) {
    const int32_t lane = threadIdx.x % 32;
    const int32_t row = threadIdx.x / 32 % 4 * 16 + lane % 16;
#pragma unroll
    for (int32_t k = 0; k < STEP / 16; k++) {
#pragma unroll
        for (int32_t part = 0; part < 2; part++) {
            hc_load_matrices(halves->at[k][part], pixels + place(row, part * 4 + k * 2 + lane / 16));
        }
    }
}

/* Begins to add the products of a step: high high, high low, low high. */
__device__ inline void begin_step(int32_t s, const Halves &halves, const char *spectra, float sum[SUMS]) {
    const uint64_t matrix = matrix_at(spectra);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int32_t k = 0; k < STEP / 16; k++) {
#pragma unroll
        for (int32_t product = 0; product < 3; product++) {
            const uint64_t at = (product == 1 ? 2 * STEP : 0) + 32 * k;
            multiply(sum, halves.at[k][product == 2], matrix + (at >> 4), s + k + product);
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
    HcCandidate *list[2]; /* the lane's first place */
    float threshold[2];
    HcBound bound[2];
    int32_t found[2]; /* by this lane; FILLED: compare with all */
};

/* The similarities of a unit whose first training spectrum of this lane is `first`. */
__device__ inline void compare(const HcTraining &training, int32_t first, const float sum[SUMS],
                               const Rows &rows, float similarity[SUMS]) {
#pragma unroll
    for (int32_t n = 0; n < UNIT / 8; n++) {
        const float2 half_square = *(const float2 *)(training.half_square + first + n * 8);
#pragma unroll
        for (int32_t i = 0; i < 4; i++) {
            similarity[n * 4 + i] =
                fmaf(rows.bound[i / 2].tilt - 1, i % 2 == 0 ? half_square.x : half_square.y, sum[n * 4 + i]);
        }
    }
    hold(similarity);
}

/* Puts what reaches the thresholds into the lists. A lane finds at most 16: it has room for them
 * (prune_rows()). Without branches: nearly every place of the sums is one that some lane of a warp keeps. */
__device__ inline void collect(int32_t first, const float similarity[SUMS], Rows *rows) {
    HcCandidate *next[2] = {rows->list[0] + rows->found[0] * 4, rows->list[1] + rows->found[1] * 4};
#pragma unroll
    for (int32_t n = 0; n < UNIT / 8; n++) {
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
        rows->found[r] = rows->found[r] < FILLED ? (int32_t)(next[r] - rows->list[r]) / 4 : (int32_t)FILLED;
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
    HcCandidate mine[SHORT];
    float sorted[SHORT];
#pragma unroll
    for (int32_t i = 0; i < SHORT; i++) {
        mine[i] = part && i < rows->found[r] ? rows->list[r][i * 4] : HcCandidate{-INFINITY, -1};
        sorted[i] = least_of(training, mine[i], rows->bound[r].tilt);
    }
    sort_down(sorted);
    const float least = fmaxf(kth_of_four(sorted, k) - rows->bound[r].slack, -FLT_MAX);
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
        HcCandidate *to = last ? rows->list[r] - threadIdx.x % 4 + before : rows->list[r];
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
            HcCandidate *list =
                (HcCandidate *)__shfl_sync(0xFFFFFFFFU, (unsigned long long)rows->list[r], from);
            const int32_t kept =
                prune(training, list, __shfl_sync(0xFFFFFFFFU, rows->found[r], from + lane % 4),
                      __shfl_sync(0xFFFFFFFFU, longest, from), k,
                      {__shfl_sync(0xFFFFFFFFU, rows->bound[r].slack, from),
                       __shfl_sync(0xFFFFFFFFU, rows->bound[r].tilt, from)},
                      &least);
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
    const char *from = (const char *)training.halves;
    hc_barrier_expect(there, (uint32_t)(GROUPS * unit_bytes));
    for (int32_t g = 0; g < GROUPS; g++) {
        hc_copy_bulk(pixels + g * unit_bytes, (const char *)training.moved + (query0 / UNIT + g) * unit_bytes,
                     (uint32_t)unit_bytes, there);
    }
    int32_t slot = 0;
    uint32_t phase = 1;
    const int64_t count = training.tiles * (TILE / UNIT) * training.steps;
    for (int64_t n = 0; n <= count; n++) { /* and the first again, which no product needs */
        hc_barrier_wait(&empty[slot], phase);
        hc_barrier_expect(&full[slot], UNIT_BYTES);
        hc_copy_bulk(ring + slot * UNIT_BYTES, from + (n < count ? n : 0) * UNIT_BYTES, UNIT_BYTES,
                     &full[slot]);
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
    __shared__ alignas(8) uint64_t there, full[SLOTS_MAX], empty[SLOTS_MAX];
    char *pixels = memory + (1024 - hc_shared_address(memory) % 1024) % 1024;
    char *ring = pixels + GROUPS * training.steps * UNIT_BYTES;
    const int64_t query0 = blockIdx.x * (int64_t)(GROUPS * UNIT);
    const int32_t lane = threadIdx.x % 32;
    const int32_t group = threadIdx.x / 128;
    if (threadIdx.x == 0) {
        hc_barrier_open(&there, 1);
        for (int32_t s = 0; s < slots; s++) {
            hc_barrier_open(&full[s], 1);
            hc_barrier_open(&empty[s], GROUPS * 4);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (group == GROUPS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 32;");
        if (threadIdx.x % 128 == 0) {
            bring<GROUPS>(training, query0, slots, pixels, ring, &there, full, empty);
        }
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(GROUPS == 3 ? 160 : 232));
    Rows rows;
    const int64_t row0 = query0 + threadIdx.x / 32 * 16 + lane / 4;
#pragma unroll
    for (int32_t r = 0; r < 2; r++) {
        const HcBound bound = training.bound[row0 + r * 8];
        rows.list[r] = training.candidates + (row0 + r * 8) * CANDIDATES_MAX + lane % 4;
        rows.bound[r] = bound;
        rows.threshold[r] = bound.slack < 0 || isinf(bound.slack) ? INFINITY : -FLT_MAX;
        rows.found[r] = isinf(bound.slack) ? (int32_t)FILLED : 0;
    }
    hc_barrier_wait(&there, 0);
    const char *own = pixels + group * training.steps * UNIT_BYTES;
    int32_t slot = 0;
    int32_t oldest = 0; /* of those whose products run */
    uint32_t phase = 0;
    float sum[SUMS] = {};
    Halves halves[2];
    auto begin = [&](int32_t s, Halves *of) {
        hc_barrier_wait(&full[slot], phase);
        begin_step(s, *of, ring + slot * UNIT_BYTES, sum);
        slot = slot + 1 < slots ? slot + 1 : 0;
        phase ^= slot == 0;
    };
    auto release = [&]() {
        if (lane == 0) {
            hc_barrier_arrive(&empty[oldest]);
        }
        oldest = oldest + 1 < slots ? oldest + 1 : 0;
    };
    auto load = [&](int32_t s, Halves *of) {
        if (s < training.steps) {
            load_halves(own + s * UNIT_BYTES, of);
        }
    };
    /* The first step of a unit runs while the unit before is looked through. */
    auto begin_unit = [&]() {
        load_halves(own, &halves[0]);
        load(1, &halves[1]);
        hold(sum);
        begin(0, &halves[0]);
    };
    auto end_unit = [&]() {
        for (int32_t s = 1; s < training.steps; s += 2) {
            begin(s, &halves[1]);
            wait_for_steps<1>();
            release();
            load(s + 1, &halves[0]);
            if (s + 1 < training.steps) {
                begin(s + 1, &halves[0]);
                wait_for_steps<1>();
                release();
                load(s + 2, &halves[1]);
            }
        }
        wait_for_steps<0>();
        hold(sum);
        release();
    };
    begin_unit();
    const int64_t units = training.tiles * (TILE / UNIT);
    for (int64_t unit = 0; unit < units; unit++) {
        const int32_t first = (int32_t)(unit * UNIT) + lane % 4 * 2;
        const bool last = unit + 1 == units;
        float similarity[SUMS];
        end_unit();
        compare(training, first, sum, rows, similarity);
        begin_unit();
        collect(first, similarity, &rows);
        prune_rows(training, k, last || (unit & (unit + 1)) == 0, last, &rows);
    }
    wait_for_steps<0>();
#pragma unroll
    for (int32_t r = 0; r < 2; r++) {
        const int32_t found = sum_of_four(rows.found[r]);
        if (lane % 4 == 0) {
            training.found[row0 + r * 8] = found < FILLED ? found : -1;
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

int32_t hc_gpu_knn_groups(const HcGpu *gpu, int32_t steps) {
    for (int32_t groups = GROUPS_MAX; gpu->hopper && groups > 1; groups--) {
        if (slots_beside(gpu, groups, steps) >= SLOTS_MIN) {
            return groups;
        }
    }
    return 0;
}

HcStatus hc_gpu_knn_find_on_hopper(HcQueue *queue, const HcTraining *training, const HcKnnRun *run,
                                   HcError *err) {
    return training->groups == 3 ? launch<3>(queue, training, run, err)
                                 : launch<2>(queue, training, run, err);
}
