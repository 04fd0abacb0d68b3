/* The inverse of the basis: its columns that are no unit vectors, row by row, changed by every pivot and
 * computed afresh now and then. Rows of it are short, so that a product with all of them and their update are
 * cheap; the squared lengths of its rows, which dual steepest edges need, are computed and not updated. */
#include "cpu/lp/simplex.h"

#include <stdlib.h>

enum {
    PIECE_ROWS = 32,    /* of the inverse that a thread works on at once */
    PIECE_COLUMNS = 512 /* of a sum of rows */
};

typedef double Lanes __attribute__((vector_size(HC_SIMPLEX_LANES * sizeof(double)), aligned(8), may_alias));
/* Functions of vectors that are wider than a processor's are part of their callers, in every build: clones
 * for different processors pass such values in different registers. */
#define INLINE static inline __attribute__((always_inline))

static int64_t padded(int64_t count) {
    return (count + HC_SIMPLEX_LANES - 1) / HC_SIMPLEX_LANES * HC_SIMPLEX_LANES;
}

INLINE double sum_of(Lanes a) {
    return ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]));
}

/* count is a multiple of the lanes. */
INLINE double dot(const double *a, const double *b, int64_t count) {
    Lanes even = {0};
    Lanes odd = {0};
    int64_t k = 0;
    for (; k + 2 * HC_SIMPLEX_LANES <= count; k += 2 * HC_SIMPLEX_LANES) {
        even += *(const Lanes *)(a + k) * *(const Lanes *)(b + k);
        odd += *(const Lanes *)(a + k + HC_SIMPLEX_LANES) * *(const Lanes *)(b + k + HC_SIMPLEX_LANES);
    }
    if (k < count) {
        even += *(const Lanes *)(a + k) * *(const Lanes *)(b + k);
    }
    return sum_of(even + odd);
}

/* row -= factor * pivot; returns the sum of its squares. */
INLINE double subtract(double *row, const double *pivot, double factor, int64_t count) {
    Lanes sum = {0};
    for (int64_t k = 0; k < count; k += HC_SIMPLEX_LANES) {
        Lanes value = *(Lanes *)(row + k) - factor * *(const Lanes *)(pivot + k);
        *(Lanes *)(row + k) = value;
        sum += value * value;
    }
    return sum_of(sum);
}

/* ---- memory ---- */

/* Rows of the inverse get memory for `most` kept columns. */
static HcStatus widen(HcSimplex *s, int64_t most, HcError *err) {
    /* An odd number of cache lines, so that rows do not fall onto one another. */
    int64_t stride = (most + 63) / 64 * 64 + HC_SIMPLEX_LANES;
    size_t bytes = (size_t)(s->rows > 0 ? s->rows : 1) * (size_t)stride * sizeof(double);
    double *inverse = calloc(bytes, 1);
    double *packed = calloc((size_t)stride, sizeof *packed);
    double *pivot_row = calloc((size_t)stride, sizeof *pivot_row);
    if (inverse == NULL || packed == NULL || pivot_row == NULL) {
        free(inverse);
        free(packed);
        free(pivot_row);
        return hc_fail_memory(err, (double)bytes, "the inverse of the basis");
    }
    for (int64_t i = 0; i < s->rows && s->own->kept > 0; i++) {
        memcpy(inverse + i * stride, s->own->inverse + i * s->own->stride,
               (size_t)s->own->kept * sizeof *inverse);
    }
    free(s->own->inverse);
    free(s->own->packed);
    free(s->own->pivot_row);
    s->own->inverse = inverse;
    s->own->packed = packed;
    s->own->pivot_row = pivot_row;
    s->own->stride = stride;
    return HC_OK;
}

/* All logicals become basic, each in the place of its row. */
static void start(HcSimplex *s) {
    for (int64_t i = 0; i < s->rows; i++) {
        memset(s->own->inverse + i * s->own->stride, 0,
               (size_t)padded(s->own->kept) * sizeof *s->own->inverse);
        s->own->kept_slot[i] = -1;
        s->basic[i] = (int32_t)(s->columns + i);
        s->place[s->columns + i] = (int32_t)i;
        s->own->weight[i] = 1;
    }
    s->own->kept = 0;
}

