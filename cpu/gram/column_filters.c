/* Matched filters of each group of columns: statistics, Cholesky factor, solutions. A thread has a group, and
 * all of it lies in the second cache. */
#include "core/operation/gram/column_filters.h"
#include "core/allocate.h"
#include "core/solver/column_statistics.h"
#include "core/solver/dense.h"
#include "cpu/work.h"

#include <math.h>
#include <string.h>

HcColumnFiltersFn hc_cpu_column_filters;

enum { ROWS = HC_WHITENING_ROWS, PARTS = 32 };

/* Threads that make filters, each with memory of its own. */
typedef struct Job {
    const HcColumnFilters *how;
    double *work;  /* [threads][each]: two matrices and seven rows fit */
    int32_t *band; /* [threads][bands] */
    uint8_t *used; /* [threads][bands] */
    size_t each;
} Job;

/* The memory of a thread. */
typedef struct Work {
    HcDenseFactor factor;
    double *matrix;            /* [bands][bands], from the diagonal on */
    double *rest, *y, *signal; /* [bands] */
    uint8_t *used;
} Work;

static Work work_of(const Job *job, int32_t thread) {
    size_t n = (size_t)job->how->bands;
    size_t padded = hc_dense_padded(n);
    Work work = {.matrix = job->work + (size_t)thread * job->each, .used = job->used + (size_t)thread * n};
    work.factor =
        (HcDenseFactor){.bands = n, .stride = hc_dense_stride(n), .band = job->band + (size_t)thread * n};
    work.factor.upper = work.matrix + (n + ROWS - 1) * n;
    work.factor.rest = work.factor.upper + padded * work.factor.stride;
    work.factor.scale = work.factor.rest + HC_TILE * work.factor.stride;
    work.factor.reciprocal = work.factor.scale + padded;
    work.rest = work.factor.reciprocal + padded;
    work.y = work.rest + padded;
    work.signal = work.y + padded;
    return work;
}

static double join(double *part) {
    for (int step = PARTS / 2; step > 0; step /= 2) {
        for (int i = 0; i < step; i++) {
            part[i] += part[i + step];
        }
    }
    return part[0];
}

/* ---- statistics ---- */

/* The sum of the squares of all entries. */
static double squares_of(const double *matrix, size_t n) {
    double squares = 0;
    for (size_t b = 0; b < n; b++) {
        double part[PARTS] = {0};
        const double *row = matrix + b * n;
        for (size_t c = b + 1; c < n; c++) {
            part[c % PARTS] += row[c] * row[c];
        }
        squares += row[b] * row[b] + 2 * join(part);
    }
    return squares;
}

/* Mixes the unit matrix in; returns its share. */
static double shrink(const HcColumnFilters *how, double *matrix, double count) {
    size_t n = (size_t)how->bands;
    double trace = 0;
    if (how->shrink == HC_COLUMN_SHRINK_SHARE && how->share == 0) {
        return 0;
    }
    for (size_t b = 0; b < n; b++) {
        trace += matrix[b * n + b];
    }
    double squares = how->shrink != HC_COLUMN_SHRINK_SHARE ? squares_of(matrix, n) : 0;
    double share = hc_column_share(how->shrink, how->share, count, (double)n, trace, squares);
    double unit = share * trace / (double)n;
    for (size_t b = 0; b < n && share != 0; b++) {
        for (size_t c = b; c < n; c++) {
            matrix[b * n + c] *= 1 - share;
        }
        matrix[b * n + b] += unit;
    }
    return share;
}

/* The matrix becomes the mean of x x'. */
static void use_products(double *matrix, double *mean, size_t n, double count) {
    double part = (count - 1) / count;
    for (size_t b = 0; b < n; b++) {
        for (size_t c = b; c < n; c++) {
            matrix[b * n + c] = matrix[b * n + c] * part + mean[b] * mean[c];
        }
    }
    memset(mean, 0, n * sizeof *mean);
}

/* ---- solutions ---- */

HC_CLONES static void subtract(double *restrict rest, const double *restrict row, double y, size_t first,
                               size_t end) {
    for (size_t b = first; b < end; b++) {
        rest[b] -= row[b] * y;
    }
}

