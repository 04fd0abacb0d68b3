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

static HcStatus take_workspace(const HcLad *lad, HcLadWorkspace *work, HcError *err) {
    size_t rows = (size_t)lad->problem.rows;
    size_t n = (size_t)lad->rule.endmembers;
    size_t width = (size_t)lad->problem.width;
    double **of_rows[] = {&work->pixel, &work->low,   &work->high,     &work->range, &work->weight,
                          &work->used,  &work->moved, &work->residual, &work->side,  &work->speed,
                          &work->place, &work->gain,  &work->slope};
    double **of_width[] = {&work->point,  &work->pull,      &work->price, &work->edge,
                           &work->length, &work->abundance, &work->best};
    size_t vectors = sizeof of_rows / sizeof *of_rows;
    size_t narrow = sizeof of_width / sizeof *of_width;
    size_t count = vectors * rows + (narrow + 3 * n) * width;
    HC_OR_RETURN(hc_new_aligned(work->memory, count, "abundances", err));
    HC_OR_RETURN(hc_new(work->basis, n, "abundances", err));
    HC_OR_RETURN(hc_new(work->counts, hc_lad_counts(&lad->rule), "abundances", err));
    double *at = work->memory;
    memset(at, 0, count * sizeof(double));
    for (size_t i = 0; i < vectors; i++, at += rows) {
        *of_rows[i] = at;
    }
    for (size_t i = 0; i < narrow; i++, at += width) {
        *of_width[i] = at;
    }
    work->inverse = at;
    work->square = work->inverse + n * width;
    for (size_t i = 0; i < rows; i++) {
        work->pixel[i] = lad->problem.right[i];
        work->low[i] = lad->problem.low[i];
        work->high[i] = lad->problem.high[i];
        work->range[i] = work->high[i] - work->low[i];
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
    HC_TRY(hc_new(lad->work, lad->threads, "abundances", err));
    for (int t = 0; t < lad->threads; t++) {
        HC_TRY(take_workspace(lad, &lad->work[t], err));
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
    for (int t = 0; lad->work != NULL && t < lad->threads; t++) {
        free(lad->work[t].memory);
        free(lad->work[t].basis);
        free(lad->work[t].counts);
    }
    free(lad->work);
    free(lad->column);
    hc_lad_problem_clear(&lad->problem);
    free(lad);
}

/* Bands that are missing have the weight 0. */
static void lay_pixel(const HcLad *lad, const float *from, HcLadWorkspace *work) {
    int32_t bands = lad->rule.bands;
    double sum = 0;
    work->finite = 0;
    for (int32_t b = 0; b < bands; b++) {
        bool finite = isfinite(from[b]);
        work->pixel[b] = finite ? (double)from[b] : 0;
        work->used[b] = finite ? 1 : 0;
        work->weight[b] = finite ? lad->problem.high[b] : 0;
        work->high[b] = work->weight[b];
        work->low[b] = -work->weight[b];
        work->range[b] = 2 * work->weight[b];
        work->finite += finite;
        sum += fabs(work->pixel[b]);
    }
    work->size = work->finite > 0 ? sum / work->finite : 0;
    if (lad->rule.sum != HC_SUM_FREE) {
        work->size += lad->problem.right[hc_lad_sum_row(&lad->problem)];
    } else if (work->size == 0) {
        work->size = 1;
    }
}

static HcLpEnd end_of(const HcLadWorkspace *work) {
    return work->report.error <= HC_LAD_PROOF ? HC_LP_OPTIMAL : HC_LP_UNFINISHED;
}

static void write_pixel(const HcLadRule *rule, const HcLadWorkspace *work, float *to) {
    for (int32_t k = 0; k < rule->endmembers; k++) {
        *to++ = (float)work->abundance[k];
    }
    const double added[HC_LAD_ADDS] = {
        [HC_LAD_ADD_RESIDUAL] = work->report.deviation, [HC_LAD_ADD_END] = end_of(work),
        [HC_LAD_ADD_PIVOTS] = (double)work->pivots,     [HC_LAD_ADD_OBJECTIVE] = work->report.primal,
        [HC_LAD_ADD_DUAL] = work->report.dual,          [HC_LAD_ADD_ERROR] = work->report.error};
    for (int a = 0; a < HC_LAD_ADDS; a++) {
        if (rule->add[a]) {
            *to++ = (float)added[a];
        }
    }
}

static void count_pixel(const HcLadRule *rule, HcLadWorkspace *work) {
    int64_t *pixels = work->counts + HC_LAD_COUNTS;
    int64_t *sums = pixels + rule->endmembers;
    int64_t *largest = work->counts + HC_LAD_COUNT_ERROR;
    int64_t bits;
    memcpy(&bits, &work->report.error, sizeof bits); /* errors are not negative: they order as doubles do */
    work->counts[HC_LAD_COUNT_PIXELS]++;
    work->counts[HC_LAD_COUNT_UNFINISHED] += end_of(work) != HC_LP_OPTIMAL;
    work->counts[HC_LAD_COUNT_PIVOTS] += work->pivots;
    *largest = hc_max64(*largest, bits);
    for (int32_t k = 0; k < rule->endmembers; k++) {
        double value = (double)(float)work->abundance[k];
        if (value != 0) {
            pixels[k]++;
            sums[k] += llrint(fmin(value, 0x1p16) / HC_UNMIX_COUNT_UNIT);
        }
    }
}

static void solve_run(const HcLad *lad, const HcBlock *in, const HcBlock *out, int64_t row, int64_t sample,
                      HcLadWorkspace *work) {
    int64_t samples = hc_min64(HC_LAD_RUN, out->samples - sample);
    int64_t line = hc_block_first_line(out) + row;
    bool counted = row >= out->above && row < (int64_t)out->above + out->lines;
    const float *from = hc_cpu_line(in, line) + sample * in->bands;
    const uint8_t *valid = hc_cpu_mask_line(in, line) + sample;
    float *to = out->data + (row * out->samples + sample) * out->bands;
    memcpy(out->mask + row * out->samples + sample, valid, (size_t)samples);
    memset(to, 0, (size_t)(samples * out->bands) * sizeof *to);
    work->warm = false;
    for (int64_t s = 0; s < samples; s++) {
        if (valid[s] != 0) {
            lay_pixel(lad, from + s * in->bands, work);
            if (work->finite == 0) {
                out->mask[row * out->samples + sample + s] = 0;
                continue;
            }
            hc_lad_solve(lad, work);
            write_pixel(&lad->rule, work, to + s * out->bands);
            if (counted) {
                count_pixel(&lad->rule, work);
            }
        }
    }
}

static void add_counts(const HcLad *lad) {
    int64_t *counts = lad->rule.counts;
    size_t count = hc_lad_counts(&lad->rule);
    for (int t = 0; t < lad->threads; t++) {
        const int64_t *own = lad->work[t].counts;
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
                  &job->lad->work[thread]);
    }
}

HcStatus hc_cpu_lad(HcQueue *queue, const HcBlock *in, HcLad *lad, const HcBlock *out, HcError *err) {
    (void)err;
    Solving job = {lad, in, out, (out->samples + HC_LAD_RUN - 1) / HC_LAD_RUN};
    for (int t = 0; t < lad->threads; t++) {
        memset(lad->work[t].counts, 0, hc_lad_counts(&lad->rule) * sizeof(int64_t));
    }
    hc_cpu_work(queue->cpu, hc_block_rows(out) * job.runs, 1, solve_runs, &job);
    if (lad->rule.counts != NULL) {
        add_counts(lad);
    }
    return HC_OK;
}
