/* Candidates on Hopper's matrix units (wgmma): what find_candidates() of knn.cu finds.
 *
 * The halves of a thread block's pixels stay in shared memory. One warp brings training spectra, a step of 64
 * at a time, into a ring of slots. Each group of four warps has 64 pixels of its own. It takes the slots at
 * its own pace: some groups multiply while others look through their products. A warp has 16 pixels with all
 * of the 64 spectra: their lists, thresholds and counts are its own. */
#include "gpu/knn/knn.cuh"
#include "gpu/knn/lists.cuh"

namespace {

enum {
    GROUPS_MAX = 3,
    SLOTS_MIN = 4,
    SLOTS_MAX = 12,
    SUMS = UNIT * UNIT / 128, /* of a thread */
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
__device__ inline void multiply(float sum[SUMS], const uint32_t a[4], uint64_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
                 "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
                 "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, {%32,%33,%34,%35}, %36, "
                 "1, 1, 1, 0;"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]), "+f"(sum[4]), "+f"(sum[5]),
                   "+f"(sum[6]), "+f"(sum[7]), "+f"(sum[8]), "+f"(sum[9]), "+f"(sum[10]), "+f"(sum[11]),
                   "+f"(sum[12]), "+f"(sum[13]), "+f"(sum[14]), "+f"(sum[15]), "+f"(sum[16]), "+f"(sum[17]),
                   "+f"(sum[18]), "+f"(sum[19]), "+f"(sum[20]), "+f"(sum[21]), "+f"(sum[22]), "+f"(sum[23]),
                   "+f"(sum[24]), "+f"(sum[25]), "+f"(sum[26]), "+f"(sum[27]), "+f"(sum[28]), "+f"(sum[29]),
                   "+f"(sum[30]), "+f"(sum[31])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

/* The compiler keeps what it does with the sums out of the products. */
__device__ inline void hold(float sum[SUMS]) {
#pragma unroll
    for (int32_t i = 0; i < SUMS; i++) {
        asm volatile("" : "+f"(sum[i])::"memory");
    }
}

/* Adds the products of a step: high high, high low, low high. The pixels come from registers: two factors in
 * shared memory would take nearly all of its bandwidth. */
__device__ inline void multiply_step(const char *pixels, const char *spectra, float sum[SUMS]) {
    const int32_t lane = threadIdx.x % 32;
    const int32_t row = threadIdx.x / 32 % 4 * 16 + lane % 16;
    const uint64_t matrix = matrix_at(spectra);
    uint32_t a[STEP / 16][2][4];
#pragma unroll
    for (int32_t k = 0; k < STEP / 16; k++) {
#pragma unroll
        for (int32_t part = 0; part < 2; part++) {
            hc_load_matrices(a[k][part], pixels + place(row, part * 4 + k * 2 + lane / 16));
        }
    }
    hold(sum);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int32_t k = 0; k < STEP / 16; k++) {
#pragma unroll
        for (int32_t product = 0; product < 3; product++) {
            const uint64_t at = (product == 1 ? 2 * STEP : 0) + 32 * k;
            multiply(sum, a[k][product == 2], matrix + (at >> 4));
        }
    }
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
    hold(sum);
}

/* What a lane knows of its two pixels, rows lane / 4 and lane / 4 + 8 of the warp's. Four lanes have the same
 * pixels, and each fills every fourth place of their lists. */
struct Rows {
    HcCandidate *list[2]; /* the lane's first place */
    float threshold[2], slack[2];
    int32_t found[2]; /* by this lane; FILLED: compare with all */
};

/* Puts what reaches the thresholds into the lists; `first` is the lane's first training spectrum, whose
 * half squares it has. A lane finds at most 16: it has room for them (prune_rows()). */
__device__ inline void collect(int32_t first, const float2 half_square[UNIT / 8], const float sum[SUMS],
                               Rows *rows) {
#pragma unroll
    for (int32_t n = 0; n < UNIT / 8; n++) {
#pragma unroll
        for (int32_t i = 0; i < 4; i++) {
            const float similarity = sum[n * 4 + i] - (i % 2 == 0 ? half_square[n].x : half_square[n].y);
            if (similarity >= rows->threshold[i / 2]) {
                rows->list[i / 2][rows->found[i / 2] * 4] = {similarity, first + n * 8 + i % 2};
                rows->found[i / 2]++;
            }
        }
    }
    __syncwarp();
}

/* Over the four lanes that have the same pixels. */
__device__ inline int32_t largest_of_four(int32_t value) {
    value = max(value, __shfl_xor_sync(0xFFFFFFFFU, value, 1));
    return max(value, __shfl_xor_sync(0xFFFFFFFFU, value, 2));
}

