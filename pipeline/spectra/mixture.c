#include "pipeline/spectra/mixture.h"
#include "pipeline/memory.h"
#include "pipeline/spectra/weights.h"
#include "pipeline/statistics/statistics.h"

#include <stdlib.h>

HcStatus hc_mixture_read(HcStage *stage, const char *path, const HcLibraryChoice *choice, const char *scale,
                         const char *weights, HcError *err) {
    HcMixture *mixture = stage->state;
    HC_OR_RETURN(hc_statistics_of_values(&stage->in, stage->kind->name, err));
    HC_OR_RETURN(hc_scaled_library_read(&mixture->library, stage, path, choice, scale, err));
    return hc_weights_read(weights, stage, &mixture->weight, err);
}

void hc_mixture_plan(HcStage *stage, const HcMixturePlan *plan) {
    HcMixture *mixture = stage->state;
    mixture->plan = *plan;
    stage->needs.observes = hc_scaled_library_looks(&mixture->library) || (plan->later && !stage->settled);
    hc_stage_takes(stage, HC_SPACE_DEVICE,
                   hc_scaled_library_device_bytes(&mixture->library, plan->zeros) +
                       plan->counts * sizeof(int64_t));
    hc_stage_takes(stage, HC_SPACE_HOST,
                   hc_scaled_library_bytes(&mixture->library) + hc_abundance_fit_bytes(stage) +
                       (plan->change != NULL ? hc_change_bytes(stage) : 0));
}

/* Brings the library to the unit of the scene: abundances stay. */
static HcStatus start(HcStage *stage, HcError *err) {
    HcStatus status = HC_OK;
    HcMixture *mixture = stage->state;
    const HcMixturePlan *plan = &mixture->plan;
    float *spectra = NULL;
    HC_TRY(hc_scaled_library_spectra(&mixture->library, plan->zeros, &spectra, err));
    HC_TRY(hc_memory_zeros(stage->compute, plan->counts * sizeof(int64_t), &mixture->counts, err));
    HC_TRY(plan->start(stage, spectra, err));
done:
    free(spectra);
    return status;
}

HcStatus hc_mixture_open(HcStage *stage, HcError *err) {
    HcMixture *mixture = stage->state;
    HC_OR_RETURN(hc_abundance_fit_open(&mixture->fit, stage, err));
    if (mixture->plan.change != NULL) {
        HC_OR_RETURN(hc_alloc(stage->compute, HC_MEMORY_HOST, hc_change_bytes(stage), &mixture->rows, err));
    }
    if (hc_scaled_library_looks(&mixture->library)) {
        return hc_scaled_library_open(&mixture->library, stage, err);
    }
    return mixture->plan.later ? HC_OK : start(stage, err);
}

HcStatus hc_mixture_observe(HcStage *stage, HcQueue *queue, const HcBlock *in, HcError *err) {
    const HcMixture *mixture = stage->state;
    return hc_scaled_library_looks(&mixture->library)
               ? hc_scaled_library_observe(&mixture->library, queue, in, err)
               : HC_OK;
}

HcStatus hc_mixture_settle(HcStage *stage, HcQueue *queue, HcError *err) {
    HcMixture *mixture = stage->state;
    if (hc_scaled_library_looks(&mixture->library)) {
        HC_OR_RETURN(hc_scaled_library_settle(&mixture->library, stage, mixture->plan.path, queue, err));
    }
    return start(stage, err);
}

HcStatus hc_mixture_before(const HcStage *stage, HcQueue *queue, const HcBlock *out, HcError *err) {
    const HcMixture *mixture = stage->state;
    return hc_abundance_counts_begin(stage, queue, &mixture->counts, out, err);
}

HcStatus hc_mixture_after(const HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out,
                          HcError *err) {
    const HcMixture *mixture = stage->state;
    HC_OR_RETURN(hc_abundance_fit_add(&mixture->fit, queue, in, out, err));
    return mixture->plan.change != NULL
               ? hc_change(stage, queue, out, &mixture->rows, mixture->plan.change, err)
               : HC_OK;
}

void hc_mixture_report(const HcStage *stage, const char *worst, HcJson *to) {
    const HcMixture *mixture = stage->state;
    hc_json_put_number(to, "library_factor", mixture->library.factor);
    hc_json_put_number(to, "median_residual_share", mixture->fit.missed);
    hc_library_figures_json(&mixture->library.fit.figures, to);
    hc_abundance_tally_json(&mixture->tally, worst, &mixture->library.fit, to);
}

void hc_mixture_close(HcStage *stage) {
    HcMixture *mixture = stage->state;
    hc_memory_release(stage->compute, &mixture->counts);
    hc_memory_release(stage->compute, &mixture->rows);
    hc_scaled_library_clear(&mixture->library, stage->compute);
    hc_abundance_tally_clear(&mixture->tally);
    hc_abundance_fit_clear(&mixture->fit, stage->compute);
    free(mixture->weight);
    *mixture = (HcMixture){0};
}
