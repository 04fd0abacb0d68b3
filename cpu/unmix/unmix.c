/* Sparse unmixing: panels of pixels go to a solver, and their abundances to the output. */
#include "cpu/unmix/unmix.h"
#include "core/allocate.h"
#include "cpu/work.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    size_t (*scratch)(const HcUnmixing *unmixing);
    void (*solve)(const HcUnmixing *unmixing, HcUnmixPanel *panel);
} solvers[] = {
    [HC_UNMIX_ACTIVE] = {hc_unmix_active_scratch, hc_unmix_active},
    [HC_UNMIX_FISTA] = {hc_unmix_fista_scratch, hc_unmix_fista},
    [HC_UNMIX_ALM] = {hc_unmix_alm_scratch, hc_unmix_alm},
};

static HcStatus take_panels(HcUnmixing *unmixing, HcError *err) {
    size_t bands = (size_t)unmixing->rule.bands;
    size_t spectra = (size_t)unmixing->rule.spectra;
    size_t each =
        HC_UNMIX_PANEL * (2 * bands + 3 * spectra) + solvers[unmixing->rule.solver].scratch(unmixing);
    HC_OR_RETURN(hc_new(unmixing->panel, unmixing->threads, "unmixing", err));
    for (int t = 0; t < unmixing->threads; t++) {
        HcUnmixPanel *panel = &unmixing->panel[t];
        HC_OR_RETURN(hc_new_aligned(panel->pixel, each, "unmixing", err));
        HC_OR_RETURN(hc_new(panel->counts, hc_unmix_counts(&unmixing->rule), "counts of abundances", err));
        panel->weighted = panel->pixel + HC_UNMIX_PANEL * bands;
        panel->product = panel->weighted + HC_UNMIX_PANEL * bands;
        panel->abundance = panel->product + HC_UNMIX_PANEL * spectra;
        panel->slope = panel->abundance + HC_UNMIX_PANEL * spectra;
        panel->scratch = panel->slope + HC_UNMIX_PANEL * spectra;
    }
    return HC_OK;
}

static HcStatus take_library(HcUnmixing *unmixing, HcError *err) {
    size_t bands = (size_t)unmixing->rule.bands;
    size_t spectra = (size_t)unmixing->rule.spectra;
    HC_OR_RETURN(hc_new(unmixing->spectrum, spectra * bands, "a library to unmix with", err));
    HC_OR_RETURN(hc_new(unmixing->weight, bands, "a library to unmix with", err));
    HC_OR_RETURN(hc_new(unmixing->gram, spectra * spectra, "a library to unmix with", err));
    HC_OR_RETURN(hc_new(unmixing->price, spectra, "a library to unmix with", err));
    return hc_new(unmixing->rise, spectra, "a library to unmix with", err);
}

/* gram = D W D' + shift. */
static HcStatus form_gram(HcUnmixing *unmixing, HcError *err) {
    int32_t bands = unmixing->rule.bands;
    int32_t spectra = unmixing->rule.spectra;
    int64_t entries = (int64_t)spectra * spectra;
    double *weighted = NULL;
    HC_OR_RETURN(hc_new(weighted, (size_t)spectra * (size_t)bands, "a weighted library", err));
    for (int64_t i = 0; i < (int64_t)spectra * bands; i++) {
        weighted[i] = unmixing->spectrum[i] * unmixing->weight[i % bands];
    }
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, spectra, spectra, bands, 1.0, weighted, bands,
                unmixing->spectrum, bands, 0.0, unmixing->gram, spectra);
    free(weighted);
    for (int64_t i = 0; i < spectra; i++) {
        for (int64_t j = 0; j < i; j++) {
            unmixing->gram[j * spectra + i] = unmixing->gram[i * spectra + j];
        }
    }
    for (int32_t k = 0; unmixing->rule.sum_to_one && k < spectra; k++) {
        unmixing->shift += unmixing->gram[(int64_t)k * (spectra + 1)] / spectra;
    }
    for (int64_t i = 0; i < entries; i++) {
        unmixing->gram[i] += unmixing->shift;
    }
    for (int32_t k = 0; k < spectra; k++) {
        double square = unmixing->gram[(int64_t)k * (spectra + 1)];
        unmixing->price[k] = square > 0 ? 1 / sqrt(square) : 0;
    }
    return HC_OK;
}

