/* Augmented Lagrangians of all open pixels of a panel at once: abundances that solve the equations and
 * abundances that are not negative come together by a penalty on their difference (Bioucas-Dias and
 * Figueiredo 2010), measured in the metric of core/solver/metric.h, with over-relaxation. The penalty follows
 * what either of them still moves (Boyd and others 2011). */
#include "core/solver/metric.h"
#include "core/allocate.h"
#include "cpu/eigh/eigh.h"
#include "cpu/unmix/working.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Checks gaps and penalties every N steps. */
enum { STEPS = 10 };

/* Penalties change where one of the two moves so much more than the other. */
static const double imbalance = 4;

/* Of the largest eigenvalue in the metric: where penalties begin, and how far they go. Where both moves are
 * rounding, their ratio says nothing. */
static const double first_penalty = 0x1p-3;
static const double least_penalty = 0x1p-20;
static const double most_penalty = 0x1p10;

/* How far beyond the solution of the equations the next step begins. */
static const double relaxation = 1.7;

typedef struct Alm {
    int64_t spectra, width;
    double *here;  /* [open][spectra] u: not negative */
    double *price; /* [open][spectra] d: sum of the differences so far, the multipliers by the penalty */
    double *turned_here;  /* [open][width] U'u */
    double *turned_price; /* [open][width] U'd */
    double *solved;       /* [open][spectra] x: solves the equations */
    double *turned;       /* [open][rank] in the basis of the eigenvectors */
    double *scratch;      /* [spectra], then that of hc_unmix_nearest */
    double penalty[HC_UNMIX_PANEL];
    double apart[HC_UNMIX_PANEL]; /* |x - u|^2 of the last step, in the metric */
    double moved[HC_UNMIX_PANEL]; /* |u - u before|^2 of the last step, in the metric */
} Alm;

size_t hc_unmix_alm_scratch(const HcUnmixing *unmixing) {
    size_t n = (size_t)unmixing->rule.spectra;
    return HC_UNMIX_PANEL * (3 * n + 2 * (size_t)unmixing->width + (size_t)unmixing->rank) + n +
           hc_unmix_nearest_scratch(unmixing);
}

HcStatus hc_unmix_find_eigenvectors(HcCompute *compute, HcUnmixing *unmixing, HcError *err) {
    HcStatus status = HC_OK;
    int32_t n = unmixing->rule.spectra;
    size_t entries = (size_t)n * (size_t)n;
    double *gram = NULL;
    HC_TRY(hc_new(gram, entries, "eigenvectors of a library", err));
    HC_TRY(hc_new(unmixing->eigenvalue, n, "eigenvectors of a library", err));
    HC_TRY(hc_new(unmixing->eigenvector, entries, "eigenvectors of a library", err));
    HC_TRY(hc_new(unmixing->total, n, "eigenvectors of a library", err));
    for (size_t i = 0; i < entries; i++) {
        gram[i] = unmixing->gram[i] - unmixing->shift;
    }
    HC_TRY(hc_cpu_eigh(compute, n, n, gram, unmixing->eigenvalue, unmixing->eigenvector, err));
    while (unmixing->rank < n &&
           unmixing->eigenvalue[unmixing->rank] > n * 0x1p-53 * unmixing->eigenvalue[0]) {
        unmixing->rank++;
    }
    for (int32_t i = 0; i < unmixing->rank; i++) {
        unmixing->total[i] = 0;
        for (int32_t k = 0; k < n; k++) {
            unmixing->total[i] += unmixing->eigenvector[(int64_t)i * n + k];
        }
    }
done:
    free(gram);
    return status;
}

/* The part of direction i of the basis that the penalty leaves. */
static double kept_of(const HcUnmixing *unmixing, int32_t i, double penalty) {
    double steep = i < unmixing->size ? unmixing->eigenvalue[i] / unmixing->level : 1;
    return 1 - penalty / (unmixing->eigenvalue[i] + penalty * steep);
}

/* With sum_to_one: what the right-hand sides b lose in every entry so that their solution sums to one. b is
 * `solved`; `turned` holds what its solution loses of b. */
static void draw_to_one(const HcUnmixing *unmixing, double penalty, double *solved, double *turned) {
    int64_t n = unmixing->rule.spectra;
    double sum = 0;
    double ones = (double)n;
    for (int64_t k = 0; k < n; k++) {
        sum += solved[k];
    }
    for (int32_t i = 0; i < unmixing->rank; i++) {
        sum -= unmixing->total[i] * turned[i];
        ones -= unmixing->total[i] * kept_of(unmixing, i, penalty) * unmixing->total[i];
    }
    double level = (sum - penalty) / ones;
    for (int64_t k = 0; k < n; k++) {
        solved[k] -= level;
    }
    for (int32_t i = 0; i < unmixing->rank; i++) {
        turned[i] -= level * unmixing->total[i] * kept_of(unmixing, i, penalty);
    }
}