HcStatus hc_simplex_basis_open(HcSimplex *s, HcError *err) {
    HC_OR_RETURN(widen(s, 64, err));
    start(s);
    return HC_OK;
}

/* ---- products ---- */

/* Rows [first, end) of inverse right, where packed holds the part of the kept columns. */
HC_CLONES static void multiply_rows(const HcSimplex *s, int64_t first, int64_t end, const double *right,
                                    double *column) {
    int64_t count = padded(s->own->kept);
    for (int64_t p = first; p < end; p++) {
        int64_t logical = s->basic[p] - s->columns;
        column[p] = dot(s->own->inverse + p * s->own->stride, s->own->packed, count) +
                    (logical >= 0 ? right[logical] : 0);
    }
}

/* Shares out the rows of a matrix with `width` values in each. */
static void for_rows(const HcSimplex *s, int64_t width, HcCpuWork *work, void *user) {
    hc_simplex_work(s, (s->rows + PIECE_ROWS - 1) / PIECE_ROWS, s->rows * width, work, user);
}

typedef struct Product {
    const HcSimplex *s;
    const double *right;
    double *out;
} Product;

static void multiply_pieces(void *user, int64_t first, int64_t end, int32_t thread) {
    (void)thread;
    const Product *job = user;
    multiply_rows(job->s, first * PIECE_ROWS, hc_min64(end * PIECE_ROWS, job->s->rows), job->right, job->out);
}

void hc_simplex_multiply(const HcSimplex *s, const double *right, double *column) {
    for (int64_t k = 0; k < s->own->kept; k++) {
        s->own->packed[k] = right[s->own->kept_row[k]];
    }
    memset(s->own->packed + s->own->kept, 0,
           (size_t)(padded(s->own->kept) - s->own->kept) * sizeof *s->own->packed);
    for_rows(s, s->own->kept, multiply_pieces, &(Product){s, right, column});
}

/* out[first, end) = sum over i < count of weight[i] matrix[row[i]][first, end). */
HC_CLONES static void combine_piece(const double *matrix, int64_t stride, const int32_t *row,
                                    const double *weight, int64_t count, int64_t first, int64_t end,
                                    double *out) {
    double *restrict to = out + first;
    int64_t width = end - first;
    int64_t i = 0;
    memset(to, 0, (size_t)width * sizeof *to);
    for (; i + 4 <= count; i += 4) {
        const double *restrict a = matrix + row[i] * stride + first;
        const double *restrict b = matrix + row[i + 1] * stride + first;
        const double *restrict c = matrix + row[i + 2] * stride + first;
        const double *restrict d = matrix + row[i + 3] * stride + first;
        for (int64_t k = 0; k < width; k++) {
            to[k] +=
                (weight[i] * a[k] + weight[i + 1] * b[k]) + (weight[i + 2] * c[k] + weight[i + 3] * d[k]);
        }
    }
    for (; i < count; i++) {
        const double *restrict a = matrix + row[i] * stride + first;
        for (int64_t k = 0; k < width; k++) {
            to[k] += weight[i] * a[k];
        }
    }
}

typedef struct Combination {
    const HcSimplex *s;
    const double *matrix;
    int64_t stride, width, count;
    double *out;
} Combination;

static void combine_pieces(void *user, int64_t first, int64_t end, int32_t thread) {
    (void)thread;
    const Combination *job = user;
    const HcSimplexOwn *own = job->s->own;
    for (int64_t piece = first; piece < end; piece++) {
        combine_piece(job->matrix, job->stride, own->sparse_row, own->sparse_weight, job->count,
                      piece * PIECE_COLUMNS, hc_min64((piece + 1) * PIECE_COLUMNS, job->width), job->out);
    }
}

/* out[width] = sum over i < count of weight[i] matrix[row[i]]. */
static void combine(const HcSimplex *s, const double *matrix, int64_t stride, int64_t width, int64_t count,
                    double *out) {
    Combination job = {s, matrix, stride, width, count, out};
    hc_simplex_work(s, (width + PIECE_COLUMNS - 1) / PIECE_COLUMNS, count * width, combine_pieces, &job);
}

/* The entries of y[rows] that are not 0 become sparse_row and sparse_weight. */
static int64_t gather_nonzeros(HcSimplex *s, const double *y) {
    int64_t count = 0;
    for (int64_t i = 0; i < s->rows; i++) {
        s->own->sparse_row[count] = (int32_t)i;
        s->own->sparse_weight[count] = y[i];
        count += y[i] != 0;
    }
    return count;
}

