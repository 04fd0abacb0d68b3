/* Active sets (cpu/unmix/active.c), a warp a pixel. All is inlined, so that what every lane knows of a set
 * stays in registers and near memory is known to be shared. */
#ifndef HC_GPU_UNMIX_ACTIVE_CUH
#define HC_GPU_UNMIX_ACTIVE_CUH

#include "gpu/unmix/certify.cuh"
#include "gpu/unmix/metric.cuh"

/* A pivot of the factor is at least so much of the diagonal. */
#define HC_ACTIVE_PIVOT_MIN 0x1p-43

/* What rounding may leave of a slope, relative to the lengths of spectrum and pixel. */
#define HC_ACTIVE_ROUNDING 0x1p-45

/* Several spectra enter at a time while slopes are above this multiple of the tolerance; each has at least
 * this share of the largest slope. */
#define HC_ACTIVE_FAR   0x1p10
#define HC_ACTIVE_ALIKE 0.5

enum {
    HC_ACTIVE_CORRECTIONS = 3,
    HC_ACTIVE_NEAR = 40,    /* members that shared memory holds; larger sets move to global memory */
    HC_ACTIVE_TOGETHER = 3, /* spectra that enter at a time */
    HC_ACTIVE_VECTORS = 7,  /* of a set, beside the factor */
    HC_ACTIVE_WORDS = HC_UNMIX_SPECTRA_MAX / 32
};

/* Doubles that a set of N members takes. */
__host__ __device__ static inline constexpr size_t hc_active_scratch(size_t members) {
    return members * (members + 1) / 2 + HC_ACTIVE_VECTORS * members + (members + 1) / 2;
}

struct HcActiveShared {
    double memory[hc_active_scratch(HC_ACTIVE_NEAR)];
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
    int32_t listed; /* members that are there already, and have no row yet */
    bool is_far;
};

/* Its memory, a row a member. */
struct HcActiveRows {
    double *factor;  /* lower triangle R, row after row; R'R = inv(gram of the members) */
    double *value;   /* abundances: not negative */
    double *best;    /* the best of the set, whatever their signs */
    double *origin;  /* abundances that the slopes `start` belong to */
    double *reached; /* R (start - lambda) */
    double *ones;    /* R 1 */
    double *help, *turned;
    int32_t *member;
};

__host__ __device__ static inline int32_t hc_active_capacity(int32_t spectra, int32_t bands) {
    return spectra < bands + 2 ? spectra : bands + 2;
}

__device__ static inline int32_t active_row(int32_t i) {
    return i * (i + 1) / 2;
}

/* Calls each(i) for i < count, a lane an i; most sets need no second turn. */
template <typename Each> __device__ static __forceinline__ void active_each(int32_t count, Each each) {
#pragma unroll 1
    for (int32_t i = hc_lane(); i < count; i += 32) {
        each(i);
    }
}

/* Cuts the near or the far memory. */
__device__ static __forceinline__ HcActiveRows active_rows(const HcActive &set, bool is_far) {
    int32_t rows = is_far ? set.capacity : HC_ACTIVE_NEAR;
    HcActiveRows cut;
    cut.factor = is_far ? set.far_memory : set.shared->memory;
    cut.value = cut.factor + active_row(rows);
    cut.best = cut.value + rows;
    cut.origin = cut.best + rows;
    cut.reached = cut.origin + rows;
    cut.ones = cut.reached + rows;
    cut.help = cut.ones + rows;
    cut.turned = cut.help + rows;
    cut.member = (int32_t *)(cut.turned + rows);
    return cut;
}

__device__ static __forceinline__ void active_move(HcActive &set, bool is_far) {
    HcActiveRows from = active_rows(set, set.is_far);
    HcActiveRows to = active_rows(set, is_far);
    active_each(active_row(set.count), [&](int32_t i) { to.factor[i] = from.factor[i]; });
    active_each(set.count, [&](int32_t i) {
        to.value[i] = from.value[i];
        to.origin[i] = from.origin[i];
        to.member[i] = from.member[i];
    });
    set.is_far = is_far;
    __syncwarp();
}

