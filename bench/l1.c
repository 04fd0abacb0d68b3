/* Rows of one dense matrix: its products with vectors, and l1 problems with it (Gao and Li). They do not
 * depend on the scene. Where a matrix is cut to what is measured, the numbers are brought to the whole. */
#include "core/operation/l1/l1.h"
#include "bench/internal.h"
#include "bench/serial.h"
#include "core/allocate.h"
#include "core/system/clock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a matrix takes where nothing is asked for [bytes]: memory of hosts is kept small. */
static const size_t most_on_host = (size_t)128 << 20;
static const size_t most_on_device = (size_t)1 << 30;
static const size_t most_serial = (size_t)32 << 20;

enum {
    LEAST_ROWS = 16,    /* that a matrix is cut to before its columns are */
    OUTPUTS = 16,       /* entries of a product that are checked */
    GRID_SUM = 1 << 20, /* products that are summed for this in each shape of a grid, or one entry's */
    GRID_ROUNDS = 3,    /* of a shape */
    GRID_CALLS = 32,    /* in each, at most */
    STEPS = 50,         /* of fista, and in each outer step of alm */
    OUTER = 10,         /* steps of alm */
    MORE = 10,          /* times the steps, once, for comparison */
    SERIAL_STEPS = 3,   /* of the serial reference */
    SHARE = 64,         /* one of so many columns is in b = A x0, but for SOLUTION */
    SOLUTION = 1024
};

/* Products in float32 in any order, relative to the sum of magnitudes; reports, relative to themselves. */
static const double product_tolerance = 0x1p-21;
static const double report_tolerance = 1e-6;

/* lambda relative to the one from which on x is 0; a call that is not repeated [s]. */
static const double lambda_share = 0.1;
static const double long_call = 1.0;

/* A round of a shape of a grid takes about so long, or one call [s]. */
static const double grid_round = 2e-3;

/* Places of the random numbers: those of a matrix begin at 0. */
static const int64_t vector_place = (int64_t)1 << 40;

typedef struct Kind {
    const char *name;
    int64_t rows, columns;
    bool turned; /* of a product: A'x */
    bool alm;    /* of an l1 problem */
} Kind;

static const Kind products[] = {
    {"gemv-1024x65536", 1024, 65536, false, false},  {"gemv-65536x1024", 65536, 1024, false, false},
    {"gemv-1023x65537", 1023, 65537, false, false},  {"gemv-4095x4097", 4095, 4097, false, false},
    {"gemv-16x4194304", 16, 4194304, false, false},  {"gemv-4194304x16", 4194304, 16, false, false},
    {"gemv_t-1024x65536", 1024, 65536, true, false}, {"gemv_t-65536x1024", 65536, 1024, true, false},
    {"gemv_t-1023x65537", 1023, 65537, true, false}, {"gemv_t-4095x4097", 4095, 4097, true, false},
    {"gemv_t-16x4194304", 16, 4194304, true, false}, {"gemv_t-4194304x16", 4194304, 16, true, false},
};

static const Kind problems[] = {
    {"fista-1024x65536", 1024, 65536, false, false},
    {"fista-1024x262144", 1024, 262144, false, false},
    {"alm-1024x65536", 1024, 65536, false, true},
};

/* The grid: matrices of each of these numbers of columns, once of a sixteenth and once of a quarter of what
 * one may take, in both directions. */
static const Kind grids[] = {{"gemv-grid", 0, 0, false, false}, {"gemv_t-grid", 0, 0, true, false}};
static const int32_t grid_columns[] = {
    5,    8,    15,   16,   31,    33,    48,    64,    65,     100,     127,    128,  129,
    160,  191,  201,  224,  255,   256,   257,   300,   383,    420,     511,    512,  513,
    640,  767,  900,  1000, 1023,  1024,  1025,  1500,  2047,   2048,    2049,   3000, 4095,
    4096, 4097, 8191, 8193, 16384, 16385, 65536, 65537, 262144, 1048575, 4194304};
