/* Active sets (cpu/unmix/active.c), a warp a pixel. Instead of the Cholesky factor L of the set's Gram matrix
 * its inverse is kept: products with it need no lane to wait for the one before. */
#ifndef HC_GPU_UNMIX_ACTIVE_CUH
#define HC_GPU_UNMIX_ACTIVE_CUH

#include "gpu/unmix/certify.cuh"

/* A pivot of the factor is at least so much of the diagonal. */
#define HC_ACTIVE_PIVOT_MIN 0x1p-43

/* What rounding may leave of a slope, relative to the lengths of spectrum and pixel. */
#define HC_ACTIVE_ROUNDING 0x1p-45

enum {
    HC_ACTIVE_CORRECTIONS = 3,
    HC_ACTIVE_NEAR = 40, /* members that shared memory holds; larger sets move to global memory */
    HC_ACTIVE_ROWS = 5,  /* numbers of a member, beside its row of the factor */
    HC_ACTIVE_WORDS = HC_UNMIX_SPECTRA_MAX / 32
};

/* Doubles that a set of N members takes. */
__host__ __device__ static inline size_t hc_active_scratch(size_t members) {
    return members * (members + 1) / 2 + HC_ACTIVE_ROWS * members + (members + 1) / 2;
}

struct HcActiveShared {
    double memory[HC_ACTIVE_NEAR * (HC_ACTIVE_NEAR + 1) / 2 + HC_ACTIVE_ROWS * HC_ACTIVE_NEAR +
                  (HC_ACTIVE_NEAR + 1) / 2];
    uint32_t barred[HC_ACTIVE_WORDS]; /* a bit a spectrum: may not enter */
};

/* The set of a warp; every lane has the same. */
struct HcActive {
    const HcUnmixLibrary *library;
    HcActiveShared *shared;
    double *far_memory;  /* for sets beyond HC_ACTIVE_NEAR */
    const double *start; /* [spectra] slopes at `origin`, without `shift` */
    double *changing;    /* the same, where it may change; else NULL: origin is 0 throughout */
    double shift;
    double level; /* the slope that members have at their best: lambda, or what the sum to one makes of it */
    int32_t capacity, count;
    bool is_far;
    double *factor; /* inverse of L, lower triangle, row after row */
    double *value;  /* [capacity] abundances: not negative */
    double *best;   /* [capacity] the best of the set, whatever their signs */
    double *origin; /* [capacity] abundances that the slopes `start` belong to */
    double *help, *ones;
    int32_t *member;
};

__host__ __device__ static inline int32_t hc_active_capacity(int32_t spectra, int32_t bands) {
    return spectra < bands + 2 ? spectra : bands + 2;
}

__device__ static inline double *active_row(const HcActive &set, int32_t i) {
    return set.factor + (int64_t)i * (i + 1) / 2;
}

/* Cuts the near or the far memory. */
__device__ static inline void active_place(HcActive &set, bool is_far) {
    int64_t rows = is_far ? set.capacity : HC_ACTIVE_NEAR;
    set.is_far = is_far;
    set.factor = is_far ? set.far_memory : set.shared->memory;
    set.value = set.factor + rows * (rows + 1) / 2;
    set.best = set.value + rows;
    set.origin = set.best + rows;
    set.help = set.origin + rows;
    set.ones = set.help + rows;
    set.member = (int32_t *)(set.ones + rows);
}

__device__ static inline void active_move(HcActive &set, bool is_far) {
    HcActive from = set;
    active_place(set, is_far);
    int32_t n = set.count;
    for (int32_t i = hc_lane(); i < n * (n + 1) / 2; i += 32) {
        set.factor[i] = from.factor[i];
    }
    for (int32_t i = hc_lane(); i < n; i += 32) {
        set.value[i] = from.value[i];
        set.best[i] = from.best[i];
        set.origin[i] = from.origin[i];
        set.member[i] = from.member[i];
    }
    __syncwarp();
}

__device__ static inline bool active_barred(const HcActive &set, int32_t k) {
    return (set.shared->barred[k / 32] >> (k % 32) & 1U) != 0;
}

