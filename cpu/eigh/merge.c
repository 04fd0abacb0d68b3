/* Divide and conquer for symmetric tridiagonal matrices (Cuppen 1981; Gu and Eisenstat 1995), as LAPACK's
 * dstedc does it, with the work cut into pieces that threads can share. The matrix is torn in a fixed tree,
 * its leaves are solved by dsteqr, and each level of merges is
 *   1. the deflation of every merge (dlaed2),
 *   2. the roots of the secular equations, each by itself (dlaed4),
 *   3. the updating vectors for which these roots are exact, each entry by itself,
 *   4. the eigenvectors, in fixed blocks of columns, each a product of its own.
 * (dlaed3 does 2 to 4.) No piece depends on the number of threads, and each is computed by one of them. */
#include "cpu/eigh/eigh.h"
#include "core/allocate.h"

#include <cblas.h>
#include <lapacke.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Most rows of a leaf; roots that a thread takes at a time. */
enum { LEAF_ROWS = 25, ROOTS = 4 };

/* LAPACK's routines that have no C interface; indices count from 1. */
void dlaed2_(lapack_int *kept, const lapack_int *n, const lapack_int *upper, double *values, double *vectors,
             const lapack_int *stride, lapack_int *order, double *coupling, double *z, double *poles,
             double *weights, double *packed, lapack_int *index, lapack_int *grouped, lapack_int *placed,
             lapack_int *kinds, lapack_int *info);
void dlaed4_(const lapack_int *n, const lapack_int *which, const double *poles, const double *weights,
             double *distances, const double *coupling, double *root, lapack_int *info);
void dlamrg_(const lapack_int *first, const lapack_int *second, const double *values, const lapack_int *step1,
             const lapack_int *step2, lapack_int *index);

/* A node of the tree: rows [first, first + rows), the upper `upper` of which are its first child. */
typedef struct Node {
    lapack_int first, rows, upper;
    lapack_int kept; /* eigenvalues that were not deflated: they come first, ascending; the rest descends */
    lapack_int both,
        lower; /* of the kept: before `both` in the upper rows alone, from `lower` on in the lower */
    double coupling;
} Node;

struct HcMerging {
    lapack_int leaves; /* a power of 2 */
    Node *nodes;       /* [2 leaves] the root is 1, the children of i are 2 i and 2 i + 1 */
    double *z;         /* [n] */
    double *poles;     /* [n] */
    double *weights;   /* [n] */
    double *exact;     /* [n] the weights for which the roots are exact */
    double *work;      /* [2 n] of dsteqr */
    lapack_int *index; /* [4][n] of dlaed2; the second is `grouped` */
    HcShare *shares;   /* [2 + 4 for each level] */
};

static void plant(struct HcMerging *m, lapack_int n) {
    m->nodes[1].rows = n;
    for (lapack_int i = 1; i < m->leaves; i++) {
        Node *node = m->nodes + i;
        node->upper = node->rows / 2; /* as dlaed2 wants it */
        m->nodes[2 * i] = (Node){.first = node->first, .rows = node->upper};
        m->nodes[2 * i + 1] = (Node){.first = node->first + node->upper, .rows = node->rows - node->upper};
    }
}

/* Takes the couplings between children out of the matrix, which leaves the leaves on the diagonal. */
static void tear(HcTridiagonal *t) {
    for (lapack_int i = 1; i < t->merging->leaves; i++) {
        Node *node = t->merging->nodes + i;
        lapack_int below = node->first + node->upper;
        node->coupling = t->beside[below - 1];
        t->diagonal[below - 1] -= fabs(node->coupling);
        t->diagonal[below] -= fabs(node->coupling);
    }
}

