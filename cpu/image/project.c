/* One matrix product for every pixel: out = offset + (x - offset) * matrix, in float64, rounded once.
 *
 * A filter along bands has a matrix with a narrow band of values beside its diagonal. Of such a matrix some
 * columns at once are multiplied by the rows in which they hold anything: smoothing 285 bands by 11 points
 * takes a fifth of the time of the whole product. What is left out are exact zeros. */
#include "core/allocate.h"
#include "core/operation/image/project.h"
#include "cpu/work.h"

#include <cblas.h>
#include <stdlib.h>
#include <string.h>

HcProjectFn hc_cpu_project;

/* Pixels of one product. Panels start at multiples of it in each line, whatever the block or the thread. */
enum { PANEL = 128, WIDTH = 16 };

/* Columns of the matrix that are multiplied at once (WIDTH, or all), and the rows that are not all 0 there.
 */
typedef struct Columns {
    int32_t first, count;
    int32_t row, rows;
} Columns;

HC_CLONES static void center(const float *restrict x, const double *restrict offset, int64_t pixels,
                             int64_t bands, double *restrict out) {
    for (int64_t p = 0; p < pixels; p++) {
        for (int64_t b = 0; b < bands; b++) {
            out[p * bands + b] = (double)x[p * bands + b] - offset[b];
        }
    }
}

HC_CLONES static void round_once(const double *restrict y, const double *restrict offset,
                                 const uint8_t *restrict mask, int64_t pixels, int64_t bands,
                                 float *restrict out) {
    for (int64_t p = 0; p < pixels; p++) {
        for (int64_t b = 0; b < bands; b++) {
            out[p * bands + b] = mask[p] ? (float)(y[p * bands + b] + offset[b]) : 0.0F;
        }
    }
}

typedef struct Job {
    const HcBlock *in, *out;
    const double *matrix;
    Columns *columns; /* [groups] */
    int32_t groups;
    double *in_offset, *out_offset; /* zeros where none was given */
    int64_t panels;                 /* in a line */
    double *work;                   /* [threads][each] */
    size_t each;
} Job;

static void project_panel(const Job *job, int64_t unit, double *work) {
    const HcBlock *in = job->in;
    const HcBlock *out = job->out;
    int64_t row = unit / job->panels;
    int64_t sample = unit % job->panels * PANEL;
    int64_t pixels = hc_min64(PANEL, out->samples - sample);
    int64_t line = hc_block_first_line(out) + row;
    const float *x = hc_cpu_line(in, line) + sample * in->bands;
    const uint8_t *valid = hc_cpu_mask_line(in, line) + sample;
    float *y = out->data + (row * out->samples + sample) * out->bands;
    double *centered = work;
    double *product = work + (int64_t)PANEL * in->bands;
    memcpy(out->mask + row * out->samples + sample, valid, (size_t)pixels);
    center(x, job->in_offset, pixels, in->bands, centered);
    for (int32_t g = 0; g < job->groups; g++) {
        const Columns *at = &job->columns[g];
        const double *matrix = job->matrix + (int64_t)at->row * out->bands + at->first;
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)pixels, at->count, at->rows, 1.0,
                    centered + at->row, in->bands, matrix, out->bands, 0.0, product + at->first, out->bands);
    }
    round_once(product, job->out_offset, valid, pixels, out->bands, y);
}

static void project_panels(void *user, int64_t unit, int64_t end, int32_t thread) {
    const Job *job = user;
    for (; unit < end; unit++) {
        project_panel(job, unit, job->work + (size_t)thread * job->each);
    }
}

static bool is_zero(const double *values, int32_t count) {
    while (count > 0 && values[count - 1] == 0) {
        count--;
    }
    return count == 0;
}

/* The rows from the first to the last that hold anything; at least one. */
static void find_rows(const Job *job, Columns *columns) {
    int64_t bands = job->out->bands;
    const double *matrix = job->matrix + columns->first;
    int32_t end = job->in->bands;
    while (end > 1 && is_zero(matrix + (end - 1) * bands, columns->count)) {
        end--;
    }
    columns->row = 0;
    while (columns->row < end - 1 && is_zero(matrix + columns->row * bands, columns->count)) {
        columns->row++;
    }
    columns->rows = end - columns->row;
}

/* Takes the columns apart where that saves half of the work; else all are multiplied at once. */
static void group_columns(Job *job) {
    int32_t bands = job->out->bands;
    int64_t products = 0;
    for (int32_t first = 0; first < bands; first += WIDTH) {
        Columns *columns = &job->columns[job->groups++];
        columns->first = first;
        columns->count = bands - first < WIDTH ? bands - first : WIDTH;
        find_rows(job, columns);
        products += (int64_t)columns->rows * columns->count;
    }
    if (2 * products > (int64_t)bands * job->in->bands) {
        job->columns[0] = (Columns){.count = bands, .rows = job->in->bands};
        job->groups = 1;
    }
}

HcStatus hc_cpu_project(HcQueue *queue, const HcBlock *in, const double *matrix, const double *in_offset,
                        const double *out_offset, const HcBlock *out, HcError *err) {
    HcStatus status = HC_OK;
    double *offsets = NULL;
    double *work = NULL;
    Columns *columns = NULL;
    hc_cpu_blas_alone();
    int threads = queue->cpu->threads;
    size_t n = (size_t)in->bands;
    size_t m = (size_t)out->bands;
    size_t each = (PANEL * (n + m) + 7) / 8 * 8;
    HC_TRY(hc_new(offsets, n + m, "projection panels", err));
    HC_TRY(hc_new(columns, m / WIDTH + 1, "projection panels", err));
    HC_TRY(hc_new_aligned(work, each * (size_t)threads, "projection panels", err));
    if (in_offset != NULL) {
        memcpy(offsets, in_offset, n * sizeof *offsets);
    }
    if (out_offset != NULL) {
        memcpy(offsets + n, out_offset, m * sizeof *offsets);
    }
    Job job = {.in = in,
               .out = out,
               .matrix = matrix,
               .columns = columns,
               .in_offset = offsets,
               .out_offset = offsets + n,
               .panels = (out->samples + PANEL - 1) / PANEL,
               .work = work,
               .each = each};
    group_columns(&job);
    int64_t units = hc_block_rows(out) * job.panels;
    hc_cpu_work(queue->cpu, units, hc_cpu_grain(queue->cpu, units), project_panels, &job);
done:
    free(offsets);
    free(columns);
    free(work);
    return status;
}
