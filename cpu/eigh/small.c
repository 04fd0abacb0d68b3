/* The small eigenvalues of a positive definite matrix, right relative to themselves.
 *
 * An ordinary decomposition of A is off by about e |A| (e = 2^-53, the rounding unit) and loses eigenvalues
 * below that. A = L L' by Cholesky is off by about e sqrt(a_ii a_jj) in each entry, which changes every
 * eigenvalue in proportion to itself where A = D C D with a diagonal D and a well-conditioned C (Demmel and
 * Veselic 1992). Let S be the eigenvectors found whose eigenvalues are below SMALL times the largest, and R
 * the others. Then G = B'B = S'A S,   B = L'S holds digits that S'A S formed from A would lose: the ordinary
 * decomposition of G is off by e |G|, at most e SMALL |A|. Its eigenvalues replace those of S, its
 * eigenvectors turn S, and what is again below SMALL times the largest of them is found once more, and so on.
 *
 * S contains parts x of the vectors R: x = C / l with the eigenvalues l of R and C = R'A S of size e |A|.
 * They add C^2 / l to an eigenvalue, at most about e^2 |A| / SMALL. For one above SMALL^2 |A| that is 2^-34
 * of itself; where there are smaller ones, x is taken out first: S - R x and R + S x' are orthonormal within
 * x^2, (e / SMALL)^2. C is formed as R'L B.
 *
 * As in eigh.c, the work is cut by the numbers of columns alone. */
#include "core/allocate.h"
#include "cpu/eigh/eigh.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Times that eigenvalues are found again, at most: enough for a condition of 2^120. */
enum { LEVELS = 4 };

/* What is found again: the eigenvalues from `first` on. All matrices are column-major. */
typedef struct Small {
    size_t n, first, count; /* first + count = n */
    double *factor;         /* [n][n] L */
    double *values;         /* [n] */
    double *vectors;        /* [n][n] R, then S */
    double *images;         /* [count][n] B; x [count][first] while R and S are turned apart; S turned */
    double *products;       /* [count][n] A S, while R and S are turned apart */
    double *inner;          /* [count][count] G, then its eigenvectors */
} Small;

/* The columns of a piece: [begin, end). */
typedef struct Columns {
    size_t begin, end;
} Columns;

static Columns columns_of(int32_t piece, size_t count) {
    size_t width = (size_t)hc_cpu_eigh_width((int32_t)count);
    size_t begin = (size_t)piece * width;
    return (Columns){begin, begin + width < count ? begin + width : count};
}

typedef struct Team {
    const HcCpu *cpu;
    int threads;
} Team;

typedef struct Pieces {
    HcShare share;
    int32_t count;
    void (*compute)(void *what, int32_t piece);
    void *what;
} Pieces;

static void compute_pieces(void *what) {
    Pieces *pieces = what;
    hc_cpu_share(&pieces->share, pieces->count, pieces->compute, pieces->what);
}

/* Computes the pieces of a matrix of `count` columns. */
static void share(const Team *team, size_t count, void (*compute)(void *what, int32_t piece), void *what) {
    Pieces pieces = {.compute = compute, .what = what};
    int32_t width = hc_cpu_eigh_width((int32_t)count);
    pieces.count = ((int32_t)count + width - 1) / width;
    hc_cpu_team(team->cpu, team->threads, compute_pieces, &pieces);
}

/* to = L' S, of some columns. */
static void image_columns(const Small *small, Columns columns, double *to) {
    size_t n = small->n;
    memcpy(to + columns.begin * n, small->vectors + (small->first + columns.begin) * n,
           (columns.end - columns.begin) * n * sizeof *to);
    cblas_dtrmm(CblasColMajor, CblasLeft, CblasLower, CblasTrans, CblasNonUnit, (int)n,
                (int)(columns.end - columns.begin), 1, small->factor, (int)n, to + columns.begin * n, (int)n);
}

/* x, and S - R x, of some columns. */
static void turn_small(void *what, int32_t piece) {
    const Small *small = what;
    Columns columns = columns_of(piece, small->count);
    int n = (int)small->n;
    int first = (int)small->first;
    int count = (int)(columns.end - columns.begin);
    double *product = small->products + columns.begin * small->n;
    double *x = small->images + columns.begin * small->first;
    image_columns(small, columns, small->products);
    cblas_dtrmm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, n, count, 1, small->factor,
                n, product, n);
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, first, count, n, 1, small->vectors, n, product, n, 0,
                x, first);
    for (double *column = x; column < x + (size_t)count * small->first; column += small->first) {
        for (size_t k = 0; k < small->first; k++) {
            column[k] /= small->values[k];
        }
    }
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, count, first, -1, small->vectors, n, x, first,
                1, small->vectors + (small->first + columns.begin) * small->n, n);
}

/* R + S x', of some columns. */
static void turn_rest(void *what, int32_t piece) {
    const Small *small = what;
    Columns columns = columns_of(piece, small->first);
    int n = (int)small->n;
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, n, (int)(columns.end - columns.begin),
                (int)small->count, 1, small->vectors + small->first * small->n, n,
                small->images + columns.begin, (int)small->first, 1,
                small->vectors + columns.begin * small->n, n);
}

