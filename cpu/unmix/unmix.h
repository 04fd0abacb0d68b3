/* Sparse unmixing on the CPU: what the driver and its solvers share. With D the library, W the weights, y a
 * pixel, x its abundances and r = y - D'x its residual, "slopes" are D W r: minus the gradient of the
 * quadratic part. */
#ifndef HC_CPU_UNMIX_UNMIX_H
#define HC_CPU_UNMIX_UNMIX_H

#include "core/operation/unmix/unmix.h"
#include "core/solver/metric.h"
#include "cpu/internal.h"

HcUnmixOpenFn hc_cpu_unmix_open;
HcUnmixCloseFn hc_cpu_unmix_close;
HcUnmixFn hc_cpu_unmix;

/* Pixels of one product, at most. Panels start at multiples of it in each line, whatever the block or the
 * thread. */
enum { HC_UNMIX_PANEL = 64 };

/* Some valid pixels of one line in the order of their samples, and what a thread needs to unmix them. Not yet
 * certified pixels are "open". */
typedef struct HcUnmixPanel {
    int32_t open;                   /* how many are */
    int32_t number[HC_UNMIX_PANEL]; /* their numbers in the panel, ascending: [open] */
    double level[HC_UNMIX_PANEL];   /* of lambda, 1 where the rule has none; all below is of y / level */
    double *pixel;                  /* [pixels][bands] */
    double *weighted;               /* [pixels][bands] */
    double *product;                /* [pixels][spectra] D W y */
    double *abundance;              /* [pixels][spectra] */
    double *slope;                  /* [open][spectra] */
    double energy[HC_UNMIX_PANEL];  /* y'W y */
    double rmse[HC_UNMIX_PANEL];    /* [units of the spectra] */
    double gap[HC_UNMIX_PANEL];     /* relative */
    int32_t iterations[HC_UNMIX_PANEL];
    double *scratch; /* the solver's */
    int64_t *counts; /* [hc_unmix_counts] of this thread */
} HcUnmixPanel;

struct HcUnmixing {
    HcUnmixingHead head;
    HcUnmixRule rule; /* its library and its weights are those below */
    double *spectrum; /* [spectra][bands] */
    double *weight;   /* [bands] */
    double *gram;     /* [spectra][spectra] D W D' + shift */
    /* 0, or with sum_to_one the mean of the diagonal of D W D': it changes F by a constant where abundances
     * sum to one, and makes every set of spectra regular whose differences are independent. */
    double shift;
    double *price; /* [spectra] 1 / root of the diagonal of gram; 0 where that is 0 */
    /* D W v > 0 of a direction v, which exists where some plane through 0 has all spectra on one side, as
     * reflectances have; NULL = there is none. */
    double *rise;       /* [spectra] */
    double rise_square; /* v'W v */
    /* FISTA and ALM: the eigenvalues of D W D' and the metric (core/solver/metric.h). */
    int32_t rank;        /* eigenvalues that differ from 0 */
    double *eigenvalue;  /* [spectra] descending */
    double *eigenvector; /* [spectra][spectra] */
    double *total;       /* [rank] sum of each eigenvector */
    int32_t size, width; /* directions of the metric; one more with sum_to_one */
    double level;        /* no eigenvalue is beyond it in the metric */
    double *direction;   /* U [spectra][width] */
    /* The metric on working sets (core/solver/working.h). */
    double working_level;
    double *working_metric; /* [spectra][spectra] */
    int threads;
    HcUnmixPanel *panel; /* [threads] */
};

/* Residuals, slopes and relative duality gaps of the open pixels; those whose gap is as asked for are no
 * longer open. */
void hc_unmix_certify(const HcUnmixing *unmixing, HcUnmixPanel *panel);

/* The relative duality gap of a pixel's abundances [spectra] with their slopes [spectra], r'W r and y'W y. */
double hc_unmix_relative_gap(const HcUnmixing *unmixing, const double *abundance, const double *slope,
                             double square, double energy);

/* The most iterations that an open pixel had. */
static inline int32_t hc_unmix_taken(const HcUnmixPanel *panel) {
    int32_t most = 0;
    for (int32_t j = 0; j < panel->open; j++) {
        int32_t here = panel->iterations[panel->number[j]];
        most = here > most ? here : most;
    }
    return most;
}

/* The solvers: abundances of all open pixels, certified; and what they need of `scratch` [doubles]. */
void hc_unmix_active(const HcUnmixing *unmixing, HcUnmixPanel *panel);
size_t hc_unmix_active_scratch(const HcUnmixing *unmixing);
void hc_unmix_fista(const HcUnmixing *unmixing, HcUnmixPanel *panel);
size_t hc_unmix_fista_scratch(const HcUnmixing *unmixing);
void hc_unmix_alm(const HcUnmixing *unmixing, HcUnmixPanel *panel);
size_t hc_unmix_alm_scratch(const HcUnmixing *unmixing);

/* What FISTA and ALM must know of the library: `rank`, `eigenvalue`, `eigenvector`, `total`; and from these
 * `size`, `width`, `level`, `direction`, `working_level`, `working_metric`. */
HcStatus hc_unmix_find_eigenvectors(HcCompute *compute, HcUnmixing *unmixing, HcError *err);
HcStatus hc_unmix_find_metric(HcUnmixing *unmixing, HcError *err);

/* What is kept from one search of hc_unmix_nearest to the next. */
typedef struct HcUnmixFactor {
    bool fits; /* it is that of the positive entries with which the next search begins */
    double entry[HC_METRIC_WIDTH * HC_METRIC_WIDTH];
} HcUnmixFactor;

/* x without negative entries, with the sum to one where that is asked for, that makes
 *     1/2 |x - target|^2 + 1/2 |U'x - turned|^2
 * least. The search begins at the positive entries of x. target, x [spectra]; turned, turned_x = U'x [width],
 * 1 at the end of turned with sum_to_one; the factor, if it fits, is that of an x that came out; scratch of
 * hc_unmix_nearest_scratch [doubles]. */
void hc_unmix_nearest(const HcUnmixing *unmixing, const double *target, const double *turned, double *x,
                      double *turned_x, HcUnmixFactor *factor, double *scratch);
size_t hc_unmix_nearest_scratch(const HcUnmixing *unmixing);

/* Abundances of one pixel from an empty set: product and abundance [spectra]. */
void hc_unmix_active_one(const HcUnmixing *unmixing, const double *product, double energy, double *abundance,
                         double *scratch);

#endif
