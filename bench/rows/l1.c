/* Rows of l1 problems with one dense matrix (Gao and Li), and what the serial reference makes of them. */
#include "core/allocate.h"
#include "core/system/clock.h"
#include "bench/rows/dense.h"
#include "bench/serial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t most_serial = (size_t)32 << 20;

enum {
    STEPS = 50,       /* of fista, and in each outer step of alm */
    OUTER = 10,       /* steps of alm */
    MORE = 10,        /* times the steps, once, for comparison */
    SERIAL_STEPS = 3, /* of the serial reference */
    SHARE = 64,       /* one of SHARE columns is in b = A x0, except for SOLUTION */
    SOLUTION = 1024
};

/* Reports, relative to themselves. */
static const double report_tolerance = 1e-6;

/* lambda relative to the one from which on x is 0; a call that is not repeated [s]. */
static const double lambda_share = 0.1;
static const double long_call = 1.0;

static const HcDenseKind problems[] = {
    {"fista-1024x65536", 1024, 65536, false, false},
    {"fista-1024x262144", 1024, 262144, false, false},
    {"alm-1024x65536", 1024, 65536, false, true},
};

enum { PROBLEMS = sizeof problems / sizeof problems[0] };

static HcStatus call_problem(HcRig *rig, void *user, HcError *err) {
    HcDense *dense = user;
    if (dense->by_vendor) {
        return rig->vendor_ops->fista(rig->vendor, rig->queue, &dense->matrix, dense->out, dense->rule.lambda,
                                      dense->square, dense->rule.iterations, dense->scratch, dense->in, err);
    }
    return (dense->kind->alm ? hc_alm : hc_fista)(rig->queue, dense->l1, &dense->rule, dense->out, dense->in,
                                                  &dense->report, err);
}

/* x0, of whose entries few are not 0. */
static void make_solution(const HcBenchSettings *settings, int64_t columns, float *x) {
    int64_t count = hc_min64((columns - 1) / SHARE + 1, SOLUTION);
    memset(x, 0, (size_t)columns * sizeof *x);
    for (int64_t k = 0; k < count; k++) {
        x[k * (columns / count) + k % (columns / count)] = hc_bench_dense(settings, hc_dense_vectors + k);
    }
}

static double largest(const float *values, int64_t count) {
    double top = 0;
    for (int64_t i = 0; i < count; i++) {
        top = fmax(top, fabs((double)values[i]));
    }
    return top;
}

/* b = A x0 into dense->out, and lambda of A'b. Entries of A are even in [-1, 1), so that their variance is
 * 1/3, and no singular value is much beyond (root of rows + root of columns) of that. */
static HcStatus make_problem(HcRig *rig, HcDense *dense, HcError *err) {
    HcStatus status = HC_OK;
    double rows = (double)dense->matrix.rows;
    double columns = (double)dense->matrix.columns;
    float *slopes = NULL;
    float *x = NULL;
    HC_TRY(hc_new(x, dense->matrix.columns, "a vector", err));
    make_solution(rig->settings, dense->matrix.columns, x);
    HC_TRY(hc_upload(rig->queue, x, dense->in, (size_t)dense->matrix.columns * sizeof *x, err));
    HC_TRY(hc_gemv(rig->queue, &dense->matrix, dense->in, dense->out, err));
    HC_TRY(hc_gemv_t(rig->queue, &dense->matrix, dense->out, dense->scratch, err));
    HC_TRY(hc_dense_fetch(rig, dense->scratch, dense->matrix.columns, &slopes, err));
    dense->rule = (HcL1Rule){
        .lambda = lambda_share * largest(slopes, dense->matrix.columns), .iterations = STEPS, .outer = OUTER};
    dense->square = 1.1 * (sqrt(rows) + sqrt(columns)) * (sqrt(rows) + sqrt(columns)) / 3;
done:
    if (status != HC_OK) {
        hc_rig_drain(rig);
    }
    free(slopes);
    free(x);
    return status;
}

