/* SSIM of each band: Wang, Bovik, Sheikh and Simoncelli 2004, with their window (11 x 11, Gaussian of 1.5
 * pixels, weights of sum 1) and constants (0.01 and 0.03). Only whole windows without a masked pixel count,
 * so that no value is invented at borders.
 *
 * The window is a product of a column and a row. For a line, a group of bands is first averaged over 11 lines
 * in every sample, then over 11 samples. Averages of squares are taken of values less a band's value in the
 * first pixel of the window's line, since variances would otherwise lose digits of large values. */
#include "core/allocate.h"
#include "pipeline/compare/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 2 * HC_SSIM_REACH + 1, GROUP = 16, MOMENTS = 5 };

/* Averages of a group of bands over a column of the window: x, y, x^2, y^2, x y. */
typedef struct Column {
    double moment[MOMENTS][GROUP];
} Column;

typedef struct Thread {
    Column *column; /* [samples] */
    int32_t *run;   /* [samples] whole columns that end here */
} Thread;

typedef struct Work {
    const HcPair *pair;
    const HcBandFigures *figures;
    double weight[SIDE];
    Thread *thread;
    double *sum;      /* [lines][bands] */
    int64_t *windows; /* [lines] */
} Work;

size_t hc_compare_ssim_bytes(int32_t samples, int32_t bands, size_t *fixed) {
    *fixed = (size_t)samples * (sizeof(Column) + sizeof(int32_t));
    return sizeof(int64_t) + (size_t)bands * sizeof(double);
}

static bool whole_column(const Work *work, int64_t row, int32_t sample) {
    const HcBlock *of = &work->pair->block[0], *to = &work->pair->block[1];
    bool whole = true;
    for (int64_t r = row; r < row + SIDE; r++) {
        size_t pixel = (size_t)r * (size_t)of->samples + (size_t)sample;
        whole = whole && of->mask[pixel] && to->mask[pixel];
    }
    return whole;
}

/* Averages over 11 lines, of values less `base`. */
static void average_column(const Work *work, int64_t row, int32_t sample, int32_t first, int32_t count,
                           const double base[GROUP], Column *to) {
    const HcBlock *of = &work->pair->block[0], *truth = &work->pair->block[1];
    memset(to, 0, sizeof *to);
    for (int r = 0; r < SIDE; r++) {
        size_t pixel = (size_t)(row + r) * (size_t)of->samples + (size_t)sample;
        const float *x = of->data + pixel * (size_t)of->bands + first;
        const float *y = truth->data + pixel * (size_t)truth->bands + first;
        const double w = work->weight[r];
        for (int32_t b = 0; b < count; b++) {
            double u = (double)x[b] - base[b], v = (double)y[b] - base[b];
            to->moment[0][b] += w * u;
            to->moment[1][b] += w * v;
            to->moment[2][b] += w * (u * u);
            to->moment[3][b] += w * (v * v);
            to->moment[4][b] += w * (u * v);
        }
    }
}

/* The index of the window whose last column is `last`, added for each band. */
static void add_window(const Work *work, const Column *last, int32_t first, int32_t count,
                       const double base[GROUP], double *sum) {
    Column mean;
    memset(&mean, 0, sizeof mean);
    for (int c = 0; c < SIDE; c++) {
        const Column *from = last - (SIDE - 1) + c;
        for (int m = 0; m < MOMENTS; m++) {
            for (int32_t b = 0; b < count; b++) {
                mean.moment[m][b] += work->weight[c] * from->moment[m][b];
            }
        }
    }
    for (int32_t b = 0; b < count; b++) {
        double peak = work->figures[first + b].peak;
        double c1 = 0.01 * peak * 0.01 * peak, c2 = 0.03 * peak * 0.03 * peak;
        double u = mean.moment[0][b], v = mean.moment[1][b];
        double uu = mean.moment[2][b] - u * u, vv = mean.moment[3][b] - v * v, uv = mean.moment[4][b] - u * v;
        double mx = u + base[b], my = v + base[b];
        double above = (2 * mx * my + c1) * (2 * uv + c2);
        double below = (mx * mx + my * my + c1) * (uu + vv + c2);
        /* A truth without a range has no constants: windows are equal, and the moments then 0, or not. */
        bool equal = mean.moment[2][b] == 0 && mean.moment[3][b] == 0;
        sum[first + b] += peak == 0 ? equal : above / below;
    }
}