static const int32_t grid_parts[] = {16, 4};

enum {
    GRIDS = sizeof grids / sizeof grids[0],
    GRID_COLUMNS = sizeof grid_columns / sizeof grid_columns[0],
    GRID_PARTS = sizeof grid_parts / sizeof grid_parts[0],
    GRID_SHAPES = GRID_COLUMNS * GRID_PARTS
};

enum { PRODUCTS = sizeof products / sizeof products[0], PROBLEMS = sizeof problems / sizeof problems[0] };

/* What an operation is called with. */
typedef struct Dense {
    HcVendor *vendor;
    const HcVendorOps *vendor_ops;
    bool by_vendor;
    const Kind *kind;
    HcBuffer values;  /* of all matrices, one behind the other in the order of the numbers */
    HcBuffer vectors; /* those below */
    HcMatrix matrix;
    float *in, *out;
    HcL1 *l1;
    HcL1Rule rule;
    HcL1Report report;
    double square;  /* at least the largest eigenvalue of A'A */
    float *scratch; /* the vendor's, [2 rows + 3 columns] */
} Dense;

/* ---- data ---- */

/* A matrix of that kind, cut to so many bytes: rows first. */
static HcMatrix cut(const Kind *kind, size_t bytes) {
    int64_t most = (int64_t)(bytes / sizeof(float));
    int64_t rows = kind->rows;
    int64_t columns = kind->columns;
    if (rows > most / columns) {
        rows = most / columns > LEAST_ROWS ? most / columns : hc_min64(rows, LEAST_ROWS);
    }
    columns = hc_min64(columns, most / rows > 1 ? most / rows : 1);
    return (HcMatrix){.rows = rows, .columns = columns};
}

/* Of the matrices of products, or of l1 problems, which read them again and again. */
static size_t most_bytes(const HcRig *rig, bool is_problem) {
    const HcComputeInfo *info = &rig->device->info;
    size_t bytes = info->shared_memory ? most_on_host / (is_problem ? 2 : 1) : most_on_device;
    if (rig->settings->dense_bytes > 0) {
        bytes = rig->settings->dense_bytes;
    }
    return info->memory_free > 0 && info->memory_free / 4 < bytes ? (size_t)info->memory_free / 4 : bytes;
}

static double values_of(const HcMatrix *matrix) {
    return (double)matrix->rows * (double)matrix->columns;
}

/* Random numbers at `first` and behind, to device memory, a piece at a time; done on return. */
static HcStatus put_random(HcRig *rig, int64_t first, int64_t count, float *to, HcError *err) {
    HcStatus status = HC_OK;
    const int64_t piece = (int64_t)1 << 20;
    HcBuffer host = {0};
    HC_TRY(hc_alloc(rig->compute, HC_MEMORY_HOST, (size_t)piece * sizeof(float), &host, err));
    for (int64_t at = 0; at < count; at += piece) {
        int64_t some = hc_min64(piece, count - at);
        for (int64_t i = 0; i < some; i++) {
            ((float *)host.data)[i] = hc_bench_dense(rig->settings, first + at + i);
        }
        HC_TRY(hc_upload(rig->queue, host.data, to + at, (size_t)some * sizeof(float), err));
        HC_TRY(hc_wait(rig->queue, err));
    }
done:
    if (status != HC_OK) {
        hc_rig_drain(rig);
    }
    hc_release(rig->compute, &host);
    return status;
}

static HcStatus fetch(HcRig *rig, const float *at, int64_t count, float **out, HcError *err) {
    *out = malloc((size_t)count * sizeof **out);
    if (*out == NULL) {
        return hc_fail_memory(err, (double)count * sizeof **out, "a vector");
    }
    HC_OR_RETURN(hc_download(rig->queue, at, *out, (size_t)count * sizeof **out, err));
    return hc_wait(rig->queue, err);
}

