/* The strip of components stays on the device from projection to the way back: nothing of the size of the
 * scene is allocated. A gain below 0.1 dB, or noise that the tests doubt, hands the scene on: the estimate
 * of the gain is no better than that. */
#include "pipeline/stages/svd/svd_reduced.h"
#include "core/operation/image/project.h"
#include "pipeline/memory.h"
#include "pipeline/stages/denoise/gain.h"
#include "pipeline/stages/denoise/model.h"

#include <stdio.h>
#include <string.h>

/* Lines of a strip, halo excluded. */
enum { STRIP = 64 };

/* Less is no gain [dB]: the estimate of the lost signal is not better than that. */
static const double least_gain = 0.1;

/* ---- the fit ---- */

static HcStatus fit_transform(HcSvdReduced *reduced, HcStage *stage, const HcStatistics *scene,
                              HcMoments *differences, HcStatistics *noise, HcError *err) {
    HcTransform *transform = &reduced->transform;
    HC_OR_RETURN(
        hc_noise_choose(&reduced->choice, noise, stage->compute, scene, differences, HC_NOISE_USUAL, err));
    HC_OR_RETURN(hc_scene_copy(&transform->scene, &stage->in, err));
    transform->pixels = scene->pixels;
    return hc_model_fit(transform, &reduced->choice, noise, stage, &(HcEvidenceChange){0}, scene, err);
}

static void choose(HcSvdReduced *reduced) {
    const HcTransform *transform = &reduced->transform;
    int32_t count = hc_model_count(transform);
    reduced->gain = count > 0 ? hc_gain_of(transform, count) : 0;
    reduced->handed_on = reduced->gain < least_gain || !reduced->choice.fits || reduced->choice.doubtful;
    reduced->used = count > 0 ? count : 1;
}

static void note_choice(const HcSvdReduced *reduced, HcStage *stage) {
    const HcTransform *transform = &reduced->transform;
    if (!reduced->choice.fits) {
        hc_stage_note(
            stage,
            "no noise model fits this scene, which is handed on unchanged (--noise estimate looks at "
            "each patch alone): %s",
            reduced->choice.why);
    } else if (reduced->choice.unseen) {
        hc_stage_note(
            stage,
            "differences of neighbours may be signal, and no regression confirms them: the scene is "
            "handed on unchanged (%s)",
            reduced->choice.why);
    } else if (reduced->choice.doubtful) {
        hc_stage_note(stage,
                      "noise by regression differs between bands, and what bands have of their own may be "
                      "signal: the scene is handed on unchanged (denoise --noise regression takes it for "
                      "noise)");
    } else if (reduced->handed_on) {
        hc_stage_note(stage, "noise by %s: no gain is expected, the scene is handed on unchanged",
                      transform->noise);
    } else {
        hc_stage_note(stage, "noise by %s, patches of %d of %d components", transform->noise, reduced->used,
                      transform->components);
    }
}

HcStatus hc_svd_reduced_fit(HcSvdReduced *reduced, HcStage *stage, const HcMoments *values,
                            HcMoments *differences, HcError *err) {
    HcStatus status = HC_OK;
    HcStatistics scene = {0};
    HcStatistics noise = {0};
    if (values->count < 2) { /* says how many are needed */
        HC_TRY(hc_noise_regression_of(&noise, &stage->in, values, HC_NOISE_DIAGONAL, err));
    }
    HC_TRY(hc_statistics_make(&scene, stage->compute, &stage->in, values, HC_DIFFERENCE_NONE, "", err));
    HC_TRY(fit_transform(reduced, stage, &scene, differences, &noise, err));
    snprintf(reduced->transform.method, sizeof reduced->transform.method, "svd");
    choose(reduced);
    HC_TRY(hc_evidence_find(&reduced->evidence, stage, &reduced->transform, reduced->used,
                            &(HcEvidenceChange){0}, NULL, err));
    note_choice(reduced, stage);
done:
    hc_statistics_clear(&scene);
    hc_statistics_clear(&noise);
    return status;
}

