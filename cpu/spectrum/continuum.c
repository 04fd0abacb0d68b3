/* Continua of spectra: a pixel's bands go into float64 in the order of their wavelengths, and stay in the
 * first cache until the quotients are written. */
#include "core/allocate.h"
#include "core/solver/continuum.h"
#include "cpu/work.h"

#include <stdlib.h>
#include <string.h>

HcContinuumFn hc_cpu_continuum;

enum { PIXELS = 64 }; /* that a thread takes at once */

typedef struct Job {
    const HcBlock *in, *out;
    const HcContinuumRule *rule;
    int64_t panels;  /* in a line */
    double *values;  /* [threads][2][places] */
    int32_t *corner; /* [threads][places + 1] */
} Job;

HC_CLONES static int32_t do_pixel(const HcContinuumRule *rule, const HcContinuumWork *work, const float *from,
                                  float *to) {
    HcContinuumWork alone = {work->y, work->hull, work->corner, 0, 1};
    return hc_continuum_pixel(rule, &alone, from, to);
}

static void do_panel(const Job *job, int64_t unit, const HcContinuumWork *work) {
    const HcBlock *in = job->in;
    const HcBlock *out = job->out;
    int32_t bands = out->bands;
    int64_t row = unit / job->panels;
    int64_t sample = unit % job->panels * PIXELS;
    int64_t end = hc_min64(sample + PIXELS, out->samples);
    int64_t line = hc_block_first_line(out) + row;
    const uint8_t *valid = hc_cpu_mask_line(in, line);
    for (; sample < end; sample++) {
        int64_t pixel = row * out->samples + sample;
        const float *from = hc_cpu_line(in, line) + sample * in->bands;
        float *to = out->data + pixel * bands;
        out->mask[pixel] =
            valid[sample] != 0 && hc_continuum_stays(job->rule, do_pixel(job->rule, work, from, to), bands);
        if (out->mask[pixel] == 0) {
            memset(to, 0, (size_t)bands * sizeof *to);
        }
    }
}

static void do_panels(void *user, int64_t unit, int64_t end, int32_t thread) {
    const Job *job = user;
    int64_t places = job->rule->places;
    HcContinuumWork work = {.y = job->values + 2 * thread * places,
                            .hull = job->values + (2 * thread + 1) * places,
                            .corner = job->corner + thread * (places + 1)};
    for (; unit < end; unit++) {
        do_panel(job, unit, &work);
    }
}

HcStatus hc_cpu_continuum(HcQueue *queue, const HcBlock *in, const HcContinuumRule *rule, const HcBlock *out,
                          HcError *err) {
    HcStatus status = HC_OK;
    Job job = {in, out, rule, (out->samples + PIXELS - 1) / PIXELS, NULL, NULL};
    size_t threads = (size_t)queue->cpu->threads;
    int64_t units = hc_block_rows(out) * job.panels;
    HC_TRY(hc_new_aligned(job.values, 2 * threads * (size_t)rule->places, "continua", err));
    HC_TRY(hc_new_aligned(job.corner, threads * ((size_t)rule->places + 1), "continua", err));
    hc_cpu_work(queue->cpu, units, hc_cpu_grain(queue->cpu, units), do_panels, &job);
done:
    free(job.values);
    free(job.corner);
    return status;
}
