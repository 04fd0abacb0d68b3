/* Growing sums of products. Strips of the block are units of work; which thread adds one does not matter,
 * since sums are of integers. */
#include "cpu/gram/gram.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* Lines of a unit of work: their neighbours are still in the cache when the next line asks for them. */
enum { UNIT_LINES = 16 };

HcStatus hc_cpu_sums_open(HcCompute *compute, int32_t bands, int64_t integer_limit, const HcGrid *grid,
                          HcSums **out, HcError *err) {
    HcStatus status = HC_OK;
    HcSums *sums = NULL;
    *out = NULL;
    if ((sums = calloc(1, sizeof *sums)) == NULL) {
        return hc_fail_memory(err, sizeof *sums, "sums of products");
    }
    sums->cpu = (HcCpu *)compute;
    sums->bands = bands;
    sums->limit = integer_limit;
    HC_TRY(hc_moments_init(&sums->moments, bands, err));
    if (grid != NULL) {
        HC_TRY(hc_moments_on_grid(&sums->moments, grid, err));
        if ((sums->scale = malloc((size_t)bands * sizeof *sums->scale)) == NULL) {
            HC_TRY(hc_fail_memory(err, (double)bands * sizeof *sums->scale, "the grid of sums"));
        }
        for (int32_t b = 0; b < bands; b++) {
            sums->scale[b] = hc_grid_scale(grid->exponent[b]);
        }
    }
    sums->kind = hc_cpu_panel_kind(sums->cpu->gram);
    sums->panels = calloc((size_t)sums->cpu->threads, sizeof(HcPanels *));
    if (sums->panels == NULL) {
        HC_TRY(hc_fail_memory(err, sizeof(HcPanels *) * (double)sums->cpu->threads, "panels"));
    }
    for (int t = 0; t < sums->cpu->threads; t++) {
        HC_TRY(sums->kind->open(bands, integer_limit, &sums->panels[t], err));
    }
    *out = sums;
done:
    if (status != HC_OK) {
        hc_cpu_sums_close(sums);
    }
    return status;
}

void hc_cpu_sums_close(HcSums *sums) {
    if (sums == NULL) {
        return;
    }
    for (int t = 0; sums->panels != NULL && t < sums->cpu->threads; t++) {
        sums->kind->close(sums->panels[t]);
    }
    free(sums->panels);
    free(sums->scale);
    hc_moments_clear(&sums->moments);
    free(sums);
}

/* A unit of the exact sums: a strip of HC_CPU_RUN samples over some lines. */
typedef struct Job {
    const HcBlock *in;
    HcDifference kind;
    const uint8_t *ok; /* [lines][samples] */
    int64_t strips;
    HcSums *sums;
} Job;

/* false when a value is beyond the limit. */
static bool gram_unit(const Job *job, int64_t unit, HcPanels *panels, float *scratch) {
    const HcBlock *in = job->in;
    int64_t line = unit / job->strips * UNIT_LINES;
    int64_t end = hc_min64(in->lines, line + UNIT_LINES);
    int32_t first = (int32_t)(unit % job->strips * HC_CPU_RUN);
    int32_t last = (int32_t)hc_min64(in->samples, first + HC_CPU_RUN);
    bool fine = true;
    for (; line < end && fine; line++) {
        const uint8_t *ok = job->ok + line * in->samples;
        for (int32_t s = first; s < last && fine;) {
            int32_t run = hc_cpu_run(ok, s, last);
            if (run == 0) {
                s++;
                continue;
            }
            const float *values = hc_cpu_line(in, in->line0 + line) + (int64_t)s * in->bands;
            if (job->kind != HC_DIFFERENCE_NONE) {
                hc_cpu_difference_float(in, job->kind, in->line0 + line, s, run, scratch);
                values = scratch;
            }
            fine = job->sums->kind->add(panels, values, run, &job->sums->moments);
            s += run;
        }
    }
    return fine;
}