__device__ static inline bool active_barred(const HcActive &set, int32_t k) {
    return (set.shared->barred[k / 32] >> (k % 32) & 1U) != 0;
}

__device__ static inline void active_bar(const HcActive &set, int32_t k, bool is_barred) {
    __syncwarp();
    if (hc_lane() == 0) {
        uint32_t bit = 1U << (k % 32);
        uint32_t *word = &set.shared->barred[k / 32];
        *word = is_barred ? *word | bit : *word & ~bit;
    }
    __syncwarp();
}

/* product = R vector. */
__device__ static __forceinline__ void active_multiply(const double *factor, int32_t count,
                                                       const double *vector, double *product) {
    enum { AHEAD = 4 };
    __syncwarp();
    active_each(count, [&](int32_t i) {
        const double *row = factor + active_row(i);
        double sum[2] = {};
#pragma unroll 1
        for (int32_t first = 0; first < count; first += AHEAD) {
#pragma unroll
            for (int u = 0; u < AHEAD; u++) {
                if (first + u <= i) {
                    sum[u % 2] = fma(row[first + u], vector[first + u], sum[u % 2]);
                }
            }
        }
        product[i] = sum[0] + sum[1];
    });
    __syncwarp();
}

/* product = scale R' vector + added; NULL = 0. */
__device__ static __forceinline__ void active_multiply_turned(const double *factor, int32_t count,
                                                              const double *vector, double scale,
                                                              const double *added, double *product) {
    enum { AHEAD = 4 };
    __syncwarp();
    active_each(count, [&](int32_t j) {
        const double *at = factor + j;
        double sum[2] = {};
#pragma unroll 1
        for (int32_t i = 0; i < count; i += AHEAD) {
#pragma unroll
            for (int u = 0; u < AHEAD; u++) {
                if ((uint32_t)(i + u - j) < (uint32_t)(count - j)) { /* j <= i + u < count */
                    sum[u % 2] = fma(*at, vector[i + u], sum[u % 2]);
                }
                at += i + u + 1;
            }
        }
        product[j] = scale * (sum[0] + sum[1]) + (added != NULL ? added[j] : 0);
    });
    __syncwarp();
}

/* The slope of spectrum k in equations of the set. */
__device__ static inline double active_wanted(const HcActive &set, int32_t k) {
    return set.start[k] + set.shift - (set.library->rule.sum_to_one ? 0 : set.library->rule.lambda);
}

__device__ static __forceinline__ void active_append(HcActive &set, const HcActiveRows &rows, int32_t k,
                                                     double origin) {
    int32_t n = set.count;
    bool sums = set.library->rule.sum_to_one;
    const double *gram = set.library->gram + (int64_t)k * set.library->rule.spectra;
    double square = 0;
    double reached = 0;
    double ones = 0;
    double wanted = active_wanted(set, k);
    double diagonal = gram[k];
    __syncwarp();
    active_each(n, [&](int32_t i) { rows.help[i] = gram[rows.member[i]]; });
    active_multiply(rows.factor, n, rows.help, rows.turned);
    active_each(n, [&](int32_t i) {
        double turned = rows.turned[i];
        square = fma(turned, turned, square);
        reached = fma(turned, rows.reached[i], reached);
        ones = sums ? fma(turned, rows.ones[i], ones) : 0;
    });
    double inverse = rsqrt(fmax(diagonal - hc_warp_sum(square), HC_ACTIVE_PIVOT_MIN * diagonal));
    reached = hc_warp_sum(reached);
    ones = sums ? hc_warp_sum(ones) : 0;
    active_multiply_turned(rows.factor, n, rows.turned, -inverse, NULL, rows.factor + active_row(n));
    if (hc_lane() == 0) {
        rows.factor[active_row(n) + n] = inverse;
        rows.reached[n] = (wanted - reached) * inverse;
        rows.ones[n] = (1 - ones) * inverse;
        rows.member[n] = k;
        rows.value[n] = 0;
        rows.origin[n] = origin;
    }
    set.count = n + 1;
    active_bar(set, k, true);
}

