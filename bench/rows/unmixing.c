/* Rows of sparse unmixing: mixtures of a library of spectra that are much alike, on the pixels of a scene. */
#include "core/operation/unmix/unmix.h"
#include "bench/internal.h"
#include "core/allocate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINES = 8, /* that differ; the others repeat them */
    TOP = 16   /* abundances that are written */
};

typedef struct Kind {
    const char *name;
    int32_t spectra;
    HcUnmixSolver solver;
    int32_t iterations;
} Kind;

static const Kind kinds[] = {
    {"unmix-240", 240, HC_UNMIX_ACTIVE, 1000},     {"unmix-498", 498, HC_UNMIX_ACTIVE, 1000},
    {"unmix-240-fista", 240, HC_UNMIX_FISTA, 100}, {"unmix-240-alm", 240, HC_UNMIX_ALM, 100},
    {"unmix-498-fista", 498, HC_UNMIX_FISTA, 100}, {"unmix-498-alm", 498, HC_UNMIX_ALM, 100},
};

typedef struct Unmix {
    HcUnmixRule rule;
    HcUnmixing *open;
    HcBlock in, out;
    HcBuffer pixels, abundances, counts;
    float *library; /* [spectra][bands] */
    float *mixed;   /* [LINES][samples][bands] */
} Unmix;

static HcStatus call_unmix(HcRig *rig, void *user, HcError *err) {
    Unmix *unmix = user;
    return hc_unmix(rig->queue, &unmix->in, unmix->open, &unmix->out, err);
}

static HcStatus open_unmix(HcRig *rig, const Kind *kind, int64_t most, Unmix *unmix, HcError *err) {
    const HcBenchSettings *settings = rig->settings;
    size_t bands = (size_t)settings->bands;
    size_t samples = (size_t)settings->samples;
    size_t pixels = (size_t)most * samples;
    HC_OR_RETURN(hc_new(unmix->library, (size_t)kind->spectra * bands, "mixtures", err));
    HC_OR_RETURN(hc_new(unmix->mixed, LINES * samples * bands, "mixtures", err));
    hc_bench_library(settings, kind->spectra, unmix->library);
    hc_bench_mixtures(settings, unmix->library, kind->spectra, LINES * (int64_t)samples, unmix->mixed);
    unmix->rule = (HcUnmixRule){.spectra = kind->spectra,
                                .bands = settings->bands,
                                .spectrum = unmix->library,
                                .lambda = 1e-3,
                                .solver = kind->solver,
                                .gap = 1e-4,
                                .iterations = kind->iterations,
                                .top = TOP};
    HC_OR_RETURN(
        hc_alloc(rig->compute, HC_MEMORY_DEVICE, pixels * (bands * sizeof(float) + 1), &unmix->pixels, err));
    HC_OR_RETURN(hc_alloc(rig->compute, HC_MEMORY_DEVICE,
                          pixels * ((size_t)hc_unmix_bands(&unmix->rule) * sizeof(float) + 1),
                          &unmix->abundances, err));
    HC_OR_RETURN(hc_alloc(rig->compute, HC_MEMORY_DEVICE, hc_unmix_counts(&unmix->rule) * sizeof(int64_t),
                          &unmix->counts, err));
    HC_OR_RETURN(hc_zero(rig->queue, unmix->counts.data, unmix->counts.bytes, err));
    unmix->rule.counts = unmix->counts.data;
    HC_OR_RETURN(hc_unmix_open(rig->compute, &unmix->rule, &unmix->open, err));
    unmix->in = hc_rig_block(rig, &unmix->pixels, most, settings->bands);
    unmix->out = hc_rig_block(rig, &unmix->abundances, most, hc_unmix_bands(&unmix->rule));
    return hc_rig_repeat(rig, unmix->mixed, LINES, &unmix->in, err);
}

static void close_unmix(HcRig *rig, Unmix *unmix, HcStatus status) {
    if (status != HC_OK) {
        hc_rig_drain(rig);
    }
    hc_unmix_close(unmix->open);
    hc_release(rig->compute, &unmix->pixels);
    hc_release(rig->compute, &unmix->abundances);
    hc_release(rig->compute, &unmix->counts);
    free(unmix->library);
    free(unmix->mixed);
}

/* What all pixels are proven to be within; those of active sets must all have ended. */
static HcStatus check_gaps(HcRig *rig, const Unmix *unmix, HcBenchRow *row, HcError *err) {
    int64_t counts[HC_UNMIX_COUNTS];
    double gap = 0;
    HC_OR_RETURN(hc_download(rig->queue, unmix->counts.data, counts, sizeof counts, err));
    HC_OR_RETURN(hc_wait(rig->queue, err));
    memcpy(&gap, &counts[HC_UNMIX_COUNT_GAP], sizeof gap);
    double unfinished = (double)counts[HC_UNMIX_COUNT_UNFINISHED] / (double)counts[HC_UNMIX_COUNT_PIXELS];
    if (unmix->rule.solver == HC_UNMIX_ACTIVE && !(gap <= unmix->rule.gap)) {
        hc_bench_wrong(row, "a pixel ended with a gap of %g", gap);
    }
    row->check = HC_BENCH_NEAR;
    snprintf(row->how, sizeof row->how, "gap at most %.1e, %.1f %% unfinished", gap, 100 * unfinished);
    return HC_OK;
}

static HcStatus unmix(HcRig *rig, const Kind *kind, HcError *err) {
    HcStatus status = HC_OK;
    Unmix unmix = {0};
    double n = rig->settings->bands;
    if (!hc_bench_wants(rig->bench, kind->name)) {
        return HC_OK;
    }
    HcBenchRow *row = hc_bench_row(rig->bench, kind->name, rig->device->by, rig->part);
    HC_TRY(open_unmix(rig, kind, rig->part, &unmix, err));
    HC_TRY(hc_rig_choose_lines(rig, call_unmix, &unmix, &unmix.in, &unmix.out, &row->lines, err));
    double pixels = (double)row->lines * rig->settings->samples;
    /* Products with the library before and after the search are the least that certified abundances take. */
    hc_rig_floor(rig, row, pixels * (4 * n + 1 + 8.0 * TOP + 1), 0, pixels * 4 * n * kind->spectra);
    HC_TRY(hc_rig_measure(rig, call_unmix, &unmix, row, err));
    HC_TRY(check_gaps(rig, &unmix, row, err));
    hc_bench_scale(rig->bench, row);
done:
    close_unmix(rig, &unmix, status);
    return status;
}

static HcStatus measure(HcRig *rig, HcError *err) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        HC_OR_RETURN(unmix(rig, &kinds[i], err));
    }
    return HC_OK;
}

const HcBenchPart hc_bench_unmixing = {.measure = measure,
                                       .rows = (const HcBenchKind[]){{"unmix-240", HC_BENCH_NEAR},
                                                                     {"unmix-498", HC_BENCH_NEAR},
                                                                     {"unmix-240-fista", HC_BENCH_NEAR},
                                                                     {"unmix-240-alm", HC_BENCH_NEAR},
                                                                     {"unmix-498-fista", HC_BENCH_NEAR},
                                                                     {"unmix-498-alm", HC_BENCH_NEAR},
                                                                     {0}}};