__device__ static inline void active_bar(HcActive &set, int32_t k, bool is_barred) {
    __syncwarp();
    if (hc_lane() == 0) {
        uint32_t bit = 1U << (k % 32);
        uint32_t *word = &set.shared->barred[k / 32];
        *word = is_barred ? *word | bit : *word & ~bit;
    }
    __syncwarp();
}

/* to = inv(L) from. */
__device__ static inline void active_lower(const HcActive &set, const double *from, double *to) {
    for (int32_t i = hc_lane(); i < set.count; i += 32) {
        const double *row = active_row(set, i);
        double even = 0;
        double odd = 0;
        int32_t j = 0;
        for (; j + 1 <= i; j += 2) {
            even = fma(row[j], from[j], even);
            odd = fma(row[j + 1], from[j + 1], odd);
        }
        to[i] = j <= i ? fma(row[j], from[j], even) + odd : even + odd;
    }
    __syncwarp();
}

/* to = inv(L') from. */
__device__ static inline void active_upper(const HcActive &set, const double *from, double *to) {
    for (int32_t j = hc_lane(); j < set.count; j += 32) {
        double even = 0;
        double odd = 0;
        int32_t i = j;
        for (; i + 1 < set.count; i += 2) {
            even = fma(active_row(set, i)[j], from[i], even);
            odd = fma(active_row(set, i + 1)[j], from[i + 1], odd);
        }
        to[j] = i < set.count ? fma(active_row(set, i)[j], from[i], even) + odd : even + odd;
    }
    __syncwarp();
}

__device__ static __noinline__ void active_append(HcActive &set, int32_t k) {
    if (!set.is_far && set.count == HC_ACTIVE_NEAR) {
        active_move(set, true);
    }
    int32_t n = set.count;
    const double *gram = set.library->gram + (int64_t)k * set.library->rule.spectra;
    double *row = active_row(set, n);
    double square = 0;
    __syncwarp();
    for (int32_t i = hc_lane(); i < n; i += 32) {
        set.help[i] = gram[set.member[i]];
    }
    __syncwarp();
    active_lower(set, set.help, set.ones);
    active_upper(set, set.ones, set.help);
    for (int32_t i = hc_lane(); i < n; i += 32) {
        square = fma(set.ones[i], set.ones[i], square);
    }
    double pivot = sqrt(fmax(gram[k] - hc_warp_sum(square), HC_ACTIVE_PIVOT_MIN * gram[k]));
    for (int32_t i = hc_lane(); i < n; i += 32) {
        row[i] = -set.help[i] / pivot;
    }
    if (hc_lane() == 0) {
        row[n] = 1 / pivot;
        set.member[n] = k;
        set.value[n] = 0;
        set.origin[n] = 0;
    }
    set.count = n + 1;
    active_bar(set, k, true);
}

/* Rotations of rows bring entry `gone` of all rows after it into one, which leaves. */
__device__ static void active_shrink_factor(HcActive &set, int32_t gone) {
    double *carried = set.ones;
    for (int32_t j = hc_lane(); j <= gone; j += 32) {
        carried[j] = active_row(set, gone)[j];
    }
    __syncwarp();
    for (int32_t r = gone + 1; r < set.count; r++) {
        const double *from = active_row(set, r);
        double *to = active_row(set, r - 1);
        double a = carried[gone];
        double b = from[gone];
        double length = sqrt(a * a + b * b);
        double c = a / length;
        double s = b / length;
        __syncwarp();
        for (int32_t j = hc_lane(); j <= r; j += 32) {
            double above = j < r ? carried[j] : 0;
            double here = from[j];
            carried[j] = s * here + c * above;
            if (j != gone) {
                to[j < gone ? j : j - 1] = c * here - s * above;
            }
        }
        __syncwarp();
    }
}

template <typename T> __device__ static inline void active_close_up(T *array, int32_t gone, int32_t count) {
    for (int32_t first = gone; first < count - 1; first += 32) {
        int32_t i = first + hc_lane();
        T next = i < count - 1 ? array[i + 1] : array[gone];
        __syncwarp();
        if (i < count - 1) {
            array[i] = next;
        }
        __syncwarp();
    }
}

