/* Looks of working sets at all spectra, and what a set is made of (cpu/unmix/working.c). */
#ifndef HC_GPU_UNMIX_WORKING_SET_CUH
#define HC_GPU_UNMIX_WORKING_SET_CUH

#include "gpu/unmix/alm.cuh"
#include "gpu/unmix/certify.cuh"
#include "gpu/unmix/fista.cuh"
#include "gpu/unmix/working_table.cuh"

/* Of a pixel, rows of `spectra`; and what is seen of it. */
struct HcWorkingPixel {
    const double *product; /* D W y */
    double *abundance;
    double *slope; /* of all spectra */
    double energy; /* y'W y */
    double level;  /* where slopes of abundances that are not 0 are at the optimum */
    double gap;    /* relative, as far as products with the Gram matrix tell it */
};

/* Abundances that are not 0, in shared memory. */
struct HcWorkingList {
    const int32_t *number; /* of the spectra */
    const double *value;
    int32_t count;
};

/* What makes an upper bound of the gap, of all spectra; the same in every lane. */
struct HcWorkingBound {
    double top;  /* the largest slope, at least lambda unless abundances sum to one */
    double rise; /* t of gap_of_dual */
};

/* The relative gap, by the abundances that are not 0: as relative_gap, which asks all spectra. */
__device__ static inline double working_gap(const HcUnmixLibrary &library, const HcWorkingPixel &pixel,
                                            const HcWorkingList &list, HcWorkingBound bound, double square) {
    double lambda = library.rule.lambda;
    double scale = bound.top > lambda ? lambda / bound.top : 1;
    double sum = 0;
    double gap = 0;
    double moved = 0;
    for (int32_t m = hc_lane(); m < list.count; m += 32) {
        double x = list.value[m];
        double slope = pixel.slope[list.number[m]];
        sum += x;
        if (library.rule.sum_to_one) {
            gap = fma(x, bound.top - slope, gap);
        } else {
            double rise = library.rise != NULL ? library.rise[list.number[m]] : 0;
            gap = fma(x, lambda - scale * slope, gap);
            moved = fma(x, lambda - slope + bound.rise * rise, moved);
        }
    }
    double value = square / 2;
    if (library.rule.sum_to_one) {
        gap = hc_warp_sum(gap);
    } else {
        gap = lesser_gap(library, scale, gap, bound.rise, moved, square);
        value += lambda * hc_warp_sum(sum);
    }
    return gap_of_value(gap, value, pixel.energy);
}

/* Those of all spectra, before there is a set. */
template <int SIDE>
__device__ static inline HcWorkingList
working_list_all(const HcUnmixLibrary &library, const HcWorkingPixel &pixel, HcWorkingShared<SIDE> *shared) {
    int32_t *number = (int32_t *)shared->vector[0];
    int32_t count = hc_metric_list<true>(library.rule.spectra, pixel.abundance, number);
    for (int32_t m = hc_lane(); m < count; m += 32) {
        shared->vector[1][m] = pixel.abundance[number[m]];
    }
    __syncwarp();
    return {number, shared->vector[1], count};
}

/* Those of the set. */
template <int SIDE> __device__ static inline HcWorkingList working_list(const HcWorking<SIDE> &working) {
    int32_t *number = (int32_t *)working.shared->vector[0];
    double *value = working.shared->vector[1];
    int32_t count = 0;
    __syncwarp();
#pragma unroll
    for (int v = 0; v < working_parts(SIDE); v++) {
        bool is_member = working.x[v] > 0;
        uint32_t in = __ballot_sync(0xFFFFFFFFU, is_member);
        int32_t place = count + __popc(in & ((1U << hc_lane()) - 1));
        if (is_member) {
            number[place] = working.shared->number[32 * v + hc_lane()];
            value[place] = working.x[v];
        }
        count += __popc(in);
    }
    __syncwarp();
    return {number, value, count};
}