/* ---- the run ---- */

static size_t strip_bytes(const HcScene *scene, int32_t count, int32_t halo) {
    return (size_t)(STRIP + 2 * halo) * (size_t)scene->samples * ((size_t)count * sizeof(float) + 1);
}

size_t hc_svd_reduced_bytes(const HcScene *scene, int32_t count, int32_t halo) {
    return 2 * (size_t)count * (size_t)scene->bands * sizeof(double) + strip_bytes(scene, count, halo) +
           strip_bytes(scene, count, 0);
}

HcStatus hc_svd_reduced_open(HcSvdReduced *reduced, HcStage *stage, int32_t halo, HcError *err) {
    const HcScene *scene = &stage->in;
    HcCompute *compute = stage->compute;
    HC_OR_RETURN(hc_linear_upload(compute, &reduced->transform, reduced->used, &reduced->device, err));
    HC_OR_RETURN(
        hc_memory_zeros(compute, strip_bytes(scene, reduced->used, halo), &reduced->components, err));
    return hc_memory_zeros(compute, strip_bytes(scene, reduced->used, 0), &reduced->clean, err);
}

/* Lines first .. end - 1 of a strip, with the context that `in` has of `halo` lines. */
static HcBlock strip_of(const HcSvdReduced *reduced, const HcBuffer *buffer, const HcBlock *in, int64_t first,
                        int64_t end, int32_t halo) {
    HcBlock strip = hc_block_part(in, first, end, halo);
    strip.bands = reduced->used;
    strip.data = buffer->data;
    strip.mask = (uint8_t *)buffer->data + hc_block_values(&strip) * sizeof(float);
    return strip;
}

HcStatus hc_svd_reduced_process(HcSvdReduced *reduced, HcQueue *queue, const HcBlock *in, HcPatches *patches,
                                int32_t halo, const HcBlock *out, HcError *err) {
    const HcLinearMatrices *matrices = &reduced->device;
    int64_t end = out->line0 + out->lines;
    for (int64_t first = out->line0; first < end; first += STRIP) {
        int64_t next = hc_min64(end, first + STRIP);
        HcBlock components = strip_of(reduced, &reduced->components, in, first, next, halo);
        HcBlock clean = strip_of(reduced, &reduced->clean, in, first, next, 0);
        HcBlock part = hc_block_part(out, first, next, 0);
        HC_OR_RETURN(
            hc_project(queue, in, matrices->forward.data, matrices->mean.data, NULL, &components, err));
        HC_OR_RETURN(hc_patches(queue, &components, patches, &clean, err));
        HC_OR_RETURN(
            hc_project(queue, &clean, matrices->inverse.data, NULL, matrices->mean.data, &part, err));
    }
    return HC_OK;
}

void hc_svd_reduced_put(const HcSvdReduced *reduced, HcJson *to) {
    const HcTransform *transform = &reduced->transform;
    if (!hc_svd_reduced_is_there(reduced)) {
        return;
    }
    hc_json_put_number(to, "components", reduced->used);
    hc_json_put_number(to, "pixels", (double)transform->pixels);
    hc_json_put_text(to, "noise", transform->noise);
    hc_json_put_number(to, "noise_pixels", (double)transform->noise_pixels);
    hc_noise_choice_put(&reduced->choice, to);
    hc_evidence_put(&reduced->evidence, to);
    if (hc_evidence_doubt(&reduced->evidence) == NULL) {
        hc_json_put_number(to, "expected_gain_db", reduced->gain);
    }
    hc_json_put_bool(to, "handed_on", reduced->handed_on);
    hc_json_put_doubles(to, "eigenvalues", transform->eigenvalues, (size_t)transform->components);
}

void hc_svd_reduced_close(HcSvdReduced *reduced, HcCompute *compute) {
    hc_linear_release(compute, &reduced->device);
    hc_memory_release(compute, &reduced->components);
    hc_memory_release(compute, &reduced->clean);
    hc_transform_clear(&reduced->transform);
    *reduced = (HcSvdReduced){0};
}