__device__ static __noinline__ void active_leave(HcActive &set, int32_t i) {
    int32_t k = set.member[i];
    double origin = set.origin[i];
    if (origin != 0) {
        const double *gram = set.library->gram + (int64_t)k * set.library->rule.spectra;
        for (int32_t other = hc_lane(); other < set.library->rule.spectra; other += 32) {
            set.changing[other] = fma(origin, gram[other], set.changing[other]);
        }
    }
    active_shrink_factor(set, i);
    active_close_up(set.member, i, set.count);
    active_close_up(set.value, i, set.count);
    active_close_up(set.best, i, set.count);
    active_close_up(set.origin, i, set.count);
    set.count--;
    active_bar(set, k, false);
}

/* best and level: the least F of the set, signs aside. */
__device__ static __noinline__ void active_find_best(HcActive &set) {
    const HcUnmixRule &rule = set.library->rule;
    double lambda = rule.sum_to_one ? 0 : rule.lambda;
    double sum = 0;
    double ones = 0;
    __syncwarp();
    for (int32_t i = hc_lane(); i < set.count; i += 32) {
        set.help[i] = set.start[set.member[i]] + set.shift - lambda;
    }
    __syncwarp();
    active_lower(set, set.help, set.ones);
    active_upper(set, set.ones, set.best);
    set.level = rule.lambda;
    if (rule.sum_to_one) {
        for (int32_t i = hc_lane(); i < set.count; i += 32) {
            set.help[i] = 1;
        }
        __syncwarp();
        active_lower(set, set.help, set.ones);
        active_upper(set, set.ones, set.help);
        for (int32_t i = hc_lane(); i < set.count; i += 32) {
            sum += set.origin[i] + set.best[i];
            ones += set.help[i];
        }
        set.level = (hc_warp_sum(sum) - 1) / hc_warp_sum(ones);
    }
    for (int32_t i = hc_lane(); i < set.count; i += 32) {
        double drawn = rule.sum_to_one ? set.level * set.help[i] : 0;
        set.best[i] += set.origin[i] - drawn;
    }
    __syncwarp();
}

__device__ static inline void active_take_best(HcActive &set) {
    for (int32_t i = hc_lane(); i < set.count; i += 32) {
        set.value[i] = set.best[i];
    }
    __syncwarp();
}

/* Members whose number is not above 0 leave, the last first; whether there were any. */
__device__ static bool active_drive_out(HcActive &set, const double *number) {
    bool any = false;
    for (int32_t first = (set.count - 1) / 32 * 32; first >= 0; first -= 32) {
        int32_t i = first + hc_lane();
        uint32_t out = __ballot_sync(0xFFFFFFFFU, i < set.count && !(number[i] > 0));
        for (any = any || out != 0; out != 0;) {
            int32_t last = 31 - __clz((int)out);
            out &= ~(1U << last);
            active_leave(set, first + last);
        }
    }
    return any;
}

/* From the set of another pixel: those that would be negative leave at once. */
__device__ static void active_begin(HcActive &set) {
    do {
        active_find_best(set);
    } while (active_drive_out(set, set.best));
    active_take_best(set);
}

/* Goes towards the best of the set until an abundance would be negative, which leaves; and again. */
__device__ static void active_descend(HcActive &set) {
    for (;;) {
        double step = INFINITY;
        int32_t first = -1;
        active_find_best(set);
        for (int32_t i = hc_lane(); i < set.count; i += 32) {
            if (!(set.best[i] > 0)) {
                double here = set.value[i] / (set.value[i] - set.best[i]);
                if (first < 0 || here < step) {
                    step = here;
                    first = i;
                }
            }
        }
        for (int d = 16; d > 0; d /= 2) {
            double other_step = __shfl_xor_sync(0xFFFFFFFFU, step, d);
            int32_t other = __shfl_xor_sync(0xFFFFFFFFU, first, d);
            bool is_other =
                other >= 0 && (first < 0 || other_step < step || (!(step < other_step) && other < first));
            step = is_other ? other_step : step;
            first = is_other ? other : first;
        }
        if (first < 0) {
            active_take_best(set);
            return;
        }
        for (int32_t i = hc_lane(); i < set.count; i += 32) {
            double moved = set.value[i] + step * (set.best[i] - set.value[i]);
            set.value[i] = i == first ? 0 : moved;
        }
        __syncwarp();
        active_drive_out(set, set.value);
    }
}