static void image_piece(void *what, int32_t piece) {
    const Small *small = what;
    image_columns(small, columns_of(piece, small->count), small->images);
}

static void inner_piece(void *what, int32_t piece) {
    const Small *small = what;
    Columns columns = columns_of(piece, small->count);
    int n = (int)small->n;
    int count = (int)small->count;
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, count, (int)(columns.end - columns.begin), n, 1,
                small->images, n, small->images + columns.begin * small->n, n, 0,
                small->inner + columns.begin * small->count, count);
}

static void turned_piece(void *what, int32_t piece) {
    const Small *small = what;
    Columns columns = columns_of(piece, small->count);
    int n = (int)small->n;
    int count = (int)small->count;
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, (int)(columns.end - columns.begin), count, 1,
                small->vectors + small->first * small->n, n, small->inner + columns.begin * small->count,
                count, 0, small->images + columns.begin * small->n, n);
}

/* The sign rule for some of all vectors. */
static void sign_piece(void *what, int32_t piece) {
    const Small *small = what;
    Columns columns = columns_of(piece, small->n);
    for (size_t k = columns.begin; k < columns.end; k++) {
        hc_sign_rule(small->vectors + k * small->n, (int32_t)small->n);
    }
}

/* One level. */
static HcStatus find_again(Small *small, const Team *team, HcError *err) {
    double *vectors = small->vectors + small->first * small->n;
    if (small->values[small->n - 1] < HC_EIGH_SMALL * HC_EIGH_SMALL * small->values[0]) {
        HC_OR_RETURN(hc_new(small->products, small->count * small->n, "small eigenvalues", err));
        share(team, small->count, turn_small, small);
        share(team, small->first, turn_rest, small);
        free(small->products);
    }
    share(team, small->count, image_piece, small);
    share(team, small->count, inner_piece, small);
    HC_OR_RETURN(hc_cpu_eigh_plain(team->cpu, (int32_t)small->count, (int32_t)small->count, small->inner,
                                   small->values + small->first, small->inner, err));
    share(team, small->count, turned_piece, small);
    memcpy(vectors, small->images, small->count * small->n * sizeof *vectors);
    return HC_OK;
}

/* Steps to the first eigenvalue after `first` that is small beside it. */
static bool next_level(Small *small) {
    double limit = HC_EIGH_SMALL * small->values[small->first];
    size_t next = small->first + 1;
    while (next < small->n && small->values[next] >= limit) {
        next++;
    }
    small->first = next;
    small->count = small->n - next;
    return small->count > 0 && limit > 0;
}

/* Values that coincide except for rounding may have come the wrong way round. */
static void sort(Small *small) {
    for (size_t k = 1; k < small->n; k++) {
        for (size_t to = k; to > 0 && small->values[to - 1] < small->values[to]; to--) {
            double value = small->values[to];
            small->values[to] = small->values[to - 1];
            small->values[to - 1] = value;
            cblas_dswap((int)small->n, small->vectors + to * small->n, 1,
                        small->vectors + (to - 1) * small->n, 1);
        }
    }
}

/* L of the matrix; false where rounding leaves nothing positive. A row that is 0 throughout, as of a constant
 * band, is left out: its row of L is 0, too. */
static bool factorise(Small *small, const double *matrix) {
    size_t n = small->n;
    double *factor = small->factor;
    memcpy(factor, matrix, n * n * sizeof *matrix);
    for (size_t k = 0; k < n; k++) {
        if (cblas_dasum((int)n, matrix + k * n, 1) == 0) {
            factor[k * n + k] = 1;
        }
    }
    if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', (lapack_int)n, factor, (lapack_int)n) != 0) {
        return false;
    }
    for (size_t k = 0; k < n * n; k += n + 1) {
        factor[k] = matrix[k] == 0 ? 0 : factor[k];
    }
    return true;
}

HcStatus hc_cpu_eigh_small(const HcCpu *cpu, int32_t n, const double *matrix, double *values, double *vectors,
                           HcError *err) {
    HcStatus status = HC_OK;
    size_t rows = (size_t)n;
    Small small = {.n = rows, .values = values, .vectors = vectors};
    if (!next_level(&small)) {
        return HC_OK;
    }
    Team team = {cpu, hc_cpu_eigh_threads(n, cpu->threads)};
    size_t size = rows * rows + small.count * (rows + small.count);
    HC_OR_RETURN(hc_new(small.factor, size, "small eigenvalues", err));
    small.images = small.factor + rows * rows;
    small.inner = small.images + small.count * rows;
    if (factorise(&small, matrix)) {
        bool more = true;
        for (int level = 0; level < LEVELS && more; level++) {
            HC_TRY(find_again(&small, &team, err));
            more = next_level(&small);
        }
        share(&team, rows, sign_piece, &small);
        sort(&small);
    }
done:
    free(small.factor);
    return status;
}
