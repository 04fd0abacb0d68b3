/* Active sets: the best abundances of a set of spectra are those of a small system of equations, and spectra
 * enter and leave the set until none would lower F (Lawson and Hanson 1974; Bro and de Jong 1997). The
 * inverse of the Cholesky factor follows the changes of the set: products with it have no chain of divisions.
 * A pixel begins with the set of its left neighbour. */
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

/* Columns by which a row of the inverse is multiplied at a time. */
enum { LANES = 8 };
typedef double Lanes __attribute__((vector_size(LANES * sizeof(double)), aligned(sizeof(double)), may_alias));

/* Two spectra enter at a time while slopes are above this multiple of the tolerance; the second one has at
 * least this share of the largest slope. */
static const double far = 0x1p10;
static const double alike = 0.5;

typedef struct Active {
    const double *gram;
    int64_t spectra;
    bool sum_to_one;
    double lambda;
    int32_t capacity, stride, count;
    int32_t *member; /* [capacity] spectra of the set, as they came */
    /* [capacity][stride] lower triangle R, R'R = inv(gram of the members); zeros up to a multiple of LANES */
    double *inverse;
    double *value;             /* [stride] abundances: not negative */
    double *best;              /* [stride] the best of the set, whatever their signs */
    double *reached;           /* [stride] R (start - lambda) */
    double *ones;              /* [stride] R 1 */
    double *help, *turned;     /* [stride] */
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

/* Entries up to the next multiple of LANES. */
static int32_t padded(int32_t count) {
    return (count + LANES - 1) / LANES * LANES;
}

size_t hc_unmix_active_scratch(const HcUnmixing *unmixing) {
    size_t capacity = (size_t)capacity_of(unmixing);
    size_t stride = (size_t)padded(capacity_of(unmixing));
    return capacity * stride + 7 * stride + 4 * (size_t)unmixing->rule.spectra;
}

static Active lay_out(const HcUnmixing *unmixing, double *scratch) {
    int32_t capacity = capacity_of(unmixing);
    int32_t stride = padded(capacity);
    int64_t spectra = unmixing->rule.spectra;
    Active active = {.gram = unmixing->gram,
                     .spectra = spectra,
                     .sum_to_one = unmixing->rule.sum_to_one,
                     .lambda = unmixing->rule.lambda,
                     .capacity = capacity,
                     .stride = stride,
                     .usual_price = unmixing->price};
    active.inverse = scratch;
    active.value = active.inverse + (int64_t)capacity * stride;
    active.best = active.value + stride;
    active.reached = active.best + stride;
    active.ones = active.reached + stride;
    active.help = active.ones + stride;
    active.turned = active.help + stride;
    active.price = active.turned + stride;
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

/* product = R vector; the vector has zeros up to a multiple of LANES. */
HC_CLONES static void multiply(const double *inverse, int64_t stride, int32_t count, const double *vector,
                               double *product) {
    for (int32_t i = 0; i < count; i++) {
        Lanes sum = {0};
        for (int32_t j = 0; j <= i; j += LANES) {
            sum += *(const Lanes *)(inverse + i * stride + j) * *(const Lanes *)(vector + j);
        }
        product[i] = ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
    }
}

/* product = R' vector, up to a multiple of LANES. */
HC_CLONES static void multiply_turned(const double *inverse, int64_t stride, int32_t count,
                                      const double *vector, double *product) {
    for (int32_t j = 0; j < count; j += LANES) {
        Lanes sum = {0};
        for (int32_t i = j; i < count; i++) {
            sum += vector[i] * *(const Lanes *)(inverse + i * stride + j);
        }
        *(Lanes *)(product + j) = sum;
    }
}

static double dot(int32_t count, const double *a, const double *b) {
    double sum = 0;
    for (int32_t i = 0; i < count; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

static void clear_rest(double *vector, int32_t count) {
    memset(vector + count, 0, (size_t)(padded(count) - count) * sizeof *vector);
}

/* The slope of spectrum k in equations of the set. */
static double wanted(const Active *active, int32_t k) {
    return active->start[k] - (active->sum_to_one ? 0 : active->lambda);
}

static void append(Active *active, int32_t k) {
    int32_t n = active->count;
    double *row = active->inverse + (int64_t)n * active->stride;
    const double *gram = active->gram + k * active->spectra;
    for (int32_t i = 0; i < n; i++) {
        active->help[i] = gram[active->member[i]];
    }
    clear_rest(active->help, n);
    multiply(active->inverse, active->stride, n, active->help, active->turned);
    double square = gram[k] - dot(n, active->turned, active->turned);
    double pivot = sqrt(fmax(square, least_pivot * gram[k]));
    multiply_turned(active->inverse, active->stride, n, active->turned, row);
    for (int32_t i = 0; i < n; i++) {
        row[i] = -row[i] / pivot;
    }
    row[n] = 1 / pivot;
    clear_rest(row, n + 1);
    active->reached[n] = (wanted(active, k) - dot(n, active->turned, active->reached)) / pivot;
    if (active->sum_to_one) {
        active->ones[n] = (1 - dot(n, active->turned, active->ones)) / pivot;
    }
    active->member[n] = k;
    active->value[n] = 0;
    active->price[k] = 0;
    active->count = n + 1;
}

static void reach(Active *active) {
    for (int32_t i = 0; i < active->count; i++) {
        active->help[i] = wanted(active, active->member[i]);
    }
    clear_rest(active->help, active->count);
    multiply(active->inverse, active->stride, active->count, active->help, active->reached);
}

/* Takes column `gone` out of the rows from `gone` on, and rotates each row from there with the next one. */
HC_CLONES static void rotate_rows(double *inverse, int64_t stride, int32_t gone, int32_t count,
                                  const double *c, const double *s) {
    for (int32_t i = gone; i < count; i++) {
        double *row = inverse + i * stride;
        for (int32_t j = gone; j < i; j++) {
            row[j] = row[j + 1];
        }
        row[i] = 0;
    }
    for (int32_t j = 0; j < count; j += LANES) {
        int32_t i = gone > j ? gone : j;
        double *at = inverse + i * stride + j;
        Lanes upper = *(Lanes *)at;
        for (; i + 1 < count; i++, at += stride) {
            Lanes lower = *(Lanes *)(at + stride);
            *(Lanes *)at = c[i] * upper - s[i] * lower;
            upper = s[i] * upper + c[i] * lower;
        }
    }
}

static void rotate_vector(double *vector, int32_t gone, int32_t count, const double *c, const double *s) {
    double upper = vector[gone];
    for (int32_t i = gone; i + 1 < count; i++) {
        double lower = vector[i + 1];
        vector[i] = c[i] * upper - s[i] * lower;
        upper = s[i] * upper + c[i] * lower;
    }
}

/* Takes a row and a column out of the inverse: rotations of rows bring the column into the last row. */
static void shrink_inverse(Active *active, int32_t gone) {
    double *c = active->help;
    double *s = active->turned;
    const double *column = active->inverse + gone;
    double upper = column[(int64_t)gone * active->stride];
    double square = upper * upper;
    for (int32_t i = gone; i + 1 < active->count; i++) {
        double lower = column[(int64_t)(i + 1) * active->stride];
        square += lower * lower;
        double length = sqrt(square);
        c[i] = lower / length;
        s[i] = upper / length;
        upper = length;
    }
    rotate_rows(active->inverse, active->stride, gone, active->count, c, s);
    rotate_vector(active->reached, gone, active->count, c, s);
    if (active->sum_to_one) {
        rotate_vector(active->ones, gone, active->count, c, s);
    }
}

static void leave(Active *active, int32_t i) {
    int32_t k = active->member[i];
    size_t behind = (size_t)(active->count - 1 - i);
    bool moves = active->origin[k] != 0;
    if (moves) {
        double taken = -active->origin[k];
        subtract_rows(active->gram, active->spectra, &k, &taken, 1, active->start);
        active->origin[k] = 0;
    }
    shrink_inverse(active, i);
    memmove(active->member + i, active->member + i + 1, behind * sizeof *active->member);
    memmove(active->value + i, active->value + i + 1, behind * sizeof *active->value);
    memmove(active->best + i, active->best + i + 1, behind * sizeof *active->best);
    active->price[k] = active->usual_price[k];
    active->count--;
    if (moves) {
        reach(active);
    }
}

/* best and level: the least F of the set, signs aside. */
static void find_best(Active *active) {
    const double *reached = active->reached;
    active->level = active->lambda;
    if (active->sum_to_one) {
        double sum = dot(active->count, active->ones, active->reached) - 1;
        for (int32_t i = 0; i < active->count; i++) {
            sum += active->origin[active->member[i]];
        }
        active->level = sum / dot(active->count, active->ones, active->ones);
        for (int32_t i = 0; i < active->count; i++) {
            active->help[i] = reached[i] - active->level * active->ones[i];
        }
        reached = active->help;
    }
    multiply_turned(active->inverse, active->stride, active->count, reached, active->best);
    for (int32_t i = 0; i < active->count; i++) {
        active->best[i] += active->origin[active->member[i]];
    }
}

/* From the set of another pixel: those that would be negative leave at once. */
static void begin(Active *active) {
    reach(active);
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
            if (!(active->value[i] > 0 || active->best[i] > 0)) { /* of two that enter one may wait */
                leave(active, i);
            }
        }
    }
}

/* The largest of each class of spectra, whose numbers leave the same rest. */
HC_CLONES static void most(const double *slope, const double *price, int64_t n, double level,
                           double *largest) {
    double lane[LANES] = {0};
    int64_t k = 0;
    for (; k + LANES <= n; k += LANES) {
        for (int64_t l = 0; l < LANES; l++) {
            double value = (slope[k + l] - level) * price[k + l];
            lane[l] = value > lane[l] ? value : lane[l];
        }
    }
    for (int64_t l = 0; k < n; k++, l++) {
        double value = (slope[k] - level) * price[k];
        lane[l] = value > lane[l] ? value : lane[l];
    }
    memcpy(largest, lane, sizeof lane);
}

/* The spectra that lower F most for their length, of two classes, the largest first; returns how many do. */
static int32_t choose(Active *active, double tolerance, int32_t room, int32_t *chosen) {
    double *change = active->help;
    double largest[LANES];
    int32_t class[2] = {0, -1};
    for (int32_t i = 0; i < active->count; i++) {
        change[i] = active->value[i] - active->origin[active->member[i]];
    }
    memcpy(active->slope, active->start, (size_t)active->spectra * sizeof *active->slope);
    subtract_rows(active->gram, active->spectra, active->member, change, active->count, active->slope);
    most(active->slope, active->price, active->spectra, active->level, largest);
    for (int32_t l = 1; l < LANES; l++) {
        if (largest[l] > largest[class[0]]) {
            class[1] = class[0];
            class[0] = l;
        } else if (class[1] < 0 || largest[l] > largest[class[1]]) {
            class[1] = l;
        }
    }
    double first = largest[class[0]];
    if (!(first > tolerance)) {
        return 0;
    }
    int32_t count = room > 1 && first > far * tolerance && largest[class[1]] > alike * first ? 2 : 1;
    for (int32_t i = 0; i < count; i++) {
        int32_t k = class[i];
        while ((active->slope[k] - active->level) * active->price[k] != largest[class[i]]) {
            k += LANES;
        }
        chosen[i] = k;
    }
    return count;
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
        int32_t chosen[2];
        int32_t room = (int32_t)hc_min64(limit - entered, active->capacity - active->count);
        int32_t count = choose(active, tolerance, room, chosen);
        if (count == 0) {
            break;
        }
        for (int32_t i = 0; i < count; i++) {
            append(active, chosen[i]);
        }
        descend(active);
        int32_t last = active->count > 0 ? active->member[active->count - 1] : -1;
        if (last != chosen[0] && last != chosen[count - 1]) {
            active->price[chosen[0]] = 0;
        }
        entered += count;
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
