/* Augmented Lagrangians of all open pixels of a panel at once: abundances that solve the equations and
 * abundances that are not negative come together by a penalty on their difference (Bioucas-Dias and
 * Figueiredo 2010), which follows what either of them still moves (Boyd and others 2011). */
#include "core/allocate.h"
#include "cpu/eigh/eigh.h"
#include "cpu/unmix/unmix.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Gaps and penalties are looked at once in so many steps. */
enum { STEPS = 20 };

/* Penalties change where one of the two moves so much more than the other. */
static const double imbalance = 4;

/* Of the largest eigenvalue: where penalties begin. */
static const double first_penalty = 0x1p-13;

typedef struct Alm {
    int64_t spectra;
    double *here;   /* [open][spectra] u: not negative */
    double *price;  /* [open][spectra] d: sum of the differences so far, the multipliers by the penalty */
    double *solved; /* [open][spectra] x: solves the equations */
    double *turned; /* [open][rank] in the basis of the eigenvectors */
    double penalty[HC_UNMIX_PANEL];
    double apart[HC_UNMIX_PANEL]; /* |x - u|^2 of the last step */
    double moved[HC_UNMIX_PANEL]; /* |u - u before|^2 of the last step */
} Alm;

size_t hc_unmix_alm_scratch(const HcUnmixing *unmixing) {
    return (size_t)HC_UNMIX_PANEL * (3 * (size_t)unmixing->rule.spectra + (size_t)unmixing->rank);
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
    HC_TRY(hc_cpu_eigh(compute, n, gram, unmixing->eigenvalue, unmixing->eigenvector, err));
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

/* With sum_to_one: what the right-hand sides b lose in every entry so that their solution sums to one. b is
 * `solved`, V b is `turned`. */
static void draw_to_one(const HcUnmixing *unmixing, double penalty, double *solved, double *turned) {
    int64_t n = unmixing->rule.spectra;
    double sum = 0;
    double ones = (double)n;
    for (int64_t k = 0; k < n; k++) {
        sum += solved[k];
    }
    for (int32_t i = 0; i < unmixing->rank; i++) {
        double kept = unmixing->eigenvalue[i] / (unmixing->eigenvalue[i] + penalty);
        sum -= unmixing->total[i] * kept * turned[i];
        ones -= unmixing->total[i] * kept * unmixing->total[i];
    }
    double level = (sum - penalty) / ones;
    for (int64_t k = 0; k < n; k++) {
        solved[k] -= level;
    }
    for (int32_t i = 0; i < unmixing->rank; i++) {
        turned[i] -= level * unmixing->total[i];
    }
}

/* solved = inv(D W D' + penalty) (D W y - lambda + penalty (u - d)), by the eigenvectors. */
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
        if (unmixing->rule.sum_to_one) {
            draw_to_one(unmixing, alm->penalty[j], alm->solved + j * n, turned);
        }
        for (int32_t i = 0; i < rank; i++) {
            turned[i] *= unmixing->eigenvalue[i] / (unmixing->eigenvalue[i] + alm->penalty[j]);
        }
    }
    if (rank > 0) {
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, panel->open, (int)n, rank, -1.0, alm->turned,
                    rank, unmixing->eigenvector, (int)n, 1.0, alm->solved, (int)n);
    }
}

static void advance(const HcUnmixing *unmixing, const HcUnmixPanel *panel, Alm *alm) {
    int64_t n = alm->spectra;
    solve(unmixing, panel, alm);
    for (int32_t j = 0; j < panel->open; j++) {
        alm->apart[j] = alm->moved[j] = 0;
        for (int64_t k = j * n; k < (j + 1) * n; k++) {
            double x = alm->solved[k] / alm->penalty[j];
            double before = alm->here[k];
            alm->here[k] = x + alm->price[k] > 0 ? x + alm->price[k] : 0;
            alm->price[k] += x - alm->here[k];
            alm->apart[j] += (x - alm->here[k]) * (x - alm->here[k]);
            alm->moved[j] += (alm->here[k] - before) * (alm->here[k] - before);
        }
    }
}

/* The multipliers, penalty times price, stay what they are. */
static void balance(Alm *alm, int32_t open) {
    for (int32_t j = 0; j < open; j++) {
        double apart = sqrt(alm->apart[j]);
        double moved = sqrt(alm->moved[j]);
        double factor = apart > imbalance * moved ? 2 : moved > imbalance * apart ? 0.5 : 1;
        alm->penalty[j] *= factor;
        for (int64_t k = 0; k < alm->spectra; k++) {
            alm->price[j * alm->spectra + k] /= factor;
        }
    }
}

/* Abundances of a pixel as they would be returned. */
static void hand_over(const HcUnmixing *unmixing, const double *here, double *abundance) {
    int64_t n = unmixing->rule.spectra;
    double sum = 0;
    memcpy(abundance, here, (size_t)n * sizeof *here);
    for (int64_t k = 0; unmixing->rule.sum_to_one && k < n; k++) {
        sum += here[k];
    }
    for (int64_t k = 0; unmixing->rule.sum_to_one && k < n; k++) {
        abundance[k] = sum > 0 ? here[k] / sum : 1 / (double)n;
    }
}

/* Certifies all pixels and goes on with those that are open. */
static void look(const HcUnmixing *unmixing, HcUnmixPanel *panel, Alm *alm) {
    int32_t number[HC_UNMIX_PANEL];
    int32_t before = panel->open;
    size_t row = (size_t)alm->spectra;
    memcpy(number, panel->number, sizeof number);
    for (int32_t j = 0; j < before; j++) {
        hand_over(unmixing, alm->here + (size_t)j * row, panel->abundance + (size_t)number[j] * row);
    }
    hc_unmix_certify(unmixing, panel);
    for (int32_t j = 0, open = 0; j < before && open < panel->open; j++) {
        if (number[j] == panel->number[open]) {
            memmove(alm->here + (size_t)open * row, alm->here + (size_t)j * row, row * sizeof(double));
            memmove(alm->price + (size_t)open * row, alm->price + (size_t)j * row, row * sizeof(double));
            alm->penalty[open] = alm->penalty[j];
            alm->apart[open] = alm->apart[j];
            alm->moved[open] = alm->moved[j];
            open++;
        }
    }
}

void hc_unmix_alm(const HcUnmixing *unmixing, HcUnmixPanel *panel) {
    int64_t n = unmixing->rule.spectra;
    Alm alm = {.spectra = n, .here = panel->scratch};
    alm.price = alm.here + HC_UNMIX_PANEL * n;
    alm.solved = alm.price + HC_UNMIX_PANEL * n;
    alm.turned = alm.solved + HC_UNMIX_PANEL * n;
    for (int64_t i = 0; i < panel->open * n; i++) {
        alm.here[i] = alm.price[i] = 0;
    }
    for (int32_t j = 0; j < panel->open; j++) {
        alm.penalty[j] = unmixing->rank > 0 ? unmixing->eigenvalue[0] * first_penalty : 1;
    }
    for (int32_t done = 0; panel->open > 0 && done < unmixing->rule.iterations;) {
        int32_t steps = (int32_t)hc_min64(STEPS, unmixing->rule.iterations - done);
        for (int32_t i = 0; i < steps; i++) {
            advance(unmixing, panel, &alm);
        }
        done += steps;
        for (int32_t j = 0; j < panel->open; j++) {
            panel->iterations[panel->number[j]] = done;
        }
        look(unmixing, panel, &alm);
        balance(&alm, panel->open);
    }
}
