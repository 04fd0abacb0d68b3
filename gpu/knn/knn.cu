/* Nearest training spectra: candidates by products on the matrix units, survivors by exact distances.
 *
 * x' and t' are about the centre of the training spectra. s = x' t' - |t'|^2 / 2 is larger the nearer t is:
 * it is (|x'|^2 - |x - t|^2) / 2 exactly. Each factor is written as two halves, v = high + low, and high high
 * + high low + low high are summed in float32; on Hopper as two 8-bit limbs, summed in integers. Whoever is
 * among the k nearest has an s of at least the k-th largest less twice the bound of the error, bound_of();
 * all those get their exact distance. Where the bound does not serve, or too many remain, a pixel is compared
 * with every training spectrum. (Tiles of distances that are never written, with a running list of the best:
 * the paper, section 3.) For angles, x and t are spectra of unit length: |x - t|^2 = 2 - 2 cosine. */
#include "gpu/knn/knn.cuh"
#include "gpu/knn/exact.cuh"
#include "gpu/knn/lists.cuh"

HcKnnFn hc_gpu_knn;

namespace {

__global__ void move_pixels(HcTraining training, HcKnnRun run) {
    const int64_t q = (blockIdx.x * (int64_t)blockDim.x + threadIdx.x) / 32;
    if (q >= training.capacity) {
        return; /* whole thread blocks are looked for */
    }
    const bool there = q < run.count && run.mask[q] != 0;
    HcBound bound = {-1, 0, 0, 0};
    if (there) {
        const HcMoved moved = move_spectrum(training, run.data + q * training.bands, training.moved, q);
        bound = moved.plain > 0 ? bound_of(training, moved) : HcBound{INFINITY, 0, 0, 0};
    }
    if (!there || isinf(bound.slack)) {
        clear_spectrum(training, training.moved, q);
    }
    if (threadIdx.x % 32 == 0) {
        training.bound[q] = bound;
        if (q == 0) {
            *training.left_count = 0; /* choose() counts them */
        }
    }
}

/* ---- candidates ---- */

/* sum[16][8] += a[16][16] b[8][16]'. */
__device__ inline void multiply(float sum[4], const uint32_t a[4], const uint32_t *b) {
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    for (int half = 0; half < 2; half++) {
        asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
            : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
            : "r"(a[2 * half]), "r"(a[2 * half + 1]), "r"(b[half]));
    }
#endif
}

/* What a thread copies: 16 bytes of every 32nd row of both factors. */
struct Copies {
    const char *queries, *training;
    int64_t unit_bytes; /* of UNIT spectra */
    int32_t to;         /* the first row's place */

    __device__ Copies(const HcTraining &known, int64_t query0) {
        unit_bytes = (int64_t)known.steps * UNIT_BYTES;
        to = (int32_t)threadIdx.x * 16;
        queries = (const char *)known.moved + query0 / UNIT * unit_bytes + to;
        training = (const char *)known.halves + to;
    }

    /* A step of both: [queries, then training][ROW_BYTES]. */
    __device__ void load(int64_t tile, int32_t step, char *slot) const {
        const char *q = queries + step * UNIT_BYTES;
        const char *t = training + tile * (TILE / UNIT) * unit_bytes + step * UNIT_BYTES;
#pragma unroll
        for (int32_t i = 0; i < QUERIES / 32; i++) {
            hc_copy_16(slot + to + i * 32 * ROW_BYTES, q + i / 2 * unit_bytes + i % 2 * 32 * ROW_BYTES);
        }
#pragma unroll
        for (int32_t i = 0; i < TILE / 32; i++) {
            hc_copy_16(slot + to + (QUERIES + i * 32) * ROW_BYTES,
                       t + i / 2 * unit_bytes + i % 2 * 32 * ROW_BYTES);
        }
    }
};

/* A warp's 64 queries x 32 training spectra. */
__device__ inline void multiply_step(const char *slot, int32_t row0, int32_t column0, float acc[4][4][4]) {
    const int32_t lane = threadIdx.x % 32;
#pragma unroll
    for (int32_t k = 0; k < STEP / 16; k++) {
        uint32_t a[2][4][4]; /* high, low */
        uint32_t b[2][2][4];
#pragma unroll
        for (int32_t part = 0; part < 2; part++) {
            const int32_t chunk = part * 4 + k * 2;
#pragma unroll
            for (int32_t m = 0; m < 4; m++) {
                hc_load_matrices(a[part][m], slot + place(row0 + m * 16 + lane % 16, chunk + lane / 16));
            }
#pragma unroll
            for (int32_t n = 0; n < 2; n++) {
                hc_load_matrices(b[part][n],
                                 slot + place(QUERIES + column0 + n * 16 + lane / 16 * 8 + lane % 8,
                                              chunk + lane / 8 % 2));
            }
        }
        /* high high, high low, low high: each sum waits for the last, so the others come in between */
#pragma unroll
        for (int32_t product = 0; product < 3; product++) {
#pragma unroll
            for (int32_t m = 0; m < 4; m++) {
#pragma unroll
                for (int32_t n = 0; n < 4; n++) {
                    multiply(acc[m][n], a[product == 2][m], b[product == 1][n / 2] + n % 2 * 2);
                }
            }
        }
    }
}