/* From V b to what the solution loses of it. In the directions of the metric the penalty is larger, and so is
 * what u - d adds to b. */
static void lose(const HcUnmixing *unmixing, double penalty, const double *turned_here,
                 const double *turned_price, double *turned) {
    for (int32_t i = 0; i < unmixing->rank; i++) {
        if (i < unmixing->size) {
            double steep = unmixing->eigenvalue[i] / unmixing->level;
            double added = penalty * sqrt(fmax(steep - 1, 0)) * (turned_here[i] - turned_price[i]);
            turned[i] -= penalty * (turned[i] + added) / (unmixing->eigenvalue[i] + penalty * steep);
        } else {
            turned[i] *= kept_of(unmixing, i, penalty);
        }
    }
}

/* solved = penalty inv(D W D' + penalty M) (D W y - lambda + penalty M (u - d)), M the metric, by the
 * eigenvectors. */
static void solve(const HcUnmixing *unmixing, const HcUnmixPanel *panel, Alm *alm) {
    int64_t n = alm->spectra;
    int32_t rank = unmixing->rank;
    double lambda = unmixing->rule.sum_to_one ? 0 : unmixing->rule.lambda;
    for (int32_t j = 0; j < panel->open; j++) {
        const double *product = panel->product + panel->number[j] * n;
        for (int64_t k = j * n, i = 0; i < n; k++, i++) {
            alm->solved[k] = product[i] - lambda + alm->penalty[j] * (alm->here[k] - alm->price[k]);
        }
    }
    if (rank > 0) {
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, panel->open, rank, (int)n, 1.0, alm->solved,
                    (int)n, unmixing->eigenvector, (int)n, 0.0, alm->turned, rank);
    }
    for (int32_t j = 0; j < panel->open; j++) {
        double *turned = alm->turned + (int64_t)j * rank;
        lose(unmixing, alm->penalty[j], alm->turned_here + j * alm->width, alm->turned_price + j * alm->width,
             turned);
        if (unmixing->rule.sum_to_one) {
            draw_to_one(unmixing, alm->penalty[j], alm->solved + j * n, turned);
        }
    }
    if (rank > 0) {
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, panel->open, (int)n, rank, -1.0, alm->turned,
                    rank, unmixing->eigenvector, (int)n, 1.0, alm->solved, (int)n);
    }
}

static double squared_distance(const double *from, const double *to, int64_t count) {
    double sum = 0;
    for (int64_t k = 0; k < count; k++) {
        sum += (to[k] - from[k]) * (to[k] - from[k]);
    }
    return sum;
}

/* u becomes the nearest point to x + d, and d what is left of it. */
static void come_together(const HcUnmixing *unmixing, Alm *alm, int32_t j) {
    int64_t n = alm->spectra;
    int64_t width = alm->width;
    double *here = alm->here + j * n;
    double *price = alm->price + j * n;
    double *solved = alm->solved + j * n;
    double *turned_here = alm->turned_here + j * width;
    double *turned_price = alm->turned_price + j * width;
    double *target = alm->scratch;
    double turned[HC_METRIC_WIDTH];
    double turned_next[HC_METRIC_WIDTH];
    HcUnmixFactor factor = {.fits = false};
    for (int64_t k = 0; k < n; k++) {
        target[k] = relaxation * solved[k] / alm->penalty[j] + (1 - relaxation) * here[k] + price[k];
        solved[k] = here[k];
    }
    if (width > 0) {
        cblas_dgemv(CblasRowMajor, CblasTrans, (int)n, (int)width, 1, unmixing->direction, (int)width, target,
                    1, 0, turned, 1);
    }
    if (unmixing->rule.sum_to_one) {
        turned[unmixing->size] = 1;
    }
    hc_unmix_nearest(unmixing, target, turned, here, turned_next, &factor, target + n);
    for (int64_t k = 0; k < n; k++) {
        target[k] -= here[k];
    }
    for (int64_t i = 0; i < width; i++) {
        turned[i] -= turned_next[i];
    }
    alm->apart[j] =
        squared_distance(price, target, n) + squared_distance(turned_price, turned, unmixing->size);
    alm->moved[j] =
        squared_distance(solved, here, n) + squared_distance(turned_here, turned_next, unmixing->size);
    memcpy(price, target, (size_t)n * sizeof(double));
    memcpy(turned_price, turned, (size_t)width * sizeof(double));
    memcpy(turned_here, turned_next, (size_t)width * sizeof(double));
}