/* Chooses the kind: its matrix, and `count` floats for vectors. */
static HcStatus choose(HcRig *rig, Dense *dense, const Kind *kind, bool is_problem, HcError *err) {
    hc_release(rig->compute, &dense->vectors);
    dense->kind = kind;
    dense->matrix = cut(kind, most_bytes(rig, is_problem));
    dense->matrix.data = dense->values.data;
    size_t floats = 3 * (size_t)dense->matrix.rows + 4 * (size_t)dense->matrix.columns;
    HC_OR_RETURN(hc_alloc(rig->compute, HC_MEMORY_DEVICE, floats * sizeof(float), &dense->vectors, err));
    dense->in = dense->vectors.data;
    dense->out = dense->in + (kind->turned ? dense->matrix.rows : dense->matrix.columns);
    dense->scratch = dense->in + dense->matrix.rows + dense->matrix.columns;
    return HC_OK;
}

/* Brings the numbers of a row from the cut matrix to the whole one, and says so behind `how`. */
static void scale(const Kind *kind, const HcMatrix *matrix, double factor, const char *how, HcBenchRow *row) {
    HcMatrix whole = {.rows = kind->rows, .columns = kind->columns};
    bool is_cut = matrix->rows < kind->rows || matrix->columns < kind->columns;
    factor *= values_of(&whole) / values_of(matrix);
    row->seconds *= factor;
    row->least *= factor;
    row->most *= factor;
    row->bytes *= factor;
    row->operations *= factor;
    row->floor *= factor;
    snprintf(row->how, sizeof row->how, "%s", how);
    if (is_cut) {
        size_t length = strlen(row->how);
        snprintf(row->how + length, sizeof row->how - length, "%sfrom %lldx%lld", length > 0 ? ", " : "",
                 (long long)matrix->rows, (long long)matrix->columns);
    }
}

/* ---- products ---- */

static HcStatus call_product(HcRig *rig, void *user, HcError *err) {
    Dense *dense = user;
    bool turned = dense->kind->turned;
    if (dense->by_vendor) {
        return dense->vendor_ops->gemv(dense->vendor, rig->queue, &dense->matrix, turned, dense->in,
                                       dense->out, err);
    }
    return (turned ? hc_gemv_t : hc_gemv)(rig->queue, &dense->matrix, dense->in, dense->out, err);
}

/* So many entries from the first to the last, against float64. */
static HcStatus check_product(HcRig *rig, const Dense *dense, int64_t samples, HcBenchRow *row,
                              HcError *err) {
    HcStatus status = HC_OK;
    bool turned = dense->kind->turned;
    int64_t columns = dense->matrix.columns;
    int64_t in = turned ? dense->matrix.rows : columns;
    int64_t out = turned ? columns : dense->matrix.rows;
    float *y = NULL;
    samples = hc_min64(out, samples);
    HC_TRY(fetch(rig, dense->out, out, &y, err));
    for (int64_t s = 0; s < samples; s++) {
        int64_t i = samples > 1 ? s * (out - 1) / (samples - 1) : 0;
        double sum = 0;
        double size = 0;
        for (int64_t k = 0; k < in; k++) {
            int64_t place = turned ? k * columns + i : i * columns + k;
            double term = (double)hc_bench_dense(rig->settings, place) *
                          (double)hc_bench_dense(rig->settings, vector_place + k);
            sum += term;
            size += fabs(term);
        }
        if (!(fabs((double)y[i] - sum) <= product_tolerance * size)) {
            hc_bench_wrong(row, "an entry is %.9g", (double)y[i]);
        }
    }
    row->check = HC_BENCH_NEAR;
done:
    free(y);
    return status;
}

