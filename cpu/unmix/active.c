/* Active sets: the best abundances of a set of spectra are those of a small system of equations, and spectra
 * enter and leave the set until none would lower F (Lawson and Hanson 1974; Bro and de Jong 1997). Cholesky
 * factors of the set follow its changes, and a pixel begins with the set of its left neighbour. */
#include "cpu/unmix/unmix.h"

#include <math.h>
#include <string.h>

/* A pivot of the factor is at least so much of the diagonal: a spectrum that is a combination of the set can
 * take the place of one of them. */
static const double least_pivot = 0x1p-43;

/* What rounding may leave of a slope, relative to the lengths of spectrum and pixel. */
static const double rounding = 0x1p-45;

/* Abundances are corrected by what the slopes of their residual say, at most so often. */
enum { CORRECTIONS = 3 };

typedef struct Active {
    const double *gram;
    int64_t spectra;
    bool sum_to_one;
    double lambda;
    int32_t capacity, count;
    int32_t *member;           /* [capacity] spectra of the set, as they came */
    double *factor;            /* [capacity][capacity] lower triangle L, L L' = gram of the members */
    double *value;             /* [capacity] abundances: not negative */
    double *best;              /* [capacity] the best of the set, whatever their signs */
    double *ones;              /* [capacity] */
    const double *usual_price; /* [spectra] 1 / norm; 0 where that is 0 */
    double *price;             /* [spectra] 1 / norm; 0 = may not enter */
    double *origin; /* [spectra] abundances that the slopes `start` belong to; 0 outside of the set */
    double *start;  /* [spectra] */
    double *slope;  /* [spectra] */
    /* The slope that members have at their best: lambda, or with sum_to_one what it turns out to be. */
    double level;
} Active;

static int32_t capacity_of(const HcUnmixing *unmixing) {
    /* Independent spectra, one more for the sum to one, and one that is about to take a place. */
    return (int32_t)hc_min64(unmixing->rule.spectra, (int64_t)unmixing->rule.bands + 2);
}

size_t hc_unmix_active_scratch(const HcUnmixing *unmixing) {
    size_t capacity = (size_t)capacity_of(unmixing);
    return capacity * capacity + 4 * capacity + 4 * (size_t)unmixing->rule.spectra;
}

static Active lay_out(const HcUnmixing *unmixing, double *scratch) {
    int32_t capacity = capacity_of(unmixing);
    int64_t spectra = unmixing->rule.spectra;
    Active active = {.gram = unmixing->gram,
                     .spectra = spectra,
                     .sum_to_one = unmixing->rule.sum_to_one,
                     .lambda = unmixing->rule.lambda,
                     .capacity = capacity,
                     .usual_price = unmixing->price};
    active.factor = scratch;
    active.value = active.factor + (int64_t)capacity * capacity;
    active.best = active.value + capacity;
    active.ones = active.best + capacity;
    active.price = active.ones + capacity;
    active.origin = active.price + spectra;
    active.start = active.origin + spectra;
    active.slope = active.start + spectra;
    active.member = (int32_t *)(active.slope + spectra);
    return active;
}

/* to -= sum over i of factor[i] gram[row[i]]. */
HC_CLONES static void subtract_rows(const double *gram, int64_t n, const int32_t *row, const double *factor,
                                    int32_t count, double *restrict to) {
    int32_t i = 0;
    for (; i + 4 <= count; i += 4) {
        const double *restrict a = gram + row[i] * n;
        const double *restrict b = gram + row[i + 1] * n;
        const double *restrict c = gram + row[i + 2] * n;
        const double *restrict d = gram + row[i + 3] * n;
        for (int64_t k = 0; k < n; k++) {
            to[k] -=
                (factor[i] * a[k] + factor[i + 1] * b[k]) + (factor[i + 2] * c[k] + factor[i + 3] * d[k]);
        }
    }
    for (; i < count; i++) {
        const double *restrict a = gram + row[i] * n;
        for (int64_t k = 0; k < n; k++) {
            to[k] -= factor[i] * a[k];
        }
    }
}

/* x = inv(L) x. */
static void solve_lower(const Active *active, int32_t count, double *x) {
    for (int32_t i = 0; i < count; i++) {
        const double *row = active->factor + (int64_t)i * active->capacity;
        double sum = x[i];
        for (int32_t j = 0; j < i; j++) {
            sum -= row[j] * x[j];
        }
        x[i] = sum / row[i];
    }
}

/* x = inv(L') x. */
static void solve_upper(const Active *active, double *x) {
    for (int32_t i = active->count - 1; i >= 0; i--) {
        const double *row = active->factor + (int64_t)i * active->capacity;
        x[i] /= row[i];
        for (int32_t j = 0; j < i; j++) {
            x[j] -= x[i] * row[j];
        }
    }
}