/* reached and ones, of all members. */
__device__ static __forceinline__ void active_reach(const HcActive &set, const HcActiveRows &rows) {
    active_each(set.count, [&](int32_t i) {
        rows.help[i] = active_wanted(set, rows.member[i]);
        rows.turned[i] = 1;
    });
    active_multiply(rows.factor, set.count, rows.help, rows.reached);
    if (set.library->rule.sum_to_one) {
        active_multiply(rows.factor, set.count, rows.turned, rows.ones);
    }
}

/* The rotations of each row from `gone` on with the next one that bring column `gone` into the last row. */
__device__ static __forceinline__ void active_find_rotations(const HcActiveRows &rows, int32_t gone,
                                                             int32_t count) {
    double diagonal = rows.factor[active_row(gone) + gone];
    double before = diagonal * diagonal;
#pragma unroll 1
    for (int32_t first = gone; first + 1 < count; first += 32) {
        int32_t i = first + hc_lane();
        double lower = i + 1 < count ? rows.factor[active_row(i + 1) + gone] : 0;
        double square = lower * lower;
#pragma unroll
        for (int d = 1; d < 32; d *= 2) {
            double other = __shfl_up_sync(0xFFFFFFFFU, square, d);
            square += hc_lane() >= d ? other : 0;
        }
        square += before;
        double upper = __shfl_up_sync(0xFFFFFFFFU, square, 1);
        upper = hc_lane() > 0 ? upper : before;
        before = __shfl_sync(0xFFFFFFFFU, square, 31);
        double inverse = rsqrt(square);
        if (i + 1 < count) {
            rows.help[i] = lower * inverse;
            rows.turned[i] = (i > gone ? sqrt(upper) : diagonal) * inverse;
        }
    }
    __syncwarp();
}

/* Takes row and column `gone` out of the factor; a lane a column. `reached` and `ones` turn as columns do. */
__device__ static __forceinline__ void active_rotate(const HcActiveRows &rows, int32_t gone, int32_t count) {
#pragma unroll 1
    for (int32_t first = 0; first < count + 2; first += 32) {
        int32_t j = first + hc_lane();
        int32_t row = j < count ? 1 : 0; /* by which rows of a column grow */
        int32_t top = j >= count + 2 || j == gone ? INT32_MAX : row * j;
        double *at =
            row != 0 ? rows.factor + active_row(gone) + j : &(j == count ? rows.reached : rows.ones)[gone];
        double *to = row != 0 && j > gone ? at - 1 : at;
        double upper = top <= gone ? *at : 0;
#pragma unroll 2
        for (int32_t i = gone; i + 1 < count; i++) {
            int32_t next = row * i + 1;
            double lower = top <= i + 1 ? at[next] : 0;
            double c = rows.help[i];
            double s = rows.turned[i];
            __syncwarp();
            if (top <= i + 1) {
                *to = fma(c, upper, -(s * lower));
            }
            upper = fma(s, upper, c * lower);
            at += next;
            to += next;
        }
        __syncwarp();
    }
}

__device__ static __forceinline__ void active_leave(HcActive &set, const HcActiveRows &rows, int32_t gone) {
    int32_t k = rows.member[gone];
    double origin = set.changing != NULL ? rows.origin[gone] : 0;
    if (origin != 0) {
        const double *gram = set.library->gram + (int64_t)k * set.library->rule.spectra;
        active_each(set.library->rule.spectra, [&](int32_t other) {
            set.changing[other] = fma(origin, gram[other], set.changing[other]);
        });
    }
    active_find_rotations(rows, gone, set.count);
    active_rotate(rows, gone, set.count);
#pragma unroll 1
    for (int32_t first = gone; first < set.count - 1; first += 32) {
        int32_t i = first + hc_lane();
        int32_t next = i < set.count - 1 ? i + 1 : gone;
        double value = rows.value[next];
        double best = rows.best[next];
        double origin_next = rows.origin[next];
        int32_t member = rows.member[next];
        __syncwarp();
        if (next > i) {
            rows.value[i] = value;
            rows.best[i] = best;
            rows.origin[i] = origin_next;
            rows.member[i] = member;
        }
        __syncwarp();
    }
    set.count--;
    active_bar(set, k, false);
    if (origin != 0) {
        active_reach(set, rows);
    }
}

