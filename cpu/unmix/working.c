/* Steps on few spectra of the library, and looks at all of them. */
#include "cpu/unmix/working.h"

#include <math.h>
#include <string.h>

enum { MEMBERS_MAX = HC_WORKING_MAX };

enum { LANES = HC_WORKING_LANES };
typedef double Lanes __attribute__((vector_size(LANES * sizeof(double)), aligned(sizeof(double)), may_alias));

/* Sweeps `pivot` into (sign 1) or out of (-1) the symmetric matrix (Beaton 1964). */
HC_CLONES static void sweep(int32_t count, double *restrict matrix, int32_t pivot, double sign) {
    double factor[MEMBERS_MAX];
    double *own = matrix + pivot * MEMBERS_MAX;
    double value = own[pivot];
    for (int32_t j = 0; j < count; j += LANES) {
        *(Lanes *)(factor + j) = *(const Lanes *)(own + j) / value;
    }
    for (int32_t j = 0; j < count; j += LANES) {
        Lanes row = *(const Lanes *)(own + j);
        for (int32_t i = 0; i < count; i++) {
            *(Lanes *)(matrix + i * MEMBERS_MAX + j) -= factor[i] * row;
        }
    }
    for (int32_t i = 0; i < count; i++) {
        own[i] = matrix[i * MEMBERS_MAX + pivot] = sign * factor[i];
    }
    own[pivot] = -1 / value;
}

static void exchange(HcWorking *working, int32_t i) {
    sweep(working->count, working->table, i, working->member[i] ? -1 : 1);
    working->member[i] = !working->member[i];
}

void hc_working_invert(int32_t count, double *matrix) {
    for (int32_t i = 0; i < count; i++) {
        sweep(count, matrix, i, 1);
    }
}

HC_CLONES void hc_working_multiply(int32_t count, const double *restrict matrix,
                                   const double *restrict vector, double *restrict product) {
    for (int32_t i = 0; i < count; i += LANES) {
        Lanes sum = {0};
        for (int32_t j = 0; j < count; j++) {
            sum += vector[j] * *(const Lanes *)(matrix + j * MEMBERS_MAX + i);
        }
        *(Lanes *)(product + i) = sum;
    }
}

static void multiply_members(const HcWorking *working, const double *vector, double *product) {
    double of_members[MEMBERS_MAX];
    for (int32_t i = 0; i < working->count; i++) {
        of_members[i] = working->member[i] ? vector[i] : 0;
    }
    hc_working_multiply(working->count, working->table, of_members, product);
}

/* What is right if the members are: of a member x, of the others (M x - b + level). Returns the level, 0
 * unless abundances sum to one. */
static double solve_members(const HcUnmixing *unmixing, const HcWorking *working, const double *b,
                            double *value) {
    double level = 0;
    multiply_members(working, b, value);
    if (unmixing->rule.sum_to_one) {
        double one[MEMBERS_MAX];
        double drawn[MEMBERS_MAX];
        double sum = 1;
        double ones = 0;
        for (int32_t i = 0; i < working->count; i++) {
            one[i] = 1;
        }
        multiply_members(working, one, drawn);
        for (int32_t i = 0; i < working->count; i++) {
            sum += working->member[i] ? value[i] : 0;
            ones += working->member[i] ? drawn[i] : 0;
        }
        level = sum / ones;
        for (int32_t i = 0; i < working->count; i++) {
            value[i] -= level * drawn[i];
        }
    }
    for (int32_t i = 0; i < working->count; i++) {
        value[i] = working->member[i] ? -value[i] : value[i] - b[i] + level;
    }
    return level;
}

static bool any_member(const HcWorking *working) {
    bool any = false;
    for (int32_t i = 0; i < working->count; i++) {
        any = any || working->member[i];
    }
    return any;
}

static int32_t largest(int32_t count, const double *value) {
    int32_t at = 0;
    for (int32_t i = 1; i < count; i++) {
        at = value[i] > value[at] ? i : at;
    }
    return at;
}

/* Entries that are on the wrong side: members below 0, and others that would lower the function. */
static int32_t find_wrong(const HcWorking *working, const double *b, const double *value, bool *wrong) {
    int32_t count = 0;
    for (int32_t i = 0; i < working->count; i++) {
        double least = working->member[i] ? 0 : -HC_WORKING_ROUNDING * fabs(b[i]);
        wrong[i] = value[i] < least;
        count += wrong[i];
    }
    return count;
}

/* Of the wrong ones that are no members, those that would lower the function most are left, at most
 * HC_WORKING_ENTER. */