/* 1/2 |A x - b|^2 + lambda |x|_1 of what came out, or |x|_1 of alm, and 1/2 |b|^2; in float64. */
static HcStatus evaluate(HcRig *rig, const HcDense *dense, double *objective, double *nothing, HcError *err) {
    HcStatus status = HC_OK;
    const HcMatrix *matrix = &dense->matrix;
    float *x = NULL;
    float *b = NULL;
    double norm = 0;
    double square = 0;
    HC_TRY(hc_dense_fetch(rig, dense->in, matrix->columns, &x, err));
    HC_TRY(hc_dense_fetch(rig, dense->out, matrix->rows, &b, err));
    *nothing = 0;
    for (int64_t r = 0; r < matrix->rows; r++) {
        double sum = -(double)b[r];
        for (int64_t j = 0; j < matrix->columns; j++) {
            if (x[j] != 0) {
                sum += (double)hc_bench_dense(rig->settings, r * matrix->columns + j) * (double)x[j];
            }
        }
        square += sum * sum;
        *nothing += (double)b[r] * (double)b[r] / 2;
    }
    for (int64_t j = 0; j < matrix->columns; j++) {
        norm += fabs((double)x[j]);
    }
    *objective = dense->kind->alm ? norm : square / 2 + dense->rule.lambda * norm;
done:
    free(x);
    free(b);
    return status;
}

/* Checks the report of the solver; how: what the objective is worth. */
static HcStatus check_problem(HcRig *rig, HcDense *dense, HcBenchRow *row, char *how, size_t size,
                              HcError *err) {
    double objective = 0;
    double nothing = 0;
    HcL1Report report = dense->report;
    HC_OR_RETURN(evaluate(rig, dense, &objective, &nothing, err));
    if (!(fabs(report.objective - objective) <= report_tolerance * objective)) {
        hc_bench_wrong(row, "the objective is reported as %.9g", report.objective);
    }
    row->check = HC_BENCH_NEAR;
    if (dense->kind->alm) {
        snprintf(how, size, "residual %.1e, gap %.1e", report.residual, report.gap);
        return HC_OK;
    }
    dense->rule.iterations = MORE * STEPS;
    HC_OR_RETURN(call_problem(rig, dense, err));
    HC_OR_RETURN(hc_wait(rig->queue, err));
    dense->rule.iterations = STEPS;
    double above = (objective - dense->report.objective) / objective;
    if (!(above <= report.gap + report_tolerance)) {
        hc_bench_wrong(row, "the gap is reported as %.9g", report.gap);
    }
    snprintf(how, size, "%.1e above %d steps", above, MORE * STEPS);
    dense->report = report;
    return HC_OK;
}

/* A call that takes long is not repeated. */
static HcStatus measure_problem(HcRig *rig, HcDense *dense, HcBenchRow *row, HcError *err) {
    HcStatus status = HC_OK;
    double once = 0;
    HC_TRY(hc_rig_time(rig, call_problem, dense, 1, &once, err));
    if (once < long_call) {
        return hc_rig_measure(rig, call_problem, dense, row, err);
    }
    row->rounds = 1;
    HC_TRY(hc_rig_time(rig, call_problem, dense, 1, &once, err));
    hc_bench_take_times(row, &once);
done:
    if (status != HC_OK) {
        hc_rig_drain(rig);
    }
    return status;
}

static HcStatus own_problem(HcRig *rig, HcDense *dense, HcError *err) {
    HcStatus status = HC_OK;
    char how[48];
    HcBenchRow *row = hc_bench_row(rig->bench, dense->kind->name, rig->device->by, rig->settings->lines);
    double passes = STEPS * (dense->kind->alm ? OUTER : 1);
    dense->by_vendor = false;
    HC_TRY(hc_l1_open(rig->compute, &dense->matrix, &dense->l1, err));
    hc_rig_floor(rig, row, passes * 4 * hc_dense_values(&dense->matrix), 0, 0);
    HC_TRY(measure_problem(rig, dense, row, err));
    HC_TRY(check_problem(rig, dense, row, how, sizeof how, err));
    hc_dense_scale(dense->kind, &dense->matrix, 1, how, row);
done:
    if (status != HC_OK) {
        hc_rig_drain(rig);
    }
    hc_l1_close(dense->l1);
    dense->l1 = NULL;
    return status;
}