static double sparse_product(const HcSimplex *s, int64_t j, const double *y) {
    const HcLinearProgram *program = s->program;
    double sum = 0;
    for (int64_t e = program->start[j]; e < program->start[j + 1]; e++) {
        sum += program->value[e] * s->row_scale[program->row[e]] * y[program->row[e]];
    }
    return sum * s->column_scale[j];
}

static void multiply_sparse(void *user, int64_t first, int64_t end, int32_t thread) {
    (void)thread;
    const Product *job = user;
    for (int64_t j = first; j < end; j++) {
        job->out[j] = sparse_product(job->s, j, job->right);
    }
}

/* out[columns] = A'y. */
static void multiply_transposed(HcSimplex *s, const double *y, double *out) {
    if (s->own->by_row != NULL) {
        int64_t count = gather_nonzeros(s, y);
        combine(s, s->own->by_row, s->own->stride_by_row, s->columns, count, out);
        return;
    }
    hc_simplex_work(s, s->columns, s->program->start[s->columns], multiply_sparse, &(Product){s, y, out});
}

HC_CLONES static void multiply_dense_rows(const HcSimplex *s, int64_t first, int64_t end, const double *x,
                                          double *out) {
    for (int64_t i = first; i < end; i++) {
        out[i] = dot(s->own->by_row + i * s->own->stride_by_row, x, s->own->stride_by_row);
    }
}

static void multiply_dense(void *user, int64_t first, int64_t end, int32_t thread) {
    (void)thread;
    const Product *job = user;
    multiply_dense_rows(job->s, first * PIECE_ROWS, hc_min64(end * PIECE_ROWS, job->s->rows), job->right,
                        job->out);
}

/* out[rows] = A x + t. Overwrites row. */
static void find_residual(HcSimplex *s, double *out) {
    if (s->own->by_row != NULL) {
        double *x = s->row; /* with zeros after it, as by_row has them */
        memcpy(x, s->value, (size_t)s->columns * sizeof *x);
        memset(x + s->columns, 0, (size_t)(s->own->stride_by_row - s->columns) * sizeof *x);
        for_rows(s, s->columns, multiply_dense, &(Product){s, x, out});
    } else {
        memset(out, 0, (size_t)s->rows * sizeof *out);
        for (int64_t j = 0; j < s->columns; j++) {
            if (s->value[j] != 0) {
                hc_simplex_add_column(s, j, s->value[j], out);
            }
        }
    }
    for (int64_t i = 0; i < s->rows; i++) {
        out[i] += s->value[s->columns + i];
    }
}

void hc_simplex_add_column(const HcSimplex *s, int64_t j, double scale, double *to) {
    const HcLinearProgram *program = s->program;
    if (j >= s->columns) {
        to[j - s->columns] += scale;
        return;
    }
    double factor = scale * s->column_scale[j];
    if (program->start == NULL) {
        const double *value = program->value + j * s->rows;
        for (int64_t i = 0; i < s->rows; i++) {
            to[i] += factor * (value[i] * s->row_scale[i]);
        }
        return;
    }
    for (int64_t e = program->start[j]; e < program->start[j + 1]; e++) {
        to[program->row[e]] += factor * (program->value[e] * s->row_scale[program->row[e]]);
    }
}

void hc_simplex_take_row(HcSimplex *s, int64_t place) {
    double *y = s->own->right; /* row `place` of the inverse */
    const double *kept = s->own->inverse + place * s->own->stride;
    int64_t logical = s->basic[place] - s->columns;
    memset(y, 0, (size_t)s->rows * sizeof *y);
    for (int64_t k = 0; k < s->own->kept; k++) {
        y[s->own->kept_row[k]] = kept[k];
    }
    if (logical >= 0) {
        y[logical] = 1;
    }
    multiply_transposed(s, y, s->row);
    memcpy(s->row + s->columns, y, (size_t)s->rows * sizeof *y);
}

/* ---- a pivot ---- */

/* Kept column `gone` becomes a unit vector: the last one takes its slot in this row. */
static void drop(double *row, int64_t gone, int64_t last) {
    row[gone] = row[last];
    row[last] = 0;
}

