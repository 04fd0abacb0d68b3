/* Fast proximal gradients (Beck and Teboulle 2009) in the metric of core/solver/metric.h, in which D W D' is
 * far from as steep; with momentum that starts anew where it leads uphill (O'Donoghue and Candes 2015). */
#include "core/solver/metric.h"
#include "cpu/unmix/working.h"

#include <math.h>
#include <string.h>

/* Checks gaps every N steps. */
enum { STEPS = 10 };

/* What is kept of an open pixel: memory of hc_unmix_fista_scratch. */
typedef struct Fista {
    double *here;         /* [spectra] */
    double *ahead;        /* [spectra] where the momentum leads */
    double *turned_here;  /* [width] U' here */
    double *turned_ahead; /* [width] U' ahead */
} Fista;

static size_t kept(const HcUnmixing *unmixing) {
    return 2 * ((size_t)unmixing->rule.spectra + (size_t)unmixing->width);
}

size_t hc_unmix_fista_scratch(const HcUnmixing *unmixing) {
    return HC_UNMIX_PANEL * kept(unmixing) + 2 * (size_t)unmixing->rule.spectra +
           hc_unmix_nearest_scratch(unmixing);
}

/* Of the open pixel j. */
static Fista fista_at(const HcUnmixing *unmixing, const HcUnmixPanel *panel, int32_t j) {
    Fista fista = {.here = panel->scratch + (size_t)j * kept(unmixing)};
    fista.ahead = fista.here + unmixing->rule.spectra;
    fista.turned_here = fista.ahead + unmixing->rule.spectra;
    fista.turned_ahead = fista.turned_here + unmixing->width;
    return fista;
}

/* target = ahead + scale (product + added - gram ahead): few entries of `ahead` are not 0. */
HC_CLONES static void step_down(const double *restrict gram, const double *restrict product,
                                const double *restrict ahead, double added, double scale, int64_t n,
                                double *restrict target) {
    for (int64_t k = 0; k < n; k++) {
        target[k] = product[k] + added;
    }
    for (int64_t i = 0; i < n; i++) {
        double x = ahead[i];
        if (x != 0) {
            const double *row = gram + i * n;
            for (int64_t k = 0; k < n; k++) {
                target[k] -= x * row[k];
            }
        }
    }
    for (int64_t k = 0; k < n; k++) {
        target[k] = ahead[k] + scale * target[k];
    }
}

/* Whether the step from `ahead` leads back: its product with that of `here`. */
static double uphill_of(const double *here, const double *ahead, const double *step, int32_t count) {
    double sum = 0;
    for (int32_t k = 0; k < count; k++) {
        sum += (ahead[k] - step[k]) * (step[k] - here[k]);
    }
    return sum;
}

HC_CLONES static void move(double *restrict here, double *restrict ahead, const double *restrict step,
                           double factor, int64_t n) {
    for (int64_t k = 0; k < n; k++) {
        ahead[k] = step[k] + factor * (step[k] - here[k]);
        here[k] = step[k];
    }
}

/* One step of a pixel. scratch[2][spectra], then that of hc_unmix_nearest. */
static void advance(const HcUnmixing *unmixing, const double *product, Fista fista, double *momentum,
                    HcUnmixFactor *factor, double *scratch) {
    int32_t n = unmixing->rule.spectra;
    bool sums = unmixing->rule.sum_to_one;
    double *target = scratch;
    double *step = target + n;
    double turned[HC_METRIC_WIDTH];
    step_down(unmixing->gram, product, fista.ahead, sums ? unmixing->shift : -unmixing->rule.lambda,
              unmixing->level > 0 ? 1 / unmixing->level : 0, n, target);
    memcpy(step, fista.here, (size_t)n * sizeof *step);
    if (sums) {
        fista.turned_ahead[unmixing->size] = 1;
    }
    hc_unmix_nearest(unmixing, target, fista.turned_ahead, step, turned, factor, step + n);
    double uphill = uphill_of(fista.here, fista.ahead, step, n) +
                    uphill_of(fista.turned_here, fista.turned_ahead, turned, unmixing->size);
    double before = uphill > 0 ? 1 : *momentum;
    *momentum = (1 + sqrt(1 + 4 * before * before)) / 2;
    move(fista.here, fista.ahead, step, (before - 1) / *momentum, n);
    move(fista.turned_here, fista.turned_ahead, turned, (before - 1) / *momentum, unmixing->width);
}