static void append(Active *active, int32_t k) {
    int32_t n = active->count;
    double *row = active->factor + (int64_t)n * active->capacity;
    const double *gram = active->gram + k * active->spectra;
    for (int32_t i = 0; i < n; i++) {
        row[i] = gram[active->member[i]];
    }
    solve_lower(active, n, row);
    double pivot = gram[k];
    for (int32_t i = 0; i < n; i++) {
        pivot -= row[i] * row[i];
    }
    row[n] = sqrt(fmax(pivot, least_pivot * gram[k]));
    active->member[n] = k;
    active->value[n] = 0;
    active->price[k] = 0;
    active->count = n + 1;
}

/* Takes a row out of the factor: those below move up, and rotations of columns bring back the triangle. */
static void shrink_factor(Active *active, int32_t gone) {
    int64_t stride = active->capacity;
    int32_t count = active->count - 1;
    for (int32_t i = gone; i < count; i++) {
        memcpy(active->factor + i * stride, active->factor + (i + 1) * stride,
               (size_t)(i + 2) * sizeof(double));
    }
    for (int32_t j = gone; j < count; j++) {
        double *at = active->factor + j * stride + j;
        double length = sqrt(at[0] * at[0] + at[1] * at[1]);
        double c = at[0] / length;
        double s = at[1] / length;
        for (int32_t i = j; i < count; i++, at += stride) {
            double left = at[0];
            at[0] = c * left + s * at[1];
            at[1] = c * at[1] - s * left;
        }
    }
}

static void leave(Active *active, int32_t i) {
    int32_t k = active->member[i];
    size_t behind = (size_t)(active->count - 1 - i);
    if (active->origin[k] != 0) {
        double taken = -active->origin[k];
        subtract_rows(active->gram, active->spectra, &k, &taken, 1, active->start);
        active->origin[k] = 0;
    }
    shrink_factor(active, i);
    memmove(active->member + i, active->member + i + 1, behind * sizeof *active->member);
    memmove(active->value + i, active->value + i + 1, behind * sizeof *active->value);
    memmove(active->best + i, active->best + i + 1, behind * sizeof *active->best);
    active->price[k] = active->usual_price[k];
    active->count--;
}

/* best and level: the least F of the set, signs aside. */
static void find_best(Active *active) {
    double sum = -1;
    double ones = 0;
    for (int32_t i = 0; i < active->count; i++) {
        active->best[i] = active->start[active->member[i]] - (active->sum_to_one ? 0 : active->lambda);
        active->ones[i] = 1;
    }
    solve_lower(active, active->count, active->best);
    solve_upper(active, active->best);
    active->level = active->lambda;
    if (active->sum_to_one) {
        solve_lower(active, active->count, active->ones);
        solve_upper(active, active->ones);
        for (int32_t i = 0; i < active->count; i++) {
            sum += active->origin[active->member[i]] + active->best[i];
            ones += active->ones[i];
        }
        active->level = sum / ones;
    }
    for (int32_t i = 0; i < active->count; i++) {
        double drawn = active->sum_to_one ? active->level * active->ones[i] : 0;
        active->best[i] += active->origin[active->member[i]] - drawn;
    }
}

/* From the set of another pixel: those that would be negative leave at once. */
static void begin(Active *active) {
    for (bool all = false; !all;) {
        all = true;
        find_best(active);
        for (int32_t i = active->count - 1; i >= 0; i--) {
            if (!(active->best[i] > 0)) {
                leave(active, i);
                all = false;
            }
        }
    }
    memcpy(active->value, active->best, (size_t)active->count * sizeof *active->value);
}

/* Goes towards the best of the set until an abundance would be negative, which leaves; and again. */
static void descend(Active *active) {
    for (;;) {
        double step = 1;
        int32_t first = -1;
        find_best(active);
        for (int32_t i = 0; i < active->count; i++) {
            if (!(active->best[i] > 0)) {
                double here = active->value[i] / (active->value[i] - active->best[i]);
                if (first < 0 || here < step) {
                    step = here;
                    first = i;
                }
            }
        }
        if (first < 0) {
            memcpy(active->value, active->best, (size_t)active->count * sizeof *active->value);
            return;
        }
        for (int32_t i = 0; i < active->count; i++) {
            active->value[i] += step * (active->best[i] - active->value[i]);
        }
        active->value[first] = 0;
        for (int32_t i = active->count - 1; i >= 0; i--) {
            if (!(active->value[i] > 0)) {
                leave(active, i);
            }
        }
    }
}

HC_CLONES static double most(const double *slope, const double *price, int64_t n, double level) {
    double lane[8] = {0};
    int64_t k = 0;
    for (; k + 8 <= n; k += 8) {
        for (int64_t l = 0; l < 8; l++) {
            double value = (slope[k + l] - level) * price[k + l];
            lane[l] = value > lane[l] ? value : lane[l];
        }
    }
    for (; k < n; k++) {
        double value = (slope[k] - level) * price[k];
        lane[0] = value > lane[0] ? value : lane[0];
    }
    for (int64_t l = 1; l < 8; l++) {
        lane[0] = lane[l] > lane[0] ? lane[l] : lane[0];
    }
    return lane[0];
}

