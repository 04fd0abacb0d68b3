/* Abundances of least absolute deviation: what all pixels share, and the pixels of a block. */
#include "cpu/lp/simplex_batched.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

static HcStatus take_columns(HcAbundances *abundances, HcError *err) {
    const HcAbundanceProblem *problem = &abundances->problem;
    size_t bytes = (size_t)problem->endmembers * (size_t)problem->rows * sizeof(double);
    abundances->column = aligned_alloc(64, bytes);
    if (abundances->column == NULL) {
        return hc_fail_memory(err, (double)bytes, "endmembers");
    }
    for (int64_t k = 0; k < problem->endmembers; k++) {
        for (int64_t i = 0; i < problem->rows; i++) {
            abundances->column[k * problem->rows + i] = problem->row[i * problem->width + k];
        }
    }
    return HC_OK;
}

static HcStatus take_desk(const HcAbundances *abundances, HcAbundanceDesk *desk, HcError *err) {
    size_t rows = (size_t)abundances->problem.rows;
    size_t n = (size_t)abundances->rule.endmembers;
    size_t width = (size_t)abundances->problem.width;
    double **of_rows[] = {&desk->pixel, &desk->low,   &desk->high,     &desk->range, &desk->weight,
                          &desk->used,  &desk->moved, &desk->residual, &desk->side,  &desk->speed,
                          &desk->place, &desk->gain,  &desk->slope};
    double **of_width[] = {&desk->point,  &desk->pull,      &desk->price, &desk->edge,
                           &desk->length, &desk->abundance, &desk->best};
    size_t vectors = sizeof of_rows / sizeof *of_rows;
    size_t narrow = sizeof of_width / sizeof *of_width;
    size_t count = vectors * rows + (narrow + 3 * n) * width;
    double *at = aligned_alloc(64, count * sizeof(double));
    desk->memory = at;
    desk->basis = calloc(n, sizeof *desk->basis);
    desk->counts = calloc(hc_abundance_counts(&abundances->rule), sizeof *desk->counts);
    if (at == NULL || desk->basis == NULL || desk->counts == NULL) {
        return hc_fail_memory(err, (double)count * sizeof(double), "abundances");
    }
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
        desk->pixel[i] = abundances->problem.right[i];
        desk->low[i] = abundances->problem.low[i];
        desk->high[i] = abundances->problem.high[i];
        desk->range[i] = desk->high[i] - desk->low[i];
    }
    return HC_OK;
}

HcStatus hc_cpu_abundances_open(HcCompute *compute, const HcAbundanceRule *rule, HcAbundances **out,
                                HcError *err) {
    HcStatus status = HC_OK;
    HcAbundances *abundances = NULL;
    *out = NULL;
    abundances = calloc(1, sizeof *abundances);
    if (abundances == NULL) {
        return hc_fail_memory(err, sizeof *abundances, "abundances");
    }
    abundances->rule = *rule;
    abundances->threads = ((const HcCpu *)compute)->threads;
    HC_TRY(hc_abundance_problem_make(rule, HC_ABUNDANCE_LANES, &abundances->problem, err));
    HC_TRY(take_columns(abundances, err));
    abundances->desk = calloc((size_t)abundances->threads, sizeof *abundances->desk);
    if (abundances->desk == NULL) {
        HC_TRY(hc_fail_memory(err, (double)abundances->threads * sizeof *abundances->desk, "abundances"));
    }
    for (int t = 0; t < abundances->threads; t++) {
        HC_TRY(take_desk(abundances, &abundances->desk[t], err));
    }
    *out = abundances;
done:
    if (status != HC_OK) {
        hc_cpu_abundances_close(abundances);
    }
    return status;
}

void hc_cpu_abundances_close(HcAbundances *abundances) {
    if (abundances == NULL) {
        return;
    }
    for (int t = 0; abundances->desk != NULL && t < abundances->threads; t++) {
        free(abundances->desk[t].memory);
        free(abundances->desk[t].basis);
        free(abundances->desk[t].counts);
    }
    free(abundances->desk);
    free(abundances->column);
    hc_abundance_problem_clear(&abundances->problem);
    free(abundances);
}

/* Bands that are missing have the weight 0. */
static void lay_pixel(const HcAbundances *abundances, const float *from, HcAbundanceDesk *desk) {
    int32_t bands = abundances->rule.bands;
    double sum = 0;
    desk->finite = 0;
    for (int32_t b = 0; b < bands; b++) {
        bool finite = isfinite(from[b]);
        desk->pixel[b] = finite ? (double)from[b] : 0;
        desk->used[b] = finite ? 1 : 0;
        desk->weight[b] = finite ? abundances->problem.high[b] : 0;
        desk->high[b] = desk->weight[b];
        desk->low[b] = -desk->weight[b];
        desk->range[b] = 2 * desk->weight[b];
        desk->finite += finite;
        sum += fabs(desk->pixel[b]);
    }
    desk->size = desk->finite > 0 ? sum / desk->finite : 0;
    if (abundances->rule.sum != HC_SUM_FREE) {
        desk->size += abundances->problem.right[hc_abundance_sum_row(&abundances->problem)];
    } else if (desk->size == 0) {
        desk->size = 1;
    }
}