/* v is the point nearest to 0 among the mixtures of the spectra brought to unit length: if it is not 0
 * itself, all of them lie beyond the plane through v that faces 0. Spectra that are 0 have the gradient
 * lambda whatever the pixel is, and need no direction. */
static HcStatus find_rise(HcUnmixing *unmixing, HcError *err) {
    HcStatus status = HC_OK;
    int64_t spectra = unmixing->rule.spectra;
    int64_t bands = unmixing->rule.bands;
    const double *price = unmixing->price;
    double *v = NULL;
    HcUnmixing unit = {.rule = unmixing->rule, .shift = 1};
    unit.rule.sum_to_one = true;
    unit.rule.iterations = 10 * unit.rule.spectra;
    HC_TRY(take_library(&unit, err));
    HC_TRY(hc_new(v, (size_t)(bands + 2 * spectra) + hc_unmix_active_scratch(&unit), "a direction", err));
    double *share = v + bands;
    double *product = share + spectra;
    for (int64_t i = 0; i < spectra; i++) {
        for (int64_t j = 0; j < spectra; j++) {
            double cosine = unmixing->gram[i * spectra + j] * price[i] * price[j];
            unit.gram[i * spectra + j] = (i == j ? 1 : cosine) + unit.shift;
        }
        unit.price[i] = 1 / sqrt(1 + unit.shift);
    }
    hc_unmix_active_one(&unit, product, 0, share, product + spectra);
    for (int64_t k = 0; k < spectra; k++) {
        cblas_daxpy((int)bands, share[k] * price[k], unmixing->spectrum + k * bands, 1, v, 1);
    }
    unmixing->rise_square = 0;
    for (int64_t b = 0; b < bands; b++) {
        unmixing->rise_square += unmixing->weight[b] * v[b] * v[b];
        v[b] *= unmixing->weight[b];
    }
    bool all = true;
    for (int64_t k = 0; k < spectra; k++) {
        unmixing->rise[k] = cblas_ddot((int)bands, unmixing->spectrum + k * bands, 1, v, 1);
        all = all && (price[k] == 0 || unmixing->rise[k] * price[k] > 0x1p-40);
    }
    if (!all) {
        free(unmixing->rise);
        unmixing->rise = NULL;
    }
done:
    free(v);
    free(unit.spectrum);
    free(unit.weight);
    free(unit.gram);
    free(unit.price);
    free(unit.rise);
    return status;
}

HcStatus hc_cpu_unmix_open(HcCompute *compute, const HcUnmixRule *rule, HcUnmixing **out, HcError *err) {
    HcStatus status = HC_OK;
    HcUnmixing *unmixing = NULL;
    *out = NULL;
    hc_cpu_blas_alone();
    HC_OR_RETURN(hc_new(unmixing, 1, "unmixing", err));
    unmixing->rule = *rule;
    unmixing->threads = ((const HcCpu *)compute)->threads;
    HC_TRY(take_library(unmixing, err));
    for (int64_t i = 0; i < (int64_t)rule->spectra * rule->bands; i++) {
        unmixing->spectrum[i] = (double)rule->spectrum[i];
    }
    for (int32_t b = 0; b < rule->bands; b++) {
        unmixing->weight[b] = rule->weight != NULL ? rule->weight[b] : 1;
    }
    HC_TRY(form_gram(unmixing, err));
    if (!rule->sum_to_one) {
        HC_TRY(find_rise(unmixing, err));
    }
    if (rule->solver != HC_UNMIX_ACTIVE) {
        HC_TRY(hc_unmix_find_eigenvectors(compute, unmixing, err));
        HC_TRY(hc_unmix_find_metric(unmixing, err));
    }
    HC_TRY(take_panels(unmixing, err));
    *out = unmixing;
done:
    if (status != HC_OK) {
        hc_cpu_unmix_close(unmixing);
    }
    return status;
}