static HcStatus product_row(HcRig *rig, Dense *dense, HcBenchRow *row, const char *how, HcError *err) {
    const HcMatrix *matrix = &dense->matrix;
    int64_t out = dense->kind->turned ? matrix->columns : matrix->rows;
    double values = values_of(matrix);
    /* The results of another row are not taken for those of this one. */
    HC_OR_RETURN(hc_zero(rig->queue, dense->out, (size_t)out * sizeof(float), err));
    hc_rig_floor(rig, row, 4 * (values + (double)matrix->rows + (double)matrix->columns), 0, 0);
    row->operations = 2 * values;
    HC_OR_RETURN(hc_rig_measure(rig, call_product, dense, row, err));
    HC_OR_RETURN(check_product(rig, dense, OUTPUTS, row, err));
    scale(dense->kind, matrix, 1, how, row);
    return HC_OK;
}

static HcStatus product(HcRig *rig, Dense *dense, const Kind *kind, HcError *err) {
    HC_OR_RETURN(choose(rig, dense, kind, false, err));
    HC_OR_RETURN(put_random(rig, vector_place, kind->turned ? dense->matrix.rows : dense->matrix.columns,
                            dense->in, err));
    dense->by_vendor = false;
    HC_OR_RETURN(product_row(
        rig, dense, hc_bench_row(rig->bench, kind->name, rig->device->by, rig->settings->lines), "", err));
    if (dense->vendor != NULL) {
        dense->by_vendor = true;
        HC_OR_RETURN(product_row(rig, dense, hc_bench_vendor_row(rig, kind->name, rig->settings->lines),
                                 "sgemv", err));
    }
    return HC_OK;
}

/* ---- the grid of products ---- */

/* What has been measured of a grid. */
typedef struct Grid {
    HcBenchRow *rows[2]; /* the sums of all shapes: by the backend, by its vendor or NULL */
    double ratios[GRID_SHAPES];
    int32_t shapes;
    double worst; /* ratio, and its shape */
    int64_t worst_rows, worst_columns;
} Grid;

static int64_t grid_values(const HcRig *rig, int32_t part) {
    int64_t values = (int64_t)(most_bytes(rig, false) / sizeof(float)) / part;
    return values > 1 ? values : 1;
}

/* The times of a shape by the backend and, in turn with it, by the vendor. */
static HcStatus time_shape(HcRig *rig, Dense *dense, HcBenchRow *const rows[2], HcError *err) {
    double seconds[2][GRID_ROUNDS];
    int32_t calls[2] = {0};
    for (int32_t r = -1; r < GRID_ROUNDS; r++) {
        for (int who = 0; who < 2 && rows[who] != NULL; who++) {
            dense->by_vendor = who == 1;
            if (r >= 0) {
                HC_OR_RETURN(hc_rig_time(rig, call_product, dense, calls[who], &seconds[who][r], err));
                continue;
            }
            double once = 0;
            HC_OR_RETURN(hc_rig_time(rig, call_product, dense, 1, &once, err));
            HC_OR_RETURN(hc_rig_time(rig, call_product, dense, 1, &once, err));
            double fit = grid_round / (once > 1e-7 ? once : 1e-7);
            calls[who] = fit < 1 ? 1 : fit > GRID_CALLS ? GRID_CALLS : (int32_t)fit;
            calls[who] = rig->settings->repetitions > 0 ? rig->settings->repetitions : calls[who];
        }
    }
    for (int who = 0; who < 2 && rows[who] != NULL; who++) {
        rows[who]->rounds = GRID_ROUNDS;
        rows[who]->repetitions = calls[who];
        hc_bench_take_times(rows[who], seconds[who]);
    }
    return HC_OK;
}

static void add_shape(Grid *grid, const HcMatrix *matrix, HcBenchRow *const shape[2]) {
    for (int who = 0; who < 2 && shape[who] != NULL; who++) {
        HcBenchRow *row = grid->rows[who];
        row->seconds += shape[who]->seconds;
        row->least += shape[who]->least;
        row->most += shape[who]->most;
        row->bytes += shape[who]->bytes;
        row->operations += shape[who]->operations;
        row->floor += shape[who]->floor;
        row->floor_of = shape[who]->floor_of;
        row->rounds = shape[who]->rounds;
        row->check = shape[who]->check;
    }
    if (shape[1] != NULL) {
        double ratio = shape[1]->seconds / shape[0]->seconds;
        if (grid->shapes == 0 || ratio < grid->worst) {
            grid->worst = ratio;
            grid->worst_rows = matrix->rows;
            grid->worst_columns = matrix->columns;
        }
        grid->ratios[grid->shapes] = ratio;
    }
    grid->shapes++;
}