HcStatus hc_cpu_tridiagonal_open(HcTridiagonal *t, HcError *err) {
    size_t n = (size_t)t->n;
    t->failed = 0;
    HC_OR_RETURN(hc_new(t->merging, 1, "eigenvectors", err));
    struct HcMerging *m = t->merging;
    size_t steps = 2;
    m->leaves = 1;
    while ((t->n + m->leaves - 1) / m->leaves > LEAF_ROWS) {
        m->leaves *= 2;
        steps += 4;
    }
    HC_OR_RETURN(hc_new(m->nodes, 2 * (size_t)m->leaves, "eigenvectors", err));
    HC_OR_RETURN(hc_new(m->z, 6 * n, "eigenvectors", err));
    HC_OR_RETURN(hc_new(m->index, 4 * n, "eigenvectors", err));
    HC_OR_RETURN(hc_new(m->shares, steps, "eigenvectors", err));
    m->poles = m->z + n;
    m->weights = m->z + 2 * n;
    m->exact = m->z + 3 * n;
    m->work = m->z + 4 * n;
    plant(m, t->n);
    tear(t);
    return HC_OK;
}

void hc_cpu_tridiagonal_close(HcTridiagonal *t) {
    struct HcMerging *m = t->merging;
    if (m != NULL) {
        free(m->nodes);
        free(m->z);
        free(m->index);
        free(m->shares);
        free(m);
    }
    t->merging = NULL;
}

static void note(HcTridiagonal *t, lapack_int failed) {
    if (failed != 0) {
        __atomic_store_n(&t->failed, (int)failed, __ATOMIC_RELAXED);
    }
}

/* Where the n x n block of a node lies in a matrix of all rows; the blocks of a level do not overlap. */
static double *block_of(const HcTridiagonal *t, double *matrix, const Node *node) {
    return matrix + (size_t)node->first * (size_t)(t->n + 1);
}

/* Scratch of a node: rows^2 values. */
static double *packed_of(const HcTridiagonal *t, double *matrix, const Node *node) {
    return matrix + (size_t)node->first * (size_t)t->n;
}

static void solve_leaf(HcTridiagonal *t, const Node *node) {
    size_t n = (size_t)t->n;
    memset(t->vectors + (size_t)node->first * n, 0, (size_t)node->rows * n * sizeof *t->vectors);
    note(t, LAPACKE_dsteqr_work(LAPACK_COL_MAJOR, 'I', node->rows, t->diagonal + node->first,
                                t->beside + node->first, block_of(t, t->vectors, node), t->n,
                                t->merging->work + 2 * (size_t)node->first));
}

/* The ascending order of a node's eigenvalues, from 1. */
static void order_of(HcTridiagonal *t, const Node *node) {
    static const lapack_int up = 1;
    static const lapack_int down = -1;
    const double *values = t->diagonal + node->first;
    lapack_int *order = t->order + node->first;
    lapack_int deflated = node->rows - node->kept;
    if (node->kept == 0) {
        for (lapack_int k = 0; k < node->rows; k++) {
            order[k] = k + 1;
        }
        return;
    }
    dlamrg_(&node->kept, &deflated, values, &up, &down, order);
    /* Where eigenvalues coincide, rounding may have left two of them the wrong way round. */
    for (lapack_int k = 1; k < node->rows; k++) {
        lapack_int moved = order[k];
        lapack_int to = k;
        for (; to > 0 && values[order[to - 1] - 1] > values[moved - 1]; to--) {
            order[to] = order[to - 1];
        }
        order[to] = moved;
    }
}

static void deflate(HcTridiagonal *t, lapack_int at) {
    struct HcMerging *m = t->merging;
    Node *node = m->nodes + at;
    size_t n = (size_t)t->n;
    size_t first = (size_t)node->first;
    double *vectors = block_of(t, t->vectors, node);
    double *z = m->z + first;
    order_of(t, m->nodes + 2 * at);
    order_of(t, m->nodes + 2 * at + 1);
    for (size_t k = 0; k < (size_t)node->rows; k++) {
        bool upper = k < (size_t)node->upper;
        z[k] = vectors[k * n + (size_t)node->upper - (upper ? 1 : 0)];
    }
    lapack_int *index = m->index + first;
    lapack_int *kinds = m->index + 3 * n + first; /* in the end how many there are of each */
    lapack_int failed = 0;
    lapack_int stride = t->n;
    dlaed2_(&node->kept, &node->rows, &node->upper, t->diagonal + first, vectors, &stride, t->order + first,
            &node->coupling, z, m->poles + first, m->weights + first, packed_of(t, t->scratch, node), index,
            index + n, index + 2 * n, kinds, &failed);
    if (node->kept > 0) {
        node->both = kinds[0];
        node->lower = kinds[0] + kinds[1];
    }
    note(t, failed);
}

