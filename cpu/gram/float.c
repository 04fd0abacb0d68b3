/* Sums of products of float scenes: mean and scatter of each part of a fixed partition of the scene, merged
 * in order. A part is computed by one thread in one way, so that neither blocks nor threads change a bit. Its
 * products are summed by tiles of our own (gram_tile.c), since BLAS promises no order. */
#include "cpu/gram/gram.h"
#include "cpu/gram/tile.h"

#include <stdlib.h>
#include <string.h>

/* Pixels of one product of a part. */
enum { PANEL = 256 };

/* One thread's memory. */
typedef struct Work {
    HcMoments part;
    uint8_t *ok;    /* [samples] */
    float *scratch; /* [HC_CPU_RUN][bands] */
    double *panel;  /* [PANEL][bands] */
    double *packed; /* [groups][PANEL][HC_TILE_ROWS]: the panel about the mean; 0 behind the last band */
    double *rest;   /* [bands]: what rounding left of the sum about the mean */
    int32_t filled;
    HcTile *tile;
} Work;

typedef struct Job {
    const HcBlock *in;
    HcDifference kind;
    const HcWindow *window;
    int64_t part_lines;
    int64_t first_part;
} Job;

static void work_clear(Work *work) {
    hc_moments_clear(&work->part);
    free(work->ok);
    free(work->scratch);
    free(work->panel);
    free(work->packed);
    free(work->rest);
}

/* Groups of HC_TILE_ROWS bands that fill whole tiles. */
static int32_t groups_of(int32_t bands) {
    enum { GROUPS = HC_TILE_COLUMNS / HC_TILE_ROWS };
    return (bands + HC_TILE_COLUMNS - 1) / HC_TILE_COLUMNS * GROUPS;
}

static HcStatus work_init(Work *work, const HcBlock *in, HcError *err) {
    size_t n = (size_t)in->bands;
    size_t packed = (size_t)groups_of(in->bands) * PANEL * HC_TILE_ROWS * sizeof(double);
    *work = (Work){.tile = hc_cpu_tiles()[0].tile};
    HcStatus status = hc_moments_init(&work->part, in->bands, false, err);
    if (status != HC_OK) {
        return status;
    }
    work->ok = malloc((size_t)in->samples);
    work->scratch = malloc(HC_CPU_RUN * n * sizeof *work->scratch);
    work->panel = aligned_alloc(64, (PANEL * n * sizeof *work->panel + 63) / 64 * 64);
    work->packed = aligned_alloc(64, packed);
    work->rest = malloc(n * sizeof *work->rest);
    if (work->ok == NULL || work->scratch == NULL || work->panel == NULL || work->packed == NULL ||
        work->rest == NULL) {
        work_clear(work);
        *work = (Work){0};
        return hc_fail_memory(err, (double)(PANEL * n * sizeof *work->panel), "panels of products");
    }
    memset(work->packed, 0, packed);
    return HC_OK;
}

HC_CLONES static void add_columns(const double *restrict panel, int64_t pixels, int64_t bands,
                                  double *restrict sum) {
    for (int64_t p = 0; p < pixels; p++) {
        for (int64_t b = 0; b < bands; b++) {
            sum[b] += panel[p * bands + b];
        }
    }
}

/* The panel less the mean, in groups of bands as tiles take them. */
HC_CLONES static void pack(const double *restrict panel, const double *restrict mean, int64_t pixels,
                           int64_t bands, double *restrict packed) {
    for (int64_t first = 0; first < bands; first += HC_TILE_ROWS) {
        double *restrict group = packed + first * PANEL;
        int64_t count = bands - first < HC_TILE_ROWS ? bands - first : HC_TILE_ROWS;
        if (count == HC_TILE_ROWS) {
            for (int64_t p = 0; p < pixels; p++) {
                for (int64_t b = 0; b < HC_TILE_ROWS; b++) {
                    group[p * HC_TILE_ROWS + b] = panel[p * bands + first + b] - mean[first + b];
                }
            }
        } else {
            for (int64_t p = 0; p < pixels; p++) {
                for (int64_t b = 0; b < count; b++) {
                    group[p * HC_TILE_ROWS + b] = panel[p * bands + first + b] - mean[first + b];
                }
            }
        }
    }
}

HC_CLONES static void add_groups(const double *restrict packed, int64_t pixels, int64_t bands,
                                 double *restrict sum) {
    for (int64_t first = 0; first < bands; first += HC_TILE_ROWS) {
        const double *restrict group = packed + first * PANEL;
        double all[HC_TILE_ROWS] = {0};
        for (int64_t p = 0; p < pixels; p++) {
            for (int64_t b = 0; b < HC_TILE_ROWS; b++) {
                all[b] += group[p * HC_TILE_ROWS + b];
            }
        }
        for (int64_t b = first; b < bands && b < first + HC_TILE_ROWS; b++) {
            sum[b] += all[b - first];
        }
    }
}