static HcLpEnd end_of(const HcAbundanceDesk *desk) {
    return desk->report.error <= HC_ABUNDANCE_PROOF ? HC_LP_OPTIMAL : HC_LP_UNFINISHED;
}

static void write_pixel(const HcAbundanceRule *rule, const HcAbundanceDesk *desk, float *to) {
    for (int32_t k = 0; k < rule->endmembers; k++) {
        *to++ = (float)desk->abundance[k];
    }
    const double added[HC_ABUNDANCE_ADDS] = {[HC_ABUNDANCE_ADD_RESIDUAL] = desk->report.deviation,
                                             [HC_ABUNDANCE_ADD_END] = end_of(desk),
                                             [HC_ABUNDANCE_ADD_PIVOTS] = (double)desk->pivots,
                                             [HC_ABUNDANCE_ADD_OBJECTIVE] = desk->report.primal,
                                             [HC_ABUNDANCE_ADD_DUAL] = desk->report.dual,
                                             [HC_ABUNDANCE_ADD_ERROR] = desk->report.error};
    for (int a = 0; a < HC_ABUNDANCE_ADDS; a++) {
        if (rule->add[a]) {
            *to++ = (float)added[a];
        }
    }
}

static void count_pixel(const HcAbundanceRule *rule, HcAbundanceDesk *desk) {
    int64_t *pixels = desk->counts + HC_ABUNDANCE_COUNTS;
    int64_t *sums = pixels + rule->endmembers;
    int64_t *largest = desk->counts + HC_ABUNDANCE_COUNT_ERROR;
    int64_t bits;
    memcpy(&bits, &desk->report.error, sizeof bits); /* errors are not negative: they order as doubles do */
    desk->counts[HC_ABUNDANCE_COUNT_PIXELS]++;
    desk->counts[HC_ABUNDANCE_COUNT_UNFINISHED] += end_of(desk) != HC_LP_OPTIMAL;
    desk->counts[HC_ABUNDANCE_COUNT_PIVOTS] += desk->pivots;
    *largest = hc_max64(*largest, bits);
    for (int32_t k = 0; k < rule->endmembers; k++) {
        double value = (double)(float)desk->abundance[k];
        if (value != 0) {
            pixels[k]++;
            sums[k] += llrint(fmin(value, 0x1p16) / HC_UNMIX_COUNT_UNIT);
        }
    }
}

static void solve_run(const HcAbundances *abundances, const HcBlock *in, const HcBlock *out, int64_t row,
                      int64_t sample, HcAbundanceDesk *desk) {
    int64_t samples = hc_min64(HC_ABUNDANCE_RUN, out->samples - sample);
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
            lay_pixel(abundances, from + s * in->bands, desk);
            if (desk->finite == 0) {
                out->mask[row * out->samples + sample + s] = 0;
                continue;
            }
            hc_abundance_solve(abundances, desk);
            write_pixel(&abundances->rule, desk, to + s * out->bands);
            if (counted) {
                count_pixel(&abundances->rule, desk);
            }
        }
    }
}

static void add_counts(const HcAbundances *abundances) {
    int64_t *counts = abundances->rule.counts;
    size_t count = hc_abundance_counts(&abundances->rule);
    for (int t = 0; t < abundances->threads; t++) {
        const int64_t *own = abundances->desk[t].counts;
        for (size_t i = 0; i < count; i++) {
            counts[i] = i == HC_ABUNDANCE_COUNT_ERROR ? hc_max64(counts[i], own[i]) : counts[i] + own[i];
        }
    }
}

HcStatus hc_cpu_simplex_batched(HcQueue *queue, const HcBlock *in, HcAbundances *abundances,
                                const HcBlock *out, HcError *err) {
    (void)queue;
    (void)err;
    int64_t runs = (out->samples + HC_ABUNDANCE_RUN - 1) / HC_ABUNDANCE_RUN;
    int64_t units = hc_block_rows(out) * runs;
    for (int t = 0; t < abundances->threads; t++) {
        memset(abundances->desk[t].counts, 0, hc_abundance_counts(&abundances->rule) * sizeof(int64_t));
    }
#pragma omp parallel for num_threads(abundances->threads) schedule(dynamic)
    for (int64_t unit = 0; unit < units; unit++) {
        solve_run(abundances, in, out, unit / runs, unit % runs * HC_ABUNDANCE_RUN,
                  &abundances->desk[omp_get_thread_num()]);
    }
    if (abundances->rule.counts != NULL) {
        add_counts(abundances);
    }
    return HC_OK;
}