/* The spectrum that lowers F most for its length; -1 = none does. */
static int32_t choose(Active *active, double tolerance) {
    double *change = active->ones;
    for (int32_t i = 0; i < active->count; i++) {
        change[i] = active->value[i] - active->origin[active->member[i]];
    }
    memcpy(active->slope, active->start, (size_t)active->spectra * sizeof *active->slope);
    subtract_rows(active->gram, active->spectra, active->member, change, active->count, active->slope);
    double largest = most(active->slope, active->price, active->spectra, active->level);
    if (!(largest > tolerance)) {
        return -1;
    }
    int32_t k = 0;
    while ((active->slope[k] - active->level) * active->price[k] != largest) {
        k++;
    }
    return k;
}

/* The spectrum that is best alone. */
static int32_t choose_first(const Active *active) {
    int32_t first = 0;
    double least = INFINITY;
    for (int32_t k = 0; k < active->spectra; k++) {
        double here = active->gram[k * active->spectra + k] / 2 - active->start[k];
        if (here < least) {
            least = here;
            first = k;
        }
    }
    return first;
}

/* Enters one spectrum after the other; returns how many did. One that rounding drives out at once stays out.
 */
static int32_t improve(Active *active, double tolerance, int32_t limit) {
    int32_t entered = 0;
    memcpy(active->price, active->usual_price, (size_t)active->spectra * sizeof *active->price);
    for (int32_t i = 0; i < active->count; i++) {
        active->price[active->member[i]] = 0;
    }
    begin(active);
    if (active->sum_to_one && active->count == 0) {
        append(active, choose_first(active));
        begin(active);
    }
    while (entered < limit && active->count < active->capacity) {
        int32_t k = choose(active, tolerance);
        if (k < 0) {
            break;
        }
        append(active, k);
        descend(active);
        if (active->count == 0 || active->member[active->count - 1] != k) {
            active->price[k] = 0;
        }
        entered++;
    }
    return entered;
}

static void write_abundances(const Active *active, double *abundance) {
    memset(abundance, 0, (size_t)active->spectra * sizeof *abundance);
    for (int32_t i = 0; i < active->count; i++) {
        abundance[active->member[i]] = active->value[i];
    }
}

/* Slopes of the pixel where all abundances are 0. */
static void start_from_nothing(const HcUnmixing *unmixing, Active *active, const double *product) {
    for (int64_t k = 0; k < active->spectra; k++) {
        active->start[k] = product[k] + unmixing->shift;
        active->origin[k] = 0;
    }
}

/* The set of abundances that were found, with the slopes of their residual. */
static void start_from(Active *active, const double *abundance, const double *slope) {
    active->count = 0;
    memcpy(active->start, slope, (size_t)active->spectra * sizeof *slope);
    memcpy(active->origin, abundance, (size_t)active->spectra * sizeof *abundance);
    for (int32_t k = 0; k < active->spectra; k++) {
        if (abundance[k] > 0) {
            append(active, k);
        }
    }
}

void hc_unmix_active(const HcUnmixing *unmixing, HcUnmixPanel *panel) {
    int64_t spectra = unmixing->rule.spectra;
    int32_t limit = unmixing->rule.iterations;
    Active active = lay_out(unmixing, panel->scratch);
    for (int32_t j = 0; j < panel->open; j++) {
        int32_t p = panel->number[j];
        start_from_nothing(unmixing, &active, panel->product + p * spectra);
        panel->iterations[p] = improve(&active, rounding * sqrt(panel->energy[p] + unmixing->shift), limit);
        write_abundances(&active, panel->abundance + p * spectra);
    }
    hc_unmix_certify(unmixing, panel);
    for (int round = 0; round < CORRECTIONS && panel->open > 0; round++) {
        for (int32_t j = 0; j < panel->open; j++) {
            int32_t p = panel->number[j];
            double tolerance = rounding * sqrt(panel->energy[p] + unmixing->shift);
            start_from(&active, panel->abundance + p * spectra, panel->slope + j * spectra);
            panel->iterations[p] += improve(&active, tolerance / 64, limit - panel->iterations[p]);
            write_abundances(&active, panel->abundance + p * spectra);
        }
        hc_unmix_certify(unmixing, panel);
    }
}

void hc_unmix_active_one(const HcUnmixing *unmixing, const double *product, double energy, double *abundance,
                         double *scratch) {
    Active active = lay_out(unmixing, scratch);
    start_from_nothing(unmixing, &active, product);
    improve(&active, rounding * sqrt(energy + unmixing->shift), unmixing->rule.iterations);
    write_abundances(&active, abundance);
}