/* Abundances 0, or equal shares. */
static void begin(const HcUnmixing *unmixing, Fista fista) {
    int32_t n = unmixing->rule.spectra;
    double share = unmixing->rule.sum_to_one ? 1 / (double)n : 0;
    for (int32_t i = 0; i < unmixing->width; i++) {
        fista.turned_here[i] = 0;
    }
    for (int32_t k = 0; k < n; k++) {
        fista.here[k] = fista.ahead[k] = share;
        for (int32_t i = 0; i < unmixing->width; i++) {
            fista.turned_here[i] += share * unmixing->direction[(int64_t)k * unmixing->width + i];
        }
    }
    memcpy(fista.turned_ahead, fista.turned_here, (size_t)unmixing->width * sizeof(double));
}

/* Certifies all pixels and goes on with those that are open. */
static void look(const HcUnmixing *unmixing, HcUnmixPanel *panel, double *momentum) {
    int32_t number[HC_UNMIX_PANEL];
    int32_t before = panel->open;
    int64_t row = unmixing->rule.spectra;
    memcpy(number, panel->number, sizeof number);
    for (int32_t j = 0; j < before; j++) {
        memcpy(panel->abundance + number[j] * row, fista_at(unmixing, panel, j).here,
               (size_t)row * sizeof(double));
    }
    hc_unmix_certify(unmixing, panel);
    for (int32_t j = 0, open = 0; j < before && open < panel->open; j++) {
        if (number[j] == panel->number[open]) {
            memmove(fista_at(unmixing, panel, open).here, fista_at(unmixing, panel, j).here,
                    kept(unmixing) * sizeof(double));
            momentum[open] = momentum[j];
            open++;
        }
    }
}

/* On a working set: of the step before, M x and slopes. Where the momentum leads is a combination of two
 * steps, and so are its M x and its slopes. */
typedef struct Few {
    double turned[HC_WORKING_MAX];
    double slope[HC_WORKING_MAX];
    double momentum, factor;
} Few;

static void begin_few(const HcUnmixing *unmixing, const HcWorking *working, void *user) {
    Few *few = user;
    (void)unmixing;
    memcpy(few->turned, working->turned, sizeof few->turned);
    memcpy(few->slope, working->slope, sizeof few->slope);
    few->momentum = 1;
    few->factor = 0;
}

static void advance_few(const HcUnmixing *unmixing, HcWorking *working, void *user) {
    Few *few = user;
    int32_t n = working->count;
    double ahead[HC_WORKING_MAX]; /* M x of where the momentum leads */
    double b[HC_WORKING_MAX] = {0};
    double step[HC_WORKING_MAX];
    double turned[HC_WORKING_MAX];
    double uphill = 0;
    for (int32_t i = 0; i < n; i++) {
        ahead[i] = working->turned[i] + few->factor * (working->turned[i] - few->turned[i]);
        b[i] = ahead[i] + working->slope[i] + few->factor * (working->slope[i] - few->slope[i]);
    }
    hc_working_nearest(unmixing, working, b, step, turned);
    for (int32_t i = 0; i < n; i++) {
        uphill += (ahead[i] - turned[i]) * (step[i] - working->x[i]);
        few->turned[i] = working->turned[i];
        few->slope[i] = working->slope[i];
        working->x[i] = step[i];
        working->turned[i] = turned[i];
    }
    double before = uphill > 0 ? 1 : few->momentum;
    few->momentum = (1 + sqrt(1 + 4 * before * before)) / 2;
    few->factor = (before - 1) / few->momentum;
}

void hc_unmix_fista(const HcUnmixing *unmixing, HcUnmixPanel *panel) {
    double momentum[HC_UNMIX_PANEL];
    HcUnmixFactor factor;
    double *scratch = panel->scratch + HC_UNMIX_PANEL * kept(unmixing);
    Few few;
    hc_working_solve(unmixing, panel, (HcWorkingSolver){begin_few, advance_few, &few});
    int32_t done = hc_unmix_taken(panel);
    for (int32_t j = 0; j < panel->open; j++) {
        begin(unmixing, fista_at(unmixing, panel, j));
        momentum[j] = 1;
    }
    for (; panel->open > 0 && done < unmixing->rule.iterations;) {
        int32_t steps = (int32_t)hc_min64(STEPS, unmixing->rule.iterations - done);
        done += steps;
        for (int32_t j = 0; j < panel->open; j++) {
            const double *product = panel->product + (int64_t)panel->number[j] * unmixing->rule.spectra;
            factor.fits = false;
            for (int32_t i = 0; i < steps; i++) {
                advance(unmixing, product, fista_at(unmixing, panel, j), &momentum[j], &factor, scratch);
            }
            panel->iterations[panel->number[j]] = done;
        }
        look(unmixing, panel, momentum);
    }
}