/* Prunes the lists of the warp's pixels, all or those that the next spectra may fill. */
__device__ inline void prune_rows(int32_t k, bool all, Rows *rows) {
    const int32_t lane = threadIdx.x % 32;
#pragma unroll
    for (int32_t r = 0; r < 2; r++) {
        const int32_t longest = largest_of_four(rows->found[r]);
        int32_t total = rows->found[r] + __shfl_xor_sync(0xFFFFFFFFU, rows->found[r], 1);
        total += __shfl_xor_sync(0xFFFFFFFFU, total, 2);
        uint32_t due = __ballot_sync(0xFFFFFFFFU, lane % 4 == 0 && longest < FILLED && total >= k &&
                                                      (all || longest > KEPT / 4 + 16));
        for (; due != 0; due &= due - 1) {
            const int32_t from = __ffs((int)due) - 1;
            float least = 0;
            HcCandidate *list =
                (HcCandidate *)__shfl_sync(0xFFFFFFFFU, (unsigned long long)rows->list[r], from);
            const int32_t kept = prune(list, __shfl_sync(0xFFFFFFFFU, rows->found[r], from + lane % 4),
                                       __shfl_sync(0xFFFFFFFFU, longest, from), k,
                                       __shfl_sync(0xFFFFFFFFU, rows->slack[r], from), &least);
            if (lane / 4 * 4 == from) {
                rows->found[r] = kept > KEPT ? (int32_t)FILLED : quarter(kept);
                rows->threshold[r] = kept > KEPT ? INFINITY : fmaxf(least, -FLT_MAX);
            }
        }
    }
}

/* Fills the places that lanes left open, and says how many places there are. */
__device__ inline void close_rows(const HcTraining &training, int64_t row0, const Rows *rows) {
#pragma unroll
    for (int32_t r = 0; r < 2; r++) {
        const int32_t longest = largest_of_four(rows->found[r]);
        for (int32_t i = rows->found[r]; i < longest; i++) {
            rows->list[r][i * 4] = {-INFINITY, -1};
        }
        if (threadIdx.x % 4 == 0) {
            training.found[row0 + r * 8] = longest == FILLED ? -1 : longest * 4;
        }
    }
}

/* The warp that brings: all of the pixels, then the training spectra slot by slot. */
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
    for (int64_t n = training.tiles * (TILE / UNIT) * training.steps; n > 0; n--, from += UNIT_BYTES) {
        hc_barrier_wait(&empty[slot], phase);
        hc_barrier_expect(&full[slot], UNIT_BYTES);
        hc_copy_bulk(ring + slot * UNIT_BYTES, from, UNIT_BYTES, &full[slot]);
        slot = slot + 1 < slots ? slot + 1 : 0;
        phase ^= slot == 0;
    }
}

#endif

template <int GROUPS>
__global__ void __launch_bounds__(GROUPS * 128 + 32, 1)
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
        if (lane == 0) {
            bring<GROUPS>(training, query0, slots, pixels, ring, &there, full, empty);
        }
        return;
    }
    Rows rows;
    const int64_t row0 = query0 + threadIdx.x / 32 * 16 + lane / 4;
#pragma unroll
    for (int32_t r = 0; r < 2; r++) {
        const float slack = training.slack[row0 + r * 8];
        rows.list[r] = training.candidates + (row0 + r * 8) * CANDIDATES_MAX + lane % 4;
        rows.slack[r] = slack;
        rows.threshold[r] = slack < 0 || isinf(slack) ? INFINITY : -FLT_MAX;
        rows.found[r] = isinf(slack) ? (int32_t)FILLED : 0;
    }
    hc_barrier_wait(&there, 0);
    int32_t slot = 0;
    uint32_t phase = 0;
    for (int64_t unit = 0; unit < training.tiles * (TILE / UNIT); unit++) {
        const int32_t first = (int32_t)(unit * UNIT) + lane % 4 * 2;
        float sum[SUMS] = {};
        float2 half_square[UNIT / 8];
#pragma unroll
        for (int32_t n = 0; n < UNIT / 8; n++) {
            half_square[n] = *(const float2 *)(training.half_square + first + n * 8);
        }
        for (int32_t s = 0; s < training.steps; s++) {
            hc_barrier_wait(&full[slot], phase);
            multiply_step(pixels + (group * training.steps + s) * UNIT_BYTES, ring + slot * UNIT_BYTES, sum);
            if (lane == 0) {
                hc_barrier_arrive(&empty[slot]);
            }
            slot = slot + 1 < slots ? slot + 1 : 0;
            phase ^= slot == 0;
        }
        collect(first, half_square, sum, &rows);
        prune_rows(k, is_due(unit), &rows);
    }
    close_rows(training, row0, &rows);
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
    find_on_hopper<GROUPS>
        <<<(unsigned)hc_div_up(run->count, GROUPS * UNIT), GROUPS * 128 + 32, (size_t)bytes, queue->stream>>>(
            *training, run->k, slots);
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
