/* Abundances of least absolute deviation: what all pixels share, and the pixels of a block. */
#include "cpu/lp/lad.h"
#include "core/allocate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static HcStatus take_columns(HcLad *lad, HcError *err) {
    const HcLadProblem *problem = &lad->problem;
    size_t count = (size_t)problem->endmembers * (size_t)problem->rows;
    HC_OR_RETURN(hc_new_aligned(lad->column, count, "endmembers", err));
    for (int64_t k = 0; k < problem->endmembers; k++) {
        for (int64_t i = 0; i < problem->rows; i++) {
            lad->column[k * problem->rows + i] = problem->row[i * problem->width + k];
        }
    }
    return HC_OK;
}

static HcStatus take_desk(const HcLad *lad, HcLadDesk *desk, HcError *err) {
    size_t rows = (size_t)lad->problem.rows;
    size_t n = (size_t)lad->rule.endmembers;
    size_t width = (size_t)lad->problem.width;
    double **of_rows[] = {&desk->pixel, &desk->low,   &desk->high,     &desk->range, &desk->weight,
                          &desk->used,  &desk->moved, &desk->residual, &desk->side,  &desk->speed,
                          &desk->place, &desk->gain,  &desk->slope};
    double **of_width[] = {&desk->point,  &desk->pull,      &desk->price, &desk->edge,
                           &desk->length, &desk->abundance, &desk->best};
    size_t vectors = sizeof of_rows / sizeof *of_rows;
    size_t narrow = sizeof of_width / sizeof *of_width;
    size_t count = vectors * rows + (narrow + 3 * n) * width;
    HC_OR_RETURN(hc_new_aligned(desk->memory, count, "abundances", err));
    HC_OR_RETURN(hc_new(desk->basis, n, "abundances", err));
    HC_OR_RETURN(hc_new(desk->counts, hc_lad_counts(&lad->rule), "abundances", err));
    double *at = desk->memory;
    memset(at, 0, count * sizeof(double));
    for (size_t i = 0; i < vectors; i++, at += rows) {
        *of_rows[i] = at;
    }
    for (size_t i = 0; i < narrow; i++, at += width) {
        *of_width[i] = at;
    }
    desk->inverse = at;
    desk->square = desk->inverse + n * width;
    for (size_t i = 0; i < rows; i++) {
        desk->pixel[i] = lad->problem.right[i];
        desk->low[i] = lad->problem.low[i];
        desk->high[i] = lad->problem.high[i];
        desk->range[i] = desk->high[i] - desk->low[i];
    }
    return HC_OK;
}

HcStatus hc_cpu_lad_open(HcCompute *compute, const HcLadRule *rule, HcLad **out, HcError *err) {
    HcStatus status = HC_OK;
    HcLad *lad = NULL;
    *out = NULL;
    HC_OR_RETURN(hc_new(lad, 1, "abundances", err));
    lad->rule = *rule;
    lad->threads = ((const HcCpu *)compute)->threads;
    HC_TRY(hc_lad_problem_make(rule, HC_LAD_LANES, &lad->problem, err));
    HC_TRY(take_columns(lad, err));
    HC_TRY(hc_new(lad->desk, lad->threads, "abundances", err));
    for (int t = 0; t < lad->threads; t++) {
        HC_TRY(take_desk(lad, &lad->desk[t], err));
    }
    *out = lad;
done:
    if (status != HC_OK) {
        hc_cpu_lad_close(lad);
    }
    return status;
}

void hc_cpu_lad_close(HcLad *lad) {
    if (lad == NULL) {
        return;
    }
    for (int t = 0; lad->desk != NULL && t < lad->threads; t++) {
        free(lad->desk[t].memory);
        free(lad->desk[t].basis);
        free(lad->desk[t].counts);
    }
    free(lad->desk);
    free(lad->column);
    hc_lad_problem_clear(&lad->problem);
    free(lad);
}

/* Bands that are missing have the weight 0. */
static void lay_pixel(const HcLad *lad, const float *from, HcLadDesk *desk) {
    int32_t bands = lad->rule.bands;
    double sum = 0;
    desk->finite = 0;
    for (int32_t b = 0; b < bands; b++) {
        bool finite = isfinite(from[b]);
        desk->pixel[b] = finite ? (double)from[b] : 0;
        desk->used[b] = finite ? 1 : 0;
        desk->weight[b] = finite ? lad->problem.high[b] : 0;
        desk->high[b] = desk->weight[b];
        desk->low[b] = -desk->weight[b];
        desk->range[b] = 2 * desk->weight[b];
        desk->finite += finite;
        sum += fabs(desk->pixel[b]);
    }
    desk->size = desk->finite > 0 ? sum / desk->finite : 0;
    if (lad->rule.sum != HC_SUM_FREE) {
        desk->size += lad->problem.right[hc_lad_sum_row(&lad->problem)];
    } else if (desk->size == 0) {
        desk->size = 1;
    }
}