static void keep_worst(const HcWorking *working, const double *value, bool *wrong) {
    int32_t worst[HC_WORKING_ENTER];
    int32_t count = 0;
    for (int32_t i = 0; i < working->count; i++) {
        if (!wrong[i] || working->member[i]) {
            continue;
        }
        int32_t at = count < HC_WORKING_ENTER ? count++ : HC_WORKING_ENTER;
        for (; at > 0 && value[i] < value[worst[at - 1]]; at--) {
            if (at < HC_WORKING_ENTER) {
                worst[at] = worst[at - 1];
            } else {
                wrong[worst[at - 1]] = false;
            }
        }
        if (at < HC_WORKING_ENTER) {
            worst[at] = i;
        } else {
            wrong[i] = false;
        }
    }
}

/* Block pivoting (Kim and Park 2011), the largest number alone (Murty 1974) where that does not help. */
void hc_working_nearest(const HcUnmixing *unmixing, HcWorking *working, const double *b, double *x,
                        double *turned) {
    double value[MEMBERS_MAX];
    bool wrong[MEMBERS_MAX];
    double level = 0;
    int32_t best = working->count + 1;
    int32_t tries = HC_WORKING_TRIES;
    for (int pass = 0; pass < HC_WORKING_PASSES; pass++) {
        if (unmixing->rule.sum_to_one && !any_member(working)) {
            exchange(working, largest(working->count, b));
        }
        level = solve_members(unmixing, working, b, value);
        int32_t count = find_wrong(working, b, value, wrong);
        if (count == 0) {
            break;
        }
        bool all = count < best || tries > 0;
        tries = count < best ? HC_WORKING_TRIES : tries - 1;
        best = count < best ? count : best;
        if (all) {
            keep_worst(working, value, wrong);
        }
        for (int32_t i = working->count - 1, left = all ? count : 1; i >= 0 && left > 0; i--) {
            if (wrong[i]) {
                exchange(working, i);
                left--;
            }
        }
    }
    double sum = 0;
    for (int32_t i = 0; i < working->count; i++) {
        x[i] = working->member[i] && value[i] > 0 ? value[i] : 0;
        turned[i] = b[i] - level + (working->member[i] ? 0 : value[i]);
        sum += x[i];
    }
    for (int32_t i = 0; unmixing->rule.sum_to_one && sum > 0 && i < working->count; i++) {
        x[i] /= sum;
    }
}

/* --- looks at all spectra --- */

/* The slopes of all spectra; *square = r'W r. */
HC_CLONES static void find_slopes(const double *restrict gram, const double *restrict product, double shift,
                                  const double *restrict abundance, double energy, int64_t n,
                                  double *restrict slope, double *square) {
    for (int64_t k = 0; k < n; k++) {
        slope[k] = product[k] + shift;
    }
    for (int64_t i = 0; i < n; i++) {
        double x = abundance[i];
        if (x != 0) {
            for (int64_t k = 0; k < n; k++) {
                slope[k] -= x * gram[i * n + k];
            }
        }
    }
    *square = energy;
    for (int64_t k = 0; k < n; k++) {
        *square -= abundance[k] * (product[k] + slope[k]);
    }
}

/* Where slopes of abundances that are not 0 are at the optimum. */
static double level_of(const HcUnmixing *unmixing, const double *abundance, const double *slope) {
    double level = 0;
    for (int32_t k = 0; unmixing->rule.sum_to_one && k < unmixing->rule.spectra; k++) {
        level += abundance[k] * slope[k];
    }
    return unmixing->rule.sum_to_one ? level : unmixing->rule.lambda;
}

/* How much each spectrum asks for, for its length. */
HC_CLONES static void ask(const HcUnmixing *unmixing, const double *restrict slope, double level,
                          double *restrict value) {
    const double *restrict price = unmixing->price;
    int32_t spectra = unmixing->rule.spectra;
    for (int32_t k = 0; k < spectra; k++) {
        value[k] = (slope[k] - level) * price[k];
    }
}

HC_CLONES static bool any_above(const double *value, int64_t count, double bound) {
    int64_t above = 0;
    for (int64_t k = 0; k < count; k++) {
        above |= value[k] > bound;
    }
    return above != 0;
}