HC_CLONES static void eliminate_rows(HcSimplex *s, int64_t first, int64_t end, int64_t place, int64_t gone) {
    int64_t count = padded(s->own->kept);
    for (int64_t p = first; p < end; p++) {
        double *row = s->own->inverse + p * s->own->stride;
        if (gone >= 0) {
            drop(row, gone, s->own->kept - 1);
        }
        if (s->column[p] != 0 && p != place) {
            double squares = subtract(row, s->own->pivot_row, s->column[p], count);
            s->own->weight[p] = squares + (s->basic[p] >= s->columns ? 1 : 0);
        }
    }
}

typedef struct Elimination {
    HcSimplex *s;
    int64_t place, gone;
} Elimination;

static void eliminate_pieces(void *user, int64_t first, int64_t end, int32_t thread) {
    (void)thread;
    const Elimination *job = user;
    eliminate_rows(job->s, first * PIECE_ROWS, hc_min64(end * PIECE_ROWS, job->s->rows), job->place,
                   job->gone);
}

/* pivot_row = the row of the place divided by the pivot, also in the inverse; with a slot more where a
 * logical leaves the basis. */
static void divide_pivot_row(HcSimplex *s, int64_t place) {
    double *row = s->own->inverse + place * s->own->stride;
    double pivot = s->column[place];
    int64_t leaving = s->basic[place];
    if (leaving >= s->columns) {
        s->own->kept_row[s->own->kept] = (int32_t)(leaving - s->columns);
        s->own->kept_slot[leaving - s->columns] = (int32_t)s->own->kept;
        row[s->own->kept++] = 1;
        s->kept_most = s->own->kept > s->kept_most ? s->own->kept : s->kept_most;
    }
    for (int64_t k = 0; k < s->own->kept; k++) {
        s->own->pivot_row[k] = row[k] /= pivot;
    }
    memset(s->own->pivot_row + s->own->kept, 0,
           (size_t)(padded(s->own->kept) - s->own->kept) * sizeof *s->own->pivot_row);
}

HcStatus hc_simplex_exchange(HcSimplex *s, int64_t place, int64_t variable, HcError *err) {
    int64_t leaving = s->basic[place];
    int64_t gone = variable >= s->columns ? s->own->kept_slot[variable - s->columns] : -1;
    if (s->own->kept + 1 > s->own->stride) {
        HC_OR_RETURN(widen(s, 3 * s->own->kept / 2, err));
    }
    divide_pivot_row(s, place);
    if (gone >= 0) {
        drop(s->own->pivot_row, gone, s->own->kept - 1);
    }
    for_rows(s, s->own->kept, eliminate_pieces, &(Elimination){s, place, gone});
    if (gone >= 0) {
        int32_t moved = s->own->kept_row[s->own->kept - 1];
        s->own->kept_row[gone] = moved;
        s->own->kept_slot[moved] = (int32_t)gone;
        s->own->kept_slot[variable - s->columns] = -1;
        s->own->kept--;
    }
    const double *row = s->own->inverse + place * s->own->stride;
    s->own->weight[place] = dot(row, row, padded(s->own->kept)) + (variable >= s->columns ? 1 : 0);
    s->basic[place] = (int32_t)variable;
    s->place[variable] = (int32_t)place;
    s->move[variable] = 0;
    s->place[leaving] = -1;
    s->own->since_fresh++;
    return HC_OK;
}

/* ---- from scratch ---- */

/* The place whose logical is to leave and where the pivot is largest; -1 = there is none to divide by. */
static int64_t choose_place(const HcSimplex *s, const uint8_t *basic_before) {
    int64_t best = -1;
    double largest = 0;
    for (int64_t p = 0; p < s->rows; p++) {
        bool open = s->basic[p] >= s->columns && !basic_before[s->basic[p]];
        if (open && fabs(s->column[p]) > largest) {
            largest = fabs(s->column[p]);
            best = p;
        }
    }
    return largest > HC_SIMPLEX_PIVOT_MIN ? best : -1;
}

/* The basic variables of before enter a basis of logicals, one by one (Gauss and Jordan, largest pivot of a
 * column). */
