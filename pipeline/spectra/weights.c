#include "pipeline/spectra/weights.h"

#include "core/allocate.h"
#include "io/file.h"
#include "pipeline/chain.h"
#include "pipeline/statistics/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of a list of numbers, at most. */
static const size_t text_limit = (size_t)1 << 20;

static const char *const separators = " \t\r\n,;";

static HcStatus read_statistics(const char *path, HcStage *stage, double *variance, HcError *err) {
    HcStatus status = HC_OK;
    HcStatistics statistics = {0};
    size_t bands = (size_t)stage->in.bands;
    HC_TRY(hc_statistics_load(&statistics, path, err));
    hc_stage_remark(stage, path, statistics.remark);
    if (statistics.noise[0] == '\0') {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: statistics of a scene, not of its noise (cov --noise)", path));
    }
    int32_t made = statistics.scene.bands;
    HC_TRY(hc_statistics_take(&statistics, &stage->in, path, err));
    if (made != stage->in.bands) {
        hc_stage_note(stage, "%s: of its %d bands the %d that come in are taken", path, made,
                      stage->in.bands);
    }
    for (size_t b = 0; b < bands; b++) {
        variance[b] = statistics.covariance[b * bands + b];
    }
done:
    hc_statistics_clear(&statistics);
    return status;
}

/* The numbers of a text, which is cut up; fresh memory. */
static HcStatus parse_numbers(const char *path, char *text, size_t bytes, double **values, int32_t *count,
                              HcError *err) {
    char *rest = NULL;
    double *list = NULL;
    HC_OR_RETURN(hc_new(list, bytes / 2 + 1, "the noise of the bands", err));
    *values = list;
    *count = 0;
    for (char *word = strtok_r(text, separators, &rest); word != NULL;
         word = strtok_r(NULL, separators, &rest)) {
        if (!hc_text_parse_double(word, &list[*count])) {
            return hc_fail(err, HC_E_INPUT, "%s: '%.40s' is not a number", path, word);
        }
        ++*count;
    }
    return HC_OK;
}

/* Whether a list for each band of the file tells those of the scene. */
static bool is_of_file(const HcStage *stage, int32_t count) {
    return stage->in.source_band != NULL && count == hc_view_scene(stage->chain->source->view)->bands;
}

static HcStatus read_list(const char *path, const HcStage *stage, double *variance, HcError *err) {
    HcStatus status = HC_OK;
    const HcScene *scene = &stage->in;
    char *text = NULL;
    double *deviation = NULL;
    size_t bytes = 0;
    int32_t count = 0;
    HC_TRY(hc_file_read(path, text_limit, &text, &bytes, err));
    HC_TRY(parse_numbers(path, text, bytes, &deviation, &count, err));
    bool of_file = is_of_file(stage, count);
    if (!of_file && count != scene->bands) {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: has %d numbers, %d bands come in", path, count, scene->bands));
    }
    for (int32_t b = 0; b < scene->bands; b++) {
        double value = deviation[of_file ? scene->source_band[b] : b];
        variance[b] = value > 0 ? value * value : value;
    }
done:
    free(deviation);
    free(text);
    return status;
}

static HcStatus read_weights(const char *path, HcStage *stage, double **weight, HcError *err) {
    HcStatus status = HC_OK;
    int32_t bands = stage->in.bands;
    double sum = 0;
    double *list = NULL;
    HC_OR_RETURN(hc_new(list, bands, "the weights of the bands", err));
    HC_TRY(hc_text_ends_with(path, ".json") ? read_statistics(path, stage, list, err)
                                            : read_list(path, stage, list, err));
    for (int32_t b = 0; b < bands; b++) {
        if (!(list[b] > 0 && isfinite(list[b]) && isfinite(1 / list[b]))) {
            HC_TRY(hc_fail(err, HC_E_INPUT,
                           "%s: the noise of band %d that comes in is no number above 0 (leave it out with "
                           "bands)",
                           path, b + 1));
        }
        list[b] = 1 / list[b];
        sum += list[b];
    }
    for (int32_t b = 0; b < bands; b++) {
        list[b] *= bands / sum;
    }
    *weight = list;
    list = NULL;
done:
    free(list);
    return status;
}

HcStatus hc_weights_read(const char *path, HcStage *stage, double **weight, HcError *err) {
    if (path == NULL) {
        return HC_OK;
    }
    return *weight == NULL ? read_weights(path, stage, weight, err) : HC_OK;
}