/* Whether no spectrum outside of the set asks for much. */
static bool suffices(const HcUnmixing *unmixing, const HcWorking *working, const double *abundance,
                     const double *slope) {
    double value[HC_UNMIX_SPECTRA_MAX];
    double most = 0;
    ask(unmixing, slope, level_of(unmixing, abundance, slope), value);
    for (int32_t i = 0; i < working->count; i++) {
        int32_t k = working->number[i];
        most = fmax(most, abundance[k] > 0 ? fabs(value[k]) : value[k]);
        value[k] = -INFINITY;
    }
    return !any_above(value, unmixing->rule.spectra, HC_WORKING_OUTSIDE * most);
}

/* The first largest of each class. */
HC_CLONES static void find_largest(const double *restrict value, int64_t count, int64_t *restrict at,
                                   double *restrict most) {
    int64_t k = 0;
    for (; k + HC_WORKING_CLASSES <= count; k += HC_WORKING_CLASSES) {
        for (int64_t c = 0; c < HC_WORKING_CLASSES; c++) {
            bool more = value[k + c] > most[c];
            most[c] = more ? value[k + c] : most[c];
            at[c] = more ? k + c : at[c];
        }
    }
    for (int64_t c = 0; k < count; k++, c++) {
        bool more = value[k] > most[c];
        most[c] = more ? value[k] : most[c];
        at[c] = more ? k : at[c];
    }
}

/* The spectrum without abundance, of each class, that would lower the function most; -1 = none. */
static void find_candidates(const HcUnmixing *unmixing, const double *abundance, const double *slope,
                            int64_t *candidate, double *most) {
    double value[HC_UNMIX_SPECTRA_MAX];
    ask(unmixing, slope, level_of(unmixing, abundance, slope), value);
    for (int32_t c = 0; c < HC_WORKING_CLASSES; c++) {
        candidate[c] = -1;
        most[c] = -INFINITY;
    }
    for (int32_t k = 0; k < unmixing->rule.spectra; k++) {
        value[k] = abundance[k] > 0 ? -INFINITY : value[k];
    }
    find_largest(value, unmixing->rule.spectra, candidate, most);
}

/* Adds those that ask for most. */
static void add_candidates(const HcUnmixing *unmixing, const double *abundance, const double *slope,
                           HcWorking *working) {
    int64_t candidate[HC_WORKING_CLASSES];
    double most[HC_WORKING_CLASSES];
    int32_t before = working->count;
    int32_t wanted = before == 0 ? HC_WORKING_FIRST : HC_WORKING_ADDED;
    int32_t end = before + wanted < MEMBERS_MAX ? before + wanted : MEMBERS_MAX;
    find_candidates(unmixing, abundance, slope, candidate, most);
    while (working->count < end) {
        int32_t at = largest(HC_WORKING_CLASSES, most);
        if (candidate[at] < 0 || (working->count > 0 && !(most[at] > 0))) {
            break;
        }
        working->number[working->count++] = (int32_t)candidate[at];
        candidate[at] = -1;
        most[at] = -INFINITY;
    }
    if (working->count == 0) { /* the pixel is no number */
        working->number[working->count++] = 0;
    }
}

/* The spectra that have abundances, and those that ask for most; whether there is room. */
static bool choose(const HcUnmixing *unmixing, const double *abundance, const double *slope,
                   HcWorking *working) {
    bool all = unmixing->rule.spectra <= MEMBERS_MAX;
    working->count = 0;
    for (int32_t k = 0; k < unmixing->rule.spectra; k++) {
        if (all || abundance[k] > 0) {
            if (!all && working->count == MEMBERS_MAX - HC_WORKING_ROOM) {
                return false;
            }
            working->number[working->count++] = k;
        }
    }
    if (!all) {
        add_candidates(unmixing, abundance, slope, working);
    }
    return true;
}

static void gather(const HcUnmixing *unmixing, const double *product, const double *abundance,
                   HcWorking *working) {
    int64_t n = unmixing->rule.spectra;
    double scale = 1 / hc_working_unit(unmixing);
    double lambda = unmixing->rule.sum_to_one ? 0 : unmixing->rule.lambda;
    for (int32_t i = 0; i < working->count; i++) {
        int64_t k = working->number[i];
        working->x[i] = abundance[k];
        working->product[i] = scale * (product[k] - lambda);
        working->member[i] = false;
        for (int32_t j = working->count; j % LANES != 0; j++) {
            int32_t at = i * MEMBERS_MAX + j;
            working->metric[at] = working->table[at] = working->rest[at] = 0;
        }
        for (int32_t j = 0; j < working->count; j++) {
            int64_t at = k * n + working->number[j];
            working->metric[i * MEMBERS_MAX + j] = working->table[i * MEMBERS_MAX + j] =
                unmixing->working_metric[at];
            working->rest[i * MEMBERS_MAX + j] =
                unmixing->working_metric[at] - scale * (unmixing->gram[at] - unmixing->shift);
        }
    }
    hc_working_multiply(working->count, working->metric, working->x, working->turned);
    for (int32_t i = 0; i < working->count; i++) {
        if (working->x[i] > 0) {
            exchange(working, i);
        }
    }
}