/* best and level: the least F of the set, signs aside. */
__device__ static __forceinline__ void active_find_best(HcActive &set, const HcActiveRows &rows) {
    const HcUnmixRule &rule = set.library->rule;
    const double *reached = rows.reached;
    set.level = rule.lambda;
    if (rule.sum_to_one) {
        double sum = 0;
        double ones = 0;
        active_each(set.count, [&](int32_t i) {
            sum += fma(rows.ones[i], rows.reached[i], rows.origin[i]);
            ones = fma(rows.ones[i], rows.ones[i], ones);
        });
        set.level = (hc_warp_sum(sum) - 1) / hc_warp_sum(ones);
        active_each(set.count,
                    [&](int32_t i) { rows.help[i] = fma(-set.level, rows.ones[i], rows.reached[i]); });
        reached = rows.help;
    }
    active_multiply_turned(rows.factor, set.count, reached, 1, rows.origin, rows.best);
}

/* How far the set can go towards its best until an abundance would be negative, and which one is the first; 1
 * and -1 where none would be. */
__device__ static __forceinline__ double active_find_step(const HcActive &set, const HcActiveRows &rows,
                                                          int32_t *first) {
    double step = 1;
    int32_t at = -1;
    active_each(set.count, [&](int32_t i) {
        double value = rows.value[i];
        double best = rows.best[i];
        double here = value > 0 ? value / (value - best) : 0;
        if (!(best > 0) && (at < 0 || here < step)) {
            step = here;
            at = i;
        }
    });
    uint32_t key = at < 0 ? 0 : 1 + __float_as_uint(1) - __float_as_uint((float)step);
    uint32_t most = hc_warp_largest(key);
    int lane = __ffs((int)__ballot_sync(0xFFFFFFFFU, key == most)) - 1;
    *first = __shfl_sync(0xFFFFFFFFU, at, lane);
    return __shfl_sync(0xFFFFFFFFU, step, lane);
}

/* Members that are 0 and would be negative leave, the last first; whether there were any. */
__device__ static __forceinline__ bool active_drive_out(HcActive &set, const HcActiveRows &rows) {
    bool any = false;
#pragma unroll 1
    for (int32_t first = (set.count - 1) / 32 * 32; first >= 0; first -= 32) {
        int32_t i = first + hc_lane();
        uint32_t out = __ballot_sync(0xFFFFFFFFU, i < set.count && !(rows.value[i] > 0 || rows.best[i] > 0));
        for (any = any || out != 0; out != 0;) {
            int32_t last = 31 - __clz((int)out);
            out &= ~(1U << last);
            active_leave(set, rows, first + last);
        }
    }
    return any;
}

/* Goes towards the best of the set until an abundance would be negative, which leaves; and again. Of the set
 * of another pixel (is_new) those that would be negative leave at once. */
__device__ static __forceinline__ void active_descend(HcActive &set, const HcActiveRows &rows, bool is_new) {
    do {
        int32_t first = -1;
        active_find_best(set, rows);
        double step = is_new ? 1 : active_find_step(set, rows, &first);
        active_each(set.count, [&](int32_t i) {
            double moved = rows.value[i] + step * (rows.best[i] - rows.value[i]);
            rows.value[i] = i == first ? 0 : step < 1 ? moved : rows.best[i];
        });
        __syncwarp();
    } while (active_drive_out(set, rows));
}

/* Looks at one group of spectra after the other, from *group on, until some of a group would lower F. Lane i
 * gets the one of them that does so i-th most for its length, at most one of each class of numbers that leave
 * the same rest; returns how many there are: up to HC_ACTIVE_TOGETHER, and to `room`. */