static void advance(const HcUnmixing *unmixing, const HcUnmixPanel *panel, Alm *alm) {
    solve(unmixing, panel, alm);
    for (int32_t j = 0; j < panel->open; j++) {
        come_together(unmixing, alm, j);
    }
}

/* What the penalty is to be multiplied with. */
static double change_of(double penalty, double apart, double moved) {
    if (apart > imbalance * moved && penalty < most_penalty) {
        return 2;
    }
    return moved > imbalance * apart && penalty > least_penalty ? 0.5 : 1;
}

/* The multipliers, penalty times price, stay what they are. */
static void balance(Alm *alm, double level, int32_t open) {
    for (int32_t j = 0; j < open; j++) {
        double factor = change_of(alm->penalty[j] / level, sqrt(alm->apart[j]), sqrt(alm->moved[j]));
        alm->penalty[j] *= factor;
        for (int64_t k = 0; k < alm->spectra; k++) {
            alm->price[j * alm->spectra + k] /= factor;
        }
        for (int64_t i = 0; i < alm->width; i++) {
            alm->turned_price[j * alm->width + i] /= factor;
        }
    }
}

static void keep_row(double *rows, int64_t row, int32_t from, int32_t to) {
    memmove(rows + to * row, rows + from * row, (size_t)row * sizeof *rows);
}

/* Certifies all pixels and goes on with those that are open. */
static void look(const HcUnmixing *unmixing, HcUnmixPanel *panel, Alm *alm) {
    int32_t number[HC_UNMIX_PANEL];
    int32_t before = panel->open;
    int64_t n = alm->spectra;
    memcpy(number, panel->number, sizeof number);
    for (int32_t j = 0; j < before; j++) {
        memcpy(panel->abundance + number[j] * n, alm->here + j * n, (size_t)n * sizeof(double));
    }
    hc_unmix_certify(unmixing, panel);
    for (int32_t j = 0, open = 0; j < before && open < panel->open; j++) {
        if (number[j] == panel->number[open]) {
            keep_row(alm->here, n, j, open);
            keep_row(alm->price, n, j, open);
            keep_row(alm->turned_here, alm->width, j, open);
            keep_row(alm->turned_price, alm->width, j, open);
            alm->penalty[open] = alm->penalty[j];
            alm->apart[open] = alm->apart[j];
            alm->moved[open] = alm->moved[j];
            open++;
        }
    }
}

static Alm alm_new(const HcUnmixing *unmixing, const HcUnmixPanel *panel) {
    int64_t n = unmixing->rule.spectra;
    int64_t width = unmixing->width;
    Alm alm = {.spectra = n, .width = width, .here = panel->scratch};
    alm.price = alm.here + HC_UNMIX_PANEL * n;
    alm.solved = alm.price + HC_UNMIX_PANEL * n;
    alm.turned_here = alm.solved + HC_UNMIX_PANEL * n;
    alm.turned_price = alm.turned_here + HC_UNMIX_PANEL * width;
    alm.turned = alm.turned_price + HC_UNMIX_PANEL * width;
    alm.scratch = alm.turned + HC_UNMIX_PANEL * (int64_t)unmixing->rank;
    memset(alm.here, 0, (size_t)(panel->open * n) * sizeof(double));
    memset(alm.price, 0, (size_t)(panel->open * n) * sizeof(double));
    memset(alm.turned_here, 0, (size_t)(panel->open * width) * sizeof(double));
    memset(alm.turned_price, 0, (size_t)(panel->open * width) * sizeof(double));
    for (int32_t j = 0; j < panel->open; j++) {
        alm.penalty[j] = unmixing->rank > 0 ? unmixing->level * first_penalty : 1;
    }
    return alm;
}

/* On a working set. There multipliers are counted by slopes: p = M d, which is not above 0, and 0 for members
 * of u. */
typedef struct Few {
    bool is_due;                  /* the inverse, since set or penalty changed */
    double penalty;               /* [units] */
    double price[HC_WORKING_MAX]; /* M d */
    /* -inv(D W D' + penalty M) [units] */
    double inverse[HC_WORKING_MAX * HC_WORKING_MAX] __attribute__((aligned(64)));
} Few;