/* Slopes and gap. */
__device__ static inline void working_look(const HcUnmixLibrary &library, HcWorkingPixel &pixel,
                                           const HcWorkingList &list) {
    enum { HELD = HC_FISTA_HELD };
    int32_t n = library.rule.spectra;
    bool has_rise = library.rise != NULL && !library.rule.sum_to_one;
    double top = library.rule.sum_to_one ? -INFINITY : library.rule.lambda;
    double above = 0; /* the largest (slope - lambda) / rise, as a fraction: it is divided once */
    double below = 1;
    for (int32_t k0 = hc_lane(); k0 < n; k0 += 32 * HELD) {
        double slope[HELD];
        double rise[HELD];
#pragma unroll
        for (int i = 0; i < HELD; i++) {
            slope[i] = pixel.product[k0 + 32 * i] + library.shift;
        }
        fista_add(
            library, [&](int32_t m) { return list.value[m]; }, list.number, list.count, k0, slope);
#pragma unroll
        for (int i = 0; i < HELD; i++) {
            rise[i] = has_rise ? library.rise[k0 + 32 * i] : 0;
        }
#pragma unroll
        for (int i = 0; i < HELD; i++) {
            bool is_there = k0 + 32 * i < n;
            double excess = slope[i] - library.rule.lambda;
            bool is_steeper = is_there && has_rise && excess * below > above * rise[i];
            above = is_steeper ? excess : above;
            below = is_steeper ? rise[i] : below;
            top = is_there && slope[i] > top ? slope[i] : top;
            if (is_there) {
                pixel.slope[k0 + 32 * i] = slope[i];
            }
        }
    }
    __syncwarp();
    double square = 0;
    double level = 0;
    for (int32_t m = hc_lane(); m < list.count; m += 32) {
        double slope = pixel.slope[list.number[m]];
        square = fma(list.value[m], pixel.product[list.number[m]] + slope, square);
        level = fma(list.value[m], slope, level);
    }
    square = fmax(pixel.energy - hc_warp_sum(square), 0.0);
    pixel.level = library.rule.sum_to_one ? hc_warp_sum(level) : library.rule.lambda;
    HcWorkingBound bound = {hc_warp_most(top), hc_warp_most(above / below)};
    pixel.gap = working_gap(library, pixel, list, bound, square);
}

/* From slopes to units. */
__device__ static inline double working_scale(const HcUnmixLibrary &library) {
    return library.working_level > 0 ? 1 / library.working_level : 1;
}

/* What a look at those outside found. */
struct HcWorkingFound {
    double most;      /* asked for by a spectrum outside of the set */
    double candidate; /* asked for by the lane's one without an abundance */
    int32_t number;   /* of that; -1 = none */
};

template <int SIDE>
__device__ static inline HcWorkingFound working_find(const HcUnmixLibrary &library,
                                                     const HcWorkingPixel &pixel,
                                                     const HcWorkingShared<SIDE> *shared) {
    enum { HELD = HC_FISTA_HELD };
    int32_t n = library.rule.spectra;
    HcWorkingFound found = {-INFINITY, -INFINITY, -1};
    for (int32_t k0 = hc_lane(); k0 < n; k0 += 32 * HELD) {
        double asked[HELD];
        double x[HELD];
#pragma unroll
        for (int i = 0; i < HELD; i++) {
            int32_t k = k0 + 32 * i;
            asked[i] = (pixel.slope[k] - pixel.level) * library.price[k];
            x[i] = pixel.abundance[k];
        }
#pragma unroll
        for (int i = 0; i < HELD; i++) {
            int32_t k = k0 + 32 * i;
            if (k < n && asked[i] > found.most && !working_bit(shared->inside[k / 32])) {
                found.most = asked[i];
            }
            if (k < n && !(x[i] > 0) && asked[i] > found.candidate) {
                found.candidate = asked[i];
                found.number = k;
            }
        }
    }
    found.most = hc_warp_most(found.most);
    return found;
}

/* Whether no spectrum outside of the set asks for much. */
template <int SIDE>
__device__ static inline bool working_suffices(const HcUnmixLibrary &library, const HcWorkingPixel &pixel,
                                               const HcWorking<SIDE> &working, double outside) {
    double most = 0;
#pragma unroll
    for (int v = 0; v < working_parts(SIDE); v++) {
        if (32 * v + hc_lane() < working.count) {
            int32_t k = working.shared->number[32 * v + hc_lane()];
            double asked = (pixel.slope[k] - pixel.level) * library.price[k];
            most = fmax(most, working.x[v] > 0 ? fabs(asked) : asked);
        }
    }
    return !(outside > HC_WORKING_OUTSIDE * hc_warp_most(most));
}

