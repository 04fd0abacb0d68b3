/* Scores of targets with a background for each group of columns: a dot product for each pixel and target, and
 * for COHERENCE the length of the whitened pixel.
 *
 * A dot product waits for memory, so threads take some neighbouring groups line by line: their filters stay
 * in the second cache. Whitening is half of bands^2 multiplications a pixel, by a triangle that fills that
 * cache alone. It is read once for a panel of pixels, four rows by 24 pixels in registers. Sums have a fixed
 * order (core/operation/image/column_scores.h), whatever the vectors of the processor and the other pixels.
 */
#include "core/allocate.h"
#include "core/operation/image/column_scores.h"
#include "cpu/work.h"

#include <math.h>
#include <string.h>

HcColumnScoresFn hc_cpu_column_scores;

/* A thread takes LINES lines of GROUPS groups at once, and SIDE pixels of a group side by side. */
enum { ROWS = HC_WHITENING_ROWS, PANEL = 24, LINES = 48, GROUPS = 16, PARTS = 8, SIDE = 4 };

typedef double Four __attribute__((vector_size(4 * sizeof(double)), aligned(sizeof(double)), may_alias));
typedef float EightFloats __attribute__((vector_size(8 * sizeof(float)), aligned(sizeof(float)), may_alias));
typedef double Eight __attribute__((vector_size(8 * sizeof(double)), aligned(sizeof(double)), may_alias));

typedef struct Job {
    const HcBlock *in, *out;
    const HcColumnScoring *how;
    int64_t groups, runs; /* all groups, and runs of GROUPS of them */
    double *panel;        /* [threads][bands][PANEL] */
} Job;

/* Pixels of a group that are scored together. */
typedef struct Panel {
    int64_t pixel[PANEL];
    int64_t count; /* of them */
    double *x;     /* [bands][PANEL] x - mean, for COHERENCE */
} Panel;

/* The sums of (x - mean) weight of four pixels, whose filter is read once. */
HC_CLONES static void add_shares(const float *const x[SIDE], const double *mean, const double *weight,
                                 int64_t bands, double share[SIDE]) {
    Eight part[SIDE] = {{0}};
    int64_t whole = bands / PARTS * PARTS;
    for (int64_t b = 0; b < whole; b += PARTS) {
        Eight middle = *(const Eight *)(mean + b);
        Eight factor = *(const Eight *)(weight + b);
        for (int p = 0; p < SIDE; p++) {
            Eight value = __builtin_convertvector(*(const EightFloats *)(x[p] + b), Eight);
            part[p] += (value - middle) * factor;
        }
    }
    for (int p = 0; p < SIDE; p++) {
        Eight t = part[p];
        for (int64_t b = whole; b < bands; b++) {
            t[b - whole] += ((double)x[p][b] - mean[b]) * weight[b];
        }
        share[p] = ((t[0] + t[1]) + (t[2] + t[3])) + ((t[4] + t[5]) + (t[6] + t[7]));
    }
}

/* ---- whitening ---- */

/* The squares of ROWS rows for three vectors of pixels, added in the order of the rows. */
#define ADD_SQUARES(Part, first)                                                                             \
    do {                                                                                                     \
        Part t[ROWS][3] = {{{0}}};                                                                           \
        const double *row = rows;                                                                            \
        const Part *x = (const Part *)(pixels + (first));                                                    \
        for (int64_t k = 0; k < count; k++, row += ROWS) {                                                   \
            Part x0 = x[0], x1 = x[1], x2 = x[2];                                                            \
            t[0][0] += row[0] * x0, t[0][1] += row[0] * x1, t[0][2] += row[0] * x2;                          \
            t[1][0] += row[1] * x0, t[1][1] += row[1] * x1, t[1][2] += row[1] * x2;                          \
            t[2][0] += row[2] * x0, t[2][1] += row[2] * x1, t[2][2] += row[2] * x2;                          \
            t[3][0] += row[3] * x0, t[3][1] += row[3] * x1, t[3][2] += row[3] * x2;                          \
            x += PANEL / (sizeof(Part) / sizeof(double));                                                    \
        }                                                                                                    \
        Part *to = (Part *)(square + (first));                                                               \
        for (int r = 0; r < ROWS; r++) {                                                                     \
            to[0] += t[r][0] * t[r][0], to[1] += t[r][1] * t[r][1], to[2] += t[r][2] * t[r][2];              \
        }                                                                                                    \
    } while (0)

HC_NARROW_CLONES static void add_squares_narrow(const double *rows, const double *pixels, int64_t count,
                                                double *square) {
    ADD_SQUARES(Four, 0);
    ADD_SQUARES(Four, PANEL / 2);
}

#ifdef HC_WIDE
HC_WIDE static void add_squares_wide(const double *rows, const double *pixels, int64_t count,
                                     double *square) {
    ADD_SQUARES(Eight, 0);
}
#endif

static void add_squares(const double *rows, const double *pixels, int64_t count, double *square) {
#ifdef HC_WIDE
    if (__builtin_cpu_supports("avx512f")) {
        add_squares_wide(rows, pixels, count, square);
        return;
    }
#endif
    add_squares_narrow(rows, pixels, count, square);
}

/* ---- pixels ---- */

