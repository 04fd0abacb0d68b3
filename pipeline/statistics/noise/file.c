#include "pipeline/statistics/noise/file.h"
#include "core/text.h"
#include "io/file.h"
#include "pipeline/chain.h"

/* The file cannot be read. Most often it is a misspelt word, so say what words there are. */
static HcStatus refuse(HcStatus status, const HcStage *stage, const char *path, const char *const *words,
                       HcError *err) {
    const char *who = stage->kind->name;
    const char *nearest = hc_text_nearest(path, words);
    if (nearest != NULL) {
        *err = (HcError){0};
        return hc_fail(err, HC_E_USAGE, "%s: --noise %s: unknown, did you mean %s?", who, path, nearest);
    }
    if (hc_file_identity(path, NULL, NULL)) {
        return status;
    }
    HcText list = {0};
    for (int32_t k = 0; words[k] != NULL; k++) {
        hc_text_add(&list, "%s%s", k == 0 ? "" : words[k + 1] != NULL ? ", " : " or ", words[k]);
    }
    *err = (HcError){0};
    status = list.failed ? hc_fail_memory(err, 0, "a list of words")
                         : hc_fail(err, HC_E_INPUT,
                                   "%s: --noise %s: neither %s, nor a statistics file that can be read", who,
                                   path, list.data);
    hc_text_clear(&list);
    return status;
}

HcStatus hc_noise_file_read(HcStatistics *noise, HcStage *stage, const char *path, const char *const *words,
                            HcNoiseMatrix matrix, HcError *err) {
    if (noise->mean != NULL) {
        hc_stage_remark(stage, path, noise->remark);
        return HC_OK;
    }
    HcStatus status = hc_statistics_load(noise, path, err);
    if (err != NULL && (status == HC_E_IO || (status == HC_E_INPUT && noise->scene.bands == 0))) {
        return refuse(status, stage, path, words, err);
    }
    HC_OR_RETURN(status);
    hc_stage_remark(stage, path, noise->remark);
    if (noise->noise[0] == '\0') {
        return hc_fail(err, HC_E_INPUT, "%s: statistics of a scene, not of its noise (cov --noise)", path);
    }
    if (matrix == HC_NOISE_FULL && hc_noise_is_diagonal(noise)) {
        return hc_fail(err, HC_E_USAGE, "%s: --noise-matrix full: %s holds the diagonal alone",
                       stage->kind->name, path);
    }
    return HC_OK;
}

HcStatus hc_noise_file_take(HcStatistics *noise, HcStage *stage, const char *from, HcError *err) {
    int32_t made = noise->scene.bands;
    HC_OR_RETURN(hc_statistics_take(noise, &stage->in, from, err));
    if (made != stage->in.bands) {
        hc_stage_note(stage, "%s: of its %d bands the %d that come in are taken", from, made,
                      stage->in.bands);
    }
    return HC_OK;
}

HcStatus hc_noise_file_check(const HcStatistics *noise, const HcStage *stage, HcError *err) {
    return noise->pixels > stage->in.bands
               ? HC_OK
               : hc_fail(err, HC_E_NUMERIC,
                         "%s: %lld pixels show noise (%s), more than the %d bands are needed",
                         stage->kind->name, (long long)noise->pixels, noise->noise, stage->in.bands);
}
