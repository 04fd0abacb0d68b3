/* Abundances of least absolute deviation on the CPU: what the driver and the descent share. */
#ifndef HC_CPU_LP_SIMPLEX_BATCHED_H
#define HC_CPU_LP_SIMPLEX_BATCHED_H

#include "core/operation/lp/lad.h"
#include "core/solver/lp/lad.h"
#include "cpu/work.h"

HcLadOpenFn hc_cpu_lad_open;
HcLadCloseFn hc_cpu_lad_close;
HcLadFn hc_cpu_lad;

/* Length of a run: its first pixel begins with all abundances 0, and the others with the basis of their left
 * neighbour. Counted from the start of each line, whatever the block or the thread. */
enum { HC_LAD_RUN = 64 };

/* Rows and endmembers are filled up to multiples of it with zeros, for vectors. */
enum { HC_LAD_LANES = 8 };

/* The report on a pixel, with the values that HcLadAdd lists. */
typedef struct HcLadReport {
    double deviation, primal, dual, error;
} HcLadReport;

/* One pixel, and what a thread needs to solve it. u_i is the slope that row i has: high where r_i > 0, low
 * where r_i < 0, and in the basis what makes the sum of all a_i u_i = 0. */
typedef struct HcLadWorkspace {
    double *pixel;              /* [rows] right sides of this pixel, all finite */
    double *low, *high, *range; /* [rows] slopes of f, and high - low */
    double *weight;             /* [rows] of the bands; 0 of missing ones and of all other rows */
    double *used;               /* [rows] 1 of finite bands, else 0 */
    double *moved;              /* [rows] right sides, moved a little against ties */
    double *residual;           /* [rows] */
    double *side;               /* [rows] 1: u = high, -1: u = low, 0: in the basis */
    double *speed;              /* [rows] of the residual along an edge */
    double *place;              /* [rows] where it would be 0 on the edge: in [0, 1), 2 = nowhere */
    double *gain;               /* [rows] by which the slope of f grows there */
    double *slope;              /* [rows] u */
    double *inverse;            /* [endmembers][width] of the matrix whose rows are those of the basis */
    double *square;             /* [endmembers][2 width], scratch */
    double *point;              /* [width] x */
    double *pull;               /* [width] sum of a_i u_i outside of the basis */
    double *price;              /* [width] u of the basis */
    double *edge;               /* [width] */
    double *length;             /* [width] squared, of the columns of `inverse` */
    double *abundance, *best;   /* [width] of the last round, and the best so far */
    int32_t *basis;             /* [endmembers] rows */
    bool warm;                  /* basis and inverse are those of a neighbour */
    double size;                /* mean |y|: what differences are measured by */
    int32_t finite;             /* bands */
    int64_t pivots;
    HcLadReport report, best_report; /* of the two */
    int64_t *counts;                 /* [hc_lad_counts] of this thread */
    double *memory;                  /* all of the above but basis and counts */
} HcLadWorkspace;

struct HcLad {
    HcLadHead head;
    HcLadRule rule;
    HcLadProblem problem;
    double *column; /* [endmembers][rows] A' */
    int threads;
    HcLadWorkspace *work; /* [threads] */
};

/* Solves the pixel on the workspace: `abundance`, `pivots` and `report`. */
void hc_lad_solve(const HcLad *lad, HcLadWorkspace *work);

#endif
