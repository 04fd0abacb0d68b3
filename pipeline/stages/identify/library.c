/* identify of a spectral library: its spectra are the pixels of a scene of one line, which goes through the
 * hooks of the stage as in a run. */
#include "core/allocate.h"
#include "pipeline/chain.h"
#include "pipeline/memory.h"
#include "pipeline/stages/identify/identify.h"

#include <stdlib.h>
#include <string.h>

static HcStatus copy_bands(const double *from, int32_t bands, double **to, HcError *err) {
    if (from == NULL) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_new(*to, bands, "bands", err));
    memcpy(*to, from, (size_t)bands * sizeof *from);
    return HC_OK;
}

/* The scene that the spectra are. */
static HcStatus scene_of(const HcLibrary *library, HcScene *scene, HcError *err) {
    int32_t bands = library->bands;
    *scene = (HcScene){
        .lines = 1, .samples = library->count, .bands = bands, .type = HC_FLOAT32, .meaning = HC_SPECTRAL};
    HC_OR_RETURN(copy_bands(library->wavelength, bands, &scene->wavelength, err));
    HC_OR_RETURN(copy_bands(library->fwhm, bands, &scene->fwhm, err));
    if (library->bad != NULL) {
        HC_OR_RETURN(hc_new(scene->bad, bands, "bands", err));
        memcpy(scene->bad, library->bad, (size_t)bands);
    }
    return HC_OK;
}

/* The hooks of a run, on one block. Missing values stay: features without them are compared. */
static HcStatus run(HcStage *stage, const float *value, float *found, HcError *err) {
    HcStatus status = HC_OK;
    HcCompute *compute = stage->compute;
    HcQueue *queue = NULL;
    HcBuffer data = {0}, mask = {0}, to = {0}, to_mask = {0};
    uint8_t *valid = NULL;
    size_t count = (size_t)stage->in.samples;
    size_t bytes = count * (size_t)stage->out.bands * sizeof(float);
    HC_TRY(hc_new(valid, count, "a mask", err));
    memset(valid, 1, count);
    HC_TRY(hc_memory_upload(compute, value, count * (size_t)stage->in.bands * sizeof *value, &data, err));
    HC_TRY(hc_memory_upload(compute, valid, count, &mask, err));
    HC_TRY(hc_memory_zeros(compute, bytes, &to, err));
    HC_TRY(hc_memory_zeros(compute, count, &to_mask, err));
    HC_TRY(hc_queue_open(compute, &queue, err));
    const HcBlock in = {.data = data.data,
                        .mask = mask.data,
                        .lines = 1,
                        .samples = (int32_t)count,
                        .bands = stage->in.bands};
    const HcBlock out = {.data = to.data,
                         .mask = to_mask.data,
                         .lines = 1,
                         .samples = (int32_t)count,
                         .bands = stage->out.bands};
    HC_TRY(stage->kind->open(stage, err));
    if (stage->needs.observes) {
        HC_TRY(stage->kind->observe(stage, queue, &in, err));
        HC_TRY(stage->kind->settle(stage, queue, err));
    }
    HC_TRY(stage->kind->process(stage, queue, &in, &out, NULL, err));
    HC_TRY(hc_wait(queue, err));
    HC_TRY(hc_memory_download(compute, &to, found, bytes, err));
done:
    hc_queue_close(queue);
    hc_memory_release(compute, &data);
    hc_memory_release(compute, &mask);
    hc_memory_release(compute, &to);
    hc_memory_release(compute, &to_mask);
    free(valid);
    return status;
}

/* A line for each match; one that says so where there is none. */
static void add_matches(const HcStage *stage, const char *name, const float *found, int32_t width,
                        HcText *to) {
    const HcIdentifyRule rule = hc_identify_rule(stage);
    const HcExpertRules *rules = &((const HcIdentifyState *)stage->state)->rules;
    for (int32_t i = 0; i < rule.top && (found[0] > 0 || i == 0); i++, found += hc_identify_each(&rule)) {
        hc_text_add(to, "%-*s  ", width, i == 0 ? name : "");
        if (found[0] == 0) {
            hc_text_add(to, "-\n");
        } else if (rule.angle) {
            hc_text_add(to, "%8.5f  %s\n", (double)found[1], rules->rule[(int32_t)found[0] - 1].name);
        } else {
            hc_text_add(to, "%7.4f %8.4f %8.4f  %s\n", (double)found[1], (double)found[2], (double)found[3],
                        rules->rule[(int32_t)found[0] - 1].name);
        }
    }
}

static void add_table(const HcStage *stage, const HcLibrary *library, const float *found, HcText *to) {
    int32_t width = (int32_t)strlen("spectrum");
    for (int32_t i = 0; i < library->count; i++) {
        int32_t length = (int32_t)strlen(library->name[i]);
        width = length > width ? length : width;
    }
    hc_text_add(to, "%-*s  %s  match\n", width, "spectrum",
                hc_identify_rule(stage).angle ? "angle/rad" : "    fit    depth  product");
    for (int32_t i = 0; i < library->count; i++) {
        add_matches(stage, library->name[i], found + (size_t)i * (size_t)stage->out.bands, width, to);
    }
}

HcStatus hc_identify_library(HcStage *stage, const char *path, HcText *to, HcError *err) {
    HcStatus status = HC_OK;
    HcIdentifyParams *params = stage->params;
    HcLibrary library = {0};
    float *found = NULL;
    char *note = NULL;
    if (params->picture != NULL || params->rejected) {
        return hc_fail(err, HC_E_USAGE, "identify: --%s: %s is a library, for which a table is printed",
                       params->rejected ? "rejected" : "picture", path);
    }
    params->top = params->top > 0 ? params->top : 3;
    HC_TRY(hc_library_read(&library, path, err));
    HC_TRY(hc_library_choose(&library, path, &(HcLibraryChoice){0}, "identify", &note, err));
    if (note != NULL) {
        hc_stage_note(stage, "%s", note);
    }
    HC_TRY(scene_of(&library, &stage->in, err));
    HC_TRY(stage->kind->plan(stage, err));
    HC_TRY(hc_new(found, library.count * stage->out.bands, "the table", err));
    HC_TRY(run(stage, library.value, found, err));
    add_table(stage, &library, found, to);
    HC_TRY(to->failed ? hc_fail_memory(err, (double)to->length, "the table") : HC_OK);
done:
    hc_library_clear(&library);
    free(found);
    free(note);
    return status;
}
