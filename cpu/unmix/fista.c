/* Fast proximal gradients (Beck and Teboulle 2009) of all open pixels of a panel at once, with momentum that
 * starts anew where it leads uphill (O'Donoghue and Candes 2015). */
#include "cpu/unmix/unmix.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

/* Gaps are looked at once in so many steps. */
enum { STEPS = 20 };

/* Doublings of the power of |D W D'| that bounds its largest eigenvalue. */
enum { POWERS = 100 };

typedef struct Fista {
    int64_t spectra;
    double *here;  /* [open][spectra] */
    double *ahead; /* [open][spectra] where the momentum leads */
    double *step;  /* [open][spectra] gram times ahead, then the step from there */
    double momentum[HC_UNMIX_PANEL];
} Fista;

size_t hc_unmix_fista_scratch(const HcUnmixing *unmixing) {
    return 3 * (size_t)HC_UNMIX_PANEL * (size_t)unmixing->rule.spectra;
}

/* For every positive vector v, no eigenvalue of a matrix A is beyond the largest ratio of |A| v and v
 * (Collatz 1942). Multiplying by |A| brings v, and the bound with it, close to the largest eigenvalue of |A|,
 * which is that of A where spectra are reflectances. scratch[2][spectra]. */
void hc_unmix_bound_eigenvalues(HcUnmixing *unmixing, double *scratch) {
    int64_t n = unmixing->rule.spectra;
    double *v = scratch;
    double *next = scratch + n;
    for (int64_t i = 0; i < n; i++) {
        v[i] = 1;
    }
    for (int power = 0; power < POWERS; power++) {
        double largest = 0;
        double top = 0;
        for (int64_t i = 0; i < n; i++) {
            next[i] = 0;
            for (int64_t j = 0; j < n; j++) {
                next[i] += fabs(unmixing->gram[i * n + j] - unmixing->shift) * v[j];
            }
            largest = fmax(largest, next[i] / v[i]);
            top = fmax(top, next[i]);
        }
        unmixing->largest = largest;
        for (int64_t i = 0; i < n && top > 0; i++) {
            v[i] = fmax(next[i] / top, 0x1p-50);
        }
    }
}

HC_CLONES static void to_positive(const double *restrict ahead, const double *restrict product,
                                  double *restrict step, double lambda, double scale, int64_t n) {
    for (int64_t k = 0; k < n; k++) {
        double value = ahead[k] + (product[k] - step[k] - lambda) * scale;
        step[k] = value > 0 ? value : 0;
    }
}

/* The nearest point whose entries are not negative and sum to one: what is above a level that the sum of the
 * entries above it decides (Michelot 1986). */
static void to_shares(double *x, int64_t n) {
    int64_t count = n + 1;
    int64_t above = -1;
    double level = -INFINITY;
    while (above != count) {
        double sum = -1;
        above = count;
        count = 0;
        for (int64_t k = 0; k < n; k++) {
            if (x[k] > level) {
                sum += x[k];
                count++;
            }
        }
        if (count == 0) { /* not finite */
            break;
        }
        level = sum / (double)count;
    }
    for (int64_t k = 0; k < n; k++) {
        x[k] = x[k] > level ? x[k] - level : 0;
    }
}

HC_CLONES static void move(double *restrict here, double *restrict ahead, const double *restrict step,
                           double factor, int64_t n) {
    for (int64_t k = 0; k < n; k++) {
        ahead[k] = step[k] + factor * (step[k] - here[k]);
        here[k] = step[k];
    }
}

static void advance(const HcUnmixing *unmixing, const HcUnmixPanel *panel, Fista *fista) {
    int64_t n = fista->spectra;
    const HcUnmixRule *rule = &unmixing->rule;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, panel->open, (int)n, (int)n, 1.0, fista->ahead,
                (int)n, unmixing->gram, (int)n, 0.0, fista->step, (int)n);
    for (int32_t j = 0; j < panel->open; j++) {
        double *here = fista->here + j * n;
        double *ahead = fista->ahead + j * n;
        double *step = fista->step + j * n;
        double uphill = 0;
        const double *product = panel->product + panel->number[j] * n;
        double scale = unmixing->largest > 0 ? 1 / unmixing->largest : 0;
        if (rule->sum_to_one) {
            for (int64_t k = 0; k < n; k++) {
                step[k] = ahead[k] + (product[k] + unmixing->shift - step[k]) * scale;
            }
            to_shares(step, n);
        } else {
            to_positive(ahead, product, step, rule->lambda, scale, n);
        }
        for (int64_t k = 0; k < n; k++) {
            uphill += (ahead[k] - step[k]) * (step[k] - here[k]);
        }
        double before = uphill > 0 ? 1 : fista->momentum[j];
        fista->momentum[j] = (1 + sqrt(1 + 4 * before * before)) / 2;
        move(here, ahead, step, (before - 1) / fista->momentum[j], n);
    }
}

/* Certifies all pixels and goes on with those that are open. */
static void look(const HcUnmixing *unmixing, HcUnmixPanel *panel, Fista *fista) {
    int32_t number[HC_UNMIX_PANEL];
    int32_t before = panel->open;
    size_t row = (size_t)fista->spectra;
    memcpy(number, panel->number, sizeof number);
    for (int32_t j = 0; j < before; j++) {
        memcpy(panel->abundance + (size_t)number[j] * row, fista->here + (size_t)j * row,
               row * sizeof(double));
    }
    hc_unmix_certify(unmixing, panel);
    for (int32_t j = 0, open = 0; j < before && open < panel->open; j++) {
        if (number[j] == panel->number[open]) {
            memmove(fista->here + (size_t)open * row, fista->here + (size_t)j * row, row * sizeof(double));
            memmove(fista->ahead + (size_t)open * row, fista->ahead + (size_t)j * row, row * sizeof(double));
            fista->momentum[open] = fista->momentum[j];
            open++;
        }
    }
}

void hc_unmix_fista(const HcUnmixing *unmixing, HcUnmixPanel *panel) {
    int64_t n = unmixing->rule.spectra;
    Fista fista = {.spectra = n, .here = panel->scratch};
    fista.ahead = fista.here + HC_UNMIX_PANEL * n;
    fista.step = fista.ahead + HC_UNMIX_PANEL * n;
    for (int64_t i = 0; i < panel->open * n; i++) {
        fista.here[i] = fista.ahead[i] = unmixing->rule.sum_to_one ? 1 / (double)n : 0;
    }
    for (int32_t j = 0; j < panel->open; j++) {
        fista.momentum[j] = 1;
    }
    for (int32_t done = 0; panel->open > 0 && done < unmixing->rule.iterations;) {
        int32_t steps = (int32_t)hc_min64(STEPS, unmixing->rule.iterations - done);
        for (int32_t i = 0; i < steps; i++) {
            advance(unmixing, panel, &fista);
        }
        done += steps;
        for (int32_t j = 0; j < panel->open; j++) {
            panel->iterations[panel->number[j]] = done;
        }
        look(unmixing, panel, &fista);
    }
}