/* The sum of row[b] weight[b] for b = first ... end - 1, in PARTS parts. */
HC_CLONES static double product_of(const double *restrict row, const double *restrict weight, size_t first,
                                   size_t end) {
    double part[PARTS] = {0};
    size_t b = first;
    for (; b < end && b % PARTS != 0; b++) {
        part[b % PARTS] += row[b] * weight[b];
    }
    for (; b + PARTS <= end; b += PARTS) {
        for (size_t i = 0; i < PARTS; i++) {
            part[i] += row[b + i] * weight[b + i];
        }
    }
    for (size_t i = 0; b + i < end; i++) {
        part[i] += row[b + i] * weight[b + i];
    }
    return join(part);
}

/* The weights of a signal; returns its power t' inv(A) t. */
static double solve(Work *work, double *weight) {
    const HcDenseFactor *factor = &work->factor;
    size_t n = factor->bands;
    double power = 0;
    for (size_t b = 0; b < n; b++) {
        work->rest[b] = work->signal[b] * factor->scale[b];
        weight[b] = 0;
    }
    for (size_t k = 0; k < factor->kept; k++) {
        size_t own = (size_t)factor->band[k];
        double y = work->rest[own] * factor->reciprocal[k];
        power += y * y;
        work->y[k] = y;
        subtract(work->rest, factor->upper + k * factor->stride, y, own + 1, n);
    }
    for (size_t k = factor->kept; k-- > 0;) {
        size_t own = (size_t)factor->band[k];
        double known = product_of(factor->upper + k * factor->stride, weight, own + 1, n);
        weight[own] = (work->y[k] - known) * factor->reciprocal[k];
    }
    for (size_t b = 0; b < n; b++) {
        weight[b] *= factor->scale[b] / power;
    }
    return power;
}

static bool make_filters(const HcColumnFilters *how, Work *work, double *filter, double *deviation) {
    HcDenseFactor *factor = &work->factor;
    size_t n = factor->bands;
    for (size_t b = 0; b < n; b++) {
        double variance = work->matrix[b * n + b];
        work->used[b] = variance > 0;
        factor->scale[b] = work->used[b] ? 1 / sqrt(variance) : 0;
    }
    hc_dense_factorise(factor, work->matrix, work->used);
    bool fine = factor->kept > 0;
    for (size_t j = 0; j < (size_t)how->targets && fine; j++) {
        const double *spectrum = how->spectrum + j * n;
        for (size_t b = 0; b < n; b++) {
            work->signal[b] = how->absorption ? filter[b] * spectrum[b] : spectrum[b] - filter[b];
        }
        double power = solve(work, filter + (j + 1) * n);
        fine = power > 0 && isfinite(power);
        deviation[j] = 1 / sqrt(power);
    }
    return fine;
}

/* ---- whitening ---- */

/* Each of four rows loses u[4 row + k] * v[k] for the four rows v, in this order; rows and v are `stride`
 * apart.
 */
HC_CLONES static void subtract_four(double *restrict rows, const double *restrict u, const double *restrict v,
                                    size_t stride, size_t count) {
    double *restrict r0 = rows;
    double *restrict r1 = rows + stride;
    double *restrict r2 = rows + 2 * stride;
    double *restrict r3 = rows + 3 * stride;
    const double *v0 = v, *v1 = v + stride, *v2 = v + 2 * stride, *v3 = v + 3 * stride;
    for (size_t b = 0; b < count; b++) {
        double x0 = v0[b], x1 = v1[b], x2 = v2[b], x3 = v3[b];
        r0[b] = (((r0[b] - u[0] * x0) - u[1] * x1) - u[2] * x2) - u[3] * x3;
        r1[b] = (((r1[b] - u[4] * x0) - u[5] * x1) - u[6] * x2) - u[7] * x3;
        r2[b] = (((r2[b] - u[8] * x0) - u[9] * x1) - u[10] * x2) - u[11] * x3;
        r3[b] = (((r3[b] - u[12] * x0) - u[13] * x1) - u[14] * x2) - u[15] * x3;
    }
}

HC_CLONES static void multiply(double *row, double factor, size_t count) {
    for (size_t b = 0; b < count; b++) {
        row[b] *= factor;
    }
}