static HcLpEnd end_of(const HcLadDesk *desk) {
    return desk->report.error <= HC_LAD_PROOF ? HC_LP_OPTIMAL : HC_LP_UNFINISHED;
}

static void write_pixel(const HcLadRule *rule, const HcLadDesk *desk, float *to) {
    for (int32_t k = 0; k < rule->endmembers; k++) {
        *to++ = (float)desk->abundance[k];
    }
    const double added[HC_LAD_ADDS] = {
        [HC_LAD_ADD_RESIDUAL] = desk->report.deviation, [HC_LAD_ADD_END] = end_of(desk),
        [HC_LAD_ADD_PIVOTS] = (double)desk->pivots,     [HC_LAD_ADD_OBJECTIVE] = desk->report.primal,
        [HC_LAD_ADD_DUAL] = desk->report.dual,          [HC_LAD_ADD_ERROR] = desk->report.error};
    for (int a = 0; a < HC_LAD_ADDS; a++) {
        if (rule->add[a]) {
            *to++ = (float)added[a];
        }
    }
}

static void count_pixel(const HcLadRule *rule, HcLadDesk *desk) {
    int64_t *pixels = desk->counts + HC_LAD_COUNTS;
    int64_t *sums = pixels + rule->endmembers;
    int64_t *largest = desk->counts + HC_LAD_COUNT_ERROR;
    int64_t bits;
    memcpy(&bits, &desk->report.error, sizeof bits); /* errors are not negative: they order as doubles do */
    desk->counts[HC_LAD_COUNT_PIXELS]++;
    desk->counts[HC_LAD_COUNT_UNFINISHED] += end_of(desk) != HC_LP_OPTIMAL;
    desk->counts[HC_LAD_COUNT_PIVOTS] += desk->pivots;
    *largest = hc_max64(*largest, bits);
    for (int32_t k = 0; k < rule->endmembers; k++) {
        double value = (double)(float)desk->abundance[k];
        if (value != 0) {
            pixels[k]++;
            sums[k] += llrint(fmin(value, 0x1p16) / HC_UNMIX_COUNT_UNIT);
        }
    }
}

static void solve_run(const HcLad *lad, const HcBlock *in, const HcBlock *out, int64_t row, int64_t sample,
                      HcLadDesk *desk) {
    int64_t samples = hc_min64(HC_LAD_RUN, out->samples - sample);
    int64_t line = hc_block_first_line(out) + row;
    bool counted = row >= out->above && row < (int64_t)out->above + out->lines;
    const float *from = hc_cpu_line(in, line) + sample * in->bands;
    const uint8_t *valid = hc_cpu_mask_line(in, line) + sample;
    float *to = out->data + (row * out->samples + sample) * out->bands;
    memcpy(out->mask + row * out->samples + sample, valid, (size_t)samples);
    memset(to, 0, (size_t)(samples * out->bands) * sizeof *to);
    desk->warm = false;
    for (int64_t s = 0; s < samples; s++) {
        if (valid[s] != 0) {
            lay_pixel(lad, from + s * in->bands, desk);
            if (desk->finite == 0) {
                out->mask[row * out->samples + sample + s] = 0;
                continue;
            }
            hc_lad_solve(lad, desk);
            write_pixel(&lad->rule, desk, to + s * out->bands);
            if (counted) {
                count_pixel(&lad->rule, desk);
            }
        }
    }
}

static void add_counts(const HcLad *lad) {
    int64_t *counts = lad->rule.counts;
    size_t count = hc_lad_counts(&lad->rule);
    for (int t = 0; t < lad->threads; t++) {
        const int64_t *own = lad->desk[t].counts;
        for (size_t i = 0; i < count; i++) {
            counts[i] = i == HC_LAD_COUNT_ERROR ? hc_max64(counts[i], own[i]) : counts[i] + own[i];
        }
    }
}

typedef struct Solving {
    const HcLad *lad;
    const HcBlock *in, *out;
    int64_t runs; /* of a line */
} Solving;

static void solve_runs(void *user, int64_t first, int64_t end, int32_t thread) {
    const Solving *job = user;
    for (int64_t unit = first; unit < end; unit++) {
        solve_run(job->lad, job->in, job->out, unit / job->runs, unit % job->runs * HC_LAD_RUN,
                  &job->lad->desk[thread]);
    }
}

HcStatus hc_cpu_lad(HcQueue *queue, const HcBlock *in, HcLad *lad, const HcBlock *out, HcError *err) {
    (void)err;
    Solving job = {lad, in, out, (out->samples + HC_LAD_RUN - 1) / HC_LAD_RUN};
    for (int t = 0; t < lad->threads; t++) {
        memset(lad->desk[t].counts, 0, hc_lad_counts(&lad->rule) * sizeof(int64_t));
    }
    hc_cpu_work(queue->cpu, hc_block_rows(out) * job.runs, 1, solve_runs, &job);
    if (lad->rule.counts != NULL) {
        add_counts(lad);
    }
    return HC_OK;
}