/* The largest number over all lanes, of equal ones the first; -1 where no lane has any. */
__device__ static inline int32_t active_first_most(double most, int32_t at, double *value) {
    for (int d = 16; d > 0; d /= 2) {
        double other = __shfl_xor_sync(0xFFFFFFFFU, most, d);
        int32_t other_at = __shfl_xor_sync(0xFFFFFFFFU, at, d);
        bool is_other = other_at >= 0 && (at < 0 || other > most || (other == most && other_at < at));
        most = is_other ? other : most;
        at = is_other ? other_at : at;
    }
    *value = most;
    return at;
}

/* The spectrum that lowers F most for its length; -1 = none does. */
__device__ static int32_t active_choose(HcActive &set, double tolerance) {
    enum { AHEAD = 4 };
    const HcUnmixLibrary &library = *set.library;
    int32_t spectra = library.rule.spectra;
    double most = 0;
    int32_t at = -1;
    __syncwarp();
    for (int32_t i = hc_lane(); i < set.count; i += 32) {
        set.help[i] = set.value[i] - set.origin[i];
    }
    __syncwarp();
    for (int32_t first = hc_lane(); first < spectra; first += 32 * AHEAD) {
        double slope[AHEAD];
        int32_t k[AHEAD];
#pragma unroll
        for (int u = 0; u < AHEAD; u++) {
            k[u] = first + 32 * u < spectra ? first + 32 * u : first;
            slope[u] = set.start[k[u]] + set.shift;
        }
        for (int32_t i = 0; i < set.count; i++) {
            const double *gram = library.gram + (int64_t)set.member[i] * spectra;
            double change = set.help[i];
#pragma unroll
            for (int u = 0; u < AHEAD; u++) {
                slope[u] = fma(-change, gram[k[u]], slope[u]);
            }
        }
#pragma unroll
        for (int u = 0; u < AHEAD; u++) {
            double value = (slope[u] - set.level) * library.price[k[u]];
            if (value > most && !active_barred(set, k[u])) {
                most = value;
                at = k[u];
            }
        }
    }
    at = active_first_most(most, at, &most);
    return most > tolerance ? at : -1;
}

/* The spectrum that is best alone. */
__device__ static int32_t active_choose_first(const HcActive &set) {
    const HcUnmixLibrary &library = *set.library;
    double most = 0;
    int32_t at = -1;
    for (int32_t k = hc_lane(); k < library.rule.spectra; k += 32) {
        double value = set.start[k] + set.shift - library.gram[(int64_t)k * (library.rule.spectra + 1)] / 2;
        if (at < 0 || value > most) {
            most = value;
            at = k;
        }
    }
    return active_first_most(most, at, &most);
}

/* Enters one spectrum after the other; returns how many did. One that rounding drives out at once stays out.
 */
__device__ static int32_t active_improve(HcActive &set, double tolerance, int32_t limit) {
    int32_t entered = 0;
    __syncwarp();
    for (int32_t word = hc_lane(); word < HC_ACTIVE_WORDS; word += 32) {
        set.shared->barred[word] = 0;
    }
    for (int32_t i = 0; i < set.count; i++) {
        active_bar(set, set.member[i], true);
    }
    active_begin(set);
    if (set.library->rule.sum_to_one && set.count == 0) {
        active_append(set, active_choose_first(set));
        active_begin(set);
    }
    while (entered < limit && set.count < set.capacity) {
        int32_t k = active_choose(set, tolerance);
        if (k < 0) {
            break;
        }
        active_append(set, k);
        active_descend(set);
        if (set.count == 0 || set.member[set.count - 1] != k) {
            active_bar(set, k, true);
        }
        entered++;
    }
    return entered;
}