/* One shape; the vectors are long enough for all. */
static HcStatus grid_shape(HcRig *rig, Dense *dense, const Kind *kind, Grid *grid, HcError *err) {
    double values = values_of(&dense->matrix);
    int64_t in = kind->turned ? dense->matrix.rows : dense->matrix.columns;
    int64_t out = kind->turned ? dense->matrix.columns : dense->matrix.rows;
    HcBenchRow *rows[2] = {NULL, NULL};
    for (int who = 0; who < 2 && grid->rows[who] != NULL; who++) {
        rows[who] = hc_bench_row(rig->bench, kind->name, grid->rows[who]->by, rig->settings->lines);
        rows[who]->detail = true;
        rows[who]->operations = 2 * values;
        hc_rig_floor(rig, rows[who], 4 * (values + (double)in + (double)out), 0, 0);
        snprintf(rows[who]->how, sizeof rows[who]->how, "%lldx%lld", (long long)dense->matrix.rows,
                 (long long)dense->matrix.columns);
    }
    HC_OR_RETURN(time_shape(rig, dense, rows, err));
    for (int who = 0; who < 2 && rows[who] != NULL; who++) {
        dense->by_vendor = who == 1;
        HC_OR_RETURN(hc_zero(rig->queue, dense->out, (size_t)out * sizeof(float), err));
        HC_OR_RETURN(call_product(rig, dense, err));
        int64_t samples = GRID_SUM / in > 1 ? GRID_SUM / in : 1;
        HC_OR_RETURN(check_product(rig, dense, hc_min64(samples, OUTPUTS), rows[who], err));
    }
    add_shape(grid, &dense->matrix, rows);
    return HC_OK;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of all shapes, what is said behind the row. */
static void tell_grid(Grid *grid) {
    HcBenchRow *row = grid->rows[0];
    int length = snprintf(row->how, sizeof row->how, "%d shapes", grid->shapes);
    if (grid->rows[1] != NULL) {
        qsort(grid->ratios, (size_t)grid->shapes, sizeof grid->ratios[0], by_value);
        snprintf(row->how + length, sizeof row->how - (size_t)length,
                 ", worst %.3f of sgemv at %lldx%lld, median %.2f", grid->worst, (long long)grid->worst_rows,
                 (long long)grid->worst_columns, grid->ratios[grid->shapes / 2]);
        snprintf(grid->rows[1]->how, sizeof grid->rows[1]->how, "sgemv, %d shapes", grid->shapes);
    }
}

static HcStatus grid_of(HcRig *rig, Dense *dense, const Kind *kind, HcError *err) {
    HcStatus status = HC_OK;
    Grid grid = {0};
    int64_t most = grid_values(rig, grid_parts[GRID_PARTS - 1]);
    int64_t widest = hc_min64(grid_columns[GRID_COLUMNS - 1], most);
    int64_t longest = most / grid_columns[0] > widest ? most / grid_columns[0] : widest; /* vector */
    HcBuffer vectors = {0};
    HC_TRY(hc_alloc(rig->compute, HC_MEMORY_DEVICE, (size_t)longest * 2 * sizeof(float), &vectors, err));
    HC_TRY(put_random(rig, vector_place, longest, vectors.data, err));
    dense->kind = kind;
    dense->in = vectors.data;
    dense->out = dense->in + longest;
    grid.rows[0] = hc_bench_row(rig->bench, kind->name, rig->device->by, rig->settings->lines);
    if (dense->vendor != NULL) {
        grid.rows[1] = hc_bench_vendor_row(rig, kind->name, rig->settings->lines);
    }
    for (int part = 0; part < GRID_PARTS; part++) {
        int64_t values = grid_values(rig, grid_parts[part]);
        for (int c = 0; c < GRID_COLUMNS; c++) {
            int64_t columns = hc_min64(grid_columns[c], values);
            dense->matrix =
                (HcMatrix){.data = dense->values.data, .rows = values / columns, .columns = columns};
            HC_TRY(grid_shape(rig, dense, kind, &grid, err));
        }
    }
    tell_grid(&grid);
done:
    if (status != HC_OK) {
        hc_rig_drain(rig);
    }
    hc_release(rig->compute, &vectors);
    return status;
}

/* ---- l1 problems ---- */

static HcStatus call_problem(HcRig *rig, void *user, HcError *err) {
    Dense *dense = user;
    if (dense->by_vendor) {
        return dense->vendor_ops->fista(dense->vendor, rig->queue, &dense->matrix, dense->out,
                                        dense->rule.lambda, dense->square, dense->rule.iterations,
                                        dense->scratch, dense->in, err);
    }
    return (dense->kind->alm ? hc_alm : hc_fista)(rig->queue, dense->l1, &dense->rule, dense->out, dense->in,
                                                  &dense->report, err);
}

/* x0, of whose entries few are not 0. */
static void make_solution(const HcBenchSettings *settings, int64_t columns, float *x) {
    int64_t count = hc_min64((columns - 1) / SHARE + 1, SOLUTION);
    memset(x, 0, (size_t)columns * sizeof *x);
    for (int64_t k = 0; k < count; k++) {
        x[k * (columns / count) + k % (columns / count)] = hc_bench_dense(settings, vector_place + k);
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
static HcStatus make_problem(HcRig *rig, Dense *dense, HcError *err) {
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
    HC_TRY(fetch(rig, dense->scratch, dense->matrix.columns, &slopes, err));
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
static HcStatus evaluate(HcRig *rig, const Dense *dense, double *objective, double *nothing, HcError *err) {
    HcStatus status = HC_OK;
    const HcMatrix *matrix = &dense->matrix;
    float *x = NULL;
    float *b = NULL;
    double norm = 0;
    double square = 0;
    HC_TRY(fetch(rig, dense->in, matrix->columns, &x, err));
    HC_TRY(fetch(rig, dense->out, matrix->rows, &b, err));
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
static HcStatus check_problem(HcRig *rig, Dense *dense, HcBenchRow *row, char *how, size_t size,
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
static HcStatus measure_problem(HcRig *rig, Dense *dense, HcBenchRow *row, HcError *err) {
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

static HcStatus own_problem(HcRig *rig, Dense *dense, HcError *err) {
    HcStatus status = HC_OK;
    char how[48];
    HcBenchRow *row = hc_bench_row(rig->bench, dense->kind->name, rig->device->by, rig->settings->lines);
    double passes = STEPS * (dense->kind->alm ? OUTER : 1);
    dense->by_vendor = false;
    HC_TRY(hc_l1_open(rig->compute, &dense->matrix, &dense->l1, err));
    hc_rig_floor(rig, row, passes * 4 * values_of(&dense->matrix), 0, 0);
    HC_TRY(measure_problem(rig, dense, row, err));
    HC_TRY(check_problem(rig, dense, row, how, sizeof how, err));
    scale(dense->kind, &dense->matrix, 1, how, row);
done:
    if (status != HC_OK) {
        hc_rig_drain(rig);
    }
    hc_l1_close(dense->l1);
    dense->l1 = NULL;
    return status;
}

/* Its objective lies between what the gap of the row before proves and that of x = 0. */
static HcStatus vendor_problem(HcRig *rig, Dense *dense, HcError *err) {
    double objective = 0;
    double nothing = 0;
    double least = dense->report.objective * (1 - dense->report.gap);
    HcBenchRow *row = hc_bench_vendor_row(rig, dense->kind->name, rig->settings->lines);
    dense->by_vendor = true;
    hc_rig_floor(rig, row, 2 * STEPS * 4 * values_of(&dense->matrix), 0, 0);
    HC_OR_RETURN(measure_problem(rig, dense, row, err));
    HC_OR_RETURN(evaluate(rig, dense, &objective, &nothing, err));
    if (!(objective >= least * (1 - report_tolerance) && objective < nothing)) {
        hc_bench_wrong(row, "the objective is %.9g", objective);
    }
    row->check = HC_BENCH_NEAR;
    scale(dense->kind, &dense->matrix, 1, "sgemv", row);
    return HC_OK;
}

static HcStatus problem(HcRig *rig, Dense *dense, const Kind *kind, HcError *err) {
    HC_OR_RETURN(choose(rig, dense, kind, true, err));
    HC_OR_RETURN(make_problem(rig, dense, err));
    HC_OR_RETURN(own_problem(rig, dense, err));
    if (dense->vendor != NULL && dense->vendor_ops->fista != NULL && !kind->alm) {
        HC_OR_RETURN(vendor_problem(rig, dense, err));
    }
    return HC_OK;
}

/* ---- all rows ---- */

/* Values of the largest of some matrices that are wanted, or `least`. */
static int64_t most_values(const HcRig *rig, const Kind *kinds, size_t count, bool are_problems,
                           int64_t least) {
    for (size_t k = 0; k < count; k++) {
        HcMatrix matrix = cut(&kinds[k], most_bytes(rig, are_problems));
        int64_t values = matrix.rows * matrix.columns;
        least = hc_bench_wants(rig->bench, kinds[k].name) && values > least ? values : least;
    }
    return least;
}

HcStatus hc_rig_l1(HcRig *rig, HcVendor *vendor, const HcVendorOps *vendor_ops, HcError *err) {
    HcStatus status = HC_OK;
    Dense dense = {.vendor = vendor, .vendor_ops = vendor_ops};
    int64_t values = most_values(rig, products, PRODUCTS, false, 0);
    values = most_values(rig, problems, PROBLEMS, true, values);
    for (size_t k = 0; k < GRIDS; k++) {
        int64_t most = grid_values(rig, grid_parts[GRID_PARTS - 1]);
        values = hc_bench_wants(rig->bench, grids[k].name) && most > values ? most : values;
    }
    if (values == 0) {
        return HC_OK;
    }
    HC_TRY(hc_alloc(rig->compute, HC_MEMORY_DEVICE, (size_t)values * sizeof(float), &dense.values, err));
    HC_TRY(put_random(rig, 0, values, dense.values.data, err));
    for (size_t k = 0; k < PRODUCTS; k++) {
        if (hc_bench_wants(rig->bench, products[k].name)) {
            HC_TRY(product(rig, &dense, &products[k], err));
        }
    }
    for (size_t k = 0; k < GRIDS; k++) {
        if (hc_bench_wants(rig->bench, grids[k].name)) {
            HC_TRY(grid_of(rig, &dense, &grids[k], err));
        }
    }
    for (size_t k = 0; k < PROBLEMS; k++) {
        if (hc_bench_wants(rig->bench, problems[k].name)) {
            HC_TRY(problem(rig, &dense, &problems[k], err));
        }
    }
done:
    if (status != HC_OK) {
        hc_rig_drain(rig);
    }
    hc_release(rig->compute, &dense.values);
    hc_release(rig->compute, &dense.vectors);
    return status;
}

/* ---- the serial reference ---- */

static HcStatus serial_row(HcBench *bench, const Kind *kind, HcError *err) {
    HcStatus status = HC_OK;
    size_t most = bench->settings.dense_bytes;
    HcMatrix matrix = cut(kind, most > 0 && most < most_serial ? most : most_serial);
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
    scale(kind, &matrix, (double)STEPS * (kind->alm ? OUTER : 1) / SERIAL_STEPS, how, row);
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