static void invert_few(const HcWorking *working, Few *few) {
    int32_t width = (working->count + HC_WORKING_LANES - 1) / HC_WORKING_LANES * HC_WORKING_LANES;
    for (int32_t i = 0; i < working->count; i++) {
        for (int32_t j = 0; j < width; j++) {
            int32_t at = i * HC_WORKING_MAX + j;
            few->inverse[at] = (1 + few->penalty) * working->metric[at] - working->rest[at];
        }
    }
    hc_working_invert(working->count, few->inverse);
}

/* Without multipliers: with a small penalty the first step is all but the best of the set. */
static void begin_few(const HcUnmixing *unmixing, const HcWorking *working, void *user) {
    Few *few = user;
    (void)unmixing;
    (void)working;
    few->is_due = true;
    few->penalty = HC_WORKING_PENALTY;
    memset(few->price, 0, sizeof few->price);
}

/* solved = the x that solves the equations, turned = M x. */
static void solve_few(const HcUnmixing *unmixing, const HcWorking *working, const Few *few, double *solved,
                      double *turned) {
    int32_t n = working->count;
    double right[HC_WORKING_MAX];
    for (int32_t i = 0; i < n; i++) {
        right[i] = -(working->product[i] + few->penalty * (working->turned[i] - few->price[i]));
    }
    hc_working_multiply(n, few->inverse, right, solved);
    if (unmixing->rule.sum_to_one) {
        double one[HC_WORKING_MAX];
        double drawn[HC_WORKING_MAX];
        double sum = -1;
        double ones = 0;
        for (int32_t i = 0; i < n; i++) {
            one[i] = 1;
        }
        hc_working_multiply(n, few->inverse, one, drawn);
        for (int32_t i = 0; i < n; i++) {
            sum += solved[i];
            ones += drawn[i];
        }
        for (int32_t i = 0; i < n; i++) {
            solved[i] -= sum / ones * drawn[i];
            right[i] -= sum / ones;
        }
    }
    hc_working_multiply(n, working->rest, solved, turned);
    for (int32_t i = 0; i < n; i++) {
        turned[i] = (turned[i] - right[i]) / (1 + few->penalty);
    }
}

static void advance_few(const HcUnmixing *unmixing, HcWorking *working, void *user) {
    Few *few = user;
    int32_t n = working->count;
    double apart = 0;
    double moved = 0;
    double solved[HC_WORKING_MAX];
    double turned[HC_WORKING_MAX];
    double next[HC_WORKING_MAX];
    double turned_next[HC_WORKING_MAX];
    if (few->is_due) {
        invert_few(working, few);
        few->is_due = false;
    }
    solve_few(unmixing, working, few, solved, turned);
    for (int32_t i = 0; i < n; i++) {
        solved[i] = HC_WORKING_RELAXATION * solved[i] + (1 - HC_WORKING_RELAXATION) * working->x[i];
        turned[i] = HC_WORKING_RELAXATION * turned[i] + (1 - HC_WORKING_RELAXATION) * working->turned[i];
        few->price[i] += turned[i];
    }
    hc_working_nearest(unmixing, working, few->price, next, turned_next);
    for (int32_t i = 0; i < n; i++) {
        apart += (solved[i] - next[i]) * (turned[i] - turned_next[i]);
        moved += (next[i] - working->x[i]) * (turned_next[i] - working->turned[i]);
        few->price[i] -= turned_next[i];
        working->x[i] = next[i];
        working->turned[i] = turned_next[i];
    }
    double factor = change_of(few->penalty, sqrt(fmax(apart, 0)), sqrt(fmax(moved, 0)));
    if (factor > 1 || factor < 1) {
        few->penalty *= factor;
        for (int32_t i = 0; i < n; i++) {
            few->price[i] /= factor;
        }
        few->is_due = true;
    }
}

void hc_unmix_alm(const HcUnmixing *unmixing, HcUnmixPanel *panel) {
    Few few;
    hc_working_solve(unmixing, panel, (HcWorkingSolver){begin_few, advance_few, &few});
    Alm alm = alm_new(unmixing, panel);
    int32_t done = hc_unmix_taken(panel);
    for (; panel->open > 0 && done < unmixing->rule.iterations;) {
        int32_t steps = (int32_t)hc_min64(STEPS, unmixing->rule.iterations - done);
        for (int32_t i = 0; i < steps; i++) {
            advance(unmixing, panel, &alm);
        }
        done += steps;
        for (int32_t j = 0; j < panel->open; j++) {
            panel->iterations[panel->number[j]] = done;
        }
        look(unmixing, panel, &alm);
        balance(&alm, unmixing->rank > 0 ? unmixing->level : 1, panel->open);
    }
}
