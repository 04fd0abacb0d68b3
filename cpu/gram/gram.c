/* Growing sums of products. Strips of the block are units of work; which thread adds one does not matter,
 * since sums are of integers. */
#include "cpu/gram/gram.h"
#include "core/allocate.h"
#include "cpu/work.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Lines of a unit of work: their neighbours are still in the cache when the next line asks for them. */
enum { UNIT_LINES = 16 };

const HcPanelKind *hc_cpu_panel_kind(HcCpuGram way) {
    const HcPanelKind *kind = NULL;
    switch (way) {
    case HC_CPU_GRAM_BEST:
        for (int next = HC_CPU_GRAM_AMX; kind == NULL; next--) {
            kind = hc_cpu_panel_kind((HcCpuGram)next);
        }
        return kind;
    case HC_CPU_GRAM_FLOAT64:
        return hc_cpu_panels_float64();
    case HC_CPU_GRAM_AVX2:
    case HC_CPU_GRAM_AVX_VNNI:
    case HC_CPU_GRAM_AVX512_VNNI:
        return hc_cpu_panels_pairs(way);
    case HC_CPU_GRAM_AMX:
        return hc_cpu_panels_amx();
    }
    return NULL;
}

/* Panels, and what gram and gram_raw take for a strip. On a grid, the sums of far values are counted too: the
 * moments have them twice, when they are fetched. */
size_t hc_cpu_sums_bytes(int32_t bands, bool on_grid, int32_t threads) {
    const size_t n = (size_t)bands;
    size_t each = hc_cpu_panel_kind(HC_CPU_GRAM_BEST)->bytes(bands, on_grid) + hc_cpu_aside_bytes(bands) +
                  (on_grid ? hc_cpu_grid_bytes(bands) : 0);
    size_t far = n * (n + 1) / 2 * HC_LONG_DIGITS * sizeof(int64_t);
    return (size_t)threads * each + (on_grid ? hc_cpu_farther_bytes(bands, threads) + 2 * far : 0);
}

static HcStatus open_grid_work(HcSums *sums, HcError *err) {
    size_t threads = (size_t)sums->threads;
    HC_OR_RETURN(hc_new(sums->work, threads, "lines on the grid", err));
    for (size_t t = 0; t < threads; t++) {
        HC_OR_RETURN(hc_cpu_grid_open(&sums->work[t], sums->bands, err));
    }
    return hc_cpu_farther_open(sums, err);
}

