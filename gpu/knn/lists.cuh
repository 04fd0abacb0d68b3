/* The candidates of a pixel, a list in device memory: which of them may still be among the k nearest. */
#ifndef HC_GPU_KNN_LISTS_CUH
#define HC_GPU_KNN_LISTS_CUH

#include "gpu/knn/knn.cuh"

namespace {

/* Floats as integers in the same order. */
__device__ inline int32_t ordered(float value) {
    int32_t bits = __float_as_int(value);
    return bits >= 0 ? bits : bits ^ 0x7FFFFFFF;
}

/* The k-th largest of a warp's keys, PER a lane, bit by bit: the largest threshold that k reach. */
template <int PER> __device__ inline int32_t kth_by_bits(const int32_t key[PER], int32_t k) {
    int32_t low = INT32_MIN;
    for (int32_t bit = 31; bit >= 0; bit--) {
        const int32_t higher = (int32_t)((uint32_t)low + (1U << bit));
        int32_t count = 0;
#pragma unroll
        for (int32_t i = 0; i < PER; i++) {
            count += key[i] >= higher;
        }
        low = hc_warp_sum(count) >= k ? higher : low;
    }
    return low;
}

/* Does so one after another, for small k. */
template <int PER> __device__ inline int32_t kth_by_turns(const int32_t from[PER], int32_t k) {
    int32_t key[PER];
#pragma unroll
    for (int32_t i = 0; i < PER; i++) {
        key[i] = from[i];
    }
    for (int32_t n = 1;; n++) {
        int32_t best = INT32_MIN;
#pragma unroll
        for (int32_t i = 0; i < PER; i++) {
            best = max(best, key[i]);
        }
        const int32_t top = hc_warp_largest(best);
        if (n == k) {
            return top;
        }
        const uint32_t holders = __ballot_sync(0xFFFFFFFFU, best == top);
        bool takes = (int32_t)threadIdx.x % 32 == __ffs((int)holders) - 1;
#pragma unroll
        for (int32_t i = 0; i < PER; i++) {
            const bool this_one = takes && key[i] == top;
            key[i] = this_one ? INT32_MIN : key[i];
            takes = takes && !this_one;
        }
    }
}

/* The k-th largest of a warp's values; those that are not there are -infinity. */
template <int PER> __device__ inline float kth_largest(const float value[PER], int32_t k) {
    int32_t key[PER];
#pragma unroll
    for (int32_t i = 0; i < PER; i++) {
        key[i] = ordered(value[i]);
    }
    const int32_t kth = k <= 24 ? kth_by_turns<PER>(key, k) : kth_by_bits<PER>(key, k);
    return __int_as_float(kth >= 0 ? kth : kth ^ 0x7FFFFFFF);
}

/* The least that the similarity of a candidate is, so far as its error depends on the training spectrum. */
__device__ inline float least_of(const HcTraining &training, HcCandidate candidate, const HcBound &bound) {
    if (candidate.number < 0) {
        return -INFINITY;
    }
    const HcKnown known = training.known[candidate.number];
    return candidate.similarity - 2 * (bound.tilt * known.half_square + bound.ahead * known.step);
}

/* Drops the candidates of a list, at most 32 PER. */
template <int PER>
__device__ inline int32_t prune_list(const HcTraining &training, HcCandidate *list, int32_t own, int32_t k,
                                     HcBound bound, float *least) {
    const int32_t lane = threadIdx.x % 32;
    HcCandidate mine[PER];
    float value[PER];
#pragma unroll
    for (int32_t i = 0; i < PER; i++) {
        mine[i] = i * 8 + lane / 4 < own ? list[i * 32 + lane] : HcCandidate{-INFINITY, -1};
        value[i] = least_of(training, mine[i], bound);
    }
    *least = kth_largest<PER>(value, k) - bound.slack;
    int32_t kept = 0;
    __syncwarp();
#pragma unroll
    for (int32_t i = 0; i < PER; i++) {
        const bool stays = mine[i].number >= 0 && mine[i].similarity >= *least;
        const uint32_t all = __ballot_sync(0xFFFFFFFFU, stays);
        if (stays) {
            list[kept + __popc(all & ((1U << lane) - 1))] = mine[i];
        }
        kept += __popc(all);
    }
    __syncwarp();
    return kept;
}

/* How many of the first `found` places of a list are places n with n % 4 = lane % 4. */
__device__ inline int32_t quarter(int32_t found) {
    return (found + 3 - (int32_t)threadIdx.x % 4) / 4;
}

/* One warp: drops the candidates that cannot be among the k nearest, of at least k and at most
 * CANDIDATES_MAX, and closes up the list. `own` of the places n with n % 4 = lane % 4 are taken, at most
 * `longest` in any lane. Returns how many are left; what is below *least is not one either. */
__device__ inline int32_t prune(const HcTraining &training, HcCandidate *list, int32_t own, int32_t longest,
                                int32_t k, HcBound bound, float *least) {
    /* Lists are short once thresholds bite. */
    return longest <= 16   ? prune_list<2>(training, list, own, k, bound, least)
           : longest <= 32 ? prune_list<4>(training, list, own, k, bound, least)
                           : prune_list<PER_LANE>(training, list, own, k, bound, least);
}

/* Lists are pruned after 1, 4, 16 ... tiles: as many candidates come in between each time. */
__device__ inline bool is_due(int64_t tile) {
    return (tile & (tile + 1)) == 0 && ((tile + 1) & 0x5555555555555555) != 0;
}

} // namespace

#endif