/* ---- the roots of 1 / coupling + sum w^2 / (pole - x) ---- */

enum { LANES = 8, STEPS_MAX = 40 };

typedef double Lanes __attribute__((vector_size(LANES * sizeof(double)), may_alias));
typedef int64_t Bits __attribute__((vector_size(LANES * sizeof(int64_t)), may_alias));

/* The terms of poles below x and above it, each with its derivative: below is negative. */
typedef struct Terms {
    double below, above, below_slope, above_slope;
} Terms;

/* At x = pole + shift, with the distances of all poles from that one. */
HC_CLONES static Terms terms_at(const double *distances, const double *weights, size_t count, double shift) {
    Lanes below = {0}, above = {0}, below_slope = {0}, above_slope = {0};
    for (size_t row = 0; row < count; row += LANES) {
        Lanes distance;
        Lanes weight = {0};
        if (row + LANES <= count) {
            memcpy(&distance, distances + row, sizeof distance);
            memcpy(&weight, weights + row, sizeof weight);
        } else {
            distance = weight + 1 + shift;
            for (size_t k = row; k < count; k++) {
                distance[k - row] = distances[k];
                weight[k - row] = weights[k];
            }
        }
        distance -= shift;
        Lanes share = weight / distance;
        Bits is_below = distance < 0;
        Lanes term = weight * share;
        Lanes slope = share * share;
        below += (Lanes)((Bits)term & is_below);
        above += (Lanes)((Bits)term & ~is_below);
        below_slope += (Lanes)((Bits)slope & is_below);
        above_slope += (Lanes)((Bits)slope & ~is_below);
    }
    return (Terms){hc_cpu_eigh_added((double *)&below), hc_cpu_eigh_added((double *)&above),
                   hc_cpu_eigh_added((double *)&below_slope), hc_cpu_eigh_added((double *)&above_slope)};
}

/* to = from - value */
HC_CLONES static void subtract(const double *from, double value, size_t count, double *to) {
    for (size_t i = 0; i < count; i++) {
        to[i] = from[i] - value;
    }
}

/* From x to the root of what has the terms' values and slopes there and only the nearest poles, at the
 * distances `left` and `right` (Li 1993, the middle way); above the last pole there is only `left`. */
static double step_of(const Terms *at, double value, double left, double right, bool last) {
    double c = value - left * at->below_slope - (last ? 0 : right * at->above_slope);
    if (last) {
        return left + left * left * at->below_slope / c;
    }
    double a = (left + right) * value - left * right * (at->below_slope + at->above_slope);
    double b = left * right * value;
    double root = sqrt(fmax(a * a - 4 * b * c, 0));
    return a <= 0 ? (a - root) / (2 * c) : 2 * b / (a + root);
}

/* Root j and its distances from all poles, which keep the digits that their difference would lose: x is
 * counted from the nearest pole. As dlaed4 does, which is one value after the other, and serves where there
 * is no convergence. */
static void find_root(HcTridiagonal *t, const Node *node, lapack_int which) {
    struct HcMerging *m = t->merging;
    const double *poles = m->poles + node->first;
    const double *weights = m->weights + node->first;
    double *distances = packed_of(t, t->second, node) + (size_t)which * (size_t)node->rows;
    double *value_of = t->diagonal + node->first + which;
    size_t j = (size_t)which;
    size_t count = (size_t)node->kept;
    bool last = j + 1 == count;
    double constant = 1 / node->coupling;
    double low = 0;
    double high = last ? node->coupling : poles[j + 1] - poles[j]; /* the weights have the length 1 */
    double shift = high / 2;
    size_t origin = j;
    subtract(poles, poles[j], count, distances);
    Terms at = terms_at(distances, weights, count, shift);
    if (!last && constant + at.below + at.above < 0) {
        origin = j + 1;
        low = shift - high;
        shift = low;
        high = 0;
        subtract(poles, poles[origin], count, distances);
    }
    for (int step = 0; step < STEPS_MAX && count > 2; step++) {
        double value = constant + at.below + at.above;
        double error = 8 * (at.above - at.below) + constant + fabs(shift) * (at.below_slope + at.above_slope);
        if (fabs(value) <= DBL_EPSILON / 2 * error) {
            *value_of = poles[origin] + shift;
            subtract(distances, shift, count, distances);
            return;
        }
        *(value < 0 ? &low : &high) = shift;
        double right = last ? 0 : distances[j + 1] - shift;
        double next = shift + step_of(&at, value, distances[j] - shift, right, last);
        shift = next > low && next < high ? next : low + (high - low) / 2;
        at = terms_at(distances, weights, count, shift);
    }
    lapack_int number = which + 1;
    lapack_int failed = 0;
    dlaed4_(&node->kept, &number, poles, weights, distances, &node->coupling, value_of, &failed);
    note(t, failed);
}