static HcStatus gram_exact(const HcBlock *in, HcDifference kind, const HcWindow *window, HcSums *sums,
                           HcError *err) {
    HcStatus status = HC_OK;
    int threads = sums->cpu->threads;
    size_t samples = (size_t)in->samples;
    size_t values = HC_CPU_RUN * (size_t)in->bands;
    uint8_t *ok = malloc(samples * (size_t)in->lines);
    float *scratch = aligned_alloc(64, (values * sizeof *scratch * (size_t)threads + 63) / 64 * 64);
    bool fine = true;
    if (ok == NULL || scratch == NULL) {
        HC_TRY(hc_fail_memory(err, (double)(values * sizeof *scratch) * threads, "differences"));
    }
    Job job = {in, kind, ok, (in->samples + HC_CPU_RUN - 1) / HC_CPU_RUN, sums};
    int64_t units = (in->lines + UNIT_LINES - 1) / UNIT_LINES * job.strips;
#pragma omp parallel num_threads(threads) reduction(&& : fine)
    {
#pragma omp for schedule(static)
        for (int32_t line = 0; line < in->lines; line++) {
            hc_cpu_difference_valid(in, kind, in->line0 + line, window, ok + (size_t)line * samples);
        }
        /* Which thread adds a pixel does not matter: the sums are integers. */
#pragma omp for schedule(dynamic)
        for (int64_t unit = 0; unit < units; unit++) {
            int thread = omp_get_thread_num();
            fine = gram_unit(&job, unit, sums->panels[thread], scratch + (size_t)thread * values) && fine;
        }
    }
    if (!fine) {
        status =
            hc_fail(err, HC_E_NUMERIC, "a value is not an integer of magnitude %lld or less, as was promised",
                    (long long)sums->limit);
    }
done:
    free(ok);
    free(scratch);
    return status;
}

/* A strip of a float scene. */
static HcStatus grid_unit(const Job *job, int64_t unit, HcPanels *panels, HcGridWork *work, HcError *err) {
    const HcBlock *in = job->in;
    HcSums *sums = job->sums;
    int64_t line = unit / job->strips * UNIT_LINES;
    int64_t end = hc_min64(in->lines, line + UNIT_LINES);
    int32_t first = (int32_t)(unit % job->strips * HC_CPU_RUN);
    int32_t last = (int32_t)hc_min64(in->samples, first + HC_CPU_RUN);
    hc_cpu_grid_begin(work);
    for (; line < end; line++) {
        const uint8_t *ok = job->ok + line * in->samples;
        for (int32_t s = first; s < last;) {
            int32_t run = hc_cpu_run(ok, s, last);
            if (run == 0) {
                s++;
                continue;
            }
            HC_OR_RETURN(
                hc_cpu_grid_values(work, in, job->kind, in->line0 + line, first, last, s, run, sums, err));
            sums->kind->add_near(panels, work->values, run, &sums->moments);
            s += run;
        }
    }
    return HC_OK;
}

static HcStatus gram_grid(const HcBlock *in, HcDifference kind, const HcWindow *window, HcSums *sums,
                          HcError *err) {
    int threads = sums->cpu->threads;
    size_t samples = (size_t)in->samples;
    uint8_t *ok = malloc(samples * (size_t)in->lines);
    HcStatus first_failure = HC_OK;
    if (ok == NULL) {
        return hc_fail_memory(err, (double)samples * in->lines, "valid pixels");
    }
    Job job = {in, kind, ok, (in->samples + HC_CPU_RUN - 1) / HC_CPU_RUN, sums};
    int64_t units = (in->lines + UNIT_LINES - 1) / UNIT_LINES * job.strips;
#pragma omp parallel num_threads(threads)
    {
        HcGridWork work;
        HcError own = {0};
        HcStatus status = hc_cpu_grid_open(&work, in->bands, &own);
#pragma omp for schedule(static)
        for (int32_t line = 0; line < in->lines; line++) {
            hc_cpu_difference_valid(in, kind, in->line0 + line, window, ok + (size_t)line * samples);
        }
#pragma omp for schedule(dynamic)
        for (int64_t unit = 0; unit < units; unit++) {
            if (status == HC_OK) {
                status = grid_unit(&job, unit, sums->panels[omp_get_thread_num()], &work, &own);
            }
        }
        hc_cpu_grid_close(&work);
        if (status != HC_OK) {
#pragma omp critical(hc_cpu_failure)
            first_failure = hc_fail(err, status, "%s", own.text);
        }
    }
    free(ok);
    return first_failure;
}

HcStatus hc_cpu_gram(HcQueue *queue, const HcBlock *in, HcDifference kind, const HcWindow *window,
                     HcSums *sums, HcError *err) {
    (void)queue;
    hc_cpu_blas_alone();
    if (sums->scale != NULL) {
        return gram_grid(in, kind, window, sums, err);
    }
    return gram_exact(in, kind, window, sums, err);
}

HcStatus hc_cpu_sums_fetch(HcQueue *queue, HcSums *sums, HcMoments *out, HcError *err) {
    (void)queue;
    hc_cpu_blas_alone();
    for (int t = 0; sums->panels != NULL && t < sums->cpu->threads; t++) {
        sums->kind->drain(sums->panels[t], &sums->moments);
    }
    return hc_moments_copy(out, &sums->moments, err);
}
