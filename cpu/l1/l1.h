/* One l1 problem on the CPU: what its files share. l1.c knows the matrix and multiplies, fista.c takes the
 * steps, alm.c moves the multipliers around them. Columns of the matrix are those of the problem; all sums
 * are float64, in parts and an order that only the shape decides. */
#ifndef HC_CPU_L1_L1_H
#define HC_CPU_L1_L1_H

#include "core/operation/l1/l1.h"
#include "cpu/l1/gemv.h"

HcL1OpenFn hc_cpu_l1_open;
HcL1CloseFn hc_cpu_l1_close;
HcL1Fn hc_cpu_fista;
HcL1Fn hc_cpu_alm;

/* Columns whose entries of x are moved by one thread at a time. */
enum { HC_L1_BLOCK = 4096 };

/* Sums over the columns of one block, or over all. */
typedef struct HcL1Sums {
    int64_t nonzeros; /* of x */
    double norm;      /* |x|_1 */
    double top;       /* largest entry (magnitude, unless x is positive) of A'(target - A y); 0 at least */
    double uphill;    /* (y - x)'(x - x before): above 0 where the momentum leads back */
    double apart;     /* |x - y|^2 */
} HcL1Sums;

struct HcL1 {
    HcL1Head head;
    HcMatrix matrix;
    const HcCpu *cpu;
    double largest;      /* the largest eigenvalue of A'A, rather more than less; 0 = A is 0 */
    double *row_sums;    /* [hc_cpu_gemv_parts][rows] */
    double *column_sums; /* [hc_cpu_gemv_t_parts][columns] */
    double *here;        /* [columns] x, which is rounded once when it is done */
    double *before;      /* [columns] that of the step before */
    double *weight;      /* [rows] what A' is multiplied with */
    /* [rows] each: A x, that of the step before, A y, what A x shall be, and alm's multipliers. */
    double *product, *product_before, *ahead, *target, *multiplier;
    int32_t *active; /* [columns] columns whose entry of x is not 0, ascending */
    /* Copies of columns that x had in use lately, so that A x reads them alone and in one piece. */
    int64_t kept, kept_most;
    int32_t *kept_number; /* [kept_most] which columns */
    int32_t *place;       /* [columns] where its copy is; -1 = there is none */
    float *copy;          /* [kept_most][rows] */
    HcL1Sums *block;      /* [blocks of columns] */
};

/* 1/2 |A x - target|^2 + lambda |x|_1, and how far it is minimised. Between calls l1->product is A x. */
typedef struct HcL1Problem {
    double lambda;
    bool positive;
    float *x;    /* [columns] */
    double norm; /* |x|_1 */
    double
        square;   /* the largest eigenvalue of A'A as steps take it: raised where one shows that it is more */
    double bound; /* the objective is nowhere less */
} HcL1Problem;

/* Blocks of columns. */
static inline int64_t hc_l1_blocks(const HcL1 *l1) {
    return (l1->matrix.columns - 1) / HC_L1_BLOCK + 1;
}

/* product = A here, of whose entries `nonzeros` are active. */
void hc_l1_multiply(HcL1 *l1, int64_t nonzeros, double *product);
/* Puts target - values into l1->weight and A' of it, the slopes, into the first row of l1->column_sums. */
void hc_l1_slopes(HcL1 *l1, const double *values, const double *target);
/* The largest of the slopes, in magnitude unless `positive`; 0 at least. */
double hc_l1_top(const HcL1 *l1, bool positive);

/* Starts with x = 0 and target = b. False where b is not finite: then the report is complete. energy: |b|^2.
 */
bool hc_l1_start(HcL1 *l1, const float *b, float *x, HcL1Report *report, double *energy);
/* Steps from l1->here until the relative duality gap is at most `tolerance` (0 = all), `most` at most;
 * returns how many. */
int32_t hc_l1_descend(HcL1 *l1, HcL1Problem *problem, double tolerance, int32_t most);
/* Rounds l1->here to x, and itself to that; brings product, norm and report up to date. */
void hc_l1_finish(HcL1 *l1, const float *b, double energy, HcL1Problem *problem, float *x,
                  HcL1Report *report);

#endif