/* SIDE pixels of a panel from `first` on; square: whitened lengths, for COHERENCE. */
static void score_some(const Job *job, int64_t group, const Panel *panel, int64_t first,
                       const double *square) {
    const HcColumnScoring *how = job->how;
    int64_t bands = job->in->bands;
    int64_t targets = job->out->bands;
    int64_t count = hc_min64(SIDE, panel->count - first);
    const double *filter = how->filter + group * (1 + targets) * bands;
    const float *x[SIDE];
    for (int64_t p = 0; p < SIDE; p++) { /* the first pixel stands where there is none */
        x[p] = job->in->data + panel->pixel[first + (p < count ? p : 0)] * bands;
    }
    for (int64_t j = 0; j < targets; j++) {
        double share[SIDE];
        add_shares(x, filter, filter + (j + 1) * bands, bands, share);
        for (int64_t p = 0; p < count; p++) {
            double value = share[p];
            if (how->kind != HC_COLUMN_SHARE) {
                double along = share[p] / how->deviation[group * targets + j];
                value = along * fabs(along);
            }
            if (how->kind == HC_COLUMN_COHERENCE) {
                value = square[first + p] == 0 ? 0 : value / square[first + p];
            }
            job->out->data[panel->pixel[first + p] * targets + j] = (float)value;
        }
    }
}

static void finish_panel(const Job *job, int64_t group, Panel *panel) {
    int64_t bands = job->in->bands;
    double square[PANEL] = {0};
    bool whitens = job->how->kind == HC_COLUMN_COHERENCE && panel->count > 0;
    for (int64_t b = 0; b < bands && whitens && panel->count < PANEL; b++) { /* places without a pixel */
        memset(panel->x + b * PANEL + panel->count, 0, (size_t)(PANEL - panel->count) * sizeof *panel->x);
    }
    for (int64_t quad = 0; quad < hc_whitening_quads(bands) && whitens; quad++) {
        const double *whitening = job->how->whitening + (size_t)group * job->how->stride;
        add_squares(whitening + hc_whitening_offset(quad), panel->x, hc_whitening_width(quad, bands), square);
    }
    for (int64_t p = 0; p < panel->count; p += SIDE) {
        score_some(job, group, panel, p, square);
    }
    panel->count = 0;
}

static void put_pixel(const Job *job, int64_t group, Panel *panel, int64_t pixel) {
    int64_t bands = job->in->bands;
    const float *x = job->in->data + pixel * bands;
    const double *mean = job->how->filter + group * (1 + job->out->bands) * bands;
    for (int64_t b = 0; b < bands && job->how->kind == HC_COLUMN_COHERENCE; b++) {
        panel->x[b * PANEL + panel->count] = (double)x[b] - mean[b];
    }
    panel->pixel[panel->count++] = pixel;
    if (panel->count == PANEL) {
        finish_panel(job, group, panel);
    }
}

/* The pixels of a group in one line. */
static void score_line(const Job *job, int64_t group, int64_t row, Panel *panel) {
    int64_t samples = job->in->samples;
    int64_t targets = job->out->bands;
    int64_t begin = group * job->how->width;
    int64_t end = hc_min64(begin + job->how->width, samples);
    for (int64_t p = row * samples + begin; p < row * samples + end; p++) {
        bool scored = job->in->mask[p] != 0 && job->how->scored[group] != 0;
        job->out->mask[p] = scored;
        if (scored) {
            put_pixel(job, group, panel, p);
        } else {
            memset(job->out->data + p * targets, 0, (size_t)targets * sizeof(float));
        }
    }
}

/* LINES lines of GROUPS groups. Triangles are read once for all lines, filters once for SIDE. */
static void score_unit(const Job *job, int64_t unit, double *memory) {
    int64_t top = unit / job->runs * LINES;
    int64_t bottom = hc_min64(top + LINES, hc_block_rows(job->in));
    int64_t group = unit % job->runs * GROUPS;
    int64_t step = job->how->kind == HC_COLUMN_COHERENCE ? LINES : SIDE;
    Panel panel = {.x = memory};
    for (int64_t first = top; first < bottom; first += step) {
        int64_t end = hc_min64(first + step, bottom);
        for (int64_t g = group; g < hc_min64(group + GROUPS, job->groups); g++) {
            for (int64_t row = first; row < end; row++) {
                score_line(job, g, row, &panel);
            }
            finish_panel(job, g, &panel);
        }
    }
}

static void score_units(void *user, int64_t unit, int64_t end, int32_t thread) {
    const Job *job = user;
    for (; unit < end; unit++) {
        score_unit(job, unit, job->panel + (int64_t)thread * job->in->bands * PANEL);
    }
}

HcStatus hc_cpu_column_scores(HcQueue *queue, const HcBlock *in, const HcColumnScoring *how,
                              const HcBlock *out, HcError *err) {
    HcStatus status = HC_OK;
    HcBlock from = hc_block_rows_of(in, out);
    Job job = {.in = &from, .out = out, .how = how};
    size_t threads = (size_t)queue->cpu->threads;
    job.groups = (in->samples + how->width - 1) / how->width;
    job.runs = (job.groups + GROUPS - 1) / GROUPS;
    if (how->kind == HC_COLUMN_COHERENCE) {
        HC_TRY(hc_new_aligned(job.panel, threads * (size_t)in->bands * PANEL, "panels of pixels", err));
    }
    int64_t units = (hc_block_rows(out) + LINES - 1) / LINES * job.runs;
    hc_cpu_work(queue->cpu, units, hc_cpu_grain(queue->cpu, units), score_units, &job);
done:
    free(job.panel);
    return status;
}
