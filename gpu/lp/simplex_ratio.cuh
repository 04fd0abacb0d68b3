/* The ratio test of dual simplex steps on the GPU: who enters, and which variables go to their other bounds
 * first. Every block runs it for itself, on what all of them have written before they met. */
#ifndef HC_GPU_LP_SIMPLEX_RATIO_CUH
#define HC_GPU_LP_SIMPLEX_RATIO_CUH

#include "gpu/lp/simplex_device.cuh"

namespace hc_lp {

/* Calls visit for the thread's variables, with ratio and one of the arrays beside it. Many loads are on their
 * way at once. */
template <typename Visit>
__device__ inline void scan(const HcSimplexView &v, const double *beside, Visit visit) {
    enum { AT_ONCE = 6 };
    for (int32_t begin = (int32_t)threadIdx.x; begin < v.all; begin += AT_ONCE * THREADS) {
        double ratio[AT_ONCE];
        double other[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            int32_t j = min(begin + i * THREADS, v.all - 1);
            ratio[i] = v.ratio[j];
            other[i] = beside[j];
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            int32_t j = begin + i * THREADS;
            if (j < v.all) {
                visit(j, ratio[i], other[i]);
            }
        }
    }
}

/* The candidates with ratios in (above, most]. Looks only at blocks that have brought a ratio that small. */
__device__ inline Group look_at(const HcSimplexView &v, double above, double most, bool bland,
                                Scratch *scratch) {
    Group group = {0, nothing(), 0, 0, -1};
    float least = __double2float_ru(most);
    int32_t number = 0;
    for (int32_t first = 0; first < (int32_t)gridDim.x; first += 32) {
        int32_t brought = first + lane() < (int32_t)gridDim.x ? scratch->brought[first + lane()] : INT32_MAX;
        bool looks = brought != INT32_MAX && __int_as_float(brought) <= least;
        uint32_t left = __ballot_sync(0xFFFFFFFF, looks);
        for (; left != 0; left &= left - 1, number++) {
            if (number % WARPS != warp()) {
                continue;
            }
            for_variables(v, first + __ffs((int)left) - 1, lane(), 32, [&](int32_t j) {
                double ratio = v.ratio[j];
                double gain = v.gain[j];
                double entry = v.row[j];
                double reduced = v.offered_reduced[j];
                int32_t slot = v.offered_slot[j];
                asm volatile("" ::"d"(gain), "d"(entry), "d"(reduced), "r"(slot)); /* load all at once */
                if (ratio > above && ratio <= most) {
                    Best offer = {bland ? -ratio : fabs(entry), j};
                    double slope = group.slope + gain;
                    group = precedes(offer, group.best) ? Group{slope, offer, entry, reduced, slot} : group;
                    group.slope = slope;
                }
            });
        }
    }
    int32_t own = group.best.index;
    group.slope = warp_sum(group.slope);
    group.best = warp_best(group.best);
    if (own == INT32_MAX ? lane() == 0 && group.best.index == own : own == group.best.index) {
        scratch->group[warp()] = group;
    }
    __syncthreads(); /* so does next_of, before the next look */
    const Group &of_lane = scratch->group[lane() % WARPS];
    Best best = warp_best(of_lane.best);
    double slope = warp_sum(lane() < WARPS ? of_lane.slope : 0);
    uint32_t has = __ballot_sync(0xFFFFFFFF, of_lane.best.index == best.index);
    group = scratch->group[(__ffs((int)has) - 1) % WARPS];
    group.slope = slope;
    return group;
}

/* The smallest ratio with the tolerance of those above `most`; infinite = there are none. */
__device__ inline double next_of(const HcSimplexView &v, double most, Scratch *scratch) {
    double next = (double)INFINITY;
    scan(v, v.allowed, [&](int32_t, double ratio, double allowed) {
        next = ratio > most && ratio < (double)INFINITY ? fmin(next, allowed) : next;
    });
    return block_least(next, scratch);
}

/* Where hundreds of variables are to be flipped, groups are too many to look at each. Returns a ratio above
 * `low` up to which all may be flipped, while only few may be up to the next one that is tried; it takes from
 * *slope what that takes, and leaves it at least 0. `low` if there is no such ratio. */
static __device__ __noinline__ double leap(const HcSimplexView &v, const double low, double *slope,
                                           Scratch *scratch) {
    enum { PASSES = 40, FEW = 8 };
    double from = low;
    double left = *slope;
    double high = (double)INFINITY;
    double between = (double)INFINITY; /* candidates in (from, high] */
    for (int pass = 0; pass < PASSES && between > FEW; pass++) {
        double at = isinf(high) ? 16 * from : high > 4 * from ? sqrt(from) * sqrt(high) : (from + high) / 2;
        double gain = 0;
        double count = 0;
        scan(v, v.gain, [&](int32_t, double ratio, double more) {
            gain += ratio > from && ratio <= at ? more : 0;
            count += ratio > from && ratio <= at ? 1 : 0;
        });
        gain = block_sum(gain, scratch);
        count = block_sum(count, scratch);
        if (left - gain >= 0) {
            left -= gain;
            from = at;
            between -= count;
        } else {
            high = at;
            between = count;
        }
    }
    if (isinf(high)) {
        return low;
    }
    *slope = left;
    return from;
}

/* Of candidates with ratios up to `most` and entries of at least `least` the one with the largest ratio.
 * Those with smaller ratios are to be flipped. Its index is INT32_MAX if there is none. */
__device__ inline Group last_large(const HcSimplexView &v, double most, double least, double *flipped,
                                   Scratch *scratch) {
    Best best = nothing();
    scan(v, v.row, [&](int32_t j, double ratio, double entry) {
        Best offer = {ratio, j};
        best = ratio <= most && fabs(entry) >= least && precedes(offer, best) ? offer : best;
    });
    best = block_best(best, scratch);
    *flipped = best.merit > 0 ? nextafter(best.merit, 0.0) : -1;
    int32_t j = min(best.index, v.all - 1);
    return {0, best, v.row[j], v.offered_reduced[j], v.offered_slot[j]};
}

/* Groups one after the other, as long as flipping all of a group leaves the basic variable beyond its bound;
 * of the groups, the last one with an entry that is not much smaller than the largest. After a leap that may
 * be one among those that it has passed. Candidates with ratios up to *flipped are to be flipped. An index of
 * INT32_MAX: the step never ends, since the variable stays beyond its bound by more than `least` whatever is
 * flipped. */
__device__ inline Group choose_entering(const HcSimplexView &v, double most, double excess, double least,
                                        bool bland, double *flipped, Scratch *scratch) {
    enum { PATIENCE = 3 };
    const Group none = {0, nothing(), 0, 0, -1};
    Group chosen = none;
    double above = -1;
    double slope = fabs(excess);
    double largest = 0;
    bool leapt = false;
    for (int groups = 1; most < (double)INFINITY; groups++) {
        Group group = look_at(v, above, most, bland, scratch);
        slope -= group.slope;
        largest = fmax(largest, group.best.merit);
        if ((chosen.best.index == INT32_MAX && !leapt) || group.best.merit >= fmin(0.1 * largest, 1.0)) {
            chosen = group;
            *flipped = above;
        }
        if (slope < 0 || bland) {
            break;
        }
        above = most;
        if (groups == PATIENCE) {
            above = leap(v, most, &slope, scratch);
            leapt = above > most;
            largest = leapt ? look_at(v, -1, above, bland, scratch).best.merit : largest;
            chosen = leapt ? none : chosen;
        }
        most = next_of(v, above, scratch);
    }
    if (slope > least && !bland) {
        return none;
    }
    return chosen.best.index == INT32_MAX && leapt
               ? last_large(v, above, fmin(0.1 * largest, 1.0), flipped, scratch)
               : chosen;
}

} // namespace hc_lp

#endif