/* The spectra that have abundances, and those that ask for most; whether there is room. */
template <int SIDE>
__device__ static inline bool working_choose(const HcUnmixLibrary &library, const HcWorkingList &list,
                                             const HcWorkingFound &found, HcWorking<SIDE> &working) {
    enum { MEMBERS_MAX = 8 * SIDE };
    HcWorkingShared<SIDE> *shared = working.shared;
    int32_t n = library.rule.spectra;
    bool is_whole = n <= MEMBERS_MAX;
    int32_t count = is_whole ? n : list.count;
    if (!is_whole && count > MEMBERS_MAX - HC_WORKING_ROOM) {
        return false;
    }
    __syncwarp();
    for (int32_t word = hc_lane(); word < (n + 31) / 32; word += 32) {
        shared->inside[word] = is_whole ? working_places(n, word) : 0;
    }
    __syncwarp();
    for (int32_t m = hc_lane(); m < count; m += 32) {
        int32_t k = is_whole ? m : list.number[m];
        shared->number[m] = k;
        if (!is_whole) {
            atomicOr(&shared->inside[k / 32], 1U << k % 32);
        }
    }
    __syncwarp();
    int32_t wanted = min(count == 0 ? (int)HC_WORKING_FIRST : (int)HC_WORKING_ADDED, MEMBERS_MAX - count);
    bool is_left = !is_whole && found.number >= 0;
    /* Rounded, ascending as an integer; of equal ones the first lane's. */
    uint32_t bits = __float_as_uint((float)found.candidate) | 0x80000000U;
    uint32_t key = !is_left ? 0 : found.candidate > 0 ? bits : ~bits;
    int32_t rank = 0; /* how many ask for more */
#pragma unroll
    for (int d = 1; d < 32; d++) {
        uint32_t other = __shfl_xor_sync(0xFFFFFFFFU, key, d);
        rank += other > key || (other == key && (hc_lane() ^ d) < hc_lane()) ? 1 : 0;
    }
    is_left = is_left && rank < wanted && (found.candidate > 0 || (rank == 0 && count == 0));
    if (is_left) {
        shared->number[count + rank] = found.number;
        atomicOr(&shared->inside[found.number / 32], 1U << hc_lane());
    }
    int32_t added = __popc(__ballot_sync(0xFFFFFFFFU, is_left));
    working.count = count + added;
    if (working.count == 0) { /* the pixel is no number */
        shared->number[0] = 0;
        working.count = 1;
    }
    __syncwarp();
    return true;
}

/* use(i, even, odd) of the lane's entries of each tile i of a matrix [spectra][spectra], less `shift`, among
 * the spectra of the set; after them the unit matrix. */
template <int SIDE, typename Use>
__device__ static inline void working_each(const HcUnmixLibrary &library, const HcWorking<SIDE> &working,
                                           const double *matrix, double shift, Use use) {
    const int32_t *number = working.shared->number;
    int g = hc_lane() / 4;
    int t = hc_lane() % 4;
#pragma unroll
    for (int i = 0; i < SIDE; i++) {
        int32_t r = 8 * i + g;
        int32_t row = (r < working.count ? number[r] : 0) * library.rule.spectra;
#pragma unroll
        for (int j = 0; j <= i; j++) {
            double two[2];
#pragma unroll
            for (int h = 0; h < 2; h++) {
                int32_t c = 8 * j + 2 * t + h;
                bool is_there = r < working.count && c < working.count;
                double entry = matrix[row + (is_there ? number[c] : 0)];
                two[h] = is_there ? entry - shift : r == c ? 1 : 0;
            }
            use(metric_tile(i, j), two[0], two[1]);
        }
    }
}

/* The metric of the set, of which no spectrum is a member yet, and abundances; those that are not 0 are to
 * become members. */
template <int SIDE>
__device__ static inline void working_load(const HcUnmixLibrary &library, const HcWorkingPixel &pixel,
                                           HcWorking<SIDE> &working) {
    double scale = working_scale(library);
    double lambda = library.rule.sum_to_one ? 0 : library.rule.lambda;
    working_each(library, working, library.working_metric, 0, [&](int i, double even, double odd) {
        working.table[i][0] = even;
        working.table[i][1] = odd;
    });
#pragma unroll
    for (int v = 0; v < working_parts(SIDE); v++) {
        bool is_there = 32 * v + hc_lane() < working.count;
        int32_t k = is_there ? working.shared->number[32 * v + hc_lane()] : 0;
        working.x[v] = is_there ? pixel.abundance[k] : 0;
        working.product[v] = is_there ? scale * (pixel.product[k] - lambda) : 0;
        working.member[v] = 0;
        working.pending[v] = __ballot_sync(0xFFFFFFFFU, working.x[v] > 0);
    }
    working_multiply_table(working, working.x, working.turned);
}

/* Equal abundances of all members of the set, and a look at them. */
template <int SIDE>
__device__ static inline void working_begin_equal(const HcUnmixLibrary &library, HcWorkingPixel &pixel,
                                                  HcWorking<SIDE> &working) {
    for (int32_t i = hc_lane(); i < working.count; i += 32) {
        pixel.abundance[working.shared->number[i]] = 1 / (double)working.count;
    }
    __syncwarp();
    working_look(library, pixel, working_list_all(library, pixel, working.shared));
}

/* Abundances of the set to those of all spectra; others are 0 as it is. */
template <int SIDE>
__device__ static inline void working_write(const HcUnmixLibrary &library, const HcWorkingPixel &pixel,
                                            const HcWorking<SIDE> &working) {
    __syncwarp();
#pragma unroll
    for (int v = 0; v < working_parts(SIDE); v++) {
        if (32 * v + hc_lane() < working.count) {
            pixel.abundance[working.shared->number[32 * v + hc_lane()]] = working.x[v];
        }
    }
    __syncwarp();
}

#endif