/* ---- */

/* What the distances from root j and those from pole j contribute to the weights [begin, end). */
HC_CLONES static void grow_weights(const double *distances, const double *poles, double pole, size_t begin,
                                   size_t end, double *restrict exact) {
    for (size_t i = begin; i < end; i++) {
        exact[i] *= distances[i] / (poles[i] - pole);
    }
}

/* The weights [begin, end) of the secular equation that has exactly the roots found. */
static void exact_weights(HcTridiagonal *t, const Node *node, size_t begin, size_t end) {
    const double *distances = packed_of(t, t->second, node);
    const double *poles = t->merging->poles + node->first;
    const double *weights = t->merging->weights + node->first;
    double *exact = t->merging->exact + node->first;
    size_t rows = (size_t)node->rows;
    for (size_t i = begin; i < end; i++) {
        exact[i] = distances[i * rows + i];
    }
    for (size_t j = 0; j < (size_t)node->kept; j++) {
        size_t own = j < begin ? begin : j > end ? end : j;
        grow_weights(distances + j * rows, poles, poles[j], begin, own, exact);
        grow_weights(distances + j * rows, poles, poles[j], j < begin ? begin : j + 1, end, exact);
    }
    for (size_t i = begin; i < end; i++) {
        exact[i] = copysign(sqrt(-exact[i]), weights[i]);
    }
}

/* out = a / b, scaled to the length 1 */
HC_CLONES static void divide(const double *a, const double *b, size_t count, double *restrict out) {
    double squares[LANES] = {0};
    for (size_t i = 0; i < count; i++) {
        out[i] = a[i] / b[i];
    }
    for (size_t i = 0; i < count; i += LANES) {
        for (size_t k = 0; k < LANES && i + k < count; k++) {
            squares[k] += out[i + k] * out[i + k];
        }
    }
    double length = sqrt(hc_cpu_eigh_added(squares));
    for (size_t i = 0; i < count; i++) {
        out[i] /= length;
    }
}

/* The eigenvectors [begin, end) in terms of the children's: column[grouped], of unit length. workspace[n] is
 * free.
 */
static void inner_vectors(HcTridiagonal *t, const Node *node, size_t begin, size_t end, double *workspace) {
    struct HcMerging *m = t->merging;
    size_t kept = (size_t)node->kept;
    const lapack_int *grouped = m->index + t->n + node->first;
    for (size_t j = begin; j < end; j++) {
        double *column = packed_of(t, t->second, node) + j * (size_t)node->rows;
        if (kept > 2) {
            divide(m->exact + node->first, column, kept, workspace);
        } else { /* dlaed4 gives the vector itself */
            memcpy(workspace, column, kept * sizeof *workspace);
        }
        for (size_t i = 0; i < kept; i++) {
            column[i] = workspace[grouped[i] - 1];
        }
    }
}

/* The eigenvectors [begin, end) of a node. */
static void outer_vectors(HcTridiagonal *t, const Node *node, lapack_int begin, lapack_int end) {
    size_t n = (size_t)t->n;
    lapack_int columns = end - begin;
    lapack_int upper = node->upper;
    lapack_int lower = node->rows - upper;
    lapack_int lower_inner = node->kept - node->both;
    const double *packed = packed_of(t, t->scratch, node);
    const double *inner = packed_of(t, t->second, node) + (size_t)begin * (size_t)node->rows;
    double *out = block_of(t, t->vectors, node) + (size_t)begin * n;
    inner_vectors(t, node, (size_t)begin, (size_t)end, out);
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, upper, columns, node->lower, 1, packed, upper,
                inner, node->rows, 0, out, t->n);
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, lower, columns, lower_inner, 1,
                packed + (size_t)upper * (size_t)node->lower, lower, inner + node->both, node->rows, 0,
                out + upper, t->n);
}