static HcStatus invert(HcSimplex *s, const int32_t *entering, int64_t count, const uint8_t *basic_before,
                       HcError *err) {
    start(s);
    for (int64_t e = 0; e < count; e++) {
        int64_t j = entering[e];
        memset(s->own->right, 0, (size_t)s->rows * sizeof *s->own->right);
        hc_simplex_add_column(s, j, 1, s->own->right);
        hc_simplex_multiply(s, s->own->right, s->column);
        int64_t place = choose_place(s, basic_before);
        if (place < 0) {
            s->place[j] = -1;
            hc_simplex_settle(s, j);
            continue;
        }
        HC_OR_RETURN(hc_simplex_exchange(s, place, j, err));
    }
    for (int64_t p = 0; p < s->rows; p++) {
        s->move[s->basic[p]] = 0; /* what is not basic stays where it was */
    }
    s->own->since_fresh = 0;
    s->refactored++;
    return HC_OK;
}

HcStatus hc_simplex_refresh(HcSimplex *s, HcError *err) {
    HcStatus status = HC_OK;
    uint8_t *basic_before = calloc((size_t)s->all, 1);
    int32_t *entering = malloc((size_t)(s->rows + 1) * sizeof *entering);
    int64_t count = 0;
    if (basic_before == NULL || entering == NULL) {
        HC_TRY(hc_fail_memory(err, (double)s->all * 5, "the basis"));
    }
    for (int64_t j = 0; j < s->all; j++) {
        basic_before[j] = s->place[j] >= 0;
        if (basic_before[j] && j < s->columns) {
            entering[count++] = (int32_t)j;
        }
    }
    HC_TRY(invert(s, entering, count, basic_before, err));
    hc_simplex_find_values(s);
    hc_simplex_find_reduced(s);
done:
    free(basic_before);
    free(entering);
    return status;
}

/* Once, and once more with what rounding has left of A x + t = 0. */
void hc_simplex_find_values(HcSimplex *s) {
    for (int64_t p = 0; p < s->rows; p++) {
        s->value[s->basic[p]] = 0;
    }
    for (int round = 0; round < 2; round++) {
        find_residual(s, s->own->right);
        hc_simplex_multiply(s, s->own->right, s->column);
        for (int64_t p = 0; p < s->rows; p++) {
            s->value[s->basic[p]] -= s->column[p];
        }
    }
}

/* price += what makes the reduced costs of the basic variables 0. */
static void raise_prices(HcSimplex *s) {
    double *basic_cost = s->column;
    for (int64_t p = 0; p < s->rows; p++) {
        basic_cost[p] = s->reduced[s->basic[p]];
    }
    int64_t count = gather_nonzeros(s, basic_cost);
    combine(s, s->own->inverse, s->own->stride, s->own->kept, count, s->own->packed);
    for (int64_t k = 0; k < s->own->kept; k++) {
        s->price[s->own->kept_row[k]] += s->own->packed[k];
    }
    for (int64_t p = 0; p < s->rows; p++) {
        if (s->basic[p] >= s->columns) {
            s->price[s->basic[p] - s->columns] += basic_cost[p];
        }
    }
}

/* Once, and once more with what rounding has left of those that should be 0. */
void hc_simplex_find_reduced(HcSimplex *s) {
    memset(s->price, 0, (size_t)s->rows * sizeof *s->price);
    memcpy(s->reduced, s->cost, (size_t)s->all * sizeof *s->reduced);
    for (int round = 0; round < 2; round++) {
        raise_prices(s);
        multiply_transposed(s, s->price, s->row);
        for (int64_t j = 0; j < s->columns; j++) {
            s->reduced[j] = s->cost[j] - s->row[j];
        }
        for (int64_t i = 0; i < s->rows; i++) {
            s->reduced[s->columns + i] = s->cost[s->columns + i] - s->price[i];
        }
    }
    for (int64_t p = 0; p < s->rows; p++) {
        s->reduced[s->basic[p]] = 0;
    }
}

bool hc_simplex_drifted(HcSimplex *s) {
    double largest = 0;
    double residual = 0;
    find_residual(s, s->own->right);
    for (int64_t i = 0; i < s->rows; i++) {
        residual = fmax(residual, fabs(s->own->right[i]));
    }
    for (int64_t j = 0; j < s->all; j++) {
        largest = fmax(largest, fabs(s->value[j]));
    }
    return !(residual <= s->tolerance * (1 + largest));
}