/* Slopes of the set. */
static void take_slopes(const HcUnmixing *unmixing, const double *slope, HcWorking *working) {
    double lambda = unmixing->rule.sum_to_one ? 0 : unmixing->rule.lambda;
    for (int32_t i = 0; i < working->count; i++) {
        working->slope[i] = (slope[working->number[i]] - lambda) / hc_working_unit(unmixing);
    }
}

static bool any_positive(const double *abundance, int64_t n) {
    bool any = false;
    for (int64_t k = 0; k < n; k++) {
        any = any || abundance[k] > 0;
    }
    return any;
}

/* Steps of pixel p until they seem to have come to their end; whether a set was not too small. */
static bool solve_pixel(const HcUnmixing *unmixing, HcUnmixPanel *panel, int32_t p, HcWorking *working,
                        HcWorkingSolver solver) {
    int32_t limit = unmixing->rule.iterations;
    int64_t n = unmixing->rule.spectra;
    const double *product = panel->product + p * n;
    double *abundance = panel->abundance + p * n;
    double *slope = panel->slope;
    double square = 0;
    double gap = INFINITY;
    bool is_new = true;
    bool is_empty = !any_positive(abundance, n);
    find_slopes(unmixing->gram, product, unmixing->shift, abundance, panel->energy[p], n, slope, &square);
    while (panel->iterations[p] < limit && !(gap <= unmixing->rule.gap)) {
        if (is_new) {
            if (!choose(unmixing, abundance, slope, working)) {
                return false;
            }
            if (unmixing->rule.sum_to_one && is_empty) {
                for (int32_t i = 0; i < working->count; i++) {
                    abundance[working->number[i]] = 1 / (double)working->count;
                }
                find_slopes(unmixing->gram, product, unmixing->shift, abundance, panel->energy[p], n, slope,
                            &square);
            }
            gather(unmixing, product, abundance, working);
        }
        take_slopes(unmixing, slope, working);
        if (is_new) {
            solver.begin(unmixing, working, solver.user);
        }
        solver.advance(unmixing, working, solver.user);
        panel->iterations[p]++;
        memset(abundance, 0, (size_t)n * sizeof *abundance);
        for (int32_t i = 0; i < working->count; i++) {
            abundance[working->number[i]] = working->x[i];
        }
        find_slopes(unmixing->gram, product, unmixing->shift, abundance, panel->energy[p], n, slope, &square);
        gap = hc_unmix_relative_gap(unmixing, abundance, slope, fmax(square, 0), panel->energy[p]);
        is_new = !suffices(unmixing, working, abundance, slope);
        is_empty = false;
    }
    return true;
}

void hc_working_solve(const HcUnmixing *unmixing, HcUnmixPanel *panel, HcWorkingSolver solver) {
    HcWorking working;
    int32_t wide[HC_UNMIX_PANEL];
    bool is_wide[HC_UNMIX_PANEL] = {false};
    int32_t count = 0;
    int64_t n = unmixing->rule.spectra;
    const double *before = NULL; /* where the next pixel begins; NULL = from nothing */
    for (bool is_first = true; panel->open > 0; is_first = false) {
        int32_t open = 0;
        for (int32_t j = 0; j < panel->open; j++) {
            int32_t p = panel->number[j];
            double *abundance = panel->abundance + p * n;
            if (is_first && before != NULL) {
                memcpy(abundance, before, (size_t)n * sizeof *abundance);
            } else if (is_first) {
                memset(abundance, 0, (size_t)n * sizeof *abundance);
            }
            is_wide[p] = !solve_pixel(unmixing, panel, p, &working, solver);
            before = is_wide[p] ? NULL : abundance;
        }
        hc_unmix_certify(unmixing, panel);
        for (int32_t j = 0; j < panel->open; j++) {
            int32_t p = panel->number[j];
            if (panel->iterations[p] < unmixing->rule.iterations) {
                wide[count] = panel->number[open] = p;
                count += is_wide[p];
                open += !is_wide[p];
            }
        }
        panel->open = open;
    }
    memcpy(panel->number, wide, (size_t)count * sizeof *wide);
    panel->open = count;
}
