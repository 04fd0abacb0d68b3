/* Working sets (core/solver/working.h): FISTA and augmented Lagrangians take their steps for a pixel on few
 * spectra, and look at all of them after each. M is the metric among the spectra of a set, and slopes are
 * counted in units of its level. Rows of matrices end with zeros up to a multiple of HC_WORKING_LANES. */
#ifndef HC_CPU_UNMIX_WORKING_H
#define HC_CPU_UNMIX_WORKING_H

#include "core/solver/working.h"
#include "cpu/unmix/unmix.h"

enum { HC_WORKING_LANES = 8 };

typedef struct HcWorking {
    int32_t count;
    int32_t number[HC_WORKING_MAX]; /* of the spectra */
    double x[HC_WORKING_MAX];       /* abundances */
    double turned[HC_WORKING_MAX];  /* M x */
    double slope[HC_WORKING_MAX];   /* D W (y - D'x) - lambda [units] */
    double product[HC_WORKING_MAX]; /* D W y - lambda [units] */
    double metric[HC_WORKING_MAX * HC_WORKING_MAX] __attribute__((aligned(64)));
    double rest[HC_WORKING_MAX * HC_WORKING_MAX];  /* M - D W D' [units] */
    double table[HC_WORKING_MAX * HC_WORKING_MAX]; /* M, swept on the members */
    bool member[HC_WORKING_MAX];
} HcWorking;

/* A solver on a working set. `begin` is told of a set that is new; x and its companions are there. `advance`
 * takes a step, of x and M x. `user` is the solver's. */
typedef struct HcWorkingSolver {
    void (*begin)(const HcUnmixing *unmixing, const HcWorking *working, void *user);
    void (*advance)(const HcUnmixing *unmixing, HcWorking *working, void *user);
    void *user;
} HcWorkingSolver;

/* The open pixels, certified: the first of the panel from nothing, the others from the abundances of the one
 * before. Those that a set is too small for are open afterwards. */
void hc_working_solve(const HcUnmixing *unmixing, HcUnmixPanel *panel, HcWorkingSolver solver);

/* x >= 0, with the sum to one where that is asked for, that makes 1/2 x'M x - b'x least; turned = M x. The
 * search begins at the members, and leaves those of x. */
void hc_working_nearest(const HcUnmixing *unmixing, HcWorking *working, const double *b, double *x,
                        double *turned);

/* product = matrix vector, of a set's size; product [HC_WORKING_MAX]. */
void hc_working_multiply(int32_t count, const double *matrix, const double *vector, double *product);

/* matrix = -inv(matrix). */
void hc_working_invert(int32_t count, double *matrix);

/* What slopes are counted in. */
static inline double hc_working_unit(const HcUnmixing *unmixing) {
    return unmixing->working_level > 0 ? unmixing->working_level : 1;
}

#endif