/* Rows first to first + 3 of inv(U') S, from those before; `first` is a multiple of four. */
static void make_rows(const HcDenseFactor *factor, size_t first, double *rows) {
    size_t n = factor->bands;
    size_t end = first + ROWS < factor->kept ? first + ROWS : factor->kept;
    double *to = rows + first * n;
    memset(to, 0, ROWS * n * sizeof *to);
    for (size_t k = first; k < end; k++) {
        rows[k * n + (size_t)factor->band[k]] = factor->scale[factor->band[k]];
    }
    for (size_t j = 0; j < first; j += ROWS) {
        double u[ROWS * ROWS] = {0};
        for (size_t i = 0; i < (end - first) * ROWS; i++) {
            const double *row = factor->upper + (j + i % ROWS) * factor->stride;
            u[i] = row[factor->band[first + i / ROWS]];
        }
        subtract_four(to, u, rows + j * n, n, (size_t)factor->band[j + ROWS - 1] + 1);
    }
    for (size_t k = first; k < end; k++) {
        size_t own = (size_t)factor->band[k];
        for (size_t j = first; j < k; j++) {
            double u = factor->upper[j * factor->stride + own];
            subtract(rows + k * n, rows + j * n, u, 0, (size_t)factor->band[j] + 1);
        }
        multiply(rows + k * n, factor->reciprocal[k], own + 1);
    }
}

/* inv(U') S; rows: [bands + 3][bands] to work in. */
static void pack(const HcDenseFactor *factor, double *rows, double *packed) {
    size_t n = factor->bands;
    memset(packed, 0, hc_whitening_values((int64_t)n) * sizeof *packed);
    for (size_t k = 0; k < factor->kept; k++) {
        if (k % ROWS == 0) {
            make_rows(factor, k, rows);
        }
        size_t own = (size_t)factor->band[k];
        double *to = packed + hc_whitening_offset((int64_t)(own / ROWS)) + own % ROWS;
        for (size_t b = 0; b <= own; b++) {
            to[b * ROWS] = rows[k * n + b];
        }
    }
}

/* ---- groups ---- */

static void make_group(const Job *job, size_t group, Work *work) {
    const HcColumnFilters *how = job->how;
    size_t n = (size_t)how->bands;
    size_t targets = (size_t)how->targets;
    double *filter = how->filter + group * (1 + targets) * n;
    double *deviation = how->deviation + group * targets;
    int64_t count = hc_column_statistics(how->bands, how->sums + group * hc_column_values(how->bands),
                                         how->unit, filter, work->matrix);
    bool fine = false;
    how->pixels[group] = count;
    how->directions[group] = 0;
    how->shrinkage[group] = count < 2 ? 0 : shrink(how, work->matrix, (double)count);
    if (count >= 2 && (how->shrinkage[group] != 0 || count > how->bands)) {
        if (how->products) {
            use_products(work->matrix, filter, n, (double)count);
        }
        fine = make_filters(how, work, filter, deviation);
        how->directions[group] = (int32_t)work->factor.kept;
    }
    how->scored[group] = fine;
    if (!fine) {
        memset(filter + n, 0, targets * n * sizeof *filter);
        memset(deviation, 0, targets * sizeof *deviation);
    } else if (how->whitening != NULL) {
        pack(&work->factor, work->matrix, how->whitening + group * how->stride);
    }
}

static void make_groups(void *user, int64_t group, int64_t end, int32_t thread) {
    const Job *job = user;
    Work work = work_of(job, thread);
    for (; group < end; group++) {
        make_group(job, (size_t)group, &work);
    }
}

HcStatus hc_cpu_column_filters(HcQueue *queue, const HcColumnFilters *how, HcError *err) {
    static const char what[] = "filters of columns";
    HcStatus status = HC_OK;
    size_t n = (size_t)how->bands;
    size_t threads = (size_t)queue->cpu->threads;
    Job job = {.how = how, .each = hc_column_filters_bytes(how->bands) / sizeof(double)};
    HC_TRY(hc_new(job.work, threads * job.each, what, err));
    HC_TRY(hc_new(job.band, threads * n, what, err));
    HC_TRY(hc_new(job.used, threads * n, what, err));
    hc_cpu_work(queue->cpu, how->groups, 1, make_groups, &job);
done:
    free(job.work);
    free(job.band);
    free(job.used);
    return status;
}