/* Its objective lies between what the gap of the row before proves and that of x = 0. */
static HcStatus vendor_problem(HcRig *rig, HcDense *dense, HcError *err) {
    double objective = 0;
    double nothing = 0;
    double least = dense->report.objective * (1 - dense->report.gap);
    HcBenchRow *row = hc_bench_vendor_row(rig, dense->kind->name, rig->settings->lines);
    dense->by_vendor = true;
    hc_rig_floor(rig, row, 2 * STEPS * 4 * hc_dense_values(&dense->matrix), 0, 0);
    HC_OR_RETURN(measure_problem(rig, dense, row, err));
    HC_OR_RETURN(evaluate(rig, dense, &objective, &nothing, err));
    if (!(objective >= least * (1 - report_tolerance) && objective < nothing)) {
        hc_bench_wrong(row, "the objective is %.9g", objective);
    }
    row->check = HC_BENCH_NEAR;
    hc_dense_scale(dense->kind, &dense->matrix, 1, "sgemv", row);
    return HC_OK;
}

static HcStatus problem(HcRig *rig, HcDense *dense, const HcDenseKind *kind, HcError *err) {
    HC_OR_RETURN(hc_dense_choose(rig, dense, kind, true, err));
    HC_OR_RETURN(make_problem(rig, dense, err));
    HC_OR_RETURN(own_problem(rig, dense, err));
    if (rig->vendor != NULL && rig->vendor_ops->fista != NULL && !kind->alm) {
        HC_OR_RETURN(vendor_problem(rig, dense, err));
    }
    return HC_OK;
}

static HcStatus measure(HcRig *rig, HcError *err) {
    HcStatus status = HC_OK;
    HcDense dense = {0};
    HC_TRY(hc_dense_open(rig, &dense, hc_dense_most_values(rig, problems, PROBLEMS, true, 0), err));
    for (size_t k = 0; k < PROBLEMS; k++) {
        if (hc_bench_wants(rig->bench, problems[k].name)) {
            HC_TRY(problem(rig, &dense, &problems[k], err));
        }
    }
done:
    hc_dense_close(rig, &dense, status);
    return status;
}

const HcBenchPart hc_bench_l1 = {.measure = measure,
                                 .rows = (const HcBenchKind[]){{"fista-1024x65536", HC_BENCH_NEAR},
                                                               {"fista-1024x262144", HC_BENCH_NEAR},
                                                               {"alm-1024x65536", HC_BENCH_NEAR},
                                                               {0}}};

/* ---- the serial reference ---- */

static HcStatus serial_row(HcBench *bench, const HcDenseKind *kind, HcError *err) {
    HcStatus status = HC_OK;
    size_t most = bench->settings.dense_bytes;
    HcMatrix matrix = hc_dense_cut(kind, most > 0 && most < most_serial ? most : most_serial);
    int64_t values = matrix.rows * matrix.columns;
    double side = sqrt((double)matrix.rows) + sqrt((double)matrix.columns);
    float *a = NULL;
    HC_TRY(hc_new(a, (size_t)(values + matrix.rows + matrix.columns), "the serial reference", err));
    float *x = a + values;
    float *b = x + matrix.columns;
    for (int64_t i = 0; i < values + matrix.columns + matrix.rows; i++) {
        a[i] = hc_bench_dense(&bench->settings, i);
    }
    HcBenchRow *row = hc_bench_row(bench, kind->name, "serial", bench->settings.lines);
    double start = hc_now();
    if (kind->alm) {
        HC_TRY(hc_serial_alm(a, matrix.rows, matrix.columns, b, side * side / 3, 1, SERIAL_STEPS, x, err));
    } else {
        HC_TRY(hc_serial_fista(a, matrix.rows, matrix.columns, b, 1, side * side / 3, SERIAL_STEPS, x, err));
    }
    row->seconds = row->least = row->most = hc_now() - start;
    char how[32];
    snprintf(how, sizeof how, "%d steps", SERIAL_STEPS);
    hc_dense_scale(kind, &matrix, (double)STEPS * (kind->alm ? OUTER : 1) / SERIAL_STEPS, how, row);
done:
    free(a);
    return status;
}

HcStatus hc_bench_serial_l1(HcBench *bench, HcError *err) {
    for (size_t k = 0; k < PROBLEMS; k++) {
        if (hc_bench_wants(bench, problems[k].name)) {
            HC_OR_RETURN(serial_row(bench, &problems[k], err));
        }
    }
    return HC_OK;
}