static void add_line(void *user, int64_t row, int32_t number) {
    const Work *work = user;
    const HcBlock *truth = &work->pair->block[1];
    const int32_t bands = truth->bands, samples = truth->samples;
    const Thread *thread = &work->thread[number];
    double *sum = work->sum + (size_t)row * (size_t)bands;
    int64_t windows = 0;
    memset(sum, 0, (size_t)bands * sizeof *sum);
    for (int32_t s = 0; s < samples; s++) {
        int32_t before = s > 0 ? thread->run[s - 1] : 0;
        thread->run[s] = whole_column(work, row, s) ? before + 1 : 0;
        windows += thread->run[s] >= SIDE;
    }
    work->windows[row] = windows;
    for (int32_t first = 0; first < bands && windows > 0; first += GROUP) {
        int32_t count = bands - first < GROUP ? bands - first : GROUP;
        double base[GROUP] = {0};
        for (int32_t s = 0; s < samples; s++) {
            if (thread->run[s] == 0) {
                continue;
            }
            if (thread->run[s] == 1) {
                size_t pixel = (size_t)row * (size_t)samples + (size_t)s;
                for (int32_t b = 0; b < count; b++) {
                    base[b] = (double)truth->data[pixel * (size_t)bands + (size_t)(first + b)];
                }
            }
            average_column(work, row, s, first, count, base, &thread->column[s]);
            if (thread->run[s] >= SIDE) {
                add_window(work, &thread->column[s], first, count, base, sum);
            }
        }
    }
}

static void fill_weights(double weight[SIDE]) {
    double sum = 0;
    for (int i = 0; i < SIDE; i++) {
        double at = i - HC_SSIM_REACH;
        weight[i] = exp(-at * at / (2 * 1.5 * 1.5));
        sum += weight[i];
    }
    for (int i = 0; i < SIDE; i++) {
        weight[i] /= sum;
    }
}

static HcStatus open_threads(const HcPair *pair, Work *work, HcError *err) {
    int32_t count = hc_team_threads(pair->team);
    HC_OR_RETURN(hc_new(work->thread, (size_t)count, "SSIM", err));
    for (int32_t t = 0; t < count; t++) {
        HC_OR_RETURN(hc_new(work->thread[t].column, (size_t)pair->samples, "SSIM", err));
        HC_OR_RETURN(hc_new(work->thread[t].run, (size_t)pair->samples, "SSIM", err));
    }
    return HC_OK;
}

static void close_threads(const HcPair *pair, Work *work) {
    for (int32_t t = 0; work->thread != NULL && t < hc_team_threads(pair->team); t++) {
        free(work->thread[t].column);
        free(work->thread[t].run);
    }
    free(work->thread);
}

HcStatus hc_compare_ssim(HcPair *pair, HcComparison *out, HcError *err) {
    HcStatus status = HC_OK;
    HcValueFigures *to = &out->values;
    Work work = {.pair = pair, .figures = to->band};
    size_t bands = (size_t)to->bands;
    double *sum = NULL;
    fill_weights(work.weight);
    HC_TRY(hc_new(sum, bands, "SSIM", err));
    HC_TRY(hc_new(work.sum, (size_t)pair->lines_most * bands, "SSIM", err));
    HC_TRY(hc_new(work.windows, (size_t)pair->lines_most, "SSIM", err));
    HC_TRY(open_threads(pair, &work, err));
    /* Each step does the windows whose first line is in it. */
    for (int64_t line = 0; line + SIDE <= pair->lines;) {
        int32_t lines = (int32_t)hc_min64(pair->lines_most, pair->lines - line);
        int32_t rows = lines - (SIDE - 1);
        HC_TRY(hc_pair_load(pair, line, lines, err));
        hc_team_run(pair->team, rows, add_line, &work);
        for (int32_t row = 0; row < rows; row++) {
            to->windows += work.windows[row];
            for (size_t b = 0; b < bands; b++) {
                sum[b] += work.sum[(size_t)row * bands + b];
            }
        }
        line += rows;
    }
    HC_TRY(hc_pair_unchanged(pair, err));
    if (to->windows > 0) {
        to->ssim = 0;
        for (size_t b = 0; b < bands; b++) {
            to->band[b].ssim = sum[b] / (double)to->windows;
            to->ssim += to->band[b].ssim;
        }
        to->ssim /= (double)to->bands;
    }
done:
    close_threads(pair, &work);
    free(sum);
    free(work.sum);
    free(work.windows);
    return status;
}