__device__ static __forceinline__ int32_t active_choose(const HcActive &set, const HcActiveRows &rows,
                                                        double tolerance, int32_t room, int32_t *group,
                                                        int32_t *chosen) {
    enum { AHEAD = 4, GROUP = 32 * AHEAD };
    const HcUnmixLibrary &library = *set.library;
    int32_t spectra = library.rule.spectra;
    int32_t groups = (spectra + GROUP - 1) / GROUP;
    double most = tolerance;
    int32_t at = -1;
    uint32_t key = 0;
    active_each(set.count, [&](int32_t i) { rows.help[i] = rows.value[i] - rows.origin[i]; });
    __syncwarp();
#pragma unroll 1
    for (int32_t tries = 0; tries < groups && hc_warp_largest(key) == 0; tries++) {
        int32_t first = *group * GROUP + hc_lane();
        const double *gram = library.gram + first;
        double slope[AHEAD];
#pragma unroll
        for (int u = 0; u < AHEAD; u++) {
            slope[u] = first + 32 * u < spectra ? set.start[first + 32 * u] + set.shift : 0;
        }
#pragma unroll 4
        for (int32_t i = 0; i < set.count; i++) {
            const double *row = gram + (int64_t)rows.member[i] * spectra;
            double change = rows.help[i];
#pragma unroll
            for (int u = 0; u < AHEAD; u++) {
                slope[u] = first + 32 * u < spectra ? fma(-change, row[32 * u], slope[u]) : 0;
            }
        }
#pragma unroll
        for (int u = 0; u < AHEAD; u++) {
            int32_t k = first + 32 * u;
            double value = k < spectra ? (slope[u] - set.level) * library.price[k] : 0;
            if (value > most && !active_barred(set, k)) {
                most = value;
                at = k;
            }
        }
        key = at < 0 ? 0 : __float_as_uint((float)(most / tolerance));
        *group = *group + 1 < groups ? *group + 1 : 0;
    }
    int32_t count = 0;
    double largest = 0;
#pragma unroll 1
    while (count < min(room, (int32_t)HC_ACTIVE_TOGETHER)) {
        uint32_t here = hc_warp_largest(key);
        int lane = __ffs((int)__ballot_sync(0xFFFFFFFFU, key == here)) - 1;
        double value = __shfl_sync(0xFFFFFFFFU, most, lane);
        int32_t k = __shfl_sync(0xFFFFFFFFU, at, lane);
        bool is_alike = largest > HC_ACTIVE_FAR * tolerance && value > HC_ACTIVE_ALIKE * largest;
        if (here == 0 || (count > 0 && !is_alike)) {
            break;
        }
        *chosen = hc_lane() == count ? k : *chosen;
        key = hc_lane() == lane ? 0 : key;
        largest = count == 0 ? value : largest;
        count++;
    }
    return count;
}

/* The spectrum that is best alone. */
__device__ static __forceinline__ int32_t active_choose_first(const HcActive &set) {
    const HcUnmixLibrary &library = *set.library;
    double most = -INFINITY;
    int32_t at = 0;
    active_each(library.rule.spectra, [&](int32_t k) {
        double value = set.start[k] + set.shift - library.gram[(int64_t)k * (library.rule.spectra + 1)] / 2;
        at = value > most ? k : at;
        most = value > most ? value : most;
    });
    uint32_t best = __ballot_sync(0xFFFFFFFFU, most >= hc_warp_most(most));
    return __shfl_sync(0xFFFFFFFFU, at, __ffs((int)best) - 1);
}

/* Enters spectra until none would lower F; false: the near memory is full. One that rounding drives out at
 * once stays out. */
template <bool FAR>
__device__ static __forceinline__ bool active_enter(HcActive &set, double tolerance, int32_t limit,
                                                    int32_t *entered) {
    HcActiveRows rows = active_rows(set, FAR);
    int32_t full = FAR ? set.capacity : min(set.capacity, (int32_t)HC_ACTIVE_NEAR);
    int32_t chosen = -1; /* by lane i, the i-th of `count` */
    int32_t count = 0;
    int32_t group = 0;
    bool is_new = true;
#pragma unroll 1
    while (set.count < set.listed) {
        active_append(set, rows, rows.member[set.count], rows.origin[set.count]);
    }
    set.listed = 0;
    active_reach(set, rows);
    for (;;) {
        active_descend(set, rows, is_new);
        if (is_new && set.library->rule.sum_to_one && set.count == 0) {
            chosen = active_choose_first(set);
            count = 1;
        } else {
            int32_t last = set.count > 0 ? rows.member[set.count - 1] : -1;
            if (!is_new && !__any_sync(0xFFFFFFFFU, hc_lane() < count && chosen == last)) {
                active_bar(set, __shfl_sync(0xFFFFFFFFU, chosen, 0), true);
            }
            is_new = false;
            if (*entered >= limit || set.count >= set.capacity) {
                return true;
            }
            count = active_choose(set, rows, tolerance, limit - *entered, &group, &chosen);
            if (count == 0) {
                return true;
            }
            if (set.count == full) {
                return false;
            }
            count = min(count, full - set.count);
            *entered += count;
        }
#pragma unroll 1
        for (int32_t i = 0; i < count; i++) {
            active_append(set, rows, __shfl_sync(0xFFFFFFFFU, chosen, i), 0);
        }
    }
}