__device__ static void active_write(const HcActive &set, double *abundance) {
    for (int32_t k = hc_lane(); k < set.library->rule.spectra; k += 32) {
        abundance[k] = 0;
    }
    __syncwarp();
    for (int32_t i = hc_lane(); i < set.count; i += 32) {
        abundance[set.member[i]] = set.value[i];
    }
    __syncwarp();
}

/* An empty set. */
__device__ static inline HcActive active_new(const HcUnmixLibrary *library, HcActiveShared *shared,
                                             double *far_memory) {
    HcActive set = {};
    set.library = library;
    set.shared = shared;
    set.far_memory = far_memory;
    set.capacity = hc_active_capacity(library->rule.spectra, library->rule.bands);
    active_place(set, false);
    return set;
}

/* The members that are left begin from slopes where all abundances are 0. */
__device__ static inline void active_start_from_nothing(HcActive &set, const double *product) {
    if (set.is_far && set.count < HC_ACTIVE_NEAR / 2) {
        active_move(set, false);
    }
    set.start = product;
    set.changing = NULL;
    set.shift = set.library->shift;
    for (int32_t i = hc_lane(); i < set.count; i += 32) {
        set.origin[i] = 0;
    }
    __syncwarp();
}

/* The set of abundances that were found, with the slopes of their residual. */
__device__ static void active_start_from(HcActive &set, const double *abundance, double *slope) {
    set.count = 0;
    active_place(set, false);
    set.start = set.changing = slope;
    set.shift = 0;
    for (int32_t first = 0; first < set.library->rule.spectra; first += 32) {
        int32_t k = first + hc_lane();
        uint32_t in = __ballot_sync(0xFFFFFFFFU, k < set.library->rule.spectra && abundance[k] > 0);
        for (; in != 0; in &= in - 1) {
            int32_t next = first + __ffs((int)in) - 1;
            active_append(set, next);
            if (hc_lane() == 0) {
                set.origin[set.count - 1] = abundance[next];
            }
            __syncwarp();
        }
    }
}

__device__ static inline void hc_unmix_active(const HcUnmixLibrary &library, HcUnmixPanel *panel,
                                              const HcUnmixScratch &scratch, HcActiveShared *shared) {
    int64_t spectra = library.rule.spectra;
    int32_t limit = library.rule.iterations;
    int warp = hc_warp();
    double *far_memory =
        scratch.solver +
        warp * hc_active_scratch((size_t)hc_active_capacity(library.rule.spectra, library.rule.bands));
    HcActive set = active_new(&library, &shared[warp], far_memory);
    int32_t count = panel->open;
    for (int32_t p = count * warp / HC_UNMIX_WARPS; p < count * (warp + 1) / HC_UNMIX_WARPS; p++) {
        active_start_from_nothing(set, scratch.product + p * spectra);
        double tolerance = HC_ACTIVE_ROUNDING * sqrt(panel->energy[p] + library.shift);
        int32_t entered = active_improve(set, tolerance, limit);
        if (hc_lane() == 0) {
            panel->iterations[p] = entered;
        }
        active_write(set, scratch.abundance + p * spectra);
    }
    __syncthreads();
    hc_unmix_certify(library, panel, scratch, INT32_MAX);
    for (int round = 0; round < HC_ACTIVE_CORRECTIONS && panel->open > 0; round++) {
        for (int32_t j = warp; j < panel->open; j += HC_UNMIX_WARPS) {
            int32_t p = panel->number[j];
            double tolerance = HC_ACTIVE_ROUNDING * sqrt(panel->energy[p] + library.shift);
            active_start_from(set, scratch.abundance + p * spectra, scratch.slope + p * spectra);
            int32_t entered = active_improve(set, tolerance / 64, limit - panel->iterations[p]);
            if (hc_lane() == 0) {
                panel->iterations[p] += entered;
            }
            active_write(set, scratch.abundance + p * spectra);
        }
        __syncthreads();
        hc_unmix_certify(library, panel, scratch, INT32_MAX);
    }
}

#endif
