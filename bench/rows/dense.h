/* What rows of one dense matrix share: its products with vectors, and l1 problems with it. They do not depend
 * on the scene. */
#ifndef HC_BENCH_ROWS_DENSE_H
#define HC_BENCH_ROWS_DENSE_H

#include "core/operation/l1/l1.h"
#include "bench/internal.h"

typedef struct HcDenseKind {
    const char *name;
    int64_t rows, columns;
    bool turned; /* of a product: A'x */
    bool alm;    /* of an l1 problem */
} HcDenseKind;

/* What an operation is called with. */
typedef struct HcDense {
    bool by_vendor;
    const HcDenseKind *kind;
    HcBuffer values;  /* of all matrices, one after the other in the order of the numbers */
    HcBuffer vectors; /* those below */
    HcMatrix matrix;
    float *in, *out;
    HcL1 *l1;
    HcL1Rule rule;
    HcL1Report report;
    double square;  /* at least the largest eigenvalue of A'A */
    float *scratch; /* the vendor's, [2 rows + 3 columns] */
} HcDense;

/* Places of the random numbers: those of a matrix begin at 0. */
static const int64_t hc_dense_vectors = (int64_t)1 << 40;

/* A matrix of that kind, cut to `bytes`: rows first. */
HcMatrix hc_dense_cut(const HcDenseKind *kind, size_t bytes);
/* The largest matrix of products, or of l1 problems, which read it again and again. */
size_t hc_dense_most_bytes(const HcRig *rig, bool is_problem);
double hc_dense_values(const HcMatrix *matrix);
/* The larger of `most` and the values of the largest of the kinds that are wanted. */
int64_t hc_dense_most_values(const HcRig *rig, const HcDenseKind *kinds, size_t count, bool are_problems,
                             int64_t most);
/* Memory for matrices of up to that many values, filled with random numbers; done on return. */
HcStatus hc_dense_open(HcRig *rig, HcDense *dense, int64_t values, HcError *err) HC_MUST_CHECK;
void hc_dense_close(HcRig *rig, HcDense *dense, HcStatus status);
/* Random numbers from `first` on to device memory; done on return. */
HcStatus hc_dense_random(HcRig *rig, int64_t first, int64_t count, float *to, HcError *err) HC_MUST_CHECK;
HcStatus hc_dense_fetch(HcRig *rig, const float *at, int64_t count, float **out, HcError *err) HC_MUST_CHECK;
/* Chooses the kind: its matrix, and memory for vectors. */
HcStatus hc_dense_choose(HcRig *rig, HcDense *dense, const HcDenseKind *kind, bool is_problem,
                         HcError *err) HC_MUST_CHECK;
/* Brings the numbers of a row from the cut matrix to the whole one, and says so after `how`. */
void hc_dense_scale(const HcDenseKind *kind, const HcMatrix *matrix, double factor, const char *how,
                    HcBenchRow *row);

#endif