void hc_cpu_unmix_close(HcUnmixing *unmixing) {
    if (unmixing == NULL) {
        return;
    }
    for (int t = 0; unmixing->panel != NULL && t < unmixing->threads; t++) {
        free(unmixing->panel[t].pixel);
        free(unmixing->panel[t].counts);
    }
    free(unmixing->panel);
    free(unmixing->spectrum);
    free(unmixing->weight);
    free(unmixing->gram);
    free(unmixing->price);
    free(unmixing->rise);
    free(unmixing->eigenvalue);
    free(unmixing->eigenvector);
    free(unmixing->total);
    free(unmixing->direction);
    free(unmixing->working_metric);
    free(unmixing);
}

/* Fills the panel with the valid ones of these pixels. */
static void gather(const HcUnmixing *unmixing, const float *from, const uint8_t *mask, const float *level,
                   int64_t samples, HcUnmixPanel *panel) {
    int64_t bands = unmixing->rule.bands;
    int32_t count = 0;
    for (int64_t s = 0; s < samples; s++) {
        if (mask[s] != 0) {
            double *pixel = panel->pixel + count * bands;
            double *weighted = panel->weighted + count * bands;
            double energy = 0;
            panel->level[count] = level != NULL ? (double)level[s] : 1;
            double scale = 1 / panel->level[count];
            for (int64_t b = 0; b < bands; b++) {
                pixel[b] = scale * (double)from[s * bands + b];
                weighted[b] = unmixing->weight[b] * pixel[b];
                energy += pixel[b] * weighted[b];
            }
            panel->energy[count] = energy;
            panel->iterations[count] = 0;
            panel->number[count] = count;
            count++;
        }
    }
    panel->open = count;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, count, unmixing->rule.spectra, (int)bands, 1.0,
                panel->weighted, (int)bands, unmixing->spectrum, (int)bands, 0.0, panel->product,
                unmixing->rule.spectra);
}

/* Rounded once; 0 below the threshold. Also where `top` leaves it out, it counts. */
static float written(const HcUnmixRule *rule, double abundance) {
    float value = (float)abundance;
    return (double)value < rule->threshold ? 0 : value;
}

/* The largest abundances, of equal ones the first: their numbers, then their values. */
static void write_largest(const HcUnmixRule *rule, const double *abundance, double level, float *to) {
    int32_t top = rule->top;
    int32_t found = 0;
    for (int32_t i = 0; i < top; i++) {
        to[i] = -1;
        to[top + i] = 0;
    }
    for (int32_t k = 0; k < rule->spectra; k++) {
        float value = written(rule, level * abundance[k]);
        if (value == 0 || (found == top && !(value > to[2 * top - 1]))) {
            continue;
        }
        int32_t at = found < top ? found++ : top - 1;
        for (; at > 0 && to[top + at - 1] < value; at--) {
            to[at] = to[at - 1];
            to[top + at] = to[top + at - 1];
        }
        to[at] = (float)k;
        to[top + at] = value;
    }
}

static void write_pixel(const HcUnmixRule *rule, const HcUnmixPanel *panel, int32_t p, float *to) {
    const double *abundance = panel->abundance + (int64_t)p * rule->spectra;
    double level = panel->level[p];
    if (rule->top > 0) {
        write_largest(rule, abundance, level, to);
        to += 2 * (int64_t)rule->top;
    } else {
        for (int32_t k = 0; k < rule->spectra; k++) {
            to[k] = written(rule, level * abundance[k]);
        }
        to += rule->spectra;
    }
    const double added[HC_UNMIX_ADDS] = {
        [HC_UNMIX_ADD_RMSE] = level * panel->rmse[p],
        [HC_UNMIX_ADD_ITERATIONS] = panel->iterations[p],
        [HC_UNMIX_ADD_GAP] = panel->gap[p],
        [HC_UNMIX_ADD_END] = panel->gap[p] <= rule->gap ? HC_UNMIX_OPTIMAL : HC_UNMIX_UNFINISHED};
    for (int a = 0; a < HC_UNMIX_ADDS; a++) {
        if (rule->add[a]) {
            *to++ = (float)added[a];
        }
    }
}

