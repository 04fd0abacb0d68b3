/* Polishing: normal equations of the columns in use, by Cholesky, in float64. With the signs s of x the
 * objective is 1/2 |A x - b|^2 + lambda s'x, whose least is where A'(b - A x) = lambda s. On the way there
 * from x an entry that reaches 0 stays there (feature-sign search: Lee, Battle, Raina and Ng 2007). */
#include "core/solver/l1_polish.h"
#include "core/allocate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Multiplications of all normal equations, at most; a pivot below this part of its entry is none. */
static const double most_work = 4e9;
static const double least_pivot = 1e-11;

typedef struct Polish {
    const HcMatrix *matrix;
    const float *b;
    const HcL1Rule *rule;
    bool alm;
    int64_t count;    /* columns in use */
    int64_t *column;  /* [count] which */
    double *part;     /* [count][rows] copies of them */
    double *gram;     /* [count][count] products of all pairs */
    double *right;    /* [count] products with b, less lambda times the sign */
    double *value;    /* [count] */
    double *goal;     /* [count] */
    double *factor;   /* [count][count] */
    int64_t *used;    /* [count] columns that are not 0 so far */
    double *residual; /* [rows] b - A x */
} Polish;

static double dot(const double *a, const double *b, int64_t count) {
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

static double sign_of(double value) {
    return value < 0 ? -1 : 1;
}

/* ---- normal equations ---- */

static HcStatus open_polish(Polish *polish, const float *x, HcError *err) {
    size_t rows = (size_t)polish->matrix->rows;
    size_t count = (size_t)polish->count;
    size_t numbers = count * rows + 2 * count * count + 3 * count + rows;
    HC_OR_RETURN(hc_new(polish->column, 2 * count, "the columns of a solution", err));
    HC_OR_RETURN(hc_new(polish->part, numbers, "the columns of a solution", err));
    polish->used = polish->column + count;
    polish->gram = polish->part + count * rows;
    polish->factor = polish->gram + count * count;
    polish->right = polish->factor + count * count;
    polish->value = polish->right + count;
    polish->goal = polish->value + count;
    polish->residual = polish->goal + count;
    int64_t k = 0;
    for (int64_t j = 0; j < polish->matrix->columns; j++) {
        if (x[j] != 0) {
            polish->value[k] = (double)x[j];
            polish->column[k++] = j;
        }
    }
    return HC_OK;
}

static void form_equations(Polish *polish) {
    int64_t rows = polish->matrix->rows;
    int64_t count = polish->count;
    for (int64_t r = 0; r < rows; r++) {
        const float *row = polish->matrix->data + r * polish->matrix->columns;
        for (int64_t k = 0; k < count; k++) {
            polish->part[k * rows + r] = (double)row[polish->column[k]];
        }
        polish->residual[r] = (double)polish->b[r];
    }
    for (int64_t k = 0; k < count; k++) {
        double lambda = polish->alm ? 0 : polish->rule->lambda * sign_of(polish->value[k]);
        polish->right[k] = dot(polish->part + k * rows, polish->residual, rows) - lambda;
        for (int64_t l = 0; l <= k; l++) {
            polish->gram[k * count + l] = polish->gram[l * count + k] =
                dot(polish->part + k * rows, polish->part + l * rows, rows);
        }
    }
}

/* goal of the columns used[n]; false: they depend on each other. */
static bool solve(Polish *polish, int64_t n) {
    int64_t count = polish->count;
    double *factor = polish->factor; /* [n][n], a lower triangle */
    for (int64_t i = 0; i < n; i++) {
        const double *gram = polish->gram + polish->used[i] * count;
        for (int64_t j = 0; j <= i; j++) {
            double sum = gram[polish->used[j]] - dot(factor + i * n, factor + j * n, j);
            if (i == j && !(sum > least_pivot * gram[polish->used[i]])) {
                return false;
            }
            factor[i * n + j] = i == j ? sqrt(sum) : sum / factor[j * n + j];
        }
        double right = polish->right[polish->used[i]] - dot(factor + i * n, polish->goal, i);
        polish->goal[i] = right / factor[i * n + i];
    }
    for (int64_t i = n - 1; i >= 0; i--) {
        for (int64_t j = i + 1; j < n; j++) {
            polish->goal[i] -= factor[j * n + i] * polish->goal[j];
        }
        polish->goal[i] /= factor[i * n + i];
    }
    return true;
}

/* How far the values can go towards the goal until one of them becomes 0, at most all the way. */
static double reach_of(const Polish *polish, int64_t n) {
    double reach = 1;
    for (int64_t i = 0; i < n && (!polish->alm || polish->rule->positive); i++) {
        double value = polish->value[polish->used[i]];
        if (polish->goal[i] * sign_of(value) < 0) {
            reach = fmin(reach, value / (value - polish->goal[i]));
        }
    }
    return reach;
}

/* Goes there, as often as an entry comes to 0 on the way; false: the equations have no single solution. */
static bool move(Polish *polish) {
    int64_t n = polish->count;
    for (int64_t k = 0; k < n; k++) {
        polish->used[k] = k;
    }
    while (n > 0) {
        int64_t left = 0;
        if (!solve(polish, n)) {
            return false;
        }
        double reach = reach_of(polish, n);
        for (int64_t i = 0; i < n; i++) {
            int64_t k = polish->used[i];
            double value = polish->value[k] + reach * (polish->goal[i] - polish->value[k]);
            bool gone = reach < 1 && !(value * sign_of(polish->value[k]) > 0x1p-40 * fabs(polish->value[k]));
            polish->value[k] = reach < 1 ? (gone ? 0 : value) : polish->goal[i];
            if (!gone) {
                polish->used[left++] = k;
            }
        }
        if (left == n) {
            break;
        }
        n = left;
    }
    return true;
}

/* ---- what it is like then ---- */

/* The largest slope A'(b - A x), in magnitude unless x is positive; 0 at least. */
static HcStatus find_top(const Polish *polish, double *top, HcError *err) {
    int64_t columns = polish->matrix->columns;
    double *slope = calloc((size_t)columns, sizeof *slope);
    *top = 0;
    if (slope == NULL) {
        return hc_fail_memory(err, (double)columns * sizeof *slope, "the slopes of a solution");
    }
    for (int64_t r = 0; r < polish->matrix->rows; r++) {
        const float *row = polish->matrix->data + r * columns;
        for (int64_t j = 0; j < columns; j++) {
            slope[j] += polish->residual[r] * (double)row[j];
        }
    }
    for (int64_t j = 0; j < columns; j++) {
        *top = fmax(*top, polish->rule->positive ? slope[j] : fabs(slope[j]));
    }
    free(slope);
    return HC_OK;
}

/* The dual bound that a residual proves (docs/numerics.md), or the one from before. */
static double bound_of(const Polish *polish, double top, double square, double before) {
    double along = 0;
    for (int64_t r = 0; r < polish->matrix->rows; r++) {
        along += (double)polish->b[r] * polish->residual[r];
    }
    double most = top > 0 ? polish->rule->lambda / top : (double)INFINITY;
    double least = polish->rule->positive ? 0 : -most;
    double best = square > 0 ? fmax(least, fmin(most, along / square)) : 0;
    return fmax(before, best * along - best * best * square / 2);
}

/* Measures the values, rounded to float32. */
static HcStatus measure(Polish *polish, const HcL1Report *before, HcL1Report *report, HcError *err) {
    int64_t rows = polish->matrix->rows;
    double norm = 0;
    double energy = 0;
    double top = 0;
    *report = *before;
    report->nonzeros = 0;
    for (int64_t r = 0; r < rows; r++) {
        polish->residual[r] = (double)polish->b[r];
        energy += polish->residual[r] * polish->residual[r];
    }
    for (int64_t k = 0; k < polish->count; k++) {
        polish->value[k] = (double)(float)polish->value[k];
        norm += fabs(polish->value[k]);
        report->nonzeros += polish->value[k] != 0;
        for (int64_t r = 0; r < rows; r++) {
            polish->residual[r] -= polish->value[k] * polish->part[k * rows + r];
        }
    }
    double square = dot(polish->residual, polish->residual, rows);
    double bound = before->objective * (1 - before->gap);
    report->residual = energy > 0 ? sqrt(square / energy) : 0;
    if (polish->alm) {
        report->objective = norm;
    } else {
        HC_OR_RETURN(find_top(polish, &top, err));
        report->objective = square / 2 + polish->rule->lambda * norm;
        bound = bound_of(polish, top, square, bound);
    }
    double gap = report->objective > 0 ? (report->objective - bound) / report->objective : 0;
    report->gap = polish->alm ? gap : fmax(gap, 0);
    double reached = polish->alm ? report->residual : report->gap;
    report->end = reached <= polish->rule->tolerance ? HC_L1_REACHED : HC_L1_UNFINISHED;
    return HC_OK;
}

HcStatus hc_l1_polish(const HcMatrix *matrix, const float *b, const HcL1Rule *rule, bool alm, float *x,
                      HcL1Report *report, bool *polished, HcError *err) {
    HcStatus status = HC_OK;
    Polish polish = {.matrix = matrix, .b = b, .rule = rule, .alm = alm};
    HcL1Report after = *report;
    *polished = false;
    for (int64_t j = 0; j < matrix->columns; j++) {
        polish.count += x[j] != 0;
    }
    double count = (double)polish.count;
    bool fits = polish.count > 0 && polish.count <= matrix->rows &&
                count * count * (count + (double)matrix->rows) <= most_work;
    if (!fits || !isfinite(report->objective)) {
        return HC_OK;
    }
    HC_TRY(open_polish(&polish, x, err));
    form_equations(&polish);
    if (move(&polish)) {
        HC_TRY(measure(&polish, report, &after, err));
        *polished = alm ? after.residual < report->residual : after.objective < report->objective;
    }
    for (int64_t k = 0; k < polish.count && *polished; k++) {
        x[polish.column[k]] = (float)polish.value[k];
    }
    *report = *polished ? after : *report;
done:
    free(polish.column);
    free(polish.part);
    return status;
}