/* Adds the products of packed pixels to the upper triangle of the scatter. */
static void add_products(Work *work, int64_t pixels) {
    _Alignas(64) double sum[HC_TILE_ROWS][HC_TILE_COLUMNS];
    const int64_t n = work->part.bands;
    const int64_t group = (int64_t)PANEL * HC_TILE_ROWS;
    for (int64_t column = 0; column < n; column += HC_TILE_COLUMNS) {
        const int64_t end = hc_min64(column + HC_TILE_COLUMNS, n);
        const double *columns = work->packed + column / HC_TILE_ROWS * group;
        for (int64_t row = 0; row < end; row += HC_TILE_ROWS) {
            work->tile(work->packed + row / HC_TILE_ROWS * group, columns, group, pixels, sum);
            for (int64_t b = row; b < hc_min64(row + HC_TILE_ROWS, n); b++) {
                for (int64_t c = hc_max64(b, column); c < end; c++) {
                    work->part.scatter[b * n + c] += sum[b - row][c - column];
                }
            }
        }
    }
}

/* First visit: the sum. */
static void visit_sum(Work *work) {
    add_columns(work->panel, work->filled, work->part.bands, work->part.mean);
    work->part.count += work->filled;
    work->filled = 0;
}

/* Second visit: the scatter about the mean. */
static void visit_scatter(Work *work) {
    int n = work->part.bands;
    pack(work->panel, work->part.mean, work->filled, n, work->packed);
    add_groups(work->packed, work->filled, n, work->rest);
    add_products(work, work->filled);
    work->filled = 0;
}

/* Hands the valid pixels of the lines [line, end) to `visit`, PANEL at a time. */
static void each_panel(const Job *job, int64_t line, int64_t end, Work *work, void (*visit)(Work *work)) {
    const HcBlock *in = job->in;
    for (; line < end; line++) {
        hc_cpu_difference_valid(in, job->kind, line, job->window, work->ok);
        for (int32_t s = 0; s < in->samples;) {
            int32_t run = hc_cpu_run(work->ok, s, in->samples);
            run = PANEL - work->filled < run ? PANEL - work->filled : run;
            if (run == 0) {
                s++;
                continue;
            }
            hc_cpu_difference_double(in, job->kind, line, s, run, work->scratch,
                                     work->panel + (int64_t)work->filled * in->bands);
            work->filled += run;
            s += run;
            if (work->filled == PANEL) {
                visit(work);
            }
        }
    }
    if (work->filled > 0) {
        visit(work);
    }
}

/* Mean and scatter of one part. */
static void sum_part(const Job *job, int64_t part, Work *work) {
    const HcBlock *in = job->in;
    size_t n = (size_t)in->bands;
    HcMoments *moments = &work->part;
    int64_t line = hc_max64(part * job->part_lines, in->line0);
    int64_t end = hc_min64((part + 1) * job->part_lines, in->line0 + in->lines);
    moments->count = 0;
    memset(moments->mean, 0, n * sizeof *moments->mean);
    memset(moments->scatter, 0, n * n * sizeof *moments->scatter);
    memset(work->rest, 0, n * sizeof *work->rest);
    each_panel(job, line, end, work, visit_sum);
    if (moments->count == 0) {
        return;
    }
    double count = (double)moments->count;
    for (size_t b = 0; b < n; b++) {
        moments->mean[b] /= count;
    }
    each_panel(job, line, end, work, visit_scatter);
    for (size_t b = 0; b < n; b++) {
        for (size_t c = b; c < n; c++) {
            moments->scatter[b * n + c] -= work->rest[b] * (work->rest[c] / count);
            moments->scatter[c * n + b] = moments->scatter[b * n + c];
        }
    }
    for (size_t b = 0; b < n; b++) {
        moments->mean[b] += work->rest[b] / count;
    }
}

HcStatus hc_cpu_gram_float(const HcBlock *in, HcDifference kind, const HcWindow *window, HcSums *sums,
                           HcError *err) {
    int64_t part_lines = hc_sums_lines(in->samples);
    Job job = {in, kind, window, part_lines, in->line0 / part_lines};
    int64_t parts = (in->line0 + in->lines + part_lines - 1) / part_lines - job.first_part;
    HcStatus first_failure = HC_OK;
#pragma omp parallel num_threads(sums->cpu->threads)
    {
        Work work;
        HcError own = {0};
        HcStatus status = work_init(&work, in, &own);
        if (status != HC_OK) {
#pragma omp critical(hc_cpu_failure)
            first_failure = hc_fail(err, status, "%s", own.text);
        }
#pragma omp barrier
        if (first_failure == HC_OK) {
#pragma omp for ordered schedule(static, 1)
            for (int64_t part = 0; part < parts; part++) {
                sum_part(&job, job.first_part + part, &work);
#pragma omp ordered
                hc_moments_merge(&sums->moments, &work.part);
            }
        }
        work_clear(&work);
    }
    return first_failure;
}