/* The bits of a double that is not negative; NaN is beyond all. */
static int64_t bits_of(double value) {
    int64_t bits;
    value = fabs(value);
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void count_pixel(const HcUnmixRule *rule, const HcUnmixPanel *panel, int32_t p) {
    const double *abundance = panel->abundance + (int64_t)p * rule->spectra;
    int64_t *pixels = panel->counts + HC_UNMIX_COUNTS;
    int64_t *sums = pixels + rule->spectra;
    int64_t *largest = panel->counts + HC_UNMIX_COUNT_GAP;
    panel->counts[HC_UNMIX_COUNT_PIXELS]++;
    panel->counts[HC_UNMIX_COUNT_UNFINISHED] += !(panel->gap[p] <= rule->gap);
    *largest = hc_max64(*largest, bits_of(panel->gap[p]));
    for (int32_t k = 0; k < rule->spectra; k++) {
        double value = (double)written(rule, panel->level[p] * abundance[k]);
        if (value != 0) {
            pixels[k]++;
            sums[k] += llrint(fmin(value, 0x1p16) / HC_UNMIX_COUNT_UNIT);
        }
    }
}

static void unmix_panel(const HcUnmixing *unmixing, const HcBlock *in, const HcBlock *out, int64_t row,
                        int64_t sample, HcUnmixPanel *panel) {
    int64_t samples = hc_min64(HC_UNMIX_PANEL, out->samples - sample);
    int64_t line = hc_block_first_line(out) + row;
    bool counted = row >= out->above && row < (int64_t)out->above + out->lines;
    const uint8_t *valid = hc_cpu_mask_line(in, line) + sample;
    float *to = out->data + (row * out->samples + sample) * out->bands;
    memcpy(out->mask + row * out->samples + sample, valid, (size_t)samples);
    memset(to, 0, (size_t)(samples * out->bands) * sizeof *to);
    const float *level =
        unmixing->rule.level != NULL ? unmixing->rule.level + line * out->samples + sample : NULL;
    gather(unmixing, hc_cpu_line(in, line) + sample * in->bands, valid, level, samples, panel);
    solvers[unmixing->rule.solver].solve(unmixing, panel);
    for (int32_t s = 0, p = 0; s < samples; s++) {
        if (valid[s] != 0) {
            write_pixel(&unmixing->rule, panel, p, to + (int64_t)s * out->bands);
            if (counted) {
                count_pixel(&unmixing->rule, panel, p);
            }
            p++;
        }
    }
}

static void add_counts(const HcUnmixing *unmixing) {
    int64_t *counts = unmixing->rule.counts;
    size_t count = hc_unmix_counts(&unmixing->rule);
    for (int t = 0; t < unmixing->threads; t++) {
        const int64_t *own = unmixing->panel[t].counts;
        for (size_t i = 0; i < count; i++) {
            counts[i] = i == HC_UNMIX_COUNT_GAP ? hc_max64(counts[i], own[i]) : counts[i] + own[i];
        }
    }
}

typedef struct Job {
    const HcUnmixing *unmixing;
    const HcBlock *in, *out;
    int64_t panels; /* in a line */
} Job;

static void unmix_panels(void *user, int64_t unit, int64_t end, int32_t thread) {
    const Job *job = user;
    for (; unit < end; unit++) {
        unmix_panel(job->unmixing, job->in, job->out, unit / job->panels, unit % job->panels * HC_UNMIX_PANEL,
                    &job->unmixing->panel[thread]);
    }
}

HcStatus hc_cpu_unmix(HcQueue *queue, const HcBlock *in, HcUnmixing *unmixing, const HcBlock *out,
                      HcError *err) {
    (void)err;
    hc_cpu_blas_alone();
    Job job = {unmixing, in, out, (out->samples + HC_UNMIX_PANEL - 1) / HC_UNMIX_PANEL};
    for (int t = 0; t < unmixing->threads; t++) {
        memset(unmixing->panel[t].counts, 0, hc_unmix_counts(&unmixing->rule) * sizeof(int64_t));
    }
    hc_cpu_work(queue->cpu, hc_block_rows(out) * job.panels, 1, unmix_panels, &job);
    if (unmixing->rule.counts != NULL) {
        add_counts(unmixing);
    }
    return HC_OK;
}
