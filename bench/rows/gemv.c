/* Rows of products of one dense matrix with vectors: of some shapes, and of a grid of shapes. */
#include "core/operation/l1/gemv.h"
#include "bench/rows/dense.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    OUTPUTS = 16,       /* entries of a product that are checked */
    GRID_SUM = 1 << 20, /* products that are summed for this in each shape of a grid, or one entry's */
    GRID_ROUNDS = 3,    /* of a shape */
    GRID_CALLS = 32     /* in each, at most */
};

/* Products in float32 in any order, relative to the sum of magnitudes. */
static const double product_tolerance = 0x1p-21;

/* A round of a shape of a grid takes about so long, or one call [s]. */
static const double grid_round = 2e-3;

static const HcDenseKind products[] = {
    {"gemv-1024x65536", 1024, 65536, false, false},  {"gemv-65536x1024", 65536, 1024, false, false},
    {"gemv-1023x65537", 1023, 65537, false, false},  {"gemv-4095x4097", 4095, 4097, false, false},
    {"gemv-16x4194304", 16, 4194304, false, false},  {"gemv-4194304x16", 4194304, 16, false, false},
    {"gemv_t-1024x65536", 1024, 65536, true, false}, {"gemv_t-65536x1024", 65536, 1024, true, false},
    {"gemv_t-1023x65537", 1023, 65537, true, false}, {"gemv_t-4095x4097", 4095, 4097, true, false},
    {"gemv_t-16x4194304", 16, 4194304, true, false}, {"gemv_t-4194304x16", 4194304, 16, true, false},
};

/* The grid: matrices of each of these numbers of columns, once of a sixteenth and once of a quarter of what
 * one may take, in both directions. */
static const HcDenseKind grids[] = {{"gemv-grid", 0, 0, false, false}, {"gemv_t-grid", 0, 0, true, false}};
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

enum { PRODUCTS = sizeof products / sizeof products[0] };

static HcStatus call_product(HcRig *rig, void *user, HcError *err) {
    HcDense *dense = user;
    bool turned = dense->kind->turned;
    if (dense->by_vendor) {
        return rig->vendor_ops->gemv(rig->vendor, rig->queue, &dense->matrix, turned, dense->in, dense->out,
                                     err);
    }
    return (turned ? hc_gemv_t : hc_gemv)(rig->queue, &dense->matrix, dense->in, dense->out, err);
}