HcStatus hc_cpu_sums_open(HcCompute *compute, int32_t bands, int64_t integer_limit, const HcGrid *grid,
                          HcSums **out, HcError *err) {
    HcStatus status = HC_OK;
    HcSums *sums = NULL;
    *out = NULL;
    HC_OR_RETURN(hc_new(sums, 1, "sums of products", err));
    sums->cpu = (HcCpu *)compute;
    sums->threads = sums->cpu->threads;
    sums->bands = bands;
    sums->limit = integer_limit;
    pthread_mutex_init(&sums->lock, NULL);
    HC_TRY(hc_moments_init(&sums->moments, bands, err));
    if (grid != NULL) {
        HC_TRY(hc_moments_on_grid(&sums->moments, grid, err));
        HC_TRY(hc_new(sums->scale, bands, "the grid of sums", err));
        for (int32_t b = 0; b < bands; b++) {
            sums->scale[b] = hc_grid_scale(grid->exponent[b]);
        }
    }
    sums->kind = hc_cpu_panel_kind(sums->cpu->gram);
    HC_TRY(hc_new(sums->panels, sums->threads, "panels", err));
    for (int t = 0; t < sums->threads; t++) {
        HC_TRY(sums->kind->open(bands, integer_limit, &sums->lock, &sums->panels[t], err));
    }
    if (grid != NULL) {
        HC_TRY(open_grid_work(sums, err));
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
    for (int t = 0; sums->panels != NULL && t < sums->threads; t++) {
        sums->kind->close(sums->panels[t]);
    }
    for (int t = 0; sums->work != NULL && t < sums->threads; t++) {
        hc_cpu_grid_close(&sums->work[t]);
    }
    hc_cpu_farther_close(sums);
    free(sums->work);
    free(sums->panels);
    free(sums->scale);
    pthread_mutex_destroy(&sums->lock);
    hc_moments_clear(&sums->moments);
    free(sums);
}

/* The work is cut into units: strips of HC_CPU_RUN samples over some lines. */
typedef struct Job {
    const HcBlock *in;
    HcDifference kind;
    const HcWindow *window;
    uint8_t *ok; /* [lines][samples] */
    int64_t strips;
    HcSums *sums;
    float *scratch;     /* [threads][HC_CPU_RUN][bands] of integers */
    atomic_bool failed; /* the first thread to set it writes: */
    HcStatus status;
    HcError error;
} Job;

static void fail_job(Job *job, HcStatus status, const HcError *error) {
    if (!atomic_exchange(&job->failed, true)) {
        job->status = status;
        job->error = *error;
    }
}

static void find_valid(void *user, int64_t line, int64_t end, int32_t thread) {
    const Job *job = user;
    const HcBlock *in = job->in;
    (void)thread;
    for (; line < end; line++) {
        hc_cpu_difference_valid(in, job->kind, in->line0 + line, job->window, job->ok + line * in->samples);
    }
}

/* Which pixels count, then `add` of all units. Which thread adds a pixel does not matter: sums are of whole
 * numbers. */
static HcStatus add_units(Job *job, HcCpuWork *add, HcError *err) {
    const HcCpu *cpu = job->sums->cpu;
    const HcBlock *in = job->in;
    job->strips = (in->samples + HC_CPU_RUN - 1) / HC_CPU_RUN;
    hc_cpu_work(cpu, in->lines, hc_cpu_grain(cpu, in->lines), find_valid, job);
    hc_cpu_work(cpu, (in->lines + UNIT_LINES - 1) / UNIT_LINES * job->strips, 1, add, job);
    return atomic_load(&job->failed) ? hc_fail(err, job->status, "%s", job->error.text) : HC_OK;
}

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

static HcStatus too_large(const HcSums *sums, HcError *err) {
    return hc_fail(err, HC_E_NUMERIC, "a value is not an integer of magnitude %lld or less, as was promised",
                   (long long)sums->limit);
}

static void gram_units(void *user, int64_t unit, int64_t end, int32_t thread) {
    Job *job = user;
    HcPanels *panels = job->sums->panels[thread];
    float *scratch = job->scratch + (int64_t)thread * HC_CPU_RUN * job->in->bands;
    for (; unit < end; unit++) {
        if (!gram_unit(job, unit, panels, scratch)) {
            HcError error = {0};
            fail_job(job, too_large(job->sums, &error), &error);
        }
    }
}

static HcStatus gram_exact(Job *job, HcError *err) {
    HcStatus status = HC_OK;
    size_t values = HC_CPU_RUN * (size_t)job->in->bands * (size_t)job->sums->threads;
    job->scratch = aligned_alloc(64, (values * sizeof *job->scratch + 63) / 64 * 64);
    if (job->scratch == NULL) {
        return hc_fail_memory(err, (double)(values * sizeof *job->scratch), "differences");
    }
    status = add_units(job, gram_units, err);
    free(job->scratch);
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

static void grid_units(void *user, int64_t unit, int64_t end, int32_t thread) {
    Job *job = user;
    HcError error = {0};
    for (; unit < end && !atomic_load(&job->failed); unit++) {
        HcStatus status = grid_unit(job, unit, job->sums->panels[thread], &job->sums->work[thread], &error);
        if (status != HC_OK) {
            fail_job(job, status, &error);
        }
    }
}

HcStatus hc_cpu_gram_line(HcSums *sums, const HcBlock *in, HcDifference kind, const uint8_t *ok,
                          int32_t thread, float *scratch, HcError *err) {
    HcPanels *panels = sums->panels[thread];
    const Job job = {.in = in,
                     .kind = kind,
                     .ok = (uint8_t *)ok,
                     .strips = (in->samples + HC_CPU_RUN - 1) / HC_CPU_RUN,
                     .sums = sums};
    for (int64_t unit = 0; unit < job.strips; unit++) {
        if (sums->scale != NULL) {
            HC_OR_RETURN(grid_unit(&job, unit, panels, &sums->work[thread], err));
        } else if (!gram_unit(&job, unit, panels, scratch)) {
            return too_large(sums, err);
        }
    }
    return HC_OK;
}

HcStatus hc_cpu_gram(HcQueue *queue, const HcBlock *in, HcDifference kind, const HcWindow *window,
                     HcSums *sums, HcError *err) {
    HcStatus status = HC_OK;
    size_t pixels = (size_t)in->samples * (size_t)in->lines;
    Job job = {.in = in, .kind = kind, .window = window, .ok = malloc(pixels), .sums = sums};
    (void)queue;
    hc_cpu_blas_alone();
    if (job.ok == NULL) {
        return hc_fail_memory(err, (double)pixels, "valid pixels");
    }
    status = sums->scale != NULL ? add_units(&job, grid_units, err) : gram_exact(&job, err);
    free(job.ok);
    return status;
}

HcStatus hc_cpu_sums_fetch(HcQueue *queue, HcSums *sums, HcMoments *out, HcError *err) {
    (void)queue;
    hc_cpu_blas_alone();
    for (int t = 0; sums->panels != NULL && t < sums->threads; t++) {
        sums->kind->drain(sums->panels[t], &sums->moments);
    }
    for (int t = 0; sums->work != NULL && t < sums->threads; t++) {
        hc_cpu_grid_drain(&sums->work[t], sums);
    }
    HC_OR_RETURN(hc_cpu_farther_drain(sums, err));
    return hc_moments_copy(out, &sums->moments, err);
}