/* Returns how many spectra entered. */
__device__ static __forceinline__ int32_t active_improve(HcActive &set, double tolerance, int32_t limit) {
    int32_t entered = 0;
    const int32_t *member = active_rows(set, set.is_far).member;
    __syncwarp();
    active_each(HC_ACTIVE_WORDS, [&](int32_t word) { set.shared->barred[word] = 0; });
    __syncwarp();
    active_each(set.count,
                [&](int32_t i) { atomicOr(&set.shared->barred[member[i] / 32], 1U << (member[i] % 32)); });
    if (set.is_far || !active_enter<false>(set, tolerance, limit, &entered)) {
        if (!set.is_far) {
            active_move(set, true);
        }
        (void)active_enter<true>(set, tolerance, limit, &entered);
    }
    return entered;
}

__device__ static void active_write(const HcActive &set, double *abundance) {
    HcActiveRows rows = active_rows(set, set.is_far);
    active_each(set.library->rule.spectra, [&](int32_t k) { abundance[k] = 0; });
    __syncwarp();
    active_each(set.count, [&](int32_t i) { abundance[rows.member[i]] = rows.value[i]; });
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
    return set;
}

/* The members that are left begin from slopes where all abundances are 0. */
__device__ static __forceinline__ void active_start_from_nothing(HcActive &set, const double *product) {
    if (set.is_far && set.count < HC_ACTIVE_NEAR / 2) {
        active_move(set, false);
    }
    set.start = product;
    set.changing = NULL;
    set.shift = set.library->shift;
    set.listed = 0;
    double *origin = active_rows(set, set.is_far).origin;
    active_each(set.count, [&](int32_t i) { origin[i] = 0; });
}

/* The set of abundances that were found, with the slopes of their residual. */
__device__ static __forceinline__ void active_start_from(HcActive &set, const double *abundance,
                                                         double *slope) {
    HcActiveRows far = active_rows(set, true);
    set.count = 0;
    set.listed = hc_metric_list<true>(set.library->rule.spectra, abundance, far.member);
    set.is_far = set.listed > HC_ACTIVE_NEAR;
    set.start = set.changing = slope;
    set.shift = 0;
    HcActiveRows rows = active_rows(set, set.is_far);
    active_each(set.listed, [&](int32_t i) {
        int32_t k = far.member[i];
        rows.member[i] = k;
        rows.origin[i] = abundance[k];
    });
    __syncwarp();
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
    for (int round = 0; round <= HC_ACTIVE_CORRECTIONS && panel->open > 0; round++) {
        int32_t end = panel->open * (warp + 1) / HC_UNMIX_WARPS;
#pragma unroll 1
        for (int32_t j = panel->open * warp / HC_UNMIX_WARPS; j < end; j++) {
            int32_t p = panel->number[j];
            double *abundance = scratch.abundance + p * spectra;
            double tolerance = HC_ACTIVE_ROUNDING * sqrt(panel->energy[p] + library.shift);
            if (round == 0) {
                active_start_from_nothing(set, scratch.product + p * spectra);
            } else {
                active_start_from(set, abundance, scratch.slope + p * spectra);
                tolerance /= 64;
            }
            int32_t entered = active_improve(set, tolerance, limit - panel->iterations[p]);
            if (hc_lane() == 0) {
                panel->iterations[p] += entered;
            }
            active_write(set, abundance);
        }
        __syncthreads();
        hc_unmix_certify(library, panel, scratch, INT32_MAX);
    }
}

#endif