struct Shared {
    float threshold[QUERIES];
    HcBound bound[QUERIES];
    int32_t found[QUERIES];
    float half_square[TILE];
};

/* One warp: the list of a query. */
__device__ inline void prune_row(const HcTraining &training, int64_t query0, int32_t row, int32_t k,
                                 Shared *shared) {
    const int32_t found = shared->found[row];
    if (found < k || found > CANDIDATES_MAX) {
        return;
    }
    float least = 0;
    const int32_t kept = prune(training, training.candidates + (query0 + row) * CANDIDATES_MAX,
                               quarter(found), (found + 3) / 4, k, shared->bound[row], &least);
    if (threadIdx.x % 32 == 0) {
        const bool too_many = kept > KEPT;
        shared->found[row] = too_many ? CANDIDATES_MAX + 1 : kept;
        shared->threshold[row] = too_many ? INFINITY : least;
    }
}

/* Puts what reaches the thresholds into the lists. */
__device__ inline void collect(const HcTraining &training, int64_t query0, int64_t tile, int32_t row0,
                               int32_t column0, const float acc[4][4][4], Shared *shared) {
    const int32_t lane = threadIdx.x % 32;
#pragma unroll
    for (int32_t m = 0; m < 4; m++) {
#pragma unroll
        for (int32_t half = 0; half < 2; half++) {
            const int32_t row = row0 + m * 16 + half * 8 + lane / 4;
            const float least = shared->threshold[row];
            const float factor = shared->bound[row].tilt - 1;
#pragma unroll
            for (int32_t n = 0; n < 4; n++) {
#pragma unroll
                for (int32_t c = 0; c < 2; c++) {
                    const int32_t column = column0 + n * 8 + lane % 4 * 2 + c;
                    const float similarity =
                        fmaf(factor, shared->half_square[column], acc[m][n][half * 2 + c]);
                    if (similarity >= least && similarity > -INFINITY) {
                        const int32_t at = atomicAdd(&shared->found[row], 1);
                        if (at < CANDIDATES_MAX) {
                            training.candidates[(query0 + row) * CANDIDATES_MAX + at] = {
                                similarity, (int32_t)(tile * TILE + column)};
                        }
                    }
                }
            }
        }
    }
}

template <int SLOTS>
__global__ void __launch_bounds__(THREADS, 2) find_candidates(HcTraining training, int32_t k) {
    extern __shared__ __align__(128) char slots[];
    __shared__ Shared shared;
    const int64_t query0 = blockIdx.x * (int64_t)QUERIES;
    const int32_t warp = threadIdx.x / 32;
    const int32_t row0 = warp / 4 * 64;
    const int32_t column0 = warp % 4 * 32;
    const Copies copies(training, query0);
    if (threadIdx.x < QUERIES) {
        const HcBound bound = training.bound[query0 + threadIdx.x];
        const float slack = bound.slack;
        shared.bound[threadIdx.x] = bound;
        shared.threshold[threadIdx.x] = slack < 0 || isinf(slack) ? INFINITY : -INFINITY;
        shared.found[threadIdx.x] = isinf(slack) ? CANDIDATES_MAX + 1 : 0;
    }
    int64_t next_tile = 0; /* what is loaded next, and to where */
    int32_t next_step = 0;
    int32_t next_slot = 0;
    auto load = [&]() {
        if (next_tile < training.tiles) {
            copies.load(next_tile, next_step, slots + next_slot * SLOT_BYTES);
            next_slot = next_slot + 1 < SLOTS ? next_slot + 1 : 0;
            if (++next_step == training.steps) {
                next_step = 0;
                next_tile++;
            }
        }
        hc_copies_end();
    };
    int32_t slot = 0;
#pragma unroll
    for (int32_t s = 0; s < SLOTS - 1; s++) {
        load();
    }
    for (int64_t tile = 0; tile < training.tiles; tile++) {
        float acc[4][4][4] = {};
        for (int32_t s = 0; s < training.steps; s++) {
            if (SLOTS == 1) {
                __syncthreads();
                load();
            }
            hc_copies_wait<SLOTS == 1 ? 0 : SLOTS - 2>();
            __syncthreads();
            if (SLOTS > 1) {
                load();
            }
            multiply_step(slots + slot * SLOT_BYTES, row0, column0, acc);
            slot = slot + 1 < SLOTS ? slot + 1 : 0;
        }
        if (threadIdx.x < TILE) {
            shared.half_square[threadIdx.x] = training.known[tile * TILE + threadIdx.x].half_square;
        }
        __syncthreads();
        collect(training, query0, tile, row0, column0, acc, &shared);
        __syncthreads();
        const bool all = is_due(tile) || tile + 1 == training.tiles; /* or where a list may overflow */
        const int32_t lane = threadIdx.x % 32;
        const int32_t first_row = warp * (QUERIES / WARPS);
        uint32_t due = __ballot_sync(0xFFFFFFFFU,
                                     lane < QUERIES / WARPS &&
                                         (all || shared.found[first_row + lane % (QUERIES / WARPS)] > KEPT));
        for (; due != 0; due &= due - 1) {
            prune_row(training, query0, first_row + __ffs((int)due) - 1, k, &shared);
        }
        __syncthreads();
    }
    if (threadIdx.x < QUERIES) {
        const int32_t found = shared.found[threadIdx.x];
        training.found[query0 + threadIdx.x] = found > CANDIDATES_MAX ? -1 : found;
    }
}

} // namespace

