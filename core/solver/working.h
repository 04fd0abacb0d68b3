/* Working sets of unmix: the few spectra on which FISTA and augmented Lagrangians take their steps for a
 * pixel. What both backends decide alike. */
#ifndef HC_CORE_SOLVER_WORKING_H
#define HC_CORE_SOLVER_WORKING_H

#include "core/solver/metric.h"

enum {
    HC_WORKING_MAX = 64,     /* spectra of a set */
    HC_WORKING_FIRST = 16,   /* maximum number at the beginning */
    HC_WORKING_ADDED = 12,   /* maximum number that is added to those that have abundances, */
    HC_WORKING_ROOM = 2,     /* minimum number, or the set is too small */
    HC_WORKING_CLASSES = 32, /* spectra whose numbers leave the same rest: one of them is added at most */
    HC_WORKING_PASSES = 200,
    HC_WORKING_TRIES =
        3, /* exchanges of all wrong members that may not help, before one goes after the other */
    HC_WORKING_ENTER = 2 /* members that enter at a time: most of many would leave again */
};

/* A new set is chosen once a spectrum outside it asks for more than this share of the most that one inside
 * asks for. */
#define HC_WORKING_OUTSIDE 0.25

/* What rounding may make of a slope of 0, of its terms. */
#define HC_WORKING_ROUNDING 0x1p-46

/* The metric on working sets has all directions down to this part of the steepest. Beyond them float64 knows
 * little of a spectrum; so a step all but solves the problem of the set. */
#define HC_WORKING_MIN 0x1p-30

/* Augmented Lagrangians on working sets: the first penalty of each set [units of the level], and how far
 * beyond the solution of the equations the next step begins. Larger ones take more steps. */
#define HC_WORKING_PENALTY    0x1p-5
#define HC_WORKING_RELAXATION 1.05

/* As hc_metric_size. */
static inline int32_t hc_working_size(const double *eigenvalue, int32_t spectra, double *level) {
    double least = HC_WORKING_MIN * eigenvalue[0];
    int32_t size = 0;
    while (size < spectra && eigenvalue[size] > least) {
        size++;
    }
    *level = (1 + 0x1p-20) * fmax(fmax(size < spectra ? eigenvalue[size] : 0, least), 0);
    return size;
}

#endif