/* `samples` entries from the first to the last, against float64. */
static HcStatus check_product(HcRig *rig, const HcDense *dense, int64_t samples, HcBenchRow *row,
                              HcError *err) {
    HcStatus status = HC_OK;
    bool turned = dense->kind->turned;
    int64_t columns = dense->matrix.columns;
    int64_t in = turned ? dense->matrix.rows : columns;
    int64_t out = turned ? columns : dense->matrix.rows;
    float *y = NULL;
    samples = hc_min64(out, samples);
    HC_TRY(hc_dense_fetch(rig, dense->out, out, &y, err));
    for (int64_t s = 0; s < samples; s++) {
        int64_t i = samples > 1 ? s * (out - 1) / (samples - 1) : 0;
        double sum = 0;
        double size = 0;
        for (int64_t k = 0; k < in; k++) {
            int64_t place = turned ? k * columns + i : i * columns + k;
            double term = (double)hc_bench_dense(rig->settings, place) *
                          (double)hc_bench_dense(rig->settings, hc_dense_vectors + k);
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

static HcStatus product_row(HcRig *rig, HcDense *dense, HcBenchRow *row, const char *how, HcError *err) {
    const HcMatrix *matrix = &dense->matrix;
    int64_t out = dense->kind->turned ? matrix->columns : matrix->rows;
    double values = hc_dense_values(matrix);
    /* The results of another row are not taken for those of this one. */
    HC_OR_RETURN(hc_zero(rig->queue, dense->out, (size_t)out * sizeof(float), err));
    hc_rig_floor(rig, row, 4 * (values + (double)matrix->rows + (double)matrix->columns), 0, 0);
    row->operations = 2 * values;
    HC_OR_RETURN(hc_rig_measure(rig, call_product, dense, row, err));
    HC_OR_RETURN(check_product(rig, dense, OUTPUTS, row, err));
    hc_dense_scale(dense->kind, matrix, 1, how, row);
    return HC_OK;
}

static HcStatus product(HcRig *rig, HcDense *dense, const HcDenseKind *kind, HcError *err) {
    HC_OR_RETURN(hc_dense_choose(rig, dense, kind, false, err));
    HC_OR_RETURN(hc_dense_random(rig, hc_dense_vectors,
                                 kind->turned ? dense->matrix.rows : dense->matrix.columns, dense->in, err));
    dense->by_vendor = false;
    HC_OR_RETURN(product_row(
        rig, dense, hc_bench_row(rig->bench, kind->name, rig->device->by, rig->settings->lines), "", err));
    if (rig->vendor != NULL) {
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
    int64_t values = (int64_t)(hc_dense_most_bytes(rig, false) / sizeof(float)) / part;
    return values > 1 ? values : 1;
}

/* The times of a shape by the backend and, in turn with it, by the vendor. */
static HcStatus time_shape(HcRig *rig, HcDense *dense, HcBenchRow *const rows[2], HcError *err) {
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
static HcStatus grid_shape(HcRig *rig, HcDense *dense, const HcDenseKind *kind, Grid *grid, HcError *err) {
    double values = hc_dense_values(&dense->matrix);
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

/* Of all shapes, what is said after the row. */
static void report_grid(Grid *grid) {
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

static HcStatus grid_of(HcRig *rig, HcDense *dense, const HcDenseKind *kind, HcError *err) {
    HcStatus status = HC_OK;
    Grid grid = {0};
    int64_t most = grid_values(rig, grid_parts[GRID_PARTS - 1]);
    int64_t widest = hc_min64(grid_columns[GRID_COLUMNS - 1], most);
    int64_t longest = most / grid_columns[0] > widest ? most / grid_columns[0] : widest; /* vector */
    HcBuffer vectors = {0};
    HC_TRY(hc_alloc(rig->compute, HC_MEMORY_DEVICE, (size_t)longest * 2 * sizeof(float), &vectors, err));
    HC_TRY(hc_dense_random(rig, hc_dense_vectors, longest, vectors.data, err));
    dense->kind = kind;
    dense->in = vectors.data;
    dense->out = dense->in + longest;
    grid.rows[0] = hc_bench_row(rig->bench, kind->name, rig->device->by, rig->settings->lines);
    if (rig->vendor != NULL) {
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
    report_grid(&grid);
done:
    if (status != HC_OK) {
        hc_rig_drain(rig);
    }
    hc_release(rig->compute, &vectors);
    return status;
}

static HcStatus measure(HcRig *rig, HcError *err) {
    HcStatus status = HC_OK;
    HcDense dense = {0};
    int64_t values = hc_dense_most_values(rig, products, PRODUCTS, false, 0);
    for (size_t k = 0; k < GRIDS; k++) {
        int64_t most = grid_values(rig, grid_parts[GRID_PARTS - 1]);
        values = hc_bench_wants(rig->bench, grids[k].name) && most > values ? most : values;
    }
    HC_TRY(hc_dense_open(rig, &dense, values, err));
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
done:
    hc_dense_close(rig, &dense, status);
    return status;
}

const HcBenchPart hc_bench_gemv = {.measure = measure,
                                   .rows = (const HcBenchKind[]){{"gemv-1024x65536", HC_BENCH_NEAR},
                                                                 {"gemv-65536x1024", HC_BENCH_NEAR},
                                                                 {"gemv-1023x65537", HC_BENCH_NEAR},
                                                                 {"gemv-4095x4097", HC_BENCH_NEAR},
                                                                 {"gemv-16x4194304", HC_BENCH_NEAR},
                                                                 {"gemv-4194304x16", HC_BENCH_NEAR},
                                                                 {"gemv-grid", HC_BENCH_NEAR},
                                                                 {"gemv_t-1024x65536", HC_BENCH_NEAR},
                                                                 {"gemv_t-65536x1024", HC_BENCH_NEAR},
                                                                 {"gemv_t-1023x65537", HC_BENCH_NEAR},
                                                                 {"gemv_t-4095x4097", HC_BENCH_NEAR},
                                                                 {"gemv_t-16x4194304", HC_BENCH_NEAR},
                                                                 {"gemv_t-4194304x16", HC_BENCH_NEAR},
                                                                 {"gemv_t-grid", HC_BENCH_NEAR},
                                                                 {0}}};