template <int SLOTS>
static HcStatus launch_find(HcQueue *queue, const HcTraining *training, const HcKnnRun *run, HcError *err) {
    HcStatus status =
        hc_gpu_check(cudaFuncSetAttribute(find_candidates<SLOTS>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                          SLOTS * SLOT_BYTES),
                     "asking for shared memory", err);
    if (status != HC_OK) {
        return status;
    }
    find_candidates<SLOTS>
        <<<(unsigned)hc_div_up(run->count, QUERIES), THREADS, SLOTS * SLOT_BYTES, queue->stream>>>(*training,
                                                                                                   run->k);
    return hc_gpu_launched("looking for candidates", err);
}

static HcStatus search(HcQueue *queue, const HcTraining *training, const HcKnnRun *run, HcError *err) {
    unsigned blocks =
        (unsigned)hc_div_up(hc_div_up(run->count, QUERIES_MULTIPLE) * QUERIES_MULTIPLE * 32, THREADS);
    move_pixels<<<blocks, THREADS, 0, queue->stream>>>(*training, *run);
    HC_OR_RETURN(hc_gpu_launched("preparing pixels", err));
    if (training->groups > 0) {
        HC_OR_RETURN(hc_gpu_knn_find_on_hopper(queue, training, run, err));
    } else if (queue->gpu->major < 8) {
        HC_OR_RETURN(launch_find<1>(queue, training, run, err));
    } else if (queue->gpu->shared_memory >= 2 * 3 * (size_t)SLOT_BYTES) {
        HC_OR_RETURN(launch_find<3>(queue, training, run, err));
    } else {
        HC_OR_RETURN(launch_find<2>(queue, training, run, err));
    }
    choose<<<(unsigned)hc_div_up(run->count, CHOSEN), THREADS, 0, queue->stream>>>(*training, *run);
    HC_OR_RETURN(hc_gpu_launched("choosing neighbours", err));
    choose_from_all<<<(unsigned)(2 * queue->gpu->processors), THREADS, 0, queue->stream>>>(*training, *run);
    return hc_gpu_launched("choosing neighbours", err);
}

HcStatus hc_gpu_knn(HcQueue *queue, const HcBlock *in, const HcTraining *training, int32_t k, int32_t *index,
                    double *distance, HcError *err) {
    int64_t pixels = 0;
    int64_t above = 0;
    HC_OR_RETURN(hc_gpu_use(queue->gpu, err));
    pixels = (int64_t)in->lines * in->samples;
    above = (int64_t)in->above * in->samples;
    for (int64_t first = 0; first < pixels; first += training->capacity) {
        HcKnnRun run = {in->data + (above + first) * in->bands,
                        in->mask + above + first,
                        pixels - first < training->capacity ? pixels - first : training->capacity,
                        k,
                        index + first * k,
                        distance + first * k};
        HC_OR_RETURN(training->count <= FEW ? hc_gpu_knn_few(queue, training, &run, err)
                                            : search(queue, training, &run, err));
    }
    return HC_OK;
}