/* The merges of one level: nodes [count, 2 count). */
typedef struct Level {
    HcTridiagonal *t;
    lapack_int count;
    lapack_int root_pieces; /* of a merge */
} Level;

static void leaf_piece(void *tridiagonal, int32_t piece) {
    HcTridiagonal *t = tridiagonal;
    solve_leaf(t, t->merging->nodes + t->merging->leaves + piece);
}

static void deflation_piece(void *levels, int32_t piece) {
    const Level *level = levels;
    deflate(level->t, level->count + piece);
}

static void root_piece(void *levels, int32_t piece) {
    const Level *level = levels;
    const Node *node = level->t->merging->nodes + level->count + piece / level->root_pieces;
    lapack_int begin = piece % level->root_pieces * ROOTS;
    for (lapack_int j = begin; j < begin + ROOTS && j < node->kept; j++) {
        find_root(level->t, node, j);
    }
}

/* What of the kept eigenvalues of a merge belongs to a piece; NULL if nothing does. */
static const Node *part_of(const Level *level, int32_t piece, lapack_int *begin, lapack_int *end) {
    const Node *node = level->t->merging->nodes + level->count + piece / HC_EIGH_PARTS;
    lapack_int width = hc_cpu_eigh_width(node->rows);
    *begin = piece % HC_EIGH_PARTS * width;
    *end = *begin + width < node->kept ? *begin + width : node->kept;
    return *begin < *end ? node : NULL;
}

static void weight_piece(void *levels, int32_t piece) {
    const Level *level = levels;
    lapack_int begin;
    lapack_int end;
    const Node *node = part_of(level, piece, &begin, &end);
    if (node != NULL && node->kept > 2) {
        exact_weights(level->t, node, (size_t)begin, (size_t)end);
    }
}

/* Of the last merge only what is wanted: kept eigenvalues ascend. */
static void vector_piece(void *levels, int32_t piece) {
    const Level *level = levels;
    lapack_int begin;
    lapack_int end;
    const Node *node = part_of(level, piece, &begin, &end);
    if (node != NULL && (level->count > 1 || end > node->kept - hc_cpu_tridiagonal_made(level->t))) {
        outer_vectors(level->t, node, begin, end);
    }
}

int32_t hc_cpu_tridiagonal_made(const HcTridiagonal *t) {
    double largest = t->diagonal[0];
    double smallest = t->diagonal[0];
    for (int32_t k = 1; k < t->n; k++) {
        largest = fmax(largest, t->diagonal[k]);
        smallest = fmin(smallest, t->diagonal[k]);
    }
    return smallest < HC_EIGH_SMALL * largest ? t->n : t->wanted;
}

static void order_piece(void *tridiagonal, int32_t piece) {
    HcTridiagonal *t = tridiagonal;
    order_of(t, t->merging->nodes + 1 + piece);
}

void hc_cpu_tridiagonal_solve(HcTridiagonal *t) {
    HcShare *share = t->merging->shares;
    hc_cpu_share(share++, t->merging->leaves, leaf_piece, t);
    for (lapack_int count = t->merging->leaves / 2; count >= 1; count /= 2) {
        lapack_int most = (t->n + count - 1) / count; /* rows of a merge */
        Level level = {t, count, (most + ROOTS - 1) / ROOTS};
        hc_cpu_share(share++, count, deflation_piece, &level);
        hc_cpu_share(share++, count * level.root_pieces, root_piece, &level);
        hc_cpu_share(share++, count * HC_EIGH_PARTS, weight_piece, &level);
        hc_cpu_share(share++, count * HC_EIGH_PARTS, vector_piece, &level);
    }
    hc_cpu_share(share, 1, order_piece, t);
}
